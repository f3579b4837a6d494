/*
 * Encoding and decoding of what format.h describes. Pure functions over bytes:
 * everything read is checked, nothing is trusted for its length.
 */
#include "store/format.h"

#include "base/assert.h"
#include "base/endian.h"
#include "base/hash.h"

#include <string.h>

KL_STATIC_ASSERT(KL_STORE_INDEX_FANOUT == 254, "index block holds 254 entries");
KL_STATIC_ASSERT(KL_STORE_GROUP_HEADER % 8 == 0, "entry headers are aligned");

/* ---- WAL --------------------------------------------------------------- */

void kl_store_entry_encode(uint8_t *out, const struct kl_store_entry_header *e)
{
    out[0] = (uint8_t)e->type;
    out[1] = e->flags;
    kl_base_put_le16(out + 2, 0);
    kl_base_put_le32(out + 4, e->truncation);
    kl_base_put_le64(out + 8, e->instance);
    kl_base_put_le64(out + 16, (uint64_t)e->offset);
    kl_base_put_le64(out + 24, (uint64_t)e->end);
    kl_base_put_le32(out + 32, (uint32_t)e->epoch);
    kl_base_put_le32(out + 36, e->size);
    memcpy(out + 40, e->id.topic_id.bytes, 16);
    kl_base_put_le32(out + 56, (uint32_t)e->id.partition);
    kl_base_put_le32(out + 60, 0);
}

int kl_store_entry_decode(const uint8_t *data, struct kl_store_entry_header *e)
{
    if (data[0] < KL_STORE_ENTRY_APPEND || data[0] > KL_STORE_ENTRY_EXTENT)
        return KL_EFORMAT;
    e->type = (enum kl_store_entry_type)data[0];
    e->flags = data[1];
    e->truncation = kl_base_get_le32(data + 4);
    e->instance = kl_base_get_le64(data + 8);
    e->offset = (int64_t)kl_base_get_le64(data + 16);
    e->end = (int64_t)kl_base_get_le64(data + 24);
    e->epoch = (int32_t)kl_base_get_le32(data + 32);
    e->size = kl_base_get_le32(data + 36);
    memcpy(e->id.topic_id.bytes, data + 40, 16);
    e->id.partition = (int32_t)kl_base_get_le32(data + 56);
    if (e->offset < 0 || e->id.partition < 0 ||
        kl_base_get_le16(data + 2) != 0 || kl_base_get_le32(data + 60) != 0)
        return KL_ECORRUPT;
    return 0;
}

static uint64_t group_checksum(const uint8_t *data, uint32_t entry_count)
{
    size_t size = KL_STORE_GROUP_HEADER - 16 +
                  (size_t)entry_count * KL_STORE_ENTRY_HEADER;

    return kl_base_hash(data + 16, size, kl_base_get_le64(data));
}

void kl_store_group_encode(uint8_t *out, struct kl_store_group_header *h)
{
    kl_base_put_le32(out, KL_STORE_MAGIC_GROUP);
    kl_base_put_le16(out + 4, KL_STORE_VERSION);
    kl_base_put_le16(out + 6, (uint16_t)h->kind);
    kl_base_put_le64(out + 16, h->directory);
    kl_base_put_le64(out + 24, h->sequence);
    kl_base_put_le64(out + 32, h->lap);
    kl_base_put_le64(out + 40, h->previous);
    kl_base_put_le64(out + 48, h->salt);
    kl_base_put_le32(out + 56, h->entry_count);
    kl_base_put_le32(out + 60, h->size);
    kl_base_put_le32(out + 64, h->body_size);
    kl_base_put_le32(out + 68, 0);
    h->checksum = group_checksum(out, h->entry_count);
    kl_base_put_le64(out + 8, h->checksum);
}

