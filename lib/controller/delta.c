/*
 * What applied records changed.
 */
#include "controller/state.h"

const struct kl_controller_delta *
kl_controller_delta(const struct kl_controller *c, size_t *count)
{
    *count = c->delta_count;
    return c->deltas;
}

void kl_controller_delta_clear(struct kl_controller *c)
{
    c->delta_count = 0;
}

int kl_controller_delta_reserve(struct kl_controller *c)
{
    return kl_base_reserve(c->alloc, (void **)&c->deltas, &c->delta_capacity,
                           c->delta_count + 1, sizeof *c->deltas);
}

/* Whether the newest entry can stand for another change of the same topic:
 * what is created is created with its partitions and configuration. */
static int delta_covers(const struct kl_controller_delta *last,
                        enum kl_controller_delta_kind kind,
                        int32_t partition_first)
{
    switch (kind) {
    case KL_CONTROLLER_GREW:
        return last->kind == KL_CONTROLLER_CREATED ||
               last->kind == KL_CONTROLLER_GREW;
    case KL_CONTROLLER_CONFIGURED:
        return last->kind == KL_CONTROLLER_CREATED ||
               last->kind == KL_CONTROLLER_CONFIGURED;
    case KL_CONTROLLER_CHANGED:
        return last->kind == KL_CONTROLLER_CREATED ||
               (last->kind == KL_CONTROLLER_CHANGED &&
                partition_first == last->partition_end);
    case KL_CONTROLLER_CREATED:
    case KL_CONTROLLER_DELETED:
    case KL_CONTROLLER_BROKER:
        break;
    }
    return 0;
}

void kl_controller_delta_add(struct kl_controller *c,
                             enum kl_controller_delta_kind kind,
                             const struct kl_controller_topic *t,
                             int32_t partition_first, int32_t partition_end)
{
    struct kl_controller_delta *d;

    if (c->delta_count) {
        d = &c->deltas[c->delta_count - 1];
        if (kl_base_uuid_equal(&d->topic_id, &t->id) &&
            delta_covers(d, kind, partition_first)) {
            if (partition_end > d->partition_end)
                d->partition_end = partition_end;
            return;
        }
    }
    d = &c->deltas[c->delta_count++];
    d->topic_id = t->id;
    d->kind = kind;
    d->partition_first = partition_first;
    d->partition_end = partition_end;
    d->broker_id = -1;
}

void kl_controller_delta_broker(struct kl_controller *c, int32_t broker_id)
{
    struct kl_controller_delta *d = &c->deltas[c->delta_count++];

    *d = (struct kl_controller_delta){.kind = KL_CONTROLLER_BROKER,
                                      .broker_id = broker_id};
}
