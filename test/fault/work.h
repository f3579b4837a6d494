/*
 * Work for a store under fault: scenarios drive a store and note in the model
 * what they have asked for. Whatever hits the store meanwhile, the model says
 * what it may be afterwards.
 */
#ifndef TEST_WORK_H
#define TEST_WORK_H

#include "base/rng.h"
#include "sweep_model.h"

struct work;

struct work_scenario
{
    const char *name;
    void (*prepare)(struct work *w); /* before any fault; may be NULL */
    void (*run)(struct work *w);
    int is_format;       /* the first opening is part of it */
    int joins;           /* a cluster that it has to find */
    uint64_t seed;       /* of what it does */
    int64_t flush_bytes; /* of interval logs */
    int64_t retention_bytes;
    uint32_t file_max; /* 0 = as the fixture has it */
};

extern const struct work_scenario work_scenarios[];
extern const int work_scenario_count;
void work_append_some(struct work *w);
void work_cut_all(struct work *w);
void work_lap(struct work *w);
void work_format(struct work *w);
void work_retention(struct work *w);
void work_roll(struct work *w);

struct work
{
    const struct work_scenario *scenario;
    struct store_fixture f;
    struct model model;
    struct kl_base_rng rng; /* of what is done */
    uint64_t tags;
    const char *where; /* for messages; NULL = the scenario's name */
    /* Calls may be refused and the store may fail: what was refused is not
     * noted, and without a store nothing is done. */
    int is_faulty;
    int is_missing;  /* files may not be found */
    int may_be_full; /* the disk */
    /* After each turn and each opening; may be NULL. */
    void (*after)(struct work *w, const char *what);
    void (*opened)(struct work *w);
};

/* A fixture and a model without logs; the store is not open. */
void work_init(struct work *w, const struct work_scenario *scenario);
/* 1 for 0; fails the test for what a store may not answer. */
int work_accepts(const struct work *w, int code, const char *what);

void work_open(struct work *w);
void work_crash(struct work *w);
void work_stop(struct work *w);
void work_turn(struct work *w, int count);
/* Until all that was asked for is durable, or will never be. */
void work_settle(struct work *w);
void work_create(struct work *w, int log, enum kl_store_flush flush,
                 uint64_t segment_bytes);
/* 0 where the store has too much to do. */
int work_append(struct work *w, int log, int count, uint32_t value_size);
/* Cuts off that many frames, or what there is. */
void work_truncate(struct work *w, int log, int frames);
void work_epoch(struct work *w, int log);
/* Moves the start up by so many offsets, or as far as it may. */
void work_start(struct work *w, int log, int64_t by);
void work_delete(struct work *w, int log);
/* So far from its start: before it, in the log, or beyond its end. */
void work_reset(struct work *w, int log, int64_t by);
/* The cluster that it joins is found. */
void work_adopt(struct work *w);
/* A checkpoint as soon as possible. */
void work_checkpoint(struct work *w);
/* All frames from a place in the log on, and look-ups on the way. */
void work_read(struct work *w, int log, int64_t from);
uint64_t work_random(struct work *w, uint64_t below);

#endif
