/*
 * What a node's effects do: to its log and files, which keep a prefix of what
 * was not synced when the node dies, and to the network.
 */
#include "raft_world.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- logs -------------------------------------------------------------- */

const struct world_batch *world_batch_at(const struct world_log *log,
                                         int64_t offset)
{
    for (uint32_t i = log->count; i > 0; i--)
        if (log->batches[i - 1].offset <= offset)
            return offset < log->batches[i - 1].end ? &log->batches[i - 1]
                                                    : NULL;
    return NULL;
}

static void log_truncate(struct world_log *log, int64_t offset)
{
    while (log->count && log->batches[log->count - 1].offset >= offset)
        log->count--;
    /* Cuts are between batches. */
    if (log->count)
        ck_assert_int_le(log->batches[log->count - 1].end, offset);
    if (offset < log->end)
        log->end = offset;
}

static void log_prune(struct world_log *log, int64_t offset)
{
    uint32_t drop = 0;

    while (drop < log->count && log->batches[drop].end <= offset)
        drop++;
    log->count -= drop;
    memmove(log->batches, log->batches + drop,
            log->count * sizeof *log->batches);
    if (offset > log->start)
        log->start = offset;
}

static void log_apply(struct world_log *log, const struct world_op *op)
{
    switch (op->kind) {
    case WORLD_APPEND:
        ck_assert_int_eq(op->batch.offset, log->end);
        ck_assert_uint_lt(log->count, WORLD_BATCHES);
        log->batches[log->count++] = op->batch;
        log->end = op->batch.end;
        break;
    case WORLD_TRUNCATE:
        log_truncate(log, op->offset);
        break;
    case WORLD_RESET:
        log->count = 0;
        log->start = log->end = op->offset;
        break;
    case WORLD_PRUNE:
        log_prune(log, op->offset);
        break;
    }
}

/* ---- values ------------------------------------------------------------ */

uint32_t world_value_new(struct world *w, const struct kl_wire_control *c)
{
    struct world_value *v;

    ck_assert_uint_lt(w->value_count, WORLD_VALUES);
    v = &w->values[w->value_count];
    if (c) {
        struct kl_base_error e = {0};

        kl_base_buf_clear(&w->buf);
        if (kl_wire_control_encode(c, &w->buf, &e))
            ck_abort_msg("control record does not encode: %s", e.text);
        v->is_control = 1;
        v->size = w->buf.size;
        v->bytes = malloc(v->size);
        ck_assert_ptr_nonnull(v->bytes);
        memcpy(v->bytes, w->buf.data, v->size);
    }
    return w->value_count++;
}

/* ---- crash and recovery ------------------------------------------------ */

/* A prefix of what was under way has reached the medium. */
void world_disk_crash(struct world *w, struct world_node *n)
{
    struct world_disk *d = &n->disk;
    uint32_t keep = (uint32_t)world_random(w, d->op_count + 1);

    for (uint32_t i = 0; i < keep; i++)
        log_apply(&d->log, &d->ops[i]);
    d->op_count = 0;
    keep = (uint32_t)world_random(w, d->state_count + 1);
    if (keep)
        d->quorum = d->states[keep - 1].state;
    d->state_count = 0;
    d->staged.id.end_offset = -1;
}

void world_disk_format(struct world_node *n, int is_first_voter)
{
    struct world_disk *d = &n->disk;

    memset(d, 0, sizeof *d);
    d->quorum.leader_id = -1;
    d->quorum.voted.node_id = -1;
    d->snapshot.id.end_offset = -1;
    d->staged.id.end_offset = -1;
    d->is_first_voter = is_first_voter;
}

struct recovery
{
    struct kl_raft_recovered recovered;
    struct kl_batch_epochs epochs;
    struct kl_raft_voters voters[512];
    struct kl_wire_voter first[WORLD_NODES];
    struct kl_wire_control controls[512];
    struct kl_base_buf lists[512];
};

