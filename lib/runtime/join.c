/*
 * How a node finds the cluster that its folder was made to join: it asks the
 * nodes that its configuration names, in turn, which cluster they are of. What
 * the first one answers is written into the folder, once and for all; then the
 * node follows the quorum as an observer, and may be made a voter.
 */
#include "runtime/state.h"

/* From one question to the next. */
#define JOIN_RETRY_NS INT64_C(200000000)

int kl_runtime_joins(const struct kl_runtime_node *n)
{
    return (kl_store_identity(n->store)->flags &
            (KL_STORE_JOINS | KL_STORE_JOINED)) != 0;
}

int kl_runtime_join_is_asking(const struct kl_runtime_node *n)
{
    return (kl_store_identity(n->store)->flags & KL_STORE_JOINS) != 0;
}

int kl_runtime_join_open(struct kl_runtime_node *n, struct kl_base_error *error)
{
    int32_t ids[KL_RUNTIME_BOOTSTRAP_MAX];
    uint32_t count;
    int r = kl_runtime_bootstrap_ids(n, ids, &count, error);

    n->join.asked_id = 0;
    n->join.retry_ns = 0;
    n->join.is_due = 0;
    if (!r && count == 0)
        r = kl_base_error_set(error, KL_ECONFIG,
                              "a node that joins a cluster must be told where "
                              "it is: controller.quorum.bootstrap.servers");
    if (!r && !n->net)
        r = kl_base_error_set(error, KL_ECONFIG,
                              "a node that joins a cluster needs a transport");
    return r;
}

static void join_envelope(const struct kl_runtime_node *n,
                          struct kl_wire_envelope *out)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);

    out->api_key = KL_WIRE_DESCRIBE_CLUSTER;
    out->cluster_id = id->cluster_id;
    out->source_id = n->id;
    out->source_directory = id->directory_id;
    out->source_session = n->links.session_id;
}

void kl_runtime_join_ask(struct kl_runtime_node *n, int32_t node_id)
{
    const struct kl_base_uuid no_session = {{0}};
    struct kl_wire_message m = {0};

    join_envelope(n, &m.envelope);
    m.envelope.correlation_id = ++n->join.asked_id;
    m.envelope.destination_id = node_id;
    kl_runtime_links_send(n, &m, &no_session);
}

static void join_ask_next(struct kl_runtime_node *n)
{
    int32_t ids[KL_RUNTIME_BOOTSTRAP_MAX];
    uint32_t count;

    if (kl_runtime_bootstrap_ids(n, ids, &count, NULL) == 0 && count > 0)
        kl_runtime_join_ask(n, ids[n->join.asked_id % count]);
}

/* The folder knows its cluster: the quorum begins, and an image of it. */
static int join_begin(struct kl_runtime_node *n)
{
    struct kl_base_error error = {0};
    struct kl_controller *controller = NULL;
    int r = kl_runtime_controller_new(n, &controller);

    if (!r)
        r = kl_runtime_quorum_open(n, &error);
    if (!r)
        kl_runtime_metadata_replace(n, controller, 0);
    else
        kl_controller_free(controller);
    if (r) {
        kl_runtime_quorum_close(n);
        kl_runtime_trace(n, KL_TRACE_WARN, "quorum.join code=%s text=%s",
                         kl_base_error_lookup(r)->name, error.text);
        return 0;
    }
    n->join.is_due = 0;
    kl_runtime_timer_cancel(n, &n->join.timer);
    return 1;
}

int kl_runtime_join_step(struct kl_runtime_node *n)
{
    struct kl_runtime_join *j = &n->join;

    if (n->quorum.raft || n->store_failed || n->now_ns < j->retry_ns ||
        atomic_load(&n->state) != KL_NODE_OPEN)
        return 0;
    if (j->is_due && join_begin(n))
        return 1;
    if (kl_runtime_join_is_asking(n))
        join_ask_next(n);
    j->retry_ns = n->now_ns + JOIN_RETRY_NS;
    kl_runtime_turn_at(n, &j->timer, j->retry_ns);
    return 0;
}

void kl_runtime_join_done(struct kl_runtime_node *n, int code)
{
    char cluster[KL_BASE_UUID_TEXT + 1];

    if (code)
        return; /* the store has failed */
    kl_base_uuid_format(&kl_store_identity(n->store)->cluster_id, cluster);
    kl_runtime_trace(n, KL_TRACE_INFO, "quorum.join cluster=%s", cluster);
    n->join.is_due = 1;
    n->join.retry_ns = 0;
}

/* ---- messages ------------------------------------------------------------ */

static void join_answer(struct kl_runtime_node *n,
                        const struct kl_wire_envelope *request)
{
    struct kl_wire_message m = {0};
    struct kl_wire_describe_cluster_response *d = &m.describe_cluster_response;
    struct kl_wire_cluster_node nodes[KL_WIRE_VOTERS_MAX];
    struct kl_raft_view view;

    if (!n->quorum.raft)
        return;
    kl_raft_view(n->quorum.raft, &view);
    join_envelope(n, &m.envelope);
    m.envelope.is_response = 1;
    m.envelope.correlation_id = request->correlation_id;
    m.envelope.destination_id = request->source_id;
    m.envelope.destination_directory = request->source_directory;
    d->leader_id = view.leader_id;
    d->leader_epoch = view.epoch;
    d->leader_endpoints = view.leader_endpoints;
    d->cluster_id = m.envelope.cluster_id;
    d->voters.items = nodes;
    d->voters.count = view.voters.voters.count;
    for (uint32_t i = 0; i < d->voters.count; i++) {
        nodes[i].node_id = view.voters.voters.items[i].node_id;
        nodes[i].endpoints = view.voters.voters.items[i].endpoints;
    }
    kl_runtime_links_send(n, &m, &request->source_session);
}

static void join_answered(struct kl_runtime_node *n,
                          const struct kl_wire_message *m)
{
    const struct kl_base_uuid *cluster =
        &m->describe_cluster_response.cluster_id;

    if (!kl_runtime_join_is_asking(n) ||
        m->envelope.correlation_id != n->join.asked_id)
        return;
    /* Of one that does not know it yet itself. */
    if (m->describe_cluster_response.error_code ||
        !kl_base_uuid_equal(cluster, &m->envelope.cluster_id))
        return;
    /* Without memory the next answer is as good. */
    (void)kl_store_adopt_cluster(n->store, cluster);
}

void kl_runtime_join_message(struct kl_runtime_node *n,
                             const struct kl_wire_message *m)
{
    if (m->envelope.is_response)
        join_answered(n, m);
    else
        join_answer(n, &m->envelope);
}
