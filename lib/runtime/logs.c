/*
 * The logs of the store follow the image: those of its partitions are there,
 * configured as their topic says, and no others. Every function here may be
 * repeated after a failure.
 */
#include "runtime/state.h"

#include <string.h>

/* ---- configuration --------------------------------------------------------
 */

int kl_runtime_topic_config_check(const char *key, const char *value,
                                  void *user, struct kl_base_error *error)
{
    struct kl_base_config scratch;
    size_t index = 0;
    int r = kl_base_config_find(key, &index, error);

    (void)user;
    if (r)
        return r;
    if (kl_base_config_row(index)->scope != KL_CONFIG_TOPIC)
        return kl_base_error_set(error, KL_ECONFIG, "%s is not a key of topics",
                                 key);
    if (!value)
        return 0;
    kl_base_config_init(&scratch);
    return kl_base_config_set(&scratch, key, value, error);
}

void kl_runtime_topic_config(const struct kl_controller_topic *topic,
                             struct kl_base_config *out)
{
    kl_base_config_init(out);
    /* A key that this version does not know is kept for one that does. */
    for (uint32_t i = 0; i < topic->config_count; i++)
        (void)kl_base_config_set(out, topic->configs[i].key,
                                 topic->configs[i].value, NULL);
}

static void logs_store_config(const struct kl_base_config *c,
                              struct kl_store_log_config *out)
{
    memset(out, 0, sizeof *out);
    out->segment_bytes =
        (uint64_t)kl_base_config_value(c, KL_BASE_CONFIG_SEGMENT_BYTES);
    out->segment_ms = kl_base_config_value(c, KL_BASE_CONFIG_SEGMENT_MS);
    out->retention_ms = kl_base_config_value(c, KL_BASE_CONFIG_RETENTION_MS);
    out->retention_bytes =
        kl_base_config_value(c, KL_BASE_CONFIG_RETENTION_BYTES);
    out->flush_ms = kl_base_config_value(c, KL_BASE_CONFIG_FLUSH_MS);
    out->flush_bytes = kl_base_config_value(c, KL_BASE_CONFIG_FLUSH_BYTES);
    out->drop_oldest = kl_base_config_value(c, KL_BASE_CONFIG_FULL) ==
                       KL_BASE_FULL_DROP_OLDEST;
    out->index_interval_bytes =
        (uint32_t)kl_base_config_value(c, KL_BASE_CONFIG_INDEX_INTERVAL_BYTES);
}

/* ---- which ones ----------------------------------------------------------
 */

/* This node has a replica of the partition. */
static int logs_is_hosted(const struct kl_runtime_node *n,
                          const struct kl_controller_topic *topic,
                          int32_t partition)
{
    const int32_t *replicas;
    size_t count;

    if (partition >= topic->partition_count)
        return 0;
    replicas = kl_controller_partition_list(
        kl_controller_partition_at(topic, partition), KL_CONTROLLER_REPLICAS,
        &count);
    for (size_t i = 0; i < count; i++)
        if (replicas[i] == n->id)
            return 1;
    return 0;
}

/* The image has the partition, here. */
static int logs_is_wanted(const struct kl_runtime_node *n,
                          const struct kl_store_id *id)
{
    const struct kl_controller_topic *topic =
        kl_controller_topic_find_id(n->metadata.controller, &id->topic_id);

    return topic && logs_is_hosted(n, topic, id->partition);
}

/* ---- one topic ------------------------------------------------------------
 */

static int logs_delete(struct kl_runtime_node *n, struct kl_store_log *log)
{
    struct kl_store_id id = *kl_store_log_id(log);
    char topic[KL_BASE_UUID_TEXT + 1];
    int r;

    kl_runtime_partition_detach(n, log, KL_ENOTOPIC);
    r = kl_store_delete(log);
    kl_base_uuid_format(&id.topic_id, topic);
    kl_runtime_trace(n, KL_TRACE_DEBUG,
                     "log.delete topic=%s partition=%d "
                     "code=%s",
                     topic, (int)id.partition, kl_base_error_lookup(r)->name);
    return r;
}

/* Finds or makes the log of a partition, and leads it where it is to; one that
 * was moved to other nodes goes. */
