/*
 * The read lane: index look-up, one read of whole frames, verification. Handles
 * for reading belong to this lane while a job refers to the segment.
 */
#include "store/read.h"

#include <string.h>

static int lane_open_reader(struct kl_store_log *log,
                            struct kl_store_segment *seg, const char *suffix,
                            struct kl_os_file **file)
{
    struct kl_os_vfs *vfs = log->store->vfs;
    char path[KL_STORE_PATH_MAX];

    if (*file)
        return 0;
    kl_store_path_segment(log, seg->info.base, suffix, path);
    return vfs->ops->open(vfs, path, KL_OS_READ, file);
}

int kl_store_lane_readers(struct kl_store_log *log,
                          struct kl_store_segment *seg, uint32_t *index_blocks)
{
    uint64_t size = 0;
    int rc = lane_open_reader(log, seg, "seg", &seg->reader);

    if (rc || *index_blocks == 0)
        return rc;
    if (lane_open_reader(log, seg, "idx", &seg->index_reader)) {
        *index_blocks = 0; /* without an index walks are longer */
        return 0;
    }
    if (*index_blocks == UINT32_MAX &&
        seg->index_reader->vfs->ops->size(seg->index_reader, &size) == 0)
        *index_blocks = (uint32_t)(size / KL_STORE_BLOCK);
    return 0;
}

/* ---- reading frames ---------------------------------------------------- */

/* A chunk with room for size bytes: the one at hand or a new one. */
static int read_reserve(struct kl_store_read_job *j, size_t size)
{
    if (j->chunk && j->chunk->capacity >= size)
        return 0;
    kl_base_chunk_unref(j->chunk);
    j->chunk = NULL;
    return kl_base_chunk_new(&j->chunk, &j->store->alloc, size);
}

static int read_fill(struct kl_store_read_job *j, uint64_t position,
                     size_t want)
{
    const struct kl_os_vfs_ops *ops = j->seg->reader->vfs->ops;
    size_t got = 0;
    int rc;

    if (want > j->limit - position)
        want = (size_t)(j->limit - position);
    rc = read_reserve(j, want);
    if (rc == 0)
        rc = ops->read(j->seg->reader, j->chunk->data, want, position, &got);
    if (rc == 0)
        j->chunk->size = (uint32_t)got;
    j->bytes += got;
    return rc;
}

/* Offsets that cannot be read; the reader may go on behind them. */
static int read_damaged(struct kl_store_read_job *j, int64_t from, int64_t to,
                        uint64_t position, uint64_t next)
{
    j->damage = (struct kl_store_damage){from, to, position, next};
    j->next_offset = to;
    return KL_ECORRUPT;
}

/* Takes the frame at the position into the answer. 0 = go on; KL_EEND = the
 * answer is complete; KL_ECORRUPT = its body is damaged. */
static int read_take_frame(struct kl_store_read_job *j, size_t at,
                           uint64_t position, const struct kl_batch_info *info)
{
    const uint8_t *frame = j->chunk->data + at;
    int is_first = j->size == 0;

    if (info->last_offset >= j->end ||
        (!is_first && (at + info->frame_size > j->chunk->size ||
                       j->size + info->frame_size > j->read->bytes_max)))
        return KL_EEND;
    if (at + info->frame_size > j->chunk->size)
        return KL_EAGAIN;
    if (kl_batch_frame_body(frame, j->log->seed, info)) {
        if (!is_first)
            return KL_EEND; /* it is the next read's business */
        return read_damaged(j, info->base_offset, info->last_offset + 1,
                            position + at, position + at + info->frame_size);
    }
    if (is_first)
        j->from = (uint32_t)at;
    j->size += info->frame_size;
    j->next_offset = info->last_offset + 1;
    return 0;
}

/* Walks the chunk read from position. 0: from and size are the wanted frames,
 * none where they end above what may be seen. KL_EAGAIN: the first wanted frame
 * is not whole; want is its size. KL_EBATCH: no valid frame at next_position.
 * KL_ECORRUPT: the wanted frame is damaged. */
