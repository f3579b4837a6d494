/*
 * Opening and checking what a crash has left.
 */
#include "sweep.h"

#include "need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_ALL = 64, IMAGE_DEPTH = 4 };

struct image
{
    struct sweep *sweep;
    const struct model *claims;
    struct sim_disk *disk;
    struct sim_fate_choice choice;
    int was_killed; /* and nothing else ever happened to it */
    int depth;
    const char *origin;
    /* A crash while it is being opened. */
    uint64_t cut_in; /* 0 = none */
    struct sim_disk *cut;
    struct sim_fate_choice cut_choice;
    char why[512];
};

/* A disk that only lost power has no damage, and nothing had to be rebuilt. */
static int image_is_damaged(struct image *im, struct store_fixture *f)
{
    const struct kl_store_stats *stats = kl_store_stats(f->store);
    int is_damaged = kl_store_verdict(f->store) == KL_STORE_VERDICT_DAMAGED;
    uint64_t rebuilt = kl_base_stat_get(&stats->rebuilds);

    snprintf(im->why, sizeof im->why, "damaged: %d, manifests rebuilt: %llu",
             is_damaged, (unsigned long long)rebuilt);
    return is_damaged || rebuilt > 0;
}

static void image_run(struct image *im);

static void image_failed(struct image *im, const char *what)
{
    struct sweep *s = im->sweep;
    char text[1024];

    snprintf(text, sizeof text,
             "%s, point %d (%s %s), %s: fate %s %llu, depth %d: %s: %s",
             s->scenario->work.name, s->points, sim_disk_call_name(s->call),
             s->path, im->origin, sim_fate_name(im->choice.fate),
             (unsigned long long)im->choice.number, im->depth, what, im->why);
    if (s->failures++ == 0)
        memcpy(s->first, text, sizeof text);
    if (getenv("KL_SWEEP_VERBOSE"))
        fprintf(stderr, "%s\n", text);
}

static struct sim_fate_choice image_random_choice(struct sweep *s)
{
    struct sim_fate_choice c;

    c.fate = SIM_FATE_LOST + (enum sim_fate)kl_base_rng_below(
                                 &s->rng, SIM_FATES - SIM_FATE_LOST);
    c.number = kl_base_rng_next(&s->rng);
    return c;
}

static void image_hook(void *user, enum sim_disk_call call, const char *path)
{
    struct image *im = user;

    (void)call;
    (void)path;
    if (im->cut_in == 0 || --im->cut_in > 0)
        return;
    im->cut = sim_disk_crash(im->disk, im->cut_choice);
}

/* The same disk, to be checked by itself. */
static void image_again(struct image *im, struct sim_disk *disk,
                        struct sim_fate_choice choice,
                        const struct model *claims, const char *origin)
{
    int was_killed = claims != im->claims || im->was_killed;

    struct image again = {.sweep = im->sweep,
                          .claims = claims,
                          .disk = disk,
                          .choice = choice,
                          .was_killed =
                              was_killed && choice.fate == SIM_FATE_KEPT,
                          .depth = im->depth + 1,
                          .origin = origin};

    im->sweep->deep++;
    image_run(&again);
}

static void image_append(struct image *im, struct store_fixture *f,
                         struct model *m)
{
    struct sweep *s = im->sweep;

    for (int i = 0; i < MODEL_LOGS; i++) {
        struct model_log *log = &m->logs[i];
        struct model_change *c;
        uint64_t tag = ++s->w.tags + (1ull << 40);
        int32_t epoch;

        if (!log->handle)
            continue;
        epoch = kl_batch_epochs_last(&log->handle->epochs);
        epoch = epoch < 0 ? 0 : epoch;
        if (store_fixture_append(f, log->handle, 1, 300, tag, epoch,
                                 f->wall_ms))
            continue;
        c = model_add(m, log, MODEL_APPEND, log->handle->leo);
        c->epoch = epoch;
        c->hash = model_hash(tag, 1, 300);
    }
    for (int i = (int)kl_base_rng_below(&s->rng, 12); i > 0; i--)
        store_fixture_turn(f);
    model_note(m);
}

