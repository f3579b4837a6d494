/*
 * Running a scenario and noticing where the power may be cut.
 */
#include "sweep.h"

#include "need.h"

#include <stdio.h>
#include <string.h>

/* ---- which points ---------------------------------------------------------
 */

static void sweep_count(struct sweep *s)
{
    pool_reserve((void **)&s->costs, &s->cost_capacity, s->points + 1,
                 sizeof *s->costs);
    s->costs[s->points] = s->when == SIM_INSIDE ? 0 : sweep_images_count(s);
}

/* The smallest stride that stays below the limit. What comes after an image,
 * images too, is about as much again. */
static size_t sweep_stride(const struct sweep *s)
{
    uint64_t limit = s->scenario->images_max / 2, sum;
    size_t stride = 0;

    do {
        sum = 0;
        stride++;
        for (size_t i = 0; i < s->points; i += stride)
            sum += s->costs[i];
    } while (sum > limit && stride < s->points);
    return stride;
}

/* A quarter of the images is for cuts in recovery, all along the way. */
static int sweep_has_time(const struct sweep *s)
{
    uint64_t limit = s->scenario->images_max / 4;

    return !limit || s->twice_images * s->points_all <= limit * s->points;
}

/* A place where a cut is different from the last one. A kill is, everywhere. */
static void sweep_point(struct sweep *s, enum sim_call call, enum sim_when when,
                        const char *path)
{
    model_note(&s->w.model, s->w.f.store);
    if (s->disk->version == s->seen_version &&
        s->w.model.durable == s->seen_durable &&
        s->w.model.cluster == s->seen_cluster)
        return;
    s->seen_version = s->disk->version;
    s->seen_durable = s->w.model.durable;
    s->seen_cluster = s->w.model.cluster;
    s->call = call;
    s->when = when;
    snprintf(s->path, sizeof s->path, "%s", path);
    if (s->is_counting) {
        sweep_count(s);
    } else {
        if (sweep_has_time(s))
            sweep_killed_twice(s);
        else if (s->points % s->kill_stride == 0)
            sweep_killed(s);
        if (when != SIM_INSIDE && s->points % s->stride == 0)
            sweep_images(s);
    }
    s->points++;
}

/* ---- a run ----------------------------------------------------------------
 */

static void sweep_hook(void *user, enum sim_call call, enum sim_when when,
                       const char *path)
{
    sweep_point(user, call, when, path);
}

static void sweep_watch(struct sweep *s)
{
    s->disk->hook = sweep_hook;
    s->disk->hook_user = s;
    sweep_lie(s, s->disk, 0);
}

void sweep_lie(const struct sweep *s, struct sim_disk *disk, int is_opening)
{
    const struct sweep_scenario *scenario = s->scenario;

    if (scenario->lie_in_opening != is_opening)
        return;
    disk->lie_call = scenario->lie_call;
    disk->lie_part = scenario->lie_part;
    disk->lie_until = scenario->lie_until;
}

static void sweep_turned(struct work *w, const char *what)
{
    struct sweep *s = (struct sweep *)w;

    if (s->scenario->spoil && w->f.store)
        s->scenario->spoil(w);
    sweep_point(s, SIM_CALLS, SIM_AFTER, what);
}

static void sweep_once(struct sweep *s)
{
    struct store_fixture *f = &s->w.f;

    kl_base_rng_seed(&s->rng, s->scenario->seed);
    s->points = 0;
    s->seen_version = s->seen_durable = 0;
    work_init(&s->w, &s->scenario->work);
    s->w.after = sweep_turned;
    store_fixture_simulate(f, s->scenario->seed);
    f->sim.stall_chance = 300;
    s->disk = f->disk;
    if (s->scenario->work.is_format) {
        /* The folder is the host's; what is in it is ours. */
        need_ok(s->disk->base.ops->mkdir(&s->disk->base, "data"));
        sim_disk_settle(s->disk);
        sweep_watch(s);
    }
    work_open(&s->w);
    sim_disk_settle(s->disk);
    sweep_watch(s);
    s->scenario->work.run(&s->w);
    model_forget_handles(&s->w.model);
    s->disk->hook = NULL;
    store_fixture_deinit(f);
}

void sweep_run(struct sweep *s, const struct sweep_scenario *scenario)
{
    memset(s, 0, sizeof *s);
    s->scenario = scenario;
    s->stride = s->kill_stride = 1;
    if (scenario->images_max) {
        s->is_counting = 1;
        sweep_once(s);
        s->is_counting = 0;
        s->stride = sweep_stride(s);
        s->points_all = s->points;
        s->kill_stride += s->points * 8 / scenario->images_max;
    }
    sweep_once(s);
    pool_give(s->costs, s->cost_capacity * sizeof *s->costs);
    s->costs = NULL;
}

void sweep_print(const struct sweep *s)
{
    printf("sweep: %-17s seed %llu, %4zu points, every %3zu: %6llu images, "
           "%llu of them after a second crash\n",
           s->scenario->work.name, (unsigned long long)s->scenario->seed,
           s->points, s->stride, (unsigned long long)s->images,
           (unsigned long long)s->deep);
    fflush(stdout);
}
