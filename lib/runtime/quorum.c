/*
 * The metadata quorum's host: what the store, the clock and the metadata log
 * tell becomes events of raft, one at a time. What raft wants done is carried
 * out in quorum_effects.c; until all of it is, raft hears nothing new.
 *
 * Every event can be told again: it says how things stand (how far the log is
 * durable, which state is on the disk), so that a step without memory loses
 * nothing.
 */
#include "runtime/state.h"

/* After a failure that may pass, as of memory. */
#define QUORUM_RETRY_NS INT64_C(20000000)

/* ---- events ------------------------------------------------------------ */

static int quorum_persisted(struct kl_runtime_node *n,
                            struct kl_raft_event *event)
{
    struct kl_runtime_quorum *q = &n->quorum;
    struct kl_store_quorum state;
    uint64_t generation;

    if (q->persisted_id == q->put_id)
        return 0;
    kl_store_quorum_get(n->store, &state, &generation);
    if (generation < q->put_generation)
        return 0;
    event->type = KL_RAFT_PERSISTED;
    event->persisted.id = q->persisted_id = q->put_id;
    return 1;
}

static int quorum_durable(const struct kl_runtime_node *n,
                          const struct kl_raft_view *view,
                          struct kl_raft_event *event)
{
    struct kl_store_view log;

    kl_store_log_view(n->metadata.log, &log);
    if (log.durable_leo <= view->durable_leo)
        return 0;
    event->type = KL_RAFT_DURABLE;
    event->durable.generation = view->generation;
    event->durable.offset = log.durable_leo;
    return 1;
}

static int quorum_applied(struct kl_runtime_node *n,
                          struct kl_raft_event *event)
{
    struct kl_runtime_quorum *q = &n->quorum;

    if (q->applied_told == n->metadata.applied)
        return 0;
    event->type = KL_RAFT_APPLIED;
    event->applied.offset = q->applied_told = n->metadata.applied;
    return 1;
}

static int quorum_proposal(struct kl_runtime_node *n,
                           struct kl_raft_event *event)
{
    struct kl_runtime_metadata *m = &n->metadata;

    if (!m->frame || m->is_proposed || !m->is_leading ||
        !kl_base_list_is_empty(&m->retry.link))
        return 0;
    m->is_proposed = 1;
    event->type = KL_RAFT_PROPOSE;
    event->propose.token = ++m->token;
    event->propose.count = (int32_t)m->records.count;
    return 1;
}

/* What there is to tell, the most urgent first; 0 where there is nothing. */
static int quorum_next(struct kl_runtime_node *n, struct kl_raft_event *event)
{
    struct kl_runtime_quorum *q = &n->quorum;
    struct kl_raft_view view;

    memset(event, 0, sizeof *event);
    event->now = n->now_ns;
    if (n->store_failed && !q->is_failed) {
        q->is_failed = 1;
        event->type = KL_RAFT_FAILED;
        event->failed.code = kl_store_failure(n->store, NULL);
        return 1;
    }
    kl_raft_view(q->raft, &view);
    if (quorum_persisted(n, event) || quorum_durable(n, &view, event) ||
        quorum_applied(n, event) || quorum_proposal(n, event))
        return 1;
    event->type = KL_RAFT_TIME;
    return kl_raft_deadline(q->raft) <= n->now_ns;
}

/* ---- the step ---------------------------------------------------------- */

static void quorum_fire(struct kl_runtime_node *n, struct kl_runtime_timer *t)
{
    /* The turn goes on to the quorum. */
    (void)n;
    (void)t;
}

static void quorum_wake_at(struct kl_runtime_node *n, int64_t at)
{
    struct kl_runtime_quorum *q = &n->quorum;

    q->timer.fire = quorum_fire;
    if (at == KL_RAFT_NEVER)
        kl_runtime_timer_cancel(n, &q->timer);
    else
        kl_runtime_timer_set(n, &q->timer, at);
}

/* 0, KL_EEND where there is nothing more to tell, or KL_ENOMEM. */
static int quorum_once(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;
    int r = kl_runtime_quorum_carry_out(n);

    if (r)
        return r;
    if (!q->is_given && !quorum_next(n, &q->event))
        return KL_EEND;
    q->event.now = n->now_ns;
    /* Without memory it is the same event the next time. */
    r = kl_raft_step(q->raft, &q->event, &q->effects);
    q->is_given = r != 0;
    q->done = 0;
    return r;
}

int kl_runtime_quorum_step(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;
    int moved = 0;
    int r;

    while (!(r = quorum_once(n)))
        moved = 1;
    q->is_starved = r == KL_ENOMEM;
    quorum_wake_at(n, r == KL_EEND ? kl_raft_deadline(q->raft)
                                   : n->now_ns + QUORUM_RETRY_NS);
    return moved;
}

int kl_runtime_quorum_is_idle(const struct kl_runtime_node *n)
{
    const struct kl_runtime_quorum *q = &n->quorum;

    return !q->raft ||
           (q->done == q->effects.count && q->persisted_id == q->put_id);
}

/* ---- open -------------------------------------------------------------- */

/* Sets of voters that records of the log name; the lists behind them. */
struct quorum_found
{
    struct kl_raft_voters *items;
    size_t count;
    size_t capacity;
    struct kl_base_buf *lists; /* count of them */
    size_t lists_capacity;
};

