/*
 * The records of the metadata log and the control records: their tables, and
 * the header in front of their fields, which both have.
 */
#include "wire/fields.h"

#include <string.h>

#define RECORD_FIELDS(type, number, version, member, text)                     \
    static const struct kl_wire_field record_##member##_fields[] = {           \
        KL_WIRE_##type##_FIELDS(KL_WIRE_FIELD, kl_wire_##member##_record)};

KL_WIRE_RECORDS(RECORD_FIELDS)
KL_WIRE_CONTROLS(RECORD_FIELDS)

#define RECORD_TABLE(type, number, version, member, text)                      \
    KL_WIRE_TABLE(text, record_##member##_fields, kl_wire_##member##_record,   \
                  number, version)
static const struct kl_wire_table record_tables[] = {
    KL_WIRE_RECORDS(RECORD_TABLE)};
static const struct kl_wire_table record_controls[] = {
    KL_WIRE_CONTROLS(RECORD_TABLE)};

enum { RECORD_HEADER = 4 };

/* A family of records: numbers of their own, one header. */
struct kl_wire_family
{
    const char *name;
    const struct kl_wire_table *tables;
    size_t count;
};

static const struct kl_wire_family record_metadata = {
    "metadata record", record_tables,
    sizeof record_tables / sizeof record_tables[0]};
static const struct kl_wire_family record_control = {
    "control record", record_controls,
    sizeof record_controls / sizeof record_controls[0]};

static const struct kl_wire_table *
record_table(const struct kl_wire_family *family, uint16_t type)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->tables[i].number == type)
            return &family->tables[i];
    return NULL;
}

/* The header, and the table of what follows it. */
static int record_decode_header(const struct kl_wire_family *family,
                                const void *data, size_t size, uint16_t *type,
                                uint16_t *version,
                                const struct kl_wire_table **table,
                                struct kl_base_error *e)
{
    struct kl_base_cursor in;

    kl_base_cursor_init(&in, data, size);
    *type = kl_base_cursor_get_le16(&in);
    *version = kl_base_cursor_get_le16(&in);
    if (in.failed)
        return kl_base_error_set(e, KL_ECORRUPT, "%s of %zu bytes",
                                 family->name, size);
    *table = record_table(family, *type);
    if (!*table)
        return kl_base_error_set(e, KL_EFORMAT, "%s of unknown type %u",
                                 family->name, (unsigned)*type);
    if (*version > (*table)->version)
        return kl_base_error_set(
            e, KL_EFORMAT, "%s: version %u, known up to %u", (*table)->name,
            (unsigned)*version, (unsigned)(*table)->version);
    return 0;
}

static int record_encode(const struct kl_wire_family *family, uint16_t type,
                         const void *body, struct kl_base_buf *out,
                         struct kl_base_error *e)
{
    const struct kl_wire_table *t = record_table(family, type);
    uint8_t *p;
    int rc;

    if (!t)
        return kl_base_error_set(e, KL_EINVAL, "%s of unknown type %u",
                                 family->name, (unsigned)type);
    rc = kl_wire_fields_check(t, body, KL_EINVAL, e);
    if (rc)
        return rc;
    p = kl_base_buf_extend(out, RECORD_HEADER + kl_wire_fields_size(t, body));
    if (!p)
        return kl_base_error_set(e, KL_ENOMEM, "%s: out of memory", t->name);
    kl_base_put_le16(p, t->number);
    kl_base_put_le16(p + 2, t->version);
    kl_wire_fields_encode(t, body, p + RECORD_HEADER);
    return 0;
}

static size_t record_size(const struct kl_wire_family *family, uint16_t type,
                          const void *body)
{
    const struct kl_wire_table *t = record_table(family, type);

    return t ? RECORD_HEADER + kl_wire_fields_size(t, body) : 0;
}

static void record_print(const struct kl_wire_family *family, uint16_t type,
                         const void *body, struct kl_base_buf *out)
{
    const struct kl_wire_table *t = record_table(family, type);

    if (!t) {
        kl_base_buf_printf(out, "record type=%u", (unsigned)type);
        return;
    }
    kl_base_buf_append(out, t->name, strlen(t->name));
    kl_wire_fields_print(t, body, out);
}

/* Where a union starts, and with it each of its members. */
#define RECORD_BODY(r, member)                                                 \
    ((uint8_t *)(r) + offsetof(struct kl_wire_##member, RECORD_FIRST_##member))
#define RECORD_FIRST_record topic
#define RECORD_FIRST_control leader_change

/* ---- metadata records -------------------------------------------------- */

int kl_wire_record_decode(struct kl_wire_record *out, const void *data,
                          size_t size, struct kl_base_error *e)
{
    const struct kl_wire_table *t;
    int rc;

    memset(out, 0, sizeof *out);
    rc = record_decode_header(&record_metadata, data, size, &out->type,
                              &out->version, &t, e);
    if (rc)
        return rc;
    return kl_wire_fields_decode(t, (const uint8_t *)data + RECORD_HEADER,
                                 size - RECORD_HEADER, RECORD_BODY(out, record),
                                 NULL, e);
}

int kl_wire_record_encode(const struct kl_wire_record *r,
                          struct kl_base_buf *out, struct kl_base_error *e)
{
    return record_encode(&record_metadata, r->type, RECORD_BODY(r, record), out,
                         e);
}

size_t kl_wire_record_size(const struct kl_wire_record *r)
{
    return record_size(&record_metadata, r->type, RECORD_BODY(r, record));
}

void kl_wire_record_print(const struct kl_wire_record *r,
                          struct kl_base_buf *out)
{
    record_print(&record_metadata, r->type, RECORD_BODY(r, record), out);
}

/* ---- control records --------------------------------------------------- */

int kl_wire_control_decode(struct kl_wire_control *out, const void *data,
                           size_t size, struct kl_base_buf *lists,
                           struct kl_base_error *e)
{
    const struct kl_wire_table *t;
    int rc;

    memset(out, 0, sizeof *out);
    rc = record_decode_header(&record_control, data, size, &out->type,
                              &out->version, &t, e);
    if (rc)
        return rc;
    return kl_wire_fields_decode(t, (const uint8_t *)data + RECORD_HEADER,
                                 size - RECORD_HEADER,
                                 RECORD_BODY(out, control), lists, e);
}

int kl_wire_control_encode(const struct kl_wire_control *r,
                           struct kl_base_buf *out, struct kl_base_error *e)
{
    return record_encode(&record_control, r->type, RECORD_BODY(r, control), out,
                         e);
}

size_t kl_wire_control_size(const struct kl_wire_control *r)
{
    return record_size(&record_control, r->type, RECORD_BODY(r, control));
}

void kl_wire_control_print(const struct kl_wire_control *r,
                           struct kl_base_buf *out)
{
    record_print(&record_control, r->type, RECORD_BODY(r, control), out);
}
