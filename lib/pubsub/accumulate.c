/*
 * Records become batches. Each partition has at most one open batch; behind it
 * a queue of closed ones that are built, by whoever closed them and without
 * the lock, and sent in order.
 *
 *   open -> closed -> built -> sent -> finished -> released
 *
 * A batch is closed when it is full, or when no batch of its partition is
 * under way and its linger time is over: so it grows while another one is
 * being written, and nothing waits where nothing is under way.
 */
#include "base/assert.h"
#include "pubsub/pubsub.h"

#include <string.h>

enum {
    ACCUMULATE_HINT_MIN = 1024,
    ACCUMULATE_POOL_MAX = 64,  /* unused batch objects that are kept */
    ACCUMULATE_PART_MAX = 1024 /* operations an unused batch has room for */
};

void kl_pubsub_accumulator_init(struct kl_pubsub_accumulator *a,
                                const struct kl_base_alloc *alloc,
                                const struct kl_pubsub_config *config)
{
    memset(a, 0, sizeof *a);
    a->alloc = alloc;
    a->config = *config;
    kl_base_map_init(&a->names, alloc);
    kl_base_list_init(&a->topics);
    kl_base_list_init(&a->live);
    kl_base_list_init(&a->opened);
    kl_base_list_init(&a->build);
    kl_base_list_init(&a->outbox);
    kl_base_list_init(&a->pool);
}

/* ---- batch objects ----------------------------------------------------- */

static size_t pubsub_batch_size(const struct kl_pubsub_accumulator *a)
{
    return sizeof(struct kl_pubsub_batch) + a->config.user_size;
}

static void pubsub_batch_destroy(struct kl_pubsub_accumulator *a,
                                 struct kl_pubsub_batch *b)
{
    kl_base_free(a->alloc, b->parts, b->part_capacity * sizeof *b->parts);
    kl_base_free(a->alloc, b, pubsub_batch_size(a));
}

/* From the pool or new; NULL without memory. */
static struct kl_pubsub_batch *pubsub_batch_get(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item = kl_base_list_pop(&a->pool);
    struct kl_pubsub_batch *b;

    if (item) {
        a->pool_count--;
        return KL_BASE_CONTAINER(item, struct kl_pubsub_batch, link);
    }
    b = kl_base_calloc(a->alloc, pubsub_batch_size(a));
    if (!b)
        return NULL;
    kl_base_list_init(&b->live);
    kl_base_list_init(&b->link);
    kl_base_list_init(&b->build);
    kl_batch_builder_init(&b->builder, a->alloc);
    return b;
}

static void pubsub_batch_put(struct kl_pubsub_accumulator *a,
                             struct kl_pubsub_batch *b)
{
    kl_batch_builder_deinit(&b->builder);
    kl_base_chunk_unref(b->frame);
    b->frame = NULL;
    b->partition = NULL;
    b->part_count = 0;
    if (b->part_capacity > ACCUMULATE_PART_MAX) {
        kl_base_free(a->alloc, b->parts, b->part_capacity * sizeof *b->parts);
        b->parts = NULL;
        b->part_capacity = 0;
    }
    if (a->pool_count == ACCUMULATE_POOL_MAX) {
        pubsub_batch_destroy(a, b);
        return;
    }
    a->pool_count++;
    kl_base_list_push(&a->pool, &b->link);
}

/* The bytes that a batch is charged for follow what it holds. */
static void pubsub_batch_charge(struct kl_pubsub_accumulator *a,
                                struct kl_pubsub_batch *b)
{
    size_t charge = b->part_capacity * sizeof *b->parts;

    if (b->builder.chunk)
        charge += b->builder.chunk->capacity;
    if (b->frame)
        charge += b->frame->capacity;
    a->memory_used += charge;
    a->memory_used -= b->charge;
    b->charge = charge;
}

/* ---- topics ------------------------------------------------------------ */

static void pubsub_topic_destroy(struct kl_pubsub_accumulator *a,
                                 struct kl_pubsub_topic *t)
{
    size_t i;

