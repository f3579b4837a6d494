/*
 * A file system in memory: a tree under one mutex. The capacity is charged by
 * file size; a file that is unlinked while open stays charged until its last
 * handle is closed, as on a disk.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "os/names.h"
#include "os/thread.h"
#include "os/tree.h"
#include "os/vfs.h"

#include <string.h>

struct memory_vfs
{
    struct kl_os_vfs base;
    struct kl_base_alloc alloc;
    struct kl_os_mutex mutex; /* over everything below */
    uint64_t capacity;        /* 0 = unlimited */
    size_t open_count;
    struct kl_os_tree tree;
};

struct memory_file
{
    struct kl_os_file base;
    struct kl_os_node *node;
    int is_writable;
};

static struct memory_vfs *memory_enter(struct kl_os_vfs *base)
{
    struct memory_vfs *vfs = (struct memory_vfs *)base;

    kl_os_mutex_lock(&vfs->mutex);
    return vfs;
}

/* Leaves with a result, so that it reads as one statement. */
static int memory_leave(struct memory_vfs *vfs, int rc)
{
    kl_os_mutex_unlock(&vfs->mutex);
    return rc;
}

/* The largest size that a file may have now. */
static uint64_t memory_size_limit(const struct memory_vfs *vfs,
                                  const struct kl_os_node *node)
{
    if (!vfs->capacity)
        return INT64_MAX;
    return node->blocks.size + (vfs->capacity - vfs->tree.used);
}

static int memory_range_is_valid(uint64_t offset, uint64_t size)
{
    return offset <= INT64_MAX && size <= INT64_MAX - offset;
}

static int memory_open_node(struct memory_vfs *vfs, const char *path,
                            uint32_t flags, struct kl_os_node **out)
{
    struct kl_os_place p;
    int rc = kl_os_tree_find(&vfs->tree, path, &p);

    if (rc)
        return rc;
    if (p.node && p.node->is_folder)
        return KL_EIO;
    if (!p.node) {
        if (!(flags & KL_OS_CREATE))
            return KL_ENOENT;
        rc = kl_os_tree_create(&vfs->tree, &p, 0);
        if (rc)
            return rc;
    } else if (flags & KL_OS_TRUNCATE) {
        kl_os_tree_resize(&vfs->tree, p.node, 0);
    }
    *out = p.node;
    return 0;
}

static int memory_open(struct kl_os_vfs *base, const char *path, uint32_t flags,
                       struct kl_os_file **out)
{
    struct memory_vfs *vfs = memory_enter(base);
    struct memory_file *file = kl_base_calloc(&vfs->alloc, sizeof *file);
    int rc = KL_ENOMEM;

    if (file)
        rc = memory_open_node(vfs, path, flags, &file->node);
    if (rc) {
        kl_base_free(&vfs->alloc, file, sizeof *file);
        return memory_leave(vfs, rc);
    }
    file->base.vfs = base;
    file->is_writable = (flags & KL_OS_WRITE) != 0;
    file->node->refs++;
    vfs->open_count++;
    *out = &file->base;
    return memory_leave(vfs, 0);
}

static int memory_close(struct kl_os_file *base)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);
    struct memory_file *file = (struct memory_file *)base;

    if (file->node->locked_by == file)
        file->node->locked_by = NULL;
    kl_os_tree_unref(&vfs->tree, file->node);
    vfs->open_count--;
    kl_base_free(&vfs->alloc, file, sizeof *file);
    return memory_leave(vfs, 0);
}

static int memory_read(struct kl_os_file *base, void *buf, size_t size,
                       uint64_t offset, size_t *read_out)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);
    struct memory_file *file = (struct memory_file *)base;

    *read_out = 0;
    if (!memory_range_is_valid(offset, size))
        return memory_leave(vfs, KL_EINVAL);
    *read_out = kl_os_blocks_read(&file->node->blocks, buf, size, offset);
    return memory_leave(vfs, 0);
}

