#include "cut.h"

#include "need.h"
#include "pool.h"

#include <stdio.h>
#include <string.h>

enum { CUT_IMAGES = 300, CUT_SOME = 40, CUT_DEPTH = 3 };

struct cut_image
{
    struct cut *c;
    struct sim_disk *disk;
    struct sim_choice choice;
    int depth;
    /* A crash while it is being opened. */
    uint64_t calls;
    uint64_t cut_at;
    struct sim_disk *cut;
};

static struct sim_choice cut_choice(struct cut *c)
{
    struct sim_choice choice = {.profile = SIM_ADVERSARY};

    if (kl_base_rng_below(&c->rng, 3) == 0)
        choice.profile =
            (enum sim_profile)kl_base_rng_below(&c->rng, SIM_PROFILES);
    choice.fate = (enum sim_fate)(
        SIM_FATE_LOST + kl_base_rng_below(&c->rng, SIM_FATES - SIM_FATE_LOST));
    choice.number = kl_base_rng_next(&c->rng);
    choice.has_garbage = kl_base_rng_below(&c->rng, 4) == 0;
    return choice;
}

static void cut_failed(struct cut_image *im, const char *what, const char *why)
{
    struct cut *c = im->c;

    if (c->failures++ == 0)
        snprintf(c->first, sizeof c->first,
                 "point %llu, %s, fate %s %llu, depth %d: %s %s",
                 (unsigned long long)c->points,
                 sim_profile_name(im->choice.profile),
                 sim_fate_name(im->choice.fate),
                 (unsigned long long)im->choice.number, im->depth, what, why);
}

static void cut_open_hook(void *user, enum sim_call call, enum sim_when when,
                          const char *path)
{
    struct cut_image *im = user;

    (void)call;
    (void)when;
    if (strstr(path, im->c->part) && ++im->calls == im->cut_at)
        im->cut = sim_disk_crash(im->disk, cut_choice(im->c));
}

/* Opens, checks and frees the disk. seen is what must be there still. */
static void cut_run(struct cut_image *im, void *seen)
{
    struct store_fixture *of = im->c->f;
    struct cut_image again = *im, later = *im;
    char shown[CUT_SEEN];
    struct kl_os_lanes *lanes;
    struct kl_store *s = NULL;
    struct kl_base_error error = {0};
    struct pool_alloc pool;
    int is_deep = im->depth < CUT_DEPTH;

    im->c->images++;
    im->c->deep += im->depth > 0;
    pool_alloc_init(&pool);
    need_ok(kl_os_lanes_inline_new(&lanes, &pool.alloc));
    im->calls = 0;
    im->cut = NULL;
    im->cut_at = 1 + kl_base_rng_below(&im->c->rng, 24);
    if (is_deep) {
        im->disk->hook = cut_open_hook;
        im->disk->hook_user = im;
    }
    memcpy(shown, seen, im->c->seen_size); /* by earlier openings */
    need_ok(kl_store_new(&s, &pool.alloc, &im->disk->base, lanes, &of->config));
    if (kl_store_open(s, 0, of->now_ns, of->wall_ms, &error))
        cut_failed(im, "open", error.text);
    else if (!im->c->check(im->c, s, seen))
        cut_failed(im, "check", "");
    im->disk->hook = NULL;
    later.disk = NULL;
    if (is_deep && error.code == 0 && kl_base_rng_below(&im->c->rng, 4) == 0) {
        later.choice = (struct sim_choice){.fate = SIM_FATE_LOST};
        later.disk = sim_disk_crash(im->disk, later.choice);
    }
    kl_store_free(s);
    lanes->ops->free(lanes);
    sim_disk_free(im->disk);
    pool_alloc_deinit(&pool);
    if (im->cut) {
        again.disk = im->cut;
        again.depth++;
        cut_run(&again, shown);
    }
    if (later.disk) {
        later.depth++;
        cut_run(&later, seen);
    }
}

static void cut_image_of(struct cut *c, struct sim_choice choice)
{
    struct cut_image im = {
        .c = c, .choice = choice, .disk = sim_disk_crash(c->f->disk, choice)};
    char seen[CUT_SEEN] = {0};

    cut_run(&im, seen);
}

void cut_disk(struct cut *c, struct sim_disk *disk)
{
    struct cut_image im = {.c = c, .disk = disk};
    char seen[CUT_SEEN] = {0};

    cut_run(&im, seen);
}

static void cut_hook(void *user, enum sim_call call, enum sim_when when,
                     const char *path)
{
    struct cut *c = user;
    uint64_t images;

    (void)call;
    (void)when;
    if (!strstr(path, c->part) || c->f->disk->version == c->seen_version)
        return;
    c->seen_version = c->f->disk->version;
    c->points++;
    images = sim_disk_images(c->f->disk, CUT_IMAGES + 1);
    for (uint64_t i = 0; i < images && images <= CUT_IMAGES; i++)
        cut_image_of(c,
                     (struct sim_choice){.fate = SIM_FATE_NUMBER, .number = i});
    for (int i = 0; i < CUT_SOME; i++)
        cut_image_of(c, cut_choice(c));
}

void cut_begin(struct cut *c, uint64_t seed)
{
    need(c->seen_size <= CUT_SEEN);
    kl_base_rng_seed(&c->rng, seed);
    sim_disk_settle(c->f->disk);
    c->seen_version = c->f->disk->version;
    c->f->disk->hook = cut_hook;
    c->f->disk->hook_user = c;
}

void cut_end(struct cut *c)
{
    c->f->disk->hook = NULL;
}
