/*
 * Formatting an empty folder. The identity is written last, atomically: a
 * crash before it leaves a folder that is not a store yet and can be formatted
 * again; after it everything is there.
 */
#include "store/identity.h"
#include "store/quorum.h"

#include <string.h>

#define CREATE_RING_MIN ((uint64_t)4 << 20)
#define CREATE_RING_MAX ((uint64_t)64 << 20)
/* Places in a file have 32 bits. */
#define CREATE_FILE_MAX ((uint64_t)2 << 30)
#define CREATE_RING_MANY ((uint64_t)16 << 20) /* from here on eight files */

static int create_error(struct kl_store *s, struct kl_base_error *error,
                        int code, const char *path)
{
    return kl_base_error_set(
        error, code, "cannot format %s: %s (system error %d)", path,
        kl_store_why(code), s->vfs->ops->last_errno(s->vfs));
}

/* Only what an earlier, interrupted formatting may have left. */
static int create_is_known(const char *name, void *user)
{
    static const char *const known[] = {"lock",
                                        "wal",
                                        "logs",
                                        "snapshots",
                                        "quarantine",
                                        "checkpoint.a",
                                        "checkpoint.b",
                                        "checkpoint.a.new",
                                        "checkpoint.b.new",
                                        "identity.new",
                                        "reserve",
                                        "quorum.a",
                                        "quorum.b",
                                        "lost+found"};

    (void)user;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return 0;
    return KL_EEXIST;
}

static int create_folders(struct kl_store *s, struct kl_base_error *error)
{
    static const char *const names[] = {"wal", "logs", "snapshots",
                                        "quarantine"};
    char path[KL_STORE_PATH_MAX];
    int rc;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kl_store_path(s, names[i], path);
        rc = s->vfs->ops->mkdir(s->vfs, path);
        if (rc && rc != KL_EEXIST)
            return create_error(s, error, rc, path);
    }
    return 0;
}

static int create_ring_size(struct kl_store *s, uint64_t *ring_out)
{
    uint64_t ring = s->config.ring_bytes, room;
    int rc;

    if (ring == 0) {
        rc = s->vfs->ops->space(s->vfs, s->path, &room);
        if (rc)
            return rc;
        ring = room / 32;
        if (ring < CREATE_RING_MIN)
            ring = CREATE_RING_MIN;
        if (ring > CREATE_RING_MAX)
            ring = CREATE_RING_MAX;
        /* The reserve is as large: most of a small disk is for records. */
        if (ring > room / 8)
            ring = room / 8;
    }
    s->wal.file_count = ring >= CREATE_RING_MANY ? 8 : 4;
    s->wal.file_size =
        ring / s->wal.file_count / KL_STORE_BLOCK * KL_STORE_BLOCK;
    if (s->wal.file_size > CREATE_FILE_MAX)
        s->wal.file_size = CREATE_FILE_MAX;
    if (s->wal.file_size < 4 * KL_STORE_BLOCK)
        s->wal.file_size = 4 * KL_STORE_BLOCK;
    *ring_out = s->wal.file_size * s->wal.file_count;
    return 0;
}

/* Zeros are really written: a sync of a write into a file of zeros is much
 * cheaper than one that also has to record new or unwritten blocks. */
static int create_wal_file(struct kl_store *s, uint32_t index,
                           const uint8_t *zeros, size_t zeros_size, char *path)
{
    const struct kl_os_vfs_ops *ops = s->vfs->ops;
    struct kl_os_file *file;
    uint64_t at = 0;
    int rc, closed;

    kl_store_path_wal(s, index, path);
    rc = ops->open(s->vfs, path, KL_OS_WRITE | KL_OS_CREATE | KL_OS_TRUNCATE,
                   &file);
    if (rc)
        return rc;
    while (rc == 0 && at < s->wal.file_size) {
        struct kl_os_iovec part = {zeros, zeros_size};

        if (part.size > s->wal.file_size - at)
            part.size = (size_t)(s->wal.file_size - at);
        rc = ops->write(file, &part, 1, at, NULL);
        at += part.size;
    }
    if (rc == 0)
        rc = ops->sync(file);
    closed = ops->close(file);
    return rc ? rc : closed;
}

