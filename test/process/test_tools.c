/*
 * kraftlog(1) on folders that are not open: what it prints and exits with.
 */
#include "cli.h"
#include "damage.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_process_tools(void);

enum { FOUND = 1, UNREADABLE = 2, USAGE = 2 };

/* Of the topic's log. */
#define SEGMENT "topic/00000000000000000000.seg"

/* A topic of a thousand lines. */
static void fill(void)
{
    char lines[16 * 1024];
    size_t size = 0;

    for (int i = 0; i < 1000; i++)
        size +=
            (size_t)snprintf(lines + size, sizeof lines - size, "line %d\n", i);
    CLI("topic", "create", "t");
    cli_succeeded();
    CLI_BYTES(lines, size, "produce", "t");
    cli_succeeded();
}

/* It exited so, printed lines with these words, and nothing on standard error.
 */
static void tool_printed(int code, const char *const *words)
{
    const struct run *r = cli_result();

    ck_assert_str_eq(r->err, "");
    for (; *words; words++)
        ck_assert_msg(strstr(r->out, *words) != NULL, "no '%s' in:\n%s", *words,
                      r->out);
    ck_assert_int_eq(r->code, code);
}
#define PRINTED(code, ...)                                                     \
    tool_printed(code, (const char *const[]){__VA_ARGS__, NULL})

/* ---- verify ------------------------------------------------------------ */

START_TEST(verify_of_a_clean_folder)
{
    fill();
    CLI("verify");
    PRINTED(0, "2 logs", "nothing is damaged\n");
    CLI("verify", "-j");
    PRINTED(0, "{\"type\":\"summary\"", "\"damage\":0");
}
END_TEST

START_TEST(verify_of_a_damaged_segment)
{
    fill();
    damage_spoil(SEGMENT, 4096 + 95);
    CLI("verify");
    PRINTED(FOUND, "/00000000000000000000.seg: topic t, partition 0, offset",
            "the records of a batch do not verify, bytes 4096 to", "(damage)\n",
            "1 damaged");
    CLI("verify", "-j");
    PRINTED(FOUND, "\"kind\":\"body\",\"severity\":\"damage\"",
            "\"topic\":\"t\"", "\"from\":0,", "\"damage\":1");
}
END_TEST

/* What has a copy counts, what can be derived does not. */
START_TEST(verify_exit_code_by_severity)
{
    fill();
    damage_spoil("checkpoint.a", 30);
    CLI("verify");
    PRINTED(FOUND, "checkpoint.a: ", "(covered)\n");
    CLI("topic", "list"); /* opening repairs it */
    CLI("verify");
    PRINTED(0, "nothing is damaged\n");
    damage_make("stranger");
    CLI("verify");
    PRINTED(0, "stranger: not known to this release (harmless)\n",
            "1 harmless\n");
}
END_TEST

START_TEST(verify_of_what_cannot_be_read)
{
    CLI("verify");
    cli_failed(UNREADABLE, "KL_ENOSTORE");
    CLI("verify", "-x");
    cli_failed(USAGE, "-x");
    CLI("verify", "a");
    cli_failed(USAGE, "operands");
}
END_TEST

START_TEST(verify_of_a_folder_by_its_name)
{
    struct run r;

    fill();
    run_program(&r, NULL, NULL, 0, (const char *[]){"verify", cli_dir(), NULL});
    ck_assert_int_eq(r.code, 0);
    run_free(&r);
    run_program(&r, NULL, NULL, 0, (const char *[]){"verify", NULL});
    ck_assert_int_eq(r.code, USAGE);
    run_free(&r);
}
END_TEST

START_TEST(verify_of_a_folder_in_use)
{
    const char *args[] = {"-D", cli_dir(), "consume", "t", NULL};
    struct process p;
    char c;

    fill();
    process_start(&p, NULL, args);
    ck_assert_int_eq(read(p.out, &c, 1), 1);
    CLI("verify");
    cli_failed(UNREADABLE, "KL_EBUSY");
    CLI("verify", "-f");
    PRINTED(0, "a node has the folder open", "nothing is damaged");
    kill(p.pid, SIGKILL);
    process_finish(&p);
}
END_TEST

/* ---- dump ---------------------------------------------------------------- */

START_TEST(dump_of_everything)
{
    fill();
    CLI("dump");
    PRINTED(0, "store node_id=1 ", "checkpoint file=checkpoint.a ",
            "log topic=t ", "segment topic=t ");
    CLI("dump", "wal");
    PRINTED(0, "group wal=1 ", "entry kind=append topic=t ");
    CLI("dump", "log", "t", "0");
    PRINTED(0, "log topic=t ", "batch offset=0 end=");
    CLI("dump", "-r", "log", "t", "0");
    PRINTED(0, "record offset=999 ", "key=null value=\"line 999\"\n");
    CLI("dump", "-rj", "log", "t", "0");
    PRINTED(0, "\"key\":null,\"value\":\"line 999\"}\n");
    CLI("dump", "file", damage_path("identity"));
    PRINTED(0, "store node_id=1 ");
    CLI("dump", "-r", "file", damage_path(SEGMENT));
    PRINTED(0, "record offset=999 ");
}
END_TEST

