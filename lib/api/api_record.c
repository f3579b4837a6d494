/*
 * Records: built by a program, or lent by an event.
 */
#include "api/api_record.h"

#include "api/api_handle.h"

#include <kraftlog/error.h>
#include <string.h>

enum { RECORD_PART_MAX = KL_BATCH_SIZE_MAX };

/* ---- building ---------------------------------------------------------- */

static void record_reset(struct kl_record *r)
{
    kl_base_buf_clear(&r->key);
    kl_base_buf_clear(&r->value);
    kl_base_buf_clear(&r->texts);
    memset(&r->view, 0, sizeof r->view);
    r->view.offset = -1;
    r->view.timestamp = KL_TIMESTAMP_NOW;
    r->epoch = -1;
}

int kl_record_new(kl_record **out, const kl_config *config)
{
    const struct kl_base_alloc *alloc =
        config ? &config->alloc : &kl_base_alloc_libc;
    struct kl_record *r;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    r = kl_base_calloc(alloc, sizeof *r);
    if (!r)
        return KL_ENOMEM;
    r->alloc = *alloc;
    kl_base_buf_init(&r->key, &r->alloc);
    kl_base_buf_init(&r->value, &r->alloc);
    kl_base_buf_init(&r->texts, &r->alloc);
    record_reset(r);
    *out = r;
    return KL_OK;
}

void kl_record_free(kl_record *record)
{
    struct kl_base_alloc alloc;

    if (!record || record->lent)
        return;
    alloc = record->alloc;
    kl_base_buf_deinit(&record->key);
    kl_base_buf_deinit(&record->value);
    kl_base_buf_deinit(&record->texts);
    kl_base_free(&alloc, record->headers,
                 record->header_capacity * sizeof *record->headers);
    kl_base_free(&alloc, record, sizeof *record);
}

int kl_record_clear(kl_record *record)
{
    if (!record)
        return KL_EINVAL;
    if (record->lent)
        return KL_ESTATE;
    record_reset(record);
    return KL_OK;
}

static int record_check(const struct kl_record *r, const void *data,
                        size_t size)
{
    if (!r || (!data && size > 0) || size > RECORD_PART_MAX)
        return KL_EINVAL;
    return r->lent ? KL_ESTATE : KL_OK;
}

/* Copies a part and lends where it is: NULL stays NULL, empty does not become
 * NULL. On failure nothing has changed. */
static int record_set_part(struct kl_base_buf *buf, const void *data,
                           size_t size, const uint8_t **data_out,
                           uint32_t *size_out)
{
    struct kl_base_buf fresh;

    if (!data) {
        kl_base_buf_clear(buf);
        *data_out = NULL;
        *size_out = 0;
        return KL_OK;
    }
    /* One byte more, so that there is a block where the part is empty. A part
     * may be set from itself, hence the block of its own. */
    kl_base_buf_init(&fresh, buf->alloc);
    if (buf->capacity > size && (const uint8_t *)data != buf->data) {
        kl_base_buf_clear(buf);
        memcpy(kl_base_buf_extend(buf, size + 1), data, size);
    } else {
        uint8_t *p = kl_base_buf_extend(&fresh, size + 1);

        if (!p) {
            kl_base_buf_deinit(&fresh);
            return KL_ENOMEM;
        }
        memcpy(p, data, size);
        kl_base_buf_deinit(buf);
        *buf = fresh;
    }
    *data_out = buf->data;
    *size_out = (uint32_t)size;
    return KL_OK;
}

int kl_record_set_key(kl_record *record, const void *data, size_t size)
{
    int rc = record_check(record, data, size);

    if (rc != KL_OK)
        return rc;
    return record_set_part(&record->key, data, size, &record->view.key,
                           &record->view.key_size);
}

int kl_record_set_value(kl_record *record, const void *data, size_t size)
{
    int rc = record_check(record, data, size);

    if (rc != KL_OK)
        return rc;
    return record_set_part(&record->value, data, size, &record->view.value,
                           &record->view.value_size);
}

int kl_record_set_timestamp(kl_record *record, int64_t timestamp_ms)
{
    if (!record || timestamp_ms < KL_TIMESTAMP_NOW)
        return KL_EINVAL;
    if (record->lent)
        return KL_ESTATE;
    record->view.timestamp = timestamp_ms;
    return KL_OK;
}

