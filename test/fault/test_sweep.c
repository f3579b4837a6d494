/*
 * The scenarios of the crash sweep.
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

static void scenario_format(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_COMMIT, 8192);
    sweep_append(s, 0, 2, 100);
    sweep_turn(s, 4);
}

static void scenario_append(struct sweep *s)
{
    for (int i = 0; i < 3; i++)
        sweep_create(s, i, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 60; i++) {
        sweep_append(s, (int)sweep_random(s, 3), 1 + (int)sweep_random(s, 3),
                     (uint32_t)sweep_random(s, 600));
        if (sweep_random(s, 2))
            sweep_turn(s, 1 + (int)sweep_random(s, 6));
    }
    sweep_turn(s, 20);
}

static void scenario_truncate(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_COMMIT, 8192);
    sweep_create(s, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 70; i++) {
        int log = (int)sweep_random(s, 2);

        if (sweep_random(s, 5) == 0)
            sweep_truncate(s, log, 1 + (int)sweep_random(s, 6));
        else
            sweep_append(s, log, 1 + (int)sweep_random(s, 3),
                         (uint32_t)sweep_random(s, 900));
        if (sweep_random(s, 2))
            sweep_turn(s, 1 + (int)sweep_random(s, 6));
    }
    sweep_truncate(s, 0, 1000);
    sweep_turn(s, 10);
    sweep_append(s, 0, 1, 100);
    sweep_turn(s, 10);
}

static void scenario_epoch(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 12; i++) {
        sweep_epoch(s, 0);
        for (int k = (int)sweep_random(s, 4); k > 0; k--)
            sweep_append(s, 0, 1, 400);
        sweep_turn(s, (int)sweep_random(s, 8));
        if (sweep_random(s, 3) == 0)
            sweep_truncate(s, 0, 1 + (int)sweep_random(s, 5));
    }
    sweep_turn(s, 10);
}

static void scenario_delete(struct sweep *s)
{
    sweep_create(s, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 6; i++) {
        sweep_create(s, i % 2 * 2,
                     i % 2 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
                     8192);
        for (int k = 0; k < 4; k++)
            sweep_append(s, i % 2 * 2, 1, 800);
        sweep_append(s, 1, 1, 2000);
        sweep_turn(s, (int)sweep_random(s, 12));
        sweep_delete(s, i % 2 * 2);
        sweep_turn(s, (int)sweep_random(s, 4));
    }
    s->f.now_ns += 300000000;
    sweep_turn(s, 20);
}

static void scenario_retention(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_COMMIT, 8192);
    sweep_create(s, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 40; i++) {
        sweep_append(s, (int)sweep_random(s, 2), 1, 1500);
        sweep_turn(s, 2);
        if (sweep_random(s, 6) == 0)
            sweep_start(s, 1,
                        s->model.logs[1].handle->start +
                            (int64_t)sweep_random(s, 8));
        if (i % 10 == 9)
            s->f.now_ns += 210000000;
    }
    sweep_turn(s, 30);
}

static void scenario_lap(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_COMMIT, 16384);
    sweep_create(s, 1, KL_STORE_FLUSH_COMMIT, 16384);
    for (int i = 0; i < 80; i++) {
        sweep_append(s, (int)sweep_random(s, 2), 1,
                     (uint32_t)sweep_random(s, 4000));
        sweep_turn(s, (int)sweep_random(s, 4));
        if (i % 20 == 19) {
            s->f.now_ns += 2000000000; /* idle: a seal */
            sweep_turn(s, 3);
        }
    }
    sweep_turn(s, 20);
}

static void scenario_interval(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_INTERVAL, 8192);
    sweep_create(s, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 60; i++) {
        int log = (int)sweep_random(s, 2);

        if (sweep_random(s, 8) == 0)
            sweep_truncate(s, log, 1 + (int)sweep_random(s, 5));
        else
            sweep_append(s, log, 1, (uint32_t)sweep_random(s, 1500));
        sweep_turn(s, (int)sweep_random(s, 4));
    }
    sweep_turn(s, 20);
}

static void scenario_stop(struct sweep *s)
{
    sweep_create(s, 0, KL_STORE_FLUSH_COMMIT, 8192);
    sweep_create(s, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            sweep_append(s, 0, 1, 700);
            sweep_append(s, 1, 1, 700);
            sweep_turn(s, (int)sweep_random(s, 3));
        }
        sweep_stop(s);
        sweep_open(s);
    }
    sweep_append(s, 0, 1, 700);
    sweep_turn(s, 10);
}

