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

/* Walks the chunk read from position. Sets from and size to the wanted frames;
 * returns KL_EAGAIN with next_position where the first wanted frame begins but
 * is not whole, and want its size. */
static int read_walk(struct kl_store_read_job *j, uint64_t position,
                     size_t *want)
{
    const struct kl_store_read *r = j->read;
    const uint8_t *data = j->chunk->data;
    size_t size = j->chunk->size, at = 0;
    struct kl_batch_info info;
    int rc = 0;

    j->size = 0;
    *want = KL_BATCH_OVERHEAD;
    while (at + KL_BATCH_OVERHEAD <= size) {
        rc = kl_batch_frame_header(data + at, size - at, j->log->seed, &info);
        if (rc)
            break;
        *want = info.frame_size;
        if (info.last_offset >= r->offset) {
            if (j->size == 0 && info.base_offset > r->offset)
                return KL_ECORRUPT; /* not where the offset should be */
            if (info.last_offset >= j->end || at + info.frame_size > size ||
                (j->size > 0 && j->size + info.frame_size > r->bytes_max))
                break;
            rc = kl_batch_frame_body(data + at, j->log->seed, &info);
            if (rc)
                break;
            if (j->size == 0)
                j->from = (uint32_t)at;
            j->size += info.frame_size;
            j->next_offset = info.last_offset + 1;
        }
        at += info.frame_size;
        *want = KL_BATCH_OVERHEAD;
    }
    j->next_position = position + at;
    /* Damage behind good frames is the next read's business. */
    if (j->size > 0)
        return 0;
    if (rc)
        return KL_ECORRUPT;
    if (at + KL_BATCH_OVERHEAD <= size && info.last_offset >= j->end &&
        info.base_offset <= r->offset)
        return 0; /* the frame ends above what may be seen */
    return KL_EAGAIN;
}

static int read_from(struct kl_store_read_job *j, uint64_t position)
{
    size_t want = j->read->bytes_max;
    size_t least = 0;
    int rc;

    if (want < KL_STORE_BLOCK)
        want = KL_STORE_BLOCK;
    for (;;) {
        if (position + KL_BATCH_OVERHEAD > j->limit)
            return KL_ECORRUPT; /* the offset should have been in here */
        rc = read_fill(j, position, want);
        if (rc == 0)
            rc = read_walk(j, position, &least);
        if (rc != KL_EAGAIN)
            return rc;
        /* All that was read lies before the offset, or one frame is larger
         * than what was read. Neither: the file is shorter than it should. */
        if ((j->next_position == position && want >= least) ||
            least > j->limit - j->next_position)
            return KL_ECORRUPT;
        position = j->next_position;
        if (want < least)
            want = least;
    }
}

void kl_store_read_lane(struct kl_os_job *job)
{
    struct kl_store_read_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_read_job, job);
    uint64_t position = j->hint ? j->hint : KL_STORE_BLOCK;

    j->next_offset = j->read->offset;
    j->code = kl_store_lane_readers(j->log, j->seg, &j->index_blocks);
    if (j->code)
        return;
    if (j->hint == 0 && j->index_blocks > 0)
        kl_store_index_by_offset(j->seg->index_reader, j->index_blocks,
                                 j->seg->info.base, j->read->offset, &position);
    j->code = read_from(j, position);
    /* The index is never synced, so after a power loss it may lie: only the
     * walk from the first frame shows damage. */
    if (j->code == KL_ECORRUPT && position > KL_STORE_BLOCK)
        j->code = read_from(j, KL_STORE_BLOCK);
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
    if (rc == 0)
        rc = kl_batch_frame_verify(chunk->data, got, j->log->seed, &again)
                 ? KL_ECORRUPT
                 : 0;
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

    j->code = rc;
    if (rc)
        return;
    if (j->hint == 0 && j->index_blocks > 0)
        kl_store_index_by_time(j->seg->index_reader, j->index_blocks,
                               j->seg->info.base, j->lookup->timestamp,
                               &scan.position);
    j->code = lookup_run(j, &scan);
    if (j->code && j->hint == 0 && scan.position > KL_STORE_BLOCK) {
        scan.position = KL_STORE_BLOCK; /* the index may lie */
        scan.offset = -1;
        j->code = lookup_run(j, &scan);
    }
}
