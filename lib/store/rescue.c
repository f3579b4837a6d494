/*
 * Looking for copies of frames. In the ring every group with a good header
 * says which frames it holds, also long after a checkpoint has passed it; where
 * there is no good header, frames are looked for byte by byte, and each log is
 * asked whether it is its own: its checksums tell.
 */
#include "store/rescue.h"

#include "base/endian.h"
#include "base/sort.h"

#include <string.h>

/* ---- collecting ---------------------------------------------------------- */

static int rescue_add(struct kl_store_rescue *r,
                      const struct kl_store_rescue_frame *f)
{
    if (kl_base_reserve(&r->in->alloc, (void **)&r->frames, &r->capacity,
                        r->count + 1, sizeof *r->frames))
        return KL_ENOMEM;
    r->frames[r->count++] = *f;
    return 0;
}

struct rescue_group
{
    struct kl_store_rescue *r;
    uint32_t file;
    uint64_t position;
    uint64_t order; /* of its next entry */
};

static int rescue_cut(struct kl_store_rescue *r, const struct kl_store_log *log,
                      const struct kl_store_entry_header *e, uint64_t order)
{
    if (kl_base_reserve(&r->in->alloc, (void **)&r->cuts, &r->cut_capacity,
                        r->cut_count + 1, sizeof *r->cuts))
        return KL_ENOMEM;
    r->cuts[r->cut_count++] =
        (struct kl_store_rescue_cut){log, e->offset, e->truncation, order};
    return 0;
}

static int rescue_entry(const struct kl_store_entry_header *e, uint32_t at,
                        const uint8_t *frame, void *user)
{
    struct rescue_group *g = user;
    struct kl_store_log *log = kl_store_find(g->r->in->store, &e->id);
    struct kl_store_rescue_frame f = {.log = log,
                                      .base = e->offset,
                                      .end = e->end,
                                      .epoch = e->epoch,
                                      .size = e->size,
                                      .file = g->file,
                                      .position = g->position + at,
                                      .order = g->order++};
    struct kl_batch_info info;

    if (!log || log->instance != e->instance)
        return 0;
    if (e->type == KL_STORE_ENTRY_TRUNCATE)
        return rescue_cut(g->r, log, e, f.order);
    if (e->type != KL_STORE_ENTRY_APPEND ||
        kl_store_ring_frame(frame, e, &info))
        return 0;
    return rescue_add(g->r, &f);
}

/* ---- byte by byte ---------------------------------------------------------
 */

/* A file that is searched. */
struct rescue_place
{
    struct kl_store_rescue *r;
    struct kl_os_file *file;
    enum kl_store_rescue_source source;
    uint32_t index;
    uint64_t position;
};

/* Whether any log takes the bytes at a place of a file for a frame. */
static int rescue_try(struct rescue_place *p, uint64_t position,
                      uint32_t *size_out)
{
    struct kl_store *s = p->r->in->store;
    struct kl_store_rescue_frame f = {
        .source = p->source, .file = p->index, .position = position};
    uint8_t header[KL_BATCH_OVERHEAD];
    struct kl_batch_info info;
    size_t got;
    int rc =
        p->file->vfs->ops->read(p->file, header, sizeof header, position, &got);

    for (struct kl_base_list *l = s->logs.next; rc == 0 && l != &s->logs;
         l = l->next) {
        f.log = KL_BASE_CONTAINER(l, struct kl_store_log, link);
        if (kl_batch_frame_header(header, got, f.log->seed, &info))
            continue;
        f.base = info.base_offset;
        f.end = info.last_offset + 1;
        f.epoch = info.leader_epoch;
        f.size = info.frame_size;
        rc = kl_store_rescue_read(p->r, &f, &p->r->in->recovery.ring.group,
                                  &info);
        if (rc == 0)
            rc = rescue_add(p->r, &f);
        if (rc == 0)
            *size_out = f.size;
        break;
    }
    return rc == KL_ECORRUPT ? 0 : rc;
}

/* A block that no good group covers; the position moves behind it, or behind
 * the last frame that begins in it. */
static int rescue_search(struct rescue_place *p)
{
    uint8_t block[KL_STORE_BLOCK + 3];
    uint64_t start = p->position, end = start + KL_STORE_BLOCK;
    size_t got;
    int rc = p->file->vfs->ops->read(p->file, block, sizeof block, start, &got);

    for (uint64_t at = start; rc == 0 && at < start + KL_STORE_BLOCK; at++) {
        size_t i = (size_t)(at - start);
        uint32_t size = 0;

        if (i + 4 > got || memcmp(block + i, "KLF", 3) != 0)
            continue;
        rc = rescue_try(p, at, &size);
        if (size == 0)
            continue;
        at += size - 1;
        if (at + 1 > end)
            end = at + 1;
    }
    p->position = (end + KL_STORE_BLOCK - 1) / KL_STORE_BLOCK * KL_STORE_BLOCK;
    return rc;
}

