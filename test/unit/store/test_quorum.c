/*
 * The quorum state: its bytes, puts and their order, repair, loss. What crashes
 * leave of it is in test/fault/test_quorum.c.
 */
#include "base/endian.h"
#include "base/hash.h"
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static const char *const copies[] = {"data/quorum.a", "data/quorum.b"};

static void setup(void)
{
    store_fixture_init(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static void reopen(void)
{
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}

static struct kl_store_quorum state_of(int32_t epoch, int32_t leader,
                                       int32_t voted)
{
    struct kl_store_quorum q = {epoch, leader, voted, {{0}}};

    if (voted >= 0)
        memset(&q.voted_directory_id, 100 + voted, 16);
    return q;
}

static uint64_t put(int32_t epoch, int32_t leader, int32_t voted)
{
    struct kl_store_quorum q = state_of(epoch, leader, voted);
    uint64_t generation = 0;

    ck_assert_int_eq(kl_store_quorum_put(fx.store, &q, &generation), 0);
    return generation;
}

static int put_rc(int32_t epoch, int32_t leader, int32_t voted)
{
    struct kl_store_quorum q = state_of(epoch, leader, voted);

    return kl_store_quorum_put(fx.store, &q, NULL);
}

static void expect(enum kl_store_quorum_verdict verdict, int32_t epoch,
                   int32_t leader, int32_t voted)
{
    struct kl_store_quorum want = state_of(epoch, leader, voted), got;

    ck_assert_int_eq(kl_store_quorum_get(fx.store, &got, NULL), verdict);
    ck_assert_int_eq(got.epoch, epoch);
    ck_assert_int_eq(got.leader_id, leader);
    ck_assert_int_eq(got.voted_id, voted);
    ck_assert_mem_eq(&got.voted_directory_id, &want.voted_directory_id, 16);
}

/* One turn; how many events of the quorum state it brought. */
static int turn(void)
{
    struct kl_store_event e;
    int count = 0;

    fx.now_ns += 1000000;
    kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    while (kl_store_next_event(fx.store, &e))
        count += e.type == KL_STORE_EVENT_QUORUM;
    return count;
}

/* Turns until an event comes. */
static void await(void)
{
    int turns = 0;

    while (turn() == 0)
        ck_assert_int_lt(++turns, 20);
}

static void put_durable(int32_t epoch, int32_t leader, int32_t voted)
{
    put(epoch, leader, voted);
    await();
}

/* ---- bytes ----------------------------------------------------------------
 */

static void seal(uint8_t *data)
{
    size_t size = kl_base_get_le32(data + 8);

    kl_base_put_le64(data + 16, kl_base_hash(data + KL_STORE_ENVELOPE,
                                             size - KL_STORE_ENVELOPE,
                                             kl_base_get_le64(data) ^ size));
}

START_TEST(layout)
{
    uint8_t *data[2];
    size_t size;

    put_durable(7, 2, 3);
    for (int i = 0; i < 2; i++) {
        data[i] = store_fixture_load(&fx, copies[i], &size);
        ck_assert_uint_eq(size, 4096);
    }
    ck_assert_mem_eq(data[0], data[1], 4096);
    ck_assert_mem_eq(data[0], "KLQS\2\0\0\0", 8);
    ck_assert_uint_eq(kl_base_get_le32(data[0] + 8), 104);
    ck_assert_uint_eq(kl_base_get_le64(data[0] + 24), 1); /* generation */
    ck_assert_mem_eq(data[0] + 32, &fx.config.format.directory_id, 16);
    ck_assert_uint_eq(kl_base_get_le32(data[0] + 48), 7);
    ck_assert_uint_eq(kl_base_get_le32(data[0] + 52), 2);
    ck_assert_uint_eq(kl_base_get_le32(data[0] + 56), 3);
    for (int i = 60; i < 76; i++)
        ck_assert_uint_eq(data[0][i], 103);
    ck_assert_uint_eq(kl_base_get_le32(data[0] + 76), 0);
    ck_assert_uint_eq(kl_base_get_le64(data[0] + 80), UINT64_MAX);
    for (int i = 88; i < 4096; i++)
        ck_assert_uint_eq(data[0][i], 0);
    free(data[0]);
    free(data[1]);
}
END_TEST

static struct kl_base_buf encoded(void)
{
    struct kl_store_quorum_record r = {.generation = 9,
                                       .state = state_of(7, 2, 3),
                                       .broker_epoch = 5,
                                       .incarnation_id = {{6}}};
    struct kl_base_buf b;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_store_quorum_encode(&b, &r), 0);
    return b;
}

START_TEST(every_flipped_bit_is_seen)
{
    struct kl_base_buf b = encoded();
    struct kl_store_quorum_record r;

    for (size_t bit = 0; bit < b.size * 8; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (kl_store_quorum_decode(b.data, b.size, &r) != KL_ECORRUPT)
            ck_abort_msg("bit %zu", bit);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(kl_store_quorum_decode(b.data, size, &r), KL_ECORRUPT);
    ck_assert_int_eq(kl_store_quorum_decode(b.data, b.size, &r), 0);
    kl_base_buf_deinit(&b);
}
END_TEST

/* Whole, but not what anybody writes. */
START_TEST(wrong_values_are_refused)
{
    static const struct
    {
        size_t at;
        uint32_t value;
        int code;
    } cases[] = {
        {4, 3, KL_EFORMAT},
        {4, 1, KL_ECORRUPT}, /* longer than that */
        {48, UINT32_MAX, KL_ECORRUPT},
        {52, UINT32_MAX - 1, KL_ECORRUPT},
        {56, UINT32_MAX - 1, KL_ECORRUPT},
        {76, 1, KL_ECORRUPT},
        {84, UINT32_MAX - 1, KL_ECORRUPT},
        {8, 88, KL_ECORRUPT},
        {8, 100, KL_ECORRUPT},
        {8, 108, KL_ECORRUPT},
    };
    struct kl_store_quorum_record r;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kl_base_buf b = encoded();

        kl_base_put_le32(b.data + cases[i].at, cases[i].value);
        seal(b.data);
        ck_assert_int_eq(kl_store_quorum_decode(b.data, b.size, &r),
                         cases[i].code);
        kl_base_buf_deinit(&b);
    }
}
END_TEST

/* ---- puts -----------------------------------------------------------------
 */

START_TEST(nothing_at_first)
{
    uint64_t generation = 99;
    struct kl_store_quorum q;

    expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
    reopen();
    expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
    kl_store_quorum_get(fx.store, &q, &generation);
    ck_assert_uint_eq(generation, 0);
}
END_TEST

START_TEST(put_is_there_after_a_crash)
{
    uint64_t generation = 0;
    struct kl_store_quorum q;

    ck_assert_uint_eq(put(3, -1, 1), 1);
    expect(KL_STORE_QUORUM_NONE, 0, -1, -1); /* not durable yet */
    await();
    ck_assert_int_eq(turn(), 0);
    expect(KL_STORE_QUORUM_NONE, 3, -1, 1);
    kl_store_quorum_get(fx.store, &q, &generation);
    ck_assert_uint_eq(generation, 1);
    reopen();
    expect(KL_STORE_QUORUM_GOOD, 3, -1, 1);
    ck_assert_uint_eq(put(3, 2, 1), 2); /* the leader is known now */
    await();
    store_fixture_close(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    expect(KL_STORE_QUORUM_GOOD, 3, 2, 1);
}
END_TEST

/* Of those that wait only the newest is written. */
START_TEST(newest_put_wins)
{
    uint64_t syncs = trace_vfs_count(&fx.trace, TRACE_VFS_SYNC);

    for (int32_t epoch = 1; epoch <= 10; epoch++)
        ck_assert_uint_eq(put(epoch, -1, 1), (uint64_t)epoch);
    ck_assert_int_eq(turn(), 0); /* begins */
    for (int32_t epoch = 11; epoch <= 20; epoch++)
        put(epoch, -1, 1);
    await();
    expect(KL_STORE_QUORUM_NONE, 10, -1, 1);
    await();
    expect(KL_STORE_QUORUM_NONE, 20, -1, 1);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_SYNC) - syncs, 4);
    reopen();
    expect(KL_STORE_QUORUM_GOOD, 20, -1, 1);
}
END_TEST

