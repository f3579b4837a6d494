/*
 * A hash map from byte keys to pointers, open addressing, insertion order is
 * not kept. The key bytes belong to the value and must outlive the entry.
 */
#ifndef KL_BASE_MAP_H
#define KL_BASE_MAP_H

#include "base/alloc.h"

#include <stdint.h>

struct kl_base_map_entry
{
    const void *key;
    uint32_t key_size;
    uint32_t hash; /* 0 = never used, 1 = removed */
    void *value;
};

struct kl_base_map
{
    const struct kl_base_alloc *alloc;
    struct kl_base_map_entry *entries;
    size_t capacity; /* power of two, or 0 */
    size_t count;
    size_t used; /* count and removed */
};

void kl_base_map_init(struct kl_base_map *m, const struct kl_base_alloc *a);
void kl_base_map_deinit(struct kl_base_map *m);
/* NULL where the key is absent. */
void *kl_base_map_get(const struct kl_base_map *m, const void *key,
                      size_t key_size);
/* Adds or replaces. 0 or KL_ENOMEM. */
int kl_base_map_put(struct kl_base_map *m, const void *key, size_t key_size,
                    void *value);
/* Returns the removed value or NULL. */
void *kl_base_map_remove(struct kl_base_map *m, const void *key,
                         size_t key_size);
/* Iterates: start with *pos = 0; NULL at the end. Not while changing. */
void *kl_base_map_next(const struct kl_base_map *m, size_t *pos);

#endif
