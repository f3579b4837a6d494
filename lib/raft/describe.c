/*
 * What this node knows of the quorum, for those who ask and for its host.
 */
#include "raft/state.h"

static int64_t describe_age_ms(const struct kl_raft *r, int64_t at)
{
    return at > 0 ? (r->now - at) / 1000000 : -1;
}

static void describe_peer(const struct kl_raft *r, const struct kl_raft_peer *p,
                          struct kl_wire_quorum_replica *out)
{
    const struct kl_wire_voter *v = kl_raft_voter(r, &p->key);

    *out = (struct kl_wire_quorum_replica){0};
    out->node_id = p->key.node_id;
    out->directory_id = p->key.directory_id;
    if (v)
        out->endpoints = v->endpoints;
    out->fetch_offset = p->fetch_offset;
    out->durable_offset = p->durable_offset;
    out->last_fetch_ms = describe_age_ms(r, p->fetched_at);
    out->last_caught_up_ms = describe_age_ms(r, p->caught_up_at);
}

static void describe_self(const struct kl_raft *r,
                          struct kl_wire_quorum_replica *out)
{
    *out = (struct kl_wire_quorum_replica){0};
    out->node_id = r->options.self.node_id;
    out->directory_id = r->options.self.directory_id;
    out->endpoints = r->options.endpoints;
    out->fetch_offset = r->log.leo;
    out->durable_offset = r->log.durable;
}

static uint32_t describe_voters(struct kl_raft *r,
                                struct kl_wire_quorum_replica *out)
{
    uint32_t count = 0;

    if (kl_raft_is_voter(r))
        describe_self(r, &out[count++]);
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        describe_peer(r, p, &out[count++]);
    return count;
}

static uint32_t describe_observers(struct kl_raft *r,
                                   struct kl_wire_quorum_replica *out)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct kl_raft_peer *p = &r->peers[i];

        if (p->key.node_id < 0 || p->is_voter || p->fetched_at == 0 ||
            r->now - p->fetched_at > r->options.observer_lifetime_ns ||
            kl_base_uuid_is_zero(&p->key.directory_id) ||
            count == KL_WIRE_OBSERVERS_MAX)
            continue;
        describe_peer(r, p, &out[count++]);
    }
    return count;
}

void kl_raft_recv_describe(struct kl_raft *r, const struct kl_wire_message *m)
{
    int leads = r->role == KL_RAFT_LEADER;
    struct kl_wire_describe_quorum_response *d =
        &kl_raft_reply(r, &m->envelope,
                       leads ? KL_WIRE_NONE : KL_WIRE_NOT_LEADER)
             ->send.message.describe_quorum_response;

    d->high_watermark = r->high_watermark;
    d->log_end_offset = r->log.leo;
    d->voters_offset = kl_raft_voters(r) ? kl_raft_voters(r)->offset : -1;
    if (!leads)
        return;
    d->voters.items = r->replicas;
    d->voters.count = describe_voters(r, r->replicas);
    if (!m->describe_quorum_request.include_observers)
        return;
    d->observers.items = r->replicas + d->voters.count;
    d->observers.count = describe_observers(r, r->replicas + d->voters.count);
}

/* What peers say of this node at present, or what its voters record says. */
static int describe_refusal(const struct kl_raft *r)
{
    const struct kl_wire_voter *v =
        kl_raft_voter_of(r, r->options.self.node_id);

    if (r->refusal)
        return r->refusal;
    if (r->verdict != KL_RAFT_FIT)
        return KL_EQUORUMSTATE;
    return v && !kl_raft_is_voter(r) ? KL_EFOREIGN : 0;
}

void kl_raft_view(const struct kl_raft *r, struct kl_raft_view *out)
{
    *out = (struct kl_raft_view){0};
    out->role = r->role;
    out->epoch = r->hard.epoch;
    out->leader_id = r->hard.leader_id;
    out->leader_endpoints = kl_raft_leader_endpoints(r);
    out->voted = r->hard.voted;
    out->log_start = r->log.start;
    out->leo = r->log.leo;
    out->durable_leo = r->log.durable;
    out->high_watermark = r->high_watermark;
    out->generation = r->log.generation;
    out->snapshot = r->log.snapshot;
    kl_raft_voters_view(kl_raft_voters(r), &out->voters);
    out->is_voter = kl_raft_is_voter(r);
    out->may_vote = kl_raft_may_vote(r);
    out->is_leading = r->is_leading;
    out->fault = r->fault;
    out->refusal = describe_refusal(r);
    out->counters = r->counters;
}
