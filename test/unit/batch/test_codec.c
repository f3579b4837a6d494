/*
 * Codecs by name and number.
 */
#include "batch/codec.h"

#include "batch_help.h"
#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_base_buf out;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_buf_init(&out, &memory.alloc);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&out);
    fail_alloc_deinit(&memory);
}

START_TEST(by_name_table)
{
    static const char *const unknown[] = {"",     "gzip", "snappy", "LZ4",
                                          "lz4 ", "zst",  "none0"};
    enum kl_batch_codec codec = KL_BATCH_CODEC_ZSTD;
    size_t i;

    ck_assert_int_eq(kl_batch_codec_by_name("none", &codec), 0);
    ck_assert_int_eq(codec, KL_BATCH_CODEC_NONE);
#ifdef KL_HAVE_LZ4
    ck_assert_int_eq(kl_batch_codec_by_name("lz4", &codec), 0);
    ck_assert_int_eq(codec, KL_BATCH_CODEC_LZ4);
#else
    ck_assert_int_eq(kl_batch_codec_by_name("lz4", &codec), KL_EUNSUPPORTED);
#endif
#ifdef KL_HAVE_ZSTD
    ck_assert_int_eq(kl_batch_codec_by_name("zstd", &codec), 0);
    ck_assert_int_eq(codec, KL_BATCH_CODEC_ZSTD);
#else
    ck_assert_int_eq(kl_batch_codec_by_name("zstd", &codec), KL_EUNSUPPORTED);
#endif
    for (i = 0; i < sizeof unknown / sizeof *unknown; i++)
        ck_assert_int_eq(kl_batch_codec_by_name(unknown[i], &codec),
                         KL_ECONFIG);
}
END_TEST

