/*
 * Interval logs are acknowledged before they are on the medium; here they are
 * synced: by time or bytes where the topic asks for it, and whenever a segment
 * is sealed, which bounds what an open after a crash has to look at.
 */
#include "store/state.h"

enum {
    FLUSH_FOR_ROOM = 8,        /* logs at a time */
    FLUSH_RETRY_NS = 100000000 /* after want of memory */
};

static void flush_list(struct kl_store_log *log, int64_t due_ns)
{
    if (log->removed)
        return; /* only readers know it still */
    if (kl_base_list_is_empty(&log->work->flush_link))
        kl_base_list_push(&log->store->flushes, &log->work->flush_link);
    if (due_ns < log->work->flush_due_ns)
        log->work->flush_due_ns = due_ns;
}

void kl_store_flush_note(struct kl_store_log *log, uint32_t size)
{
    const struct kl_store_log_config *c = &log->config;
    int64_t now = log->store->now_ns;
    int64_t due = INT64_MAX;

    log->work->flush_bytes += size;
    if (c->flush_bytes >= 0 &&
        log->work->flush_bytes >= (uint64_t)c->flush_bytes)
        due = now;
    else if (c->flush_ms >= 0)
        due = now + c->flush_ms * 1000000;
    flush_list(log, due);
}

void kl_store_flush_soon(struct kl_store_log *log)
{
    flush_list(log, log->store->now_ns);
}

void kl_store_flush_for_room(struct kl_store *s)
{
    struct kl_base_list *l = s->open_segments.next;

    for (int found = 0; l != &s->open_segments && found < FLUSH_FOR_ROOM;
         l = l->next) {
        struct kl_store_segment *seg =
            KL_BASE_CONTAINER(l, struct kl_store_segment, open);

        if (seg->dead || seg->log->busy || seg->synced_size >= seg->info.size)
            continue;
        flush_list(seg->log, s->now_ns);
        found++;
    }
}

void kl_store_flush_distrust(struct kl_store_log *log, int64_t offset)
{
    struct kl_store_segment_info *synced = &log->interval->synced_active;

    if (log->interval->synced_leo <= offset)
        return;
    synced->base = -1;
    synced->end = 0;
    for (size_t i = 0; log->files && i < log->files->count; i++) {
        if (log->files->items[i]->info.base >= offset)
            break;
        *synced = log->files->items[i]->info;
        synced->end = synced->base;
        synced->size = KL_STORE_BLOCK;
    }
    log->interval->synced_leo = synced->end;
}

static void flush_job_run(struct kl_os_job *job)
{
    struct kl_store_flush_job *f =
        KL_BASE_CONTAINER(job, struct kl_store_flush_job, job);

    f->code = 0;
    for (size_t i = 0; i < f->count && f->code == 0; i++) {
        f->code = kl_store_sync(f->segments[i]->writer);
    }
}

static void flush_note_synced(struct kl_store_log *log,
                              const struct kl_store_flush_job *f)
{
    /* Offsets and files did not agree: it is noted when the cut is done. */
    if (!f->settled)
        return;
    if (f->truncation == log->truncation) {
        log->interval->synced_leo = f->end;
        log->interval->synced_active = f->active;
    } else if (!log->deleted) {
        kl_store_flush_soon(log); /* cut meanwhile: once more */
    }
}

static void flush_job_done(struct kl_os_job *job)
{
    struct kl_store_flush_job *f =
        KL_BASE_CONTAINER(job, struct kl_store_flush_job, job);
    struct kl_store_log *log = f->log;
    struct kl_store *s = log->store;
    char path[KL_STORE_PATH_MAX];

    f->busy = 0;
    s->write_due_ns = s->now_ns; /* some may have waited for a handle */
    if (f->code) {
        kl_store_path_log(log, path);
        kl_store_fail(s, f->code, "cannot sync a segment in", path);
    }
    for (size_t i = 0; i < f->count; i++) {
        if (f->code == 0)
            kl_store_segment_sync_end(f->segments[i], &f->synced[i]);
        kl_store_segment_unref(s, f->segments[i]);
    }
    kl_base_stat_add(&s->stats.segment_syncs, f->count);
    if (f->code == 0 && log->flush == KL_STORE_FLUSH_INTERVAL)
        flush_note_synced(log, f);
    kl_store_log_unref(log);
}

