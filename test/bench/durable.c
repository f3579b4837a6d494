/*
 * Records that are on the medium when they are acknowledged.
 */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DURABLE_RECORD = 1024,
    DURABLE_WINDOW = 1000,
    DURABLE_RING = 16 * 1024 * 1024,
    DURABLE_RECORDS = 176 * 1024, /* 11 laps */
    DURABLE_LAPS = 10,
    DURABLE_REPEATS = 9,
    SINGLE_FILE = 4 * 1024 * 1024,
    SINGLE_RECORDS = 500,
    SINGLE_REPEATS = 25,
    PAGE = 4096,
    PARTITIONS = 100,
    PARTITIONS_ROUNDS = 100,
    PARTITIONS_RAW_ROUNDS = 10,
    PARTITIONS_REPEATS = 7
};

/* ---- many in flight ----------------------------------------------------- */

/* Seconds; group_out is how many bytes of records one sync covered. */
static double durable_once(struct bench_rig *rig, const struct bench_values *v,
                           size_t *group_out)
{
    uint64_t groups = bench_rig_stat(rig, "groups");
    uint64_t laps = bench_rig_stat(rig, "wal_laps");
    double seconds = bench_now();
    size_t group;

    bench_rig_send_window(rig, v, DURABLE_RECORDS, DURABLE_WINDOW);
    seconds = bench_now() - seconds;
    groups = bench_rig_stat(rig, "groups") - groups;
    laps = bench_rig_stat(rig, "wal_laps") - laps;
    if (!groups || laps < DURABLE_LAPS)
        bench_die("%llu groups, %llu laps", (unsigned long long)groups,
                  (unsigned long long)laps);
    group = (size_t)((uint64_t)DURABLE_RECORDS * DURABLE_RECORD / groups);
    *group_out = (group + PAGE - 1) / PAGE * PAGE;
    return seconds;
}

static void durable_run(const char *const *names)
{
    struct bench_setup setup = {.folder = "durable",
                                .owner = BENCH_NODE_THREAD,
                                .wal_bytes = "16m",
                                .flush = "commit",
                                .partitions = 1};
    struct bench_series twice = {0};
    struct bench_series once = {0};
    struct bench_values v;
    struct bench_rig rig;
    uint64_t total = (uint64_t)DURABLE_RECORDS * DURABLE_RECORD;
    int ring = bench_raw_ring("raw-ring", DURABLE_RING);
    size_t group;

    bench_values_make(&v, DURABLE_RECORD);
    bench_rig_open(&rig, &setup);
    /* The first lap of a ring allocates it. */
    (void)durable_once(&rig, &v, &group);
    for (int i = 0; i < DURABLE_REPEATS; i++) {
        double ours;

        bench_settle();
        ours = durable_once(&rig, &v, &group);
        bench_settle();
        bench_add(&twice, DURABLE_RECORDS / ours,
                  DURABLE_RECORDS / bench_raw_groups(ring, DURABLE_RING, &v,
                                                     total, group, 1));
        bench_settle();
        bench_add(&once, DURABLE_RECORDS / ours,
                  DURABLE_RECORDS / bench_raw_groups(ring, DURABLE_RING, &v,
                                                     total, group, 0));
    }
    bench_rig_close(&rig);
    close(ring);
    bench_values_free(&v);
    bench_print(names[0], &twice, "records/s", BENCH_MORE, 0.7);
    bench_print(names[1], &once, "records/s", BENCH_MORE, 0);
    bench_remove("durable");
    bench_remove("raw-ring");
}

const struct bench_family bench_family_durable = {
    (const char *const[]){"durable-1k", "durable-1k-once", NULL}, durable_run};

/* ---- one at a time ------------------------------------------------------ */

static double single_once(struct bench_rig *rig, const struct bench_values *v)
{
    double us[SINGLE_RECORDS];

    for (uint64_t i = 0; i < SINGLE_RECORDS; i++) {
        double begin = bench_now();

        bench_rig_send_window(rig, v, 1, 1);
        us[i] = (bench_now() - begin) * 1e6;
    }
    return bench_median(us, SINGLE_RECORDS);
}

static double single_raw(int fd, const struct bench_values *v)
{
    double us[SINGLE_RECORDS];
    char page[PAGE];

    for (size_t i = 0; i < SINGLE_RECORDS; i++) {
        off_t at = (off_t)(i * PAGE % SINGLE_FILE);
        double begin = bench_now();

        memcpy(page, v->data, PAGE);
        if (pwrite(fd, page, PAGE, at) != PAGE || fdatasync(fd))
            bench_die("write and sync: %m");
        us[i] = (bench_now() - begin) * 1e6;
    }
    return bench_median(us, SINGLE_RECORDS);
}

