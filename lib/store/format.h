/*
 * Every byte that the store writes, except frames (batch/frame.c). All numbers
 * are little-endian; every structure carries its magic, its version and an
 * XXH3-64 checksum, so that zeros, garbage, another file and another life of
 * the same file are told from what belongs there. kraftlog-format(5) shows the
 * same tables.
 *
 * WAL group: header, entry headers, frames, zeros up to a multiple of 4 KiB.
 *
 *   0  magic u32          40  previous u64   checksum of the group before
 *   4  version u16        48  salt u64       of this lap
 *   6  kind u16           56  entry_count u32
 *   8  checksum u64       60  size u32       whole group, padded
 *  16  directory u64      64  body_size u32  frames
 *  24  sequence u64       68  reserved u32
 *  32  lap u64            72  entry headers, 64 bytes each
 *
 * The checksum covers bytes 16.. and all entry headers, seeded by bytes 0..7.
 *
 * WAL entry header:
 *
 *   0  type u8             16  offset i64     32  epoch i32
 *   1  flags u8            24  end i64        36  size u32   of its frame
 *   2  reserved u16        40  topic id       56  partition i32
 *   4  truncation u32       8  instance u64   60  reserved u32
 */
#ifndef KL_STORE_FORMAT_H
#define KL_STORE_FORMAT_H

#include "base/buf.h"
#include "base/cursor.h"
#include "store/store.h"

enum {
    KL_STORE_BLOCK = 4096,
    KL_STORE_VERSION = 1, /* of every structure but the identity */
    KL_STORE_QUORUM_VERSION = 2,
    KL_STORE_FORMAT = 3, /* of the folder, in its identity: 3 has flags there,
                            and a broker epoch */
    KL_STORE_FORMAT_QUORUM = 2, /* the first with a reserve and the quorum
                                   state */

    KL_STORE_GROUP_HEADER = 72,
    KL_STORE_ENTRY_HEADER = 64,
    KL_STORE_ENTRIES_MAX = 16384, /* per group */

    KL_STORE_INDEX_HEADER = 24,
    KL_STORE_INDEX_ENTRY = 16,
    KL_STORE_INDEX_FANOUT =
        (KL_STORE_BLOCK - KL_STORE_INDEX_HEADER) / KL_STORE_INDEX_ENTRY
};

/* "KLWG", "KLSL", "KLMF", "KLSG", "KLIX", "KLID", "KLQS", "KLSN" as
 * little-endian words. */
#define KL_STORE_MAGIC_GROUP 0x47574c4bU
#define KL_STORE_MAGIC_SLOT 0x4c534c4bU
#define KL_STORE_MAGIC_MANIFEST 0x464d4c4bU
#define KL_STORE_MAGIC_SEGMENT 0x47534c4bU
#define KL_STORE_MAGIC_INDEX 0x58494c4bU
#define KL_STORE_MAGIC_IDENTITY 0x44494c4bU
#define KL_STORE_MAGIC_QUORUM 0x53514c4bU
#define KL_STORE_MAGIC_SNAPSHOT 0x4e534c4bU

enum kl_store_group_kind {
    KL_STORE_GROUP_DATA = 1,
    KL_STORE_GROUP_SEAL = 2 /* proves that the group before was durable */
};

struct kl_store_group_header
{
    enum kl_store_group_kind kind;
    uint64_t checksum; /* out when encoding */
    uint64_t directory;
    uint64_t sequence;
    uint64_t lap;
    uint64_t previous;
    uint64_t salt;
    uint32_t entry_count;
    uint32_t size;
    uint32_t body_size;
};

/* Kinds of change to a log (storage.md 5.1). EXTENT has its place in the
 * format; replay refuses it until it is written by anybody. */
enum kl_store_entry_type {
    KL_STORE_ENTRY_APPEND = 1,
    KL_STORE_ENTRY_CREATE = 2,
    KL_STORE_ENTRY_TRUNCATE = 3,
    KL_STORE_ENTRY_EPOCH = 4,
    KL_STORE_ENTRY_START = 5,
    KL_STORE_ENTRY_DELETE = 6,
    KL_STORE_ENTRY_RESET = 7,
    KL_STORE_ENTRY_EXTENT = 8
};

/* Whether a new instance of a log begins with it. */
static inline int kl_store_entry_is_birth(enum kl_store_entry_type type)
{
    return type == KL_STORE_ENTRY_CREATE || type == KL_STORE_ENTRY_RESET;
}

