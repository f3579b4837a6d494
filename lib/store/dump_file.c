/*
 * Telling what one file holds of which nothing else is known. Its first bytes
 * say what it is; a segment says itself whose it is, or its path does where its
 * header is damaged.
 */
#include "store/dump.h"

#include "base/endian.h"

#include <string.h>

enum { FILE_SMALL_MAX = 1 << 30 };

struct kl_store_dump_file
{
    struct kl_store_readonly readonly;
    struct kl_os_file *file;
    uint64_t size;
    struct kl_base_buf buf; /* all of a small file */
    struct kl_base_cursor cursor;
    struct kl_store_slot slot;
    uint32_t logs_left;
    struct kl_batch_epochs epochs;
    struct kl_store_segment_header header;
    struct kl_store_scan scan;
    struct kl_store_ring ring;
};

static int file_emit(struct kl_store_dump *d,
                     const struct kl_store_dump_event *e)
{
    return d->fn(e, d->user);
}

/* ---- small files ----------------------------------------------------------
 */

static int file_identity_step(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_store_identity identity;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_IDENTITY,
                                    .identity = &identity};
    int rc = kl_store_identity_decode(a->buf.data, a->buf.size, &identity);

    if (rc == 0)
        rc = file_emit(d, &e);
    return rc ? rc : KL_EEND;
}

static int file_slot_head(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_SLOT,
                                    .slot = {.name = "checkpoint"}};
    int rc =
        kl_store_slot_decode(a->buf.data, a->buf.size, &a->cursor, &a->slot);

    if (rc)
        return rc;
    kl_store_dump_fill_slot(&e.slot, &a->slot);
    rc = file_emit(d, &e);
    a->logs_left = a->slot.log_count;
    return rc;
}

static int file_slot_log(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_base_cursor c = a->cursor;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_LOG};
    struct kl_store_slot_log log;
    struct kl_batch_epoch epoch;
    int rc = kl_store_slot_next(&c, &log);

    kl_batch_epochs_truncate(&a->epochs, 0);
    for (uint32_t i = 0; rc == 0 && i < log.epoch_count; i++) {
        rc = kl_store_slot_epoch(&c, &epoch);
        if (rc == 0)
            rc = kl_batch_epochs_append(&a->epochs, d->alloc, epoch.epoch,
                                        epoch.start);
    }
    if (rc)
        return rc == KL_EINVAL ? KL_ECORRUPT : rc;
    e.log = (struct kl_store_dump_log){
        .id = log.id,
        .instance = log.instance,
        .truncation = log.truncation,
        .flush = (enum kl_store_flush)log.flush,
        .start = log.start,
        .leo = log.leo,
        .is_suspect = (log.flags & KL_STORE_SLOT_DAMAGED) != 0,
        .epochs = &a->epochs};
    rc = file_emit(d, &e);
    if (rc == 0) {
        a->cursor = c;
        a->logs_left--;
    }
    return rc;
}

static int file_slot_step(struct kl_store_dump *d)
{
    int rc;

    if (d->is_told)
        return d->alone->logs_left ? file_slot_log(d) : KL_EEND;
    rc = file_slot_head(d);
    d->is_told = rc == 0;
    return rc;
}

static int file_manifest_step(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_SEGMENT};
    int rc;

    if (!d->is_told) {
        rc = kl_store_manifest_decode(a->buf.data, a->buf.size, d->alloc,
                                      &d->manifest);
        d->is_told = rc == 0;
        return rc;
    }
    if (d->segment == d->manifest.count)
        return KL_EEND;
    kl_store_dump_fill_segment(&e.segment, &d->manifest,
                               &d->manifest.segments[d->segment]);
    rc = file_emit(d, &e);
    d->segment += rc == 0;
    return rc;
}

/* ---- an index -------------------------------------------------------------
 */

