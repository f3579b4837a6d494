/*
 * The frame: header fields, checksums, stamp.
 */
#include "batch/frame.h"

#include "base/endian.h"
#include "batch_help.h"
#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_base_chunk *chunk; /* two records, stamped */
static uint8_t *frame;
static size_t frame_size;

static void set_up(void)
{
    const struct kl_batch_input records[] = {help_record(1000, "first"),
                                             help_record(1500, "second")};

    fail_alloc_init(&memory);
    chunk = help_frame(&memory.alloc, 0, records, 2);
    frame = chunk->data;
    frame_size = chunk->size;
    kl_batch_frame_stamp(frame, HELP_SEED, 70, 5);
}

static void tear_down(void)
{
    kl_base_chunk_unref(chunk);
    fail_alloc_deinit(&memory);
}

START_TEST(verify_after_stamp)
{
    struct kl_batch_info info;

    ck_assert_int_eq(kl_batch_frame_verify(frame, frame_size, HELP_SEED, &info),
                     0);
    ck_assert_uint_eq(info.frame_size, frame_size);
    ck_assert_uint_eq(info.flags, 0);
    ck_assert_int_eq(info.base_offset, 70);
    ck_assert_int_eq(info.last_offset, 71);
    ck_assert_int_eq(info.leader_epoch, 5);
    ck_assert_int_eq(info.attributes, 0);
    ck_assert_int_eq(info.record_count, 2);
    ck_assert_int_eq(info.base_timestamp, 1000);
    ck_assert_int_eq(info.max_timestamp, 1500);
    ck_assert_int_eq(info.producer_id, -1);
    ck_assert_int_eq(info.producer_epoch, -1);
    ck_assert_int_eq(info.base_sequence, -1);
}
END_TEST

START_TEST(stamp_twice)
{
    struct kl_batch_info info;
    uint8_t *before = help_copy(frame, frame_size);

    kl_batch_frame_stamp(frame, HELP_SEED, INT64_MAX - 2, INT32_MAX);
    ck_assert_int_eq(kl_batch_frame_verify(frame, frame_size, HELP_SEED, &info),
                     0);
    ck_assert_int_eq(info.base_offset, INT64_MAX - 2);
    ck_assert_int_eq(info.last_offset, INT64_MAX - 1);
    ck_assert_int_eq(info.leader_epoch, INT32_MAX);

    /* The same stamp gives the same bytes: replicas are byte-identical. */
    kl_batch_frame_stamp(frame, HELP_SEED, 70, 5);
    ck_assert_mem_eq(frame, before, frame_size);
    free(before);
}
END_TEST

/* The format must never change by accident. */
START_TEST(stamp_known_bytes)
{
    static const uint8_t known[] = {
        0x4b, 0x4c, 0x46, 0x01, 0x77, 0x00, 0x00, 0x00, 0x5b, 0x85, 0x28, 0x9c,
        0x92, 0x33, 0xa1, 0x3f, 0xe2, 0x20, 0xa4, 0x8c, 0x95, 0x4a, 0x72, 0x74,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x46, 0x00, 0x00, 0x00, 0x4b, 0x00, 0x00, 0x00, 0x05,
        0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x05, 0xdc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x02, 0x16, 0x00, 0x00,
        0x00, 0x01, 0x0a, 0x66, 0x69, 0x72, 0x73, 0x74, 0x00, 0x1a, 0x00, 0xe8,
        0x07, 0x02, 0x01, 0x0c, 0x73, 0x65, 0x63, 0x6f, 0x6e, 0x64, 0x00};
    struct kl_batch_info info;

    ck_assert_uint_eq(frame_size, sizeof known);
    ck_assert_mem_eq(frame, known, sizeof known);
    ck_assert_int_eq(
        kl_batch_frame_verify(known, sizeof known, HELP_SEED, &info), 0);
    ck_assert_uint_eq(kl_batch_frame_crc(known, &info), 0x5a56da1d);
}
END_TEST

START_TEST(seed_by_name)
{
    struct kl_base_uuid a = {{1}};
    struct kl_base_uuid b = {{2}};

    ck_assert_uint_eq(kl_batch_seed(&a, 0), kl_batch_seed(&a, 0));
    ck_assert_uint_ne(kl_batch_seed(&a, 0), kl_batch_seed(&a, 1));
    ck_assert_uint_ne(kl_batch_seed(&a, 0), kl_batch_seed(&b, 0));
    ck_assert_uint_ne(kl_batch_seed(&a, 256), kl_batch_seed(&a, 1));
}
END_TEST

