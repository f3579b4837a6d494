/*
 * The consumer through the public headers: places, order, turns, ends, errors,
 * and what misuse gives.
 */
#include "pubsub_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct help_node h;

/* One topic with `count` records "v-0" ... in partition 0. */
static void fill(int threaded, int32_t partitions, int count,
                 const char *const *producer)
{
    kl_producer *p;

    help_open(&h, threaded);
    help_topic(&h, "t", partitions, NULL);
    p = help_producer(&h, producer);
    help_send_many(p, "t", 0, "v", count);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
}

/* Offset of the first record that comes next. */
static int64_t next_offset(kl_consumer *c)
{
    kl_event *e = help_poll_records(c);
    const kl_record *r;
    int64_t offset;

    ck_assert_int_eq(kl_event_next(e, &r), KL_OK);
    offset = kl_record_offset(r);
    ck_assert_int_eq(offset, kl_event_offset(e));
    ck_assert_int_gt(kl_event_next_offset(e), offset);
    kl_event_free(e);
    return offset;
}

static int64_t position(kl_consumer *c, int32_t partition)
{
    int64_t offset = -7;

    ck_assert_int_eq(kl_consumer_position(c, "t", partition, &offset), KL_OK);
    return offset;
}

/* ---- reading ----------------------------------------------------------- */

