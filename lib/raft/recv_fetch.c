/*
 * Fetching, the side that answers: the leader notes how far its followers are
 * and tells them what they lack, at once or when there is something to tell.
 */
#include "raft/state.h"

/* ---- answers ----------------------------------------------------------- */

/* A response about the metadata log, without records. */
static struct kl_wire_fetched_partition *
recvfetch_reply(struct kl_raft *r, const struct kl_wire_envelope *request,
                int64_t fetch_offset)
{
    struct kl_raft_effect *effect = kl_raft_reply(r, request, KL_WIRE_NONE);
    struct kl_wire_fetched_partition *part = &effect->send.part.fetched;

    effect->send.message.fetch_response.partitions.items = part;
    effect->send.message.fetch_response.partitions.count = 1;
    part->topic_id = r->options.topic_id;
    part->fetch_offset = fetch_offset;
    part->high_watermark = r->high_watermark;
    part->log_start_offset = r->log.start;
    part->diverging_epoch = -1;
    part->diverging_end_offset = -1;
    part->snapshot_end_offset = -1;
    part->snapshot_epoch = -1;
    return part;
}

static struct kl_wire_fetched_partition *
recvfetch_answer(struct kl_raft *r, struct kl_raft_peer *p)
{
    p->parked.is_waiting = 0;
    return recvfetch_reply(r, &p->parked.request, p->parked.fetch_offset);
}

/* When a waiting follower is told the high watermark, if nothing else. */
static int64_t recvfetch_tell_at(const struct kl_raft *r,
                                 const struct kl_raft_parked *k)
{
    return k->high_watermark < r->high_watermark && r->tell_at < k->deadline
               ? r->tell_at
               : k->deadline;
}

/* Tells a waiting follower what there is to tell (rule 9): records, for which
 * they must be read first, or a high watermark that it does not know. */
static void recvfetch_serve(struct kl_raft *r, struct kl_raft_peer *p)
{
    struct kl_raft_parked *k = &p->parked;
    struct kl_raft_effect *effect;

    if (!k->is_waiting)
        return;
    if (k->fetch_offset < r->log.leo && k->bytes_max > 0) {
        if (p->read_id)
            return;
        effect = kl_raft_emit(r, KL_RAFT_READ);
        p->read_id = ++r->read_id;
        p->read_offset = k->fetch_offset;
        effect->read.id = p->read_id;
        effect->read.offset = k->fetch_offset;
        effect->read.bytes_max = k->bytes_max;
    } else if (r->now >= recvfetch_tell_at(r, k)) {
        recvfetch_answer(r, p);
    }
}

void kl_raft_fetch_wake(struct kl_raft *r)
{
    for (uint32_t i = 0; i < r->peer_count; i++)
        recvfetch_serve(r, &r->peers[i]);
}

/* Not the leader any more: nobody waits for it. */
void kl_raft_fetch_release(struct kl_raft *r)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct kl_raft_peer *p = &r->peers[i];

        p->read_id = 0;
        p->snapshot_read_id = 0;
        if (!p->parked.is_waiting)
            continue;
        p->parked.is_waiting = 0;
        kl_raft_reply(r, &p->parked.request, KL_WIRE_NOT_LEADER);
    }
}

int64_t kl_raft_fetch_wants(const struct kl_raft *r)
{
    int64_t at = KL_RAFT_NEVER;

    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct kl_raft_peer *p = &r->peers[i];

        if (p->parked.is_waiting && !p->read_id &&
            recvfetch_tell_at(r, &p->parked) < at)
            at = recvfetch_tell_at(r, &p->parked);
    }
    return at;
}

void kl_raft_fetch_read(struct kl_raft *r, const struct kl_raft_event *event)
{
    struct kl_raft_peer *p = NULL;

    for (uint32_t i = 0; i < r->peer_count && !p; i++)
        if (r->peers[i].read_id == event->read.id)
            p = &r->peers[i];
    if (!p || event->read.id == 0)
        return;
    p->read_id = 0;
    if (!p->parked.is_waiting)
        return;
    if (p->parked.fetch_offset != p->read_offset) {
        /* Another fetch has come meanwhile. */
        recvfetch_serve(r, p);
        return;
    }
    if (event->read.code == 0)
        recvfetch_answer(r, p)->records = event->read.records;
    else
        recvfetch_answer(r, p);
    /* A leader that cannot read what it committed makes room for another. */
    if (event->read.code != 0 && event->read.code != KL_ENOMEM &&
        kl_raft_voters(r)->count > 1)
        kl_raft_leader_resign(r, NULL);
}

/* ---- the request ------------------------------------------------------- */

enum kl_wire_error kl_raft_check_leader(const struct kl_raft *r, int32_t epoch)
{
    if (epoch < r->hard.epoch)
        return KL_WIRE_FENCED_LEADER_EPOCH;
    if (epoch > r->hard.epoch)
        return KL_WIRE_UNKNOWN_LEADER_EPOCH;
    if (r->role != KL_RAFT_LEADER)
        return KL_WIRE_NOT_LEADER;
    return KL_WIRE_NONE;
}

/* Rule 3 of snapshots: the log does not reach back to where the follower is, or
 * a snapshot is the shorter way. */
