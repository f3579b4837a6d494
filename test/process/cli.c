#include "cli.h"

#include "tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { CLI_ARGS = 24 };

static char cli_base[TEST_TMPDIR_SIZE];
static char cli_data[TEST_TMPDIR_SIZE + 8];
static struct run cli_last;

void cli_setup(void)
{
    test_tmpdir_make(cli_base);
    snprintf(cli_data, sizeof cli_data, "%s/data", cli_base);
}

void cli_teardown(void)
{
    run_free(&cli_last);
    test_tmpdir_remove(cli_base);
}

const char *cli_dir(void)
{
    return cli_data;
}

const struct run *cli_result(void)
{
    return &cli_last;
}

void cli_run(const void *input, size_t size, const char *const *args)
{
    const char *all[CLI_ARGS + 3] = {"-D", cli_data};

    for (int i = 0; args[i]; i++) {
        ck_assert_int_lt(i, CLI_ARGS);
        all[i + 2] = args[i];
    }
    run_free(&cli_last);
    run_program(&cli_last, NULL, input, size, all);
}

void cli_succeeded(void)
{
    ck_assert_str_eq(cli_last.err, "");
    ck_assert_int_eq(cli_last.code, 0);
}

void cli_printed_bytes(const void *data, size_t size)
{
    cli_succeeded();
    ck_assert_uint_eq(cli_last.out_size, size);
    ck_assert(memcmp(cli_last.out, data, size) == 0);
}

void cli_printed(const char *text)
{
    cli_succeeded();
    ck_assert_str_eq(cli_last.out, text);
}

void cli_failed(int code, const char *word)
{
    const char *feed = strchr(cli_last.err, '\n');

    ck_assert_int_eq(cli_last.code, code);
    ck_assert_msg(strncmp(cli_last.err, "kraftlog: ", 10) == 0 && feed &&
                      feed[1] == '\0',
                  "not one line: %s", cli_last.err);
    ck_assert_msg(strstr(cli_last.err, word) != NULL, "no %s in: %s", word,
                  cli_last.err);
}
