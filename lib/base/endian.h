/*
 * Loads and stores of a fixed byte order at any alignment. Our own formats are
 * little-endian, Kafka's batch is big-endian.
 */
#ifndef KL_BASE_ENDIAN_H
#define KL_BASE_ENDIAN_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KL_BASE_LE(bits, x) (x)
#define KL_BASE_BE(bits, x) __builtin_bswap##bits(x)
#else
#define KL_BASE_LE(bits, x) __builtin_bswap##bits(x)
#define KL_BASE_BE(bits, x) (x)
#endif

#define KL_BASE_ENDIAN_PAIR(bits)                                              \
    static inline uint##bits##_t kl_base_get_le##bits(const uint8_t *p)        \
    {                                                                          \
        uint##bits##_t v;                                                      \
        memcpy(&v, p, sizeof v);                                               \
        return KL_BASE_LE(bits, v);                                            \
    }                                                                          \
    static inline void kl_base_put_le##bits(uint8_t *p, uint##bits##_t v)      \
    {                                                                          \
        v = KL_BASE_LE(bits, v);                                               \
        memcpy(p, &v, sizeof v);                                               \
    }                                                                          \
    static inline uint##bits##_t kl_base_get_be##bits(const uint8_t *p)        \
    {                                                                          \
        uint##bits##_t v;                                                      \
        memcpy(&v, p, sizeof v);                                               \
        return KL_BASE_BE(bits, v);                                            \
    }                                                                          \
    static inline void kl_base_put_be##bits(uint8_t *p, uint##bits##_t v)      \
    {                                                                          \
        v = KL_BASE_BE(bits, v);                                               \
        memcpy(p, &v, sizeof v);                                               \
    }

KL_BASE_ENDIAN_PAIR(16)
KL_BASE_ENDIAN_PAIR(32)
KL_BASE_ENDIAN_PAIR(64)

#endif
