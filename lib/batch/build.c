/*
 * Building a batch: records are written once, straight to their place in the
 * chunk that becomes the frame.
 *
 *   record: varint length of what follows, one byte of attributes (0), varints
 *   timestamp delta and offset delta, key, value, varint header count, headers
 *   header: varint size and bytes of the name, value
 *   key and value: varint size and bytes, size -1 for null
 */
#include "base/endian.h"
#include "base/varint.h"
#include "batch/frame.h"

#include <string.h>

/* Nearly every varint of a record has one or two bytes. */
static inline uint8_t *build_put_varint(uint8_t *p, int64_t v)
{
    uint64_t u = kl_base_zigzag(v);

    if (u < 0x80) {
        *p = (uint8_t)u;
        return p + 1;
    }
    if (u < 0x4000) {
        p[0] = (uint8_t)(u | 0x80);
        p[1] = (uint8_t)(u >> 7);
        return p + 2;
    }
    return kl_base_varint_put(p, v);
}

static inline uint8_t *build_put_bytes(uint8_t *p, const void *data,
                                       uint32_t size)
{
    if (!data) {
        *p = (uint8_t)kl_base_zigzag(-1);
        return p + 1;
    }
    p = build_put_varint(p, size);
    memcpy(p, data, size);
    return p + size;
}

static inline uint64_t build_bytes_size(const void *data, uint32_t size)
{
    return data ? (uint64_t)kl_base_varint_size(size) + size : 1;
}

/* Stops counting above max, so that no sum of sizes can wrap around. */
static int build_headers_size(const struct kl_batch_input *in, uint64_t max,
                              uint64_t *out)
{
    uint64_t size = 0;
    uint32_t i;

    if (!in->headers)
        return KL_EINVAL;
    for (i = 0; i < in->header_count && size <= max; i++) {
        const struct kl_batch_header *h = &in->headers[i];

        if (!h->name)
            return KL_EINVAL;
        size += build_bytes_size(h->name, h->name_size) +
                build_bytes_size(h->value, h->value_size);
    }
    *out = size;
    return 0;
}

/* Size of a record behind its length field; anything above max where it is
 * larger than that. 0 or KL_EINVAL. */
static inline int build_record_size(const struct kl_batch_input *in,
                                    int64_t timestamp_delta,
                                    int32_t offset_delta, uint64_t max,
                                    uint64_t *out)
{
    uint64_t headers_size = 0;

    if (in->header_count > 0) {
        int rc = build_headers_size(in, max, &headers_size);

        if (rc != 0)
            return rc;
    }
    *out = 1 + (uint64_t)kl_base_varint_size(timestamp_delta) +
           kl_base_varint_size(offset_delta) +
           build_bytes_size(in->key, in->key_size) +
           build_bytes_size(in->value, in->value_size) +
           kl_base_varint_size(in->header_count) + headers_size;
    return 0;
}

size_t kl_batch_record_bound(const struct kl_batch_input *in)
{
    uint64_t size;

    /* A sum that is not a legal frame size needs not be exact. */
    if (build_record_size(in, 0, 0, KL_BATCH_SIZE_MAX, &size) != 0 ||
        size > KL_BATCH_SIZE_MAX)
        return SIZE_MAX;
    return KL_BATCH_OVERHEAD + kl_base_varint_size((int64_t)size) +
           (size_t)size;
}

static void builder_clear(struct kl_batch_builder *b)
{
    b->chunk = NULL;
    b->size = KL_BATCH_OVERHEAD;
    b->record_count = 0;
    b->base_timestamp = 0;
    b->max_timestamp = 0;
}

void kl_batch_builder_init(struct kl_batch_builder *b,
                           const struct kl_base_alloc *alloc)
{
    b->alloc = alloc;
    builder_clear(b);
}

void kl_batch_builder_deinit(struct kl_batch_builder *b)
{
    kl_base_chunk_unref(b->chunk);
    builder_clear(b);
}

void kl_batch_builder_use(struct kl_batch_builder *b,
                          struct kl_base_chunk *chunk)
{
    KL_ASSERT(b->record_count == 0);
    kl_base_chunk_unref(b->chunk);
    b->chunk = chunk;
}

static int builder_grow(struct kl_batch_builder *b, size_t need, size_t limit,
                        size_t capacity_hint)
{
    size_t capacity = b->chunk ? (size_t)b->chunk->capacity * 2 : capacity_hint;

    if (capacity > limit)
        capacity = limit;
    if (capacity < need)
        capacity = need;
    if (!b->chunk)
        return kl_base_chunk_new(&b->chunk, b->alloc, capacity);
    b->chunk->size = (uint32_t)b->size;
    return kl_base_chunk_resize(&b->chunk, capacity);
}

static uint8_t *build_put_headers(uint8_t *p, const struct kl_batch_input *in)
{
    uint32_t i;

    for (i = 0; i < in->header_count; i++) {
        const struct kl_batch_header *h = &in->headers[i];

        p = build_put_bytes(p, h->name, h->name_size);
        p = build_put_bytes(p, h->value, h->value_size);
    }
    return p;
}

