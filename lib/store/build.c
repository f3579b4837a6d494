/*
 * Writing logs to a new folder: segments with their indexes, manifests, then
 * the checkpoints that know them, and the identity last. A log keeps its
 * instance and its offsets; where offsets are missing a segment ends and
 * another one begins behind the gap.
 */
#include "store/build.h"

#include "os/lane.h"

#include <string.h>

enum { BUILD_BLOCK = 256 * 1024, BUILD_INDEX_BYTES = 4096 };

/* What the folder must hold when it is opened. */
struct build_made
{
    struct kl_store_id id;
    int64_t start;
    int64_t leo;
};

struct kl_store_build
{
    struct kl_base_alloc alloc;
    struct kl_os_vfs *vfs;
    struct kl_os_lanes *lanes;
    struct kl_store_config config;
    struct kl_store *store; /* not opened: names, the ring, the lock */
    int64_t wall_ms;
    uint64_t first_sequence;
    struct kl_base_buf logs; /* as the slot will state them */
    struct build_made *made;
    size_t made_count;
    size_t made_capacity;

    /* The log under way. */
    struct kl_store_log *log;
    int64_t next;
    uint64_t segment_bytes;
    struct kl_store_segment_info *segments;
    size_t segment_count;
    size_t segment_capacity;

    /* Its last segment, while it is written. */
    struct kl_os_file *file;
    struct kl_os_file *index;
    struct kl_base_buf out; /* bytes of the file that are not written yet */
    uint64_t written;
    uint64_t indexed;
    uint32_t index_blocks;
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
    uint32_t entry_count;
};

/* ---- a segment -------------------------------------------------------------
 */

static int build_write(struct kl_os_file *file, uint64_t offset,
                       const void *data, size_t size)
{
    struct kl_os_iovec part = {data, size};

    return file->vfs->ops->write(file, &part, 1, offset, NULL);
}

static int build_flush(struct kl_store_build *b)
{
    int rc = b->out.error;

    if (rc == 0 && b->out.size > 0)
        rc = build_write(b->file, b->written, b->out.data, b->out.size);
    b->written += b->out.size;
    kl_base_buf_clear(&b->out);
    return rc;
}

static int build_flush_index(struct kl_store_build *b)
{
    struct kl_store_segment_info *info = &b->segments[b->segment_count - 1];
    uint8_t block[KL_STORE_BLOCK];

    if (b->entry_count == 0)
        return 0;
    kl_store_index_block_encode(block, info->base, b->entries, b->entry_count);
    b->entry_count = 0;
    return build_write(b->index, (uint64_t)b->index_blocks++ * KL_STORE_BLOCK,
                       block, sizeof block);
}

static int build_close(struct kl_os_file **file)
{
    int rc, closed;

    if (!*file)
        return 0;
    rc = (*file)->vfs->ops->sync(*file);
    closed = (*file)->vfs->ops->close(*file);
    *file = NULL;
    return rc ? rc : closed;
}

static int build_end_segment(struct kl_store_build *b)
{
    int rc, index;

    if (!b->file)
        return 0;
    rc = build_flush(b);
    if (rc == 0)
        rc = build_flush_index(b);
    index = build_close(&b->index);
    if (rc == 0)
        rc = index;
    index = build_close(&b->file);
    return rc ? rc : index;
}

static int build_open(struct kl_store_build *b, int64_t base,
                      const char *suffix, struct kl_os_file **out)
{
    char path[KL_STORE_PATH_MAX];

    kl_store_path_segment(b->log, base, suffix, path);
    return b->vfs->ops->open(b->vfs, path, KL_OS_WRITE | KL_OS_CREATE, out);
}

