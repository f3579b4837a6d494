/*
 * One record of the metadata log, committed by three nodes in this process with
 * a folder each, beside three threads with a file each that do what cannot be
 * left out: one writes and syncs while it tells the others, which write, sync
 * and answer, and goes on when two of the three have it.
 */
#include "bench.h"

#include "os/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    QUORUM_NODES = 3,
    QUORUM_FILE = 4 * 1024 * 1024,
    QUORUM_PAGE = 4096,
    QUORUM_RECORDS = 300,
    QUORUM_LAP = 2000, /* records that fill the write-ahead logs once */
    QUORUM_REPEATS = 15,
    QUORUM_STOP_MS = 1000,
    QUORUM_RETRY_MS = 10
};

#define QUORUM_PATIENCE "600000"

/* ---- three threads ------------------------------------------------------- */

/* A thread that writes what it is told; the first file is the caller's. */
struct quorum_follower
{
    struct kl_os_thread thread;
    struct kl_os_gate gate;
    struct quorum_raw *raw;
    int fd;
    atomic_uint done; /* the last one that it has synced */
};

struct quorum_raw
{
    struct quorum_follower followers[QUORUM_NODES - 1];
    struct kl_os_gate gate;
    atomic_uint wanted;
    atomic_int is_over;
    int fd;
    char page[QUORUM_PAGE];
};

static void quorum_write(int fd, const char *page, unsigned number)
{
    off_t at = (off_t)number * QUORUM_PAGE % QUORUM_FILE;

    if (pwrite(fd, page, QUORUM_PAGE, at) != QUORUM_PAGE || fdatasync(fd))
        bench_die("write and sync: %m");
}

static void quorum_follow(void *user)
{
    struct quorum_follower *f = user;

    for (;;) {
        unsigned wanted;

        (void)kl_os_gate_wait(&f->gate, -1);
        if (atomic_load(&f->raw->is_over))
            return;
        wanted = atomic_load(&f->raw->wanted);
        if (wanted == atomic_load(&f->done))
            continue;
        quorum_write(f->fd, f->raw->page, wanted);
        atomic_store(&f->done, wanted);
        kl_os_gate_post(&f->raw->gate);
    }
}

static void quorum_raw_begin(struct quorum_raw *r)
{
    memset(r, 0, sizeof *r);
    r->fd = bench_raw_ring("raw-quorum-0", QUORUM_FILE);
    bench_check(kl_os_gate_init(&r->gate), "gate");
    for (int i = 0; i < QUORUM_NODES - 1; i++) {
        struct quorum_follower *f = &r->followers[i];
        char name[32];

        snprintf(name, sizeof name, "raw-quorum-%d", i + 1);
        f->raw = r;
        f->fd = bench_raw_ring(name, QUORUM_FILE);
        bench_check(kl_os_gate_init(&f->gate), "gate");
        bench_check(
            kl_os_thread_start(&f->thread, quorum_follow, f, "follower"),
            "thread");
    }
}

static void quorum_raw_end(struct quorum_raw *r)
{
    atomic_store(&r->is_over, 1);
    for (int i = 0; i < QUORUM_NODES - 1; i++) {
        struct quorum_follower *f = &r->followers[i];
        char name[32];

        kl_os_gate_post(&f->gate);
        kl_os_thread_join(&f->thread);
        kl_os_gate_deinit(&f->gate);
        close(f->fd);
        snprintf(name, sizeof name, "raw-quorum-%d", i + 1);
        bench_remove(name);
    }
    kl_os_gate_deinit(&r->gate);
    close(r->fd);
    bench_remove("raw-quorum-0");
}

static void quorum_raw_commit(struct quorum_raw *r)
{
    unsigned number = atomic_fetch_add(&r->wanted, 1) + 1;

    for (int i = 0; i < QUORUM_NODES - 1; i++)
        kl_os_gate_post(&r->followers[i].gate);
    quorum_write(r->fd, r->page, number);
    while (atomic_load(&r->followers[0].done) != number &&
           atomic_load(&r->followers[1].done) != number)
        (void)kl_os_gate_wait(&r->gate, -1);
}

static double quorum_raw_once(struct quorum_raw *r)
{
    double us[QUORUM_RECORDS];

    for (int i = 0; i < QUORUM_RECORDS; i++) {
        double begin = bench_now();

        quorum_raw_commit(r);
        us[i] = (bench_now() - begin) * 1e6;
    }
    return bench_median(us, QUORUM_RECORDS);
}

/* ---- three nodes --------------------------------------------------------- */

struct quorum_rig
{
    kl_hub *hub;
    kl_node *nodes[QUORUM_NODES];
    kl_client *client; /* of the first, which leads and which is polled here */
    uint64_t count;
};

static void quorum_set(kl_config *config, const char *key, const char *value)
{
    bench_check(kl_config_set(config, key, value), key);
}

