/*
 * The write-ahead log: what a group is on disk, where groups go, and what comes
 * of failures and of a full ring.
 */
#include "store/quorum.h"
#include "wal_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kl_store_entry_header entry_of(const uint8_t *group, int index)
{
    struct kl_store_entry_header e;

    ck_assert_int_eq(kl_store_entry_decode(group + KL_STORE_GROUP_HEADER +
                                               index * KL_STORE_ENTRY_HEADER,
                                           &e),
                     0);
    return e;
}

/* ---- layout ---------------------------------------------------------------
 */

START_TEST(group_on_disk)
{
    struct kl_store_position at = wal.fx.store->wal.next;
    struct kl_store_group_header h;
    struct kl_store_entry_header e;
    struct kl_batch_info info;
    uint8_t *group;
    size_t body = KL_STORE_GROUP_HEADER + 4 * KL_STORE_ENTRY_HEADER;

    store_fixture_fill(&wal.fx, wal.subject, 2, 700, 1);
    ck_assert_int_eq(kl_store_start_epoch(wal.subject, 5), 0);
    wal_commit();
    group = wal_group_at(&at, &h);
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_DATA);
    ck_assert_uint_eq(h.directory, wal.fx.store->directory);
    ck_assert_uint_eq(h.sequence, at.sequence);
    ck_assert_uint_eq(h.lap, at.lap);
    ck_assert_uint_eq(h.salt, at.salt);
    ck_assert_uint_eq(h.previous, at.previous);
    ck_assert_uint_eq(h.entry_count, 4);
    ck_assert_uint_eq(h.size, KL_STORE_BLOCK);
    e = entry_of(group, 0);
    ck_assert_int_eq(e.type, KL_STORE_ENTRY_CREATE);
    ck_assert_uint_eq(e.instance, at.sequence << 16 | 1);
    ck_assert_int_eq(e.flags, KL_STORE_FLUSH_COMMIT);
    ck_assert_uint_eq(e.size, 0);
    for (int i = 1; i <= 2; i++) {
        e = entry_of(group, i);
        ck_assert_int_eq(e.type, KL_STORE_ENTRY_APPEND);
        ck_assert_int_eq(e.offset, i - 1);
        ck_assert_int_eq(e.end, i);
        ck_assert_mem_eq(&e.id, &wal.id, sizeof wal.id);
        ck_assert_int_eq(kl_batch_frame_verify(group + body, e.size,
                                               kl_store_log_seed(wal.subject),
                                               &info),
                         0);
        ck_assert_uint_eq(info.frame_size, e.size);
        ck_assert_int_eq(info.base_offset, i - 1);
        body += e.size;
    }
    e = entry_of(group, 3);
    ck_assert_int_eq(e.type, KL_STORE_ENTRY_EPOCH);
    ck_assert_int_eq(e.epoch, 5);
    ck_assert_int_eq(e.offset, 2);
    ck_assert_uint_eq(
        KL_STORE_GROUP_HEADER + 4 * KL_STORE_ENTRY_HEADER + h.body_size, body);
    for (; body < h.size; body++)
        ck_assert_int_eq(group[body], 0);
    free(group);
    ck_assert_uint_eq(wal.fx.store->wal.next.offset, at.offset + h.size);
    ck_assert_uint_eq(wal.fx.store->wal.next.sequence, at.sequence + 1);
    ck_assert_uint_eq(wal.fx.store->wal.next.previous, h.checksum);
}
END_TEST

/* A group is where the one before ends, or at the start of the next file. */
static void check_place(const struct kl_store_position *before,
                        struct kl_store_position *at,
                        const struct kl_store_position *after)
{
    *at = *before;
    if (after->file == before->file) {
        ck_assert_uint_gt(after->offset, before->offset);
        ck_assert_uint_eq(after->lap, before->lap);
        ck_assert_uint_eq(after->salt, before->salt);
        return;
    }
    ck_assert_uint_eq(after->file,
                      (before->file + 1) % wal.fx.store->wal.file_count);
    at->file = after->file;
    at->offset = 0;
    at->lap = after->lap;
    at->salt = after->salt;
    ck_assert_uint_eq(after->lap, before->lap + (after->file == 0));
    ck_assert_int_eq(after->salt != before->salt, after->file == 0);
}

