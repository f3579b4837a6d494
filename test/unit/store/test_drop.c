/*
 * A limit for the disk, and topics that make room by themselves.
 */
#include "space_help.h"

#include <check.h>

enum { SIZE = 1500, SEGMENT = 16384, KIB = 1024 };

static struct space_help h;
static struct kl_store_id ids[3];
static struct kl_store_log *logs[3];

static uint64_t disk_bytes(void)
{
    return kl_base_stat_get(&space_help_stats(&h)->disk_bytes);
}

static void setup(uint64_t capacity)
{
    space_help_init(&h, capacity);
    for (int i = 0; i < 3; i++)
        ids[i] = store_fixture_id(i, 0);
    ck_assert_int_eq(store_fixture_open(&h.f), 0);
    for (int i = 0; i < 3; i++)
        logs[i] = store_fixture_create(
            &h.f, &ids[i],
            i == 1 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT, SEGMENT);
    store_fixture_settle(&h.f);
}

static void reopen(void)
{
    ck_assert_msg(store_fixture_open(&h.f) == 0, "open: %s", h.f.error.text);
    for (int i = 0; i < 3; i++)
        logs[i] = kl_store_find(h.f.store, &ids[i]);
}

static void set_drop(struct kl_store_log *log)
{
    struct kl_store_log_config config = log->config;

    config.drop_oldest = 1;
    kl_store_log_configure(log, &config);
}

static void limit(uint64_t more)
{
    h.f.store->config.bytes_max = disk_bytes() + more;
}

/* Appends and turns until the store is full. */
static int fill(struct kl_store_log *log)
{
    int rc, count = 0;

    for (;;) {
        rc = space_help_append(&h, log, SIZE);
        if (rc == KL_EAGAIN && !kl_store_is_full(h.f.store)) {
            store_fixture_turn(&h.f);
            continue;
        }
        if (rc)
            break;
        if (++count % 8 == 0)
            store_fixture_turn(&h.f);
        ck_assert_int_lt(count, 100000);
    }
    ck_assert(kl_store_is_full(h.f.store));
    return rc;
}

/* Appends count records as a program does that waits for room, or tries again
 * where it is refused. */
static void append_all(struct kl_store_log *log, int count)
{
    for (int turns = 0; count > 0; turns++) {
        int rc = space_help_append(&h, log, SIZE);

        ck_assert_msg(rc == 0 || rc == KL_EAGAIN ||
                          (rc == KL_EDISKFULL && !log->config.drop_oldest),
                      "append: %d", rc);
        count -= rc == 0;
        if (rc)
            h.f.now_ns += 20000000;
        if (rc || count % 8 == 0)
            store_fixture_turn(&h.f);
        ck_assert_int_lt(turns, 100000);
    }
}

/* ---- what counts ----------------------------------------------------------
 */

START_TEST(disk_bytes_are_those_of_the_files)
{
    setup(0);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(space_help_append(&h, logs[i % 3], SIZE), 0);
        if (i % 8 == 0)
            store_fixture_turn(&h.f);
    }
    /* Accepted is counted, written or not. */
    store_fixture_turn(&h.f);
    ck_assert_uint_gt(disk_bytes(), space_help_disk(&h));
    space_help_wait(&h);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    ck_assert_int_eq(kl_store_truncate(logs[0], 20), 0);
    ck_assert_int_eq(kl_store_truncate(logs[1], 15), 0);
    space_help_wait(&h);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    ck_assert_int_eq(kl_store_set_start(logs[2], 25), 0);
    space_help_wait(&h);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    /* Nothing is loaded then. */
    if (_i)
        store_fixture_close(&h.f);
    else
        store_fixture_crash(&h.f);
    reopen();
    store_fixture_turn(&h.f);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    space_help_expect(&h, logs[0], SIZE);
    space_help_expect(&h, logs[1], SIZE);
    store_fixture_turn(&h.f);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    ck_assert_int_eq(kl_store_delete(logs[0]), 0);
    ck_assert_int_eq(kl_store_delete(logs[1]), 0);
    ck_assert_int_eq(kl_store_delete(logs[2]), 0);
    space_help_wait(&h);
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    ck_assert_uint_eq(h.f.store->space.used, 0);
    space_help_deinit(&h);
}
END_TEST

