/*
 * Writing segments behind: the owner's side. Entries of a log are applied to
 * its files in their order, and only once they are durable (storage.md 5.1).
 * One job at a time collects what many logs have, in large writes.
 */
#include "store/write.h"

enum {
    WRITE_IOV_MAX = 8192,
    WRITE_ENOUGH = 512 * 1024,
    WRITE_RETRY_NS = 20000000 /* after want of memory */
};

int kl_store_write_init(struct kl_store *s)
{
    s->write = kl_base_calloc(&s->alloc, sizeof *s->write);
    if (!s->write)
        return KL_ENOMEM;
    s->write->store = s;
    kl_base_buf_init(&s->write->manifest, &s->alloc);
    kl_store_retry_init(&s->write->retry);
    return 0;
}

void kl_store_write_deinit(struct kl_store *s)
{
    struct kl_store_write *w = s->write;

    if (!w)
        return;
    kl_store_write_drop(w);
    while (w->block_count > 0)
        kl_base_free(&s->alloc, w->blocks[--w->block_count], KL_STORE_BLOCK);
    kl_base_buf_deinit(&w->manifest);
    kl_base_free(&s->alloc, w->steps, w->step_capacity * sizeof *w->steps);
    kl_base_free(&s->alloc, w->shares, w->share_capacity * sizeof *w->shares);
    kl_base_free(&s->alloc, w->iov, w->iov_capacity * sizeof *w->iov);
    kl_base_free(&s->alloc, w, sizeof *w);
    s->write = NULL;
}

int kl_store_write_is_busy(const struct kl_store *s)
{
    return s->write->busy;
}

int64_t kl_store_write_deadline(const struct kl_store *s)
{
    if (s->write->busy)
        return s->write->retry.at_ns;
    return kl_base_list_is_empty(&s->dirty) ? INT64_MAX : s->write_due_ns;
}

/* ---- reserving -------------------------------------------------------------
 */

static int write_reserve_manifest(struct kl_store_write *w,
                                  const struct kl_store_log *log)
{
    kl_base_buf_clear(&w->manifest);
    /* One more segment than there are now. */
    kl_base_buf_extend(&w->manifest,
                       kl_store_manifest_size(log->files->count + 1));
    return w->manifest.error;
}

/* What applying one entry to a log whose files are loaded may need. After it
 * nothing fails, so that files and entry are changed together or not at all. */
static int write_reserve(struct kl_store_write *w,
                         const struct kl_store_log *log, size_t steps)
{
    const struct kl_base_alloc *alloc = &w->store->alloc;

    if (kl_base_reserve(alloc, (void **)&w->steps, &w->step_capacity,
                        w->step_count + steps, sizeof *w->steps) ||
        kl_base_reserve(alloc, (void **)&w->iov, &w->iov_capacity,
                        w->iov_count + 1, sizeof *w->iov))
        return KL_ENOMEM;
    while (w->block_count < KL_STORE_WRITE_BLOCKS) {
        uint8_t *block = kl_base_malloc(alloc, KL_STORE_BLOCK);

        if (!block)
            return KL_ENOMEM;
        w->blocks[w->block_count++] = block;
    }
    return log->flush == KL_STORE_FLUSH_INTERVAL
               ? write_reserve_manifest(w, log)
               : 0;
}

/* ---- steps ------------------------------------------------------------------
 */

static struct kl_store_step *write_add(struct kl_store_write *w,
                                       enum kl_store_step_type type,
                                       struct kl_store_log *log,
                                       struct kl_store_segment *seg)
{
    static const struct kl_store_step empty;
    struct kl_store_step *step = &w->steps[w->step_count++];

    KL_ASSERT(w->step_count <= w->step_capacity);
    *step = empty;
    step->type = type;
    step->log = log;
    step->seg = seg;
    kl_base_buf_init(&step->manifest, &w->store->alloc);
    if (seg)
        kl_store_segment_ref(seg);
    return step;
}

static uint8_t *write_take_block(struct kl_store_write *w)
{
    KL_ASSERT(w->block_count > 0);
    return w->blocks[--w->block_count];
}

static void write_add_index(struct kl_store_write *w, struct kl_store_log *log,
                            struct kl_store_segment *seg)
{
    struct kl_store_files *f = log->files;
    struct kl_store_step *step;

    if (seg->index_lost) {
        f->tail_count = 0;
        return;
    }
    step = write_add(w, KL_STORE_STEP_INDEX, log, seg);
    step->block = write_take_block(w);
    kl_store_index_block_encode(step->block, seg->info.base, f->tail,
                                (uint32_t)f->tail_count);
    step->blocks = seg->next_index_blocks++;
    f->tail_count = 0;
}

