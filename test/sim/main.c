/*
 * klsim: runs seeds and says what came of them.
 */
#include "experiment.h"
#include "script.h"
#include "swarm.h"

#include "need.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the run under way, for those who fail outside the checkers. */
void need_failed(const char *file, int line, const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "klsim: seed %" PRIu64 ": %s:%d: ", world_seed(), file,
            line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

/* ---- what is wanted -------------------------------------------------------
 */

struct wanted
{
    struct swarm swarm;
    const char *shrink; /* file */
    const char *replay; /* file */
    int trace;
    int failover;
    int disks;
    uint64_t idle; /* hours */
};

static int usage(void)
{
    fprintf(stderr,
            "usage: klsim --seed N [--hosts N] [--trace [--trace]]\n"
            "       klsim --seed N --shrink FILE\n"
            "       klsim --replay FILE [--trace [--trace]]\n"
            "       klsim --seeds N [--first N] [--hosts N] [--jobs N]\n"
            "       klsim --failover [--seeds N] [--first N] [--hosts N]\n"
            "       klsim --disks [--seeds N] [--first N]\n"
            "       klsim --idle HOURS [--first N]\n"
            "       klsim --script [--seed N] [--trace [--trace]] FILE...\n"
            "       klsim --rewrite FILE...\n");
    return 2;
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (!*text || *end) {
        fprintf(stderr, "klsim: not a number: %s\n", text);
        exit(2);
    }
    return value;
}

/* 0 where the option is one of ours. */
static int take(struct wanted *w, const char *name, const char *value)
{
    if (strcmp(name, "--seed") == 0) {
        w->swarm.first = number(value);
        w->swarm.count = 1;
    } else if (strcmp(name, "--seeds") == 0) {
        w->swarm.count = number(value);
    } else if (strcmp(name, "--first") == 0) {
        w->swarm.first = number(value);
    } else if (strcmp(name, "--jobs") == 0) {
        w->swarm.jobs = (int)number(value);
    } else if (strcmp(name, "--hosts") == 0) {
        w->swarm.hosts = (int)number(value);
    } else if (strcmp(name, "--idle") == 0) {
        w->idle = number(value);
    } else if (strcmp(name, "--shrink") == 0) {
        w->shrink = value;
    } else if (strcmp(name, "--replay") == 0) {
        w->replay = value;
    } else {
        return -1;
    }
    return 0;
}

/* ---- ways to run ----------------------------------------------------------
 */

static int tell_one(const struct result *r)
{
    if (r->state == RESULT_BAD)
        printf("klsim: seed %" PRIu64 " FAILED %s: %s\n", r->seed, r->checker,
               r->text);
    else
        printf("klsim: seed %" PRIu64 " passes: hosts %d, events %" PRIu64
               ", hash %016" PRIx64 "\n",
               r->seed, r->hosts, r->tally.events, r->hash);
    return r->state != RESULT_GOOD;
}

static int run_one(const struct wanted *w)
{
    struct result r;

    swarm_seed(&r, w->swarm.first, w->swarm.hosts, w->trace);
    return tell_one(&r);
}

static int run_replay(const struct wanted *w)
{
    struct result r;
    struct choice c;
    uint64_t *items;
    size_t count;

    if (choice_load(w->replay, &items, &count)) {
        perror(w->replay);
        return 2;
    }
    choice_replay(&c, items, count);
    swarm_choices(&r, &c, 0, w->swarm.hosts, w->trace);
    free(items);
    return tell_one(&r);
}

int main(int argc, char **argv)
{
    struct wanted w = {.swarm = {.first = 1, .jobs = 1}};
    int bad;

    if (argc > 2 && strcmp(argv[1], "--script") == 0)
        return script_main(argc - 2, argv + 2, 0);
    if (argc > 2 && strcmp(argv[1], "--rewrite") == 0)
        return script_main(argc - 2, argv + 2, 1);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            w.trace++;
        else if (strcmp(argv[i], "--failover") == 0)
            w.failover = 1;
        else if (strcmp(argv[i], "--disks") == 0)
            w.disks = 1;
        else if (i + 1 == argc || take(&w, argv[i], argv[i + 1]))
            return usage();
        else
            i++;
    }
    if (w.replay)
        return run_replay(&w);
    if (w.idle)
        return experiment_idle(w.swarm.first, w.idle, w.trace);
    if (w.disks)
        return experiment_disks(w.swarm.first,
                                w.swarm.count ? w.swarm.count : 20, w.trace);
    if (w.failover)
        return experiment_failover(w.swarm.first,
                                   w.swarm.count ? w.swarm.count : 100,
                                   w.swarm.hosts ? w.swarm.hosts : 3, w.trace);
    if (!w.swarm.count || w.swarm.jobs < 1 || w.swarm.hosts > WORLD_HOSTS)
        return usage();
    if (w.shrink)
        return shrink_seed(w.swarm.first, w.swarm.hosts, w.shrink);
    if (w.swarm.count == 1)
        return run_one(&w);
    swarm_run(&w.swarm);
    bad = swarm_show(&w.swarm);
    swarm_free(&w.swarm);
    return bad;
}
