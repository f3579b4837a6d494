/*
 * Building batches.
 */
#include "batch/frame.h"

#include "batch_help.h"
#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_batch_builder builder;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_batch_builder_init(&builder, &memory.alloc);
}

static void tear_down(void)
{
    kl_batch_builder_deinit(&builder);
    fail_alloc_deinit(&memory);
}

static int append(const struct kl_batch_input *in)
{
    return kl_batch_builder_append(&builder, KL_BATCH_SIZE_MAX, 64, in);
}

static struct kl_base_chunk *finish(int16_t attributes)
{
    struct kl_base_chunk *chunk = NULL;
    struct kl_batch_info info;

    ck_assert_int_eq(
        kl_batch_builder_finish(&builder, HELP_SEED, attributes, &chunk), 0);
    ck_assert_int_eq(
        kl_batch_frame_verify(chunk->data, chunk->size, HELP_SEED, &info), 0);
    ck_assert_uint_eq(info.frame_size, chunk->size);
    return chunk;
}

static int bytes_equal(const void *want, size_t want_size, const uint8_t *got,
                       size_t got_size)
{
    if (!want || !got)
        return !want && !got && got_size == 0;
    return want_size == got_size && memcmp(want, got, want_size) == 0;
}

static int record_equal(const struct kl_batch_input *in,
                        const struct kl_batch_record *r)
{
    struct kl_batch_header h;
    uint32_t i;

    if (in->timestamp != r->timestamp || in->header_count != r->header_count ||
        !bytes_equal(in->key, in->key_size, r->key, r->key_size) ||
        !bytes_equal(in->value, in->value_size, r->value, r->value_size))
        return 0;
    for (i = 0; i < in->header_count; i++) {
        const struct kl_batch_header *want = &in->headers[i];

        if (kl_batch_record_header(r, i, &h) != 0 ||
            !bytes_equal(want->name, want->name_size, h.name, h.name_size) ||
            !bytes_equal(want->value, want->value_size, h.value, h.value_size))
            return 0;
    }
    return kl_batch_record_header(r, i, &h) == KL_EEND;
}

/* Finishes the batch and compares it with what went in. */
static void check_records(const struct kl_batch_input *in, size_t count,
                          int16_t attributes)
{
    struct kl_base_chunk *chunk = finish(attributes);
    struct kl_batch_iter it;
    struct kl_batch_record r;
    size_t i;

    ck_assert_int_eq(kl_batch_iter_init(&it, &memory.alloc, chunk->data,
                                        chunk->size, KL_BATCH_SIZE_MAX),
                     0);
    for (i = 0; i < count; i++) {
        if (kl_batch_iter_next(&it, &r) != 0 || r.offset != (int64_t)i ||
            !record_equal(&in[i], &r))
            ck_abort_msg("record %zu", i);
    }
    ck_assert_int_eq(kl_batch_iter_next(&it, &r), KL_EEND);
    ck_assert_int_eq(kl_batch_iter_next(&it, &r), KL_EEND);
    kl_batch_iter_deinit(&it);
    kl_base_chunk_unref(chunk);
}

/* Every size 0..2000 and around 64 KiB, as key, as value and as both. */
START_TEST(append_every_size)
{
    enum { SMALL = 2001, AROUND = 65536 - 10, COUNT = SMALL + 20 };
    static struct kl_batch_input in[COUNT];
    static uint8_t bytes[2 * 65536];
    int16_t codecs[] = {
        KL_BATCH_CODEC_NONE,
#ifdef KL_HAVE_LZ4
        KL_BATCH_CODEC_LZ4,
#endif
#ifdef KL_HAVE_ZSTD
        KL_BATCH_CODEC_ZSTD,
#endif
    };
    size_t codec = (size_t)_i / 3;
    uint32_t i;

    if (codec >= sizeof codecs / sizeof *codecs)
        return;
    help_fill(bytes, sizeof bytes, 1);
    for (i = 0; i < COUNT; i++) {
        uint32_t size = i < SMALL ? i : AROUND + (i - SMALL);

        memset(&in[i], 0, sizeof in[i]);
        in[i].timestamp = 1000 + (int64_t)i * 37 % 100;
        if (_i % 3 != 1) {
            in[i].key = bytes + i;
            in[i].key_size = size;
        }
        if (_i % 3 != 0) {
            in[i].value = bytes + 2 * i;
            in[i].value_size = size;
        }
        if (append(&in[i]) != 0)
            ck_abort_msg("record %u", i);
    }
    check_records(in, COUNT, codecs[codec]);
}
END_TEST

