/*
 * The changes that find most: bits, telling numbers, pieces moved, repeated,
 * left out or taken from another input.
 */
#include "mutate.h"

#include "base/endian.h"

void mutate_init(struct mutate *m, uint64_t seed)
{
    kl_base_rng_seed(&m->rng, seed);
    m->size = 0;
}

static size_t mutate_below(struct mutate *m, size_t bound)
{
    return (size_t)kl_base_rng_below(&m->rng, bound);
}

static void mutate_flip(struct mutate *m)
{
    size_t at = mutate_below(m, m->size);

    m->data[at] ^= (uint8_t)(1u << mutate_below(m, 8));
}

static void mutate_byte(struct mutate *m)
{
    m->data[mutate_below(m, m->size)] = (uint8_t)kl_base_rng_next(&m->rng);
}

/* A number of 1, 2, 4 or 8 bytes, set to a telling one or moved a little. */
static void mutate_number(struct mutate *m)
{
    static const uint64_t telling[] = {
        0,          1,         0x7f,       0x80,       0xff,
        0x7fff,     0x8000,    0xffff,     0x7fffffff, 1u << 31,
        UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX};
    size_t width = (size_t)1 << mutate_below(m, 4), at;
    uint8_t bytes[8] = {0};
    uint64_t value;

    if (width > m->size)
        return;
    at = mutate_below(m, m->size - width + 1);
    memcpy(bytes, m->data + at, width);
    value = kl_base_get_le64(bytes);
    if (mutate_below(m, 2))
        value += mutate_below(m, 33) - 16;
    else
        value = telling[mutate_below(m, sizeof telling / sizeof *telling)];
    kl_base_put_le64(bytes, value);
    if (mutate_below(m, 4) == 0)
        kl_base_put_be64(bytes, value << (64 - 8 * width));
    memcpy(m->data + at, bytes, width);
}

static void mutate_remove(struct mutate *m)
{
    size_t at = mutate_below(m, m->size);
    size_t size = 1 + mutate_below(m, m->size - at);

    if (mutate_below(m, 4))
        size = 1 + size % 16;
    if (size > m->size - at)
        size = m->size - at;
    memmove(m->data + at, m->data + at + size, m->size - at - size);
    m->size -= size;
}

/* Bytes of another input, or of this one, put in or written over. */
static void mutate_piece(struct mutate *m, const uint8_t *from, size_t size)
{
    size_t at = mutate_below(m, m->size + 1), first, count;
    uint8_t piece[256];

    if (size == 0)
        return;
    first = mutate_below(m, size);
    count = 1 + mutate_below(m, size - first);
    if (count > sizeof piece)
        count = sizeof piece;
    memcpy(piece, from + first, count);
    if (mutate_below(m, 2)) {
        if (count > MUTATE_MAX - m->size)
            return;
        memmove(m->data + at + count, m->data + at, m->size - at);
        m->size += count;
    } else if (count > m->size - at) {
        count = m->size - at;
    }
    memcpy(m->data + at, piece, count);
}

void mutate_input(struct mutate *m, const uint8_t *data, size_t size,
                  const uint8_t *other, size_t other_size)
{
    size_t changes = 1 + mutate_below(m, 4);

    m->size = size < MUTATE_MAX ? size : MUTATE_MAX;
    memcpy(m->data, data, m->size);
    for (; changes > 0; changes--) {
        size_t dice = mutate_below(m, 10);

        if (m->size == 0)
            mutate_piece(m, other, other_size);
        else if (dice < 3)
            mutate_flip(m);
        else if (dice < 4)
            mutate_byte(m);
        else if (dice < 7)
            mutate_number(m);
        else if (dice < 8)
            mutate_remove(m);
        else if (dice < 9)
            mutate_piece(m, m->data, m->size);
        else
            mutate_piece(m, other, other_size);
    }
}
