/*
 * A file system that is only read, whatever is asked of it: what the offline
 * tools look through. Blocks that the medium does not give are read as zeros,
 * and counted: what they held is then found missing like any other damage.
 */
#ifndef KL_STORE_READONLY_H
#define KL_STORE_READONLY_H

#include "base/alloc.h"
#include "os/vfs.h"

struct kl_store_readonly
{
    struct kl_os_vfs base; /* to be given to who reads */
    struct kl_os_vfs *inner;
    const struct kl_base_alloc *alloc;
    uint64_t bytes;      /* read so far */
    uint64_t unreadable; /* blocks */
};

/* Nothing to deinit. */
void kl_store_readonly_init(struct kl_store_readonly *r,
                            struct kl_os_vfs *inner,
                            const struct kl_base_alloc *alloc);
/* Opens a file that has size bytes to its readers: what it lacks, all of it
 * where there is none, are zeros. found_out is what it really has. */
int kl_store_readonly_padded(struct kl_store_readonly *r, const char *path,
                             uint64_t size, struct kl_os_file **out,
                             uint64_t *found_out);

#endif
