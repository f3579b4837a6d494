/*
 * Making raft from what is on the disk: the quorum state, the snapshot, and the
 * sets of voters that records of the metadata log name, committed or not.
 */
#include "runtime/state.h"

#include <string.h>

/* A record's bytes, which are gone after the read, and the list in them. */
struct quorum_list
{
    struct kl_base_buf bytes;
    struct kl_base_buf list;
};

/* Sets of voters that the snapshot and records of the log name; the lists
 * behind those of the log. */
struct quorum_found
{
    struct kl_raft_voters *items;
    size_t count;
    size_t capacity;
    struct quorum_list *lists; /* count of them */
    size_t lists_capacity;
    int64_t from; /* records before it are in the snapshot */
};

static void quorum_found_deinit(struct kl_runtime_node *n,
                                struct quorum_found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        kl_base_buf_deinit(&f->lists[i].bytes);
        kl_base_buf_deinit(&f->lists[i].list);
    }
    kl_base_free(&n->alloc, f->items, f->capacity * sizeof *f->items);
    kl_base_free(&n->alloc, f->lists, f->lists_capacity * sizeof *f->lists);
}

/* Room for one more. */
static int quorum_found_add(struct kl_runtime_node *n, struct quorum_found *f,
                            int64_t offset,
                            const struct kl_wire_voter_list *voters)
{
    if (kl_base_reserve(&n->alloc, (void **)&f->items, &f->capacity,
                        f->count + 1, sizeof *f->items) ||
        kl_base_reserve(&n->alloc, (void **)&f->lists, &f->lists_capacity,
                        f->count + 1, sizeof *f->lists))
        return KL_ENOMEM;
    kl_base_buf_init(&f->lists[f->count].bytes, &n->alloc);
    kl_base_buf_init(&f->lists[f->count].list, &n->alloc);
    f->items[f->count].offset = offset;
    f->items[f->count].voters = *voters;
    f->count++;
    return 0;
}

static int quorum_find(struct kl_runtime_node *n,
                       const struct kl_batch_record *record, void *user,
                       struct kl_base_error *error)
{
    struct kl_wire_voter_list none = {0};
    struct quorum_found *f = user;
    struct kl_wire_control control;
    struct quorum_list *l;
    int r;

    /* Every start leaves records that are of no interest here. */
    if (record->offset < f->from ||
        (record->value_size >= 2 &&
         kl_base_get_le16(record->value) != KL_WIRE_VOTERS_CONTROL))
        return 0;
    r = quorum_found_add(n, f, record->offset, &none);
    if (r)
        return r;
    l = &f->lists[f->count - 1];
    kl_base_buf_append(&l->bytes, record->value, record->value_size);
    if (l->bytes.error)
        return l->bytes.error;
    r = kl_wire_control_decode(&control, l->bytes.data, l->bytes.size, &l->list,
                               error);
    if (!r)
        f->items[f->count - 1].voters = control.voters.voters;
    return r;
}

/* The sets that are known: that of the snapshot, those of the log behind it; a
 * folder that was made without peers is a quorum of one, and one that was made
 * to join knows nobody. */
static int quorum_found_all(struct kl_runtime_node *n, struct quorum_found *f,
                            const struct kl_wire_voter *self,
                            struct kl_base_error *error)
{
    const struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_wire_voter_list alone = {.items = self, .count = 1};
    int r = 0;

    f->from = all->id.end_offset;
    if (all->id.end_offset >= 0)
        r = quorum_found_add(n, f, all->image.voters.offset,
                             &all->image.voters.voters);
    if (!r)
        r = kl_runtime_metadata_scan(n, quorum_find, f, error);
    if (!r && !f->count && !kl_runtime_joins(n))
        r = quorum_found_add(n, f, -1, &alone);
    return r;
}

static enum kl_raft_verdict quorum_verdict(struct kl_runtime_node *n,
                                           struct kl_raft_quorum_state *out)
{
    struct kl_store_quorum state;
    enum kl_store_quorum_verdict verdict =
        kl_store_quorum_get(n->store, &state, NULL);

    out->epoch = state.epoch;
    out->leader_id = state.leader_id;
    out->voted.node_id = state.voted_id;
    out->voted.directory_id = state.voted_directory_id;
    return verdict == KL_STORE_QUORUM_LOST ? KL_RAFT_STATE_LOST : KL_RAFT_FIT;
}

