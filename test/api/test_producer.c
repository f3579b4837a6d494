/*
 * The producer through the public headers: what is accepted, in which order it
 * lands, what its operations say, and what misuse gives.
 */
#include "pubsub_help.h"

#include <check.h>
#include <string.h>

static struct help_node h;

/* ---- sending ----------------------------------------------------------- */

START_TEST(send_acknowledges_in_order)
{
    kl_producer *p;
    int64_t before = -1;
    int i;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    for (i = 0; i < 20; i++) {
        int64_t offset = help_send(p, "t", 0, "x");

        ck_assert_int_eq(offset, before + 1);
        before = offset;
    }
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_operation_says_what_was_reached)
{
    static const char *const interval[] = {"flush", "interval", NULL};
    kl_producer *p;
    kl_op *op;
    int32_t partition;
    int32_t epoch;
    int level;

    help_open(&h, _i);
    help_topic(&h, "durable", 3, NULL);
    help_topic(&h, "memory", 3, interval);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(
        kl_producer_send(p, "durable", 2, "k", 1, "v", 1, 5, 0, &op), KL_OK);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_op_code(op), KL_OK);
    ck_assert_int_eq(kl_op_partition(op, &partition), KL_OK);
    ck_assert_int_eq(partition, 2);
    ck_assert_int_eq(kl_op_epoch(op, &epoch), KL_OK);
    ck_assert_int_ge(epoch, 0);
    ck_assert_int_eq(kl_op_level(op, &level), KL_OK);
    ck_assert_int_eq(level, KL_LEVEL_DURABLE);
    kl_op_free(op);
    ck_assert_int_eq(
        kl_producer_send(p, "memory", 1, NULL, 0, NULL, 0, 5, 0, &op), KL_OK);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_op_level(op, &level), KL_OK);
    ck_assert_int_eq(level, KL_LEVEL_MEMORY);
    kl_op_free(op);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_many_keeps_order)
{
    static const char *const small[] = {"batch.size", "4k", NULL};
    kl_producer *p;

    help_open(&h, _i);
    help_topic(&h, "t", 2, NULL);
    p = help_producer(&h, small);
    help_send_many(p, "t", 1, "value", 20000);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    ck_assert_uint_eq(kl_producer_buffered(p), 0);
    help_check_values(&h, "t", 1, "value", 20000);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_keeps_order_when_memory_is_short)
{
    static const char *const tight[] = {"buffer.memory", "64k", "batch.size",
                                        "2k", NULL};
    kl_producer *p;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, tight);
    help_send_many(p, "t", 0, "tight", 30000);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    help_check_values(&h, "t", 0, "tight", 30000);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_again_after_full_buffer)
{
    static const char *const tight[] = {"buffer.memory", "64k", "linger.ms",
                                        "900000", NULL};
    static char value[1000];
    kl_producer *p;
    int accepted = 0;
    int rc;

    help_open(&h, 0);
    help_topic(&h, "t", 4, NULL);
    p = help_producer(&h, tight);
    while ((rc = kl_producer_send(p, "t", accepted % 4, NULL, 0, value,
                                  sizeof value, 0, 0, NULL)) == KL_OK)
        ck_assert_int_lt(++accepted, 100);
    ck_assert_int_eq(rc, KL_EAGAIN);
    ck_assert_int_gt(accepted, 10);
    ck_assert_uint_gt(kl_producer_buffered(p), 32 * 1024);
    /* Nobody polls, but for this. A full buffer does not wait for linger. */
    ck_assert_int_eq(kl_producer_wait(p, 0), KL_ETIMEDOUT);
    ck_assert_int_eq(kl_producer_wait(p, HELP_WAIT_MS), KL_OK);
    ck_assert_uint_le(kl_producer_buffered(p), 32 * 1024);
    ck_assert_int_eq(
        kl_producer_send(p, "t", 0, NULL, 0, value, sizeof value, 0, 0, NULL),
        KL_OK);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_waits_for_linger)
{
    static const char *const linger[] = {"linger.ms", "20", NULL};
    static const char *const forever[] = {"linger.ms", "900000", NULL};
    kl_producer *p;
    kl_op *op[2];

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, linger);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "a", 1, 0, 0, &op[0]),
                     KL_OK);
    ck_assert_int_eq(help_finish(op[0]), KL_OK);
    kl_producer_free(p);
    p = help_producer(&h, forever);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "b", 1, 0, 0, &op[0]),
                     KL_OK);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "c", 1, 0, 0, &op[1]),
                     KL_OK);
    ck_assert_int_eq(kl_op_wait(op[1], 5), KL_ETIMEDOUT);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_op_done(op[0]), 1);
    ck_assert_int_eq(help_finish(op[0]), KL_OK);
    ck_assert_int_eq(help_finish(op[1]), KL_OK);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_large_records)
{
    static const char *const large[] = {"max.message.bytes", "100000", NULL};
    static char value[200000];
    kl_producer *p;
    kl_op *op;

    help_open(&h, _i);
    help_topic(&h, "t", 1, large);
    p = help_producer(&h, NULL);
    memset(value, 'x', sizeof value);
    /* Larger than batch.size, so it has a batch of its own. */
    ck_assert_int_eq(
        kl_producer_send(p, "t", 0, NULL, 0, value, 99000, 0, 0, &op), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    op = (kl_op *)&op;
    ck_assert_int_eq(
        kl_producer_send(p, "t", 0, NULL, 0, value, 100000, 0, 0, &op),
        KL_ERECORDSIZE);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(
        kl_producer_send(p, "t", 0, value, 50000, value, 50000, 0, 0, NULL),
        KL_ERECORDSIZE);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, value,
                                      (size_t)1 << 40, 0, 0, NULL),
                     KL_ERECORDSIZE);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_by_key_and_round_robin)
{
    kl_producer *p;
    int seen[4] = {0};
    int32_t first = -1;
    int i;

    help_open(&h, _i);
    help_topic(&h, "t", 4, NULL);
    p = help_producer(&h, NULL);
    for (i = 0; i < 12; i++) {
        int keyed = i < 4;
        int32_t partition;
        kl_op *op;

        ck_assert_int_eq(kl_producer_send(p, "t", KL_PARTITION_ANY,
                                          keyed ? "foobar" : NULL,
                                          keyed ? 6 : 0, "v", 1, 0, 0, &op),
                         KL_OK);
        ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
        ck_assert_int_eq(kl_op_partition(op, &partition), KL_OK);
        kl_op_free(op);
        if (!keyed)
            seen[partition]++;
        /* murmur2("foobar") is -790332482, as in Kafka's own tests. */
        else
            ck_assert_int_eq(partition, (-790332482 & 0x7fffffff) % 4);
        if (i == 0)
            first = partition;
    }
    ck_assert_int_ge(first, 0);
    for (i = 0; i < 4; i++)
        ck_assert_int_eq(seen[i], 2);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_compressed)
{
    static const char *const codecs[] = {"lz4", "zstd"};
    size_t i;

    help_open(&h, 1);
    for (i = 0; i < 2; i++) {
        const char *pairs[] = {"compression.type", codecs[i], NULL};
        kl_config *config = help_config(pairs);
        kl_producer *p;
        int rc = kl_producer_new(&p, h.client, config);

        kl_config_free(config);
        if (rc == KL_EUNSUPPORTED) {
            ck_assert_ptr_null(p);
            continue;
        }
        ck_assert_int_eq(rc, KL_OK);
        help_topic(&h, codecs[i], 1, NULL);
        help_send_many(p, codecs[i], 0, "again and again and again", 5000);
        ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
        kl_producer_free(p);
        help_check_values(&h, codecs[i], 0, "again and again and again", 5000);
    }
    help_close(&h);
}
END_TEST

