/*
 * Snapshots: writing in pieces, reading, listing, deleting. Bad ones are in
 * test_snapshot_bad.c; what crashes leave of them in
 * test/fault/test_snapshot.c.
 */
#include "snapshot_help.h"

#include "base/endian.h"
#include "base/hash.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing and reading --------------------------------------------------
 */

START_TEST(layout)
{
    size_t size;
    uint8_t *data;
    uint64_t hash[2], chain;
    uint8_t place[20];

    snap_make(258, 3, SNAP_DATA + 5);
    data = store_fixture_load(&snap_fx, snap_path_of(258, 3), &size);
    ck_assert_uint_eq(size, 4096 + 65536 + 8 + 5);
    ck_assert_mem_eq(data, "KLSN\1\0\0\0", 8);
    ck_assert_uint_eq(kl_base_get_le32(data + 8), 72);
    ck_assert_mem_eq(data + 24, &snap_fx.config.format.cluster_id, 16);
    ck_assert_uint_eq(kl_base_get_le64(data + 40), 258);
    ck_assert_uint_eq(kl_base_get_le32(data + 48), 3);
    ck_assert_uint_eq(kl_base_get_le32(data + 52), 65536);
    ck_assert_uint_eq(kl_base_get_le64(data + 56), SNAP_DATA + 5);
    for (size_t i = 72; i < 4096; i++)
        ck_assert_uint_eq(data[i], 0);
    kl_base_put_le64(place, 258);
    kl_base_put_le32(place + 8, 3);
    for (uint64_t i = 0; i < 2; i++) {
        kl_base_put_le64(place + 12, i);
        hash[i] = kl_base_hash(snap_content + i * SNAP_DATA, i ? 5 : SNAP_DATA,
                               kl_base_hash(place, 20, 0));
        ck_assert_uint_eq(kl_base_get_le64(data + 4096 + i * 65536), hash[i]);
    }
    chain = kl_base_hash(data + 4096, 8, 0);
    chain = kl_base_hash(data + 4096 + 65536, 8, chain);
    ck_assert_uint_eq(kl_base_get_le64(data + 64), chain);
    ck_assert_mem_eq(data + 4096 + 8, snap_content, SNAP_DATA);
    ck_assert_mem_eq(data + 4096 + 65536 + 8, snap_content + SNAP_DATA, 5);
    free(data);
}
END_TEST

START_TEST(what_was_written_is_read)
{
    static const size_t sizes[] = {
        0, 1, SNAP_DATA - 1, SNAP_DATA, SNAP_DATA + 1, 2 * SNAP_DATA, SNAP_BIG};
    static const size_t pieces[] = {SNAP_BIG, 100000, SNAP_DATA, 40001};
    static const uint32_t reads[] = {UINT32_MAX, 65536, 100003, 7000};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct kl_store_snapshot_writer *w = snap_begin((int64_t)i, 1);
        struct kl_store_snapshot info;

        for (size_t at = 0; at < sizes[i]; at += pieces[_i]) {
            size_t size =
                sizes[i] - at < pieces[_i] ? sizes[i] - at : pieces[_i];

            ck_assert_int_eq(snap_append(w, at, size), 0);
        }
        ck_assert_int_eq(snap_commit(w), 0);
        kl_store_snapshot_close(w);
        ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 0, &info), 0);
        ck_assert_int_eq(info.end, (int64_t)i);
        ck_assert_uint_eq(info.size, sizes[i]);
        snap_expect((int64_t)i, 1, sizes[i], reads[_i]);
        if (i % 2)
            snap_reopen();
        snap_expect((int64_t)i, 1, sizes[i], reads[_i]);
    }
    ck_assert_int_eq(snap_names("data/snapshots", ".snap"), 7);
    ck_assert_int_eq(snap_names("data/snapshots", ".new"), 0);
}
END_TEST

