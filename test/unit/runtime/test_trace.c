/*
 * Diagnostics.
 */
#include "node_fixture.h"

#include <check.h>
#include <kraftlog/config.h>
#include <stdio.h>
#include <string.h>

static struct node_fixture f;
static char lines[16][512];
static int levels[16];
static int line_count;

static void note(int level, const char *text, void *user)
{
    ck_assert_ptr_eq(user, &f);
    ck_assert_ptr_null(strchr(text, '\n'));
    if (line_count == 16)
        return;
    levels[line_count] = level;
    (void)snprintf(lines[line_count++], sizeof lines[0], "%s", text);
}

static void setup(void)
{
    memset(lines, 0, sizeof lines);
    line_count = 0;
    node_fixture_init(&f);
    f.options.trace = note;
    f.options.trace_user = &f;
    f.options.trace_level = KL_TRACE_INFO;
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

START_TEST(trace_tells_a_life)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                   .topic = "t"};
    static const char *const wanted[] = {
        "node.open dir=data node=1 cluster=", "topic.created id=",
        "topic.deleted id=", "node.stop ", "node.closed code=KL_OK"};

    node_fixture_open(&f);
    (void)node_fixture_topic(&f, "t", 1, NULL, NULL);
    ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    node_fixture_stop(&f);
    ck_assert_int_eq(line_count, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(levels[i], KL_TRACE_INFO);
        ck_assert_msg(strncmp(lines[i], wanted[i], strlen(wanted[i])) == 0,
                      "%s", lines[i]);
    }
    ck_assert_ptr_nonnull(strstr(lines[1], " name=t"));
}
END_TEST

START_TEST(trace_of_a_level)
{
    f.options.trace_level = KL_TRACE_ERROR;
    ck_assert_int_eq(node_fixture_try_open(&f, 0), KL_ENOSTORE);
    ck_assert_int_eq(line_count, 1);
    ck_assert_int_eq(levels[0], KL_TRACE_ERROR);
    ck_assert_ptr_nonnull(strstr(lines[0], "code=KL_ENOSTORE"));
    node_fixture_crash(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(line_count, 1);
}
END_TEST

Suite *suite_runtime_trace(void);

Suite *suite_runtime_trace(void)
{
    Suite *s = suite_create("runtime_trace");
    TCase *t = tcase_create("trace");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, trace_tells_a_life);
    tcase_add_test(t, trace_of_a_level);
    suite_add_tcase(s, t);
    return s;
}
