/*
 * Frames for the tests of the batch room.
 */
#include "batch_help.h"

#include "base/endian.h"
#include "base/rng.h"
#include "batch/frame.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct kl_base_chunk *help_frame(const struct kl_base_alloc *alloc,
                                 int16_t attributes,
                                 const struct kl_batch_input *records,
                                 size_t count)
{
    struct kl_batch_builder b;
    struct kl_base_chunk *chunk;
    size_t i;

    kl_batch_builder_init(&b, alloc);
    for (i = 0; i < count; i++)
        ck_assert_int_eq(
            kl_batch_builder_append(&b, KL_BATCH_SIZE_MAX, 256, &records[i]),
            0);
    ck_assert_int_eq(kl_batch_builder_finish(&b, HELP_SEED, attributes, &chunk),
                     0);
    return chunk;
}

uint8_t *help_raw(const void *records, size_t size, int32_t record_count,
                  int32_t last_delta, int16_t attributes)
{
    uint8_t *p = calloc(1, KL_BATCH_OVERHEAD + size);

    ck_assert_ptr_nonnull(p);
    kl_base_put_le32(p + KL_BATCH_AT_MAGIC, KL_BATCH_MAGIC);
    kl_base_put_le32(p + KL_BATCH_AT_SIZE,
                     (uint32_t)(KL_BATCH_OVERHEAD + size));
    kl_base_put_be32(
        p + KL_BATCH_AT_LENGTH,
        (uint32_t)(KL_BATCH_OVERHEAD + size - KL_BATCH_AT_LEADER_EPOCH));
    p[KL_BATCH_AT_VERSION] = KL_BATCH_VERSION;
    kl_base_put_be16(p + KL_BATCH_AT_ATTRIBUTES, (uint16_t)attributes);
    kl_base_put_be32(p + KL_BATCH_AT_LAST_DELTA, (uint32_t)last_delta);
    kl_base_put_be32(p + KL_BATCH_AT_RECORD_COUNT, (uint32_t)record_count);
    memcpy(p + KL_BATCH_AT_RECORDS, records, size);
    kl_batch_frame_seal(p, HELP_SEED);
    return p;
}

size_t help_size(const uint8_t *frame)
{
    return kl_base_get_le32(frame + KL_BATCH_AT_SIZE);
}

uint8_t *help_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    return copy;
}

struct kl_batch_input help_record(int64_t timestamp, const char *value)
{
    struct kl_batch_input in = {.timestamp = timestamp, .value = value};

    in.value_size = value ? (uint32_t)strlen(value) : 0;
    return in;
}

void help_fill(uint8_t *data, size_t size, uint64_t salt)
{
    struct kl_base_rng rng;
    size_t i;

    kl_base_rng_seed(&rng, salt);
    for (i = 0; i < size; i++)
        data[i] = (uint8_t)(kl_base_rng_next(&rng) >> 32);
}

static void *meter_alloc(void *ptr, size_t old_size, size_t new_size,
                         void *user)
{
    struct help_meter *m = user;
    void *result = NULL;

    if (new_size == 0) {
        free(ptr);
    } else {
        result = realloc(ptr, new_size);
        ck_assert_ptr_nonnull(result);
    }
    m->live = m->live - old_size + new_size;
    if (m->live > m->peak)
        m->peak = m->live;
    return result;
}

void help_meter_init(struct help_meter *m)
{
    memset(m, 0, sizeof *m);
    m->alloc.fn = meter_alloc;
    m->alloc.user = m;
}
