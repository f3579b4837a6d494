/*
 * Commands at nodes that are not the controller, and changes of the voters.
 */
#include "cluster_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct cluster_fixture c;

static void setup(void)
{
    cluster_fixture_init(&c, 3);
    cluster_fixture_open_active(&c);
}

static void teardown(void)
{
    cluster_fixture_deinit(&c);
}

static struct kl_runtime_node *node(int index)
{
    return c.nodes[index].f.n;
}

static int run(int index, enum kl_runtime_command_type type, const char *topic,
               int32_t number)
{
    struct kl_runtime_wish wish = {.type = type,
                                   .topic = topic,
                                   .number = number,
                                   .replication = -1,
                                   .broker_id = -1};

    return cluster_fixture_code(&c, index, &wish);
}

static int voter(int at, enum kl_runtime_command_type type, int32_t id,
                 int is_forced)
{
    struct kl_runtime_wish wish = {
        .type = type, .broker_id = id, .is_forced = is_forced};

    return cluster_fixture_code(&c, at, &wish);
}

/* The same on every node, whichever was asked. */
static size_t topics_everywhere(void)
{
    size_t count = kl_controller_topic_count(node(0)->metadata.controller);

    cluster_fixture_until(
        &c, node(1)->metadata.applied >= node(0)->metadata.applied &&
                node(2)->metadata.applied >= node(0)->metadata.applied);
    for (int i = 1; i < 3; i++)
        ck_assert_uint_eq(
            kl_controller_topic_count(node(i)->metadata.controller), count);
    return count;
}

START_TEST(commands_anywhere)
{
    const struct kl_runtime_topic *topic;
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_SET_CONFIG, .topic = "b", .key = "retention.ms"};

    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "a", 3), 0);
    /* Who has made it finds it. */
    topic = kl_runtime_topic_get(node(1), "a");
    ck_assert_ptr_nonnull(topic);
    ck_assert_int_eq(topic->partition_count, 3);
    kl_runtime_topic_unref(node(1), topic);
    ck_assert_int_eq(run(2, KL_RUNTIME_CREATE_TOPIC, "a", 1), KL_ETOPICEXISTS);
    ck_assert_int_eq(run(2, KL_RUNTIME_CREATE_TOPIC, "b", 2), 0);
    ck_assert_int_eq(run(0, KL_RUNTIME_CREATE_TOPIC, "c", 1), 0);
    ck_assert_uint_eq(topics_everywhere(), 3);
    ck_assert_int_eq(run(1, KL_RUNTIME_GROW_TOPIC, "b", 5), 0);
    ck_assert_int_eq(run(1, KL_RUNTIME_GROW_TOPIC, "b", 5), KL_EPARTITIONS);
    wish.value = "77";
    ck_assert_int_eq(cluster_fixture_code(&c, 1, &wish), 0);
    ck_assert_str_eq(
        kl_controller_config_get(
            kl_controller_topic_find(node(1)->metadata.controller, "b"),
            "retention.ms"),
        "77");
    wish.value = NULL;
    ck_assert_int_eq(cluster_fixture_code(&c, 2, &wish), 0);
    wish.key = "no.such";
    wish.value = "1";
    ck_assert_int_eq(cluster_fixture_code(&c, 2, &wish), KL_ECONFIG);
    ck_assert_int_eq(run(2, KL_RUNTIME_DELETE_TOPIC, "a", 0), 0);
    ck_assert_int_eq(run(1, KL_RUNTIME_DELETE_TOPIC, "a", 0), KL_ENOTOPIC);
    ck_assert_uint_eq(topics_everywhere(), 2);
    ck_assert_uint_gt(kl_base_stat_get(&node(1)->stats.calls), 0);
    ck_assert_uint_gt(kl_base_stat_get(&node(0)->stats.served), 0);
}
END_TEST

/* A node with a slow disk: what is done elsewhere is done when it is there. */
START_TEST(done_is_there)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};
    const struct kl_runtime_topic *topic;
    struct kl_runtime_op *op;

    trace_lanes_hold_all(&c.nodes[1].f.jobs, TRACE_LANES_BEFORE);
    op = cluster_fixture_begin(&c, 1, &wish);
    cluster_fixture_until(
        &c, kl_controller_topic_find(node(0)->metadata.controller, "t"));
    for (int i = 0; i < 500; i++)
        cluster_fixture_round(&c);
    ck_assert_int_eq(kl_runtime_op_is_done(op), 0);
    trace_lanes_hold_all(&c.nodes[1].f.jobs, TRACE_LANES_FREE);
    cluster_fixture_until(&c, kl_runtime_op_is_done(op));
    ck_assert_int_eq(op->code, 0);
    kl_runtime_op_unref(op);
    topic = kl_runtime_topic_get(node(1), "t");
    ck_assert_ptr_nonnull(topic);
    kl_runtime_topic_unref(node(1), topic);
}
END_TEST