/* What was promised is not taken back. */
START_TEST(a_put_cannot_go_back)
{
    struct kl_store_quorum q = state_of(5, -1, 1);

    put(5, -1, 1);
    ck_assert_int_eq(put_rc(4, -1, 1), KL_EINVAL);
    ck_assert_int_eq(put_rc(5, -1, 2), KL_EINVAL);
    ck_assert_int_eq(put_rc(5, -1, -1), KL_EINVAL);
    ck_assert_int_eq(put_rc(6, -2, 1), KL_EINVAL);
    ck_assert_int_eq(put_rc(6, 1, -2), KL_EINVAL);
    q.voted_directory_id.bytes[3]++;
    ck_assert_int_eq(kl_store_quorum_put(fx.store, &q, NULL), KL_EINVAL);
    q.epoch = 6;
    q.voted_id = -1;
    ck_assert_int_eq(kl_store_quorum_put(fx.store, &q, NULL), KL_EINVAL);
    ck_assert_int_eq(put_rc(5, 3, 1), 0);
    await();
    reopen();
    ck_assert_int_eq(put_rc(4, -1, 1), KL_EINVAL);
    ck_assert_int_eq(put_rc(5, 3, 2), KL_EINVAL);
    ck_assert_int_eq(put_rc(6, -1, -1), 0);
    ck_assert_int_eq(put_rc(6, 2, -1), 0);
    ck_assert_int_eq(put_rc(6, 2, 7), 0);
}
END_TEST

