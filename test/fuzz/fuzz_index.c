/*
 * Looking up through any index over a sound segment. An index may be absent,
 * damaged, of another time or a lie: the answer stays that of a plain walk.
 * Only a block whose checksum is right and whose times are wrong can hide a
 * record from a look-up by time, and that is all it can do.
 *
 * Input: three numbers for what is asked, then blocks: a byte for what is wrong
 * with it, how many entries, the entries. A block of raw bytes as well.
 */
#include "fixup.h"
#include "sample.h"
#include "segment.h"

#include "base/endian.h"

#include <stdlib.h>

enum {
    INDEX_RECORDS = 40,
    INDEX_BLOCKS = 4,
    INDEX_BAD_SUM = 1,
    INDEX_BAD_BASE = 2,
    INDEX_BAD_COUNT = 4,
    INDEX_RAW = 8,
    INDEX_LIE = 16 /* entries as they are, not those of the segment */
};

static struct segment sound;
static struct kl_store_index_entry truth[INDEX_RECORDS]; /* by frame */
static uint8_t index_file[INDEX_BLOCKS * KL_STORE_BLOCK];

static void index_make_truth(void)
{
    int64_t newest = -1;

    for (size_t i = 0; i < sound.count; i++) {
        const struct segment_frame *f = &sound.frames[i];

        truth[i].relative =
            (uint32_t)(f->info.base_offset - sound.seg.info.base);
        truth[i].position = (uint32_t)f->position;
        truth[i].max_timestamp = newest;
        if (f->info.max_timestamp > newest)
            newest = f->info.max_timestamp;
    }
}

/* Frames of one and two records, times that also go back. */
static void index_make_segment(void)
{
    struct kl_base_buf b;
    int64_t next = 1000;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    for (int i = 0; i < INDEX_RECORDS; i++) {
        struct kl_batch_builder builder;
        struct kl_base_chunk *chunk;

        kl_batch_builder_init(&builder, &kl_base_alloc_libc);
        for (int k = 0; k <= i % 2; k++) {
            struct kl_batch_input in = {.timestamp = 100 + i * 7 % 50 + i,
                                        .value = "value of a record",
                                        .value_size = (uint32_t)i % 17};

            FUZZ_CHECK(kl_batch_builder_append(&builder, 4096, 256, &in) == 0);
        }
        FUZZ_CHECK(kl_batch_builder_finish(&builder, sample_seed, 0, &chunk) ==
                   0);
        kl_batch_frame_stamp(chunk->data, sample_seed, next, 1);
        next += 1 + i % 2;
        kl_base_buf_append(&b, chunk->data, chunk->size);
        kl_base_chunk_unref(chunk);
        kl_batch_builder_deinit(&builder);
    }
    segment_init(&sound, b.data, b.size, sample_seed);
    FUZZ_CHECK(sound.count == INDEX_RECORDS);
    index_make_truth();
    /* The bytes live as long as the process. */
}

static void index_take_entries(struct fuzz_input *in, unsigned flaws,
                               struct kl_store_index_entry *entries,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!(flaws & INDEX_LIE)) {
            entries[i] = truth[fuzz_take8(in) % INDEX_RECORDS];
            continue;
        }
        entries[i].relative = fuzz_take32(in);
        entries[i].position = fuzz_take32(in);
        entries[i].max_timestamp = (int64_t)fuzz_take64(in);
    }
}

/* One block; 1 where it may hide a record. */
static int index_take_block(struct fuzz_input *in, uint8_t *out)
{
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
    unsigned flaws = fuzz_take8(in);
    uint32_t count = fuzz_take8(in) % KL_STORE_INDEX_FANOUT;
    const uint8_t *raw;
    size_t size;

    memset(out, 0, KL_STORE_BLOCK);
    if (flaws & INDEX_RAW) {
        size = fuzz_take(in, 64, &raw);
        memcpy(out, raw, size);
        if (!(flaws & INDEX_BAD_SUM))
            fixup_index_block(out);
        return 1;
    }
    index_take_entries(in, flaws, entries, count);
    kl_store_index_block_encode(
        out, sound.seg.info.base + (flaws & INDEX_BAD_BASE ? 1 : 0), entries,
        count);
    if (flaws & INDEX_BAD_COUNT)
        kl_base_put_le32(out + 4, 255 + count);
    if (flaws & INDEX_BAD_SUM)
        out[16] ^= 1;
    else
        fixup_index_block(out);
    return (flaws & INDEX_LIE) != 0;
}

static void index_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    int64_t offset = 1000 - 4 + fuzz_take8(&in) % 72;
    int64_t timestamp = 100 - 4 + fuzz_take8(&in) % 110;
    uint32_t bytes = fuzz_take8(&in);
    uint32_t blocks = 0;
    int may_skip = 0;
    uint64_t usable;

    if (sound.count == 0)
        index_make_segment();
    while (in.size > 0 && blocks < INDEX_BLOCKS)
        may_skip |= index_take_block(&in, index_file + (size_t)blocks++ *
                                                           KL_STORE_BLOCK);
    fuzz_alloc_begin(SIZE_MAX);
    /* A block more than the file has, now and then, or part of one. */
    segment_set_index(&sound, index_file,
                      (size_t)blocks * KL_STORE_BLOCK - bytes * (blocks > 0),
                      blocks + bytes % 2);
    segment_check_find(&sound, offset);
    segment_check_read(&sound, offset, INT64_MAX, bytes * 16, 0);
    segment_check_read(&sound, offset, offset + bytes % 4, bytes, 0);
    segment_check_lookup(&sound, timestamp, 0, INT64_MAX, may_skip);
    segment_check_lookup(&sound, timestamp, offset, INT64_MAX, may_skip);
    usable = kl_store_index_usable(&sound.index.base, blocks,
                                   sound.seg.info.base, sound.end);
    FUZZ_CHECK(usable <= blocks);
    fuzz_alloc_end();
}

static void index_seeds(struct fuzz_seeds *seeds)
{
    /* True, two blocks, bad ones between good ones, a lie, raw bytes. */
    static const uint8_t good[] = {20, 40, 3, 0, 4,  0,  5,
                                   10, 15, 0, 3, 20, 25, 30};
    static const uint8_t bad[] = {60, 80, 9, 1, 2, 3, 9,  2, 1,
                                  7,  4,  1, 9, 0, 2, 11, 13};
    static const uint8_t lie[] = {40, 60, 0, 16, 1, 30, 0, 0, 0, 0, 32,
                                  0,  0,  9, 0,  0, 0,  0, 0, 0, 0};
    static const uint8_t raw[] = {9,    9, 9, 8, 0, 'K', 'L', 'I', 'X', 1,
                                  0,    0, 0, 0, 0, 0,   0,   0,   0,   0,
                                  0xe8, 3, 0, 0, 0, 0,   0,   0};

    seeds->emit(seeds, good, 3);
    seeds->emit(seeds, good, sizeof good);
    seeds->emit(seeds, bad, sizeof bad);
    seeds->emit(seeds, lie, sizeof lie);
    seeds->emit(seeds, raw, sizeof raw);
}

const struct fuzz_target fuzz_index = {"index", index_run, index_seeds, 4000};
