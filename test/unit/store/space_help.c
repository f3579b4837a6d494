#include "space_help.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void space_help_init(struct space_help *h, uint64_t capacity)
{
    memset(h, 0, sizeof *h);
    store_fixture_init(&h->f);
    h->f.memory->ops->free(h->f.memory);
    h->disk = sim_disk_new(capacity);
    h->f.memory = h->f.trace.inner = &h->disk->base;
    h->f.config.cache_bytes_max = 0;
}

void space_help_deinit(struct space_help *h)
{
    trace_vfs_heal(&h->f.trace);
    store_fixture_deinit(&h->f);
}

const struct kl_store_stats *space_help_stats(struct space_help *h)
{
    return kl_store_stats(h->f.store);
}

void space_help_wait(struct space_help *h)
{
    for (int i = 0; i < 60; i++) {
        h->f.now_ns += 50000000;
        store_fixture_turn(&h->f);
    }
    ck_assert_int_eq(kl_store_failure(h->f.store, NULL), 0);
}

uint64_t space_help_room(struct space_help *h)
{
    uint64_t bytes;

    ck_assert_int_eq(h->disk->base.ops->space(&h->disk->base, "data", &bytes),
                     0);
    return bytes;
}

void space_help_leave(struct space_help *h, uint64_t bytes)
{
    uint64_t free_now;

    if (h->disk->capacity == 0)
        h->disk->capacity = UINT64_C(1) << 40;
    free_now = space_help_room(h);
    h->disk->capacity = h->disk->capacity - free_now + bytes;
}

int space_help_append(struct space_help *h, struct kl_store_log *log,
                      uint32_t size)
{
    int64_t leo = store_fixture_view(log).leo;

    return store_fixture_append(&h->f, log, 1, size, 1000003 + (uint64_t)leo, 0,
                                h->f.wall_ms);
}

void space_help_expect(struct space_help *h, struct kl_store_log *log,
                       uint32_t size)
{
    struct kl_store_view view = store_fixture_view(log);

    ck_assert_int_eq(view.durable_leo, view.leo);
    store_fixture_expect(&h->f, log, view.start, view.leo, size, 1);
}

/* ---- files ---------------------------------------------------------------
 */

static uint64_t help_size(struct space_help *h, const char *path)
{
    struct kl_os_vfs *vfs = &h->disk->base;
    struct kl_os_file *file;
    uint64_t size = 0;

    if (vfs->ops->open(vfs, path, KL_OS_READ, &file))
        return 0;
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    vfs->ops->close(file);
    return size;
}

struct help_sum
{
    struct space_help *h;
    const char *folder;
    uint64_t bytes;
};

static int help_file(const char *name, void *user)
{
    struct help_sum *sum = user;
    size_t length = strlen(name);
    char path[600];

    if (length < 4 || strcmp(name + length - 4, ".seg") != 0)
        return 0;
    snprintf(path, sizeof path, "%s/%s", sum->folder, name);
    sum->bytes += help_size(sum->h, path) - KL_STORE_BLOCK;
    return 0;
}

static int help_folder(const char *name, void *user)
{
    struct help_sum *sum = user;
    struct kl_os_vfs *vfs = &sum->h->disk->base;
    char path[300];

    snprintf(path, sizeof path, "data/logs/%s", name);
    sum->folder = path;
    return vfs->ops->list(vfs, path, help_file, sum);
}

uint64_t space_help_disk(struct space_help *h)
{
    static const char *const names[] = {"data/checkpoint.a",
                                        "data/checkpoint.b", "data/reserve"};
    struct help_sum sum = {h, NULL, 0};
    char path[32];

    ck_assert_int_eq(
        h->disk->base.ops->list(&h->disk->base, "data/logs", help_folder, &sum),
        0);
    for (size_t i = 0; i < 3; i++)
        sum.bytes += help_size(h, names[i]);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "data/wal/%d", i);
        sum.bytes += help_size(h, path);
    }
    return sum.bytes;
}