int kl_store_group_decode(const uint8_t *data, struct kl_store_group_header *h)
{
    uint16_t kind = kl_base_get_le16(data + 6);
    uint64_t least;

    if (kl_base_get_le32(data) != KL_STORE_MAGIC_GROUP ||
        kl_base_get_le16(data + 4) != KL_STORE_VERSION ||
        (kind != KL_STORE_GROUP_DATA && kind != KL_STORE_GROUP_SEAL))
        return KL_ECORRUPT;
    h->kind = (enum kl_store_group_kind)kind;
    h->checksum = kl_base_get_le64(data + 8);
    h->directory = kl_base_get_le64(data + 16);
    h->sequence = kl_base_get_le64(data + 24);
    h->lap = kl_base_get_le64(data + 32);
    h->previous = kl_base_get_le64(data + 40);
    h->salt = kl_base_get_le64(data + 48);
    h->entry_count = kl_base_get_le32(data + 56);
    h->size = kl_base_get_le32(data + 60);
    h->body_size = kl_base_get_le32(data + 64);
    if (h->entry_count > KL_STORE_ENTRIES_MAX ||
        h->size % KL_STORE_BLOCK != 0 || h->size == 0 ||
        kl_base_get_le32(data + 68) != 0)
        return KL_ECORRUPT;
    least = KL_STORE_GROUP_HEADER +
            (uint64_t)h->entry_count * KL_STORE_ENTRY_HEADER + h->body_size;
    return least > h->size ? KL_ECORRUPT : 0;
}

int kl_store_group_verify(const uint8_t *data,
                          const struct kl_store_group_header *h)
{
    return group_checksum(data, h->entry_count) == h->checksum ? 0
                                                               : KL_ECORRUPT;
}

/* ---- envelope of small files ------------------------------------------- */

void kl_store_envelope_begin(struct kl_base_buf *b)
{
    kl_base_buf_clear(b);
    kl_base_buf_extend(b, KL_STORE_ENVELOPE);
}

static void envelope_end(struct kl_base_buf *b, uint32_t magic,
                         uint16_t version)
{
    if (b->error)
        return;
    kl_base_put_le32(b->data, magic);
    kl_base_put_le16(b->data + 4, version);
    kl_base_put_le16(b->data + 6, 0);
    kl_base_put_le32(b->data + 8, (uint32_t)b->size);
    kl_base_put_le32(b->data + 12, 0);
    kl_base_put_le64(b->data + 16,
                     kl_base_hash(b->data + KL_STORE_ENVELOPE,
                                  b->size - KL_STORE_ENVELOPE,
                                  kl_base_get_le64(b->data) ^ b->size));
}

void kl_store_envelope_end(struct kl_base_buf *b, uint32_t magic)
{
    envelope_end(b, magic, KL_STORE_VERSION);
}

int kl_store_envelope_open(const uint8_t *data, size_t size, uint32_t magic,
                           struct kl_base_cursor *out)
{
    uint16_t version;

    return kl_store_envelope_open_version(data, size, magic, KL_STORE_VERSION,
                                          &version, out);
}

int kl_store_envelope_open_version(const uint8_t *data, size_t size,
                                   uint32_t magic, uint16_t newest,
                                   uint16_t *version_out,
                                   struct kl_base_cursor *out)
{
    size_t whole;

    if (size < KL_STORE_ENVELOPE || kl_base_get_le32(data) != magic)
        return KL_ECORRUPT;
    whole = kl_base_get_le32(data + 8);
    if (whole < KL_STORE_ENVELOPE || whole > size ||
        kl_base_get_le32(data + 12) != 0 || kl_base_get_le16(data + 6) != 0)
        return KL_ECORRUPT;
    if (kl_base_hash(data + KL_STORE_ENVELOPE, whole - KL_STORE_ENVELOPE,
                     kl_base_get_le64(data) ^ whole) !=
        kl_base_get_le64(data + 16))
        return KL_ECORRUPT;
    *version_out = kl_base_get_le16(data + 4);
    if (*version_out == 0 || *version_out > newest)
        return KL_EFORMAT;
    kl_base_cursor_init(out, data + KL_STORE_ENVELOPE,
                        whole - KL_STORE_ENVELOPE);
    return 0;
}

