/*
 * The records: their tables, and the header in front of their fields.
 */
#include "wire/fields.h"

#include <string.h>

#define RECORD_FIELDS(type, number, version, member, text)                     \
    static const struct kl_wire_field record_##member##_fields[] = {           \
        KL_WIRE_##type##_FIELDS(KL_WIRE_FIELD, member)};

KL_WIRE_RECORDS(RECORD_FIELDS)

#define RECORD_TABLE(type, number, version, member, text)                      \
    {text, record_##member##_fields,                                           \
     sizeof record_##member##_fields / sizeof record_##member##_fields[0],     \
     number, version},
static const struct kl_wire_table record_tables[] = {
    KL_WIRE_RECORDS(RECORD_TABLE)};

enum {
    RECORD_TABLES = sizeof record_tables / sizeof record_tables[0],
    RECORD_HEADER = 4
};

static const struct kl_wire_table *record_table(uint16_t type)
{
    for (size_t i = 0; i < RECORD_TABLES; i++)
        if (record_tables[i].number == type)
            return &record_tables[i];
    return NULL;
}

/* Where the union starts, and with it each of its members. */
static void *record_body(const struct kl_wire_record *r)
{
    return (uint8_t *)r + offsetof(struct kl_wire_record, topic);
}

int kl_wire_record_decode(struct kl_wire_record *out, const void *data,
                          size_t size, struct kl_base_error *e)
{
    const struct kl_wire_table *t;
    struct kl_base_cursor in;
    int rc;

    kl_base_cursor_init(&in, data, size);
    memset(out, 0, sizeof *out);
    out->type = kl_base_cursor_get_le16(&in);
    out->version = kl_base_cursor_get_le16(&in);
    if (in.failed)
        return kl_base_error_set(e, KL_ECORRUPT, "metadata record of %zu bytes",
                                 size);
    t = record_table(out->type);
    if (!t)
        return kl_base_error_set(e, KL_EFORMAT,
                                 "metadata record of unknown type %u",
                                 (unsigned)out->type);
    if (out->version > t->version)
        return kl_base_error_set(e, KL_EFORMAT,
                                 "%s: version %u, known up to %u", t->name,
                                 (unsigned)out->version, (unsigned)t->version);
    rc = kl_wire_fields_decode(t, &in, record_body(out), e);
    if (rc)
        return rc;
    if (in.pos != in.size)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "%s: %zu bytes behind the last field", t->name,
                                 in.size - in.pos);
    return 0;
}

size_t kl_wire_record_size(const struct kl_wire_record *r)
{
    const struct kl_wire_table *t = record_table(r->type);

    return t ? RECORD_HEADER + kl_wire_fields_size(t, record_body(r)) : 0;
}

int kl_wire_record_encode(const struct kl_wire_record *r,
                          struct kl_base_buf *out, struct kl_base_error *e)
{
    const struct kl_wire_table *t = record_table(r->type);
    uint8_t *p;
    int rc;

    if (!t)
        return kl_base_error_set(e, KL_EINVAL,
                                 "metadata record of unknown type %u",
                                 (unsigned)r->type);
    rc = kl_wire_fields_check(t, record_body(r), KL_EINVAL, e);
    if (rc)
        return rc;
    p = kl_base_buf_extend(out, RECORD_HEADER +
                                    kl_wire_fields_size(t, record_body(r)));
    if (!p)
        return kl_base_error_set(e, KL_ENOMEM, "%s: out of memory", t->name);
    kl_base_put_le16(p, t->number);
    kl_base_put_le16(p + 2, t->version);
    kl_wire_fields_encode(t, record_body(r), p + RECORD_HEADER);
    return 0;
}

void kl_wire_record_print(const struct kl_wire_record *r,
                          struct kl_base_buf *out)
{
    const struct kl_wire_table *t = record_table(r->type);

    if (!t) {
        kl_base_buf_printf(out, "record type=%u", (unsigned)r->type);
        return;
    }
    kl_base_buf_append(out, t->name, strlen(t->name));
    kl_wire_fields_print(t, record_body(r), out);
}
