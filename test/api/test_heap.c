/*
 * A broker with eight partitions in one mebibyte: node, client, producer and
 * consumer take their memory from an allocator that refuses everything above
 * it, and is never asked for that much.
 */
#include "pubsub_help.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAP_LIMIT = 1 << 20,
    PARTITIONS = 8,
    ROUNDS = 600,
    VALUE = 700,
    KEPT = 64 * 1024 /* retention.bytes */
};

static struct
{
    pthread_mutex_t mutex;
    size_t live;
    size_t peak;
    uint64_t refused;
} heap = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static kl_storage *storage; /* its memory stands for the disk */
static kl_config *config;
static struct help_node h;
static kl_producer *producer;
static kl_consumer *consumer;
static int sent;                 /* to each partition */
static int64_t next[PARTITIONS]; /* what the consumer has not seen yet */

static void *heap_function(void *ptr, size_t old_size, size_t new_size,
                           void *user)
{
    int fits;

    (void)user;
    pthread_mutex_lock(&heap.mutex);
    fits =
        new_size <= old_size || heap.live + new_size - old_size <= HEAP_LIMIT;
    if (fits)
        heap.live += new_size - old_size;
    else
        heap.refused++;
    if (heap.live > heap.peak)
        heap.peak = heap.live;
    pthread_mutex_unlock(&heap.mutex);
    if (!fits)
        return NULL;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    ptr = realloc(ptr, new_size);
    ck_assert_ptr_nonnull(ptr);
    return ptr;
}

/* ---- the broker -------------------------------------------------------- */

static void configure(void)
{
    static const char *const pairs[] = {"wal.bytes",
                                        "256k",
                                        "store.pending.bytes",
                                        "64k",
                                        "store.cache.bytes",
                                        "64k",
                                        "buffer.memory",
                                        "64k",
                                        "batch.size",
                                        "4k",
                                        "fetch.max.bytes",
                                        "16k",
                                        "fetch.prefetch",
                                        "1",
                                        "log.retention.check.interval.ms",
                                        "100",
                                        NULL};

    ck_assert_int_eq(kl_config_new(&config, heap_function, NULL), 0);
    for (const char *const *p = pairs; *p; p += 2)
        ck_assert_int_eq(kl_config_set(config, p[0], p[1]), 0);
}

static void start(void)
{
    ck_assert_int_eq(kl_node_new(&h.node, config), 0);
    ck_assert_int_eq(kl_node_set_storage(h.node, storage), 0);
    ck_assert_int_eq(kl_node_open(h.node, "store", KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_node_start(h.node), 0);
    ck_assert_int_eq(kl_node_client(h.node, &h.client), 0);
    ck_assert_int_eq(kl_producer_new(&producer, h.client, config), 0);
    ck_assert_int_eq(kl_consumer_new(&consumer, h.client, config), 0);
}

static void end(int is_clean)
{
    kl_consumer_free(consumer);
    kl_producer_free(producer);
    if (is_clean)
        ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
    kl_node_free(h.node);
    kl_client_free(h.client);
}

static void setup(void)
{
    heap.live = heap.peak = 0;
    heap.refused = 0;
    sent = 0;
    memset(next, 0, sizeof next);
    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, 64 << 20), 0);
    configure();
    start();
}

static void teardown(void)
{
    kl_config_free(config);
    kl_storage_free(storage);
    ck_assert_uint_eq(heap.live, 0);
}

static void create_topic(void)
{
    static const char *const pairs[] = {"segment.bytes", "16k",
                                        "retention.bytes", "64k", NULL};

    help_topic(&h, "t", PARTITIONS, pairs);
}

/* ---- work -------------------------------------------------------------- */

/* The same record to every partition. */
static void send_round(void)
{
    char value[VALUE];

    memset(value, 'a' + sent % 26, sizeof value);
    for (int32_t i = 0; i < PARTITIONS; i++) {
        int code;

        while ((code = kl_producer_send(producer, "t", i, NULL, 0, value, VALUE,
                                        KL_TIMESTAMP_NOW, 0, NULL)) ==
               KL_EAGAIN)
            ck_assert_int_eq(kl_producer_wait(producer, HELP_WAIT_MS), 0);
        ck_assert_int_eq(code, 0);
    }
    sent++;
}

static void take(kl_event *e)
{
    int32_t partition = kl_event_partition(e);
    const kl_record *r;

    while (kl_event_next(e, &r) == KL_OK) {
        size_t size;
        const char *value = kl_record_value(r, &size);
        int64_t offset = kl_record_offset(r);

        /* Retention may have been faster. */
        ck_assert_int_ge(offset, next[partition]);
        ck_assert_uint_eq(size, VALUE);
        ck_assert_int_eq(value[VALUE - 1], 'a' + (int)(offset % 26));
        next[partition] = offset + 1;
    }
}

/* Until the consumer has seen all that was sent. */
static void consume(void)
{
    int left = 1;

    while (left) {
        kl_event *e;

        left = 0;
        for (int i = 0; i < PARTITIONS; i++)
            left |= next[i] < sent;
        if (!left)
            break;
        ck_assert_int_eq(kl_consumer_poll(consumer, HELP_WAIT_MS, &e), 0);
        take(e);
        kl_event_free(e);
    }
}

static void assign(void)
{
    for (int32_t i = 0; i < PARTITIONS; i++) {
        next[i] = 0;
        ck_assert_int_eq(
            kl_consumer_assign(consumer, "t", i, KL_OFFSET_BEGIN, 0), 0);
    }
}

/* The first offset that a partition still has. */
static int64_t log_start(int32_t partition)
{
    int64_t offset;
    kl_op *op;

    ck_assert_int_eq(kl_admin_list_offset(h.client, "t", partition,
                                          KL_OFFSET_BEGIN, 0, 0, &op),
                     0);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), 0);
    ck_assert_int_eq(kl_op_log_start(op, &offset), 0);
    kl_op_free(op);
    return offset;
}

/* Retention keeps what it must, and a segment more at most. */
static void wait_for_retention(void)
{
    for (int32_t i = 0; i < PARTITIONS; i++) {
        while (log_start(i) < sent - 2 * KEPT / VALUE)
            continue;
        ck_assert_int_le(log_start(i), sent - KEPT / (VALUE + 200));
    }
}

START_TEST(eight_partitions_in_a_mebibyte)
{
    create_topic();
    assign();
    while (sent < ROUNDS) {
        send_round();
        if (sent % 50 == 0)
            consume();
    }
    consume();
    wait_for_retention();
    end(1);

    start(); /* cold */
    assign();
    consume();
    for (int i = 0; i < 100; i++)
        send_round();
    ck_assert_int_eq(kl_producer_flush(producer, HELP_WAIT_MS), 0);
    end(0);

    start(); /* recovered */
    assign();
    consume();
    end(1);
    ck_assert_uint_eq(heap.refused, 0);
    ck_assert_uint_le(heap.peak, HEAP_LIMIT);
}
END_TEST

Suite *suite_api_heap(void);

Suite *suite_api_heap(void)
{
    Suite *s = suite_create("api_heap");
    TCase *t = tcase_create("heap");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, eight_partitions_in_a_mebibyte);
    suite_add_tcase(s, t);
    return s;
}
