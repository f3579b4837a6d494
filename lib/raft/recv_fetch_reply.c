/*
 * The leader's answer to a fetch: where the logs part, a snapshot that is to be
 * loaded first, or records and the high watermark.
 */
#include "raft/state.h"

/* ---- divergence (1.11.3) ----------------------------------------------- */

static void fetched_diverging(struct kl_raft *r,
                              const struct kl_wire_fetched_partition *part)
{
    int64_t to = part->diverging_end_offset;
    int32_t epoch;
    int64_t end;

    /* Step 1. The end of the newest epoch of ours that is not above theirs. */
    kl_batch_epochs_end_for(&r->log.epochs, part->diverging_epoch, r->log.leo,
                            &epoch, &end);
    if (epoch < 0)
        end = part->diverging_epoch < kl_raft_log_last_epoch(r) ? r->log.start
                                                                : r->log.leo;
    /* Step 2. The same epoch: what both have of it; else all of ours. */
    if (epoch != part->diverging_epoch || end < to)
        to = end;
    /* Step 3. What is committed is never given up: either that was no commit,
     * or this is no leader (F64). */
    if (to < r->high_watermark || to < r->log.start) {
        r->counters.malformed++;
        kl_raft_fault(r, KL_ECORRUPT);
        return;
    }
    if (to >= r->log.leo) {
        /* It names no less than we have: nothing would ever change. */
        r->counters.malformed++;
        kl_raft_fetch_again(r, r->options.retry_backoff_ns);
        return;
    }
    kl_raft_log_truncate(r, to);
    kl_raft_voters_truncate(r, to);
    kl_raft_fetch_send(r);
}

/* ---- records ----------------------------------------------------------- */

/* How many batches can be appended: they follow each other and their epochs do
 * not fall, nor pass that of the leader (history 27). */
static uint32_t fetched_count(const struct kl_raft *r,
                              const struct kl_raft_event *event)
{
    int32_t epoch = kl_raft_log_last_epoch(r);
    int64_t end = r->log.leo;
    uint32_t n = 0;

    for (; n < event->message.batch_count; n++) {
        const struct kl_raft_batch *b = &event->message.batches[n];

        if (b->offset != end || b->end <= b->offset || b->epoch < epoch ||
            b->epoch > r->hard.epoch)
            break;
        if (b->control && b->end != b->offset + 1)
            break;
        end = b->end;
        epoch = b->epoch;
    }
    return n;
}

static void fetched_append(struct kl_raft *r, const struct kl_raft_event *event,
                           uint32_t count)
{
    const struct kl_raft_batch *b = event->message.batches;
    struct kl_raft_effect *effect = kl_raft_emit(r, KL_RAFT_APPEND);

    effect->append.source = KL_RAFT_FETCHED;
    effect->append.generation = r->log.generation;
    effect->append.offset = r->log.leo;
    effect->append.end = b[count - 1].end;
    effect->append.epoch = b[count - 1].epoch;
    effect->append.count = count;
    for (uint32_t i = 0; i < count; i++) {
        kl_raft_log_append(r, b[i].end, b[i].epoch, b[i].size);
        if (b[i].control && b[i].control->type == KL_WIRE_VOTERS_CONTROL)
            kl_raft_voters_append(r);
    }
}

static void fetched_records(struct kl_raft *r,
                            const struct kl_wire_fetched_partition *part,
                            const struct kl_raft_event *event)
{
    uint32_t count = fetched_count(r, event);

    if (count < event->message.batch_count)
        r->counters.malformed++;
    if (count)
        fetched_append(r, event, count);
    kl_raft_commit_learn(r, part->high_watermark);
    if (event->message.batch_count > count ||
        (part->records.size > 0 && count == 0))
        kl_raft_fetch_again(r, r->options.retry_backoff_ns);
    else if (count == 0 && r->fetch_count == 0)
        kl_raft_fetch_send(r);
}

/* ---- the response ------------------------------------------------------ */

