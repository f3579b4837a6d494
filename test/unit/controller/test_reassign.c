/*
 * Reassignment: protocol 1.13 and section 0.4.
 */
#include "cluster_help.h"

#include <check.h>
#include <string.h>

static struct cluster cl;

static void set_up(void)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "123456");
    cluster_topic(&cl, "t", "123", NULL, NULL);
    cluster_topic(&cl, "one", "1", NULL, NULL);
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static int reassign(const char *name, const char *target)
{
    int32_t replicas[64];
    uint32_t n = 0;
    int rc;

    for (; target[n]; n++)
        replicas[n] = target[n] - '0';
    rc = kl_controller_reassign(cl.f.c, name, 0, replicas, n, &cl.f.records,
                                &cl.f.error);
    cluster_commit(&cl);
    return rc;
}

static int cancel(const char *name)
{
    int rc = kl_controller_cancel_reassignment(cl.f.c, name, 0, &cl.f.records,
                                               &cl.f.error);

    cluster_commit(&cl);
    return rc;
}

START_TEST(reassign_refusals)
{
    char many[KL_WIRE_REPLICAS_MAX + 2];

    memset(many, '1', sizeof many);
    many[sizeof many - 1] = '\0';
    ck_assert_int_eq(reassign("none", "1"), KL_ENOTOPIC);
    ck_assert_int_eq(reassign("a/b", "1"), KL_ETOPICNAME);
    ck_assert_int_eq(kl_controller_reassign(cl.f.c, "t", 1, NULL, 1,
                                            &cl.f.records, &cl.f.error),
                     KL_ENOTOPIC);
    ck_assert_int_eq(reassign("t", ""), KL_EREPLICATION);
    ck_assert_int_eq(reassign("t", "121"), KL_EREPLICATION);
    ck_assert_int_eq(reassign("t", "129"), KL_EREPLICATION);
    ck_assert_int_eq(reassign("t", many), KL_EREPLICATION);
    cluster_beat(&cl, 1, 0, 1);
    ck_assert_int_eq(reassign("t", "12"), KL_EREPLICATION);
    ck_assert_int_eq(cancel("t"), KL_ENOREASSIGNMENT);
}
END_TEST

START_TEST(reassign_moves)
{
    ck_assert_int_eq(reassign("t", "456"), 0);
    cluster_expect(&cl, "t", 0,
                   "456123 isr=123 adding=456 removing=123 leader=1 "
                   "epochs=0/1");
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1234"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12345"), 0);
    cluster_expect(&cl, "t", 0,
                   "456123 isr=45123 adding=456 removing=123 leader=1 "
                   "epochs=0/3");
    /* The record that brings the last one completes it. */
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "123456"), KL_ENEWLEADER);
    cluster_expect(&cl, "t", 0, "456 isr=456 leader=4 epochs=1/4");
}
END_TEST

/* Those that leave need not be in sync, those that stay must be min. */
START_TEST(reassign_completes_with_min)
{
    ck_assert_int_eq(reassign("t", "124"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "14"), 0);
    cluster_expect(&cl, "t", 0, "124 isr=14 leader=1 epochs=1/3");
    ck_assert_int_eq(reassign("t", "125"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "15"), 0);
    cluster_expect(&cl, "t", 0, "125 isr=15 leader=1 epochs=2/5");
}
END_TEST

/* What stays must be min of what the target has. */
START_TEST(reassign_waits_for_min)
{
    cluster_topic(&cl, "m", "123", "min.insync.replicas", "2");
    ck_assert_int_eq(cluster_isr(&cl, "m", 0, "13"), 0);
    ck_assert_int_eq(reassign("m", "12"), 0);
    cluster_expect(&cl, "m", 0, "123 isr=13 removing=3 leader=1 epochs=0/2");
    ck_assert_int_eq(cluster_isr(&cl, "m", 0, "123"), 0);
    cluster_expect(&cl, "m", 0, "12 isr=12 leader=1 epochs=1/3");
    /* Never more than it has. */
    ck_assert_int_eq(cluster_isr(&cl, "m", 0, "1"), 0);
    ck_assert_int_eq(reassign("m", "1"), 0);
    cluster_expect(&cl, "m", 0, "1 isr=1 leader=1 epochs=2/5");
}
END_TEST

