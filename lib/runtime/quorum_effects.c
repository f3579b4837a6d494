/*
 * What raft wants done, carried out in its order against the store and the
 * metadata log. An effect that finds no memory stays, and those behind it.
 */
#include "runtime/state.h"

/* ---- the log ------------------------------------------------------------ */

/* A control record in a batch of its own, as Kafka writes it: the key is
 * version and type. */
static int quorum_build_control(struct kl_runtime_node *n,
                                const struct kl_wire_control *control,
                                struct kl_base_chunk **out)
{
    struct kl_base_buf *value = &n->quorum.control;
    uint8_t key[4] = {0, 0, (uint8_t)(control->type >> 8),
                      (uint8_t)control->type};
    struct kl_batch_input in = {.key = key, .key_size = sizeof key};
    struct kl_batch_builder builder;
    int r;

    kl_base_buf_clear(value);
    r = kl_wire_control_encode(control, value, NULL);
    if (r)
        return r;
    in.timestamp = kl_runtime_wall_ms(n);
    in.value = value->data;
    in.value_size = (uint32_t)value->size;
    kl_batch_builder_init(&builder, &n->alloc);
    r = kl_batch_builder_append(&builder, kl_store_frame_max(n->store), 1024,
                                &in);
    if (!r)
        r = kl_batch_builder_finish(&builder,
                                    kl_store_log_seed(n->metadata.log),
                                    KL_BATCH_ATTR_CONTROL, out);
    kl_batch_builder_deinit(&builder);
    return r;
}

/* The store takes the reference where it takes the frame. */
static int quorum_append_frame(struct kl_runtime_node *n,
                               const struct kl_raft_effect *e,
                               struct kl_base_chunk *frame)
{
    struct kl_store_log *log = n->metadata.log;

    kl_batch_frame_stamp(frame->data, kl_store_log_seed(log), e->append.offset,
                         e->append.epoch);
    return kl_store_append(log, frame);
}

static int quorum_append_control(struct kl_runtime_node *n,
                                 const struct kl_raft_effect *e)
{
    struct kl_base_chunk *frame;
    int r = quorum_build_control(n, &e->append.control, &frame);

    if (r)
        return r;
    r = quorum_append_frame(n, e, frame);
    if (r)
        kl_base_chunk_unref(frame);
    return r;
}

static int quorum_append_proposal(struct kl_runtime_node *n,
                                  const struct kl_raft_effect *e)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int r;

    KL_ASSERT(m->frame && e->append.token == m->token);
    r = quorum_append_frame(n, e, m->frame);
    if (r)
        return r;
    m->frame = NULL; /* the store's */
    m->end_offset = e->append.end;
    kl_base_stat_add(&n->stats.metadata_batches, 1);
    return 0;
}

static int quorum_append(struct kl_runtime_node *n,
                         const struct kl_raft_effect *e)
{
    switch (e->append.source) {
    case KL_RAFT_PROPOSED:
        return quorum_append_proposal(n, e);
    case KL_RAFT_CONTROL:
        return quorum_append_control(n, e);
    case KL_RAFT_FETCHED:
        return kl_runtime_fetched_append(n, e);
    }
    KL_UNREACHABLE();
}

/* ---- messages ----------------------------------------------------------- */

/* One that has to wait for a quorum state is encoded now: what it points at
 * does not live that long. */
static void quorum_hold(struct kl_runtime_node *n,
                        const struct kl_raft_effect *e)
{
    struct kl_base_buf *b = &n->links.bytes;
    struct kl_runtime_parcel *p = NULL;

    kl_base_buf_clear(b);
    if (kl_wire_message_encode(&e->send.message, b, NULL) == 0)
        p = kl_runtime_parcel_new(n, b->data, b->size);
    if (!p) {
        kl_base_stat_add(&n->stats.messages_lost, 1);
        return;
    }
    p->after = e->send.after;
    p->node_id = e->send.message.envelope.destination_id;
    p->session_id = e->send.session_id;
    kl_base_list_push(&n->quorum.held, &p->link);
}

static void quorum_send(struct kl_runtime_node *n,
                        const struct kl_raft_effect *e)
{
    if (e->send.after > n->quorum.persisted_id)
        quorum_hold(n, e);
    else
        (void)kl_runtime_links_send(n, &e->send.message, &e->send.session_id);
}

