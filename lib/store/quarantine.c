/*
 * Damaged bytes are kept, in quarantine/, before recovery writes over them or
 * lets them go; and frames that survive only where recovery is about to cut.
 * Keeping is a help for whoever looks at the damage, so errors are left alone,
 * except for a frame that has no other copy.
 */
#include "store/recover.h"

#include <string.h>

enum { QUARANTINE_WAL_MAX = 4 * 1024 * 1024 };

static void quarantine_path_wal(const struct kl_store *s, uint64_t sequence,
                                char out[KL_STORE_PATH_MAX])
{
    kl_store_path(s, "quarantine/wal.", out);
    kl_store_path_number(out, sequence);
}

/* quarantine/<log>-<base>.<suffix> */
static void quarantine_path(const struct kl_store_log *log, int64_t base,
                            const char *suffix, char out[KL_STORE_PATH_MAX])
{
    char folder[KL_STORE_PATH_MAX];

    kl_store_path_log(log, folder);
    kl_store_path(log->store, "quarantine", out);
    kl_store_path_text(out, strrchr(folder, '/'));
    kl_store_path_text(out, "-");
    kl_store_path_number(out, (uint64_t)base);
    kl_store_path_text(out, suffix);
}

static int quarantine_sync(const struct kl_store *s)
{
    char path[KL_STORE_PATH_MAX];

    kl_store_path(s, "quarantine", path);
    return s->vfs->ops->sync_dir(s->vfs, path);
}

void kl_store_quarantine_wal(struct kl_store *s,
                             const struct kl_store_position *from,
                             const struct kl_store_position *to)
{
    struct kl_os_file *file = s->wal.files[from->file];
    uint64_t end = to->file == from->file && to->offset > from->offset
                       ? to->offset
                       : s->wal.file_size;
    char path[KL_STORE_PATH_MAX];
    struct kl_base_buf buf;
    uint8_t *data;
    size_t size = (size_t)(end - from->offset), got;

    if (size > QUARANTINE_WAL_MAX)
        size = QUARANTINE_WAL_MAX;
    quarantine_path_wal(s, from->sequence, path);
    kl_base_buf_init(&buf, &s->alloc);
    data = kl_base_buf_extend(&buf, size);
    if (data && file->vfs->ops->read(file, data, size, from->offset, &got) == 0)
        kl_store_file_replace(s->vfs, path, &buf);
    kl_base_buf_deinit(&buf);
    quarantine_sync(s);
}

int kl_store_quarantine_frame(struct kl_store_log *log, int64_t base,
                              const struct kl_base_buf *frame)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    quarantine_path(log, base, ".frame", path);
    rc = kl_store_file_replace(log->store->vfs, path, frame);
    return rc ? rc : quarantine_sync(log->store);
}

int kl_store_quarantine_read(struct kl_store_log *log, int64_t base,
                             struct kl_base_buf *out)
{
    char path[KL_STORE_PATH_MAX];

    quarantine_path(log, base, ".frame", path);
    return kl_store_file_read(log->store->vfs, path, KL_BATCH_SIZE_MAX, out);
}

int kl_store_quarantine_segment(struct kl_store_log *log, int64_t base)
{
    struct kl_os_vfs *vfs = log->store->vfs;
    char from[KL_STORE_PATH_MAX], to[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path_segment(log, base, "seg", from);
    quarantine_path(log, base, ".seg", to);
    rc = vfs->ops->rename(vfs, from, to);
    if (rc && rc != KL_ENOENT)
        return rc;
    kl_store_path_segment(log, base, "idx", from);
    rc = vfs->ops->unlink(vfs, from);
    return rc == KL_ENOENT ? 0 : rc;
}
