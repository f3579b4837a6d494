/*
 * Commands of administration between nodes: a wish as a message to the active
 * controller, and back. The operation completes when its effect is applied
 * here, so that who has made a topic finds it.
 */
#include "runtime/state.h"

#include <string.h>

/* How long a command looks for a controller and waits for its answer. */
#define FORWARD_NS INT64_C(30000000000)

/* ---- a wish as a message ------------------------------------------------- */

static struct kl_wire_text forward_text(const char *text)
{
    struct kl_wire_text t = {text ? text : "", 0};

    t.size = (uint32_t)strlen(t.data);
    return t;
}

static struct kl_runtime_command *forward_of(struct kl_runtime_call *call)
{
    return KL_BASE_CONTAINER(call, struct kl_runtime_command, call);
}

static int forward_send_create(struct kl_runtime_node *n,
                               const struct kl_runtime_command *c,
                               struct kl_wire_message *m)
{
    char values[KL_BASE_CONFIG_COUNT][KL_BASE_CONFIG_TEXT];
    struct kl_wire_config_pair pairs[KL_BASE_CONFIG_COUNT];
    struct kl_wire_create_topics_request *q = &m->create_topics_request;

    q->name = forward_text(c->wish.topic);
    q->partitions = c->wish.number;
    q->replication_factor = c->wish.replication;
    q->configs.items = pairs;
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        if (!kl_base_config_is_set(&c->config, i))
            continue;
        kl_base_config_format(&c->config, i, values[i]);
        pairs[q->configs.count].key = forward_text(kl_base_config_row(i)->name);
        pairs[q->configs.count++].value = forward_text(values[i]);
    }
    return kl_runtime_links_ask(n, m);
}

static int forward_send_reassign(struct kl_runtime_node *n,
                                 const struct kl_runtime_command *c,
                                 struct kl_wire_message *m)
{
    struct kl_wire_alter_partition_reassignments_request *q =
        &m->alter_partition_reassignments_request;
    uint8_t ids[4 * KL_WIRE_REPLICAS_MAX];

    q->name = forward_text(c->wish.topic);
    q->partition = c->wish.number;
    q->count = c->wish.replication;
    for (uint32_t i = 0; i < c->wish.replica_count; i++)
        kl_base_put_le32(ids + 4 * (size_t)i, (uint32_t)c->wish.replicas[i]);
    q->replicas.data = ids;
    q->replicas.count = c->wish.replica_count;
    return kl_runtime_links_ask(n, m);
}

static void forward_send_config(const struct kl_runtime_command *c,
                                struct kl_wire_message *m)
{
    struct kl_wire_incremental_alter_configs_request *q =
        &m->incremental_alter_configs_request;

    q->resource_type = KL_WIRE_RESOURCE_TOPIC;
    q->resource_name = forward_text(c->wish.topic);
    q->key = forward_text(c->wish.key);
    q->value = forward_text(c->wish.value);
    q->operation = c->wish.value == NULL;
}

static int forward_send(struct kl_runtime_node *n, struct kl_runtime_call *call,
                        struct kl_wire_message *m)
{
    const struct kl_runtime_command *c = forward_of(call);

    switch (c->wish.type) {
    case KL_RUNTIME_CREATE_TOPIC:
        return forward_send_create(n, c, m);
    case KL_RUNTIME_REASSIGN:
        return forward_send_reassign(n, c, m);
    case KL_RUNTIME_DELETE_TOPIC:
        m->delete_topics_request.name = forward_text(c->wish.topic);
        break;
    case KL_RUNTIME_GROW_TOPIC:
        m->create_partitions_request.name = forward_text(c->wish.topic);
        m->create_partitions_request.count = c->wish.number;
        break;
    case KL_RUNTIME_SET_CONFIG:
        forward_send_config(c, m);
        break;
    case KL_RUNTIME_ELECT_LEADER:
        m->elect_leaders_request.name = forward_text(c->wish.topic);
        m->elect_leaders_request.partition = c->wish.number;
        m->elect_leaders_request.election_type = (int8_t)c->wish.is_unclean;
        m->elect_leaders_request.leader_id = c->wish.broker_id;
        break;
    case KL_RUNTIME_UNREGISTER_BROKER:
        m->unregister_broker_request.broker_id = c->wish.broker_id;
        break;
    default:
        KL_UNREACHABLE();
    }
    return kl_runtime_links_ask(n, m);
}

