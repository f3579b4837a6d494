/*
 * Making the images.
 */
#include "image.h"

#include "base/endian.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- fixture ------------------------------------------------------------- */

void image_fixture_init(struct store_fixture *f)
{
    memset(f, 0, sizeof *f);
    f->alloc.alloc = f->caller = fuzz_alloc;
    FUZZ_CHECK(kl_os_vfs_memory_new(&f->memory, &fuzz_alloc, 0) == 0);
    trace_vfs_init(&f->trace, f->memory);
    trace_lanes_init(&f->jobs, NULL);
    f->lanes = &f->jobs.base;
    f->config.path = "data";
    f->config.ring_bytes = 64 * 1024;
    f->config.pending_bytes_max = 1 << 20;
    f->config.file_max = 16;
    f->config.retention_check_ms = 1000;
    f->config.seed = 1;
    f->config.format.node_id = 1;
    memset(&f->config.format.cluster_id, 7, 16);
    memset(&f->config.format.directory_id, 9, 16);
    f->now_ns = 1000000000;
    f->wall_ms = 1700000000000;
}

void image_fixture_deinit(struct store_fixture *f)
{
    store_fixture_crash(f);
    trace_lanes_deinit(&f->jobs);
    trace_vfs_deinit(&f->trace);
    f->memory->ops->free(f->memory);
}

void image_fixture_put(struct store_fixture *f, const char *path,
                       const uint8_t *data, size_t size)
{
    const struct kl_os_vfs_ops *ops = f->memory->ops;
    struct kl_os_iovec part = {data, size};
    struct kl_os_file *file;
    char folder[IMAGE_PATH];

    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        int rc;

        memcpy(folder, path, (size_t)(p - path));
        folder[p - path] = 0;
        rc = ops->mkdir(f->memory, folder);
        FUZZ_CHECK(rc == 0 || rc == KL_EEXIST);
    }
    FUZZ_CHECK(ops->open(f->memory, path, KL_OS_WRITE | KL_OS_CREATE, &file) ==
               0);
    FUZZ_CHECK(ops->write(file, &part, 1, 0, NULL) == 0);
    ops->close(file);
}

/* ---- what happens in an image -------------------------------------------- */

struct maker
{
    struct store_fixture f;
    struct image *image;
    struct kl_store_log *logs[IMAGE_LOGS];
    uint64_t tags;
};

struct kl_store_id image_log_id(int log)
{
    return store_fixture_id(log, log % 2);
}

int image_log_of(const struct kl_store_id *id)
{
    for (int i = 0; i < IMAGE_LOGS; i++) {
        struct kl_store_id known = image_log_id(i);

        if (memcmp(&known, id, sizeof known) == 0)
            return i;
    }
    return -1;
}

static void maker_note_state(struct maker *m)
{
    struct image *image = m->image;
    uint64_t sequence = m->f.store->wal.durable.sequence;
    struct image_state *state = &image->states[image->state_count];

    if (image->state_count > 0 && state[-1].sequence == sequence)
        return;
    FUZZ_CHECK(++image->state_count < IMAGE_STATES);
    memset(state, 0, sizeof *state);
    state->sequence = sequence;
    for (int i = 0; i < IMAGE_LOGS; i++) {
        const struct kl_store_log *log = m->logs[i];

        if (!log || !log->exists)
            continue;
        state->logs[i].exists = 1;
        state->logs[i].start = log->durable_start;
        state->logs[i].leo = log->wal_leo;
    }
}

static void maker_turn(struct maker *m, int count)
{
    for (; count > 0; count--) {
        store_fixture_turn(&m->f);
        maker_note_state(m);
    }
}

static void maker_open(struct maker *m)
{
    FUZZ_CHECK(store_fixture_open(&m->f) == 0);
    for (int i = 0; i < IMAGE_LOGS; i++) {
        struct kl_store_id id = image_log_id(i);

        m->logs[i] = kl_store_find(m->f.store, &id);
    }
    m->image->state_count = 0;
    maker_note_state(m);
}

static void maker_create(struct maker *m, int log)
{
    struct kl_store_id id = image_log_id(log);

    m->logs[log] = store_fixture_create(
        &m->f, &id, log == 3 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
        8192);
}

