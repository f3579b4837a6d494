/*
 * Zig-zag variable-length integers as in Kafka's record (protocol buffers'
 * sint32 and sint64).
 */
#ifndef KL_BASE_VARINT_H
#define KL_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define KL_BASE_VARINT_MAX 10

static inline uint64_t kl_base_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

/* Nearly all have one or two bytes. */
static inline size_t kl_base_varint_size(int64_t v)
{
    uint64_t u = kl_base_zigzag(v);

    if (u < 0x80)
        return 1;
    if (u < 0x4000)
        return 2;
    return ((size_t)(63 - __builtin_clzll(u)) / 7) + 1;
}

/* Returns the position behind what was written. */
static inline uint8_t *kl_base_varint_put(uint8_t *p, int64_t v)
{
    uint64_t u = kl_base_zigzag(v);

    while (u >= 0x80) {
        *p++ = (uint8_t)(u | 0x80);
        u >>= 7;
    }
    *p++ = (uint8_t)u;
    return p;
}

/* Returns the position behind the integer, or NULL where it does not end
 * before end or is longer than 10 bytes. */
static inline const uint8_t *
kl_base_varint_get(const uint8_t *p, const uint8_t *end, int64_t *out)
{
    uint64_t u = 0;
    int shift = 0;

    while (p < end && shift < 70) {
        uint8_t b = *p++;
        u |= (uint64_t)(b & 0x7f) << (shift & 63);
        if (b < 0x80) {
            *out = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
            return p;
        }
        shift += 7;
    }
    return NULL;
}

#endif
