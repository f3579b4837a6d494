/*
 * Counters as text. One table drives both forms; every value is a relaxed
 * atomic, so that any thread may print while the owner counts.
 */
#include "runtime/state.h"

#include <stddef.h>

enum stats_kind { STATS_COUNTER, STATS_GAUGE };

struct stats_row
{
    const char *name;
    enum stats_kind kind;
    size_t at;
    const char *help;
};

#define STORE_ROW(field, kind, help)                                           \
    {                                                                          \
#field, kind, offsetof(struct kl_store_stats, field), help             \
    }
static const struct stats_row stats_store[] = {
    STORE_ROW(appends, STATS_COUNTER, "Batches appended to logs."),
    STORE_ROW(append_bytes, STATS_COUNTER, "Bytes of these batches."),
    STORE_ROW(groups, STATS_COUNTER, "Groups made durable by one sync."),
    STORE_ROW(group_frames, STATS_COUNTER, "Batches in these groups."),
    STORE_ROW(wal_bytes, STATS_COUNTER, "Bytes written to the WAL."),
    STORE_ROW(wal_syncs, STATS_COUNTER, "Syncs of the WAL."),
    STORE_ROW(wal_laps, STATS_COUNTER, "Times the WAL ring was gone round."),
    STORE_ROW(wal_stalls, STATS_COUNTER, "Turns in which the ring was full."),
    STORE_ROW(segment_bytes, STATS_COUNTER,
              "Bytes written to segments and indexes."),
    STORE_ROW(segment_syncs, STATS_COUNTER, "Syncs of segments."),
    STORE_ROW(refusals, STATS_COUNTER, "Batches refused for want of space."),
    STORE_ROW(retries, STATS_COUNTER,
              "Writes tried again for want of space, descriptors or memory."),
    STORE_ROW(segments_rolled, STATS_COUNTER, "Segments begun."),
    STORE_ROW(segments_deleted, STATS_COUNTER, "Segments deleted."),
    STORE_ROW(checkpoints, STATS_COUNTER, "Checkpoints written."),
    STORE_ROW(checkpoint_bytes, STATS_COUNTER,
              "Bytes written to checkpoints and manifests."),
    STORE_ROW(reads_memory, STATS_COUNTER, "Reads answered from memory."),
    STORE_ROW(reads_disk, STATS_COUNTER, "Reads that went to files."),
    STORE_ROW(read_bytes, STATS_COUNTER, "Bytes read from files."),
    STORE_ROW(pending_bytes, STATS_GAUGE, "Bytes not yet in a segment."),
    STORE_ROW(cache_bytes, STATS_GAUGE, "Bytes kept for tailing readers."),
    STORE_ROW(ring_bytes, STATS_GAUGE, "Size of the WAL ring."),
    STORE_ROW(ring_used, STATS_GAUGE, "Bytes of the ring not yet reusable."),
    STORE_ROW(logs, STATS_GAUGE, "Logs in the store."),
    STORE_ROW(disk_bytes, STATS_GAUGE, "Bytes of the store on disk."),
    STORE_ROW(verdict, STATS_GAUGE,
              "0 opened clean, 1 intact, 2 something durable is lost."),
    STORE_ROW(damages, STATS_COUNTER, "Ranges found damaged or missing."),
    STORE_ROW(lost_groups, STATS_COUNTER,
              "Groups of the WAL that could not be read when it was opened."),
    STORE_ROW(scrub_bytes, STATS_COUNTER, "Bytes verified in the background."),
    STORE_ROW(scrub_passes, STATS_COUNTER,
              "Times that everything was verified in the background."),
    STORE_ROW(rebuilds, STATS_COUNTER, "Manifests made again from segments."),
    STORE_ROW(reserve_bytes, STATS_GAUGE, "Bytes held back for a full disk."),
    STORE_ROW(full, STATS_GAUGE, "1 while batches are refused."),
    STORE_ROW(failed, STATS_GAUGE, "1 when the store has failed."),
};
#undef STORE_ROW

#define NODE_ROW(field, kind, help)                                            \
    {                                                                          \
#field, kind, offsetof(struct kl_runtime_stats, field), help           \
    }
