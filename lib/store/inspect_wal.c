/*
 * Checking the ring: the groups that a checkpoint needs, and what is lost of
 * each log where some of them are bad. Torn and rotten are told apart as at
 * open (ring.h).
 */
#include "store/inspect.h"

/* ---- copies in segments ------------------------------------------------- */

struct wal_spare
{
    struct kl_store_log *log;
    int64_t next; /* all before it was found */
    int64_t end;
};

static int spare_visit(const struct kl_batch_info *info, uint64_t position,
                       void *user)
{
    struct wal_spare *spare = user;

    (void)position;
    if (info->base_offset == spare->next && info->last_offset < spare->end)
        spare->next = info->last_offset + 1;
    return spare->next == spare->end ? KL_EEND : 0;
}

static int spare_skip(const struct kl_store_damage *damage, void *user)
{
    (void)damage, (void)user;
    return 0;
}

static int spare_name(const char *name, void *user)
{
    struct wal_spare *spare = user;
    struct kl_store_log *log = spare->log;
    struct kl_os_vfs *vfs = log->store->vfs;
    struct kl_store_scan scan = {.alloc = &log->store->alloc,
                                 .seed = log->seed,
                                 .position = KL_STORE_BLOCK,
                                 .verify_body = 1,
                                 .damaged = spare_skip,
                                 .end = INT64_MAX};
    char path[KL_STORE_PATH_MAX];
    int rc;

    if (!kl_store_path_base(name, &scan.offset) || scan.offset > spare->next)
        return 0;
    kl_store_path_in_log(log, name, path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &scan.file);
    if (rc)
        return rc == KL_ENOENT ? 0 : rc;
    rc = vfs->ops->size(scan.file, &scan.limit);
    if (rc == 0)
        rc = kl_store_scan_run(&scan, spare_visit, spare);
    vfs->ops->close(scan.file);
    return rc;
}

/* Whether offsets [from, end), which the WAL has lost, were written behind to a
 * segment before the crash. */
static int wal_has_spare(struct kl_store_log *log, int64_t from, int64_t end,
                         int *has_out)
{
    struct wal_spare spare = {log, from, end};
    struct kl_os_vfs *vfs = log->store->vfs;
    char folder[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path_log(log, folder);
    rc = vfs->ops->list(vfs, folder, spare_name, &spare);
    *has_out = spare.next == end;
    return rc == KL_ENOENT ? 0 : rc;
}

/* ---- one log --------------------------------------------------------------
 */

int64_t kl_store_inspect_cut(const struct kl_store_log *log)
{
    const struct kl_store_replay *plan = log->user;
    int64_t cut = INT64_MAX;

    if (plan && log->flush == KL_STORE_FLUSH_COMMIT)
        return plan->cut;
    for (size_t i = 0; plan && i < plan->count; i++)
        if (plan->frames[i].base < cut)
            cut = plan->frames[i].base; /* truncations */
    return cut;
}

static int wal_note_lost(struct kl_store_inspect *in, struct kl_store_log *log,
                         int64_t from, int64_t end,
                         const struct kl_store_replay_frame *frame)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_finding *f;
    int has_spare;
    int rc = wal_has_spare(log, from, end, &has_spare);

    if (rc)
        return rc;
    if (frame)
        kl_store_path_wal(log->store, frame->file, path);
    else
        kl_store_path(log->store, "wal", path);
    f = kl_store_inspect_note(
        in, frame ? KL_STORE_FINDING_WAL_FRAME : KL_STORE_FINDING_WAL_ROT,
        has_spare ? KL_STORE_COVERED : KL_STORE_DAMAGE, log, path);
    if (!f)
        return KL_ENOMEM;
    f->from = from;
    f->end = end;
    f->position = frame ? frame->offset : 0;
    f->size = frame ? frame->size : 0;
    return 0;
}

/* Nothing proves that the log ends where it seems to. */
static int wal_note_suspect(struct kl_store_inspect *in,
                            struct kl_store_log *log)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_finding *f;

    if (!log->suspect)
        return 0;
    kl_store_path(log->store, "wal", path);
    f = kl_store_inspect_note(in, KL_STORE_FINDING_SUSPECT, KL_STORE_DAMAGE,
                              log, path);
    if (!f)
        return KL_ENOMEM;
    f->from = log->leo;
    return 0;
}

int kl_store_inspect_plan(struct kl_store_inspect *in, struct kl_store_log *log)
{
    const struct kl_store_replay *plan = log->user;
    int64_t next;
    int rc = 0;

    if (log->flush != KL_STORE_FLUSH_COMMIT)
        return 0;
    if (!plan)
        return wal_note_suspect(in, log);
    next = plan->cut > log->start ? plan->cut : log->start;
    for (size_t i = 0; i < plan->count && rc == 0; i++) {
        const struct kl_store_replay_frame *frame = &plan->frames[i];

        if (frame->end <= log->start)
            continue;
        if (frame->base > next)
            rc = wal_note_lost(in, log, next, frame->base, NULL);
        if (rc == 0 && frame->is_lost)
            rc = wal_note_lost(in, log, frame->base, frame->end, frame);
        next = frame->end;
    }
    if (rc == 0 && next < log->leo)
        rc = wal_note_lost(in, log, next, log->leo, NULL);
    return rc ? rc : wal_note_suspect(in, log);
}

/* ---- the ring ---------------------------------------------------------- */

