/*
 * Looking at a folder without opening it: what is there, who it belongs to, and
 * what the next open would make of checkpoints and WAL. It is open's own code
 * that reads these (recover.h), through a file system that cannot be written.
 */
#include "store/rescue.h"

#include "base/fmt.h"
#include "base/hash.h"

#include <string.h>

enum { INSPECT_SLOT_MAX = 1 << 30 };

static const char *const inspect_names[KL_STORE_NAME_COUNT] = {
    "lock",         "identity",     "quorum.a", "quorum.b",
    "checkpoint.a", "checkpoint.b", "wal",      "logs",
    "snapshots",    "quarantine",   "reserve"};

/* ---- findings ---------------------------------------------------------- */

#define FINDING_NAME(kind, name, text) name,
#define FINDING_TEXT(kind, name, text) text,
static const char *const finding_names[] = {KL_STORE_FINDINGS(FINDING_NAME)};
static const char *const finding_texts[] = {KL_STORE_FINDINGS(FINDING_TEXT)};

const char *kl_store_finding_name(enum kl_store_finding_kind kind)
{
    return finding_names[kind];
}

const char *kl_store_finding_text(enum kl_store_finding_kind kind)
{
    return finding_texts[kind];
}

const char *kl_store_severity_name(enum kl_store_severity severity)
{
    static const char *const names[] = {"harmless", "covered", "damage"};

    return names[severity];
}

struct kl_store_finding *kl_store_inspect_note(struct kl_store_inspect *in,
                                               enum kl_store_finding_kind kind,
                                               enum kl_store_severity severity,
                                               const struct kl_store_log *log,
                                               const char *path)
{
    size_t folder = strlen(in->store->path);
    struct kl_store_finding *f;

    if (kl_base_reserve(&in->alloc, (void **)&in->findings,
                        &in->finding_capacity, in->finding_count + 1,
                        sizeof *in->findings))
        return NULL;
    f = &in->findings[in->finding_count++];
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->severity = severity;
    f->from = f->end = -1;
    if (strncmp(path, in->store->path, folder) == 0 && path[folder] == '/')
        path += folder + 1;
    kl_base_fmt(f->file, sizeof f->file, "%s", path);
    if (log) {
        f->has_log = 1;
        f->id = log->id;
    }
    in->stats.findings[severity]++;
    return f;
}

/* ---- life -------------------------------------------------------------- */

int kl_store_inspect_new(struct kl_store_inspect **out,
                         const struct kl_base_alloc *alloc,
                         struct kl_os_vfs *vfs, const char *path)
{
    struct kl_store_inspect *in = kl_base_calloc(alloc, sizeof *in);
    struct kl_store_config config = {.path = path};
    int rc;

    if (!in)
        return KL_ENOMEM;
    in->alloc = *alloc;
    in->vfs = vfs;
    in->newest = -1;
    kl_store_readonly_init(&in->readonly, vfs, &in->alloc);
    kl_base_list_init(&in->recovery.plans);
    kl_base_buf_init(&in->recovery.ring.group, &in->alloc);
    rc = kl_store_new(&in->store, alloc, &in->readonly.base, NULL, &config);
    if (rc) {
        kl_base_free(alloc, in, sizeof *in);
        return rc;
    }
    in->recovery.store = in->store;
    *out = in;
    return 0;
}

static void inspect_free_plans(struct kl_store_inspect *in)
{
    struct kl_base_list *l;

    while ((l = kl_base_list_first(&in->recovery.plans)))
        kl_store_recover_plan_free(
            in->store, KL_BASE_CONTAINER(l, struct kl_store_replay, link));
}

void kl_store_inspect_free(struct kl_store_inspect *in)
{
    struct kl_base_alloc alloc;

    if (!in)
        return;
    alloc = in->alloc;
    kl_store_walk_close(&in->walk);
    kl_base_free(&alloc, in->manifest.segments,
                 in->manifest.count * sizeof *in->manifest.segments);
    kl_store_rescue_free(in->rescue);
    inspect_free_plans(in);
    kl_base_buf_deinit(&in->recovery.ring.group);
    kl_store_free(in->store);
    if (in->lock)
        in->vfs->ops->close(in->lock);
    kl_base_free(&alloc, in->findings,
                 in->finding_capacity * sizeof *in->findings);
    kl_base_free(&alloc, in, sizeof *in);
}

