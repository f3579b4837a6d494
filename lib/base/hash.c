/*
 * XXH3 from xxHash's header, compiled in here and nowhere else, and Kafka's
 * murmur2.
 */
#include "base/hash.h"

#include "base/endian.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t kl_base_hash(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

/* Kafka's Utils.murmur2: 32 bits, little-endian words, its own seed. The tail
 * is added as signed Java bytes masked to eight bits, that is, unsigned. */
int32_t kl_base_murmur2(const void *data, size_t size)
{
    const uint32_t m = 0x5bd1e995u;
    const uint8_t *p = data;
    uint32_t h = 0x9747b28cu ^ (uint32_t)size;

    for (; size >= 4; size -= 4, p += 4) {
        uint32_t k = kl_base_get_le32(p) * m;

        k ^= k >> 24;
        h = (h * m) ^ (k * m);
    }
    if (size >= 3)
        h ^= (uint32_t)p[2] << 16;
    if (size >= 2)
        h ^= (uint32_t)p[1] << 8;
    if (size >= 1)
        h = (h ^ p[0]) * m;
    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return (int32_t)h;
}
