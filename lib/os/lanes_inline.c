/*
 * Lanes without threads.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "os/lane.h"

#include <kraftlog/error.h>
#include <string.h>

struct lanes_inline
{
    struct kl_os_lanes base;
    struct kl_base_alloc alloc;
    struct kl_os_job *first[KL_OS_LANE_COUNT];
    struct kl_os_job *last[KL_OS_LANE_COUNT];
    int turn; /* the lane that is asked first */
};

static void inline_submit(struct kl_os_lanes *base, struct kl_os_job *job)
{
    struct lanes_inline *lanes = (struct lanes_inline *)base;

    KL_ASSERT((unsigned)job->lane < KL_OS_LANE_COUNT);
    job->next = NULL;
    if (lanes->first[job->lane])
        lanes->last[job->lane]->next = job;
    else
        lanes->first[job->lane] = job;
    lanes->last[job->lane] = job;
}

static struct kl_os_job *inline_take(struct kl_os_lanes *base)
{
    struct lanes_inline *lanes = (struct lanes_inline *)base;

    for (int i = 0; i < KL_OS_LANE_COUNT; i++) {
        int lane = (lanes->turn + i) % KL_OS_LANE_COUNT;
        struct kl_os_job *job = lanes->first[lane];

        if (!job)
            continue;
        lanes->first[lane] = job->next;
        lanes->turn = (lane + 1) % KL_OS_LANE_COUNT;
        job->next = NULL;
        job->run(job);
        return job;
    }
    return NULL;
}

/* What is under way can always be taken. */
static void inline_wait(struct kl_os_lanes *base)
{
    (void)base;
}

static void inline_free(struct kl_os_lanes *base)
{
    struct lanes_inline *lanes = (struct lanes_inline *)base;
    struct kl_base_alloc alloc = lanes->alloc;

    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        KL_ASSERT(lanes->first[i] == NULL);
    kl_base_free(&alloc, lanes, sizeof *lanes);
}

static const struct kl_os_lanes_ops inline_ops = {
    .submit = inline_submit,
    .take = inline_take,
    .wait = inline_wait,
    .free = inline_free,
};

int kl_os_lanes_inline_new(struct kl_os_lanes **out,
                           const struct kl_base_alloc *alloc)
{
    struct lanes_inline *lanes = kl_base_calloc(alloc, sizeof *lanes);

    if (!lanes)
        return KL_ENOMEM;
    lanes->base.ops = &inline_ops;
    lanes->alloc = *alloc;
    *out = &lanes->base;
    return 0;
}