static void recover_voters_record(struct world *w, struct recovery *r,
                                  uint32_t value, int64_t offset)
{
    uint32_t i = r->recovered.voters_count;
    const struct world_value *v = &w->values[value];

    ck_assert_uint_lt(i, 512);
    kl_base_buf_init(&r->lists[i], &w->memory.alloc);
    ck_assert_int_eq(kl_wire_control_decode(&r->controls[i], v->bytes, v->size,
                                            &r->lists[i], NULL),
                     0);
    if (r->controls[i].type != KL_WIRE_VOTERS_CONTROL) {
        kl_base_buf_deinit(&r->lists[i]);
        return;
    }
    r->voters[i].offset = offset;
    r->voters[i].voters = r->controls[i].voters.voters;
    r->recovered.voters_count++;
}

static void recover_first_voters(struct world *w, struct recovery *r)
{
    struct kl_raft_voters *v = &r->voters[r->recovered.voters_count];

    kl_base_buf_init(&r->lists[r->recovered.voters_count++], &w->memory.alloc);
    for (int i = 0; i < w->options.voters; i++) {
        memset(&r->first[i], 0, sizeof r->first[i]);
        r->first[i].node_id = w->nodes[i].id;
        r->first[i].directory_id = w->first_directories[i];
        r->first[i].version_max = 1;
    }
    v->offset = -1;
    v->voters.items = r->first;
    v->voters.count = (uint32_t)w->options.voters;
}

static void recover_log(struct world *w, struct world_node *n,
                        struct recovery *r)
{
    const struct world_log *log = &n->disk.log;
    const struct world_snapshot *s = &n->disk.snapshot;

    r->recovered.log_start = log->start;
    r->recovered.leo = log->end;
    r->recovered.snapshot = s->id;
    if (s->id.end_offset > 0)
        recover_voters_record(w, r, s->voters_value, s->voters_offset);
    else if (n->disk.is_first_voter)
        recover_first_voters(w, r);
    for (uint32_t i = 0; i < log->count; i++) {
        const struct world_batch *b = &log->batches[i];

        ck_assert_int_eq(kl_batch_epochs_append(&r->epochs, &w->memory.alloc,
                                                b->epoch, b->offset),
                         0);
        if (w->values[b->value].is_control && b->offset >= s->id.end_offset)
            recover_voters_record(w, r, b->value, b->offset);
    }
}

void world_open(struct world *w, struct world_node *n)
{
    struct kl_raft_options options;
    struct recovery *r = calloc(1, sizeof *r);
    int32_t ids[WORLD_NODES];
    struct kl_base_error e = {0};
    struct world_disk *d = &n->disk;

    ck_assert_ptr_nonnull(r);
    memset(&options, 0, sizeof options);
    options.self.node_id = n->id;
    options.self.directory_id = n->directory;
    options.cluster_id = w->cluster;
    options.session_id = n->session;
    options.topic_id = w->topic;
    options.seed = world_random(w, UINT64_MAX);
    for (int i = 0; i < w->options.voters; i++)
        ids[i] = w->nodes[i].id;
    options.bootstrap_ids = ids;
    options.bootstrap_count = (uint32_t)w->options.voters;
    options.observers_max = 8;
    options.snapshot_bytes_max = 16;
    kl_batch_epochs_init(&r->epochs);
    r->recovered.epochs = &r->epochs;
    r->recovered.voters = r->voters;
    recover_log(w, n, r);
    r->recovered.quorum = d->quorum;
    r->recovered.verdict = n->verdict;
    if (kl_raft_new(&n->raft, &w->memory.alloc, &options, &r->recovered, &e))
        ck_abort_msg("%s", e.text);
    n->log = d->log;
    n->applied = d->snapshot.id.end_offset > 0 ? d->snapshot.id.end_offset : 0;
    n->hash = d->snapshot.id.end_offset > 0 ? d->snapshot.hash : 0;
    n->commit = n->applied;
    n->is_applying = 0;
    n->is_leading = 0;
    n->fault = 0;
    n->high_watermark = 0;
    n->persisted_id = 0;
    kl_batch_epochs_deinit(&r->epochs, &w->memory.alloc);
    for (uint32_t i = 0; i < r->recovered.voters_count; i++)
        kl_base_buf_deinit(&r->lists[i]);
    free(r);
}

