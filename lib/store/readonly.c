/*
 * The tools promise to leave a store as it is: every call that changes anything
 * is refused here, so that no line above can break the promise.
 */
#include "store/readonly.h"

#include "store/format.h"

#include <string.h>

struct readonly_file
{
    struct kl_os_file base;
    struct kl_os_file *inner; /* NULL = nothing but padding */
    uint64_t padded;          /* bytes that it has at least */
};

static struct kl_store_readonly *readonly_of(struct kl_os_vfs *vfs)
{
    return (struct kl_store_readonly *)vfs;
}

static struct kl_os_file *readonly_inner(struct kl_os_file *file)
{
    return ((struct readonly_file *)file)->inner;
}

/* ---- what reads -------------------------------------------------------- */

static int readonly_open_padded(struct kl_store_readonly *r, const char *path,
                                uint64_t padded, struct kl_os_file **out)
{
    struct readonly_file *file = kl_base_calloc(r->alloc, sizeof *file);
    int rc;

    if (!file)
        return KL_ENOMEM;
    file->base.vfs = &r->base;
    file->padded = padded;
    rc = r->inner->ops->open(r->inner, path, KL_OS_READ, &file->inner);
    if (rc && (rc != KL_ENOENT || padded == 0)) {
        kl_base_free(r->alloc, file, sizeof *file);
        return rc;
    }
    *out = &file->base;
    return 0;
}

static int readonly_open(struct kl_os_vfs *vfs, const char *path,
                         uint32_t flags, struct kl_os_file **out)
{
    if (flags != KL_OS_READ)
        return KL_EACCESS;
    return readonly_open_padded(readonly_of(vfs), path, 0, out);
}

static int readonly_close(struct kl_os_file *file)
{
    struct kl_store_readonly *r = readonly_of(file->vfs);
    struct kl_os_file *inner = readonly_inner(file);
    int rc = inner ? r->inner->ops->close(inner) : 0;

    kl_base_free(r->alloc, file, sizeof(struct readonly_file));
    return rc;
}

/* Block by block, so that one bad place costs no more than itself. */
static void readonly_pieces(struct kl_os_file *file, uint8_t *buf, size_t size,
                            uint64_t offset, size_t *read_out)
{
    struct kl_store_readonly *r = readonly_of(file->vfs);
    uint64_t limit;
    size_t done = 0;

    if (r->inner->ops->size(readonly_inner(file), &limit) || limit < offset)
        limit = offset;
    if (size > limit - offset)
        size = (size_t)(limit - offset);
    while (done < size) {
        size_t part =
            KL_STORE_BLOCK - (size_t)((offset + done) % KL_STORE_BLOCK);
        size_t got;

        if (part > size - done)
            part = size - done;
        if (r->inner->ops->read(readonly_inner(file), buf + done, part,
                                offset + done, &got)) {
            memset(buf + done, 0, part);
            r->unreadable++;
        }
        done += part;
    }
    *read_out = done;
}

static int readonly_read(struct kl_os_file *file, void *buf, size_t size,
                         uint64_t offset, size_t *read_out)
{
    struct kl_store_readonly *r = readonly_of(file->vfs);
    struct kl_os_file *inner = readonly_inner(file);
    uint64_t padded = ((struct readonly_file *)file)->padded;
    int rc = 0;

    *read_out = 0;
    if (inner)
        rc = r->inner->ops->read(inner, buf, size, offset, read_out);
    if (rc == KL_EIO) {
        readonly_pieces(file, buf, size, offset, read_out);
        rc = 0;
    }
    r->bytes += *read_out;
    if (rc == 0 && padded > offset + *read_out && *read_out < size) {
        if (size > padded - offset)
            size = (size_t)(padded - offset);
        memset((uint8_t *)buf + *read_out, 0, size - *read_out);
        *read_out = size;
    }
    return rc;
}

