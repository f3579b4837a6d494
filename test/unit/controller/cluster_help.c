/*
 * A controller with brokers.
 */
#include "cluster_help.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct kl_base_uuid cluster_uuid(uint8_t kind, int64_t a, int64_t b)
{
    struct kl_base_uuid id = {{kind}};

    memcpy(id.bytes + 1, &a, 7);
    memcpy(id.bytes + 8, &b, 8);
    return id;
}

static struct kl_controller_options
cluster_options(const struct kl_controller_options *options)
{
    struct kl_controller_options o = {.broker_id = -1, .rebalance_ms = -1};

    if (options)
        o = *options;
    o.cluster_id = cluster_uuid('c', 1, 1);
    o.check = controller_fixture_check;
    return o;
}

void cluster_init(struct cluster *cl,
                  const struct kl_controller_options *options)
{
    memset(cl, 0, sizeof *cl);
    cl->options = cluster_options(options);
    controller_fixture_init(&cl->f, &cl->options);
    kl_controller_records_init(&cl->log, &cl->f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(cl->f.c, &cl->log), 0);
    cl->end = (int64_t)cl->log.count;
    cl->now_ns = 1000 * CLUSTER_MS;
    for (int i = 0; i < CLUSTER_BROKERS; i++)
        cl->brokers[i] = (struct cluster_broker){-1, 0, i};
    kl_controller_activate(cl->f.c, cl->now_ns);
    cluster_settle(cl);
}

void cluster_deinit(struct cluster *cl)
{
    kl_controller_records_deinit(&cl->log);
    controller_fixture_deinit(&cl->f);
}

void cluster_commit(struct cluster *cl)
{
    struct kl_controller_records *r = &cl->f.records;

    controller_fixture_commit(&cl->f);
    kl_base_buf_append(&cl->log.buf, r->buf.data, r->buf.size);
    ck_assert_int_eq(cl->log.buf.error, 0);
    cl->log.count += r->count;
    cl->end += (int64_t)r->count;
    kl_controller_records_clear(r);
}

void cluster_fail_over(struct cluster *cl)
{
    struct kl_controller_records image;

    kl_controller_records_init(&image, &cl->f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(cl->f.c, &image), 0);
    kl_controller_free(cl->f.c);
    ck_assert_int_eq(
        kl_controller_new(&cl->f.c, &cl->f.memory.alloc, &cl->options), 0);
    controller_fixture_replay(cl->f.c, &cl->log);
    controller_fixture_unchanged(&cl->f, &image);
    kl_controller_records_deinit(&image);
    kl_controller_activate(cl->f.c, cl->now_ns);
}

/* ---- brokers ------------------------------------------------------------ */

struct kl_controller_registration cluster_registration(struct cluster *cl,
                                                       int32_t id)
{
    static const char *const endpoints[] = {"tcp:127.0.0.1:9092"};
    struct cluster_broker *b = &cl->brokers[id];
    struct kl_controller_registration r = {0};

    r.broker_id = id;
    r.cluster_id = cluster_uuid('c', 1, 1);
    r.incarnation_id = cluster_uuid('i', id + 1, ++b->starts);
    r.directory_id = cluster_uuid('d', 1, b->disk + 1);
    r.previous_epoch = b->epoch;
    r.recovery = KL_CONTROLLER_CLEAN;
    r.metadata_leo = cl->end;
    r.endpoints = endpoints;
    r.endpoint_count = 1;
    r.feature_min = 1;
    r.feature_max = 1;
    r.batch_bytes_max = 1 << 20;
    return r;
}

int cluster_propose(struct cluster *cl,
                    const struct kl_controller_registration *r)
{
    int64_t epoch;

    return kl_controller_register_broker(cl->f.c, r, cl->end, cl->now_ns,
                                         &cl->f.records, &epoch, &cl->more,
                                         &cl->f.error);
}

void cluster_register(struct cluster *cl,
                      const struct kl_controller_registration *r)
{
    do {
        int64_t epoch = -1;
        int rc = kl_controller_register_broker(cl->f.c, r, cl->end, cl->now_ns,
                                               &cl->f.records, &epoch,
                                               &cl->more, &cl->f.error);

        ck_assert_msg(rc == 0, "%s", cl->f.error.text);
        if (!cl->more)
            cl->brokers[r->broker_id].epoch = epoch;
        cluster_commit(cl);
    } while (cl->more);
}

int cluster_beat(struct cluster *cl, int32_t id, int want_fence,
                 int want_shutdown)
{
    struct kl_controller_heartbeat h = {id, cl->brokers[id].epoch, cl->end,
                                        want_fence, want_shutdown};
    int rc;

    do {
        rc = kl_controller_heartbeat(cl->f.c, &h, cl->end, cl->now_ns,
                                     &cl->f.records, &cl->reply, &cl->more,
                                     &cl->f.error);
        if (rc)
            return rc;
        cluster_commit(cl);
    } while (cl->more);
    return 0;
}

void cluster_start(struct cluster *cl, const char *ids)
{
    for (; *ids; ids++) {
        struct kl_controller_registration r =
            cluster_registration(cl, *ids - '0');

        cluster_register(cl, &r);
        ck_assert_int_eq(cluster_beat(cl, r.broker_id, 0, 0), 0);
        ck_assert_int_eq(cl->reply.is_fenced, 0);
    }
}

