/*
 * Random structs of any table of fields, all of them valid: for round trips and
 * as seeds of fuzzing. What they point to lives until the next reset.
 */
#ifndef TEST_WIRE_SAMPLE_H
#define TEST_WIRE_SAMPLE_H

#include "base/rng.h"
#include "wire/fields.h"

struct wire_sample
{
    struct kl_base_rng rng;
    uint8_t memory[512 * 1024];
    size_t used;
};

void wire_sample_seed(struct wire_sample *s, uint64_t seed);
/* Fills struct out of table t. */
void wire_sample_fill(struct wire_sample *s, const struct kl_wire_table *t,
                      void *out);
/* Fills a whole message: envelope and body of table t. */
void wire_sample_message(struct wire_sample *s, const struct kl_wire_table *t,
                         int is_response, struct kl_wire_message *out);

#endif
