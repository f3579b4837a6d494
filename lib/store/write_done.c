/*
 * Writing segments behind: what a job has changed once all its steps are done.
 */
#include "store/write.h"

#include <string.h>

static void write_clear_step(struct kl_store *s, struct kl_store_step *step)
{
    if (step->seg)
        kl_store_segment_unref(s, step->seg);
    step->seg = NULL;
    kl_base_free(&s->alloc, step->block, KL_STORE_BLOCK);
    step->block = NULL;
    kl_base_buf_deinit(&step->manifest);
    step->type = KL_STORE_STEP_NONE;
}

static void write_clear_steps(struct kl_store_write *w)
{
    for (size_t i = 0; i < w->step_count; i++)
        write_clear_step(w->store, &w->steps[i]);
    w->step_count = 0;
    w->steps_done = 0;
}

static void write_clear(struct kl_store_write *w)
{
    write_clear_steps(w);
    w->share_count = 0;
    w->iov_count = 0;
    w->bytes = 0;
}

static void write_step_done(struct kl_store *s, struct kl_store_step *step)
{
    struct kl_store_segment *seg = step->seg;
    struct kl_store_stats *st = &s->stats;

    switch (step->type) {
    case KL_STORE_STEP_WRITE:
        seg->info.end = step->offset;
        seg->info.size = step->position + step->size;
        seg->info.max_timestamp = seg->next_max_timestamp;
        kl_base_stat_add(&st->segment_bytes, step->size);
        break;
    case KL_STORE_STEP_INDEX:
        if (step->blocks > 0)
            seg->index_blocks = step->blocks;
        if (seg->index_lost)
            seg->next_index_blocks = seg->index_blocks;
        kl_base_stat_add(&st->segment_bytes, KL_STORE_BLOCK);
        break;
    case KL_STORE_STEP_CREATE:
        kl_base_stat_add(&st->segment_bytes, KL_STORE_BLOCK);
        break;
    case KL_STORE_STEP_CUT:
        if (step->is_lost) {
            seg->info.end = seg->next_end = step->offset;
            step->log->roll_next = 1; /* the log goes on in another one */
            break;
        }
        seg->info.end = seg->next_end = step->offset;
        seg->info.size = seg->next_size = step->position;
        seg->index_blocks = seg->next_index_blocks = step->blocks;
        seg->index_lost = 0;
        seg->cuts++;
        seg->synced_size = 0; /* the new length is not on the medium */
        break;
    case KL_STORE_STEP_MANIFEST:
        kl_base_stat_add(&st->checkpoint_bytes, step->manifest.size);
        break;
    case KL_STORE_STEP_UNLINK:
    case KL_STORE_STEP_NONE:
        break;
    }
    if (seg)
        kl_store_segment_unref(s, seg);
    step->seg = NULL;
}

/* An interval log goes on in a segment of its own, and its manifest, which the
 * next slot waits for, states where the cut one ends: nothing can bring back
 * what was cut (storage.md 5.8). */
static void write_truncated(struct kl_store_log *log, int64_t offset)
{
    struct kl_store_segment *last = kl_store_files_active(log);

    if (log->applied_truncation == log->truncation) {
        log->durable_leo = offset;
        kl_store_emit_durable(log);
    }
    log->roll_next = 1;
    log->manifest_dirty = 1;
    if (last) {
        last->sealed = 1;
        log->bytes += last->info.size - KL_STORE_BLOCK;
    }
    kl_store_flush_soon(log);
}

