/*
 * Looking at the quorum state and at snapshots without opening the folder.
 */
#include "inspect_help.h"
#include "snapshot_help.h"

#include "base/endian.h"
#include "base/hash.h"

#include <check.h>
#include <stdlib.h>

static const char *const copies[] = {"data/quorum.a", "data/quorum.b"};

/* A state that was put and two snapshots. */
static void set_up(void)
{
    struct kl_store_quorum q = {.epoch = 3, .leader_id = 1, .voted_id = -1};

    snap_setup();
    ck_assert_int_eq(kl_store_quorum_put(snap_fx.store, &q, NULL), 0);
    snap_make(5, 1, 3 * SNAP_DATA);
    snap_make(7, 2, 0);
    store_fixture_close(&snap_fx);
}

START_TEST(good_ones_are_no_findings)
{
    inspect_look(&snap_fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(a_bad_copy_is_covered)
{
    if (_i / 2 == 0)
        inspect_flip(&snap_fx, copies[_i % 2], 40);
    else if (_i / 2 == 1)
        inspect_flip(&snap_fx, copies[_i % 2], 4095);
    else
        store_fixture_unlink(&snap_fx, copies[_i % 2]);
    inspect_look(&snap_fx);
    inspect_only(KL_STORE_FINDING_QUORUM, KL_STORE_COVERED,
                 _i % 2 ? "quorum.b" : "quorum.a");
}
END_TEST

START_TEST(two_bad_copies_are_damage)
{
    inspect_flip(&snap_fx, copies[0], 40);
    store_fixture_unlink(&snap_fx, copies[1]);
    inspect_look(&snap_fx);
    ck_assert_uint_eq(found.count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(found.items[i].kind, KL_STORE_FINDING_QUORUM);
        ck_assert_int_eq(found.items[i].severity, KL_STORE_DAMAGE);
    }
}
END_TEST

/* A folder of version 1 had none. */
START_TEST(an_older_folder_lacks_nothing)
{
    store_fixture_set_version(&snap_fx, 1);
    store_fixture_unlink(&snap_fx, copies[0]);
    store_fixture_unlink(&snap_fx, copies[1]);
    inspect_look(&snap_fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

/* The header, a block's checksum, a byte of the last block. */
START_TEST(a_bad_snapshot_is_damage)
{
    static const uint64_t places[] = {50, 4096 + 65536 + 3,
                                      4096 + 3 * 65536 - 1};

    inspect_flip(&snap_fx, snap_path_of(5, 1), places[_i]);
    inspect_look(&snap_fx);
    inspect_only(KL_STORE_FINDING_SNAPSHOT, KL_STORE_DAMAGE,
                 "snapshots/00000000000000000005-0000000001.snap");
}
END_TEST

/* Whole blocks of whole snapshots, but not these: the checksum of all tells. */
START_TEST(blocks_that_change_places)
{
    const char *path = snap_path_of(5, 1);
    size_t size;
    uint8_t *data = store_fixture_load(&snap_fx, path, &size);

    store_fixture_patch(&snap_fx, path, 4096, data + 4096 + 65536, 65536);
    inspect_look(&snap_fx);
    inspect_only(KL_STORE_FINDING_SNAPSHOT, KL_STORE_DAMAGE, ".snap");
    free(data);
}
END_TEST

START_TEST(names_beside_snapshots)
{
    store_fixture_save(&snap_fx, "data/snapshots/x.new", "x", 1);
    store_fixture_save(&snap_fx, "data/snapshots/y", "y", 1);
    inspect_look(&snap_fx);
    ck_assert_uint_eq(inspect_is_fine(), 2);
    ck_assert_ptr_nonnull(inspect_find(KL_STORE_FINDING_LEFTOVER));
    ck_assert_ptr_nonnull(inspect_find(KL_STORE_FINDING_UNKNOWN));
}
END_TEST

/* ---- the newest snapshot --------------------------------------------------
 */

/* The end of the one that is found, with all its bytes; -1 = none. */
static int64_t newest(size_t size)
{
    struct kl_store_snapshot info;
    struct kl_store_inspect *in;
    struct kl_base_buf bytes;
    int rc;

    kl_base_buf_init(&bytes, &snap_fx.alloc.alloc);
    ck_assert_int_eq(kl_store_inspect_new(&in, &snap_fx.alloc.alloc,
                                          &snap_fx.trace.base, "data"),
                     0);
    ck_assert_int_eq(kl_store_inspect_open(in, 0, NULL), 0);
    rc = kl_store_inspect_snapshot(in, &info, &bytes);
    ck_assert(rc == 0 || rc == KL_EEND);
    if (rc == 0) {
        ck_assert_uint_eq(info.size, size);
        ck_assert_uint_eq(bytes.size, size);
        if (size)
            ck_assert_mem_eq(bytes.data, snap_content, size);
    }
    kl_store_inspect_free(in);
    kl_base_buf_deinit(&bytes);
    return rc ? -1 : info.end;
}

static void make_more(void)
{
    ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
    snap_make(9, 1, 1000);
    snap_make(9, 2, SNAP_DATA);
    store_fixture_close(&snap_fx);
}

START_TEST(the_newest_is_found)
{
    make_more();
    ck_assert_int_eq(newest(SNAP_DATA), 9);
    if (_i == 1)
        store_fixture_unlink(&snap_fx, "data/identity"); /* of any cluster */
    ck_assert_int_eq(newest(SNAP_DATA), 9);
}
END_TEST

/* Older ones serve where newer ones are bad. */
START_TEST(the_newest_good_one_is_found)
{
    make_more();
    inspect_flip(&snap_fx, snap_path_of(9, 2), _i ? 30 : 5000);
    ck_assert_int_eq(newest(1000), 9);
    store_fixture_unlink(&snap_fx, snap_path_of(9, 1));
    ck_assert_int_eq(newest(0), 7);
    store_fixture_unlink(&snap_fx, snap_path_of(7, 2));
    ck_assert_int_eq(newest(3 * SNAP_DATA), 5);
    inspect_flip(&snap_fx, snap_path_of(5, 1), 4096 + 100);
    ck_assert_int_eq(newest(0), -1);
}
END_TEST

Suite *suite_store_inspect_quorum(void);

Suite *suite_store_inspect_quorum(void)
{
    Suite *s = suite_create("store_inspect_quorum");
    TCase *t = tcase_create("inspect_quorum");

    tcase_add_checked_fixture(t, set_up, snap_teardown);
    tcase_add_test(t, good_ones_are_no_findings);
    tcase_add_loop_test(t, a_bad_copy_is_covered, 0, 6);
    tcase_add_test(t, two_bad_copies_are_damage);
    tcase_add_test(t, an_older_folder_lacks_nothing);
    tcase_add_loop_test(t, a_bad_snapshot_is_damage, 0, 3);
    tcase_add_test(t, blocks_that_change_places);
    tcase_add_test(t, names_beside_snapshots);
    tcase_add_loop_test(t, the_newest_is_found, 0, 2);
    tcase_add_loop_test(t, the_newest_good_one_is_found, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
