/*
 * The loop: turns while there is something to do, sleep while there is not.
 */
#include "runtime/state.h"

/* Turns in a row before a host's own loop gets a chance. */
enum { LOOP_TURNS_MAX = 64 };

/* In a thread that took the node over, a waker may still believe that the old
 * owner is awake; then the sleep is short. */
#define LOOP_TAKEN_OVER_NS INT64_C(10000000)

int64_t kl_runtime_until(const struct kl_runtime_node *n, int32_t timeout_ms)
{
    if (timeout_ms < 0)
        return INT64_MAX;
    return kl_runtime_now_ns(n) + timeout_ms * INT64_C(1000000);
}

static void loop_trace_checkpoint(struct kl_runtime_node *n)
{
    const struct kl_store_stats *s = kl_store_stats(n->store);
    uint64_t count = kl_base_stat_get(&s->checkpoints);

    if (count == n->checkpoints_seen)
        return;
    n->checkpoints_seen = count;
    kl_runtime_trace(n, KL_TRACE_DEBUG,
                     "store.checkpoint count=%llu wal_bytes=%llu",
                     (unsigned long long)count,
                     (unsigned long long)kl_base_stat_get(&s->wal_bytes));
}

static void loop_trace_store(struct kl_runtime_node *n)
{
    const struct kl_store_stats *s = kl_store_stats(n->store);
    int full = kl_store_is_full(n->store);

    loop_trace_checkpoint(n);
    if (full == n->full_seen)
        return;
    n->full_seen = full;
    kl_runtime_trace(n, full ? KL_TRACE_WARN : KL_TRACE_INFO,
                     "store.%s disk_bytes=%llu refusals=%llu",
                     full ? "full" : "room",
                     (unsigned long long)kl_base_stat_get(&s->disk_bytes),
                     (unsigned long long)kl_base_stat_get(&s->refusals));
}

int kl_runtime_turn(struct kl_runtime_node *n)
{
    int moved;

    n->now_ns = n->clock->monotonic_ns(n->clock->user);
    kl_base_stat_add(&n->stats.turns, 1);
    atomic_store(&n->lanes_woken, 0);
    moved = kl_runtime_requests_run(n);
    moved |= kl_runtime_timers_fire(n, n->now_ns);
    kl_store_turn(n->store, n->now_ns, n->clock->wall_ms(n->clock->user));
    moved |= kl_runtime_events_run(n);
    moved |= kl_runtime_metadata_step(n);
    moved |= kl_runtime_quorum_step(n);
    moved |= kl_runtime_forward_step(n);
    moved |= kl_runtime_broker_step(n);
    moved |= kl_runtime_requests_step(n);
    moved |= kl_runtime_links_step(n);
    moved |= kl_runtime_join_step(n);
    moved |= kl_runtime_snapshot_step(n);
    moved |= kl_runtime_finish_run(n);
    moved |= kl_runtime_callbacks_run(n);
    if (atomic_load_explicit(&n->stop_wanted, memory_order_relaxed))
        moved |= kl_runtime_stop_step(n);
    else
        loop_trace_store(n);
    kl_runtime_notify_flush(n);
    return moved;
}

int kl_runtime_is_inside(const struct kl_runtime_node *n)
{
    return kl_base_panic_current() == &n->panic ||
           atomic_load(&n->inside) == kl_os_thread_self();
}

void kl_runtime_inside(struct kl_runtime_node *n)
{
    n->outer_hook = kl_base_panic_current();
    kl_base_panic_enter(&n->panic);
}

void kl_runtime_outside(struct kl_runtime_node *n)
{
    atomic_store(&n->inside, 0);
    /* Looked at afterwards: who wants to come in says so, then looks. */
    if (atomic_load(&n->inside_wanted))
        kl_runtime_broadcast(n);
}

int kl_runtime_enter(struct kl_runtime_node *n)
{
    uint64_t self = kl_os_thread_self();
    uint64_t owner = 0;
    uint64_t inside = 0;

    if (kl_runtime_is_inside(n))
        return KL_EREENTRY;
    if (!atomic_compare_exchange_strong(&n->owner, &owner, self) &&
        owner != self)
        return KL_EOWNER;
    if (!atomic_compare_exchange_strong(&n->inside, &inside, self))
        return KL_EOWNER;
    /* kl_node_stop in another thread may have come in between. */
    if (atomic_load(&n->owner) != self) {
        kl_runtime_outside(n);
        return KL_EOWNER;
    }
    if (atomic_load(&n->closed)) {
        kl_runtime_outside(n);
        return KL_ECLOSED;
    }
    kl_runtime_inside(n);
    kl_runtime_awake(n);
    return 0;
}

