/*
 * The metadata log: topics and their configuration are records in it, and the
 * controller's image is what they add up to. A command becomes one batch, which
 * the quorum appends; the next command is looked at when that batch is
 * committed and applied, so that it sees the effect.
 */
#include "runtime/state.h"

#include "base/hash.h"

/* Bytes of a segment of the metadata log. */
#define METADATA_SEGMENT_BYTES (UINT64_C(4) << 20)
/* After a failure that may pass, as of memory. */
#define METADATA_RETRY_NS INT64_C(20000000)

int kl_runtime_metadata_is_idle(const struct kl_runtime_node *n)
{
    const struct kl_runtime_metadata *m = &n->metadata;

    return !m->frame && m->end_offset < 0 && !m->command &&
           kl_base_list_is_empty(&m->commands) && m->applied >= m->commit &&
           kl_runtime_quorum_is_idle(n);
}

/* The batch under way is over, one way or the other. */
static void metadata_finish(struct kl_runtime_node *n, int code)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_runtime_command *c = m->command;

    kl_base_chunk_unref(m->frame);
    m->frame = NULL;
    m->is_proposed = 0;
    m->end_offset = -1;
    m->command = NULL;
    kl_controller_records_clear(&m->records);
    if (c)
        kl_runtime_command_finish(n, c, code, NULL);
}

/* Puts the records into one frame. */
static int metadata_build(struct kl_runtime_node *n,
                          const struct kl_controller_records *records,
                          struct kl_base_chunk **out)
{
    struct kl_batch_builder builder;
    struct kl_batch_input in = {0};
    uint32_t limit = kl_store_frame_max(n->store);
    const uint8_t *data;
    size_t size;
    size_t pos = 0;
    int r = 0;

    kl_batch_builder_init(&builder, &n->alloc);
    in.timestamp = kl_runtime_wall_ms(n);
    while (!r && kl_controller_records_next(records, &pos, &data, &size)) {
        in.value = data;
        in.value_size = (uint32_t)size;
        r = kl_batch_builder_append(&builder, limit, 1024, &in);
    }
    if (!r)
        r = kl_batch_builder_finish(&builder,
                                    kl_store_log_seed(n->metadata.log), 0, out);
    kl_batch_builder_deinit(&builder);
    /* The controller keeps below the limit that it was given. */
    KL_ASSERT(r == 0 || r == KL_ENOMEM);
    return r;
}

static void metadata_retry_fire(struct kl_runtime_node *n,
                                struct kl_runtime_timer *t)
{
    /* The turn goes on to metadata_step. */
    (void)n;
    (void)t;
}

void kl_runtime_metadata_retry(struct kl_runtime_node *n)
{
    n->metadata.retry.fire = metadata_retry_fire;
    if (kl_base_list_is_empty(&n->metadata.retry.link))
        kl_runtime_timer_set(n, &n->metadata.retry,
                             n->now_ns + METADATA_RETRY_NS);
}

void kl_runtime_metadata_complete(struct kl_runtime_node *n, uint64_t token,
                                  int code)
{
    struct kl_runtime_metadata *m = &n->metadata;

    if (token != m->token || !m->is_proposed || code == 0)
        return; /* committed: it is finished when it is applied */
    if (code == KL_EAGAIN && m->frame) {
        m->is_proposed = 0;
        kl_runtime_metadata_retry(n);
        return;
    }
    metadata_finish(n, code);
}

void kl_runtime_metadata_applied(struct kl_runtime_node *n, int code)
{
    struct kl_runtime_metadata *m = &n->metadata;

    if (m->end_offset >= 0 && m->applied >= m->end_offset)
        metadata_finish(n, code);
}

