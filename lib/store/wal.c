/*
 * The write-ahead log: a fixed ring of preallocated files. All logs of the
 * store share its groups; one gathered write and one sync make a group durable
 * (storage.md 5.3, 5.4). Group N+1 is written only after the sync of N, so a
 * valid later group proves that N was durable.
 */
#include "store/state.h"

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
    int rc = kl_batch_epochs_append(&log->wal_epochs, &log->store->alloc,
                                    e->epoch, e->offset);

    KL_ASSERT(rc != KL_ENOMEM); /* reserved when the entry was queued */
    log->epochs_queued -= e->is_epoch;
    e->is_epoch = 0;
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
        kl_batch_epochs_truncate(&log->wal_epochs, e->offset);
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
        break;
    case KL_STORE_ENTRY_EPOCH:
        wal_note_epoch(log, e);
        break;
    case KL_STORE_ENTRY_RESET:
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

/* Moves entries from a queue into the group while they fit. */
static void wal_take(struct kl_store *s, struct kl_base_list *queue)
{
    struct kl_store_group *g = &s->group;
    uint64_t limit = s->wal.file_size < KL_STORE_GROUP_MAX ? s->wal.file_size
                                                           : KL_STORE_GROUP_MAX;
    struct kl_base_list *l;
    struct kl_store_entry *e;
    uint64_t size;

    while ((l = kl_base_list_first(queue))) {
        e = KL_BASE_CONTAINER(l, struct kl_store_entry, wal);
        size = KL_STORE_GROUP_HEADER + g->header.body_size + e->size +
               (uint64_t)(g->header.entry_count + 1) * KL_STORE_ENTRY_HEADER;
        if (size > limit || g->header.entry_count == KL_STORE_ENTRIES_MAX)
            return;
        kl_base_list_remove(l);
        kl_base_list_push(&g->entries, l);
        g->header.entry_count++;
        g->header.body_size += e->size;
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

/* Puts the group behind the last one or at the start of the next file; 0 where
 * that file is still needed. */
static int wal_place(struct kl_store *s)
{
    struct kl_store_position p = s->wal.next;

    if (p.offset + (uint64_t)s->group.header.size > s->wal.file_size) {
        wal_next_file(s, &p);
        if (s->wal.last_sequence[p.file] >= kl_store_checkpoint_oldest(s))
            return 0;
        if (p.lap != s->wal.next.lap)
            kl_base_stat_add(&s->stats.wal_laps, 1);
        s->wal.next = p;
    }
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

    if (e->type == KL_STORE_ENTRY_CREATE) {
        log->instance = g->header.sequence << 16 | (index + 1);
        h.flags = log->flush;
    }
    h.instance = log->instance;
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

static int wal_prepare(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;

    memset(&g->header, 0, sizeof g->header);
    g->header.kind = KL_STORE_GROUP_DATA;
    g->frames = 0;
    g->seal = 0;
    kl_base_buf_clear(&g->head);
    /* The metadata log goes first and never waits behind data. */
    wal_take(s, &s->meta_queue);
    if (kl_base_list_is_empty(&s->meta_queue))
        wal_take(s, &s->queue);
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

int64_t kl_store_wal_deadline(const struct kl_store *s)
{
    if (kl_store_retry_is_waiting(&s->wal.retry))
        return s->wal.retry.at_ns;
    if (s->group.busy || !kl_base_list_is_empty(&s->queue) ||
        !kl_base_list_is_empty(&s->meta_queue))
        return INT64_MAX;
    return s->wal.seal_due_ns;
}

void kl_store_wal_turn(struct kl_store *s)
{
    struct kl_store_group *g = &s->group;
    struct kl_store_position *next = &s->wal.next;

    if (s->failure.code || !wal_is_free(s))
        return;
    if (s->wal.stalled && s->wal.stalled_at == kl_store_checkpoint_oldest(s)) {
        kl_store_checkpoint_request(s);
        return;
    }
    if (kl_base_list_is_empty(&s->queue) &&
        kl_base_list_is_empty(&s->meta_queue)) {
        if (s->now_ns >= s->wal.seal_due_ns)
            wal_seal(s);
        return;
    }
    if (wal_prepare(s)) {
        wal_untake(s); /* no memory now */
        kl_store_retry_later(s, &s->wal.retry);
        return;
    }
    if (!wal_place(s)) {
        wal_untake(s);
        if (!s->wal.stalled)
            kl_base_stat_add(&s->stats.wal_stalls, 1);
        s->wal.stalled = 1;
        s->wal.stalled_at = kl_store_checkpoint_oldest(s);
        kl_store_checkpoint_request(s);
        return;
    }
    s->wal.stalled = 0;
    wal_encode(s);
    wal_submit(s);
    s->wal.last_sequence[next->file] = next->sequence;
    next->offset += g->header.size;
    next->previous = g->header.checksum;
    next->sequence++;
}