/* Says that the owner sleeps. 1 where there is something to do already. */
static int loop_fall_asleep(struct kl_runtime_node *n,
                            enum kl_runtime_sleeping where)
{
    atomic_store(&n->sleeping, where);
    if (kl_runtime_inbox_is_empty(n) && !atomic_load(&n->lanes_woken) &&
        !atomic_load(&n->crash_wanted) &&
        (!atomic_load(&n->stop_wanted) ||
         atomic_load(&n->state) == KL_NODE_STOPPING))
        return 0;
    return 1;
}

void kl_runtime_awake(struct kl_runtime_node *n)
{
    /* Somebody was faster, and has signalled or is about to. */
    if (atomic_exchange(&n->sleeping, KL_RUNTIME_AWAKE) == KL_RUNTIME_AWAKE)
        n->signals++;
}

/* The descriptor is readable no more. A signal that is still on its way makes
 * it readable again, and is drained the next time. */
static void loop_drain(struct kl_runtime_node *n)
{
    if (n->signals)
        n->signals -= kl_os_wakeup_drain(&n->wakeup);
}

void kl_runtime_leave(struct kl_runtime_node *n)
{
    loop_drain(n);
    /* From here on the host sleeps for us, on the descriptor. */
    if (loop_fall_asleep(n, KL_RUNTIME_AT_DESCRIPTOR))
        kl_runtime_wake(n);
    kl_base_panic_enter(n->outer_hook);
    kl_runtime_outside(n);
}

/* When the node itself wants to be woken. */
static int64_t loop_deadline(const struct kl_runtime_node *n)
{
    int64_t store = kl_store_deadline(n->store);
    int64_t timers = kl_runtime_timers_deadline(n);

    if (!n->own_lanes)
        return 0;
    return store < timers ? store : timers;
}

/* Until when to sleep; 0 = not at all. */
static int64_t loop_sleep_until(const struct kl_runtime_node *n,
                                int64_t until_ns, int64_t now)
{
    int64_t deadline = loop_deadline(n);

    if (until_ns < deadline)
        deadline = until_ns;
    if (n->taken_over && deadline > now + LOOP_TAKEN_OVER_NS)
        deadline = now + LOOP_TAKEN_OVER_NS;
    return deadline <= now ? 0 : deadline;
}

/* Sleeps until something is to be done or until_ns (INT64_MAX = for ever). */
static void loop_sleep(struct kl_runtime_node *n, int64_t until_ns)
{
    int64_t now = n->clock->monotonic_ns(n->clock->user);
    int64_t deadline = loop_sleep_until(n, until_ns, now);
    int passed = 1;

    if (!deadline)
        return;
    if (!loop_fall_asleep(n, KL_RUNTIME_AT_GATE)) {
        kl_base_stat_add(&n->stats.sleeps, 1);
        passed =
            kl_os_gate_wait(&n->gate, deadline == INT64_MAX ? -1 : deadline);
    }
    /* Where somebody was faster, a post is on its way. */
    if (passed &&
        atomic_exchange(&n->sleeping, KL_RUNTIME_AWAKE) == KL_RUNTIME_AWAKE)
        (void)kl_os_gate_wait(&n->gate, -1);
}

/* The same for a host that polls: its signal handlers end the sleep. */
static void loop_sleep_polling(struct kl_runtime_node *n, int64_t until_ns)
{
    int64_t now = n->clock->monotonic_ns(n->clock->user);
    int64_t deadline = loop_sleep_until(n, until_ns, now);

    if (!deadline)
        return;
    if (!loop_fall_asleep(n, KL_RUNTIME_AT_DESCRIPTOR)) {
        kl_base_stat_add(&n->stats.sleeps, 1);
        kl_os_wakeup_wait(&n->wakeup,
                          deadline == INT64_MAX ? -1 : deadline - now);
    }
    kl_runtime_awake(n);
}

