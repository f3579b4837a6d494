/*
 * Time, from event to event.
 */
#include "world.h"

#include "mark.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What has to be over after the faults are, and what nobody wants to wait
 * for: a run that does as much at one moment goes in circles. */
#define WORLD_HEAL_NS (120 * SECOND)
/* Ten election timeouts, each drawn between one second and two. */
#define WORLD_ELECT_NS (20 * SECOND)
/* Several fetch timeouts. */
#define WORLD_REST_NS (10 * SECOND)
#define WORLD_ECHO_NS (5 * SECOND)
enum { WORLD_STUCK = 200000 };

static uint64_t world_number;

uint64_t world_seed(void)
{
    return world_number;
}

/* Of the run under way: the port of random bytes has no other way to it. */
static struct kl_base_rng world_random;

void world_entropy(void *buf, size_t size)
{
    uint8_t *to = buf;

    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)kl_base_rng_next(&world_random);
}

/* ---- telling --------------------------------------------------------------
 */

void world_fail(struct world *w, const char *checker, const char *format, ...)
{
    va_list args;

    if (w->failed)
        return;
    w->failed = checker;
    va_start(args, format);
    vsnprintf(w->failure, sizeof w->failure, format, args);
    va_end(args);
    world_trace(w, NULL, "FAILED %s: %s", checker, w->failure);
}

void world_note(struct world *w, uint64_t kind, uint64_t a, uint64_t b)
{
    uint64_t h = w->hash ^ kind ^ (uint64_t)w->now_ns;

    h = (h ^ a) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h = (h ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
    w->hash = h ^ h >> 32;
}

void world_trace(struct world *w, const struct host *h, const char *format, ...)
{
    static const char *const roles[] = {"unattached", "prospective",
                                        "candidate",  "leader",
                                        "follower",   "resigned"};
    struct observation o = {0};
    va_list args;

    if (!w->trace)
        return;
    printf("%12.6f ", (double)w->now_ns / 1e9);
    if (h && h->state == HOST_UP) {
        door_observe(h, &o);
        printf("%2d %-11s %4d %3d %6lld %6lld %6lld %6lld  ", (int)h->id,
               roles[o.role], (int)o.epoch, (int)o.leader_id,
               (long long)o.log_start, (long long)o.leo,
               (long long)o.durable_leo, (long long)o.high_watermark);
    } else {
        printf("%2s %-11s %4s %3s %6s %6s %6s %6s  ", "", "-", "-", "-", "-",
               "-", "-", "-");
        if (h)
            printf("host %d ", (int)h->id);
    }
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* ---- time -----------------------------------------------------------------
 */

/* The host where something happens next, or NULL for an actor or the network,
 * which has the number of what is due. */
static struct host *world_next(struct world *w, int64_t *at_out, int *net_out)
{
    struct host *next = NULL;
    int64_t net = net_next_ns(w);
    int64_t at = w->phase == WORLD_CHAOS ? w->actor_ns : INT64_MAX;

    for (int i = 0; i < w->o.hosts; i++) {
        struct host *h = &w->hosts[i];
        int64_t due = h->state == HOST_UP ? host_next_ns(h) : INT64_MAX;

        if (h->start_ns >= 0 && h->start_ns < due)
            due = h->start_ns;
        if (due < at) {
            at = due;
            next = h;
        }
    }
    *net_out = net < at;
    *at_out = *net_out ? net : at;
    return *net_out ? NULL : next;
}

static void world_host(struct world *w, struct host *h)
{
    if (h->start_ns >= 0 && h->start_ns <= w->now_ns) {
        if (h->n)
            host_crash(h, (struct sim_choice){.fate = SIM_FATE_KEPT});
        host_start(h);
    } else if (h->paused_ns) {
        h->paused_ns = 0;
        world_trace(w, h, "resume");
    } else if (h->lanes_ns <= w->now_ns) {
        host_lanes(h);
        world_note(w, 'l', (uint64_t)h->index, (uint64_t)h->lanes_ns);
    } else {
        host_poll(h);
    }
}

static int never_done(struct world *w)
{
    (void)w;
    return 0;
}

int world_until_done(struct world *w, int (*done)(struct world *w),
                     int64_t until_ns)
{
    uint64_t stuck = w->tally.events + WORLD_STUCK;

    while (!w->failed) {
        int64_t at;
        struct host *h;
        int is_net;

        if (done(w))
            return 1;
        h = world_next(w, &at, &is_net);
        if (at > until_ns)
            break;
        if (at > w->now_ns) {
            w->now_ns = at;
            stuck = w->tally.events + WORLD_STUCK;
        } else if (w->tally.events > stuck) {
            world_fail(w, "busy", "%d events at one moment", WORLD_STUCK);
        }
        w->tally.events++;
        if (is_net)
            net_run(w);
        else if (h)
            world_host(w, h);
        else
            actor_step(w);
    }
    if (w->now_ns < until_ns && !w->failed)
        w->now_ns = until_ns;
    return 0;
}

void world_until(struct world *w, int64_t until_ns)
{
    (void)world_until_done(w, never_done, until_ns);
}

/* ---- phases ---------------------------------------------------------------
 */

/* One leads, and all have applied what it has committed. */
static int world_agrees(struct world *w)
{
    struct observation o;
    int64_t applied = -1;
    int leaders = 0;

    for (int i = 0; i < w->o.hosts; i++) {
        door_observe(&w->hosts[i], &o);
        leaders += o.role == KL_RAFT_LEADER;
        if (!door_is_led(&w->hosts[i]) || !o.is_caught_up ||
            o.high_watermark != o.leo || o.applied != o.leo ||
            (applied >= 0 && o.applied != applied))
            return 0;
        applied = o.applied;
    }
    return leaders == 1;
}

/* Why it is not settled, for the trace. */
void world_tell(struct world *w)
{
    world_trace(w, NULL, "clients %s", client_is_quiet(w) ? "quiet" : "wait");
    for (int i = 0; i < w->o.hosts; i++) {
        const struct host *h = &w->hosts[i];
        struct observation o = {0};

        if (h->n)
            door_observe(h, &o);
        world_trace(w, h,
                    "able %d, start %lld, caught up %d, applied %lld, led %d",
                    host_is_able(h), (long long)h->start_ns, o.is_caught_up,
                    (long long)o.applied, h->n ? door_is_led(h) : 0);
    }
}

int world_is_settled(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++) {
        const struct host *h = &w->hosts[i];

        if (!host_is_able(h) || h->start_ns >= 0)
            return 0;
    }
    return client_is_quiet(w) && world_agrees(w);
}

/* The cluster is made: the first host alone, the others join it, and some of
 * them become voters. */
static void world_boot(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++) {
        host_init(w, i);
        w->hosts[i].start_ns = w->now_ns;
    }
    if (!world_until_done(w, world_is_settled, w->now_ns + WORLD_HEAL_NS))
        world_fail(w, "liveness", "the cluster does not come up");
    if (!w->failed)
        voters_restore(w);
    for (int i = 0; i < w->o.hosts; i++)
        w->hosts[i].lanes.stall_chance = w->o.stall_chance;
}

