/*
 * The crash sweep over all scenarios.
 */
#include "sweep.h"

#include "need.h"

#include "os/clock.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SWEEP_SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SWEEP_SLOW 1
#endif
#endif
#ifdef SWEEP_SLOW
enum { SWEEP_IMAGES = 400, SWEEP_IMAGES_PLANTED = 300 };
#else
enum { SWEEP_IMAGES = 8000, SWEEP_IMAGES_PLANTED = 2000 };
#endif

/* Over all processes of the tests. */
struct sweep_total
{
    uint64_t images;
    uint64_t deep;
    uint64_t failures;
    uint64_t runs; /* begun */
    int64_t started_ns;
};

static struct sweep_total *total;

static void total_begin(void)
{
    total = mmap(NULL, sizeof *total, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(total != MAP_FAILED);
    total->started_ns = kl_os_clock_posix.monotonic_ns(NULL);
}

static void total_end(void)
{
    double seconds =
        (double)(kl_os_clock_posix.monotonic_ns(NULL) - total->started_ns) /
        1e9;

    printf("sweep: total: %llu images, %llu of them after a second crash, in "
           "%.1f s: %.0f images/s\n",
           (unsigned long long)total->images, (unsigned long long)total->deep,
           seconds, (double)total->images / seconds);
    fflush(stdout);
    munmap(total, sizeof *total);
}

/* Those of all levels, and those of the sweep alone. */
static int scenario_count(void)
{
    return work_scenario_count + sweep_scenario_count;
}

static const struct work_scenario *scenario_at(int index)
{
    return index < work_scenario_count
               ? &work_scenarios[index]
               : &sweep_scenarios[index - work_scenario_count];
}

/* A scenario as it is done with another seed. */
static void run_scenario(struct sweep *s, int index, uint64_t seed,
                         uint64_t images_max)
{
    static struct sweep_scenario scenario;

    memset(&scenario, 0, sizeof scenario);
    scenario.work = *scenario_at(index);
    scenario.work.seed += seed;
    scenario.seed = seed;
    scenario.images_max = images_max;
    sweep_run(s, &scenario);
    sweep_print(s);
    __atomic_fetch_add(&total->images, s->images, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->deep, s->deep, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->failures, s->failures, __ATOMIC_RELAXED);
}

START_TEST(store_survives_every_cut)
{
    static struct sweep s;

    run_scenario(&s, _i, 0, SWEEP_IMAGES);
    ck_assert_msg(s.failures == 0, "%llu images failed, the first: %s",
                  (unsigned long long)s.failures, s.first);
}
END_TEST

/* ---- as long as one likes -------------------------------------------------
 */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* The scenarios that are asked for: all, or one of that name. */
static int choose_scenarios(int *chosen)
{
    const char *only = getenv("KL_SWEEP_ONLY");
    int count = 0;

    for (int i = 0; i < scenario_count(); i++)
        if (!only || !*only || strcmp(only, scenario_at(i)->name) == 0)
            chosen[count++] = i;
    need_msg(count > 0, "no scenario %s", only);
    return count;
}

/* Each of them with one seed, then with the next, until it is enough. */
static void run_until(uint64_t images)
{
    static struct sweep s;
    uint64_t seed = number_of("KL_SWEEP_SEED", 0);
    int chosen[100];
    uint64_t count = (uint64_t)choose_scenarios(chosen);

    while (__atomic_load_n(&total->images, __ATOMIC_RELAXED) < images) {
        uint64_t run = __atomic_fetch_add(&total->runs, 1, __ATOMIC_RELAXED);

        run_scenario(&s, chosen[run % count], seed + run / count, 0);
        if (s.failures)
            printf("sweep: %llu images failed, the first: %s\n",
                   (unsigned long long)s.failures, s.first);
        fflush(stdout);
    }
}

START_TEST(store_survives_for_long)
{
    uint64_t jobs = number_of("KL_SWEEP_JOBS", 1);
    int status, bad = 0;

    for (uint64_t i = 0; i < jobs; i++) {
        pid_t pid = fork();

        need(pid >= 0);
        if (pid == 0) {
            run_until(number_of("KL_SWEEP_IMAGES", 0));
            _exit(0);
        }
    }
    while (wait(&status) > 0)
        bad += status != 0;
    ck_assert_int_eq(bad, 0);
    ck_assert_uint_eq(total->failures, 0);
}
END_TEST

/* ---- what the sweep is for ------------------------------------------------
 */

/* Files of the ring are used again without asking a slot. */
static void spoil_ring(struct work *w)
{
    struct kl_store_wal *wal = &w->f.store->wal;

    for (uint32_t i = 0; i < wal->file_count; i++)
        wal->last_sequence[i] = 0;
}

/* What the sweep is for: each missing sync must be noticed. */
static const struct sweep_scenario planted[] = {
    {.work = {.name = "WAL not synced", .run = work_append_some},
     .lie_call = SIM_SYNC,
     .lie_part = "data/wal/"},
    {.work = {.name = "segments not synced", .run = work_lap},
     .lie_call = SIM_SYNC,
     .lie_part = ".seg"},
    {.work = {.name = "slot before segments", .run = work_lap},
     .lie_call = SIM_SYNC,
     .lie_part = ".seg",
     .lie_until = "checkpoint.",
     .images_max = 4000},
    {.work = {.name = "recovery not synced", .run = work_roll},
     .lie_call = SIM_SYNC,
     .lie_part = ".seg",
     .lie_in_opening = 1},
    {.work = {.name = "ring used too early", .run = work_lap},
     .spoil = spoil_ring,
     .images_max = 4000},
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
     .lie_part = "data",
     .images_max = 4000},
    {.work = {.name = "lying cache", .run = work_append_some},
     .lie_call = SIM_CALLS,
     .lie_part = ""},
#ifndef SWEEP_SLOW /* rare */
    {.work = {.name = "last group not synced", .run = work_cut_all},
     .lie_call = SIM_SYNC,
     .lie_part = "data/wal/",
     .lie_in_opening = 1,
     .images_max = SWEEP_IMAGES * 10},
#endif
};

enum { PLANTED = sizeof planted / sizeof *planted };

START_TEST(sweep_finds_a_missing_sync)
{
    static struct sweep s;
    struct sweep_scenario scenario = planted[_i];

    scenario.seed = 42;
    if (!scenario.images_max)
        scenario.images_max = SWEEP_IMAGES_PLANTED;
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
    TCase *tcase = tcase_create("sweep"), *bugs;

    tcase_add_unchecked_fixture(tcase, total_begin, total_end);
    suite_add_tcase(suite, tcase);
    if (getenv("KL_SWEEP_IMAGES")) {
        tcase_set_timeout(tcase, 0);
        tcase_add_test(tcase, store_survives_for_long);
        return suite;
    }
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, store_survives_every_cut, 0, scenario_count());
    bugs = tcase_create("planted");
    tcase_set_timeout(bugs, 120);
    tcase_add_loop_test(bugs, sweep_finds_a_missing_sync, 0, PLANTED);
    suite_add_tcase(suite, bugs);
    return suite;
}
