/*
 * Lanes on threads: order, parallel work, waking, and the end.
 */
#include "base/assert.h"
#include "fail_alloc.h"
#include "os/lane.h"
#include "os/thread.h"

#include <check.h>
#include <kraftlog/error.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS_MAX = 4, JOBS = 2000 };

struct job
{
    struct kl_os_job base;
    struct world *world;
    int number; /* in its lane */
};

/* Places where jobs meet and leave their marks. */
struct world
{
    struct kl_os_lanes *lanes;
    struct kl_base_panic_hook panic;
    atomic_int wakes;
    atomic_int running;
    atomic_int running_max;
    int next_run[KL_OS_LANE_COUNT]; /* each touched by its lane only */
    struct kl_os_mutex mutex;
    struct kl_os_cond cond;
    uint64_t owner;
    int arrived;
    int expected;
};

static void world_wake(void *user)
{
    atomic_fetch_add(&((struct world *)user)->wakes, 1);
}

static void world_init(struct world *w, int thread_count)
{
    memset(w, 0, sizeof *w);
    ck_assert_int_eq(kl_os_mutex_init(&w->mutex), 0);
    ck_assert_int_eq(kl_os_cond_init(&w->cond), 0);
    ck_assert_int_eq(kl_os_lanes_threads_new(&w->lanes, &kl_base_alloc_libc,
                                             thread_count, &w->panic,
                                             world_wake, w),
                     0);
}

/* After free every thread has ended, so every wake call is counted. */
static void world_deinit(struct world *w, int jobs)
{
    w->lanes->ops->free(w->lanes);
    ck_assert_int_eq(atomic_load(&w->wakes), jobs);
    kl_os_cond_deinit(&w->cond);
    kl_os_mutex_deinit(&w->mutex);
}

static void submit(struct world *w, struct job *job, enum kl_os_lane_id lane,
                   void (*run)(struct kl_os_job *job))
{
    job->base.run = run;
    job->base.lane = lane;
    job->world = w;
    w->lanes->ops->submit(w->lanes, &job->base);
}

static struct job *take_one(struct world *w)
{
    struct kl_os_job *job;

    while (!(job = w->lanes->ops->take(w->lanes)))
        w->lanes->ops->wait(w->lanes);
    return (struct job *)job;
}

static void run_in_order(struct kl_os_job *base)
{
    struct job *job = (struct job *)base;
    struct world *w = job->world;
    int running = atomic_fetch_add(&w->running, 1) + 1;

    ck_assert_int_eq(job->number, w->next_run[base->lane]++);
    ck_assert_ptr_eq(kl_base_panic_current(), &w->panic);
    if (running > atomic_load(&w->running_max))
        atomic_store(&w->running_max, running);
    atomic_fetch_sub(&w->running, 1);
}

START_TEST(lane_keeps_its_order)
{
    static struct job jobs[JOBS];
    int next_taken[KL_OS_LANE_COUNT] = {0};
    int next[KL_OS_LANE_COUNT] = {0};
    struct world w;

    world_init(&w, _i);
    for (int i = 0; i < JOBS; i++) {
        int lane = (i * 7 + i / 5) % KL_OS_LANE_COUNT;

        jobs[i].number = next[lane]++;
        submit(&w, &jobs[i], (enum kl_os_lane_id)lane, run_in_order);
    }
    for (int i = 0; i < JOBS; i++) {
        struct job *job = take_one(&w);

        ck_assert_int_eq(job->number, next_taken[job->base.lane]++);
    }
    ck_assert_ptr_null(w.lanes->ops->take(w.lanes));
    ck_assert_int_le(atomic_load(&w.running_max), _i);
    world_deinit(&w, JOBS);
}
END_TEST

static void run_meeting(struct kl_os_job *base)
{
    struct world *w = ((struct job *)base)->world;

    kl_os_mutex_lock(&w->mutex);
    w->arrived++;
    kl_os_cond_broadcast(&w->cond);
    while (w->arrived < w->expected)
        kl_os_cond_wait(&w->cond, &w->mutex, -1);
    kl_os_mutex_unlock(&w->mutex);
}

