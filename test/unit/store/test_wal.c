/*
 * The write-ahead log: what a group is on disk, where groups go, and what open
 * makes of torn and of rotten ones.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup_ring(uint64_t ring_bytes)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = ring_bytes;
    fx.config.pending_bytes_max = 4 << 20;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
}

static void setup(void)
{
    setup_ring(1 << 20);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

/* Turns until all that was appended is durable: one group where it fits. */
static void commit(void)
{
    int i = 0;

    do
        store_fixture_turn(&fx);
    while (store_fixture_view(subject).durable_leo <
               store_fixture_view(subject).leo &&
           ++i < 10000);
    ck_assert_int_lt(i, 10000);
}

/* The group at a position, as it is on disk; data is to be freed. */
static uint8_t *group_at(const struct kl_store_position *p,
                         struct kl_store_group_header *h)
{
    char path[64];
    size_t size;
    uint8_t *file, *data;

    snprintf(path, sizeof path, "data/wal/%u", (unsigned)p->file);
    file = store_fixture_load(&fx, path, &size);
    ck_assert_uint_eq(size, fx.store->wal.file_size);
    ck_assert_int_eq(kl_store_group_decode(file + p->offset, h), 0);
    ck_assert_int_eq(kl_store_group_verify(file + p->offset, h), 0);
    ck_assert_uint_le(p->offset + h->size, size);
    data = malloc(h->size);
    ck_assert_ptr_nonnull(data);
    memcpy(data, file + p->offset, h->size);
    free(file);
    return data;
}

static struct kl_store_entry_header entry_of(const uint8_t *group, int index)
{
    struct kl_store_entry_header e;

    ck_assert_int_eq(kl_store_entry_decode(group + KL_STORE_GROUP_HEADER +
                                               index * KL_STORE_ENTRY_HEADER,
                                           &e),
                     0);
    return e;
}

/* ---- layout ---------------------------------------------------------------
 */

START_TEST(group_on_disk)
{
    struct kl_store_position at = fx.store->wal.next;
    struct kl_store_group_header h;
    struct kl_store_entry_header e;
    struct kl_batch_info info;
    uint8_t *group;
    size_t body = KL_STORE_GROUP_HEADER + 4 * KL_STORE_ENTRY_HEADER;

    store_fixture_fill(&fx, subject, 2, 700, 1);
    ck_assert_int_eq(kl_store_start_epoch(subject, 5), 0);
    commit();
    group = group_at(&at, &h);
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_DATA);
    ck_assert_uint_eq(h.directory, fx.store->directory);
    ck_assert_uint_eq(h.sequence, at.sequence);
    ck_assert_uint_eq(h.lap, at.lap);
    ck_assert_uint_eq(h.salt, at.salt);
    ck_assert_uint_eq(h.previous, at.previous);
    ck_assert_uint_eq(h.entry_count, 4);
    ck_assert_uint_eq(h.size, KL_STORE_BLOCK);
    e = entry_of(group, 0);
    ck_assert_int_eq(e.type, KL_STORE_ENTRY_CREATE);
    ck_assert_uint_eq(e.instance, at.sequence << 16 | 1);
    ck_assert_int_eq(e.flags, KL_STORE_FLUSH_COMMIT);
    ck_assert_uint_eq(e.size, 0);
    for (int i = 1; i <= 2; i++) {
        e = entry_of(group, i);
        ck_assert_int_eq(e.type, KL_STORE_ENTRY_APPEND);
        ck_assert_int_eq(e.offset, i - 1);
        ck_assert_int_eq(e.end, i);
        ck_assert_mem_eq(&e.id, &id, sizeof id);
        ck_assert_int_eq(kl_batch_frame_verify(group + body, e.size,
                                               kl_store_log_seed(subject),
                                               &info),
                         0);
        ck_assert_uint_eq(info.frame_size, e.size);
        ck_assert_int_eq(info.base_offset, i - 1);
        body += e.size;
    }
    e = entry_of(group, 3);
    ck_assert_int_eq(e.type, KL_STORE_ENTRY_EPOCH);
    ck_assert_int_eq(e.epoch, 5);
    ck_assert_int_eq(e.offset, 2);
    ck_assert_uint_eq(
        KL_STORE_GROUP_HEADER + 4 * KL_STORE_ENTRY_HEADER + h.body_size, body);
    for (; body < h.size; body++)
        ck_assert_int_eq(group[body], 0);
    free(group);
    ck_assert_uint_eq(fx.store->wal.next.offset, at.offset + h.size);
    ck_assert_uint_eq(fx.store->wal.next.sequence, at.sequence + 1);
    ck_assert_uint_eq(fx.store->wal.next.previous, h.checksum);
}
END_TEST

