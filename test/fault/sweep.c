/*
 * Running a scenario and noticing where the power may be cut.
 */
#include "sweep.h"

#include "need.h"

#include <stdio.h>
#include <string.h>

/* A place where a cut is different from the last one. */
static void sweep_point(struct sweep *s, enum sim_disk_call call,
                        const char *path)
{
    model_note(&s->w.model);
    if (s->disk->version == s->seen_version &&
        s->w.model.durable == s->seen_durable)
        return;
    s->seen_version = s->disk->version;
    s->seen_durable = s->w.model.durable;
    s->call = call;
    snprintf(s->path, sizeof s->path, "%s", path);
    if (s->points++ % s->stride == 0 && !s->is_counting)
        sweep_images(s);
}

static void sweep_hook(void *user, enum sim_disk_call call, const char *path)
{
    sweep_point(user, call, path);
}

static void sweep_watch(struct sweep *s)
{
    s->disk->hook = sweep_hook;
    s->disk->hook_user = s;
    s->disk->lie_call = s->scenario->lie_call;
    s->disk->lie_part = s->scenario->lie_part;
}

static void sweep_turned(struct work *w, const char *what)
{
    sweep_point((struct sweep *)w, SIM_CALLS, what);
}

static void sweep_once(struct sweep *s)
{
    struct store_fixture *f = &s->w.f;

    kl_base_rng_seed(&s->rng, 42);
    s->points = 0;
    work_init(&s->w, &s->scenario->work);
    s->w.after = sweep_turned;
    f->memory->ops->free(f->memory);
    s->disk = sim_disk_new(0);
    s->disk->has_split_renames = 1;
    f->memory = f->trace.inner = &s->disk->base;
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
    s->is_counting = 1;
    s->stride = 1;
    sweep_once(s);
    s->is_counting = 0;
    s->stride = (s->points + scenario->points_max - 1) / scenario->points_max;
    if (s->stride == 0)
        s->stride = 1;
    sweep_once(s);
}