/* What an opening has shown may not vanish, and what is appended behind it
 * lasts (F03). */
static void image_go_on(struct image *im, struct store_fixture *f,
                        struct model *seen)
{
    struct sim_fate_choice choice = {SIM_FATE_LOST, 0};

    model_settle(seen);
    image_again(im, sim_disk_crash(im->disk, choice), choice, seen,
                "right after opening");
    image_append(im, f, seen);
    choice = image_random_choice(im->sweep);
    image_again(im, sim_disk_crash(im->disk, choice), choice, seen,
                "appends after opening");
}

static int image_open(struct image *im, struct store_fixture *f)
{
    int rc;

    f->config.seed = kl_base_rng_next(&im->sweep->rng);
    rc = kl_store_new(&f->store, &f->alloc.alloc, &f->trace.base, f->lanes,
                      &f->config);
    need_ok(rc);
    rc = kl_store_open(f->store,
                       im->claims->is_formatted ? 0 : KL_STORE_OPEN_CREATE,
                       f->now_ns, f->wall_ms, &f->error);
    im->disk->hook = NULL;
    if (rc)
        snprintf(im->why, sizeof im->why, "%s", f->error.text);
    return rc;
}

/* Consumes the disk. */
static void image_run(struct image *im)
{
    struct sweep *s = im->sweep;
    struct model *seen = malloc(sizeof *seen);
    int is_deep = im->depth < IMAGE_DEPTH &&
                  kl_base_rng_below(&s->rng, im->depth ? 4 : 8) == 0;
    struct store_fixture f;

    need(seen != NULL);
    *seen = *im->claims;
    store_fixture_init(&f);
    f.memory->ops->free(f.memory);
    f.memory = f.trace.inner = &im->disk->base;
    f.now_ns = s->w.f.now_ns + 1000000000;
    f.wall_ms = s->w.f.wall_ms + 1000;
    if (is_deep) {
        im->cut_in = 1 + kl_base_rng_below(&s->rng, 40);
        im->cut_choice = image_random_choice(s);
        im->disk->hook = image_hook;
        im->disk->hook_user = im;
    }
    s->images++;
    if (image_open(im, &f))
        image_failed(im, "open");
    else if (!model_check(seen, &f, im->was_killed, im->why, sizeof im->why))
        image_failed(im, "check");
    else if (image_is_damaged(im, &f))
        image_failed(im, "damage");
    else if (is_deep)
        image_go_on(im, &f, seen);
    store_fixture_deinit(&f);
    if (im->cut)
        image_again(im, im->cut, im->cut_choice, im->claims,
                    "crash while opening");
    free(seen);
}

void sweep_images(struct sweep *s)
{
    static const enum sim_fate fates[] = {
        SIM_FATE_LOST,   SIM_FATE_KEPT,        SIM_FATE_RANDOM,
        SIM_FATE_RANDOM, SIM_FATE_MOSTLY_LOST, SIM_FATE_MOSTLY_KEPT,
        SIM_FATE_STALE};
    uint64_t images = sim_disk_images(s->disk, IMAGES_ALL + 1);
    size_t count = images > IMAGES_ALL ? sizeof fates / sizeof *fates
                                       : (size_t)images + (images > 1);

    for (size_t i = 0; i < count; i++) {
        struct image im = {.sweep = s, .claims = &s->w.model, .origin = "cut"};

        if (images > IMAGES_ALL) {
            im.choice.fate = fates[i];
            im.choice.number = kl_base_rng_next(&s->rng);
        } else if (i == images || images == 1) {
            im.choice.fate = SIM_FATE_KEPT;
        } else {
            im.choice.number = i;
        }
        im.was_killed = im.choice.fate == SIM_FATE_KEPT;
        im.disk = sim_disk_crash(s->disk, im.choice);
        image_run(&im);
    }
}