START_TEST(send_record_with_headers)
{
    kl_producer *p;
    kl_consumer *c;
    kl_record *record;
    kl_event *e;
    const kl_record *r;
    const char *name;
    const void *value;
    size_t name_size;
    size_t size;
    kl_op *op;
    int round;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_record_new(&record, NULL), KL_OK);
    ck_assert_int_eq(kl_record_set_key(record, "key", 3), KL_OK);
    ck_assert_int_eq(kl_record_set_value(record, "", 0), KL_OK);
    ck_assert_int_eq(kl_record_set_timestamp(record, 77), KL_OK);
    ck_assert_int_eq(kl_record_add_header(record, "a", "1", 1), KL_OK);
    ck_assert_int_eq(kl_record_add_header(record, "null", NULL, 0), KL_OK);
    ck_assert_int_eq(kl_record_add_header(record, "", "", 0), KL_OK);
    ck_assert_int_eq(kl_producer_send_record(p, "t", 0, record, 0, &op), KL_OK);
    kl_record_free(record);
    ck_assert_int_eq(help_finish(op), KL_OK);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    for (round = 0; round < 2; round++) {
        e = help_poll_records(c);
        ck_assert_int_eq(kl_event_next(e, &r), KL_OK);
        ck_assert_int_eq(kl_record_offset(r), round);
        ck_assert_int_eq(kl_record_timestamp(r), 77);
        ck_assert_mem_eq(kl_record_key(r, &size), "key", 3);
        ck_assert_uint_eq(size, 3);
        ck_assert_ptr_nonnull(kl_record_value(r, &size));
        ck_assert_uint_eq(size, 0);
        ck_assert_uint_eq(kl_record_header_count(r), 3);
        ck_assert_int_eq(
            kl_record_header_at(r, 0, &name, &name_size, &value, &size), KL_OK);
        ck_assert_mem_eq(name, "a", 1);
        ck_assert_uint_eq(name_size, 1);
        ck_assert_mem_eq(value, "1", 1);
        ck_assert_int_eq(
            kl_record_header_at(r, 1, NULL, &name_size, &value, NULL), KL_OK);
        ck_assert_uint_eq(name_size, 4);
        ck_assert_ptr_null(value);
        ck_assert_int_eq(
            kl_record_header_at(r, 2, &name, &name_size, &value, &size), KL_OK);
        ck_assert_uint_eq(name_size, 0);
        ck_assert_ptr_nonnull(value);
        ck_assert_int_eq(kl_record_header_at(r, 3, NULL, NULL, NULL, NULL),
                         KL_EEND);
        /* A record lent by an event can be sent on. */
        if (round == 0) {
            ck_assert_int_eq(kl_producer_send_record(p, "t", 0, r, 0, &op),
                             KL_OK);
            ck_assert_int_eq(help_finish(op), KL_OK);
        }
        kl_event_free(e);
    }
    kl_consumer_free(c);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

