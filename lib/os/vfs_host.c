/*
 * The port over a host's functions. What they answer is not trusted: codes,
 * counts and names are checked here, so that nothing above has to. What a host
 * may leave out is done without, or replaced.
 */
#include "os/vfs_host.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "os/names.h"
#include "os/thread.h"
#include "os/zeros.h"

#include <stdatomic.h>
#include <string.h>

enum {
    HOST_PATH = 1024,
    HOST_PARTS = 256 /* of one write call */
};

struct host_vfs
{
    struct kl_os_vfs base;
    struct kl_base_alloc alloc;
    struct kl_os_host_calls calls;
    atomic_int last_number; /* of the last wrong answer */
    struct kl_os_mutex mutex;
    struct kl_base_list locked; /* files, under mutex */
};

struct host_file
{
    struct kl_os_file base;
    void *handle;
    uint64_t path; /* its hash */
    int is_writable;
    struct kl_base_list link; /* in locked */
};

struct kl_storage_names
{
    struct kl_os_names names;
    int code; /* of the first name that could not be added */
};

static const struct kl_os_host_calls *host_calls(const struct kl_os_file *file)
{
    return &((const struct host_vfs *)file->vfs)->calls;
}

static void *host_handle(const struct kl_os_file *file)
{
    return ((const struct host_file *)file)->handle;
}

/* What may go up of an answer. */
static int host_code(struct kl_os_vfs *base, int answer)
{
    struct host_vfs *vfs = (struct host_vfs *)base;
    int number = 0;

    switch (answer) {
    case KL_OK:
        return KL_OK;
    case KL_EIO:
    case KL_EDISKFULL:
    case KL_ENOENT:
    case KL_EEXIST:
    case KL_EBUSY:
    case KL_EACCESS:
    case KL_ENOFILES:
    case KL_ENOMEM:
    case KL_EUNSUPPORTED:
        break;
    default:
        number = answer;
        answer = KL_EIO;
    }
    atomic_store_explicit(&vfs->last_number, number, memory_order_relaxed);
    return answer;
}

static int host_range_is_valid(uint64_t offset, uint64_t size)
{
    return offset <= INT64_MAX && size <= INT64_MAX - offset;
}

/* Copies a path without empty parts and parts ".". */
static int host_path(const char *path, char out[HOST_PATH])
{
    size_t used = 0;

    if (*path == '/')
        out[used++] = '/';
    while (*path) {
        size_t size = strcspn(path, "/");

        if (size > 0 && !(size == 1 && *path == '.')) {
            if (used + size + 2 > HOST_PATH)
                return KL_EINVAL;
            if (used > 0 && out[used - 1] != '/')
                out[used++] = '/';
            memcpy(out + used, path, size);
            used += size;
        }
        path += size;
        path += *path == '/';
    }
    if (used == 0)
        out[used++] = '.';
    out[used] = 0;
    return 0;
}

/* ---- files ----------------------------------------------------------------
 */

static int host_open(struct kl_os_vfs *base, const char *path, uint32_t flags,
                     struct kl_os_file **out)
{
    struct host_vfs *vfs = (struct host_vfs *)base;
    struct host_file *file;
    char clean[HOST_PATH];
    int rc = host_path(path, clean);

    if (rc)
        return rc;
    file = kl_base_calloc(&vfs->alloc, sizeof *file);
    if (!file)
        return KL_ENOMEM;
    rc = host_code(base, vfs->calls.open(clean, flags, &file->handle,
                                         vfs->calls.open_user));
    if (rc) {
        kl_base_free(&vfs->alloc, file, sizeof *file);
        return rc;
    }
    file->base.vfs = base;
    file->is_writable = (flags & KL_OS_WRITE) != 0;
    file->path = kl_base_hash(clean, strlen(clean), 0);
    kl_base_list_init(&file->link);
    *out = &file->base;
    return 0;
}

static int host_close(struct kl_os_file *base)
{
    struct host_vfs *vfs = (struct host_vfs *)base->vfs;
    struct host_file *file = (struct host_file *)base;
    int rc = host_code(base->vfs,
                       vfs->calls.close(file->handle, vfs->calls.close_user));

    kl_os_mutex_lock(&vfs->mutex);
    kl_base_list_remove(&file->link);
    kl_os_mutex_unlock(&vfs->mutex);
    kl_base_free(&vfs->alloc, file, sizeof *file);
    return rc;
}

static int host_read(struct kl_os_file *file, void *buf, size_t size,
                     uint64_t offset, size_t *read_out)
{
    const struct kl_os_host_calls *calls = host_calls(file);
    size_t done = 0;
    int rc = host_range_is_valid(offset, size) ? 0 : KL_EINVAL;

    while (rc == 0 && done < size) {
        size_t got = 0;

        rc = host_code(file->vfs,
                       calls->read(host_handle(file), (char *)buf + done,
                                   size - done, offset + done, &got,
                                   calls->read_user));
        if (rc == 0 && got > size - done)
            rc = KL_EIO;
        if (rc || got == 0)
            break;
        done += got;
    }
    *read_out = done;
    return rc;
}

