/*
 * The crash sweep over all scenarios.
 */
#include "sweep.h"

#include "need.h"

#include "os/clock.h"

#include <stdio.h>
#include <sys/mman.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SWEEP_SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SWEEP_SLOW 1
#endif
#endif
#ifdef SWEEP_SLOW
enum { SWEEP_IMAGES = 800, SWEEP_IMAGES_PLANTED = 300 };
#else
enum { SWEEP_IMAGES = 10000, SWEEP_IMAGES_PLANTED = 2000 };
#endif

/* Over all processes of the tests. */
struct sweep_total
{
    uint64_t images;
    uint64_t deep;
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

START_TEST(store_survives_every_cut)
{
    static struct sweep s;
    struct sweep_scenario scenario = {
        .work = work_scenarios[_i], .seed = 42, .images_max = SWEEP_IMAGES};

    sweep_run(&s, &scenario);
    sweep_print(&s);
    total->images += s.images;
    total->deep += s.deep;
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
     .lie_part = "data",
     .images_max = 4000},
    {.work = {.name = "lying cache", .run = work_append_some},
     .lie_call = SIM_CALLS,
     .lie_part = ""},
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
    TCase *tcase = tcase_create("sweep"), *bugs = tcase_create("planted");

    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, total_begin, total_end);
    tcase_add_loop_test(tcase, store_survives_every_cut, 0,
                        work_scenario_count);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(bugs, 120);
    tcase_add_loop_test(bugs, sweep_finds_a_missing_sync, 0, PLANTED);
    suite_add_tcase(suite, bugs);
    return suite;
}
