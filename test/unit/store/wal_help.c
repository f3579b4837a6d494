#include "wal_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wal_help wal;

void wal_setup_ring(uint64_t ring_bytes)
{
    store_fixture_init(&wal.fx);
    wal.fx.config.ring_bytes = ring_bytes;
    wal.fx.config.pending_bytes_max = 4 << 20;
    wal.id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&wal.fx), 0);
    wal.subject =
        store_fixture_create(&wal.fx, &wal.id, KL_STORE_FLUSH_COMMIT, 1 << 20);
}

void wal_setup(void)
{
    wal_setup_ring(1 << 20);
}

void wal_teardown(void)
{
    store_fixture_deinit(&wal.fx);
}

void wal_commit(void)
{
    int i = 0;

    do
        store_fixture_turn(&wal.fx);
    while (store_fixture_view(wal.subject).durable_leo <
               store_fixture_view(wal.subject).leo &&
           ++i < 10000);
    ck_assert_int_lt(i, 10000);
}

uint8_t *wal_group_at(const struct kl_store_position *p,
                      struct kl_store_group_header *h)
{
    char path[64];
    size_t size;
    uint8_t *file, *data;

    snprintf(path, sizeof path, "data/wal/%u", (unsigned)p->file);
    file = store_fixture_load(&wal.fx, path, &size);
    ck_assert_uint_eq(size, wal.fx.store->wal.file_size);
    ck_assert_int_eq(kl_store_group_decode(file + p->offset, h), 0);
    ck_assert_int_eq(kl_store_group_verify(file + p->offset, h), 0);
    ck_assert_uint_le(p->offset + h->size, size);
    data = malloc(h->size);
    ck_assert_ptr_nonnull(data);
    memcpy(data, file + p->offset, h->size);
    free(file);
    return data;
}

void wal_idle(void)
{
    wal.fx.now_ns += 1000000000;
    store_fixture_turn(&wal.fx);
    store_fixture_turn(&wal.fx);
}

void wal_near_the_end(uint64_t size)
{
    while (wal.fx.store->wal.next.offset + size < wal.fx.store->wal.file_size) {
        store_fixture_fill(&wal.fx, wal.subject, 1, 3000, 1);
        wal_commit();
    }
    kl_store_checkpoint_request(wal.fx.store);
    store_fixture_settle(&wal.fx);
}

void wal_spoil(const struct kl_store_position *p, uint32_t size, uint32_t from,
               enum wal_damage damage)
{
    uint8_t bytes[64 * 1024];
    char path[64];
    size_t all;
    uint8_t *file;

    snprintf(path, sizeof path, "data/wal/%u", (unsigned)p->file);
    ck_assert_uint_le(size, sizeof bytes);
    memset(bytes, 0, sizeof bytes);
    if (damage == WAL_GARBAGE)
        store_fixture_value(99, (int)from, bytes, size - from);
    if (damage == WAL_FLIP) {
        file = store_fixture_load(&wal.fx, path, &all);
        bytes[0] = file[p->offset + from] ^ 0x10;
        free(file);
        size = from + 1;
    }
    store_fixture_patch(&wal.fx, path, p->offset + from, bytes, size - from);
}

struct kl_store_position wal_two_groups(struct kl_store_group_header *h,
                                        uint32_t *used)
{
    struct kl_store_position at;

    store_fixture_fill(&wal.fx, wal.subject, 3, 900, 1);
    wal_commit();
    at = wal.fx.store->wal.next;
    store_fixture_fill(&wal.fx, wal.subject, 5, 1400, 1);
    wal_commit();
    free(wal_group_at(&at, h));
    *used = KL_STORE_GROUP_HEADER + h->entry_count * KL_STORE_ENTRY_HEADER +
            h->body_size;
    return at;
}
