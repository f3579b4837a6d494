/*
 * What the simulator sees of a node's inside; it changes nothing there.
 */
#include "world.h"

#include "runtime/state.h"

int64_t door_deadline_ns(const struct host *h)
{
    const struct kl_runtime_node *n = h->n;
    int64_t store = kl_store_deadline(n->store);
    int64_t timers = kl_runtime_timers_deadline(n);

    if (!kl_runtime_inbox_is_empty(n))
        return 0;
    return store < timers ? store : timers;
}

struct kl_controller *door_controller(const struct host *h)
{
    return h->n->metadata.controller;
}

int64_t door_log_end(const struct host *h, const struct kl_base_uuid *topic_id,
                     int partition)
{
    struct kl_store_id id = {*topic_id, partition};
    struct kl_store_log *log = kl_store_find(h->n->store, &id);
    struct kl_store_view view;

    if (!log)
        return -1;
    kl_store_log_view(log, &view);
    return view.durable_leo;
}

void door_observe(const struct host *h, struct observation *out)
{
    const struct kl_runtime_node *n = h->n;
    struct kl_store_quorum quorum;
    struct kl_raft_view view;

    memset(out, 0, sizeof *out);
    kl_raft_view(n->quorum.raft, &view);
    (void)kl_store_quorum_get(n->store, &quorum, NULL);
    out->host = h->index;
    out->boots = h->boots;
    out->now_ns = h->now_ns;
    out->id = h->id;
    out->role = view.role;
    out->epoch = view.epoch;
    out->durable_epoch = quorum.epoch;
    out->leader_id = view.leader_id;
    out->voted_id = view.voted.node_id;
    out->log_start = view.log_start;
    out->leo = view.leo;
    out->durable_leo = view.durable_leo;
    out->high_watermark = view.high_watermark;
    out->applied = n->metadata.applied;
    out->snapshot_end = view.snapshot.end_offset;
    out->is_voter = view.is_voter;
    out->fault = view.fault;
    out->elections = view.counters.elections;
    out->broken = kl_raft_check_invariants(n->quorum.raft);
}