/* Bytes from a place up to the next good group, or the end of the file. */
static int wal_note(struct kl_store_inspect *in,
                    enum kl_store_finding_kind kind,
                    enum kl_store_severity severity,
                    const struct kl_store_position *from,
                    const struct kl_store_position *to)
{
    char path[KL_STORE_PATH_MAX];
    struct kl_store_finding *f;

    kl_store_path_wal(in->store, from->file, path);
    f = kl_store_inspect_note(in, kind, severity, NULL, path);
    if (!f)
        return KL_ENOMEM;
    f->position = from->offset;
    f->size = in->store->wal.file_size - from->offset;
    if (to && to->file == from->file && to->offset > from->offset)
        f->size = to->offset - from->offset;
    return 0;
}

/* Whether something was begun at the place where the ring ends. */
static int wal_is_begun(struct kl_store_inspect *in,
                        const struct kl_store_position *p, int *begun_out)
{
    struct kl_os_file *file = in->store->wal.files[p->file];
    uint8_t block[KL_STORE_BLOCK];
    struct kl_store_group_header h;
    size_t got;
    int rc;

    *begun_out = 0;
    if (p->offset + sizeof block > in->store->wal.file_size)
        return 0;
    rc = file->vfs->ops->read(file, block, sizeof block, p->offset, &got);
    if (rc == 0 && kl_store_group_decode(block, &h) == 0 &&
        h.directory == in->store->directory && h.sequence == p->sequence &&
        h.kind == KL_STORE_GROUP_DATA)
        *begun_out = 1;
    return rc;
}

static int wal_is_covered(const struct kl_store_entry_header *e, uint32_t at,
                          const uint8_t *frame, void *user)
{
    struct kl_store_inspect *in = user;
    struct kl_store_log *log = kl_store_find(in->store, &e->id);
    struct kl_batch_info info;
    int has_spare;
    int rc;

    (void)at;
    if (e->size == 0 || !log || log->instance != e->instance ||
        kl_store_ring_frame(frame, e, &info) == 0)
        return 0;
    rc = wal_has_spare(log, e->offset, e->end, &has_spare);
    return rc == 0 && !has_spare ? KL_EEND : rc;
}

/* A group whose headers verify: only some of its frames are bad. */
static int wal_bad_frames(struct kl_store_inspect *in,
                          struct kl_store_position *p, int is_old)
{
    struct kl_store_ring *ring = &in->recovery.ring;
    struct kl_store_position end = *p;
    enum kl_store_severity severity = KL_STORE_COVERED;
    struct kl_store_group_header h;
    int rc = kl_store_ring_load(ring, p->file, p->offset, &h);

    if (rc == 0 && !is_old)
        rc = kl_store_ring_entries(ring, &h, wal_is_covered, in);
    if (rc == KL_EEND || rc == KL_ECORRUPT) {
        severity = KL_STORE_DAMAGE;
        rc = 0;
    }
    end.offset += h.size;
    if (rc == 0)
        rc = wal_note(
            in, is_old ? KL_STORE_FINDING_WAL_OLD : KL_STORE_FINDING_WAL_ROT,
            severity, p, &end);
    *p = end;
    p->previous = h.checksum;
    p->sequence++;
    return rc;
}

/* No good group is at p: moves it behind what is rotten; KL_EEND at the end.
 * What is rotten before the sequence until only the older checkpoint needs. */
static int wal_bad(struct kl_store_inspect *in, struct kl_store_position *p,
                   uint64_t until, int code)
{
    struct kl_store_position to;
    int begun = 0;
    int is_old = p->sequence < until;
    int rc = kl_store_ring_prove(&in->recovery.ring, p, &to);

    if (rc == KL_EEXIST) {
        /* Where an open lies between, sequences jump. */
        if (is_old && to.sequence > until)
            return KL_EEND;
        if (code == KL_ECORRUPT)
            return wal_bad_frames(in, p, is_old);
        rc = wal_note(
            in, is_old ? KL_STORE_FINDING_WAL_OLD : KL_STORE_FINDING_WAL_ROT,
            is_old ? KL_STORE_COVERED : KL_STORE_DAMAGE, p, &to);
        *p = to;
        return rc;
    }
    if (rc == 0 && !is_old)
        rc = wal_is_begun(in, p, &begun);
    if (rc == 0 && begun)
        rc =
            wal_note(in, KL_STORE_FINDING_WAL_TORN, KL_STORE_HARMLESS, p, NULL);
    return rc ? rc : KL_EEND;
}

/* From a checkpoint on, up to the sequence until where it is not 0, else to the
 * end. */
static int wal_walk(struct kl_store_inspect *in, struct kl_store_position p,
                    uint64_t until, int is_clean)
{
    struct kl_store_ring *ring = &in->recovery.ring;
    struct kl_store_group_header h;
    int rc = 0;

    while (rc == 0 && (until == 0 || p.sequence < until)) {
        rc = kl_store_ring_find(ring, &p, &h);
        if (rc == 0) {
            in->stats.groups++;
            p.offset += h.size;
            p.previous = h.checksum;
            p.sequence++;
        } else if (rc == KL_EEND || rc == KL_ECORRUPT) {
            /* A clean stop is the last word. */
            rc = is_clean ? KL_EEND : wal_bad(in, &p, until, rc);
        }
    }
    return rc == KL_EEND ? 0 : rc;
}

int kl_store_inspect_wal(struct kl_store_inspect *in)
{
    const struct kl_store_slot *newer, *older;
    int rc = 0;

    if (in->newest < 0)
        return 0;
    newer = &in->slots[in->newest];
    older = &in->slots[1 - in->newest];
    if (in->slot_codes[1 - in->newest] == 0)
        rc = wal_walk(in, older->position, newer->position.sequence, 0);
    if (rc == 0)
        rc = wal_walk(in, newer->position, 0,
                      (newer->flags & KL_STORE_SLOT_CLEAN) != 0);
    return rc;
}
