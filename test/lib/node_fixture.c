#include "node_fixture.h"

#include <check.h>
#include <kraftlog/node.h>
#include <stdlib.h>
#include <string.h>

static const char node_dir[] = "data";

void node_fixture_init(struct node_fixture *f)
{
    memset(f, 0, sizeof *f);
    fail_alloc_init(&f->memory);
    ck_assert_int_eq(kl_os_vfs_memory_new(&f->vfs, &kl_base_alloc_libc, 0), 0);
    f->options.alloc = f->caller = f->memory.alloc;
    kl_base_config_init(&f->options.config);
    trace_vfs_init(&f->trace, f->vfs);
    trace_lanes_init(&f->jobs, NULL);
    f->options.vfs = &f->trace.base;
    f->options.lanes = &f->jobs.base;
    node_fixture_set(f, "wal.bytes", "1m");
}

static int64_t clock_monotonic_ns(void *user)
{
    return ((struct node_fixture *)user)->now_ns += 100000;
}

static int64_t clock_wall_ms(void *user)
{
    return ((struct node_fixture *)user)->wall_ms;
}

void node_fixture_simulate_clock(struct node_fixture *f)
{
    f->now_ns = 1000000000;
    f->wall_ms = 1700000000000;
    f->clock.monotonic_ns = clock_monotonic_ns;
    f->clock.wall_ms = clock_wall_ms;
    f->clock.user = f;
    f->options.clock = &f->clock;
}

void node_fixture_set(struct node_fixture *f, const char *key,
                      const char *value)
{
    ck_assert_int_eq(kl_base_config_set(&f->options.config, key, value, NULL),
                     0);
}

int node_fixture_try_open(struct node_fixture *f, uint32_t flags)
{
    int r;

    ck_assert_ptr_null(f->n);
    trace_vfs_allow_owner(&f->trace, 1);
    r = kl_runtime_new(&f->n, &f->options);
    if (r)
        return r;
    r = kl_runtime_open(f->n, node_dir, flags);
    if (r == 0 && f->options.lanes)
        trace_vfs_watch_all(&f->trace);
    return r;
}

void node_fixture_open(struct node_fixture *f)
{
    char text[256] = "";
    int r = node_fixture_try_open(f, KL_OPEN_CREATE);

    kl_runtime_errmsg(f->n, text, sizeof text);
    ck_assert_msg(r == 0, "%s: %s", kl_error_name(r), text);
}

void node_fixture_stop(struct node_fixture *f)
{
    if (!f->n)
        return;
    ck_assert_int_eq(kl_runtime_stop(f->n, -1), 0);
    node_fixture_crash(f);
}

void node_fixture_crash(struct node_fixture *f)
{
    trace_vfs_allow_owner(&f->trace, 1);
    if (f->n)
        ck_assert_int_eq(kl_runtime_close(f->n), 0);
    f->n = NULL;
}

void node_fixture_deinit(struct node_fixture *f)
{
    node_fixture_crash(f);
    trace_lanes_deinit(&f->jobs);
    trace_vfs_deinit(&f->trace);
    f->vfs->ops->free(f->vfs);
    fail_alloc_deinit(&f->memory);
}

struct kl_runtime_op *node_fixture_do(struct node_fixture *f,
                                      const struct kl_runtime_wish *wish)
{
    struct kl_runtime_op *op = NULL;

    ck_assert_int_eq(kl_runtime_command(f->n, wish, &op), 0);
    node_fixture_until(f, kl_runtime_op_is_done(op));
    return op;
}

int node_fixture_code(struct node_fixture *f,
                      const struct kl_runtime_wish *wish)
{
    struct kl_runtime_op *op = node_fixture_do(f, wish);
    int code = op->code;

    kl_runtime_op_unref(op);
    return code;
}

