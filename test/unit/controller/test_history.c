/*
 * Holes that Kafka had and closed, as far as the controller is concerned: each
 * scenario and what has to come of it, under the name that it is known by.
 */
#include "cluster_help.h"

#include <check.h>

static struct cluster cl;
static struct kl_controller_isr_member members[CLUSTER_BROKERS];

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

/* A restart that cannot prove anything. */
static void restart_uncleanly(int32_t id)
{
    struct kl_controller_registration r;

    kl_controller_contact_lost(cl.f.c, id, cl.brokers[id].epoch);
    r = cluster_registration(&cl, id);
    r.previous_epoch = -1;
    cluster_register(&cl, &r);
}

/* The answer to a proposal of a leader; applied where taken. */
static int propose(int32_t leader,
                   const struct kl_controller_alter_partition *a)
{
    int code;

    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, leader, cl.brokers[leader].epoch,
                                       a, 1, &code, &cl.f.records, &cl.f.error),
        0);
    cluster_commit(&cl);
    return code;
}

/* The last replica standing loses what it had not flushed. It must not lead
 * again and make the others throw away what was committed. */
START_TEST(kip_966_last_replica_standing)
{
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=2 leader=1 epochs=0/2");
    restart_uncleanly(1);
    /* 2 has everything, and it is there. */
    cluster_expect(&cl, "t", 0, "123 isr=2 known=1 leader=2 epochs=1/3");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    cluster_silence(&cl, "2");
    cluster_expect(&cl, "t", 0, "123 elr=2 known=1 leader=none(2) epochs=2/4");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 elr=2 known=1 leader=none(2) epochs=2/4");
    cluster_start(&cl, "2");
    cluster_expect(&cl, "t", 0, "123 isr=2 known=1 leader=2 epochs=3/5");
}
END_TEST

/* The only member's disk is replaced under the same node id. */
START_TEST(kafka_15495_14139_disk_replaced)
{
    struct kl_controller_registration r;

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    cluster_silence(&cl, "2");
    cluster_silence(&cl, "1");
    cluster_expect(&cl, "t", 0, "123 elr=12 leader=none(1) epochs=1/3");
    cl.brokers[1].disk = 7;
    r = cluster_registration(&cl, 1);
    cluster_register(&cl, &r);
    cluster_expect(&cl, "t", 0, "123 elr=2 leader=none epochs=1/4");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    cluster_expect(&cl, "t", 0, "123 elr=2 leader=none epochs=1/4");
    cluster_start(&cl, "2");
    cluster_expect(&cl, "t", 0, "123 isr=2 leader=2 epochs=2/5");
}
END_TEST

/* A leader adds a replica again that is fenced, or about to stop. */
START_TEST(kafka_13916_kip_841_fenced_or_stopping)
{
    struct kl_controller_alter_partition a;

    cluster_topic(&cl, "u", "321", NULL, NULL);
    cluster_silence(&cl, "2");
    a = cluster_proposal(&cl, "t", 0, "123", members);
    ck_assert_int_eq(propose(1, &a), KL_EINELIGIBLE);
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    a = cluster_proposal(&cl, "t", 0, "13", members);
    ck_assert_int_eq(propose(1, &a), KL_EINELIGIBLE);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=3 leader=1 epochs=0/2");
}
END_TEST

/* A fetch from before a restart makes the leader expand its ISR after the
 * follower has lost data. */
START_TEST(kafka_14617_kip_903_restarted_follower)
{
    struct kl_controller_alter_partition a;

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    a = cluster_proposal(&cl, "t", 0, "123", members);
    restart_uncleanly(3);
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 0), 0);
    /* The partition has not changed, and 3 is active: only its life differs. */
    ck_assert_int_eq(propose(1, &a), KL_EINELIGIBLE);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "123"), 0);
}
END_TEST

/* The leader looked twice and has one epoch from before the reboot and one from
 * after. What it sends must be of one moment; the controller takes the epoch
 * that it sends at its word. */
