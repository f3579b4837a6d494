/*
 * Looking things up in the image, and what it costs.
 */
#include "controller_fixture.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct controller_fixture f;

static void set_up(void)
{
    controller_fixture_init(&f, NULL);
}

static void tear_down(void)
{
    controller_fixture_deinit(&f);
}

static void create(const char *name, int32_t partitions)
{
    ck_assert_int_eq(controller_fixture_create(&f, name, partitions), 0);
    controller_fixture_commit(&f);
}

START_TEST(topic_at_name_order)
{
    static const char *const made[] = {"b", "a", "ab", "B", "a.b", "aa", "-"};
    static const char *const sorted[] = {"-", "B", "a", "a.b", "aa", "ab", "b"};
    size_t n = sizeof made / sizeof made[0];

    for (size_t i = 0; i < n; i++)
        create(made[i], 1);
    ck_assert_uint_eq(kl_controller_topic_count(f.c), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_str_eq(kl_controller_topic_at(f.c, i)->name, sorted[i]);
    ck_assert_ptr_null(kl_controller_topic_at(f.c, n));
    ck_assert_ptr_null(kl_controller_topic_at(f.c, SIZE_MAX));
}
END_TEST

START_TEST(topic_find_absent)
{
    struct kl_base_uuid id = {{1}};

    ck_assert_ptr_null(kl_controller_topic_find(f.c, "a"));
    create("aa", 1);
    ck_assert_ptr_null(kl_controller_topic_find(f.c, "a"));
    ck_assert_ptr_null(kl_controller_topic_find(f.c, "aaa"));
    ck_assert_ptr_null(kl_controller_topic_find(f.c, ""));
    ck_assert_ptr_null(kl_controller_topic_find_id(f.c, &id));
}
END_TEST

START_TEST(partition_at_range)
{
    const struct kl_controller_topic *t;
    const struct kl_controller_partition *p;
    const int32_t *ids;
    size_t count;

    create("t", 3);
    t = kl_controller_topic_find(f.c, "t");
    ck_assert_ptr_null(kl_controller_partition_at(t, -1));
    ck_assert_ptr_null(kl_controller_partition_at(t, 3));
    p = kl_controller_partition_at(t, 2);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->leader, 1);
    ids = kl_controller_partition_list(p, KL_CONTROLLER_REPLICAS, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(ids[0], 1);
    ids = kl_controller_partition_list(p, KL_CONTROLLER_ISR, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(ids[0], 1);
    kl_controller_partition_list(p, KL_CONTROLLER_REMOVING, &count);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(config_get_key_order)
{
    static const struct kl_controller_config configs[] = {{"retention.ms", "3"},
                                                          {"flush", "commit"},
                                                          {"other", ""},
                                                          {"note", "x"}};
    struct kl_controller_create command = {"t", 1, -1, configs, 4, NULL};
    const struct kl_controller_topic *t;

    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, NULL, &f.error),
        0);
    controller_fixture_commit(&f);
    t = kl_controller_topic_find(f.c, "t");
    ck_assert_uint_eq(t->config_count, 4);
    ck_assert_str_eq(t->configs[0].key, "flush");
    ck_assert_str_eq(t->configs[1].key, "note");
    ck_assert_str_eq(t->configs[2].key, "other");
    ck_assert_str_eq(t->configs[3].key, "retention.ms");
    ck_assert_str_eq(kl_controller_config_get(t, "retention.ms"), "3");
    ck_assert_str_eq(kl_controller_config_get(t, "other"), "");
    ck_assert_ptr_null(kl_controller_config_get(t, "retention"));
}
END_TEST

/* The heap of libc adds up to 24 bytes to a block; they are counted here. */
START_TEST(image_memory)
{
    static const struct kl_controller_config configs[] = {
        {"retention.ms", "604800000"}, {"flush", "interval"}};
    size_t blocks = f.memory.live_blocks, bytes = f.memory.live_bytes;

    for (int i = 0; i < 1000; i++) {
        char name[32];
        struct kl_controller_create command = {name, 10, -1, configs, 2, NULL};

        snprintf(name, sizeof name, "some-topic-name-%d", i);
        ck_assert_int_eq(kl_controller_create_topic(f.c, &command, &f.records,
                                                    NULL, &f.error),
                         0);
        for (size_t pos = 0;;) {
            const uint8_t *data;
            size_t size;

            if (!kl_controller_records_next(&f.records, &pos, &data, &size))
                break;
            ck_assert_int_eq(kl_controller_apply(f.c, data, size, &f.error), 0);
        }
        kl_controller_delta_clear(f.c);
    }
    blocks = f.memory.live_blocks - blocks;
    bytes = f.memory.live_bytes - bytes;
    ck_assert_uint_eq(kl_controller_partition_count(f.c), 10000);
    ck_assert_ptr_null(kl_controller_invariant(f.c));
    ck_assert_uint_lt(bytes + 24 * blocks, 2 * 1024 * 1024);
}
END_TEST

Suite *suite_controller_image(void);
Suite *suite_controller_image(void)
{
    Suite *s = suite_create("controller_image");
    TCase *t = tcase_create("image");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, topic_at_name_order);
    tcase_add_test(t, topic_find_absent);
    tcase_add_test(t, partition_at_range);
    tcase_add_test(t, config_get_key_order);
    tcase_add_test(t, image_memory);
    suite_add_tcase(s, t);
    return s;
}
