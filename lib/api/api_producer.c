/*
 * The caller's side of a producer; see api_producer.h.
 */
#include "api/api_producer.h"

#include "api/api_handle.h"
#include "api/api_record.h"
#include "base/assert.h"
#include "base/config.h"

#include <kraftlog/error.h>
#include <string.h>

enum {
    /* Unused chunks of a producer: an eighth of buffer.memory, bounded. */
    PRODUCER_POOL_PART = 8,
    PRODUCER_POOL_MAX = 4 * 1024 * 1024,
    PRODUCER_RECORD_MAX = KL_BATCH_SIZE_MAX
};
#define PRODUCER_NS_PER_MS 1000000

/* ---- life -------------------------------------------------------------- */

void kl_api_producer_unref(struct kl_producer *p)
{
    struct kl_base_alloc alloc;
    struct kl_runtime_node *n;

    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    n = p->node;
    alloc = p->alloc;
    kl_pubsub_accumulator_deinit(&p->acc);
    kl_api_pool_close(p->pool);
    kl_os_mutex_deinit(&p->mutex);
    kl_base_free(&alloc, p, sizeof *p);
    kl_runtime_unref(n);
}

static struct kl_base_chunk *producer_chunk(size_t capacity, void *user)
{
    return kl_api_pool_get(user, capacity);
}

static int producer_codec(const struct kl_base_config *values,
                          int16_t *attributes)
{
    static const char *const names[] = {"none", "lz4", "zstd"};
    int64_t index =
        kl_base_config_value(values, KL_BASE_CONFIG_COMPRESSION_TYPE);
    enum kl_batch_codec codec;
    int rc = kl_batch_codec_by_name(names[index], &codec);

    if (rc == KL_OK)
        *attributes = (int16_t)codec;
    return rc;
}

static void producer_configure(struct kl_producer *p,
                               const struct kl_base_config *v,
                               int16_t attributes)
{
    struct kl_pubsub_config c = {0};

    c.batch_size = (uint32_t)kl_base_config_value(v, KL_BASE_CONFIG_BATCH_SIZE);
    c.in_flight_max =
        (uint32_t)kl_base_config_value(v, KL_BASE_CONFIG_MAX_IN_FLIGHT);
    c.memory_max =
        (uint64_t)kl_base_config_value(v, KL_BASE_CONFIG_BUFFER_MEMORY);
    c.linger_ns =
        kl_base_config_value(v, KL_BASE_CONFIG_LINGER_MS) * PRODUCER_NS_PER_MS;
    c.attributes = attributes;
    c.user_size = sizeof(struct kl_api_sending);
    c.seed = (uint32_t)(kl_runtime_now_ns(p->node) / 1024) & 0x7fffffffu;
    c.chunk_get = producer_chunk;
    c.user = p->pool;
    kl_pubsub_accumulator_init(&p->acc, &p->alloc, &c);
}

static int producer_make(struct kl_producer **out, struct kl_runtime_node *n,
                         const struct kl_base_config *values,
                         int16_t attributes)
{
    const struct kl_base_alloc *alloc = kl_runtime_alloc(n);
    struct kl_producer *p = kl_base_calloc(alloc, sizeof *p);
    size_t unused =
        (size_t)kl_base_config_value(values, KL_BASE_CONFIG_BUFFER_MEMORY) /
        PRODUCER_POOL_PART;

    if (!p)
        return KL_ENOMEM;
    if (unused > PRODUCER_POOL_MAX)
        unused = PRODUCER_POOL_MAX;
    if (kl_api_pool_new(&p->pool, alloc, unused) != KL_OK) {
        kl_base_free(alloc, p, sizeof *p);
        return KL_ENOMEM;
    }
    if (kl_os_mutex_init(&p->mutex) != KL_OK) {
        kl_api_pool_close(p->pool);
        kl_base_free(alloc, p, sizeof *p);
        return KL_ENOMEM;
    }
    atomic_init(&p->refs, 1);
    p->alloc = *alloc;
    p->node = n;
    kl_runtime_ref(n);
    kl_base_list_init(&p->bulks);
    producer_configure(p, values, attributes);
    kl_api_sender_init(p);
    *out = p;
    return KL_OK;
}

