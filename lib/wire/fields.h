/*
 * The codec behind the schema: it walks a table of fields and knows no record.
 */
#ifndef KL_WIRE_FIELDS_H
#define KL_WIRE_FIELDS_H

#include "base/cursor.h"
#include "wire/wire.h"

enum kl_wire_kind {
    KL_WIRE_I8,
    KL_WIRE_I16,
    KL_WIRE_I32,
    KL_WIRE_I64,
    KL_WIRE_UUID,
    KL_WIRE_TEXT,
    KL_WIRE_BYTES,
    KL_WIRE_I32S,
    KL_WIRE_TEXTS,
    KL_WIRE_LIST
};

struct kl_wire_field
{
    const char *name;
    int64_t min;
    int64_t max;
    const struct kl_wire_table *item; /* of a list */
    uint16_t offset;                  /* in the struct */
    uint16_t kind;
};

struct kl_wire_table
{
    const char *name; /* of the record */
    const struct kl_wire_field *fields;
    uint16_t count;
    uint16_t size; /* of the struct */
    uint16_t number;
    uint16_t version;
};

/* One field of the table of struct record. */
#define KL_WIRE_FIELD(record, kind, ...)                                       \
    KL_WIRE_FIELD_##kind(record, kind, __VA_ARGS__)
#define KL_WIRE_FIELD_PLAIN(record, kind, name, min, max)                      \
    {#name,         min, max, NULL, (uint16_t)offsetof(struct record, name),   \
     KL_WIRE_##kind},
#define KL_WIRE_FIELD_I8 KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_I16 KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_I32 KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_I64 KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_UUID KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_TEXT KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_BYTES KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_I32S KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_TEXTS KL_WIRE_FIELD_PLAIN
#define KL_WIRE_FIELD_LIST(record, kind, name, min, max, member)               \
    {#name,                                                                    \
     min,                                                                      \
     max,                                                                      \
     &kl_wire_items[KL_WIRE_ITEM_##member],                                    \
     (uint16_t)offsetof(struct record, name),                                  \
     KL_WIRE_LIST},

/* The table of struct record, whose fields are in the array fields. */
#define KL_WIRE_TABLE(text, array, record, number, version)                    \
    {text,                                                                     \
     array,                                                                    \
     sizeof array / sizeof array[0],                                           \
     (uint16_t)sizeof(struct record),                                          \
     number,                                                                   \
     version},

/* The tables of what lists are made of. */
#define KL_WIRE_ITEM_INDEX(type, member, text) KL_WIRE_ITEM_##member,
enum {
    KL_WIRE_RECORD_ITEMS(KL_WIRE_ITEM_INDEX)
        KL_WIRE_MESSAGE_ITEMS(KL_WIRE_ITEM_INDEX) KL_WIRE_ITEM_COUNT
};
extern const struct kl_wire_table kl_wire_items[KL_WIRE_ITEM_COUNT];

/* 0, or code with a text that names record and field. */
int kl_wire_fields_check(const struct kl_wire_table *t, const void *record,
                         int code, struct kl_base_error *e);
/* Bytes of all fields. */
size_t kl_wire_fields_size(const struct kl_wire_table *t, const void *record);
/* Writes exactly that many bytes and returns the position behind them. */
uint8_t *kl_wire_fields_encode(const struct kl_wire_table *t,
                               const void *record, uint8_t *out);
/* Reads and checks all fields, which must be all of the input. The items of
 * lists are put into lists, whose content they replace; it may be NULL for a
 * table without lists. 0, KL_ECORRUPT, KL_ENOMEM. */
int kl_wire_fields_decode(const struct kl_wire_table *t, const void *data,
                          size_t size, void *record, struct kl_base_buf *lists,
                          struct kl_base_error *e);
/* Appends " name=value" for each field. */
void kl_wire_fields_print(const struct kl_wire_table *t, const void *record,
                          struct kl_base_buf *out);

/* ---- message.c --------------------------------------------------------- */

/* The table of a request or response; NULL where there is none. */
const struct kl_wire_table *kl_wire_message_table(int16_t api_key,
                                                  int is_response);
/* Iterates over all of them: requests at even indexes, each before its
 * response; NULL at the end. */
const struct kl_wire_table *kl_wire_message_table_at(size_t index);

#endif
