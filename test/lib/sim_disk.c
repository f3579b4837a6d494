/*
 * The simulated disk as the file-system port sees it.
 */
#include "sim_disk.h"

#include "need.h"
#include "sim_node.h"

#include "os/names.h"

#include <string.h>

struct disk_file
{
    struct kl_os_file base;
    struct sim_disk *disk;
    struct sim_node *node;
    int is_writable;
    char *path;
    size_t path_size;
};

/* ---- calls --------------------------------------------------------------
 */

/* Begins a call: others may come first. The fault that strikes it, or NULL. */
static const struct sim_fault *disk_enter(struct sim_disk *d,
                                          enum sim_call call, const char *path)
{
    int64_t stall_ns = 0;
    const struct sim_fault *fault =
        sim_faults_strike(&d->faults, call, path, &stall_ns);

    if (d->enter)
        d->enter(d->enter_user, call, stall_ns);
    return fault;
}

static void disk_hook(struct sim_disk *d, enum sim_call call,
                      enum sim_when when, const char *path)
{
    if (d->hook)
        d->hook(d->hook_user, call, when, path);
}

/* Begins a call that changes something. */
static int disk_begin(struct sim_disk *d, enum sim_call call, const char *path)
{
    const struct sim_fault *fault = disk_enter(d, call, path);

    if (fault && fault->kind == SIM_FAULT_CODE)
        return fault->code;
    disk_hook(d, call, SIM_BEFORE, path);
    return 0;
}

/* Begins one that changes nothing. */
static int disk_look(struct sim_disk *d, enum sim_call call, const char *path)
{
    const struct sim_fault *fault = disk_enter(d, call, path);

    return fault && fault->kind == SIM_FAULT_CODE ? fault->code : 0;
}

static int disk_end(struct sim_disk *d, enum sim_call call, const char *path)
{
    d->version++;
    disk_hook(d, call, SIM_AFTER, path);
    return 0;
}

static int disk_lies(const struct sim_disk *d, enum sim_call call,
                     const char *path)
{
    return d->lie_part && (d->lie_call == call || d->lie_call == SIM_CALLS) &&
           strstr(path, d->lie_part);
}

/* Does what syncs before have only promised. */
static void disk_keep_promises(struct sim_disk *d, const char *path)
{
    if (!d->lie_until || !strstr(path, d->lie_until))
        return;
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        if (n->is_late)
            sim_node_sync(n);
        n->is_late = 0;
    }
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

        while (*path == '/')
            path++;
        if (!*path)
            return 0;
        for (length = 0; path[length] && path[length] != '/';)
            length++;
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

struct sim_node *sim_disk_file(struct sim_disk *d, const char *path)
{
    struct disk_place p;

    if (disk_find(d, path, &p) || !p.node || p.node->is_folder)
        return NULL;
    return p.node;
}

/* ---- space --------------------------------------------------------------
 */

static void disk_mark_links(struct sim_disk *d)
{
    for (struct sim_node *n = d->nodes; n; n = n->next)
        n->is_marked = n->refs > 0;
    for (struct sim_node *n = d->nodes; n; n = n->next)
        for (size_t i = 0; i < n->name_count; i++)
            if (sim_name_node(&n->names[i]))
                sim_name_node(&n->names[i])->is_marked = 1;
}

uint64_t sim_disk_used(struct sim_disk *d)
{
    uint64_t used = 0;

    disk_mark_links(d);
    for (struct sim_node *n = d->nodes; n; n = n->next)
        if (n->is_marked)
            used += n->size;
    return used;
}

static void disk_mark_lost_links(struct sim_disk *d)
{
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        for (size_t i = 0; i < n->name_count; i++) {
            struct sim_name *name = &n->names[i];

            if (name->durable)
                name->durable->is_marked = 1;
            for (size_t k = 0; k < name->count; k++)
                if (name->changes[k].node)
                    name->changes[k].node->is_marked = 1;
        }
    }
}

/* The same where a crash brings back all that it can. */
static uint64_t disk_held(struct sim_disk *d)
{
    uint64_t held = 0, size;

    disk_mark_links(d);
    disk_mark_lost_links(d);
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        if (!n->is_marked)
            continue;
        size = n->size > n->durable_size ? n->size : n->durable_size;
        for (size_t i = 0; i < n->resize_count; i++)
            if (n->resizes[i].size > size)
                size = n->resizes[i].size;
        held += size;
    }
    return held;
}

/* What was freed is used again only once that is durable: a file system commits
 * its journal before it reports a full disk. */
static void disk_free_for_good(struct sim_disk *d)
{
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        sim_node_sync_names(n);
        sim_node_sync_size(n);
    }
    d->journal = d->log = d->checkpoint = d->op;
    d->version++;
}

