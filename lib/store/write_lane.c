/*
 * The steps of a segment job as they are carried out in the lane. Of a log
 * only its name and instance are read here, of a segment only its handles and
 * fixed fields: the owner leaves both alone while log->busy.
 */
#include "store/write.h"

enum { LANE_WRITEBACK = 256 * 1024 };

static int lane_fail(struct kl_store_write *w, int code, const char *what)
{
    w->code = code;
    w->what = what;
    return code;
}

static int lane_open(struct kl_store_write *w, struct kl_store_step *step,
                     const char *suffix, uint32_t flags,
                     struct kl_os_file **file)
{
    struct kl_os_vfs *vfs = w->store->vfs;
    int rc;

    kl_store_path_segment(step->log, step->seg->info.base, suffix, w->path);
    if (*file)
        return 0;
    rc = vfs->ops->open(vfs, w->path, KL_OS_WRITE | flags, file);
    return rc ? lane_fail(w, rc, "cannot open") : 0;
}

/* A leftover of a lost life would shine through what is written over it: the
 * new file is another one. */
static int lane_remove(struct kl_store_write *w, struct kl_store_step *step,
                       const char *suffix)
{
    struct kl_os_vfs *vfs = w->store->vfs;
    int rc;

    kl_store_path_segment(step->log, step->seg->info.base, suffix, w->path);
    rc = vfs->ops->unlink(vfs, w->path);
    return rc && rc != KL_ENOENT ? lane_fail(w, rc, "cannot remove") : 0;
}

static int lane_folder(struct kl_store_write *w, const struct kl_store_log *log)
{
    int rc;

    kl_store_path_log(log, w->path);
    rc = w->store->vfs->ops->mkdir(w->store->vfs, w->path);
    return rc && rc != KL_EEXIST ? lane_fail(w, rc, "cannot create folder") : 0;
}

static int lane_create(struct kl_store_write *w, struct kl_store_step *step)
{
    struct kl_os_vfs *vfs = w->store->vfs;
    struct kl_store_segment_header h = {step->log->id, step->log->instance,
                                        step->seg->info.base,
                                        step->seg->info.truncation};
    struct kl_os_iovec part = {step->block, KL_STORE_BLOCK};
    int rc = lane_folder(w, step->log);

    if (rc == 0)
        rc = lane_remove(w, step, "idx");
    if (rc == 0 && !step->seg->writer)
        rc = lane_remove(w, step, "seg");
    if (rc == 0)
        rc = lane_open(w, step, "seg", KL_OS_CREATE | KL_OS_TRUNCATE,
                       &step->seg->writer);
    if (rc)
        return rc;
    kl_store_segment_header_encode(step->block, &h);
    rc = vfs->ops->write(step->seg->writer, &part, 1, 0, NULL);
    return rc ? lane_fail(w, rc, "cannot write") : 0;
}

static int lane_write(struct kl_store_write *w, struct kl_store_step *step)
{
    int rc = lane_open(w, step, "seg", 0, &step->seg->writer);

    if (rc)
        return rc;
    rc = w->store->vfs->ops->write(step->seg->writer, w->iov + step->iov_first,
                                   step->iov_count, step->position, NULL);
    if (rc)
        return lane_fail(w, rc, "cannot write");
    /* Large runs start on their way to the medium, whole blocks of them; a
     * block that will be written again soon is better left alone. */
    if (step->size >= LANE_WRITEBACK) {
        uint64_t from = step->position / KL_STORE_BLOCK * KL_STORE_BLOCK;
        uint64_t to =
            (step->position + step->size) / KL_STORE_BLOCK * KL_STORE_BLOCK;

        w->store->vfs->ops->writeback(step->seg->writer, from, to - from);
    }
    return 0;
}

/* An index can be done without: where it cannot be written it ends, and
 * look-ups walk from its last entry. */
static int lane_index(struct kl_store_write *w, struct kl_store_step *step)
{
    struct kl_store_segment *seg = step->seg;
    struct kl_os_iovec part = {step->block, KL_STORE_BLOCK};
    int rc;

    if (seg->index_lost) {
        step->blocks = 0;
        return 0;
    }
    rc = lane_open(w, step, "idx", KL_OS_CREATE, &seg->index_writer);
    if (rc == 0)
        rc = w->store->vfs->ops->write(seg->index_writer, &part, 1,
                                       (uint64_t)step->blocks * KL_STORE_BLOCK,
                                       NULL);
    if (kl_store_is_passing(rc))
        return lane_fail(w, rc, "cannot write");
    seg->index_lost = rc != 0;
    step->blocks = rc == 0 ? step->blocks + 1 : 0;
    w->code = 0;
    return 0;
}