static const struct stats_row stats_node[] = {
    NODE_ROW(turns, STATS_COUNTER, "Turns of the loop."),
    NODE_ROW(sleeps, STATS_COUNTER, "Times the loop went to sleep."),
    NODE_ROW(requests, STATS_COUNTER, "Requests of other threads."),
    NODE_ROW(produce_batches, STATS_COUNTER, "Batches of producers."),
    NODE_ROW(produce_records, STATS_COUNTER, "Records in these batches."),
    NODE_ROW(produce_bytes, STATS_COUNTER, "Bytes of these batches."),
    NODE_ROW(produce_refused, STATS_COUNTER, "Batches not acknowledged."),
    NODE_ROW(produce_delayed, STATS_COUNTER, "Batches that waited for room."),
    NODE_ROW(fetches, STATS_COUNTER, "Fetches of consumers."),
    NODE_ROW(fetch_bytes, STATS_COUNTER, "Bytes given to consumers."),
    NODE_ROW(fetch_parked, STATS_COUNTER, "Fetches that waited for records."),
    NODE_ROW(metadata_batches, STATS_COUNTER, "Batches of metadata."),
    NODE_ROW(snapshots, STATS_COUNTER, "Snapshots of the metadata."),
    NODE_ROW(messages_sent, STATS_COUNTER, "Messages to other nodes."),
    NODE_ROW(messages_received, STATS_COUNTER, "Messages of other nodes."),
    NODE_ROW(messages_lost, STATS_COUNTER, "No link, no room, no memory."),
    NODE_ROW(messages_malformed, STATS_COUNTER, "Damaged messages."),
    NODE_ROW(messages_unknown, STATS_COUNTER, "Kinds or versions of others."),
    NODE_ROW(messages_foreign, STATS_COUNTER, "Messages of other clusters."),
    NODE_ROW(messages_replayed, STATS_COUNTER, "Requests that came again."),
    NODE_ROW(messages_misdirected, STATS_COUNTER, "For or from other nodes."),
    NODE_ROW(calls, STATS_COUNTER, "Requests sent to the controller."),
    NODE_ROW(calls_timed_out, STATS_COUNTER, "Requests without an answer."),
    NODE_ROW(calls_not_controller, STATS_COUNTER,
             "Requests that another node must answer."),
    NODE_ROW(served, STATS_COUNTER, "Requests made of this controller."),
    NODE_ROW(served_not_controller, STATS_COUNTER,
             "Requests made while it was none."),
    NODE_ROW(broker_refused, STATS_COUNTER,
             "Times the controller refused this broker."),
    NODE_ROW(brokers, STATS_GAUGE, "Brokers that are registered."),
    NODE_ROW(brokers_inactive, STATS_GAUGE, "Of them fenced or stopping."),
    NODE_ROW(links_silent, STATS_COUNTER, "Links given up: no answer."),
    NODE_ROW(quorum_refused, STATS_GAUGE,
             "1 while the quorum does not let this node vote."),
    NODE_ROW(topics, STATS_GAUGE, "Topics."),
    NODE_ROW(partitions, STATS_GAUGE, "Partitions hosted here."),
};
#undef NODE_ROW

#define STATS_COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

static unsigned long long stats_value(const void *base,
                                      const struct stats_row *row)
{
    return kl_base_stat_get(
        (const kl_base_stat *)((const char *)base + row->at));
}

/* Thousandths of device bytes for each byte of batches. */
static uint64_t stats_amplification(const struct kl_store_stats *s)
{
    uint64_t payload = kl_base_stat_get(&s->append_bytes);
    uint64_t device = kl_base_stat_get(&s->wal_bytes) +
                      kl_base_stat_get(&s->segment_bytes) +
                      kl_base_stat_get(&s->checkpoint_bytes);

    return payload ? (uint64_t)((double)device * 1000 / (double)payload) : 0;
}

/* ---- JSON ------------------------------------------------------------------
 */

static void stats_json_rows(const void *base, const struct stats_row *rows,
                            size_t count, struct kl_base_buf *out)
{
    for (size_t i = 0; i < count; i++)
        kl_base_buf_printf(out, "\"%s\":%llu,", rows[i].name,
                           stats_value(base, &rows[i]));
}

/* Upper bounds and counts of the buckets that are not empty. */
static void stats_json_histogram(const struct kl_base_histogram *h,
                                 const char *name, struct kl_base_buf *out)
{
    const char *comma = "";

    kl_base_buf_printf(out, "\"%s\":{\"count\":%llu,\"sum\":%llu,\"buckets\":[",
                       name, (unsigned long long)kl_base_stat_get(&h->count),
                       (unsigned long long)kl_base_stat_get(&h->sum));
    for (int i = 0; i < KL_BASE_HISTOGRAM_BUCKETS; i++) {
        unsigned long long v = kl_base_stat_get(&h->buckets[i]);

        if (!v)
            continue;
        kl_base_buf_printf(out, "%s{\"lt\":%llu,\"count\":%llu}", comma,
                           2ULL << i, v);
        comma = ",";
    }
    kl_base_buf_printf(out, "]}");
}

static void stats_json(const struct kl_runtime_node *n,
                       const struct kl_store_stats *s, struct kl_base_buf *out)
{
    uint64_t factor = stats_amplification(s);

    kl_base_buf_printf(out, "{\"node\":{\"id\":%d,\"state\":%d,", (int)n->id,
                       kl_runtime_state(n));
    stats_json_rows(&n->stats, stats_node, STATS_COUNT(stats_node), out);
    stats_json_histogram(&n->stats.ack_us, "ack_us", out);
    kl_base_buf_printf(out, "},\"store\":{");
    stats_json_rows(s, stats_store, STATS_COUNT(stats_store), out);
    kl_base_buf_printf(out, "\"device_bytes_per_payload_byte\":%llu.%03llu,",
                       (unsigned long long)factor / 1000,
                       (unsigned long long)factor % 1000);
    stats_json_histogram(&s->group_bytes, "group_bytes", out);
    kl_base_buf_printf(out, ",");
    stats_json_histogram(&s->sync_us, "sync_us", out);
    kl_base_buf_printf(out, ",");
    stats_json_histogram(&s->checkpoint_us, "checkpoint_us", out);
    kl_base_buf_printf(out, "}}");
}