static int read_walk(struct kl_store_read_job *j, uint64_t position,
                     size_t *want)
{
    const uint8_t *data = j->chunk->data;
    size_t size = j->chunk->size, at = 0;
    struct kl_batch_info info;
    int rc = 0;

    j->size = 0;
    *want = KL_BATCH_OVERHEAD;
    while (rc == 0 && at + KL_BATCH_OVERHEAD <= size) {
        if (kl_batch_frame_header(data + at, size - at, j->log->seed, &info) ||
            (j->expected >= 0 && info.base_offset != j->expected) ||
            (j->expected < 0 && info.base_offset > j->read->offset)) {
            rc = KL_EBATCH;
            break;
        }
        j->expected = info.base_offset;
        *want = info.frame_size;
        if (info.last_offset >= j->read->offset)
            rc = read_take_frame(j, at, position, &info);
        if (rc == 0) {
            j->expected = info.last_offset + 1;
            at += info.frame_size;
            *want = KL_BATCH_OVERHEAD;
        }
    }
    j->next_position = position + at;
    if (j->size > 0 || rc == KL_EEND)
        return 0; /* damage behind good frames is the next read's business */
    return rc ? rc : KL_EAGAIN;
}

/* No valid frame at next_position: behind what is damaged there. 0 = the walk
 * goes on there. */
static int read_behind(struct kl_store_read_job *j)
{
    struct kl_store_scan scan = {.file = j->seg->reader,
                                 .alloc = &j->store->alloc,
                                 .seed = j->log->seed,
                                 .position = j->next_position,
                                 .limit = j->limit,
                                 .offset = j->expected};
    int rc = kl_store_scan_resync(&scan);

    if (rc == KL_EEND)
        return read_damaged(j, j->expected, j->segment_end, j->next_position,
                            j->limit);
    if (rc)
        return rc;
    rc = read_damaged(j, j->expected, scan.offset, j->next_position,
                      scan.position);
    j->next_position = scan.position;
    j->expected = scan.offset;
    return j->read->offset < scan.offset ? rc : 0;
}

static int read_from(struct kl_store_read_job *j, uint64_t position)
{
    size_t want = j->read->bytes_max;
    size_t least = 0;
    int rc;

    if (want < KL_STORE_BLOCK)
        want = KL_STORE_BLOCK;
    for (;;) {
        j->next_position = position;
        rc = KL_EBATCH; /* the offset should have been in here */
        if (position + KL_BATCH_OVERHEAD <= j->limit) {
            rc = read_fill(j, position, want);
            if (rc == 0)
                rc = read_walk(j, position, &least);
        }
        if (rc == 0)
            return 0;
        /* No progress with all that was asked for: the file is too short. */
        if (rc == KL_EAGAIN &&
            ((j->next_position == position && want >= least) ||
             least > j->limit - j->next_position))
            rc = KL_EBATCH;
        if (rc == KL_EAGAIN && want < least)
            want = least;
        if (rc == KL_EBATCH && j->expected >= 0)
            rc = read_behind(j);
        if (rc && rc != KL_EAGAIN)
            return rc;
        position = j->next_position;
    }
}

void kl_store_read_lane(struct kl_os_job *job)
{
    struct kl_store_read_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_read_job, job);
    uint64_t position = j->hint ? j->hint : KL_STORE_BLOCK;

    j->next_offset = j->read->offset;
    j->code = kl_store_lane_readers(j->log, j->seg, &j->index_blocks);
    if (j->code == KL_ENOENT)
        j->code = read_damaged(j, j->seg->info.base, j->segment_end,
                               KL_STORE_BLOCK, j->limit);
    if (j->code)
        return;
    if (j->hint == 0 && j->index_blocks > 0)
        kl_store_index_by_offset(j->seg->index_reader, j->index_blocks,
                                 j->seg->info.base, j->read->offset, &position);
    if (position == KL_STORE_BLOCK)
        j->expected = j->seg->info.base;
    j->code = read_from(j, position);
    /* The index is never synced, so after a power loss it may lie: only the
     * walk from the first frame shows damage. */
    if (j->code == KL_EBATCH) {
        j->expected = j->seg->info.base;
        j->code = read_from(j, KL_STORE_BLOCK);
    }
}

/* ---- looking up a timestamp -------------------------------------------- */

