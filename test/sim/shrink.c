/*
 * A failing run made shorter: blocks of its choices are left out, then single
 * choices become 0, as long as the same checker refuses what is left. Each try
 * is a process of its own, since it may go wrong in other ways.
 */
#include "swarm.h"

#include "need.h"
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHRINK_TRIES = 3000, SHRINK_SECONDS = 20 };

struct shrink
{
    uint64_t seed;
    int hosts;
    char checker[32];
    uint64_t *items;
    size_t count;
    uint64_t *trial;
    struct result *result; /* shared */
    int tries;
};

/* 1 where so many choices of the trial fail in the same way. */
static int shrink_fails(struct shrink *s, size_t count)
{
    int status;
    pid_t pid;

    s->tries++;
    memset(s->result, 0, sizeof *s->result);
    pid = fork();
    need(pid >= 0);
    if (pid == 0) {
        struct choice c;

        alarm(SHRINK_SECONDS);
        choice_replay(&c, s->trial, count);
        swarm_choices(s->result, &c, s->seed, s->hosts, 0);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (s->result->state == RESULT_BEGUN)
        return strcmp(s->checker, "died") == 0;
    return s->result->state == RESULT_BAD &&
           strcmp(s->checker, s->result->checker) == 0;
}

static void shrink_keep(struct shrink *s, size_t count)
{
    memcpy(s->items, s->trial, count * sizeof *s->items);
    s->count = count;
}

/* Where block number `at` begins, counted from one behind the options. */
static size_t shrink_block(const struct shrink *s, size_t at)
{
    size_t i = 1;

    for (; i < s->count; i++)
        if ((s->items[i] & CHOICE_BLOCK) && at-- == 0)
            break;
    return i;
}

static size_t shrink_blocks(const struct shrink *s)
{
    size_t blocks = 0;

    for (size_t i = 1; i < s->count; i++)
        blocks += (s->items[i] & CHOICE_BLOCK) != 0;
    return blocks;
}

/* Leaves out so many blocks at a time; 1 where some could go. */
static int shrink_pass(struct shrink *s, size_t size)
{
    int moved = 0;

    for (size_t at = 0; at < shrink_blocks(s) && s->tries < SHRINK_TRIES;) {
        size_t from = shrink_block(s, at), to = shrink_block(s, at + size);
        size_t count = s->count - (to - from);

        memcpy(s->trial, s->items, from * sizeof *s->items);
        memcpy(s->trial + from, s->items + to,
               (s->count - to) * sizeof *s->items);
        if (shrink_fails(s, count)) {
            shrink_keep(s, count);
            moved = 1;
        } else {
            at += size;
        }
    }
    return moved;
}

static void shrink_zeros(struct shrink *s)
{
    for (size_t i = 0; i < s->count && s->tries < SHRINK_TRIES; i++) {
        if (!(s->items[i] & ~CHOICE_BLOCK))
            continue;
        memcpy(s->trial, s->items, s->count * sizeof *s->items);
        s->trial[i] &= CHOICE_BLOCK;
        if (shrink_fails(s, s->count))
            shrink_keep(s, s->count);
    }
}

/* The choices of the seed's run, as far as it came; NULL where it is good. */
static int shrink_record(struct shrink *s)
{
    struct choice c;
    struct result r;

    choice_init(&c, s->seed);
    c.is_recording = 1;
    swarm_choices(&r, &c, s->seed, s->hosts, 0);
    s->count = c.count;
    s->items = pool_take(c.count * sizeof *s->items);
    s->trial = pool_take(c.count * sizeof *s->trial);
    memcpy(s->items, c.items, c.count * sizeof *s->items);
    choice_deinit(&c);
    snprintf(s->checker, sizeof s->checker, "%s", r.checker);
    return r.state == RESULT_BAD;
}

int shrink_seed(uint64_t seed, int hosts, const char *path)
{
    struct shrink s = {.seed = seed, .hosts = hosts};
    struct choice c;
    size_t size;

    if (!shrink_record(&s)) {
        printf("klsim: seed %llu does not fail\n", (unsigned long long)seed);
        return 1;
    }
    s.result = mmap(NULL, sizeof *s.result, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(s.result != MAP_FAILED);
    printf("klsim: %s: %zu choices, %zu blocks\n", s.checker, s.count,
           shrink_blocks(&s));
    for (size = shrink_blocks(&s) / 2; size > 0; size /= 2)
        shrink_pass(&s, size);
    while (shrink_pass(&s, 1) && s.tries < SHRINK_TRIES)
        ;
    shrink_zeros(&s);
    printf("klsim: after %d tries: %zu choices, %zu blocks\n", s.tries, s.count,
           shrink_blocks(&s));
    choice_replay(&c, NULL, 0);
    c.items = s.items;
    c.count = s.count;
    need(choice_save(&c, path) == 0);
    munmap(s.result, sizeof *s.result);
    return 0;
}
