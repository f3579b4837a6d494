/*
 * What a change of one broker means for all partitions that it concerns.
 */
#include "controller/state.h"

#include <string.h>

/* ---- logs that are listed ---------------------------------------------- */

static int sweep_compare(const struct kl_controller_log_id *a,
                         const struct kl_base_uuid *topic_id, int32_t partition)
{
    int order =
        memcmp(a->topic_id.bytes, topic_id->bytes, sizeof topic_id->bytes);

    if (order)
        return order;
    return a->partition < partition ? -1 : a->partition > partition;
}

int kl_controller_listed_check(const struct kl_controller_log_id *listed,
                               size_t count, struct kl_base_error *e)
{
    for (size_t i = 1; i < count; i++)
        if (sweep_compare(&listed[i - 1], &listed[i].topic_id,
                          listed[i].partition) >= 0)
            return kl_base_error_set(e, KL_EINVAL,
                                     "damaged logs are not in order");
    return 0;
}

static int sweep_is_listed(const struct kl_controller_sweep *s,
                           const struct kl_base_uuid *topic_id,
                           int32_t partition)
{
    size_t low = 0, high = s->listed_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = sweep_compare(&s->listed[mid], topic_id, partition);

        if (order == 0)
            return 1;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

/* ---- one partition ----------------------------------------------------- */

struct sweep_place
{
    const struct kl_controller_topic *topic;
    struct kl_controller_rules rules;
    int32_t index;
    const struct kl_controller_partition *p;
};

/* Whether the broker's records of this partition may be incomplete. */
static int sweep_loses(const struct kl_controller_sweep *s,
                       const struct sweep_place *at)
{
    if (s->loss >= KL_CONTROLLER_LOSS_ALL)
        return 1;
    if (s->loss == KL_CONTROLLER_LOSS_NONE)
        return 0;
    if (at->rules.interval)
        return 1;
    /* The only copy answers for its damage itself. */
    return at->p->counts[KL_CONTROLLER_REPLICAS] > 1 &&
           sweep_is_listed(s, &at->topic->id, at->index);
}

/* Whether there may be anything to change, cheaply. */
static int sweep_concerns(const struct kl_controller_sweep *s,
                          const struct kl_controller_partition *p)
{
    int32_t id = s->view.broker_id;

    if (s->elects && p->leader < 0)
        return 1;
    return kl_controller_partition_has(p, KL_CONTROLLER_REPLICAS, id) &&
           (s->leaves_isr || s->loss != KL_CONTROLLER_LOSS_NONE);
}

static int sweep_partition(const struct kl_controller_sweep *s,
                           const struct sweep_place *at,
                           struct kl_controller_records *out, size_t limit,
                           struct kl_base_error *e)
{
    struct kl_controller_context context = {s->view, at->rules, -1, 0};
    struct kl_controller_change x;
    uint32_t broker;

    kl_controller_change_load(&x, at->p);
    broker = kl_controller_change_bit(&x, s->view.broker_id);
    if (s->leaves_isr)
        x.isr &= ~broker;
    if (broker && sweep_loses(s, at)) {
        x.isr &= ~broker;
        x.lost = broker;
        if (s->loss == KL_CONTROLLER_LOSS_WIPED)
            x.wiped = broker;
    }
    if (!kl_controller_change_finish(&x, at->p, &context))
        return 0;
    return kl_controller_change_try(&x, &at->topic->id, at->index, out, limit,
                                    e);
}

/* 0, 1 where the batch is full, or a code. */
static int sweep_topic(const struct kl_controller_sweep *s,
                       const struct kl_controller_topic *t,
                       struct kl_controller_records *out, size_t limit,
                       struct kl_base_error *e)
{
    struct sweep_place at = {.topic = t};
    int known = 0;

    for (at.index = 0; at.index < t->partition_count; at.index++) {
        int rc;

        at.p = t->partitions[at.index];
        if (!sweep_concerns(s, at.p))
            continue;
        if (!known)
            at.rules = kl_controller_topic_rules(t);
        known = 1;
        rc = sweep_partition(s, &at, out, limit, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- all of them ------------------------------------------------------- */

int kl_controller_sweep(const struct kl_controller_sweep *s, size_t room,
                        struct kl_controller_records *out, int *more,
                        struct kl_base_error *e)
{
    const struct kl_controller *c = s->view.c;
    size_t limit = c->options.batch_bytes_max;
    int rc = 0;

    limit = limit > room ? limit - room : 0;
    for (size_t i = 0; rc == 0 && i < c->topic_count; i++)
        rc = sweep_topic(s, c->topics[i], out, limit, e);
    *more = rc == 1;
    if (rc == 1 && out->count == 0)
        return kl_base_error_set(e, KL_ERECORDSIZE,
                                 "a batch of %zu bytes holds no partition",
                                 limit);
    return rc == 1 ? 0 : rc;
}

int kl_controller_sweep_and(const struct kl_controller_sweep *s,
                            const struct kl_wire_record *last,
                            struct kl_controller_records *out, int *more,
                            struct kl_base_error *e)
{
    int rc =
        kl_controller_sweep(s, kl_controller_records_room(last), out, more, e);

    if (rc || *more)
        return rc;
    return kl_controller_records_add(out, last,
                                     s->view.c->options.batch_bytes_max, e);
}
