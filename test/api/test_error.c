/*
 * Error codes as a program sees them.
 */
#include <check.h>
#include <kraftlog/error.h>
#include <limits.h>

START_TEST(strerror_of_any_number)
{
    int code;

    ck_assert_str_eq(kl_strerror(KL_OK), "success");
    ck_assert_str_ne(kl_strerror(KL_ENOMEM), kl_strerror(KL_EINVAL));
    for (code = -2000; code < 200; code++) {
        ck_assert_ptr_nonnull(kl_strerror(code));
        ck_assert_ptr_nonnull(kl_error_name(code));
    }
    ck_assert_str_eq(kl_strerror(INT_MIN), "unknown error");
    ck_assert_str_eq(kl_strerror(INT_MAX), "unknown error");
}
END_TEST

START_TEST(name_of_any_number)
{
    ck_assert_str_eq(kl_error_name(KL_OK), "KL_OK");
    ck_assert_str_eq(kl_error_name(KL_EBATCH), "KL_EBATCH");
    ck_assert_str_eq(kl_error_name(-5), "KL_E?");
}
END_TEST

START_TEST(classes_do_not_overlap)
{
    int code, retriable = 0, fatal = 0;

    for (code = -2000; code < 200; code++) {
        ck_assert(!kl_error_is_retriable(code) || !kl_error_is_fatal(code));
        retriable += kl_error_is_retriable(code);
        fatal += kl_error_is_fatal(code);
    }
    ck_assert_int_eq(kl_error_is_retriable(KL_EAGAIN), 1);
    ck_assert_int_eq(kl_error_is_retriable(KL_OK), 0);
    ck_assert_int_eq(kl_error_is_retriable(KL_EINVAL), 0);
    ck_assert_int_eq(kl_error_is_fatal(KL_EFAILED), 1);
    ck_assert_int_eq(kl_error_is_fatal(KL_EAGAIN), 0);
    ck_assert_int_gt(retriable, 3);
    ck_assert_int_gt(fatal, 1);
}
END_TEST

Suite *suite_api_error(void);

Suite *suite_api_error(void)
{
    Suite *suite = suite_create("api_error");
    TCase *tc = tcase_create("error");

    tcase_add_test(tc, strerror_of_any_number);
    tcase_add_test(tc, name_of_any_number);
    tcase_add_test(tc, classes_do_not_overlap);
    suite_add_tcase(suite, tc);
    return suite;
}
