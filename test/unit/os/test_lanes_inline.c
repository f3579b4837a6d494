/*
 * Lanes without threads.
 */
#include "fail_alloc.h"
#include "os/lane.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

struct job
{
    struct kl_os_job base;
    char letter;
};

static struct kl_os_lanes *lanes;
static char trace[64];

static void setup(void)
{
    trace[0] = 0;
    ck_assert_int_eq(kl_os_lanes_inline_new(&lanes, &kl_base_alloc_libc), 0);
}

static void teardown(void)
{
    lanes->ops->free(lanes);
}

static void job_run(struct kl_os_job *base)
{
    size_t used = strlen(trace);

    ck_assert_uint_lt(used, sizeof trace - 1);
    trace[used] = ((struct job *)base)->letter;
    trace[used + 1] = 0;
}

static void submit(struct job *job, enum kl_os_lane_id lane, char letter)
{
    memset(job, 0, sizeof *job);
    job->base.run = job_run;
    job->base.lane = lane;
    job->letter = letter;
    lanes->ops->submit(lanes, &job->base);
}

START_TEST(take_runs_lanes_in_turn)
{
    struct job jobs[6];

    submit(&jobs[0], KL_OS_LANE_CLEAN, 'x');
    submit(&jobs[1], KL_OS_LANE_COMMIT, 'a');
    submit(&jobs[2], KL_OS_LANE_COMMIT, 'b');
    submit(&jobs[3], KL_OS_LANE_COMMIT, 'c');
    submit(&jobs[4], KL_OS_LANE_SEGMENT, 's');
    submit(&jobs[5], KL_OS_LANE_CLEAN, 'y');
    ck_assert_str_eq(trace, "");
    lanes->ops->wait(lanes);
    ck_assert_ptr_eq(lanes->ops->take(lanes), &jobs[1].base);
    ck_assert_str_eq(trace, "a");
    while (lanes->ops->take(lanes))
        continue;
    ck_assert_str_eq(trace, "asxbyc");
}
END_TEST

START_TEST(take_of_none)
{
    ck_assert_ptr_null(lanes->ops->take(lanes));
    lanes->ops->wait(lanes);
}
END_TEST

/* A finished job is its owner's at once and may go round again. */
START_TEST(submit_after_take)
{
    struct job job;

    for (int i = 0; i < 3; i++) {
        submit(&job, KL_OS_LANE_READ, (char)('0' + i));
        ck_assert_ptr_eq(lanes->ops->take(lanes), &job.base);
        ck_assert_ptr_null(lanes->ops->take(lanes));
    }
    ck_assert_str_eq(trace, "012");
}
END_TEST

START_TEST(new_without_memory)
{
    struct fail_alloc f;
    struct kl_os_lanes *none;

    fail_alloc_init(&f);
    fail_alloc_arm(&f, 1);
    ck_assert_int_eq(kl_os_lanes_inline_new(&none, &f.alloc), KL_ENOMEM);
    fail_alloc_arm(&f, 0);
    ck_assert_int_eq(kl_os_lanes_inline_new(&none, &f.alloc), 0);
    none->ops->free(none);
    fail_alloc_deinit(&f);
}
END_TEST

Suite *suite_os_lanes_inline(void);
Suite *suite_os_lanes_inline(void)
{
    Suite *s = suite_create("os_lanes_inline");
    TCase *tc = tcase_create("inline");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, take_runs_lanes_in_turn);
    tcase_add_test(tc, take_of_none);
    tcase_add_test(tc, submit_after_take);
    tcase_add_test(tc, new_without_memory);
    suite_add_tcase(s, tc);
    return s;
}