static int quorum_is_found_alone(const struct quorum_found *f,
                                 const struct kl_wire_voter *self)
{
    const struct kl_raft_voters *last;

    if (!f->count)
        return 0;
    last = &f->items[f->count - 1];
    return last->voters.count == 1 &&
           last->voters.items[0].node_id == self->node_id;
}

/* What the configuration says of the quorum. */
static int quorum_options(struct kl_runtime_node *n,
                          int32_t ids[KL_RUNTIME_BOOTSTRAP_MAX],
                          struct kl_raft_options *out,
                          struct kl_base_error *error)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    const struct kl_base_config *c = &n->config;
    const int64_t ms = 1000000;
    int r = kl_runtime_bootstrap_ids(n, ids, &out->bootstrap_count, error);

    if (!r)
        r = kl_runtime_endpoints_own(n, &n->links.bytes, &out->endpoints);
    out->self.node_id = id->node_id;
    out->self.directory_id = id->directory_id;
    out->cluster_id = id->cluster_id;
    out->topic_id = kl_store_metadata_topic;
    out->seed = kl_runtime_seed(n);
    out->session_id = n->links.session_id;
    out->bootstrap_ids = ids;
    out->election_timeout_ns =
        ms * kl_base_config_value(c, KL_BASE_CONFIG_ELECTION_TIMEOUT_MS);
    out->fetch_timeout_ns =
        ms * kl_base_config_value(c, KL_BASE_CONFIG_FETCH_TIMEOUT_MS);
    out->request_timeout_ns =
        ms * kl_base_config_value(c, KL_BASE_CONFIG_REQUEST_TIMEOUT_MS);
    return r;
}

static int quorum_new(struct kl_runtime_node *n, const struct quorum_found *f,
                      const struct kl_wire_voter *self,
                      struct kl_base_error *error)
{
    int32_t ids[KL_RUNTIME_BOOTSTRAP_MAX];
    struct kl_raft_recovered recovered = {
        .snapshot = n->snapshots.id,
        .voters = f->items,
        .voters_count = (uint32_t)f->count,
    };
    struct kl_raft_options options = {0};
    struct kl_store_view view;
    int r = quorum_options(n, ids, &options, error);

    if (r)
        return r;
    /* With peers it goes on without a vote; alone there is nobody to ask. */
    recovered.verdict = quorum_verdict(n, &recovered.quorum);
    if (recovered.verdict != KL_RAFT_FIT && quorum_is_found_alone(f, self))
        return kl_base_error_set(
            error, KL_ECORRUPT,
            "the quorum state is lost, but the metadata log is not empty; "
            "KL_OPEN_ACCEPT_LOSS begins a new one");
    kl_store_log_view(n->metadata.log, &view);
    recovered.log_start = view.start;
    recovered.leo = view.durable_leo;
    recovered.epochs = view.epochs;
    r = kl_raft_new(&n->quorum.raft, &n->alloc, &options, &recovered, error);
    n->quorum.applied_told = n->metadata.applied;
    return r;
}

int kl_runtime_quorum_open(struct kl_runtime_node *n,
                           struct kl_base_error *error)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    struct kl_wire_voter self = {.node_id = id->node_id,
                                 .directory_id = id->directory_id};
    struct quorum_found found = {0};
    int r;

    kl_raft_effects_init(&n->quorum.effects, &n->alloc);
    kl_base_buf_init(&n->quorum.control, &n->alloc);
    kl_base_buf_init(&n->quorum.read_bytes, &n->alloc);
    kl_runtime_timer_init(&n->quorum.timer);
    r = quorum_found_all(n, &found, &self, error);
    if (!r)
        r = quorum_new(n, &found, &self, error);
    quorum_found_deinit(n, &found);
    return r;
}

void kl_runtime_quorum_close(struct kl_runtime_node *n)
{
    struct kl_runtime_quorum *q = &n->quorum;

    if (!q->effects.alloc)
        return;
    kl_runtime_timer_cancel(n, &q->timer);
    kl_raft_free(q->raft);
    kl_raft_effects_deinit(&q->effects);
    kl_base_buf_deinit(&q->control);
    kl_base_buf_deinit(&q->read_bytes);
    kl_runtime_quorum_read_close(n);
    kl_runtime_fetched_deinit(n);
    kl_runtime_parcels_free(n, &q->held);
    memset(q, 0, sizeof *q);
    kl_runtime_quorum_init(n);
}

void kl_runtime_quorum_init(struct kl_runtime_node *n)
{
    kl_base_list_init(&n->quorum.held);
    kl_base_list_init(&n->quorum.reading);
    kl_base_list_init(&n->quorum.was_read);
}
