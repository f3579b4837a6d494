/*
 * Batches on their way into logs.
 */
#include "node_fixture.h"
#include "runtime/state.h"
#include "store/state.h"

#include <check.h>
#include <kraftlog/client.h>

static struct node_fixture f;
static struct kl_base_uuid topic;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_set(&f, "store.pending.bytes", "64k");
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 2, NULL, NULL);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static int produce_code(const struct kl_base_uuid *id, int32_t partition,
                        struct kl_base_chunk *frame)
{
    struct node_fixture_produce p;

    node_fixture_produce(&f, &p, id, partition, frame);
    node_fixture_until(&f, p.done);
    ck_assert_int_eq(p.done, 1);
    ck_assert_ptr_null(p.base.frame);
    return p.base.code;
}

START_TEST(produce_acknowledges_what_is_durable)
{
    struct node_fixture_produce p[3];

    for (int i = 0; i < 3; i++)
        node_fixture_produce(&f, &p[i], &topic, i == 2,
                             node_fixture_frame(&f, &topic, i == 2, 4, 1, 0));
    node_fixture_until(&f, p[0].done && p[1].done && p[2].done);
    ck_assert_int_eq(p[0].base.base_offset, 0);
    ck_assert_int_eq(p[1].base.base_offset, 4);
    ck_assert_int_eq(p[2].base.base_offset, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(p[i].base.code, 0);
        ck_assert_int_eq(p[i].base.level, KL_LEVEL_DURABLE);
        ck_assert_int_eq(p[i].base.leader_epoch, 0);
    }
}
END_TEST

/* A partition whose offsets are used up says so, and goes on serving. */
START_TEST(produce_at_the_last_offset)
{
    struct kl_store_log *log = kl_runtime_partition_find(f.n, &topic, 0)->log;
    struct node_fixture_fetch fetch;

    log->start = log->durable_start = INT64_MAX - 4;
    log->leo = log->durable_leo = log->wal_leo = INT64_MAX - 4;
    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 3, 1), INT64_MAX - 4);
    ck_assert_int_eq(
        produce_code(&topic, 0, node_fixture_frame(&f, &topic, 0, 2, 1, 0)),
        KL_EOFFSETRANGE);
    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 1, 1), INT64_MAX - 1);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            produce_code(&topic, 0, node_fixture_frame(&f, &topic, 0, 1, 1, 0)),
            KL_EOFFSETRANGE);
    node_fixture_fetch(&f, &fetch, &topic, 0, INT64_MAX - 1);
    node_fixture_until(&f, fetch.done);
    ck_assert_int_eq(fetch.base.read.code, 0);
    ck_assert_int_eq(fetch.base.read.next_offset, INT64_MAX);
    kl_store_read_release(&fetch.base.read);
    ck_assert_int_eq(node_fixture_append(&f, &topic, 1, 1, 1), 0);
}
END_TEST

START_TEST(produce_to_an_interval_log)
{
    struct kl_base_uuid fast =
        node_fixture_topic(&f, "fast", 1, "flush", "interval");
    struct node_fixture_produce p;

    node_fixture_produce(&f, &p, &fast, 0,
                         node_fixture_frame(&f, &fast, 0, 2, 1, 0));
    node_fixture_until(&f, p.done);
    ck_assert_int_eq(p.base.code, 0);
    ck_assert_int_eq(p.base.level, KL_LEVEL_MEMORY);
}
END_TEST

START_TEST(produce_to_nowhere)
{
    struct kl_base_uuid none = topic;

    none.bytes[0] ^= 1;
    ck_assert_int_eq(
        produce_code(&none, 0, node_fixture_frame(&f, &none, 0, 1, 1, 0)),
        KL_ENOTOPIC);
    ck_assert_int_eq(
        produce_code(&topic, 2, node_fixture_frame(&f, &topic, 2, 1, 1, 0)),
        KL_ENOTOPIC);
}
END_TEST

START_TEST(produce_a_frame_of_another_log)
{
    ck_assert_int_eq(
        produce_code(&topic, 0, node_fixture_frame(&f, &topic, 1, 1, 1, 0)),
        KL_EBATCH);
}
END_TEST

