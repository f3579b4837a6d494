/*
 * Changes of the role; nothing else writes it. Who leaves a role takes along
 * what belongs to it: a leader answers those who wait for it.
 */
#include "raft/state.h"

#include <string.h>

static void become_set(struct kl_raft *r, enum kl_raft_role role)
{
    struct kl_raft_effect *effect;

    r->role = role;
    effect = kl_raft_emit(r, KL_RAFT_ROLE);
    effect->role.role = role;
    effect->role.epoch = r->hard.epoch;
    effect->role.leader_id = r->hard.leader_id;
    effect->role.leader_endpoints = kl_raft_leader_endpoints(r);
}

/* What the roles leave behind. The quorum state may be set already. */
static void become_leave(struct kl_raft *r, enum kl_raft_role old)
{
    if (old == KL_RAFT_LEADER)
        kl_raft_leader_stop(r);
    kl_raft_election_forget(r);
    kl_raft_fetch_forget(r);
}

/* Rule 2: a higher epoch without a leader, or no luck in this one. */
void kl_raft_become_unattached(struct kl_raft *r, int32_t epoch)
{
    enum kl_raft_role old = r->role;

    if (epoch > r->hard.epoch)
        kl_raft_hard_set(r, epoch, -1, NULL);
    KL_ASSERT(r->hard.leader_id < 0);
    r->role = KL_RAFT_UNATTACHED;
    become_leave(r, old);
    become_set(r, KL_RAFT_UNATTACHED);
    r->election_deadline = r->now + kl_raft_election_delay(r);
    r->fetch_deadline = r->now;
}

void kl_raft_become_follower(struct kl_raft *r, int32_t epoch,
                             int32_t leader_id)
{
    enum kl_raft_role old = r->role;

    KL_ASSERT(leader_id >= 0 && leader_id != r->options.self.node_id);
    kl_raft_hard_set(r, epoch, leader_id, NULL);
    r->role = KL_RAFT_FOLLOWER;
    become_leave(r, old);
    r->has_fetched = 0;
    r->leader_left = 0;
    r->is_heir = 0;
    r->is_guessing = 0;
    r->election_failures = 0;
    become_set(r, KL_RAFT_FOLLOWER);
    r->election_deadline = r->now + kl_raft_fetch_timeout(r);
    r->update_deadline = r->now;
    kl_raft_fetch_send(r);
}

/* Rule 4. Leader and vote of the epoch are kept. */
void kl_raft_become_prospective(struct kl_raft *r)
{
    KL_ASSERT(kl_raft_may_campaign(r));
    become_leave(r, r->role);
    become_set(r, KL_RAFT_PROSPECTIVE);
    r->election_deadline = r->now + kl_raft_election_timeout(r);
    kl_raft_election_ask(r);
}

/* An heir need not ask: there is no leader that it could disturb. */
void kl_raft_become_candidate(struct kl_raft *r)
{
    int64_t timeout;

    KL_ASSERT(r->role == KL_RAFT_PROSPECTIVE ||
              (r->role == KL_RAFT_FOLLOWER && r->is_heir));
    KL_ASSERT(kl_raft_may_campaign(r));
    become_leave(r, r->role);
    kl_raft_hard_set(r, r->hard.epoch + 1, -1, &r->options.self);
    r->own_vote_id = r->persist_id;
    r->counters.elections++;
    become_set(r, KL_RAFT_CANDIDATE);
    /* The only voter waits for its own disk alone. */
    timeout = kl_raft_election_delay(r);
    r->election_deadline = timeout ? r->now + timeout : KL_RAFT_NEVER;
    kl_raft_election_ask(r);
}

/* Rule 6. */
void kl_raft_become_leader(struct kl_raft *r)
{
    uint32_t granting = kl_raft_election_granted(r, r->granting_keys);

    KL_ASSERT(r->role == KL_RAFT_CANDIDATE);
    KL_ASSERT(kl_raft_key_equal(&r->hard.voted, &r->options.self));
    become_leave(r, r->role);
    kl_raft_hard_set(r, r->hard.epoch, r->options.self.node_id, NULL);
    r->election_failures = 0;
    become_set(r, KL_RAFT_LEADER);
    kl_raft_leader_start(r, granting);
}

/* Led this epoch and does not any more (rule 1). */
void kl_raft_become_resigned(struct kl_raft *r)
{
    KL_ASSERT(r->hard.leader_id == r->options.self.node_id);
    become_leave(r, r->role);
    become_set(r, KL_RAFT_RESIGNED);
    r->election_deadline = r->now + kl_raft_election_delay(r);
}
