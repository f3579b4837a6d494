/*
 * A full disk is a normal state: what was accepted fits, appends are refused,
 * all else goes on, and the store comes back by itself when there is space.
 */
#include "space_help.h"

#include "base/endian.h"
#include "base/hash.h"
#include "base/rng.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1500, SEGMENT = 16384 };

static struct space_help h;
static struct kl_store_id id_a, id_b;
static struct kl_store_log *a, *b;

static void setup_disk(uint64_t capacity)
{
    space_help_init(&h, capacity);
    id_a = store_fixture_id(0, 0);
    id_b = store_fixture_id(1, 0);
    a = b = NULL;
}

static void create(void)
{
    a = store_fixture_create(&h.f, &id_a, KL_STORE_FLUSH_COMMIT, SEGMENT);
    b = store_fixture_create(&h.f, &id_b, KL_STORE_FLUSH_INTERVAL, SEGMENT);
    store_fixture_settle(&h.f);
}

static void setup(void)
{
    setup_disk(3 * MIB);
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    create();
}

/* Appends until that is refused for want of space. */
static void fill_disk(void)
{
    int rc = 0;

    for (int i = 0; rc != KL_EDISKFULL; i++) {
        rc = space_help_append(&h, i % 2 ? b : a, SIZE);
        ck_assert_msg(rc == 0 || rc == KL_EAGAIN || rc == KL_EDISKFULL,
                      "append: %d", rc);
        if (rc == KL_EAGAIN || i % 7 == 0)
            store_fixture_turn(&h.f);
        ck_assert_int_lt(i, 100000);
    }
    ck_assert(kl_store_is_full(h.f.store));
}

static void reopen(void)
{
    a = store_fixture_reopen(&h.f, &id_a);
    b = kl_store_find(h.f.store, &id_b);
}

/* ---- filling and freeing --------------------------------------------------
 */

START_TEST(full_disk_refuses_appends_and_nothing_else)
{
    int64_t end;

    setup();
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    fill_disk();
    space_help_wait(&h);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB / 16);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->full), 1);
    ck_assert_uint_gt(kl_base_stat_get(&space_help_stats(&h)->refusals), 0);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->pending_bytes),
                      0);
    /* What was accepted is there; no more is. */
    space_help_expect(&h, a, SIZE);
    space_help_expect(&h, b, SIZE);
    end = store_fixture_view(a).leo;
    ck_assert_int_gt(end, 100);
    ck_assert_int_eq(space_help_append(&h, a, 1), KL_EDISKFULL);
    ck_assert_int_eq(store_fixture_view(a).leo, end);
    /* All else goes on. */
    ck_assert_int_eq(kl_store_start_epoch(a, 3), 0);
    ck_assert_int_eq(kl_store_truncate(a, end - 3), 0);
    ck_assert_int_eq(kl_store_set_start(b, 5), 0);
    kl_store_checkpoint_request(h.f.store);
    space_help_wait(&h);
    ck_assert_int_eq(store_fixture_view(a).durable_leo, end - 3);
    ck_assert_int_eq(store_fixture_view(b).durable_start, 5);
    space_help_expect(&h, a, SIZE);
    space_help_deinit(&h);
}
END_TEST

