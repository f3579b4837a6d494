/*
 * One log as its caller sees it: offsets, epochs, and the entries that every
 * change becomes (storage.md 5.1). Nothing here touches a file.
 */
#include "store/state.h"

#include <string.h>

const struct kl_base_uuid kl_store_metadata_topic = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

/* Bytes that the WAL holds are written behind in larger pieces, and out of the
 * way of whoever waits for the sync. */
enum { LOG_WRITE_DELAY_NS = 5000000, LOG_WRITE_LATER_NS = 100000000 };

enum { ENTRY_ID_KEY = sizeof(struct kl_store_id) };
KL_STATIC_ASSERT(sizeof(struct kl_store_id) == 20, "no padding in a map key");

/* ---- life -------------------------------------------------------------- */

/* Nobody writes here; whoever did would be stopped at once. */
static const struct kl_store_work log_idle = {
    .pending = KL_BASE_LIST_EMPTY(log_idle.pending),
    .cached = KL_BASE_LIST_EMPTY(log_idle.cached),
    .waiting = KL_BASE_LIST_EMPTY(log_idle.waiting),
    .flush_link = KL_BASE_LIST_EMPTY(log_idle.flush_link),
    .cut_low = INT64_MAX,
    .flush_due_ns = INT64_MAX,
};

static int log_is_idle(const struct kl_store_log *log)
{
    return log->work == &log_idle;
}

static int log_new_interval(struct kl_store_log *log)
{
    if (log->flush != KL_STORE_FLUSH_INTERVAL || log->interval)
        return 0;
    log->interval = kl_base_calloc(&log->store->alloc, sizeof *log->interval);
    if (!log->interval)
        return KL_ENOMEM;
    log->interval->synced_leo = log->leo;
    log->interval->synced_active = log->active;
    return 0;
}

int64_t kl_store_log_synced_leo(const struct kl_store_log *log)
{
    return log->interval ? log->interval->synced_leo : log->leo;
}

int kl_store_log_wake(struct kl_store_log *log)
{
    struct kl_store_work *w;
    int rc;

    if (!log_is_idle(log))
        return 0;
    w = kl_base_calloc(&log->store->alloc, sizeof *w);
    if (!w)
        return KL_ENOMEM;
    w->log = log;
    w->cut_low = INT64_MAX;
    w->flush_due_ns = INT64_MAX;
    kl_base_list_init(&w->pending);
    kl_base_list_init(&w->cached);
    kl_base_list_init(&w->waiting);
    kl_base_list_init(&w->flush_link);
    rc = log_new_interval(log);
    if (rc == 0)
        rc = kl_batch_epochs_copy(&w->wal_epochs, &log->store->alloc,
                                  &log->epochs);
    if (rc)
        kl_base_free(&log->store->alloc, w, sizeof *w);
    else
        log->work = w;
    return rc;
}

static void log_free_work(struct kl_store_log *log)
{
    const struct kl_base_alloc *alloc = &log->store->alloc;

    if (log_is_idle(log))
        return;
    kl_base_list_remove(&log->work->flush_link);
    kl_batch_epochs_deinit(&log->work->wal_epochs, alloc);
    kl_base_free(alloc, log->work, sizeof *log->work);
}

int kl_store_log_new(struct kl_store *s, const struct kl_store_id *id,
                     enum kl_store_flush flush, struct kl_store_log **out)
{
    struct kl_store_log *log = kl_base_calloc(&s->alloc, sizeof *log);

    if (!log)
        return KL_ENOMEM;
    log->store = s;
    log->id = *id;
    log->seed = kl_batch_seed(&id->topic_id, id->partition);
    log->flush = (uint8_t)flush;
    log->work = (struct kl_store_work *)&log_idle;
    log->metadata =
        (uint8_t)kl_base_uuid_equal(&id->topic_id, &kl_store_metadata_topic);
    log->active.base = -1;
    log->config.segment_bytes = 64 << 20;
    log->config.segment_ms = -1;
    log->config.retention_ms = -1;
    log->config.retention_bytes = -1;
    log->config.flush_ms = -1;
    log->config.flush_bytes = -1;
    log->config.index_interval_bytes = 4096;
    kl_base_list_init(&log->link);
    kl_base_list_init(&log->dirty);
    kl_base_list_init(&log->event);
    kl_batch_epochs_init(&log->epochs);
    if (log_new_interval(log) ||
        kl_base_map_put(&s->by_id, &log->id, ENTRY_ID_KEY, log)) {
        kl_base_free(&s->alloc, log->interval, sizeof *log->interval);
        kl_base_free(&s->alloc, log, sizeof *log);
        return KL_ENOMEM;
    }
    kl_base_list_push(&s->logs, &log->link);
    kl_base_stat_add(&s->stats.logs, 1);
    log->refs = 1;
    *out = log;
    return 0;
}

