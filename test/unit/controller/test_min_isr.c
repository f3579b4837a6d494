/*
 * The effective min.insync.replicas.
 */
#include "controller/state.h"

#include <check.h>

static const struct
{
    int32_t set;
    uint32_t replicas, want;
} sizes[] = {
    /* Two copies of three, and never more than there are. */
    {0, 1, 1}, {0, 2, 1},  {0, 3, 2},    {0, 4, 2}, {0, 32, 2}, {1, 1, 1},
    {1, 3, 1}, {2, 1, 1},  {2, 2, 2},    {2, 3, 2}, {3, 2, 2},  {3, 3, 3},
    {3, 5, 3}, {32, 3, 3}, {32, 32, 32}, {0, 0, 1}, {7, 0, 1},
};

START_TEST(min_isr_of_replicas)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        ck_assert_uint_eq(
            kl_controller_min_isr(sizes[i].set, sizes[i].replicas),
            sizes[i].want);
}
END_TEST

START_TEST(min_isr_value_of_text)
{
    ck_assert_int_eq(kl_controller_min_isr_value(NULL), 0);
    ck_assert_int_eq(kl_controller_min_isr_value(""), 0);
    ck_assert_int_eq(kl_controller_min_isr_value("2"), 2);
    ck_assert_int_eq(kl_controller_min_isr_value("31"), 31);
    ck_assert_int_eq(kl_controller_min_isr_value("33"), 32);
    ck_assert_int_eq(kl_controller_min_isr_value("99999999999999999999"), 32);
    ck_assert_int_eq(kl_controller_min_isr_value("-1"), 0);
    ck_assert_int_eq(kl_controller_min_isr_value("2x"), 0);
}
END_TEST

Suite *suite_controller_min_isr(void);
Suite *suite_controller_min_isr(void)
{
    Suite *s = suite_create("controller_min_isr");
    TCase *t = tcase_create("min_isr");

    tcase_add_test(t, min_isr_of_replicas);
    tcase_add_test(t, min_isr_value_of_text);
    suite_add_tcase(s, t);
    return s;
}
