/*
 * The scrub: all that is stored is read and verified in the background, at a
 * set rate and again after a set time, so that rot is known while there still
 * is another copy (storage.md 8). Damage that it finds is noted as a reader's
 * would be; a rotten manifest or slot is written again.
 *
 * One log at a time, in the order of instances, one piece of a segment a job.
 */
#include "store/state.h"

#include <string.h>

enum {
    SCRUB_PIECE = 256 * 1024, /* bytes of one job, about */
    SCRUB_DAMAGES = 8,        /* found by one job at most */
    SCRUB_SLOTS_MAX = 1 << 30
};

#define SCRUB_FIRST_NS ((int64_t)60 * 1000000000) /* after open */

struct kl_store_scrub
{
    struct kl_os_job job;
    struct kl_store *store;
    /* The log that is looked at: a reference, and its segments as they were
     * when it began. */
    struct kl_store_log *log; /* NULL = none yet */
    struct kl_store_segment_info *infos;
    size_t count;
    size_t index;
    uint64_t instance; /* logs up to here are done in this pass */
    uint32_t truncation;
    uint64_t position; /* in infos[index] */
    int64_t offset;
    int64_t due_ns;
    int64_t begun_ns; /* the pass */
    int busy;
    int slots_due; /* checkpoints to be written over rotten slots */
    uint64_t slots_generation;
    /* From the lane. */
    int64_t now_ms;
    uint64_t bytes;
    int rebuilt; /* the manifest was rotten */
    int slots_bad;
    int code;
    size_t damage_count;
    struct kl_store_damage damages[SCRUB_DAMAGES];
};

int kl_store_scrub_init(struct kl_store *s)
{
    s->scrub = kl_base_calloc(&s->alloc, sizeof *s->scrub);
    if (!s->scrub)
        return KL_ENOMEM;
    s->scrub->store = s;
    s->scrub->due_ns = INT64_MAX;
    return 0;
}

static void scrub_leave(struct kl_store_scrub *c)
{
    kl_base_free(&c->store->alloc, c->infos, c->count * sizeof *c->infos);
    c->infos = NULL;
    c->count = 0;
    if (c->log)
        kl_store_log_unref(c->log);
    c->log = NULL;
}

void kl_store_scrub_deinit(struct kl_store *s)
{
    if (!s->scrub)
        return;
    scrub_leave(s->scrub);
    kl_base_free(&s->alloc, s->scrub, sizeof *s->scrub);
    s->scrub = NULL;
}

void kl_store_scrub_start(struct kl_store *s)
{
    if (s->config.scrub_bytes_per_second > 0)
        s->scrub->due_ns = s->now_ns + SCRUB_FIRST_NS;
}

/* ---- in the lane ----------------------------------------------------------
 */

static int scrub_visit(const struct kl_batch_info *info, uint64_t position,
                       void *user)
{
    struct kl_store_scrub *c = user;

    if (position - c->position >= SCRUB_PIECE)
        return KL_EEND; /* the walk stands before this frame */
    c->bytes += info->frame_size;
    return 0;
}

static int scrub_damage(const struct kl_store_damage *damage, void *user)
{
    struct kl_store_scrub *c = user;

    c->bytes += damage->next - damage->position;
    c->damages[c->damage_count++] = *damage;
    return c->damage_count == SCRUB_DAMAGES ? KL_EEND : 0;
}

static void scrub_segment_run(struct kl_os_job *job)
{
    struct kl_store_scrub *c =
        KL_BASE_CONTAINER(job, struct kl_store_scrub, job);
    struct kl_os_vfs *vfs = c->store->vfs;
    const struct kl_store_segment_info *info = &c->infos[c->index];
    struct kl_store_scan scan = {.alloc = &c->store->alloc,
                                 .seed = c->log->seed,
                                 .position = c->position,
                                 .limit = info->size,
                                 .offset = c->offset,
                                 .verify_body = 1,
                                 .damaged = scrub_damage,
                                 .end = info->end};
    char path[KL_STORE_PATH_MAX];

    kl_store_path_segment(c->log, info->base, "seg", path);
    c->code = vfs->ops->open(vfs, path, KL_OS_READ, &scan.file);
    if (c->code == KL_ENOENT) {
        c->damages[c->damage_count++] = (struct kl_store_damage){
            info->base, info->end, KL_STORE_BLOCK, info->size};
        c->offset = info->end;
    }
    if (c->code)
        return;
    c->code = kl_store_scan_run(&scan, scrub_visit, c);
    vfs->ops->close(scan.file);
    c->position = scan.position;
    c->offset = scan.offset;
}

