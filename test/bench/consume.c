/*
 * Reading what is stored and in the page cache.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CONSUME_RECORD = 100,
    CONSUME_RECORDS = 6 * 1000 * 1000,
    CONSUME_REPEATS = 7,
    CONSUME_BULK = 1000
};

/* Takes all records of an event and says how many there were. */
typedef uint64_t consume_fn(kl_event *event);

static volatile uint64_t consume_sink;

static uint64_t consume_batches(kl_event *event)
{
    uint64_t sum = 0;

    for (size_t i = 0;; i++) {
        const void *data;
        size_t size;
        int r = kl_event_bytes(event, i, &data, &size);

        if (r == KL_EEND)
            break;
        bench_check(r, "bytes");
        sum += *(const unsigned char *)data + size;
    }
    consume_sink += sum;
    return kl_event_record_count(event);
}

static uint64_t consume_records(kl_event *event)
{
    const kl_record *record;
    uint64_t count = 0;
    uint64_t sum = 0;
    int r;

    while ((r = kl_event_next(event, &record)) == 0) {
        size_t size;
        const unsigned char *value = kl_record_value(record, &size);

        sum += *value + size;
        count++;
    }
    if (r != KL_EEND)
        bench_check(r, "next");
    consume_sink += sum;
    return count;
}

static uint64_t consume_columns(kl_event *event)
{
    const void *const *values;
    const uint64_t *sizes;
    const int64_t *offsets;
    size_t count;
    uint64_t sum = 0;

    bench_check(kl_event_columns(event, &count, &offsets, NULL, NULL, NULL,
                                 &values, &sizes),
                "columns");
    for (size_t i = 0; i < count; i++)
        sum +=
            *(const unsigned char *)values[i] + sizes[i] + (uint64_t)offsets[i];
    consume_sink += sum;
    return count;
}

/* Seconds for the whole partition. */
static double consume_once(struct bench_rig *rig, consume_fn *take)
{
    double begin = bench_now();
    kl_consumer *consumer;
    uint64_t count = 0;
    int type = 0;

    bench_check(kl_consumer_new(&consumer, rig->client, NULL), "consumer");
    bench_check(kl_consumer_assign(consumer, "t", 0, KL_OFFSET_BEGIN, 0),
                "assign");
    while (type != KL_EVENT_END) {
        kl_event *event;

        bench_check(kl_consumer_poll(consumer, -1, &event), "poll");
        type = kl_event_type(event);
        if (type == KL_EVENT_ERROR)
            bench_check(kl_event_code(event), "event");
        if (type == KL_EVENT_RECORDS)
            count += take(event);
        kl_event_free(event);
    }
    kl_consumer_free(consumer);
    begin = bench_now() - begin;
    if (count != CONSUME_RECORDS)
        bench_die("%llu records instead of %d", (unsigned long long)count,
                  CONSUME_RECORDS);
    return begin;
}

static void consume_fill(struct bench_setup *setup)
{
    const void *values[CONSUME_BULK];
    uint64_t sizes[CONSUME_BULK];
    struct bench_values v;
    struct bench_rig rig;

    bench_values_make(&v, CONSUME_RECORD);
    for (size_t i = 0; i < CONSUME_BULK; i++) {
        values[i] = bench_value(&v, i);
        sizes[i] = v.size;
    }
    setup->flush = "interval";
    bench_rig_open(&rig, setup);
    for (uint64_t i = 0; i < CONSUME_RECORDS;) {
        uint64_t left = CONSUME_RECORDS - i;
        size_t n = left < CONSUME_BULK ? (size_t)left : CONSUME_BULK;
        size_t accepted = 0;
        int r = kl_producer_send_bulk(rig.producer, "t", 0, NULL, NULL, values,
                                      sizes, NULL, n, 0, &accepted, NULL);
        i += accepted;
        if (r == KL_EAGAIN)
            r = kl_producer_wait(rig.producer, -1);
        bench_check(r, "send");
    }
    bench_check(kl_producer_flush(rig.producer, -1), "flush");
    bench_rig_close(&rig);
    bench_values_free(&v);
    setup->flush = NULL;
}

static void consume_run(const char *const *names)
{
    static consume_fn *const takes[] = {consume_batches, consume_records,
                                        consume_columns};
    static const double bars[] = {0.8, 0.35, 0.35};
    struct bench_setup setup = {.folder = "consume",
                                .owner = BENCH_NODE_THREAD,
                                .wal_bytes = "4m",
                                .partitions = 1};
    struct bench_series series[3] = {{.count = 0}};
    struct bench_rig rig;
    uint64_t bytes = 0;

    consume_fill(&setup);
    bench_settle();
    bench_rig_open(&rig, &setup);
    for (int i = 0; i < CONSUME_REPEATS; i++) {
        for (int k = 0; k < 3; k++) {
            double raw;
            double ours;

            if (!bench_wants(names[k]))
                continue;
            ours = consume_once(&rig, takes[k]);
            raw = bench_raw_read("consume", &bytes);
            bench_add(&series[k], CONSUME_RECORDS / ours,
                      CONSUME_RECORDS / raw);
        }
    }
    bench_rig_close(&rig);
    if (bytes < (uint64_t)CONSUME_RECORDS * CONSUME_RECORD)
        bench_die("the segments hold %llu bytes only",
                  (unsigned long long)bytes);
    for (int k = 0; k < 3; k++)
        bench_print(names[k], &series[k], "records/s", BENCH_MORE, bars[k]);
    bench_remove("consume");
}

const struct bench_family bench_family_consume = {
    (const char *const[]){"consume-100b-batches", "consume-100b-records",
                          "consume-100b-columns", NULL},
    consume_run};