/* The next command becomes a frame. */
static int metadata_begin(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_base_list *link = kl_base_list_pop(&m->commands);
    struct kl_base_error error = {0};
    struct kl_runtime_command *c;
    int r;

    if (!link)
        return 0;
    c = KL_BASE_CONTAINER(link, struct kl_runtime_command, link);
    r = n->store_failed ? KL_EFAILED
                        : kl_runtime_command_records(n, c, &m->records, &error);
    if (!r && m->records.count)
        r = metadata_build(n, &m->records, &m->frame);
    if (r || !m->records.count) {
        kl_controller_records_clear(&m->records);
        kl_runtime_command_finish(n, c, r, &error);
        return 1;
    }
    m->command = c;
    return 1;
}

int kl_runtime_metadata_step(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int moved = kl_runtime_apply_step(n);

    while (!m->frame && m->end_offset < 0 &&
           (m->is_leading || n->store_failed) && metadata_begin(n))
        moved = 1;
    return moved;
}

void kl_runtime_metadata_abort(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_base_list *link;

    metadata_finish(n, m->end_offset < 0 ? KL_ECLOSED : KL_EUNKNOWN);
    while ((link = kl_base_list_pop(&m->commands)))
        kl_runtime_command_finish(
            n, KL_BASE_CONTAINER(link, struct kl_runtime_command, link),
            KL_ECLOSED, NULL);
}

/* ---- open ------------------------------------------------------------------
 */

void kl_runtime_metadata_pump(struct kl_runtime_node *n)
{
    n->lanes->ops->wait(n->lanes);
    n->now_ns = kl_runtime_now_ns(n);
    kl_store_turn(n->store, n->now_ns, kl_runtime_wall_ms(n));
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
    if (n->metadata.log) {
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

static int metadata_open_controller(struct kl_runtime_node *n)
{
    struct kl_controller_options options = {0};
    uint32_t frame_max = kl_store_frame_max(n->store);

    options.broker_id = n->id;
    options.seed = kl_runtime_seed(n);
    options.batch_bytes_max = frame_max - KL_BATCH_OVERHEAD;
    if (options.batch_bytes_max > KL_CONTROLLER_BATCH_BYTES)
        options.batch_bytes_max = KL_CONTROLLER_BATCH_BYTES;
    options.check = kl_runtime_topic_config_check;
    return kl_controller_new(&n->metadata.controller, &n->alloc, &options);
}

/* One turn of what runs before the node is open. */
static int metadata_turn(struct kl_runtime_node *n, struct kl_base_error *error)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int moved = kl_runtime_quorum_step(n);

    moved |= kl_runtime_metadata_step(n);
    if (kl_store_failure(n->store, error))
        return kl_store_failure(n->store, NULL);
    if (m->code) {
        *error = m->error;
        return m->code;
    }
    /* An open does not wait for memory. */
    if (n->quorum.is_starved || !kl_base_list_is_empty(&m->retry.link))
        return KL_ENOMEM;
    if (moved)
        return 0;
    kl_runtime_metadata_pump(n);
    if (kl_runtime_events_run(n) || !kl_store_is_still(n->store))
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
    r = metadata_build(n, &m->records, &m->frame);
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

int kl_runtime_metadata_open(struct kl_runtime_node *n,
                             struct kl_base_error *error)
{
    int r = metadata_open_log(n, error);

    n->metadata.token = 0;
    n->metadata.is_leading = n->metadata.is_open = n->metadata.code = 0;
    kl_controller_records_init(&n->metadata.records, &n->alloc);
    if (!r)
        r = metadata_open_controller(n);
    if (!r)
        r = kl_runtime_quorum_open(n, error);
    if (!r)
        r = metadata_lead(n, error);
    if (!r)
        r = metadata_bootstrap(n, error);
    if (!r)
        r = kl_runtime_logs_agree(n, error);
    n->metadata.is_open = r == 0;
    return r;
}

void kl_runtime_metadata_close(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_store_log *log = NULL;

    kl_base_chunk_unref(m->frame);
    m->frame = NULL;
    m->end_offset = -1;
    kl_runtime_timer_cancel(n, &m->retry);
    kl_runtime_quorum_close(n);
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
