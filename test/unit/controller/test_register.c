/*
 * Registration of brokers: who is refused, what a restart costs, and the end of
 * a registration.
 */
#include "cluster_help.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct cluster cl;

static void set_up(void)
{
    cluster_init(&cl, NULL);
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static void refused(const struct kl_controller_registration *r, int code)
{
    ck_assert_int_eq(cluster_propose(&cl, r), code);
    ck_assert_int_eq(cl.f.error.code, code);
    ck_assert_uint_eq(cl.f.records.count, 0);
}

static const struct kl_controller_broker *broker(int32_t id)
{
    return kl_controller_broker_find(cl.f.c, id);
}

START_TEST(register_new)
{
    struct kl_controller_registration r = cluster_registration(&cl, 3);
    const struct kl_controller_broker *b;
    int64_t end = cl.end;

    r.rack = "r1";
    cluster_register(&cl, &r);
    b = broker(3);
    ck_assert_int_eq(cl.brokers[3].epoch, end);
    ck_assert_int_eq(b->epoch, end);
    ck_assert_int_eq(b->flags, KL_WIRE_BROKER_FENCED);
    ck_assert_str_eq(b->rack, "r1");
    ck_assert_uint_eq(b->endpoint_count, 1);
    ck_assert_str_eq(b->endpoints[0], "tcp:127.0.0.1:9092");
    ck_assert_int_eq(b->batch_bytes_max, 1 << 20);
    ck_assert(kl_base_uuid_equal(&b->directory_id, &r.directory_id));
    ck_assert_ptr_eq(kl_controller_broker_at(cl.f.c, 0), b);
    ck_assert_ptr_null(kl_controller_broker_at(cl.f.c, 1));
    ck_assert_ptr_null(broker(4));
}
END_TEST

/* A request that is repeated gets the same answer. */
START_TEST(register_again_is_the_same)
{
    struct kl_controller_registration r = cluster_registration(&cl, 1);
    int64_t epoch;

    cluster_register(&cl, &r);
    epoch = cl.brokers[1].epoch;
    cluster_register(&cl, &r);
    ck_assert_int_eq(cl.brokers[1].epoch, epoch);
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    cluster_register(&cl, &r);
    ck_assert_int_eq(cl.brokers[1].epoch, epoch);
    ck_assert_int_eq(broker(1)->flags, 0);
}
END_TEST

START_TEST(register_refusals)
{
    struct kl_controller_registration r = cluster_registration(&cl, 1);
    static const struct kl_controller_log_id twice[2];
    static char big[300];
    static const char *const endpoints[] = {big};

    r.cluster_id.bytes[3] ^= 1;
    refused(&r, KL_EFOREIGN);
    r = cluster_registration(&cl, 1);
    r.feature_min = 2;
    r.feature_max = 3;
    refused(&r, KL_EUNSUPPORTED);
    r.feature_min = r.feature_max = 0;
    refused(&r, KL_EUNSUPPORTED);
    r = cluster_registration(&cl, 1);
    r.damaged = twice;
    r.damaged_count = 2;
    refused(&r, KL_EINVAL);
    r = cluster_registration(&cl, 1);
    memset(big, 'x', sizeof big - 1);
    r.endpoints = endpoints;
    refused(&r, KL_EINVAL);
    r.endpoint_count = KL_WIRE_ENDPOINTS_MAX + 1;
    refused(&r, KL_EINVAL);
    r = cluster_registration(&cl, 1);
    memset(&r.incarnation_id, 0, sizeof r.incarnation_id);
    refused(&r, KL_EINVAL);
    r = cluster_registration(&cl, 1);
    r.broker_id = -1;
    refused(&r, KL_EINVAL);
    kl_controller_resign(cl.f.c);
    r = cluster_registration(&cl, 1);
    refused(&r, KL_ENOTCONTROLLER);
}
END_TEST

/* F48: the first registration wins while its session lives. */
START_TEST(register_while_alive)
{
    struct kl_controller_registration r;

    cluster_start(&cl, "12");
    r = cluster_registration(&cl, 1);
    refused(&r, KL_EDUPLICATENODE);
    cluster_pass(&cl, 8000, "2");
    refused(&r, KL_EDUPLICATENODE);
    cluster_pass(&cl, 1500, "2");
    cluster_register(&cl, &r);
    /* The clone now has the life of the other. */
    r = cluster_registration(&cl, 1);
    r.previous_epoch--;
    cluster_register(&cl, &r);
    ck_assert_int_eq(broker(1)->flags, KL_WIRE_BROKER_FENCED);
}
END_TEST

START_TEST(register_after_connection_broke)
{
    struct kl_controller_registration r;

    cluster_start(&cl, "12");
    kl_controller_contact_lost(cl.f.c, 1, cl.brokers[1].epoch - 1);
    r = cluster_registration(&cl, 1);
    refused(&r, KL_EDUPLICATENODE);
    kl_controller_contact_lost(cl.f.c, 1, cl.brokers[1].epoch);
    cluster_register(&cl, &r);
}
END_TEST

/* F48 in another dress: a folder that two node ids claim. */
START_TEST(register_directory_of_another)
{
    struct kl_controller_registration r;

    cluster_start(&cl, "1");
    cl.brokers[2].disk = 1;
    r = cluster_registration(&cl, 2);
    refused(&r, KL_EFOREIGN);
}
END_TEST

START_TEST(register_offset_must_rise)
{
    struct kl_controller_registration r = cluster_registration(&cl, 1);

    cluster_register(&cl, &r);
    cl.end = cl.brokers[1].epoch;
    r = cluster_registration(&cl, 1);
    refused(&r, KL_EINVAL);
}
END_TEST

/* ---- what a restart costs ------------------------------------------------ */

/* Two topics, of which i has flush=interval. Broker 3 leaves the ISRs while
 * they are full, 2 below min, 1 last. */
static void all_gone(void)
{
    cluster_start(&cl, "123");
    cluster_topic(&cl, "c", "123 231", NULL, NULL);
    cluster_topic(&cl, "i", "123", "flush", "interval");
    cluster_silence(&cl, "3");
    cluster_silence(&cl, "2");
    cluster_silence(&cl, "1");
    cluster_expect(&cl, "c", 0, "123 elr=12 leader=none(1) epochs=1/3");
    cluster_expect(&cl, "c", 1, "231 elr=21 leader=none(1) epochs=2/3");
    cluster_expect(&cl, "i", 0, "123 elr=12 leader=none(1) epochs=1/3");
}

START_TEST(restart_clean)
{
    struct kl_controller_registration r;

    all_gone();
    r = cluster_registration(&cl, 2);
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0, "123 elr=12 leader=none(1) epochs=1/3");
    cluster_expect(&cl, "i", 0, "123 elr=12 leader=none(1) epochs=1/3");
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    cluster_expect(&cl, "c", 0, "123 isr=2 elr=1 leader=2 epochs=2/4");
    cluster_expect(&cl, "c", 1, "231 isr=2 elr=1 leader=2 epochs=3/4");
    cluster_expect(&cl, "i", 0, "123 isr=2 elr=1 leader=2 epochs=2/4");
}
END_TEST

