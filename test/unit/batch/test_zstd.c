/*
 * zstd frames that other writers may make, and hostile ones.
 */
#include "batch/codec.h"

#include "batch_help.h"

#include <check.h>

#ifdef KL_HAVE_ZSTD

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { SIZE = 300000 };

static struct help_meter memory;
static struct kl_base_buf out;
static uint8_t data[SIZE]; /* partly random, partly regular */

static void set_up(void)
{
    size_t i;

    help_meter_init(&memory);
    kl_base_buf_init(&out, &memory.alloc);
    help_fill(data, SIZE, 41);
    for (i = 100000; i < 250000; i++)
        data[i] = (uint8_t)(i / 300);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&out);
    ck_assert_uint_eq(memory.live, 0);
}

static int unpack(const uint8_t *packed, size_t size, size_t limit)
{
    kl_base_buf_deinit(&out);
    memory.peak = 0;
    return kl_batch_zstd_decompress(packed, size, limit, &out);
}

/* As a client writes that does not know the size beforehand. */
static uint8_t *pack_stream(size_t size, int window_log, int checksum,
                            size_t *packed_size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(size) + 100;
    uint8_t *packed = malloc(bound);
    ZSTD_outBuffer to = {packed, bound, 0};
    ZSTD_inBuffer from = {data, size, 0};
    ZSTD_inBuffer nothing = {NULL, 0, 0};

    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
    ZSTD_compressStream2(context, &to, &from, ZSTD_e_flush);
    ck_assert_uint_eq(ZSTD_compressStream2(context, &to, &nothing, ZSTD_e_end),
                      0);
    ck_assert_uint_eq(from.pos, size);
    ZSTD_freeCCtx(context);
    *packed_size = to.pos;
    return packed;
}

START_TEST(compress_tells_the_size)
{
    ck_assert_int_eq(kl_batch_zstd_compress(data, SIZE, &out), 0);
    ck_assert_uint_lt(out.size, SIZE);
    ck_assert_uint_eq(ZSTD_getFrameContentSize(out.data, out.size), SIZE);
    /* All contexts came from the allocator and went back. */
    ck_assert_uint_gt(memory.peak, out.capacity);
    ck_assert_uint_eq(memory.live, out.capacity);
}
END_TEST

START_TEST(decompress_streams)
{
    static const size_t sizes[] = {0, 1, 1000, 131072, 131073, SIZE};
    size_t i;

    for (i = 0; i < 6; i++) {
        size_t size;
        uint8_t *packed =
            pack_stream(sizes[i], 10 + 11 * (_i & 1), _i >> 1, &size);

        ck_assert_uint_eq(ZSTD_getFrameContentSize(packed, size),
                          ZSTD_CONTENTSIZE_UNKNOWN);
        ck_assert_int_eq(unpack(packed, size, sizes[i]), 0);
        ck_assert_uint_eq(out.size, sizes[i]);
        ck_assert(sizes[i] == 0 || memcmp(out.data, data, sizes[i]) == 0);
        ck_assert_int_eq(unpack(packed, size, 10 * SIZE), 0);
        ck_assert_uint_eq(out.size, sizes[i]);
        if (sizes[i] > 0) {
            ck_assert_int_eq(unpack(packed, size, sizes[i] - 1), KL_EBATCH);
            ck_assert_uint_eq(out.size, 0);
            ck_assert_int_eq(unpack(packed, size, sizes[i] / 2), KL_EBATCH);
        }
        ck_assert_int_eq(unpack(packed, size - 1, SIZE), KL_ECORRUPT);
        free(packed);
    }
}
END_TEST

#define FRAME 0x28, 0xb5, 0x2f, 0xfd

