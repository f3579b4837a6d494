/*
 * The rig of the read lane.
 */
#include "segment.h"

#include <stdlib.h>

enum { SEGMENT_MISSING = 7 };

/* ---- a file of bytes ----------------------------------------------------- */

static int file_read(struct kl_os_file *base, void *buf, size_t size,
                     uint64_t offset, size_t *read_out)
{
    const struct segment_file *f = (const struct segment_file *)base;
    uint64_t end = f->zeros + f->size;
    size_t zeros = 0;

    *read_out = 0;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    if (offset < f->zeros)
        zeros = size < f->zeros - offset ? size : (size_t)(f->zeros - offset);
    memset(buf, 0, zeros);
    if (size > zeros)
        memcpy((uint8_t *)buf + zeros, f->data + (offset + zeros - f->zeros),
               size - zeros);
    *read_out = size;
    return 0;
}

static int file_size(struct kl_os_file *base, uint64_t *size_out)
{
    const struct segment_file *f = (const struct segment_file *)base;

    *size_out = f->zeros + f->size;
    return 0;
}

static const struct kl_os_vfs_ops file_ops = {.read = file_read,
                                              .size = file_size};
static struct kl_os_vfs file_vfs = {&file_ops};

/* ---- the rig ------------------------------------------------------------- */

/* Frames that verify and whose offsets follow each other. */
static void segment_walk(struct segment *s)
{
    const struct segment_file *f = &s->file;
    size_t at = 0;

    s->count = 0;
    while (s->count < SEGMENT_FRAMES) {
        struct segment_frame *frame = &s->frames[s->count];

        if (kl_batch_frame_verify(f->data + at, f->size - at, s->log.seed,
                                  &frame->info) ||
            (s->count > 0 &&
             frame->info.base_offset != frame[-1].info.last_offset + 1))
            break;
        frame->position = KL_STORE_BLOCK + at;
        at += frame->info.frame_size;
        s->count++;
    }
    s->end = KL_STORE_BLOCK + at;
}

static int64_t segment_end_offset(const struct segment *s)
{
    return s->count > 0 ? s->frames[s->count - 1].info.last_offset + 1 : -1;
}

void segment_init(struct segment *s, const uint8_t *frames, size_t size,
                  uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->store.alloc = fuzz_alloc;
    s->log.store = &s->store;
    s->log.seed = seed;
    s->seg.log = &s->log;
    s->file = (struct segment_file){{&file_vfs}, frames, size, KL_STORE_BLOCK};
    s->seg.reader = &s->file.base;
    s->seg.info.size = KL_STORE_BLOCK + size;
    segment_walk(s);
    s->seg.info.base = s->count > 0 ? s->frames[0].info.base_offset : 0;
    s->seg.info.end = s->seg.info.base;
    if (s->count > 0)
        s->seg.info.end = segment_end_offset(s);
    /* What does not verify should have held some records more. */
    if (s->end < s->seg.info.size)
        s->seg.info.end += SEGMENT_MISSING;
}

void segment_set_index(struct segment *s, const uint8_t *data, size_t size,
                       uint32_t blocks)
{
    s->index = (struct segment_file){{&file_vfs}, data, size, 0};
    s->seg.index_reader = &s->index.base;
    s->seg.index_blocks = blocks;
}

/* The frame with the offset, or NULL. */
static const struct segment_frame *segment_frame_of(const struct segment *s,
                                                    int64_t offset)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->frames[i].info.base_offset <= offset &&
            s->frames[i].info.last_offset >= offset)
            return &s->frames[i];
    return NULL;
}

static const uint8_t *segment_bytes(const struct segment *s,
                                    const struct segment_frame *f)
{
    return s->file.data + (f->position - KL_STORE_BLOCK);
}

/* ---- walking -------------------------------------------------------------
 */

struct segment_visit
{
    const struct segment *s;
    size_t count;
};

static int segment_visit(const struct kl_batch_info *info, uint64_t position,
                         void *user)
{
    struct segment_visit *v = user;
    const struct segment_frame *f = &v->s->frames[v->count];

    if (v->count++ >= v->s->count)
        return 0; /* bodies are not looked at, or the walk goes on */
    FUZZ_CHECK(f->position == position);
    FUZZ_CHECK(memcmp(&f->info, info, sizeof *info) == 0);
    return 0;
}

void segment_check_scan(struct segment *s, int verify_body, int64_t offset)
{
    struct segment_visit v = {s, 0};
    struct kl_store_scan scan = {
        .file = &s->file.base,
        .alloc = &fuzz_alloc,
        .seed = s->log.seed,
        .position = KL_STORE_BLOCK,
        .limit = s->seg.info.size,
        .offset = offset,
        .verify_body = verify_body,
    };
    int is_other = offset >= 0 &&
                   (s->count == 0 || offset != s->frames[0].info.base_offset);

    FUZZ_CHECK(kl_store_scan_run(&scan, segment_visit, &v) == 0);
    if (is_other && verify_body) {
        FUZZ_CHECK(v.count == 0 && scan.position == KL_STORE_BLOCK);
        return;
    }
    if (verify_body && s->count < SEGMENT_FRAMES) {
        FUZZ_CHECK(v.count == s->count && scan.position == s->end);
        FUZZ_CHECK(s->count == 0 || scan.offset == segment_end_offset(s));
    }
    FUZZ_CHECK(scan.position <= s->seg.info.size);
}

