/*
 * The record batch: Kafka's message format v2, wrapped in a frame. The same
 * bytes in memory, in the WAL, in segments and on the network. Byte tables are
 * in kraftlog-format(5) and at the top of frame.c.
 *
 *   frame header   32 bytes, little-endian, ours
 *   batch header   61 bytes, big-endian, Kafka's
 *   records        compressed or not
 */
#ifndef KL_BATCH_BATCH_H
#define KL_BATCH_BATCH_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/chunk.h"
#include "base/uuid.h"
#include "batch/epochs.h"

#include <kraftlog/error.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KL_BATCH_FRAME_HEADER = 32,
    KL_BATCH_HEADER = 61,
    KL_BATCH_OVERHEAD = KL_BATCH_FRAME_HEADER + KL_BATCH_HEADER,
    KL_BATCH_SIZE_MIN = 4 * 1024,        /* lowest configurable limit */
    KL_BATCH_SIZE_MAX = 64 * 1024 * 1024 /* sanity bound for any frame */
};

/* Attributes of a batch, low three bits: codec. */
enum kl_batch_codec {
    KL_BATCH_CODEC_NONE = 0,
    KL_BATCH_CODEC_LZ4 = 3,
    KL_BATCH_CODEC_ZSTD = 4
};
enum {
    KL_BATCH_ATTR_CODEC = 7,
    KL_BATCH_ATTR_LOG_APPEND_TIME = 8,
    KL_BATCH_ATTR_TRANSACTIONAL = 16,
    KL_BATCH_ATTR_CONTROL = 32
};

/* Frame flags. */
enum {
    KL_BATCH_FLAG_CRC = 1 /* the batch's CRC-32C is computed */
};

/* What the headers of a frame say. */
struct kl_batch_info
{
    uint32_t frame_size; /* whole frame */
    uint32_t flags;
    int64_t base_offset;
    int64_t last_offset; /* inclusive */
    int32_t leader_epoch;
    int16_t attributes;
    int16_t producer_epoch;
    int32_t base_sequence;
    int32_t record_count;
    int64_t base_timestamp;
    int64_t max_timestamp;
    int64_t producer_id;
};

/* Checksums of a log are seeded by its name, so that a frame of another log
 * never verifies. Computed once per log. */
uint64_t kl_batch_seed(const struct kl_base_uuid *topic_id, int32_t partition);

/* ---- frame ------------------------------------------------------------- */

/* Reads and verifies the headers at data. 0; KL_EAGAIN where size bytes are
 * fewer than the headers need; KL_ECORRUPT otherwise. The body is not looked
 * at and may lie beyond size. out is good only after 0. */
int kl_batch_frame_header(const uint8_t *data, size_t size, uint64_t seed,
                          struct kl_batch_info *out);
/* Verifies the records section of a whole frame whose header is good. */
int kl_batch_frame_body(const uint8_t *frame, uint64_t seed,
                        const struct kl_batch_info *info);
/* Both; KL_EAGAIN where the frame is not whole within size. */
int kl_batch_frame_verify(const uint8_t *data, size_t size, uint64_t seed,
                          struct kl_batch_info *out);
/* The leader's stamp: writes base offset and leader epoch and recomputes the
 * header checksum. The body is not touched. The offset behind the batch must
 * be representable. */
void kl_batch_frame_stamp(uint8_t *frame, uint64_t seed, int64_t base_offset,
                          int32_t leader_epoch);
/* CRC-32C of the batch as a Kafka client expects it; computed, not stored. */
uint32_t kl_batch_frame_crc(const uint8_t *frame,
                            const struct kl_batch_info *info);
/* The stored CRC against that one, where a flag says that it is computed: 0 or
 * KL_ECORRUPT. */
int kl_batch_frame_crc_verify(const uint8_t *frame,
                              const struct kl_batch_info *info);

/* ---- building ---------------------------------------------------------- */

struct kl_batch_header
{
    const void *name; /* UTF-8, never NULL */
    uint32_t name_size;
    const void *value; /* NULL = null */
    uint32_t value_size;
};

struct kl_batch_input
{
    int64_t timestamp; /* ms */
    const void *key;   /* NULL = null */
    uint32_t key_size;
    const void *value; /* NULL = null */
    uint32_t value_size;
    const struct kl_batch_header *headers;
    uint32_t header_count;
};

/* Accumulates the records of one batch straight into the chunk that becomes
 * the frame: the payload is copied once. Not thread-safe. */
struct kl_batch_builder
{
    const struct kl_base_alloc *alloc;
    struct kl_base_chunk *chunk; /* may be NULL while record_count is 0 */
    size_t size;                 /* of the frame so far, with its headers */
    int32_t record_count;
    int64_t base_timestamp;
    int64_t max_timestamp;
};

void kl_batch_builder_init(struct kl_batch_builder *b,
                           const struct kl_base_alloc *alloc);
