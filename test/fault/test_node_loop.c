/*
 * The allocations of a whole node fail, one after the other, once and from then
 * on: what is asked for is done or refused, nothing leaks, nothing that was
 * acknowledged is lost, and when there is memory again the node works.
 */
#include "node_fixture.h"

#include <check.h>
#include <kraftlog/client.h>
#include <kraftlog/node.h>
#include <stdio.h>
#include <string.h>

enum { BATCHES = 6, PARTITIONS = 2, OFFSETS = 100, DELETED = 1 };

static struct node_fixture f;
static struct fail_alloc plain; /* of the caller; never fails */
static struct kl_base_uuid topic;
static int has_topic;

/* What is under way, until it is done. */
static struct kl_runtime_op *ops[16];
static int op_count;
static struct node_fixture_produce produces[PARTITIONS * BATCHES * 3];
static int produce_count;
static struct node_fixture_fetch fetches[8];
static int fetch_count;

/* The timestamp of the record that was acknowledged at an offset. */
static int64_t acked[PARTITIONS][OFFSETS];

static void setup(void)
{
    node_fixture_init(&f);
    fail_alloc_init(&plain);
    f.caller = plain.alloc;
    node_fixture_simulate_clock(&f);
    memset(acked, 0, sizeof acked);
    op_count = produce_count = fetch_count = has_topic = 0;
}

static void teardown(void)
{
    node_fixture_deinit(&f);
    fail_alloc_deinit(&plain);
}

static void is_known(int code, const char *what)
{
    ck_assert_msg(code == 0 || code == KL_ENOMEM || code == KL_EUNKNOWN ||
                      code == KL_ENOTOPIC || code == KL_ETOPICEXISTS ||
                      code == KL_ECLOSED,
                  "%s: %s", what, kl_error_name(code));
}

static int is_open(void)
{
    return f.n && kl_runtime_state(f.n) == KL_NODE_OPEN;
}

static void polls(int count)
{
    for (int i = 0; is_open() && i < count; i++) {
        f.now_ns += 1000000;
        f.wall_ms++;
        ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    }
}

/* ---- what is asked for ----------------------------------------------------
 */

static struct kl_runtime_op *wish(const struct kl_runtime_wish *w)
{
    struct kl_runtime_op *op = NULL;
    int rc = kl_runtime_command(f.n, w, &op);

    is_known(rc, "command");
    if (rc)
        return NULL;
    ops[op_count++] = op;
    polls(20);
    return op;
}

static void create_topic(void)
{
    struct kl_runtime_wish create = {.type = KL_RUNTIME_CREATE_TOPIC,
                                     .topic = "t",
                                     .number = PARTITIONS,
                                     .replication = 1};
    const struct kl_runtime_topic *t;

    wish(&create);
    t = kl_runtime_topic_get(f.n, "t");
    has_topic = t != NULL;
    if (!t)
        return;
    topic = t->id;
    kl_runtime_topic_unref(f.n, t);
}

static void ask(enum kl_runtime_command_type type)
{
    struct kl_runtime_wish w = {
        .type = type, .topic = "t", .key = "retention.ms", .value = "1000000"};

    w.offset = type == KL_RUNTIME_LIST_OFFSET ? KL_OFFSET_END : DELETED;
    wish(&w);
}

static void produce(int partition)
{
    struct node_fixture_produce *p = &produces[produce_count++];

    node_fixture_produce(&f, p, &topic, partition,
                         node_fixture_frame(&f, &topic, partition, 1,
                                            1000 + produce_count, 100));
}

static void fetch(int partition)
{
    struct node_fixture_fetch *r = &fetches[fetch_count++];

    node_fixture_fetch(&f, r, &topic, partition, 0);
}

static int open_node(void)
{
    int rc = node_fixture_try_open(&f, KL_OPEN_CREATE);
    char text[256] = "";

    if (rc) {
        if (f.n)
            kl_runtime_errmsg(f.n, text, sizeof text);
        ck_assert(!f.n || text[0]);
        ck_assert_msg(rc == KL_ENOMEM, "open: %s: %s", kl_error_name(rc), text);
    }
    return rc == 0;
}

static void scenario(void)
{
    if (!open_node())
        return;
    create_topic();
    for (int i = 0; has_topic && i < BATCHES; i++) {
        produce(i % PARTITIONS);
        if (i % 2)
            polls(3);
    }
    polls(10);
    if (has_topic)
        fetch(0);
    polls(10);
    ask(KL_RUNTIME_SET_CONFIG);
    ask(KL_RUNTIME_LIST_TOPICS);
    ask(KL_RUNTIME_DESCRIBE_TOPIC);
    if (has_topic)
        fetch(1);
    polls(10);
    node_fixture_crash(&f);
    if (!open_node())
        return;
    create_topic();
    for (int i = 0; has_topic && i < PARTITIONS; i++)
        produce(i);
    polls(10);
    ask(KL_RUNTIME_DELETE_BEFORE);
    ask(KL_RUNTIME_LIST_OFFSET);
    if (has_topic)
        fetch(0);
    polls(10);
}

/* ---- what came of it ------------------------------------------------------
 */