/* ---- the limit ------------------------------------------------------------
 */

START_TEST(limit_refuses_as_a_full_disk_does)
{
    struct kl_store_event event;
    uint64_t refusals;
    int told = 0;

    setup(0);
    limit(200 * KIB);
    ck_assert_int_eq(fill(logs[_i]), KL_EDISKFULL);
    refusals = kl_base_stat_get(&space_help_stats(&h)->refusals);
    ck_assert_uint_gt(refusals, 0);
    space_help_wait(&h);
    ck_assert_uint_le(disk_bytes(), h.f.store->config.bytes_max);
    ck_assert_uint_gt(disk_bytes(), h.f.store->config.bytes_max - 2 * SIZE);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->full), 1);
    ck_assert_uint_eq(kl_base_stat_get(&space_help_stats(&h)->reserve_bytes),
                      MIB);
    space_help_expect(&h, logs[_i], SIZE);
    ck_assert_int_eq(space_help_append(&h, logs[2], 1), KL_EDISKFULL);
    /* Records go, and there is room. */
    ck_assert_int_eq(kl_store_set_start(logs[_i], 40), 0);
    for (int i = 0; i < 40; i++) {
        h.f.now_ns += 50000000;
        kl_store_turn(h.f.store, h.f.now_ns, h.f.wall_ms);
        while (kl_store_next_event(h.f.store, &event))
            told += event.type == KL_STORE_EVENT_ROOM;
    }
    ck_assert_int_eq(told, 1);
    ck_assert(!kl_store_is_full(h.f.store));
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(space_help_append(&h, logs[2], SIZE), 0);
    space_help_wait(&h);
    space_help_expect(&h, logs[2], SIZE);
    space_help_deinit(&h);
}
END_TEST

START_TEST(limit_below_what_is_there)
{
    setup(0);
    append_all(logs[0], 50);
    store_fixture_close(&h.f);
    h.f.config.bytes_max = 100 * KIB;
    reopen();
    ck_assert_int_eq(space_help_append(&h, logs[0], 1), KL_EDISKFULL);
    space_help_wait(&h);
    space_help_expect(&h, logs[0], SIZE);
    ck_assert_int_eq(space_help_append(&h, logs[0], 1), KL_EDISKFULL);
    store_fixture_close(&h.f);
    h.f.config.bytes_max = 0;
    reopen();
    ck_assert_int_eq(space_help_append(&h, logs[0], SIZE), 0);
    space_help_deinit(&h);
}
END_TEST

/* ---- dropping --------------------------------------------------------------
 */

/* A disk or a limit that a topic goes round in, and that another shares. */
START_TEST(topic_drops_its_oldest)
{
    struct kl_store_view view;

    setup(_i < 2 ? 2 * MIB : 0);
    if (_i >= 2)
        limit(300 * KIB);
    set_drop(logs[_i % 2]);
    append_all(logs[2], 30);
    append_all(logs[_i % 2], 2500);
    space_help_wait(&h);
    view = store_fixture_view(logs[_i % 2]);
    ck_assert_int_gt(view.start, 1000);
    ck_assert_int_eq(view.leo, 2500);
    space_help_expect(&h, logs[_i % 2], SIZE);
    /* It makes room for those that refuse, and they keep theirs. */
    ck_assert_int_eq(store_fixture_view(logs[2]).start, 0);
    append_all(logs[2], 20);
    space_help_wait(&h);
    space_help_expect(&h, logs[2], SIZE);
    store_fixture_crash(&h.f);
    reopen();
    space_help_expect(&h, logs[_i % 2], SIZE);
    space_help_expect(&h, logs[2], SIZE);
    space_help_deinit(&h);
}
END_TEST

