/*
 * Frames of all kinds, for seeds.
 */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "base/chunk.h"
#include "fuzz.h"

enum { SAMPLE_KINDS = 9 };
extern const uint64_t sample_seed; /* of the log that they are of */

/* A frame of this kind, stamped with offset 100 and epoch 3. */
struct kl_base_chunk *sample_frame(int kind);
/* Emits a byte and the frame, for every kind and some first bytes. */
void sample_emit_frames(struct fuzz_seeds *seeds, const uint8_t *prefix,
                        size_t prefix_size);

#endif
