/*
 * What clients ask of nodes: topics are created, configured and deleted,
 * records are written and read; every answer is told to the checkers.
 */
#include "world.h"

#include "mark.h"

#include "need.h"

#include <kraftlog/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENT_CALLS = 64, CLIENT_PARTITIONS = 4 };

/* Records and values are numbers above these: nobody takes them for old. */
#define CLIENT_TAG INT64_C(1700000000000)
#define CLIENT_VALUE (INT64_C(1) << 40)

enum call_kind {
    CALL_CREATE,
    CALL_DELETE,
    CALL_SET,
    CALL_PRODUCE,
    CALL_FETCH,
    CALL_ADD_VOTER,
    CALL_REMOVE_VOTER,
    CALL_QUORUM
};

static const char *const call_names[] = {"create",       "delete", "set",
                                         "produce",      "fetch",  "add-voter",
                                         "remove-voter", "quorum"};

struct call
{
    struct world *w;
    int is_used;
    enum call_kind kind;
    int host;
    int topic;
    int partition;
    int64_t value; /* of a topic; the tag of the first record */
    int count;     /* of records */
    struct kl_runtime_op *op;
    struct kl_runtime_request request;
    struct kl_runtime_produce produce;
    struct kl_runtime_fetch fetch;
    int64_t end; /* verification goes on up to here; -1 = one look */
};

struct topic
{
    int partitions; /* 0 = never asked for */
    int is_there;   /* it was created, as far as we know */
    int is_changing;
};

struct client
{
    struct call calls[CLIENT_CALLS];
    int open; /* calls without an answer */
    int topic_count;
    struct topic topics[ACK_TOPICS];
    int64_t next_tag;
    int64_t next_value;
};

void client_init(struct world *w)
{
    w->client = pool_zeroed(sizeof *w->client);
    w->client->next_tag = CLIENT_TAG;
    w->client->next_value = CLIENT_VALUE;
}

void client_deinit(struct world *w)
{
    pool_give(w->client, sizeof *w->client);
    w->client = NULL;
}

int client_is_quiet(struct world *w)
{
    return w->client->open == 0;
}

static void topic_name(int topic, char out[16])
{
    snprintf(out, 16, "t%d", topic);
}

static int topic_of_name(const char *name)
{
    return (int)strtol(name + 1, NULL, 10);
}

static int log_of(const struct call *c)
{
    return c->topic * CLIENT_PARTITIONS + c->partition;
}

/* ---- calls ----------------------------------------------------------------
 */

static struct call *call_new(struct world *w, struct host *h,
                             enum call_kind kind, int topic)
{
    struct client *client = w->client;

    for (int i = 0; i < CLIENT_CALLS; i++) {
        struct call *c = &client->calls[i];

        if (c->is_used)
            continue;
        memset(c, 0, sizeof *c);
        c->is_used = 1;
        c->w = w;
        c->host = h->index;
        c->kind = kind;
        c->topic = topic;
        c->end = -1;
        client->open++;
        return c;
    }
    return NULL;
}

static void call_free(struct call *c)
{
    kl_runtime_op_unref(c->op);
    c->is_used = 0;
    c->w->client->open--;
}

static void call_answered(struct call *c, int code)
{
    struct world *w = c->w;

    world_note(w, 'c', (uint64_t)c->kind << 32 | (uint32_t)c->topic,
               (uint64_t)code);
    world_trace(w, &w->hosts[c->host], "%s t%d %d: %s", call_names[c->kind],
                c->topic, c->partition, code ? kl_error_name(code) : "ok");
    if (w->answered)
        w->answered(w, call_names[c->kind], c->topic, c->host, code);
    if (code)
        w->tally.refused++;
    if (code == KL_EUNKNOWN)
        KL_MARK(UNKNOWN);
    if (code == KL_EDISKFULL)
        KL_MARK(STORE_FULL);
    if (code == 0 && c->kind == CALL_DELETE)
        KL_MARK(DELETED);
}

/* ---- administration -------------------------------------------------------
 */