static int build_begin_segment(struct kl_store_build *b, int64_t base)
{
    struct kl_store_segment_header h = {.id = b->log->id,
                                        .instance = b->log->instance,
                                        .base = base,
                                        .truncation = b->log->truncation};
    char folder[KL_STORE_PATH_MAX];
    uint8_t *header;
    int rc = build_end_segment(b);

    kl_store_path_log(b->log, folder);
    if (rc == 0 && b->segment_count == 0)
        rc = b->vfs->ops->mkdir(b->vfs, folder);
    if (rc == 0)
        rc = kl_base_reserve(&b->alloc, (void **)&b->segments,
                             &b->segment_capacity, b->segment_count + 1,
                             sizeof *b->segments);
    if (rc == 0)
        rc = build_open(b, base, "seg", &b->file);
    if (rc == 0)
        rc = build_open(b, base, "idx", &b->index);
    if (rc)
        return rc;
    b->segments[b->segment_count++] =
        (struct kl_store_segment_info){.base = base,
                                       .end = base,
                                       .size = KL_STORE_BLOCK,
                                       .max_timestamp = -1,
                                       .first_ms = b->wall_ms,
                                       .last_ms = b->wall_ms,
                                       .truncation = b->log->truncation};
    b->written = b->index_blocks = b->entry_count = 0;
    b->indexed = KL_STORE_BLOCK;
    header = kl_base_buf_extend(&b->out, KL_STORE_BLOCK);
    if (!header)
        return KL_ENOMEM;
    kl_store_segment_header_encode(header, &h);
    return 0;
}

static int build_note_index(struct kl_store_build *b,
                            const struct kl_store_segment_info *info,
                            int64_t offset)
{
    if (info->size - b->indexed < BUILD_INDEX_BYTES)
        return 0;
    b->entries[b->entry_count++] = (struct kl_store_index_entry){
        (uint32_t)(offset - info->base), (uint32_t)info->size,
        info->max_timestamp};
    b->indexed = info->size;
    return b->entry_count == KL_STORE_INDEX_FANOUT ? build_flush_index(b) : 0;
}

/* ---- a log ----------------------------------------------------------------
 */

int kl_store_build_log_begin(struct kl_store_build *b,
                             const struct kl_store_build_log *log)
{
    const struct kl_batch_epochs *epochs = log->epochs;
    int rc = kl_store_log_new(b->store, &log->id, log->flush, &b->log);

    if (rc)
        return rc;
    b->log->instance = log->instance;
    b->log->truncation = log->truncation;
    b->log->start = log->start;
    for (uint32_t i = 0; epochs && i < epochs->count && rc == 0; i++)
        rc = kl_batch_epochs_append(&b->log->epochs, &b->alloc,
                                    epochs->items[i].epoch,
                                    epochs->items[i].start);
    b->next = 0;
    b->segment_bytes = log->segment_bytes;
    b->segment_count = 0;
    return rc;
}

static int build_is_full(const struct kl_store_build *b, uint32_t size)
{
    const struct kl_store_segment_info *info =
        &b->segments[b->segment_count - 1];

    return info->size > KL_STORE_BLOCK &&
           (info->size + size > b->segment_bytes ||
            info->size + size > UINT32_MAX);
}

static void build_note_times(struct kl_store_build *b,
                             struct kl_store_segment_info *info,
                             int64_t first_ms, int64_t last_ms)
{
    int is_first = info->size == KL_STORE_BLOCK;

    if (first_ms <= 0 || last_ms <= 0)
        first_ms = last_ms = b->wall_ms;
    if (is_first || first_ms < info->first_ms)
        info->first_ms = first_ms;
    if (is_first || last_ms > info->last_ms)
        info->last_ms = last_ms;
}

int kl_store_build_frame(struct kl_store_build *b, const uint8_t *data,
                         const struct kl_batch_info *info, int64_t first_ms,
                         int64_t last_ms)
{
    struct kl_store_segment_info *segment;
    int rc;

    if (info->base_offset < b->next)
        return KL_EINVAL;
    rc = kl_batch_epochs_append(&b->log->epochs, &b->alloc, info->leader_epoch,
                                info->base_offset);
    /* A list that was given knows it already. */
    if (rc == KL_EINVAL &&
        kl_batch_epochs_at(&b->log->epochs, info->base_offset) ==
            info->leader_epoch)
        rc = 0;
    if (rc == 0 && (b->segment_count == 0 || info->base_offset != b->next ||
                    build_is_full(b, info->frame_size)))
        rc = build_begin_segment(b, info->base_offset);
    if (rc)
        return rc;
    segment = &b->segments[b->segment_count - 1];
    rc = build_note_index(b, segment, info->base_offset);
    build_note_times(b, segment, first_ms, last_ms);
    kl_base_buf_append(&b->out, data, info->frame_size);
    segment->size += info->frame_size;
    segment->end = b->next = info->last_offset + 1;
    if (info->max_timestamp > segment->max_timestamp)
        segment->max_timestamp = info->max_timestamp;
    if (rc == 0 && b->out.size >= BUILD_BLOCK)
        rc = build_flush(b);
    return rc ? rc : b->out.error;
}

