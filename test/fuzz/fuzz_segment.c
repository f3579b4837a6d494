/*
 * Walking, reading and looking up in a segment of any bytes. Input: what is
 * put right, four small numbers for what is asked, then the frames.
 */
#include "fixup.h"
#include "sample.h"
#include "segment.h"

#include <stdlib.h>

static void segment_ask(struct segment *s, struct fuzz_input *in)
{
    unsigned what = fuzz_take8(in);
    int64_t offset = 90 + fuzz_take8(in);
    int64_t end = offset + (int8_t)fuzz_take8(in);
    uint32_t bytes = (uint32_t)fuzz_take8(in) * 64;
    int64_t timestamp = 1700000000000 - 10 + (int64_t)bytes / 64;

    segment_check_scan(s, 1, -1);
    segment_check_scan(s, what & 1, what & 2 ? offset : -1);
    segment_check_find(s, offset);
    segment_check_read(s, offset, what & 4 ? end : INT64_MAX, bytes, 0);
    segment_check_read(s, offset, INT64_MAX, bytes,
                       KL_STORE_BLOCK + (uint64_t)bytes);
    segment_check_lookup(s, timestamp, what & 8 ? offset : 0,
                         what & 16 ? end : INT64_MAX, 0);
}

static void segment_run(const uint8_t *data, size_t size)
{
    static struct segment s;
    struct fuzz_input in = {data, size}, questions;
    unsigned how = fuzz_take8(&in);
    uint8_t *frames;

    questions = in;
    questions.size = fuzz_take(&in, 4, &questions.data);
    frames = fuzz_take_copy(&in, &size);
    fixup_frames(frames, size, sample_seed, how);
    fuzz_alloc_begin(SIZE_MAX);
    segment_init(&s, frames, size, sample_seed);
    segment_ask(&s, &questions);
    fuzz_alloc_end();
    free(frames);
}

/* Some samples one behind the other. */
static void segment_seed(struct fuzz_seeds *seeds, const uint8_t *prefix,
                         int first, int count)
{
    struct kl_base_buf b;
    int64_t next = 100;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    kl_base_buf_append(&b, prefix, 5);
    for (int i = 0; i < count; i++) {
        struct kl_base_chunk *chunk = sample_frame((first + i) % SAMPLE_KINDS);
        struct kl_batch_info info;

        kl_batch_frame_stamp(chunk->data, sample_seed, next, 3 + i / 2);
        FUZZ_CHECK(kl_batch_frame_header(chunk->data, chunk->size, sample_seed,
                                         &info) == 0);
        next = info.last_offset + 1;
        kl_base_buf_append(&b, chunk->data, chunk->size);
        kl_base_chunk_unref(chunk);
    }
    seeds->emit(seeds, b.data, b.size);
    kl_base_buf_deinit(&b);
}

static void segment_seeds(struct fuzz_seeds *seeds)
{
    static const uint8_t prefixes[][5] = {{0, 0, 10, 5, 20},
                                          {1, 3, 10, 5, 1},
                                          {1, 4, 13, 127, 40},
                                          {1, 31, 16, 100, 16}};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        for (int count = 0; count <= SAMPLE_KINDS; count += 3)
            segment_seed(seeds, prefixes[i], (int)i, count);
}

const struct fuzz_target fuzz_segment = {"segment", segment_run, segment_seeds,
                                         3000};
