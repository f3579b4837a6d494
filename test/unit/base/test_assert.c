/*
 * Assertions: what holds costs nothing, what does not ends the process after
 * the hook has heard of it. Each end happens in a child of its own.
 */
#include "base/assert.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int evaluations;

static int count_and_hold(void)
{
    evaluations++;
    return 1;
}

START_TEST(assert_evaluates_once)
{
    evaluations = 0;
    KL_ASSERT(count_and_hold());
    ck_assert_int_eq(evaluations, 1);
}
END_TEST

START_TEST(dassert_only_in_debug)
{
    evaluations = 0;
    KL_DASSERT(count_and_hold());
#ifdef KL_DEBUG
    ck_assert_int_eq(evaluations, 1);
#else
    ck_assert_int_eq(evaluations, 0);
#endif
}
END_TEST

/* The hook of the child: passes the message to the parent. */
static void send_message(const char *text, void *user)
{
    ssize_t n = write(*(int *)user, text, strlen(text));

    (void)n;
}

/* A hook that breaks an invariant itself. */
static void break_again(const char *text, void *user)
{
    send_message(text, user);
    KL_UNREACHABLE();
}

/* Runs a broken assertion in a child; returns its wait status. */
static int run_child(kl_base_panic_fn fn, char *text, size_t size)
{
    int fds[2], status;
    ssize_t n;
    pid_t pid;

    ck_assert_int_eq(pipe(fds), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct kl_base_panic_hook hook = {fn, &fds[1]};
        struct rlimit no_core = {0, 0};

        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        kl_base_panic_enter(&hook);
        KL_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    close(fds[1]);
    n = read(fds[0], text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    close(fds[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

START_TEST(assert_calls_hook_and_aborts)
{
    char text[256];
    int status = run_child(send_message, text, sizeof text);

    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_ptr_nonnull(strstr(text, "test_assert.c:"));
    ck_assert_ptr_nonnull(strstr(text, "1 + 1 == 3"));
}
END_TEST

START_TEST(assert_without_hook)
{
    char text[256];
    int status = run_child(NULL, text, sizeof text);

    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(assert_inside_hook)
{
    char text[256];
    int status = run_child(break_again, text, sizeof text);

    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_ptr_nonnull(strstr(text, "1 + 1 == 3"));
    ck_assert_ptr_null(strstr(text, "unreachable"));
}
END_TEST

Suite *suite_base_assert(void);

Suite *suite_base_assert(void)
{
    Suite *suite = suite_create("base_assert");
    TCase *tc = tcase_create("assert");

    tcase_add_test(tc, assert_evaluates_once);
    tcase_add_test(tc, dassert_only_in_debug);
    tcase_add_test(tc, assert_calls_hook_and_aborts);
    tcase_add_test(tc, assert_without_hook);
    tcase_add_test(tc, assert_inside_hook);
    suite_add_tcase(suite, tc);
    return suite;
}