/* ---- the log's effects ------------------------------------------------- */

static struct world_item item_of(const struct world_node *n,
                                 enum world_kind kind)
{
    struct world_item item;

    memset(&item, 0, sizeof item);
    item.kind = kind;
    item.node = n->index;
    item.boot = n->boot;
    return item;
}

static void log_do(struct world *w, struct world_node *n, struct world_op *op)
{
    struct world_disk *d = &n->disk;
    struct world_item item = item_of(n, WORLD_LOG_SYNC);

    log_apply(&n->log, op);
    ck_assert_uint_lt(d->op_count, WORLD_PENDING);
    d->ops[d->op_count++] = *op;
    world_later(w, 1 + (int64_t)world_random(w, (uint64_t)w->options.sync_max),
                &item);
}

static void do_append_batch(struct world *w, struct world_node *n,
                            uint32_t generation, struct world_batch *b)
{
    struct world_op op = {.kind = WORLD_APPEND, .generation = generation};

    op.batch = *b;
    oracle_append(w, n, b);
    log_do(w, n, &op);
}

static void do_append(struct world *w, struct world_node *n,
                      const struct kl_raft_effect *effect,
                      const struct kl_raft_event *event)
{
    struct world_batch b = {0};
    const uint8_t *bytes;

    b.offset = effect->append.offset;
    b.end = effect->append.end;
    b.epoch = effect->append.epoch;
    if (effect->append.source != KL_RAFT_FETCHED) {
        b.value = world_value_new(w, effect->append.source == KL_RAFT_CONTROL
                                         ? &effect->append.control
                                         : NULL);
        do_append_batch(w, n, effect->append.generation, &b);
        return;
    }
    bytes =
        event->message.message->fetch_response.partitions.items[0].records.data;
    for (uint32_t i = 0; i < effect->append.count; i++) {
        const struct kl_raft_batch *from = &event->message.batches[i];

        b.offset = from->offset;
        b.end = from->end;
        b.epoch = from->epoch;
        b.value = kl_base_get_le32(bytes + 24 * i + 20);
        do_append_batch(w, n, effect->append.generation, &b);
    }
}

static void do_reset(struct world *w, struct world_node *n,
                     const struct kl_raft_effect *effect)
{
    struct world_op op = {.kind = WORLD_RESET};
    struct kl_raft_view v = world_view(w, n->index);

    /* R11. */
    ck_assert_int_ne(v.role, KL_RAFT_LEADER);
    ck_assert_int_eq(n->disk.snapshot.id.end_offset,
                     effect->reset.snapshot.end_offset);
    op.generation = effect->reset.generation;
    op.offset = effect->reset.snapshot.end_offset;
    log_do(w, n, &op);
    n->applied = op.offset;
    n->hash = n->disk.snapshot.hash;
    n->commit = op.offset;
}

static void do_truncate(struct world *w, struct world_node *n,
                        const struct kl_raft_effect *effect)
{
    struct world_op op = {.kind = WORLD_TRUNCATE};

    op.generation = effect->truncate.generation;
    op.offset = effect->truncate.offset;
    log_do(w, n, &op);
}

static void do_prune(struct world *w, struct world_node *n,
                     const struct kl_raft_effect *effect)
{
    struct world_op op = {.kind = WORLD_PRUNE};

    op.offset = effect->prune_log.offset;
    op.generation = world_view(w, n->index).generation;
    log_do(w, n, &op);
}

/* One sync completes: what was asked for before it, or some of that. */
static void log_synced(struct world *w, struct world_node *n)
{
    struct world_disk *d = &n->disk;
    struct kl_raft_event event = {.type = KL_RAFT_DURABLE};
    uint32_t count;

    if (d->op_count == 0)
        return;
    count = 1 + (uint32_t)world_random(w, d->op_count);
    for (uint32_t i = 0; i < count; i++) {
        log_apply(&d->log, &d->ops[i]);
        event.durable.generation = d->ops[i].generation;
    }
    d->op_count -= count;
    memmove(d->ops, d->ops + count, d->op_count * sizeof *d->ops);
    event.durable.offset = d->log.end;
    world_step(w, n->index, &event);
}

