/*
 * Checkpoints: what recovery starts from (storage.md 5.6). A slot is the exact
 * state of all logs at its position in the WAL. It is encoded when the
 * checkpoint begins; the segments are synced once they hold everything below
 * that position; then the slot is written over the older of the two.
 *
 *   idle -> draining (the segment writer catches up) -> running (the lane
 *   syncs and writes the slot) -> idle
 */
#include "store/checkpoint.h"

enum { CHECKPOINT_TIDY_NS = 200000000 };

int kl_store_checkpoint_init(struct kl_store *s)
{
    struct kl_store_checkpoint *c = kl_base_calloc(&s->alloc, sizeof *c);

    if (!c)
        return KL_ENOMEM;
    c->store = s;
    kl_base_buf_init(&c->slot, &s->alloc);
    kl_store_retry_init(&c->retry);
    s->checkpoint = c;
    return 0;
}

static void checkpoint_clear(struct kl_store_checkpoint *c)
{
    struct kl_store *s = c->store;

    for (size_t i = 0; i < c->sync_count; i++)
        kl_store_segment_unref(s, c->syncs[i].seg);
    for (size_t i = 0; i < c->folder_count; i++) {
        kl_base_buf_deinit(&c->folders[i].manifest);
        kl_store_log_unref(c->folders[i].log);
    }
    c->sync_count = 0;
    c->folder_count = 0;
}

/* It is over. What it has used grows with the number of logs, and the next one
 * may be long in coming. */
static void checkpoint_finish(struct kl_store_checkpoint *c)
{
    const struct kl_base_alloc *alloc = &c->store->alloc;

    checkpoint_clear(c);
    kl_base_free(alloc, c->syncs, c->sync_capacity * sizeof *c->syncs);
    kl_base_free(alloc, c->folders, c->folder_capacity * sizeof *c->folders);
    kl_base_buf_deinit(&c->slot);
    c->syncs = NULL;
    c->folders = NULL;
    c->sync_capacity = c->folder_capacity = 0;
}

void kl_store_checkpoint_deinit(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    if (!c)
        return;
    checkpoint_finish(c);
    kl_base_free(&s->alloc, c, sizeof *c);
    s->checkpoint = NULL;
}

void kl_store_checkpoint_request(struct kl_store *s)
{
    s->checkpoint->requested = 1;
}

uint64_t kl_store_checkpoint_newest(const struct kl_store *s)
{
    return s->checkpoint->generation;
}

uint64_t kl_store_checkpoint_generation(const struct kl_store *s)
{
    const struct kl_store_checkpoint *c = s->checkpoint;

    /* One under way may have been encoded before; then the older slot as well
     * must be a later one. */
    return c->generation + (c->state == KL_STORE_CHECKPOINT_IDLE ? 2 : 3);
}

uint64_t kl_store_checkpoint_oldest(const struct kl_store *s)
{
    return s->checkpoint->sequences[1 - s->checkpoint->newest];
}

uint64_t kl_store_checkpoint_bytes(const struct kl_store *s)
{
    return s->checkpoint->slot_sizes[0] + s->checkpoint->slot_sizes[1];
}

int kl_store_checkpoint_is_idle(const struct kl_store *s)
{
    return s->checkpoint->state == KL_STORE_CHECKPOINT_IDLE;
}

void kl_store_checkpoint_restore(struct kl_store *s, uint64_t generation,
                                 int slot)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    c->generation = generation;
    c->newest = slot;
    c->sequences[0] = c->sequences[1] = s->wal.next.sequence;
}

/* ---- beginning: the state at a position -------------------------------- */

/* Bytes of frames in a segment that is closed, whatever the slot calls it. */
static uint64_t checkpoint_closed(const struct kl_store_log *log, int64_t base)
{
    ptrdiff_t at =
        log->files && base >= 0 ? kl_store_files_find(log, base) : -1;
    const struct kl_store_segment *seg = at < 0 ? NULL : log->files->items[at];

    return seg && seg->sealed && seg->info.base == base
               ? seg->info.size - KL_STORE_BLOCK
               : 0;
}

static void checkpoint_files(const struct kl_store_log *log,
                             struct kl_store_slot_log *out)
{
    const struct kl_store_segment *active = kl_store_files_active(log);

    out->bytes = log->bytes;
    if (log->flush == KL_STORE_FLUSH_INTERVAL) {
        out->active =
            log->interval ? log->interval->synced_active : log->active;
        out->bytes -= checkpoint_closed(log, out->active.base);
    } else if (active) {
        out->active = active->info;
        out->active.end = active->next_end;
        out->active.size = active->next_size;
        out->active.max_timestamp = active->next_max_timestamp;
    } else {
        out->active = log->active;
        if (log->files)
            out->active.base = -1;
    }
}

