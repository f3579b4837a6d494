#include "store_fixture.h"

#include <check.h>
#include <string.h>

void store_fixture_init(struct store_fixture *f)
{
    memset(f, 0, sizeof *f);
    fail_alloc_init(&f->alloc);
    ck_assert_int_eq(kl_os_vfs_memory_new(&f->memory, &f->alloc.alloc, 0), 0);
    trace_vfs_init(&f->trace, f->memory);
    ck_assert_int_eq(kl_os_lanes_inline_new(&f->lanes, &f->alloc.alloc), 0);
    f->config.path = "data";
    f->config.ring_bytes = 64 * 1024;
    f->config.pending_bytes_max = 1 << 20;
    f->config.cache_bytes_max = 16 * 1024;
    f->config.file_max = 64;
    f->config.retention_check_ms = 1000;
    f->config.seed = 1;
    f->config.format.node_id = 1;
    memset(&f->config.format.cluster_id, 7, 16);
    memset(&f->config.format.directory_id, 9, 16);
    f->now_ns = 1000000000;
    f->wall_ms = 1700000000000;
}

void store_fixture_deinit(struct store_fixture *f)
{
    store_fixture_crash(f);
    f->lanes->ops->free(f->lanes);
    trace_vfs_deinit(&f->trace);
    f->memory->ops->free(f->memory);
    fail_alloc_deinit(&f->alloc);
}

int store_fixture_open(struct store_fixture *f)
{
    int rc;

    ck_assert_ptr_null(f->store);
    f->config.seed++;
    kl_base_error_clear(&f->error);
    rc = kl_store_new(&f->store, &f->alloc.alloc, &f->trace.base, f->lanes,
                      &f->config);
    if (rc == 0)
        rc = kl_store_open(f->store, KL_STORE_OPEN_CREATE, f->now_ns,
                           f->wall_ms, &f->error);
    return rc;
}

void store_fixture_crash(struct store_fixture *f)
{
    kl_store_free(f->store);
    f->store = NULL;
}

void store_fixture_turn(struct store_fixture *f)
{
    struct kl_store_event event;

    f->now_ns += 1000000;
    f->wall_ms++;
    kl_store_turn(f->store, f->now_ns, f->wall_ms);
    while (kl_store_next_event(f->store, &event)) {
        if (event.type == KL_STORE_EVENT_READ)
            *(int *)event.read->user = 1;
        if (event.type == KL_STORE_EVENT_LOOKUP)
            *(int *)event.lookup->user = 1;
    }
}

void store_fixture_settle(struct store_fixture *f)
{
    for (int i = 0; i < 60; i++)
        store_fixture_turn(f);
}

void store_fixture_close(struct store_fixture *f)
{
    kl_store_stop(f->store);
    for (int i = 0; i < 1000 && !kl_store_is_stopped(f->store); i++)
        store_fixture_turn(f);
    ck_assert(kl_store_is_stopped(f->store));
    ck_assert_int_eq(kl_store_failure(f->store, NULL), 0);
    store_fixture_crash(f);
}

struct kl_store_id store_fixture_id(int topic, int32_t partition)
{
    struct kl_store_id id = {.partition = partition};

    id.topic_id.bytes[0] = (uint8_t)(topic + 1);
    return id;
}

struct kl_store_log *store_fixture_create(struct store_fixture *f,
                                          const struct kl_store_id *id,
                                          enum kl_store_flush flush,
                                          uint64_t segment_bytes)
{
    struct kl_store_log_config config = {
        .segment_bytes = segment_bytes,
        .segment_ms = -1,
        .retention_ms = -1,
        .retention_bytes = -1,
        .flush_ms = -1,
        .flush_bytes = -1,
        .index_interval_bytes = 512,
    };
    struct kl_store_log *log;

    ck_assert_int_eq(kl_store_create(f->store, id, flush, &config, &log), 0);
    return log;
}

void store_fixture_value(uint64_t tag, int index, uint8_t *out, uint32_t size)
{
    uint64_t x = tag * 0x9e3779b97f4a7c15ULL + (uint64_t)index + 1;

    for (uint32_t i = 0; i < size; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        out[i] = (uint8_t)x;
    }
}

int store_fixture_append(struct store_fixture *f, struct kl_store_log *log,
                         int count, uint32_t value_size, uint64_t tag,
                         int32_t epoch, int64_t timestamp)
{
    struct kl_batch_builder builder;
    struct kl_base_chunk *chunk;
    struct kl_store_view view;
    uint8_t value[4096];
    int rc;

    ck_assert_uint_le(value_size, sizeof value);
    kl_batch_builder_init(&builder, &f->alloc.alloc);
    for (int i = 0; i < count; i++) {
        struct kl_batch_input in = {.timestamp = timestamp + i,
                                    .value = value,
                                    .value_size = value_size};

        store_fixture_value(tag, i, value, value_size);
        ck_assert_int_eq(kl_batch_builder_append(&builder, 1 << 20, 1024, &in),
                         0);
    }
    ck_assert_int_eq(
        kl_batch_builder_finish(&builder, kl_store_log_seed(log), 0, &chunk),
        0);
    kl_batch_builder_deinit(&builder);
    kl_store_log_view(log, &view);
    kl_batch_frame_stamp(chunk->data, kl_store_log_seed(log), view.leo, epoch);
    rc = kl_store_append(log, chunk);
    if (rc)
        kl_base_chunk_unref(chunk);
    return rc;
}

void store_fixture_read(struct store_fixture *f, struct kl_store_log *log,
                        int64_t offset, int64_t end, uint32_t bytes_max,
                        struct kl_store_read *out)
{
    int finished = 0;

    memset(out, 0, sizeof *out);
    out->log = log;
    out->offset = offset;
    out->end = end;
    out->bytes_max = bytes_max;
    out->user = &finished;
    if (kl_store_read(out) == KL_EAGAIN)
        for (int i = 0; i < 1000 && !finished; i++)
            store_fixture_turn(f);
    else
        finished = 1;
    ck_assert(finished);
}