int kl_producer_new(kl_producer **out, kl_client *client,
                    const kl_config *config)
{
    const struct kl_base_config *values = kl_api_config_values(config);
    int16_t attributes;
    int rc;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    if (!client)
        return KL_EINVAL;
    rc = kl_runtime_check(client->node);
    /* A failed store refuses each record; reading goes on. */
    if (rc != KL_OK && rc != KL_EFAILED)
        return rc;
    rc = producer_codec(values, &attributes);
    if (rc != KL_OK)
        return rc;
    return producer_make(out, client->node, values, attributes);
}

void kl_producer_free(kl_producer *producer)
{
    if (!producer)
        return;
    /* In a child process locks and threads are not what they were. */
    if (kl_runtime_check(producer->node) == KL_EFORK)
        return;
    kl_api_sender_end(producer);
}

/* ---- errors ------------------------------------------------------------ */

/* Not for a full buffer: that is no failure, and a program may ask often. */
static int producer_refuse(struct kl_producer *p, const char *topic, int code)
{
    if (code == KL_EAGAIN)
        return code;
    kl_os_mutex_lock(&p->mutex);
    kl_base_error_set(&p->error, code, "%s: %s", topic, kl_strerror(code));
    kl_os_mutex_unlock(&p->mutex);
    return code;
}

int kl_producer_errmsg(const kl_producer *producer, char *buf, size_t size)
{
    struct kl_producer *p = (struct kl_producer *)producer;

    if (!p)
        return KL_EINVAL;
    return kl_api_error_text(p->node, &p->mutex, &p->error, buf, size);
}

/* ---- accepting records ------------------------------------------------- */

/* Asks the metadata, since this topic is new here or they have changed. */
static int producer_topic_look_up(struct kl_producer *p, const char *name,
                                  uint64_t version)
{
    struct kl_pubsub_topic *t = kl_pubsub_topic_find(&p->acc, name);
    const struct kl_runtime_topic *known;
    int rc;

    p->topic = NULL;
    if (!t || t->version != version) {
        known = kl_runtime_topic_get(p->node, name);
        if (!known) {
            if (t)
                kl_pubsub_topic_forget(&p->acc, t);
            return KL_ENOTOPIC;
        }
        rc = kl_pubsub_topic_update(&p->acc, name, &known->id,
                                    known->partition_count, known->batch_max,
                                    &t);
        kl_runtime_topic_unref(p->node, known);
        if (rc != KL_OK)
            return rc;
        t->version = version;
    }
    p->topic = t;
    p->topic_version = version;
    return KL_OK;
}

/* With the mutex; p->topic is the topic then. */
static inline int producer_topic(struct kl_producer *p, const char *name)
{
    uint64_t version = kl_runtime_topic_version(p->node);

    if (p->topic && p->topic_version == version &&
        strcmp(p->topic->name, name) == 0)
        return KL_OK;
    return producer_topic_look_up(p, name, version);
}

/* The time of a record whose caller gives none. Reading the clock costs as much
 * as everything else about a small record, so it is read once in a tick of the
 * system (1 to 4 ms); seeing the tick is cheap. With the mutex. */
static inline int64_t producer_now(struct kl_producer *p)
{
    int64_t tick_ms = kl_runtime_wall_tick_ms(p->node);

    if (tick_ms != p->tick_ms || tick_ms < 0) {
        p->tick_ms = tick_ms;
        p->now_ms = kl_runtime_wall_ms(p->node);
    }
    return p->now_ms;
}

static inline int producer_is_settled(const struct kl_producer *p)
{
    return kl_base_list_is_empty(&p->acc.build) &&
           kl_base_list_is_empty(&p->acc.outbox) && p->acc.idle_count == 0;
}

/* Nothing is to wait for its linger time until there is memory again. */
static void producer_press(struct kl_producer *p)
{
    p->pressed = 1;
    kl_pubsub_close_idle(&p->acc);
}

/* With the mutex; p->topic is the topic. */
static inline int producer_append(struct kl_producer *p, int32_t partition,
                                  const struct kl_batch_input *in,
                                  int64_t now_ns, void *op, uint32_t slot)
{
    int rc = kl_pubsub_accumulate(&p->acc, p->topic, partition, in, now_ns, op,
                                  slot);

    if (rc == KL_EAGAIN)
        p->wanted = kl_batch_record_bound(in);
    if (rc == KL_EAGAIN || (p->pressed && p->acc.idle_count))
        producer_press(p);
    return rc;
}

