/*
 * What a crash leaves of a simulated disk.
 */
#include "sim_node.h"

#include "need.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static const char *const fate_names[SIM_FATES] = {
    "number", "lost", "kept", "random", "mostly lost", "mostly kept", "stale",
};

const char *sim_fate_name(enum sim_fate fate)
{
    return fate_names[fate];
}

struct crash
{
    struct sim_disk *to;
    struct sim_fate_choice choice;
    struct kl_base_rng rng;
};

/* One of count states, the last being the newest. */
static size_t crash_choose(struct crash *c, size_t count)
{
    size_t at;

    switch (c->choice.fate) {
    case SIM_FATE_NUMBER:
        at = (size_t)(c->choice.number % count);
        c->choice.number /= count;
        return at;
    case SIM_FATE_LOST:
        return 0;
    case SIM_FATE_KEPT:
        return count - 1;
    case SIM_FATE_MOSTLY_LOST:
        if (kl_base_rng_below(&c->rng, 8))
            return 0;
        break;
    case SIM_FATE_MOSTLY_KEPT:
        if (kl_base_rng_below(&c->rng, 8))
            return count - 1;
        break;
    case SIM_FATE_RANDOM:
    case SIM_FATE_STALE:
    case SIM_FATES:
        break;
    }
    return (size_t)kl_base_rng_below(&c->rng, count);
}

/* ---- what can be reached --------------------------------------------------
 */

static int crash_mark_node(struct sim_node *n)
{
    if (!n || n->is_marked)
        return 0;
    n->is_marked = 1;
    return 1;
}

/* Marks whatever has a name in some image. */
static void crash_mark(struct sim_disk *d)
{
    int again = 1;

    for (struct sim_node *n = d->nodes; n; n = n->next)
        n->is_marked = n == d->root;
    while (again) {
        again = 0;
        for (struct sim_node *n = d->nodes; n; n = n->next) {
            if (!n->is_marked)
                continue;
            for (size_t i = 0; i < n->name_count; i++) {
                again |= crash_mark_node(n->names[i].durable);
                for (size_t k = 0; k < n->names[i].count; k++)
                    again |= crash_mark_node(n->names[i].changes[k].node);
            }
        }
    }
}

/* The end of the writes of one sector that begin at index. */
static size_t crash_run(const struct sim_node *n, size_t at)
{
    uint64_t sector = n->writes[at]->sector;

    while (at < n->write_count && n->writes[at]->sector == sector)
        at++;
    return at;
}

uint64_t sim_disk_images(struct sim_disk *d, uint64_t limit)
{
    uint64_t images = 1;

    crash_mark(d);
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        if (!n->is_marked)
            continue;
        images *= n->size_count + 1;
        for (size_t i = 0, end; i < n->write_count && images < limit; i = end) {
            end = crash_run(n, i);
            images *= end - i + 1;
        }
        for (size_t i = 0; i < n->name_count && images < limit; i++)
            images *= n->names[i].count + 1;
        if (images >= limit)
            return limit;
    }
    return images;
}

/* ---- files ---------------------------------------------------------------
 */

static void crash_stale(struct crash *c, struct sim_node *to, uint64_t sector)
{
    uint64_t bytes[SIM_SECTOR / 8];

    for (size_t i = 0; i < SIM_SECTOR / 8; i++)
        bytes[i] = kl_base_rng_next(&c->rng);
    sim_image_write(&to->durable, sector, (const uint8_t *)bytes);
}

/* What lies behind the size reads as zeros when the file grows again. */
static void crash_clear_tail(struct sim_node *to)
{
    static const uint8_t zeros[SIM_SECTOR];
    uint64_t sector = to->durable_size / SIM_SECTOR;
    size_t in = (size_t)(to->durable_size % SIM_SECTOR);
    uint64_t end = to->durable.count * (SIM_PAGE / SIM_SECTOR);
    uint8_t bytes[SIM_SECTOR];

    if (in) {
        sim_image_read(&to->durable, sector, bytes);
        memset(bytes + in, 0, SIM_SECTOR - in);
        sim_image_write(&to->durable, sector++, bytes);
    }
    for (; sector < end; sector++)
        sim_image_write(&to->durable, sector, zeros);
}