/* ---- pieces ------------------------------------------------------------ */

/* Fields that nobody has a use for yet. */
static void format_get_reserved(struct kl_base_cursor *c, int size)
{
    for (; size > 0; size--)
        if (kl_base_cursor_get8(c) != 0)
            c->failed = 1;
}

static int format_is_whole(const struct kl_base_cursor *c)
{
    return !c->failed && c->pos == c->size;
}

static void format_put_id(struct kl_base_buf *b, const struct kl_store_id *id)
{
    kl_base_buf_append(b, id->topic_id.bytes, 16);
    kl_base_buf_put_le32(b, (uint32_t)id->partition);
}

static void format_get_uuid(struct kl_base_cursor *c, struct kl_base_uuid *out)
{
    const uint8_t *p = kl_base_cursor_bytes(c, 16);

    if (p)
        memcpy(out->bytes, p, 16);
}

static void format_get_id(struct kl_base_cursor *c, struct kl_store_id *id)
{
    format_get_uuid(c, &id->topic_id);
    id->partition = (int32_t)kl_base_cursor_get_le32(c);
    if (id->partition < 0)
        c->failed = 1;
}

static void format_put_info(struct kl_base_buf *b,
                            const struct kl_store_segment_info *i)
{
    kl_base_buf_put_le64(b, (uint64_t)i->base);
    kl_base_buf_put_le64(b, (uint64_t)i->end);
    kl_base_buf_put_le64(b, i->size);
    kl_base_buf_put_le64(b, (uint64_t)i->max_timestamp);
    kl_base_buf_put_le64(b, (uint64_t)i->first_ms);
    kl_base_buf_put_le64(b, (uint64_t)i->last_ms);
    kl_base_buf_put_le32(b, i->truncation);
    kl_base_buf_put_le32(b, 0);
}

static void format_get_info(struct kl_base_cursor *c,
                            struct kl_store_segment_info *i)
{
    i->base = (int64_t)kl_base_cursor_get_le64(c);
    i->end = (int64_t)kl_base_cursor_get_le64(c);
    i->size = kl_base_cursor_get_le64(c);
    i->max_timestamp = (int64_t)kl_base_cursor_get_le64(c);
    i->first_ms = (int64_t)kl_base_cursor_get_le64(c);
    i->last_ms = (int64_t)kl_base_cursor_get_le64(c);
    i->truncation = kl_base_cursor_get_le32(c);
    format_get_reserved(c, 4);
}

/* A range of offsets with bytes for a header block at least. */
static int format_info_is_sound(const struct kl_store_segment_info *i)
{
    return i->base >= 0 && i->end >= i->base && i->size >= KL_STORE_BLOCK &&
           i->size <= INT64_MAX;
}

/* ---- identity ---------------------------------------------------------- */

enum { IDENTITY_FLAGS = 3 }; /* the first version with them */

int kl_store_identity_encode(struct kl_base_buf *b,
                             const struct kl_store_identity *id)
{
    uint16_t version = id->version ? id->version : KL_STORE_FORMAT;

    kl_store_envelope_begin(b);
    kl_base_buf_append(b, id->cluster_id.bytes, 16);
    kl_base_buf_append(b, id->directory_id.bytes, 16);
    kl_base_buf_put_le32(b, (uint32_t)id->node_id);
    if (version >= IDENTITY_FLAGS)
        kl_base_buf_put_le32(b, id->flags);
    envelope_end(b, KL_STORE_MAGIC_IDENTITY, version);
    return b->error;
}

int kl_store_identity_decode(const uint8_t *data, size_t size,
                             struct kl_store_identity *id)
{
    struct kl_base_cursor c;
    uint32_t flags;
    int rc = kl_store_envelope_open_version(data, size, KL_STORE_MAGIC_IDENTITY,
                                            KL_STORE_FORMAT, &id->version, &c);

