#include "sample.h"

#include "base/endian.h"
#include "batch/batch.h"

#include <stdlib.h>

const uint64_t sample_seed = 0x1234567890abcdef;

struct sample_kind
{
    int records;
    uint32_t key_size;
    uint32_t value_size;
    uint32_t headers;
    int16_t attributes;
    int random;      /* bytes that do not compress */
    int32_t missing; /* offsets that compaction has left out */
};

static const struct sample_kind kinds[SAMPLE_KINDS] = {
    {1, 0, 5, 0, KL_BATCH_CODEC_NONE, 0, 0},
    {3, 4, 20, 0, KL_BATCH_CODEC_NONE, 0, 0},
    {2, 3, 8, 3, KL_BATCH_CODEC_NONE, 0, 0},
    {20, 4, 30, 1, KL_BATCH_CODEC_LZ4, 0, 0},
    {20, 4, 30, 1, KL_BATCH_CODEC_ZSTD, 0, 0},
    {4, 0, 200, 0, KL_BATCH_CODEC_LZ4, 1, 0},
    {4, 0, 200, 0, KL_BATCH_CODEC_ZSTD, 1, 0},
    {2, 0, 8, 0, KL_BATCH_ATTR_LOG_APPEND_TIME, 0, 0},
    {3, 2, 8, 0, KL_BATCH_CODEC_NONE, 0, 7},
};

static void sample_append(struct kl_batch_builder *b,
                          const struct sample_kind *kind, int index)
{
    static const struct kl_batch_header headers[] = {
        {"name", 4, "value", 5}, {"none", 4, NULL, 0}, {"", 0, "", 0}};
    struct kl_batch_input in = {
        .timestamp = 1700000000000 + index * 7,
        .key_size = kind->key_size,
        .value_size = kind->value_size,
        .headers = headers,
        .header_count = kind->headers,
    };
    uint8_t bytes[256];
    uint32_t x = 1 + (uint32_t)index;

    for (size_t i = 0; i < sizeof bytes; i++) {
        x = x * 1103515245 + 12345;
        bytes[i] = kind->random ? (uint8_t)(x >> 16) : (uint8_t)('a' + index);
    }
    in.key = kind->key_size ? bytes : NULL;
    in.value = bytes;
    FUZZ_CHECK(kl_batch_builder_append(b, 1 << 20, 4096, &in) == 0);
}

struct kl_base_chunk *sample_frame(int kind)
{
    struct kl_base_chunk *chunk = NULL;
    struct kl_batch_builder b;

    kl_batch_builder_init(&b, &kl_base_alloc_libc);
    for (int i = 0; i < kinds[kind].records; i++)
        sample_append(&b, &kinds[kind], i);
    if (kl_batch_builder_finish(&b, sample_seed, kinds[kind].attributes,
                                &chunk))
        FUZZ_CHECK(kl_batch_builder_finish(&b, sample_seed, 0, &chunk) == 0);
    kl_batch_builder_deinit(&b);
    kl_base_put_be32(chunk->data + 55,
                     (uint32_t)(kinds[kind].records - 1 + kinds[kind].missing));
    kl_batch_frame_stamp(chunk->data, sample_seed, 100, 3);
    return chunk;
}

void sample_emit_frames(struct fuzz_seeds *seeds, const uint8_t *prefix,
                        size_t prefix_size)
{
    for (int i = 0; i < SAMPLE_KINDS; i++) {
        struct kl_base_chunk *chunk = sample_frame(i);
        uint8_t *input = malloc(prefix_size + chunk->size);

        FUZZ_CHECK(input);
        memcpy(input, prefix, prefix_size);
        memcpy(input + prefix_size, chunk->data, chunk->size);
        seeds->emit(seeds, input, prefix_size + chunk->size);
        free(input);
        kl_base_chunk_unref(chunk);
    }
}
