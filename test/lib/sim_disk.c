/*
 * The simulated disk as the file-system port sees it.
 */
#include "sim_disk.h"

#include "need.h"
#include "sim_node.h"

#include "os/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const disk_call_names[SIM_CALLS + 1] = {
    "create", "write", "sync",  "truncate", "allocate", "rename",
    "unlink", "mkdir", "rmdir", "sync_dir", "sync_all", "none",
};

const char *sim_disk_call_name(enum sim_disk_call call)
{
    return disk_call_names[call];
}

static void disk_hook(struct sim_disk *d, enum sim_disk_call call,
                      const char *path)
{
    if (d->hook)
        d->hook(d->hook_user, call, path);
}

/* After a change. */
static int disk_changed(struct sim_disk *d, enum sim_disk_call call,
                        const char *path)
{
    d->version++;
    d->calls++;
    disk_hook(d, call, path);
    return 0;
}

/* Before something is made durable; 1 where it is not to be. */
static int disk_lies(struct sim_disk *d, enum sim_disk_call call,
                     const char *path)
{
    disk_hook(d, call, path);
    return d->lie_part && d->lie_call == call && strstr(path, d->lie_part);
}

/* ---- paths --------------------------------------------------------------
 */

struct disk_place
{
    struct sim_node *folder; /* NULL for the root itself */
    const char *name;
    size_t length;
    struct sim_node *node;
};

static int disk_find(struct sim_disk *d, const char *path, struct disk_place *p)
{
    struct sim_name *name;

    memset(p, 0, sizeof *p);
    p->node = d->root;
    for (;;) {
        size_t length;

        path += strspn(path, "/");
        if (!*path)
            return 0;
        length = strcspn(path, "/");
        if (length == 1 && *path == '.') {
            path += length;
            continue;
        }
        if (!p->node)
            return KL_ENOENT;
        if (!p->node->is_folder)
            return KL_EIO;
        p->folder = p->node;
        p->name = path;
        p->length = length;
        name = sim_node_find(p->folder, path, length);
        p->node = name ? sim_name_node(name) : NULL;
        path += length;
    }
}

static int disk_find_folder(struct sim_disk *d, const char *path,
                            struct disk_place *p)
{
    int rc = disk_find(d, path, p);

    if (rc)
        return rc;
    if (!p->node)
        return KL_ENOENT;
    return p->node->is_folder ? 0 : KL_EIO;
}

static void disk_mark_links(struct sim_disk *d)
{
    for (struct sim_node *n = d->nodes; n; n = n->next)
        n->is_marked = n->refs > 0;
    for (struct sim_node *n = d->nodes; n; n = n->next)
        for (size_t i = 0; i < n->name_count; i++)
            if (sim_name_node(&n->names[i]))
                sim_name_node(&n->names[i])->is_marked = 1;
}

/* Bytes of all files that have a name or a handle. */
static uint64_t disk_used(struct sim_disk *d)
{
    uint64_t used = 0;

    disk_mark_links(d);
    for (struct sim_node *n = d->nodes; n; n = n->next)
        if (n->is_marked)
            used += sim_node_size(n);
    return used;
}

static uint64_t disk_size_limit(struct sim_disk *d, const struct sim_node *n)
{
    return d->capacity ? sim_node_size(n) + (d->capacity - disk_used(d))
                       : INT64_MAX;
}

/* ---- files --------------------------------------------------------------
 */

static struct sim_disk_file *disk_file(struct kl_os_file *file)
{
    return (struct sim_disk_file *)file;
}

static int disk_open_node(struct sim_disk *d, const char *path, uint32_t flags,
                          struct sim_node **out)
{
    struct disk_place p;
    int rc = disk_find(d, path, &p);

    if (rc)
        return rc;
    if (p.node && p.node->is_folder)
        return KL_EIO;
    if (!p.node) {
        if (!(flags & KL_OS_CREATE))
            return KL_ENOENT;
        p.node = sim_node_new(d, 0);
        sim_node_link(p.folder, p.name, p.length, p.node, 0);
        disk_changed(d, SIM_CREATE, path);
    } else if (flags & KL_OS_TRUNCATE && sim_node_size(p.node) > 0) {
        sim_node_resize(p.node, 0);
        disk_changed(d, SIM_TRUNCATE, path);
    }
    *out = p.node;
    return 0;
}

static int disk_open(struct kl_os_vfs *vfs, const char *path, uint32_t flags,
                     struct kl_os_file **out)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct sim_disk_file *file;
    struct sim_node *node;
    int rc = disk_open_node(d, path, flags, &node);

    if (rc)
        return rc;
    file = sim_alloc(NULL, sizeof *file);
    memset(file, 0, sizeof *file);
    file->base.vfs = vfs;
    file->disk = d;
    file->node = node;
    file->is_writable = (flags & KL_OS_WRITE) != 0;
    snprintf(file->path, sizeof file->path, "%s", path);
    node->refs++;
    d->open_count++;
    *out = &file->base;
    return 0;
}

