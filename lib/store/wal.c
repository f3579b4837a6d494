/*
 * The write-ahead log: a fixed ring of preallocated files. All logs of the
 * store share its groups; one gathered write and one sync make a group durable
 * (storage.md 5.3, 5.4). Group N+1 is written only after the sync of N, so a
 * valid later group proves that N was durable.
 */
#include "store/quorum.h"

#include <string.h>

enum { WAL_SEAL_AFTER_NS = 1000000000 };

static const uint8_t wal_zeros[KL_STORE_BLOCK];

int kl_store_wal_init(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;

    g->store = s;
    kl_base_list_init(&g->entries);
    kl_base_buf_init(&g->head, &s->alloc);
    s->wal.seal_due_ns = INT64_MAX;
    kl_store_retry_init(&s->wal.retry);
    return 0;
}

void kl_store_wal_deinit(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;

    for (uint32_t i = 0; i < KL_STORE_RING_FILES_MAX; i++) {
        if (s->wal.files[i])
            s->vfs->ops->close(s->wal.files[i]);
        s->wal.files[i] = NULL;
    }
    kl_base_buf_deinit(&g->head);
    kl_base_free(&s->alloc, g->iov, g->iov_capacity * sizeof *g->iov);
    g->iov = NULL;
    g->iov_capacity = 0;
}

static uint32_t wal_round(uint64_t size)
{
    return (uint32_t)((size + KL_STORE_BLOCK - 1) / KL_STORE_BLOCK *
                      KL_STORE_BLOCK);
}

static void wal_next_file(struct kl_store *s, struct kl_store_position *p)
{
    p->file = (p->file + 1) % s->wal.file_count;
    p->offset = 0;
    if (p->file == 0) {
        p->lap++;
        p->salt = kl_base_rng_next(&s->rng);
    }
}

void kl_store_wal_skip(struct kl_store *s)
{
    wal_next_file(s, &s->wal.next);
    s->wal.next.salt = kl_base_rng_next(&s->rng);
    s->wal.next.sequence += s->wal.file_size / KL_STORE_BLOCK * 2;
    s->wal.durable = s->wal.next;
    for (uint32_t i = 0; i < s->wal.file_count; i++)
        s->wal.last_sequence[i] = 0;
}

/* ---- in the commit lane ---------------------------------------------------
 */

static void wal_job_run(struct kl_os_job *job)
{
    struct kl_store_group *g =
        KL_BASE_CONTAINER(job, struct kl_store_group, job);
    const struct kl_os_vfs_ops *ops = g->store->vfs->ops;

    g->code = ops->write(g->file, g->iov, g->iov_count, g->offset, NULL);
    if (g->code == 0)
        g->code = kl_store_sync(g->file);
}

/* ---- completion ------------------------------------------------------------
 */

static void wal_note_epoch(struct kl_store_log *log, struct kl_store_entry *e)
{
    int rc = kl_batch_epochs_append(&log->work->wal_epochs, &log->store->alloc,
                                    e->epoch, e->offset);

    KL_ASSERT(rc != KL_ENOMEM); /* reserved when the entry was queued */
    log->work->epochs_queued -= e->is_epoch;
    e->is_epoch = 0;
}

/* One life ends and the next begins, in one entry. */
static void wal_reset_durable(struct kl_store_log *log, int64_t start)
{
    struct kl_store_log *old = log->work->replaces;

    log->work->replaces = NULL;
    log->exists = 1;
    log->durable_start = start;
    old->exists = 0;
    kl_base_list_remove(&old->dirty);
    kl_base_list_push(&log->store->gone, &old->dirty);
}

static void wal_entry_durable(struct kl_store_entry *e)
{
    struct kl_store_log *log = e->log;

    e->state = KL_STORE_ENTRY_DURABLE;
    switch (e->type) {
    case KL_STORE_ENTRY_APPEND:
        log->wal_leo = e->end;
        wal_note_epoch(log, e);
        /* Ignored where a truncation came in between (storage.md 5.1). */
        if (e->truncation == log->truncation)
            log->durable_leo = e->end;
        break;
    case KL_STORE_ENTRY_TRUNCATE:
        log->wal_leo = e->offset;
        kl_batch_epochs_truncate(&log->work->wal_epochs, e->offset);
        if (e->truncation == log->truncation &&
            log->flush == KL_STORE_FLUSH_COMMIT)
            log->durable_leo = e->offset;
        log->durable_truncation = e->truncation;
        break;
    case KL_STORE_ENTRY_START:
        log->durable_start = e->offset;
        break;
    case KL_STORE_ENTRY_CREATE:
        log->exists = 1;
        break;
    case KL_STORE_ENTRY_DELETE:
        log->exists = 0;
        kl_base_list_remove(&log->dirty);
        kl_base_list_push(&log->store->gone, &log->dirty);
        return;
    case KL_STORE_ENTRY_EPOCH:
        wal_note_epoch(log, e);
        break;
    case KL_STORE_ENTRY_RESET:
        wal_reset_durable(log, e->offset);
        break;
    case KL_STORE_ENTRY_EXTENT:
        break;
    }
    kl_store_log_mark_dirty(log);
    kl_store_emit_durable(log);
}