/* Section 0.2: what was durable is there, but interval topics lost some. */
START_TEST(restart_intact)
{
    struct kl_controller_registration r;

    all_gone();
    r = cluster_registration(&cl, 2);
    r.recovery = KL_CONTROLLER_INTACT;
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0, "123 elr=12 leader=none(1) epochs=1/3");
    cluster_expect(&cl, "i", 0, "123 elr=1 known=2 leader=none(1) epochs=1/4");
}
END_TEST

START_TEST(restart_damaged)
{
    struct kl_controller_registration r;
    struct kl_controller_log_id listed[] = {{{{0}}, 7}, {{{0}}, 1}};

    all_gone();
    listed[1].topic_id = kl_controller_topic_find(cl.f.c, "c")->id;
    r = cluster_registration(&cl, 2);
    r.recovery = KL_CONTROLLER_DAMAGED;
    r.damaged = listed;
    r.damaged_count = 2;
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0, "123 elr=12 leader=none(1) epochs=1/3");
    cluster_expect(&cl, "c", 1, "231 elr=1 known=2 leader=none(1) epochs=2/4");
    cluster_expect(&cl, "i", 0, "123 elr=1 known=2 leader=none(1) epochs=1/4");
}
END_TEST

/* F45: an older life of the folder, or none at all. */
START_TEST(restart_of_another_life)
{
    struct kl_controller_registration r;

    all_gone();
    r = cluster_registration(&cl, 2);
    r.previous_epoch = _i == 0 ? r.previous_epoch - 1 : _i == 1 ? -1 : 1000000;
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0, "123 elr=1 known=2 leader=none(1) epochs=1/4");
    cluster_expect(&cl, "c", 1, "231 elr=1 known=2 leader=none(1) epochs=2/4");
    cluster_expect(&cl, "i", 0, "123 elr=1 known=2 leader=none(1) epochs=1/4");
    /* There is nothing that it could lead. */
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    cluster_settle(&cl);
    cluster_expect(&cl, "c", 0, "123 elr=1 known=2 leader=none(1) epochs=1/4");
}
END_TEST