START_TEST(poll_reads_all_and_tells_the_end)
{
    static const char *const batches[] = {"batch.size", "1k", NULL};
    static const char *const events[] = {"fetch.max.bytes", "4k", NULL};
    kl_consumer *c;
    int64_t next = 0;
    int64_t lag;
    int count = 0;

    fill(_i, 1, 5000, batches);
    c = help_consumer(&h, events);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, KL_OFFSET_BEGIN, 0), KL_OK);
    for (;;) {
        kl_event *e = help_poll(c);
        const kl_record *r;

        ck_assert_str_eq(kl_event_topic(e), "t");
        ck_assert_int_eq(kl_event_partition(e), 0);
        ck_assert_int_eq(kl_event_offset(e), next);
        ck_assert_int_eq(kl_event_code(e), KL_OK);
        if (kl_event_type(e) == KL_EVENT_END) {
            ck_assert_int_eq(kl_event_next(e, &r), KL_EEND);
            ck_assert_int_eq(kl_event_high_watermark(e), 5000);
            kl_event_free(e);
            break;
        }
        ck_assert_uint_gt(kl_event_record_count(e), 0);
        ck_assert_int_eq(kl_event_high_watermark(e), 5000);
        while (kl_event_next(e, &r) == KL_OK)
            ck_assert_int_eq(kl_record_offset(r), next++);
        ck_assert_int_eq(position(c, 0), next);
        ck_assert_int_eq(kl_consumer_lag(c, "t", 0, &lag), KL_OK);
        ck_assert_int_eq(lag, 5000 - next);
        kl_event_free(e);
        count++;
    }
    ck_assert_int_eq(next, 5000);
    ck_assert_int_gt(count, 10);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(poll_follows_the_end)
{
    kl_consumer *c;
    kl_producer *p;
    kl_event *e;
    int i;

    fill(_i, 1, 10, NULL);
    c = help_consumer(&h, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, KL_OFFSET_END, 0), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    ck_assert_int_eq(kl_event_offset(e), 10);
    ck_assert_int_eq(kl_event_next_offset(e), 10);
    kl_event_free(e);
    /* Told once. */
    ck_assert_int_eq(kl_consumer_poll(c, 1, &e), KL_OK);
    ck_assert_ptr_null(e);
    for (i = 10; i < 20; i++) {
        ck_assert_int_eq(help_send(p, "t", 0, "new"), i);
        e = help_poll(c);
        ck_assert_int_eq(kl_event_type(e), KL_EVENT_RECORDS);
        ck_assert_int_eq(kl_event_offset(e), i);
        ck_assert_uint_eq(kl_event_record_count(e), 1);
        kl_event_free(e);
        e = help_poll(c);
        ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
        ck_assert_int_eq(kl_event_offset(e), i + 1);
        kl_event_free(e);
    }
    kl_producer_free(p);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(poll_takes_turns)
{
    static const char *const batches[] = {"batch.size", "1k", NULL};
    static const char *const events[] = {"fetch.max.bytes", "1k", NULL};
    int64_t next[3] = {0};
    kl_producer *p;
    kl_consumer *c;
    int i;

    fill(_i, 3, 2000, batches);
    p = help_producer(&h, batches);
    for (i = 1; i < 3; i++)
        help_send_many(p, "t", i, "v", 2000);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
    c = help_consumer(&h, events);
    for (i = 0; i < 3; i++)
        ck_assert_int_eq(kl_consumer_assign(c, "t", i, 0, 0), KL_OK);
    for (;;) {
        kl_event *e = help_poll_records(c);
        int32_t partition = kl_event_partition(e);
        int64_t least = next[0];

        for (i = 1; i < 3; i++)
            if (next[i] < least)
                least = next[i];
        ck_assert_int_eq(kl_event_offset(e), next[partition]);
        next[partition] += (int64_t)kl_event_record_count(e);
        /* How far one gets ahead depends on how fast each is read, but nobody
         * is through before the others have had a turn. */
        if (next[partition] == 2000)
            ck_assert_int_gt(least, 0);
        kl_event_free(e);
        if (next[0] + next[1] + next[2] == 6000)
            break;
    }
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(assign_places)
{
    kl_consumer *c;

    fill(_i, 2, 100, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 42, 0), KL_OK);
    ck_assert_int_eq(position(c, 0), 42);
    /* The batch begins before it. */
    ck_assert_int_eq(next_offset(c), 42);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 42, 0), KL_ESTATE);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 2, 0, 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_assign(c, "no", 0, 0, 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_unassign(c, "t", 0), KL_OK);
    ck_assert_int_eq(kl_consumer_unassign(c, "t", 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 99, 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 99);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(seek_everywhere)
{
    kl_consumer *c;
    kl_event *e;
    int64_t offset;
    int i;

    fill(_i, 1, 1000, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, KL_OFFSET_BEGIN, 0), KL_OK);
    /* Nobody has looked it up yet where only this thread could. */
    if (_i == 0)
        ck_assert_int_eq(kl_consumer_position(c, "t", 0, &offset), KL_EAGAIN);
    ck_assert_int_eq(next_offset(c), 0);
    for (i = 0; i < 50; i++) {
        int64_t want = i * 37 % 1000;

        ck_assert_int_eq(kl_consumer_seek(c, "t", 0, want), KL_OK);
        ck_assert_int_eq(position(c, 0), want);
        /* Also over what was just asked for. */
        if (i % 3 == 0)
            continue;
        ck_assert_int_eq(next_offset(c), want);
    }
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, KL_OFFSET_BEGIN), KL_OK);
    ck_assert_int_eq(next_offset(c), 0);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, KL_OFFSET_END), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    kl_event_free(e);
    ck_assert_int_eq(position(c, 0), 1000);
    /* Over a fetch that waits for records. */
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 500), KL_OK);
    ck_assert_int_eq(next_offset(c), 500);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(seek_timestamp_finds)
{
    kl_producer *p;
    kl_consumer *c;
    kl_event *e;
    int i;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    for (i = 0; i < 100; i++)
        ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "v", 1,
                                          1000 + 10 * i, 0, NULL),
                         KL_OK);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    ck_assert_int_eq(kl_consumer_seek_timestamp(c, "t", 0, 1500), KL_OK);
    ck_assert_int_eq(next_offset(c), 50);
    ck_assert_int_eq(kl_consumer_seek_timestamp(c, "t", 0, 1501), KL_OK);
    ck_assert_int_eq(next_offset(c), 51);
    ck_assert_int_eq(kl_consumer_seek_timestamp(c, "t", 0, 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 0);
    ck_assert_int_eq(kl_consumer_seek_timestamp(c, "t", 0, 1991), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    ck_assert_int_eq(kl_event_offset(e), 100);
    kl_event_free(e);
    kl_consumer_free(c);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(pause_and_resume)
{
    kl_consumer *c;
    kl_producer *p;
    kl_event *e;

    fill(_i, 2, 10, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(help_send(p, "t", 1, "other"), 0);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 1, 0, 0), KL_OK);
    ck_assert_int_eq(kl_consumer_pause(c, "t", 0), KL_OK);
    ck_assert_int_eq(kl_consumer_pause(c, "t", 0), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_partition(e), 1);
    kl_event_free(e);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    ck_assert_int_eq(kl_event_partition(e), 1);
    kl_event_free(e);
    ck_assert_int_eq(kl_consumer_poll(c, 2, &e), KL_OK);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(position(c, 0), 0);
    ck_assert_int_eq(kl_consumer_resume(c, "t", 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 0);
    /* What is ready waits as well. */
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 3), KL_OK);
    ck_assert_int_eq(kl_consumer_pause(c, "t", 0), KL_OK);
    ck_assert_int_eq(kl_consumer_poll(c, 2, &e), KL_OK);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(kl_consumer_resume(c, "t", 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 3);
    kl_producer_free(p);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

/* ---- offsets that are not there ---------------------------------------- */

START_TEST(reset_none_is_an_error)
{
    static const char *const none[] = {"auto.offset.reset", "none", NULL};
    kl_consumer *c;
    kl_event *e;
    char text[256];
    int64_t lag;

    fill(_i, 1, 10, NULL);
    c = help_consumer(&h, none);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 11, 0), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_ERROR);
    ck_assert_int_eq(kl_event_code(e), KL_EOFFSETRANGE);
    ck_assert_int_eq(kl_event_offset(e), 11);
    ck_assert_int_eq(kl_event_errmsg(e, text, sizeof text), KL_OK);
    ck_assert_ptr_nonnull(strstr(text, "t-0"));
    ck_assert_ptr_nonnull(strstr(text, "11"));
    kl_event_free(e);
    /* Told once; it stands still until it is sought. */
    ck_assert_int_eq(kl_consumer_poll(c, 2, &e), KL_OK);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(kl_consumer_lag(c, "t", 0, &lag), KL_OK);
    ck_assert_int_eq(lag, 0);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 9), KL_OK);
    ck_assert_int_eq(next_offset(c), 9);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(reset_earliest_and_latest)
{
    static const char *const latest[] = {"auto.offset.reset", "latest", NULL};
    kl_consumer *c;
    kl_event *e;
    kl_op *op;

    fill(_i, 1, 10, NULL);
    ck_assert_int_eq(kl_admin_delete_before(h.client, "t", 0, 4, 0, &op),
                     KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 1, 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 4);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 500), KL_OK);
    ck_assert_int_eq(next_offset(c), 4);
    kl_consumer_free(c);
    c = help_consumer(&h, latest);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 1, 0), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    ck_assert_int_eq(kl_event_offset(e), 10);
    kl_event_free(e);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(topic_deleted_under_a_consumer)
{
    kl_consumer *c;
    kl_event *e;
    kl_op *op;

    fill(_i, 1, 10, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, KL_OFFSET_END, 0), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    kl_event_free(e);
    ck_assert_int_eq(kl_admin_delete_topic(h.client, "t", 0, &op), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_ERROR);
    ck_assert_int_eq(kl_event_code(e), KL_ENOTOPIC);
    kl_event_free(e);
    ck_assert_int_eq(kl_consumer_unassign(c, "t", 0), KL_OK);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

/* ---- ends -------------------------------------------------------------- */

START_TEST(event_outlives_everything)
{
    kl_consumer *c;
    kl_event *e;
    const kl_record *r;
    const int64_t *offsets;
    const void *data;
    size_t count;
    size_t size;
    int n = 0;

    fill(_i, 1, 300, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    e = help_poll_records(c);
    kl_consumer_free(c);
    help_close(&h);
    while (kl_event_next(e, &r) == KL_OK)
        ck_assert_int_eq(kl_record_offset(r), n++);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(
        kl_event_columns(e, &count, &offsets, NULL, NULL, NULL, NULL, NULL),
        KL_OK);
    ck_assert_uint_eq(count, (size_t)n);
    ck_assert_int_eq(kl_event_bytes(e, 0, &data, &size), KL_OK);
    ck_assert_str_eq(kl_event_topic(e), "t");
    kl_event_free(e);
}
END_TEST

START_TEST(node_first_then_consumer)
{
    kl_consumer *c;
    kl_consumer *late;
    kl_event *e;
    int64_t offset;

    fill(_i, 1, 10, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 0);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 5), KL_OK);
    kl_node_free(h.node);
    h.node = NULL;
    e = (kl_event *)&e;
    ck_assert_int_eq(kl_consumer_poll(c, HELP_WAIT_MS, &e), KL_ECLOSED);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_consumer_pause(c, "t", 0), KL_ECLOSED);
    ck_assert_int_eq(kl_consumer_position(c, "t", 0, &offset), KL_ECLOSED);
    ck_assert_int_eq(kl_consumer_new(&late, h.client, NULL), KL_ECLOSED);
    ck_assert_ptr_null(late);
    kl_client_free(h.client);
    h.client = NULL;
    kl_consumer_free(c);
    kl_consumer_free(NULL);
    help_close(&h);
}
END_TEST