START_TEST(kafka_15221_reboot_in_between)
{
    struct kl_controller_alter_partition a;

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    a = cluster_proposal(&cl, "t", 0, "123", members);
    restart_uncleanly(2);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=3 known=2 leader=1 epochs=0/2");
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    a.partition_epoch = cluster_partition(&cl, "t", 0)->partition_epoch;
    ck_assert_int_eq(propose(1, &a), KL_EINELIGIBLE);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=3 known=2 leader=1 epochs=0/2");
}
END_TEST

/* An expansion is committed, its answer is lost: the joiner may be elected, so
 * the leader has to count it, whatever it proposes next. */
START_TEST(kip_497_maximal_isr)
{
    struct kl_controller_alter_partition shrink, expand;
    struct kl_controller_isr_member alone[CLUSTER_BROKERS];

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    expand = cluster_proposal(&cl, "t", 0, "123", members);
    shrink = cluster_proposal(&cl, "t", 0, "1", alone);
    ck_assert_int_eq(propose(1, &expand), 0);
    ck_assert_int_eq(propose(1, &shrink), KL_EPARTITIONEPOCH);
    cluster_silence(&cl, "12");
    cluster_expect(&cl, "t", 0, "123 isr=3 elr=2 leader=3 epochs=2/4");
}
END_TEST

/* Two proposals of one leader race: one of them wins, in whatever order they
 * come. */
START_TEST(kafka_12686_two_proposals_race)
{
    struct kl_controller_isr_member more[CLUSTER_BROKERS];
    struct kl_controller_alter_partition a[2];

    a[0] = cluster_proposal(&cl, "t", 0, "12", members);
    a[1] = cluster_proposal(&cl, "t", 0, "13", more);
    ck_assert_int_eq(propose(1, &a[_i]), 0);
    ck_assert_int_eq(propose(1, &a[!_i]), KL_EPARTITIONEPOCH);
    cluster_expect(&cl, "t", 0,
                   _i ? "123 isr=13 leader=1 epochs=0/1"
                      : "123 isr=12 leader=1 epochs=0/1");
}
END_TEST

/* A controller that is behind must not tell a leader that it is fenced. */
START_TEST(kafka_14154_zombie_controller)
{
    struct kl_controller_alter_partition a =
        cluster_proposal(&cl, "t", 0, "12", members);

    a.leader_epoch++;
    a.partition_epoch++;
    ck_assert_int_eq(propose(1, &a), KL_ENOTCONTROLLER);
    /* Even where it believes that somebody else leads. */
    ck_assert_int_eq(propose(2, &a), KL_ENOTCONTROLLER);
    a.leader_epoch--;
    ck_assert_int_eq(propose(1, &a), KL_ENOTCONTROLLER);
    a.partition_epoch--;
    ck_assert_int_eq(propose(1, &a), 0);
}
END_TEST

/* The answer is lost after the change was applied; the same is proposed again
 * and again. It is not applied twice, and the log has the outcome. */
