/*
 * A partition on its way to its next state: somebody changes its ISR or its
 * replicas, and everything that follows from that happens here, once and in one
 * order, so that one record holds it all.
 */
#include "controller/state.h"

#include <string.h>

KL_STATIC_ASSERT(KL_WIRE_REPLICAS_MAX <= 32, "a set is 32 bits");
KL_STATIC_ASSERT(offsetof(struct kl_controller_change, isr) ==
                     offsetof(struct kl_controller_change,
                              sets[KL_CONTROLLER_ISR]),
                 "sets are in the order of the lists");
KL_STATIC_ASSERT(offsetof(struct kl_controller_change, removing) ==
                     offsetof(struct kl_controller_change,
                              sets[KL_CONTROLLER_REMOVING]),
                 "sets are in the order of the lists");

enum {
    CHANGE_SETS =
        sizeof((struct kl_controller_change *)0)->sets / sizeof(uint32_t)
};

static uint32_t change_full(uint32_t count)
{
    return count == 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
}

int kl_controller_change_position(const struct kl_controller_change *x,
                                  int32_t broker_id)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->replicas[i] == broker_id)
            return (int)i;
    return -1;
}

uint32_t kl_controller_change_bit(const struct kl_controller_change *x,
                                  int32_t broker_id)
{
    int position = kl_controller_change_position(x, broker_id);

    return position < 0 ? 0 : UINT32_C(1) << position;
}

void kl_controller_change_load(struct kl_controller_change *x,
                               const struct kl_controller_partition *p)
{
    size_t count;
    const int32_t *ids =
        kl_controller_partition_list(p, KL_CONTROLLER_REPLICAS, &count);

    memset(x, 0, sizeof *x);
    memcpy(x->replicas, ids, count * sizeof *ids);
    x->count = (uint32_t)count;
    for (int list = 0; list < KL_CONTROLLER_LISTS; list++) {
        ids = kl_controller_partition_list(p, list, &count);
        for (size_t i = 0; i < count; i++)
            x->sets[list] |= kl_controller_change_bit(x, ids[i]);
    }
    x->was_isr = x->isr;
    x->leader = p->leader;
    x->leader_epoch = p->leader_epoch;
    x->partition_epoch = p->partition_epoch;
    x->last_known_leader = p->last_known_leader;
    x->flags = p->flags;
}

void kl_controller_change_replicas(struct kl_controller_change *x,
                                   const int32_t *replicas, uint32_t count)
{
    struct kl_controller_change old = *x;
    uint32_t kept = 0;

    memset(x->sets, 0, sizeof x->sets);
    memcpy(x->replicas, replicas, count * sizeof *replicas);
    x->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bit = kl_controller_change_bit(&old, replicas[i]);

        kept |= bit;
        for (int set = 0; set < CHANGE_SETS; set++)
            if (old.sets[set] & bit)
                x->sets[set] |= UINT32_C(1) << i;
    }
    x->all = change_full(count);
    if (kept != old.all)
        x->removed = 1;
}

uint32_t kl_controller_change_active(const struct kl_controller_change *x,
                                     const struct kl_controller_view *view)
{
    uint32_t active = 0;

    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t bit = UINT32_C(1) << i;
        const struct kl_controller_broker *b =
            kl_controller_broker_find(view->c, x->replicas[i]);

        if (x->replicas[i] == view->broker_id)
            active |= view->active ? bit : 0;
        else if (b)
            active |= kl_controller_broker_is_active(b) ? bit : 0;
        else
            /* The node that stood alone and has not registered yet keeps what
             * it has and gets nothing. */
            active |= x->isr & bit;
    }
    return active;
}

/* protocol 1.13, rule 2, with the target's min (history 14). */
static int change_complete(struct kl_controller_change *x,
                           const struct kl_controller_rules *rules)
{
    int32_t target[KL_WIRE_REPLICAS_MAX];
    uint32_t stay = x->all & ~x->removing;
    uint32_t count = kl_controller_set_size(stay), n = 0;

    if (!(x->adding | x->removing) || (x->adding & ~x->isr) ||
        kl_controller_set_size(x->isr & stay) <
            kl_controller_min_isr(rules->min_isr, count))
        return 0;
    for (uint32_t i = 0; i < x->count; i++)
        if (stay >> i & 1)
            target[n++] = x->replicas[i];
    kl_controller_change_replicas(x, target, count);
    x->adding = 0;
    return 1;
}

static void change_elr(struct kl_controller_change *x,
                       const struct kl_controller_rules *rules)
{
    uint32_t stable = kl_controller_set_size(x->all & ~x->adding);
    struct kl_controller_elr s = {x->isr, x->was_isr, x->lost | x->wiped,
                                  x->elr, x->last_known};

    kl_controller_elr_update(&s, kl_controller_min_isr(rules->min_isr, stable));
    x->elr = s.elr;
    x->last_known = s.last_known & ~x->wiped;
}

