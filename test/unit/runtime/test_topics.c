/*
 * Published topics.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>

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

START_TEST(get_gives_a_snapshot)
{
    uint64_t version = kl_runtime_topic_version(f.n);
    struct kl_base_uuid id =
        node_fixture_topic(&f, "t", 3, "max.message.bytes", "8k");
    const struct kl_runtime_topic *t = kl_runtime_topic_get(f.n, "t");

    ck_assert_uint_gt(kl_runtime_topic_version(f.n), version);
    ck_assert_str_eq(t->name, "t");
    ck_assert_int_eq(t->partition_count, 3);
    ck_assert_uint_eq(t->batch_max, 8192);
    ck_assert_int_eq(kl_base_uuid_equal(&t->id, &id), 1);
    kl_runtime_topic_unref(f.n, t);
    ck_assert_ptr_null(kl_runtime_topic_get(f.n, "T"));
    kl_runtime_topic_unref(f.n, NULL);
}
END_TEST

START_TEST(snapshot_does_not_change)
{
    struct kl_runtime_wish wish = {
        .type = KL_RUNTIME_SET_CONFIG,
        .topic = "t",
        .key = "max.message.bytes",
        .value = "8192",
    };
    const struct kl_runtime_topic *old;
    const struct kl_runtime_topic *new;
    uint64_t version;

    (void)node_fixture_topic(&f, "t", 1, "max.message.bytes", "4k");
    old = kl_runtime_topic_get(f.n, "t");
    version = kl_runtime_topic_version(f.n);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    ck_assert_uint_gt(kl_runtime_topic_version(f.n), version);
    new = kl_runtime_topic_get(f.n, "t");
    ck_assert_uint_eq(old->batch_max, 4096);
    ck_assert_uint_eq(new->batch_max, 8192);
    kl_runtime_topic_unref(f.n, old);
    kl_runtime_topic_unref(f.n, new);
}
END_TEST

START_TEST(snapshot_outlives_topic_and_node)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                   .topic = "t"};
    const struct kl_runtime_topic *t;
    struct kl_runtime_node *n = f.n;

    (void)node_fixture_topic(&f, "t", 1, NULL, NULL);
    t = kl_runtime_topic_get(n, "t");
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    ck_assert_ptr_null(kl_runtime_topic_get(n, "t"));
    kl_runtime_ref(n);
    node_fixture_stop(&f);
    ck_assert_str_eq(t->name, "t");
    kl_runtime_topic_unref(n, t);
    kl_runtime_unref(n);
}
END_TEST

START_TEST(batch_limit_of_a_small_ring)
{
    const struct kl_runtime_topic *t;

    node_fixture_deinit(&f);
    node_fixture_init(&f);
    node_fixture_set(&f, "wal.bytes", "64k");
    node_fixture_open(&f);
    (void)node_fixture_topic(&f, "t", 1, NULL, NULL);
    t = kl_runtime_topic_get(f.n, "t");
    ck_assert_uint_eq(t->batch_max, kl_store_frame_max(f.n->store));
    ck_assert_uint_lt(t->batch_max, 64 * 1024);
    kl_runtime_topic_unref(f.n, t);
}
END_TEST

Suite *suite_runtime_topics(void);

Suite *suite_runtime_topics(void)
{
    Suite *s = suite_create("runtime_topics");
    TCase *t = tcase_create("topics");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, get_gives_a_snapshot);
    tcase_add_test(t, snapshot_does_not_change);
    tcase_add_test(t, snapshot_outlives_topic_and_node);
    tcase_add_test(t, batch_limit_of_a_small_ring);
    suite_add_tcase(s, t);
    return s;
}
