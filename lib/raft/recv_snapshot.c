/*
 * Snapshots (KIP-630): the leader gives the newest one in pieces, a follower
 * downloads it, and both forget the log before it.
 */
#include "raft/state.h"

#include <string.h>

static int snapshot_equal(struct kl_raft_snapshot_id a,
                          struct kl_raft_snapshot_id b)
{
    return a.end_offset == b.end_offset && a.epoch == b.epoch;
}

/* ---- the leader's side ------------------------------------------------- */

static void snapshot_reply(struct kl_raft *r,
                           const struct kl_wire_envelope *request,
                           enum kl_wire_error error)
{
    struct kl_wire_fetch_snapshot_response *m =
        &kl_raft_reply(r, request, error)->send.message.fetch_snapshot_response;

    m->end_offset =
        r->log.snapshot.end_offset < 0 ? 0 : r->log.snapshot.end_offset;
    m->epoch = r->log.snapshot.epoch;
}

void kl_raft_recv_fetch_snapshot(struct kl_raft *r, struct kl_raft_peer *p,
                                 const struct kl_wire_message *m)
{
    const struct kl_wire_fetch_snapshot_request *f = &m->fetch_snapshot_request;
    struct kl_raft_snapshot_id id = {f->end_offset, f->epoch};
    enum kl_wire_error error = kl_raft_check_leader(r, f->current_leader_epoch);
    struct kl_raft_effect *effect;

    if (error == KL_WIRE_NONE && f->durable_offset >= 0)
        p->fetched_at = r->now;
    if (error == KL_WIRE_NONE && !snapshot_equal(id, r->log.snapshot))
        error = KL_WIRE_SNAPSHOT_NOT_FOUND;
    if (error) {
        snapshot_reply(r, &m->envelope, error);
        return;
    }
    /* A request that comes twice replaces itself. */
    p->snapshot_read_id = ++r->read_id;
    p->snapshot_position = f->position;
    p->snapshot_request = m->envelope;
    effect = kl_raft_emit(r, KL_RAFT_SNAPSHOT_READ);
    effect->snapshot_read.id = p->snapshot_read_id;
    effect->snapshot_read.snapshot = id;
    effect->snapshot_read.position = f->position;
    effect->snapshot_read.bytes_max =
        (uint32_t)f->max_bytes < r->options.snapshot_bytes_max
            ? (uint32_t)f->max_bytes
            : r->options.snapshot_bytes_max;
}

void kl_raft_snapshot_read(struct kl_raft *r, const struct kl_raft_event *event)
{
    struct kl_wire_fetch_snapshot_response *m;
    struct kl_raft_peer *p = NULL;

    for (uint32_t i = 0; i < r->peer_count && !p; i++)
        if (r->peers[i].snapshot_read_id == event->snapshot_read.id)
            p = &r->peers[i];
    if (!p || event->snapshot_read.id == 0)
        return;
    p->snapshot_read_id = 0;
    if (event->snapshot_read.code != 0) {
        snapshot_reply(r, &p->snapshot_request,
                       event->snapshot_read.code == KL_ENOENT
                           ? KL_WIRE_SNAPSHOT_NOT_FOUND
                           : KL_WIRE_STORAGE_FAILED);
        return;
    }
    snapshot_reply(r, &p->snapshot_request, KL_WIRE_NONE);
    m = &r->effects->items[r->effects->count - 1]
             .send.message.fetch_snapshot_response;
    m->size = event->snapshot_read.size;
    m->position = p->snapshot_position;
    m->bytes = event->snapshot_read.bytes;
}

/* ---- the follower's side ----------------------------------------------- */

static void snapshot_request(struct kl_raft *r)
{
    struct kl_raft_download *d = &r->download;
    struct kl_wire_voter_key leader = kl_raft_leader_key(r);
    struct kl_wire_fetch_snapshot_request *m =
        &kl_raft_request(r, &leader, KL_WIRE_FETCH_SNAPSHOT)
             ->send.message.fetch_snapshot_request;

    m->current_leader_epoch = r->hard.epoch;
    m->durable_offset = r->verdict == KL_RAFT_FIT ? r->log.durable : -1;
    m->end_offset = d->id.end_offset;
    m->epoch = d->id.epoch;
    m->position = d->position;
    m->max_bytes = (int32_t)r->options.snapshot_bytes_max;
    d->request_id = r->correlation_id;
    d->deadline = r->now + r->options.request_timeout_ns;
}

