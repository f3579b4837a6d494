/*
 * Leaders and followers of the simulated world, as protocol 1.5 to 1.7 has
 * them, with numbers for logs.
 */
#include "sim_help.h"

#include <string.h>

int sim_leads(const struct sim *s, int32_t id, size_t slot)
{
    const struct sim_broker *b = &s->brokers[id];

    return b->up && b->views[slot].leader == id;
}

static uint32_t leader_active(const struct sim *s)
{
    uint32_t active = 0;

    for (int32_t id = 1; id <= SIM_BROKERS; id++)
        if (kl_controller_broker_is_active(
                kl_controller_broker_find(s->cl.f.c, id)))
            active |= 1u << id;
    return active;
}

/* Becomes leader or follower in a new epoch. */
static void leader_turn(struct sim_broker *b, size_t slot)
{
    struct sim_view *v = &b->views[slot];

    v->start = b->leo[slot];
    v->proposed = 0;
    v->synced = -1;
    for (int32_t id = 0; id <= SIM_BROKERS; id++)
        v->progress[id] = (struct sim_progress){0, -1};
}

void sim_learn(struct sim *s, int32_t id, size_t slot)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p = sim_partition(s, slot, &t);
    struct sim_broker *b = &s->brokers[id];
    struct sim_view *v = &b->views[slot];

    /* What was before its own registration does not concern this life. */
    if (!b->registered)
        return;
    if (!p) {
        memset(v, 0, sizeof *v);
        v->leader = -1;
        return;
    }
    if (!kl_base_uuid_equal(&v->topic_id, &t->id)) {
        /* Another topic of the same name: nothing of the old one counts. */
        memset(v, 0, sizeof *v);
        v->topic_id = t->id;
        v->leader_epoch = -1;
    }
    if (!(sim_mask(p, KL_CONTROLLER_REPLICAS) >> id & 1))
        b->leo[slot] = 0;
    v->leader = p->leader;
    if (p->leader_epoch != v->leader_epoch)
        leader_turn(b, slot);
    if (p->partition_epoch != v->partition_epoch)
        v->proposed = 0;
    v->leader_epoch = p->leader_epoch;
    v->partition_epoch = p->partition_epoch;
    v->min = kl_controller_partition_min_isr(t, p);
    v->isr = sim_mask(p, KL_CONTROLLER_ISR);
    v->replicas = sim_mask(p, KL_CONTROLLER_REPLICAS);
    v->recovering = p->flags & KL_WIRE_PARTITION_RECOVERING;
    v->active = leader_active(s);
}

void sim_append(struct sim *s, int32_t id, size_t slot)
{
    if (sim_leads(s, id, slot))
        s->brokers[id].leo[slot] += 1 + (int64_t)sim_below(s, 3);
}

void sim_fetch(struct sim *s, int32_t follower, size_t slot)
{
    struct sim_broker *f = &s->brokers[follower];
    int32_t id = f->views[slot].leader;
    struct sim_broker *l = &s->brokers[id < 1 ? 1 : id];
    struct sim_view *v = &l->views[slot];

    if (id < 1 || id == follower || !f->up || !f->registered || f->cut ||
        l->cut || !sim_leads(s, id, slot) ||
        v->leader_epoch != f->views[slot].leader_epoch ||
        !kl_base_uuid_equal(&v->topic_id, &f->views[slot].topic_id) ||
        !(v->replicas >> follower & 1))
        return;
    /* The first fetch of an epoch finds where the logs part; what it says of
     * its own log proves nothing. */
    if (f->views[slot].synced == v->leader_epoch) {
        v->progress[follower].leo = f->leo[slot];
        v->progress[follower].broker_epoch = s->cl.brokers[follower].epoch;
    }
    f->views[slot].synced = v->leader_epoch;
    f->leo[slot] = l->leo[slot];
}

/* Rule 1.6: over the maximal ISR, and only with min of the committed one. */
void sim_advance(struct sim *s, int32_t id, size_t slot)
{
    const struct sim_view *v = &s->brokers[id].views[slot];
    int64_t high = s->brokers[id].leo[slot];
    uint32_t maximal = v->isr | v->proposed;

    if (!sim_leads(s, id, slot) || __builtin_popcount(v->isr) < v->min ||
        v->leader_epoch < s->parts[slot].history ||
        !kl_base_uuid_equal(&v->topic_id, &s->parts[slot].topic_id))
        return;
    for (int32_t other = 1; other <= SIM_BROKERS; other++) {
        if (other == id || !(maximal >> other & 1))
            continue;
        if (v->progress[other].broker_epoch < 0)
            return;
        if (v->progress[other].leo < high)
            high = v->progress[other].leo;
    }
    if (high <= s->parts[slot].hwm)
        return;
    s->parts[slot].hwm = high;
    sim_trace(s, "slot %zu hwm %lld by %d of %x", slot, (long long)high,
              (int)id, maximal);
}

/* ---- proposals ----------------------------------------------------------- */

