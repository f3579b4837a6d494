#include "os/limit.h"

#include <check.h>
#include <sys/resource.h>

START_TEST(limit_files_follows_the_system)
{
    struct rlimit before, lower;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    lower = before;
    lower.rlim_cur = 123;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &lower), 0);
    ck_assert_uint_eq(kl_os_limit_files(), 123);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
END_TEST

Suite *suite_os_limit_posix(void);
Suite *suite_os_limit_posix(void)
{
    Suite *suite = suite_create("os_limit_posix");
    TCase *tcase = tcase_create("limit");

    tcase_add_test(tcase, limit_files_follows_the_system);
    suite_add_tcase(suite, tcase);
    return suite;
}
