/*
 * What must hold behind every batch, for a partition: the invariants of the
 * protocol page that take more than one image to see.
 */
#include "sim_help.h"

#include <check.h>
#include <string.h>

uint32_t sim_mask(const struct kl_controller_partition *p,
                  enum kl_controller_list list)
{
    size_t count;
    const int32_t *ids = kl_controller_partition_list(p, list, &count);
    uint32_t mask = 0;

    for (size_t i = 0; i < count; i++)
        mask |= 1u << ids[i];
    return mask;
}

static uint32_t check_bit(int32_t id)
{
    return id < 0 ? 0 : 1u << id;
}

static void check_remember(struct sim_part *part,
                           const struct kl_controller_partition *p)
{
    part->leader = p->leader;
    part->leader_epoch = p->leader_epoch;
    part->partition_epoch = p->partition_epoch;
    part->last_known_leader = p->last_known_leader;
    for (int list = 0; list < KL_CONTROLLER_LISTS; list++)
        part->lists[list] = sim_mask(p, list);
}

/* A topic that was not there. */
static void check_created(struct sim *s, size_t slot,
                          const struct kl_base_uuid *topic_id,
                          const struct kl_controller_partition *p)
{
    struct sim_part *part = &s->parts[slot];

    memset(part, 0, sizeof *part);
    part->topic_id = *topic_id;
    for (int32_t id = 1; id <= SIM_BROKERS; id++)
        s->brokers[id].leo[slot] = 0;
    check_remember(part, p);
}

static int check_completed(const struct sim_part *part,
                           const struct kl_controller_partition *p)
{
    return (part->lists[KL_CONTROLLER_ADDING] ||
            part->lists[KL_CONTROLLER_REMOVING]) &&
           !p->counts[KL_CONTROLLER_ADDING] &&
           !p->counts[KL_CONTROLLER_REMOVING];
}

/* The replicas are those that there were before. */
static int check_cancelled(const struct sim_part *part,
                           const struct kl_controller_partition *p)
{
    return sim_mask(p, KL_CONTROLLER_REPLICAS) ==
           (part->lists[KL_CONTROLLER_REPLICAS] &
            ~part->lists[KL_CONTROLLER_ADDING]);
}

static uint32_t check_removed(const struct sim_part *part,
                              const struct kl_controller_partition *p)
{
    return part->lists[KL_CONTROLLER_REPLICAS] &
           ~sim_mask(p, KL_CONTROLLER_REPLICAS);
}

/* Somebody leads who was neither in sync nor eligible, or is no more. */
static int check_is_unclean(const struct sim_part *part,
                            const struct kl_controller_partition *p)
{
    if (p->leader < 0)
        return 0;
    if (!((part->lists[KL_CONTROLLER_ISR] | part->lists[KL_CONTROLLER_ELR]) &
          check_bit(p->leader)))
        return part->leader < 0 || (p->flags & KL_WIRE_PARTITION_RECOVERING);
    return (p->flags & KL_WIRE_PARTITION_RECOVERING) &&
           p->leader == part->leader && p->leader_epoch != part->leader_epoch &&
           !check_removed(part, p) && !check_completed(part, p);
}

/* Section 0.3: without an operator only the last known leader of a topic that
 * promises nothing; and never while an eligible one may come back. */
static void check_unclean(struct sim *s, size_t slot,
                          const struct kl_controller_partition *p)
{
    struct sim_part *part = &s->parts[slot];
    int interval = slot / SIM_PARTITIONS == SIM_TOPICS - 1;
    uint32_t eligible = part->lists[KL_CONTROLLER_ELR] & ~part->unproved &
                        ~s->gone & sim_mask(p, KL_CONTROLLER_REPLICAS);

    if (!s->ordered &&
        !(interval && eligible == 0 &&
          p->leader ==
              (part->leader >= 0 ? part->leader : part->last_known_leader)))
        sim_broken(s, "an unclean election that nobody asked for");
    if (!(p->flags & KL_WIRE_PARTITION_RECOVERING))
        sim_broken(s, "an unclean election that is not reported");
    s->unclean++;
    part->history = p->leader_epoch;
    part->floor = 1;
    /* What all the others have is another history. */
    part->unproved = ~check_bit(p->leader);
    if (part->hwm > s->brokers[p->leader].leo[slot])
        part->hwm = s->brokers[p->leader].leo[slot];
}

static void check_epochs(struct sim *s, size_t slot,
                         const struct kl_controller_partition *p)
{
    const struct sim_part *part = &s->parts[slot];
    int completed = check_completed(part, p);
    int moved = p->leader != part->leader || check_removed(part, p) ||
                check_is_unclean(part, p);

    if (p->partition_epoch <= part->partition_epoch)
        sim_broken(s, "the partition epoch rises with every change");
    if (moved && p->leader_epoch <= part->leader_epoch)
        sim_broken(s, "the leader epoch rises with a leader or a removal");
    if (!moved && !completed && p->leader_epoch != part->leader_epoch)
        sim_broken(s, "the leader epoch rises for less");
    s->elections += p->leader >= 0 && p->leader != part->leader;
    s->completions += (uint64_t)completed;
}

