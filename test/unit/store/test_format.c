/*
 * Encoding and decoding: what was written comes back, and no flipped bit and
 * no missing byte passes for it.
 */
#include "store_fixture.h"

#include "base/endian.h"
#include "base/hash.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc alloc;

static void setup(void)
{
    fail_alloc_init(&alloc);
}

static void teardown(void)
{
    fail_alloc_deinit(&alloc);
}

/* Decodes bytes that may be damaged: 0 where they pass. */
typedef int (*decode_fn)(const uint8_t *data, size_t size);

/* The bytes are put at the end of a block of their own, so that a sanitizer
 * sees every step too far. */
static int decode_exact(decode_fn fn, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    int rc;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    rc = fn(copy, size);
    free(copy);
    return rc;
}

static void check_every_flip(decode_fn fn, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    ck_assert_int_eq(fn(copy, size), 0);
    for (size_t bit = 0; bit < size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_msg(fn(copy, size) != 0, "bit %zu of %zu", bit, size * 8);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_int_eq(fn(copy, size), 0);
    free(copy);
}

static void check_every_length(decode_fn fn, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(decode_exact(fn, data, i) != 0, "%zu of %zu", i, size);
    ck_assert_int_eq(decode_exact(fn, data, size), 0);
}

/* ---- WAL ------------------------------------------------------------------
 */

enum { GROUP_ENTRIES = 3 };

static const struct kl_store_entry_header entries[GROUP_ENTRIES] = {
    {.type = KL_STORE_ENTRY_CREATE,
     .flags = KL_STORE_FLUSH_INTERVAL,
     .instance = 0x1122334455667788,
     .id = {{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, 7}},
    {.type = KL_STORE_ENTRY_APPEND,
     .truncation = 0xa1a2a3a4,
     .instance = 5,
     .offset = 0x0102030405060708,
     .end = 0x1112131415161718,
     .epoch = 0x21222324,
     .size = 0x31323334,
     .id = {{{9}}, 0x41424344}},
    {.type = KL_STORE_ENTRY_EXTENT, .id = {{{0}}, INT32_MAX}},
};

static const struct kl_store_group_header group = {
    .kind = KL_STORE_GROUP_DATA,
    .directory = 0x0102030405060708,
    .sequence = 0x1112131415161718,
    .lap = 0x2122232425262728,
    .previous = 0x3132333435363738,
    .salt = 0x4142434445464748,
    .entry_count = GROUP_ENTRIES,
    .size = 4096,
    .body_size = 1000,
};

enum {
    GROUP_BYTES = KL_STORE_GROUP_HEADER + GROUP_ENTRIES * KL_STORE_ENTRY_HEADER
};

static void group_make(uint8_t out[GROUP_BYTES])
{
    struct kl_store_group_header h = group;

    for (int i = 0; i < GROUP_ENTRIES; i++)
        kl_store_entry_encode(out + KL_STORE_GROUP_HEADER +
                                  i * KL_STORE_ENTRY_HEADER,
                              &entries[i]);
    kl_store_group_encode(out, &h);
    ck_assert_uint_eq(h.checksum, kl_base_get_le64(out + 8));
}

/* As recovery looks at it: the header says how much there is. */
static int group_decode(const uint8_t *data, size_t size)
{
    struct kl_store_group_header h;

    if (size < KL_STORE_GROUP_HEADER)
        return KL_ECORRUPT;
    if (kl_store_group_decode(data, &h) ||
        KL_STORE_GROUP_HEADER + (size_t)h.entry_count * KL_STORE_ENTRY_HEADER >
            size)
        return KL_ECORRUPT;
    return kl_store_group_verify(data, &h);
}

START_TEST(group_encode_is_the_table_of_the_header)
{
    uint8_t b[GROUP_BYTES];
    const uint8_t *e = b + KL_STORE_GROUP_HEADER + KL_STORE_ENTRY_HEADER;

    group_make(b);
    ck_assert_mem_eq(b, "KLWG\1\0\1\0", 8);
    ck_assert_uint_eq(kl_base_get_le64(b + 16), group.directory);
    ck_assert_uint_eq(kl_base_get_le64(b + 24), group.sequence);
    ck_assert_uint_eq(kl_base_get_le64(b + 32), group.lap);
    ck_assert_uint_eq(kl_base_get_le64(b + 40), group.previous);
    ck_assert_uint_eq(kl_base_get_le64(b + 48), group.salt);
    ck_assert_uint_eq(kl_base_get_le32(b + 56), GROUP_ENTRIES);
    ck_assert_uint_eq(kl_base_get_le32(b + 60), 4096);
    ck_assert_uint_eq(kl_base_get_le32(b + 64), 1000);
    ck_assert_uint_eq(kl_base_get_le32(b + 68), 0);
    ck_assert_uint_eq(
        kl_base_get_le64(b + 8),
        kl_base_hash(b + 16, GROUP_BYTES - 16, kl_base_get_le64(b)));
    ck_assert_mem_eq(e, "\1\0\0\0\xa4\xa3\xa2\xa1", 8);
    ck_assert_uint_eq(kl_base_get_le64(e + 8), 5);
    ck_assert_int_eq((int64_t)kl_base_get_le64(e + 16), entries[1].offset);
    ck_assert_int_eq((int64_t)kl_base_get_le64(e + 24), entries[1].end);
    ck_assert_uint_eq(kl_base_get_le32(e + 32), 0x21222324);
    ck_assert_uint_eq(kl_base_get_le32(e + 36), 0x31323334);
    ck_assert_int_eq(e[40], 9);
    ck_assert_uint_eq(kl_base_get_le32(e + 56), 0x41424344);
    ck_assert_uint_eq(kl_base_get_le32(e + 60), 0);
}
END_TEST

START_TEST(group_decode_gives_back_what_was_encoded)
{
    uint8_t b[GROUP_BYTES];
    struct kl_store_group_header h;

    group_make(b);
    ck_assert_int_eq(kl_store_group_decode(b, &h), 0);
    ck_assert_int_eq(kl_store_group_verify(b, &h), 0);
    ck_assert_int_eq(h.kind, group.kind);
    ck_assert_uint_eq(h.directory, group.directory);
    ck_assert_uint_eq(h.sequence, group.sequence);
    ck_assert_uint_eq(h.lap, group.lap);
    ck_assert_uint_eq(h.previous, group.previous);
    ck_assert_uint_eq(h.salt, group.salt);
    ck_assert_uint_eq(h.entry_count, group.entry_count);
    ck_assert_uint_eq(h.size, group.size);
    ck_assert_uint_eq(h.body_size, group.body_size);
    for (int i = 0; i < GROUP_ENTRIES; i++) {
        struct kl_store_entry_header e;

        ck_assert_int_eq(kl_store_entry_decode(b + KL_STORE_GROUP_HEADER +
                                                   i * KL_STORE_ENTRY_HEADER,
                                               &e),
                         0);
        ck_assert_int_eq(e.type, entries[i].type);
        ck_assert_int_eq(e.flags, entries[i].flags);
        ck_assert_uint_eq(e.truncation, entries[i].truncation);
        ck_assert_uint_eq(e.instance, entries[i].instance);
        ck_assert_int_eq(e.offset, entries[i].offset);
        ck_assert_int_eq(e.end, entries[i].end);
        ck_assert_int_eq(e.epoch, entries[i].epoch);
        ck_assert_uint_eq(e.size, entries[i].size);
        ck_assert_mem_eq(&e.id, &entries[i].id, sizeof e.id);
    }
}
END_TEST

START_TEST(group_decode_damaged)
{
    uint8_t b[GROUP_BYTES];

    group_make(b);
    check_every_flip(group_decode, b, sizeof b);
    check_every_length(group_decode, b, sizeof b);
}
END_TEST

START_TEST(group_decode_impossible_sizes)
{
    static const struct
    {
        uint32_t entry_count, size, body_size;
    } bad[] = {{KL_STORE_ENTRIES_MAX + 1, 1 << 30, 0},
               {1, 0, 0},
               {1, 4095, 0},
               {1, 4096 + 512, 0},
               {0, 4096, 4096},
               {64, 4096, 0},
               {UINT32_MAX, 4096, UINT32_MAX},
               {1, 4096, UINT32_MAX}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t b[GROUP_BYTES];
        struct kl_store_group_header h;

        group_make(b);
        kl_base_put_le32(b + 56, bad[i].entry_count);
        kl_base_put_le32(b + 60, bad[i].size);
        kl_base_put_le32(b + 64, bad[i].body_size);
        ck_assert_int_eq(kl_store_group_decode(b, &h), KL_ECORRUPT);
    }
}
END_TEST

START_TEST(entry_decode_impossible_values)
{
    struct kl_store_entry_header e = entries[1], out;
    uint8_t b[KL_STORE_ENTRY_HEADER];

    e.type = 0;
    kl_store_entry_encode(b, &e);
    ck_assert_int_eq(kl_store_entry_decode(b, &out), KL_EFORMAT);
    e.type = (enum kl_store_entry_type)(KL_STORE_ENTRY_EXTENT + 1);
    kl_store_entry_encode(b, &e);
    ck_assert_int_eq(kl_store_entry_decode(b, &out), KL_EFORMAT);
    e = entries[1];
    e.offset = -1;
    kl_store_entry_encode(b, &e);
    ck_assert_int_eq(kl_store_entry_decode(b, &out), KL_ECORRUPT);
    e = entries[1];
    e.id.partition = -1;
    kl_store_entry_encode(b, &e);
    ck_assert_int_eq(kl_store_entry_decode(b, &out), KL_ECORRUPT);
}
END_TEST

/* ---- identity -------------------------------------------------------------
 */

static int identity_decode(const uint8_t *data, size_t size)
{
    struct kl_store_identity id;

    return kl_store_identity_decode(data, size, &id);
}

START_TEST(identity_round_trip_and_damage)
{
    struct kl_store_identity in, out;
    struct kl_base_buf b;

    memset(&in, 0, sizeof in);
    memset(&in.cluster_id, 3, 16);
    memset(&in.directory_id, 4, 16);
    in.node_id = -5;
    in.version = KL_STORE_FORMAT;
    kl_base_buf_init(&b, &alloc.alloc);
    ck_assert_int_eq(kl_store_identity_encode(&b, &in), 0);
    ck_assert_uint_eq(b.size, KL_STORE_ENVELOPE + 40);
    ck_assert_mem_eq(b.data, "KLID\3\0\0\0", 8);
    ck_assert_int_eq(kl_store_identity_decode(b.data, b.size, &out), 0);
    ck_assert_mem_eq(&in.cluster_id, &out.cluster_id, 16);
    ck_assert_mem_eq(&in.directory_id, &out.directory_id, 16);
    ck_assert_int_eq(out.node_id, -5);
    ck_assert_int_eq(out.version, KL_STORE_FORMAT);
    check_every_flip(identity_decode, b.data, b.size);
    check_every_length(identity_decode, b.data, b.size);
    kl_base_buf_deinit(&b);
}
END_TEST

/* A file of a later version, which is whole, is not called corrupt. */
START_TEST(envelope_open_unknown_version)
{
    struct kl_store_identity in = {.node_id = 1}, out;
    struct kl_base_buf b;

    kl_base_buf_init(&b, &alloc.alloc);
    ck_assert_int_eq(kl_store_identity_encode(&b, &in), 0);
    kl_base_put_le16(b.data + 4, KL_STORE_FORMAT + 1);
    ck_assert_int_eq(kl_store_identity_decode(b.data, b.size, &out),
                     KL_ECORRUPT);
    kl_base_put_le64(b.data + 16,
                     kl_base_hash(b.data + KL_STORE_ENVELOPE,
                                  b.size - KL_STORE_ENVELOPE,
                                  kl_base_get_le64(b.data) ^ b.size));
    ck_assert_int_eq(kl_store_identity_decode(b.data, b.size, &out),
                     KL_EFORMAT);
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(envelope_open_another_file)
{
    struct kl_store_identity in = {.node_id = 1};
    struct kl_base_cursor c;
    struct kl_base_buf b;

    kl_base_buf_init(&b, &alloc.alloc);
    ck_assert_int_eq(kl_store_identity_encode(&b, &in), 0);
    ck_assert_int_eq(
        kl_store_envelope_open(b.data, b.size, KL_STORE_MAGIC_SLOT, &c),
        KL_ECORRUPT);
    kl_base_buf_deinit(&b);
}
END_TEST

/* ---- segment header, index block ------------------------------------------
 */

static int segment_decode(const uint8_t *data, size_t size)
{
    struct kl_store_segment_header h;

    (void)size;
    return kl_store_segment_header_decode(data, &h);
}

START_TEST(segment_header_round_trip_and_damage)
{
    struct kl_store_segment_header in = {{{{1, 2, 3}}, 9}, 77, 123456789012, 4};
    struct kl_store_segment_header out;
    uint8_t b[KL_STORE_BLOCK];

    kl_store_segment_header_encode(b, &in);
    ck_assert_mem_eq(b, "KLSG\1\0\0\0", 8);
    ck_assert_int_eq(kl_store_segment_header_decode(b, &out), 0);
    ck_assert_mem_eq(&in.id, &out.id, sizeof in.id);
    ck_assert_uint_eq(out.instance, 77);
    ck_assert_int_eq(out.base, 123456789012);
    ck_assert_uint_eq(out.truncation, 4);
    check_every_flip(segment_decode, b, sizeof b);
    kl_base_put_le16(b + 4, 2);
    kl_base_put_le64(
        b + 8, kl_base_hash(b + 16, KL_STORE_BLOCK - 16, kl_base_get_le64(b)));
    ck_assert_int_eq(kl_store_segment_header_decode(b, &out), KL_EFORMAT);
}
END_TEST

static int index_decode(const uint8_t *data, size_t size)
{
    struct kl_store_index_entry out[KL_STORE_INDEX_FANOUT];
    uint32_t count;

    (void)size;
    return kl_store_index_block_decode(data, 1000, out, &count);
}

START_TEST(index_block_round_trip_and_damage)
{
    struct kl_store_index_entry in[KL_STORE_INDEX_FANOUT];
    struct kl_store_index_entry out[KL_STORE_INDEX_FANOUT];
    uint8_t b[KL_STORE_BLOCK];
    uint32_t count;

    ck_assert_int_eq(KL_STORE_INDEX_FANOUT, 254);
    for (uint32_t i = 0; i < KL_STORE_INDEX_FANOUT; i++) {
        in[i].relative = i * 3;
        in[i].position = 4096 + i * 1000;
        in[i].max_timestamp = (int64_t)i - 100;
    }
    for (uint32_t n = 1; n <= KL_STORE_INDEX_FANOUT; n += 11) {
        kl_store_index_block_encode(b, 1000, in, n);
        ck_assert_int_eq(kl_store_index_block_decode(b, 1000, out, &count), 0);
        ck_assert_uint_eq(count, n);
        ck_assert_mem_eq(in, out, n * sizeof *in);
        ck_assert_int_eq(kl_store_index_block_decode(b, 1001, out, &count),
                         KL_ECORRUPT);
    }
    check_every_flip(index_decode, b, sizeof b);
    kl_store_index_block_encode(b, 1000, in, 0);
    ck_assert_int_eq(index_decode(b, sizeof b), KL_ECORRUPT);
}
END_TEST

/* ---- manifest -------------------------------------------------------------
 */

static int manifest_decode(const uint8_t *data, size_t size)
{
    struct kl_store_manifest m;
    int rc = kl_store_manifest_decode(data, size, &alloc.alloc, &m);

    if (rc == 0)
        kl_base_free(&alloc.alloc, m.segments, m.count * sizeof *m.segments);
    return rc;
}

START_TEST(manifest_round_trip_and_damage)
{
    struct kl_store_segment_info infos[3] = {
        {0, 10, 5000, 99, 1, 2, 0},
        {10, 30, 6000, -1, 3, 4, 5},
        {30, -1, 0, INT64_MAX, 5, 6, UINT32_MAX}};
    struct kl_store_manifest in = {{{{6}}, 2}, 88, 5, 0, infos}, out;
    struct kl_base_buf b;

    kl_base_buf_init(&b, &alloc.alloc);
    for (in.count = 0; in.count <= 3; in.count++) {
        ck_assert_int_eq(kl_store_manifest_encode(&b, &in), 0);
        ck_assert_uint_eq(b.size, KL_STORE_ENVELOPE + 36 + in.count * 56);
        ck_assert_int_eq(
            kl_store_manifest_decode(b.data, b.size, &alloc.alloc, &out), 0);
        ck_assert_mem_eq(&in.id, &out.id, sizeof in.id);
        ck_assert_uint_eq(out.instance, 88);
        ck_assert_uint_eq(out.truncation, 5);
        ck_assert_uint_eq(out.count, in.count);
        for (uint32_t i = 0; i < in.count; i++) {
            ck_assert_int_eq(out.segments[i].base, infos[i].base);
            ck_assert_int_eq(out.segments[i].end, infos[i].end);
            ck_assert_uint_eq(out.segments[i].size, infos[i].size);
            ck_assert_int_eq(out.segments[i].max_timestamp,
                             infos[i].max_timestamp);
            ck_assert_int_eq(out.segments[i].first_ms, infos[i].first_ms);
            ck_assert_int_eq(out.segments[i].last_ms, infos[i].last_ms);
            ck_assert_uint_eq(out.segments[i].truncation, infos[i].truncation);
        }
        kl_base_free(&alloc.alloc, out.segments,
                     out.count * sizeof *out.segments);
        check_every_flip(manifest_decode, b.data, b.size);
        check_every_length(manifest_decode, b.data, b.size);
    }
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(manifest_decode_segments_out_of_order)
{
    struct kl_store_segment_info infos[2] = {{10, 20, 5000, 0, 0, 0, 0},
                                             {10, -1, 0, 0, 0, 0, 0}};
    struct kl_store_manifest m = {{{{6}}, 2}, 88, 5, 2, infos};
    struct kl_base_buf b;

    kl_base_buf_init(&b, &alloc.alloc);
    ck_assert_int_eq(kl_store_manifest_encode(&b, &m), 0);
    ck_assert_int_eq(manifest_decode(b.data, b.size), KL_ECORRUPT);
    infos[0].base = -1;
    ck_assert_int_eq(kl_store_manifest_encode(&b, &m), 0);
    ck_assert_int_eq(manifest_decode(b.data, b.size), KL_ECORRUPT);
    infos[0].base = 5;
    infos[0].end = 10;
    ck_assert_int_eq(kl_store_manifest_encode(&b, &m), 0);
    ck_assert_int_eq(manifest_decode(b.data, b.size), 0);
    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(manifest_decode(b.data, b.size), KL_ENOMEM);
    fail_alloc_arm(&alloc, 0);
    kl_base_buf_deinit(&b);
}
END_TEST

/* ---- checkpoint slot ------------------------------------------------------
 */

static const struct kl_store_slot slot_in = {
    .generation = 12,
    .position = {34, 5, 0x1234567890abcdef, 0xfedcba0987654321, 3, 8192},
    .file_count = 4,
    .flags = KL_STORE_SLOT_CLEAN,
    .file_size = 16384,
    .broker_epoch = -1,
    .log_count = 2,
};

static const struct kl_store_slot_log slot_logs[2] = {
    {.id = {{{1}}, 0},
     .flush = KL_STORE_FLUSH_COMMIT,
     .instance = 65537,
     .truncation = 3,
     .epoch_count = 2,
     .start = 5,
     .leo = 500,
     .high_watermark = 500,
     .bytes = 777,
     .active = {400, 500, 9000, 55, 66, 77, 3}},
    {.id = {{{2}}, 1},
     .flush = KL_STORE_FLUSH_INTERVAL,
     .flags = KL_STORE_SLOT_DAMAGED,
     .instance = 65538,
     .active = {.base = -1}},
};

static void slot_make(struct kl_base_buf *b)
{
    struct kl_batch_epoch items[2] = {{1, 0}, {4, 300}};
    struct kl_batch_epochs epochs = {items, 2, 2};
    struct kl_store_slot_log early = slot_logs[0];
    size_t at;

    kl_store_slot_begin(b, &slot_in);
    early.active.size = 1; /* what is known only later is patched */
    early.bytes = 0;
    at = kl_store_slot_add(b, &early, &epochs);
    kl_store_slot_add(b, &slot_logs[1], &epochs);
    kl_store_slot_patch(b, at, &slot_logs[0]);
    kl_store_slot_end(b);
    ck_assert_int_eq(b->error, 0);
}

static void slot_check_log(const struct kl_store_slot_log *a,
                           const struct kl_store_slot_log *b)
{
    ck_assert_mem_eq(&a->id, &b->id, sizeof a->id);
    ck_assert_int_eq(a->flush, b->flush);
    ck_assert_int_eq(a->flags, b->flags);
    ck_assert_uint_eq(a->instance, b->instance);
    ck_assert_uint_eq(a->truncation, b->truncation);
    ck_assert_uint_eq(a->epoch_count, b->epoch_count);
    ck_assert_int_eq(a->start, b->start);
    ck_assert_int_eq(a->leo, b->leo);
    ck_assert_int_eq(a->high_watermark, b->high_watermark);
    ck_assert_uint_eq(a->bytes, b->bytes);
    ck_assert_int_eq(a->active.base, b->active.base);
    ck_assert_int_eq(a->active.end, b->active.end);
    ck_assert_uint_eq(a->active.size, b->active.size);
    ck_assert_int_eq(a->active.max_timestamp, b->active.max_timestamp);
    ck_assert_int_eq(a->active.first_ms, b->active.first_ms);
    ck_assert_int_eq(a->active.last_ms, b->active.last_ms);
    ck_assert_uint_eq(a->active.truncation, b->active.truncation);
}

static int slot_decode(const uint8_t *data, size_t size)
{
    struct kl_base_cursor c;
    struct kl_store_slot s;

    return kl_store_slot_decode(data, size, &c, &s);
}

START_TEST(slot_round_trip)
{
    struct kl_base_buf b;
    struct kl_base_cursor c;
    struct kl_store_slot out;
    struct kl_store_slot_log log;
    struct kl_batch_epoch e;

    kl_base_buf_init(&b, &alloc.alloc);
    slot_make(&b);
    ck_assert_uint_eq(b.size, KL_STORE_ENVELOPE + 80 + 2 * 128 + 2 * 12);
    ck_assert_int_eq(kl_store_slot_decode(b.data, b.size, &c, &out), 0);
    ck_assert_uint_eq(out.generation, slot_in.generation);
    ck_assert_mem_eq(&out.position, &slot_in.position, sizeof out.position);
    ck_assert_uint_eq(out.file_count, slot_in.file_count);
    ck_assert_uint_eq(out.flags, slot_in.flags);
    ck_assert_uint_eq(out.file_size, slot_in.file_size);
    ck_assert_int_eq(out.broker_epoch, slot_in.broker_epoch);
    ck_assert_uint_eq(out.log_count, slot_in.log_count);
    ck_assert_int_eq(kl_store_slot_next(&c, &log), 0);
    slot_check_log(&log, &slot_logs[0]);
    ck_assert_int_eq(kl_store_slot_epoch(&c, &e), 0);
    ck_assert_int_eq(e.epoch, 1);
    ck_assert_int_eq(e.start, 0);
    ck_assert_int_eq(kl_store_slot_epoch(&c, &e), 0);
    ck_assert_int_eq(e.epoch, 4);
    ck_assert_int_eq(e.start, 300);
    ck_assert_int_eq(kl_store_slot_next(&c, &log), 0);
    slot_check_log(&log, &slot_logs[1]);
    ck_assert_int_eq(kl_store_slot_next(&c, &log), KL_ECORRUPT);
    ck_assert_int_eq(kl_store_slot_epoch(&c, &e), KL_ECORRUPT);
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(slot_decode_damaged)
{
    struct kl_base_buf b;
    struct kl_base_cursor c;
    struct kl_store_slot out;

    kl_base_buf_init(&b, &alloc.alloc);
    slot_make(&b);
    check_every_flip(slot_decode, b.data, b.size);
    check_every_length(slot_decode, b.data, b.size);
    /* What is left of a longer slot behind this one does not matter. */
    kl_base_buf_append(&b, "leftover", 8);
    ck_assert_int_eq(kl_store_slot_decode(b.data, b.size, &c, &out), 0);
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(slot_decode_impossible_values)
{
    struct kl_store_slot bad[7];
    struct kl_base_buf b;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bad[i] = slot_in;
    bad[0].file_count = 0;
    bad[1].file_count = 100000;
    bad[2].file_size = 0;
    bad[3].file_size = 4097;
    bad[4].position.file = 4;
    bad[5].position.offset = 16384 + 4096;
    bad[6].position.offset = 1;
    kl_base_buf_init(&b, &alloc.alloc);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kl_store_slot_begin(&b, &bad[i]);
        kl_store_slot_end(&b);
        ck_assert_msg(slot_decode(b.data, b.size) == KL_ECORRUPT, "%zu", i);
    }
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(slot_next_impossible_values)
{
    struct kl_store_slot_log bad[6], out;
    struct kl_base_buf b;
    struct kl_base_cursor c;
    struct kl_store_slot s;
    size_t at;

    for (size_t i = 0; i < 6; i++) {
        bad[i] = slot_logs[1];
        bad[i].epoch_count = 0;
    }
    bad[0].flush = KL_STORE_FLUSH_INTERVAL + 1;
    bad[1].start = -1;
    bad[2].start = 1; /* above the LEO */
    bad[3].id.partition = -1;
    bad[4].epoch_count = 1; /* more than there is */
    bad[5].epoch_count = UINT32_MAX;
    kl_base_buf_init(&b, &alloc.alloc);
    for (size_t i = 0; i < 6; i++) {
        kl_store_slot_begin(&b, &slot_in);
        at = kl_store_slot_add(&b, &bad[0], NULL);
        kl_store_slot_patch(&b, at, &bad[i]);
        kl_store_slot_end(&b);
        ck_assert_int_eq(kl_store_slot_decode(b.data, b.size, &c, &s), 0);
        ck_assert_msg(kl_store_slot_next(&c, &out) == KL_ECORRUPT, "%zu", i);
    }
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(encode_without_memory)
{
    struct kl_store_identity identity = {.node_id = 1};
    struct kl_store_manifest manifest = {.count = 0};
    struct kl_base_buf b;

    kl_base_buf_init(&b, &alloc.alloc);
    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(kl_store_identity_encode(&b, &identity), KL_ENOMEM);
    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(kl_store_manifest_encode(&b, &manifest), KL_ENOMEM);
    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(kl_store_slot_begin(&b, &slot_in), KL_ENOMEM);
    kl_store_slot_end(&b);
    fail_alloc_arm(&alloc, 0);
    kl_base_buf_deinit(&b);
}
END_TEST

Suite *suite_store_format(void);

Suite *suite_store_format(void)
{
    Suite *suite = suite_create("store_format");
    TCase *t = tcase_create("format");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, group_encode_is_the_table_of_the_header);
    tcase_add_test(t, group_decode_gives_back_what_was_encoded);
    tcase_add_test(t, group_decode_damaged);
    tcase_add_test(t, group_decode_impossible_sizes);
    tcase_add_test(t, entry_decode_impossible_values);
    tcase_add_test(t, identity_round_trip_and_damage);
    tcase_add_test(t, envelope_open_unknown_version);
    tcase_add_test(t, envelope_open_another_file);
    tcase_add_test(t, segment_header_round_trip_and_damage);
    tcase_add_test(t, index_block_round_trip_and_damage);
    tcase_add_test(t, manifest_round_trip_and_damage);
    tcase_add_test(t, manifest_decode_segments_out_of_order);
    tcase_add_test(t, slot_round_trip);
    tcase_add_test(t, slot_decode_damaged);
    tcase_add_test(t, slot_decode_impossible_values);
    tcase_add_test(t, slot_next_impossible_values);
    tcase_add_test(t, encode_without_memory);
    suite_add_tcase(suite, t);
    return suite;
}