static int create_wal(struct kl_store *s, struct kl_base_error *error)
{
    enum { ZEROS = 64 * 1024 };
    uint8_t *zeros = kl_base_calloc(&s->alloc, ZEROS);
    char path[KL_STORE_PATH_MAX];
    int rc = zeros ? 0 : KL_ENOMEM;

    kl_store_path(s, "wal", path);
    for (uint32_t i = 0; i < s->wal.file_count && rc == 0; i++)
        rc = create_wal_file(s, i, zeros, ZEROS, path);
    kl_base_free(&s->alloc, zeros, ZEROS);
    if (rc == 0) {
        kl_store_path(s, "wal", path);
        rc = s->vfs->ops->sync_dir(s->vfs, path);
    }
    return rc ? create_error(s, error, rc, path) : 0;
}

static int create_slots(struct kl_store *s, struct kl_base_error *error)
{
    static const char *const names[] = {"checkpoint.a", "checkpoint.b"};
    struct kl_store_slot slot = {
        .position = {.sequence = 1, .lap = 1},
        .file_count = s->wal.file_count,
        .file_size = s->wal.file_size,
        .broker_epoch = -1,
    };
    struct kl_base_buf buf;
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    slot.position.salt = kl_base_rng_next(&s->rng);
    kl_base_buf_init(&buf, &s->alloc);
    for (uint64_t i = 0; i < 2 && rc == 0; i++) {
        slot.generation = i + 1;
        kl_store_slot_begin(&buf, &slot);
        kl_store_slot_end(&buf);
        kl_store_path(s, names[i], path);
        rc = kl_store_file_replace(s->vfs, path, &buf);
    }
    kl_base_buf_deinit(&buf);
    return rc ? create_error(s, error, rc, path) : 0;
}

static int create_quorum(struct kl_store *s, struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc = kl_store_quorum_create(s);

    kl_store_path(s, "quorum.a", path);
    return rc ? create_error(s, error, rc, path) : 0;
}

static int create_reserve(struct kl_store *s, struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc = kl_store_space_hold(s, error);

    kl_store_space_deinit(s); /* open finds it */
    kl_store_path(s, "reserve", path);
    return rc ? create_error(s, error, rc, path) : 0;
}

/* Last: what it promises is there. */
static int create_identity(struct kl_store *s, struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc = kl_store_identity_make(s, &s->config.format);

    kl_store_path(s, "identity", path);
    return rc ? create_error(s, error, rc, path) : 0;
}

int kl_store_format_check(struct kl_store *s, struct kl_base_error *error)
{
    int rc = s->vfs->ops->list(s->vfs, s->path, create_is_known, NULL);

    if (rc == KL_EEXIST)
        return kl_base_error_set(error, KL_EFOREIGN,
                                 "%s is neither a store nor empty", s->path);
    return rc ? create_error(s, error, rc, s->path) : 0;
}

int kl_store_format_begin(struct kl_store *s, struct kl_base_error *error)
{
    uint64_t ring;
    int rc = kl_store_format_check(s, error);

    if (rc)
        return rc;
    rc = create_ring_size(s, &ring);
    if (rc)
        return create_error(s, error, rc, s->path);
    rc = create_folders(s, error);
    if (rc == 0)
        rc = create_wal(s, error);
    return rc;
}

int kl_store_format_end(struct kl_store *s, struct kl_base_error *error)
{
    int rc = create_quorum(s, error);

    if (rc == 0)
        rc = create_reserve(s, error);
    return rc ? rc : create_identity(s, error);
}

int kl_store_format(struct kl_store *s, struct kl_base_error *error)
{
    int rc = kl_store_format_begin(s, error);

    if (rc == 0)
        rc = create_slots(s, error);
    if (rc == 0)
        rc = kl_store_format_end(s, error);
    return rc;
}
