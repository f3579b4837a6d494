/*
 * Who the folder belongs to: a file that is replaced as a whole, by formatting,
 * by the upgrade of an older folder, and when a store that was made to join a
 * cluster has found it. Without it there is no store; where it is gone and logs
 * are not, it is lost, and nothing is made in its place.
 */
#include "store/identity.h"

#include "base/hash.h"

#include <string.h>

void kl_store_identity_init(struct kl_store *s)
{
    struct kl_store_identity_job *a = &s->adoption;

    a->store = s;
    kl_base_buf_init(&a->file, &s->alloc);
    kl_store_retry_init(&a->retry);
}

void kl_store_identity_deinit(struct kl_store *s)
{
    kl_base_buf_deinit(&s->adoption.file);
}

const struct kl_store_identity *kl_store_identity(const struct kl_store *s)
{
    return &s->identity;
}

/* ---- open; blocking --------------------------------------------------------
 */

static int identity_replace(struct kl_store *s, const struct kl_base_buf *file)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, "identity", path);
    rc = kl_store_file_replace(s->vfs, path, file);
    return rc ? rc : kl_store_sync_folder(s->vfs, s->path);
}

int kl_store_identity_make(struct kl_store *s,
                           const struct kl_store_identity *identity)
{
    struct kl_base_buf file;
    int rc = s->vfs->ops->sync_dir(s->vfs, s->path);

    kl_base_buf_init(&file, &s->alloc);
    if (rc == 0)
        rc = kl_store_identity_encode(&file, identity);
    if (rc == 0)
        rc = identity_replace(s, &file);
    kl_base_buf_deinit(&file);
    return rc;
}

int kl_store_identity_upgrade(struct kl_store *s, struct kl_base_error *error)
{
    struct kl_store_identity identity = s->identity;
    int rc;

    if (identity.version == KL_STORE_FORMAT)
        return 0;
    identity.version = KL_STORE_FORMAT;
    rc = kl_store_identity_make(s, &identity);
    if (rc)
        return kl_base_error_set(error, rc,
                                 "cannot upgrade %s to format %d: %s", s->path,
                                 KL_STORE_FORMAT, kl_store_why(rc));
    s->identity = identity;
    return 0;
}

static int identity_any(const char *name, void *user)
{
    (void)name, (void)user;
    return KL_EEXIST;
}

/* KL_EEXIST where a file of the ring has a group; KL_ENOENT where there is no
 * such file. Formatting that was cut off may leave any bytes, but no group. */
static int identity_look_at_ring(struct kl_store *s, uint32_t index)
{
    uint8_t header[KL_STORE_GROUP_HEADER] = {0};
    struct kl_store_group_header h;
    char path[KL_STORE_PATH_MAX];
    struct kl_os_file *file;
    size_t got;
    int rc;

    kl_store_path_wal(s, index, path);
    rc = s->vfs->ops->open(s->vfs, path, KL_OS_READ, &file);
    if (rc)
        return rc;
    rc = s->vfs->ops->read(file, header, sizeof header, 0, &got);
    s->vfs->ops->close(file);
    return rc == 0 && kl_store_group_decode(header, &h) == 0 ? KL_EEXIST : rc;
}

/* KL_EEXIST where the folder has been a store: formatting makes no log, no
 * snapshot and no group. */
static int identity_was_there(struct kl_store *s)
{
    static const char *const names[] = {"logs", "snapshots", "quarantine"};
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++) {
        kl_store_path(s, names[i], path);
        rc = s->vfs->ops->list(s->vfs, path, identity_any, NULL);
        rc = rc == KL_ENOENT ? 0 : rc;
    }
    for (uint32_t i = 0; rc == 0; i++)
        rc = identity_look_at_ring(s, i);
    return rc == KL_ENOENT ? 0 : rc;
}

/* There is none: a new folder, or no store, or what is left of one. */
static int identity_absent(struct kl_store *s, uint32_t flags,
                           struct kl_base_error *error)
{
    int rc = identity_was_there(s);

    if (rc == KL_EEXIST)
        return kl_base_error_set(error, KL_ECORRUPT,
                                 "%s has lost its identity, but holds data: "
                                 "kraftlog doctor tells what can be done",
                                 s->path);
    if (rc)
        return kl_base_error_set(error, rc, "cannot read %s: %s", s->path,
                                 kl_store_why(rc));
    if (flags & KL_STORE_OPEN_CREATE)
        return kl_store_format(s, error);
    return kl_base_error_set(error, KL_ENOSTORE, "no store in %s", s->path);
}