int kl_store_inspect_is_in_use(const struct kl_store_inspect *in)
{
    return in->is_in_use;
}

void kl_store_inspect_stats(const struct kl_store_inspect *in,
                            struct kl_store_inspect_stats *out)
{
    *out = in->stats;
    out->bytes = in->readonly.bytes;
    out->unreadable = in->readonly.unreadable;
}

/* ---- the folder -----------------------------------------------------------
 */

static uint32_t inspect_bit(const char *name)
{
    for (uint32_t i = 0; i < KL_STORE_NAME_COUNT; i++)
        if (strcmp(name, inspect_names[i]) == 0)
            return 1u << i;
    return 0;
}

int kl_store_inspect_knows(const char *name)
{
    return inspect_bit(name) != 0;
}

static int inspect_name(const char *name, void *user)
{
    struct kl_store_inspect *in = user;

    in->names |= inspect_bit(name);
    return 0;
}

static int inspect_folder(struct kl_store_inspect *in,
                          struct kl_base_error *error)
{
    const uint32_t traces = 1u << KL_STORE_NAME_IDENTITY |
                            1u << KL_STORE_NAME_SLOT_A |
                            1u << KL_STORE_NAME_SLOT_B |
                            1u << KL_STORE_NAME_WAL | 1u << KL_STORE_NAME_LOGS;
    const char *path = in->store->path;
    int rc = in->vfs->ops->list(in->vfs, path, inspect_name, in);

    if (rc == KL_ENOENT)
        return kl_base_error_set(error, KL_ENOSTORE, "no folder %s", path);
    if (rc)
        return kl_base_error_set(error, rc, "cannot read the folder %s: %s",
                                 path, kl_store_why(rc));
    if (!(in->names & traces))
        return kl_base_error_set(error, KL_ENOSTORE, "no store in %s", path);
    return 0;
}

/* The lock is taken through the real file system; it changes no byte. Where it
 * cannot be asked for, as on a medium that is not writable, nobody can write
 * either, or nothing can be said. */
static int inspect_lock(struct kl_store_inspect *in, uint32_t flags,
                        struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(in->store, inspect_names[KL_STORE_NAME_LOCK], path);
    rc = in->vfs->ops->open(in->vfs, path, KL_OS_WRITE, &in->lock);
    if (rc == KL_ENOENT || rc == KL_EACCESS)
        return 0;
    if (rc == 0)
        rc = in->vfs->ops->lock(in->lock);
    if (rc == KL_EBUSY && flags & KL_STORE_INSPECT_FORCE) {
        in->is_in_use = 1;
        return 0;
    }
    if (rc == KL_EBUSY)
        return kl_base_error_set(error, rc, "a node has %s open",
                                 in->store->path);
    return rc ? kl_base_error_set(error, rc, "cannot lock %s: %s", path,
                                  kl_store_why(rc))
              : 0;
}

/* What a later release wrote cannot be judged by this one. */
static int inspect_later(struct kl_base_error *error, const char *path)
{
    return kl_base_error_set(error, KL_EFORMAT,
                             "%s was written by a later release", path);
}

static int inspect_identity(struct kl_store_inspect *in,
                            struct kl_base_error *error)
{
    struct kl_store *s = in->store;
    char path[KL_STORE_PATH_MAX];
    struct kl_base_buf buf;
    int rc;

    kl_store_path(s, inspect_names[KL_STORE_NAME_IDENTITY], path);
    kl_base_buf_init(&buf, &in->alloc);
    rc = kl_store_file_read(s->vfs, path, KL_STORE_BLOCK, &buf);
    if (rc == 0)
        rc = kl_store_identity_decode(buf.data, buf.size, &s->identity);
    kl_base_buf_deinit(&buf);
    s->directory = kl_base_hash(s->identity.directory_id.bytes, 16, 0);
    in->identity_code = rc;
    if (rc == KL_EFORMAT)
        return inspect_later(error, path);
    if (kl_store_is_passing(rc) || rc == KL_EACCESS)
        return kl_base_error_set(error, rc, "cannot read %s: %s", path,
                                 kl_store_why(rc));
    if (rc && !kl_store_inspect_note(in, KL_STORE_FINDING_IDENTITY,
                                     KL_STORE_DAMAGE, NULL, path))
        return KL_ENOMEM;
    return 0;
}

