/*
 * Open: cut and replay (storage.md 7). The newest good slot is the state at a
 * position of the WAL; what follows there is scanned into a plan per log, then
 * carried out, then both slots are written at a new position.
 */
#include "store/recover.h"

#include "base/hash.h"

#include <string.h>

enum { RECOVER_SLOT_MAX = 1 << 30 };

/* ---- slots ------------------------------------------------------------------
 */

int kl_store_recover_log(struct kl_store *s, struct kl_base_cursor *c)
{
    struct kl_store_slot_log record;
    struct kl_batch_epoch epoch;
    struct kl_store_log *log;
    int rc = kl_store_slot_next(c, &record);

    if (rc)
        return rc;
    if (kl_store_find(s, &record.id))
        return KL_ECORRUPT;
    rc = kl_store_log_new(s, &record.id, (enum kl_store_flush)record.flush,
                          &log);
    if (rc)
        return rc;
    log->exists = 1;
    log->suspect = (record.flags & KL_STORE_SLOT_DAMAGED) != 0;
    log->instance = record.instance;
    log->truncation = log->durable_truncation = record.truncation;
    log->applied_truncation = record.truncation;
    log->start = log->durable_start = record.start;
    log->leo = log->durable_leo = record.leo;
    log->bytes = record.bytes;
    log->active = record.active;
    if (log->interval) {
        log->interval->synced_leo = record.leo;
        log->interval->synced_active = record.active;
    }
    rc = kl_batch_epochs_reserve(&log->epochs, &s->alloc, record.epoch_count);
    for (uint32_t i = 0; i < record.epoch_count && rc == 0; i++) {
        rc = kl_store_slot_epoch(c, &epoch);
        if (rc == 0)
            rc = kl_batch_epochs_append(&log->epochs, &s->alloc, epoch.epoch,
                                        epoch.start);
    }
    return rc == KL_EINVAL ? KL_ECORRUPT : rc;
}

static int recover_read_slot(struct kl_store *s, int index,
                             struct kl_base_buf *buf,
                             struct kl_base_cursor *cursor,
                             struct kl_store_slot *out)
{
    static const char *const names[] = {"checkpoint.a", "checkpoint.b"};
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, names[index], path);
    rc = kl_store_file_read(s->vfs, path, RECOVER_SLOT_MAX, buf);
    if (rc == 0)
        rc = kl_store_slot_decode(buf->data, buf->size, cursor, out);
    if (rc == 0)
        rc = s->vfs->ops->open(s->vfs, path, KL_OS_WRITE, &s->slots[index]);
    else if (s->vfs->ops->open(s->vfs, path, KL_OS_WRITE | KL_OS_CREATE,
                               &s->slots[index]))
        rc = KL_EIO; /* a bad slot is written over, an absent one made */
    return rc;
}

/* Reads both slots and takes the logs from the newer good one. */
static int recover_slots(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    struct kl_base_buf bufs[2];
    struct kl_base_cursor cursors[2];
    struct kl_store_slot slots[2];
    int codes[2], newest = -1, rc = 0;

    for (int i = 0; i < 2; i++) {
        kl_base_buf_init(&bufs[i], &s->alloc);
        codes[i] = recover_read_slot(s, i, &bufs[i], &cursors[i], &slots[i]);
        /* A format from the future, what may pass, or a file that could not be
         * written later, is not a bad slot. */
        if (codes[i] == KL_EFORMAT || kl_store_is_passing(codes[i]) ||
            (!s->slots[i] && rc == 0))
            rc = codes[i];
        if (codes[i] == 0 &&
            (newest < 0 || slots[i].generation > slots[newest].generation))
            newest = i;
    }
    if (rc) {
        kl_base_error_set(r->error, rc, "cannot read the checkpoints in %s: %s",
                          s->path, kl_store_why(rc));
    } else if (newest < 0) {
        rc = codes[0] == KL_ENOENT ? KL_ECORRUPT : codes[0];
        kl_base_error_set(r->error, rc, "no valid checkpoint in %s: %s",
                          s->path, kl_store_why(rc));
    } else {
        r->slot = slots[newest];
        r->newest = newest;
        for (uint32_t i = 0; i < r->slot.log_count && rc == 0; i++)
            rc = kl_store_recover_log(s, &cursors[newest]);
        if (rc)
            kl_base_error_set(r->error, rc, "bad checkpoint in %s: %s", s->path,
                              kl_store_why(rc));
    }
    kl_base_buf_deinit(&bufs[0]);
    kl_base_buf_deinit(&bufs[1]);
    return rc;
}