static void scrub_manifest_run(struct kl_os_job *job)
{
    struct kl_store_scrub *c =
        KL_BASE_CONTAINER(job, struct kl_store_scrub, job);
    struct kl_store_manifest m;

    c->code = kl_store_load_manifest(c->log, c->now_ms, &m, &c->rebuilt);
    if (c->code)
        return;
    c->infos = m.segments;
    c->count = m.count;
}

static void scrub_slots_run(struct kl_os_job *job)
{
    static const char *const names[] = {"checkpoint.a", "checkpoint.b"};
    struct kl_store_scrub *c =
        KL_BASE_CONTAINER(job, struct kl_store_scrub, job);
    struct kl_base_cursor cursor;
    struct kl_store_slot slot;
    struct kl_base_buf buf;
    char path[KL_STORE_PATH_MAX];

    kl_base_buf_init(&buf, &c->store->alloc);
    for (int i = 0; i < 2; i++) {
        int rc;

        kl_store_path(c->store, names[i], path);
        rc = kl_store_file_read(c->store->vfs, path, SCRUB_SLOTS_MAX, &buf);
        if (rc == 0)
            rc = kl_store_slot_decode(buf.data, buf.size, &cursor, &slot);
        /* What is behind it is only space for a larger one. */
        c->bytes += rc == 0 ? KL_STORE_ENVELOPE + cursor.size : buf.size;
        c->slots_bad |= rc == KL_ECORRUPT || rc == KL_ENOENT;
    }
    kl_base_buf_deinit(&buf);
}

/* ---- owner ----------------------------------------------------------------
 */

/* The next piece when the rate allows it. */
static void scrub_pace(struct kl_store_scrub *c)
{
    uint64_t rate = c->store->config.scrub_bytes_per_second;

    c->due_ns =
        c->store->now_ns + (int64_t)((double)c->bytes / (double)rate * 1e9);
}

static int scrub_is_stale(const struct kl_store_scrub *c)
{
    const struct kl_store_log *log = c->log;

    return log->deleted || log->removed || c->truncation != log->truncation;
}

static void scrub_note(struct kl_store_scrub *c)
{
    /* The same as for a reader: a failure counts where nothing was cut. */
    for (size_t i = 0; i < c->damage_count && !scrub_is_stale(c); i++)
        kl_store_damage_note(c->log, c->damages[i].from, c->damages[i].to);
}

static void scrub_done(struct kl_os_job *job)
{
    struct kl_store_scrub *c =
        KL_BASE_CONTAINER(job, struct kl_store_scrub, job);
    struct kl_store *s = c->store;

    c->busy = 0;
    kl_base_stat_add(&s->stats.scrub_bytes, c->bytes);
    if (c->slots_bad) {
        c->slots_due = 2;
        c->slots_generation = kl_store_checkpoint_newest(s);
    }
    if (c->log) {
        scrub_note(c);
        /* Loading it has the manifest written again. */
        if (c->rebuilt && !scrub_is_stale(c))
            (void)kl_store_load(c->log);
        if (scrub_is_stale(c) || (c->code && c->code != KL_ENOENT))
            scrub_leave(c);
    }
    scrub_pace(c);
    if (s->failure.code || s->stopping)
        scrub_leave(c);
}

static void scrub_submit(struct kl_store_scrub *c,
                         void (*run)(struct kl_os_job *job))
{
    c->busy = 1;
    c->bytes = 0;
    c->damage_count = 0;
    c->code = c->rebuilt = c->slots_bad = 0;
    c->now_ms = c->store->wall_ms;
    c->job.run = run;
    c->job.done = scrub_done;
    kl_store_submit(c->store, &c->job, KL_OS_LANE_READ);
}

