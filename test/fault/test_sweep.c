/*
 * The crash sweep over all scenarios.
 */
#include "sweep.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SWEEP_SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SWEEP_SLOW 1
#endif
#endif
#ifdef SWEEP_SLOW
enum { SWEEP_POINTS = 40 };
#else
enum { SWEEP_POINTS = 250 };
#endif

START_TEST(store_survives_every_cut)
{
    static struct sweep s;
    struct sweep_scenario scenario = {.work = work_scenarios[_i],
                                      .points_max = SWEEP_POINTS};
    const char *more = getenv("KL_SWEEP_SEED"); /* other runs by hand */

    if (more)
        scenario.work.seed += strtoull(more, NULL, 10);
    sweep_run(&s, &scenario);
    printf("sweep: %-17s %4d cut points, every %d: %6llu images, %llu of them "
           "after a second crash\n",
           scenario.work.name, s.points, s.stride, (unsigned long long)s.images,
           (unsigned long long)s.deep);
    fflush(stdout);
    ck_assert_msg(s.failures == 0, "%llu images failed, the first: %s",
                  (unsigned long long)s.failures, s.first);
}
END_TEST

/* What the sweep is for: each missing sync must be noticed. */
static const struct sweep_scenario planted[] = {
    {.work = {.name = "WAL not synced", .run = work_append_some},
     .lie_call = SIM_SYNC,
     .lie_part = "data/wal/"},
    {.work = {.name = "segments not synced", .run = work_lap},
     .lie_call = SIM_SYNC,
     .lie_part = ".seg"},
    {.work = {.name = "manifests not synced",
              .run = work_retention,
              .retention_bytes = 20000},
     .lie_call = SIM_SYNC,
     .lie_part = "manifest"},
    {.work = {.name = "slots not synced", .run = work_lap},
     .lie_call = SIM_SYNC,
     .lie_part = "checkpoint."},
    {.work = {.name = "names not synced", .run = work_append_some},
     .lie_call = SIM_SYNC_DIR,
     .lie_part = "data/logs"},
    {.work = {.name = "format without names",
              .run = work_format,
              .is_format = 1},
     .lie_call = SIM_SYNC_DIR,
     .lie_part = "data"},
};

enum { PLANTED = sizeof planted / sizeof *planted };

START_TEST(sweep_finds_a_missing_sync)
{
    static struct sweep s;
    struct sweep_scenario scenario = planted[_i];

    scenario.points_max = 60;
    sweep_run(&s, &scenario);
    printf("sweep: planted: %-20s %llu of %llu images are bad\n",
           scenario.work.name, (unsigned long long)s.failures,
           (unsigned long long)s.images);
    fflush(stdout);
    ck_assert_uint_gt(s.failures, 0);
}
END_TEST

Suite *suite_fault_sweep(void);

Suite *suite_fault_sweep(void)
{
    Suite *suite = suite_create("fault_sweep");
    TCase *tcase = tcase_create("sweep");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, store_survives_every_cut, 0,
                        work_scenario_count);
    tcase_add_loop_test(tcase, sweep_finds_a_missing_sync, 0, PLANTED);
    suite_add_tcase(suite, tcase);
    return suite;
}
