/*
 * The version that a program was compiled with is the one that it runs with.
 */
#include <check.h>
#include <kraftlog/version.h>
#include <stdio.h>

START_TEST(version_number_agrees_with_header)
{
    ck_assert_uint_eq(kl_version_number(), KL_VERSION_MAJOR * 1000000 +
                                               KL_VERSION_MINOR * 1000 +
                                               KL_VERSION_PATCH);
}
END_TEST

START_TEST(version_string_agrees_with_header)
{
    char text[32];

    snprintf(text, sizeof text, "%d.%d.%d", KL_VERSION_MAJOR, KL_VERSION_MINOR,
             KL_VERSION_PATCH);
    ck_assert_str_eq(kl_version_string(), text);
    ck_assert_ptr_eq(kl_version_string(), kl_version_string());
}
END_TEST

Suite *suite_api_version(void);

Suite *suite_api_version(void)
{
    Suite *suite = suite_create("api_version");
    TCase *tc = tcase_create("version");

    tcase_add_test(tc, version_number_agrees_with_header);
    tcase_add_test(tc, version_string_agrees_with_header);
    suite_add_tcase(suite, tc);
    return suite;
}
