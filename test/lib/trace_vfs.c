/*
 * The counting and failing file system.
 */
#include "trace_vfs.h"

#include "need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace_file
{
    struct kl_os_file base;
    struct kl_os_file *inner;
    char path[256];
};

static const char *const trace_names[TRACE_VFS_ANY + 1] = {
    "open",      "close",    "read",     "write", "sync",
    "writeback", "truncate", "allocate", "size",  "lock",
    "rename",    "unlink",   "mkdir",    "rmdir", "list",
    "sync_dir",  "sync_all", "space",    "any",
};

static _Thread_local int trace_in_job;

static int trace_is_failing(struct trace_vfs *t, enum trace_vfs_kind kind,
                            const char *path)
{
    struct trace_vfs_fault *fault = &t->fault;

    if (!fault->nth || !(fault->kinds & 1u << kind) ||
        (fault->part && !strstr(path, fault->part)))
        return 0;
    if (fault->nth > 1) {
        fault->nth--;
        return 0;
    }
    fault->nth = (uint64_t)fault->is_lasting;
    return 1;
}

static int trace_is_cut(struct trace_vfs *t)
{
    if (!t->is_cutting)
        return 0;
    if (!t->cut_in)
        return 1;
    t->cut_in--;
    return 0;
}

static void trace_note_owner(struct trace_vfs *t, enum trace_vfs_kind kind)
{
    if (t->is_owner_allowed || trace_in_job)
        return;
    if (t->is_any_owner ? kind == TRACE_VFS_CLOSE
                        : t->owner != kl_os_thread_self())
        return;
    if (!t->owner_calls++)
        t->owner_kind = kind;
}

/* Every call begins here: 0 where it is passed on, or the code that it is to
 * return. */
static int trace_enter(struct kl_os_vfs *vfs, enum trace_vfs_kind kind,
                       const char *path)
{
    struct trace_vfs *t = (struct trace_vfs *)vfs;
    int rc = 0;

    kl_os_mutex_lock(&t->mutex);
    t->counts[kind]++;
    t->counts[TRACE_VFS_ANY]++;
    trace_note_owner(t, kind);
    if (trace_is_failing(t, kind, path))
        rc = t->fault.code;
    if (trace_is_cut(t))
        rc = KL_EIO;
    t->failed += rc != 0;
    if (rc)
        t->failed_kinds |= 1u << kind;
    kl_os_mutex_unlock(&t->mutex);
    return rc;
}

static struct kl_os_vfs *trace_inner(struct kl_os_vfs *vfs)
{
    return ((struct trace_vfs *)vfs)->inner;
}

static struct kl_os_file *trace_inner_file(struct kl_os_file *file)
{
    return ((struct trace_file *)file)->inner;
}

static const char *trace_path(struct kl_os_file *file)
{
    return ((struct trace_file *)file)->path;
}

static void trace_count_handles(struct kl_os_vfs *vfs, int change)
{
    struct trace_vfs *t = (struct trace_vfs *)vfs;

    kl_os_mutex_lock(&t->mutex);
    t->open_count += (uint64_t)(int64_t)change;
    kl_os_mutex_unlock(&t->mutex);
}

static int trace_open(struct kl_os_vfs *vfs, const char *path, uint32_t flags,
                      struct kl_os_file **out)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    struct trace_file *file;
    int rc = trace_enter(vfs, TRACE_VFS_OPEN, path);

    if (rc)
        return rc;
    file = malloc(sizeof *file);
    need(file != NULL);
    rc = inner->ops->open(inner, path, flags, &file->inner);
    if (rc) {
        free(file);
        return rc;
    }
    file->base.vfs = vfs;
    snprintf(file->path, sizeof file->path, "%s", path);
    trace_count_handles(vfs, 1);
    *out = &file->base;
    return 0;
}

static int trace_close(struct kl_os_file *file)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int fault = trace_enter(file->vfs, TRACE_VFS_CLOSE, trace_path(file));
    int rc = inner->vfs->ops->close(inner);

    trace_count_handles(file->vfs, -1);
    free(file);
    return fault ? fault : rc;
}