/* D11, in the form that survives changes of min: whoever may hold the best
 * there is stays in one of the lists, unless it leaves the replicas or loses
 * its disk. */
static void check_quorum(struct sim *s, size_t slot,
                         const struct kl_controller_topic *t,
                         const struct kl_controller_partition *p)
{
    struct sim_part *part = &s->parts[slot];
    uint32_t isr = sim_mask(p, KL_CONTROLLER_ISR);
    uint32_t elr = sim_mask(p, KL_CONTROLLER_ELR);
    uint32_t all = isr | elr | sim_mask(p, KL_CONTROLLER_LAST_KNOWN_ELR);
    uint32_t before = part->lists[KL_CONTROLLER_ISR] |
                      part->lists[KL_CONTROLLER_ELR] |
                      part->lists[KL_CONTROLLER_LAST_KNOWN_ELR];
    uint32_t excused = s->gone | ~sim_mask(p, KL_CONTROLLER_REPLICAS);
    uint32_t min = (uint32_t)kl_controller_partition_min_isr(t, p);
    uint32_t lost = (uint32_t)__builtin_popcount(before & excused & ~all);

    if (all & s->vanished)
        sim_broken(s, "a broker without its disk is trusted");
    if ((uint32_t)__builtin_popcount(isr) >= min) {
        part->floor = min;
        return;
    }
    /* 1.13, rules 2 and 3. */
    if (check_completed(part, p) && p->leader_epoch != part->leader_epoch &&
        !check_cancelled(part, p))
        sim_broken(s, "a reassignment completes below min");
    if (check_removed(part, p) &
        (part->lists[KL_CONTROLLER_ISR] | part->lists[KL_CONTROLLER_ELR]))
        sim_broken(s, "what is committed goes below min with a replica");
    part->floor = part->floor > lost ? part->floor - lost : 0;
    if (part->history == p->leader_epoch)
        return;
    if (before & ~all & ~excused)
        sim_broken(s, "a member of the recovery quorum is forgotten");
    if (!isr && !elr && (uint32_t)__builtin_popcount(all) < part->floor)
        sim_broken(s, "the last known ELR is no recovery quorum (D11)");
}

/* D5, D6 and D12: who may lead has all that was committed. */
static void check_candidates(struct sim *s, size_t slot,
                             const struct kl_controller_partition *p)
{
    const struct sim_part *part = &s->parts[slot];
    uint32_t trusted =
        sim_mask(p, KL_CONTROLLER_ISR) | sim_mask(p, KL_CONTROLLER_ELR);

    if ((trusted | check_bit(p->leader)) & part->unproved)
        sim_broken(s, "restarted uncleanly and trusted (D12)");
    for (int32_t id = 1; id <= SIM_BROKERS; id++)
        if ((trusted >> id & 1) && s->brokers[id].up &&
            s->brokers[id].registered && s->brokers[id].leo[slot] < part->hwm) {
            sim_trace(s, "slot %zu: %d has %lld of %lld", slot, (int)id,
                      (long long)s->brokers[id].leo[slot],
                      (long long)part->hwm);
            sim_broken(s, p->leader == id
                              ? "a leader lacks what is committed (D6)"
                              : "a candidate lacks what is committed (D5)");
        }
}

/* Whether the changes that are reported tell of this one. */
static int check_is_reported(struct sim *s, const struct kl_base_uuid *topic_id,
                             int32_t partition)
{
    size_t count;
    const struct kl_controller_delta *d =
        kl_controller_delta(s->cl.f.c, &count);

    for (size_t i = 0; i < count; i++)
        if (kl_base_uuid_equal(&d[i].topic_id, topic_id) &&
            d[i].partition_first <= partition && partition < d[i].partition_end)
            return 1;
    return 0;
}

void sim_check(struct sim *s, size_t slot)
{
    struct sim_part *part = &s->parts[slot];
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p = sim_partition(s, slot, &t);

    if (!p) {
        memset(part, 0, sizeof *part);
        return;
    }
    if (!kl_base_uuid_equal(&part->topic_id, &t->id)) {
        check_created(s, slot, &t->id, p);
    } else if (p->partition_epoch != part->partition_epoch) {
        if (!check_is_reported(s, &t->id, (int32_t)(slot % SIM_PARTITIONS)))
            sim_broken(s, "a change is not reported");
        check_epochs(s, slot, p);
        if (check_is_unclean(part, p))
            check_unclean(s, slot, p);
    } else if (part->lists[KL_CONTROLLER_ISR] !=
               sim_mask(p, KL_CONTROLLER_ISR)) {
        sim_broken(s, "a change without an epoch");
    }
    check_quorum(s, slot, t, p);
    check_candidates(s, slot, p);
    check_remember(part, p);
}
