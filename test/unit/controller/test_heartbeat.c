/*
 * The life of a registered broker: unfenced, fenced, in controlled shutdown.
 */
#include "cluster_help.h"

#include <check.h>

static struct cluster cl;

static void set_up(void)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "123");
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static int flags(int32_t id)
{
    return kl_controller_broker_find(cl.f.c, id)->flags;
}

static int beat_at(int32_t id, int64_t metadata_offset)
{
    struct kl_controller_heartbeat h = {id, cl.brokers[id].epoch,
                                        metadata_offset, 0, 0};
    int rc =
        kl_controller_heartbeat(cl.f.c, &h, cl.end, cl.now_ns, &cl.f.records,
                                &cl.reply, &cl.more, &cl.f.error);

    if (rc == 0)
        cluster_commit(&cl);
    return rc;
}

START_TEST(beat_of_unknown_or_old)
{
    ck_assert_int_eq(cluster_beat(&cl, 4, 0, 0), KL_ENOBROKER);
    cl.brokers[1].epoch--;
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), KL_EFENCED);
    cl.brokers[1].epoch++;
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    kl_controller_resign(cl.f.c);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), KL_ENOTCONTROLLER);
}
END_TEST

/* Rule 1.12.3: unfenced once it has applied its own registration. */
START_TEST(unfences_when_caught_up)
{
    struct kl_controller_registration r = cluster_registration(&cl, 4);

    cluster_register(&cl, &r);
    ck_assert_int_eq(beat_at(4, r.metadata_leo), 0);
    ck_assert_int_eq(cl.reply.is_caught_up, 0);
    ck_assert_int_eq(cl.reply.is_fenced, 1);
    ck_assert_int_eq(beat_at(4, cl.brokers[4].epoch), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 1);
    ck_assert_int_eq(beat_at(4, cl.brokers[4].epoch + 1), 0);
    ck_assert_int_eq(cl.reply.is_caught_up, 1);
    ck_assert_int_eq(cl.reply.is_fenced, 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(flags(4), 0);
    /* And says nothing more. */
    ck_assert_int_eq(beat_at(4, cl.end), 0);
    ck_assert_uint_eq(cl.f.records.count, 0);
}
END_TEST

START_TEST(stays_fenced_as_long_as_it_wants)
{
    struct kl_controller_registration r = cluster_registration(&cl, 4);

    cluster_register(&cl, &r);
    ck_assert_int_eq(cluster_beat(&cl, 4, 1, 0), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 1);
    ck_assert_int_eq(cluster_beat(&cl, 4, 0, 0), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 0);
}
END_TEST

/* Section 0.11: a node whose disk is stuck asks to be fenced. */
START_TEST(fences_on_request)
{
    int64_t epoch = cl.brokers[1].epoch;

    cluster_topic(&cl, "t", "123", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 1, 1, 0), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 1);
    cluster_expect(&cl, "t", 0, "123 isr=23 leader=2 epochs=1/1");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 0);
    /* The epoch survives. */
    ck_assert_int_eq(kl_controller_broker_find(cl.f.c, 1)->epoch, epoch);
    cluster_expect(&cl, "t", 0, "123 isr=23 leader=2 epochs=1/1");
}
END_TEST

START_TEST(unfencing_elects)
{
    cluster_topic(&cl, "t", "12 21 13", NULL, NULL);
    cluster_silence(&cl, "12");
    cluster_expect(&cl, "t", 0, "12 elr=2 leader=none(2) epochs=2/2");
    cluster_expect(&cl, "t", 2, "13 isr=3 leader=3 epochs=1/1");
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    cluster_expect(&cl, "t", 0, "12 isr=2 leader=2 epochs=3/3");
    cluster_expect(&cl, "t", 1, "21 isr=2 leader=2 epochs=2/3");
}
END_TEST

/* ---- controlled shutdown ------------------------------------------------- */

START_TEST(shutdown_moves_leaders_first)
{
    cluster_topic(&cl, "t", "123 231 312", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_SHUTDOWN);
    cluster_expect(&cl, "t", 0, "123 isr=23 leader=2 epochs=1/1");
    cluster_expect(&cl, "t", 1, "231 isr=23 leader=2 epochs=0/1");
    cluster_expect(&cl, "t", 2, "312 isr=32 leader=3 epochs=0/1");
    /* The others must know. */
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(beat_at(2, cl.end), 0);
    ck_assert_int_eq(beat_at(3, cl.end - 1), 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(beat_at(3, cl.end), 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
    ck_assert_int_eq(cl.reply.is_fenced, 1);
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_SHUTDOWN | KL_WIRE_BROKER_FENCED);
    /* Again, where the answer was lost. */
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
    ck_assert_uint_eq(cl.f.records.count, 0);
    /* It cannot change its mind without a new registration. */
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 1);
    cluster_start(&cl, "1");
    ck_assert_int_eq(flags(1), 0);
}
END_TEST