START_TEST(groups_never_cross_files_and_are_chained)
{
    uint64_t wraps = 0;

    store_fixture_deinit(&wal.fx);
    wal_setup_ring(64 * 1024);
    for (int i = 0; i < 120; i++) {
        struct kl_store_position before = wal.fx.store->wal.next, at;
        struct kl_store_group_header h;

        store_fixture_fill(&wal.fx, wal.subject, 1 + i * 7 % 5,
                           100 + i * 211 % 2000, 1);
        do
            store_fixture_turn(&wal.fx);
        while (store_fixture_view(wal.subject).durable_leo <
               store_fixture_view(wal.subject).leo);
        if (wal.fx.store->wal.next.sequence != before.sequence + 1)
            continue; /* the stalled ring has made it two */
        check_place(&before, &at, &wal.fx.store->wal.next);
        free(wal_group_at(&at, &h));
        ck_assert_uint_eq(h.sequence, before.sequence);
        ck_assert_uint_eq(h.previous, before.previous);
        ck_assert_uint_eq(h.salt, at.salt);
        ck_assert_uint_eq(h.lap, at.lap);
        ck_assert_uint_eq(h.checksum, wal.fx.store->wal.next.previous);
        wraps += at.lap != before.lap;
    }
    ck_assert_uint_ge(wraps, 3);
    ck_assert_uint_eq(kl_base_stat_get(&kl_store_stats(wal.fx.store)->wal_laps),
                      wraps);
}
END_TEST

START_TEST(groups_are_not_larger_than_a_file)
{
    struct kl_store_position at;
    struct kl_store_group_header h;
    uint64_t before;

    store_fixture_deinit(&wal.fx);
    wal_setup_ring(64 * 1024);
    at = wal.fx.store->wal.next;
    before = at.sequence;
    store_fixture_fill(&wal.fx, wal.subject, 40, 1000, 1);
    wal_commit();
    free(wal_group_at(&at, &h));
    ck_assert_uint_le(h.size, wal.fx.store->wal.file_size);
    ck_assert_uint_ge(h.entry_count, 10);
    ck_assert_uint_ge(wal.fx.store->wal.next.sequence, before + 3);
    store_fixture_crash(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    store_fixture_expect(&wal.fx, wal.subject, 0, 40, 1000, 1);
}
END_TEST

START_TEST(metadata_entries_are_first)
{
    struct kl_store_id meta_id = {kl_store_metadata_topic, 0};
    struct kl_store_log *meta =
        store_fixture_create(&wal.fx, &meta_id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    struct kl_store_position at;
    struct kl_store_group_header h;
    uint8_t *group;

    wal_commit();
    wal_commit();
    store_fixture_fill(&wal.fx, wal.subject, 400, 2000,
                       1); /* more than a group holds */
    store_fixture_fill(&wal.fx, meta, 2, 50, 2);
    store_fixture_turn(&wal.fx); /* the group is formed */
    at = wal.fx.store->wal.next;
    at.offset -= wal.fx.store->group.header.size;
    store_fixture_turn(&wal.fx);
    ck_assert_int_eq(store_fixture_view(meta).durable_leo, 2);
    ck_assert_int_lt(store_fixture_view(wal.subject).durable_leo, 400);
    group = wal_group_at(&at, &h);
    for (int i = 0; i < 3; i++) {
        struct kl_store_entry_header e = entry_of(group, i);

        ck_assert_int_eq(
            kl_base_uuid_equal(&e.id.topic_id, &kl_store_metadata_topic),
            i < 2);
    }
    free(group);
    wal_commit();
}
END_TEST

/* ---- sealing --------------------------------------------------------------
 */

START_TEST(seal_after_an_idle_second)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint64_t writes;

    store_fixture_fill(&wal.fx, wal.subject, 1, 100, 1);
    store_fixture_settle(&wal.fx);
    at = wal.fx.store->wal.next;
    ck_assert_int_lt(kl_store_deadline(wal.fx.store),
                     wal.fx.now_ns + 1000000000);
    wal_idle();
    free(wal_group_at(&at, &h));
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_SEAL);
    ck_assert_uint_eq(h.size, KL_STORE_BLOCK);
    ck_assert_uint_eq(h.entry_count, 0);
    ck_assert_uint_eq(h.sequence, at.sequence);
    ck_assert_uint_eq(h.previous, at.previous);
    ck_assert_mem_eq(&at, &wal.fx.store->wal.next, sizeof at);
    writes = trace_vfs_count(&wal.fx.trace, TRACE_VFS_WRITE);
    wal_idle();
    wal_idle(); /* once is enough */
    ck_assert_uint_eq(trace_vfs_count(&wal.fx.trace, TRACE_VFS_WRITE), writes);
    store_fixture_fill(&wal.fx, wal.subject, 1, 100, 1);
    wal_commit();
    free(wal_group_at(&at, &h)); /* over the seal */
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_DATA);
    store_fixture_crash(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    store_fixture_expect(&wal.fx, wal.subject, 0, 2, 100, 1);
}
END_TEST