/* A group is where the one before ends, or at the start of the next file. */
static void check_place(const struct kl_store_position *before,
                        struct kl_store_position *at,
                        const struct kl_store_position *after)
{
    *at = *before;
    if (after->file == before->file) {
        ck_assert_uint_gt(after->offset, before->offset);
        ck_assert_uint_eq(after->lap, before->lap);
        ck_assert_uint_eq(after->salt, before->salt);
        return;
    }
    ck_assert_uint_eq(after->file,
                      (before->file + 1) % fx.store->wal.file_count);
    at->file = after->file;
    at->offset = 0;
    at->lap = after->lap;
    at->salt = after->salt;
    ck_assert_uint_eq(after->lap, before->lap + (after->file == 0));
    ck_assert_int_eq(after->salt != before->salt, after->file == 0);
}

START_TEST(groups_never_cross_files_and_are_chained)
{
    uint64_t wraps = 0;

    store_fixture_deinit(&fx);
    setup_ring(64 * 1024);
    for (int i = 0; i < 120; i++) {
        struct kl_store_position before = fx.store->wal.next, at;
        struct kl_store_group_header h;

        store_fixture_fill(&fx, subject, 1 + i * 7 % 5, 100 + i * 211 % 2000,
                           1);
        do
            store_fixture_turn(&fx);
        while (store_fixture_view(subject).durable_leo <
               store_fixture_view(subject).leo);
        if (fx.store->wal.next.sequence != before.sequence + 1)
            continue; /* the stalled ring has made it two */
        check_place(&before, &at, &fx.store->wal.next);
        free(group_at(&at, &h));
        ck_assert_uint_eq(h.sequence, before.sequence);
        ck_assert_uint_eq(h.previous, before.previous);
        ck_assert_uint_eq(h.salt, at.salt);
        ck_assert_uint_eq(h.lap, at.lap);
        ck_assert_uint_eq(h.checksum, fx.store->wal.next.previous);
        wraps += at.lap != before.lap;
    }
    ck_assert_uint_ge(wraps, 3);
    ck_assert_uint_eq(kl_base_stat_get(&kl_store_stats(fx.store)->wal_laps),
                      wraps);
}
END_TEST

START_TEST(groups_are_not_larger_than_a_file)
{
    struct kl_store_position at;
    struct kl_store_group_header h;
    uint64_t before;

    store_fixture_deinit(&fx);
    setup_ring(64 * 1024);
    at = fx.store->wal.next;
    before = at.sequence;
    store_fixture_fill(&fx, subject, 40, 1000, 1);
    commit();
    free(group_at(&at, &h));
    ck_assert_uint_le(h.size, fx.store->wal.file_size);
    ck_assert_uint_ge(h.entry_count, 10);
    ck_assert_uint_ge(fx.store->wal.next.sequence, before + 3);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, subject, 0, 40, 1000, 1);
}
END_TEST

