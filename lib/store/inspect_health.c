/*
 * What a folder is apart from the bytes in it: its format, its reserve, the
 * room around it, and whether it ever was a store.
 */
#include "store/inspect.h"

static int health_count(const char *name, void *user)
{
    uint64_t *count = user;

    (void)name;
    ++*count;
    return 0;
}

/* Names in a folder of the store; 0 where it is absent. */
static int health_names(struct kl_store_inspect *in, const char *folder,
                        uint64_t *count_out)
{
    char path[KL_STORE_PATH_MAX];
    int rc;

    *count_out = 0;
    kl_store_path(in->store, folder, path);
    rc = in->vfs->ops->list(in->vfs, path, health_count, count_out);
    return rc == KL_ENOENT ? 0 : rc;
}

static int health_reserve(struct kl_store_inspect *in, uint64_t *size_out)
{
    struct kl_os_vfs *vfs = in->store->vfs;
    struct kl_os_file *file;
    char path[KL_STORE_PATH_MAX];
    int rc;

    *size_out = 0;
    kl_store_path(in->store, "reserve", path);
    rc = vfs->ops->open(vfs, path, KL_OS_READ, &file);
    if (rc)
        return rc == KL_ENOENT ? 0 : rc;
    rc = vfs->ops->size(file, size_out);
    vfs->ops->close(file);
    return rc;
}

int kl_store_inspect_health(struct kl_store_inspect *in,
                            struct kl_store_inspect_health *out)
{
    const struct kl_store *s = in->store;
    uint64_t logs = 0;
    int rc = health_names(in, "logs", &logs);

    *out = (struct kl_store_inspect_health){.free_bytes = UINT64_MAX};
    if (rc == 0)
        rc = health_names(in, "quarantine", &out->kept);
    if (rc == 0)
        rc = health_reserve(in, &out->reserve_bytes);
    if (rc)
        return rc;
    out->is_old =
        in->identity_code == 0 && s->identity.version < KL_STORE_FORMAT;
    /* The identity is what formatting writes last, and no log is made before
     * it. */
    out->is_unfinished = in->identity_code == KL_ENOENT && logs == 0 &&
                         kl_base_list_is_empty(&s->logs);
    if (in->newest >= 0)
        out->reserve_wanted =
            kl_store_space_reserve(s->wal.file_count * s->wal.file_size);
    if (in->vfs->ops->space(in->vfs, s->path, &out->free_bytes))
        out->free_bytes = UINT64_MAX; /* it does not say */
    return 0;
}
