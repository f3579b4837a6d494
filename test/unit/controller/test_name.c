/*
 * Legal topic names.
 */
#include "controller/controller.h"

#include <check.h>
#include <string.h>

static struct kl_base_error error;

static int check(const char *name)
{
    kl_base_error_clear(&error);
    return kl_controller_topic_name_check(name, strlen(name), &error);
}

START_TEST(topic_name_check_legal)
{
    static const char *const legal[] = {
        "a", "...", ".a", "..a", "a.b_c-D9", "-", "_", "__consumer_offsets"};

    for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++)
        ck_assert_msg(check(legal[i]) == 0, "%s", legal[i]);
}
END_TEST

START_TEST(topic_name_check_every_byte)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    for (int b = 0; b < 256; b++) {
        char name[2] = {'x', (char)b};
        int want = b && strchr(legal, b) ? 0 : KL_ETOPICNAME;

        ck_assert_int_eq(kl_controller_topic_name_check(name, 2, &error), want);
    }
}
END_TEST

START_TEST(topic_name_check_illegal)
{
    ck_assert_int_eq(check(""), KL_ETOPICNAME);
    ck_assert_int_eq(check("."), KL_ETOPICNAME);
    ck_assert_int_eq(check(".."), KL_ETOPICNAME);
    ck_assert_int_eq(check("../x"), KL_ETOPICNAME);
    ck_assert_int_eq(check("a\nb"), KL_ETOPICNAME);
    ck_assert_str_eq(
        error.text,
        "topic name: byte 0x0a at 1, allowed are a-z A-Z 0-9 . _ -");
    ck_assert_int_eq(error.code, KL_ETOPICNAME);
}
END_TEST

START_TEST(topic_name_check_length)
{
    char name[KL_WIRE_TOPIC_NAME_MAX + 2];

    memset(name, 'n', sizeof name);
    name[KL_WIRE_TOPIC_NAME_MAX + 1] = '\0';
    ck_assert_int_eq(check(name), KL_ETOPICNAME);
    name[KL_WIRE_TOPIC_NAME_MAX] = '\0';
    ck_assert_int_eq(check(name), 0);
}
END_TEST

Suite *suite_controller_name(void);
Suite *suite_controller_name(void)
{
    Suite *s = suite_create("controller_name");
    TCase *t = tcase_create("name");

    tcase_add_test(t, topic_name_check_legal);
    tcase_add_test(t, topic_name_check_every_byte);
    tcase_add_test(t, topic_name_check_illegal);
    tcase_add_test(t, topic_name_check_length);
    suite_add_tcase(s, t);
    return s;
}
