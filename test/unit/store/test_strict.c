/*
 * Decoders of the store refuse what no encoder writes, also where the checksum
 * is right: reserved fields that are not zero, bytes behind the content, ranges
 * that overlap or are none, index entries that do not ascend.
 */
#include "store_fixture.h"

#include "base/endian.h"
#include "base/hash.h"

#include <check.h>
#include <string.h>

static void seal(uint8_t *data, size_t size)
{
    kl_base_put_le32(data + 8, (uint32_t)size);
    kl_base_put_le64(data + 16, kl_base_hash(data + KL_STORE_ENVELOPE,
                                             size - KL_STORE_ENVELOPE,
                                             kl_base_get_le64(data) ^ size));
}

static int identity_decode(const uint8_t *data, size_t size)
{
    struct kl_store_identity id;

    return kl_store_identity_decode(data, size, &id);
}

static int manifest_decode(const uint8_t *data, size_t size)
{
    struct kl_store_manifest m;
    int rc = kl_store_manifest_decode(data, size, &kl_base_alloc_libc, &m);

    if (rc == 0)
        kl_base_free(&kl_base_alloc_libc, m.segments,
                     m.count * sizeof *m.segments);
    return rc;
}

static int slot_decode(const uint8_t *data, size_t size)
{
    struct kl_store_slot_log log;
    struct kl_base_cursor c;
    struct kl_store_slot s;
    int rc = kl_store_slot_decode(data, size, &c, &s);

    return rc ? rc : kl_store_slot_next(&c, &log);
}

/* Good as it is, refused with a byte set that has to be zero, or with one more
 * behind the content. */
static void check_envelope(struct kl_base_buf *b,
                           int (*decode)(const uint8_t *, size_t),
                           const size_t *reserved, size_t count)
{
    ck_assert_int_eq(b->error, 0);
    ck_assert_int_eq(decode(b->data, b->size), 0);
    for (size_t i = 0; i < count; i++) {
        b->data[reserved[i]] = 1;
        seal(b->data, b->size);
        ck_assert_msg(decode(b->data, b->size) == KL_ECORRUPT, "byte %zu",
                      reserved[i]);
        b->data[reserved[i]] = 0;
    }
    seal(b->data, b->size);
    ck_assert_int_eq(decode(b->data, b->size), 0);
}

static void check_trailing(struct kl_base_buf *b,
                           int (*decode)(const uint8_t *, size_t))
{
    kl_base_buf_put8(b, 0);
    seal(b->data, b->size);
    ck_assert_int_eq(decode(b->data, b->size), KL_ECORRUPT);
}

START_TEST(identity_is_exact)
{
    /* The flags; the first one is of an identity without a cluster. */
    static const size_t reserved[] = {24 + 36, 24 + 37, 24 + 38, 24 + 39};
    struct kl_store_identity id = {
        .cluster_id = {{1}}, .directory_id = {{2}}, .node_id = 3};
    struct kl_base_buf b;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_store_identity_encode(&b, &id), 0);
    check_envelope(&b, identity_decode, reserved,
                   sizeof reserved / sizeof *reserved);
    check_trailing(&b, identity_decode);
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(manifest_is_exact)
{
    /* The last field of each segment range. */
    static const size_t reserved[] = {24 + 36 + 52, 24 + 36 + 56 + 55};
    struct kl_store_segment_info segments[] = {
        {.base = 0, .end = 5, .size = KL_STORE_BLOCK}, {.base = 5, .end = -1}};
    struct kl_store_manifest m = {.count = 2, .segments = segments};
    struct kl_base_buf b;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_store_manifest_encode(&b, &m), 0);
    check_envelope(&b, manifest_decode, reserved,
                   sizeof reserved / sizeof *reserved);
    check_trailing(&b, manifest_decode);
    kl_base_buf_deinit(&b);
}
END_TEST

static int manifest_code(struct kl_store_segment_info a,
                         struct kl_store_segment_info b)
{
    struct kl_store_segment_info segments[] = {a, b};
    struct kl_store_manifest m = {.count = 2, .segments = segments};
    struct kl_base_buf buf;
    int rc;

    kl_base_buf_init(&buf, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_store_manifest_encode(&buf, &m), 0);
    rc = manifest_decode(buf.data, buf.size);
    kl_base_buf_deinit(&buf);
    return rc;
}

START_TEST(manifest_ranges_are_sound)
{
    struct kl_store_segment_info a = {.base = 4, .end = 9, .size = 5000};
    struct kl_store_segment_info b = {.base = 9, .end = 12, .size = 5000};
    struct kl_store_segment_info open = {.base = 9, .end = -1};

    ck_assert_int_eq(manifest_code(a, b), 0);
    ck_assert_int_eq(manifest_code(a, open), 0);
    a.end = 10; /* overlaps */
    ck_assert_int_eq(manifest_code(a, b), KL_ECORRUPT);
    a.end = 3;
    ck_assert_int_eq(manifest_code(a, b), KL_ECORRUPT);
    a.end = -1; /* only the last may be open */
    ck_assert_int_eq(manifest_code(a, b), KL_ECORRUPT);
    a.end = 8; /* a gap is damage, but not of the manifest */
    ck_assert_int_eq(manifest_code(a, b), 0);
    a.size = KL_STORE_BLOCK - 1;
    ck_assert_int_eq(manifest_code(a, b), KL_ECORRUPT);
    a.size = (uint64_t)INT64_MAX + 1;
    ck_assert_int_eq(manifest_code(a, b), KL_ECORRUPT);
    a.size = KL_STORE_BLOCK;
    b.end = 8;
    ck_assert_int_eq(manifest_code(a, b), KL_ECORRUPT);
}
END_TEST

