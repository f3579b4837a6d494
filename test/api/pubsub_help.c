#include "pubsub_help.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void help_open(struct help_node *h, int threaded)
{
    static const char *const pairs[] = {"wal.bytes", "1m", NULL};
    kl_config *config = help_config(pairs);
    int rc;

    memset(h, 0, sizeof *h);
    test_tmpdir_make(h->dir);
    ck_assert_int_eq(kl_node_new(&h->node, config), KL_OK);
    kl_config_free(config);
    rc = kl_node_open(h->node, h->dir, KL_OPEN_CREATE);
    if (rc != KL_OK) {
        char text[256];

        kl_node_errmsg(h->node, text, sizeof text);
        ck_abort_msg("open: %s: %s", kl_error_name(rc), text);
    }
    if (threaded)
        ck_assert_int_eq(kl_node_start(h->node), KL_OK);
    ck_assert_int_eq(kl_node_client(h->node, &h->client), KL_OK);
}

void help_close(struct help_node *h)
{
    if (h->node) {
        ck_assert_int_eq(kl_node_stop(h->node, HELP_WAIT_MS), KL_OK);
        kl_node_free(h->node);
    }
    kl_client_free(h->client);
    test_tmpdir_remove(h->dir);
    memset(h, 0, sizeof *h);
}

kl_config *help_config(const char *const *pairs)
{
    kl_config *config;

    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), KL_OK);
    for (; pairs && pairs[0]; pairs += 2)
        ck_assert_int_eq(kl_config_set(config, pairs[0], pairs[1]), KL_OK);
    return config;
}

void help_topic(struct help_node *h, const char *name, int32_t partitions,
                const char *const *pairs)
{
    kl_config *config = pairs ? help_config(pairs) : NULL;
    kl_op *op;

    ck_assert_int_eq(
        kl_admin_create_topic(h->client, name, partitions, 1, config, 0, &op),
        KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    kl_config_free(config);
}

kl_producer *help_producer(struct help_node *h, const char *const *pairs)
{
    kl_config *config = help_config(pairs);
    kl_producer *p;

    ck_assert_int_eq(kl_producer_new(&p, h->client, config), KL_OK);
    kl_config_free(config);
    return p;
}

kl_consumer *help_consumer(struct help_node *h, const char *const *pairs)
{
    kl_config *config = help_config(pairs);
    kl_consumer *c;

    ck_assert_int_eq(kl_consumer_new(&c, h->client, config), KL_OK);
    kl_config_free(config);
    return c;
}

int64_t help_send(kl_producer *p, const char *topic, int32_t partition,
                  const char *value)
{
    int64_t offset;
    kl_op *op;

    ck_assert_int_eq(kl_producer_send(p, topic, partition, NULL, 0, value,
                                      strlen(value), KL_TIMESTAMP_NOW, 0, &op),
                     KL_OK);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_op_code(op), KL_OK);
    ck_assert_int_eq(kl_op_offset(op, &offset), KL_OK);
    kl_op_free(op);
    return offset;
}

void help_send_many(kl_producer *p, const char *topic, int32_t partition,
                    const char *prefix, int count)
{
    char value[64];
    int i;

    for (i = 0; i < count; i++) {
        int rc;

        snprintf(value, sizeof value, "%s-%d", prefix, i);
        while ((rc = kl_producer_send(p, topic, partition, NULL, 0, value,
                                      strlen(value), KL_TIMESTAMP_NOW, 0,
                                      NULL)) == KL_EAGAIN)
            ck_assert_int_eq(kl_producer_wait(p, HELP_WAIT_MS), KL_OK);
        ck_assert_int_eq(rc, KL_OK);
    }
}

kl_event *help_poll(kl_consumer *c)
{
    kl_event *e;

    ck_assert_int_eq(kl_consumer_poll(c, HELP_WAIT_MS, &e), KL_OK);
    ck_assert_ptr_nonnull(e);
    return e;
}

kl_event *help_poll_records(kl_consumer *c)
{
    for (;;) {
        kl_event *e = help_poll(c);

        if (kl_event_type(e) == KL_EVENT_RECORDS)
            return e;
        kl_event_free(e);
    }
}

int help_finish(kl_op *op)
{
    int code;

    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    code = kl_op_code(op);
    kl_op_free(op);
    return code;
}

void help_check_values(struct help_node *h, const char *topic,
                       int32_t partition, const char *prefix, int count)
{
    kl_consumer *c = help_consumer(h, NULL);
    char want[64];
    int i = 0;

    ck_assert_int_eq(
        kl_consumer_assign(c, topic, partition, KL_OFFSET_BEGIN, 0), KL_OK);
    while (i < count) {
        kl_event *e = help_poll_records(c);
        const kl_record *r;

        while (kl_event_next(e, &r) == KL_OK) {
            size_t size;
            const char *value = kl_record_value(r, &size);

            snprintf(want, sizeof want, "%s-%d", prefix, i);
            ck_assert_uint_eq(size, strlen(want));
            ck_assert_mem_eq(value, want, size);
            ck_assert_int_eq(kl_record_offset(r), i);
            i++;
        }
        kl_event_free(e);
    }
    kl_consumer_free(c);
}