/* While the quorum state is written nothing is sealed, and nobody is woken for
 * it again and again. */
START_TEST(seal_waits_for_the_quorum_state)
{
    struct kl_store_quorum q = {.epoch = 1, .leader_id = -1, .voted_id = -1};
    struct kl_store_position at;
    struct kl_store_group_header h;

    store_fixture_fill(&wal.fx, wal.subject, 1, 100, 1);
    store_fixture_settle(&wal.fx);
    at = wal.fx.store->wal.next;
    wal.fx.now_ns = wal.fx.store->wal.seal_due_ns - 1;
    trace_vfs_fail(&wal.fx.trace, TRACE_VFS_WRITE, 1, KL_EDISKFULL);
    ck_assert_int_eq(kl_store_quorum_put(wal.fx.store, &q, NULL), 0);
    kl_store_turn(wal.fx.store, wal.fx.now_ns, wal.fx.wall_ms);
    wal.fx.now_ns += 2;
    kl_store_turn(wal.fx.store, wal.fx.now_ns, wal.fx.wall_ms);
    ck_assert(kl_store_quorum_is_busy(wal.fx.store));
    ck_assert_int_gt(kl_store_deadline(wal.fx.store), wal.fx.now_ns);
    trace_vfs_heal(&wal.fx.trace);
    wal_idle();
    wal_idle();
    free(wal_group_at(&at, &h));
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_SEAL);
}
END_TEST

/* The group after a seal does not fit behind it and goes to the next file: it
 * and its successors are found all the same. */
START_TEST(seal_before_a_group_in_the_next_file)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    int64_t leo;

    wal_near_the_end(3 * KL_STORE_BLOCK);
    wal_idle();
    at = wal.fx.store->wal.next;
    free(wal_group_at(&at, &h));
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_SEAL);
    store_fixture_fill(&wal.fx, wal.subject, 6, 3000, 1);
    wal_commit();
    ck_assert_uint_ne(wal.fx.store->wal.next.file, at.file);
    for (int i = 0; i < _i; i++) {
        store_fixture_fill(&wal.fx, wal.subject, 1, 3000, 1);
        wal_commit();
    }
    leo = store_fixture_view(wal.subject).durable_leo;
    store_fixture_crash(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    ck_assert_int_eq(store_fixture_view(wal.subject).leo, leo);
    store_fixture_expect(&wal.fx, wal.subject, 0, leo, 3000, 1);
}
END_TEST

/* ---- failures -------------------------------------------------------------
 */

static void check_failed(int code, int64_t durable)
{
    struct kl_store_event event;
    struct kl_base_error error;
    uint64_t writes, syncs;
    int seen = 0;

    for (int i = 0; i < 5; i++) {
        wal.fx.now_ns += 1000000;
        kl_store_turn(wal.fx.store, wal.fx.now_ns, wal.fx.wall_ms);
        while (kl_store_next_event(wal.fx.store, &event))
            seen += event.type == KL_STORE_EVENT_FAILED;
    }
    ck_assert_int_eq(seen, 1);
    ck_assert_int_eq(kl_store_failure(wal.fx.store, &error), code);
    ck_assert_ptr_nonnull(strstr(error.text, "data/wal/"));
    trace_vfs_heal(&wal.fx.trace);
    writes = trace_vfs_count(&wal.fx.trace, TRACE_VFS_WRITE);
    syncs = trace_vfs_count(&wal.fx.trace, TRACE_VFS_SYNC);
    store_fixture_settle(&wal.fx);
    wal.fx.now_ns += 5000000000;
    store_fixture_settle(&wal.fx);
    ck_assert_uint_eq(trace_vfs_count(&wal.fx.trace, TRACE_VFS_WRITE), writes);
    ck_assert_uint_eq(trace_vfs_count(&wal.fx.trace, TRACE_VFS_SYNC), syncs);
    ck_assert_int_eq(store_fixture_view(wal.subject).durable_leo, durable);
    ck_assert_int_eq(kl_store_deadline(wal.fx.store), INT64_MAX);
    ck_assert_uint_eq(kl_base_stat_get(&kl_store_stats(wal.fx.store)->failed),
                      1);
}

/* The write (0) or the sync (1) of a group fails: nothing pending is ever
 * acknowledged, nothing is tried again, reads go on. */