void segment_check_find(struct segment *s, int64_t offset)
{
    struct kl_store_find find = {
        .file = &s->file.base,
        .index = s->seg.index_reader,
        .blocks = s->seg.index_blocks,
        .alloc = &fuzz_alloc,
        .seed = s->log.seed,
        .base = s->seg.info.base,
        .limit = s->seg.info.size,
    };
    const struct segment_frame *f = segment_frame_of(s, offset);
    uint64_t position = 0;
    int rc = kl_store_find_position(&find, offset, &position);

    if (f && f->info.base_offset == offset)
        FUZZ_CHECK(rc == 0 && position == f->position);
    else if (s->count > 0 && offset == segment_end_offset(s))
        FUZZ_CHECK(rc == 0 && position == s->end);
    else if (f || offset < s->seg.info.base)
        FUZZ_CHECK(rc == KL_ECORRUPT);
    else
        FUZZ_CHECK(rc == 0 ? position <= s->seg.info.size : rc == KL_ECORRUPT);
}

/* ---- reading ------------------------------------------------------------- */

static void segment_check_frames(struct segment *s,
                                 const struct kl_store_read_job *j)
{
    const uint8_t *p = j->chunk->data + j->from;
    uint32_t left = j->size;
    int64_t next = -1;

    FUZZ_CHECK(j->from + (size_t)j->size <= j->chunk->size);
    while (left > 0) {
        struct kl_batch_info info;

        FUZZ_CHECK(kl_batch_frame_verify(p, left, s->log.seed, &info) == 0);
        FUZZ_CHECK(next < 0 ? info.base_offset <= j->read->offset &&
                                  info.last_offset >= j->read->offset
                            : info.base_offset == next);
        FUZZ_CHECK(info.last_offset < j->end);
        next = info.last_offset + 1;
        p += info.frame_size;
        left -= info.frame_size;
    }
    FUZZ_CHECK(j->next_offset == next);
}

void segment_check_read(struct segment *s, int64_t offset, int64_t end,
                        uint32_t bytes_max, uint64_t hint)
{
    struct kl_store_read read = {
        .log = &s->log, .offset = offset, .end = end, .bytes_max = bytes_max};
    struct kl_store_read_job j = {
        .store = &s->store,
        .log = &s->log,
        .seg = &s->seg,
        .read = &read,
        .end = end,
        .hint = hint,
        .limit = s->seg.info.size,
        .segment_end = s->seg.info.end,
        .expected = -1,
        .index_blocks = s->seg.index_blocks,
    };
    const struct segment_frame *f = segment_frame_of(s, offset);

    if (offset < s->seg.info.base || offset >= s->seg.info.end)
        return; /* it would have been looked for in another one */
    kl_store_read_lane(&j.job);
    FUZZ_CHECK(j.code == 0 || j.code == KL_ECORRUPT);
    if (j.code == 0 && j.size > 0)
        segment_check_frames(s, &j);
    /* The reader goes on behind what is lost, and it does go on. */
    if (j.code == KL_ECORRUPT)
        FUZZ_CHECK(j.damage.from <= offset && j.damage.to > offset &&
                   j.next_offset == j.damage.to);
    if (f && hint == 0) {
        FUZZ_CHECK(j.code == 0);
        FUZZ_CHECK((j.size > 0) == (f->info.last_offset < end));
        FUZZ_CHECK(j.size == 0 ||
                   memcmp(j.chunk->data + j.from, segment_bytes(s, f),
                          f->info.frame_size) == 0);
    }
    kl_base_chunk_unref(j.chunk);
}

/* ---- looking up ---------------------------------------------------------- */

/* The first such record; KL_EEND, or KL_ECORRUPT where a batch before it
 * cannot be read. */
static int segment_lookup(const struct segment *s,
                          const struct kl_store_lookup_job *j, int64_t *offset,
                          int64_t *timestamp)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct segment_frame *f = &s->frames[i];
        int rc;

        if (f->info.last_offset >= j->end)
            break;
        if (f->info.max_timestamp < j->lookup->timestamp ||
            f->info.last_offset < j->start)
            continue;
        rc = kl_store_frame_lookup(&fuzz_alloc, segment_bytes(s, f),
                                   f->info.frame_size, j->lookup->timestamp,
                                   j->start, j->end, offset, timestamp);
        if (rc != KL_EEND)
            return rc;
    }
    return KL_EEND;
}

void segment_check_lookup(struct segment *s, int64_t timestamp, int64_t start,
                          int64_t end, int may_skip)
{
    struct kl_store_lookup lookup = {
        .log = &s->log, .timestamp = timestamp, .end = end};
    struct kl_store_lookup_job j = {
        .store = &s->store,
        .log = &s->log,
        .seg = &s->seg,
        .lookup = &lookup,
        .limit = s->seg.info.size,
        .start = start,
        .end = end,
        .segment_end = s->seg.info.end,
        .index_blocks = s->seg.index_blocks,
    };
    int64_t offset, found;
    int rc = segment_lookup(s, &j, &offset, &found);

    kl_store_lookup_lane(&j.job);
    FUZZ_CHECK(j.code == 0 || j.code == KL_EEND || j.code == KL_ECORRUPT ||
               j.code == KL_EUNSUPPORTED || j.code == KL_EBATCH);
    if (j.code == 0)
        FUZZ_CHECK(j.found_timestamp >= timestamp && j.found_offset >= start &&
                   j.found_offset < end);
    /* Behind what is damaged there may be more. */
    if (may_skip || (rc && s->end < s->seg.info.size))
        return;
    FUZZ_CHECK(j.code == rc);
    FUZZ_CHECK(rc || (j.found_offset == offset && j.found_timestamp == found));
}
