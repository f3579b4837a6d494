/*
 * Deadlines.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>

static struct node_fixture f;
static struct kl_runtime_timer timers[4];
static char fired[16];
static int fired_count;
static int64_t again_ns;

static void timer_fired(struct kl_runtime_node *n, struct kl_runtime_timer *t)
{
    fired[fired_count++] = (char)('a' + (t - timers));
    if (again_ns)
        kl_runtime_timer_set(n, t, again_ns);
}

static void setup(void)
{
    node_fixture_init(&f);
    ck_assert_int_eq(kl_runtime_new(&f.n, &f.options), 0);
    fired_count = 0;
    again_ns = 0;
    for (int i = 0; i < 4; i++) {
        kl_runtime_timer_init(&timers[i]);
        timers[i].fire = timer_fired;
    }
}

static void teardown(void)
{
    kl_runtime_timers_clear(f.n);
    node_fixture_deinit(&f);
}

static void check_fired(const char *letters)
{
    fired[fired_count] = 0;
    ck_assert_str_eq(fired, letters);
}

START_TEST(fire_earliest_first)
{
    kl_runtime_timer_set(f.n, &timers[0], 30);
    kl_runtime_timer_set(f.n, &timers[1], 10);
    kl_runtime_timer_set(f.n, &timers[2], 20);
    kl_runtime_timer_set(f.n, &timers[3], 20);
    ck_assert_int_eq(kl_runtime_timers_deadline(f.n), 10);
    ck_assert_int_eq(kl_runtime_timers_fire(f.n, 9), 0);
    ck_assert_int_eq(kl_runtime_timers_fire(f.n, 20), 1);
    check_fired("bcd");
    ck_assert_int_eq(kl_runtime_timers_deadline(f.n), 30);
    ck_assert_int_eq(kl_runtime_timers_fire(f.n, 30), 1);
    check_fired("bcda");
    ck_assert_int_eq(kl_runtime_timers_deadline(f.n), INT64_MAX);
}
END_TEST

START_TEST(set_again_moves)
{
    kl_runtime_timer_set(f.n, &timers[0], 30);
    kl_runtime_timer_set(f.n, &timers[1], 40);
    kl_runtime_timer_set(f.n, &timers[0], 50);
    kl_runtime_timers_fire(f.n, 45);
    check_fired("b");
    kl_runtime_timer_set(f.n, &timers[0], 46);
    kl_runtime_timers_fire(f.n, 46);
    check_fired("ba");
}
END_TEST

START_TEST(cancel_takes_out)
{
    kl_runtime_timer_set(f.n, &timers[0], 30);
    kl_runtime_timer_cancel(f.n, &timers[0]);
    kl_runtime_timer_cancel(f.n, &timers[0]);
    ck_assert_int_eq(kl_runtime_timers_fire(f.n, 100), 0);
}
END_TEST

START_TEST(fire_once_a_turn)
{
    again_ns = 5;
    kl_runtime_timer_set(f.n, &timers[0], 1);
    kl_runtime_timers_fire(f.n, 10);
    check_fired("a");
    kl_runtime_timers_fire(f.n, 10);
    check_fired("aa");
}
END_TEST

Suite *suite_runtime_timers(void);

Suite *suite_runtime_timers(void)
{
    Suite *s = suite_create("runtime_timers");
    TCase *t = tcase_create("timers");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, fire_earliest_first);
    tcase_add_test(t, set_again_moves);
    tcase_add_test(t, cancel_takes_out);
    tcase_add_test(t, fire_once_a_turn);
    suite_add_tcase(s, t);
    return s;
}
