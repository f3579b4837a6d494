/*
 * What the controller answers to requests as other nodes make them.
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

/* A request of a test, and what became of it. */
struct ask
{
    struct kl_runtime_request request;
    struct kl_runtime_call call;
    const struct kl_wire_message *body;
    int forge_client; /* as somebody who is no node */
    int is_done;
    int code;
    char text[KL_BASE_ERROR_TEXT];
    int64_t metadata_offset;
    int64_t number; /* the first of what the response has besides */
    int codes[8];
    int count;
    struct kl_wire_altered_partition altered;
    int32_t isr[4];
};

static int ask_send(struct kl_runtime_node *n, struct kl_runtime_call *call,
                    struct kl_wire_message *m)
{
    const struct ask *a = KL_BASE_CONTAINER(call, struct ask, call);
    struct kl_wire_envelope envelope = m->envelope;

    *m = *a->body;
    m->envelope = envelope;
    if (a->forge_client)
        memset(&m->envelope.source_directory, 0,
               sizeof m->envelope.source_directory);
    return kl_runtime_links_ask(n, m);
}

static void ask_keep(struct ask *a, const struct kl_wire_message *m)
{
    const struct kl_wire_unregister_broker_response *head =
        &m->unregister_broker_response;
    const struct kl_wire_altered_partition_list *list =
        &m->alter_partition_response.partitions;

    memcpy(a->text, head->error_message.data, head->error_message.size);
    a->metadata_offset = head->metadata_offset;
    if (m->envelope.api_key == KL_WIRE_ALLOCATE_PRODUCER_IDS)
        a->number = m->allocate_producer_ids_response.first_producer_id;
    if (m->envelope.api_key == KL_WIRE_BROKER_REGISTRATION)
        a->number = m->broker_registration_response.broker_epoch;
    if (m->envelope.api_key != KL_WIRE_ALTER_PARTITION)
        return;
    for (uint32_t i = 0; i < list->count; i++)
        a->codes[a->count++] = kl_wire_error_code(list->items[i].error_code);
    if (!list->count)
        return;
    a->altered = list->items[0];
    for (uint32_t i = 0; i < a->altered.isr.count && i < 4; i++)
        a->isr[i] = kl_wire_i32s_get(&a->altered.isr, i);
}

static void ask_done(struct kl_runtime_node *n, struct kl_runtime_call *call,
                     int code, const struct kl_wire_message *response)
{
    struct ask *a = KL_BASE_CONTAINER(call, struct ask, call);

    (void)n;
    a->is_done = 1;
    a->code = code;
    if (response)
        ask_keep(a, response);
}

static void ask_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                    int closed)
{
    struct ask *a = KL_BASE_CONTAINER(r, struct ask, request);

    ck_assert(!closed);
    kl_runtime_call(n, &a->call);
}

/* Asks a node, -1 = the controller, and waits. */
static int ask(int from, int32_t node_id, int16_t api,
               const struct kl_wire_message *body, struct ask *a)
{
    a->body = body;
    a->call.api_key = api;
    a->call.node_id = node_id;
    a->call.until_ns = c.now_ns + INT64_C(20000000000);
    a->call.send = ask_send;
    a->call.done = ask_done;
    a->request.run = ask_run;
    kl_runtime_submit(node(from), &a->request);
    cluster_fixture_until(&c, a->is_done);
    return a->code;
}

START_TEST(stale_heartbeat)
{
    struct kl_wire_message m = {0};
    struct ask a = {0};
    struct ask b = {0};

    m.broker_heartbeat_request.broker_epoch = node(1)->broker.epoch - 1;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_BROKER_HEARTBEAT, &m, &a), KL_EFENCED);
    ck_assert_ptr_nonnull(strstr(a.text, "broker 2: epoch"));
    m.broker_heartbeat_request.broker_epoch = node(1)->broker.epoch;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_BROKER_HEARTBEAT, &m, &b), 0);
    ck_assert(cluster_fixture_is_active(&c, 1));
}
END_TEST

/* The same start of a broker keeps its epoch, however often it asks. */
START_TEST(registration_again)
{
    struct kl_wire_message m = {0};
    struct ask a = {0};
    struct ask b = {0};

    m.broker_registration_request.feature_max = KL_CONTROLLER_FEATURE_LEVEL;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_BROKER_REGISTRATION, &m, &a), 0);
    ck_assert_int_eq(a.number, node(1)->broker.epoch);
    m.broker_registration_request.feature_min = 7;
    m.broker_registration_request.feature_max = 8;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_BROKER_REGISTRATION, &m, &b),
                     KL_EUNSUPPORTED);
    ck_assert_int_eq(b.number, -1);
    ck_assert(cluster_fixture_is_active(&c, 1));
}
END_TEST

