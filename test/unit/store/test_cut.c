/*
 * A truncation at the moment of its call: what it cuts counts as durable no
 * more, whoever asks before anything is written.
 */
#include "store_fixture.h"

#include <check.h>

static struct store_fixture f;
static struct kl_store_id id;

static void setup(void)
{
    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    id = store_fixture_id(1, 0);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

static const enum kl_store_flush kinds[] = {KL_STORE_FLUSH_COMMIT,
                                            KL_STORE_FLUSH_INTERVAL};

START_TEST(end_is_lowered_at_once)
{
    struct kl_store_log *log =
        store_fixture_create(&f, &id, kinds[_i], 1 << 20);
    struct kl_store_read read;

    store_fixture_fill(&f, log, 5, 100, 1);
    store_fixture_settle(&f);
    ck_assert_int_eq(store_fixture_view(log).durable_leo, 5);
    ck_assert_int_eq(kl_store_truncate(log, 2), 0);
    ck_assert_int_eq(store_fixture_view(log).leo, 2);
    ck_assert_int_eq(store_fixture_view(log).durable_leo, 2);
    /* Nor can it be read, or a start be put there. */
    store_fixture_read(&f, log, 3, 5, 4096, &read);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    kl_store_read_release(&read);
    ck_assert_int_eq(kl_store_set_start(log, 3), KL_EOFFSETRANGE);
}
END_TEST

/* What comes in its place is durable when it is, not when the cut is. */
START_TEST(new_records_are_not_durable_by_the_old)
{
    struct kl_store_log *log =
        store_fixture_create(&f, &id, kinds[_i], 1 << 20);

    store_fixture_fill(&f, log, 5, 100, 1);
    store_fixture_settle(&f);
    ck_assert_int_eq(kl_store_truncate(log, 2), 0);
    store_fixture_fill(&f, log, 3, 100, 2);
    ck_assert_int_eq(store_fixture_view(log).leo, 5);
    ck_assert_int_eq(store_fixture_view(log).durable_leo, 2);
    store_fixture_settle(&f);
    ck_assert_int_eq(store_fixture_view(log).durable_leo, 5);
    store_fixture_expect(&f, log, 0, 2, 100, 1);
    store_fixture_expect(&f, log, 2, 5, 100, 2);
}
END_TEST

/* One read over all of it: each frame begins where the one before ends. */
static void check_adjacent(struct kl_store_log *log)
{
    struct kl_store_read read;
    int64_t next = 0;

    store_fixture_read(&f, log, 0, store_fixture_view(log).leo, 1 << 20, &read);
    ck_assert_int_eq(read.code, 0);
    for (uint32_t i = 0; i < read.slice_count; i++) {
        const struct kl_store_slice *slice = &read.slices[i];
        struct kl_batch_info info;

        for (uint32_t at = 0; at < slice->size; at += info.frame_size) {
            ck_assert_int_eq(
                kl_batch_frame_verify(slice->data + at, slice->size - at,
                                      kl_store_log_seed(log), &info),
                0);
            ck_assert_int_eq(info.base_offset, next);
            next = info.last_offset + 1;
        }
    }
    ck_assert_int_eq(next, store_fixture_view(log).leo);
    ck_assert_int_eq(read.next_offset, next);
    kl_store_read_release(&read);
}

/* Old and new records at the same offsets, none of them written yet. */
START_TEST(cut_records_in_memory_are_not_read)
{
    struct kl_store_log *log =
        store_fixture_create(&f, &id, kinds[_i], 1 << 20);

    store_fixture_fill(&f, log, 5, 100, 1);
    ck_assert_int_eq(kl_store_truncate(log, 2), 0);
    store_fixture_fill(&f, log, 3, 100, 2);
    ck_assert_int_eq(kl_store_truncate(log, 4), 0);
    store_fixture_fill(&f, log, 2, 100, 3);
    for (int i = 0; i < 2; i++) {
        store_fixture_expect(&f, log, 0, 2, 100, 1);
        store_fixture_expect(&f, log, 2, 4, 100, 2);
        store_fixture_expect(&f, log, 4, 6, 100, 3);
        check_adjacent(log);
        store_fixture_settle(&f);
    }
}
END_TEST

Suite *suite_store_cut(void);

Suite *suite_store_cut(void)
{
    Suite *suite = suite_create("store_cut");
    TCase *t = tcase_create("cut");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, end_is_lowered_at_once, 0, 2);
    tcase_add_loop_test(t, new_records_are_not_durable_by_the_old, 0, 2);
    tcase_add_loop_test(t, cut_records_in_memory_are_not_read, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
