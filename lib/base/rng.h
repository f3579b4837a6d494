/*
 * A seeded generator (xoshiro256**): the only randomness above layer 0.
 */
#ifndef KL_BASE_RNG_H
#define KL_BASE_RNG_H

#include <stdint.h>

struct kl_base_rng
{
    uint64_t state[4];
};

void kl_base_rng_seed(struct kl_base_rng *rng, uint64_t seed);
uint64_t kl_base_rng_next(struct kl_base_rng *rng);
/* Uniform in [0, bound); bound > 0. */
uint64_t kl_base_rng_below(struct kl_base_rng *rng, uint64_t bound);

#endif
