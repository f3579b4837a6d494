/*
 * Checking one segment: its header, every frame with its records, the chain of
 * offsets and epochs, and the index beside it, in one pass over both files. The
 * pass can be left and gone on with, so that the findings of a badly damaged
 * segment need not all be kept at once.
 */
#include "store/inspect.h"

#include <string.h>

enum { WALK_FINDINGS = 64 }; /* that wait before a walk is left */

static void walk_path(const struct kl_store_walk *w, const char *suffix,
                      char out[KL_STORE_PATH_MAX])
{
    kl_store_path_segment(w->log, w->info.base, suffix, out);
}

/* Offsets [from, end) and bytes [position, next) of the segment. */
static int walk_note(struct kl_store_walk *w, enum kl_store_finding_kind kind,
                     enum kl_store_severity severity,
                     const struct kl_store_damage *d)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_finding *f;

    if (d->from >= w->cut)
        return 0; /* truncated since */
    walk_path(w, "seg", path);
    f = kl_store_inspect_note(w->in, kind, severity, w->log, path);
    if (!f)
        return KL_ENOMEM;
    f->from = d->from;
    f->end = d->to;
    f->position = d->position;
    f->size = d->next - d->position;
    return 0;
}

/* ---- the index ---------------------------------------------------------- */

/* There need not be one, nor need it be of use. */
static int walk_open_index(struct kl_store_walk *w)
{
    struct kl_os_vfs *vfs = w->log->store->vfs;
    char path[KL_STORE_PATH_MAX];
    uint64_t size = 0;
    int rc;

    walk_path(w, "idx", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &w->index);
    if (rc)
        return kl_store_is_passing(rc) ? rc : 0;
    if (vfs->ops->size(w->index, &size) == 0)
        w->index_blocks = (uint32_t)(size / KL_STORE_BLOCK);
    return 0;
}

/* Once for each block, however many of its entries are wrong. */
static int walk_note_index(struct kl_store_walk *w)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_finding *f;

    if (w->index_told)
        return 0;
    w->index_told = 1;
    walk_path(w, "idx", path);
    f = kl_store_inspect_note(w->in, KL_STORE_FINDING_INDEX, KL_STORE_HARMLESS,
                              w->log, path);
    if (!f)
        return KL_ENOMEM;
    f->position = (uint64_t)(w->index_block - 1) * KL_STORE_BLOCK;
    f->size = KL_STORE_BLOCK;
    return 0;
}

/* Makes entry the next one; bad blocks are noted. KL_EEND behind the last. */
static int walk_next_entry(struct kl_store_walk *w)
{
    uint8_t block[KL_STORE_BLOCK];
    size_t got;
    int rc = 0;

    while (w->entry >= w->entry_count && rc == 0) {
        if (w->index_block == w->index_blocks)
            return KL_EEND;
        rc = w->index->vfs->ops->read(w->index, block, sizeof block,
                                      (uint64_t)w->index_block * KL_STORE_BLOCK,
                                      &got);
        w->index_block++;
        w->index_told = 0;
        w->entry = w->entry_count = 0;
        if (rc == 0 &&
            (got < sizeof block ||
             kl_store_index_block_decode(block, w->info.base, w->entries,
                                         &w->entry_count))) {
            w->entry_count = 0;
            rc = walk_note_index(w);
        }
    }
    return rc;
}

/* A frame begins at position: entries up to it must be what they should. Of
 * times an entry may say too much, after a truncation, but not too little. */
static int walk_index(struct kl_store_walk *w, uint64_t position,
                      int64_t offset)
{
    int rc = 0;

    while (rc == 0 && w->index && (rc = walk_next_entry(w)) == 0) {
        const struct kl_store_index_entry *e = &w->entries[w->entry];

        if (e->position > position)
            break;
        if (e->position >= w->index_from &&
            (e->position < position || w->info.base + e->relative != offset ||
             e->max_timestamp < w->max_timestamp))
            rc = walk_note_index(w);
        w->entry++;
    }
    return rc == KL_EEND ? 0 : rc;
}

/* ---- frames ------------------------------------------------------------ */

