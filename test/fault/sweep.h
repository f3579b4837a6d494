/*
 * The crash sweep: a scenario runs once on a simulated disk; at every port call
 * that changes anything the power is cut on a copy, the images that this may
 * leave are opened and checked against the model, and so is what a crash during
 * that opening, right after it, and some appends later leaves.
 */
#ifndef TEST_SWEEP_H
#define TEST_SWEEP_H

#include "base/rng.h"
#include "sim_disk.h"
#include "sweep_model.h"

struct sweep;

struct sweep_scenario
{
    const char *name;
    void (*run)(struct sweep *s);
    int points_max;      /* more calls than this: every k-th */
    int is_format;       /* the first opening is swept as well */
    uint64_t seed;       /* of what it does */
    int64_t flush_bytes; /* of interval logs */
    int64_t retention_bytes;
    /* A planted bug, see sim_disk.h. */
    enum sim_disk_call lie_call;
    const char *lie_part;
};

struct sweep
{
    const struct sweep_scenario *scenario;
    struct store_fixture f;
    struct sim_disk *disk;
    struct model model;
    struct kl_base_rng rng;      /* of the images */
    struct kl_base_rng work_rng; /* of the scenario */
    uint64_t tags;
    int is_counting;
    int stride;
    int points;
    uint64_t seen_version;
    uint64_t seen_durable;
    enum sim_disk_call call; /* at the point */
    char path[256];
    uint64_t images;
    uint64_t deep; /* images of a crash in or after recovery */
    uint64_t failures;
    char first[1024]; /* failure */
};

/* Runs a scenario twice: counting, then cutting. Fails nothing. */
void sweep_run(struct sweep *s, const struct sweep_scenario *scenario);

/* ---- for scenarios ------------------------------------------------------- */

void sweep_open(struct sweep *s);
void sweep_stop(struct sweep *s);
void sweep_turn(struct sweep *s, int count);
void sweep_create(struct sweep *s, int log, enum kl_store_flush flush,
                  uint64_t segment_bytes);
/* 0 where the store has too much to do. */
int sweep_append(struct sweep *s, int log, int count, uint32_t value_size);
/* Cuts off that many frames, or what there is. */
void sweep_truncate(struct sweep *s, int log, int frames);
void sweep_epoch(struct sweep *s, int log);
void sweep_start(struct sweep *s, int log, int64_t start);
void sweep_delete(struct sweep *s, int log);
uint64_t sweep_random(struct sweep *s, uint64_t below);

/* ---- images -------------------------------------------------------------- */

/* Checks all images that a crash now may leave, or some of them. */
void sweep_images(struct sweep *s);

#endif
