/*
 * Elections: their timers, the two rounds of questions, and the tally. A vote
 * belongs to a voter of the set in force, so that no answer counts twice (B02)
 * and nobody else's counts at all.
 */
#include "raft/state.h"

int64_t kl_raft_election_timeout(struct kl_raft *r)
{
    int64_t t = r->options.election_timeout_ns;

    return t + (int64_t)kl_base_rng_below(&r->rng, (uint64_t)t);
}

/* Followers who lose their leader at one moment do not stand at one moment:
 * none of them would be elected. */
int64_t kl_raft_fetch_timeout(struct kl_raft *r)
{
    int64_t t = r->options.fetch_timeout_ns;

    return t + (int64_t)kl_base_rng_below(&r->rng, (uint64_t)t / 4 + 1);
}

int64_t kl_raft_election_delay(struct kl_raft *r)
{
    const struct kl_raft_set *set = kl_raft_voters(r);

    /* The only voter has nobody to wait for (B08). */
    return set && set->count == 1 && kl_raft_is_voter(r)
               ? 0
               : kl_raft_election_timeout(r);
}

/* After a lost election: exponential, random, bounded. */
static int64_t election_backoff(struct kl_raft *r)
{
    uint32_t shift = r->election_failures < 4 ? r->election_failures : 4;
    int64_t max = r->options.election_backoff_ns;
    int64_t span = (max / 10) << shift;

    if (span > max)
        span = max;
    return 1 + (int64_t)kl_base_rng_below(&r->rng, (uint64_t)span);
}

/* May it vote, as far as it knows itself? */
int kl_raft_may_vote(const struct kl_raft *r)
{
    return r->verdict == KL_RAFT_FIT && r->is_confirmed && !r->fault;
}

int kl_raft_may_campaign(const struct kl_raft *r)
{
    return kl_raft_may_vote(r) && kl_raft_is_electable(r);
}

void kl_raft_election_forget(struct kl_raft *r)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        r->peers[i].vote_id = 0;
        r->peers[i].vote = KL_RAFT_VOTE_OPEN;
    }
}

/* ---- tally ------------------------------------------------------------- */

/* Its own vote counts when it is durable (B15); a pre-vote is no promise. */
static int election_own_vote(const struct kl_raft *r)
{
    return r->role == KL_RAFT_PROSPECTIVE ||
           (r->role == KL_RAFT_CANDIDATE && r->persisted_id >= r->own_vote_id);
}

uint32_t kl_raft_election_granted(const struct kl_raft *r,
                                  struct kl_wire_voter_key *keys)
{
    uint32_t count = 0;

    if (kl_raft_is_voter(r) && election_own_vote(r))
        keys[count++] = r->options.self;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        if (p->vote == KL_RAFT_VOTE_YES)
            keys[count++] = p->key;
    return count;
}

static uint32_t election_refused(const struct kl_raft *r)
{
    uint32_t count = 0;

    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        count += p->vote == KL_RAFT_VOTE_NO;
    return count;
}

/* Back to where it came from: it knows the leader, or nobody. */
static void election_lose_pre_vote(struct kl_raft *r)
{
    r->election_failures++;
    if (r->hard.leader_id >= 0)
        kl_raft_become_follower(r, r->hard.epoch, r->hard.leader_id);
    else
        kl_raft_become_unattached(r, r->hard.epoch);
}

void kl_raft_election_tally(struct kl_raft *r)
{
    const struct kl_raft_set *set = kl_raft_voters(r);
    struct kl_wire_voter_key keys[KL_WIRE_VOTERS_MAX];
    uint32_t majority;

    if ((r->role != KL_RAFT_PROSPECTIVE && r->role != KL_RAFT_CANDIDATE) ||
        !kl_raft_may_campaign(r))
        return;
    majority = kl_raft_quorum_majority(set->count);
    if (kl_raft_election_granted(r, keys) >= majority) {
        if (r->role == KL_RAFT_PROSPECTIVE)
            kl_raft_become_candidate(r);
        else
            kl_raft_become_leader(r);
    } else if (election_refused(r) > set->count - majority) {
        if (r->role == KL_RAFT_PROSPECTIVE) {
            election_lose_pre_vote(r);
        } else {
            r->election_failures++;
            r->election_deadline = r->now + election_backoff(r);
            kl_raft_election_forget(r);
        }
    }
}

/* ---- asking ------------------------------------------------------------ */

static void election_ask(struct kl_raft *r, struct kl_raft_peer *p)
{
    struct kl_wire_vote_request *vote =
        &kl_raft_request(r, &p->key, KL_WIRE_VOTE)->send.message.vote_request;

    vote->candidate_epoch = r->hard.epoch;
    vote->last_epoch = kl_raft_log_last_epoch(r);
    vote->last_offset = r->log.leo;
    vote->pre_vote = r->role == KL_RAFT_PROSPECTIVE;
    p->vote = KL_RAFT_VOTE_OPEN;
    p->vote_id = r->correlation_id;
}

void kl_raft_election_ask(struct kl_raft *r)
{
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        election_ask(r, p);
    /* Alone, it has the majority already. */
    kl_raft_election_tally(r);
}

/* Who asks for itself has lost its leader since it has refused, so it is asked
 * again: it may be that only this node can be elected. */
void kl_raft_election_rival(struct kl_raft *r, struct kl_raft_peer *p)
{
    if (r->role == KL_RAFT_PROSPECTIVE && p->is_voter &&
        p->vote == KL_RAFT_VOTE_NO)
        election_ask(r, p);
}

/* ---- timers ------------------------------------------------------------ */

static void election_expire(struct kl_raft *r)
{
    switch (r->role) {
    case KL_RAFT_FOLLOWER:
        if (r->is_heir) {
            kl_raft_become_candidate(r);
            break;
        }
        kl_raft_become_prospective(r);
        break;
    case KL_RAFT_UNATTACHED:
    case KL_RAFT_CANDIDATE:
        kl_raft_become_prospective(r);
        break;
    case KL_RAFT_PROSPECTIVE:
        election_lose_pre_vote(r);
        break;
    case KL_RAFT_RESIGNED:
        kl_raft_become_unattached(r, r->hard.epoch + 1);
        break;
    case KL_RAFT_LEADER:
        break;
    }
}

void kl_raft_election_timer(struct kl_raft *r)
{
    if (r->role == KL_RAFT_LEADER || r->now < r->election_deadline)
        return;
    if (r->role != KL_RAFT_RESIGNED && !kl_raft_may_campaign(r)) {
        /* Rule 12: whoever may not campaign goes on asking. */
        r->election_deadline = r->now + r->options.fetch_timeout_ns;
        if (r->role == KL_RAFT_CANDIDATE || r->role == KL_RAFT_PROSPECTIVE)
            election_lose_pre_vote(r);
        else
            kl_raft_fetch_guess(r);
        return;
    }
    election_expire(r);
}

int64_t kl_raft_election_wants(const struct kl_raft *r)
{
    return r->role == KL_RAFT_LEADER ? KL_RAFT_NEVER : r->election_deadline;
}