static enum outcome outcome_of(int code)
{
    return code == 0             ? OUTCOME_DONE
           : code == KL_EUNKNOWN ? OUTCOME_UNKNOWN
                                 : OUTCOME_REFUSED;
}

static void admin_tell(struct call *c, int is_answer, enum outcome outcome)
{
    struct check_acknowledged *a = &c->w->checks.acknowledged;

    switch (c->kind) {
    case CALL_CREATE:
        check_acknowledged_create(a, c->topic, is_answer, outcome);
        break;
    case CALL_DELETE:
        check_acknowledged_delete(a, c->topic, is_answer, outcome);
        break;
    default:
        check_acknowledged_set(a, c->topic, c->value, is_answer, outcome);
    }
}

static void admin_done(struct kl_runtime_op *op, void *user)
{
    struct call *c = user;
    struct topic *t = &c->w->client->topics[c->topic];

    call_answered(c, op->code);
    if (op->code == 0)
        c->w->tally.commands++;
    admin_tell(c, 1, outcome_of(op->code));
    if (c->kind == CALL_CREATE)
        t->is_there = op->code == 0;
    if (c->kind == CALL_DELETE && op->code == 0)
        t->is_there = 0;
    t->is_changing = 0;
    call_free(c);
}

static void admin_ask(struct host *h, struct call *c,
                      const struct kl_runtime_wish *wish)
{
    c->w->client->topics[c->topic].is_changing = 1;
    admin_tell(c, 0, OUTCOME_UNKNOWN);
    need_ok(kl_runtime_command(h->n, wish, &c->op));
    need_ok(kl_runtime_op_set_callback(c->op, admin_done, c));
    host_wake(h);
}

static void voter_done(struct kl_runtime_op *op, void *user)
{
    struct call *c = user;
    struct world *w = c->w;
    int is_added = c->kind == CALL_ADD_VOTER;

    call_answered(c, op->code);
    if (op->code == 0 && c->kind != CALL_QUORUM) {
        check_voters_done(&w->checks.voters, w->hosts[c->topic].id, is_added,
                          c->value);
        if (w->phase == WORLD_CHAOS && is_added)
            KL_MARK(VOTER_ADDED);
        if (w->phase == WORLD_CHAOS && !is_added)
            KL_MARK(VOTER_REMOVED);
    }
    call_free(c);
}

/* Of the quorum: what kind says of a host, or of nobody. */
static int voter_ask(struct world *w, struct host *h, enum call_kind kind,
                     int index, int is_forced)
{
    struct kl_runtime_wish wish = {
        .type = kind == CALL_ADD_VOTER      ? KL_RUNTIME_ADD_VOTER
                : kind == CALL_REMOVE_VOTER ? KL_RUNTIME_REMOVE_VOTER
                                            : KL_RUNTIME_DESCRIBE_QUORUM,
        .broker_id = w->hosts[index].id,
        .is_forced = is_forced};
    struct call *c = call_new(w, h, kind, 0);

    if (!c)
        return -1;
    c->topic = index;
    c->value = check_voters_offset(&w->checks.voters);
    need_ok(kl_runtime_command(h->n, &wish, &c->op));
    need_ok(kl_runtime_op_set_callback(c->op, voter_done, c));
    host_wake(h);
    return 0;
}

int client_ask_voter(struct world *w, struct host *h, int index, int is_added,
                     int is_forced)
{
    return voter_ask(w, h, is_added ? CALL_ADD_VOTER : CALL_REMOVE_VOTER, index,
                     is_forced);
}

int client_ask_quorum(struct world *w, struct host *h)
{
    return voter_ask(w, h, CALL_QUORUM, h->index, 0);
}