START_TEST(kafka_14144_lost_answer)
{
    struct kl_controller_alter_partition a =
        cluster_proposal(&cl, "t", 0, "12", members);

    ck_assert_int_eq(propose(1, &a), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(propose(1, &a), KL_EPARTITIONEPOCH);
    cluster_expect(&cl, "t", 0, "123 isr=12 leader=1 epochs=0/1");
}
END_TEST

/* A shrink is taken and nothing else happens: the answer alone has what the
 * leader needs to go on. */
START_TEST(kafka_13091_shrink_alone)
{
    const struct kl_controller_partition *p;

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    p = cluster_partition(&cl, "t", 0);
    ck_assert_int_eq(p->leader, 1);
    ck_assert_int_eq(p->leader_epoch, 0);
    ck_assert_int_eq(p->partition_epoch, 1);
    ck_assert_uint_eq(p->counts[KL_CONTROLLER_ISR], 2);
    ck_assert_int_eq(kl_controller_partition_min_isr(
                         kl_controller_topic_find(cl.f.c, "t"), p),
                     2);
}
END_TEST

/* A stopping replica is out of the ISR at once, and the leader's epoch stays:
 * nothing has to begin anew. */
START_TEST(kafka_15021_stopping_follower)
{
    cluster_topic(&cl, "u", "312", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=12 leader=1 epochs=0/1");
    cluster_expect(&cl, "u", 0, "312 isr=12 leader=1 epochs=1/1");
}
END_TEST

/* Nodes that disagree on min ISR make the ELR unsound: its change is in the log
 * with its consequences. */
START_TEST(kafka_16540_min_isr_changes)
{
    const struct kl_controller_topic *t;

    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=23 leader=1 epochs=0/1");
    ck_assert_int_eq(
        controller_fixture_alter(&cl.f, "t", "min.insync.replicas", "3"), 0);
    /* One batch: the partition in it, and the key. */
    ck_assert_uint_eq(cl.f.records.count, 2);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=1 known=23 leader=1 epochs=0/2");
    t = kl_controller_topic_find(cl.f.c, "t");
    ck_assert_int_eq(kl_controller_partition_min_isr(t, t->partitions[0]), 3);
    cluster_silence(&cl, "1");
    cluster_expect(&cl, "t", 0, "123 elr=1 known=23 leader=none(1) epochs=1/3");
}
END_TEST

/* The last known leader is fenced. */
START_TEST(kafka_19522_fenced_last_known_leader)
{
    cluster_topic(&cl, "i", "123", "flush", "interval");
    cluster_silence(&cl, "123");
    for (int32_t i = 1; i <= 3; i++)
        restart_uncleanly(i);
    cluster_settle(&cl);
    cluster_expect(&cl, "i", 0, "123 known=23 leader=none(3) epochs=3/5");
    ck_assert_int_eq(kl_controller_elect_leader(cl.f.c, "i", 0,
                                                KL_CONTROLLER_UNCLEAN, -1,
                                                &cl.f.records, &cl.f.error),
                     KL_ENOCANDIDATE);
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 0), 0);
    cluster_expect(&cl, "i", 0, "123 isr=3 leader=3 epochs=4/6 recovering");
}
END_TEST

static int reassign(const char *name, const int32_t *replicas, uint32_t count)
{
    int rc = kl_controller_reassign(cl.f.c, name, 0, replicas, count,
                                    &cl.f.records, &cl.f.error);

    cluster_commit(&cl);
    return rc;
}

/* A reassignment completes below min and the removed replica lands in the
 * ELR; or it waits for a min that the target cannot have. */
START_TEST(kafka_15665_reassignment_and_min)
{
    static const int32_t target[] = {1, 4};

    cluster_start(&cl, "4");
    cluster_topic(&cl, "m", "123", "min.insync.replicas", "2");
    ck_assert_int_eq(cluster_isr(&cl, "m", 0, "12"), 0);
    ck_assert_int_eq(reassign("m", target, 2), 0);
    ck_assert_int_eq(cluster_isr(&cl, "m", 0, "1"), 0);
    cluster_expect(&cl, "m", 0,
                   "1423 isr=1 elr=2 adding=4 removing=23 leader=1 "
                   "epochs=0/3");
    ck_assert_int_eq(cluster_isr(&cl, "m", 0, "14"), 0);
    cluster_expect(&cl, "m", 0, "14 isr=14 leader=1 epochs=1/4");
    ck_assert_int_eq(reassign("m", target + 1, 1), 0);
    cluster_expect(&cl, "m", 0, "4 isr=4 leader=4 epochs=2/5");
    ck_assert_int_eq(
        kl_controller_partition_min_isr(kl_controller_topic_find(cl.f.c, "m"),
                                        cluster_partition(&cl, "m", 0)),
        1);
}
END_TEST

/* A broker registers again after a crash and its partitions stay as they
 * were: everybody waits for a leader that knows nothing of it. B69. */
