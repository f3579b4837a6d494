/*
 * The leader's snapshot, for a follower that is too far behind: piece by piece
 * into memory, then as an image of its own, then as a file; only then raft
 * hears that it is there, and wants the log to begin at its end.
 */
#include "runtime/state.h"

/* Largest one that is taken. */
#define SNAPSHOT_BYTES_MAX ((size_t)256 << 20)

int kl_runtime_snapshot_piece(struct kl_runtime_node *n,
                              struct kl_wire_bytes *bytes)
{
    struct kl_base_buf *piece = &n->snapshots.piece;

    kl_base_buf_clear(piece);
    kl_base_buf_append(piece, bytes->data, bytes->size);
    if (piece->error)
        return KL_ENOMEM;
    bytes->data = piece->data;
    return 0;
}

int kl_runtime_snapshot_write(struct kl_runtime_node *n,
                              const struct kl_raft_effect *e)
{
    struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_base_buf *b = &all->fetched.bytes;

    if (e->snapshot_write.position == 0) {
        kl_runtime_image_deinit(&all->image);
        kl_base_buf_deinit(b);
        kl_base_buf_init(b, &n->alloc);
    }
    all->written.id = e->snapshot_write.snapshot;
    all->written.position =
        e->snapshot_write.position + (int64_t)e->snapshot_write.bytes.size;
    all->written.code = 0;
    if (b->size != (size_t)e->snapshot_write.position ||
        (uint64_t)all->written.position > SNAPSHOT_BYTES_MAX)
        all->written.code = KL_ERECORDSIZE;
    else
        kl_base_buf_append(b, e->snapshot_write.bytes.data,
                           e->snapshot_write.bytes.size);
    if (b->error)
        all->written.code = KL_ENOMEM;
    all->is_written = 1;
    return 0;
}

int kl_runtime_snapshot_install(struct kl_runtime_node *n,
                                const struct kl_raft_effect *e)
{
    struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_runtime_snapshot *s = &all->fetched;
    struct kl_base_error error = {0};
    int r = kl_runtime_image_decode(n, s->bytes.data, s->bytes.size,
                                    &all->image, &error);

    s->id = e->snapshot_install.snapshot;
    if (!r)
        r = kl_runtime_snapshot_put(n, s, s->id);
    if (r)
        kl_runtime_snapshot_end(s, r == KL_EEXIST ? 0 : r);
    if (s->code)
        kl_runtime_trace(n, KL_TRACE_WARN, "quorum.snapshot code=%s text=%s",
                         kl_base_error_lookup(s->code)->name, error.text);
    return 0;
}

int kl_runtime_snapshot_reset(struct kl_runtime_node *n,
                              const struct kl_raft_effect *e)
{
    struct kl_runtime_snapshots *all = &n->snapshots;
    struct kl_raft_snapshot_id id = e->reset.snapshot;
    int r = kl_store_reset(&n->metadata.log, id.end_offset, id.epoch);

    if (r)
        return r;
    /* At open the image is there before raft has found that the log is not. */
    if (all->image.controller)
        kl_runtime_metadata_replace(n, all->image.controller, id.end_offset);
    all->image.controller = NULL;
    KL_ASSERT(n->metadata.applied == id.end_offset);
    kl_store_snapshot_delete_before(n->store, id.end_offset);
    return 0;
}

int kl_runtime_snapshot_tell_fetched(struct kl_runtime_node *n,
                                     struct kl_raft_event *event)
{
    struct kl_runtime_snapshots *all = &n->snapshots;

    if (all->is_written) {
        all->is_written = 0;
        event->type = KL_RAFT_SNAPSHOT_WRITTEN;
        event->snapshot_written.id = all->written.id;
        event->snapshot_written.position = all->written.position;
        event->snapshot_written.code = all->written.code;
        return 1;
    }
    if (!all->fetched.is_done)
        return 0;
    all->fetched.is_done = 0;
    event->type = KL_RAFT_SNAPSHOT_INSTALLED;
    event->snapshot_installed.id = all->fetched.id;
    event->snapshot_installed.code = all->fetched.code;
    event->snapshot_installed.voters = all->image.voters;
    return 1;
}
