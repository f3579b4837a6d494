/*
 * A manifest that is damaged or gone is made again from the segments in the
 * log's folder: each says in its header whose it is and after how many
 * truncations it was begun, and its frames say what it holds. What a truncation
 * has cut and a crash has brought back overlaps with what was written since,
 * and that tells it apart.
 */
#include "store/state.h"

#include <string.h>

/* Truncation count of a segment whose header cannot be read. */
#define REBUILD_UNKNOWN UINT32_MAX

struct rebuild
{
    struct kl_store_log *log;
    struct kl_store_segment_info *items; /* ascending */
    size_t count;
    size_t capacity;
    int64_t now_ms;
};

/* ---- which files ------------------------------------------------------- */

/* Names come in ascending order, and so do their bases. */
static int rebuild_name(const char *name, void *user)
{
    struct rebuild *b = user;
    const struct kl_store_log *log = b->log;
    struct kl_store_segment_info info = {
        .max_timestamp = -1, .first_ms = b->now_ms, .last_ms = b->now_ms};

    if (!kl_store_path_base(name, &info.base))
        return 0;
    /* The slot knows the last one of a commit log. */
    if (log->flush == KL_STORE_FLUSH_COMMIT && info.base > log->active.base)
        return 0;
    if (kl_base_reserve(&log->store->alloc, (void **)&b->items, &b->capacity,
                        b->count + 1, sizeof *b->items))
        return KL_ENOMEM;
    b->items[b->count++] = info;
    return 0;
}

/* ---- what is in one ---------------------------------------------------- */

static int rebuild_visit(const struct kl_batch_info *frame, uint64_t position,
                         void *user)
{
    struct kl_store_segment_info *info = user;

    info->end = frame->last_offset + 1;
    info->size = position + frame->frame_size;
    if (frame->max_timestamp > info->max_timestamp)
        info->max_timestamp = frame->max_timestamp;
    return 0;
}

static int rebuild_skip(const struct kl_store_damage *damage, void *user)
{
    (void)damage, (void)user;
    return 0;
}

/* KL_EEND where the file is another log's or another life's. A header that
 * cannot be read is no reason to leave the frames out. */
static int rebuild_header(const struct kl_store_log *log,
                          struct kl_os_file *file,
                          struct kl_store_segment_info *info)
{
    struct kl_store_segment_header h;
    uint8_t *block = kl_base_malloc(&log->store->alloc, KL_STORE_BLOCK);
    size_t got;
    int rc;

    if (!block)
        return KL_ENOMEM;
    info->truncation = REBUILD_UNKNOWN;
    rc = file->vfs->ops->read(file, block, KL_STORE_BLOCK, 0, &got);
    if (rc == 0 && got == KL_STORE_BLOCK &&
        kl_store_segment_header_decode(block, &h) == 0) {
        info->truncation = h.truncation;
        if (h.instance != log->instance || h.base != info->base ||
            memcmp(&h.id, &log->id, sizeof h.id) != 0)
            rc = KL_EEND;
    }
    kl_base_free(&log->store->alloc, block, KL_STORE_BLOCK);
    return rc;
}

static int rebuild_file(const struct kl_store_log *log,
                        struct kl_store_segment_info *info)
{
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_store_scan scan = {.alloc = &log->store->alloc,
                                 .seed = log->seed,
                                 .position = KL_STORE_BLOCK,
                                 .offset = info->base,
                                 .damaged = rebuild_skip,
                                 .end = INT64_MAX};
    char path[KL_STORE_PATH_MAX];
    int rc;

    info->end = info->base;
    info->size = KL_STORE_BLOCK;
    kl_store_path_segment(log, info->base, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &scan.file);
    if (rc)
        return rc;
    rc = rebuild_header(log, scan.file, info);
    if (rc == 0)
        rc = vfs->ops->size(scan.file, &scan.limit);
    if (rc == 0)
        rc = kl_store_scan_run(&scan, rebuild_visit, info);
    vfs->ops->close(scan.file);
    return rc;
}