START_TEST(kafka_18106_18635_registered_again)
{
    struct kl_controller_registration r;

    cluster_topic(&cl, "u", "312", NULL, NULL);
    kl_controller_contact_lost(cl.f.c, 1, cl.brokers[1].epoch);
    r = cluster_registration(&cl, 1);
    r.previous_epoch = -1;
    ck_assert_int_eq(cluster_propose(&cl, &r), 0);
    /* One batch: both partitions and the registration. */
    ck_assert_int_eq(cl.more, 0);
    ck_assert_uint_eq(cl.f.records.count, 3);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=23 leader=2 epochs=1/1");
    cluster_expect(&cl, "u", 0, "312 isr=32 leader=3 epochs=0/1");
}
END_TEST

/* Several brokers are silent: fenced from one view they would elect each
 * other. */
START_TEST(kafka_13173_stale_brokers)
{
    cluster_settle(&cl);
    cluster_pass(&cl, 10000, "3");
    for (int fenced = 0; fenced < 2; fenced++) {
        const struct kl_controller_partition *p;

        ck_assert_int_eq(
            kl_controller_tick(cl.f.c, cl.now_ns, &cl.f.records, &cl.f.error),
            0);
        ck_assert_uint_eq(cl.f.records.count, 2);
        cluster_commit(&cl);
        p = cluster_partition(&cl, "t", 0);
        ck_assert_int_eq(kl_controller_broker_find(cl.f.c, p->leader)->flags,
                         0);
    }
    cluster_expect(&cl, "t", 0, "123 isr=3 elr=2 leader=3 epochs=2/2");
}
END_TEST

/* A broker dies while the controller moves: the new one must miss it. */
START_TEST(kafka_18138_dead_during_fail_over)
{
    cluster_pass(&cl, 5000, "123");
    cluster_fail_over(&cl);
    cluster_settle(&cl);
    cluster_pass(&cl, 8000, "23");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    cluster_pass(&cl, 2000, "23");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=23 leader=2 epochs=1/1");
}
END_TEST

/* But one that was fenced before is not alive because of that. */
START_TEST(kafka_19130_fenced_before_fail_over)
{
    struct kl_controller_registration r;

    cluster_silence(&cl, "1");
    cluster_fail_over(&cl);
    cluster_settle(&cl);
    ck_assert_int_eq(kl_controller_deadline(cl.f.c),
                     cl.now_ns + 9000 * CLUSTER_MS);
    r = cluster_registration(&cl, 1);
    cluster_register(&cl, &r);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    ck_assert_int_eq(cl.reply.is_fenced, 0);
}
END_TEST

/* The controller is slow: what it has not read yet must not fence anybody. */
START_TEST(kafka_15019_17793_slow_controller)
{
    struct kl_controller_heartbeat h = {1, cl.brokers[1].epoch, cl.end, 0, 0};

    cluster_settle(&cl);
    cluster_pass(&cl, 1000, "123");
    /* Nobody listened for a minute; the first thing read is from 1. */
    cl.now_ns += 60000 * CLUSTER_MS;
    if (_i == 0)
        kl_controller_contact(cl.f.c, 1, cl.brokers[1].epoch, cl.now_ns);
    else if (_i == 1)
        ck_assert_int_eq(kl_controller_heartbeat(cl.f.c, &h, cl.end, cl.now_ns,
                                                 &cl.f.records, &cl.reply,
                                                 &cl.more, &cl.f.error),
                         0);
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    /* From then on silence counts. */
    cluster_pass(&cl, 8000, "12");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    cluster_pass(&cl, 2000, "12");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=12 leader=1 epochs=0/1");
}
END_TEST

/* A heartbeat waits in the queue behind slow commands: it was noted when it
 * came. */
START_TEST(kafka_15019_heartbeat_in_a_queue)
{
    cluster_settle(&cl);
    cluster_pass(&cl, 8000, "123");
    cluster_pass(&cl, 8000, "23");
    kl_controller_contact(cl.f.c, 1, cl.brokers[1].epoch, cl.now_ns);
    cluster_pass(&cl, 4000, "23");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
}
END_TEST