static int trace_read(struct kl_os_file *file, void *buf, size_t size,
                      uint64_t offset, size_t *read_out)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_READ, trace_path(file));

    *read_out = 0;
    if (rc)
        return rc;
    return inner->vfs->ops->read(inner, buf, size, offset, read_out);
}

static void trace_write_half(struct kl_os_file *inner,
                             const struct kl_os_iovec *iov, size_t count,
                             uint64_t offset, size_t *written_out)
{
    size_t size = 0, done;

    for (size_t i = 0; i < count; i++)
        size += iov[i].size;
    size /= 2;
    for (size_t i = 0; i < count && size > 0; i++) {
        struct kl_os_iovec part = iov[i];

        if (part.size > size)
            part.size = size;
        if (inner->vfs->ops->write(inner, &part, 1, offset, &done))
            return;
        offset += done;
        *written_out += done;
        size -= part.size;
    }
}

static int trace_write(struct kl_os_file *file, const struct kl_os_iovec *iov,
                       size_t count, uint64_t offset, size_t *written_out)
{
    struct kl_os_file *inner = trace_inner_file(file);
    struct trace_vfs *t = (struct trace_vfs *)file->vfs;
    int rc = trace_enter(file->vfs, TRACE_VFS_WRITE, trace_path(file));
    size_t ignored;

    if (!written_out)
        written_out = &ignored;
    *written_out = 0;
    if (rc && t->fault.is_short)
        trace_write_half(inner, iov, count, offset, written_out);
    if (rc)
        return rc;
    return inner->vfs->ops->write(inner, iov, count, offset, written_out);
}

static int trace_sync(struct kl_os_file *file)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_SYNC, trace_path(file));

    return rc ? rc : inner->vfs->ops->sync(inner);
}

static void trace_writeback(struct kl_os_file *file, uint64_t offset,
                            uint64_t size)
{
    struct kl_os_file *inner = trace_inner_file(file);

    if (!trace_enter(file->vfs, TRACE_VFS_WRITEBACK, trace_path(file)))
        inner->vfs->ops->writeback(inner, offset, size);
}

static int trace_truncate(struct kl_os_file *file, uint64_t size)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_TRUNCATE, trace_path(file));

    return rc ? rc : inner->vfs->ops->truncate(inner, size);
}

static int trace_allocate(struct kl_os_file *file, uint64_t offset,
                          uint64_t size)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_ALLOCATE, trace_path(file));

    return rc ? rc : inner->vfs->ops->allocate(inner, offset, size);
}

static int trace_size(struct kl_os_file *file, uint64_t *size_out)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_SIZE, trace_path(file));

    return rc ? rc : inner->vfs->ops->size(inner, size_out);
}

static int trace_lock(struct kl_os_file *file)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_LOCK, trace_path(file));

    return rc ? rc : inner->vfs->ops->lock(inner);
}

static int trace_rename(struct kl_os_vfs *vfs, const char *from, const char *to)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_RENAME, to);

    return rc ? rc : inner->ops->rename(inner, from, to);
}

static int trace_unlink(struct kl_os_vfs *vfs, const char *path)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_UNLINK, path);

    return rc ? rc : inner->ops->unlink(inner, path);
}

static int trace_mkdir(struct kl_os_vfs *vfs, const char *path)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_MKDIR, path);

    return rc ? rc : inner->ops->mkdir(inner, path);
}

static int trace_rmdir(struct kl_os_vfs *vfs, const char *path)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_RMDIR, path);

    return rc ? rc : inner->ops->rmdir(inner, path);
}

static int trace_list(struct kl_os_vfs *vfs, const char *path, kl_os_list_fn fn,
                      void *user)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_LIST, path);

    return rc ? rc : inner->ops->list(inner, path, fn, user);
}

