/*
 * The owner's side of a producer, over a node that moves only when the test
 * polls it.
 */
#include "api/api_handle.h"
#include "node_fixture.h"
#include "pubsub/pubsub.h"
#include "trace_vfs.h"

#include <check.h>
#include <kraftlog/kraftlog.h>

enum { WAIT_MS = 60000 }; /* a bound against hanging */

static struct node_fixture f;
static struct trace_vfs trace;
static kl_client client;
static kl_producer *producer;

static void setup(void)
{
    node_fixture_init(&f);
    trace_vfs_init(&trace, f.vfs);
    f.options.vfs = &trace.base;
    node_fixture_open(&f);
    client.node = f.n;
    (void)node_fixture_topic(&f, "t", 2, NULL, NULL);
}

static void teardown(void)
{
    kl_producer_free(producer);
    producer = NULL;
    node_fixture_crash(&f);
    trace_vfs_deinit(&trace);
    node_fixture_deinit(&f);
}

/* A producer whose batches nearly never end by time. */
static void make_producer(const char *key, const char *value)
{
    kl_config *config;

    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), 0);
    ck_assert_int_eq(kl_config_set(config, "linger.ms", "900000"), 0);
    if (key)
        ck_assert_int_eq(kl_config_set(config, key, value), 0);
    ck_assert_int_eq(kl_producer_new(&producer, &client, config), 0);
    kl_config_free(config);
}

static int send_code(int32_t partition, size_t size, kl_op **op_out)
{
    static const char zeros[65536];

    ck_assert_uint_le(size, sizeof zeros);
    return kl_producer_send(producer, "t", partition, NULL, 0, zeros, size, 0,
                            0, op_out);
}

static void send(kl_op **op_out)
{
    ck_assert_int_eq(send_code(0, 10, op_out), 0);
}

/* The operation is done, without any help. */
static void check_op(kl_op *op, int code)
{
    ck_assert_int_eq(kl_op_code(op), code);
    kl_op_free(op);
}

/* ---- the end of the node ----------------------------------------------- */