static int flush_reserve(struct kl_store *s, size_t count)
{
    struct kl_store_flush_job *f = &s->flush;
    size_t capacity = f->capacity;

    if (kl_base_reserve(&s->alloc, (void **)&f->synced, &capacity, count,
                        sizeof *f->synced))
        return KL_ENOMEM;
    /* Both arrays share one capacity: the second must follow the first. */
    if (capacity != f->capacity) {
        struct kl_store_segment **items =
            kl_base_realloc(&s->alloc, f->segments, f->capacity * sizeof *items,
                            capacity * sizeof *items);

        if (!items) {
            kl_base_free(&s->alloc, f->synced, capacity * sizeof *f->synced);
            kl_base_free(&s->alloc, f->segments,
                         f->capacity * sizeof *f->segments);
            f->synced = NULL;
            f->segments = NULL;
            f->capacity = 0;
            return KL_ENOMEM;
        }
        f->segments = items;
        f->capacity = capacity;
    }
    return 0;
}

static void flush_log(struct kl_store *s, struct kl_store_log *log)
{
    struct kl_store_flush_job *f = &s->flush;
    struct kl_store_segment *seg;

    if (!log->files || flush_reserve(s, log->files->count)) {
        log->work->flush_due_ns = s->now_ns + FLUSH_RETRY_NS;
        return;
    }
    kl_base_list_remove(&log->work->flush_link);
    log->work->flush_due_ns = INT64_MAX;
    log->work->flush_bytes = 0;
    f->count = 0;
    for (size_t i = 0; i < log->files->count; i++) {
        seg = log->files->items[i];
        if (seg->synced_size >= seg->info.size || !seg->writer)
            continue;
        f->segments[f->count] = seg;
        f->synced[f->count++] = kl_store_segment_sync_begin(seg);
        kl_store_segment_ref(seg);
    }
    f->log = log;
    log->refs++;
    f->end = log->durable_leo;
    f->truncation = log->truncation;
    f->settled = log->applied_truncation == log->truncation;
    f->active.base = -1;
    if (log->files->count > 0) {
        f->active = log->files->items[log->files->count - 1]->info;
        f->end = f->active.end;
    }
    f->busy = 1;
    f->job.run = flush_job_run;
    f->job.done = flush_job_done;
    kl_store_submit(s, &f->job, KL_OS_LANE_CLEAN);
}

void kl_store_flush_turn(struct kl_store *s)
{
    struct kl_base_list *l;
    struct kl_store_log *log;

    if (s->flush.busy || s->failure.code)
        return;
    for (l = s->flushes.next; l != &s->flushes; l = l->next) {
        log = KL_BASE_CONTAINER(l, struct kl_store_work, flush_link)->log;
        if (log->busy || (!s->stopping && log->work->flush_due_ns > s->now_ns))
            continue;
        flush_log(s, log);
        return;
    }
}

int kl_store_flush_is_idle(const struct kl_store *s)
{
    return !s->flush.busy &&
           (!s->stopping || kl_base_list_is_empty(&s->flushes));
}

int64_t kl_store_flush_deadline(const struct kl_store *s)
{
    int64_t at = INT64_MAX;

    if (s->flush.busy)
        return at;
    for (struct kl_base_list *l = s->flushes.next; l != &s->flushes;
         l = l->next) {
        const struct kl_store_log *log =
            KL_BASE_CONTAINER(l, struct kl_store_work, flush_link)->log;

        if (!log->busy && log->work->flush_due_ns < at)
            at = log->work->flush_due_ns;
    }
    return at;
}

void kl_store_flush_deinit(struct kl_store *s)
{
    struct kl_store_flush_job *f = &s->flush;

    kl_base_free(&s->alloc, f->segments, f->capacity * sizeof *f->segments);
    kl_base_free(&s->alloc, f->synced, f->capacity * sizeof *f->synced);
    f->segments = NULL;
    f->synced = NULL;
    f->capacity = 0;
}
