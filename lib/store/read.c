/*
 * Reading: from the chunks in memory at once, else one job in the read lane.
 * Every frame is verified before it is handed out (storage.md 8).
 */
#include "store/read.h"

#include <string.h>

/* ---- from memory ------------------------------------------------------- */

static int read_is_visible(const struct kl_store_entry *e)
{
    return e->type == KL_STORE_ENTRY_APPEND && !e->cut;
}

static void read_take(struct kl_store_read *r, struct kl_store_entry *e,
                      uint32_t *bytes)
{
    struct kl_store_slice *slice = &r->slices[r->slice_count++];

    slice->chunk = kl_base_chunk_ref(e->chunk);
    slice->data = e->chunk->data;
    slice->size = e->size;
    r->next_offset = e->end;
    *bytes += e->size;
}

/* Visible entries ascend, whatever was cut between them. */
static int read_begins_above(const struct kl_base_list *list, int64_t offset)
{
    for (const struct kl_base_list *l = list->next; l != list; l = l->next) {
        const struct kl_store_entry *e =
            KL_BASE_CONTAINER(l, struct kl_store_entry, order);

        if (read_is_visible(e))
            return e->offset > offset;
    }
    return 1;
}

/* Takes visible entries from a list from offset on; 0 where the list does not
 * have it. */
static int read_list(struct kl_store_read *r, struct kl_base_list *list,
                     uint32_t *bytes)
{
    struct kl_base_list *l = list->prev;
    struct kl_store_entry *e;
    int found = 0;

    if (read_begins_above(list, r->next_offset))
        return 0;
    /* From the newest backwards: readers of memory are near the end. */
    for (; l != list; l = l->prev) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, order);
        if (read_is_visible(e) && e->offset <= r->next_offset) {
            found = e->end > r->next_offset;
            break;
        }
    }
    if (!found)
        return 0;
    for (; l != list && r->slice_count < KL_STORE_SLICES; l = l->next) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, order);
        if (!read_is_visible(e))
            continue;
        if (e->end > r->end ||
            (r->slice_count > 0 && *bytes + e->size > r->bytes_max))
            break;
        read_take(r, e, bytes);
    }
    return 1;
}

static int read_memory(struct kl_store_read *r)
{
    uint32_t bytes = 0;
    int found = read_list(r, &r->log->work->cached, &bytes);

    if (found && r->slice_count == KL_STORE_SLICES)
        return 1;
    return read_list(r, &r->log->work->pending, &bytes) || found;
}

/* ---- the job ----------------------------------------------------------- */

static void read_finish(struct kl_store_read *r, int code)
{
    r->code = code;
    kl_base_list_init(&r->link);
    kl_base_list_push(&r->log->store->finished, &r->link);
}

static void read_again(struct kl_store_read *r)
{
    int rc;

    r->next_offset = r->offset;
    rc = kl_store_read(r);
    if (rc != KL_EAGAIN)
        read_finish(r, r->code);
}

static void read_job_done(struct kl_os_job *job)
{
    struct kl_store_read_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_read_job, job);
    struct kl_store_read *r = j->read;
    struct kl_store_log *log = r->log;
    struct kl_store *s = log->store;
    int moved = j->truncation != log->truncation || j->seg->dead;

    kl_store_segment_note_index(j->seg, j->index_blocks);
    if (!moved && !log->deleted && j->damage.from < j->damage.to)
        kl_store_damage_note(log, j->damage.from, j->damage.to);
    kl_base_stat_add(&s->stats.reads_disk, 1);
    kl_base_stat_add(&s->stats.read_bytes, j->bytes);
    if (!moved && j->code == KL_ECORRUPT)
        r->next_offset = j->next_offset;
    if (j->code == 0 && !moved && !log->deleted) {
        if (j->size > 0) {
            r->slices[0].chunk = j->chunk;
            r->slices[0].data = j->chunk->data + j->from;
            r->slices[0].size = j->size;
            r->slice_count = 1;
            j->chunk = NULL;
        }
        r->next_offset = j->next_offset;
        r->cursor = (struct kl_store_cursor){log->instance, log->truncation,
                                             j->seg->info.base, j->next_offset,
                                             j->next_position};
    }
    if (log->deleted)
        read_finish(r, kl_store_log_gone(log));
    else if (moved)
        read_again(r); /* a failure counts only where nothing was cut */
    else
        read_finish(r, j->code);
    kl_base_chunk_unref(j->chunk);
    kl_store_segment_unref(s, j->seg);
    kl_store_log_unref(log);
    kl_base_free(&s->alloc, j, sizeof *j);
}

