/*
 * Recovery: what was changed before a crash is so after it, once and again,
 * and the WAL never brings back what was cut.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = 1 << 20; /* checkpoints only where asked for */
    fx.config.cache_bytes_max = 0;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static void checkpoint(void)
{
    kl_store_checkpoint_request(fx.store);
    store_fixture_settle(&fx);
}

/* How far the store has got when it is killed. */
enum moment { DURABLE, APPLIED, SLOT, SLOTS, MOMENTS };

static void crash_at(int moment)
{
    if (moment == DURABLE) {
        store_fixture_turn(&fx);
        store_fixture_turn(&fx);
    } else {
        store_fixture_settle(&fx);
    }
    if (moment >= SLOT)
        checkpoint();
    if (moment >= SLOTS)
        checkpoint();
    store_fixture_crash(&fx);
}

static void reopen(void)
{
    subject = store_fixture_reopen(&fx, &id);
}

static void check_ends(int64_t start, int64_t leo)
{
    struct kl_store_view view = store_fixture_view(subject);

    ck_assert_int_eq(view.start, start);
    ck_assert_int_eq(view.durable_start, start);
    ck_assert_int_eq(view.leo, leo);
    ck_assert_int_eq(view.durable_leo, leo);
}

/* Twice: what recovery did must be durable by itself. */
#define CHECK_TWICE(checks)                                                    \
    do {                                                                       \
        for (int twice = 0; twice < 2; twice++) {                              \
            reopen();                                                          \
            checks;                                                            \
            store_fixture_crash(&fx);                                          \
        }                                                                      \
    } while (0)

/* Loop index of a test: the moment of the first crash and of the second. */
#define FIRST (_i % MOMENTS)
#define SECOND (_i / MOMENTS)

START_TEST(appends)
{
    store_fixture_fill(&fx, subject, 20, 700, 1);
    crash_at(FIRST);
    CHECK_TWICE(check_ends(0, 20);
                store_fixture_expect(&fx, subject, 0, 20, 700, 1));
    reopen();
    store_fixture_fill(&fx, subject, 20, 700, 2);
    crash_at(SECOND);
    CHECK_TWICE(check_ends(0, 40);
                store_fixture_expect(&fx, subject, 0, 20, 700, 1);
                store_fixture_expect(&fx, subject, 20, 40, 700, 2));
}
END_TEST

/* Cut inside the newest segment, at its start, and several segments back. */
START_TEST(truncation_and_other_records)
{
    static const int64_t cuts[] = {39, 33, 20, 1, 0};

    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        store_fixture_deinit(&fx);
        setup();
        store_fixture_fill(&fx, subject, 40, 700, 1);
        crash_at(FIRST);
        reopen();
        ck_assert_int_eq(kl_store_truncate(subject, cuts[i]), 0);
        if (i % 2)
            store_fixture_fill(&fx, subject, 5, 300, 2);
        crash_at(SECOND);
        CHECK_TWICE(check_ends(0, cuts[i] + (i % 2 ? 5 : 0));
                    store_fixture_expect(&fx, subject, 0, cuts[i], 700, 1);
                    store_fixture_expect(&fx, subject, cuts[i],
                                         cuts[i] + (i % 2 ? 5 : 0), 300, 2));
    }
}
END_TEST

/* Both in one life: the WAL holds what was cut, and what replaced it. */
START_TEST(truncation_of_what_is_in_the_wal)
{
    store_fixture_fill(&fx, subject, 30, 700, 1);
    if (FIRST >= APPLIED)
        store_fixture_settle(&fx);
    if (FIRST >= SLOT)
        checkpoint();
    ck_assert_int_eq(kl_store_truncate(subject, 12), 0);
    store_fixture_fill(&fx, subject, 3, 300, 2);
    ck_assert_int_eq(kl_store_truncate(subject, 14), 0);
    store_fixture_fill(&fx, subject, 30, 500, 3);
    crash_at(SECOND);
    CHECK_TWICE(check_ends(0, 44);
                store_fixture_expect(&fx, subject, 0, 12, 700, 1);
                store_fixture_expect(&fx, subject, 12, 14, 300, 2);
                store_fixture_expect(&fx, subject, 14, 44, 500, 3));
}
END_TEST

