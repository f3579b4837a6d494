/*
 * Topics as JSON.
 */
#include "node_fixture.h"

#include <check.h>
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

static struct kl_runtime_op *describe(const char *name)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DESCRIBE_TOPIC,
                                   .topic = name};

    return node_fixture_do(&f, &wish);
}

static void check_has(const struct kl_runtime_op *op, const char *part)
{
    ck_assert_msg(strstr(op->extra->json, part), "'%s' is not in '%s'", part,
                  op->extra->json);
}

START_TEST(list_is_sorted)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_LIST_TOPICS};
    struct kl_runtime_op *op = node_fixture_do(&f, &wish);
    const char *b, *a;

    ck_assert_str_eq(op->extra->json, "{\"topics\":[]}");
    kl_runtime_op_unref(op);
    (void)node_fixture_topic(&f, "b", 1, NULL, NULL);
    (void)node_fixture_topic(&f, "a", 2, NULL, NULL);
    op = node_fixture_do(&f, &wish);
    a = strstr(op->extra->json, "{\"name\":\"a\",\"id\":\"");
    b = strstr(op->extra->json, "{\"name\":\"b\",\"id\":\"");
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert(a < b);
    check_has(op, "\"partitions\":2}");
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(describe_says_everything)
{
    struct kl_base_uuid topic =
        node_fixture_topic(&f, "t", 2, "segment.bytes", "1m");
    struct kl_runtime_op *op;

    node_fixture_append(&f, &topic, 1, 7, 1);
    op = describe("t");
    ck_assert_int_eq(op->code, 0);
    ck_assert_uint_eq(strlen(op->extra->json), op->extra->json_size);
    check_has(op, "{\"name\":\"t\",\"id\":\"");
    check_has(op, "\"replication\":1");
    check_has(op, "\"segment.bytes\":1048576");
    check_has(op, "\"flush\":\"commit\"");
    check_has(op, "\"config_set\":[\"segment.bytes\"]");
    check_has(op, "{\"partition\":0,\"leader\":1,\"epoch\":0,\"replicas\":[1],"
                  "\"isr\":[1],\"start\":0,\"end\":0,");
    check_has(op, "{\"partition\":1,\"leader\":1,\"epoch\":0,\"replicas\":[1],"
                  "\"isr\":[1],\"start\":0,\"end\":7,");
    ck_assert_ptr_null(strstr(op->extra->json, "linger.ms"));
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(describe_an_unknown_topic)
{
    struct kl_runtime_op *op = describe("none");

    ck_assert_int_eq(op->code, KL_ENOTOPIC);
    ck_assert_str_eq(op->extra->text, "topic none: unknown");
    ck_assert_ptr_null(op->extra->json);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(describe_without_memory)
{
    uint64_t failed;
    uint64_t i = 1;

    (void)node_fixture_topic(&f, "t", 2, NULL, NULL);
    do {
        struct kl_runtime_wish wish = {.type = KL_RUNTIME_DESCRIBE_TOPIC,
                                       .topic = "t"};
        struct kl_runtime_op *op = NULL;

        ck_assert_int_eq(kl_runtime_command(f.n, &wish, &op), 0);
        fail_alloc_arm(&f.memory, i++);
        node_fixture_until(&f, kl_runtime_op_is_done(op));
        failed = f.memory.failed;
        fail_alloc_arm(&f.memory, 0);
        ck_assert_int_eq(op->code, failed ? KL_ENOMEM : 0);
        kl_runtime_op_unref(op);
    } while (failed);
}
END_TEST

Suite *suite_runtime_describe(void);

Suite *suite_runtime_describe(void)
{
    Suite *s = suite_create("runtime_describe");
    TCase *t = tcase_create("describe");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, list_is_sorted);
    tcase_add_test(t, describe_says_everything);
    tcase_add_test(t, describe_an_unknown_topic);
    tcase_add_test(t, describe_without_memory);
    suite_add_tcase(s, t);
    return s;
}