static void maker_append(struct maker *m, int log, int records, uint32_t size)
{
    struct image_frame *frame = &m->image->frames[m->image->frame_count];
    struct kl_store_log *l = m->logs[log];
    const struct kl_store_entry *e;
    int32_t epoch = kl_batch_epochs_last(&l->epochs);

    FUZZ_CHECK(++m->image->frame_count < IMAGE_FRAMES);
    FUZZ_CHECK(store_fixture_append(&m->f, l, records, size, ++m->tags,
                                    epoch < 0 ? 0 : epoch, m->f.wall_ms) == 0);
    e = KL_BASE_CONTAINER(l->work->pending.prev, struct kl_store_entry, order);
    frame->log = log;
    frame->base = e->offset;
    frame->size = e->size;
    frame->hash = kl_base_hash(e->chunk->data, e->size, 0);
}

static void make_wal(struct maker *m)
{
    maker_open(m);
    for (int i = 0; i < 3; i++)
        maker_create(m, i);
    maker_append(m, 0, 1, 30);
    maker_turn(m, 2);
    maker_append(m, 0, 2, 40);
    maker_append(m, 1, 3, 20);
    maker_turn(m, 2);
    FUZZ_CHECK(kl_store_start_epoch(m->logs[1], 4) == 0);
    maker_append(m, 1, 1, 100);
    maker_append(m, 2, 1, 10);
    maker_turn(m, 2);
    FUZZ_CHECK(kl_store_truncate(m->logs[0], 1) == 0);
    maker_append(m, 0, 1, 50);
    FUZZ_CHECK(kl_store_delete(m->logs[2]) == 0);
    m->logs[2] = NULL;
    maker_turn(m, 2);
    FUZZ_CHECK(kl_store_set_start(m->logs[1], 2) == 0);
    maker_create(m, 2);
    maker_append(m, 2, 2, 60);
    maker_turn(m, 2);
    maker_append(m, 1, 1, 70);
    maker_turn(m, 2);
}

static void make_sealed(struct maker *m)
{
    make_wal(m);
    m->f.now_ns += 2000000000;
    maker_turn(m, 3);
}

static void make_rounds(struct maker *m, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        for (int log = 0; log < IMAGE_LOGS; log++) {
            maker_append(m, log, 1 + (i + log) % 3, 150 + 40u * (uint32_t)log);
            if (i % 3 == log)
                maker_turn(m, 2);
        }
        maker_turn(m, i % 2 ? 8 : 1);
        if (i % 5 == 4)
            FUZZ_CHECK(kl_store_truncate(m->logs[i % 2 ? 3 : 1],
                                         m->logs[i % 2 ? 3 : 1]->leo -
                                             (1 + (i + (i % 2 ? 3 : 1)) % 3)) ==
                       0);
        if (i % 6 == 5)
            FUZZ_CHECK(kl_store_start_epoch(m->logs[0], i) == 0);
        if (i % 7 == 6)
            FUZZ_CHECK(kl_store_set_start(m->logs[0],
                                          m->logs[0]->durable_leo / 3) == 0);
    }
}

static void make_mixed(struct maker *m)
{
    maker_open(m);
    for (int i = 0; i < IMAGE_LOGS; i++)
        maker_create(m, i);
    make_rounds(m, 16);
    maker_turn(m, 8); /* the next group is that of the delete */
    FUZZ_CHECK(kl_store_delete(m->logs[2]) == 0);
    m->logs[2] = NULL;
    maker_turn(m, 3);
    maker_create(m, 2);
    make_rounds(m, 3);
    maker_turn(m, 2);
}

static void make_clean(struct maker *m)
{
    maker_open(m);
    for (int i = 0; i < IMAGE_LOGS; i++)
        maker_create(m, i);
    make_rounds(m, 12);
    maker_turn(m, 10);
    store_fixture_close(&m->f);
}

/* ---- taking it down ------------------------------------------------------ */

static void image_take_cells(struct image_file *file)
{
    static const uint8_t zeros[IMAGE_CELL];
    size_t count = (file->size + IMAGE_CELL - 1) / IMAGE_CELL;

    file->cells = malloc((count ? count : 1) * sizeof *file->cells);
    FUZZ_CHECK(file->cells);
    for (size_t at = 0; at < file->size; at += IMAGE_CELL) {
        size_t size = file->size - at;

        if (size > IMAGE_CELL)
            size = IMAGE_CELL;
        if (memcmp(file->data + at, zeros, size) != 0)
            file->cells[file->cell_count++] = (uint32_t)at;
    }
}

