/*
 * ISR proposals: every answer, in the order of protocol 1.8.
 */
#include "cluster_help.h"

#include <check.h>

static struct cluster cl;
static struct kl_controller_isr_member members[CLUSTER_BROKERS];

static void set_up(void)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "1234");
    cluster_topic(&cl, "t", "123 231", NULL, NULL);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=12 leader=1 epochs=0/1");
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static struct kl_controller_alter_partition proposal(const char *isr)
{
    return cluster_proposal(&cl, "t", 0, isr, members);
}

/* What a broker is answered; nothing is applied. */
static int answer(int32_t broker, const struct kl_controller_alter_partition *a)
{
    int code;

    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, broker, cl.brokers[broker].epoch,
                                       a, 1, &code, &cl.f.records, &cl.f.error),
        0);
    ck_assert_int_eq(code == 0 || code == KL_ENEWLEADER,
                     cl.f.records.count == 1);
    return code;
}

START_TEST(answers_about_the_sender)
{
    struct kl_controller_alter_partition a = proposal("123");
    int code;

    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, 1, cl.brokers[1].epoch - 1, &a,
                                       1, &code, &cl.f.records, &cl.f.error),
        KL_EFENCED);
    ck_assert_int_eq(kl_controller_alter_partitions(cl.f.c, 9, 1, &a, 1, &code,
                                                    &cl.f.records, &cl.f.error),
                     KL_ENOBROKER);
    ck_assert_uint_eq(cl.f.records.count, 0);
}
END_TEST

START_TEST(answers_in_their_order)
{
    struct kl_controller_alter_partition a = proposal("11");

    /* Everything is wrong: the earlier answer goes first. */
    a.topic_id.bytes[15] ^= 1;
    a.leader_epoch++;
    ck_assert_int_eq(answer(2, &a), KL_ENOTOPIC);
    a.topic_id.bytes[15] ^= 1;
    a.partition = 2;
    ck_assert_int_eq(answer(2, &a), KL_ENOTOPIC);
    a.partition = -1;
    ck_assert_int_eq(answer(2, &a), KL_ENOTOPIC);
    a.partition = 0;
    ck_assert_int_eq(answer(2, &a), KL_ENOTCONTROLLER);
    a.leader_epoch -= 2;
    a.partition_epoch++;
    ck_assert_int_eq(answer(2, &a), KL_ENOTCONTROLLER);
    a.partition_epoch -= 2;
    ck_assert_int_eq(answer(2, &a), KL_EFENCED);
    a.leader_epoch++;
    ck_assert_int_eq(answer(2, &a), KL_EINVAL);
    ck_assert_int_eq(answer(1, &a), KL_EPARTITIONEPOCH);
    a.partition_epoch++;
    ck_assert_int_eq(answer(1, &a), KL_EINVAL);
    a.isr_count = 1;
    ck_assert_int_eq(answer(1, &a), 0);
}
END_TEST

START_TEST(answers_about_the_isr)
{
    static const struct
    {
        const char *isr;
        int code;
    } cases[] = {{"", KL_EINVAL},   {"2", KL_EINVAL},   {"23", KL_EINVAL},
                 {"14", KL_EINVAL}, {"121", KL_EINVAL}, {"122", KL_EINVAL},
                 {"1", 0},          {"123", 0},         {"321", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kl_controller_alter_partition a = proposal(cases[i].isr);

        ck_assert_msg(answer(1, &a) == cases[i].code, "%s", cases[i].isr);
    }
}
END_TEST

/* The order of the replicas is the only one that is written. */
START_TEST(isr_in_the_order_of_replicas)
{
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "321"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/2");
}
END_TEST

START_TEST(the_same_isr_writes_nothing)
{
    struct kl_controller_alter_partition a = proposal("21");
    int code;

    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, 1, cl.brokers[1].epoch, &a, 1,
                                       &code, &cl.f.records, &cl.f.error),
        0);
    ck_assert_int_eq(code, 0);
    ck_assert_uint_eq(cl.f.records.count, 0);
}
END_TEST

START_TEST(members_must_be_eligible)
{
    struct kl_controller_alter_partition a = proposal("123");

    members[2].broker_epoch--;
    ck_assert_int_eq(answer(1, &a), KL_EINELIGIBLE);
    /* Without an epoch: those that are in the ISR already. */
    members[2].broker_epoch = -1;
    ck_assert_int_eq(answer(1, &a), KL_EINELIGIBLE);
    members[2].broker_epoch = cl.brokers[3].epoch;
    members[1].broker_epoch = members[0].broker_epoch = -1;
    ck_assert_int_eq(answer(1, &a), 0);
    cluster_silence(&cl, "3");
    a = proposal("123");
    ck_assert_int_eq(answer(1, &a), KL_EINELIGIBLE);
    cluster_start(&cl, "3");
    a = proposal("123");
    ck_assert_int_eq(answer(1, &a), 0);
}
END_TEST