static int rescue_kept(const char *name, void *user)
{
    struct kl_store_rescue *r = user;
    struct kl_os_vfs *vfs = &r->in->readonly.base;
    struct rescue_place p = {r, NULL, KL_STORE_RESCUE_KEPT,
                             (uint32_t)r->names.size, 0};
    char path[KL_STORE_PATH_MAX];
    struct kl_store_id id;
    uint64_t size = 0;
    int rc;

    if (kl_store_path_parse(name, &id, &size))
        return 0; /* the folder of a log */
    kl_base_buf_append(&r->names, name, strlen(name) + 1);
    if (r->names.error)
        return r->names.error;
    kl_store_path(r->in->store, "quarantine/", path);
    kl_store_path_text(path, name);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &p.file);
    if (rc)
        return rc == KL_ENOENT ? 0 : rc;
    rc = vfs->ops->size(p.file, &size);
    while (rc == 0 && p.position < size)
        rc = rescue_search(&p);
    vfs->ops->close(p.file);
    return rc;
}

/* ---- the ring ---------------------------------------------------------- */

static int rescue_file(struct kl_store_rescue *r, uint32_t file)
{
    struct kl_store_ring *ring = &r->in->recovery.ring;
    struct kl_store_group_header h;
    uint64_t position = 0;
    int rc = 0;

    while (rc == 0 && position < ring->file_size) {
        struct rescue_group g = {r, file, position, 0};

        rc = kl_store_ring_load(ring, file, position, &h);
        if (rc == KL_EEND) {
            struct rescue_place p = {r, ring->files[file], KL_STORE_RESCUE_RING,
                                     file, position};

            rc = rescue_search(&p);
            position = p.position;
            continue;
        }
        if (rc)
            break;
        g.order = h.sequence << 16 | 1;
        rc = kl_store_ring_entries(ring, &h, rescue_entry, &g);
        if (rc == KL_ECORRUPT || rc == KL_EFORMAT)
            rc = 0; /* an entry of a kind that is not known ends the group */
        position += h.size;
    }
    return rc;
}

/* ---- order ----------------------------------------------------------------
 */

static int rescue_compare(const void *a, const void *b)
{
    const struct kl_store_rescue_frame *x = a, *y = b;

    if (x->log != y->log)
        return (uintptr_t)x->log < (uintptr_t)y->log ? -1 : 1;
    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    if (x->order != y->order)
        return x->order > y->order ? -1 : 1;
    return 0;
}

/* What was truncated later is no part of its log any more; of a frame without
 * an order nobody knows when it was. */
static int rescue_is_cut(const struct kl_store_rescue *r,
                         const struct kl_store_rescue_frame *f)
{
    for (size_t i = 0; i < r->cut_count; i++)
        if (r->cuts[i].log == f->log && f->end > r->cuts[i].offset &&
            f->order < r->cuts[i].order)
            return 1;
    return 0;
}

static void rescue_order(struct kl_store_rescue *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->count; i++)
        if (!rescue_is_cut(r, &r->frames[i]))
            r->frames[kept++] = r->frames[i];
    r->count = kept;
    kl_base_sort(r->frames, r->count, sizeof *r->frames, rescue_compare);
}

/* ---- segments -------------------------------------------------------------
 */

struct rescue_segment
{
    struct kl_store_rescue *r;
    struct kl_store_log *log;
    int64_t from;
    int64_t base; /* of the segment */
};

static int segment_visit(const struct kl_batch_info *info, uint64_t position,
                         void *user)
{
    struct rescue_segment *s = user;
    struct kl_store_rescue_frame f = {.log = s->log,
                                      .base = info->base_offset,
                                      .end = info->last_offset + 1,
                                      .epoch = info->leader_epoch,
                                      .size = info->frame_size,
                                      .source = KL_STORE_RESCUE_SEGMENT,
                                      .segment = s->base,
                                      .position = position};

    return info->base_offset < s->from ? 0 : rescue_add(s->r, &f);
}

static int segment_skip(const struct kl_store_damage *damage, void *user)
{
    (void)damage, (void)user;
    return 0;
}

static int segment_name(const char *name, void *user)
{
    struct rescue_segment *s = user;
    struct kl_os_vfs *vfs = s->log->store->vfs;
    struct kl_store_scan scan = {.alloc = &s->r->in->alloc,
                                 .seed = s->log->seed,
                                 .position = KL_STORE_BLOCK,
                                 .verify_body = 1,
                                 .damaged = segment_skip,
                                 .end = INT64_MAX};
    char path[KL_STORE_PATH_MAX];
    int rc;

    if (!kl_store_path_base(name, &s->base))
        return 0;
    scan.offset = s->base;
    kl_store_path_in_log(s->log, name, path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &scan.file);
    if (rc)
        return rc == KL_ENOENT ? 0 : rc;
    rc = vfs->ops->size(scan.file, &scan.limit);
    if (rc == 0)
        rc = kl_store_scan_run(&scan, segment_visit, s);
    vfs->ops->close(scan.file);
    return rc;
}

