/*
 * The logs of a folder without a good checkpoint: those that have a folder,
 * and what the ring tells of logs being made, reset and deleted. Where a log
 * ends nobody says; it is what can be found of it.
 */
#include "store/inspect.h"

static struct kl_store_log *guess_log(struct kl_store_inspect *in,
                                      const struct kl_store_id *id)
{
    struct kl_store_log *log = kl_store_find(in->store, id);

    if (log)
        return log;
    if (kl_store_log_new(in->store, id, KL_STORE_FLUSH_COMMIT, &log))
        return NULL;
    log->exists = 1;
    /* All of its segments count. */
    log->active.base = log->leo = INT64_MAX;
    return log;
}

/* Every folder is taken for one of a log that lives, of several of one name the
 * last. */
static int guess_folder(const char *name, void *user)
{
    struct kl_store_inspect *in = user;
    struct kl_store_id id;
    struct kl_store_log *log;
    uint64_t instance;

    if (!kl_store_path_parse(name, &id, &instance))
        return 0;
    log = guess_log(in, &id);
    if (!log)
        return KL_ENOMEM;
    if (instance > log->instance)
        log->instance = instance;
    return 0;
}

/* ---- the ring ---------------------------------------------------------- */

static int guess_created(const struct kl_store_entry_header *e, uint32_t at,
                         const uint8_t *frame, void *user)
{
    struct kl_store_log *log;

    (void)at, (void)frame;
    if (!kl_store_entry_is_birth(e->type) || e->flags > KL_STORE_FLUSH_INTERVAL)
        return 0;
    log = guess_log(user, &e->id);
    if (!log)
        return KL_ENOMEM;
    if (e->instance >= log->instance) {
        log->instance = e->instance;
        log->flush = e->flags;
        log->start = log->durable_start = e->offset;
    }
    return 0;
}

/* The delete is the last that is ever said of an instance. */
static int guess_changed(const struct kl_store_entry_header *e, uint32_t at,
                         const uint8_t *frame, void *user)
{
    struct kl_store_inspect *in = user;
    struct kl_store_log *log = kl_store_find(in->store, &e->id);

    (void)at, (void)frame;
    if (!log || log->instance != e->instance)
        return 0;
    if (e->type == KL_STORE_ENTRY_DELETE)
        kl_store_log_remove(log);
    else if (e->type == KL_STORE_ENTRY_START && e->offset > log->start)
        log->start = log->durable_start = e->offset;
    return 0;
}

/* Calls fn for every entry of every group, in no order. */
static int guess_ring(struct kl_store_inspect *in, kl_store_ring_fn fn)
{
    struct kl_store_ring *ring = &in->recovery.ring;
    struct kl_store_group_header h;
    int rc = 0;

    for (uint32_t file = 0; file < ring->file_count; file++) {
        for (uint64_t at = 0; at < ring->file_size; at += KL_STORE_BLOCK) {
            rc = kl_store_ring_load(ring, file, at, &h);
            if (rc == KL_EEND)
                continue;
            if (rc == 0)
                rc = kl_store_ring_entries(ring, &h, fn, in);
            if (rc && rc != KL_ECORRUPT && rc != KL_EFORMAT)
                return rc;
            at += h.size - KL_STORE_BLOCK;
        }
    }
    return 0;
}

int kl_store_inspect_guess(struct kl_store_inspect *in,
                           struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(in->store, "logs", path);
    rc = in->vfs->ops->list(in->vfs, path, guess_folder, in);
    if (rc == 0 || rc == KL_ENOENT)
        rc = guess_ring(in, guess_created);
    if (rc == 0)
        rc = guess_ring(in, guess_changed);
    return rc ? kl_base_error_set(error, rc, "cannot read the folder %s: %s",
                                  path, kl_store_why(rc))
              : 0;
}