/* The way of one record from here to its batch. */
static int producer_accept(struct kl_producer *p, const char *topic,
                           int32_t partition, struct kl_batch_input *in,
                           struct kl_runtime_op *op)
{
    int64_t now_ns = 0;
    int wake = 0;
    int rc;

    if (p->acc.config.linger_ns > 0)
        now_ns = kl_runtime_now_ns(p->node);
    kl_os_mutex_lock(&p->mutex);
    rc = producer_topic(p, topic);
    if (rc == KL_OK) {
        if (in->timestamp == KL_TIMESTAMP_NOW)
            in->timestamp = producer_now(p);
        rc = producer_append(p, partition, in, now_ns, op, KL_PUBSUB_SLOT_NONE);
    }
    if (!producer_is_settled(p))
        wake = kl_api_sender_settle(p);
    kl_os_mutex_unlock(&p->mutex);
    if (wake)
        kl_api_sender_wake(p);
    return rc;
}

/* What all sends check first. */
static inline int producer_check(const struct kl_producer *p, const char *topic,
                                 int32_t partition, uint32_t flags)
{
    if (!p || !topic || partition < KL_PARTITION_ANY || flags != 0)
        return KL_EINVAL;
    return kl_runtime_check(p->node);
}

static int producer_send_input(struct kl_producer *p, const char *topic,
                               int32_t partition, struct kl_batch_input *in,
                               kl_op **op_out)
{
    struct kl_runtime_op *op = NULL;
    int rc;

    /* One reference is the handle's, one is given up when it completes. */
    if (op_out && kl_runtime_op_new(&op, p->node, 2) != KL_OK)
        return producer_refuse(p, topic, KL_ENOMEM);
    rc = producer_accept(p, topic, partition, in, op);
    if (rc != KL_OK) {
        kl_runtime_op_unref(op);
        kl_runtime_op_unref(op);
        return producer_refuse(p, topic, rc);
    }
    if (op_out)
        *op_out = kl_api_op_wrap(op);
    return KL_OK;
}

int kl_producer_send(kl_producer *producer, const char *topic,
                     int32_t partition, const void *key, size_t key_size,
                     const void *value, size_t value_size, int64_t timestamp_ms,
                     uint32_t flags, kl_op **op_out)
{
    struct kl_batch_input in = {0};
    int rc;

    if (op_out)
        *op_out = NULL;
    rc = producer_check(producer, topic, partition, flags);
    if (rc != KL_OK)
        return rc;
    if ((!key && key_size > 0) || (!value && value_size > 0) ||
        timestamp_ms < KL_TIMESTAMP_NOW)
        return KL_EINVAL;
    if (key_size > PRODUCER_RECORD_MAX || value_size > PRODUCER_RECORD_MAX)
        return producer_refuse(producer, topic, KL_ERECORDSIZE);
    in.timestamp = timestamp_ms;
    in.key = key;
    in.key_size = (uint32_t)key_size;
    in.value = value;
    in.value_size = (uint32_t)value_size;
    return producer_send_input(producer, topic, partition, &in, op_out);
}

int kl_producer_send_record(kl_producer *producer, const char *topic,
                            int32_t partition, const kl_record *record,
                            uint32_t flags, kl_op **op_out)
{
    struct kl_api_scratch scratch;
    struct kl_batch_input in;
    int rc;

    if (op_out)
        *op_out = NULL;
    rc = producer_check(producer, topic, partition, flags);
    if (rc != KL_OK)
        return rc;
    if (!record)
        return KL_EINVAL;
    rc = kl_api_record_input(record, &producer->alloc, &in, &scratch);
    if (rc != KL_OK)
        return producer_refuse(producer, topic, rc);
    rc = producer_send_input(producer, topic, partition, &in, op_out);
    kl_api_scratch_free(&scratch);
    return rc;
}

/* ---- bulk -------------------------------------------------------------- */

/* The arrays of a bulk send. */
struct producer_columns
{
    const void *const *keys;
    const uint64_t *key_sizes;
    const void *const *values;
    const uint64_t *value_sizes;
    const int64_t *timestamps;
    size_t count;
    int64_t now_ms;
};

/* Row index as a record; KL_EINVAL, KL_ERECORDSIZE. */
static inline int producer_row(const struct producer_columns *c, size_t index,
                               struct kl_batch_input *in)
{
    uint64_t key_size = c->keys && c->keys[index] ? c->key_sizes[index] : 0;
    uint64_t value_size =
        c->values && c->values[index] ? c->value_sizes[index] : 0;

