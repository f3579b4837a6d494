/*
 * What the targets share: taking an input apart, and an allocator that knows
 * what is live.
 */
#include "fuzz.h"

#include "base/endian.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fuzz_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    abort();
}

/* The fixtures of other levels are used here without Check: their asserts end
 * in these two. */
_Noreturn void _ck_assert_failed(const char *file, int line, const char *expr,
                                 const char *msg, ...);
void _mark_point(const char *file, int line);

_Noreturn void _ck_assert_failed(const char *file, int line, const char *expr,
                                 const char *msg, ...)
{
    va_list args;

    if (msg) {
        va_start(args, msg);
        vfprintf(stderr, msg, args);
        va_end(args);
        fputc('\n', stderr);
    }
    fuzz_fail(file, line, expr);
}

void _mark_point(const char *file, int line)
{
    (void)file;
    (void)line;
}

/* ---- input --------------------------------------------------------------- */

size_t fuzz_take(struct fuzz_input *in, size_t size, const uint8_t **out)
{
    if (size > in->size)
        size = in->size;
    *out = in->data;
    in->data += size;
    in->size -= size;
    return size;
}

static void input_take_padded(struct fuzz_input *in, uint8_t *out, size_t size)
{
    const uint8_t *data;
    size_t got = fuzz_take(in, size, &data);

    memset(out, 0, size);
    memcpy(out, data, got);
}

uint8_t fuzz_take8(struct fuzz_input *in)
{
    uint8_t bytes[1];

    input_take_padded(in, bytes, sizeof bytes);
    return bytes[0];
}

uint16_t fuzz_take16(struct fuzz_input *in)
{
    uint8_t bytes[2];

    input_take_padded(in, bytes, sizeof bytes);
    return kl_base_get_le16(bytes);
}

uint32_t fuzz_take32(struct fuzz_input *in)
{
    uint8_t bytes[4];

    input_take_padded(in, bytes, sizeof bytes);
    return kl_base_get_le32(bytes);
}

uint64_t fuzz_take64(struct fuzz_input *in)
{
    uint8_t bytes[8];

    input_take_padded(in, bytes, sizeof bytes);
    return kl_base_get_le64(bytes);
}

uint8_t *fuzz_take_copy(struct fuzz_input *in, size_t *size_out)
{
    const uint8_t *data;
    size_t size = fuzz_take(in, in->size, &data);
    uint8_t *copy = malloc(size ? size : 1);

    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    *size_out = size;
    return copy;
}

/* ---- memory -------------------------------------------------------------- */

enum { MEMORY_LARGE = 64 * 1024, MEMORY_KEPT = 8 };

static struct
{
    size_t live;
    size_t peak;
    size_t limit;
    struct
    {
        void *block;
        size_t size;
    } kept[MEMORY_KEPT];
    int next; /* the one that is given up for another */
} memory = {.limit = SIZE_MAX};

static void *memory_get(size_t size)
{
    for (int i = 0; size >= MEMORY_LARGE && i < MEMORY_KEPT; i++)
        if (memory.kept[i].block && memory.kept[i].size == size) {
            void *block = memory.kept[i].block;

            memory.kept[i].block = NULL;
            return block;
        }
    return malloc(size);
}

static void memory_put(void *block, size_t size)
{
    int i = memory.next;

    if (size < MEMORY_LARGE) {
        free(block);
        return;
    }
    free(memory.kept[i].block);
    memory.kept[i].block = block;
    memory.kept[i].size = size;
    memory.next = (i + 1) % MEMORY_KEPT;
}

static void *memory_alloc(void *ptr, size_t old_size, size_t new_size,
                          void *user)
{
    void *block = NULL;

    (void)user;
    FUZZ_CHECK(memory.live >= old_size);
    if (new_size > memory.limit - (memory.live - old_size))
        return NULL;
    memory.live += new_size - old_size;
    if (memory.live > memory.peak)
        memory.peak = memory.live;
    if (ptr && new_size && old_size < MEMORY_LARGE && new_size < MEMORY_LARGE)
        return realloc(ptr, new_size);
    if (new_size)
        block = memory_get(new_size);
    if (ptr && block)
        memcpy(block, ptr, old_size < new_size ? old_size : new_size);
    if (ptr)
        memory_put(ptr, old_size);
    return block;
}

const struct kl_base_alloc fuzz_alloc = {memory_alloc, NULL};

void fuzz_alloc_begin(size_t limit)
{
    FUZZ_CHECK(memory.live == 0);
    memory.peak = 0;
    memory.limit = limit;
}

size_t fuzz_alloc_peak(void)
{
    return memory.peak;
}

void fuzz_alloc_end(void)
{
    FUZZ_CHECK(memory.live == 0);
    memory.limit = SIZE_MAX;
}
