/*
 * lz4 frames that other writers may make, and hostile ones.
 */
#include "batch/codec.h"

#include "batch_help.h"

#include <check.h>

#ifdef KL_HAVE_LZ4

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 300000 };

static struct help_meter memory;
static struct kl_base_buf out;
static uint8_t data[SIZE]; /* partly random, partly regular */

static void set_up(void)
{
    size_t i;

    help_meter_init(&memory);
    kl_base_buf_init(&out, &memory.alloc);
    help_fill(data, SIZE, 31);
    for (i = 100000; i < 200000; i++)
        data[i] = (uint8_t)(i / 300);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&out);
    ck_assert_uint_eq(memory.live, 0);
}

/* Compressed by the library's own frame writer; freed with free. */
static uint8_t *pack(const LZ4F_preferences_t *prefs, size_t size,
                     size_t *packed_size)
{
    size_t bound = LZ4F_compressFrameBound(size, prefs);
    uint8_t *packed = malloc(bound);
    size_t n = LZ4F_compressFrame(packed, bound, data, size, prefs);

    ck_assert(!LZ4F_isError(n));
    *packed_size = n;
    return packed;
}

static int unpack(const uint8_t *packed, size_t size, size_t limit)
{
    kl_base_buf_deinit(&out);
    memory.peak = 0;
    return kl_batch_lz4_decompress(packed, size, limit, &out);
}

/* Ours is what Kafka takes: independent blocks, a header that the library's
 * reader, which checks its checksum, understands. */
