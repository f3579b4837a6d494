/*
 * What open makes of torn and of rotten groups of the write-ahead log.
 */
#include "wal_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- torn ends ----------------------------------------------------------
 */

START_TEST(torn_end_is_dropped_whole)
{
    struct kl_store_group_header h = {.size = 512};
    uint32_t used;

    for (uint32_t from = 0; from < h.size; from += 512) {
        struct kl_store_position at;
        int64_t leo;

        store_fixture_deinit(&wal.fx);
        wal_setup();
        at = wal_two_groups(&h, &used);
        ck_assert_uint_ge(h.size, 2 * KL_STORE_BLOCK);
        store_fixture_crash(&wal.fx);
        wal_spoil(&at, h.size, from, (enum wal_damage)_i);
        wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
        leo = from < used ? 3 : 8; /* the padding does not matter */
        if (_i == WAL_FLIP && leo == 3 && from > used)
            leo = 8;
        ck_assert_msg(store_fixture_view(wal.subject).leo == leo,
                      "from %u: LEO %lld", from,
                      (long long)store_fixture_view(wal.subject).leo);
        store_fixture_expect(&wal.fx, wal.subject, 0, 3, 900, 1);
        store_fixture_expect(&wal.fx, wal.subject, 3, leo, 1400, 1);
        store_fixture_fill(&wal.fx, wal.subject, 4, 200, 3);
        wal_commit();
        store_fixture_crash(&wal.fx);
        wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
        store_fixture_expect(&wal.fx, wal.subject, leo, leo + 4, 200, 3);
    }
}
END_TEST

/* A torn group may hold old bytes of the ring instead of its own. */
START_TEST(torn_end_with_the_bytes_of_an_older_lap)
{
    for (uint32_t from = 0; from < 3 * KL_STORE_BLOCK; from += 512) {
        struct kl_store_position at;
        struct kl_store_group_header h;
        uint8_t *file;
        char path[64];
        size_t size;
        int64_t leo;

        store_fixture_deinit(&wal.fx);
        wal_setup_ring(64 * 1024);
        do {
            store_fixture_fill(&wal.fx, wal.subject, 4, 2000, 1);
            wal_commit();
        } while (wal.fx.store->wal.next.lap < 3);
        store_fixture_settle(&wal.fx);
        at = wal.fx.store->wal.next;
        if (at.offset + 3 * KL_STORE_BLOCK > wal.fx.store->wal.file_size) {
            at.file = (at.file + 1) % wal.fx.store->wal.file_count;
            at.offset = 0;
        }
        snprintf(path, sizeof path, "data/wal/%u", (unsigned)at.file);
        file = store_fixture_load(&wal.fx, path, &size);
        leo = store_fixture_view(wal.subject).leo;
        store_fixture_fill(&wal.fx, wal.subject, 4, 2000, 1);
        wal_commit();
        free(wal_group_at(&at, &h));
        ck_assert_uint_eq(h.size, 3 * KL_STORE_BLOCK);
        store_fixture_crash(&wal.fx);
        store_fixture_patch(&wal.fx, path, at.offset + from,
                            file + at.offset + from, h.size - from);
        free(file);
        wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
        if (store_fixture_view(wal.subject).leo != leo)
            ck_assert_uint_ge(from, 4 * 2000);
        store_fixture_expect(&wal.fx, wal.subject, 0,
                             store_fixture_view(wal.subject).leo, 2000, 1);
    }
}
END_TEST

/* ---- rot -------------------------------------------------------------------
 */

/* Open must succeed; of the offsets [from, to), which the spoilt group has
 * held, some may be lost, and what is lost is said; all others are there.
 * Twice: what was found is known later as well. */
static void endure(int64_t from, int64_t to, int64_t leo, uint32_t size,
                   uint32_t first_size, int is_proved)
{
    for (int i = 0; i < 2; i++) {
        struct kl_store_view view;
        int lost;

        ck_assert_msg(store_fixture_open(&wal.fx) == 0, "%s",
                      wal.fx.error.text);
        wal.subject = kl_store_find(wal.fx.store, &wal.id);
        ck_assert_ptr_nonnull(wal.subject);
        view = store_fixture_view(wal.subject);
        ck_assert_int_le(view.leo, leo);
        store_fixture_expect(&wal.fx, wal.subject, 0, from, first_size, 1);
        lost = store_fixture_endure(&wal.fx, wal.subject, from,
                                    to < view.leo ? to : view.leo, size, 1);
        if (view.leo > to)
            store_fixture_expect(&wal.fx, wal.subject, to, view.leo, 10, 1);
        if (is_proved)
            ck_assert_int_eq(view.leo, leo);
        /* Nothing is lost in silence. */
        if (view.leo < leo)
            ck_assert_int_eq(view.is_suspect, 1);
        if (lost > 0 || view.is_suspect) {
            ck_assert_int_eq(kl_store_verdict(wal.fx.store),
                             KL_STORE_VERDICT_DAMAGED);
        }
        ck_assert_int_eq(kl_store_log_damage(wal.subject, 0, NULL) > 0,
                         lost > 0);
        store_fixture_crash(&wal.fx);
    }
}