static void wal_group_done(struct kl_store *s, struct kl_store_group *g)
{
    struct kl_base_list *l;
    struct kl_store_stats *st = &s->stats;

    s->wal.durable = s->wal.next;
    while ((l = kl_base_list_pop(&g->entries)))
        wal_entry_durable(KL_BASE_CONTAINER(l, struct kl_store_entry, wal));
    kl_base_stat_add(&st->groups, 1);
    kl_base_stat_add(&st->group_frames, g->frames);
    kl_base_histogram_add(&st->group_bytes, g->header.size);
}

static void wal_job_done(struct kl_os_job *job)
{
    struct kl_store_group *g =
        KL_BASE_CONTAINER(job, struct kl_store_group, job);
    struct kl_store *s = g->store;
    char path[KL_STORE_PATH_MAX];

    if (g->code) {
        kl_store_path_wal(s, s->wal.next.file, path);
        /* Again: the same bytes to the same place. */
        g->busy = (uint8_t)kl_store_wait_out(s, &s->wal.retry, g->code,
                                             "cannot write the WAL", path);
        return;
    }
    g->busy = 0;
    kl_store_retry_init(&s->wal.retry);
    kl_base_stat_add(&s->stats.wal_bytes, g->header.size);
    kl_base_stat_add(&s->stats.wal_syncs, 1);
    kl_base_histogram_add(&s->stats.sync_us,
                          (uint64_t)(s->now_ns - g->started_ns) / 1000);
    if (!g->seal) {
        s->wal.seal_due_ns = s->now_ns + WAL_SEAL_AFTER_NS;
        wal_group_done(s, g);
    }
}

/* ---- forming a group --------------------------------------------------- */

static int wal_reserve_iov(struct kl_store *s, struct kl_store_group *g)
{
    /* Header, a part per entry, padding. */
    return kl_base_reserve(&s->alloc, (void **)&g->iov, &g->iov_capacity,
                           g->header.entry_count + 2u, sizeof *g->iov);
}

static int wal_is_data(const struct kl_store_entry *e)
{
    return e->type == KL_STORE_ENTRY_APPEND && !e->log->metadata;
}

void kl_store_wal_queue(struct kl_store *s, struct kl_store_entry *e)
{
    kl_base_list_push(e->log->metadata ? &s->meta_queue : &s->queue, &e->wal);
    s->wal.controls += !e->log->metadata && !wal_is_data(e);
}

void kl_store_wal_uncount(struct kl_store *s, const struct kl_store_entry *e)
{
    s->wal.controls -= !e->log->metadata && !wal_is_data(e);
}

/* Takes an entry into the group; 0 where it does not fit. */
static int wal_take_entry(struct kl_store *s, struct kl_store_entry *e)
{
    struct kl_store_group *g = &s->group;
    uint64_t limit = s->wal.file_size < KL_STORE_GROUP_MAX ? s->wal.file_size
                                                           : KL_STORE_GROUP_MAX;
    uint64_t size =
        KL_STORE_GROUP_HEADER + g->header.body_size + e->size +
        (uint64_t)(g->header.entry_count + 1) * KL_STORE_ENTRY_HEADER;

    if (size > limit || g->header.entry_count == KL_STORE_ENTRIES_MAX)
        return 0;
    kl_base_list_remove(&e->wal);
    kl_base_list_push(&g->entries, &e->wal);
    g->header.entry_count++;
    g->header.body_size += e->size;
    g->has_data |= wal_is_data(e);
    return 1;
}

static void wal_take(struct kl_store *s, struct kl_base_list *queue)
{
    struct kl_base_list *l;

    while ((l = kl_base_list_first(queue)) &&
           wal_take_entry(s, KL_BASE_CONTAINER(l, struct kl_store_entry, wal)))
        continue;
}

/* The entry goes before everything of its log that still waits. */
static void wal_overtake(struct kl_store_entry *e)
{
    struct kl_base_list *pending = &e->log->work->pending, *l = pending->next;

    while (KL_BASE_CONTAINER(l, struct kl_store_entry, order)->state !=
           KL_STORE_ENTRY_QUEUED)
        l = l->next;
    if (l == &e->order)
        return;
    kl_base_list_remove(&e->order);
    kl_base_list_push(l, &e->order);
}

