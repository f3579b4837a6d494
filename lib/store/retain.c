/*
 * Retention: whole sealed segments go by bytes or by age, oldest first. Age is
 * the broker's wall time of the last append, never a producer's timestamp
 * (storage.md 9, F55, F57).
 */
#include "store/state.h"

enum {
    RETAIN_JUMP_MS = 60000,
    RETAIN_LOADS = 16,        /* manifests asked for at a time */
    RETAIN_SOON_NS = 20000000 /* a manifest is being read */
};

static int retain_is_expired(const struct kl_store_log *log,
                             const struct kl_store_segment *seg, uint64_t size)
{
    const struct kl_store_log_config *c = &log->config;
    uint64_t bytes = seg->info.size - KL_STORE_BLOCK;

    if (c->retention_bytes >= 0 && size - bytes >= (uint64_t)c->retention_bytes)
        return 1;
    return c->retention_ms >= 0 && seg->info.last_ms > 0 &&
           log->store->wall_ms - seg->info.last_ms > c->retention_ms;
}

/* Where the log should start; at most one segment further while the wall clock
 * is not trusted. */
static int64_t retain_start(const struct kl_store_log *log)
{
    const struct kl_store_files *f = log->files;
    uint64_t size = kl_store_log_bytes(log);
    int64_t start = log->start;

    for (size_t i = 0; i + 1 < f->count; i++) {
        const struct kl_store_segment *seg = f->items[i];

        if (!seg->sealed || seg->info.end > log->durable_leo ||
            seg->info.size != seg->next_size ||
            !retain_is_expired(log, seg, size))
            break;
        size -= seg->info.size - KL_STORE_BLOCK;
        if (seg->info.end > start) {
            start = seg->info.end;
            if (log->store->retention_careful)
                break;
        }
    }
    return start;
}

int kl_store_retain_move(struct kl_store_log *log, int64_t start)
{
    int rc = kl_store_set_start(log, start);

    if (rc)
        return rc;
    log->started_event = 1;
    kl_store_emit_durable(log);
    return 0;
}

static int retain_log(struct kl_store_log *log)
{
    int64_t start;
    int rc;

    if ((log->config.retention_ms < 0 && log->config.retention_bytes < 0) ||
        log->bytes == 0)
        return 0;
    rc = kl_store_load(log);
    if (rc)
        return rc;
    start = retain_start(log);
    if (start > log->start)
        (void)kl_store_retain_move(log, start);
    return 0;
}

/* A pass right after a jump of the wall clock deletes nothing by itself; the
 * next ones go on carefully until one agrees with its predecessor. */
static int retain_clock_jumped(struct kl_store *s)
{
    int64_t expected =
        s->retention_seen_ms + (s->now_ns - s->retention_seen_ns) / 1000000;
    int64_t off = s->wall_ms - expected;
    int first = s->retention_seen_ns == 0;

    s->retention_seen_ns = s->now_ns;
    s->retention_seen_ms = s->wall_ms;
    return !first && (off > RETAIN_JUMP_MS || off < -RETAIN_JUMP_MS);
}

void kl_store_retain_turn(struct kl_store *s)
{
    struct kl_store_log *log;
    int waiting = 0, moved = 0;

    if (s->now_ns < s->retention_due_ns || s->stopping || s->failure.code)
        return;
    s->retention_due_ns = s->now_ns + s->config.retention_check_ms * 1000000;
    if (retain_clock_jumped(s)) {
        s->retention_careful = 1;
        return;
    }
    for (log = kl_store_next(s, NULL); log; log = kl_store_next(s, log)) {
        int64_t before = log->start;

        waiting += retain_log(log) == KL_EAGAIN;
        moved |= log->start != before;
        if (waiting == RETAIN_LOADS)
            break; /* the rest when these manifests are read */
    }
    if (waiting)
        s->retention_due_ns = s->now_ns + RETAIN_SOON_NS;
    else if (!moved)
        s->retention_careful = 0;
}

int kl_store_retain_drop(struct kl_store_log *log)
{
    struct kl_store *s = log->store;
    uint64_t generation = kl_store_checkpoint_generation(s);
    char path[KL_STORE_PATH_MAX];
    int rc = kl_store_load(log);

    if (rc)
        return rc;
    while (log->files->count > 1) {
        struct kl_store_segment *seg = log->files->items[0];

        if (!seg->sealed || seg->info.end > log->durable_start ||
            seg->info.size != seg->next_size)
            break;
        kl_store_path_segment(log, seg->info.base, "seg", path);
        kl_store_tidy_unlink(s, path, seg->info.size - KL_STORE_BLOCK,
                             generation);
        kl_store_path_segment(log, seg->info.base, "idx", path);
        kl_store_tidy_unlink(s, path, 0, generation);
        log->bytes -= seg->info.size - KL_STORE_BLOCK;
        kl_store_files_drop(log, 0);
        kl_base_stat_add(&s->stats.segments_deleted, 1);
        log->manifest_dirty = 1;
        log->folder_dirty = 1;
    }
    /* The epoch of the record before the start stays known. */
    kl_batch_epochs_trim(&log->epochs, log->durable_start - 1);
    kl_batch_epochs_trim(&log->work->wal_epochs, log->durable_start - 1);
    kl_store_drop_done(log);
    kl_store_space_count(log);
    return 0;
}
