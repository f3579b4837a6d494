/*
 * What the simulator sees of a node's inside; it changes nothing there.
 */
#include "world.h"

#include "need.h"

#include "base/hash.h"
#include "runtime/state.h"
#include "store/state.h"

int64_t door_deadline_ns(const struct host *h)
{
    const struct kl_runtime_node *n = h->n;
    int64_t store = kl_store_deadline(n->store);
    int64_t timers = kl_runtime_timers_deadline(n);

    /* A signal says that there is more to do than the last poll has done. */
    if (!kl_runtime_inbox_is_empty(n) || n->wakeup.write_fd > 0)
        return 0;
    return store < timers ? store : timers;
}

/* Nothing above the offset is left of a chunk of whole frames. */
static void door_pieces(struct host *h, const struct kl_store_entry *e,
                        int64_t above)
{
    uint64_t seed = kl_store_log_seed(h->n->metadata.log);
    uint32_t at = 0;

    while (at < e->size) {
        const uint8_t *frame = e->chunk->data + at;
        struct kl_batch_info info;
        struct log_piece piece;
        const char *wrong;

        need_ok(kl_batch_frame_header(frame, e->size - at, seed, &info));
        at += info.frame_size;
        if (info.last_offset < above)
            continue;
        piece = (struct log_piece){info.base_offset, info.last_offset + 1,
                                   info.leader_epoch,
                                   kl_base_hash(frame, info.frame_size, 0)};
        wrong =
            check_log_matching(&h->w->checks.log_matching, h->index, &piece);
        if (wrong)
            world_fail(h->w, "log-matching", "%s", wrong);
    }
}

int64_t door_log_tail(struct host *h, int64_t above)
{
    struct kl_store_log *log = h->n->metadata.log;
    struct kl_base_list *lists[] = {&log->work->pending, &log->work->cached};

    /* From the newest backwards. */
    for (int i = 0; i < 2; i++)
        for (struct kl_base_list *l = lists[i]->prev; l != lists[i];
             l = l->prev) {
            const struct kl_store_entry *e =
                KL_BASE_CONTAINER(l, struct kl_store_entry, order);

            if (e->type != KL_STORE_ENTRY_APPEND || e->cut)
                continue;
            if (e->end <= above)
                break;
            door_pieces(h, e, above);
        }
    return log->leo;
}

int door_has_cluster(const struct host *h)
{
    return h->n->quorum.raft != NULL;
}

int door_messages(const struct host *h, uint64_t out[BAD_MESSAGES])
{
    const struct kl_runtime_stats *s = &h->n->stats;

    out[BAD_FOREIGN] = kl_base_stat_get(&s->messages_foreign);
    out[BAD_UNKNOWN] = kl_base_stat_get(&s->messages_unknown);
    out[BAD_MISDIRECTED] = kl_base_stat_get(&s->messages_misdirected);
    out[BAD_MALFORMED] = kl_base_stat_get(&s->messages_malformed);
    return door_has_cluster(h) && kl_runtime_quorum_is_ready(h->n);
}

struct kl_controller *door_controller(const struct host *h)
{
    return h->n->metadata.controller;
}

int door_image_is_whole(const struct host *h)
{
    return !h->n->metadata.records_done && !h->n->metadata.code;
}

uint64_t door_image(const struct host *h)
{
    struct kl_controller_records records;
    uint64_t hash;

    kl_controller_records_init(&records, &h->w->memory.alloc);
    need_ok(kl_controller_encode(h->n->metadata.controller, &records));
    hash = kl_base_hash(records.buf.data, records.buf.size, records.count);
    kl_controller_records_deinit(&records);
    return hash;
}

int door_leader(const struct host *h, const struct kl_base_uuid *topic_id,
                int partition)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find_id(h->n->metadata.controller, topic_id);
    const struct kl_controller_partition *p =
        t ? kl_controller_partition_at(t, partition) : NULL;

    return p && p->leader > 0 && p->leader <= h->w->o.hosts ? p->leader - 1
                                                            : -1;
}

static int door_in_sync(const struct kl_controller *c,
                        const struct kl_base_uuid *id, int partition)
{
    const struct kl_controller_topic *t = kl_controller_topic_find_id(c, id);
    size_t count = 0;

    (void)kl_controller_partition_list(kl_controller_partition_at(t, partition),
                                       KL_CONTROLLER_ISR, &count);
    return (int)count;
}