START_TEST(stop_while_polling_is_over)
{
    kl_consumer *c;
    kl_event *e;

    fill(_i, 1, 10, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, KL_OFFSET_END, 0), KL_OK);
    kl_event_free(help_poll(c));
    ck_assert_int_eq(kl_consumer_poll(c, 0, &e), KL_OK);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_consumer_poll(c, HELP_WAIT_MS, &e), KL_ECLOSED);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

/* Freed with everything possible under way. */
START_TEST(free_at_any_moment)
{
    static const char *const batches[] = {"batch.size", "1k", NULL};
    static const char *const events[] = {"fetch.max.bytes", "1k", NULL};
    int i;

    fill(_i, 2, 1000, batches);
    for (i = 0; i < 40; i++) {
        kl_consumer *c = help_consumer(&h, events);
        int k;

        ck_assert_int_eq(kl_consumer_assign(c, "t", 0, i % 7 * 100, 0), KL_OK);
        ck_assert_int_eq(kl_consumer_assign(c, "t", 1, KL_OFFSET_END, 0),
                         KL_OK);
        for (k = 0; k < i % 4; k++)
            kl_event_free(help_poll(c));
        if (i % 3 == 0)
            ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 900), KL_OK);
        if (i % 5 == 0)
            ck_assert_int_eq(kl_consumer_unassign(c, "t", 1), KL_OK);
        kl_consumer_free(c);
    }
    help_close(&h);
}
END_TEST

