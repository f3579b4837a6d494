/*
 * The image of the metadata as the bytes of a snapshot.
 */
#include "wire/wire.h"

#include <check.h>
#include <string.h>

static struct kl_base_buf bytes;

static void setup(void)
{
    kl_base_buf_init(&bytes, &kl_base_alloc_libc);
}

static void teardown(void)
{
    kl_base_buf_deinit(&bytes);
}

static void encode(void)
{
    static const uint8_t records[] = {3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0};
    const struct kl_wire_snapshot s = {
        .voters_offset = 17,
        .voters = {(const uint8_t *)"voters", 6},
        .record_count = 2,
        .records = records,
        .records_size = sizeof records,
    };

    kl_base_buf_clear(&bytes);
    ck_assert_int_eq(kl_wire_snapshot_encode(&s, &bytes), 0);
}

START_TEST(there_and_back)
{
    struct kl_wire_snapshot s;
    struct kl_wire_bytes record;
    size_t pos = 0;

    encode();
    ck_assert_int_eq(kl_wire_snapshot_decode(&s, bytes.data, bytes.size, NULL),
                     0);
    ck_assert_int_eq(s.voters_offset, 17);
    ck_assert_uint_eq(s.voters.size, 6);
    ck_assert_mem_eq(s.voters.data, "voters", 6);
    ck_assert_uint_eq(s.record_count, 2);
    ck_assert_int_eq(kl_wire_snapshot_next(&s, &pos, &record), 1);
    ck_assert_uint_eq(record.size, 3);
    ck_assert_mem_eq(record.data, "abc", 3);
    ck_assert_int_eq(kl_wire_snapshot_next(&s, &pos, &record), 1);
    ck_assert_uint_eq(record.size, 0);
    ck_assert_int_eq(kl_wire_snapshot_next(&s, &pos, &record), 0);
}
END_TEST

START_TEST(cut_anywhere)
{
    struct kl_wire_snapshot s;

    encode();
    for (size_t size = 0; size < bytes.size; size++)
        ck_assert_int_eq(kl_wire_snapshot_decode(&s, bytes.data, size, NULL),
                         KL_ECORRUPT);
    kl_base_buf_put_le16(&bytes, 0);
    ck_assert_int_eq(kl_wire_snapshot_decode(&s, bytes.data, bytes.size, NULL),
                     KL_ECORRUPT);
}
END_TEST

/* Whatever a byte becomes, there is an answer; what is not a header's, a
 * count's or a size's business is the content's. */
START_TEST(any_byte_changed)
{
    struct kl_base_error error = {0};
    struct kl_wire_snapshot s;

    for (size_t at = 0; at < 24; at++) {
        int r;

        encode();
        bytes.data[at] ^= 0xff;
        r = kl_wire_snapshot_decode(&s, bytes.data, bytes.size, &error);
        if (at >= 8 && at < 15)
            ck_assert_int_eq(r, 0);
        else
            ck_assert_int_eq(r, at == 4 || at == 5 ? KL_EFORMAT : KL_ECORRUPT);
    }
}
END_TEST

Suite *suite_wire_snapshot(void);

Suite *suite_wire_snapshot(void)
{
    Suite *s = suite_create("wire_snapshot");
    TCase *t = tcase_create("snapshot");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, there_and_back);
    tcase_add_test(t, cut_anywhere);
    tcase_add_test(t, any_byte_changed);
    suite_add_tcase(s, t);
    return s;
}
