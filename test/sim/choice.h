/*
 * Every decision of a run comes out of one stream of numbers: a generator with
 * a seed, or a recording of an earlier run that may have been cut down. Noise,
 * such as how long each call of a disk takes, has generators of its own whose
 * seeds are choices.
 *
 * A block is what one step of an actor draws; the shrinker deletes blocks as a
 * whole, so that what follows keeps its meaning. 0 is always the choice of
 * least consequence, and all there is behind the end of a recording.
 */
#ifndef SIM_CHOICE_H
#define SIM_CHOICE_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

/* A choice that begins a block has this bit. */
#define CHOICE_BLOCK (UINT64_C(1) << 63)

struct choice
{
    struct kl_base_rng rng;
    const uint64_t *replay; /* NULL = draw from the generator */
    size_t replay_count;
    size_t at;
    int is_recording;
    uint64_t *items; /* recorded */
    size_t count;
    size_t capacity;
    int begins_block;
};

void choice_init(struct choice *c, uint64_t seed);
void choice_replay(struct choice *c, const uint64_t *items, size_t count);
void choice_deinit(struct choice *c);

/* The next number begins a block. Where a recording is replayed, what is left
 * of the block before is skipped. */
void choice_block(struct choice *c);
/* Uniform in [0, bound); bound > 0. */
uint64_t choice_below(struct choice *c, uint64_t bound);
/* Uniform in [from, to]. */
int64_t choice_between(struct choice *c, int64_t from, int64_t to);
/* 1 with a chance of one in so many; 0 never. */
int choice_one_in(struct choice *c, uint64_t many);
/* Between from and to, each size as likely as its double. */
int64_t choice_log(struct choice *c, int64_t from, int64_t to);
/* A seed for noise; 0 at the end of a recording. */
uint64_t choice_seed(struct choice *c);
/* 1 where a recording has come to its end. */
int choice_is_over(const struct choice *c);

/* One number on each line. 0, or -1 with errno. */
int choice_save(const struct choice *c, const char *path);
int choice_load(const char *path, uint64_t **items_out, size_t *count_out);

#endif