/* However it is cut into pieces, it is the same. */
START_TEST(checksum_is_of_the_bytes)
{
    struct kl_store_snapshot a, b;
    struct kl_store_snapshot_writer *w;

    snap_make(5, 1, 3 * SNAP_DATA + 9);
    ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 0, &a), 0);
    snap_reopen();
    ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 0, &b), 0);
    ck_assert_uint_eq(a.checksum, b.checksum);
    store_fixture_unlink(&snap_fx, snap_path_of(5, 1));
    snap_reopen();
    ck_assert_uint_eq(snap_count(), 0);
    w = snap_begin(5, 1);
    for (size_t at = 0; at < 3 * SNAP_DATA + 9; at += 9999)
        ck_assert_int_eq(snap_append(w, at,
                                     3 * SNAP_DATA + 9 - at < 9999
                                         ? 3 * SNAP_DATA + 9 - at
                                         : 9999),
                         0);
    ck_assert_int_eq(snap_commit(w), 0);
    kl_store_snapshot_close(w);
    ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 0, &b), 0);
    ck_assert_uint_eq(a.checksum, b.checksum);
}
END_TEST

START_TEST(any_range_is_read)
{
    struct kl_store_snapshot_read r;
    struct kl_base_rng rng;

    snap_make(9, 2, SNAP_BIG);
    kl_base_rng_seed(&rng, 3);
    for (int i = 0; i < 300; i++) {
        uint64_t position = kl_base_rng_below(&rng, SNAP_BIG);
        uint32_t want = 1 + (uint32_t)kl_base_rng_below(&rng, 3 * SNAP_DATA);

        ck_assert_int_eq(snap_read_rc(9, 2, position, want, &r), 0);
        ck_assert_uint_gt(r.size, 0);
        ck_assert_uint_le(r.size, want);
        ck_assert_mem_eq(r.data, snap_content + position, r.size);
        if (r.size < want)
            ck_assert_uint_eq(position + r.size, SNAP_BIG);
        kl_store_snapshot_read_release(&r);
    }
    /* A read has at most sixteen blocks. */
    ck_assert_int_eq(snap_read_rc(9, 2, 1, UINT32_MAX, &r), 0);
    ck_assert_uint_eq(r.size, 16 * SNAP_DATA - 1);
    kl_store_snapshot_read_release(&r);
    ck_assert_int_eq(snap_read_rc(9, 2, SNAP_BIG, 1, &r), 0);
    ck_assert_uint_eq(r.size, 0);
    ck_assert_int_eq(snap_read_rc(9, 2, 0, 0, &r), 0);
    ck_assert_uint_eq(r.size, 0);
    ck_assert_int_eq(snap_read_rc(9, 2, SNAP_BIG + 1, 1, &r), KL_EOFFSETRANGE);
    ck_assert_int_eq(snap_read_rc(9, 3, 0, 1, &r), KL_ENOENT);
    ck_assert_int_eq(snap_read_rc(8, 2, 0, 1, &r), KL_ENOENT);
}
END_TEST

START_TEST(newest_is_first)
{
    static const int32_t order[][2] = {{30, 1}, {10, 2}, {20, 5}, {20, 4}};
    static const int32_t sorted[][2] = {{30, 1}, {20, 5}, {20, 4}, {10, 2}};
    struct kl_store_snapshot info;

    for (int i = 0; i < 4; i++)
        snap_make(order[i][0], order[i][1], (size_t)i);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 4; i++) {
            ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, i, &info), 0);
            ck_assert_int_eq(info.end, sorted[i][0]);
            ck_assert_int_eq(info.epoch, sorted[i][1]);
        }
        ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 4, &info),
                         KL_EEND);
        snap_reopen();
    }
}
END_TEST

/* ---- calls in a wrong order -----------------------------------------------
 */

