/*
 * The system's error numbers as our codes.
 */
#include "os/syserror.h"

#include <check.h>
#include <errno.h>
#include <kraftlog/error.h>

START_TEST(code_by_number)
{
    static const struct
    {
        int number;
        int code;
    } rows[] = {
        {EIO, KL_EIO},          {ENOSPC, KL_EDISKFULL}, {EDQUOT, KL_EDISKFULL},
        {EMFILE, KL_ENOFILES},  {ENFILE, KL_ENOFILES},  {EACCES, KL_EACCESS},
        {EPERM, KL_EACCESS},    {EROFS, KL_EACCESS},    {ENOENT, KL_ENOENT},
        {EEXIST, KL_EEXIST},    {ENOMEM, KL_ENOMEM},    {EINVAL, KL_EIO},
        {ENOTEMPTY, KL_EEXIST}, {ENOTDIR, KL_EIO},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(kl_os_syserror_code(rows[i].number), rows[i].code);
}
END_TEST

START_TEST(code_is_never_success)
{
    for (int i = -1; i < 200; i++)
        ck_assert_int_lt(kl_os_syserror_code(i), 0);
}
END_TEST

Suite *suite_os_syserror(void);
Suite *suite_os_syserror(void)
{
    Suite *s = suite_create("os_syserror");
    TCase *tc = tcase_create("code");

    tcase_add_test(tc, code_by_number);
    tcase_add_test(tc, code_is_never_success);
    suite_add_tcase(s, tc);
    return s;
}