int client_ask_create(struct world *w, struct host *h, int partitions)
{
    struct client *client = w->client;
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .replication = 1,
                                   .number = partitions};
    int topic = client->topic_count;
    struct kl_base_config config;
    char name[16], bytes[32];
    struct call *c =
        topic < ACK_TOPICS ? call_new(w, h, CALL_CREATE, topic) : NULL;

    if (!c)
        return -1;
    client->topic_count++;
    topic_name(topic, name);
    snprintf(bytes, sizeof bytes, "%lld", (long long)w->o.segment_bytes);
    kl_base_config_init(&config);
    need_ok(kl_base_config_set(&config, "segment.bytes", bytes, NULL));
    need_ok(kl_base_config_set(&config, "retention.ms", "-1", NULL));
    client->topics[topic].partitions = partitions;
    wish.topic = name;
    wish.config = &config;
    admin_ask(h, c, &wish);
    return 0;
}

static void client_create(struct world *w, struct host *h)
{
    struct client *client = w->client;
    int there = 0;

    for (int i = 0; i < client->topic_count; i++)
        there += client->topics[i].is_there;
    if (client->topic_count == ACK_TOPICS || there >= w->o.topics_max)
        return;
    (void)client_ask_create(
        w, h, 1 + (int)choice_below(w->choice, CLIENT_PARTITIONS));
}

static void client_change(struct world *w, struct host *h, int topic,
                          enum call_kind kind)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC};
    char name[16], value[32];
    struct call *c;

    if (w->client->topics[topic].is_changing)
        return;
    c = call_new(w, h, kind, topic);
    if (!c)
        return;
    topic_name(topic, name);
    wish.topic = name;
    if (kind == CALL_SET) {
        c->value = ++w->client->next_value;
        snprintf(value, sizeof value, "%lld", (long long)c->value);
        wish.type = KL_RUNTIME_SET_CONFIG;
        wish.key = "retention.bytes";
        wish.value = value;
    }
    admin_ask(h, c, &wish);
}

/* ---- records --------------------------------------------------------------
 */

static struct kl_base_chunk *record_frame(struct host *h, const struct call *c,
                                          const struct kl_base_uuid *topic_id,
                                          uint32_t size)
{
    uint64_t seed = kl_batch_seed(topic_id, c->partition);
    static uint8_t value[8192 + 1];
    struct kl_batch_builder builder;
    struct kl_base_chunk *chunk = NULL;

    kl_batch_builder_init(&builder, &h->memory.alloc);
    for (int i = 0; i < c->count; i++) {
        struct kl_batch_input in = {
            .timestamp = c->value + i, .value = value, .value_size = size};

        memset(value, (int)(c->value + i), size);
        need_ok(kl_batch_builder_append(&builder, KL_BATCH_SIZE_MAX, 256, &in));
    }
    need_ok(kl_batch_builder_finish(&builder, seed, 0, &chunk));
    kl_batch_builder_deinit(&builder);
    return chunk;
}

static struct call *call_of_produce(struct kl_runtime_produce *p)
{
    return KL_BASE_CONTAINER(p, struct call, produce);
}

static void produce_answered(struct kl_runtime_node *n,
                             struct kl_runtime_produce *p)
{
    struct call *c = call_of_produce(p);
    struct world *w = c->w;
    const char *wrong;

    (void)n;
    call_answered(c, p->code);
    for (int i = 0; p->code == 0 && i < c->count; i++) {
        wrong =
            check_records_acked(&w->checks.records, log_of(c),
                                p->base_offset + i, (uint64_t)(c->value + i));
        if (wrong)
            world_fail(w, "records", "%s", wrong);
        w->tally.records++;
    }
    call_free(c);
}

static void produce_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                        int closed)
{
    (void)closed;
    kl_runtime_produce(n, &KL_BASE_CONTAINER(r, struct call, request)->produce);
}

/* The topic's id as this node knows it; 0 where it does not. */
static int topic_id(struct host *h, int topic, struct kl_base_uuid *out)
{
    const struct kl_runtime_topic *t;
    char name[16];

    topic_name(topic, name);
    t = kl_runtime_topic_get(h->n, name);
    if (!t)
        return 0;
    *out = t->id;
    kl_runtime_topic_unref(h->n, t);
    return 1;
}

