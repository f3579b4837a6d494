/*
 * Giving up leadership: at once, or to a voter that has caught up.
 */
#include "raft/state.h"

#include <string.h>

/* The other voters, who is furthest first; preferred before all. */
static uint32_t handover_order(const struct kl_raft *r,
                               const struct kl_wire_voter_key *preferred,
                               struct kl_wire_voter_key *out)
{
    int64_t ends[KL_WIRE_VOTERS_MAX];
    uint32_t count = 0;

    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));) {
        int64_t end = p->durable_offset;
        uint32_t at = count++;

        if (preferred && kl_raft_key_equal(&p->key, preferred))
            end = INT64_MAX;
        for (; at > 0 && ends[at - 1] < end; at--) {
            ends[at] = ends[at - 1];
            out[at] = out[at - 1];
        }
        ends[at] = end;
        out[at] = p->key;
    }
    return count;
}

/* Rule 7. */
void kl_raft_leader_end(struct kl_raft *r,
                        const struct kl_wire_voter_key *preferred)
{
    uint32_t count = handover_order(r, preferred, r->voter_keys);

    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));) {
        struct kl_wire_end_quorum_epoch_request *end =
            &kl_raft_request(r, &p->key, KL_WIRE_END_QUORUM_EPOCH)
                 ->send.message.end_quorum_epoch_request;

        end->leader_epoch = r->hard.epoch;
        end->preferred_candidates.items = r->voter_keys;
        end->preferred_candidates.count = count;
    }
}

void kl_raft_leader_resign(struct kl_raft *r,
                           const struct kl_wire_voter_key *preferred)
{
    kl_raft_leader_end(r, preferred);
    kl_raft_become_resigned(r);
}

void kl_raft_hand_over_finish(struct kl_raft *r, int code)
{
    if (!r->hand_over.is_open)
        return;
    r->hand_over.is_open = 0;
    kl_raft_complete(r, r->hand_over.token, code, -1);
}

/* The target takes over when it has all that the leader has. */
void kl_raft_hand_over_check(struct kl_raft *r)
{
    struct kl_wire_voter_key target = r->hand_over.target;
    const struct kl_raft_peer *p;

    if (r->role != KL_RAFT_LEADER || !r->hand_over.is_open)
        return;
    p = kl_raft_peer_find(r, &target);
    if (!p || !p->is_voter) {
        kl_raft_hand_over_finish(r, KL_ENOVOTER);
    } else if (p->durable_offset == r->log.leo) {
        kl_raft_hand_over_finish(r, 0);
        kl_raft_leader_resign(r, &target);
    } else if (r->now >= r->hand_over.deadline) {
        kl_raft_hand_over_finish(r, KL_ETIMEDOUT);
    }
}

/* The voter that is meant, or that which is furthest. */
static const struct kl_raft_peer *
handover_target(const struct kl_raft *r, const struct kl_wire_voter_key *wish)
{
    const struct kl_raft_peer *best = NULL;

    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));) {
        if (wish->node_id >= 0 && p->key.node_id != wish->node_id)
            continue;
        if (!kl_base_uuid_is_zero(&wish->directory_id) &&
            !kl_raft_key_equal(&p->key, wish))
            continue;
        if (!best || p->durable_offset > best->durable_offset)
            best = p;
    }
    return best;
}

void kl_raft_hand_over_begin(struct kl_raft *r, uint64_t token,
                             const struct kl_wire_voter_key *wish)
{
    const struct kl_raft_peer *p;

    if (r->role != KL_RAFT_LEADER) {
        kl_raft_complete(r, token, KL_ENOTLEADER, -1);
        return;
    }
    if (r->hand_over.is_open || r->change.is_open) {
        kl_raft_complete(r, token, KL_EAGAIN, -1);
        return;
    }
    p = handover_target(r, wish);
    if (!p) {
        kl_raft_complete(r, token, KL_ENOVOTER, -1);
        return;
    }
    r->hand_over.is_open = 1;
    r->hand_over.token = token;
    r->hand_over.target = p->key;
    r->hand_over.deadline = r->now + r->options.election_timeout_ns;
    kl_raft_hand_over_check(r);
}