START_TEST(misuse)
{
    struct kl_store_snapshot_writer *w, *other;

    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, -1, 0, &w),
                     KL_EINVAL);
    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, 0, -1, &w),
                     KL_EINVAL);
    w = snap_begin(7, 1);
    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, 7, 1, &other),
                     KL_EEXIST);
    ck_assert_int_eq(kl_store_snapshot_append(w, snap_content, 10), 0);
    ck_assert_int_eq(kl_store_snapshot_append(w, snap_content, 10), KL_EAGAIN);
    ck_assert_int_eq(kl_store_snapshot_commit(w), KL_EAGAIN);
    ck_assert_int_eq(snap_await(w), 0);
    ck_assert_int_eq(snap_commit(w), 0);
    ck_assert_int_eq(snap_append(w, 0, 1), KL_EFAILED);
    ck_assert_int_eq(snap_commit(w), KL_EFAILED);
    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, 7, 1, &other),
                     KL_EEXIST);
    kl_store_snapshot_close(w);
    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, 7, 1, &other),
                     KL_EEXIST);
    snap_expect(7, 1, 10, 100);
    w = snap_begin(8, 1);
    kl_store_stop(snap_fx.store);
    ck_assert_int_eq(snap_append(w, 0, 1), KL_ECLOSED);
    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, 9, 1, &other),
                     KL_ECLOSED);
    kl_store_snapshot_close(w);
}
END_TEST

START_TEST(closing_leaves_nothing)
{
    struct kl_store_snapshot_writer *w = snap_begin(7, 1);

    kl_store_snapshot_close(w); /* before anything */
    w = snap_begin(7, 1);
    ck_assert_int_eq(snap_append(w, 0, SNAP_BIG), 0);
    ck_assert_int_eq(snap_names("data/snapshots", ".new"), 1);
    kl_store_snapshot_close(w);
    /* Another one of the same name may begin at once. */
    w = snap_begin(7, 1);
    ck_assert_int_eq(snap_append(w, 0, 2 * SNAP_DATA), 0);
    for (int i = 0; i < 10; i++)
        snap_turn();
    ck_assert_int_eq(snap_names("data/snapshots", ".new"), 1);
    ck_assert_int_eq(snap_commit(w), 0);
    kl_store_snapshot_close(w);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 1);
    snap_expect(7, 1, 2 * SNAP_DATA, 65536);
}
END_TEST

START_TEST(closing_while_busy)
{
    struct kl_store_snapshot_writer *w = snap_begin(7, 1);

    ck_assert_int_eq(kl_store_snapshot_append(w, snap_content, 10), 0);
    kl_store_snapshot_close(w);
    ck_assert_int_eq(snap_await(w), KL_ECANCELED);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(snap_turn(), 0);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 0);
    w = snap_begin(7, 1);
    ck_assert_int_eq(snap_append(w, 0, 10), 0);
    ck_assert_int_eq(kl_store_snapshot_commit(w), 0);
    kl_store_snapshot_close(w);
    ck_assert_int_eq(snap_await(w), 0);
    snap_expect(7, 1, 10, 100);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 1);
}
END_TEST

/* Giving up needs no memory. */
START_TEST(closing_without_memory)
{
    struct kl_store_snapshot_writer *w = snap_begin(7, 1);

    ck_assert_int_eq(snap_append(w, 0, SNAP_BIG), 0);
    snap_fx.alloc.fail_after = 1;
    fail_alloc_arm(&snap_fx.alloc, 1);
    kl_store_snapshot_close(w);
    for (int i = 0; i < 10; i++)
        snap_turn();
    snap_fx.alloc.fail_after = 0;
    fail_alloc_arm(&snap_fx.alloc, 0);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 0);
}
END_TEST

START_TEST(several_at_a_time)
{
    struct kl_store_snapshot_writer *w[8];

    for (int i = 0; i < 8; i++)
        w[i] = snap_begin(i, 1);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 8; i++)
            ck_assert_int_eq(snap_append(w[i], (size_t)round * 50000, 50000),
                             0);
    for (int i = 7; i >= 0; i--) {
        ck_assert_int_eq(snap_commit(w[i]), 0);
        kl_store_snapshot_close(w[i]);
    }
    ck_assert_uint_eq(snap_count(), 8);
    for (int i = 0; i < 8; i++)
        snap_expect(i, 1, 250000, UINT32_MAX);
}
END_TEST

