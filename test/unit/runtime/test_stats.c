/*
 * Counters as text.
 */
#include "node_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct node_fixture f;
static struct kl_base_buf out;
static const char *text;

static void setup(void)
{
    node_fixture_init(&f);
    kl_base_buf_init(&out, &f.memory.alloc);
}

static void teardown(void)
{
    kl_base_buf_deinit(&out);
    node_fixture_deinit(&f);
}

typedef int print_fn(const struct kl_runtime_node *n, struct kl_base_buf *out);

static void print(print_fn *fn)
{
    kl_base_buf_clear(&out);
    ck_assert_int_eq(fn(f.n, &out), 0);
    kl_base_buf_put8(&out, 0);
    text = (const char *)out.data;
}

/* The number behind a name and a separator. */
static unsigned long long value_of(const char *name)
{
    const char *at = strstr(text, name);

    ck_assert_msg(at, "%s is not there", name);
    return strtoull(at + strlen(name), NULL, 10);
}

static void work(void)
{
    struct kl_base_uuid topic;

    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 3, NULL, NULL);
    for (int i = 0; i < 4; i++)
        node_fixture_append(&f, &topic, i % 3, 10, 1);
}

START_TEST(json_counts)
{
    work();
    print(kl_runtime_stats_json);
    ck_assert_uint_eq(value_of("\"produce_batches\":"), 4);
    ck_assert_uint_eq(value_of("\"produce_records\":"), 40);
    ck_assert_uint_eq(value_of("\"topics\":"), 1);
    ck_assert_uint_eq(value_of("\"partitions\":"), 3);
    ck_assert_uint_eq(value_of("\"ack_us\":{\"count\":"), 4);
    ck_assert_uint_eq(value_of("\"failed\":"), 0);
    ck_assert_uint_ge(value_of("\"wal_syncs\":"), 4);
    ck_assert_uint_ge(value_of("\"device_bytes_per_payload_byte\":"), 1);
    ck_assert_int_eq(text[0], '{');
    ck_assert_str_eq(text + strlen(text) - 2, "}}");
}
END_TEST

START_TEST(prometheus_counts)
{
    work();
    print(kl_runtime_stats_prometheus);
    ck_assert_uint_eq(value_of("\nkraftlog_node_produce_records_total "), 40);
    ck_assert_uint_eq(value_of("\nkraftlog_node_topics "), 1);
    ck_assert_uint_eq(value_of("\nkraftlog_node_ack_microseconds_count "), 4);
    ck_assert_uint_eq(
        value_of("\nkraftlog_node_ack_microseconds_bucket{le=\"+Inf\"} "), 4);
    ck_assert_ptr_nonnull(
        strstr(text, "# TYPE kraftlog_store_wal_syncs_total counter\n"));
    ck_assert_ptr_nonnull(strstr(text, "# TYPE kraftlog_store_logs gauge\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "# TYPE kraftlog_store_sync_microseconds histogram\n"));
    ck_assert_uint_ge(value_of("kraftlog_store_sync_microseconds_bucket"
                               "{le=\"+Inf\"} "),
                      4);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
}
END_TEST

/* Buckets add up, and no line is broken. */
START_TEST(prometheus_lines)
{
    work();
    print(kl_runtime_stats_prometheus);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t size = strcspn(line, "\n");

        ck_assert_int_eq(line[size], '\n');
        ck_assert_uint_gt(size, 10);
        ck_assert(strncmp(line, "# ", 2) == 0 ||
                  strncmp(line, "kraftlog_", 9) == 0);
    }
}
END_TEST

START_TEST(stats_of_a_closed_node)
{
    ck_assert_int_eq(kl_runtime_new(&f.n, &f.options), 0);
    ck_assert_int_eq(kl_runtime_stats_json(f.n, &out), KL_ESTATE);
    node_fixture_crash(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), 0);
    ck_assert_int_eq(kl_runtime_stats_json(f.n, &out), KL_ECLOSED);
    ck_assert_int_eq(kl_runtime_stats_prometheus(f.n, &out), KL_ECLOSED);
}
END_TEST

START_TEST(stats_without_memory)
{
    node_fixture_open(&f);
    fail_alloc_arm(&f.memory, 1);
    ck_assert_int_eq(kl_runtime_stats_json(f.n, &out), KL_ENOMEM);
}
END_TEST

Suite *suite_runtime_stats(void);

Suite *suite_runtime_stats(void)
{
    Suite *s = suite_create("runtime_stats");
    TCase *t = tcase_create("stats");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, json_counts);
    tcase_add_test(t, prometheus_counts);
    tcase_add_test(t, prometheus_lines);
    tcase_add_test(t, stats_of_a_closed_node);
    tcase_add_test(t, stats_without_memory);
    suite_add_tcase(s, t);
    return s;
}
