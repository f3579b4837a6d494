/*
 * Clocks, medians, the line of a row, and waiting for the disk.
 */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double measure_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
    return measure_clock(CLOCK_MONOTONIC);
}

struct bench_time bench_start(void)
{
    return (struct bench_time){.wall = measure_clock(CLOCK_MONOTONIC),
                               .thread = measure_clock(CLOCK_THREAD_CPUTIME_ID),
                               .all = measure_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

struct bench_time bench_since(const struct bench_time *start)
{
    struct bench_time now = bench_start();

    now.wall -= start->wall;
    now.thread -= start->thread;
    now.all -= start->all;
    return now;
}

double bench_foreign(void)
{
    static double before[3]; /* busy, all, own */
    double ticks = (double)sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "re");
    double v[10] = {0};
    double now[3] = {0, 0, measure_clock(CLOCK_PROCESS_CPUTIME_ID)};
    double foreign = -1;

    if (!f)
        return -1;
    /* user nice system idle iowait irq softirq steal */
    if (fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2],
               &v[3], &v[4], &v[5], &v[6], &v[7]) == 8) {
        for (int i = 0; i < 8; i++) {
            now[1] += v[i] / ticks;
            now[0] += i == 3 || i == 4 ? 0 : v[i] / ticks;
        }
        if (now[1] > before[1])
            foreign = 100 * (now[0] - before[0] - (now[2] - before[2])) /
                      (now[1] - before[1]);
        memcpy(before, now, sizeof now);
    }
    fclose(f);
    return foreign;
}

static int measure_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(const double *values, size_t count)
{
    double *sorted = malloc(count * sizeof *sorted);
    double median;

    if (!sorted || !count)
        bench_die("no memory, or nothing measured");
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, measure_compare);
    median = count % 2 ? sorted[count / 2]
                       : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    free(sorted);
    return median;
}

void bench_add(struct bench_series *s, double value, double limit)
{
    if (s->count == BENCH_REPEATS)
        bench_die("too many repetitions");
    s->value[s->count] = value;
    s->limit[s->count++] = limit;
}

void bench_print(const char *name, const struct bench_series *s,
                 const char *unit, enum bench_better better, double bar)
{
    double value;
    double limit;
    double low = 0;
    double high = 0;
    double ratio;

    if (!bench_wants(name))
        return;
    value = bench_median(s->value, s->count);
    limit = bench_median(s->limit, s->count);
    ratio = value / limit;
    for (size_t i = 0; i < s->count; i++) {
        double r = s->value[i] / s->limit[i];
        low = i && low < r ? low : r;
        high = i && high > r ? high : r;
        if (getenv("BENCH_VERBOSE"))
            fprintf(stderr, "  %s %.1f limit %.1f ratio %.3f\n", name,
                    s->value[i], s->limit[i], r);
    }
    printf("bench %s value %.*f %s%s limit %.*f ratio %.3f range %.3f %.3f",
           name, value < 1000, value, unit,
           better == BENCH_LESS ? "(less)" : "", limit < 1000, limit, ratio,
           low, high);
    if (bar > 0)
        printf(" bar %.2f %s", bar,
               (better == BENCH_LESS ? ratio <= bar : ratio >= bar) ? "met"
                                                                    : "missed");
    printf("\n");
}

void bench_path(char out[BENCH_PATH], const char *name)
{
    if (snprintf(out, BENCH_PATH, "%s/%s", bench_folder(), name) >= BENCH_PATH)
        bench_die("path too long: %s", bench_folder());
}

/* Twice: the blocks of files deleted are given back to the disk behind the
 * first. */
void bench_settle(void)
{
    int fd = open(bench_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) || syncfs(fd))
        bench_die("%s: %m", bench_folder());
    close(fd);
}