static int recvfetch_needs_snapshot(const struct kl_raft *r,
                                    const struct kl_wire_fetch_partition *f)
{
    const struct kl_raft_log *log = &r->log;

    if (log->snapshot.end_offset < 0)
        return 0;
    if (f->fetch_offset < log->start)
        return 1;
    if (f->fetch_offset == 0)
        return log->snapshot.end_offset > 0;
    if (log->start == 0)
        return 0;
    return f->fetch_offset == log->start
               ? f->last_fetched_epoch != log->start_epoch
               : f->last_fetched_epoch < log->start_epoch;
}

/* 1.11.2: where the logs part. 1 and the answer, or 0. */
static int recvfetch_diverges(const struct kl_raft *r,
                              const struct kl_wire_fetch_partition *f,
                              int32_t *epoch, int64_t *end)
{
    if (f->fetch_offset == 0 && f->last_fetched_epoch < 0)
        return 0;
    if (f->fetch_offset == r->log.start && r->log.start > 0)
        return 0;
    kl_batch_epochs_end_for(&r->log.epochs, f->last_fetched_epoch, r->log.leo,
                            epoch, end);
    return *epoch < f->last_fetched_epoch || *end < f->fetch_offset;
}

/* One that does not ask to be counted proves nothing about leadership. */
static void recvfetch_contact(const struct kl_raft *r, struct kl_raft_peer *p,
                              const struct kl_wire_fetch_partition *f)
{
    if (f->durable_offset >= 0)
        p->fetched_at = r->now;
}

/* Rule 9 and 1.5.3: what it has, and when it last had all. */
static void recvfetch_progress(struct kl_raft *r, struct kl_raft_peer *p,
                               const struct kl_wire_fetch_partition *f)
{
    p->fetch_offset = f->fetch_offset;
    p->durable_offset = f->durable_offset;
    if (f->durable_offset >= r->log.leo)
        p->caught_up_at = r->now;
    else if (p->fetched_at > 0 && f->durable_offset >= p->fetch_leo)
        p->caught_up_at = p->fetched_at;
    recvfetch_contact(r, p, f);
    p->fetch_leo = r->log.leo;
}

/* The newest fetch waits; an older one is answered empty (0.1). */
static void recvfetch_park(struct kl_raft *r, struct kl_raft_peer *p,
                           const struct kl_wire_message *m)
{
    const struct kl_wire_fetch_request *fetch = &m->fetch_request;
    const struct kl_wire_fetch_partition *f = &fetch->partitions.items[0];
    struct kl_raft_parked *k = &p->parked;

    if (k->is_waiting)
        recvfetch_answer(r, p);
    k->is_waiting = 1;
    k->request = m->envelope;
    k->fetch_offset = f->fetch_offset;
    k->high_watermark = f->high_watermark;
    k->bytes_max =
        (uint32_t)(f->max_bytes < fetch->max_bytes ? f->max_bytes
                                                   : fetch->max_bytes);
    if (k->bytes_max > r->options.fetch_bytes_max)
        k->bytes_max = r->options.fetch_bytes_max;
    k->deadline = r->now + fetch->max_wait_ms * INT64_C(1000000);
}

static void recvfetch_as_leader(struct kl_raft *r, struct kl_raft_peer *p,
                                const struct kl_wire_message *m)
{
    const struct kl_wire_fetch_partition *f =
        &m->fetch_request.partitions.items[0];
    struct kl_wire_fetched_partition *part;
    int32_t epoch;
    int64_t end;

    if (recvfetch_needs_snapshot(r, f)) {
        part = recvfetch_reply(r, &m->envelope, f->fetch_offset);
        part->snapshot_end_offset = r->log.snapshot.end_offset;
        part->snapshot_epoch = r->log.snapshot.epoch;
        recvfetch_contact(r, p, f);
        return;
    }
    /* No effect on what is known of the follower (history 24). */
    if (recvfetch_diverges(r, f, &epoch, &end)) {
        part = recvfetch_reply(r, &m->envelope, f->fetch_offset);
        part->diverging_epoch = epoch < 0 ? 0 : epoch;
        part->diverging_end_offset = end < 0 ? 0 : end;
        recvfetch_contact(r, p, f);
        return;
    }
    recvfetch_progress(r, p, f);
    recvfetch_park(r, p, m);
    kl_raft_commit_lead(r);
    kl_raft_hand_over_check(r);
    if (r->role == KL_RAFT_LEADER)
        recvfetch_serve(r, p);
}

void kl_raft_recv_fetch(struct kl_raft *r, struct kl_raft_peer *p,
                        const struct kl_wire_message *m)
{
    const struct kl_wire_fetch_partition *f =
        &m->fetch_request.partitions.items[0];
    enum kl_wire_error error;

    if (m->fetch_request.partitions.count != 1 ||
        !kl_base_uuid_equal(&f->topic_id, &r->options.topic_id) ||
        f->partition != 0 || f->durable_offset > f->fetch_offset ||
        f->log_start_offset > f->fetch_offset) {
        r->counters.malformed++;
        kl_raft_reply(r, &m->envelope, KL_WIRE_INVALID_REQUEST);
        return;
    }
    if (m->envelope.correlation_id <= p->fetch_id) {
        r->counters.replayed++;
        return;
    }
    p->fetch_id = m->envelope.correlation_id;
    error = kl_raft_check_leader(r, f->current_leader_epoch);
    if (error)
        kl_raft_reply(r, &m->envelope, error);
    else
        recvfetch_as_leader(r, p, m);
}
