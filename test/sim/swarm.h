/*
 * Many seeds, in several processes: each is a run of its own, and what came of
 * it is in memory that all of them share.
 */
#ifndef SIM_SWARM_H
#define SIM_SWARM_H

#include "mark.h"
#include "world.h"

#include <stdint.h>

enum result_state {
    RESULT_NONE,  /* not begun */
    RESULT_BEGUN, /* and never ended: its process did */
    RESULT_GOOD,
    RESULT_BAD
};

struct result
{
    enum result_state state;
    uint64_t seed;
    uint64_t hash;
    int hosts;
    int kinds; /* of faults that its options allow */
    struct tally tally;
    char checker[32];
    char text[WORLD_TEXT];
};

struct swarm
{
    uint64_t first;
    uint64_t count;
    int jobs;
    int hosts; /* 0 = as each seed wants */
    double seconds;
    struct result *results;
    uint64_t marks[MARKS];
    size_t size;
};

/* Every hundredth seed runs twice, and must do the same. */
void swarm_run(struct swarm *s);
void swarm_free(struct swarm *s);
/* 0 where all is as it must be. */
int swarm_show(const struct swarm *s);

/* One run, from a seed or from choices. */
void swarm_seed(struct result *out, uint64_t seed, int hosts, int trace);
void swarm_choices(struct result *out, struct choice *c, uint64_t seed,
                   int hosts, int trace);

/* Looks for a shorter run that the same checker refuses, and writes its choices
 * to a file. */
int shrink_seed(uint64_t seed, int hosts, const char *path);

#endif