static int world_is_stalled(const struct host *h)
{
    const struct sim_lanes *lanes = &h->lanes;

    for (size_t i = 0; i < sizeof lanes->lanes / sizeof *lanes->lanes; i++)
        if (lanes->lanes[i].fiber && lanes->lanes[i].due_ns < INT64_MAX &&
            lanes->lanes[i].due_ns > h->w->now_ns + SECOND)
            return 1;
    return 0;
}

/* Nobody has to wait for a machine, or for a disk that stands still. */
static int world_is_able(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++) {
        const struct host *h = &w->hosts[i];

        if (!host_is_able(h) || h->start_ns >= 0 || h->now_ns > w->now_ns ||
            world_is_stalled(h))
            return 0;
    }
    return 1;
}

static int world_has_controller(struct world *w)
{
    struct observation o;

    for (int i = 0; i < w->o.hosts; i++) {
        door_observe(&w->hosts[i], &o);
        if (o.is_active)
            return 1;
    }
    return 0;
}

/* L8, L10: machines and links are well, so there is a controller soon. */
static void world_elect(struct world *w, int64_t until_ns)
{
    int64_t from;

    if (!world_until_done(w, world_is_able, until_ns + WORLD_HEAL_NS)) {
        world_tell(w);
        world_fail(w, "liveness", "a node neither works nor stops");
        return;
    }
    from = w->now_ns;
    if (world_until_done(w, world_has_controller, from + WORLD_ELECT_NS)) {
        w->tally.elect_ns = w->now_ns - from;
        return;
    }
    world_tell(w);
    world_fail(w, "liveness", "no controller %d s after all was well",
               (int)(WORLD_ELECT_NS / SECOND));
}

static int32_t world_epoch(struct world *w)
{
    struct observation o;
    int32_t epoch = 0;

    for (int i = 0; i < w->o.hosts; i++) {
        door_observe(&w->hosts[i], &o);
        if (o.epoch > epoch)
            epoch = o.epoch;
    }
    return epoch;
}