/* Rule 1.7.2, all from one moment. */
static uint32_t leader_expansion(struct sim *s, int32_t id, size_t slot)
{
    const struct sim_view *v = &s->brokers[id].views[slot];
    uint32_t isr = v->isr;

    for (int32_t other = 1; other <= SIM_BROKERS; other++) {
        const struct sim_progress *p = &v->progress[other];

        if (!v->recovering && (v->replicas & v->active & ~isr) >> other & 1 &&
            p->broker_epoch >= 0 && p->leo >= s->parts[slot].hwm &&
            p->leo >= v->start)
            isr |= 1u << other;
    }
    return isr;
}

static void leader_send(struct sim *s, int32_t id, size_t slot)
{
    const struct sim_view *v = &s->brokers[id].views[slot];
    struct sim_message *m;
    size_t n = 0;

    if (s->message_count == SIM_MESSAGES)
        return;
    m = &s->messages[s->message_count++];
    memset(m, 0, sizeof *m);
    m->sender = id;
    m->sender_epoch = s->cl.brokers[id].epoch;
    m->slot = slot;
    m->proposal.topic_id = v->topic_id;
    m->proposal.partition = (int32_t)(slot % SIM_PARTITIONS);
    m->proposal.leader_epoch = v->leader_epoch;
    m->proposal.partition_epoch = v->partition_epoch;
    m->proposal.recovering = v->recovering && !v->proposes_recovered;
    for (int32_t other = 1; other <= SIM_BROKERS; other++) {
        if (!(v->proposed >> other & 1))
            continue;
        m->members[n].broker_id = other;
        m->members[n++].broker_epoch = other == id
                                           ? s->cl.brokers[id].epoch
                                           : v->progress[other].broker_epoch;
    }
    m->proposal.isr_count = n;
}

void sim_propose(struct sim *s, int32_t id, size_t slot, int shrink)
{
    struct sim_view *v = &s->brokers[id].views[slot];
    uint32_t self = 1u << id, wish;

    if (!sim_leads(s, id, slot) || !s->brokers[id].registered)
        return;
    if (!v->proposed) {
        wish = shrink ? self | (v->isr & (uint32_t)sim_below(s, 64))
                      : leader_expansion(s, id, slot);
        v->proposes_recovered = v->recovering;
        if (wish == v->isr && !v->recovering)
            return;
        v->proposed = wish | self;
        s->shrinks += shrink != 0;
    }
    leader_send(s, id, slot);
}

/* The answer tells of the partition; min comes with the metadata alone. */
static void leader_taken(struct sim *s, int32_t id, size_t slot)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p = sim_partition(s, slot, &t);
    struct sim_view *v = &s->brokers[id].views[slot];

    if (!p || p->leader_epoch != v->leader_epoch)
        return;
    v->proposed = 0;
    v->isr = sim_mask(p, KL_CONTROLLER_ISR);
    v->partition_epoch = p->partition_epoch;
    v->recovering = p->flags & KL_WIRE_PARTITION_RECOVERING;
}

/* Rule 1.7.4. */
static void leader_answer(struct sim *s, const struct sim_message *m, int code)
{
    struct sim_view *v = &s->brokers[m->sender].views[m->slot];

    /* Of another proposal, or of another life. */
    if (!sim_leads(s, m->sender, m->slot) || !v->proposed ||
        m->sender_epoch != s->cl.brokers[m->sender].epoch ||
        m->proposal.leader_epoch != v->leader_epoch ||
        m->proposal.partition_epoch != v->partition_epoch)
        return;
    if (code == KL_EINELIGIBLE || code == KL_ECANCELED)
        v->proposed = 0;
    else if (code == 0)
        leader_taken(s, m->sender, m->slot);
}

void sim_deliver(struct sim *s, size_t index, int answer)
{
    struct sim_message m = s->messages[index];
    struct controller_fixture *f = &s->cl.f;
    int code = 0, rc;

    s->messages[index] = s->messages[--s->message_count];
    if (s->brokers[m.sender].cut)
        return;
    m.proposal.isr = m.members;
    rc = kl_controller_alter_partitions(f->c, m.sender, m.sender_epoch,
                                        &m.proposal, 1, &code, &f->records,
                                        &f->error);
    if (rc != 0 && rc != KL_EFENCED && rc != KL_ENOBROKER)
        sim_broken(s, "a proposal fails as a whole");
    sim_trace(s, "proposal of %d for slot %zu: %d %d", (int)m.sender, m.slot,
              rc, code);
    if (rc == 0 && (code == 0 || code == KL_ENEWLEADER)) {
        /* Who joins has caught up in the life that it is in. */
        for (size_t i = 0; i < m.proposal.isr_count; i++)
            if (m.members[i].broker_epoch ==
                s->cl.brokers[m.members[i].broker_id].epoch)
                s->parts[m.slot].unproved &= ~(1u << m.members[i].broker_id);
        s->expansions += m.proposal.isr_count > 1;
        sim_commit(s);
    } else {
        s->refusals++;
    }
    if (rc == 0 && answer)
        leader_answer(s, &m, code);
}
