/*
 * Random histories of a cluster. A seed decides everything; the same one gives
 * the same history.
 */
#include "sim_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANDOM_SEEDS = 60, RANDOM_STEPS = 30000 };

static struct sim sim;

/* SIM_SEED and SIM_SEEDS choose others than those of make check. */
static uint64_t random_number(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);

    return value ? strtoull(value, NULL, 10) : otherwise;
}

START_TEST(random_history)
{
    uint64_t seed = random_number("SIM_SEED", 0) + (uint64_t)_i;
    int step = 0;

    sim_init(&sim, seed);
    for (; step < RANDOM_STEPS && !sim.why; step++)
        sim_step(&sim);
    ck_assert_msg(!sim.why, "seed %llu, step %d: %s", (unsigned long long)seed,
                  step, sim.why);
    sim_heal(&sim);
    ck_assert_msg(!sim.why, "seed %llu, healing: %s", (unsigned long long)seed,
                  sim.why);
    /* A world in which nothing happens would prove nothing. */
    ck_assert_uint_gt(sim.elections, 10);
    ck_assert_uint_gt(sim.fences, 5);
    ck_assert_uint_gt(sim.registrations, 10);
    ck_assert_uint_gt(sim.losses, 10);
    ck_assert_uint_gt(sim.expansions, 20);
    ck_assert_uint_gt(sim.shrinks, 5);
    ck_assert_uint_gt(sim.refusals, 5);
    ck_assert_uint_gt(sim.completions, 0);
    ck_assert_uint_gt(sim.fail_overs, 0);
    if (getenv("SIM_VERBOSE"))
        fprintf(
            stderr,
            "seed %llu: %llu batches, %llu elections, %llu unclean, "
            "%llu shrinks, %llu expansions, %llu refusals, "
            "%llu registrations, %llu losses, %llu fences, "
            "%llu completions, %llu fail-overs\n",
            (unsigned long long)seed, (unsigned long long)sim.batches,
            (unsigned long long)sim.elections, (unsigned long long)sim.unclean,
            (unsigned long long)sim.shrinks, (unsigned long long)sim.expansions,
            (unsigned long long)sim.refusals,
            (unsigned long long)sim.registrations,
            (unsigned long long)sim.losses, (unsigned long long)sim.fences,
            (unsigned long long)sim.completions,
            (unsigned long long)sim.fail_overs);
    sim_deinit(&sim);
}
END_TEST

Suite *suite_controller_random(void);
Suite *suite_controller_random(void)
{
    Suite *s = suite_create("controller_random");
    TCase *t = tcase_create("random");

    tcase_add_loop_test(t, random_history, 0,
                        (int)random_number("SIM_SEEDS", RANDOM_SEEDS));
    suite_add_tcase(s, t);
    return s;
}