/* The jobs end only when all of them are under way at the same time. */
START_TEST(lanes_work_in_parallel)
{
    static const enum kl_os_lane_id lanes[THREADS_MAX] = {
        KL_OS_LANE_COMMIT, KL_OS_LANE_CLEAN, KL_OS_LANE_READ,
        KL_OS_LANE_SEGMENT};
    struct job jobs[THREADS_MAX];
    struct world w;

    world_init(&w, _i);
    w.expected = _i;
    for (int i = 0; i < _i; i++)
        submit(&w, &jobs[i], lanes[i], run_meeting);
    for (int i = 0; i < _i; i++)
        take_one(&w);
    world_deinit(&w, _i);
}
END_TEST

static void run_gate(struct kl_os_job *base)
{
    struct world *w = ((struct job *)base)->world;

    kl_os_mutex_lock(&w->mutex);
    while (!w->expected)
        kl_os_cond_wait(&w->cond, &w->mutex, -1);
    kl_os_mutex_unlock(&w->mutex);
}

static void open_gate(void *user)
{
    struct world *w = user;

    kl_os_mutex_lock(&w->mutex);
    w->expected = 1;
    kl_os_cond_broadcast(&w->cond);
    kl_os_mutex_unlock(&w->mutex);
}

START_TEST(wait_for_the_first_finished)
{
    struct kl_os_thread opener;
    struct job slow, other;
    struct world w;

    world_init(&w, 2);
    w.lanes->ops->wait(w.lanes); /* nothing is under way */
    submit(&w, &slow, KL_OS_LANE_COMMIT, run_gate);
    ck_assert_ptr_null(w.lanes->ops->take(w.lanes));
    other.number = 0;
    submit(&w, &other, KL_OS_LANE_READ, run_in_order);
    w.lanes->ops->wait(w.lanes);
    w.lanes->ops->wait(w.lanes); /* as long as it is not taken */
    ck_assert_ptr_eq(w.lanes->ops->take(w.lanes), &other.base);
    ck_assert_ptr_null(w.lanes->ops->take(w.lanes));
    ck_assert_int_eq(kl_os_thread_start(&opener, open_gate, &w, "opener"), 0);
    w.lanes->ops->wait(w.lanes);
    ck_assert_ptr_eq(w.lanes->ops->take(w.lanes), &slow.base);
    w.lanes->ops->wait(w.lanes);
    kl_os_thread_join(&opener);
    world_deinit(&w, 2);
}
END_TEST

static void done_submits_again(struct kl_os_job *base)
{
    struct job *job = (struct job *)base;

    if (++job->number < 300)
        submit(job->world, job,
               (enum kl_os_lane_id)(job->number % KL_OS_LANE_COUNT), base->run);
}

static void run_nothing(struct kl_os_job *base)
{
    (void)base;
}

START_TEST(done_may_submit)
{
    struct job job = {.number = 0};
    struct kl_os_job *taken;
    struct world w;

    world_init(&w, _i);
    job.base.done = done_submits_again;
    submit(&w, &job, KL_OS_LANE_COMMIT, run_nothing);
    while (job.number < 300) {
        w.lanes->ops->wait(w.lanes);
        while ((taken = w.lanes->ops->take(w.lanes)))
            taken->done(taken);
    }
    world_deinit(&w, 300);
}
END_TEST

static void wake_fd(void *user)
{
    kl_os_wakeup_signal(user);
}

/* The owner sleeps on the descriptor alone, as a loop does. */
START_TEST(wake_is_never_lost)
{
    struct kl_os_lanes *lanes;
    struct kl_os_wakeup wakeup;
    struct job jobs[2];
    int taken = 0;

    ck_assert_int_eq(kl_os_wakeup_init(&wakeup), 0);
    ck_assert_int_eq(kl_os_lanes_threads_new(&lanes, &kl_base_alloc_libc, 4,
                                             NULL, wake_fd, &wakeup),
                     0);
    for (int i = 0; i < 2; i++) {
        jobs[i].base.run = run_nothing;
        jobs[i].base.lane = i ? KL_OS_LANE_READ : KL_OS_LANE_COMMIT;
        lanes->ops->submit(lanes, &jobs[i].base);
    }
    while (taken < JOBS) {
        struct kl_os_job *job;

        kl_os_wakeup_wait(&wakeup, -1);
        kl_os_wakeup_drain(&wakeup);
        while ((job = lanes->ops->take(lanes))) {
            if (++taken <= JOBS - 2)
                lanes->ops->submit(lanes, job);
        }
    }
    lanes->ops->free(lanes);
    kl_os_wakeup_deinit(&wakeup);
}
END_TEST

