/*
 * Runs the families whose rows were asked for: all, or those whose names begin
 * with one of the arguments.
 */
#include "bench.h"

#include <ftw.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static const struct bench_family *const main_families[] = {
    &bench_family_size,         &bench_family_metadata,
    &bench_family_quorum,       &bench_family_single,
    &bench_family_durable,      &bench_family_partitions,
    &bench_family_interval_100, &bench_family_interval_1k,
    &bench_family_consume,      &bench_family_open,
};
enum { MAIN_FAMILIES = sizeof main_families / sizeof *main_families };

static char main_folder[BENCH_PATH];
static char **main_wanted;

int bench_wants(const char *name)
{
    if (!*main_wanted)
        return 1;
    for (char **w = main_wanted; *w; w++) {
        if (strncmp(name, *w, strlen(*w)) == 0)
            return 1;
    }
    return 0;
}

const char *bench_folder(void)
{
    return main_folder;
}

static int main_remove_one(const char *path, const struct stat *st, int type,
                           struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void main_clean_up(void)
{
    if (main_folder[0])
        (void)nftw(main_folder, main_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    main_folder[0] = '\0';
}

void bench_remove(const char *name)
{
    char path[BENCH_PATH];

    bench_path(path, name);
    (void)nftw(path, main_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void bench_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "bench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    main_clean_up();
    exit(1);
}

void bench_check(int code, const char *what)
{
    if (code)
        bench_die("%s: %s (%s)", what, kl_strerror(code), kl_error_name(code));
}

/* In $BENCH_DIR, or beside this program. A file system in memory would measure
 * nothing. */
static void main_make_folder(void)
{
    char base[BENCH_PATH - 32];
    const char *given = getenv("BENCH_DIR");
    struct statfs fs;

    if (given && *given) {
        snprintf(base, sizeof base, "%s", given);
    } else {
        ssize_t n = readlink("/proc/self/exe", base, sizeof base - 1);
        base[n > 0 ? n : 0] = '\0';
        if (!strrchr(base, '/'))
            bench_die("no folder: set BENCH_DIR");
        *strrchr(base, '/') = '\0';
    }
    if (statfs(base, &fs))
        bench_die("%s: %m", base);
    if (fs.f_type == TMPFS_MAGIC)
        bench_die("%s is in memory: set BENCH_DIR to a folder on a disk", base);
    snprintf(main_folder, sizeof main_folder, "%s/bench-XXXXXX", base);
    if (!mkdtemp(main_folder)) {
        main_folder[0] = '\0';
        bench_die("%s: %m", base);
    }
}

static int main_family_is_wanted(const struct bench_family *f)
{
    for (const char *const *name = f->names; *name; name++) {
        if (bench_wants(*name))
            return 1;
    }
    return 0;
}

static int main_usage(void)
{
    fprintf(stderr, "usage: bench [NAME]...\nrows:");
    for (size_t i = 0; i < MAIN_FAMILIES; i++) {
        for (const char *const *n = main_families[i]->names; *n; n++)
            fprintf(stderr, " %s", *n);
    }
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    double foreign;
    size_t run = 0;

    (void)argc;
    main_wanted = argv + 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < MAIN_FAMILIES; i++)
        run += (size_t)main_family_is_wanted(main_families[i]);
    if (!run)
        return main_usage();
    main_make_folder();
    for (size_t i = 0; i < MAIN_FAMILIES; i++) {
        if (!main_family_is_wanted(main_families[i]))
            continue;
        bench_settle();
        (void)bench_foreign();
        main_families[i]->run(main_families[i]->names);
        foreign = bench_foreign();
        if (foreign >= 0)
            fprintf(stderr, "bench: others took %.0f%% of the machine\n",
                    foreign);
    }
    main_clean_up();
    return 0;
}
