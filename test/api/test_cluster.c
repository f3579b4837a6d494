/*
 * Several nodes in one process, each with its thread, through a hub: a node
 * that was alone grows to a cluster of three voters, loses its controller, and
 * shrinks again. Nothing is waited for but what operations and descriptions
 * say.
 */
#include "pubsub_help.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3, TRIES = 200000, RECORDS = 50 };

static kl_storage *storage;
static kl_hub *hub;
static struct help_node nodes[NODES];
static kl_transport *transports[NODES];

static void setup(void)
{
    memset(nodes, 0, sizeof nodes);
    memset(transports, 0, sizeof transports);
    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, 0), 0);
    ck_assert_int_eq(kl_hub_new(&hub, NULL), 0);
}

static void node_close(int i)
{
    if (!nodes[i].node)
        return;
    kl_client_free(nodes[i].client);
    kl_node_free(nodes[i].node);
    kl_transport_free(transports[i]);
    nodes[i].node = NULL;
}

static void teardown(void)
{
    for (int i = 0; i < NODES; i++)
        node_close(i);
    kl_hub_free(hub);
    kl_storage_free(storage);
}

/* The first folder is a cluster of its own, the others join it. */
static void node_open(int i)
{
    char id[16];
    char endpoint[16];
    const char *pairs[] = {"node.id",
                           id,
                           "advertised.listeners",
                           endpoint,
                           "controller.quorum.election.timeout.ms",
                           "100",
                           "controller.quorum.fetch.timeout.ms",
                           "200",
                           "broker.heartbeat.interval.ms",
                           "50",
                           "wal.bytes",
                           "256k",
                           i ? "controller.quorum.bootstrap.servers" : NULL,
                           "1@n1,2@n2,3@n3",
                           NULL};
    kl_config *config;

    (void)snprintf(id, sizeof id, "%d", i + 1);
    (void)snprintf(endpoint, sizeof endpoint, "n%d", i + 1);
    config = help_config(pairs);
    ck_assert_int_eq(
        kl_transport_new_loopback(&transports[i], config, hub, endpoint), 0);
    ck_assert_int_eq(kl_node_new(&nodes[i].node, config), 0);
    kl_config_free(config);
    ck_assert_int_eq(kl_node_set_storage(nodes[i].node, storage), 0);
    ck_assert_int_eq(kl_node_set_transport(nodes[i].node, transports[i]), 0);
    ck_assert_int_eq(kl_node_open(nodes[i].node, endpoint,
                                  KL_OPEN_CREATE | (i ? KL_OPEN_JOIN : 0)),
                     0);
    ck_assert_int_eq(kl_node_start(nodes[i].node), 0);
    ck_assert_int_eq(kl_node_client(nodes[i].node, &nodes[i].client), 0);
}

/* 1 where what a node says of the cluster, or of the quorum, has a text. */
static int says(int i, int is_quorum, const char *text)
{
    const char *json = NULL;
    size_t size = 0;
    kl_op *op = NULL;
    int found = 0;

    ck_assert_int_eq(is_quorum
                         ? kl_admin_describe_quorum(nodes[i].client, 0, &op)
                         : kl_admin_describe_cluster(nodes[i].client, 0, &op),
                     0);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), 0);
    if (kl_op_code(op) == 0) {
        ck_assert_int_eq(kl_op_json(op, &json, &size), 0);
        found = strstr(json, text) != NULL;
    }
    kl_op_free(op);
    return found;
}

#define until(condition)                                                       \
    do {                                                                       \
        int tries_ = 0;                                                        \
        while (!(condition))                                                   \
            ck_assert_msg(tries_++ < TRIES, "never: %s", #condition);          \
    } while (0)

/* As a broker that is active, at node at. */
static int is_active(int at, int i)
{
    const char *json = NULL;
    size_t size = 0;
    char text[32];
    const char *own;
    kl_op *op = NULL;
    int found = 0;

    ck_assert_int_eq(kl_admin_describe_cluster(nodes[at].client, 0, &op), 0);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), 0);
    ck_assert_int_eq(kl_op_json(op, &json, &size), 0);
    (void)snprintf(text, sizeof text, "{\"node\":%d,\"directory\"", i + 1);
    own = strstr(json, "\"brokers\":");
    own = own ? strstr(own, text) : NULL;
    if (own) {
        const char *fenced = strstr(own, "\"fenced\":");

        found = fenced && strncmp(fenced, "\"fenced\":false", 14) == 0;
    }
    kl_op_free(op);
    return found;
}