START_TEST(unknown_numbers)
{
    static const int codecs[] = {
        -1,
        1,
        2,
        5,
        6,
        7,
        8,
#ifndef KL_HAVE_LZ4
        KL_BATCH_CODEC_LZ4,
#endif
#ifndef KL_HAVE_ZSTD
        KL_BATCH_CODEC_ZSTD,
#endif
    };
    size_t i;

    for (i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        enum kl_batch_codec codec = (enum kl_batch_codec)codecs[i];

        ck_assert_int_eq(kl_batch_codec_compress(codec, "abc", 3, &out),
                         KL_EUNSUPPORTED);
        ck_assert_int_eq(kl_batch_codec_decompress(codec, "abc", 3, 9, &out),
                         KL_EUNSUPPORTED);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

START_TEST(none_copies_within_the_limit)
{
    ck_assert_int_eq(
        kl_batch_codec_compress(KL_BATCH_CODEC_NONE, "abc", 3, &out), 0);
    ck_assert_int_eq(
        kl_batch_codec_decompress(KL_BATCH_CODEC_NONE, "def", 3, 3, &out), 0);
    ck_assert_int_eq(
        kl_batch_codec_decompress(KL_BATCH_CODEC_NONE, "ghi", 3, 2, &out),
        KL_EBATCH);
    ck_assert_uint_eq(out.size, 6);
    ck_assert_mem_eq(out.data, "abcdef", 6);
}
END_TEST

START_TEST(none_without_memory)
{
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(
        kl_batch_codec_compress(KL_BATCH_CODEC_NONE, "abc", 3, &out),
        KL_ENOMEM);
    kl_base_buf_clear(&out);
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(
        kl_batch_codec_decompress(KL_BATCH_CODEC_NONE, "abc", 3, 3, &out),
        KL_ENOMEM);
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

START_TEST(reserve_is_exact)
{
    ck_assert_int_eq(kl_batch_codec_reserve(&out, 0), 0);
    ck_assert_ptr_nonnull(out.data);
    ck_assert_uint_eq(out.capacity, 1);
    ck_assert_int_eq(kl_batch_codec_reserve(&out, 100), 0);
    ck_assert_uint_eq(out.capacity, 100);
    memcpy(out.data, "abc", 3);
    out.size = 3;
    ck_assert_int_eq(kl_batch_codec_reserve(&out, 97), 0);
    ck_assert_uint_eq(out.capacity, 100);
    ck_assert_int_eq(kl_batch_codec_reserve(&out, 98), 0);
    ck_assert_uint_eq(out.capacity, 101);
    ck_assert_mem_eq(out.data, "abc", 3);
    ck_assert_int_eq(kl_batch_codec_reserve(&out, SIZE_MAX), KL_ENOMEM);
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_batch_codec_reserve(&out, 1000), KL_ENOMEM);
    ck_assert_uint_eq(out.capacity, 101);
    ck_assert_uint_eq(out.size, 3);
}
END_TEST

#if defined KL_HAVE_LZ4 && defined KL_HAVE_ZSTD

static const enum kl_batch_codec codec_list[] = {KL_BATCH_CODEC_LZ4,
                                                 KL_BATCH_CODEC_ZSTD};

/* Compresses, and decompresses with the exact limit and one byte less. */
static void round_trip(enum kl_batch_codec codec, const uint8_t *data,
                       size_t size)
{
    struct kl_base_buf plain;

    kl_base_buf_clear(&out);
    kl_base_buf_init(&plain, &memory.alloc);
    kl_base_buf_append(&out, "before", 6);
    kl_base_buf_append(&plain, "before", 6);
    if (kl_batch_codec_compress(codec, data, size, &out) != 0 ||
        memcmp(out.data, "before", 6) != 0)
        ck_abort_msg("size %zu", size);
    if (size > 0 &&
        (kl_batch_codec_decompress(codec, out.data + 6, out.size - 6, size - 1,
                                   &plain) != KL_EBATCH ||
         plain.size != 6 || plain.capacity > 64 + 6 + size))
        ck_abort_msg("size %zu: limit passed", size);
    if (kl_batch_codec_decompress(codec, out.data + 6, out.size - 6, size,
                                  &plain) != 0 ||
        plain.size != 6 + size || memcmp(plain.data, "before", 6) != 0 ||
        memcmp(plain.data + 6, data, size) != 0)
        ck_abort_msg("size %zu: not the same", size);
    kl_base_buf_deinit(&plain);
}

START_TEST(round_trip_every_size)
{
    static uint8_t random[65536 + 10];
    static uint8_t regular[65536 + 10];
    size_t size;

    help_fill(random, sizeof random, 21);
    for (size = 0; size < sizeof regular; size++)
        regular[size] = "the quick brown fox "[size % 20];
    for (size = 0; size <= 2000; size++) {
        round_trip(codec_list[_i], random, size);
        round_trip(codec_list[_i], regular, size);
    }
    for (size = 65536 - 10; size <= sizeof random; size++) {
        round_trip(codec_list[_i], random, size);
        round_trip(codec_list[_i], regular, size);
    }
}
END_TEST

START_TEST(round_trip_large)
{
    enum { SIZE = 3 << 20 };
    struct kl_base_buf data;
    size_t i;

    kl_base_buf_init(&data, &memory.alloc);
    ck_assert_ptr_nonnull(kl_base_buf_extend(&data, SIZE));
    memset(data.data, 0, SIZE);
    round_trip(codec_list[_i], data.data, SIZE);
    for (i = 0; i < SIZE; i += 4096)
        help_fill(data.data + i, 1024, i);
    round_trip(codec_list[_i], data.data, SIZE);
    kl_base_buf_deinit(&data);
}
END_TEST

/* Cut anywhere it is malformed; with any bit flipped it stays within the
 * limit. The copies are exact, so that a sanitizer sees reads beyond. */
START_TEST(decompress_damaged)
{
    enum { SIZE = 1200 };
    enum kl_batch_codec codec = codec_list[_i];
    struct kl_base_buf packed;
    uint8_t data[SIZE];
    size_t i;

    for (i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i % 100 < 50 ? i * 7 : i % 5);
    kl_base_buf_init(&packed, &memory.alloc);
    ck_assert_int_eq(kl_batch_codec_compress(codec, data, SIZE, &packed), 0);
    ck_assert_uint_lt(packed.size, SIZE);
    for (i = 0; i < packed.size; i++) {
        uint8_t *copy = help_copy(packed.data, i);

        if (kl_batch_codec_decompress(codec, copy, i, SIZE, &out) !=
            KL_ECORRUPT)
            ck_abort_msg("cut at %zu", i);
        free(copy);
    }
    for (i = 0; i < packed.size * 8; i++) {
        uint8_t *copy = help_copy(packed.data, packed.size);
        int rc;

        copy[i / 8] ^= (uint8_t)(1 << i % 8);
        rc = kl_batch_codec_decompress(codec, copy, packed.size, SIZE, &out);
        if ((rc != 0 && rc != KL_ECORRUPT && rc != KL_EBATCH) ||
            out.size > SIZE || (rc != 0 && out.size != 0))
            ck_abort_msg("bit %zu: %d", i, rc);
        out.size = 0;
        free(copy);
    }
    kl_base_buf_append(&packed, "x", 1);
    ck_assert_int_eq(
        kl_batch_codec_decompress(codec, packed.data, packed.size, SIZE, &out),
        KL_ECORRUPT);
    ck_assert_int_eq(kl_batch_codec_decompress(codec, "", 0, SIZE, &out),
                     KL_ECORRUPT);
    kl_base_buf_deinit(&packed);
}
END_TEST

START_TEST(without_memory)
{
    enum kl_batch_codec codec = codec_list[_i];
    static uint8_t zeros[100000];
    struct kl_base_buf plain;
    uint64_t i;
    int rc = KL_ENOMEM;

    kl_base_buf_init(&plain, &memory.alloc);
    for (i = 1; rc == KL_ENOMEM; i++) {
        fail_alloc_arm(&memory, i);
        rc = kl_batch_codec_compress(codec, zeros, sizeof zeros, &out);
        ck_assert_uint_le(memory.live_blocks, 1);
        if (rc != 0)
            ck_assert_uint_eq(out.size, 0);
    }
    ck_assert_int_eq(rc, 0);
    rc = KL_ENOMEM;
    for (i = 1; rc == KL_ENOMEM; i++) {
        fail_alloc_arm(&memory, i);
        rc = kl_batch_codec_decompress(codec, out.data, out.size, sizeof zeros,
                                       &plain);
        ck_assert_uint_le(memory.live_blocks, 2);
        if (rc != 0)
            ck_assert_uint_eq(plain.size, 0);
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_eq(plain.size, sizeof zeros);
    kl_base_buf_deinit(&plain);
}
END_TEST

#endif

Suite *suite_batch_codec(void);

Suite *suite_batch_codec(void)
{
    Suite *s = suite_create("batch_codec");
    TCase *t = tcase_create("codec");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, by_name_table);
    tcase_add_test(t, unknown_numbers);
    tcase_add_test(t, none_copies_within_the_limit);
    tcase_add_test(t, none_without_memory);
    tcase_add_test(t, reserve_is_exact);
#if defined KL_HAVE_LZ4 && defined KL_HAVE_ZSTD
    tcase_add_loop_test(t, round_trip_every_size, 0, 2);
    tcase_add_loop_test(t, round_trip_large, 0, 2);
    tcase_add_loop_test(t, decompress_damaged, 0, 2);
    tcase_add_loop_test(t, without_memory, 0, 2);
#endif
    suite_add_tcase(s, t);
    return s;
}
