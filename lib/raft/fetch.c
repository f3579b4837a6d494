/*
 * Fetching, the side that asks: followers and observers pull the log from the
 * leader. The next fetch goes out when what came is durable (rule 9), so that
 * an acknowledgement costs one sync and one way; or when that takes long. None
 * goes out before: the leader commits one batch at a time and has no other.
 */
#include "raft/state.h"

#include <string.h>

void kl_raft_fetch_forget(struct kl_raft *r)
{
    r->fetch_count = 0;
    r->fetch_deadline = KL_RAFT_NEVER;
    memset(&r->download, 0, sizeof r->download);
    r->download.id.end_offset = -1;
}

/* Of any directory: the set of one who is behind may name a disk that has been
 * replaced since, and it is the leader who tells him so. */
struct kl_wire_voter_key kl_raft_leader_key(const struct kl_raft *r)
{
    return (struct kl_wire_voter_key){r->hard.leader_id, {{0}}};
}

/* ---- whom to ask ------------------------------------------------------- */

/* A voter without a leader does not ask around. */
static int fetch_waits_for_election(const struct kl_raft *r)
{
    return kl_raft_is_electable(r) && r->verdict == KL_RAFT_FIT;
}

/* Rule 12: another one each time, of those who may know the leader. */
static int fetch_next_guess(struct kl_raft *r, struct kl_wire_voter_key *out)
{
    const struct kl_raft_set *set = kl_raft_voters(r);
    uint32_t count = set ? set->count : r->options.bootstrap_count;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = r->probe_next++ % count;

        *out = (struct kl_wire_voter_key){set ? set->voters[at].node_id
                                              : r->options.bootstrap_ids[at],
                                          {{0}}};
        if (out->node_id != r->options.self.node_id)
            return 1;
    }
    return 0;
}

/* A follower asks its leader; an observer that has none, or hears nothing from
 * it, asks around. */
static int fetch_target(struct kl_raft *r, struct kl_wire_voter_key *out)
{
    if (r->role == KL_RAFT_FOLLOWER && !r->leader_left && !r->is_guessing) {
        *out = kl_raft_leader_key(r);
        return 1;
    }
    if (r->role == KL_RAFT_LEADER || fetch_waits_for_election(r))
        return 0;
    return fetch_next_guess(r, out);
}

/* ---- asking ------------------------------------------------------------ */

/* What may still be appended before the disk has to follow (B98). */
static int32_t fetch_window(const struct kl_raft *r)
{
    uint64_t pending = kl_raft_log_pending_bytes(r);
    uint64_t window = 2 * (uint64_t)r->options.fetch_bytes_max;

    if (r->download.id.end_offset >= 0 || pending >= window)
        return 0;
    window -= pending;
    return window < r->options.fetch_bytes_max
               ? (int32_t)window
               : (int32_t)r->options.fetch_bytes_max;
}

static int64_t fetch_emit(struct kl_raft *r, const struct kl_wire_voter_key *to,
                          int64_t wait_ns)
{
    struct kl_raft_effect *effect = kl_raft_request(r, to, KL_WIRE_FETCH);
    struct kl_wire_fetch_request *fetch = &effect->send.message.fetch_request;
    struct kl_wire_fetch_partition *part = &effect->send.part.fetch;

    fetch->max_wait_ms = (int32_t)(wait_ns / 1000000);
    fetch->max_bytes = fetch_window(r);
    fetch->partitions.items = part;
    fetch->partitions.count = 1;
    part->topic_id = r->options.topic_id;
    part->current_leader_epoch = r->hard.epoch;
    part->fetch_offset = r->log.leo;
    part->last_fetched_epoch = kl_raft_log_last_epoch(r);
    part->durable_offset = r->verdict == KL_RAFT_FIT ? r->log.durable : -1;
    part->log_start_offset = r->log.start;
    part->high_watermark = r->high_watermark;
    part->max_bytes = fetch->max_bytes;
    return r->correlation_id;
}

