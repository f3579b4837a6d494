/*
 * Reading batches, mostly bad ones.
 */
#include "batch/frame.h"

#include "base/endian.h"
#include "base/rng.h"
#include "batch_help.h"
#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc memory;
static volatile uint8_t sink; /* keeps reads from being optimised away */

static void set_up(void)
{
    fail_alloc_init(&memory);
}

static void tear_down(void)
{
    fail_alloc_deinit(&memory);
}

/* Reads everything, touching each byte that a record refers to. Returns the
 * final code and the number of records. */
static int read_all(const uint8_t *frame, size_t size, int *count)
{
    struct kl_batch_iter it;
    struct kl_batch_record r;
    struct kl_batch_header h;
    uint32_t i;
    int rc = kl_batch_iter_init(&it, &memory.alloc, frame, size, 1 << 16);

    *count = 0;
    if (rc != 0)
        return rc;
    for (;;) {
        rc = kl_batch_iter_next(&it, &r);
        if (rc != 0)
            break;
        for (i = 0; i < r.key_size; i++)
            sink ^= r.key[i];
        for (i = 0; i < r.value_size; i++)
            sink ^= r.value[i];
        for (i = 0; i < r.header_count; i++) {
            if (kl_batch_record_header(&r, i, &h) != 0)
                ck_abort_msg("header %u is bad after all", i);
            if (h.name_size > 0)
                sink ^= ((const uint8_t *)h.name)[h.name_size - 1];
            if (h.value_size > 0)
                sink ^= ((const uint8_t *)h.value)[h.value_size - 1];
        }
        (*count)++;
    }
    if (kl_batch_iter_next(&it, &r) != rc)
        ck_abort_msg("another code at the second call");
    kl_batch_iter_deinit(&it);
    if (kl_batch_records_verify(&memory.alloc, frame, size) !=
        (rc == KL_EEND ? 0 : rc))
        ck_abort_msg("verifying says something else");
    return rc;
}

/* The code that reading this records section ends with. */
static int read_raw(const void *records, size_t size, int32_t record_count,
                    int32_t last_delta, int *count)
{
    uint8_t *frame = help_raw(records, size, record_count, last_delta, 0);
    int rc = read_all(frame, help_size(frame), count);

    free(frame);
    return rc;
}

START_TEST(next_gives_offsets_and_times)
{
    const struct kl_batch_input in[] = {help_record(1000, "a"),
                                        help_record(900, "bc"),
                                        help_record(5000, NULL)};
    struct kl_base_chunk *chunk = help_frame(&memory.alloc, 0, in, 3);
    struct kl_batch_iter it;
    struct kl_batch_record r;
    int i;

    kl_batch_frame_stamp(chunk->data, HELP_SEED, 500, 1);
    ck_assert_int_eq(
        kl_batch_iter_init(&it, &memory.alloc, chunk->data, chunk->size, 0), 0);
    ck_assert_int_eq(it.info.leader_epoch, 1);
    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(kl_batch_iter_next(&it, &r), 0);
        ck_assert_int_eq(r.offset, 500 + i);
        ck_assert_int_eq(r.timestamp, in[i].timestamp);
        ck_assert_ptr_null(r.key);
        ck_assert_uint_eq(r.value_size, in[i].value_size);
        ck_assert(!r.value == !in[i].value);
    }
    ck_assert_int_eq(kl_batch_iter_next(&it, &r), KL_EEND);
    kl_batch_iter_deinit(&it);
    kl_base_chunk_unref(chunk);
}
END_TEST

START_TEST(next_with_log_append_time)
{
    const struct kl_batch_input in[] = {
        help_record(1000, "a"), help_record(7000, "b"), help_record(900, "c")};
    struct kl_base_chunk *chunk =
        help_frame(&memory.alloc, KL_BATCH_ATTR_LOG_APPEND_TIME, in, 3);
    struct kl_batch_iter it;
    struct kl_batch_record r;
    int i;

    kl_base_put_be64(chunk->data + KL_BATCH_AT_MAX_TIMESTAMP, 9999);
    ck_assert_int_eq(
        kl_batch_iter_init(&it, &memory.alloc, chunk->data, chunk->size, 0), 0);
    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(kl_batch_iter_next(&it, &r), 0);
        ck_assert_int_eq(r.timestamp, 9999);
    }
    kl_batch_iter_deinit(&it);
    kl_base_chunk_unref(chunk);
}
END_TEST