/* A start, a topic, or somebody else makes room. */
START_TEST(full_store_comes_back)
{
    struct kl_store_view view;
    int64_t kept;

    setup();
    fill_disk();
    space_help_wait(&h);
    ck_assert(kl_store_is_full(h.f.store));
    kept = store_fixture_view(b).leo;
    view = store_fixture_view(a);
    if (_i == 0)
        ck_assert_int_eq(kl_store_set_start(a, view.leo), 0);
    else if (_i == 1)
        ck_assert_int_eq(kl_store_delete(a), 0);
    else
        h.disk->capacity += 2 * MIB;
    space_help_wait(&h);
    ck_assert(!kl_store_is_full(h.f.store));
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->full), 0);
    if (_i == 1)
        a = store_fixture_create(&h.f, &id_a, KL_STORE_FLUSH_COMMIT, SEGMENT);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(space_help_append(&h, a, SIZE), 0);
        ck_assert_int_eq(space_help_append(&h, b, SIZE), 0);
        store_fixture_turn(&h.f);
    }
    space_help_wait(&h);
    space_help_expect(&h, a, SIZE);
    space_help_expect(&h, b, SIZE);
    ck_assert_int_eq(store_fixture_view(b).leo, kept + 20);
    /* And again. */
    fill_disk();
    space_help_wait(&h);
    store_fixture_crash(&h.f);
    reopen();
    space_help_expect(&h, a, SIZE);
    space_help_expect(&h, b, SIZE);
    space_help_deinit(&h);
}
END_TEST

START_TEST(room_is_told)
{
    struct kl_store_event event;
    int told = 0;

    setup();
    fill_disk();
    space_help_wait(&h);
    h.disk->capacity += 2 * MIB;
    for (int i = 0; i < 60; i++) {
        h.f.now_ns += 50000000;
        kl_store_turn(h.f.store, h.f.now_ns, h.f.wall_ms);
        while (kl_store_next_event(h.f.store, &event))
            if (event.type == KL_STORE_EVENT_ROOM) {
                told++;
                ck_assert(!kl_store_is_full(h.f.store));
            }
    }
    ck_assert_int_eq(told, 1);
    space_help_deinit(&h);
}
END_TEST

/* The deadline leads to every look, and there are not many of them. */
START_TEST(waiting_for_space_costs_little)
{
    uint64_t calls;

    setup();
    fill_disk();
    space_help_wait(&h);
    calls = trace_vfs_count(&h.f.trace, TRACE_VFS_ANY);
    for (int i = 0; i < 10; i++) {
        int64_t at = kl_store_deadline(h.f.store);

        ck_assert_int_lt(at, INT64_MAX);
        ck_assert_int_gt(at, h.f.now_ns);
        h.f.now_ns = at;
        store_fixture_turn(&h.f);
        store_fixture_turn(&h.f);
    }
    ck_assert_uint_lt(trace_vfs_count(&h.f.trace, TRACE_VFS_ANY), calls + 50);
    h.disk->capacity += 2 * MIB;
    for (int i = 0; i < 10; i++) {
        if (kl_store_deadline(h.f.store) < INT64_MAX)
            h.f.now_ns = kl_store_deadline(h.f.store);
        store_fixture_turn(&h.f);
        store_fixture_turn(&h.f);
    }
    ck_assert(!kl_store_is_full(h.f.store));
    space_help_deinit(&h);
}
END_TEST

START_TEST(metadata_is_never_refused)
{
    struct kl_store_id id = {kl_store_metadata_topic, 0};
    struct kl_store_log *meta;

    setup();
    meta = store_fixture_create(&h.f, &id, KL_STORE_FLUSH_COMMIT, MIB);
    fill_disk();
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(space_help_append(&h, meta, SIZE), 0);
        store_fixture_turn(&h.f);
    }
    space_help_wait(&h);
    space_help_expect(&h, meta, SIZE);
    space_help_deinit(&h);
}
END_TEST

/* ---- what was accepted fits -----------------------------------------------
 */

/* Whatever is on its way when the disk is full to the last byte, the reserve
 * takes it. */