    if (rc)
        return rc;
    format_get_uuid(&c, &id->cluster_id);
    format_get_uuid(&c, &id->directory_id);
    id->node_id = (int32_t)kl_base_cursor_get_le32(&c);
    flags = id->version < IDENTITY_FLAGS ? 0 : kl_base_cursor_get_le32(&c);
    if (!format_is_whole(&c) || flags > KL_STORE_JOINED ||
        (flags == KL_STORE_JOINS && !kl_base_uuid_is_zero(&id->cluster_id)))
        return KL_ECORRUPT;
    id->flags = (uint16_t)flags;
    return 0;
}

/* ---- quorum state -------------------------------------------------------- */

/* Zeros up to a block; b may have had less before. */
static void format_pad(struct kl_base_buf *b)
{
    size_t size = KL_STORE_BLOCK - b->size;
    uint8_t *zeros = b->error ? NULL : kl_base_buf_extend(b, size);

    if (zeros)
        memset(zeros, 0, size);
}

/* A block that holds nothing behind what the cursor has read. */
static int format_is_padded(const uint8_t *data, size_t size,
                            const struct kl_base_cursor *c)
{
    if (!format_is_whole(c) || size != KL_STORE_BLOCK)
        return 0;
    for (size_t i = KL_STORE_ENVELOPE + c->size; i < size; i++)
        if (data[i] != 0)
            return 0;
    return 1;
}

int kl_store_quorum_encode(struct kl_base_buf *b,
                           const struct kl_store_quorum_record *r)
{
    kl_store_envelope_begin(b);
    kl_base_buf_put_le64(b, r->generation);
    kl_base_buf_append(b, r->directory_id.bytes, 16);
    kl_base_buf_put_le32(b, (uint32_t)r->state.epoch);
    kl_base_buf_put_le32(b, (uint32_t)r->state.leader_id);
    kl_base_buf_put_le32(b, (uint32_t)r->state.voted_id);
    kl_base_buf_append(b, r->state.voted_directory_id.bytes, 16);
    kl_base_buf_put_le32(b, 0);
    kl_base_buf_put_le64(b, (uint64_t)r->broker_epoch);
    kl_base_buf_append(b, r->incarnation_id.bytes, 16);
    envelope_end(b, KL_STORE_MAGIC_QUORUM, KL_STORE_QUORUM_VERSION);
    format_pad(b);
    return b->error;
}

int kl_store_quorum_decode(const uint8_t *data, size_t size,
                           struct kl_store_quorum_record *r)
{
    struct kl_base_cursor c;
    uint16_t version;
    int rc =
        kl_store_envelope_open_version(data, size, KL_STORE_MAGIC_QUORUM,
                                       KL_STORE_QUORUM_VERSION, &version, &c);

    if (rc)
        return rc;
    r->generation = kl_base_cursor_get_le64(&c);
    format_get_uuid(&c, &r->directory_id);
    r->state.epoch = (int32_t)kl_base_cursor_get_le32(&c);
    r->state.leader_id = (int32_t)kl_base_cursor_get_le32(&c);
    r->state.voted_id = (int32_t)kl_base_cursor_get_le32(&c);
    format_get_uuid(&c, &r->state.voted_directory_id);
    format_get_reserved(&c, 4);
    r->broker_epoch = -1;
    r->incarnation_id = (struct kl_base_uuid){{0}};
    if (version > 1) {
        r->broker_epoch = (int64_t)kl_base_cursor_get_le64(&c);
        format_get_uuid(&c, &r->incarnation_id);
    }
    if (!format_is_padded(data, size, &c) || r->state.epoch < 0 ||
        r->state.leader_id < -1 || r->state.voted_id < -1 ||
        r->broker_epoch < -1)
        return KL_ECORRUPT;
    return 0;
}

/* ---- snapshots ----------------------------------------------------------- */

