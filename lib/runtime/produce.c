/*
 * A batch from its producer to its log: stamped, appended, acknowledged when
 * it is as durable as its topic asks for. A batch that the store has no room
 * for waits, and all that come after it, so that order is kept and nobody
 * overtakes; how many can wait is bounded by the memory of the producers. Where
 * the disk is full the store refuses it, and the producer is told.
 */
#include "runtime/state.h"

static struct kl_runtime_produce *produce_of(struct kl_base_list *link)
{
    return KL_BASE_CONTAINER(link, struct kl_runtime_produce, link);
}

/* done is called by kl_runtime_finish_run, never from inside a request. */
static void produce_finish(struct kl_runtime_node *n,
                           struct kl_runtime_produce *p, int code)
{
    p->code = code;
    kl_base_chunk_unref(p->frame);
    p->frame = NULL;
    kl_base_list_push(&n->produce_done, &p->link);
    if (code)
        kl_base_stat_add(&n->stats.produce_refused, 1);
}

/* 0 where the batch is on its way, KL_EAGAIN where it has to wait. */
static int produce_append(struct kl_runtime_node *n,
                          struct kl_runtime_partition *part,
                          struct kl_runtime_produce *p)
{
    uint64_t seed = kl_store_log_seed(part->log);
    struct kl_store_view view;
    struct kl_batch_info info;
    int r = kl_batch_frame_header(p->frame->data, p->frame->size, seed, &info);

    if (r || info.frame_size != p->frame->size)
        return KL_EBATCH;
    if (info.frame_size > part->batch_max)
        return KL_ERECORDSIZE;
    kl_store_log_view(part->log, &view);
    /* The offset behind the batch must exist too. */
    if (info.last_offset - info.base_offset >= INT64_MAX - view.leo)
        return KL_EOFFSETRANGE;
    kl_batch_frame_stamp(p->frame->data, seed, view.leo, part->leader_epoch);
    r = kl_store_append(part->log, p->frame);
    if (r)
        return r;
    p->frame = NULL; /* the store's */
    p->base_offset = view.leo;
    p->end_offset = view.leo + (info.last_offset - info.base_offset) + 1;
    p->leader_epoch = part->leader_epoch;
    p->level = part->level;
    kl_base_list_push(&part->waits->appended, &p->link);
    kl_base_stat_add(&n->stats.produce_batches, 1);
    kl_base_stat_add(&n->stats.produce_records, (uint64_t)info.record_count);
    kl_base_stat_add(&n->stats.produce_bytes, info.frame_size);
    return 0;
}

/* A full store is asked for each topic: it takes none of what it refuses. */
static int produce_must_wait(const struct kl_runtime_node *n,
                             const struct kl_runtime_partition *part)
{
    return !kl_base_list_is_empty(&n->stalled) &&
           (!kl_base_list_is_empty(&part->waits->waiting) ||
            !kl_store_is_full(n->store));
}

void kl_runtime_produce(struct kl_runtime_node *n, struct kl_runtime_produce *p)
{
    struct kl_runtime_partition *part = NULL;
    int r = n->refusing ? KL_ECLOSED : n->store_failed ? KL_EFAILED : 0;

    kl_base_list_init(&p->link);
    n->produce_count++;
    p->base_offset = -1;
    p->leader_epoch = -1;
    p->level = 0;
    p->begun_ns = n->now_ns;
    if (!r) {
        r = kl_runtime_partition_led(n, &p->topic_id, p->partition, &part);
        if (!r)
            r = produce_must_wait(n, part) ? KL_EAGAIN
                                           : produce_append(n, part, p);
    }
    if (r == KL_EAGAIN) {
        kl_base_stat_add(&n->stats.produce_delayed, 1);
        kl_base_list_push(&part->waits->waiting, &p->link);
        if (kl_base_list_is_empty(&part->waits->stalled))
            kl_base_list_push(&n->stalled, &part->waits->stalled);
    } else if (r) {
        produce_finish(n, p, r);
    }
}

void kl_runtime_produce_durable(struct kl_runtime_node *n,
                                struct kl_runtime_partition *part,
                                int64_t durable_leo)
{
    struct kl_base_list *link;

    while ((link = kl_base_list_first(&part->waits->appended))) {
        struct kl_runtime_produce *p = produce_of(link);

        if (p->end_offset > durable_leo)
            break;
        kl_base_list_remove(link);
        kl_base_histogram_add(&n->stats.ack_us,
                              (uint64_t)(n->now_ns - p->begun_ns) / 1000);
        produce_finish(n, p, 0);
    }
}

/* 1 where the partition's next batch found room, or none ever will. */
static int produce_retry(struct kl_runtime_node *n,
                         struct kl_runtime_partition *part)
{
    struct kl_base_list *link = kl_base_list_pop(&part->waits->waiting);
    struct kl_runtime_produce *p = produce_of(link);
    int r = produce_append(n, part, p);

    if (r == KL_EAGAIN) {
        /* Back to the front. */
        kl_base_list_push(part->waits->waiting.next, link);
        return 0;
    }
    if (r)
        produce_finish(n, p, r);
    return 1;
}

/* The partitions take turns, a batch each. One whose batch is large keeps its
 * turn until there is room for it; but where the store is full, those behind it
 * may have to be refused. */
void kl_runtime_produce_room(struct kl_runtime_node *n)
{
    struct kl_base_list waiting, *link;

    kl_base_list_init(&waiting);
    while ((link = kl_base_list_first(&n->stalled))) {
        struct kl_runtime_partition *part =
            KL_BASE_CONTAINER(link, struct kl_runtime_waits, stalled)
                ->partition;
        int moved = produce_retry(n, part);

        if (!moved && !kl_store_is_full(n->store))
            break;
        kl_base_list_remove(link);
        if (!moved)
            kl_base_list_push(&waiting, link);
        else if (!kl_base_list_is_empty(&part->waits->waiting))
            kl_base_list_push(&n->stalled, link);
    }
    while (waiting.prev != &waiting) {
        link = waiting.prev;
        kl_base_list_remove(link);
        kl_base_list_push(n->stalled.next, link);
    }
}

void kl_runtime_produce_abort(struct kl_runtime_node *n,
                              struct kl_runtime_partition *part,
                              int waiting_code, int appended_code)
{
    struct kl_base_list *link;

    while ((link = kl_base_list_pop(&part->waits->appended)))
        produce_finish(n, produce_of(link), appended_code);
    while ((link = kl_base_list_pop(&part->waits->waiting)))
        produce_finish(n, produce_of(link), waiting_code);
    if (!kl_base_list_is_empty(&part->waits->stalled))
        kl_base_list_remove(&part->waits->stalled);
}