/* What makes room must not wait for appends that wait for it: only what comes
 * after an append of its own log does. A log start does not depend on them, for
 * it is not above what is durable. */
static void wal_take_past_data(struct kl_store *s)
{
    struct kl_base_list *l = s->queue.next, *next;
    uint32_t left = s->wal.controls;

    s->wal.walks++;
    for (; l != &s->queue && left > 0; l = next) {
        struct kl_store_entry *e =
            KL_BASE_CONTAINER(l, struct kl_store_entry, wal);
        int is_held = e->log->work->held == s->wal.walks;

        next = l->next;
        left -= !wal_is_data(e);
        if (wal_is_data(e) || (is_held && e->type != KL_STORE_ENTRY_START)) {
            e->log->work->held = s->wal.walks;
            continue;
        }
        if (!wal_take_entry(s, e))
            return;
        if (is_held)
            wal_overtake(e);
    }
}

/* Gives what was taken back, to the front of the queue it came from. */
static void wal_untake(struct kl_store *s)
{
    struct kl_base_list *l, *queue;
    struct kl_store_entry *e;

    while (s->group.entries.prev != &s->group.entries) {
        l = s->group.entries.prev;
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, wal);
        queue = e->log->metadata ? &s->meta_queue : &s->queue;
        kl_base_list_remove(l);
        kl_base_list_push(queue->next, l);
    }
}

/* Whether recovery may still need what a file of the ring holds. */
static int wal_is_needed(const struct kl_store *s, uint32_t file)
{
    return s->wal.last_sequence[file % s->wal.file_count] >=
           kl_store_checkpoint_oldest(s);
}

/* Puts the group behind the last one or at the start of the next file; 0 where
 * that file is still needed. With appends the file behind it must be free, too:
 * it is for what makes room. */
static int wal_place(struct kl_store *s)
{
    struct kl_store_position p = s->wal.next;

    if (p.offset + (uint64_t)s->group.header.size > s->wal.file_size) {
        wal_next_file(s, &p);
        if (wal_is_needed(s, p.file))
            return 0;
    }
    if (s->group.has_data && wal_is_needed(s, p.file + 1))
        return 0;
    if (p.lap != s->wal.next.lap)
        kl_base_stat_add(&s->stats.wal_laps, 1);
    s->wal.next = p;
    return 1;
}

static void wal_encode_entry(struct kl_store_group *g, uint8_t *out,
                             struct kl_store_entry *e, uint32_t index)
{
    struct kl_store_log *log = e->log;
    struct kl_store_entry_header h = {
        .type = e->type,
        .truncation = e->truncation,
        .offset = e->offset,
        .end = e->end,
        .epoch = e->epoch,
        .size = e->size,
        .id = log->id,
    };

    if (kl_store_entry_is_birth(e->type)) {
        log->instance = g->header.sequence << 16 | (index + 1);
        h.flags = log->flush;
    }
    h.instance = log->instance;
    kl_store_wal_uncount(log->store, e);
    e->sequence = g->header.sequence;
    e->state = KL_STORE_ENTRY_GROUPED;
    kl_store_entry_encode(out, &h);
    if (e->chunk) {
        g->iov[g->iov_count].data = e->chunk->data;
        g->iov[g->iov_count++].size = e->size;
        g->frames++;
    }
}

static void wal_encode(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;
    struct kl_store_position *p = &s->wal.next;
    uint8_t *out = g->head.data + KL_STORE_GROUP_HEADER;
    uint32_t index = 0;
    uint64_t used = g->head.size + (uint64_t)g->header.body_size;

    g->header.directory = s->directory;
    g->header.sequence = p->sequence;
    g->header.lap = p->lap;
    g->header.salt = p->salt;
    g->header.previous = p->previous;
    g->iov[0].data = g->head.data;
    g->iov[0].size = g->head.size;
    g->iov_count = 1;
    for (struct kl_base_list *l = g->entries.next; l != &g->entries;
         l = l->next, out += KL_STORE_ENTRY_HEADER)
        wal_encode_entry(
            g, out, KL_BASE_CONTAINER(l, struct kl_store_entry, wal), index++);
    kl_store_group_encode(g->head.data, &g->header);
    if (used < g->header.size) {
        g->iov[g->iov_count].data = wal_zeros;
        g->iov[g->iov_count++].size = (size_t)(g->header.size - used);
    }
}

static void wal_submit(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;

    g->file = s->wal.files[s->wal.next.file];
    g->offset = s->wal.next.offset;
    g->started_ns = s->now_ns;
    g->busy = 1;
    g->job.run = wal_job_run;
    g->job.done = wal_job_done;
    kl_store_submit(s, &g->job, KL_OS_LANE_COMMIT);
}

