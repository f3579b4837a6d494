/*
 * Room on the disk. The file reserve holds as much of it as what has been
 * accepted may need until it is written behind. A write that meets a full disk
 * is given the reserve, so that what was acknowledged always fits. The store is
 * full then: appends are refused before anything is written, all else goes on,
 * and once there is free space the reserve is made again and appends are
 * welcome (storage.md 6).
 *
 *   held -> released, and full -> held
 */
#include "store/checkpoint.h"
#include "store/write.h"

enum {
    SPACE_TAIL =
        2 * KL_STORE_BLOCK,         /* last blocks of a segment and its index */
    SPACE_ROLL = 5 * KL_STORE_BLOCK /* header, tails, index, names */
};

#define SPACE_RESERVE_MIN (UINT64_C(1) << 20)
#define SPACE_LOOK_NS INT64_C(1000000000)

static uint64_t space_round(uint64_t size)
{
    return (size + KL_STORE_BLOCK - 1) / KL_STORE_BLOCK * KL_STORE_BLOCK;
}

/* ---- what appends need -------------------------------------------------- */

static uint64_t space_manifest(const struct kl_store_log *log)
{
    uint64_t count = log->files ? log->files->count
                                : log->bytes / log->config.segment_bytes + 1;

    return space_round(kl_store_manifest_size((size_t)count + 1));
}

/* How large the open segment will be with all that goes there before the next
 * append, or more; all of it where that begins a segment. */
static uint64_t space_planned(const struct kl_store_log *log)
{
    const struct kl_store_log_config *c = &log->config;
    const struct kl_store_segment *active = kl_store_files_active(log);

    if (log->work->charged > 0)
        return log->work->planned;
    if (!active || log->roll_next || log->work->cut_low != INT64_MAX ||
        (c->segment_ms >= 0 &&
         log->store->wall_ms - active->info.first_ms > c->segment_ms))
        return c->segment_bytes;
    return active->next_size;
}

struct kl_store_cost kl_store_space_cost(const struct kl_store_log *log,
                                         uint32_t size)
{
    struct kl_store_cost cost = {.planned = space_planned(log)};

    /* Index entries are at least 1024 bytes apart and have 16. */
    cost.charge = size + size / 64 + (log->work->charged ? 0 : SPACE_TAIL);
    if (cost.planned + size > log->config.segment_bytes) {
        cost.charge += SPACE_ROLL + space_manifest(log);
        cost.planned = KL_STORE_BLOCK;
    }
    cost.planned += size;
    return cost;
}

/* The rest is for the metadata log and what else is never refused. */
static uint64_t space_limit(const struct kl_store_space *sp)
{
    return sp->wanted - sp->wanted / 8;
}

/* Whether the frame would be beyond the set limit. */
static int space_is_over(struct kl_store *s, uint32_t size)
{
    struct kl_store_space *sp = &s->space;
    uint64_t disk = kl_store_space_disk(s), max = s->config.bytes_max;

    if (max == 0 || sp->over || disk + size <= max)
        return sp->over;
    sp->over_at = disk;
    sp->over_by = disk + size - max;
    sp->over = 1;
    return 1;
}

int kl_store_space_admit(struct kl_store_log *log, uint32_t size,
                         const struct kl_store_cost *cost)
{
    struct kl_store *s = log->store;
    const struct kl_store_space *sp = &s->space;
    uint64_t charged = sp->charged + sp->manifests;

    if (sp->full || space_is_over(s, size)) {
        if (log->config.drop_oldest && !s->drop.hopeless)
            return KL_EAGAIN;
        kl_base_stat_add(&s->stats.refusals, 1);
        return KL_EDISKFULL;
    }
    return charged == 0 || charged + cost->charge <= space_limit(sp)
               ? 0
               : KL_EAGAIN;
}

/* Once what is on its way is written, its manifests may still be too much. */
int kl_store_space_is_clogged(const struct kl_store *s)
{
    return s->refused && s->space.manifests > space_limit(&s->space) / 2;
}

int kl_store_space_is_ample(const struct kl_store *s)
{
    return s->space.charged + s->space.manifests <= space_limit(&s->space) / 2;
}

void kl_store_space_charge(struct kl_store_entry *e,
                           const struct kl_store_cost *cost)
{
    e->charge = cost->charge;
    e->log->work->planned = cost->planned;
    e->log->work->charged += cost->charge;
    e->log->store->space.charged += cost->charge;
}

void kl_store_space_release(struct kl_store_entry *e)
{
    e->log->work->charged -= e->charge;
    e->log->store->space.charged -= e->charge;
    e->charge = 0;
}

