/*
 * Lanes: where blocking work is done. A job is a function over its own memory
 * that may make file-system calls; jobs of one lane run one after the other in
 * the order of their submission, jobs of different lanes in any order or at
 * the same time. The owner thread submits and takes back finished jobs; a job
 * touches nothing else while it is under way.
 *
 * Threads, an immediate single-threaded form and the simulator all stand
 * behind the same two calls.
 */
#ifndef KL_OS_LANE_H
#define KL_OS_LANE_H

#include <stdint.h>

enum kl_os_lane_id {
    KL_OS_LANE_COMMIT,  /* WAL groups, quorum state */
    KL_OS_LANE_SEGMENT, /* writing segments behind */
    KL_OS_LANE_READ,    /* cold reads */
    KL_OS_LANE_CLEAN,   /* checkpoints, retention, unlinks */
    KL_OS_LANE_COUNT
};

struct kl_os_job
{
    struct kl_os_job *next;              /* the lanes' while under way */
    void (*run)(struct kl_os_job *job);  /* in the lane; may block */
    void (*done)(struct kl_os_job *job); /* called by the owner after take */
    enum kl_os_lane_id lane;
};

struct kl_os_lanes;

struct kl_os_lanes_ops
{
    void (*submit)(struct kl_os_lanes *lanes, struct kl_os_job *job);
    /* The next finished job, or NULL. Owner thread. */
    struct kl_os_job *(*take)(struct kl_os_lanes *lanes);
    /* Blocks until a finished job can be taken or none is under way; for open
     * and close, which are synchronous. */
    void (*wait)(struct kl_os_lanes *lanes);
    /* All jobs must have been taken. */
    void (*free)(struct kl_os_lanes *lanes);
};

struct kl_os_lanes
{
    const struct kl_os_lanes_ops *ops;
};

struct kl_base_alloc;
struct kl_base_panic_hook;

/* Called from a lane's thread when a job has finished, to wake the owner. */
typedef void (*kl_os_wake_fn)(void *user);

/* One thread per lane, or fewer: thread_count 1..4 spreads the lanes over that
 * many (1 = one for all; 2 = commit and the rest; 3 = commit, read, the rest).
 * A thread starts with its first job and ends with free; where none can be
 * started, the job runs inside submit. The threads are inside the node whose
 * panic hook they get. panic and wake may be NULL. */
int kl_os_lanes_threads_new(struct kl_os_lanes **out,
                            const struct kl_base_alloc *alloc, int thread_count,
                            const struct kl_base_panic_hook *panic,
                            kl_os_wake_fn wake, void *user);
/* No threads: a job runs inside take, lanes in turn. Deterministic. */
int kl_os_lanes_inline_new(struct kl_os_lanes **out,
                           const struct kl_base_alloc *alloc);

#endif
