/*
 * What a crash leaves of a simulated disk.
 */
#include "sim_node.h"

#include "need.h"

#include "base/rng.h"

#include <string.h>

static const char *const fate_names[SIM_FATES] = {
    "number", "lost", "kept", "random", "mostly lost", "mostly kept",
};

const char *sim_fate_name(enum sim_fate fate)
{
    return fate_names[fate];
}

enum crash_commit { COMMIT_NOTHING, COMMIT_ALL, COMMIT_OWN, COMMIT_CHECKPOINT };

/* How the profiles differ; see sim_disk.h. */
static const struct crash_rules
{
    const char *name;
    uint8_t block_sectors; /* that share their fate */
    uint8_t is_ordered;    /* names and reserved sizes, up to a moment */
    uint8_t commit;        /* before that moment: what syncs have committed */
    uint8_t with_bytes;    /* a written size only together with its bytes */
    uint8_t is_file_whole; /* a file up to a moment */
    uint8_t has_garbage;
} crash_rules[SIM_PROFILES] = {
    {"adversary", 1, 0, COMMIT_NOTHING, 0, 0, 0},
    {"ext4-ordered", 1, 1, COMMIT_ALL, 1, 0, 0},
    {"ext4-writeback", 1, 1, COMMIT_ALL, 0, 0, 1},
    {"xfs", 1, 1, COMMIT_OWN, 1, 0, 0},
    {"btrfs", SIM_BLOCK_SECTORS, 1, COMMIT_OWN, 1, 0, 0},
    {"f2fs", SIM_BLOCK_SECTORS, 1, COMMIT_CHECKPOINT, 0, 1, 0},
    {"raw-flash-4k", SIM_BLOCK_SECTORS, 0, COMMIT_NOTHING, 0, 0, 0},
};

const char *sim_profile_name(enum sim_profile profile)
{
    return crash_rules[profile].name;
}

struct crash
{
    struct sim_disk *from;
    struct sim_disk *to;
    struct sim_choice choice;
    const struct crash_rules *rules;
    struct kl_base_rng rng;
    uint64_t cut; /* the moment, as an operation */
};

/* A state in [low, high], low being the oldest. */
static uint64_t crash_choose(struct crash *c, uint64_t low, uint64_t high)
{
    uint64_t count = high - low + 1, at;

    switch (c->choice.fate) {
    case SIM_FATE_NUMBER:
        at = c->choice.number % count;
        c->choice.number /= count;
        return low + at;
    case SIM_FATE_LOST:
        return low;
    case SIM_FATE_MOSTLY_LOST:
        if (kl_base_rng_below(&c->rng, 8))
            return low;
        break;
    case SIM_FATE_MOSTLY_KEPT:
        if (kl_base_rng_below(&c->rng, 8))
            return high;
        break;
    case SIM_FATE_RANDOM:
    case SIM_FATE_KEPT:
    case SIM_FATES:
        break;
    }
    return low == high ? low : low + kl_base_rng_below(&c->rng, count);
}

