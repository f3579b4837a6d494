/*
 * The store as a whole: life, the turn that drives all its parts, events.
 */
#include "store/identity.h"
#include "store/quorum.h"
#include "store/snapshot.h"

#include <string.h>

enum { STORE_FILES_MIN = 4 }; /* a segment and its index, twice */

/* ---- life ------------------------------------------------------------------
 */

int kl_store_new(struct kl_store **out, const struct kl_base_alloc *alloc,
                 struct kl_os_vfs *vfs, struct kl_os_lanes *lanes,
                 const struct kl_store_config *config)
{
    struct kl_store *s = kl_base_calloc(alloc, sizeof *s);
    size_t length = strlen(config->path);
    int rc = KL_ENOMEM;

    if (!s)
        return KL_ENOMEM;
    s->alloc = *alloc;
    s->vfs = vfs;
    s->lanes = lanes;
    s->config = *config;
    if (s->config.file_max < STORE_FILES_MIN)
        s->config.file_max = STORE_FILES_MIN;
    kl_base_map_init(&s->by_id, &s->alloc);
    kl_base_list_init(&s->logs);
    kl_base_list_init(&s->queue);
    kl_base_list_init(&s->meta_queue);
    kl_base_list_init(&s->dirty);
    kl_base_list_init(&s->gone);
    kl_base_list_init(&s->flushes);
    kl_base_list_init(&s->cache);
    kl_base_list_init(&s->open_segments);
    kl_base_list_init(&s->dead_segments);
    kl_base_list_init(&s->changed);
    kl_base_list_init(&s->finished);
    kl_base_list_init(&s->found);
    kl_base_rng_seed(&s->rng, config->seed);
    s->retention_due_ns = INT64_MAX;
    s->write_due_ns = INT64_MAX;
    kl_store_wal_init(s);
    kl_store_quorum_init(s);
    kl_store_identity_init(s);
    kl_store_snapshots_init(s);
    kl_store_tidy_init(s);
    /* Names of files follow the folder's: room for them is kept. */
    if (length == 0 || length > KL_STORE_PATH_MAX - 160)
        rc = KL_EINVAL;
    else
        s->path = kl_base_strndup(&s->alloc, config->path, length);
    s->config.path = s->path;
    if (s->path)
        rc = kl_store_write_init(s);
    if (rc == 0)
        rc = kl_store_checkpoint_init(s);
    if (rc == 0)
        rc = kl_store_scrub_init(s);
    if (rc) {
        kl_store_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

static void store_free_logs(struct kl_store *s)
{
    struct kl_base_list *l;

    while ((l = kl_base_list_first(&s->logs))) {
        struct kl_store_log *log =
            KL_BASE_CONTAINER(l, struct kl_store_log, link);

        log->refs = 1; /* no job is left that could hold one */
        kl_store_log_remove(log);
    }
}

static void store_take_jobs(struct kl_store *s)
{
    struct kl_os_job *job;

    while (s->jobs > 0 && (job = s->lanes->ops->take(s->lanes))) {
        s->jobs--;
        job->done(job);
    }
}

void kl_store_free(struct kl_store *s)
{
    if (!s)
        return;
    if (s->failure.code == 0)
        s->failure.code = KL_ECLOSED; /* finished jobs start nothing new */
    while (s->jobs > 0) {
        s->lanes->ops->wait(s->lanes);
        store_take_jobs(s);
    }
    s->opened = 0; /* what is closed from here on blocks */
    /* Jobs that wait to be tried again hold logs and files. */
    kl_store_write_deinit(s);
    kl_store_checkpoint_deinit(s);
    kl_store_scrub_deinit(s);
    store_free_logs(s);
    kl_store_segment_bury(s);
    kl_store_snapshots_deinit(s);
    kl_store_tidy_deinit(s);
    kl_store_flush_deinit(s);
    kl_store_wal_deinit(s);
    kl_store_quorum_deinit(s);
    kl_store_identity_deinit(s);
    for (int i = 0; i < 2; i++)
        if (s->slots[i])
            s->vfs->ops->close(s->slots[i]);
    kl_store_space_deinit(s);
    if (s->lock)
        s->vfs->ops->close(s->lock);
    kl_base_map_deinit(&s->by_id);
    if (s->path)
        kl_base_free(&s->alloc, s->path, strlen(s->path) + 1);
    {
        struct kl_base_alloc alloc = s->alloc;

        kl_base_free(&alloc, s, sizeof *s);
    }
}

uint32_t kl_store_frame_max(const struct kl_store *s)
{
    return s->frame_max;
}

const struct kl_store_stats *kl_store_stats(const struct kl_store *s)
{
    return &s->stats;
}

/* ---- failure ----------------------------------------------------------- */

void kl_store_fail(struct kl_store *s, int code, const char *what,
                   const char *path)
{
    if (s->failure.code)
        return;
    kl_base_error_set(&s->failure, code, "%s %s: %s (system error %d)", what,
                      path, kl_store_why(code),
                      s->vfs->ops->last_errno(s->vfs));
    kl_base_stat_set(&s->stats.failed, 1);
    s->failed_event = 1;
}

enum kl_store_verdict kl_store_verdict(const struct kl_store *s)
{
    if (s->damaged)
        return KL_STORE_VERDICT_DAMAGED;
    return s->clean ? KL_STORE_VERDICT_CLEAN : KL_STORE_VERDICT_INTACT;
}

int kl_store_failure(const struct kl_store *s, struct kl_base_error *error)
{
    if (error)
        *error = s->failure;
    return s->failure.code;
}

/* ---- turn -------------------------------------------------------------- */

void kl_store_submit(struct kl_store *s, struct kl_os_job *job,
                     enum kl_os_lane_id lane)
{
    job->lane = lane;
    s->jobs++;
    s->lanes->ops->submit(s->lanes, job);
}

static void store_update_gauges(struct kl_store *s)
{
    uint64_t oldest = kl_store_checkpoint_oldest(s), used = 0;

    for (uint32_t i = 0; i < s->wal.file_count; i++)
        used += s->wal.last_sequence[i] >= oldest ? s->wal.file_size : 0;
    kl_base_stat_set(&s->stats.ring_used, used);
    kl_base_stat_set(&s->stats.disk_bytes, kl_store_space_disk(s));
    kl_base_stat_set(&s->stats.verdict, (uint64_t)kl_store_verdict(s));
    kl_base_stat_set(&s->stats.pending_bytes, s->pending_bytes);
    kl_base_stat_set(&s->stats.cache_bytes, s->cache_bytes);
}

static int store_is_quiet(const struct kl_store *s)
{
    return kl_store_wal_is_idle(s) && kl_base_list_is_empty(&s->dirty) &&
           kl_base_list_is_empty(&s->gone) && !kl_store_write_is_busy(s) &&
           kl_store_flush_is_idle(s) && !kl_store_quorum_is_busy(s) &&
           !kl_store_identity_is_busy(s);
}

static void store_advance(struct kl_store *s)
{
    store_take_jobs(s);
    kl_store_quorum_turn(s); /* first: groups wait for it */
    kl_store_identity_turn(s);
    kl_store_wal_turn(s);
    /* Before the writer takes the files of busy logs away again. */
    kl_store_flush_turn(s);
    kl_store_checkpoint_turn(s);
    kl_store_write_turn(s);
    kl_store_tidy_turn(s);
    kl_store_space_turn(s);
    kl_store_drop_turn(s);
    if (s->refused && s->pending_bytes < s->config.pending_bytes_max / 2 &&
        kl_store_space_is_ample(s)) {
        s->refused = 0;
        s->room_event = 1;
    }
    store_update_gauges(s);
}

void kl_store_turn(struct kl_store *s, int64_t now_ns, int64_t wall_ms)
{
    s->now_ns = now_ns;
    s->wall_ms = wall_ms;
    if (!s->opened)
        return;
    kl_store_retain_turn(s);
    kl_store_scrub_turn(s);
    store_advance(s);
    if (s->stopping && !s->stopped && !s->failure.code && store_is_quiet(s))
        s->stopped = (uint8_t)kl_store_checkpoint_stop(s);
}

int64_t kl_store_deadline(const struct kl_store *s)
{
    int64_t at = s->stopping ? INT64_MAX : s->retention_due_ns;

    if (!s->opened || s->failure.code)
        return INT64_MAX;
    if (kl_store_write_deadline(s) < at)
        at = kl_store_write_deadline(s);
    if (kl_store_wal_deadline(s) < at)
        at = kl_store_wal_deadline(s);
    if (kl_store_quorum_deadline(s) < at)
        at = kl_store_quorum_deadline(s);
    if (kl_store_identity_deadline(s) < at)
        at = kl_store_identity_deadline(s);
    if (kl_store_flush_deadline(s) < at)
        at = kl_store_flush_deadline(s);
    if (kl_store_checkpoint_deadline(s) < at)
        at = kl_store_checkpoint_deadline(s);
    if (kl_store_tidy_deadline(s) < at)
        at = kl_store_tidy_deadline(s);
    if (!s->stopping && kl_store_scrub_deadline(s) < at)
        at = kl_store_scrub_deadline(s);
    if (kl_store_space_deadline(s) < at)
        at = kl_store_space_deadline(s);
    return at;
}

int kl_store_is_still(const struct kl_store *s)
{
    return s->jobs == 0;
}

int kl_store_drain(struct kl_store *s)
{
    for (;;) {
        store_advance(s);
        if (s->failure.code)
            return s->failure.code;
        if (s->jobs == 0)
            return store_is_quiet(s) ? 0 : KL_ENOMEM; /* no job could begin */
        s->lanes->ops->wait(s->lanes);
    }
}

void kl_store_stop(struct kl_store *s)
{
    s->stopping = 1;
}

int kl_store_is_stopped(const struct kl_store *s)
{
    return s->stopped || s->failure.code != 0 || !s->opened;
}

/* ---- open -------------------------------------------------------------- */

/* Makes the folder where it is absent, and its name durable. */
static int store_make_folder(struct kl_store *s)
{
    const struct kl_os_vfs_ops *ops = s->vfs->ops;
    char parent[KL_STORE_PATH_MAX];
    size_t length = strlen(s->path);
    int rc = ops->mkdir(s->vfs, s->path);

    if (rc)
        return rc == KL_EEXIST ? 0 : rc;
    while (length > 0 && s->path[length - 1] != '/')
        length--;
    memcpy(parent, s->path, length);
    memcpy(parent + length, ".", 2);
    return ops->sync_dir(s->vfs, parent);
}

int kl_store_lock(struct kl_store *s, uint32_t flags,
                  struct kl_base_error *error)
{
    const struct kl_os_vfs_ops *ops = s->vfs->ops;
    char path[KL_STORE_PATH_MAX];
    int create = (flags & KL_STORE_OPEN_CREATE) != 0;
    int rc = create ? store_make_folder(s) : 0;

    if (rc)
        return kl_base_error_set(error, rc, "cannot create folder %s: %s",
                                 s->path, kl_store_why(rc));
    kl_store_path(s, "lock", path);
    rc = ops->open(s->vfs, path, KL_OS_WRITE, &s->lock);
    if (rc == KL_ENOENT && create) {
        /* A foreign folder is left as it is. */
        rc = kl_store_format_check(s, error);
        if (rc)
            return rc;
        rc = ops->open(s->vfs, path, KL_OS_WRITE | KL_OS_CREATE, &s->lock);
    }
    if (rc == KL_ENOENT)
        return kl_base_error_set(error, KL_ENOSTORE, "no store in %s", s->path);
    if (rc)
        return kl_base_error_set(error, rc, "cannot open %s: %s", path,
                                 kl_store_why(rc));
    rc = ops->lock(s->lock);
    if (rc)
        return kl_base_error_set(error, rc, "cannot lock %s: %s", path,
                                 kl_store_why(rc));
    return 0;
}

static int store_recover(struct kl_store *s, uint32_t flags,
                         struct kl_base_error *error)
{
    int rc = kl_store_space_open(s, error);

    if (rc)
        return rc;
    rc = kl_store_quorum_open(s, flags, error);
    if (rc == 0)
        rc = kl_store_recover(s, flags, error);
    if (rc == 0)
        rc = kl_store_snapshots_open(s, error);
    if (rc == KL_EDISKFULL)
        kl_store_space_lend(s, 1); /* for the next open, at least */
    if (rc)
        return rc;
    rc = kl_store_space_hold(s, error);
    if (rc == 0 && !s->quorum.absent)
        rc = kl_store_identity_upgrade(s, error);
    /* Without a reserve it is full, but there to be read. */
    return kl_store_is_passing(rc) ? 0 : rc;
}

int kl_store_open(struct kl_store *s, uint32_t flags, int64_t now_ns,
                  int64_t wall_ms, struct kl_base_error *error)
{
    int rc;

    s->now_ns = now_ns;
    s->wall_ms = wall_ms;
    rc = kl_store_lock(s, flags, error);
    if (rc == 0)
        rc = kl_store_identity_open(s, flags, error);
    if (rc == 0)
        rc = store_recover(s, flags, error);
    if (rc == 0) {
        s->opened = 1;
        s->retention_due_ns = now_ns;
        kl_store_scrub_start(s);
    }
    return rc;
}

/* ---- events ------------------------------------------------------------ */

void kl_store_emit_durable(struct kl_store_log *log)
{
    if (!log->deleted && kl_base_list_is_empty(&log->event))
        kl_base_list_push(&log->store->changed, &log->event);
}

static int store_event_log(struct kl_store *s, struct kl_store_event *out)
{
    struct kl_base_list *l = kl_base_list_first(&s->changed);

    if (!l)
        return 0;
    out->log = KL_BASE_CONTAINER(l, struct kl_store_log, event);
    if (out->log->damaged_event) {
        out->log->damaged_event = 0;
        out->type = KL_STORE_EVENT_DAMAGED;
        return 1;
    }
    if (out->log->started_event) {
        /* Several things to say of one log: the start first. */
        out->log->started_event = 0;
        out->type = KL_STORE_EVENT_STARTED;
        return 1;
    }
    kl_base_list_remove(l);
    out->type = KL_STORE_EVENT_DURABLE;
    return 1;
}

int kl_store_next_event(struct kl_store *s, struct kl_store_event *out)
{
    struct kl_base_list *l;

    memset(out, 0, sizeof *out);
    if (s->failed_event) {
        s->failed_event = 0;
        out->type = KL_STORE_EVENT_FAILED;
        return 1;
    }
    if (s->quorum.event) {
        s->quorum.event = 0;
        out->type = KL_STORE_EVENT_QUORUM;
        return 1;
    }
    if (kl_store_identity_event(s, out))
        return 1;
    if (store_event_log(s, out) || kl_store_snapshots_event(s, out))
        return 1;
    if ((l = kl_base_list_pop(&s->finished))) {
        out->type = KL_STORE_EVENT_READ;
        out->read = KL_BASE_CONTAINER(l, struct kl_store_read, link);
        return 1;
    }
    if ((l = kl_base_list_pop(&s->found))) {
        out->type = KL_STORE_EVENT_LOOKUP;
        out->lookup = KL_BASE_CONTAINER(l, struct kl_store_lookup, link);
        return 1;
    }
    if (s->room_event) {
        s->room_event = 0;
        out->type = KL_STORE_EVENT_ROOM;
        return 1;
    }
    return 0;
}