START_TEST(moved_starts_are_told)
{
    struct kl_store_event event;
    int64_t told = 0;

    setup(0);
    limit(200 * KIB);
    set_drop(logs[0]);
    ck_assert_int_eq(fill(logs[0]), KL_EAGAIN);
    for (int i = 0; i < 60; i++) {
        h.f.now_ns += 50000000;
        kl_store_turn(h.f.store, h.f.now_ns, h.f.wall_ms);
        while (kl_store_next_event(h.f.store, &event))
            if (event.type == KL_STORE_EVENT_STARTED) {
                ck_assert_ptr_eq(event.log, logs[0]);
                told = store_fixture_view(logs[0]).start;
            }
    }
    ck_assert_int_gt(told, 0);
    ck_assert_int_eq(told, store_fixture_view(logs[0]).durable_start);
    /* No more than needed. */
    ck_assert_int_lt(told, 30);
    space_help_deinit(&h);
}
END_TEST

/* Whoever has the oldest gives first, also the segment that is open. */
START_TEST(oldest_of_all_topics_goes_first)
{
    setup(0);
    set_drop(logs[0]);
    set_drop(logs[1]);
    append_all(logs[1], 5); /* one segment, the open one */
    space_help_wait(&h);
    h.f.wall_ms += 1000;
    append_all(logs[0], 50);
    space_help_wait(&h);
    h.f.wall_ms += 1000;
    limit(10 * KIB);
    ck_assert_int_eq(fill(logs[2]), KL_EDISKFULL);
    space_help_wait(&h);
    ck_assert_int_eq(store_fixture_view(logs[1]).start, 5);
    ck_assert_int_eq(store_fixture_view(logs[0]).start, 0);
    ck_assert(!kl_store_is_full(h.f.store));
    ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
    append_all(logs[2], 1);
    ck_assert_int_eq(fill(logs[2]), KL_EDISKFULL);
    space_help_wait(&h);
    ck_assert_int_gt(store_fixture_view(logs[0]).start, 0);
    /* The one that is empty now takes records again, behind the old ones. */
    append_all(logs[1], 10);
    space_help_wait(&h);
    ck_assert_int_eq(store_fixture_view(logs[1]).leo, 15);
    space_help_expect(&h, logs[1], SIZE);
    space_help_deinit(&h);
}
END_TEST

/* Where nothing is left, they are refused like all others. */
START_TEST(nothing_left_to_drop)
{
    struct kl_store_event event;
    int rooms = 0;

    setup(2 * MIB);
    set_drop(logs[0]);
    append_all(logs[0], 5);
    space_help_wait(&h);
    space_help_leave(&h, 0);
    ck_assert_int_eq(fill(logs[0]), KL_EAGAIN);
    for (int i = 0; i < 200; i++) {
        h.f.now_ns += 50000000;
        kl_store_turn(h.f.store, h.f.now_ns, h.f.wall_ms);
        while (kl_store_next_event(h.f.store, &event))
            rooms += event.type == KL_STORE_EVENT_ROOM;
    }
    ck_assert_int_ge(rooms, 1);
    ck_assert_int_le(rooms, 3); /* it does not spin */
    ck_assert_int_eq(space_help_append(&h, logs[0], SIZE), KL_EDISKFULL);
    ck_assert_int_eq(store_fixture_view(logs[0]).start,
                     store_fixture_view(logs[0]).leo);
    h.disk->capacity += 4 * MIB;
    space_help_wait(&h);
    append_all(logs[0], 10);
    space_help_wait(&h);
    space_help_expect(&h, logs[0], SIZE);
    space_help_deinit(&h);
}
END_TEST