/* Section 0.2: the metadata went back in time: a copy of the folder. */
START_TEST(restart_behind_its_own_heartbeats)
{
    struct kl_controller_registration r;
    int64_t told;

    cluster_start(&cl, "123");
    cluster_topic(&cl, "c", "123", NULL, NULL);
    ck_assert_int_eq(cluster_beat(&cl, 2, 0, 0), 0);
    told = cl.end;
    cluster_silence(&cl, "3");
    cluster_silence(&cl, "2");
    r = cluster_registration(&cl, 2);
    r.recovery = KL_CONTROLLER_INTACT;
    r.metadata_leo = told - (_i == 0);
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0,
                   _i == 0 ? "123 isr=1 known=2 leader=1 epochs=0/3"
                           : "123 isr=1 elr=2 leader=1 epochs=0/2");
}
END_TEST

/* F47: a wiped disk has nothing, whatever its broker claims. */
START_TEST(restart_wiped)
{
    struct kl_controller_registration r;

    all_gone();
    cl.brokers[1].disk = 9;
    r = cluster_registration(&cl, 1);
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0, "123 elr=2 leader=none epochs=1/4");
    cluster_expect(&cl, "i", 0, "123 elr=2 leader=none epochs=1/4");
    cl.brokers[2].disk = 8;
    r = cluster_registration(&cl, 2);
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0, "123 leader=none epochs=1/5");
}
END_TEST

/* The session is over but nobody has fenced it yet: the registration does what
 * the fencing would have done. */
START_TEST(restart_before_it_was_fenced)
{
    struct kl_controller_registration r;

    cluster_start(&cl, "123");
    cluster_topic(&cl, "c", "123", NULL, NULL);
    cluster_silence(&cl, "3");
    kl_controller_contact_lost(cl.f.c, 1, cl.brokers[1].epoch);
    r = cluster_registration(&cl, 1);
    if (_i)
        r.previous_epoch = -1;
    cluster_register(&cl, &r);
    cluster_expect(&cl, "c", 0,
                   _i ? "123 isr=2 known=1 leader=2 epochs=1/2"
                      : "123 isr=2 elr=1 leader=2 epochs=1/2");
}
END_TEST

/* One node alone becomes the first broker of a cluster. */
START_TEST(register_after_standing_alone)
{
    struct kl_controller_registration r;
    struct kl_controller_options o = {.broker_id = 1};

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    ck_assert_int_eq(controller_fixture_create(&cl.f, "t", 1), 0);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "1 isr=1 leader=1 epochs=0/0");
    /* Others may come first: it stays what it is. */
    cluster_start(&cl, "2");
    cluster_settle(&cl);
    cluster_expect(&cl, "t", 0, "1 isr=1 leader=1 epochs=0/0");
    r = cluster_registration(&cl, 1);
    r.recovery = KL_CONTROLLER_INTACT;
    cluster_register(&cl, &r);
    cluster_expect(&cl, "t", 0, "1 elr=1 leader=none(1) epochs=1/1");
    ck_assert_int_eq(cluster_beat(&cl, 1, 0, 0), 0);
    cluster_expect(&cl, "t", 0, "1 isr=1 leader=1 epochs=2/2");
}
END_TEST

/* ---- damage found later, unregistration ---------------------------------- */

static int report(int32_t id, const struct kl_controller_log_id *logs,
                  size_t count, size_t *done)
{
    int rc =
        kl_controller_report_damage(cl.f.c, id, cl.brokers[id].epoch, logs,
                                    count, done, &cl.f.records, &cl.f.error);

    cluster_commit(&cl);
    return rc;
}