int kl_store_write_manifest(const struct kl_store_log *log,
                            struct kl_base_buf *out)
{
    struct kl_store_manifest m = {.id = log->id,
                                  .instance = log->instance,
                                  .truncation = log->applied_truncation,
                                  .count = (uint32_t)log->files->count};

    kl_store_manifest_begin(out, &m);
    for (uint32_t i = 0; i < m.count; i++) {
        const struct kl_store_segment *seg = log->files->items[i];
        struct kl_store_segment_info info = seg->info;

        info.end = seg->sealed ? seg->next_end : -1;
        info.size = seg->sealed ? seg->next_size : 0;
        info.max_timestamp = seg->next_max_timestamp;
        kl_store_manifest_add(out, &info);
    }
    return kl_store_manifest_end(out);
}

static void write_add_manifest(struct kl_store_write *w,
                               struct kl_store_log *log)
{
    struct kl_store_step *step =
        write_add(w, KL_STORE_STEP_MANIFEST, log, NULL);
    int rc;

    step->manifest = w->manifest;
    kl_base_buf_init(&w->manifest, &w->store->alloc);
    rc = kl_store_write_manifest(log, &step->manifest);
    KL_ASSERT(rc == 0);
    log->manifest_dirty = 0;
}

/* ---- rolling ----------------------------------------------------------- */

static int write_must_roll(const struct kl_store_log *log,
                           const struct kl_store_segment *active,
                           const struct kl_store_entry *e)
{
    const struct kl_store_log_config *c = &log->config;

    /* An empty segment takes any frame, and two cannot have one base. */
    if (active && active->next_size == KL_STORE_BLOCK &&
        active->info.base == e->offset)
        return 0;
    if (!active || log->roll_next || active->next_end != e->offset)
        return 1;
    return active->next_size + e->size > c->segment_bytes ||
           e->end - active->info.base > INT32_MAX ||
           (c->segment_ms >= 0 &&
            log->store->wall_ms - active->info.first_ms > c->segment_ms);
}

static void write_seal(struct kl_store_write *w, struct kl_store_log *log,
                       struct kl_store_segment *seg)
{
    if (log->files->tail_count > 0)
        write_add_index(w, log, seg);
    seg->sealed = 1;
    log->bytes += seg->next_size - KL_STORE_BLOCK;
}

static int write_roll(struct kl_store_write *w, struct kl_store_log *log,
                      int64_t base)
{
    struct kl_store *s = w->store;
    struct kl_store_segment *active = kl_store_files_active(log), *fresh;
    struct kl_store_segment_info info = {
        .base = base,
        .end = base,
        .size = KL_STORE_BLOCK,
        .max_timestamp = -1,
        .first_ms = s->wall_ms,
        .last_ms = s->wall_ms,
        .truncation = log->applied_truncation,
    };

    if (kl_store_files_add(log, &info, &fresh))
        return KL_ENOMEM;
    if (active)
        write_seal(w, log, active);
    if (log->flush == KL_STORE_FLUSH_INTERVAL)
        kl_store_flush_soon(log);
    log->files->tail_count = 0;
    log->files->indexed_position = KL_STORE_BLOCK;
    log->roll_next = 0;
    log->manifest_dirty = 1;
    log->folder_dirty = 1;
    s->folders_dirty = 1;
    write_add(w, KL_STORE_STEP_CREATE, log, fresh)->block = write_take_block(w);
    kl_base_stat_add(&s->stats.segments_rolled, 1);
    if (log->flush == KL_STORE_FLUSH_INTERVAL)
        write_add_manifest(w, log);
    else
        kl_store_space_note_manifest(log);
    return 0;
}

/* ---- collecting entries ------------------------------------------------ */

static void write_frame(struct kl_store_write *w, struct kl_store_log *log,
                        struct kl_store_entry *e)
{
    struct kl_store_segment *seg = kl_store_files_active(log);
    struct kl_store_step *step =
        w->step_count > 0 ? &w->steps[w->step_count - 1] : NULL;

    if (kl_store_index_note(log, seg, e->offset, seg->next_size)) {
        write_add_index(w, log, seg);
        step = NULL;
    }
    if (!step || step->type != KL_STORE_STEP_WRITE || step->seg != seg) {
        step = write_add(w, KL_STORE_STEP_WRITE, log, seg);
        step->iov_first = w->iov_count;
        step->position = seg->next_size;
    }
    w->iov[w->iov_count].data = e->chunk->data;
    w->iov[w->iov_count++].size = e->size;
    step->iov_count++;
    step->size += e->size;
    step->offset = e->end;
    seg->next_end = e->end;
    seg->next_size += e->size;
    if (e->max_timestamp > seg->next_max_timestamp)
        seg->next_max_timestamp = e->max_timestamp;
    seg->info.last_ms = w->store->wall_ms;
    w->bytes += e->size;
    log->work->unwritten -= e->size;
}

