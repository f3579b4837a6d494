/*
 * Walking over the frames of a segment file, for recovery, truncation and
 * look-ups. Reads in large blocks whatever the size of the frames.
 */
#include "store/state.h"

#include <string.h>

enum { SCAN_BLOCK = 256 * 1024 };

struct scan_window
{
    uint8_t *data;
    size_t capacity;
    size_t size;    /* valid bytes */
    uint64_t start; /* position of data[0] */
};

/* Makes bytes at position available, want of them if the file has them. */
static int scan_fill(struct kl_store_scan *scan, struct scan_window *w,
                     uint64_t position, size_t want)
{
    int rc;

    if (position >= w->start && position + want <= w->start + w->size)
        return 0;
    if (want > w->capacity) {
        uint8_t *data =
            kl_base_realloc(scan->alloc, w->data, w->capacity, want);

        if (!data)
            return KL_ENOMEM;
        w->data = data;
        w->capacity = want;
    }
    rc = scan->file->vfs->ops->read(scan->file, w->data, w->capacity, position,
                                    &w->size);
    w->start = position;
    return rc;
}

static int scan_frame(struct kl_store_scan *scan, struct scan_window *w,
                      struct kl_batch_info *info)
{
    const uint8_t *p;
    int rc = scan_fill(scan, w, scan->position, KL_BATCH_OVERHEAD);

    if (rc)
        return rc;
    p = w->data + (scan->position - w->start);
    rc = kl_batch_frame_header(p, w->start + w->size - scan->position,
                               scan->seed, info);
    if (rc || scan->position + info->frame_size > scan->limit ||
        (scan->offset >= 0 && info->base_offset != scan->offset))
        return KL_EEND;
    if (!scan->verify_body)
        return 0;
    rc = scan_fill(scan, w, scan->position, info->frame_size);
    if (rc)
        return rc;
    if (scan->position + info->frame_size > w->start + w->size)
        return KL_EEND;
    p = w->data + (scan->position - w->start);
    return kl_batch_frame_body(p, scan->seed, info) ? KL_EEND : 0;
}

int kl_store_scan_run(struct kl_store_scan *scan, kl_store_scan_fn fn,
                      void *user)
{
    struct scan_window w = {NULL, SCAN_BLOCK, 0, 0};
    struct kl_batch_info info;
    int rc = 0;

    w.data = kl_base_malloc(scan->alloc, w.capacity);
    if (!w.data)
        return KL_ENOMEM;
    while (scan->position + KL_BATCH_OVERHEAD <= scan->limit) {
        rc = scan_frame(scan, &w, &info);
        if (rc == 0)
            rc = fn(&info, scan->position, user);
        if (rc)
            break;
        scan->position += info.frame_size;
        scan->offset = info.last_offset + 1;
    }
    kl_base_free(scan->alloc, w.data, w.capacity);
    return rc == KL_EEND ? 0 : rc;
}

/* ---- from an offset to its position ------------------------------------ */

struct scan_search
{
    int64_t offset;
    int found;
};

static int scan_visit(const struct kl_batch_info *info, uint64_t position,
                      void *user)
{
    struct scan_search *search = user;

    (void)position;
    if (info->base_offset == search->offset) {
        search->found = 1;
        return KL_EEND;
    }
    return info->last_offset >= search->offset ? KL_ECORRUPT : 0;
}

static int scan_search_from(const struct kl_store_find *find, int64_t offset,
                            uint64_t from, uint64_t *position_out)
{
    struct scan_search search = {offset, 0};
    struct kl_store_scan scan = {
        .file = find->file,
        .alloc = find->alloc,
        .seed = find->seed,
        .position = from,
        .limit = find->limit,
        .offset = -1,
    };
    int rc = kl_store_scan_run(&scan, scan_visit, &search);

    if (rc == 0 && !search.found && scan.offset != offset)
        rc = KL_ECORRUPT;
    *position_out = scan.position;
    return rc;
}

int kl_store_find_position(const struct kl_store_find *find, int64_t offset,
                           uint64_t *position_out)
{
    uint64_t from = KL_STORE_BLOCK;
    int rc;

    if (find->blocks > 0)
        kl_store_index_by_offset(find->index, find->blocks, find->base, offset,
                                 &from);
    rc = scan_search_from(find, offset, from, position_out);
    /* The index may lie: then all of it is walked. */
    if (rc == KL_ECORRUPT && from > KL_STORE_BLOCK)
        rc = scan_search_from(find, offset, KL_STORE_BLOCK, position_out);
    return rc;
}
