/*
 * Snapshots as they are carried out in the lanes. A snapshot is written aside;
 * its header comes last, then sync, rename, and sync of the folder: what has
 * the name of a snapshot is one, as a whole. Every block has a checksum of its
 * own, so that a large one can be read, and sent, in verified pieces.
 */
#include "base/endian.h"
#include "store/snapshot.h"

#include <string.h>

void kl_store_snapshot_path_aside(const struct kl_store_snapshot_writer *w,
                                  char out[KL_STORE_PATH_MAX])
{
    kl_store_path_snapshot(w->store, "snapshots", w->info.end, w->info.epoch,
                           out);
    kl_store_path_text(out, ".");
    kl_store_path_number(out, w->serial);
    kl_store_path_text(out, ".new");
}

static uint64_t snapshot_block_at(uint64_t index)
{
    return KL_STORE_BLOCK + index * KL_STORE_SNAPSHOT_BLOCK;
}

/* ---- writing ------------------------------------------------------------- */

static int snapshot_make(struct kl_store_snapshot_writer *w)
{
    struct kl_os_vfs *vfs = w->store->vfs;
    char path[KL_STORE_PATH_MAX];
    int rc;

    if (w->file)
        return 0;
    kl_store_snapshot_path_aside(w, path);
    w->is_made = 1;
    rc = vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE | KL_OS_TRUNCATE,
                        &w->file);
    if (rc)
        w->file = NULL;
    return rc;
}

/* Writes the block that has been gathered. */
static int snapshot_flush(struct kl_store_snapshot_writer *w)
{
    struct kl_os_iovec part = {w->block, 8 + (size_t)w->used};
    uint64_t index = w->info.size / KL_STORE_SNAPSHOT_DATA;
    uint64_t hash =
        kl_store_snapshot_hash(&w->info, index, w->block + 8, w->used);
    int rc;

    kl_base_put_le64(w->block, hash);
    rc = w->store->vfs->ops->write(w->file, &part, 1, snapshot_block_at(index),
                                   NULL);
    if (rc)
        return rc;
    w->info.checksum = kl_store_snapshot_chain(w->info.checksum, hash);
    w->info.size += w->used;
    w->used = 0;
    return 0;
}

void kl_store_snapshot_append_lane(struct kl_os_job *job)
{
    struct kl_store_snapshot_writer *w =
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_writer, job);
    size_t done = 0;

    w->code = snapshot_make(w);
    while (w->code == 0 && done < w->size) {
        size_t room = KL_STORE_SNAPSHOT_DATA - w->used;
        size_t size = w->size - done < room ? w->size - done : room;

        memcpy(w->block + 8 + w->used, w->data + done, size);
        w->used += (uint32_t)size;
        done += size;
        if (w->used == KL_STORE_SNAPSHOT_DATA)
            w->code = snapshot_flush(w);
    }
}

static int snapshot_header(struct kl_store_snapshot_writer *w)
{
    struct kl_store_snapshot_header h = {w->store->identity.cluster_id,
                                         w->info};
    struct kl_base_buf b;
    struct kl_os_iovec part;
    int rc;

    kl_base_buf_init(&b, &w->store->alloc);
    rc = kl_store_snapshot_encode(&b, &h);
    part.data = b.data;
    part.size = b.size;
    if (rc == 0)
        rc = w->store->vfs->ops->write(w->file, &part, 1, 0, NULL);
    kl_base_buf_deinit(&b);
    return rc;
}

/* Everything is in the file: gives it its name. */
static int snapshot_publish(struct kl_store_snapshot_writer *w)
{
    struct kl_os_vfs *vfs = w->store->vfs;
    char aside[KL_STORE_PATH_MAX], path[KL_STORE_PATH_MAX];
    struct kl_os_file *file = w->file;
    int rc = kl_store_sync(file), closed;

    w->file = NULL;
    closed = vfs->ops->close(file);
    if (rc == 0)
        rc = closed;
    if (rc)
        return rc;
    kl_store_snapshot_path_aside(w, aside);
    kl_store_path_snapshot(w->store, "snapshots", w->info.end, w->info.epoch,
                           path);
    rc = vfs->ops->rename(vfs, aside, path);
    if (rc)
        return rc;
    kl_store_path(w->store, "snapshots", path);
    return kl_store_sync_folder(vfs, path);
}

void kl_store_snapshot_commit_lane(struct kl_os_job *job)
{
    struct kl_store_snapshot_writer *w =
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_writer, job);

    w->code = snapshot_make(w);
    if (w->code == 0 && w->used > 0)
        w->code = snapshot_flush(w);
    if (w->code == 0)
        w->code = snapshot_header(w);
    if (w->code == 0)
        w->code = snapshot_publish(w);
}

