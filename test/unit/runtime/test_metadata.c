/*
 * Commands through the metadata log.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct node_fixture f;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static struct kl_runtime_op *begin(enum kl_runtime_command_type type,
                                   const char *topic)
{
    struct kl_runtime_wish wish = {
        .type = type, .topic = topic, .number = 1, .replication = 1};
    struct kl_runtime_op *op = NULL;

    ck_assert_int_eq(kl_runtime_command(f.n, &wish, &op), 0);
    return op;
}

static int finish(struct kl_runtime_op *op)
{
    int code;

    node_fixture_until(&f, kl_runtime_op_is_done(op));
    code = op->code;
    kl_runtime_op_unref(op);
    return code;
}

/* Each sees the effect of the ones before it, though none was waited for. */
START_TEST(commands_in_order)
{
    struct kl_runtime_op *ops[6];
    static const int codes[] = {0, KL_ETOPICEXISTS, 0, KL_ENOTOPIC, 0, 0};

    ops[0] = begin(KL_RUNTIME_CREATE_TOPIC, "t");
    ops[1] = begin(KL_RUNTIME_CREATE_TOPIC, "t");
    ops[2] = begin(KL_RUNTIME_DELETE_TOPIC, "t");
    ops[3] = begin(KL_RUNTIME_DELETE_TOPIC, "t");
    ops[4] = begin(KL_RUNTIME_CREATE_TOPIC, "t");
    ops[5] = begin(KL_RUNTIME_CREATE_TOPIC, "u");
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(finish(ops[i]), codes[i]);
    ck_assert_uint_eq(kl_controller_topic_count(f.n->metadata.controller), 2);
}
END_TEST

START_TEST(commands_nobody_asks_for)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};

    ck_assert_int_eq(kl_runtime_command(f.n, &wish, NULL), 0);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert_uint_eq(kl_controller_topic_count(f.n->metadata.controller), 1);
}
END_TEST

START_TEST(acknowledged_commands_survive_a_crash)
{
    char name[32];

    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "topic-%d", i);
        (void)node_fixture_topic(&f, name, i + 1, "retention.ms", "1000");
        node_fixture_crash(&f);
        node_fixture_open(&f);
    }
    ck_assert_uint_eq(kl_controller_topic_count(f.n->metadata.controller), 5);
    ck_assert_uint_eq(kl_controller_partition_count(f.n->metadata.controller),
                      15);
    ck_assert_ptr_null(kl_controller_invariant(f.n->metadata.controller));
    for (int i = 0; i < 5; i++) {
        const struct kl_controller_topic *t =
            kl_controller_topic_at(f.n->metadata.controller, (size_t)i);

        ck_assert_str_eq(kl_controller_config_get(t, "retention.ms"), "1000");
        ck_assert_int_eq(node_fixture_append(&f, &t->id, i, 1, 1), 0);
    }
}
END_TEST

/* Whatever allocation fails after a command was taken: it is carried out, or
 * refused and without effect; never half. */
START_TEST(commands_without_memory)
{
    uint64_t failed;
    uint64_t i = 1;

    do {
        struct kl_runtime_op *op = begin(KL_RUNTIME_CREATE_TOPIC, "t");
        int code;

        fail_alloc_arm(&f.memory, i++);
        code = finish(op);
        failed = f.memory.failed;
        fail_alloc_arm(&f.memory, 0);
        ck_assert(code == 0 || code == KL_ENOMEM);
        ck_assert_ptr_null(kl_controller_invariant(f.n->metadata.controller));
        op = begin(KL_RUNTIME_DELETE_TOPIC, "t");
        ck_assert_int_eq(finish(op), code == 0 ? 0 : KL_ENOTOPIC);
    } while (failed);
    ck_assert_int_gt(i, 5);
}
END_TEST

START_TEST(commands_of_a_closing_node)
{
    struct kl_runtime_op *op = begin(KL_RUNTIME_CREATE_TOPIC, "t");
    struct kl_runtime_op *late;
    struct kl_runtime_node *n = f.n;

    kl_runtime_ref(n);
    node_fixture_crash(&f);
    ck_assert_int_eq(kl_runtime_op_is_done(op), 1);
    ck_assert_int_eq(op->code, KL_ECLOSED);
    kl_runtime_op_unref(op);
    f.n = n;
    late = begin(KL_RUNTIME_LIST_TOPICS, NULL);
    f.n = NULL;
    ck_assert_int_eq(kl_runtime_op_is_done(late), 1);
    ck_assert_int_eq(late->code, KL_ECLOSED);
    kl_runtime_op_unref(late);
    kl_runtime_unref(n);
}
END_TEST

Suite *suite_runtime_metadata(void);

Suite *suite_runtime_metadata(void)
{
    Suite *s = suite_create("runtime_metadata");
    TCase *t = tcase_create("metadata");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, commands_in_order);
    tcase_add_test(t, commands_nobody_asks_for);
    tcase_add_test(t, acknowledged_commands_survive_a_crash);
    tcase_add_test(t, commands_without_memory);
    tcase_add_test(t, commands_of_a_closing_node);
    suite_add_tcase(s, t);
    return s;
}
