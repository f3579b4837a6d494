#include "script_text.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct script_text s;

static void tear_down(void)
{
    script_text_free(&s);
}

static int parse(const char *text)
{
    script_text_free(&s);
    return script_text_parse(&s, text, strlen(text));
}

static void parse_fails(const char *text, int line, const char *error)
{
    ck_assert_int_eq(parse(text), -1);
    ck_assert_str_eq(s.error, error);
    ck_assert_int_eq(s.error_line, line);
}

START_TEST(blocks_are_found)
{
    const char text[] = "# why\n\ncluster 3 voters=2\nshow\n----\n1 leader\n\n"
                        "# again\ntick 5ms\n# inside\nuntil 2 role leader\n"
                        "----\n";

    ck_assert_int_eq(parse(text), 0);
    ck_assert_int_eq(s.block_count, 2);
    ck_assert_int_eq(s.blocks[0].count, 2);
    ck_assert_int_eq(s.commands[0].verb, SCRIPT_CLUSTER);
    ck_assert_int_eq(s.commands[0].line, 3);
    ck_assert_str_eq(s.commands[0].arguments[1], "voters=2");
    ck_assert_int_eq(s.blocks[0].end - s.blocks[0].expected, 9);
    ck_assert_int_eq(strncmp(s.text + s.blocks[0].expected, "1 leader\n", 9),
                     0);
    ck_assert_int_eq(s.blocks[1].command, 2);
    ck_assert_int_eq(s.blocks[1].count, 2);
    ck_assert_int_eq(s.commands[3].line, 11);
    ck_assert_uint_eq(s.blocks[1].expected, strlen(text));
    ck_assert_uint_eq(s.blocks[1].end, strlen(text));
}
END_TEST

START_TEST(every_verb_has_its_name)
{
    ck_assert_str_eq(script_verb_name(SCRIPT_CLUSTER), "cluster");
    ck_assert_str_eq(script_verb_name(SCRIPT_COUNTERS), "counters");
    for (int i = 0; i < SCRIPT_VERB_COUNT; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(script_verb_name((enum script_verb)i),
                             script_verb_name((enum script_verb)k));
}
END_TEST

START_TEST(bad_shapes_are_named)
{
    parse_fails("", 1, "no commands");
    parse_fails("# nothing\n", 2, "no commands");
    parse_fails("cluster 3\n----", 1, "the last line has no end");
    parse_fails("cluster 3\n\n----\n", 2, "commands without a ----");
    parse_fails("cluster 3\nshow\n", 2, "commands without a ----");
    parse_fails("cluster 3\n----\n\n----\n", 4, "---- without a command");
    parse_fails("show\n----\n", 1, "a script begins with a cluster");
    parse_fails("cluster 3\ncluster 3\n----\n", 2, "a second cluster");
    script_text_free(&s);
    ck_assert_int_eq(script_text_parse(&s, "cluster\0 3\n", 11), -1);
    ck_assert_str_eq(s.error, "a byte 0");
}
END_TEST

START_TEST(bad_commands_are_named)
{
    static const struct
    {
        const char *command;
        const char *error;
    } bad[] = {
        {"frobnicate 1", "no such command: frobnicate"},
        {"crash", "crash: a host is missing"},
        {"crash x", "crash: not a host: x"},
        {"crash 0", "crash: not a host: 0"},
        {"crash -1", "crash: not a host: -1"},
        {"crash 99999999999", "crash: not a host: 99999999999"},
        {"crash 1 lost 2", "crash: too much: 2"},
        {"tick", "tick: a length of time is missing"},
        {"tick 5", "tick: not a length of time: 5"},
        {"tick 5parsecs", "tick: not a length of time: 5parsecs"},
        {"tick 9999999min", "tick: not a length of time: 9999999min"},
        {"until 1 role", "until: a word is missing"},
        {"until 1 role leader soon", "until: not a length of time: soon"},
        {"drop Vote 1 all", "drop: not a host or *: all"},
        {"produce 1 t0 many", "produce: not a number: many"},
        {"partition", "partition: a word is missing"},
        {"heal now", "heal: too much: now"},
        {"partition 1 2 3 4 5 6 7 8 9", "partition: too much: 9"},
        {"counters", "counters: a word is missing"},
    };
    char text[160];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "cluster 3\n%s\n----\n", bad[i].command);
        parse_fails(text, 2, bad[i].error);
    }
}
END_TEST

START_TEST(what_fits_is_taken)
{
    static const char *const good[] = {
        "crash 1",           "crash 1 lost",
        "tick 0us",          "settle",
        "settle 20s",        "drop Vote? * 2",
        "hold Fetch 1 * 3",  "until 1 epoch 2 10min",
        "partition 1 | 2 3", "heal"};
    char text[160];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "cluster 3\n%s\n----\n", good[i]);
        ck_assert_msg(parse(text) == 0, "%s: %s", good[i], s.error);
    }
    ck_assert_int_eq(script_duration("3s"), INT64_C(3000000000));
    ck_assert_int_eq(script_duration("20us"), 20000);
}
END_TEST

START_TEST(there_are_limits)
{
    static char text[16 * (SCRIPT_COMMANDS + 2)];
    size_t size = (size_t)snprintf(text, sizeof text, "cluster 3\n");

    for (int i = 0; i < SCRIPT_COMMANDS; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "show\n");
    parse_fails(text, SCRIPT_COMMANDS + 1, "more than 256 commands");
    size = (size_t)snprintf(text, sizeof text, "cluster 3\n----\n\n");
    for (int i = 0; i < SCRIPT_BLOCKS; i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "show\n----\n\n");
    parse_fails(text, 3 * SCRIPT_BLOCKS + 1, "more than 128 blocks");
}
END_TEST

Suite *suite_sim_script_text(void);

Suite *suite_sim_script_text(void)
{
    Suite *suite = suite_create("sim_script_text");
    TCase *t = tcase_create("script_text");

    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, blocks_are_found);
    tcase_add_test(t, every_verb_has_its_name);
    tcase_add_test(t, bad_shapes_are_named);
    tcase_add_test(t, bad_commands_are_named);
    tcase_add_test(t, what_fits_is_taken);
    tcase_add_test(t, there_are_limits);
    suite_add_tcase(suite, t);
    return suite;
}