static void write_entry_done(struct kl_store_log *log, struct kl_store_entry *e)
{
    struct kl_store *s = log->store;

    if (e->type == KL_STORE_ENTRY_TRUNCATE) {
        log->applied_truncation = e->truncation;
        if (log->applied_truncation == log->truncation)
            log->work->cut_low = INT64_MAX;
        if (log->flush == KL_STORE_FLUSH_INTERVAL)
            write_truncated(log, e->offset);
    }
    if (e->type != KL_STORE_ENTRY_APPEND || e->cut || log->deleted) {
        kl_store_entry_free(e);
        return;
    }
    if (log->flush == KL_STORE_FLUSH_INTERVAL &&
        e->truncation == log->truncation) {
        log->durable_leo = e->end;
        kl_store_emit_durable(log);
        kl_store_flush_note(log, e->size);
    }
    kl_store_space_release(e);
    s->pending_bytes -= e->chunk->capacity;
    s->cache_bytes += e->chunk->capacity;
    e->state = KL_STORE_ENTRY_CACHED;
    kl_base_list_remove(&e->order);
    kl_base_list_push(&log->work->cached, &e->order);
    kl_base_list_push(&s->cache, &e->cache);
}

static void write_share_done(struct kl_store_share *share)
{
    struct kl_store_log *log = share->log;
    struct kl_store_entry *e;

    log->busy = 0;
    for (size_t i = 0; i < share->entries; i++) {
        e = KL_BASE_CONTAINER(log->work->pending.next, struct kl_store_entry,
                              order);
        KL_ASSERT(e->state == KL_STORE_ENTRY_WRITING);
        write_entry_done(log, e);
    }
    if (kl_store_log_has_work(log))
        kl_store_log_mark_dirty(log);
    kl_store_checkpoint_settled(log);
    kl_store_space_count(log);
    kl_store_log_unref(log);
}

void kl_store_write_finish(struct kl_store_write *w)
{
    struct kl_store *s = w->store;

    for (size_t i = 0; i < w->step_count; i++)
        write_step_done(s, &w->steps[i]);
    for (size_t i = 0; i < w->share_count; i++)
        write_share_done(&w->shares[i]);
    write_clear(w);
    kl_store_cache_trim(s, s->config.cache_bytes_max);
}

/* ---- deleted logs ------------------------------------------------------ */

/* Takes a log out of a job that waits. */
static void write_forget(struct kl_store_write *w, struct kl_store_log *log)
{
    size_t at = 0;

    for (size_t i = 0; i < w->step_count; i++)
        if (w->steps[i].log == log)
            write_clear_step(w->store, &w->steps[i]);
    while (w->shares[at].log != log)
        at++;
    w->share_count--;
    memmove(w->shares + at, w->shares + at + 1,
            (w->share_count - at) * sizeof *w->shares);
    log->busy = 0;
    kl_store_log_unref(log);
}

static void write_remove_log(struct kl_store_log *log)
{
    struct kl_base_list *l;
    char path[KL_STORE_PATH_MAX];

    while ((l = kl_base_list_first(&log->work->pending)))
        kl_store_entry_free(KL_BASE_CONTAINER(l, struct kl_store_entry, order));
    kl_store_path_log(log, path);
    kl_store_checkpoint_release(log);
    kl_store_read_loaded(log, kl_store_log_gone(log));
    kl_store_tidy_folder(
        log->store, path, kl_store_log_bytes(log),
        log->replaced ? kl_store_checkpoint_generation(log->store) : 0);
    kl_store_log_remove(log);
}

void kl_store_write_remove_gone(struct kl_store_write *w)
{
    struct kl_base_list *l = w->store->gone.next, *next;

    for (; l != &w->store->gone; l = next) {
        struct kl_store_log *log =
            KL_BASE_CONTAINER(l, struct kl_store_log, dirty);

        next = l->next;
        if (log->busy && kl_store_retry_is_waiting(&w->retry))
            write_forget(w, log);
        if (!log->busy)
            write_remove_log(log);
    }
}

/* ---- after a failure --------------------------------------------------- */

void kl_store_write_drop(struct kl_store_write *w)
{
    write_clear_steps(w);
    for (size_t i = 0; i < w->share_count; i++)
        kl_store_log_unref(w->shares[i].log);
    write_clear(w);
}