int kl_store_snapshot_encode(struct kl_base_buf *b,
                             const struct kl_store_snapshot_header *h)
{
    kl_store_envelope_begin(b);
    kl_base_buf_append(b, h->cluster_id.bytes, 16);
    kl_base_buf_put_le64(b, (uint64_t)h->info.end);
    kl_base_buf_put_le32(b, (uint32_t)h->info.epoch);
    kl_base_buf_put_le32(b, KL_STORE_SNAPSHOT_BLOCK);
    kl_base_buf_put_le64(b, h->info.size);
    kl_base_buf_put_le64(b, h->info.checksum);
    kl_store_envelope_end(b, KL_STORE_MAGIC_SNAPSHOT);
    format_pad(b);
    return b->error;
}

int kl_store_snapshot_decode(const uint8_t *data, size_t size,
                             struct kl_store_snapshot_header *h)
{
    struct kl_base_cursor c;
    int rc = kl_store_envelope_open(data, size, KL_STORE_MAGIC_SNAPSHOT, &c);
    uint32_t block;

    if (rc)
        return rc;
    format_get_uuid(&c, &h->cluster_id);
    h->info.end = (int64_t)kl_base_cursor_get_le64(&c);
    h->info.epoch = (int32_t)kl_base_cursor_get_le32(&c);
    block = kl_base_cursor_get_le32(&c);
    h->info.size = kl_base_cursor_get_le64(&c);
    h->info.checksum = kl_base_cursor_get_le64(&c);
    if (!format_is_padded(data, size, &c) || h->info.end < 0 ||
        h->info.epoch < 0 || block != KL_STORE_SNAPSHOT_BLOCK ||
        h->info.size > INT64_MAX / 2)
        return KL_ECORRUPT;
    return 0;
}

uint64_t kl_store_snapshot_file_size(uint64_t size)
{
    uint64_t blocks =
        (size + KL_STORE_SNAPSHOT_DATA - 1) / KL_STORE_SNAPSHOT_DATA;

    return KL_STORE_BLOCK + size + 8 * blocks;
}

uint64_t kl_store_snapshot_hash(const struct kl_store_snapshot *info,
                                uint64_t index, const uint8_t *data,
                                size_t size)
{
    uint8_t place[20];

    kl_base_put_le64(place, (uint64_t)info->end);
    kl_base_put_le32(place + 8, (uint32_t)info->epoch);
    kl_base_put_le64(place + 12, index);
    return kl_base_hash(data, size, kl_base_hash(place, sizeof place, 0));
}

uint64_t kl_store_snapshot_chain(uint64_t checksum, uint64_t block)
{
    uint8_t bytes[8];

    kl_base_put_le64(bytes, block);
    return kl_base_hash(bytes, sizeof bytes, checksum);
}

/* ---- segment header ---------------------------------------------------- */

void kl_store_segment_header_encode(uint8_t out[KL_STORE_BLOCK],
                                    const struct kl_store_segment_header *h)
{
    memset(out, 0, KL_STORE_BLOCK);
    kl_base_put_le32(out, KL_STORE_MAGIC_SEGMENT);
    kl_base_put_le16(out + 4, KL_STORE_VERSION);
    kl_base_put_le64(out + 16, h->instance);
    kl_base_put_le64(out + 24, (uint64_t)h->base);
    memcpy(out + 32, h->id.topic_id.bytes, 16);
    kl_base_put_le32(out + 48, (uint32_t)h->id.partition);
    kl_base_put_le32(out + 52, h->truncation);
    kl_base_put_le64(out + 8, kl_base_hash(out + 16, KL_STORE_BLOCK - 16,
                                           kl_base_get_le64(out)));
}

int kl_store_segment_header_decode(const uint8_t data[KL_STORE_BLOCK],
                                   struct kl_store_segment_header *h)
{
    if (kl_base_get_le32(data) != KL_STORE_MAGIC_SEGMENT ||
        kl_base_hash(data + 16, KL_STORE_BLOCK - 16, kl_base_get_le64(data)) !=
            kl_base_get_le64(data + 8))
        return KL_ECORRUPT;
    if (kl_base_get_le16(data + 4) != KL_STORE_VERSION)
        return KL_EFORMAT;
    h->instance = kl_base_get_le64(data + 16);
    h->base = (int64_t)kl_base_get_le64(data + 24);
    memcpy(h->id.topic_id.bytes, data + 32, 16);
    h->id.partition = (int32_t)kl_base_get_le32(data + 48);
    h->truncation = kl_base_get_le32(data + 52);
    return 0;
}