static int file_index_step(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_INDEX};
    uint8_t block[KL_STORE_BLOCK];
    uint32_t count = 0;
    int64_t base;
    size_t got;
    int rc;

    if (d->position + KL_STORE_BLOCK > a->size)
        return KL_EEND;
    rc = a->file->vfs->ops->read(a->file, block, sizeof block, d->position,
                                 &got);
    base = (int64_t)kl_base_get_le64(block + 8);
    if (rc == 0 && kl_store_index_block_decode(block, base, entries, &count))
        count = 0; /* a bad block has no entries */
    for (; rc == 0 && d->entry < count; d->entry += rc == 0) {
        e.index.offset = base + entries[d->entry].relative;
        e.index.position = entries[d->entry].position;
        e.index.max_timestamp = entries[d->entry].max_timestamp;
        rc = file_emit(d, &e);
    }
    if (rc == 0) {
        d->position += KL_STORE_BLOCK;
        d->entry = 0;
    }
    return rc;
}

/* ---- a segment -------------------------------------------------------------
 */

static int file_segment_head(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_SEGMENT};

    e.segment =
        (struct kl_store_dump_segment){.id = a->header.id,
                                       .instance = a->header.instance,
                                       .truncation = a->header.truncation,
                                       .base = a->header.base,
                                       .end = -1,
                                       .size = a->size,
                                       .max_timestamp = -1};
    a->scan.file = a->file;
    a->scan.alloc = d->alloc;
    a->scan.seed =
        kl_batch_seed(&a->header.id.topic_id, a->header.id.partition);
    a->scan.position = KL_STORE_BLOCK;
    a->scan.limit = a->size;
    a->scan.offset = a->header.base;
    a->scan.end = INT64_MAX;
    a->scan.verify_body = 1;
    return file_emit(d, &e);
}

static int file_frame(const struct kl_batch_info *info, uint64_t position,
                      void *user)
{
    struct kl_store_dump *d = user;
    struct kl_store_content_frame f = {.data = d->alone->scan.frame,
                                       .info = info,
                                       .segment = d->alone->header.base,
                                       .wal_file = -1,
                                       .position = position};
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_FRAME, .frame = &f};

    return file_emit(d, &e);
}

static int file_damaged(const struct kl_store_damage *damage, void *user)
{
    struct kl_store_dump *d = user;
    struct kl_store_dump_event e = {
        .type = KL_STORE_DUMP_LOST,
        .lost = {.from = damage->from, .end = damage->to}};
    int rc;

    if (damage->to == INT64_MAX) {
        if (damage->position >= d->alone->size)
            return 0; /* the end */
        e.lost.end = -1;
    }
    rc = kl_store_damage_kind(d->alone->file, d->alone->scan.seed, damage,
                              &e.lost.why);
    return rc ? rc : file_emit(d, &e);
}

static int file_segment_step(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;
    int rc;

    if (!d->is_told) {
        rc = file_segment_head(d);
        d->is_told = rc == 0;
        return rc;
    }
    a->scan.damaged = file_damaged;
    rc = kl_store_scan_run(&a->scan, file_frame, d);
    return rc ? rc : KL_EEND;
}

/* From its header, or from where it lies: .../<log>/<base>.seg. */
static int file_segment_name(struct kl_store_dump_file *a, const char *path)
{
    uint8_t block[KL_STORE_BLOCK];
    const char *name = strrchr(path, '/');
    const char *folder = name;
    char text[128];
    size_t got;
    int rc = a->file->vfs->ops->read(a->file, block, sizeof block, 0, &got);

    if (rc)
        return rc;
    rc = got < sizeof block ? KL_ECORRUPT
                            : kl_store_segment_header_decode(block, &a->header);
    if (rc != KL_ECORRUPT || !name)
        return rc;
    memset(&a->header, 0, sizeof a->header);
    while (folder > path && folder[-1] != '/')
        folder--;
    if ((size_t)(name - folder) >= sizeof text)
        return KL_ECORRUPT;
    memcpy(text, folder, (size_t)(name - folder));
    text[name - folder] = 0;
    return kl_store_path_parse(text, &a->header.id, &a->header.instance) &&
                   kl_store_path_base(name + 1, &a->header.base)
               ? 0
               : KL_ECORRUPT;
}

