/*
 * The image: topics by name and by id, their partitions and configuration.
 */
#include "controller/state.h"

#include <string.h>

/* Byte-wise order of a stored name and a text of size bytes. */
static int image_compare(const char *name, const char *text, size_t size)
{
    size_t n = strlen(name);
    int order = memcmp(name, text, n < size ? n : size);

    if (order)
        return order;
    return n < size ? -1 : n > size;
}

size_t kl_controller_topic_search(const struct kl_controller *c,
                                  const char *name, size_t size, int *found)
{
    size_t low = 0, high = c->topic_count;

    *found = 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = image_compare(c->topics[mid]->name, name, size);

        if (order == 0) {
            *found = 1;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A topic has few keys that differ from their default. */
size_t kl_controller_config_search(const struct kl_controller_topic *t,
                                   const char *key, size_t size, int *found)
{
    size_t i = 0;
    int order = 1;

    while (i < t->config_count &&
           (order = image_compare(t->configs[i].key, key, size)) < 0)
        i++;
    *found = i < t->config_count && order == 0;
    return i;
}

void kl_controller_config_free(const struct kl_base_alloc *a,
                               struct kl_controller_config *pair)
{
    size_t size = strlen(pair->key) + 1 + strlen(pair->value) + 1;

    kl_base_free(a, (void *)pair->key, size);
}

void kl_controller_topic_free(const struct kl_base_alloc *a,
                              struct kl_controller_topic *t)
{
    for (int32_t i = 0; i < t->partition_count; i++)
        kl_controller_partition_free(a, t->partitions[i]);
    for (uint32_t i = 0; i < t->config_count; i++)
        kl_controller_config_free(a, &t->configs[i]);
    kl_base_free(a, t->partitions,
                 t->partition_capacity * sizeof *t->partitions);
    kl_base_free(a, t->configs, t->config_capacity * sizeof *t->configs);
    kl_base_free(a, (void *)t->name, strlen(t->name) + 1);
    kl_base_free(a, t, sizeof *t);
}

const struct kl_controller_topic *
kl_controller_topic_find(const struct kl_controller *c, const char *name)
{
    int found;
    size_t i = kl_controller_topic_search(c, name, strlen(name), &found);

    return found ? c->topics[i] : NULL;
}

const struct kl_controller_topic *
kl_controller_topic_find_id(const struct kl_controller *c,
                            const struct kl_base_uuid *id)
{
    return kl_base_map_get(&c->by_id, id->bytes, sizeof id->bytes);
}

const struct kl_controller_topic *
kl_controller_topic_at(const struct kl_controller *c, size_t index)
{
    return index < c->topic_count ? c->topics[index] : NULL;
}

size_t kl_controller_topic_count(const struct kl_controller *c)
{
    return c->topic_count;
}

size_t kl_controller_partition_count(const struct kl_controller *c)
{
    return c->partition_count;
}

const struct kl_controller_partition *
kl_controller_partition_at(const struct kl_controller_topic *t, int32_t index)
{
    return index >= 0 && index < t->partition_count ? t->partitions[index]
                                                    : NULL;
}

const char *kl_controller_config_get(const struct kl_controller_topic *t,
                                     const char *key)
{
    int found;
    size_t i = kl_controller_config_search(t, key, strlen(key), &found);

    return found ? t->configs[i].value : NULL;
}

int16_t kl_controller_feature_level(const struct kl_controller *c)
{
    return c->feature_level;
}

uint64_t kl_controller_version(const struct kl_controller *c)
{
    return c->version;
}