/* A node need not wake up for the timeout of what is answered. */
START_TEST(an_answer_ends_the_wait)
{
    const struct kl_runtime_requests *q = &node(1)->requests;
    struct kl_wire_message m = {0};
    struct ask a = {0};

    a.call.may_repeat = 1;
    m.broker_heartbeat_request.broker_epoch = node(1)->broker.epoch;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_BROKER_HEARTBEAT, &m, &a), 0);
    cluster_fixture_until(&c, kl_base_list_is_empty(&q->all));
    cluster_fixture_round(&c);
    ck_assert(kl_base_list_is_empty(&q->all));
    ck_assert(kl_base_list_is_empty(&q->timer.link));
}
END_TEST

START_TEST(not_the_controller)
{
    struct kl_wire_message m = {0};
    struct ask a = {0};

    m.delete_topics_request.name = (struct kl_wire_text){"t", 1};
    ck_assert_int_eq(ask(1, 3, KL_WIRE_DELETE_TOPICS, &m, &a),
                     KL_ENOTCONTROLLER);
    ck_assert_int_eq(a.metadata_offset, -1);
    ck_assert_uint_eq(kl_base_stat_get(&node(2)->stats.served_not_controller),
                      1);
}
END_TEST

START_TEST(producer_ids)
{
    struct kl_wire_message m = {0};
    struct ask a[3] = {{.number = 0}};

    m.allocate_producer_ids_request.broker_epoch = node(1)->broker.epoch;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_ALLOCATE_PRODUCER_IDS, &m, &a[0]), 0);
    ck_assert_int_eq(ask(1, -1, KL_WIRE_ALLOCATE_PRODUCER_IDS, &m, &a[1]), 0);
    ck_assert_int_eq(a[1].number, a[0].number + KL_CONTROLLER_PRODUCER_IDS);
    ck_assert_int_eq(ask(2, -1, KL_WIRE_ALLOCATE_PRODUCER_IDS, &m, &a[2]),
                     KL_EFENCED);
}
END_TEST

START_TEST(clients_are_no_brokers)
{
    static const int16_t apis[] = {KL_WIRE_BROKER_REGISTRATION,
                                   KL_WIRE_BROKER_HEARTBEAT,
                                   KL_WIRE_ALLOCATE_PRODUCER_IDS};
    struct kl_wire_message m = {0};
    struct ask a = {.forge_client = 1};

    ck_assert_int_eq(ask(1, -1, apis[_i], &m, &a), KL_EINVAL);
    ck_assert_str_eq(a.text, "a client is no broker");
}
END_TEST

/* Who lives is not forgotten; who is gone may be. */
START_TEST(unregister)
{
    struct kl_wire_message m = {0};
    struct ask a[3] = {{.number = 0}};

    m.unregister_broker_request.broker_id = 3;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_UNREGISTER_BROKER, &m, &a[0]),
                     KL_ESTATE);
    cluster_fixture_stop(&c, 2);
    ck_assert_int_eq(ask(1, -1, KL_WIRE_UNREGISTER_BROKER, &m, &a[1]), 0);
    ck_assert_int_ge(node(0)->metadata.applied, a[1].metadata_offset);
    ck_assert_int_eq(ask(1, -1, KL_WIRE_UNREGISTER_BROKER, &m, &a[2]),
                     KL_ENOBROKER);
    cluster_fixture_open(&c, 2);
    cluster_fixture_until(&c, cluster_fixture_is_active(&c, 2));
}
END_TEST

/* A partition with one replica: what its leader may propose, and what it may
 * not. */