void cluster_pass(struct cluster *cl, int64_t ms, const char *alive)
{
    for (int64_t left = ms; left > 0; left -= 1000) {
        cl->now_ns += (left < 1000 ? left : 1000) * CLUSTER_MS;
        for (const char *p = alive; *p; p++)
            kl_controller_contact(cl->f.c, *p - '0',
                                  cl->brokers[*p - '0'].epoch, cl->now_ns);
    }
}

void cluster_silence(struct cluster *cl, const char *ids)
{
    char alive[CLUSTER_BROKERS + 1];
    size_t n = 0;

    for (size_t i = 0; i < kl_controller_broker_count(cl->f.c); i++) {
        const struct kl_controller_broker *b =
            kl_controller_broker_at(cl->f.c, i);

        if (!(b->flags & KL_WIRE_BROKER_FENCED) &&
            !strchr(ids, '0' + (char)b->id))
            alive[n++] = (char)('0' + b->id);
    }
    alive[n] = '\0';
    cluster_pass(cl, KL_CONTROLLER_SESSION_TIMEOUT_MS + 1000, alive);
    cluster_settle(cl);
    for (; *ids; ids++)
        ck_assert_int_eq(kl_controller_broker_find(cl->f.c, *ids - '0')->flags &
                             KL_WIRE_BROKER_FENCED,
                         KL_WIRE_BROKER_FENCED);
}

void cluster_settle(struct cluster *cl)
{
    for (int i = 0; i < 100000; i++) {
        ck_assert_int_eq(kl_controller_tick(cl->f.c, cl->now_ns, &cl->f.records,
                                            &cl->f.error),
                         0);
        if (cl->f.records.count == 0)
            return;
        cluster_commit(cl);
    }
    ck_abort_msg("the controller does not come to rest");
}

/* ---- topics ------------------------------------------------------------- */

void cluster_topic(struct cluster *cl, const char *name, const char *words,
                   const char *key, const char *value)
{
    struct kl_controller_config config = {key, value};
    int32_t replicas[256];
    struct kl_controller_create command = {.name = name,
                                           .partition_count = 1,
                                           .configs = &config,
                                           .config_count = key != NULL,
                                           .replicas = replicas};
    size_t n = 0;

    for (const char *p = words; *p; p++) {
        if (*p == ' ')
            command.partition_count++;
        else
            replicas[n++] = *p - '0';
    }
    command.replication_factor = (int32_t)n / command.partition_count;
    ck_assert_int_eq(kl_controller_create_topic(
                         cl->f.c, &command, &cl->f.records, NULL, &cl->f.error),
                     0);
    cluster_commit(cl);
}

const struct kl_controller_partition *
cluster_partition(struct cluster *cl, const char *name, int32_t partition)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find(cl->f.c, name);

    ck_assert_ptr_nonnull(t);
    return kl_controller_partition_at(t, partition);
}

struct kl_controller_alter_partition
cluster_proposal(struct cluster *cl, const char *name, int32_t partition,
                 const char *isr, struct kl_controller_isr_member *members)
{
    const struct kl_controller_partition *p =
        cluster_partition(cl, name, partition);
    struct kl_controller_alter_partition a = {0};

    a.topic_id = kl_controller_topic_find(cl->f.c, name)->id;
    a.partition = partition;
    a.leader_epoch = p->leader_epoch;
    a.partition_epoch = p->partition_epoch;
    a.isr = members;
    for (; *isr; isr++) {
        members[a.isr_count].broker_id = *isr - '0';
        members[a.isr_count++].broker_epoch = cl->brokers[*isr - '0'].epoch;
    }
    return a;
}

int cluster_isr(struct cluster *cl, const char *name, int32_t partition,
                const char *isr)
{
    struct kl_controller_isr_member members[CLUSTER_BROKERS];
    struct kl_controller_alter_partition a =
        cluster_proposal(cl, name, partition, isr, members);
    int32_t leader = cluster_partition(cl, name, partition)->leader;
    int code;

    ck_assert_int_ge(leader, 0);
    ck_assert_int_eq(kl_controller_alter_partitions(
                         cl->f.c, leader, cl->brokers[leader].epoch, &a, 1,
                         &code, &cl->f.records, &cl->f.error),
                     0);
    cluster_commit(cl);
    return code;
}

/* ---- the line ----------------------------------------------------------- */

static size_t cluster_list(const struct kl_controller_partition *p,
                           enum kl_controller_list list, const char *name,
                           char *out)
{
    size_t count, n = strlen(name);
    const int32_t *ids = kl_controller_partition_list(p, list, &count);

    if (!count)
        return 0;
    memcpy(out, name, n);
    for (size_t i = 0; i < count; i++)
        out[n++] = (char)('0' + ids[i]);
    out[n] = '\0';
    return n;
}

const char *cluster_line(struct cluster *cl, const char *name,
                         int32_t partition)
{
    static const char *const names[] = {
        "", " isr=", " elr=", " known=", " adding=", " removing="};
    const struct kl_controller_partition *p =
        cluster_partition(cl, name, partition);
    char *at = cl->line;

    for (int i = 0; i < KL_CONTROLLER_LISTS; i++)
        at += cluster_list(p, i, names[i], at);
    if (p->leader < 0)
        at += snprintf(at, 16, " leader=none");
    else
        at += snprintf(at, 32, " leader=%d", (int)p->leader);
    if (p->last_known_leader >= 0)
        at += snprintf(at, 16, "(%d)", (int)p->last_known_leader);
    at += snprintf(at, 64, " epochs=%d/%d", (int)p->leader_epoch,
                   (int)p->partition_epoch);
    if (p->flags & KL_WIRE_PARTITION_RECOVERING)
        snprintf(at, 16, " recovering");
    return cl->line;
}