START_TEST(deletion)
{
    store_fixture_fill(&fx, subject, 20, 700, 1);
    crash_at(FIRST);
    reopen();
    ck_assert_int_eq(kl_store_delete(subject), 0);
    crash_at(SECOND);
    for (int twice = 0; twice < 2; twice++) {
        ck_assert_int_eq(store_fixture_open(&fx), 0);
        ck_assert_ptr_null(kl_store_find(fx.store, &id));
        ck_assert_ptr_null(kl_store_next(fx.store, NULL));
        ck_assert_int_eq(store_fixture_count(&fx, "data/logs", ""), 0);
        store_fixture_crash(&fx);
    }
}
END_TEST

START_TEST(creation_again_with_the_same_id)
{
    uint64_t instance;

    store_fixture_fill(&fx, subject, 20, 700, 1);
    if (FIRST >= APPLIED)
        store_fixture_settle(&fx);
    if (FIRST >= SLOT)
        checkpoint();
    instance = store_fixture_view(subject).instance;
    ck_assert_int_eq(kl_store_delete(subject), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    check_ends(0, 0);
    store_fixture_fill(&fx, subject, 7, 500, 2);
    crash_at(SECOND);
    CHECK_TWICE(check_ends(0, 7); ck_assert_uint_ne(
                    store_fixture_view(subject).instance, instance);
                store_fixture_expect(&fx, subject, 0, 7, 500, 2));
    ck_assert_int_eq(store_fixture_count(&fx, "data/logs", ""), 1);
}
END_TEST

/* Many lives in one group: only the last one is there. */
START_TEST(creation_and_deletion_many_times)
{
    for (int i = 0; i < 10; i++) {
        store_fixture_fill(&fx, subject, i, 200, (uint64_t)i);
        if (i % 3 == 0)
            store_fixture_turn(&fx);
        ck_assert_int_eq(kl_store_delete(subject), 0);
        subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    }
    store_fixture_fill(&fx, subject, 3, 200, 99);
    crash_at(FIRST);
    CHECK_TWICE(check_ends(0, 3);
                store_fixture_expect(&fx, subject, 0, 3, 200, 99));
}
END_TEST

static void check_epochs(const struct kl_batch_epoch *want, uint32_t count)
{
    const struct kl_batch_epochs *e = store_fixture_view(subject).epochs;

    ck_assert_uint_eq(e->count, count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(e->items[i].epoch, want[i].epoch);
        ck_assert_int_eq(e->items[i].start, want[i].start);
    }
}

START_TEST(epoch_starts)
{
    static const struct kl_batch_epoch first[] = {{0, 0}, {3, 5}, {4, 8}};
    static const struct kl_batch_epoch second[] = {{0, 0}, {3, 5}, {9, 6}};

    store_fixture_fill(&fx, subject, 5, 300, 1);
    ck_assert_int_eq(kl_store_start_epoch(subject, 2), 0);
    ck_assert_int_eq(kl_store_start_epoch(subject, 3), 0); /* replaces 2 */
    ck_assert_int_eq(kl_store_start_epoch(subject, 3), 0);
    store_fixture_fill(&fx, subject, 3, 300, 1);
    ck_assert_int_eq(kl_store_start_epoch(subject, 4), 0); /* no record yet */
    ck_assert_int_eq(kl_store_start_epoch(subject, 3), KL_EINVAL);
    crash_at(FIRST);
    CHECK_TWICE(check_epochs(first, 3); check_ends(0, 8));
    reopen();
    ck_assert_int_eq(kl_store_truncate(subject, 6), 0);
    ck_assert_int_eq(kl_store_start_epoch(subject, 9), 0);
    store_fixture_fill(&fx, subject, 2, 300, 2);
    crash_at(SECOND);
    CHECK_TWICE(check_epochs(second, 3); check_ends(0, 8);
                store_fixture_expect(&fx, subject, 6, 8, 300, 2));
}
END_TEST

START_TEST(start_moves)
{
    ck_assert_int_eq(kl_store_start_epoch(subject, 1), 0);
    store_fixture_fill(&fx, subject, 30, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_set_start(subject, 13), 0);
    ck_assert_int_eq(kl_store_set_start(subject, 4), 0); /* never back */
    crash_at(FIRST);
    CHECK_TWICE(check_ends(13, 30);
                store_fixture_expect(&fx, subject, 13, 30, 700, 1));
    reopen();
    ck_assert_int_eq(kl_store_set_start(subject, 30), 0);
    crash_at(SECOND);
    CHECK_TWICE(check_ends(30, 30));
    reopen();
    store_fixture_fill(&fx, subject, 3, 700, 2);
    crash_at(FIRST);
    CHECK_TWICE(check_ends(30, 33);
                store_fixture_expect(&fx, subject, 30, 33, 700, 2));
}
END_TEST

/* A truncation down to the start that moved, then other records. */
START_TEST(start_and_truncation_together)
{
    store_fixture_fill(&fx, subject, 30, 700, 1);
    store_fixture_settle(&fx);
    if (FIRST >= SLOT)
        checkpoint();
    ck_assert_int_eq(kl_store_set_start(subject, 22), 0);
    ck_assert_int_eq(kl_store_truncate(subject, 21), KL_EINVAL);
    ck_assert_int_eq(kl_store_truncate(subject, 22), 0);
    store_fixture_fill(&fx, subject, 20, 400, 2);
    crash_at(SECOND);
    CHECK_TWICE(check_ends(22, 42);
                store_fixture_expect(&fx, subject, 22, 42, 400, 2));
}
END_TEST

/* ---- leftovers -------------------------------------------------------------
 */

static void make_folder(const char *path)
{
    ck_assert_int_eq(fx.memory->ops->mkdir(fx.memory, path), 0);
}

START_TEST(leftover_folders_are_removed)
{
    char path[KL_STORE_PATH_MAX], other[KL_STORE_PATH_MAX];

    store_fixture_fill(&fx, subject, 5, 700, 1);
    store_fixture_settle(&fx);
    kl_store_path_log(subject, path);
    store_fixture_crash(&fx);
    /* Another life of the log, another log, and no name of a log at all. */
    snprintf(other, sizeof other, "%.200s1", path);
    make_folder(other);
    snprintf(other, sizeof other, "%.200s1/00000000000000000000.seg", path);
    store_fixture_save(&fx, other, "x", 1);
    make_folder("data/logs/AAAAAAAAAAAAAAAAAAAAAA-0.77");
    make_folder("data/logs/junk");
    store_fixture_save(&fx, "data/logs/junk/a", "x", 1);
    reopen();
    ck_assert_int_eq(store_fixture_count(&fx, "data/logs", ""), 1);
    ck_assert_int_ge(store_fixture_count(&fx, path, ""), 2);
    store_fixture_expect(&fx, subject, 0, 5, 700, 1);
}
END_TEST

START_TEST(leftover_files_of_a_log_are_removed)
{
    char segment[KL_STORE_PATH_MAX], aside[KL_STORE_PATH_MAX];

    store_fixture_fill(&fx, subject, 30, 700, 1);
    store_fixture_settle(&fx);
    kl_store_path_segment(subject, 1, "seg", segment);
    kl_store_path_in_log(subject, "manifest.new", aside);
    store_fixture_close(&fx);
    store_fixture_save(&fx, segment, "x", 1);
    store_fixture_save(&fx, aside, "x", 1);
    reopen();
    store_fixture_expect(&fx, subject, 0, 30, 700, 1);
    ck_assert(!store_fixture_exists(&fx, segment));
    ck_assert(!store_fixture_exists(&fx, aside));
}
END_TEST

/* Bytes in a segment above its checkpoint are no evidence of anything. */
START_TEST(garbage_above_the_checkpoint_is_written_over)
{
    char path[KL_STORE_PATH_MAX], garbage[600];
    size_t size;

    store_fixture_fill(&fx, subject, 5, 700, 1);
    store_fixture_settle(&fx);
    checkpoint();
    kl_store_path_segment(subject, 0, "seg", path);
    free(store_fixture_load(&fx, path, &size));
    store_fixture_fill(&fx, subject, 2, 700, 1);
    store_fixture_turn(&fx);
    store_fixture_turn(&fx);
    store_fixture_crash(&fx);
    memset(garbage, 0x5a, sizeof garbage);
    store_fixture_patch(&fx, path, size, garbage, sizeof garbage);
    CHECK_TWICE(check_ends(0, 7);
                store_fixture_expect(&fx, subject, 0, 7, 700, 1));
}
END_TEST

/* ---- damage -----------------------------------------------------------------
 */

/* A segment that is shorter than what had been synced is damaged; what the WAL
 * has goes to another one. */
START_TEST(segment_that_lost_its_end)
{
    char path[KL_STORE_PATH_MAX];
    size_t size;
    uint8_t *data;

    store_fixture_fill(&fx, subject, 5, 700, 1);
    store_fixture_settle(&fx);
    checkpoint();
    kl_store_path_segment(subject, 0, "seg", path);
    store_fixture_fill(&fx, subject, 1, 700, 1);
    store_fixture_turn(&fx);
    store_fixture_turn(&fx);
    store_fixture_crash(&fx);
    data = store_fixture_load(&fx, path, &size);
    store_fixture_save(&fx, path, data, KL_STORE_BLOCK + 1000);
    free(data);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(store_fixture_view(subject).leo, 6);
    store_fixture_expect(&fx, subject, 0, 1, 700, 1);
    ck_assert_int_eq(store_fixture_endure(&fx, subject, 1, 5, 700, 1), 4);
    store_fixture_expect(&fx, subject, 5, 6, 700, 1);
    ck_assert_int_eq(kl_store_verdict(fx.store), KL_STORE_VERDICT_DAMAGED);
}
END_TEST

/* Whoever opens after a clean stop looks at a segment when it is used first: it
 * is gone, or too short, and what comes goes to another one. */
START_TEST(segment_that_is_lost_while_closed)
{
    char path[KL_STORE_PATH_MAX];
    size_t size;
    uint8_t *data;

    store_fixture_fill(&fx, subject, 5, 500, 1);
    store_fixture_settle(&fx);
    kl_store_path_segment(subject, 0, "seg", path);
    store_fixture_close(&fx);
    if (_i) {
        data = store_fixture_load(&fx, path, &size);
        store_fixture_save(&fx, path, data, KL_STORE_BLOCK + 1000);
        free(data);
    } else {
        store_fixture_unlink(&fx, path);
    }
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_fill(&fx, subject, 2, 500, 1);
    store_fixture_settle(&fx);
    for (int twice = 0; twice < 2; twice++) {
        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        ck_assert_int_eq(store_fixture_view(subject).leo, 7);
        ck_assert_int_eq(store_fixture_endure(&fx, subject, 0, 5, 500, 1),
                         5 - _i);
        store_fixture_expect(&fx, subject, 5, 7, 500, 1);
        store_fixture_close(&fx);
        subject = store_fixture_reopen(&fx, &id);
    }
}
END_TEST

/* A truncation to an offset in a segment that is gone: 0 the last one, 1 one
 * before it. */
START_TEST(truncation_into_a_segment_that_is_lost)
{
    char path[KL_STORE_PATH_MAX];

    store_fixture_fill(&fx, subject, 30, 700, 1); /* several segments */
    store_fixture_settle(&fx);
    ck_assert_uint_gt(subject->files->count, 3);
    kl_store_path_segment(
        subject,
        subject->files->items[subject->files->count - 1 - (size_t)_i]
            ->info.base,
        "seg", path);
    id.partition = 1;
    store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    id.partition = 0;
    store_fixture_close(&fx);
    store_fixture_unlink(&fx, path);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(kl_store_truncate(subject, _i ? 24 : 29), 0);
    store_fixture_settle(&fx);
    store_fixture_fill(&fx, subject, 3, 700, 2);
    store_fixture_settle(&fx);
    for (int twice = 0; twice < 2; twice++) {
        const int64_t cut = _i ? 24 : 29;

        ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
        ck_assert_int_eq(store_fixture_view(subject).leo, cut + 3);
        store_fixture_expect(&fx, subject, cut, cut + 3, 700, 2);
        store_fixture_expect(&fx, subject, 0, 15, 700, 1);
        store_fixture_close(&fx);
        subject = store_fixture_reopen(&fx, &id);
    }
}
END_TEST

Suite *suite_store_replay(void);

Suite *suite_store_replay(void)
{
    Suite *suite = suite_create("store_replay");
    TCase *t = tcase_create("replay");
    const int all = MOMENTS * MOMENTS;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, appends, 0, all);
    tcase_add_loop_test(t, truncation_and_other_records, 0, all);
    tcase_add_loop_test(t, truncation_of_what_is_in_the_wal, 0, all);
    tcase_add_loop_test(t, deletion, 0, all);
    tcase_add_loop_test(t, creation_again_with_the_same_id, 0, all);
    tcase_add_loop_test(t, creation_and_deletion_many_times, 0, MOMENTS);
    tcase_add_loop_test(t, epoch_starts, 0, all);
    tcase_add_loop_test(t, start_moves, 0, all);
    tcase_add_loop_test(t, start_and_truncation_together, 0, all);
    tcase_add_test(t, leftover_folders_are_removed);
    tcase_add_test(t, leftover_files_of_a_log_are_removed);
    tcase_add_test(t, garbage_above_the_checkpoint_is_written_over);
    tcase_add_test(t, segment_that_lost_its_end);
    tcase_add_loop_test(t, segment_that_is_lost_while_closed, 0, 2);
    tcase_add_loop_test(t, truncation_into_a_segment_that_is_lost, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