/* The broker epoch and the quorum state are put in any order and keep each
 * other. */
START_TEST(broker_epoch)
{
    ck_assert_int_eq(kl_store_broker_epoch(fx.store), -1);
    ck_assert_int_eq(kl_store_broker_epoch_put(fx.store, 40), 0);
    ck_assert_int_eq(kl_store_broker_epoch(fx.store), -1); /* not durable yet */
    await();
    ck_assert_int_eq(kl_store_broker_epoch(fx.store), 40);
    expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
    reopen();
    ck_assert_int_eq(kl_store_broker_epoch(fx.store), 40);
    expect(KL_STORE_QUORUM_GOOD, 0, -1, -1);
    put(3, 1, 1);
    ck_assert_int_eq(kl_store_broker_epoch_put(fx.store, 39), KL_EINVAL);
    ck_assert_int_eq(kl_store_broker_epoch_put(fx.store, 41), 0);
    put(4, 2, 2);
    await();
    ck_assert_int_eq(turn(), 0); /* one write for all of them */
    reopen();
    ck_assert_int_eq(kl_store_broker_epoch(fx.store), 41);
    expect(KL_STORE_QUORUM_GOOD, 4, 2, 2);
    /* The same again is no change. */
    ck_assert_int_eq(kl_store_broker_epoch_put(fx.store, 41), 0);
    ck_assert_int_eq(turn(), 0);
    ck_assert_int_eq(turn(), 0);
}
END_TEST

START_TEST(incarnation)
{
    struct kl_base_uuid id = kl_store_incarnation(fx.store);

    ck_assert(kl_base_uuid_is_zero(&id));
    id.bytes[3] = 9;
    ck_assert_int_eq(kl_store_incarnation_put(fx.store, &id), 0);
    id = kl_store_incarnation(fx.store);
    ck_assert(kl_base_uuid_is_zero(&id)); /* not durable yet */
    ck_assert_int_eq(kl_store_broker_epoch_put(fx.store, 40), 0);
    await();
    ck_assert_int_eq(kl_store_incarnation(fx.store).bytes[3], 9);
    put(3, 1, 1);
    await();
    reopen();
    id = kl_store_incarnation(fx.store);
    ck_assert_int_eq(id.bytes[3], 9);
    ck_assert_int_eq(kl_store_broker_epoch(fx.store), 40);
    /* The same again is no change. */
    ck_assert_int_eq(kl_store_incarnation_put(fx.store, &id), 0);
    ck_assert_int_eq(turn(), 0);
}
END_TEST

/* What was written before there was a broker epoch. */
START_TEST(version_without_broker_epoch)
{
    struct kl_base_buf b = encoded();
    struct kl_store_quorum_record r;

    memset(b.data + 80, 0, 24);
    b.data[4] = 1;
    b.data[8] = 80;
    seal(b.data);
    ck_assert_int_eq(kl_store_quorum_decode(b.data, b.size, &r), 0);
    ck_assert_int_eq(r.state.epoch, 7);
    ck_assert_int_eq(r.broker_epoch, -1);
    ck_assert(kl_base_uuid_is_zero(&r.incarnation_id));
    kl_base_buf_deinit(&b);
}
END_TEST

