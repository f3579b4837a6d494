#include "store_fixture.h"

#include "need.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void store_fixture_init(struct store_fixture *f)
{
    memset(f, 0, sizeof *f);
    fail_alloc_init(&f->alloc);
    need_ok(kl_os_vfs_memory_new(&f->memory, &f->alloc.alloc, 0));
    trace_vfs_init(&f->trace, f->memory);
    trace_lanes_init(&f->jobs, NULL);
    f->lanes = &f->jobs.base;
    f->caller = f->alloc.alloc;
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

void store_fixture_simulate(struct store_fixture *f, uint64_t seed)
{
    f->memory->ops->free(f->memory);
    f->disk = sim_disk_new(0);
    f->memory = f->trace.inner = &f->disk->base;
    sim_lanes_init(&f->sim, seed, &f->now_ns);
    sim_lanes_watch(&f->sim, f->disk);
    f->lanes = &f->sim.base;
}

void store_fixture_cut_power(struct store_fixture *f, struct sim_choice choice)
{
    struct sim_disk *after = sim_disk_crash(f->disk, choice);

    store_fixture_crash(f);
    sim_disk_free(f->disk);
    f->disk = after;
    f->memory = f->trace.inner = &after->base;
    sim_lanes_watch(&f->sim, after);
}

void store_fixture_deinit(struct store_fixture *f)
{
    store_fixture_crash(f);
    trace_lanes_deinit(&f->jobs);
    if (f->disk)
        sim_lanes_deinit(&f->sim);
    trace_vfs_deinit(&f->trace);
    f->memory->ops->free(f->memory);
    fail_alloc_deinit(&f->alloc);
}

int store_fixture_open(struct store_fixture *f)
{
    int rc;

    need(f->store == NULL);
    trace_vfs_allow_owner(&f->trace, 1);
    f->config.seed++;
    kl_base_error_clear(&f->error);
    rc = kl_store_new(&f->store, &f->alloc.alloc, &f->trace.base, f->lanes,
                      &f->config);
    if (rc == 0)
        rc = kl_store_open(f->store, KL_STORE_OPEN_CREATE | f->open_flags,
                           f->now_ns, f->wall_ms, &f->error);
    trace_vfs_watch_owner(&f->trace);
    return rc;
}

void store_fixture_crash(struct store_fixture *f)
{
    trace_vfs_allow_owner(&f->trace, 1);
    kl_store_free(f->store);
    f->store = NULL;
}

/* The next millisecond; where a call takes very long, some time later the
 * moment when it returns. */
static void fixture_tick(struct store_fixture *f)
{
    int64_t slow_ns;

    f->now_ns += 1000000;
    f->wall_ms++;
    if (!f->disk)
        return;
    slow_ns = sim_lanes_latest(&f->sim) - f->now_ns;
    if (slow_ns < 100000000) {
        f->slow_turns = 0;
    } else if (++f->slow_turns == 30) {
        f->slow_turns = 0;
        f->now_ns += slow_ns;
        f->wall_ms += slow_ns / 1000000;
    }
}

void store_fixture_turn(struct store_fixture *f)
{
    struct kl_store_event event;

    fixture_tick(f);
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
    need(kl_store_is_stopped(f->store));
    need_ok(kl_store_failure(f->store, NULL));
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

    need_ok(kl_store_create(f->store, id, flush, &config, &log));
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

    need(value_size <= sizeof value);
    kl_batch_builder_init(&builder, &f->caller);
    for (int i = 0; i < count; i++) {
        struct kl_batch_input in = {.timestamp = timestamp + i,
                                    .value = value,
                                    .value_size = value_size};

        store_fixture_value(tag, i, value, value_size);
        need_ok(kl_batch_builder_append(&builder, 1 << 20, 1024, &in));
    }
    need_ok(
        kl_batch_builder_finish(&builder, kl_store_log_seed(log), 0, &chunk));
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
        for (int i = 0; i < 1000 && !finished; i++) {
            f->lanes->ops->wait(f->lanes); /* where they are threads */
            store_fixture_turn(f);
        }
    else
        finished = 1;
    need(finished);
}

/* ---- records that a test can recognise ----------------------------------- */

static uint64_t fixture_tag(uint64_t salt, int64_t offset)
{
    return salt * 1000003 + (uint64_t)offset;
}

void store_fixture_fill(struct store_fixture *f, struct kl_store_log *log,
                        int count, uint32_t value_size, uint64_t salt)
{
    struct kl_store_view view;

    for (int i = 0; i < count; i++) {
        kl_store_log_view(log, &view);
        need_ok(store_fixture_append(
            f, log, 1, value_size, fixture_tag(salt, view.leo),
            view.epochs->count ? kl_batch_epochs_last(view.epochs) : 0,
            f->wall_ms));
    }
}

static void fixture_expect_slice(struct store_fixture *f,
                                 const struct kl_store_slice *slice,
                                 uint64_t seed, int64_t *offset,
                                 uint32_t value_size, uint64_t salt)
{
    const uint8_t *p = slice->data;
    uint8_t want[4096];

    while (p < slice->data + slice->size) {
        struct kl_batch_iter it;
        struct kl_batch_record record;
        struct kl_batch_info info;
        size_t left = (size_t)(slice->data + slice->size - p);

        need_ok(kl_batch_frame_verify(p, left, seed, &info));
        need(info.base_offset == *offset);
        need(info.last_offset == *offset);
        need_ok(kl_batch_iter_init(&it, &f->alloc.alloc, p, left, 1 << 20));
        need_ok(kl_batch_iter_next(&it, &record));
        need(record.value_size == value_size);
        store_fixture_value(fixture_tag(salt, *offset), 0, want, value_size);
        need_msg(memcmp(record.value, want, value_size) == 0,
                 "offset %lld holds another record", (long long)*offset);
        kl_batch_iter_deinit(&it);
        p += info.frame_size;
        ++*offset;
    }
}

void store_fixture_expect(struct store_fixture *f, struct kl_store_log *log,
                          int64_t from, int64_t to, uint32_t value_size,
                          uint64_t salt)
{
    struct kl_store_read read;

    while (from < to) {
        store_fixture_read(f, log, from, to, 8192, &read);
        need_msg(read.code == 0 && read.slice_count > 0,
                 "offset %lld: code %d, %u slices", (long long)from, read.code,
                 read.slice_count);
        for (uint32_t i = 0; i < read.slice_count; i++)
            fixture_expect_slice(f, &read.slices[i], kl_store_log_seed(log),
                                 &from, value_size, salt);
        need(read.next_offset == from);
        kl_store_read_release(&read);
    }
    need(from == to);
}

int store_fixture_endure(struct store_fixture *f, struct kl_store_log *log,
                         int64_t from, int64_t to, uint32_t value_size,
                         uint64_t salt)
{
    struct kl_store_read read;
    int lost = 0;

    for (; from < to; from++) {
        int64_t at = from;

        store_fixture_read(f, log, from, to, 1, &read);
        if (read.code == KL_ECORRUPT) {
            need(read.slice_count == 0 && read.next_offset > from);
            lost++;
        } else {
            need_msg(read.code == 0 && read.slice_count == 1,
                     "offset %lld: code %d", (long long)from, read.code);
            fixture_expect_slice(f, &read.slices[0], kl_store_log_seed(log),
                                 &at, value_size, salt);
        }
        kl_store_read_release(&read);
    }
    return lost;
}

int store_fixture_lookup(struct store_fixture *f, struct kl_store_log *log,
                         int64_t timestamp, int64_t end, int64_t *offset_out)
{
    int finished = 0;
    struct kl_store_lookup lookup = {
        .log = log, .timestamp = timestamp, .end = end, .user = &finished};

    if (kl_store_lookup(&lookup) == KL_EAGAIN)
        for (int i = 0; i < 1000 && !finished; i++) {
            f->lanes->ops->wait(f->lanes); /* where they are threads */
            store_fixture_turn(f);
        }
    else
        finished = 1;
    need(finished);
    *offset_out = lookup.code ? -1 : lookup.found_offset;
    return lookup.code;
}

struct kl_store_view store_fixture_view(const struct kl_store_log *log)
{
    struct kl_store_view view;

    kl_store_log_view(log, &view);
    return view;
}

struct kl_store_log *store_fixture_reopen(struct store_fixture *f,
                                          const struct kl_store_id *id)
{
    struct kl_store_log *log;

    need_msg(store_fixture_open(f) == 0, "open: %s", f->error.text);
    log = kl_store_find(f->store, id);
    need(log != NULL);
    return log;
}

/* ---- files -----------------------------------------------------------------
 */

static struct kl_os_file *fixture_file(struct store_fixture *f,
                                       const char *path, uint32_t flags)
{
    struct kl_os_file *file = NULL;

    need_msg(f->memory->ops->open(f->memory, path, flags, &file) == 0,
             "cannot open %s", path);
    return file;
}

int store_fixture_exists(struct store_fixture *f, const char *path)
{
    struct kl_os_file *file;

    if (f->memory->ops->open(f->memory, path, KL_OS_READ, &file))
        return 0;
    f->memory->ops->close(file);
    return 1;
}

uint8_t *store_fixture_load(struct store_fixture *f, const char *path,
                            size_t *size_out)
{
    struct kl_os_file *file = fixture_file(f, path, KL_OS_READ);
    uint64_t size;
    uint8_t *data;

    need_ok(f->memory->ops->size(file, &size));
    data = malloc(size ? (size_t)size : 1);
    need(data != NULL);
    need_ok(f->memory->ops->read(file, data, (size_t)size, 0, size_out));
    f->memory->ops->close(file);
    return data;
}

static void fixture_write(struct store_fixture *f, struct kl_os_file *file,
                          uint64_t offset, const void *data, size_t size)
{
    struct kl_os_iovec part = {data, size};

    need_ok(f->memory->ops->write(file, &part, 1, offset, NULL));
    need_ok(f->memory->ops->sync(file));
    f->memory->ops->close(file);
}

void store_fixture_save(struct store_fixture *f, const char *path,
                        const void *data, size_t size)
{
    fixture_write(
        f, fixture_file(f, path, KL_OS_WRITE | KL_OS_CREATE | KL_OS_TRUNCATE),
        0, data, size);
}

void store_fixture_set_version(struct store_fixture *f, uint16_t version)
{
    struct kl_store_identity identity;
    struct kl_base_buf buf;
    size_t size;
    uint8_t *data = store_fixture_load(f, "data/identity", &size);

    need_ok(kl_store_identity_decode(data, size, &identity));
    free(data);
    identity.version = version;
    kl_base_buf_init(&buf, &f->alloc.alloc);
    need_ok(kl_store_identity_encode(&buf, &identity));
    store_fixture_save(f, "data/identity", buf.data, buf.size);
    kl_base_buf_deinit(&buf);
}

void store_fixture_unlink(struct store_fixture *f, const char *path)
{
    need_ok(f->memory->ops->unlink(f->memory, path));
}

void store_fixture_patch(struct store_fixture *f, const char *path,
                         uint64_t offset, const void *data, size_t size)
{
    fixture_write(f, fixture_file(f, path, KL_OS_WRITE), offset, data, size);
}

struct fixture_names
{
    const char *ending;
    int count;
};

static int fixture_name(const char *name, void *user)
{
    struct fixture_names *n = user;
    size_t length = strlen(name), ending = strlen(n->ending);

    n->count +=
        length >= ending && strcmp(name + length - ending, n->ending) == 0;
    return 0;
}

int store_fixture_count(struct store_fixture *f, const char *folder,
                        const char *ending)
{
    struct fixture_names n = {ending, 0};

    if (f->memory->ops->list(f->memory, folder, fixture_name, &n))
        return 0;
    return n.count;
}

struct fixture_hash
{
    struct store_fixture *f;
    const char *folder;
    int depth;
    uint64_t hash;
};

static int fixture_hash_name(const char *name, void *user)
{
    struct fixture_hash *h = user;
    char path[KL_STORE_PATH_MAX];
    struct fixture_hash below = {h->f, path, h->depth + 1, h->hash};
    uint8_t *data;
    size_t size;

    snprintf(path, sizeof path, "%s/%s", h->folder, name);
    h->hash = kl_base_hash(path, strlen(path), h->hash);
    if (store_fixture_exists(h->f, path)) {
        data = store_fixture_load(h->f, path, &size);
        h->hash = kl_base_hash(data, size, h->hash);
        free(data);
    } else if (h->depth < 3) {
        h->f->memory->ops->list(h->f->memory, path, fixture_hash_name, &below);
        h->hash = below.hash;
    }
    return 0;
}

uint64_t store_fixture_hash(struct store_fixture *f)
{
    struct fixture_hash h = {f, f->config.path, 0, 1};

    need_ok(f->memory->ops->list(f->memory, h.folder, fixture_hash_name, &h));
    return h.hash;
}
