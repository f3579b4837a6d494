/*
 * Opening and checking what a crash has left.
 */
#include "sweep.h"

#include "need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGES_ALL = 4096,  /* so many are all checked, */
    IMAGES_SOME = 64,   /* of more of them these */
    IMAGES_PROFILES = 4 /* and besides all */
};
enum { IMAGE_DEPTH = 4 };

struct image
{
    struct sweep *sweep;
    const struct model *claims;
    struct sim_disk *disk;
    struct sim_choice choice;
    int was_killed; /* and nothing else ever happened to it */
    int depth;
    const char *origin;
    /* A crash while it is being opened. */
    uint64_t calls;
    uint64_t cut_at; /* 0 = none */
    struct sim_disk *cut;
    struct sim_choice cut_choice;
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
    static const char *const whens[] = {"before", "inside", "after"};
    struct sweep *s = im->sweep;
    char text[1024];

    snprintf(text, sizeof text,
             "%s, seed %llu, point %zu (%s %s %s), %s: %s, fate %s %llu%s, "
             "depth %d: %s: %s",
             s->scenario->work.name, (unsigned long long)s->scenario->seed,
             s->points, whens[s->when], sim_call_name(s->call), s->path,
             im->origin, sim_profile_name(im->choice.profile),
             sim_fate_name(im->choice.fate),
             (unsigned long long)im->choice.number,
             im->choice.has_garbage ? " with garbage" : "", im->depth, what,
             im->why);
    if (s->failures++ == 0)
        memcpy(s->first, text, sizeof text);
    if (getenv("KL_SWEEP_VERBOSE"))
        fprintf(stderr, "%s\n", text);
}

/* ---- which images ---------------------------------------------------------
 */

static enum sim_profile image_profile(struct sweep *s)
{
    if (kl_base_rng_below(&s->rng, 10) < 7)
        return SIM_ADVERSARY;
    return (enum sim_profile)(1 + kl_base_rng_below(&s->rng, SIM_PROFILES - 1));
}

static struct sim_choice image_choice(struct sweep *s, enum sim_profile profile)
{
    struct sim_choice c = {.profile = profile};

    c.fate = (enum sim_fate)(
        SIM_FATE_LOST + kl_base_rng_below(&s->rng, SIM_FATES - SIM_FATE_LOST));
    c.number = kl_base_rng_next(&s->rng);
    c.has_garbage = kl_base_rng_below(&s->rng, 4) == 0;
    return c;
}

static int image_is_killed(const struct sim_choice *c)
{
    return c->fate == SIM_FATE_KEPT;
}

/* ---- after an opening ------------------------------------------------------
 */

static void image_hook(void *user, enum sim_call call, enum sim_when when,
                       const char *path)
{
    struct image *im = user;

    (void)call;
    (void)path;
    /* Before a call all is as it was after the last one. */
    if (when != SIM_BEFORE && ++im->calls == im->cut_at)
        im->cut = sim_disk_crash(im->disk, im->cut_choice);
}

