/*
 * The quorum state: what a voter and a broker must never forget, in two files
 * that are preallocated and written in place. Both are written and synced, one
 * after the other, before a put is answered. So whatever a crash does one of
 * them is whole, and one that rots is made again from the other; with both gone
 * nobody knows whom this node has voted for (F35, F36).
 */
#include "store/quorum.h"

#include <string.h>

static const char *const quorum_names[] = {"quorum.a", "quorum.b"};

static const struct kl_store_quorum quorum_nothing = {.leader_id = -1,
                                                      .voted_id = -1};

void kl_store_quorum_init(struct kl_store *s)
{
    struct kl_store_quorum_job *q = &s->quorum;

    q->store = s;
    q->durable.state = q->wanted.state = quorum_nothing;
    q->durable.broker_epoch = q->wanted.broker_epoch = -1;
    kl_base_buf_init(&q->block, &s->alloc);
    kl_store_retry_init(&q->retry);
}

static void quorum_close(struct kl_store *s)
{
    for (int i = 0; i < 2; i++) {
        if (s->quorum.files[i])
            s->vfs->ops->close(s->quorum.files[i]);
        s->quorum.files[i] = NULL;
    }
}

void kl_store_quorum_deinit(struct kl_store *s)
{
    quorum_close(s);
    kl_base_buf_deinit(&s->quorum.block);
}

/* ---- open; blocking --------------------------------------------------------
 */

static int quorum_write(struct kl_os_file *file, const struct kl_base_buf *b)
{
    struct kl_os_iovec part = {b->data, b->size};
    int rc = file->vfs->ops->write(file, &part, 1, 0, NULL);

    return rc ? rc : kl_store_sync(file);
}

int kl_store_quorum_read(struct kl_store *s, int index,
                         struct kl_store_quorum_record *out)
{
    struct kl_store_quorum_job *q = &s->quorum;
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, quorum_names[index], path);
    rc = kl_store_file_read(s->vfs, path, KL_STORE_BLOCK, &q->block);
    if (rc == 0)
        rc = kl_store_quorum_decode(q->block.data, q->block.size, out);
    if (rc == 0 && memcmp(&out->directory_id, &s->identity.directory_id, 16))
        rc = KL_ECORRUPT; /* of another folder */
    return rc;
}

/* The same, and opens it for writing where it is there. code_out: whether it is
 * good. */
static int quorum_open_copy(struct kl_store *s, int index,
                            struct kl_store_quorum_record *out, int *code_out)
{
    char path[KL_STORE_PATH_MAX];
    int rc = kl_store_quorum_read(s, index, out);

    *code_out = rc;
    if (rc == KL_ENOENT)
        return 0;
    if (rc == KL_EFORMAT || kl_store_is_passing(rc))
        return rc;
    kl_store_path(s, quorum_names[index], path);
    return s->vfs->ops->open(s->vfs, path, KL_OS_WRITE,
                             &s->quorum.files[index]);
}

/* Makes one copy the state, with the file where there is none. */
static int quorum_make(struct kl_store *s, int index)
{
    const struct kl_os_vfs_ops *ops = s->vfs->ops;
    struct kl_store_quorum_job *q = &s->quorum;
    char path[KL_STORE_PATH_MAX];
    int rc = 0;

    kl_store_path(s, quorum_names[index], path);
    if (!q->files[index])
        rc = ops->open(s->vfs, path, KL_OS_WRITE | KL_OS_CREATE,
                       &q->files[index]);
    if (rc == 0)
        rc = ops->truncate(q->files[index], KL_STORE_BLOCK);
    return rc ? rc : quorum_write(q->files[index], &q->block);
}

/* Makes both copies the state, which copy `good` holds, if any. That one is
 * first: a crash may have left it in memory only, and then the other one is
 * what is durable. The second file is not made before the first one is whole:
 * where both are there, one of them is. */
static int quorum_repair(struct kl_store *s, int good)
{
    int rc = kl_store_quorum_encode(&s->quorum.block, &s->quorum.durable);

    if (rc == 0)
        rc = quorum_make(s, good);
    return rc ? rc : quorum_make(s, !good);
}