static const struct kl_batch_epochs *
checkpoint_epochs(const struct kl_store_log *log)
{
    return log->flush == KL_STORE_FLUSH_INTERVAL ? &log->epochs
                                                 : kl_store_log_wal_epochs(log);
}

static void checkpoint_log(const struct kl_store_log *log,
                           struct kl_store_slot_log *out)
{
    int interval = log->flush == KL_STORE_FLUSH_INTERVAL;
    const struct kl_batch_epochs *e = checkpoint_epochs(log);

    out->id = log->id;
    out->flush = log->flush;
    out->flags = log->suspect ? KL_STORE_SLOT_DAMAGED : 0;
    out->instance = log->instance;
    out->truncation = log->durable_truncation;
    out->start = log->durable_start;
    out->leo = interval ? kl_store_log_synced_leo(log) : log->wal_leo;
    /* An interval log may not have synced what was deleted since. */
    if (out->leo < out->start)
        out->leo = out->start;
    out->high_watermark = out->leo;
    out->epoch_count = e->count;
    while (out->epoch_count > 0 &&
           e->items[out->epoch_count - 1].start > out->leo)
        out->epoch_count--;
    checkpoint_files(log, out);
}

/* True while durable entries of the log are not formed into a job. Of an
 * interval log only truncations count, manifests included: its slot says what
 * is synced. */
static int checkpoint_must_wait(const struct kl_store_log *log)
{
    int interval = log->flush == KL_STORE_FLUSH_INTERVAL;
    const struct kl_store_entry *e;

    if (interval && log->manifest_dirty)
        return 1;
    for (const struct kl_base_list *l = log->work->pending.next;
         l != &log->work->pending; l = l->next) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, order);
        /* Until it is done the files do not show where they are cut. */
        if (e->type == KL_STORE_ENTRY_TRUNCATE &&
            e->state == KL_STORE_ENTRY_WRITING)
            return 1;
        if (interval && e->type != KL_STORE_ENTRY_TRUNCATE)
            continue;
        if (e->state != KL_STORE_ENTRY_WRITING)
            return e->state == KL_STORE_ENTRY_DURABLE;
    }
    return 0;
}

static void checkpoint_encode(struct kl_store *s, uint32_t flags)
{
    struct kl_store_checkpoint *c = s->checkpoint;
    struct kl_store_slot slot = {
        .generation = c->generation + 1,
        .position = s->wal.durable,
        .file_count = s->wal.file_count,
        .file_size = s->wal.file_size,
        .flags = flags,
        .broker_epoch = -1,
    };
    struct kl_store_slot_log record;
    struct kl_store_log *log;
    struct kl_base_list *l;
    size_t at;

    for (l = s->logs.next; l != &s->logs; l = l->next)
        slot.log_count +=
            KL_BASE_CONTAINER(l, struct kl_store_log, link)->exists;
    kl_store_slot_begin(&c->slot, &slot);
    c->position = slot.position;
    c->waiting = 0;
    for (l = s->logs.next; l != &s->logs; l = l->next) {
        log = KL_BASE_CONTAINER(l, struct kl_store_log, link);
        log->slot_at = 0;
        if (!log->exists)
            continue;
        checkpoint_log(log, &record);
        at = kl_store_slot_add(&c->slot, &record, checkpoint_epochs(log));
        if (checkpoint_must_wait(log)) {
            log->slot_at = (uint32_t)at;
            c->waiting++;
        }
    }
}

static void checkpoint_begin(struct kl_store *s, uint32_t flags)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    checkpoint_encode(s, flags);
    if (c->slot.error) {
        kl_store_retry_later(s, &c->retry); /* no memory now */
        return;
    }
    c->requested = 0;
    c->wal_bytes = kl_base_stat_get(&s->stats.wal_bytes);
    c->started_ns = s->now_ns;
    c->state = KL_STORE_CHECKPOINT_DRAINING;
}

static void checkpoint_patch(struct kl_store_log *log)
{
    struct kl_store_checkpoint *c = log->store->checkpoint;
    uint8_t *data = c->slot.data + log->slot_at;
    struct kl_base_cursor cursor;
    struct kl_store_slot_log record;

    /* Everything but the files was exact at the beginning. */
    kl_base_cursor_init(&cursor, data, c->slot.size - log->slot_at);
    kl_store_slot_next(&cursor, &record);
    checkpoint_files(log, &record);
    if (log->flush == KL_STORE_FLUSH_INTERVAL)
        record.leo = kl_store_log_synced_leo(log) < record.start
                         ? record.start
                         : kl_store_log_synced_leo(log);
    kl_store_slot_patch(&c->slot, log->slot_at, &record);
    log->slot_at = 0;
    c->waiting--;
}

