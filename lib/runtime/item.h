/*
 * One line of a report: a type and fields that have names, and the same as a
 * line of text and as JSON. Filled in one go, then only read.
 */
#ifndef KL_RUNTIME_ITEM_H
#define KL_RUNTIME_ITEM_H

#include "base/buf.h"
#include "base/uuid.h"

enum { KL_RUNTIME_ITEM_FIELDS = 24 };

struct kl_runtime_field
{
    const char *key; /* static */
    int is_text;
    int is_null;
    int64_t value;
    size_t at; /* in data */
    size_t size;
};

struct kl_runtime_item
{
    const char *type; /* static */
    struct kl_runtime_field fields[KL_RUNTIME_ITEM_FIELDS];
    size_t count;
    struct kl_base_buf data; /* texts, each terminated */
    struct kl_base_buf line; /* terminated */
    struct kl_base_buf json; /* terminated */
};

void kl_runtime_item_init(struct kl_runtime_item *item,
                          const struct kl_base_alloc *alloc);
void kl_runtime_item_deinit(struct kl_runtime_item *item);

/* Empties the item and gives it a type; fields are added in their order. */
void kl_runtime_item_begin(struct kl_runtime_item *item, const char *type);
void kl_runtime_item_put(struct kl_runtime_item *item, const char *key,
                         int64_t value);
void kl_runtime_item_text(struct kl_runtime_item *item, const char *key,
                          const char *text);
void kl_runtime_item_id(struct kl_runtime_item *item, const char *key,
                        const struct kl_base_uuid *id);
/* data NULL = null. */
void kl_runtime_item_bytes(struct kl_runtime_item *item, const char *key,
                           const void *data, size_t size);
/* Writes line and JSON; 0 or KL_ENOMEM. The line is the field "text" where the
 * item has one, else its type and all its fields. */
int kl_runtime_item_end(struct kl_runtime_item *item);

/* NULL where the item has no such field. */
const struct kl_runtime_field *
kl_runtime_item_find(const struct kl_runtime_item *item, const char *key);

#endif
