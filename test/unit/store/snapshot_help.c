#include "snapshot_help.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct store_fixture snap_fx;
uint8_t snap_content[SNAP_BIG];
struct kl_store_event snap_last;

void snap_setup(void)
{
    store_fixture_init(&snap_fx);
    ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
    for (size_t i = 0; i < sizeof snap_content; i++)
        snap_content[i] = (uint8_t)(i * 31 + i / 251);
}

void snap_teardown(void)
{
    store_fixture_deinit(&snap_fx);
}

void snap_reopen(void)
{
    store_fixture_crash(&snap_fx);
    ck_assert_int_eq(store_fixture_open(&snap_fx), 0);
}

int snap_turn(void)
{
    struct kl_store_event e;
    int seen = 0;

    snap_fx.now_ns += 1000000;
    kl_store_turn(snap_fx.store, snap_fx.now_ns, snap_fx.wall_ms);
    while (kl_store_next_event(snap_fx.store, &e)) {
        if (e.type != KL_STORE_EVENT_SNAPSHOT &&
            e.type != KL_STORE_EVENT_SNAPSHOT_READ)
            continue;
        snap_last = e;
        seen = 1;
    }
    return seen;
}

int snap_await(const struct kl_store_snapshot_writer *w)
{
    int turns = 0;

    while (!snap_turn())
        ck_assert_int_lt(++turns, 20);
    ck_assert_int_eq(snap_last.type, KL_STORE_EVENT_SNAPSHOT);
    ck_assert_ptr_eq(snap_last.writer, w);
    return snap_last.code;
}

int snap_append(struct kl_store_snapshot_writer *w, size_t from, size_t size)
{
    int rc = kl_store_snapshot_append(w, snap_content + from, size);

    return rc ? rc : snap_await(w);
}

int snap_commit(struct kl_store_snapshot_writer *w)
{
    int rc = kl_store_snapshot_commit(w);

    return rc ? rc : snap_await(w);
}

struct kl_store_snapshot_writer *snap_begin(int64_t end, int32_t epoch)
{
    struct kl_store_snapshot_writer *w = NULL;

    ck_assert_int_eq(kl_store_snapshot_begin(snap_fx.store, end, epoch, &w), 0);
    return w;
}

void snap_make(int64_t end, int32_t epoch, size_t size)
{
    struct kl_store_snapshot_writer *w = snap_begin(end, epoch);

    ck_assert_int_eq(snap_append(w, 0, size), 0);
    ck_assert_int_eq(snap_commit(w), 0);
    kl_store_snapshot_close(w);
}

int snap_read_rc(int64_t end, int32_t epoch, uint64_t position,
                 uint32_t bytes_max, struct kl_store_snapshot_read *r)
{
    int rc, turns = 0;

    *r = (struct kl_store_snapshot_read){.end = end,
                                         .epoch = epoch,
                                         .position = position,
                                         .bytes_max = bytes_max};
    rc = kl_store_snapshot_read(snap_fx.store, r);
    if (rc == 0)
        return r->code;
    ck_assert_int_eq(rc, KL_EAGAIN);
    while (!snap_turn())
        ck_assert_int_lt(++turns, 20);
    ck_assert_int_eq(snap_last.type, KL_STORE_EVENT_SNAPSHOT_READ);
    ck_assert_ptr_eq(snap_last.snapshot_read, r);
    return r->code;
}

void snap_expect(int64_t end, int32_t epoch, size_t size, uint32_t bytes_max)
{
    struct kl_store_snapshot_read r;
    uint64_t position = 0;

    do {
        ck_assert_int_eq(snap_read_rc(end, epoch, position, bytes_max, &r), 0);
        ck_assert_uint_le(r.size, bytes_max);
        ck_assert_uint_le(position + r.size, size);
        if (r.size > 0)
            ck_assert_mem_eq(r.data, snap_content + position, r.size);
        position += r.size;
        kl_store_snapshot_read_release(&r);
    } while (r.size > 0 || position < size);
    ck_assert_uint_eq(position, size);
}

size_t snap_count(void)
{
    struct kl_store_snapshot info;
    size_t n = 0;

    while (kl_store_snapshot_at(snap_fx.store, n, &info) == 0)
        n++;
    return n;
}

const char *snap_path_of(int64_t end, int32_t epoch)
{
    static char path[KL_STORE_PATH_MAX];

    snprintf(path, sizeof path, "data/snapshots/%020lld-%010d.snap",
             (long long)end, (int)epoch);
    return path;
}

int snap_names(const char *folder, const char *ending)
{
    return store_fixture_count(&snap_fx, folder, ending);
}