START_TEST(configuration_goes_along)
{
    struct kl_base_config config;
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1,
                                   .config = &config};
    const struct kl_controller_topic *t;

    kl_base_config_init(&config);
    ck_assert_int_eq(kl_base_config_set(&config, "flush", "interval", NULL), 0);
    ck_assert_int_eq(kl_base_config_set(&config, "retention.bytes", "1m", NULL),
                     0);
    ck_assert_int_eq(cluster_fixture_code(&c, 2, &wish), 0);
    t = kl_controller_topic_find(node(2)->metadata.controller, "t");
    ck_assert_str_eq(kl_controller_config_get(t, "flush"), "interval");
    ck_assert_str_eq(kl_controller_config_get(t, "retention.bytes"), "1048576");
}
END_TEST

/* The text of the controller's error comes along. */
START_TEST(errors_have_texts)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 2};
    struct kl_runtime_op *op = cluster_fixture_do(&c, 1, &wish);

    ck_assert_int_eq(op->code, KL_EREPLICATION);
    ck_assert_ptr_nonnull(op->extra);
    ck_assert_str_eq(op->extra->text,
                     "topic t: 2 replicas; this release keeps one");
    kl_runtime_op_unref(op);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "a b", 1), KL_ETOPICNAME);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "", 1), KL_ETOPICNAME);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "t", 0), KL_EPARTITIONS);
}
END_TEST

/* Without a controller nothing is done, and that is known. */
START_TEST(no_controller)
{
    cluster_fixture_crash(&c, 0);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "t", 1), KL_ETIMEDOUT);
    cluster_fixture_open(&c, 0);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "t", 1), 0);
}
END_TEST

/* The answer is lost: it may or may not have been done. */
START_TEST(answer_is_lost)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};
    struct kl_runtime_op *op = cluster_fixture_begin(&c, 1, &wish);
    int64_t cut;

    ck_assert_int_eq(kl_runtime_poll(node(1), 0), 0);
    ck_assert_int_eq(kl_runtime_op_is_done(op), 0);
    cluster_fixture_cut(&c, 1);
    cut = c.now_ns;
    cluster_fixture_until(&c, kl_runtime_op_is_done(op));
    ck_assert_int_eq(op->code, KL_EUNKNOWN);
    ck_assert_int_lt((c.now_ns - cut) / 1000000, 1000);
    kl_runtime_op_unref(op);
    cluster_fixture_join(&c, 1);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "u", 1), 0);
}
END_TEST

/* It left by the link that is up: one that never was says nothing of it. */
START_TEST(dial_fails_meanwhile)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};
    struct kl_runtime_op *op = cluster_fixture_begin(&c, 1, &wish);
    struct kl_runtime_link *dialled =
        kl_base_calloc(&node(1)->alloc, sizeof *dialled);

    ck_assert_ptr_nonnull(dialled);
    ck_assert_int_eq(kl_runtime_poll(node(1), 0), 0);
    dialled->id = UINT64_MAX;
    dialled->node_id = node(0)->id;
    dialled->is_outgoing = 1;
    kl_base_list_init(&dialled->waiting);
    kl_base_list_push(&node(1)->links.all, &dialled->link);
    node(1)->links.count++;
    kl_runtime_links_drop(node(1), dialled);
    cluster_fixture_until(&c, kl_runtime_op_is_done(op));
    ck_assert_int_eq(op->code, 0);
    kl_runtime_op_unref(op);
}
END_TEST

/* Nodes that close answer for what is on its way. */
START_TEST(closed_meanwhile)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};
    struct kl_runtime_op *sent = cluster_fixture_begin(&c, 1, &wish);
    struct kl_runtime_op *waits;

    ck_assert_int_eq(kl_runtime_poll(node(1), 0), 0);
    cluster_fixture_crash(&c, 0);
    cluster_fixture_until(&c, kl_runtime_op_is_done(sent));
    ck_assert(sent->code == KL_EUNKNOWN || sent->code == KL_ECLOSED ||
              sent->code == 0);
    waits = cluster_fixture_begin(&c, 1, &wish);
    ck_assert_int_eq(kl_runtime_poll(node(1), 0), 0);
    cluster_fixture_crash(&c, 1);
    ck_assert_int_eq(kl_runtime_op_is_done(waits), 1);
    ck_assert_int_eq(waits->code, KL_ECLOSED);
    kl_runtime_op_unref(sent);
    kl_runtime_op_unref(waits);
}
END_TEST

/* ---- voters -------------------------------------------------------------- */

