/*
 * Moving a partition to other brokers (KIP-455; protocol 1.13). The replicas
 * are target and present ones together until the added ones are in the ISR; the
 * completion is change.c's, in whatever record makes it possible.
 *
 * A reassignment under way is given up for another one: what it was adding and
 * the new target does not want leaves at once, so that the stable replicas, all
 * but those that are added, stay what min counts.
 */
#include "controller/state.h"

#include <string.h>

struct reassign_ids
{
    int32_t ids[2 * KL_WIRE_REPLICAS_MAX];
    uint32_t count;
};

static int reassign_has(const int32_t *ids, uint32_t count, int32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id)
            return 1;
    return 0;
}

/* The replicas that there were before the reassignment, in their order. */
static void reassign_stable(const struct kl_controller_change *x,
                            struct reassign_ids *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < x->count; i++)
        if (!(x->adding >> i & 1))
            out->ids[out->count++] = x->replicas[i];
}

/* Target first, as in Kafka, so that its order is the order of preference. */
static void reassign_merge(const int32_t *target, uint32_t count,
                           const struct reassign_ids *stable,
                           struct reassign_ids *out)
{
    memcpy(out->ids, target, count * sizeof *target);
    out->count = count;
    for (uint32_t i = 0; i < stable->count; i++)
        if (!reassign_has(target, count, stable->ids[i]))
            out->ids[out->count++] = stable->ids[i];
}

/* The replicas and what is added and removed among them. */
static void reassign_set(struct kl_controller_change *x,
                         const struct reassign_ids *merged,
                         const struct reassign_ids *stable,
                         const int32_t *target, uint32_t count)
{
    kl_controller_change_replicas(x, merged->ids, merged->count);
    x->adding = x->removing = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        if (!reassign_has(stable->ids, stable->count, x->replicas[i]))
            x->adding |= UINT32_C(1) << i;
        if (!reassign_has(target, count, x->replicas[i]))
            x->removing |= UINT32_C(1) << i;
    }
}

/* What leaves at once must not be needed: neither the last copies nor, where
 * one of the ISR or ELR leaves, fewer than min in the ISR. */
static int reassign_may_leave(const struct kl_controller_change *x,
                              const struct kl_controller_partition *old,
                              const struct kl_controller_rules *rules)
{
    uint32_t stable = kl_controller_set_size(x->all & ~x->adding);
    uint32_t in_sync = kl_controller_set_size(x->isr | x->elr);

    if (in_sync == (uint32_t)old->counts[KL_CONTROLLER_ISR] +
                       old->counts[KL_CONTROLLER_ELR])
        return 1;
    return kl_controller_set_size(x->isr) >=
           kl_controller_min_isr(rules->min_isr, stable);
}

/* The partition on its way to target, as a record. */
static int reassign_to(const struct kl_controller *c,
                       const struct kl_controller_topic *t, int32_t index,
                       const int32_t *target, uint32_t count,
                       struct kl_controller_records *out,
                       struct kl_base_error *e)
{
    const struct kl_controller_partition *p = t->partitions[index];
    struct kl_controller_context context = {
        {c, -1, 0}, kl_controller_topic_rules(t), -1, 0};
    struct kl_controller_change x;
    struct reassign_ids stable, merged;

    kl_controller_change_load(&x, p);
    reassign_stable(&x, &stable);
    reassign_merge(target, count, &stable, &merged);
    if (merged.count > KL_WIRE_REPLICAS_MAX)
        return kl_base_error_set(
            e, KL_EREPLICATION,
            "topic %s partition %ld: %lu replicas meanwhile, at most %d",
            t->name, (long)index, (unsigned long)merged.count,
            (int)KL_WIRE_REPLICAS_MAX);
    reassign_set(&x, &merged, &stable, target, count);
    if (!reassign_may_leave(&x, p, &context.rules))
        return kl_base_error_set(
            e, KL_ESTATE,
            "topic %s partition %ld: replicas that the reassignment under way "
            "added are needed",
            t->name, (long)index);
    if (!kl_controller_change_finish(&x, p, &context))
        return 0;
    return kl_controller_change_add(&x, &t->id, index, out,
                                    c->options.batch_bytes_max, e);
}