static int disk_close(struct kl_os_file *base)
{
    struct sim_disk_file *file = disk_file(base);

    if (file->node->locked_by == file)
        file->node->locked_by = NULL;
    file->node->refs--;
    file->disk->open_count--;
    free(file);
    return 0;
}

static int disk_read(struct kl_os_file *base, void *buf, size_t size,
                     uint64_t offset, size_t *read_out)
{
    const struct sim_node *n = disk_file(base)->node;
    uint64_t end = sim_node_size(n);

    *read_out = 0;
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return KL_EINVAL;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    sim_node_read(n, buf, size, offset);
    *read_out = size;
    return 0;
}

static int disk_write(struct kl_os_file *base, const struct kl_os_iovec *iov,
                      size_t count, uint64_t offset, size_t *written_out)
{
    struct sim_disk_file *file = disk_file(base);
    uint64_t limit = disk_size_limit(file->disk, file->node);
    uint64_t at = offset;
    int rc = 0;

    if (written_out)
        *written_out = 0;
    if (!file->is_writable)
        return KL_EIO;
    if (offset > INT64_MAX)
        return KL_EINVAL;
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint64_t room = at < limit ? limit - at : 0;
        size_t size = iov[i].size;

        if (size > room) {
            size = (size_t)room;
            rc = KL_EDISKFULL;
        }
        if (size > 0)
            sim_node_write(file->node, iov[i].data, size, at);
        at += size;
    }
    if (written_out)
        *written_out = (size_t)(at - offset);
    if (at > offset)
        disk_changed(file->disk, SIM_WRITE, file->path);
    return rc;
}

static int disk_sync(struct kl_os_file *base)
{
    struct sim_disk_file *file = disk_file(base);

    if (disk_lies(file->disk, SIM_SYNC, file->path))
        return 0;
    sim_node_sync(file->node);
    return disk_changed(file->disk, SIM_SYNC, file->path);
}

static void disk_writeback(struct kl_os_file *file, uint64_t offset,
                           uint64_t size)
{
    (void)file;
    (void)offset;
    (void)size;
}

static int disk_check_end(struct sim_disk_file *file, uint64_t offset,
                          uint64_t size)
{
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return KL_EINVAL;
    if (!file->is_writable)
        return KL_EIO;
    return offset + size > disk_size_limit(file->disk, file->node)
               ? KL_EDISKFULL
               : 0;
}

static int disk_truncate(struct kl_os_file *base, uint64_t size)
{
    struct sim_disk_file *file = disk_file(base);
    int rc = disk_check_end(file, 0, size);

    if (rc)
        return rc;
    sim_node_resize(file->node, size);
    return disk_changed(file->disk, SIM_TRUNCATE, file->path);
}

static int disk_allocate(struct kl_os_file *base, uint64_t offset,
                         uint64_t size)
{
    struct sim_disk_file *file = disk_file(base);
    int rc = size ? disk_check_end(file, offset, size) : 0;

    if (rc || offset + size <= sim_node_size(file->node))
        return rc;
    sim_node_resize(file->node, offset + size);
    return disk_changed(file->disk, SIM_ALLOCATE, file->path);
}

static int disk_size(struct kl_os_file *file, uint64_t *size_out)
{
    *size_out = sim_node_size(disk_file(file)->node);
    return 0;
}

static int disk_lock(struct kl_os_file *base)
{
    struct sim_disk_file *file = disk_file(base);

    if (!file->is_writable)
        return KL_EIO;
    if (file->node->locked_by && file->node->locked_by != file)
        return KL_EBUSY;
    file->node->locked_by = file;
    return 0;
}

/* ---- names --------------------------------------------------------------
 */

static int disk_rename(struct kl_os_vfs *vfs, const char *from, const char *to)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place a, b;
    int rc = disk_find(d, from, &a);

    if (rc == 0)
        rc = disk_find(d, to, &b);
    if (rc)
        return rc;
    if (!a.node)
        return KL_ENOENT;
    if (!a.folder || !b.folder)
        return KL_EINVAL;
    if (a.node == b.node)
        return 0;
    if (b.node && b.node->is_folder != a.node->is_folder)
        return KL_EIO;
    if (b.node && b.node->is_folder && !sim_node_is_empty(b.node))
        return KL_EEXIST;
    d->renames++;
    sim_node_link(b.folder, b.name, b.length, a.node, d->renames);
    sim_node_link(a.folder, a.name, a.length, NULL, d->renames);
    return disk_changed(d, SIM_RENAME, to);
}

