/*
 * The programs beside the command line tool.
 */
#include "cli.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_process_examples(void);

static void example_prints(const char *name, const char *input,
                           const char *const *args, const char *expected)
{
    struct run r;

    run_program(&r, name, input, strlen(input), args);
    ck_assert_str_eq(r.err, "");
    ck_assert_int_eq(r.code, 0);
    ck_assert_str_eq(r.out, expected);
    run_free(&r);
}

START_TEST(one_node_appends_and_reads)
{
    const char *args[] = {cli_dir(), NULL};

    example_prints("one-node", "", args, "0 hello\n");
    example_prints("one-node", "", args, "0 hello\n1 hello\n");
    CLI("consume", "words", "-e");
    cli_printed("hello\nhello\n");
}
END_TEST

START_TEST(embed_loop_appends_its_input)
{
    const char *args[] = {cli_dir(), "lines", NULL};

    example_prints("embed-loop", "a\n\nlast", args, "3 records acknowledged\n");
    example_prints("embed-loop", "", args, "0 records acknowledged\n");
    CLI("consume", "lines", "-e");
    cli_printed("a\n\nlast\n");
}
END_TEST

START_TEST(memory_storage_finds_its_records)
{
    const char *args[] = {NULL};

    example_prints("memory-storage", "", args, "0 a\n1 b\n2 c\n");
}
END_TEST

/* The second time the folders have three voters already. */
START_TEST(three_nodes_loopback_goes_on_without_one)
{
    const char *args[] = {cli_dir(), NULL};

    for (int i = 0; i < 2; i++)
        example_prints("three-nodes-loopback", "", args,
                       "3 voters\nwords, through node 3\nnode 1 is gone\n"
                       "more-words, through node 2\n");
}
END_TEST

START_TEST(custom_transport_makes_a_cluster)
{
    const char *args[] = {NULL};

    example_prints("custom-transport", "", args, "3 voters have a topic\n");
}
END_TEST

Suite *suite_process_examples(void)
{
    Suite *s = suite_create("process_examples");
    TCase *tc = tcase_create("examples");

    tcase_add_checked_fixture(tc, cli_setup, cli_teardown);
    tcase_add_test(tc, one_node_appends_and_reads);
    tcase_add_test(tc, embed_loop_appends_its_input);
    tcase_add_test(tc, memory_storage_finds_its_records);
    tcase_add_test(tc, three_nodes_loopback_goes_on_without_one);
    tcase_add_test(tc, custom_transport_makes_a_cluster);
    suite_add_tcase(s, tc);
    return s;
}
