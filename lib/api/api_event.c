/*
 * Events: what a program reads from.
 */
#include "api/api_consumer.h"

#include "base/assert.h"

#include <kraftlog/error.h>
#include <string.h>

enum {
    EVENT_COLUMN_BYTES = 48,            /* of one record, in six columns */
    EVENT_COLUMNS_KEPT = 1024 * 1024,   /* bytes that an unused event keeps */
    EVENT_UNPACKED_KEPT = 64,           /* places that it keeps */
    EVENT_PLAIN_MAX = KL_BATCH_SIZE_MAX /* of one batch */
};

void kl_api_event_reset(struct kl_event *e)
{
    e->type = KL_EVENT_RECORDS;
    e->code = KL_OK;
    e->offset = -1;
    e->high_watermark = -1;
    e->record_count = 0;
    e->counted = 0;
    e->columns_built = 0;
    memset(&e->reader, 0, sizeof e->reader);
    memset(&e->fetch, 0, sizeof e->fetch);
    kl_base_list_init(&e->fetch.link);
    e->record.lent = 1;
}

static void event_columns_free(struct kl_event *e)
{
    kl_base_free(e->alloc, e->columns, e->column_capacity * EVENT_COLUMN_BYTES);
    e->columns = NULL;
    e->column_capacity = 0;
}

static void event_unpacked_free(struct kl_event *e)
{
    kl_base_free(e->alloc, e->unpacked,
                 e->unpacked_capacity * sizeof *e->unpacked);
    e->unpacked = NULL;
    e->unpacked_capacity = 0;
}

void kl_api_event_clear(struct kl_event *e)
{
    size_t i;

    for (i = 0; i < e->unpacked_count; i++)
        kl_batch_iter_deinit(&e->unpacked[i].start);
    e->unpacked_count = 0;
    if (e->unpacked_capacity > EVENT_UNPACKED_KEPT)
        event_unpacked_free(e);
    if (e->column_capacity > EVENT_COLUMNS_KEPT / EVENT_COLUMN_BYTES)
        event_columns_free(e);
    if (e->fetch.read.slice_count > 0)
        kl_store_read_release(&e->fetch.read);
    e->fetch.read.slice_count = 0;
}

void kl_api_event_destroy(struct kl_event *e)
{
    event_unpacked_free(e);
    event_columns_free(e);
    kl_base_free(e->alloc, e, sizeof *e);
}

void kl_event_free(kl_event *event)
{
    struct kl_consumer *c;

    if (!event)
        return;
    c = event->consumer;
    /* In a child process locks and threads are not what they were. */
    if (kl_runtime_check(c->node) == KL_EFORK)
        return;
    kl_api_event_clear(event);
    kl_os_mutex_lock(&c->mutex);
    kl_api_event_put(c, event);
    kl_os_mutex_unlock(&c->mutex);
    kl_api_consumer_unref(c);
}

/* ---- what it is about -------------------------------------------------- */

int kl_event_type(const kl_event *event)
{
    return event ? event->type : 0;
}

const char *kl_event_topic(const kl_event *event)
{
    return event ? event->assignment->name : NULL;
}

int32_t kl_event_partition(const kl_event *event)
{
    return event ? event->assignment->partition : -1;
}

int64_t kl_event_offset(const kl_event *event)
{
    return event ? event->offset : -1;
}

int64_t kl_event_next_offset(const kl_event *event)
{
    if (!event)
        return -1;
    return event->type == KL_EVENT_RECORDS ? event->fetch.read.next_offset
                                           : event->next_offset;
}

int kl_event_code(const kl_event *event)
{
    return event ? event->code : KL_EINVAL;
}

int kl_event_errmsg(const kl_event *event, char *buf, size_t size)
{
    struct kl_base_error error;

    if (!event || !buf || size == 0)
        return KL_EINVAL;
    kl_base_error_clear(&error);
    if (event->code == KL_ECORRUPT)
        kl_base_error_set(
            &error, event->code, "%s-%d, offsets %lld to %lld are damaged",
            event->assignment->name, (int)event->assignment->partition,
            (long long)event->offset, (long long)event->next_offset - 1);
    else if (event->code != KL_OK)
        kl_base_error_set(&error, event->code, "%s-%d, offset %lld: %s",
                          event->assignment->name,
                          (int)event->assignment->partition,
                          (long long)event->offset, kl_strerror(event->code));
    (void)kl_base_error_copy(&error, buf, size);
    return KL_OK;
}

int64_t kl_event_high_watermark(const kl_event *event)
{
    return event ? event->high_watermark : -1;
}

