/*
 * The checkpoint as it is carried out in the clean-up lane: sync what the slot
 * is going to state, names included, then write the slot and sync it.
 */
#include "store/checkpoint.h"

#include <string.h>

enum { LANE_SLOT_MIN = 64 * 1024 };

static int checkpoint_error(struct kl_store_checkpoint *c, int code,
                            const char *what)
{
    c->code = code;
    c->what = what;
    return code;
}

static int checkpoint_sync_each(struct kl_store_checkpoint *c)
{
    for (size_t i = 0; i < c->sync_count; i++) {
        int rc = kl_store_sync(c->syncs[i].file);

        if (rc) {
            kl_store_path(c->store, "logs", c->path);
            return checkpoint_error(c, rc, "cannot sync a segment in");
        }
    }
    return 0;
}

static int checkpoint_sync_all(struct kl_store_checkpoint *c)
{
    int rc = kl_store_sync_all(c->file);

    if (rc == 0 || rc == KL_EUNSUPPORTED)
        return rc;
    kl_store_path(c->store, NULL, c->path);
    return checkpoint_error(c, rc, "cannot sync");
}

/* A step of replacing each manifest, put = 1 for the last one. */
static int checkpoint_manifests(struct kl_store_checkpoint *c, int put,
                                int is_synced)
{
    struct kl_os_vfs *vfs = c->store->vfs;

    for (size_t i = 0; i < c->folder_count; i++) {
        struct kl_store_checkpoint_folder *f = &c->folders[i];
        int rc;

        if (!f->has_manifest)
            continue;
        kl_store_path_in_log(f->log, "manifest", c->path);
        rc = put ? kl_store_file_put(vfs, c->path)
                 : kl_store_file_aside(vfs, c->path, &f->manifest, is_synced);
        if (rc)
            return checkpoint_error(c, rc, "cannot replace");
        c->bytes += put ? f->manifest.size : 0;
    }
    return 0;
}

static int checkpoint_names(struct kl_store_checkpoint *c)
{
    struct kl_os_vfs *vfs = c->store->vfs;
    int rc = 0;

    for (size_t i = 0; i < c->folder_count && rc == 0; i++) {
        kl_store_path_log(c->folders[i].log, c->path);
        rc = kl_store_sync_folder(vfs, c->path);
        /* A log that never had a segment has no folder. */
        if (rc == KL_ENOENT && !c->folders[i].has_manifest)
            rc = 0;
    }
    if (rc == 0 && c->sync_folders) {
        kl_store_path(c->store, "logs", c->path);
        rc = kl_store_sync_folder(vfs, c->path);
    }
    return rc ? checkpoint_error(c, rc, "cannot sync folder") : 0;
}

/* Twice as many logs as there are fit into the slot without another block: a
 * checkpoint must be possible on a full disk. */
static void checkpoint_grow(struct kl_store_checkpoint *c)
{
    const struct kl_os_vfs_ops *ops = c->store->vfs->ops;
    uint64_t want = c->slot.size * 2, size;

    if (want < LANE_SLOT_MIN)
        want = LANE_SLOT_MIN;
    c->slot_size = c->slot.size;
    if (ops->size(c->file, &size) == 0 && size < want)
        ops->allocate(c->file, 0, want);
    if (ops->size(c->file, &size) == 0)
        c->slot_size = size;
}

static int checkpoint_slot(struct kl_store_checkpoint *c)
{
    const struct kl_os_vfs_ops *ops = c->store->vfs->ops;
    struct kl_os_iovec part = {c->slot.data, c->slot.size};
    int rc = ops->write(c->file, &part, 1, 0, NULL);

    if (rc == 0)
        rc = kl_store_sync(c->file);
    c->bytes += c->slot.size;
    if (rc == 0) {
        checkpoint_grow(c);
        return 0;
    }
    kl_store_path(c->store, "checkpoint", c->path);
    return checkpoint_error(c, rc, "cannot write");
}

static int checkpoint_few(struct kl_store_checkpoint *c)
{
    int rc = checkpoint_manifests(c, 0, 1);

    if (rc == 0)
        rc = checkpoint_manifests(c, 1, 1);
    if (rc == 0)
        rc = checkpoint_sync_each(c);
    return rc ? rc : checkpoint_names(c);
}

/* One call syncs everything: what manifests will state, and they themselves;
 * then their names. KL_EUNSUPPORTED where each must be synced. */
static int checkpoint_many(struct kl_store_checkpoint *c)
{
    int rc = checkpoint_manifests(c, 0, 0);

    if (rc == 0)
        rc = checkpoint_sync_all(c);
    if (rc == 0)
        rc = checkpoint_manifests(c, 1, 0);
    return rc || c->bytes == 0 ? rc : checkpoint_sync_all(c);
}

void kl_store_checkpoint_lane(struct kl_os_job *job)
{
    struct kl_store_checkpoint *c =
        KL_BASE_CONTAINER(job, struct kl_store_checkpoint, job);
    int rc = KL_EUNSUPPORTED;

    c->code = 0;
    c->bytes = 0;
    if (c->sync_count + c->folder_count > KL_STORE_SYNC_MANY)
        rc = checkpoint_many(c);
    if (rc == KL_EUNSUPPORTED)
        rc = checkpoint_few(c);
    if (rc == 0)
        checkpoint_slot(c);
}