static void crash_choose_cut(struct crash *c)
{
    const struct sim_disk *d = c->from;
    uint64_t committed = 0;

    switch ((enum crash_commit)c->rules->commit) {
    case COMMIT_NOTHING:
        break;
    case COMMIT_ALL:
        committed = d->journal;
        break;
    case COMMIT_OWN:
        committed = d->log;
        break;
    case COMMIT_CHECKPOINT:
        committed = d->checkpoint;
        break;
    }
    if (c->rules->is_ordered)
        c->cut = crash_choose(c, committed, d->op);
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
        images *= n->resize_count + 1;
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

/* What the crash has chosen of a file. */
struct crash_file
{
    const struct sim_node *from;
    struct sim_node *to;
    uint64_t moment; /* of a file that is whole */
    uint64_t grown;  /* its bytes up to this operation have to be there */
    struct sim_image garbage;
    uint64_t garbage_block;
};

static void crash_choose_size(struct crash *c, struct crash_file *f)
{
    const struct sim_node *n = f->from;
    size_t low = 0, high = n->resize_count, kept;

    for (size_t i = 0; i < n->resize_count; i++) {
        const struct sim_resize *r = &n->resizes[i];

        if (c->rules->is_file_whole) {
            if (r->op <= f->moment)
                low = i + 1;
            else if (high > i)
                high = i;
        } else if (c->rules->is_ordered && !r->is_write) {
            if (r->op <= c->cut)
                low = i + 1;
            else if (high > i)
                high = i;
        }
    }
    kept = (size_t)crash_choose(c, low, high);
    f->to->durable_size = kept ? n->resizes[kept - 1].size : n->durable_size;
    for (size_t i = 0; c->rules->with_bytes && i < kept; i++)
        if (n->resizes[i].is_write)
            f->grown = n->resizes[i].op;
}

/* A file that is or was there, whose blocks a file system may give away: not
 * one of a folder of another life of the same log, for what a log had before
 * can not be told from what it has. NULL where we have come to none. */
static const struct sim_node *crash_other_file(struct crash *c,
                                               const struct sim_node *from)
{
    const struct sim_node *n = c->from->nodes;

    for (uint64_t i = kl_base_rng_below(&c->rng, 32); i > 0; i--)
        n = n->next ? n->next : c->from->nodes;
    return n->durable.count && n->kin != from->kin ? n : NULL;
}

/* The bytes that a part has which was never written. */
static const uint8_t *crash_garbage(struct crash *c, struct crash_file *f,
                                    uint64_t sector)
{
    uint64_t block = sector / SIM_BLOCK_SECTORS + 1;
    const struct sim_node *n;
    uint64_t bytes[SIM_SECTOR / 8];
    uint64_t source = 0;

    if (f->garbage_block == block)
        return sim_image_sector(&f->garbage, sector % SIM_BLOCK_SECTORS);
    f->garbage_block = block;
    n = crash_other_file(c, f->from);
    if (n)
        source =
            kl_base_rng_below(&c->rng, n->durable.count) * SIM_BLOCK_SECTORS;
    for (uint64_t i = 0; i < SIM_BLOCK_SECTORS; i++) {
        for (size_t k = 0; k < SIM_SECTOR / 8; k++)
            bytes[k] = kl_base_rng_next(&c->rng);
        sim_image_write(&f->garbage, i,
                        n ? sim_image_sector(&n->durable, source + i)
                          : (const uint8_t *)bytes);
    }
    return sim_image_sector(&f->garbage, sector % SIM_BLOCK_SECTORS);
}

/* Of the writes of one sector in [at, end): the first count are there. */
static void crash_keep(struct crash *c, struct crash_file *f, size_t at,
                       size_t count)
{
    const struct sim_node *n = f->from;
    uint64_t sector = n->writes[at]->sector;
    int is_new = sector * SIM_SECTOR >= n->durable_size;

    if (count)
        sim_image_write(&f->to->durable, sector,
                        n->writes[at + count - 1]->data);
    else if (is_new && (c->choice.has_garbage || c->rules->has_garbage))
        sim_image_write(&f->to->durable, sector, crash_garbage(c, f, sector));
}

static size_t crash_count(const struct sim_node *n, size_t at, size_t end,
                          uint64_t op)
{
    size_t count = 0;

    while (at + count < end && n->writes[at + count]->op <= op)
        count++;
    return count;
}

/* A sector by itself. */
static void crash_sector(struct crash *c, struct crash_file *f, size_t at,
                         size_t end)
{
    const struct sim_node *n = f->from;
    int is_new = n->writes[at]->sector * SIM_SECTOR >= n->durable_size;
    size_t low = is_new ? crash_count(n, at, end, f->grown) : 0;

    crash_keep(c, f, at, (size_t)crash_choose(c, low, end - at));
}

/* All sectors of a block as they were at one moment. */
static void crash_block(struct crash *c, struct crash_file *f, size_t at,
                        size_t end)
{
    const struct sim_node *n = f->from;
    uint64_t sector = n->writes[at]->sector;
    int is_new = sector * SIM_SECTOR >= n->durable_size;
    uint64_t moment = f->moment;
    size_t sector_end;

    if (!is_new || !c->rules->is_file_whole) {
        /* Now, or before, or one of the moments at which it has changed. */
        size_t which = (size_t)crash_choose(c, 0, end - at + 1);

        moment = which > end - at ? UINT64_MAX
                 : which          ? n->writes[at + which - 1]->op
                                  : 0;
        if (is_new && moment < f->grown)
            moment = f->grown;
    }
    for (; at < end; at = sector_end) {
        sector_end = crash_run(n, at);
        crash_keep(c, f, at, crash_count(n, at, sector_end, moment));
    }
}

static void crash_writes(struct crash *c, struct crash_file *f)
{
    const struct sim_node *n = f->from;
    uint64_t block_sectors = c->rules->block_sectors;
    size_t end;

    for (size_t i = 0; i < n->write_count; i = end) {
        uint64_t block = n->writes[i]->sector / block_sectors;

        end = crash_run(n, i);
        if (block_sectors == 1) {
            crash_sector(c, f, i, end);
            continue;
        }
        while (end < n->write_count &&
               n->writes[end]->sector / block_sectors == block)
            end++;
        crash_block(c, f, i, end);
    }
}

static void crash_file(struct crash *c, const struct sim_node *from,
                       struct sim_node *to)
{
    struct crash_file f = {.from = from, .to = to};

    sim_image_copy(&to->durable, &from->durable);
    to->durable_size = from->durable_size;
    if (from->resize_count || from->write_count) {
        if (c->rules->is_file_whole)
            f.moment = crash_choose(c, 0, c->from->op);
        crash_choose_size(c, &f);
        crash_writes(c, &f);
        /* What lies behind the size reads as zeros when it grows again. */
        sim_image_cut(&to->durable, to->durable_size);
        sim_image_free(&f.garbage);
    }
    to->size = to->durable_size;
    sim_image_copy(&to->cached, &to->durable);
}

/* ---- names -------------------------------------------------------------- */

/* The name whose pending change is the other half of this rename, and how many
 * of its changes keep it. */
static struct sim_name *crash_other_half(struct sim_disk *d,
                                         const struct sim_name_change *half,
                                         size_t *kept_out)
{
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        for (size_t i = 0; i < n->name_count; i++) {
            for (size_t k = 0; k < n->names[i].count; k++) {
                if (n->names[i].changes[k].op == half->op &&
                    &n->names[i].changes[k] != half) {
                    *kept_out = k + 1;
                    return &n->names[i];
                }
            }
        }
    }
    return NULL;
}

