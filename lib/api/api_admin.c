/*
 * kl_admin_*: checks of the arguments, then a command of the runtime.
 */
#include "api/api_handle.h"

#include <kraftlog/admin.h>

static int admin_begin(kl_client *client, const struct kl_runtime_wish *wish,
                       uint32_t flags, kl_op **op_out)
{
    struct kl_runtime_op *op = NULL;
    int r;

    if (op_out)
        *op_out = NULL;
    if (!client || flags)
        return KL_EINVAL;
    if (!wish->topic && wish->type != KL_RUNTIME_LIST_TOPICS)
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
