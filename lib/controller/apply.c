/*
 * Committed records change the image, one function per record type. Each checks
 * and reserves everything before its first change.
 */
#include "controller/state.h"

#include <string.h>

int kl_controller_apply_no_memory(struct kl_base_error *e)
{
    return kl_base_error_set(e, KL_ENOMEM, "metadata image: out of memory");
}

/* ---- TopicRecord ------------------------------------------------------- */

static int apply_topic_check(const struct kl_controller *c,
                             const struct kl_wire_topic_record *r,
                             struct kl_base_error *e)
{
    int found, rc;

    rc = kl_controller_topic_name_check(r->name.data, r->name.size, e);
    if (rc) {
        if (e)
            e->code = KL_ECORRUPT;
        return KL_ECORRUPT;
    }
    kl_controller_topic_search(c, r->name.data, r->name.size, &found);
    if (found)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "TopicRecord: topic %.*s exists",
                                 (int)r->name.size, r->name.data);
    if (kl_controller_topic_find_id(c, &r->topic_id))
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "TopicRecord: the id of topic %.*s is taken",
                                 (int)r->name.size, r->name.data);
    return 0;
}

/* Everything that can fail, so that inserting cannot. */
static struct kl_controller_topic *
apply_topic_prepare(struct kl_controller *c,
                    const struct kl_wire_topic_record *r)
{
    const struct kl_base_alloc *a = c->alloc;
    struct kl_controller_topic *t;

    if (kl_controller_delta_reserve(c) ||
        kl_base_reserve(a, (void **)&c->topics, &c->topic_capacity,
                        c->topic_count + 1, sizeof *c->topics))
        return NULL;
    t = kl_base_calloc(a, sizeof *t);
    if (!t)
        return NULL;
    t->id = r->topic_id;
    t->name = kl_base_strndup(a, r->name.data, r->name.size);
    if (!t->name) {
        kl_base_free(a, t, sizeof *t);
        return NULL;
    }
    if (kl_base_map_put(&c->by_id, t->id.bytes, sizeof t->id.bytes, t)) {
        kl_controller_topic_free(a, t);
        return NULL;
    }
    return t;
}

static int apply_topic(struct kl_controller *c,
                       const struct kl_wire_topic_record *r,
                       struct kl_base_error *e)
{
    struct kl_controller_topic *t;
    int found, rc = apply_topic_check(c, r, e);
    size_t i;

    if (rc)
        return rc;
    t = apply_topic_prepare(c, r);
    if (!t)
        return kl_controller_apply_no_memory(e);
    i = kl_controller_topic_search(c, r->name.data, r->name.size, &found);
    memmove(&c->topics[i + 1], &c->topics[i],
            (c->topic_count - i) * sizeof *c->topics);
    c->topics[i] = t;
    c->topic_count++;
    kl_controller_delta_add(c, KL_CONTROLLER_CREATED, t, 0, 0);
    return 0;
}

/* ---- RemoveTopicRecord ------------------------------------------------- */

static int apply_remove_topic(struct kl_controller *c,
                              const struct kl_wire_remove_topic_record *r,
                              struct kl_base_error *e)
{
    struct kl_controller_topic *t =
        kl_base_map_get(&c->by_id, r->topic_id.bytes, sizeof r->topic_id.bytes);
    int found;
    size_t i;

    if (!t)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "RemoveTopicRecord: no topic has this id");
    if (kl_controller_delta_reserve(c))
        return kl_controller_apply_no_memory(e);
    i = kl_controller_topic_search(c, t->name, strlen(t->name), &found);
    KL_ASSERT(found);
    kl_base_map_remove(&c->by_id, t->id.bytes, sizeof t->id.bytes);
    c->topic_count--;
    memmove(&c->topics[i], &c->topics[i + 1],
            (c->topic_count - i) * sizeof *c->topics);
    c->partition_count -= (size_t)t->partition_count;
    kl_controller_delta_add(c, KL_CONTROLLER_DELETED, t, 0, t->partition_count);
    kl_controller_topic_free(c->alloc, t);
    return 0;
}

/* ---- PartitionRecord --------------------------------------------------- */

/* A partition is the next one of its topic, or changes to a later state. */
static int apply_partition_check(const struct kl_controller_topic *t,
                                 const struct kl_wire_partition_record *r,
                                 struct kl_base_error *e)
{
    const struct kl_controller_partition *old =
        kl_controller_partition_at(t, r->partition);