static void three_voters(void)
{
    ck_assert_int_eq(voter(0, KL_RUNTIME_ADD_VOTER, 2, 0), 0);
    ck_assert_int_eq(voter(1, KL_RUNTIME_ADD_VOTER, 3, 0), 0);
}

static struct kl_runtime_op *describe(int index,
                                      enum kl_runtime_command_type type)
{
    struct kl_runtime_wish wish = {.type = type};
    struct kl_runtime_op *op = cluster_fixture_do(&c, index, &wish);

    ck_assert_int_eq(op->code, 0);
    ck_assert_ptr_nonnull(op->extra);
    ck_assert_ptr_nonnull(op->extra->json);
    return op;
}

START_TEST(voters_come_and_go)
{
    struct kl_runtime_op *op;

    ck_assert_int_eq(voter(0, KL_RUNTIME_ADD_VOTER, 9, 0), KL_ENOBROKER);
    ck_assert_int_eq(voter(0, KL_RUNTIME_REMOVE_VOTER, 2, 0), KL_ENOVOTER);
    ck_assert_int_eq(voter(2, KL_RUNTIME_ADD_VOTER, 1, 0), KL_EVOTEREXISTS);
    three_voters();
    op = describe(2, KL_RUNTIME_DESCRIBE_QUORUM);
    ck_assert_ptr_nonnull(strstr(op->extra->json, "{\"leader\":1,\"epoch\":"));
    ck_assert_ptr_nonnull(strstr(op->extra->json, "\"observers\":[]"));
    ck_assert_ptr_nonnull(
        strstr(op->extra->json, "\"endpoints\":[\"memory:3\"]"));
    kl_runtime_op_unref(op);
    op = describe(1, KL_RUNTIME_DESCRIBE_CLUSTER);
    ck_assert_ptr_nonnull(strstr(op->extra->json, "\"controller\":1"));
    ck_assert_ptr_nonnull(strstr(op->extra->json, "\"brokers\":[{\"node\":1,"));
    ck_assert_ptr_nonnull(strstr(op->extra->json, "\"fenced\":false"));
    kl_runtime_op_unref(op);
    ck_assert_int_eq(voter(2, KL_RUNTIME_REMOVE_VOTER, 3, 0), 0);
    ck_assert_int_eq(voter(2, KL_RUNTIME_ADD_VOTER, 3, 0), 0);
}
END_TEST

/* The controller dies: another acts, and commands find it. */
START_TEST(fail_over)
{
    three_voters();
    ck_assert_int_eq(run(2, KL_RUNTIME_CREATE_TOPIC, "before", 1), 0);
    cluster_fixture_crash(&c, 0);
    cluster_fixture_until(&c, cluster_fixture_controller(&c) > 0);
    for (int i = 1; i < 3; i++) {
        ck_assert_int_eq(run(i, KL_RUNTIME_CREATE_TOPIC, i == 1 ? "x" : "y", 1),
                         0);
        ck_assert_int_eq(run(i, KL_RUNTIME_CREATE_TOPIC, "before", 1),
                         KL_ETOPICEXISTS);
    }
    cluster_fixture_open(&c, 0);
    cluster_fixture_until(&c, cluster_fixture_is_active(&c, 0));
    ck_assert_int_eq(run(0, KL_RUNTIME_CREATE_TOPIC, "z", 1), 0);
    ck_assert_uint_eq(kl_controller_topic_count(node(0)->metadata.controller),
                      4);
}
END_TEST

/* It stops in order: the others need not wait for its time to be over. */
START_TEST(orderly_fail_over)
{
    int64_t begun;

    three_voters();
    begun = c.now_ns;
    cluster_fixture_stop(&c, 0);
    cluster_fixture_until(&c, cluster_fixture_controller(&c) > 0);
    ck_assert_int_eq(run(1, KL_RUNTIME_CREATE_TOPIC, "t", 1), 0);
    ck_assert_int_lt((c.now_ns - begun) / 1000000, 2000);
}
END_TEST

Suite *suite_runtime_forward(void);

Suite *suite_runtime_forward(void)
{
    Suite *s = suite_create("runtime_forward");
    TCase *t = tcase_create("forward");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, commands_anywhere);
    tcase_add_test(t, done_is_there);
    tcase_add_test(t, configuration_goes_along);
    tcase_add_test(t, errors_have_texts);
    tcase_add_test(t, no_controller);
    tcase_add_test(t, answer_is_lost);
    tcase_add_test(t, dial_fails_meanwhile);
    tcase_add_test(t, closed_meanwhile);
    tcase_add_test(t, voters_come_and_go);
    tcase_add_test(t, fail_over);
    tcase_add_test(t, orderly_fail_over);
    suite_add_tcase(s, t);
    return s;
}
