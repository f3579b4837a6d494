/*
 * kl_storage_*: a file system of the host's, or one in memory.
 */
#include "api/api_storage.h"

#include "api/api_handle.h"
#include "base/alloc.h"

#include <stdatomic.h>

KL_STATIC_ASSERT(KL_STORAGE_READ == (int)KL_OS_READ, "the same flags");
KL_STATIC_ASSERT(KL_STORAGE_WRITE == (int)KL_OS_WRITE, "the same flags");
KL_STATIC_ASSERT(KL_STORAGE_CREATE == (int)KL_OS_CREATE, "the same flags");
KL_STATIC_ASSERT(KL_STORAGE_TRUNCATE == (int)KL_OS_TRUNCATE, "the same flags");

struct kl_storage
{
    struct kl_base_alloc alloc;
    atomic_uint refs;
    atomic_int used; /* by a node: nothing may be set any more */
    struct kl_os_vfs *vfs;
    struct kl_os_host_calls *calls; /* NULL = none of the host's */
};

/* The rest is up to the caller; out is set to NULL on failure. */
static int storage_new(kl_storage **out, const kl_config *config)
{
    const struct kl_base_alloc *alloc =
        config ? &config->alloc : &kl_base_alloc_libc;
    kl_storage *s;

    if (!out)
        return KL_EINVAL;
    s = kl_base_calloc(alloc, sizeof *s);
    *out = s;
    if (!s)
        return KL_ENOMEM;
    s->alloc = *alloc;
    atomic_init(&s->refs, 1);
    atomic_init(&s->used, 0);
    return 0;
}

/* Gives up what has no file system. */
static int storage_finish(kl_storage **out, int rc)
{
    kl_storage *s = *out;

    if (rc == 0)
        return 0;
    *out = NULL;
    kl_base_free(&s->alloc, s, sizeof *s);
    return rc;
}

int kl_storage_new(kl_storage **out, const kl_config *config)
{
    int rc = storage_new(out, config);

    if (rc)
        return rc;
    return storage_finish(
        out, kl_os_vfs_host_new(&(*out)->vfs, &(*out)->alloc, &(*out)->calls));
}

int kl_storage_new_memory(kl_storage **out, const kl_config *config,
                          uint64_t capacity)
{
    int rc = storage_new(out, config);

    if (rc)
        return rc;
    return storage_finish(
        out, kl_os_vfs_memory_new(&(*out)->vfs, &(*out)->alloc, capacity));
}

void kl_api_storage_ref(kl_storage *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void kl_storage_free(kl_storage *s)
{
    struct kl_base_alloc alloc;

    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    alloc = s->alloc;
    s->vfs->ops->free(s->vfs);
    kl_base_free(&alloc, s, sizeof *s);
}

struct kl_os_vfs *kl_api_storage_vfs(const kl_storage *s)
{
    return s->vfs;
}

int kl_api_storage_use(kl_storage *s, struct kl_base_error *error)
{
    const char *missing = s->calls ? kl_os_host_calls_missing(s->calls) : NULL;

    if (missing)
        return kl_base_error_set(error, KL_EINVAL,
                                 "the storage has no function for %s", missing);
    atomic_store(&s->used, 1);
    return 0;
}

#define X(name, type, required)                                                \
    int kl_storage_set_##name(kl_storage *s, type fn, void *user)              \
    {                                                                          \
        if (!s)                                                                \
            return KL_EINVAL;                                                  \
        if (!s->calls || atomic_load(&s->used))                                \
            return KL_ESTATE;                                                  \
        s->calls->name = fn;                                                   \
        s->calls->name##_user = user;                                          \
        return 0;                                                              \
    }
KL_OS_HOST_CALLS(X)
#undef X

int kl_storage_names_add(kl_storage_names *names, const char *name)
{
    return names ? kl_os_host_names_add(names, name) : KL_EINVAL;
}
