/*
 * Interval logs after a crash: the slot says how far they were synced; above
 * it the valid prefix is kept and the log is cut at the first bad frame,
 * whatever follows (storage.md 7.4). What is kept is synced before anybody
 * sees it, so that it cannot vanish later (F03).
 */
#include "store/state.h"

#include <string.h>

struct interval_walk
{
    struct kl_store_log *log;
    struct kl_store_manifest manifest;
    struct kl_store_segment_info last; /* where the walk ended */
    uint32_t kept;                     /* segments up to and with last */
    int changed;                       /* something is not as the slot says */
    int accepted;  /* the segment walked last is one of the log */
    int lost;      /* it is shorter than what had been synced */
    int is_synced; /* what was there at first, names too, is on the medium */
    int64_t cut;
    int rc;
};

static int interval_visit(const struct kl_batch_info *info, uint64_t position,
                          void *user)
{
    struct interval_walk *w = user;
    int rc;

    (void)position;
    if (info->last_offset >= w->cut)
        return KL_EEND;
    if (info->leader_epoch < kl_batch_epochs_last(&w->log->epochs))
        return KL_EEND;
    rc = kl_batch_epochs_append(&w->log->epochs, &w->log->store->alloc,
                                info->leader_epoch, info->base_offset);
    if (rc)
        return rc == KL_EINVAL ? KL_EEND : rc;
    if (info->max_timestamp > w->last.max_timestamp)
        w->last.max_timestamp = info->max_timestamp;
    return 0;
}

/* 0; KL_ECORRUPT where the file is not the segment; or why it cannot be told.
 */
static int interval_check_header(struct kl_os_file *file,
                                 const struct kl_store_log *log,
                                 const struct kl_store_segment_info *info)
{
    uint8_t *block = kl_base_malloc(&log->store->alloc, KL_STORE_BLOCK);
    struct kl_store_segment_header h;
    size_t got;
    int rc;

    if (!block)
        return KL_ENOMEM;
    rc = file->vfs->ops->read(file, block, KL_STORE_BLOCK, 0, &got);
    if (rc == 0 &&
        (got < KL_STORE_BLOCK || kl_store_segment_header_decode(block, &h) ||
         h.instance != log->instance || h.base != info->base ||
         h.truncation != info->truncation ||
         memcmp(&h.id, &log->id, sizeof h.id) != 0))
        rc = KL_ECORRUPT;
    kl_base_free(&log->store->alloc, block, KL_STORE_BLOCK);
    return rc;
}

/* The manifest is of when the segment was begun, the slot is newer. */
static void interval_times(struct interval_walk *w, uint64_t from)
{
    const struct kl_store_segment_info *synced =
        &w->log->interval->synced_active;

    if (from == KL_STORE_BLOCK)
        return;
    if (synced->max_timestamp > w->last.max_timestamp)
        w->last.max_timestamp = synced->max_timestamp;
    if (synced->last_ms > w->last.last_ms)
        w->last.last_ms = synced->last_ms;
}

/* The medium has lost what had been synced: the log ends where it had been, or
 * has gone on in another segment already; reads find what is missing. */
static int interval_lost(struct interval_walk *w,
                         const struct kl_store_segment_info *info,
                         uint64_t from)
{
    if (from == KL_STORE_BLOCK)
        return 0; /* it had only been begun */
    w->last = *info;
    w->last.end = w->log->interval->synced_active.end;
    w->last.size = from;
    w->accepted = w->lost = w->changed = 1;
    interval_times(w, from);
    return info->end >= 0 && info->end == w->last.end;
}

/* Walks an open segment file. Returns 1 where it holds together up to its
 * stated end, 0 where the log ends in it, negative on errors. */
static int interval_file(struct interval_walk *w,
                         const struct kl_store_segment_info *info,
                         struct kl_store_scan *scan)
{
    const struct kl_os_vfs_ops *ops = scan->file->vfs->ops;
    uint64_t from = scan->position, size;
    int rc = ops->size(scan->file, &size);

