/*
 * Lanes in simulated time.
 */
#include "need.h"
#include "sim_lanes.h"

#include <check.h>
#include <string.h>

enum { JOBS = 40, CALLS = 4 };

struct job
{
    struct kl_os_job base;
    struct kl_os_file *file;
    int number;
    int64_t finished_ns;
};

static struct sim_disk *disk;
static struct sim_lanes lanes;
static struct kl_os_file *files[KL_OS_LANE_COUNT];
static struct job jobs[JOBS];
static int64_t now_ns;
static int calls[JOBS * CALLS]; /* by job, in the order of the calls */
static int call_count;

static void setup_seed(uint64_t seed)
{
    char name[] = "0";

    now_ns = 1000;
    call_count = 0;
    disk = sim_disk_new(0);
    sim_lanes_init(&lanes, seed, &now_ns);
    sim_lanes_watch(&lanes, disk);
    for (int i = 0; i < KL_OS_LANE_COUNT; i++) {
        name[0] = (char)('0' + i);
        need_ok(disk->base.ops->open(&disk->base, name,
                                     KL_OS_WRITE | KL_OS_CREATE, &files[i]));
    }
}

static void setup(void)
{
    setup_seed(1);
}

static void teardown(void)
{
    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        need_ok(disk->base.ops->close(files[i]));
    sim_lanes_deinit(&lanes);
    sim_disk_free(disk);
}

static void job_run(struct kl_os_job *base)
{
    struct job *job = (struct job *)base;

    for (int i = 0; i < CALLS; i++) {
        calls[call_count++] = job->number;
        need_ok(disk->base.ops->sync(job->file));
    }
}

static void submit(int number, enum kl_os_lane_id lane)
{
    struct job *job = &jobs[number];

    memset(job, 0, sizeof *job);
    job->number = number;
    job->file = files[lane];
    job->base.run = job_run;
    job->base.lane = lane;
    lanes.base.ops->submit(&lanes.base, &job->base);
}

/* Everything that was submitted, in the order of finishing. */
static void take_all(int *order, int count)
{
    struct kl_os_job *job;

    for (int i = 0; i < count; i++) {
        lanes.base.ops->wait(&lanes.base);
        job = lanes.base.ops->take(&lanes.base);
        ck_assert_ptr_nonnull(job);
        order[i] = ((struct job *)job)->number;
        ((struct job *)job)->finished_ns = now_ns;
    }
    ck_assert_ptr_null(lanes.base.ops->take(&lanes.base));
}

START_TEST(time_has_to_pass)
{
    int order[1];
    int64_t begun = now_ns;

    submit(0, KL_OS_LANE_COMMIT);
    ck_assert_ptr_null(lanes.base.ops->take(&lanes.base));
    take_all(order, 1);
    ck_assert_int_ge(now_ns - begun, 4 * 100000);
    submit(0, KL_OS_LANE_COMMIT);
    now_ns += 1000000000;
    ck_assert_ptr_nonnull(lanes.base.ops->take(&lanes.base));
}
END_TEST

START_TEST(order_is_kept_within_a_lane)
{
    int order[JOBS], last[KL_OS_LANE_COUNT] = {-1, -1, -1, -1};

    for (int i = 0; i < JOBS; i++)
        submit(i, (enum kl_os_lane_id)(i % KL_OS_LANE_COUNT));
    take_all(order, JOBS);
    for (int i = 0; i < JOBS; i++) {
        int lane = order[i] % KL_OS_LANE_COUNT;

        ck_assert_int_gt(order[i], last[lane]);
        last[lane] = order[i];
    }
    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        last[i] = -1;
    for (int i = 0; i < call_count; i++) {
        int lane = calls[i] % KL_OS_LANE_COUNT;

        ck_assert_int_ge(calls[i], last[lane]);
        last[lane] = calls[i];
    }
}
END_TEST

/* Also the calls of two jobs come in between each other. */
START_TEST(lanes_run_beside_each_other)
{
    int order[2], changes = 0;

    submit(0, KL_OS_LANE_COMMIT);
    submit(1, KL_OS_LANE_CLEAN);
    take_all(order, 2);
    ck_assert_int_eq(call_count, 2 * CALLS);
    for (int i = 1; i < call_count; i++)
        changes += calls[i] != calls[i - 1];
    ck_assert_int_gt(changes, 1);
}
END_TEST

static uint64_t order_of(uint64_t seed)
{
    uint64_t hash = 0;
    int order[8];

    setup_seed(seed);
    for (int i = 0; i < 8; i++)
        submit(i, (enum kl_os_lane_id)(i % KL_OS_LANE_COUNT));
    take_all(order, 8);
    for (int i = 0; i < 8; i++)
        hash = hash * 31 + (uint64_t)order[i];
    for (int i = 0; i < call_count; i++)
        hash = hash * 31 + (uint64_t)calls[i];
    teardown();
    return hash * 31 + (uint64_t)now_ns;
}

START_TEST(seed_decides_the_order)
{
    ck_assert_uint_eq(order_of(7), order_of(7));
    ck_assert_uint_ne(order_of(7), order_of(8));
}
END_TEST

/* A stalled lane stops nobody but itself. */
START_TEST(stall_holds_one_lane)
{
    int order[3];

    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_STALL,
                                                     .call = SIM_SYNC,
                                                     .part = "0",
                                                     .times = 1,
                                                     .stall_ns = 30000000000});
    submit(0, KL_OS_LANE_COMMIT);
    submit(1, KL_OS_LANE_COMMIT);
    submit(2, KL_OS_LANE_READ);
    ck_assert_int_ge(sim_lanes_latest(&lanes), now_ns);
    take_all(order, 3);
    ck_assert_int_eq(order[0], 2);
    ck_assert_int_lt(jobs[2].finished_ns, 1000000000);
    ck_assert_int_gt(jobs[0].finished_ns, 30000000000);
    ck_assert_int_eq(sim_lanes_latest(&lanes), 0);
}
END_TEST

START_TEST(stalls_come_by_chance)
{
    int order[JOBS];
    int64_t begun = now_ns;

    lanes.stall_chance = 500000;
    lanes.stall_ns_max = 8000000000;
    for (int i = 0; i < JOBS; i++)
        submit(i, KL_OS_LANE_COMMIT);
    take_all(order, JOBS);
    ck_assert_uint_gt(lanes.stalls, JOBS);
    ck_assert_int_gt(now_ns - begun, 8000000000);
}
END_TEST

Suite *suite_fault_sim_lanes(void);

Suite *suite_fault_sim_lanes(void)
{
    Suite *suite = suite_create("fault_sim_lanes");
    TCase *tcase = tcase_create("sim_lanes"), *seeds = tcase_create("seeds");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, time_has_to_pass);
    tcase_add_test(tcase, order_is_kept_within_a_lane);
    tcase_add_test(tcase, lanes_run_beside_each_other);
    tcase_add_test(tcase, stall_holds_one_lane);
    tcase_add_test(tcase, stalls_come_by_chance);
    suite_add_tcase(suite, tcase);
    tcase_add_test(seeds, seed_decides_the_order);
    suite_add_tcase(suite, seeds);
    return suite;
}
