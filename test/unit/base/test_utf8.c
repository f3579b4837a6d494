/*
 * Well-formed UTF-8.
 */
#include "base/utf8.h"

#include <check.h>

START_TEST(sequence_wellformed)
{
    ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)"", 1), 1);
    ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)"a", 1), 1);
    ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)"\xc2\x80", 2), 2);
    ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)"\xe0\xa0\x80", 3),
                      3);
    ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)"\xed\x9f\xbf", 3),
                      3);
    ck_assert_uint_eq(
        kl_base_utf8_sequence((const uint8_t *)"\xf4\x8f\xbf\xbf", 4), 4);
}
END_TEST

START_TEST(sequence_malformed)
{
    static const char *const bad[] = {
        "\x80",             /* continuation first */
        "\xc0\x80",         /* overlong NUL */
        "\xc1\xbf",         /* overlong */
        "\xc2\x41",         /* no continuation */
        "\xe0\x9f\xbf",     /* overlong */
        "\xed\xa0\x80",     /* surrogate */
        "\xe2\x82\x41",     /* third byte */
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf0\x90\x80\x41", /* fourth byte */
        "\xff",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)bad[i], 4), 0);
}
END_TEST

START_TEST(sequence_cut_short)
{
    static const char whole[] = "\xf0\x9f\xaa\xb5";

    for (size_t size = 1; size < 4; size++)
        ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)whole, size),
                          0);
    ck_assert_uint_eq(kl_base_utf8_sequence((const uint8_t *)whole, 4), 4);
}
END_TEST

Suite *suite_base_utf8(void);
Suite *suite_base_utf8(void)
{
    Suite *s = suite_create("base_utf8");
    TCase *t = tcase_create("sequence");

    tcase_add_test(t, sequence_wellformed);
    tcase_add_test(t, sequence_malformed);
    tcase_add_test(t, sequence_cut_short);
    suite_add_tcase(s, t);
    return s;
}
