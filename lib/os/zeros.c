/*
 * Zeros behind the end of a file.
 */
#include "os/zeros.h"

#include "base/alloc.h"

enum { ZEROS_SIZE = 65536 };

int kl_os_zeros_append(struct kl_os_file *file,
                       const struct kl_base_alloc *alloc, uint64_t end)
{
    const struct kl_os_vfs_ops *ops = file->vfs->ops;
    struct kl_os_iovec part;
    uint64_t before, at;
    int rc = ops->size(file, &before);

    if (rc || before >= end)
        return rc;
    part.data = kl_base_calloc(alloc, ZEROS_SIZE);
    if (!part.data)
        return KL_ENOMEM;
    for (at = before; rc == 0 && at < end; at += part.size) {
        part.size = end - at < ZEROS_SIZE ? (size_t)(end - at) : ZEROS_SIZE;
        rc = ops->write(file, &part, 1, at, NULL);
    }
    kl_base_free(alloc, (void *)part.data, ZEROS_SIZE);
    /* A disk that got full on the way must not keep what was written. */
    if (rc)
        (void)ops->truncate(file, before);
    return rc;
}