    if (!old && r->partition != t->partition_count)
        return kl_base_error_set(
            e, KL_ECORRUPT,
            "PartitionRecord: topic %s has %ld partitions, "
            "%ld is not the next",
            t->name, (long)t->partition_count, (long)r->partition);
    if (old && (r->partition_epoch <= old->partition_epoch ||
                r->leader_epoch < old->leader_epoch))
        return kl_base_error_set(
            e, KL_ECORRUPT,
            "PartitionRecord: topic %s partition %ld: epochs %ld and %ld "
            "behind %ld and %ld",
            t->name, (long)r->partition, (long)r->partition_epoch,
            (long)r->leader_epoch, (long)old->partition_epoch,
            (long)old->leader_epoch);
    return 0;
}

/* The new state with room for it, or NULL. */
static struct kl_controller_partition *
apply_partition_prepare(struct kl_controller *c, struct kl_controller_topic *t,
                        const struct kl_wire_partition_record *r,
                        struct kl_base_error *e)
{
    struct kl_controller_partition *p = NULL;
    const char *broken;

    if (kl_controller_delta_reserve(c) == 0 &&
        kl_base_reserve(c->alloc, (void **)&t->partitions,
                        &t->partition_capacity, (size_t)r->partition + 1,
                        sizeof *t->partitions) == 0)
        p = kl_controller_partition_new(c->alloc, r);
    if (!p) {
        kl_controller_apply_no_memory(e);
        return NULL;
    }
    broken = kl_controller_partition_check(p);
    if (!broken)
        return p;
    kl_controller_partition_free(c->alloc, p);
    kl_base_error_set(e, KL_ECORRUPT,
                      "PartitionRecord: topic %s partition %ld: %s", t->name,
                      (long)r->partition, broken);
    return NULL;
}

static int apply_partition(struct kl_controller *c,
                           const struct kl_wire_partition_record *r,
                           struct kl_base_error *e)
{
    struct kl_controller_topic *t =
        kl_base_map_get(&c->by_id, r->topic_id.bytes, sizeof r->topic_id.bytes);
    struct kl_controller_partition *p;
    struct kl_base_error reason;
    int grows, rc;

    if (!t)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "PartitionRecord: no topic has this id");
    rc = apply_partition_check(t, r, e);
    if (rc)
        return rc;
    p = apply_partition_prepare(c, t, r, &reason);
    if (!p)
        return kl_base_error_set(e, reason.code, "%s", reason.text);
    grows = r->partition == t->partition_count;
    if (grows) {
        t->partition_count++;
        c->partition_count++;
    } else {
        kl_controller_partition_free(c->alloc, t->partitions[r->partition]);
    }
    t->partitions[r->partition] = p;
    kl_controller_delta_add(c,
                            grows ? KL_CONTROLLER_GREW : KL_CONTROLLER_CHANGED,
                            t, r->partition, r->partition + 1);
    return 0;
}

/* ---- ConfigRecord ------------------------------------------------------ */

static int apply_config_remove(struct kl_controller *c,
                               struct kl_controller_topic *t,
                               const struct kl_wire_config_record *r,
                               struct kl_base_error *e)
{
    int found;
    size_t i = kl_controller_config_search(t, r->key.data, r->key.size, &found);

    if (!found || r->value.size)
        return kl_base_error_set(
            e, KL_ECORRUPT, "ConfigRecord: topic %s: removal of a key that %s",
            t->name, found ? "carries a value" : "is not set");
    if (kl_controller_delta_reserve(c))
        return kl_controller_apply_no_memory(e);
    kl_controller_config_free(c->alloc, &t->configs[i]);
    t->config_count--;
    memmove(&t->configs[i], &t->configs[i + 1],
            (t->config_count - i) * sizeof *t->configs);
    return 0;
}

/* Key and value share one block, which the key starts. */
static int apply_config_pair(const struct kl_base_alloc *a,
                             const struct kl_wire_config_record *r,
                             struct kl_controller_config *out)
{
    size_t key = r->key.size, value = r->value.size;
    char *block = kl_base_malloc(a, key + 1 + value + 1);

    if (!block)
        return KL_ENOMEM;
    memcpy(block, r->key.data, key);
    block[key] = '\0';
    memcpy(block + key + 1, r->value.data, value);
    block[key + 1 + value] = '\0';
    out->key = block;
    out->value = block + key + 1;
    return 0;
}

static int apply_config_set(struct kl_controller *c,
                            struct kl_controller_topic *t,
                            const struct kl_wire_config_record *r,
                            struct kl_base_error *e)
{
    struct kl_controller_config pair;
    int found;
    size_t i = kl_controller_config_search(t, r->key.data, r->key.size, &found);