/* How large a file may become, when it is to be of that size. */
static uint64_t disk_size_limit(struct sim_disk *d, const struct sim_node *n,
                                uint64_t size)
{
    uint64_t used, more = size > n->size ? size - n->size : 0;

    if (!d->capacity || !more)
        return INT64_MAX;
    if (disk_held(d) + more > d->capacity)
        disk_free_for_good(d);
    used = sim_disk_used(d);
    return n->size + (used < d->capacity ? d->capacity - used : 0);
}

/* ---- files --------------------------------------------------------------
 */

static struct disk_file *disk_file(struct kl_os_file *file)
{
    return (struct disk_file *)file;
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
        disk_hook(d, SIM_CREATE, SIM_BEFORE, path);
        d->op++;
        p.node = sim_node_new(d, 0);
        sim_node_link(p.folder, p.name, p.length, p.node, 0);
        disk_end(d, SIM_CREATE, path);
    } else if (flags & KL_OS_TRUNCATE && p.node->size > 0) {
        disk_hook(d, SIM_TRUNCATE, SIM_BEFORE, path);
        d->op++;
        sim_node_resize(p.node, 0);
        disk_end(d, SIM_TRUNCATE, path);
    }
    *out = p.node;
    return 0;
}

static int disk_open(struct kl_os_vfs *vfs, const char *path, uint32_t flags,
                     struct kl_os_file **out)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_file *file;
    struct sim_node *node;
    int rc = disk_look(d, flags & KL_OS_CREATE ? SIM_CREATE : SIM_OPEN, path);

    if (rc == 0)
        rc = disk_open_node(d, path, flags, &node);
    if (rc)
        return rc;
    file = pool_zeroed(sizeof *file);
    file->base.vfs = vfs;
    file->disk = d;
    file->node = node;
    file->is_writable = (flags & KL_OS_WRITE) != 0;
    file->path_size = strlen(path) + 1;
    file->path = memcpy(pool_take(file->path_size), path, file->path_size);
    node->refs++;
    d->open_count++;
    *out = &file->base;
    return 0;
}

/* What a sync has failed to say is told to another handle, or by close. */
static int disk_owed(struct disk_file *file, enum sim_call call)
{
    struct sim_node *n = file->node;
    int code = n->owed;

    if (!code || (call == SIM_SYNC && n->owed_by == file))
        return 0;
    n->owed = 0;
    return code;
}

static int disk_close(struct kl_os_file *base)
{
    struct disk_file *file = disk_file(base);
    int rc = disk_look(file->disk, SIM_CLOSE, file->path);
    int owed = disk_owed(file, SIM_CLOSE);

    if (file->node->locked_by == file)
        file->node->locked_by = NULL;
    file->node->refs--;
    file->disk->open_count--;
    pool_give(file->path, file->path_size);
    pool_give(file, sizeof *file);
    return rc ? rc : owed;
}

static int disk_read(struct kl_os_file *base, void *buf, size_t size,
                     uint64_t offset, size_t *read_out)
{
    struct disk_file *file = disk_file(base);
    const struct sim_fault *fault =
        disk_enter(file->disk, SIM_READ, file->path);
    const struct sim_node *n = file->node;

    *read_out = 0;
    if (fault && fault->kind == SIM_FAULT_CODE)
        return fault->code;
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return KL_EINVAL;
    if (offset >= n->size)
        return 0;
    if (size > n->size - offset)
        size = (size_t)(n->size - offset);
    if (fault)
        sim_fault_read(fault, &file->disk->faults.rng, n, buf, size, offset);
    else
        sim_node_read(n, buf, size, offset);
    *read_out = size;
    return 0;
}

/* All parts as one, from the pool. */
static uint8_t *disk_gather(const struct kl_os_iovec *iov, size_t count,
                            size_t *size_out)
{
    size_t size = 0, at = 0;
    uint8_t *data;

    for (size_t i = 0; i < count; i++)
        size += iov[i].size;
    data = pool_take(size);
    for (size_t i = 0; i < count; at += iov[i++].size)
        if (iov[i].size)
            memcpy(data + at, iov[i].data, iov[i].size);
    *size_out = size;
    return data;
}

/* Whole sectors first, then the rest: a kill may come in between. */
static void disk_put(struct disk_file *file, const uint8_t *data, size_t size,
                     uint64_t offset)
{
    struct sim_disk *d = file->disk;
    uint64_t first = offset / SIM_SECTOR;
    uint64_t sectors = (offset + size + SIM_SECTOR - 1) / SIM_SECTOR - first;
    size_t part = 0;

    disk_hook(d, SIM_WRITE, SIM_BEFORE, file->path);
    d->op++;
    if (sectors > 1 && d->hook) {
        part =
            (size_t)((first + 1 + d->op % (sectors - 1)) * SIM_SECTOR - offset);
        sim_node_write(file->node, data, part, offset);
        d->version++;
        disk_hook(d, SIM_WRITE, SIM_INSIDE, file->path);
    }
    sim_node_write(file->node, data + part, size - part, offset + part);
    disk_end(d, SIM_WRITE, file->path);
}

