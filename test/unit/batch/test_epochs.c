/*
 * The list of leader epochs.
 */
#include "batch/epochs.h"

#include "fail_alloc.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_batch_epochs epochs;

static void add(int32_t epoch, int64_t start)
{
    ck_assert_int_eq(
        kl_batch_epochs_append(&epochs, &memory.alloc, epoch, start), 0);
}

/* 1 from 0, 2 from 10, 5 from 20, 9 from 25 */
static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_batch_epochs_init(&epochs);
    add(1, 0);
    add(2, 10);
    add(5, 20);
    add(9, 25);
}

static void tear_down(void)
{
    kl_batch_epochs_deinit(&epochs, &memory.alloc);
    fail_alloc_deinit(&memory);
}

/* Pairs of epoch and start. */
static void check_list(const struct kl_batch_epoch *want, uint32_t count)
{
    uint32_t i;

    ck_assert_uint_eq(epochs.count, count);
    for (i = 0; i < count; i++) {
        ck_assert_int_eq(epochs.items[i].epoch, want[i].epoch);
        ck_assert_int_eq(epochs.items[i].start, want[i].start);
    }
}
#define CHECK_LIST(...)                                                        \
    do {                                                                       \
        const struct kl_batch_epoch want_[] = {__VA_ARGS__};                   \
        check_list(want_, sizeof want_ / sizeof *want_);                       \
    } while (0)

START_TEST(append_in_order)
{
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {9, 25});
    add(9, 25);
    add(9, 30); /* the newest goes on */
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {9, 25});
    ck_assert_int_eq(kl_batch_epochs_last(&epochs), 9);
}
END_TEST

START_TEST(append_replaces_an_epoch_without_records)
{
    add(11, 25);
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {11, 25});
    add(12, 25);
    add(13, 26);
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {12, 25}, {13, 26});
}
END_TEST

START_TEST(append_refused)
{
    static const struct kl_batch_epoch rows[] = {
        {8, 30},  {0, 30}, {-1, 30},        {10, 24},       {10, 0},
        {10, -1}, {9, 24}, {INT32_MIN, 30}, {10, INT64_MIN}};
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(kl_batch_epochs_append(&epochs, &memory.alloc,
                                                rows[i].epoch, rows[i].start),
                         KL_EINVAL);
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {9, 25});
}
END_TEST

START_TEST(append_without_memory)
{
    uint32_t failures = 0;
    int32_t i;

    for (i = 10; i < 100; i++) {
        uint32_t count = epochs.count;
        int rc;

        fail_alloc_arm(&memory, 1);
        rc = kl_batch_epochs_append(&epochs, &memory.alloc, i, i * 10);
        fail_alloc_arm(&memory, 0);
        if (rc != 0) {
            ck_assert_int_eq(rc, KL_ENOMEM);
            ck_assert_uint_eq(epochs.count, count);
            failures++;
            add(i, i * 10);
        }
    }
    ck_assert_uint_ge(failures, 4);
    ck_assert_uint_eq(epochs.count, 94);
    ck_assert_int_eq(kl_batch_epochs_at(&epochs, 555), 55);
}
END_TEST

START_TEST(truncate_drops_entries_at_and_above)
{
    kl_batch_epochs_truncate(&epochs, 26);
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {9, 25});
    kl_batch_epochs_truncate(&epochs, 25);
    CHECK_LIST({1, 0}, {2, 10}, {5, 20});
    kl_batch_epochs_truncate(&epochs, 11);
    CHECK_LIST({1, 0}, {2, 10});
    /* What was cut may be written anew by a later leader. */
    add(7, 11);
    CHECK_LIST({1, 0}, {2, 10}, {7, 11});
    kl_batch_epochs_truncate(&epochs, 1);
    CHECK_LIST({1, 0});
    kl_batch_epochs_truncate(&epochs, 0);
    ck_assert_uint_eq(epochs.count, 0);
    ck_assert_int_eq(kl_batch_epochs_last(&epochs), -1);
    kl_batch_epochs_truncate(&epochs, 5);
    ck_assert_uint_eq(epochs.count, 0);
}
END_TEST

START_TEST(trim_keeps_the_covering_entry)
{
    kl_batch_epochs_trim(&epochs, 0);
    CHECK_LIST({1, 0}, {2, 10}, {5, 20}, {9, 25});
    kl_batch_epochs_trim(&epochs, 9);
    CHECK_LIST({1, 9}, {2, 10}, {5, 20}, {9, 25});
    kl_batch_epochs_trim(&epochs, 3); /* never back */
    CHECK_LIST({1, 9}, {2, 10}, {5, 20}, {9, 25});
    kl_batch_epochs_trim(&epochs, 10);
    CHECK_LIST({2, 10}, {5, 20}, {9, 25});
    kl_batch_epochs_trim(&epochs, 24);
    CHECK_LIST({5, 24}, {9, 25});
    /* Everything deleted: the newest epoch stays known. */
    kl_batch_epochs_trim(&epochs, 100);
    CHECK_LIST({9, 100});
    add(10, 100);
    CHECK_LIST({10, 100});
}
END_TEST

