/*
 * The logs follow the image.
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

static size_t count_logs(void)
{
    struct kl_store_log *log = NULL;
    size_t count = 0;

    while ((log = kl_store_next(f.n->store, log)) != NULL)
        count++;
    return count;
}

START_TEST(config_check_judges_topic_keys)
{
    struct kl_base_error e = {0};

    ck_assert_int_eq(
        kl_runtime_topic_config_check("retention.ms", "5", NULL, &e), 0);
    ck_assert_int_eq(
        kl_runtime_topic_config_check("retention.ms", NULL, NULL, &e), 0);
    ck_assert_int_eq(
        kl_runtime_topic_config_check("retention.ms", "x", NULL, &e),
        KL_ECONFIG);
    ck_assert_int_eq(kl_runtime_topic_config_check("linger.ms", "5", NULL, &e),
                     KL_ECONFIG);
    ck_assert_str_eq(e.text, "linger.ms is not a key of topics");
    ck_assert_int_eq(kl_runtime_topic_config_check("none", NULL, NULL, &e),
                     KL_ECONFIG);
}
END_TEST

START_TEST(logs_come_and_go_with_topics)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                   .topic = "t"};
    struct kl_base_uuid first = node_fixture_topic(&f, "t", 4, NULL, NULL);
    struct kl_base_uuid second;

    ck_assert_uint_eq(count_logs(), 5);
    ck_assert_int_eq(node_fixture_append(&f, &first, 0, 5, 1), 0);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    ck_assert_uint_eq(count_logs(), 1);
    /* A topic of the same name is another topic. */
    second = node_fixture_topic(&f, "t", 2, NULL, NULL);
    ck_assert_int_eq(kl_base_uuid_equal(&first, &second), 0);
    ck_assert_int_eq(node_fixture_append(&f, &second, 0, 1, 1), 0);
    node_fixture_crash(&f);
    node_fixture_open(&f);
    ck_assert_uint_eq(count_logs(), 3);
    ck_assert_int_eq(node_fixture_append(&f, &second, 0, 1, 1), 1);
}
END_TEST

START_TEST(stray_logs_are_deleted)
{
    struct kl_store_id id = {{{9}}, 0};
    struct kl_store_log_config config = {.segment_bytes = 1 << 20,
                                         .segment_ms = -1,
                                         .retention_ms = -1,
                                         .retention_bytes = -1,
                                         .flush_ms = -1,
                                         .flush_bytes = -1,
                                         .index_interval_bytes = 4096};
    struct kl_store_log *log;

    ck_assert_int_eq(
        kl_store_create(f.n->store, &id, KL_STORE_FLUSH_COMMIT, &config, &log),
        0);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert_uint_eq(count_logs(), 1);
}
END_TEST

/* A create that a crash swallowed is repeated from the metadata log. */
START_TEST(missing_logs_are_made)
{
    struct kl_base_uuid topic = node_fixture_topic(&f, "t", 2, NULL, NULL);
    struct kl_store_id id = {topic, 1};
    struct kl_store_log *log = kl_store_find(f.n->store, &id);

    kl_runtime_partition_detach(f.n, log, KL_ENOTOPIC);
    ck_assert_int_eq(kl_store_delete(log), 0);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert_uint_eq(count_logs(), 3);
    ck_assert_int_eq(node_fixture_append(&f, &topic, 1, 1, 1), 0);
}
END_TEST

/* Without its metadata a folder is damaged, and nothing in it is deleted. */
START_TEST(lost_metadata_deletes_nothing)
{
    struct kl_base_uuid topic = node_fixture_topic(&f, "t", 2, NULL, NULL);

    ck_assert_int_eq(node_fixture_append(&f, &topic, 1, 1, 1), 0);
    ck_assert_int_eq(kl_store_delete(f.n->metadata.log), 0);
    node_fixture_crash(&f);
    for (int i = 0; i < 2; i++) {
        int r = node_fixture_try_open(&f, KL_OPEN_CREATE);

        /* The delete itself may not have been durable. */
        ck_assert(r == 0 || r == KL_ECORRUPT);
        node_fixture_crash(&f);
    }
}
END_TEST

/* The image has a topic that a failed store cannot follow: it is not found, and
 * who made it is not told that it is there. */
START_TEST(failed_store_does_not_follow)
{
    struct kl_controller *c;
    struct kl_controller_create create = {
        .name = "late", .partition_count = 1, .replication_factor = 1};
    struct kl_controller_records records;
    struct node_fixture_produce p;
    struct kl_base_uuid topic;
    const uint8_t *data;
    size_t size;
    size_t pos = 0;

    node_fixture_stop(&f);
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 1, NULL, NULL);
    trace_vfs_fail_from(&f.trace, TRACE_VFS_WRITE, 1, KL_EIO);
    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 1, 1, 0));
    node_fixture_until(&f, kl_store_failure(f.n->store, NULL));
    c = f.n->metadata.controller;
    kl_controller_records_init(&records, &f.memory.alloc);
    ck_assert_int_eq(
        kl_controller_create_topic(c, &create, &records, NULL, NULL), 0);
    while (kl_controller_records_next(&records, &pos, &data, &size))
        ck_assert_int_eq(kl_controller_apply(c, data, size, NULL), 0);
    ck_assert_int_eq(kl_runtime_logs_apply_delta(f.n), KL_EFAILED);
    ck_assert_ptr_null(kl_runtime_topic_get(f.n, "late"));
    ck_assert_int_eq(kl_runtime_logs_apply_delta(f.n), 0);
    kl_controller_records_deinit(&records);
}
END_TEST

Suite *suite_runtime_logs(void);

Suite *suite_runtime_logs(void)
{
    Suite *s = suite_create("runtime_logs");
    TCase *t = tcase_create("logs");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, config_check_judges_topic_keys);
    tcase_add_test(t, logs_come_and_go_with_topics);
    tcase_add_test(t, stray_logs_are_deleted);
    tcase_add_test(t, missing_logs_are_made);
    tcase_add_test(t, lost_metadata_deletes_nothing);
    tcase_add_test(t, failed_store_does_not_follow);
    suite_add_tcase(s, t);
    return s;
}