/* The host that leads a partition, as another one knows, where it is able. */
static struct host *host_of(struct host *h, const struct kl_base_uuid *id,
                            int partition)
{
    int leader = door_leader(h, id, partition);
    struct host *l = leader >= 0 ? &h->w->hosts[leader] : NULL;

    return l && host_is_able(l) ? l : NULL;
}

/* Where the partition is led, as h knows; 0, or -1 where that is nowhere. */
static int produce_ask(struct world *w, struct host *h, int topic,
                       int partition, int count, uint32_t size)
{
    struct kl_base_uuid id;
    struct call *c;

    if (!topic_id(h, topic, &id) || !(h = host_of(h, &id, partition)) ||
        !(c = call_new(w, h, CALL_PRODUCE, topic)))
        return -1;
    c->partition = partition;
    c->count = count;
    c->value = w->client->next_tag;
    w->client->next_tag += c->count;
    c->produce.topic_id = id;
    c->produce.partition = c->partition;
    c->produce.frame = record_frame(h, c, &id, size);
    c->produce.done = produce_answered;
    c->request.run = produce_run;
    kl_runtime_submit(h->n, &c->request);
    host_wake(h);
    return 0;
}

static void client_produce(struct world *w, struct host *h, int topic)
{
    int partition = (int)choice_below(
        w->choice, (uint64_t)w->client->topics[topic].partitions);
    int count = 1 + (int)choice_below(w->choice, 4);

    (void)produce_ask(w, h, topic, partition, count,
                      (uint32_t)choice_log(w->choice, 1, w->o.value_bytes_max));
}

int client_ask_produce(struct world *w, struct host *h, int topic, int count)
{
    return topic < w->client->topic_count
               ? produce_ask(w, h, topic, 0, count, 100)
               : -1;
}

static void see_frame(struct call *c, const uint8_t *data, size_t size,
                      struct kl_batch_info *info)
{
    struct world *w = c->w;
    uint64_t seed = kl_batch_seed(&c->fetch.topic_id, c->partition);
    const char *wrong = NULL;

    if (kl_batch_frame_verify(data, size, seed, info)) {
        world_fail(w, "records", "log %d: a batch does not verify", log_of(c));
        return;
    }
    for (int i = 0; !wrong && i < info->record_count; i++)
        wrong = check_records_seen(&w->checks.records, log_of(c),
                                   info->base_offset + i,
                                   (uint64_t)(info->base_timestamp + i));
    if (wrong)
        world_fail(w, "records", "%s", wrong);
}

static void see_slices(struct call *c)
{
    const struct kl_store_read *r = &c->fetch.read;

    for (uint32_t i = 0; i < r->slice_count; i++) {
        uint32_t at = 0;

        while (at < r->slices[i].size && !c->w->failed) {
            struct kl_batch_info info;

            see_frame(c, r->slices[i].data + at, r->slices[i].size - at, &info);
            at += info.frame_size;
        }
    }
}

static void fetch_submit(struct host *h, struct call *c);

static void fetch_answered(struct kl_runtime_node *n,
                           struct kl_runtime_fetch *f)
{
    struct call *c = KL_BASE_CONTAINER(f, struct call, fetch);
    struct world *w = c->w;

    (void)n;
    call_answered(c, f->read.code);
    if (f->read.code == 0)
        see_slices(c);
    else if (f->read.code == KL_ECORRUPT ||
             (c->end >= 0 && f->read.code != KL_ENOTOPIC))
        world_fail(w, "records", "log %d: offset %lld cannot be read: %s",
                   log_of(c), (long long)f->read.offset,
                   kl_error_name(f->read.code));
    kl_store_read_release(&f->read);
    if (f->read.code == 0 && f->read.next_offset < c->end && !w->failed) {
        f->read.offset = f->read.next_offset;
        fetch_submit(&w->hosts[c->host], c);
    } else {
        call_free(c);
    }
}

static void fetch_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                      int closed)
{
    (void)closed;
    kl_runtime_fetch(n, &KL_BASE_CONTAINER(r, struct call, request)->fetch);
}

