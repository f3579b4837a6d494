/*
 * One fault at every place: whichever allocation or file call fails, once,
 * nothing crashes, nothing leaks, and what had been reported as durable is
 * there after the next opening.
 */
#include "store_fixture.h"

#include <check.h>
#include <string.h>

enum { FAULTS_MAX = 2000, CUT = 8, START = 5, SIZE = 700 };

static struct store_fixture fx;
static struct fail_alloc plain; /* for what the caller allocates; never fails */
static struct kl_store_id id_a, id_b;
static struct kl_store_log *a, *b;

/* What the store has reported. */
static struct promise
{
    int64_t before_cut; /* durable end of a before the truncation */
    int64_t after_cut;
    int64_t start;
    int64_t interval; /* of b */
    int created;
    int is_cut;
} promise;

static void setup(void)
{
    store_fixture_init(&fx);
    fail_alloc_init(&plain);
    fx.config.cache_bytes_max = 3000;
    id_a = store_fixture_id(0, 0);
    id_b = store_fixture_id(1, 0);
    memset(&promise, 0, sizeof promise);
    a = b = NULL;
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
    fail_alloc_deinit(&plain);
}

/* ---- the scenario
 * --------------------------------------------------------------- */

static void note(void)
{
    struct kl_store_view view;

    if (!fx.store)
        return;
    if (a) {
        view = store_fixture_view(a);
        if (!promise.is_cut && view.durable_leo > promise.before_cut)
            promise.before_cut = view.durable_leo;
        if (promise.is_cut && view.durable_leo > promise.after_cut)
            promise.after_cut = view.durable_leo;
        if (view.durable_start > promise.start)
            promise.start = view.durable_start;
    }
    if (b && store_fixture_view(b).durable_leo > promise.interval)
        promise.interval = store_fixture_view(b).durable_leo;
}

static void turns(int count)
{
    for (int i = 0; i < count && fx.store; i++) {
        store_fixture_turn(&fx);
        note();
    }
}

static int is_known(int code)
{
    return code == 0 || code == KL_ENOMEM || code == KL_EIO ||
           code == KL_EDISKFULL || code == KL_ENOFILES || code == KL_EFAILED;
}

/* What passes has not failed the store, but for a sync. */
static void check_failure(void)
{
    int code = trace_vfs_failed(&fx.trace) ? fx.trace.fail_code : 0;
    enum trace_vfs_kind kind = fx.trace.failed_kind;

    if (!fx.store || kl_store_failure(fx.store, NULL) == 0)
        return;
    ck_assert_msg(code == KL_EIO || kind == TRACE_VFS_SYNC ||
                      kind == TRACE_VFS_SYNC_DIR || kind == TRACE_VFS_SYNC_ALL,
                  "failed with %d in %s after %d",
                  kl_store_failure(fx.store, NULL), trace_vfs_kind_name(kind),
                  code);
}

/* As fill, but that the store may refuse. */
static void append(struct kl_store_log *log, int count, uint64_t salt)
{
    for (int i = 0; log && i < count; i++) {
        struct kl_store_view view = store_fixture_view(log);
        int32_t epoch = kl_batch_epochs_last(view.epochs);
        struct kl_batch_builder builder;
        struct kl_base_chunk *chunk;
        uint8_t value[SIZE];
        struct kl_batch_input in = {
            .timestamp = fx.wall_ms, .value = value, .value_size = SIZE};
        int rc;

        store_fixture_value(salt * 1000003 + (uint64_t)view.leo, 0, value,
                            SIZE);
        kl_batch_builder_init(&builder, &plain.alloc);
        ck_assert_int_eq(kl_batch_builder_append(&builder, 1 << 20, 1024, &in),
                         0);
        ck_assert_int_eq(kl_batch_builder_finish(
                             &builder, kl_store_log_seed(log), 0, &chunk),
                         0);
        kl_batch_frame_stamp(chunk->data, kl_store_log_seed(log), view.leo,
                             epoch < 0 ? 0 : epoch);
        rc = kl_store_append(log, chunk);
        ck_assert_msg(is_known(rc), "append: %d", rc);
        if (rc)
            kl_base_chunk_unref(chunk);
    }
}

static struct kl_store_log *create(const struct kl_store_id *id,
                                   enum kl_store_flush flush)
{
    struct kl_store_log_config config = {.segment_bytes = 8192,
                                         .segment_ms = -1,
                                         .retention_ms = -1,
                                         .retention_bytes = -1,
                                         .flush_ms = 20,
                                         .flush_bytes = -1,
                                         .index_interval_bytes = 64};
    struct kl_store_log *log = NULL;
    int rc = kl_store_create(fx.store, id, flush, &config, &log);

    ck_assert_msg(is_known(rc), "create: %d", rc);
    return log;
}

