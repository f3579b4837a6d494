/*
 * What a log knows to be lost: ranges that are told apart, join where they
 * touch, become fewer and wider where there are too many, and go with what is
 * deleted or cut off.
 */
#include "store_fixture.h"

#include <check.h>

static struct store_fixture f;
static struct kl_store_log *subject;

enum { RECORDS = 1000, RANGES_MAX = 64 };

static void setup(void)
{
    struct kl_store_id id = store_fixture_id(1, 0);

    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    subject = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    ck_assert_int_eq(
        store_fixture_append(&f, subject, RECORDS, 1, 1, 0, f.wall_ms), 0);
    store_fixture_settle(&f);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

static void note(int64_t from, int64_t to)
{
    kl_store_damage_note(subject, from, to);
}

static uint64_t noted(void)
{
    return kl_base_stat_get(&kl_store_stats(f.store)->damages);
}

/* The ranges, as pairs that end with -1. */
static void expect(const int64_t *pairs)
{
    struct kl_store_range r;
    size_t count = 0;

    for (; *pairs >= 0; pairs += 2, count++) {
        ck_assert_uint_gt(kl_store_log_damage(subject, count, &r), count);
        ck_assert_int_eq(r.from, pairs[0]);
        ck_assert_int_eq(r.to, pairs[1]);
    }
    ck_assert_uint_eq(kl_store_log_damage(subject, 0, NULL), count);
}

#define EXPECT(...) expect((const int64_t[]){__VA_ARGS__, -1})

START_TEST(ranges_join)
{
    ck_assert_uint_eq(kl_store_log_damage(subject, 0, NULL), 0);
    note(50, 60);
    note(10, 20);
    note(30, 40);
    EXPECT(10, 20, 30, 40, 50, 60);
    note(5, 10); /* they touch */
    EXPECT(5, 20, 30, 40, 50, 60);
    note(40, 45);
    EXPECT(5, 20, 30, 45, 50, 60);
    note(25, 33);
    EXPECT(5, 20, 25, 45, 50, 60);
    note(44, 55); /* two become one, which ends where the second did */
    EXPECT(5, 20, 25, 60);
    note(0, 100);
    EXPECT(0, 100);
}
END_TEST

/* Only what is new is told: to the host, and by the verdict. */
START_TEST(new_damage_is_told_once)
{
    struct kl_store_event e;
    int told = 0;

    ck_assert_int_ne(kl_store_verdict(f.store), KL_STORE_VERDICT_DAMAGED);
    note(10, 30);
    ck_assert_int_eq(kl_store_verdict(f.store), KL_STORE_VERDICT_DAMAGED);
    note(10, 30);
    note(15, 20);
    note(7, 7); /* nothing */
    note(RECORDS, RECORDS + 5);
    ck_assert_uint_eq(noted(), 1);
    while (kl_store_next_event(f.store, &e))
        told += e.type == KL_STORE_EVENT_DAMAGED;
    ck_assert_int_eq(told, 1);
    note(29, 31);
    ck_assert_uint_eq(noted(), 2);
}
END_TEST

/* Nothing is noted outside of the log. */
START_TEST(ranges_are_those_of_the_log)
{
    ck_assert_int_eq(kl_store_set_start(subject, 100), 0);
    store_fixture_settle(&f);
    note(0, 50);
    note(90, 110);
    note(990, 2000);
    EXPECT(100, 110, 990, RECORDS);
}
END_TEST

/* Of too many, neighbours that are close are told as one: nothing that is lost
 * is left out, and no more than the gap is added. */
START_TEST(too_many_ranges)
{
    struct kl_store_range r;

    for (int64_t i = 0; i < RANGES_MAX; i++)
        note(10 * i, 10 * i + (i == 7 ? 9 : 2));
    ck_assert_uint_eq(kl_store_log_damage(subject, 0, &r), RANGES_MAX);
    note(900, 905);
    ck_assert_uint_eq(kl_store_log_damage(subject, 7, &r), RANGES_MAX);
    ck_assert_int_eq(r.from, 70); /* the gap behind it had one offset */
    ck_assert_int_eq(r.to, 82);
    kl_store_log_damage(subject, RANGES_MAX - 1, &r);
    ck_assert_int_eq(r.from, 900);
    kl_store_log_damage(subject, 0, &r);
    ck_assert_int_eq(r.to, 2);
    /* Between two that are there. */
    note(95, 96);
    ck_assert_uint_eq(kl_store_log_damage(subject, 0, NULL), RANGES_MAX);
    for (int64_t i = 0, at = 0; i < RANGES_MAX; i++, at = r.to) {
        kl_store_log_damage(subject, (size_t)i, &r);
        ck_assert_int_ge(r.from, at);
    }
}
END_TEST

START_TEST(deleted_records_are_no_damage)
{
    note(10, 20);
    note(30, 40);
    note(900, 950);
    ck_assert_int_eq(kl_store_set_start(subject, 35), 0);
    store_fixture_settle(&f);
    EXPECT(35, 40, 900, 950);
    ck_assert_int_eq(kl_store_set_start(subject, RECORDS), 0);
    store_fixture_settle(&f);
    ck_assert_uint_eq(kl_store_log_damage(subject, 0, NULL), 0);
}
END_TEST

/* What is cut off is nobody's; what comes in its place is whole. */
START_TEST(cut_records_are_no_damage)
{
    ck_assert_int_eq(store_fixture_append(&f, subject, 10, 1, 2, 0, f.wall_ms),
                     0);
    ck_assert_int_eq(store_fixture_append(&f, subject, 10, 1, 3, 0, f.wall_ms),
                     0);
    store_fixture_settle(&f);
    note(10, 20);
    note(1005, 1008);
    note(1009, 1012);
    note(1014, 1020);
    ck_assert_int_eq(kl_store_truncate(subject, 1010), 0);
    EXPECT(10, 20, 1005, 1008, 1009, 1010);
    store_fixture_fill(&f, subject, 10, 1, 4);
    store_fixture_settle(&f);
    EXPECT(10, 20, 1005, 1008, 1009, 1010);
}
END_TEST

/* Without memory it is told by the next one to meet it. */
START_TEST(damage_without_memory)
{
    fail_alloc_arm(&f.alloc, 1);
    note(10, 20);
    fail_alloc_arm(&f.alloc, 0);
    ck_assert_uint_eq(kl_store_log_damage(subject, 0, NULL), 0);
    note(10, 20);
    EXPECT(10, 20);
}
END_TEST

Suite *suite_store_damage(void);

Suite *suite_store_damage(void)
{
    Suite *suite = suite_create("store_damage");
    TCase *t = tcase_create("damage");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, ranges_join);
    tcase_add_test(t, new_damage_is_told_once);
    tcase_add_test(t, ranges_are_those_of_the_log);
    tcase_add_test(t, too_many_ranges);
    tcase_add_test(t, deleted_records_are_no_damage);
    tcase_add_test(t, cut_records_are_no_damage);
    tcase_add_test(t, damage_without_memory);
    suite_add_tcase(suite, t);
    return suite;
}