static void quorum_found_deinit(struct kl_runtime_node *n,
                                struct quorum_found *f)
{
    for (size_t i = 0; i < f->count; i++)
        kl_base_buf_deinit(&f->lists[i]);
    kl_base_free(&n->alloc, f->items, f->capacity * sizeof *f->items);
    kl_base_free(&n->alloc, f->lists, f->lists_capacity * sizeof *f->lists);
}

static int quorum_find(struct kl_runtime_node *n,
                       const struct kl_batch_record *record, void *user,
                       struct kl_base_error *error)
{
    struct quorum_found *f = user;
    struct kl_wire_control control;
    int r;

    /* Every start leaves records that are of no interest here. */
    if (record->value_size >= 2 &&
        kl_base_get_le16(record->value) != KL_WIRE_VOTERS_CONTROL)
        return 0;
    if (kl_base_reserve(&n->alloc, (void **)&f->items, &f->capacity,
                        f->count + 1, sizeof *f->items) ||
        kl_base_reserve(&n->alloc, (void **)&f->lists, &f->lists_capacity,
                        f->count + 1, sizeof *f->lists))
        return KL_ENOMEM;
    kl_base_buf_init(&f->lists[f->count], &n->alloc);
    r = kl_wire_control_decode(&control, record->value, record->value_size,
                               &f->lists[f->count], error);
    if (r) {
        kl_base_buf_deinit(&f->lists[f->count]);
        return r;
    }
    f->items[f->count].offset = record->offset;
    f->items[f->count++].voters = control.voters.voters;
    return 0;
}

/* A folder that was made without peers is a quorum of one. */
static int quorum_found_first(struct kl_runtime_node *n, struct quorum_found *f,
                              const struct kl_wire_voter *self)
{
    if (kl_base_reserve(&n->alloc, (void **)&f->items, &f->capacity, 1,
                        sizeof *f->items) ||
        kl_base_reserve(&n->alloc, (void **)&f->lists, &f->lists_capacity, 1,
                        sizeof *f->lists))
        return KL_ENOMEM;
    kl_base_buf_init(&f->lists[0], &n->alloc);
    f->items[0].offset = -1;
    f->items[0].voters.items = self;
    f->items[0].voters.count = 1;
    f->count = 1;
    return 0;
}

static enum kl_raft_verdict quorum_verdict(struct kl_runtime_node *n,
                                           struct kl_raft_quorum_state *out)
{
    struct kl_store_quorum state;
    enum kl_store_quorum_verdict verdict =
        kl_store_quorum_get(n->store, &state, NULL);

    out->epoch = state.epoch;
    out->leader_id = state.leader_id;
    out->voted.node_id = state.voted_id;
    out->voted.directory_id = state.voted_directory_id;
    return verdict == KL_STORE_QUORUM_LOST ? KL_RAFT_STATE_LOST : KL_RAFT_FIT;
}

static int quorum_new(struct kl_runtime_node *n, const struct quorum_found *f,
                      struct kl_base_error *error)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    struct kl_raft_recovered recovered = {
        .snapshot = {.end_offset = -1},
        .voters = f->items,
        .voters_count = (uint32_t)f->count,
    };
    struct kl_raft_options options = {
        .self = {.node_id = id->node_id, .directory_id = id->directory_id},
        .cluster_id = id->cluster_id,
        .topic_id = kl_store_metadata_topic,
        .seed = kl_runtime_seed(n),
    };
    struct kl_store_view view;

    memcpy(options.session_id.bytes, &options.seed, sizeof options.seed);
    options.session_id.bytes[15] = 1;
    recovered.verdict = quorum_verdict(n, &recovered.quorum);
    if (recovered.verdict != KL_RAFT_FIT)
        return kl_base_error_set(
            error, KL_ECORRUPT,
            "the quorum state is lost, but the metadata log is not empty; "
            "KL_OPEN_ACCEPT_LOSS begins a new one");
    kl_store_log_view(n->metadata.log, &view);
    recovered.log_start = view.start;
    recovered.leo = view.durable_leo;
    recovered.epochs = view.epochs;
    return kl_raft_new(&n->quorum.raft, &n->alloc, &options, &recovered, error);
}

int kl_runtime_quorum_open(struct kl_runtime_node *n,
                           struct kl_base_error *error)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    struct kl_wire_voter self = {.node_id = id->node_id,
                                 .directory_id = id->directory_id};
    struct quorum_found found = {0};
    int r = kl_runtime_metadata_scan(n, quorum_find, &found, error);

    kl_raft_effects_init(&n->quorum.effects, &n->alloc);
    kl_base_buf_init(&n->quorum.control, &n->alloc);
    kl_runtime_timer_init(&n->quorum.timer);
    if (!r && !found.count)
        r = quorum_found_first(n, &found, &self);
    if (!r)
        r = quorum_new(n, &found, error);
    quorum_found_deinit(n, &found);
    return r;
}

void kl_runtime_quorum_close(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;

    if (!q->effects.alloc)
        return;
    kl_runtime_timer_cancel(n, &q->timer);
    kl_raft_free(q->raft);
    kl_raft_effects_deinit(&q->effects);
    kl_base_buf_deinit(&q->control);
    memset(q, 0, sizeof *q);
}
