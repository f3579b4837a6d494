/*
 * Checkpoints: either slot is enough, and nothing that the older one needs is
 * used again or removed before.
 */
#include "store/checkpoint.h"
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

static const char *const slots[2] = {"data/checkpoint.a", "data/checkpoint.b"};

static void setup(void)
{
    store_fixture_init(&fx);
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 16384);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static struct kl_store_slot slot_read(int index)
{
    struct kl_base_cursor c;
    struct kl_store_slot slot;
    size_t size;
    uint8_t *data = store_fixture_load(&fx, slots[index], &size);

    ck_assert_int_eq(kl_store_slot_decode(data, size, &c, &slot), 0);
    free(data);
    return slot;
}

static void checkpoint(void)
{
    uint64_t before = kl_store_checkpoint_newest(fx.store);

    kl_store_checkpoint_request(fx.store);
    store_fixture_settle(&fx);
    ck_assert_uint_gt(kl_store_checkpoint_newest(fx.store), before);
}

/* Appends so many that slots, segments and WAL all hold some of it. */
static void mixed(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        store_fixture_fill(&fx, subject, 3, 1000, 1);
        for (int k = 0; k < 4; k++)
            store_fixture_turn(&fx);
    }
}

static void reopen(void)
{
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
}

/* ---- slots ----------------------------------------------------------------
 */

START_TEST(slots_alternate)
{
    for (int i = 0; i < 5; i++) {
        uint64_t a, b;

        store_fixture_fill(&fx, subject, 1, 10, 1);
        checkpoint();
        a = slot_read(0).generation;
        b = slot_read(1).generation;
        ck_assert(a == b + 1 || b == a + 1);
        ck_assert_uint_eq(a > b ? a : b, kl_store_checkpoint_newest(fx.store));
    }
}
END_TEST

START_TEST(one_slot_is_enough)
{
    for (int rounds = 1; rounds < 40; rounds += 3) {
        int64_t leo;

        store_fixture_deinit(&fx);
        setup();
        mixed(rounds);
        leo = store_fixture_view(subject).durable_leo;
        ck_assert_int_ge(leo, rounds * 3 - 3);
        store_fixture_crash(&fx);
        if (rounds % 2)
            store_fixture_unlink(&fx, slots[_i]);
        else
            store_fixture_patch(&fx, slots[_i], 30, "\xff\xfe\xfd", 3);
        subject = store_fixture_reopen(&fx, &id);
        ck_assert_int_ge(store_fixture_view(subject).leo, leo);
        store_fixture_expect(&fx, subject, 0, store_fixture_view(subject).leo,
                             1000, 1);
        /* The lost one has been made again. */
        slot_read(0);
        slot_read(1);
        mixed(2);
        store_fixture_crash(&fx);
        store_fixture_unlink(&fx, slots[1 - _i]);
        subject = store_fixture_reopen(&fx, &id);
        store_fixture_expect(&fx, subject, 0, store_fixture_view(subject).leo,
                             1000, 1);
    }
}
END_TEST

/* A crash while a slot is written leaves any part of it. */
START_TEST(torn_slot)
{
    size_t size;

    mixed(20);
    store_fixture_settle(&fx);
    for (size_t keep = 0; keep < 250; keep += 25) {
        uint8_t *data = store_fixture_load(&fx, slots[_i], &size);

        store_fixture_crash(&fx);
        store_fixture_save(&fx, slots[_i], data, keep < size ? keep : size - 1);
        free(data);
        subject = store_fixture_reopen(&fx, &id);
        store_fixture_expect(&fx, subject, 0, 60, 1000, 1);
    }
}
END_TEST

START_TEST(both_slots_bad)
{
    uint64_t hash;

    mixed(5);
    store_fixture_crash(&fx);
    store_fixture_patch(&fx, slots[0], 30, "\xff\xfe\xfd", 3);
    store_fixture_patch(&fx, slots[1], 30, "\xff\xfe\xfd", 3);
    hash = store_fixture_hash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(fx.error.text, "checkpoint"));
    store_fixture_crash(&fx);
    ck_assert_uint_eq(store_fixture_hash(&fx), hash);
}
END_TEST

