/*
 * Begin and end of an epoch, and what is learned of epochs from any message
 * (rule 2).
 */
#include "raft/state.h"

#include <string.h>

static void recvepoch_keep_endpoints(struct kl_raft *r,
                                     const struct kl_wire_texts *texts)
{
    if (texts->count == 0 || texts->size > sizeof r->leader_endpoints)
        return;
    memcpy(r->leader_endpoints, texts->data, texts->size);
    r->leader_endpoints_size = texts->size;
    r->leader_endpoints_count = texts->count;
}

/* 0 where the message contradicts what is known of its epoch. */
static int recvepoch_learn(struct kl_raft *r, int32_t epoch, int32_t leader_id,
                           const struct kl_wire_texts *endpoints)
{
    int names = leader_id >= 0 && leader_id != r->options.self.node_id;

    if (epoch < r->hard.epoch)
        return 1;
    if (epoch == r->hard.epoch && r->hard.leader_id >= 0) {
        if (leader_id == r->hard.leader_id)
            recvepoch_keep_endpoints(r, endpoints);
        if (leader_id < 0 || leader_id == r->hard.leader_id)
            return 1;
        r->counters.conflicts++;
        return 0;
    }
    if (names) {
        r->leader_endpoints_count = 0;
        r->leader_endpoints_size = 0;
        recvepoch_keep_endpoints(r, endpoints);
        kl_raft_become_follower(r, epoch, leader_id);
    } else if (epoch > r->hard.epoch) {
        kl_raft_become_unattached(r, epoch);
    }
    return 1;
}

void kl_raft_observe(struct kl_raft *r, const struct kl_wire_message *m)
{
    const struct kl_wire_begin_quorum_epoch_response *head =
        &m->begin_quorum_epoch_response;

    recvepoch_learn(r, head->leader_epoch, head->leader_id,
                    &head->leader_endpoints);
}

/* ---- BeginQuorumEpoch (rule 7) ----------------------------------------- */

void kl_raft_recv_begin(struct kl_raft *r, const struct kl_wire_message *m)
{
    const struct kl_wire_begin_quorum_epoch_request *b =
        &m->begin_quorum_epoch_request;
    enum kl_wire_error error = KL_WIRE_NONE;

    if (b->leader_epoch < r->hard.epoch)
        error = KL_WIRE_FENCED_LEADER_EPOCH;
    else if (!recvepoch_learn(r, b->leader_epoch, m->envelope.source_id,
                              &b->leader_endpoints))
        error = KL_WIRE_INVALID_REQUEST;
    /* Its word proves nothing where it does not know what it promised. */
    else if (r->verdict != KL_RAFT_FIT)
        error = KL_WIRE_STORAGE_FAILED;
    kl_raft_reply(r, &m->envelope, error);
}

void kl_raft_recv_begin_reply(struct kl_raft *r, struct kl_raft_peer *p,
                              const struct kl_wire_message *m)
{
    if (p->begin_id != m->envelope.correlation_id) {
        r->counters.replayed++;
        return;
    }
    p->begin_id = 0;
    kl_raft_observe(r, m);
    if (r->role != KL_RAFT_LEADER ||
        m->begin_quorum_epoch_response.error_code != KL_WIRE_NONE ||
        m->begin_quorum_epoch_response.leader_epoch != r->hard.epoch)
        return;
    if (p->begin_round > p->round)
        p->round = p->begin_round;
    kl_raft_barrier_check(r);
}

/* ---- EndQuorumEpoch (rule 7) ------------------------------------------- */

/* The first in the list runs at once, the others leave it some time. */
static int64_t recvepoch_succession(struct kl_raft *r,
                                    const struct kl_wire_voter_key_list *list)
{
    int64_t max = r->options.election_backoff_ns;
    int64_t span = max / 10;
    uint32_t at = 0;

    while (list && at < list->count &&
           !kl_raft_key_equal(&list->items[at], &r->options.self))
        at++;
    r->is_heir = list && at == 0 && list->count > 0;
    if (r->is_heir)
        return 0;
    for (uint32_t i = 1; i < at && span < max; i++)
        span *= 2;
    if (span > max)
        span = max;
    return span + (int64_t)kl_base_rng_below(&r->rng, (uint64_t)span);
}

void kl_raft_leader_has_left(struct kl_raft *r,
                             const struct kl_wire_voter_key_list *successors)
{
    int64_t at = r->now + recvepoch_succession(r, successors);

    if (!r->leader_left || at < r->election_deadline)
        r->election_deadline = at;
    r->leader_left = 1;
    kl_raft_fetch_forget(r);
    kl_raft_fetch_guess(r);
}

void kl_raft_recv_end(struct kl_raft *r, const struct kl_wire_message *m)
{
    static const struct kl_wire_texts none;
    const struct kl_wire_end_quorum_epoch_request *e =
        &m->end_quorum_epoch_request;

    if (e->leader_epoch < r->hard.epoch) {
        kl_raft_reply(r, &m->envelope, KL_WIRE_FENCED_LEADER_EPOCH);
        return;
    }
    if (!recvepoch_learn(r, e->leader_epoch, m->envelope.source_id, &none)) {
        kl_raft_reply(r, &m->envelope, KL_WIRE_INVALID_REQUEST);
        return;
    }
    if (r->role == KL_RAFT_FOLLOWER)
        kl_raft_leader_has_left(r, &e->preferred_candidates);
    kl_raft_reply(r, &m->envelope, KL_WIRE_NONE);
}
