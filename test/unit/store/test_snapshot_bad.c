/*
 * Snapshots whose bytes are not what was written: never used, never deleted.
 */
#include "snapshot_help.h"

#include "base/endian.h"
#include "base/hash.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- bad ones -------------------------------------------------------------
 */

static void flip(const char *path, size_t at)
{
    size_t size;
    uint8_t *data = store_fixture_load(&snap_fx, path, &size);

    ck_assert_uint_lt(at, size);
    data[at] ^= 4;
    store_fixture_save(&snap_fx, path, data, size);
    free(data);
}

/* The older one serves, and what was found bad is kept. */
static void check_quarantined(void)
{
    struct kl_store_snapshot info;

    ck_assert_uint_eq(snap_count(), 1);
    ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 0, &info), 0);
    ck_assert_int_eq(info.end, 5);
    snap_expect(5, 1, 100, 100);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 1);
    ck_assert_int_eq(
        snap_names("data/quarantine", "00000000000000000007-0000000001.snap"),
        1);
    ck_assert_int_eq(kl_store_failure(snap_fx.store, NULL), 0);
}

START_TEST(a_bad_header_is_found_by_open)
{
    static const size_t places[] = {0,  4,  9,  17, 24, 40,  48,
                                    52, 56, 64, 71, 72, 4095};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (i == 0)
            snap_make(5, 1, 100);
        snap_make(7, 1, SNAP_DATA + 1);
        store_fixture_crash(&snap_fx);
        flip(snap_path_of(7, 1), places[i]);
        ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
        check_quarantined();
    }
}
END_TEST

START_TEST(every_flipped_bit_of_a_header_is_seen)
{
    struct kl_store_snapshot_header h = {.info = {9, 3, 1000, 77}}, out;
    struct kl_base_buf b;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_store_snapshot_encode(&b, &h), 0);
    ck_assert_uint_eq(b.size, 4096);
    for (size_t bit = 0; bit < b.size * 8; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (kl_store_snapshot_decode(b.data, b.size, &out) != KL_ECORRUPT)
            ck_abort_msg("bit %zu", bit);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(kl_store_snapshot_decode(b.data, size, &out),
                         KL_ECORRUPT);
    ck_assert_int_eq(kl_store_snapshot_decode(b.data, b.size, &out), 0);
    kl_base_buf_deinit(&b);
}
END_TEST

/* A file that is not as its header or its name says. */
START_TEST(a_wrong_file_is_found_by_open)
{
    size_t size;
    uint8_t *data;

    snap_make(5, 1, 100);
    snap_make(_i == 2 ? 8 : 7, 1, SNAP_DATA + 1);
    store_fixture_crash(&snap_fx);
    data =
        store_fixture_load(&snap_fx, snap_path_of(_i == 2 ? 8 : 7, 1), &size);
    data = realloc(data, size + 1);
    ck_assert_ptr_nonnull(data);
    data[size] = 0;
    if (_i == 2)
        store_fixture_unlink(&snap_fx, snap_path_of(8, 1));
    if (_i == 3) { /* of another cluster */
        data[24]++;
        kl_base_put_le64(data + 16, kl_base_hash(data + 24, 48,
                                                 kl_base_get_le64(data) ^ 72));
    }
    store_fixture_save(&snap_fx, snap_path_of(7, 1), data,
                       _i == 0   ? size - 1
                       : _i == 1 ? size + 1
                                 : size);
    free(data);
    ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
    check_quarantined();
}
END_TEST

/* Open does not read the blocks; who does is told, and nobody after that. */
START_TEST(a_bad_block_is_never_given)
{
    static const size_t places[] = {4096, 4104, 4096 + 65535, 4096 + 65536,
                                    4096 + 65536 + 8};
    struct kl_store_snapshot_read r;

    snap_make(5, 1, 100);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snap_make(7, 1, SNAP_DATA + 1);
        flip(snap_path_of(7, 1), places[i]);
        if (i % 2)
            snap_reopen();
        ck_assert_uint_eq(snap_count(), 2);
        ck_assert_int_eq(snap_read_rc(7, 1, 0, UINT32_MAX, &r), KL_ECORRUPT);
        ck_assert_ptr_null(r.chunk);
        kl_store_snapshot_read_release(&r);
        ck_assert_int_eq(snap_read_rc(7, 1, 0, UINT32_MAX, &r), KL_ENOENT);
        check_quarantined();
        snap_reopen();
        check_quarantined();
    }
}
END_TEST

