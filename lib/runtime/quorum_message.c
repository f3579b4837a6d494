/*
 * Messages for raft. What a step may want done later must outlive the message,
 * so it is copied before raft hears of it: batches of a fetch response into
 * chunks for the store, a piece of a snapshot into memory of its own. Without
 * memory the message is lost, which raft is made for.
 */
#include "runtime/state.h"

#include <string.h>

/* ---- batches of a fetch response ----------------------------------------- */

void kl_runtime_fetched_clear(struct kl_runtime_node *n)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;

    for (uint32_t i = 0; i < f->count; i++)
        kl_base_chunk_unref(f->chunks[i]);
    f->count = 0;
    for (uint32_t i = 0; i < f->control_count; i++)
        kl_base_buf_deinit(&f->lists[i]);
    f->control_count = 0;
}

void kl_runtime_fetched_deinit(struct kl_runtime_node *n)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;

    kl_runtime_fetched_clear(n);
    kl_base_free(&n->alloc, f->chunks, f->chunk_capacity * sizeof *f->chunks);
    kl_base_free(&n->alloc, f->batches, f->batch_capacity * sizeof *f->batches);
    kl_base_free(&n->alloc, f->controls,
                 f->control_capacity * sizeof *f->controls);
    kl_base_free(&n->alloc, f->lists, f->list_capacity * sizeof *f->lists);
    memset(f, 0, sizeof *f);
}

/* The record of a control batch, which has one. */
static int fetched_control(struct kl_runtime_node *n, const uint8_t *frame,
                           const struct kl_batch_info *info,
                           const struct kl_wire_control **out)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;
    struct kl_wire_control *control = &f->controls[f->control_count];
    struct kl_base_buf *lists = &f->lists[f->control_count];
    struct kl_batch_record record;
    struct kl_batch_iter it;
    int r = kl_batch_iter_init(&it, &n->alloc, frame, info->frame_size,
                               KL_BATCH_SIZE_MAX);

    if (r)
        return r;
    kl_base_buf_init(lists, &n->alloc);
    r = kl_batch_iter_next(&it, &record);
    if (!r)
        r = kl_wire_control_decode(control, record.value, record.value_size,
                                   lists, NULL);
    kl_batch_iter_deinit(&it);
    if (r) {
        kl_base_buf_deinit(lists);
        return r;
    }
    *out = control;
    f->control_count++;
    return 0;
}

/* Room for all that may be there, so that nothing moves later. */
static int fetched_reserve(struct kl_runtime_node *n,
                           const struct kl_wire_bytes *records)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;
    uint64_t seed = kl_store_log_seed(n->metadata.log);
    struct kl_batch_info info;
    uint32_t at = 0;
    size_t count = 0;

    while (kl_batch_frame_header(records->data + at, records->size - at, seed,
                                 &info) == 0 &&
           info.frame_size <= records->size - at) {
        at += info.frame_size;
        count++;
    }
    if (kl_base_reserve(&n->alloc, (void **)&f->chunks, &f->chunk_capacity,
                        count, sizeof *f->chunks) ||
        kl_base_reserve(&n->alloc, (void **)&f->batches, &f->batch_capacity,
                        count, sizeof *f->batches) ||
        kl_base_reserve(&n->alloc, (void **)&f->controls, &f->control_capacity,
                        count, sizeof *f->controls) ||
        kl_base_reserve(&n->alloc, (void **)&f->lists, &f->list_capacity, count,
                        sizeof *f->lists))
        return KL_ENOMEM;
    return 0;
}

/* The frame at data: 0, KL_EEND where no whole and good one is there, or
 * KL_ENOMEM. */
static int fetched_add(struct kl_runtime_node *n, const uint8_t *data,
                       size_t size, uint32_t *frame_size_out)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;
    const struct kl_wire_control *control = NULL;
    struct kl_base_chunk *chunk;
    struct kl_batch_info info;
    int r;

    if (kl_batch_frame_verify(data, size, kl_store_log_seed(n->metadata.log),
                              &info) ||
        info.frame_size > kl_store_frame_max(n->store))
        return KL_EEND;
    if (info.attributes & KL_BATCH_ATTR_CONTROL)
        r = fetched_control(n, data, &info, &control);
    else
        r = kl_batch_records_verify(&n->alloc, data, info.frame_size);
    if (r)
        return r == KL_ENOMEM ? r : KL_EEND;
    r = kl_base_chunk_new(&chunk, &n->alloc, info.frame_size);
    if (r)
        return r;
    memcpy(chunk->data, data, info.frame_size);
    chunk->size = info.frame_size;
    f->chunks[f->count] = chunk;
    f->batches[f->count++] = (struct kl_raft_batch){
        .offset = info.base_offset,
        .end = info.last_offset + 1,
        .epoch = info.leader_epoch,
        .size = info.frame_size,
        .control = control,
    };
    *frame_size_out = info.frame_size;
    return 0;
}

/* All batches up to the first bad one. */
static int fetched_take(struct kl_runtime_node *n,
                        const struct kl_wire_bytes *records)
{
    int r = fetched_reserve(n, records);
    uint32_t at = 0;

    while (!r && at < records->size) {
        uint32_t size = 0;

        r = fetched_add(n, records->data + at, records->size - at, &size);
        at += size;
    }
    return r == KL_EEND ? 0 : r;
}

int kl_runtime_fetched_append(struct kl_runtime_node *n,
                              const struct kl_raft_effect *e)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;

    KL_ASSERT(e->append.first + e->append.count <= f->count);
    for (uint32_t i = e->append.first; i < e->append.first + e->append.count;
         i++) {
        int r;

        if (!f->chunks[i])
            continue; /* appended before memory ran out */
        r = kl_store_append(n->metadata.log, f->chunks[i]);
        if (r)
            return r;
        f->chunks[i] = NULL; /* the store's */
    }
    return 0;
}

/* ---- the message --------------------------------------------------------- */

static int message_prepare(struct kl_runtime_node *n, struct kl_wire_message *m,
                           struct kl_raft_event *event)
{
    struct kl_runtime_fetched *f = &n->quorum.fetched;
    int r = 0;

    if (!m->envelope.is_response)
        return 0;
    if (m->envelope.api_key == KL_WIRE_FETCH_SNAPSHOT)
        return kl_runtime_snapshot_piece(n, &m->fetch_snapshot_response.bytes);
    if (m->envelope.api_key != KL_WIRE_FETCH ||
        m->fetch_response.partitions.count == 0)
        return 0;
    kl_runtime_fetched_clear(n);
    r = fetched_take(n, &m->fetch_response.partitions.items[0].records);
    event->message.batches = f->batches;
    event->message.batch_count = f->count;
    return r;
}

void kl_runtime_quorum_message(struct kl_runtime_node *n,
                               const struct kl_wire_message *message)
{
    struct kl_runtime_quorum *q = &n->quorum;
    struct kl_wire_message m = *message;
    struct kl_raft_event event = {.now = n->now_ns, .type = KL_RAFT_MESSAGE};

    KL_ASSERT(kl_runtime_quorum_is_ready(n));
    event.message.message = &m;
    if (!q->raft || message_prepare(n, &m, &event) ||
        kl_raft_step(q->raft, &event, &q->effects)) {
        kl_base_stat_add(&n->stats.messages_lost, 1);
        return;
    }
    q->done = 0;
    kl_runtime_quorum_watch(n);
    (void)kl_runtime_quorum_carry_out(n);
}
