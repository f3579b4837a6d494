/*
 * Snapshots of the metadata (protocol 1.15). This node makes one when the log
 * has grown enough behind the last, and then forgets the log before it.
 */
#include "runtime/state.h"

/* A snapshot that could not be made is not tried again at once. */
#define SNAPSHOT_RETRY_NS INT64_C(10000000000)
#define SNAPSHOT_READ_BYTES (1024 * 1024)

/* ---- writing a file ------------------------------------------------------ */

int kl_runtime_snapshot_put(struct kl_runtime_node *n,
                            struct kl_runtime_snapshot *s,
                            struct kl_raft_snapshot_id id)
{
    int r;

    s->id = id;
    s->is_committing = 0;
    r = kl_store_snapshot_begin(n->store, id.end_offset, id.epoch, &s->writer);
    if (r)
        return r;
    r = kl_store_snapshot_append(s->writer, s->bytes.data, s->bytes.size);
    if (r) {
        kl_store_snapshot_close(s->writer);
        s->writer = NULL;
        return r;
    }
    n->read_count++;
    return 0;
}

void kl_runtime_snapshot_end(struct kl_runtime_snapshot *s, int code)
{
    if (s->writer)
        kl_store_snapshot_close(s->writer);
    s->writer = NULL;
    s->code = code;
    s->is_done = 1;
    kl_base_buf_deinit(&s->bytes);
}

static void snapshot_write_event(struct kl_runtime_node *n,
                                 struct kl_runtime_snapshot *s, int code)
{
    n->read_count--;
    if (!code && !s->is_committing) {
        s->is_committing = 1;
        code = kl_store_snapshot_commit(s->writer);
        if (!code) {
            n->read_count++;
            return;
        }
    }
    kl_runtime_snapshot_end(s, code);
}

int kl_runtime_snapshot_event(struct kl_runtime_node *n,
                              const struct kl_store_event *e)
{
    struct kl_runtime_snapshots *all = &n->snapshots;

    if (e->writer == all->taken.writer)
        snapshot_write_event(n, &all->taken, e->code);
    else if (e->writer == all->fetched.writer)
        snapshot_write_event(n, &all->fetched, e->code);
    else
        return 0;
    return 1;
}

/* ---- made here ----------------------------------------------------------- */

static int snapshot_is_due(struct kl_runtime_node *n,
                           struct kl_raft_snapshot_id *id_out)
{
    const struct kl_runtime_metadata *m = &n->metadata;
    const struct kl_runtime_snapshot *s = &n->snapshots.taken;

    if (!n->quorum.raft || !m->is_caught_up || m->records_done || s->writer ||
        s->is_done || n->now_ns < n->snapshots.retry_ns ||
        atomic_load(&n->state) != KL_NODE_OPEN)
        return 0;
    return n->snapshots.applied_bytes >=
               (uint64_t)kl_base_config_value(&n->config,
                                              KL_BASE_CONFIG_SNAPSHOT_BYTES) &&
           kl_raft_snapshot_id_at(n->quorum.raft, m->applied, id_out) == 0;
}

int kl_runtime_snapshot_step(struct kl_runtime_node *n)
{
    struct kl_runtime_snapshot *s = &n->snapshots.taken;
    struct kl_raft_snapshot_id id;
    struct kl_raft_voters voters;
    int r;

    if (!snapshot_is_due(n, &id) ||
        kl_raft_voters_at(n->quorum.raft, id.end_offset, &voters))
        return 0;
    kl_base_buf_init(&s->bytes, &n->alloc);
    r = kl_runtime_image_encode(n, &voters, &s->bytes);
    if (!r)
        r = kl_runtime_snapshot_put(n, s, id);
    if (r) {
        kl_base_buf_deinit(&s->bytes);
        n->snapshots.retry_ns = n->now_ns + SNAPSHOT_RETRY_NS;
        return 0;
    }
    n->snapshots.applied_bytes = 0;
    return 1;
}

/* A snapshot more is durable. The log goes on beginning at the one before it:
 * a follower that is a little behind needs no snapshot. */
static int snapshot_tell_taken(struct kl_runtime_node *n,
                               struct kl_raft_event *event)
{
    struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_runtime_snapshot *s = &all->taken;

