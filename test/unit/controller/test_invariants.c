/*
 * The checker must reject images that are not legal.
 */
#include "cluster_help.h"
#include "controller/state.h"

#include <check.h>
#include <string.h>

static struct controller_fixture f;
static struct cluster cl;

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

/* ---- between brokers and partitions ------------------------------------- */

static void cluster_broken(const char *want)
{
    ck_assert_ptr_null(kl_controller_invariant(cl.f.c));
    ck_assert_str_eq(kl_controller_rule_broken(cl.f.c), want);
}

START_TEST(rule_of_active_members)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "12");
    cluster_topic(&cl, "t", "12", NULL, NULL);
    ck_assert_ptr_null(kl_controller_rule_broken(cl.f.c));
    cl.f.c->brokers[1]->flags = KL_WIRE_BROKER_FENCED;
    cluster_broken("an ISR has only active brokers (D2)");
    cl.f.c->brokers[1]->flags = KL_WIRE_BROKER_SHUTDOWN;
    cluster_broken("an ISR has only active brokers (D2)");
    cluster_deinit(&cl);
}
END_TEST

START_TEST(rule_of_empty_elr)
{
    struct kl_controller_partition *p;

    cluster_init(&cl, NULL);
    cluster_start(&cl, "123");
    cluster_topic(&cl, "t", "123", NULL, NULL);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    /* The second of the ISR becomes the first of the ELR, and then there are
     * two again. */
    p = cl.f.c->topics[0]->partitions[0];
    p->counts[KL_CONTROLLER_ISR]--;
    p->counts[KL_CONTROLLER_ELR]++;
    ck_assert_ptr_null(kl_controller_rule_broken(cl.f.c));
    controller_fixture_apply(
        &cl.f, &(struct kl_wire_record){
                   .type = KL_WIRE_CONFIG_RECORD,
                   .config = {.resource_type = KL_WIRE_RESOURCE_TOPIC,
                              .resource_name = {"t", 1},
                              .key = {KL_CONTROLLER_MIN_ISR_KEY,
                                      sizeof KL_CONTROLLER_MIN_ISR_KEY - 1},
                              .value = {"1", 1}}});
    cluster_broken("an ISR of min or more leaves no ELR (D3)");
    p->counts[KL_CONTROLLER_ISR]++;
    p->counts[KL_CONTROLLER_ELR]--;
    cluster_deinit(&cl);
}
END_TEST

START_TEST(invariant_of_brokers)
{
    struct kl_controller_broker *b;

    cluster_init(&cl, NULL);
    cluster_start(&cl, "12");
    b = cl.f.c->brokers[0];
    cl.f.c->brokers[0] = cl.f.c->brokers[1];
    cl.f.c->brokers[1] = b;
    ck_assert_str_eq(kl_controller_invariant(cl.f.c), "broker ids ascend");
    cl.f.c->brokers[1] = cl.f.c->brokers[0];
    cl.f.c->brokers[0] = b;
    b->directory_id = cl.f.c->brokers[1]->directory_id;
    ck_assert_str_eq(kl_controller_invariant(cl.f.c),
                     "a directory belongs to one broker");
    cluster_deinit(&cl);
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
    t = tcase_create("cluster");
    tcase_add_test(t, rule_of_active_members);
    tcase_add_test(t, rule_of_empty_elr);
    tcase_add_test(t, invariant_of_brokers);
    suite_add_tcase(s, t);
    return s;
}