/* Node and endpoint have the same number. */
static void quorum_open(struct quorum_rig *rig, int index)
{
    char path[BENCH_PATH], name[32], id[16];
    kl_transport *transport;
    kl_config *config;
    kl_node *node;

    snprintf(id, sizeof id, "%d", index + 1);
    snprintf(name, sizeof name, "quorum-%d", index);
    bench_path(path, name);
    bench_check(kl_config_new(&config, NULL, NULL), "configuration");
    quorum_set(config, "node.id", id);
    quorum_set(config, "wal.bytes", "4m");
    quorum_set(config, "advertised.listeners", id);
    /* Nobody polls the first one while the raw loop runs. */
    quorum_set(config, "controller.quorum.fetch.timeout.ms", QUORUM_PATIENCE);
    quorum_set(config, "broker.session.timeout.ms", QUORUM_PATIENCE);
    if (index)
        quorum_set(config, "controller.quorum.bootstrap.servers", "1@1");
    bench_check(kl_node_new(&node, config), "node");
    bench_check(kl_transport_new_loopback(&transport, NULL, rig->hub, id),
                "transport");
    bench_check(kl_node_set_transport(node, transport), "transport");
    bench_check(
        kl_node_open(node, path, KL_OPEN_CREATE | (index ? KL_OPEN_JOIN : 0U)),
        "open");
    if (index)
        bench_check(kl_node_start(node), "start");
    rig->nodes[index] = node;
    kl_transport_free(transport);
    kl_config_free(config);
}

static int quorum_finish(int rc, kl_op *op)
{
    if (rc)
        return rc;
    rc = kl_op_wait(op, -1);
    if (!rc)
        rc = kl_op_code(op);
    kl_op_free(op);
    return rc;
}

/* A node votes when it has registered and caught up; the first one is polled
 * meanwhile. */
static void quorum_add_voter(struct quorum_rig *rig, int id)
{
    kl_op *op = NULL;
    int rc;

    for (;;) {
        rc = kl_admin_add_voter(rig->client, id, 0, &op);
        rc = quorum_finish(rc, op);
        if (rc != KL_ENOBROKER && rc != KL_ELAGGING && rc != KL_EREDUNDANCY)
            break;
        bench_check(kl_node_poll(rig->nodes[0], QUORUM_RETRY_MS), "poll");
    }
    bench_check(rc, "voter");
}

/* One record: the value of a key of the topic. */
static void quorum_commit(struct quorum_rig *rig)
{
    char value[32];
    kl_op *op = NULL;
    int rc;

    snprintf(value, sizeof value, "%llu",
             (unsigned long long)(1000000 + ++rig->count));
    rc = kl_admin_set_config(rig->client, "t", "retention.ms", value, 0, &op);
    bench_check(quorum_finish(rc, op), "commit");
}

static double quorum_once(struct quorum_rig *rig)
{
    double us[QUORUM_RECORDS];

    for (int i = 0; i < QUORUM_RECORDS; i++) {
        double begin = bench_now();

        quorum_commit(rig);
        us[i] = (bench_now() - begin) * 1e6;
    }
    return bench_median(us, QUORUM_RECORDS);
}

static void quorum_begin(struct quorum_rig *rig)
{
    kl_op *op = NULL;
    int rc;

    memset(rig, 0, sizeof *rig);
    bench_check(kl_hub_new(&rig->hub, NULL), "hub");
    for (int i = 0; i < QUORUM_NODES; i++)
        quorum_open(rig, i);
    bench_check(kl_node_client(rig->nodes[0], &rig->client), "client");
    for (int id = 2; id <= QUORUM_NODES; id++)
        quorum_add_voter(rig, id);
    rc = kl_admin_create_topic(rig->client, "t", 1, 1, NULL, 0, &op);
    bench_check(quorum_finish(rc, op), "create topic");
    for (int i = 0; i < QUORUM_LAP; i++)
        quorum_commit(rig);
}

static void quorum_end(struct quorum_rig *rig)
{
    char name[32];

    kl_client_free(rig->client);
    for (int i = 0; i < QUORUM_NODES; i++) {
        /* The last one finds nobody to hand its part over to. */
        (void)kl_node_stop(rig->nodes[i], QUORUM_STOP_MS);
        kl_node_free(rig->nodes[i]);
        snprintf(name, sizeof name, "quorum-%d", i);
        bench_remove(name);
    }
    kl_hub_free(rig->hub);
}

static void quorum_run(const char *const *names)
{
    struct bench_series series = {0};
    struct quorum_raw raw;
    struct quorum_rig rig;

    quorum_begin(&rig);
    quorum_raw_begin(&raw);
    bench_settle();
    for (int i = 0; i < QUORUM_REPEATS; i++) {
        double ours = quorum_once(&rig);

        bench_add(&series, ours, quorum_raw_once(&raw));
    }
    quorum_raw_end(&raw);
    quorum_end(&rig);
    bench_print(names[0], &series, "us-p50", BENCH_LESS, 1.5);
}

const struct bench_family bench_family_quorum = {
    (const char *const[]){"quorum-commit", NULL}, quorum_run};
