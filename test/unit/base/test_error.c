/*
 * Error codes and texts.
 */
#include "base/error.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

START_TEST(lookup_every_code)
{
    const struct kl_base_error_info *info;
    size_t pos = 0;
    int count = 0;

    while ((info = kl_base_error_next(&pos)) != NULL) {
        ck_assert_ptr_eq(kl_base_error_lookup(info->code), info);
        ck_assert_int_eq(strncmp(info->name, "KL_", 3), 0);
        ck_assert_uint_gt(strlen(info->text), 3);
        ck_assert_int_le(info->code, 0);
        count++;
    }
    ck_assert_int_gt(count, 30);
}
END_TEST

/* The header is the list of codes; the table may not forget one. */
START_TEST(lookup_knows_all_of_the_header)
{
    FILE *f = fopen("include/kraftlog/error.h", "r");
    char line[256], name[64];
    int code, count = 0;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, " KL_%40[A-Z] = %d", name, &code) != 2)
            continue;
        ck_assert_int_eq(kl_base_error_lookup(code)->code, code);
        ck_assert_str_eq(kl_base_error_lookup(code)->name + 3, name);
        count++;
    }
    fclose(f);
    ck_assert_int_gt(count, 30);
}
END_TEST

START_TEST(lookup_unknown_code)
{
    ck_assert_str_eq(kl_base_error_lookup(-1)->name, "KL_E?");
    ck_assert_str_eq(kl_base_error_lookup(7)->text, "unknown error");
    ck_assert_uint_eq(kl_base_error_lookup(-999999)->flags, 0);
}
END_TEST

START_TEST(set_returns_code_and_formats)
{
    struct kl_base_error e;

    ck_assert_int_eq(kl_base_error_set(&e, KL_EIO, "%s: %d", "wal", 5), KL_EIO);
    ck_assert_int_eq(e.code, KL_EIO);
    ck_assert_str_eq(e.text, "wal: 5");
    kl_base_error_clear(&e);
    ck_assert_int_eq(e.code, 0);
    ck_assert_str_eq(e.text, "");
}
END_TEST

START_TEST(set_without_object)
{
    ck_assert_int_eq(kl_base_error_set(NULL, KL_EBUSY, "x"), KL_EBUSY);
}
END_TEST

START_TEST(set_cuts_long_text)
{
    struct kl_base_error e;
    char big[KL_BASE_ERROR_TEXT * 2];

    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    kl_base_error_set(&e, KL_EIO, "%s", big);
    ck_assert_uint_eq(strlen(e.text), KL_BASE_ERROR_TEXT - 1);
}
END_TEST

START_TEST(copy_cuts_to_size)
{
    struct kl_base_error e;
    char buf[8] = "zzzzzzz";

    kl_base_error_set(&e, KL_EIO, "abcdef");
    ck_assert_int_eq(kl_base_error_copy(&e, buf, 4), KL_EIO);
    ck_assert_str_eq(buf, "abc");
    ck_assert_int_eq(buf[4], 'z');
    ck_assert_int_eq(kl_base_error_copy(&e, buf, sizeof buf), KL_EIO);
    ck_assert_str_eq(buf, "abcdef");
    ck_assert_int_eq(kl_base_error_copy(&e, NULL, 4), KL_EIO);
    ck_assert_int_eq(kl_base_error_copy(&e, buf, 0), KL_EIO);
    ck_assert_str_eq(buf, "abcdef");
}
END_TEST

Suite *suite_base_error(void);

Suite *suite_base_error(void)
{
    Suite *suite = suite_create("base_error");
    TCase *tc = tcase_create("error");

    tcase_add_test(tc, lookup_every_code);
    tcase_add_test(tc, lookup_knows_all_of_the_header);
    tcase_add_test(tc, lookup_unknown_code);
    tcase_add_test(tc, set_returns_code_and_formats);
    tcase_add_test(tc, set_without_object);
    tcase_add_test(tc, set_cuts_long_text);
    tcase_add_test(tc, copy_cuts_to_size);
    suite_add_tcase(suite, tc);
    return suite;
}