/* The same disk, to be checked by itself. */
static void image_again(struct image *im, struct sim_disk *disk,
                        struct sim_choice choice, const struct model *claims,
                        const char *origin)
{
    int was_killed = claims != im->claims || im->was_killed;

    struct image again = {.sweep = im->sweep,
                          .claims = claims,
                          .disk = disk,
                          .choice = choice,
                          .was_killed = was_killed && image_is_killed(&choice),
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
    model_note(m, f->store);
}

/* What an opening has shown may not vanish, and what is appended behind it
 * lasts (F03). */
static void image_go_on(struct image *im, struct store_fixture *f,
                        struct model *seen)
{
    struct sim_choice choice = {.fate = SIM_FATE_LOST};

    model_settle(seen);
    image_again(im, sim_disk_crash(im->disk, choice), choice, seen,
                "right after opening");
    image_append(im, f, seen);
    choice = image_choice(im->sweep, image_profile(im->sweep));
    image_again(im, sim_disk_crash(im->disk, choice), choice, seen,
                "appends after opening");
}

/* ---- one image -------------------------------------------------------------
 */

static int image_open(struct image *im, struct store_fixture *f)
{
    int rc;

    f->config.seed = kl_base_rng_next(&im->sweep->rng);
    sweep_lie(im->sweep, im->disk, 1);
    rc = kl_store_new(&f->store, &f->alloc.alloc, f->memory, f->lanes,
                      &f->config);
    need_ok(rc);
    rc = kl_store_open(f->store,
                       im->claims->is_formatted ? 0 : KL_STORE_OPEN_CREATE,
                       f->now_ns, f->wall_ms, &f->error);
    im->disk->hook = NULL;
    im->disk->lie_part = NULL;
    if (rc)
        snprintf(im->why, sizeof im->why, "%s", f->error.text);
    return rc;
}

/* A fixture as light as can be, with what the sweep's own is configured to. */
static void image_fixture(struct image *im, struct store_fixture *f,
                          struct pool_alloc *pool)
{
    const struct store_fixture *original = &im->sweep->w.f;

    memset(f, 0, sizeof *f);
    pool_alloc_init(pool);
    f->alloc.alloc = f->caller = pool->alloc;
    f->memory = &im->disk->base;
    need_ok(kl_os_lanes_inline_new(&f->lanes, &pool->alloc));
    f->config = original->config;
    f->now_ns = original->now_ns + 1000000000;
    f->wall_ms = original->wall_ms + 1000;
}

/* Somewhere in the opening, the longer ones too. */
static void image_plan_cut(struct image *im)
{
    struct sweep *s = im->sweep;

    im->disk->hook = image_hook;
    im->disk->hook_user = im;
    if (!im->cut_at)
        im->cut_at = 1 + kl_base_rng_below(&s->rng, s->open_calls + 10);
    im->cut_choice = image_choice(s, image_profile(s));
}

/* More often after a kill, for what it has left can still be lost. */
static int image_is_deep(struct image *im)
{
    uint64_t one_in = im->was_killed ? 2 : im->depth ? 4 : 8;

    return im->depth < IMAGE_DEPTH &&
           kl_base_rng_below(&im->sweep->rng, one_in) == 0;
}

/* Consumes the disk. */
static void image_run(struct image *im)
{
    static struct model seens[IMAGE_DEPTH + 1];
    static struct model_memory memories[IMAGE_DEPTH + 1];
    struct sweep *s = im->sweep;
    struct model *seen = &seens[im->depth];
    int is_deep = image_is_deep(im);
    struct store_fixture f;
    struct pool_alloc pool;

    model_copy(seen, &memories[im->depth], im->claims);
    image_fixture(im, &f, &pool);
    if (is_deep || im->cut_at)
        image_plan_cut(im);
    s->images++;
    if (image_open(im, &f))
        image_failed(im, "open");
    else if (!model_check(seen, &f, im->was_killed, im->why, sizeof im->why))
        image_failed(im, "check");
    else if (image_is_damaged(im, &f))
        image_failed(im, "damage");
    else if (is_deep)
        image_go_on(im, &f, seen);
    store_fixture_crash(&f);
    f.lanes->ops->free(f.lanes);
    f.memory->ops->free(f.memory);
    pool_alloc_deinit(&pool);
    if (is_deep)
        s->open_calls = im->calls;
    if (im->cut)
        image_again(im, im->cut, im->cut_choice, im->claims,
                    "crash while opening");
}

/* ---- all of them -----------------------------------------------------------
 */

static void image_of(struct sweep *s, struct sim_choice choice)
{
    struct image im = {.sweep = s,
                       .claims = &s->w.model,
                       .origin = "cut",
                       .choice = choice,
                       .was_killed = image_is_killed(&choice),
                       .disk = sim_disk_crash(s->disk, choice)};

    image_run(&im);
}

uint32_t sweep_images_count(struct sweep *s)
{
    uint64_t images = sim_disk_images(s->disk, IMAGES_ALL + 1);

    if (images > IMAGES_ALL)
        return IMAGES_SOME;
    return images == 1 ? 1 : (uint32_t)images + IMAGES_PROFILES;
}

void sweep_images(struct sweep *s)
{
    uint64_t images = sim_disk_images(s->disk, IMAGES_ALL + 1);
    struct sim_choice choice = {.fate = SIM_FATE_LOST};
    int some = images > IMAGES_ALL ? IMAGES_SOME - 1 : IMAGES_PROFILES;

    if (images > IMAGES_ALL || images == 1)
        image_of(s, choice);
    if (images == 1)
        return; /* all others are the same */
    choice.fate = SIM_FATE_NUMBER;
    for (uint64_t i = 0; images <= IMAGES_ALL && i < images; i++) {
        choice.number = i;
        image_of(s, choice);
    }
    for (int i = 0; i < some; i++)
        image_of(s, image_choice(s, image_profile(s)));
}

void sweep_killed(struct sweep *s)
{
    struct sim_choice choice = {.fate = SIM_FATE_KEPT};

    image_of(s, choice);
}

void sweep_killed_twice(struct sweep *s)
{
    struct sim_choice choice = {.fate = SIM_FATE_KEPT};
    uint64_t before = s->images, at = 0, calls;

    do {
        struct image im = {.sweep = s,
                           .claims = &s->w.model,
                           .origin = "kill",
                           .choice = choice,
                           .was_killed = 1,
                           .disk = sim_disk_crash(s->disk, choice),
                           .cut_at = ++at};

        image_run(&im);
        calls = im.calls;
    } while (calls >= at);
    s->twice_images += s->images - before;
}
