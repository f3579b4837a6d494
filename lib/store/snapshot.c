/*
 * Snapshots: which there are, those that are being written, and reads of them.
 * The work is done in snapshot_lane.c. A snapshot that fails, or is bad, says
 * nothing about the store: logs go on, and an older snapshot serves (F34).
 */
#include "store/snapshot.h"

#include <string.h>

void kl_store_snapshots_init(struct kl_store *s)
{
    kl_base_list_init(&s->snapshots.writers);
    kl_base_list_init(&s->snapshots.written);
    kl_base_list_init(&s->snapshots.read);
}

static void snapshot_account(struct kl_store_snapshot_writer *w, uint64_t bytes)
{
    w->store->snapshots.bytes += bytes - w->counted;
    w->counted = bytes;
}

static void snapshot_writer_free(struct kl_store_snapshot_writer *w)
{
    snapshot_account(w, 0);
    kl_base_list_remove(&w->link);
    kl_base_list_remove(&w->event);
    kl_base_free(&w->store->alloc, w, sizeof *w);
}

void kl_store_snapshots_deinit(struct kl_store *s)
{
    struct kl_store_snapshots *all = &s->snapshots;
    struct kl_base_list *l;

    while ((l = kl_base_list_first(&all->writers))) {
        struct kl_store_snapshot_writer *w =
            KL_BASE_CONTAINER(l, struct kl_store_snapshot_writer, link);

        if (w->file)
            s->vfs->ops->close(w->file); /* the next open finds it */
        snapshot_writer_free(w);
    }
    kl_base_free(&s->alloc, all->items, all->capacity * sizeof *all->items);
    all->items = NULL;
    all->count = all->capacity = 0;
}

/* ---- the complete ones --------------------------------------------------- */

static int snapshot_is_newer(const struct kl_store_snapshot *a,
                             const struct kl_store_snapshot *b)
{
    return a->end > b->end || (a->end == b->end && a->epoch > b->epoch);
}

/* Room for one more, besides those that are being written. */
static int snapshot_reserve(struct kl_store *s)
{
    struct kl_store_snapshots *all = &s->snapshots;
    void *items = all->items;
    size_t want = all->count + 1;
    int rc;

    for (struct kl_base_list *l = all->writers.next; l != &all->writers;
         l = l->next)
        want++;
    rc = kl_base_reserve(&s->alloc, &items, &all->capacity, want,
                         sizeof *all->items);
    all->items = items;
    return rc;
}

static void snapshot_insert(struct kl_store *s,
                            const struct kl_store_snapshot *info)
{
    struct kl_store_snapshots *all = &s->snapshots;
    size_t at = 0;

    KL_ASSERT(all->count < all->capacity);
    while (at < all->count && snapshot_is_newer(&all->items[at], info))
        at++;
    memmove(all->items + at + 1, all->items + at,
            (all->count - at) * sizeof *all->items);
    all->items[at] = *info;
    all->count++;
    all->bytes += kl_store_snapshot_file_size(info->size);
}

static struct kl_store_snapshot *snapshot_find(const struct kl_store *s,
                                               int64_t end, int32_t epoch)
{
    for (size_t i = 0; i < s->snapshots.count; i++) {
        struct kl_store_snapshot *info = &s->snapshots.items[i];

        if (info->end == end && info->epoch == epoch)
            return info;
    }
    return NULL;
}

static void snapshot_forget(struct kl_store *s, struct kl_store_snapshot *info)
{
    struct kl_store_snapshots *all = &s->snapshots;
    size_t index = (size_t)(info - all->items);

    all->bytes -= kl_store_snapshot_file_size(info->size);
    all->count--;
    memmove(info, info + 1, (all->count - index) * sizeof *info);
}

int kl_store_snapshot_at(const struct kl_store *s, size_t index,
                         struct kl_store_snapshot *out)
{
    if (index >= s->snapshots.count)
        return KL_EEND;
    *out = s->snapshots.items[index];
    return 0;
}

void kl_store_snapshot_delete_before(struct kl_store *s, int64_t end)
{
    struct kl_store_snapshots *all = &s->snapshots;
    char path[KL_STORE_PATH_MAX];

    if (s->failure.code)
        return;
    while (all->count > 1 && all->items[all->count - 1].end < end) {
        const struct kl_store_snapshot *info = &all->items[--all->count];
        uint64_t bytes = kl_store_snapshot_file_size(info->size);

        kl_store_path_snapshot(s, "snapshots", info->end, info->epoch, path);
        all->bytes -= bytes;
        kl_store_tidy_unlink(s, path, bytes, 0);
    }
}

/* ---- open ---------------------------------------------------------------- */