/* What cannot be removed is found by the next open. */
void kl_store_snapshot_drop_lane(struct kl_os_job *job)
{
    struct kl_store_snapshot_writer *w =
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_writer, job);
    struct kl_os_vfs *vfs = w->store->vfs;
    char path[KL_STORE_PATH_MAX];

    if (w->file)
        vfs->ops->close(w->file);
    w->file = NULL;
    if (!w->is_made)
        return;
    kl_store_snapshot_path_aside(w, path);
    vfs->ops->unlink(vfs, path);
}

/* ---- reading ------------------------------------------------------------- */

int kl_store_snapshot_head(struct kl_store *s, int64_t end, int32_t epoch,
                           struct kl_store_snapshot_header *out)
{
    char path[KL_STORE_PATH_MAX];
    uint8_t block[KL_STORE_BLOCK];
    struct kl_os_file *file;
    uint64_t size;
    size_t got;
    int rc;

    kl_store_path_snapshot(s, "snapshots", end, epoch, path);
    rc = s->vfs->ops->open(s->vfs, path, KL_OS_READ, &file);
    if (rc)
        return rc;
    rc = s->vfs->ops->size(file, &size);
    if (rc == 0)
        rc = s->vfs->ops->read(file, block, sizeof block, 0, &got);
    s->vfs->ops->close(file);
    if (rc == 0)
        rc = kl_store_snapshot_decode(block, got, out);
    if (rc)
        return rc;
    return out->info.end != end || out->info.epoch != epoch ||
                   size != kl_store_snapshot_file_size(out->info.size)
               ? KL_ECORRUPT
               : 0;
}

int kl_store_snapshot_inspect(struct kl_store *s, int64_t end, int32_t epoch,
                              struct kl_store_snapshot *out)
{
    struct kl_store_snapshot_header h;
    int rc = kl_store_snapshot_head(s, end, epoch, &h);

    if (rc == 0 && memcmp(&h.cluster_id, &s->identity.cluster_id, 16) != 0)
        rc = KL_ECORRUPT;
    if (rc == 0)
        *out = h.info;
    return rc;
}

/* The bytes of a block, of a snapshot that has it. */
static size_t snapshot_block_size(const struct kl_store_snapshot *info,
                                  uint64_t index)
{
    uint64_t left = info->size - index * KL_STORE_SNAPSHOT_DATA;

    return left < KL_STORE_SNAPSHOT_DATA ? (size_t)left
                                         : KL_STORE_SNAPSHOT_DATA;
}

static int snapshot_verify_file(struct kl_os_file *file,
                                const struct kl_store_snapshot *info,
                                uint8_t *block, struct kl_base_buf *out)
{
    uint64_t chain = 0;

    for (uint64_t i = 0; i * KL_STORE_SNAPSHOT_DATA < info->size; i++) {
        size_t size = snapshot_block_size(info, i), got;
        int rc = file->vfs->ops->read(file, block, 8 + size,
                                      snapshot_block_at(i), &got);

        if (rc)
            return rc;
        if (got != 8 + size ||
            kl_store_snapshot_hash(info, i, block + 8, size) !=
                kl_base_get_le64(block))
            return KL_ECORRUPT;
        chain = kl_store_snapshot_chain(chain, kl_base_get_le64(block));
        if (out)
            kl_base_buf_append(out, block + 8, size);
    }
    if (chain != info->checksum)
        return KL_ECORRUPT;
    return out ? out->error : 0;
}

int kl_store_snapshot_verify(struct kl_store *s,
                             const struct kl_store_snapshot *info,
                             struct kl_base_buf *out)
{
    char path[KL_STORE_PATH_MAX];
    uint8_t *block = kl_base_malloc(&s->alloc, KL_STORE_SNAPSHOT_BLOCK);
    struct kl_os_file *file;
    int rc;

    if (!block)
        return KL_ENOMEM;
    kl_store_path_snapshot(s, "snapshots", info->end, info->epoch, path);
    rc = s->vfs->ops->open(s->vfs, path, KL_OS_READ, &file);
    if (rc == 0) {
        rc = snapshot_verify_file(file, info, block, out);
        s->vfs->ops->close(file);
    }
    kl_base_free(&s->alloc, block, KL_STORE_SNAPSHOT_BLOCK);
    return rc;
}

