/*
 * Open addressing with linear probing. A removed entry leaves a mark, so that
 * what was put behind it is still found; marks go when the table is rebuilt.
 */
#include "base/map.h"

#include "base/hash.h"

#include <kraftlog/error.h>
#include <string.h>

enum { MAP_NEVER = 0, MAP_REMOVED = 1, MAP_CAPACITY_MIN = 8 };

void kl_base_map_init(struct kl_base_map *m, const struct kl_base_alloc *a)
{
    memset(m, 0, sizeof *m);
    m->alloc = a;
}

void kl_base_map_deinit(struct kl_base_map *m)
{
    kl_base_free(m->alloc, m->entries, m->capacity * sizeof *m->entries);
    kl_base_map_init(m, m->alloc);
}

/* The two smallest numbers are marks. */
static uint32_t map_hash(const void *key, size_t key_size)
{
    uint32_t hash = (uint32_t)kl_base_hash(key, key_size, 0);

    return hash <= MAP_REMOVED ? hash + 2 : hash;
}

static int map_matches(const struct kl_base_map_entry *e, uint32_t hash,
                       const void *key, size_t key_size)
{
    return e->hash == hash && e->key_size == key_size &&
           (key_size == 0 || memcmp(e->key, key, key_size) == 0);
}

/* The entry of a key, or NULL. */
static struct kl_base_map_entry *map_find(const struct kl_base_map *m,
                                          const void *key, size_t key_size)
{
    uint32_t hash;
    size_t i;

    if (m->count == 0)
        return NULL;
    hash = map_hash(key, key_size);
    /* There is always an entry that was never used, so this ends. */
    for (i = hash & (m->capacity - 1); m->entries[i].hash != MAP_NEVER;
         i = (i + 1) & (m->capacity - 1)) {
        if (map_matches(&m->entries[i], hash, key, key_size))
            return &m->entries[i];
    }
    return NULL;
}

void *kl_base_map_get(const struct kl_base_map *m, const void *key,
                      size_t key_size)
{
    struct kl_base_map_entry *e = map_find(m, key, key_size);

    return e ? e->value : NULL;
}

/* Puts an entry whose key is absent into a table with room. Returns the state
 * of the place it took. */
static uint32_t map_place(struct kl_base_map_entry *entries, size_t capacity,
                          const struct kl_base_map_entry *entry)
{
    size_t i = entry->hash & (capacity - 1);
    uint32_t before;

    while (entries[i].hash > MAP_REMOVED)
        i = (i + 1) & (capacity - 1);
    before = entries[i].hash;
    entries[i] = *entry;
    return before;
}

/* Makes room for one more: at most three quarters are in use. The new size
 * follows from the live entries, so a table full of marks does not grow. */
static int map_grow(struct kl_base_map *m)
{
    size_t capacity = MAP_CAPACITY_MIN, i;
    struct kl_base_map_entry *entries;

    if (m->used + 1 <= m->capacity / 4 * 3)
        return KL_OK;
    while (m->count + 1 > capacity / 2) {
        if (capacity > SIZE_MAX / 4 / sizeof *entries)
            return KL_ENOMEM;
        capacity *= 2;
    }
    entries = kl_base_calloc(m->alloc, capacity * sizeof *entries);
    if (!entries)
        return KL_ENOMEM;
    for (i = 0; i < m->capacity; i++) {
        if (m->entries[i].hash > MAP_REMOVED)
            map_place(entries, capacity, &m->entries[i]);
    }
    kl_base_free(m->alloc, m->entries, m->capacity * sizeof *entries);
    m->entries = entries;
    m->capacity = capacity;
    m->used = m->count;
    return KL_OK;
}

int kl_base_map_put(struct kl_base_map *m, const void *key, size_t key_size,
                    void *value)
{
    struct kl_base_map_entry entry = {key, (uint32_t)key_size, 0, value};
    struct kl_base_map_entry *found = map_find(m, key, key_size);
    int rc;

    if (found) {
        /* The old key may go with the old value. */
        found->key = key;
        found->value = value;
        return KL_OK;
    }
    rc = map_grow(m);
    if (rc)
        return rc;
    entry.hash = map_hash(key, key_size);
    if (map_place(m->entries, m->capacity, &entry) == MAP_NEVER)
        m->used++;
    m->count++;
    return KL_OK;
}

void *kl_base_map_remove(struct kl_base_map *m, const void *key,
                         size_t key_size)
{
    struct kl_base_map_entry *e = map_find(m, key, key_size);
    void *value;

    if (!e)
        return NULL;
    value = e->value;
    e->hash = MAP_REMOVED;
    e->key = NULL;
    e->value = NULL;
    m->count--;
    return value;
}

void *kl_base_map_next(const struct kl_base_map *m, size_t *pos)
{
    while (*pos < m->capacity) {
        const struct kl_base_map_entry *e = &m->entries[(*pos)++];

        if (e->hash > MAP_REMOVED)
            return e->value;
    }
    return NULL;
}
