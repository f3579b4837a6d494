/*
 * Counters and histograms.
 */
#include "base/stat.h"

#include <check.h>
#include <string.h>

START_TEST(add_and_set)
{
    kl_base_stat s = 0;

    kl_base_stat_add(&s, 5);
    kl_base_stat_add(&s, 7);
    ck_assert_uint_eq(kl_base_stat_get(&s), 12);
    kl_base_stat_set(&s, 1);
    ck_assert_uint_eq(kl_base_stat_get(&s), 1);
}
END_TEST

START_TEST(histogram_buckets)
{
    static const struct
    {
        uint64_t value;
        int bucket;
    } table[] = {{0, 0},     {1, 0},
                 {2, 1},     {3, 1},
                 {4, 2},     {1023, 9},
                 {1024, 10}, {UINT64_MAX, KL_BASE_HISTOGRAM_BUCKETS - 1}};
    struct kl_base_histogram h;
    size_t i;

    for (i = 0; i < sizeof table / sizeof table[0]; i++) {
        memset(&h, 0, sizeof h);
        kl_base_histogram_add(&h, table[i].value);
        ck_assert_uint_eq(kl_base_stat_get(&h.buckets[table[i].bucket]), 1);
        ck_assert_uint_eq(kl_base_stat_get(&h.count), 1);
        ck_assert_uint_eq(kl_base_stat_get(&h.sum), table[i].value);
    }
}
END_TEST

Suite *suite_base_stat(void);

Suite *suite_base_stat(void)
{
    Suite *suite = suite_create("base_stat");
    TCase *tc = tcase_create("stat");

    tcase_add_test(tc, add_and_set);
    tcase_add_test(tc, histogram_buckets);
    suite_add_tcase(suite, tc);
    return suite;
}