void kl_store_snapshot_quarantine(struct kl_store *s, int64_t end,
                                  int32_t epoch)
{
    char from[KL_STORE_PATH_MAX], to[KL_STORE_PATH_MAX];

    kl_store_path_snapshot(s, "snapshots", end, epoch, from);
    kl_store_path_snapshot(s, "quarantine", end, epoch, to);
    if (s->vfs->ops->rename(s->vfs, from, to))
        return;
    kl_store_path(s, "quarantine", to);
    s->vfs->ops->sync_dir(s->vfs, to);
    kl_store_path(s, "snapshots", from);
    s->vfs->ops->sync_dir(s->vfs, from);
}

/* Verifies count blocks at data and moves their bytes together. */
static int snapshot_verify(const struct kl_store_snapshot *info, uint64_t first,
                           uint64_t count, uint8_t *data)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *block = data + i * KL_STORE_SNAPSHOT_BLOCK;
        size_t size = snapshot_block_size(info, first + i);

        if (kl_store_snapshot_hash(info, first + i, block + 8, size) !=
            kl_base_get_le64(block))
            return KL_ECORRUPT;
        memmove(data + i * KL_STORE_SNAPSHOT_DATA, block + 8, size);
    }
    return 0;
}

/* Reads the blocks with the wanted bytes, as many as one read may have. */
static int snapshot_read_blocks(struct kl_store_snapshot_job *j,
                                struct kl_os_file *file)
{
    struct kl_store_snapshot_read *r = j->read;
    uint64_t left = j->info.size - r->position;
    uint64_t first = r->position / KL_STORE_SNAPSHOT_DATA;
    uint64_t end = r->position + (left < r->bytes_max ? left : r->bytes_max);
    uint64_t count =
        (end + KL_STORE_SNAPSHOT_DATA - 1) / KL_STORE_SNAPSHOT_DATA - first;
    uint64_t limit, at = snapshot_block_at(first);
    size_t want, got;
    int rc;

    if (count > KL_STORE_SNAPSHOT_READ_BLOCKS)
        count = KL_STORE_SNAPSHOT_READ_BLOCKS;
    limit = (first + count) * KL_STORE_SNAPSHOT_DATA;
    if (end > limit)
        end = limit;
    want = (size_t)(count * KL_STORE_SNAPSHOT_BLOCK);
    if (want > kl_store_snapshot_file_size(j->info.size) - at)
        want = (size_t)(kl_store_snapshot_file_size(j->info.size) - at);
    rc = kl_base_chunk_new(&r->chunk, &j->store->alloc, want);
    if (rc)
        return rc;
    rc = file->vfs->ops->read(file, r->chunk->data, want, at, &got);
    if (rc == 0 && got < want)
        rc = KL_ECORRUPT;
    if (rc == 0)
        rc = snapshot_verify(&j->info, first, count, r->chunk->data);
    if (rc)
        return rc;
    r->data = r->chunk->data + (r->position - first * KL_STORE_SNAPSHOT_DATA);
    r->size = (uint32_t)(end - r->position);
    return 0;
}

int kl_store_snapshot_is_same(const struct kl_store_snapshot *a,
                              const struct kl_store_snapshot *b)
{
    return a->end == b->end && a->epoch == b->epoch && a->size == b->size &&
           a->checksum == b->checksum;
}

/* Bytes do not verify: of the snapshot that was meant, or of one that has been
 * put in its place? */
static int snapshot_bad(struct kl_store_snapshot_job *j)
{
    struct kl_store_snapshot now;

    if (kl_store_snapshot_inspect(j->store, j->info.end, j->info.epoch, &now) ==
            0 &&
        !kl_store_snapshot_is_same(&now, &j->info))
        return KL_ENOENT;
    kl_store_snapshot_quarantine(j->store, j->info.end, j->info.epoch);
    return KL_ECORRUPT;
}

void kl_store_snapshot_read_lane(struct kl_os_job *job)
{
    struct kl_store_snapshot_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_job, job);
    struct kl_os_vfs *vfs = j->store->vfs;
    char path[KL_STORE_PATH_MAX];
    struct kl_os_file *file;
    int rc;

    kl_store_path_snapshot(j->store, "snapshots", j->info.end, j->info.epoch,
                           path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &file);
    if (rc == 0) {
        rc = snapshot_read_blocks(j, file);
        vfs->ops->close(file);
    }
    if (rc == KL_ECORRUPT)
        rc = snapshot_bad(j);
    if (rc) {
        kl_base_chunk_unref(j->read->chunk);
        j->read->chunk = NULL;
    }
    j->read->code = rc;
}
