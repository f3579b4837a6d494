/*
 * Nodes as brokers: registration, heartbeats, fencing, stopping.
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
}

static void teardown(void)
{
    cluster_fixture_deinit(&c);
}

static struct kl_runtime_node *node(int index)
{
    return c.nodes[index].f.n;
}

static const struct kl_controller_broker *broker(int at, int index)
{
    return kl_controller_broker_find(node(at)->metadata.controller, index + 1);
}

START_TEST(all_register)
{
    cluster_fixture_open_active(&c);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(
            kl_controller_broker_count(node(i)->metadata.controller), 3);
        ck_assert_int_eq(kl_store_broker_epoch(node(i)->store),
                         node(i)->broker.epoch);
        ck_assert_int_eq(node(i)->broker.refusal, 0);
    }
    ck_assert_ptr_nonnull(broker(0, 2));
}
END_TEST

/* A topic of one partition on the broker, made there; its id. */
static struct kl_base_uuid topic_on(int index, const char *name)
{
    const struct kl_controller_topic *t;

    for (int i = 0;; i++) {
        char text[32];
        struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                       .topic = text,
                                       .number = 1,
                                       .replication = 1};

        ck_assert_int_lt(i, 100);
        (void)snprintf(text, sizeof text, "%s-%d", name, i);
        ck_assert_int_eq(cluster_fixture_code(&c, index, &wish), 0);
        t = kl_controller_topic_find(node(index)->metadata.controller, text);
        if (kl_controller_partition_at(t, 0)->leader == index + 1)
            return t->id;
    }
}

static int led(int index, const struct kl_base_uuid *id)
{
    struct kl_runtime_partition *part;

    return kl_runtime_partition_led(node(index), id, 0, &part);
}

static int32_t leader_of(int at, const struct kl_base_uuid *id)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find_id(node(at)->metadata.controller, id);

    return t ? kl_controller_partition_at(t, 0)->leader : -2;
}

START_TEST(only_the_leader_serves)
{
    struct node_fixture_produce p;
    struct node_fixture_fetch fetch;
    struct kl_base_uuid id;
    struct kl_base_chunk *frame;

    cluster_fixture_open_active(&c);
    id = topic_on(1, "t");
    ck_assert_int_eq(node_fixture_append(&c.nodes[1].f, &id, 0, 3, 1), 0);
    cluster_fixture_until(&c, leader_of(2, &id) == 2);
    ck_assert_int_eq(led(2, &id), KL_ENOTLEADER);
    frame = node_fixture_frame(&c.nodes[2].f, &id, 0, 1, 1, 1);
    node_fixture_produce(&c.nodes[2].f, &p, &id, 0, frame);
    cluster_fixture_until(&c, p.done);
    ck_assert_int_eq(p.base.code, KL_ENOTLEADER);
    node_fixture_fetch(&c.nodes[2].f, &fetch, &id, 0, 0);
    cluster_fixture_until(&c, fetch.done);
    ck_assert_int_eq(fetch.base.read.code, KL_ENOTLEADER);
    ck_assert_ptr_null(kl_runtime_partition_find(node(2), &id, 0));
}
END_TEST

/* Who is silent leads nothing, and gets it back when it is heard again. */
START_TEST(silent_broker_is_fenced)
{
    struct kl_base_uuid id;
    int64_t since;

    cluster_fixture_open_active(&c);
    id = topic_on(2, "t");
    cluster_fixture_cut(&c, 2);
    since = c.now_ns;
    cluster_fixture_until(&c, !kl_controller_broker_is_active(broker(0, 2)));
    ck_assert_int_gt((c.now_ns - since) / 1000000, 6000);
    ck_assert_int_lt((c.now_ns - since) / 1000000, 12000);
    ck_assert_int_eq(leader_of(0, &id), -1);
    ck_assert_uint_eq(kl_base_stat_get(&node(0)->stats.brokers_inactive), 1);
    cluster_fixture_join(&c, 2);
    cluster_fixture_until(&c,
                          cluster_fixture_is_active(&c, 2) && led(2, &id) == 0);
    ck_assert_int_eq(leader_of(2, &id), 3);
    cluster_fixture_until(
        &c, kl_base_stat_get(&node(0)->stats.brokers_inactive) == 0);
    ck_assert_uint_eq(kl_base_stat_get(&node(0)->stats.brokers), 3);
}
END_TEST