int kl_runtime_drive(struct kl_runtime_node *n, int (*ready)(void *arg),
                     void *arg, int64_t until_ns)
{
    for (;;) {
        int moved = kl_runtime_turn(n);

        if (ready(arg))
            return 0;
        if (atomic_load(&n->closed))
            return KL_ECLOSED;
        if (n->clock->monotonic_ns(n->clock->user) >= until_ns)
            return KL_ETIMEDOUT;
        if (!moved)
            loop_sleep(n, until_ns);
    }
}

static int loop_turns(struct kl_runtime_node *n)
{
    int count = 0;

    while (count < LOOP_TURNS_MAX && !atomic_load(&n->closed) &&
           kl_runtime_turn(n))
        count++;
    return count;
}

int kl_runtime_poll(struct kl_runtime_node *n, int32_t timeout_ms)
{
    int64_t until_ns;
    int r;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_load(&n->state) == KL_NODE_NEW)
        return KL_ESTATE;
    r = kl_runtime_enter(n);
    if (r)
        return r;
    until_ns = kl_runtime_until(n, timeout_ms);
    if (!loop_turns(n) && timeout_ms && !atomic_load(&n->closed)) {
        loop_sleep_polling(n, until_ns);
        loop_turns(n);
    }
    kl_runtime_leave(n);
    return 0;
}

void kl_runtime_step(struct kl_runtime_node *n)
{
    if (kl_runtime_enter(n))
        return;
    (void)kl_runtime_turn(n);
    kl_runtime_leave(n);
}

int kl_runtime_fd(const struct kl_runtime_node *n)
{
    return n->wakeup.fd;
}

int kl_runtime_deadline(const struct kl_runtime_node *n, int64_t *ns_out)
{
    int64_t deadline;
    int64_t now;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_load(&n->state) == KL_NODE_NEW)
        return KL_ESTATE;
    if (atomic_load(&n->closed))
        return KL_ECLOSED;
    if (atomic_load(&n->owner) && atomic_load(&n->owner) != kl_os_thread_self())
        return KL_EOWNER;
    if (!kl_runtime_inbox_is_empty(n) || atomic_load(&n->lanes_woken)) {
        *ns_out = 0;
        return 0;
    }
    deadline = loop_deadline(n);
    now = n->clock->monotonic_ns(n->clock->user);
    *ns_out = deadline == INT64_MAX ? -1 : deadline <= now ? 0 : deadline - now;
    return 0;
}

static void loop_thread(void *user)
{
    struct kl_runtime_node *n = user;

    atomic_store(&n->owner, kl_os_thread_self());
    atomic_store(&n->inside, kl_os_thread_self());
    kl_base_panic_enter(&n->panic);
    while (!atomic_load(&n->closed)) {
        if (atomic_load(&n->crash_wanted))
            kl_runtime_teardown(n);
        else if (!kl_runtime_turn(n))
            loop_sleep(n, INT64_MAX);
    }
    kl_base_panic_enter(NULL);
    /* The number of this thread may be given to another one. */
    atomic_store(&n->owner, KL_RUNTIME_OWNER_LIBRARY);
    kl_runtime_outside(n);
}

/* Becomes the owner and goes inside, for the thread that is to come. */
static int loop_claim(struct kl_runtime_node *n)
{
    uint64_t nobody = 0;
    uint64_t library = KL_RUNTIME_OWNER_LIBRARY;
    uint64_t outside = 0;

    if (kl_runtime_check(n) ||
        !atomic_compare_exchange_strong(&n->owner, &nobody, library))
        return KL_ESTATE;
    if (atomic_compare_exchange_strong(&n->inside, &outside, library)) {
        if (!kl_runtime_check(n))
            return 0;
        kl_runtime_outside(n);
    }
    /* kl_node_stop was faster, and may have taken the place already. */
    (void)atomic_compare_exchange_strong(&n->owner, &library, 0);
    return KL_ESTATE;
}

int kl_runtime_start(struct kl_runtime_node *n)
{
    int r;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    r = loop_claim(n);
    if (r)
        return r;
    kl_runtime_awake(n);
    kl_os_mutex_lock(&n->mutex);
    r = kl_os_thread_start(&n->thread, loop_thread, n, "kl-node");
    if (!r)
        n->thread_state = KL_RUNTIME_THREAD_RUNS;
    kl_os_mutex_unlock(&n->mutex);
    if (r) {
        atomic_store(&n->owner, 0);
        kl_runtime_outside(n);
    }
    return r;
}
