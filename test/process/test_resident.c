/*
 * What a node that does nothing costs its process: the tool with default
 * settings, waiting for records behind the one that it has printed.
 */
#include "cli.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Suite *suite_process_resident(void);

/* Sanitizers keep shadows of all memory. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { LIMIT_KIB = 1 << 20 };
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { LIMIT_KIB = 1 << 20 };
#else
enum { LIMIT_KIB = 4096 };
#endif
#else
enum { LIMIT_KIB = 4096 };
#endif

/* All of it counts: heap, stacks, and the pages of the program and of every
 * library that it shares with others. */
static long resident_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = -1;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld kB", &kib) == 1)
            break;
    fclose(file);
    return kib;
}

START_TEST(idle_node)
{
    const char *args[] = {"-D", cli_dir(), "consume", "t", NULL};
    struct process p;
    long kib;
    char c;

    CLI("topic", "create", "t");
    cli_succeeded();
    CLI_TEXT("one\n", "produce", "t");
    cli_succeeded();
    process_start(&p, NULL, args);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(read(p.out, &c, 1), 1);
    kib = resident_kib(p.pid);
    kill(p.pid, SIGKILL);
    process_finish(&p);
    ck_assert_msg(kib > 0 && kib < LIMIT_KIB, "%ld KiB", kib);
}
END_TEST

Suite *suite_process_resident(void)
{
    Suite *s = suite_create("process_resident");
    TCase *t = tcase_create("resident");

    tcase_add_checked_fixture(t, cli_setup, cli_teardown);
    tcase_add_test(t, idle_node);
    suite_add_tcase(s, t);
    return s;
}
