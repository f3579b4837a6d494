/*
 * What the library weighs in a program.
 */
#include "bench.h"

#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE_LIMIT = 250 };

extern char **environ;

/* The shared library of the build that this program belongs to. */
static int size_find(char out[BENCH_PATH])
{
    char base[BENCH_PATH - 64];
    ssize_t n = readlink("/proc/self/exe", base, sizeof base - 1);

    base[n > 0 ? n : 0] = '\0';
    if (!strrchr(base, '/'))
        return 0;
    *strrchr(base, '/') = '\0';
    snprintf(out, BENCH_PATH, "%s/../libkraftlog.so", base);
    return access(out, R_OK) == 0;
}

static void size_run(const char *const *names)
{
    char library[BENCH_PATH];
    char stripped[BENCH_PATH];
    char *argv[] = {"strip", "-o", stripped, library, NULL};
    struct bench_series series = {0};
    struct stat st;
    int status = -1;
    pid_t pid;

    if (!size_find(library)) {
        fprintf(stderr, "bench: %s: there is no libkraftlog.so\n", names[0]);
        return;
    }
    bench_path(stripped, "stripped.so");
    if (posix_spawnp(&pid, "strip", NULL, NULL, argv, environ) ||
        waitpid(pid, &status, 0) != pid || status || stat(stripped, &st))
        bench_die("cannot strip %s", library);
    bench_add(&series, (double)st.st_size / 1024, SIZE_LIMIT);
    bench_print(names[0], &series, "KiB", BENCH_LESS, 1);
    bench_remove("stripped.so");
}

const struct bench_family bench_family_size = {
    (const char *const[]){"libsize", NULL}, size_run};