static void fetch_submit(struct host *h, struct call *c)
{
    c->fetch.read.bytes_max = 1 << 16;
    c->fetch.done = fetch_answered;
    c->request.run = fetch_run;
    kl_runtime_submit(h->n, &c->request);
    host_wake(h);
}

/* Reads from an offset below what is there, so that it need not wait. */
static void client_fetch(struct world *w, struct host *h, int topic)
{
    struct kl_base_uuid id;
    struct call *c;
    int64_t end;
    int partition;

    partition = (int)choice_below(
        w->choice, (uint64_t)w->client->topics[topic].partitions);
    if (!topic_id(h, topic, &id) || !(h = host_of(h, &id, partition)))
        return;
    end = door_log_end(h, &id, partition);
    if (end <= 0 || !(c = call_new(w, h, CALL_FETCH, topic)))
        return;
    c->partition = partition;
    c->fetch.topic_id = id;
    c->fetch.partition = partition;
    c->fetch.read.offset = (int64_t)choice_below(w->choice, (uint64_t)end);
    fetch_submit(h, c);
}

/* ---- what clients do ------------------------------------------------------
 */

void client_act(struct world *w, struct host *h)
{
    uint64_t what = choice_below(w->choice, 100);
    int topic;

    if (!host_is_able(h))
        return;
    if (what >= 92 || w->client->topic_count == 0) {
        client_create(w, h);
        return;
    }
    topic = (int)choice_below(w->choice, (uint64_t)w->client->topic_count);
    if (what < 55)
        client_produce(w, h, topic);
    else if (what < 75)
        client_fetch(w, h, topic);
    else if (what < 88)
        client_change(w, h, topic, CALL_SET);
    else
        client_change(w, h, topic, CALL_DELETE);
}

/* ---- verification ---------------------------------------------------------
 */

static void verify_records(struct world *w, struct host *h, int topic)
{
    struct kl_base_uuid id;

    if (!topic_id(h, topic, &id))
        return;
    for (int i = 0; i < w->client->topics[topic].partitions; i++) {
        int64_t end =
            door_leader(h, &id, i) == h->index ? door_log_end(h, &id, i) : -1;
        const char *wrong =
            end < 0 ? NULL
                    : check_records_end(&w->checks.records,
                                        topic * CLIENT_PARTITIONS + i, end);
        struct call *c;

        if (wrong)
            world_fail(w, "records", "%s", wrong);
        if (end <= 0)
            continue;
        while (!(c = call_new(w, h, CALL_FETCH, topic)) && !w->failed)
            world_until(w, w->now_ns + MS);
        if (!c)
            return;
        c->partition = i;
        c->end = end;
        c->fetch.topic_id = id;
        c->fetch.partition = i;
        fetch_submit(h, c);
    }
}

static void verify_topic(struct world *w, struct host *h, int topic)
{
    const struct kl_controller_topic *t;
    const char *value, *wrong;
    char name[16];

    topic_name(topic, name);
    t = kl_controller_topic_find(door_controller(h), name);
    value = t ? kl_controller_config_get(t, "retention.bytes") : NULL;
    wrong = check_acknowledged(&w->checks.acknowledged, topic, t != NULL,
                               value ? strtoll(value, NULL, 10) : 0);
    if (wrong)
        world_fail(w, "acknowledged", "node %d: %s", (int)h->id, wrong);
}

void client_verify(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++) {
        struct host *h = &w->hosts[i];
        const struct kl_controller *c;

        if (h->state != HOST_UP)
            continue;
        c = door_controller(h);
        for (size_t k = 0; k < kl_controller_topic_count(c); k++)
            if (topic_of_name(kl_controller_topic_at(c, k)->name) >=
                w->client->topic_count)
                world_fail(w, "acknowledged", "a topic that nobody asked for");
        for (int k = 0; k < w->client->topic_count && !w->failed; k++) {
            verify_topic(w, h, k);
            verify_records(w, h, k);
        }
    }
}
