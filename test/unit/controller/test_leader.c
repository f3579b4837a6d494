/*
 * Leaders on request: preferred, and unclean.
 */
#include "cluster_help.h"

#include <check.h>

static struct cluster cl;

static void set_up(void)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "123");
    cluster_topic(&cl, "t", "123", NULL, NULL);
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static int elect(enum kl_controller_election election, int32_t leader)
{
    int rc = kl_controller_elect_leader(cl.f.c, "t", 0, election, leader,
                                        &cl.f.records, &cl.f.error);

    if (rc)
        ck_assert_uint_eq(cl.f.records.count, 0);
    cluster_commit(&cl);
    return rc;
}

/* Everybody restarts without proof of anything, 3 last. */
static void all_lost(void)
{
    cluster_silence(&cl, "123");
    for (int i = 1; i <= 3; i++) {
        struct kl_controller_registration r = cluster_registration(&cl, i);

        r.previous_epoch = -1;
        cluster_register(&cl, &r);
    }
}

START_TEST(elect_refusals)
{
    ck_assert_int_eq(kl_controller_elect_leader(cl.f.c, "u", 0,
                                                KL_CONTROLLER_PREFERRED, -1,
                                                &cl.f.records, &cl.f.error),
                     KL_ENOTOPIC);
    ck_assert_int_eq(kl_controller_elect_leader(cl.f.c, "t", 1,
                                                KL_CONTROLLER_PREFERRED, -1,
                                                &cl.f.records, &cl.f.error),
                     KL_ENOTOPIC);
    ck_assert_str_eq(cl.f.error.text, "topic t has no partition 1");
}
END_TEST

START_TEST(preferred)
{
    ck_assert_int_eq(elect(KL_CONTROLLER_PREFERRED, -1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    cluster_silence(&cl, "1");
    ck_assert_int_eq(elect(KL_CONTROLLER_PREFERRED, -1), KL_ENOCANDIDATE);
    cluster_start(&cl, "1");
    /* There, but not in sync. */
    ck_assert_int_eq(elect(KL_CONTROLLER_PREFERRED, -1), KL_ENOCANDIDATE);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "123"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=2 epochs=1/2");
    ck_assert_int_eq(elect(KL_CONTROLLER_PREFERRED, -1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=2/3");
}
END_TEST

START_TEST(unclean_is_not_for_those_with_a_leader)
{
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, 2), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
}
END_TEST

START_TEST(unclean_takes_the_last_known_leader)
{
    all_lost();
    cluster_expect(&cl, "t", 0, "123 known=23 leader=none(3) epochs=3/5");
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, -1), KL_ENOCANDIDATE);
    for (int i = 1; i <= 3; i++)
        ck_assert_int_eq(cluster_beat(&cl, i, 0, 0), 0);
    /* Section 0.3: nobody leads without being told to. */
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 known=23 leader=none(3) epochs=3/5");
    ck_assert_int_eq(elect(KL_CONTROLLER_PREFERRED, -1), KL_ENOCANDIDATE);
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, -1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=3 leader=3 epochs=4/6 recovering");
}
END_TEST

START_TEST(unclean_takes_who_is_wanted)
{
    all_lost();
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, 2), KL_ENOCANDIDATE);
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, 7), KL_ENOCANDIDATE);
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, 2), 0);
    cluster_expect(&cl, "t", 0, "123 isr=2 leader=2 epochs=4/6 recovering");
}
END_TEST

/* Eligible replicas are away: an operator may give them up. */
START_TEST(unclean_beside_an_elr)
{
    cluster_silence(&cl, "3");
    cluster_silence(&cl, "2");
    cluster_silence(&cl, "1");
    cluster_expect(&cl, "t", 0, "123 elr=12 leader=none(1) epochs=1/3");
    cluster_start(&cl, "3");
    cluster_expect(&cl, "t", 0, "123 elr=12 leader=none(1) epochs=1/3");
    ck_assert_int_eq(elect(KL_CONTROLLER_UNCLEAN, -1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=3 leader=3 epochs=2/4 recovering");
    /* What the others have is another history. */
    cluster_start(&cl, "12");
    cluster_expect(&cl, "t", 0, "123 isr=3 leader=3 epochs=2/4 recovering");
}
END_TEST

/* KIP-966 with flush=interval: the last known leader leads by itself. */
START_TEST(last_known_leader_of_interval_topics)
{
    cluster_topic(&cl, "i", "123", "flush", "interval");
    all_lost();
    cluster_expect(&cl, "i", 0, "123 known=23 leader=none(3) epochs=3/5");
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    cluster_settle(&cl);
    cluster_expect(&cl, "i", 0, "123 known=23 leader=none(3) epochs=3/5");
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 0), 0);
    cluster_expect(&cl, "i", 0, "123 isr=3 leader=3 epochs=4/6 recovering");
}
END_TEST

Suite *suite_controller_leader(void);
Suite *suite_controller_leader(void)
{
    Suite *s = suite_create("controller_leader");
    TCase *t = tcase_create("leader");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, elect_refusals);
    tcase_add_test(t, preferred);
    tcase_add_test(t, unclean_is_not_for_those_with_a_leader);
    tcase_add_test(t, unclean_takes_the_last_known_leader);
    tcase_add_test(t, unclean_takes_who_is_wanted);
    tcase_add_test(t, unclean_beside_an_elr);
    tcase_add_test(t, last_known_leader_of_interval_topics);
    suite_add_tcase(s, t);
    return s;
}
