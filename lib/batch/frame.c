/*
 * The frame around a record batch: positions, checks, checksums.
 *
 *    at size  frame header, little-endian
 *     0    4  magic             "KLF" and the format version 1
 *     4    4  size              of the whole frame
 *     8    8  header checksum   XXH3-64, seeded by the log's name, of bytes
 *                               0-7 and 16-92
 *    16    8  body checksum     XXH3-64, same seed, of bytes 93 to the end
 *    24    4  flags             bit 0: the CRC field below is computed
 *    28    4  reserved          zero
 *
 *    at size  batch header, Kafka's, big-endian
 *    32    8  base offset
 *    40    4  batch length      bytes that follow this field
 *    44    4  leader epoch      -1 before the leader's stamp
 *    48    1  version           2 ("magic" in Kafka)
 *    49    4  CRC-32C           of bytes 53 to the end; zero without the flag
 *    53    2  attributes
 *    55    4  last offset delta
 *    59    8  base timestamp
 *    67    8  max timestamp
 *    75    8  producer id       -1 = none
 *    83    2  producer epoch
 *    85    4  base sequence
 *    89    4  record count
 *    93       records
 *
 * Two checksums, because a rotten body must still tell which offsets are lost,
 * and because the leader's stamp must not cost a pass over the body. The CRC
 * is part of what the header checksum covers, so that it is as safe as the
 * rest without being recomputed.
 */
#include "batch/frame.h"
#include "base/endian.h"
#include "base/hash.h"

#include <string.h>

enum {
    FRAME_SUMMED_HEAD = KL_BATCH_AT_HEADER_SUM,
    FRAME_SUMMED_TAIL = KL_BATCH_OVERHEAD - KL_BATCH_AT_BODY_SUM
};

static uint64_t frame_header_sum(const uint8_t *frame, uint64_t seed)
{
    uint8_t part[FRAME_SUMMED_HEAD + FRAME_SUMMED_TAIL];

    memcpy(part, frame, FRAME_SUMMED_HEAD);
    memcpy(part + FRAME_SUMMED_HEAD, frame + KL_BATCH_AT_BODY_SUM,
           FRAME_SUMMED_TAIL);
    return kl_base_hash(part, sizeof part, seed);
}

static uint64_t frame_body_sum(const uint8_t *frame, uint32_t size,
                               uint64_t seed)
{
    return kl_base_hash(frame + KL_BATCH_AT_RECORDS, size - KL_BATCH_AT_RECORDS,
                        seed);
}

uint64_t kl_batch_seed(const struct kl_base_uuid *topic_id, int32_t partition)
{
    uint8_t name[sizeof topic_id->bytes + 4];

    memcpy(name, topic_id->bytes, sizeof topic_id->bytes);
    kl_base_put_le32(name + sizeof topic_id->bytes, (uint32_t)partition);
    return kl_base_hash(name, sizeof name, 0);
}

static void frame_load(const uint8_t *p, struct kl_batch_info *info)
{
    uint32_t last_delta = kl_base_get_be32(p + KL_BATCH_AT_LAST_DELTA);

    info->frame_size = kl_base_get_le32(p + KL_BATCH_AT_SIZE);
    info->flags = kl_base_get_le32(p + KL_BATCH_AT_FLAGS);
    info->base_offset = (int64_t)kl_base_get_be64(p + KL_BATCH_AT_BASE_OFFSET);
    info->last_offset = (int64_t)((uint64_t)info->base_offset + last_delta);
    info->leader_epoch =
        (int32_t)kl_base_get_be32(p + KL_BATCH_AT_LEADER_EPOCH);
    info->attributes = (int16_t)kl_base_get_be16(p + KL_BATCH_AT_ATTRIBUTES);
    info->producer_epoch =
        (int16_t)kl_base_get_be16(p + KL_BATCH_AT_PRODUCER_EPOCH);
    info->base_sequence =
        (int32_t)kl_base_get_be32(p + KL_BATCH_AT_BASE_SEQUENCE);
    info->record_count =
        (int32_t)kl_base_get_be32(p + KL_BATCH_AT_RECORD_COUNT);
    info->base_timestamp =
        (int64_t)kl_base_get_be64(p + KL_BATCH_AT_BASE_TIMESTAMP);
    info->max_timestamp =
        (int64_t)kl_base_get_be64(p + KL_BATCH_AT_MAX_TIMESTAMP);
    info->producer_id = (int64_t)kl_base_get_be64(p + KL_BATCH_AT_PRODUCER_ID);
}

/* The offset behind the batch must exist too: it is the next LEO. */
static int frame_offsets_fit(int64_t base_offset, int32_t last_delta)
{
    return base_offset >= 0 && last_delta >= 0 &&
           base_offset < INT64_MAX - last_delta;
}

