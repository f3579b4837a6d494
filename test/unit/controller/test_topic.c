/*
 * Commands that create and delete topics.
 */
#include "controller_fixture.h"

#include <check.h>
#include <string.h>

static struct controller_fixture f;
static struct kl_controller_records before;

static void set_up(void)
{
    struct kl_controller_options o = {
        .broker_id = 4, .seed = 7, .partitions_max = 10100};

    controller_fixture_init(&f, &o);
    kl_controller_records_init(&before, &f.memory.alloc);
    ck_assert_int_eq(controller_fixture_create(&f, "old", 2), 0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
}

static void tear_down(void)
{
    kl_controller_records_deinit(&before);
    controller_fixture_deinit(&f);
}

/* The command fails with this code, gives no records and changes nothing. */
static void refused(const struct kl_controller_create *command, int code)
{
    struct kl_base_uuid id = {{9}};

    ck_assert_int_eq(
        kl_controller_create_topic(f.c, command, &f.records, &id, &f.error),
        code);
    ck_assert_int_eq(f.error.code, code);
    ck_assert_uint_eq(f.records.count, 0);
    ck_assert_uint_eq(f.records.buf.size, 0);
    ck_assert_uint_eq(id.bytes[0], 9);
    controller_fixture_unchanged(&f, &before);
}

static void refused_shape(const char *name, int32_t partitions,
                          int32_t replication, int code)
{
    struct kl_controller_create command = {name, partitions, replication,
                                           NULL, 0,          NULL};

    refused(&command, code);
}

static void refused_config(const char *key, const char *value, int code)
{
    struct kl_controller_config pair = {key, value};
    struct kl_controller_create command = {"new", 1, -1, &pair, 1, NULL};

    refused(&command, code);
}

START_TEST(create_topic_records)
{
    static const struct kl_controller_config configs[] = {
        {"retention.ms", "5"}, {"flush", "interval"}};
    struct kl_controller_create command = {"new", 3, 1, configs, 2, NULL};
    struct kl_base_uuid id;
    struct kl_wire_record r;

    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, &id, &f.error),
        0);
    controller_fixture_unchanged(&f, &before);
    ck_assert_uint_eq(f.records.count, 1 + 3 + 2);
    r = controller_fixture_record(&f, 0);
    ck_assert_int_eq(r.type, KL_WIRE_TOPIC_RECORD);
    ck_assert(kl_base_uuid_equal(&r.topic.topic_id, &id));
    for (uint32_t i = 0; i < 3; i++) {
        r = controller_fixture_record(&f, 1 + i);
        ck_assert_int_eq(r.type, KL_WIRE_PARTITION_RECORD);
        ck_assert(kl_base_uuid_equal(&r.partition.topic_id, &id));
        ck_assert_int_eq(r.partition.partition, (int)i);
        ck_assert_uint_eq(r.partition.replicas.count, 1);
        ck_assert_int_eq(kl_wire_i32s_get(&r.partition.replicas, 0), 4);
        ck_assert_uint_eq(r.partition.isr.count, 1);
        ck_assert_int_eq(kl_wire_i32s_get(&r.partition.isr, 0), 4);
        ck_assert_uint_eq(r.partition.elr.count, 0);
        ck_assert_int_eq(r.partition.leader, 4);
        ck_assert_int_eq(r.partition.leader_epoch, 0);
        ck_assert_int_eq(r.partition.partition_epoch, 0);
        ck_assert_int_eq(r.partition.last_known_leader, -1);
    }
    r = controller_fixture_record(&f, 5);
    ck_assert_int_eq(r.type, KL_WIRE_CONFIG_RECORD);
    ck_assert_mem_eq(r.config.value.data, "interval", r.config.value.size);
}
END_TEST

