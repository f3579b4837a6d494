/*
 * The payloads of metadata records: structs and their bytes, without meaning.
 * The fields of each struct are declared in wire/schema.h.
 *
 * Nothing here allocates but the buffer that an encoder appends to. Texts and
 * arrays of a decoded record are borrowed from its input.
 */
#ifndef KL_WIRE_WIRE_H
#define KL_WIRE_WIRE_H

#include "base/buf.h"
#include "base/endian.h"
#include "base/error.h"
#include "base/uuid.h"
#include "wire/schema.h"

#include <stddef.h>
#include <stdint.h>

/* Borrowed UTF-8 without NUL, not terminated. */
struct kl_wire_text
{
    const char *data;
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

/* One struct for each record, made from the schema. */
#define KL_WIRE_CTYPE_I8 int8_t
#define KL_WIRE_CTYPE_I16 int16_t
#define KL_WIRE_CTYPE_I32 int32_t
#define KL_WIRE_CTYPE_I64 int64_t
#define KL_WIRE_CTYPE_UUID struct kl_base_uuid
#define KL_WIRE_CTYPE_TEXT struct kl_wire_text
#define KL_WIRE_CTYPE_I32S struct kl_wire_i32s
#define KL_WIRE_CTYPE_TEXTS struct kl_wire_texts
#define KL_WIRE_MEMBER(record, kind, name, min, max) KL_WIRE_CTYPE_##kind name;
#define KL_WIRE_STRUCT(type, number, version, member, text)                    \
    struct kl_wire_##member##_record                                           \
    {                                                                          \
        KL_WIRE_##type##_FIELDS(KL_WIRE_MEMBER, member)                        \
    };
KL_WIRE_RECORDS(KL_WIRE_STRUCT)

#define KL_WIRE_NUMBER(type, number, version, member, text)                    \
    KL_WIRE_##type##_RECORD = number,
enum kl_wire_record_type { KL_WIRE_RECORDS(KL_WIRE_NUMBER) };

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

#endif