/* A name that a rename took away is gone only where the other one is there. */
static int crash_keep_rename(struct sim_disk *d, const struct sim_name *name)
{
    int changed = 0;

    for (size_t k = 0; k < name->chosen; k++) {
        const struct sim_name_change *half = &name->changes[k];
        struct sim_name *other;
        size_t kept;

        if (!half->is_rename || half->node)
            continue;
        other = crash_other_half(d, half, &kept);
        if (other && other->chosen < kept) {
            other->chosen = kept;
            changed = 1;
        }
    }
    return changed;
}

static void crash_choose_name(struct crash *c, struct sim_name *name)
{
    if (!c->rules->is_ordered) {
        name->chosen = (size_t)crash_choose(c, 0, name->count);
        return;
    }
    name->chosen = 0;
    while (name->chosen < name->count &&
           name->changes[name->chosen].op <= c->cut)
        name->chosen++;
}

static void crash_choose_names(struct crash *c)
{
    struct sim_disk *d = c->from;
    int again = 1;

    for (struct sim_node *n = d->nodes; n; n = n->next) {
        for (size_t i = 0; i < n->name_count; i++) {
            n->names[i].chosen = 0;
            if (n->is_marked)
                crash_choose_name(c, &n->names[i]);
        }
    }
    while (again) {
        again = 0;
        for (struct sim_node *n = d->nodes; n; n = n->next)
            for (size_t i = 0; i < n->name_count; i++)
                again |= crash_keep_rename(d, &n->names[i]);
    }
}