static int is_all_done(void)
{
    for (int i = 0; i < op_count; i++)
        if (!kl_runtime_op_is_done(ops[i]))
            return 0;
    for (int i = 0; i < produce_count; i++)
        if (!produces[i].done)
            return 0;
    for (int i = 0; i < fetch_count; i++)
        if (!fetches[i].done)
            return 0;
    return 1;
}

/* Everything comes to an end, and the end is known. */
static void finish(void)
{
    /* Fetches wait for records. */
    for (int i = 0; is_open() && fetch_count > 0 && i < PARTITIONS; i++)
        produce(i);
    for (int i = 0; i < 300 && !is_all_done(); i++) {
        polls(10);
        f.now_ns += 20000000;
    }
    ck_assert_msg(is_all_done(), "something never ends");
    for (int i = 0; i < op_count; i++) {
        is_known(ops[i]->code, "operation");
        kl_runtime_op_unref(ops[i]);
    }
    for (int i = 0; i < produce_count; i++) {
        const struct kl_runtime_produce *p = &produces[i].base;

        is_known(p->code, "produce");
        ck_assert_int_eq(produces[i].done, 1);
        ck_assert_int_lt(p->base_offset, OFFSETS);
        if (p->code == 0)
            acked[p->partition][p->base_offset] = 1000 + i + 1;
    }
    for (int i = 0; i < fetch_count; i++) {
        if (fetches[i].base.read.code != KL_EOFFSETRANGE)
            is_known(fetches[i].base.read.code, "fetch");
        ck_assert(fetches[i].base.read.code ||
                  fetches[i].base.read.slice_count > 0);
        kl_store_read_release(&fetches[i].base.read);
    }
    op_count = produce_count = fetch_count = 0;
}

static void check_slice(const struct kl_store_slice *slice, int partition)
{
    uint64_t seed = kl_batch_seed(&topic, partition);
    const uint8_t *p = slice->data;
    struct kl_batch_info info;

    for (; p < slice->data + slice->size; p += info.frame_size) {
        ck_assert_int_eq(
            kl_batch_frame_verify(p, (size_t)(slice->data + slice->size - p),
                                  seed, &info),
            0);
        if (acked[partition][info.base_offset])
            ck_assert_int_eq(info.base_timestamp,
                             acked[partition][info.base_offset]);
    }
}

static void check_acked(int partition)
{
    struct node_fixture_fetch r;
    int64_t end = OFFSETS, at = 0;

    while (end > 0 && !acked[partition][end - 1])
        end--;
    while (at < end) {
        node_fixture_fetch(&f, &r, &topic, partition, at);
        node_fixture_until(&f, r.done);
        if (r.base.read.code == KL_EOFFSETRANGE && at == 0) {
            at = DELETED;
            continue;
        }
        ck_assert_int_eq(r.base.read.code, 0);
        for (uint32_t i = 0; i < r.base.read.slice_count; i++)
            check_slice(&r.base.read.slices[i], partition);
        at = r.base.read.next_offset;
        kl_store_read_release(&r.base.read);
    }
}

static void works(void)
{
    create_topic(); /* it may be there already */
    ck_assert(has_topic);
    polls(10);
    for (int partition = 0; partition < PARTITIONS; partition++) {
        check_acked(partition);
        produce(partition);
    }
    finish();
    for (int partition = 0; partition < PARTITIONS; partition++)
        check_acked(partition);
}

static uint64_t run(uint64_t nth, int is_lasting)
{
    uint64_t failed;

    setup();
    fail_alloc_arm(&f.memory, nth);
    f.memory.fail_after = is_lasting;
    scenario();
    failed = f.memory.failed;
    fail_alloc_arm(&f.memory, 0);
    finish();
    if (is_open()) {
        works();
        node_fixture_stop(&f);
    }
    node_fixture_crash(&f);
    for (int twice = 0; twice < 2; twice++) {
        node_fixture_open(&f);
        works();
        if (twice)
            node_fixture_stop(&f);
        node_fixture_crash(&f);
    }
    teardown();
    return failed;
}

START_TEST(node_survives_every_failing_allocation)
{
    uint64_t points = 0;

    while (run(points + 1, _i))
        points++;
    printf("loop: node, %-8s %5llu failing allocations\n",
           _i ? "for ever" : "once", (unsigned long long)points);
    fflush(stdout);
    ck_assert_uint_gt(points, 100);
}
END_TEST

/* Without memory a stop goes on until there is some. */
START_TEST(node_stops_when_there_is_memory_again)
{
    uint64_t points = 0, failed;
    int rc;

    do {
        setup();
        scenario();
        finish();
        fail_alloc_arm(&f.memory, ++points);
        f.memory.fail_after = 1;
        rc = kl_runtime_stop(f.n, 20);
        ck_assert(rc == 0 || rc == KL_ETIMEDOUT);
        failed = f.memory.failed;
        fail_alloc_arm(&f.memory, 0);
        node_fixture_stop(&f);
        node_fixture_open(&f);
        works();
        teardown();
    } while (failed);
    ck_assert_uint_gt(points, 2);
}
END_TEST

Suite *suite_fault_node_loop(void);

Suite *suite_fault_node_loop(void)
{
    Suite *suite = suite_create("fault_node_loop");
    TCase *tcase = tcase_create("node");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, node_survives_every_failing_allocation, 0, 2);
    tcase_add_test(tcase, node_stops_when_there_is_memory_again);
    suite_add_tcase(suite, tcase);
    return suite;
}
