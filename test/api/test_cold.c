/*
 * What a partition costs that nobody has used since the node was opened: all of
 * the library's heap, from one number of partitions to another.
 */
#include "pubsub_help.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT = 512, /* bytes of a partition */
    FEW = 400,   /* just behind a doubling of tables, as is twice as many */
    TURNS = 20
};

static struct
{
    pthread_mutex_t mutex;
    size_t live;
} heap = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *heap_function(void *ptr, size_t old_size, size_t new_size,
                           void *user)
{
    (void)user;
    pthread_mutex_lock(&heap.mutex);
    heap.live += new_size - old_size;
    pthread_mutex_unlock(&heap.mutex);
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    ptr = realloc(ptr, new_size);
    ck_assert_ptr_nonnull(ptr);
    return ptr;
}

static void start(struct help_node *h, const kl_config *config,
                  kl_storage *storage)
{
    ck_assert_int_eq(kl_node_new(&h->node, config), 0);
    ck_assert_int_eq(kl_node_set_storage(h->node, storage), 0);
    ck_assert_int_eq(kl_node_open(h->node, "store", KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_node_client(h->node, &h->client), 0);
}

static void end(struct help_node *h, int is_clean)
{
    kl_client_free(h->client);
    if (is_clean)
        ck_assert_int_eq(kl_node_stop(h->node, HELP_WAIT_MS), 0);
    kl_node_free(h->node);
}

/* The heap of a node over so many partitions, each with a record. */
static size_t heap_of(int32_t partitions, const char *flush, int is_clean)
{
    const char *const topic[] = {"flush", flush, NULL};
    kl_storage *storage;
    kl_config *config;
    kl_producer *p;
    struct help_node h;
    size_t live;

    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, 256 << 20), 0);
    ck_assert_int_eq(kl_config_new(&config, heap_function, NULL), 0);
    ck_assert_int_eq(kl_config_set(config, "wal.bytes", "8m"), 0);
    start(&h, config, storage);
    help_topic(&h, "t", partitions, topic);
    p = help_producer(&h, NULL);
    for (int32_t i = 0; i < partitions; i++)
        while (kl_producer_send(p, "t", i, NULL, 0, "value", 5, 1, 0, NULL))
            ck_assert_int_eq(kl_producer_wait(p, HELP_WAIT_MS), 0);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), 0);
    kl_producer_free(p);
    end(&h, is_clean);
    if (!is_clean) { /* recovered, and stopped without having been used */
        start(&h, config, storage);
        end(&h, 1);
    }
    start(&h, config, storage);
    for (int i = 0; i < TURNS; i++)
        ck_assert_int_eq(kl_node_poll(h.node, 0), 0);
    live = heap.live;
    end(&h, 1);
    kl_config_free(config);
    kl_storage_free(storage);
    ck_assert_uint_eq(heap.live, 0);
    return live;
}

static void check_cost(const char *flush, int is_clean)
{
    size_t few = heap_of(FEW, flush, is_clean);
    size_t cost = (heap_of(2 * FEW, flush, is_clean) - few) / FEW;

    ck_assert_msg(cost < LIMIT, "%s: %zu bytes", flush, cost);
}

START_TEST(cold_partition)
{
    check_cost(_i / 2 ? "interval" : "commit", _i % 2);
}
END_TEST

Suite *suite_api_cold(void);

Suite *suite_api_cold(void)
{
    Suite *s = suite_create("api_cold");
    TCase *t = tcase_create("cold");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, cold_partition, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