START_TEST(create_topic_applied)
{
    static const struct kl_controller_config configs[] = {
        {"retention.ms", "5"}, {"flush", "interval"}};
    struct kl_controller_create command = {"new", 3, -1, configs, 2, NULL};
    const struct kl_controller_topic *t;
    struct kl_base_uuid id;
    uint64_t version = kl_controller_version(f.c);

    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, &id, &f.error),
        0);
    ck_assert_uint_eq(kl_controller_version(f.c), version);
    controller_fixture_commit(&f);
    ck_assert_uint_gt(kl_controller_version(f.c), version);
    t = kl_controller_topic_find(f.c, "new");
    ck_assert_ptr_nonnull(t);
    ck_assert_ptr_eq(kl_controller_topic_find_id(f.c, &id), t);
    ck_assert_str_eq(t->name, "new");
    ck_assert_int_eq(t->partition_count, 3);
    ck_assert_str_eq(kl_controller_config_get(t, "flush"), "interval");
    ck_assert_str_eq(kl_controller_config_get(t, "retention.ms"), "5");
    ck_assert_ptr_null(kl_controller_config_get(t, "note"));
    ck_assert_uint_eq(kl_controller_partition_count(f.c), 5);
}
END_TEST

START_TEST(create_topic_refuses_shape)
{
    refused_shape("", 1, -1, KL_ETOPICNAME);
    refused_shape("..", 1, -1, KL_ETOPICNAME);
    refused_shape("a/b", 1, -1, KL_ETOPICNAME);
    refused_shape("old", 1, -1, KL_ETOPICEXISTS);
    refused_shape("new", 0, -1, KL_EPARTITIONS);
    refused_shape("new", -1, -1, KL_EPARTITIONS);
    refused_shape("new", INT32_MIN, -1, KL_EPARTITIONS);
    refused_shape("new", 10001, -1, KL_EPARTITIONS);
    refused_shape("new", INT32_MAX, -1, KL_EPARTITIONS);
    refused_shape("new", 1, 0, KL_EREPLICATION);
    refused_shape("new", 1, 2, KL_EREPLICATION);
    refused_shape("new", 1, -2, KL_EREPLICATION);
}
END_TEST

START_TEST(create_topic_refuses_config)
{
    static char big[KL_WIRE_CONFIG_VALUE_MAX + 2];
    static const struct kl_controller_config twice[] = {{"note", "1"},
                                                        {"note", "1"}};
    struct kl_controller_create command = {"new", 1, -1, twice, 2, NULL};

    refused_config("nonsense", "1", KL_ECONFIG);
    refused_config("", "1", KL_ECONFIG);
    refused_config("retention.ms", "soon", KL_ECONFIG);
    refused_config("note", NULL, KL_ECONFIG);
    refused_config("note", "\xff", KL_ECONFIG);
    memset(big, 'x', sizeof big - 1);
    refused_config("note", big, KL_ECONFIG);
    refused(&command, KL_ECONFIG);
}
END_TEST