/* ---- quorum state and messages ----------------------------------------- */

static void do_persist(struct world *w, struct world_node *n,
                       const struct kl_raft_effect *effect)
{
    struct world_disk *d = &n->disk;
    struct world_item item = item_of(n, WORLD_QUORUM_SYNC);

    ck_assert_uint_lt(d->state_count, WORLD_PENDING);
    d->states[d->state_count].id = effect->persist.id;
    d->states[d->state_count++].state = effect->persist.state;
    item.id = effect->persist.id;
    world_later(w, 1 + (int64_t)world_random(w, (uint64_t)w->options.sync_max),
                &item);
}

static void network_put(struct world *w, struct world_node *n,
                        const uint8_t *bytes, size_t size)
{
    struct world_item item = {.kind = WORLD_MESSAGE};
    int copies = 1;

    w->sent++;
    item.from = n->index;
    item.node = world_index_of(
        w, (int32_t)kl_base_get_le32(bytes + KL_WIRE_MESSAGE_PREFIX + 36));
    if (item.node < 0)
        return;
    if ((int)world_random(w, 1000) < w->options.loss)
        copies = 0;
    else if ((int)world_random(w, 1000) < w->options.duplication)
        copies = 2;
    w->dropped += copies == 0;
    for (int i = 0; i < copies; i++) {
        int64_t max = w->options.delay_max;

        /* Now and then one is very late. */
        if (copies == 2 && i == 1)
            max *= 50;
        item.bytes = malloc(size);
        ck_assert_ptr_nonnull(item.bytes);
        memcpy(item.bytes, bytes, size);
        item.size = size;
        world_later(w, 1 + (int64_t)world_random(w, (uint64_t)max), &item);
    }
}

static void do_send(struct world *w, struct world_node *n,
                    const struct kl_raft_effect *effect)
{
    struct world_held *h;
    struct kl_base_error e = {0};

    kl_base_buf_clear(&w->buf);
    if (kl_wire_message_encode(&effect->send.message, &w->buf, &e))
        ck_abort_msg("message does not encode: %s", e.text);
    if (effect->send.after <= (uint64_t)n->persisted_id) {
        oracle_send(w, n, &effect->send.message);
        network_put(w, n, w->buf.data, w->buf.size);
        return;
    }
    ck_assert_uint_lt(n->held_count, WORLD_PENDING);
    h = &n->held[n->held_count++];
    h->after = effect->send.after;
    h->size = w->buf.size;
    h->bytes = malloc(h->size);
    ck_assert_ptr_nonnull(h->bytes);
    memcpy(h->bytes, w->buf.data, h->size);
}

static void release_held(struct world *w, struct world_node *n)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < n->held_count; i++) {
        struct world_held h = n->held[i];
        struct kl_wire_message m;

        if (h.after > n->persisted_id) {
            n->held[left++] = h;
            continue;
        }
        ck_assert_int_eq(
            kl_wire_message_decode(&m, h.bytes, h.size, &w->lists, NULL), 0);
        oracle_send(w, n, &m);
        network_put(w, n, h.bytes, h.size);
        free(h.bytes);
    }
    n->held_count = left;
}

static void quorum_synced(struct world *w, struct world_node *n,
                          const struct world_item *item)
{
    struct world_disk *d = &n->disk;
    struct kl_raft_event event = {.type = KL_RAFT_PERSISTED};
    uint32_t count = 0;

    while (count < d->state_count && d->states[count].id <= item->id)
        d->quorum = d->states[count++].state;
    if (count == 0)
        return;
    d->state_count -= count;
    memmove(d->states, d->states + count, d->state_count * sizeof *d->states);
    n->persisted_id = item->id;
    release_held(w, n);
    event.persisted.id = item->id;
    world_step(w, n->index, &event);
}

/* ---- reading ----------------------------------------------------------- */

