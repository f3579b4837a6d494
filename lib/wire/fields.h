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
    KL_WIRE_I32S,
    KL_WIRE_TEXTS
};

struct kl_wire_field
{
    const char *name;
    int64_t min;
    int64_t max;
    uint16_t offset; /* in the struct */
    uint16_t kind;
};

struct kl_wire_table
{
    const char *name; /* of the record */
    const struct kl_wire_field *fields;
    uint16_t count;
    uint16_t number;
    uint16_t version;
};

/* One field of the table of struct kl_wire_<record>_record. */
#define KL_WIRE_FIELD(record, kind, name, min, max)                            \
    {#name, min, max,                                                          \
     (uint16_t)offsetof(struct kl_wire_##record##_record, name),               \
     KL_WIRE_##kind},

/* 0, or code with a text that names record and field. */
int kl_wire_fields_check(const struct kl_wire_table *t, const void *record,
                         int code, struct kl_base_error *e);
/* Bytes of all fields. */
size_t kl_wire_fields_size(const struct kl_wire_table *t, const void *record);
/* Writes exactly that many bytes. */
void kl_wire_fields_encode(const struct kl_wire_table *t, const void *record,
                           uint8_t *out);
/* Reads and checks all fields. 0 or KL_ECORRUPT. */
int kl_wire_fields_decode(const struct kl_wire_table *t,
                          struct kl_base_cursor *in, void *record,
                          struct kl_base_error *e);
/* Appends " name=value" for each field. */
void kl_wire_fields_print(const struct kl_wire_table *t, const void *record,
                          struct kl_base_buf *out);

#endif
