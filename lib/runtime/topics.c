/*
 * What clients know of topics: immutable snapshots that the owner publishes
 * and any thread may look up. A snapshot outlives its topic until its last
 * reader lets go of it.
 */
#include "runtime/state.h"

#include <string.h>

struct kl_runtime_topic_entry
{
    struct kl_runtime_topic topic;
    atomic_uint refs;
    size_t size;
    char name[];
};

static struct kl_runtime_topic_entry *
topic_entry(const struct kl_runtime_topic *t)
{
    return KL_BASE_CONTAINER(t, struct kl_runtime_topic_entry, topic);
}

void kl_runtime_topic_unref(struct kl_runtime_node *n,
                            const struct kl_runtime_topic *t)
{
    struct kl_runtime_topic_entry *e;

    if (!t)
        return;
    e = topic_entry(t);
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
        kl_base_free(&n->alloc, e, e->size);
}

const struct kl_runtime_topic *kl_runtime_topic_get(struct kl_runtime_node *n,
                                                    const char *name)
{
    struct kl_runtime_topic_entry *e;

    kl_os_mutex_lock(&n->topics_mutex);
    e = kl_base_map_get(&n->topics, name, strlen(name));
    if (e)
        atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    kl_os_mutex_unlock(&n->topics_mutex);
    return e ? &e->topic : NULL;
}

uint64_t kl_runtime_topic_version(const struct kl_runtime_node *n)
{
    return atomic_load_explicit((atomic_uint_least64_t *)&n->topics_version,
                                memory_order_relaxed);
}

/* Under topics_mutex. */
static void topic_changed(struct kl_runtime_node *n)
{
    atomic_fetch_add(&n->topics_version, 1);
    kl_base_stat_set(&n->stats.topics, n->topics.count);
    kl_runtime_notify(n);
}

int kl_runtime_topic_publish(struct kl_runtime_node *n,
                             const struct kl_controller_topic *topic)
{
    size_t name_size = strlen(topic->name);
    size_t size = sizeof(struct kl_runtime_topic_entry) + name_size + 1;
    struct kl_runtime_topic_entry *e = kl_base_malloc(&n->alloc, size);
    struct kl_runtime_topic_entry *old;
    int r;

    if (!e)
        return KL_ENOMEM;
    memcpy(e->name, topic->name, name_size + 1);
    e->size = size;
    atomic_init(&e->refs, 1);
    e->topic.id = topic->id;
    e->topic.partition_count = topic->partition_count;
    e->topic.batch_max = kl_runtime_topic_batch_max(n, topic);
    e->topic.name = e->name;
    kl_os_mutex_lock(&n->topics_mutex);
    old = kl_base_map_remove(&n->topics, e->name, name_size);
    /* There is room where one was taken out. */
    r = kl_base_map_put(&n->topics, e->name, name_size, e);
    KL_ASSERT(r == 0 || !old);
    topic_changed(n);
    kl_os_mutex_unlock(&n->topics_mutex);
    if (old)
        kl_runtime_topic_unref(n, &old->topic);
    if (r)
        kl_runtime_topic_unref(n, &e->topic);
    return r;
}

static struct kl_runtime_topic_entry *
topic_find_id(struct kl_runtime_node *n, const struct kl_base_uuid *id)
{
    struct kl_runtime_topic_entry *e;
    size_t pos = 0;

    while ((e = kl_base_map_next(&n->topics, &pos))) {
        if (kl_base_uuid_equal(&e->topic.id, id))
            return e;
    }
    return NULL;
}

void kl_runtime_topic_withdraw(struct kl_runtime_node *n,
                               const struct kl_base_uuid *id)
{
    struct kl_runtime_topic_entry *e;

    kl_os_mutex_lock(&n->topics_mutex);
    e = topic_find_id(n, id);
    if (e) {
        kl_base_map_remove(&n->topics, e->name, strlen(e->name));
        topic_changed(n);
    }
    kl_os_mutex_unlock(&n->topics_mutex);
    if (e)
        kl_runtime_topic_unref(n, &e->topic);
}

/* Under topics_mutex: takes out what the image does not have, one; NULL where
 * there is none. */
static struct kl_runtime_topic_entry *
topic_remove_old(struct kl_runtime_node *n)
{
    struct kl_runtime_topic_entry *e;
    size_t pos = 0;

    while ((e = kl_base_map_next(&n->topics, &pos))) {
        if (kl_controller_topic_find_id(n->metadata.controller, &e->topic.id))
            continue;
        kl_base_map_remove(&n->topics, e->name, strlen(e->name));
        topic_changed(n);
        return e;
    }
    return NULL;
}

void kl_runtime_topics_agree(struct kl_runtime_node *n)
{
    struct kl_runtime_topic_entry *e;

    do {
        kl_os_mutex_lock(&n->topics_mutex);
        e = topic_remove_old(n);
        kl_os_mutex_unlock(&n->topics_mutex);
        if (e)
            kl_runtime_topic_unref(n, &e->topic);
    } while (e);
}

void kl_runtime_topics_clear(struct kl_runtime_node *n)
{
    struct kl_runtime_topic_entry *e;
    size_t pos = 0;

    kl_os_mutex_lock(&n->topics_mutex);
    while ((e = kl_base_map_next(&n->topics, &pos)))
        kl_runtime_topic_unref(n, &e->topic);
    kl_base_map_deinit(&n->topics);
    kl_base_map_init(&n->topics, &n->alloc);
    topic_changed(n);
    kl_os_mutex_unlock(&n->topics_mutex);
}