int kl_store_frame_lookup(const struct kl_base_alloc *alloc,
                          const uint8_t *frame, uint32_t size,
                          int64_t timestamp, int64_t start, int64_t end,
                          int64_t *offset_out, int64_t *timestamp_out)
{
    struct kl_batch_iter it;
    struct kl_batch_record record;
    int rc = kl_batch_iter_init(&it, alloc, frame, size, KL_BATCH_SIZE_MAX);

    if (rc)
        return rc;
    while ((rc = kl_batch_iter_next(&it, &record)) == 0) {
        if (record.timestamp < timestamp || record.offset < start)
            continue;
        if (record.offset >= end)
            rc = KL_EEND;
        *offset_out = record.offset;
        *timestamp_out = record.timestamp;
        break;
    }
    kl_batch_iter_deinit(&it);
    return rc;
}

static int lookup_visit(const struct kl_batch_info *info, uint64_t position,
                        void *user)
{
    struct kl_store_lookup_job *j = user;
    struct kl_os_file *file = j->seg->reader;
    struct kl_base_chunk *chunk;
    struct kl_batch_info again;
    size_t got;
    int rc;

    if (info->last_offset >= j->end)
        return KL_EEND;
    if (info->max_timestamp < j->lookup->timestamp ||
        info->last_offset < j->start)
        return 0;
    rc = kl_base_chunk_new(&chunk, &j->store->alloc, info->frame_size);
    if (rc)
        return rc;
    rc = file->vfs->ops->read(file, chunk->data, info->frame_size, position,
                              &got);
    if (rc == 0 &&
        kl_batch_frame_verify(chunk->data, got, j->log->seed, &again)) {
        j->damage =
            (struct kl_store_damage){info->base_offset, info->last_offset + 1,
                                     position, position + info->frame_size};
        rc = KL_EEND; /* the first record that can be read is wanted */
    }
    if (rc == 0)
        rc = kl_store_frame_lookup(&j->store->alloc, chunk->data,
                                   info->frame_size, j->lookup->timestamp,
                                   j->start, j->end, &j->found_offset,
                                   &j->found_timestamp);
    kl_base_chunk_unref(chunk);
    if (rc == 0) {
        j->code = 0;
        return KL_EEND; /* found: the walk ends */
    }
    return rc == KL_EEND ? 0 : rc;
}

static int lookup_skip(const struct kl_store_damage *damage, void *user)
{
    struct kl_store_lookup_job *j = user;

    j->damage = *damage;
    return 0;
}

static int lookup_run(struct kl_store_lookup_job *j, struct kl_store_scan *scan)
{
    int rc;

    scan->file = j->seg->reader;
    j->code = KL_EEND;
    rc = kl_store_scan_run(scan, lookup_visit, j);
    return rc ? rc : j->code;
}

void kl_store_lookup_lane(struct kl_os_job *job)
{
    struct kl_store_lookup_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_lookup_job, job);
    struct kl_store_scan scan = {
        .alloc = &j->store->alloc,
        .seed = j->log->seed,
        .position = j->hint ? j->hint : KL_STORE_BLOCK,
        .limit = j->limit,
        .offset = -1,
    };
    int rc = kl_store_lane_readers(j->log, j->seg, &j->index_blocks);
    int is_indexed;

    j->code = rc == KL_ENOENT ? KL_EEND : rc;
    if (rc == KL_ENOENT)
        j->damage = (struct kl_store_damage){j->seg->info.base, j->segment_end,
                                             KL_STORE_BLOCK, j->limit};
    if (rc)
        return;
    if (j->hint == 0 && j->index_blocks > 0)
        kl_store_index_by_time(j->seg->index_reader, j->index_blocks,
                               j->seg->info.base, j->lookup->timestamp,
                               &scan.position);
    is_indexed = j->hint == 0 && scan.position > KL_STORE_BLOCK;
    j->code = lookup_run(j, &scan);
    /* The index may lie, and damage ends the walk: all of it, then. */
    if (j->code == KL_EEND &&
        (is_indexed || scan.position + KL_BATCH_OVERHEAD <= j->limit)) {
        scan.position = KL_STORE_BLOCK;
        scan.offset = j->seg->info.base;
        scan.damaged = lookup_skip;
        scan.end = j->segment_end;
        j->code = lookup_run(j, &scan);
    }
}
