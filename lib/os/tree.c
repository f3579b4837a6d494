/*
 * Folders and files in memory.
 */
#include "os/tree.h"

#include "base/assert.h"

#include <kraftlog/error.h>
#include <string.h>

static int tree_name_compare(const struct kl_os_node *node, const char *name,
                             size_t size)
{
    size_t common = node->name_size < size ? node->name_size : size;
    int order = memcmp(node->name, name, common);

    if (order)
        return order;
    return (node->name_size > size) - (node->name_size < size);
}

static void tree_place_search(struct kl_os_place *p)
{
    size_t low = 0;
    size_t high = p->folder->child_count;

    p->node = NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct kl_os_node *node = p->folder->children[middle];
        int order = tree_name_compare(node, p->name, p->name_size);

        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
            if (order == 0)
                p->node = node;
        }
    }
    p->index = low;
}

/* The next name of a path, skipping what names nothing; size 0 at the end. */
static const char *tree_path_next(const char *path, size_t *size_out)
{
    size_t size = 0;

    for (;;) {
        while (*path == '/')
            path++;
        size = strcspn(path, "/");
        if (size != 1 || *path != '.')
            break;
        path++;
    }
    *size_out = size;
    return path;
}

int kl_os_tree_find(struct kl_os_tree *tree, const char *path,
                    struct kl_os_place *p)
{
    size_t size;

    memset(p, 0, sizeof *p);
    p->node = &tree->root;
    for (;;) {
        path = tree_path_next(path, &size);
        if (!size)
            return 0;
        if (!p->node)
            return KL_ENOENT;
        if (!p->node->is_folder)
            return KL_EIO;
        p->folder = p->node;
        p->name = path;
        p->name_size = size;
        tree_place_search(p);
        path += size;
    }
}

int kl_os_tree_find_node(struct kl_os_tree *tree, const char *path,
                         struct kl_os_place *p)
{
    int rc = kl_os_tree_find(tree, path, p);

    if (rc)
        return rc;
    return p->node ? 0 : KL_ENOENT;
}

static void tree_node_free(struct kl_os_tree *tree, struct kl_os_node *node)
{
    tree->used -= node->blocks.size;
    kl_os_blocks_deinit(&node->blocks);
    kl_base_free(tree->alloc, node->children,
                 node->child_capacity * sizeof *node->children);
    kl_base_free(tree->alloc, node->name, node->name_size + 1);
    kl_base_free(tree->alloc, node, sizeof *node);
}

void kl_os_tree_unref(struct kl_os_tree *tree, struct kl_os_node *node)
{
    if (--node->refs == 0)
        tree_node_free(tree, node);
}

void kl_os_tree_init(struct kl_os_tree *tree, const struct kl_base_alloc *a)
{
    memset(tree, 0, sizeof *tree);
    tree->alloc = a;
    tree->root.is_folder = 1;
    kl_os_blocks_init(&tree->root.blocks, a);
}

void kl_os_tree_deinit(struct kl_os_tree *tree)
{
    struct kl_os_node *node = &tree->root;

    /* Deepest first, without recursion. */
    while (node) {
        struct kl_os_node *parent = node->parent;

        if (node->child_count) {
            node = node->children[--node->child_count];
            continue;
        }
        if (node != &tree->root)
            tree_node_free(tree, node);
        node = parent;
    }
    KL_ASSERT(tree->used == 0);
    kl_base_free(tree->alloc, tree->root.children,
                 tree->root.child_capacity * sizeof *tree->root.children);
}

/* Room for one more child. */
static int tree_folder_reserve(struct kl_os_tree *tree,
                               struct kl_os_node *folder)
{
    void *children = folder->children;
    int rc = kl_base_reserve(tree->alloc, &children, &folder->child_capacity,
                             folder->child_count + 1, sizeof *folder->children);

    folder->children = children;
    return rc;
}

