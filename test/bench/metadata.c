/*
 * The image of a cluster with 1,000 topics of 10 partitions on three brokers
 * each: what it takes of the heap, and how long a snapshot takes to load.
 */
#include "bench.h"

#include "controller/controller.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    METADATA_BROKERS = 5,
    METADATA_TOPICS = 1000,
    METADATA_PARTITIONS = 10,
    METADATA_REPEATS = 5,
    METADATA_LIMIT_KIB = 8192,
    METADATA_LIMIT_MS = 200
};

/* Blocks as the heap has them, with what it adds to each. */
static size_t metadata_block(void *ptr)
{
    return ptr ? malloc_usable_size(ptr) + sizeof(size_t) : 0;
}

static void *metadata_alloc(void *ptr, size_t old_size, size_t new_size,
                            void *user)
{
    size_t *live = user;

    (void)old_size;
    *live -= metadata_block(ptr);
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    ptr = realloc(ptr, new_size);
    *live += metadata_block(ptr);
    return ptr;
}

static int metadata_check(const char *key, const char *value, void *user,
                          struct kl_base_error *e)
{
    (void)key;
    (void)value;
    (void)user;
    (void)e;
    return 0;
}

static struct kl_controller *metadata_new(const struct kl_base_alloc *a)
{
    struct kl_controller_options options = {.broker_id = -1,
                                            .check = metadata_check};
    struct kl_controller *c;

    bench_check(kl_controller_new(&c, a, &options), "controller");
    return c;
}

static void metadata_apply(struct kl_controller *c,
                           const struct kl_controller_records *records)
{
    const uint8_t *data;
    size_t pos = 0, size;

    while (kl_controller_records_next(records, &pos, &data, &size)) {
        bench_check(kl_controller_apply(c, data, size, NULL), "apply");
        kl_controller_delta_clear(c);
    }
}

static void metadata_broker(struct kl_controller *c, int32_t id,
                            struct kl_controller_records *records)
{
    struct kl_controller_registration r = {
        .broker_id = id, .previous_epoch = -1, .feature_max = 1};
    struct kl_controller_heartbeat beat = {.broker_id = id,
                                           .metadata_offset = INT64_MAX};
    struct kl_controller_heartbeat_reply reply;
    int more;

    r.incarnation_id.bytes[0] = r.directory_id.bytes[0] = (uint8_t)id;
    bench_check(kl_controller_register_broker(c, &r, id, 0, records,
                                              &beat.broker_epoch, &more, NULL),
                "registration");
    metadata_apply(c, records);
    bench_check(
        kl_controller_heartbeat(c, &beat, 0, 0, records, &reply, &more, NULL),
        "heartbeat");
    metadata_apply(c, records);
}

/* The snapshot of the cluster. */
static void metadata_make(struct kl_controller_records *snapshot)
{
    struct kl_controller *c = metadata_new(&kl_base_alloc_libc);
    struct kl_controller_create command = {
        .partition_count = METADATA_PARTITIONS, .replication_factor = 3};
    struct kl_controller_records records;
    char name[32];

    kl_controller_records_init(&records, &kl_base_alloc_libc);
    bench_check(kl_controller_bootstrap(c, &records, NULL), "bootstrap");
    metadata_apply(c, &records);
    kl_controller_activate(c, 0);
    for (int32_t id = 1; id <= METADATA_BROKERS; id++)
        metadata_broker(c, id, &records);
    command.name = name;
    for (int i = 0; i < METADATA_TOPICS; i++) {
        snprintf(name, sizeof name, "topic-%04d", i);
        bench_check(
            kl_controller_create_topic(c, &command, &records, NULL, NULL),
            "topic");
        metadata_apply(c, &records);
    }
    bench_check(kl_controller_encode(c, snapshot), "snapshot");
    kl_controller_records_deinit(&records);
    kl_controller_free(c);
}

static void metadata_run(const char *const *names)
{
    struct kl_controller_records snapshot;
    struct bench_series heap = {0}, load = {0};

    kl_controller_records_init(&snapshot, &kl_base_alloc_libc);
    metadata_make(&snapshot);
    for (int i = 0; i < METADATA_REPEATS; i++) {
        size_t live = 0;
        struct kl_base_alloc alloc = {metadata_alloc, &live};
        struct kl_controller *c = metadata_new(&alloc);
        double start = bench_now();

        metadata_apply(c, &snapshot);
        bench_add(&load, (bench_now() - start) * 1000, METADATA_LIMIT_MS);
        bench_add(&heap, (double)live / 1024, METADATA_LIMIT_KIB);
        kl_controller_free(c);
    }
    kl_controller_records_deinit(&snapshot);
    bench_print(names[0], &heap, "KiB", BENCH_LESS, 1);
    bench_print(names[1], &load, "ms", BENCH_LESS, 1);
}

const struct bench_family bench_family_metadata = {
    (const char *const[]){"metadata-heap", "metadata-load", NULL},
    metadata_run};