/* No group is begun before the put is durable, whichever came first. */
START_TEST(a_put_goes_before_groups)
{
    const struct kl_store_id id = store_fixture_id(0, 0);
    struct kl_store_log *log =
        store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    const kl_base_stat *groups = &kl_store_stats(fx.store)->groups;
    int turns = 0;

    store_fixture_settle(&fx);
    for (int32_t epoch = 1; epoch < 20; epoch++) {
        uint64_t before = kl_base_stat_get(groups);

        store_fixture_fill(&fx, log, 1, 100, (uint64_t)epoch);
        put(epoch, -1, 1);
        while (turn() == 0) {
            ck_assert_uint_eq(kl_base_stat_get(groups), before);
            ck_assert_int_lt(++turns, 1000);
        }
        ck_assert_uint_eq(kl_base_stat_get(groups), before);
        store_fixture_settle(&fx);
        ck_assert_uint_eq(kl_base_stat_get(groups), before + 1);
    }
}
END_TEST

START_TEST(a_stop_waits_for_a_put)
{
    put(8, 1, 1);
    kl_store_stop(fx.store);
    ck_assert_int_eq(put_rc(9, 1, 1), KL_ECLOSED);
    for (int i = 0; i < 100 && !kl_store_is_stopped(fx.store); i++)
        turn();
    ck_assert(kl_store_is_stopped(fx.store));
    reopen();
    expect(KL_STORE_QUORUM_GOOD, 8, 1, 1);
}
END_TEST

/* ---- failures -------------------------------------------------------------
 */

/* Any call of the job fails: the store has failed, and the old state is what is
 * known. */
START_TEST(a_failure_fails_the_store)
{
    static const enum trace_vfs_kind kinds[] = {TRACE_VFS_WRITE,
                                                TRACE_VFS_SYNC};
    int nth = _i / 2 + 1;

    put_durable(1, -1, 1);
    trace_vfs_fail(&fx.trace, kinds[_i % 2], (uint64_t)nth, KL_EIO);
    put(2, -1, 2);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(turn(), 0);
    ck_assert_int_eq(kl_store_failure(fx.store, &fx.error), KL_EIO);
    ck_assert_ptr_nonnull(strstr(fx.error.text, copies[nth - 1]));
    expect(KL_STORE_QUORUM_NONE, 1, -1, 1);
    ck_assert_int_eq(put_rc(3, -1, 1), KL_EFAILED);
    trace_vfs_heal(&fx.trace);
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}
END_TEST

/* A full disk passes; a sync that says so does not. */
START_TEST(a_full_disk_is_waited_out)
{
    put_durable(1, -1, 1);
    trace_vfs_fail(&fx.trace, TRACE_VFS_WRITE, 2, KL_EDISKFULL);
    put(2, 1, 2);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(turn(), 0);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    ck_assert_int_lt(kl_store_deadline(fx.store), fx.now_ns + 2000000000);
    fx.now_ns += 2000000000;
    await();
    expect(KL_STORE_QUORUM_NONE, 2, 1, 2);
    trace_vfs_fail(&fx.trace, TRACE_VFS_SYNC, 1, KL_EDISKFULL);
    put(3, 1, 2);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(turn(), 0);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), KL_EIO);
}
END_TEST

/* ---- damage ---------------------------------------------------------------
 */

static void check_copies_are_equal(void)
{
    size_t sizes[2];
    uint8_t *data[2];
    struct kl_store_quorum_record r;

    for (int i = 0; i < 2; i++)
        data[i] = store_fixture_load(&fx, copies[i], &sizes[i]);
    ck_assert_uint_eq(sizes[0], 4096);
    ck_assert_uint_eq(sizes[1], 4096);
    ck_assert_mem_eq(data[0], data[1], 4096);
    ck_assert_int_eq(kl_store_quorum_decode(data[0], 4096, &r), 0);
    free(data[0]);
    free(data[1]);
}

static void check_repaired(void)
{
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    expect(KL_STORE_QUORUM_REPAIRED, 9, 2, 1);
    check_copies_are_equal();
    reopen();
    expect(KL_STORE_QUORUM_GOOD, 9, 2, 1);
    store_fixture_crash(&fx);
}

/* Every bit of what the state is made of, in either copy, and some behind. */
START_TEST(a_flipped_bit_is_repaired)
{
    uint8_t *good;
    size_t size;

    put_durable(9, 2, 1);
    good = store_fixture_load(&fx, copies[_i], &size);
    store_fixture_crash(&fx);
    for (size_t bit = 0; bit < 4096 * 8; bit += bit < 96 * 8 ? 1 : 4093) {
        uint8_t byte = good[bit / 8] ^ (uint8_t)(1 << bit % 8);

        store_fixture_patch(&fx, copies[_i], bit / 8, &byte, 1);
        check_repaired();
    }
    free(good);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}