void kl_store_checkpoint_capture(struct kl_store_log *log, uint64_t sequence)
{
    if (log->slot_at && log->flush == KL_STORE_FLUSH_COMMIT &&
        sequence >= log->store->checkpoint->position.sequence)
        checkpoint_patch(log);
}

void kl_store_checkpoint_settled(struct kl_store_log *log)
{
    const struct kl_store_entry *e;

    if (!log->slot_at ||
        (log->flush == KL_STORE_FLUSH_INTERVAL && checkpoint_must_wait(log)))
        return;
    if (log->flush == KL_STORE_FLUSH_COMMIT &&
        !kl_base_list_is_empty(&log->work->pending)) {
        e = KL_BASE_CONTAINER(log->work->pending.next, struct kl_store_entry,
                              order);
        if (e->state == KL_STORE_ENTRY_DURABLE &&
            e->sequence < log->store->checkpoint->position.sequence)
            return;
    }
    checkpoint_patch(log);
}

void kl_store_checkpoint_release(struct kl_store_log *log)
{
    if (log->slot_at)
        checkpoint_patch(log);
}

/* ---- the job ----------------------------------------------------------- */

static int checkpoint_collect_syncs(struct kl_store *s,
                                    struct kl_store_log *log)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    if (!log->files || log->flush == KL_STORE_FLUSH_INTERVAL)
        return 0;
    if (kl_base_reserve(&s->alloc, (void **)&c->syncs, &c->sync_capacity,
                        c->sync_count + log->files->count, sizeof *c->syncs))
        return KL_ENOMEM;
    for (size_t i = 0; i < log->files->count; i++) {
        struct kl_store_segment *seg = log->files->items[i];

        if (seg->synced_size >= seg->info.size || !seg->writer)
            continue;
        c->syncs[c->sync_count].seg = seg;
        c->syncs[c->sync_count].file = seg->writer;
        c->syncs[c->sync_count++].synced = kl_store_segment_sync_begin(seg);
        kl_store_segment_ref(seg);
    }
    return 0;
}

static int checkpoint_collect_folder(struct kl_store *s,
                                     struct kl_store_log *log)
{
    struct kl_store_checkpoint *c = s->checkpoint;
    struct kl_store_checkpoint_folder *folder;

    if (log->flush == KL_STORE_FLUSH_INTERVAL ||
        (!log->manifest_dirty && !log->folder_dirty))
        return 0;
    if (kl_base_reserve(&s->alloc, (void **)&c->folders, &c->folder_capacity,
                        c->folder_count + 1, sizeof *c->folders))
        return KL_ENOMEM;
    folder = &c->folders[c->folder_count++];
    folder->log = log;
    folder->has_manifest = log->manifest_dirty;
    kl_base_buf_init(&folder->manifest, &s->alloc);
    log->refs++;
    if (log->manifest_dirty && kl_store_write_manifest(log, &folder->manifest))
        return KL_ENOMEM;
    return 0;
}

static void checkpoint_job_done(struct kl_os_job *job)
{
    struct kl_store_checkpoint *c =
        KL_BASE_CONTAINER(job, struct kl_store_checkpoint, job);
    struct kl_store *s = c->store;

    if (c->code && kl_store_wait_out(s, &c->retry, c->code, c->what, c->path))
        return;
    kl_store_retry_init(&c->retry);
    c->state = KL_STORE_CHECKPOINT_IDLE;
    if (c->code) {
        checkpoint_finish(c);
        return;
    }
    for (size_t i = 0; i < c->folder_count; i++)
        if (!c->folders[i].log->manifest_dirty)
            kl_store_space_drop_manifest(c->folders[i].log);
    for (size_t i = 0; i < c->sync_count; i++)
        kl_store_segment_sync_end(c->syncs[i].seg, &c->syncs[i].synced);
    kl_base_stat_add(&s->stats.segment_syncs, c->sync_count);
    kl_base_stat_add(&s->stats.checkpoints, 1);
    kl_base_stat_add(&s->stats.checkpoint_bytes, c->bytes);
    kl_base_histogram_add(&s->stats.checkpoint_us,
                          (uint64_t)(s->now_ns - c->started_ns) / 1000);
    checkpoint_finish(c);
    c->slot_sizes[1 - c->newest] = c->slot_size;
    c->generation++;
    c->newest = 1 - c->newest;
    c->sequences[c->newest] = c->position.sequence;
    c->ended_ns = s->now_ns;
    s->write_due_ns = s->now_ns; /* some may have waited for a handle */
}

/* The first time, and again. The folders of logs that were deleted meanwhile
 * are gone, or will be. */
