/*
 * When the image is recent enough to act on. After a start, and after the image
 * was replaced by a snapshot, the logs are left alone until a record of the
 * current epoch is applied: then all that was committed before its leader was
 * elected is, and a topic that the image lacks was really deleted. But who
 * starts again within that epoch has applied more of it before than it knows to
 * be committed now: what its log held at the start is waited for as well, or
 * cut by a leader that never had it.
 */
#include "runtime/state.h"

/* The leader has written a record of its epoch, and it is applied here. */
static int catch_up_is_done(const struct kl_runtime_node *n)
{
    const struct kl_runtime_metadata *m = &n->metadata;
    struct kl_raft_view view;
    struct kl_store_view log;
    const struct kl_batch_epochs *epochs;

    if (!n->quorum.raft || m->applied < m->commit || m->records_done)
        return 0;
    kl_raft_view(n->quorum.raft, &view);
    if (view.leader_id < 0)
        return 0;
    kl_store_log_view(m->log, &log);
    epochs = log.epochs;
    if (m->applied < m->open_leo && m->applied < log.leo)
        return 0;
    if (epochs->count && epochs->items[epochs->count - 1].epoch == view.epoch)
        return m->applied > epochs->items[epochs->count - 1].start;
    /* The record is within a snapshot that the log begins behind. */
    return view.snapshot.end_offset == m->applied &&
           view.snapshot.epoch == view.epoch;
}

int kl_runtime_catch_up_step(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_base_error error = {0};
    int r;

    if (m->is_caught_up || n->store_failed ||
        atomic_load(&n->state) != KL_NODE_OPEN ||
        !kl_base_list_is_empty(&m->retry.link) || !catch_up_is_done(n))
        return 0;
    r = kl_runtime_logs_agree(n, &error);
    if (r) {
        /* Memory and the like; a failed store is told by itself. */
        kl_runtime_trace(n, KL_TRACE_WARN, "metadata.catch_up code=%s text=%s",
                         kl_base_error_lookup(r)->name, error.text);
        kl_runtime_metadata_retry(n, r);
        return 0;
    }
    kl_runtime_topics_agree(n);
    m->is_caught_up = 1;
    kl_runtime_trace(n, KL_TRACE_INFO, "metadata.catch_up offset=%lld",
                     (long long)m->applied);
    return 1;
}
