/*
 * The content of one log as it can be had from a folder that is not open: what
 * the checkpoint states from the segments, the rest from the WAL, and what is
 * lost of either wherever another copy of it is. Each frame is verified.
 */
#include "store/content.h"

#include <string.h>

/* ---- handing out ---------------------------------------------------------
 */

static int content_lost(struct kl_store_content *c, int64_t end)
{
    int64_t from = c->next;

    c->next = end;
    return c->lost ? c->lost(from, end, c->why, c->user) : 0;
}

static int content_emit(struct kl_store_content *c,
                        const struct kl_store_content_frame *f)
{
    int rc = c->frame(f, c->user);

    if (rc == 0) {
        c->next = f->info->last_offset + 1;
        c->epoch = f->info->leader_epoch;
        c->why = KL_STORE_FINDING_GAP;
    }
    return rc;
}

/* ---- what is missed -------------------------------------------------------
 */

static int content_rescue(struct kl_store_content *c)
{
    int rc = 0;

    if (!c->in->rescue)
        rc = kl_store_rescue_new(&c->in->rescue, c->in);
    /* What was written behind the checkpoint may be all that is left of a
     * group. */
    if (rc == 0 && c->next >= c->keep && !c->has_spares) {
        rc = kl_store_rescue_segments(c->in->rescue, c->log, c->keep);
        c->has_spares = rc == 0;
    }
    return rc;
}

static int content_take(struct kl_store_content *c,
                        const struct kl_store_rescue_frame *f)
{
    struct kl_store_content_frame out = {
        .segment = f->source == KL_STORE_RESCUE_SEGMENT ? f->segment : -1,
        .wal_file = f->source == KL_STORE_RESCUE_RING ? (int)f->file : -1,
        .position = f->position};
    struct kl_batch_info info;
    int rc = kl_store_rescue_read(c->in->rescue, f, &c->buf, &info);

    if (rc == KL_ECORRUPT)
        return content_lost(c, f->end);
    if (rc)
        return rc;
    out.data = c->buf.data;
    out.info = &info;
    return content_emit(c, &out);
}

/* Offsets from next up to end are not where they should be. Below the
 * checkpoint their epochs are known. end INT64_MAX = as far as anything is
 * found. */
static int content_gap(struct kl_store_content *c, int64_t end)
{
    const struct kl_batch_epochs *epochs =
        c->in->newest >= 0 && c->next < c->keep ? &c->log->epochs : NULL;
    int rc = c->next < end ? content_rescue(c) : 0;

    while (rc == 0 && c->next < end) {
        const struct kl_store_rescue_frame *f = kl_store_rescue_find(
            c->in->rescue, c->log, c->next, c->epoch, epochs);
        int64_t until = f && f->end <= end ? f->base : end;

        if (until == INT64_MAX)
            return 0;
        if (until > c->next)
            rc = content_lost(c, until);
        else
            rc = content_take(c, f);
    }
    return rc;
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
                                       .position = position,
                                       .first_ms = c->info.first_ms,
                                       .last_ms = c->info.last_ms};
    int rc = 0;

    /* An epoch that goes back was truncated. */
    if (info->last_offset < c->next || info->leader_epoch < c->epoch)
        return 0;
    if (info->base_offset >= c->keep || info->base_offset >= c->limit)
        return KL_EEND;
    if (info->base_offset > c->next)
        rc = content_gap(c, info->base_offset);
    return rc ? rc : content_emit(c, &f);
}

