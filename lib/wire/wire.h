/*
 * The records of the metadata log and the messages between nodes: structs and
 * their bytes, without meaning. The fields of each struct are declared in
 * wire/schema.h and wire/messages.h.
 *
 * Texts, bytes and arrays of numbers of a decoded struct are borrowed from its
 * input. The items of lists lie in a buffer of the caller, which the decoder
 * fills; nothing else is allocated, and nothing before the whole input has been
 * walked through.
 */
#ifndef KL_WIRE_WIRE_H
#define KL_WIRE_WIRE_H

#include "base/buf.h"
#include "base/endian.h"
#include "base/error.h"
#include "base/uuid.h"
#include "wire/messages.h"
#include "wire/schema.h"

#include <stddef.h>
#include <stdint.h>

/* Borrowed UTF-8 without NUL, not terminated. */
struct kl_wire_text
{
    const char *data;
    uint32_t size;
};

/* Borrowed bytes. */
struct kl_wire_bytes
{
    const uint8_t *data;
    uint32_t size;
};

/* Borrowed int32 values as on disk: little-endian, any alignment. Read with
 * kl_wire_i32s_get; write the bytes with kl_base_put_le32. */
struct kl_wire_i32s
{
    const uint8_t *data;
    uint32_t count;
};

static inline int32_t kl_wire_i32s_get(const struct kl_wire_i32s *a,
                                       uint32_t index)
{
    return (int32_t)kl_base_get_le32(a->data + 4 * (size_t)index);
}

/* Borrowed texts as on disk, each behind its u16 size. */
struct kl_wire_texts
{
    const uint8_t *data;
    uint32_t size; /* bytes */
    uint32_t count;
};

/* Iterates: start with *pos = 0. 1, or 0 at the end. */
static inline int kl_wire_texts_next(const struct kl_wire_texts *a,
                                     uint32_t *pos, struct kl_wire_text *out)
{
    if (*pos >= a->size)
        return 0;
    out->size = kl_base_get_le16(a->data + *pos);
    out->data = (const char *)a->data + *pos + 2;
    *pos += 2 + out->size;
    return 1;
}

/* ---- structs, made from the schema ------------------------------------- */

#define KL_WIRE_MEMBER_I8(name, min, max) int8_t name;
#define KL_WIRE_MEMBER_I16(name, min, max) int16_t name;
#define KL_WIRE_MEMBER_I32(name, min, max) int32_t name;
#define KL_WIRE_MEMBER_I64(name, min, max) int64_t name;
#define KL_WIRE_MEMBER_UUID(name, min, max) struct kl_base_uuid name;
#define KL_WIRE_MEMBER_TEXT(name, min, max) struct kl_wire_text name;
#define KL_WIRE_MEMBER_BYTES(name, min, max) struct kl_wire_bytes name;
#define KL_WIRE_MEMBER_I32S(name, min, max) struct kl_wire_i32s name;
#define KL_WIRE_MEMBER_TEXTS(name, min, max) struct kl_wire_texts name;
#define KL_WIRE_MEMBER_LIST(name, min, max, item)                              \
    struct kl_wire_##item##_list name;
#define KL_WIRE_MEMBER(record, kind, ...) KL_WIRE_MEMBER_##kind(__VA_ARGS__)

/* Items of lists: kl_wire_voter, and kl_wire_voter_list of them. */
#define KL_WIRE_ITEM_STRUCT(type, member, text)                                \
    struct kl_wire_##member                                                    \
    {                                                                          \
        KL_WIRE_##type##_FIELDS(KL_WIRE_MEMBER, kl_wire_##member)              \
    };                                                                         \
    struct kl_wire_##member##_list                                             \
    {                                                                          \
        const struct kl_wire_##member *items;                                  \
        uint32_t count;                                                        \
    };
KL_WIRE_RECORD_ITEMS(KL_WIRE_ITEM_STRUCT)
KL_WIRE_MESSAGE_ITEMS(KL_WIRE_ITEM_STRUCT)