static int recover_open_wal(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    char path[KL_STORE_PATH_MAX];
    uint64_t size, limit;
    int rc;

    if (r->slot.file_count > KL_STORE_RING_FILES_MAX)
        return kl_base_error_set(
            r->error, KL_EFORMAT, "the WAL in %s has %u files, at most %d",
            s->path, (unsigned)r->slot.file_count, KL_STORE_RING_FILES_MAX);
    s->wal.file_count = r->slot.file_count;
    s->wal.file_size = r->slot.file_size;
    s->wal.next = s->wal.durable = r->slot.position;
    r->ring.files = s->wal.files;
    r->ring.alloc = &s->alloc;
    r->ring.file_count = s->wal.file_count;
    r->ring.file_size = s->wal.file_size;
    r->ring.directory = s->directory;
    for (uint32_t i = 0; i < s->wal.file_count; i++) {
        kl_store_path_wal(s, i, path);
        rc = s->vfs->ops->open(s->vfs, path, KL_OS_WRITE, &s->wal.files[i]);
        if (rc == 0)
            rc = s->vfs->ops->size(s->wal.files[i], &size);
        if (rc == 0 && size != s->wal.file_size)
            rc = KL_ECORRUPT;
        if (rc)
            return kl_base_error_set(r->error, rc, "WAL file %s: %s", path,
                                     kl_store_why(rc));
    }
    limit = s->wal.file_size < KL_STORE_GROUP_MAX ? s->wal.file_size
                                                  : KL_STORE_GROUP_MAX;
    s->frame_max =
        (uint32_t)(limit - KL_STORE_GROUP_HEADER - KL_STORE_ENTRY_HEADER);
    kl_base_stat_set(&s->stats.ring_bytes,
                     s->wal.file_count * s->wal.file_size);
    return 0;
}

/* ---- leftovers --------------------------------------------------------- */

/* True where the folder is the one of a log that exists. */
static int recover_is_live(struct kl_store *s, const char *name)
{
    struct kl_store_id id;
    struct kl_store_log *log;
    uint64_t instance;

    if (!kl_store_path_parse(name, &id, &instance))
        return 0;
    log = kl_store_find(s, &id);
    return log && log->instance == instance;
}

static int recover_leftover(const char *name, void *user)
{
    struct kl_store_recovery *r = user;
    struct kl_store *s = r->store;
    char path[KL_STORE_PATH_MAX];
    size_t length;

    if (recover_is_live(s, name) || strlen(name) > 100)
        return 0;
    kl_store_path(s, "logs/", path);
    length = strlen(path);
    memcpy(path + length, name, strlen(name) + 1);
    /* A lost group may have created the log that this belongs to. */
    if (r->lost_groups > 0) {
        char to[KL_STORE_PATH_MAX];

        kl_store_path(s, "quarantine/", to);
        kl_store_path_text(to, name);
        s->vfs->ops->rename(s->vfs, path, to);
        return 0;
    }
    /* What cannot be removed stays: it disturbs nothing. */
    kl_store_tidy_remove_folder(s->vfs, path);
    return 0;
}

/* ---- carrying out ------------------------------------------------------ */