/* The timer runs already, or the owner has not seen the record yet. */
START_TEST(stop_sends_what_lingers)
{
    kl_op *op;

    make_producer(NULL, NULL);
    send(&op);
    if (_i)
        ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(kl_op_done(op), 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    check_op(op, KL_OK);
}
END_TEST

/* One batch is under way, another one open behind it. */
START_TEST(stop_sends_what_lingers_behind_another)
{
    kl_op *op[2];

    make_producer("batch.size", "2k");
    ck_assert_int_eq(send_code(0, 3000, &op[0]), 0);
    send(&op[1]);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    check_op(op[0], KL_OK);
    check_op(op[1], KL_OK);
}
END_TEST

static void send_again(kl_op *op, void *user)
{
    (void)op;
    *(int *)user = send_code(0, 10, NULL);
}

/* What a callback tries to send while the node stops is refused. */
START_TEST(stop_refuses_more)
{
    int code = 0;
    kl_op *op;

    make_producer(NULL, NULL);
    send(&op);
    ck_assert_int_eq(kl_op_set_callback(op, send_again, &code), 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    check_op(op, KL_OK);
    ck_assert_int_eq(code, KL_ECLOSED);
}
END_TEST

START_TEST(crash_answers_what_lingers)
{
    kl_op *op[2];

    make_producer("batch.size", "2k");
    send(&op[0]);
    if (_i)
        ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(send_code(1, 3000, NULL), 0);
    ck_assert_int_eq(send_code(1, 10, &op[1]), 0);
    node_fixture_crash(&f);
    check_op(op[0], KL_ECLOSED);
    check_op(op[1], KL_ECLOSED);
}
END_TEST

/* ---- memory ------------------------------------------------------------ */

static void wait_for_room(void)
{
    ck_assert_int_eq(kl_producer_wait(producer, WAIT_MS), 0);
}

/* A batch that is open behind the one under way, and most of the memory. */
START_TEST(wait_sends_what_lingers_behind_another)
{
    make_producer("buffer.memory", "64k");
    ck_assert_int_eq(send_code(0, 20000, NULL), 0);
    ck_assert_int_eq(send_code(0, 50000, NULL), KL_EAGAIN);
    ck_assert_int_eq(send_code(0, 34000, NULL), 0);
    ck_assert_int_eq(send_code(0, 20000, NULL), KL_EAGAIN);
    wait_for_room();
    ck_assert_int_eq(send_code(0, 20000, NULL), 0);
    /* There is time again. */
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_uint_ge(kl_producer_buffered(producer), 20000);
}
END_TEST

/* While memory is short a new batch does not wait either. */
START_TEST(wait_sends_what_came_since)
{
    make_producer("buffer.memory", "64k");
    ck_assert_int_eq(send_code(0, 20000, NULL), 0);
    ck_assert_int_eq(send_code(0, 50000, NULL), KL_EAGAIN);
    ck_assert_int_eq(send_code(1, 34000, NULL), 0);
    wait_for_room();
    ck_assert_int_eq(send_code(0, 50000, NULL), 0);
}
END_TEST

/* Half of the memory is free, but not enough for this record. */
START_TEST(wait_makes_room_for_a_large_record)
{
    make_producer("buffer.memory", "64k");
    ck_assert_int_eq(send_code(0, 25000, NULL), 0);
    ck_assert_int_eq(send_code(0, 45000, NULL), KL_EAGAIN);
    wait_for_room();
    ck_assert_int_eq(send_code(0, 45000, NULL), 0);
}
END_TEST

/* ---- failures ---------------------------------------------------------- */

/* One of two batches is refused at once, the other one may have been written:
 * that is what counts, though it comes later. */
START_TEST(unknown_is_told_before_refused)
{
    static const char *const key = "keykeykey"; /* cut: each to a partition */
    static const char zeros[5000];
    const void *keys[2] = {key, key};
    uint64_t key_sizes[2] = {1, 1};
    const void *values[2] = {zeros, zeros};
    const uint64_t sizes[2] = {sizeof zeros, 1};
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_SET_CONFIG,
                                   .topic = "t",
                                   .key = "max.message.bytes",
                                   .value = "4k"};
    kl_op *op;

    while (kl_pubsub_key_partition(key, key_sizes[0], 2) != 0)
        key_sizes[0]++;
    while (kl_pubsub_key_partition(key, key_sizes[1], 2) != 1)
        key_sizes[1]++;
    make_producer(NULL, NULL);
    ck_assert_int_eq(kl_producer_send_bulk(producer, "t", KL_PARTITION_ANY,
                                           keys, key_sizes, values, sizes, NULL,
                                           2, 0, NULL, &op),
                     0);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    trace_vfs_fail_from(&trace, TRACE_VFS_WRITE, 1, KL_EIO);
    ck_assert_int_eq(kl_producer_flush(producer, WAIT_MS), KL_EUNKNOWN);
    check_op(op, KL_EUNKNOWN);
    ck_assert_int_eq(kl_producer_flush(producer, WAIT_MS), KL_OK);
}
END_TEST

Suite *suite_api_sender(void);

Suite *suite_api_sender(void)
{
    Suite *s = suite_create("api_sender");
    TCase *t = tcase_create("sender");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, stop_sends_what_lingers, 0, 2);
    tcase_add_test(t, stop_sends_what_lingers_behind_another);
    tcase_add_test(t, stop_refuses_more);
    tcase_add_loop_test(t, crash_answers_what_lingers, 0, 2);
    tcase_add_test(t, wait_sends_what_lingers_behind_another);
    tcase_add_test(t, wait_sends_what_came_since);
    tcase_add_test(t, wait_makes_room_for_a_large_record);
    tcase_add_test(t, unknown_is_told_before_refused);
    suite_add_tcase(s, t);
    return s;
}
