/*
 * Opening after kill -9: a thousand partitions, all of them in a write-ahead
 * log that is full, until every one of them has been read from. What is stored
 * besides must not count.
 */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPEN_PARTITIONS = 1000,
    OPEN_VALUE = 4000,
    OPEN_RING_MIB = 64,
    OPEN_SMALL_MIB = 64,
    OPEN_LARGE_MIB = 4096,
    OPEN_REPEATS = 3,
    OPEN_LIMIT_MS = 1000
};

static const char open_ring[] = "64m";

/* ---- the process that is killed ----------------------------------------- */

/* One value to every partition. */
static void open_send_round(struct bench_rig *rig, const struct bench_values *v,
                            uint64_t round)
{
    for (int32_t i = 0; i < OPEN_PARTITIONS; i++) {
        const void *value = bench_value(v, round + (uint64_t)i);
        int r;

        while ((r = kl_producer_send(rig->producer, "t", i, NULL, 0, value,
                                     v->size, KL_TIMESTAMP_NOW, 0, NULL)) ==
               KL_EAGAIN)
            bench_check(kl_producer_wait(rig->producer, -1), "wait");
        bench_check(r, "send");
    }
}

/* Stores that much more, goes on until the ring is full, and dies. */
static void open_victim(const struct bench_setup *setup, uint64_t mib)
{
    const uint64_t ring = (uint64_t)OPEN_RING_MIB << 20;
    struct bench_values v;
    struct bench_rig rig;
    uint64_t round = 0;

    bench_values_make(&v, OPEN_VALUE);
    bench_rig_open(&rig, setup);
    do {
        open_send_round(&rig, &v, round++);
    } while (bench_rig_stat(&rig, "append_bytes") < mib << 20 ||
             bench_rig_stat(&rig, "ring_used") < ring / 8 * 7);
    (void)raise(SIGKILL);
}

static void open_fill(const struct bench_setup *setup, uint64_t mib)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        open_victim(setup, mib);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
        WTERMSIG(status) != SIGKILL)
        bench_die("the writing process did not end as it should");
}

/* ---- the one that opens -------------------------------------------------- */

/* Until every partition has given records. */
static void open_read_all(kl_client *client)
{
    static unsigned char seen[OPEN_PARTITIONS];
    kl_consumer *consumer;
    kl_config *config;
    int left = OPEN_PARTITIONS;

    memset(seen, 0, sizeof seen);
    bench_check(kl_config_new(&config, NULL, NULL), "configuration");
    bench_check(kl_config_set(config, "fetch.max.bytes", "1024"), "fetch");
    bench_check(kl_config_set(config, "fetch.prefetch", "1"), "fetch");
    bench_check(kl_consumer_new(&consumer, client, config), "consumer");
    for (int32_t i = 0; i < OPEN_PARTITIONS; i++)
        bench_check(kl_consumer_assign(consumer, "t", i, KL_OFFSET_BEGIN, 0),
                    "assign");
    while (left > 0) {
        const kl_record *record;
        kl_event *event;

        bench_check(kl_consumer_poll(consumer, -1, &event), "poll");
        if (kl_event_next(event, &record) == KL_OK &&
            !seen[kl_event_partition(event)]) {
            seen[kl_event_partition(event)] = 1;
            left--;
        }
        kl_event_free(event);
    }
    kl_consumer_free(consumer);
    kl_config_free(config);
}

/* Milliseconds. */
static double open_once(const struct bench_setup *setup)
{
    char path[BENCH_PATH];
    kl_client *client;
    kl_node *node;
    double start;
    double opened;

    bench_path(path, setup->folder);
    bench_settle();
    start = bench_now();
    bench_check(kl_node_new(&node, NULL), "node");
    bench_check(kl_node_open(node, path, 0), "open");
    opened = bench_now();
    bench_check(kl_node_client(node, &client), "client");
    open_read_all(client);
    if (getenv("BENCH_VERBOSE"))
        fprintf(stderr, "  %s: open %.0f ms, reads %.0f ms\n", setup->folder,
                (opened - start) * 1000, (bench_now() - opened) * 1000);
    start = bench_now() - start;
    kl_client_free(client);
    bench_check(kl_node_stop(node, -1), "stop");
    kl_node_free(node);
    return start * 1000;
}

static void open_run(const char *const *names)
{
    struct bench_setup small = {.folder = "small",
                                .owner = BENCH_NODE_THREAD,
                                .wal_bytes = open_ring,
                                .flush = "commit",
                                .partitions = OPEN_PARTITIONS};
    struct bench_setup large = small;
    struct bench_series in_time = {0};
    struct bench_series same = {0};

    large.folder = "large";
    for (int i = 0; i < OPEN_REPEATS; i++) {
        double ms;

        open_fill(&small, OPEN_SMALL_MIB);
        open_fill(&large, i ? 0 : OPEN_LARGE_MIB);
        ms = open_once(&small);
        bench_add(&in_time, ms, OPEN_LIMIT_MS);
        bench_add(&same, open_once(&large), ms);
        bench_remove("small"); /* the next one is made anew */
        large.flush = NULL;    /* this one goes on */
    }
    bench_remove("large");
    bench_print(names[0], &in_time, "ms", BENCH_LESS, 1);
    bench_print(names[1], &same, "ms", BENCH_LESS, 1.2);
}

const struct bench_family bench_family_open = {
    (const char *const[]){"open-killed-64m", "open-killed-4g", NULL}, open_run};
