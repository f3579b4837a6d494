/*
 * Reading, waiting for records, and looking offsets up.
 */
#include "node_fixture.h"

#include <check.h>
#include <kraftlog/client.h>

static struct node_fixture f;
static struct kl_base_uuid topic;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 2, NULL, NULL);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static void fetch_release(struct node_fixture_fetch *r)
{
    kl_store_read_release(&r->base.read);
}

/* Base offset of the first frame of a finished fetch. */
static int64_t fetch_base(const struct node_fixture_fetch *r)
{
    const struct kl_store_slice *slice = &r->base.read.slices[0];
    struct kl_batch_info info;

    ck_assert_int_eq(r->base.read.code, 0);
    ck_assert_uint_ge(r->base.read.slice_count, 1);
    ck_assert_int_eq(kl_batch_frame_verify(slice->data, slice->size,
                                           kl_batch_seed(&topic, 0), &info),
                     0);
    return info.base_offset;
}

START_TEST(fetch_what_is_there)
{
    struct node_fixture_fetch r;

    node_fixture_append(&f, &topic, 0, 3, 1);
    node_fixture_append(&f, &topic, 0, 3, 1);
    node_fixture_fetch(&f, &r, &topic, 0, 4);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(fetch_base(&r), 3);
    ck_assert_int_eq(r.base.read.next_offset, 6);
    ck_assert_int_eq(r.base.high_watermark, 6);
    ck_assert_int_eq(r.base.log_start, 0);
    fetch_release(&r);
}
END_TEST

START_TEST(fetch_waits_for_records)
{
    struct node_fixture_fetch r[2];

    node_fixture_fetch(&f, &r[0], &topic, 0, 0);
    node_fixture_fetch(&f, &r[1], &topic, 0, 0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(r[0].done, 0);
    node_fixture_append(&f, &topic, 1, 1, 1);
    ck_assert_int_eq(r[0].done, 0);
    node_fixture_append(&f, &topic, 0, 1, 1);
    node_fixture_until(&f, r[0].done && r[1].done);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fetch_base(&r[i]), 0);
        fetch_release(&r[i]);
    }
}
END_TEST

START_TEST(fetch_out_of_range)
{
    struct node_fixture_fetch r;
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_DELETE_BEFORE, .topic = "t", .offset = 2};

    node_fixture_append(&f, &topic, 0, 3, 1);
    node_fixture_fetch(&f, &r, &topic, 0, 4);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, KL_EOFFSETRANGE);
    ck_assert_int_eq(r.base.high_watermark, 3);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    node_fixture_fetch(&f, &r, &topic, 0, 1);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, KL_EOFFSETRANGE);
    ck_assert_int_eq(r.base.log_start, 2);
    node_fixture_fetch(&f, &r, &topic, 2, 0);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, KL_ENOTOPIC);
}
END_TEST

struct cancel
{
    struct kl_runtime_request base;
    struct kl_runtime_fetch *fetch;
    int ran;
};

static void cancel_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                       int closed)
{
    struct cancel *c = (struct cancel *)r;

    (void)closed;
    kl_runtime_fetch_cancel(n, c->fetch);
    c->ran = 1;
}

START_TEST(cancel_a_parked_fetch)
{
    struct node_fixture_fetch r;
    struct cancel c = {.base.run = cancel_run, .fetch = &r.base};

    node_fixture_fetch(&f, &r, &topic, 0, 0);
    ck_assert_int_eq(r.done, 0);
    kl_runtime_submit(f.n, &c.base);
    node_fixture_until(&f, c.ran);
    ck_assert_int_eq(r.done, 1);
    ck_assert_int_eq(r.base.read.code, KL_ECANCELED);
    node_fixture_append(&f, &topic, 0, 1, 1);
    ck_assert_int_eq(r.done, 1);
    /* Too late is harmless. */
    c.ran = 0;
    kl_runtime_submit(f.n, &c.base);
    node_fixture_until(&f, c.ran);
    ck_assert_int_eq(r.done, 1);
}
END_TEST

