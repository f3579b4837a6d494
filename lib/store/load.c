/*
 * Opening the files of a cold log: its manifest says which segments it has,
 * the checkpoint slot what the active one holds. Done at first use, so that a
 * store with many logs opens without reading many files (storage.md 7.2).
 */
#include "store/state.h"

#include <string.h>

enum { LOAD_MANIFEST_MAX = 64 << 20 };

struct load_job
{
    struct kl_os_job job;
    struct kl_store_log *log; /* a reference */
    struct kl_store_manifest manifest;
    int64_t now_ms;
    uint32_t index_blocks; /* of the active segment */
    int is_lost;           /* that is gone, or too short to go on with */
    int rebuilt;
    int code;
};

/* ---- in the lane ------------------------------------------------------------
 */

int kl_store_load_manifest(struct kl_store_log *log, int64_t now_ms,
                           struct kl_store_manifest *out, int *rebuilt_out)
{
    struct kl_store *s = log->store;
    struct kl_base_buf buf;
    char path[KL_STORE_PATH_MAX];
    int rc;

    *rebuilt_out = 0;
    out->segments = NULL;
    out->count = 0;
    kl_base_buf_init(&buf, &s->alloc);
    kl_store_path_in_log(log, "manifest", path);
    rc = kl_store_file_read(s->vfs, path, LOAD_MANIFEST_MAX, &buf);
    if (rc == 0)
        rc = kl_store_manifest_decode(buf.data, buf.size, &s->alloc, out);
    if (rc == 0 && (out->instance != log->instance ||
                    memcmp(&out->id, &log->id, sizeof out->id) != 0)) {
        kl_base_free(&s->alloc, out->segments,
                     out->count * sizeof *out->segments);
        out->segments = NULL;
        out->count = 0;
        rc = KL_ECORRUPT;
    }
    kl_base_buf_deinit(&buf);
    if (rc != KL_ECORRUPT && (rc != KL_ENOENT || log->active.base < 0))
        return rc;
    *rebuilt_out = 1;
    return kl_store_rebuild(log, now_ms, out);
}

struct load_leftovers
{
    const struct kl_store_log *log;
    const struct kl_store_manifest *manifest;
};

static int load_is_listed(const struct kl_store_manifest *m, const char *name)
{
    int64_t base = 0;
    size_t i;

    if (strcmp(name, "manifest") == 0)
        return 1;
    for (i = 0; name[i] >= '0' && name[i] <= '9' && i < 20; i++)
        base = base * 10 + (name[i] - '0');
    if (i != 20)
        return 0;
    for (uint32_t k = 0; k < m->count; k++)
        if (m->segments[k].base == base)
            return 1;
    return 0;
}

static int load_leftover(const char *name, void *user)
{
    struct load_leftovers *l = user;
    struct kl_os_vfs *vfs = l->log->store->vfs;
    char path[KL_STORE_PATH_MAX];

    if (load_is_listed(l->manifest, name))
        return 0;
    kl_store_path_in_log(l->log, name, path);
    vfs->ops->unlink(vfs, path); /* the next open finds it again */
    return 0;
}

void kl_store_load_leftovers(const struct kl_store_log *log,
                             const struct kl_store_manifest *m)
{
    struct load_leftovers leftovers = {log, m};
    struct kl_os_vfs *vfs = log->store->vfs;
    char folder[KL_STORE_PATH_MAX];

    kl_store_path_log(log, folder);
    vfs->ops->list(vfs, folder, load_leftover, &leftovers);
}

static void load_index(struct load_job *load)
{
    struct kl_store_log *log = load->log;
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_os_file *file;
    char path[KL_STORE_PATH_MAX];
    uint64_t size = 0;

    load->index_blocks = 0;
    kl_store_path_segment(log, log->active.base, "idx", path);
    if (vfs->ops->open(vfs, path, KL_OS_READ, &file))
        return; /* no index: look-ups walk from the start */
    if (vfs->ops->size(file, &size) == 0)
        load->index_blocks =
            kl_store_index_usable(file, (uint32_t)(size / KL_STORE_BLOCK),
                                  log->active.base, log->active.size);
    vfs->ops->close(file);
}

/* Nothing is appended to a segment that does not reach up to where it should
 * end: what comes next goes to another one, as at open (replay.c). */
static int load_active(struct load_job *load)
{
    struct kl_store_log *log = load->log;
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_os_file *file;
    char path[KL_STORE_PATH_MAX];
    uint64_t size = 0;
    int rc;

    kl_store_path_segment(log, log->active.base, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &file);
    if (rc == 0) {
        rc = vfs->ops->size(file, &size);
        vfs->ops->close(file);
    }
    load->is_lost = rc == KL_ENOENT || (rc == 0 && size < log->active.size);
    return rc == KL_ENOENT ? 0 : rc;
}