struct kl_store_entry_header
{
    enum kl_store_entry_type type;
    uint8_t flags; /* CREATE, RESET: enum kl_store_flush */
    uint32_t truncation;
    uint64_t instance;
    int64_t offset;
    int64_t end;
    int32_t epoch;
    uint32_t size;
    struct kl_store_id id;
};

/* Encodes the entry headers first, then the header with its checksum. */
void kl_store_entry_encode(uint8_t *out, const struct kl_store_entry_header *e);
void kl_store_group_encode(uint8_t *out, struct kl_store_group_header *h);
/* Parses a header without its checksum: 0 or KL_ECORRUPT. */
int kl_store_group_decode(const uint8_t *data, struct kl_store_group_header *h);
/* Header and entry headers, contiguous at data, against the checksum. */
int kl_store_group_verify(const uint8_t *data,
                          const struct kl_store_group_header *h);
int kl_store_entry_decode(const uint8_t *data, struct kl_store_entry_header *e);

/* Checksummed envelope of the small files: magic u32, version u16, reserved
 * u16, size u32 (whole), reserved u32, checksum u64 over what follows, then
 * the content. begin reserves the 24 bytes, end fills them in. */
enum { KL_STORE_ENVELOPE = 24 };
void kl_store_envelope_begin(struct kl_base_buf *b);
void kl_store_envelope_end(struct kl_base_buf *b, uint32_t magic);
/* Checks it and sets the cursor to the content. size is what was read, which
 * may be more. KL_ECORRUPT, KL_EFORMAT. */
int kl_store_envelope_open(const uint8_t *data, size_t size, uint32_t magic,
                           struct kl_base_cursor *out);
/* The same where versions up to newest are known; says which it is. */
int kl_store_envelope_open_version(const uint8_t *data, size_t size,
                                   uint32_t magic, uint16_t newest,
                                   uint16_t *version_out,
                                   struct kl_base_cursor *out);

/* identity */
int kl_store_identity_encode(struct kl_base_buf *b,
                             const struct kl_store_identity *id);
int kl_store_identity_decode(const uint8_t *data, size_t size,
                             struct kl_store_identity *id);

/* quorum.a, quorum.b: a block, zeros behind the content */
struct kl_store_quorum_record
{
    uint64_t generation;
    struct kl_base_uuid directory_id; /* the folder that it belongs to */
    struct kl_store_quorum state;
    int64_t broker_epoch; /* -1 = none; version 1 has none, nor: */
    struct kl_base_uuid incarnation_id; /* zero = none */
};
int kl_store_quorum_encode(struct kl_base_buf *b,
                           const struct kl_store_quorum_record *r);
int kl_store_quorum_decode(const uint8_t *data, size_t size,
                           struct kl_store_quorum_record *r);

/* Snapshot: a block with the header, then blocks of 64 KiB, the last one only
 * as long as it must be: checksum u64, bytes. The header is written last. */
enum {
    KL_STORE_SNAPSHOT_BLOCK = 65536,
    KL_STORE_SNAPSHOT_DATA = KL_STORE_SNAPSHOT_BLOCK - 8
};
struct kl_store_snapshot_header
{
    struct kl_base_uuid cluster_id;
    struct kl_store_snapshot info;
};
int kl_store_snapshot_encode(struct kl_base_buf *b,
                             const struct kl_store_snapshot_header *h);
int kl_store_snapshot_decode(const uint8_t *data, size_t size,
                             struct kl_store_snapshot_header *h);
/* Bytes of the file of a snapshot with this content. */
uint64_t kl_store_snapshot_file_size(uint64_t size);
/* Checksum of a block: of these bytes, in this place, of this snapshot. */
uint64_t kl_store_snapshot_hash(const struct kl_store_snapshot *info,
                                uint64_t index, const uint8_t *data,
                                size_t size);
/* The checksum of a snapshot, from 0 on, after its next block. */
uint64_t kl_store_snapshot_chain(uint64_t checksum, uint64_t block);

/* What a manifest or slot says of one segment. */
struct kl_store_segment_info
{
    int64_t base;
    int64_t end;   /* next offset; -1 in a manifest = still open */
    uint64_t size; /* bytes in use, segment header included */
    int64_t max_timestamp;
    int64_t first_ms; /* wall time of the first append, broker's clock */
    int64_t last_ms;
    uint32_t truncation; /* truncation count at its creation */
};