static int16_t forward_api(const struct kl_runtime_wish *wish)
{
    switch (wish->type) {
    case KL_RUNTIME_CREATE_TOPIC:
        return KL_WIRE_CREATE_TOPICS;
    case KL_RUNTIME_DELETE_TOPIC:
        return KL_WIRE_DELETE_TOPICS;
    case KL_RUNTIME_GROW_TOPIC:
        return KL_WIRE_CREATE_PARTITIONS;
    case KL_RUNTIME_SET_CONFIG:
        return KL_WIRE_INCREMENTAL_ALTER_CONFIGS;
    case KL_RUNTIME_ELECT_LEADER:
        return KL_WIRE_ELECT_LEADERS;
    case KL_RUNTIME_REASSIGN:
        return KL_WIRE_ALTER_PARTITION_REASSIGNMENTS;
    case KL_RUNTIME_UNREGISTER_BROKER:
        return KL_WIRE_UNREGISTER_BROKER;
    default:
        return -1;
    }
}

/* ---- a message as a wish ------------------------------------------------- */

/* Texts with terminators, until the command has its own copies. */
struct forward_texts
{
    char topic[KL_WIRE_TOPIC_NAME_MAX + 1];
    char key[KL_WIRE_CONFIG_KEY_MAX + 1];
    char value[KL_WIRE_CONFIG_VALUE_MAX + 1];
    struct kl_base_config config;
    int32_t replicas[KL_WIRE_REPLICAS_MAX];
};

static const char *forward_copy(const struct kl_wire_text *text, char *out)
{
    if (text->size)
        memcpy(out, text->data, text->size);
    out[text->size] = '\0';
    return out;
}

static int forward_wish_create(const struct kl_wire_create_topics_request *q,
                               struct kl_runtime_wish *wish,
                               struct forward_texts *t,
                               struct kl_base_error *error)
{
    int rc = 0;

    wish->type = KL_RUNTIME_CREATE_TOPIC;
    wish->topic = forward_copy(&q->name, t->topic);
    wish->number = q->partitions;
    wish->replication = q->replication_factor;
    wish->config = &t->config;
    kl_base_config_init(&t->config);
    for (uint32_t i = 0; !rc && i < q->configs.count; i++) {
        const struct kl_wire_config_pair *pair = &q->configs.items[i];

        rc = kl_base_config_set(&t->config, forward_copy(&pair->key, t->key),
                                forward_copy(&pair->value, t->value), error);
        if (!rc)
            rc = kl_runtime_topic_config_check(t->key, t->value, NULL, error);
    }
    return rc;
}

static int
forward_wish_config(const struct kl_wire_incremental_alter_configs_request *q,
                    struct kl_runtime_wish *wish, struct forward_texts *t,
                    struct kl_base_error *error)
{
    if (q->resource_type != KL_WIRE_RESOURCE_TOPIC)
        return kl_base_error_set(error, KL_ECONFIG,
                                 "only topics have a configuration here");
    wish->type = KL_RUNTIME_SET_CONFIG;
    wish->topic = forward_copy(&q->resource_name, t->topic);
    wish->key = forward_copy(&q->key, t->key);
    wish->value = q->operation ? NULL : forward_copy(&q->value, t->value);
    return 0;
}

static void forward_wish_reassign(
    const struct kl_wire_alter_partition_reassignments_request *q,
    struct kl_runtime_wish *wish, struct forward_texts *t)
{
    wish->type = KL_RUNTIME_REASSIGN;
    wish->topic = forward_copy(&q->name, t->topic);
    wish->number = q->partition;
    wish->replication = q->count;
    wish->replicas = t->replicas;
    wish->replica_count = q->replicas.count;
    for (uint32_t i = 0; i < q->replicas.count; i++)
        t->replicas[i] = kl_wire_i32s_get(&q->replicas, i);
}

static int forward_wish(const struct kl_wire_message *m,
                        struct kl_runtime_wish *wish, struct forward_texts *t,
                        struct kl_base_error *error)
{
    const struct kl_wire_elect_leaders_request *elect =
        &m->elect_leaders_request;