START_TEST(metadata_entries_are_first)
{
    struct kl_store_id meta_id = {kl_store_metadata_topic, 0};
    struct kl_store_log *meta =
        store_fixture_create(&fx, &meta_id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    struct kl_store_position at;
    struct kl_store_group_header h;
    uint8_t *group;

    commit();
    commit();
    store_fixture_fill(&fx, subject, 400, 2000,
                       1); /* more than a group holds */
    store_fixture_fill(&fx, meta, 2, 50, 2);
    store_fixture_turn(&fx); /* the group is formed */
    at = fx.store->wal.next;
    at.offset -= fx.store->group.header.size;
    store_fixture_turn(&fx);
    ck_assert_int_eq(store_fixture_view(meta).durable_leo, 2);
    ck_assert_int_lt(store_fixture_view(subject).durable_leo, 400);
    group = group_at(&at, &h);
    for (int i = 0; i < 3; i++) {
        struct kl_store_entry_header e = entry_of(group, i);

        ck_assert_int_eq(
            kl_base_uuid_equal(&e.id.topic_id, &kl_store_metadata_topic),
            i < 2);
    }
    free(group);
    commit();
}
END_TEST

/* ---- sealing --------------------------------------------------------------
 */

static void idle(void)
{
    fx.now_ns += 1000000000;
    store_fixture_turn(&fx);
    store_fixture_turn(&fx);
}

START_TEST(seal_after_an_idle_second)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint64_t writes;

    store_fixture_fill(&fx, subject, 1, 100, 1);
    store_fixture_settle(&fx);
    at = fx.store->wal.next;
    ck_assert_int_lt(kl_store_deadline(fx.store), fx.now_ns + 1000000000);
    idle();
    free(group_at(&at, &h));
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_SEAL);
    ck_assert_uint_eq(h.size, KL_STORE_BLOCK);
    ck_assert_uint_eq(h.entry_count, 0);
    ck_assert_uint_eq(h.sequence, at.sequence);
    ck_assert_uint_eq(h.previous, at.previous);
    ck_assert_mem_eq(&at, &fx.store->wal.next, sizeof at);
    writes = trace_vfs_count(&fx.trace, TRACE_VFS_WRITE);
    idle();
    idle(); /* once is enough */
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_WRITE), writes);
    store_fixture_fill(&fx, subject, 1, 100, 1);
    commit();
    free(group_at(&at, &h)); /* over the seal */
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_DATA);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, subject, 0, 2, 100, 1);
}
END_TEST

/* Fills the file up to where less than size is left, the slots passed. */
static void near_the_end(uint64_t size)
{
    while (fx.store->wal.next.offset + size < fx.store->wal.file_size) {
        store_fixture_fill(&fx, subject, 1, 3000, 1);
        commit();
    }
    kl_store_checkpoint_request(fx.store);
    store_fixture_settle(&fx);
}

/* The group after a seal does not fit behind it and goes to the next file: it
 * and its successors are found all the same. */
START_TEST(seal_before_a_group_in_the_next_file)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    int64_t leo;

    near_the_end(3 * KL_STORE_BLOCK);
    idle();
    at = fx.store->wal.next;
    free(group_at(&at, &h));
    ck_assert_int_eq(h.kind, KL_STORE_GROUP_SEAL);
    store_fixture_fill(&fx, subject, 6, 3000, 1);
    commit();
    ck_assert_uint_ne(fx.store->wal.next.file, at.file);
    for (int i = 0; i < _i; i++) {
        store_fixture_fill(&fx, subject, 1, 3000, 1);
        commit();
    }
    leo = store_fixture_view(subject).durable_leo;
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(store_fixture_view(subject).leo, leo);
    store_fixture_expect(&fx, subject, 0, leo, 3000, 1);
}
END_TEST

/* ---- torn ends ------------------------------------------------------------
 */

enum damage { ZEROS, GARBAGE, FLIP };

/* Spoils a group on disk: its bytes from one on, or one byte. */
static void spoil(const struct kl_store_position *p, uint32_t size,
                  uint32_t from, enum damage damage)
{
    uint8_t bytes[64 * 1024];
    char path[64];
    size_t all;
    uint8_t *file;

    snprintf(path, sizeof path, "data/wal/%u", (unsigned)p->file);
    ck_assert_uint_le(size, sizeof bytes);
    memset(bytes, 0, sizeof bytes);
    if (damage == GARBAGE)
        store_fixture_value(99, (int)from, bytes, size - from);
    if (damage == FLIP) {
        file = store_fixture_load(&fx, path, &all);
        bytes[0] = file[p->offset + from] ^ 0x10;
        free(file);
        size = from + 1;
    }
    store_fixture_patch(&fx, path, p->offset + from, bytes, size - from);
}

/* One group that matters, one to be spoilt; the sizes of the latter. */
static struct kl_store_position two_groups(struct kl_store_group_header *h,
                                           uint32_t *used)
{
    struct kl_store_position at;

    store_fixture_fill(&fx, subject, 3, 900, 1);
    commit();
    at = fx.store->wal.next;
    store_fixture_fill(&fx, subject, 5, 1400, 1);
    commit();
    free(group_at(&at, h));
    *used = KL_STORE_GROUP_HEADER + h->entry_count * KL_STORE_ENTRY_HEADER +
            h->body_size;
    return at;
}

