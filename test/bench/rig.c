/*
 * A node with a topic and a producer, through the public API alone.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RIG_STATS = 64 * 1024, RIG_WINDOW = 4096 };

static void rig_set(kl_config *config, const char *key, const char *value)
{
    if (value)
        bench_check(kl_config_set(config, key, value), key);
}

static void rig_create_topic(struct bench_rig *rig,
                             const struct bench_setup *setup)
{
    kl_config *config;
    kl_op *op;

    bench_check(kl_config_new(&config, NULL, NULL), "configuration");
    rig_set(config, "flush", setup->flush);
    bench_check(kl_admin_create_topic(rig->client, "t", setup->partitions, 1,
                                      config, 0, &op),
                "create topic");
    bench_check(kl_op_wait(op, -1), "create topic");
    bench_check(kl_op_code(op), "create topic");
    kl_op_free(op);
    kl_config_free(config);
}

void bench_rig_open(struct bench_rig *rig, const struct bench_setup *setup)
{
    char path[BENCH_PATH];
    char text[256];
    kl_config *config;

    bench_path(path, setup->folder);
    rig->folder = setup->folder;
    bench_check(kl_config_new(&config, NULL, NULL), "configuration");
    rig_set(config, "wal.bytes", setup->wal_bytes);
    bench_check(kl_node_new(&rig->node, config), "node");
    if (kl_node_open(rig->node, path, KL_OPEN_CREATE)) {
        kl_node_errmsg(rig->node, text, sizeof text);
        bench_die("open %s: %s", path, text);
    }
    if (setup->owner == BENCH_NODE_THREAD)
        bench_check(kl_node_start(rig->node), "start");
    bench_check(kl_node_client(rig->node, &rig->client), "client");
    if (setup->flush)
        rig_create_topic(rig, setup);
    bench_check(kl_producer_new(&rig->producer, rig->client, config),
                "producer");
    kl_config_free(config);
}

void bench_rig_close(struct bench_rig *rig)
{
    kl_producer_free(rig->producer);
    kl_client_free(rig->client);
    bench_check(kl_node_stop(rig->node, -1), "stop");
    kl_node_free(rig->node);
}

uint64_t bench_rig_stat(const struct bench_rig *rig, const char *name)
{
    char *text = malloc(RIG_STATS);
    char key[64];
    const char *at;
    uint64_t value;

    if (!text)
        bench_die("no memory");
    bench_check(kl_node_stats_json(rig->node, text, RIG_STATS, NULL), "stats");
    snprintf(key, sizeof key, "\"%s\":", name);
    at = strstr(text, "\"store\":");
    at = at ? strstr(at, key) : NULL;
    if (!at)
        bench_die("no counter %s", name);
    value = strtoull(at + strlen(key), NULL, 10);
    free(text);
    return value;
}

void bench_rig_send_window(struct bench_rig *rig, const struct bench_values *v,
                           uint64_t count, uint32_t window)
{
    kl_op *ops[RIG_WINDOW];
    uint64_t sent = 0;
    uint64_t done = 0;

    while (done < count) {
        while (sent < count && sent - done < window) {
            int r = kl_producer_send(
                rig->producer, "t", 0, NULL, 0, bench_value(v, sent), v->size,
                KL_TIMESTAMP_NOW, 0, &ops[sent % RIG_WINDOW]);
            if (r == KL_EAGAIN && sent > done)
                break;
            bench_check(r, "send");
            sent++;
        }
        bench_check(kl_op_wait(ops[done % RIG_WINDOW], -1), "wait");
        while (done < sent && kl_op_done(ops[done % RIG_WINDOW])) {
            bench_check(kl_op_code(ops[done % RIG_WINDOW]), "record");
            kl_op_free(ops[done++ % RIG_WINDOW]);
        }
    }
}
