/*
 * The program's side of a consumer; see api_consumer.h.
 */
#include "api/api_consumer.h"

#include "api/api_handle.h"
#include "base/assert.h"
#include "base/config.h"

#include <kraftlog/client.h>
#include <kraftlog/error.h>
#include <string.h>

enum {
    CONSUMER_POOL_MAX = 16, /* unused events that are kept */
    CONSUMER_NAME_MAX = 249 /* of a topic */
};
#define CONSUMER_NS_PER_MS 1000000

/* ---- events ------------------------------------------------------------ */

struct kl_event *kl_api_event_get(struct kl_consumer *c,
                                  struct kl_api_assignment *a)
{
    struct kl_base_list *item = kl_base_list_pop(&c->pool);
    struct kl_event *e;

    if (item) {
        c->pool_count--;
        e = KL_BASE_CONTAINER(item, struct kl_event, link);
    } else {
        e = kl_base_calloc(&c->alloc, sizeof *e);
        if (!e)
            return NULL;
        kl_base_list_init(&e->link);
        e->alloc = &c->alloc;
    }
    kl_api_event_reset(e);
    e->consumer = c;
    e->assignment = a;
    a->refs++;
    kl_api_consumer_ref(c);
    return e;
}

void kl_api_event_put(struct kl_consumer *c, struct kl_event *e)
{
    kl_api_assignment_unref(e->assignment);
    e->assignment = NULL;
    if (c->pool_count == CONSUMER_POOL_MAX) {
        kl_api_event_destroy(e);
        return;
    }
    c->pool_count++;
    kl_base_list_push(&c->pool, &e->link);
}

/* ---- assignments ------------------------------------------------------- */

void kl_api_assignment_unref(struct kl_api_assignment *a)
{
    KL_ASSERT(a->refs > 0);
    if (--a->refs > 0)
        return;
    KL_ASSERT(kl_base_list_is_empty(&a->results));
    kl_base_list_remove(&a->ready);
    kl_base_free(&a->consumer->alloc, a, sizeof *a + a->key_size + 1);
}

void kl_api_assignment_push(struct kl_api_assignment *a)
{
    if (!kl_base_list_is_empty(&a->todo))
        return;
    a->refs++;
    kl_base_list_push(&a->consumer->todo, &a->todo);
}

void kl_api_assignment_settle(struct kl_api_assignment *a)
{
    if (a->removed || !kl_pubsub_position_due(&a->position)) {
        kl_base_list_remove(&a->ready);
        return;
    }
    if (kl_base_list_is_empty(&a->ready))
        kl_base_list_push(&a->consumer->ready, &a->ready);
}

/* Key of a partition in the map: its number, then the name. The size, or 0 for
 * a name that no topic has. */
static size_t consumer_key(const char *topic, int32_t partition,
                           uint8_t key[sizeof partition + CONSUMER_NAME_MAX])
{
    size_t size = strlen(topic);

    if (size == 0 || size > CONSUMER_NAME_MAX)
        return 0;
    memcpy(key, &partition, sizeof partition);
    memcpy(key + sizeof partition, topic, size);
    return sizeof partition + size;
}

static struct kl_api_assignment *
consumer_find(const struct kl_consumer *c, const char *topic, int32_t partition)
{
    uint8_t key[sizeof partition + CONSUMER_NAME_MAX];
    size_t size = consumer_key(topic, partition, key);

    return size ? kl_base_map_get(&c->assignments, key, size) : NULL;
}

static int consumer_add(struct kl_consumer *c, const char *topic,
                        const struct kl_runtime_topic *known, int32_t partition,
                        struct kl_api_assignment **out)
{
    uint8_t key[sizeof partition + CONSUMER_NAME_MAX];
    size_t size = consumer_key(topic, partition, key);
    struct kl_api_assignment *a;

