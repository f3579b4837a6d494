/*
 * The owner's side of a producer: sends batches, completes operations.
 */
#include "api/api_producer.h"

#include "base/assert.h"

#include <kraftlog/client.h>
#include <kraftlog/error.h>
#include <string.h>

/* ---- answers to operations --------------------------------------------- */

/* Of several failures the first is told, but that something may have happened
 * all the same weighs more than that something has not. */
static void sender_collect(int *code, int next)
{
    if (*code == KL_OK || next == KL_EUNKNOWN)
        *code = next;
}

int kl_api_bulk_answered(struct kl_api_bulk *bulk, size_t count)
{
    return atomic_fetch_sub_explicit(&bulk->remaining, count,
                                     memory_order_acq_rel) == count;
}

void kl_api_bulk_free(struct kl_producer *p, struct kl_api_bulk *bulk)
{
    kl_base_free(&p->alloc, bulk, sizeof *bulk);
}

/* The arrays were made for all records that were offered. They stay as they are
 * where there is no memory for smaller ones: what is behind them is -1. */
static void sender_bulk_trim(struct kl_producer *p, struct kl_api_bulk *bulk)
{
    struct kl_runtime_op_extra *extra = bulk->op->extra;
    size_t count = bulk->accepted;
    int32_t *partitions;
    int64_t *offsets;

    if (count == extra->count)
        return;
    partitions = kl_base_malloc(&p->alloc, count * sizeof *partitions);
    offsets = kl_base_malloc(&p->alloc, count * sizeof *offsets);
    if (!partitions || !offsets) {
        kl_base_free(&p->alloc, partitions, count * sizeof *partitions);
        kl_base_free(&p->alloc, offsets, count * sizeof *offsets);
        return;
    }
    memcpy(partitions, extra->partitions, count * sizeof *partitions);
    memcpy(offsets, extra->offsets, count * sizeof *offsets);
    kl_base_free(&p->alloc, extra->partitions,
                 extra->count * sizeof *partitions);
    kl_base_free(&p->alloc, extra->offsets, extra->count * sizeof *offsets);
    extra->partitions = partitions;
    extra->offsets = offsets;
    extra->count = count;
}

static void sender_bulk_complete(struct kl_producer *p,
                                 struct kl_api_bulk *bulk)
{
    struct kl_runtime_op *op = bulk->op;
    int code = bulk->code;

    sender_bulk_trim(p, bulk);
    if (code == KL_OK)
        kl_runtime_op_set_ack(op, op->extra->partitions[0],
                              op->extra->offsets[0], bulk->epoch, bulk->level);
    kl_api_bulk_free(p, bulk);
    kl_runtime_op_complete(op, code);
}

static void sender_bulk_part(struct kl_producer *p,
                             const struct kl_pubsub_part *part,
                             int32_t partition,
                             const struct kl_runtime_produce *answer)
{
    struct kl_api_bulk *bulk = part->op;
    struct kl_runtime_op_extra *extra = bulk->op->extra;
    uint32_t i;

    for (i = 0; i < part->count; i++) {
        extra->partitions[part->slot + i] = partition;
        if (answer->code == KL_OK)
            extra->offsets[part->slot + i] =
                answer->base_offset + part->record + i;
    }
    if (answer->code != KL_OK) {
        sender_collect(&bulk->code, answer->code);
    } else {
        if (answer->level < bulk->level)
            bulk->level = answer->level;
        if (answer->leader_epoch > bulk->epoch)
            bulk->epoch = answer->leader_epoch;
    }
    if (kl_api_bulk_answered(bulk, part->count))
        sender_bulk_complete(p, bulk);
}

/* Answers every operation of a batch. Owner thread, without the mutex. */
static void sender_answer(struct kl_producer *p, struct kl_pubsub_batch *b,
                          const struct kl_runtime_produce *answer)
{
    int32_t partition = b->partition->index;
    size_t i;

    for (i = 0; i < b->part_count; i++) {
        const struct kl_pubsub_part *part = &b->parts[i];
        struct kl_runtime_op *op = part->op;

        if (part->slot != KL_PUBSUB_SLOT_NONE) {
            sender_bulk_part(p, part, partition, answer);
            continue;
        }
        if (answer->code == KL_OK)
            kl_runtime_op_set_ack(op, partition,
                                  answer->base_offset + part->record,
                                  answer->leader_epoch, answer->level);
        kl_runtime_op_complete(op, answer->code);
    }
}

/* ---- sending ----------------------------------------------------------- */

/* A failed batch is remembered for flush, which is all that a program without
 * operations asks. With the mutex. */
static void sender_note(struct kl_producer *p, const struct kl_pubsub_batch *b,
                        int code)
{
    if (code == KL_OK)
        return;
    sender_collect(&p->failure, code);
    kl_base_error_set(&p->error, code, "%s-%d: %d records: %s",
                      b->partition->topic->name, (int)b->partition->index,
                      (int)b->record_count, kl_strerror(code));
}