void kl_store_log_remove(struct kl_store_log *log)
{
    struct kl_store *s = log->store;

    if (kl_base_map_get(&s->by_id, &log->id, ENTRY_ID_KEY) == log)
        kl_base_map_remove(&s->by_id, &log->id, ENTRY_ID_KEY);
    log->removed = 1;
    kl_store_space_drop_manifest(log);
    kl_store_drop_done(log);
    kl_store_drop_configure(log, 0);
    s->space.used -= log->counted;
    log->counted = 0;
    kl_base_list_remove(&log->link);
    kl_base_list_remove(&log->dirty);
    kl_base_list_remove(&log->event);
    if (!log_is_idle(log))
        kl_base_list_remove(&log->work->flush_link);
    kl_base_stat_set(&s->stats.logs, s->by_id.count);
    kl_store_log_unref(log);
}

void kl_store_log_unref(struct kl_store_log *log)
{
    KL_ASSERT(log->refs > 0);
    if (--log->refs == 0)
        kl_store_log_free(log);
}

static void log_free_entries(struct kl_base_list *list)
{
    struct kl_base_list *l;

    while ((l = kl_base_list_pop(list)))
        kl_store_entry_free(KL_BASE_CONTAINER(l, struct kl_store_entry, order));
}

void kl_store_log_free(struct kl_store_log *log)
{
    struct kl_store *s = log->store;

    kl_base_list_remove(&log->dirty);
    kl_base_list_remove(&log->event);
    log_free_entries(&log->work->pending);
    log_free_entries(&log->work->cached);
    kl_store_files_free(log);
    kl_store_damage_free(log);
    log_free_work(log);
    kl_batch_epochs_deinit(&log->epochs, &s->alloc);
    kl_base_free(&s->alloc, log->interval, sizeof *log->interval);
    kl_base_free(&s->alloc, log, sizeof *log);
}

int kl_store_log_begin_at(struct kl_store_log *log, int64_t offset,
                          int32_t epoch)
{
    log->start = log->durable_start = offset;
    log->leo = log->durable_leo = offset;
    if (log->interval)
        log->interval->synced_leo = offset;
    return epoch < 0 ? 0
                     : kl_batch_epochs_append(&log->epochs, &log->store->alloc,
                                              epoch, offset - 1);
}

static void log_drop_interval(struct kl_store_log *log)
{
    struct kl_store_interval *i = log->interval;

    if (!i || i->synced_leo != log->leo ||
        memcmp(&i->synced_active, &log->active, sizeof log->active) != 0)
        return;
    kl_base_free(&log->store->alloc, i, sizeof *i);
    log->interval = NULL;
}

int kl_store_log_settle(struct kl_store_log *log)
{
    const struct kl_base_alloc *alloc = &log->store->alloc;

    log->wal_leo = log->leo;
    if (log_is_idle(log)) {
        log_drop_interval(log);
        return 0;
    }
    kl_batch_epochs_deinit(&log->work->wal_epochs, alloc);
    return kl_batch_epochs_copy(&log->work->wal_epochs, alloc, &log->epochs);
}

const struct kl_batch_epochs *
kl_store_log_wal_epochs(const struct kl_store_log *log)
{
    return log_is_idle(log) ? &log->epochs : &log->work->wal_epochs;
}

struct kl_store_log *kl_store_find(struct kl_store *s,
                                   const struct kl_store_id *id)
{
    return kl_base_map_get(&s->by_id, id, ENTRY_ID_KEY);
}

struct kl_store_log *kl_store_next(struct kl_store *s,
                                   struct kl_store_log *previous)
{
    struct kl_base_list *l = previous ? previous->link.next : s->logs.next;
    struct kl_store_log *log;