/* ---- index block ------------------------------------------------------- */

static uint64_t index_checksum(const uint8_t *block)
{
    uint64_t seed = kl_base_get_le64(block) ^ kl_base_get_le64(block + 8);

    return kl_base_hash(block + KL_STORE_INDEX_HEADER,
                        KL_STORE_BLOCK - KL_STORE_INDEX_HEADER, seed);
}

void kl_store_index_block_encode(uint8_t out[KL_STORE_BLOCK], int64_t base,
                                 const struct kl_store_index_entry *entries,
                                 uint32_t count)
{
    uint8_t *p = out + KL_STORE_INDEX_HEADER;

    memset(out, 0, KL_STORE_BLOCK);
    kl_base_put_le32(out, KL_STORE_MAGIC_INDEX);
    kl_base_put_le32(out + 4, count);
    kl_base_put_le64(out + 8, (uint64_t)base);
    for (uint32_t i = 0; i < count; i++, p += KL_STORE_INDEX_ENTRY) {
        kl_base_put_le32(p, entries[i].relative);
        kl_base_put_le32(p + 4, entries[i].position);
        kl_base_put_le64(p + 8, (uint64_t)entries[i].max_timestamp);
    }
    kl_base_put_le64(out + 16, index_checksum(out));
}

/* Entries ascend and point at frames. */
static int index_entry_follows(const struct kl_store_index_entry *e,
                               const struct kl_store_index_entry *previous)
{
    if (e->position < KL_STORE_BLOCK)
        return 0;
    return !previous || (e->relative > previous->relative &&
                         e->position > previous->position &&
                         e->max_timestamp >= previous->max_timestamp);
}

int kl_store_index_block_decode(const uint8_t data[KL_STORE_BLOCK],
                                int64_t base,
                                struct kl_store_index_entry *entries,
                                uint32_t *count_out)
{
    const uint8_t *p = data + KL_STORE_INDEX_HEADER;
    uint32_t count = kl_base_get_le32(data + 4);

    if (kl_base_get_le32(data) != KL_STORE_MAGIC_INDEX || count == 0 ||
        count > KL_STORE_INDEX_FANOUT ||
        (int64_t)kl_base_get_le64(data + 8) != base ||
        kl_base_get_le64(data + 16) != index_checksum(data))
        return KL_ECORRUPT;
    for (uint32_t i = 0; i < count; i++, p += KL_STORE_INDEX_ENTRY) {
        entries[i].relative = kl_base_get_le32(p);
        entries[i].position = kl_base_get_le32(p + 4);
        entries[i].max_timestamp = (int64_t)kl_base_get_le64(p + 8);
        if (!index_entry_follows(&entries[i], i > 0 ? &entries[i - 1] : NULL))
            return KL_ECORRUPT;
    }
    *count_out = count;
    return 0;
}

/* ---- manifest ---------------------------------------------------------- */

enum {
    MANIFEST_HEADER = 36,
    MANIFEST_SEGMENT = 56,
    MANIFEST_SEGMENTS_MAX = 1 << 20
};

size_t kl_store_manifest_size(size_t count)
{
    return KL_STORE_ENVELOPE + MANIFEST_HEADER + count * MANIFEST_SEGMENT;
}

void kl_store_manifest_begin(struct kl_base_buf *b,
                             const struct kl_store_manifest *m)
{
    kl_store_envelope_begin(b);
    format_put_id(b, &m->id);
    kl_base_buf_put_le64(b, m->instance);
    kl_base_buf_put_le32(b, m->truncation);
    kl_base_buf_put_le32(b, m->count);
}

void kl_store_manifest_add(struct kl_base_buf *b,
                           const struct kl_store_segment_info *info)
{
    format_put_info(b, info);
}

int kl_store_manifest_end(struct kl_base_buf *b)
{
    kl_store_envelope_end(b, KL_STORE_MAGIC_MANIFEST);
    return b->error;
}

