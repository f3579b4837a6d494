/*
 * Producer and consumer when the allocator refuses: each call of the program's
 * thread fails once, with KL_ENOMEM and without a trace, and works afterwards.
 * The node's own thread always gets its memory here.
 */
#include "pubsub_help.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t victim;
static size_t live_bytes;
static int calls;
static int fail_at; /* 0 = never */
static int failed;

static void *fail_alloc(void *ptr, size_t old_size, size_t new_size, void *user)
{
    void *fresh = NULL;
    int refuse;

    (void)user;
    pthread_mutex_lock(&mutex);
    refuse = new_size > 0 && fail_at && pthread_equal(pthread_self(), victim) &&
             ++calls == fail_at;
    if (refuse)
        failed = 1;
    else
        live_bytes -= ptr ? old_size : 0;
    pthread_mutex_unlock(&mutex);
    if (refuse)
        return NULL;
    if (new_size == 0)
        free(ptr);
    else
        fresh = realloc(ptr, new_size);
    ck_assert(new_size == 0 || fresh);
    pthread_mutex_lock(&mutex);
    live_bytes += new_size;
    pthread_mutex_unlock(&mutex);
    return fresh;
}

static void arm(int at)
{
    pthread_mutex_lock(&mutex);
    victim = pthread_self();
    calls = 0;
    fail_at = at;
    failed = 0;
    pthread_mutex_unlock(&mutex);
}

/* What the program's thread allocates in. */
struct scenario
{
    kl_node *node;
    kl_client *client;
    kl_producer *producer;
    kl_consumer *consumer;
    kl_record *record;
    int64_t sent; /* records accepted so far */
};

/* Does a call until it is not refused any more: at most twice. */
#define RETRY(call)                                                            \
    do {                                                                       \
        int rc_ = (call);                                                      \
                                                                               \
        if (rc_ == KL_ENOMEM) {                                                \
            ck_assert(failed);                                                 \
            rc_ = (call);                                                      \
        }                                                                      \
        ck_assert_int_eq(rc_, KL_OK);                                          \
    } while (0)

static void scenario_produce(struct scenario *s)
{
    static char large[20000];
    const void *values[50];
    uint64_t sizes[50];
    kl_op *op;
    int i;

    RETRY(kl_producer_new(&s->producer, s->client, NULL));
    for (i = 0; i < 3; i++) {
        RETRY(kl_producer_send(s->producer, "t", 0, "k", 1, large,
                               (size_t)i * 9000, 1, 0, &op));
        ck_assert_int_eq(help_finish(op), KL_OK);
        s->sent++;
    }
    RETRY(kl_producer_send_record(s->producer, "t", 0, s->record, 0, &op));
    ck_assert_int_eq(help_finish(op), KL_OK);
    s->sent++;
    for (i = 0; i < 50; i++) {
        values[i] = large;
        sizes[i] = 100;
    }
    for (i = 0; i < 50;) {
        size_t accepted;
        int rc = kl_producer_send_bulk(s->producer, "t", 0, NULL, NULL, values,
                                       sizes, NULL, (size_t)(50 - i), 0,
                                       &accepted, &op);

        ck_assert(rc == KL_OK || (rc == KL_ENOMEM && failed));
        ck_assert_int_eq(op != NULL, accepted > 0);
        if (op)
            ck_assert_int_eq(help_finish(op), KL_OK);
        i += (int)accepted;
        s->sent += (int64_t)accepted;
    }
}

static void scenario_consume(struct scenario *s)
{
    int64_t next = 0;

    RETRY(kl_consumer_new(&s->consumer, s->client, NULL));
    RETRY(kl_consumer_assign(s->consumer, "t", 0, 0, 0));
    while (next < s->sent) {
        const int64_t *offsets;
        const kl_record *r;
        size_t count;
        kl_event *e;

        RETRY(kl_consumer_poll(s->consumer, HELP_WAIT_MS, &e));
        ck_assert_ptr_nonnull(e);
        RETRY(kl_event_columns(e, &count, &offsets, NULL, NULL, NULL, NULL,
                               NULL));
        for (;;) {
            int rc = kl_event_next(e, &r);

            if (rc == KL_ENOMEM) {
                ck_assert(failed);
                rc = kl_event_next(e, &r);
            }
            if (rc == KL_EEND)
                break;
            ck_assert_int_eq(rc, KL_OK);
            ck_assert_int_eq(kl_record_offset(r), next++);
        }
        kl_event_free(e);
    }
}

/* 1 where no allocation failed. */
static int scenario_run(const char *dir, int at)
{
    struct scenario s = {0};
    kl_config *config;
    kl_config *topic;
    kl_op *op;

    ck_assert_int_eq(kl_config_new(&config, fail_alloc, NULL), KL_OK);
    ck_assert_int_eq(kl_config_set(config, "wal.bytes", "512k"), KL_OK);
    ck_assert_int_eq(kl_node_new(&s.node, config), KL_OK);
    ck_assert_int_eq(kl_node_open(s.node, dir, KL_OPEN_CREATE), KL_OK);
    ck_assert_int_eq(kl_node_start(s.node), KL_OK);
    ck_assert_int_eq(kl_node_client(s.node, &s.client), KL_OK);
    ck_assert_int_eq(kl_config_new(&topic, NULL, NULL), KL_OK);
    ck_assert_int_eq(kl_admin_create_topic(s.client, "t", 1, 1, topic, 0, &op),
                     KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    ck_assert_int_eq(kl_record_new(&s.record, config), KL_OK);
    ck_assert_int_eq(kl_record_add_header(s.record, "n", "v", 1), KL_OK);

    arm(at);
    scenario_produce(&s);
    scenario_consume(&s);
    arm(failed ? -1 : 0);

    kl_record_free(s.record);
    kl_consumer_free(s.consumer);
    kl_producer_free(s.producer);
    ck_assert_int_eq(kl_admin_delete_topic(s.client, "t", 0, &op), KL_OK);
    ck_assert_int_eq(help_finish(op), KL_OK);
    ck_assert_int_eq(kl_node_stop(s.node, HELP_WAIT_MS), KL_OK);
    kl_node_free(s.node);
    kl_client_free(s.client);
    kl_config_free(topic);
    kl_config_free(config);
    return fail_at == 0;
}

START_TEST(every_allocation_fails_once)
{
    char dir[TEST_TMPDIR_SIZE];
    int at;

    test_tmpdir_make(dir);
    for (at = 1; at < 200; at++)
        if (scenario_run(dir, at))
            break;
    ck_assert_int_gt(at, 10);
    ck_assert_int_lt(at, 200);
    arm(0);
    ck_assert_uint_eq(live_bytes, 0);
    test_tmpdir_remove(dir);
}
END_TEST

Suite *suite_api_pubsub_memory(void);

Suite *suite_api_pubsub_memory(void)
{
    Suite *suite = suite_create("api_pubsub_memory");
    TCase *tc = tcase_create("memory");

    tcase_add_test(tc, every_allocation_fails_once);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite;
}
