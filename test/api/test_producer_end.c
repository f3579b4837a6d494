/*
 * The producer used by threads, inside callbacks, and freed with everything
 * possible still under way.
 */
#include "pubsub_help.h"

#include <check.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct help_node h;

/* ---- threads ----------------------------------------------------------- */

enum { THREADS = 4, PER_THREAD = 5000 };

struct sender
{
    pthread_t thread;
    kl_producer *producer;
    int number;
};

static void *sender_main(void *arg)
{
    struct sender *s = arg;
    int i;

    for (i = 0; i < PER_THREAD; i++) {
        int32_t value[2] = {s->number, i};
        int rc;

        while ((rc = kl_producer_send(s->producer, "t", 0, NULL, 0, value,
                                      sizeof value, KL_TIMESTAMP_NOW, 0,
                                      NULL)) == KL_EAGAIN)
            if (kl_producer_wait(s->producer, HELP_WAIT_MS) != KL_OK)
                return s;
        if (rc != KL_OK)
            return s;
    }
    return NULL;
}

/* Records of each thread keep their order, whoever builds the batches. */
START_TEST(send_from_threads)
{
    static const char *const small[] = {"batch.size", "2k", "buffer.memory",
                                        "128k", NULL};
    struct sender senders[THREADS];
    int next[THREADS] = {0};
    kl_producer *p;
    kl_consumer *c;
    int count = 0;
    int i;

    help_open(&h, 1);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, small);
    for (i = 0; i < THREADS; i++) {
        senders[i].producer = p;
        senders[i].number = i;
        ck_assert_int_eq(
            pthread_create(&senders[i].thread, NULL, sender_main, &senders[i]),
            0);
    }
    for (i = 0; i < THREADS; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(senders[i].thread, &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    while (count < THREADS * PER_THREAD) {
        kl_event *e = help_poll_records(c);
        const kl_record *r;

        while (kl_event_next(e, &r) == KL_OK) {
            int32_t value[2];

            memcpy(value, kl_record_value(r, NULL), sizeof value);
            ck_assert_int_eq(value[1], next[value[0]]);
            next[value[0]]++;
            count++;
        }
        kl_event_free(e);
    }
    kl_consumer_free(c);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

static void callback_flush(kl_op *op, void *user)
{
    kl_producer *p = user;

    (void)op;
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "x", 1, 0, 0, NULL),
                     KL_OK);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_EREENTRY);
}

START_TEST(flush_inside_a_callback)
{
    kl_producer *p;
    kl_op *op;

    help_open(&h, 0);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "v", 1, 0, 0, &op),
                     KL_OK);
    ck_assert_int_eq(kl_op_set_callback(op, callback_flush, p), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(help_send(p, "t", 0, "y"), 2);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

/* ---- the end ----------------------------------------------------------- */

START_TEST(free_drops_what_was_not_sent)
{
    static const char *const linger[] = {"linger.ms", "900000", NULL};
    kl_producer *p;
    kl_op *op[2];
    int code;

    help_open(&h, _i);
    help_topic(&h, "t", 2, NULL);
    p = help_producer(&h, linger);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "a", 1, 0, 0, &op[0]),
                     KL_OK);
    kl_producer_free(p);
    ck_assert_int_eq(help_finish(op[0]), KL_ECLOSED);
    /* Handed over at once: it is written all the same, or dropped where the
     * owner has not seen it. */
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_producer_send(p, "t", 1, NULL, 0, "a", 1, 0, 0, &op[0]),
                     KL_OK);
    ck_assert_int_eq(kl_producer_send(p, "t", 1, NULL, 0, "b", 1, 0, 0, &op[1]),
                     KL_OK);
    kl_producer_free(p);
    code = help_finish(op[0]);
    ck_assert(code == KL_OK || code == KL_ECLOSED);
    code = help_finish(op[1]);
    ck_assert(code == KL_OK || code == KL_ECLOSED);
    kl_producer_free(NULL);
    help_close(&h);
}
END_TEST

START_TEST(node_first_then_producer)
{
    static const char *const linger[] = {"linger.ms", "900000", NULL};
    kl_producer *p;
    kl_producer *q;
    kl_producer *late;
    kl_op *op[3];
    int i;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, linger);
    q = help_producer(&h, NULL);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "a", 1, 0, 0, &op[0]),
                     KL_OK);
    ck_assert_int_eq(kl_producer_send(q, "t", 0, NULL, 0, "b", 1, 0, 0, &op[1]),
                     KL_OK);
    ck_assert_int_eq(kl_producer_send(q, "t", 0, NULL, 0, "c", 1, 0, 0, &op[2]),
                     KL_OK);
    kl_node_free(h.node); /* a crash stop */
    h.node = NULL;
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "d", 1, 0, 0, NULL),
                     KL_ECLOSED);
    ck_assert_int_eq(kl_producer_flush(p, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_producer_wait(p, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_producer_new(&late, h.client, NULL), KL_ECLOSED);
    ck_assert_ptr_null(late);
    kl_client_free(h.client);
    h.client = NULL;
    kl_producer_free(q);
    kl_producer_free(p);
    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(kl_op_done(op[i]), 1);
        ck_assert_int_ne(kl_op_code(op[i]), KL_EAGAIN);
        if (i == 0)
            ck_assert_int_eq(kl_op_code(op[i]), KL_ECLOSED);
        kl_op_free(op[i]);
    }
    help_close(&h);
}
END_TEST

START_TEST(stop_then_free)
{
    kl_producer *p;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(help_send(p, "t", 0, "a"), 0);
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "b", 1, 0, 0, NULL),
                     KL_ECLOSED);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

START_TEST(fork_refuses_in_the_child)
{
    kl_producer *p;
    kl_consumer *c;
    char text[64];
    kl_op *op;
    pid_t pid;
    int status;

    help_open(&h, 1);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(help_send(p, "t", 0, "a"), 0);
    ck_assert_int_eq(kl_admin_list_topics(h.client, 0, &op), KL_OK);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int ok = kl_producer_send(p, "t", 0, NULL, 0, "b", 1, 0, 0, NULL) ==
                     KL_EFORK &&
                 kl_producer_flush(p, -1) == KL_EFORK &&
                 kl_producer_wait(p, -1) == KL_EFORK &&
                 kl_producer_errmsg(p, text, sizeof text) == KL_EFORK &&
                 kl_consumer_errmsg(c, text, sizeof text) == KL_EFORK &&
                 kl_node_errmsg(h.node, text, sizeof text) == KL_EFORK &&
                 kl_producer_buffered(p) == 0;

        kl_op_free(op);
        ok = ok && kl_op_done(op); /* still there */
        kl_client_free(h.client);
        kl_consumer_free(c);
        kl_producer_free(p);
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(help_send(p, "t", 0, "c"), 1);
    kl_op_free(op);
    kl_consumer_free(c);
    kl_producer_free(p);
    help_close(&h);
}
END_TEST

Suite *suite_api_producer_end(void);

Suite *suite_api_producer_end(void)
{
    Suite *suite = suite_create("api_producer_end");
    TCase *tc = tcase_create("producer_end");

    tcase_add_test(tc, send_from_threads);
    tcase_add_test(tc, flush_inside_a_callback);
    tcase_add_loop_test(tc, free_drops_what_was_not_sent, 0, 2);
    tcase_add_loop_test(tc, node_first_then_producer, 0, 2);
    tcase_add_loop_test(tc, stop_then_free, 0, 2);
    tcase_add_test(tc, fork_refuses_in_the_child);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite;
}