int kl_batch_frame_parse(const uint8_t *frame, struct kl_batch_info *out)
{
    int32_t last_delta =
        (int32_t)kl_base_get_be32(frame + KL_BATCH_AT_LAST_DELTA);
    uint32_t length = kl_base_get_be32(frame + KL_BATCH_AT_LENGTH);
    uint32_t body_size;

    frame_load(frame, out);
    if (kl_base_get_le32(frame + KL_BATCH_AT_MAGIC) != KL_BATCH_MAGIC ||
        out->frame_size < KL_BATCH_OVERHEAD ||
        out->frame_size > KL_BATCH_SIZE_MAX ||
        (out->flags & ~(uint32_t)KL_BATCH_FLAG_CRC) != 0 ||
        kl_base_get_le32(frame + KL_BATCH_AT_RESERVED) != 0)
        return KL_ECORRUPT;
    if (length != out->frame_size - KL_BATCH_AT_LEADER_EPOCH ||
        frame[KL_BATCH_AT_VERSION] != KL_BATCH_VERSION ||
        !frame_offsets_fit(out->base_offset, last_delta))
        return KL_ECORRUPT;

    /* Compaction leaves fewer records than offsets, nothing leaves more. */
    if (out->record_count < 0 || out->record_count > (int64_t)last_delta + 1)
        return KL_ECORRUPT;
    body_size = out->frame_size - KL_BATCH_AT_RECORDS;
    if ((out->attributes & KL_BATCH_ATTR_CODEC) == KL_BATCH_CODEC_NONE &&
        (uint32_t)out->record_count > body_size / KL_BATCH_RECORD_MIN)
        return KL_ECORRUPT;
    return 0;
}

int kl_batch_frame_header(const uint8_t *data, size_t size, uint64_t seed,
                          struct kl_batch_info *out)
{
    if (size < KL_BATCH_OVERHEAD)
        return KL_EAGAIN;
    if (kl_base_get_le64(data + KL_BATCH_AT_HEADER_SUM) !=
        frame_header_sum(data, seed))
        return KL_ECORRUPT;
    return kl_batch_frame_parse(data, out);
}

int kl_batch_frame_body(const uint8_t *frame, uint64_t seed,
                        const struct kl_batch_info *info)
{
    if (kl_base_get_le64(frame + KL_BATCH_AT_BODY_SUM) !=
        frame_body_sum(frame, info->frame_size, seed))
        return KL_ECORRUPT;
    return 0;
}

int kl_batch_frame_verify(const uint8_t *data, size_t size, uint64_t seed,
                          struct kl_batch_info *out)
{
    int rc = kl_batch_frame_header(data, size, seed, out);

    if (rc != 0)
        return rc;
    if (size < out->frame_size)
        return KL_EAGAIN;
    return kl_batch_frame_body(data, seed, out);
}

void kl_batch_frame_stamp(uint8_t *frame, uint64_t seed, int64_t base_offset,
                          int32_t leader_epoch)
{
    int32_t last_delta =
        (int32_t)kl_base_get_be32(frame + KL_BATCH_AT_LAST_DELTA);

    KL_ASSERT(frame_offsets_fit(base_offset, last_delta));
    kl_base_put_be64(frame + KL_BATCH_AT_BASE_OFFSET, (uint64_t)base_offset);
    kl_base_put_be32(frame + KL_BATCH_AT_LEADER_EPOCH, (uint32_t)leader_epoch);
    kl_base_put_le64(frame + KL_BATCH_AT_HEADER_SUM,
                     frame_header_sum(frame, seed));
}

void kl_batch_frame_seal(uint8_t *frame, uint64_t seed)
{
    uint32_t size = kl_base_get_le32(frame + KL_BATCH_AT_SIZE);

    kl_base_put_le64(frame + KL_BATCH_AT_BODY_SUM,
                     frame_body_sum(frame, size, seed));
    kl_base_put_le64(frame + KL_BATCH_AT_HEADER_SUM,
                     frame_header_sum(frame, seed));
}

uint32_t kl_batch_frame_crc(const uint8_t *frame,
                            const struct kl_batch_info *info)
{
    return kl_base_crc32c(frame + KL_BATCH_AT_ATTRIBUTES,
                          info->frame_size - KL_BATCH_AT_ATTRIBUTES);
}

int kl_batch_frame_crc_verify(const uint8_t *frame,
                              const struct kl_batch_info *info)
{
    uint32_t stored = kl_base_get_be32(frame + KL_BATCH_AT_CRC);

    if (info->flags & KL_BATCH_FLAG_CRC &&
        stored != kl_batch_frame_crc(frame, info))
        return KL_ECORRUPT;
    return 0;
}
