/*
 * The checking allocator.
 */
#include "fail_alloc.h"

#include "need.h"

#include <stdlib.h>
#include <string.h>

/* In front of every block; keeps the alignment of malloc. */
struct fail_header
{
    _Alignas(16) size_t size;
    size_t magic;
};

enum { FAIL_MAGIC = 0x5ca1ab1e };

static struct fail_header *fail_header_of(void *ptr, size_t size)
{
    struct fail_header *h = (struct fail_header *)ptr - 1;

    need_msg(h->magic == FAIL_MAGIC, "not a block of this allocator");
    need_msg(h->size == size, "block of %zu bytes given back as %zu", h->size,
             size);
    return h;
}

static int fail_refuses(struct fail_alloc *f)
{
    f->calls++;
    if (f->fail_at == 0 || f->calls < f->fail_at)
        return 0;
    if (f->calls > f->fail_at && !f->fail_after)
        return 0;
    f->failed++;
    return 1;
}

/* Growing always moves and spoils the old block, so that stale pointers are
 * found without a sanitizer. */
static void *fail_move(struct fail_alloc *f, void *ptr, size_t old_size,
                       size_t new_size)
{
    struct fail_header *h = NULL;

    if (new_size) {
        if (fail_refuses(f))
            return NULL;
        h = malloc(sizeof *h + new_size);
        if (!h)
            return NULL;
        h->size = new_size;
        h->magic = FAIL_MAGIC;
        memset(h + 1, 0xa5, new_size);
        f->live_blocks++;
        f->live_bytes += new_size;
    }
    if (ptr) {
        struct fail_header *old = fail_header_of(ptr, old_size);

        if (h)
            memcpy(h + 1, ptr, old_size < new_size ? old_size : new_size);
        memset(ptr, 0x5a, old_size);
        old->magic = 0;
        /* A compiler may leave out what is written before a free. */
        __asm__ volatile("" : : "r"(old) : "memory");
        free(old);
        f->live_blocks--;
        f->live_bytes -= old_size;
    }
    return h ? h + 1 : NULL;
}

static void *fail_alloc_fn(void *ptr, size_t old_size, size_t new_size,
                           void *user)
{
    struct fail_alloc *f = user;
    void *result;

    need_msg(ptr || old_size == 0, "no block, but an old size");
    pthread_mutex_lock(&f->mutex);
    result = fail_move(f, ptr, old_size, new_size);
    pthread_mutex_unlock(&f->mutex);
    return result;
}

void fail_alloc_init(struct fail_alloc *f)
{
    memset(f, 0, sizeof *f);
    f->alloc.fn = fail_alloc_fn;
    f->alloc.user = f;
    pthread_mutex_init(&f->mutex, NULL);
}

void fail_alloc_arm(struct fail_alloc *f, uint64_t fail_at)
{
    f->calls = 0;
    f->failed = 0;
    f->fail_at = fail_at;
}

void fail_alloc_deinit(struct fail_alloc *f)
{
    need_msg(f->live_blocks == 0, "%zu blocks, %zu bytes not freed",
             f->live_blocks, f->live_bytes);
    pthread_mutex_destroy(&f->mutex);
}