static void fetched_failed(struct kl_raft *r, const struct kl_wire_message *m)
{
    /* The leader of this epoch leads no more, and said so to nobody yet. */
    if (r->role == KL_RAFT_FOLLOWER && !r->leader_left &&
        m->envelope.source_id == r->hard.leader_id &&
        m->fetch_response.error_code == KL_WIRE_NOT_LEADER &&
        m->fetch_response.leader_epoch == r->hard.epoch) {
        kl_raft_leader_has_left(r, NULL);
        return;
    }
    /* Another one knows the same leader, so that is asked again. */
    if (r->is_guessing && m->fetch_response.leader_epoch == r->hard.epoch &&
        m->fetch_response.leader_id == r->hard.leader_id) {
        r->is_guessing = 0;
        r->election_deadline = r->now + kl_raft_fetch_timeout(r);
    }
    /* A follower tries again, an observer goes on asking around. */
    kl_raft_fetch_again(r, r->role == KL_RAFT_FOLLOWER && !r->is_guessing
                               ? r->options.retry_backoff_ns
                               : r->options.request_timeout_ns / 4);
}

/* Takes a fetch out of those under way, and those before it: the leader has
 * given them up for it. */
static int fetched_match(struct kl_raft *r, int64_t id)
{
    uint32_t left = 0;
    uint32_t at = 0;

    while (at < r->fetch_count && r->fetches[at] != id)
        at++;
    if (at == r->fetch_count)
        return 0;
    while (++at < r->fetch_count)
        r->fetches[left++] = r->fetches[at];
    r->fetch_count = left;
    return 1;
}

static void fetched_from_leader(struct kl_raft *r,
                                const struct kl_raft_event *event)
{
    const struct kl_wire_fetch_response *m =
        &event->message.message->fetch_response;
    const struct kl_wire_fetched_partition *part = m->partitions.items;

    if (m->partitions.count != 1 ||
        !kl_base_uuid_equal(&part->topic_id, &r->options.topic_id) ||
        part->partition != 0) {
        r->counters.malformed++;
        kl_raft_fetch_again(r, r->options.retry_backoff_ns);
        return;
    }
    /* The leader is there, whatever it says. */
    r->election_deadline = r->now + kl_raft_fetch_timeout(r);
    r->has_fetched = 1;
    r->is_guessing = 0;
    r->refusal = 0;
    /* 1.5.4: what was asked for with another end of the log is over. */
    if (part->fetch_offset != r->log.leo) {
        r->counters.stale++;
        if (r->fetch_count == 0)
            kl_raft_fetch_send(r);
    } else if (part->snapshot_end_offset >= 0) {
        struct kl_raft_snapshot_id id = {part->snapshot_end_offset,
                                         part->snapshot_epoch};
        kl_raft_download_begin(r, id);
    } else if (part->diverging_epoch >= 0) {
        fetched_diverging(r, part);
    } else {
        fetched_records(r, part, event);
    }
}

void kl_raft_recv_fetch_reply(struct kl_raft *r, struct kl_raft_peer *p,
                              const struct kl_raft_event *event)
{
    const struct kl_wire_message *m = event->message.message;
    const struct kl_wire_fetch_response *fetch = &m->fetch_response;
    int is_probe = p->probe_id == m->envelope.correlation_id;

    if (!is_probe && !fetched_match(r, m->envelope.correlation_id)) {
        r->counters.replayed++;
        return;
    }
    if (is_probe)
        p->probe_id = 0;
    if (fetch->error_code == KL_WIRE_DUPLICATE_NODE ||
        fetch->error_code == KL_WIRE_LOG_REGRESSED) {
        kl_raft_refused(r, (enum kl_wire_error)fetch->error_code);
        return;
    }
    kl_raft_probe_answered(r, p);
    kl_raft_observe(r, m);
    /* A probe has done what it is for; a leader is asked for more. */
    if (is_probe)
        return;
    if (fetch->error_code != KL_WIRE_NONE)
        fetched_failed(r, m);
    else if (r->role == KL_RAFT_FOLLOWER && !r->leader_left &&
             fetch->leader_epoch == r->hard.epoch &&
             m->envelope.source_id == r->hard.leader_id)
        fetched_from_leader(r, event);
    else
        r->counters.stale++;
}