struct kl_base_uuid node_fixture_topic(struct node_fixture *f, const char *name,
                                       int32_t partitions, const char *key,
                                       const char *value)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_CREATE_TOPIC,
        .topic = name,
        .number = partitions,
        .replication = 1,
    };
    const struct kl_runtime_topic *topic;
    struct kl_base_config config;
    struct kl_base_uuid id;

    kl_base_config_init(&config);
    if (key)
        ck_assert_int_eq(kl_base_config_set(&config, key, value, NULL), 0);
    wish.config = &config;
    ck_assert_int_eq(node_fixture_code(f, &wish), 0);
    topic = kl_runtime_topic_get(f->n, name);
    ck_assert_ptr_nonnull(topic);
    id = topic->id;
    kl_runtime_topic_unref(f->n, topic);
    return id;
}

struct kl_base_chunk *node_fixture_frame(struct node_fixture *f,
                                         const struct kl_base_uuid *topic_id,
                                         int32_t partition, int count,
                                         int64_t first_ms, size_t size)
{
    uint64_t seed = kl_batch_seed(topic_id, partition);
    struct kl_batch_builder builder;
    struct kl_base_chunk *chunk = NULL;
    char *value = calloc(1, size + 1);

    ck_assert_ptr_nonnull(value);
    kl_batch_builder_init(&builder, &f->caller);
    for (int i = 0; i < count; i++) {
        struct kl_batch_input in = {0};

        memset(value, '0' + i % 10, size + 1);
        in.timestamp = first_ms + i;
        in.value = value;
        in.value_size = i == 0 && size ? (uint32_t)size : 1;
        ck_assert_int_eq(
            kl_batch_builder_append(&builder, KL_BATCH_SIZE_MAX, 256, &in), 0);
    }
    ck_assert_int_eq(kl_batch_builder_finish(&builder, seed, 0, &chunk), 0);
    kl_batch_builder_deinit(&builder);
    free(value);
    return chunk;
}

static void produce_done(struct kl_runtime_node *n,
                         struct kl_runtime_produce *p)
{
    (void)n;
    ((struct node_fixture_produce *)p)->done++;
}

/* Everything of the owner is done through a request, as other threads do. */
struct node_fixture_request
{
    struct kl_runtime_request base;
    struct kl_runtime_produce *produce;
    struct kl_runtime_fetch *fetch;
    int ran;
};

static void request_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                        int closed)
{
    struct node_fixture_request *q = (struct node_fixture_request *)r;

    (void)closed;
    q->ran = 1;
    if (q->produce)
        kl_runtime_produce(n, q->produce);
    if (q->fetch)
        kl_runtime_fetch(n, q->fetch);
}

static void request_do(struct node_fixture *f, struct node_fixture_request *q)
{
    q->base.run = request_run;
    kl_runtime_submit(f->n, &q->base);
    node_fixture_until(f, q->ran);
}

void node_fixture_produce(struct node_fixture *f,
                          struct node_fixture_produce *p,
                          const struct kl_base_uuid *topic_id,
                          int32_t partition, struct kl_base_chunk *frame)
{
    struct node_fixture_request q = {.produce = &p->base};

    memset(p, 0, sizeof *p);
    p->base.topic_id = *topic_id;
    p->base.partition = partition;
    p->base.frame = frame;
    p->base.done = produce_done;
    request_do(f, &q);
}

int64_t node_fixture_append(struct node_fixture *f,
                            const struct kl_base_uuid *topic_id,
                            int32_t partition, int count, int64_t first_ms)
{
    struct node_fixture_produce p;

    node_fixture_produce(
        f, &p, topic_id, partition,
        node_fixture_frame(f, topic_id, partition, count, first_ms, 0));
    node_fixture_until(f, p.done);
    ck_assert_int_eq(p.base.code, 0);
    return p.base.base_offset;
}

static void fetch_done(struct kl_runtime_node *n, struct kl_runtime_fetch *r)
{
    (void)n;
    ((struct node_fixture_fetch *)r)->done++;
}

void node_fixture_fetch(struct node_fixture *f, struct node_fixture_fetch *r,
                        const struct kl_base_uuid *topic_id, int32_t partition,
                        int64_t offset)
{
    struct node_fixture_request q = {.fetch = &r->base};

    memset(r, 0, sizeof *r);
    r->base.topic_id = *topic_id;
    r->base.partition = partition;
    r->base.read.offset = offset;
    r->base.read.bytes_max = 1 << 20;
    r->base.done = fetch_done;
    request_do(f, &q);
}