/* 1 where the leader is a choice even if it is the same one. */
static int change_elect(struct kl_controller_change *x,
                        const struct kl_controller_context *context)
{
    struct kl_controller_ballot b = {0};
    enum kl_controller_elected how;
    int position;

    b.active = kl_controller_change_active(x, &context->view);
    b.isr = x->isr;
    b.elr = x->elr;
    b.leader = kl_controller_change_position(x, x->leader);
    b.wanted = kl_controller_change_position(x, context->wanted);
    b.unclean = context->unclean;
    b.last_known_leader = -1;
    /* section 0.3: for topics that promise durability an operator decides. */
    if (context->rules.interval || context->unclean)
        b.last_known_leader =
            kl_controller_change_position(x, x->last_known_leader);
    position = kl_controller_elect(&b, &how);
    x->leader = position < 0 ? -1 : x->replicas[position];
    if (how == KL_CONTROLLER_ELECTED_ELR)
        x->isr = UINT32_C(1) << position;
    if (how == KL_CONTROLLER_ELECTED_UNCLEAN) {
        /* What others have is another history. */
        x->isr = UINT32_C(1) << position;
        x->was_isr = x->elr = x->last_known = 0;
        x->flags |= KL_WIRE_PARTITION_RECOVERING;
    }
    return how == KL_CONTROLLER_ELECTED_UNCLEAN;
}

/* The replica that led last, of a partition without a leader. */
static int32_t change_last_known(const struct kl_controller_change *x,
                                 int32_t id)
{
    return kl_controller_change_bit(x, id) & ~x->wiped ? id : -1;
}

static int change_is_same(const struct kl_controller_change *x,
                          const struct kl_controller_partition *old)
{
    struct kl_controller_change was;

    kl_controller_change_load(&was, old);
    return x->count == was.count &&
           memcmp(x->replicas, was.replicas, x->count * sizeof(int32_t)) == 0 &&
           memcmp(x->sets, was.sets, KL_CONTROLLER_LISTS * sizeof(uint32_t)) ==
               0 &&
           x->leader == was.leader && x->flags == was.flags &&
           x->last_known_leader == was.last_known_leader;
}

int kl_controller_change_finish(struct kl_controller_change *x,
                                const struct kl_controller_partition *old,
                                const struct kl_controller_context *context)
{
    int bump = change_complete(x, &context->rules);

    /* Recorded once, when the ISR becomes empty. */
    if (old->leader >= 0)
        x->last_known_leader = old->leader;
    x->last_known_leader = change_last_known(x, x->last_known_leader);
    change_elr(x, &context->rules);
    bump |= change_elect(x, context);
    if (x->leader >= 0)
        x->last_known_leader = -1;
    /* An ISR that was made of the ELR may be enough. */
    change_elr(x, &context->rules);
    if (!x->forced && change_is_same(x, old))
        return 0;
    x->partition_epoch++;
    if (x->leader != old->leader || x->removed || bump)
        x->leader_epoch++;
    return 1;
}

/* The record; its lists lie in scratch. */
static struct kl_wire_record
change_record(const struct kl_controller_change *x,
              const struct kl_base_uuid *topic_id, int32_t index,
              uint8_t scratch[KL_CONTROLLER_IDS_BYTES])
{
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    uint8_t *at = scratch;

    for (int i = 0; i < KL_CONTROLLER_LISTS; i++) {
        struct kl_wire_i32s *list =
            kl_controller_partition_wire_list(&r.partition, i);

        list->data = at;
        list->count = kl_controller_set_size(x->sets[i]);
        for (uint32_t j = 0; j < x->count; j++) {
            if (!(x->sets[i] >> j & 1))
                continue;
            kl_base_put_le32(at, (uint32_t)x->replicas[j]);
            at += 4;
        }
    }
    r.partition.topic_id = *topic_id;
    r.partition.partition = index;
    r.partition.leader = x->leader;
    r.partition.leader_epoch = x->leader_epoch;
    r.partition.partition_epoch = x->partition_epoch;
    r.partition.last_known_leader = x->last_known_leader;
    r.partition.flags = x->flags;
    return r;
}

int kl_controller_change_try(const struct kl_controller_change *x,
                             const struct kl_base_uuid *topic_id, int32_t index,
                             struct kl_controller_records *out, size_t limit,
                             struct kl_base_error *e)
{
    uint8_t scratch[KL_CONTROLLER_IDS_BYTES];
    struct kl_wire_record r = change_record(x, topic_id, index, scratch);

    return kl_controller_records_try(out, &r, limit, e);
}

int kl_controller_change_add(const struct kl_controller_change *x,
                             const struct kl_base_uuid *topic_id, int32_t index,
                             struct kl_controller_records *out, size_t limit,
                             struct kl_base_error *e)
{
    uint8_t scratch[KL_CONTROLLER_IDS_BYTES];
    struct kl_wire_record r = change_record(x, topic_id, index, scratch);

    return kl_controller_records_add(out, &r, limit, e);
}