void kl_runtime_quorum_release(struct kl_runtime_node *n)
{
    struct kl_base_list *head = &n->quorum.held;
    struct kl_base_list *item = head->next;

    while (item != head) {
        struct kl_runtime_parcel *p =
            KL_BASE_CONTAINER(item, struct kl_runtime_parcel, link);

        item = item->next;
        if (p->after > n->quorum.persisted_id)
            continue;
        kl_base_list_remove(&p->link);
        (void)kl_runtime_links_send_bytes(n, p->node_id, &p->session_id,
                                          p->data, p->size);
        kl_runtime_parcel_free(n, p);
    }
}

/* ---- the rest ---------------------------------------------------------- */

static int quorum_persist(struct kl_runtime_node *n,
                          const struct kl_raft_effect *e)
{
    const struct kl_raft_quorum_state *state = &e->persist.state;
    struct kl_store_quorum put = {.epoch = state->epoch,
                                  .leader_id = state->leader_id,
                                  .voted_id = state->voted.node_id,
                                  .voted_directory_id =
                                      state->voted.directory_id};
    int r = kl_store_quorum_put(n->store, &put, &n->quorum.put_generation);

    /* Where the state is lost nothing is kept: this node does not vote, and
     * its epoch is that of those whom it follows. */
    if (r == KL_ECORRUPT)
        r = 0;
    if (r == 0)
        n->quorum.put_id = e->persist.id;
    return r;
}

static void quorum_role(struct kl_runtime_node *n,
                        const struct kl_raft_effect *e)
{
    static const char *const names[] = {"unattached", "prospective",
                                        "candidate",  "leader",
                                        "follower",   "resigned"};

    if (e->role.role != KL_RAFT_LEADER)
        kl_runtime_metadata_lead_lost(n);
    kl_runtime_trace(
        n, KL_TRACE_DEBUG, "quorum.role role=%s epoch=%d leader=%d",
        names[e->role.role], (int)e->role.epoch, (int)e->role.leader_id);
}

/* Snapshots that end before the log begins are of no use. */
static int quorum_prune(struct kl_runtime_node *n,
                        const struct kl_raft_effect *e)
{
    int r = kl_store_set_start(n->metadata.log, e->prune_log.offset);

    if (!r)
        kl_store_snapshot_delete_before(n->store, e->prune_log.offset);
    return r;
}

static int quorum_carry_out(struct kl_runtime_node *n,
                            const struct kl_raft_effect *e)
{
    switch (e->type) {
    case KL_RAFT_PERSIST:
        return quorum_persist(n, e);
    case KL_RAFT_APPEND:
        return quorum_append(n, e);
    case KL_RAFT_TRUNCATE:
        return kl_store_truncate(n->metadata.log, e->truncate.offset);
    case KL_RAFT_COMMIT:
        n->metadata.commit = e->commit.offset;
        return 0;
    case KL_RAFT_ROLE:
        quorum_role(n, e);
        return 0;
    case KL_RAFT_LEAD:
        kl_runtime_metadata_lead(n);
        return 0;
    case KL_RAFT_COMPLETE:
        kl_runtime_metadata_complete(n, e->complete.token, e->complete.code);
        return 0;
    case KL_RAFT_FAULT:
        kl_runtime_trace(n, KL_TRACE_ERROR, "quorum.fault code=%s",
                         kl_base_error_lookup(e->fault.code)->name);
        return 0;
    case KL_RAFT_PRUNE_LOG:
        return quorum_prune(n, e);
    case KL_RAFT_SEND:
        quorum_send(n, e);
        return 0;
    case KL_RAFT_READ:
        return kl_runtime_quorum_read(n, e);
    case KL_RAFT_SNAPSHOT_READ:
        return kl_runtime_quorum_read_snapshot(n, e);
    case KL_RAFT_SNAPSHOT_WRITE:
        return kl_runtime_snapshot_write(n, e);
    case KL_RAFT_SNAPSHOT_INSTALL:
        return kl_runtime_snapshot_install(n, e);
    case KL_RAFT_RESET:
        return kl_runtime_snapshot_reset(n, e);
    }
    KL_UNREACHABLE();
}

int kl_runtime_quorum_carry_out(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;

    for (; q->done < q->effects.count; q->done++) {
        int r = quorum_carry_out(n, &q->effects.items[q->done]);

        if (r == KL_ENOMEM || r == KL_EAGAIN)
            return r;
        /* Else the store has failed, which raft is told, and what was to be
         * done is not. */
    }
    return 0;
}