int kl_batch_builder_append(struct kl_batch_builder *b, size_t limit,
                            size_t capacity_hint,
                            const struct kl_batch_input *in)
{
    int64_t timestamp_delta = 0;
    uint64_t size;
    uint64_t need;
    uint8_t *p;
    int rc;

    /* Deltas wrap around as in Kafka: the reader's sum gives the same time. */
    if (b->record_count > 0)
        timestamp_delta =
            (int64_t)((uint64_t)in->timestamp - (uint64_t)b->base_timestamp);
    if (limit > KL_BATCH_SIZE_MAX)
        limit = KL_BATCH_SIZE_MAX;
    rc = build_record_size(in, timestamp_delta, b->record_count, limit, &size);
    if (rc != 0)
        return rc;
    need = b->size + kl_base_varint_size((int64_t)size) + size;
    if (need > limit)
        return KL_EAGAIN;
    if (!b->chunk || need > b->chunk->capacity) {
        rc = builder_grow(b, (size_t)need, limit, capacity_hint);
        if (rc != 0)
            return rc;
    }

    p = build_put_varint(b->chunk->data + b->size, (int64_t)size);
    *p++ = 0;
    p = build_put_varint(p, timestamp_delta);
    p = build_put_varint(p, b->record_count);
    p = build_put_bytes(p, in->key, in->key_size);
    p = build_put_bytes(p, in->value, in->value_size);
    p = build_put_varint(p, in->header_count);
    if (in->header_count > 0)
        p = build_put_headers(p, in);
    KL_DASSERT(p == b->chunk->data + need);

    if (b->record_count == 0) {
        b->base_timestamp = in->timestamp;
        b->max_timestamp = in->timestamp;
    } else if (in->timestamp > b->max_timestamp) {
        b->max_timestamp = in->timestamp;
    }
    b->size = (size_t)need;
    b->record_count++;
    return 0;
}

/* Replaces the records by their compressed form where that is smaller, and
 * clears the codec in *attributes where it is not. */
static int builder_compress(struct kl_batch_builder *b, int16_t *attributes)
{
    enum kl_batch_codec codec = *attributes & KL_BATCH_ATTR_CODEC;
    uint8_t *records = b->chunk->data + KL_BATCH_AT_RECORDS;
    size_t size = b->size - KL_BATCH_AT_RECORDS;
    struct kl_base_buf packed;
    int rc;

    kl_base_buf_init(&packed, b->alloc);
    rc = kl_batch_codec_compress(codec, records, size, &packed);
    if (rc == 0 && packed.size < size) {
        memcpy(records, packed.data, packed.size);
        b->size = KL_BATCH_AT_RECORDS + packed.size;
    } else {
        *attributes = (int16_t)(*attributes & ~KL_BATCH_ATTR_CODEC);
    }
    kl_base_buf_deinit(&packed);
    return rc;
}

static void builder_put_headers(const struct kl_batch_builder *b,
                                int16_t attributes)
{
    uint8_t *p = b->chunk->data;

    kl_base_put_le32(p + KL_BATCH_AT_MAGIC, KL_BATCH_MAGIC);
    kl_base_put_le32(p + KL_BATCH_AT_SIZE, (uint32_t)b->size);
    kl_base_put_le32(p + KL_BATCH_AT_FLAGS, 0);
    kl_base_put_le32(p + KL_BATCH_AT_RESERVED, 0);

    kl_base_put_be64(p + KL_BATCH_AT_BASE_OFFSET, 0);
    kl_base_put_be32(p + KL_BATCH_AT_LENGTH,
                     (uint32_t)b->size - KL_BATCH_AT_LEADER_EPOCH);
    kl_base_put_be32(p + KL_BATCH_AT_LEADER_EPOCH, (uint32_t)-1);
    p[KL_BATCH_AT_VERSION] = KL_BATCH_VERSION;
    kl_base_put_be32(p + KL_BATCH_AT_CRC, 0);
    kl_base_put_be16(p + KL_BATCH_AT_ATTRIBUTES, (uint16_t)attributes);
    kl_base_put_be32(p + KL_BATCH_AT_LAST_DELTA, (uint32_t)b->record_count - 1);
    kl_base_put_be64(p + KL_BATCH_AT_BASE_TIMESTAMP,
                     (uint64_t)b->base_timestamp);
    kl_base_put_be64(p + KL_BATCH_AT_MAX_TIMESTAMP, (uint64_t)b->max_timestamp);
    kl_base_put_be64(p + KL_BATCH_AT_PRODUCER_ID, (uint64_t)-1);
    kl_base_put_be16(p + KL_BATCH_AT_PRODUCER_EPOCH, (uint16_t)-1);
    kl_base_put_be32(p + KL_BATCH_AT_BASE_SEQUENCE, (uint32_t)-1);
    kl_base_put_be32(p + KL_BATCH_AT_RECORD_COUNT, (uint32_t)b->record_count);
}

int kl_batch_builder_finish(struct kl_batch_builder *b, uint64_t seed,
                            int16_t attributes, struct kl_base_chunk **out)
{
    if (b->record_count == 0)
        return KL_EINVAL;
    if (attributes & KL_BATCH_ATTR_CODEC) {
        int rc = builder_compress(b, &attributes);

        if (rc != 0)
            return rc;
    }
    builder_put_headers(b, attributes);
    kl_batch_frame_seal(b->chunk->data, seed);
    b->chunk->size = (uint32_t)b->size;

    /* A pool wants its chunks back as they were; any other chunk may stay in
     * memory for long. The frame is good all the same where it fails. */
    if (!b->chunk->recycle && b->chunk->size < b->chunk->capacity / 2)
        (void)kl_base_chunk_resize(&b->chunk, b->chunk->size);
    *out = b->chunk;
    builder_clear(b);
    return 0;
}