    if (rc == 0)
        rc = interval_check_header(scan->file, w->log, info);
    /* Frames of what had been synced speak for themselves. */
    if (rc == KL_ECORRUPT)
        rc = from > KL_STORE_BLOCK ? 0 : KL_EEND;
    if (rc)
        return rc == KL_EEND ? 0 : rc;
    if (size < from)
        return interval_lost(w, info, from);
    w->last = *info;
    w->accepted = 1;
    interval_times(w, from);
    scan->limit = info->end >= 0 && info->size < size ? info->size : size;
    rc = kl_store_scan_run(scan, interval_visit, w);
    if (rc)
        return rc;
    w->last.end = scan->offset;
    w->last.size = scan->position;
    if (info->end < 0 && scan->position > from)
        w->last.last_ms = w->log->store->wall_ms; /* not known any more */
    /* Also behind a stated end: the segment may become the open one again. */
    if (scan->position < size)
        rc = ops->truncate(scan->file, scan->position);
    if (rc == 0 && info->end >= 0 && info->end == scan->offset)
        rc = 1;
    /* Or an opening that was killed had cut it already, and not synced. */
    if (rc >= 0 &&
        (scan->position < size ||
         (!w->is_synced && (scan->position > from || w->cut != INT64_MAX))) &&
        ops->sync(scan->file))
        rc = KL_EIO;
    w->changed |= scan->position > from || rc == 0;
    return rc;
}

/* The same by its name, from position on, offset being the next expected. */
static int interval_segment(struct interval_walk *w,
                            const struct kl_store_segment_info *info,
                            uint64_t position, int64_t offset)
{
    struct kl_store_log *log = w->log;
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_store_scan scan = {.alloc = &log->store->alloc,
                                 .seed = log->seed,
                                 .position = position,
                                 .offset = offset,
                                 .verify_body = 1};
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path_segment(log, info->base, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_WRITE, &scan.file);
    if (rc == KL_ENOENT)
        return interval_lost(w, info, position);
    if (rc)
        return rc;
    rc = interval_file(w, info, &scan);
    vfs->ops->close(scan.file);
    return rc;
}

/* The log ends with the last segment that is kept; where that one was not
 * walked, it is now, for it goes on as the open one. */
static int interval_fall_back(struct interval_walk *w)
{
    const struct kl_store_segment_info *last;
    int rc;

    if (w->kept == 0 || w->last.base == w->manifest.segments[w->kept - 1].base)
        return 0;
    last = &w->manifest.segments[w->kept - 1];
    w->accepted = 0;
    kl_batch_epochs_truncate(&w->log->epochs, last->base);
    rc = interval_segment(w, last, KL_STORE_BLOCK, last->base);
    if (rc >= 0 && !w->accepted)
        rc = KL_ECORRUPT;
    return rc < 0 ? rc : 0;
}

/* From the synced end through all later segments of the manifest. */
static int interval_segments(struct interval_walk *w)
{
    struct kl_store_log *log = w->log;
    struct kl_store_manifest *m = &w->manifest;
    int64_t expected = log->interval->synced_active.end;
    int rc = 1;

    w->last = log->interval->synced_active;
    for (uint32_t i = 0; i < m->count && rc == 1; i++) {
        struct kl_store_segment_info *info = &m->segments[i];
        int is_synced = info->base == log->interval->synced_active.base;

        if (log->interval->synced_active.base >= 0 &&
            info->base < log->interval->synced_active.base) {
            w->kept = i + 1;
            continue;
        }
        /* The one before it is whole, or there is none: a gap is what was
         * deleted meanwhile or what the medium has lost, not the end. */
        if (!is_synced &&
            (i == 0 || (info->base > expected && info->base < w->cut)))
            expected = info->base;
        if (!is_synced && info->base != expected)
            break;
        w->accepted = 0;
        rc = interval_segment(w, info,
                              is_synced ? log->interval->synced_active.size
                                        : KL_STORE_BLOCK,
                              expected);
        if (rc >= 0 && w->accepted) {
            w->kept = i + 1;
            expected = w->last.end;
        }
    }
    return rc < 0 ? rc : interval_fall_back(w);
}

/* A manifest that knows of a truncation is there, but a power cut could still
 * bring back the one before, and with it what was cut. */
