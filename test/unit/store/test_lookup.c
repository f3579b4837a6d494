/*
 * Timestamp to offset.
 */
#include "store_fixture.h"

#include <check.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

enum { RECORDS = 60, NONE = -1 };

static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = 1 << 20;
    fx.config.cache_bytes_max = 0;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

/* count batches of one record, first timestamp and step. */
static void fill(int count, int64_t first, int64_t step)
{
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 300, (uint64_t)i,
                                              0, first + i * step),
                         0);
}

static void check_found(int64_t timestamp, int64_t offset)
{
    int64_t found;
    int rc = store_fixture_lookup(&fx, subject, timestamp, INT64_MAX, &found);

    ck_assert_int_eq(rc, offset == NONE ? KL_EEND : 0);
    ck_assert_msg(found == offset, "time %lld: offset %lld, not %lld",
                  (long long)timestamp, (long long)found, (long long)offset);
}

/* Settled, in part only pending, and after a reopening. */
enum { SETTLED, PENDING, CRASHED, STOPPED, STATES };

static void reach(int state)
{
    if (state == PENDING)
        return;
    store_fixture_settle(&fx);
    if (state == CRASHED)
        store_fixture_crash(&fx);
    if (state == STOPPED)
        store_fixture_close(&fx);
    if (state >= CRASHED)
        subject = store_fixture_reopen(&fx, &id);
}

START_TEST(lookup_exact_between_before_after)
{
    fill(RECORDS / 2, 1000, 10);
    store_fixture_settle(&fx);
    fill(RECORDS / 2, 1000 + RECORDS / 2 * 10, 10);
    reach(_i);
    check_found(INT64_MIN, 0);
    check_found(0, 0);
    for (int64_t i = 0; i < RECORDS; i++) {
        check_found(1000 + i * 10, i);
        check_found(1000 + i * 10 - 1, i);
        check_found(1000 + i * 10 - 9, i);
    }
    check_found(1000 + RECORDS * 10 - 9, NONE);
    check_found(INT64_MAX, NONE);
}
END_TEST

START_TEST(lookup_in_runs_of_equal_timestamps)
{
    for (int i = 0; i < 6; i++)
        fill(10, 100 * i, 0);
    reach(_i);
    for (int i = 0; i < 6; i++) {
        check_found(100 * i, i * 10);
        check_found(100 * i - 1, i * 10);
    }
    check_found(501, NONE);
}
END_TEST

/* The first record, in the order of offsets, that is not before the time. */
START_TEST(lookup_out_of_order)
{
    static const int64_t times[] = {50, 40, 90, 10, 20, 95, 60, 5, 91, 100, 1};
    enum { COUNT = sizeof times / sizeof *times };

    for (int round = 0; round < 6; round++)
        for (int i = 0; i < COUNT; i++)
            fill(1, times[i], 0);
    reach(_i);
    for (int64_t t = 0; t <= 101; t++) {
        int64_t want = NONE;

        for (int i = COUNT - 1; i >= 0; i--)
            if (times[i] >= t)
                want = i;
        check_found(t, want);
    }
}
END_TEST

START_TEST(lookup_inside_batches)
{
    for (int i = 0; i < 12; i++) /* times i * 100 … i * 100 + 9 */
        ck_assert_int_eq(
            store_fixture_append(&fx, subject, 10, 100, 1, 0, i * 100), 0);
    reach(_i);
    for (int i = 0; i < 12; i++) {
        check_found(i * 100 + 5, i * 10 + 5);
        check_found(i * 100 + 10, i == 11 ? NONE : i * 10 + 10);
    }
}
END_TEST

/* ---- codecs
 * -------------------------------------------------------------------- */

static void append_compressed(int16_t codec, int64_t first)
{
    struct kl_batch_builder b;
    struct kl_base_chunk *chunk;
    uint8_t value[500] = {0};

    kl_batch_builder_init(&b, &fx.alloc.alloc);
    for (int i = 0; i < 50; i++) {
        struct kl_batch_input in = {
            .timestamp = first + i, .value = value, .value_size = sizeof value};

        ck_assert_int_eq(kl_batch_builder_append(&b, 1 << 20, 1024, &in), 0);
    }
    ck_assert_int_eq(
        kl_batch_builder_finish(&b, kl_store_log_seed(subject), codec, &chunk),
        0);
    kl_batch_frame_stamp(chunk->data, kl_store_log_seed(subject),
                         store_fixture_view(subject).leo, 0);
    ck_assert_uint_lt(chunk->size, 5000);
    ck_assert_int_eq(kl_store_append(subject, chunk), 0);
}

static int codec_is_there(const char *name, enum kl_batch_codec *codec)
{
    return kl_batch_codec_by_name(name, codec) == 0;
}

START_TEST(lookup_inside_compressed_batches)
{
    static const char *const names[] = {"lz4", "zstd"};
    enum kl_batch_codec codec;

    for (int i = 0; i < 2; i++) {
        if (!codec_is_there(names[i], &codec))
            continue;
        for (int k = 0; k < 5; k++)
            append_compressed((int16_t)codec, k * 100);
        reach(_i);
        for (int k = 0; k < 5; k++) {
            check_found(k * 100 + 33, k * 50 + 33);
            check_found(k * 100 + 50, k == 4 ? NONE : k * 50 + 50);
        }
        teardown();
        setup();
    }
}
END_TEST

/* ---- what does not count
 * ---------------------------------------------------------- */

START_TEST(lookup_below_the_start)
{
    fill(20, 500, -10); /* falling: the first one is the newest */
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_set_start(subject, 7), 0);
    reach(_i);
    check_found(0, 7);
    check_found(430, 7);
    check_found(431, NONE);
    check_found(500, NONE);
}
END_TEST

