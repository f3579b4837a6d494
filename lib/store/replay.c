/*
 * Bringing one commit log to its final content: what the checkpoint stated,
 * cut, then the surviving frames of the WAL through the ordinary segment
 * writer. Bytes are always rewritten: what a segment holds above its
 * checkpoint is not evidence of anything. Only where the WAL is damaged, a
 * frame that was written behind before the crash takes the place of its own
 * copy there; it is kept aside first, because the segment is about to be cut.
 */
#include "store/recover.h"

#include <string.h>

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

/* Where the last segment that is kept has to end: known from the slot, or
 * found in the file, which has so many bytes. */
static int replay_find(struct kl_store_log *log, struct kl_store_segment *seg,
                       int64_t cut, uint64_t file_size, uint64_t *position_out)
{
    struct kl_store_find find = {.file = seg->writer,
                                 .index = seg->index_writer,
                                 .blocks = seg->index_blocks,
                                 .alloc = &log->store->alloc,
                                 .seed = log->seed,
                                 .base = seg->info.base,
                                 .limit = file_size};

    if (log->active.base == seg->info.base && log->active.end == cut) {
        *position_out = log->active.size;
        return 0;
    }
    if (seg->info.end >= 0 && seg->info.size < file_size)
        find.limit = seg->info.size;
    return kl_store_find_position(&find, cut, position_out);
}

/* The last segment that is kept ends at the offset. One that has become shorter
 * than that, or is gone, is damaged: it stays as it is, and what follows goes
 * to another one. What the file has behind is written over, and cut off where
 * something is left of it (replay_trim): most often nothing is, and giving
 * blocks back to the file system takes longer than all else here. */
static int replay_cut(struct kl_store_log *log, struct kl_store_segment *seg,
                      int64_t cut)
{
    const struct kl_os_vfs_ops *ops = log->store->vfs->ops;
    uint64_t position = log->active.size, size = 0;
    int rc = replay_open(log, seg);

    if (rc == 0)
        rc = ops->size(seg->writer, &size);
    if (rc == 0)
        rc = replay_find(log, seg, cut, size, &position);
    if (rc && rc != KL_ENOENT)
        return rc;
    if (rc || size < position) {
        log->roll_next = 1;
    } else {
        seg->index_blocks = kl_store_index_usable(
            seg->index_writer, seg->index_blocks, seg->info.base, position);
    }
    seg->info.end = seg->next_end = cut;
    seg->info.size = seg->next_size = position;
    seg->next_index_blocks = seg->index_blocks;
    log->files->indexed_position = position;
    return 0;
}

static int replay_shorten(struct kl_store_log *log, int64_t base,
                          const char *suffix, struct kl_os_file *open_file,
                          uint64_t end)
{
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_os_file *file = open_file;
    char path[KL_STORE_PATH_MAX];
    uint64_t size;
    int rc = 0;

    kl_store_path_segment(log, base, suffix, path);
    if (!file)
        rc = vfs->ops->open(vfs, path, KL_OS_WRITE, &file);
    if (rc)
        return rc == KL_ENOENT ? 0 : rc; /* lost, and known to be */
    rc = vfs->ops->size(file, &size);
    if (rc == 0 && size > end)
        rc = vfs->ops->truncate(file, end);
    if (!open_file)
        vfs->ops->close(file);
    return rc;
}

/* Cuts off what the files of the segment that was open still have behind their
 * ends. */
static int replay_trim(const struct kl_store_replay *r)
{
    struct kl_store_log *log = r->log;
    struct kl_store_segment *seg = r->cut_segment;
    int rc;

    if (!seg)
        return 0;
    rc = replay_shorten(log, seg->info.base, "idx", seg->index_writer,
                        (uint64_t)seg->index_blocks * KL_STORE_BLOCK);
    return rc ? rc
              : replay_shorten(log, seg->info.base, "seg", seg->writer,
                               seg->info.size);
}

