/*
 * The cluster and its quorum as JSON.
 */
#include "runtime/state.h"

#include <string.h>

static void describe_uuid(struct kl_base_buf *out, const char *name,
                          const struct kl_base_uuid *id)
{
    char text[KL_BASE_UUID_TEXT + 1];

    kl_base_uuid_format(id, text);
    kl_base_buf_printf(out, ",\"%s\":\"%s\"", name, text);
}

static const char *describe_bool(int value)
{
    return value ? "true" : "false";
}

/* ---- the cluster --------------------------------------------------------- */

static void describe_broker(const struct kl_controller_broker *b,
                            struct kl_base_buf *out)
{
    kl_base_buf_printf(out, "{\"node\":%d", (int)b->id);
    describe_uuid(out, "directory", &b->directory_id);
    kl_base_buf_printf(
        out, ",\"epoch\":%lld,\"fenced\":%s,\"stopping\":%s,\"rack\":",
        (long long)b->epoch, describe_bool(b->flags & KL_WIRE_BROKER_FENCED),
        describe_bool(b->flags & KL_WIRE_BROKER_SHUTDOWN));
    kl_base_buf_json(out, b->rack, strlen(b->rack));
    kl_base_buf_printf(out, ",\"endpoints\":[");
    for (int i = 0; i < b->endpoint_count; i++) {
        kl_base_buf_printf(out, "%s", i ? "," : "");
        kl_base_buf_json(out, b->endpoints[i], strlen(b->endpoints[i]));
    }
    kl_base_buf_printf(out, "]}");
}

static void describe_voter_ids(const struct kl_wire_voter_list *voters,
                               struct kl_base_buf *out)
{
    kl_base_buf_printf(out, ",\"voters\":[");
    for (uint32_t i = 0; i < voters->count; i++)
        kl_base_buf_printf(out, "%s%d", i ? "," : "",
                           (int)voters->items[i].node_id);
    kl_base_buf_printf(out, "]");
}

void kl_runtime_describe_cluster(const struct kl_runtime_node *n,
                                 struct kl_base_buf *out)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    const struct kl_controller *c = n->metadata.controller;
    struct kl_raft_view view = {.leader_id = -1};

    if (n->quorum.raft)
        kl_raft_view(n->quorum.raft, &view);
    kl_base_buf_printf(out, "{\"node\":%d", (int)n->id);
    describe_uuid(out, "cluster", &id->cluster_id);
    describe_uuid(out, "directory", &id->directory_id);
    kl_base_buf_printf(out, ",\"controller\":%d,\"feature_level\":%d",
                       (int)view.leader_id,
                       (int)kl_controller_feature_level(c));
    describe_voter_ids(&view.voters.voters, out);
    kl_base_buf_printf(out, ",\"brokers\":[");
    for (size_t i = 0; i < kl_controller_broker_count(c); i++) {
        kl_base_buf_printf(out, "%s", i ? "," : "");
        describe_broker(kl_controller_broker_at(c, i), out);
    }
    kl_base_buf_printf(out, "]}");
}

/* ---- the quorum ---------------------------------------------------------- */

static void describe_replica(const struct kl_wire_quorum_replica *r,
                             struct kl_base_buf *out)
{
    struct kl_wire_text text;
    const char *comma = "";
    uint32_t pos = 0;

    kl_base_buf_printf(out, "{\"node\":%d", (int)r->node_id);
    describe_uuid(out, "directory", &r->directory_id);
    kl_base_buf_printf(out, ",\"endpoints\":[");
    while (kl_wire_texts_next(&r->endpoints, &pos, &text)) {
        kl_base_buf_printf(out, "%s", comma);
        kl_base_buf_json(out, text.data, text.size);
        comma = ",";
    }
    kl_base_buf_printf(out,
                       "],\"end\":%lld,\"durable\":%lld,\"last_fetch_ms\":%lld,"
                       "\"last_caught_up_ms\":%lld}",
                       (long long)r->fetch_offset, (long long)r->durable_offset,
                       (long long)r->last_fetch_ms,
                       (long long)r->last_caught_up_ms);
}

static void describe_replicas(const struct kl_wire_quorum_replica_list *list,
                              const char *name, struct kl_base_buf *out)
{
    kl_base_buf_printf(out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < list->count; i++) {
        kl_base_buf_printf(out, "%s", i ? "," : "");
        describe_replica(&list->items[i], out);
    }
    kl_base_buf_printf(out, "]");
}

void kl_runtime_describe_quorum(
    const struct kl_wire_describe_quorum_response *q, struct kl_base_buf *out)
{
    kl_base_buf_printf(out,
                       "{\"leader\":%d,\"epoch\":%d,\"high_watermark\":%lld,"
                       "\"end\":%lld",
                       (int)q->leader_id, (int)q->leader_epoch,
                       (long long)q->high_watermark,
                       (long long)q->log_end_offset);
    describe_replicas(&q->voters, "voters", out);
    describe_replicas(&q->observers, "observers", out);
    kl_base_buf_printf(out, "}");
}