int kl_event_bytes(const kl_event *event, size_t index, const void **data_out,
                   size_t *size_out)
{
    const struct kl_store_slice *slice;

    if (!event || !data_out || !size_out)
        return KL_EINVAL;
    if (index >= event->fetch.read.slice_count)
        return KL_EEND;
    slice = &event->fetch.read.slices[index];
    *data_out = slice->data;
    *size_out = slice->size;
    return KL_OK;
}

/* ---- reading batches --------------------------------------------------- */

/* Room to remember one more unpacked batch. */
static int event_reserve(struct kl_event *e)
{
    if (e->unpacked_count < e->unpacked_capacity)
        return KL_OK;
    return kl_base_reserve(e->alloc, (void **)&e->unpacked,
                           &e->unpacked_capacity, e->unpacked_count + 1,
                           sizeof *e->unpacked);
}

/* Begins the batch at frame. What was unpacked stays until the event is freed,
 * since records point into it. */
static int event_open(struct kl_event *e, struct kl_api_reader *r,
                      const uint8_t *frame, size_t size)
{
    struct kl_api_unpacked *u;
    int rc;

    if (r->unpacked < e->unpacked_count &&
        e->unpacked[r->unpacked].frame == frame) {
        r->iter = e->unpacked[r->unpacked++].start;
        return KL_OK;
    }
    rc = event_reserve(e);
    if (rc != KL_OK)
        return rc;
    rc = kl_batch_iter_init(&r->iter, e->alloc, frame, size, EVENT_PLAIN_MAX);
    if (rc != KL_OK || !r->iter.plain)
        return rc;
    /* Batches before this one were unpacked by whoever read farthest. */
    KL_ASSERT(r->unpacked == e->unpacked_count);
    u = &e->unpacked[e->unpacked_count++];
    u->frame = frame;
    u->start = r->iter;
    r->unpacked++;
    return KL_OK;
}

/* Goes on to the next batch: 0, KL_EEND, or why not. */
static int event_next_batch(struct kl_event *e, struct kl_api_reader *r)
{
    const struct kl_store_read *read = &e->fetch.read;
    const struct kl_store_slice *slice;
    int rc;

    while (r->slice < read->slice_count &&
           r->at >= read->slices[r->slice].size) {
        r->slice++;
        r->at = 0;
    }
    if (r->slice >= read->slice_count)
        return KL_EEND;
    slice = &read->slices[r->slice];
    rc = event_open(e, r, slice->data + r->at, slice->size - r->at);
    if (rc != KL_OK)
        return rc;
    r->at += r->iter.info.frame_size;
    r->open = 1;
    return KL_OK;
}

/* The next record at or behind the event's offset. */
static inline int event_next(struct kl_event *e, struct kl_api_reader *r,
                             struct kl_batch_record *out)
{
    int rc;

    while (r->code == KL_OK) {
        if (!r->open) {
            rc = event_next_batch(e, r);
        } else {
            rc = kl_batch_iter_next(&r->iter, out);
            if (rc == KL_OK && out->offset >= e->offset)
                return KL_OK;
            if (rc == KL_EEND) {
                r->open = 0;
                continue;
            }
        }
        /* Memory may be there the next time, everything else stays. */
        if (rc == KL_ENOMEM)
            return rc;
        r->code = rc;
    }
    return r->code;
}

int kl_event_next(kl_event *event, const kl_record **record_out)
{
    int rc;

    if (!event || !record_out)
        return KL_EINVAL;
    rc = event_next(event, &event->reader, &event->record.view);
    if (rc != KL_OK) {
        *record_out = NULL;
        return rc;
    }
    event->record.epoch = event->reader.iter.info.leader_epoch;
    *record_out = &event->record;
    return KL_OK;
}

/* ---- counting ---------------------------------------------------------- */

/* Records of the first batch that lie at or behind the offset, where it is not
 * said by the numbers of its header: some may have been compacted away. */
static int event_count_decoded(struct kl_event *e, const uint8_t *frame,
                               size_t size, size_t *count)
{
    struct kl_batch_iter it;
    struct kl_batch_record record;
    int rc = kl_batch_iter_init(&it, e->alloc, frame, size, EVENT_PLAIN_MAX);

    if (rc != KL_OK)
        return rc;
    while ((rc = kl_batch_iter_next(&it, &record)) == KL_OK)
        *count += record.offset >= e->offset;
    kl_batch_iter_deinit(&it);
    return rc == KL_EEND ? KL_OK : rc;
}

static int event_count_batch(struct kl_event *e, const uint8_t *frame,
                             size_t size, uint32_t *frame_size, size_t *count)
{
    struct kl_batch_info info;
    int rc = kl_batch_frame_header(frame, size, e->assignment->seed, &info);

    if (rc != KL_OK || info.frame_size > size)
        return KL_ECORRUPT;
    *frame_size = info.frame_size;
    if (info.base_offset >= e->offset) {
        *count += (size_t)info.record_count;
        return KL_OK;
    }
    if (info.last_offset < e->offset)
        return KL_OK;
    if (info.last_offset - info.base_offset + 1 != info.record_count)
        return event_count_decoded(e, frame, info.frame_size, count);
    *count += (size_t)(info.last_offset - e->offset + 1);
    return KL_OK;
}