int kl_store_quorum_create(struct kl_store *s)
{
    int rc;

    s->quorum.durable.directory_id = s->config.format.directory_id;
    rc = quorum_repair(s, 0);
    quorum_close(s); /* open finds them */
    return rc;
}

/* What the two copies amount to. A folder of an older version, which was never
 * opened since, has none yet. */
static int quorum_judge(struct kl_store *s, uint32_t flags,
                        const struct kl_store_quorum_record r[2],
                        const int codes[2])
{
    struct kl_store_quorum_job *q = &s->quorum;
    int good =
        codes[0] != 0 || (codes[1] == 0 && r[1].generation > r[0].generation);
    int is_old = s->identity.version < KL_STORE_FORMAT_QUORUM;
    int is_new = codes[good] && is_old &&
                 (codes[0] == KL_ENOENT || codes[1] == KL_ENOENT);
    int rc = 0;

    q->durable.directory_id = s->identity.directory_id;
    if (codes[good] && !is_new && !(flags & KL_STORE_OPEN_ACCEPT_LOSS)) {
        /* What could not be read may be good the next time. */
        if (codes[0] == KL_EIO || codes[1] == KL_EIO)
            return KL_EIO;
        q->verdict = KL_STORE_QUORUM_LOST;
        return 0;
    }
    if (codes[good] == 0)
        q->durable = r[good];
    if (q->durable.generation == 0)
        q->verdict = KL_STORE_QUORUM_NONE;
    else if (codes[!good])
        q->verdict = KL_STORE_QUORUM_REPAIRED;
    else
        q->verdict = KL_STORE_QUORUM_GOOD;
    q->wanted = q->durable;
    if (codes[0] || codes[1] || r[0].generation != r[1].generation)
        rc = quorum_repair(s, good);
    /* Names that were made now, or by an open that was killed. */
    if (rc == 0 && (is_old || codes[0] == KL_ENOENT || codes[1] == KL_ENOENT))
        rc = kl_store_sync_folder(s->vfs, s->path);
    if (!is_new || !kl_store_is_passing(rc))
        return rc;
    q->absent = 1; /* there is no room now; the next open tries again */
    return 0;
}

int kl_store_quorum_open(struct kl_store *s, uint32_t flags,
                         struct kl_base_error *error)
{
    struct kl_store_quorum_record r[2];
    int codes[2];
    int rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++)
        rc = quorum_open_copy(s, i, &r[i], &codes[i]);
    if (rc == 0)
        rc = quorum_judge(s, flags, r, codes);
    if (rc)
        return kl_base_error_set(error, rc,
                                 "cannot read the quorum state in %s: %s",
                                 s->path, kl_store_why(rc));
    return 0;
}

/* ---- in the commit lane ----------------------------------------------------
 */

static void quorum_job_run(struct kl_os_job *job)
{
    struct kl_store_quorum_job *q =
        KL_BASE_CONTAINER(job, struct kl_store_quorum_job, job);

    for (q->copy = 0; q->copy < 2; q->copy++) {
        q->code = quorum_write(q->files[q->copy], &q->block);
        if (q->code)
            return;
    }
}

/* ---- owner -----------------------------------------------------------------
 */

static void quorum_job_done(struct kl_os_job *job)
{
    struct kl_store_quorum_job *q =
        KL_BASE_CONTAINER(job, struct kl_store_quorum_job, job);
    char path[KL_STORE_PATH_MAX];

    if (q->code) {
        kl_store_path(q->store, quorum_names[q->copy], path);
        q->busy =
            (uint8_t)kl_store_wait_out(q->store, &q->retry, q->code,
                                       "cannot write the quorum state", path);
        return;
    }
    kl_store_retry_init(&q->retry);
    q->busy = 0;
    q->durable = q->writing;
    q->event = 1;
}