int kl_store_rescue_segments(struct kl_store_rescue *r,
                             struct kl_store_log *log, int64_t from)
{
    struct rescue_segment s = {r, log, from, 0};
    struct kl_os_vfs *vfs = log->store->vfs;
    char folder[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path_log(log, folder);
    rc = vfs->ops->list(vfs, folder, segment_name, &s);
    rescue_order(r);
    return rc == KL_ENOENT ? 0 : rc;
}

/* ---- finding --------------------------------------------------------------
 */

const struct kl_store_rescue_frame *
kl_store_rescue_find(const struct kl_store_rescue *r,
                     const struct kl_store_log *log, int64_t offset,
                     int32_t epoch, const struct kl_batch_epochs *epochs)
{
    struct kl_store_rescue_frame wanted = {
        .log = log, .base = offset, .order = UINT64_MAX};
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rescue_compare(&r->frames[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->count && r->frames[low].log == log; low++) {
        const struct kl_store_rescue_frame *f = &r->frames[low];

        if (f->epoch >= epoch &&
            (!epochs || f->epoch == kl_batch_epochs_at(epochs, f->base)))
            return f;
    }
    return NULL;
}

int64_t kl_store_rescue_cut_of(const struct kl_store_rescue *r,
                               const struct kl_store_log *log,
                               uint32_t truncation)
{
    int64_t cut = INT64_MAX;

    for (size_t i = 0; i < r->cut_count; i++)
        if (r->cuts[i].log == log && r->cuts[i].truncation > truncation &&
            r->cuts[i].offset < cut)
            cut = r->cuts[i].offset;
    return cut;
}

/* The file that a frame is in; opened is 1 where it is to be closed. */
static int rescue_open(const struct kl_store_rescue *r,
                       const struct kl_store_rescue_frame *f,
                       struct kl_os_file **out, int *opened)
{
    struct kl_os_vfs *vfs = &r->in->readonly.base;
    char path[KL_STORE_PATH_MAX];

    *opened = f->source != KL_STORE_RESCUE_RING;
    if (f->source == KL_STORE_RESCUE_RING) {
        *out = r->in->store->wal.files[f->file];
        return 0;
    }
    if (f->source == KL_STORE_RESCUE_SEGMENT) {
        kl_store_path_segment(f->log, f->segment, "seg", path);
    } else {
        kl_store_path(r->in->store, "quarantine/", path);
        kl_store_path_text(path, (const char *)r->names.data + f->file);
    }
    return vfs->ops->open(vfs, path, KL_OS_READ, out);
}

int kl_store_rescue_read(const struct kl_store_rescue *r,
                         const struct kl_store_rescue_frame *f,
                         struct kl_base_buf *buf, struct kl_batch_info *info)
{
    struct kl_os_file *file;
    uint8_t *data;
    size_t got = 0;
    int opened;
    int rc;

    kl_base_buf_clear(buf);
    data = kl_base_buf_extend(buf, f->size);
    if (!data)
        return KL_ENOMEM;
    rc = rescue_open(r, f, &file, &opened);
    if (rc)
        return rc == KL_ENOENT ? KL_ECORRUPT : rc;
    rc = file->vfs->ops->read(file, data, f->size, f->position, &got);
    if (opened)
        file->vfs->ops->close(file);
    if (rc == 0 && (kl_batch_frame_verify(data, got, f->log->seed, info) ||
                    info->base_offset != f->base))
        rc = KL_ECORRUPT;
    return rc;
}

/* ---- life -------------------------------------------------------------- */

int kl_store_rescue_new(struct kl_store_rescue **out,
                        struct kl_store_inspect *in)
{
    struct kl_store_rescue *r = kl_base_calloc(&in->alloc, sizeof *r);
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    if (!r)
        return KL_ENOMEM;
    r->in = in;
    kl_base_buf_init(&r->names, &in->alloc);
    for (uint32_t i = 0; rc == 0 && i < in->recovery.ring.file_count; i++)
        rc = rescue_file(r, i);
    kl_store_path(in->store, "quarantine", path);
    if (rc == 0)
        rc = in->vfs->ops->list(in->vfs, path, rescue_kept, r);
    if (rc == KL_ENOENT)
        rc = 0;
    if (rc) {
        kl_store_rescue_free(r);
        return rc;
    }
    rescue_order(r);
    *out = r;
    return 0;
}

void kl_store_rescue_free(struct kl_store_rescue *r)
{
    const struct kl_base_alloc *alloc;

    if (!r)
        return;
    alloc = &r->in->alloc;
    kl_base_buf_deinit(&r->names);
    kl_base_free(alloc, r->frames, r->capacity * sizeof *r->frames);
    kl_base_free(alloc, r->cuts, r->cut_capacity * sizeof *r->cuts);
    kl_base_free(alloc, r, sizeof *r);
}