START_TEST(fork_refuses_in_the_child)
{
    kl_event *lent = NULL;
    kl_consumer *c;
    pid_t pid;
    int status;

    fill(1, 1, 10, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    ck_assert_int_eq(kl_consumer_poll(c, HELP_WAIT_MS, &lent), KL_OK);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        kl_event *e;
        int ok = kl_consumer_poll(c, -1, &e) == KL_EFORK &&
                 kl_consumer_seek(c, "t", 0, 0) == KL_EFORK;

        /* Nothing is given back, and what was lent stays as it is. */
        kl_event_free(lent);
        ok = ok && kl_event_partition(lent) == 0;
        kl_consumer_free(c);
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    kl_event_free(lent);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 0), KL_OK);
    ck_assert_int_eq(next_offset(c), 0);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

/* ---- misuse ------------------------------------------------------------ */

static void callback_poll(kl_op *op, void *user)
{
    kl_event *e;

    (void)op;
    ck_assert_int_eq(kl_consumer_poll(user, HELP_WAIT_MS, &e), KL_EREENTRY);
    ck_assert_ptr_null(e);
}

START_TEST(poll_inside_a_callback)
{
    kl_consumer *c;
    kl_producer *p;
    kl_op *op;

    fill(0, 2, 1, NULL);
    c = help_consumer(&h, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_producer_send(p, "t", 1, NULL, 0, "v", 1, 0, 0, &op),
                     KL_OK);
    ck_assert_int_eq(kl_op_set_callback(op, callback_poll, c), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(misuse_of_arguments)
{
    kl_consumer *c = (kl_consumer *)&c;
    kl_client *client;
    kl_node *node;
    kl_event *e = (kl_event *)&e;
    int64_t n;
    char text[8];
    char name[300];

    fill(0, 1, 1, NULL);
    ck_assert_int_eq(kl_consumer_new(NULL, h.client, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_new(&c, NULL, NULL), KL_EINVAL);
    ck_assert_ptr_null(c);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(NULL, "t", 0, 0, 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_assign(c, NULL, 0, 0, 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", -1, 0, 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, -4, 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, KL_OFFSET_TIMESTAMP, 0),
                     KL_EINVAL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 1), KL_EINVAL);
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    ck_assert_int_eq(kl_consumer_assign(c, name, 0, 0, 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_assign(c, "", 0, 0, 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_errmsg(c, text, sizeof text), KL_OK);
    ck_assert_int_eq(kl_consumer_unassign(NULL, "t", 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_unassign(c, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_unassign(c, "t", -1), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_unassign(c, "t", 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_seek(NULL, "t", 0, 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_seek(c, "t", 0, -3), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_seek_timestamp(c, "t", 0, -1), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_seek_timestamp(c, "t", 0, 5), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_seek_timestamp(NULL, "t", 0, 5), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_pause(NULL, "t", 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_pause(c, "t", 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_resume(NULL, "t", 0), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_resume(c, "t", 0), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_position(c, "t", 0, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_position(NULL, "t", 0, &n), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_position(c, "t", 0, &n), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_lag(c, "t", 0, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_lag(NULL, "t", 0, &n), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_lag(c, "t", 0, &n), KL_ENOTOPIC);
    ck_assert_int_eq(kl_consumer_poll(NULL, 0, &e), KL_EINVAL);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(kl_consumer_poll(c, 0, NULL), KL_EINVAL);
    /* Nothing is assigned: nothing comes. */
    ck_assert_int_eq(kl_consumer_poll(c, 1, &e), KL_OK);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(kl_consumer_errmsg(NULL, text, sizeof text), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_errmsg(c, NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_consumer_errmsg(c, text, 0), KL_EINVAL);
    kl_consumer_free(c);
    ck_assert_int_eq(kl_node_new(&node, NULL), KL_OK);
    ck_assert_int_eq(kl_node_client(node, &client), KL_OK);
    ck_assert_int_eq(kl_consumer_new(&c, client, NULL), KL_ESTATE);
    kl_client_free(client);
    kl_node_free(node);
    help_close(&h);
}
END_TEST

Suite *suite_api_consumer(void);

Suite *suite_api_consumer(void)
{
    Suite *suite = suite_create("api_consumer");
    TCase *tc = tcase_create("consumer");

    /* Each twice: polled by the test, and with a thread of its own. */
    tcase_add_loop_test(tc, poll_reads_all_and_tells_the_end, 0, 2);
    tcase_add_loop_test(tc, poll_follows_the_end, 0, 2);
    tcase_add_loop_test(tc, poll_takes_turns, 0, 2);
    tcase_add_loop_test(tc, assign_places, 0, 2);
    tcase_add_loop_test(tc, seek_everywhere, 0, 2);
    tcase_add_loop_test(tc, seek_timestamp_finds, 0, 2);
    tcase_add_loop_test(tc, pause_and_resume, 0, 2);
    tcase_add_loop_test(tc, reset_none_is_an_error, 0, 2);
    tcase_add_loop_test(tc, reset_earliest_and_latest, 0, 2);
    tcase_add_loop_test(tc, topic_deleted_under_a_consumer, 0, 2);
    tcase_add_loop_test(tc, event_outlives_everything, 0, 2);
    tcase_add_loop_test(tc, node_first_then_consumer, 0, 2);
    tcase_add_loop_test(tc, stop_while_polling_is_over, 0, 2);
    tcase_add_loop_test(tc, free_at_any_moment, 0, 2);
    tcase_add_test(tc, fork_refuses_in_the_child);
    tcase_add_test(tc, poll_inside_a_callback);
    tcase_add_test(tc, misuse_of_arguments);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite;
}