START_TEST(slot_ranges_are_sound)
{
    static const struct kl_store_segment_info bad[] = {
        {.base = -2, .end = 5, .size = 5000},
        {.base = 6, .end = 5, .size = 5000},
        {.base = 0, .end = -1, .size = 5000},
        {.base = 0, .end = 5, .size = KL_STORE_BLOCK - 1},
    };
    struct kl_store_slot s = {
        .file_count = 4, .file_size = 16384, .log_count = 1};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kl_store_slot_log log = {.leo = 9, .active = bad[i]};
        struct kl_base_buf b;

        kl_base_buf_init(&b, &kl_base_alloc_libc);
        kl_store_slot_begin(&b, &s);
        kl_store_slot_add(&b, &log, NULL);
        kl_store_slot_end(&b);
        ck_assert_msg(slot_decode(b.data, b.size) == KL_ECORRUPT, "%zu", i);
        kl_base_buf_deinit(&b);
    }
}
END_TEST

START_TEST(slot_is_exact)
{
    static const size_t reserved[] = {24 + 76, 24 + 80 + 22, 24 + 80 + 72 + 52};
    struct kl_store_slot s = {
        .file_count = 4, .file_size = 16384, .log_count = 1};
    struct kl_store_slot_log log = {.leo = 1, .active = {.base = -1}};
    struct kl_base_buf b;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    kl_store_slot_begin(&b, &s);
    kl_store_slot_add(&b, &log, NULL);
    kl_store_slot_end(&b);
    check_envelope(&b, slot_decode, reserved,
                   sizeof reserved / sizeof *reserved);
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(group_is_exact)
{
    static const size_t reserved[] = {2, 3, 60, 63};
    uint8_t data[KL_STORE_GROUP_HEADER] = {0}, entry[KL_STORE_ENTRY_HEADER];
    struct kl_store_group_header h = {.kind = KL_STORE_GROUP_DATA,
                                      .size = KL_STORE_BLOCK};
    struct kl_store_entry_header e = {.type = KL_STORE_ENTRY_EPOCH};

    kl_store_group_encode(data, &h);
    ck_assert_int_eq(kl_store_group_decode(data, &h), 0);
    data[68] = 1;
    ck_assert_int_eq(kl_store_group_decode(data, &h), KL_ECORRUPT);
    kl_store_entry_encode(entry, &e);
    ck_assert_int_eq(kl_store_entry_decode(entry, &e), 0);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        entry[reserved[i]] = 1;
        ck_assert_int_eq(kl_store_entry_decode(entry, &e), KL_ECORRUPT);
        entry[reserved[i]] = 0;
    }
}
END_TEST

static int index_decode(const struct kl_store_index_entry *entries)
{
    struct kl_store_index_entry out[KL_STORE_INDEX_FANOUT];
    uint8_t block[KL_STORE_BLOCK];
    uint32_t count;

    kl_store_index_block_encode(block, 100, entries, 2);
    return kl_store_index_block_decode(block, 100, out, &count);
}

START_TEST(index_entries_ascend)
{
    static const struct kl_store_index_entry good[2] = {{0, 4096, 7},
                                                        {1, 4200, 7}};
    static const struct kl_store_index_entry bad[][2] = {
        {{0, 4095, 7}, {1, 4200, 7}}, /* into the header block */
        {{0, 0, 7}, {1, 4200, 7}},    {{1, 4096, 7}, {1, 4200, 7}}, /* twice */
        {{2, 4096, 7}, {1, 4200, 7}}, {{0, 4200, 7}, {1, 4200, 7}},
        {{0, 4096, 8}, {1, 4200, 7}}, /* back in time */
    };

    ck_assert_int_eq(index_decode(good), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(index_decode(bad[i]) == KL_ECORRUPT, "%zu", i);
}
END_TEST

Suite *suite_store_strict(void);

Suite *suite_store_strict(void)
{
    Suite *suite = suite_create("store_strict");
    TCase *t = tcase_create("strict");

    tcase_add_test(t, identity_is_exact);
    tcase_add_test(t, manifest_is_exact);
    tcase_add_test(t, manifest_ranges_are_sound);
    tcase_add_test(t, slot_ranges_are_sound);
    tcase_add_test(t, slot_is_exact);
    tcase_add_test(t, group_is_exact);
    tcase_add_test(t, index_entries_ascend);
    suite_add_tcase(suite, t);
    return suite;
}
