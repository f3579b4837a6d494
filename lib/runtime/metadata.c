/*
 * The metadata log: topics and their configuration are records in it, and the
 * controller's image is what they add up to. A command becomes one batch, which
 * the quorum appends; the next command is looked at when that batch is
 * committed and applied, so that it sees the effect.
 */
#include "runtime/state.h"

/* After a failure that may pass, as of memory. */
#define METADATA_RETRY_NS INT64_C(20000000)

int kl_runtime_metadata_is_idle(const struct kl_runtime_node *n)
{
    const struct kl_runtime_metadata *m = &n->metadata;

    return !m->frame && m->end_offset < 0 && !m->command &&
           kl_base_list_is_empty(&m->commands) &&
           (m->applied >= m->commit || m->code) && kl_runtime_quorum_is_idle(n);
}

/* There is no batch under way any more; the command that wanted it. */
static struct kl_runtime_command *metadata_drop(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_runtime_command *c = m->command;

    kl_base_chunk_unref(m->frame);
    m->frame = NULL;
    m->is_proposed = 0;
    m->end_offset = -1;
    m->base_offset = -1;
    m->command = NULL;
    kl_controller_records_clear(&m->records);
    return c;
}

/* It is the next one again. */
static void metadata_again(struct kl_runtime_node *n,
                           struct kl_runtime_command *c)
{
    kl_base_list_push(n->metadata.commands.next, &c->link);
}

/* The batch under way is over, one way or the other. */
static void metadata_finish(struct kl_runtime_node *n, int code)
{
    struct kl_runtime_command *c = metadata_drop(n);

    if (!c)
        return;
    if (!code && c->outcome.more)
        metadata_again(n, c);
    else
        kl_runtime_command_finish(n, c, code, NULL);
}

int kl_runtime_metadata_fits(struct kl_runtime_node *n, int64_t leo)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_runtime_command *c;

    if (m->base_offset < 0 || m->base_offset == leo)
        return 1;
    c = metadata_drop(n);
    if (c)
        metadata_again(n, c);
    kl_runtime_metadata_retry(n, KL_EAGAIN);
    return 0;
}

int kl_runtime_metadata_build(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_batch_builder builder;
    struct kl_batch_input in = {0};
    uint32_t limit = kl_store_frame_max(n->store);
    const uint8_t *data;
    size_t size;
    size_t pos = 0;
    int r = 0;

    kl_batch_builder_init(&builder, &n->alloc);
    in.timestamp = kl_runtime_wall_ms(n);
    while (!r && kl_controller_records_next(&m->records, &pos, &data, &size)) {
        in.value = data;
        in.value_size = (uint32_t)size;
        r = kl_batch_builder_append(&builder, limit, 1024, &in);
    }
    if (!r)
        r = kl_batch_builder_finish(&builder, kl_store_log_seed(m->log), 0,
                                    &m->frame);
    kl_batch_builder_deinit(&builder);
    /* The controller keeps below the limit that it was given. */
    KL_ASSERT(r == 0 || r == KL_ENOMEM);
    return r;
}

void kl_runtime_metadata_retry(struct kl_runtime_node *n, int code)
{
    n->metadata.retry_code = code;
    if (kl_base_list_is_empty(&n->metadata.retry.link))
        kl_runtime_turn_at(n, &n->metadata.retry,
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
        kl_runtime_metadata_retry(n, code);
        return;
    }
    metadata_finish(n, code == KL_ENOTLEADER ? KL_ENOTCONTROLLER : code);
}

void kl_runtime_metadata_applied(struct kl_runtime_node *n, int code)
{
    struct kl_runtime_metadata *m = &n->metadata;

    if (m->end_offset >= 0 && m->applied >= m->end_offset)
        metadata_finish(n, code);
}

void kl_runtime_metadata_lead(struct kl_runtime_node *n)
{
    n->metadata.is_leading = 1;
    if (n->broker.is_wanted)
        kl_controller_activate(n->metadata.controller, n->now_ns);
}

void kl_runtime_metadata_lead_lost(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;

    m->is_leading = 0;
    kl_controller_resign(m->controller);
    if (m->frame && !m->is_proposed)
        metadata_finish(n, KL_ENOTCONTROLLER);
}

void kl_runtime_metadata_replace(struct kl_runtime_node *n,
                                 struct kl_controller *controller, int64_t end)
{
    struct kl_runtime_metadata *m = &n->metadata;

    kl_controller_free(m->controller);
    m->controller = controller;
    m->applied = m->commit = end;
    m->is_caught_up = 0;
    m->records_done = 0;
    m->slice = m->at = 0;
    m->code = 0;
    kl_base_error_clear(&m->error);
    if (m->is_reading)
        m->is_stale = 1;
    else
        kl_store_read_release(&m->read);
    n->snapshots.applied_bytes = 0;
}

/* Only the leader of the quorum makes batches. While it does not know yet what
 * there is, commands wait. */
static void metadata_refuse(struct kl_runtime_node *n)
{
    struct kl_base_list *link;

    while ((link = kl_base_list_pop(&n->metadata.commands)))
        kl_runtime_command_finish(
            n, KL_BASE_CONTAINER(link, struct kl_runtime_command, link),
            KL_ENOTCONTROLLER, NULL);
}

static void metadata_place(struct kl_runtime_node *n)
{
    struct kl_raft_view view;

    if (!n->quorum.raft)
        return; /* nothing becomes a batch */
    kl_raft_view(n->quorum.raft, &view);
    n->metadata.base_offset = view.leo;
}

/* What time asks for becomes a frame: brokers that are silent, elections. */
static int metadata_tick(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int r;

    if (!m->is_leading || n->store_failed ||
        kl_controller_deadline(m->controller) > n->now_ns)
        return 0;
    metadata_place(n);
    r = kl_controller_tick(m->controller, n->now_ns, &m->records, NULL);
    if (!r && m->records.count)
        r = kl_runtime_metadata_build(n);
    if (m->frame)
        return 1;
    kl_controller_records_clear(&m->records);
    if (r)
        kl_runtime_metadata_retry(n, r);
    return 0;
}

/* The controller is asked when it wants to be, but for a batch under way. */
static void metadata_wake(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int waits = m->frame || m->end_offset >= 0 ||
                !kl_base_list_is_empty(&m->retry.link);

    kl_runtime_turn_at(n, &m->tick,
                       !m->is_leading || waits
                           ? INT64_MAX
                           : kl_controller_deadline(m->controller));
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
    c->outcome.more = 0;
    metadata_place(n);
    r = n->store_failed ? KL_EFAILED
                        : kl_runtime_command_records(n, c, &m->records, &error);
    if (!r && m->records.count)
        r = kl_runtime_metadata_build(n);
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

    moved |= kl_runtime_catch_up_step(n);
    while (!m->frame && m->end_offset < 0 &&
           (m->is_leading || n->store_failed) &&
           (metadata_tick(n) || metadata_begin(n)))
        moved = 1;
    if (!m->is_leading && !kl_runtime_quorum_is_alone(n) &&
        !kl_runtime_quorum_is_leader(n))
        metadata_refuse(n);
    metadata_wake(n);
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