START_TEST(verify_foreign_seed)
{
    struct kl_base_uuid topic = {{0}};
    struct kl_batch_info info;
    int32_t partition;
    int bit;

    for (bit = 0; bit < 64; bit++) {
        uint64_t seed = HELP_SEED ^ (UINT64_C(1) << bit);

        ck_assert_int_eq(kl_batch_frame_header(frame, frame_size, seed, &info),
                         KL_ECORRUPT);
    }
    for (partition = 0; partition < 1000; partition++) {
        uint64_t seed = kl_batch_seed(&topic, partition);

        ck_assert_int_eq(kl_batch_frame_verify(frame, frame_size, seed, &info),
                         KL_ECORRUPT);
        kl_batch_frame_parse(frame, &info);
        ck_assert_int_eq(kl_batch_frame_body(frame, seed, &info), KL_ECORRUPT);
    }
}
END_TEST

START_TEST(verify_any_flipped_bit)
{
    uint8_t *copy = help_copy(frame, frame_size);
    struct kl_batch_info info;
    size_t bit;

    for (bit = 0; bit < frame_size * 8; bit++) {
        size_t at = bit / 8;

        copy[at] ^= (uint8_t)(1 << bit % 8);
        if (at < KL_BATCH_OVERHEAD) {
            ck_assert_int_eq(
                kl_batch_frame_header(copy, frame_size, HELP_SEED, &info),
                KL_ECORRUPT);
        } else {
            /* The offsets of a rotten body are still known. */
            ck_assert_int_eq(
                kl_batch_frame_header(copy, frame_size, HELP_SEED, &info), 0);
            ck_assert_int_eq(info.last_offset, 71);
            ck_assert_int_eq(kl_batch_frame_body(copy, HELP_SEED, &info),
                             KL_ECORRUPT);
        }
        ck_assert_int_eq(
            kl_batch_frame_verify(copy, frame_size, HELP_SEED, &info),
            KL_ECORRUPT);
        copy[at] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_mem_eq(copy, frame, frame_size);
    free(copy);
}
END_TEST

START_TEST(verify_truncated)
{
    struct kl_batch_info info;
    size_t size;

    for (size = 0; size < frame_size; size++) {
        uint8_t *copy = help_copy(frame, size);

        ck_assert_int_eq(kl_batch_frame_header(copy, size, HELP_SEED, &info),
                         size < KL_BATCH_OVERHEAD ? KL_EAGAIN : 0);
        ck_assert_int_eq(kl_batch_frame_verify(copy, size, HELP_SEED, &info),
                         KL_EAGAIN);
        free(copy);
    }
}
END_TEST

START_TEST(verify_followed_by_other_bytes)
{
    uint8_t *copy = malloc(frame_size + 100);
    struct kl_batch_info info;

    memcpy(copy, frame, frame_size);
    memset(copy + frame_size, 0xee, 100);
    ck_assert_int_eq(
        kl_batch_frame_verify(copy, frame_size + 100, HELP_SEED, &info), 0);
    ck_assert_uint_eq(info.frame_size, frame_size);
    free(copy);
}
END_TEST

START_TEST(verify_zeros)
{
    uint8_t zeros[4096] = {0};
    struct kl_batch_info info;

    ck_assert_int_eq(
        kl_batch_frame_verify(zeros, sizeof zeros, HELP_SEED, &info),
        KL_ECORRUPT);
}
END_TEST

/* Headers that contradict themselves are refused with a good checksum too. */
START_TEST(header_refused)
{
    static const struct
    {
        int at;
        int size; /* 4 and below 32: little-endian, else big-endian */
        int64_t value;
    } rows[] = {
        {KL_BATCH_AT_MAGIC, 4, 0x02464c4b},
        {KL_BATCH_AT_SIZE, 4, 0},
        {KL_BATCH_AT_SIZE, 4, KL_BATCH_OVERHEAD - 1},
        {KL_BATCH_AT_SIZE, 4, KL_BATCH_OVERHEAD},
        {KL_BATCH_AT_SIZE, 4, KL_BATCH_SIZE_MAX + 1},
        {KL_BATCH_AT_SIZE, 4, UINT32_MAX},
        {KL_BATCH_AT_FLAGS, 4, 2},
        {KL_BATCH_AT_FLAGS, 4, (int64_t)1 << 31},
        {KL_BATCH_AT_RESERVED, 4, 1},
        {KL_BATCH_AT_RESERVED, 4, (int64_t)1 << 31},
        {KL_BATCH_AT_BASE_OFFSET, 8, -1},
        {KL_BATCH_AT_BASE_OFFSET, 8, INT64_MIN},
        {KL_BATCH_AT_BASE_OFFSET, 8, INT64_MAX},
        {KL_BATCH_AT_BASE_OFFSET, 8, INT64_MAX - 1},
        {KL_BATCH_AT_LENGTH, 4, 0},
        {KL_BATCH_AT_LENGTH, 4, -1},
        {KL_BATCH_AT_VERSION, 1, 1},
        {KL_BATCH_AT_VERSION, 1, 3},
        {KL_BATCH_AT_LAST_DELTA, 4, -1},
        {KL_BATCH_AT_LAST_DELTA, 4, 0},
        {KL_BATCH_AT_LAST_DELTA, 4, INT32_MIN},
        {KL_BATCH_AT_RECORD_COUNT, 4, -1},
        {KL_BATCH_AT_RECORD_COUNT, 4, 3},
        {KL_BATCH_AT_RECORD_COUNT, 4, INT32_MIN},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = help_copy(frame, frame_size);
        uint8_t *at = copy + rows[i].at;
        struct kl_batch_info info;

        /* Seal first where the size itself is the lie. */
        if (rows[i].at < KL_BATCH_FRAME_HEADER)
            kl_base_put_le32(at, (uint32_t)rows[i].value);
        else if (rows[i].size == 8)
            kl_base_put_be64(at, (uint64_t)rows[i].value);
        else if (rows[i].size == 4)
            kl_base_put_be32(at, (uint32_t)rows[i].value);
        else
            *at = (uint8_t)rows[i].value;
        if (rows[i].at != KL_BATCH_AT_SIZE) {
            kl_batch_frame_seal(copy, HELP_SEED);
            ck_assert_msg(kl_batch_frame_header(copy, frame_size, HELP_SEED,
                                                &info) == KL_ECORRUPT,
                          "row %zu", i);
        }
        ck_assert_msg(kl_batch_frame_parse(copy, &info) == KL_ECORRUPT,
                      "row %zu", i);
        free(copy);
    }
}
END_TEST

START_TEST(header_of_compacted_batch)
{
    struct kl_batch_info info;
    uint8_t *copy = help_copy(frame, frame_size);

    /* Two records left of many offsets. */
    kl_base_put_be32(copy + KL_BATCH_AT_LAST_DELTA, INT32_MAX);
    kl_batch_frame_seal(copy, HELP_SEED);
    ck_assert_int_eq(kl_batch_frame_verify(copy, frame_size, HELP_SEED, &info),
                     0);
    ck_assert_int_eq(info.last_offset, INT64_C(70) + INT32_MAX);

    /* The room up to the last offset depends on the delta. */
    kl_base_put_be64(copy + KL_BATCH_AT_BASE_OFFSET,
                     (uint64_t)(INT64_MAX - INT32_MAX - 1));
    kl_batch_frame_seal(copy, HELP_SEED);
    ck_assert_int_eq(kl_batch_frame_verify(copy, frame_size, HELP_SEED, &info),
                     0);
    ck_assert_int_eq(info.last_offset, INT64_MAX - 1);
    kl_base_put_be64(copy + KL_BATCH_AT_BASE_OFFSET,
                     (uint64_t)(INT64_MAX - INT32_MAX));
    kl_batch_frame_seal(copy, HELP_SEED);
    ck_assert_int_eq(kl_batch_frame_verify(copy, frame_size, HELP_SEED, &info),
                     KL_ECORRUPT);
    free(copy);
}
END_TEST

START_TEST(header_of_empty_batch)
{
    uint8_t *raw = help_raw("", 0, 0, 9, 0);
    struct kl_batch_info info;

    ck_assert_int_eq(
        kl_batch_frame_verify(raw, KL_BATCH_OVERHEAD, HELP_SEED, &info), 0);
    ck_assert_int_eq(info.record_count, 0);
    ck_assert_int_eq(info.last_offset, 9);
    free(raw);
}
END_TEST

START_TEST(header_with_more_records_than_bytes)
{
    uint8_t body[14] = {0};
    uint8_t *raw = help_raw(body, sizeof body, 3, 2, 0);
    struct kl_batch_info info;

    ck_assert_int_eq(kl_batch_frame_parse(raw, &info), KL_ECORRUPT);
    kl_base_put_be16(raw + KL_BATCH_AT_ATTRIBUTES, KL_BATCH_CODEC_ZSTD);
    ck_assert_int_eq(kl_batch_frame_parse(raw, &info), 0);
    free(raw);
}
END_TEST

START_TEST(crc_covers_what_the_leader_does_not_stamp)
{
    struct kl_batch_info info;
    uint32_t crc;

    kl_batch_frame_parse(frame, &info);
    crc = kl_batch_frame_crc(frame, &info);
    kl_batch_frame_stamp(frame, HELP_SEED, 123456, 77);
    kl_base_put_be32(frame + KL_BATCH_AT_CRC, 0xdeadbeef);
    ck_assert_uint_eq(kl_batch_frame_crc(frame, &info), crc);
    frame[KL_BATCH_AT_ATTRIBUTES + 1] ^= 16;
    ck_assert_uint_ne(kl_batch_frame_crc(frame, &info), crc);
    frame[KL_BATCH_AT_ATTRIBUTES + 1] ^= 16;
    frame[frame_size - 1] ^= 1;
    ck_assert_uint_ne(kl_batch_frame_crc(frame, &info), crc);
}
END_TEST

START_TEST(crc_flag_is_kept)
{
    struct kl_batch_info info;

    kl_base_put_le32(frame + KL_BATCH_AT_FLAGS, KL_BATCH_FLAG_CRC);
    kl_batch_frame_stamp(frame, HELP_SEED, 70, 5);
    ck_assert_int_eq(kl_batch_frame_verify(frame, frame_size, HELP_SEED, &info),
                     0);
    ck_assert_uint_eq(info.flags, KL_BATCH_FLAG_CRC);
}
END_TEST

START_TEST(crc_counts_where_the_flag_says_so)
{
    struct kl_batch_info info;

    kl_batch_frame_parse(frame, &info);
    kl_base_put_be32(frame + KL_BATCH_AT_CRC,
                     kl_batch_frame_crc(frame, &info) ^ 1);
    ck_assert_int_eq(kl_batch_frame_crc_verify(frame, &info), 0);
    info.flags = KL_BATCH_FLAG_CRC;
    ck_assert_int_eq(kl_batch_frame_crc_verify(frame, &info), KL_ECORRUPT);
    kl_base_put_be32(frame + KL_BATCH_AT_CRC, kl_batch_frame_crc(frame, &info));
    ck_assert_int_eq(kl_batch_frame_crc_verify(frame, &info), 0);
}
END_TEST

Suite *suite_batch_frame(void);

Suite *suite_batch_frame(void)
{
    Suite *s = suite_create("batch_frame");
    TCase *t = tcase_create("frame");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, verify_after_stamp);
    tcase_add_test(t, stamp_twice);
    tcase_add_test(t, stamp_known_bytes);
    tcase_add_test(t, seed_by_name);
    tcase_add_test(t, verify_foreign_seed);
    tcase_add_test(t, verify_any_flipped_bit);
    tcase_add_test(t, verify_truncated);
    tcase_add_test(t, verify_followed_by_other_bytes);
    tcase_add_test(t, verify_zeros);
    tcase_add_test(t, header_refused);
    tcase_add_test(t, header_of_compacted_batch);
    tcase_add_test(t, header_of_empty_batch);
    tcase_add_test(t, header_with_more_records_than_bytes);
    tcase_add_test(t, crc_covers_what_the_leader_does_not_stamp);
    tcase_add_test(t, crc_flag_is_kept);
    tcase_add_test(t, crc_counts_where_the_flag_says_so);
    suite_add_tcase(s, t);
    return s;
}