/* What a killed process has left can be seen, but a power cut may still take
 * it: the store's own names, the slot, the last group. Before anything is done
 * on their word, and the other slot written over, they are made durable. */
static int recover_fasten(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    char path[KL_STORE_PATH_MAX];
    int rc = kl_store_sync_folder(s->vfs, s->path);

    kl_store_path(s, NULL, path);
    if (rc == 0)
        rc = kl_store_sync(s->slots[r->newest]);
    if (rc == 0 && r->groups > 0) {
        kl_store_path_wal(s, s->wal.next.file, path);
        rc = kl_store_sync(s->wal.files[s->wal.next.file]);
    }
    return rc ? kl_base_error_set(r->error, rc, "cannot sync %s: %s", path,
                                  kl_store_why(rc))
              : 0;
}

/* Not where only the start of the log or its epoch has moved. */
static int recover_is_replayed(const struct kl_store_replay *plan)
{
    return plan->touched && plan->log->flush == KL_STORE_FLUSH_COMMIT;
}

/* Syncs what replay has written so far, so that handles can be closed: with one
 * call, or each file. */
static int recover_sync(struct kl_store *s)
{
    int all = s->open_count > KL_STORE_SYNC_MANY
                  ? kl_store_sync_all(s->slots[0])
                  : KL_EUNSUPPORTED;

    if (all && all != KL_EUNSUPPORTED)
        return all;
    for (struct kl_base_list *l = s->logs.next; l != &s->logs; l = l->next) {
        struct kl_store_log *log =
            KL_BASE_CONTAINER(l, struct kl_store_log, link);

        for (size_t i = 0; log->files && i < log->files->count; i++) {
            struct kl_store_segment *seg = log->files->items[i];
            int rc;

            if (seg->synced_size >= seg->info.size || !seg->writer)
                continue;
            rc = all ? s->vfs->ops->sync(seg->writer) : 0;
            if (rc)
                return rc;
            seg->synced_size = seg->info.size;
        }
    }
    kl_store_segment_close_idle(s);
    return 0;
}

/* Carries out what the plans from first up to end have begun. */
static int recover_written(struct kl_store_recovery *r,
                           struct kl_base_list *first, struct kl_base_list *end)
{
    struct kl_store *s = r->store;
    int rc = kl_store_drain(s);

    for (; first != end && rc == 0; first = first->next) {
        struct kl_store_replay *plan =
            KL_BASE_CONTAINER(first, struct kl_store_replay, link);

        if (recover_is_replayed(plan))
            rc = kl_store_replay_end(plan, r->error);
    }
    if (rc == 0 && s->open_count > s->config.file_max / 2)
        rc = recover_sync(s);
    return rc;
}

/* Many logs are written at a time, but no more than there are handles for: four
 * each where a segment is begun. */
static int recover_replay(struct kl_store_recovery *r)
{
    struct kl_base_list *first = r->plans.next, *l;
    uint32_t begun = 0;
    int rc = 0;

    for (l = r->plans.next; l != &r->plans && rc == 0; l = l->next) {
        struct kl_store_replay *plan =
            KL_BASE_CONTAINER(l, struct kl_store_replay, link);

        if (!recover_is_replayed(plan))
            continue;
        rc = kl_store_replay_begin(plan, r->error);
        if (rc || ++begun < r->store->config.file_max / 8)
            continue;
        rc = recover_written(r, first, l->next);
        first = l->next;
        begun = 0;
    }
    return rc ? rc : recover_written(r, first, &r->plans);
}

/* Where there are many interval logs, one call makes durable all that they
 * have. is_synced_out: it did. */
static int recover_sync_intervals(struct kl_store *s, int *is_synced_out)
{
    struct kl_store_log *log = NULL;
    int count = 0, rc = KL_EUNSUPPORTED;

    while ((log = kl_store_next(s, log)))
        count += log->flush == KL_STORE_FLUSH_INTERVAL;
    if (count > KL_STORE_SYNC_MANY)
        rc = kl_store_sync_all(s->slots[0]);
    *is_synced_out = rc == 0;
    return rc == KL_EUNSUPPORTED ? 0 : rc;
}