static int walk_is_full(const struct kl_store_walk *w)
{
    return w->in->finding_count - w->in->finding_next >= WALK_FINDINGS;
}

static int walk_records(struct kl_store_walk *w,
                        const struct kl_batch_info *info, uint64_t position)
{
    struct kl_store_damage d = {info->base_offset, info->last_offset + 1,
                                position, position + info->frame_size};
    int rc =
        kl_batch_records_verify(&w->in->alloc, w->scan.frame, info->frame_size);

    if (rc == KL_ENOMEM)
        return rc;
    if (rc == KL_EUNSUPPORTED) {
        if (w->codec_told)
            return 0;
        w->codec_told = 1;
        return walk_note(w, KL_STORE_FINDING_CODEC, KL_STORE_HARMLESS, &d);
    }
    if (rc)
        return walk_note(w, KL_STORE_FINDING_RECORDS, KL_STORE_DAMAGE, &d);
    if (kl_batch_frame_crc_verify(w->scan.frame, info))
        return walk_note(w, KL_STORE_FINDING_CRC, KL_STORE_DAMAGE, &d);
    if (info->leader_epoch < w->epoch)
        return walk_note(w, KL_STORE_FINDING_EPOCH, KL_STORE_DAMAGE, &d);
    return 0;
}

static int walk_visit(const struct kl_batch_info *info, uint64_t position,
                      void *user)
{
    struct kl_store_walk *w = user;
    int rc;

    if (walk_is_full(w))
        return KL_EAGAIN; /* the frame comes again */
    rc = walk_index(w, position, info->base_offset);
    if (rc == 0)
        rc = walk_records(w, info, position);
    if (rc)
        return rc;
    if (info->max_timestamp > w->max_timestamp)
        w->max_timestamp = info->max_timestamp;
    if (info->leader_epoch > w->epoch)
        w->epoch = info->leader_epoch;
    w->in->stats.batches++;
    w->in->stats.records += (uint64_t)info->record_count;
    return 0;
}

/* What kind of damage it is shows at its first byte. */
int kl_store_damage_kind(struct kl_os_file *file, uint64_t seed,
                         const struct kl_store_damage *d,
                         enum kl_store_finding_kind *out)
{
    uint8_t header[KL_BATCH_OVERHEAD];
    struct kl_batch_info info;
    uint64_t size;
    size_t got = 0;
    int rc = file->vfs->ops->size(file, &size);

    if (rc == 0)
        rc = file->vfs->ops->read(file, header, sizeof header, d->position,
                                  &got);
    *out = KL_STORE_FINDING_FRAME;
    if (got < sizeof header)
        *out = KL_STORE_FINDING_SHORT;
    else if (kl_batch_frame_header(header, got, seed, &info) == 0 &&
             info.base_offset == d->from)
        *out = d->position + info.frame_size > size ? KL_STORE_FINDING_SHORT
                                                    : KL_STORE_FINDING_BODY;
    return rc;
}

static int walk_damaged(const struct kl_store_damage *d, void *user)
{
    struct kl_store_walk *w = user;
    enum kl_store_finding_kind kind;
    struct kl_store_damage known = *d;
    int rc;

    if (known.to == INT64_MAX)
        known.to = -1; /* nobody knows */
    if (known.to < 0 && known.position >= w->file_size)
        return 0; /* the end */
    rc = kl_store_damage_kind(w->file, w->log->seed, d, &kind);
    if (rc)
        return rc;
    w->index_from = d->next; /* entries before it cannot be judged */
    if (known.next > w->file_size)
        known.next =
            w->file_size > known.position ? w->file_size : known.position;
    rc = walk_note(w, kind, KL_STORE_DAMAGE, &known);
    if (rc)
        return rc;
    return walk_is_full(w) ? KL_EAGAIN : 0;
}

/* ---- the header ---------------------------------------------------------- */