START_TEST(next_header_by_index)
{
    const struct kl_batch_header headers[] = {
        {"one", 3, "1", 1}, {"two", 3, NULL, 0}, {"", 0, "", 0}};
    const struct kl_batch_input in = {.headers = headers, .header_count = 3};
    struct kl_base_chunk *chunk = help_frame(&memory.alloc, 0, &in, 1);
    struct kl_batch_iter it;
    struct kl_batch_record r;
    struct kl_batch_header h;

    ck_assert_int_eq(
        kl_batch_iter_init(&it, &memory.alloc, chunk->data, chunk->size, 0), 0);
    ck_assert_int_eq(kl_batch_iter_next(&it, &r), 0);
    ck_assert_int_eq(kl_batch_record_header(&r, 2, &h), 0);
    ck_assert_uint_eq(h.name_size, 0);
    ck_assert_ptr_nonnull(h.name);
    ck_assert_ptr_nonnull(h.value);
    ck_assert_int_eq(kl_batch_record_header(&r, 0, &h), 0);
    ck_assert_uint_eq(h.name_size, 3);
    ck_assert_mem_eq(h.name, "one", 3);
    ck_assert_mem_eq(h.value, "1", 1);
    ck_assert_int_eq(kl_batch_record_header(&r, 1, &h), 0);
    ck_assert_ptr_null(h.value);
    ck_assert_int_eq(kl_batch_record_header(&r, 3, &h), KL_EEND);
    ck_assert_int_eq(kl_batch_record_header(&r, UINT32_MAX, &h), KL_EEND);

    /* A record that was not made by the iterator. */
    r.headers_size--;
    ck_assert_int_eq(kl_batch_record_header(&r, 2, &h), KL_ECORRUPT);
    kl_batch_iter_deinit(&it);
    kl_base_chunk_unref(chunk);
}
END_TEST

/* Record bytes: length, attributes, times, offset delta, key, value, headers;
 * all numbers are zig-zag: 2 is 1, 1 is -1. */
#define RECORD(delta) 12, 0, 0, 2 * (delta), 1, 1, 0

/* Deltas against what the header says. */
START_TEST(next_offset_deltas)
{
    static const struct
    {
        uint8_t deltas[3];
        int32_t last_delta;
        int rc;
        int count;
    } rows[] = {
        {{0, 1, 2}, 2, KL_EEND, 3},
        {{0, 0, 2}, 2, KL_ECORRUPT, 1},
        {{0, 2, 1}, 2, KL_ECORRUPT, 1},
        {{1, 2, 3}, 2, KL_ECORRUPT, 0},
        {{0, 1, 3}, 2, KL_ECORRUPT, 2},
        /* Compacted: any ascending deltas up to the last. */
        {{0, 1, 2}, 10, KL_EEND, 3},
        {{3, 7, 10}, 10, KL_EEND, 3},
        {{8, 9, 10}, 10, KL_EEND, 3},
        {{8, 8, 10}, 10, KL_ECORRUPT, 1},
        {{8, 7, 10}, 10, KL_ECORRUPT, 1},
        {{3, 7, 11}, 10, KL_ECORRUPT, 2},
        {{9, 10, 11}, 10, KL_ECORRUPT, 0},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint8_t records[] = {RECORD(rows[i].deltas[0]),
                                   RECORD(rows[i].deltas[1]),
                                   RECORD(rows[i].deltas[2])};
        int count;
        int rc =
            read_raw(records, sizeof records, 3, rows[i].last_delta, &count);

        ck_assert_msg(rc == rows[i].rc && count == rows[i].count,
                      "row %zu: %d after %d", i, rc, count);
    }
}
END_TEST

