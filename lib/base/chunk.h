/*
 * Reference-counted bytes. A chunk is written by one owner, then shared and
 * never changed again: producer, WAL, segment writer, readers and, later, the
 * network hold references to the same bytes, so the payload is copied once.
 */
#ifndef KL_BASE_CHUNK_H
#define KL_BASE_CHUNK_H

#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>

struct kl_base_chunk
{
    atomic_uint refs;
    uint32_t size;     /* bytes in use */
    uint32_t capacity; /* bytes allocated behind data */
    uint32_t reserved;
    struct kl_base_alloc alloc;
    /* Called instead of freeing when the last reference goes, so that a pool
     * can take the chunk back; NULL = free through alloc. Any thread. */
    void (*recycle)(struct kl_base_chunk *chunk, void *user);
    void *user;
    _Alignas(8) uint8_t data[];
};

/* One reference, size 0. 0 or KL_ENOMEM. */
int kl_base_chunk_new(struct kl_base_chunk **out, const struct kl_base_alloc *a,
                      size_t capacity);
/* Resizes a chunk with one reference; the pointer may change. */
int kl_base_chunk_resize(struct kl_base_chunk **chunk, size_t capacity);
struct kl_base_chunk *kl_base_chunk_ref(struct kl_base_chunk *chunk);
/* NULL is ignored. */
void kl_base_chunk_unref(struct kl_base_chunk *chunk);
/* Frees a chunk that is not referenced any more, whatever its recycle says. */
void kl_base_chunk_destroy(struct kl_base_chunk *chunk);

#endif