START_TEST(clean_flag_only_after_a_stop)
{
    int newest;

    mixed(3);
    checkpoint();
    ck_assert_uint_eq(slot_read(0).flags | slot_read(1).flags, 0);
    store_fixture_close(&fx);
    newest = slot_read(1).generation > slot_read(0).generation;
    ck_assert_uint_eq(slot_read(newest).flags, KL_STORE_SLOT_CLEAN);
    ck_assert_uint_eq(slot_read(1 - newest).flags, 0);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_uint_eq(slot_read(0).flags | slot_read(1).flags, 0);
    store_fixture_expect(&fx, subject, 0, 9, 1000, 1);
}
END_TEST

/* Nothing is appended behind a recovered tail. */
START_TEST(open_positions_both_slots_at_a_new_file)
{
    struct kl_store_position before;

    mixed(4);
    before = fx.store->wal.next;
    reopen();
    for (int i = 0; i < 2; i++) {
        struct kl_store_position p = slot_read(i).position;

        ck_assert_uint_eq(p.offset, 0);
        ck_assert_uint_ne(p.file, before.file);
        ck_assert_uint_gt(p.sequence, before.sequence);
        ck_assert_uint_ne(p.salt, before.salt);
    }
}
END_TEST

START_TEST(missing_wal_file)
{
    uint64_t hash;

    mixed(4);
    store_fixture_crash(&fx);
    if (_i == 0)
        store_fixture_unlink(&fx, "data/wal/2");
    else
        store_fixture_save(&fx, "data/wal/2", "short", 5);
    hash = store_fixture_hash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), _i ? KL_ECORRUPT : KL_ENOENT);
    ck_assert_ptr_nonnull(strstr(fx.error.text, "data/wal/2"));
    store_fixture_crash(&fx);
    ck_assert_uint_eq(store_fixture_hash(&fx), hash);
}
END_TEST

/* ---- what a slot holds back ------------------------------------------------
 */

START_TEST(wal_file_is_not_reused_before_both_slots_passed_it)
{
    uint64_t held[KL_STORE_RING_FILES_MAX];
    uint32_t file = fx.store->wal.next.file;

    fx.store->config.pending_bytes_max = 4 << 20;
    for (int i = 0; store_fixture_view(subject).durable_leo < 400; i++) {
        struct kl_store_wal *w = &fx.store->wal;

        for (int64_t n = store_fixture_view(subject).leo; n < 400; n++)
            if (store_fixture_append(&fx, subject, 1, 2000, 1, 0, fx.wall_ms))
                break;
        memcpy(held, w->last_sequence, sizeof held);
        store_fixture_turn(&fx);
        if (w->next.file != file) {
            /* A group has gone into this file: what it held is passed by the
             * positions of both slots on disk. */
            file = w->next.file;
            ck_assert(held[file] == 0 ||
                      held[file] < slot_read(0).position.sequence);
            ck_assert(held[file] == 0 ||
                      held[file] < slot_read(1).position.sequence);
        }
        ck_assert_int_lt(i, 5000);
    }
    ck_assert_uint_ge(kl_base_stat_get(&kl_store_stats(fx.store)->wal_laps), 3);
}
END_TEST

static int segments(void)
{
    char folder[KL_STORE_PATH_MAX];

    kl_store_path_log(subject, folder);
    return store_fixture_count(&fx, folder, ".seg");
}

/* Turns until condition, counting the slots that were written meanwhile. */
static uint64_t slots_until(int (*condition)(void))
{
    uint64_t before = kl_store_checkpoint_newest(fx.store);

    for (int i = 0; !condition(); i++) {
        ck_assert_int_lt(i, 5000);
        store_fixture_turn(&fx);
    }
    return kl_store_checkpoint_newest(fx.store) - before;
}

static int one_segment_is_left(void)
{
    return segments() == 1;
}

START_TEST(deleted_segments_are_unlinked_after_two_slots)
{
    mixed(20);
    store_fixture_settle(&fx);
    ck_assert_int_gt(segments(), 3);
    ck_assert_int_eq(kl_store_set_start(subject, 60), 0);
    ck_assert_uint_ge(slots_until(one_segment_is_left), 2);
    ck_assert_uint_ge(
        kl_base_stat_get(&kl_store_stats(fx.store)->segments_deleted), 3);
    /* Both slots can do without them. */
    store_fixture_crash(&fx);
    store_fixture_unlink(&fx, slots[_i]);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(store_fixture_view(subject).start, 60);
    ck_assert_int_eq(store_fixture_view(subject).leo, 60);
    store_fixture_fill(&fx, subject, 1, 1000, 1);
    store_fixture_settle(&fx);
    store_fixture_expect(&fx, subject, 60, 61, 1000, 1);
}
END_TEST