    if (kl_controller_delta_reserve(c) ||
        kl_base_reserve(c->alloc, (void **)&t->configs, &t->config_capacity,
                        (size_t)t->config_count + !found, sizeof *t->configs) ||
        apply_config_pair(c->alloc, r, &pair))
        return kl_controller_apply_no_memory(e);
    if (found) {
        kl_controller_config_free(c->alloc, &t->configs[i]);
    } else {
        memmove(&t->configs[i + 1], &t->configs[i],
                (t->config_count - i) * sizeof *t->configs);
        t->config_count++;
    }
    t->configs[i] = pair;
    return 0;
}

static int apply_config(struct kl_controller *c,
                        const struct kl_wire_config_record *r,
                        struct kl_base_error *e)
{
    const struct kl_wire_text *name = &r->resource_name;
    struct kl_controller_topic *t;
    int found, rc;
    size_t i;

    if (r->resource_type != KL_WIRE_RESOURCE_TOPIC)
        return kl_base_error_set(e, KL_EFORMAT,
                                 "ConfigRecord: unknown resource type %d",
                                 (int)r->resource_type);
    i = kl_controller_topic_search(c, name->data, name->size, &found);
    if (!found)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "ConfigRecord: the topic does not exist");
    t = c->topics[i];
    rc = r->removed ? apply_config_remove(c, t, r, e)
                    : apply_config_set(c, t, r, e);
    if (rc == 0)
        kl_controller_delta_add(c, KL_CONTROLLER_CONFIGURED, t, 0, 0);
    return rc;
}

/* ---- FeatureLevelRecord ------------------------------------------------ */

/* A feature or level that this code does not know may change the meaning of
 * everything behind it: refused, so that an old node never guesses. */
static int apply_feature_level(struct kl_controller *c,
                               const struct kl_wire_feature_level_record *r,
                               struct kl_base_error *e)
{
    static const char known[] = KL_CONTROLLER_FEATURE;

    if (r->name.size != sizeof known - 1 ||
        memcmp(r->name.data, known, sizeof known - 1) != 0)
        return kl_base_error_set(e, KL_EFORMAT,
                                 "FeatureLevelRecord: unknown feature");
    if (r->level > c->options.feature_level_max)
        return kl_base_error_set(
            e, KL_EFORMAT, "FeatureLevelRecord: %s %d, known up to %d", known,
            (int)r->level, (int)c->options.feature_level_max);
    if (r->level <= c->feature_level)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "FeatureLevelRecord: %s %d behind %d", known,
                                 (int)r->level, (int)c->feature_level);
    c->feature_level = r->level;
    return 0;
}

/* ---- dispatch ---------------------------------------------------------- */

static int apply_record(struct kl_controller *c, const struct kl_wire_record *r,
                        struct kl_base_error *e)
{
    switch ((enum kl_wire_record_type)r->type) {
    case KL_WIRE_TOPIC_RECORD:
        return apply_topic(c, &r->topic, e);
    case KL_WIRE_PARTITION_RECORD:
        return apply_partition(c, &r->partition, e);
    case KL_WIRE_CONFIG_RECORD:
        return apply_config(c, &r->config, e);
    case KL_WIRE_REMOVE_TOPIC_RECORD:
        return apply_remove_topic(c, &r->remove_topic, e);
    case KL_WIRE_FEATURE_LEVEL_RECORD:
        return apply_feature_level(c, &r->feature_level, e);
    case KL_WIRE_REGISTER_BROKER_RECORD:
        return kl_controller_apply_register(c, &r->register_broker, e);
    case KL_WIRE_UNREGISTER_BROKER_RECORD:
        return kl_controller_apply_unregister(c, &r->unregister_broker, e);
    case KL_WIRE_BROKER_CHANGE_RECORD:
        return kl_controller_apply_broker_change(c, &r->broker_change, e);
    case KL_WIRE_PRODUCER_IDS_RECORD:
        return kl_controller_apply_producer_ids(c, &r->producer_ids, e);
    }
    KL_UNREACHABLE();
}

int kl_controller_apply(struct kl_controller *c, const void *data, size_t size,
                        struct kl_base_error *e)
{
    struct kl_wire_record r;
    int rc = kl_wire_record_decode(&r, data, size, e);

    if (rc == 0)
        rc = apply_record(c, &r, e);
    if (rc == 0)
        c->version++;
    return rc;
}