START_TEST(dump_of_damage)
{
    fill();
    damage_spoil(SEGMENT, 4096 + 10);
    CLI("dump", "log", "t", "0");
    PRINTED(0, "batch offset=0 ", " wal=", "batch offset=1 ");
    damage_remove("wal/*");
    CLI("dump", "log", "t", "0");
    PRINTED(0, "lost from=0 end=1 kind=frame\n", "batch offset=1 ");
}
END_TEST

START_TEST(dump_usage)
{
    fill();
    CLI("dump", "everything");
    cli_failed(USAGE, "'everything'");
    CLI("dump", "wal", "x");
    cli_failed(USAGE, "operands");
    CLI("dump", "log", "t");
    cli_failed(USAGE, "TOPIC");
    CLI("dump", "log", "t", "x");
    cli_failed(USAGE, "'x'");
    CLI("dump", "-r");
    cli_failed(USAGE, "-r");
    CLI("dump", "-f", "file", "x");
    cli_failed(USAGE, "-f");
    CLI("dump", "log", "u", "0");
    cli_failed(UNREADABLE, "KL_ENOTOPIC");
    CLI("dump", "file", "/nonexistent");
    cli_failed(UNREADABLE, "KL_ENOENT");
}
END_TEST

/* A reader that has seen enough ends it. */
START_TEST(dump_into_a_closed_pipe)
{
    const char *args[] = {"-D", cli_dir(), "dump", "-r", "log", "t", "0", NULL};
    struct process p;
    int status;

    fill();
    process_start(&p, NULL, args);
    close(p.out);
    p.out = -1;
    status = process_finish(&p);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), UNREADABLE);
}
END_TEST

/* ---- salvage --------------------------------------------------------------
 */

/* What the tool prints with the new folder. */
static void consume_saved(struct run *r)
{
    run_program(
        r, NULL, NULL, 0,
        (const char *[]){"-D", damage_new_dir(), "consume", "t", "-eS", NULL});
}

START_TEST(salvage_saves_all)
{
    struct run before, after;

    fill();
    run_program(&before, NULL, NULL, 0,
                (const char *[]){"-D", cli_dir(), "consume", "t", "-e", NULL});
    damage_spoil("checkpoint.a", 30);
    damage_spoil("checkpoint.b", 30);
    CLI("topic", "list");
    cli_failed(1, "KL_ECORRUPT");
    CLI("salvage", damage_new_dir());
    PRINTED(0, "both checkpoints are lost", "saved: topic t, partition 0: 1000",
            "nothing lost\n");
    consume_saved(&after);
    ck_assert_int_eq(after.code, 0);
    ck_assert_str_eq(after.out, before.out);
    run_free(&before);
    run_free(&after);
    CLI("salvage", damage_new_dir());
    cli_failed(UNREADABLE, "KL_EEXIST");
    run_program(&after, NULL, NULL, 0,
                (const char *[]){"verify", damage_new_dir(), NULL});
    ck_assert_int_eq(after.code, 0);
    run_free(&after);
}
END_TEST

START_TEST(salvage_tells_what_is_lost)
{
    struct run r;

    fill();
    damage_remove("wal/*");
    damage_spoil(SEGMENT, 4096 + 95);
    run_program(&r, NULL, NULL, 0,
                (const char *[]){"salvage", cli_dir(), damage_new_dir(), NULL});
    ck_assert_int_eq(r.code, 1);
    ck_assert_ptr_nonnull(strstr(r.out, "lost: topic t, partition 0, offset 0: "
                                        "the records of a batch do not verify"
                                        "\n"));
    ck_assert_ptr_nonnull(strstr(r.out, "1 ranges of 1 offsets lost\n"));
    run_free(&r);
    consume_saved(&r);
    ck_assert_int_eq(strncmp(r.out, "line 1\n", 7), 0);
    run_free(&r);
}
END_TEST

START_TEST(salvage_usage)
{
    CLI("salvage");
    cli_failed(USAGE, "NEWDIR");
    CLI("salvage", "a", "b");
    cli_failed(USAGE, "NEWDIR");
    CLI("salvage", "-f", "a");
    cli_failed(USAGE, "-f");
    CLI("salvage", damage_new_dir());
    cli_failed(UNREADABLE, "KL_ENOSTORE");
    ck_assert_int_ne(access(damage_new_dir(), F_OK), 0);
}
END_TEST

Suite *suite_process_tools(void)
{
    Suite *s = suite_create("process_tools");
    TCase *t = tcase_create("tools");

    tcase_add_checked_fixture(t, cli_setup, cli_teardown);
    tcase_add_test(t, verify_of_a_clean_folder);
    tcase_add_test(t, verify_of_a_damaged_segment);
    tcase_add_test(t, verify_exit_code_by_severity);
    tcase_add_test(t, verify_of_what_cannot_be_read);
    tcase_add_test(t, verify_of_a_folder_by_its_name);
    tcase_add_test(t, verify_of_a_folder_in_use);
    tcase_add_test(t, dump_of_everything);
    tcase_add_test(t, dump_of_damage);
    tcase_add_test(t, dump_usage);
    tcase_add_test(t, dump_into_a_closed_pipe);
    tcase_add_test(t, salvage_saves_all);
    tcase_add_test(t, salvage_tells_what_is_lost);
    tcase_add_test(t, salvage_usage);
    suite_add_tcase(s, t);
    return s;
}