    if (key_size > PRODUCER_RECORD_MAX || value_size > PRODUCER_RECORD_MAX)
        return KL_ERECORDSIZE;
    in->key = c->keys ? c->keys[index] : NULL;
    in->key_size = (uint32_t)key_size;
    in->value = c->values ? c->values[index] : NULL;
    in->value_size = (uint32_t)value_size;
    in->timestamp = c->now_ms;
    if (c->timestamps && c->timestamps[index] != KL_TIMESTAMP_NOW) {
        in->timestamp = c->timestamps[index];
        if (in->timestamp < 0)
            return KL_EINVAL;
    }
    return KL_OK;
}

/* With the mutex: accepts rows from *index on, until one cannot be. */
static int producer_accept_rows(struct kl_producer *p, const char *topic,
                                int32_t partition,
                                const struct producer_columns *c,
                                struct kl_api_bulk *bulk, size_t *index)
{
    struct kl_batch_input in = {0};
    int64_t now_ns = 0;
    int rc;

    if (p->acc.config.linger_ns > 0)
        now_ns = kl_runtime_now_ns(p->node);
    rc = producer_topic(p, topic);
    while (*index < c->count) {
        if (rc == KL_OK)
            rc = producer_row(c, *index, &in);
        if (rc != KL_OK)
            return rc;
        rc = producer_append(p, partition, &in, now_ns, bulk, (uint32_t)*index);
        if (rc != KL_OK)
            return rc;
        ++*index;
        /* Full batches leave while the next is filled. */
        if (!kl_base_list_is_empty(&p->acc.build)) {
            int wake = kl_api_sender_settle(p);

            if (wake) {
                kl_os_mutex_unlock(&p->mutex);
                kl_api_sender_wake(p);
                kl_os_mutex_lock(&p->mutex);
            }
            /* The mutex was free in between. */
            rc = producer_topic(p, topic);
        }
    }
    return KL_OK;
}

static int producer_bulk_new(struct kl_producer *p, size_t count,
                             struct kl_api_bulk **out)
{
    struct kl_api_bulk *bulk = kl_base_calloc(&p->alloc, sizeof *bulk);

    if (!bulk)
        return KL_ENOMEM;
    if (kl_runtime_op_new(&bulk->op, p->node, 2) != KL_OK ||
        kl_runtime_op_reserve(bulk->op, count) != KL_OK) {
        if (bulk->op) {
            kl_runtime_op_unref(bulk->op);
            kl_runtime_op_unref(bulk->op);
        }
        kl_api_bulk_free(p, bulk);
        return KL_ENOMEM;
    }
    kl_base_list_init(&bulk->link);
    /* One more, so that it is not finished before its sender is. */
    atomic_init(&bulk->remaining, count + 1);
    bulk->level = KL_LEVEL_REPLICATED;
    bulk->epoch = -1;
    *out = bulk;
    return KL_OK;
}

/* The sender is done: what it did not send needs no answer. With the mutex. */
static void producer_bulk_sent(struct kl_producer *p, struct kl_api_bulk *bulk,
                               size_t count, size_t accepted)
{
    bulk->accepted = accepted;
    if (kl_api_bulk_answered(bulk, count + 1 - accepted))
        kl_base_list_push(&p->bulks, &bulk->link);
}

static int producer_send_rows(struct kl_producer *p, const char *topic,
                              int32_t partition,
                              const struct producer_columns *c,
                              struct kl_api_bulk *bulk, size_t *accepted)
{
    int wake;
    int rc;

    kl_os_mutex_lock(&p->mutex);
    rc = producer_accept_rows(p, topic, partition, c, bulk, accepted);
    if (bulk && *accepted > 0)
        producer_bulk_sent(p, bulk, c->count, *accepted);
    wake = kl_api_sender_settle(p);
    kl_os_mutex_unlock(&p->mutex);
    if (wake)
        kl_api_sender_wake(p);
    return rc;
}

