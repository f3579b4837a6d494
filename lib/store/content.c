/*
 * The content of one log as it can be had from a folder that is not open: what
 * the checkpoint states from the segments, the rest from the WAL, and what is
 * lost of either wherever another copy of it is. Each frame is verified.
 */
#include "store/content.h"

#include <string.h>

/* ---- handing out ---------------------------------------------------------
 */

static int content_lost(struct kl_store_content *c, int64_t from, int64_t end)
{
    if (from < c->log->start)
        from = c->log->start;
    if (from >= end)
        return 0;
    c->next = end;
    return c->lost ? c->lost(from, end, c->user) : 0;
}

static int content_emit(struct kl_store_content *c,
                        const struct kl_store_content_frame *f)
{
    int rc = 0;

    if (f->info->last_offset < c->log->start)
        return 0;
    rc = c->frame(f, c->user);
    if (rc == 0) {
        c->next = f->info->last_offset + 1;
        c->epoch = f->info->leader_epoch;
    }
    return rc;
}

/* Offsets [next, end) are not where they should be. */
static int content_gap(struct kl_store_content *c, int64_t end)
{
    return content_lost(c, c->next, end);
}

/* ---- segments -------------------------------------------------------------
 */

static int content_visit(const struct kl_batch_info *info, uint64_t position,
                         void *user)
{
    struct kl_store_content *c = user;
    struct kl_store_content_frame f = {.data = c->scan.frame,
                                       .info = info,
                                       .segment = c->info.base,
                                       .wal_file = -1,
                                       .position = position};
    int rc = 0;

    if (info->last_offset < c->next)
        return 0;
    if (info->base_offset >= c->keep || info->base_offset >= c->limit)
        return KL_EEND;
    if (info->base_offset > c->next)
        rc = content_gap(c, info->base_offset);
    return rc ? rc : content_emit(c, &f);
}

static int content_damaged(const struct kl_store_damage *damage, void *user)
{
    (void)damage, (void)user;
    return 0; /* the next frame shows what is missing */
}

/* What is to be read of a segment; a missing one is an empty one. */
static int content_open_segment(struct kl_store_content *c)
{
    const struct kl_store_manifest *m = &c->manifest;
    struct kl_os_vfs *vfs = c->log->store->vfs;
    char path[KL_STORE_PATH_MAX];
    int rc;

    c->info = m->segments[c->segment];
    c->limit = c->segment + 1 < m->count ? m->segments[c->segment + 1].base
                                         : INT64_MAX;
    c->scan = (struct kl_store_scan){.alloc = &c->log->store->alloc,
                                     .seed = c->log->seed,
                                     .position = KL_STORE_BLOCK,
                                     .offset = c->info.base,
                                     .verify_body = 1,
                                     .damaged = content_damaged,
                                     .end = INT64_MAX};
    kl_store_path_segment(c->log, c->info.base, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &c->file);
    if (rc)
        return rc == KL_ENOENT ? 0 : rc;
    c->scan.file = c->file;
    return vfs->ops->size(c->file, &c->scan.limit);
}

static void content_close_segment(struct kl_store_content *c)
{
    if (c->file)
        c->file->vfs->ops->close(c->file);
    c->file = NULL;
}

static int content_segments(struct kl_store_content *c)
{
    int rc = 0;

    while (rc == 0 && c->segment < c->manifest.count) {
        if (!c->file)
            rc = content_open_segment(c);
        if (rc == 0 && c->file)
            rc = kl_store_scan_run(&c->scan, content_visit, c);
        if (rc == 0) {
            content_close_segment(c);
            c->segment++;
        }
    }
    return rc;
}

/* ---- the WAL --------------------------------------------------------------
 */

static int content_read(struct kl_store_content *c,
                        const struct kl_store_replay_frame *f)
{
    struct kl_os_file *file = c->log->store->wal.files[f->file];
    struct kl_store_content_frame out = {
        .segment = -1, .wal_file = (int)f->file, .position = f->offset};
    struct kl_batch_info info;
    uint8_t *data;
    size_t got;
    int rc;

    kl_base_buf_clear(&c->buf);
    data = kl_base_buf_extend(&c->buf, f->size);
    if (!data)
        return KL_ENOMEM;
    rc = file->vfs->ops->read(file, data, f->size, f->offset, &got);
    if (rc)
        return rc;
    if (kl_batch_frame_verify(data, got, c->log->seed, &info))
        return 0; /* found missing behind it */
    out.data = data;
    out.info = &info;
    return content_emit(c, &out);
}

static int content_wal(struct kl_store_content *c)
{
    const struct kl_store_replay *plan = c->log->user;
    int rc = 0;

    if (!plan || c->log->flush != KL_STORE_FLUSH_COMMIT)
        return 0;
    for (; c->wal_frame < plan->count; c->wal_frame++) {
        const struct kl_store_replay_frame *f = &plan->frames[c->wal_frame];

        if (f->is_lost || f->end <= c->next)
            continue;
        if (f->base > c->next)
            rc = content_gap(c, f->base);
        if (rc == 0)
            rc = content_read(c, f);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- life -------------------------------------------------------------- */

int kl_store_content_new(struct kl_store_content **out,
                         struct kl_store_inspect *in,
                         const struct kl_store_id *id,
                         const struct kl_store_content_fns *fns, void *user)
{
    struct kl_store_log *log = kl_store_find(in->store, id);
    struct kl_store_content *c;
    const struct kl_store_replay *plan;
    int rebuilt;
    int rc;

    if (!log)
        return KL_ENOTOPIC;
    c = kl_base_calloc(&in->alloc, sizeof *c);
    if (!c)
        return KL_ENOMEM;
    plan = log->user;
    c->in = in;
    c->log = log;
    c->frame = fns->frame;
    c->lost = fns->lost;
    c->user = user;
    c->next = log->start;
    c->epoch = -1;
    c->keep = INT64_MAX;
    if (in->newest >= 0 && log->flush == KL_STORE_FLUSH_COMMIT)
        c->keep = plan ? plan->cut : log->leo;
    kl_base_buf_init(&c->buf, &in->alloc);
    rc = kl_store_load_manifest(log, 0, &c->manifest, &rebuilt);
    if (rc && (rc != KL_ENOENT || log->active.base >= 0)) {
        kl_store_content_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void kl_store_content_free(struct kl_store_content *c)
{
    const struct kl_base_alloc *alloc;

    if (!c)
        return;
    alloc = &c->in->alloc;
    content_close_segment(c);
    kl_base_buf_deinit(&c->buf);
    kl_base_free(alloc, c->manifest.segments,
                 c->manifest.count * sizeof *c->manifest.segments);
    kl_base_free(alloc, c, sizeof *c);
}

int kl_store_content_run(struct kl_store_content *c)
{
    int rc = content_segments(c);

    if (rc == 0 && c->keep != INT64_MAX)
        rc = content_gap(c, c->keep);
    if (rc == 0)
        rc = content_wal(c);
    if (rc == 0 && c->in->newest >= 0)
        rc = content_gap(c, c->log->leo);
    return rc;
}