START_TEST(damage_reported)
{
    struct kl_controller_log_id logs[4] = {
        {{{0}}, 0}, {{{0}}, 1}, {{{0}}, 2}, {{{255, 255}}, 0}};
    struct kl_controller_isr_member members[CLUSTER_BROKERS];
    struct kl_controller_alter_partition a;
    size_t done;
    int code;

    cluster_start(&cl, "1234");
    cluster_topic(&cl, "c", "123 231 423", NULL, NULL);
    for (int i = 0; i < 3; i++)
        logs[i].topic_id = kl_controller_topic_find(cl.f.c, "c")->id;
    ck_assert_int_eq(report(1, logs, 4, &done), 0);
    ck_assert_uint_eq(done, 4);
    cluster_expect(&cl, "c", 0, "123 isr=23 leader=2 epochs=1/1");
    cluster_expect(&cl, "c", 1, "231 isr=23 leader=2 epochs=0/1");
    cluster_expect(&cl, "c", 2, "423 isr=423 leader=4 epochs=0/0");
    /* Refetched and caught up, and damaged again while that is on its way. */
    a = cluster_proposal(&cl, "c", 0, "123", members);
    ck_assert_int_eq(report(1, logs, 1, &done), 0);
    cluster_expect(&cl, "c", 0, "123 isr=23 leader=2 epochs=1/2");
    ck_assert_int_eq(
        kl_controller_alter_partitions(cl.f.c, 2, cl.brokers[2].epoch, &a, 1,
                                       &code, &cl.f.records, &cl.f.error),
        0);
    ck_assert_int_eq(code, KL_EPARTITIONEPOCH);
    ck_assert_int_eq(cluster_isr(&cl, "c", 0, "123"), 0);
}
END_TEST

/* The only copy answers for its damage itself. */
START_TEST(damage_of_the_only_copy)
{
    struct kl_controller_log_id log = {{{0}}, 0};
    size_t done;

    cluster_start(&cl, "1");
    cluster_topic(&cl, "one", "1", NULL, NULL);
    log.topic_id = kl_controller_topic_find(cl.f.c, "one")->id;
    ck_assert_int_eq(report(1, &log, 1, &done), 0);
    ck_assert_uint_eq(done, 1);
    cluster_expect(&cl, "one", 0, "1 isr=1 leader=1 epochs=0/0");
}
END_TEST

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct kl_base_uuid));
}

START_TEST(damage_in_batches)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 500, .rebalance_ms = -1};
    struct kl_controller_log_id logs[6];
    size_t from = 0, done, batches = 0;

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "12");
    for (size_t i = 0; i < 6; i++) {
        char name[] = {(char)('a' + i), 0};

        cluster_topic(&cl, name, "12", NULL, NULL);
        logs[i].topic_id = kl_controller_topic_find(cl.f.c, name)->id;
        logs[i].partition = 0;
    }
    qsort(logs, 6, sizeof *logs, compare);
    for (; from < 6; from += done, batches++) {
        ck_assert_int_eq(report(1, logs + from, 6 - from, &done), 0);
        ck_assert_uint_gt(done, 0);
    }
    ck_assert_uint_gt(batches, 1);
    for (int i = 0; i < 6; i++)
        cluster_expect(&cl, ((char[]){(char)('a' + i), 0}), 0,
                       "12 isr=2 leader=2 epochs=1/1");
}
END_TEST

START_TEST(damage_refusals)
{
    static const struct kl_controller_log_id log[2];
    size_t done;

    cluster_start(&cl, "1");
    ck_assert_int_eq(report(1, log, 2, &done), KL_EINVAL);
    ck_assert_int_eq(report(2, log, 1, &done), KL_ENOBROKER);
    cl.brokers[1].epoch++;
    ck_assert_int_eq(report(1, log, 1, &done), KL_EFENCED);
    ck_assert_uint_eq(done, 0);
}
END_TEST

START_TEST(unregister)
{
    int more;

    cluster_start(&cl, "123");
    cluster_topic(&cl, "c", "123", NULL, NULL);
    ck_assert_int_eq(kl_controller_unregister_broker(cl.f.c, 9, &cl.f.records,
                                                     &more, &cl.f.error),
                     KL_ENOBROKER);
    ck_assert_int_eq(kl_controller_unregister_broker(cl.f.c, 2, &cl.f.records,
                                                     &more, &cl.f.error),
                     KL_ESTATE);
    cluster_silence(&cl, "3");
    cluster_silence(&cl, "2");
    cluster_expect(&cl, "c", 0, "123 isr=1 elr=2 leader=1 epochs=0/2");
    ck_assert_int_eq(kl_controller_unregister_broker(cl.f.c, 2, &cl.f.records,
                                                     &more, &cl.f.error),
                     0);
    cluster_commit(&cl);
    cluster_expect(&cl, "c", 0, "123 isr=1 leader=1 epochs=0/3");
    ck_assert_ptr_null(broker(2));
    ck_assert_uint_eq(kl_controller_broker_count(cl.f.c), 2);
    ck_assert_int_eq(broker(3)->id, 3);
    /* Its old life means nothing any more. */
    cluster_start(&cl, "2");
    cluster_expect(&cl, "c", 0, "123 isr=1 leader=1 epochs=0/3");
    ck_assert_int_eq(cluster_isr(&cl, "c", 0, "12"), 0);
    cluster_expect(&cl, "c", 0, "123 isr=12 leader=1 epochs=0/4");
}
END_TEST

