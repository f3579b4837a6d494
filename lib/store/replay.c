/*
 * Bringing one commit log to its final content: what the checkpoint stated,
 * cut, then the surviving frames of the WAL through the ordinary segment
 * writer. Bytes are always rewritten: what a segment holds above its
 * checkpoint is not evidence of anything.
 */
#include "store/state.h"

enum { REPLAY_BATCH = 4 * 1024 * 1024 };

/* ---- cutting ----------------------------------------------------------- */

static int replay_error(struct kl_store_log *log, struct kl_base_error *error,
                        int rc)
{
    char path[KL_STORE_PATH_MAX];

    kl_store_path_log(log, path);
    return kl_base_error_set(error, rc, "cannot recover %s: %s", path,
                             kl_store_why(rc));
}

static int replay_remove(struct kl_store_log *log, int64_t base)
{
    static const char *const suffixes[] = {"idx", "seg"};
    struct kl_os_vfs *vfs = log->store->vfs;
    char path[KL_STORE_PATH_MAX];

    for (int i = 0; i < 2; i++) {
        int rc;

        kl_store_path_segment(log, base, suffixes[i], path);
        rc = vfs->ops->unlink(vfs, path);
        if (rc && rc != KL_ENOENT)
            return rc;
    }
    return 0;
}

static int replay_open(struct kl_store_log *log, struct kl_store_segment *seg)
{
    struct kl_os_vfs *vfs = log->store->vfs;
    char path[KL_STORE_PATH_MAX];
    uint64_t size = 0;
    int rc;

    kl_store_path_segment(log, seg->info.base, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_WRITE, &seg->writer);
    kl_store_path_segment(log, seg->info.base, "idx", path);
    if (rc == 0)
        rc = vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE,
                            &seg->index_writer);
    if (rc == 0)
        rc = vfs->ops->size(seg->index_writer, &size);
    seg->index_blocks = (uint32_t)(size / KL_STORE_BLOCK);
    kl_store_segment_touch(log->store, seg);
    return rc;
}

/* Shortens the last segment that is kept to the offset. Its end is known from
 * the slot, or it is found in the file. */
static int replay_cut(struct kl_store_log *log, struct kl_store_segment *seg,
                      int64_t cut)
{
    const struct kl_os_vfs_ops *ops = log->store->vfs->ops;
    uint64_t position = log->active.size, limit = 0;
    int rc = replay_open(log, seg);

    if (rc == 0)
        rc = ops->size(seg->writer, &limit);
    if (rc)
        return rc;
    if (log->active.base != seg->info.base || log->active.end != cut) {
        struct kl_store_find find = {.file = seg->writer,
                                     .index = seg->index_writer,
                                     .blocks = seg->index_blocks,
                                     .alloc = &log->store->alloc,
                                     .seed = log->seed,
                                     .base = seg->info.base,
                                     .limit = limit};

        rc = kl_store_find_position(&find, cut, &position);
        if (rc)
            return rc;
    }
    if (limit < position)
        return KL_ECORRUPT; /* shorter than what had been synced */
    seg->index_blocks = kl_store_index_usable(
        seg->index_writer, seg->index_blocks, seg->info.base, position);
    rc = ops->truncate(seg->index_writer,
                       (uint64_t)seg->index_blocks * KL_STORE_BLOCK);
    if (rc == 0)
        rc = ops->truncate(seg->writer, position);
    seg->info.end = seg->next_end = cut;
    seg->info.size = seg->next_size = position;
    seg->next_index_blocks = seg->index_blocks;
    log->files->indexed_position = position;
    return rc;
}