/* Writes parts in turn until one does not fit into what is left to limit. */
static int memory_write_parts(struct kl_os_node *node,
                              const struct kl_os_iovec *iov, size_t count,
                              uint64_t offset, uint64_t limit, size_t *done_out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = offset + *done_out;
        uint64_t room = at < limit ? limit - at : 0;
        size_t size = iov[i].size;
        size_t done;

        if (size > room)
            size = (size_t)room;
        done = kl_os_blocks_write(&node->blocks, iov[i].data, size, at);
        *done_out += done;
        if (done < size)
            return KL_ENOMEM;
        if (size < iov[i].size)
            return KL_EDISKFULL;
    }
    return 0;
}

static int memory_write(struct kl_os_file *base, const struct kl_os_iovec *iov,
                        size_t count, uint64_t offset, size_t *written_out)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);
    struct memory_file *file = (struct memory_file *)base;
    struct kl_os_node *node = file->node;
    uint64_t before = node->blocks.size;
    uint64_t limit = memory_size_limit(vfs, node);
    size_t done = 0;
    int rc;

    if (!file->is_writable)
        rc = KL_EIO;
    else if (offset > INT64_MAX)
        rc = KL_EINVAL;
    else
        rc = memory_write_parts(node, iov, count, offset, limit, &done);
    vfs->tree.used += node->blocks.size - before;
    if (written_out)
        *written_out = done;
    return memory_leave(vfs, rc);
}

static int memory_sync(struct kl_os_file *file)
{
    (void)file;
    return 0;
}

static void memory_writeback(struct kl_os_file *file, uint64_t offset,
                             uint64_t size)
{
    (void)file;
    (void)offset;
    (void)size;
}

/* Whether a file may be changed so that it ends at a position. */
static int memory_check_end(const struct memory_vfs *vfs,
                            const struct memory_file *file, uint64_t end)
{
    if (!file->is_writable)
        return KL_EIO;
    return end > memory_size_limit(vfs, file->node) ? KL_EDISKFULL : 0;
}

static int memory_truncate(struct kl_os_file *base, uint64_t size)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);
    struct memory_file *file = (struct memory_file *)base;
    int rc = KL_EINVAL;

    if (memory_range_is_valid(0, size))
        rc = memory_check_end(vfs, file, size);
    if (!rc)
        kl_os_tree_resize(&vfs->tree, file->node, size);
    return memory_leave(vfs, rc);
}

static int memory_allocate(struct kl_os_file *base, uint64_t offset,
                           uint64_t size)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);
    struct memory_file *file = (struct memory_file *)base;
    uint64_t before = file->node->blocks.size;
    int rc = KL_EINVAL;

    if (!size)
        return memory_leave(vfs, 0);
    if (memory_range_is_valid(offset, size))
        rc = memory_check_end(vfs, file, offset + size);
    if (!rc)
        rc = kl_os_blocks_reserve(&file->node->blocks, offset, size);
    vfs->tree.used += file->node->blocks.size - before;
    return memory_leave(vfs, rc);
}

static int memory_size(struct kl_os_file *base, uint64_t *size_out)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);

    *size_out = ((struct memory_file *)base)->node->blocks.size;
    return memory_leave(vfs, 0);
}

static int memory_lock(struct kl_os_file *base)
{
    struct memory_vfs *vfs = memory_enter(base->vfs);
    struct memory_file *file = (struct memory_file *)base;

    if (!file->is_writable)
        return memory_leave(vfs, KL_EIO);
    if (file->node->locked_by && file->node->locked_by != file)
        return memory_leave(vfs, KL_EBUSY);
    file->node->locked_by = file;
    return memory_leave(vfs, 0);
}

static int memory_rename(struct kl_os_vfs *base, const char *from,
                         const char *to)
{
    struct memory_vfs *vfs = memory_enter(base);

    return memory_leave(vfs, kl_os_tree_rename(&vfs->tree, from, to));
}

static int memory_unlink(struct kl_os_vfs *base, const char *path)
{
    struct memory_vfs *vfs = memory_enter(base);

    return memory_leave(vfs, kl_os_tree_remove(&vfs->tree, path, 0));
}