/* ---- Prometheus ------------------------------------------------------------
 */

static void stats_prom_rows(const void *base, const char *room,
                            const struct stats_row *rows, size_t count,
                            struct kl_base_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *total = rows[i].kind == STATS_COUNTER ? "_total" : "";
        const char *type = rows[i].kind == STATS_COUNTER ? "counter" : "gauge";

        kl_base_buf_printf(out,
                           "# HELP kraftlog_%s_%s%s %s\n"
                           "# TYPE kraftlog_%s_%s%s %s\n"
                           "kraftlog_%s_%s%s %llu\n",
                           room, rows[i].name, total, rows[i].help, room,
                           rows[i].name, total, type, room, rows[i].name, total,
                           stats_value(base, &rows[i]));
    }
}

/* Values are whole numbers, so "below 2^k" is "at most 2^k - 1". */
static void stats_prom_histogram(const struct kl_base_histogram *h,
                                 const char *name, const char *help,
                                 struct kl_base_buf *out)
{
    unsigned long long below = 0;

    kl_base_buf_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help,
                       name);
    for (int i = 0; i < KL_BASE_HISTOGRAM_BUCKETS - 1; i++) {
        below += kl_base_stat_get(&h->buckets[i]);
        kl_base_buf_printf(out, "%s_bucket{le=\"%llu\"} %llu\n", name,
                           (2ULL << i) - 1, below);
    }
    /* One count for both, so that the text agrees with itself. */
    below += kl_base_stat_get(&h->buckets[KL_BASE_HISTOGRAM_BUCKETS - 1]);
    kl_base_buf_printf(out,
                       "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %llu\n"
                       "%s_count %llu\n",
                       name, below, name,
                       (unsigned long long)kl_base_stat_get(&h->sum), name,
                       below);
}

static void stats_prometheus(const struct kl_runtime_node *n,
                             const struct kl_store_stats *s,
                             struct kl_base_buf *out)
{
    static const char factor_name[] =
        "kraftlog_store_device_bytes_per_payload_byte";
    uint64_t factor = stats_amplification(s);

    stats_prom_rows(&n->stats, "node", stats_node, STATS_COUNT(stats_node),
                    out);
    stats_prom_histogram(&n->stats.ack_us, "kraftlog_node_ack_microseconds",
                         "From the owner taking a batch to its "
                         "acknowledgement.",
                         out);
    stats_prom_rows(s, "store", stats_store, STATS_COUNT(stats_store), out);
    kl_base_buf_printf(out,
                       "# HELP %s Bytes written for each byte of batches.\n"
                       "# TYPE %s gauge\n%s %llu.%03llu\n",
                       factor_name, factor_name, factor_name,
                       (unsigned long long)factor / 1000,
                       (unsigned long long)factor % 1000);
    stats_prom_histogram(&s->group_bytes, "kraftlog_store_group_bytes",
                         "Bytes of one WAL group.", out);
    stats_prom_histogram(&s->sync_us, "kraftlog_store_sync_microseconds",
                         "Writing and syncing one WAL group.", out);
    stats_prom_histogram(&s->checkpoint_us,
                         "kraftlog_store_checkpoint_microseconds",
                         "Writing one checkpoint.", out);
}

/* ---- the door --------------------------------------------------------------
 */

/* The store cannot go away under the lock; 0 with it held where there is one.
 */
static int stats_enter(const struct kl_runtime_node *n)
{
    struct kl_os_mutex *mutex = (struct kl_os_mutex *)&n->mutex;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (kl_runtime_state(n) == KL_NODE_NEW)
        return KL_ESTATE;
    kl_os_mutex_lock(mutex);
    if (n->store)
        return 0;
    kl_os_mutex_unlock(mutex);
    return KL_ECLOSED;
}

static void stats_leave(const struct kl_runtime_node *n)
{
    kl_os_mutex_unlock((struct kl_os_mutex *)&n->mutex);
}

typedef void stats_print_fn(const struct kl_runtime_node *n,
                            const struct kl_store_stats *s,
                            struct kl_base_buf *out);

static int stats_print(const struct kl_runtime_node *n, stats_print_fn *print,
                       struct kl_base_buf *out)
{
    int r = stats_enter(n);

    if (r)
        return r;
    print(n, kl_store_stats(n->store), out);
    stats_leave(n);
    return out->error;
}

int kl_runtime_verdict(const struct kl_runtime_node *n, int *verdict_out)
{
    int r = stats_enter(n);

    if (r)
        return r;
    *verdict_out = (int)kl_base_stat_get(&kl_store_stats(n->store)->verdict);
    stats_leave(n);
    return 0;
}

int kl_runtime_stats_json(const struct kl_runtime_node *n,
                          struct kl_base_buf *out)
{
    return stats_print(n, stats_json, out);
}

int kl_runtime_stats_prometheus(const struct kl_runtime_node *n,
                                struct kl_base_buf *out)
{
    return stats_print(n, stats_prometheus, out);
}