static void crash_file(struct crash *c, const struct sim_node *from,
                       struct sim_node *to)
{
    size_t kept, end;

    sim_image_copy(&to->durable, &from->durable);
    kept = crash_choose(c, from->size_count + 1);
    to->durable_size = kept ? from->sizes[kept - 1] : from->durable_size;
    for (size_t i = 0; i < from->write_count; i = end) {
        uint64_t sector = from->writes[i]->sector;

        end = crash_run(from, i);
        kept = crash_choose(c, end - i + 1);
        if (kept)
            sim_image_write(&to->durable, sector,
                            from->writes[i + kept - 1]->data);
        else if (c->choice.fate == SIM_FATE_STALE &&
                 sector * SIM_SECTOR >= from->durable_size)
            crash_stale(c, to, sector);
    }
    if (from->size_count || from->write_count)
        crash_clear_tail(to);
    sim_image_copy(&to->cached, &to->durable);
}

/* ---- names -------------------------------------------------------------- */

/* The name whose pending change is the other half of this one, and how many of
 * its changes keep it. */
static struct sim_name *crash_other_half(struct sim_disk *d,
                                         const struct sim_name_change *half,
                                         size_t *kept_out)
{
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        for (size_t i = 0; i < n->name_count; i++) {
            for (size_t k = 0; k < n->names[i].count; k++) {
                if (n->names[i].changes[k].rename == half->rename &&
                    &n->names[i].changes[k] != half) {
                    *kept_out = k + 1;
                    return &n->names[i];
                }
            }
        }
    }
    return NULL;
}

/* A name that a rename took away is gone only where the other one is there;
 * the other way round too, where renames are not split. */
static int crash_keep_rename(struct sim_disk *d, const struct sim_name *name)
{
    int changed = 0;

    for (size_t k = 0; k < name->chosen; k++) {
        const struct sim_name_change *half = &name->changes[k];
        struct sim_name *other;
        size_t kept;

        if (!half->rename || (half->node && d->has_split_renames))
            continue;
        other = crash_other_half(d, half, &kept);
        if (other && other->chosen < kept) {
            other->chosen = kept;
            changed = 1;
        }
    }
    return changed;
}

static void crash_choose_names(struct crash *c, struct sim_disk *d)
{
    int again = 1;

    for (struct sim_node *n = d->nodes; n; n = n->next)
        for (size_t i = 0; i < n->name_count; i++)
            n->names[i].chosen =
                n->is_marked ? crash_choose(c, n->names[i].count + 1) : 0;
    while (again) {
        again = 0;
        for (struct sim_node *n = d->nodes; n; n = n->next)
            for (size_t i = 0; i < n->name_count; i++)
                again |= crash_keep_rename(d, &n->names[i]);
    }
}

static void crash_names(const struct sim_node *from, struct sim_node *to)
{
    for (size_t i = 0; i < from->name_count; i++) {
        const struct sim_name *name = &from->names[i];
        const struct sim_node *node =
            name->chosen ? name->changes[name->chosen - 1].node : name->durable;

        if (node)
            sim_node_link(to, name->name, strlen(name->name), node->clone, 0);
    }
    sim_node_sync_names(to);
}

struct sim_disk *sim_disk_crash(struct sim_disk *d,
                                struct sim_fate_choice choice)
{
    struct crash c = {.choice = choice};
    struct sim_node *n;

    kl_base_rng_seed(&c.rng, choice.number);
    c.to = sim_disk_new(d->capacity);
    c.to->root->is_marked = 0;
    c.to->has_split_renames = d->has_split_renames;
    crash_mark(d);
    for (n = d->nodes; n; n = n->next) {
        if (!n->is_marked)
            continue;
        n->clone = n == d->root ? c.to->root : sim_node_new(c.to, n->is_folder);
        if (!n->is_folder)
            crash_file(&c, n, n->clone);
    }
    crash_choose_names(&c, d);
    for (n = d->nodes; n; n = n->next)
        if (n->is_marked)
            crash_names(n, n->clone);
    return c.to;
}