static int interval_fasten(struct kl_store_log *log)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path_log(log, path);
    rc = kl_store_sync_folder(log->store->vfs, path);
    return rc == KL_ENOENT ? 0 : rc; /* it has no files yet */
}

/* Bytes of what was kept, but for the last segment, which is open again. */
static void interval_count(struct interval_walk *w)
{
    w->log->bytes = 0;
    for (uint32_t i = 0; i + 1 < w->kept; i++)
        w->log->bytes += w->manifest.segments[i].size - KL_STORE_BLOCK;
}

/* Whether the manifest says what it has to: of the open segment, the base. */
static int interval_is_listed(const struct interval_walk *w)
{
    const struct kl_store_manifest *m = &w->manifest;

    return w->kept == m->count && m->truncation == w->log->truncation &&
           m->segments[m->count - 1].base == w->last.base &&
           m->segments[m->count - 1].end < 0;
}

/* The manifest of what was kept; the last segment is open again. */
static int interval_manifest(struct interval_walk *w)
{
    struct kl_store_log *log = w->log;
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_store_manifest *m = &w->manifest;
    struct kl_base_buf buf;
    char path[KL_STORE_PATH_MAX];
    uint32_t all = m->count;
    int rc;

    log->store->folders_dirty = 1; /* the kill may have come before that */
    m->count = w->kept;
    m->truncation = log->truncation;
    if (w->kept > 0) {
        m->segments[w->kept - 1] = w->last;
        m->segments[w->kept - 1].end = -1;
        m->segments[w->kept - 1].size = 0;
    }
    kl_base_buf_init(&buf, &log->store->alloc);
    rc = kl_store_manifest_encode(&buf, m);
    kl_store_path_in_log(log, "manifest", path);
    if (rc == 0)
        rc = kl_store_file_replace(vfs, path, &buf);
    kl_store_path_log(log, path);
    if (rc == 0)
        rc = vfs->ops->sync_dir(vfs, path);
    kl_base_buf_deinit(&buf);
    m->count = all;
    return rc;
}

/* That of the record before the start is in no frame any more. */
static int interval_first_epoch(struct kl_store_log *log,
                                const struct kl_batch_epochs *stated)
{
    struct kl_batch_epochs *e = &log->epochs;
    int32_t epoch = kl_batch_epochs_at(stated, log->start - 1);

    if (epoch < 0 || (e->count > 0 && (e->items[0].start < log->start ||
                                       e->items[0].epoch < epoch)))
        return 0;
    if (e->count > 0 && e->items[0].epoch == epoch) {
        e->items[0].start = log->start - 1;
        return 0;
    }
    if (kl_batch_epochs_reserve(e, &log->store->alloc, (size_t)e->count + 1))
        return KL_ENOMEM;
    memmove(e->items + 1, e->items, e->count * sizeof *e->items);
    e->items[0] = (struct kl_batch_epoch){epoch, log->start - 1};
    e->count++;
    return 0;
}

/* Frames say their epochs themselves; of what slot and WAL state, only what
 * lies before the walk and an epoch without frames at the very end count. */
static int interval_walk_epochs(struct interval_walk *w)
{
    struct kl_store_log *log = w->log;
    const struct kl_base_alloc *alloc = &log->store->alloc;
    struct kl_batch_epochs stated = log->epochs;
    int64_t from = log->interval->synced_active.base >= 0
                       ? log->interval->synced_active.end
                       : 0;
    struct kl_batch_epoch *e;
    int rc = 0;

    kl_batch_epochs_init(&log->epochs);
    for (e = stated.items; rc == 0 && e < stated.items + stated.count; e++)
        if (e->start < from)
            rc =
                kl_batch_epochs_append(&log->epochs, alloc, e->epoch, e->start);
    if (rc == 0)
        rc = interval_segments(w);
    for (e = stated.items; rc == 0 && e < stated.items + stated.count; e++)
        if (e->start == w->last.end &&
            e->epoch > kl_batch_epochs_last(&log->epochs))
            rc =
                kl_batch_epochs_append(&log->epochs, alloc, e->epoch, e->start);
    if (rc == 0)
        rc = interval_first_epoch(log, &stated);
    kl_batch_epochs_deinit(&stated, alloc);
    return rc;
}