/* ---- checkpoints ------------------------------------------------------- */

static int inspect_slot(struct kl_store_inspect *in, int index,
                        struct kl_base_buf *buf, struct kl_base_cursor *c,
                        struct kl_base_error *error)
{
    struct kl_store *s = in->store;
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, inspect_names[KL_STORE_NAME_SLOT_A + index], path);
    rc = kl_store_file_read(s->vfs, path, INSPECT_SLOT_MAX, buf);
    if (rc == 0)
        rc = kl_store_slot_decode(buf->data, buf->size, c, &in->slots[index]);
    if (rc == 0 && in->slots[index].file_count > KL_STORE_RING_FILES_MAX)
        rc = KL_EFORMAT;
    in->slot_codes[index] = rc;
    if (rc == KL_EFORMAT)
        return inspect_later(error, path);
    if (kl_store_is_passing(rc) || rc == KL_EACCESS)
        return kl_base_error_set(error, rc, "cannot read %s: %s", path,
                                 kl_store_why(rc));
    return 0;
}

/* A bad slot is no loss while the other one is good. */
static int inspect_bad_slots(struct kl_store_inspect *in)
{
    char path[KL_STORE_PATH_MAX];

    for (int i = 0; i < 2; i++) {
        if (in->slot_codes[i] == 0)
            continue;
        kl_store_path(in->store, inspect_names[KL_STORE_NAME_SLOT_A + i], path);
        if (!kl_store_inspect_note(in, KL_STORE_FINDING_SLOT,
                                   in->newest < 0 ? KL_STORE_DAMAGE
                                                  : KL_STORE_COVERED,
                                   NULL, path))
            return KL_ENOMEM;
    }
    return 0;
}

static int inspect_slots(struct kl_store_inspect *in,
                         struct kl_base_error *error)
{
    struct kl_base_buf bufs[2];
    struct kl_base_cursor cursors[2];
    int rc = 0;

    for (int i = 0; i < 2; i++)
        kl_base_buf_init(&bufs[i], &in->alloc);
    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = inspect_slot(in, i, &bufs[i], &cursors[i], error);
        if (in->slot_codes[i] == 0 &&
            (in->newest < 0 ||
             in->slots[i].generation > in->slots[in->newest].generation))
            in->newest = i;
    }
    if (rc == 0)
        rc = inspect_bad_slots(in);
    if (rc == 0 && in->newest >= 0) {
        in->recovery.slot = in->slots[in->newest];
        in->recovery.newest = in->newest;
        for (uint32_t i = 0; i < in->recovery.slot.log_count && rc == 0; i++)
            rc = kl_store_recover_log(in->store, &cursors[in->newest]);
        if (rc)
            kl_base_error_set(error, rc, "bad checkpoint in %s: %s",
                              in->store->path, kl_store_why(rc));
    }
    for (int i = 0; i < 2; i++)
        kl_base_buf_deinit(&bufs[i]);
    return rc;
}

/* ---- the ring ---------------------------------------------------------- */

/* Blocks that a file should have and has not are blocks without groups. */
static int inspect_ring_file(struct kl_store_inspect *in, uint32_t index)
{
    struct kl_store *s = in->store;
    char path[KL_STORE_PATH_MAX];
    uint64_t size;
    int rc;

    kl_store_path_wal(s, index, path);
    rc = kl_store_readonly_padded(&in->readonly, path, s->wal.file_size,
                                  &s->wal.files[index], &size);
    if (rc)
        return rc;
    if (size == s->wal.file_size)
        return 0;
    return kl_store_inspect_note(in, KL_STORE_FINDING_WAL_FILE, KL_STORE_DAMAGE,
                                 NULL, path)
               ? 0
               : KL_ENOMEM;
}

