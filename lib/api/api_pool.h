/*
 * A pool of chunks: what a producer's batches are written into comes back when
 * the last of store, cache and readers is done with it, and is written again
 * while it is still in the processor's cache. Any thread.
 */
#ifndef KL_API_API_POOL_H
#define KL_API_API_POOL_H

#include "base/alloc.h"
#include "base/chunk.h"

struct kl_api_pool;

/* Keeps at most bytes_max of unused chunks. KL_ENOMEM. */
int kl_api_pool_new(struct kl_api_pool **out, const struct kl_base_alloc *alloc,
                    size_t bytes_max);
/* Frees what is unused; chunks still lent free themselves. NULL is ignored. */
void kl_api_pool_close(struct kl_api_pool *pool);
/* An empty chunk with one reference and room for capacity bytes or more; NULL
 * without memory. */
struct kl_base_chunk *kl_api_pool_get(struct kl_api_pool *pool,
                                      size_t capacity);

#endif