/* In order or not: the same folder is the same broker with all it holds. */
START_TEST(restart)
{
    struct kl_base_uuid id;
    int64_t epoch;
    int64_t since;

    cluster_fixture_open_active(&c);
    id = topic_on(2, "t");
    ck_assert_int_eq(node_fixture_append(&c.nodes[2].f, &id, 0, 5, 1), 0);
    epoch = node(2)->broker.epoch;
    if (_i)
        cluster_fixture_crash(&c, 2);
    else
        cluster_fixture_stop(&c, 2);
    since = c.now_ns;
    cluster_fixture_open(&c, 2);
    /* What an image says of the start before is not for this one. */
    while (!cluster_fixture_is_active(&c, 2)) {
        ck_assert_int_ne(led(2, &id), 0);
        cluster_fixture_round(&c);
    }
    /* It does not wait for the session of the start before. */
    ck_assert_int_lt((c.now_ns - since) / 1000000, 2000);
    ck_assert_int_gt(node(2)->broker.epoch, epoch);
    cluster_fixture_until(&c, led(2, &id) == 0);
    ck_assert_int_eq(node_fixture_append(&c.nodes[2].f, &id, 0, 1, 1), 5);
}
END_TEST

/* A start that ends behind its registration, before the epoch of it is durable,
 * was no session that anybody has counted on. */
START_TEST(crash_behind_registration)
{
    struct kl_base_uuid id;
    int64_t stored;

    cluster_fixture_open_active(&c);
    id = topic_on(2, "t");
    ck_assert_int_eq(node_fixture_append(&c.nodes[2].f, &id, 0, 5, 1), 0);
    stored = node(2)->broker.epoch;
    cluster_fixture_stop(&c, 2);
    for (int i = 0; i < 2; i++) {
        cluster_fixture_open(&c, 2);
        cluster_fixture_until(&c,
                              !kl_base_list_is_empty(&node(2)->requests.all) &&
                                  node(2)->broker.call.correlation_id);
        trace_lanes_hold_all(&c.nodes[2].f.jobs, TRACE_LANES_BEFORE);
        cluster_fixture_until(&c, node(2)->broker.epoch >= 0);
        ck_assert_int_eq(kl_store_broker_epoch(node(2)->store), stored);
        ck_assert(!cluster_fixture_is_active(&c, 2));
        trace_vfs_cut(&c.nodes[2].f.trace, 0);
        cluster_fixture_crash(&c, 2);
        trace_vfs_heal(&c.nodes[2].f.trace);
        trace_lanes_hold_all(&c.nodes[2].f.jobs, TRACE_LANES_FREE);
    }
    cluster_fixture_open(&c, 2);
    cluster_fixture_until(&c, cluster_fixture_is_active(&c, 2));
    cluster_fixture_until(&c, led(2, &id) == 0);
    ck_assert_int_eq(node_fixture_append(&c.nodes[2].f, &id, 0, 1, 1), 5);
}
END_TEST

/* An orderly stop takes no session: the others know at once. */
START_TEST(stop_is_quick)
{
    int64_t since;

    cluster_fixture_open_active(&c);
    (void)topic_on(1, "t");
    since = c.now_ns;
    cluster_fixture_stop(&c, 1);
    ck_assert_int_lt((c.now_ns - since) / 1000000, 1500);
    ck_assert(!kl_controller_broker_is_active(broker(0, 1)));
}
END_TEST

/* With a controller that does not answer, a stop takes a session and no more.
 */
START_TEST(stop_without_controller)
{
    int64_t since;

    cluster_fixture_open_active(&c);
    cluster_fixture_cut(&c, 1);
    since = c.now_ns;
    cluster_fixture_stop(&c, 1);
    ck_assert_int_lt((c.now_ns - since) / 1000000, 9500);
}
END_TEST

/* The last of three voters: nobody can be the controller any more. */
START_TEST(last_one_stops)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_ADD_VOTER};
    int64_t since;

    cluster_fixture_open_active(&c);
    for (wish.broker_id = 2; wish.broker_id <= 3; wish.broker_id++)
        ck_assert_int_eq(cluster_fixture_code(&c, 0, &wish), 0);
    cluster_fixture_crash(&c, 0);
    cluster_fixture_crash(&c, 1);
    since = c.now_ns;
    cluster_fixture_stop(&c, 2);
    /* It sees that (a fetch timeout, two where it leads), and then waits for as
     * long as an election may take. */
    ck_assert_int_lt((c.now_ns - since) / 1000000, 6500);
}
END_TEST