END_TEST

static void harm_unlink(const char *path)
{
    store_fixture_unlink(&fx, path);
}

static void harm_empty(const char *path)
{
    store_fixture_save(&fx, path, "", 0);
}

static void harm_resize(const char *path)
{
    uint8_t data[4100] = {0};
    size_t size;
    uint8_t *old = store_fixture_load(&fx, path, &size);

    memcpy(data, old, 4096);
    store_fixture_save(&fx, path, data, sizeof data);
    free(old);
}

static void harm_zeros(const char *path)
{
    uint8_t zeros[4096] = {0};

    store_fixture_save(&fx, path, zeros, sizeof zeros);
}

/* A whole one that belongs to another folder. */
static void harm_foreign(const char *path)
{
    size_t size;
    uint8_t *data = store_fixture_load(&fx, path, &size);

    kl_base_put_le64(data + 24, 1000);
    data[33]++;
    seal(data);
    store_fixture_save(&fx, path, data, size);
    free(data);
}

static void (*const harms[])(const char *path) = {
    harm_unlink, harm_empty, harm_resize, harm_zeros, harm_foreign};
enum { HARMS = sizeof harms / sizeof *harms };

START_TEST(a_bad_copy_is_repaired)
{
    put_durable(9, 2, 1);
    store_fixture_crash(&fx);
    harms[_i / 2](copies[_i % 2]);
    check_repaired();
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    put_durable(10, 1, 2);
    check_copies_are_equal();
}
END_TEST

/* With both gone nobody knows whom it has voted for, until somebody accepts the
 * loss; the logs are no worse. */
START_TEST(both_bad_is_lost)
{
    const struct kl_store_id id = store_fixture_id(0, 0);
    struct kl_store_log *log =
        store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);

    store_fixture_fill(&fx, log, 3, 100, 1);
    put_durable(9, 2, 1);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    harms[_i / HARMS](copies[0]);
    harms[_i % HARMS](copies[1]);
    for (int round = 0; round < 2; round++) {
        log = store_fixture_reopen(&fx, &id);
        expect(KL_STORE_QUORUM_LOST, 0, -1, -1);
        ck_assert_int_eq(put_rc(10, -1, 1), KL_ECORRUPT);
        store_fixture_expect(&fx, log, 0, 3 + round, 100, 1);
        store_fixture_fill(&fx, log, 1, 100, 1);
        store_fixture_settle(&fx);
        store_fixture_crash(&fx);
    }
    fx.open_flags = KL_STORE_OPEN_ACCEPT_LOSS;
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
    check_copies_are_equal();
    put_durable(10, 1, 2);
    fx.open_flags = 0;
    reopen();
    expect(KL_STORE_QUORUM_GOOD, 10, 1, 2);
}
END_TEST

/* A later version's state is not damage. */
START_TEST(a_newer_version_is_left_alone)
{
    size_t size;
    uint8_t *data;
    uint64_t hash;

    put_durable(9, 2, 1);
    store_fixture_close(&fx);
    data = store_fixture_load(&fx, copies[_i], &size);
    kl_base_put_le16(data + 4, 3);
    seal(data);
    store_fixture_save(&fx, copies[_i], data, size);
    free(data);
    hash = store_fixture_hash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), KL_EFORMAT);
    store_fixture_crash(&fx);
    ck_assert_uint_eq(store_fixture_hash(&fx), hash);
}
END_TEST

/* ---- folders without ------------------------------------------------------
 */

/* What cannot be read now is not lost: the vote is there the next time. */
START_TEST(copies_that_cannot_be_read)
{
    put_durable(7, 1, 2);
    store_fixture_close(&fx);
    trace_vfs_fail_path(&fx.trace, TRACE_VFS_READ, "quorum.", KL_EIO);
    ck_assert_int_eq(store_fixture_open(&fx), KL_EIO);
    trace_vfs_heal(&fx.trace);
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    expect(KL_STORE_QUORUM_GOOD, 7, 1, 2);
}
END_TEST

static void downgrade(void)
{
    store_fixture_set_version(&fx, 1);
    store_fixture_unlink(&fx, copies[0]);
    store_fixture_unlink(&fx, copies[1]);
}

