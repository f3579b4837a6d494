/*
 * Timestamp to offset: the first segment whose newest timestamp reaches the
 * wanted one is searched in the read lane, then the entries that are not in a
 * segment yet.
 */
#include "store/read.h"

static void lookup_complete(struct kl_store_lookup *l, int code)
{
    l->code = code;
    kl_base_list_init(&l->link);
    kl_base_list_push(&l->log->store->found, &l->link);
}

/* What is in memory only. */
static int lookup_pending(struct kl_store_lookup *l)
{
    struct kl_store_log *log = l->log;
    int rc;

    for (struct kl_base_list *p = log->work->pending.next;
         p != &log->work->pending; p = p->next) {
        struct kl_store_entry *e =
            KL_BASE_CONTAINER(p, struct kl_store_entry, order);

        if (e->type != KL_STORE_ENTRY_APPEND || e->cut ||
            e->max_timestamp < l->timestamp || e->end <= log->start)
            continue;
        if (e->end > l->end)
            break;
        rc = kl_store_frame_lookup(&log->store->alloc, e->chunk->data, e->size,
                                   l->timestamp, log->start, l->end,
                                   &l->found_offset, &l->found_timestamp);
        if (rc != KL_EEND)
            return rc;
    }
    return KL_EEND;
}

static int lookup_from(struct kl_store_lookup *l, int64_t from);

static void lookup_job_done(struct kl_os_job *job)
{
    struct kl_store_lookup_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_lookup_job, job);
    struct kl_store_lookup *l = j->lookup;
    struct kl_store_log *log = j->log;
    struct kl_store *s = log->store;
    int64_t next = j->seg->info.base + 1;
    int moved = j->truncation != log->truncation || j->seg->dead;
    int rc = j->code;

    if (j->seg->info.size > j->limit)
        next--; /* entries of memory went into it meanwhile: once more */
    if (moved)
        next = 0; /* cut meanwhile: once more from the start */

    kl_store_segment_note_index(j->seg, j->index_blocks);
    if (!moved && !log->deleted && j->damage.from < j->damage.to)
        kl_store_damage_note(log, j->damage.from, j->damage.to);
    if (log->deleted)
        rc = kl_store_log_gone(log);
    else if (moved || rc == KL_EEND)
        rc = lookup_from(l, next);
    if (j->code == 0 && !moved) {
        l->found_offset = j->found_offset;
        l->found_timestamp = j->found_timestamp;
    }
    if (rc != KL_EAGAIN)
        lookup_complete(l, rc);
    kl_store_segment_unref(s, j->seg);
    kl_store_log_unref(log);
    kl_base_free(&s->alloc, j, sizeof *j);
}

static int lookup_submit(struct kl_store_lookup *l,
                         struct kl_store_segment *seg)
{
    struct kl_store_log *log = l->log;
    struct kl_store *s = log->store;
    struct kl_store_lookup_job *j = kl_base_calloc(&s->alloc, sizeof *j);

    if (!j)
        return KL_ENOMEM;
    kl_store_segment_make_room(s);
    kl_store_segment_ref(seg);
    log->refs++;
    j->store = s;
    j->log = log;
    j->seg = seg;
    j->lookup = l;
    j->truncation = log->truncation;
    j->start = log->start;
    j->end = l->end < log->work->cut_low ? l->end : log->work->cut_low;
    j->limit = seg->info.size;
    j->segment_end = seg->info.end;
    j->index_blocks = seg->index_blocks;
    if (!seg->sealed)
        kl_store_index_tail_by_time(log->files, l->timestamp, &j->hint);
    j->job.run = kl_store_lookup_lane;
    j->job.done = lookup_job_done;
    kl_store_submit(s, &j->job, KL_OS_LANE_READ);
    return KL_EAGAIN;
}

/* Searches segments with a base of at least from, then memory. */
static int lookup_from(struct kl_store_lookup *l, int64_t from)
{
    struct kl_store_files *f = l->log->files;

    for (size_t i = 0; i < f->count; i++) {
        struct kl_store_segment *seg = f->items[i];

        if (seg->info.base >= from && seg->info.size > KL_STORE_BLOCK &&
            seg->info.end > l->log->start &&
            seg->info.max_timestamp >= l->timestamp)
            return lookup_submit(l, seg);
    }
    return lookup_pending(l);
}

int kl_store_lookup(struct kl_store_lookup *l)
{
    struct kl_store_log *log = l->log;
    struct kl_store_waiter *w;
    int rc;

    l->code = kl_store_log_gone(log);
    if (log->deleted)
        return 0;
    rc = kl_store_load(log);
    if (rc == 0)
        rc = lookup_from(l, 0);
    else if (rc == KL_EAGAIN) {
        w = kl_base_calloc(&log->store->alloc, sizeof *w);
        if (w) {
            w->lookup = l;
            kl_base_list_push(&log->work->waiting, &w->link);
        } else {
            rc = KL_ENOMEM;
        }
    }
    if (rc == KL_EAGAIN)
        return rc;
    l->code = rc;
    return 0;
}

void kl_store_lookup_loaded(struct kl_store_lookup *l, int code)
{
    if (code == 0)
        code = l->log->deleted ? kl_store_log_gone(l->log) : lookup_from(l, 0);
    if (code != KL_EAGAIN)
        lookup_complete(l, code);
}
