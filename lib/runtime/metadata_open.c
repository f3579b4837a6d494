/*
 * Taking up the metadata at open: the log, the newest snapshot, the quorum. The
 * only voter of a quorum leads it before its node is called open; a node that
 * has peers, or wants to have some, hears from them while it runs.
 */
#include "runtime/state.h"

#include "base/hash.h"

/* Bytes of a segment of the metadata log. */
#define METADATA_SEGMENT_BYTES (UINT64_C(4) << 20)

void kl_runtime_metadata_pump(struct kl_runtime_node *n)
{
    n->lanes->ops->wait(n->lanes);
    n->now_ns = kl_runtime_now_ns(n);
    kl_store_turn(n->store, n->now_ns, kl_runtime_wall_ms(n));
}

void kl_runtime_metadata_await(struct kl_runtime_node *n,
                               const struct kl_store_snapshot_read *read)
{
    for (;;) {
        struct kl_store_event e;

        kl_runtime_metadata_pump(n);
        while (kl_store_next_event(n->store, &e)) {
            if (e.type == KL_STORE_EVENT_SNAPSHOT_READ &&
                e.snapshot_read == read)
                return;
        }
    }
}

static int metadata_open_log(struct kl_runtime_node *n,
                             struct kl_base_error *error)
{
    struct kl_store_log_config config = {
        .segment_bytes = METADATA_SEGMENT_BYTES,
        .segment_ms = -1,
        .retention_ms = -1,
        .retention_bytes = -1,
        .flush_ms = -1,
        .flush_bytes = -1,
        .index_interval_bytes = 4096,
    };
    struct kl_store_id id = {kl_store_metadata_topic, 0};
    int r;

    n->metadata.log = kl_store_find(n->store, &id);
    n->metadata.open_leo = 0;
    if (n->metadata.log) {
        struct kl_store_view view;

        kl_store_log_view(n->metadata.log, &view);
        n->metadata.open_leo = view.leo;
        kl_store_log_configure(n->metadata.log, &config);
        return 0;
    }
    if (kl_store_next(n->store, NULL))
        return kl_base_error_set(error, KL_ECORRUPT,
                                 "the folder holds logs, but no metadata log");
    r = kl_store_create(n->store, &id, KL_STORE_FLUSH_COMMIT, &config,
                        &n->metadata.log);
    if (r)
        return kl_base_error_set(error, r, "metadata log: cannot be made");
    return 0;
}

uint64_t kl_runtime_seed(const struct kl_runtime_node *n)
{
    struct kl_base_uuid directory = kl_store_identity(n->store)->directory_id;

    return kl_base_hash(directory.bytes, sizeof directory.bytes,
                        (uint64_t)kl_runtime_now_ns(n) ^
                            (uint64_t)kl_runtime_wall_ms(n) << 20);
}

int kl_runtime_controller_new(struct kl_runtime_node *n,
                              struct kl_controller **out)
{
    struct kl_controller_options options = {0};
    uint32_t frame_max = kl_store_frame_max(n->store);

    options.broker_id = n->id;
    options.cluster_id = kl_store_identity(n->store)->cluster_id;
    options.seed = kl_runtime_seed(n);
    options.batch_bytes_max = frame_max - KL_BATCH_OVERHEAD;
    if (options.batch_bytes_max > KL_CONTROLLER_BATCH_BYTES)
        options.batch_bytes_max = KL_CONTROLLER_BATCH_BYTES;
    options.session_timeout_ms = (int32_t)kl_base_config_value(
        &n->config, KL_BASE_CONFIG_BROKER_SESSION_TIMEOUT_MS);
    options.check = kl_runtime_topic_config_check;
    return kl_controller_new(out, &n->alloc, &options);
}

/* One turn of what runs before the node is open. */
static int metadata_turn(struct kl_runtime_node *n, struct kl_base_error *error)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int moved = kl_runtime_quorum_step(n);
    int was_still;

    moved |= kl_runtime_metadata_step(n);
    moved |= kl_runtime_broker_step(n);
    moved |= kl_runtime_requests_step(n);
    moved |= kl_runtime_links_local(n);
    if (kl_store_failure(n->store, error))
        return kl_store_failure(n->store, NULL);
    if (m->code) {
        *error = m->error;
        return m->code;
    }
    /* An open does not wait for memory, nor for a disk. */
    if (n->quorum.is_starved)
        return KL_ENOMEM;
    if (!kl_base_list_is_empty(&m->retry.link)) {
        if (m->retry_code != KL_EAGAIN)
            return m->retry_code;
        kl_runtime_timer_cancel(n, &m->retry);
        moved = 1;
    }
    if (moved)
        return 0;
    /* A job that ends may leave no event behind, but what it has done. */
    was_still = kl_store_is_still(n->store);
    kl_runtime_metadata_pump(n);
    if (kl_runtime_events_run(n) || !was_still || !kl_store_is_still(n->store))
        return 0;
    /* Only time would help: the store waits for memory or space. */
    return kl_base_stat_get(&kl_store_stats(n->store)->full) ? KL_EDISKFULL
                                                             : KL_ENOMEM;
}