static int readonly_size(struct kl_os_file *file, uint64_t *size_out)
{
    struct kl_os_file *inner = readonly_inner(file);
    uint64_t padded = ((struct readonly_file *)file)->padded;
    int rc = 0;

    *size_out = 0;
    if (inner)
        rc = inner->vfs->ops->size(inner, size_out);
    if (*size_out < padded)
        *size_out = padded;
    return rc;
}

int kl_store_readonly_padded(struct kl_store_readonly *r, const char *path,
                             uint64_t size, struct kl_os_file **out,
                             uint64_t *found_out)
{
    struct kl_os_file *inner;
    int rc = readonly_open_padded(r, path, size, out);

    *found_out = 0;
    if (rc)
        return rc;
    inner = readonly_inner(*out);
    return inner ? inner->vfs->ops->size(inner, found_out) : 0;
}

static int readonly_list(struct kl_os_vfs *vfs, const char *path,
                         kl_os_list_fn fn, void *user)
{
    struct kl_os_vfs *inner = readonly_of(vfs)->inner;

    return inner->ops->list(inner, path, fn, user);
}

static int readonly_space(struct kl_os_vfs *vfs, const char *path,
                          uint64_t *free_out)
{
    struct kl_os_vfs *inner = readonly_of(vfs)->inner;

    return inner->ops->space(inner, path, free_out);
}

static int readonly_last_errno(struct kl_os_vfs *vfs)
{
    struct kl_os_vfs *inner = readonly_of(vfs)->inner;

    return inner->ops->last_errno(inner);
}

/* ---- what changes ------------------------------------------------------ */

static int readonly_write(struct kl_os_file *file,
                          const struct kl_os_iovec *iov, size_t count,
                          uint64_t offset, size_t *written_out)
{
    (void)file;
    (void)iov;
    (void)count;
    (void)offset;
    if (written_out)
        *written_out = 0;
    return KL_EACCESS;
}

static int readonly_refuse_file(struct kl_os_file *file)
{
    (void)file;
    return KL_EACCESS;
}

static void readonly_writeback(struct kl_os_file *file, uint64_t offset,
                               uint64_t size)
{
    (void)file;
    (void)offset;
    (void)size;
}

static int readonly_truncate(struct kl_os_file *file, uint64_t size)
{
    (void)size;
    return readonly_refuse_file(file);
}

static int readonly_allocate(struct kl_os_file *file, uint64_t offset,
                             uint64_t size)
{
    (void)offset;
    return readonly_truncate(file, size);
}

static int readonly_refuse_name(struct kl_os_vfs *vfs, const char *path)
{
    (void)vfs;
    (void)path;
    return KL_EACCESS;
}

static int readonly_rename(struct kl_os_vfs *vfs, const char *from,
                           const char *to)
{
    (void)from;
    return readonly_refuse_name(vfs, to);
}

static void readonly_free(struct kl_os_vfs *vfs)
{
    (void)vfs;
}

static const struct kl_os_vfs_ops readonly_ops = {
    .open = readonly_open,
    .close = readonly_close,
    .read = readonly_read,
    .write = readonly_write,
    .sync = readonly_refuse_file,
    .writeback = readonly_writeback,
    .truncate = readonly_truncate,
    .allocate = readonly_allocate,
    .size = readonly_size,
    .lock = readonly_refuse_file,
    .rename = readonly_rename,
    .unlink = readonly_refuse_name,
    .mkdir = readonly_refuse_name,
    .rmdir = readonly_refuse_name,
    .list = readonly_list,
    .sync_dir = readonly_refuse_name,
    .sync_all = readonly_refuse_file,
    .space = readonly_space,
    .last_errno = readonly_last_errno,
    .free = readonly_free,
};

void kl_store_readonly_init(struct kl_store_readonly *r,
                            struct kl_os_vfs *inner,
                            const struct kl_base_alloc *alloc)
{
    r->base.ops = &readonly_ops;
    r->inner = inner;
    r->alloc = alloc;
    r->bytes = 0;
    r->unreadable = 0;
}
