/*
 * The fault loops over the store.
 */
#include "loop.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define LOOP_SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOOP_SLOW 1
#endif
#endif
#ifdef LOOP_SLOW
enum { LOOP_STRIDE = 7 };
#else
enum { LOOP_STRIDE = 1 };
#endif

static void fill(struct work *w, int log, int count, uint32_t value_size)
{
    for (int i = 0; i < count; i++)
        work_append(w, log, 1, value_size);
}

/* Two logs, some segments, an index block. */
static void loop_append(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 4; i++) {
        fill(w, 0, 3, 900);
        fill(w, 1, 1, 100);
        work_turn(w, 7);
    }
}

static void loop_truncate(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    fill(w, 0, 14, 900);
    work_turn(w, 10);
    work_truncate(w, 0, 3); /* inside the active segment */
    fill(w, 0, 2, 800);
    work_turn(w, 8);
    work_epoch(w, 0);
    fill(w, 0, 1, 700);
    work_truncate(w, 0, 9); /* whole segments */
    work_turn(w, 8);
    fill(w, 0, 2, 600);
    work_epoch(w, 0);
    work_turn(w, 8);
}

static void loop_delete(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 2; i++) {
        fill(w, 0, 4, 900);
        fill(w, 1, 3, 900);
        work_turn(w, 8);
        work_delete(w, i);
        work_turn(w, 3);
        work_create(w, i, KL_STORE_FLUSH_COMMIT, 8192);
        work_append(w, i, 2, 500);
        w->f.now_ns += 250000000; /* two slots later the names go */
        work_turn(w, 4);
        w->f.now_ns += 250000000;
        work_turn(w, 4);
    }
}

static void loop_retention(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 3; i++) {
        fill(w, 0, 6, 1500);
        fill(w, 1, 3, 1500);
        work_turn(w, 12);
        work_start(w, 1, 2);
        w->f.now_ns += 250000000;
        work_turn(w, 12);
    }
}

/* Around the ring more than once: laps, checkpoints, stalls, seals. */
static void loop_lap(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 16384);
    for (int i = 0; i < 7; i++) {
        fill(w, 0, 4, 3900);
        work_turn(w, 6);
    }
    w->f.now_ns += 2000000000; /* idle: a seal */
    work_turn(w, 3);
}

static void loop_interval(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_INTERVAL, 8192);
    fill(w, 0, 9, 1200);
    work_turn(w, 10);
    work_truncate(w, 0, 4);
    fill(w, 0, 5, 1000);
    work_turn(w, 10);
    work_epoch(w, 0);
    fill(w, 0, 3, 1000);
    work_turn(w, 10);
}

/* Commit log with things in the WAL only, interval log with an unsynced end. */
static void loop_reopen(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    fill(w, 0, 8, 1200);
    fill(w, 1, 8, 1200);
    work_turn(w, 12);
    work_truncate(w, 0, 2);
    work_epoch(w, 0);
    fill(w, 0, 4, 1100);
    fill(w, 1, 2, 1200);
    work_start(w, 0, 3);
    work_settle(w);
    work_crash(w);
}

static void loop_open(struct work *w)
{
    work_open(w);
    fill(w, 0, 2, 500);
    fill(w, 1, 2, 500);
    work_turn(w, 12);
}

static void loop_stop(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 2; i++) {
        fill(w, 0, 5, 900);
        fill(w, 1, 5, 900);
        work_turn(w, i * 3);
        work_stop(w);
        work_open(w);
    }
    fill(w, 0, 1, 900);
    fill(w, 1, 1, 900);
    work_turn(w, 12);
}

static void prepare_read(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 16384);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    fill(w, 0, 30, 900);
    fill(w, 1, 12, 900);
    work_turn(w, 30);
    work_stop(w);
    w->f.config.cache_bytes_max = 0;
    work_open(w);
}

static void loop_read(struct work *w)
{
    work_read(w, 0, 3);
    work_read(w, 1, 0);
    fill(w, 0, 3, 900);
    work_turn(w, 10);
    work_read(w, 0, 25);
}

/* Fewer handles than segments: they are closed and opened again, and syncs make
 * that possible. */
static void prepare_files(struct work *w)
{
    work_crash(w);
    w->f.config.file_max = 4;
    w->f.config.cache_bytes_max = 0;
    work_open(w);
}

static void loop_files(struct work *w)
{
    for (int i = 0; i < 3; i++)
        work_create(w, i,
                    i < 2 ? KL_STORE_FLUSH_COMMIT : KL_STORE_FLUSH_INTERVAL,
                    8192);
    for (int i = 0; i < 4; i++) {
        for (int log = 0; log < 3; log++)
            fill(w, log, 2, 1500);
        work_turn(w, 12);
    }
    for (int log = 0; log < 3; log++)
        work_read(w, log, 0);
}

/* So many files to sync that the file system is asked to sync all. */
static void prepare_many(struct work *w)
{
    work_crash(w);
    w->f.config.file_max = 256;
    w->f.config.path = "many";
    w->f.config.ring_bytes = 2 << 20;
    work_open(w);
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 36; i++) {
        fill(w, 0, 2, 3500);
        work_turn(w, 2);
    }
    work_turn(w, 10);
}

static void loop_many(struct work *w)
{
    work_checkpoint(w);
    work_turn(w, 5);
    fill(w, 0, 2, 3500);
    work_turn(w, 10);
}

static const struct work_scenario scenarios[] = {
    {.name = "format", .run = work_format, .is_format = 1},
    {.name = "append", .run = loop_append},
    {.name = "truncate", .run = loop_truncate},
    {.name = "delete", .run = loop_delete, .flush_bytes = 1500},
    {.name = "retention", .run = loop_retention, .retention_bytes = 10000},
    {.name = "lap", .run = loop_lap},
    {.name = "interval", .run = loop_interval, .flush_bytes = 2500},
    {.name = "interval unsynced", .run = loop_interval},
    {.name = "open", .prepare = loop_reopen, .run = loop_open},
    {.name = "stop", .run = loop_stop, .flush_bytes = 2000},
    {.name = "read", .prepare = prepare_read, .run = loop_read},
    {.name = "files", .prepare = prepare_files, .run = loop_files},
    {.name = "many", .prepare = prepare_many, .run = loop_many},
};

enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static void run_all(const struct work_scenario *scenario, uint64_t stride)
{
    uint64_t calls = 0, allocations = 0;

    for (int i = 0; i < loop_fault_count; i++)
        *(loop_faults[i].code ? &calls : &allocations) +=
            loop_run(scenario, &loop_faults[i], stride);
    printf("loop: %-17s %5llu failing calls, %5llu failing allocations\n",
           scenario->name, (unsigned long long)calls,
           (unsigned long long)allocations);
    fflush(stdout);
    ck_assert_uint_gt(calls, 0);
    ck_assert_uint_gt(allocations, 0);
}

START_TEST(store_survives_every_fault)
{
    run_all(&scenarios[_i], LOOP_STRIDE);
}
END_TEST

/* Longer ones, in steps. */
START_TEST(store_survives_faults_of_the_sweep)
{
    run_all(&work_scenarios[_i], 41 * LOOP_STRIDE);
}
END_TEST

Suite *suite_fault_loop(void);

Suite *suite_fault_loop(void)
{
    Suite *suite = suite_create("fault_loop");
    TCase *tcase = tcase_create("loop");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, store_survives_every_fault, 0, SCENARIOS);
    tcase_add_loop_test(tcase, store_survives_faults_of_the_sweep, 0,
                        work_scenario_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
