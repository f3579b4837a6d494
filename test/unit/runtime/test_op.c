/*
 * Operations.
 */
#include "node_fixture.h"

#include <check.h>
#include <kraftlog/node.h>
#include <string.h>

static struct node_fixture f;
static int calls;
static int last_code;

static void setup(void)
{
    calls = 0;
    node_fixture_init(&f);
    node_fixture_open(&f);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

static struct kl_runtime_op *op_make(unsigned refs)
{
    struct kl_runtime_op *op = NULL;

    ck_assert_int_eq(kl_runtime_op_new(&op, f.n, refs), 0);
    return op;
}

static void op_called(struct kl_runtime_op *op, void *user)
{
    ck_assert_ptr_eq(user, &calls);
    calls++;
    last_code = op->code;
}

START_TEST(complete_publishes_results)
{
    struct kl_runtime_op *op = op_make(2);

    ck_assert_int_eq(kl_runtime_op_is_done(op), 0);
    kl_runtime_op_set_ack(op, 3, 77, 5, 2);
    kl_runtime_op_complete(op, 0);
    ck_assert_int_eq(kl_runtime_op_is_done(op), 1);
    ck_assert_int_eq(op->partition, 3);
    ck_assert_int_eq(op->offset, 77);
    ck_assert_int_eq(op->epoch, 5);
    ck_assert_int_eq(op->replica_count, 1);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(complete_without_operation)
{
    kl_runtime_op_complete(NULL, KL_EIO);
    kl_runtime_op_unref(NULL);
}
END_TEST

START_TEST(callback_set_before_completion)
{
    struct kl_runtime_op *op = op_make(2);

    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_called, &calls), 0);
    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_called, &calls),
                     KL_ESTATE);
    kl_runtime_op_complete(op, KL_EIO);
    /* Only the thread that polls calls it. */
    ck_assert_int_eq(calls, 0);
    kl_runtime_op_unref(op);
    node_fixture_until(&f, calls);
    ck_assert_int_eq(last_code, KL_EIO);
    ck_assert_int_eq(kl_runtime_poll(f.n, 0), 0);
    ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(callback_set_after_completion)
{
    struct kl_runtime_op *op = op_make(2);

    kl_runtime_op_complete(op, 0);
    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_called, &calls), 0);
    ck_assert_int_eq(calls, 0);
    node_fixture_until(&f, calls);
    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_called, &calls),
                     KL_ESTATE);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(callback_of_closed_node)
{
    struct kl_runtime_op *op = op_make(2);

    kl_runtime_op_complete(op, KL_ECLOSED);
    node_fixture_stop(&f);
    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_called, &calls), 0);
    ck_assert_int_eq(calls, 1);
    kl_runtime_op_unref(op);
}
END_TEST

static void op_free_inside(struct kl_runtime_op *op, void *user)
{
    ck_assert_ptr_eq(user, &calls);
    calls++;
    kl_runtime_op_unref(op);
}

/* The callback gives up the last reference to the node. */
START_TEST(callback_frees_the_last_of_a_closed_node)
{
    struct kl_runtime_op *op = op_make(2);

    kl_runtime_op_complete(op, KL_ECLOSED);
    node_fixture_stop(&f);
    ck_assert_uint_gt(f.memory.live_blocks, 0);
    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_free_inside, &calls), 0);
    ck_assert_int_eq(calls, 1);
    ck_assert_uint_eq(f.memory.live_blocks, 0);
}
END_TEST

START_TEST(callback_of_freed_operation)
{
    struct kl_runtime_op *op = op_make(2);

    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_called, &calls), 0);
    kl_runtime_op_unref(op);
    kl_runtime_op_complete(op, 0);
    node_fixture_until(&f, calls);
}
END_TEST

START_TEST(wait_times_out)
{
    struct kl_runtime_op *op = op_make(2);

    ck_assert_int_eq(kl_runtime_op_wait(op, 0), KL_ETIMEDOUT);
    ck_assert_int_eq(kl_runtime_op_wait(op, 1), KL_ETIMEDOUT);
    kl_runtime_op_complete(op, 0);
    ck_assert_int_eq(kl_runtime_op_wait(op, 0), 0);
    kl_runtime_op_unref(op);
}
END_TEST

static int wait_code;