static void checkpoint_submit(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    for (size_t i = 0; i < c->folder_count; i++)
        c->folders[i].has_manifest &= c->folders[i].log->exists;
    kl_store_submit(s, &c->job, KL_OS_LANE_CLEAN);
}

static void checkpoint_run(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;
    struct kl_store_log *log;
    int rc = 0;

    for (struct kl_base_list *l = s->logs.next; l != &s->logs && rc == 0;
         l = l->next) {
        log = KL_BASE_CONTAINER(l, struct kl_store_log, link);
        if (!log->exists)
            continue; /* it has no files yet, or does not need them */
        rc = checkpoint_collect_syncs(s, log);
        if (rc == 0)
            rc = checkpoint_collect_folder(s, log);
    }
    if (rc) {
        checkpoint_clear(c);
        kl_store_retry_later(s, &c->retry); /* no memory now */
        return;
    }
    for (size_t i = 0; i < c->folder_count; i++) {
        c->folders[i].log->manifest_dirty = 0;
        c->folders[i].log->folder_dirty = 0;
    }
    c->sync_folders = s->folders_dirty;
    s->folders_dirty = 0;
    kl_store_slot_end(&c->slot);
    c->file = s->slots[1 - c->newest];
    c->state = KL_STORE_CHECKPOINT_RUNNING;
    c->job.run = kl_store_checkpoint_lane;
    c->job.done = checkpoint_job_done;
    checkpoint_submit(s);
}

/* ---- when -------------------------------------------------------------- */

/* When names have waited long enough for a slot; space cannot come too soon. */
static int64_t checkpoint_tidy_ns(const struct kl_store *s)
{
    return s->checkpoint->ended_ns +
           (kl_store_is_full(s) ? 0 : CHECKPOINT_TIDY_NS);
}

static int checkpoint_is_due(const struct kl_store *s)
{
    const struct kl_store_checkpoint *c = s->checkpoint;
    uint64_t ring = (uint64_t)s->wal.file_count * s->wal.file_size;

    return c->requested || kl_store_space_is_clogged(s) ||
           kl_base_stat_get(&s->stats.wal_bytes) - c->wal_bytes >= ring / 8 ||
           (kl_store_tidy_is_waiting(s) && s->now_ns >= checkpoint_tidy_ns(s));
}

/* Whether it is not yet time to try again; a job that waits is submitted when
 * it is. */
static int checkpoint_waits(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    if (!kl_store_retry_is_waiting(&c->retry))
        return 0;
    if (!kl_store_retry_take(s, &c->retry))
        return 1;
    if (c->state == KL_STORE_CHECKPOINT_RUNNING)
        checkpoint_submit(s);
    return 0;
}

void kl_store_checkpoint_turn(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    if (s->failure.code || checkpoint_waits(s))
        return;
    if (c->state == KL_STORE_CHECKPOINT_IDLE && s->opened &&
        c->stop_generation == 0 && checkpoint_is_due(s))
        checkpoint_begin(s, 0);
    if (c->state == KL_STORE_CHECKPOINT_DRAINING && c->waiting == 0 &&
        !kl_store_write_is_busy(s))
        checkpoint_run(s);
}

int64_t kl_store_checkpoint_deadline(const struct kl_store *s)
{
    const struct kl_store_checkpoint *c = s->checkpoint;

    if (kl_store_retry_is_waiting(&c->retry))
        return c->retry.at_ns;
    /* None begins by itself behind the clean one of a stop. */
    if (c->state == KL_STORE_CHECKPOINT_IDLE && c->stop_generation == 0 &&
        kl_store_tidy_is_waiting(s))
        return checkpoint_tidy_ns(s);
    return INT64_MAX;
}

int kl_store_checkpoint_stop(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    if (c->state != KL_STORE_CHECKPOINT_IDLE)
        return 0;
    if (c->stop_generation != 0 && c->generation >= c->stop_generation)
        return 1;
    checkpoint_begin(s, KL_STORE_SLOT_CLEAN);
    if (c->state == KL_STORE_CHECKPOINT_DRAINING) {
        c->stop_generation = c->generation + 1;
        checkpoint_run(s);
    }
    return 0;
}

int kl_store_checkpoint_now(struct kl_store *s)
{
    struct kl_store_checkpoint *c = s->checkpoint;

    KL_ASSERT(c->state == KL_STORE_CHECKPOINT_IDLE);
    checkpoint_begin(s, 0);
    if (c->state != KL_STORE_CHECKPOINT_DRAINING)
        return KL_ENOMEM;
    checkpoint_run(s);
    return c->state == KL_STORE_CHECKPOINT_RUNNING ? kl_store_drain(s)
                                                   : KL_ENOMEM;
}