static void accept(uint64_t seed)
{
    struct kl_store_log *logs[6];
    int64_t ends[6];
    struct kl_base_rng rng;
    int rc = 0;

    setup_disk(0);
    kl_base_rng_seed(&rng, seed);
    h.f.config.pending_bytes_max = 8 * MIB;
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    for (int i = 0; i < 6; i++) {
        struct kl_store_id id = store_fixture_id(i, i);

        logs[i] = store_fixture_create(
            &h.f, &id, i % 2 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
            8192 + kl_base_rng_below(&rng, 40000));
    }
    for (int i = (int)kl_base_rng_below(&rng, 200); i > 0; i--) {
        space_help_append(&h, logs[kl_base_rng_below(&rng, 6)], 700);
        store_fixture_turn(&h.f);
    }
    if (kl_base_rng_below(&rng, 2))
        kl_store_truncate(logs[0], store_fixture_view(logs[0]).leo / 2);
    while (rc == 0)
        rc = space_help_append(&h, logs[kl_base_rng_below(&rng, 6)],
                               (uint32_t)kl_base_rng_below(&rng, 4000));
    ck_assert_int_eq(rc, KL_EAGAIN);
    space_help_leave(&h, 0);
    for (int i = 0; i < 6; i++)
        ends[i] = store_fixture_view(logs[i]).leo;
    space_help_wait(&h);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->pending_bytes),
                      0);
    ck_assert_uint_eq(h.f.store->space.charged, 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(store_fixture_view(logs[i]).durable_leo, ends[i]);
    ck_assert(kl_store_is_full(h.f.store));
    kl_store_checkpoint_request(h.f.store);
    space_help_wait(&h);
    ck_assert_uint_eq(h.f.store->space.manifests, 0);
    ck_assert_uint_ge(space_help_room(&h),
                      MIB / 16); /* that much was for others */
    store_fixture_close(&h.f);
    space_help_deinit(&h);
}

START_TEST(what_was_accepted_fits)
{
    for (uint64_t seed = 0; seed < 25; seed++)
        accept((uint64_t)_i * 100 + seed);
}
END_TEST

START_TEST(charges_come_back)
{
    setup();
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(space_help_append(&h, i % 2 ? a : b, SIZE), 0);
        if (i % 10 == 0)
            ck_assert_int_eq(
                kl_store_truncate(a, store_fixture_view(a).leo / 2), 0);
        if (i % 5 == 0)
            store_fixture_turn(&h.f);
    }
    ck_assert_uint_gt(h.f.store->space.charged, 0);
    ck_assert_int_eq(kl_store_delete(b), 0);
    kl_store_checkpoint_request(h.f.store);
    space_help_wait(&h);
    ck_assert_uint_eq(h.f.store->space.charged, 0);
    ck_assert_uint_eq(h.f.store->space.manifests, 0);
    space_help_deinit(&h);
}
END_TEST

/* First appends to many logs, each a segment and a manifest that a checkpoint
 * has to write: whoever was refused is told of room, whatever it waits for. */
START_TEST(manifests_make_nobody_wait_for_ever)
{
    int refusals = 0;

    setup_disk(0);
    h.f.config.ring_bytes = 4 * MIB; /* nothing else asks for a checkpoint */
    h.f.config.pending_bytes_max = 16 * MIB;
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    for (int i = 0; i < 1000; i++) {
        struct kl_store_id id = store_fixture_id(2, i);
        struct kl_store_log *log =
            store_fixture_create(&h.f, &id, KL_STORE_FLUSH_COMMIT, SEGMENT);

        while (space_help_append(&h, log, 100 + (uint32_t)_i * 500) != 0) {
            ck_assert(h.f.store->refused);
            refusals++;
            for (int turns = 0; h.f.store->refused; turns++) {
                ck_assert_int_lt(turns, 1000);
                store_fixture_turn(&h.f);
            }
        }
    }
    ck_assert_int_gt(refusals, 5);
    space_help_deinit(&h);
}
END_TEST

