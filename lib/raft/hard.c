/*
 * The quorum state: epoch, leader and vote. What is promised in an epoch is
 * never taken back, and each change is to be persisted.
 */
#include "raft/state.h"

int kl_raft_hard_has_voted(const struct kl_raft *r)
{
    return r->hard.voted.node_id >= 0;
}

void kl_raft_hard_set(struct kl_raft *r, int32_t epoch, int32_t leader_id,
                      const struct kl_wire_voter_key *voted)
{
    static const struct kl_wire_voter_key nobody = {-1, {{0}}};
    struct kl_raft_quorum_state *hard = &r->hard;
    struct kl_raft_effect *effect;

    if (!voted)
        voted = epoch == hard->epoch ? &hard->voted : &nobody;
    KL_ASSERT(epoch >= hard->epoch);
    if (epoch == hard->epoch) {
        KL_ASSERT(hard->leader_id < 0 || leader_id == hard->leader_id);
        KL_ASSERT(!kl_raft_hard_has_voted(r) ||
                  kl_raft_key_equal(voted, &hard->voted));
        if (leader_id == hard->leader_id &&
            voted->node_id == hard->voted.node_id)
            return;
    }
    hard->epoch = epoch;
    hard->leader_id = leader_id;
    hard->voted = *voted;
    effect = kl_raft_emit(r, KL_RAFT_PERSIST);
    effect->persist.id = ++r->persist_id;
    effect->persist.state = *hard;
}