START_TEST(at_every_offset)
{
    static const struct kl_batch_epoch rows[] = {
        {-1, 2}, {1, 3},  {1, 9},         {2, 10},  {2, 19},        {5, 20},
        {5, 24}, {9, 25}, {9, INT64_MAX}, {-1, -1}, {-1, INT64_MIN}};
    size_t i;

    kl_batch_epochs_trim(&epochs, 3);
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(kl_batch_epochs_at(&epochs, rows[i].start),
                         rows[i].epoch);
}
END_TEST

/* Rule 1.11.1, with the log end at 40. */
START_TEST(end_for_table)
{
    static const struct
    {
        int32_t asked;
        int32_t epoch;
        int64_t end;
    } rows[] = {
        {9, 9, 40},   /* the newest ends with the log */
        {10, -1, -1}, /* never heard of */
        {INT32_MAX, -1, -1},
        {5, 5, 25}, /* ends where the next begins */
        {2, 2, 20},
        {1, 1, 10},
        {8, 5, 25}, /* unknown here: the largest smaller one */
        {6, 5, 25},
        {4, 2, 20},
        {3, 2, 20},
        {0, 0, 0}, /* older than the list: ends where the log begins */
        {-1, -1, -1},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t epoch;
        int64_t end;

        kl_batch_epochs_end_for(&epochs, rows[i].asked, 40, &epoch, &end);
        ck_assert_int_eq(epoch, rows[i].epoch);
        ck_assert_int_eq(end, rows[i].end);
    }
}
END_TEST

START_TEST(end_for_in_an_empty_list)
{
    int32_t epoch;
    int64_t end;

    kl_batch_epochs_truncate(&epochs, 0);
    kl_batch_epochs_end_for(&epochs, 0, 40, &epoch, &end);
    ck_assert_int_eq(epoch, -1);
    ck_assert_int_eq(end, -1);
    ck_assert_int_eq(kl_batch_epochs_at(&epochs, 0), -1);
    kl_batch_epochs_trim(&epochs, 7);
    ck_assert_uint_eq(epochs.count, 0);
}
END_TEST

/* The follower of rule 1.11.3 cuts where the leader's answer and its own list
 * agree: KIP-279's case of two fast leader changes. */
START_TEST(end_for_finds_the_divergence)
{
    struct kl_batch_epochs leader;
    int32_t epoch;
    int64_t end;

    /* Both have epochs 1 and 2; the follower wrote in 5 and 9, the leader in
     * 4 from offset 15. */
    kl_batch_epochs_init(&leader);
    kl_batch_epochs_append(&leader, &memory.alloc, 1, 0);
    kl_batch_epochs_append(&leader, &memory.alloc, 2, 10);
    kl_batch_epochs_append(&leader, &memory.alloc, 4, 15);
    kl_batch_epochs_append(&leader, &memory.alloc, 10, 50);

    kl_batch_epochs_end_for(&leader, 9, 60, &epoch, &end);
    ck_assert_int_eq(epoch, 4);
    ck_assert_int_eq(end, 50);
    kl_batch_epochs_end_for(&epochs, epoch, 40, &epoch, &end);
    ck_assert_int_eq(epoch, 2);
    ck_assert_int_eq(end, 20); /* not the same epoch: cut and ask again */
    kl_batch_epochs_truncate(&epochs, 20);

    kl_batch_epochs_end_for(&leader, kl_batch_epochs_last(&epochs), 60, &epoch,
                            &end);
    ck_assert_int_eq(epoch, 2);
    ck_assert_int_eq(end, 15); /* the same: cut to the smaller end */
    kl_batch_epochs_deinit(&leader, &memory.alloc);
}
END_TEST

Suite *suite_batch_epochs(void);

Suite *suite_batch_epochs(void)
{
    Suite *s = suite_create("batch_epochs");
    TCase *t = tcase_create("epochs");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, append_in_order);
    tcase_add_test(t, append_replaces_an_epoch_without_records);
    tcase_add_test(t, append_refused);
    tcase_add_test(t, append_without_memory);
    tcase_add_test(t, truncate_drops_entries_at_and_above);
    tcase_add_test(t, trim_keeps_the_covering_entry);
    tcase_add_test(t, at_every_offset);
    tcase_add_test(t, end_for_table);
    tcase_add_test(t, end_for_in_an_empty_list);
    tcase_add_test(t, end_for_finds_the_divergence);
    suite_add_tcase(s, t);
    return s;
}