static void do_read(struct world *w, struct world_node *n,
                    const struct kl_raft_effect *effect)
{
    struct world_item item = item_of(n, WORLD_READ);

    item.id = effect->read.id;
    item.offset = effect->read.offset;
    item.limit = effect->read.bytes_max;
    world_later(w, 1 + (int64_t)world_random(w, (uint64_t)MS), &item);
}

static void read_done(struct world *w, struct world_node *n,
                      const struct world_item *item)
{
    struct kl_raft_event event = {.type = KL_RAFT_READ_DONE};
    const struct world_batch *b = world_batch_at(&n->log, item->offset);
    uint32_t max = 1 + (uint32_t)world_random(w, 60);
    uint8_t bytes[64 * 24];
    uint32_t size = 0;

    event.read.id = item->id;
    for (; b && b < n->log.batches + n->log.count && size < max * 24; b++) {
        kl_base_put_le64(bytes + size, (uint64_t)b->offset);
        kl_base_put_le32(bytes + size + 8, (uint32_t)(b->end - b->offset));
        kl_base_put_le32(bytes + size + 12, (uint32_t)b->epoch);
        kl_base_put_le32(bytes + size + 16, 0x1234);
        kl_base_put_le32(bytes + size + 20, b->value);
        size += 24;
    }
    event.read.records.data = bytes;
    event.read.records.size = size;
    world_step(w, n->index, &event);
}

/* ---- snapshots --------------------------------------------------------- */

enum { SNAPSHOT_SIZE = 60 };

/* A snapshot travels as the bytes of its description. */
static void snapshot_pack(const struct world_snapshot *s,
                          uint8_t out[SNAPSHOT_SIZE])
{
    memset(out, 0x5a, SNAPSHOT_SIZE);
    kl_base_put_le64(out, (uint64_t)s->id.end_offset);
    kl_base_put_le32(out + 8, (uint32_t)s->id.epoch);
    kl_base_put_le64(out + 12, s->hash);
    kl_base_put_le32(out + 20, s->voters_value);
    kl_base_put_le64(out + 24, (uint64_t)s->voters_offset);
}

static void snapshot_read_done(struct world *w, struct world_node *n,
                               const struct world_item *item)
{
    struct kl_raft_event event = {.type = KL_RAFT_SNAPSHOT_READ_DONE};
    uint8_t bytes[SNAPSHOT_SIZE];

    event.snapshot_read.id = item->id;
    event.snapshot_read.size = SNAPSHOT_SIZE;
    if (n->disk.snapshot.id.end_offset != item->snapshot.end_offset) {
        event.snapshot_read.code = KL_ENOENT;
    } else {
        snapshot_pack(&n->disk.snapshot, bytes);
        ck_assert_int_lt(item->offset, SNAPSHOT_SIZE);
        event.snapshot_read.bytes.data = bytes + item->offset;
        event.snapshot_read.bytes.size =
            (uint32_t)(SNAPSHOT_SIZE - item->offset);
        if (event.snapshot_read.bytes.size > item->limit)
            event.snapshot_read.bytes.size = item->limit;
    }
    world_step(w, n->index, &event);
}

static void do_snapshot_write(struct world *w, struct world_node *n,
                              const struct kl_raft_effect *effect)
{
    struct world_item item = item_of(n, WORLD_SNAPSHOT_WRITTEN);
    uint32_t size = effect->snapshot_write.bytes.size;
    int64_t at = effect->snapshot_write.position;

    if (at == 0)
        n->disk.staged.id = effect->snapshot_write.snapshot;
    ck_assert_int_le(at + size, SNAPSHOT_SIZE);
    memcpy(n->staged_bytes + at, effect->snapshot_write.bytes.data, size);
    item.snapshot = effect->snapshot_write.snapshot;
    item.offset = at + size;
    world_later(w, 1 + (int64_t)world_random(w, (uint64_t)MS), &item);
}