/* Builds what was closed; lets go of the mutex meanwhile. */
static void sender_build(struct kl_producer *p)
{
    struct kl_pubsub_batch *b;

    while ((b = kl_pubsub_build_next(&p->acc))) {
        kl_os_mutex_unlock(&p->mutex);
        kl_pubsub_build(&p->acc, b);
        kl_os_mutex_lock(&p->mutex);
        kl_pubsub_built(&p->acc, b);
    }
}

/* 1 where the owner has something to do and was not asked yet; it counts as
 * asked then. With the mutex. */
static int sender_wants(struct kl_producer *p)
{
    if (p->requested)
        return 0;
    if (kl_base_list_is_empty(&p->acc.outbox) &&
        kl_base_list_is_empty(&p->bulks) &&
        (p->timed || p->acc.idle_count == 0))
        return 0;
    p->requested = 1;
    return 1;
}

int kl_api_sender_settle(struct kl_producer *p)
{
    sender_build(p);
    return sender_wants(p);
}

void kl_api_sender_wake(struct kl_producer *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    kl_runtime_submit(p->node, &p->request);
}

/* The time up to which linger times are over: all of them where the node ends.
 */
static int64_t sender_now(const struct kl_producer *p)
{
    if (p->acc.config.linger_ns == 0)
        return 0;
    return kl_runtime_check(p->node) ? INT64_MAX : kl_runtime_now_ns(p->node);
}

/* With the mutex. */
static void sender_release(struct kl_producer *p, struct kl_pubsub_batch *b)
{
    kl_pubsub_release(&p->acc, b);
    if (p->pressed && kl_api_producer_has_room(p)) {
        p->pressed = 0;
        p->wanted = 0;
    }
}

/* The answer to a batch is known. Owner thread; draining = the caller goes on
 * to send what this lets through. */
static void sender_finish(struct kl_producer *p, struct kl_pubsub_batch *b,
                          const struct kl_runtime_produce *answer, int draining)
{
    int answers = b->part_count > 0;
    int64_t now_ns = sender_now(p);
    int wake;

    kl_os_mutex_lock(&p->mutex);
    kl_pubsub_finished(&p->acc, b, p->pressed ? INT64_MAX : now_ns);
    sender_note(p, b, answer->code);
    /* Where nobody waits for an answer, once with the mutex is enough. */
    if (!answers)
        sender_release(p, b);
    sender_build(p);
    wake = !draining && sender_wants(p);
    kl_os_mutex_unlock(&p->mutex);
    /* The next batch is on its way before this one's answers are given. */
    if (wake)
        kl_api_sender_wake(p);
    if (answers) {
        sender_answer(p, b, answer);
        kl_os_mutex_lock(&p->mutex);
        sender_release(p, b);
        kl_os_mutex_unlock(&p->mutex);
    }
    kl_runtime_notify(p->node);
}

static void sender_done(struct kl_runtime_node *n, struct kl_runtime_produce *r)
{
    struct kl_api_sending *s =
        KL_BASE_CONTAINER(r, struct kl_api_sending, produce);
    struct kl_producer *p = s->producer;

    (void)n;
    sender_finish(p, s->batch, r, 0);
    kl_api_producer_unref(p);
}

static void sender_fail(struct kl_producer *p, struct kl_pubsub_batch *b,
                        int code)
{
    struct kl_runtime_produce answer = {.code = code};

    sender_finish(p, b, &answer, 1);
}

static void sender_send(struct kl_producer *p, struct kl_pubsub_batch *b)
{
    struct kl_api_sending *s = (struct kl_api_sending *)b->user;
    struct kl_runtime_produce *r = &s->produce;

    s->producer = p;
    s->batch = b;
    r->topic_id = b->partition->topic->id;
    r->partition = b->partition->index;
    r->frame = b->frame;
    r->done = sender_done;
    r->code = KL_OK;
    r->base_offset = -1;
    r->leader_epoch = -1;
    r->level = KL_LEVEL_MEMORY;
    b->frame = NULL;
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    kl_runtime_produce(p->node, r);
}

/* What the owner has to do is taken at once: the program's threads use the
 * mutex for every record. These with the mutex. */
static void sender_take_batches(struct kl_producer *p,
                                struct kl_base_list *batches)
{
    struct kl_pubsub_batch *b;

    kl_base_list_init(batches);
    while ((b = kl_pubsub_outbox_next(&p->acc)))
        kl_base_list_push(batches, &b->link);
}

/* Bulk sends whose last answer came before their sender was done. */
static void sender_take_bulks(struct kl_producer *p, struct kl_base_list *bulks)
{
    struct kl_base_list *item;

    kl_base_list_init(bulks);
    while ((item = kl_base_list_pop(&p->bulks)))
        kl_base_list_push(bulks, item);
}

