/*
 * Commands that create, grow and delete a topic.
 */
#include "controller/state.h"

#include <string.h>

/* That a topic may have so many partitions beside those of the others. */
static int topic_check_count(const struct kl_controller *c, const char *name,
                             int32_t count, int32_t has,
                             struct kl_base_error *e)
{
    size_t others = c->partition_count - (size_t)has;

    if (count <= has || count > KL_CONTROLLER_TOPIC_PARTITIONS_MAX)
        return kl_base_error_set(
            e, KL_EPARTITIONS,
            "topic %s: %ld partitions, allowed are %ld to %d", name,
            (long)count, (long)has + 1,
            (int)KL_CONTROLLER_TOPIC_PARTITIONS_MAX);
    if (others + (size_t)count > c->options.partitions_max)
        return kl_base_error_set(
            e, KL_EPARTITIONS,
            "topic %s: %ld partitions beside %zu, allowed are %lu together",
            name, (long)count, others,
            (unsigned long)c->options.partitions_max);
    return 0;
}

/* Name, then partitions, then replication: the order of Kafka's answers. */
static int topic_check_shape(const struct kl_controller *c,
                             const struct kl_controller_create *command,
                             struct kl_base_error *e)
{
    int32_t replication = command->replication_factor;
    int rc =
        kl_controller_topic_name_check(command->name, strlen(command->name), e);

    if (rc)
        return rc;
    if (kl_controller_topic_find(c, command->name))
        return kl_base_error_set(e, KL_ETOPICEXISTS, "topic %s exists",
                                 command->name);
    rc = topic_check_count(c, command->name, command->partition_count, 0, e);
    if (rc)
        return rc;
    if (replication != -1 &&
        (replication < 1 || replication > KL_WIRE_REPLICAS_MAX))
        return kl_base_error_set(
            e, KL_EREPLICATION,
            "topic %s: replication factor %ld, allowed are 1 to %d",
            command->name, (long)replication, (int)KL_WIRE_REPLICAS_MAX);
    return 0;
}

/* As many copies as there may be brokers, up to three. */
static uint32_t topic_replication(const struct kl_controller *c,
                                  int32_t replication_factor)
{
    size_t brokers = 0;

    if (replication_factor != -1)
        return (uint32_t)replication_factor;
    for (size_t i = 0; i < c->broker_count; i++)
        brokers += !(c->brokers[i]->flags & KL_WIRE_BROKER_SHUTDOWN);
    if (brokers > KL_CONTROLLER_REPLICATION_DEFAULT)
        return KL_CONTROLLER_REPLICATION_DEFAULT;
    return brokers ? (uint32_t)brokers : 1;
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
    struct kl_controller_assignment partitions = {
        .topic_id = &r.topic.topic_id,
        .topic = command->name,
        .end = command->partition_count,
        .replicas = command->replicas};
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
    partitions.replication = topic_replication(c, command->replication_factor);
    rc = kl_controller_assign(c, &partitions, out, e);
    for (size_t i = 0; rc == 0 && i < command->config_count; i++)
        rc = kl_controller_config_add(c, command->name, &command->configs[i],
                                      out, e);
    if (rc == 0 && topic_id)
        *topic_id = r.topic.topic_id;
    return rc;
}

int kl_controller_create_partitions(struct kl_controller *c, const char *name,
                                    int32_t count, const int32_t *replicas,
                                    struct kl_controller_records *out,
                                    struct kl_base_error *e)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p;
    struct kl_controller_assignment partitions = {
        .topic = name, .end = count, .replicas = replicas};
    int rc = kl_controller_command_begin(c, out, e);

    if (rc == 0)
        rc = kl_controller_command_partition(c, name, 0, &t, &p, e);
    if (rc == 0)
        rc = topic_check_count(c, name, count, t->partition_count, e);
    if (rc)
        return rc;
    partitions.topic_id = &t->id;
    partitions.first = t->partition_count;
    /* As many as partition 0 is going to have. */
    partitions.replication = (uint32_t)p->counts[KL_CONTROLLER_REPLICAS] -
                             p->counts[KL_CONTROLLER_REMOVING];
    return kl_controller_assign(c, &partitions, out, e);
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