/* The first record tells the exact size of its frame. */
START_TEST(record_bound_is_exact)
{
    static uint8_t bytes[70000];
    uint32_t size;

    for (size = 0; size < sizeof bytes; size = size * 2 + 1) {
        const struct kl_batch_header headers[] = {{"name", 4, bytes, size},
                                                  {"", 0, NULL, 0}};
        struct kl_batch_input in = {.timestamp = -1};
        struct kl_base_chunk *chunk;
        size_t bound;

        in.key = size % 2 ? bytes : NULL;
        in.key_size = size;
        in.value = size % 4 ? bytes : NULL;
        in.value_size = size;
        in.headers = headers;
        in.header_count = size % 3;
        bound = kl_batch_record_bound(&in);
        ck_assert_int_eq(kl_batch_builder_append(&builder, bound - 1, 0, &in),
                         KL_EAGAIN);
        ck_assert_ptr_null(builder.chunk);
        ck_assert_int_eq(kl_batch_builder_append(&builder, bound, 0, &in), 0);
        chunk = finish(0);
        ck_assert_uint_eq(chunk->size, bound);
        ck_assert_uint_eq(chunk->capacity, bound);
        kl_base_chunk_unref(chunk);
    }
}
END_TEST

START_TEST(append_null_and_empty)
{
    const struct kl_batch_header headers[] = {
        {"a", 1, NULL, 0}, {"a", 1, "", 0}, {"", 0, "x", 1}, {"", 0, NULL, 9}};
    const struct kl_batch_input in[] = {
        {.timestamp = 0},
        {.timestamp = 0, .key = "", .value = NULL},
        {.timestamp = 0, .key = NULL, .value = ""},
        {.timestamp = 0, .key = "", .value = ""},
        /* The size of a null does not count. */
        {.timestamp = 0, .key_size = 7, .value_size = UINT32_MAX},
        {.timestamp = 0, .headers = headers, .header_count = 4},
        {.timestamp = 0, .headers = headers, .header_count = 0},
    };
    size_t count = sizeof in / sizeof *in;
    size_t i;

    for (i = 0; i < count; i++)
        ck_assert_int_eq(append(&in[i]), 0);
    check_records(in, count, 0);
}
END_TEST

START_TEST(append_many_headers)
{
    enum { COUNT = 300 };
    static struct kl_batch_header headers[COUNT];
    static uint8_t bytes[20000];
    struct kl_batch_input in = {.timestamp = 5, .headers = headers};
    uint32_t i;

    help_fill(bytes, sizeof bytes, 3);
    for (i = 0; i < COUNT; i++) {
        headers[i].name = bytes + i;
        headers[i].name_size = i;
        headers[i].value = i % 5 ? bytes + 2 * i : NULL;
        headers[i].value_size = i * 60;
    }
    in.header_count = COUNT;
    ck_assert_int_eq(append(&in), 0);
    check_records(&in, 1, 0);
}
END_TEST

START_TEST(append_header_without_name)
{
    const struct kl_batch_header headers[] = {{"a", 1, "b", 1},
                                              {NULL, 1, "b", 1}};
    struct kl_batch_input in = {.headers = headers, .header_count = 2};

    ck_assert_int_eq(append(&in), KL_EINVAL);
    ck_assert_uint_eq(kl_batch_record_bound(&in), SIZE_MAX);
    in.headers = NULL;
    ck_assert_int_eq(append(&in), KL_EINVAL);
    ck_assert_int_eq(builder.record_count, 0);
    ck_assert_ptr_null(builder.chunk);
}
END_TEST

START_TEST(append_timestamps_of_all_kinds)
{
    static const int64_t times[] = {1000, 999,       1001,      0,
                                    -1,   INT64_MAX, INT64_MIN, 1000,
                                    1063, 1064,      936,       INT64_MAX};
    struct kl_batch_input in[12];
    size_t i;

    memset(in, 0, sizeof in);
    for (i = 0; i < 12; i++) {
        in[i].timestamp = times[i];
        ck_assert_int_eq(append(&in[i]), 0);
        ck_assert_int_eq(builder.base_timestamp, 1000);
    }
    ck_assert_int_eq(builder.max_timestamp, INT64_MAX);
    check_records(in, 12, 0);

    /* All before the epoch: max is not taken from an empty builder. */
    for (i = 0; i < 2; i++) {
        in[i].timestamp = -5 - (int64_t)i;
        ck_assert_int_eq(append(&in[i]), 0);
    }
    ck_assert_int_eq(builder.max_timestamp, -5);
    check_records(in, 2, 0);
}
END_TEST