    for (; l != &s->logs; l = l->next) {
        log = KL_BASE_CONTAINER(l, struct kl_store_log, link);
        if (!log->deleted)
            return log;
    }
    return NULL;
}

const struct kl_store_id *kl_store_log_id(const struct kl_store_log *log)
{
    return &log->id;
}

uint64_t kl_store_log_seed(const struct kl_store_log *log)
{
    return log->seed;
}

void kl_store_log_set_user(struct kl_store_log *log, void *user)
{
    log->user = user;
}

void *kl_store_log_user(const struct kl_store_log *log)
{
    return log->user;
}

uint64_t kl_store_log_bytes(const struct kl_store_log *log)
{
    const struct kl_store_segment *active = kl_store_files_active(log);

    if (active)
        return log->bytes + active->next_size - KL_STORE_BLOCK;
    if (!log->files && log->active.base >= 0)
        return log->bytes + log->active.size - KL_STORE_BLOCK;
    return log->bytes;
}

void kl_store_log_view(const struct kl_store_log *log,
                       struct kl_store_view *out)
{
    out->start = log->start;
    out->durable_start = log->durable_start;
    out->leo = log->leo;
    out->durable_leo = log->durable_leo;
    out->size = kl_store_log_bytes(log);
    out->segment_count = log->files ? (uint32_t)log->files->count : 0;
    out->epochs = &log->epochs;
    out->flush = (enum kl_store_flush)log->flush;
    out->instance = log->instance;
    out->is_suspect = log->suspect;
    out->is_durable = log->exists;
}

void kl_store_log_configure(struct kl_store_log *log,
                            const struct kl_store_log_config *config)
{
    kl_store_drop_configure(log, config->drop_oldest);
    log->config = *config;
    log->config.drop_oldest = config->drop_oldest != 0;
    /* Positions in a segment are 32 bits wide in its index. */
    if (log->config.segment_bytes > INT32_MAX)
        log->config.segment_bytes = INT32_MAX;
    if (log->config.segment_bytes < 2 * KL_STORE_BLOCK)
        log->config.segment_bytes = 2 * KL_STORE_BLOCK;
}

int64_t kl_store_log_file_end(const struct kl_store_log *log)
{
    const struct kl_base_list *l;

    for (l = log->work->pending.next; l != &log->work->pending; l = l->next) {
        const struct kl_store_entry *e =
            KL_BASE_CONTAINER(l, struct kl_store_entry, order);

        if (e->type == KL_STORE_ENTRY_APPEND && !e->cut)
            return e->offset;
    }
    return log->leo;
}

/* ---- entries ----------------------------------------------------------- */

void kl_store_entry_free(struct kl_store_entry *e)
{
    struct kl_store *s = e->log->store;

    e->log->work->epochs_queued -= e->is_epoch;
    if (e->state == KL_STORE_ENTRY_QUEUED)
        kl_store_wal_uncount(s, e);
    kl_store_space_release(e);
    if (e->type == KL_STORE_ENTRY_APPEND && e->state < KL_STORE_ENTRY_WRITING)
        e->log->work->unwritten -= e->size;
    kl_base_list_remove(&e->wal);
    kl_base_list_remove(&e->order);
    if (e->chunk && e->state == KL_STORE_ENTRY_CACHED)
        s->cache_bytes -= e->chunk->capacity;
    else if (e->chunk)
        s->pending_bytes -= e->chunk->capacity;
    kl_base_list_remove(&e->cache);
    kl_base_chunk_unref(e->chunk);
    kl_base_free(&s->alloc, e, sizeof *e);
}

static void log_mark(struct kl_store_log *log, int64_t delay_ns)
{
    struct kl_store *s = log->store;

    if (s->now_ns + delay_ns < s->write_due_ns)
        s->write_due_ns = s->now_ns + delay_ns;
    if (kl_base_list_is_empty(&log->dirty))
        kl_base_list_push(&s->dirty, &log->dirty);
}

int kl_store_log_has_work(const struct kl_store_log *log)
{
    return !kl_base_list_is_empty(&log->work->pending) ||
           (log->manifest_dirty && log->flush == KL_STORE_FLUSH_INTERVAL);
}