START_TEST(failed_group_fails_the_store_for_ever)
{
    static const enum trace_vfs_kind kinds[] = {TRACE_VFS_WRITE,
                                                TRACE_VFS_SYNC};
    struct kl_store_id other = store_fixture_id(1, 0);
    struct kl_store_log *out;

    wal.fx.config.cache_bytes_max = 0;
    store_fixture_crash(&wal.fx);
    ck_assert_int_eq(store_fixture_open(&wal.fx), 0);
    wal.subject =
        store_fixture_create(&wal.fx, &wal.id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    store_fixture_fill(&wal.fx, wal.subject, 10, 500, 1);
    store_fixture_settle(&wal.fx);
    store_fixture_fill(&wal.fx, wal.subject, 5, 500, 1);
    trace_vfs_fail_from(&wal.fx.trace, kinds[_i], 1, KL_EIO);
    check_failed(KL_EIO, 10);
    ck_assert_int_eq(store_fixture_append(&wal.fx, wal.subject, 1, 10, 1, 0, 0),
                     KL_EFAILED);
    ck_assert_int_eq(kl_store_truncate(wal.subject, 3), KL_EFAILED);
    ck_assert_int_eq(kl_store_start_epoch(wal.subject, 3), KL_EFAILED);
    ck_assert_int_eq(kl_store_set_start(wal.subject, 3), KL_EFAILED);
    ck_assert_int_eq(kl_store_delete(wal.subject), KL_EFAILED);
    ck_assert_int_eq(kl_store_create(wal.fx.store, &other,
                                     KL_STORE_FLUSH_COMMIT,
                                     &(struct kl_store_log_config){0}, &out),
                     KL_EFAILED);
    store_fixture_expect(&wal.fx, wal.subject, 0, 10, 500, 1);
    kl_store_stop(wal.fx.store);
    ck_assert(kl_store_is_stopped(wal.fx.store));
    store_fixture_crash(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    store_fixture_expect(&wal.fx, wal.subject, 0, 10, 500, 1);
}
END_TEST

START_TEST(group_without_memory_is_tried_again)
{
    for (uint64_t n = 1; n <= 3; n++) {
        store_fixture_deinit(&wal.fx);
        wal_setup();
        store_fixture_fill(&wal.fx, wal.subject, 100, 100, 1);
        fail_alloc_arm(&wal.fx.alloc, n);
        store_fixture_turn(&wal.fx);
        fail_alloc_arm(&wal.fx.alloc, 0);
        wal_commit();
        ck_assert_int_eq(kl_store_failure(wal.fx.store, NULL), 0);
        store_fixture_crash(&wal.fx);
        wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
        store_fixture_expect(&wal.fx, wal.subject, 0, 100, 100, 1);
    }
}
END_TEST

/* ---- a full ring -----------------------------------------------------------
 */

START_TEST(full_ring_is_back_pressure)
{
    int turns = 0;

    store_fixture_deinit(&wal.fx);
    wal_setup_ring(64 * 1024);
    while (store_fixture_view(wal.subject).durable_leo < 300) {
        struct kl_store_view view = store_fixture_view(wal.subject);

        if (view.leo < 300 && view.leo - view.durable_leo < 100)
            store_fixture_fill(&wal.fx, wal.subject, 50, 3000, 1);
        store_fixture_turn(&wal.fx);
        ck_assert_int_lt(++turns, 5000);
    }
    ck_assert_uint_gt(
        kl_base_stat_get(&kl_store_stats(wal.fx.store)->wal_stalls), 0);
    ck_assert_int_eq(kl_store_failure(wal.fx.store, NULL), 0);
    store_fixture_crash(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    store_fixture_expect(&wal.fx, wal.subject, 0, 300, 3000, 1);
}
END_TEST

Suite *suite_store_wal(void);

Suite *suite_store_wal(void)
{
    Suite *suite = suite_create("store_wal");
    TCase *t = tcase_create("wal");

    tcase_add_checked_fixture(t, wal_setup, wal_teardown);
    tcase_add_test(t, group_on_disk);
    tcase_add_test(t, groups_never_cross_files_and_are_chained);
    tcase_add_test(t, groups_are_not_larger_than_a_file);
    tcase_add_test(t, metadata_entries_are_first);
    tcase_add_test(t, seal_after_an_idle_second);
    tcase_add_test(t, seal_waits_for_the_quorum_state);
    tcase_add_loop_test(t, seal_before_a_group_in_the_next_file, 0, 3);
    tcase_add_loop_test(t, failed_group_fails_the_store_for_ever, 0, 2);
    tcase_add_test(t, group_without_memory_is_tried_again);
    tcase_add_test(t, full_ring_is_back_pressure);
    suite_add_tcase(suite, t);
    return suite;
}