/* ---- together ---------------------------------------------------------- */

static void rebuild_erase(struct rebuild *b, size_t index)
{
    b->count--;
    memmove(b->items + index, b->items + index + 1,
            (b->count - index) * sizeof *b->items);
}

/* A segment was cut off where one that begins no later was begun after more
 * truncations: the log had ended there by then. One that does not say when it
 * was begun is taken to be as new as the one before it. */
static void rebuild_drop_cut(struct rebuild *b)
{
    uint32_t newest = 0;

    for (size_t i = 0; i < b->count;) {
        struct kl_store_segment_info *info = &b->items[i];

        if (info->truncation == REBUILD_UNKNOWN)
            info->truncation = newest;
        if (info->truncation < newest) {
            rebuild_erase(b, i);
            continue;
        }
        newest = info->truncation;
        i++;
    }
}

/* Where two overlap, the one begun after more truncations is what was written
 * last; else the later one had been cut off. */
static void rebuild_resolve(struct rebuild *b)
{
    for (size_t i = 0; i + 1 < b->count;) {
        struct kl_store_segment_info *a = &b->items[i], *next = a + 1;

        if (a->end <= next->base) {
            i++;
        } else if (next->truncation > a->truncation) {
            a->end = next->base; /* frames behind it are never asked for */
            i++;
        } else {
            rebuild_erase(b, i + 1);
        }
    }
}

static int rebuild_files(struct rebuild *b)
{
    const struct kl_store_log *log = b->log;

    for (size_t i = 0; i < b->count;) {
        struct kl_store_segment_info *info = &b->items[i];
        int rc = 0;

        if (log->flush == KL_STORE_FLUSH_COMMIT &&
            info->base == log->active.base)
            *info = log->active;
        else
            rc = rebuild_file(log, info);
        if (rc && rc != KL_EEND)
            return rc;
        if (rc == KL_EEND)
            rebuild_erase(b, i);
        else
            i++;
    }
    rebuild_drop_cut(b);
    rebuild_resolve(b);
    return 0;
}

/* Whoever takes the items frees exactly count of them. */
static int rebuild_fit(struct rebuild *b)
{
    const struct kl_base_alloc *alloc = &b->log->store->alloc;
    struct kl_store_segment_info *items = NULL;

    if (b->count > 0) {
        items = kl_base_malloc(alloc, b->count * sizeof *items);
        if (!items)
            return KL_ENOMEM;
        memcpy(items, b->items, b->count * sizeof *items);
    }
    kl_base_free(alloc, b->items, b->capacity * sizeof *items);
    b->items = items;
    b->capacity = b->count;
    return 0;
}

int kl_store_rebuild(struct kl_store_log *log, int64_t now_ms,
                     struct kl_store_manifest *out)
{
    const struct kl_base_alloc *alloc = &log->store->alloc;
    struct rebuild b = {.log = log, .now_ms = now_ms};
    char folder[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path_log(log, folder);
    rc = log->store->vfs->ops->list(log->store->vfs, folder, rebuild_name, &b);
    if (rc == KL_ENOENT)
        rc = 0; /* all of it is gone */
    if (rc == 0)
        rc = rebuild_files(&b);
    if (rc == 0)
        rc = rebuild_fit(&b);
    if (rc) {
        kl_base_free(alloc, b.items, b.capacity * sizeof *b.items);
        return rc;
    }
    out->id = log->id;
    out->instance = log->instance;
    out->truncation = log->durable_truncation;
    out->count = (uint32_t)b.count;
    out->segments = b.items;
    if (log->flush == KL_STORE_FLUSH_INTERVAL && b.count > 0) {
        /* Later truncations are carried out again. */
        out->truncation = 0;
        for (size_t i = 0; i < b.count; i++)
            if (b.items[i].truncation > out->truncation)
                out->truncation = b.items[i].truncation;
    }
    return 0;
}
