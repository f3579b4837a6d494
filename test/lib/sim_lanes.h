/*
 * Lanes in simulated time: the jobs of one lane run in their order, those of
 * different lanes in any, call by call: before each call of the simulated disk
 * a job waits as long as the disk takes, and others go on. A seed decides, so
 * that a run can be repeated. Nothing finishes before the clock has come there;
 * wait moves the clock.
 */
#ifndef TEST_SIM_LANES_H
#define TEST_SIM_LANES_H

#include "fiber.h"
#include "sim_disk.h"

#include "base/rng.h"
#include "os/lane.h"

#include <stdint.h>

struct sim_lane
{
    struct kl_os_job *first; /* under way, the others wait */
    struct kl_os_job *last;
    struct fiber *fiber;
    int64_t due_ns;  /* it goes on then, or has finished */
    int is_finished; /* but the owner has not been told */
};

struct sim_lanes
{
    struct kl_os_lanes base; /* what the code under test gets */
    int64_t *now_ns;         /* the clock of the test */
    int64_t time_ns;         /* up to where things have happened */
    struct kl_base_rng rng;
    struct sim_lane lanes[KL_OS_LANE_COUNT];
    struct sim_lane *current; /* NULL = the owner */
    struct kl_os_job *done;   /* to be taken, in order */
    struct kl_os_job *done_last;
    uint32_t stall_chance; /* in a million, of each call */
    int64_t stall_ns_max;  /* stalls take from 1 ms on, short ones mostly */
    uint64_t stalls;
    uint64_t switches; /* times that a job was left for another */
};

void sim_lanes_init(struct sim_lanes *l, uint64_t seed, int64_t *now_ns);
/* From now on these are the calls that take time. */
void sim_lanes_watch(struct sim_lanes *l, struct sim_disk *disk);
/* All jobs must have been taken. */
void sim_lanes_deinit(struct sim_lanes *l);
/* When something happens next; INT64_MAX = never. */
int64_t sim_lanes_next_ns(const struct sim_lanes *l);
/* Everything that happens up to a moment. */
void sim_lanes_run(struct sim_lanes *l, int64_t until_ns);
/* 1 where a finished job can be taken. */
int sim_lanes_has_done(const struct sim_lanes *l);
/* When the slowest call under way will have returned; 0 = there is none. */
int64_t sim_lanes_latest(const struct sim_lanes *l);

#endif