/* How much of a write reaches the file, and the code for the rest. */
static size_t disk_room(struct disk_file *file, const struct sim_fault *fault,
                        size_t size, uint64_t offset, int *code_out)
{
    uint64_t limit = disk_size_limit(file->disk, file->node, offset + size);
    uint64_t room = offset < limit ? limit - offset : 0;

    *code_out = size > room ? KL_EDISKFULL : 0;
    if (fault && fault->kind == SIM_FAULT_SHORT && fault->bytes < size &&
        fault->bytes < room) {
        *code_out = fault->code;
        return (size_t)fault->bytes;
    }
    return size > room ? (size_t)room : size;
}

static int disk_write(struct kl_os_file *base, const struct kl_os_iovec *iov,
                      size_t count, uint64_t offset, size_t *written_out)
{
    struct disk_file *file = disk_file(base);
    struct sim_disk *d = file->disk;
    const struct sim_fault *fault = disk_enter(d, SIM_WRITE, file->path);
    size_t all, size;
    uint8_t *data;
    int rc;

    if (written_out)
        *written_out = 0;
    if (fault && fault->kind == SIM_FAULT_CODE)
        return fault->code;
    if (!file->is_writable)
        return KL_EIO;
    if (offset > INT64_MAX)
        return KL_EINVAL;
    data = disk_gather(iov, count, &all);
    size = disk_room(file, fault, all, offset, &rc);
    if (written_out)
        *written_out = size;
    if (fault && fault->kind == SIM_FAULT_WRITE_ELSEWHERE)
        offset = sim_fault_elsewhere(&d->faults.rng, file->node, offset);
    if (size > 0 && !(fault && fault->kind == SIM_FAULT_WRITE_LOST))
        disk_put(file, data, size, offset);
    pool_give(data, all);
    return rc;
}

/* A sync commits more than was asked for, where a journal does. */
static void disk_commit(struct sim_disk *d, const struct sim_node *n)
{
    if (n->named_op > d->journal)
        d->journal = d->op;
    if (n->named_op > d->log)
        d->log = n->named_op;
}

static int disk_sync(struct kl_os_file *base)
{
    struct disk_file *file = disk_file(base);
    struct sim_disk *d = file->disk;
    const struct sim_fault *fault = disk_enter(d, SIM_SYNC, file->path);
    int rc = disk_owed(file, SIM_SYNC), failed;

    if (fault && fault->kind == SIM_FAULT_CODE)
        return fault->code;
    disk_hook(d, SIM_SYNC, SIM_BEFORE, file->path);
    if (disk_lies(d, SIM_SYNC, file->path)) {
        file->node->is_late = 1;
        return rc;
    }
    if (fault && sim_fault_sync(fault, file->node, file, &failed)) {
        rc = failed;
    } else {
        disk_commit(d, file->node);
        sim_node_sync(file->node);
    }
    disk_end(d, SIM_SYNC, file->path);
    disk_keep_promises(d, file->path);
    return rc;
}

static void disk_writeback(struct kl_os_file *file, uint64_t offset,
                           uint64_t size)
{
    (void)file;
    (void)offset;
    (void)size;
}

static int disk_check_end(struct disk_file *file, uint64_t offset,
                          uint64_t size)
{
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return KL_EINVAL;
    if (!file->is_writable)
        return KL_EIO;
    size += offset;
    return size > disk_size_limit(file->disk, file->node, size) ? KL_EDISKFULL
                                                                : 0;
}

static int disk_resize(struct disk_file *file, enum sim_call call,
                       uint64_t size)
{
    file->disk->op++;
    sim_node_resize(file->node, size);
    return disk_end(file->disk, call, file->path);
}

static int disk_truncate(struct kl_os_file *base, uint64_t size)
{
    struct disk_file *file = disk_file(base);
    int rc = disk_begin(file->disk, SIM_TRUNCATE, file->path);

    if (rc == 0)
        rc = disk_check_end(file, 0, size);
    return rc ? rc : disk_resize(file, SIM_TRUNCATE, size);
}

static int disk_allocate(struct kl_os_file *base, uint64_t offset,
                         uint64_t size)
{
    struct disk_file *file = disk_file(base);
    int rc = disk_begin(file->disk, SIM_ALLOCATE, file->path);

    if (rc == 0)
        rc = size ? disk_check_end(file, offset, size) : 0;
    if (rc || offset + size <= file->node->size)
        return rc;
    return disk_resize(file, SIM_ALLOCATE, offset + size);
}

