/*
 * The image as records.
 */
#include "controller/state.h"

#include <string.h>

/* A snapshot is no batch: its records have no limit together. */
static int snapshot_add(struct kl_controller_records *out,
                        const struct kl_wire_record *r)
{
    return kl_controller_records_add(out, r, SIZE_MAX, NULL);
}

static int snapshot_feature(const struct kl_controller *c,
                            struct kl_controller_records *out)
{
    struct kl_wire_record r = {.type = KL_WIRE_FEATURE_LEVEL_RECORD};

    if (c->feature_level == 0)
        return 0;
    r.feature_level.name = kl_controller_text(KL_CONTROLLER_FEATURE);
    r.feature_level.level = c->feature_level;
    return snapshot_add(out, &r);
}

static int snapshot_broker(const struct kl_controller_broker *b,
                           struct kl_controller_records *out)
{
    struct kl_wire_record r = {.type = KL_WIRE_REGISTER_BROKER_RECORD};
    uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES];

    kl_controller_broker_record(b, scratch, &r.register_broker);
    return snapshot_add(out, &r);
}

static int snapshot_producer_ids(const struct kl_controller *c,
                                 struct kl_controller_records *out)
{
    struct kl_wire_record r = {.type = KL_WIRE_PRODUCER_IDS_RECORD};

    if (c->next_producer_id == 0)
        return 0;
    r.producer_ids.broker_id = -1;
    r.producer_ids.broker_epoch = -1;
    r.producer_ids.next_producer_id = c->next_producer_id;
    return snapshot_add(out, &r);
}

static int snapshot_partition(const struct kl_controller_topic *t,
                              int32_t index, struct kl_controller_records *out)
{
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    uint8_t scratch[KL_CONTROLLER_IDS_BYTES];

    kl_controller_partition_record(t->partitions[index], scratch, &r.partition);
    r.partition.topic_id = t->id;
    r.partition.partition = index;
    return snapshot_add(out, &r);
}

static int snapshot_config(const struct kl_controller_topic *t,
                           const struct kl_controller_config *pair,
                           struct kl_controller_records *out)
{
    struct kl_wire_record r = {.type = KL_WIRE_CONFIG_RECORD};

    r.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    r.config.resource_name = kl_controller_text(t->name);
    r.config.key = kl_controller_text(pair->key);
    r.config.value = kl_controller_text(pair->value);
    return snapshot_add(out, &r);
}

static int snapshot_topic(const struct kl_controller_topic *t,
                          struct kl_controller_records *out)
{
    struct kl_wire_record r = {.type = KL_WIRE_TOPIC_RECORD};
    int rc;

    r.topic.name = kl_controller_text(t->name);
    r.topic.topic_id = t->id;
    rc = snapshot_add(out, &r);
    for (int32_t i = 0; rc == 0 && i < t->partition_count; i++)
        rc = snapshot_partition(t, i, out);
    for (uint32_t i = 0; rc == 0 && i < t->config_count; i++)
        rc = snapshot_config(t, &t->configs[i], out);
    return rc;
}

int kl_controller_encode(const struct kl_controller *c,
                         struct kl_controller_records *out)
{
    int rc;

    kl_controller_records_clear(out);
    rc = snapshot_feature(c, out);
    for (size_t i = 0; rc == 0 && i < c->broker_count; i++)
        rc = snapshot_broker(c->brokers[i], out);
    if (rc == 0)
        rc = snapshot_producer_ids(c, out);
    for (size_t i = 0; rc == 0 && i < c->topic_count; i++)
        rc = snapshot_topic(c->topics[i], out);
    return rc;
}