/* Section 0.4: growing refuses no writes on the way. */
START_TEST(reassign_grows)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find(cl.f.c, "one");

    ck_assert_int_eq(reassign("one", "123"), 0);
    cluster_expect(&cl, "one", 0, "123 isr=1 adding=23 leader=1 epochs=0/1");
    ck_assert_int_eq(kl_controller_partition_min_isr(t, t->partitions[0]), 1);
    ck_assert_int_eq(cluster_isr(&cl, "one", 0, "12"), 0);
    ck_assert_int_eq(kl_controller_partition_min_isr(t, t->partitions[0]), 1);
    ck_assert_int_eq(cluster_isr(&cl, "one", 0, "123"), 0);
    cluster_expect(&cl, "one", 0, "123 isr=123 leader=1 epochs=1/3");
    ck_assert_int_eq(kl_controller_partition_min_isr(t, t->partitions[0]), 2);
}
END_TEST

START_TEST(reassign_order_alone)
{
    ck_assert_int_eq(reassign("t", "123"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    ck_assert_int_eq(reassign("t", "321"), 0);
    cluster_expect(&cl, "t", 0, "321 isr=321 leader=1 epochs=0/1");
}
END_TEST

START_TEST(reassign_away_from_the_dead)
{
    cluster_silence(&cl, "3");
    ck_assert_int_eq(reassign("t", "124"), 0);
    cluster_expect(&cl, "t", 0,
                   "1243 isr=12 adding=4 removing=3 leader=1 epochs=0/2");
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "124"), 0);
    cluster_expect(&cl, "t", 0, "124 isr=124 leader=1 epochs=1/3");
}
END_TEST

/* ---- giving up ----------------------------------------------------------- */