/* One struct for each record: kl_wire_topic_record. */
#define KL_WIRE_STRUCT(type, number, version, member, text)                    \
    struct kl_wire_##member##_record                                           \
    {                                                                          \
        KL_WIRE_##type##_FIELDS(KL_WIRE_MEMBER, kl_wire_##member##_record)     \
    };
KL_WIRE_RECORDS(KL_WIRE_STRUCT)
KL_WIRE_CONTROLS(KL_WIRE_STRUCT)

#define KL_WIRE_NUMBER(type, number, version, member, text)                    \
    KL_WIRE_##type##_RECORD = number,
enum kl_wire_record_type { KL_WIRE_RECORDS(KL_WIRE_NUMBER) };
#define KL_WIRE_CONTROL_NUMBER(type, number, version, member, text)            \
    KL_WIRE_##type##_CONTROL = number,
enum kl_wire_control_type { KL_WIRE_CONTROLS(KL_WIRE_CONTROL_NUMBER) };

/* Two structs for each message: kl_wire_vote_request, kl_wire_vote_response. */
#define KL_WIRE_MESSAGE_STRUCT(api, key, version, member, text)                \
    struct kl_wire_##member##_request                                          \
    {                                                                          \
        KL_WIRE_##api##_REQUEST_FIELDS(KL_WIRE_MEMBER,                         \
                                       kl_wire_##member##_request)             \
    };                                                                         \
    struct kl_wire_##member##_response                                         \
    {                                                                          \
        KL_WIRE_##api##_RESPONSE_FIELDS(KL_WIRE_MEMBER,                        \
                                        kl_wire_##member##_response)           \
    };
KL_WIRE_MESSAGES(KL_WIRE_MESSAGE_STRUCT)

#define KL_WIRE_API_NUMBER(api, key, version, member, text) KL_WIRE_##api = key,
enum kl_wire_api { KL_WIRE_MESSAGES(KL_WIRE_API_NUMBER) };

/* ---- errors ------------------------------------------------------------ */

#define KL_WIRE_ERROR_NUMBER(name, number, code) KL_WIRE_##name = number,
enum kl_wire_error { KL_WIRE_ERRORS(KL_WIRE_ERROR_NUMBER) };

/* What to send for a code; REQUEST_TIMED_OUT for one without a number. */
enum kl_wire_error kl_wire_error_of(int code);
/* The code of what was sent; KL_EUNKNOWN for what only later releases know. */
int kl_wire_error_code(int16_t number);

/* ---- records ----------------------------------------------------------- */

/* Any record: r.type == KL_WIRE_TOPIC_RECORD says that r.topic is set. */
#define KL_WIRE_UNION(type, number, version, member, text)                     \
    struct kl_wire_##member##_record member;
struct kl_wire_record
{
    uint16_t type;
    uint16_t version; /* set by the decoder; the encoder writes the newest */
    union
    {
        KL_WIRE_RECORDS(KL_WIRE_UNION)
    };
};

/* Any control record. */
struct kl_wire_control
{
    uint16_t type;
    uint16_t version;
    union
    {
        KL_WIRE_CONTROLS(KL_WIRE_UNION)
    };
};

/* Decodes one whole payload. KL_EFORMAT: a type or version of a later release.
 * KL_ECORRUPT: too short, too long, or a value out of its range. */
int kl_wire_record_decode(struct kl_wire_record *out, const void *data,
                          size_t size, struct kl_base_error *e);

/* Appends the payload. KL_EINVAL: a value that the schema does not allow;
 * KL_ENOMEM. Nothing is appended on failure. */
int kl_wire_record_encode(const struct kl_wire_record *r,
                          struct kl_base_buf *out, struct kl_base_error *e);

/* Bytes that encoding takes; the record must be valid. */
size_t kl_wire_record_size(const struct kl_wire_record *r);

/* Appends the record as one line of text without its end, for traces. */
void kl_wire_record_print(const struct kl_wire_record *r,
                          struct kl_base_buf *out);

