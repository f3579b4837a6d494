/*
 * A node whose disk does not answer for a while (F28): it can be polled, asked
 * and stopped, it acknowledges nothing that is not durable, and when the disk
 * is back everything that was accepted completes, in order.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <kraftlog/client.h>
#include <kraftlog/node.h>

enum { PRODUCES = 40 };

static struct node_fixture f;
static struct kl_base_uuid topic;
static struct node_fixture_produce produces[PRODUCES];
static int produce_count;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_simulate_clock(&f);
    node_fixture_set(&f, "store.cache.bytes", "0");
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 2, NULL, NULL);
    produce_count = 0;
}

static void teardown(void)
{
    trace_lanes_hold_all(&f.jobs, TRACE_LANES_FREE);
    node_fixture_deinit(&f);
}

static const int64_t stalls_ms[] = {1, 100, 30000};
enum { STALLS = sizeof stalls_ms / sizeof *stalls_ms };

static void stall(int64_t ms)
{
    f.jobs.waits = 0;
    for (int i = 0; i < 20; i++) {
        f.now_ns += ms * 1000000 / 20;
        f.wall_ms += ms / 20;
        ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    }
    ck_assert_uint_eq(f.jobs.waits, 0);
}

static void produce(int partition)
{
    node_fixture_produce(
        &f, &produces[produce_count], &topic, partition,
        node_fixture_frame(&f, &topic, partition, 1, produce_count, 4000));
    produce_count++;
}

static int acks(void)
{
    int count = 0;

    for (int i = 0; i < produce_count; i++)
        count += produces[i].done;
    return count;
}

static void release(void)
{
    trace_lanes_hold_all(&f.jobs, TRACE_LANES_FREE);
    node_fixture_until(&f, acks() == produce_count);
    for (int i = 0; i < produce_count; i++)
        ck_assert_int_eq(produces[i].base.code, 0);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_OPEN);
}

static void expect_fetch(struct node_fixture_fetch *r, int64_t least)
{
    node_fixture_until(&f, r->done);
    ck_assert_int_eq(r->base.read.code, 0);
    ck_assert_int_ge(r->base.read.next_offset, least);
    kl_store_read_release(&r->base.read);
}

START_TEST(nothing_is_acknowledged_while_the_wal_stalls)
{
    struct kl_runtime_wish list = {.type = KL_RUNTIME_LIST_TOPICS};
    struct kl_runtime_wish create = {.type = KL_RUNTIME_CREATE_TOPIC,
                                     .topic = "u",
                                     .number = 1,
                                     .replication = 1};
    struct kl_runtime_op *op;
    struct node_fixture_fetch r;

    trace_lanes_hold(&f.jobs, KL_OS_LANE_COMMIT,
                     _i % 2 ? TRACE_LANES_AFTER : TRACE_LANES_BEFORE);
    produce(0);
    produce(1);
    produce(0);
    node_fixture_fetch(&f, &r, &topic, 0, 0);
    ck_assert_int_eq(kl_runtime_command(f.n, &create, &op), 0);
    stall(stalls_ms[_i / 2]);
    ck_assert_int_eq(acks(), 0);
    ck_assert(!r.done); /* readers see what is durable */
    ck_assert(!kl_runtime_op_is_done(op));
    ck_assert_int_eq(node_fixture_code(&f, &list), 0);
    release();
    ck_assert_int_eq(produces[0].base.base_offset, 0);
    ck_assert_int_eq(produces[1].base.base_offset, 0);
    ck_assert_int_eq(produces[2].base.base_offset, 1);
    expect_fetch(&r, 1);
    node_fixture_until(&f, kl_runtime_op_is_done(op));
    ck_assert_int_eq(op->code, 0);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(cold_readers_wait_alone)
{
    struct node_fixture_fetch cold, hot;

    produce(0);
    release();
    node_fixture_stop(&f);
    node_fixture_open(&f);
    trace_lanes_hold(&f.jobs, KL_OS_LANE_READ,
                     _i % 2 ? TRACE_LANES_AFTER : TRACE_LANES_BEFORE);
    node_fixture_fetch(&f, &cold, &topic, 0, 0);
    produce(1);
    stall(stalls_ms[_i / 2]);
    ck_assert_int_eq(acks(), 2);
    ck_assert(!cold.done);
    node_fixture_fetch(&f, &hot, &topic, 1, 1);
    produce(1);
    release();
    expect_fetch(&hot, 2);
    expect_fetch(&cold, 1);
}
END_TEST

/* More than may be pending waits, in order, and so does what comes behind it.
 */
START_TEST(producers_wait_where_segments_stall)
{
    node_fixture_stop(&f);
    node_fixture_set(&f, "store.pending.bytes", "65536");
    node_fixture_open(&f);
    trace_lanes_hold(&f.jobs, KL_OS_LANE_SEGMENT, TRACE_LANES_BEFORE);
    for (int i = 0; i < PRODUCES; i++)
        produce(0);
    stall(stalls_ms[_i]);
    ck_assert_int_gt(acks(), 0);
    ck_assert_int_lt(acks(), PRODUCES);
    release();
    for (int i = 0; i < PRODUCES; i++)
        ck_assert_int_eq(produces[i].base.base_offset, i);
}
END_TEST

START_TEST(stop_gives_up_in_time)
{
    static const enum kl_os_lane_id lanes[] = {
        KL_OS_LANE_COMMIT, KL_OS_LANE_SEGMENT, KL_OS_LANE_CLEAN};

    trace_lanes_hold(&f.jobs, lanes[_i], TRACE_LANES_AFTER);
    produce(0);
    ck_assert_int_eq(kl_runtime_stop(f.n, 200), KL_ETIMEDOUT);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_STOPPING);
    ck_assert_int_eq(kl_runtime_stop(f.n, 30000), KL_ETIMEDOUT);
    trace_lanes_hold_all(&f.jobs, TRACE_LANES_FREE);
    ck_assert_int_eq(kl_runtime_stop(f.n, 30000), 0);
    ck_assert_int_eq(acks(), 1);
    ck_assert_int_eq(produces[0].base.code, 0);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    produce(0);
    release();
    ck_assert_int_eq(produces[1].base.base_offset, 1);
}
END_TEST

Suite *suite_runtime_stall(void);

Suite *suite_runtime_stall(void)
{
    Suite *s = suite_create("runtime_stall");
    TCase *t = tcase_create("stall");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, nothing_is_acknowledged_while_the_wal_stalls, 0,
                        2 * STALLS);
    tcase_add_loop_test(t, cold_readers_wait_alone, 0, 2 * STALLS);
    tcase_add_loop_test(t, producers_wait_where_segments_stall, 0, STALLS);
    tcase_add_loop_test(t, stop_gives_up_in_time, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