/* ---- a file of the ring ------------------------------------------------- */

/* Whose groups these are. Without any it is a file of a ring where it lies so,
 * else KL_ECORRUPT. */
static int file_ring_owner(struct kl_store_dump *d, const char *path)
{
    const char *name = strrchr(path, '/');
    struct kl_store_dump_file *a = d->alone;
    int rc;

    a->ring.files = &a->file;
    a->ring.file_count = 1;
    a->ring.file_size = a->size / KL_STORE_BLOCK * KL_STORE_BLOCK;
    a->ring.alloc = d->alloc;
    d->ring = &a->ring;
    rc = kl_store_inspect_owner(&a->ring);
    if (rc != KL_EEND)
        return rc;
    return name && name - path >= 3 && strncmp(name - 3, "wal/", 4) == 0
               ? 0
               : KL_ECORRUPT;
}

/* ---- life -------------------------------------------------------------- */

static int file_open(struct kl_store_dump *d, const char *path)
{
    struct kl_store_dump_file *a = d->alone;
    struct kl_os_vfs *vfs = &a->readonly.base;
    uint32_t magic = 0;
    uint8_t first[4];
    size_t got;
    int rc = vfs->ops->open(vfs, path, KL_OS_READ, &a->file);

    if (rc == 0)
        rc = vfs->ops->size(a->file, &a->size);
    if (rc == 0)
        rc = vfs->ops->read(a->file, first, sizeof first, 0, &got);
    if (rc)
        return rc;
    if (got == sizeof first)
        magic = kl_base_get_le32(first);
    if (magic == KL_STORE_MAGIC_IDENTITY)
        d->step = file_identity_step;
    else if (magic == KL_STORE_MAGIC_SLOT)
        d->step = file_slot_step;
    else if (magic == KL_STORE_MAGIC_MANIFEST)
        d->step = file_manifest_step;
    else if (magic == KL_STORE_MAGIC_INDEX)
        d->step = file_index_step;
    if (d->step == file_index_step)
        return 0;
    if (d->step)
        return kl_store_file_read(vfs, path, FILE_SMALL_MAX, &a->buf);
    d->step = file_segment_step;
    rc = file_segment_name(a, path);
    if (rc != KL_ECORRUPT)
        return rc;
    d->step = kl_store_dump_ring_step;
    return file_ring_owner(d, path);
}

void kl_store_dump_close_file(struct kl_store_dump *d)
{
    struct kl_store_dump_file *a = d->alone;

    if (!a)
        return;
    if (a->file)
        a->file->vfs->ops->close(a->file);
    kl_base_buf_deinit(&a->buf);
    kl_base_buf_deinit(&a->ring.group);
    kl_batch_epochs_deinit(&a->epochs, d->alloc);
    kl_base_free(d->alloc, a, sizeof *a);
    d->alone = NULL;
}

int kl_store_dump_file(struct kl_store_dump **out,
                       const struct kl_base_alloc *alloc, struct kl_os_vfs *vfs,
                       const char *path, kl_store_dump_fn fn, void *user,
                       struct kl_base_error *error)
{
    struct kl_store_dump *d;
    int rc = kl_store_dump_alloc(&d, alloc, fn, user);

    if (rc)
        return rc;
    d->alone = kl_base_calloc(alloc, sizeof *d->alone);
    rc = KL_ENOMEM;
    if (d->alone) {
        kl_store_readonly_init(&d->alone->readonly, vfs, alloc);
        kl_base_buf_init(&d->alone->buf, alloc);
        kl_base_buf_init(&d->alone->ring.group, alloc);
        kl_batch_epochs_init(&d->alone->epochs);
        rc = file_open(d, path);
    }
    if (rc == 0) {
        *out = d;
        return 0;
    }
    kl_store_dump_free(d);
    if (rc == KL_ECORRUPT)
        return kl_base_error_set(error, rc, "%s is no file of a store", path);
    return kl_base_error_set(error, rc, "%s: %s", path, kl_store_why(rc));
}