/* These without it. */
static void sender_send_batches(struct kl_producer *p,
                                struct kl_base_list *batches)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(batches)))
        sender_send(p, KL_BASE_CONTAINER(item, struct kl_pubsub_batch, link));
}

static void sender_complete_bulks(struct kl_producer *p,
                                  struct kl_base_list *bulks)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(bulks)))
        sender_bulk_complete(p,
                             KL_BASE_CONTAINER(item, struct kl_api_bulk, link));
}

/* The node is closed: fails what is in the outbox, and what that lets go. */
static void sender_fail_batches(struct kl_producer *p,
                                struct kl_base_list *batches)
{
    struct kl_base_list *item;

    while (!kl_base_list_is_empty(batches)) {
        while ((item = kl_base_list_pop(batches)))
            sender_fail(p,
                        KL_BASE_CONTAINER(item, struct kl_pubsub_batch, link),
                        KL_ECLOSED);
        kl_os_mutex_lock(&p->mutex);
        sender_take_batches(p, batches);
        kl_os_mutex_unlock(&p->mutex);
    }
}

/* ---- linger time ------------------------------------------------------- */

static void sender_start_timer(struct kl_producer *p)
{
    int64_t deadline_ns;

    if (p->acc.config.linger_ns == 0)
        return;
    kl_os_mutex_lock(&p->mutex);
    deadline_ns = kl_pubsub_deadline(&p->acc);
    /* Where something is under way its end closes what is over, and the next
     * record that opens a batch asks again. */
    p->timed = deadline_ns != INT64_MAX;
    kl_os_mutex_unlock(&p->mutex);
    if (deadline_ns != INT64_MAX)
        kl_runtime_timer_set(p->node, &p->timer, deadline_ns);
}

static void sender_fire(struct kl_runtime_node *n, struct kl_runtime_timer *t)
{
    struct kl_producer *p = KL_BASE_CONTAINER(t, struct kl_producer, timer);
    int64_t now_ns = sender_now(p);
    int wake;

    (void)n;
    kl_os_mutex_lock(&p->mutex);
    kl_pubsub_close_due(&p->acc, now_ns);
    p->timed = 0;
    wake = kl_api_sender_settle(p);
    kl_os_mutex_unlock(&p->mutex);
    if (wake)
        kl_api_sender_wake(p);
}

/* ---- the request ------------------------------------------------------- */

static void sender_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                       int closed)
{
    struct kl_producer *p = KL_BASE_CONTAINER(r, struct kl_producer, request);
    int ending = kl_runtime_check(n) != KL_OK;
    struct kl_base_list batches;
    struct kl_base_list bulks;

    kl_os_mutex_lock(&p->mutex);
    p->requested = 0;
    /* There is no time to linger any more. */
    if (ending) {
        kl_pubsub_close_all(&p->acc);
        sender_build(p);
    }
    sender_take_batches(p, &batches);
    sender_take_bulks(p, &bulks);
    kl_os_mutex_unlock(&p->mutex);
    sender_complete_bulks(p, &bulks);
    if (closed) {
        sender_fail_batches(p, &batches);
    } else {
        sender_send_batches(p, &batches);
        if (!ending)
            sender_start_timer(p);
    }
    kl_api_producer_unref(p);
}

/* ---- end --------------------------------------------------------------- */

/* Runs in the owner thread, or in the caller's where the node is gone. */
static void sender_run_end(struct kl_runtime_node *n,
                           struct kl_runtime_request *r, int closed)
{
    struct kl_producer *p = KL_BASE_CONTAINER(r, struct kl_producer, end);
    struct kl_runtime_produce answer = {.code = KL_ECLOSED};
    struct kl_base_list bulks;

    (void)closed;
    kl_runtime_timer_cancel(n, &p->timer);
    kl_os_mutex_lock(&p->mutex);
    sender_take_bulks(p, &bulks);
    kl_os_mutex_unlock(&p->mutex);
    sender_complete_bulks(p, &bulks);
    for (;;) {
        struct kl_pubsub_batch *b;

        kl_os_mutex_lock(&p->mutex);
        b = kl_pubsub_drop_next(&p->acc);
        kl_os_mutex_unlock(&p->mutex);
        if (!b)
            break;
        sender_answer(p, b, &answer);
        kl_os_mutex_lock(&p->mutex);
        kl_pubsub_release(&p->acc, b);
        kl_os_mutex_unlock(&p->mutex);
    }
    kl_api_producer_unref(p);
}

void kl_api_sender_init(struct kl_producer *p)
{
    p->request.run = sender_run;
    p->end.run = sender_run_end;
    kl_runtime_timer_init(&p->timer);
    p->timer.fire = sender_fire;
}

void kl_api_sender_end(struct kl_producer *p)
{
    struct kl_runtime_node *n = p->node;

    /* Where the node is closed the request runs at once and frees p. */
    kl_runtime_ref(n);
    kl_runtime_submit(n, &p->end);
    kl_runtime_unref(n);
}
