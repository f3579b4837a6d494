/*
 * Sessions, the deadline, and what time asks for.
 */
#include "cluster_help.h"

#include <check.h>

static struct cluster cl;

static void set_up(void)
{
    cluster_init(&cl, NULL);
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static int flags(int32_t id)
{
    return kl_controller_broker_find(cl.f.c, id)->flags;
}

/* The records of one tick. */
static size_t tick(void)
{
    ck_assert_int_eq(
        kl_controller_tick(cl.f.c, cl.now_ns, &cl.f.records, &cl.f.error), 0);
    return cl.f.records.count;
}

START_TEST(deadline_of_nothing)
{
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), INT64_MAX);
    kl_controller_resign(cl.f.c);
    ck_assert_int_eq(kl_controller_is_active(cl.f.c), 0);
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), INT64_MAX);
    ck_assert_int_eq(kl_controller_tick(cl.f.c, 5, &cl.f.records, &cl.f.error),
                     KL_ENOTCONTROLLER);
    /* Ignored, like everything that comes too late. */
    kl_controller_contact(cl.f.c, 1, 1, 5);
    kl_controller_contact_lost(cl.f.c, 1, 1);
}
END_TEST

START_TEST(deadline_is_the_first_end)
{
    int64_t start = cl.now_ns;

    cluster_start(&cl, "12");
    cluster_settle(&cl);
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), start + 9000 * CLUSTER_MS);
    cluster_pass(&cl, 2000, "1");
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), start + 9000 * CLUSTER_MS);
    cluster_pass(&cl, 1000, "2");
    ck_assert_int_eq(kl_controller_deadline(cl.f.c),
                     start + 11000 * CLUSTER_MS);
    /* A registered one that is fenced has no session. */
    cluster_silence(&cl, "12");
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), INT64_MAX);
}
END_TEST

START_TEST(tick_before_and_at_the_deadline)
{
    cluster_start(&cl, "1");
    cluster_settle(&cl);
    cl.now_ns = kl_controller_deadline(cl.f.c) - 1;
    ck_assert_uint_eq(tick(), 0);
    cl.now_ns++;
    ck_assert_uint_eq(tick(), 1);
    cluster_commit(&cl);
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_FENCED);
    ck_assert_uint_eq(tick(), 0);
}
END_TEST

/* A batch that is not committed is proposed again. */
START_TEST(tick_repeats_what_was_lost)
{
    cluster_start(&cl, "1");
    cluster_settle(&cl);
    cl.now_ns = kl_controller_deadline(cl.f.c);
    ck_assert_uint_eq(tick(), 1);
    kl_controller_records_clear(&cl.f.records);
    ck_assert_int_le(kl_controller_deadline(cl.f.c), cl.now_ns);
    ck_assert_uint_eq(tick(), 1);
}
END_TEST

START_TEST(contact_of_another_life)
{
    int64_t before;

    cluster_start(&cl, "1");
    cluster_settle(&cl);
    before = kl_controller_deadline(cl.f.c);
    cl.now_ns += 1000 * CLUSTER_MS;
    kl_controller_contact(cl.f.c, 1, cl.brokers[1].epoch - 1, cl.now_ns);
    kl_controller_contact(cl.f.c, 2, cl.brokers[1].epoch, cl.now_ns);
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), before);
    kl_controller_contact(cl.f.c, 1, cl.brokers[1].epoch, cl.now_ns);
    ck_assert_int_gt(kl_controller_deadline(cl.f.c), before);
    /* Times that come out of order do not shorten a session. */
    before = kl_controller_deadline(cl.f.c);
    kl_controller_contact(cl.f.c, 1, cl.brokers[1].epoch, cl.now_ns - 5);
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), before);
}
END_TEST

START_TEST(contact_lost_fences_at_once)
{
    cluster_start(&cl, "12");
    cluster_settle(&cl);
    cluster_pass(&cl, 1, "12");
    kl_controller_contact_lost(cl.f.c, 1, cl.brokers[1].epoch);
    ck_assert_int_le(kl_controller_deadline(cl.f.c), cl.now_ns);
    cluster_settle(&cl);
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_FENCED);
    ck_assert_int_eq(flags(2), 0);
}
END_TEST

/* The fences of many brokers that went together: the longest silent first. */
START_TEST(fences_one_by_one)
{
    cluster_start(&cl, "123");
    cluster_settle(&cl);
    cluster_pass(&cl, 100, "13");
    cluster_pass(&cl, 100, "3");
    cluster_pass(&cl, 9000, "");
    for (int left = 3; left > 0; left--) {
        int32_t id = left == 3 ? 2 : left == 2 ? 1 : 3;

        ck_assert_uint_eq(tick(), 1);
        ck_assert_int_eq(
            controller_fixture_record(&cl.f, 0).broker_change.broker_id, id);
        cluster_commit(&cl);
    }
    ck_assert_uint_eq(tick(), 0);
}
END_TEST