static int wal_prepare(struct kl_store *s, int with_data)
{
    struct kl_store_group *g = &s->group;

    memset(&g->header, 0, sizeof g->header);
    g->header.kind = KL_STORE_GROUP_DATA;
    g->frames = 0;
    g->seal = 0;
    g->has_data = 0;
    kl_base_buf_clear(&g->head);
    /* The metadata log goes first and never waits behind data. */
    wal_take(s, &s->meta_queue);
    if (kl_base_list_is_empty(&s->meta_queue)) {
        if (with_data)
            wal_take(s, &s->queue);
        else if (kl_store_is_stuck(s))
            wal_take_past_data(s);
    }
    kl_base_buf_extend(&g->head,
                       KL_STORE_GROUP_HEADER + (size_t)g->header.entry_count *
                                                   KL_STORE_ENTRY_HEADER);
    g->header.size = wal_round(g->head.size + (uint64_t)g->header.body_size);
    return g->head.error ? KL_ENOMEM : wal_reserve_iov(s, g);
}

/* A seal block where the next group will overwrite it: proves, when the group
 * before is found rotten, that it had been durable. */
static void wal_seal(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;

    if (s->wal.next.offset + KL_STORE_BLOCK > s->wal.file_size) {
        s->wal.seal_due_ns = INT64_MAX;
        kl_store_checkpoint_request(s); /* proves it just as well */
        return;
    }
    memset(&g->header, 0, sizeof g->header);
    g->header.kind = KL_STORE_GROUP_SEAL;
    g->header.size = KL_STORE_BLOCK;
    g->frames = 0;
    g->seal = 1;
    kl_base_buf_clear(&g->head);
    if (!kl_base_buf_extend(&g->head, KL_STORE_GROUP_HEADER) ||
        wal_reserve_iov(s, g)) {
        kl_store_retry_later(s, &s->wal.retry);
        return;
    }
    s->wal.seal_due_ns = INT64_MAX;
    wal_encode(s);
    wal_submit(s);
}

/* Whether a group can be formed now; one that waits is submitted again. */
static int wal_is_free(struct kl_store *s)
{
    int waits = kl_store_retry_is_waiting(&s->wal.retry);

    if (waits && !kl_store_retry_take(s, &s->wal.retry))
        return 0;
    if (waits && s->group.busy)
        kl_store_submit(s, &s->group.job, KL_OS_LANE_COMMIT);
    return !s->group.busy;
}

int kl_store_wal_is_idle(const struct kl_store *s)
{
    return !s->group.busy && kl_base_list_is_empty(&s->meta_queue) &&
           kl_base_list_is_empty(&s->queue);
}

int64_t kl_store_wal_deadline(const struct kl_store *s)
{
    if (kl_store_retry_is_waiting(&s->wal.retry))
        return s->wal.retry.at_ns;
    /* Nothing is sealed before the quorum state is durable, and that wakes. */
    return kl_store_wal_is_idle(s) && !kl_store_quorum_is_busy(s)
               ? s->wal.seal_due_ns
               : INT64_MAX;
}

/* Forms a group and submits it: 0, or KL_EAGAIN where there is no place for it.
 */
static int wal_form(struct kl_store *s, int with_data)
{
    struct kl_store_group *g = &s->group;
    struct kl_store_position *next = &s->wal.next;

    if (wal_prepare(s, with_data)) {
        wal_untake(s); /* no memory now */
        kl_store_retry_later(s, &s->wal.retry);
        return 0;
    }
    if (g->header.entry_count == 0)
        return 0;
    if (!wal_place(s)) {
        wal_untake(s);
        return KL_EAGAIN;
    }
    wal_encode(s);
    wal_submit(s);
    s->wal.last_sequence[next->file] = next->sequence;
    next->offset += g->header.size;
    next->previous = g->header.checksum;
    next->sequence++;
    return 0;
}

void kl_store_wal_turn(struct kl_store *s)
{
    uint64_t oldest = kl_store_checkpoint_oldest(s);

    if (s->failure.code || !wal_is_free(s) || kl_store_quorum_is_busy(s))
        return;
    if (kl_store_wal_is_idle(s)) {
        if (s->now_ns >= s->wal.seal_due_ns)
            wal_seal(s);
        return;
    }
    if (s->wal.stalled && s->wal.stalled_at != oldest)
        s->wal.stalled = 0;
    if (!s->wal.stalled && wal_form(s, 1) == 0)
        return;
    if (!s->wal.stalled)
        kl_base_stat_add(&s->stats.wal_stalls, 1);
    s->wal.stalled = 1;
    s->wal.stalled_at = oldest;
    kl_store_checkpoint_request(s);
    (void)wal_form(s, 0); /* what need not wait for appends */
}