void kl_store_log_mark_dirty(struct kl_store_log *log)
{
    log_mark(log, log->flush == KL_STORE_FLUSH_COMMIT ? LOG_WRITE_DELAY_NS : 0);
}

void kl_store_log_mark_later(struct kl_store_log *log)
{
    log_mark(log, LOG_WRITE_LATER_NS);
}

int kl_store_log_enqueue(struct kl_store_log *log,
                         enum kl_store_entry_type type, int64_t offset,
                         int64_t end, int32_t epoch,
                         struct kl_store_entry **out)
{
    struct kl_store *s = log->store;
    struct kl_store_entry *e;

    if (kl_store_log_wake(log))
        return KL_ENOMEM;
    e = kl_base_calloc(&s->alloc, sizeof *e);
    if (!e)
        return KL_ENOMEM;
    e->log = log;
    e->type = type;
    e->offset = offset;
    e->end = end;
    e->epoch = epoch;
    e->truncation = log->truncation;
    e->max_timestamp = -1;
    kl_base_list_init(&e->wal);
    kl_base_list_init(&e->cache);
    kl_base_list_push(&log->work->pending, &e->order);
    if (type == KL_STORE_ENTRY_APPEND &&
        log->flush == KL_STORE_FLUSH_INTERVAL) {
        e->state = KL_STORE_ENTRY_DURABLE;
        kl_store_log_mark_dirty(log);
    } else {
        e->state = KL_STORE_ENTRY_QUEUED;
        kl_store_wal_queue(s, e);
    }
    *out = e;
    return 0;
}

static int log_check_writable(const struct kl_store_log *log)
{
    const struct kl_store *s = log->store;

    if (s->failure.code)
        return KL_EFAILED;
    return s->stopping || log->deleted ? KL_ECLOSED : 0;
}

/* ---- changes ---------------------------------------------------------------
 */

int kl_store_create(struct kl_store *s, const struct kl_store_id *id,
                    enum kl_store_flush flush,
                    const struct kl_store_log_config *config,
                    struct kl_store_log **out)
{
    struct kl_store_entry *e;
    struct kl_store_log *log;
    int rc;

    if (s->failure.code)
        return KL_EFAILED;
    if (s->stopping)
        return KL_ECLOSED;
    if (id->partition < 0)
        return KL_EINVAL;
    if (kl_store_find(s, id))
        return KL_EEXIST;
    rc = kl_store_log_new(s, id, flush, &log);
    if (rc)
        return rc;
    kl_store_log_configure(log, config);
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_CREATE, 0, 0, 0, &e);
    if (rc) {
        kl_store_log_remove(log);
        return rc;
    }
    *out = log;
    return 0;
}

/* The entry begins an epoch, or goes on with the newest. Room for it is kept
 * in what is durable as well, where it can not fail any more. KL_ENOMEM gives
 * the entry back. */
static int log_note_epoch(struct kl_store_log *log, struct kl_store_entry *e)
{
    const struct kl_base_alloc *alloc = &log->store->alloc;
    int is_new = e->epoch > kl_batch_epochs_last(&log->epochs);
    int rc = 0;

    if (is_new && !(e->type == KL_STORE_ENTRY_APPEND &&
                    log->flush == KL_STORE_FLUSH_INTERVAL)) {
        rc = kl_batch_epochs_reserve(&log->work->wal_epochs, alloc,
                                     (size_t)log->work->wal_epochs.count +
                                         log->work->epochs_queued + 1);
        e->is_epoch = rc == 0;
        log->work->epochs_queued += e->is_epoch;
    }
    if (rc == 0)
        rc = kl_batch_epochs_append(&log->epochs, alloc, e->epoch, e->offset);
    if (rc)
        kl_store_entry_free(e);
    return rc;
}

/* 0, KL_EDISKFULL, or KL_EAGAIN while too much is on its way. */
static int log_admit(struct kl_store_log *log,
                     const struct kl_base_chunk *frame,
                     const struct kl_store_cost *cost)
{
    struct kl_store *s = log->store;
    int rc = kl_store_space_admit(log, frame->size, cost);

    if (rc == 0 && s->pending_bytes > 0 &&
        s->pending_bytes + frame->capacity > s->config.pending_bytes_max)
        rc = KL_EAGAIN;
    /* A full store tells by itself when it is not any more. */
    s->refused |= rc == KL_EAGAIN && !kl_store_is_full(s);
    return rc;
}