/* A crash leaves what is aside, and the next opening removes it. */
START_TEST(what_is_aside_goes)
{
    struct kl_store_snapshot_writer *w = snap_begin(7, 1);

    snap_make(5, 1, 100);
    ck_assert_int_eq(snap_append(w, 0, 2 * SNAP_DATA), 0);
    store_fixture_crash(&snap_fx);
    ck_assert_int_eq(snap_names("data/snapshots", ".new"), 1);
    ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
    ck_assert_int_eq(snap_names("data/snapshots", ""), 1);
    snap_expect(5, 1, 100, 100);
}
END_TEST

/* ---- failures -------------------------------------------------------------
 */

/* Any call of any step fails: that snapshot is nothing, the store goes on. */
START_TEST(a_failure_is_the_snapshots_alone)
{
    static const int codes[] = {KL_EIO, KL_EDISKFULL};
    int failures = 0;

    snap_make(5, 1, 100);
    for (uint64_t nth = 1; nth < 20; nth++) {
        struct kl_store_snapshot_writer *w;
        int rc;

        snap_reopen();
        w = snap_begin(7, 1);
        trace_vfs_fail(&snap_fx.trace, TRACE_VFS_ANY, nth, codes[_i]);
        rc = snap_append(w, 0, 2 * SNAP_DATA + 1);
        if (rc == 0)
            rc = snap_commit(w);
        trace_vfs_heal(&snap_fx.trace);
        if (rc) {
            failures++;
            ck_assert(rc == codes[_i] || rc == KL_EIO);
            ck_assert_uint_eq(snap_count(), 1);
            ck_assert_int_eq(snap_append(w, 0, 1), KL_EFAILED);
            ck_assert_int_eq(snap_commit(w), KL_EFAILED);
        }
        kl_store_snapshot_close(w);
        for (int i = 0; i < 10; i++)
            snap_turn();
        ck_assert_int_eq(snap_names("data/snapshots", ".new"), 0);
        ck_assert_int_eq(kl_store_failure(snap_fx.store, NULL), 0);
        snap_expect(5, 1, 100, 100);
        if (rc == 0)
            break;
        snap_make(7, 1, SNAP_DATA);
        snap_expect(7, 1, SNAP_DATA, UINT32_MAX);
        store_fixture_unlink(&snap_fx, snap_path_of(7, 1));
    }
    /* open, three blocks, header, sync, close, rename, sync of the folder */
    ck_assert_int_eq(failures, 9);
}
END_TEST

START_TEST(a_failed_store_writes_none)
{
    struct kl_store_snapshot_writer *w, *other;

    snap_make(5, 1, 100);
    w = snap_begin(7, 1);
    ck_assert_int_eq(snap_append(w, 0, 100), 0);
    kl_store_fail(snap_fx.store, KL_EIO, "planted failure of", "a test");
    ck_assert_int_eq(snap_append(w, 0, 1), KL_EFAILED);
    ck_assert_int_eq(snap_commit(w), KL_EFAILED);
    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, 8, 1, &other),
                     KL_EFAILED);
    kl_store_snapshot_close(w);
    kl_store_snapshot_delete_before(snap_fx.store, 100);
    snap_expect(5, 1, 100, 100); /* reading goes on */
    snap_reopen();
    ck_assert_int_eq(snap_names("data/snapshots", ""), 1);
}
END_TEST