/* Where this host leads, it does; else it knows who does. A partition whose
 * replicas are all taken for unclean waits for an operator. */
static int door_is_led_here(const struct host *h, const struct kl_base_uuid *id,
                            int partition)
{
    int leader = door_leader(h, id, partition);
    const struct kl_runtime_partition *p;

    if (leader != h->index)
        return leader >= 0 ||
               door_in_sync(h->n->metadata.controller, id, partition) == 0;
    p = kl_runtime_partition_find(h->n, id, partition);
    return p && p->is_leader;
}

int door_is_led(const struct host *h)
{
    const struct kl_controller *c = h->n->metadata.controller;

    for (size_t i = 0; i < kl_controller_topic_count(c); i++) {
        const struct kl_controller_topic *t = kl_controller_topic_at(c, i);

        for (int k = 0; k < t->partition_count; k++)
            if (!door_is_led_here(h, &t->id, k))
                return 0;
    }
    return 1;
}

int64_t door_log_end(const struct host *h, const struct kl_base_uuid *topic_id,
                     int partition)
{
    struct kl_store_id id = {*topic_id, partition};
    struct kl_store_log *log = kl_store_find(h->n->store, &id);
    struct kl_store_view view;

    if (!log)
        return -1;
    kl_store_log_view(log, &view);
    return view.durable_leo;
}

/* Where the epoch begins in the log of the metadata. */
static int64_t door_epoch_start(const struct kl_runtime_node *n, int32_t epoch)
{
    const struct kl_batch_epochs *epochs;
    struct kl_store_view log;

    kl_store_log_view(n->metadata.log, &log);
    epochs = log.epochs;
    if (!epochs->count || epochs->items[epochs->count - 1].epoch != epoch)
        return -1;
    return epochs->items[epochs->count - 1].start;
}

static void door_voters(struct observation *out,
                        const struct kl_raft_voters *voters)
{
    out->voters_offset = voters->offset;
    for (uint32_t i = 0; i < voters->voters.count && i < CHECK_HOSTS; i++) {
        const struct kl_wire_voter *v = &voters->voters.items[i];

        out->voters[i] = v->node_id;
        out->voter_keys[i] = kl_base_hash(
            &v->directory_id, sizeof v->directory_id, (uint64_t)v->node_id);
        out->voter_count++;
    }
}

int door_refusal(const struct host *h)
{
    struct kl_raft_view view = {0};

    if (h->n->quorum.raft)
        kl_raft_view(h->n->quorum.raft, &view);
    return view.refusal;
}

void door_observe(const struct host *h, struct observation *out)
{
    const struct kl_runtime_node *n = h->n;
    struct kl_store_quorum quorum;
    struct kl_raft_view view;

    memset(out, 0, sizeof *out);
    (void)kl_store_quorum_get(n->store, &quorum, NULL);
    out->epoch = quorum.epoch;
    out->durable_epoch = quorum.epoch;
    out->durable_voted_id = quorum.voted_id;
    out->leader_id = -1;
    out->snapshot_end = -1;
    out->epoch_start = -1;
    out->voters_offset = -1;
    out->host = h->index;
    out->boots = h->boots;
    out->now_ns = h->now_ns;
    out->id = h->id;
    out->applied = n->metadata.applied;
    out->is_caught_up = n->metadata.is_caught_up;
    out->is_active = n->metadata.is_leading;
    if (!n->quorum.raft)
        return;
    kl_raft_view(n->quorum.raft, &view);
    out->role = view.role;
    out->epoch = view.epoch;
    out->leader_id = view.leader_id;
    out->voted_id = view.voted.node_id;
    out->log_start = view.log_start;
    out->leo = view.leo;
    out->durable_leo = view.durable_leo;
    out->high_watermark = view.high_watermark;
    out->snapshot_end = view.snapshot.end_offset;
    out->epoch_start = door_epoch_start(n, view.epoch);
    out->is_voter = view.is_voter;
    out->may_vote = view.may_vote;
    out->is_leading = view.is_leading;
    out->fault = view.fault;
    out->counters = view.counters;
    door_voters(out, &view.voters);
    out->broken = kl_raft_check_invariants(n->quorum.raft);
}