struct image_walk
{
    struct maker *m;
    const char *folder;
};

static int image_take(const char *name, void *user)
{
    struct image_walk *w = user;
    struct image *image = w->m->image;
    struct image_file *file = &image->files[image->file_count];
    char path[IMAGE_PATH];

    FUZZ_CHECK(snprintf(path, sizeof path, "%s/%s", w->folder, name) <
               (int)sizeof path);
    if (!store_fixture_exists(&w->m->f, path)) {
        struct image_walk below = {w->m, path};

        return w->m->f.memory->ops->list(w->m->f.memory, path, image_take,
                                         &below);
    }
    FUZZ_CHECK(++image->file_count < IMAGE_FILES);
    memcpy(file->path, path, sizeof path);
    file->data = store_fixture_load(&w->m->f, path, &file->size);
    image_take_cells(file);
    return 0;
}

static void image_find_sequence(struct image *image)
{
    uint64_t generation = 0;

    for (size_t i = 0; i < image->file_count; i++) {
        const struct image_file *file = &image->files[i];
        struct kl_store_slot slot;
        struct kl_base_cursor c;

        if (!strstr(file->path, "/checkpoint.") ||
            kl_store_slot_decode(file->data, file->size, &c, &slot) ||
            slot.generation < generation)
            continue;
        generation = slot.generation;
        image->sequence = slot.position.sequence;
    }
    FUZZ_CHECK(generation > 0);
}

static void image_add_group(struct image *image, size_t file, uint64_t offset)
{
    const uint8_t *data = image->files[file].data + offset;
    struct image_group *g = &image->groups[image->group_count];
    struct kl_store_group_header h;

    if (kl_store_group_decode(data, &h) || kl_store_group_verify(data, &h) ||
        h.sequence < image->sequence)
        return;
    FUZZ_CHECK(++image->group_count < IMAGE_STATES);
    g->sequence = h.sequence;
    g->file = file;
    g->offset = offset;
    g->size = KL_STORE_GROUP_HEADER +
              (uint64_t)h.entry_count * KL_STORE_ENTRY_HEADER + h.body_size;
    image->has_seal |= h.kind == KL_STORE_GROUP_SEAL;
}

static int image_compare_groups(const void *a, const void *b)
{
    const struct image_group *x = a, *y = b;

    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void image_find_groups(struct image *image)
{
    for (size_t i = 0; i < image->file_count; i++)
        for (uint64_t at = 0;
             strstr(image->files[i].path, "/wal/") && at < image->files[i].size;
             at += KL_STORE_BLOCK)
            image_add_group(image, i, at);
    qsort(image->groups, image->group_count, sizeof *image->groups,
          image_compare_groups);
    for (size_t i = 0; i < image->group_count; i++)
        FUZZ_CHECK(image->groups[i].sequence == image->sequence + i);
}

const struct image *image_get(enum image_kind kind)
{
    static void (*const makers[IMAGE_KINDS])(struct maker *) = {
        make_wal, make_sealed, make_mixed, make_clean};
    static struct image images[IMAGE_KINDS];
    static struct maker m;
    struct image *image = &images[kind];
    struct image_walk walk = {&m, "data"};

    if (image->file_count > 0)
        return image;
    memset(&m, 0, sizeof m);
    image_fixture_init(&m.f);
    m.image = image;
    makers[kind](&m);
    store_fixture_crash(&m.f);
    FUZZ_CHECK(
        m.f.memory->ops->list(m.f.memory, walk.folder, image_take, &walk) == 0);
    image_find_sequence(image);
    image_find_groups(image);
    image_fixture_deinit(&m.f);
    return image;
}

int image_has_frame(const struct image *image, int log, const uint8_t *frame,
                    uint32_t size, int64_t base)
{
    uint64_t hash = kl_base_hash(frame, size, 0);

    for (size_t i = 0; i < image->frame_count; i++) {
        const struct image_frame *f = &image->frames[i];

        if (f->log == log && f->base == base && f->size == size &&
            f->hash == hash)
            return 1;
    }
    return 0;
}
