/*
 * Records of brokers: what contradicts the image is refused, and the image with
 * brokers is written and read back.
 */
#include "cluster_help.h"

#include <check.h>
#include <string.h>

static struct cluster cl;
static struct kl_controller_records before;

static void set_up(void)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "13");
    kl_controller_records_init(&before, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &before), 0);
}

static void tear_down(void)
{
    kl_controller_records_deinit(&before);
    cluster_deinit(&cl);
}

static void refused(const struct kl_wire_record *r)
{
    kl_base_error_clear(&cl.f.error);
    ck_assert_int_eq(controller_fixture_apply(&cl.f, r), KL_ECORRUPT);
    ck_assert_int_eq(cl.f.error.code, KL_ECORRUPT);
    controller_fixture_unchanged(&cl.f, &before);
}

static struct kl_wire_record registration(int32_t id, int64_t epoch)
{
    struct kl_wire_record r = {.type = KL_WIRE_REGISTER_BROKER_RECORD};

    r.register_broker.broker_id = id;
    r.register_broker.broker_epoch = epoch;
    r.register_broker.incarnation_id.bytes[0] = 1;
    r.register_broker.directory_id.bytes[0] = 1;
    return r;
}

static struct kl_wire_record change(int32_t id, int64_t epoch, int fenced,
                                    int shutdown)
{
    struct kl_wire_record r = {.type = KL_WIRE_BROKER_CHANGE_RECORD};

    r.broker_change.broker_id = id;
    r.broker_change.broker_epoch = epoch;
    r.broker_change.fenced = (int8_t)fenced;
    r.broker_change.shutdown = (int8_t)shutdown;
    return r;
}

START_TEST(register_contradictions)
{
    struct kl_wire_record r = registration(1, cl.brokers[1].epoch);

    refused(&r);
    r = registration(2, 1000);
    r.register_broker.directory_id =
        kl_controller_broker_find(cl.f.c, 3)->directory_id;
    refused(&r);
    ck_assert_str_eq(cl.f.error.text,
                     "RegisterBrokerRecord: broker 2 has the directory of 3");
}
END_TEST

START_TEST(change_contradictions)
{
    struct kl_wire_record r = change(2, 5, KL_WIRE_BROKER_FENCES, 0);

    refused(&r);
    r = change(1, cl.brokers[1].epoch - 1, KL_WIRE_BROKER_FENCES, 0);
    refused(&r);
    r = change(1, cl.brokers[1].epoch, KL_WIRE_BROKER_UNFENCES, 0);
    refused(&r);
    r = change(1, cl.brokers[1].epoch, KL_WIRE_BROKER_STAYS, 0);
    refused(&r);
    r = change(1, cl.brokers[1].epoch, KL_WIRE_BROKER_UNFENCES, 1);
    ck_assert_int_eq(controller_fixture_apply(&cl.f, &r), 0);
    ck_assert_int_eq(kl_controller_broker_find(cl.f.c, 1)->flags,
                     KL_WIRE_BROKER_SHUTDOWN);
}
END_TEST

START_TEST(unregister_contradictions)
{
    struct kl_wire_record r = {.type = KL_WIRE_UNREGISTER_BROKER_RECORD};

    r.unregister_broker.broker_id = 2;
    refused(&r);
    r.unregister_broker.broker_id = 1;
    r.unregister_broker.broker_epoch = cl.brokers[1].epoch + 1;
    refused(&r);
}
END_TEST

START_TEST(producer_ids_contradictions)
{
    struct kl_wire_record r = {.type = KL_WIRE_PRODUCER_IDS_RECORD};

    refused(&r);
    r.producer_ids.next_producer_id = 5;
    ck_assert_int_eq(controller_fixture_apply(&cl.f, &r), 0);
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &before), 0);
    refused(&r);
}
END_TEST

/* Broker by broker, in the order of ids, with all that is known of them. */
START_TEST(image_with_brokers)
{
    static char rack[KL_WIRE_RACK_MAX + 1],
        long_one[KL_WIRE_TEXTS_ITEM_MAX + 1];
    const char *endpoints[KL_WIRE_ENDPOINTS_MAX];
    struct kl_controller_records image;
    struct kl_controller *c = cl.f.c;
    const struct kl_controller_broker *b;
    int64_t first;

    memset(rack, 'r', sizeof rack - 1);
    memset(long_one, 'e', sizeof long_one - 1);
    for (int i = 0; i < KL_WIRE_ENDPOINTS_MAX; i++)
        endpoints[i] = i % 2 ? long_one : "x";
    for (int32_t id = 0; id < 8; id++) {
        struct kl_controller_registration r;

        if (id == 1 || id == 3)
            continue;
        r = cluster_registration(&cl, id);
        r.rack = id % 2 ? rack : NULL;
        r.endpoints = endpoints;
        r.endpoint_count = (size_t)id * 2;
        cluster_register(&cl, &r);
    }
    cluster_beat(&cl, 1, 0, 1);
    ck_assert_int_eq(
        kl_controller_allocate_producer_ids(c, 3, cl.brokers[3].epoch,
                                            &cl.f.records, &first, &cl.f.error),
        0);
    cluster_commit(&cl);
    kl_controller_records_init(&image, &cl.f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(c, &image), 0);
    ck_assert_uint_eq(image.count, 1 + 8 + 1);
    ck_assert_int_eq(
        kl_controller_new(&cl.f.c, &cl.f.memory.alloc, &cl.options), 0);
    controller_fixture_replay(cl.f.c, &image);
    controller_fixture_unchanged(&cl.f, &image);
    b = kl_controller_broker_at(cl.f.c, 7);
    ck_assert_int_eq(b->id, 7);
    ck_assert_str_eq(b->rack, rack);
    ck_assert_uint_eq(b->endpoint_count, 14);
    ck_assert_str_eq(b->endpoints[12], "x");
    ck_assert_str_eq(b->endpoints[13], long_one);
    kl_controller_free(c);
    kl_controller_records_deinit(&image);
}
END_TEST

