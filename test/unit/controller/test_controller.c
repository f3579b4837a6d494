/*
 * Life cycle and bootstrap.
 */
#include "controller_fixture.h"

#include <check.h>

static struct fail_alloc memory;
static struct kl_controller *c;
static struct kl_controller_records records;
static struct kl_base_error error;

static void set_up(void)
{
    struct kl_controller_options o = {.broker_id = 1,
                                      .check = controller_fixture_check};

    fail_alloc_init(&memory);
    kl_controller_records_init(&records, &memory.alloc);
    ck_assert_int_eq(kl_controller_new(&c, &memory.alloc, &o), 0);
}

static void tear_down(void)
{
    kl_controller_free(c);
    kl_controller_records_deinit(&records);
    fail_alloc_deinit(&memory);
}

START_TEST(new_without_memory)
{
    struct kl_controller_options o = {.check = controller_fixture_check};
    struct kl_controller *other = NULL;

    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_controller_new(&other, &memory.alloc, &o), KL_ENOMEM);
    ck_assert_ptr_null(other);
    kl_controller_free(NULL);
}
END_TEST

START_TEST(bootstrap_once)
{
    ck_assert_int_eq(kl_controller_feature_level(c), 0);
    ck_assert_int_eq(kl_controller_bootstrap(c, &records, &error), 0);
    ck_assert_uint_eq(records.count, 1);
    ck_assert_int_eq(kl_controller_feature_level(c), 0);
    controller_fixture_replay(c, &records);
    ck_assert_int_eq(kl_controller_feature_level(c),
                     KL_CONTROLLER_FEATURE_LEVEL);
    ck_assert_uint_eq(kl_controller_version(c), 1);
    ck_assert_int_eq(kl_controller_bootstrap(c, &records, &error), 0);
    ck_assert_uint_eq(records.count, 0);
}
END_TEST

START_TEST(bootstrap_without_memory)
{
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_controller_bootstrap(c, &records, &error), KL_ENOMEM);
    ck_assert_uint_eq(records.count, 0);
}
END_TEST

START_TEST(commands_before_bootstrap)
{
    struct kl_controller_create command = {"t", 1, -1, NULL, 0, NULL};
    struct kl_controller_config change = {"note", "1"};

    ck_assert_int_eq(
        kl_controller_create_topic(c, &command, &records, NULL, &error),
        KL_ESTATE);
    ck_assert_str_eq(error.text,
                     "the metadata log has no metadata.version yet");
    ck_assert_int_eq(kl_controller_delete_topic(c, "t", &records, &error),
                     KL_ESTATE);
    ck_assert_int_eq(
        kl_controller_alter_config(c, "t", &change, 1, &records, &error),
        KL_ESTATE);
    ck_assert_uint_eq(records.count, 0);
}
END_TEST

Suite *suite_controller_controller(void);
Suite *suite_controller_controller(void)
{
    Suite *s = suite_create("controller_controller");
    TCase *t = tcase_create("controller");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, new_without_memory);
    tcase_add_test(t, bootstrap_once);
    tcase_add_test(t, bootstrap_without_memory);
    tcase_add_test(t, commands_before_bootstrap);
    suite_add_tcase(s, t);
    return s;
}