int kl_producer_send_bulk(kl_producer *producer, const char *topic,
                          int32_t partition, const void *const *keys,
                          const uint64_t *key_sizes, const void *const *values,
                          const uint64_t *value_sizes,
                          const int64_t *timestamps, size_t count,
                          uint32_t flags, size_t *accepted_out, kl_op **op_out)
{
    struct producer_columns c = {keys,       key_sizes, values, value_sizes,
                                 timestamps, count,     0};
    struct kl_api_bulk *bulk = NULL;
    size_t accepted = 0;
    int rc;

    if (accepted_out)
        *accepted_out = 0;
    if (op_out)
        *op_out = NULL;
    rc = producer_check(producer, topic, partition, flags);
    if (rc != KL_OK)
        return rc;
    if ((keys && !key_sizes) || (values && !value_sizes) ||
        count >= KL_PUBSUB_SLOT_NONE)
        return KL_EINVAL;
    if (count == 0)
        return KL_OK;
    if (op_out && producer_bulk_new(producer, count, &bulk) != KL_OK)
        return producer_refuse(producer, topic, KL_ENOMEM);
    if (op_out)
        *op_out = kl_api_op_wrap(bulk->op);
    c.now_ms = kl_runtime_wall_ms(producer->node);
    rc = producer_send_rows(producer, topic, partition, &c, bulk, &accepted);
    if (op_out && accepted == 0) {
        *op_out = NULL;
        kl_runtime_op_unref(bulk->op);
        kl_runtime_op_unref(bulk->op);
        kl_api_bulk_free(producer, bulk);
    }
    if (accepted_out)
        *accepted_out = accepted;
    return rc == KL_OK ? KL_OK : producer_refuse(producer, topic, rc);
}

/* ---- waiting ----------------------------------------------------------- */

struct producer_flush
{
    struct kl_producer *producer;
    uint64_t sequence;
};

static int producer_is_flushed(void *arg)
{
    const struct producer_flush *f = arg;
    uint64_t oldest;

    kl_os_mutex_lock(&f->producer->mutex);
    oldest = kl_pubsub_oldest(&f->producer->acc);
    kl_os_mutex_unlock(&f->producer->mutex);
    return oldest > f->sequence;
}

int kl_producer_flush(kl_producer *producer, int32_t timeout_ms)
{
    struct producer_flush f = {producer, 0};
    int wake;
    int rc;

    if (!producer)
        return KL_EINVAL;
    rc = kl_runtime_check(producer->node);
    if (rc != KL_OK && rc != KL_EFAILED)
        return rc;
    kl_os_mutex_lock(&producer->mutex);
    kl_pubsub_close_all(&producer->acc);
    /* Before other threads may open batches, while these are built. */
    f.sequence = producer->acc.sequence;
    wake = kl_api_sender_settle(producer);
    kl_os_mutex_unlock(&producer->mutex);
    if (wake)
        kl_api_sender_wake(producer);
    rc = kl_runtime_wait(producer->node, producer_is_flushed, &f, timeout_ms);
    if (rc != KL_OK)
        return rc;
    kl_os_mutex_lock(&producer->mutex);
    rc = producer->failure;
    producer->failure = KL_OK;
    kl_os_mutex_unlock(&producer->mutex);
    return rc;
}

static int producer_has_room(void *arg)
{
    struct kl_producer *p = arg;
    int room;

    kl_os_mutex_lock(&p->mutex);
    room = kl_api_producer_has_room(p);
    kl_os_mutex_unlock(&p->mutex);
    return room;
}

int kl_producer_wait(kl_producer *producer, int32_t timeout_ms)
{
    int wake;
    int rc;

    if (!producer)
        return KL_EINVAL;
    rc = kl_runtime_check(producer->node);
    if (rc != KL_OK && rc != KL_EFAILED)
        return rc;
    kl_os_mutex_lock(&producer->mutex);
    if (!kl_api_producer_has_room(producer))
        producer_press(producer);
    wake = kl_api_sender_settle(producer);
    kl_os_mutex_unlock(&producer->mutex);
    if (wake)
        kl_api_sender_wake(producer);
    return kl_runtime_wait(producer->node, producer_has_room, producer,
                           timeout_ms);
}

uint64_t kl_producer_buffered(const kl_producer *producer)
{
    struct kl_producer *p = (struct kl_producer *)producer;
    uint64_t used;

    if (!p || kl_runtime_check(p->node) == KL_EFORK)
        return 0;
    kl_os_mutex_lock(&p->mutex);
    used = p->acc.memory_used;
    kl_os_mutex_unlock(&p->mutex);
    return used;
}
