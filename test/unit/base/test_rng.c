/*
 * The seeded generator.
 */
#include "base/rng.h"

#include <check.h>

/* The reference implementation from this state; the first values follow from
 * its definition by hand: rotl(s1 * 5, 7) * 9. */
START_TEST(next_known_values)
{
    struct kl_base_rng rng = {{1, 2, 3, 4}};

    ck_assert_uint_eq(kl_base_rng_next(&rng), 11520);
    ck_assert_uint_eq(kl_base_rng_next(&rng), 0);
    ck_assert_uint_eq(kl_base_rng_next(&rng), 1509978240);
    ck_assert_uint_eq(kl_base_rng_next(&rng), 1215971899390074240u);
}
END_TEST

START_TEST(seed_gives_the_same_again)
{
    struct kl_base_rng a, b, c;
    int i, differ = 0;

    kl_base_rng_seed(&a, 42);
    kl_base_rng_seed(&b, 42);
    kl_base_rng_seed(&c, 43);
    for (i = 0; i < 100; i++) {
        uint64_t x = kl_base_rng_next(&a);

        ck_assert_uint_eq(x, kl_base_rng_next(&b));
        differ += x != kl_base_rng_next(&c);
    }
    ck_assert_int_eq(differ, 100);
}
END_TEST

/* splitmix64 of seed 0: its published first outputs. */
START_TEST(seed_of_zero_is_a_good_state)
{
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, 0);
    ck_assert_uint_eq(rng.state[0], 0xe220a8397b1dcdafu);
    ck_assert_uint_eq(rng.state[1], 0x6e789e6aa1b965f4u);
    ck_assert_uint_eq(rng.state[2], 0x06c45d188009454fu);
}
END_TEST

START_TEST(below_stays_below_and_reaches_all)
{
    struct kl_base_rng rng;
    int seen[7] = {0}, i;

    kl_base_rng_seed(&rng, 5);
    for (i = 0; i < 7000; i++) {
        uint64_t x = kl_base_rng_below(&rng, 7);

        ck_assert_uint_lt(x, 7);
        seen[x]++;
    }
    for (i = 0; i < 7; i++)
        ck_assert_int_gt(seen[i], 800);
    ck_assert_uint_eq(kl_base_rng_below(&rng, 1), 0);
    ck_assert_uint_lt(kl_base_rng_below(&rng, UINT64_MAX), UINT64_MAX);
}
END_TEST

Suite *suite_base_rng(void);

Suite *suite_base_rng(void)
{
    Suite *suite = suite_create("base_rng");
    TCase *tc = tcase_create("rng");

    tcase_add_test(tc, next_known_values);
    tcase_add_test(tc, seed_gives_the_same_again);
    tcase_add_test(tc, seed_of_zero_is_a_good_state);
    tcase_add_test(tc, below_stays_below_and_reaches_all);
    suite_add_tcase(suite, tc);
    return suite;
}