START_TEST(topic_may_be_asked_later)
{
    setup(0);
    limit(100 * KIB);
    ck_assert_int_eq(fill(logs[0]), KL_EDISKFULL);
    space_help_wait(&h);
    ck_assert_int_eq(store_fixture_view(logs[0]).start, 0);
    set_drop(logs[0]);
    space_help_wait(&h);
    ck_assert_int_gt(store_fixture_view(logs[0]).start, 0);
    append_all(logs[0], 100);
    space_help_wait(&h);
    space_help_expect(&h, logs[0], SIZE);
    space_help_deinit(&h);
}
END_TEST

/* Topics whose files nobody has opened since the store was. */
START_TEST(cold_topics_are_asked)
{
    setup(0);
    append_all(logs[0], 60);
    append_all(logs[1], 60);
    store_fixture_close(&h.f);
    reopen();
    set_drop(logs[0]);
    set_drop(logs[1]);
    store_fixture_turn(&h.f);
    limit(10 * KIB);
    ck_assert_int_eq(fill(logs[2]), KL_EDISKFULL);
    space_help_wait(&h);
    ck_assert_int_gt(store_fixture_view(logs[0]).start +
                         store_fixture_view(logs[1]).start,
                     0);
    append_all(logs[2], 5);
    space_help_deinit(&h);
}
END_TEST

/* The power fails anywhere while a topic goes round, and once more after. */
START_TEST(dropping_survives_cuts)
{
    struct kl_base_rng rng;
    int64_t durable;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (int round = 0; round < 60; round++) {
        struct sim_choice choice = {.profile = SIM_ADVERSARY,
                                    .fate = SIM_FATE_RANDOM,
                                    .number = kl_base_rng_next(&rng)};
        struct sim_disk *after;
        int is_small = (int)kl_base_rng_below(&rng, 2);

        setup(0);
        limit(is_small ? 12 * KIB : 60 * KIB);
        set_drop(logs[0]);
        append_all(logs[0], 20 + (int)kl_base_rng_below(&rng, 60));
        for (int i = (int)kl_base_rng_below(&rng, 40); i > 0; i--) {
            h.f.now_ns += 20000000;
            store_fixture_turn(&h.f);
        }
        durable = store_fixture_view(logs[0]).durable_leo;
        after = sim_disk_crash(h.disk, choice);
        store_fixture_crash(&h.f);
        sim_disk_free(h.disk);
        h.disk = after;
        h.f.memory = h.f.trace.inner = &after->base;
        reopen();
        ck_assert_int_ge(store_fixture_view(logs[0]).leo, durable);
        space_help_expect(&h, logs[0], SIZE);
        store_fixture_turn(&h.f);
        ck_assert_uint_eq(disk_bytes(), space_help_disk(&h));
        append_all(logs[0], 3);
        space_help_wait(&h);
        space_help_expect(&h, logs[0], SIZE);
        store_fixture_crash(&h.f);
        reopen();
        space_help_expect(&h, logs[0], SIZE);
        space_help_deinit(&h);
    }
}
END_TEST

Suite *suite_store_drop(void);

Suite *suite_store_drop(void)
{
    Suite *suite = suite_create("store_drop");
    TCase *t = tcase_create("drop");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, disk_bytes_are_those_of_the_files, 0, 2);
    tcase_add_loop_test(t, limit_refuses_as_a_full_disk_does, 0, 2);
    tcase_add_test(t, limit_below_what_is_there);
    tcase_add_loop_test(t, topic_drops_its_oldest, 0, 4);
    tcase_add_test(t, moved_starts_are_told);
    tcase_add_test(t, oldest_of_all_topics_goes_first);
    tcase_add_test(t, nothing_left_to_drop);
    tcase_add_test(t, topic_may_be_asked_later);
    tcase_add_test(t, cold_topics_are_asked);
    tcase_add_loop_test(t, dropping_survives_cuts, 0, 3);
    suite_add_tcase(suite, t);
    return suite;
}