void kl_batch_builder_deinit(struct kl_batch_builder *b);
/* Size of the frame that a batch of this one record would have, uncompressed;
 * SIZE_MAX where it is no legal record or larger than KL_BATCH_SIZE_MAX. */
size_t kl_batch_record_bound(const struct kl_batch_input *in);
/* Gives an empty builder a chunk to write into (taken). Without one the first
 * append allocates capacity_hint bytes. A chunk of a pool should have the
 * capacity of the limit: one that is too small is resized, not exchanged. */
void kl_batch_builder_use(struct kl_batch_builder *b,
                          struct kl_base_chunk *chunk);
/* Appends a record. Grows the chunk by doubling up to limit bytes; KL_EAGAIN
 * where the record does not fit below limit any more (the batch is full; with
 * an empty builder the record is too large), KL_ENOMEM, KL_EINVAL for a header
 * without a name. Unchanged on error. Times may go backwards. */
int kl_batch_builder_append(struct kl_batch_builder *b, size_t limit,
                            size_t capacity_hint,
                            const struct kl_batch_input *in);
/* Compresses if asked to and smaller that way, writes headers (base offset 0,
 * epoch -1, no producer id) and checksums, and hands the chunk over. The
 * builder is empty afterwards. seed as the log's. attributes: codec and others;
 * the codec bits are cleared where compression did not pay. A chunk that is
 * less than half full is cut to size, unless it has a recycle function.
 * KL_EINVAL where there is no record, KL_EUNSUPPORTED, KL_ENOMEM; the builder
 * is unchanged then. */
int kl_batch_builder_finish(struct kl_batch_builder *b, uint64_t seed,
                            int16_t attributes, struct kl_base_chunk **out);

/* ---- reading ----------------------------------------------------------- */

struct kl_batch_record
{
    int64_t offset;
    int64_t timestamp;
    const uint8_t *key; /* NULL = null; borrowed from the frame or iterator */
    const uint8_t *value;
    uint32_t key_size;
    uint32_t value_size;
    uint32_t header_count;
    uint32_t headers_size;
    const uint8_t *headers; /* encoded; see kl_batch_record_header */
};

/* Iterates over the records of one whole frame. Verifying checksums is the
 * caller's business; malformed records give KL_ECORRUPT all the same. */
struct kl_batch_iter
{
    const struct kl_base_alloc *alloc;
    const uint8_t *pos;
    const uint8_t *end;
    uint8_t *plain; /* decompressed records, owned */
    size_t plain_size;
    struct kl_batch_info info;
    int64_t gap;     /* offsets without a record before the next one */
    int64_t gap_max; /* in the whole batch: 0 unless it was compacted */
    int32_t index;
};

/* plain_limit bounds the decompressed size (KL_EBATCH beyond). The headers of
 * the frame are checked against each other, without their checksum. On failure
 * (KL_ECORRUPT, KL_EBATCH, KL_EUNSUPPORTED, KL_ENOMEM) there is nothing to
 * deinit. */
int kl_batch_iter_init(struct kl_batch_iter *it,
                       const struct kl_base_alloc *alloc, const uint8_t *frame,
                       size_t frame_size, size_t plain_limit);
void kl_batch_iter_deinit(struct kl_batch_iter *it);
/* 0, KL_EEND, KL_ECORRUPT; the same again after either. What out says is good
 * only after 0. Headers are checked here too. */
int kl_batch_iter_next(struct kl_batch_iter *it, struct kl_batch_record *out);
/* Header index of a record; KL_EEND past the last. */
int kl_batch_record_header(const struct kl_batch_record *record, uint32_t index,
                           struct kl_batch_header *out);

/* Reads all records of a whole frame: 0, or why they cannot be read, as
 * kl_batch_iter_init and kl_batch_iter_next. */
int kl_batch_records_verify(const struct kl_base_alloc *alloc,
                            const uint8_t *frame, size_t frame_size);

/* ---- codecs ------------------------------------------------------------ */

/* "none", "lz4", "zstd"; KL_ECONFIG for others, KL_EUNSUPPORTED where the
 * library was built without it. */
int kl_batch_codec_by_name(const char *name, enum kl_batch_codec *out);
/* Appends the compressed form of data to out: a frame of the codec, for lz4
 * with independent blocks as Kafka demands. KL_EUNSUPPORTED, KL_ENOMEM. */
int kl_batch_codec_compress(enum kl_batch_codec codec, const void *data,
                            size_t size, struct kl_base_buf *out);
/* Appends at most limit plain bytes to out and allocates no more than that for
 * them; KL_EBATCH where it would be more, KL_ECORRUPT where data is malformed,
 * KL_EUNSUPPORTED, KL_ENOMEM. out keeps its size on failure. */
int kl_batch_codec_decompress(enum kl_batch_codec codec, const void *data,
                              size_t size, size_t limit,
                              struct kl_base_buf *out);

#endif
