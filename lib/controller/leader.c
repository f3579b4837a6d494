/*
 * Leaders on request: the preferred one, or any one at the risk of loss. What
 * needs no request happens with the change that calls for it (change.c).
 */
#include "controller/state.h"

/* One partition with somebody wanted as leader: 0 nothing to change, 1 with
 * the change finished. */
static int leader_change(const struct kl_controller *c,
                         const struct kl_controller_topic *t,
                         const struct kl_controller_partition *p,
                         int32_t wanted, int unclean,
                         struct kl_controller_change *x)
{
    struct kl_controller_context context = {
        {c, -1, 0}, kl_controller_topic_rules(t), wanted, unclean};

    kl_controller_change_load(x, p);
    return kl_controller_change_finish(x, p, &context);
}

static int32_t leader_preferred(const struct kl_controller_partition *p)
{
    size_t count;

    return *kl_controller_partition_list(p, KL_CONTROLLER_REPLICAS, &count);
}

/* Protocol 1.9, rule 6: never unclean. */
static int leader_is_misplaced(const struct kl_controller_partition *p)
{
    int32_t preferred = leader_preferred(p);

    return p->leader != preferred && p->leader >= 0 &&
           kl_controller_partition_has(p, KL_CONTROLLER_ISR, preferred);
}

/* Whether there is anything to elect. 0, 1 or KL_ENOCANDIDATE. */
static int leader_check(const struct kl_controller_partition *p,
                        enum kl_controller_election election)
{
    if (election == KL_CONTROLLER_UNCLEAN)
        return p->leader < 0;
    if (p->leader == leader_preferred(p))
        return 0;
    return leader_is_misplaced(p) ? 1 : KL_ENOCANDIDATE;
}

int kl_controller_elect_leader(struct kl_controller *c, const char *name,
                               int32_t partition,
                               enum kl_controller_election election,
                               int32_t leader_id,
                               struct kl_controller_records *out,
                               struct kl_base_error *e)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p;
    struct kl_controller_change x;
    int unclean = election == KL_CONTROLLER_UNCLEAN;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc == 0)
        rc = kl_controller_command_partition(c, name, partition, &t, &p, e);
    if (rc)
        return rc;
    rc = leader_check(p, election);
    if (rc == 0)
        return 0;
    if (rc < 0 ||
        !leader_change(c, t, p, unclean ? leader_id : leader_preferred(p),
                       unclean, &x) ||
        (unclean && leader_id >= 0 && x.leader != leader_id))
        return kl_base_error_set(e, KL_ENOCANDIDATE,
                                 "topic %s partition %ld: the replica that is "
                                 "wanted cannot lead",
                                 name, (long)partition);
    return kl_controller_change_add(&x, &t->id, partition, out,
                                    c->options.batch_bytes_max, e);
}

static int leader_rebalance_topic(const struct kl_controller *c,
                                  const struct kl_controller_topic *t,
                                  struct kl_controller_records *out,
                                  struct kl_base_error *e)
{
    struct kl_controller_change x;
    int rc = 0;

    for (int32_t i = 0; rc == 0 && i < t->partition_count; i++) {
        const struct kl_controller_partition *p = t->partitions[i];

        if (leader_is_misplaced(p) &&
            leader_change(c, t, p, leader_preferred(p), 0, &x))
            rc = kl_controller_change_try(&x, &t->id, i, out,
                                          c->options.batch_bytes_max, e);
    }
    return rc;
}

int kl_controller_rebalance(const struct kl_controller *c,
                            struct kl_controller_records *out,
                            struct kl_base_error *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->topic_count; i++)
        rc = leader_rebalance_topic(c, c->topics[i], out, e);
    return rc == 1 ? 0 : rc;
}