/* ---- topics that come and go ------------------------------------------- */

START_TEST(send_to_unknown_topics)
{
    kl_producer *p;
    char text[256];
    kl_op *op;

    help_open(&h, _i);
    help_topic(&h, "t", 2, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_producer_errmsg(p, text, sizeof text), KL_OK);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(kl_producer_send(p, "no", 0, NULL, 0, "v", 1, 0, 0, &op),
                     KL_ENOTOPIC);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_producer_errmsg(p, text, sizeof text), KL_OK);
    ck_assert_ptr_nonnull(strstr(text, "no"));
    ck_assert_int_eq(kl_producer_send(p, "t", 2, NULL, 0, "v", 1, 0, 0, NULL),
                     KL_ENOTOPIC);
    ck_assert_int_eq(kl_producer_send(p, "", 0, NULL, 0, "v", 1, 0, 0, NULL),
                     KL_ENOTOPIC);
    /* It comes into being while the producer is there. */
    help_topic(&h, "no", 1, NULL);
    ck_assert_int_eq(help_send(p, "no", 0, "now"), 0);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(send_to_a_topic_made_again)
{
    kl_producer *p;
    kl_op *op;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(help_send(p, "t", 0, "a"), 0);
    ck_assert_int_eq(help_send(p, "t", 0, "b"), 1);
    ck_assert_int_eq(kl_admin_delete_topic(h.client, "t", 0, &op), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "v", 1, 0, 0, NULL),
                     KL_ENOTOPIC);
    help_topic(&h, "t", 3, NULL);
    ck_assert_int_eq(help_send(p, "t", 0, "c"), 0);
    ck_assert_int_eq(help_send(p, "t", 2, "d"), 0);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

/* The topic goes while records wait for their time. */
START_TEST(flush_tells_what_failed)
{
    static const char *const linger[] = {"linger.ms", "900000", NULL};
    kl_producer *p;
    char text[256];
    kl_op *op;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, linger);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "v", 1, 0, 0, NULL),
                     KL_OK);
    ck_assert_int_eq(kl_admin_delete_topic(h.client, "t", 0, &op), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_ENOTOPIC);
    ck_assert_int_eq(kl_producer_errmsg(p, text, sizeof text), KL_OK);
    ck_assert_ptr_nonnull(strstr(text, "t-0"));
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

/* ---- misuse ------------------------------------------------------------ */