/* All segments but the last one are closed for ever. */
static int build_manifest(struct kl_store_build *b)
{
    struct kl_store_segment_info last = b->segments[b->segment_count - 1];
    struct kl_store_manifest m = {.id = b->log->id,
                                  .instance = b->log->instance,
                                  .truncation = b->log->truncation,
                                  .count = (uint32_t)b->segment_count,
                                  .segments = b->segments};
    char path[KL_STORE_PATH_MAX];
    int rc;

    b->segments[b->segment_count - 1].end = -1;
    b->segments[b->segment_count - 1].size = 0;
    rc = kl_store_manifest_encode(&b->out, &m);
    kl_store_path_in_log(b->log, "manifest", path);
    if (rc == 0)
        rc = kl_store_file_replace(b->vfs, path, &b->out);
    kl_base_buf_clear(&b->out);
    b->segments[b->segment_count - 1] = last;
    return rc;
}

static int build_slot_log(struct kl_store_build *b, int64_t leo)
{
    struct kl_store_log *log = b->log;
    struct kl_store_slot_log record = {.id = log->id,
                                       .flush = log->flush,
                                       .instance = log->instance,
                                       .truncation = log->truncation,
                                       .epoch_count = log->epochs.count,
                                       .start = log->start,
                                       .leo = leo,
                                       .high_watermark = leo,
                                       .active = {.base = -1}};

    if (kl_base_reserve(&b->alloc, (void **)&b->made, &b->made_capacity,
                        b->made_count + 1, sizeof *b->made))
        return KL_ENOMEM;
    for (size_t i = 0; i + 1 < b->segment_count; i++)
        record.bytes += b->segments[i].size - KL_STORE_BLOCK;
    if (b->segment_count > 0)
        record.active = b->segments[b->segment_count - 1];
    kl_store_slot_add(&b->logs, &record, &log->epochs);
    if (b->logs.error)
        return b->logs.error;
    b->made[b->made_count++] = (struct build_made){log->id, log->start, leo};
    return 0;
}

int kl_store_build_log_end(struct kl_store_build *b, int64_t leo)
{
    struct kl_store_log *log = b->log;
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    if (leo < b->next)
        leo = b->next;
    if (leo < log->start)
        leo = log->start;
    if (leo < INT64_MAX)
        kl_batch_epochs_truncate(&log->epochs, leo + 1);
    /* What follows is appended behind the gap. */
    if (b->segment_count > 0 && leo > b->next)
        rc = build_begin_segment(b, leo);
    if (rc == 0)
        rc = build_end_segment(b);
    if (rc == 0 && b->segment_count > 0)
        rc = build_manifest(b);
    kl_store_path_log(log, path);
    if (rc == 0 && b->segment_count > 0)
        rc = b->vfs->ops->sync_dir(b->vfs, path);
    return rc ? rc : build_slot_log(b, leo);
}

/* ---- the folder -----------------------------------------------------------
 */

static int build_name(const char *name, void *user)
{
    (void)user;
    return strcmp(name, "lock") == 0 || strcmp(name, "lost+found") == 0
               ? 0
               : KL_EEXIST;
}

static int build_prepare(struct kl_store_build *b, struct kl_base_error *error)
{
    struct kl_store *s = b->store;
    int rc = kl_store_lock(s, KL_STORE_OPEN_CREATE, error);

    if (rc)
        return rc;
    rc = b->vfs->ops->list(b->vfs, s->path, build_name, NULL);
    if (rc == KL_EEXIST)
        return kl_base_error_set(error, rc, "%s is not empty", s->path);
    if (rc)
        return kl_base_error_set(error, rc, "cannot read the folder %s: %s",
                                 s->path, kl_store_why(rc));
    return kl_store_format_begin(s, error);
}

int kl_store_build_new(struct kl_store_build **out,
                       const struct kl_base_alloc *alloc, struct kl_os_vfs *vfs,
                       struct kl_os_lanes *lanes,
                       const struct kl_store_config *config,
                       uint64_t first_sequence, int64_t wall_ms,
                       struct kl_base_error *error)
{
    struct kl_store_build *b = kl_base_calloc(alloc, sizeof *b);
    int rc;