static void mixed_step(struct sweep *s, int log)
{
    const struct model_log *m = &s->model.logs[log];
    uint64_t dice = sweep_random(s, 100);

    if (!m->handle)
        sweep_create(s, log,
                     log == 3 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
                     8192);
    else if (dice < 75)
        sweep_append(s, log, 1 + (int)sweep_random(s, 4),
                     (uint32_t)sweep_random(s, 900));
    else if (dice < 85)
        sweep_truncate(s, log, 1 + (int)sweep_random(s, 8));
    else if (dice < 90)
        sweep_start(s, log,
                    m->handle->start + 1 + (int64_t)sweep_random(s, 10));
    else if (dice < 97)
        sweep_epoch(s, log);
    else
        sweep_delete(s, log);
}

static void scenario_mixed(struct sweep *s)
{
    for (int i = 0; i < 110; i++) {
        mixed_step(s, (int)sweep_random(s, MODEL_LOGS));
        if (sweep_random(s, 3) == 0)
            sweep_turn(s, 1 + (int)sweep_random(s, 8));
        if (sweep_random(s, 30) == 0)
            s->f.now_ns += 1100000000;
        if (sweep_random(s, 50) == 0) {
            sweep_stop(s);
            sweep_open(s);
        }
    }
    sweep_turn(s, 30);
}

static const struct sweep_scenario scenarios[] = {
    {.name = "format", .run = scenario_format, .is_format = 1},
    {.name = "append", .run = scenario_append},
    {.name = "truncate", .run = scenario_truncate, .seed = 3},
    {.name = "epoch", .run = scenario_epoch},
    {.name = "delete", .run = scenario_delete, .flush_bytes = 1500},
    {.name = "retention", .run = scenario_retention, .retention_bytes = 20000},
    {.name = "lap", .run = scenario_lap},
    {.name = "interval", .run = scenario_interval, .flush_bytes = 4000},
    {.name = "interval unsynced", .run = scenario_interval, .seed = 2},
    {.name = "stop", .run = scenario_stop, .flush_bytes = 2000},
    {.name = "mixed 1", .run = scenario_mixed, .seed = 1, .flush_bytes = 3000},
    {.name = "mixed 2", .run = scenario_mixed, .seed = 2, .flush_bytes = 9000},
    {.name = "mixed 3", .run = scenario_mixed, .seed = 3},
};

enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

START_TEST(store_survives_every_cut)
{
    static struct sweep s;
    struct sweep_scenario scenario = scenarios[_i];
    const char *more = getenv("KL_SWEEP_SEED"); /* other runs by hand */

    scenario.points_max = SWEEP_POINTS;
    if (more)
        scenario.seed += strtoull(more, NULL, 10);
    sweep_run(&s, &scenario);
    printf("sweep: %-17s %4d cut points, every %d: %6llu images, %llu of them "
           "after a second crash\n",
           scenario.name, s.points, s.stride, (unsigned long long)s.images,
           (unsigned long long)s.deep);
    fflush(stdout);
    ck_assert_msg(s.failures == 0, "%llu images failed, the first: %s",
                  (unsigned long long)s.failures, s.first);
}
END_TEST

/* What the sweep is for: each missing sync must be noticed. */
static const struct sweep_scenario planted[] = {
    {.name = "WAL not synced",
     .run = scenario_append,
     .lie_call = SIM_SYNC,
     .lie_part = "data/wal/"},
    {.name = "segments not synced",
     .run = scenario_lap,
     .lie_call = SIM_SYNC,
     .lie_part = ".seg"},
    {.name = "manifests not synced",
     .run = scenario_retention,
     .retention_bytes = 20000,
     .lie_call = SIM_SYNC,
     .lie_part = "manifest"},
    {.name = "slots not synced",
     .run = scenario_lap,
     .lie_call = SIM_SYNC,
     .lie_part = "checkpoint."},
    {.name = "names not synced",
     .run = scenario_append,
     .lie_call = SIM_SYNC_DIR,
     .lie_part = "data/logs"},
    {.name = "format without names",
     .run = scenario_format,
     .is_format = 1,
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
    printf("sweep: planted: %-20s %llu of %llu images are bad\n", scenario.name,
           (unsigned long long)s.failures, (unsigned long long)s.images);
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
    tcase_add_loop_test(tcase, store_survives_every_cut, 0, SCENARIOS);
    tcase_add_loop_test(tcase, sweep_finds_a_missing_sync, 0, PLANTED);
    suite_add_tcase(suite, tcase);
    return suite;
}