/* Segment header block, first 4 KiB of a segment. */
struct kl_store_segment_header
{
    struct kl_store_id id;
    uint64_t instance;
    int64_t base;
    uint32_t truncation;
};
void kl_store_segment_header_encode(uint8_t out[KL_STORE_BLOCK],
                                    const struct kl_store_segment_header *h);
int kl_store_segment_header_decode(const uint8_t data[KL_STORE_BLOCK],
                                   struct kl_store_segment_header *h);

/* Index block: magic u32, count u32, segment base i64, checksum u64 over the
 * rest seeded by bytes 0..15, then count entries. */
struct kl_store_index_entry
{
    uint32_t relative;     /* offset - segment base */
    uint32_t position;     /* of the frame with that base offset */
    int64_t max_timestamp; /* of all frames before position */
};
void kl_store_index_block_encode(uint8_t out[KL_STORE_BLOCK], int64_t base,
                                 const struct kl_store_index_entry *entries,
                                 uint32_t count);
/* entries must have room for KL_STORE_INDEX_FANOUT. */
int kl_store_index_block_decode(const uint8_t data[KL_STORE_BLOCK],
                                int64_t base,
                                struct kl_store_index_entry *entries,
                                uint32_t *count_out);

/* manifest */
struct kl_store_manifest
{
    struct kl_store_id id;
    uint64_t instance;
    uint32_t truncation;
    uint32_t count;
    struct kl_store_segment_info *segments; /* count of them, ascending */
};
/* Bytes of a manifest of count segments. */
size_t kl_store_manifest_size(size_t count);
/* Begin with all but the segments, add each of the count, end: 0 or
 * KL_ENOMEM. */
void kl_store_manifest_begin(struct kl_base_buf *b,
                             const struct kl_store_manifest *m);
void kl_store_manifest_add(struct kl_base_buf *b,
                           const struct kl_store_segment_info *info);
int kl_store_manifest_end(struct kl_base_buf *b);
int kl_store_manifest_encode(struct kl_base_buf *b,
                             const struct kl_store_manifest *m);
/* segments is allocated; free count * sizeof. */
int kl_store_manifest_decode(const uint8_t *data, size_t size,
                             const struct kl_base_alloc *alloc,
                             struct kl_store_manifest *m);

/* checkpoint slot */
struct kl_store_position
{
    uint64_t sequence; /* of the next group */
    uint64_t lap;
    uint64_t salt;
    uint64_t previous; /* checksum of the last group before */
    uint32_t file;
    uint32_t offset;
};

enum { KL_STORE_SLOT_CLEAN = 1 };

struct kl_store_slot
{
    uint64_t generation;
    struct kl_store_position position;
    uint32_t file_count;
    uint32_t flags;
    uint64_t file_size;
    int64_t broker_epoch;
    uint32_t log_count;
};

enum { KL_STORE_SLOT_DAMAGED = 1 }; /* flag of a log: see kraftlog-format(5) */

struct kl_store_slot_log
{
    struct kl_store_id id;
    uint8_t flush;
    uint8_t flags;
    uint64_t instance;
    uint32_t truncation;
    uint32_t epoch_count;
    int64_t start;
    int64_t leo;
    int64_t high_watermark;
    uint64_t bytes;                      /* frames in sealed segments */
    struct kl_store_segment_info active; /* base -1 = no segment */
};

int kl_store_slot_begin(struct kl_base_buf *b, const struct kl_store_slot *s);
/* Appends a log and its epochs; returns the position of the log's fixed part,
 * for kl_store_slot_patch. */
size_t kl_store_slot_add(struct kl_base_buf *b,
                         const struct kl_store_slot_log *log,
                         const struct kl_batch_epochs *epochs);
/* Replaces what the segment writer knew only later. */
void kl_store_slot_patch(struct kl_base_buf *b, size_t at,
                         const struct kl_store_slot_log *log);
void kl_store_slot_end(struct kl_base_buf *b);
int kl_store_slot_decode(const uint8_t *data, size_t size,
                         struct kl_base_cursor *c, struct kl_store_slot *s);
/* Reads the next of log_count logs; then its epoch_count epochs. */
int kl_store_slot_next(struct kl_base_cursor *c, struct kl_store_slot_log *log);
int kl_store_slot_epoch(struct kl_base_cursor *c, struct kl_batch_epoch *e);

#endif
