/*
 * Leaders propose their in-sync replicas (KIP-497, KIP-841, KIP-903;
 * protocol 1.8). The checks are in the order of their answers: what proves that
 * the controller is stale goes before what proves that the leader is.
 */
#include "controller/state.h"

/* The ISR as a set; KL_EINVAL unless it is a duplicate-free subset of the
 * replicas that contains the leader. */
static int alter_isr(const struct kl_controller_alter_partition *a,
                     struct kl_controller_change *x)
{
    uint32_t isr = 0;

    for (size_t i = 0; i < a->isr_count; i++) {
        uint32_t bit = kl_controller_change_bit(x, a->isr[i].broker_id);

        if (!bit || (isr & bit))
            return KL_EINVAL;
        isr |= bit;
    }
    x->isr = isr;
    return isr & kl_controller_change_bit(x, x->leader) ? 0 : KL_EINVAL;
}

/* KIP-704: recovering is the leader alone, and never begins again. */
static int alter_recovery(const struct kl_controller_alter_partition *a,
                          struct kl_controller_change *x)
{
    if (a->recovering && (!(x->flags & KL_WIRE_PARTITION_RECOVERING) ||
                          kl_controller_set_size(x->isr) != 1))
        return KL_EINVAL;
    if (!a->recovering)
        x->flags &= (uint8_t)~KL_WIRE_PARTITION_RECOVERING;
    return 0;
}

/* Every member is active in the very life that the leader has seen. */
static int alter_eligible(const struct kl_controller *c,
                          const struct kl_controller_alter_partition *a,
                          const struct kl_controller_change *x)
{
    for (size_t i = 0; i < a->isr_count; i++) {
        const struct kl_controller_isr_member *m = &a->isr[i];
        const struct kl_controller_broker *b =
            kl_controller_broker_find(c, m->broker_id);
        int known =
            m->broker_epoch == -1
                ? (kl_controller_change_bit(x, m->broker_id) & x->was_isr) != 0
                : b && b->epoch == m->broker_epoch;

        if (!kl_controller_broker_is_active(b) || !known)
            return KL_EINELIGIBLE;
    }
    return 0;
}

/* Protocol 1.8, from the topic id on. */
static int alter_check(const struct kl_controller *c, int32_t broker_id,
                       const struct kl_controller_alter_partition *a,
                       const struct kl_controller_partition *p,
                       struct kl_controller_change *x)
{
    int rc;

    if (a->leader_epoch > p->leader_epoch ||
        a->partition_epoch > p->partition_epoch)
        return KL_ENOTCONTROLLER;
    if (a->leader_epoch < p->leader_epoch)
        return KL_EFENCED;
    if (p->leader != broker_id)
        return KL_EINVAL;
    if (a->partition_epoch < p->partition_epoch)
        return KL_EPARTITIONEPOCH;
    kl_controller_change_load(x, p);
    rc = alter_isr(a, x);
    if (rc == 0)
        rc = alter_recovery(a, x);
    return rc ? rc : alter_eligible(c, a, x);
}

/* A partition that the same request proposed before has another state by the
 * time this one would be applied. */
static int alter_is_repeated(const struct kl_controller_alter_partition *a,
                             size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (a[i].partition == a[index].partition &&
            kl_base_uuid_equal(&a[i].topic_id, &a[index].topic_id))
            return 1;
    return 0;
}

/* The answer for one proposal; its record is in out where it was taken. *code
 * is the answer, the result is 0 or a failure of the command. */
static int alter_one(const struct kl_controller *c, int32_t broker_id,
                     const struct kl_controller_alter_partition *a, int *code,
                     struct kl_controller_records *out, struct kl_base_error *e)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find_id(c, &a->topic_id);
    const struct kl_controller_partition *p =
        t ? kl_controller_partition_at(t, a->partition) : NULL;
    struct kl_controller_context context = {.view = {c, -1, 0}, .wanted = -1};
    struct kl_controller_change x;
    int rc;

    *code = p ? alter_check(c, broker_id, a, p, &x) : KL_ENOTOPIC;
    if (*code)
        return 0;
    context.rules = kl_controller_topic_rules(t);
    if (!kl_controller_change_finish(&x, p, &context))
        return 0;
    rc = kl_controller_change_try(&x, &t->id, a->partition, out,
                                  c->options.batch_bytes_max, e);
    if (rc == 1)
        *code = KL_ECANCELED;
    else if (x.leader != broker_id)
        *code = KL_ENEWLEADER;
    return rc == 1 ? 0 : rc;
}

int kl_controller_alter_partitions(
    struct kl_controller *c, int32_t broker_id, int64_t broker_epoch,
    const struct kl_controller_alter_partition *proposals, size_t count,
    int *codes, struct kl_controller_records *out, struct kl_base_error *e)
{
    size_t index;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc == 0)
        rc = kl_controller_broker_check(c, broker_id, broker_epoch, &index, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (alter_is_repeated(proposals, i))
            codes[i] = KL_EINVAL;
        else
            rc = alter_one(c, broker_id, &proposals[i], &codes[i], out, e);
    }
    return rc;
}
