/*
 * Reference-counted bytes: header and data are one block.
 */
#include "base/chunk.h"

#include "base/assert.h"

#include <kraftlog/error.h>
#include <stddef.h>

static size_t chunk_block(size_t capacity)
{
    return offsetof(struct kl_base_chunk, data) + capacity;
}

int kl_base_chunk_new(struct kl_base_chunk **out, const struct kl_base_alloc *a,
                      size_t capacity)
{
    struct kl_base_chunk *chunk;

    if (capacity > UINT32_MAX)
        return KL_ENOMEM;
    chunk = kl_base_malloc(a, chunk_block(capacity));
    if (!chunk)
        return KL_ENOMEM;
    atomic_init(&chunk->refs, 1);
    chunk->size = 0;
    chunk->capacity = (uint32_t)capacity;
    chunk->reserved = 0;
    chunk->alloc = *a;
    chunk->recycle = NULL;
    chunk->user = NULL;
    *out = chunk;
    return KL_OK;
}

int kl_base_chunk_resize(struct kl_base_chunk **chunk, size_t capacity)
{
    struct kl_base_chunk *old = *chunk, *grown;
    struct kl_base_alloc alloc = old->alloc;

    KL_ASSERT(atomic_load_explicit(&old->refs, memory_order_relaxed) == 1);
    if (capacity > UINT32_MAX)
        return KL_ENOMEM;
    grown = kl_base_realloc(&alloc, old, chunk_block(old->capacity),
                            chunk_block(capacity));
    if (!grown)
        return KL_ENOMEM;
    grown->capacity = (uint32_t)capacity;
    if (grown->size > grown->capacity)
        grown->size = grown->capacity;
    *chunk = grown;
    return KL_OK;
}

struct kl_base_chunk *kl_base_chunk_ref(struct kl_base_chunk *chunk)
{
    unsigned before =
        atomic_fetch_add_explicit(&chunk->refs, 1, memory_order_relaxed);

    KL_ASSERT(before > 0 && before < UINT32_MAX / 2);
    return chunk;
}

void kl_base_chunk_unref(struct kl_base_chunk *chunk)
{
    unsigned before;

    if (!chunk)
        return;
    /* Release: what this holder did with the bytes comes before their end.
     * Acquire: the last one sees what all others did. */
    before = atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel);
    KL_ASSERT(before > 0);
    if (before > 1)
        return;
    if (chunk->recycle)
        chunk->recycle(chunk, chunk->user);
    else
        kl_base_chunk_destroy(chunk);
}

void kl_base_chunk_destroy(struct kl_base_chunk *chunk)
{
    struct kl_base_alloc alloc = chunk->alloc;

    kl_base_free(&alloc, chunk, chunk_block(chunk->capacity));
}