    for (i = 0; i < t->capacity; i++)
        kl_base_free(a->alloc, t->partitions[i], sizeof **t->partitions);
    kl_base_free(a->alloc, t->partitions, t->capacity * sizeof *t->partitions);
    kl_base_free(a->alloc, t->name, t->name_size + 1);
    kl_base_list_remove(&t->link);
    kl_base_free(a->alloc, t, sizeof *t);
}

static void pubsub_topic_retire(struct kl_pubsub_accumulator *a,
                                struct kl_pubsub_topic *t)
{
    (void)kl_base_map_remove(&a->names, t->name, t->name_size);
    t->retired = 1;
    if (t->batch_count == 0)
        pubsub_topic_destroy(a, t);
}

void kl_pubsub_topic_forget(struct kl_pubsub_accumulator *a,
                            struct kl_pubsub_topic *topic)
{
    pubsub_topic_retire(a, topic);
}

/* Room for all partitions; the new ones are not used yet. */
static int pubsub_topic_resize(struct kl_pubsub_accumulator *a,
                               struct kl_pubsub_topic *t, size_t count)
{
    struct kl_pubsub_partition **grown;

    if (count <= t->capacity)
        return KL_OK;
    grown =
        kl_base_realloc(a->alloc, t->partitions, t->capacity * sizeof(void *),
                        count * sizeof(void *));
    if (!grown)
        return KL_ENOMEM;
    memset(grown + t->capacity, 0, (count - t->capacity) * sizeof *grown);
    t->partitions = grown;
    t->capacity = count;
    return KL_OK;
}

static int pubsub_topic_new(struct kl_pubsub_accumulator *a, const char *name,
                            const struct kl_base_uuid *id,
                            struct kl_pubsub_topic **out)
{
    struct kl_pubsub_topic *t = kl_base_calloc(a->alloc, sizeof *t);

    if (!t)
        return KL_ENOMEM;
    kl_base_list_init(&t->link);
    t->name_size = strlen(name);
    t->id = *id;
    t->name = kl_base_strndup(a->alloc, name, t->name_size);
    if (!t->name) {
        kl_base_free(a->alloc, t, sizeof *t);
        return KL_ENOMEM;
    }
    *out = t;
    return KL_OK;
}

struct kl_pubsub_topic *
kl_pubsub_topic_find(const struct kl_pubsub_accumulator *a, const char *name)
{
    return kl_base_map_get(&a->names, name, strlen(name));
}

int kl_pubsub_topic_update(struct kl_pubsub_accumulator *a, const char *name,
                           const struct kl_base_uuid *id,
                           int32_t partition_count, uint32_t batch_max,
                           struct kl_pubsub_topic **out)
{
    struct kl_pubsub_topic *old = kl_pubsub_topic_find(a, name);
    struct kl_pubsub_topic *t = old;
    int rc;

    KL_ASSERT(partition_count > 0);
    if (!t || !kl_base_uuid_equal(&t->id, id)) {
        rc = pubsub_topic_new(a, name, id, &t);
        if (rc != KL_OK)
            return rc;
    }
    rc = pubsub_topic_resize(a, t, (size_t)partition_count);
    if (rc == KL_OK && t != old) {
        if (old)
            pubsub_topic_retire(a, old);
        rc = kl_base_map_put(&a->names, t->name, t->name_size, t);
    }
    if (rc != KL_OK) {
        if (t != old)
            pubsub_topic_destroy(a, t);
        return rc;
    }
    if (t != old) {
        kl_base_list_push(&a->topics, &t->link);
        t->sticky = (int32_t)(a->config.seed % (uint32_t)partition_count);
    }
    t->partition_count = partition_count;
    t->batch_max = batch_max;
    *out = t;
    return KL_OK;
}

static struct kl_pubsub_partition *
pubsub_topic_partition(struct kl_pubsub_accumulator *a,
                       struct kl_pubsub_topic *t, int32_t index)
{
    struct kl_pubsub_partition *p = t->partitions[index];

    if (p)
        return p;
    p = kl_base_calloc(a->alloc, sizeof *p);
    if (!p)
        return NULL;
    p->topic = t;
    p->index = index;
    p->hint = ACCUMULATE_HINT_MIN;
    p->seed = kl_batch_seed(&t->id, index);
    kl_base_list_init(&p->queue);
    kl_base_list_init(&p->opened);
    t->partitions[index] = p;
    return p;
}

