/*
 * The marking and stalling lanes.
 */
#include "trace_lanes.h"

#include "need.h"
#include "trace_vfs.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct trace_lanes_job
{
    struct kl_os_job base;
    struct kl_os_job *job;
    struct trace_lanes_job *next; /* in held */
    int is_done;
};

static void lanes_run(struct kl_os_job *base)
{
    struct trace_lanes_job *j = (struct trace_lanes_job *)base;

    trace_vfs_job_begin();
    j->job->run(j->job);
    trace_vfs_job_end();
    j->is_done = 1;
}

static void lanes_keep(struct trace_lanes *t, struct trace_lanes_job *j)
{
    struct trace_lanes_job **p = &t->held;

    while (*p)
        p = &(*p)->next;
    j->next = NULL;
    *p = j;
}

static void lanes_submit(struct kl_os_lanes *base, struct kl_os_job *job)
{
    struct trace_lanes *t = (struct trace_lanes *)base;
    struct trace_lanes_job *j = calloc(1, sizeof *j);

    need(j != NULL);
    j->job = job;
    j->base.run = lanes_run;
    j->base.lane = job->lane;
    if (t->hold[job->lane] == TRACE_LANES_BEFORE)
        lanes_keep(t, j);
    else
        t->inner->ops->submit(t->inner, &j->base);
}

/* Lets go what no lane holds any more: the first that is done, and all that can
 * be begun. */
static struct trace_lanes_job *lanes_let_go(struct trace_lanes *t)
{
    struct trace_lanes_job **p = &t->held, *j;

    while ((j = *p)) {
        if (t->hold[j->base.lane] != TRACE_LANES_FREE) {
            p = &j->next;
            continue;
        }
        *p = j->next;
        if (j->is_done)
            return j;
        t->inner->ops->submit(t->inner, &j->base);
    }
    return NULL;
}

static struct kl_os_job *lanes_take(struct kl_os_lanes *base)
{
    struct trace_lanes *t = (struct trace_lanes *)base;
    struct trace_lanes_job *j = lanes_let_go(t);
    struct kl_os_job *job;

    while (!j && (job = t->inner->ops->take(t->inner))) {
        j = (struct trace_lanes_job *)job;
        if (t->hold[job->lane] == TRACE_LANES_AFTER) {
            lanes_keep(t, j);
            j = NULL;
        }
    }
    if (!j)
        return NULL;
    job = j->job;
    free(j);
    t->taken++;
    return job;
}

/* Who waits has waited until the stall was over. */
static void lanes_wait(struct kl_os_lanes *base)
{
    struct trace_lanes *t = (struct trace_lanes *)base;

    t->waits++;
    trace_lanes_hold_all(t, TRACE_LANES_FREE);
    if (!t->held)
        t->inner->ops->wait(t->inner);
}

/* The test's to free. */
static void lanes_free(struct kl_os_lanes *base)
{
    (void)base;
}

static const struct kl_os_lanes_ops lanes_ops = {
    .submit = lanes_submit,
    .take = lanes_take,
    .wait = lanes_wait,
    .free = lanes_free,
};

void trace_lanes_init(struct trace_lanes *t, struct kl_os_lanes *inner)
{
    memset(t, 0, sizeof *t);
    t->base.ops = &lanes_ops;
    t->inner = inner;
    if (!inner)
        need_ok(kl_os_lanes_inline_new(&t->inner, &kl_base_alloc_libc));
}

void trace_lanes_deinit(struct trace_lanes *t)
{
    need(t->held == NULL);
    t->inner->ops->free(t->inner);
}

void trace_lanes_hold(struct trace_lanes *t, enum kl_os_lane_id lane,
                      enum trace_lanes_hold how)
{
    t->hold[lane] = how;
}

void trace_lanes_hold_all(struct trace_lanes *t, enum trace_lanes_hold how)
{
    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        t->hold[i] = how;
}

unsigned trace_lanes_held(const struct trace_lanes *t, enum kl_os_lane_id lane)
{
    unsigned count = 0;

    for (const struct trace_lanes_job *j = t->held; j; j = j->next)
        count += j->base.lane == lane;
    return count;
}