static void snapshot_written(struct world *w, struct world_node *n,
                             const struct world_item *item)
{
    struct kl_raft_event event = {.type = KL_RAFT_SNAPSHOT_WRITTEN};

    event.snapshot_written.id = item->snapshot;
    event.snapshot_written.position = item->offset;
    world_step(w, n->index, &event);
}

static void snapshot_installed(struct world *w, struct world_node *n,
                               const struct world_item *item)
{
    struct kl_raft_event event = {.type = KL_RAFT_SNAPSHOT_INSTALLED};
    struct world_snapshot s;
    struct kl_wire_control c;
    const uint8_t *p = n->staged_bytes;

    s.id.end_offset = (int64_t)kl_base_get_le64(p);
    s.id.epoch = (int32_t)kl_base_get_le32(p + 8);
    s.hash = kl_base_get_le64(p + 12);
    s.voters_value = kl_base_get_le32(p + 20);
    s.voters_offset = (int64_t)kl_base_get_le64(p + 24);
    event.snapshot_installed.id = item->snapshot;
    if (s.id.end_offset != item->snapshot.end_offset ||
        s.id.epoch != item->snapshot.epoch) {
        event.snapshot_installed.code = KL_ECORRUPT;
    } else {
        const struct world_value *v = &w->values[s.voters_value];

        if (s.id.end_offset > n->disk.snapshot.id.end_offset)
            n->disk.snapshot = s;
        ck_assert_int_eq(kl_wire_control_decode(&c, v->bytes, v->size,
                                                &w->control_lists[0], NULL),
                         0);
        event.snapshot_installed.voters.offset = s.voters_offset;
        event.snapshot_installed.voters.voters = c.voters.voters;
    }
    world_step(w, n->index, &event);
}

void world_take_snapshot(struct world *w, int node, int prune)
{
    struct world_node *n = &w->nodes[node];
    struct kl_raft_event event = {.type = KL_RAFT_SNAPSHOT_TAKEN};
    struct kl_raft_event prune_event = {.type = KL_RAFT_PRUNE};
    struct kl_wire_control c = {.type = KL_WIRE_VOTERS_CONTROL};
    struct kl_raft_voters voters;

    if (kl_raft_snapshot_id_at(n->raft, n->applied, &event.taken.id))
        return;
    ck_assert_int_eq(kl_raft_voters_at(n->raft, n->applied, &voters), 0);
    c.voters.voters = voters.voters;
    n->disk.snapshot.id = event.taken.id;
    n->disk.snapshot.hash = n->hash;
    n->disk.snapshot.voters_value = world_value_new(w, &c);
    n->disk.snapshot.voters_offset = voters.offset;
    world_step(w, node, &event);
    if (prune)
        world_step(w, node, &prune_event);
}

/* ---- the state machine ------------------------------------------------- */

static void apply_soon(struct world *w, struct world_node *n)
{
    struct world_item item = item_of(n, WORLD_APPLY);

    if (n->is_applying || n->applied >= n->commit)
        return;
    n->is_applying = 1;
    world_later(w, 1 + (int64_t)world_random(w, (uint64_t)w->options.apply_max),
                &item);
}

/* Applies some batches that are committed and, as it must be, durable. */
static void apply(struct world *w, struct world_node *n)
{
    struct kl_raft_event event = {.type = KL_RAFT_APPLIED};
    const struct world_batch *b;
    uint32_t max = 1 + (uint32_t)world_random(w, 8);

    n->is_applying = 0;
    for (; max > 0 && n->applied < n->commit; max--) {
        b = world_batch_at(&n->log, n->applied);
        ck_assert_ptr_nonnull(b);
        ck_assert_int_eq(b->offset, n->applied);
        ck_assert_int_le(b->end, n->commit);
        ck_assert_int_le(b->end, n->disk.log.end);
        oracle_apply(w, n, b);
        n->applied = b->end;
    }
    event.applied.offset = n->applied;
    world_step(w, n->index, &event);
    apply_soon(w, n);
}

/* ---- dispatch ---------------------------------------------------------- */