/* Somebody else takes what the reserve has given up, to the last byte. */
START_TEST(stolen_space_is_waited_for)
{
    setup();
    for (int i = 0; i < 40; i++) {
        space_help_append(&h, a, SIZE);
        store_fixture_turn(&h.f);
    }
    for (int i = 0; i < 40; i++)
        space_help_append(&h, a, SIZE);
    trace_vfs_fail_path(&h.f.trace, TRACE_VFS_WRITE, ".seg", KL_EDISKFULL);
    for (int i = 0; i < 20; i++)
        store_fixture_turn(&h.f);
    ck_assert_uint_lt(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    space_help_leave(&h, 0);
    trace_vfs_heal(&h.f.trace);
    space_help_wait(&h);
    ck_assert_uint_gt(kl_base_stat_get(&space_help_stats(&h)->pending_bytes),
                      0);
    store_fixture_expect(&h.f, a, 0, store_fixture_view(a).durable_leo, SIZE,
                         1);
    ck_assert_int_eq(space_help_append(&h, a, SIZE), KL_EDISKFULL);
    ck_assert_uint_eq(space_help_room(&h), 0);
    if (_i == 0) {
        ck_assert_int_eq(kl_store_delete(b), 0); /* it has nothing to give */
        ck_assert_int_eq(kl_store_delete(a), 0);
    } else {
        h.disk->capacity += 2 * MIB;
    }
    space_help_wait(&h);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->pending_bytes),
                      0);
    if (_i == 1)
        space_help_expect(&h, a, SIZE);
    h.disk->capacity += 2 * MIB;
    space_help_wait(&h);
    ck_assert(!kl_store_is_full(h.f.store));
    space_help_deinit(&h);
}
END_TEST

/* ---- open ------------------------------------------------------------------
 */

START_TEST(full_store_opens_full)
{
    setup();
    fill_disk();
    if (_i == 0)
        space_help_wait(&h);
    if (_i < 2) {
        store_fixture_crash(&h.f);
    } else {
        store_fixture_close(&h.f);
    }
    space_help_leave(&h, _i == 1 ? 100000 : 0);
    reopen();
    ck_assert(kl_store_is_full(h.f.store));
    ck_assert_int_eq(space_help_append(&h, a, 1), KL_EDISKFULL);
    space_help_expect(&h, a, SIZE);
    space_help_expect(&h, b, SIZE);
    h.disk->capacity += 2 * MIB;
    space_help_wait(&h);
    ck_assert(!kl_store_is_full(h.f.store));
    ck_assert_int_eq(space_help_append(&h, a, SIZE), 0);
    space_help_deinit(&h);
}
END_TEST

/* The WAL has what the segments have not, and there is no space for it. */
START_TEST(replay_without_space_loses_nothing)
{
    int64_t end;
    int rc;

    setup();
    trace_vfs_fail_path(&h.f.trace, TRACE_VFS_WRITE, ".seg", KL_ENOFILES);
    for (int i = 0; i < 15; i++)
        space_help_append(&h, a, SIZE);
    store_fixture_settle(&h.f);
    end = store_fixture_view(a).durable_leo;
    ck_assert_int_eq(end, 15);
    store_fixture_crash(&h.f);
    trace_vfs_heal(&h.f.trace);
    if (_i == 1) {
        store_fixture_save(&h.f, "data/reserve", "", 0);
        space_help_leave(&h, 1000);
        rc = store_fixture_open(&h.f);
        ck_assert_int_eq(rc, KL_EDISKFULL);
        ck_assert_int_eq(h.f.error.code, KL_EDISKFULL);
        ck_assert_ptr_nonnull(strstr(h.f.error.text, "no space left"));
        store_fixture_crash(&h.f);
        h.disk->capacity += 200000;
    } else {
        space_help_leave(&h, 0); /* the reserve has it */
    }
    reopen();
    ck_assert(kl_store_is_full(h.f.store));
    ck_assert_int_eq(store_fixture_view(a).leo, end);
    space_help_expect(&h, a, SIZE);
    space_help_deinit(&h);
}
END_TEST