/* Who has what he wants leaves the others alone. */
static void world_rest(struct world *w)
{
    int32_t epoch;

    /* A pause before the heal, too, may cost an election. */
    world_until(w, w->now_ns + WORLD_ECHO_NS);
    if (!w->failed &&
        !world_until_done(w, world_is_settled, w->now_ns + WORLD_HEAL_NS)) {
        world_tell(w);
        world_fail(w, "liveness", "settled, and never again");
    }
    epoch = world_epoch(w);
    world_until(w, w->now_ns + WORLD_REST_NS);
    if (w->failed)
        return;
    if (!world_is_settled(w)) {
        world_tell(w);
        world_fail(w, "liveness", "settled, and then not");
    } else if (world_epoch(w) != epoch) {
        world_fail(w, "liveness", "settled in epoch %d, %d after a rest",
                   (int)epoch, (int)world_epoch(w));
    }
}

static int world_chaos_is_over(struct world *w)
{
    return w->steps >= w->o.steps_max || choice_is_over(w->choice);
}

/* Nothing new is broken, and what is, is mended. */
static void world_heal(struct world *w)
{
    int64_t until_ns = w->now_ns;

    w->phase = WORLD_HEAL;
    net_mend(w);
    world_trace(w, NULL, "heal");
    for (int i = 0; i < w->o.hosts; i++) {
        struct host *h = &w->hosts[i];

        sim_faults_clear(&h->disk->faults);
        h->disk->capacity = 0;
        h->lanes.stall_chance = 0;
        if (h->paused_ns > w->now_ns)
            h->paused_ns = w->now_ns;
        if (h->state == HOST_DOWN)
            h->start_ns = w->now_ns;
        /* An open that its disk has stalled is not over yet. */
        if (h->now_ns > until_ns)
            until_ns = h->now_ns;
    }
    world_elect(w, until_ns);
    if (!w->failed &&
        !world_until_done(w, world_is_settled, w->now_ns + WORLD_HEAL_NS)) {
        world_tell(w);
        world_fail(w, "liveness", "not settled %d s after all was mended",
                   (int)(WORLD_HEAL_NS / SECOND));
    }
    if (!w->failed)
        voters_verify(w);
    if (!w->failed)
        voters_restore(w);
    if (!w->failed)
        world_rest(w);
}

void world_verify(struct world *w)
{
    w->phase = WORLD_VERIFY;
    voters_verify(w);
    client_verify(w);
    if (!world_until_done(w, world_is_settled, w->now_ns + WORLD_HEAL_NS))
        world_fail(w, "liveness", "what must be there is not answered");
}

/* The power is cut everywhere; then all is there again. */
static void world_restart_all(struct world *w)
{
    choice_block(w->choice);
    for (int i = 0; i < w->o.hosts; i++)
        if (w->hosts[i].state == HOST_UP)
            host_cut_power(&w->hosts[i], host_draw_crash(w));
    for (int i = 0; i < w->o.hosts; i++)
        w->hosts[i].start_ns =
            w->now_ns + choice_between(w->choice, 0, 100) * MS;
    if (!world_until_done(w, world_is_settled, w->now_ns + WORLD_HEAL_NS)) {
        world_tell(w);
        world_fail(w, "liveness", "not settled after the power came back");
    }
}

static int world_is_down(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++)
        if (w->hosts[i].state == HOST_UP)
            return 0;
    return 1;
}

void world_close(struct world *w)
{
    w->phase = WORLD_CLOSE;
    for (int i = 0; i < w->o.hosts; i++)
        if (w->hosts[i].state == HOST_UP && !w->failed)
            host_stop(&w->hosts[i]);
    if (!w->failed &&
        !world_until_done(w, world_is_down, w->now_ns + WORLD_HEAL_NS))
        world_fail(w, "liveness", "a node does not stop");
    for (int i = 0; i < w->o.hosts; i++)
        host_close(&w->hosts[i]);
    client_deinit(w);
    for (int i = 0; i < w->o.hosts; i++)
        host_deinit(&w->hosts[i]);
    net_deinit(w);
    check_records_deinit(&w->checks.records);
    w->tally.simulated_ns = w->now_ns;
}

void world_open(struct world *w, const struct options *o, struct choice *c,
                int trace)
{
    memset(w, 0, sizeof *w);
    w->o = *o;
    w->choice = c;
    w->trace = trace;
    w->now_ns = SECOND;
    world_number = o->seed;
    kl_base_rng_seed(&world_random, choice_seed(c));
    client_init(w);
    pool_alloc_init(&w->memory);
    net_init(w);
    world_boot(w);
}

void world_run(struct world *w, const struct options *o, struct choice *c,
               int trace)
{
    world_open(w, o, c, trace);
    w->phase = WORLD_CHAOS;
    w->actor_ns = w->now_ns + 10 * MS;
    if (!w->failed)
        (void)world_until_done(w, world_chaos_is_over, w->now_ns + o->chaos_ns);
    if (!w->failed)
        world_heal(w);
    if (!w->failed)
        world_verify(w);
    if (!w->failed)
        world_restart_all(w);
    if (!w->failed)
        world_verify(w);
    world_close(w);
}