START_TEST(decompress_malformed)
{
    static const struct
    {
        uint8_t bytes[40];
        size_t size;
    } rows[] = {
        {{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, 8},    /* skippable */
        {{0x27, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0}, 8},    /* version 0.7 */
        {{0x25, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0}, 8},    /* version 0.5 */
        {{0x28, 0xb5, 0x2f, 0xfc, 0x20, 0, 1, 0}, 8}, /* magic */
        {{FRAME}, 4},                                 /* no header */
        {{FRAME, 0x20, 0}, 6},                        /* no block */
        {{FRAME, 0x20, 0, 1, 0}, 8},                  /* cut block header */
        {{FRAME, 0x28, 0, 1, 0, 0}, 9},               /* reserved bit */
        {{FRAME, 0x20, 0, 7, 0, 0}, 9},               /* reserved type */
        {{FRAME, 0x20, 0, 0, 0, 0}, 9},               /* no last block */
        {{FRAME, 0x20, 0, 1, 0, 0, 0}, 10},           /* trailing byte */
        {{FRAME, 0x20, 2, 9, 0, 0, 'a'}, 10},         /* content size 2, is 1 */
        {{FRAME, 0x20, 1, 17, 0, 0, 'a', 'b'}, 11},   /* content size 1, is 2 */
        {{FRAME, 0x24, 1, 9, 0, 0, 'a', 0, 0, 0, 0}, 14},         /* checksum */
        {{FRAME, 0x20, 0, 1, 0, 0, FRAME, 0x20, 0, 1, 0, 0}, 18}, /* two */
        {{FRAME, 0x21, 9, 0, 1, 0, 0}, 10}, /* dictionary 9 */
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = help_copy(rows[i].bytes, rows[i].size);
        int rc = unpack(copy, rows[i].size, 1000);

        ck_assert_msg(rc == KL_ECORRUPT, "row %zu: %d", i, rc);
        ck_assert_uint_eq(out.size, 0);
        free(copy);
    }
}
END_TEST

START_TEST(decompress_smallest)
{
    static const uint8_t empty[] = {FRAME, 0x20, 0, 1, 0, 0};
    static const uint8_t one[] = {FRAME, 0x20, 1, 9, 0, 0, 'a'};
    /* 100 times one byte */
    static const uint8_t run[] = {FRAME, 0x20, 100, 0x23, 3, 0, 'z'};

    ck_assert_int_eq(unpack(empty, sizeof empty, 0), 0);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(unpack(one, sizeof one, 1), 0);
    ck_assert_uint_eq(out.size, 1);
    ck_assert_int_eq(unpack(one, sizeof one, 0), KL_EBATCH);
    ck_assert_int_eq(unpack(run, sizeof run, 100), 0);
    ck_assert_uint_eq(out.size, 100);
    ck_assert_int_eq(unpack(run, sizeof run, 99), KL_EBATCH);
}
END_TEST

/* What a frame claims costs no more than the limit and the context. */
START_TEST(decompress_hostile_sizes)
{
    /* 8 bytes of content size, one byte is there */
    static const uint8_t huge[] = {FRAME, 0xe0, 0,    0, 0, 0, 0,
                                   0,     0,    0x7f, 9, 0, 0, 'a'};
    static const uint8_t large[] = {FRAME, 0xe0, 0, 0, 0, 1, 0,
                                    0,     0,    0, 9, 0, 0, 'a'};
    /* no content size, a window of 2^41 */
    static const uint8_t window[] = {FRAME, 0, 0xff, 9, 0, 0, 'a'};
    size_t context;
    int rc;

    ck_assert_int_eq(unpack(huge, sizeof huge, 1 << 20), KL_EBATCH);
    ck_assert_uint_eq(memory.peak, 0);
    ck_assert_int_eq(unpack(large, sizeof large, 1 << 20), KL_EBATCH);
    ck_assert_uint_eq(memory.peak, 0);
    ck_assert_int_eq(unpack(large, sizeof large, 1 << 24), KL_ECORRUPT);
    context = memory.peak - (1 << 24);
    ck_assert_uint_lt(context, 400000);
    rc = unpack(window, sizeof window, 1 << 20);
    ck_assert(rc == 0 || rc == KL_ECORRUPT);
    ck_assert_uint_le(memory.peak, (1 << 20) + context);
}
END_TEST

#endif

Suite *suite_batch_zstd(void);

Suite *suite_batch_zstd(void)
{
    Suite *s = suite_create("batch_zstd");
    TCase *t = tcase_create("zstd");

#ifdef KL_HAVE_ZSTD
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, compress_tells_the_size);
    tcase_add_loop_test(t, decompress_streams, 0, 4);
    tcase_add_test(t, decompress_malformed);
    tcase_add_test(t, decompress_smallest);
    tcase_add_test(t, decompress_hostile_sizes);
#endif
    suite_add_tcase(s, t);
    return s;
}