int kl_store_manifest_encode(struct kl_base_buf *b,
                             const struct kl_store_manifest *m)
{
    kl_store_manifest_begin(b, m);
    for (uint32_t i = 0; i < m->count; i++)
        kl_store_manifest_add(b, &m->segments[i]);
    return kl_store_manifest_end(b);
}

/* Segments ascend and do not overlap; only the last one may be open. */
static int manifest_is_sound(const struct kl_store_manifest *m)
{
    const struct kl_store_segment_info *i = m->segments;

    for (uint32_t k = 0; k < m->count; k++, i++) {
        int is_last = k + 1 == m->count;

        if (is_last && i->end == -1 ? i->base < 0 : !format_info_is_sound(i))
            return 0;
        if (!is_last && (i[1].base <= i->base || i[1].base < i->end))
            return 0;
    }
    return 1;
}

int kl_store_manifest_decode(const uint8_t *data, size_t size,
                             const struct kl_base_alloc *alloc,
                             struct kl_store_manifest *m)
{
    struct kl_base_cursor c;
    int rc = kl_store_envelope_open(data, size, KL_STORE_MAGIC_MANIFEST, &c);

    if (rc)
        return rc;
    format_get_id(&c, &m->id);
    m->instance = kl_base_cursor_get_le64(&c);
    m->truncation = kl_base_cursor_get_le32(&c);
    m->count = kl_base_cursor_get_le32(&c);
    m->segments = NULL;
    if (c.failed || m->count > MANIFEST_SEGMENTS_MAX ||
        c.size - c.pos != (size_t)m->count * MANIFEST_SEGMENT)
        return KL_ECORRUPT;
    if (m->count == 0)
        return 0;
    m->segments = kl_base_malloc(alloc, m->count * sizeof *m->segments);
    if (!m->segments)
        return KL_ENOMEM;
    for (uint32_t i = 0; i < m->count; i++)
        format_get_info(&c, &m->segments[i]);
    if (c.failed || !manifest_is_sound(m)) {
        kl_base_free(alloc, m->segments, m->count * sizeof *m->segments);
        m->segments = NULL;
        return KL_ECORRUPT;
    }
    return 0;
}

/* ---- checkpoint slot --------------------------------------------------- */

int kl_store_slot_begin(struct kl_base_buf *b, const struct kl_store_slot *s)
{
    kl_store_envelope_begin(b);
    kl_base_buf_put_le64(b, s->generation);
    kl_base_buf_put_le64(b, s->position.sequence);
    kl_base_buf_put_le64(b, s->position.lap);
    kl_base_buf_put_le64(b, s->position.salt);
    kl_base_buf_put_le64(b, s->position.previous);
    kl_base_buf_put_le32(b, s->position.file);
    kl_base_buf_put_le32(b, s->position.offset);
    kl_base_buf_put_le32(b, s->file_count);
    kl_base_buf_put_le32(b, s->flags);
    kl_base_buf_put_le64(b, s->file_size);
    kl_base_buf_put_le64(b, (uint64_t)s->broker_epoch);
    kl_base_buf_put_le32(b, s->log_count);
    kl_base_buf_put_le32(b, 0);
    return b->error;
}

enum { SLOT_EPOCH = 12 }; /* bytes */

static void slot_put_log(struct kl_base_buf *b,
                         const struct kl_store_slot_log *log)
{
    format_put_id(b, &log->id);
    kl_base_buf_put8(b, log->flush);
    kl_base_buf_put8(b, log->flags);
    kl_base_buf_put_le16(b, 0);
    kl_base_buf_put_le64(b, log->instance);
    kl_base_buf_put_le32(b, log->truncation);
    kl_base_buf_put_le32(b, log->epoch_count);
    kl_base_buf_put_le64(b, (uint64_t)log->start);
    kl_base_buf_put_le64(b, (uint64_t)log->leo);
    kl_base_buf_put_le64(b, (uint64_t)log->high_watermark);
    kl_base_buf_put_le64(b, log->bytes);
    format_put_info(b, &log->active);
}