START_TEST(produce_too_large)
{
    struct kl_base_uuid small =
        node_fixture_topic(&f, "small", 1, "max.message.bytes", "4k");

    ck_assert_int_eq(
        produce_code(&small, 0, node_fixture_frame(&f, &small, 0, 1, 1, 5000)),
        KL_ERECORDSIZE);
    ck_assert_int_eq(
        produce_code(&small, 0, node_fixture_frame(&f, &small, 0, 1, 1, 3000)),
        0);
}
END_TEST

/* More than the store takes: the rest waits, in order. */
START_TEST(produce_waits_for_room)
{
    enum { COUNT = 40 };
    static struct node_fixture_produce p[COUNT];

    for (int i = 0; i < COUNT; i++)
        node_fixture_produce(&f, &p[i], &topic, i % 2,
                             node_fixture_frame(&f, &topic, i % 2, 1, 1, 9000));
    for (int i = 0; i < COUNT; i++) {
        node_fixture_until(&f, p[i].done);
        ck_assert_int_eq(p[i].base.code, 0);
        ck_assert_int_eq(p[i].base.base_offset, i / 2);
    }
}
END_TEST

static struct node_fixture_produce crowd[3];
static int order;

static void crowd_done(struct kl_runtime_node *n, struct kl_runtime_produce *p)
{
    (void)n;
    ((struct node_fixture_produce *)p)->done = ++order;
}

static void crowd_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                      int closed)
{
    static const size_t sizes[] = {9000, 60000, 9000};

    (void)r;
    (void)closed;
    for (int i = 0; i < 3; i++) {
        struct kl_runtime_produce *p = &crowd[i].base;

        p->topic_id = topic;
        p->partition = i == 1;
        p->frame = node_fixture_frame(&f, &topic, p->partition, 1, 1, sizes[i]);
        p->done = crowd_done;
        kl_runtime_produce(n, p);
    }
}

/* A batch that waits for room is not overtaken by smaller ones of other
 * partitions, which could go on for ever. */
START_TEST(produce_does_not_overtake)
{
    struct kl_runtime_request r = {.run = crowd_run};

    order = 0;
    kl_runtime_submit(f.n, &r);
    node_fixture_until(&f, order == 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(crowd[i].base.code, 0);
        ck_assert_int_eq(crowd[i].done, i + 1);
    }
}
END_TEST

static void produce_again(struct kl_runtime_node *n,
                          struct kl_runtime_produce *p)
{
    struct node_fixture_produce *q = (struct node_fixture_produce *)p;

    if (q->done++ < 3) {
        p->frame = node_fixture_frame(&f, &topic, 0, 1, 1, 0);
        kl_runtime_produce(n, p);
    }
}

static struct node_fixture_produce again;

static void again_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                      int closed)
{
    (void)r;
    (void)closed;
    again.base.topic_id = topic;
    again.base.frame = node_fixture_frame(&f, &topic, 0, 1, 1, 0);
    again.base.done = produce_again;
    kl_runtime_produce(n, &again.base);
}

/* A producer hands the next batch over when the one before is done, as it does
 * while the node stops. */
START_TEST(produce_inside_done)
{
    struct kl_runtime_request r = {.run = again_run};

    again.done = 0;
    kl_runtime_submit(f.n, &r);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(again.done, 4);
    ck_assert_int_eq(again.base.code, 0);
    ck_assert_int_eq(again.base.base_offset, 3);
}
END_TEST

START_TEST(produce_to_a_deleted_topic)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                   .topic = "t"};

    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 1, 1), 0);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    ck_assert_int_eq(
        produce_code(&topic, 0, node_fixture_frame(&f, &topic, 0, 1, 1, 0)),
        KL_ENOTOPIC);
}
END_TEST

Suite *suite_runtime_produce(void);

Suite *suite_runtime_produce(void)
{
    Suite *s = suite_create("runtime_produce");
    TCase *t = tcase_create("produce");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, produce_acknowledges_what_is_durable);
    tcase_add_test(t, produce_at_the_last_offset);
    tcase_add_test(t, produce_to_an_interval_log);
    tcase_add_test(t, produce_to_nowhere);
    tcase_add_test(t, produce_a_frame_of_another_log);
    tcase_add_test(t, produce_too_large);
    tcase_add_test(t, produce_waits_for_room);
    tcase_add_test(t, produce_does_not_overtake);
    tcase_add_test(t, produce_inside_done);
    tcase_add_test(t, produce_to_a_deleted_topic);
    suite_add_tcase(s, t);
    return s;
}
