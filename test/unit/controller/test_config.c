/*
 * The command that alters a topic's configuration.
 */
#include "controller_fixture.h"

#include <check.h>
#include <string.h>

static struct controller_fixture f;
static struct kl_controller_records before;

static void set_up(void)
{
    static const struct kl_controller_config configs[] = {{"retention.ms", "5"},
                                                          {"note", ""}};
    struct kl_controller_create command = {"t", 1, -1, configs, 2, NULL};

    controller_fixture_init(&f, NULL);
    kl_controller_records_init(&before, &f.memory.alloc);
    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, NULL, &f.error),
        0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
}

static void tear_down(void)
{
    kl_controller_records_deinit(&before);
    controller_fixture_deinit(&f);
}

static void refused(const char *topic, const char *key, const char *value,
                    int code)
{
    ck_assert_int_eq(controller_fixture_alter(&f, topic, key, value), code);
    ck_assert_int_eq(f.error.code, code);
    ck_assert_uint_eq(f.records.count, 0);
    controller_fixture_unchanged(&f, &before);
}

static const char *get(const char *key)
{
    return kl_controller_config_get(kl_controller_topic_find(f.c, "t"), key);
}

START_TEST(alter_config_set_replace_remove)
{
    static const struct kl_controller_config changes[] = {
        {"other", "x"}, {"retention.ms", "77"}, {"note", NULL}};

    ck_assert_str_eq(get("note"), "");
    ck_assert_int_eq(
        kl_controller_alter_config(f.c, "t", changes, 3, &f.records, &f.error),
        0);
    ck_assert_uint_eq(f.records.count, 3);
    controller_fixture_unchanged(&f, &before);
    controller_fixture_commit(&f);
    ck_assert_str_eq(get("other"), "x");
    ck_assert_str_eq(get("retention.ms"), "77");
    ck_assert_ptr_null(get("note"));
    ck_assert_uint_eq(kl_controller_topic_find(f.c, "t")->config_count, 2);
}
END_TEST

START_TEST(alter_config_without_effect)
{
    static const struct kl_controller_config changes[] = {
        {"retention.ms", "5"}, {"note", ""}, {"other", NULL}};

    ck_assert_int_eq(
        kl_controller_alter_config(f.c, "t", changes, 3, &f.records, &f.error),
        0);
    ck_assert_uint_eq(f.records.count, 0);
    ck_assert_int_eq(
        kl_controller_alter_config(f.c, "t", NULL, 0, &f.records, &f.error), 0);
    ck_assert_uint_eq(f.records.count, 0);
}
END_TEST

START_TEST(alter_config_refusals)
{
    refused("none", "note", "1", KL_ENOTOPIC);
    refused("", "note", "1", KL_ETOPICNAME);
    refused("t", "nonsense", "1", KL_ECONFIG);
    refused("t", "nonsense", NULL, KL_ECONFIG);
    refused("t", "retention.ms", "later", KL_ECONFIG);
    refused("t", "note", "\xc0\x80", KL_ECONFIG);
    refused("t", "flush", "interval", KL_ECONFIG);
    ck_assert_str_eq(f.error.text, "topic t: flush is fixed at creation");
    refused("t", "flush", NULL, KL_ECONFIG);
}
END_TEST

START_TEST(alter_config_all_or_none)
{
    static const struct kl_controller_config last_bad[] = {
        {"note", "1"}, {"other", "1"}, {"retention.ms", "x"}};
    static const struct kl_controller_config twice[] = {{"note", "1"},
                                                        {"note", NULL}};

    ck_assert_int_eq(
        kl_controller_alter_config(f.c, "t", last_bad, 3, &f.records, &f.error),
        KL_ECONFIG);
    ck_assert_uint_eq(f.records.count, 0);
    ck_assert_int_eq(
        kl_controller_alter_config(f.c, "t", twice, 2, &f.records, &f.error),
        KL_ECONFIG);
    ck_assert_str_eq(f.error.text, "note is given twice");
    ck_assert_uint_eq(f.records.count, 0);
}
END_TEST

/* A later release may have set what this one does not know. */
START_TEST(alter_config_removes_unknown_key)
{
    struct kl_wire_record r = {.type = KL_WIRE_CONFIG_RECORD};

    r.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    r.config.resource_name = (struct kl_wire_text){"t", 1};
    r.config.key = (struct kl_wire_text){"later", 5};
    r.config.value = (struct kl_wire_text){"1", 1};
    ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    ck_assert_str_eq(get("later"), "1");
    ck_assert_int_eq(controller_fixture_alter(&f, "t", "later", "2"),
                     KL_ECONFIG);
    ck_assert_int_eq(controller_fixture_alter(&f, "t", "later", NULL), 0);
    controller_fixture_commit(&f);
    ck_assert_ptr_null(get("later"));
}
END_TEST

START_TEST(alter_config_without_memory)
{
    kl_controller_records_deinit(&f.records);
    fail_alloc_arm(&f.memory, 1);
    ck_assert_int_eq(controller_fixture_alter(&f, "t", "note", "1"), KL_ENOMEM);
    ck_assert_int_eq(f.error.code, KL_ENOMEM);
    ck_assert_uint_eq(f.records.count, 0);
}
END_TEST

Suite *suite_controller_config(void);
Suite *suite_controller_config(void)
{
    Suite *s = suite_create("controller_config");
    TCase *t = tcase_create("config");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, alter_config_set_replace_remove);
    tcase_add_test(t, alter_config_without_effect);
    tcase_add_test(t, alter_config_refusals);
    tcase_add_test(t, alter_config_all_or_none);
    tcase_add_test(t, alter_config_removes_unknown_key);
    tcase_add_test(t, alter_config_without_memory);
    suite_add_tcase(s, t);
    return s;
}