START_TEST(torn_end_is_dropped_whole)
{
    struct kl_store_group_header h = {.size = 512};
    uint32_t used;

    for (uint32_t from = 0; from < h.size; from += 512) {
        struct kl_store_position at;
        int64_t leo;

        store_fixture_deinit(&fx);
        setup();
        at = two_groups(&h, &used);
        ck_assert_uint_ge(h.size, 2 * KL_STORE_BLOCK);
        store_fixture_crash(&fx);
        spoil(&at, h.size, from, (enum damage)_i);
        subject = store_fixture_reopen(&fx, &id);
        leo = from < used ? 3 : 8; /* the padding does not matter */
        if (_i == FLIP && leo == 3 && from > used)
            leo = 8;
        ck_assert_msg(store_fixture_view(subject).leo == leo,
                      "from %u: LEO %lld", from,
                      (long long)store_fixture_view(subject).leo);
        store_fixture_expect(&fx, subject, 0, 3, 900, 1);
        store_fixture_expect(&fx, subject, 3, leo, 1400, 1);
        store_fixture_fill(&fx, subject, 4, 200, 3);
        commit();
        store_fixture_crash(&fx);
        subject = store_fixture_reopen(&fx, &id);
        store_fixture_expect(&fx, subject, leo, leo + 4, 200, 3);
    }
}
END_TEST

/* A torn group may hold old bytes of the ring instead of its own. */
START_TEST(torn_end_with_the_bytes_of_an_older_lap)
{
    for (uint32_t from = 0; from < 3 * KL_STORE_BLOCK; from += 512) {
        struct kl_store_position at;
        struct kl_store_group_header h;
        uint8_t *file;
        char path[64];
        size_t size;
        int64_t leo;

        store_fixture_deinit(&fx);
        setup_ring(64 * 1024);
        do {
            store_fixture_fill(&fx, subject, 4, 2000, 1);
            commit();
        } while (fx.store->wal.next.lap < 3);
        store_fixture_settle(&fx);
        at = fx.store->wal.next;
        if (at.offset + 3 * KL_STORE_BLOCK > fx.store->wal.file_size) {
            at.file = (at.file + 1) % fx.store->wal.file_count;
            at.offset = 0;
        }
        snprintf(path, sizeof path, "data/wal/%u", (unsigned)at.file);
        file = store_fixture_load(&fx, path, &size);
        leo = store_fixture_view(subject).leo;
        store_fixture_fill(&fx, subject, 4, 2000, 1);
        commit();
        free(group_at(&at, &h));
        ck_assert_uint_eq(h.size, 3 * KL_STORE_BLOCK);
        store_fixture_crash(&fx);
        store_fixture_patch(&fx, path, at.offset + from,
                            file + at.offset + from, h.size - from);
        free(file);
        subject = store_fixture_reopen(&fx, &id);
        if (store_fixture_view(subject).leo != leo)
            ck_assert_uint_ge(from, 4 * 2000);
        store_fixture_expect(&fx, subject, 0, store_fixture_view(subject).leo,
                             2000, 1);
    }
}
END_TEST

/* ---- rot -------------------------------------------------------------------
 */

/* Open must refuse, say where, and leave all as it is. */
static void refuse(const struct kl_store_position *at)
{
    uint64_t hash = store_fixture_hash(&fx);
    char where[100];

    ck_assert_int_eq(store_fixture_open(&fx), KL_ECORRUPT);
    store_fixture_crash(&fx);
    snprintf(where, sizeof where, "data/wal/%u, group %llu at %u",
             (unsigned)at->file, (unsigned long long)at->sequence,
             (unsigned)at->offset);
    ck_assert_msg(strstr(fx.error.text, where) != NULL, "\"%s\", not \"%s\"",
                  fx.error.text, where);
    ck_assert_uint_eq(store_fixture_hash(&fx), hash);
}

START_TEST(rot_before_a_later_group)
{
    struct kl_store_group_header h;
    uint32_t used = 1;

    for (uint32_t from = 0; from < used; from += 509) {
        struct kl_store_position at;

        store_fixture_deinit(&fx);
        setup();
        at = two_groups(&h, &used);
        store_fixture_fill(&fx, subject, 1, 10, 1);
        commit();
        store_fixture_crash(&fx);
        spoil(&at, h.size, from, (enum damage)_i);
        refuse(&at);
        refuse(&at); /* as often as it is tried */
    }
}
END_TEST

START_TEST(rot_before_a_seal)
{
    struct kl_store_group_header h;
    uint32_t used = 1;

    for (uint32_t from = 0; from < used; from += 509) {
        struct kl_store_position at;

        store_fixture_deinit(&fx);
        setup();
        at = two_groups(&h, &used);
        store_fixture_settle(&fx);
        idle();
        store_fixture_crash(&fx);
        spoil(&at, h.size, from, (enum damage)_i);
        refuse(&at);
    }
}
END_TEST