START_TEST(wake_may_be_left_out)
{
    struct kl_os_lanes *lanes;
    struct job job;

    ck_assert_int_eq(kl_os_lanes_threads_new(&lanes, &kl_base_alloc_libc, 1,
                                             NULL, NULL, NULL),
                     0);
    job.base.run = run_nothing;
    job.base.lane = KL_OS_LANE_SEGMENT;
    lanes->ops->submit(lanes, &job.base);
    lanes->ops->wait(lanes);
    ck_assert_ptr_eq(lanes->ops->take(lanes), &job.base);
    lanes->ops->free(lanes);
}
END_TEST

START_TEST(new_with_a_wrong_count)
{
    struct kl_os_lanes *lanes;

    ck_assert_int_eq(kl_os_lanes_threads_new(&lanes, &kl_base_alloc_libc, 0,
                                             NULL, NULL, NULL),
                     KL_EINVAL);
    ck_assert_int_eq(kl_os_lanes_threads_new(&lanes, &kl_base_alloc_libc, 5,
                                             NULL, NULL, NULL),
                     KL_EINVAL);
}
END_TEST

START_TEST(new_without_memory)
{
    struct fail_alloc f;
    struct kl_os_lanes *lanes;

    fail_alloc_init(&f);
    fail_alloc_arm(&f, 1);
    ck_assert_int_eq(
        kl_os_lanes_threads_new(&lanes, &f.alloc, 2, NULL, NULL, NULL),
        KL_ENOMEM);
    fail_alloc_arm(&f, 0);
    ck_assert_int_eq(
        kl_os_lanes_threads_new(&lanes, &f.alloc, 2, NULL, NULL, NULL), 0);
    lanes->ops->free(lanes);
    fail_alloc_deinit(&f);
}
END_TEST

#ifdef __GLIBC__
static void run_tell_thread(struct kl_os_job *base)
{
    struct job *job = (struct job *)base;

    job->number = kl_os_thread_self() == job->world->owner;
}

/* A stack that no machine has makes every start fail. The work is done all the
 * same, by the owner, and by a thread again when there can be one. */
START_TEST(submit_where_no_thread_starts)
{
    pthread_attr_t normal, huge;
    struct job job;
    struct world w;

    world_init(&w, 1);
    w.owner = kl_os_thread_self();
    ck_assert_int_eq(pthread_getattr_default_np(&normal), 0);
    ck_assert_int_eq(pthread_getattr_default_np(&huge), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 47), 0);
    ck_assert_int_eq(pthread_setattr_default_np(&huge), 0);
    submit(&w, &job, KL_OS_LANE_COMMIT, run_tell_thread);
    ck_assert_int_eq(pthread_setattr_default_np(&normal), 0);
    ck_assert_ptr_eq(take_one(&w), &job);
    ck_assert_int_eq(job.number, 1);
    submit(&w, &job, KL_OS_LANE_COMMIT, run_tell_thread);
    ck_assert_ptr_eq(take_one(&w), &job);
    ck_assert_int_eq(job.number, 0);
    pthread_attr_destroy(&normal);
    pthread_attr_destroy(&huge);
    world_deinit(&w, 2);
}
END_TEST
#endif

Suite *suite_os_lanes_threads(void);
Suite *suite_os_lanes_threads(void)
{
    Suite *s = suite_create("os_lanes_threads");
    TCase *tc = tcase_create("threads");

    tcase_add_loop_test(tc, lane_keeps_its_order, 1, THREADS_MAX + 1);
    tcase_add_loop_test(tc, lanes_work_in_parallel, 1, THREADS_MAX + 1);
    tcase_add_test(tc, wait_for_the_first_finished);
    tcase_add_loop_test(tc, done_may_submit, 1, THREADS_MAX + 1);
    tcase_add_test(tc, wake_is_never_lost);
    tcase_add_test(tc, wake_may_be_left_out);
    tcase_add_test(tc, new_with_a_wrong_count);
    tcase_add_test(tc, new_without_memory);
#ifdef __GLIBC__
    tcase_add_test(tc, submit_where_no_thread_starts);
#endif
    suite_add_tcase(s, tc);
    return s;
}
