/*
 * The high watermark: what a majority of the voters holds durably, once a
 * record of the leader's own epoch is among it (Raft 5.4.2; rules 6 and 10). It
 * never falls.
 */
#include "raft/state.h"

#define COMMIT_TELL_NS INT64_C(1000000)

/* The state machine may apply what is committed and durable here. */
static void commit_tell(struct kl_raft *r)
{
    int64_t end =
        r->high_watermark < r->log.durable ? r->high_watermark : r->log.durable;
    struct kl_raft_effect *effect;

    if (end <= r->commit_told)
        return;
    r->commit_told = end;
    effect = kl_raft_emit(r, KL_RAFT_COMMIT);
    effect->commit.offset = end;
    effect->commit.high_watermark = r->high_watermark;
}

/* The controller acts when it has applied all that its predecessors left (rule
 * 5 of snapshots; B10). */
static void commit_lead(struct kl_raft *r)
{
    if (r->role != KL_RAFT_LEADER || r->is_leading ||
        r->high_watermark <= r->epoch_start || r->applied <= r->epoch_start)
        return;
    r->is_leading = 1;
    kl_raft_emit(r, KL_RAFT_LEAD)->lead.epoch = r->hard.epoch;
}

/* Followers learn of a commit with the next records. They are not told before
 * those come where nobody there waits for it; if none come, not much later. */
static int64_t commit_tell_at(const struct kl_raft *r, int is_local)
{
    if (!is_local)
        return r->now;
    return r->tell_at > r->now ? r->tell_at : r->now + COMMIT_TELL_NS;
}

static void commit_proposals(struct kl_raft *r)
{
    uint32_t done = 0;
    int is_local = 1;

    while (done < r->proposal_count &&
           r->proposals[done].end <= r->high_watermark) {
        kl_raft_complete(r, r->proposals[done].token, 0,
                         r->proposals[done].end);
        is_local &= r->proposals[done].is_local;
        done++;
    }
    r->tell_at = commit_tell_at(r, done && is_local);
    r->proposal_count -= done;
    for (uint32_t i = 0; i < r->proposal_count; i++)
        r->proposals[i] = r->proposals[i + done];
}

/* What a majority of the set in force holds. The leader counts what it has
 * flushed, and only while it is a voter (B15, B37). */
static int64_t commit_reached(const struct kl_raft *r)
{
    int64_t ends[KL_WIRE_VOTERS_MAX];
    uint32_t count = 0;

    if (kl_raft_is_voter(r))
        ends[count++] = r->log.durable;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        ends[count++] = p->durable_offset;
    return kl_raft_quorum_reached(ends, count);
}

/* What a peer acknowledged and is committed cannot be gone when it comes back
 * (F46). */
static void commit_remember(struct kl_raft *r)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct kl_raft_peer *p = &r->peers[i];
        int64_t end = p->durable_offset < r->high_watermark ? p->durable_offset
                                                            : r->high_watermark;

        if (end > p->committed)
            p->committed = end;
    }
}

void kl_raft_commit_lead(struct kl_raft *r)
{
    int64_t end;

    if (r->role != KL_RAFT_LEADER)
        return;
    end = commit_reached(r);
    if (end > r->high_watermark && end > r->epoch_start) {
        r->high_watermark = end;
        commit_proposals(r);
        commit_tell(r);
        kl_raft_fetch_wake(r);
        kl_raft_change_committed(r);
    }
    commit_remember(r);
    if (r->role == KL_RAFT_LEADER)
        commit_lead(r);
}

void kl_raft_commit_learn(struct kl_raft *r, int64_t high_watermark)
{
    if (high_watermark > r->log.leo)
        high_watermark = r->log.leo;
    if (high_watermark > r->high_watermark)
        r->high_watermark = high_watermark;
    commit_tell(r);
}

void kl_raft_commit_durable(struct kl_raft *r)
{
    kl_raft_commit_lead(r);
    commit_tell(r);
}

void kl_raft_commit_applied(struct kl_raft *r, int64_t offset)
{
    if (offset > r->commit_told || offset <= r->applied)
        return;
    r->applied = offset;
    kl_raft_voters_prune(r, offset);
    commit_lead(r);
}
