/*
 * Requests and waiting, across threads.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>

enum { THREADS = 4, REQUESTS = 500 };

struct counted
{
    struct kl_runtime_request base;
    int thread;
    int number;
};

static struct node_fixture f;
static struct counted requests[THREADS][REQUESTS];
static int next_number[THREADS];
static atomic_int count;
static int last_closed;
static int in_order;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
    atomic_store(&count, 0);
    in_order = 1;
    for (int i = 0; i < THREADS; i++)
        next_number[i] = 0;
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static void counted_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                        int closed)
{
    struct counted *c = (struct counted *)r;

    in_order &= next_number[c->thread]++ == c->number;
    last_closed = closed;
    atomic_fetch_add(&count, 1);
    kl_runtime_notify(n);
}

static void submit_numbered(int thread, int number)
{
    struct counted *c = &requests[thread][number];

    c->thread = thread;
    c->number = number;
    c->base.run = counted_run;
    kl_runtime_submit(f.n, &c->base);
}

static int all_ready(void *arg)
{
    return atomic_load(&count) == *(int *)arg;
}

START_TEST(submit_keeps_order)
{
    for (int i = 0; i < 10; i++)
        submit_numbered(0, i);
    node_fixture_until(&f, atomic_load(&count) == 10);
    ck_assert_int_eq(in_order, 1);
    ck_assert_int_eq(last_closed, 0);
}
END_TEST

static void submitter_main(void *user)
{
    int thread = (int)(intptr_t)user;
    int wanted = THREADS * REQUESTS;

    for (int i = 0; i < REQUESTS; i++)
        submit_numbered(thread, i);
    if (kl_runtime_wait(f.n, all_ready, &wanted, -1))
        in_order = 0;
}

START_TEST(submit_from_many_threads)
{
    struct kl_os_thread threads[THREADS];
    int wanted = THREADS * REQUESTS;

    /* Threads for files, so that the node really sleeps. */
    node_fixture_stop(&f);
    f.options.lanes = NULL; /* threads */
    node_fixture_open(&f);
    ck_assert_int_eq(kl_runtime_start(f.n), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(kl_os_thread_start(&threads[i], submitter_main,
                                            (void *)(intptr_t)i, "test"),
                         0);
    for (int i = 0; i < THREADS; i++)
        kl_os_thread_join(&threads[i]);
    ck_assert_int_eq(atomic_load(&count), wanted);
    ck_assert_int_eq(in_order, 1);
}
END_TEST

START_TEST(submit_to_closed_node)
{
    struct kl_runtime_node *n = f.n;

    kl_runtime_ref(n);
    node_fixture_stop(&f);
    f.n = n;
    submit_numbered(0, 0);
    ck_assert_int_eq(atomic_load(&count), 1);
    ck_assert_int_eq(last_closed, 1);
    f.n = NULL;
    kl_runtime_unref(n);
}
END_TEST

START_TEST(submit_to_a_node_never_opened)
{
    struct kl_runtime_node *n;

    node_fixture_stop(&f);
    ck_assert_int_eq(kl_runtime_new(&n, &f.options), 0);
    kl_runtime_ref(n);
    ck_assert_int_eq(kl_runtime_close(n), 0);
    f.n = n;
    submit_numbered(0, 0);
    f.n = NULL;
    ck_assert_int_eq(last_closed, 1);
    kl_runtime_unref(n);
}
END_TEST

START_TEST(submit_before_stop_is_run)
{
    submit_numbered(0, 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(atomic_load(&count), 1);
    ck_assert_int_eq(last_closed, 0);
}
END_TEST

START_TEST(wait_by_owner_polls)
{
    int wanted = 3;

    for (int i = 0; i < 3; i++)
        submit_numbered(0, i);
    ck_assert_int_eq(kl_runtime_wait(f.n, all_ready, &wanted, -1), 0);
}
END_TEST

START_TEST(wait_ready_needs_no_node)
{
    int wanted = 0;

    node_fixture_stop(&f);
    ck_assert_int_eq(kl_runtime_new(&f.n, &f.options), 0);
    ck_assert_int_eq(kl_runtime_wait(f.n, all_ready, &wanted, -1), 0);
    wanted = 1;
    ck_assert_int_eq(kl_runtime_wait(f.n, all_ready, &wanted, 0), KL_ESTATE);
}
END_TEST

START_TEST(wait_on_closed_node)
{
    int wanted = 1;

    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(kl_runtime_wait(f.n, all_ready, &wanted, -1), KL_ECLOSED);
}
END_TEST

Suite *suite_runtime_submit(void);

Suite *suite_runtime_submit(void)
{
    Suite *s = suite_create("runtime_submit");
    TCase *t = tcase_create("submit");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, submit_keeps_order);
    tcase_add_test(t, submit_from_many_threads);
    tcase_add_test(t, submit_to_closed_node);
    tcase_add_test(t, submit_to_a_node_never_opened);
    tcase_add_test(t, submit_before_stop_is_run);
    tcase_add_test(t, wait_by_owner_polls);
    tcase_add_test(t, wait_ready_needs_no_node);
    tcase_add_test(t, wait_on_closed_node);
    suite_add_tcase(s, t);
    return s;
}
