/*
 * Random bytes of the system.
 */
#include "os/entropy.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

START_TEST(entropy_differs)
{
    uint8_t a[32] = {0}, b[32] = {0};

    ck_assert_int_eq(kl_os_entropy(a, sizeof a), 0);
    ck_assert_int_eq(kl_os_entropy(b, sizeof b), 0);
    ck_assert_mem_ne(a, b, sizeof a);
}
END_TEST

/* More than the system gives in one call: the end is filled too, and nothing
 * behind it. */
START_TEST(entropy_fills_everything)
{
    static uint8_t buf[1 << 20];
    static const uint8_t zeros[64];
    size_t size = sizeof buf - 64;

    memset(buf, 0, sizeof buf);
    ck_assert_int_eq(kl_os_entropy(buf, size), 0);
    ck_assert_mem_ne(buf + size - 64, zeros, 64);
    ck_assert_mem_eq(buf + size, zeros, 64);
}
END_TEST

START_TEST(entropy_of_nothing)
{
    uint8_t a = 7;

    ck_assert_int_eq(kl_os_entropy(&a, 0), 0);
    ck_assert_uint_eq(a, 7);
}
END_TEST

Suite *suite_os_entropy(void);
Suite *suite_os_entropy(void)
{
    Suite *s = suite_create("os_entropy");
    TCase *tc = tcase_create("entropy");

    tcase_add_test(tc, entropy_differs);
    tcase_add_test(tc, entropy_fills_everything);
    tcase_add_test(tc, entropy_of_nothing);
    suite_add_tcase(s, tc);
    return s;
}