START_TEST(next_in_an_emptied_batch)
{
    const uint8_t records[] = {RECORD(0)};
    uint8_t *frame = help_raw("", 0, 0, 5, KL_BATCH_CODEC_LZ4);
    int count;

    ck_assert_int_eq(read_raw("", 0, 0, 5, &count), KL_EEND);
    ck_assert_int_eq(read_all(frame, KL_BATCH_OVERHEAD, &count), KL_EEND);
    ck_assert_int_eq(read_raw(records, sizeof records, 0, 5, &count),
                     KL_ECORRUPT);
    free(frame);
}
END_TEST

START_TEST(next_count_against_bytes)
{
    const uint8_t records[] = {RECORD(0), RECORD(1), RECORD(2)};
    int count;

    /* More bytes than records, and fewer. */
    ck_assert_int_eq(read_raw(records, sizeof records, 2, 2, &count),
                     KL_ECORRUPT);
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(read_raw(records, sizeof records - 7, 3, 2, &count),
                     KL_ECORRUPT);
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(read_raw(records, sizeof records - 1, 2, 2, &count),
                     KL_ECORRUPT);
    ck_assert_int_eq(count, 2);
}
END_TEST

#define LONG10 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define MAX32 0xfe, 0xff, 0xff, 0xff, 0x0f /* 2^31 - 1 */
#define MIN32 0xff, 0xff, 0xff, 0xff, 0x0f /* -2^31 */

/* One record; padded, so that a bad length has bytes to run into. */
START_TEST(next_malformed)
{
    static const struct
    {
        uint8_t bytes[40];
        size_t size;
    } rows[] = {
        {{0, 0, 0, 0, 1, 1, 0}, 7},                 /* length 0 */
        {{1, 0, 0, 0, 1, 1, 0}, 7},                 /* length -1 */
        {{10, 0, 0, 0, 1, 1, 0}, 7},                /* length 5 */
        {{14, 0, 0, 0, 1, 1, 0}, 7},                /* length 7 of 6 */
        {{14, 0, 0, 0, 1, 1, 0, 0}, 8},             /* a byte too many */
        {{MAX32, 0, 0, 0, 1, 1, 0}, 11},            /* length 2^31 - 1 */
        {{MIN32, 0, 0, 0, 1, 1, 0}, 11},            /* length -2^31 */
        {{LONG10, 0x01, 0, 0, 0, 1, 1, 0}, 16},     /* length -2^63 */
        {{LONG10, 0xff, 0x01, 0, 0, 1, 1, 0}, 17},  /* 11 bytes of varint */
        {{12, 0, 0, 0, 3, 1, 0}, 7},                /* key size -2 */
        {{12, 0, 0, 0, 1, 3, 0}, 7},                /* value size -2 */
        {{12, 0, 0, 0, 2, 1, 0}, 7},                /* key eats the value */
        {{12, 0, 0, 0, 8, 1, 0}, 7},                /* key of 4 bytes */
        {{12, 0, 0, 0, 1, 2, 0}, 7},                /* value eats the headers */
        {{12, 0, 0, 0, 1, 1, 1}, 7},                /* header count -1 */
        {{12, 0, 0, 0, 1, 1, 2}, 7},                /* one header, no bytes */
        {{16, 0, 0, 0, 1, 1, 2, 1, 1}, 9},          /* header name null */
        {{16, 0, 0, 0, 1, 1, 2, 0, 3}, 9},          /* header value -2 */
        {{16, 0, 0, 0, 1, 1, 2, 2, 1}, 9},          /* name eats the value */
        {{16, 0, 0, 0, 1, 1, 4, 0, 1}, 9},          /* two, one there */
        {{16, 0, 0, 0, 1, 1, 0, 0, 1}, 9},          /* none, one there */
        {{18, 0, 0, 0, 1, 1, 2, 0, 1, 0}, 10},      /* a byte behind it */
        {{20, 0, 0, 0, MAX32, 1, 0}, 11},           /* key of 2^31 - 1 */
        {{20, 0, 0, 0, 1, MAX32, 0}, 11},           /* value of 2^31 - 1 */
        {{20, 0, 0, 0, 1, 1, MAX32}, 11},           /* 2^31 - 1 headers */
        {{20, 0, 0, MAX32, 1, 1, 0}, 11},           /* offset delta */
        {{20, 0, 0, MIN32, 1, 1, 0}, 11},           /* offset delta */
        {{30, 0, 0, LONG10, 0x01, 1, 1, 0}, 16},    /* offset delta -2^63 */
        {{30, 0, 0, 0, LONG10, 0x01, 1, 0}, 16},    /* key size -2^63 */
        {{30, 0, 0, 0, LONG10, 0x80, 1, 0}, 16},    /* key size never ends */
        {{14, 0, 0x80, 0x80, 0x80, 0x80, 0x80}, 7}, /* time never ends */
        {{12, 0, 0, 0, 1, 1, 0x80}, 7},             /* count never ends */
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t padded[60] = {0};
        int count;

        ck_assert_msg(read_raw(rows[i].bytes, rows[i].size, 1, 0, &count) ==
                          KL_ECORRUPT,
                      "row %zu", i);
        ck_assert_int_eq(count, 0);
        memcpy(padded, rows[i].bytes, rows[i].size);
        ck_assert_msg(read_raw(padded, sizeof padded, 1, 0, &count) ==
                          KL_ECORRUPT,
                      "row %zu padded", i);
    }
}
END_TEST