int kl_record_add_header(kl_record *record, const char *name, const void *value,
                         size_t value_size)
{
    int rc = record_check(record, value, value_size);
    struct kl_api_header *h;
    size_t name_size;
    uint8_t *p;

    if (rc != KL_OK)
        return rc;
    if (!name)
        return KL_EINVAL;
    name_size = strlen(name);
    if (name_size > RECORD_PART_MAX ||
        record->texts.size + name_size + value_size > RECORD_PART_MAX)
        return KL_EINVAL;
    if (kl_base_reserve(&record->alloc, (void **)&record->headers,
                        &record->header_capacity,
                        (size_t)record->view.header_count + 1,
                        sizeof *record->headers) != KL_OK)
        return KL_ENOMEM;
    h = &record->headers[record->view.header_count];
    h->name_at = record->texts.size;
    h->name_size = (uint32_t)name_size;
    h->value_at = h->name_at + name_size;
    h->value_size = (uint32_t)value_size;
    h->value_null = value == NULL;
    /* One byte more, so that an empty value is not behind the block. */
    p = kl_base_buf_extend(&record->texts, name_size + value_size + 1);
    if (!p) {
        record->texts.error = 0;
        return KL_ENOMEM;
    }
    memcpy(p, name, name_size);
    if (value)
        memcpy(p + name_size, value, value_size);
    record->view.header_count++;
    return KL_OK;
}

/* ---- reading ----------------------------------------------------------- */

int64_t kl_record_offset(const kl_record *record)
{
    return record ? record->view.offset : -1;
}

int64_t kl_record_timestamp(const kl_record *record)
{
    return record ? record->view.timestamp : KL_TIMESTAMP_NOW;
}

int32_t kl_record_epoch(const kl_record *record)
{
    return record ? record->epoch : -1;
}

const void *kl_record_key(const kl_record *record, size_t *size_out)
{
    if (size_out)
        *size_out = record ? record->view.key_size : 0;
    return record ? record->view.key : NULL;
}

const void *kl_record_value(const kl_record *record, size_t *size_out)
{
    if (size_out)
        *size_out = record ? record->view.value_size : 0;
    return record ? record->view.value : NULL;
}

size_t kl_record_header_count(const kl_record *record)
{
    return record ? record->view.header_count : 0;
}

/* Header index of either kind of record; index is in range. */
static int record_header(const struct kl_record *r, uint32_t index,
                         struct kl_batch_header *out)
{
    const struct kl_api_header *h;

    if (r->lent)
        return kl_batch_record_header(&r->view, index, out);
    h = &r->headers[index];
    out->name = r->texts.data + h->name_at;
    out->name_size = h->name_size;
    out->value = h->value_null ? NULL : r->texts.data + h->value_at;
    out->value_size = h->value_size;
    return KL_OK;
}

int kl_record_header_at(const kl_record *record, size_t index,
                        const char **name_out, size_t *name_size_out,
                        const void **value_out, size_t *value_size_out)
{
    struct kl_batch_header h;
    int rc;

    if (!record)
        return KL_EINVAL;
    if (index >= record->view.header_count)
        return KL_EEND;
    rc = record_header(record, (uint32_t)index, &h);
    if (rc != KL_OK)
        return rc;
    if (name_out)
        *name_out = h.name;
    if (name_size_out)
        *name_size_out = h.name_size;
    if (value_out)
        *value_out = h.value;
    if (value_size_out)
        *value_size_out = h.value_size;
    return KL_OK;
}

/* ---- sending ----------------------------------------------------------- */

int kl_api_record_input(const kl_record *record,
                        const struct kl_base_alloc *alloc,
                        struct kl_batch_input *in,
                        struct kl_api_scratch *scratch)
{
    size_t count = record->view.header_count;
    size_t i;
    int rc;

    memset(in, 0, sizeof *in);
    memset(scratch, 0, sizeof *scratch);
    in->timestamp = record->view.timestamp;
    in->key = record->view.key;
    in->key_size = record->view.key_size;
    in->value = record->view.value;
    in->value_size = record->view.value_size;
    if (count == 0)
        return KL_OK;
    scratch->alloc = *alloc;
    scratch->count = count;
    scratch->headers = kl_base_malloc(alloc, count * sizeof *scratch->headers);
    if (!scratch->headers)
        return KL_ENOMEM;
    for (i = 0; i < count; i++) {
        rc = record_header(record, (uint32_t)i, &scratch->headers[i]);
        if (rc != KL_OK) {
            kl_api_scratch_free(scratch);
            return rc;
        }
    }
    in->headers = scratch->headers;
    in->header_count = (uint32_t)count;
    return KL_OK;
}

void kl_api_scratch_free(struct kl_api_scratch *scratch)
{
    if (scratch->headers)
        kl_base_free(&scratch->alloc, scratch->headers,
                     scratch->count * sizeof *scratch->headers);
}
