/*
 * Reading the records of a batch. The bytes may come from anybody: a length
 * is compared with what is left before it is believed.
 */
#include "base/varint.h"
#include "batch/frame.h"

#include <string.h>

/* As kl_base_varint_get, with the usual one and two bytes first. */
static inline const uint8_t *read_varint(const uint8_t *p, const uint8_t *end,
                                         int64_t *out)
{
    if (end - p >= 2) {
        uint32_t u = p[0];

        if (u < 0x80) {
            *out = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
            return p + 1;
        }
        if (p[1] < 0x80) {
            u = (u & 0x7f) | (uint32_t)p[1] << 7;
            *out = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
            return p + 2;
        }
    }
    return kl_base_varint_get(p, end, out);
}

/* A size and that many bytes; *data is NULL for size -1. */
static inline const uint8_t *read_bytes(const uint8_t *p, const uint8_t *end,
                                        const uint8_t **data, uint32_t *size)
{
    int64_t length;

    p = read_varint(p, end, &length);
    if (!p)
        return NULL;
    if (length < 0) {
        *data = NULL;
        *size = 0;
        return length == -1 ? p : NULL;
    }
    if (length > end - p)
        return NULL;
    *data = p;
    *size = (uint32_t)length;
    return p + length;
}

static const uint8_t *read_header(const uint8_t *p, const uint8_t *end,
                                  struct kl_batch_header *out)
{
    const uint8_t *name;
    const uint8_t *value;

    p = read_bytes(p, end, &name, &out->name_size);
    if (!p || !name)
        return NULL;
    p = read_bytes(p, end, &value, &out->value_size);
    if (!p)
        return NULL;
    out->name = name;
    out->value = value;
    return p;
}

/* The headers of a record are exactly as many as it says and end with it. */
static int read_headers_fit(const uint8_t *p, const uint8_t *end, int64_t count)
{
    struct kl_batch_header header;

    /* Each takes two bytes or more, which bounds the loop. */
    if (count < 0 || count > (end - p) / 2)
        return 0;
    while (count > 0) {
        p = read_header(p, end, &header);
        if (!p)
            return 0;
        count--;
    }
    return p == end;
}

static int iter_unpack(struct kl_batch_iter *it, size_t plain_limit)
{
    struct kl_base_buf plain;
    int rc;

    kl_base_buf_init(&plain, it->alloc);
    rc = kl_batch_codec_decompress(it->info.attributes & KL_BATCH_ATTR_CODEC,
                                   it->pos, (size_t)(it->end - it->pos),
                                   plain_limit, &plain);
    if (rc == 0 && plain.size == 0)
        rc = KL_ECORRUPT; /* there are records to come */
    if (rc != 0) {
        kl_base_buf_deinit(&plain);
        return rc;
    }
    it->plain = plain.data;
    it->plain_size = plain.capacity;
    it->pos = plain.data;
    it->end = plain.data + plain.size;
    return 0;
}

int kl_batch_iter_init(struct kl_batch_iter *it,
                       const struct kl_base_alloc *alloc, const uint8_t *frame,
                       size_t frame_size, size_t plain_limit)
{
    int rc;

    memset(it, 0, sizeof *it);
    it->alloc = alloc;
    if (frame_size < KL_BATCH_OVERHEAD)
        return KL_ECORRUPT;
    rc = kl_batch_frame_parse(frame, &it->info);
    if (rc != 0)
        return rc;
    if (it->info.frame_size > frame_size)
        return KL_ECORRUPT;
    it->pos = frame + KL_BATCH_AT_RECORDS;
    it->end = frame + it->info.frame_size;
    it->gap_max =
        it->info.last_offset - it->info.base_offset + 1 - it->info.record_count;

    /* A batch that compaction emptied has nothing to unpack. */
    if (it->info.record_count > 0 &&
        (it->info.attributes & KL_BATCH_ATTR_CODEC) != KL_BATCH_CODEC_NONE)
        rc = iter_unpack(it, plain_limit);
    return rc;
}

void kl_batch_iter_deinit(struct kl_batch_iter *it)
{
    kl_base_free(it->alloc, it->plain, it->plain_size);
    memset(it, 0, sizeof *it);
}

int kl_batch_iter_next(struct kl_batch_iter *it, struct kl_batch_record *out)
{
    const uint8_t *p = it->pos;
    const uint8_t *end;
    int64_t length;
    int64_t timestamp_delta;
    int64_t offset_delta;
    int64_t count;
    int64_t gap;

    if (it->index == it->info.record_count)
        return p == it->end ? KL_EEND : KL_ECORRUPT;
    p = read_varint(p, it->end, &length);
    if (!p || length < KL_BATCH_RECORD_MIN - 1 || length > it->end - p)
        return KL_ECORRUPT;
    end = p + length;
    p = read_varint(p + 1, end, &timestamp_delta);
    if (!p)
        return KL_ECORRUPT;
    p = read_varint(p, end, &offset_delta);
    if (!p)
        return KL_ECORRUPT;

    /* The number of offsets skipped so far never shrinks and never exceeds
     * what the header leaves room for: deltas ascend, the last one fits, and
     * delta equals index where nothing was compacted away. */
    gap = (int64_t)((uint64_t)offset_delta - (uint32_t)it->index);
    if (gap < it->gap || gap > it->gap_max)
        return KL_ECORRUPT;

    p = read_bytes(p, end, &out->key, &out->key_size);
    if (!p)
        return KL_ECORRUPT;
    p = read_bytes(p, end, &out->value, &out->value_size);
    if (!p)
        return KL_ECORRUPT;
    p = read_varint(p, end, &count);
    if (!p)
        return KL_ECORRUPT;
    if (count == 0 ? p != end : !read_headers_fit(p, end, count))
        return KL_ECORRUPT;

    out->offset = it->info.base_offset + offset_delta;
    out->timestamp = (int64_t)((uint64_t)it->info.base_timestamp +
                               (uint64_t)timestamp_delta);
    if (it->info.attributes & KL_BATCH_ATTR_LOG_APPEND_TIME)
        out->timestamp = it->info.max_timestamp;
    out->headers = p;
    out->header_count = (uint32_t)count;
    out->headers_size = (uint32_t)(end - p);
    it->gap = gap;
    it->index++;
    it->pos = end;
    return 0;
}

int kl_batch_records_verify(const struct kl_base_alloc *alloc,
                            const uint8_t *frame, size_t frame_size)
{
    struct kl_batch_record record;
    struct kl_batch_iter it;
    int rc =
        kl_batch_iter_init(&it, alloc, frame, frame_size, KL_BATCH_SIZE_MAX);

    if (rc)
        return rc;
    do
        rc = kl_batch_iter_next(&it, &record);
    while (rc == 0);
    kl_batch_iter_deinit(&it);
    return rc == KL_EEND ? 0 : rc;
}

int kl_batch_record_header(const struct kl_batch_record *record, uint32_t index,
                           struct kl_batch_header *out)
{
    const uint8_t *p = record->headers;
    const uint8_t *end = p + record->headers_size;
    uint32_t i;

    if (index >= record->header_count)
        return KL_EEND;
    for (i = 0; i <= index; i++) {
        p = read_header(p, end, out);
        if (!p)
            return KL_ECORRUPT;
    }
    return 0;
}