void kl_store_quorum_turn(struct kl_store *s)
{
    struct kl_store_quorum_job *q = &s->quorum;

    if (s->failure.code)
        return;
    if (q->busy) {
        if (kl_store_retry_take(s, &q->retry))
            kl_store_submit(s, &q->job, KL_OS_LANE_COMMIT);
        return;
    }
    if (q->wanted.generation == q->durable.generation)
        return;
    q->writing = q->wanted;
    /* The buffer has its size since open. */
    kl_store_quorum_encode(&q->block, &q->writing);
    KL_ASSERT(q->block.error == 0);
    q->busy = 1;
    q->job.run = quorum_job_run;
    q->job.done = quorum_job_done;
    kl_store_submit(s, &q->job, KL_OS_LANE_COMMIT);
}

int kl_store_quorum_is_busy(const struct kl_store *s)
{
    return s->quorum.wanted.generation != s->quorum.durable.generation;
}

int64_t kl_store_quorum_deadline(const struct kl_store *s)
{
    return s->quorum.retry.at_ns;
}

enum kl_store_quorum_verdict kl_store_quorum_get(const struct kl_store *s,
                                                 struct kl_store_quorum *out,
                                                 uint64_t *generation_out)
{
    const struct kl_store_quorum_job *q = &s->quorum;

    *out = q->durable.state;
    if (generation_out)
        *generation_out = q->durable.generation;
    return q->verdict;
}

/* A put must not take back what was promised. */
static int quorum_is_allowed(const struct kl_store_quorum *old,
                             const struct kl_store_quorum *new)
{
    static const struct kl_base_uuid zero;

    if (new->epoch < old->epoch || new->leader_id < -1 || new->voted_id < -1)
        return 0;
    if (new->voted_id == -1 && memcmp(&new->voted_directory_id, &zero, 16))
        return 0;
    return new->epoch > old->epoch || old->voted_id == -1 ||
           (new->voted_id ==
            old->voted_id &&memcmp(&new->voted_directory_id,
                                   &old->voted_directory_id, 16) == 0);
}

/* Whether anything may be put. */
static int quorum_check(const struct kl_store *s)
{
    if (s->failure.code)
        return KL_EFAILED;
    if (!s->opened || s->stopping)
        return KL_ECLOSED;
    if (s->quorum.verdict == KL_STORE_QUORUM_LOST)
        return KL_ECORRUPT;
    return s->quorum.absent ? KL_EDISKFULL : 0;
}

int kl_store_quorum_put(struct kl_store *s, const struct kl_store_quorum *state,
                        uint64_t *generation_out)
{
    struct kl_store_quorum_job *q = &s->quorum;
    int rc = quorum_check(s);

    if (rc)
        return rc;
    if (!quorum_is_allowed(&q->wanted.state, state))
        return KL_EINVAL;
    q->wanted.state = *state;
    q->wanted.generation++;
    if (generation_out)
        *generation_out = q->wanted.generation;
    return 0;
}

int64_t kl_store_broker_epoch(const struct kl_store *s)
{
    return s->quorum.durable.broker_epoch;
}

int kl_store_broker_epoch_put(struct kl_store *s, int64_t epoch)
{
    struct kl_store_quorum_job *q = &s->quorum;
    int rc = quorum_check(s);

    if (rc)
        return rc;
    if (epoch < q->wanted.broker_epoch)
        return KL_EINVAL;
    if (epoch == q->wanted.broker_epoch)
        return 0;
    q->wanted.broker_epoch = epoch;
    q->wanted.generation++;
    return 0;
}

struct kl_base_uuid kl_store_incarnation(const struct kl_store *s)
{
    return s->quorum.durable.incarnation_id;
}

int kl_store_incarnation_put(struct kl_store *s, const struct kl_base_uuid *id)
{
    struct kl_store_quorum_job *q = &s->quorum;
    int rc = quorum_check(s);

    if (rc || kl_base_uuid_equal(id, &q->wanted.incarnation_id))
        return rc;
    q->wanted.incarnation_id = *id;
    q->wanted.generation++;
    return 0;
}
