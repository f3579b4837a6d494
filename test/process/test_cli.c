/*
 * kraftlog(1): command line, folders, topics.
 */
#include "cli.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_process_cli(void);

enum { FAILED = 1, USAGE = 2 };

/* ---- the command line -------------------------------------------------- */

static void usage_of(const char *const *args)
{
    struct run r;

    run_program(&r, NULL, NULL, 0, args);
    ck_assert_int_eq(r.code, USAGE);
    ck_assert_int_eq(strncmp(r.err, "kraftlog: ", 10), 0);
    ck_assert_ptr_eq(strchr(r.err, '\n'), r.err + r.err_size - 1);
    ck_assert_uint_eq(r.out_size, 0);
    run_free(&r);
}

START_TEST(usage_without_folder_or_command)
{
    usage_of((const char *[]){NULL});
    usage_of((const char *[]){"-D", NULL});
    usage_of((const char *[]){"-x", NULL});
    usage_of((const char *[]){"-D", cli_dir(), NULL});
    usage_of((const char *[]){"stat", NULL});
    usage_of((const char *[]){"topic", "list", NULL});
    /* Nothing of this has made the folder. */
    ck_assert_int_ne(access(cli_dir(), F_OK), 0);
}
END_TEST

START_TEST(usage_of_commands)
{
    CLI("nonsense");
    cli_failed(USAGE, "nonsense");
    CLI("topic");
    cli_failed(USAGE, "create");
    CLI("topic", "rename");
    cli_failed(USAGE, "rename");
    CLI("topic", "list", "x");
    cli_failed(USAGE, "operands");
    CLI("topic", "create");
    cli_failed(USAGE, "NAME");
    CLI("topic", "create", "a", "b");
    cli_failed(USAGE, "NAME");
    CLI("topic", "create", "a", "-p", "0");
    cli_failed(USAGE, "'0'");
    CLI("topic", "create", "a", "-p", "2x");
    cli_failed(USAGE, "'2x'");
    CLI("topic", "create", "a", "-q");
    cli_failed(USAGE, "-q");
    CLI("topic", "create", "a", "-c");
    cli_failed(USAGE, "-c");
    CLI("produce");
    cli_failed(USAGE, "TOPIC");
    CLI("produce", "a", "-p", "-1");
    cli_failed(USAGE, "'-1'");
    CLI("produce", "a", "-K", "");
    cli_failed(USAGE, "-K");
    CLI("produce", "a", "-K", "\\q");
    cli_failed(USAGE, "-K");
    CLI("produce", "a", "-z", "brotli");
    cli_failed(USAGE, "brotli");
    CLI("consume");
    cli_failed(USAGE, "TOPIC");
    CLI("consume", "a", "-c", "0");
    cli_failed(USAGE, "-c");
    CLI("stat", "x");
    cli_failed(USAGE, "operands");
    CLI("cluster", "x");
    cli_failed(USAGE, "operands");
    CLI("quorum", "x");
    cli_failed(USAGE, "operands");
    CLI("topic", "grow", "a");
    cli_failed(USAGE, "PARTITIONS");
    CLI("topic", "grow", "a", "0");
    cli_failed(USAGE, "'0'");
    ck_assert_int_ne(access(cli_dir(), F_OK), 0);
}
END_TEST

START_TEST(help_and_version)
{
    struct run r;

    run_program(&r, NULL, NULL, 0, (const char *[]){"-h", NULL});
    ck_assert_int_eq(r.code, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "usage:"));
    ck_assert_uint_eq(r.err_size, 0);
    run_free(&r);
    run_program(&r, NULL, NULL, 0, (const char *[]){"-V", NULL});
    ck_assert_int_eq(r.code, 0);
    ck_assert_int_eq(strncmp(r.out, "kraftlog ", 9), 0);
    run_free(&r);
}
END_TEST

START_TEST(options_before_and_after_operands)
{
    CLI("topic", "create", "-p", "2", "a");
    cli_succeeded();
    CLI_TEXT("x\n", "produce", "-p", "1", "a", "-v");
    cli_printed("1 0\n");
    CLI("consume", "-e", "--", "a");
    cli_printed("x\n");
    CLI("consume", "--", "a", "-e");
    cli_failed(USAGE, "operands");
}
END_TEST

/* ---- the folder -------------------------------------------------------- */

