/*
 * What followers ask the leader for: records of the metadata log and pieces of
 * a snapshot, read by the store and handed to raft one at a time.
 */
#include "runtime/state.h"

#include <string.h>

struct quorum_read
{
    struct kl_base_list link; /* in reading, then in was_read */
    uint64_t id;
    int is_snapshot;
    uint64_t size; /* of the whole snapshot */
    struct kl_store_read records;
    struct kl_store_snapshot_read piece;
};

static struct quorum_read *read_of(struct kl_base_list *item)
{
    return KL_BASE_CONTAINER(item, struct quorum_read, link);
}

static struct quorum_read *read_new(struct kl_runtime_node *n, uint64_t id)
{
    struct quorum_read *r = kl_base_calloc(&n->alloc, sizeof *r);

    if (!r)
        return NULL;
    r->id = id;
    kl_base_list_init(&r->records.link);
    kl_base_list_init(&r->piece.link);
    return r;
}

static void read_free(struct kl_runtime_node *n, struct quorum_read *r)
{
    kl_store_read_release(&r->records);
    kl_store_snapshot_read_release(&r->piece);
    kl_base_free(&n->alloc, r, sizeof *r);
}

static void read_begun(struct kl_runtime_node *n, struct quorum_read *r,
                       int code)
{
    struct kl_runtime_quorum *q = &n->quorum;

    n->read_count += code == KL_EAGAIN;
    kl_base_list_push(code == KL_EAGAIN ? &q->reading : &q->was_read, &r->link);
}

int kl_runtime_quorum_read(struct kl_runtime_node *n,
                           const struct kl_raft_effect *e)
{
    struct quorum_read *r = read_new(n, e->read.id);
    struct kl_store_view view;

    if (!r)
        return KL_ENOMEM;
    kl_store_log_view(n->metadata.log, &view);
    r->records.log = n->metadata.log;
    r->records.offset = e->read.offset;
    r->records.end = view.leo;
    r->records.bytes_max = e->read.bytes_max;
    read_begun(n, r, kl_store_read(&r->records));
    return 0;
}

int kl_runtime_quorum_read_snapshot(struct kl_runtime_node *n,
                                    const struct kl_raft_effect *e)
{
    struct kl_store_snapshot info;
    struct quorum_read *r = read_new(n, e->snapshot_read.id);
    int code = KL_ENOENT;

    if (!r)
        return KL_ENOMEM;
    r->is_snapshot = 1;
    r->piece.end = e->snapshot_read.snapshot.end_offset;
    r->piece.epoch = e->snapshot_read.snapshot.epoch;
    r->piece.position = (uint64_t)e->snapshot_read.position;
    r->piece.bytes_max = e->snapshot_read.bytes_max;
    for (size_t i = 0; code && kl_store_snapshot_at(n->store, i, &info) == 0;
         i++) {
        if (info.end != r->piece.end || info.epoch != r->piece.epoch)
            continue;
        r->size = info.size;
        code = 0;
    }
    r->piece.code = code;
    read_begun(n, r, code ? 0 : kl_store_snapshot_read(n->store, &r->piece));
    return 0;
}

int kl_runtime_quorum_read_done(struct kl_runtime_node *n,
                                const struct kl_store_event *e)
{
    struct kl_base_list *head = &n->quorum.reading;

    for (struct kl_base_list *item = head->next; item != head;
         item = item->next) {
        struct quorum_read *r = read_of(item);

        if (e->read != &r->records && e->snapshot_read != &r->piece)
            continue;
        n->read_count--;
        kl_base_list_remove(item);
        kl_base_list_push(&n->quorum.was_read, item);
        return 1;
    }
    return 0;
}

/* Behind one another, as a message has them. */
static int read_join(const struct kl_store_read *read, struct kl_base_buf *out)
{
    kl_base_buf_clear(out);
    for (uint32_t i = 0; i < read->slice_count; i++)
        kl_base_buf_append(out, read->slices[i].data, read->slices[i].size);
    return out->error;
}

static int read_tell_records(struct kl_runtime_node *n, struct quorum_read *r,
                             struct kl_raft_event *event)
{
    struct kl_base_buf *b = &n->quorum.read_bytes;

    if (read_join(&r->records, b))
        return KL_ENOMEM;
    event->type = KL_RAFT_READ_DONE;
    event->read.id = r->id;
    event->read.code = r->records.code;
    event->read.records.data = b->data;
    event->read.records.size = (uint32_t)b->size;
    return 0;
}

static int read_tell_piece(struct kl_runtime_node *n, struct quorum_read *r,
                           struct kl_raft_event *event)
{
    struct kl_base_buf *b = &n->quorum.read_bytes;

    kl_base_buf_clear(b);
    kl_base_buf_append(b, r->piece.data, r->piece.size);
    if (b->error)
        return KL_ENOMEM;
    event->type = KL_RAFT_SNAPSHOT_READ_DONE;
    event->snapshot_read.id = r->id;
    event->snapshot_read.code = r->piece.code;
    event->snapshot_read.size = (int64_t)r->size;
    event->snapshot_read.bytes.data = b->data;
    event->snapshot_read.bytes.size = (uint32_t)b->size;
    return 0;
}

int kl_runtime_quorum_read_tell(struct kl_runtime_node *n,
                                struct kl_raft_event *event)
{
    struct kl_base_list *item = kl_base_list_first(&n->quorum.was_read);
    struct quorum_read *r;

    if (!item)
        return 0;
    r = read_of(item);
    if (r->is_snapshot ? read_tell_piece(n, r, event)
                       : read_tell_records(n, r, event))
        return 0;
    kl_base_list_remove(item);
    read_free(n, r);
    return 1;
}

void kl_runtime_quorum_read_close(struct kl_runtime_node *n)
{
    struct kl_base_list *item;

    KL_ASSERT(kl_base_list_is_empty(&n->quorum.reading));
    while ((item = kl_base_list_pop(&n->quorum.was_read)))
        read_free(n, read_of(item));
}
