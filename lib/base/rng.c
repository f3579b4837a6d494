/*
 * xoshiro256** by Blackman and Vigna, seeded by splitmix64 as they advise.
 */
#include "base/rng.h"

#include "base/assert.h"

void kl_base_rng_seed(struct kl_base_rng *rng, uint64_t seed)
{
    int i;

    for (i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        rng->state[i] = z ^ (z >> 31);
    }
}

static uint64_t rng_rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t kl_base_rng_next(struct kl_base_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rng_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotate(s[3], 45);
    return result;
}

uint64_t kl_base_rng_below(struct kl_base_rng *rng, uint64_t bound)
{
    uint64_t x, reject;

    KL_ASSERT(bound > 0);
    /* 2^64 mod bound values at the low end would come too often. */
    reject = (0 - bound) % bound;
    do {
        x = kl_base_rng_next(rng);
    } while (x < reject);
    return x % bound;
}