START_TEST(format_needs_space_for_the_reserve)
{
    setup_disk(MIB);
    ck_assert_int_eq(store_fixture_open(&h.f), KL_EDISKFULL);
    ck_assert_ptr_nonnull(strstr(h.f.error.text, "reserve"));
    store_fixture_crash(&h.f);
    h.disk->capacity = 2 * MIB;
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    create();
    ck_assert_int_eq(space_help_append(&h, a, SIZE), 0);
    space_help_deinit(&h);
}
END_TEST

START_TEST(ring_is_smaller_on_a_small_disk)
{
    setup_disk(8 * MIB);
    h.f.config.ring_bytes = 0;
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->ring_bytes), MIB);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    space_help_deinit(&h);
}
END_TEST

START_TEST(lost_reserve_is_made_again)
{
    setup();
    store_fixture_crash(&h.f);
    if (_i == 0)
        store_fixture_unlink(&h.f, "data/reserve");
    else
        store_fixture_save(&h.f, "data/reserve", "x", 1);
    reopen();
    ck_assert(!kl_store_is_full(h.f.store));
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    ck_assert_int_eq(space_help_append(&h, a, SIZE), 0);
    space_help_deinit(&h);
}
END_TEST

/* Checkpoints write over what the slots have already. */
START_TEST(slots_grow_before_they_must)
{
    setup();
    for (int i = 0; i < 400; i++) {
        struct kl_store_id id = store_fixture_id(5, i);

        store_fixture_create(&h.f, &id, KL_STORE_FLUSH_COMMIT, SEGMENT);
        if (i % 50 == 0) {
            kl_store_checkpoint_request(h.f.store);
            store_fixture_settle(&h.f);
        }
    }
    store_fixture_settle(&h.f);
    space_help_leave(&h, 0);
    for (int i = 0; i < 4; i++) {
        uint64_t before = kl_base_stat_get(&space_help_stats(&h)->checkpoints);

        kl_store_checkpoint_request(h.f.store);
        store_fixture_settle(&h.f);
        ck_assert_uint_gt(kl_base_stat_get(&space_help_stats(&h)->checkpoints),
                          before);
    }
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->retries), 0);
    space_help_deinit(&h);
}
END_TEST

/* ---- folders of version 1, which had no reserve ---------------------------
 */

static uint16_t version(void)
{
    struct kl_store_identity id;
    size_t size;
    uint8_t *data = store_fixture_load(&h.f, "data/identity", &size);

    ck_assert_int_eq(kl_store_identity_decode(data, size, &id), 0);
    free(data);
    return id.version;
}

/* A store with 20 records, closed. */
static void setup_old(void)
{
    setup_disk(3 * MIB);
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    ck_assert_int_eq(version(), KL_STORE_FORMAT);
    create();
    for (int i = 0; i < 20; i++)
        space_help_append(&h, i % 2 ? b : a, SIZE);
    store_fixture_close(&h.f);
    store_fixture_set_version(&h.f, 1);
    store_fixture_unlink(&h.f, "data/reserve");
    sim_disk_settle(h.disk);
}

START_TEST(old_folder_is_upgraded)
{
    setup_old();
    reopen();
    ck_assert_int_eq(version(), KL_STORE_FORMAT);
    ck_assert_int_eq(kl_store_identity(h.f.store)->version, KL_STORE_FORMAT);
    ck_assert(!kl_store_is_full(h.f.store));
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    space_help_expect(&h, a, SIZE);
    space_help_expect(&h, b, SIZE);
    space_help_deinit(&h);
}
END_TEST

/* It stays what it is until there is space, and can be read. */
START_TEST(old_folder_without_space_is_upgraded_later)
{
    setup_old();
    space_help_leave(&h, 50000);
    reopen();
    ck_assert_int_eq(version(), 1);
    ck_assert(kl_store_is_full(h.f.store));
    space_help_expect(&h, a, SIZE);
    h.disk->capacity += 2 * MIB;
    space_help_wait(&h);
    ck_assert(!kl_store_is_full(h.f.store));
    ck_assert_int_eq(space_help_append(&h, a, SIZE), 0);
    store_fixture_close(&h.f);
    reopen();
    ck_assert_int_eq(version(), KL_STORE_FORMAT);
    space_help_expect(&h, a, SIZE);
    space_help_deinit(&h);
}
END_TEST