static int logs_ensure(struct kl_runtime_node *n,
                       const struct kl_controller_topic *topic,
                       int32_t partition, enum kl_store_flush flush,
                       const struct kl_store_log_config *config)
{
    const struct kl_controller_partition *state =
        kl_controller_partition_at(topic, partition);
    struct kl_store_id id = {topic->id, partition};
    struct kl_store_log *log = kl_store_find(n->store, &id);
    struct kl_store_view view;
    int leads;
    int r;

    if (!logs_is_hosted(n, topic, partition))
        return log ? logs_delete(n, log) : 0;
    if (log)
        kl_store_log_configure(log, config);
    else if ((r = kl_store_create(n->store, &id, flush, config, &log)))
        return r;
    leads = kl_runtime_broker_leads(n, state);
    kl_store_log_view(log, &view);
    if (leads && kl_batch_epochs_last(view.epochs) < state->leader_epoch) {
        r = kl_store_start_epoch(log, state->leader_epoch);
        if (r)
            return r;
    }
    return kl_runtime_partition_attach(n, log, topic, state->leader_epoch,
                                       leads);
}

static int logs_ensure_topic(struct kl_runtime_node *n,
                             const struct kl_controller_topic *topic)
{
    struct kl_base_config config;
    struct kl_store_log_config store;
    enum kl_store_flush flush;
    int r = 0;

    kl_runtime_topic_config(topic, &config);
    logs_store_config(&config, &store);
    flush = kl_base_config_value(&config, KL_BASE_CONFIG_FLUSH) ==
                    KL_BASE_FLUSH_COMMIT
                ? KL_STORE_FLUSH_COMMIT
                : KL_STORE_FLUSH_INTERVAL;
    for (int32_t i = 0; !r && i < topic->partition_count; i++)
        r = logs_ensure(n, topic, i, flush, &store);
    /* Published last: who finds the topic finds its partitions. */
    return r ? r : kl_runtime_topic_publish(n, topic);
}

static int logs_delete_topic(struct kl_runtime_node *n,
                             const struct kl_controller_delta *d)
{
    int result = 0;

    kl_runtime_topic_withdraw(n, &d->topic_id);
    for (int32_t i = d->partition_first; i < d->partition_end; i++) {
        struct kl_store_id id = {d->topic_id, i};
        struct kl_store_log *log = kl_store_find(n->store, &id);
        int r = log ? logs_delete(n, log) : 0;

        if (r)
            result = r;
    }
    return result;
}

/* ---- the door -------------------------------------------------------------
 */

static void logs_trace(const struct kl_runtime_node *n,
                       const struct kl_controller_delta *d)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find_id(n->metadata.controller, &d->topic_id);
    static const char *const names[] = {"created", "deleted", "grew",
                                        "configured", "changed"};
    char topic[KL_BASE_UUID_TEXT + 1];

    if (d->kind == KL_CONTROLLER_BROKER)
        return;
    kl_base_uuid_format(&d->topic_id, topic);
    kl_runtime_trace(n, KL_TRACE_INFO, "topic.%s id=%s name=%s", names[d->kind],
                     topic, t ? t->name : "");
}

int kl_runtime_logs_apply_delta(struct kl_runtime_node *n)
{
    struct kl_controller *c = n->metadata.controller;
    size_t count;
    const struct kl_controller_delta *d = kl_controller_delta(c, &count);
    int result = 0;

    for (size_t i = 0; i < count; i++) {
        const struct kl_controller_topic *topic =
            kl_controller_topic_find_id(c, &d[i].topic_id);
        int r = 0;

        if (d[i].kind == KL_CONTROLLER_DELETED)
            r = logs_delete_topic(n, &d[i]);
        else if (topic)
            r = logs_ensure_topic(n, topic);
        if (r && r != KL_EFAILED)
            return r;
        /* A failed store makes no logs; the next open does. */
        if (r)
            result = r;
    }
    for (size_t i = 0; i < count; i++)
        logs_trace(n, &d[i]);
    kl_controller_delta_clear(c);
    kl_runtime_broker_look(n);
    return result;
}

int kl_runtime_logs_agree(struct kl_runtime_node *n,
                          struct kl_base_error *error)
{
    const struct kl_controller *c = n->metadata.controller;
    size_t count = kl_controller_topic_count(c);
    struct kl_store_log *log = NULL;

    kl_controller_delta_clear(n->metadata.controller);
    kl_runtime_broker_look(n);
    for (size_t i = 0; i < count; i++) {
        const struct kl_controller_topic *topic = kl_controller_topic_at(c, i);
        int r = logs_ensure_topic(n, topic);

        if (r)
            return kl_base_error_set(error, r, "topic %s: %s", topic->name,
                                     kl_base_error_lookup(r)->text);
    }
    /* Left over from a topic that was deleted just before a crash. */
    while ((log = kl_store_next(n->store, log)) != NULL) {
        if (log == n->metadata.log || logs_is_wanted(n, kl_store_log_id(log)))
            continue;
        if (logs_delete(n, log))
            return kl_base_error_set(error, KL_EIO,
                                     "a log of a deleted topic stays");
    }
    return 0;
}
