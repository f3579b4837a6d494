/*
 * Retention: whole sealed segments, by bytes and by age, and delete-before.
 */
#include "store_fixture.h"

#include <check.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

enum { PER_SEGMENT = 5, SEGMENTS = 8, SECOND = 1000 };

static void pass_time(int64_t ms)
{
    fx.now_ns += ms * 1000000;
    fx.wall_ms += ms;
    store_fixture_settle(&fx);
}

/* SEGMENTS segments with a minute between them. */
static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = 1 << 20;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < SEGMENTS; i++) {
        store_fixture_fill(&fx, subject, PER_SEGMENT, 700, 1);
        store_fixture_settle(&fx);
        pass_time(60 * SECOND);
    }
    ck_assert_uint_eq(subject->files->count, SEGMENTS);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static void configure(int64_t retention_ms, int64_t retention_bytes)
{
    struct kl_store_log_config config = subject->config;

    config.retention_ms = retention_ms;
    config.retention_bytes = retention_bytes;
    kl_store_log_configure(subject, &config);
}

static int64_t start(void)
{
    return store_fixture_view(subject).start;
}

START_TEST(by_bytes)
{
    uint64_t all = store_fixture_view(subject).size;
    uint64_t one = all / SEGMENTS;

    configure(-1, (int64_t)all);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), 0);
    configure(-1, (int64_t)(all - one + 1)); /* one less would be too few */
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), 0);
    configure(-1, (int64_t)(all - one));
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), PER_SEGMENT);
    configure(-1, (int64_t)(3 * one));
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), PER_SEGMENT * (SEGMENTS - 3));
    ck_assert_uint_eq(store_fixture_view(subject).size, 3 * one);
    store_fixture_expect(&fx, subject, start(), PER_SEGMENT * SEGMENTS, 700, 1);
}
END_TEST

START_TEST(by_age)
{
    /* The segments are 1, 2, … minutes old. */
    configure((SEGMENTS + 1) * 60 * SECOND, -1);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), 0);
    configure((SEGMENTS - 2) * 60 * SECOND, -1);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), 3 * PER_SEGMENT);
    pass_time(50 * SECOND);
    pass_time(20 * SECOND);
    ck_assert_int_eq(start(), 4 * PER_SEGMENT);
}
END_TEST

/* Not the producer's timestamps, which may be of any century. */
START_TEST(by_age_of_arrival)
{
    for (int i = 0; i < 3 * PER_SEGMENT; i++) {
        ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 700, 1, 0,
                                              i % 2 ? 1 : 1LL << 50),
                         0);
        store_fixture_settle(&fx);
    }
    configure(30 * SECOND, -1);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), SEGMENTS * PER_SEGMENT);
}
END_TEST

START_TEST(never_the_active_segment)
{
    configure(0, 0);
    for (int i = 0; i < 5; i++)
        pass_time(50 * SECOND);
    ck_assert_int_eq(start(), (SEGMENTS - 1) * PER_SEGMENT);
    ck_assert_uint_eq(subject->files->count, 1);
    store_fixture_expect(&fx, subject, start(), SEGMENTS * PER_SEGMENT, 700, 1);
}
END_TEST

START_TEST(unlimited_deletes_nothing)
{
    for (int i = 0; i < 100; i++)
        pass_time(50 * SECOND);
    ck_assert_int_eq(start(), 0);
}
END_TEST

START_TEST(files_go_and_the_start_survives)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_event event;
    int started = 0;

    kl_store_path_segment(subject, 0, "seg", path);
    configure(-1, 1);
    fx.now_ns += 2000000000;
    fx.wall_ms += 2000;
    for (int i = 0; i < 20; i++) {
        fx.now_ns += 1000000;
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
        while (kl_store_next_event(fx.store, &event))
            if (event.type == KL_STORE_EVENT_STARTED) {
                ck_assert_ptr_eq(event.log, subject);
                started++;
            }
    }
    ck_assert_int_eq(started, 1);
    for (int i = 0; i < 5; i++)
        pass_time(SECOND);
    ck_assert(!store_fixture_exists(&fx, path));
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(start(), (SEGMENTS - 1) * PER_SEGMENT);
}
END_TEST

/* A log that nobody has used since the opening is looked at all the same. */
START_TEST(cold_log)
{
    store_fixture_close(&fx);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_ptr_null(subject->files);
    configure(-1, 1);
    pass_time(2 * SECOND);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), (SEGMENTS - 1) * PER_SEGMENT);
}
END_TEST

/* ---- delete-before
 * ----------------------------------------------------------- */