    if (!size)
        return KL_ENOTOPIC;
    a = kl_base_calloc(&c->alloc, sizeof *a + size + 1);
    if (!a)
        return KL_ENOMEM;
    kl_base_list_init(&a->ready);
    kl_base_list_init(&a->todo);
    kl_base_list_init(&a->results);
    a->consumer = c;
    a->topic_id = known->id;
    a->partition = partition;
    a->seed = kl_batch_seed(&known->id, partition);
    a->key_size = size;
    memcpy(a->key, key, size);
    a->name = (char *)a->key + sizeof partition;
    a->refs = 1;
    kl_pubsub_position_init(&a->position, c->reset, c->prefetch);
    if (kl_base_map_put(&c->assignments, a->key, a->key_size, a) != KL_OK) {
        kl_api_assignment_unref(a);
        return KL_ENOMEM;
    }
    *out = a;
    return KL_OK;
}

/* Takes the results that wait into a list of the caller, who drops them without
 * the mutex. */
static void consumer_take_results(struct kl_api_assignment *a,
                                  struct kl_base_list *dropped)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(&a->results)))
        kl_base_list_push(dropped, item);
}

static void consumer_drop(struct kl_base_list *dropped)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(dropped)))
        kl_event_free(KL_BASE_CONTAINER(item, struct kl_event, link));
}

/* Everything of it is stale from now on. */
static void consumer_remove(struct kl_consumer *c, struct kl_api_assignment *a,
                            struct kl_base_list *dropped)
{
    (void)kl_base_map_remove(&c->assignments, a->key, a->key_size);
    a->removed = 1;
    consumer_take_results(a, dropped);
    kl_pubsub_seek(&a->position, KL_OFFSET_BEGIN, 0);
    kl_api_assignment_settle(a);
    kl_api_assignment_push(a);
    kl_api_assignment_unref(a);
}

/* ---- life -------------------------------------------------------------- */