/* The last segment is the one that the slot knows. A manifest of another time
 * knows others: nothing is deleted on its word. */
static int load_fits(const struct load_job *load)
{
    const struct kl_store_manifest *m = &load->manifest;

    return m->count > 0 &&
           m->segments[m->count - 1].base == load->log->active.base;
}

static int load_rebuild(struct load_job *load)
{
    struct kl_store_manifest *m = &load->manifest;

    kl_base_free(&load->log->store->alloc, m->segments,
                 m->count * sizeof *m->segments);
    m->segments = NULL;
    m->count = 0;
    load->rebuilt = 1;
    return kl_store_rebuild(load->log, load->now_ms, m);
}

static void load_job_run(struct kl_os_job *job)
{
    struct load_job *load = KL_BASE_CONTAINER(job, struct load_job, job);

    load->code = kl_store_load_manifest(load->log, load->now_ms,
                                        &load->manifest, &load->rebuilt);
    if (load->code == 0 && !load->rebuilt && !load_fits(load))
        load->code = load_rebuild(load);
    if (load->code)
        return;
    if (!load->rebuilt)
        kl_store_load_leftovers(load->log, &load->manifest);
    load_index(load);
    load->code = load_active(load);
}

/* ---- owner ------------------------------------------------------------- */

static int load_install(struct load_job *load)
{
    struct kl_store_log *log = load->log;
    struct kl_store_manifest *m = &load->manifest;
    struct kl_store_segment_info info;
    struct kl_store_segment *seg;
    int rc = kl_store_files_new(log);

    log->bytes = 0; /* the slot may be older than the manifest */
    for (uint32_t i = 0; i < m->count && rc == 0; i++) {
        int is_active = m->segments[i].base == log->active.base;

        info = is_active ? log->active : m->segments[i];
        /* Two cannot have one base, and nothing was in it. */
        if (is_active && load->is_lost && info.end == info.base)
            continue;
        rc = kl_store_files_add(log, &info, &seg);
        if (rc)
            break;
        seg->synced_size = info.size;
        seg->sealed = !is_active;
        /* A truncated interval log had sealed its last segment: it goes on in
         * another one. */
        if (is_active && m->segments[i].end >= 0 &&
            log->flush == KL_STORE_FLUSH_INTERVAL) {
            seg->sealed = 1;
        }
        if (seg->sealed)
            log->bytes += info.size - KL_STORE_BLOCK;
        seg->index_blocks = is_active ? load->index_blocks : UINT32_MAX;
        seg->next_index_blocks = seg->index_blocks;
    }
    if (rc) {
        kl_store_files_free(log);
        return rc;
    }
    log->files->indexed_position = log->active.size;
    log->roll_next |= (uint8_t)load->is_lost;
    log->manifest_dirty |= (uint8_t)load->rebuilt;
    kl_base_stat_add(&log->store->stats.rebuilds, (uint64_t)load->rebuilt);
    kl_store_damage_gaps(log);
    return 0;
}

static void load_job_done(struct kl_os_job *job)
{
    struct load_job *load = KL_BASE_CONTAINER(job, struct load_job, job);
    struct kl_store_log *log = load->log;
    struct kl_store *s = log->store;
    struct kl_store_manifest *m = &load->manifest;

    log->loading = 0;
    if (load->code == 0)
        load->code = load_install(load);
    kl_base_free(&s->alloc, m->segments, m->count * sizeof *m->segments);
    kl_store_space_count(log);
    kl_store_read_loaded(log, load->code);
    /* Segments cannot be written behind: the store cannot keep its promise. */
    if (load->code && !kl_store_is_passing(load->code) &&
        !kl_base_list_is_empty(&log->work->pending)) {
        char path[KL_STORE_PATH_MAX];

        kl_store_path_log(log, path);
        kl_store_fail(s, load->code, "cannot open the files of", path);
    }
    if (load->code && !kl_base_list_is_empty(&log->work->pending))
        kl_store_log_mark_later(log);
    else if (kl_store_log_has_work(log))
        kl_store_log_mark_dirty(log);
    kl_store_log_unref(log);
    kl_base_free(&s->alloc, load, sizeof *load);
}

int kl_store_load(struct kl_store_log *log)
{
    struct kl_store *s = log->store;
    struct load_job *load;

    if (log->files)
        return 0;
    if (log->active.base < 0)
        return kl_store_files_new(log);
    if (log->loading)
        return KL_EAGAIN;
    if (kl_store_log_wake(log))
        return KL_ENOMEM;
    load = kl_base_calloc(&s->alloc, sizeof *load);
    if (!load)
        return KL_ENOMEM;
    load->log = log;
    load->now_ms = s->wall_ms;
    load->job.run = load_job_run;
    load->job.done = load_job_done;
    log->refs++;
    log->loading = 1;
    kl_store_submit(s, &load->job, KL_OS_LANE_READ);
    return KL_EAGAIN;
}