/* The only voter leads, and all that is committed is applied. */
static int metadata_lead(struct kl_runtime_node *n, struct kl_base_error *error)
{
    const struct kl_runtime_metadata *m = &n->metadata;
    struct kl_raft_view view;
    int r = 0;

    while (!r && !(m->is_leading && m->applied == m->commit)) {
        r = metadata_turn(n, error);
        kl_raft_view(n->quorum.raft, &view);
        if (!r && !view.is_voter)
            return kl_base_error_set(error, KL_EQUORUMSTATE,
                                     "this node is not a voter of the quorum "
                                     "that its metadata log names");
        if (!r && view.fault)
            r = kl_base_error_set(error, view.fault, "the quorum: %s",
                                  kl_base_error_lookup(view.fault)->text);
    }
    return r;
}

/* The first records of a new folder, durable before it is called open. */
static int metadata_bootstrap(struct kl_runtime_node *n,
                              struct kl_base_error *error)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int r = kl_controller_bootstrap(m->controller, &m->records, error);

    if (r || !m->records.count)
        return r;
    r = kl_runtime_metadata_build(n);
    while (!r && !kl_runtime_metadata_is_idle(n))
        r = metadata_turn(n, error);
    if (r)
        return r;
    /* What the batch could not be written for is gone by now. */
    if (!kl_controller_feature_level(m->controller))
        return kl_base_error_set(error, KL_EDISKFULL,
                                 "metadata log: the first records were "
                                 "refused");
    return 0;
}

/* The controller is this node, so it is a broker as soon as it wants to be one,
 * and what it holds can be used when it is open. Where it takes time, as for
 * memory or space, it comes while the node runs. */
static int metadata_register(struct kl_runtime_node *n,
                             struct kl_base_error *error)
{
    int r = 0;

    while (!r && n->broker.is_wanted && n->broker.is_fenced &&
           !n->broker.refusal)
        r = metadata_turn(n, error);
    return r == KL_ENOMEM || r == KL_EDISKFULL ? 0 : r;
}

/* A quorum of one: nobody else knows anything. */
static int metadata_open_alone(struct kl_runtime_node *n,
                               struct kl_base_error *error)
{
    int r = metadata_lead(n, error);

    if (!r)
        r = metadata_bootstrap(n, error);
    if (r)
        return r;
    kl_runtime_broker_open(n);
    r = kl_runtime_logs_agree(n, error);
    n->metadata.is_caught_up = r == 0;
    return r ? r : metadata_register(n, error);
}

int kl_runtime_metadata_open(struct kl_runtime_node *n,
                             struct kl_base_error *error)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int r = metadata_open_log(n, error);

    m->token = 0;
    m->is_leading = m->is_caught_up = m->code = 0;
    m->is_stale = 0;
    m->base_offset = -1;
    kl_controller_records_init(&m->records, &n->alloc);
    if (!r)
        r = kl_runtime_controller_new(n, &m->controller);
    if (!r)
        r = kl_runtime_snapshot_open(n, error);
    if (!r && kl_runtime_join_is_asking(n))
        r = kl_runtime_join_open(n, error);
    else if (!r)
        r = kl_runtime_quorum_open(n, error);
    if (r)
        return r;
    if (kl_runtime_quorum_is_alone(n))
        return metadata_open_alone(n, error);
    kl_runtime_broker_open(n);
    return 0;
}

void kl_runtime_metadata_close(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_store_log *log = NULL;

    kl_base_chunk_unref(m->frame);
    m->frame = NULL;
    m->end_offset = -1;
    kl_runtime_timer_cancel(n, &m->retry);
    kl_runtime_timer_cancel(n, &m->tick);
    kl_runtime_quorum_close(n);
    kl_runtime_snapshot_close(n);
    kl_runtime_timer_cancel(n, &n->join.timer);
    kl_store_read_release(&m->read);
    m->applied = m->commit = 0;
    m->slice = m->at = 0;
    m->records_done = 0;
    kl_base_error_clear(&m->error);
    if (m->controller) {
        kl_controller_records_deinit(&m->records);
        kl_controller_free(m->controller);
    }
    m->controller = NULL;
    m->log = NULL;
    while (n->store && (log = kl_store_next(n->store, log)) != NULL)
        kl_runtime_partition_detach(n, log, KL_ECLOSED);
}
