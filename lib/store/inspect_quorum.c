/*
 * The quorum state and the snapshots of a folder: what is wrong with them, and
 * what the newest snapshot holds.
 */
#include "store/inspect.h"
#include "store/quorum.h"
#include "store/snapshot.h"

#include <string.h>

static int quorum_note(struct kl_store_inspect *in, const char *name,
                       enum kl_store_severity severity)
{
    char path[KL_STORE_PATH_MAX];

    kl_store_path(in->store, name, path);
    return kl_store_inspect_note(in, KL_STORE_FINDING_QUORUM, severity, NULL,
                                 path)
               ? 0
               : KL_ENOMEM;
}

/* A bad copy is no loss while the other one is good. */
int kl_store_inspect_quorum(struct kl_store_inspect *in)
{
    static const char *const names[] = {"quorum.a", "quorum.b"};
    struct kl_store_quorum_record r;
    int codes[2];
    int rc = 0;

    /* Whose it should be is not known, or it need not be there. */
    if (in->identity_code ||
        in->store->identity.version < KL_STORE_FORMAT_QUORUM)
        return 0;
    for (int i = 0; i < 2; i++) {
        codes[i] = kl_store_quorum_read(in->store, i, &r);
        if (codes[i] == KL_EFORMAT || kl_store_is_passing(codes[i]))
            return codes[i];
    }
    for (int i = 0; i < 2 && rc == 0; i++)
        if (codes[i])
            rc = quorum_note(in, names[i],
                             codes[!i] ? KL_STORE_DAMAGE : KL_STORE_COVERED);
    return rc;
}

static int snapshot_note(struct kl_store_inspect *in,
                         enum kl_store_finding_kind kind,
                         enum kl_store_severity severity, const char *name)
{
    char path[KL_STORE_PATH_MAX];

    kl_store_path(in->store, "snapshots/", path);
    kl_store_path_text(path, name);
    return kl_store_inspect_note(in, kind, severity, NULL, path) ? 0
                                                                 : KL_ENOMEM;
}

static int snapshot_name(const char *name, void *user)
{
    struct kl_store_inspect *in = user;
    struct kl_store_snapshot info;
    size_t length = strlen(name);
    int64_t end;
    int32_t epoch;
    int rc;

    if (!kl_store_path_is_snapshot(name, &end, &epoch))
        return snapshot_note(in,
                             length > 4 &&
                                     strcmp(name + length - 4, ".new") == 0
                                 ? KL_STORE_FINDING_LEFTOVER
                                 : KL_STORE_FINDING_UNKNOWN,
                             KL_STORE_HARMLESS, name);
    if (in->identity_code)
        return 0;
    rc = kl_store_snapshot_inspect(in->store, end, epoch, &info);
    if (rc == 0)
        rc = kl_store_snapshot_verify(in->store, &info, NULL);
    if (kl_store_is_passing(rc) || rc == KL_EFORMAT)
        return rc;
    return rc ? snapshot_note(in, KL_STORE_FINDING_SNAPSHOT, KL_STORE_DAMAGE,
                              name)
              : 0;
}

int kl_store_inspect_snapshots(struct kl_store_inspect *in)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(in->store, "snapshots", path);
    rc = in->vfs->ops->list(in->vfs, path, snapshot_name, in);
    return rc == KL_ENOENT ? 0 : rc;
}

/* ---- what the newest one holds ------------------------------------------- */

struct snapshot_search
{
    struct kl_store_snapshot below; /* this one and newer ones do not count */
    struct kl_store_snapshot best;  /* end -1 = none yet */
};

static int snapshot_is_older(const struct kl_store_snapshot *a,
                             const struct kl_store_snapshot *b)
{
    return a->end < b->end || (a->end == b->end && a->epoch < b->epoch);
}

static int snapshot_search(const char *name, void *user)
{
    struct snapshot_search *search = user;
    struct kl_store_snapshot info = {.end = -1};

    if (kl_store_path_is_snapshot(name, &info.end, &info.epoch) &&
        snapshot_is_older(&info, &search->below) &&
        snapshot_is_older(&search->best, &info))
        search->best = info;
    return 0;
}

/* One of another cluster is none of this folder's, where its cluster is known.
 */
static int snapshot_take_over(struct kl_store_inspect *in,
                              const struct kl_store_snapshot *found,
                              struct kl_store_snapshot *out,
                              struct kl_base_buf *bytes)
{
    struct kl_store_snapshot_header h;
    int rc;

    kl_base_buf_clear(bytes);
    if (in->identity_code == 0)
        rc = kl_store_snapshot_inspect(in->store, found->end, found->epoch,
                                       &h.info);
    else
        rc = kl_store_snapshot_head(in->store, found->end, found->epoch, &h);
    if (rc == 0)
        rc = kl_store_snapshot_verify(in->store, &h.info, bytes);
    if (rc == 0)
        *out = h.info;
    return rc;
}

int kl_store_inspect_snapshot(struct kl_store_inspect *in,
                              struct kl_store_snapshot *out,
                              struct kl_base_buf *bytes)
{
    struct snapshot_search search = {.below = {.end = INT64_MAX}};
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(in->store, "snapshots", path);
    do {
        search.best = (struct kl_store_snapshot){.end = -1};
        rc = in->vfs->ops->list(in->vfs, path, snapshot_search, &search);
        if (rc || search.best.end < 0)
            return rc == 0 || rc == KL_ENOENT ? KL_EEND : rc;
        rc = snapshot_take_over(in, &search.best, out, bytes);
        search.below = search.best;
    } while (rc && rc != KL_ENOMEM && rc != KL_EFORMAT);
    return rc;
}
