/*
 * A log that is emptied and begins anew at another offset.
 */
#include "store_fixture.h"

#include <check.h>
#include <string.h>

static struct store_fixture f;
static struct kl_store_id id;
static struct kl_store_log *subject;

enum { LEO = 12, EPOCH = 7 };

static void setup(void)
{
    store_fixture_init(&f);
    f.config.ring_bytes = 1 << 20;
    f.config.cache_bytes_max = 0;
    id = store_fixture_id(1, 0);
    ck_assert_int_eq(store_fixture_open(&f), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

/* Three segments of five records, in files; _i of a test: of which kind. */
static void make(int flush)
{
    subject = store_fixture_create(&f, &id, (enum kl_store_flush)flush, 8192);
    store_fixture_fill(&f, subject, LEO, 700, 1);
    store_fixture_settle(&f);
}

static void expect_empty_at(int64_t offset, int32_t epoch)
{
    struct kl_store_view view = store_fixture_view(subject);

    ck_assert_int_eq(view.start, offset);
    ck_assert_int_eq(view.leo, offset);
    ck_assert_int_eq(view.durable_leo, offset);
    ck_assert_uint_eq(view.size, 0);
    ck_assert_int_eq(kl_batch_epochs_last(view.epochs), epoch);
    if (epoch >= 0)
        ck_assert_int_eq(kl_batch_epochs_at(view.epochs, offset - 1), epoch);
}

/* ---- what it is ---------------------------------------------------------- */

static const int64_t places[] = {1, 5, LEO, LEO + 1, INT64_C(1) << 40};

enum { PLACES = sizeof places / sizeof *places };

START_TEST(reset_begins_anew)
{
    int64_t at = places[_i / 2];
    struct kl_store_view view;

    make(_i % 2);
    ck_assert_int_eq(kl_store_reset(&subject, at, EPOCH), 0);
    ck_assert_ptr_eq(kl_store_find(f.store, &id), subject);
    expect_empty_at(at, EPOCH);
    ck_assert(!store_fixture_view(subject).is_durable);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(store_fixture_append(&f, subject, 1, 700, 3, EPOCH, 5),
                         0);
    store_fixture_settle(&f);
    view = store_fixture_view(subject);
    ck_assert(view.is_durable);
    ck_assert_int_eq(view.durable_start, at);
    ck_assert_int_eq(view.durable_leo, at + 4);
    store_fixture_crash(&f);
    subject = store_fixture_reopen(&f, &id);
    view = store_fixture_view(subject);
    ck_assert_int_eq(view.start, at);
    ck_assert_int_eq(view.leo, at + 4);
    ck_assert_int_eq(kl_batch_epochs_at(view.epochs, at - 1), EPOCH);
    ck_assert_int_eq(view.epochs->count, 1);
}
END_TEST

START_TEST(reset_to_nothing)
{
    make(_i);
    ck_assert_int_eq(kl_store_set_start(subject, 5), 0);
    store_fixture_settle(&f);
    ck_assert_int_eq(kl_store_reset(&subject, 0, -1), 0);
    expect_empty_at(0, -1);
    store_fixture_settle(&f);
    store_fixture_fill(&f, subject, 3, 700, 2);
    store_fixture_settle(&f);
    store_fixture_crash(&f);
    subject = store_fixture_reopen(&f, &id);
    store_fixture_expect(&f, subject, 0, 3, 700, 2);
}
END_TEST

/* Its epochs go on where the one that was stated ends. */
START_TEST(reset_knows_the_epoch_before)
{
    make(_i);
    ck_assert_int_eq(kl_store_reset(&subject, 40, EPOCH), 0);
    ck_assert_int_eq(store_fixture_append(&f, subject, 1, 10, 3, EPOCH - 1, 5),
                     KL_EINVAL);
    ck_assert_int_eq(kl_store_start_epoch(subject, EPOCH + 2), 0);
    ck_assert_int_eq(store_fixture_append(&f, subject, 1, 10, 3, EPOCH + 2, 5),
                     0);
    store_fixture_settle(&f);
    for (int i = 0; i < 3; i++) {
        const struct kl_batch_epochs *e = store_fixture_view(subject).epochs;

        ck_assert_int_eq(kl_batch_epochs_at(e, 39), EPOCH);
        ck_assert_int_eq(kl_batch_epochs_at(e, 40), EPOCH + 2);
        ck_assert_int_eq(e->count, 2);
        if (i == 1)
            store_fixture_close(&f);
        else
            store_fixture_crash(&f);
        subject = store_fixture_reopen(&f, &id);
    }
}
END_TEST

START_TEST(reset_keeps_what_belongs_to_the_name)
{
    int mark;
    uint64_t instance;

    make(_i);
    instance = store_fixture_view(subject).instance;
    kl_store_log_set_user(subject, &mark);
    ck_assert_int_eq(kl_store_reset(&subject, 20, -1), 0);
    ck_assert_ptr_eq(kl_store_log_user(subject), &mark);
    ck_assert_uint_eq(subject->config.segment_bytes, 8192);
    ck_assert_uint_eq(kl_base_stat_get(&kl_store_stats(f.store)->logs), 1);
    ck_assert_ptr_eq(kl_store_next(f.store, NULL), subject);
    ck_assert_ptr_null(kl_store_next(f.store, subject));
    store_fixture_settle(&f);
    ck_assert_uint_gt(store_fixture_view(subject).instance, instance);
    ck_assert_int_eq(store_fixture_view(subject).flush, _i);
}
END_TEST

/* Before its first life is in a group, and again before the next one is. */
START_TEST(reset_before_anything_is_durable)
{
    subject = store_fixture_create(&f, &id, (enum kl_store_flush)_i, 8192);
    store_fixture_fill(&f, subject, 2, 10, 1);
    ck_assert_int_eq(kl_store_reset(&subject, 100, 1), 0);
    store_fixture_fill(&f, subject, 2, 10, 1);
    ck_assert_int_eq(kl_store_reset(&subject, 50, 2), 0);
    ck_assert_int_eq(kl_store_reset(&subject, 70, 3), 0);
    store_fixture_settle(&f);
    expect_empty_at(70, 3);
    store_fixture_crash(&f);
    subject = store_fixture_reopen(&f, &id);
    expect_empty_at(70, 3);
    ck_assert(store_fixture_view(subject).is_durable);
}
END_TEST

START_TEST(reset_then_deleted)
{
    make(_i);
    ck_assert_int_eq(kl_store_reset(&subject, 100, 1), 0);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    ck_assert_ptr_null(kl_store_find(f.store, &id));
    store_fixture_settle(&f);
    store_fixture_crash(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    ck_assert_ptr_null(kl_store_find(f.store, &id));
}
END_TEST

/* ---- the event ----------------------------------------------------------- */

/* Whether one of the next turns tells of the subject. */
static int is_told(void)
{
    struct kl_store_event e;
    int told = 0;

    for (int i = 0; i < 20 && !told; i++) {
        f.now_ns += 1000000;
        kl_store_turn(f.store, f.now_ns, f.wall_ms);
        while (kl_store_next_event(f.store, &e))
            told |= e.type == KL_STORE_EVENT_DURABLE && e.log == subject;
    }
    return told;
}

START_TEST(reset_tells_when_it_is_durable)
{
    make(_i);
    ck_assert_int_eq(kl_store_reset(&subject, 0, -1), 0);
    ck_assert(!store_fixture_view(subject).is_durable);
    ck_assert(is_told());
    ck_assert(store_fixture_view(subject).is_durable);
    ck_assert_int_eq(kl_store_reset(&subject, 0, -1), 0);
    ck_assert(!store_fixture_view(subject).is_durable);
    ck_assert(is_told());
}
END_TEST

/* ---- those that read ----------------------------------------------------- */

START_TEST(reset_ends_reads)
{
    struct kl_store_lookup lookup = {.log = NULL, .timestamp = 0, .end = LEO};
    struct kl_store_event e;
    struct kl_store_read read;
    int ended = 0;

    make(_i);
    memset(&read, 0, sizeof read);
    lookup.log = read.log = subject;
    read.end = LEO;
    read.bytes_max = 4096;
    ck_assert_int_eq(kl_store_read(&read), KL_EAGAIN);
    ck_assert_int_eq(kl_store_lookup(&lookup), KL_EAGAIN);
    ck_assert_int_eq(kl_store_reset(&subject, 3, 0), 0);
    while (ended < 2) {
        f.now_ns += 1000000;
        kl_store_turn(f.store, f.now_ns, f.wall_ms);
        while (kl_store_next_event(f.store, &e))
            ended += e.type == KL_STORE_EVENT_READ ||
                     e.type == KL_STORE_EVENT_LOOKUP;
    }
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    ck_assert_uint_eq(read.slice_count, 0);
    ck_assert_int_eq(lookup.code, KL_EOFFSETRANGE);
    store_fixture_read(&f, subject, 2, 3, 4096, &read);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    store_fixture_read(&f, subject, 3, 3, 4096, &read);
    ck_assert_int_eq(read.code, 0);
}
END_TEST

/* ---- files --------------------------------------------------------------- */

/* The folder of the old life goes when no slot leads to it any more. */
START_TEST(reset_removes_the_old_folder)
{
    char path[KL_STORE_PATH_MAX];

    make(_i);
    kl_store_path_log(subject, path);
    ck_assert(store_fixture_count(&f, path, ".seg") == 3);
    ck_assert_int_eq(kl_store_reset(&subject, 30, 0), 0);
    for (int i = 0; i < 4; i++)
        store_fixture_turn(&f);
    ck_assert(store_fixture_view(subject).is_durable);
    ck_assert(store_fixture_count(&f, path, ".seg") == 3);
    for (int i = 0; i < 8; i++) {
        f.now_ns += 300000000;
        store_fixture_settle(&f);
    }
    ck_assert(!store_fixture_exists(&f, path));
}
END_TEST

/* ---- refusals ------------------------------------------------------------ */

START_TEST(reset_refused)
{
    struct kl_store_view before, after;
    struct kl_store_log *same;

    make(_i);
    same = subject;
    before = store_fixture_view(subject);
    ck_assert_int_eq(kl_store_reset(&subject, -1, 0), KL_EINVAL);
    ck_assert_int_eq(kl_store_reset(&subject, 0, 0), KL_EINVAL);
    ck_assert_int_eq(kl_store_reset(&subject, 4, -2), KL_EINVAL);
    for (uint64_t i = 1;; i++) {
        int rc;

        ck_assert_uint_lt(i, 20);
        fail_alloc_arm(&f.alloc, i);
        rc = kl_store_reset(&subject, 4, 0);
        fail_alloc_arm(&f.alloc, 0);
        if (rc == 0)
            break;
        ck_assert_int_eq(rc, KL_ENOMEM);
        ck_assert_ptr_eq(subject, same);
        ck_assert_ptr_eq(kl_store_find(f.store, &id), same);
        after = store_fixture_view(subject);
        ck_assert_int_eq(after.leo, before.leo);
        ck_assert_int_eq(after.start, before.start);
        ck_assert_uint_eq(after.instance, before.instance);
        ck_assert(after.is_durable);
    }
    kl_store_stop(f.store);
    ck_assert_int_eq(kl_store_reset(&subject, 5, 0), KL_ECLOSED);
}
END_TEST

Suite *suite_store_reset(void);

Suite *suite_store_reset(void)
{
    Suite *suite = suite_create("store_reset");
    TCase *t = tcase_create("reset");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, reset_begins_anew, 0, 2 * PLACES);
    tcase_add_loop_test(t, reset_to_nothing, 0, 2);
    tcase_add_loop_test(t, reset_knows_the_epoch_before, 0, 2);
    tcase_add_loop_test(t, reset_keeps_what_belongs_to_the_name, 0, 2);
    tcase_add_loop_test(t, reset_before_anything_is_durable, 0, 2);
    tcase_add_loop_test(t, reset_then_deleted, 0, 2);
    tcase_add_loop_test(t, reset_tells_when_it_is_durable, 0, 2);
    tcase_add_loop_test(t, reset_ends_reads, 0, 2);
    tcase_add_loop_test(t, reset_removes_the_old_folder, 0, 2);
    tcase_add_loop_test(t, reset_refused, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
