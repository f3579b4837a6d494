/*
 * kl_admin_*: checks of the arguments, then a command of the runtime.
 */
#include "api/api_handle.h"
#include "wire/wire.h"

#include <kraftlog/admin.h>

/* Of a topic, or of none. */
static int admin_names_topic(enum kl_runtime_command_type type)
{
    switch (type) {
    case KL_RUNTIME_LIST_TOPICS:
    case KL_RUNTIME_DESCRIBE_CLUSTER:
    case KL_RUNTIME_DESCRIBE_QUORUM:
    case KL_RUNTIME_UNREGISTER_BROKER:
    case KL_RUNTIME_ADD_VOTER:
    case KL_RUNTIME_REMOVE_VOTER:
        return 0;
    default:
        return 1;
    }
}

static int admin_begin(kl_client *client, const struct kl_runtime_wish *wish,
                       uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_op *op = NULL;
    int r;

    if (op_out)
        *op_out = NULL;
    if (!client || flags)
        return KL_EINVAL;
    if (!wish->topic && admin_names_topic(wish->type))
        return KL_EINVAL;
    if (!wish->key && wish->type == KL_RUNTIME_SET_CONFIG)
        return KL_EINVAL;
    r = kl_runtime_check(client->node);
    if (!r)
        r = kl_runtime_command(client->node, wish, op_out ? &op : NULL);
    if (!r && op_out)
        *op_out = kl_api_op_wrap(op);
    return r;
}

/* Only keys of topics may be set in the configuration of one. */
static int admin_check_scope(const struct kl_base_config *values)
{
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        if (kl_base_config_is_set(values, i) &&
            kl_base_config_row(i)->scope != KL_CONFIG_TOPIC)
            return KL_ECONFIG;
    }
    return 0;
}

int kl_admin_create_topic(kl_client *client, const char *name,
                          int32_t partitions, int32_t replication,
                          const kl_config *config, uint32_t flags,
                          kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_CREATE_TOPIC,
        .topic = name,
        .number = partitions,
        .replication = replication,
        .config = kl_api_config_values(config),
    };
    int r = admin_check_scope(wish.config);

    if (r && op_out)
        *op_out = NULL;
    return r ? r : admin_begin(client, &wish, flags, op_out);
}

int kl_admin_delete_topic(kl_client *client, const char *name, uint32_t flags,
                          kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_DELETE_TOPIC,
        .topic = name,
    };

    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_grow_topic(kl_client *client, const char *topic,
                        int32_t partitions, uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_GROW_TOPIC,
        .topic = topic,
        .number = partitions,
    };

    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_set_config(kl_client *client, const char *topic, const char *key,
                        const char *value, uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_SET_CONFIG,
        .topic = topic,
        .key = key,
        .value = value,
    };

    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_list_topics(kl_client *client, uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_LIST_TOPICS};

    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_describe_topic(kl_client *client, const char *topic,
                            uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_DESCRIBE_TOPIC,
        .topic = topic,
    };

    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_delete_before(kl_client *client, const char *topic,
                           int32_t partition, int64_t offset, uint32_t flags,
                           kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_DELETE_BEFORE,
        .topic = topic,
        .number = partition,
        .offset = offset,
    };

    if (partition < 0 || offset < KL_OFFSET_END)
        wish.topic = NULL; /* refused below, with *op_out set */
    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_list_offset(kl_client *client, const char *topic,
                         int32_t partition, int64_t spec, int64_t timestamp_ms,
                         uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_LIST_OFFSET,
        .topic = topic,
        .number = partition,
        .offset = spec,
        .timestamp = timestamp_ms,
    };

    if (partition < 0 || spec < KL_OFFSET_TIMESTAMP || spec > KL_OFFSET_END ||
        (spec == KL_OFFSET_TIMESTAMP && timestamp_ms < 0))
        wish.topic = NULL; /* refused below, with *op_out set */
    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_elect_leader(kl_client *client, const char *topic,
                          int32_t partition, int32_t leader_id, uint32_t flags,
                          kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_ELECT_LEADER,
        .topic = topic,
        .number = partition,
        .broker_id = leader_id,
        .is_unclean = (flags & KL_ELECT_UNCLEAN) != 0,
    };

    if (partition < 0 || leader_id < -1 || (leader_id >= 0 && !wish.is_unclean))
        wish.topic = NULL; /* refused below, with *op_out set */
    return admin_begin(client, &wish, flags & ~KL_ELECT_UNCLEAN, op_out);
}

int kl_admin_reassign(kl_client *client, const char *topic, int32_t partition,
                      const int32_t *replicas, uint32_t count, uint32_t flags,
                      kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_REASSIGN,
        .topic = topic,
        .number = partition,
        .replicas = replicas,
        .replica_count = replicas ? count : 0,
    };

    if (partition < 0 || (replicas != NULL) != (count > 0) ||
        count > KL_WIRE_REPLICAS_MAX)
        wish.topic = NULL; /* refused below, with *op_out set */
    return admin_begin(client, &wish, flags, op_out);
}

/* ---- the cluster --------------------------------------------------------- */

int kl_admin_describe_cluster(kl_client *client, uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DESCRIBE_CLUSTER};

    return admin_begin(client, &wish, flags, op_out);
}

int kl_admin_describe_quorum(kl_client *client, uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DESCRIBE_QUORUM};

    return admin_begin(client, &wish, flags, op_out);
}

/* What is done with one node. */
static int admin_node(kl_client *client, enum kl_runtime_command_type type,
                      int32_t node_id, uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_wish wish = {
        .type = type,
        .broker_id = node_id,
        .is_forced = (flags & KL_VOTER_FORCE) != 0,
    };
    uint32_t known = type == KL_RUNTIME_UNREGISTER_BROKER ? 0 : KL_VOTER_FORCE;

    if (op_out)
        *op_out = NULL;
    if (node_id < 0)
        return KL_EINVAL;
    return admin_begin(client, &wish, flags & ~known, op_out);
}

int kl_admin_unregister_broker(kl_client *client, int32_t node_id,
                               uint32_t flags, kl_op **op_out)
{
    return admin_node(client, KL_RUNTIME_UNREGISTER_BROKER, node_id, flags,
                      op_out);
}

int kl_admin_add_voter(kl_client *client, int32_t node_id, uint32_t flags,
                       kl_op **op_out)
{
    return admin_node(client, KL_RUNTIME_ADD_VOTER, node_id, flags, op_out);
}

int kl_admin_remove_voter(kl_client *client, int32_t node_id, uint32_t flags,
                          kl_op **op_out)
{
    return admin_node(client, KL_RUNTIME_REMOVE_VOTER, node_id, flags, op_out);
}