static void read_some(struct kl_store_log *log)
{
    struct kl_store_read read;
    int64_t found;
    int rc;

    for (int64_t from = 0; log && from < 12; from += 5) {
        store_fixture_read(&fx, log, from, store_fixture_view(log).leo, 2000,
                           &read);
        ck_assert_msg(is_known(read.code) || read.code == KL_EOFFSETRANGE,
                      "read: %d", read.code);
        ck_assert(read.code == 0 || read.slice_count == 0);
        kl_store_read_release(&read);
        rc = store_fixture_lookup(&fx, log, fx.wall_ms - 50, INT64_MAX, &found);
        ck_assert_msg(is_known(rc) || rc == KL_EEND, "look-up: %d", rc);
        note();
    }
}

static void scenario_changes(void)
{
    int rc;

    a = create(&id_a, KL_STORE_FLUSH_COMMIT);
    b = create(&id_b, KL_STORE_FLUSH_INTERVAL);
    append(a, 6, 1);
    append(b, 4, 1);
    turns(12);
    append(a, 8, 1);
    append(b, 6, 1);
    turns(12);
    read_some(a);
    kl_store_checkpoint_request(fx.store);
    turns(8);
    if (a && store_fixture_view(a).leo >= CUT) {
        rc = kl_store_truncate(a, CUT);
        ck_assert_msg(is_known(rc), "truncate: %d", rc);
        promise.is_cut = rc == 0;
    }
    if (a && promise.is_cut) {
        kl_store_start_epoch(a, 3);
        append(a, 9, 2);
    }
    turns(10);
    if (a && store_fixture_view(a).durable_leo >= START) {
        rc = kl_store_set_start(a, START);
        ck_assert_msg(is_known(rc), "start: %d", rc);
    }
    turns(10);
    read_some(a);
    read_some(b);
}

/* Reopens; 0 where that is not to be had with the fault. */
static int scenario_reopen(void)
{
    int rc;

    check_failure();
    store_fixture_crash(&fx);
    a = b = NULL;
    rc = store_fixture_open(&fx);
    if (rc) {
        ck_assert_msg(is_known(rc), "open: %d", rc);
        if (rc != KL_ENOMEM || fx.error.code)
            ck_assert_int_eq(fx.error.code, rc);
        store_fixture_crash(&fx);
        return 0;
    }
    a = kl_store_find(fx.store, &id_a);
    b = kl_store_find(fx.store, &id_b);
    return 1;
}

static void scenario(void)
{
    struct kl_store_id id_other = store_fixture_id(2, 0);
    struct kl_store_log *other;

    scenario_changes();
    kl_store_stop(fx.store);
    for (int i = 0; i < 100 && !kl_store_is_stopped(fx.store); i++)
        turns(1);
    if (!scenario_reopen())
        return;
    if (promise.is_cut && promise.after_cut <= CUT)
        a = NULL; /* the truncation may be lost: nothing is known of it */
    if (promise.is_cut)
        append(a, 3, 2);
    turns(12);
    other = create(&id_other, KL_STORE_FLUSH_COMMIT);
    if (other) {
        append(other, 2, 1);
        turns(1);
        kl_store_delete(other);
    }
    turns(3);
    check_failure();
}

/* ---- afterwards
 * -------------------------------------------------------------------- */

static void check_a(void)
{
    struct kl_store_view view;
    int64_t kept = promise.before_cut;

    if (promise.before_cut == 0 && promise.after_cut == 0)
        return;
    ck_assert_ptr_nonnull(a);
    view = store_fixture_view(a);
    ck_assert_int_ge(view.start, promise.start);
    if (promise.is_cut && kept > CUT)
        kept = CUT;
    ck_assert_int_ge(view.leo, kept);
    ck_assert_int_ge(view.leo, promise.after_cut);
    ck_assert_int_eq(view.durable_leo, view.leo);
    store_fixture_expect(&fx, a, view.start, kept, SIZE, 1);
    if (promise.after_cut > CUT)
        store_fixture_expect(&fx, a, CUT, promise.after_cut, SIZE, 2);
}

static void check_b(void)
{
    if (promise.interval == 0)
        return;
    ck_assert_ptr_nonnull(b);
    ck_assert_int_ge(store_fixture_view(b).leo, promise.interval);
    store_fixture_expect(&fx, b, 0, store_fixture_view(b).leo, SIZE, 1);
}

static void check_all(void)
{
    struct promise reported = promise;

    fail_alloc_arm(&fx.alloc, 0);
    trace_vfs_heal(&fx.trace);
    for (int twice = 0; twice < 2; twice++) {
        ck_assert_msg(scenario_reopen(), "open: %s", fx.error.text);
        check_a();
        check_b();
        turns(30);
        promise = reported; /* and no more than that */
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    }
}

