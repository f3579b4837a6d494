/*
 * What passes is waited out: a store that met a full disk, no descriptors or
 * no memory goes on by itself once they are there again, and has lost nothing.
 * A failed sync is the end, whatever it says.
 */
#include "store_fixture.h"

#include <check.h>

enum { SIZE = 700 };

static struct store_fixture fx;
static struct kl_store_id id_a, id_b;
static struct kl_store_log *a, *b;

static const int passing[] = {KL_EDISKFULL, KL_ENOFILES, KL_ENOMEM};

enum { PASSING = sizeof passing / sizeof *passing };

static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.cache_bytes_max = 0;
    id_a = store_fixture_id(0, 0);
    id_b = store_fixture_id(1, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    a = store_fixture_create(&fx, &id_a, KL_STORE_FLUSH_COMMIT, 8192);
    b = store_fixture_create(&fx, &id_b, KL_STORE_FLUSH_INTERVAL, 8192);
    store_fixture_settle(&fx);
}

static void teardown(void)
{
    trace_vfs_heal(&fx.trace);
    store_fixture_deinit(&fx);
}

static uint64_t retries(void)
{
    return kl_base_stat_get(&kl_store_stats(fx.store)->retries);
}

/* More than the longest pause between two tries. */
static void wait_long(void)
{
    for (int i = 0; i < 40; i++) {
        fx.now_ns += 50000000;
        store_fixture_turn(&fx);
    }
}

static void expect_all(int64_t end)
{
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    ck_assert_int_eq(store_fixture_view(a).durable_leo, end);
    ck_assert_int_eq(store_fixture_view(b).durable_leo, end);
    store_fixture_expect(&fx, a, 0, end, SIZE, 1);
    store_fixture_expect(&fx, b, 0, end, SIZE, 1);
}

static void fill(int count)
{
    store_fixture_fill(&fx, a, count, SIZE, 1);
    store_fixture_fill(&fx, b, count, SIZE, 1);
}

static void reopen(void)
{
    a = store_fixture_reopen(&fx, &id_a);
    b = kl_store_find(fx.store, &id_b);
    ck_assert_ptr_nonnull(b);
}

/* Nothing of this kind works for a while, wherever: the WAL, segments,
 * manifests, checkpoints. */
static void run_kind(enum trace_vfs_kind kind, const char *part, int code)
{
    uint64_t before;

    setup();
    fill(5);
    store_fixture_settle(&fx);
    before = retries();
    trace_vfs_fail_path(&fx.trace, kind, part, code);
    fill(20);
    kl_store_checkpoint_request(fx.store);
    wait_long();
    ck_assert_uint_gt(trace_vfs_failed(&fx.trace), 0);
    ck_assert_uint_ge(retries(), before + 3);
    ck_assert_uint_lt(retries(), before + 60); /* it does not spin */
    ck_assert_int_lt(kl_store_deadline(fx.store), INT64_MAX);
    trace_vfs_heal(&fx.trace);
    wait_long();
    expect_all(25);
    store_fixture_crash(&fx);
    reopen();
    expect_all(25);
    fill(5);
    store_fixture_close(&fx);
    reopen();
    expect_all(30);
    teardown();
}

START_TEST(writes_are_waited_out)
{
    run_kind(TRACE_VFS_WRITE, "", passing[_i]);
}
END_TEST

START_TEST(wal_is_waited_out)
{
    run_kind(TRACE_VFS_WRITE, "data/wal", passing[_i]);
}
END_TEST

START_TEST(segments_are_waited_out)
{
    run_kind(TRACE_VFS_WRITE, ".seg", passing[_i]);
}
END_TEST

START_TEST(slots_are_waited_out)
{
    run_kind(TRACE_VFS_WRITE, "checkpoint", passing[_i]);
}
END_TEST

START_TEST(names_are_waited_out)
{
    run_kind(TRACE_VFS_OPEN, "", passing[_i]);
}
END_TEST

START_TEST(renames_are_waited_out)
{
    run_kind(TRACE_VFS_RENAME, "", passing[_i]);
}
END_TEST

START_TEST(synced_folders_need_a_descriptor)
{
    run_kind(TRACE_VFS_SYNC_DIR, "", KL_ENOFILES);
}
END_TEST