    switch (m->envelope.api_key) {
    case KL_WIRE_CREATE_TOPICS:
        return forward_wish_create(&m->create_topics_request, wish, t, error);
    case KL_WIRE_DELETE_TOPICS:
        wish->type = KL_RUNTIME_DELETE_TOPIC;
        wish->topic = forward_copy(&m->delete_topics_request.name, t->topic);
        return 0;
    case KL_WIRE_CREATE_PARTITIONS:
        wish->type = KL_RUNTIME_GROW_TOPIC;
        wish->topic =
            forward_copy(&m->create_partitions_request.name, t->topic);
        wish->number = m->create_partitions_request.count;
        return 0;
    case KL_WIRE_INCREMENTAL_ALTER_CONFIGS:
        return forward_wish_config(&m->incremental_alter_configs_request, wish,
                                   t, error);
    case KL_WIRE_ELECT_LEADERS:
        wish->type = KL_RUNTIME_ELECT_LEADER;
        wish->topic = forward_copy(&elect->name, t->topic);
        wish->number = elect->partition;
        wish->is_unclean = elect->election_type;
        wish->broker_id = elect->leader_id;
        return 0;
    case KL_WIRE_ALTER_PARTITION_REASSIGNMENTS:
        forward_wish_reassign(&m->alter_partition_reassignments_request, wish,
                              t);
        return 0;
    case KL_WIRE_UNREGISTER_BROKER:
        wish->type = KL_RUNTIME_UNREGISTER_BROKER;
        wish->broker_id = m->unregister_broker_request.broker_id;
        return 0;
    default:
        return KL_EUNSUPPORTED;
    }
}

int kl_runtime_forward_wish(struct kl_runtime_node *n,
                            const struct kl_wire_message *m,
                            struct kl_runtime_command **out,
                            struct kl_base_error *error)
{
    struct kl_runtime_wish wish = {0};
    struct forward_texts texts;
    int rc = forward_wish(m, &wish, &texts, error);

    return rc ? rc : kl_runtime_command_new(n, &wish, out);
}

/* ---- on the way ---------------------------------------------------------- */

static void forward_finish(struct kl_runtime_node *n,
                           struct kl_runtime_command *c, int code,
                           const struct kl_base_error *error)
{
    n->forwarded_count--;
    kl_runtime_command_finish(n, c, code, error);
}

static void forward_error(const struct kl_wire_message *m, int code,
                          struct kl_base_error *out)
{
    const struct kl_wire_text *text =
        &m->unregister_broker_response.error_message;

    if (text->size)
        (void)kl_base_error_set(out, code, "%.*s", (int)text->size, text->data);
}

static void forward_done(struct kl_runtime_node *n,
                         struct kl_runtime_call *call, int code,
                         const struct kl_wire_message *response)
{
    struct kl_runtime_command *c = forward_of(call);
    struct kl_base_error error = {0};

    if (code && response)
        forward_error(response, code, &error);
    else if (code == KL_ETIMEDOUT)
        (void)kl_base_error_set(&error, code, "no controller was found");
    if (code) {
        forward_finish(n, c, code, &error);
        return;
    }
    c->applies_at = response->unregister_broker_response.metadata_offset;
    kl_base_list_push(&n->forwarded, &c->link);
}

int kl_runtime_forward(struct kl_runtime_node *n, struct kl_runtime_command *c)
{
    int16_t api = forward_api(&c->wish);

    if (api < 0 || n->refusing || n->store_failed)
        return 0;
    c->call = (struct kl_runtime_call){.api_key = api,
                                       .node_id = -1,
                                       .until_ns = n->now_ns + FORWARD_NS,
                                       .send = forward_send,
                                       .done = forward_done};
    n->forwarded_count++;
    kl_runtime_call(n, &c->call);
    return 1;
}

/* In the order of their answers, which is that of the log. A node that does not
 * keep up does not hold back who asked. */
int kl_runtime_forward_step(struct kl_runtime_node *n)
{
    struct kl_base_list *item;
    int moved = 0;

    while ((item = kl_base_list_first(&n->forwarded))) {
        struct kl_runtime_command *c =
            KL_BASE_CONTAINER(item, struct kl_runtime_command, link);

        if (n->metadata.applied < c->applies_at &&
            n->now_ns < c->call.until_ns && !n->refusing)
            break;
        kl_base_list_remove(item);
        forward_finish(n, c, 0, NULL);
        moved = 1;
    }
    return moved;
}

void kl_runtime_forward_close(struct kl_runtime_node *n)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(&n->forwarded)))
        forward_finish(n,
                       KL_BASE_CONTAINER(item, struct kl_runtime_command, link),
                       0, NULL);
}
