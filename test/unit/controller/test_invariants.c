/*
 * The checker must reject images that are not legal.
 */
#include "controller/state.h"
#include "controller_fixture.h"

#include <check.h>
#include <string.h>

static struct controller_fixture f;

static void set_up(void)
{
    static const struct kl_controller_config configs[] = {{"note", "1"},
                                                          {"other", "1"}};
    struct kl_controller_create command = {"a", 2, -1, configs, 2, NULL};

    controller_fixture_init(&f, NULL);
    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, NULL, &f.error),
        0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(controller_fixture_create(&f, "b", 1), 0);
    controller_fixture_commit(&f);
}

static void tear_down(void)
{
    controller_fixture_deinit(&f);
}

static void swap_topics(void)
{
    struct kl_controller_topic *t = f.c->topics[0];

    f.c->topics[0] = f.c->topics[1];
    f.c->topics[1] = t;
}

static void swap_configs(void)
{
    struct kl_controller_config *p = f.c->topics[0]->configs, first = p[0];

    p[0] = p[1];
    p[1] = first;
}

START_TEST(invariant_topic_order)
{
    swap_topics();
    ck_assert_str_eq(kl_controller_invariant(f.c), "topic names ascend");
    swap_topics();
    ck_assert_ptr_null(kl_controller_invariant(f.c));
}
END_TEST

START_TEST(invariant_topic_by_id)
{
    f.c->topics[0]->id.bytes[0] ^= 1;
    ck_assert_str_eq(kl_controller_invariant(f.c),
                     "every topic is found by its id");
    f.c->topics[0]->id.bytes[0] ^= 1;
    f.c->topic_count--;
    ck_assert_str_eq(kl_controller_invariant(f.c),
                     "the topics by id are the topics by name");
    f.c->topic_count++;
}
END_TEST

START_TEST(invariant_topic_name)
{
    char *name = (char *)f.c->topics[1]->name;

    *name = '/';
    ck_assert_str_eq(kl_controller_invariant(f.c), "topic names are legal");
    *name = 'b';
}
END_TEST

START_TEST(invariant_partition)
{
    f.c->topics[0]->partitions[1]->leader = 2;
    ck_assert_str_eq(kl_controller_invariant(f.c),
                     "the leader is not in the ISR");
}
END_TEST

START_TEST(invariant_partition_count)
{
    f.c->partition_count++;
    ck_assert_str_eq(kl_controller_invariant(f.c),
                     "the partition count is the sum over the topics");
}
END_TEST

START_TEST(invariant_config_order)
{
    swap_configs();
    ck_assert_str_eq(kl_controller_invariant(f.c), "configuration keys ascend");
    swap_configs();
}
END_TEST

Suite *suite_controller_invariants(void);
Suite *suite_controller_invariants(void)
{
    Suite *s = suite_create("controller_invariants");
    TCase *t = tcase_create("invariants");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, invariant_topic_order);
    tcase_add_test(t, invariant_topic_by_id);
    tcase_add_test(t, invariant_topic_name);
    tcase_add_test(t, invariant_partition);
    tcase_add_test(t, invariant_partition_count);
    tcase_add_test(t, invariant_config_order);
    suite_add_tcase(s, t);
    return s;
}
