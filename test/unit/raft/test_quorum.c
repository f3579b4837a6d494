/*
 * Arithmetic of majorities.
 */
#include "raft/state.h"

#include <check.h>

START_TEST(majorities)
{
    static const uint32_t want[] = {0, 1, 2, 2, 3, 3, 4, 4};

    for (uint32_t n = 1; n < 8; n++)
        ck_assert_uint_eq(kl_raft_quorum_majority(n), want[n]);
    ck_assert_uint_eq(kl_raft_quorum_majority(KL_WIRE_VOTERS_MAX), 16);
}
END_TEST

static const struct
{
    int64_t values[7];
    uint32_t count;
    int64_t reached;
} cases[] = {
    {{5}, 1, 5},
    {{5, 3}, 2, 3},
    {{3, 5}, 2, 3},
    {{5, 3, 4}, 3, 4},
    {{-1, -1, 9}, 3, -1},
    {{9, -1, 9}, 3, 9},
    {{1, 2, 3, 4}, 4, 2},
    {{4, 3, 2, 1}, 4, 2},
    {{1, 2, 3, 4, 5}, 5, 3},
    {{5, 5, 1, 1, 1}, 5, 1},
    {{7, 7, 7, 7, 7, 7, 7}, 7, 7},
    {{1, 9, 2, 8, 3, 7, 4}, 7, 4},
};

START_TEST(reached)
{
    int64_t values[7];

    for (int i = 0; i < 7; i++)
        values[i] = cases[_i].values[i];
    ck_assert_int_eq(kl_raft_quorum_reached(values, cases[_i].count),
                     cases[_i].reached);
}
END_TEST

/* What is reached is held by a majority, and nothing above it is. */
START_TEST(reached_is_what_it_says)
{
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, 1);
    for (int round = 0; round < 2000; round++) {
        uint32_t count = 1 + (uint32_t)kl_base_rng_below(&rng, 31);
        int64_t values[31], sorted[31];
        int64_t at;
        uint32_t at_least = 0, above = 0;

        for (uint32_t i = 0; i < count; i++)
            sorted[i] = values[i] = (int64_t)kl_base_rng_below(&rng, 20) - 1;
        at = kl_raft_quorum_reached(sorted, count);
        for (uint32_t i = 0; i < count; i++) {
            at_least += values[i] >= at;
            above += values[i] > at;
        }
        ck_assert_uint_ge(at_least, count / 2 + 1);
        ck_assert_uint_lt(above, count / 2 + 1);
    }
}
END_TEST

Suite *suite_raft_quorum(void);
Suite *suite_raft_quorum(void)
{
    Suite *s = suite_create("raft_quorum");
    TCase *t = tcase_create("quorum");

    tcase_add_test(t, majorities);
    tcase_add_loop_test(t, reached, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(t, reached_is_what_it_says);
    suite_add_tcase(s, t);
    return s;
}