static int recover_intervals(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    struct kl_store_log *log = NULL;
    int is_synced, rc;

    if ((r->slot.flags & KL_STORE_SLOT_CLEAN) && r->groups == 0)
        return 0;
    rc = recover_sync_intervals(s, &is_synced);
    while (rc == 0 && (log = kl_store_next(s, log)))
        if (log->flush == KL_STORE_FLUSH_INTERVAL)
            rc = kl_store_interval_recover(log, log->user, is_synced, r->error);
    return rc;
}

static void recover_free(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    struct kl_base_list *l;
    struct kl_store_log *log;

    while ((l = kl_base_list_pop(&r->plans))) {
        struct kl_store_replay *plan =
            KL_BASE_CONTAINER(l, struct kl_store_replay, link);

        kl_store_recover_plan_free(s, plan);
    }
    for (log = kl_store_next(s, NULL); log; log = kl_store_next(s, log))
        log->user = NULL;
    kl_base_buf_deinit(&r->ring.group);
}

/* What could not be read makes its mark on what could. */
static void recover_judge(struct kl_store_recovery *r, uint32_t flags)
{
    struct kl_store *s = r->store;
    struct kl_base_list *l;

    s->clean = (r->slot.flags & KL_STORE_SLOT_CLEAN) && r->groups == 0;
    kl_base_stat_add(&s->stats.lost_groups, r->lost_groups);
    s->damaged |= r->lost_groups > 0;
    for (l = s->logs.next; l != &s->logs; l = l->next) {
        struct kl_store_log *log =
            KL_BASE_CONTAINER(l, struct kl_store_log, link);

        if (flags & KL_STORE_OPEN_ACCEPT_LOSS)
            log->suspect = 0;
        s->damaged |= log->suspect;
    }
}

static int recover_settle(struct kl_store_log *log)
{
    kl_store_space_count(log);
    return kl_store_log_settle(log);
}

int kl_store_recover(struct kl_store *s, uint32_t flags,
                     struct kl_base_error *error)
{
    struct kl_store_recovery r = {.store = s, .error = error};
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_base_list_init(&r.plans);
    kl_base_buf_init(&r.ring.group, &s->alloc);
    kl_base_error_clear(error);
    rc = recover_slots(&r);
    if (rc == 0)
        rc = recover_open_wal(&r);
    if (rc == 0)
        rc = kl_store_recover_scan(&r);
    if (rc == 0)
        rc = recover_fasten(&r);
    if (rc == 0) {
        recover_judge(&r, flags);
        if (!s->clean)
            kl_store_space_lend(s, 0);
    }
    if (rc == 0)
        rc = recover_replay(&r);
    if (rc == 0)
        rc = recover_intervals(&r);
    for (struct kl_base_list *l = s->logs.next; l != &s->logs && rc == 0;
         l = l->next)
        rc = recover_settle(KL_BASE_CONTAINER(l, struct kl_store_log, link));
    if (rc == 0) {
        kl_store_path(s, "logs", path);
        rc = s->vfs->ops->list(s->vfs, path, recover_leftover, &r);
    }
    if (rc == 0) {
        /* Both slots: nothing is appended behind a recovered tail. */
        kl_store_wal_skip(s);
        kl_store_checkpoint_restore(s, r.slot.generation, r.newest);
        rc = kl_store_checkpoint_now(s);
        if (rc == 0)
            rc = kl_store_checkpoint_now(s);
    }
    recover_free(&r);
    if (rc && error->code == 0) {
        if (s->failure.code)
            *error = s->failure;
        else
            kl_base_error_set(error, rc, "cannot recover %s: %s", s->path,
                              kl_store_why(rc));
    }
    return rc;
}
