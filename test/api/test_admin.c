/*
 * Administration from outside.
 */
#include "api_fixture.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct api_fixture f;

static void setup(void)
{
    api_fixture_init(&f);
    api_fixture_topic(&f, "t", 2);
}

static void teardown(void)
{
    api_fixture_deinit(&f);
}

START_TEST(misuse)
{
    kl_op *op = (kl_op *)&f;

    ck_assert_int_eq(kl_admin_create_topic(NULL, "u", 1, 1, NULL, 0, &op),
                     KL_EINVAL);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_admin_create_topic(f.client, NULL, 1, 1, NULL, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_create_topic(f.client, "u", 1, 1, NULL, 1, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_delete_topic(NULL, "t", 0, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_delete_topic(f.client, NULL, 0, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_delete_topic(f.client, "t", 1, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_set_config(NULL, "t", "flush", "commit", 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(
        kl_admin_set_config(f.client, NULL, "flush", "commit", 0, &op),
        KL_EINVAL);
    ck_assert_int_eq(kl_admin_set_config(f.client, "t", NULL, "commit", 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_list_topics(NULL, 0, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_list_topics(f.client, 1, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_describe_topic(f.client, NULL, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_delete_before(f.client, "t", -1, 0, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_delete_before(f.client, "t", 0, -2, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_delete_before(f.client, NULL, 0, 0, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_list_offset(f.client, "t", 0, 5, 0, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(
        kl_admin_list_offset(f.client, "t", 0, KL_OFFSET_TIMESTAMP, -1, 0, &op),
        KL_EINVAL);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_admin_list_offset(f.client, "t", 0, -4, 0, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(
        kl_admin_list_offset(f.client, NULL, 0, KL_OFFSET_END, 0, 0, &op),
        KL_EINVAL);
    ck_assert_ptr_null(op);
}
END_TEST

START_TEST(misuse_of_partitions)
{
    int32_t replicas[33] = {1};
    kl_op *op = (kl_op *)&f;

    ck_assert_int_eq(kl_admin_grow_topic(NULL, "t", 3, 0, &op), KL_EINVAL);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_admin_grow_topic(f.client, NULL, 3, 0, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_grow_topic(f.client, "t", 3, 1, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_elect_leader(NULL, "t", 0, -1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_elect_leader(f.client, NULL, 0, -1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_elect_leader(f.client, "t", -1, -1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_elect_leader(f.client, "t", 0, 1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(
        kl_admin_elect_leader(f.client, "t", 0, -2, KL_ELECT_UNCLEAN, &op),
        KL_EINVAL);
    ck_assert_int_eq(kl_admin_elect_leader(f.client, "t", 0, -1, 2, &op),
                     KL_EINVAL);
    op = (kl_op *)&f;
    ck_assert_int_eq(kl_admin_reassign(NULL, "t", 0, replicas, 1, 0, &op),
                     KL_EINVAL);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_admin_reassign(f.client, NULL, 0, replicas, 1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", -1, replicas, 1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, NULL, 1, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, replicas, 0, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, replicas, 33, 0, &op),
                     KL_EINVAL);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, replicas, 1, 1, &op),
                     KL_EINVAL);
}
END_TEST

START_TEST(misuse_of_the_cluster)
{
    static int (*const of_node[])(kl_client *, int32_t, uint32_t, kl_op **) = {
        kl_admin_add_voter, kl_admin_remove_voter, kl_admin_unregister_broker};
    kl_op *op = (kl_op *)&f;

    ck_assert_int_eq(kl_admin_describe_cluster(NULL, 0, &op), KL_EINVAL);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_admin_describe_cluster(f.client, 1, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_describe_quorum(NULL, 0, &op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_describe_quorum(f.client, 1, &op), KL_EINVAL);
    for (size_t i = 0; i < sizeof of_node / sizeof of_node[0]; i++) {
        op = (kl_op *)&f;
        ck_assert_int_eq(of_node[i](NULL, 1, 0, &op), KL_EINVAL);
        ck_assert_ptr_null(op);
        op = (kl_op *)&f;
        ck_assert_int_eq(of_node[i](f.client, -1, 0, &op), KL_EINVAL);
        ck_assert_ptr_null(op);
        ck_assert_int_eq(of_node[i](f.client, 1, i == 2 ? 1 : 2, &op),
                         KL_EINVAL);
        ck_assert_ptr_null(op);
    }
}
END_TEST

/* The JSON of an operation has these texts, one behind the other. */
static void expect_json(int begun, kl_op *op, const char *const *texts,
                        size_t count)
{
    const char *json = NULL;
    size_t size = 0;

    ck_assert_int_eq(begun, 0);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    ck_assert_int_eq(kl_op_json(op, &json, &size), 0);
    ck_assert_uint_eq(strlen(json), size);
    for (size_t i = 0; i < count; i++) {
        const char *at = strstr(json, texts[i]);

        ck_assert_msg(at != NULL, "no %s in %s", texts[i], json);
        json = at;
    }
    kl_op_free(op);
}

/* A node by itself: a quorum of one, and nobody is registered. */
START_TEST(cluster_of_one)
{
    static const char *const cluster[] = {
        "{\"node\":1,\"cluster\":\"", "\"controller\":1,\"feature_level\":1",
        "\"voters\":[1],\"brokers\":[]}"};
    static const char *const quorum[] = {
        "{\"leader\":1,\"epoch\":", "\"voters\":[{\"node\":1,",
        "\"last_fetch_ms\":0", "\"observers\":[]}"};
    kl_op *op = NULL;
    int rc = kl_admin_describe_cluster(f.client, 0, &op);

    expect_json(rc, op, cluster, 3);
    rc = kl_admin_describe_quorum(f.client, 0, &op);
    expect_json(rc, op, quorum, 4);
    ck_assert_int_eq(kl_admin_add_voter(f.client, 2, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOBROKER);
    ck_assert_int_eq(kl_admin_remove_voter(f.client, 2, KL_VOTER_FORCE, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOVOTER);
    ck_assert_int_eq(kl_admin_remove_voter(f.client, 1, KL_VOTER_FORCE, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), KL_EINVAL);
    ck_assert_int_eq(kl_admin_unregister_broker(f.client, 1, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOBROKER);
}
END_TEST

START_TEST(partitions_of_one)
{
    int32_t replicas[2] = {1, 2};
    int32_t count = 0;
    kl_op *op = NULL;

    ck_assert_int_eq(kl_admin_grow_topic(f.client, "t", 5, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count), 0);
    ck_assert_int_eq(count, 5);
    ck_assert_int_eq(kl_admin_grow_topic(f.client, "t", 4, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_EPARTITIONS);
    ck_assert_int_eq(kl_admin_grow_topic(f.client, "u", 4, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOTOPIC);
    ck_assert_int_eq(kl_admin_elect_leader(f.client, "t", 4, -1, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_admin_elect_leader(f.client, "t", 5, -1, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOTOPIC);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, NULL, 0, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOREASSIGNMENT);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, replicas, 1, 0, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_admin_reassign(f.client, "t", 0, replicas, 2, 0, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), KL_EREPLICATION);
}
END_TEST

START_TEST(create_with_configuration)
{
    kl_config *config = NULL;
    const char *json = NULL;
    size_t size = 0;
    kl_op *op = NULL;

    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), 0);
    ck_assert_int_eq(kl_config_set(config, "flush", "interval"), 0);
    ck_assert_int_eq(kl_config_set(config, "retention.bytes", "1g"), 0);
    ck_assert_int_eq(kl_admin_create_topic(f.client, "u", 1, 1, config, 0, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_config_set(config, "linger.ms", "1"), 0);
    ck_assert_int_eq(kl_admin_create_topic(f.client, "v", 1, 1, config, 0, &op),
                     KL_ECONFIG);
    kl_config_free(config);
    api_fixture_reopen(&f);
    ck_assert_int_eq(kl_admin_describe_topic(f.client, "u", 0, &op), 0);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    ck_assert_int_eq(kl_op_json(op, &json, &size), 0);
    ck_assert_uint_eq(strlen(json), size);
    ck_assert_ptr_nonnull(strstr(json, "\"flush\":\"interval\""));
    ck_assert_ptr_nonnull(strstr(json, "\"retention.bytes\":1073741824"));
    ck_assert_ptr_nonnull(
        strstr(json, "\"config_set\":[\"flush\",\"retention.bytes\"]"));
    kl_op_free(op);
}
END_TEST

START_TEST(life_of_a_topic)
{
    kl_op *op = NULL;
    int32_t count;

    ck_assert_int_eq(kl_admin_create_topic(f.client, "t", 1, 1, NULL, 0, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ETOPICEXISTS);
    ck_assert_int_eq(
        kl_admin_set_config(f.client, "t", "segment.bytes", "1m", 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_admin_delete_topic(f.client, "t", 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count),
                     KL_ENOTOPIC);
    api_fixture_topic(&f, "t", 4);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count), 0);
    ck_assert_int_eq(count, 4);
}
END_TEST

START_TEST(offsets_of_an_empty_partition)
{
    int64_t offset = -1;
    int64_t start = -1;
    int64_t end = -1;
    kl_op *op = NULL;

    ck_assert_int_eq(
        kl_admin_list_offset(f.client, "t", 1, KL_OFFSET_TIMESTAMP, 0, 0, &op),
        0);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    ck_assert_int_eq(kl_op_code(op), 0);
    ck_assert_int_eq(kl_op_offset(op, &offset), 0);
    ck_assert_int_eq(kl_op_log_start(op, &start), 0);
    ck_assert_int_eq(kl_op_high_watermark(op, &end), 0);
    ck_assert(offset == 0 && start == 0 && end == 0);
    kl_op_free(op);
    ck_assert_int_eq(
        kl_admin_delete_before(f.client, "t", 1, KL_OFFSET_END, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_admin_delete_before(f.client, "t", 1, 1, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_EOFFSETRANGE);
    ck_assert_int_eq(kl_admin_delete_before(f.client, "t", 2, 0, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), KL_ENOTOPIC);
}
END_TEST

/* A node, a client and everything they make, with every allocation through the
 * hook of the configuration. */
static size_t live;
static int sizes_are_right;

static void *counting(void *ptr, size_t old_size, size_t new_size, void *user)
{
    size_t *block = ptr ? (size_t *)ptr - 2 : NULL;

    (void)user;
    if (block ? *block != old_size : old_size != 0)
        __atomic_store_n(&sizes_are_right, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&live, new_size - old_size, __ATOMIC_RELAXED);
    if (!new_size) {
        free(block);
        return NULL;
    }
    block = realloc(block, new_size + 2 * sizeof *block);
    if (!block)
        abort();
    *block = new_size;
    return block + 2;
}

START_TEST(allocator_sees_everything)
{
    char dir[TEST_TMPDIR_SIZE];
    kl_config *config = NULL;
    kl_client *client = NULL;
    kl_node *node = NULL;
    kl_op *op = NULL;

    sizes_are_right = 1;
    test_tmpdir_make(dir);
    ck_assert_int_eq(kl_config_new(&config, counting, NULL), 0);
    ck_assert_int_eq(kl_config_set(config, "wal.bytes", "256k"), 0);
    ck_assert_int_eq(kl_node_new(&node, config), 0);
    kl_config_free(config);
    ck_assert_int_eq(kl_node_open(node, dir, KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_node_start(node), 0);
    ck_assert_int_eq(kl_node_client(node, &client), 0);
    ck_assert_int_eq(kl_admin_create_topic(client, "t", 9, 1, NULL, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_admin_describe_topic(client, "t", 0, &op), 0);
    ck_assert_int_eq(kl_node_stop(node, -1), 0);
    kl_node_free(node);
    kl_op_free(op);
    kl_client_free(client);
    ck_assert_uint_eq(live, 0);
    ck_assert_int_eq(sizes_are_right, 1);
    test_tmpdir_remove(dir);
}
END_TEST

Suite *suite_api_admin(void);

Suite *suite_api_admin(void)
{
    Suite *s = suite_create("api_admin");
    TCase *t = tcase_create("admin");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, misuse);
    tcase_add_test(t, misuse_of_partitions);
    tcase_add_test(t, misuse_of_the_cluster);
    tcase_add_test(t, cluster_of_one);
    tcase_add_test(t, partitions_of_one);
    tcase_add_test(t, create_with_configuration);
    tcase_add_test(t, life_of_a_topic);
    tcase_add_test(t, offsets_of_an_empty_partition);
    tcase_add_test(t, allocator_sees_everything);
    suite_add_tcase(s, t);
    return s;
}
