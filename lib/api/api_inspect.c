/*
 * kl_inspect_* and kl_item_*: looking at a folder that is not open.
 */
#include "api/api_handle.h"
#include "api/api_storage.h"

#include <kraftlog/inspect.h>
#include <string.h>

struct kl_inspect
{
    struct kl_base_alloc alloc;
    struct kl_runtime_inspect *core;
    kl_storage *storage; /* a reference; NULL = the real files */
};

/* kl_item is the public name of the runtime's item. */
static const struct kl_runtime_item *item_unwrap(const kl_item *item)
{
    return (const struct kl_runtime_item *)item;
}

int kl_inspect_new(kl_inspect **out, const kl_config *config)
{
    const struct kl_base_alloc *alloc =
        config ? &config->alloc : &kl_base_alloc_libc;
    kl_inspect *in;
    int r;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    in = kl_base_calloc(alloc, sizeof *in);
    if (!in)
        return KL_ENOMEM;
    in->alloc = *alloc;
    r = kl_runtime_inspect_new(&in->core, alloc);
    if (r)
        kl_base_free(alloc, in, sizeof *in);
    else
        *out = in;
    return r;
}

void kl_inspect_free(kl_inspect *inspect)
{
    struct kl_base_alloc alloc;

    if (!inspect)
        return;
    alloc = inspect->alloc;
    kl_runtime_inspect_free(inspect->core);
    kl_storage_free(inspect->storage);
    kl_base_free(&alloc, inspect, sizeof *inspect);
}

int kl_inspect_set_storage(kl_inspect *inspect, kl_storage *storage)
{
    int r;

    if (!inspect)
        return KL_EINVAL;
    r = kl_runtime_inspect_set_vfs(
        inspect->core, storage ? kl_api_storage_vfs(storage) : NULL);
    if (r)
        return r;
    if (storage)
        kl_api_storage_ref(storage);
    kl_storage_free(inspect->storage);
    inspect->storage = storage;
    return 0;
}

int kl_inspect_errmsg(const kl_inspect *inspect, char *buf, size_t size)
{
    if (!inspect || !buf || !size)
        return KL_EINVAL;
    (void)kl_base_error_copy(kl_runtime_inspect_error(inspect->core), buf,
                             size);
    return 0;
}

/* ---- tasks -------------------------------------------------------------- */

/* Arguments that all tasks have. */
static int inspect_check(kl_inspect *inspect, const char *path, uint32_t flags,
                         uint32_t known)
{
    if (!inspect || !path || !*path || flags & ~known)
        return KL_EINVAL;
    if (!inspect->storage)
        return 0;
    return kl_api_storage_use(inspect->storage,
                              kl_runtime_inspect_error(inspect->core));
}

int kl_inspect_verify(kl_inspect *inspect, const char *dir, uint32_t flags)
{
    int r = inspect_check(inspect, dir, flags, KL_INSPECT_FORCE);

    return r ? r : kl_runtime_inspect_verify(inspect->core, dir, flags);
}

int kl_inspect_doctor(kl_inspect *inspect, const char *dir, uint32_t flags)
{
    int r = inspect_check(inspect, dir, flags, KL_INSPECT_FORCE);

    return r ? r : kl_runtime_inspect_doctor(inspect->core, dir, flags);
}

int kl_inspect_dump(kl_inspect *inspect, const char *dir, uint32_t flags)
{
    int r = inspect_check(inspect, dir, flags, KL_INSPECT_FORCE);

    return r ? r : kl_runtime_inspect_dump(inspect->core, dir, flags);
}

int kl_inspect_dump_wal(kl_inspect *inspect, const char *dir, uint32_t flags)
{
    int r = inspect_check(inspect, dir, flags, KL_INSPECT_FORCE);

    return r ? r : kl_runtime_inspect_dump_wal(inspect->core, dir, flags);
}

int kl_inspect_dump_log(kl_inspect *inspect, const char *dir, const char *topic,
                        int32_t partition, uint32_t flags)
{
    int r = inspect_check(inspect, dir, flags,
                          KL_INSPECT_FORCE | KL_INSPECT_RECORDS);

    if (r == 0 && (!topic || partition < 0))
        r = KL_EINVAL;
    return r ? r
             : kl_runtime_inspect_dump_log(inspect->core, dir, topic, partition,
                                           flags);
}

int kl_inspect_dump_file(kl_inspect *inspect, const char *path, uint32_t flags)
{
    int r = inspect_check(inspect, path, flags, KL_INSPECT_RECORDS);

    return r ? r : kl_runtime_inspect_dump_file(inspect->core, path, flags);
}

int kl_inspect_salvage(kl_inspect *inspect, const char *dir,
                       const char *new_dir, uint32_t flags)
{
    int r = inspect_check(inspect, dir, flags, 0);

    if (r == 0 && (!new_dir || !*new_dir))
        r = KL_EINVAL;
    return r ? r
             : kl_runtime_inspect_salvage(inspect->core, dir, new_dir, flags);
}

int kl_inspect_next(kl_inspect *inspect, const kl_item **item_out)
{
    const struct kl_runtime_item *item;
    int r;

    if (!inspect || !item_out)
        return KL_EINVAL;
    r = kl_runtime_inspect_next(inspect->core, &item);
    if (r == 0)
        *item_out = (const kl_item *)item;
    return r;
}

/* ---- items -------------------------------------------------------------- */

const char *kl_item_type(const kl_item *item)
{
    return item ? item_unwrap(item)->type : NULL;
}

const char *kl_item_field_at(const kl_item *item, size_t index)
{
    const struct kl_runtime_item *i = item_unwrap(item);

    return i && index < i->count ? i->fields[index].key : NULL;
}

int kl_item_int(const kl_item *item, const char *field, int64_t *value_out)
{
    const struct kl_runtime_field *f;

    if (!item || !field || !value_out)
        return KL_EINVAL;
    f = kl_runtime_item_find(item_unwrap(item), field);
    if (!f || f->is_text)
        return KL_ESTATE;
    *value_out = f->value;
    return 0;
}

int kl_item_bytes(const kl_item *item, const char *field, const void **data_out,
                  size_t *size_out)
{
    const struct kl_runtime_field *f;

    if (!item || !field || !data_out)
        return KL_EINVAL;
    f = kl_runtime_item_find(item_unwrap(item), field);
    if (!f || !f->is_text)
        return KL_ESTATE;
    *data_out = f->is_null ? NULL : item_unwrap(item)->data.data + f->at;
    if (size_out)
        *size_out = f->size;
    return 0;
}

/* Lends what the item has in a buffer, which is terminated. */
static int item_lend(const struct kl_base_buf *buf, const char **text_out,
                     size_t *size_out)
{
    *text_out = (const char *)buf->data;
    if (size_out)
        *size_out = buf->size - 1;
    return 0;
}

int kl_item_text(const kl_item *item, const char **text_out, size_t *size_out)
{
    if (!item || !text_out)
        return KL_EINVAL;
    return item_lend(&item_unwrap(item)->line, text_out, size_out);
}

int kl_item_json(const kl_item *item, const char **json_out, size_t *size_out)
{
    if (!item || !json_out)
        return KL_EINVAL;
    return item_lend(&item_unwrap(item)->json, json_out, size_out);
}
