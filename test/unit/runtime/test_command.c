/*
 * Administration, command by command.
 */
#include "node_fixture.h"

#include <check.h>
#include <kraftlog/client.h>
#include <string.h>

static struct node_fixture f;
static struct kl_base_uuid topic;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 2, NULL, NULL);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static void check_failure(const struct kl_runtime_wish *wish, int code,
                          const char *text)
{
    struct kl_runtime_op *op = node_fixture_do(&f, wish);

    ck_assert_int_eq(op->code, code);
    ck_assert_ptr_nonnull(op->extra);
    ck_assert_msg(strstr(op->extra->text, text), "'%s' is not in '%s'", text,
                  op->extra->text);
    kl_runtime_op_unref(op);
}

START_TEST(create_refuses)
{
    struct kl_base_config config;
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "a b",
                                   .number = 1,
                                   .replication = 1,
                                   .config = &config};

    kl_base_config_init(&config);
    check_failure(&wish, KL_ETOPICNAME, "0x20");
    wish.topic = "t";
    check_failure(&wish, KL_ETOPICEXISTS, "t");
    wish.topic = "u";
    wish.number = 0;
    check_failure(&wish, KL_EPARTITIONS, "0");
    wish.number = 1;
    wish.replication = 2;
    check_failure(&wish, KL_EREPLICATION, "");
    wish.replication = 1;
    (void)kl_base_config_set(&config, "min.insync.replicas", "2", NULL);
    check_failure(&wish, KL_ECONFIG, "min.insync.replicas");
}
END_TEST

START_TEST(set_config_sets_and_resets)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_SET_CONFIG,
                                   .topic = "t",
                                   .key = "max.message.bytes",
                                   .value = "4k"};
    struct node_fixture_produce p;

    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 1, 1, 5000));
    node_fixture_until(&f, p.done);
    ck_assert_int_eq(p.base.code, KL_ERECORDSIZE);
    wish.value = NULL;
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 1, 1, 5000));
    node_fixture_until(&f, p.done);
    ck_assert_int_eq(p.base.code, 0);
}
END_TEST

START_TEST(set_config_refuses)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_SET_CONFIG,
                                   .topic = "t",
                                   .key = "flush",
                                   .value = "interval"};

    check_failure(&wish, KL_ECONFIG, "flush");
    wish.key = "retention.ms";
    wish.value = "soon";
    check_failure(&wish, KL_ECONFIG, "retention.ms: 'soon' is not in -1..");
    wish.key = "node.id";
    wish.value = "1";
    check_failure(&wish, KL_ECONFIG, "node.id");
    wish.key = "min.insync.replicas";
    wish.value = "2";
    check_failure(&wish, KL_ECONFIG, "1 replicas");
    wish.topic = "none";
    check_failure(&wish, KL_ENOTOPIC, "none");
}
END_TEST

START_TEST(delete_before_moves_the_start)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_DELETE_BEFORE, .topic = "t", .offset = 3};
    struct kl_runtime_op *op;

    node_fixture_append(&f, &topic, 0, 5, 1);
    op = node_fixture_do(&f, &wish);
    ck_assert_int_eq(op->code, 0);
    ck_assert_int_eq(op->log_start, 3);
    kl_runtime_op_unref(op);
    /* It is durable by now. */
    node_fixture_crash(&f);
    node_fixture_open(&f);
    wish.offset = 2;
    op = node_fixture_do(&f, &wish);
    ck_assert_int_eq(op->code, 0);
    ck_assert_int_eq(op->log_start, 3);
    kl_runtime_op_unref(op);
    wish.offset = KL_OFFSET_END;
    op = node_fixture_do(&f, &wish);
    ck_assert_int_eq(op->code, 0);
    ck_assert_int_eq(op->log_start, 5);
    kl_runtime_op_unref(op);
    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 1, 1), 5);
}
END_TEST

START_TEST(delete_before_refuses)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_DELETE_BEFORE, .topic = "t", .offset = 1};

    check_failure(&wish, KL_EOFFSETRANGE, "t/0: offset 1");
    wish.number = 2;
    check_failure(&wish, KL_ENOTOPIC, "partition 2");
    wish.topic = "none";
    check_failure(&wish, KL_ENOTOPIC, "none");
}
END_TEST

START_TEST(command_without_memory)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_LIST_TOPICS};
    struct kl_runtime_op *op = NULL;

    for (uint64_t i = 1; i <= 2; i++) {
        fail_alloc_arm(&f.memory, i);
        ck_assert_int_eq(kl_runtime_command(f.n, &wish, &op), KL_ENOMEM);
        fail_alloc_arm(&f.memory, 0);
    }
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
}
END_TEST

Suite *suite_runtime_command(void);

Suite *suite_runtime_command(void)
{
    Suite *s = suite_create("runtime_command");
    TCase *t = tcase_create("command");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, create_refuses);
    tcase_add_test(t, set_config_sets_and_resets);
    tcase_add_test(t, set_config_refuses);
    tcase_add_test(t, delete_before_moves_the_start);
    tcase_add_test(t, delete_before_refuses);
    tcase_add_test(t, command_without_memory);
    suite_add_tcase(s, t);
    return s;
}