/* The log holds what the snapshot ends with. */
static int snapshot_is_in_log(const struct kl_raft *r,
                              struct kl_raft_snapshot_id id)
{
    return id.end_offset <= r->log.leo && id.end_offset >= r->log.start &&
           kl_raft_log_epoch_before(r, id.end_offset) == id.epoch;
}

void kl_raft_download_begin(struct kl_raft *r, struct kl_raft_snapshot_id id)
{
    struct kl_raft_download *d = &r->download;

    if (id.end_offset <= r->high_watermark || snapshot_is_in_log(r, id)) {
        r->counters.malformed++;
        kl_raft_fetch_again(r, r->options.retry_backoff_ns);
        return;
    }
    if (r->is_installing) {
        kl_raft_fetch_again(r, r->options.request_timeout_ns / 4);
        return;
    }
    kl_raft_fetch_again(r, 0);
    r->fetch_deadline = KL_RAFT_NEVER;
    memset(d, 0, sizeof *d);
    d->id = id;
    d->size = -1;
    snapshot_request(r);
}

/* Begins again with a fetch, later each time that it fails (B28). */
static void snapshot_give_up(struct kl_raft *r)
{
    int64_t delay = r->options.retry_backoff_ns;

    r->counters.snapshot_failures++;
    for (uint32_t i = 0; i < r->download_failures; i++)
        delay = delay < r->options.election_backoff_ns ? 2 * delay : delay;
    r->download_failures++;
    memset(&r->download, 0, sizeof r->download);
    r->download.id.end_offset = -1;
    if (r->role == KL_RAFT_FOLLOWER)
        kl_raft_fetch_again(r, delay);
}

int64_t kl_raft_download_wants(const struct kl_raft *r)
{
    const struct kl_raft_download *d = &r->download;

    return d->id.end_offset < 0 || d->is_writing || d->position == d->size
               ? KL_RAFT_NEVER
               : d->deadline;
}

void kl_raft_download_timer(struct kl_raft *r)
{
    if (r->now >= kl_raft_download_wants(r))
        snapshot_request(r);
}

/* A piece that goes on where the last one ended, of a snapshot whose size does
 * not change. */
static int
snapshot_piece_is_good(const struct kl_raft_download *d,
                       const struct kl_wire_fetch_snapshot_response *m)
{
    return m->position == d->position && m->size > 0 &&
           (d->size < 0 || m->size == d->size) && m->bytes.size > 0 &&
           m->bytes.size <= m->size - m->position;
}

static void snapshot_piece(struct kl_raft *r,
                           const struct kl_wire_fetch_snapshot_response *m)
{
    struct kl_raft_download *d = &r->download;
    struct kl_raft_effect *effect;

    if (!snapshot_piece_is_good(d, m)) {
        r->counters.malformed++;
        snapshot_give_up(r);
        return;
    }
    d->size = m->size;
    d->is_writing = 1;
    effect = kl_raft_emit(r, KL_RAFT_SNAPSHOT_WRITE);
    effect->snapshot_write.snapshot = d->id;
    effect->snapshot_write.position = m->position;
    effect->snapshot_write.bytes = m->bytes;
}

void kl_raft_recv_fetch_snapshot_reply(struct kl_raft *r,
                                       const struct kl_wire_message *m)
{
    const struct kl_wire_fetch_snapshot_response *f =
        &m->fetch_snapshot_response;
    struct kl_raft_download *d = &r->download;
    struct kl_raft_snapshot_id id = {f->end_offset, f->epoch};

    if (d->request_id == 0 || d->request_id != m->envelope.correlation_id) {
        r->counters.replayed++;
        return;
    }
    d->request_id = 0;
    kl_raft_observe(r, m);
    if (d->id.end_offset < 0 || r->role != KL_RAFT_FOLLOWER)
        return;
    if (f->error_code == KL_WIRE_SNAPSHOT_NOT_FOUND) {
        snapshot_give_up(r);
    } else if (f->error_code != KL_WIRE_NONE ||
               m->envelope.source_id != r->hard.leader_id ||
               !snapshot_equal(id, d->id)) {
        d->deadline = r->now + r->options.retry_backoff_ns;
    } else {
        r->election_deadline = r->now + kl_raft_fetch_timeout(r);
        r->has_fetched = 1;
        snapshot_piece(r, f);
    }
}

