/*
 * The end of a node: in order, by another thread, and as a crash.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>

static struct node_fixture f;
static struct kl_base_uuid topic;
static struct kl_os_thread thread;
static int thread_code;
static int fired;

static void setup(void)
{
    fired = 0;
    thread_code = 1;
    node_fixture_init(&f);
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 1, NULL, NULL);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static void timer_fired(struct kl_runtime_node *n, struct kl_runtime_timer *t)
{
    (void)n;
    (void)t;
    fired++;
}

START_TEST(stop_twice)
{
    ck_assert_int_eq(kl_runtime_check(f.n), 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_STOPPED);
    ck_assert_int_eq(kl_runtime_check(f.n), KL_ECLOSED);
    ck_assert_int_eq(kl_runtime_stop(f.n, 0), 0);
}
END_TEST

START_TEST(stop_finishes_what_was_accepted)
{
    struct node_fixture_produce p;

    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 3, 1, 0));
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(p.done, 1);
    ck_assert_int_eq(p.base.code, 0);
    node_fixture_crash(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 1, 1), 3);
}
END_TEST

START_TEST(stop_fires_timers)
{
    struct kl_runtime_timer t = {.fire = timer_fired};

    kl_runtime_timer_init(&t);
    kl_runtime_timer_set(f.n, &t, INT64_MAX - 1);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(fired, 1);
    /* Still the memory of its owner, who may cancel it at any time. */
    kl_runtime_timer_cancel(f.n, &t);
}
END_TEST

START_TEST(stop_ends_a_parked_fetch)
{
    struct node_fixture_fetch r;

    node_fixture_fetch(&f, &r, &topic, 0, 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(r.done, 1);
    ck_assert_int_eq(r.base.read.code, KL_ECLOSED);
}
END_TEST

static void stop_main(void *user)
{
    (void)user;
    thread_code = kl_runtime_stop(f.n, -1);
}

START_TEST(stop_by_another_thread)
{
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(kl_os_thread_start(&thread, stop_main, NULL, "test"), 0);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(thread_code, 0);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), KL_EOWNER);
    ck_assert_int_eq(kl_runtime_stop(f.n, 0), 0);
}
END_TEST

START_TEST(stop_while_the_owner_sleeps)
{
    int r = 0;

    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(kl_os_thread_start(&thread, stop_main, NULL, "test"), 0);
    while (r == 0)
        r = kl_runtime_poll(f.n, 1000);
    ck_assert(r == KL_ECLOSED || r == KL_EOWNER);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(thread_code, 0);
}
END_TEST

START_TEST(stop_ends_the_thread)
{
    node_fixture_stop(&f);
    f.options.lanes = NULL; /* threads */
    node_fixture_open(&f);
    ck_assert_int_eq(kl_runtime_start(f.n), 0);
    ck_assert_int_eq(kl_os_thread_start(&thread, stop_main, NULL, "test"), 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(thread_code, 0);
}
END_TEST

/* Only one of the two gets the node. */
START_TEST(stop_against_start)
{
    int r;

    node_fixture_stop(&f);
    f.options.lanes = NULL; /* threads */
    node_fixture_open(&f);
    ck_assert_int_eq(kl_os_thread_start(&thread, stop_main, NULL, "test"), 0);
    r = kl_runtime_start(f.n);
    ck_assert(r == 0 || r == KL_ESTATE);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(thread_code, 0);
    ck_assert_int_eq(kl_runtime_start(f.n), KL_ESTATE);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
}
END_TEST

/* Both come back, and the node can be given up afterwards. */
START_TEST(stop_against_stop)
{
    ck_assert_int_eq(kl_os_thread_start(&thread, stop_main, NULL, "test"), 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(thread_code, 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
}
END_TEST

START_TEST(close_is_a_crash)
{
    struct node_fixture_produce p;
    struct node_fixture_fetch r;

    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 2, 1), 0);
    node_fixture_fetch(&f, &r, &topic, 0, 2);
    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 1, 1, 0));
    node_fixture_crash(&f);
    ck_assert_int_eq(p.done, 1);
    ck_assert(p.base.code == 0 || p.base.code == KL_EUNKNOWN);
    ck_assert_int_eq(r.done, 1);
    kl_store_read_release(&r.base.read);
    node_fixture_open(&f);
    ck_assert_int_ge(node_fixture_append(&f, &topic, 0, 1, 1), 2);
}
END_TEST

START_TEST(close_with_a_thread)
{
    node_fixture_stop(&f);
    f.options.lanes = NULL; /* threads */
    node_fixture_open(&f);
    ck_assert_int_eq(kl_runtime_start(f.n), 0);
    node_fixture_crash(&f);
    node_fixture_open(&f);
}
END_TEST

START_TEST(close_before_open)
{
    node_fixture_stop(&f);
    ck_assert_int_eq(kl_runtime_new(&f.n, &f.options), 0);
    ck_assert_int_eq(kl_runtime_check(f.n), KL_ESTATE);
    node_fixture_crash(&f);
}
END_TEST

Suite *suite_runtime_stop(void);

Suite *suite_runtime_stop(void)
{
    Suite *s = suite_create("runtime_stop");
    TCase *t = tcase_create("stop");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, stop_twice);
    tcase_add_test(t, stop_finishes_what_was_accepted);
    tcase_add_test(t, stop_fires_timers);
    tcase_add_test(t, stop_ends_a_parked_fetch);
    tcase_add_test(t, stop_by_another_thread);
    tcase_add_test(t, stop_while_the_owner_sleeps);
    tcase_add_test(t, stop_ends_the_thread);
    tcase_add_loop_test(t, stop_against_start, 0, 20);
    tcase_add_loop_test(t, stop_against_stop, 0, 20);
    tcase_add_test(t, close_is_a_crash);
    tcase_add_test(t, close_with_a_thread);
    tcase_add_test(t, close_before_open);
    suite_add_tcase(s, t);
    return s;
}