static void op_wait_inside(struct kl_runtime_op *op, void *user)
{
    wait_code = kl_runtime_op_wait(user, 0);
    ck_assert_int_eq(kl_runtime_op_wait(op, 0), 0);
    calls++;
}

START_TEST(wait_inside_a_callback)
{
    struct kl_runtime_op *other = op_make(2);
    struct kl_runtime_op *op = op_make(2);

    ck_assert_int_eq(kl_runtime_op_set_callback(op, op_wait_inside, other), 0);
    kl_runtime_op_complete(op, 0);
    node_fixture_until(&f, calls);
    ck_assert_int_eq(wait_code, KL_EREENTRY);
    kl_runtime_op_complete(other, 0);
    kl_runtime_op_unref(other);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(reserve_fills_with_nothing)
{
    struct kl_runtime_op *op = op_make(1);

    ck_assert_int_eq(kl_runtime_op_reserve(op, 3), 0);
    ck_assert_uint_eq(op->extra->count, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(op->extra->partitions[i], -1);
        ck_assert_int_eq(op->extra->offsets[i], -1);
    }
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(reserve_without_memory)
{
    for (uint64_t i = 1; i <= 3; i++) {
        struct kl_runtime_op *op = op_make(1);

        fail_alloc_arm(&f.memory, i);
        ck_assert_int_eq(kl_runtime_op_reserve(op, 1000), KL_ENOMEM);
        fail_alloc_arm(&f.memory, 0);
        ck_assert_int_eq(kl_runtime_op_reserve(op, 1000), 0);
        kl_runtime_op_unref(op);
    }
}
END_TEST

START_TEST(take_json_terminates)
{
    struct kl_runtime_op *op = op_make(1);
    struct kl_base_buf buf;

    kl_base_buf_init(&buf, &f.memory.alloc);
    kl_base_buf_printf(&buf, "{}");
    ck_assert_int_eq(kl_runtime_op_take_json(op, &buf), 0);
    ck_assert_str_eq(op->extra->json, "{}");
    ck_assert_uint_eq(op->extra->json_size, 2);
    ck_assert_ptr_null(buf.data);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(take_json_without_memory)
{
    struct kl_runtime_op *op = op_make(1);
    struct kl_base_buf buf;

    kl_base_buf_init(&buf, &f.memory.alloc);
    fail_alloc_arm(&f.memory, 1);
    kl_base_buf_printf(&buf, "{}");
    ck_assert_int_eq(kl_runtime_op_take_json(op, &buf), KL_ENOMEM);
    fail_alloc_arm(&f.memory, 0);
    ck_assert_int_eq(kl_runtime_op_take_json(op, &buf), 0);
    ck_assert_str_eq(op->extra->json, "");
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(set_text_is_cut)
{
    struct kl_runtime_op *op = op_make(1);
    char text[2 * KL_BASE_ERROR_TEXT];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    kl_runtime_op_set_text(op, text);
    ck_assert_uint_eq(strlen(op->extra->text), KL_BASE_ERROR_TEXT - 1);
    kl_runtime_op_unref(op);
}
END_TEST

START_TEST(new_without_memory)
{
    struct kl_runtime_op *op = (struct kl_runtime_op *)&calls;

    fail_alloc_arm(&f.memory, 1);
    ck_assert_int_eq(kl_runtime_op_new(&op, f.n, 1), KL_ENOMEM);
    ck_assert_ptr_null(op);
}
END_TEST

Suite *suite_runtime_op(void);

Suite *suite_runtime_op(void)
{
    Suite *s = suite_create("runtime_op");
    TCase *t = tcase_create("op");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, complete_publishes_results);
    tcase_add_test(t, complete_without_operation);
    tcase_add_test(t, callback_set_before_completion);
    tcase_add_test(t, callback_set_after_completion);
    tcase_add_test(t, callback_of_closed_node);
    tcase_add_test(t, callback_frees_the_last_of_a_closed_node);
    tcase_add_test(t, callback_of_freed_operation);
    tcase_add_test(t, wait_times_out);
    tcase_add_test(t, wait_inside_a_callback);
    tcase_add_test(t, reserve_fills_with_nothing);
    tcase_add_test(t, reserve_without_memory);
    tcase_add_test(t, take_json_terminates);
    tcase_add_test(t, take_json_without_memory);
    tcase_add_test(t, set_text_is_cut);
    tcase_add_test(t, new_without_memory);
    suite_add_tcase(s, t);
    return s;
}