START_TEST(compress_for_kafka)
{
    LZ4F_dctx *context;
    LZ4F_frameInfo_t info;
    uint8_t *plain = malloc(SIZE);
    size_t plain_size = SIZE;
    size_t used;
    size_t rest;

    ck_assert_int_eq(kl_batch_lz4_compress(data, SIZE, &out), 0);
    ck_assert(
        !LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
    used = out.size;
    ck_assert(
        !LZ4F_isError(LZ4F_getFrameInfo(context, &info, out.data, &used)));
    ck_assert_int_eq(info.blockMode, LZ4F_blockIndependent);
    ck_assert_int_eq(info.blockChecksumFlag, LZ4F_noBlockChecksum);
    ck_assert_int_eq(info.contentChecksumFlag, LZ4F_noContentChecksum);
    ck_assert_int_eq(info.blockSizeID, LZ4F_max64KB);
    ck_assert_uint_eq(info.dictID, 0);
    rest = out.size - used;
    ck_assert_uint_eq(LZ4F_decompress(context, plain, &plain_size,
                                      out.data + used, &rest, NULL),
                      0);
    ck_assert_uint_eq(plain_size, SIZE);
    ck_assert_mem_eq(plain, data, SIZE);
    LZ4F_freeDecompressionContext(context);
    free(plain);
}
END_TEST

/* Every combination of what a frame may contain. */
START_TEST(decompress_any_preferences)
{
    static const LZ4F_blockSizeID_t ids[] = {LZ4F_max64KB, LZ4F_max256KB,
                                             LZ4F_max1MB, LZ4F_max4MB};
    static const size_t sizes[] = {1, 100, 65536, 65537, SIZE};
    size_t i;

    for (i = 0; i < 5; i++) {
        LZ4F_preferences_t prefs;
        uint8_t *packed;
        size_t packed_size;

        memset(&prefs, 0, sizeof prefs);
        prefs.frameInfo.blockMode = LZ4F_blockIndependent;
        prefs.frameInfo.blockSizeID = ids[_i % 4];
        prefs.frameInfo.blockChecksumFlag = (LZ4F_blockChecksum_t)(_i >> 2 & 1);
        prefs.frameInfo.contentChecksumFlag =
            (LZ4F_contentChecksum_t)(_i >> 3 & 1);
        prefs.frameInfo.contentSize = _i >> 4 & 1 ? sizes[i] : 0;
        prefs.compressionLevel = _i >> 5 & 1 ? 9 : 0;
        packed = pack(&prefs, sizes[i], &packed_size);
        ck_assert_int_eq(unpack(packed, packed_size, sizes[i]), 0);
        ck_assert_uint_eq(out.size, sizes[i]);
        ck_assert(memcmp(out.data, data, sizes[i]) == 0);
        ck_assert_uint_le(out.capacity, sizes[i]);
        ck_assert_int_eq(unpack(packed, packed_size, 10 * SIZE), 0);
        ck_assert_uint_eq(out.size, sizes[i]);
        ck_assert_int_eq(unpack(packed, packed_size, sizes[i] - 1), KL_EBATCH);
        ck_assert_int_eq(unpack(packed, packed_size, sizes[i] / 2), KL_EBATCH);
        ck_assert_int_eq(unpack(packed, packed_size - 1, SIZE), KL_ECORRUPT);
        ck_assert_uint_eq(out.size, 0);
        free(packed);
    }
}
END_TEST

/* As Kafka: blocks that depend on each other are refused. */
START_TEST(decompress_linked_blocks)
{
    LZ4F_preferences_t prefs;
    uint8_t *packed;
    size_t size;

    memset(&prefs, 0, sizeof prefs);
    prefs.frameInfo.blockMode = LZ4F_blockLinked;
    prefs.frameInfo.blockSizeID = LZ4F_max64KB;
    packed = pack(&prefs, SIZE, &size);
    ck_assert_int_eq(unpack(packed, size, SIZE), KL_ECORRUPT);
    free(packed);
}
END_TEST

/* Header by hand: flags, block size, then what follows. The header checksum
 * is not looked at. */
#define FRAME 0x04, 0x22, 0x4d, 0x18
#define END 0, 0, 0, 0

START_TEST(decompress_malformed)
{
    static const struct
    {
        uint8_t bytes[40];
        size_t size;
    } rows[] = {
        {{0x05, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, END}, 11}, /* magic */
        {{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, 8},          /* skippable */
        {{FRAME, 0x20, 0x40, 0, END}, 11},                  /* version 0 */
        {{FRAME, 0xa0, 0x40, 0, END}, 11},                  /* version 2 */
        {{FRAME, 0x62, 0x40, 0, END}, 11},                  /* reserved flag */
        {{FRAME, 0x61, 0x40, 1, 2, 3, 4, 0, END}, 15},      /* dictionary */
        {{FRAME, 0x40, 0x40, 0, END}, 11},                  /* linked */
        {{FRAME, 0x60, 0x00, 0, END}, 11},                  /* block size 0 */
        {{FRAME, 0x60, 0x30, 0, END}, 11},                  /* block size 3 */
        {{FRAME, 0x60, 0xc0, 0, END}, 11},                  /* reserved bit */
        {{FRAME, 0x60, 0x41, 0, END}, 11},                  /* reserved bits */
        {{FRAME, 0x60, 0x40, 0, END, 0}, 12},               /* trailing byte */
        {{FRAME, 0x60, 0x40, 0}, 7},                        /* no end */
        {{FRAME, 0x60, 0x40, 0, 1, 0, 0, 0, 0}, 12},        /* no end */
        {{FRAME, 0x64, 0x40, 0, END, 1, 2, 3}, 14},         /* short checksum */
        {{FRAME, 0x70, 0x40, 0, 1, 0, 0, 0, 0, END}, 16},   /* no block sum */
        {{FRAME, 0x60, 0x40, 0, 9, 0, 0, 0, 0x10, 'a', END}, 17},  /* short */
        {{FRAME, 0x60, 0x40, 0, 0xff, 0xff, 0xff, 0xff, END}, 15}, /* size */
        {{FRAME, 0x60, 0x40, 0, 0xff, 0xff, 0xff, 0x7f, END}, 15}, /* size */
        {{FRAME, 0x60, 0x40, 0, 2, 0, 0, 0, 0x20, 'a', END}, 17}, /* literals */
        {{FRAME, 0x60, 0x40, 0, 4, 0, 0, 0, 0x10, 'a', 9, 0, END},
         19}, /* far */
        {{FRAME, 0x68, 0x40, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x10, 'a',
          END},
         25}, /* content size 2, is 1 */
        {{FRAME, 0x68, 0x40, 1, 0, 0, 0,    0,   0,   0,
          0,     0,    3,    0, 0, 0, 0x20, 'a', 'b', END},
         26}, /* content size 1, is 2 */
        {{FRAME, 0x68, 0x40, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x80, 'a', 'b',
          END},
         25}, /* the same with a stored block */
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = help_copy(rows[i].bytes, rows[i].size);
        int rc = unpack(copy, rows[i].size, 1000);

        ck_assert_msg(rc == KL_ECORRUPT, "row %zu: %d", i, rc);
        ck_assert_uint_eq(out.size, 0);
        ck_assert_uint_le(memory.peak, 1000);
        free(copy);
    }
}
END_TEST

START_TEST(decompress_smallest)
{
    static const uint8_t empty[] = {FRAME, 0x60, 0x40, 0, END};
    static const uint8_t one[] = {FRAME, 0x60, 0x40, 0,   2,  0,
                                  0,     0,    0x10, 'a', END};
    static const uint8_t stored[] = {FRAME, 0x60, 0x40, 0,   2,  0,
                                     0,     0x80, 'a',  'b', END};

    ck_assert_int_eq(unpack(empty, sizeof empty, 0), 0);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(unpack(one, sizeof one, 1), 0);
    ck_assert_uint_eq(out.size, 1);
    ck_assert_int_eq(unpack(one, sizeof one, 0), KL_EBATCH);
    ck_assert_int_eq(unpack(stored, sizeof stored, 2), 0);
    ck_assert_mem_eq(out.data, "ab", 2);
    ck_assert_int_eq(unpack(stored, sizeof stored, 1), KL_EBATCH);
}
END_TEST

/* A claimed size costs no more than the limit and than the input could give;
 * neither do the largest blocks. */
START_TEST(decompress_hostile_sizes)
{
    uint8_t lie[] = {FRAME, 0x68, 0x70, 0, 0, 0, 0,    0,   0,  0,
                     0,     0,    2,    0, 0, 0, 0x10, 'a', END};
    LZ4F_preferences_t prefs;
    uint8_t *packed;
    size_t size;

    lie[9] = 0x04; /* 64 MiB */
    lie[6] = 1;
    ck_assert_int_eq(unpack(lie, sizeof lie, 1 << 20), KL_EBATCH);
    ck_assert_uint_eq(memory.peak, 0);
    ck_assert_int_eq(unpack(lie, sizeof lie, 1 << 30), KL_ECORRUPT);
    ck_assert_uint_le(memory.peak, 255 * sizeof lie);
    lie[13] = 0xff;
    ck_assert_int_eq(unpack(lie, sizeof lie, 1 << 30), KL_EBATCH);

    memset(data, 0, SIZE);
    memset(&prefs, 0, sizeof prefs);
    prefs.frameInfo.blockMode = LZ4F_blockIndependent;
    prefs.frameInfo.blockSizeID = LZ4F_max4MB;
    packed = pack(&prefs, SIZE, &size);
    ck_assert_int_eq(unpack(packed, size, 5000), KL_EBATCH);
    ck_assert_uint_le(memory.peak, 5000);
    free(packed);
}
END_TEST

#endif

Suite *suite_batch_lz4(void);

Suite *suite_batch_lz4(void)
{
    Suite *s = suite_create("batch_lz4");
    TCase *t = tcase_create("lz4");

#ifdef KL_HAVE_LZ4
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, compress_for_kafka);
    tcase_add_loop_test(t, decompress_any_preferences, 0, 64);
    tcase_add_test(t, decompress_linked_blocks);
    tcase_add_test(t, decompress_malformed);
    tcase_add_test(t, decompress_smallest);
    tcase_add_test(t, decompress_hostile_sizes);
#endif
    suite_add_tcase(s, t);
    return s;
}
