/*
 * Memory for simulations, which take and give back the same few sizes millions
 * of times: blocks are kept by size. One thread. Under a sanitizer it is plain
 * malloc, so that nothing is hidden from it.
 */
#ifndef TEST_POOL_H
#define TEST_POOL_H

#include "base/alloc.h"

#include <stddef.h>

/* Never NULL. */
void *pool_take(size_t size);
void *pool_zeroed(size_t size);
/* NULL is ignored. */
void pool_give(void *ptr, size_t size);
/* Room for at least want items, growing by doubling, as kl_base_reserve. */
void pool_reserve(void **items, size_t *capacity, size_t want,
                  size_t item_size);

/* The same as an allocator for code under test: sizes at free are checked. */
struct pool_alloc
{
    struct kl_base_alloc alloc;
    size_t live_blocks;
};

void pool_alloc_init(struct pool_alloc *p);
/* Fails the test where something is still allocated. */
void pool_alloc_deinit(struct pool_alloc *p);

#endif