/* A stop that waits for something else is not woken for names that only the
 * next start removes. */
START_TEST(nothing_is_due_behind_a_stop)
{
    mixed(20);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_set_start(subject, 60), 0);
    for (int i = 0; i < 4; i++)
        store_fixture_turn(&fx);
    kl_store_stop(fx.store);
    while (!kl_store_is_stopped(fx.store))
        store_fixture_turn(&fx);
    ck_assert(kl_store_tidy_is_waiting(fx.store));
    ck_assert_int_eq(kl_store_checkpoint_deadline(fx.store), INT64_MAX);
}
END_TEST

static int no_folder_is_left(void)
{
    return store_fixture_count(&fx, "data/logs", "") == 0;
}

START_TEST(deleted_folders_are_removed_at_once)
{
    mixed(20);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_count(&fx, "data/logs", ""), 1);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    ck_assert_ptr_null(kl_store_find(fx.store, &id));
    /* The slots name the log still, the WAL has its delete. */
    ck_assert_uint_eq(slots_until(no_folder_is_left), 0);
    store_fixture_crash(&fx);
    store_fixture_unlink(&fx, slots[_i]);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    ck_assert_ptr_null(kl_store_find(fx.store, &id));
}
END_TEST

/* A crash at any moment between: the log is whole or gone. */
START_TEST(deletion_interrupted_at_any_moment)
{
    for (int turns = 0; turns < 30; turns++) {
        store_fixture_deinit(&fx);
        setup();
        mixed(10);
        store_fixture_settle(&fx);
        ck_assert_int_eq(kl_store_delete(subject), 0);
        for (int i = 0; i < turns; i++) {
            store_fixture_turn(&fx);
            fx.now_ns += 20000000;
        }
        store_fixture_crash(&fx);
        if (turns % 3)
            store_fixture_unlink(&fx, slots[turns % 3 - 1]);
        ck_assert_int_eq(store_fixture_open(&fx), 0);
        subject = kl_store_find(fx.store, &id);
        if (subject)
            store_fixture_expect(&fx, subject, 0, 30, 1000, 1);
        ck_assert_int_eq(subject != NULL, turns == 0);
        ck_assert_int_eq(store_fixture_count(&fx, "data/logs", ""),
                         subject != NULL);
    }
}
END_TEST

/* ---- order on the medium ---------------------------------------------------
 */

START_TEST(failed_sync_of_a_segment_fails_the_store)
{
    struct kl_base_error error;

    mixed(1);
    store_fixture_settle(&fx);
    trace_vfs_fail(&fx.trace, TRACE_VFS_SYNC, 1, KL_EIO);
    kl_store_checkpoint_request(fx.store);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_failure(fx.store, &error), KL_EIO);
    ck_assert_ptr_nonnull(strstr(error.text, "data/"));
    reopen();
    store_fixture_expect(&fx, subject, 0, 3, 1000, 1);
}
END_TEST

START_TEST(checkpoint_without_memory_is_tried_again)
{
    for (uint64_t n = 1; n < 12; n++) {
        store_fixture_deinit(&fx);
        setup();
        mixed(2);
        store_fixture_settle(&fx);
        kl_store_checkpoint_request(fx.store);
        fail_alloc_arm(&fx.alloc, n);
        store_fixture_turn(&fx);
        store_fixture_turn(&fx);
        fail_alloc_arm(&fx.alloc, 0);
        fx.now_ns += 1000000000; /* longer than the pause before that */
        checkpoint();
        reopen();
        store_fixture_expect(&fx, subject, 0, 6, 1000, 1);
    }
}
END_TEST

/* An open after a crash waits for the medium a few times, however many logs it
 * brings back, and gives no block back to the file system, which is slow. */
