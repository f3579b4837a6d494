/*
 * Blocks kept by size.
 */
#include "pool.h"

#include "need.h"

#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__
#define POOL_PLAIN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define POOL_PLAIN 1
#endif
#endif
#ifndef POOL_PLAIN
#define POOL_PLAIN 0
#endif

enum { POOL_SMALLEST = 4, POOL_CLASSES = 17 }; /* 16 bytes to 1 MiB */

struct pool_block
{
    struct pool_block *next;
};

static struct pool_block *pool_free_blocks[POOL_CLASSES];

/* The blocks of class c have 16 << c bytes; POOL_CLASSES = larger than all. */
static unsigned pool_class(size_t size)
{
    unsigned bits;

    if (size <= (size_t)1 << POOL_SMALLEST)
        return 0;
    bits = (unsigned)(8 * sizeof(long) - (size_t)__builtin_clzl(size - 1));
    bits -= POOL_SMALLEST;
    return bits < POOL_CLASSES ? bits : POOL_CLASSES;
}

void *pool_take(size_t size)
{
    unsigned c = pool_class(size);
    void *p;

    if (!POOL_PLAIN && c < POOL_CLASSES) {
        struct pool_block *block = pool_free_blocks[c];

        if (block) {
            pool_free_blocks[c] = block->next;
            return block;
        }
        size = (size_t)1 << (c + POOL_SMALLEST);
    }
    p = malloc(size ? size : 1);
    need(p != NULL);
    return p;
}

void *pool_zeroed(size_t size)
{
    return memset(pool_take(size), 0, size);
}

void pool_give(void *ptr, size_t size)
{
    unsigned c = pool_class(size);
    struct pool_block *block = ptr;

    if (!ptr)
        return;
    if (POOL_PLAIN || c == POOL_CLASSES) {
        free(ptr);
        return;
    }
    block->next = pool_free_blocks[c];
    pool_free_blocks[c] = block;
}

void pool_reserve(void **items, size_t *capacity, size_t want, size_t item_size)
{
    size_t more = *capacity ? *capacity * 2 : 4;
    void *grown;

    if (want <= *capacity)
        return;
    if (more < want)
        more = want;
    grown = pool_take(more * item_size);
    if (*capacity)
        memcpy(grown, *items, *capacity * item_size);
    pool_give(*items, *capacity * item_size);
    *items = grown;
    *capacity = more;
}

/* ---- as an allocator ------------------------------------------------------
 */

/* In front of every block; keeps the alignment of malloc. */
struct pool_header
{
    _Alignas(16) size_t size;
    size_t magic;
};

enum { POOL_MAGIC = 0x7007b10c };

static void *pool_alloc_fn(void *ptr, size_t old_size, size_t new_size,
                           void *user)
{
    struct pool_alloc *p = user;
    struct pool_header *old = NULL, *h = NULL;

    if (ptr) {
        old = (struct pool_header *)ptr - 1;
        need_msg(old->magic == POOL_MAGIC, "not a block of this allocator");
        need_msg(old->size == old_size, "block of %zu bytes given as %zu",
                 old->size, old_size);
    }
    if (new_size) {
        h = pool_take(sizeof *h + new_size);
        h->size = new_size;
        h->magic = POOL_MAGIC;
        p->live_blocks++;
    }
    if (old) {
        if (h)
            memcpy(h + 1, ptr, old_size < new_size ? old_size : new_size);
        old->magic = 0;
        pool_give(old, sizeof *old + old_size);
        p->live_blocks--;
    }
    return h ? h + 1 : NULL;
}

void pool_alloc_init(struct pool_alloc *p)
{
    p->alloc.fn = pool_alloc_fn;
    p->alloc.user = p;
    p->live_blocks = 0;
}

void pool_alloc_deinit(struct pool_alloc *p)
{
    need_msg(p->live_blocks == 0, "%zu blocks not freed", p->live_blocks);
}
