/*
 * Messages: prefix, envelope and body. The layout is in wire/messages.h.
 */
#include "wire/fields.h"

#include "base/hash.h"

#include <string.h>

/* "KLM" and the version of the envelope. */
#define MESSAGE_MAGIC UINT32_C(0x014d4c4b)

static const struct kl_wire_field message_envelope_fields[] = {
    KL_WIRE_ENVELOPE_FIELDS(KL_WIRE_FIELD, kl_wire_envelope)};
static const struct kl_wire_table message_envelope[] = {
    KL_WIRE_TABLE("Envelope", message_envelope_fields, kl_wire_envelope, 0, 0)};

#define MESSAGE_FIELDS(api, key, version, member, text)                        \
    static const struct kl_wire_field message_##member##_request[] = {         \
        KL_WIRE_##api##_REQUEST_FIELDS(KL_WIRE_FIELD,                          \
                                       kl_wire_##member##_request)};           \
    static const struct kl_wire_field message_##member##_response[] = {        \
        KL_WIRE_##api##_RESPONSE_FIELDS(KL_WIRE_FIELD,                         \
                                        kl_wire_##member##_response)};

KL_WIRE_MESSAGES(MESSAGE_FIELDS)

/* Requests at even indexes, each before its response. */
#define MESSAGE_TABLE(api, key, version, member, text)                         \
    KL_WIRE_TABLE(text "Request", message_##member##_request,                  \
                  kl_wire_##member##_request, key, version)                    \
    KL_WIRE_TABLE(text "Response", message_##member##_response,                \
                  kl_wire_##member##_response, key, version)
static const struct kl_wire_table message_tables[] = {
    KL_WIRE_MESSAGES(MESSAGE_TABLE)};

enum { MESSAGE_TABLES = sizeof message_tables / sizeof message_tables[0] };

const struct kl_wire_table *kl_wire_message_table_at(size_t index)
{
    return index < MESSAGE_TABLES ? &message_tables[index] : NULL;
}

const struct kl_wire_table *kl_wire_message_table(int16_t api_key,
                                                  int is_response)
{
    for (size_t i = is_response != 0; i < MESSAGE_TABLES; i += 2)
        if (message_tables[i].number == api_key)
            return &message_tables[i];
    return NULL;
}

/* ---- errors ------------------------------------------------------------ */

struct message_error
{
    enum kl_wire_error number;
    int code;
};

#define MESSAGE_ERROR(name, number, code) {KL_WIRE_##name, code},
static const struct message_error message_errors[] = {
    KL_WIRE_ERRORS(MESSAGE_ERROR)};

enum { MESSAGE_ERRORS = sizeof message_errors / sizeof message_errors[0] };

enum kl_wire_error kl_wire_error_of(int code)
{
    for (size_t i = 0; i < MESSAGE_ERRORS; i++)
        if (message_errors[i].code == code)
            return message_errors[i].number;
    return KL_WIRE_REQUEST_TIMED_OUT;
}

int kl_wire_error_code(int16_t number)
{
    for (size_t i = 0; i < MESSAGE_ERRORS; i++)
        if ((int)message_errors[i].number == number)
            return message_errors[i].code;
    return KL_EUNKNOWN;
}

/* ---- bytes ------------------------------------------------------------- */

static void *message_body(const struct kl_wire_message *m)
{
    return (uint8_t *)m + offsetof(struct kl_wire_message, fetch_request);
}

/* The checksum of a whole message. Its size and magic seed it, so that no byte
 * is without cover. */
static uint64_t message_checksum(const uint8_t *data, size_t size)
{
    return kl_base_hash(data + KL_WIRE_MESSAGE_PREFIX,
                        size - KL_WIRE_MESSAGE_PREFIX, kl_base_get_le64(data));
}

int kl_wire_message_peek(const void *data, size_t size, size_t limit,
                         size_t *size_out, struct kl_base_error *e)
{
    uint32_t whole, magic;

    if (size < 8)
        return KL_EAGAIN;
    whole = kl_base_get_le32(data);
    magic = kl_base_get_le32((const uint8_t *)data + 4);
    if (magic != MESSAGE_MAGIC)
        return kl_base_error_set(e, KL_EFORMAT, "message with magic %08lx",
                                 (unsigned long)magic);
    if (whole < KL_WIRE_MESSAGE_HEADER || whole > limit)
        return kl_base_error_set(
            e, KL_ECORRUPT, "message of %lu bytes, allowed are %d to %zu",
            (unsigned long)whole, (int)KL_WIRE_MESSAGE_HEADER, limit);
    *size_out = whole;
    return 0;
}

/* Only one request is for those who belong to no cluster yet. */
static int message_check_cluster(const struct kl_wire_envelope *v, int code,
                                 struct kl_base_error *e)
{
    if (!kl_base_uuid_is_zero(&v->cluster_id) ||
        (v->api_key == KL_WIRE_DESCRIBE_CLUSTER && !v->is_response))
        return 0;
    return kl_base_error_set(e, code, "message of no cluster");
}

static int message_decode_envelope(struct kl_wire_envelope *out,
                                   const uint8_t *data, size_t size,
                                   struct kl_base_error *e)
{
    size_t whole;
    int rc = kl_wire_message_peek(data, size, KL_WIRE_MESSAGE_MAX, &whole, e);

    if (rc == KL_EAGAIN || (rc == 0 && whole != size))
        return kl_base_error_set(e, KL_ECORRUPT, "message is not of %zu bytes",
                                 size);
    if (rc)
        return rc;
    if (kl_base_get_le64(data + 8) != message_checksum(data, size))
        return kl_base_error_set(e, KL_ECORRUPT, "message is damaged");
    rc = kl_wire_fields_decode(message_envelope, data + KL_WIRE_MESSAGE_PREFIX,
                               KL_WIRE_MESSAGE_ENVELOPE, out, NULL, e);
    return rc ? rc : message_check_cluster(out, KL_ECORRUPT, e);
}

int kl_wire_message_decode(struct kl_wire_message *out, const void *data,
                           size_t size, struct kl_base_buf *lists,
                           struct kl_base_error *e)
{
    const struct kl_wire_table *t;
    int rc;

    memset(out, 0, sizeof *out);
    rc = message_decode_envelope(&out->envelope, data, size, e);
    if (rc)
        return rc;
    t = kl_wire_message_table(out->envelope.api_key, out->envelope.is_response);
    if (!t)
        return kl_base_error_set(e, KL_EFORMAT, "message of unknown key %d",
                                 (int)out->envelope.api_key);
    if (out->envelope.version > t->version)
        return kl_base_error_set(
            e, KL_EFORMAT, "%s: version %d, known up to %u", t->name,
            (int)out->envelope.version, (unsigned)t->version);
    return kl_wire_fields_decode(
        t, (const uint8_t *)data + KL_WIRE_MESSAGE_HEADER,
        size - KL_WIRE_MESSAGE_HEADER, message_body(out), lists, e);
}

size_t kl_wire_message_size(const struct kl_wire_message *m)
{
    const struct kl_wire_table *t =
        kl_wire_message_table(m->envelope.api_key, m->envelope.is_response);

    return t ? KL_WIRE_MESSAGE_HEADER + kl_wire_fields_size(t, message_body(m))
             : 0;
}

static int message_check(const struct kl_wire_message *m,
                         const struct kl_wire_table *t,
                         const struct kl_wire_envelope *envelope,
                         struct kl_base_error *e)
{
    size_t size;
    int rc = kl_wire_fields_check(message_envelope, envelope, KL_EINVAL, e);

    if (rc == 0)
        rc = message_check_cluster(envelope, KL_EINVAL, e);
    if (rc == 0)
        rc = kl_wire_fields_check(t, message_body(m), KL_EINVAL, e);
    if (rc)
        return rc;
    size = kl_wire_message_size(m);
    if (size > KL_WIRE_MESSAGE_MAX)
        return kl_base_error_set(e, KL_EINVAL,
                                 "%s of %zu bytes, allowed are %d", t->name,
                                 size, (int)KL_WIRE_MESSAGE_MAX);
    return 0;
}

int kl_wire_message_encode(const struct kl_wire_message *m,
                           struct kl_base_buf *out, struct kl_base_error *e)
{
    struct kl_wire_envelope envelope = m->envelope;
    const struct kl_wire_table *t =
        kl_wire_message_table(envelope.api_key, envelope.is_response);
    size_t size;
    uint8_t *p;
    int rc;

    if (!t)
        return kl_base_error_set(e, KL_EINVAL, "message of unknown key %d",
                                 (int)envelope.api_key);
    envelope.version = (int16_t)t->version;
    rc = message_check(m, t, &envelope, e);
    if (rc)
        return rc;
    size = kl_wire_message_size(m);
    p = kl_base_buf_extend(out, size);
    if (!p)
        return kl_base_error_set(e, KL_ENOMEM, "%s: out of memory", t->name);
    kl_base_put_le32(p, (uint32_t)size);
    kl_base_put_le32(p + 4, MESSAGE_MAGIC);
    kl_wire_fields_encode(message_envelope, &envelope,
                          p + KL_WIRE_MESSAGE_PREFIX);
    kl_wire_fields_encode(t, message_body(m), p + KL_WIRE_MESSAGE_HEADER);
    kl_base_put_le64(p + 8, message_checksum(p, size));
    return 0;
}

void kl_wire_message_print(const struct kl_wire_message *m,
                           struct kl_base_buf *out)
{
    const struct kl_wire_envelope *v = &m->envelope;
    const struct kl_wire_table *t =
        kl_wire_message_table(v->api_key, v->is_response);

    if (!t) {
        kl_base_buf_printf(out, "message key=%d", (int)v->api_key);
        return;
    }
    kl_base_buf_printf(out, "%s %ld>%ld #%lld", t->name, (long)v->source_id,
                       (long)v->destination_id, (long long)v->correlation_id);
    kl_wire_fields_print(t, message_body(m), out);
}

int kl_wire_envelope_check(const struct kl_wire_envelope *envelope,
                           const struct kl_base_uuid *cluster_id,
                           int32_t node_id,
                           const struct kl_base_uuid *directory_id)
{
    if (!kl_base_uuid_is_zero(&envelope->cluster_id) &&
        !kl_base_uuid_equal(&envelope->cluster_id, cluster_id))
        return KL_EFOREIGN;
    if (envelope->destination_id >= 0 && envelope->destination_id != node_id)
        return KL_ENOENT;
    if (!kl_base_uuid_is_zero(&envelope->destination_directory) &&
        !kl_base_uuid_equal(&envelope->destination_directory, directory_id))
        return KL_ENOENT;
    return 0;
}