/* A wiped folder under the id of a broker that lives: the first one stays. */
START_TEST(duplicate_node)
{
    char text[KL_BASE_ERROR_TEXT];

    cluster_fixture_deinit(&c);
    cluster_fixture_init(&c, 4);
    node_fixture_set(&c.nodes[3].f, "node.id", "3");
    for (int i = 0; i < 3; i++)
        cluster_fixture_open(&c, i);
    cluster_fixture_until(&c, cluster_fixture_is_active(&c, 2));
    cluster_fixture_open(&c, 3);
    cluster_fixture_until(&c, node(3)->broker.refusal);
    ck_assert_int_eq(node(3)->broker.refusal, KL_EDUPLICATENODE);
    kl_runtime_errmsg(node(3), text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "another node of this id is alive"));
    ck_assert_int_eq(node(2)->broker.refusal, 0);
    ck_assert(cluster_fixture_is_active(&c, 2));
    /* When it is gone, its place is free. */
    cluster_fixture_crash(&c, 2);
    cluster_fixture_until(&c, node(3)->broker.epoch >= 0 &&
                                  !node(3)->broker.is_fenced);
    kl_runtime_errmsg(node(3), text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* A folder that lost its past is in no list of replicas that could lead. */
START_TEST(wiped_folder)
{
    struct kl_base_uuid id;

    cluster_fixture_open_active(&c);
    id = topic_on(2, "t");
    ck_assert_int_eq(node_fixture_append(&c.nodes[2].f, &id, 0, 5, 1), 0);
    cluster_fixture_stop(&c, 2);
    cluster_fixture_wipe(&c, 2);
    cluster_fixture_open(&c, 2);
    cluster_fixture_until(&c, cluster_fixture_is_active(&c, 2));
    ck_assert_int_eq(leader_of(0, &id), -1);
    ck_assert_int_eq(led(2, &id), KL_ENOTLEADER);
    /* Only an operator says that what was there does not matter. */
    {
        struct kl_runtime_wish wish = {
            .type = KL_RUNTIME_ELECT_LEADER,
            .topic =
                kl_controller_topic_find_id(node(2)->metadata.controller, &id)
                    ->name,
            .broker_id = -1};

        ck_assert_int_eq(cluster_fixture_code(&c, 1, &wish), KL_ENOCANDIDATE);
        wish.is_unclean = 1;
        wish.broker_id = 3;
        ck_assert_int_eq(cluster_fixture_code(&c, 1, &wish), 0);
    }
    cluster_fixture_until(&c, led(2, &id) == 0);
    ck_assert_int_eq(node_fixture_append(&c.nodes[2].f, &id, 0, 1, 1), 0);
}
END_TEST

/* A node that was alone with its topics becomes a broker, and they stay. */
START_TEST(alone_becomes_broker)
{
    struct kl_base_uuid id;

    c.nodes[0].f.options.net = NULL;
    cluster_fixture_open(&c, 0);
    ck_assert_int_eq(node(0)->broker.is_wanted, 0);
    id = node_fixture_topic(&c.nodes[0].f, "t", 1, NULL, NULL);
    ck_assert_int_eq(node_fixture_append(&c.nodes[0].f, &id, 0, 2, 1), 0);
    cluster_fixture_stop(&c, 0);
    c.nodes[0].f.options.net = c.nodes[0].net;
    for (int i = 1; i < 3; i++) {
        /* Open is open: nothing has to be waited for, even after a crash. */
        cluster_fixture_open(&c, 0);
        ck_assert_int_eq(led(0, &id), 0);
        ck_assert(cluster_fixture_is_active(&c, 0));
        ck_assert_int_eq(node_fixture_append(&c.nodes[0].f, &id, 0, 2, 1),
                         2 * i);
        if (i == 1)
            cluster_fixture_crash(&c, 0);
    }
    cluster_fixture_stop(&c, 0);
    /* And back: it is registered, so it goes on as a broker. */
    c.nodes[0].f.options.net = NULL;
    cluster_fixture_open(&c, 0);
    ck_assert_int_eq(led(0, &id), 0);
    ck_assert_int_eq(node_fixture_append(&c.nodes[0].f, &id, 0, 2, 1), 6);
}
END_TEST

Suite *suite_runtime_broker(void);

Suite *suite_runtime_broker(void)
{
    Suite *s = suite_create("runtime_broker");
    TCase *t = tcase_create("broker");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, all_register);
    tcase_add_test(t, only_the_leader_serves);
    tcase_add_test(t, silent_broker_is_fenced);
    tcase_add_loop_test(t, restart, 0, 2);
    tcase_add_test(t, crash_behind_registration);
    tcase_add_test(t, stop_is_quick);
    tcase_add_test(t, stop_without_controller);
    tcase_add_test(t, last_one_stops);
    tcase_add_test(t, duplicate_node);
    tcase_add_test(t, wiped_folder);
    tcase_add_test(t, alone_becomes_broker);
    suite_add_tcase(s, t);
    return s;
}
