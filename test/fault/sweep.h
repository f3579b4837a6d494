/*
 * The crash sweep: a scenario runs once on a simulated disk; before, inside and
 * after every port call that changes anything the process is killed and the
 * power is cut on copies, the images that this may leave are opened and checked
 * against the model, and so is what a crash during that opening, right after
 * it, and some appends later leaves.
 */
#ifndef TEST_SWEEP_H
#define TEST_SWEEP_H

#include "pool.h"
#include "sim_disk.h"
#include "work.h"

struct sweep;

extern const struct work_scenario sweep_scenarios[];
extern const int sweep_scenario_count;

struct sweep_scenario
{
    struct work_scenario work;
    uint64_t seed;       /* of the images and of the order in the lanes */
    uint64_t images_max; /* about so many, at every k-th call; 0 = all */
    /* A planted bug, see sim_disk.h. */
    enum sim_call lie_call;
    const char *lie_part;
    const char *lie_until;
    int lie_in_opening;            /* of images, and only there */
    void (*spoil)(struct work *w); /* or one of the store's: after each turn */
};

struct sweep
{
    struct work w; /* first: its hook finds the sweep */
    const struct sweep_scenario *scenario;
    struct sim_disk *disk;
    struct kl_base_rng rng; /* of the images */
    int is_counting;
    uint32_t *costs; /* images of each point */
    size_t cost_capacity;
    size_t stride;
    size_t kill_stride; /* 1, but where there is time for little */
    size_t points;
    size_t points_all;     /* that will be */
    uint64_t twice_images; /* of kills and all cuts in the recovery after */
    uint64_t seen_version;
    uint64_t seen_durable;
    enum model_cluster seen_cluster;
    enum sim_call call; /* at the point */
    enum sim_when when;
    char path[256];
    uint64_t open_calls; /* that the last opening made, about */
    uint64_t images;
    uint64_t deep; /* images of a crash in or after recovery */
    uint64_t failures;
    char first[1024]; /* failure */
};

/* Runs a scenario twice: counting, then cutting. Fails nothing. */
void sweep_run(struct sweep *s, const struct sweep_scenario *scenario);
/* A line about it. */
void sweep_print(const struct sweep *s);

/* The planted bug; what is there of it while an image is opened. */
void sweep_lie(const struct sweep *s, struct sim_disk *disk, int is_opening);

/* ---- images -------------------------------------------------------------- */

/* How many images sweep_images would check now, not counting what comes after
 * them. */
uint32_t sweep_images_count(struct sweep *s);
/* Checks all images that a crash now may leave, or, where these are too many,
 * some of them. */
void sweep_images(struct sweep *s);
/* Checks what a kill leaves. */
void sweep_killed(struct sweep *s);
/* The same, and cuts the power at every call of the opening after it. */
void sweep_killed_twice(struct sweep *s);

#endif