void kl_store_space_note_manifest(struct kl_store_log *log)
{
    kl_store_space_drop_manifest(log);
    log->work->manifest_charge = space_manifest(log);
    log->store->space.manifests += log->work->manifest_charge;
}

void kl_store_space_drop_manifest(struct kl_store_log *log)
{
    log->store->space.manifests -= log->work->manifest_charge;
    if (log->work->manifest_charge)
        log->work->manifest_charge = 0;
}

/* ---- what there is ------------------------------------------------------- */

void kl_store_space_count(struct kl_store_log *log)
{
    uint64_t bytes = kl_store_log_bytes(log) + log->work->unwritten;

    if (log->removed)
        return;
    log->store->space.used += bytes - log->counted;
    log->counted = bytes;
}

uint64_t kl_store_space_disk(const struct kl_store *s)
{
    return s->wal.file_count * s->wal.file_size + kl_store_checkpoint_bytes(s) +
           s->space.size + s->space.used + s->snapshots.bytes + s->tidy.bytes;
}

uint64_t kl_store_space_missing(const struct kl_store *s)
{
    return s->space.full ? s->space.missing : s->space.over_by;
}

/* Something has gone since the limit was reached. */
static void space_check_limit(struct kl_store *s)
{
    struct kl_store_space *sp = &s->space;

    if (!sp->over || kl_store_space_disk(s) >= sp->over_at)
        return;
    sp->over = 0;
    s->room_event = 1;
}

/* ---- the reserve --------------------------------------------------------- */

uint64_t kl_store_space_reserve(uint64_t ring_bytes)
{
    return ring_bytes < SPACE_RESERVE_MIN ? SPACE_RESERVE_MIN : ring_bytes;
}

/* What the reserve may be made again for: itself, what is on its way, and some
 * more, or the store would be full again at once. */
static uint64_t space_needed(const struct kl_store_space *sp)
{
    return sp->wanted - sp->size + sp->charged + sp->manifests + sp->wanted / 4;
}

/* A part of the reserve that only an open may take: after a crash on a full
 * disk it has something to write, too. */
static uint64_t space_share(const struct kl_store_space *sp)
{
    return sp->wanted / 16;
}

/* In a lane, or while opening. */
static int space_make(struct kl_store_space *sp)
{
    struct kl_os_vfs *vfs = sp->store->vfs;
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    if (!sp->file) {
        kl_store_path(sp->store, "reserve", path);
        rc = vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &sp->file);
    }
    if (rc == 0)
        rc = vfs->ops->allocate(sp->file, 0, sp->wanted);
    if (rc == 0)
        rc = kl_store_sync(sp->file);
    else if (sp->file)
        vfs->ops->allocate(sp->file, 0, space_share(sp));
    return rc;
}

static void space_job_run(struct kl_os_job *job)
{
    struct kl_store_space *sp =
        KL_BASE_CONTAINER(job, struct kl_store_space, job);
    struct kl_os_vfs *vfs = sp->store->vfs;
    char path[KL_STORE_PATH_MAX];
    uint64_t room = 0;

    if (sp->is_release) {
        sp->code = vfs->ops->truncate(sp->file, space_share(sp));
        return;
    }
    kl_store_path(sp->store, NULL, path);
    sp->code = vfs->ops->space(vfs, path, &room);
    sp->lacks = room < sp->needed ? sp->needed - room : 0;
    if (sp->code == 0)
        sp->code = sp->lacks ? KL_EDISKFULL : space_make(sp);
    if (sp->code == KL_EDISKFULL && !sp->lacks)
        sp->lacks = KL_STORE_BLOCK; /* there is less than it says */
}

static void space_set(struct kl_store *s, uint64_t size, int full)
{
    s->space.size = size;
    s->space.full = (uint8_t)full;
    kl_base_stat_set(&s->stats.reserve_bytes, size);
}

static void space_released(struct kl_store *s)
{
    space_set(s, space_share(&s->space), 1);
    kl_store_retry_now(s, &s->wal.retry);
    kl_store_retry_now(s, &s->write->retry);
    kl_store_retry_now(s, &s->checkpoint->retry);
}

static void space_job_done(struct kl_os_job *job)
{
    struct kl_store_space *sp =
        KL_BASE_CONTAINER(job, struct kl_store_space, job);
    struct kl_store *s = sp->store;
    char path[KL_STORE_PATH_MAX];

    sp->busy = 0;
    sp->missing = sp->lacks;
    sp->look_ns = s->now_ns + SPACE_LOOK_NS;
    if (sp->code == 0 && sp->is_release) {
        space_released(s);
        if (s->drop.logs > 0)
            kl_store_space_look(s); /* how much is to be dropped */
    } else if (sp->code == 0) {
        space_set(s, sp->wanted, 0);
        s->room_event = 1;
    } else if (!kl_store_is_passing(sp->code)) {
        kl_store_path(s, "reserve", path);
        kl_store_fail(s, sp->code, "cannot write", path);
    }
}

