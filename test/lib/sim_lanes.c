/*
 * Lanes in simulated time.
 */
#include "sim_lanes.h"

#include "need.h"
#include "trace_vfs.h"

#include <string.h>

/* How long a call takes in microseconds, from and to. */
static const uint16_t lanes_latency[SIM_CALLS][2] = {
    [SIM_OPEN] = {2, 40},         [SIM_CREATE] = {5, 100},
    [SIM_CLOSE] = {1, 20},        [SIM_READ] = {5, 400},
    [SIM_WRITE] = {5, 200},       [SIM_SYNC] = {100, 4000},
    [SIM_TRUNCATE] = {5, 200},    [SIM_ALLOCATE] = {5, 200},
    [SIM_SIZE] = {1, 5},          [SIM_LOCK] = {1, 5},
    [SIM_RENAME] = {5, 200},      [SIM_UNLINK] = {5, 200},
    [SIM_MKDIR] = {5, 200},       [SIM_RMDIR] = {5, 200},
    [SIM_LIST] = {5, 100},        [SIM_SYNC_DIR] = {100, 4000},
    [SIM_SYNC_ALL] = {500, 9000}, [SIM_SPACE] = {1, 10},
};

static int64_t lanes_between(struct sim_lanes *l, uint64_t from_us,
                             uint64_t to_us)
{
    return (
        int64_t)((from_us + kl_base_rng_below(&l->rng, to_us - from_us + 1)) *
                 1000);
}

static int64_t lanes_stall(struct sim_lanes *l)
{
    uint64_t longest = (uint64_t)l->stall_ns_max;

    if (!l->stall_chance ||
        kl_base_rng_below(&l->rng, 1000000) >= l->stall_chance)
        return 0;
    l->stalls++;
    /* Each size as likely as its double. */
    longest >>= kl_base_rng_below(&l->rng, 15);
    return 1000000 + (int64_t)kl_base_rng_below(&l->rng, longest + 1);
}

/* Before a call of the disk. The owner's own are made while nothing else is
 * expected of it. */
static void lanes_enter(void *user, enum sim_call call, int64_t stall_ns)
{
    struct sim_lanes *l = user;
    struct sim_lane *lane = l->current;

    if (!lane) {
        *l->now_ns += stall_ns;
        return;
    }
    lane->due_ns =
        l->time_ns + stall_ns + lanes_stall(l) +
        lanes_between(l, lanes_latency[call][0], lanes_latency[call][1]);
    l->switches++;
    fiber_leave(lane->fiber);
}

/* ---- what happens when ----------------------------------------------------
 */

static struct sim_lane *lanes_next(const struct sim_lanes *l)
{
    const struct sim_lane *next = NULL;

    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        if (l->lanes[i].first && (!next || l->lanes[i].due_ns < next->due_ns))
            next = &l->lanes[i];
    return (struct sim_lane *)next;
}

int64_t sim_lanes_next_ns(const struct sim_lanes *l)
{
    const struct sim_lane *next = lanes_next(l);

    return next ? next->due_ns : INT64_MAX;
}

int sim_lanes_has_done(const struct sim_lanes *l)
{
    return l->done != NULL;
}

int64_t sim_lanes_latest(const struct sim_lanes *l)
{
    int64_t latest = 0;

    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        if (l->lanes[i].first && l->lanes[i].due_ns > latest)
            latest = l->lanes[i].due_ns;
    return latest;
}

static void lanes_run(void *user)
{
    struct kl_os_job *job = user;

    job->run(job);
}

/* The job that is under way goes on up to its next call, or to its end. */
static void lanes_go_on(struct sim_lanes *l, struct sim_lane *lane)
{
    l->current = lane;
    trace_vfs_job_begin();
    if (fiber_is_under_way(lane->fiber))
        fiber_resume(lane->fiber);
    else
        fiber_begin(lane->fiber, lanes_run, lane->first);
    trace_vfs_job_end();
    l->current = NULL;
    if (fiber_is_under_way(lane->fiber))
        return;
    lane->is_finished = 1;
    lane->due_ns = l->time_ns + lanes_between(l, 1, 100);
}

static void lanes_finish(struct sim_lanes *l, struct sim_lane *lane)
{
    struct kl_os_job *job = lane->first;

    lane->first = job->next;
    lane->is_finished = 0;
    lane->due_ns = l->time_ns + lanes_between(l, 1, 20);
    job->next = NULL;
    if (l->done)
        l->done_last->next = job;
    else
        l->done = job;
    l->done_last = job;
}

void sim_lanes_run(struct sim_lanes *l, int64_t until_ns)
{
    struct sim_lane *lane;

    while ((lane = lanes_next(l)) && lane->due_ns <= until_ns) {
        if (lane->due_ns > l->time_ns)
            l->time_ns = lane->due_ns;
        if (lane->is_finished)
            lanes_finish(l, lane);
        else
            lanes_go_on(l, lane);
    }
    if (until_ns > l->time_ns)
        l->time_ns = until_ns;
}

/* ---- the port -------------------------------------------------------------
 */

static void lanes_submit(struct kl_os_lanes *base, struct kl_os_job *job)
{
    struct sim_lanes *l = (struct sim_lanes *)base;
    struct sim_lane *lane = &l->lanes[job->lane];

    sim_lanes_run(l, *l->now_ns);
    job->next = NULL;
    if (lane->first) {
        lane->last->next = job;
    } else {
        lane->first = job;
        lane->due_ns = l->time_ns + lanes_between(l, 1, 50);
    }
    lane->last = job;
}

static struct kl_os_job *lanes_take(struct kl_os_lanes *base)
{
    struct sim_lanes *l = (struct sim_lanes *)base;
    struct kl_os_job *job;

    sim_lanes_run(l, *l->now_ns);
    job = l->done;
    if (job) {
        l->done = job->next;
        job->next = NULL;
    }
    return job;
}

static void lanes_wait(struct kl_os_lanes *base)
{
    struct sim_lanes *l = (struct sim_lanes *)base;

    sim_lanes_run(l, *l->now_ns);
    while (!l->done && lanes_next(l)) {
        int64_t due = lanes_next(l)->due_ns;

        if (due > *l->now_ns)
            *l->now_ns = due;
        sim_lanes_run(l, *l->now_ns);
    }
}

static void lanes_free(struct kl_os_lanes *base)
{
    (void)base; /* the test's */
}

static const struct kl_os_lanes_ops lanes_ops = {
    .submit = lanes_submit,
    .take = lanes_take,
    .wait = lanes_wait,
    .free = lanes_free,
};

void sim_lanes_init(struct sim_lanes *l, uint64_t seed, int64_t *now_ns)
{
    memset(l, 0, sizeof *l);
    l->base.ops = &lanes_ops;
    l->now_ns = now_ns;
    l->time_ns = *now_ns;
    l->stall_ns_max = 30000000000;
    kl_base_rng_seed(&l->rng, seed);
    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        l->lanes[i].fiber = fiber_new();
}

void sim_lanes_watch(struct sim_lanes *l, struct sim_disk *disk)
{
    disk->enter = lanes_enter;
    disk->enter_user = l;
}

void sim_lanes_deinit(struct sim_lanes *l)
{
    need(!l->done && !lanes_next(l));
    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        fiber_free(l->lanes[i].fiber);
}