/* Puts a node at a place that is free and has room. */
static void tree_link(const struct kl_os_place *p, struct kl_os_node *node)
{
    struct kl_os_node **at = p->folder->children + p->index;

    memmove(at + 1, at, (p->folder->child_count - p->index) * sizeof *at);
    *at = node;
    p->folder->child_count++;
    node->parent = p->folder;
}

/* Takes the node at a place out of the tree; its reference is the caller's. */
static void tree_unlink_node(const struct kl_os_place *p)
{
    struct kl_os_node **at = p->folder->children + p->index;

    p->folder->child_count--;
    memmove(at, at + 1, (p->folder->child_count - p->index) * sizeof *at);
    p->node->parent = NULL;
}

int kl_os_tree_create(struct kl_os_tree *tree, struct kl_os_place *p,
                      int is_folder)
{
    struct kl_os_node *node = kl_base_calloc(tree->alloc, sizeof *node);
    int rc = KL_ENOMEM;

    if (!node)
        return KL_ENOMEM;
    node->name = kl_base_strndup(tree->alloc, p->name, p->name_size);
    node->name_size = p->name_size;
    node->refs = 1;
    node->is_folder = is_folder;
    kl_os_blocks_init(&node->blocks, tree->alloc);
    if (node->name)
        rc = tree_folder_reserve(tree, p->folder);
    if (rc) {
        tree_node_free(tree, node);
        return rc;
    }
    tree_link(p, node);
    p->node = node;
    return 0;
}

void kl_os_tree_resize(struct kl_os_tree *tree, struct kl_os_node *node,
                       uint64_t size)
{
    tree->used -= node->blocks.size;
    kl_os_blocks_resize(&node->blocks, size);
    tree->used += size;
}

int kl_os_tree_find_folder(struct kl_os_tree *tree, const char *path,
                           struct kl_os_place *p)
{
    int rc = kl_os_tree_find_node(tree, path, p);

    if (rc)
        return rc;
    return p->node->is_folder ? 0 : KL_EIO;
}

/* What a rename needs before anything is changed. */
static int tree_rename_check(const struct kl_os_place *from,
                             const struct kl_os_place *to)
{
    if (!from->folder || !to->folder)
        return KL_EIO;
    for (struct kl_os_node *n = to->folder; n; n = n->parent) {
        if (n == from->node)
            return KL_EIO; /* into itself */
    }
    if (!to->node)
        return 0;
    if (to->node->is_folder != from->node->is_folder)
        return KL_EIO;
    return to->node->child_count ? KL_EEXIST : 0;
}

int kl_os_tree_rename(struct kl_os_tree *tree, const char *from_path,
                      const char *to_path)
{
    struct kl_os_place from, to;
    struct kl_os_node *node;
    char *name;
    int rc = kl_os_tree_find_node(tree, from_path, &from);

    if (!rc)
        rc = kl_os_tree_find(tree, to_path, &to);
    if (rc || from.node == to.node)
        return rc;
    rc = tree_rename_check(&from, &to);
    if (!rc)
        rc = tree_folder_reserve(tree, to.folder);
    if (rc)
        return rc;
    name = kl_base_strndup(tree->alloc, to.name, to.name_size);
    if (!name)
        return KL_ENOMEM;
    node = from.node;
    if (to.node) {
        tree_unlink_node(&to);
        kl_os_tree_unref(tree, to.node);
        tree_place_search(&from); /* may have moved */
    }
    tree_unlink_node(&from);
    kl_base_free(tree->alloc, node->name, node->name_size + 1);
    node->name = name;
    node->name_size = to.name_size;
    tree_place_search(&to);
    tree_link(&to, node);
    return 0;
}

int kl_os_tree_remove(struct kl_os_tree *tree, const char *path, int is_folder)
{
    struct kl_os_place p;
    int rc = kl_os_tree_find_node(tree, path, &p);

    if (rc)
        return rc;
    if (!p.folder || p.node->is_folder != is_folder)
        return KL_EIO;
    if (p.node->child_count)
        return KL_EEXIST;
    tree_unlink_node(&p);
    kl_os_tree_unref(tree, p.node);
    return 0;
}