/* A stopping broker stays in the cluster, and leads nothing, until the others
 * know: it has to go on applying the log. */
START_TEST(kafka_13858_14296_stopping_leader)
{
    struct kl_controller_heartbeat h = {2, cl.brokers[2].epoch, cl.end, 0, 0};

    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    cluster_expect(&cl, "t", 0, "123 isr=23 leader=2 epochs=1/1");
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
        ck_assert_int_eq(cl.reply.should_shutdown, 0);
        ck_assert_int_eq(cl.reply.is_fenced, 0);
    }
    /* Others that have not seen it do not count as knowing. */
    ck_assert_int_eq(kl_controller_heartbeat(cl.f.c, &h, cl.end, cl.now_ns,
                                             &cl.f.records, &cl.reply, &cl.more,
                                             &cl.f.error),
                     0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 0);
    cluster_beat(&cl, 2, 0, 0);
    cluster_beat(&cl, 3, 0, 0);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 1), 0);
    ck_assert_int_eq(cl.reply.should_shutdown, 1);
}
END_TEST

/* A cancelled reassignment and a topic made again leave nothing that could be
 * taken for the present one. F50. */
START_TEST(kafka_13972_14616_stray_replicas)
{
    static const int32_t target[] = {1, 2, 4};
    struct kl_controller_alter_partition a;

    cluster_start(&cl, "4");
    ck_assert_int_eq(reassign("t", target, 3), 0);
    ck_assert_int_eq(kl_controller_cancel_reassignment(
                         cl.f.c, "t", 0, &cl.f.records, &cl.f.error),
                     0);
    cluster_commit(&cl);
    ck_assert(!kl_controller_partition_has(cluster_partition(&cl, "t", 0),
                                           KL_CONTROLLER_REPLICAS, 4));
    a = cluster_proposal(&cl, "t", 0, "12", members);
    ck_assert_int_eq(
        kl_controller_delete_topic(cl.f.c, "t", &cl.f.records, &cl.f.error), 0);
    cluster_commit(&cl);
    cluster_topic(&cl, "t", "123", NULL, NULL);
    a.leader_epoch = a.partition_epoch = 0;
    ck_assert_int_eq(propose(1, &a), KL_ENOTOPIC);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
}
END_TEST

Suite *suite_controller_history(void);
Suite *suite_controller_history(void)
{
    Suite *s = suite_create("controller_history");
    TCase *t = tcase_create("history");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, kip_966_last_replica_standing);
    tcase_add_test(t, kafka_15495_14139_disk_replaced);
    tcase_add_test(t, kafka_13916_kip_841_fenced_or_stopping);
    tcase_add_test(t, kafka_14617_kip_903_restarted_follower);
    tcase_add_test(t, kafka_15221_reboot_in_between);
    tcase_add_test(t, kip_497_maximal_isr);
    tcase_add_loop_test(t, kafka_12686_two_proposals_race, 0, 2);
    tcase_add_test(t, kafka_14154_zombie_controller);
    tcase_add_test(t, kafka_14144_lost_answer);
    tcase_add_test(t, kafka_13091_shrink_alone);
    tcase_add_test(t, kafka_15021_stopping_follower);
    tcase_add_test(t, kafka_16540_min_isr_changes);
    tcase_add_test(t, kafka_19522_fenced_last_known_leader);
    tcase_add_test(t, kafka_15665_reassignment_and_min);
    tcase_add_test(t, kafka_18106_18635_registered_again);
    tcase_add_test(t, kafka_13173_stale_brokers);
    tcase_add_test(t, kafka_18138_dead_during_fail_over);
    tcase_add_test(t, kafka_19130_fenced_before_fail_over);
    tcase_add_loop_test(t, kafka_15019_17793_slow_controller, 0, 3);
    tcase_add_test(t, kafka_15019_heartbeat_in_a_queue);
    tcase_add_test(t, kafka_13858_14296_stopping_leader);
    tcase_add_test(t, kafka_13972_14616_stray_replicas);
    suite_add_tcase(s, t);
    return s;
}