static void interval_install(struct interval_walk *w)
{
    struct kl_store_log *log = w->log;

    if (w->kept == 0)
        w->last.base = -1;
    log->leo = w->kept > 0 ? w->last.end : log->interval->synced_leo;
    if (log->leo < log->start)
        log->leo = log->start;
    log->durable_leo = log->interval->synced_leo = log->leo;
    log->active = log->interval->synced_active = w->last;
    if (log->leo < INT64_MAX)
        kl_batch_epochs_truncate(&log->epochs, log->leo + 1);
}

/* What the slot says was synced above a truncation that came after it is void,
 * whether the manifest has seen the truncation or not, and so is what it says
 * of a segment that the manifest does not have any more: the walk starts with
 * the segment that was cut, those before it are synced and whole. */
static void interval_distrust(struct interval_walk *w, int64_t cut)
{
    struct kl_store_log *log = w->log;
    struct kl_store_segment_info *synced = &log->interval->synced_active;
    int64_t below =
        cut < log->interval->synced_leo ? cut : log->interval->synced_leo;
    int listed = synced->base < 0;

    for (uint32_t i = 0; i < w->manifest.count; i++)
        listed |= w->manifest.segments[i].base == synced->base;
    if (cut >= log->interval->synced_leo && listed)
        return;
    synced->base = -1;
    synced->end = 0;
    for (uint32_t i = 0; i < w->manifest.count; i++) {
        if (w->manifest.segments[i].base >= below)
            break;
        *synced = w->manifest.segments[i];
        synced->end = synced->base;
        synced->size = KL_STORE_BLOCK;
    }
    log->interval->synced_leo = synced->end;
}

/* The lowest offset of the truncations with a count above this one. */
static int64_t interval_lowest(const struct kl_store_replay *r, uint32_t above)
{
    int64_t lowest = INT64_MAX;

    for (size_t i = 0; r && i < r->count; i++)
        if (r->frames[i].size > above && r->frames[i].base < lowest)
            lowest = r->frames[i].base;
    return lowest;
}

/* Makes durable what the walk has found, and lists it: an idle log costs two
 * reads, and nothing is written. */
static int interval_keep(struct interval_walk *w,
                         const struct kl_store_replay *r, int rebuilt)
{
    const struct kl_store_manifest *m = &w->manifest;

    if (m->count > 0 && (w->changed || rebuilt || w->kept != m->count ||
                         m->truncation != w->log->truncation)) {
        interval_count(w);
        return w->is_synced && !rebuilt && interval_is_listed(w)
                   ? 0
                   : interval_manifest(w);
    }
    return r && r->count > 0 && !w->is_synced ? interval_fasten(w->log) : 0;
}

int kl_store_interval_recover(struct kl_store_log *log,
                              const struct kl_store_replay *r, int is_synced,
                              struct kl_base_error *error)
{
    struct interval_walk w = {.log = log, .is_synced = is_synced};
    char path[KL_STORE_PATH_MAX];
    int rebuilt;
    int rc =
        kl_store_load_manifest(log, log->store->wall_ms, &w.manifest, &rebuilt);

    kl_base_stat_add(&log->store->stats.rebuilds, (uint64_t)rebuilt);
    if (rc == KL_ENOENT)
        rc = log->interval->synced_active.base < 0
                 ? 0
                 : KL_ECORRUPT; /* none begun */
    w.cut = interval_lowest(r, w.manifest.truncation);
    if (rc == 0) {
        interval_distrust(&w, interval_lowest(r, 0));
        rc = interval_walk_epochs(&w);
    }
    if (rc == 0)
        rc = interval_keep(&w, r, rebuilt);
    if (rc == 0)
        interval_install(&w);
    /* A truncated log goes on in a segment of its own. */
    log->roll_next = w.cut != INT64_MAX || w.lost;
    kl_base_free(&log->store->alloc, w.manifest.segments,
                 w.manifest.count * sizeof *w.manifest.segments);
    if (rc == 0)
        return 0;
    kl_store_path_log(log, path);
    return kl_base_error_set(error, rc, "cannot recover %s: %s", path,
                             kl_store_why(rc));
}
