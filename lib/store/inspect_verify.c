/*
 * Checking a whole folder, a piece with every call: names, then log after log
 * with its manifest, its segments and what the WAL has of it, then the ring.
 */
#include "store/inspect.h"

#include <string.h>

/* ---- names ------------------------------------------------------------- */

static int verify_note_name(struct kl_store_inspect *in,
                            enum kl_store_finding_kind kind,
                            const struct kl_store_log *log, const char *path)
{
    return kl_store_inspect_note(in, kind, KL_STORE_HARMLESS, log, path)
               ? 0
               : KL_ENOMEM;
}

static int verify_has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);

    return length >= size && strcmp(name + length - size, ending) == 0;
}

static int verify_root_name(const char *name, void *user)
{
    struct kl_store_inspect *in = user;

    if (kl_store_inspect_knows(name) || strcmp(name, "lost+found") == 0)
        return 0;
    return verify_note_name(in,
                            verify_has_ending(name, ".new")
                                ? KL_STORE_FINDING_LEFTOVER
                                : KL_STORE_FINDING_UNKNOWN,
                            NULL, name);
}

static int verify_folder(struct kl_store_inspect *in)
{
    in->phase = KL_STORE_INSPECT_QUORUM;
    return in->vfs->ops->list(in->vfs, in->store->path, verify_root_name, in);
}

/* Folders below logs/ that no log has. */
static int verify_log_name(const char *name, void *user)
{
    struct kl_store_inspect *in = user;
    char path[KL_STORE_PATH_MAX];
    struct kl_store_log *log = NULL;
    struct kl_store_id id;
    uint64_t instance;

    if (kl_store_path_parse(name, &id, &instance))
        log = kl_store_find(in->store, &id);
    if (log && log->instance == instance)
        return 0;
    kl_store_path(in->store, "logs/", path);
    kl_store_path_text(path, name);
    return verify_note_name(in, KL_STORE_FINDING_LEFTOVER, NULL, path);
}

static int verify_leftovers(struct kl_store_inspect *in)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    in->phase = KL_STORE_INSPECT_LOGS;
    kl_store_path(in->store, "logs", path);
    rc = in->vfs->ops->list(in->vfs, path, verify_log_name, in);
    return rc == KL_ENOENT ? 0 : rc;
}

/* Files in the folder of a log that its manifest does not name. Above the
 * checkpoint of a commit log they are on their way into it. */
static int verify_file_name(const char *name, void *user)
{
    struct kl_store_inspect *in = user;
    const struct kl_store_log *log = in->log;
    char path[KL_STORE_PATH_MAX], segment[32];
    int64_t base;

    if (strcmp(name, "manifest") == 0)
        return 0;
    if (strlen(name) == 24 && verify_has_ending(name, ".idx")) {
        memcpy(segment, name, 20);
        memcpy(segment + 20, ".seg", 5);
    } else {
        segment[0] = 0;
    }
    if (kl_store_path_base(segment[0] ? segment : name, &base)) {
        for (uint32_t i = 0; i < in->manifest.count; i++)
            if (in->manifest.segments[i].base == base)
                return 0;
        if (base > log->active.base)
            return 0;
    }
    kl_store_path_in_log(log, name, path);
    return verify_note_name(in, KL_STORE_FINDING_LEFTOVER, log, path);
}

/* ---- a log --------------------------------------------------------------- */

static void verify_drop_manifest(struct kl_store_inspect *in)
{
    kl_base_free(&in->alloc, in->manifest.segments,
                 in->manifest.count * sizeof *in->manifest.segments);
    in->manifest.segments = NULL;
    in->manifest.count = 0;
}

static int verify_manifest(struct kl_store_inspect *in)
{
    struct kl_store_log *log = in->log;
    char path[KL_STORE_PATH_MAX];
    int rebuilt;
    int rc = kl_store_load_manifest(log, 0, &in->manifest, &rebuilt);

    if (rc == KL_ENOENT && log->active.base < 0)
        return 0; /* it has no segment yet */
    kl_store_path_in_log(log, "manifest", path);
    if (rebuilt && rc == 0 &&
        !kl_store_inspect_note(in, KL_STORE_FINDING_MANIFEST, KL_STORE_COVERED,
                               log, path))
        rc = KL_ENOMEM;
    return rc;
}

static int verify_next_log(struct kl_store_inspect *in)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    verify_drop_manifest(in);
    in->log = kl_store_next(in->store, in->log);
    if (!in->log) {
        in->phase = KL_STORE_INSPECT_WAL;
        return 0;
    }
    in->phase = KL_STORE_INSPECT_SEGMENTS;
    in->segment = 0;
    in->expected = in->log->start;
    in->epoch = -1;
    in->is_torn = 0;
    in->stats.logs++;
    rc = verify_manifest(in);
    if (rc)
        return rc;
    kl_store_path_log(in->log, path);
    rc = in->vfs->ops->list(in->vfs, path, verify_file_name, in);
    return rc == KL_ENOENT ? 0 : rc;
}