static void space_submit(struct kl_store *s, int is_release)
{
    struct kl_store_space *sp = &s->space;

    sp->is_release = (uint8_t)is_release;
    sp->missing = sp->lacks = 0;
    sp->needed = space_needed(sp);
    sp->busy = 1;
    sp->job.run = space_job_run;
    sp->job.done = space_job_done;
    kl_store_submit(s, &sp->job, KL_OS_LANE_CLEAN);
}

void kl_store_space_exhausted(struct kl_store *s)
{
    space_set(s, s->space.size, 1);
    s->space.is_asked = 1;
}

/* Whether something waits, for space as far as anybody knows. */
static int space_is_awaited(const struct kl_store *s)
{
    return kl_store_retry_is_waiting(&s->wal.retry) ||
           kl_store_retry_is_waiting(&s->write->retry) ||
           kl_store_retry_is_waiting(&s->checkpoint->retry);
}

void kl_store_space_turn(struct kl_store *s)
{
    struct kl_store_space *sp = &s->space;

    space_check_limit(s);
    kl_base_stat_set(&s->stats.full, (uint64_t)kl_store_is_full(s));
    if (sp->busy || !sp->full || s->failure.code)
        return;
    if (sp->is_asked) {
        sp->is_asked = 0;
        sp->look_ns = s->now_ns + SPACE_LOOK_NS;
        if (sp->size > space_share(sp))
            space_submit(s, 1);
    } else if (s->now_ns >= sp->look_ns) {
        sp->look_ns = s->now_ns + SPACE_LOOK_NS;
        if (!space_is_awaited(s) && !s->stopping)
            space_submit(s, 0);
    }
}

int64_t kl_store_space_deadline(const struct kl_store *s)
{
    const struct kl_store_space *sp = &s->space;

    return sp->full && !sp->busy && !s->stopping ? sp->look_ns : INT64_MAX;
}

void kl_store_space_look(struct kl_store *s)
{
    s->space.look_ns = s->now_ns;
    s->space.missing = 0;
}

int kl_store_is_full(const struct kl_store *s)
{
    return s->space.full || s->space.over;
}

/* ---- open ------------------------------------------------------------------
 */

int kl_store_space_open(struct kl_store *s, struct kl_base_error *error)
{
    struct kl_store_space *sp = &s->space;
    char path[KL_STORE_PATH_MAX];
    int rc;

    sp->store = s;
    kl_store_path(s, "reserve", path);
    rc = s->vfs->ops->open(s->vfs, path, KL_OS_WRITE, &sp->file);
    if (rc == 0)
        rc = s->vfs->ops->size(sp->file, &sp->size);
    else if (rc == KL_ENOENT)
        rc = 0; /* an older store, or it was never made */
    return rc ? kl_base_error_set(error, rc, "cannot open %s: %s", path,
                                  kl_store_why(rc))
              : 0;
}

void kl_store_space_lend(struct kl_store *s, int always)
{
    struct kl_store_space *sp = &s->space;
    uint64_t room = 0;
    int rc = s->vfs->ops->space(s->vfs, s->path, &room);

    if (sp->size > 0 && (always || (rc == 0 && room < 2 * sp->size)) &&
        sp->file->vfs->ops->truncate(sp->file, 0) == 0)
        sp->size = 0;
}

int kl_store_space_hold(struct kl_store *s, struct kl_base_error *error)
{
    struct kl_store_space *sp = &s->space;
    int rc;

    sp->store = s;
    sp->wanted = kl_store_space_reserve(s->wal.file_count * s->wal.file_size);
    rc = space_make(sp);
    if (sp->file && s->vfs->ops->size(sp->file, &sp->size))
        sp->size = 0;
    space_set(s, sp->size, rc != 0);
    sp->look_ns = s->now_ns + SPACE_LOOK_NS;
    if (rc == 0 || kl_store_is_passing(rc))
        return rc;
    return kl_base_error_set(error, rc, "cannot write %s/reserve: %s", s->path,
                             kl_store_why(rc));
}

void kl_store_space_deinit(struct kl_store *s)
{
    if (s->space.file)
        s->vfs->ops->close(s->space.file);
    s->space.file = NULL;
}