START_TEST(members_in_shutdown_are_not_eligible)
{
    struct kl_controller_alter_partition a;

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "123"), 0);
    cluster_topic(&cl, "u", "32", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=12 leader=1 epochs=0/3");
    a = proposal("123");
    ck_assert_int_eq(answer(1, &a), KL_EINELIGIBLE);
}
END_TEST

START_TEST(shrinks_fill_the_elr)
{
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=2 leader=1 epochs=0/2");
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "13"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=13 leader=1 epochs=0/3");
}
END_TEST

/* KIP-704: alone until it has recovered, and never again after. */
START_TEST(recovering)
{
    struct kl_controller_alter_partition a = proposal("12");

    a.recovering = 1;
    ck_assert_int_eq(answer(1, &a), KL_EINVAL);
    a = proposal("1");
    a.recovering = 1;
    ck_assert_int_eq(answer(1, &a), KL_EINVAL);
    cluster_silence(&cl, "12");
    for (int i = 1; i <= 2; i++) {
        struct kl_controller_registration r = cluster_registration(&cl, i);

        r.previous_epoch = -1;
        cluster_register(&cl, &r);
    }
    cluster_expect(&cl, "t", 0, "123 known=12 leader=none(2) epochs=2/5");
    ck_assert_int_eq(kl_controller_elect_leader(cl.f.c, "t", 0,
                                                KL_CONTROLLER_UNCLEAN, 3,
                                                &cl.f.records, &cl.f.error),
                     0);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=3 leader=3 epochs=3/6 recovering");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    a = proposal("13");
    a.recovering = 1;
    ck_assert_int_eq(answer(3, &a), KL_EINVAL);
    a = proposal("3");
    a.recovering = 1;
    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, 3, cl.brokers[3].epoch, &a, 1,
                                       &(int){0}, &cl.f.records, &cl.f.error),
        0);
    ck_assert_uint_eq(cl.f.records.count, 0);
    a.recovering = 0;
    ck_assert_int_eq(answer(3, &a), 0);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=3 leader=3 epochs=3/7");
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "13"), 0);
}
END_TEST

/* ---- several at once ----------------------------------------------------- */

START_TEST(many_in_one_request)
{
    struct kl_controller_isr_member more[2][CLUSTER_BROKERS];
    struct kl_controller_alter_partition a[4];
    int codes[4];

    cluster_topic(&cl, "u", "124 412", NULL, NULL);
    a[0] = proposal("1");
    a[1] = cluster_proposal(&cl, "u", 1, "41", more[0]);
    a[2] = cluster_proposal(&cl, "u", 0, "12", more[1]);
    a[3] = a[2];
    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, 1, cl.brokers[1].epoch, a, 4,
                                       codes, &cl.f.records, &cl.f.error),
        0);
    ck_assert_int_eq(codes[0], 0);
    ck_assert_int_eq(codes[1], KL_EINVAL); /* led by 4 */
    ck_assert_int_eq(codes[2], 0);
    ck_assert_int_eq(codes[3], KL_EINVAL); /* the second time */
    ck_assert_uint_eq(cl.f.records.count, 2);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=2 leader=1 epochs=0/2");
    cluster_expect(&cl, "u", 0, "124 isr=12 leader=1 epochs=0/1");
    cluster_expect(&cl, "u", 1, "412 isr=412 leader=4 epochs=0/0");
}
END_TEST

START_TEST(more_than_a_batch)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 450, .rebalance_ms = -1};
    struct kl_controller_alter_partition a[5];
    struct kl_controller_isr_member more[5][CLUSTER_BROKERS];
    int codes[5];

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "12");
    for (int i = 0; i < 5; i++) {
        char name[] = {(char)('a' + i), 0};

        cluster_topic(&cl, name, "12", NULL, NULL);
        a[i] = cluster_proposal(&cl, name, 0, "1", more[i]);
    }
    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, 1, cl.brokers[1].epoch, a, 5,
                                       codes, &cl.f.records, &cl.f.error),
        0);
    ck_assert_int_eq(codes[0], 0);
    ck_assert_int_eq(codes[4], KL_ECANCELED);
    for (int i = 0; i < 5; i++)
        ck_assert(codes[i] == (i < (int)cl.f.records.count ? 0 : KL_ECANCELED));
}
END_TEST

Suite *suite_controller_alter_partition(void);
Suite *suite_controller_alter_partition(void)
{
    Suite *s = suite_create("controller_alter_partition");
    TCase *t = tcase_create("alter_partition");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, answers_about_the_sender);
    tcase_add_test(t, answers_in_their_order);
    tcase_add_test(t, answers_about_the_isr);
    tcase_add_test(t, isr_in_the_order_of_replicas);
    tcase_add_test(t, the_same_isr_writes_nothing);
    tcase_add_test(t, members_must_be_eligible);
    tcase_add_test(t, members_in_shutdown_are_not_eligible);
    tcase_add_test(t, shrinks_fill_the_elr);
    tcase_add_test(t, recovering);
    tcase_add_test(t, many_in_one_request);
    tcase_add_test(t, more_than_a_batch);
    suite_add_tcase(s, t);
    return s;
}
