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
    /* Who takes no part any more hears of nothing. */
    if (view->fault || log.durable_leo <= view->durable_leo)
        return 0;
    event->type = KL_RAFT_DURABLE;
    event->durable.generation = view->generation;
    event->durable.offset = log.durable_leo;
    return 1;
}

static int quorum_told(struct kl_runtime_node *n, struct kl_raft_event *event)
{
    struct kl_runtime_quorum *q = &n->quorum;

    if (q->lost_count) {
        q->lost_count--;
        event->type = KL_RAFT_LINK_DOWN;
        event->link_down.peer = q->lost[q->lost_count].peer;
        event->link_down.session_id = q->lost[q->lost_count].session_id;
        return 1;
    }
    if (q->is_resign_due) {
        q->is_resign_due = 0;
        event->type = KL_RAFT_RESIGN;
        return 1;
    }
    return kl_runtime_quorum_read_tell(n, event) ||
           kl_runtime_snapshot_tell(n, event);
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
                           const struct kl_raft_view *view,
                           struct kl_raft_event *event)
{
    struct kl_runtime_metadata *m = &n->metadata;

    if (!m->frame || m->is_proposed || !m->is_leading ||
        !kl_base_list_is_empty(&m->retry.link) ||
        !kl_runtime_metadata_fits(n, view->leo))
        return 0;
    m->is_proposed = 1;
    event->type = KL_RAFT_PROPOSE;
    event->propose.token = ++m->token;
    event->propose.count = (int32_t)m->records.count;
    event->propose.is_local = m->command && !m->command->asker.is_remote;
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
        quorum_applied(n, event) || quorum_told(n, event) ||
        quorum_proposal(n, &view, event))
        return 1;
    event->type = KL_RAFT_TIME;
    return kl_raft_deadline(q->raft) <= n->now_ns;
}

/* ---- the step ---------------------------------------------------------- */

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
    if (!r && q->event.type == KL_RAFT_PERSISTED)
        kl_runtime_quorum_release(n);
    return r;
}

void kl_runtime_quorum_watch(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;
    struct kl_base_error error = {0};
    struct kl_raft_view view;
    int code;

    kl_raft_view(q->raft, &view);
    code = view.refusal ? view.refusal : view.fault;
    if (code == q->refusal || n->store_failed)
        return; /* a store that has failed has told so */
    q->refusal = code;
    kl_base_stat_set(&n->stats.quorum_refused, code != 0);
    if (code)
        (void)kl_base_error_set(&error, code, "metadata quorum: %s",
                                kl_base_error_lookup(code)->text);
    kl_runtime_set_error(n, &error);
    kl_runtime_trace(n, code ? KL_TRACE_ERROR : KL_TRACE_INFO,
                     "quorum.refusal code=%s",
                     kl_base_error_lookup(code)->name);
}

int kl_runtime_quorum_step(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;
    int moved = 0;
    int r;

    /* A store that stops cuts and appends nothing more: raft would take a log
     * for cut that is not. */
    if (!q->raft || n->refusing)
        return 0;
    while (!(r = quorum_once(n)))
        moved = 1;
    q->is_starved = r == KL_ENOMEM;
    if (moved)
        kl_runtime_quorum_watch(n);
    kl_runtime_turn_at(n, &q->timer,
                       r == KL_EEND ? kl_raft_deadline(q->raft)
                                    : n->now_ns + QUORUM_RETRY_NS);
    return moved;
}

/* What is remembered is only to be quicker than a timeout, so one that finds no
 * room is let go. */
void kl_runtime_quorum_lost(struct kl_runtime_node *n,
                            const struct kl_runtime_link *l)
{
    struct kl_runtime_quorum *q = &n->quorum;
    struct kl_runtime_lost *lost = &q->lost[q->lost_count];

    if (!q->raft || q->lost_count == KL_RUNTIME_LOST_MAX)
        return;
    lost->peer.node_id = l->node_id;
    lost->peer.directory_id = l->directory_id;
    lost->session_id = l->session_id;
    q->lost_count++;
}

void kl_runtime_quorum_resign(struct kl_runtime_node *n)
{
    n->quorum.is_resign_due =
        kl_runtime_quorum_is_leader(n) && !kl_runtime_quorum_is_alone(n);
}

/* ---- what others want to know ------------------------------------------ */

int kl_runtime_quorum_is_ready(const struct kl_runtime_node *n)
{
    const struct kl_runtime_quorum *q = &n->quorum;

    return !q->is_given && q->done == q->effects.count;
}

int kl_runtime_quorum_is_alone(const struct kl_runtime_node *n)
{
    struct kl_raft_view view;

    if (!n->quorum.raft)
        return 0;
    kl_raft_view(n->quorum.raft, &view);
    return view.is_voter && view.voters.voters.count == 1;
}

int kl_runtime_quorum_is_leader(const struct kl_runtime_node *n)
{
    struct kl_raft_view view;

    if (!n->quorum.raft)
        return 0;
    kl_raft_view(n->quorum.raft, &view);
    return view.role == KL_RAFT_LEADER;
}

int kl_runtime_quorum_is_idle(const struct kl_runtime_node *n)
{
    const struct kl_runtime_quorum *q = &n->quorum;

    return !q->raft ||
           (q->done == q->effects.count && q->persisted_id == q->put_id);
}