/* ---- a target by number ------------------------------------------------ */

/* The present replicas that stay: the leader, then the ISR, then the rest, and
 * those that are only being added. */
static void reassign_keep(const struct kl_controller_change *x, uint32_t count,
                          struct reassign_ids *out)
{
    uint32_t leader = kl_controller_change_bit(x, x->leader);
    uint32_t ranks[] = {leader, x->isr, ~x->adding, x->adding};
    uint32_t chosen = 0;

    for (size_t rank = 0; rank < 4; rank++)
        for (uint32_t i = 0; i < x->count; i++)
            if ((ranks[rank] >> i & 1) &&
                kl_controller_set_size(chosen) < count)
                chosen |= UINT32_C(1) << i;
    out->count = 0;
    for (uint32_t i = 0; i < x->count; i++)
        if (chosen >> i & 1)
            out->ids[out->count++] = x->replicas[i];
}

static int reassign_choose(const struct kl_controller *c,
                           const struct kl_controller_topic *t, int32_t index,
                           uint32_t count, struct reassign_ids *out,
                           struct kl_base_error *e)
{
    struct kl_controller_candidates candidates;
    struct kl_controller_change x;
    struct kl_base_rng rng;
    int rc;

    if (count < 1 || count > KL_WIRE_REPLICAS_MAX)
        return kl_base_error_set(
            e, KL_EREPLICATION, "%lu replicas, allowed are 1 to %d",
            (unsigned long)count, (int)KL_WIRE_REPLICAS_MAX);
    kl_controller_change_load(&x, t->partitions[index]);
    reassign_keep(&x, count, out);
    if (kl_controller_candidates_init(&candidates, c))
        return kl_base_error_set(e, KL_ENOMEM, "replicas: out of memory");
    kl_controller_placement_seed(&rng, &t->id, index);
    rc = kl_controller_place(candidates.items, candidates.count, &rng, out->ids,
                             out->count, count);
    kl_controller_candidates_deinit(&candidates, c);
    out->count = count;
    if (rc)
        return kl_base_error_set(
            e, rc,
            "topic %s partition %ld: %lu replicas are more "
            "than there are brokers",
            t->name, (long)index, (unsigned long)count);
    return 0;
}

/* ---- commands ---------------------------------------------------------- */

int kl_controller_reassign(struct kl_controller *c, const char *name,
                           int32_t partition, const int32_t *replicas,
                           uint32_t count, struct kl_controller_records *out,
                           struct kl_base_error *e)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p;
    struct reassign_ids target;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc == 0)
        rc = kl_controller_command_partition(c, name, partition, &t, &p, e);
    if (rc)
        return rc;
    if (replicas) {
        rc = kl_controller_replicas_check(c, replicas, count, e);
        return rc ? rc : reassign_to(c, t, partition, replicas, count, out, e);
    }
    rc = reassign_choose(c, t, partition, count, &target, e);
    return rc ? rc
              : reassign_to(c, t, partition, target.ids, target.count, out, e);
}

int kl_controller_cancel_reassignment(struct kl_controller *c, const char *name,
                                      int32_t partition,
                                      struct kl_controller_records *out,
                                      struct kl_base_error *e)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p;
    struct kl_controller_change x;
    struct reassign_ids stable;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc == 0)
        rc = kl_controller_command_partition(c, name, partition, &t, &p, e);
    if (rc)
        return rc;
    kl_controller_change_load(&x, p);
    if (!(x.adding | x.removing))
        return kl_base_error_set(e, KL_ENOREASSIGNMENT,
                                 "topic %s partition %ld is not being "
                                 "reassigned",
                                 name, (long)partition);
    reassign_stable(&x, &stable);
    return reassign_to(c, t, partition, stable.ids, stable.count, out, e);
}