static int disk_size(struct kl_os_file *base, uint64_t *size_out)
{
    struct disk_file *file = disk_file(base);
    int rc = disk_look(file->disk, SIM_SIZE, file->path);

    if (rc == 0)
        *size_out = file->node->size;
    return rc;
}

static int disk_lock(struct kl_os_file *base)
{
    struct disk_file *file = disk_file(base);
    int rc = disk_look(file->disk, SIM_LOCK, file->path);

    if (rc)
        return rc;
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
    int rc = disk_begin(d, SIM_RENAME, to);

    if (rc == 0)
        rc = disk_find(d, from, &a);
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
    d->op++;
    sim_node_link(b.folder, b.name, b.length, a.node, 1);
    sim_node_link(a.folder, a.name, a.length, NULL, 1);
    return disk_end(d, SIM_RENAME, to);
}

static int disk_remove(struct kl_os_vfs *vfs, const char *path,
                       enum sim_call call)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    int is_folder = call == SIM_RMDIR;
    struct disk_place p;
    int rc = disk_begin(d, call, path);

    if (rc == 0)
        rc = disk_find(d, path, &p);
    if (rc)
        return rc;
    if (!p.node)
        return KL_ENOENT;
    if (!p.folder || p.node->is_folder != is_folder)
        return KL_EIO;
    if (is_folder && !sim_node_is_empty(p.node))
        return KL_EEXIST;
    d->op++;
    sim_node_link(p.folder, p.name, p.length, NULL, 0);
    return disk_end(d, call, path);
}

static int disk_unlink(struct kl_os_vfs *vfs, const char *path)
{
    return disk_remove(vfs, path, SIM_UNLINK);
}

static int disk_rmdir(struct kl_os_vfs *vfs, const char *path)
{
    return disk_remove(vfs, path, SIM_RMDIR);
}

static int disk_mkdir(struct kl_os_vfs *vfs, const char *path)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place p;
    int rc = disk_begin(d, SIM_MKDIR, path);

    if (rc == 0)
        rc = disk_find(d, path, &p);
    if (rc)
        return rc;
    if (p.node)
        return KL_EEXIST;
    d->op++;
    sim_node_link(p.folder, p.name, p.length, sim_node_new(d, 1), 0);
    return disk_end(d, SIM_MKDIR, path);
}

static int disk_list(struct kl_os_vfs *vfs, const char *path, kl_os_list_fn fn,
                     void *user)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct kl_os_names names;
    struct disk_place p;
    int rc = disk_look(d, SIM_LIST, path);

    if (rc == 0)
        rc = disk_find_folder(d, path, &p);
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
    int rc = disk_begin(d, SIM_SYNC_DIR, path);

    if (rc == 0)
        rc = disk_find_folder(d, path, &p);
    if (rc || disk_lies(d, SIM_SYNC_DIR, path))
        return rc;
    disk_commit(d, p.node);
    d->checkpoint = d->op;
    sim_node_sync_names(p.node);
    return disk_end(d, SIM_SYNC_DIR, path);
}

static int disk_sync_all(struct kl_os_file *base)
{
    struct disk_file *file = disk_file(base);
    int rc = disk_begin(file->disk, SIM_SYNC_ALL, file->path);

    if (rc || disk_lies(file->disk, SIM_SYNC_ALL, file->path))
        return rc;
    sim_disk_settle(file->disk);
    return disk_end(file->disk, SIM_SYNC_ALL, file->path);
}

static int disk_space(struct kl_os_vfs *vfs, const char *path,
                      uint64_t *free_out)
{
    struct sim_disk *d = (struct sim_disk *)vfs;
    struct disk_place p;
    uint64_t used;
    int rc = disk_look(d, SIM_SPACE, path);

    if (rc == 0)
        rc = disk_find(d, path, &p);
    if (rc == 0 && !p.node)
        rc = KL_ENOENT;
    if (rc)
        return rc;
    used = d->capacity ? sim_disk_used(d) : 0;
    *free_out = used < d->capacity ? d->capacity - used : 0;
    if (!d->capacity)
        *free_out = INT64_MAX;
    return 0;
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
    struct sim_disk *d = pool_zeroed(sizeof *d);

    d->base.ops = &disk_ops;
    d->capacity = capacity;
    d->root = sim_node_new(d, 1);
    sim_faults_seed(&d->faults, 1);
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
    pool_give(d, sizeof *d);
}

void sim_disk_settle(struct sim_disk *d)
{
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        sim_node_sync(n);
        sim_node_sync_names(n);
    }
    d->journal = d->log = d->checkpoint = d->op;
    d->version++;
}