static int trace_sync_dir(struct kl_os_vfs *vfs, const char *path)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_SYNC_DIR, path);

    return rc ? rc : inner->ops->sync_dir(inner, path);
}

static int trace_sync_all(struct kl_os_file *file)
{
    struct kl_os_file *inner = trace_inner_file(file);
    int rc = trace_enter(file->vfs, TRACE_VFS_SYNC_ALL, trace_path(file));

    return rc ? rc : inner->vfs->ops->sync_all(inner);
}

static int trace_space(struct kl_os_vfs *vfs, const char *path,
                       uint64_t *free_out)
{
    struct kl_os_vfs *inner = trace_inner(vfs);
    int rc = trace_enter(vfs, TRACE_VFS_SPACE, path);

    return rc ? rc : inner->ops->space(inner, path, free_out);
}

static int trace_last_errno(struct kl_os_vfs *vfs)
{
    struct kl_os_vfs *inner = trace_inner(vfs);

    return inner->ops->last_errno(inner);
}

static void trace_free(struct kl_os_vfs *vfs)
{
    (void)vfs;
}

static const struct kl_os_vfs_ops trace_ops = {
    .open = trace_open,
    .close = trace_close,
    .read = trace_read,
    .write = trace_write,
    .sync = trace_sync,
    .writeback = trace_writeback,
    .truncate = trace_truncate,
    .allocate = trace_allocate,
    .size = trace_size,
    .lock = trace_lock,
    .rename = trace_rename,
    .unlink = trace_unlink,
    .mkdir = trace_mkdir,
    .rmdir = trace_rmdir,
    .list = trace_list,
    .sync_dir = trace_sync_dir,
    .sync_all = trace_sync_all,
    .space = trace_space,
    .last_errno = trace_last_errno,
    .free = trace_free,
};

void trace_vfs_init(struct trace_vfs *t, struct kl_os_vfs *inner)
{
    memset(t, 0, sizeof *t);
    t->base.ops = &trace_ops;
    t->inner = inner;
    need_ok(kl_os_mutex_init(&t->mutex));
}

void trace_vfs_deinit(struct trace_vfs *t)
{
    need_msg(t->open_count == 0, "%llu files are still open",
             (unsigned long long)t->open_count);
    need_msg(t->owner_calls == 0,
             "the owner thread made %llu file calls, the first of kind %s",
             (unsigned long long)t->owner_calls,
             trace_vfs_kind_name(t->owner_kind));
    kl_os_mutex_deinit(&t->mutex);
}

const char *trace_vfs_kind_name(enum trace_vfs_kind kind)
{
    return trace_names[kind];
}

uint64_t trace_vfs_count(struct trace_vfs *t, enum trace_vfs_kind kind)
{
    uint64_t n;

    kl_os_mutex_lock(&t->mutex);
    n = t->counts[kind];
    kl_os_mutex_unlock(&t->mutex);
    return n;
}

uint64_t trace_vfs_failed(struct trace_vfs *t)
{
    uint64_t n;

    kl_os_mutex_lock(&t->mutex);
    n = t->failed;
    kl_os_mutex_unlock(&t->mutex);
    return n;
}

static uint32_t trace_kinds(enum trace_vfs_kind kind)
{
    return kind == TRACE_VFS_ANY ? (1u << TRACE_VFS_ANY) - 1 : 1u << kind;
}

/* As pages of the system's manual have it, with what file systems that do not
 * write in place add: space may be missing for every change of a folder, and at
 * a sync. */