static int lane_manifest(struct kl_store_write *w, struct kl_store_step *step)
{
    struct kl_os_vfs *vfs = w->store->vfs;
    char folder[KL_STORE_PATH_MAX];
    int rc = lane_folder(w, step->log); /* all that was in it may be cut */

    if (rc)
        return rc;
    kl_store_path_in_log(step->log, "manifest", w->path);
    rc = kl_store_file_replace(vfs, w->path, &step->manifest);
    if (rc)
        return lane_fail(w, rc, "cannot replace");
    kl_store_path_log(step->log, folder);
    rc = kl_store_sync_folder(vfs, folder);
    if (rc == 0) {
        kl_store_path(w->store, "logs", folder);
        rc = kl_store_sync_folder(vfs, folder);
    }
    return rc ? lane_fail(w, rc, "cannot sync the folder of") : 0;
}

static int lane_unlink(struct kl_store_write *w, struct kl_store_step *step)
{
    static const char *const suffixes[] = {"idx", "seg"};
    struct kl_os_vfs *vfs = w->store->vfs;
    int rc;

    for (int i = 0; i < 2; i++) {
        kl_store_path_segment(step->log, step->offset, suffixes[i], w->path);
        rc = vfs->ops->unlink(vfs, w->path);
        if (rc && rc != KL_ENOENT)
            return lane_fail(w, rc, "cannot remove");
    }
    return 0;
}

/* ---- cut -------------------------------------------------------------------
 */

static int lane_cut(struct kl_store_write *w, struct kl_store_step *step)
{
    struct kl_store_segment *seg = step->seg;
    const struct kl_os_vfs_ops *ops = w->store->vfs->ops;
    uint64_t size;
    int rc = lane_open(w, step, "seg", 0, &seg->writer);

    if (rc == KL_ENOENT) {
        /* Lost as it was: where it ended is not to be found any more. */
        w->code = 0;
        step->is_lost = 1;
        return 0;
    }
    if (rc == 0)
        rc = lane_open(w, step, "idx", KL_OS_CREATE, &seg->index_writer);
    if (rc)
        return rc;
    rc = ops->size(seg->index_writer, &size);
    if (rc)
        return lane_fail(w, rc, "cannot read the index of");
    step->blocks = (uint32_t)(size / KL_STORE_BLOCK);
    rc = kl_store_find_position(
        &(struct kl_store_find){.file = seg->writer,
                                .index = seg->index_writer,
                                .blocks = step->blocks,
                                .alloc = &w->store->alloc,
                                .seed = step->log->seed,
                                .base = seg->info.base,
                                .limit = step->size},
        step->offset, &step->position);
    if (rc)
        return lane_fail(w, rc, "cannot find where to cut");
    step->blocks = kl_store_index_usable(seg->index_writer, step->blocks,
                                         seg->info.base, step->position);
    rc = ops->truncate(seg->index_writer,
                       (uint64_t)step->blocks * KL_STORE_BLOCK);
    if (rc == 0)
        rc = ops->truncate(seg->writer, step->position);
    return rc ? lane_fail(w, rc, "cannot shorten") : 0;
}

void kl_store_write_run(struct kl_os_job *job)
{
    struct kl_store_write *w =
        KL_BASE_CONTAINER(job, struct kl_store_write, job);
    int rc = 0;

    w->code = 0;
    for (; w->steps_done < w->step_count; w->steps_done++) {
        struct kl_store_step *step = &w->steps[w->steps_done];

        switch (step->type) {
        case KL_STORE_STEP_CREATE:
            rc = lane_create(w, step);
            break;
        case KL_STORE_STEP_WRITE:
            rc = lane_write(w, step);
            break;
        case KL_STORE_STEP_INDEX:
            rc = lane_index(w, step);
            break;
        case KL_STORE_STEP_MANIFEST:
            rc = lane_manifest(w, step);
            break;
        case KL_STORE_STEP_UNLINK:
            rc = lane_unlink(w, step);
            break;
        case KL_STORE_STEP_CUT:
            rc = lane_cut(w, step);
            break;
        case KL_STORE_STEP_NONE:
            break;
        }
        if (rc)
            break;
    }
}