START_TEST(folder_is_not_made_by_accident)
{
    CLI("stat");
    cli_failed(FAILED, "KL_ENOSTORE");
    CLI("topic", "list");
    cli_failed(FAILED, "KL_ENOSTORE");
    CLI("topic", "delete", "a");
    cli_failed(FAILED, "KL_ENOSTORE");
    CLI_TEXT("x\n", "produce", "a");
    cli_failed(FAILED, "KL_ENOSTORE");
    CLI("consume", "a", "-e");
    cli_failed(FAILED, "KL_ENOSTORE");
    ck_assert_ptr_nonnull(strstr(cli_result()->err, cli_dir()));
    ck_assert_int_ne(access(cli_dir(), F_OK), 0);
}
END_TEST

START_TEST(folder_is_made_by_the_option)
{
    CLI("-C", "topic", "list");
    cli_printed("");
    CLI("topic", "list");
    cli_printed("");
}
END_TEST

START_TEST(folder_cannot_be_made)
{
    struct run r;

    run_program(
        &r, NULL, NULL, 0,
        (const char *[]){"-D", "/dev/null", "topic", "create", "a", NULL});
    ck_assert_int_eq(r.code, FAILED);
    ck_assert_ptr_nonnull(strstr(r.err, "/dev/null"));
    run_free(&r);
}
END_TEST

START_TEST(folder_is_in_use)
{
    struct process p;
    char byte;

    CLI("topic", "create", "a");
    CLI_TEXT("x\n", "produce", "a");
    cli_succeeded();
    process_start(&p, NULL,
                  (const char *[]){"-D", cli_dir(), "consume", "a", NULL});
    /* A record of it means that it has the folder. */
    ck_assert_int_eq(read(p.out, &byte, 1), 1);
    ck_assert_int_eq(byte, 'x');
    CLI("topic", "list");
    cli_failed(FAILED, "KL_EBUSY");
    CLI("topic", "create", "b");
    cli_failed(FAILED, "KL_EBUSY");
    ck_assert_int_eq(kill(p.pid, SIGKILL), 0);
    ck_assert_int_eq(WTERMSIG(process_finish(&p)), SIGKILL);
    CLI("topic", "list");
    cli_printed("a\n");
}
END_TEST

START_TEST(cluster_of_one)
{
    CLI("cluster");
    cli_failed(FAILED, "KL_ENOSTORE");
    CLI("topic", "create", "a");
    CLI("topic", "grow", "a", "3");
    cli_succeeded();
    CLI("topic", "grow", "a", "3");
    cli_failed(FAILED, "KL_EPARTITIONS");
    CLI("topic", "grow", "b", "3");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("cluster");
    cli_succeeded();
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "\"controller\": 1"));
    CLI("quorum");
    cli_succeeded();
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "\"leader\": 1"));
}
END_TEST

START_TEST(stat_prints_json)
{
    CLI("topic", "create", "a");
    CLI("stat");
    cli_succeeded();
    ck_assert_int_eq(strncmp(cli_result()->out, "{\n", 2), 0);
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "\"topics\": 1,"));
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "\n}\n"));
}
END_TEST

/* ---- topics ------------------------------------------------------------ */

START_TEST(topic_create_list_delete)
{
    CLI("topic", "create", "b");
    cli_printed("");
    CLI("topic", "create", "a", "-p", "3");
    cli_printed("");
    CLI("topic", "create", "a");
    cli_failed(FAILED, "KL_ETOPICEXISTS");
    CLI("topic", "create", "a/b");
    cli_failed(FAILED, "KL_ETOPICNAME");
    CLI("topic", "create", "..");
    cli_failed(FAILED, "KL_ETOPICNAME");
    CLI("topic", "create", "many", "-p", "2000000000");
    cli_failed(FAILED, "KL_EPARTITIONS");
    CLI("topic", "list");
    cli_printed("a\nb\n");
    CLI("topic", "delete", "a");
    cli_printed("");
    CLI("topic", "delete", "a");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("topic", "list");
    cli_printed("b\n");
}
END_TEST

START_TEST(topic_deleted_and_created_again_is_empty)
{
    CLI("topic", "create", "a");
    CLI_TEXT("old\n", "produce", "a");
    cli_succeeded();
    CLI("topic", "delete", "a");
    CLI("topic", "create", "a");
    cli_succeeded();
    CLI("consume", "a", "-e");
    cli_printed("");
    CLI_TEXT("new\n", "produce", "a", "-v");
    cli_printed("0 0\n");
    CLI("consume", "a", "-e");
    cli_printed("new\n");
}
END_TEST

