/*
 * A slow disk: a lane keeps its jobs for as long as it likes, and nobody waits
 * for it but those who asked for what it has. Turns return, deadlines are
 * right, memory is read, appends are refused at their limit, nothing is
 * acknowledged; and when the stall is over, all of it completes (F28).
 */
#include "store_fixture.h"

#include <check.h>
#include <string.h>

enum { SIZE = 700 };

static struct store_fixture fx;
static struct kl_store_id id_a, id_b;
static struct kl_store_log *a, *b; /* a commit log, an interval log */

static void setup(void)
{
    store_fixture_init(&fx);
    id_a = store_fixture_id(0, 0);
    id_b = store_fixture_id(1, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    a = store_fixture_create(&fx, &id_a, KL_STORE_FLUSH_COMMIT, 8192);
    b = store_fixture_create(&fx, &id_b, KL_STORE_FLUSH_INTERVAL, 8192);
    store_fixture_fill(&fx, a, 3, SIZE, 1);
    store_fixture_fill(&fx, b, 3, SIZE, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(a).durable_leo, 3);
    ck_assert_int_eq(store_fixture_view(b).durable_leo, 3);
}

static void teardown(void)
{
    trace_lanes_hold_all(&fx.jobs, TRACE_LANES_FREE);
    store_fixture_deinit(&fx);
}

/* How long a stall lasts, in turns of a millisecond; longer ones are a jump of
 * the clock within. */
static const int64_t stalls_ms[] = {1, 20, 500, 30000};
enum { STALLS = sizeof stalls_ms / sizeof *stalls_ms };

static void stall(int64_t ms)
{
    int64_t until = fx.now_ns + ms * 1000000;

    fx.jobs.waits = 0;
    for (int i = 0; i < 50 && fx.now_ns < until; i++)
        store_fixture_turn(&fx);
    if (fx.now_ns < until) {
        fx.wall_ms += (until - fx.now_ns) / 1000000;
        fx.now_ns = until;
        store_fixture_turn(&fx);
    }
    ck_assert_uint_eq(fx.jobs.waits, 0);
}

static void release(void)
{
    trace_lanes_hold_all(&fx.jobs, TRACE_LANES_FREE);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    ck_assert_uint_eq(fx.store->jobs, 0);
}

static void check_all(struct kl_store_log *log, int64_t from)
{
    struct kl_store_view view = store_fixture_view(log);

    ck_assert_int_eq(view.durable_leo, view.leo);
    store_fixture_expect(&fx, log, from, view.leo, SIZE, 1);
}

/* ---- one lane ---------------------------------------------------------- */

/* The WAL does not answer: both before anything of a group is on the disk and
 * when all of it is. */
static void commit_lane_stalls(enum trace_lanes_hold how, int64_t ms)
{
    trace_lanes_hold(&fx.jobs, KL_OS_LANE_COMMIT, how);
    store_fixture_fill(&fx, a, 2, SIZE, 1);
    stall(ms);
    store_fixture_fill(&fx, a, 2, SIZE, 1);
    store_fixture_fill(&fx, b, 2, SIZE, 1);
    stall(1);
    ck_assert_uint_eq(trace_lanes_held(&fx.jobs, KL_OS_LANE_COMMIT), 1);
    ck_assert_int_eq(store_fixture_view(a).leo, 7);
    ck_assert_int_eq(store_fixture_view(a).durable_leo, 3);
    store_fixture_expect(&fx, a, 0, 7, SIZE, 1); /* from memory */
    /* What the WAL has no part in goes on. */
    stall(10);
    ck_assert_int_eq(store_fixture_view(b).durable_leo, 5);
    release();
    check_all(a, 0);
    check_all(b, 0);
    /* Two groups: the second had gathered all that came meanwhile. */
    ck_assert_uint_ge(kl_base_stat_get(&fx.store->stats.groups), 3);
}

START_TEST(commit_lane_stalls_before_the_write)
{
    commit_lane_stalls(TRACE_LANES_BEFORE, stalls_ms[_i]);
}
END_TEST

START_TEST(commit_lane_stalls_after_the_sync)
{
    commit_lane_stalls(TRACE_LANES_AFTER, stalls_ms[_i]);
}
END_TEST

static int append_one(struct kl_store_log *log)
{
    return store_fixture_append(&fx, log, 1, SIZE, 7, 0, fx.wall_ms);
}

/* The segments do not keep up: what is durable is acknowledged, until too much
 * is pending. */
START_TEST(segment_lane_stalls)
{
    int refused = 0, count, room = 0;
    struct kl_store_event event;

    trace_lanes_hold(&fx.jobs, KL_OS_LANE_SEGMENT, TRACE_LANES_BEFORE);
    stall(stalls_ms[_i]);
    for (int log = 0; log < 2; log++) {
        refused = 0;
        for (count = 0; !refused && count < 10000; count++) {
            refused = append_one(log ? b : a);
            if (count % 8 == 0)
                stall(1);
        }
        ck_assert_int_eq(refused, KL_EAGAIN);
    }
    ck_assert_uint_le(fx.store->pending_bytes, fx.config.pending_bytes_max);
    stall(stalls_ms[_i]);
    ck_assert_uint_eq(trace_lanes_held(&fx.jobs, KL_OS_LANE_SEGMENT), 1);
    ck_assert_int_eq(append_one(a), KL_EAGAIN);
    while (kl_store_next_event(fx.store, &event))
        ck_assert_int_ne(event.type, KL_STORE_EVENT_ROOM);
    trace_lanes_hold_all(&fx.jobs, TRACE_LANES_FREE);
    for (int i = 0; i < 200; i++) {
        fx.now_ns += 1000000;
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
        while (kl_store_next_event(fx.store, &event))
            room += event.type == KL_STORE_EVENT_ROOM;
    }
    ck_assert_int_eq(room, 1);
    ck_assert_int_eq(append_one(a), 0);
    release();
    ck_assert_int_eq(store_fixture_view(a).durable_leo,
                     store_fixture_view(a).leo);
}
END_TEST

/* A truncation is not in the files yet: what was appended behind it is read
 * from memory, and nothing that was cut. */
START_TEST(truncation_while_the_segment_lane_stalls)
{
    struct kl_store_read read;

    trace_lanes_hold(&fx.jobs, KL_OS_LANE_SEGMENT, TRACE_LANES_BEFORE);
    store_fixture_fill(&fx, a, 6, SIZE, 1);
    stall(20);
    ck_assert_int_eq(kl_store_truncate(a, 5), 0);
    for (int i = 0; i < 2; i++) {
        store_fixture_fill(&fx, a, 4, SIZE, 2);
        stall(stalls_ms[_i]);
        ck_assert_int_eq(kl_store_truncate(a, 2), 0);
        store_fixture_fill(&fx, a, 3, SIZE, 3);
        stall(3);
        store_fixture_expect(&fx, a, 0, 2, SIZE, 1);
        store_fixture_expect(&fx, a, 2, 5, SIZE, 3);
        store_fixture_read(&fx, a, 2, 4, 100000, &read);
        ck_assert_uint_eq(read.slice_count, 2);
        kl_store_read_release(&read);
    }
    release();
    store_fixture_expect(&fx, a, 2, 5, SIZE, 3);
    store_fixture_crash(&fx);
    a = store_fixture_reopen(&fx, &id_a);
    store_fixture_expect(&fx, a, 0, 2, SIZE, 1);
    store_fixture_expect(&fx, a, 2, 5, SIZE, 3);
}
END_TEST

struct cold_read
{
    struct kl_store_read read;
    int finished;
};

static void begin_read(struct cold_read *r, int64_t offset)
{
    memset(r, 0, sizeof *r);
    r->read.log = a;
    r->read.offset = offset;
    r->read.end = store_fixture_view(a).durable_leo;
    r->read.bytes_max = 100;
    r->read.user = &r->finished;
    ck_assert_int_eq(kl_store_read(&r->read), KL_EAGAIN);
}

/* Only cold readers wait. */
START_TEST(read_lane_stalls)
{
    struct cold_read first, second;

    fx.config.cache_bytes_max = 0;
    store_fixture_close(&fx);
    a = store_fixture_reopen(&fx, &id_a);
    trace_lanes_hold(&fx.jobs, KL_OS_LANE_READ,
                     _i % 2 ? TRACE_LANES_AFTER : TRACE_LANES_BEFORE);
    begin_read(&first, 0);
    begin_read(&second, 2);
    store_fixture_fill(&fx, a, 3, SIZE, 1);
    stall(stalls_ms[_i]);
    stall(3);
    ck_assert(!first.finished && !second.finished);
    ck_assert_int_eq(store_fixture_view(a).durable_leo, 6);
    store_fixture_expect(&fx, a, 3, 6, SIZE, 1); /* from memory */
    release();
    ck_assert(first.finished && second.finished);
    ck_assert_int_eq(first.read.code, 0);
    ck_assert_int_eq(first.read.next_offset, 1);
    ck_assert_int_eq(second.read.next_offset, 3);
    kl_store_read_release(&first.read);
    kl_store_read_release(&second.read);
    check_all(a, 0);
}
END_TEST

/* No checkpoint is completed: the ring fills up and holds groups back, and
 * nothing is written over. */
START_TEST(clean_lane_stalls)
{
    const struct kl_store_stats *st = kl_store_stats(fx.store);
    int64_t accepted, leo;

    trace_lanes_hold(&fx.jobs, KL_OS_LANE_CLEAN,
                     _i % 2 ? TRACE_LANES_AFTER : TRACE_LANES_BEFORE);
    for (int i = 0; i < 100 && kl_base_stat_get(&st->wal_stalls) == 0; i++) {
        store_fixture_fill(&fx, a, 4, SIZE, 1);
        stall(6);
    }
    ck_assert_uint_eq(kl_base_stat_get(&st->wal_stalls), 1);
    accepted = store_fixture_view(a).leo;
    leo = store_fixture_view(a).durable_leo;
    ck_assert_int_lt(leo, accepted);
    stall(stalls_ms[_i]);
    ck_assert_int_eq(store_fixture_view(a).durable_leo, leo);
    store_fixture_expect(&fx, a, leo, accepted, SIZE, 1);
    release();
    check_all(a, 0);
    store_fixture_crash(&fx);
    a = store_fixture_reopen(&fx, &id_a);
    ck_assert_int_eq(store_fixture_view(a).leo, accepted);
    check_all(a, 0);
}
END_TEST

/* ---- all of it --------------------------------------------------------- */

/* While nothing comes back there is nothing to wake up for: a host that sleeps
 * until the deadline must not spin, nor sleep through it when it is free. */
START_TEST(deadline_while_the_disk_stalls)
{
    int turns = 0;

    trace_lanes_hold_all(&fx.jobs, TRACE_LANES_BEFORE);
    store_fixture_fill(&fx, a, 4, SIZE, 1);
    store_fixture_fill(&fx, b, 4, SIZE, 1);
    store_fixture_turn(&fx);
    for (int64_t end = fx.now_ns + 30000000000; turns < 1000; turns++) {
        int64_t at = kl_store_deadline(fx.store);

        if (at > end)
            break;
        fx.wall_ms += at > fx.now_ns ? (at - fx.now_ns) / 1000000 : 0;
        fx.now_ns = at > fx.now_ns ? at : fx.now_ns;
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    }
    /* Retention looks once a second. */
    ck_assert_int_le(turns, 40);
    trace_lanes_hold_all(&fx.jobs, TRACE_LANES_FREE);
    for (turns = 0; turns < 100 && fx.store->jobs > 0; turns++)
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    for (turns = 0; turns < 100; turns++) {
        int64_t at = kl_store_deadline(fx.store);

        if (at > fx.now_ns + 500000000)
            break;
        fx.now_ns = at > fx.now_ns ? at : fx.now_ns;
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
        while (fx.store->jobs > 0)
            kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    }
    check_all(a, 0);
    check_all(b, 0);
}
END_TEST

/* Lanes stall and recover in any order, and what is done meanwhile does not
 * depend on it. */
START_TEST(stalls_in_any_order)
{
    struct kl_base_rng rng;
    int64_t start = 0;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (int i = 0; i < 300; i++) {
        enum kl_os_lane_id lane =
            (enum kl_os_lane_id)kl_base_rng_below(&rng, KL_OS_LANE_COUNT);
        struct kl_store_view view = store_fixture_view(a);

        trace_lanes_hold(&fx.jobs, lane,
                         (enum trace_lanes_hold)kl_base_rng_below(&rng, 3));
        if (view.leo - view.durable_leo < 60)
            store_fixture_fill(&fx, a, (int)kl_base_rng_below(&rng, 4), SIZE,
                               1);
        if (kl_base_rng_below(&rng, 20) == 0 && view.leo > start + 2)
            ck_assert_int_eq(kl_store_truncate(a, view.leo - 2), 0);
        view = store_fixture_view(a);
        if (kl_base_rng_below(&rng, 20) == 0 && view.durable_leo > start) {
            start = view.durable_leo;
            ck_assert_int_eq(kl_store_set_start(a, start), 0);
        }
        stall((int64_t)kl_base_rng_below(&rng, 4));
    }
    release();
    store_fixture_settle(&fx);
    check_all(a, start);
    store_fixture_close(&fx);
    a = store_fixture_reopen(&fx, &id_a);
    check_all(a, start);
}
END_TEST

/* A stop waits for the disk, turn by turn. */
START_TEST(stop_while_the_disk_stalls)
{
    store_fixture_fill(&fx, a, 4, SIZE, 1);
    store_fixture_fill(&fx, b, 4, SIZE, 1);
    for (int lane = 0; lane < KL_OS_LANE_COUNT; lane++) {
        if (lane == KL_OS_LANE_READ)
            continue;
        trace_lanes_hold(&fx.jobs, (enum kl_os_lane_id)lane, TRACE_LANES_AFTER);
        kl_store_stop(fx.store);
        stall(stalls_ms[_i]);
        ck_assert(!kl_store_is_stopped(fx.store));
        trace_lanes_hold(&fx.jobs, (enum kl_os_lane_id)lane, TRACE_LANES_FREE);
    }
    store_fixture_close(&fx);
    a = store_fixture_reopen(&fx, &id_a);
    b = kl_store_find(fx.store, &id_b);
    check_all(a, 0);
    check_all(b, 0);
}
END_TEST

/* ---- with threads ------------------------------------------------------ */

static void wait_until(struct kl_os_lanes *lanes, int condition(void))
{
    for (int i = 0; i < 100000 && !condition(); i++) {
        lanes->ops->wait(lanes);
        store_fixture_turn(&fx);
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

/* The same store over threads: still no call of the owner. */
START_TEST(owner_makes_no_file_calls)
{
    struct kl_os_lanes *threads;

    store_fixture_crash(&fx);
    ck_assert_int_eq(
        kl_os_lanes_threads_new(&threads, &fx.alloc.alloc, 4, NULL, NULL, NULL),
        0);
    fx.lanes = threads;
    for (int round = 0; round < 3; round++) {
        a = store_fixture_reopen(&fx, &id_a);
        b = kl_store_find(fx.store, &id_b);
        for (int i = 0; i < 10; i++) {
            store_fixture_fill(&fx, a, 10, SIZE, 1);
            store_fixture_fill(&fx, b, 10, SIZE, 1);
            wait_until(threads, is_durable);
        }
        check_all(a, store_fixture_view(a).start);
        ck_assert_int_eq(kl_store_truncate(a, store_fixture_view(a).leo - 20),
                         0);
        ck_assert_int_eq(
            kl_store_set_start(a, store_fixture_view(a).durable_leo - 5), 0);
        wait_until(threads, is_durable);
        fx.now_ns += 2000000000;
        store_fixture_settle(&fx);
        kl_store_stop(fx.store);
        wait_until(threads, is_stopped);
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        store_fixture_crash(&fx);
    }
    threads->ops->free(threads);
    fx.lanes = &fx.jobs.base;
}
END_TEST

Suite *suite_store_stall(void);

Suite *suite_store_stall(void)
{
    Suite *suite = suite_create("store_stall");
    TCase *t = tcase_create("stall");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, commit_lane_stalls_before_the_write, 0, STALLS);
    tcase_add_loop_test(t, commit_lane_stalls_after_the_sync, 0, STALLS);
    tcase_add_loop_test(t, segment_lane_stalls, 0, STALLS);
    tcase_add_loop_test(t, truncation_while_the_segment_lane_stalls, 0, STALLS);
    tcase_add_loop_test(t, read_lane_stalls, 0, STALLS);
    tcase_add_loop_test(t, clean_lane_stalls, 0, STALLS);
    tcase_add_test(t, deadline_while_the_disk_stalls);
    tcase_add_loop_test(t, stalls_in_any_order, 0, 20);
    tcase_add_loop_test(t, stop_while_the_disk_stalls, 0, STALLS);
    tcase_add_test(t, owner_makes_no_file_calls);
    suite_add_tcase(suite, t);
    return suite;
}