START_TEST(append_until_full)
{
    enum { LIMIT = 4096 };
    struct kl_batch_input in = help_record(7, "0123456789");
    struct kl_base_chunk *chunk;
    size_t size;
    int count = 0;
    int rc;

    for (;;) {
        rc = kl_batch_builder_append(&builder, LIMIT, 0, &in);
        if (rc != 0)
            break;
        count++;
        ck_assert_uint_le(builder.size, LIMIT);
        ck_assert_uint_le(builder.chunk->capacity, LIMIT);
    }
    ck_assert_int_eq(rc, KL_EAGAIN);
    ck_assert_int_eq(builder.record_count, count);
    size = builder.size;
    ck_assert_uint_gt(size, LIMIT - 20);

    /* A smaller record may still fit; the next large one does not. */
    in.value = NULL;
    while (kl_batch_builder_append(&builder, LIMIT, 0, &in) == 0)
        count++;
    in.value = "0123456789";
    ck_assert_int_eq(kl_batch_builder_append(&builder, LIMIT, 0, &in),
                     KL_EAGAIN);
    chunk = finish(0);
    ck_assert_uint_gt(chunk->size, LIMIT - 8);
    ck_assert_uint_le(chunk->size, LIMIT);

    /* Empty again, and as good as new. */
    ck_assert_int_eq(kl_batch_builder_append(&builder, LIMIT, 0, &in), 0);
    ck_assert_int_eq(builder.record_count, 1);
    kl_base_chunk_unref(chunk);
}
END_TEST

/* Sizes alone must be enough to refuse: nothing behind the pointers is read,
 * and no sum wraps around. */
START_TEST(append_too_large)
{
    static struct kl_batch_header headers[3];
    struct kl_batch_input in = {.value = "x"};
    int i;

    in.value_size = 4096;
    ck_assert_int_eq(kl_batch_builder_append(&builder, 4096, 4096, &in),
                     KL_EAGAIN);
    in.value_size = UINT32_MAX;
    ck_assert_int_eq(append(&in), KL_EAGAIN);
    ck_assert_uint_eq(kl_batch_record_bound(&in), SIZE_MAX);
    in.key = "y";
    in.key_size = UINT32_MAX;
    ck_assert_int_eq(append(&in), KL_EAGAIN);
    in.value_size = KL_BATCH_SIZE_MAX;
    in.key_size = 0;
    ck_assert_int_eq(kl_batch_builder_append(&builder, SIZE_MAX, 0, &in),
                     KL_EAGAIN);

    for (i = 0; i < 3; i++) {
        headers[i].name = "n";
        headers[i].name_size = UINT32_MAX;
        headers[i].value = "v";
        headers[i].value_size = UINT32_MAX;
    }
    in.value_size = 1;
    in.headers = headers;
    in.header_count = 3;
    ck_assert_int_eq(append(&in), KL_EAGAIN);
    /* Only the first header is there: counting stops when it is too much. */
    in.header_count = UINT32_MAX;
    ck_assert_int_eq(append(&in), KL_EAGAIN);
    ck_assert_uint_eq(kl_batch_record_bound(&in), SIZE_MAX);
    ck_assert_int_eq(builder.record_count, 0);
    ck_assert_ptr_null(builder.chunk);
}
END_TEST

START_TEST(append_allocates_the_hint)
{
    struct kl_batch_input in = help_record(7, "value");

    ck_assert_int_eq(kl_batch_builder_append(&builder, 65536, 1000, &in), 0);
    ck_assert_uint_eq(builder.chunk->capacity, 1000);
    kl_batch_builder_deinit(&builder);
    ck_assert_int_eq(kl_batch_builder_append(&builder, 4096, 9999, &in), 0);
    ck_assert_uint_eq(builder.chunk->capacity, 4096);
}
END_TEST