/* Without a checkpoint: the files that are there, all as large as the first. */
static int inspect_ring_guess(struct kl_store_inspect *in)
{
    struct kl_store *s = in->store;
    uint32_t *count = &s->wal.file_count;
    struct kl_os_file *file;
    char path[KL_STORE_PATH_MAX];
    uint64_t size;
    int rc = 0;

    while (rc == 0 && *count < KL_STORE_RING_FILES_MAX) {
        kl_store_path_wal(s, *count, path);
        rc = s->vfs->ops->open(s->vfs, path, KL_OS_READ, &file);
        if (rc)
            break;
        rc = s->vfs->ops->size(file, &size);
        if (*count == 0)
            s->wal.file_size = size / KL_STORE_BLOCK * KL_STORE_BLOCK;
        s->vfs->ops->close(file);
        *count += rc == 0;
    }
    return rc == KL_ENOENT ? 0 : rc;
}

int kl_store_inspect_owner(struct kl_store_ring *ring)
{
    struct kl_store_group_header h;
    uint8_t block[KL_STORE_BLOCK];
    size_t got;
    int rc;

    for (uint32_t i = 0; i < ring->file_count; i++) {
        struct kl_os_file *f = ring->files[i];

        for (uint64_t at = 0; at < ring->file_size; at += sizeof block) {
            rc = f->vfs->ops->read(f, block, sizeof block, at, &got);
            if (rc)
                return rc;
            if (got < sizeof block || kl_store_group_decode(block, &h))
                continue;
            ring->directory = h.directory;
            rc = kl_store_ring_load(ring, i, at, &h);
            if (rc != KL_EEND)
                return rc;
        }
    }
    return KL_EEND;
}

static int inspect_ring(struct kl_store_inspect *in,
                        struct kl_base_error *error)
{
    struct kl_store *s = in->store;
    struct kl_store_ring *ring = &in->recovery.ring;
    int rc = 0;

    s->wal.file_count = in->recovery.slot.file_count;
    s->wal.file_size = in->recovery.slot.file_size;
    s->wal.next = s->wal.durable = in->recovery.slot.position;
    if (in->newest < 0)
        rc = inspect_ring_guess(in);
    for (uint32_t i = 0; i < s->wal.file_count && rc == 0; i++)
        rc = inspect_ring_file(in, i);
    ring->files = s->wal.files;
    ring->file_count = s->wal.file_count;
    ring->file_size = s->wal.file_size;
    ring->directory = s->directory;
    ring->alloc = &in->alloc;
    if (rc == 0 && in->identity_code) {
        rc = kl_store_inspect_owner(ring);
        s->directory = ring->directory;
        rc = rc == KL_EEND ? 0 : rc;
    }
    if (rc)
        return kl_base_error_set(error, rc, "cannot read the WAL in %s: %s",
                                 s->path, kl_store_why(rc));
    return 0;
}

/* What the WAL adds to the checkpoint. Where it contradicts it, which no crash
 * brings about, the finding is all that can be said. */
static int inspect_plan(struct kl_store_inspect *in,
                        struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    in->recovery.error = error;
    rc = kl_store_recover_scan(&in->recovery);
    if (rc != KL_ECORRUPT)
        return rc;
    kl_base_error_clear(error);
    kl_store_path_wal(in->store, in->store->wal.next.file, path);
    return kl_store_inspect_note(in, KL_STORE_FINDING_WAL_ROT, KL_STORE_DAMAGE,
                                 NULL, path)
               ? 0
               : KL_ENOMEM;
}

int kl_store_inspect_open(struct kl_store_inspect *in, uint32_t flags,
                          struct kl_base_error *error)
{
    int rc = inspect_folder(in, error);

    if (rc == 0)
        rc = inspect_lock(in, flags, error);
    if (rc == 0)
        rc = inspect_identity(in, error);
    if (rc == 0)
        rc = inspect_slots(in, error);
    if (rc == 0)
        rc = inspect_ring(in, error);
    if (rc == 0)
        rc = in->newest < 0 ? kl_store_inspect_guess(in, error)
                            : inspect_plan(in, error);
    return rc;
}
