/*
 * What fuzzing edited stores has found, each in its smallest form.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct store_fixture f;

static void setup(void)
{
    store_fixture_init(&f);
    f.config.ring_bytes = 1 << 20; /* no checkpoint but where one is wanted */
    ck_assert_int_eq(store_fixture_open(&f), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

/* Segments of 8 KiB also for a log that was opened. */
static void set_small_segments(struct kl_store_log *log)
{
    struct kl_store_log_config config = log->config;

    config.segment_bytes = 8192;
    kl_store_log_configure(log, &config);
}

static const char *path_of(const struct kl_store_log *log, const char *name)
{
    static char path[KL_STORE_PATH_MAX];

    kl_store_path_in_log(log, name, path);
    return path;
}

/* A rename that was lost, or a backup: the manifest does not know the segment
 * that the slot knows. It must not be deleted as a leftover. */
START_TEST(manifest_of_another_time_deletes_nothing)
{
    struct kl_store_id id = store_fixture_id(1, 0);
    struct kl_store_log *log =
        store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
    char path[KL_STORE_PATH_MAX];
    uint8_t *manifest;
    size_t size;

    store_fixture_fill(&f, log, 2, 500, 1);
    store_fixture_settle(&f);
    store_fixture_close(&f);
    log = store_fixture_reopen(&f, &id);
    store_fixture_expect(&f, log, 0, 2, 500, 1);
    snprintf(path, sizeof path, "%s", path_of(log, "manifest"));
    manifest = store_fixture_load(&f, path, &size);
    set_small_segments(log);
    store_fixture_fill(&f, log, 40, 500, 1);
    store_fixture_settle(&f);
    store_fixture_close(&f);
    store_fixture_save(&f, path, manifest, size);
    free(manifest);
    log = store_fixture_reopen(&f, &id);
    store_fixture_expect(&f, log, 0, 42, 500, 1);
    ck_assert_uint_gt(store_fixture_view(log).segment_count, 1);
}
END_TEST

/* What is written after the loss of a synced segment is not lost with it when
 * the process is killed. */
START_TEST(interval_log_goes_on_behind_a_lost_segment)
{
    struct kl_store_id id = store_fixture_id(1, 0);
    struct kl_store_log *log =
        store_fixture_create(&f, &id, KL_STORE_FLUSH_INTERVAL, 8192);
    char segment[KL_STORE_PATH_MAX];

    store_fixture_fill(&f, log, 5, 100, 1);
    store_fixture_settle(&f);
    kl_store_path_segment(log, 0, "seg", segment);
    store_fixture_close(&f);
    log = store_fixture_reopen(&f, &id);
    /* A crash, so that open has to look. */
    store_fixture_fill(&f, log, 1, 100, 1);
    store_fixture_settle(&f);
    store_fixture_crash(&f);
    store_fixture_unlink(&f, segment);
    log = store_fixture_reopen(&f, &id);
    store_fixture_fill(&f, log, 1, 100, 1);
    store_fixture_settle(&f);
    ck_assert_int_eq(store_fixture_view(log).durable_leo,
                     store_fixture_view(log).leo);
    for (int i = 0; i < 3; i++) {
        int64_t end = store_fixture_view(log).leo;

        store_fixture_crash(&f);
        log = store_fixture_reopen(&f, &id);
        ck_assert_int_eq(store_fixture_view(log).leo, end);
        store_fixture_expect(&f, log, end - 1, end, 100, 1);
    }
}
END_TEST

/* The same where the manifest is gone as well: it is made again without that
 * segment, and the gap is no reason to end there. */
START_TEST(interval_log_goes_on_behind_a_gap)
{
    struct kl_store_id id = store_fixture_id(1, 0);
    struct kl_store_log *log =
        store_fixture_create(&f, &id, KL_STORE_FLUSH_INTERVAL, 8192);
    char segment[KL_STORE_PATH_MAX], manifest[KL_STORE_PATH_MAX];
    int64_t end;

    store_fixture_fill(&f, log, 20, 500, 1);
    store_fixture_settle(&f);
    ck_assert_uint_gt(store_fixture_view(log).segment_count, 1);
    kl_store_path_segment(log, kl_store_files_active(log)->info.base, "seg",
                          segment);
    kl_store_path_in_log(log, "manifest", manifest);
    store_fixture_close(&f);
    store_fixture_unlink(&f, segment);
    store_fixture_unlink(&f, manifest);
    log = store_fixture_reopen(&f, &id);
    ck_assert_int_eq(store_fixture_view(log).leo, 20);
    store_fixture_fill(&f, log, 1, 100, 1);
    store_fixture_settle(&f);
    end = store_fixture_view(log).durable_leo;
    ck_assert_int_eq(end, 21);
    for (int i = 0; i < 2; i++) {
        store_fixture_crash(&f);
        log = store_fixture_reopen(&f, &id);
        ck_assert_int_eq(store_fixture_view(log).leo, end);
        store_fixture_expect(&f, log, end - 1, end, 100, 1);
        store_fixture_expect(&f, log, 0, 5, 500, 1);
        ck_assert_uint_eq(kl_store_log_damage(log, 0, NULL), 1);
    }
}
END_TEST

/* The group that wrote the records is rotten, the one that deleted them is
 * not: start and end of the log stay in order. */
START_TEST(start_behind_a_lost_group)
{
    struct kl_store_id id = store_fixture_id(1, 0);
    struct kl_store_log *log =
        store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
    static const uint8_t zeros[KL_STORE_BLOCK];
    struct kl_store_position lost;
    char path[KL_STORE_PATH_MAX];

    store_fixture_fill(&f, log, 3, 100, 1);
    store_fixture_turn(&f);
    store_fixture_turn(&f);
    lost = f.store->wal.next;
    store_fixture_fill(&f, log, 3, 100, 1);
    store_fixture_turn(&f);
    store_fixture_turn(&f);
    ck_assert_int_eq(kl_store_set_start(log, 5), 0);
    store_fixture_turn(&f);
    store_fixture_turn(&f);
    ck_assert_uint_eq(f.store->wal.next.file, lost.file);
    kl_store_path_wal(f.store, lost.file, path);
    store_fixture_crash(&f);
    store_fixture_patch(&f, path, lost.offset, zeros, sizeof zeros);
    log = store_fixture_reopen(&f, &id);
    ck_assert_int_eq(kl_store_verdict(f.store), KL_STORE_VERDICT_DAMAGED);
    ck_assert_int_eq(store_fixture_view(log).start, 5);
    ck_assert_int_ge(store_fixture_view(log).leo, 5);
    ck_assert(store_fixture_view(log).is_suspect);
}
END_TEST

/* Appends of an interval log do not wait for the WAL; one that builds on a
 * truncation goes with it where the log is deleted first. */
START_TEST(delete_drops_what_builds_on_a_dropped_cut)
{
    struct kl_store_id id = store_fixture_id(1, 0);
    struct kl_store_log *log =
        store_fixture_create(&f, &id, KL_STORE_FLUSH_INTERVAL, 8192);
    const struct kl_store_entry *e;

    store_fixture_fill(&f, log, 2, 100, 1);
    store_fixture_settle(&f);
    ck_assert_int_eq(kl_store_truncate(log, 1), 0);
    store_fixture_fill(&f, log, 1, 100, 2);
    ck_assert_int_eq(kl_store_delete(log), 0);
    ck_assert_ptr_eq(log->work->pending.next, log->work->pending.prev);
    e = KL_BASE_CONTAINER(log->work->pending.next, struct kl_store_entry,
                          order);
    ck_assert_int_eq(e->type, KL_STORE_ENTRY_DELETE);
    store_fixture_settle(&f);
    ck_assert_int_eq(kl_store_failure(f.store, NULL), 0);
    ck_assert_int_eq(store_fixture_count(&f, "data/logs", ""), 0);
}
END_TEST

Suite *suite_store_found(void);

Suite *suite_store_found(void)
{
    Suite *suite = suite_create("store_found");
    TCase *t = tcase_create("found");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, manifest_of_another_time_deletes_nothing);
    tcase_add_test(t, interval_log_goes_on_behind_a_lost_segment);
    tcase_add_test(t, interval_log_goes_on_behind_a_gap);
    tcase_add_test(t, start_behind_a_lost_group);
    tcase_add_test(t, delete_drops_what_builds_on_a_dropped_cut);
    suite_add_tcase(suite, t);
    return suite;
}
