/*
 * Frames for the tests of the batch room.
 */
#ifndef TEST_BATCH_HELP_H
#define TEST_BATCH_HELP_H

#include "batch/batch.h"

/* Seed of the frames made here. */
#define HELP_SEED UINT64_C(0x1122334455667788)

/* A frame of these records, not stamped. */
struct kl_base_chunk *help_frame(const struct kl_base_alloc *alloc,
                                 int16_t attributes,
                                 const struct kl_batch_input *records,
                                 size_t count);
/* A frame around hand-made bytes of the records section, freed with free and
 * exactly as large as it says, so that a sanitizer sees any read beyond. */
uint8_t *help_raw(const void *records, size_t size, int32_t record_count,
                  int32_t last_delta, int16_t attributes);
/* Size field of a frame. */
size_t help_size(const uint8_t *frame);
/* A copy of exactly size bytes. */
uint8_t *help_copy(const uint8_t *data, size_t size);
/* A record with a text as value and no key. */
struct kl_batch_input help_record(int64_t timestamp, const char *value);
/* Bytes that are different at every place and for every salt. */
void help_fill(uint8_t *data, size_t size, uint64_t salt);

/* An allocator that remembers the most that was live at once. */
struct help_meter
{
    struct kl_base_alloc alloc;
    size_t live;
    size_t peak;
};
void help_meter_init(struct help_meter *m);

#endif