size_t kl_store_slot_add(struct kl_base_buf *b,
                         const struct kl_store_slot_log *log,
                         const struct kl_batch_epochs *epochs)
{
    size_t at = b->size;

    slot_put_log(b, log);
    for (uint32_t i = 0; i < log->epoch_count; i++) {
        kl_base_buf_put_le32(b, (uint32_t)epochs->items[i].epoch);
        kl_base_buf_put_le64(b, (uint64_t)epochs->items[i].start);
    }
    return at;
}

void kl_store_slot_patch(struct kl_base_buf *b, size_t at,
                         const struct kl_store_slot_log *log)
{
    size_t size = b->size;

    /* The fixed part is rewritten in place; nothing grows. */
    b->size = at;
    slot_put_log(b, log);
    b->size = size;
}

void kl_store_slot_end(struct kl_base_buf *b)
{
    kl_store_envelope_end(b, KL_STORE_MAGIC_SLOT);
}

int kl_store_slot_decode(const uint8_t *data, size_t size,
                         struct kl_base_cursor *c, struct kl_store_slot *s)
{
    int rc = kl_store_envelope_open(data, size, KL_STORE_MAGIC_SLOT, c);

    if (rc)
        return rc;
    s->generation = kl_base_cursor_get_le64(c);
    s->position.sequence = kl_base_cursor_get_le64(c);
    s->position.lap = kl_base_cursor_get_le64(c);
    s->position.salt = kl_base_cursor_get_le64(c);
    s->position.previous = kl_base_cursor_get_le64(c);
    s->position.file = kl_base_cursor_get_le32(c);
    s->position.offset = kl_base_cursor_get_le32(c);
    s->file_count = kl_base_cursor_get_le32(c);
    s->flags = kl_base_cursor_get_le32(c);
    s->file_size = kl_base_cursor_get_le64(c);
    s->broker_epoch = (int64_t)kl_base_cursor_get_le64(c);
    s->log_count = kl_base_cursor_get_le32(c);
    format_get_reserved(c, 4);
    if (c->failed || s->file_count == 0 || s->file_count > 1024 ||
        s->file_size == 0 || s->file_size > UINT32_MAX ||
        s->file_size % KL_STORE_BLOCK != 0 ||
        s->position.file >= s->file_count ||
        s->position.offset > s->file_size ||
        s->position.offset % KL_STORE_BLOCK != 0)
        return KL_ECORRUPT;
    return 0;
}

int kl_store_slot_next(struct kl_base_cursor *c, struct kl_store_slot_log *log)
{
    format_get_id(c, &log->id);
    log->flush = kl_base_cursor_get8(c);
    log->flags = kl_base_cursor_get8(c);
    format_get_reserved(c, 2);
    log->instance = kl_base_cursor_get_le64(c);
    log->truncation = kl_base_cursor_get_le32(c);
    log->epoch_count = kl_base_cursor_get_le32(c);
    log->start = (int64_t)kl_base_cursor_get_le64(c);
    log->leo = (int64_t)kl_base_cursor_get_le64(c);
    log->high_watermark = (int64_t)kl_base_cursor_get_le64(c);
    log->bytes = kl_base_cursor_get_le64(c);
    format_get_info(c, &log->active);
    if (c->failed || log->flush > KL_STORE_FLUSH_INTERVAL || log->start < 0 ||
        log->leo < log->start ||
        (log->active.base != -1 && !format_info_is_sound(&log->active)) ||
        log->epoch_count > (c->size - c->pos) / SLOT_EPOCH)
        return KL_ECORRUPT;
    return 0;
}

int kl_store_slot_epoch(struct kl_base_cursor *c, struct kl_batch_epoch *e)
{
    e->epoch = (int32_t)kl_base_cursor_get_le32(c);
    e->start = (int64_t)kl_base_cursor_get_le64(c);
    return c->failed ? KL_ECORRUPT : 0;
}
