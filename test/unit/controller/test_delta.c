/*
 * What applied batches changed.
 */
#include "controller_fixture.h"

#include <check.h>

static struct controller_fixture f;

static void set_up(void)
{
    controller_fixture_init(&f, NULL);
}

static void tear_down(void)
{
    controller_fixture_deinit(&f);
}

static void expect(size_t index, size_t total, const struct kl_base_uuid *id,
                   enum kl_controller_delta_kind kind, int32_t first,
                   int32_t end)
{
    size_t count;
    const struct kl_controller_delta *d = kl_controller_delta(f.c, &count);

    ck_assert_uint_eq(count, total);
    ck_assert(kl_base_uuid_equal(&d[index].topic_id, id));
    ck_assert_int_eq(d[index].kind, kind);
    ck_assert_int_eq(d[index].partition_first, first);
    ck_assert_int_eq(d[index].partition_end, end);
}

static struct kl_base_uuid create(const char *name, int32_t partitions)
{
    static const struct kl_controller_config configs[] = {{"note", "1"},
                                                          {"other", "2"}};
    struct kl_controller_create command = {name,    partitions, -1,
                                           configs, 2,          NULL};
    struct kl_base_uuid id;

    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, &id, &f.error),
        0);
    controller_fixture_commit(&f);
    return id;
}

START_TEST(delta_bootstrap_changes_no_topic)
{
    size_t count;

    kl_controller_delta(f.c, &count);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(delta_create_is_one_entry)
{
    struct kl_base_uuid id = create("t", 3);

    expect(0, 1, &id, KL_CONTROLLER_CREATED, 0, 3);
}
END_TEST

START_TEST(delta_in_order_until_cleared)
{
    struct kl_base_uuid a = create("a", 2), b = create("b", 1);
    size_t count;

    ck_assert_int_eq(kl_controller_delete_topic(f.c, "a", &f.records, &f.error),
                     0);
    controller_fixture_commit(&f);
    expect(0, 3, &a, KL_CONTROLLER_CREATED, 0, 2);
    expect(1, 3, &b, KL_CONTROLLER_CREATED, 0, 1);
    expect(2, 3, &a, KL_CONTROLLER_DELETED, 0, 2);
    kl_controller_delta_clear(f.c);
    kl_controller_delta(f.c, &count);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(delta_configured_once_for_a_batch)
{
    static const struct kl_controller_config changes[] = {{"note", "5"},
                                                          {"other", NULL}};
    struct kl_base_uuid id = create("t", 3);

    kl_controller_delta_clear(f.c);
    ck_assert_int_eq(
        kl_controller_alter_config(f.c, "t", changes, 2, &f.records, &f.error),
        0);
    controller_fixture_commit(&f);
    expect(0, 1, &id, KL_CONTROLLER_CONFIGURED, 0, 0);
}
END_TEST

START_TEST(delta_configured_after_another_topic)
{
    struct kl_base_uuid a = create("a", 1);

    create("b", 1);
    ck_assert_int_eq(controller_fixture_alter(&f, "a", "note", "9"), 0);
    controller_fixture_commit(&f);
    expect(2, 3, &a, KL_CONTROLLER_CONFIGURED, 0, 0);
}
END_TEST

START_TEST(delta_grew)
{
    static const uint8_t one[4] = {1};
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    struct kl_base_uuid id = create("t", 3);

    kl_controller_delta_clear(f.c);
    r.partition.topic_id = id;
    r.partition.replicas = (struct kl_wire_i32s){one, 1};
    r.partition.leader = r.partition.last_known_leader = -1;
    for (r.partition.partition = 3; r.partition.partition < 6;
         r.partition.partition++)
        ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    expect(0, 1, &id, KL_CONTROLLER_GREW, 3, 6);
    ck_assert_int_eq(controller_fixture_alter(&f, "t", "note", "9"), 0);
    controller_fixture_commit(&f);
    expect(1, 2, &id, KL_CONTROLLER_CONFIGURED, 0, 0);
}
END_TEST

/* Neighbours are one range; who comes back to one finds its last state. */
START_TEST(delta_changed)
{
    static const uint8_t one[4] = {1};
    static const int32_t order[] = {1, 2, 4, 5, 6, 4};
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    struct kl_base_uuid id = create("t", 8);

    r.partition.topic_id = id;
    r.partition.replicas = r.partition.isr = (struct kl_wire_i32s){one, 1};
    r.partition.leader = 1;
    r.partition.last_known_leader = -1;
    /* Part of its creation. */
    r.partition.partition = 7;
    r.partition.partition_epoch = 1;
    ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    expect(0, 1, &id, KL_CONTROLLER_CREATED, 0, 8);
    kl_controller_delta_clear(f.c);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        r.partition.partition = order[i];
        r.partition.partition_epoch++;
        ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    }
    expect(0, 3, &id, KL_CONTROLLER_CHANGED, 1, 3);
    expect(1, 3, &id, KL_CONTROLLER_CHANGED, 4, 7);
    expect(2, 3, &id, KL_CONTROLLER_CHANGED, 4, 5);
}
END_TEST

Suite *suite_controller_delta(void);
Suite *suite_controller_delta(void)
{
    Suite *s = suite_create("controller_delta");
    TCase *t = tcase_create("delta");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, delta_bootstrap_changes_no_topic);
    tcase_add_test(t, delta_create_is_one_entry);
    tcase_add_test(t, delta_in_order_until_cleared);
    tcase_add_test(t, delta_configured_once_for_a_batch);
    tcase_add_test(t, delta_configured_after_another_topic);
    tcase_add_test(t, delta_grew);
    tcase_add_test(t, delta_changed);
    suite_add_tcase(s, t);
    return s;
}