START_TEST(cancel_restores)
{
    ck_assert_int_eq(reassign("t", "45"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1234"), 0);
    ck_assert_int_eq(cancel("t"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=1/3");
    ck_assert_int_eq(cancel("t"), KL_ENOREASSIGNMENT);
}
END_TEST

START_TEST(cancel_of_removing_alone)
{
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    /* Not enough to complete: 2 and 3 are not in sync, min of two is 1. */
    ck_assert_int_eq(reassign("t", "23"), 0);
    cluster_expect(&cl, "t", 0,
                   "231 isr=1 elr=23 removing=1 leader=1 epochs=0/2");
    ck_assert_int_eq(cancel("t"), 0);
    cluster_expect(&cl, "t", 0, "231 isr=1 elr=23 leader=1 epochs=0/3");
}
END_TEST

/* What the added ones hold must not be thrown away. */
START_TEST(cancel_that_would_lose)
{
    ck_assert_int_eq(reassign("t", "456"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "14"), 0);
    ck_assert_int_eq(cancel("t"), KL_ESTATE);
    /* The same for another target instead. */
    ck_assert_int_eq(reassign("t", "125"), KL_ESTATE);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "124"), 0);
    ck_assert_int_eq(cancel("t"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=12 leader=1 epochs=1/4");
}
END_TEST

/* They hold nothing that counts: below min is no reason to refuse. */
START_TEST(cancel_below_min)
{
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    ck_assert_int_eq(reassign("t", "124"), 0);
    ck_assert_int_eq(cancel("t"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=23 leader=1 epochs=1/3");
}
END_TEST

START_TEST(cancel_that_would_need_an_unclean_election)
{
    ck_assert_int_eq(reassign("one", "2"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "one", 0, "12"), KL_ENEWLEADER);
    cluster_expect(&cl, "one", 0, "2 isr=2 leader=2 epochs=1/2");
    ck_assert_int_eq(reassign("one", "23"), 0);
    ck_assert_int_eq(reassign("one", "234"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "one", 0, "23"), 0);
    cluster_silence(&cl, "2");
    cluster_expect(&cl, "one", 0, "234 isr=3 adding=34 leader=3 epochs=2/6");
    ck_assert_int_eq(cancel("one"), KL_ESTATE);
}
END_TEST

START_TEST(another_target_on_the_way)
{
    ck_assert_int_eq(reassign("one", "123"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "one", 0, "12"), 0);
    /* 3 is dropped, 2 is kept, 4 is new; one replica is still what counts. */
    ck_assert_int_eq(reassign("one", "124"), 0);
    cluster_expect(&cl, "one", 0, "124 isr=12 adding=24 leader=1 epochs=1/3");
    ck_assert_int_eq(cluster_isr(&cl, "one", 0, "124"), 0);
    cluster_expect(&cl, "one", 0, "124 isr=124 leader=1 epochs=2/4");
}
END_TEST

/* ---- by number ----------------------------------------------------------- */

static int resize(const char *name, uint32_t count)
{
    int rc = kl_controller_reassign(cl.f.c, name, 0, NULL, count, &cl.f.records,
                                    &cl.f.error);

    cluster_commit(&cl);
    return rc;
}

START_TEST(number_grows)
{
    const struct kl_controller_partition *p;

    ck_assert_int_eq(resize("one", 3), 0);
    p = cluster_partition(&cl, "one", 0);
    ck_assert_uint_eq(p->counts[KL_CONTROLLER_REPLICAS], 3);
    ck_assert_uint_eq(p->counts[KL_CONTROLLER_ADDING], 2);
    ck_assert_int_eq(p->ids[0], 1);
    /* Those with nothing. */
    ck_assert_int_gt(p->ids[1], 3);
    ck_assert_int_gt(p->ids[2], 3);
    /* Once more is the same. */
    ck_assert_int_eq(resize("one", 3), 0);
    ck_assert_int_eq(cluster_partition(&cl, "one", 0)->partition_epoch, 1);
    ck_assert_int_eq(resize("one", 7), KL_EREPLICATION);
    ck_assert_int_eq(resize("one", 0), KL_EREPLICATION);
}
END_TEST

START_TEST(number_shrinks)
{
    cluster_silence(&cl, "2");
    ck_assert_int_eq(resize("t", 2), 0);
    cluster_expect(&cl, "t", 0, "13 isr=13 leader=1 epochs=1/2");
    ck_assert_int_eq(resize("t", 1), 0);
    cluster_expect(&cl, "t", 0, "1 isr=1 leader=1 epochs=2/3");
}
END_TEST

/* Nobody is registered any more: there is nobody to move to. */
START_TEST(number_without_brokers)
{
    int more;

    cluster_silence(&cl, "123456");
    for (int32_t id = 1; id <= 6; id++) {
        ck_assert_int_eq(kl_controller_unregister_broker(
                             cl.f.c, id, &cl.f.records, &more, &cl.f.error),
                         0);
        cluster_commit(&cl);
    }
    cluster_expect(&cl, "one", 0, "1 leader=none epochs=1/2");
    ck_assert_int_eq(resize("one", 2), KL_EREPLICATION);
    ck_assert_int_eq(reassign("one", "2"), KL_EREPLICATION);
}
END_TEST

Suite *suite_controller_reassign(void);
Suite *suite_controller_reassign(void)
{
    Suite *s = suite_create("controller_reassign");
    TCase *t = tcase_create("reassign");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, reassign_refusals);
    tcase_add_test(t, reassign_moves);
    tcase_add_test(t, reassign_completes_with_min);
    tcase_add_test(t, reassign_waits_for_min);
    tcase_add_test(t, reassign_grows);
    tcase_add_test(t, reassign_order_alone);
    tcase_add_test(t, reassign_away_from_the_dead);
    tcase_add_test(t, cancel_restores);
    tcase_add_test(t, cancel_of_removing_alone);
    tcase_add_test(t, cancel_that_would_lose);
    tcase_add_test(t, cancel_below_min);
    tcase_add_test(t, cancel_that_would_need_an_unclean_election);
    tcase_add_test(t, another_target_on_the_way);
    tcase_add_test(t, number_grows);
    tcase_add_test(t, number_shrinks);
    tcase_add_test(t, number_without_brokers);
    suite_add_tcase(s, t);
    return s;
}
