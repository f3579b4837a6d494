/*
 * Operations from outside.
 */
#include "api_fixture.h"

#include <check.h>
#include <string.h>

static struct api_fixture f;
static kl_op *op;
static int called;

static void setup(void)
{
    called = 0;
    api_fixture_init(&f);
    api_fixture_topic(&f, "t", 1);
}

static void teardown(void)
{
    kl_op_free(op);
    op = NULL;
    api_fixture_deinit(&f);
}

static void begin_offset(void)
{
    ck_assert_int_eq(
        kl_admin_list_offset(f.client, "t", 0, KL_OFFSET_END, 0, 0, &op), 0);
}

START_TEST(misuse_of_null)
{
    const int32_t *partitions;
    const int64_t *offsets;
    const char *json;
    char text[8];
    int64_t offset;
    int32_t number;
    size_t count;
    int level;

    ck_assert_int_eq(kl_op_wait(NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_op_done(NULL), 0);
    ck_assert_int_eq(kl_op_code(NULL), KL_EINVAL);
    ck_assert_int_eq(kl_op_errmsg(NULL, text, 8), KL_EINVAL);
    ck_assert_int_eq(kl_op_set_callback(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_op_offset(NULL, &offset), KL_EINVAL);
    ck_assert_int_eq(kl_op_partition(NULL, &number), KL_EINVAL);
    ck_assert_int_eq(kl_op_epoch(NULL, &number), KL_EINVAL);
    ck_assert_int_eq(kl_op_level(NULL, &level), KL_EINVAL);
    ck_assert_int_eq(kl_op_replica_count(NULL, &number), KL_EINVAL);
    ck_assert_int_eq(kl_op_log_start(NULL, &offset), KL_EINVAL);
    ck_assert_int_eq(kl_op_high_watermark(NULL, &offset), KL_EINVAL);
    ck_assert_int_eq(kl_op_partitions(NULL, &partitions, &count), KL_EINVAL);
    ck_assert_int_eq(kl_op_offsets(NULL, &offsets, &count), KL_EINVAL);
    ck_assert_int_eq(kl_op_json(NULL, &json, NULL), KL_EINVAL);
    kl_op_free(NULL);
}
END_TEST

START_TEST(results_of_a_pending_operation)
{
    const char *json;
    char text[8];
    int64_t offset;

    begin_offset();
    ck_assert_int_eq(kl_op_done(op), 0);
    ck_assert_int_eq(kl_op_code(op), KL_EAGAIN);
    ck_assert_int_eq(kl_op_offset(op, &offset), KL_ESTATE);
    ck_assert_int_eq(kl_op_json(op, &json, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_op_errmsg(op, text, sizeof text), KL_ESTATE);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
}
END_TEST

START_TEST(results_that_are_not_there)
{
    const int32_t *partitions;
    const int64_t *offsets;
    const char *json;
    char text[8] = "?";
    int64_t offset = -1;
    int32_t number;
    size_t count;
    int level;

    begin_offset();
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    ck_assert_int_eq(kl_op_code(op), 0);
    ck_assert_int_eq(kl_op_offset(op, &offset), 0);
    ck_assert_int_eq(offset, 0);
    ck_assert_int_eq(kl_op_offset(op, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_op_errmsg(op, text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(kl_op_errmsg(op, text, 0), KL_EINVAL);
    ck_assert_int_eq(kl_op_partition(op, &number), KL_ESTATE);
    ck_assert_int_eq(kl_op_epoch(op, &number), KL_ESTATE);
    ck_assert_int_eq(kl_op_level(op, &level), KL_ESTATE);
    ck_assert_int_eq(kl_op_replica_count(op, &number), KL_ESTATE);
    ck_assert_int_eq(kl_op_partitions(op, &partitions, &count), KL_ESTATE);
    ck_assert_int_eq(kl_op_offsets(op, &offsets, &count), KL_ESTATE);
    ck_assert_int_eq(kl_op_offsets(op, &offsets, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_op_json(op, &json, NULL), KL_ESTATE);
}
END_TEST

START_TEST(errmsg_of_a_failure)
{
    char text[256];
    char small[4];

    ck_assert_int_eq(kl_admin_delete_topic(f.client, "none", 0, &op), 0);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    ck_assert_int_eq(kl_op_code(op), KL_ENOTOPIC);
    ck_assert_int_eq(kl_op_errmsg(op, text, sizeof text), 0);
    ck_assert_ptr_nonnull(strstr(text, "none"));
    ck_assert_int_eq(kl_op_errmsg(op, small, sizeof small), 0);
    ck_assert_uint_eq(strlen(small), 3);
}
END_TEST

static void count_call(kl_op *o, void *user)
{
    ck_assert_ptr_eq(user, &called);
    ck_assert_int_eq(kl_op_done(o), 1);
    called++;
}

START_TEST(callback_once)
{
    begin_offset();
    ck_assert_int_eq(kl_op_set_callback(op, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_op_set_callback(op, count_call, &called), 0);
    ck_assert_int_eq(kl_op_set_callback(op, count_call, &called), KL_ESTATE);
    ck_assert_int_eq(called, 0);
    while (!called)
        ck_assert_int_eq(kl_node_poll(f.node, -1), 0);
    ck_assert_int_eq(kl_node_poll(f.node, 0), 0);
    ck_assert_int_eq(called, 1);
}
END_TEST

START_TEST(callback_of_a_closed_node)
{
    begin_offset();
    kl_node_free(f.node);
    f.node = NULL;
    ck_assert_int_eq(kl_op_code(op), KL_ECLOSED);
    ck_assert_int_eq(kl_op_set_callback(op, count_call, &called), 0);
    ck_assert_int_eq(called, 1);
}
END_TEST

static void free_inside(kl_op *o, void *user)
{
    (void)user;
    called++;
    kl_op_free(o);
}

START_TEST(callback_that_frees)
{
    begin_offset();
    ck_assert_int_eq(kl_op_set_callback(op, free_inside, NULL), 0);
    op = NULL;
    while (!called)
        ck_assert_int_eq(kl_node_poll(f.node, -1), 0);
}
END_TEST

Suite *suite_api_op(void);

Suite *suite_api_op(void)
{
    Suite *s = suite_create("api_op");
    TCase *t = tcase_create("op");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, misuse_of_null);
    tcase_add_test(t, results_of_a_pending_operation);
    tcase_add_test(t, results_that_are_not_there);
    tcase_add_test(t, errmsg_of_a_failure);
    tcase_add_test(t, callback_once);
    tcase_add_test(t, callback_of_a_closed_node);
    tcase_add_test(t, callback_that_frees);
    suite_add_tcase(s, t);
    return s;
}
