/*
 * kraftlog(1) on a folder with damaged records: what is lost is named, the rest
 * is served, and nothing goes on as if nothing had happened.
 */
#include "cli.h"

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_process_damage(void);

enum { FAILED = 1 };

static uint8_t *load(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;

    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size_out = (size_t)ftell(file);
    rewind(file);
    data = malloc(*size_out + 1);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(fread(data, 1, *size_out, file), *size_out);
    fclose(file);
    return data;
}

/* Flips a bit in the first place of a file where the text is. */
static int spoil_file(const char *path, const char *text)
{
    size_t size, at = 0, length = strlen(text);
    uint8_t *data = load(path, &size);
    FILE *file;

    while (at + length <= size && memcmp(data + at, text, length) != 0)
        at++;
    if (at + length > size) {
        free(data);
        return 0;
    }
    data[at] ^= 1;
    file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)at, SEEK_SET);
    ck_assert_uint_eq(fwrite(data + at, 1, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
    free(data);
    return 1;
}

/* The same in the one file of a pattern that has it. */
static void spoil(const char *pattern, const char *text)
{
    char path[512];
    glob_t found;
    int count = 0;

    snprintf(path, sizeof path, "%s/%s", cli_dir(), pattern);
    ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        count += spoil_file(found.gl_pathv[i], text);
    globfree(&found);
    ck_assert_int_eq(count, 1);
}

/* Three batches in one segment, the second with damaged records. */
static void three_batches(void)
{
    CLI("topic", "create", "t");
    cli_succeeded();
    CLI_TEXT("one\ntwo\n", "produce", "t");
    cli_succeeded();
    CLI_TEXT("three\n", "produce", "t");
    cli_succeeded();
    CLI_TEXT("six\n", "produce", "t");
    cli_succeeded();
    spoil("logs/*/*.seg", "three");
}

START_TEST(damaged_records_are_named)
{
    three_batches();
    CLI("consume", "t", "-e");
    cli_failed(FAILED, "t-0, offsets 2 to 2 are damaged");
    ck_assert_str_eq(cli_result()->out, "one\ntwo\n");
    CLI("consume", "t", "-e", "-o", "3");
    cli_printed("six\n");
}
END_TEST

START_TEST(damaged_records_are_skipped_on_demand)
{
    three_batches();
    CLI("consume", "t", "-e", "-S");
    cli_failed(FAILED, "offsets 2 to 2 are damaged: skipped");
    ck_assert_str_eq(cli_result()->out, "one\ntwo\nsix\n");
    /* The partition goes on. */
    CLI_TEXT("seven\n", "produce", "t");
    cli_succeeded();
    CLI("consume", "t", "-e", "-o", "3");
    cli_printed("six\nseven\n");
}
END_TEST

START_TEST(loss_that_is_none_is_accepted)
{
    CLI("accept-loss");
    cli_failed(FAILED, "no log in this folder");
    CLI("topic", "create", "t");
    cli_succeeded();
    CLI("accept-loss", "x");
    cli_failed(2, "operands");
    CLI("accept-loss");
    cli_printed("nothing is lost\n");
}
END_TEST

Suite *suite_process_damage(void)
{
    Suite *s = suite_create("process_damage");
    TCase *t = tcase_create("damage");

    tcase_add_checked_fixture(t, cli_setup, cli_teardown);
    tcase_add_test(t, damaged_records_are_named);
    tcase_add_test(t, damaged_records_are_skipped_on_demand);
    tcase_add_test(t, loss_that_is_none_is_accepted);
    suite_add_tcase(s, t);
    return s;
}
