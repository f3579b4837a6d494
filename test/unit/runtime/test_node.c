/*
 * Making and opening a node.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <string.h>

static struct node_fixture f;

static void setup(void)
{
    node_fixture_init(&f);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static void check_text(const char *part)
{
    char text[256];

    kl_runtime_errmsg(f.n, text, sizeof text);
    ck_assert_msg(strstr(text, part), "'%s' is not in '%s'", part, text);
}

START_TEST(open_without_a_store)
{
    ck_assert_int_eq(node_fixture_try_open(&f, 0), KL_ENOSTORE);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_NEW);
    check_text("data");
    /* The same handle can be opened again. */
    ck_assert_int_eq(kl_runtime_open(f.n, "data", KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_OPEN);
    check_text("");
    ck_assert_int_eq(kl_runtime_open(f.n, "data", 0), KL_ESTATE);
}
END_TEST

START_TEST(open_keeps_the_number)
{
    int32_t id = -1;

    node_fixture_set(&f, "node.id", "7");
    node_fixture_open(&f);
    ck_assert_int_eq(kl_runtime_id(f.n, &id), 0);
    ck_assert_int_eq(id, 7);
    node_fixture_stop(&f);
    kl_base_config_set(&f.options.config, "node.id", NULL, NULL);
    node_fixture_open(&f);
    ck_assert_int_eq(kl_runtime_id(f.n, &id), 0);
    ck_assert_int_eq(id, 7);
    node_fixture_stop(&f);
    node_fixture_set(&f, "node.id", "8");
    ck_assert_int_eq(node_fixture_try_open(&f, 0), KL_EFOREIGN);
    ck_assert_int_eq(kl_runtime_id(f.n, &id), KL_ESTATE);
    check_text("node 7");
}
END_TEST

START_TEST(open_with_a_tiny_ring)
{
    node_fixture_set(&f, "wal.bytes", "1k");
    ck_assert_int_eq(node_fixture_try_open(&f, KL_OPEN_CREATE), KL_ECONFIG);
    check_text("wal.bytes");
}
END_TEST

START_TEST(open_a_folder_in_use)
{
    struct kl_runtime_node *other;

    node_fixture_open(&f);
    trace_vfs_allow_owner(&f.trace, 1);
    ck_assert_int_eq(kl_runtime_new(&other, &f.options), 0);
    ck_assert_int_eq(kl_runtime_open(other, "data", KL_OPEN_CREATE), KL_EBUSY);
    ck_assert_int_eq(kl_runtime_close(other), 0);
}
END_TEST

START_TEST(new_without_memory)
{
    struct kl_runtime_node *n = (struct kl_runtime_node *)&f;

    fail_alloc_arm(&f.memory, 1);
    ck_assert_int_eq(kl_runtime_new(&n, &f.options), KL_ENOMEM);
    ck_assert_ptr_null(n);
}
END_TEST

/* Whatever allocation fails, open says so and leaves nothing behind. */
START_TEST(open_without_memory)
{
    uint64_t i = 1;
    int r;

    node_fixture_open(&f);
    (void)node_fixture_topic(&f, "one", 2, "flush", "interval");
    (void)node_fixture_topic(&f, "two", 1, NULL, NULL);
    node_fixture_crash(&f);
    do {
        ck_assert_int_eq(kl_runtime_new(&f.n, &f.options), 0);
        fail_alloc_arm(&f.memory, i++);
        r = kl_runtime_open(f.n, "data", 0);
        ck_assert(r == 0 || r == KL_ENOMEM);
        r = f.memory.failed > 0;
        fail_alloc_arm(&f.memory, 0);
        node_fixture_crash(&f);
    } while (r);
    ck_assert_int_gt(i, 10);
}
END_TEST

START_TEST(reference_outlives_the_node)
{
    struct kl_runtime_node *n;

    node_fixture_open(&f);
    n = f.n;
    kl_runtime_ref(n);
    node_fixture_stop(&f);
    ck_assert_int_eq(kl_runtime_check(n), KL_ECLOSED);
    ck_assert_ptr_null(kl_runtime_topic_get(n, "none"));
    kl_runtime_unref(n);
}
END_TEST

Suite *suite_runtime_node(void);

Suite *suite_runtime_node(void)
{
    Suite *s = suite_create("runtime_node");
    TCase *t = tcase_create("node");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, open_without_a_store);
    tcase_add_test(t, open_keeps_the_number);
    tcase_add_test(t, open_with_a_tiny_ring);
    tcase_add_test(t, open_a_folder_in_use);
    tcase_add_test(t, new_without_memory);
    tcase_add_test(t, open_without_memory);
    tcase_add_test(t, reference_outlives_the_node);
    suite_add_tcase(s, t);
    return s;
}
