/*
 * The clock only goes forward.
 */
#include "os/clock.h"

#include <check.h>
#include <time.h>

START_TEST(monotonic_never_goes_back)
{
    int64_t before = kl_os_clock_posix.monotonic_ns(NULL);

    ck_assert_int_gt(before, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t now = kl_os_clock_posix.monotonic_ns(NULL);

        ck_assert_int_ge(now, before);
        before = now;
    }
}
END_TEST

/* The unit is milliseconds since 1970: the same second as the C library's,
 * which may lie just before or after. */
START_TEST(wall_has_the_right_unit)
{
    int64_t low = (int64_t)time(NULL) - 1;
    int64_t now = kl_os_clock_posix.wall_ms(NULL);
    int64_t high = (int64_t)time(NULL) + 1;

    ck_assert_int_ge(now / 1000, low);
    ck_assert_int_le(now / 1000, high);
}
END_TEST

/* Behind the clock, by a tick: far less than a second. */
START_TEST(wall_tick_is_not_far_behind)
{
    int64_t tick;

    if (!kl_os_clock_posix.wall_tick_ms)
        return;
    tick = kl_os_clock_posix.wall_tick_ms(NULL);
    ck_assert_int_ge(kl_os_clock_posix.wall_ms(NULL), tick);
    ck_assert_int_ge(tick / 1000, (int64_t)time(NULL) - 2);
}
END_TEST

Suite *suite_os_clock_posix(void);
Suite *suite_os_clock_posix(void)
{
    Suite *s = suite_create("os_clock_posix");
    TCase *tc = tcase_create("clock");

    tcase_add_test(tc, monotonic_never_goes_back);
    tcase_add_test(tc, wall_has_the_right_unit);
    tcase_add_test(tc, wall_tick_is_not_far_behind);
    suite_add_tcase(s, tc);
    return s;
}