uint32_t trace_vfs_kinds_of(int code)
{
    enum {
        FOLDERS = 1 << TRACE_VFS_MKDIR | 1 << TRACE_VFS_RENAME |
                  1 << TRACE_VFS_UNLINK | 1 << TRACE_VFS_RMDIR,
        OPENS =
            1 << TRACE_VFS_OPEN | 1 << TRACE_VFS_LIST | 1 << TRACE_VFS_SYNC_DIR
    };

    switch (code) {
    case KL_EIO:
        return trace_kinds(TRACE_VFS_ANY);
    case KL_EDISKFULL:
        return FOLDERS | 1 << TRACE_VFS_OPEN | 1 << TRACE_VFS_WRITE |
               1 << TRACE_VFS_SYNC | 1 << TRACE_VFS_CLOSE |
               1 << TRACE_VFS_TRUNCATE | 1 << TRACE_VFS_ALLOCATE |
               1 << TRACE_VFS_SYNC_DIR | 1 << TRACE_VFS_SYNC_ALL;
    case KL_ENOFILES:
        return OPENS;
    case KL_ENOMEM:
        return FOLDERS | OPENS | 1 << TRACE_VFS_SPACE;
    case KL_EACCESS:
    case KL_ENOENT:
        return FOLDERS | OPENS | 1 << TRACE_VFS_SPACE;
    case KL_EUNSUPPORTED:
        return 1 << TRACE_VFS_SYNC_ALL;
    case KL_EBUSY:
        return 1 << TRACE_VFS_LOCK;
    default:
        return 0;
    }
}

void trace_vfs_job_begin(void)
{
    trace_in_job++;
}

void trace_vfs_job_end(void)
{
    trace_in_job--;
}

void trace_vfs_watch_owner(struct trace_vfs *t)
{
    kl_os_mutex_lock(&t->mutex);
    t->owner = kl_os_thread_self();
    t->is_any_owner = 0;
    t->is_owner_allowed = 0;
    kl_os_mutex_unlock(&t->mutex);
}

void trace_vfs_watch_all(struct trace_vfs *t)
{
    kl_os_mutex_lock(&t->mutex);
    t->is_any_owner = 1;
    t->is_owner_allowed = 0;
    kl_os_mutex_unlock(&t->mutex);
}

void trace_vfs_allow_owner(struct trace_vfs *t, int is_allowed)
{
    kl_os_mutex_lock(&t->mutex);
    t->is_owner_allowed = is_allowed;
    kl_os_mutex_unlock(&t->mutex);
}

uint64_t trace_vfs_take_owner_calls(struct trace_vfs *t)
{
    uint64_t n;

    kl_os_mutex_lock(&t->mutex);
    n = t->owner_calls;
    t->owner_calls = 0;
    kl_os_mutex_unlock(&t->mutex);
    return n;
}

void trace_vfs_arm(struct trace_vfs *t, const struct trace_vfs_fault *fault)
{
    kl_os_mutex_lock(&t->mutex);
    t->fault = *fault;
    kl_os_mutex_unlock(&t->mutex);
}

void trace_vfs_fail(struct trace_vfs *t, enum trace_vfs_kind kind, uint64_t nth,
                    int code)
{
    trace_vfs_arm(t, &(struct trace_vfs_fault){
                         .kinds = trace_kinds(kind), .nth = nth, .code = code});
}

void trace_vfs_fail_from(struct trace_vfs *t, enum trace_vfs_kind kind,
                         uint64_t nth, int code)
{
    trace_vfs_arm(t, &(struct trace_vfs_fault){.kinds = trace_kinds(kind),
                                               .nth = nth,
                                               .code = code,
                                               .is_lasting = 1});
}

void trace_vfs_fail_path(struct trace_vfs *t, enum trace_vfs_kind kind,
                         const char *part, int code)
{
    trace_vfs_arm(t, &(struct trace_vfs_fault){.kinds = trace_kinds(kind),
                                               .part = part,
                                               .nth = 1,
                                               .code = code,
                                               .is_lasting = 1});
}

void trace_vfs_cut(struct trace_vfs *t, uint64_t calls)
{
    kl_os_mutex_lock(&t->mutex);
    t->is_cutting = 1;
    t->cut_in = calls;
    kl_os_mutex_unlock(&t->mutex);
}

void trace_vfs_heal(struct trace_vfs *t)
{
    kl_os_mutex_lock(&t->mutex);
    t->fault.nth = 0;
    t->is_cutting = 0;
    kl_os_mutex_unlock(&t->mutex);
}