START_TEST(newer_folder_is_refused)
{
    setup_old();
    store_fixture_set_version(&h.f, KL_STORE_FORMAT);
    {
        size_t size;
        uint8_t *data = store_fixture_load(&h.f, "data/identity", &size);

        data[4]++;
        kl_base_put_le64(data + 16,
                         kl_base_hash(data + KL_STORE_ENVELOPE,
                                      size - KL_STORE_ENVELOPE,
                                      kl_base_get_le64(data) ^ size));
        store_fixture_save(&h.f, "data/identity", data, size);
        free(data);
    }
    ck_assert_int_eq(store_fixture_open(&h.f), KL_EFORMAT);
    ck_assert(!store_fixture_exists(&h.f, "data/reserve"));
    space_help_deinit(&h);
}
END_TEST

/* The power fails anywhere in the upgrade, with all that this may leave. */
START_TEST(upgrade_survives_every_cut)
{
    int upgraded = 0, was_cut = 1;

    for (uint64_t calls = 0; was_cut; calls++) {
        for (int fate = SIM_FATE_LOST; fate < SIM_FATES; fate++) {
            struct sim_choice choice = {.profile = SIM_ADVERSARY,
                                        .fate = (enum sim_fate)fate,
                                        .number = calls};
            struct sim_disk *after;

            setup_old();
            trace_vfs_cut(&h.f.trace, calls);
            was_cut = store_fixture_open(&h.f) != 0;
            after = sim_disk_crash(h.disk, choice);
            store_fixture_crash(&h.f);
            trace_vfs_heal(&h.f.trace);
            sim_disk_free(h.disk);
            h.disk = after;
            h.f.memory = h.f.trace.inner = &h.disk->base;
            upgraded += version() == KL_STORE_FORMAT;
            reopen();
            ck_assert_int_eq(version(), KL_STORE_FORMAT);
            ck_assert(!kl_store_is_full(h.f.store));
            space_help_expect(&h, a, SIZE);
            space_help_expect(&h, b, SIZE);
            space_help_deinit(&h);
        }
    }
    ck_assert_int_gt(upgraded, 1);
}
END_TEST

Suite *suite_store_space(void);

Suite *suite_store_space(void)
{
    Suite *suite = suite_create("store_space");
    TCase *t = tcase_create("space");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, full_disk_refuses_appends_and_nothing_else);
    tcase_add_loop_test(t, full_store_comes_back, 0, 3);
    tcase_add_test(t, room_is_told);
    tcase_add_test(t, waiting_for_space_costs_little);
    tcase_add_test(t, metadata_is_never_refused);
    tcase_add_loop_test(t, what_was_accepted_fits, 0, 4);
    tcase_add_test(t, charges_come_back);
    tcase_add_loop_test(t, manifests_make_nobody_wait_for_ever, 0, 4);
    tcase_add_loop_test(t, stolen_space_is_waited_for, 0, 2);
    tcase_add_loop_test(t, full_store_opens_full, 0, 3);
    tcase_add_loop_test(t, replay_without_space_loses_nothing, 0, 2);
    tcase_add_test(t, format_needs_space_for_the_reserve);
    tcase_add_test(t, ring_is_smaller_on_a_small_disk);
    tcase_add_loop_test(t, lost_reserve_is_made_again, 0, 2);
    tcase_add_test(t, slots_grow_before_they_must);
    tcase_add_test(t, old_folder_is_upgraded);
    tcase_add_test(t, old_folder_without_space_is_upgraded_later);
    tcase_add_test(t, newer_folder_is_refused);
    tcase_add_test(t, upgrade_survives_every_cut);
    suite_add_tcase(suite, t);
    return suite;
}
