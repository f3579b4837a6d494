/*
 * Folders and files in memory: the names of the file system that vfs_memory.c
 * offers. A path is taken from the root whether it starts with a slash or not;
 * empty parts and "." are skipped, ".." is a name like any other.
 */
#ifndef KL_OS_TREE_H
#define KL_OS_TREE_H

#include "base/alloc.h"
#include "os/blocks.h"

#include <stddef.h>
#include <stdint.h>

struct kl_os_node
{
    struct kl_os_node *parent; /* NULL for the root and when unlinked */
    char *name;
    size_t name_size;
    uint32_t refs; /* one for the tree, one per handle */
    int is_folder;
    const void *locked_by; /* a handle */
    struct kl_os_blocks blocks;
    struct kl_os_node **children; /* of a folder, sorted by name */
    size_t child_count;
    size_t child_capacity;
};

struct kl_os_tree
{
    const struct kl_base_alloc *alloc;
    uint64_t used; /* the sizes of all files together */
    struct kl_os_node root;
};

/* A name in a folder, and the node there, if any. */
struct kl_os_place
{
    struct kl_os_node *folder; /* NULL for the root itself */
    const char *name;
    size_t name_size;
    struct kl_os_node *node;
    size_t index; /* of the node, or where it would be inserted */
};

void kl_os_tree_init(struct kl_os_tree *tree, const struct kl_base_alloc *a);
/* Only the tree's own references may be left. */
void kl_os_tree_deinit(struct kl_os_tree *tree);

/* Finds the place of a path. The folder must exist, the last name need not. */
int kl_os_tree_find(struct kl_os_tree *tree, const char *path,
                    struct kl_os_place *p);
/* The same for what must exist, KL_ENOENT, or be a folder, KL_EIO. */
int kl_os_tree_find_node(struct kl_os_tree *tree, const char *path,
                         struct kl_os_place *p);
int kl_os_tree_find_folder(struct kl_os_tree *tree, const char *path,
                           struct kl_os_place *p);

/* Makes a node at a place that is free. */
int kl_os_tree_create(struct kl_os_tree *tree, struct kl_os_place *p,
                      int is_folder);
/* Removes a file, or an empty folder. */
int kl_os_tree_remove(struct kl_os_tree *tree, const char *path, int is_folder);
/* Replaces a file, or an empty folder, at the new path. */
int kl_os_tree_rename(struct kl_os_tree *tree, const char *from_path,
                      const char *to_path);

/* The last reference frees a node. */
void kl_os_tree_unref(struct kl_os_tree *tree, struct kl_os_node *node);
void kl_os_tree_resize(struct kl_os_tree *tree, struct kl_os_node *node,
                       uint64_t size);

#endif