/* ---- a kill ---------------------------------------------------------------
 */

static struct sim_node *crash_clone(const struct sim_node *node)
{
    return node ? node->clone : NULL;
}

static void crash_fork_file(const struct sim_node *from, struct sim_node *to)
{
    sim_image_copy(&to->cached, &from->cached);
    sim_image_copy(&to->durable, &from->durable);
    to->size = from->size;
    to->durable_size = from->durable_size;
    to->named_op = from->named_op;
    pool_reserve((void **)&to->resizes, &to->resize_capacity,
                 from->resize_count, sizeof *to->resizes);
    for (; to->resize_count < from->resize_count; to->resize_count++)
        to->resizes[to->resize_count] = from->resizes[to->resize_count];
    pool_reserve((void **)&to->writes, &to->write_capacity, from->write_count,
                 sizeof *to->writes);
    for (; to->write_count < from->write_count; to->write_count++) {
        struct sim_write *w = pool_take(sizeof *w);

        *w = *from->writes[to->write_count];
        to->writes[to->write_count] = w;
    }
}

static void crash_fork_names(const struct sim_node *from, struct sim_node *to)
{
    for (size_t i = 0; i < from->name_count; i++) {
        const struct sim_name *name = &from->names[i];
        struct sim_name *copy = sim_node_add(to, name->name, name->length,
                                             crash_clone(name->durable));

        pool_reserve((void **)&copy->changes, &copy->capacity, name->count,
                     sizeof *copy->changes);
        for (; copy->count < name->count; copy->count++) {
            copy->changes[copy->count] = name->changes[copy->count];
            copy->changes[copy->count].node =
                crash_clone(name->changes[copy->count].node);
        }
    }
    to->named_op = from->named_op;
}

/* What is pending goes on being so: nothing is lost, nor is it durable. */
static void crash_fork(struct sim_disk *d, struct sim_disk *to)
{
    to->op = d->op;
    to->journal = d->journal;
    to->log = d->log;
    to->checkpoint = d->checkpoint;
    for (struct sim_node *n = d->nodes; n; n = n->next) {
        if (!n->is_marked)
            continue;
        n->clone->kin = n->kin;
        if (n->is_folder)
            crash_fork_names(n, n->clone);
        else
            crash_fork_file(n, n->clone);
    }
}

/* ---- a power cut ----------------------------------------------------------
 */

static void crash_names(const struct sim_node *from, struct sim_node *to)
{
    for (size_t i = 0; i < from->name_count; i++) {
        const struct sim_name *name = &from->names[i];
        const struct sim_node *node =
            name->chosen ? name->changes[name->chosen - 1].node : name->durable;

        if (node)
            sim_node_add(to, name->name, name->length, node->clone);
    }
}

struct sim_disk *sim_disk_crash(struct sim_disk *d, struct sim_choice choice)
{
    struct crash c = {
        .from = d, .choice = choice, .rules = &crash_rules[choice.profile]};
    struct sim_node *n;

    need(choice.fate != SIM_FATE_NUMBER || choice.profile == SIM_ADVERSARY);
    kl_base_rng_seed(&c.rng, choice.number);
    c.to = sim_disk_new(d->capacity);
    crash_mark(d);
    for (n = d->nodes; n; n = n->next)
        if (n->is_marked)
            n->clone =
                n == d->root ? c.to->root : sim_node_new(c.to, n->is_folder);
    if (choice.fate == SIM_FATE_KEPT) {
        crash_fork(d, c.to);
        return c.to;
    }
    crash_choose_cut(&c);
    for (n = d->nodes; n; n = n->next)
        if (n->is_marked && !n->is_folder)
            crash_file(&c, n, n->clone);
    crash_choose_names(&c);
    for (n = d->nodes; n; n = n->next)
        if (n->is_marked)
            crash_names(n, n->clone);
    return c.to;
}
