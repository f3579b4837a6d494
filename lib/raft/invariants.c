/*
 * What holds between steps, by name; each line is an invariant of the room's
 * README. Those between nodes are the simulator's business.
 */
#include "raft/state.h"

static const char *invariants_hard(const struct kl_raft *r)
{
    int leads = r->hard.leader_id == r->options.self.node_id;

    if (r->hard.epoch < kl_raft_log_last_epoch(r))
        return "the log has no epoch above that of the quorum state";
    if (r->persisted_id > r->persist_id)
        return "only what was asked for is durable";
    if (leads && r->role != KL_RAFT_LEADER && r->role != KL_RAFT_RESIGNED)
        return "who led its epoch leads it or has resigned";
    return NULL;
}

static const char *invariants_role(const struct kl_raft *r)
{
    int leads = r->hard.leader_id == r->options.self.node_id;

    switch (r->role) {
    case KL_RAFT_UNATTACHED:
        return r->hard.leader_id < 0 ? NULL : "unattached: no leader is known";
    case KL_RAFT_PROSPECTIVE:
        return kl_raft_is_electable(r) ? NULL : "prospective: may be a voter";
    case KL_RAFT_CANDIDATE:
        if (r->hard.leader_id >= 0)
            return "candidate: no leader is known";
        return kl_raft_key_equal(&r->hard.voted, &r->options.self)
                   ? NULL
                   : "candidate: voted for itself";
    case KL_RAFT_LEADER:
        if (!leads)
            return "leader: is the leader of its epoch";
        return kl_raft_key_equal(&r->hard.voted, &r->options.self)
                   ? NULL
                   : "leader: voted for itself";
    case KL_RAFT_FOLLOWER:
        return r->hard.leader_id >= 0 && !leads
                   ? NULL
                   : "follower: another one is the leader";
    case KL_RAFT_RESIGNED:
        return leads ? NULL : "resigned: was the leader of its epoch";
    }
    return "the role is one of six";
}

static const char *invariants_log(const struct kl_raft *r)
{
    const struct kl_raft_log *log = &r->log;

    if (log->start > log->durable || log->durable > log->leo)
        return "start <= durable LEO <= LEO";
    if (r->high_watermark > log->leo)
        return "high watermark <= LEO";
    if (r->commit_told > r->high_watermark)
        return "nothing is told as committed that is not";
    if (r->applied > r->commit_told)
        return "nothing is applied that was not told";
    if (log->start > 0 &&
        (log->snapshot.end_offset < log->start || log->start_epoch < 0))
        return "a log that does not begin at 0 has a snapshot (R10)";
    if (log->snapshot.end_offset > r->high_watermark &&
        r->role != KL_RAFT_LEADER)
        return "a snapshot holds committed records";
    if (log->start < log->leo &&
        (log->epochs.count == 0 || log->epochs.items[0].start > log->start))
        return "each record has an epoch";
    if (log->epochs.count &&
        log->epochs.items[log->epochs.count - 1].start >= log->leo)
        return "each epoch of the list has a record";
    return NULL;
}

static const char *invariants_voters(const struct kl_raft *r)
{
    const struct kl_raft_history *h = &r->history;
    int64_t last = -2;

    for (size_t i = 0; i < h->count; i++) {
        const struct kl_raft_set *set = h->sets[i];

        if (set->offset <= last || set->offset >= r->log.leo)
            return "sets of voters ascend and lie in the log";
        last = set->offset;
        for (uint32_t a = 0; a < set->count; a++)
            for (uint32_t b = 0; b < a; b++)
                if (set->voters[a].node_id == set->voters[b].node_id)
                    return "a node is a voter once";
    }
    return NULL;
}

static const char *invariants_peers(const struct kl_raft *r)
{
    const struct kl_raft_set *set = kl_raft_voters(r);
    uint32_t voters = 0;

    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct kl_raft_peer *p = &r->peers[i];

        voters += p->is_voter != 0;
        if (p->key.node_id < 0 && p->is_voter)
            return "a free entry is no voter";
        if (p->vote != KL_RAFT_VOTE_OPEN && r->role != KL_RAFT_PROSPECTIVE &&
            r->role != KL_RAFT_CANDIDATE)
            return "votes are counted in an election only (R6)";
        if (r->role == KL_RAFT_LEADER)
            continue;
        if (p->parked.is_waiting || p->read_id || p->snapshot_read_id)
            return "only a leader keeps others waiting";
    }
    if (set && voters + (kl_raft_is_voter(r) != 0) != set->count)
        return "each voter of the set in force has an entry";
    return NULL;
}

static const char *invariants_leader(const struct kl_raft *r)
{
    if (r->role != KL_RAFT_LEADER) {
        if (r->proposal_count || r->barrier_count || r->is_leading)
            return "only a leader has promises open (R6)";
        return r->change.is_open || r->hand_over.is_open
                   ? "only a leader changes voters or hands over"
                   : NULL;
    }
    if (r->log.leo <= r->epoch_start)
        return "a leader has a record of its epoch";
    if (kl_raft_log_last_epoch(r) != r->hard.epoch)
        return "the newest record of a leader is of its epoch";
    if (r->is_leading && r->applied <= r->epoch_start)
        return "who leads has applied what came before (history 45)";
    if (r->proposal_count && !r->is_leading)
        return "only who leads takes proposals";
    return NULL;
}

const char *kl_raft_check_invariants(const struct kl_raft *r)
{
    const char *broken = NULL;

    if (!r->is_started)
        return NULL;
    if (!broken)
        broken = invariants_hard(r);
    if (!broken)
        broken = invariants_role(r);
    if (!broken)
        broken = invariants_log(r);
    if (!broken)
        broken = invariants_voters(r);
    if (!broken)
        broken = invariants_peers(r);
    if (!broken)
        broken = invariants_leader(r);
    return broken;
}
