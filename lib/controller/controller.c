/*
 * Life cycle, what every command starts with, and the commands on the cluster
 * as a whole.
 */
#include "controller/state.h"

#include <string.h>

int kl_controller_new(struct kl_controller **out, const struct kl_base_alloc *a,
                      const struct kl_controller_options *options)
{
    struct kl_controller *c = kl_base_calloc(a, sizeof *c);

    if (!c)
        return KL_ENOMEM;
    c->alloc = a;
    c->options = *options;
    if (c->options.partitions_max == 0)
        c->options.partitions_max = KL_CONTROLLER_PARTITIONS_MAX;
    if (c->options.batch_bytes_max == 0)
        c->options.batch_bytes_max = KL_CONTROLLER_BATCH_BYTES;
    if (c->options.feature_level_max == 0)
        c->options.feature_level_max = KL_CONTROLLER_FEATURE_LEVEL;
    if (c->options.session_timeout_ms == 0)
        c->options.session_timeout_ms = KL_CONTROLLER_SESSION_TIMEOUT_MS;
    if (c->options.rebalance_ms == 0)
        c->options.rebalance_ms = KL_CONTROLLER_REBALANCE_MS;
    kl_base_map_init(&c->by_id, a);
    kl_base_rng_seed(&c->rng, options->seed);
    *out = c;
    return 0;
}

void kl_controller_free(struct kl_controller *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->topic_count; i++)
        kl_controller_topic_free(c->alloc, c->topics[i]);
    for (size_t i = 0; i < c->broker_count; i++)
        kl_controller_broker_free(c->alloc, c->brokers[i]);
    kl_base_free(c->alloc, c->topics, c->topic_capacity * sizeof *c->topics);
    kl_base_free(c->alloc, c->brokers, c->broker_capacity * sizeof *c->brokers);
    kl_base_free(c->alloc, c->sessions,
                 c->session_capacity * sizeof *c->sessions);
    kl_base_free(c->alloc, c->deltas, c->delta_capacity * sizeof *c->deltas);
    kl_base_map_deinit(&c->by_id);
    kl_base_free(c->alloc, c, sizeof *c);
}

int kl_controller_command_begin(const struct kl_controller *c,
                                struct kl_controller_records *out,
                                struct kl_base_error *e)
{
    kl_controller_records_clear(out);
    if (c->feature_level == 0)
        return kl_base_error_set(
            e, KL_ESTATE,
            "the metadata log has no " KL_CONTROLLER_FEATURE " yet");
    return 0;
}

int kl_controller_command_topic(const struct kl_controller *c, const char *name,
                                const struct kl_controller_topic **out,
                                struct kl_base_error *e)
{
    int rc = kl_controller_topic_name_check(name, strlen(name), e);

    if (rc)
        return rc;
    *out = kl_controller_topic_find(c, name);
    return *out ? 0
                : kl_base_error_set(e, KL_ENOTOPIC, "topic %s does not exist",
                                    name);
}

int kl_controller_command_partition(const struct kl_controller *c,
                                    const char *name, int32_t index,
                                    const struct kl_controller_topic **topic,
                                    const struct kl_controller_partition **out,
                                    struct kl_base_error *e)
{
    int rc = kl_controller_command_topic(c, name, topic, e);

    if (rc)
        return rc;
    *out = kl_controller_partition_at(*topic, index);
    return *out ? 0
                : kl_base_error_set(e, KL_ENOTOPIC,
                                    "topic %s has no partition %ld", name,
                                    (long)index);
}

struct kl_wire_text kl_controller_text(const char *text)
{
    size_t size = strlen(text);
    struct kl_wire_text t = {text, UINT32_MAX};

    /* No field is longer than 64 KiB: the encoder still refuses it. */
    if (size < UINT32_MAX)
        t.size = (uint32_t)size;
    return t;
}

static int controller_feature_record(const struct kl_controller *c,
                                     int16_t level,
                                     struct kl_controller_records *out,
                                     struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_FEATURE_LEVEL_RECORD};

    r.feature_level.name = kl_controller_text(KL_CONTROLLER_FEATURE);
    r.feature_level.level = level;
    return kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
}

int kl_controller_bootstrap(struct kl_controller *c,
                            struct kl_controller_records *out,
                            struct kl_base_error *e)
{
    kl_controller_records_clear(out);
    if (c->feature_level)
        return 0;
    return controller_feature_record(c, KL_CONTROLLER_FEATURE_LEVEL, out, e);
}

int kl_controller_set_feature_level(struct kl_controller *c, int16_t level,
                                    struct kl_controller_records *out,
                                    struct kl_base_error *e)
{
    int rc = kl_controller_command_begin(c, out, e);

    if (rc || level == c->feature_level)
        return rc;
    if (level < c->feature_level)
        return kl_base_error_set(e, KL_EINVAL,
                                 KL_CONTROLLER_FEATURE " %d behind %d",
                                 (int)level, (int)c->feature_level);
    if (level > c->options.feature_level_max)
        return kl_base_error_set(e, KL_EUNSUPPORTED,
                                 KL_CONTROLLER_FEATURE " %d, known up to %d",
                                 (int)level, (int)c->options.feature_level_max);
    for (size_t i = 0; i < c->broker_count; i++)
        if (level > c->brokers[i]->feature_max ||
            level < c->brokers[i]->feature_min)
            return kl_base_error_set(e, KL_EUNSUPPORTED,
                                     KL_CONTROLLER_FEATURE
                                     " %d: broker %ld knows %d to %d",
                                     (int)level, (long)c->brokers[i]->id,
                                     (int)c->brokers[i]->feature_min,
                                     (int)c->brokers[i]->feature_max);
    return controller_feature_record(c, level, out, e);
}

int kl_controller_allocate_producer_ids(struct kl_controller *c,
                                        int32_t broker_id, int64_t broker_epoch,
                                        struct kl_controller_records *out,
                                        int64_t *first, struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_PRODUCER_IDS_RECORD};
    size_t index;
    int rc = kl_controller_command_begin(c, out, e);

    /* A node that stands alone has not registered. */
    if (rc == 0 && c->broker_count)
        rc = kl_controller_broker_check(c, broker_id, broker_epoch, &index, e);
    if (rc)
        return rc;
    r.producer_ids.broker_id = c->broker_count ? broker_id : -1;
    r.producer_ids.broker_epoch = c->broker_count ? broker_epoch : -1;
    r.producer_ids.next_producer_id =
        c->next_producer_id + KL_CONTROLLER_PRODUCER_IDS;
    rc = kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
    if (rc == 0)
        *first = c->next_producer_id;
    return rc;
}