int kl_store_append(struct kl_store_log *log, struct kl_base_chunk *frame)
{
    struct kl_store *s = log->store;
    struct kl_store_cost cost = {0, 0};
    struct kl_batch_info info;
    struct kl_store_entry *e;
    int rc = log_check_writable(log);

    if (rc)
        return rc;
    if (log->suspect)
        return KL_ECORRUPT;
    rc = kl_batch_frame_header(frame->data, frame->size, log->seed, &info);
    if (rc || info.frame_size != frame->size || info.base_offset != log->leo ||
        info.leader_epoch < kl_batch_epochs_last(&log->epochs))
        return KL_EINVAL;
    if (frame->size > s->frame_max)
        return KL_ERECORDSIZE;
    cost = kl_store_space_cost(log, frame->size);
    if (!log->metadata)
        rc = log_admit(log, frame, &cost);
    if (rc)
        return rc;
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_APPEND, info.base_offset,
                              info.last_offset + 1, info.leader_epoch, &e);
    if (rc)
        return rc;
    rc = log_note_epoch(log, e);
    if (rc)
        return rc;
    e->chunk = frame;
    e->size = frame->size;
    e->max_timestamp = info.max_timestamp;
    s->pending_bytes += frame->capacity;
    log->work->unwritten += e->size;
    kl_store_space_charge(e, &cost);
    kl_store_space_count(log);
    log->leo = e->end;
    kl_base_stat_add(&s->stats.appends, 1);
    kl_base_stat_add(&s->stats.append_bytes, frame->size);
    return 0;
}

int kl_store_start_epoch(struct kl_store_log *log, int32_t epoch)
{
    struct kl_store_entry *e;
    int rc = log_check_writable(log);

    if (rc)
        return rc;
    if (epoch == kl_batch_epochs_last(&log->epochs))
        return 0;
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_EPOCH, log->leo, log->leo,
                              epoch, &e);
    return rc ? rc : log_note_epoch(log, e);
}

/* KL_EINVAL where offset lies inside a frame that is still in memory; beyond
 * memory the segment writer finds out. */
static int log_check_boundary(const struct kl_base_list *list, int64_t offset)
{
    const struct kl_store_entry *e;

    for (const struct kl_base_list *l = list->next; l != list; l = l->next) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, order);
        if (e->type == KL_STORE_ENTRY_APPEND && !e->cut && e->offset < offset &&
            e->end > offset)
            return KL_EINVAL;
    }
    return 0;
}

static void log_cut_memory(struct kl_store_log *log, int64_t offset)
{
    struct kl_base_list *l;
    struct kl_store_entry *e;

    for (l = log->work->pending.next; l != &log->work->pending; l = l->next) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, order);
        if (e->type == KL_STORE_ENTRY_APPEND && e->offset >= offset)
            e->cut = 1;
    }
    while (log->work->cached.prev != &log->work->cached) {
        e = KL_BASE_CONTAINER(log->work->cached.prev, struct kl_store_entry,
                              order);
        if (e->offset < offset)
            break;
        kl_store_entry_free(e);
    }
}

int kl_store_truncate(struct kl_store_log *log, int64_t offset)
{
    struct kl_store_entry *e;
    int64_t leo = log->leo;
    int rc = log_check_writable(log);

    if (rc)
        return rc;
    if (offset < log->start || offset > log->leo ||
        log_check_boundary(&log->work->pending, offset) ||
        log_check_boundary(&log->work->cached, offset))
        return KL_EINVAL;
    if (offset == log->leo)
        return 0;
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_TRUNCATE, offset, leo, 0, &e);
    if (rc)
        return rc;
    log_cut_memory(log, offset);
    log->work->planned =
        log->config.segment_bytes; /* the open segment may end */
    log->truncation++;
    e->truncation = log->truncation;
    log->leo = offset;
    if (offset < log->work->cut_low)
        log->work->cut_low = offset;
    /* At once: what is cut must not count as durable any more (B12). */
    if (log->durable_leo > offset)
        log->durable_leo = offset;
    kl_batch_epochs_truncate(&log->epochs, offset);
    if (log->flush == KL_STORE_FLUSH_INTERVAL)
        kl_store_flush_distrust(log, offset);
    kl_store_damage_clip(log);
    return 0;
}

