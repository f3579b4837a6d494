/*
 * An ordered stop, in three steps: what was accepted is finished, then the
 * store writes out what it holds and a clean checkpoint, then the folder is
 * closed. A crash stop is the last step alone.
 */
#include "runtime/state.h"

/* Nothing that was accepted is left. */
static int stop_is_drained(const struct kl_runtime_node *n)
{
    return n->produce_count == 0 && kl_runtime_metadata_is_idle(n) &&
           kl_runtime_inbox_is_empty(n) && !n->callbacks.first &&
           kl_base_list_is_empty(&n->produce_done);
}

static void stop_begin(struct kl_runtime_node *n)
{
    atomic_store(&n->state, KL_NODE_STOPPING);
    kl_runtime_trace(n, KL_TRACE_INFO, "node.stop begin");
    /* What waits for a time, as a batch does for linger.ms, is sent now. */
    (void)kl_runtime_timers_fire(n, INT64_MAX);
}

int kl_runtime_stop_step(struct kl_runtime_node *n)
{
    if (atomic_load(&n->state) != KL_NODE_STOPPING) {
        stop_begin(n);
        return 1;
    }
    if (!n->refusing) {
        if (!n->store_failed && !stop_is_drained(n))
            return 0;
        if (!kl_runtime_broker_may_stop(n))
            return 0;
        if (!n->is_leaving) {
            n->is_leaving = 1;
            kl_runtime_quorum_resign(n);
            return 1;
        }
        n->refusing = 1;
        kl_store_stop(n->store);
        return 1;
    }
    if (!n->store_failed && !kl_store_is_stopped(n->store))
        return 0;
    if (n->store_failed)
        n->stop_code = kl_store_failure(n->store, NULL);
    kl_runtime_teardown(n);
    return 1;
}

static int stop_is_closed(void *arg)
{
    return atomic_load(&((struct kl_runtime_node *)arg)->closed);
}

/* Something to wait for while another thread is inside. */
static int stop_is_free(void *arg)
{
    struct kl_runtime_node *n = arg;

    return stop_is_closed(n) || !atomic_load(&n->inside);
}

/* Becomes the owner whoever was it, as soon as nobody is inside; not where the
 * node has been closed meanwhile. */
static int stop_take_over(struct kl_runtime_node *n, int64_t until_ns)
{
    uint64_t self = kl_os_thread_self();

    atomic_store(&n->inside_wanted, 1);
    for (;;) {
        uint64_t outside = 0;
        int r;

        if (atomic_compare_exchange_strong(&n->inside, &outside, self))
            break;
        r = kl_runtime_wait_asleep(n, stop_is_free, n, until_ns);
        if (r)
            return r;
        if (stop_is_closed(n))
            return 0;
    }
    if (stop_is_closed(n)) {
        kl_runtime_outside(n);
        return 0;
    }
    if (atomic_load(&n->owner) != self) {
        atomic_store(&n->owner, self);
        n->taken_over = 1;
    }
    kl_runtime_awake(n);
    kl_runtime_inside(n);
    return 0;
}

/* Joins the node's thread once, in whichever thread comes first. */
static void stop_join(struct kl_runtime_node *n)
{
    int mine;

    kl_os_mutex_lock(&n->mutex);
    mine = n->thread_state == KL_RUNTIME_THREAD_RUNS;
    if (mine)
        n->thread_state = KL_RUNTIME_THREAD_JOINED;
    kl_os_mutex_unlock(&n->mutex);
    if (mine)
        kl_os_thread_join(&n->thread);
}

static int stop_has_thread(struct kl_runtime_node *n)
{
    int has;

    kl_os_mutex_lock(&n->mutex);
    has = n->thread_state != KL_RUNTIME_THREAD_NONE;
    kl_os_mutex_unlock(&n->mutex);
    return has;
}

static int stop_polled(struct kl_runtime_node *n, int64_t until_ns)
{
    int r = stop_take_over(n, until_ns);

    if (r || stop_is_closed(n))
        return r;
    r = kl_runtime_drive(n, stop_is_closed, n, until_ns);
    kl_runtime_leave(n);
    return r;
}

int kl_runtime_stop(struct kl_runtime_node *n, int32_t timeout_ms)
{
    int64_t until_ns = kl_runtime_until(n, timeout_ms);
    int r;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_load(&n->state) == KL_NODE_NEW)
        return KL_ESTATE;
    if (kl_runtime_is_inside(n))
        return KL_EREENTRY;
    if (stop_is_closed(n)) {
        stop_join(n);
        return n->stop_code;
    }
    atomic_store(&n->stop_wanted, 1);
    kl_runtime_wake(n);
    r = stop_has_thread(n)
            ? kl_runtime_wait_asleep(n, stop_is_closed, n, until_ns)
            : stop_polled(n, until_ns);
    if (r)
        return r;
    stop_join(n);
    return n->stop_code;
}

int kl_runtime_close(struct kl_runtime_node *n)
{
    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (kl_runtime_is_inside(n))
        return KL_EREENTRY;
    if (atomic_load(&n->state) != KL_NODE_NEW && !stop_is_closed(n)) {
        if (stop_has_thread(n)) {
            atomic_store(&n->crash_wanted, 1);
            kl_runtime_wake(n);
            stop_join(n);
        } else if (stop_take_over(n, INT64_MAX) == 0 && !stop_is_closed(n)) {
            kl_runtime_teardown(n);
            kl_runtime_leave(n);
        }
    }
    stop_join(n);
    if (!stop_is_closed(n)) {
        /* Never opened: nobody may begin anything any more. */
        n->refusing = 1;
        atomic_store(&n->closed, 1);
        kl_runtime_drain_closed(n);
    }
    kl_runtime_unref(n);
    return 0;
}