void kl_pubsub_accumulator_deinit(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item;

    KL_ASSERT(kl_base_list_is_empty(&a->live));
    while ((item = kl_base_list_pop(&a->pool)))
        pubsub_batch_destroy(
            a, KL_BASE_CONTAINER(item, struct kl_pubsub_batch, link));
    while ((item = kl_base_list_first(&a->topics)))
        pubsub_topic_destroy(
            a, KL_BASE_CONTAINER(item, struct kl_pubsub_topic, link));
    kl_base_map_deinit(&a->names);
    KL_ASSERT(a->memory_used == 0);
}

/* ---- closing ----------------------------------------------------------- */

/* The next batch begins with what the last one needed; a single small one does
 * not make it forget, since growing copies. */
static uint32_t pubsub_hint_next(const struct kl_pubsub_partition *p)
{
    size_t want = p->open->builder.size + p->open->builder.size / 8;
    uint32_t hint = p->hint / 2;

    if (hint < ACCUMULATE_HINT_MIN)
        hint = ACCUMULATE_HINT_MIN;
    while (hint < want && hint < KL_BATCH_SIZE_MAX)
        hint *= 2;
    return hint;
}

/* The open batch is not open any more. */
static void pubsub_partition_unlink(struct kl_pubsub_accumulator *a,
                                    struct kl_pubsub_partition *p)
{
    p->open = NULL;
    kl_base_list_remove(&p->opened);
    if (p->pending == 0)
        a->idle_count--;
}

static void pubsub_partition_close(struct kl_pubsub_accumulator *a,
                                   struct kl_pubsub_partition *p)
{
    struct kl_pubsub_batch *b = p->open;
    struct kl_pubsub_topic *t = p->topic;

    KL_ASSERT(b->stage == KL_PUBSUB_OPEN);
    KL_ASSERT(b->builder.record_count > 0);
    p->hint = pubsub_hint_next(p);
    pubsub_partition_unlink(a, p);
    p->pending++;
    b->stage = KL_PUBSUB_CLOSED;
    b->record_count = b->builder.record_count;
    kl_base_list_push(&p->queue, &b->link);
    kl_base_list_push(&a->build, &b->build);
    /* Records without a key fill one partition's batch, then the next's. */
    if (t->sticky == p->index)
        t->sticky = (t->sticky + 1) % t->partition_count;
}

static int pubsub_linger_over(const struct kl_pubsub_accumulator *a,
                              const struct kl_pubsub_batch *b, int64_t now_ns)
{
    return a->config.linger_ns == 0 || now_ns >= b->linger_end_ns;
}

/* ---- appending --------------------------------------------------------- */

/* The chunk a new batch begins with: as large as the last batch was, or just
 * large enough where memory is short. */
static int pubsub_open_chunk(struct kl_pubsub_accumulator *a,
                             struct kl_pubsub_partition *p, size_t limit,
                             const struct kl_batch_input *in,
                             struct kl_base_chunk **out)
{
    size_t bound = kl_batch_record_bound(in);
    size_t capacity = p->hint < limit ? p->hint : limit;

    if (bound > p->topic->batch_max || bound > a->config.memory_max)
        return KL_ERECORDSIZE;
    if (capacity < bound)
        capacity = bound;
    if (a->memory_used + capacity > a->config.memory_max)
        capacity = bound;
    if (a->memory_used + capacity > a->config.memory_max)
        return KL_EAGAIN;
    *out = a->config.chunk_get(capacity, a->config.user);
    return *out ? KL_OK : KL_ENOMEM;
}

