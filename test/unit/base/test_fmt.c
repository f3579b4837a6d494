/*
 * Bounded printing.
 */
#include "base/fmt.h"

#include <check.h>
#include <string.h>

START_TEST(fmt_fits)
{
    char buf[8];

    ck_assert_uint_eq(kl_base_fmt(buf, sizeof buf, "%d-%s", 12, "abcd"), 7);
    ck_assert_str_eq(buf, "12-abcd");
    ck_assert_uint_eq(kl_base_fmt(buf, sizeof buf, "%s", ""), 0);
    ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(fmt_cuts)
{
    char buf[4] = {'z', 'z', 'z', 'z'};

    ck_assert_uint_eq(kl_base_fmt(buf, 3, "%s", "abcd"), 2);
    ck_assert_str_eq(buf, "ab");
    ck_assert_int_eq(buf[3], 'z');
    ck_assert_uint_eq(kl_base_fmt(buf, 1, "%s", "abcd"), 0);
    ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(fmt_cuts_between_characters)
{
    static const struct
    {
        const char *text;
        size_t size;
        size_t written;
    } table[] = {
        {"a\xc3\xa9z", 3, 1},
        {"a\xc3\xa9z", 4, 3},
        {"\xe2\x82\xacz", 2, 0},
        {"\xe2\x82\xacz", 3, 0},
        {"\xe2\x82\xacz", 4, 3},
        {"\xf0\x9f\x98\x80z", 4, 0},
        {"\xf0\x9f\x98\x80z", 5, 4},
        {"\x80\x80\x80\x80\x80\x80", 5, 4}, /* not UTF-8 at all */
        {"\x80\x80\x80", 3, 2},
    };
    char buf[16];
    size_t i;

    for (i = 0; i < sizeof table / sizeof table[0]; i++) {
        ck_assert_uint_eq(kl_base_fmt(buf, table[i].size, "%s", table[i].text),
                          table[i].written);
        ck_assert_uint_eq(strlen(buf), table[i].written);
    }
}
END_TEST

Suite *suite_base_fmt(void);

Suite *suite_base_fmt(void)
{
    Suite *suite = suite_create("base_fmt");
    TCase *tc = tcase_create("fmt");

    tcase_add_test(tc, fmt_fits);
    tcase_add_test(tc, fmt_cuts);
    tcase_add_test(tc, fmt_cuts_between_characters);
    suite_add_tcase(suite, tc);
    return suite;
}