/* The proof may be in the next file. */
START_TEST(rot_at_the_end_of_a_file)
{
    struct kl_store_position at;
    struct kl_store_group_header h;

    store_fixture_deinit(&fx);
    setup();
    do {
        at = fx.store->wal.next;
        store_fixture_fill(&fx, subject, 5, 1400, 1);
        commit();
        if (at.offset < fx.store->wal.file_size / 4 * 3) {
            /* The slots are to be before the last groups. */
            kl_store_checkpoint_request(fx.store);
            store_fixture_settle(&fx);
        }
    } while (fx.store->wal.next.offset + 2 * KL_STORE_BLOCK <=
             fx.store->wal.file_size);
    free(group_at(&at, &h));
    store_fixture_fill(&fx, subject, 5, 1400, 1);
    commit();
    ck_assert_uint_ne(fx.store->wal.next.file, at.file);
    store_fixture_crash(&fx);
    spoil(&at, h.size, (uint32_t)_i * 1000, FLIP);
    refuse(&at);
}
END_TEST

/* The first group of a file is rotten from its header on: the proof is behind
 * it, in a file that the groups before have not reached. */
START_TEST(rot_at_the_start_of_a_file)
{
    struct kl_store_group_header h;
    struct kl_store_position before, at;
    uint64_t hash;

    near_the_end(3 * KL_STORE_BLOCK);
    before = fx.store->wal.next;
    store_fixture_fill(&fx, subject, 6, 3000, 1);
    commit();
    at = fx.store->wal.next;
    ck_assert_uint_ne(at.file, before.file);
    at.offset = 0;
    free(group_at(&at, &h));
    store_fixture_fill(&fx, subject, 1, 3000, 1);
    commit();
    store_fixture_crash(&fx);
    spoil(&at, h.size, (uint32_t)_i * 30, FLIP);
    hash = store_fixture_hash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), KL_ECORRUPT);
    store_fixture_crash(&fx);
    ck_assert_uint_eq(store_fixture_hash(&fx), hash);
}
END_TEST

/* What cannot be read or remembered now is not taken for a torn end. */
START_TEST(rot_where_the_proof_cannot_be_looked_at)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    at = two_groups(&h, &used);
    store_fixture_fill(&fx, subject, 1, 10, 1);
    commit();
    store_fixture_crash(&fx);
    spoil(&at, h.size, 20, FLIP);
    for (uint64_t n = 1; n < 30; n++) {
        if (_i)
            fail_alloc_arm(&fx.alloc, n);
        else
            trace_vfs_fail(&fx.trace, TRACE_VFS_READ, n, KL_EIO);
        ck_assert_int_ne(store_fixture_open(&fx), 0);
        store_fixture_crash(&fx);
    }
    fail_alloc_arm(&fx.alloc, 0);
    trace_vfs_heal(&fx.trace);
    refuse(&at);
}
END_TEST

/* ---- failures -------------------------------------------------------------
 */

static void check_failed(int code, int64_t durable)
{
    struct kl_store_event event;
    struct kl_base_error error;
    uint64_t writes, syncs;
    int seen = 0;

    for (int i = 0; i < 5; i++) {
        fx.now_ns += 1000000;
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
        while (kl_store_next_event(fx.store, &event))
            seen += event.type == KL_STORE_EVENT_FAILED;
    }
    ck_assert_int_eq(seen, 1);
    ck_assert_int_eq(kl_store_failure(fx.store, &error), code);
    ck_assert_ptr_nonnull(strstr(error.text, "data/wal/"));
    trace_vfs_heal(&fx.trace);
    writes = trace_vfs_count(&fx.trace, TRACE_VFS_WRITE);
    syncs = trace_vfs_count(&fx.trace, TRACE_VFS_SYNC);
    store_fixture_settle(&fx);
    fx.now_ns += 5000000000;
    store_fixture_settle(&fx);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_WRITE), writes);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_SYNC), syncs);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, durable);
    ck_assert_int_eq(kl_store_deadline(fx.store), INT64_MAX);
    ck_assert_uint_eq(kl_base_stat_get(&kl_store_stats(fx.store)->failed), 1);
}