void kl_api_consumer_ref(struct kl_consumer *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void kl_api_consumer_unref(struct kl_consumer *c)
{
    struct kl_base_alloc alloc;
    struct kl_runtime_node *n;
    struct kl_base_list *item;

    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    KL_ASSERT(c->assignments.count == 0);
    KL_ASSERT(kl_base_list_is_empty(&c->todo));
    while ((item = kl_base_list_pop(&c->pool)))
        kl_api_event_destroy(KL_BASE_CONTAINER(item, struct kl_event, link));
    n = c->node;
    alloc = c->alloc;
    kl_base_map_deinit(&c->assignments);
    kl_os_mutex_deinit(&c->mutex);
    kl_base_free(&alloc, c, sizeof *c);
    kl_runtime_unref(n);
}

static void consumer_configure(struct kl_consumer *c,
                               const struct kl_base_config *v)
{
    static const enum kl_pubsub_reset resets[] = {
        [KL_BASE_RESET_EARLIEST] = KL_PUBSUB_RESET_EARLIEST,
        [KL_BASE_RESET_LATEST] = KL_PUBSUB_RESET_LATEST,
        [KL_BASE_RESET_NONE] = KL_PUBSUB_RESET_NONE,
    };

    c->bytes_max =
        (uint32_t)kl_base_config_value(v, KL_BASE_CONFIG_FETCH_MAX_BYTES);
    c->prefetch =
        (uint32_t)kl_base_config_value(v, KL_BASE_CONFIG_FETCH_PREFETCH);
    c->reset =
        resets[kl_base_config_value(v, KL_BASE_CONFIG_AUTO_OFFSET_RESET)];
}

int kl_consumer_new(kl_consumer **out, kl_client *client,
                    const kl_config *config)
{
    const struct kl_base_alloc *alloc;
    struct kl_consumer *c;
    int rc;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    if (!client)
        return KL_EINVAL;
    rc = kl_runtime_check(client->node);
    if (rc != KL_OK)
        return rc;
    alloc = kl_runtime_alloc(client->node);
    c = kl_base_calloc(alloc, sizeof *c);
    if (!c)
        return KL_ENOMEM;
    if (kl_os_mutex_init(&c->mutex) != KL_OK) {
        kl_base_free(alloc, c, sizeof *c);
        return KL_ENOMEM;
    }
    atomic_init(&c->refs, 1);
    c->alloc = *alloc;
    c->node = client->node;
    kl_runtime_ref(c->node);
    kl_base_map_init(&c->assignments, &c->alloc);
    kl_base_list_init(&c->ready);
    kl_base_list_init(&c->todo);
    kl_base_list_init(&c->pool);
    consumer_configure(c, kl_api_config_values(config));
    kl_api_fetcher_init(c);
    *out = c;
    return KL_OK;
}

void kl_consumer_free(kl_consumer *consumer)
{
    struct kl_base_list dropped;
    struct kl_api_assignment *a;
    size_t pos;

    if (!consumer)
        return;
    /* In a child process locks and threads are not what they were. */
    if (kl_runtime_check(consumer->node) == KL_EFORK)
        return;
    kl_base_list_init(&dropped);
    kl_os_mutex_lock(&consumer->mutex);
    for (;;) {
        /* The map may not change while it is iterated over. */
        pos = 0;
        a = kl_base_map_next(&consumer->assignments, &pos);
        if (!a)
            break;
        consumer_remove(consumer, a, &dropped);
    }
    kl_os_mutex_unlock(&consumer->mutex);
    consumer_drop(&dropped);
    kl_api_fetcher_end(consumer);
}

/* ---- errors ------------------------------------------------------------ */

/* With the mutex. */
static int consumer_refuse(struct kl_consumer *c, const char *topic,
                           int32_t partition, int code)
{
    if (code != KL_OK)
        kl_base_error_set(&c->error, code, "%s-%d: %s", topic, (int)partition,
                          kl_strerror(code));
    return code;
}

int kl_consumer_errmsg(const kl_consumer *consumer, char *buf, size_t size)
{
    struct kl_consumer *c = (struct kl_consumer *)consumer;

    if (!c)
        return KL_EINVAL;
    return kl_api_error_text(c->node, &c->mutex, &c->error, buf, size);
}

/* ---- assigning and seeking --------------------------------------------- */

static int consumer_check(const struct kl_consumer *c, const char *topic,
                          int32_t partition)
{
    if (!c || !topic || partition < 0)
        return KL_EINVAL;
    return kl_runtime_check(c->node);
}

static int consumer_offset_check(int64_t offset)
{
    if (offset < 0 && offset != KL_OFFSET_BEGIN && offset != KL_OFFSET_END)
        return KL_EINVAL;
    return KL_OK;
}

/* With the mutex, which is free afterwards; wakes the owner where it must. */
static void consumer_leave(struct kl_consumer *c)
{
    int wake = kl_api_fetcher_wants(c);

    kl_os_mutex_unlock(&c->mutex);
    if (wake)
        kl_api_fetcher_wake(c);
}

static int consumer_assign(struct kl_consumer *c, const char *topic,
                           int32_t partition, int64_t offset)
{
    const struct kl_runtime_topic *known;
    struct kl_api_assignment *a;
    int rc;

    if (consumer_find(c, topic, partition))
        return KL_ESTATE;
    known = kl_runtime_topic_get(c->node, topic);
    if (!known)
        return KL_ENOTOPIC;
    rc = partition < known->partition_count
             ? consumer_add(c, topic, known, partition, &a)
             : KL_ENOTOPIC;
    kl_runtime_topic_unref(c->node, known);
    if (rc != KL_OK)
        return rc;
    kl_pubsub_seek(&a->position, offset, 0);
    kl_api_assignment_push(a);
    return KL_OK;
}

int kl_consumer_assign(kl_consumer *consumer, const char *topic,
                       int32_t partition, int64_t offset, uint32_t flags)
{
    int rc = consumer_check(consumer, topic, partition);

    if (rc == KL_OK)
        rc = consumer_offset_check(offset);
    if (rc != KL_OK)
        return rc;
    if (flags != 0)
        return KL_EINVAL;
    kl_os_mutex_lock(&consumer->mutex);
    rc = consumer_refuse(consumer, topic, partition,
                         consumer_assign(consumer, topic, partition, offset));
    consumer_leave(consumer);
    return rc;
}

/* Finds an assigned partition: 0 with the mutex, or a code without it. */
static int consumer_enter(struct kl_consumer *c, const char *topic,
                          int32_t partition, struct kl_api_assignment **out)
{
    int rc = consumer_check(c, topic, partition);

    if (rc != KL_OK)
        return rc;
    kl_os_mutex_lock(&c->mutex);
    *out = consumer_find(c, topic, partition);
    if (*out)
        return KL_OK;
    rc = consumer_refuse(c, topic, partition, KL_ENOTOPIC);
    kl_os_mutex_unlock(&c->mutex);
    return rc;
}

int kl_consumer_unassign(kl_consumer *consumer, const char *topic,
                         int32_t partition)
{
    struct kl_base_list dropped;
    struct kl_api_assignment *a;
    int rc = consumer_enter(consumer, topic, partition, &a);

    if (rc != KL_OK)
        return rc;
    kl_base_list_init(&dropped);
    consumer_remove(consumer, a, &dropped);
    consumer_leave(consumer);
    consumer_drop(&dropped);
    return KL_OK;
}

static int consumer_seek(struct kl_consumer *c, const char *topic,
                         int32_t partition, int64_t spec, int64_t timestamp)
{
    struct kl_base_list dropped;
    struct kl_api_assignment *a;
    int rc = consumer_enter(c, topic, partition, &a);

    if (rc != KL_OK)
        return rc;
    kl_base_list_init(&dropped);
    consumer_take_results(a, &dropped);
    kl_pubsub_seek(&a->position, spec, timestamp);
    kl_api_assignment_settle(a);
    kl_api_assignment_push(a);
    consumer_leave(c);
    consumer_drop(&dropped);
    return KL_OK;
}

int kl_consumer_seek(kl_consumer *consumer, const char *topic,
                     int32_t partition, int64_t offset)
{
    if (consumer_offset_check(offset) != KL_OK)
        return KL_EINVAL;
    return consumer_seek(consumer, topic, partition, offset, 0);
}

int kl_consumer_seek_timestamp(kl_consumer *consumer, const char *topic,
                               int32_t partition, int64_t timestamp_ms)
{
    if (timestamp_ms < 0)
        return KL_EINVAL;
    return consumer_seek(consumer, topic, partition, KL_OFFSET_TIMESTAMP,
                         timestamp_ms);
}

static int consumer_set_paused(struct kl_consumer *c, const char *topic,
                               int32_t partition, int paused)
{
    struct kl_api_assignment *a;
    int rc = consumer_enter(c, topic, partition, &a);

    if (rc != KL_OK)
        return rc;
    a->position.paused = paused != 0;
    kl_api_assignment_settle(a);
    kl_api_assignment_push(a);
    consumer_leave(c);
    return KL_OK;
}

int kl_consumer_pause(kl_consumer *consumer, const char *topic,
                      int32_t partition)
{
    return consumer_set_paused(consumer, topic, partition, 1);
}

int kl_consumer_resume(kl_consumer *consumer, const char *topic,
                       int32_t partition)
{
    return consumer_set_paused(consumer, topic, partition, 0);
}

int kl_consumer_position(kl_consumer *consumer, const char *topic,
                         int32_t partition, int64_t *offset_out)
{
    struct kl_api_assignment *a;
    int rc;

    if (!offset_out)
        return KL_EINVAL;
    rc = consumer_enter(consumer, topic, partition, &a);
    if (rc != KL_OK)
        return rc;
    if (a->position.resolved)
        *offset_out = a->position.position;
    else
        rc = KL_EAGAIN;
    kl_os_mutex_unlock(&consumer->mutex);
    return rc;
}

int kl_consumer_lag(kl_consumer *consumer, const char *topic, int32_t partition,
                    int64_t *records_out)
{
    struct kl_api_assignment *a;
    int rc;

    if (!records_out)
        return KL_EINVAL;
    rc = consumer_enter(consumer, topic, partition, &a);
    if (rc != KL_OK)
        return rc;
    if (!a->position.resolved || a->position.high_watermark < 0)
        rc = KL_EAGAIN;
    else if (a->position.high_watermark < a->position.position)
        *records_out = 0;
    else
        *records_out = a->position.high_watermark - a->position.position;
    kl_os_mutex_unlock(&consumer->mutex);
    return rc;
}

/* ---- polling ----------------------------------------------------------- */

/* An event that says something about the position. */
static int consumer_tell(struct kl_consumer *c, struct kl_api_assignment *a,
                         struct kl_event **out)
{
    struct kl_event *e = kl_api_event_get(c, a);

    if (!e)
        return KL_ENOMEM;
    if (kl_pubsub_error_due(&a->position)) {
        kl_pubsub_tell_error(&a->position);
        e->type = KL_EVENT_ERROR;
        e->code = a->position.code;
    } else {
        kl_pubsub_tell_end(&a->position);
        e->type = KL_EVENT_END;
    }
    e->offset = a->position.position;
    e->next_offset = e->code ? a->position.behind : e->offset;
    e->high_watermark = a->position.high_watermark;
    *out = e;
    return KL_OK;
}

static void consumer_give(struct kl_api_assignment *a, struct kl_event **out)
{
    struct kl_base_list *item = kl_base_list_pop(&a->results);

    KL_ASSERT(item);
    *out = KL_BASE_CONTAINER(item, struct kl_event, link);
    kl_pubsub_gave(&a->position, (*out)->fetch.read.next_offset);
}

/* The next event of the partition whose turn it is; NULL where there is none.
 * With the mutex. */
static int consumer_take(struct kl_consumer *c, struct kl_event **out)
{
    struct kl_base_list *item;
    int rc = KL_OK;

    *out = NULL;
    while (!*out && rc == KL_OK && (item = kl_base_list_pop(&c->ready))) {
        struct kl_api_assignment *a =
            KL_BASE_CONTAINER(item, struct kl_api_assignment, ready);

        if (kl_pubsub_position_due(&a->position)) {
            if (a->position.ready > 0)
                consumer_give(a, out);
            else
                rc = consumer_tell(c, a, out);
        }
        /* Behind the others, where there is more. */
        kl_api_assignment_settle(a);
        if (!a->position.busy)
            kl_api_assignment_push(a);
    }
    return rc;
}

static int consumer_is_ready(void *arg)
{
    struct kl_consumer *c = arg;
    int ready;

    kl_os_mutex_lock(&c->mutex);
    ready = !kl_base_list_is_empty(&c->ready);
    kl_os_mutex_unlock(&c->mutex);
    return ready;
}

/* Takes an event where there is one, and has the next fetches begun. */
static int consumer_try(struct kl_consumer *c, struct kl_event **out)
{
    int wake;
    int rc;

    kl_os_mutex_lock(&c->mutex);
    rc = consumer_take(c, out);
    wake = kl_api_fetcher_wants(c);
    kl_os_mutex_unlock(&c->mutex);
    if (!wake)
        return rc;
    kl_api_fetcher_wake(c);
    /* Where this thread owns the node it has to begin them itself, so that they
     * are read while the program works on this event. */
    if (*out)
        kl_runtime_step(c->node);
    return rc;
}

/* What is left of the time. */
static int32_t consumer_rest(const struct kl_consumer *c, int32_t timeout_ms,
                             int64_t begin_ns)
{
    int64_t passed_ms;

    if (timeout_ms < 0)
        return timeout_ms;
    passed_ms = (kl_runtime_now_ns(c->node) - begin_ns) / CONSUMER_NS_PER_MS;
    return passed_ms < timeout_ms ? (int32_t)(timeout_ms - passed_ms) : 0;
}

int kl_consumer_poll(kl_consumer *consumer, int32_t timeout_ms,
                     kl_event **event_out)
{
    int64_t begin_ns;
    int32_t rest_ms = timeout_ms;
    int rc;

    if (!event_out)
        return KL_EINVAL;
    *event_out = NULL;
    if (!consumer)
        return KL_EINVAL;
    rc = kl_runtime_check(consumer->node);
    if (rc != KL_OK)
        return rc;
    rc = consumer_try(consumer, event_out);
    if (rc != KL_OK || *event_out)
        return rc;
    begin_ns = kl_runtime_now_ns(consumer->node);
    do {
        rc = kl_runtime_wait(consumer->node, consumer_is_ready, consumer,
                             rest_ms);
        if (rc != KL_OK)
            return rc == KL_ETIMEDOUT ? KL_OK : rc;
        rc = consumer_try(consumer, event_out);
        if (rc != KL_OK || *event_out)
            return rc;
        /* What was ready is not any more: paused or sought by nobody but the
         * owner, who drops stale results. */
        rest_ms = consumer_rest(consumer, timeout_ms, begin_ns);
    } while (rest_ms != 0);
    return KL_OK;
}
