/*
 * The records of a batch, compressed or not. Input: what is put right, the
 * limit of plain bytes as a power of two, then the frame.
 */
#include "batch/batch.h"
#include "fixup.h"
#include "sample.h"

#include <stdlib.h>

enum {
    /* What a codec may take beside its output. */
    BATCH_CODEC_MEMORY = 512 * 1024,
    BATCH_HEADERS = 16
};

struct batch_walk
{
    struct kl_batch_iter it;
    const uint8_t *frame;
    size_t size;
    int64_t last; /* offset */
    int32_t count;
};

static void batch_check_bytes(const struct batch_walk *w, const void *data,
                              size_t size)
{
    const uint8_t *p = data;
    const uint8_t *from = w->it.plain ? w->it.plain : w->frame;
    const uint8_t *to = w->it.plain ? w->it.end : w->frame + w->size;

    if (!p) {
        FUZZ_CHECK(size == 0);
        return;
    }
    FUZZ_CHECK(p >= from && p <= to && size <= (size_t)(to - p));
}

static void batch_check_headers(const struct batch_walk *w,
                                const struct kl_batch_record *r)
{
    struct kl_batch_header h;
    uint32_t i;

    for (i = 0; i < r->header_count && i < BATCH_HEADERS; i++) {
        FUZZ_CHECK(kl_batch_record_header(r, i, &h) == 0);
        FUZZ_CHECK(h.name);
        batch_check_bytes(w, h.name, h.name_size);
        batch_check_bytes(w, h.value, h.value_size);
    }
    FUZZ_CHECK(kl_batch_record_header(r, r->header_count, &h) == KL_EEND);
}

static void batch_check_record(struct batch_walk *w,
                               const struct kl_batch_record *r)
{
    FUZZ_CHECK(r->offset > w->last);
    FUZZ_CHECK(r->offset >= w->it.info.base_offset);
    FUZZ_CHECK(r->offset <= w->it.info.last_offset);
    batch_check_bytes(w, r->key, r->key_size);
    batch_check_bytes(w, r->value, r->value_size);
    batch_check_headers(w, r);
    w->last = r->offset;
    w->count++;
}

/* Puts a record into a batch of its own and finds the same there. */
static void batch_check_again(const struct kl_batch_record *r)
{
    struct kl_batch_header headers[BATCH_HEADERS];
    struct kl_batch_input in = {
        .timestamp = r->timestamp,
        .key = r->key,
        .key_size = r->key_size,
        .value = r->value,
        .value_size = r->value_size,
        .headers = headers,
        .header_count = r->header_count,
    };
    struct kl_base_chunk *chunk;
    struct kl_batch_record same;
    struct kl_batch_builder b;
    struct kl_batch_iter it;

    if (r->header_count > BATCH_HEADERS)
        return;
    for (uint32_t i = 0; i < r->header_count; i++)
        FUZZ_CHECK(kl_batch_record_header(r, i, &headers[i]) == 0);
    kl_batch_builder_init(&b, &fuzz_alloc);
    FUZZ_CHECK(kl_batch_builder_append(&b, KL_BATCH_SIZE_MAX, 256, &in) == 0);
    FUZZ_CHECK(kl_batch_builder_finish(&b, sample_seed, 0, &chunk) == 0);
    FUZZ_CHECK(
        kl_batch_iter_init(&it, &fuzz_alloc, chunk->data, chunk->size, 0) == 0);
    FUZZ_CHECK(kl_batch_iter_next(&it, &same) == 0);
    FUZZ_CHECK(same.timestamp == r->timestamp);
    FUZZ_CHECK(same.key_size == r->key_size && !same.key == !r->key);
    FUZZ_CHECK(same.value_size == r->value_size && !same.value == !r->value);
    FUZZ_CHECK(same.header_count == r->header_count);
    FUZZ_CHECK(!r->key || memcmp(same.key, r->key, r->key_size) == 0);
    FUZZ_CHECK(!r->value || memcmp(same.value, r->value, r->value_size) == 0);
    FUZZ_CHECK(kl_batch_iter_next(&it, &same) == KL_EEND);
    kl_batch_iter_deinit(&it);
    kl_base_chunk_unref(chunk);
    kl_batch_builder_deinit(&b);
}

static void batch_walk_records(struct batch_walk *w)
{
    struct kl_batch_record r;
    int rc;

    w->last = -1;
    while ((rc = kl_batch_iter_next(&w->it, &r)) == 0) {
        batch_check_record(w, &r);
        if (w->count == 1)
            batch_check_again(&r);
    }
    FUZZ_CHECK(rc == KL_EEND || rc == KL_ECORRUPT);
    FUZZ_CHECK(rc != KL_EEND || w->count == w->it.info.record_count);
    FUZZ_CHECK(kl_batch_iter_next(&w->it, &r) == rc);
}

static void batch_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    size_t limit = (size_t)1 << fuzz_take8(&in) % 18;
    struct batch_walk w = {.count = 0};
    uint8_t *frame = fuzz_take_copy(&in, &size);
    int rc;

    fixup_frame(frame, size, sample_seed, how);
    w.frame = frame;
    w.size = size;
    fuzz_alloc_begin(SIZE_MAX);
    rc = kl_batch_iter_init(&w.it, &fuzz_alloc, frame, size, limit);
    FUZZ_CHECK(fuzz_alloc_peak() <= limit + BATCH_CODEC_MEMORY);
    if (rc == 0) {
        FUZZ_CHECK(!w.it.plain || (size_t)(w.it.end - w.it.plain) <= limit);
        batch_walk_records(&w);
        kl_batch_iter_deinit(&w.it);
    } else {
        FUZZ_CHECK(rc == KL_ECORRUPT || rc == KL_EBATCH ||
                   rc == KL_EUNSUPPORTED);
    }
    fuzz_alloc_end();
    free(frame);
}

static void batch_seeds(struct fuzz_seeds *seeds)
{
    static const uint8_t prefixes[][2] = {{1, 16}, {3, 16}, {3, 8}, {3, 4}};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        sample_emit_frames(seeds, prefixes[i], 2);
}

const struct fuzz_target fuzz_batch = {"batch", batch_run, batch_seeds, 3000};