START_TEST(an_older_folder_is_upgraded)
{
    const struct kl_store_id id = {kl_store_metadata_topic, 0};
    struct kl_store_log *log =
        store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    uint64_t calls = 0;
    int rc = KL_EIO;

    store_fixture_fill(&fx, log, 3, 100, 1);
    store_fixture_close(&fx);
    /* Whatever fails on the way, the next opening does it again. */
    for (uint64_t cut = 0; rc; cut++) {
        downgrade();
        trace_vfs_cut(&fx.trace, cut);
        rc = store_fixture_open(&fx);
        trace_vfs_heal(&fx.trace);
        if (rc == 0)
            break;
        store_fixture_crash(&fx);
        log = store_fixture_reopen(&fx, &id);
        expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
        check_copies_are_equal();
        store_fixture_expect(&fx, log, 0, 3, 100, 1);
        store_fixture_crash(&fx);
        calls++;
    }
    ck_assert_uint_gt(calls, 20);
    expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
    put_durable(1, 1, 1);
    reopen();
    expect(KL_STORE_QUORUM_GOOD, 1, 1, 1);
}
END_TEST

/* Without room for the files the folder stays what it was, and opens. */
START_TEST(an_older_folder_without_room)
{
    store_fixture_close(&fx);
    downgrade();
    for (int round = 0; round < 2; round++) {
        trace_vfs_fail(&fx.trace, TRACE_VFS_TRUNCATE, 1, KL_EDISKFULL);
        ck_assert_int_eq(store_fixture_open(&fx), 0);
        trace_vfs_heal(&fx.trace);
        expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
        ck_assert_int_eq(put_rc(1, 1, 1), KL_EDISKFULL);
        ck_assert_int_eq(kl_store_identity(fx.store)->version, 1);
        store_fixture_crash(&fx);
    }
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    ck_assert_int_eq(kl_store_identity(fx.store)->version, KL_STORE_FORMAT);
    expect(KL_STORE_QUORUM_NONE, 0, -1, -1);
    put_durable(1, 1, 1);
}
END_TEST

/* A folder that could not be made newer keeps its state all the same. */
START_TEST(an_older_folder_with_a_state)
{
    put_durable(4, 1, 2);
    store_fixture_crash(&fx);
    store_fixture_set_version(&fx, 1);
    if (_i == 1)
        store_fixture_unlink(&fx, copies[0]);
    if (_i == 2)
        harm_zeros(copies[1]);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    expect(_i ? KL_STORE_QUORUM_REPAIRED : KL_STORE_QUORUM_GOOD, 4, 1, 2);
    check_copies_are_equal();
    store_fixture_crash(&fx);
    store_fixture_set_version(&fx, 1);
    harm_zeros(copies[0]);
    harm_zeros(copies[1]);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    expect(KL_STORE_QUORUM_LOST, 0, -1, -1);
}
END_TEST

Suite *suite_store_quorum(void);

Suite *suite_store_quorum(void)
{
    Suite *s = suite_create("store_quorum");
    TCase *t = tcase_create("quorum");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, layout);
    tcase_add_test(t, every_flipped_bit_is_seen);
    tcase_add_test(t, wrong_values_are_refused);
    tcase_add_test(t, nothing_at_first);
    tcase_add_test(t, put_is_there_after_a_crash);
    tcase_add_test(t, newest_put_wins);
    tcase_add_test(t, a_put_cannot_go_back);
    tcase_add_test(t, broker_epoch);
    tcase_add_test(t, incarnation);
    tcase_add_test(t, version_without_broker_epoch);
    tcase_add_test(t, a_put_goes_before_groups);
    tcase_add_test(t, a_stop_waits_for_a_put);
    tcase_add_loop_test(t, a_failure_fails_the_store, 0, 4);
    tcase_add_test(t, a_full_disk_is_waited_out);
    tcase_add_loop_test(t, a_flipped_bit_is_repaired, 0, 2);
    tcase_add_loop_test(t, a_bad_copy_is_repaired, 0, 2 * HARMS);
    tcase_add_loop_test(t, both_bad_is_lost, 0, HARMS * HARMS);
    tcase_add_loop_test(t, a_newer_version_is_left_alone, 0, 2);
    tcase_add_test(t, copies_that_cannot_be_read);
    tcase_add_test(t, an_older_folder_is_upgraded);
    tcase_add_test(t, an_older_folder_without_room);
    tcase_add_loop_test(t, an_older_folder_with_a_state, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
