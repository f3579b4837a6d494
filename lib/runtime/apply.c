/*
 * Applying the metadata log: what is committed is read back, batch by batch,
 * and its records change the controller's image; then the logs of the store
 * follow. It takes as many turns as there is memory for.
 */
#include "runtime/state.h"

#define APPLY_READ_BYTES (1024 * 1024)

/* The frame that is next, in what was read. */
static const uint8_t *apply_frame(const struct kl_runtime_node *n,
                                  struct kl_batch_info *info)
{
    const struct kl_runtime_metadata *m = &n->metadata;
    const struct kl_store_slice *s = &m->read.slices[m->slice];

    if (kl_batch_frame_header(s->data + m->at, s->size - m->at,
                              kl_store_log_seed(m->log), info) ||
        info->frame_size > s->size - m->at)
        return NULL;
    return s->data + m->at;
}

/* The records of a frame, from where the last turn has stopped. */
static int apply_records(struct kl_runtime_node *n, const uint8_t *frame,
                         const struct kl_batch_info *info)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_batch_record record;
    struct kl_batch_iter it;
    size_t index = 0;
    int r;

    /* The quorum's own business. */
    if (info->attributes & KL_BATCH_ATTR_CONTROL)
        return 0;
    r = kl_batch_iter_init(&it, &n->alloc, frame, info->frame_size,
                           KL_BATCH_SIZE_MAX);
    if (r)
        return kl_base_error_set(&m->error, r, "metadata log: batch at %lld",
                                 (long long)info->base_offset);
    while (!r && !(r = kl_batch_iter_next(&it, &record))) {
        if (index++ < m->records_done)
            continue;
        r = kl_controller_apply(m->controller, record.value, record.value_size,
                                &m->error);
        m->records_done += r == 0;
    }
    kl_batch_iter_deinit(&it);
    return r == KL_EEND ? 0 : r;
}

static int apply_one(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    struct kl_batch_info info;
    const uint8_t *frame = apply_frame(n, &info);
    int r;

    if (!frame)
        return kl_base_error_set(&m->error, KL_ECORRUPT,
                                 "metadata log: malformed batch at %lld",
                                 (long long)m->applied);
    r = apply_records(n, frame, &info);
    if (r)
        return r;
    /* Until then the image is all that counts. */
    if (!m->is_caught_up)
        kl_controller_delta_clear(m->controller);
    else if ((r = kl_runtime_logs_apply_delta(n)) && r != KL_EFAILED)
        return r;
    m->records_done = 0;
    m->applied = info.last_offset + 1;
    n->snapshots.applied_bytes += info.frame_size;
    m->at += info.frame_size;
    if (m->at == m->read.slices[m->slice].size) {
        m->slice++;
        m->at = 0;
    }
    /* It is in the log, but a failed store did not follow. */
    kl_runtime_metadata_applied(n, r ? KL_EUNKNOWN : 0);
    return 0;
}

static void apply_release(struct kl_runtime_metadata *m)
{
    kl_store_read_release(&m->read);
    m->slice = m->at = 0;
}

/* Asks for the next frames: 0 where they are there. */
static int apply_read(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int r;

    m->read.log = m->log;
    m->read.offset = m->applied;
    m->read.end = m->commit;
    m->read.bytes_max = APPLY_READ_BYTES;
    r = kl_store_read(&m->read);
    if (r == KL_EAGAIN) {
        m->is_reading = 1;
        n->read_count++;
        return r;
    }
    return m->read.code;
}

void kl_runtime_metadata_read_done(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;

    n->read_count--;
    m->is_reading = 0;
    if (!m->is_stale)
        return;
    /* Of an image that was replaced meanwhile. */
    m->is_stale = 0;
    apply_release(m);
    m->read.code = 0;
}

/* 0 where something was applied. */
static int apply_next(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int r = 0;

    if (m->slice == m->read.slice_count) {
        apply_release(m);
        r = m->read.code ? m->read.code : apply_read(n);
        m->read.code = 0;
        if (!r && m->read.slice_count == 0)
            r = KL_ECORRUPT; /* less is there than was committed */
    }
    return r ? r : apply_one(n);
}

int kl_runtime_apply_step(struct kl_runtime_node *n)
{
    struct kl_runtime_metadata *m = &n->metadata;
    int moved = 0;
    int r = 0;

    while (!r && !m->is_reading && !m->code && m->applied < m->commit) {
        r = apply_next(n);
        moved |= r == 0;
    }
    if (r == KL_ENOMEM || r == KL_EIO) {
        kl_runtime_metadata_retry(n, r); /* both may pass */
    } else if (r && r != KL_EAGAIN) {
        m->code = r;
        if (!m->error.code)
            kl_base_error_set(&m->error, r, "metadata log: offset %lld: %s",
                              (long long)m->applied,
                              kl_base_error_lookup(r)->text);
        kl_runtime_trace(n, KL_TRACE_ERROR, "metadata.stuck text=%s",
                         m->error.text);
    }
    return moved;
}