START_TEST(lookup_above_the_end)
{
    int64_t found;

    fill(20, 100, 10);
    reach(_i);
    ck_assert_int_eq(store_fixture_lookup(&fx, subject, 150, 6, &found), 0);
    ck_assert_int_eq(found, 5);
    ck_assert_int_eq(store_fixture_lookup(&fx, subject, 150, 5, &found),
                     KL_EEND);
    ck_assert_int_eq(store_fixture_lookup(&fx, subject, 150, 0, &found),
                     KL_EEND);
}
END_TEST

START_TEST(lookup_after_a_truncation)
{
    fill(20, 100, 10);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_truncate(subject, 8), 0);
    store_fixture_settle(&fx);
    check_found(170, 7);
    check_found(171, NONE);
    fill(5, 1000, 10);
    reach(_i);
    check_found(171, 8);
    check_found(1000, 8);
    check_found(1011, 10);
}
END_TEST

START_TEST(lookup_in_an_empty_log)
{
    check_found(0, NONE);
    fill(10, 100, 10);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_set_start(subject, 10), 0);
    reach(_i);
    check_found(0, NONE);
    ck_assert_int_eq(kl_store_truncate(subject, 10), 0);
    check_found(100, NONE);
}
END_TEST

/* ---- while the log changes
 * ------------------------------------------------------- */

START_TEST(lookup_of_a_log_that_changes)
{
    int finished = 0;
    struct kl_store_lookup lookup = {
        .timestamp = 250, .end = INT64_MAX, .user = &finished};

    fill(20, 100, 10);
    reach(_i / 3 ? STOPPED : SETTLED);
    lookup.log = subject;
    ck_assert_int_eq(kl_store_lookup(&lookup), KL_EAGAIN);
    if (_i % 3 == 0)
        ck_assert_int_eq(kl_store_delete(subject), 0);
    if (_i % 3 == 1)
        ck_assert_int_eq(kl_store_truncate(subject, 3), 0);
    if (_i % 3 == 2)
        ck_assert_int_eq(kl_store_truncate(subject, 16), 0);
    for (int i = 0; i < 300 && !finished; i++)
        store_fixture_turn(&fx);
    ck_assert(finished);
    ck_assert_int_eq(lookup.code, _i % 3 == 0   ? KL_ECLOSED
                                  : _i % 3 == 1 ? KL_EEND
                                                : 0);
    if (_i % 3 == 2)
        ck_assert_int_eq(lookup.found_offset, 15);
    if (_i % 3 == 0) {
        for (int i = 0; i < 5; i++)
            store_fixture_settle(&fx);
    }
}
END_TEST

/* Entries go from memory to the segment while it is searched, which reaches
 * the timestamp only below the start. */
START_TEST(lookup_while_entries_go_to_the_segment)
{
    fill(1, 500, 0);
    fill(1, 100, 0);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_set_start(subject, 1), 0);
    store_fixture_settle(&fx);
    for (int turns = 0; turns < 12; turns++) {
        fill(1, 300 + turns, 0);
        for (int i = 0; i < turns; i++)
            store_fixture_turn(&fx);
        check_found(300 + turns, 2 + turns);
        store_fixture_settle(&fx);
    }
}
END_TEST

START_TEST(lookup_of_a_log_that_is_deleted_already)
{
    struct kl_store_lookup lookup = {.log = subject, .end = INT64_MAX};

    ck_assert_int_eq(kl_store_delete(subject), 0);
    ck_assert_int_eq(kl_store_lookup(&lookup), 0);
    ck_assert_int_eq(lookup.code, KL_ECLOSED);
}
END_TEST

START_TEST(lookup_with_faults)
{
    for (uint64_t n = 1;; n++) {
        uint64_t failed;
        int64_t found;
        int code;

        teardown();
        setup();
        fill(30, 100, 10);
        reach(STOPPED);
        if (_i)
            fail_alloc_arm(&fx.alloc, n);
        else
            trace_vfs_fail(&fx.trace, TRACE_VFS_ANY, n, KL_EIO);
        code = store_fixture_lookup(&fx, subject, 255, INT64_MAX, &found);
        failed = _i ? fx.alloc.failed : trace_vfs_failed(&fx.trace);
        fail_alloc_arm(&fx.alloc, 0);
        trace_vfs_heal(&fx.trace);
        if (code)
            ck_assert_int_eq(code, _i ? KL_ENOMEM : KL_EIO);
        else
            ck_assert_int_eq(found, 16);
        check_found(255, 16);
        if (!failed)
            break;
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

Suite *suite_store_lookup(void);

Suite *suite_store_lookup(void)
{
    Suite *suite = suite_create("store_lookup");
    TCase *t = tcase_create("lookup");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, lookup_exact_between_before_after, 0, STATES);
    tcase_add_loop_test(t, lookup_in_runs_of_equal_timestamps, 0, STATES);
    tcase_add_loop_test(t, lookup_out_of_order, 0, STATES);
    tcase_add_loop_test(t, lookup_inside_batches, 0, STATES);
    tcase_add_loop_test(t, lookup_inside_compressed_batches, 0, STATES);
    tcase_add_loop_test(t, lookup_below_the_start, 0, STATES);
    tcase_add_loop_test(t, lookup_above_the_end, 0, STATES);
    tcase_add_loop_test(t, lookup_after_a_truncation, 0, STATES);
    tcase_add_loop_test(t, lookup_in_an_empty_log, 0, STATES);
    tcase_add_loop_test(t, lookup_of_a_log_that_changes, 0, 6);
    tcase_add_test(t, lookup_while_entries_go_to_the_segment);
    tcase_add_test(t, lookup_of_a_log_that_is_deleted_already);
    tcase_add_loop_test(t, lookup_with_faults, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