/* Installs the segments below cut; those at or above go. */
static int replay_segments(struct kl_store_log *log,
                           const struct kl_store_manifest *m, int64_t cut)
{
    struct kl_store_segment *seg = NULL;
    int rc = 0;

    log->bytes = 0;
    for (uint32_t i = 0; i < m->count && rc == 0; i++) {
        if (m->segments[i].base >= cut) {
            rc = replay_remove(log, m->segments[i].base);
            continue;
        }
        rc = kl_store_files_add(log, &m->segments[i], &seg);
        if (rc)
            break;
        seg->sealed = 1;
        seg->index_blocks = UINT32_MAX;
        seg->synced_size = seg->info.size;
        log->bytes += seg->info.size - KL_STORE_BLOCK;
    }
    if (rc || !seg)
        return rc;
    /* The last one goes on as the active segment. Where it ends below the cut
     * (the rest was deleted), the next append starts another one. */
    seg->sealed = 0;
    log->bytes -= seg->info.size - KL_STORE_BLOCK;
    if (log->active.base == seg->info.base)
        seg->info = log->active;
    seg->next_max_timestamp = seg->info.max_timestamp;
    if (seg->info.end >= 0 && seg->info.end < cut) {
        rc = replay_open(log, seg);
        seg->next_index_blocks = seg->index_blocks;
        return rc;
    }
    seg->synced_size = 0;
    return replay_cut(log, seg, cut);
}

static int replay_prepare(struct kl_store_log *log, int64_t cut)
{
    struct kl_store_manifest m = {.count = 0};
    int rc = kl_store_load_manifest(log, &m);

    if (rc == KL_ENOENT && log->active.base < 0)
        rc = 0; /* it never had a segment that a slot knew of */
    if (rc == 0)
        rc = kl_store_files_new(log);
    if (rc == 0)
        rc = replay_segments(log, &m, cut);
    log->manifest_dirty = log->folder_dirty = log->files && log->files->count;
    log->store->folders_dirty = 1;
    kl_base_free(&log->store->alloc, m.segments, m.count * sizeof *m.segments);
    return rc;
}

/* ---- appending again --------------------------------------------------- */

static int replay_append(struct kl_store_log *log,
                         const struct kl_store_replay_frame *f)
{
    struct kl_store *s = log->store;
    struct kl_os_file *wal = s->wal.files[f->file];
    struct kl_base_chunk *chunk;
    struct kl_batch_info info;
    struct kl_store_entry *e;
    size_t got;
    int rc = kl_base_chunk_new(&chunk, &s->alloc, f->size);

    if (rc)
        return rc;
    rc = wal->vfs->ops->read(wal, chunk->data, f->size, f->offset, &got);
    chunk->size = (uint32_t)got;
    if (rc == 0 && kl_batch_frame_verify(chunk->data, got, log->seed, &info))
        rc = KL_ECORRUPT;
    if (rc == 0)
        rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_APPEND, f->base, f->end,
                                  f->epoch, &e);
    if (rc) {
        kl_base_chunk_unref(chunk);
        return rc;
    }
    e->chunk = chunk;
    e->size = f->size;
    e->max_timestamp = f->max_timestamp;
    e->state = KL_STORE_ENTRY_DURABLE;
    kl_base_list_remove(&e->wal); /* it is there already */
    s->pending_bytes += chunk->capacity;
    kl_store_log_mark_dirty(log);
    return 0;
}

int kl_store_replay_run(struct kl_store_replay *r, struct kl_base_error *error)
{
    struct kl_store_log *log = r->log;
    struct kl_store *s = log->store;
    int rc;

    if (!r->touched)
        return 0; /* only its start or epoch moved */
    rc = replay_prepare(log, r->cut);
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        rc = replay_append(log, &r->frames[i]);
        if (rc == 0 && s->pending_bytes >= REPLAY_BATCH)
            rc = kl_store_drain(s);
    }
    if (rc == 0)
        rc = kl_store_drain(s);
    if (rc == 0)
        rc = kl_store_retain_drop(log);
    if (rc == 0 && log->files->count > 0 &&
        log->files->items[0]->info.base > log->start)
        rc = KL_ECORRUPT; /* records above the start are missing */
    return rc ? replay_error(log, error, rc) : 0;
}