static int pubsub_partition_open(struct kl_pubsub_accumulator *a,
                                 struct kl_pubsub_partition *p, size_t limit,
                                 const struct kl_batch_input *in,
                                 int64_t now_ns)
{
    struct kl_base_chunk *chunk;
    struct kl_pubsub_batch *b;
    int rc = pubsub_open_chunk(a, p, limit, in, &chunk);

    if (rc != KL_OK)
        return rc;
    b = pubsub_batch_get(a);
    if (!b) {
        kl_base_chunk_unref(chunk);
        return KL_ENOMEM;
    }
    kl_batch_builder_use(&b->builder, chunk);
    b->partition = p;
    b->stage = KL_PUBSUB_OPEN;
    b->charge = 0;
    b->sequence = ++a->sequence;
    b->linger_end_ns = now_ns + a->config.linger_ns;
    pubsub_batch_charge(a, b);
    p->open = b;
    p->topic->batch_count++;
    kl_base_list_push(&a->live, &b->live);
    kl_base_list_push(&a->opened, &p->opened);
    if (p->pending == 0)
        a->idle_count++;
    return KL_OK;
}

/* Takes an empty batch away again. */
static void pubsub_partition_unopen(struct kl_pubsub_accumulator *a,
                                    struct kl_pubsub_partition *p)
{
    struct kl_pubsub_batch *b = p->open;

    pubsub_partition_unlink(a, p);
    kl_pubsub_release(a, b);
}

/* Room to remember one more operation. */
static int pubsub_part_reserve(struct kl_pubsub_accumulator *a,
                               struct kl_pubsub_batch *b)
{
    if (b->part_count < b->part_capacity)
        return KL_OK;
    return kl_base_reserve(a->alloc, (void **)&b->parts, &b->part_capacity,
                           b->part_count + 1, sizeof *b->parts);
}

static void pubsub_part_add(struct kl_pubsub_batch *b, void *op, uint32_t slot)
{
    uint32_t record = (uint32_t)b->builder.record_count - 1;
    struct kl_pubsub_part *last;

    if (b->part_count > 0 && slot != KL_PUBSUB_SLOT_NONE) {
        last = &b->parts[b->part_count - 1];
        if (last->op == op && last->record + last->count == record &&
            last->slot + last->count == slot) {
            last->count++;
            return;
        }
    }
    last = &b->parts[b->part_count++];
    last->op = op;
    last->record = record;
    last->slot = slot;
    last->count = 1;
}

/* May the open batch grow by this record without passing memory_max? An upper
 * bound of its growth is compared first, since that is nearly always enough. */
static int pubsub_batch_may_grow(const struct kl_pubsub_accumulator *a,
                                 const struct kl_pubsub_batch *b, size_t limit,
                                 const struct kl_batch_input *in)
{
    size_t capacity = b->builder.chunk->capacity;
    size_t room = capacity - b->builder.size;
    size_t rough = (size_t)in->key_size + in->value_size + 64;
    size_t bound;
    size_t grown = capacity * 2;

    if (in->header_count == 0 && rough <= room)
        return 1;
    if (a->memory_used + limit <= a->config.memory_max)
        return 1;
    bound = kl_batch_record_bound(in);
    if (bound <= room)
        return 1;
    if (grown > limit)
        grown = limit;
    if (grown < b->builder.size + bound)
        grown = b->builder.size + bound;
    return a->memory_used + (grown - capacity) <= a->config.memory_max;
}

/* Appends to the open batch of the partition, opening one where there is none.
 * KL_EAGAIN with *full set: closed instead, go on with another batch. */
static int pubsub_partition_append(struct kl_pubsub_accumulator *a,
                                   struct kl_pubsub_partition *p,
                                   const struct kl_batch_input *in,
                                   int64_t now_ns, void *op, uint32_t slot,
                                   int *full)
{
    size_t limit = a->config.batch_size < p->topic->batch_max
                       ? a->config.batch_size
                       : p->topic->batch_max;
    struct kl_pubsub_batch *b = p->open;
    uint32_t capacity;
    int rc = KL_OK;

    if (!b) {
        rc = pubsub_partition_open(a, p, limit, in, now_ns);
        if (rc != KL_OK)
            return rc;
        b = p->open;
    } else if (!pubsub_batch_may_grow(a, b, limit, in)) {
        return KL_EAGAIN;
    }
    capacity = b->builder.chunk->capacity;
    if (op)
        rc = pubsub_part_reserve(a, b);
    if (rc == KL_OK)
        rc = kl_batch_builder_append(&b->builder, limit, p->hint, in);
    if (rc == KL_EAGAIN && b->builder.record_count > 0) {
        pubsub_partition_close(a, p);
        *full = 1;
        return KL_EAGAIN;
    }
    /* Too large for a usual batch: it gets one of its own. */
    if (rc == KL_EAGAIN)
        rc = kl_batch_builder_append(&b->builder, p->topic->batch_max, p->hint,
                                     in);
    if (op || b->builder.chunk->capacity != capacity)
        pubsub_batch_charge(a, b);
    if (rc != KL_OK && b->builder.record_count == 0)
        pubsub_partition_unopen(a, p);
    if (rc != KL_OK)
        return rc == KL_EAGAIN ? KL_ERECORDSIZE : rc;
    if (op)
        pubsub_part_add(b, op, slot);
    if (b->builder.size >= limit ||
        (p->pending == 0 && a->config.linger_ns == 0))
        pubsub_partition_close(a, p);
    return KL_OK;
}