START_TEST(append_failure_changes_nothing)
{
    static uint8_t bytes[3000];
    struct kl_batch_input in[40];
    uint32_t failures = 0;
    uint32_t i;

    help_fill(bytes, sizeof bytes, 4);
    memset(in, 0, sizeof in);
    for (i = 0; i < 40; i++) {
        struct kl_batch_builder before;
        int rc;

        in[i].timestamp = i;
        in[i].value = bytes;
        in[i].value_size = i * 70;
        before = builder;
        fail_alloc_arm(&memory, 1);
        rc = append(&in[i]);
        fail_alloc_arm(&memory, 0);
        if (rc == KL_ENOMEM) {
            failures++;
            ck_assert_mem_eq(&builder, &before, sizeof builder);
            rc = append(&in[i]);
        }
        ck_assert_int_eq(rc, 0);
    }
    ck_assert_uint_ge(failures, 5);
    check_records(in, 40, 0);
}
END_TEST

/* The i-th allocation of a finish with compression fails, for every i. */
START_TEST(finish_failure_changes_nothing)
{
    static uint8_t zeros[9000];
    struct kl_batch_input in = {.value = zeros, .value_size = sizeof zeros};
    struct kl_base_chunk *chunk = NULL;
    int16_t codec = (int16_t)_i;
    uint64_t i;
    int rc = KL_ENOMEM;

    ck_assert_int_eq(append(&in), 0);
    for (i = 1; rc == KL_ENOMEM; i++) {
        struct kl_batch_builder before = builder;

        fail_alloc_arm(&memory, i);
        rc = kl_batch_builder_finish(&builder, HELP_SEED, codec, &chunk);
        if (rc == KL_ENOMEM)
            ck_assert_mem_eq(&builder, &before, sizeof builder);
    }
    fail_alloc_arm(&memory, 0);
#ifndef KL_HAVE_LZ4
    if (codec == KL_BATCH_CODEC_LZ4)
        ck_assert_int_eq(rc, KL_EUNSUPPORTED);
#endif
#ifndef KL_HAVE_ZSTD
    if (codec == KL_BATCH_CODEC_ZSTD)
        ck_assert_int_eq(rc, KL_EUNSUPPORTED);
#endif
    if (rc == KL_EUNSUPPORTED) {
        ck_assert_int_eq(builder.record_count, 1);
        return;
    }
    /* The last allocation to fail is the cut to size, which is harmless. */
    ck_assert_int_eq(rc, 0);
    kl_base_chunk_unref(chunk);
    ck_assert_int_eq(append(&in), 0);
    check_records(&in, 1, codec);
}
END_TEST

START_TEST(finish_empty)
{
    struct kl_base_chunk *chunk = NULL;

    ck_assert_int_eq(kl_batch_builder_finish(&builder, HELP_SEED, 0, &chunk),
                     KL_EINVAL);
    ck_assert_ptr_null(chunk);
}
END_TEST

START_TEST(finish_with_unknown_codec)
{
    static const int16_t codecs[] = {1, 2, 5, 6, 7};
    struct kl_batch_input in = help_record(7, "value");
    struct kl_base_chunk *chunk = NULL;
    size_t i;

    ck_assert_int_eq(append(&in), 0);
    for (i = 0; i < 5; i++)
        ck_assert_int_eq(
            kl_batch_builder_finish(&builder, HELP_SEED, codecs[i], &chunk),
            KL_EUNSUPPORTED);
    check_records(&in, 1, 0);
}
END_TEST

/* Codec bits are set only where they say the truth. */
START_TEST(finish_compressed_only_if_smaller)
{
#if defined KL_HAVE_LZ4 && defined KL_HAVE_ZSTD
    static const int16_t codecs[] = {KL_BATCH_CODEC_LZ4, KL_BATCH_CODEC_ZSTD};
    static uint8_t bytes[3000];
    struct kl_batch_input in = {.value = bytes, .value_size = sizeof bytes};
    struct kl_base_chunk *chunk;
    struct kl_batch_info info;
    int i;

    for (i = 0; i < 2; i++) {
        int16_t others = KL_BATCH_ATTR_LOG_APPEND_TIME | KL_BATCH_ATTR_CONTROL;

        memset(bytes, 'z', sizeof bytes);
        ck_assert_int_eq(append(&in), 0);
        chunk = finish((int16_t)(codecs[i] | others));
        ck_assert_int_eq(kl_batch_frame_parse(chunk->data, &info), 0);
        ck_assert_int_eq(info.attributes, codecs[i] | others);
        ck_assert_uint_lt(chunk->size, 300);
        kl_base_chunk_unref(chunk);

        help_fill(bytes, sizeof bytes, 5);
        ck_assert_int_eq(append(&in), 0);
        chunk = finish((int16_t)(codecs[i] | others));
        ck_assert_int_eq(kl_batch_frame_parse(chunk->data, &info), 0);
        ck_assert_int_eq(info.attributes, others);
        ck_assert_uint_gt(chunk->size, sizeof bytes);
        kl_base_chunk_unref(chunk);
    }
#endif
}
END_TEST