/* What may have lost its end refuses appends until the loss is accepted. */
static void accept_loss(void)
{
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    if (store_fixture_view(wal.subject).is_suspect) {
        ck_assert_int_eq(store_fixture_append(&wal.fx, wal.subject, 1, 10, 7, 0,
                                              wal.fx.wall_ms),
                         KL_ECORRUPT);
        store_fixture_crash(&wal.fx);
        wal.fx.open_flags = KL_STORE_OPEN_ACCEPT_LOSS;
        wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
        wal.fx.open_flags = 0;
    }
    ck_assert_int_eq(store_fixture_view(wal.subject).is_suspect, 0);
    store_fixture_fill(&wal.fx, wal.subject, 3, 10, 1);
    store_fixture_close(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    ck_assert_int_eq(store_fixture_view(wal.subject).is_suspect, 0);
    store_fixture_fill(&wal.fx, wal.subject, 3, 10, 1);
    wal_commit();
    store_fixture_expect(&wal.fx, wal.subject,
                         store_fixture_view(wal.subject).leo - 6,
                         store_fixture_view(wal.subject).leo, 10, 1);
}

START_TEST(rot_before_a_later_group)
{
    struct kl_store_group_header h;
    uint32_t used = 1;

    for (uint32_t from = 0; from < used; from += 509) {
        struct kl_store_position at;

        store_fixture_deinit(&wal.fx);
        wal_setup();
        at = wal_two_groups(&h, &used);
        store_fixture_fill(&wal.fx, wal.subject, 1, 10, 1);
        wal_commit();
        store_fixture_crash(&wal.fx);
        wal_spoil(&at, h.size, from, (enum wal_damage)_i);
        endure(3, 8, 9, 1400, 900, 1);
        accept_loss();
    }
}
END_TEST

START_TEST(rot_before_a_seal)
{
    struct kl_store_group_header h;
    uint32_t used = 1;

    for (uint32_t from = 0; from < used; from += 509) {
        struct kl_store_position at;

        store_fixture_deinit(&wal.fx);
        wal_setup();
        at = wal_two_groups(&h, &used);
        store_fixture_settle(&wal.fx);
        wal_idle();
        store_fixture_crash(&wal.fx);
        wal_spoil(&at, h.size, from, (enum wal_damage)_i);
        endure(3, 8, 8, 1400, 900, 0);
        accept_loss();
    }
}
END_TEST

/* The frames of a rotten group were written behind before the crash: nothing is
 * lost where its entries can still be read, however often open is cut off. */
START_TEST(rot_of_frames_that_a_segment_has)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    for (uint64_t n = 1;; n++) {
        store_fixture_deinit(&wal.fx);
        wal_setup();
        at = wal_two_groups(&h, &used);
        store_fixture_settle(&wal.fx);
        store_fixture_fill(&wal.fx, wal.subject, 1, 10, 1);
        wal_commit();
        store_fixture_crash(&wal.fx);
        wal_spoil(&at, h.size, used - 2000, WAL_FLIP);
        trace_vfs_cut(&wal.fx.trace, n);
        if (store_fixture_open(&wal.fx) == 0)
            break;
        store_fixture_crash(&wal.fx);
        trace_vfs_heal(&wal.fx.trace);
        wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
        store_fixture_expect(&wal.fx, wal.subject, 3, 8, 1400, 1);
        store_fixture_expect(&wal.fx, wal.subject, 8, 9, 10, 1);
    }
    ck_assert_uint_gt(trace_vfs_count(&wal.fx.trace, TRACE_VFS_ANY), 0);
    wal.subject = kl_store_find(wal.fx.store, &wal.id);
    store_fixture_expect(&wal.fx, wal.subject, 3, 8, 1400, 1);
}
END_TEST