START_TEST(alter_partition)
{
    static const int codes[] = {0, KL_ENOTCONTROLLER, KL_EINVAL, KL_ENOTOPIC};
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};
    struct kl_wire_isr_member member = {.broker_epoch = -1};
    struct kl_wire_proposed_partition p = {.partition = 0};
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *at;
    struct kl_wire_message m = {0};
    struct ask a = {0};
    int leader;

    ck_assert_int_eq(cluster_fixture_code(&c, 0, &wish), 0);
    t = kl_controller_topic_find(node(0)->metadata.controller, "t");
    at = kl_controller_partition_at(t, 0);
    leader = at->leader - 1;
    member.broker_id = _i == 2 ? 9 : at->leader;
    p.topic_id = t->id;
    p.topic_id.bytes[3] ^= _i == 3;
    p.leader_epoch = at->leader_epoch + (_i == 1);
    p.partition_epoch = at->partition_epoch;
    p.new_isr.items = &member;
    p.new_isr.count = 1;
    m.alter_partition_request.broker_epoch = node(leader)->broker.epoch;
    m.alter_partition_request.partitions.items = &p;
    m.alter_partition_request.partitions.count = 1;
    ck_assert_int_eq(ask(leader, -1, KL_WIRE_ALTER_PARTITION, &m, &a), 0);
    ck_assert_int_eq(a.count, 1);
    ck_assert_int_eq(a.codes[0], codes[_i]);
    ck_assert_int_eq(a.altered.leader_id, _i == 3 ? -1 : leader + 1);
    ck_assert_int_eq(a.altered.min_isr, _i != 3);
    ck_assert_uint_eq(a.altered.isr.count, _i != 3);
    ck_assert_int_eq(a.isr[0], _i == 3 ? 0 : leader + 1);
}
END_TEST

START_TEST(alter_partition_of_nobody)
{
    struct kl_wire_isr_member own = {.broker_id = 2, .broker_epoch = -1};
    struct kl_wire_proposed_partition p = {.topic_id = {{1}}};
    struct kl_wire_message m = {0};
    struct ask a = {0};

    p.new_isr.items = &own;
    p.new_isr.count = 1;
    m.alter_partition_request.broker_epoch = node(1)->broker.epoch + 5;
    m.alter_partition_request.partitions.items = &p;
    m.alter_partition_request.partitions.count = 1;
    ck_assert_int_eq(ask(1, -1, KL_WIRE_ALTER_PARTITION, &m, &a), KL_EFENCED);
    ck_assert_int_eq(a.count, 0);
}
END_TEST

/* Whatever allocation fails, at the node that asks or at the controller: the
 * command is carried out, or refused, or that is not known; never half. */
START_TEST(without_memory)
{
    struct kl_runtime_wish create = {.type = KL_RUNTIME_CREATE_TOPIC,
                                     .topic = "t",
                                     .number = 2,
                                     .replication = 1};
    struct kl_runtime_wish delete = {.type = KL_RUNTIME_DELETE_TOPIC,
                                     .topic = "t"};
    int counts[3] = {0};

    for (uint64_t i = 1; i < 120; i++) {
        struct kl_runtime_op *op = cluster_fixture_begin(&c, 1, &create);
        int code;

        fail_alloc_arm(&c.nodes[_i].f.memory, i);
        cluster_fixture_until(&c, kl_runtime_op_is_done(op));
        fail_alloc_arm(&c.nodes[_i].f.memory, 0);
        code = op->code;
        kl_runtime_op_unref(op);
        ck_assert_msg(code == 0 || code == KL_ENOMEM || code == KL_EUNKNOWN,
                      "%d", code);
        counts[code == 0 ? 0 : code == KL_ENOMEM ? 1 : 2]++;
        code = cluster_fixture_code(&c, 1, &delete);
        ck_assert(code == 0 || code == KL_ENOTOPIC);
        ck_assert_ptr_null(
            kl_controller_invariant(node(0)->metadata.controller));
    }
    ck_assert_int_gt(counts[0], 0);
    cluster_fixture_until(&c, cluster_fixture_is_active(&c, 1));
}
END_TEST

Suite *suite_runtime_serve(void);

Suite *suite_runtime_serve(void)
{
    Suite *s = suite_create("runtime_serve");
    TCase *t = tcase_create("serve");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, stale_heartbeat);
    tcase_add_test(t, registration_again);
    tcase_add_test(t, an_answer_ends_the_wait);
    tcase_add_test(t, not_the_controller);
    tcase_add_test(t, producer_ids);
    tcase_add_loop_test(t, clients_are_no_brokers, 0, 3);
    tcase_add_test(t, unregister);
    tcase_add_loop_test(t, alter_partition, 0, 4);
    tcase_add_test(t, alter_partition_of_nobody);
    tcase_add_loop_test(t, without_memory, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