static void single_run(const char *const *names)
{
    struct bench_setup setup = {.folder = "poll",
                                .owner = BENCH_HOST_POLLS,
                                .wal_bytes = "4m",
                                .flush = "commit",
                                .partitions = 1};
    struct bench_series poll = {0};
    struct bench_series thread = {0};
    struct bench_values v;
    struct bench_rig rigs[2];
    int fd = bench_raw_ring("raw-single", SINGLE_FILE);

    bench_values_make(&v, DURABLE_RECORD);
    bench_rig_open(&rigs[0], &setup);
    setup.folder = "thread";
    setup.owner = BENCH_NODE_THREAD;
    bench_rig_open(&rigs[1], &setup);
    /* A lap each. */
    for (int i = 0; i < 2; i++)
        bench_rig_send_window(&rigs[i], &v, 8192, 512);
    bench_settle();
    for (int i = 0; i < SINGLE_REPEATS; i++) {
        double polled = single_once(&rigs[0], &v);
        double raw = single_raw(fd, &v);

        bench_add(&poll, polled, raw);
        bench_add(&thread, single_once(&rigs[1], &v), raw);
    }
    for (int i = 0; i < 2; i++)
        bench_rig_close(&rigs[i]);
    close(fd);
    bench_values_free(&v);
    bench_print(names[0], &poll, "us-p50", BENCH_LESS, 1.3);
    bench_print(names[1], &thread, "us-p50", BENCH_LESS, 1.6);
    bench_remove("poll");
    bench_remove("thread");
    bench_remove("raw-single");
}

const struct bench_family bench_family_single = {
    (const char *const[]){"durable-single-poll", "durable-single-thread", NULL},
    single_run};

/* ---- many partitions ---------------------------------------------------- */

/* Rounds per second: one record to each partition, then all are waited for. */
static double partitions_once(struct bench_rig *rig,
                              const struct bench_values *v)
{
    kl_op *ops[PARTITIONS];
    double begin = bench_now();

    for (uint64_t round = 0; round < PARTITIONS_ROUNDS; round++) {
        for (int32_t i = 0; i < PARTITIONS; i++)
            bench_check(kl_producer_send(rig->producer, "t", i, NULL, 0,
                                         bench_value(v, round), v->size,
                                         KL_TIMESTAMP_NOW, 0, &ops[i]),
                        "send");
        for (int32_t i = 0; i < PARTITIONS; i++) {
            bench_check(kl_op_wait(ops[i], -1), "wait");
            bench_check(kl_op_code(ops[i]), "record");
            kl_op_free(ops[i]);
        }
    }
    return PARTITIONS_ROUNDS / (bench_now() - begin);
}

/* One flush per file, as a log with a file per partition does it. */
static double partitions_raw(const int fds[PARTITIONS], uint64_t *at,
                             const struct bench_values *v)
{
    double begin = bench_now();

    for (uint64_t round = 0; round < PARTITIONS_RAW_ROUNDS; round++) {
        for (int i = 0; i < PARTITIONS; i++) {
            if (pwrite(fds[i], bench_value(v, round), v->size, (off_t)*at) !=
                    (ssize_t)v->size ||
                fdatasync(fds[i]))
                bench_die("write and sync: %m");
        }
        *at += v->size;
    }
    return PARTITIONS_RAW_ROUNDS / (bench_now() - begin);
}

static void partitions_run(const char *const *names)
{
    struct bench_setup setup = {.folder = "partitions",
                                .owner = BENCH_NODE_THREAD,
                                .wal_bytes = "16m",
                                .flush = "commit",
                                .partitions = PARTITIONS};
    struct bench_series series = {0};
    struct bench_values v;
    struct bench_rig rig;
    int fds[PARTITIONS];
    uint64_t at = 0;

    bench_values_make(&v, DURABLE_RECORD);
    bench_rig_open(&rig, &setup);
    for (int i = 0; i < PARTITIONS; i++) {
        char name[32];

        snprintf(name, sizeof name, "raw-partition-%d", i);
        fds[i] = bench_raw_ring(name, 0);
    }
    (void)partitions_once(&rig, &v);
    (void)partitions_raw(fds, &at, &v);
    bench_settle();
    for (int i = 0; i < PARTITIONS_REPEATS; i++) {
        double ours = partitions_once(&rig, &v);

        bench_add(&series, ours * PARTITIONS,
                  partitions_raw(fds, &at, &v) * PARTITIONS);
    }
    bench_rig_close(&rig);
    for (int i = 0; i < PARTITIONS; i++)
        close(fds[i]);
    bench_values_free(&v);
    bench_print(names[0], &series, "records/s", BENCH_MORE, 20);
    bench_remove("partitions");
}

const struct bench_family bench_family_partitions = {
    (const char *const[]){"durable-100-partitions", NULL}, partitions_run};
