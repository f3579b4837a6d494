/*
 * Processes that share an array: each takes the next seed.
 */
#include "swarm.h"

#include "need.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SWARM_TWICE = 100, SWARM_JOBS = 64 };

/* In front of the results. */
struct shared
{
    atomic_uint_least64_t next;
    atomic_uint_least64_t marks[MARKS];
    struct result results[];
};

static struct shared *shared;
static struct world swarm_world;

void swarm_choices(struct result *out, struct choice *c, uint64_t seed,
                   int hosts, int trace)
{
    struct world *w = &swarm_world;
    struct options o;

    memset(out, 0, sizeof *out);
    out->seed = seed;
    out->state = RESULT_BEGUN;
    options_draw(&o, seed, hosts, c);
    world_run(w, &o, c, trace);
    out->hash = w->hash;
    out->hosts = o.hosts;
    out->kinds = options_fault_kinds(&o);
    out->tally = w->tally;
    if (w->failed) {
        snprintf(out->checker, sizeof out->checker, "%s", w->failed);
        snprintf(out->text, sizeof out->text, "%s", w->failure);
    }
    out->state = w->failed ? RESULT_BAD : RESULT_GOOD;
}

void swarm_seed(struct result *out, uint64_t seed, int hosts, int trace)
{
    struct choice c;

    choice_init(&c, seed);
    swarm_choices(out, &c, seed, hosts, trace);
    choice_deinit(&c);
}

static void swarm_once(const struct swarm *s, uint64_t at)
{
    struct result *r = &shared->results[at];
    struct result again;

    r->state = RESULT_BEGUN;
    r->seed = s->first + at;
    swarm_seed(r, r->seed, s->hosts, 0);
    if (r->state != RESULT_GOOD || r->seed % SWARM_TWICE)
        return;
    swarm_seed(&again, r->seed, s->hosts, 0);
    if (again.hash == r->hash)
        return;
    r->state = RESULT_BAD;
    snprintf(r->checker, sizeof r->checker, "determinism");
    snprintf(r->text, sizeof r->text, "the second run is another one");
}

static void swarm_child(const struct swarm *s)
{
    uint64_t at;

    while ((at = atomic_fetch_add(&shared->next, 1)) < s->count)
        swarm_once(s, at);
    for (int i = 0; i < MARKS; i++)
        atomic_fetch_add(&shared->marks[i], marks[i]);
    fflush(stdout);
    _exit(0);
}

static pid_t swarm_fork(const struct swarm *s)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    need(pid >= 0);
    if (pid == 0)
        swarm_child(s);
    return pid;
}

/* A process that has died of its seed has another one in its place. */
static void swarm_wait(const struct swarm *s)
{
    int running = s->jobs;
    int status;

    while (running > 0 && wait(&status) > 0) {
        running--;
        if ((!WIFEXITED(status) || WEXITSTATUS(status)) &&
            atomic_load(&shared->next) < s->count && swarm_fork(s))
            running++;
    }
}

void swarm_run(struct swarm *s)
{
    struct timespec from, to;

    s->size = sizeof *shared + s->count * sizeof *shared->results;
    shared = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(shared != MAP_FAILED);
    s->results = shared->results;
    if (s->jobs > SWARM_JOBS)
        s->jobs = SWARM_JOBS;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < s->jobs; i++)
        swarm_fork(s);
    swarm_wait(s);
    clock_gettime(CLOCK_MONOTONIC, &to);
    s->seconds = (double)(to.tv_sec - from.tv_sec) +
                 (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    for (int i = 0; i < MARKS; i++)
        s->marks[i] = atomic_load(&shared->marks[i]);
}

void swarm_free(struct swarm *s)
{
    munmap(shared, s->size);
    shared = NULL;
    s->results = NULL;
}