START_TEST(truncation_is_waited_out)
{
    setup();
    fill(30);
    store_fixture_settle(&fx);
    trace_vfs_fail_path(&fx.trace, TRACE_VFS_TRUNCATE, "", passing[_i]);
    ck_assert_int_eq(kl_store_truncate(a, 14), 0);
    ck_assert_int_eq(kl_store_truncate(b, 14), 0);
    wait_long();
    ck_assert_uint_gt(retries(), 0);
    trace_vfs_heal(&fx.trace);
    wait_long();
    expect_all(14);
    fill(10);
    store_fixture_settle(&fx);
    expect_all(24);
    store_fixture_crash(&fx);
    reopen();
    expect_all(24);
    teardown();
}
END_TEST

START_TEST(failed_syncs_are_final)
{
    static const enum trace_vfs_kind kinds[] = {
        TRACE_VFS_SYNC, TRACE_VFS_SYNC, TRACE_VFS_SYNC, TRACE_VFS_SYNC_DIR};
    static const char *const parts[] = {"wal", ".seg", "checkpoint", "logs"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        setup();
        trace_vfs_fail_path(&fx.trace, kinds[i], parts[i], KL_EDISKFULL);
        fill(20);
        kl_store_checkpoint_request(fx.store);
        wait_long();
        ck_assert_msg(kl_store_failure(fx.store, NULL) == KL_EIO, "%s: %d",
                      parts[i], kl_store_failure(fx.store, NULL));
        ck_assert_uint_eq(trace_vfs_failed(&fx.trace), 1);
        teardown();
    }
}
END_TEST

/* Appends until the store takes no more; the ring is full then. */
static void fill_ring(void)
{
    int rc;

    do {
        rc = store_fixture_append(&fx, a, 1, SIZE, 0, 0, fx.wall_ms);
        store_fixture_turn(&fx);
    } while (rc == 0);
    ck_assert_int_eq(rc, KL_EAGAIN);
    wait_long();
    ck_assert_uint_gt(kl_base_stat_get(&kl_store_stats(fx.store)->wal_stalls),
                      0);
    ck_assert_int_lt(store_fixture_view(a).durable_leo,
                     store_fixture_view(a).leo);
}

/* Its segment cannot be written, and everything waits for that: the job it is
 * in, checkpoints, the ring. */
START_TEST(delete_gets_through_a_full_ring)
{
    setup();
    fill(5);
    store_fixture_settle(&fx);
    trace_vfs_fail_path(&fx.trace, TRACE_VFS_WRITE, "data/logs/01",
                        KL_ENOFILES);
    store_fixture_fill(&fx, a, 5, SIZE, 1);
    store_fixture_turn(&fx);
    store_fixture_turn(&fx);
    store_fixture_fill(&fx, b, 5, SIZE, 1); /* they go to one job */
    fill_ring();
    ck_assert_int_eq(store_fixture_view(b).durable_leo, 5);
    ck_assert_int_eq(kl_store_set_start(a, 3), 0);
    ck_assert_int_eq(kl_store_start_epoch(a, 1), 0);
    wait_long();
    ck_assert_int_eq(store_fixture_view(a).durable_start, 3);
    ck_assert_int_eq(kl_store_delete(a), 0);
    wait_long();
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    ck_assert_int_eq(store_fixture_count(&fx, "data/logs", ""), 1);
    ck_assert_uint_eq(
        kl_base_stat_get(&kl_store_stats(fx.store)->pending_bytes), 0);
    store_fixture_expect(&fx, b, 0, 10, SIZE, 1);
    trace_vfs_heal(&fx.trace);
    a = store_fixture_create(&fx, &id_a, KL_STORE_FLUSH_COMMIT, 8192);
    store_fixture_fill(&fx, a, 10, SIZE, 1);
    store_fixture_settle(&fx);
    expect_all(10);
    store_fixture_crash(&fx);
    reopen();
    expect_all(10);
    teardown();
}
END_TEST

/* What overtook them is there after a crash, they are not. */
START_TEST(start_gets_through_a_full_ring)
{
    setup();
    fill(5);
    store_fixture_settle(&fx);
    trace_vfs_fail_path(&fx.trace, TRACE_VFS_WRITE, "data/logs/01",
                        KL_ENOFILES);
    fill_ring();
    ck_assert_int_eq(kl_store_set_start(a, 3), 0);
    wait_long();
    store_fixture_crash(&fx);
    trace_vfs_heal(&fx.trace);
    reopen();
    ck_assert_int_eq(store_fixture_view(a).start, 3);
    ck_assert_int_gt(store_fixture_view(a).leo, 5);
    store_fixture_expect(&fx, a, 3, 5, SIZE, 1);
    store_fixture_expect(&fx, b, 0, 5, SIZE, 1);
    teardown();
}
END_TEST