START_TEST(delete_before_inside_a_batch)
{
    struct kl_store_read read;
    int64_t leo = SEGMENTS * PER_SEGMENT;

    ck_assert_int_eq(
        store_fixture_append(&fx, subject, 10, 50, 7, 0, fx.wall_ms), 0);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_set_start(subject, leo + 4), 0);
    store_fixture_settle(&fx);
    for (int twice = 0; twice < 2; twice++) {
        struct kl_batch_info info;

        store_fixture_read(&fx, subject, leo + 3, leo + 10, 1000, &read);
        ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
        store_fixture_read(&fx, subject, leo + 4, leo + 10, 1000, &read);
        ck_assert_int_eq(read.code, 0);
        ck_assert_uint_eq(read.slice_count, 1);
        ck_assert_int_eq(
            kl_batch_frame_verify(read.slices[0].data, read.slices[0].size,
                                  kl_store_log_seed(subject), &info),
            0);
        ck_assert_int_eq(info.base_offset, leo);
        kl_store_read_release(&read);
        store_fixture_crash(&fx);
        subject = store_fixture_reopen(&fx, &id);
        ck_assert_int_eq(start(), leo + 4);
    }
}
END_TEST

START_TEST(delete_before_never_above_the_durable_end)
{
    int64_t leo = SEGMENTS * PER_SEGMENT;

    store_fixture_fill(&fx, subject, 1, 700, 1);
    ck_assert_int_eq(kl_store_set_start(subject, leo + 1), KL_EOFFSETRANGE);
    ck_assert_int_eq(kl_store_set_start(subject, leo), 0);
    ck_assert_int_eq(start(), leo);
    ck_assert_int_eq(store_fixture_view(subject).durable_start, 0);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).durable_start, leo);
    ck_assert_int_eq(kl_store_set_start(subject, leo + 1), 0);
    store_fixture_settle(&fx);
    ck_assert_int_eq(start(), leo + 1);
}
END_TEST

/* ---- the clock
 * ---------------------------------------------------------------- */

START_TEST(jump_forward_deletes_one_segment_per_pass)
{
    configure((SEGMENTS + 5) * 60 * SECOND, -1);
    pass_time(2 * SECOND);
    fx.wall_ms += 365LL * 24 * 3600 * SECOND;
    fx.now_ns += 2000000000;
    store_fixture_turn(&fx);
    ck_assert_int_eq(start(), 0); /* the jump itself: nothing */
    store_fixture_settle(&fx);
    for (int i = 1; i < SEGMENTS; i++) {
        fx.now_ns += 1000000000;
        fx.wall_ms += 1000;
        store_fixture_turn(&fx);
        ck_assert_int_eq(start(), i * PER_SEGMENT);
        store_fixture_settle(&fx);
    }
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), (SEGMENTS - 1) * PER_SEGMENT);
}
END_TEST

/* The clock is put right before much is lost. */
START_TEST(jump_forward_and_back)
{
    configure((SEGMENTS + 5) * 60 * SECOND, -1);
    pass_time(2 * SECOND);
    fx.wall_ms += 365LL * 24 * 3600 * SECOND;
    pass_time(2 * SECOND);
    fx.wall_ms -= 365LL * 24 * 3600 * SECOND;
    pass_time(2 * SECOND);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), 0);
}
END_TEST

START_TEST(jump_back_deletes_nothing)
{
    configure(30 * SECOND, -1);
    fx.wall_ms -= 3600 * SECOND;
    pass_time(2 * SECOND);
    pass_time(2 * SECOND);
    ck_assert_int_eq(start(), 0);
}
END_TEST

Suite *suite_store_retain(void);

Suite *suite_store_retain(void)
{
    Suite *suite = suite_create("store_retain");
    TCase *t = tcase_create("retain");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, by_bytes);
    tcase_add_test(t, by_age);
    tcase_add_test(t, by_age_of_arrival);
    tcase_add_test(t, never_the_active_segment);
    tcase_add_test(t, unlimited_deletes_nothing);
    tcase_add_test(t, files_go_and_the_start_survives);
    tcase_add_test(t, cold_log);
    tcase_add_test(t, delete_before_inside_a_batch);
    tcase_add_test(t, delete_before_never_above_the_durable_end);
    tcase_add_test(t, jump_forward_deletes_one_segment_per_pass);
    tcase_add_test(t, jump_forward_and_back);
    tcase_add_test(t, jump_back_deletes_nothing);
    suite_add_tcase(suite, t);
    return suite;
}
