/*
 * Votes and pre-votes, asked for and given.
 */
#include "raft/state.h"

/* ---- the request ------------------------------------------------------- */

/* Rule 4. Nothing is promised, so several may get it; those who hear from a
 * leader do not help to depose it. */
static int recvvote_grants_pre_vote(const struct kl_raft *r,
                                    const struct kl_wire_vote_request *v)
{
    if (!kl_raft_log_up_to_date(r, v->last_epoch, v->last_offset))
        return 0;
    switch (r->role) {
    case KL_RAFT_UNATTACHED:
    case KL_RAFT_PROSPECTIVE:
    case KL_RAFT_CANDIDATE:
    case KL_RAFT_RESIGNED:
        return 1;
    case KL_RAFT_FOLLOWER:
        return !r->has_fetched || r->leader_left;
    case KL_RAFT_LEADER:
        return 0;
    }
    KL_UNREACHABLE();
}

/* Rule 5. One vote in an epoch, for a directory of a node (B22), and only while
 * no leader of the epoch is known. */
static int recvvote_grants(const struct kl_raft *r,
                           const struct kl_wire_voter_key *candidate,
                           const struct kl_wire_vote_request *v)
{
    if (r->role != KL_RAFT_UNATTACHED && r->role != KL_RAFT_PROSPECTIVE)
        return 0;
    if (kl_raft_hard_has_voted(r))
        return kl_raft_key_equal(&r->hard.voted, candidate);
    return r->hard.leader_id < 0 &&
           kl_raft_log_up_to_date(r, v->last_epoch, v->last_offset);
}

static enum kl_wire_error recvvote_check(const struct kl_raft *r,
                                         const struct kl_wire_voter_key *from,
                                         const struct kl_wire_vote_request *v)
{
    const struct kl_wire_voter *known = kl_raft_voter_of(r, from->node_id);

    if (v->candidate_epoch < r->hard.epoch)
        return KL_WIRE_FENCED_LEADER_EPOCH;
    if (known && !kl_base_uuid_equal(&known->directory_id, &from->directory_id))
        return KL_WIRE_INVALID_VOTER_KEY;
    return KL_WIRE_NONE;
}

void kl_raft_recv_vote(struct kl_raft *r, struct kl_raft_peer *p,
                       const struct kl_wire_message *m)
{
    const struct kl_wire_vote_request *v = &m->vote_request;
    enum kl_wire_error error;
    int granted = 0;

    /* Step 1. A record of an epoch comes after its election. */
    if (v->last_epoch > v->candidate_epoch ||
        (!v->pre_vote && v->last_epoch == v->candidate_epoch)) {
        r->counters.malformed++;
        kl_raft_reply(r, &m->envelope, KL_WIRE_INVALID_REQUEST);
        return;
    }
    /* Step 2. Who may ask, and in which epoch. */
    error = recvvote_check(r, &p->key, v);
    if (error == KL_WIRE_NONE && v->candidate_epoch > r->hard.epoch)
        kl_raft_become_unattached(r, v->candidate_epoch);
    /* Step 3. Who has forgotten what it promised promises nothing (F36). */
    if (error == KL_WIRE_NONE && kl_raft_may_vote(r))
        granted = v->pre_vote ? recvvote_grants_pre_vote(r, v)
                              : recvvote_grants(r, &p->key, v);
    /* Step 4. The answer leaves when the promise is durable. */
    if (granted && !v->pre_vote) {
        kl_raft_hard_set(r, r->hard.epoch, r->hard.leader_id, &p->key);
        if (r->role == KL_RAFT_UNATTACHED)
            r->election_deadline = r->now + kl_raft_election_timeout(r);
    }
    kl_raft_reply(r, &m->envelope, error)
        ->send.message.vote_response.vote_granted = (int8_t)granted;
    if (!granted && error == KL_WIRE_NONE && v->pre_vote)
        kl_raft_election_rival(r, p);
}

/* ---- the response ------------------------------------------------------ */

void kl_raft_recv_vote_reply(struct kl_raft *r, struct kl_raft_peer *p,
                             const struct kl_wire_message *m)
{
    const struct kl_wire_vote_response *v = &m->vote_response;

    /* Step 1. An answer counts once, and for the round that asked (B02). */
    if (p->vote_id != m->envelope.correlation_id) {
        r->counters.replayed++;
        return;
    }
    p->vote_id = 0;
    if (v->error_code == KL_WIRE_DUPLICATE_NODE ||
        v->error_code == KL_WIRE_LOG_REGRESSED) {
        kl_raft_refused(r, (enum kl_wire_error)v->error_code);
        return;
    }
    /* Step 2. Rule 2 may have ended the round. */
    kl_raft_observe(r, m);
    if (r->role != KL_RAFT_PROSPECTIVE && r->role != KL_RAFT_CANDIDATE)
        return;
    /* Step 3. */
    p->vote = v->vote_granted && v->error_code == KL_WIRE_NONE &&
                      v->leader_epoch == r->hard.epoch
                  ? KL_RAFT_VOTE_YES
                  : KL_RAFT_VOTE_NO;
    kl_raft_election_tally(r);
}
