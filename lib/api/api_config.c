/*
 * kl_config_*: values from the one table of keys, and hooks.
 */
#include "api/api_handle.h"

#include <string.h>

int kl_config_new(kl_config **out, kl_allocator_fn allocator, void *user)
{
    struct kl_base_alloc alloc = kl_base_alloc_libc;
    kl_config *c;

    if (!out)
        return KL_EINVAL;
    if (allocator) {
        alloc.fn = allocator;
        alloc.user = user;
    }
    c = kl_base_calloc(&alloc, sizeof *c);
    *out = c;
    if (!c)
        return KL_ENOMEM;
    c->alloc = alloc;
    kl_base_config_init(&c->values);
    return 0;
}

void kl_config_free(kl_config *config)
{
    struct kl_base_alloc alloc;

    if (!config)
        return;
    alloc = config->alloc;
    kl_base_free(&alloc, config, sizeof *config);
}

int kl_config_set(kl_config *config, const char *key, const char *value)
{
    if (!config || !key)
        return KL_EINVAL;
    return kl_base_config_set(&config->values, key, value, &config->error);
}

int kl_config_set_int(kl_config *config, const char *key, int64_t value)
{
    if (!config || !key)
        return KL_EINVAL;
    return kl_base_config_set_int(&config->values, key, value, &config->error);
}

int kl_config_get(const kl_config *config, const char *key, char *buf,
                  size_t size, size_t *size_out)
{
    char text[KL_BASE_CONFIG_TEXT];
    size_t index = 0;

    if (!config || !key || (!buf && size))
        return KL_EINVAL;
    if (kl_base_config_find(key, &index, NULL))
        return KL_ECONFIG;
    kl_base_config_format(&config->values, index, text);
    kl_api_text_copy(text, strlen(text), buf, size, size_out);
    return 0;
}

int kl_config_errmsg(const kl_config *config, char *buf, size_t size)
{
    if (!config || !buf || !size)
        return KL_EINVAL;
    (void)kl_base_error_copy(&config->error, buf, size);
    return 0;
}

int kl_config_set_trace(kl_config *config, int level, kl_trace_fn fn,
                        void *user)
{
    if (!config || level < 0 || level > KL_TRACE_DEBUG || (level && !fn))
        return KL_EINVAL;
    config->trace_level = level;
    config->trace_fn = fn;
    config->trace_user = user;
    return 0;
}

int kl_config_set_panic(kl_config *config, kl_panic_fn fn, void *user)
{
    if (!config)
        return KL_EINVAL;
    config->panic_fn = fn;
    config->panic_user = user;
    return 0;
}

size_t kl_config_key_count(void)
{
    return KL_BASE_CONFIG_COUNT;
}

const char *kl_config_key_at(size_t index)
{
    const struct kl_base_config_row *row = kl_base_config_row(index);

    return row ? row->name : NULL;
}

const char *kl_config_key_doc(size_t index)
{
    const struct kl_base_config_row *row = kl_base_config_row(index);

    return row ? row->doc : NULL;
}

int kl_config_key_scope(size_t index)
{
    const struct kl_base_config_row *row = kl_base_config_row(index);

    return row ? row->scope : 0;
}

int kl_config_key_type(size_t index)
{
    const struct kl_base_config_row *row = kl_base_config_row(index);

    return row ? row->type : 0;
}

const char *kl_config_key_default(size_t index)
{
    const struct kl_base_config_row *row = kl_base_config_row(index);

    return row ? row->text : NULL;
}

const char *kl_config_key_range(size_t index)
{
    const struct kl_base_config_row *row = kl_base_config_row(index);

    return row ? row->range : NULL;
}