/* The same for control records. The items of lists are put into lists, whose
 * content they replace; KL_ENOMEM. */
int kl_wire_control_decode(struct kl_wire_control *out, const void *data,
                           size_t size, struct kl_base_buf *lists,
                           struct kl_base_error *e);
int kl_wire_control_encode(const struct kl_wire_control *r,
                           struct kl_base_buf *out, struct kl_base_error *e);
size_t kl_wire_control_size(const struct kl_wire_control *r);
void kl_wire_control_print(const struct kl_wire_control *r,
                           struct kl_base_buf *out);

/* ---- snapshots --------------------------------------------------------- */

struct kl_wire_snapshot
{
    int64_t voters_offset;       /* -1 = the set of the first start */
    struct kl_wire_bytes voters; /* a control record */
    uint32_t record_count;
    const uint8_t *records; /* each behind its u32 size */
    size_t records_size;
};

/* Appends it. KL_ENOMEM. */
int kl_wire_snapshot_encode(const struct kl_wire_snapshot *s,
                            struct kl_base_buf *out);
/* Borrows from data. The records are counted, not looked into. KL_ECORRUPT,
 * KL_EFORMAT: a version of a later release. */
int kl_wire_snapshot_decode(struct kl_wire_snapshot *out, const void *data,
                            size_t size, struct kl_base_error *e);
/* Iterates over the records: start with *pos = 0. 1, or 0 at the end. */
int kl_wire_snapshot_next(const struct kl_wire_snapshot *s, size_t *pos,
                          struct kl_wire_bytes *out);

/* ---- messages ---------------------------------------------------------- */

struct kl_wire_envelope
{
    KL_WIRE_ENVELOPE_FIELDS(KL_WIRE_MEMBER, kl_wire_envelope)
};

/* Any message: envelope.api_key == KL_WIRE_VOTE says that vote_request is set,
 * or vote_response where envelope.is_response. */
#define KL_WIRE_MESSAGE_UNION(api, key, version, member, text)                 \
    struct kl_wire_##member##_request member##_request;                        \
    struct kl_wire_##member##_response member##_response;
struct kl_wire_message
{
    struct kl_wire_envelope envelope;
    union
    {
        KL_WIRE_MESSAGES(KL_WIRE_MESSAGE_UNION)
    };
};

/* The size of the message that a stream goes on with. KL_EAGAIN: fewer than
 * eight bytes; KL_EFORMAT: no message of ours; KL_ECORRUPT: smaller than a
 * message is or larger than limit. */
int kl_wire_message_peek(const void *data, size_t size, size_t limit,
                         size_t *size_out, struct kl_base_error *e);

/* Decodes one whole message. lists as for control records. KL_ECORRUPT:
 * damaged, cut, too long, or a value out of its range; KL_EFORMAT: an api key
 * or version that is not known; KL_ENOMEM. */
int kl_wire_message_decode(struct kl_wire_message *out, const void *data,
                           size_t size, struct kl_base_buf *lists,
                           struct kl_base_error *e);

/* Appends the message with the version that we speak. KL_EINVAL: a value that
 * is not allowed, or more than KL_WIRE_MESSAGE_MAX bytes; KL_ENOMEM. Nothing
 * is appended on failure. */
int kl_wire_message_encode(const struct kl_wire_message *m,
                           struct kl_base_buf *out, struct kl_base_error *e);

/* Bytes that encoding takes; the message must be valid. */
size_t kl_wire_message_size(const struct kl_wire_message *m);

/* Appends the message as one line of text without its end, for traces. */
void kl_wire_message_print(const struct kl_wire_message *m,
                           struct kl_base_buf *out);

/* Whose message it is: KL_EFOREIGN for that of another cluster, KL_ENOENT for
 * one that is meant for another node or for another directory of this one. What
 * may be of no cluster at all is nobody else's. */
int kl_wire_envelope_check(const struct kl_wire_envelope *envelope,
                           const struct kl_base_uuid *cluster_id,
                           int32_t node_id,
                           const struct kl_base_uuid *directory_id);

#endif
