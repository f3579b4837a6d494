/*
 * kraftlog(1) on a folder with damaged records: what is lost is named, the rest
 * is served, and nothing goes on as if nothing had happened.
 */
#include "cli.h"
#include "damage.h"

#include <check.h>
#include <string.h>

Suite *suite_process_damage(void);

enum { FAILED = 1 };

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
    damage_find("topic/*.seg", "three");
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