START_TEST(misuse_of_arguments)
{
    const void *rows[1] = {"v"};
    uint64_t sizes[1] = {1};
    kl_producer *p = (kl_producer *)&p;
    kl_record *record;
    kl_node *node;
    kl_client *client;
    char text[8];
    kl_op *op = (kl_op *)&op;

    help_open(&h, 0);
    help_topic(&h, "t", 1, NULL);
    ck_assert_int_eq(kl_producer_new(NULL, h.client, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_producer_new(&p, NULL, NULL), KL_EINVAL);
    ck_assert_ptr_null(p);
    p = help_producer(&h, NULL);
#define SEND(p, topic, part, key, ks, value, vs, ts, flags)                    \
    kl_producer_send(p, topic, part, key, ks, value, vs, ts, flags, &op)
    ck_assert_int_eq(SEND(NULL, "t", 0, NULL, 0, "v", 1, 0, 0), KL_EINVAL);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(SEND(p, NULL, 0, NULL, 0, "v", 1, 0, 0), KL_EINVAL);
    ck_assert_int_eq(SEND(p, "t", -2, NULL, 0, "v", 1, 0, 0), KL_EINVAL);
    ck_assert_int_eq(SEND(p, "t", 0, NULL, 1, "v", 1, 0, 0), KL_EINVAL);
    ck_assert_int_eq(SEND(p, "t", 0, NULL, 0, NULL, 1, 0, 0), KL_EINVAL);
    ck_assert_int_eq(SEND(p, "t", 0, NULL, 0, "v", 1, -2, 0), KL_EINVAL);
    ck_assert_int_eq(SEND(p, "t", 0, NULL, 0, "v", 1, 0, 1), KL_EINVAL);
#undef SEND
    ck_assert_int_eq(kl_record_new(&record, NULL), KL_OK);
    ck_assert_int_eq(kl_producer_send_record(NULL, "t", 0, record, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_producer_send_record(p, NULL, 0, record, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_producer_send_record(p, "t", 0, NULL, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_producer_send_record(p, "t", 0, record, 2, &op),
                     KL_EINVAL);
    kl_record_free(record);
#define BULK_SEND(p, topic, keys, ks, values, vs, flags)                       \
    kl_producer_send_bulk(p, topic, 0, keys, ks, values, vs, NULL, 1, flags,   \
                          NULL, &op)
    ck_assert_int_eq(BULK_SEND(NULL, "t", rows, sizes, NULL, NULL, 0),
                     KL_EINVAL);
    ck_assert_int_eq(BULK_SEND(p, NULL, rows, sizes, NULL, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(BULK_SEND(p, "t", rows, NULL, NULL, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(BULK_SEND(p, "t", NULL, NULL, rows, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(BULK_SEND(p, "t", rows, sizes, NULL, NULL, 8), KL_EINVAL);
#undef BULK_SEND
    ck_assert_int_eq(kl_producer_flush(NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_producer_wait(NULL, 0), KL_EINVAL);
    ck_assert_uint_eq(kl_producer_buffered(NULL), 0);
    ck_assert_int_eq(kl_producer_errmsg(NULL, text, sizeof text), KL_EINVAL);
    ck_assert_int_eq(kl_producer_errmsg(p, NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_producer_errmsg(p, text, 0), KL_EINVAL);
    kl_producer_free(p);
    /* A node that is not open yet. */
    ck_assert_int_eq(kl_node_new(&node, NULL), KL_OK);
    ck_assert_int_eq(kl_node_client(node, &client), KL_OK);
    ck_assert_int_eq(kl_producer_new(&p, client, NULL), KL_ESTATE);
    kl_client_free(client);
    kl_node_free(node);
    help_close(&h);
}
END_TEST

Suite *suite_api_producer(void);

Suite *suite_api_producer(void)
{
    Suite *suite = suite_create("api_producer");
    TCase *tc = tcase_create("producer");

    /* Each twice: polled by the test, and with a thread of its own. */
    tcase_add_loop_test(tc, send_acknowledges_in_order, 0, 2);
    tcase_add_loop_test(tc, send_operation_says_what_was_reached, 0, 2);
    tcase_add_loop_test(tc, send_many_keeps_order, 0, 2);
    tcase_add_loop_test(tc, send_keeps_order_when_memory_is_short, 0, 2);
    tcase_add_test(tc, send_again_after_full_buffer);
    tcase_add_loop_test(tc, send_waits_for_linger, 0, 2);
    tcase_add_loop_test(tc, send_large_records, 0, 2);
    tcase_add_loop_test(tc, send_by_key_and_round_robin, 0, 2);
    tcase_add_test(tc, send_compressed);
    tcase_add_loop_test(tc, send_record_with_headers, 0, 2);
    tcase_add_loop_test(tc, send_to_unknown_topics, 0, 2);
    tcase_add_loop_test(tc, send_to_a_topic_made_again, 0, 2);
    tcase_add_loop_test(tc, flush_tells_what_failed, 0, 2);
    tcase_add_test(tc, misuse_of_arguments);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite;
}