START_TEST(without_memory)
{
    struct kl_store_snapshot_writer *w;
    struct kl_store_snapshot_read r;
    int rc = KL_ENOMEM;

    for (uint64_t n = 1; rc; n++) {
        fail_alloc_arm(&snap_fx.alloc, n);
        rc = kl_store_snapshot_begin(snap_fx.store, 7, 1, &w);
        if (rc == 0 && (rc = snap_append(w, 0, SNAP_DATA)) == 0)
            rc = snap_commit(w);
        else if (rc == KL_ENOMEM && snap_count() == 0 &&
                 snap_fx.alloc.failed == 0)
            ck_abort();
        fail_alloc_arm(&snap_fx.alloc, 0);
        ck_assert(rc == 0 || rc == KL_ENOMEM);
        if (!kl_base_list_is_empty(&snap_fx.store->snapshots.writers))
            kl_store_snapshot_close(w);
        ck_assert_uint_lt(n, 100);
    }
    for (uint64_t n = 1, rc2 = 1; rc2; n++) {
        fail_alloc_arm(&snap_fx.alloc, n);
        rc = snap_read_rc(7, 1, 0, 100, &r);
        fail_alloc_arm(&snap_fx.alloc, 0);
        ck_assert(rc == 0 || rc == KL_ENOMEM);
        rc2 = rc != 0;
        kl_store_snapshot_read_release(&r);
        ck_assert_uint_lt(n, 100);
    }
    rc = KL_ENOMEM;
    for (uint64_t n = 1; rc; n++) {
        store_fixture_crash(&snap_fx);
        fail_alloc_arm(&snap_fx.alloc, n);
        rc = store_fixture_open(&snap_fx);
        fail_alloc_arm(&snap_fx.alloc, 0);
        ck_assert(rc == 0 || rc == KL_ENOMEM);
    }
    snap_expect(7, 1, SNAP_DATA, UINT32_MAX);
}
END_TEST

START_TEST(a_missing_folder_is_made)
{
    store_fixture_crash(&snap_fx);
    ck_assert_int_eq(
        snap_fx.memory->ops->rmdir(snap_fx.memory, "data/snapshots"), 0);
    ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
    ck_assert_uint_eq(snap_count(), 0);
    snap_make(7, 1, 100);
    snap_reopen();
    snap_expect(7, 1, 100, 100);
}
END_TEST

/* ---- deleting -------------------------------------------------------------
 */

START_TEST(older_ones_go_and_the_newest_stays)
{
    struct kl_store_snapshot_read r;
    struct kl_store_snapshot_read reading = {
        .end = 1, .epoch = 1, .bytes_max = UINT32_MAX};

    for (int i = 1; i <= 5; i++)
        snap_make(i, 1, (size_t)i * 1000);
    ck_assert_int_eq(kl_store_snapshot_read(snap_fx.store, &reading),
                     KL_EAGAIN);
    kl_store_snapshot_delete_before(snap_fx.store, 3);
    ck_assert_uint_eq(snap_count(), 3);
    while (!snap_turn())
        continue;
    ck_assert_ptr_eq(snap_last.snapshot_read, &reading);
    ck_assert(reading.code == 0 || reading.code == KL_ENOENT);
    kl_store_snapshot_read_release(&reading);
    ck_assert_int_eq(snap_read_rc(2, 1, 0, 10, &r), KL_ENOENT);
    for (int i = 0; i < 10; i++)
        snap_turn();
    ck_assert_int_eq(snap_names("data/snapshots", ".snap"), 3);
    kl_store_snapshot_delete_before(snap_fx.store, INT64_MAX);
    for (int i = 0; i < 10; i++)
        snap_turn();
    ck_assert_uint_eq(snap_count(), 1);
    ck_assert_int_eq(snap_names("data/snapshots", ".snap"), 1);
    snap_reopen();
    snap_expect(5, 1, 5000, 10000);
}
END_TEST

/* Another one in the place of one that is being read is not taken for it. */
START_TEST(a_replaced_one_is_not_bad)
{
    struct kl_store_snapshot_read r;
    struct kl_store_snapshot info;

    snap_make(7, 1, 100);
    ck_assert_int_eq(kl_store_snapshot_at(snap_fx.store, 0, &info), 0);
    store_fixture_unlink(&snap_fx, snap_path_of(7, 1));
    snap_fx.store->snapshots.count = 0; /* as a delete would */
    snap_make(7, 1, 200);
    snap_fx.store->snapshots.items[0] = info; /* what a read under way knows */
    ck_assert_int_eq(snap_read_rc(7, 1, 0, 1000, &r), KL_ENOENT);
    ck_assert_int_eq(snap_names("data/quarantine", ""), 0);
    snap_reopen();
    snap_expect(7, 1, 200, 1000);
}
END_TEST

