/*
 * Lanes around other lanes, for tests. They mark what runs inside a job, so
 * that trace_vfs can tell it from a call of the owner, and they are a disk that
 * stalls: a held lane keeps its jobs back, either before they are begun or when
 * they are done and only their completion is missing. Owner thread.
 */
#ifndef TEST_TRACE_LANES_H
#define TEST_TRACE_LANES_H

#include "os/lane.h"

enum trace_lanes_hold {
    TRACE_LANES_FREE,
    TRACE_LANES_BEFORE, /* nothing of it has happened */
    TRACE_LANES_AFTER   /* all of it has happened, and nobody knows */
};

struct trace_lanes_job;

struct trace_lanes
{
    struct kl_os_lanes base; /* what the code under test gets */
    struct kl_os_lanes *inner;
    enum trace_lanes_hold hold[KL_OS_LANE_COUNT];
    struct trace_lanes_job *held; /* oldest first */
    uint64_t waits; /* an owner that waits for a held job has it released */
    uint64_t taken;
};

/* Takes inner, which may be NULL = lanes that run inside take. */
void trace_lanes_init(struct trace_lanes *t, struct kl_os_lanes *inner);
void trace_lanes_deinit(struct trace_lanes *t);
void trace_lanes_hold(struct trace_lanes *t, enum kl_os_lane_id lane,
                      enum trace_lanes_hold how);
void trace_lanes_hold_all(struct trace_lanes *t, enum trace_lanes_hold how);
/* Jobs that are kept back in this lane. */
unsigned trace_lanes_held(const struct trace_lanes *t, enum kl_os_lane_id lane);

#endif
