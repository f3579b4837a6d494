/*
 * The bytes of files in memory.
 */
#include "os/blocks.h"

#include <kraftlog/error.h>
#include <string.h>

void kl_os_blocks_init(struct kl_os_blocks *b, const struct kl_base_alloc *a)
{
    memset(b, 0, sizeof *b);
    b->alloc = a;
}

/* Frees the blocks from index first on. */
static void blocks_drop(struct kl_os_blocks *b, uint64_t first)
{
    for (uint64_t i = first; i < b->capacity; i++) {
        kl_base_free(b->alloc, b->table[i], KL_OS_BLOCK_SIZE);
        b->table[i] = NULL;
    }
}

void kl_os_blocks_deinit(struct kl_os_blocks *b)
{
    blocks_drop(b, 0);
    kl_base_free(b->alloc, b->table, b->capacity * sizeof *b->table);
    kl_os_blocks_init(b, b->alloc);
}

/* How much of size bytes at offset lies in the block of offset. */
static size_t blocks_span(uint64_t offset, uint64_t size)
{
    uint64_t rest = KL_OS_BLOCK_SIZE - offset % KL_OS_BLOCK_SIZE;

    return (size_t)(size < rest ? size : rest);
}

size_t kl_os_blocks_read(const struct kl_os_blocks *b, void *buf, size_t size,
                         uint64_t offset)
{
    uint8_t *to = buf;
    size_t done = 0;

    if (offset >= b->size)
        return 0;
    if (size > b->size - offset)
        size = (size_t)(b->size - offset);
    while (done < size) {
        uint64_t at = offset + done;
        uint64_t index = at / KL_OS_BLOCK_SIZE;
        size_t n = blocks_span(at, size - done);

        if (index < b->capacity && b->table[index])
            memcpy(to + done, b->table[index] + at % KL_OS_BLOCK_SIZE, n);
        else
            memset(to + done, 0, n);
        done += n;
    }
    return done;
}

/* The block with this index, made where it is a hole; NULL without memory. */
static uint8_t *blocks_touch(struct kl_os_blocks *b, uint64_t index)
{
    if (index >= b->capacity) {
        size_t before = b->capacity;
        void *table = b->table;

        if (index >= SIZE_MAX / sizeof *b->table ||
            kl_base_reserve(b->alloc, &table, &b->capacity, (size_t)index + 1,
                            sizeof *b->table))
            return NULL;
        b->table = table;
        memset(b->table + before, 0, (b->capacity - before) * sizeof *b->table);
    }
    if (!b->table[index])
        b->table[index] = kl_base_calloc(b->alloc, KL_OS_BLOCK_SIZE);
    return b->table[index];
}

size_t kl_os_blocks_write(struct kl_os_blocks *b, const void *data, size_t size,
                          uint64_t offset)
{
    const uint8_t *from = data;
    size_t done = 0;

    while (done < size) {
        uint64_t at = offset + done;
        size_t n = blocks_span(at, size - done);
        uint8_t *block = blocks_touch(b, at / KL_OS_BLOCK_SIZE);

        if (!block)
            break;
        memcpy(block + at % KL_OS_BLOCK_SIZE, from + done, n);
        done += n;
    }
    if (done && offset + done > b->size)
        b->size = offset + done;
    return done;
}

int kl_os_blocks_reserve(struct kl_os_blocks *b, uint64_t offset, uint64_t size)
{
    uint64_t end = offset + size;

    for (uint64_t at = offset; at < end; at += blocks_span(at, end - at)) {
        if (!blocks_touch(b, at / KL_OS_BLOCK_SIZE))
            return KL_ENOMEM;
    }
    if (end > b->size)
        b->size = end;
    return 0;
}

void kl_os_blocks_resize(struct kl_os_blocks *b, uint64_t size)
{
    uint64_t index = size / KL_OS_BLOCK_SIZE;
    size_t keep = (size_t)(size % KL_OS_BLOCK_SIZE);

    if (size < b->size) {
        blocks_drop(b, index + (keep > 0));
        if (keep && index < b->capacity && b->table[index])
            memset(b->table[index] + keep, 0, KL_OS_BLOCK_SIZE - keep);
    }
    b->size = size;
}