static int event_count(struct kl_event *e)
{
    const struct kl_store_read *read = &e->fetch.read;
    size_t count = 0;
    uint32_t i;

    if (e->counted)
        return KL_OK;
    for (i = 0; i < read->slice_count; i++) {
        const struct kl_store_slice *slice = &read->slices[i];
        uint32_t at = 0;

        while (at < slice->size) {
            uint32_t frame_size = 0;
            int rc = event_count_batch(e, slice->data + at, slice->size - at,
                                       &frame_size, &count);

            if (rc != KL_OK)
                return rc;
            at += frame_size;
        }
    }
    e->record_count = count;
    e->counted = 1;
    return KL_OK;
}

size_t kl_event_record_count(const kl_event *event)
{
    struct kl_event *e = (struct kl_event *)event;

    /* 0 where the batches cannot be read: next says why. */
    if (!e || event_count(e) != KL_OK)
        return 0;
    return e->record_count;
}

/* ---- columns ----------------------------------------------------------- */

/* The six arrays in the event's block. */
struct event_columns
{
    int64_t *offsets;
    int64_t *timestamps;
    const void **keys;
    uint64_t *key_sizes;
    const void **values;
    uint64_t *value_sizes;
};

/* Pointers take eight bytes of the block also where they are smaller. */
static struct event_columns event_columns_at(const struct kl_event *e)
{
    size_t stride = e->column_capacity * sizeof(int64_t);
    struct event_columns c;

    c.offsets = (void *)e->columns;
    c.timestamps = (void *)(e->columns + stride);
    c.key_sizes = (void *)(e->columns + 2 * stride);
    c.value_sizes = (void *)(e->columns + 3 * stride);
    c.keys = (void *)(e->columns + 4 * stride);
    c.values = (void *)(e->columns + 5 * stride);
    return c;
}

static int event_columns_reserve(struct kl_event *e)
{
    size_t count = e->record_count > 0 ? e->record_count : 1;
    uint8_t *block;

    if (e->column_capacity >= count)
        return KL_OK;
    if (count > SIZE_MAX / EVENT_COLUMN_BYTES)
        return KL_ENOMEM;
    block = kl_base_malloc(e->alloc, count * EVENT_COLUMN_BYTES);
    if (!block)
        return KL_ENOMEM;
    event_columns_free(e);
    e->columns = block;
    e->column_capacity = count;
    return KL_OK;
}

static int event_columns_fill(struct kl_event *e)
{
    struct event_columns c = event_columns_at(e);
    struct kl_api_reader reader = {0};
    struct kl_batch_record record;
    size_t i = 0;
    int rc;

    while ((rc = event_next(e, &reader, &record)) == KL_OK) {
        /* The count was made from the same verified headers. */
        if (i == e->record_count)
            return KL_ECORRUPT;
        c.offsets[i] = record.offset;
        c.timestamps[i] = record.timestamp;
        c.keys[i] = record.key;
        c.key_sizes[i] = record.key_size;
        c.values[i] = record.value;
        c.value_sizes[i] = record.value_size;
        i++;
    }
    if (rc == KL_EEND && i != e->record_count)
        return KL_ECORRUPT;
    return rc == KL_EEND ? KL_OK : rc;
}

int kl_event_columns(kl_event *event, size_t *count_out,
                     const int64_t **offsets_out,
                     const int64_t **timestamps_out,
                     const void *const **keys_out,
                     const uint64_t **key_sizes_out,
                     const void *const **values_out,
                     const uint64_t **value_sizes_out)
{
    struct event_columns c;
    int rc;

    if (!event || !count_out)
        return KL_EINVAL;
    if (!event->columns_built) {
        rc = event_count(event);
        if (rc == KL_OK)
            rc = event_columns_reserve(event);
        if (rc == KL_OK)
            rc = event_columns_fill(event);
        if (rc != KL_OK)
            return rc;
        event->columns_built = 1;
    }
    c = event_columns_at(event);
    *count_out = event->record_count;
    if (offsets_out)
        *offsets_out = c.offsets;
    if (timestamps_out)
        *timestamps_out = c.timestamps;
    if (keys_out)
        *keys_out = c.keys;
    if (key_sizes_out)
        *key_sizes_out = c.key_sizes;
    if (values_out)
        *values_out = c.values;
    if (value_sizes_out)
        *value_sizes_out = c.value_sizes;
    return KL_OK;
}