static int host_write(struct kl_os_file *file, const struct kl_os_iovec *iov,
                      size_t count, uint64_t offset, size_t *written_out)
{
    const struct kl_os_host_calls *calls = host_calls(file);
    const void *parts[HOST_PARTS];
    uint64_t sizes[HOST_PARTS];
    uint64_t done = 0;
    size_t next = 0;
    int rc = 0;

    while (rc == 0 && next < count) {
        uint64_t size = 0;
        size_t used = 0;

        for (; next < count && used < HOST_PARTS; next++) {
            parts[used] = iov[next].data;
            sizes[used] = iov[next].size;
            size += iov[next].size;
            used += iov[next].size > 0;
        }
        if (!host_range_is_valid(offset, done + size))
            rc = KL_EINVAL;
        else if (used > 0)
            rc = host_code(file->vfs,
                           calls->write(host_handle(file), parts, sizes, used,
                                        offset + done, calls->write_user));
        if (rc == 0)
            done += size;
    }
    if (written_out)
        *written_out = (size_t)done;
    return rc;
}

static int host_sync(struct kl_os_file *file)
{
    const struct kl_os_host_calls *calls = host_calls(file);

    return host_code(file->vfs,
                     calls->sync(host_handle(file), calls->sync_user));
}

static void host_writeback(struct kl_os_file *file, uint64_t offset,
                           uint64_t size)
{
    const struct kl_os_host_calls *calls = host_calls(file);

    if (calls->writeback && size && host_range_is_valid(offset, size))
        (void)calls->writeback(host_handle(file), offset, size,
                               calls->writeback_user);
}

static int host_truncate(struct kl_os_file *file, uint64_t size)
{
    const struct kl_os_host_calls *calls = host_calls(file);

    if (!host_range_is_valid(0, size))
        return KL_EINVAL;
    return host_code(file->vfs, calls->truncate(host_handle(file), size,
                                                calls->truncate_user));
}

static int host_size(struct kl_os_file *file, uint64_t *size_out)
{
    const struct kl_os_host_calls *calls = host_calls(file);
    int rc;

    *size_out = 0;
    rc = host_code(file->vfs,
                   calls->size(host_handle(file), size_out, calls->size_user));
    return rc == 0 && *size_out > INT64_MAX ? KL_EIO : rc;
}

static int host_allocate(struct kl_os_file *file, uint64_t offset,
                         uint64_t size)
{
    const struct kl_os_host_calls *calls = host_calls(file);
    int rc = KL_EUNSUPPORTED;

    if (!host_range_is_valid(offset, size))
        return KL_EINVAL;
    if (!size)
        return 0;
    if (calls->allocate)
        rc = host_code(file->vfs, calls->allocate(host_handle(file), offset,
                                                  size, calls->allocate_user));
    return rc == KL_EUNSUPPORTED
               ? kl_os_zeros_append(file,
                                    &((struct host_vfs *)file->vfs)->alloc,
                                    offset + size)
               : rc;
}

/* A lock for those that use the same storage, where the host has none. */
static int host_lock_here(struct host_file *file)
{
    struct host_vfs *vfs = (struct host_vfs *)file->base.vfs;
    int rc = file->is_writable ? 0 : KL_EIO;

    kl_os_mutex_lock(&vfs->mutex);
    for (struct kl_base_list *l = vfs->locked.next; l != &vfs->locked;
         l = l->next) {
        const struct host_file *other =
            KL_BASE_CONTAINER(l, struct host_file, link);

        if (other != file && other->path == file->path)
            rc = KL_EBUSY;
    }
    if (rc == 0) {
        kl_base_list_remove(&file->link);
        kl_base_list_push(&vfs->locked, &file->link);
    }
    kl_os_mutex_unlock(&vfs->mutex);
    return rc;
}

static int host_lock(struct kl_os_file *file)
{
    const struct kl_os_host_calls *calls = host_calls(file);

    if (!calls->lock)
        return host_lock_here((struct host_file *)file);
    return host_code(file->vfs,
                     calls->lock(host_handle(file), calls->lock_user));
}

static int host_sync_all(struct kl_os_file *file)
{
    const struct kl_os_host_calls *calls = host_calls(file);

    if (!calls->sync_all)
        return KL_EUNSUPPORTED;
    return host_code(file->vfs,
                     calls->sync_all(host_handle(file), calls->sync_all_user));
}

/* ---- names ----------------------------------------------------------------
 */

static int host_on_path(struct kl_os_vfs *vfs, kl_storage_path_fn fn,
                        void *user, const char *path)
{
    char clean[HOST_PATH];
    int rc = host_path(path, clean);

    return rc ? rc : host_code(vfs, fn(clean, user));
}

static int host_unlink(struct kl_os_vfs *vfs, const char *path)
{
    const struct kl_os_host_calls *calls = &((struct host_vfs *)vfs)->calls;

    return host_on_path(vfs, calls->unlink, calls->unlink_user, path);
}

