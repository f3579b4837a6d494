/*
 * The door: making the room, and a step. In a step the clock comes first, so
 * that whoever slept too long gives up before it hears anything else (F04); a
 * message is looked at after its sender.
 */
#include "raft/state.h"

#include <string.h>

/* ---- making ------------------------------------------------------------ */

static int64_t raft_default(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static void raft_fill_options(struct kl_raft_options *o)
{
    const int64_t ms = 1000000;

    if (o->observers_max == 0)
        o->observers_max = 32;
    if (o->fetch_bytes_max == 0)
        o->fetch_bytes_max = 8 << 20;
    if (o->snapshot_bytes_max == 0)
        o->snapshot_bytes_max = 1 << 20;
    o->election_timeout_ns = raft_default(o->election_timeout_ns, 1000 * ms);
    o->fetch_timeout_ns = raft_default(o->fetch_timeout_ns, 2000 * ms);
    o->election_backoff_ns = raft_default(o->election_backoff_ns, 1000 * ms);
    o->request_timeout_ns = raft_default(o->request_timeout_ns, 1000 * ms);
    o->retry_backoff_ns = raft_default(o->retry_backoff_ns, 20 * ms);
    o->fetch_wait_ns = raft_default(o->fetch_wait_ns, 500 * ms);
    o->observer_lifetime_ns =
        raft_default(o->observer_lifetime_ns, 300000 * ms);
}

static int raft_check_options(const struct kl_raft_options *o,
                              struct kl_base_error *e)
{
    if (o->self.node_id < 0 || kl_base_uuid_is_zero(&o->self.directory_id) ||
        kl_base_uuid_is_zero(&o->cluster_id) ||
        kl_base_uuid_is_zero(&o->session_id) ||
        kl_base_uuid_is_zero(&o->topic_id))
        return kl_base_error_set(e, KL_EINVAL, "quorum: an identity is zero");
    if (o->endpoints.size > KL_RAFT_ENDPOINT_BYTES ||
        o->endpoints.count > KL_WIRE_ENDPOINTS_MAX)
        return kl_base_error_set(e, KL_EINVAL, "quorum: too many endpoints");
    return 0;
}

static int raft_check_voters(const struct kl_raft_recovered *d,
                             struct kl_base_error *e)
{
    int64_t last = -2;

    for (uint32_t i = 0; i < d->voters_count; i++) {
        const struct kl_raft_voters *v = &d->voters[i];

        if (v->offset <= last || v->voters.count == 0 ||
            v->voters.count > KL_WIRE_VOTERS_MAX)
            return kl_base_error_set(e, KL_EINVAL,
                                     "quorum: voters at offset %lld: out of "
                                     "order, or %lu of them",
                                     (long long)v->offset,
                                     (unsigned long)v->voters.count);
        last = v->offset;
    }
    return 0;
}

static int raft_check_recovered(const struct kl_raft_recovered *d,
                                struct kl_base_error *e)
{
    if (d->log_start < 0 || d->leo < d->log_start)
        return kl_base_error_set(e, KL_EINVAL, "quorum: log from %lld to %lld",
                                 (long long)d->log_start, (long long)d->leo);
    /* Rule 2 of snapshots. */
    if (d->log_start > 0 && d->snapshot.end_offset < d->log_start)
        return kl_base_error_set(
            e, KL_EINVAL, "quorum: log from %lld, snapshot to %lld",
            (long long)d->log_start, (long long)d->snapshot.end_offset);
    if (d->quorum.epoch < 0 || d->quorum.leader_id < -1 ||
        d->quorum.voted.node_id < -1)
        return kl_base_error_set(e, KL_EINVAL, "quorum: state of epoch %ld",
                                 (long)d->quorum.epoch);
    return raft_check_voters(d, e);
}

/* What the options point at becomes the room's own. */
static int raft_copy_options(struct kl_raft *r)
{
    struct kl_raft_options *o = &r->options;
    size_t ids = o->bootstrap_count * sizeof *o->bootstrap_ids;

    r->memory_size = ids + o->endpoints.size;
    if (r->memory_size == 0)
        return 0;
    r->memory = kl_base_malloc(r->alloc, r->memory_size);
    if (!r->memory)
        return KL_ENOMEM;
    if (ids)
        memcpy(r->memory, o->bootstrap_ids, ids);
    o->bootstrap_ids = (const int32_t *)(void *)r->memory;
    if (o->endpoints.size)
        memcpy(r->memory + ids, o->endpoints.data, o->endpoints.size);
    o->endpoints.data = r->memory + ids;
    return 0;
}

static int raft_init(struct kl_raft *r,
                     const struct kl_raft_recovered *recovered)
{
    int rc = raft_copy_options(r);

    if (rc == 0)
        rc = kl_raft_peers_init(r);
    if (rc == 0)
        rc = kl_raft_log_init(r, recovered);
    if (rc == 0)
        rc = kl_raft_voters_init(r, recovered);
    if (rc)
        return rc;
    r->replicas =
        kl_base_malloc(r->alloc, (r->peer_count + 1) * sizeof *r->replicas);
    if (!r->replicas)
        return KL_ENOMEM;
    kl_raft_peers_sync(r);
    r->verdict = recovered->verdict;
    r->hard = recovered->quorum;
    kl_base_rng_seed(&r->rng, r->options.seed);
    /* No answer to a request of an earlier start fits one of this. */
    r->correlation_id = (int64_t)(kl_base_rng_next(&r->rng) >> 2);
    r->high_watermark =
        recovered->snapshot.end_offset > 0 ? recovered->snapshot.end_offset : 0;
    r->commit_told = r->high_watermark;
    r->applied = r->high_watermark;
    r->now = INT64_MIN;
    r->disk_since = KL_RAFT_NEVER;
    r->fetch_deadline = KL_RAFT_NEVER;
    r->probe_deadline = KL_RAFT_NEVER;
    r->download.id.end_offset = -1;
    return 0;
}

int kl_raft_new(struct kl_raft **out, const struct kl_base_alloc *a,
                const struct kl_raft_options *options,
                const struct kl_raft_recovered *recovered,
                struct kl_base_error *e)
{
    struct kl_raft *r;
    int rc = raft_check_options(options, e);

    if (rc == 0)
        rc = raft_check_recovered(recovered, e);
    if (rc)
        return rc;
    r = kl_base_calloc(a, sizeof *r);
    if (!r)
        return kl_base_error_set(e, KL_ENOMEM, "quorum: out of memory");
    r->alloc = a;
    r->options = *options;
    raft_fill_options(&r->options);
    rc = raft_init(r, recovered);
    if (rc) {
        kl_raft_free(r);
        return kl_base_error_set(e, rc,
                                 rc == KL_ENOMEM
                                     ? "quorum: out of memory"
                                     : "quorum: epochs out of order");
    }
    *out = r;
    return 0;
}

void kl_raft_free(struct kl_raft *r)
{
    if (!r)
        return;
    kl_raft_voters_deinit(r);
    kl_raft_log_deinit(r);
    if (r->replicas)
        kl_base_free(r->alloc, r->replicas,
                     (r->peer_count + 1) * sizeof *r->replicas);
    kl_raft_peers_deinit(r);
    kl_base_free(r->alloc, r->memory, r->memory_size);
    kl_base_free(r->alloc, r, sizeof *r);
}

/* ---- start and fault --------------------------------------------------- */

/* A snapshot that the log does not reach, or that contradicts it, was installed
 * and the log not yet reset (B24). */
static void raft_start_log(struct kl_raft *r)
{
    struct kl_raft_snapshot_id id = r->log.snapshot;

    if (id.end_offset > r->log.leo ||
        (id.end_offset > r->log.start && id.end_offset < r->log.leo &&
         kl_batch_epochs_at(&r->log.epochs, id.end_offset - 1) != id.epoch)) {
        kl_raft_log_reset(r, id);
        kl_raft_voters_truncate(r, id.end_offset);
    } else if (r->log.start > 0 && r->log.start_epoch < 0) {
        /* The snapshot that ended where the log begins is gone (R10). */
        kl_raft_log_prune(r);
    }
}

/* Rule 1. */
static void raft_start_role(struct kl_raft *r)
{
    int32_t last = kl_raft_log_last_epoch(r);

    if (last > r->hard.epoch)
        kl_raft_hard_set(r, last, -1, NULL);
    r->role = KL_RAFT_UNATTACHED;
    if (r->hard.leader_id == r->options.self.node_id) {
        kl_raft_leader_end(r, NULL);
        kl_raft_become_resigned(r);
    } else if (r->hard.leader_id >= 0) {
        kl_raft_become_follower(r, r->hard.epoch, r->hard.leader_id);
    } else {
        kl_raft_become_unattached(r, r->hard.epoch);
    }
}

static void raft_start(struct kl_raft *r)
{
    r->is_started = 1;
    raft_start_log(r);
    r->is_confirmed = kl_raft_next_voter(r, NULL) == NULL;
    r->confirm_deadline = r->now + r->options.election_timeout_ns;
    raft_start_role(r);
    if (!r->is_confirmed)
        kl_raft_probe_send(r);
    else if (r->role == KL_RAFT_FOLLOWER && kl_raft_is_voter(r))
        r->election_deadline = r->now; /* its leader is no voter any more */
}

void kl_raft_fault(struct kl_raft *r, int code)
{
    if (r->fault)
        return;
    if (r->role == KL_RAFT_LEADER)
        kl_raft_leader_resign(r, NULL);
    r->fault = code;
    if (r->role == KL_RAFT_PROSPECTIVE || r->role == KL_RAFT_CANDIDATE)
        kl_raft_election_forget(r);
    kl_raft_fetch_forget(r);
    kl_raft_emit(r, KL_RAFT_FAULT)->fault.code = code;
}

/* ---- time -------------------------------------------------------------- */

static void raft_timers(struct kl_raft *r)
{
    kl_raft_probe_timer(r);
    kl_raft_leader_timer(r);
    kl_raft_hand_over_check(r);
    kl_raft_change_timer(r);
    kl_raft_change_own_timer(r);
    if (r->role == KL_RAFT_LEADER)
        kl_raft_fetch_wake(r);
    kl_raft_election_timer(r);
    kl_raft_fetch_timer(r);
    kl_raft_download_timer(r);
}

int64_t kl_raft_deadline(const struct kl_raft *r)
{
    int64_t at[7];
    int64_t min = KL_RAFT_NEVER;

    if (!r->is_started)
        return r->now;
    if (r->fault)
        return KL_RAFT_NEVER;
    at[0] = kl_raft_election_wants(r);
    at[1] = kl_raft_leader_wants(r);
    at[2] = kl_raft_fetch_wants(r);
    at[3] = r->fetch_deadline;
    at[4] = kl_raft_download_wants(r);
    at[5] = kl_raft_change_wants(r);
    at[6] = r->is_confirmed                           ? KL_RAFT_NEVER
            : r->probe_deadline < r->confirm_deadline ? r->probe_deadline
                                                      : r->confirm_deadline;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        min = at[i] < min ? at[i] : min;
    return min;
}

/* ---- messages ---------------------------------------------------------- */

static void raft_response(struct kl_raft *r, struct kl_raft_peer *p,
                          const struct kl_raft_event *event)
{
    const struct kl_wire_message *m = event->message.message;

    switch (m->envelope.api_key) {
    case KL_WIRE_FETCH:
        kl_raft_recv_fetch_reply(r, p, event);
        break;
    case KL_WIRE_VOTE:
        kl_raft_recv_vote_reply(r, p, m);
        break;
    case KL_WIRE_BEGIN_QUORUM_EPOCH:
        kl_raft_recv_begin_reply(r, p, m);
        break;
    case KL_WIRE_FETCH_SNAPSHOT:
        kl_raft_recv_fetch_snapshot_reply(r, m);
        break;
    default:
        /* Of EndQuorumEpoch and UpdateVoter nothing follows. */
        break;
    }
}

static void raft_request(struct kl_raft *r, struct kl_raft_peer *p,
                         const struct kl_wire_message *m)
{
    switch (m->envelope.api_key) {
    case KL_WIRE_FETCH:
        kl_raft_recv_fetch(r, p, m);
        break;
    case KL_WIRE_VOTE:
        kl_raft_recv_vote(r, p, m);
        break;
    case KL_WIRE_BEGIN_QUORUM_EPOCH:
        kl_raft_recv_begin(r, m);
        break;
    case KL_WIRE_END_QUORUM_EPOCH:
        kl_raft_recv_end(r, m);
        break;
    case KL_WIRE_FETCH_SNAPSHOT:
        kl_raft_recv_fetch_snapshot(r, p, m);
        break;
    default:
        r->counters.strangers++;
        break;
    }
}

/* Requests that anyone may send. 1 where it was one. */
static int raft_public_request(struct kl_raft *r,
                               const struct kl_wire_message *m)
{
    if (m->envelope.is_response)
        return 0;
    switch (m->envelope.api_key) {
    case KL_WIRE_DESCRIBE_QUORUM:
        kl_raft_recv_describe(r, m);
        return 1;
    case KL_WIRE_ADD_RAFT_VOTER:
    case KL_WIRE_REMOVE_RAFT_VOTER:
    case KL_WIRE_UPDATE_RAFT_VOTER:
        kl_raft_change_request(r, m);
        return 1;
    default:
        return 0;
    }
}

static void raft_message(struct kl_raft *r, const struct kl_raft_event *event)
{
    const struct kl_wire_message *m = event->message.message;
    const struct kl_wire_envelope *v = &m->envelope;
    enum kl_wire_error error;
    struct kl_raft_peer *p;

    if (raft_public_request(r, m))
        return;
    if (v->source_id < 0 || kl_base_uuid_is_zero(&v->source_directory) ||
        kl_base_uuid_equal(&v->source_session, &r->options.session_id)) {
        r->counters.strangers++;
        return;
    }
    error = kl_raft_peers_admit(r, m, &p);
    if (error) {
        if (!v->is_response)
            kl_raft_reply(r, v, error);
    } else if (v->is_response) {
        raft_response(r, p, event);
    } else {
        raft_request(r, p, m);
    }
}

/* ---- the step ---------------------------------------------------------- */

static void raft_durable(struct kl_raft *r, const struct kl_raft_event *event)
{
    int64_t before = r->log.durable;

    /* What was reported on a log that was cut since may be wrong. */
    if (event->durable.generation != r->log.generation)
        return;
    kl_raft_log_durable(r, event->durable.offset);
    if (r->log.durable == before)
        return;
    r->disk_since = r->log.durable < r->log.leo ? r->now : KL_RAFT_NEVER;
    kl_raft_commit_durable(r);
    kl_raft_fetch_durable(r);
}

static void raft_command(struct kl_raft *r, const struct kl_raft_event *event)
{
    switch (event->type) {
    case KL_RAFT_PROPOSE:
        kl_raft_leader_propose(r, event);
        break;
    case KL_RAFT_PRUNE:
        kl_raft_snapshot_prune(r);
        break;
    case KL_RAFT_RESIGN:
        if (r->role == KL_RAFT_LEADER)
            kl_raft_leader_resign(r, NULL);
        break;
    case KL_RAFT_HAND_OVER:
        kl_raft_hand_over_begin(r, event->hand_over.token,
                                &event->hand_over.target);
        break;
    case KL_RAFT_ADD_VOTER:
    case KL_RAFT_REMOVE_VOTER:
    case KL_RAFT_UPDATE_VOTER:
        kl_raft_change_host(r, event);
        break;
    case KL_RAFT_BARRIER:
        kl_raft_barrier_add(r, event->barrier.token);
        break;
    default:
        KL_UNREACHABLE();
    }
}

static void raft_event(struct kl_raft *r, const struct kl_raft_event *event)
{
    switch (event->type) {
    case KL_RAFT_TIME:
        break;
    case KL_RAFT_MESSAGE:
        raft_message(r, event);
        break;
    case KL_RAFT_LINK_DOWN:
        kl_raft_peers_link_down(r, &event->link_down.peer,
                                &event->link_down.session_id);
        break;
    case KL_RAFT_PERSISTED:
        if (event->persisted.id > r->persisted_id &&
            event->persisted.id <= r->persist_id)
            r->persisted_id = event->persisted.id;
        kl_raft_election_tally(r);
        break;
    case KL_RAFT_DURABLE:
        raft_durable(r, event);
        break;
    case KL_RAFT_READ_DONE:
        kl_raft_fetch_read(r, event);
        break;
    case KL_RAFT_APPLIED:
        kl_raft_commit_applied(r, event->applied.offset);
        break;
    case KL_RAFT_FAILED:
        kl_raft_fault(r, event->failed.code);
        break;
    case KL_RAFT_SNAPSHOT_TAKEN:
        kl_raft_snapshot_taken(r, event->taken.id);
        break;
    case KL_RAFT_SNAPSHOT_READ_DONE:
        kl_raft_snapshot_read(r, event);
        break;
    case KL_RAFT_SNAPSHOT_WRITTEN:
        kl_raft_snapshot_written(r, event);
        break;
    case KL_RAFT_SNAPSHOT_INSTALLED:
        kl_raft_snapshot_installed(r, event);
        break;
    default:
        raft_command(r, event);
        break;
    }
}

/* More than a step can have: it answers each peer at most twice, asks it at
 * most twice, and does a few things of its own. */
static int raft_reserve(struct kl_raft *r, const struct kl_raft_event *event,
                        struct kl_raft_effects *effects)
{
    uint32_t batches =
        event->type == KL_RAFT_MESSAGE ? event->message.batch_count : 0;
    size_t peers = 0;
    int rc;

    for (uint32_t i = 0; i < r->peer_count; i++)
        peers += r->peers[i].key.node_id >= 0;
    rc = kl_raft_effects_reserve(effects, 6 * (peers + 1) + KL_RAFT_PROPOSALS +
                                              KL_RAFT_BARRIERS + 32);
    if (rc == 0)
        rc = kl_batch_epochs_reserve(&r->log.epochs, r->alloc,
                                     (size_t)r->log.epochs.count + batches + 1);
    if (rc == 0)
        rc = kl_raft_voters_reserve(r, event);
    return rc;
}

/* A node with a fault answers those who wait for it, and nobody else. */
static void raft_faulty(struct kl_raft *r, const struct kl_raft_event *event)
{
    switch (event->type) {
    case KL_RAFT_PROPOSE:
        kl_raft_complete(r, event->propose.token, r->fault, -1);
        break;
    case KL_RAFT_HAND_OVER:
        kl_raft_complete(r, event->hand_over.token, r->fault, -1);
        break;
    case KL_RAFT_ADD_VOTER:
    case KL_RAFT_REMOVE_VOTER:
    case KL_RAFT_UPDATE_VOTER:
        kl_raft_complete(r, event->change.token, r->fault, -1);
        break;
    case KL_RAFT_BARRIER:
        kl_raft_complete(r, event->barrier.token, r->fault, -1);
        break;
    case KL_RAFT_PERSISTED:
        /* Messages that were sent before wait for it. */
        if (event->persisted.id <= r->persist_id)
            r->persisted_id = event->persisted.id;
        break;
    default:
        break;
    }
}

int kl_raft_step(struct kl_raft *r, const struct kl_raft_event *event,
                 struct kl_raft_effects *effects)
{
    int rc = raft_reserve(r, event, effects);

    if (rc)
        return rc;
    effects->count = 0;
    r->effects = effects;
    if (event->now > r->now)
        r->now = event->now;
    if (r->fault) {
        raft_faulty(r, event);
    } else {
        if (!r->is_started)
            raft_start(r);
        raft_timers(r);
        if (!r->fault)
            raft_event(r, event);
    }
    r->effects = NULL;
    return 0;
}
