/*
 * Where nodes are reached: this one by what its configuration says, others by
 * what the quorum, the image or the configuration say of them.
 */
#include "runtime/state.h"

#include <string.h>

/* "id@endpoint,id@endpoint": the next one, or 0 at the end. */
static int endpoint_next(const char **at, int64_t *id_out,
                         struct kl_wire_text *out)
{
    const char *p = *at;
    int64_t id = 0;

    if (!*p)
        return 0;
    for (; *p >= '0' && *p <= '9' && id <= INT32_MAX; p++)
        id = id * 10 + (*p - '0');
    *id_out = p == *at || *p != '@' || id > INT32_MAX ? -1 : id;
    p += *p == '@';
    out->data = p;
    out->size = (uint32_t)strcspn(p, ",");
    p += out->size;
    *at = p + (*p == ',');
    return 1;
}

int kl_runtime_bootstrap_ids(const struct kl_runtime_node *n,
                             int32_t ids[KL_RUNTIME_BOOTSTRAP_MAX],
                             uint32_t *count_out, struct kl_base_error *error)
{
    const char *at =
        kl_base_config_text(&n->config, KL_BASE_CONFIG_BOOTSTRAP_SERVERS);
    struct kl_wire_text endpoint;
    int64_t id;

    *count_out = 0;
    while (endpoint_next(&at, &id, &endpoint)) {
        if (id < 0 || endpoint.size == 0 ||
            *count_out == KL_RUNTIME_BOOTSTRAP_MAX)
            return kl_base_error_set(
                error, KL_ECONFIG,
                "controller.quorum.bootstrap.servers: up to %d of the form "
                "id@endpoint, with commas between",
                KL_RUNTIME_BOOTSTRAP_MAX);
        ids[(*count_out)++] = (int32_t)id;
    }
    return 0;
}

static int endpoint_copy(const struct kl_wire_text *text,
                         char out[KL_RUNTIME_ENDPOINT])
{
    if (text->size == 0 || text->size >= KL_RUNTIME_ENDPOINT)
        return 0;
    memcpy(out, text->data, text->size);
    out[text->size] = '\0';
    return 1;
}

/* The first of a list. */
static int endpoint_first(const struct kl_wire_texts *texts,
                          char out[KL_RUNTIME_ENDPOINT])
{
    struct kl_wire_text text;
    uint32_t pos = 0;

    return kl_wire_texts_next(texts, &pos, &text) && endpoint_copy(&text, out);
}

static int endpoint_of_voter(const struct kl_runtime_node *n, int32_t node_id,
                             char out[KL_RUNTIME_ENDPOINT])
{
    struct kl_raft_view view;

    if (!n->quorum.raft)
        return 0;
    kl_raft_view(n->quorum.raft, &view);
    if (view.leader_id == node_id &&
        endpoint_first(&view.leader_endpoints, out))
        return 1;
    for (uint32_t i = 0; i < view.voters.voters.count; i++) {
        const struct kl_wire_voter *v = &view.voters.voters.items[i];

        if (v->node_id == node_id && endpoint_first(&v->endpoints, out))
            return 1;
    }
    return 0;
}

static int endpoint_of_broker(const struct kl_runtime_node *n, int32_t node_id,
                              char out[KL_RUNTIME_ENDPOINT])
{
    const struct kl_controller_broker *b =
        n->metadata.controller
            ? kl_controller_broker_find(n->metadata.controller, node_id)
            : NULL;
    struct kl_wire_text text;

    if (!b || b->endpoint_count == 0)
        return 0;
    text.data = b->endpoints[0];
    text.size = (uint32_t)strlen(text.data);
    return endpoint_copy(&text, out);
}

static int endpoint_of_bootstrap(const struct kl_runtime_node *n,
                                 int32_t node_id, char out[KL_RUNTIME_ENDPOINT])
{
    const char *at =
        kl_base_config_text(&n->config, KL_BASE_CONFIG_BOOTSTRAP_SERVERS);
    struct kl_wire_text endpoint;
    int64_t id;

    while (endpoint_next(&at, &id, &endpoint))
        if (id == node_id)
            return endpoint_copy(&endpoint, out);
    return 0;
}

int kl_runtime_endpoint_of(const struct kl_runtime_node *n, int32_t node_id,
                           char out[KL_RUNTIME_ENDPOINT])
{
    return endpoint_of_voter(n, node_id, out) ||
           endpoint_of_broker(n, node_id, out) ||
           endpoint_of_bootstrap(n, node_id, out);
}

int kl_runtime_endpoints_own(const struct kl_runtime_node *n,
                             struct kl_base_buf *out,
                             struct kl_wire_texts *texts_out)
{
    const char *p =
        kl_base_config_text(&n->config, KL_BASE_CONFIG_ADVERTISED_LISTENERS);

    kl_base_buf_clear(out);
    memset(texts_out, 0, sizeof *texts_out);
    while (*p && texts_out->count < KL_WIRE_ENDPOINTS_MAX) {
        size_t size = strcspn(p, ",");

        if (size) {
            kl_base_buf_put_le16(out, (uint16_t)size);
            kl_base_buf_append(out, p, size);
            texts_out->count++;
        }
        p += size;
        p += *p == ',';
    }
    texts_out->data = out->data;
    texts_out->size = (uint32_t)out->size;
    return out->error;
}