START_TEST(finish_cuts_to_size)
{
    struct kl_batch_input in = help_record(7, "value");
    struct kl_base_chunk *chunk;

    ck_assert_int_eq(kl_batch_builder_append(&builder, 65536, 65536, &in), 0);
    chunk = finish(0);
    ck_assert_uint_eq(chunk->capacity, chunk->size);
    kl_base_chunk_unref(chunk);

    /* More than half full: not worth a copy. */
    ck_assert_int_eq(kl_batch_builder_append(&builder, 65536, 200, &in), 0);
    chunk = finish(0);
    ck_assert_uint_eq(chunk->capacity, 200);
    kl_base_chunk_unref(chunk);

    /* No memory for it: the frame is good all the same. */
    ck_assert_int_eq(kl_batch_builder_append(&builder, 65536, 65536, &in), 0);
    fail_alloc_arm(&memory, 1);
    chunk = finish(0);
    ck_assert_uint_eq(memory.failed, 1);
    ck_assert_uint_eq(chunk->capacity, 65536);
    kl_base_chunk_unref(chunk);
}
END_TEST

static void recycle(struct kl_base_chunk *chunk, void *user)
{
    int *count = user;

    (*count)++;
    kl_base_chunk_destroy(chunk);
}

START_TEST(use_chunk_of_a_pool)
{
    struct kl_batch_input in = help_record(7, "value");
    struct kl_base_chunk *chunk;
    struct kl_base_chunk *out;
    int recycled = 0;
    int i;

    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(kl_base_chunk_new(&chunk, &memory.alloc, 4096), 0);
        chunk->recycle = recycle;
        chunk->user = &recycled;
        kl_batch_builder_use(&builder, chunk);
        if (i == 0)
            continue; /* a second one replaces the first */
        ck_assert_int_eq(recycled, i);
        ck_assert_int_eq(kl_batch_builder_append(&builder, 4096, 99, &in), 0);
        ck_assert_ptr_eq(builder.chunk, chunk);
        if (i == 1) {
            out = finish(0);
            ck_assert_ptr_eq(out, chunk);
            ck_assert_uint_eq(out->capacity, 4096);
            kl_base_chunk_unref(out);
            ck_assert_int_eq(recycled, 2);
        }
    }
    kl_batch_builder_deinit(&builder);
    ck_assert_int_eq(recycled, 3);
}
END_TEST

Suite *suite_batch_build(void);

Suite *suite_batch_build(void)
{
    Suite *s = suite_create("batch_build");
    TCase *t = tcase_create("build");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, append_every_size, 0, 9);
    tcase_add_test(t, record_bound_is_exact);
    tcase_add_test(t, append_null_and_empty);
    tcase_add_test(t, append_many_headers);
    tcase_add_test(t, append_header_without_name);
    tcase_add_test(t, append_timestamps_of_all_kinds);
    tcase_add_test(t, append_until_full);
    tcase_add_test(t, append_too_large);
    tcase_add_test(t, append_allocates_the_hint);
    tcase_add_test(t, append_failure_changes_nothing);
    tcase_add_loop_test(t, finish_failure_changes_nothing, 0,
                        KL_BATCH_CODEC_ZSTD + 1);
    tcase_add_test(t, finish_empty);
    tcase_add_test(t, finish_with_unknown_codec);
    tcase_add_test(t, finish_compressed_only_if_smaller);
    tcase_add_test(t, finish_cuts_to_size);
    tcase_add_test(t, use_chunk_of_a_pool);
    suite_add_tcase(s, t);
    return s;
}