static int disk_remove(struct kl_os_vfs *vfs, const char *path, int is_folder)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place p;
    int rc = disk_find(d, path, &p);

    if (rc)
        return rc;
    if (!p.node)
        return KL_ENOENT;
    if (!p.folder || p.node->is_folder != is_folder)
        return KL_EIO;
    if (is_folder && !sim_node_is_empty(p.node))
        return KL_EEXIST;
    sim_node_link(p.folder, p.name, p.length, NULL, 0);
    return disk_changed(d, is_folder ? SIM_RMDIR : SIM_UNLINK, path);
}

static int disk_unlink(struct kl_os_vfs *vfs, const char *path)
{
    return disk_remove(vfs, path, 0);
}

static int disk_rmdir(struct kl_os_vfs *vfs, const char *path)
{
    return disk_remove(vfs, path, 1);
}

static int disk_mkdir(struct kl_os_vfs *vfs, const char *path)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place p;
    int rc = disk_find(d, path, &p);

    if (rc)
        return rc;
    if (p.node)
        return KL_EEXIST;
    sim_node_link(p.folder, p.name, p.length, sim_node_new(d, 1), 0);
    return disk_changed(d, SIM_MKDIR, path);
}

static int disk_list(struct kl_os_vfs *vfs, const char *path, kl_os_list_fn fn,
                     void *user)
{
    struct kl_os_names names;
    struct disk_place p;
    int rc = disk_find_folder((struct sim_disk *)vfs, path, &p);

    kl_os_names_init(&names, &kl_base_alloc_libc);
    for (size_t i = 0; rc == 0 && i < p.node->name_count; i++)
        if (sim_name_node(&p.node->names[i]))
            rc = kl_os_names_add(&names, p.node->names[i].name);
    if (rc == 0)
        rc = kl_os_names_each(&names, fn, user);
    kl_os_names_deinit(&names);
    return rc;
}

static int disk_sync_dir(struct kl_os_vfs *vfs, const char *path)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place p;
    int rc = disk_find_folder(d, path, &p);

    if (rc || disk_lies(d, SIM_SYNC_DIR, path))
        return rc;
    sim_node_sync_names(p.node);
    return disk_changed(d, SIM_SYNC_DIR, path);
}

static int disk_sync_all(struct kl_os_file *base)
{
    struct sim_disk_file *file = disk_file(base);

    if (disk_lies(file->disk, SIM_SYNC_ALL, file->path))
        return 0;
    sim_disk_settle(file->disk);
    return disk_changed(file->disk, SIM_SYNC_ALL, file->path);
}

static int disk_space(struct kl_os_vfs *vfs, const char *path,
                      uint64_t *free_out)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place p;
    int rc = disk_find(d, path, &p);

    if (rc == 0 && !p.node)
        rc = KL_ENOENT;
    if (rc == 0)
        *free_out = d->capacity ? d->capacity - disk_used(d) : INT64_MAX;
    return rc;
}

static int disk_last_errno(struct kl_os_vfs *vfs)
{
    (void)vfs;
    return 0;
}

static void disk_free(struct kl_os_vfs *vfs)
{
    sim_disk_free((struct sim_disk *)vfs);
}

static const struct kl_os_vfs_ops disk_ops = {
    .open = disk_open,
    .close = disk_close,
    .read = disk_read,
    .write = disk_write,
    .sync = disk_sync,
    .writeback = disk_writeback,
    .truncate = disk_truncate,
    .allocate = disk_allocate,
    .size = disk_size,
    .lock = disk_lock,
    .rename = disk_rename,
    .unlink = disk_unlink,
    .mkdir = disk_mkdir,
    .rmdir = disk_rmdir,
    .list = disk_list,
    .sync_dir = disk_sync_dir,
    .sync_all = disk_sync_all,
    .space = disk_space,
    .last_errno = disk_last_errno,
    .free = disk_free,
};

/* ---- life ---------------------------------------------------------------
 */

struct sim_disk *sim_disk_new(uint64_t capacity)
{
    struct sim_disk *d = sim_alloc(NULL, sizeof *d);

    memset(d, 0, sizeof *d);
    d->base.ops = &disk_ops;
    d->capacity = capacity;
    d->root = sim_node_new(d, 1);
    return d;
}

void sim_disk_free(struct sim_disk *d)
{
    struct sim_node *n;

    need(d->open_count == 0);
    while ((n = d->nodes)) {
        d->nodes = n->next;
        sim_node_free(n);
    }
    free(d);
}

void sim_disk_settle(struct sim_disk *d)
{
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        sim_node_sync(n);
        sim_node_sync_names(n);
    }
    d->version++;
}