START_TEST(scenario_without_a_fault)
{
    setup();
    scenario();
    ck_assert_int_eq(promise.before_cut, 14);
    ck_assert_int_ge(promise.after_cut, CUT + 9);
    ck_assert_int_eq(promise.start, START);
    ck_assert_int_eq(promise.interval, 10);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    check_all();
    teardown();
}
END_TEST

START_TEST(every_allocation_fails_once)
{
    uint64_t i = 1, failed;

    do {
        setup();
        fail_alloc_arm(&fx.alloc, i);
        scenario();
        failed = fx.alloc.failed;
        check_all();
        teardown();
        i += i < FAULTS_MAX ? 1 : 7;
    } while (failed);
    ck_assert_uint_gt(i, 200);
}
END_TEST

START_TEST(every_file_call_fails_once)
{
    static const int codes[] = {KL_EIO, KL_EDISKFULL, KL_ENOFILES};
    uint64_t i = 1, failed;

    do {
        setup();
        trace_vfs_fail(&fx.trace, TRACE_VFS_ANY, i, codes[_i]);
        scenario();
        failed = trace_vfs_failed(&fx.trace);
        check_all();
        teardown();
        i += i < FAULTS_MAX ? 1 : 7;
    } while (failed);
    ck_assert_uint_gt(i, 150);
}
END_TEST

/* From some call on everything fails: the power is cut, or the disk is full
 * and stays so until it is healed. */
START_TEST(every_file_call_fails_from_some_moment_on)
{
    static const int codes[] = {KL_EIO, KL_EDISKFULL};
    uint64_t i = 1, failed;

    do {
        setup();
        trace_vfs_fail_from(&fx.trace, _i ? TRACE_VFS_WRITE : TRACE_VFS_ANY, i,
                            codes[_i]);
        scenario();
        failed = trace_vfs_failed(&fx.trace);
        check_all();
        teardown();
        i += i < FAULTS_MAX ? 1 : 7;
    } while (failed);
}
END_TEST

/* ---- threads
 * ------------------------------------------------------------------------- */

static void wait_threads(struct kl_os_lanes *lanes, int condition(void))
{
    for (int i = 0; i < 100000 && !condition(); i++) {
        lanes->ops->wait(lanes);
        turns(1);
    }
    ck_assert(condition());
}

static int is_durable(void)
{
    return store_fixture_view(a).durable_leo == store_fixture_view(a).leo &&
           store_fixture_view(b).durable_leo == store_fixture_view(b).leo;
}

static int is_stopped(void)
{
    return kl_store_is_stopped(fx.store);
}

/* After open the owner makes no call that could block. */
START_TEST(owner_makes_no_file_calls)
{
    struct kl_os_lanes *inlined, *threads;

    setup();
    store_fixture_crash(&fx);
    inlined = fx.lanes;
    ck_assert_int_eq(
        kl_os_lanes_threads_new(&threads, &fx.alloc.alloc, 4, NULL, NULL, NULL),
        0);
    fx.lanes = threads;
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(store_fixture_open(&fx), 0);
        trace_vfs_watch_owner(&fx.trace);
        a = kl_store_find(fx.store, &id_a);
        b = kl_store_find(fx.store, &id_b);
        if (!a) {
            a = create(&id_a, KL_STORE_FLUSH_COMMIT);
            b = create(&id_b, KL_STORE_FLUSH_INTERVAL);
        }
        for (int i = 0; i < 10; i++) {
            append(a, 10, 1);
            append(b, 10, 1);
            wait_threads(threads, is_durable);
        }
        store_fixture_expect(&fx, a, store_fixture_view(a).start,
                             store_fixture_view(a).leo, SIZE, 1);
        ck_assert_int_eq(kl_store_truncate(a, store_fixture_view(a).leo - 20),
                         0);
        ck_assert_int_eq(
            kl_store_set_start(a, store_fixture_view(a).durable_leo - 5), 0);
        wait_threads(threads, is_durable);
        fx.now_ns += 2000000000;
        turns(100);
        kl_store_stop(fx.store);
        wait_threads(threads, is_stopped);
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        trace_vfs_allow_owner(&fx.trace, 1);
        store_fixture_crash(&fx);
        ck_assert_uint_eq(trace_vfs_take_owner_calls(&fx.trace), 0);
    }
    threads->ops->free(threads);
    fx.lanes = inlined;
    teardown();
}
END_TEST

Suite *suite_store_faults(void);

Suite *suite_store_faults(void)
{
    Suite *suite = suite_create("store_faults");
    TCase *t = tcase_create("faults");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, scenario_without_a_fault);
    tcase_add_test(t, every_allocation_fails_once);
    tcase_add_loop_test(t, every_file_call_fails_once, 0, 3);
    tcase_add_loop_test(t, every_file_call_fails_from_some_moment_on, 0, 2);
    tcase_add_test(t, owner_makes_no_file_calls);
    suite_add_tcase(suite, t);
    return suite;
}
