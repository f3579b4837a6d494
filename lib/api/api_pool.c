/*
 * The pool is a short array under a mutex: chunks are few and large.
 */
#include "api/api_pool.h"

#include "os/thread.h"

#include <kraftlog/error.h>

enum {
    POOL_CHUNKS = 128, /* unused ones that are kept, at most */
    /* A chunk that is so much larger than asked for stays where it is: what is
     * charged for a batch is the whole chunk. */
    POOL_WASTE = 4
};

struct kl_api_pool
{
    struct kl_base_alloc alloc;
    struct kl_os_mutex mutex;
    size_t refs; /* the producer's and one per lent chunk */
    size_t bytes;
    size_t bytes_max;
    size_t count;
    int closed;
    struct kl_base_chunk *chunks[POOL_CHUNKS];
};

int kl_api_pool_new(struct kl_api_pool **out, const struct kl_base_alloc *alloc,
                    size_t bytes_max)
{
    struct kl_api_pool *pool = kl_base_calloc(alloc, sizeof *pool);

    if (!pool)
        return KL_ENOMEM;
    if (kl_os_mutex_init(&pool->mutex) != KL_OK) {
        kl_base_free(alloc, pool, sizeof *pool);
        return KL_ENOMEM;
    }
    pool->alloc = *alloc;
    pool->refs = 1;
    pool->bytes_max = bytes_max;
    *out = pool;
    return KL_OK;
}

static void pool_destroy(struct kl_api_pool *pool)
{
    struct kl_base_alloc alloc = pool->alloc;

    kl_os_mutex_deinit(&pool->mutex);
    kl_base_free(&alloc, pool, sizeof *pool);
}

/* The last reference of a lent chunk has gone. */
static void pool_recycle(struct kl_base_chunk *chunk, void *user)
{
    struct kl_api_pool *pool = user;
    int kept = 0;
    int last;

    kl_os_mutex_lock(&pool->mutex);
    if (!pool->closed && pool->count < POOL_CHUNKS &&
        pool->bytes + chunk->capacity <= pool->bytes_max) {
        pool->chunks[pool->count++] = chunk;
        pool->bytes += chunk->capacity;
        kept = 1;
    }
    last = --pool->refs == 0;
    kl_os_mutex_unlock(&pool->mutex);
    if (!kept)
        kl_base_chunk_destroy(chunk);
    if (last)
        pool_destroy(pool);
}

/* Takes the unused chunk that came last and fits; NULL where none does. */
static struct kl_base_chunk *pool_find(struct kl_api_pool *pool,
                                       size_t capacity)
{
    size_t i = pool->count;

    while (i-- > 0) {
        struct kl_base_chunk *chunk = pool->chunks[i];

        if (chunk->capacity < capacity ||
            chunk->capacity / POOL_WASTE > capacity)
            continue;
        pool->chunks[i] = pool->chunks[--pool->count];
        pool->bytes -= chunk->capacity;
        return chunk;
    }
    return NULL;
}

/* Makes room where the pool is full of chunks of other sizes. */
static struct kl_base_chunk *pool_evict(struct kl_api_pool *pool)
{
    struct kl_base_chunk *chunk;

    if (pool->count < POOL_CHUNKS && pool->bytes < pool->bytes_max)
        return NULL;
    if (pool->count == 0)
        return NULL;
    chunk = pool->chunks[0];
    pool->chunks[0] = pool->chunks[--pool->count];
    pool->bytes -= chunk->capacity;
    return chunk;
}

struct kl_base_chunk *kl_api_pool_get(struct kl_api_pool *pool, size_t capacity)
{
    struct kl_base_chunk *chunk;
    struct kl_base_chunk *evicted = NULL;

    kl_os_mutex_lock(&pool->mutex);
    chunk = pool_find(pool, capacity);
    if (!chunk)
        evicted = pool_evict(pool);
    pool->refs++;
    kl_os_mutex_unlock(&pool->mutex);
    if (evicted)
        kl_base_chunk_destroy(evicted);
    if (chunk) {
        atomic_store_explicit(&chunk->refs, 1, memory_order_relaxed);
        chunk->size = 0;
        return chunk;
    }
    if (kl_base_chunk_new(&chunk, &pool->alloc, capacity) != KL_OK) {
        /* The pool outlives this call: its owner holds a reference. */
        kl_os_mutex_lock(&pool->mutex);
        pool->refs--;
        kl_os_mutex_unlock(&pool->mutex);
        return NULL;
    }
    chunk->recycle = pool_recycle;
    chunk->user = pool;
    return chunk;
}

void kl_api_pool_close(struct kl_api_pool *pool)
{
    int last;

    if (!pool)
        return;
    kl_os_mutex_lock(&pool->mutex);
    pool->closed = 1;
    kl_os_mutex_unlock(&pool->mutex);
    /* Nobody else touches the unused ones any more. */
    while (pool->count > 0)
        kl_base_chunk_destroy(pool->chunks[--pool->count]);
    kl_os_mutex_lock(&pool->mutex);
    last = --pool->refs == 0;
    kl_os_mutex_unlock(&pool->mutex);
    if (last)
        pool_destroy(pool);
}