    if (!b)
        return KL_ENOMEM;
    b->alloc = *alloc;
    b->vfs = vfs;
    b->lanes = lanes;
    b->config = *config;
    b->wall_ms = wall_ms;
    b->first_sequence = first_sequence;
    kl_base_buf_init(&b->logs, &b->alloc);
    kl_base_buf_init(&b->out, &b->alloc);
    rc = kl_store_new(&b->store, alloc, vfs, NULL, config);
    if (rc == 0) {
        b->config.path = b->store->path;
        rc = build_prepare(b, error);
    }
    if (rc) {
        kl_store_build_free(b);
        return rc;
    }
    *out = b;
    return 0;
}

void kl_store_build_free(struct kl_store_build *b)
{
    struct kl_base_alloc alloc;

    if (!b)
        return;
    alloc = b->alloc;
    if (b->file)
        b->vfs->ops->close(b->file);
    if (b->index)
        b->vfs->ops->close(b->index);
    kl_store_free(b->store);
    kl_base_buf_deinit(&b->logs);
    kl_base_buf_deinit(&b->out);
    kl_base_free(&alloc, b->segments,
                 b->segment_capacity * sizeof *b->segments);
    kl_base_free(&alloc, b->made, b->made_capacity * sizeof *b->made);
    kl_base_free(&alloc, b, sizeof *b);
}

/* ---- the end ------------------------------------------------------------- */

static int build_slots(struct kl_store_build *b)
{
    static const char *const names[] = {"checkpoint.a", "checkpoint.b"};
    struct kl_store *s = b->store;
    struct kl_store_slot slot = {
        .position = {.sequence = b->first_sequence, .lap = 1},
        .file_count = s->wal.file_count,
        .flags = KL_STORE_SLOT_CLEAN,
        .file_size = s->wal.file_size,
        .broker_epoch = -1,
        .log_count = (uint32_t)b->made_count,
    };
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    slot.position.salt = kl_base_rng_next(&s->rng);
    for (uint64_t i = 0; i < 2 && rc == 0; i++) {
        slot.generation = i + 1;
        kl_store_slot_begin(&b->out, &slot);
        kl_base_buf_append(&b->out, b->logs.data, b->logs.size);
        kl_store_slot_end(&b->out);
        kl_store_path(s, names[i], path);
        rc = kl_store_file_replace(b->vfs, path, &b->out);
    }
    return rc;
}

static int build_compare(struct kl_store_build *b, struct kl_store *opened)
{
    for (size_t i = 0; i < b->made_count; i++) {
        const struct build_made *made = &b->made[i];
        struct kl_store_log *log = kl_store_find(opened, &made->id);

        if (!log || log->start != made->start || log->leo != made->leo)
            return KL_ECORRUPT;
    }
    return 0;
}

/* Opens the folder, looks whether it is what was made, and stops cleanly. */
static int build_prove(struct kl_store_build *b, struct kl_base_error *error)
{
    struct kl_store *opened = NULL;
    int64_t now_ns = 1;
    int rc = kl_store_new(&opened, &b->alloc, b->vfs, b->lanes, &b->config);

    if (rc)
        return rc;
    rc = kl_store_open(opened, 0, now_ns, b->wall_ms, error);
    if (rc == 0)
        rc = build_compare(b, opened);
    if (rc == 0) {
        kl_store_stop(opened);
        while (!kl_store_is_stopped(opened)) {
            b->lanes->ops->wait(b->lanes);
            kl_store_turn(opened, now_ns += 1000000, b->wall_ms);
        }
        rc = kl_store_failure(opened, error);
    }
    kl_store_free(opened);
    return rc;
}

int kl_store_build_finish(struct kl_store_build *b, struct kl_base_error *error)
{
    struct kl_store *s = b->store;
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, "logs", path);
    rc = b->vfs->ops->sync_dir(b->vfs, path);
    if (rc == 0)
        rc = build_slots(b);
    if (rc)
        return kl_base_error_set(error, rc, "cannot make %s: %s", s->path,
                                 kl_store_why(rc));
    rc = kl_store_format_end(s, error);
    if (rc)
        return rc;
    b->vfs->ops->close(s->lock);
    s->lock = NULL;
    rc = build_prove(b, error);
    if (rc && !error->code)
        kl_base_error_set(error, rc, "%s is not what was written: %s", s->path,
                          kl_store_why(rc));
    return rc;
}
