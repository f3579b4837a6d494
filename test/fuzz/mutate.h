/*
 * Random changes of an input, for machines without libFuzzer.
 */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H

#include "base/rng.h"

#include <stddef.h>

enum { MUTATE_MAX = 64 * 1024 };

struct mutate
{
    struct kl_base_rng rng;
    size_t size;
    uint8_t data[MUTATE_MAX]; /* the newest one */
};

void mutate_init(struct mutate *m, uint64_t seed);
/* Makes another input of this one: one to four changes. other lends bytes. */
void mutate_input(struct mutate *m, const uint8_t *data, size_t size,
                  const uint8_t *other, size_t other_size);

#endif