/* Installs the segments below cut; those at or above go. */
static int replay_segments(struct kl_store_replay *r,
                           const struct kl_store_manifest *m)
{
    struct kl_store_log *log = r->log;
    int64_t cut = r->cut;
    struct kl_store_segment *seg = NULL;
    int rc = 0;

    log->bytes = 0;
    for (uint32_t i = 0; i < m->count && rc == 0; i++) {
        if (m->segments[i].base >= cut) {
            rc = r->distrusted
                     ? kl_store_quarantine_segment(log, m->segments[i].base)
                     : replay_remove(log, m->segments[i].base);
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
    r->cut_segment = seg;
    return replay_cut(log, seg, cut);
}

static int replay_prepare(struct kl_store_replay *r)
{
    struct kl_store_log *log = r->log;
    struct kl_store_manifest *m = &r->manifest;
    int rc = kl_store_load_manifest(log, log->store->wall_ms, m, &r->rebuilt);

    kl_base_stat_add(&log->store->stats.rebuilds, (uint64_t)r->rebuilt);
    if (rc == KL_ENOENT && log->active.base < 0)
        rc = 0; /* it never had a segment that a slot knew of */
    if (rc == 0 && !r->rebuilt && !r->distrusted)
        kl_store_load_leftovers(log, m);
    if (rc == 0)
        rc = kl_store_files_new(log);
    if (rc == 0)
        rc = replay_segments(r, m);
    log->manifest_dirty = log->folder_dirty =
        log->files && (log->files->count || m->count || r->distrusted);
    log->store->folders_dirty = 1;
    return rc;
}

/* ---- frames that the WAL has lost -------------------------------------- */

struct replay_rescue
{
    struct kl_store_log *log;
    const struct kl_store_replay_frame *frame;
    struct kl_os_file *file;
    int found;
};

/* 0, the frame is in buf then; KL_EEND where it was not kept aside, whole; or
 * why that cannot be told now. */
static int replay_kept(struct kl_store_log *log,
                       const struct kl_store_replay_frame *f,
                       struct kl_base_buf *buf)
{
    struct kl_batch_info info;
    int rc = kl_store_quarantine_read(log, f->base, buf);

    if (rc)
        return kl_store_is_passing(rc) ? rc : KL_EEND;
    return kl_batch_frame_verify(buf->data, buf->size, log->seed, &info) == 0 &&
                   info.frame_size == f->size && buf->size == f->size &&
                   info.base_offset == f->base &&
                   info.last_offset + 1 == f->end &&
                   info.leader_epoch == f->epoch
               ? 0
               : KL_EEND;
}

static int rescue_visit(const struct kl_batch_info *info, uint64_t position,
                        void *user)
{
    struct replay_rescue *rescue = user;
    struct kl_store_log *log = rescue->log;
    const struct kl_store_replay_frame *f = rescue->frame;
    struct kl_base_buf buf;
    uint8_t *data;
    size_t got;
    int rc = KL_ENOMEM;

    if (info->base_offset != f->base || info->last_offset + 1 != f->end ||
        info->leader_epoch != f->epoch || info->frame_size != f->size)
        return info->base_offset > f->base ? KL_EEND : 0;
    kl_base_buf_init(&buf, &log->store->alloc);
    data = kl_base_buf_extend(&buf, f->size);
    if (data)
        rc = rescue->file->vfs->ops->read(rescue->file, data, f->size, position,
                                          &got);
    if (rc == 0 && got == f->size)
        rc = kl_store_quarantine_frame(log, f->base, &buf);
    if (rc == 0)
        rc = replay_kept(log, f, &buf);
    rescue->found = rc == 0;
    kl_base_buf_deinit(&buf);
    return rc ? rc : KL_EEND;
}

static int rescue_skip(const struct kl_store_damage *damage, void *user)
{
    (void)damage, (void)user;
    return 0;
}

/* The frame may be in any segment of the folder that begins at or below it. */
static int rescue_name(const char *name, void *user)
{
    struct replay_rescue *rescue = user;
    struct kl_store_log *log = rescue->log;
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_store_scan scan = {.alloc = &log->store->alloc,
                                 .seed = log->seed,
                                 .position = KL_STORE_BLOCK,
                                 .damaged = rescue_skip,
                                 .end = INT64_MAX};
    char path[KL_STORE_PATH_MAX];
    int rc;

    if (rescue->found || !kl_store_path_base(name, &scan.offset) ||
        scan.offset > rescue->frame->base)
        return 0;
    kl_store_path_in_log(log, name, path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &scan.file);
    if (rc)
        return kl_store_is_passing(rc) ? rc : 0;
    rescue->file = scan.file;
    rc = vfs->ops->size(scan.file, &scan.limit);
    if (rc == 0)
        rc = kl_store_scan_run(&scan, rescue_visit, rescue);
    vfs->ops->close(scan.file);
    return rc;
}

/* Looks for the copy of each lost frame that was written behind. */
static int replay_rescue(struct kl_store_replay *r)
{
    struct kl_store_log *log = r->log;
    struct kl_base_buf buf;
    char folder[KL_STORE_PATH_MAX];
    int rc = 0;

    kl_store_path_log(log, folder);
    kl_base_buf_init(&buf, &log->store->alloc);
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        struct replay_rescue rescue = {.log = log, .frame = &r->frames[i]};

        if (!r->frames[i].is_lost)
            continue;
        rc = replay_kept(log, &r->frames[i], &buf);
        if (rc == KL_EEND)
            rc = log->store->vfs->ops->list(log->store->vfs, folder,
                                            rescue_name, &rescue);
        if (rc == KL_ENOENT)
            rc = 0; /* nothing was written behind yet */
    }
    kl_base_buf_deinit(&buf);
    return rc;
}

/* ---- appending again --------------------------------------------------- */

/* KL_EEND where the frame is lost. */
static int replay_fetch(struct kl_store_log *log,
                        const struct kl_store_replay_frame *f,
                        struct kl_base_chunk **out)
{
    struct kl_os_file *wal = log->store->wal.files[f->file];
    struct kl_base_chunk *chunk;
    struct kl_batch_info info;
    struct kl_base_buf buf;
    size_t got = 0;
    int rc = kl_base_chunk_new(&chunk, &log->store->alloc, f->size);

    if (rc)
        return rc;
    if (f->is_lost) {
        kl_base_buf_init(&buf, &log->store->alloc);
        rc = replay_kept(log, f, &buf);
        if (rc == 0)
            memcpy(chunk->data, buf.data, got = f->size);
        kl_base_buf_deinit(&buf);
    } else {
        rc = wal->vfs->ops->read(wal, chunk->data, f->size, f->offset, &got);
    }
    chunk->size = (uint32_t)got;
    if (rc == 0 && kl_batch_frame_verify(chunk->data, got, log->seed, &info))
        rc = KL_ECORRUPT;
    if (rc)
        kl_base_chunk_unref(chunk);
    else
        *out = chunk;
    return rc;
}

static int replay_append(struct kl_store_log *log,
                         struct kl_store_replay_frame *f)
{
    struct kl_store *s = log->store;
    struct kl_base_chunk *chunk;
    struct kl_batch_info info;
    struct kl_store_entry *e;
    int rc = replay_fetch(log, f, &chunk);

    if (rc)
        return rc == KL_EEND ? 0 : rc;
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_APPEND, f->base, f->end,
                              f->epoch, &e);
    if (rc) {
        kl_base_chunk_unref(chunk);
        return rc;
    }
    kl_batch_frame_header(chunk->data, chunk->size, log->seed, &info);
    e->chunk = chunk;
    e->size = f->size;
    e->max_timestamp = info.max_timestamp;
    e->state = KL_STORE_ENTRY_DURABLE;
    kl_base_list_remove(&e->wal); /* it is there already */
    s->pending_bytes += chunk->capacity;
    log->work->unwritten += e->size;
    kl_store_log_mark_dirty(log);
    return 0;
}

