/*
 * Topics as JSON, for people and for programs in other languages.
 */
#include "runtime/state.h"

#include <string.h>

static void describe_text(struct kl_base_buf *out, const char *text)
{
    kl_base_buf_json(out, text, strlen(text));
}

static void describe_id(struct kl_base_buf *out, const struct kl_base_uuid *id)
{
    char text[KL_BASE_UUID_TEXT + 1];

    kl_base_uuid_format(id, text);
    kl_base_buf_printf(out, "\"id\":\"%s\"", text);
}

void kl_runtime_describe_topics(const struct kl_runtime_node *n,
                                struct kl_base_buf *out)
{
    const struct kl_controller *c = n->metadata.controller;
    size_t count = kl_controller_topic_count(c);

    kl_base_buf_printf(out, "{\"topics\":[");
    for (size_t i = 0; i < count; i++) {
        const struct kl_controller_topic *t = kl_controller_topic_at(c, i);

        kl_base_buf_printf(out, "%s{\"name\":", i ? "," : "");
        describe_text(out, t->name);
        kl_base_buf_printf(out, ",");
        describe_id(out, &t->id);
        kl_base_buf_printf(out, ",\"partitions\":%d}", (int)t->partition_count);
    }
    kl_base_buf_printf(out, "]}");
}

/* A value as JSON: numbers bare, words in quotes. */
static void describe_value(struct kl_base_buf *out,
                           const struct kl_base_config *config, size_t key)
{
    char text[KL_BASE_CONFIG_TEXT];

    kl_base_config_format(config, key, text);
    if (kl_base_config_row(key)->type == KL_CONFIG_ENUM ||
        kl_base_config_row(key)->type == KL_CONFIG_TEXT)
        describe_text(out, text);
    else
        kl_base_buf_printf(out, "%s", text);
}

static void describe_config(const struct kl_controller_topic *topic,
                            struct kl_base_buf *out)
{
    struct kl_base_config config;
    const char *comma = "";

    kl_runtime_topic_config(topic, &config);
    kl_base_buf_printf(out, "\"config\":{");
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        if (kl_base_config_row(i)->scope != KL_CONFIG_TOPIC)
            continue;
        kl_base_buf_printf(out, "%s\"%s\":", comma,
                           kl_base_config_row(i)->name);
        describe_value(out, &config, i);
        comma = ",";
    }
    kl_base_buf_printf(out, "},\"config_set\":[");
    for (uint32_t i = 0; i < topic->config_count; i++) {
        kl_base_buf_printf(out, "%s", i ? "," : "");
        describe_text(out, topic->configs[i].key);
    }
    kl_base_buf_printf(out, "]");
}

static void describe_ids(const struct kl_controller_partition *p,
                         enum kl_controller_list list, const char *name,
                         struct kl_base_buf *out)
{
    size_t count;
    const int32_t *ids = kl_controller_partition_list(p, list, &count);

    kl_base_buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        kl_base_buf_printf(out, "%s%d", i ? "," : "", (int)ids[i]);
    kl_base_buf_printf(out, "]");
}

static void describe_damage(const struct kl_store_log *log,
                            struct kl_base_buf *out)
{
    struct kl_store_range range;
    size_t count = kl_store_log_damage(log, 0, NULL);

    kl_base_buf_printf(out, ",\"damage\":[");
    for (size_t i = 0; i < count; i++) {
        kl_store_log_damage(log, i, &range);
        kl_base_buf_printf(out, "%s{\"from\":%lld,\"to\":%lld}", i ? "," : "",
                           (long long)range.from, (long long)range.to);
    }
    kl_base_buf_printf(out, "]");
}

static void describe_partition(const struct kl_runtime_node *n,
                               const struct kl_controller_topic *topic,
                               int32_t index, struct kl_base_buf *out)
{
    const struct kl_controller_partition *p =
        kl_controller_partition_at(topic, index);
    struct kl_store_id id = {topic->id, index};
    struct kl_store_log *log = kl_store_find(n->store, &id);
    struct kl_store_view view = {0};

    if (log)
        kl_store_log_view(log, &view);
    kl_base_buf_printf(out, "%s{\"partition\":%d,\"leader\":%d,\"epoch\":%d",
                       index ? "," : "", (int)index, (int)p->leader,
                       (int)p->leader_epoch);
    describe_ids(p, KL_CONTROLLER_REPLICAS, "replicas", out);
    describe_ids(p, KL_CONTROLLER_ISR, "isr", out);
    kl_base_buf_printf(out, ",\"start\":%lld,\"end\":%lld,\"size\":%llu",
                       (long long)view.start, (long long)view.durable_leo,
                       (unsigned long long)view.size);
    kl_base_buf_printf(out, ",\"suspect\":%s",
                       view.is_suspect ? "true" : "false");
    if (log)
        describe_damage(log, out);
    kl_base_buf_printf(out, "}");
}

void kl_runtime_describe_topic(const struct kl_runtime_node *n,
                               const struct kl_controller_topic *topic,
                               struct kl_base_buf *out)
{
    size_t replicas = 0;

    (void)kl_controller_partition_list(kl_controller_partition_at(topic, 0),
                                       KL_CONTROLLER_REPLICAS, &replicas);
    kl_base_buf_printf(out, "{\"name\":");
    describe_text(out, topic->name);
    kl_base_buf_printf(out, ",");
    describe_id(out, &topic->id);
    kl_base_buf_printf(out, ",\"replication\":%zu,", replicas);
    describe_config(topic, out);
    kl_base_buf_printf(out, ",\"partitions\":[");
    for (int32_t i = 0; i < topic->partition_count; i++)
        describe_partition(n, topic, i, out);
    kl_base_buf_printf(out, "]}");
}