/* A piece without the bad block is good. */
START_TEST(good_blocks_of_a_bad_one)
{
    struct kl_store_snapshot_read r;

    snap_make(7, 1, 3 * SNAP_DATA);
    flip(snap_path_of(7, 1), 4096 + 65536 + 100);
    ck_assert_int_eq(snap_read_rc(7, 1, 2 * SNAP_DATA, UINT32_MAX, &r), 0);
    ck_assert_mem_eq(r.data, snap_content + 2 * SNAP_DATA, SNAP_DATA);
    kl_store_snapshot_read_release(&r);
    ck_assert_int_eq(snap_read_rc(7, 1, SNAP_DATA - 1, 2, &r), KL_ECORRUPT);
}
END_TEST

START_TEST(a_failing_read_is_no_damage)
{
    struct kl_store_snapshot_read r;

    snap_make(7, 1, 3 * SNAP_DATA);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        trace_vfs_fail(&snap_fx.trace,
                       nth == 1 ? TRACE_VFS_OPEN : TRACE_VFS_READ, 1, KL_EIO);
        ck_assert_int_eq(snap_read_rc(7, 1, 0, 10, &r), KL_EIO);
        ck_assert_ptr_null(r.chunk);
    }
    snap_expect(7, 1, 3 * SNAP_DATA, UINT32_MAX);
}
END_TEST

START_TEST(a_newer_version_is_left_alone)
{
    size_t size;
    uint8_t *data;

    snap_make(7, 1, 100);
    store_fixture_close(&snap_fx);
    data = store_fixture_load(&snap_fx, snap_path_of(7, 1), &size);
    kl_base_put_le16(data + 4, 2);
    kl_base_put_le64(data + 16,
                     kl_base_hash(data + 24, 48, kl_base_get_le64(data) ^ 72));
    store_fixture_save(&snap_fx, snap_path_of(7, 1), data, size);
    free(data);
    ck_assert_int_eq(store_fixture_open(&snap_fx), KL_EFORMAT);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 1);
}
END_TEST

START_TEST(other_names_are_left_alone)
{
    static const char *const others[] = {
        "data/snapshots/lost+found",
        "data/snapshots/7-1.snap",
        "data/snapshots/00000000000000000007-0000000001.snap2",
        "data/snapshots/99999999999999999999-0000000001.snap",
        "data/snapshots/00000000000000000007-9999999999.snap",
        "data/snapshots/00000000000000000007+0000000001.snap"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        store_fixture_save(&snap_fx, others[i], "x", 1);
    snap_reopen();
    ck_assert_uint_eq(snap_count(), 0);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 6);
}
END_TEST

Suite *suite_store_snapshot_bad(void);

Suite *suite_store_snapshot_bad(void)
{
    Suite *s = suite_create("store_snapshot_bad");
    TCase *t = tcase_create("snapshot_bad");

    tcase_add_checked_fixture(t, snap_setup, snap_teardown);
    tcase_add_test(t, a_bad_header_is_found_by_open);
    tcase_add_test(t, every_flipped_bit_of_a_header_is_seen);
    tcase_add_loop_test(t, a_wrong_file_is_found_by_open, 0, 4);
    tcase_add_test(t, a_bad_block_is_never_given);
    tcase_add_test(t, good_blocks_of_a_bad_one);
    tcase_add_test(t, a_failing_read_is_no_damage);
    tcase_add_test(t, a_newer_version_is_left_alone);
    tcase_add_test(t, other_names_are_left_alone);
    suite_add_tcase(s, t);
    return s;
}