/* Freed while a job waits. */
START_TEST(waiting_jobs_are_dropped_with_the_store)
{
    static const char *const parts[] = {"wal", ".seg", "checkpoint"};

    setup();
    trace_vfs_fail_path(&fx.trace, TRACE_VFS_WRITE, parts[_i], KL_EDISKFULL);
    fill(20);
    kl_store_checkpoint_request(fx.store);
    wait_long();
    ck_assert_uint_gt(retries(), 0);
    store_fixture_crash(&fx);
    teardown();
}
END_TEST

START_TEST(index_that_cannot_be_written_ends)
{
    int64_t found, middle;

    setup();
    trace_vfs_fail_path(&fx.trace, _i ? TRACE_VFS_OPEN : TRACE_VFS_WRITE,
                        ".idx", KL_EIO);
    fill(29);
    store_fixture_settle(&fx);
    middle = fx.wall_ms;
    fill(11);
    store_fixture_settle(&fx);
    ck_assert_uint_gt(trace_vfs_failed(&fx.trace), 0);
    trace_vfs_heal(&fx.trace);
    expect_all(40);
    ck_assert_int_eq(store_fixture_lookup(&fx, a, middle, INT64_MAX, &found),
                     0);
    ck_assert_int_eq(found, 29);
    /* Cut where there is no index, and on from there. */
    ck_assert_int_eq(kl_store_truncate(a, 33), 0);
    ck_assert_int_eq(kl_store_truncate(b, 33), 0);
    store_fixture_settle(&fx);
    fill(30);
    store_fixture_settle(&fx);
    expect_all(63);
    store_fixture_close(&fx);
    reopen();
    expect_all(63);
    teardown();
}
END_TEST

/* Whatever is being done when memory ends, nothing is lost when it returns. */
START_TEST(no_memory_never_fails_the_store)
{
    for (uint64_t i = 1; i < 120; i++) {
        setup();
        fill(5);
        kl_store_checkpoint_request(fx.store);
        fail_alloc_arm(&fx.alloc, i);
        fx.alloc.fail_after = 1;
        for (int k = 0; k < 30; k++)
            store_fixture_turn(&fx);
        kl_store_start_epoch(a, 1);
        kl_store_truncate(b, 3);
        for (int k = 0; k < 30; k++)
            store_fixture_turn(&fx);
        fail_alloc_arm(&fx.alloc, 0);
        fx.alloc.fail_after = 0;
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        wait_long();
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        ck_assert_int_eq(store_fixture_view(a).durable_leo, 5);
        store_fixture_expect(&fx, a, 0, 5, SIZE, 1);
        store_fixture_expect(&fx, b, 0, store_fixture_view(b).leo, SIZE, 1);
        store_fixture_close(&fx);
        teardown();
    }
}
END_TEST

Suite *suite_store_retry(void);

Suite *suite_store_retry(void)
{
    Suite *suite = suite_create("store_retry");
    TCase *t = tcase_create("retry");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, writes_are_waited_out, 0, PASSING);
    tcase_add_loop_test(t, wal_is_waited_out, 0, PASSING);
    tcase_add_loop_test(t, segments_are_waited_out, 0, PASSING);
    tcase_add_loop_test(t, slots_are_waited_out, 0, PASSING);
    tcase_add_loop_test(t, names_are_waited_out, 0, PASSING);
    tcase_add_loop_test(t, renames_are_waited_out, 0, PASSING);
    tcase_add_test(t, synced_folders_need_a_descriptor);
    tcase_add_loop_test(t, truncation_is_waited_out, 0, PASSING);
    tcase_add_test(t, failed_syncs_are_final);
    tcase_add_test(t, delete_gets_through_a_full_ring);
    tcase_add_test(t, start_gets_through_a_full_ring);
    tcase_add_loop_test(t, waiting_jobs_are_dropped_with_the_store, 0, 3);
    tcase_add_loop_test(t, index_that_cannot_be_written_ends, 0, 2);
    tcase_add_test(t, no_memory_never_fails_the_store);
    suite_add_tcase(suite, t);
    return suite;
}
