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

/* 0; KL_EEND where there is no valid next frame, with info->frame_size 0 unless
 * only its body is bad; or an error of reading. */
static int scan_frame(struct kl_store_scan *scan, struct scan_window *w,
                      struct kl_batch_info *info)
{
    const uint8_t *p;
    int rc = scan_fill(scan, w, scan->position, KL_BATCH_OVERHEAD);

    info->frame_size = 0;
    if (rc)
        return rc;
    p = w->data + (scan->position - w->start);
    rc = kl_batch_frame_header(p, w->start + w->size - scan->position,
                               scan->seed, info);
    if (rc || scan->position + info->frame_size > scan->limit ||
        (scan->offset >= 0 && info->base_offset != scan->offset)) {
        info->frame_size = 0;
        return KL_EEND;
    }
    if (!scan->verify_body)
        return 0;
    rc = scan_fill(scan, w, scan->position, info->frame_size);
    if (rc)
        return rc;
    if (scan->position + info->frame_size > w->start + w->size)
        return KL_EEND;
    scan->frame = w->data + (scan->position - w->start);
    return kl_batch_frame_body(scan->frame, scan->seed, info) ? KL_EEND : 0;
}

/* ---- behind damage ----------------------------------------------------- */

/* A whole frame at any byte that does not begin below the offset. */
static int scan_try(struct kl_store_scan *scan, struct scan_window *w,
                    uint64_t position)
{
    struct kl_batch_info info;
    int rc = scan_fill(scan, w, position, KL_BATCH_OVERHEAD);

    if (rc)
        return rc;
    if (kl_batch_frame_header(w->data + (position - w->start),
                              (size_t)(w->start + w->size - position),
                              scan->seed, &info) ||
        info.base_offset < scan->offset ||
        position + info.frame_size > scan->limit)
        return KL_EEND;
    rc = scan_fill(scan, w, position, info.frame_size);
    if (rc)
        return rc;
    if (position + info.frame_size > w->start + w->size ||
        kl_batch_frame_body(w->data + (position - w->start), scan->seed, &info))
        return KL_EEND;
    scan->position = position;
    scan->offset = info.base_offset;
    return 0;
}

static int scan_resync(struct kl_store_scan *scan, struct scan_window *w)
{
    uint64_t at = scan->position;

    while (at + KL_BATCH_OVERHEAD <= scan->limit) {
        const uint8_t *p, *hit;
        int rc = scan_fill(scan, w, at, KL_BATCH_OVERHEAD);
        size_t have;

        if (rc)
            return rc;
        have = (size_t)(w->start + w->size - at);
        if (have < KL_BATCH_OVERHEAD)
            break; /* the file is shorter than it should be */
        p = w->data + (at - w->start);
        hit = memchr(p, 'K', have - KL_BATCH_OVERHEAD + 1);
        if (!hit) {
            at += have - KL_BATCH_OVERHEAD + 1;
            continue;
        }
        at += (uint64_t)(hit - p);
        rc = scan_try(scan, w, at);
        if (rc != KL_EEND)
            return rc;
        at++;
    }
    return KL_EEND;
}

static int scan_window_init(const struct kl_store_scan *scan,
                            struct scan_window *w)
{
    *w = (struct scan_window){NULL, SCAN_BLOCK, 0, 0};
    w->data = kl_base_malloc(scan->alloc, w->capacity);
    return w->data ? 0 : KL_ENOMEM;
}

int kl_store_scan_resync(struct kl_store_scan *scan)
{
    struct scan_window w;
    int rc = scan_window_init(scan, &w);

    if (rc)
        return rc;
    rc = scan_resync(scan, &w);
    kl_base_free(scan->alloc, w.data, w.capacity);
    return rc;
}

/* Nothing more is found: the rest of the segment is lost. */
static int scan_lost(struct kl_store_scan *scan, void *user)
{
    struct kl_store_damage damage = {scan->offset, scan->end, scan->position,
                                     scan->limit};

    scan->offset = scan->end;
    scan->position = scan->limit;
    return scan->damaged(&damage, user);
}

/* Steps over what does not verify and reports it. */
static int scan_skip(struct kl_store_scan *scan, struct scan_window *w,
                     const struct kl_batch_info *info, void *user)
{
    struct kl_store_damage damage = {.from = scan->offset,
                                     .position = scan->position};
    int rc;

    if (info->frame_size > 0) {
        damage.from = info->base_offset;
        scan->position += info->frame_size;
        scan->offset = info->last_offset + 1;
    } else {
        rc = scan_resync(scan, w);
        if (rc)
            return rc == KL_EEND ? scan_lost(scan, user) : rc;
    }
    damage.to = scan->offset;
    damage.next = scan->position;
    return scan->damaged(&damage, user);
}

int kl_store_scan_run(struct kl_store_scan *scan, kl_store_scan_fn fn,
                      void *user)
{
    struct kl_batch_info info;
    struct scan_window w;
    int rc = scan_window_init(scan, &w);

    if (rc)
        return rc;
    while (scan->position + KL_BATCH_OVERHEAD <= scan->limit &&
           !(scan->damaged && scan->offset >= scan->end)) {
        rc = scan_frame(scan, &w, &info);
        if (rc == KL_EEND && scan->damaged) {
            rc = scan_skip(scan, &w, &info, user);
            if (rc)
                break;
            continue;
        }
        if (rc == 0)
            rc = fn(&info, scan->position, user);
        if (rc)
            break;
        scan->position += info.frame_size;
        scan->offset = info.last_offset + 1;
    }
    if (rc == 0 && scan->damaged && scan->offset < scan->end)
        rc = scan_lost(scan, user); /* no room for another frame */
    kl_base_free(scan->alloc, w.data, w.capacity);
    return rc == KL_EEND ? 0 : rc;
}

/* ---- from an offset to its position ------------------------------------ */

struct scan_search
{
    int64_t offset;
    int from_index;
    int found;
    uint64_t position;
};

static int scan_visit(const struct kl_batch_info *info, uint64_t position,
                      void *user)
{
    struct scan_search *search = user;

    if (info->last_offset < search->offset)
        return 0;
    search->found = info->base_offset == search->offset;
    search->position = position;
    return search->found ? KL_EEND : KL_ECORRUPT;
}

/* An offset inside or right behind damage has the position behind it: damaged
 * bytes stay where they are. */
static int scan_visit_damage(const struct kl_store_damage *damage, void *user)
{
    struct scan_search *search = user;

    if (search->from_index)
        return KL_ECORRUPT; /* it may lie */
    if (damage->to < search->offset)
        return 0;
    search->found = 1;
    search->position = damage->next;
    return KL_EEND;
}

static int scan_search_from(const struct kl_store_find *find, int64_t offset,
                            uint64_t from, uint64_t *position_out)
{
    struct scan_search search = {.offset = offset,
                                 .from_index = from > KL_STORE_BLOCK};
    struct kl_store_scan scan = {
        .file = find->file,
        .alloc = find->alloc,
        .seed = find->seed,
        .position = from,
        .limit = find->limit,
        .offset = search.from_index ? -1 : find->base,
        .damaged = scan_visit_damage,
        .end = offset,
    };
    int rc = kl_store_scan_run(&scan, scan_visit, &search);

    if (rc == 0 && !search.found && scan.offset != offset)
        rc = KL_ECORRUPT;
    *position_out = search.found ? search.position : scan.position;
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