int kl_store_identity_open(struct kl_store *s, uint32_t flags,
                           struct kl_base_error *error)
{
    struct kl_base_buf buf;
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, "identity", path);
    kl_base_buf_init(&buf, &s->alloc);
    rc = kl_store_file_read(s->vfs, path, KL_STORE_BLOCK, &buf);
    if (rc == KL_ENOENT) {
        rc = identity_absent(s, flags, error);
        if (rc)
            goto out;
        rc = kl_store_file_read(s->vfs, path, KL_STORE_BLOCK, &buf);
    }
    if (rc == 0)
        rc = kl_store_identity_decode(buf.data, buf.size, &s->identity);
    if (rc)
        kl_base_error_set(error, rc, "cannot read %s: %s", path,
                          kl_store_why(rc));
    s->directory = kl_base_hash(s->identity.directory_id.bytes, 16, 0);
out:
    kl_base_buf_deinit(&buf);
    return rc;
}

/* ---- adoption: in the clean-up lane ----------------------------------------
 */

static void adoption_run(struct kl_os_job *job)
{
    struct kl_store_identity_job *a =
        KL_BASE_CONTAINER(job, struct kl_store_identity_job, job);

    a->code = identity_replace(a->store, &a->file);
}

/* ---- adoption: owner -------------------------------------------------------
 */

static struct kl_store_identity
adoption_identity(const struct kl_store *s,
                  const struct kl_base_uuid *cluster_id)
{
    struct kl_store_identity identity = s->identity;

    identity.cluster_id = *cluster_id;
    identity.flags = KL_STORE_JOINED;
    return identity;
}

static void adoption_done(struct kl_os_job *job)
{
    struct kl_store_identity_job *a =
        KL_BASE_CONTAINER(job, struct kl_store_identity_job, job);
    struct kl_store *s = a->store;
    char path[KL_STORE_PATH_MAX];

    kl_store_path(s, "identity", path);
    if (a->code && kl_store_wait_out(s, &a->retry, a->code,
                                     "cannot write the identity", path))
        return;
    kl_store_retry_init(&a->retry);
    a->busy = 0;
    a->event = 1;
    if (a->code == 0)
        s->identity = adoption_identity(s, &a->cluster_id);
}

int kl_store_adopt_cluster(struct kl_store *s,
                           const struct kl_base_uuid *cluster_id)
{
    struct kl_store_identity_job *a = &s->adoption;
    struct kl_store_identity identity = adoption_identity(s, cluster_id);

    if (s->failure.code)
        return KL_EFAILED;
    if (!s->opened || s->stopping)
        return KL_ECLOSED;
    if (kl_base_uuid_is_zero(cluster_id))
        return KL_EINVAL;
    if (!(s->identity.flags & KL_STORE_JOINS))
        return KL_EEXIST;
    if (a->busy)
        return kl_base_uuid_equal(&a->cluster_id, cluster_id) ? 0 : KL_EEXIST;
    if (kl_store_identity_encode(&a->file, &identity))
        return KL_ENOMEM;
    a->cluster_id = *cluster_id;
    a->busy = 1;
    a->job.run = adoption_run;
    a->job.done = adoption_done;
    kl_store_submit(s, &a->job, KL_OS_LANE_CLEAN);
    return 0;
}

void kl_store_identity_turn(struct kl_store *s)
{
    struct kl_store_identity_job *a = &s->adoption;

    if (!s->failure.code && kl_store_retry_take(s, &a->retry))
        kl_store_submit(s, &a->job, KL_OS_LANE_CLEAN);
}

int kl_store_identity_is_busy(const struct kl_store *s)
{
    return s->adoption.busy;
}

int64_t kl_store_identity_deadline(const struct kl_store *s)
{
    return s->adoption.retry.at_ns;
}

int kl_store_identity_event(struct kl_store *s, struct kl_store_event *out)
{
    if (!s->adoption.event)
        return 0;
    s->adoption.event = 0;
    out->type = KL_STORE_EVENT_IDENTITY;
    out->code = s->adoption.code;
    return 1;
}