static int snapshot_found(const char *name, void *user)
{
    struct kl_store *s = user;
    struct kl_store_snapshot info;
    char path[KL_STORE_PATH_MAX];
    size_t length = strlen(name);
    int64_t end;
    int32_t epoch;
    int rc;

    if (length > 4 && length < 100 && strcmp(name + length - 4, ".new") == 0) {
        kl_store_path(s, "snapshots/", path);
        kl_store_path_text(path, name);
        s->vfs->ops->unlink(s->vfs, path); /* disturbs nothing where it stays */
        return 0;
    }
    if (!kl_store_path_is_snapshot(name, &end, &epoch))
        return 0;
    rc = kl_store_snapshot_inspect(s, end, epoch, &info);
    if (rc == KL_ECORRUPT) {
        kl_store_snapshot_quarantine(s, end, epoch);
        kl_base_stat_add(&s->stats.damages, 1);
        return 0;
    }
    if (rc == 0)
        rc = snapshot_reserve(s);
    if (rc == 0)
        snapshot_insert(s, &info);
    return rc;
}

int kl_store_snapshots_open(struct kl_store *s, struct kl_base_error *error)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    kl_store_path(s, "snapshots", path);
    rc = s->vfs->ops->list(s->vfs, path, snapshot_found, s);
    if (rc == KL_ENOENT) {
        /* Who copied the store may have left empty folders out. */
        rc = s->vfs->ops->mkdir(s->vfs, path);
        if (rc == 0)
            rc = kl_store_sync_folder(s->vfs, s->path);
    } else if (rc == 0 && s->snapshots.count > 0) {
        /* What a killed process has named is to last like all the others. */
        rc = kl_store_sync_folder(s->vfs, path);
    }
    return rc ? kl_base_error_set(error, rc, "cannot read %s: %s", path,
                                  kl_store_why(rc))
              : 0;
}

/* ---- writing ------------------------------------------------------------- */

static int snapshot_check(const struct kl_store *s)
{
    if (s->failure.code)
        return KL_EFAILED;
    return !s->opened || s->stopping ? KL_ECLOSED : 0;
}

static int snapshot_is_written(const struct kl_store *s, int64_t end,
                               int32_t epoch)
{
    const struct kl_base_list *head = &s->snapshots.writers;

    for (const struct kl_base_list *l = head->next; l != head; l = l->next) {
        const struct kl_store_snapshot_writer *w =
            KL_BASE_CONTAINER(l, struct kl_store_snapshot_writer, link);

        if (w->info.end == end && w->info.epoch == epoch)
            return 1;
    }
    return 0;
}

int kl_store_snapshot_begin(struct kl_store *s, int64_t end, int32_t epoch,
                            struct kl_store_snapshot_writer **out)
{
    struct kl_store_snapshot_writer *w;
    int rc = snapshot_check(s);

    if (rc)
        return rc;
    if (end < 0 || epoch < 0 || s->identity.flags & KL_STORE_JOINS)
        return KL_EINVAL;
    if (snapshot_find(s, end, epoch) || snapshot_is_written(s, end, epoch))
        return KL_EEXIST;
    rc = snapshot_reserve(s);
    if (rc)
        return rc;
    w = kl_base_malloc(&s->alloc, sizeof *w);
    if (!w)
        return KL_ENOMEM;
    memset(w, 0, offsetof(struct kl_store_snapshot_writer, block));
    w->store = s;
    w->info.end = end;
    w->info.epoch = epoch;
    w->serial = ++s->snapshots.serial;
    kl_base_list_init(&w->event);
    kl_base_list_push(&s->snapshots.writers, &w->link);
    *out = w;
    return 0;
}

static void snapshot_dropped(struct kl_os_job *job)
{
    snapshot_writer_free(
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_writer, job));
}

/* Gives it up; what is aside goes, but for a store that writes no more. */
static void snapshot_drop(struct kl_store_snapshot_writer *w)
{
    kl_base_list_remove(&w->link);
    w->is_made = w->is_made && !w->committed && !w->store->failure.code;
    if (!w->file && !w->is_made) {
        snapshot_writer_free(w);
        return;
    }
    w->job.run = kl_store_snapshot_drop_lane;
    w->job.done = snapshot_dropped;
    kl_store_submit(w->store, &w->job, KL_OS_LANE_CLEAN);
}