START_TEST(create_topic_total_limit)
{
    /* 2 of 10,100 are taken. */
    ck_assert_int_eq(controller_fixture_create(&f, "a", 10000), 0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(controller_fixture_create(&f, "b", 99), KL_EPARTITIONS);
    ck_assert_int_eq(controller_fixture_create(&f, "b", 98), 0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(controller_fixture_create(&f, "c", 1), KL_EPARTITIONS);
    ck_assert_int_eq(kl_controller_delete_topic(f.c, "a", &f.records, &f.error),
                     0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(controller_fixture_create(&f, "c", 10000), 0);
}
END_TEST

START_TEST(create_topic_beyond_a_batch)
{
    struct kl_controller_options o = {.broker_id = 1, .batch_bytes_max = 1000};
    struct controller_fixture small;

    controller_fixture_init(&small, &o);
    ck_assert_int_eq(controller_fixture_create(&small, "a", 11),
                     KL_ERECORDSIZE);
    ck_assert_uint_eq(small.records.count, 0);
    ck_assert_int_eq(controller_fixture_create(&small, "a", 9), 0);
    controller_fixture_commit(&small);
    controller_fixture_deinit(&small);
}
END_TEST

START_TEST(create_topic_ids_are_fresh)
{
    struct controller_fixture other;
    struct kl_controller_options o = {.broker_id = 4, .seed = 7};
    struct kl_base_uuid first, second, same;

    /* Proposals that were never committed do not repeat an id either. */
    ck_assert_int_eq(controller_fixture_create(&f, "a", 1), 0);
    first = controller_fixture_record(&f, 0).topic.topic_id;
    ck_assert_int_eq(controller_fixture_create(&f, "a", 1), 0);
    second = controller_fixture_record(&f, 0).topic.topic_id;
    ck_assert(!kl_base_uuid_equal(&first, &second));
    /* The seed decides; the fixture has drawn one already. */
    controller_fixture_init(&other, &o);
    ck_assert_int_eq(controller_fixture_create(&other, "x", 1), 0);
    ck_assert_int_eq(controller_fixture_create(&other, "x", 1), 0);
    same = controller_fixture_record(&other, 0).topic.topic_id;
    ck_assert(kl_base_uuid_equal(&first, &same));
    controller_fixture_deinit(&other);
}
END_TEST

START_TEST(create_topic_without_memory)
{
    static const struct kl_controller_config configs[] = {{"note", "5"}};
    struct kl_controller_create command = {"new", 200, 1, configs, 1, NULL};
    uint64_t at = 0;
    int rc;

    kl_controller_records_deinit(&f.records);
    do {
        fail_alloc_arm(&f.memory, ++at);
        rc = kl_controller_create_topic(f.c, &command, &f.records, NULL,
                                        &f.error);
        fail_alloc_arm(&f.memory, 0);
        if (rc) {
            ck_assert_int_eq(rc, KL_ENOMEM);
            ck_assert_uint_eq(f.records.count, 0);
            kl_controller_records_deinit(&f.records);
        }
        controller_fixture_unchanged(&f, &before);
    } while (rc);
    ck_assert_uint_gt(at, 5);
}
END_TEST

START_TEST(delete_topic_applied)
{
    struct kl_base_uuid id = kl_controller_topic_find(f.c, "old")->id;

    ck_assert_int_eq(
        kl_controller_delete_topic(f.c, "old", &f.records, &f.error), 0);
    ck_assert_uint_eq(f.records.count, 1);
    controller_fixture_unchanged(&f, &before);
    controller_fixture_commit(&f);
    ck_assert_ptr_null(kl_controller_topic_find(f.c, "old"));
    ck_assert_ptr_null(kl_controller_topic_find_id(f.c, &id));
    ck_assert_uint_eq(kl_controller_topic_count(f.c), 0);
    ck_assert_uint_eq(kl_controller_partition_count(f.c), 0);
    /* The same name is another topic. */
    ck_assert_int_eq(controller_fixture_create(&f, "old", 1), 0);
    controller_fixture_commit(&f);
    ck_assert(
        !kl_base_uuid_equal(&id, &kl_controller_topic_find(f.c, "old")->id));
}
END_TEST

START_TEST(delete_topic_refusals)
{
    ck_assert_int_eq(
        kl_controller_delete_topic(f.c, "none", &f.records, &f.error),
        KL_ENOTOPIC);
    ck_assert_str_eq(f.error.text, "topic none does not exist");
    ck_assert_int_eq(
        kl_controller_delete_topic(f.c, "a\nb", &f.records, &f.error),
        KL_ETOPICNAME);
    ck_assert_uint_eq(f.records.count, 0);
    controller_fixture_unchanged(&f, &before);
}
END_TEST

Suite *suite_controller_topic(void);
Suite *suite_controller_topic(void)
{
    Suite *s = suite_create("controller_topic");
    TCase *t = tcase_create("topic");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, create_topic_records);
    tcase_add_test(t, create_topic_applied);
    tcase_add_test(t, create_topic_refuses_shape);
    tcase_add_test(t, create_topic_refuses_config);
    tcase_add_test(t, create_topic_total_limit);
    tcase_add_test(t, create_topic_beyond_a_batch);
    tcase_add_test(t, create_topic_ids_are_fresh);
    tcase_add_test(t, create_topic_without_memory);
    tcase_add_test(t, delete_topic_applied);
    tcase_add_test(t, delete_topic_refusals);
    suite_add_tcase(s, t);
    return s;
}