/* KL_EAGAIN: not now, for want of files, handles or memory. */
static int write_append(struct kl_store_write *w, struct kl_store_log *log,
                        struct kl_store_entry *e)
{
    struct kl_store_segment *active;
    int rc = kl_store_load(log);

    if (rc)
        return rc;
    active = kl_store_files_active(log);
    if ((!active || !active->writer) && !kl_store_segment_make_room(w->store)) {
        kl_store_flush_for_room(w->store);
        return KL_EAGAIN;
    }
    rc = write_reserve(w, log, KL_STORE_WRITE_STEPS);
    if (rc == 0 && write_must_roll(log, active, e))
        rc = write_roll(w, log, e->offset);
    if (rc == 0)
        write_frame(w, log, e);
    return rc;
}

/* Where space is wanted and all that the files hold is deleted, the open
 * segment ends, so that it can go, too. */
static int write_start(struct kl_store_write *w, struct kl_store_log *log)
{
    const struct kl_store_segment *active;
    int rc = kl_store_load(log);

    if (rc)
        return rc;
    active = kl_store_files_active(log);
    if (active && active->next_size > KL_STORE_BLOCK &&
        active->next_end <= log->durable_start && kl_store_is_full(w->store) &&
        kl_store_segment_make_room(w->store)) {
        rc = write_reserve(w, log, KL_STORE_WRITE_STEPS);
        if (rc == 0)
            rc = write_roll(w, log, active->next_end);
    }
    return rc ? rc : kl_store_retain_drop(log);
}

static int write_cut(struct kl_store_write *w, struct kl_store_log *log,
                     struct kl_store_entry *e)
{
    struct kl_store_files *f;
    struct kl_store_segment *seg;
    struct kl_store_step *step;
    int rc = kl_store_load(log);

    if (rc == 0)
        rc = write_reserve(w, log, log->files->count + 1);
    if (rc)
        return rc;
    f = log->files;
    while (f->count > 0) {
        seg = f->items[f->count - 1];
        if (seg->info.base < e->offset)
            break;
        write_add(w, KL_STORE_STEP_UNLINK, log, NULL)->offset = seg->info.base;
        if (seg->sealed)
            log->bytes -= seg->next_size - KL_STORE_BLOCK;
        kl_store_files_drop(log, f->count - 1);
        log->manifest_dirty = 1;
        log->folder_dirty = 1;
    }
    f->tail_count = 0;
    f->indexed_position = 0;
    log->manifest_dirty = 1;
    if (f->count == 0)
        return 0;
    seg = f->items[f->count - 1];
    if (seg->sealed) {
        log->bytes -= seg->next_size - KL_STORE_BLOCK;
        seg->sealed = 0;
    }
    if (seg->next_end <= e->offset && seg->index_blocks != UINT32_MAX)
        return 0;
    step = write_add(w, KL_STORE_STEP_CUT, log, seg);
    step->offset = e->offset;
    step->size = seg->next_size;
    return 0;
}

/* Applies one entry; KL_EEND = the job must end here for this log. */
static int write_apply(struct kl_store_write *w, struct kl_store_log *log,
                       struct kl_store_entry *e, size_t first_step)
{
    int alone = w->step_count == first_step;

    switch (e->type) {
    case KL_STORE_ENTRY_APPEND:
        return write_append(w, log, e);
    case KL_STORE_ENTRY_TRUNCATE:
        /* Sizes must be settled before and after. */
        return alone ? write_cut(w, log, e) : KL_EEND;
    case KL_STORE_ENTRY_START:
        return alone ? write_start(w, log) : KL_EEND;
    case KL_STORE_ENTRY_CREATE:
    case KL_STORE_ENTRY_EPOCH:
    case KL_STORE_ENTRY_RESET:
    case KL_STORE_ENTRY_EXTENT:
        return 0;
    case KL_STORE_ENTRY_DELETE:
        break; /* the log is in store->gone */
    }
    KL_UNREACHABLE();
}

static int write_is_full(const struct kl_store_write *w)
{
    return w->bytes >= KL_STORE_WRITE_MAX || w->iov_count >= WRITE_IOV_MAX;
}

/* The manifest of an interval log is written here only, in the order of its
 * changes; a checkpoint waits for it. Not in the job of a cut, which finds out
 * where the segment ends. */
