/*
 * Records that are acknowledged when the operating system has them.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    /* Below what makes the kernel hold writers up. */
    INTERVAL_BYTES = 700 * 1000 * 1000,
    INTERVAL_REPEATS = 5,
    INTERVAL_BULK = 1024
};

static void interval_send(struct bench_rig *rig, const struct bench_values *v,
                          uint64_t count)
{
    for (uint64_t i = 0; i < count;) {
        int r =
            kl_producer_send(rig->producer, "t", 0, NULL, 0, bench_value(v, i),
                             v->size, KL_TIMESTAMP_NOW, 0, NULL);
        if (r == KL_EAGAIN) {
            bench_check(kl_producer_wait(rig->producer, -1), "wait");
            continue;
        }
        bench_check(r, "send");
        i++;
    }
}

static void interval_send_bulk(struct bench_rig *rig,
                               const struct bench_values *v, uint64_t count)
{
    const void *values[INTERVAL_BULK];
    uint64_t sizes[INTERVAL_BULK];

    for (size_t i = 0; i < INTERVAL_BULK; i++) {
        values[i] = bench_value(v, i);
        sizes[i] = v->size;
    }
    for (uint64_t i = 0; i < count;) {
        uint64_t left = count - i;
        size_t n = left < INTERVAL_BULK ? (size_t)left : INTERVAL_BULK;
        size_t accepted = 0;
        int r = kl_producer_send_bulk(rig->producer, "t", 0, NULL, NULL, values,
                                      sizes, NULL, n, 0, &accepted, NULL);
        i += accepted;
        if (r == KL_EAGAIN)
            r = kl_producer_wait(rig->producer, -1);
        bench_check(r, "send bulk");
    }
}

/* Every record is there. */
static void interval_verify(struct bench_rig *rig, uint64_t count)
{
    int64_t end = -1;
    kl_op *op;

    bench_check(
        kl_admin_list_offset(rig->client, "t", 0, KL_OFFSET_END, 0, 0, &op),
        "end");
    bench_check(kl_op_wait(op, -1), "end");
    bench_check(kl_op_offset(op, &end), "end");
    kl_op_free(op);
    if ((uint64_t)end != count)
        bench_die("%lld records instead of %llu", (long long)end,
                  (unsigned long long)count);
}

static struct bench_time interval_once(const struct bench_values *v,
                                       uint64_t count, int bulk)
{
    static const struct bench_setup setup = {.folder = "interval",
                                             .owner = BENCH_NODE_THREAD,
                                             .wal_bytes = "4m",
                                             .flush = "interval",
                                             .partitions = 1};
    struct bench_time time;
    struct bench_rig rig;
    double sender;

    bench_rig_open(&rig, &setup);
    bench_settle();
    time = bench_start();
    if (bulk)
        interval_send_bulk(&rig, v, count);
    else
        interval_send(&rig, v, count);
    sender = bench_since(&time).thread;
    bench_check(kl_producer_flush(rig.producer, -1), "flush");
    time = bench_since(&time);
    time.thread = sender;
    interval_verify(&rig, count);
    bench_rig_close(&rig);
    bench_remove("interval");
    bench_settle();
    return time;
}

static void interval_run(const char *const *names, size_t size)
{
    struct bench_series rows[4] = {{.count = 0}};
    struct bench_values v;
    uint64_t count = INTERVAL_BYTES / size;
    double n = (double)count;

    bench_values_make(&v, size);
    for (int i = 0; i < INTERVAL_REPEATS; i++) {
        struct bench_time one = interval_once(&v, count, 0);
        struct bench_time raw = bench_raw_blocks(&v, count);
        struct bench_time memory = bench_raw_blocks_memory(&v, count);
        struct bench_time bulk;

        bench_settle();
        bulk = interval_once(&v, count, 1);
        bench_add(&rows[0], n / one.wall, n / raw.wall);
        bench_add(&rows[1], n / bulk.wall, n / raw.wall);
        bench_add(&rows[2], one.thread / n * 1e9, memory.thread / n * 1e9);
        bench_add(&rows[3], one.all / n * 1e9, raw.all / n * 1e9);
    }
    bench_values_free(&v);
    bench_print(names[0], &rows[0], "records/s", BENCH_MORE, 0.35);
    bench_print(names[1], &rows[1], "records/s", BENCH_MORE, 0.35);
    bench_print(names[2], &rows[2], "ns/record", BENCH_LESS, 0);
    bench_print(names[3], &rows[3], "ns/record", BENCH_LESS, 0);
}

static void interval_run_100(const char *const *names)
{
    interval_run(names, 100);
}

static void interval_run_1k(const char *const *names)
{
    interval_run(names, 1024);
}

const struct bench_family bench_family_interval_100 = {
    (const char *const[]){"interval-100b", "interval-100b-bulk",
                          "interval-100b-sender-cpu", "interval-100b-all-cpu",
                          NULL},
    interval_run_100};

const struct bench_family bench_family_interval_1k = {
    (const char *const[]){"interval-1k", "interval-1k-bulk",
                          "interval-1k-sender-cpu", "interval-1k-all-cpu",
                          NULL},
    interval_run_1k};