static void snapshot_done(struct kl_os_job *job)
{
    struct kl_store_snapshot_writer *w =
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_writer, job);
    struct kl_store *s = w->store;

    w->busy = 0;
    snapshot_account(w, kl_store_snapshot_file_size(w->info.size));
    if (w->committing && w->code == 0) {
        w->committed = 1;
        snapshot_account(w, 0); /* it is among the complete ones now */
        snapshot_insert(s, &w->info);
    }
    if (w->closed && !w->committing)
        w->code = KL_ECANCELED;
    kl_base_list_push(&s->snapshots.written, &w->event);
}

static int snapshot_submit(struct kl_store_snapshot_writer *w,
                           void (*run)(struct kl_os_job *job))
{
    w->busy = 1;
    w->job.run = run;
    w->job.done = snapshot_done;
    kl_store_submit(w->store, &w->job, KL_OS_LANE_CLEAN);
    return 0;
}

static int snapshot_check_writer(const struct kl_store_snapshot_writer *w)
{
    int rc = snapshot_check(w->store);

    if (rc)
        return rc;
    if (w->busy || !kl_base_list_is_empty(&w->event))
        return KL_EAGAIN;
    return w->code || w->committing ? KL_EFAILED : 0;
}

int kl_store_snapshot_append(struct kl_store_snapshot_writer *w,
                             const void *data, size_t size)
{
    int rc = snapshot_check_writer(w);

    if (rc)
        return rc;
    w->data = data;
    w->size = size;
    return snapshot_submit(w, kl_store_snapshot_append_lane);
}

int kl_store_snapshot_commit(struct kl_store_snapshot_writer *w)
{
    int rc = snapshot_check_writer(w);

    if (rc)
        return rc;
    w->committing = 1;
    return snapshot_submit(w, kl_store_snapshot_commit_lane);
}

void kl_store_snapshot_close(struct kl_store_snapshot_writer *w)
{
    /* The event of what is under way, or finished, still has to be told. */
    if (w->busy || !kl_base_list_is_empty(&w->event))
        w->closed = 1;
    else
        snapshot_drop(w);
}

/* ---- reading ------------------------------------------------------------- */

static void snapshot_read_done(struct kl_os_job *job)
{
    struct kl_store_snapshot_job *j =
        KL_BASE_CONTAINER(job, struct kl_store_snapshot_job, job);
    struct kl_store *s = j->store;
    struct kl_store_snapshot *info;

    kl_base_list_push(&s->snapshots.read, &j->read->link);
    if (j->read->code == KL_ECORRUPT) {
        kl_base_stat_add(&s->stats.damages, 1);
        info = snapshot_find(s, j->info.end, j->info.epoch);
        if (info && kl_store_snapshot_is_same(info, &j->info))
            snapshot_forget(s, info);
    }
    kl_base_free(&s->alloc, j, sizeof *j);
}

int kl_store_snapshot_read(struct kl_store *s,
                           struct kl_store_snapshot_read *read)
{
    const struct kl_store_snapshot *info =
        snapshot_find(s, read->end, read->epoch);
    struct kl_store_snapshot_job *j;

    read->chunk = NULL;
    read->data = NULL;
    read->size = 0;
    if (!info)
        read->code = KL_ENOENT;
    else
        read->code = read->position > info->size ? KL_EOFFSETRANGE : 0;
    if (read->code || read->position == info->size || read->bytes_max == 0)
        return 0;
    j = kl_base_calloc(&s->alloc, sizeof *j);
    if (!j) {
        read->code = KL_ENOMEM;
        return 0;
    }
    j->store = s;
    j->info = *info;
    j->read = read;
    j->job.run = kl_store_snapshot_read_lane;
    j->job.done = snapshot_read_done;
    kl_store_submit(s, &j->job, KL_OS_LANE_READ);
    return KL_EAGAIN;
}

void kl_store_snapshot_read_release(struct kl_store_snapshot_read *read)
{
    kl_base_chunk_unref(read->chunk);
    read->chunk = NULL;
    read->data = NULL;
    read->size = 0;
}

/* ---- events -------------------------------------------------------------- */

int kl_store_snapshots_event(struct kl_store *s, struct kl_store_event *out)
{
    struct kl_base_list *l;

    if ((l = kl_base_list_pop(&s->snapshots.written))) {
        struct kl_store_snapshot_writer *w =
            KL_BASE_CONTAINER(l, struct kl_store_snapshot_writer, event);

        out->type = KL_STORE_EVENT_SNAPSHOT;
        out->writer = w;
        out->code = w->code;
        if (w->closed)
            snapshot_drop(w);
        return 1;
    }
    if ((l = kl_base_list_pop(&s->snapshots.read))) {
        out->type = KL_STORE_EVENT_SNAPSHOT_READ;
        out->snapshot_read =
            KL_BASE_CONTAINER(l, struct kl_store_snapshot_read, link);
        return 1;
    }
    return 0;
}
