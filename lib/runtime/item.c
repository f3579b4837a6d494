/*
 * Lines of a report. Every form is made from the same fields, so that they
 * cannot say different things.
 */
#include "runtime/item.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

void kl_runtime_item_init(struct kl_runtime_item *item,
                          const struct kl_base_alloc *alloc)
{
    item->type = "";
    item->count = 0;
    kl_base_buf_init(&item->data, alloc);
    kl_base_buf_init(&item->line, alloc);
    kl_base_buf_init(&item->json, alloc);
}

void kl_runtime_item_deinit(struct kl_runtime_item *item)
{
    kl_base_buf_deinit(&item->data);
    kl_base_buf_deinit(&item->line);
    kl_base_buf_deinit(&item->json);
}

/* ---- filling ----------------------------------------------------------- */

void kl_runtime_item_begin(struct kl_runtime_item *item, const char *type)
{
    item->type = type;
    item->count = 0;
    kl_base_buf_clear(&item->data);
}

static struct kl_runtime_field *item_add(struct kl_runtime_item *item,
                                         const char *key)
{
    struct kl_runtime_field *f = &item->fields[item->count++];

    KL_ASSERT(item->count <= KL_RUNTIME_ITEM_FIELDS);
    memset(f, 0, sizeof *f);
    f->key = key;
    return f;
}

void kl_runtime_item_put(struct kl_runtime_item *item, const char *key,
                         int64_t value)
{
    item_add(item, key)->value = value;
}

void kl_runtime_item_bytes(struct kl_runtime_item *item, const char *key,
                           const void *data, size_t size)
{
    struct kl_runtime_field *f = item_add(item, key);

    f->is_text = 1;
    f->is_null = !data;
    f->at = item->data.size;
    f->size = size;
    kl_base_buf_append(&item->data, data, size);
    kl_base_buf_put8(&item->data, 0);
}

void kl_runtime_item_text(struct kl_runtime_item *item, const char *key,
                          const char *text)
{
    kl_runtime_item_bytes(item, key, text, strlen(text));
}

void kl_runtime_item_id(struct kl_runtime_item *item, const char *key,
                        const struct kl_base_uuid *id)
{
    char text[KL_BASE_UUID_TEXT + 1];

    kl_base_uuid_format(id, text);
    kl_runtime_item_text(item, key, text);
}

/* ---- forms ----------------------------------------------------------------
 */

static const uint8_t *item_data(const struct kl_runtime_item *item,
                                const struct kl_runtime_field *f)
{
    return item->data.data + f->at;
}

/* A word that can stand in a line as it is. */
static int item_is_plain(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] <= ' ' || p[i] == '"' || p[i] == '\\' || p[i] >= 127)
            return 0;
    return size > 0;
}

/* Text in quotes; what is not printable becomes \xNN. */
static void item_quote(struct kl_base_buf *out, const uint8_t *p, size_t size)
{
    size_t length;

    kl_base_buf_put8(out, '"');
    for (size_t i = 0; i < size; i += length) {
        length = kl_base_utf8_sequence(p + i, size - i);
        if (length > 1) {
            kl_base_buf_append(out, p + i, length);
            continue;
        }
        length = 1;
        if (p[i] == '"' || p[i] == '\\')
            kl_base_buf_printf(out, "\\%c", p[i]);
        else if (p[i] < ' ' || p[i] >= 127)
            kl_base_buf_printf(out, "\\x%02x", p[i]);
        else
            kl_base_buf_put8(out, p[i]);
    }
    kl_base_buf_put8(out, '"');
}

static void item_write_line(struct kl_runtime_item *item)
{
    const struct kl_runtime_field *text = kl_runtime_item_find(item, "text");
    struct kl_base_buf *out = &item->line;

    if (text) {
        kl_base_buf_append(out, item_data(item, text), text->size);
        return;
    }
    kl_base_buf_printf(out, "%s", item->type);
    for (size_t i = 0; i < item->count; i++) {
        const struct kl_runtime_field *f = &item->fields[i];

        kl_base_buf_printf(out, " %s=", f->key);
        if (!f->is_text)
            kl_base_buf_printf(out, "%lld", (long long)f->value);
        else if (f->is_null)
            kl_base_buf_printf(out, "null");
        else if (item_is_plain(item_data(item, f), f->size))
            kl_base_buf_append(out, item_data(item, f), f->size);
        else
            item_quote(out, item_data(item, f), f->size);
    }
}

static void item_write_json(struct kl_runtime_item *item)
{
    struct kl_base_buf *out = &item->json;

    kl_base_buf_printf(out, "{\"type\":\"%s\"", item->type);
    for (size_t i = 0; i < item->count; i++) {
        const struct kl_runtime_field *f = &item->fields[i];

        kl_base_buf_printf(out, ",\"%s\":", f->key);
        if (!f->is_text)
            kl_base_buf_printf(out, "%lld", (long long)f->value);
        else if (f->is_null)
            kl_base_buf_printf(out, "null");
        else
            kl_base_buf_json(out, (const char *)item_data(item, f), f->size);
    }
    kl_base_buf_put8(out, '}');
}

int kl_runtime_item_end(struct kl_runtime_item *item)
{
    kl_base_buf_clear(&item->line);
    kl_base_buf_clear(&item->json);
    if (item->data.error)
        return KL_ENOMEM;
    item_write_line(item);
    item_write_json(item);
    kl_base_buf_put8(&item->line, 0);
    kl_base_buf_put8(&item->json, 0);
    return item->line.error || item->json.error ? KL_ENOMEM : 0;
}

const struct kl_runtime_field *
kl_runtime_item_find(const struct kl_runtime_item *item, const char *key)
{
    for (size_t i = 0; i < item->count; i++)
        if (strcmp(item->fields[i].key, key) == 0)
            return &item->fields[i];
    return NULL;
}