/* A broker that is silent holds nobody up for longer than its session. */
START_TEST(shutdown_waits_for_active_ones_only)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    cluster_silence(&cl, "3");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(beat_at(2, cl.end), 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
}
END_TEST

START_TEST(shutdown_without_leaders_is_at_once)
{
    cluster_topic(&cl, "t", "213", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_FENCED);
    cluster_expect(&cl, "t", 0, "213 isr=23 leader=2 epochs=0/1");
}
END_TEST

START_TEST(shutdown_of_a_fenced_one_is_at_once)
{
    cluster_silence(&cl, "1");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
    ck_assert_uint_eq(cl.f.records.count, 0);
}
END_TEST

/* The last one takes its partitions with it and gets them back. */
START_TEST(shutdown_of_all)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    for (int32_t id = 1; id <= 3; id++) {
        ck_assert_int_eq(cluster_beat(&cl, id, 0, 1), 0);
        for (int32_t other = id + 1; other <= 3; other++)
            ck_assert_int_eq(beat_at(other, cl.end), 0);
        ck_assert_int_eq(cluster_beat(&cl, id, 0, 1), 0);
        ck_assert_int_eq(cl.reply.should_shutdown, 1);
    }
    cluster_expect(&cl, "t", 0, "123 elr=23 leader=none(3) epochs=3/3");
    cluster_start(&cl, "1");
    cluster_expect(&cl, "t", 0, "123 elr=23 leader=none(3) epochs=3/3");
    cluster_start(&cl, "2");
    cluster_expect(&cl, "t", 0, "123 isr=2 elr=3 leader=2 epochs=4/4");
}
END_TEST

/* Another controller goes on with a shutdown that it finds. */
START_TEST(shutdown_through_fail_over)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    cluster_fail_over(&cl);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(beat_at(2, cl.end), 0);
    ck_assert_int_eq(beat_at(3, cl.end), 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
}
END_TEST

START_TEST(shutdown_that_hangs_is_fenced)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    cluster_silence(&cl, "1");
    ck_assert_int_eq(flags(1), KL_WIRE_BROKER_SHUTDOWN | KL_WIRE_BROKER_FENCED);
}
END_TEST

START_TEST(shutdown_in_batches)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 600, .rebalance_ms = -1};
    struct kl_controller_heartbeat h;
    int batches = 0;

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "12");
    for (int i = 0; i < 5; i++)
        cluster_topic(&cl, (char[]){(char)('a' + i), 0}, "12 12 12", NULL,
                      NULL);
    h = (struct kl_controller_heartbeat){1, cl.brokers[1].epoch, cl.end, 0, 1};
    do {
        ck_assert_int_eq(kl_controller_heartbeat(cl.f.c, &h, cl.end, cl.now_ns,
                                                 &cl.f.records, &cl.reply,
                                                 &cl.more, &cl.f.error),
                         0);
        ck_assert_int_eq(cl.reply.should_shutdown, 0);
        cluster_commit(&cl);
        ck_assert_int_eq(flags(1), cl.more ? 0 : KL_WIRE_BROKER_SHUTDOWN);
        batches++;
    } while (cl.more);
    ck_assert_int_ge(batches, 3);
    cluster_expect(&cl, "e", 2, "12 isr=2 leader=2 epochs=1/1");
    /* Its peer must know the last of them. */
    ck_assert_int_eq(beat_at(2, cl.end - 1), 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    ck_assert_int_eq(beat_at(2, cl.end), 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
}
END_TEST

Suite *suite_controller_heartbeat(void);
Suite *suite_controller_heartbeat(void)
{
    Suite *s = suite_create("controller_heartbeat");
    TCase *t = tcase_create("heartbeat");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, beat_of_unknown_or_old);
    tcase_add_test(t, unfences_when_caught_up);
    tcase_add_test(t, stays_fenced_as_long_as_it_wants);
    tcase_add_test(t, fences_on_request);
    tcase_add_test(t, unfencing_elects);
    tcase_add_test(t, shutdown_moves_leaders_first);
    tcase_add_test(t, shutdown_waits_for_active_ones_only);
    tcase_add_test(t, shutdown_without_leaders_is_at_once);
    tcase_add_test(t, shutdown_of_a_fenced_one_is_at_once);
    tcase_add_test(t, shutdown_of_all);
    tcase_add_test(t, shutdown_through_fail_over);
    tcase_add_test(t, shutdown_that_hangs_is_fenced);
    tcase_add_test(t, shutdown_in_batches);
    suite_add_tcase(s, t);
    return s;
}