START_TEST(open_costs_a_few_syncs)
{
    static const enum trace_vfs_kind kinds[] = {
        TRACE_VFS_SYNC, TRACE_VFS_SYNC_DIR, TRACE_VFS_SYNC_ALL};
    static const enum trace_vfs_kind slow[] = {
        TRACE_VFS_TRUNCATE, TRACE_VFS_RENAME, TRACE_VFS_UNLINK};
    enum { LOGS = 200, SYNCS = 30 };
    const enum kl_store_flush flush =
        _i ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT;
    uint64_t syncs = 0, others = 0;

    fx.config.file_max = 1024;
    fx.config.ring_bytes = 4 << 20;
    fx.config.path = "large";
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    for (int i = 0; i < LOGS; i++) {
        struct kl_store_id other = store_fixture_id(1, i);

        store_fixture_fill(&fx,
                           store_fixture_create(&fx, &other, flush, 1 << 20), 1,
                           100, (uint64_t)i);
        if (i % 10 == 0)
            store_fixture_settle(&fx);
    }
    store_fixture_settle(&fx);
    checkpoint();
    for (int i = 0; i < LOGS; i++) {
        struct kl_store_id other = store_fixture_id(1, i);

        store_fixture_fill(&fx, kl_store_find(fx.store, &other), 1, 100,
                           (uint64_t)i);
    }
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    for (int i = 0; i < 3; i++) {
        syncs -= trace_vfs_count(&fx.trace, kinds[i]);
        others -= trace_vfs_count(&fx.trace, slow[i]);
    }
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    for (int i = 0; i < 3; i++) {
        syncs += trace_vfs_count(&fx.trace, kinds[i]);
        others += trace_vfs_count(&fx.trace, slow[i]);
    }
    ck_assert_uint_le(syncs, SYNCS);
    ck_assert_uint_eq(others, 0);
    for (int i = 0; i < LOGS; i++) {
        struct kl_store_id other = store_fixture_id(1, i);

        store_fixture_expect(&fx, kl_store_find(fx.store, &other), 0, 2, 100,
                             (uint64_t)i);
    }
}
END_TEST

/* Many logs are made durable by one sync of the file system. */
START_TEST(many_logs_are_synced_at_once)
{
    struct kl_store_log *logs[40];
    uint64_t syncs;

    fx.config.file_max = 512;
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    for (int i = 0; i < 40; i++) {
        struct kl_store_id other = store_fixture_id(1, i);

        logs[i] =
            store_fixture_create(&fx, &other, KL_STORE_FLUSH_COMMIT, 1 << 20);
        store_fixture_fill(&fx, logs[i], 1, 100, (uint64_t)i);
        if (i % 10 == 0)
            store_fixture_settle(&fx);
    }
    store_fixture_settle(&fx);
    syncs = trace_vfs_count(&fx.trace, TRACE_VFS_SYNC_ALL);
    for (int i = 0; i < 40; i++)
        store_fixture_fill(&fx, logs[i], 1, 100, (uint64_t)i);
    checkpoint();
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_SYNC_ALL),
                      syncs + 1);
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    for (int i = 0; i < 40; i++) {
        struct kl_store_id other = store_fixture_id(1, i);

        store_fixture_expect(&fx, kl_store_find(fx.store, &other), 0, 2, 100,
                             (uint64_t)i);
    }
}
END_TEST

Suite *suite_store_checkpoint(void);

Suite *suite_store_checkpoint(void)
{
    Suite *suite = suite_create("store_checkpoint");
    TCase *t = tcase_create("checkpoint");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, slots_alternate);
    tcase_add_loop_test(t, one_slot_is_enough, 0, 2);
    tcase_add_loop_test(t, torn_slot, 0, 2);
    tcase_add_test(t, both_slots_bad);
    tcase_add_test(t, clean_flag_only_after_a_stop);
    tcase_add_test(t, open_positions_both_slots_at_a_new_file);
    tcase_add_loop_test(t, missing_wal_file, 0, 2);
    tcase_add_test(t, wal_file_is_not_reused_before_both_slots_passed_it);
    tcase_add_loop_test(t, deleted_segments_are_unlinked_after_two_slots, 0, 2);
    tcase_add_test(t, nothing_is_due_behind_a_stop);
    tcase_add_loop_test(t, deleted_folders_are_removed_at_once, 0, 2);
    tcase_add_test(t, deletion_interrupted_at_any_moment);
    tcase_add_test(t, failed_sync_of_a_segment_fails_the_store);
    tcase_add_test(t, checkpoint_without_memory_is_tried_again);
    tcase_add_loop_test(t, open_costs_a_few_syncs, 0, 2);
    tcase_add_test(t, many_logs_are_synced_at_once);
    suite_add_tcase(suite, t);
    return suite;
}
