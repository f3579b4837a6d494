/*
 * Deadlines in one list, earliest first. There are few (a producer has one),
 * and a new one is nearly always the latest, so it is put in from the end.
 */
#include "runtime/state.h"

static struct kl_runtime_timer *timer_of(const struct kl_base_list *link)
{
    return KL_BASE_CONTAINER(link, struct kl_runtime_timer, link);
}

void kl_runtime_timer_init(struct kl_runtime_timer *t)
{
    kl_base_list_init(&t->link);
}

void kl_runtime_timer_set(struct kl_runtime_node *n, struct kl_runtime_timer *t,
                          int64_t deadline_ns)
{
    struct kl_base_list *before;

    kl_base_list_remove(&t->link);
    t->deadline_ns = deadline_ns;
    before = n->timers.prev;
    while (before != &n->timers && timer_of(before)->deadline_ns > deadline_ns)
        before = before->prev;
    /* Pushing at the end of a list whose head is the successor puts it there.
     */
    kl_base_list_push(before->next, &t->link);
}

void kl_runtime_timer_cancel(struct kl_runtime_node *n,
                             struct kl_runtime_timer *t)
{
    (void)n;
    kl_base_list_remove(&t->link);
}

static void timer_fire_nothing(struct kl_runtime_node *n,
                               struct kl_runtime_timer *t)
{
    /* The turn that it is fired in goes on to what is due. */
    (void)n;
    (void)t;
}

void kl_runtime_turn_at(struct kl_runtime_node *n, struct kl_runtime_timer *t,
                        int64_t at)
{
    t->fire = timer_fire_nothing;
    if (at == INT64_MAX)
        kl_runtime_timer_cancel(n, t);
    else
        kl_runtime_timer_set(n, t, at);
}

int kl_runtime_timers_fire(struct kl_runtime_node *n, int64_t now_ns)
{
    struct kl_base_list due;
    struct kl_base_list *link;
    int fired = 0;

    /* Those that are set again while firing wait for the next turn. */
    kl_base_list_init(&due);
    while ((link = kl_base_list_first(&n->timers)) &&
           timer_of(link)->deadline_ns <= now_ns) {
        kl_base_list_remove(link);
        kl_base_list_push(&due, link);
    }
    while ((link = kl_base_list_pop(&due))) {
        struct kl_runtime_timer *t = timer_of(link);

        t->fire(n, t);
        fired = 1;
    }
    return fired;
}

int64_t kl_runtime_timers_deadline(const struct kl_runtime_node *n)
{
    if (kl_base_list_is_empty(&n->timers))
        return INT64_MAX;
    return timer_of(n->timers.next)->deadline_ns;
}

void kl_runtime_timers_clear(struct kl_runtime_node *n)
{
    while (kl_base_list_pop(&n->timers))
        continue;
}