static int write_settle_manifest(struct kl_store_write *w,
                                 struct kl_store_log *log, size_t first_step)
{
    if (log->flush != KL_STORE_FLUSH_INTERVAL || !log->manifest_dirty)
        return 0;
    for (size_t i = first_step; i < w->step_count; i++)
        if (w->steps[i].type == KL_STORE_STEP_CUT)
            return 0;
    if (write_reserve(w, log, 1))
        return KL_ENOMEM;
    write_add_manifest(w, log);
    return 0;
}

/* Collects what one log has. KL_EAGAIN, or KL_ENOMEM, where it should be asked
 * again. */
static int write_collect(struct kl_store_write *w, struct kl_store_log *log)
{
    size_t first_step = w->step_count;
    size_t count = 0;
    struct kl_base_list *l;
    struct kl_store_entry *e = NULL;
    int rc = 0;

    if (kl_base_reserve(&w->store->alloc, (void **)&w->shares,
                        &w->share_capacity, w->share_count + 1,
                        sizeof *w->shares))
        return KL_ENOMEM;
    for (l = log->work->pending.next;
         l != &log->work->pending && !write_is_full(w); l = l->next) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, order);
        if (e->state != KL_STORE_ENTRY_DURABLE)
            break;
        kl_store_checkpoint_capture(log, e->sequence);
        rc = write_apply(w, log, e, first_step);
        if (rc)
            break;
        e->state = KL_STORE_ENTRY_WRITING;
        count++;
        if (e->type == KL_STORE_ENTRY_TRUNCATE) {
            rc = KL_EEND;
            break;
        }
    }
    if (log->files && write_settle_manifest(w, log, first_step))
        rc = KL_ENOMEM;
    if (count > 0 || w->step_count > first_step) {
        w->shares[w->share_count].log = log;
        w->shares[w->share_count++].entries = count;
        log->busy = 1;
        log->refs++;
    }
    if (rc == 0 && count == 0 && l != &log->work->pending &&
        e->state == KL_STORE_ENTRY_DURABLE)
        rc = KL_EAGAIN; /* the job is full */
    return rc == KL_EEND ? 0 : rc;
}

/* ---- the job ------------------------------------------------------------ */

static void write_job_done(struct kl_os_job *job)
{
    struct kl_store_write *w =
        KL_BASE_CONTAINER(job, struct kl_store_write, job);
    struct kl_store *s = w->store;

    if (w->code && kl_store_wait_out(s, &w->retry, w->code, w->what, w->path))
        return;
    kl_store_retry_init(&w->retry);
    w->busy = 0;
    if (w->code)
        kl_store_write_drop(w);
    else
        kl_store_write_finish(w);
}

/* Whether what there is is worth a job now. */
static int write_is_due(const struct kl_store *s)
{
    uint64_t enough = s->config.pending_bytes_max / 8;

    if (enough > WRITE_ENOUGH)
        enough = WRITE_ENOUGH;
    return s->now_ns >= s->write_due_ns || s->pending_bytes >= enough ||
           s->stopping || !s->opened || !kl_store_checkpoint_is_idle(s);
}

void kl_store_write_turn(struct kl_store *s)
{
    struct kl_store_write *w = s->write;
    struct kl_base_list later, *l;
    struct kl_store_log *log;
    int rc;

    if (s->failure.code)
        return;
    kl_store_write_remove_gone(w);
    if (w->busy) {
        if (kl_store_retry_take(s, &w->retry))
            kl_store_submit(s, &w->job, KL_OS_LANE_SEGMENT);
        return;
    }
    if (kl_base_list_is_empty(&s->dirty) || !write_is_due(s))
        return;
    s->write_due_ns = INT64_MAX;
    kl_base_list_init(&later);
    while (!write_is_full(w) && (l = kl_base_list_pop(&s->dirty))) {
        log = KL_BASE_CONTAINER(l, struct kl_store_log, dirty);
        rc = write_collect(w, log);
        if (rc)
            kl_base_list_push(&later, l);
        if (rc == KL_ENOMEM)
            s->write_due_ns = s->now_ns + WRITE_RETRY_NS;
    }
    while ((l = kl_base_list_pop(&later)))
        kl_base_list_push(&s->dirty, l);
    if (write_is_full(w))
        s->write_due_ns = s->now_ns; /* what is left is as due as this */
    if (w->share_count == 0)
        return;
    w->busy = 1;
    w->job.run = kl_store_write_run;
    w->job.done = write_job_done;
    kl_store_submit(s, &w->job, KL_OS_LANE_SEGMENT);
}