/* Offsets before a segment, or at the end, that no segment has. */
static int verify_gap(struct kl_store_inspect *in, int64_t end)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_finding *f;

    if (in->expected >= end)
        return 0;
    kl_store_path_log(in->log, path);
    f = kl_store_inspect_note(in, KL_STORE_FINDING_GAP, KL_STORE_DAMAGE,
                              in->log, path);
    if (!f)
        return KL_ENOMEM;
    f->from = in->expected;
    f->end = end;
    return 0;
}

/* What checkpoint and manifest state of segment number in->segment. 0 where it
 * lies above all that is stated. */
static int verify_stated(const struct kl_store_inspect *in,
                         struct kl_store_segment_info *info,
                         enum kl_store_walk_part *part)
{
    const struct kl_store_log *log = in->log;
    uint32_t next = in->segment + 1;

    *info = in->manifest.segments[in->segment];
    *part = KL_STORE_WALK_STATED;
    if (in->newest < 0) {
        *part = KL_STORE_WALK_GUESSED;
        if (info->end < 0 && next < in->manifest.count)
            info->end = in->manifest.segments[next].base;
        return 1;
    }
    if (info->base == log->active.base) {
        *info = log->active;
        return 1;
    }
    if (info->base < log->active.base)
        return 1;
    *part = KL_STORE_WALK_TAIL;
    return log->flush == KL_STORE_FLUSH_INTERVAL;
}

static int verify_open_segment(struct kl_store_inspect *in)
{
    struct kl_store_segment_info info;
    enum kl_store_walk_part part;
    int rc = 0;

    if (!verify_stated(in, &info, &part) || in->is_torn) {
        in->segment++;
        return 0;
    }
    if (info.base > in->log->start && part != KL_STORE_WALK_TAIL)
        rc = verify_gap(in, info.base);
    if (rc == 0)
        rc = kl_store_walk_open(&in->walk, in, in->log, &info, part);
    in->walk.has_tail = in->log->flush == KL_STORE_FLUSH_INTERVAL &&
                        part == KL_STORE_WALK_STATED &&
                        info.base == in->log->active.base;
    in->is_walking = 1;
    return rc;
}

static int verify_run_segment(struct kl_store_inspect *in)
{
    int rc = kl_store_walk_run(&in->walk);

    if (rc == KL_EAGAIN)
        return 0;
    if (in->walk.scan.offset > in->expected)
        in->expected = in->walk.scan.offset;
    in->is_torn = in->walk.is_torn;
    kl_store_walk_close(&in->walk);
    in->is_walking = 0;
    in->segment++;
    return rc;
}

/* Behind the last segment: what is left to the WAL. */
static int verify_end_log(struct kl_store_inspect *in)
{
    const struct kl_store_log *log = in->log;
    int64_t cut = kl_store_inspect_cut(log);
    int64_t stated = log->flush == KL_STORE_FLUSH_INTERVAL
                         ? kl_store_log_synced_leo(log)
                         : log->leo;
    int rc;

    in->phase = KL_STORE_INSPECT_LOGS;
    if (in->newest < 0)
        return 0;
    rc = verify_gap(in, stated < cut ? stated : cut);
    return rc ? rc : kl_store_inspect_plan(in, in->log);
}

static int verify_segments(struct kl_store_inspect *in)
{
    if (in->is_walking)
        return verify_run_segment(in);
    if (in->segment < in->manifest.count)
        return verify_open_segment(in);
    return verify_end_log(in);
}

/* ---- all --------------------------------------------------------------- */

static int verify_step(struct kl_store_inspect *in)
{
    switch (in->phase) {
    case KL_STORE_INSPECT_FOLDER:
        return verify_folder(in);
    case KL_STORE_INSPECT_QUORUM:
        in->phase = KL_STORE_INSPECT_SNAPSHOTS;
        return kl_store_inspect_quorum(in);
    case KL_STORE_INSPECT_SNAPSHOTS:
        in->phase = KL_STORE_INSPECT_LEFTOVERS;
        return kl_store_inspect_snapshots(in);
    case KL_STORE_INSPECT_LEFTOVERS:
        return verify_leftovers(in);
    case KL_STORE_INSPECT_LOGS:
        return verify_next_log(in);
    case KL_STORE_INSPECT_SEGMENTS:
        return verify_segments(in);
    case KL_STORE_INSPECT_WAL:
        in->phase = KL_STORE_INSPECT_DONE;
        return kl_store_inspect_wal(in);
    case KL_STORE_INSPECT_DONE:
        break;
    }
    return KL_EEND;
}

static int verify_fail(struct kl_store_inspect *in, int code,
                       struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];

    if (in->log)
        kl_store_path_log(in->log, path);
    else
        kl_store_path(in->store, NULL, path);
    return kl_base_error_set(error, code, "cannot go on with %s: %s", path,
                             kl_store_why(code));
}

int kl_store_inspect_verify(struct kl_store_inspect *in,
                            struct kl_store_finding *out,
                            struct kl_base_error *error)
{
    while (in->finding_next == in->finding_count) {
        int rc;

        in->finding_next = in->finding_count = 0;
        rc = verify_step(in);
        if (rc)
            return rc == KL_EEND ? rc : verify_fail(in, rc, error);
    }
    *out = in->findings[in->finding_next++];
    return 0;
}