int kl_store_set_start(struct kl_store_log *log, int64_t start)
{
    struct kl_store_entry *e;
    int rc = log_check_writable(log);

    if (rc)
        return rc;
    if (start > log->durable_leo)
        return KL_EOFFSETRANGE;
    if (start <= log->start)
        return 0;
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_START, start, start, 0, &e);
    if (rc)
        return rc;
    log->start = start;
    kl_store_damage_clip(log);
    return 0;
}

/* What still waits for a place in the WAL is not worth one any more, up to
 * last. What ends the log goes there, and its birth must come before it. */
static void log_drop_queued(struct kl_store_log *log,
                            const struct kl_base_list *last)
{
    struct kl_base_list *l = log->work->pending.next, *next;

    for (; l != last; l = next) {
        struct kl_store_entry *e =
            KL_BASE_CONTAINER(l, struct kl_store_entry, order);

        next = l->next;
        /* Appends of an interval log do not wait for the WAL, but they build
         * on truncations that do. */
        if ((e->state == KL_STORE_ENTRY_QUEUED &&
             !kl_store_entry_is_birth(e->type)) ||
            (e->state == KL_STORE_ENTRY_DURABLE &&
             e->type == KL_STORE_ENTRY_APPEND &&
             log->flush == KL_STORE_FLUSH_INTERVAL))
            kl_store_entry_free(e);
    }
}

/* For callers the log ends now; its entries up to last with it. */
static void log_end(struct kl_store_log *log, const struct kl_base_list *last)
{
    log_drop_queued(log, last);
    log->deleted = 1;
    log->user = NULL;
    kl_base_list_remove(&log->event);
}

int kl_store_reset(struct kl_store_log **handle, int64_t offset, int32_t epoch)
{
    struct kl_store_log *old = *handle, *log;
    struct kl_store *s = old->store;
    struct kl_store_entry *e;
    int rc = log_check_writable(old);

    if (rc)
        return rc;
    if (offset < 0 || epoch < -1 || (offset == 0 && epoch >= 0))
        return KL_EINVAL;
    rc = kl_store_log_new(s, &old->id, (enum kl_store_flush)old->flush, &log);
    if (rc)
        return rc;
    kl_store_log_configure(log, &old->config);
    rc = kl_store_log_begin_at(log, offset, epoch);
    if (rc == 0)
        rc = kl_store_log_settle(log);
    if (rc == 0)
        rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_RESET, offset, old->leo,
                                  epoch, &e);
    if (rc) {
        /* In the place of the new one: there is room for it. */
        (void)kl_base_map_put(&s->by_id, &old->id, ENTRY_ID_KEY, old);
        kl_store_log_remove(log);
        return rc;
    }
    if (log->durable_start > old->durable_start)
        log->durable_start = old->durable_start;
    log->work->replaces = old;
    log->user = old->user;
    old->replaced = 1;
    log_end(old, &old->work->pending);
    kl_base_stat_set(&s->stats.logs, s->by_id.count);
    *handle = log;
    return 0;
}

int kl_store_delete(struct kl_store_log *log)
{
    struct kl_store *s = log->store;
    struct kl_store_entry *e;
    int rc;

    if (s->failure.code)
        return KL_EFAILED;
    if (s->stopping || log->deleted)
        return KL_ECLOSED;
    rc = kl_store_log_enqueue(log, KL_STORE_ENTRY_DELETE, log->leo, log->leo, 0,
                              &e);
    if (rc)
        return rc;
    log_end(log, &e->order);
    kl_base_map_remove(&s->by_id, &log->id, ENTRY_ID_KEY);
    return 0;
}

/* ---- the cache of applied appends -------------------------------------- */

void kl_store_cache_trim(struct kl_store *s, uint64_t limit)
{
    struct kl_base_list *l;

    while (s->cache_bytes > limit && (l = kl_base_list_first(&s->cache)))
        kl_store_entry_free(KL_BASE_CONTAINER(l, struct kl_store_entry, cache));
}