/* Whether the manifest that was there says what it has to. Of the open segment
 * it names the base alone. */
static int replay_is_listed(const struct kl_store_log *log,
                            const struct kl_store_manifest *m)
{
    const struct kl_store_files *files = log->files;

    if (m->count != files->count || m->truncation != log->applied_truncation)
        return 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct kl_store_segment *seg = files->items[i];
        const struct kl_store_segment_info *a = &m->segments[i];
        const struct kl_store_segment_info *b = &seg->info;

        if (a->base != b->base)
            return 0;
        if (!seg->sealed
                ? a->end >= 0
                : a->end != b->end || a->size != b->size ||
                      a->max_timestamp != b->max_timestamp ||
                      a->first_ms != b->first_ms || a->last_ms != b->last_ms ||
                      a->truncation != b->truncation)
            return 0;
    }
    return 1;
}

int kl_store_replay_begin(struct kl_store_replay *r,
                          struct kl_base_error *error)
{
    struct kl_store *s = r->log->store;
    int rc = replay_rescue(r);

    if (rc == 0)
        rc = replay_prepare(r);
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        rc = replay_append(r->log, &r->frames[i]);
        if (rc == 0 && s->pending_bytes >= REPLAY_BATCH)
            rc = kl_store_drain(s);
    }
    return rc ? replay_error(r->log, error, rc) : 0;
}

int kl_store_replay_end(struct kl_store_replay *r, struct kl_base_error *error)
{
    struct kl_store_log *log = r->log;
    int rc = replay_trim(r);

    if (rc == 0)
        rc = kl_store_retain_drop(log);
    if (rc)
        return replay_error(log, error, rc);
    if (!r->rebuilt && replay_is_listed(log, &r->manifest))
        log->manifest_dirty = 0; /* its name may still not be durable */
    kl_store_damage_gaps(log);
    return 0;
}