/* The write (0) or the sync (1) of a group fails: nothing pending is ever
 * acknowledged, nothing is tried again, reads go on. */
START_TEST(failed_group_fails_the_store_for_ever)
{
    static const enum trace_vfs_kind kinds[] = {TRACE_VFS_WRITE,
                                                TRACE_VFS_SYNC};
    struct kl_store_id other = store_fixture_id(1, 0);
    struct kl_store_log *out;

    fx.config.cache_bytes_max = 0;
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    store_fixture_fill(&fx, subject, 10, 500, 1);
    store_fixture_settle(&fx);
    store_fixture_fill(&fx, subject, 5, 500, 1);
    trace_vfs_fail_from(&fx.trace, kinds[_i], 1, KL_EIO);
    check_failed(KL_EIO, 10);
    ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 10, 1, 0, 0),
                     KL_EFAILED);
    ck_assert_int_eq(kl_store_truncate(subject, 3), KL_EFAILED);
    ck_assert_int_eq(kl_store_start_epoch(subject, 3), KL_EFAILED);
    ck_assert_int_eq(kl_store_set_start(subject, 3), KL_EFAILED);
    ck_assert_int_eq(kl_store_delete(subject), KL_EFAILED);
    ck_assert_int_eq(kl_store_create(fx.store, &other, KL_STORE_FLUSH_COMMIT,
                                     &(struct kl_store_log_config){0}, &out),
                     KL_EFAILED);
    store_fixture_expect(&fx, subject, 0, 10, 500, 1);
    kl_store_stop(fx.store);
    ck_assert(kl_store_is_stopped(fx.store));
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, subject, 0, 10, 500, 1);
}
END_TEST

START_TEST(group_without_memory_is_tried_again)
{
    for (uint64_t n = 1; n <= 3; n++) {
        store_fixture_deinit(&fx);
        setup();
        store_fixture_fill(&fx, subject, 100, 100, 1);
        fail_alloc_arm(&fx.alloc, n);
        store_fixture_turn(&fx);
        fail_alloc_arm(&fx.alloc, 0);
        commit();
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        store_fixture_crash(&fx);
        subject = store_fixture_reopen(&fx, &id);
        store_fixture_expect(&fx, subject, 0, 100, 100, 1);
    }
}
END_TEST

/* ---- a full ring -----------------------------------------------------------
 */

START_TEST(full_ring_is_back_pressure)
{
    int turns = 0;

    store_fixture_deinit(&fx);
    setup_ring(64 * 1024);
    store_fixture_fill(&fx, subject, 300, 3000, 1);
    while (store_fixture_view(subject).durable_leo < 300) {
        store_fixture_turn(&fx);
        ck_assert_int_lt(++turns, 5000);
    }
    ck_assert_uint_gt(kl_base_stat_get(&kl_store_stats(fx.store)->wal_stalls),
                      0);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, subject, 0, 300, 3000, 1);
}
END_TEST

Suite *suite_store_wal(void);

Suite *suite_store_wal(void)
{
    Suite *suite = suite_create("store_wal");
    TCase *t = tcase_create("wal");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, group_on_disk);
    tcase_add_test(t, groups_never_cross_files_and_are_chained);
    tcase_add_test(t, groups_are_not_larger_than_a_file);
    tcase_add_test(t, metadata_entries_are_first);
    tcase_add_test(t, seal_after_an_idle_second);
    tcase_add_loop_test(t, seal_before_a_group_in_the_next_file, 0, 3);
    tcase_add_loop_test(t, torn_end_is_dropped_whole, ZEROS, FLIP + 1);
    tcase_add_test(t, torn_end_with_the_bytes_of_an_older_lap);
    tcase_add_loop_test(t, rot_before_a_later_group, ZEROS, FLIP + 1);
    tcase_add_loop_test(t, rot_before_a_seal, ZEROS, FLIP + 1);
    tcase_add_loop_test(t, rot_at_the_end_of_a_file, 0, 3);
    tcase_add_loop_test(t, rot_at_the_start_of_a_file, 0, 6);
    tcase_add_loop_test(t, rot_where_the_proof_cannot_be_looked_at, 0, 2);
    tcase_add_loop_test(t, failed_group_fails_the_store_for_ever, 0, 2);
    tcase_add_test(t, group_without_memory_is_tried_again);
    tcase_add_test(t, full_ring_is_back_pressure);
    suite_add_tcase(suite, t);
    return suite;
}
