/*
 * Noticing a fork.
 */
#include "os/fork.h"

#include <check.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child of this process sees. */
static int seen_by_child(const struct kl_os_fork_guard *g)
{
    pid_t pid = fork();
    int status = -1;

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(kl_os_fork_guard_is_child(g));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(is_child_after_fork)
{
    struct kl_os_fork_guard g;

    kl_os_fork_guard_init(&g);
    ck_assert_int_eq(kl_os_fork_guard_is_child(&g), 0);
    ck_assert_int_eq(seen_by_child(&g), 1);
    ck_assert_int_eq(kl_os_fork_guard_is_child(&g), 0);
    kl_os_fork_guard_deinit(&g);
}
END_TEST

/* Where the kernel cannot wipe a page. */
START_TEST(is_child_by_process_id)
{
    struct kl_os_fork_guard g;

    kl_os_fork_guard_init(&g);
    kl_os_fork_guard_deinit(&g);
    ck_assert_int_eq(kl_os_fork_guard_is_child(&g), 0);
    ck_assert_int_eq(seen_by_child(&g), 1);
}
END_TEST

Suite *suite_os_fork(void);

Suite *suite_os_fork(void)
{
    Suite *s = suite_create("os_fork");
    TCase *t = tcase_create("fork");

    tcase_add_test(t, is_child_after_fork);
    tcase_add_test(t, is_child_by_process_id);
    suite_add_tcase(s, t);
    return s;
}