START_TEST(topic_describe)
{
    CLI("topic", "create", "a", "-p", "2", "-c", "segment.bytes=1m");
    CLI_TEXT("1\n2\n3\n", "produce", "a", "-p", "1");
    CLI("topic", "describe", "a");
    cli_succeeded();
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "\"name\": \"a\",\n"));
    ck_assert_ptr_nonnull(
        strstr(cli_result()->out, "\"segment.bytes\": 1048576"));
    ck_assert_ptr_nonnull(
        strstr(cli_result()->out, "\"config_set\": [\"segment.bytes\"]"));
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "\"end\": 3,"));
    CLI("topic", "describe", "b");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("topic", "describe");
    cli_failed(USAGE, "NAME");
}
END_TEST

START_TEST(topic_create_with_wrong_keys)
{
    CLI("topic", "create", "a", "-c", "segment.bytes");
    cli_failed(USAGE, "KEY=VALUE");
    CLI("topic", "create", "a", "-c", "=1");
    cli_failed(USAGE, "KEY=VALUE");
    CLI("topic", "create", "a", "-c", "no.such.key=1");
    cli_failed(USAGE, "no.such.key");
    CLI("topic", "create", "a", "-c", "segment.bytes=many");
    cli_failed(USAGE, "many");
    CLI("topic", "create", "a", "-c", "segment.bytes=1");
    cli_failed(USAGE, "segment.bytes");
    CLI("topic", "create", "a", "-c", "linger.ms=1");
    cli_failed(USAGE, "linger.ms");
    ck_assert_int_ne(access(cli_dir(), F_OK), 0);
}
END_TEST

static void config_has(const char *line)
{
    CLI("topic", "config", "a");
    cli_succeeded();
    ck_assert_msg(strstr(cli_result()->out, line) != NULL, "no %s in:\n%s",
                  line, cli_result()->out);
}

START_TEST(topic_config)
{
    CLI("topic", "create", "a", "-c", "flush=interval");
    config_has("flush=interval\n");
    config_has("retention.ms=604800000\n");
    CLI("topic", "config", "a", "retention.ms=1000", "segment.bytes=1m");
    cli_printed("");
    config_has("retention.ms=1000\n");
    config_has("segment.bytes=1048576\n");
    /* Nothing behind the equals sign: the default. */
    CLI("topic", "config", "a", "retention.ms=");
    cli_printed("");
    config_has("retention.ms=604800000\n");
    config_has("segment.bytes=1048576\n");
}
END_TEST

START_TEST(topic_config_refused)
{
    CLI("topic", "create", "a");
    CLI("topic", "config", "a", "retention.ms=1000", "nonsense");
    cli_failed(USAGE, "nonsense");
    CLI("topic", "config", "a", "retention.ms=1000", "batch.size=4096");
    cli_failed(USAGE, "batch.size");
    /* All pairs are looked at before the first is set. */
    config_has("retention.ms=604800000\n");
    CLI("topic", "config", "a", "flush=interval");
    cli_failed(FAILED, "flush");
    config_has("flush=commit\n");
    CLI("topic", "config", "b");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("topic", "config", "b", "retention.ms=1000");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("topic", "config");
    cli_failed(USAGE, "NAME");
}
END_TEST

Suite *suite_process_cli(void)
{
    Suite *s = suite_create("process_cli");
    TCase *tc = tcase_create("cli");

    tcase_add_checked_fixture(tc, cli_setup, cli_teardown);
    tcase_add_test(tc, usage_without_folder_or_command);
    tcase_add_test(tc, usage_of_commands);
    tcase_add_test(tc, help_and_version);
    tcase_add_test(tc, options_before_and_after_operands);
    tcase_add_test(tc, folder_is_not_made_by_accident);
    tcase_add_test(tc, folder_is_made_by_the_option);
    tcase_add_test(tc, folder_cannot_be_made);
    tcase_add_test(tc, folder_is_in_use);
    tcase_add_test(tc, cluster_of_one);
    tcase_add_test(tc, stat_prints_json);
    tcase_add_test(tc, topic_create_list_delete);
    tcase_add_test(tc, topic_deleted_and_created_again_is_empty);
    tcase_add_test(tc, topic_describe);
    tcase_add_test(tc, topic_create_with_wrong_keys);
    tcase_add_test(tc, topic_config);
    tcase_add_test(tc, topic_config_refused);
    suite_add_tcase(s, tc);
    return s;
}
