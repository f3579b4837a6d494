/*
 * Lanes on threads. Jobs go to a thread, and finished ones back to the owner,
 * by lists that are pushed to at one end and taken whole, without a lock. Who
 * finds nothing says that it is going to sleep, then looks once more; who
 * pushes looks afterwards whether somebody sleeps. So a wake-up is neither lost
 * nor paid for in vain.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "os/lane.h"
#include "os/thread.h"

#include <kraftlog/error.h>
#include <string.h>

#define LANES_THREAD_MAX 4

/* Newest first. */
typedef _Atomic(struct kl_os_job *) lanes_stack;

/* The one that sleeps for jobs. */
struct lanes_sleeper
{
    struct kl_os_gate gate;
    atomic_int is_asleep;
};

struct lanes_threads;

struct lanes_worker
{
    struct lanes_threads *lanes;
    const char *name;
    struct kl_os_thread thread;
    int is_started; /* owner's */
    lanes_stack queue;
    struct lanes_sleeper sleeper;
    atomic_int is_stopping;
};

struct lanes_threads
{
    struct kl_os_lanes base;
    struct kl_base_alloc alloc;
    const struct kl_base_panic_hook *panic;
    kl_os_wake_fn wake;
    void *user;
    int thread_count;
    struct lanes_worker workers[LANES_THREAD_MAX];
    uint64_t under_way;      /* owner's: submitted and not taken */
    struct kl_os_job *taken; /* owner's: finished, to be given out */
    lanes_stack finished;
    struct lanes_sleeper owner;
};

/* Which thread serves a lane, by thread count. Few threads keep the commit
 * lane apart first, then the cold reads. */
static const unsigned char lanes_spread[LANES_THREAD_MAX][KL_OS_LANE_COUNT] = {
    {0, 0, 0, 0},
    {0, 1, 1, 1},
    {0, 2, 1, 2},
    {0, 1, 2, 3},
};

static const char *const lanes_names[LANES_THREAD_MAX][LANES_THREAD_MAX] = {
    {"kl-io"},
    {"kl-commit", "kl-io"},
    {"kl-commit", "kl-read", "kl-io"},
    {"kl-commit", "kl-segment", "kl-read", "kl-clean"},
};

static void lanes_push(lanes_stack *stack, struct kl_os_job *job)
{
    struct kl_os_job *head = atomic_load(stack);

    do
        job->next = head;
    while (!atomic_compare_exchange_weak(stack, &head, job));
}

/* All of it, oldest first. */
static struct kl_os_job *lanes_take_all(lanes_stack *stack)
{
    struct kl_os_job *job = NULL;
    struct kl_os_job *ordered = NULL;

    if (atomic_load_explicit(stack, memory_order_relaxed))
        job = atomic_exchange(stack, NULL);
    while (job) {
        struct kl_os_job *next = job->next;

        job->next = ordered;
        ordered = job;
        job = next;
    }
    return ordered;
}

static struct kl_os_job *lanes_pop(struct kl_os_job **list)
{
    struct kl_os_job *job = *list;

    if (job) {
        *list = job->next;
        job->next = NULL;
    }
    return job;
}

static void lanes_wake(struct lanes_sleeper *s)
{
    if (atomic_load(&s->is_asleep) && atomic_exchange(&s->is_asleep, 0))
        kl_os_gate_post(&s->gate);
}

/* Sleeps until woken, unless there is something already. */
static void lanes_sleep(struct lanes_sleeper *s, lanes_stack *stack,
                        atomic_int *is_stopping)
{
    atomic_store(&s->is_asleep, 1);
    if ((atomic_load(stack) || (is_stopping && atomic_load(is_stopping))) &&
        atomic_exchange(&s->is_asleep, 0))
        return;
    /* Also where somebody was faster: then the post is on its way. */
    (void)kl_os_gate_wait(&s->gate, -1);
}

/* Runs a job and hands it back. After the push the job is the owner's. */
static void lanes_run(struct lanes_threads *lanes, struct kl_os_job *job)
{
    job->run(job);
    lanes_push(&lanes->finished, job);
    lanes_wake(&lanes->owner);
    if (lanes->wake)
        lanes->wake(lanes->user);
}

