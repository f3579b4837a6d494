/*
 * Where a consumer stands: every way through the phases.
 */
#include "pubsub/pubsub.h"

#include <check.h>
#include <kraftlog/client.h>
#include <kraftlog/error.h>

static struct kl_pubsub_position p;

/* A position that has looked its place up in a log of [start, end). */
static void begin(int64_t spec, int64_t start, int64_t end,
                  enum kl_pubsub_reset reset)
{
    kl_pubsub_position_init(&p, reset, 2);
    kl_pubsub_seek(&p, spec, 0);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    kl_pubsub_looked_up(&p, KL_OK, spec == KL_OFFSET_BEGIN ? start : end, start,
                        end);
}

static void want_fetch(int64_t offset)
{
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_FETCH);
    ck_assert_int_eq(p.fetch_offset, offset);
}

START_TEST(want_fetches_ahead)
{
    begin(KL_OFFSET_BEGIN, 5, 100, KL_PUBSUB_RESET_NONE);
    ck_assert_int_eq(p.position, 5);
    want_fetch(5);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 20, 5, 100), 1);
    ck_assert(kl_pubsub_position_due(&p));
    want_fetch(20);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 40, 5, 100), 1);
    /* Two wait: no more until one is given out. */
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    ck_assert_int_eq(p.position, 5);
    kl_pubsub_gave(&p, 20);
    ck_assert_int_eq(p.position, 20);
    want_fetch(40);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 60, 5, 100), 1);
    kl_pubsub_gave(&p, 40);
    kl_pubsub_gave(&p, 60);
    ck_assert(!kl_pubsub_position_due(&p));
    ck_assert_int_eq(p.position, 60);
}
END_TEST

/* Behind damage is where the answer says, behind other errors where it was. */
START_TEST(damage_has_an_end)
{
    begin(KL_OFFSET_BEGIN, 5, 100, KL_PUBSUB_RESET_NONE);
    want_fetch(5);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_ECORRUPT, 20, 5, 100), 0);
    ck_assert(kl_pubsub_error_due(&p));
    ck_assert_int_eq(p.position, 5);
    ck_assert_int_eq(p.behind, 20);
    kl_pubsub_seek(&p, 20, 0);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    kl_pubsub_looked_up(&p, KL_OK, 20, 5, 100);
    want_fetch(20);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_EIO, 0, 5, 100), 0);
    ck_assert_int_eq(p.behind, 20);
}
END_TEST

START_TEST(end_is_told_once_per_arrival)
{
    begin(KL_OFFSET_END, 0, 10, KL_PUBSUB_RESET_NONE);
    ck_assert(kl_pubsub_end_due(&p));
    kl_pubsub_tell_end(&p);
    ck_assert(!kl_pubsub_position_due(&p));
    want_fetch(10);
    ck_assert(!kl_pubsub_position_due(&p));
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 12, 0, 12), 1);
    /* Not before what is ready is given out. */
    ck_assert(!kl_pubsub_end_due(&p));
    ck_assert(kl_pubsub_position_due(&p));
    kl_pubsub_gave(&p, 12);
    ck_assert(kl_pubsub_end_due(&p));
    kl_pubsub_tell_end(&p);
    ck_assert(!kl_pubsub_end_due(&p));
    /* Seeking there is another arrival. */
    kl_pubsub_seek(&p, 12, 0);
    ck_assert(!kl_pubsub_end_due(&p));
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    kl_pubsub_looked_up(&p, KL_OK, 12, 0, 12);
    ck_assert(kl_pubsub_end_due(&p));
}
END_TEST

START_TEST(looked_up_out_of_range)
{
    begin(50, 10, 40, KL_PUBSUB_RESET_NONE);
    ck_assert_int_eq(p.phase, KL_PUBSUB_STOPPED);
    ck_assert_int_eq(p.code, KL_EOFFSETRANGE);
    ck_assert_int_eq(p.position, 50);
    ck_assert(kl_pubsub_error_due(&p));
    kl_pubsub_tell_error(&p);
    ck_assert(!kl_pubsub_position_due(&p));
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    /* Just inside on both ends. */
    begin(40, 10, 40, KL_PUBSUB_RESET_NONE);
    want_fetch(40);
    begin(10, 10, 40, KL_PUBSUB_RESET_NONE);
    want_fetch(10);
    begin(9, 10, 40, KL_PUBSUB_RESET_NONE);
    ck_assert_int_eq(p.code, KL_EOFFSETRANGE);
}
END_TEST

START_TEST(looked_up_resets)
{
    begin(5, 10, 40, KL_PUBSUB_RESET_EARLIEST);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    ck_assert_int_eq(p.spec, KL_OFFSET_BEGIN);
    kl_pubsub_looked_up(&p, KL_OK, 10, 10, 40);
    ck_assert_int_eq(p.position, 10);
    want_fetch(10);
    begin(5, 10, 40, KL_PUBSUB_RESET_LATEST);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    ck_assert_int_eq(p.spec, KL_OFFSET_END);
    kl_pubsub_looked_up(&p, KL_OK, 40, 10, 40);
    want_fetch(40);
}
END_TEST

