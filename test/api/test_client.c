/*
 * Clients from outside.
 */
#include "api_fixture.h"

#include <check.h>

static struct api_fixture f;

static void setup(void)
{
    api_fixture_init(&f);
}

static void teardown(void)
{
    api_fixture_deinit(&f);
}

START_TEST(partition_count_of_topics)
{
    int32_t count = -1;

    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count),
                     KL_ENOTOPIC);
    api_fixture_topic(&f, "t", 5);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count), 0);
    ck_assert_int_eq(count, 5);
    ck_assert_int_eq(kl_client_partition_count(NULL, "t", &count), KL_EINVAL);
    ck_assert_int_eq(kl_client_partition_count(f.client, NULL, &count),
                     KL_EINVAL);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", NULL), KL_EINVAL);
    kl_client_free(NULL);
}
END_TEST

START_TEST(client_of_a_node_not_open)
{
    kl_client *client = NULL;
    kl_node *node = NULL;
    int32_t count;
    kl_op *op;

    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_client(node, &client), 0);
    ck_assert_int_eq(kl_client_partition_count(client, "t", &count), KL_ESTATE);
    ck_assert_int_eq(kl_admin_list_topics(client, 0, &op), KL_ESTATE);
    ck_assert_ptr_null(op);
    kl_node_free(node);
    ck_assert_int_eq(kl_client_partition_count(client, "t", &count),
                     KL_ECLOSED);
    kl_client_free(client);
}
END_TEST

Suite *suite_api_client(void);

Suite *suite_api_client(void)
{
    Suite *s = suite_create("api_client");
    TCase *t = tcase_create("client");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, partition_count_of_topics);
    tcase_add_test(t, client_of_a_node_not_open);
    suite_add_tcase(s, t);
    return s;
}