static int host_mkdir(struct kl_os_vfs *vfs, const char *path)
{
    const struct kl_os_host_calls *calls = &((struct host_vfs *)vfs)->calls;

    return host_on_path(vfs, calls->mkdir, calls->mkdir_user, path);
}

static int host_rmdir(struct kl_os_vfs *vfs, const char *path)
{
    const struct kl_os_host_calls *calls = &((struct host_vfs *)vfs)->calls;

    return host_on_path(vfs, calls->rmdir, calls->rmdir_user, path);
}

static int host_sync_dir(struct kl_os_vfs *vfs, const char *path)
{
    const struct kl_os_host_calls *calls = &((struct host_vfs *)vfs)->calls;

    return host_on_path(vfs, calls->sync_dir, calls->sync_dir_user, path);
}

static int host_rename(struct kl_os_vfs *vfs, const char *from, const char *to)
{
    const struct kl_os_host_calls *calls = &((struct host_vfs *)vfs)->calls;
    char clean[2][HOST_PATH];
    int rc = host_path(from, clean[0]);

    if (rc == 0)
        rc = host_path(to, clean[1]);
    return rc ? rc
              : host_code(
                    vfs, calls->rename(clean[0], clean[1], calls->rename_user));
}

int kl_os_host_names_add(struct kl_storage_names *names, const char *name)
{
    int rc = 0;

    if (!name || !*name || strchr(name, '/'))
        rc = KL_EINVAL;
    else if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        rc = kl_os_names_add(&names->names, name);
    if (names->code == 0)
        names->code = rc;
    return rc;
}

static int host_list(struct kl_os_vfs *base, const char *path, kl_os_list_fn fn,
                     void *user)
{
    struct host_vfs *vfs = (struct host_vfs *)base;
    struct kl_storage_names names = {.code = 0};
    char clean[HOST_PATH];
    int rc = host_path(path, clean);

    if (rc)
        return rc;
    kl_os_names_init(&names.names, &vfs->alloc);
    rc = vfs->calls.list(clean, &names, vfs->calls.list_user);
    if (names.code)
        rc = names.code;
    rc = host_code(base, rc);
    if (rc == 0)
        rc = kl_os_names_each(&names.names, fn, user);
    kl_os_names_deinit(&names.names);
    return rc;
}

static int host_space(struct kl_os_vfs *base, const char *path,
                      uint64_t *free_out)
{
    const struct kl_os_host_calls *calls = &((struct host_vfs *)base)->calls;
    char clean[HOST_PATH];
    int rc = host_path(path, clean);

    *free_out = INT64_MAX;
    if (rc || !calls->space)
        return rc;
    *free_out = 0;
    return host_code(base, calls->space(clean, free_out, calls->space_user));
}

/* ---- life -----------------------------------------------------------------
 */

static int host_last_errno(struct kl_os_vfs *base)
{
    return atomic_load_explicit(&((struct host_vfs *)base)->last_number,
                                memory_order_relaxed);
}

static void host_free(struct kl_os_vfs *base)
{
    struct host_vfs *vfs = (struct host_vfs *)base;
    struct kl_base_alloc alloc = vfs->alloc;

    kl_os_mutex_deinit(&vfs->mutex);
    kl_base_free(&alloc, vfs, sizeof *vfs);
}

static const struct kl_os_vfs_ops host_ops = {
    .open = host_open,
    .close = host_close,
    .read = host_read,
    .write = host_write,
    .sync = host_sync,
    .writeback = host_writeback,
    .truncate = host_truncate,
    .allocate = host_allocate,
    .size = host_size,
    .lock = host_lock,
    .rename = host_rename,
    .unlink = host_unlink,
    .mkdir = host_mkdir,
    .rmdir = host_rmdir,
    .list = host_list,
    .sync_dir = host_sync_dir,
    .sync_all = host_sync_all,
    .space = host_space,
    .last_errno = host_last_errno,
    .free = host_free,
};

const char *kl_os_host_calls_missing(const struct kl_os_host_calls *calls)
{
#define X(name, type, required)                                                \
    if (required && !calls->name)                                              \
        return #name;
    KL_OS_HOST_CALLS(X)
#undef X
    return NULL;
}

int kl_os_vfs_host_new(struct kl_os_vfs **out,
                       const struct kl_base_alloc *alloc,
                       struct kl_os_host_calls **calls_out)
{
    struct host_vfs *vfs = kl_base_calloc(alloc, sizeof *vfs);
    int rc;

    if (!vfs)
        return KL_ENOMEM;
    rc = kl_os_mutex_init(&vfs->mutex);
    if (rc) {
        kl_base_free(alloc, vfs, sizeof *vfs);
        return rc;
    }
    vfs->base.ops = &host_ops;
    vfs->alloc = *alloc;
    atomic_init(&vfs->last_number, 0);
    kl_base_list_init(&vfs->locked);
    *out = &vfs->base;
    *calls_out = &vfs->calls;
    return 0;
}