/* The proof may be in the next file. */
START_TEST(rot_at_the_end_of_a_file)
{
    struct kl_store_position at;
    struct kl_store_group_header h;
    int64_t leo;

    store_fixture_deinit(&wal.fx);
    wal_setup();
    do {
        at = wal.fx.store->wal.next;
        store_fixture_fill(&wal.fx, wal.subject, 5, 1400, 1);
        wal_commit();
        if (at.offset < wal.fx.store->wal.file_size / 4 * 3) {
            /* The slots are to be before the last groups. */
            kl_store_checkpoint_request(wal.fx.store);
            store_fixture_settle(&wal.fx);
        }
    } while (wal.fx.store->wal.next.offset + 2 * KL_STORE_BLOCK <=
             wal.fx.store->wal.file_size);
    free(wal_group_at(&at, &h));
    leo = store_fixture_view(wal.subject).leo;
    store_fixture_fill(&wal.fx, wal.subject, 5, 10, 1);
    wal_commit();
    ck_assert_uint_ne(wal.fx.store->wal.next.file, at.file);
    store_fixture_crash(&wal.fx);
    wal_spoil(&at, h.size, (uint32_t)_i * 1000, WAL_FLIP);
    endure(leo - 5, leo, leo + 5, 1400, 1400, 1);
    accept_loss();
}
END_TEST

/* The first group of a file is rotten from its header on: the proof is behind
 * it, in a file that the groups before have not reached. */
START_TEST(rot_at_the_start_of_a_file)
{
    struct kl_store_group_header h;
    struct kl_store_position before, at;
    int64_t leo;

    wal_near_the_end(3 * KL_STORE_BLOCK);
    before = wal.fx.store->wal.next;
    leo = store_fixture_view(wal.subject).leo;
    store_fixture_fill(&wal.fx, wal.subject, 6, 3000, 1);
    wal_commit();
    at = wal.fx.store->wal.next;
    ck_assert_uint_ne(at.file, before.file);
    at.offset = 0;
    free(wal_group_at(&at, &h));
    store_fixture_fill(&wal.fx, wal.subject, 1, 10, 1);
    wal_commit();
    store_fixture_crash(&wal.fx);
    wal_spoil(&at, h.size, (uint32_t)_i * 30, WAL_FLIP);
    endure(leo, leo + 6, leo + 7, 3000, 3000, 1);
    accept_loss();
}
END_TEST

/* What cannot be read or remembered now is not taken for a torn end. */
START_TEST(rot_where_the_proof_cannot_be_looked_at)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    at = wal_two_groups(&h, &used);
    store_fixture_fill(&wal.fx, wal.subject, 1, 10, 1);
    wal_commit();
    store_fixture_crash(&wal.fx);
    wal_spoil(&at, h.size, 20, WAL_FLIP);
    for (uint64_t n = 1;; n++) {
        int rc;

        if (_i)
            fail_alloc_arm(&wal.fx.alloc, n);
        else
            trace_vfs_fail(&wal.fx.trace, TRACE_VFS_READ, n, KL_EIO);
        rc = store_fixture_open(&wal.fx);
        if (rc == 0) {
            wal.subject = kl_store_find(wal.fx.store, &wal.id);
            ck_assert_ptr_nonnull(wal.subject);
            ck_assert_int_eq(store_fixture_view(wal.subject).leo, 9);
        }
        store_fixture_crash(&wal.fx);
        if (rc == 0)
            break;
    }
    fail_alloc_arm(&wal.fx.alloc, 0);
    trace_vfs_heal(&wal.fx.trace);
    endure(3, 8, 9, 1400, 900, 1);
}
END_TEST

Suite *suite_store_wal_rot(void);

Suite *suite_store_wal_rot(void)
{
    Suite *suite = suite_create("store_wal_rot");
    TCase *t = tcase_create("wal_rot");

    tcase_add_checked_fixture(t, wal_setup, wal_teardown);
    tcase_add_loop_test(t, torn_end_is_dropped_whole, WAL_ZEROS, WAL_FLIP + 1);
    tcase_add_test(t, torn_end_with_the_bytes_of_an_older_lap);
    tcase_add_loop_test(t, rot_before_a_later_group, WAL_ZEROS, WAL_FLIP + 1);
    tcase_add_loop_test(t, rot_before_a_seal, WAL_ZEROS, WAL_FLIP + 1);
    tcase_add_test(t, rot_of_frames_that_a_segment_has);
    tcase_add_loop_test(t, rot_at_the_end_of_a_file, 0, 3);
    tcase_add_loop_test(t, rot_at_the_start_of_a_file, 0, 6);
    tcase_add_loop_test(t, rot_where_the_proof_cannot_be_looked_at, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