void kl_raft_snapshot_written(struct kl_raft *r,
                              const struct kl_raft_event *event)
{
    struct kl_raft_download *d = &r->download;

    if (!d->is_writing || !snapshot_equal(event->snapshot_written.id, d->id) ||
        event->snapshot_written.position <= d->position)
        return;
    d->is_writing = 0;
    if (event->snapshot_written.code != 0) {
        snapshot_give_up(r);
        return;
    }
    d->position = event->snapshot_written.position;
    if (d->position < d->size) {
        snapshot_request(r);
        return;
    }
    r->is_installing = 1;
    kl_raft_emit(r, KL_RAFT_SNAPSHOT_INSTALL)->snapshot_install.snapshot =
        d->id;
}

/* ---- a snapshot more --------------------------------------------------- */

/* The log is replaced where it does not hold what the snapshot ends with. */
static void snapshot_adopt(struct kl_raft *r, struct kl_raft_snapshot_id id)
{
    if (id.end_offset <= r->log.snapshot.end_offset)
        return;
    if (snapshot_is_in_log(r, id)) {
        /* What came behind it stays (B26). */
        r->log.snapshot = id;
        if (r->role != KL_RAFT_LEADER)
            kl_raft_commit_learn(r, id.end_offset);
        return;
    }
    /* A leader has all that is committed, and a candidate has said what it has:
     * neither loads a snapshot (R11). */
    if (r->role != KL_RAFT_FOLLOWER && r->role != KL_RAFT_UNATTACHED)
        return;
    if (id.end_offset < r->high_watermark)
        return;
    kl_raft_log_reset(r, id);
    kl_raft_voters_reset(r);
    r->high_watermark = id.end_offset;
    r->commit_told = id.end_offset;
}

void kl_raft_snapshot_installed(struct kl_raft *r,
                                const struct kl_raft_event *event)
{
    struct kl_raft_download *d = &r->download;
    struct kl_raft_snapshot_id id = event->snapshot_installed.id;
    int is_current = d->position == d->size && snapshot_equal(id, d->id);

    r->is_installing = 0;
    if (event->snapshot_installed.code != 0 ||
        event->snapshot_installed.voters.voters.count == 0) {
        r->counters.malformed++;
        if (is_current)
            snapshot_give_up(r);
        return;
    }
    snapshot_adopt(r, id);
    r->download_failures = 0;
    if (!is_current)
        return;
    memset(d, 0, sizeof *d);
    d->id.end_offset = -1;
    if (r->role == KL_RAFT_FOLLOWER)
        kl_raft_fetch_send(r);
}

int kl_raft_snapshot_id_at(const struct kl_raft *r, int64_t end_offset,
                           struct kl_raft_snapshot_id *out)
{
    if (end_offset <= r->log.snapshot.end_offset ||
        end_offset <= r->log.start || end_offset > r->applied ||
        end_offset > r->log.leo || r->is_installing ||
        !kl_raft_voters_before(r, end_offset))
        return KL_EOFFSETRANGE;
    out->end_offset = end_offset;
    out->epoch = kl_raft_log_epoch_before(r, end_offset);
    return 0;
}

/* Rule 1; one that came too late is none (B29). */
void kl_raft_snapshot_taken(struct kl_raft *r, struct kl_raft_snapshot_id id)
{
    if (id.end_offset > r->log.snapshot.end_offset &&
        id.end_offset <= r->commit_told && snapshot_is_in_log(r, id))
        r->log.snapshot = id;
}

/* Rule 2. */
void kl_raft_snapshot_prune(struct kl_raft *r)
{
    kl_raft_log_prune(r);
    kl_raft_voters_prune(r,
                         r->applied < r->log.start ? r->applied : r->log.start);
}
