/*
 * Encoded records of one command or of a snapshot.
 */
#include "controller/state.h"

#include <string.h>

enum { RECORDS_PREFIX = 4 };

void kl_controller_records_init(struct kl_controller_records *r,
                                const struct kl_base_alloc *a)
{
    kl_base_buf_init(&r->buf, a);
    r->count = 0;
}

void kl_controller_records_deinit(struct kl_controller_records *r)
{
    kl_base_buf_deinit(&r->buf);
    r->count = 0;
}

void kl_controller_records_clear(struct kl_controller_records *r)
{
    kl_base_buf_clear(&r->buf);
    r->count = 0;
}

int kl_controller_records_next(const struct kl_controller_records *r,
                               size_t *pos, const uint8_t **data, size_t *size)
{
    if (*pos >= r->buf.size)
        return 0;
    *size = kl_base_get_le32(r->buf.data + *pos);
    *data = r->buf.data + *pos + RECORDS_PREFIX;
    *pos += RECORDS_PREFIX + *size;
    return 1;
}

/* What the records cost in a batch of the metadata log, at most. */
static size_t records_charge(const struct kl_controller_records *r)
{
    return r->buf.size +
           r->count * (KL_CONTROLLER_RECORD_OVERHEAD - RECORDS_PREFIX);
}

size_t kl_controller_records_room(const struct kl_wire_record *record)
{
    return kl_wire_record_size(record) + KL_CONTROLLER_RECORD_OVERHEAD;
}

/* KL_ERECORDSIZE without a text: too much for this batch. */
static int records_append(struct kl_controller_records *r,
                          const struct kl_wire_record *record, size_t limit,
                          struct kl_base_error *e)
{
    size_t start = r->buf.size;
    int rc;

    kl_base_buf_put_le32(&r->buf, 0);
    if (r->buf.error)
        return kl_base_error_set(e, KL_ENOMEM,
                                 "metadata records: out of memory");
    rc = kl_wire_record_encode(record, &r->buf, e);
    if (rc)
        return rc;
    r->count++;
    if (records_charge(r) > limit) {
        r->buf.size = start;
        r->count--;
        return KL_ERECORDSIZE;
    }
    kl_base_put_le32(r->buf.data + start,
                     (uint32_t)(r->buf.size - start - RECORDS_PREFIX));
    return 0;
}

int kl_controller_records_try(struct kl_controller_records *r,
                              const struct kl_wire_record *record, size_t limit,
                              struct kl_base_error *e)
{
    int rc = records_append(r, record, limit, e);

    if (rc == KL_ERECORDSIZE)
        return 1;
    if (rc)
        kl_controller_records_clear(r);
    return rc;
}

int kl_controller_records_add(struct kl_controller_records *r,
                              const struct kl_wire_record *record, size_t limit,
                              struct kl_base_error *e)
{
    int rc = kl_controller_records_try(r, record, limit, e);

    if (rc != 1)
        return rc;
    kl_controller_records_clear(r);
    return kl_base_error_set(e, KL_ERECORDSIZE,
                             "metadata records of one command exceed %zu bytes",
                             limit);
}