/* ---- what they take ------------------------------------------------------ */

static uint64_t disk_bytes(void)
{
    store_fixture_settle(&snap_fx);
    return kl_base_stat_get(&kl_store_stats(snap_fx.store)->disk_bytes);
}

static uint64_t size_of(int64_t end, int32_t epoch)
{
    size_t size;

    free(store_fixture_load(&snap_fx, snap_path_of(end, epoch), &size));
    return size;
}

START_TEST(their_bytes_are_counted)
{
    struct kl_store_snapshot_writer *w;
    uint64_t none = disk_bytes(), one, two;

    snap_make(10, 1, 3 * SNAP_DATA + 5);
    one = size_of(10, 1);
    ck_assert_uint_eq(disk_bytes(), none + one);
    snap_make(20, 1, 0);
    two = size_of(20, 1);
    ck_assert_uint_eq(disk_bytes(), none + one + two);
    snap_reopen();
    ck_assert_uint_eq(disk_bytes(), none + one + two);
    /* What is aside, until it is gone. */
    w = snap_begin(30, 1);
    ck_assert_int_eq(snap_append(w, 0, 100000), 0);
    ck_assert_uint_gt(disk_bytes(), none + one + two + 65536);
    kl_store_snapshot_close(w);
    ck_assert_uint_eq(disk_bytes(), none + one + two);
    kl_store_snapshot_delete_before(snap_fx.store, 20);
    ck_assert_uint_eq(disk_bytes(), none + two);
    ck_assert(!store_fixture_exists(&snap_fx, snap_path_of(10, 1)));
}
END_TEST

/* One in quarantine is nobody's. */
START_TEST(bad_ones_are_not_counted)
{
    struct kl_store_snapshot_read r;
    uint64_t none = disk_bytes();

    snap_make(10, 1, 1000);
    store_fixture_patch(&snap_fx, snap_path_of(10, 1), 4096 + 100, "?", 1);
    if (_i) {
        store_fixture_patch(&snap_fx, snap_path_of(10, 1), 100, "?", 1);
        snap_reopen();
    } else {
        ck_assert_int_eq(snap_read_rc(10, 1, 0, 1000, &r), KL_ECORRUPT);
    }
    ck_assert_uint_eq(disk_bytes(), none);
}
END_TEST

Suite *suite_store_snapshot(void);

Suite *suite_store_snapshot(void)
{
    Suite *s = suite_create("store_snapshot");
    TCase *t = tcase_create("snapshot");

    tcase_add_checked_fixture(t, snap_setup, snap_teardown);
    tcase_add_test(t, layout);
    tcase_add_loop_test(t, what_was_written_is_read, 0, 4);
    tcase_add_test(t, checksum_is_of_the_bytes);
    tcase_add_test(t, any_range_is_read);
    tcase_add_test(t, newest_is_first);
    tcase_add_test(t, misuse);
    tcase_add_test(t, closing_leaves_nothing);
    tcase_add_test(t, closing_while_busy);
    tcase_add_test(t, closing_without_memory);
    tcase_add_test(t, several_at_a_time);
    tcase_add_test(t, what_is_aside_goes);
    tcase_add_test(t, a_missing_folder_is_made);
    tcase_add_loop_test(t, a_failure_is_the_snapshots_alone, 0, 2);
    tcase_add_test(t, a_failed_store_writes_none);
    tcase_add_test(t, without_memory);
    tcase_add_test(t, older_ones_go_and_the_newest_stays);
    tcase_add_test(t, a_replaced_one_is_not_bad);
    tcase_add_test(t, their_bytes_are_counted);
    tcase_add_loop_test(t, bad_ones_are_not_counted, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