static int voter(int at, int i, int adds, uint32_t flags)
{
    kl_op *op = NULL;

    ck_assert_int_eq(
        adds ? kl_admin_add_voter(nodes[at].client, i + 1, flags, &op)
             : kl_admin_remove_voter(nodes[at].client, i + 1, flags, &op),
        0);
    return help_finish(op);
}

static int create(int at, const char *name)
{
    kl_op *op = NULL;

    ck_assert_int_eq(
        kl_admin_create_topic(nodes[at].client, name, 1, 1, NULL, 0, &op), 0);
    return help_finish(op);
}

/* The first partition of a topic can be read there. */
static int leads(int at, const char *topic)
{
    kl_op *op = NULL;
    int code;

    ck_assert_int_eq(kl_admin_list_offset(nodes[at].client, topic, 0,
                                          KL_OFFSET_END, 0, 0, &op),
                     0);
    code = help_finish(op);
    ck_assert(code == 0 || code == KL_ENOTLEADER || code == KL_ENOTOPIC);
    return code == 0;
}

static void grow(void)
{
    for (int i = 1; i < NODES; i++)
        node_open(i);
    for (int i = 1; i < NODES; i++)
        until(is_active(0, i) && is_active(i, i));
    /* An observer is caught up when its last fetch says so. */
    until(voter(0, 1, 1, 0) == 0);
    until(voter(2, 2, 1, 0) == 0);
    ck_assert_int_eq(voter(1, 2, 1, 0), KL_EVOTEREXISTS);
}

/* From one to three and back to one; the records of the first node stay. */
START_TEST(grow_and_shrink)
{
    kl_producer *p;

    node_open(0);
    help_topic(&nodes[0], "words", 1, NULL);
    p = help_producer(&nodes[0], NULL);
    help_send_many(p, "words", 0, "w", RECORDS);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), 0);
    kl_producer_free(p);
    grow();
    until(says(0, 0, "\"voters\":[1,2,3]"));
    until(says(2, 1, "\"observers\":[]"));
    ck_assert_int_eq(create(1, "words"), KL_ETOPICEXISTS);
    ck_assert_int_eq(create(2, "more"), 0);
    help_check_values(&nodes[0], "words", 0, "w", RECORDS);
    ck_assert_int_eq(voter(1, 1, 0, 0), 0);
    /* Two, and then one: less is tolerated, which has to be said. */
    ck_assert_int_eq(voter(0, 2, 0, KL_VOTER_FORCE), 0);
    until(says(0, 0, "\"voters\":[1]"));
    ck_assert_int_eq(voter(0, 0, 0, KL_VOTER_FORCE), KL_EINVAL);
    node_close(1);
    node_close(2);
    node_close(0);
    node_open(0);
    help_check_values(&nodes[0], "words", 0, "w", RECORDS);
}
END_TEST

/* The controller goes, in order or not: the others have another one, and it
 * comes back with what it holds. */
START_TEST(controller_goes)
{
    kl_producer *p;

    node_open(0);
    help_topic(&nodes[0], "words", 1, NULL);
    p = help_producer(&nodes[0], NULL);
    help_send_many(p, "words", 0, "w", RECORDS);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), 0);
    kl_producer_free(p);
    grow();
    if (_i)
        ck_assert_int_eq(kl_node_stop(nodes[0].node, HELP_WAIT_MS), 0);
    node_close(0);
    until(create(1, "after") != KL_EUNKNOWN);
    ck_assert_int_eq(create(2, "after"), KL_ETOPICEXISTS);
    ck_assert_int_eq(create(2, "words"), KL_ETOPICEXISTS);
    node_open(0);
    until(leads(0, "words"));
    ck_assert_int_eq(create(0, "words"), KL_ETOPICEXISTS);
    help_check_values(&nodes[0], "words", 0, "w", RECORDS);
}
END_TEST

/* A node of three that closes answers everything. */
START_TEST(closed_meanwhile)
{
    kl_op *op = NULL;
    int code;

    node_open(0);
    node_open(1);
    until(is_active(1, 1));
    ck_assert_int_eq(
        kl_admin_create_topic(nodes[1].client, "t", 1, 1, NULL, 0, &op), 0);
    node_close(1);
    ck_assert_int_eq(kl_op_done(op), 1);
    code = help_finish(op);
    ck_assert(code == 0 || code == KL_EUNKNOWN || code == KL_ECLOSED);
}
END_TEST

Suite *suite_api_cluster(void);

Suite *suite_api_cluster(void)
{
    Suite *s = suite_create("api_cluster");
    TCase *t = tcase_create("cluster");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, grow_and_shrink);
    tcase_add_loop_test(t, controller_goes, 0, 2);
    tcase_add_test(t, closed_meanwhile);
    suite_add_tcase(s, t);
    return s;
}
