/*
 * A flush of an interval log that fails: what it should have made durable never
 * counts as durable, and no stop after it is a clean one.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>

static struct store_fixture f;

static void setup(void)
{
    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

/* A log of which the second record is written and not synced, and another one
 * that asks for a flush: the next sync. */
static struct kl_store_log *make_unsynced(void)
{
    struct kl_store_id id = store_fixture_id(1, 0);
    struct kl_store_log *log =
        store_fixture_create(&f, &id, KL_STORE_FLUSH_INTERVAL, 1 << 20);
    struct kl_store_log_config config = log->config;
    uint64_t syncs;

    store_fixture_fill(&f, log, 1, 100, 1); /* a new segment is synced */
    store_fixture_settle(&f);
    store_fixture_fill(&f, log, 1, 100, 1);
    store_fixture_settle(&f);
    syncs = trace_vfs_count(&f.trace, TRACE_VFS_SYNC);
    store_fixture_settle(&f);
    ck_assert_uint_eq(trace_vfs_count(&f.trace, TRACE_VFS_SYNC), syncs);
    ck_assert_int_eq(store_fixture_view(log).durable_leo, 2);
    ck_assert_int_eq(kl_store_log_synced_leo(log), 1);
    config.flush_bytes = 1;
    kl_store_log_configure(log, &config);
    trace_vfs_fail(&f.trace, TRACE_VFS_SYNC, 1, KL_EIO);
    store_fixture_fill(&f, log, 1, 100, 1);
    return log;
}

static int slot_is_clean(const char *path)
{
    struct kl_base_cursor c;
    struct kl_store_slot slot;
    size_t size;
    uint8_t *data = store_fixture_load(&f, path, &size);

    ck_assert_int_eq(kl_store_slot_decode(data, size, &c, &slot), 0);
    free(data);
    return (slot.flags & KL_STORE_SLOT_CLEAN) != 0;
}

START_TEST(failed_flush_fails_the_store)
{
    struct kl_store_log *log = make_unsynced();

    store_fixture_settle(&f);
    ck_assert_int_eq(kl_store_failure(f.store, NULL), KL_EIO);
    ck_assert_int_eq(kl_store_log_synced_leo(log), 1);
}
END_TEST

START_TEST(stop_after_a_failed_flush_is_not_clean)
{
    make_unsynced();
    store_fixture_settle(&f);
    kl_store_stop(f.store);
    store_fixture_settle(&f);
    ck_assert(kl_store_is_stopped(f.store));
    store_fixture_crash(&f);
    ck_assert(!slot_is_clean("data/checkpoint.a"));
    ck_assert(!slot_is_clean("data/checkpoint.b"));
}
END_TEST

/* The flush that belongs to the stop itself. */
START_TEST(flush_that_fails_while_stopping)
{
    make_unsynced();
    kl_store_stop(f.store);
    store_fixture_settle(&f);
    ck_assert_int_eq(kl_store_failure(f.store, NULL), KL_EIO);
    store_fixture_crash(&f);
    ck_assert(!slot_is_clean("data/checkpoint.a"));
    ck_assert(!slot_is_clean("data/checkpoint.b"));
}
END_TEST

Suite *suite_store_failed_flush(void);

Suite *suite_store_failed_flush(void)
{
    Suite *suite = suite_create("store_failed_flush");
    TCase *t = tcase_create("failed_flush");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, failed_flush_fails_the_store);
    tcase_add_test(t, stop_after_a_failed_flush_is_not_clean);
    tcase_add_test(t, flush_that_fails_while_stopping);
    suite_add_tcase(suite, t);
    return suite;
}
