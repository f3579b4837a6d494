/*
 * From any thread to the owner, and back to those who wait.
 */
#include "runtime/state.h"

int kl_runtime_inbox_is_empty(const struct kl_runtime_node *n)
{
    return atomic_load((_Atomic(struct kl_runtime_request *) *)&n->inbox) ==
           NULL;
}

void kl_runtime_wake(struct kl_runtime_node *n)
{
    switch (atomic_exchange(&n->sleeping, KL_RUNTIME_AWAKE)) {
    case KL_RUNTIME_AT_GATE:
        kl_os_gate_post(&n->gate);
        break;
    case KL_RUNTIME_AT_DESCRIPTOR:
        kl_os_wakeup_signal(&n->wakeup);
        break;
    }
}

static void submit_push(struct kl_runtime_node *n,
                        struct kl_runtime_request *request)
{
    struct kl_runtime_request *head = atomic_load(&n->inbox);

    do
        request->next = head;
    while (!atomic_compare_exchange_weak(&n->inbox, &head, request));
}

void kl_runtime_submit(struct kl_runtime_node *n,
                       struct kl_runtime_request *request)
{
    submit_push(n, request);
    if (atomic_load(&n->closed)) {
        kl_runtime_drain_closed(n);
        return;
    }
    /* The owner looks at the inbox before it sleeps; telling it would only cost
     * a system call. */
    if (atomic_load(&n->owner) != kl_os_thread_self())
        kl_runtime_wake(n);
}

/* Everything submitted so far, oldest first. */
static struct kl_runtime_request *submit_take(struct kl_runtime_node *n)
{
    struct kl_runtime_request *r = NULL;
    struct kl_runtime_request *ordered = NULL;

    if (atomic_load_explicit(&n->inbox, memory_order_relaxed))
        r = atomic_exchange(&n->inbox, NULL);
    while (r) {
        struct kl_runtime_request *next = r->next;

        r->next = ordered;
        ordered = r;
        r = next;
    }
    return ordered;
}

int kl_runtime_requests_run(struct kl_runtime_node *n)
{
    struct kl_runtime_request *r = submit_take(n);
    uint64_t count = 0;

    while (r) {
        struct kl_runtime_request *next = r->next;

        r->run(n, r, n->refusing);
        r = next;
        count++;
    }
    if (count)
        kl_base_stat_add(&n->stats.requests, count);
    return count > 0;
}

int kl_runtime_callbacks_run(struct kl_runtime_node *n)
{
    struct kl_runtime_request *r = n->callbacks.first;

    if (!r)
        return 0;
    n->callbacks.first = NULL;
    while (r) {
        struct kl_runtime_request *next = r->next;

        r->run(n, r, 1);
        r = next;
    }
    return 1;
}

/* Only one thread at a time plays the owner of a closed node, and it looks
 * again after it has stopped playing, for what came meanwhile. What it runs may
 * give up the last references but its own. */
void kl_runtime_drain_closed(struct kl_runtime_node *n)
{
    kl_runtime_ref(n);
    while (!kl_runtime_inbox_is_empty(n)) {
        int idle = 0;

        if (!atomic_compare_exchange_strong(&n->draining, &idle, 1))
            break;
        while (kl_runtime_requests_run(n) | kl_runtime_finish_run(n) |
               kl_runtime_callbacks_run(n))
            continue;
        n->notified = 0;
        kl_runtime_broadcast(n);
        atomic_store(&n->draining, 0);
    }
    kl_runtime_unref(n);
}

void kl_runtime_notify(struct kl_runtime_node *n)
{
    n->notified = 1;
}

void kl_runtime_notify_flush(struct kl_runtime_node *n)
{
    if (!n->notified)
        return;
    n->notified = 0;
    kl_runtime_broadcast(n);
}

void kl_runtime_broadcast(struct kl_runtime_node *n)
{
    /* Pairs with the waiter that counts itself, then looks. */
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load(&n->waiter_count))
        return;
    /* Who looked too early holds the mutex until it sleeps; who is woken must
     * not find it held. */
    kl_os_mutex_lock(&n->mutex);
    kl_os_mutex_unlock(&n->mutex);
    kl_os_cond_broadcast(&n->cond);
}

int kl_runtime_wait_asleep(struct kl_runtime_node *n, int (*ready)(void *arg),
                           void *arg, int64_t until_ns)
{
    int r = 0;

    kl_os_mutex_lock(&n->mutex);
    atomic_fetch_add(&n->waiter_count, 1);
    while (!ready(arg)) {
        if (atomic_load(&n->closed)) {
            /* Closing completes everything before it says closed. */
            r = ready(arg) ? 0 : KL_ECLOSED;
            break;
        }
        if (n->clock->monotonic_ns(n->clock->user) >= until_ns) {
            r = KL_ETIMEDOUT;
            break;
        }
        (void)kl_os_cond_wait(&n->cond, &n->mutex,
                              until_ns == INT64_MAX ? -1 : until_ns);
    }
    atomic_fetch_sub(&n->waiter_count, 1);
    kl_os_mutex_unlock(&n->mutex);
    return r;
}

int kl_runtime_wait(struct kl_runtime_node *n, int (*ready)(void *arg),
                    void *arg, int32_t timeout_ms)
{
    int64_t until_ns = kl_runtime_until(n, timeout_ms);
    int r;

    if (ready(arg))
        return 0;
    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_load(&n->state) == KL_NODE_NEW)
        return KL_ESTATE;
    r = kl_runtime_enter(n);
    if (r == KL_EOWNER || r == KL_ECLOSED)
        return kl_runtime_wait_asleep(n, ready, arg, until_ns);
    if (r)
        return r;
    r = kl_runtime_drive(n, ready, arg, until_ns);
    kl_runtime_leave(n);
    return r;
}