static void lanes_worker_main(void *arg)
{
    struct lanes_worker *w = arg;

    kl_base_panic_enter(w->lanes->panic);
    for (;;) {
        /* Looked at first: nothing is submitted after it was set. */
        int is_stopping = atomic_load(&w->is_stopping);
        struct kl_os_job *batch = lanes_take_all(&w->queue);
        struct kl_os_job *job;

        if (!batch && is_stopping)
            return;
        if (!batch)
            lanes_sleep(&w->sleeper, &w->queue, &w->is_stopping);
        while ((job = lanes_pop(&batch)))
            lanes_run(w->lanes, job);
    }
}

static void threads_submit(struct kl_os_lanes *base, struct kl_os_job *job)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;
    struct lanes_worker *w;

    KL_ASSERT((unsigned)job->lane < KL_OS_LANE_COUNT);
    w = &lanes->workers[lanes_spread[lanes->thread_count - 1][job->lane]];
    lanes->under_way++;
    if (!w->is_started) {
        if (kl_os_thread_start(&w->thread, lanes_worker_main, w, w->name)) {
            /* Slow, but no work is lost: the next job tries again. */
            lanes_run(lanes, job);
            return;
        }
        w->is_started = 1;
    }
    lanes_push(&w->queue, job);
    lanes_wake(&w->sleeper);
}

static struct kl_os_job *threads_take(struct kl_os_lanes *base)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;
    struct kl_os_job *job;

    if (!lanes->under_way)
        return NULL;
    if (!lanes->taken)
        lanes->taken = lanes_take_all(&lanes->finished);
    job = lanes_pop(&lanes->taken);
    if (job)
        lanes->under_way--;
    return job;
}

static void threads_wait(struct kl_os_lanes *base)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;

    if (!lanes->under_way || lanes->taken)
        return;
    while (!atomic_load(&lanes->finished))
        lanes_sleep(&lanes->owner, &lanes->finished, NULL);
}

static void lanes_worker_deinit(struct lanes_worker *w)
{
    if (w->is_started) {
        atomic_store(&w->is_stopping, 1);
        lanes_wake(&w->sleeper);
        kl_os_thread_join(&w->thread);
    }
    kl_os_gate_deinit(&w->sleeper.gate);
}

static void threads_free(struct kl_os_lanes *base)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;
    struct kl_base_alloc alloc = lanes->alloc;

    KL_ASSERT(lanes->under_way == 0);
    for (int i = 0; i < lanes->thread_count; i++)
        lanes_worker_deinit(&lanes->workers[i]);
    kl_os_gate_deinit(&lanes->owner.gate);
    kl_base_free(&alloc, lanes, sizeof *lanes);
}

static const struct kl_os_lanes_ops threads_ops = {
    .submit = threads_submit,
    .take = threads_take,
    .wait = threads_wait,
    .free = threads_free,
};

int kl_os_lanes_threads_new(struct kl_os_lanes **out,
                            const struct kl_base_alloc *alloc, int thread_count,
                            const struct kl_base_panic_hook *panic,
                            kl_os_wake_fn wake, void *user)
{
    struct lanes_threads *lanes;
    int rc;
    int i = 0;

    if (thread_count < 1 || thread_count > LANES_THREAD_MAX)
        return KL_EINVAL;
    lanes = kl_base_calloc(alloc, sizeof *lanes);
    if (!lanes)
        return KL_ENOMEM;
    lanes->base.ops = &threads_ops;
    lanes->alloc = *alloc;
    lanes->panic = panic;
    lanes->wake = wake;
    lanes->user = user;
    lanes->thread_count = thread_count;
    rc = kl_os_gate_init(&lanes->owner.gate);
    if (rc)
        goto out_free;
    for (; i < thread_count; i++) {
        struct lanes_worker *w = &lanes->workers[i];

        w->lanes = lanes;
        w->name = lanes_names[thread_count - 1][i];
        rc = kl_os_gate_init(&w->sleeper.gate);
        if (rc)
            goto out_workers;
    }
    *out = &lanes->base;
    return 0;

out_workers:
    while (i-- > 0)
        lanes_worker_deinit(&lanes->workers[i]);
    kl_os_gate_deinit(&lanes->owner.gate);
out_free:
    kl_base_free(alloc, lanes, sizeof *lanes);
    return rc;
}
