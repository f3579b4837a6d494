/*
 * Closing files and removing names, in the clean-up lane. A segment of a log
 * that lives goes only when both checkpoint slots know that it is not needed:
 * recovery may start from the older one (storage.md 5.6). A deleted log goes at
 * once, whatever the slots say: recovery finds its delete in the WAL. One that
 * was reset stays until then (storage.md 7).
 */
#include "store/state.h"

#include <string.h>

struct tidy_item
{
    struct kl_base_list link;
    uint64_t generation; /* of the newest slot, before which it must wait */
    struct kl_os_file *file;
    char *path;
    size_t path_size;
    uint64_t bytes;
    int is_folder;
    int code;
};

void kl_store_tidy_init(struct kl_store *s)
{
    s->tidy.store = s;
    kl_store_retry_init(&s->tidy.retry);
    kl_base_list_init(&s->tidy.waiting);
    kl_base_list_init(&s->tidy.taken);
}

static struct tidy_item *tidy_add(struct kl_store *s, const char *path)
{
    struct tidy_item *item = kl_base_calloc(&s->alloc, sizeof *item);

    if (!item)
        return NULL;
    if (path) {
        item->path_size = strlen(path) + 1;
        item->path = kl_base_strndup(&s->alloc, path, item->path_size - 1);
        if (!item->path) {
            kl_base_free(&s->alloc, item, sizeof *item);
            return NULL;
        }
    }
    kl_base_list_push(&s->tidy.waiting, &item->link);
    s->tidy.names += path != NULL;
    return item;
}

int kl_store_tidy_close(struct kl_store *s, struct kl_os_file *file)
{
    struct tidy_item *item = tidy_add(s, NULL);

    if (item)
        item->file = file;
    else if (s->opened)
        return KL_ENOMEM;
    else
        s->vfs->ops->close(file); /* open and free may block */
    return 0;
}

/* Without memory the name stays: the next open finds it as a leftover. */
void kl_store_tidy_unlink(struct kl_store *s, const char *path, uint64_t bytes,
                          uint64_t generation)
{
    struct tidy_item *item = tidy_add(s, path);

    if (!item)
        return;
    item->generation = generation;
    item->bytes = bytes;
    s->tidy.bytes += bytes;
}

void kl_store_tidy_folder(struct kl_store *s, const char *path, uint64_t bytes,
                          uint64_t generation)
{
    struct tidy_item *item = tidy_add(s, path);

    if (!item)
        return;
    item->is_folder = 1;
    item->generation = generation;
    item->bytes = bytes;
    s->tidy.bytes += bytes;
}

/* ---- in the lane ------------------------------------------------------- */

struct tidy_folder
{
    struct kl_os_vfs *vfs;
    const char *path;
};

static int tidy_remove_name(const char *name, void *user)
{
    struct tidy_folder *folder = user;
    char path[KL_STORE_PATH_MAX];
    size_t length = strlen(folder->path);

    if (length + 1 + strlen(name) + 1 > sizeof path)
        return KL_EINVAL;
    memcpy(path, folder->path, length);
    path[length] = '/';
    memcpy(path + length + 1, name, strlen(name) + 1);
    return folder->vfs->ops->unlink(folder->vfs, path);
}

int kl_store_tidy_remove_folder(struct kl_os_vfs *vfs, const char *path)
{
    struct tidy_folder folder = {vfs, path};
    int rc = vfs->ops->list(vfs, path, tidy_remove_name, &folder);

    return rc ? rc : vfs->ops->rmdir(vfs, path);
}

static void tidy_job_run(struct kl_os_job *job)
{
    struct kl_store_tidy *t = KL_BASE_CONTAINER(job, struct kl_store_tidy, job);
    struct kl_os_vfs *vfs = t->store->vfs;

    for (struct kl_base_list *l = t->taken.next; l != &t->taken; l = l->next) {
        struct tidy_item *item = KL_BASE_CONTAINER(l, struct tidy_item, link);

        item->code = 0;
        if (item->file)
            vfs->ops->close(item->file);
        else if (item->is_folder)
            item->code = kl_store_tidy_remove_folder(vfs, item->path);
        else
            item->code = vfs->ops->unlink(vfs, item->path);
        item->file = NULL;
    }
}

static void tidy_free(struct kl_store *s, struct kl_base_list *list)
{
    struct kl_base_list *l;

    while ((l = kl_base_list_pop(list))) {
        struct tidy_item *item = KL_BASE_CONTAINER(l, struct tidy_item, link);

        if (item->file)
            s->vfs->ops->close(item->file);
        s->tidy.bytes -= item->bytes;
        kl_base_free(&s->alloc, item->path, item->path_size);
        kl_base_free(&s->alloc, item, sizeof *item);
    }
}

static void tidy_job_done(struct kl_os_job *job)
{
    struct kl_store_tidy *t = KL_BASE_CONTAINER(job, struct kl_store_tidy, job);

    struct kl_base_list *l = t->taken.next, *next;
    uint64_t bytes = t->bytes;

    t->busy = 0;
    kl_store_retry_init(&t->retry);
    /* What cannot be removed is a leftover, which open looks for. */
    for (; l != &t->taken; l = next) {
        struct tidy_item *item = KL_BASE_CONTAINER(l, struct tidy_item, link);

        next = l->next;
        if (!kl_store_is_passing(item->code))
            continue;
        kl_base_list_remove(l);
        kl_base_list_push(&t->waiting, l);
        t->names++;
        if (!kl_store_retry_is_waiting(&t->retry))
            kl_store_retry_later(t->store, &t->retry);
    }
    tidy_free(t->store, &t->taken);
    if (t->bytes < bytes)
        kl_store_space_look(t->store);
}

int64_t kl_store_tidy_deadline(const struct kl_store *s)
{
    return s->tidy.busy ? INT64_MAX : s->tidy.retry.at_ns;
}

void kl_store_tidy_turn(struct kl_store *s)
{
    struct kl_store_tidy *t = &s->tidy;
    struct kl_base_list *l, *next;
    uint64_t newest = kl_store_checkpoint_newest(s);

    kl_store_segment_bury(s);
    if (t->busy || (kl_store_retry_is_waiting(&t->retry) &&
                    !kl_store_retry_take(s, &t->retry)))
        return;
    for (l = t->waiting.next; l != &t->waiting; l = next) {
        struct tidy_item *item = KL_BASE_CONTAINER(l, struct tidy_item, link);

        next = l->next;
        if (item->generation > newest)
            continue;
        kl_base_list_remove(l);
        kl_base_list_push(&t->taken, l);
        t->names -= item->path != NULL;
    }
    if (kl_base_list_is_empty(&t->taken))
        return;
    t->busy = 1;
    t->job.run = tidy_job_run;
    t->job.done = tidy_job_done;
    kl_store_submit(s, &t->job, KL_OS_LANE_CLEAN);
}

int kl_store_tidy_is_waiting(const struct kl_store *s)
{
    return s->tidy.names > 0;
}

void kl_store_tidy_deinit(struct kl_store *s)
{
    tidy_free(s, &s->tidy.waiting);
    tidy_free(s, &s->tidy.taken);
}