    if (!s->is_done)
        return 0;
    if (s->code) {
        s->is_done = 0;
        all->retry_ns = n->now_ns + SNAPSHOT_RETRY_NS;
        kl_runtime_trace(n, KL_TRACE_WARN, "quorum.snapshot code=%s",
                         kl_base_error_lookup(s->code)->name);
        return 0;
    }
    if (!all->is_pruned) {
        all->is_pruned = 1;
        event->type = KL_RAFT_PRUNE;
        return 1;
    }
    all->is_pruned = s->is_done = 0;
    kl_base_stat_add(&n->stats.snapshots, 1);
    kl_runtime_trace(n, KL_TRACE_INFO, "quorum.snapshot end=%lld epoch=%d",
                     (long long)s->id.end_offset, (int)s->id.epoch);
    event->type = KL_RAFT_SNAPSHOT_TAKEN;
    event->taken.id = s->id;
    return 1;
}

int kl_runtime_snapshot_tell(struct kl_runtime_node *n,
                             struct kl_raft_event *event)
{
    return kl_runtime_snapshot_tell_fetched(n, event) ||
           snapshot_tell_taken(n, event);
}

/* ---- open and close ------------------------------------------------------ */

static size_t snapshot_count(const struct kl_runtime_node *n)
{
    struct kl_store_snapshot info;
    size_t count = 0;

    while (kl_store_snapshot_at(n->store, count, &info) == 0)
        count++;
    return count;
}

/* All bytes of a snapshot; blocks. */
static int snapshot_load(struct kl_runtime_node *n,
                         const struct kl_store_snapshot *info,
                         struct kl_base_buf *out)
{
    struct kl_store_snapshot_read read = {
        .end = info->end,
        .epoch = info->epoch,
        .bytes_max = SNAPSHOT_READ_BYTES,
    };
    int r = 0;

    kl_base_list_init(&read.link);
    while (!r && read.position < info->size) {
        r = kl_store_snapshot_read(n->store, &read);
        if (r == KL_EAGAIN)
            kl_runtime_metadata_await(n, &read);
        r = read.code;
        if (!r && !read.size)
            r = KL_ECORRUPT;
        if (!r) {
            kl_base_buf_append(out, read.data, read.size);
            read.position += read.size;
            r = out->error;
        }
        kl_store_snapshot_read_release(&read);
    }
    return r;
}

/* The newest that is good, or KL_EEND. One that is not goes into quarantine,
 * and the others move up. */
static int snapshot_pick(struct kl_runtime_node *n,
                         struct kl_store_snapshot *out,
                         struct kl_base_error *error)
{
    struct kl_base_buf bytes;
    int r = KL_ECORRUPT;

    for (size_t i = 0; r == KL_ECORRUPT; i++) {
        size_t count = snapshot_count(n);

        if (kl_store_snapshot_at(n->store, i, out))
            return KL_EEND;
        kl_base_buf_init(&bytes, &n->alloc);
        r = snapshot_load(n, out, &bytes);
        if (!r)
            r = kl_runtime_image_decode(n, bytes.data, bytes.size,
                                        &n->snapshots.image, error);
        if (r)
            kl_runtime_image_deinit(&n->snapshots.image);
        kl_base_buf_deinit(&bytes);
        i -= count - snapshot_count(n);
    }
    return r;
}

int kl_runtime_snapshot_open(struct kl_runtime_node *n,
                             struct kl_base_error *error)
{
    struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_store_snapshot found;
    struct kl_store_view log;
    int r = snapshot_pick(n, &found, error);

    kl_base_buf_init(&all->piece, &n->alloc);
    all->id.end_offset = -1;
    kl_store_log_view(n->metadata.log, &log);
    if (r && r != KL_EEND)
        return kl_base_error_set(error, r, "snapshot %lld: %s",
                                 (long long)found.end,
                                 kl_base_error_lookup(r)->text);
    /* It may end behind the log: that was to be reset to it (B24). */
    if (r ? log.start > 0 : found.end < log.start)
        return kl_base_error_set(error, KL_ECORRUPT,
                                 "metadata log: it begins at %lld, and there "
                                 "is no good snapshot of what was before",
                                 (long long)log.start);
    if (r)
        return 0;
    all->id.end_offset = found.end;
    all->id.epoch = found.epoch;
    kl_runtime_metadata_replace(n, all->image.controller, found.end);
    all->image.controller = NULL;
    return 0;
}

void kl_runtime_snapshot_close(struct kl_runtime_node *n)
{
    struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_runtime_snapshot *const both[] = {&all->taken, &all->fetched};

    for (size_t i = 0; i < 2; i++) {
        if (both[i]->writer)
            kl_store_snapshot_close(both[i]->writer);
        kl_base_buf_deinit(&both[i]->bytes);
    }
    kl_runtime_image_deinit(&all->image);
    kl_base_buf_deinit(&all->piece);
    *all = (struct kl_runtime_snapshots){0};
}