/* Where the lane may start, and what offset is expected there. */
static void read_hint(struct kl_store_read_job *j)
{
    const struct kl_store_read *r = j->read;
    const struct kl_store_cursor *c = &r->cursor;

    j->hint = 0;
    j->expected = -1;
    if (c->instance == r->log->instance &&
        c->segment_base == j->seg->info.base &&
        c->truncation_count == r->log->truncation && c->offset == r->offset) {
        j->hint = c->position;
        j->expected = r->offset;
    } else if (!j->seg->sealed) {
        kl_store_index_tail_by_offset(r->log->files, j->seg->info.base,
                                      r->offset, &j->hint);
    }
}

/* The offset lies between segments: a part of the log is missing. */
static int read_missing(struct kl_store_read *r, ptrdiff_t at)
{
    struct kl_store_log *log = r->log;
    const struct kl_store_files *f = log->files;
    int64_t from = at < 0 ? log->start : f->items[at]->info.end;
    int64_t to = (size_t)(at + 1) < f->count ? f->items[at + 1]->info.base
                                             : kl_store_log_file_end(log);

    kl_store_damage_note(log, from, to);
    r->next_offset = to;
    return KL_ECORRUPT;
}

static int read_submit(struct kl_store_read *r)
{
    struct kl_store_log *log = r->log;
    struct kl_store *s = log->store;
    ptrdiff_t at = kl_store_files_find(log, r->offset);
    struct kl_store_segment *seg;
    struct kl_store_read_job *j;

    if (at < 0 || r->offset >= log->files->items[at]->info.end)
        return read_missing(r, at);
    seg = log->files->items[at];
    j = kl_base_calloc(&s->alloc, sizeof *j);
    if (!j)
        return KL_ENOMEM;
    kl_store_segment_make_room(s); /* readers may exceed the limit by a few */
    kl_store_segment_ref(seg);
    log->refs++;
    j->read = r;
    j->seg = seg;
    j->store = s;
    j->log = log;
    j->truncation = log->truncation;
    j->end = r->end < log->work->cut_low ? r->end : log->work->cut_low;
    read_hint(j);
    j->limit = seg->info.size;
    j->segment_end = seg->info.end;
    j->index_blocks = seg->index_blocks;
    j->chunk = r->buffer;
    r->buffer = NULL;
    j->job.run = kl_store_read_lane;
    j->job.done = read_job_done;
    kl_store_submit(s, &j->job, KL_OS_LANE_READ);
    return KL_EAGAIN;
}

/* ---- door -------------------------------------------------------------- */

static int read_result(struct kl_store_read *r, int code)
{
    r->code = code;
    return 0;
}

int kl_store_read(struct kl_store_read *r)
{
    struct kl_store_log *log = r->log;
    int rc;

    r->slice_count = 0;
    r->next_offset = r->offset;
    if (log->deleted)
        return read_result(r, kl_store_log_gone(log));
    if (r->offset < log->start || r->offset > log->leo)
        return read_result(r, KL_EOFFSETRANGE);
    if (r->offset >= r->end || r->offset == log->leo)
        return read_result(r, 0);
    if (read_memory(r)) {
        kl_base_stat_add(&log->store->stats.reads_memory, 1);
        return read_result(r, 0);
    }
    rc = kl_store_load(log);
    if (rc == KL_EAGAIN) {
        struct kl_store_waiter *w =
            kl_base_calloc(&log->store->alloc, sizeof *w);

        if (!w)
            return read_result(r, KL_ENOMEM);
        w->read = r;
        kl_base_list_push(&log->work->waiting, &w->link);
        return KL_EAGAIN;
    }
    if (rc == 0)
        rc = read_submit(r);
    return rc == KL_EAGAIN ? rc : read_result(r, rc);
}

void kl_store_read_release(struct kl_store_read *r)
{
    for (uint32_t i = 0; i < r->slice_count; i++)
        kl_base_chunk_unref(r->slices[i].chunk);
    r->slice_count = 0;
    kl_base_chunk_unref(r->buffer);
    r->buffer = NULL;
}

void kl_store_read_loaded(struct kl_store_log *log, int code)
{
    struct kl_base_list ready, *l;

    /* Taken aside: going on may put new ones into the list. */
    kl_base_list_init(&ready);
    while ((l = kl_base_list_pop(&log->work->waiting)))
        kl_base_list_push(&ready, l);
    while ((l = kl_base_list_pop(&ready))) {
        struct kl_store_waiter *w =
            KL_BASE_CONTAINER(l, struct kl_store_waiter, link);

        if (w->read && code)
            read_finish(w->read, code);
        else if (w->read)
            read_again(w->read);
        else
            kl_store_lookup_loaded(w->lookup, code);
        kl_base_free(&log->store->alloc, w, sizeof *w);
    }
}
