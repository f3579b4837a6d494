/*
 * Commands that create and delete a topic.
 */
#include "controller/state.h"

#include <string.h>

/* Name, then partitions, then replication: the order of Kafka's answers. */
static int topic_check_shape(const struct kl_controller *c,
                             const struct kl_controller_create *command,
                             struct kl_base_error *e)
{
    int32_t n = command->partition_count;
    int rc =
        kl_controller_topic_name_check(command->name, strlen(command->name), e);

    if (rc)
        return rc;
    if (kl_controller_topic_find(c, command->name))
        return kl_base_error_set(e, KL_ETOPICEXISTS, "topic %s exists",
                                 command->name);
    if (n < 1 || n > KL_CONTROLLER_TOPIC_PARTITIONS_MAX)
        return kl_base_error_set(
            e, KL_EPARTITIONS, "topic %s: %ld partitions, allowed are 1 to %d",
            command->name, (long)n, (int)KL_CONTROLLER_TOPIC_PARTITIONS_MAX);
    if (c->partition_count + (size_t)n > c->options.partitions_max)
        return kl_base_error_set(
            e, KL_EPARTITIONS,
            "topic %s: %ld partitions beside %zu, allowed are %lu together",
            command->name, (long)n, c->partition_count,
            (unsigned long)c->options.partitions_max);
    if (command->replication_factor != -1 && command->replication_factor != 1)
        return kl_base_error_set(
            e, KL_EREPLICATION,
            "topic %s: replication factor %ld, one broker is known",
            command->name, (long)command->replication_factor);
    return 0;
}

static int topic_check_configs(const struct kl_controller *c,
                               const struct kl_controller_create *command,
                               struct kl_base_error *e)
{
    for (size_t i = 0; i < command->config_count; i++) {
        int rc = kl_controller_config_check(c, command->configs, i, e);

        if (rc)
            return rc;
        if (!command->configs[i].value)
            return kl_base_error_set(e, KL_ECONFIG, "topic %s: %s has no value",
                                     command->name, command->configs[i].key);
    }
    return 0;
}

static int topic_add_partitions(const struct kl_controller *c,
                                const struct kl_base_uuid *id, int32_t count,
                                struct kl_controller_records *out,
                                struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    uint8_t replicas[4];

    kl_base_put_le32(replicas, (uint32_t)c->options.broker_id);
    r.partition.topic_id = *id;
    r.partition.replicas = (struct kl_wire_i32s){replicas, 1};
    r.partition.isr = r.partition.replicas;
    r.partition.leader = c->options.broker_id;
    r.partition.last_known_leader = -1;
    for (int32_t i = 0; i < count; i++) {
        int rc;

        r.partition.partition = i;
        rc = kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
        if (rc)
            return rc;
    }
    return 0;
}

static struct kl_base_uuid topic_fresh_id(struct kl_controller *c)
{
    struct kl_base_uuid id;

    do
        id = kl_base_uuid_random(&c->rng);
    while (kl_controller_topic_find_id(c, &id));
    return id;
}

int kl_controller_create_topic(struct kl_controller *c,
                               const struct kl_controller_create *command,
                               struct kl_controller_records *out,
                               struct kl_base_uuid *topic_id,
                               struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_TOPIC_RECORD};
    int rc = kl_controller_command_begin(c, out, e);

    if (rc)
        return rc;
    rc = topic_check_shape(c, command, e);
    if (rc)
        return rc;
    rc = topic_check_configs(c, command, e);
    if (rc)
        return rc;
    r.topic.name = kl_controller_text(command->name);
    r.topic.topic_id = topic_fresh_id(c);
    rc = kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
    if (rc)
        return rc;
    rc = topic_add_partitions(c, &r.topic.topic_id, command->partition_count,
                              out, e);
    for (size_t i = 0; rc == 0 && i < command->config_count; i++)
        rc = kl_controller_config_add(c, command->name, &command->configs[i],
                                      out, e);
    if (rc == 0 && topic_id)
        *topic_id = r.topic.topic_id;
    return rc;
}

int kl_controller_delete_topic(struct kl_controller *c, const char *name,
                               struct kl_controller_records *out,
                               struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_REMOVE_TOPIC_RECORD};
    const struct kl_controller_topic *t;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc)
        return rc;
    rc = kl_controller_command_topic(c, name, &t, e);
    if (rc)
        return rc;
    r.remove_topic.topic_id = t->id;
    return kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
}