/* The log with the lowest instance above the last one. */
static struct kl_store_log *scrub_next_log(const struct kl_store_scrub *c)
{
    struct kl_store_log *best = NULL, *log;

    for (log = kl_store_next(c->store, NULL); log;
         log = kl_store_next(c->store, log))
        if (log->instance > c->instance &&
            (!best || log->instance < best->instance))
            best = log;
    return best;
}

/* The segments of a log that is in use, as far as they are written. */
static int scrub_copy(struct kl_store_scrub *c)
{
    const struct kl_store_files *f = c->log->files;

    if (f->count == 0)
        return 0;
    c->infos = kl_base_malloc(&c->store->alloc, f->count * sizeof *c->infos);
    if (!c->infos)
        return KL_ENOMEM;
    for (size_t i = 0; i < f->count; i++)
        c->infos[i] = f->items[i]->info;
    c->count = f->count;
    return 0;
}

static void scrub_end_pass(struct kl_store_scrub *c)
{
    struct kl_store *s = c->store;
    int64_t again = c->begun_ns + s->config.scrub_interval_ms * 1000000;

    kl_base_stat_add(&s->stats.scrub_passes, 1);
    c->instance = 0;
    c->begun_ns = 0;
    c->due_ns = again > s->now_ns ? again : s->now_ns;
}

static void scrub_begin_log(struct kl_store_scrub *c)
{
    struct kl_store_log *log = scrub_next_log(c);

    if (!log) {
        scrub_end_pass(c);
        return;
    }
    c->log = log;
    log->refs++;
    c->instance = log->instance;
    c->truncation = log->truncation;
    c->index = 0;
    c->position = 0;
    if (!log->files && log->active.base >= 0)
        scrub_submit(c, scrub_manifest_run);
    else if (log->files && scrub_copy(c))
        scrub_leave(c); /* no memory now: the next pass has it */
}

static void scrub_begin_segment(struct kl_store_scrub *c)
{
    struct kl_store_segment_info *info = &c->infos[c->index];

    /* The end of the last segment of a cold log is in the slot only. */
    if (info->base == c->log->active.base && !c->log->files)
        *info = c->log->active;
    c->position = KL_STORE_BLOCK;
    c->offset = info->base;
}

static void scrub_step(struct kl_store_scrub *c)
{
    if (!c->log) {
        scrub_begin_log(c);
        return;
    }
    for (; c->index < c->count; c->index++, c->position = 0) {
        if (c->position == 0)
            scrub_begin_segment(c);
        /* Unless it is done, empty, or gone from the log meanwhile. */
        if (c->offset < c->infos[c->index].end &&
            c->infos[c->index].end > c->log->start) {
            scrub_submit(c, scrub_segment_run);
            return;
        }
    }
    scrub_leave(c);
}

/* Rotten slots are written over, one after the other. */
static void scrub_slots(struct kl_store_scrub *c)
{
    struct kl_store *s = c->store;

    if (c->slots_due == 0)
        return;
    if (kl_store_checkpoint_newest(s) != c->slots_generation) {
        c->slots_generation = kl_store_checkpoint_newest(s);
        c->slots_due--;
    }
    if (c->slots_due > 0 && kl_store_checkpoint_is_idle(s))
        kl_store_checkpoint_request(s);
}

void kl_store_scrub_turn(struct kl_store *s)
{
    struct kl_store_scrub *c = s->scrub;

    if (c->busy || s->failure.code)
        return;
    if (s->stopping) {
        scrub_leave(c);
        return;
    }
    scrub_slots(c);
    if (s->now_ns < c->due_ns)
        return;
    if (c->begun_ns == 0) {
        c->begun_ns = s->now_ns;
        scrub_submit(c, scrub_slots_run);
        return;
    }
    while (!c->busy && c->begun_ns != 0)
        scrub_step(c);
}

int64_t kl_store_scrub_deadline(const struct kl_store *s)
{
    return s->scrub->busy ? INT64_MAX : s->scrub->due_ns;
}