/* Unusual, but what Kafka's own reader takes: long varints, attributes. */
START_TEST(next_unusual)
{
    /* Times and offset delta 0 in two bytes, key -1 in three. */
    static const uint8_t records[] = {20,   0xff, 0x80, 0x00, 0x80, 0x00,
                                      0x81, 0x80, 0x00, 1,    0};
    static const uint8_t times[] = {30, 0, LONG10, 0x01, 0, 1, 1, 0};
    int count;

    ck_assert_int_eq(read_raw(records, sizeof records, 1, 0, &count), KL_EEND);
    ck_assert_int_eq(read_raw(times, sizeof times, 1, 0, &count), KL_EEND);
    ck_assert_int_eq(count, 1);
}
END_TEST

static struct kl_base_chunk *rich_frame(void)
{
    static uint8_t bytes[300];
    const struct kl_batch_header headers[] = {
        {"name", 4, "value", 5}, {"n", 1, NULL, 0}, {"m", 1, bytes, 80}};
    const struct kl_batch_input in[] = {
        {.timestamp = 1000,
         .key = "k",
         .key_size = 1,
         .headers = headers,
         .header_count = 3},
        {.timestamp = 999, .value = bytes, .value_size = 200},
        {.timestamp = INT64_MAX,
         .key = bytes,
         .key_size = 64,
         .value = "",
         .headers = headers,
         .header_count = 1},
    };

    help_fill(bytes, sizeof bytes, 9);
    return help_frame(&memory.alloc, 0, in, 3);
}

/* Cut at every place, with headers that agree with the cut. */
START_TEST(next_truncated)
{
    struct kl_base_chunk *chunk = rich_frame();
    const uint8_t *records = chunk->data + KL_BATCH_AT_RECORDS;
    size_t size = chunk->size - KL_BATCH_AT_RECORDS;
    size_t cut;
    int count;

    ck_assert_int_eq(read_raw(records, size, 3, 2, &count), KL_EEND);
    ck_assert_int_eq(count, 3);
    for (cut = 0; cut < size; cut++) {
        if (read_raw(records, cut, 3, 2, &count) != KL_ECORRUPT || count > 2)
            ck_abort_msg("cut at %zu", cut);
    }
    kl_base_chunk_unref(chunk);
}
END_TEST

