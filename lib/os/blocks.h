/*
 * The bytes of a file in memory, in blocks: growing never copies what is there,
 * and a part that was never written (a hole) costs nothing and reads as zeros.
 */
#ifndef KL_OS_BLOCKS_H
#define KL_OS_BLOCKS_H

#include "base/alloc.h"

#include <stdint.h>

#define KL_OS_BLOCK_SIZE 4096

struct kl_os_blocks
{
    const struct kl_base_alloc *alloc;
    uint8_t **table; /* NULL = hole; what lies behind size is zero */
    size_t capacity; /* of the table */
    uint64_t size;   /* bytes */
};

void kl_os_blocks_init(struct kl_os_blocks *b, const struct kl_base_alloc *a);
void kl_os_blocks_deinit(struct kl_os_blocks *b);
/* Returns how much was read: less than size only at the end. */
size_t kl_os_blocks_read(const struct kl_os_blocks *b, void *buf, size_t size,
                         uint64_t offset);
/* Writes and grows; offset + size must not overflow. Returns how much was
 * written: less than size where memory ran out. */
size_t kl_os_blocks_write(struct kl_os_blocks *b, const void *data, size_t size,
                          uint64_t offset);
/* Fills the holes of a range and grows to its end. 0 or KL_ENOMEM, then the
 * content is unchanged. */
int kl_os_blocks_reserve(struct kl_os_blocks *b, uint64_t offset,
                         uint64_t size);
/* Cuts, or grows by a hole. */
void kl_os_blocks_resize(struct kl_os_blocks *b, uint64_t size);

#endif