int kl_pubsub_accumulate(struct kl_pubsub_accumulator *a,
                         struct kl_pubsub_topic *topic, int32_t partition,
                         const struct kl_batch_input *in, int64_t now_ns,
                         void *op, uint32_t slot)
{
    int sticky = partition < 0 && !in->key;

    if (partition >= topic->partition_count)
        return KL_ENOTOPIC;
    if (partition < 0 && in->key)
        partition = kl_pubsub_key_partition(in->key, in->key_size,
                                            topic->partition_count);
    /* Every turn but the last closes a full batch, so that there are at most
     * as many as partitions, and one. */
    for (;;) {
        struct kl_pubsub_partition *p;
        int full = 0;
        int rc;

        if (sticky)
            partition = topic->sticky;
        p = pubsub_topic_partition(a, topic, partition);
        if (!p)
            return KL_ENOMEM;
        rc = pubsub_partition_append(a, p, in, now_ns, op, slot, &full);
        if (!full)
            return rc;
    }
}

/* ---- building and sending ---------------------------------------------- */

struct kl_pubsub_batch *kl_pubsub_build_next(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item = kl_base_list_pop(&a->build);

    return item ? KL_BASE_CONTAINER(item, struct kl_pubsub_batch, build) : NULL;
}

void kl_pubsub_build(const struct kl_pubsub_accumulator *a,
                     struct kl_pubsub_batch *b)
{
    uint64_t seed = b->partition->seed;
    int rc;

    KL_ASSERT(b->stage == KL_PUBSUB_CLOSED);
    rc = kl_batch_builder_finish(&b->builder, seed, a->config.attributes,
                                 &b->frame);
    /* Without memory to compress in it goes as it is. */
    if (rc != KL_OK)
        rc = kl_batch_builder_finish(
            &b->builder, seed,
            (int16_t)(a->config.attributes & ~KL_BATCH_ATTR_CODEC), &b->frame);
    KL_ASSERT(rc == KL_OK);
}

/* Sends what is at the head of the queue, as far as the window is open. */
static void pubsub_partition_send(struct kl_pubsub_accumulator *a,
                                  struct kl_pubsub_partition *p)
{
    while (p->in_flight < a->config.in_flight_max) {
        struct kl_base_list *item = kl_base_list_first(&p->queue);
        struct kl_pubsub_batch *b;

        if (!item)
            return;
        b = KL_BASE_CONTAINER(item, struct kl_pubsub_batch, link);
        if (b->stage != KL_PUBSUB_BUILT)
            return;
        kl_base_list_remove(&b->link);
        kl_base_list_push(&a->outbox, &b->link);
        b->stage = KL_PUBSUB_SENT;
        p->in_flight++;
    }
}

void kl_pubsub_built(struct kl_pubsub_accumulator *a, struct kl_pubsub_batch *b)
{
    KL_ASSERT(b->stage == KL_PUBSUB_CLOSED);
    b->stage = KL_PUBSUB_BUILT;
    pubsub_batch_charge(a, b);
    pubsub_partition_send(a, b->partition);
}

struct kl_pubsub_batch *kl_pubsub_outbox_next(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item = kl_base_list_pop(&a->outbox);

    return item ? KL_BASE_CONTAINER(item, struct kl_pubsub_batch, link) : NULL;
}