/* Whatever the bytes are, reading ends and stays inside. */
START_TEST(next_random_damage)
{
    struct kl_base_chunk *chunk = rich_frame();
    size_t size = chunk->size - KL_BATCH_AT_RECORDS;
    uint8_t *records = help_copy(chunk->data + KL_BATCH_AT_RECORDS, size);
    struct kl_base_rng rng;
    int bad = 0;
    int i;

    kl_base_rng_seed(&rng, 11);
    for (i = 0; i < 20000; i++) {
        int n = 1 + (int)kl_base_rng_below(&rng, 3);
        int count;
        int rc;

        memcpy(records, chunk->data + KL_BATCH_AT_RECORDS, size);
        while (n-- > 0) {
            uint8_t *at = records + kl_base_rng_below(&rng, size);
            uint64_t how = kl_base_rng_below(&rng, 3);

            if (how == 0)
                *at = (uint8_t)kl_base_rng_next(&rng);
            else if (how == 1)
                *at ^= (uint8_t)(1 << kl_base_rng_below(&rng, 8));
            else
                *at = 0xff;
        }
        rc = read_raw(records, size, 3, 2, &count);
        if (rc != KL_EEND && rc != KL_ECORRUPT)
            ck_abort_msg("round %d: %d", i, rc);
        bad += rc == KL_ECORRUPT;
    }
    ck_assert_int_gt(bad, 1000);
    free(records);
    kl_base_chunk_unref(chunk);
}
END_TEST

START_TEST(init_with_bad_headers)
{
    const uint8_t records[] = {RECORD(0)};
    uint8_t *frame = help_raw(records, sizeof records, 1, 0, 0);
    size_t size = help_size(frame);
    size_t cut;
    int count;

    for (cut = 0; cut < size; cut++) {
        uint8_t *copy = help_copy(frame, cut);

        ck_assert_int_eq(read_all(copy, cut, &count), KL_ECORRUPT);
        free(copy);
    }
    /* Bytes behind the frame do not matter, its checksum neither. */
    frame[KL_BATCH_AT_HEADER_SUM] ^= 1;
    ck_assert_int_eq(read_all(frame, size + 1000, &count), KL_EEND);
    frame[KL_BATCH_AT_VERSION] = 1;
    ck_assert_int_eq(read_all(frame, size, &count), KL_ECORRUPT);
    free(frame);
}
END_TEST

START_TEST(init_with_unknown_codec)
{
    static const int16_t codecs[] = {1, 2, 5, 6, 7};
    const uint8_t records[] = {RECORD(0)};
    size_t i;
    int count;

    for (i = 0; i < 5; i++) {
        uint8_t *frame = help_raw(records, sizeof records, 1, 0, codecs[i]);

        ck_assert_int_eq(read_all(frame, help_size(frame), &count),
                         KL_EUNSUPPORTED);
        free(frame);
    }
}
END_TEST

#if defined KL_HAVE_LZ4 && defined KL_HAVE_ZSTD

/* 200 records of equal values, compressed. */
static struct kl_base_chunk *packed_frame(int16_t codec)
{
    struct kl_batch_input in[200];
    struct kl_base_chunk *chunk;
    struct kl_batch_info info;
    int i;

    for (i = 0; i < 200; i++)
        in[i] = help_record(i, "the same value again and again");
    chunk = help_frame(&memory.alloc, codec, in, 200);
    ck_assert_int_eq(kl_batch_frame_parse(chunk->data, &info), 0);
    ck_assert_int_eq(info.attributes, codec);
    return chunk;
}

START_TEST(init_compressed)
{
    struct kl_base_chunk *chunk = packed_frame((int16_t)_i);
    struct kl_batch_iter it;
    size_t plain_size;
    int count;

    ck_assert_int_eq(read_all(chunk->data, chunk->size, &count), KL_EEND);
    ck_assert_int_eq(count, 200);

    /* The limit is exact. */
    ck_assert_int_eq(kl_batch_iter_init(&it, &memory.alloc, chunk->data,
                                        chunk->size, 1 << 16),
                     0);
    plain_size = (size_t)(it.end - it.pos);
    ck_assert_uint_gt(plain_size, 200 * 30);
    kl_batch_iter_deinit(&it);
    ck_assert_int_eq(kl_batch_iter_init(&it, &memory.alloc, chunk->data,
                                        chunk->size, plain_size),
                     0);
    kl_batch_iter_deinit(&it);
    ck_assert_int_eq(kl_batch_iter_init(&it, &memory.alloc, chunk->data,
                                        chunk->size, plain_size - 1),
                     KL_EBATCH);
    ck_assert_int_eq(
        kl_batch_iter_init(&it, &memory.alloc, chunk->data, chunk->size, 0),
        KL_EBATCH);
    kl_base_chunk_unref(chunk);
}
END_TEST