void kl_raft_fetch_send(struct kl_raft *r)
{
    struct kl_wire_voter_key to;

    if (!fetch_target(r, &to)) {
        r->fetch_deadline = KL_RAFT_NEVER;
        return;
    }
    if (r->fetch_count == KL_RAFT_OUTSTANDING) {
        r->fetch_count--;
        memmove(r->fetches, r->fetches + 1,
                r->fetch_count * sizeof r->fetches[0]);
    }
    r->fetches[r->fetch_count++] = fetch_emit(r, &to, r->options.fetch_wait_ns);
    r->fetch_deadline = r->now + r->options.request_timeout_ns;
}

/* What is durable has changed: the leader counts on it. */
void kl_raft_fetch_durable(struct kl_raft *r)
{
    if (r->role == KL_RAFT_FOLLOWER && !r->leader_left && !r->is_guessing)
        kl_raft_fetch_send(r);
}

void kl_raft_fetch_guess(struct kl_raft *r)
{
    if (r->role != KL_RAFT_FOLLOWER || fetch_waits_for_election(r))
        return;
    r->is_guessing = 1;
    kl_raft_fetch_again(r, r->options.request_timeout_ns / 4);
}

void kl_raft_fetch_again(struct kl_raft *r, int64_t delay)
{
    r->fetch_count = 0;
    r->fetch_deadline = r->now + delay;
}

void kl_raft_fetch_timer(struct kl_raft *r)
{
    if (r->now < r->fetch_deadline)
        return;
    /* No answer within the time: it is lost. */
    r->fetch_count = 0;
    kl_raft_fetch_send(r);
}

/* ---- the start --------------------------------------------------------- */

/* A node that starts shows its state to all voters before it votes: one who
 * has seen a later state of this folder says so (F46). */
void kl_raft_probe_send(struct kl_raft *r)
{
    r->probe_deadline = r->now + r->options.request_timeout_ns / 2;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        if (!p->has_answered)
            p->probe_id = fetch_emit(r, &p->key, 0);
}

static void fetch_confirm(struct kl_raft *r)
{
    r->is_confirmed = 1;
    r->refusal = 0;
    r->probe_deadline = KL_RAFT_NEVER;
    if (r->role == KL_RAFT_UNATTACHED)
        r->election_deadline = r->now + kl_raft_election_delay(r);
}

void kl_raft_probe_answered(struct kl_raft *r, struct kl_raft_peer *p)
{
    p->has_answered = 1;
    if (r->is_confirmed)
        return;
    for (p = NULL; (p = kl_raft_next_voter(r, p));)
        if (!p->has_answered)
            return;
    fetch_confirm(r);
}

void kl_raft_probe_timer(struct kl_raft *r)
{
    if (r->is_confirmed)
        return;
    if (r->now >= r->confirm_deadline)
        fetch_confirm(r);
    else if (r->now >= r->probe_deadline)
        kl_raft_probe_send(r);
}

/* A peer says that this folder is old, or that another process uses it. */
void kl_raft_refused(struct kl_raft *r, enum kl_wire_error error)
{
    if (error == KL_WIRE_LOG_REGRESSED) {
        r->refusal = KL_EREGRESSED;
        kl_raft_fault(r, KL_EREGRESSED);
        return;
    }
    r->refusal = KL_EDUPLICATENODE;
    if (r->role == KL_RAFT_LEADER)
        return;
    r->is_confirmed = 0;
    r->confirm_deadline = r->now + r->options.fetch_timeout_ns;
    r->probe_deadline = r->now + r->options.request_timeout_ns / 2;
    for (uint32_t i = 0; i < r->peer_count; i++)
        r->peers[i].has_answered = 0;
    if (r->role == KL_RAFT_FOLLOWER)
        kl_raft_fetch_again(r, r->options.request_timeout_ns / 2);
}