static void fetch_then_cancel(struct kl_runtime_node *n,
                              struct kl_runtime_request *r, int closed)
{
    struct cancel *c = (struct cancel *)r;

    (void)closed;
    kl_runtime_fetch(n, c->fetch);
    kl_runtime_fetch_cancel(n, c->fetch);
    c->ran = 1;
}

START_TEST(cancel_a_running_fetch)
{
    struct node_fixture_fetch r;
    struct cancel c = {.base.run = fetch_then_cancel, .fetch = &r.base};

    /* From a file: the read takes a while. */
    node_fixture_append(&f, &topic, 0, 3, 1);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    node_fixture_fetch(&f, &r, &topic, 0, 3);
    c.ran = 0;
    c.base.run = cancel_run;
    kl_runtime_submit(f.n, &c.base);
    node_fixture_until(&f, r.done);
    r.done = 0;
    r.base.read.offset = 0;
    c.base.run = fetch_then_cancel;
    kl_runtime_submit(f.n, &c.base);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, KL_ECANCELED);
    ck_assert_uint_eq(r.base.read.slice_count, 0);
}
END_TEST

START_TEST(fetch_of_a_deleted_topic)
{
    struct node_fixture_fetch r;
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                   .topic = "t"};

    node_fixture_fetch(&f, &r, &topic, 0, 0);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, KL_ENOTOPIC);
}
END_TEST

static int64_t list_offset(int64_t spec, int64_t timestamp)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_LIST_OFFSET,
        .topic = "t",
        .offset = spec,
        .timestamp = timestamp,
    };
    struct kl_runtime_op *op = node_fixture_do(&f, &wish);
    int64_t offset = op->offset;

    ck_assert_int_eq(op->code, 0);
    ck_assert_int_eq(op->high_watermark, 9);
    kl_runtime_op_unref(op);
    return offset;
}

START_TEST(list_offset_of_every_kind)
{
    for (int i = 0; i < 3; i++)
        node_fixture_append(&f, &topic, 0, 3, 1000 * (i + 1));
    ck_assert_int_eq(list_offset(KL_OFFSET_BEGIN, 0), 0);
    ck_assert_int_eq(list_offset(KL_OFFSET_END, 0), 9);
    ck_assert_int_eq(list_offset(KL_OFFSET_TIMESTAMP, 0), 0);
    ck_assert_int_eq(list_offset(KL_OFFSET_TIMESTAMP, 2001), 4);
    ck_assert_int_eq(list_offset(KL_OFFSET_TIMESTAMP, 2500), 6);
    ck_assert_int_eq(list_offset(KL_OFFSET_TIMESTAMP, 9999), 9);
}
END_TEST

START_TEST(list_offset_of_nowhere)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_LIST_OFFSET,
                                   .topic = "t",
                                   .number = 2,
                                   .offset = KL_OFFSET_END};

    ck_assert_int_eq(node_fixture_code(&f, &wish), KL_ENOTOPIC);
    wish.number = 0;
    wish.offset = 5;
    ck_assert_int_eq(node_fixture_code(&f, &wish), KL_EINVAL);
}
END_TEST

Suite *suite_runtime_fetch(void);

Suite *suite_runtime_fetch(void)
{
    Suite *s = suite_create("runtime_fetch");
    TCase *t = tcase_create("fetch");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, fetch_what_is_there);
    tcase_add_test(t, fetch_waits_for_records);
    tcase_add_test(t, fetch_out_of_range);
    tcase_add_test(t, cancel_a_parked_fetch);
    tcase_add_test(t, cancel_a_running_fetch);
    tcase_add_test(t, fetch_of_a_deleted_topic);
    tcase_add_test(t, list_offset_of_every_kind);
    tcase_add_test(t, list_offset_of_nowhere);
    suite_add_tcase(s, t);
    return s;
}