/* More partitions than a batch holds: fenced last. */
START_TEST(fences_in_batches)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 600, .rebalance_ms = -1};
    int batches = 0;

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "12");
    for (int i = 0; i < 6; i++)
        cluster_topic(&cl, (char[]){(char)('a' + i), 0}, "12 21 12", NULL,
                      NULL);
    cluster_settle(&cl);
    cluster_pass(&cl, 10000, "2");
    while (tick()) {
        ck_assert_int_eq(flags(1), 0);
        cluster_commit(&cl);
        batches++;
    }
    ck_assert_int_gt(batches, 3);
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_FENCED);
    for (int i = 0; i < 6; i++) {
        char name[] = {(char)('a' + i), 0};

        cluster_expect(&cl, name, 0, "12 isr=2 leader=2 epochs=1/1");
        cluster_expect(&cl, name, 1, "21 isr=2 leader=2 epochs=0/1");
    }
}
END_TEST

/* And more than an unfencing elects for: the tick goes on. */
START_TEST(elects_in_batches)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 600, .rebalance_ms = -1};

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "1");
    for (int i = 0; i < 6; i++)
        cluster_topic(&cl, (char[]){(char)('a' + i), 0}, "1 1 1", NULL, NULL);
    cluster_silence(&cl, "1");
    cluster_expect(&cl, "f", 2, "1 elr=1 leader=none(1) epochs=1/1");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    cluster_expect(&cl, "f", 2, "1 elr=1 leader=none(1) epochs=1/1");
    ck_assert_int_eq(kl_controller_deadline(cl.f.c), INT64_MIN);
    /* The controller that saw it does not have to be the one that ends it. */
    if (_i)
        cluster_fail_over(&cl);
    cluster_settle(&cl);
    for (int i = 0; i < 6; i++)
        cluster_expect(&cl, ((char[]){(char)('a' + i), 0}), 2,
                       "1 isr=1 leader=1 epochs=2/2");
    ck_assert_int_ne(kl_controller_deadline(cl.f.c), INT64_MIN);
}
END_TEST

START_TEST(rebalances_now_and_then)
{
    struct kl_controller_options o = {.broker_id = -1};

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "12");
    cluster_topic(&cl, "t", "12 21", NULL, NULL);
    cluster_silence(&cl, "1");
    cluster_start(&cl, "1");
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    cluster_expect(&cl, "t", 0, "12 isr=12 leader=2 epochs=1/2");
    cluster_pass(&cl, 200000, "12");
    ck_assert_uint_eq(tick(), 0);
    cluster_pass(&cl, 100000, "12");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "12 isr=12 leader=1 epochs=2/3");
    cluster_expect(&cl, "t", 1, "21 isr=2 leader=2 epochs=0/1");
}
END_TEST

START_TEST(memory_for_fencing)
{
    struct kl_controller_records before;
    uint64_t at = 0;
    int rc;

    cluster_start(&cl, "12");
    cluster_topic(&cl, "t", "12 21", NULL, NULL);
    cluster_settle(&cl);
    cluster_pass(&cl, 10000, "2");
    kl_controller_records_init(&before, &cl.f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &before), 0);
    do {
        kl_controller_records_deinit(&cl.f.records);
        fail_alloc_arm(&cl.f.memory, ++at);
        rc = kl_controller_tick(cl.f.c, cl.now_ns, &cl.f.records, &cl.f.error);
        fail_alloc_arm(&cl.f.memory, 0);
        ck_assert(rc == 0 || rc == KL_ENOMEM);
        ck_assert_int_eq(rc == 0, cl.f.records.count > 0);
        controller_fixture_unchanged(&cl.f, &before);
    } while (rc);
    ck_assert_uint_gt(at, 1);
    kl_controller_records_deinit(&before);
}
END_TEST

Suite *suite_controller_session(void);
Suite *suite_controller_session(void)
{
    Suite *s = suite_create("controller_session");
    TCase *t = tcase_create("session");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, deadline_of_nothing);
    tcase_add_test(t, deadline_is_the_first_end);
    tcase_add_test(t, tick_before_and_at_the_deadline);
    tcase_add_test(t, tick_repeats_what_was_lost);
    tcase_add_test(t, contact_of_another_life);
    tcase_add_test(t, contact_lost_fences_at_once);
    tcase_add_test(t, fences_one_by_one);
    tcase_add_test(t, fences_in_batches);
    tcase_add_loop_test(t, elects_in_batches, 0, 2);
    tcase_add_test(t, rebalances_now_and_then);
    tcase_add_test(t, memory_for_fencing);
    suite_add_tcase(s, t);
    return s;
}
