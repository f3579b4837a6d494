/*
 * The loop: who may turn it, and how a host waits for it.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <poll.h>

static struct node_fixture f;
static struct kl_os_thread thread;
static int thread_code;
static atomic_int ran; /* also by the node's thread */

static void setup(void)
{
    ran = 0;
    node_fixture_init(&f);
    f.options.lanes = NULL; /* threads */
    node_fixture_open(&f);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static void poll_main(void *user)
{
    (void)user;
    thread_code = kl_runtime_poll(f.n, 0);
}

static void noted_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                      int closed)
{
    (void)r;
    (void)closed;
    ran++;
    kl_runtime_notify(n);
}

static struct kl_runtime_request noted = {.run = noted_run};

static void submit_main(void *user)
{
    (void)user;
    kl_runtime_submit(f.n, &noted);
}

static void in_thread(void (*fn)(void *user))
{
    ck_assert_int_eq(kl_os_thread_start(&thread, fn, NULL, "test"), 0);
    kl_os_thread_join(&thread);
}

static int is_readable(void)
{
    struct pollfd p = {.fd = kl_runtime_fd(f.n), .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* Nothing of the opening is under way any more. */
static void settle(void)
{
    int64_t ns = 0;

    do
        ck_assert_int_eq(kl_runtime_poll(f.n, 10), 0);
    while (kl_runtime_deadline(f.n, &ns) || ns == 0 || f.n->lanes_woken ||
           kl_base_stat_get(&f.n->stats.sleeps) < 3);
}

START_TEST(poll_by_another_thread)
{
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    in_thread(poll_main);
    ck_assert_int_eq(thread_code, KL_EOWNER);
}
END_TEST

static void step_main(void *user)
{
    (void)user;
    kl_runtime_step(f.n);
}

START_TEST(step_of_the_owner_alone)
{
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    kl_runtime_submit(f.n, &noted);
    in_thread(step_main);
    ck_assert_int_eq(ran, 0);
    kl_runtime_step(f.n);
    ck_assert_int_eq(ran, 1);
    /* The owner is outside again. */
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
}
END_TEST

START_TEST(poll_makes_the_owner)
{
    in_thread(poll_main);
    ck_assert_int_eq(thread_code, 0);
    ck_assert_int_eq(kl_runtime_start(f.n), KL_ESTATE);
}
END_TEST

START_TEST(poll_before_open_and_after_stop)
{
    int64_t ns;

    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_runtime_deadline(f.n, &ns), KL_ECLOSED);
    ck_assert_int_eq(kl_runtime_start(f.n), KL_ESTATE);
    node_fixture_crash(&f);
    ck_assert_int_eq(kl_runtime_new(&f.n, &f.options), 0);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), KL_ESTATE);
    ck_assert_int_eq(kl_runtime_deadline(f.n, &ns), KL_ESTATE);
    ck_assert_int_eq(kl_runtime_start(f.n), KL_ESTATE);
    ck_assert_int_eq(kl_runtime_stop(f.n, 0), KL_ESTATE);
}
END_TEST

static int nested_code;

static void nested_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                       int closed)
{
    (void)r;
    (void)closed;
    nested_code = kl_runtime_poll(n, 0);
    ck_assert_int_eq(kl_runtime_stop(n, 0), KL_EREENTRY);
    ck_assert_int_eq(kl_runtime_close(n), KL_EREENTRY);
    ran++;
}

START_TEST(poll_inside_poll)
{
    struct kl_runtime_request r = {.run = nested_run};

    kl_runtime_submit(f.n, &r);
    node_fixture_until(&f, ran);
    ck_assert_int_eq(nested_code, KL_EREENTRY);
}
END_TEST

START_TEST(descriptor_of_a_foreign_submit)
{
    int64_t ns;

    settle();
    ck_assert_int_eq(is_readable(), 0);
    in_thread(submit_main);
    ck_assert_int_eq(is_readable(), 1);
    ck_assert_int_eq(kl_runtime_deadline(f.n, &ns), 0);
    ck_assert_int_eq(ns, 0);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(ran, 1);
    ck_assert_int_eq(is_readable(), 0);
}
END_TEST

START_TEST(deadline_of_an_own_submit)
{
    int64_t ns = -1;

    settle();
    kl_runtime_submit(f.n, &noted);
    /* No system call for the owner itself. */
    ck_assert_int_eq(is_readable(), 0);
    ck_assert_int_eq(kl_runtime_deadline(f.n, &ns), 0);
    ck_assert_int_eq(ns, 0);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(ran, 1);
}
END_TEST

static void timer_fired(struct kl_runtime_node *n, struct kl_runtime_timer *t)
{
    (void)n;
    (void)t;
    ran++;
}

START_TEST(deadline_of_a_timer)
{
    struct kl_runtime_timer t = {.fire = timer_fired};
    int64_t ns = -1;

    settle();
    kl_runtime_timer_init(&t);
    kl_runtime_timer_set(f.n, &t, kl_runtime_now_ns(f.n) + 1000000);
    ck_assert_int_eq(kl_runtime_deadline(f.n, &ns), 0);
    ck_assert_int_ge(ns, 0);
    ck_assert_int_le(ns, 1000000);
    while (!ran)
        ck_assert_int_eq(kl_runtime_poll(f.n, -1), 0);
}
END_TEST

static int has_run(void *arg)
{
    (void)arg;
    return ran > 0;
}

START_TEST(start_owns_the_node)
{
    int64_t ns;

    ck_assert_int_eq(kl_runtime_start(f.n), 0);
    ck_assert_int_eq(kl_runtime_start(f.n), KL_ESTATE);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), KL_EOWNER);
    ck_assert_int_eq(kl_runtime_deadline(f.n, &ns), KL_EOWNER);
    kl_runtime_submit(f.n, &noted);
    ck_assert_int_eq(kl_runtime_wait(f.n, has_run, NULL, -1), 0);
}
END_TEST

Suite *suite_runtime_loop(void);

Suite *suite_runtime_loop(void)
{
    Suite *s = suite_create("runtime_loop");
    TCase *t = tcase_create("loop");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, poll_by_another_thread);
    tcase_add_test(t, step_of_the_owner_alone);
    tcase_add_test(t, poll_makes_the_owner);
    tcase_add_test(t, poll_before_open_and_after_stop);
    tcase_add_test(t, poll_inside_poll);
    tcase_add_test(t, descriptor_of_a_foreign_submit);
    tcase_add_test(t, deadline_of_an_own_submit);
    tcase_add_test(t, deadline_of_a_timer);
    tcase_add_test(t, start_owns_the_node);
    suite_add_tcase(s, t);
    return s;
}
