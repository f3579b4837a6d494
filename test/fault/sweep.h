/*
 * The crash sweep: a scenario runs once on a simulated disk; at every port call
 * that changes anything the power is cut on a copy, the images that this may
 * leave are opened and checked against the model, and so is what a crash during
 * that opening, right after it, and some appends later leaves.
 */
#ifndef TEST_SWEEP_H
#define TEST_SWEEP_H

#include "sim_disk.h"
#include "work.h"

struct sweep;

struct sweep_scenario
{
    struct work_scenario work;
    int points_max; /* more calls than this: every k-th */
    /* A planted bug, see sim_disk.h. */
    enum sim_disk_call lie_call;
    const char *lie_part;
};

struct sweep
{
    struct work w; /* first: its hook finds the sweep */
    const struct sweep_scenario *scenario;
    struct sim_disk *disk;
    struct kl_base_rng rng; /* of the images */
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

/* ---- images -------------------------------------------------------------- */

/* Checks all images that a crash now may leave, or some of them. */
void sweep_images(struct sweep *s);

#endif