/* The next frame shows what is missing. */
static int content_damaged(const struct kl_store_damage *damage, void *user)
{
    struct kl_store_content *c = user;

    return kl_store_damage_kind(c->file, c->log->seed, damage, &c->why);
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
    if (c->in->newest < 0) {
        /* Where it was cut only the ring can tell, and has what came then. */
        int64_t cut;

        rc = content_rescue(c);
        if (rc)
            return rc;
        cut = kl_store_rescue_cut_of(c->in->rescue, c->log, c->info.truncation);
        if (cut < c->limit)
            c->limit = cut;
    }
    c->scan = (struct kl_store_scan){.alloc = &c->log->store->alloc,
                                     .seed = c->log->seed,
                                     .position = KL_STORE_BLOCK,
                                     .offset = c->info.base,
                                     .verify_body = 1,
                                     .damaged = content_damaged,
                                     .end = INT64_MAX};
    kl_store_path_segment(c->log, c->info.base, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &c->file);
    if (rc == KL_ENOENT)
        c->why = KL_STORE_FINDING_SEGMENT;
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
        return content_gap(c, f->end);
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
    for (; rc == 0 && c->wal_frame < plan->count; c->wal_frame++) {
        const struct kl_store_replay_frame *f = &plan->frames[c->wal_frame];

        if (f->end <= c->next)
            continue;
        c->why = KL_STORE_FINDING_WAL_ROT;
        if (f->base > c->next)
            rc = content_gap(c, f->base);
        c->why = KL_STORE_FINDING_WAL_FRAME;
        if (rc == 0 && f->is_lost) {
            rc = content_gap(c, f->end);
            continue;
        }
        if (rc == 0)
            rc = content_read(c, f);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- life -------------------------------------------------------------- */

/* From which offset on segments do not have the log any more. A truncation of
 * an interval log that its manifest knows is carried out. */
static int64_t content_keep(const struct kl_store_content *c)
{
    const struct kl_store_log *log = c->log;
    const struct kl_store_replay *plan = log->user;
    int64_t keep = INT64_MAX;

    if (c->in->newest >= 0 && log->flush == KL_STORE_FLUSH_COMMIT)
        return plan ? plan->cut : log->leo;
    for (size_t i = 0; plan && i < plan->count; i++)
        if (plan->frames[i].size > c->manifest.truncation &&
            plan->frames[i].base < keep)
            keep = plan->frames[i].base;
    return keep;
}

/* Without a checkpoint the log starts with the first segment that there is. */
static int64_t content_start(const struct kl_store_content *c)
{
    const struct kl_store_manifest *m = &c->manifest;

    if (c->in->newest < 0 && m->count > 0 &&
        m->segments[0].base > c->log->start)
        return m->segments[0].base;
    return c->log->start;
}

int kl_store_content_new(struct kl_store_content **out,
                         struct kl_store_inspect *in,
                         const struct kl_store_id *id,
                         const struct kl_store_content_fns *fns, void *user)
{
    struct kl_store_log *log = kl_store_find(in->store, id);
    struct kl_store_content *c;
    int rebuilt;
    int rc;

    if (!log)
        return KL_ENOTOPIC;
    c = kl_base_calloc(&in->alloc, sizeof *c);
    if (!c)
        return KL_ENOMEM;
    c->in = in;
    c->log = log;
    c->frame = fns->frame;
    c->lost = fns->lost;
    c->user = user;
    c->epoch = -1;
    c->why = KL_STORE_FINDING_GAP;
    kl_base_buf_init(&c->buf, &in->alloc);
    rc = kl_store_load_manifest(log, 0, &c->manifest, &rebuilt);
    if (rc && (rc != KL_ENOENT || log->active.base >= 0)) {
        kl_store_content_free(c);
        return rc;
    }
    c->keep = content_keep(c);
    c->next = content_start(c);
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

int64_t kl_store_content_next(const struct kl_store_content *c)
{
    return c->next;
}

int kl_store_content_run(struct kl_store_content *c)
{
    int is_known = c->in->newest >= 0;
    int is_commit = is_known && c->log->flush == KL_STORE_FLUSH_COMMIT;
    int64_t end = is_known ? c->log->leo : INT64_MAX;
    int rc = content_segments(c);

    if (rc == 0 && is_commit)
        rc = content_gap(c, c->keep);
    if (rc == 0 && is_commit)
        rc = content_wal(c);
    if (!is_commit && c->keep < end)
        end = c->keep;
    return rc ? rc : content_gap(c, end);
}