/* A good lz4 frame with nothing in it is no batch with a record. */
START_TEST(init_compressed_empty)
{
    static const uint8_t empty[] = {4, 0x22, 0x4d, 0x18, 0x60, 0x40,
                                    0, 0,    0,    0,    0};
    uint8_t *frame = help_raw(empty, sizeof empty, 1, 0, KL_BATCH_CODEC_LZ4);
    int count;

    ck_assert_int_eq(read_all(frame, help_size(frame), &count), KL_ECORRUPT);
    free(frame);
}
END_TEST

START_TEST(init_compressed_without_memory)
{
    struct kl_base_chunk *chunk = packed_frame((int16_t)_i);
    struct kl_batch_iter it;
    size_t blocks = memory.live_blocks;
    uint64_t i;
    int rc = KL_ENOMEM;

    for (i = 1; rc == KL_ENOMEM; i++) {
        fail_alloc_arm(&memory, i);
        rc = kl_batch_iter_init(&it, &memory.alloc, chunk->data, chunk->size,
                                1 << 16);
        if (rc == KL_ENOMEM)
            ck_assert_uint_eq(memory.live_blocks, blocks);
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_gt(i, 2);
    kl_batch_iter_deinit(&it);
    kl_base_chunk_unref(chunk);
}
END_TEST

START_TEST(init_compressed_random_damage)
{
    struct kl_base_chunk *chunk = packed_frame((int16_t)_i);
    size_t size = chunk->size - KL_BATCH_AT_RECORDS;
    struct kl_base_rng rng;
    int i;

    kl_base_rng_seed(&rng, 12);
    for (i = 0; i < 3000; i++) {
        uint8_t *copy = help_copy(chunk->data, chunk->size);
        int count;
        int rc;

        copy[KL_BATCH_AT_RECORDS + kl_base_rng_below(&rng, size)] ^=
            (uint8_t)(1 << kl_base_rng_below(&rng, 8));
        rc = read_all(copy, chunk->size, &count);
        if (rc != KL_EEND && rc != KL_ECORRUPT && rc != KL_EBATCH)
            ck_abort_msg("round %d: %d", i, rc);
        free(copy);
    }
    kl_base_chunk_unref(chunk);
}
END_TEST

#endif

Suite *suite_batch_read(void);

Suite *suite_batch_read(void)
{
    Suite *s = suite_create("batch_read");
    TCase *t = tcase_create("read");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, next_gives_offsets_and_times);
    tcase_add_test(t, next_with_log_append_time);
    tcase_add_test(t, next_header_by_index);
    tcase_add_test(t, next_offset_deltas);
    tcase_add_test(t, next_in_an_emptied_batch);
    tcase_add_test(t, next_count_against_bytes);
    tcase_add_test(t, next_malformed);
    tcase_add_test(t, next_unusual);
    tcase_add_test(t, next_truncated);
    tcase_add_test(t, next_random_damage);
    tcase_add_test(t, init_with_bad_headers);
    tcase_add_test(t, init_with_unknown_codec);
#if defined KL_HAVE_LZ4 && defined KL_HAVE_ZSTD
    tcase_add_loop_test(t, init_compressed, KL_BATCH_CODEC_LZ4,
                        KL_BATCH_CODEC_ZSTD + 1);
    tcase_add_test(t, init_compressed_empty);
    tcase_add_loop_test(t, init_compressed_without_memory, KL_BATCH_CODEC_LZ4,
                        KL_BATCH_CODEC_ZSTD + 1);
    tcase_add_loop_test(t, init_compressed_random_damage, KL_BATCH_CODEC_LZ4,
                        KL_BATCH_CODEC_ZSTD + 1);
#endif
    suite_add_tcase(s, t);
    return s;
}