static void pubsub_partition_unpend(struct kl_pubsub_accumulator *a,
                                    struct kl_pubsub_partition *p)
{
    KL_ASSERT(p->pending > 0);
    p->pending--;
    if (p->pending == 0 && p->open)
        a->idle_count++;
}

void kl_pubsub_finished(struct kl_pubsub_accumulator *a,
                        struct kl_pubsub_batch *b, int64_t now_ns)
{
    struct kl_pubsub_partition *p = b->partition;

    KL_ASSERT(b->stage == KL_PUBSUB_SENT);
    KL_ASSERT(p->in_flight > 0);
    p->in_flight--;
    pubsub_partition_unpend(a, p);
    pubsub_partition_send(a, p);
    if (p->open && p->pending == 0 && pubsub_linger_over(a, p->open, now_ns))
        pubsub_partition_close(a, p);
}

void kl_pubsub_release(struct kl_pubsub_accumulator *a,
                       struct kl_pubsub_batch *b)
{
    struct kl_pubsub_topic *t = b->partition->topic;

    kl_base_list_remove(&b->live);
    KL_ASSERT(a->memory_used >= b->charge);
    a->memory_used -= b->charge;
    b->charge = 0;
    pubsub_batch_put(a, b);
    t->batch_count--;
    if (t->retired && t->batch_count == 0)
        pubsub_topic_destroy(a, t);
}

/* ---- time, flush, end -------------------------------------------------- */

void kl_pubsub_close_all(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_first(&a->opened)))
        pubsub_partition_close(
            a, KL_BASE_CONTAINER(item, struct kl_pubsub_partition, opened));
}

void kl_pubsub_close_idle(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item = a->opened.next;

    while (item != &a->opened) {
        struct kl_pubsub_partition *p =
            KL_BASE_CONTAINER(item, struct kl_pubsub_partition, opened);

        item = item->next;
        if (p->pending == 0)
            pubsub_partition_close(a, p);
    }
}

void kl_pubsub_close_due(struct kl_pubsub_accumulator *a, int64_t now_ns)
{
    struct kl_base_list *item = a->opened.next;

    /* Opened in this order with one linger time: the rest is younger. */
    while (item != &a->opened) {
        struct kl_pubsub_partition *p =
            KL_BASE_CONTAINER(item, struct kl_pubsub_partition, opened);

        item = item->next;
        if (!pubsub_linger_over(a, p->open, now_ns))
            return;
        if (p->pending == 0)
            pubsub_partition_close(a, p);
    }
}

int64_t kl_pubsub_deadline(const struct kl_pubsub_accumulator *a)
{
    const struct kl_base_list *item;

    /* Where something is under way its end closes what is over. */
    for (item = a->opened.next; item != &a->opened; item = item->next) {
        const struct kl_pubsub_partition *p =
            KL_BASE_CONTAINER(item, struct kl_pubsub_partition, opened);

        if (p->pending == 0)
            return p->open->linger_end_ns;
    }
    return INT64_MAX;
}

uint64_t kl_pubsub_oldest(const struct kl_pubsub_accumulator *a)
{
    if (kl_base_list_is_empty(&a->live))
        return UINT64_MAX;
    return KL_BASE_CONTAINER(a->live.next, struct kl_pubsub_batch, live)
        ->sequence;
}

struct kl_pubsub_batch *kl_pubsub_drop_next(struct kl_pubsub_accumulator *a)
{
    struct kl_base_list *item;

    for (item = a->live.next; item != &a->live; item = item->next) {
        struct kl_pubsub_batch *b =
            KL_BASE_CONTAINER(item, struct kl_pubsub_batch, live);
        struct kl_pubsub_partition *p = b->partition;

        /* One that was taken for sending is in no list but this one. */
        if (b->stage == KL_PUBSUB_SENT && kl_base_list_is_empty(&b->link))
            continue;
        if (b->stage == KL_PUBSUB_OPEN)
            pubsub_partition_unlink(a, p);
        else
            pubsub_partition_unpend(a, p);
        if (b->stage == KL_PUBSUB_SENT)
            p->in_flight--;
        kl_base_list_remove(&b->link);
        kl_base_list_remove(&b->build);
        kl_base_list_remove(&b->live);
        return b;
    }
    return NULL;
}