START_TEST(fetched_out_of_range_gives_out_what_is_ready)
{
    begin(KL_OFFSET_BEGIN, 0, 100, KL_PUBSUB_RESET_EARLIEST);
    want_fetch(0);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 10, 0, 100), 1);
    want_fetch(10);
    /* Meanwhile retention has passed it. */
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_EOFFSETRANGE, 0, 50, 100), 0);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    kl_pubsub_looked_up(&p, KL_OK, 50, 50, 100);
    ck_assert_int_eq(p.position, 0);
    want_fetch(50);
    kl_pubsub_gave(&p, 10);
    ck_assert_int_eq(p.position, 50);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 60, 50, 100), 1);
    kl_pubsub_gave(&p, 60);
    ck_assert_int_eq(p.position, 60);
}
END_TEST

START_TEST(fetched_error_stops_after_what_is_ready)
{
    begin(KL_OFFSET_BEGIN, 0, 100, KL_PUBSUB_RESET_EARLIEST);
    want_fetch(0);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 10, 0, 100), 1);
    want_fetch(10);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_ECORRUPT, 0, 0, 100), 0);
    ck_assert(!kl_pubsub_error_due(&p));
    kl_pubsub_gave(&p, 10);
    ck_assert(kl_pubsub_error_due(&p));
    ck_assert_int_eq(p.code, KL_ECORRUPT);
    ck_assert_int_eq(p.position, 10);
    kl_pubsub_tell_error(&p);
    ck_assert(!kl_pubsub_error_due(&p));
    /* Behind the damage. */
    kl_pubsub_seek(&p, 11, 0);
    ck_assert(!kl_pubsub_position_due(&p));
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    kl_pubsub_looked_up(&p, KL_OK, 100, 0, 100);
    want_fetch(11);
}
END_TEST

START_TEST(seek_makes_answers_stale)
{
    begin(KL_OFFSET_BEGIN, 0, 100, KL_PUBSUB_RESET_NONE);
    want_fetch(0);
    kl_pubsub_seek(&p, 70, 0);
    ck_assert_int_eq(p.position, 70);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_CANCEL);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    /* It had its records already: dropped. */
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 10, 0, 100), 0);
    ck_assert_uint_eq(p.ready, 0);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    /* A look-up is not canceled, its answer is dropped. */
    kl_pubsub_seek(&p, KL_OFFSET_TIMESTAMP, 1234);
    ck_assert(!p.resolved);
    ck_assert_int_eq(p.position, -1);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    kl_pubsub_looked_up(&p, KL_OK, 100, 0, 100);
    ck_assert(!p.resolved);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    ck_assert_int_eq(p.timestamp, 1234);
    kl_pubsub_looked_up(&p, KL_OK, 42, 0, 100);
    ck_assert(p.resolved);
    want_fetch(42);
    /* An error of something stale stops nothing. */
    kl_pubsub_seek(&p, 0, 0);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_EIO, 0, 0, 0), 0);
    ck_assert_int_eq(p.phase, KL_PUBSUB_UNRESOLVED);
}
END_TEST

START_TEST(pause_holds_back)
{
    begin(KL_OFFSET_BEGIN, 0, 10, KL_PUBSUB_RESET_NONE);
    want_fetch(0);
    p.paused = 1;
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 10, 0, 10), 1);
    ck_assert(!kl_pubsub_position_due(&p));
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_NOTHING);
    p.paused = 0;
    ck_assert(kl_pubsub_position_due(&p));
    kl_pubsub_gave(&p, 10);
    p.paused = 1;
    ck_assert(!kl_pubsub_position_due(&p));
    p.paused = 0;
    ck_assert(kl_pubsub_end_due(&p));
}
END_TEST

START_TEST(fetched_canceled_is_asked_again)
{
    begin(KL_OFFSET_BEGIN, 0, 10, KL_PUBSUB_RESET_NONE);
    want_fetch(0);
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_ECANCELED, 0, 0, 0), 0);
    want_fetch(0);
    /* Neither does a fetch without progress count. */
    ck_assert_int_eq(kl_pubsub_fetched(&p, KL_OK, 0, 0, 10), 0);
    want_fetch(0);
}
END_TEST

START_TEST(looked_up_error_stops)
{
    kl_pubsub_position_init(&p, KL_PUBSUB_RESET_EARLIEST, 1);
    ck_assert_int_eq(kl_pubsub_want(&p), KL_PUBSUB_WANT_LOOKUP);
    kl_pubsub_looked_up(&p, KL_ENOTOPIC, -1, -1, -1);
    ck_assert(kl_pubsub_error_due(&p));
    ck_assert_int_eq(p.code, KL_ENOTOPIC);
    ck_assert(!p.resolved);
}
END_TEST

Suite *suite_pubsub_position(void);

Suite *suite_pubsub_position(void)
{
    Suite *suite = suite_create("pubsub_position");
    TCase *tc = tcase_create("position");

    tcase_add_test(tc, want_fetches_ahead);
    tcase_add_test(tc, end_is_told_once_per_arrival);
    tcase_add_test(tc, looked_up_out_of_range);
    tcase_add_test(tc, looked_up_resets);
    tcase_add_test(tc, fetched_out_of_range_gives_out_what_is_ready);
    tcase_add_test(tc, fetched_error_stops_after_what_is_ready);
    tcase_add_test(tc, seek_makes_answers_stale);
    tcase_add_test(tc, damage_has_an_end);
    tcase_add_test(tc, pause_holds_back);
    tcase_add_test(tc, fetched_canceled_is_asked_again);
    tcase_add_test(tc, looked_up_error_stops);
    suite_add_tcase(suite, tc);
    return suite;
}