static void do_complete(struct world *w, const struct kl_raft_effect *effect)
{
    struct world_call *call;

    ck_assert_uint_ge(effect->complete.token, 1);
    ck_assert_uint_le(effect->complete.token, w->call_count);
    call = &w->calls[effect->complete.token - 1];
    ck_assert(!call->is_done);
    call->is_done = 1;
    call->code = effect->complete.code;
    call->offset = effect->complete.offset;
    oracle_done(w, call);
}

static void do_other(struct world *w, struct world_node *n,
                     const struct kl_raft_effect *effect)
{
    struct world_item item;

    switch (effect->type) {
    case KL_RAFT_COMMIT:
        ck_assert_int_gt(effect->commit.offset, n->commit);
        n->commit = effect->commit.offset;
        apply_soon(w, n);
        break;
    case KL_RAFT_ROLE:
        n->is_leading = 0;
        oracle_role(w, n, effect->role.role, effect->role.epoch);
        break;
    case KL_RAFT_LEAD:
        n->is_leading = 1;
        n->lead_epoch = effect->lead.epoch;
        break;
    case KL_RAFT_COMPLETE:
        do_complete(w, effect);
        break;
    case KL_RAFT_FAULT:
        n->fault = effect->fault.code;
        break;
    case KL_RAFT_SNAPSHOT_READ:
        item = item_of(n, WORLD_SNAPSHOT_READ);
        item.id = effect->snapshot_read.id;
        item.snapshot = effect->snapshot_read.snapshot;
        item.offset = effect->snapshot_read.position;
        item.limit = effect->snapshot_read.bytes_max;
        world_later(w, 1 + (int64_t)world_random(w, (uint64_t)MS), &item);
        break;
    case KL_RAFT_SNAPSHOT_INSTALL:
        item = item_of(n, WORLD_SNAPSHOT_INSTALLED);
        item.snapshot = effect->snapshot_install.snapshot;
        /* Sometimes much happens meanwhile. */
        item.offset = world_random(w, 4) ? w->options.sync_max : 5 * SECOND;
        world_later(w, 1 + (int64_t)world_random(w, (uint64_t)item.offset),
                    &item);
        break;
    default:
        ck_abort_msg("effect %d", (int)effect->type);
    }
}

void world_effects(struct world *w, struct world_node *n,
                   const struct kl_raft_event *event)
{
    /* The effects of this step; completing them steps again. */
    for (size_t i = 0; i < n->effects.count; i++) {
        const struct kl_raft_effect *effect = &n->effects.items[i];

        switch (effect->type) {
        case KL_RAFT_PERSIST:
            do_persist(w, n, effect);
            break;
        case KL_RAFT_APPEND:
            do_append(w, n, effect, event);
            break;
        case KL_RAFT_TRUNCATE:
            do_truncate(w, n, effect);
            break;
        case KL_RAFT_RESET:
            do_reset(w, n, effect);
            break;
        case KL_RAFT_PRUNE_LOG:
            do_prune(w, n, effect);
            break;
        case KL_RAFT_SEND:
            do_send(w, n, effect);
            break;
        case KL_RAFT_READ:
            do_read(w, n, effect);
            break;
        case KL_RAFT_SNAPSHOT_WRITE:
            do_snapshot_write(w, n, effect);
            break;
        default:
            do_other(w, n, effect);
            break;
        }
    }
}

void world_complete(struct world *w, struct world_node *n,
                    const struct world_item *item)
{
    switch (item->kind) {
    case WORLD_MESSAGE:
        break;
    case WORLD_LOG_SYNC:
        log_synced(w, n);
        break;
    case WORLD_QUORUM_SYNC:
        quorum_synced(w, n, item);
        break;
    case WORLD_READ:
        read_done(w, n, item);
        break;
    case WORLD_SNAPSHOT_READ:
        snapshot_read_done(w, n, item);
        break;
    case WORLD_SNAPSHOT_WRITTEN:
        snapshot_written(w, n, item);
        break;
    case WORLD_SNAPSHOT_INSTALLED:
        snapshot_installed(w, n, item);
        break;
    case WORLD_APPLY:
        apply(w, n);
        break;
    }
}