/* ---- several batches, no memory ------------------------------------------ */

START_TEST(register_in_batches)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 700, .rebalance_ms = -1};
    struct kl_controller_registration r;
    int batches = 0;

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "123");
    for (int i = 0; i < 20; i++) {
        char name[2] = {(char)('a' + i), 0};

        cluster_topic(&cl, name, "123", NULL, NULL);
    }
    kl_controller_contact_lost(cl.f.c, 1, cl.brokers[1].epoch);
    r = cluster_registration(&cl, 1);
    do {
        int64_t epoch = -1, last;

        ck_assert_int_eq(kl_controller_register_broker(
                             cl.f.c, &r, cl.end, cl.now_ns, &cl.f.records,
                             &epoch, &cl.more, &cl.f.error),
                         0);
        last = cl.end + (int64_t)cl.f.records.count - 1;
        ck_assert_uint_gt(cl.f.records.count, 0);
        cluster_commit(&cl);
        /* The old registration stands until the last batch, and the new epoch
         * is the offset of its record. */
        ck_assert_int_eq(epoch, cl.more ? -1 : last);
        ck_assert_int_eq(broker(1)->epoch == cl.brokers[1].epoch, cl.more);
        batches++;
        if (!cl.more)
            ck_assert_int_eq(broker(1)->epoch, last);
    } while (cl.more);
    ck_assert_int_gt(batches, 3);
    for (int i = 0; i < 20; i++) {
        char name[2] = {(char)('a' + i), 0};

        cluster_expect(&cl, name, 0, "123 isr=23 leader=2 epochs=1/1");
    }
}
END_TEST

START_TEST(register_without_memory)
{
    struct kl_controller_registration r;
    struct kl_controller_records before;
    uint64_t at = 0;
    int rc;

    all_gone();
    kl_controller_records_init(&before, &cl.f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &before), 0);
    r = cluster_registration(&cl, 2);
    r.previous_epoch = -1;
    do {
        kl_controller_records_deinit(&cl.f.records);
        fail_alloc_arm(&cl.f.memory, ++at);
        rc = cluster_propose(&cl, &r);
        fail_alloc_arm(&cl.f.memory, 0);
        ck_assert(rc == 0 || rc == KL_ENOMEM);
        ck_assert_int_eq(rc == 0, cl.f.records.count > 0);
        controller_fixture_unchanged(&cl.f, &before);
    } while (rc);
    ck_assert_uint_gt(at, 1);
    kl_controller_records_deinit(&before);
}
END_TEST

Suite *suite_controller_register(void);
Suite *suite_controller_register(void)
{
    Suite *s = suite_create("controller_register");
    TCase *t = tcase_create("register");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, register_new);
    tcase_add_test(t, register_again_is_the_same);
    tcase_add_test(t, register_refusals);
    tcase_add_test(t, register_while_alive);
    tcase_add_test(t, register_after_connection_broke);
    tcase_add_test(t, register_directory_of_another);
    tcase_add_test(t, register_offset_must_rise);
    tcase_add_test(t, restart_clean);
    tcase_add_test(t, restart_intact);
    tcase_add_test(t, restart_damaged);
    tcase_add_loop_test(t, restart_of_another_life, 0, 3);
    tcase_add_loop_test(t, restart_behind_its_own_heartbeats, 0, 2);
    tcase_add_test(t, restart_wiped);
    tcase_add_loop_test(t, restart_before_it_was_fenced, 0, 2);
    tcase_add_test(t, register_after_standing_alone);
    tcase_add_test(t, damage_reported);
    tcase_add_test(t, damage_of_the_only_copy);
    tcase_add_test(t, damage_in_batches);
    tcase_add_test(t, damage_refusals);
    tcase_add_test(t, unregister);
    tcase_add_test(t, register_in_batches);
    tcase_add_test(t, register_without_memory);
    suite_add_tcase(s, t);
    return s;
}