static int memory_rmdir(struct kl_os_vfs *base, const char *path)
{
    struct memory_vfs *vfs = memory_enter(base);

    return memory_leave(vfs, kl_os_tree_remove(&vfs->tree, path, 1));
}

static int memory_mkdir(struct kl_os_vfs *base, const char *path)
{
    struct memory_vfs *vfs = memory_enter(base);
    struct kl_os_place p;
    int rc = kl_os_tree_find(&vfs->tree, path, &p);

    if (!rc && p.node)
        rc = KL_EEXIST;
    if (!rc)
        rc = kl_os_tree_create(&vfs->tree, &p, 1);
    return memory_leave(vfs, rc);
}

static int memory_list(struct kl_os_vfs *base, const char *path,
                       kl_os_list_fn fn, void *user)
{
    struct memory_vfs *vfs = memory_enter(base);
    struct kl_os_names names;
    struct kl_os_place p;
    int rc = kl_os_tree_find_folder(&vfs->tree, path, &p);

    kl_os_names_init(&names, &vfs->alloc);
    for (size_t i = 0; !rc && i < p.node->child_count; i++)
        rc = kl_os_names_add(&names, p.node->children[i]->name);
    memory_leave(vfs, rc);
    if (!rc)
        rc = kl_os_names_each(&names, fn, user);
    kl_os_names_deinit(&names);
    return rc;
}

static int memory_sync_dir(struct kl_os_vfs *base, const char *path)
{
    struct memory_vfs *vfs = memory_enter(base);
    struct kl_os_place p;

    return memory_leave(vfs, kl_os_tree_find_folder(&vfs->tree, path, &p));
}

static int memory_space(struct kl_os_vfs *base, const char *path,
                        uint64_t *free_out)
{
    struct memory_vfs *vfs = memory_enter(base);
    struct kl_os_place p;
    int rc = kl_os_tree_find_node(&vfs->tree, path, &p);

    if (!rc)
        *free_out = vfs->capacity ? vfs->capacity - vfs->tree.used : INT64_MAX;
    return memory_leave(vfs, rc);
}

static int memory_last_errno(struct kl_os_vfs *base)
{
    (void)base;
    return 0;
}

static void memory_free(struct kl_os_vfs *base)
{
    struct memory_vfs *vfs = (struct memory_vfs *)base;
    struct kl_base_alloc alloc = vfs->alloc;

    KL_ASSERT(vfs->open_count == 0);
    kl_os_tree_deinit(&vfs->tree);
    kl_os_mutex_deinit(&vfs->mutex);
    kl_base_free(&alloc, vfs, sizeof *vfs);
}

static const struct kl_os_vfs_ops memory_ops = {
    .open = memory_open,
    .close = memory_close,
    .read = memory_read,
    .write = memory_write,
    .sync = memory_sync,
    .writeback = memory_writeback,
    .truncate = memory_truncate,
    .allocate = memory_allocate,
    .size = memory_size,
    .lock = memory_lock,
    .rename = memory_rename,
    .unlink = memory_unlink,
    .mkdir = memory_mkdir,
    .rmdir = memory_rmdir,
    .list = memory_list,
    .sync_dir = memory_sync_dir,
    .sync_all = memory_sync,
    .space = memory_space,
    .last_errno = memory_last_errno,
    .free = memory_free,
};

int kl_os_vfs_memory_new(struct kl_os_vfs **out,
                         const struct kl_base_alloc *alloc, uint64_t capacity)
{
    struct memory_vfs *vfs = kl_base_calloc(alloc, sizeof *vfs);
    int rc;

    if (!vfs)
        return KL_ENOMEM;
    rc = kl_os_mutex_init(&vfs->mutex);
    if (rc) {
        kl_base_free(alloc, vfs, sizeof *vfs);
        return rc;
    }
    vfs->base.ops = &memory_ops;
    vfs->alloc = *alloc;
    vfs->capacity = capacity;
    kl_os_tree_init(&vfs->tree, &vfs->alloc);
    *out = &vfs->base;
    return 0;
}