static int walk_header(struct kl_store_walk *w)
{
    const struct kl_store_log *log = w->log;
    struct kl_store_damage d = {-1, -1, 0, KL_STORE_BLOCK};
    uint8_t block[KL_STORE_BLOCK];
    struct kl_store_segment_header h;
    size_t got;
    int rc = w->file->vfs->ops->read(w->file, block, sizeof block, 0, &got);

    if (rc)
        return rc;
    rc = got < sizeof block ? KL_ECORRUPT
                            : kl_store_segment_header_decode(block, &h);
    if (rc == KL_EFORMAT)
        return rc;
    /* The manifest says the same, and every frame knows its log. */
    if (rc)
        return walk_note(w, KL_STORE_FINDING_HEADER, KL_STORE_COVERED, &d);
    if (h.instance != log->instance || h.base != w->info.base ||
        memcmp(&h.id, &log->id, sizeof h.id) != 0)
        return walk_note(w, KL_STORE_FINDING_FOREIGN, KL_STORE_DAMAGE, &d);
    return 0;
}

/* ---- parts ------------------------------------------------------------- */

static int walk_missing(struct kl_store_walk *w)
{
    struct kl_store_damage d = {w->info.base, w->info.end, 0, 0};

    if (w->part == KL_STORE_WALK_TAIL)
        return 0;
    w->scan.offset = w->info.end;
    return walk_note(w, KL_STORE_FINDING_SEGMENT, KL_STORE_DAMAGE, &d);
}

/* What is walked of the file now, from where the scan stands. */
static void walk_set_part(struct kl_store_walk *w, enum kl_store_walk_part part)
{
    w->part = part;
    w->scan.limit = w->file_size;
    w->scan.damaged = NULL;
    if (part == KL_STORE_WALK_STATED || part == KL_STORE_WALK_GUESSED) {
        w->scan.damaged = walk_damaged;
        w->scan.end = w->info.end < 0 ? INT64_MAX : w->info.end;
    }
    if (part == KL_STORE_WALK_STATED)
        w->scan.limit = w->info.size;
}

/* The end of an interval log: nothing was promised of what lies there. */
static int walk_tail(struct kl_store_walk *w)
{
    struct kl_store_damage d = {w->scan.offset, -1, w->scan.position,
                                w->file_size};

    if (w->scan.position >= w->file_size)
        return 0;
    w->is_torn = 1;
    return walk_note(w, KL_STORE_FINDING_TAIL, KL_STORE_HARMLESS, &d);
}

int kl_store_walk_open(struct kl_store_walk *w, struct kl_store_inspect *in,
                       struct kl_store_log *log,
                       const struct kl_store_segment_info *info,
                       enum kl_store_walk_part part)
{
    struct kl_os_vfs *vfs = log->store->vfs;
    char path[KL_STORE_PATH_MAX];
    int rc;

    memset(w, 0, sizeof *w);
    w->in = in;
    w->log = log;
    w->info = *info;
    w->cut = kl_store_inspect_cut(log);
    w->max_timestamp = -1;
    w->epoch = in->epoch;
    w->scan = (struct kl_store_scan){.alloc = &in->alloc,
                                     .seed = log->seed,
                                     .position = KL_STORE_BLOCK,
                                     .offset = info->base,
                                     .verify_body = 1};
    walk_set_part(w, part);
    walk_path(w, "seg", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &w->file);
    if (rc == KL_ENOENT)
        return walk_missing(w);
    if (rc == 0)
        rc = vfs->ops->size(w->file, &w->file_size);
    if (rc)
        return rc;
    w->scan.file = w->file;
    walk_set_part(w, part);
    in->stats.segments++;
    rc = walk_open_index(w);
    return rc ? rc : walk_header(w);
}

int kl_store_walk_run(struct kl_store_walk *w)
{
    int rc = 0;

    if (!w->file)
        return 0;
    for (;;) {
        rc = kl_store_scan_run(&w->scan, walk_visit, w);
        if (rc)
            return rc;
        w->in->epoch = w->epoch;
        if (w->part == KL_STORE_WALK_TAIL)
            return walk_tail(w);
        if (!w->has_tail)
            return 0;
        walk_set_part(w, KL_STORE_WALK_TAIL);
    }
}

void kl_store_walk_close(struct kl_store_walk *w)
{
    if (w->file)
        w->file->vfs->ops->close(w->file);
    if (w->index)
        w->index->vfs->ops->close(w->index);
    w->file = w->index = NULL;
}