START_TEST(deltas_of_brokers)
{
    const struct kl_controller_delta *d;
    size_t count;

    kl_controller_delta_clear(cl.f.c);
    cluster_start(&cl, "2");
    cluster_silence(&cl, "2");
    d = kl_controller_delta(cl.f.c, &count);
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(d[i].kind, KL_CONTROLLER_BROKER);
        ck_assert_int_eq(d[i].broker_id, 2);
    }
}
END_TEST

START_TEST(apply_without_memory)
{
    struct kl_controller_registration r = cluster_registration(&cl, 2);
    const uint8_t *data;
    size_t pos = 0, size;
    uint64_t at = 0;
    int rc;

    /* Until the arrays are full as well. */
    kl_controller_delta_clear(cl.f.c);
    cluster_start(&cl, "45");
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &before), 0);
    ck_assert_int_eq(cluster_propose(&cl, &r), 0);
    ck_assert_int_eq(
        kl_controller_records_next(&cl.f.records, &pos, &data, &size), 1);
    do {
        fail_alloc_arm(&cl.f.memory, ++at);
        rc = kl_controller_apply(cl.f.c, data, size, &cl.f.error);
        fail_alloc_arm(&cl.f.memory, 0);
        if (rc) {
            ck_assert_int_eq(rc, KL_ENOMEM);
            controller_fixture_unchanged(&cl.f, &before);
        }
    } while (rc);
    ck_assert_uint_ge(at, 4);
}
END_TEST

/* ---- the cluster as a whole ---------------------------------------------- */

START_TEST(producer_ids)
{
    int64_t first = -1, epoch = cl.brokers[1].epoch;

    ck_assert_int_eq(kl_controller_allocate_producer_ids(
                         cl.f.c, 2, epoch, &cl.f.records, &first, NULL),
                     KL_ENOBROKER);
    ck_assert_int_eq(kl_controller_allocate_producer_ids(
                         cl.f.c, 1, epoch + 1, &cl.f.records, &first, NULL),
                     KL_EFENCED);
    for (int64_t want = 0; want < 3; want++) {
        ck_assert_int_eq(kl_controller_allocate_producer_ids(
                             cl.f.c, 1, epoch, &cl.f.records, &first, NULL),
                         0);
        ck_assert_int_eq(first, want * KL_CONTROLLER_PRODUCER_IDS);
        cluster_commit(&cl);
        /* Not even another controller gives them twice. */
        cluster_fail_over(&cl);
    }
}
END_TEST

START_TEST(feature_level)
{
    struct kl_controller_options o = {
        .broker_id = -1, .feature_level_max = 3, .rebalance_ms = -1};
    struct kl_controller_registration r;

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    ck_assert_int_eq(
        kl_controller_set_feature_level(cl.f.c, 1, &cl.f.records, &cl.f.error),
        0);
    ck_assert_uint_eq(cl.f.records.count, 0);
    ck_assert_int_eq(
        kl_controller_set_feature_level(cl.f.c, 4, &cl.f.records, &cl.f.error),
        KL_EUNSUPPORTED);
    ck_assert_int_eq(
        kl_controller_set_feature_level(cl.f.c, 0, &cl.f.records, &cl.f.error),
        KL_EINVAL);
    r = cluster_registration(&cl, 1);
    r.feature_max = 2;
    cluster_register(&cl, &r);
    ck_assert_int_eq(
        kl_controller_set_feature_level(cl.f.c, 3, &cl.f.records, &cl.f.error),
        KL_EUNSUPPORTED);
    ck_assert_str_eq(cl.f.error.text,
                     "metadata.version 3: broker 1 knows 1 to 2");
    ck_assert_int_eq(
        kl_controller_set_feature_level(cl.f.c, 2, &cl.f.records, &cl.f.error),
        0);
    cluster_commit(&cl);
    ck_assert_int_eq(kl_controller_feature_level(cl.f.c), 2);
    /* Who does not know it stays out. */
    r = cluster_registration(&cl, 2);
    ck_assert_int_eq(cluster_propose(&cl, &r), KL_EUNSUPPORTED);
}
END_TEST

Suite *suite_controller_apply_broker(void);
Suite *suite_controller_apply_broker(void)
{
    Suite *s = suite_create("controller_apply_broker");
    TCase *t = tcase_create("apply_broker");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, register_contradictions);
    tcase_add_test(t, change_contradictions);
    tcase_add_test(t, unregister_contradictions);
    tcase_add_test(t, producer_ids_contradictions);
    tcase_add_test(t, image_with_brokers);
    tcase_add_test(t, deltas_of_brokers);
    tcase_add_test(t, apply_without_memory);
    tcase_add_test(t, producer_ids);
    tcase_add_test(t, feature_level);
    suite_add_tcase(s, t);
    return s;
}
