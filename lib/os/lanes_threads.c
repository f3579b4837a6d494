/*
 * Lanes on threads. Every thread has a queue of its own and takes all of it at
 * once; what is finished goes to one list, which the owner takes all of at
 * once. A lock is held for linking only, and a sleeper is woken after it is
 * released, so that it does not wake into a held lock.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "os/lane.h"
#include "os/thread.h"

#include <kraftlog/error.h>
#include <string.h>

#define LANES_THREAD_MAX 4

struct lanes_queue
{
    struct kl_os_job *first;
    struct kl_os_job *last;
};

struct lanes_threads;

struct lanes_worker
{
    struct lanes_threads *lanes;
    const char *name;
    struct kl_os_thread thread;
    int is_started; /* owner's */
    struct kl_os_mutex mutex;
    struct kl_os_cond cond;
    struct lanes_queue queue;
    int is_asleep;
    int is_stopping;
};

struct lanes_threads
{
    struct kl_os_lanes base;
    struct kl_base_alloc alloc;
    kl_os_wake_fn wake;
    void *user;
    int thread_count;
    struct lanes_worker workers[LANES_THREAD_MAX];
    uint64_t under_way;       /* owner's: submitted and not taken */
    struct lanes_queue taken; /* owner's: finished, to be given out */
    struct kl_os_mutex mutex; /* over the rest */
    struct kl_os_cond cond;
    struct lanes_queue finished;
    int is_waiting;
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

static void lanes_push(struct lanes_queue *q, struct kl_os_job *job)
{
    job->next = NULL;
    if (q->first)
        q->last->next = job;
    else
        q->first = job;
    q->last = job;
}

static struct kl_os_job *lanes_pop(struct lanes_queue *q)
{
    struct kl_os_job *job = q->first;

    if (job) {
        q->first = job->next;
        job->next = NULL;
    }
    return job;
}

/* Runs a job and hands it back. After the unlock the job is the owner's. */
static void lanes_run(struct lanes_threads *lanes, struct kl_os_job *job)
{
    int is_waiting;

    job->run(job);
    kl_os_mutex_lock(&lanes->mutex);
    lanes_push(&lanes->finished, job);
    is_waiting = lanes->is_waiting;
    lanes->is_waiting = 0;
    kl_os_mutex_unlock(&lanes->mutex);
    if (is_waiting)
        kl_os_cond_broadcast(&lanes->cond);
    if (lanes->wake)
        lanes->wake(lanes->user);
}

static void lanes_worker_main(void *arg)
{
    struct lanes_worker *w = arg;

    for (;;) {
        struct lanes_queue batch;
        struct kl_os_job *job;

        kl_os_mutex_lock(&w->mutex);
        while (!w->queue.first && !w->is_stopping) {
            w->is_asleep = 1;
            kl_os_cond_wait(&w->cond, &w->mutex, -1);
        }
        w->is_asleep = 0;
        batch = w->queue;
        w->queue.first = NULL;
        kl_os_mutex_unlock(&w->mutex);
        if (!batch.first)
            return;
        while ((job = lanes_pop(&batch)))
            lanes_run(w->lanes, job);
    }
}

static void threads_submit(struct kl_os_lanes *base, struct kl_os_job *job)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;
    struct lanes_worker *w;
    int is_asleep;

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
    kl_os_mutex_lock(&w->mutex);
    lanes_push(&w->queue, job);
    is_asleep = w->is_asleep;
    w->is_asleep = 0;
    kl_os_mutex_unlock(&w->mutex);
    if (is_asleep)
        kl_os_cond_broadcast(&w->cond);
}

static struct kl_os_job *threads_take(struct kl_os_lanes *base)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;
    struct kl_os_job *job;

    if (!lanes->under_way)
        return NULL;
    if (!lanes->taken.first) {
        kl_os_mutex_lock(&lanes->mutex);
        lanes->taken = lanes->finished;
        lanes->finished.first = NULL;
        kl_os_mutex_unlock(&lanes->mutex);
    }
    job = lanes_pop(&lanes->taken);
    if (job)
        lanes->under_way--;
    return job;
}

static void threads_wait(struct kl_os_lanes *base)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;

    if (!lanes->under_way || lanes->taken.first)
        return;
    kl_os_mutex_lock(&lanes->mutex);
    while (!lanes->finished.first) {
        lanes->is_waiting = 1;
        kl_os_cond_wait(&lanes->cond, &lanes->mutex, -1);
    }
    lanes->is_waiting = 0;
    kl_os_mutex_unlock(&lanes->mutex);
}

static void lanes_worker_deinit(struct lanes_worker *w)
{
    if (w->is_started) {
        kl_os_mutex_lock(&w->mutex);
        w->is_stopping = 1;
        kl_os_mutex_unlock(&w->mutex);
        kl_os_cond_broadcast(&w->cond);
        kl_os_thread_join(&w->thread);
    }
    kl_os_cond_deinit(&w->cond);
    kl_os_mutex_deinit(&w->mutex);
}

static void threads_free(struct kl_os_lanes *base)
{
    struct lanes_threads *lanes = (struct lanes_threads *)base;
    struct kl_base_alloc alloc = lanes->alloc;

    KL_ASSERT(lanes->under_way == 0);
    for (int i = 0; i < lanes->thread_count; i++)
        lanes_worker_deinit(&lanes->workers[i]);
    kl_os_cond_deinit(&lanes->cond);
    kl_os_mutex_deinit(&lanes->mutex);
    kl_base_free(&alloc, lanes, sizeof *lanes);
}

static const struct kl_os_lanes_ops threads_ops = {
    .submit = threads_submit,
    .take = threads_take,
    .wait = threads_wait,
    .free = threads_free,
};

/* A mutex and a condition, both or none. */
static int lanes_pair_init(struct kl_os_mutex *m, struct kl_os_cond *c)
{
    int rc = kl_os_mutex_init(m);

    if (rc)
        return rc;
    rc = kl_os_cond_init(c);
    if (rc)
        kl_os_mutex_deinit(m);
    return rc;
}

int kl_os_lanes_threads_new(struct kl_os_lanes **out,
                            const struct kl_base_alloc *alloc, int thread_count,
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
    lanes->wake = wake;
    lanes->user = user;
    lanes->thread_count = thread_count;
    rc = lanes_pair_init(&lanes->mutex, &lanes->cond);
    if (rc)
        goto out_free;
    for (; i < thread_count; i++) {
        struct lanes_worker *w = &lanes->workers[i];

        w->lanes = lanes;
        w->name = lanes_names[thread_count - 1][i];
        rc = lanes_pair_init(&w->mutex, &w->cond);
        if (rc)
            goto out_workers;
    }
    *out = &lanes->base;
    return 0;

out_workers:
    while (i-- > 0)
        lanes_worker_deinit(&lanes->workers[i]);
    kl_os_cond_deinit(&lanes->cond);
    kl_os_mutex_deinit(&lanes->mutex);
out_free:
    kl_base_free(alloc, lanes, sizeof *lanes);
    return rc;
}
