/*
 * Folders that are not what their node has left: an older image of the disk,
 * the disk of another host, none at all. Each has its error, the cluster goes
 * on, and all is well again when the right disk is back or the operator has
 * made a new voter of the new one.
 */
#include "experiment.h"

#include "mark.h"
#include "world.h"

#include <kraftlog/error.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Disks in a world; how long anything may take there. */
enum { DISKS_EACH = 6 };
#define DISKS_WAIT_NS (120 * SECOND)

enum bad_disk { DISK_OLD, DISK_OTHER, DISK_WIPED, BAD_DISKS };

static const char *const disk_names[BAD_DISKS] = {"old", "of another host",
                                                  "wiped"};
static const int disk_errors[BAD_DISKS] = {KL_EREGRESSED, KL_EFOREIGN,
                                           KL_EFOREIGN};

static struct world world;
static struct host *disks_host; /* of the step under way */
static int disks_code;          /* what it has to say */

/* Clients ask for things; nothing is broken. */
static void disks_work(struct world *w)
{
    int64_t ns = choice_log(w->choice, SECOND, 8 * SECOND);

    w->phase = WORLD_CHAOS;
    w->actor_ns = w->now_ns;
    world_until(w, w->now_ns + ns);
    w->phase = WORLD_HEAL;
}

static void disks_settle(struct world *w, const char *when)
{
    if (world_until_done(w, world_is_settled, w->now_ns + DISKS_WAIT_NS))
        return;
    world_tell(w);
    world_fail(w, "liveness", "not settled: %s", when);
}

/* As it is, whatever is pending. */
static struct sim_disk *disks_copy(const struct host *h)
{
    return sim_disk_crash(h->disk, (struct sim_choice){.fate = SIM_FATE_KEPT});
}

static void disks_start(struct host *h, struct sim_disk *disk)
{
    if (h->n)
        host_close(h);
    host_put_disk(h, disk);
    h->refused = 0;
    h->start_ns = h->w->now_ns;
}

static int disks_is_refused(struct world *w)
{
    (void)w;
    return disks_host->refused == disks_code ||
           (disks_host->state == HOST_UP &&
            door_refusal(disks_host) == disks_code);
}

/* ---- the three kinds ------------------------------------------------------
 */

static int64_t disks_end(struct host *h)
{
    struct observation o;

    door_observe(h, &o);
    return o.durable_leo;
}

/* An image that others know to be old; NULL where nothing has happened since
 * it was taken. */
static struct sim_disk *disks_old(struct host *h)
{
    struct sim_disk *old = disks_copy(h);
    int64_t end = disks_end(h);

    for (int i = 0; i < 20 && !h->w->failed && disks_end(h) == end; i++) {
        disks_work(h->w);
        disks_settle(h->w, "with an image taken");
    }
    if (disks_end(h) > end)
        return old;
    sim_disk_free(old);
    return NULL;
}

static int disks_is_no_voter(struct world *w)
{
    struct observation o;

    door_observe(&w->hosts[(disks_host->index + 1) % w->o.hosts], &o);
    for (uint32_t i = 0; i < o.voter_count; i++)
        if (o.voters[i] == disks_host->id)
            return 0;
    return o.voters_offset < o.high_watermark;
}

/* The operator removes the voter that is no more; then the new one is made. */
static void disks_replace(struct world *w)
{
    struct host *other = &w->hosts[(disks_host->index + 1) % w->o.hosts];
    int64_t until = w->now_ns + DISKS_WAIT_NS;

    while (!disks_is_no_voter(w) && !w->failed) {
        if (w->now_ns >= until)
            world_fail(w, "liveness", "node %d cannot be removed",
                       (int)disks_host->id);
        (void)client_ask_voter(w, other, disks_host->index, 0, 0);
        (void)world_until_done(w, disks_is_no_voter, w->now_ns + SECOND);
    }
    if (!w->failed)
        disks_settle(w, "with a new disk");
    if (!w->failed)
        voters_restore(w);
}

static struct sim_disk *disks_bad(struct host *h, enum bad_disk kind)
{
    struct world *w = h->w;

    if (kind == DISK_OLD)
        return disks_old(h);
    if (kind == DISK_OTHER)
        return disks_copy(&w->hosts[(h->index + 1) % w->o.hosts]);
    h->joins = 1;
    return sim_disk_new(0);
}

/* How far a leader has written nobody remembers: an old image of it is not
 * known to be old. */
static struct host *disks_draw(struct world *w, enum bad_disk kind)
{
    int index = (int)choice_below(w->choice, (uint64_t)w->o.voters);

    if (kind == DISK_OLD && w->hosts[index].id == w->leader_id)
        index = (index + 1) % w->o.voters;
    return &w->hosts[index];
}

static void disks_once(struct world *w, enum bad_disk kind)
{
    struct sim_disk *bad, *right;
    struct host *h;

    disks_work(w);
    disks_settle(w, "before a disk");
    if (w->failed)
        return;
    h = disks_draw(w, kind);
    bad = disks_bad(h, kind);
    if (!bad)
        return;
    right = disks_copy(h);
    disks_host = h;
    disks_code = h->expects = disk_errors[kind];
    world_trace(w, h, "disk: %s", disk_names[kind]);
    disks_start(h, bad);
    if (kind == DISK_WIPED)
        check_epochs_forget(&w->checks.epochs, h->index);
    if (!w->failed &&
        !world_until_done(w, disks_is_refused, w->now_ns + DISKS_WAIT_NS))
        world_fail(w, "disks", "node %d, disk %s: not %s", (int)h->id,
                   disk_names[kind], kl_error_name(disks_code));
    disks_work(w);
    h->expects = 0;
    if (kind == DISK_WIPED) {
        sim_disk_free(right);
        disks_replace(w);
    } else {
        disks_start(h, right);
    }
    disks_settle(w, "after a disk");
}

int experiment_disks(uint64_t first, uint64_t count, int trace)
{
    struct world *w = &world;
    uint64_t bad = 0, hash = 0;
    uint64_t seen[BAD_DISKS] = {0};
    int64_t simulated = 0;

    for (uint64_t seed = first; seed < first + count; seed++) {
        struct choice c;
        struct options o;

        choice_init(&c, seed);
        options_draw(&o, seed, 0, &c);
        options_heal(&o);
        world_open(w, &o, &c, trace);
        for (int i = 0; i < DISKS_EACH && !w->failed; i++) {
            enum bad_disk kind = (enum bad_disk)choice_below(&c, BAD_DISKS);

            disks_once(w, kind);
            seen[kind]++;
        }
        if (!w->failed)
            world_verify(w);
        world_close(w);
        choice_deinit(&c);
        hash = hash * 31 + w->hash;
        simulated += w->now_ns;
        if (!w->failed)
            continue;
        bad++;
        printf("klsim: seed %" PRIu64 " FAILED %s: %s\n", seed, w->failed,
               w->failure);
    }
    printf("klsim: %" PRIu64 " seeds, %" PRIu64 " failed, %.1f simulated "
           "hours, hash %016" PRIx64 "\nklsim: disks:",
           count, bad, (double)simulated / 3.6e12, hash);
    for (int i = 0; i < BAD_DISKS; i++)
        printf(" %s %" PRIu64 "%s", disk_names[i], seen[i],
               i + 1 < BAD_DISKS ? "," : "\n");
    return bad != 0;
}
