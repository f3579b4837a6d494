#include "experiment.h"

#include "mark.h"
#include "world.h"

#include "base/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deaths in a world, of each kind; and of all of them how many of a hundred
 * have to have a new controller within the fetch timeout and two election
 * timeouts. */
enum { FAILOVER_DEATHS = 10, FAILOVER_PERCENT = 99 };

#define EXPERIMENT_WAIT_NS (120 * SECOND)

static struct world world;

/* ---- calm worlds ----------------------------------------------------------
 */

/* What there is to say of several. */
struct runs
{
    uint64_t count;
    uint64_t bad;
    uint64_t hash;
    int64_t simulated_ns;
    int64_t latency_min_ns;
    int64_t latency_max_ns;
};

/* A cluster without faults; voters 0 = as the seed wants. */
static struct world *run_begin(struct runs *runs, struct choice *c,
                               uint64_t seed, int hosts, int voters, int trace)
{
    struct options o;

    choice_init(c, seed);
    options_draw(&o, seed, hosts, c);
    options_heal(&o);
    if (voters)
        o.voters = voters;
    if (runs->count++ == 0)
        runs->latency_min_ns = runs->latency_max_ns = o.latency_ns;
    if (o.latency_ns < runs->latency_min_ns)
        runs->latency_min_ns = o.latency_ns;
    if (o.latency_ns > runs->latency_max_ns)
        runs->latency_max_ns = o.latency_ns;
    world_open(&world, &o, c, trace);
    return &world;
}

static void run_end(struct runs *runs, struct choice *c)
{
    struct world *w = &world;

    world_close(w);
    choice_deinit(c);
    runs->simulated_ns += w->now_ns;
    runs->hash = runs->hash * 31 + w->hash;
    if (!w->failed)
        return;
    runs->bad++;
    printf("klsim: seed %" PRIu64 " FAILED %s: %s\n", w->o.seed, w->failed,
           w->failure);
}

static void runs_show(const struct runs *r)
{
    printf("klsim: %" PRIu64 " seeds, %" PRIu64 " failed, %.1f simulated "
           "hours, hash %016" PRIx64 "\n",
           r->count, r->bad, (double)r->simulated_ns / 3.6e12, r->hash);
    printf("klsim: latency of a seed %.2f to %.2f ms, of a message once to "
           "twice that, none late\n",
           (double)r->latency_min_ns / 1e6, (double)r->latency_max_ns / 1e6);
}

/* Clients ask for things; nothing is broken. */
static void run_work(struct world *w, int64_t ns)
{
    w->phase = WORLD_CHAOS;
    w->actor_ns = w->now_ns;
    world_until(w, w->now_ns + ns);
    w->phase = WORLD_HEAL;
}

static void run_settle(struct world *w)
{
    if (!world_until_done(w, world_is_settled, w->now_ns + EXPERIMENT_WAIT_NS))
        world_fail(w, "liveness", "not settled in a calm world");
}

/* ---- the leader dies ------------------------------------------------------
 */

enum death { DEATH_KILL, DEATH_POWER, DEATHS };

static const char *const death_names[DEATHS] = {"killed", "without power"};

/* How long it took, each time. */
struct waits
{
    int64_t *ns;
    size_t count;
};

/* The controller: the node that leads and has committed in its epoch, so that
 * it carries out commands. */
static struct host *world_controller(struct world *w)
{
    struct host *found = NULL;
    int32_t epoch = -1;

    for (int i = 0; i < w->o.hosts; i++) {
        struct observation o;

        if (w->hosts[i].state != HOST_UP)
            continue;
        door_observe(&w->hosts[i], &o);
        if (!o.is_active || o.epoch <= epoch)
            continue;
        epoch = o.epoch;
        found = &w->hosts[i];
    }
    return found;
}

static int world_has_controller(struct world *w)
{
    return world_controller(w) != NULL;
}

static void failover_kill(struct host *h, enum death death)
{
    if (death == DEATH_KILL)
        host_crash(h, (struct sim_choice){.fate = SIM_FATE_KEPT});
    else
        host_cut_power(h, host_draw_crash(h->w));
}

/* How long a cluster that works has no controller after its own has died; all
 * is well again afterwards. -1 where something has failed. */
static int64_t failover_once(struct world *w, enum death death)
{
    struct host *h;
    int64_t from, took;

    run_work(w, choice_log(w->choice, 10 * MS, 10 * SECOND));
    h = w->failed ? NULL : world_controller(w);
    if (!h) {
        world_fail(w, "failover", "no controller, and nothing has happened");
        return -1;
    }
    from = w->now_ns;
    failover_kill(h, death);
    w->phase = WORLD_CHAOS; /* clients go on */
    if (!world_until_done(w, world_has_controller, from + EXPERIMENT_WAIT_NS))
        world_fail(w, "failover", "no new controller");
    took = w->now_ns - from;
    world_trace(w, NULL, "%s: new controller after %.3f s", death_names[death],
                (double)took / 1e9);
    run_work(w, choice_log(w->choice, 10 * MS, SECOND));
    h->start_ns = w->now_ns;
    run_settle(w);
    return w->failed ? -1 : took;
}

static void failover_seed(struct runs *runs, struct waits *waits, uint64_t seed,
                          int hosts, int trace)
{
    struct choice c;
    struct world *w = run_begin(runs, &c, seed, hosts, 0, trace);

    for (int i = 0; i < FAILOVER_DEATHS * DEATHS && !w->failed; i++) {
        struct waits *to = &waits[i % DEATHS];
        int64_t ns = failover_once(w, (enum death)(i % DEATHS));

        if (ns >= 0)
            to->ns[to->count++] = ns;
    }
    run_end(runs, &c);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int64_t failover_bar_ns(void)
{
    struct kl_base_config c;

    kl_base_config_init(&c);
    return MS *
           (kl_base_config_value(&c, KL_BASE_CONFIG_FETCH_TIMEOUT_MS) +
            2 * kl_base_config_value(&c, KL_BASE_CONFIG_ELECTION_TIMEOUT_MS));
}

/* 1 where enough of them were soon enough. */
static int failover_show(const struct waits *w, enum death death)
{
    int64_t bar_ns = failover_bar_ns();
    size_t within = 0;

    if (w->count == 0)
        return 0;
    qsort(w->ns, w->count, sizeof *w->ns, compare);
    while (within < w->count && w->ns[within] <= bar_ns)
        within++;
    printf("klsim: failover, leader %-13s  p50 %.2f s, p99 %.2f s, max %.2f s, "
           "within %.1f s: %.2f %% of %zu (bar %d %%)\n",
           death_names[death], (double)w->ns[w->count / 2] / 1e9,
           (double)w->ns[w->count * 99 / 100] / 1e9,
           (double)w->ns[w->count - 1] / 1e9, (double)bar_ns / 1e9,
           100.0 * (double)within / (double)w->count, w->count,
           FAILOVER_PERCENT);
    return within * 100 >= w->count * FAILOVER_PERCENT;
}

int experiment_failover(uint64_t first, uint64_t count, int hosts, int trace)
{
    size_t size = count * FAILOVER_DEATHS * sizeof(int64_t);
    struct waits waits[DEATHS] = {{0}};
    struct runs runs = {0};
    int good = 1;

    for (int i = 0; i < DEATHS; i++)
        waits[i].ns = pool_take(size);
    for (uint64_t i = 0; i < count; i++)
        failover_seed(&runs, waits, first + i, hosts, trace);
    runs_show(&runs);
    for (int i = 0; i < DEATHS; i++) {
        good &= failover_show(&waits[i], (enum death)i);
        pool_give(waits[i].ns, size);
    }
    return runs.bad || !good;
}

/* ---- nothing to do --------------------------------------------------------
 */

enum { IDLE_WORLDS = 5 };

/* Sums of all nodes. */
struct idle
{
    int64_t ns;
    /* What a cluster that has nothing to do must not do. */
    uint64_t roles; /* looks at a node that neither led nor followed */
    uint64_t elections;
    int64_t epochs;
    int64_t records; /* of the metadata log: brokers fenced, ISRs changed */
    uint64_t writes; /* to a disk, and syncs */
    /* What it does. */
    uint64_t reads; /* every week for what has rotted */
    uint64_t events;
    uint64_t polls;
    uint64_t messages;
};

static void idle_add(struct world *w, struct idle *to, int sign)
{
    uint64_t roles =
        marks[MARK_PROSPECTIVE] + marks[MARK_CANDIDATE] + marks[MARK_RESIGNED];
    uint64_t by = (uint64_t)sign;

    to->ns += sign * w->now_ns;
    to->roles += by * roles;
    to->events += by * w->tally.events;
    to->polls += by * w->tally.polls;
    to->messages += by * w->tally.messages;
    for (int i = 0; i < w->o.hosts; i++) {
        const uint64_t *calls = w->hosts[i].disk->faults.calls;
        struct observation o;

        door_observe(&w->hosts[i], &o);
        to->elections += by * o.counters.elections;
        to->epochs += sign * o.epoch;
        to->records += sign * o.leo;
        to->writes += by * (calls[SIM_WRITE] + calls[SIM_SYNC]);
        to->reads += by * calls[SIM_READ];
    }
}

/* A cluster that has topics, and then nothing to do. */
static void idle_seed(struct runs *runs, struct idle *idle, uint64_t seed,
                      int hosts, int64_t ns, int trace)
{
    struct choice c;
    struct world *w = run_begin(runs, &c, seed, hosts, hosts, trace);

    run_work(w, 10 * SECOND);
    run_settle(w);
    if (!w->failed) {
        /* The segments are written behind, the first snapshot is made. */
        world_until(w, w->now_ns + 60 * SECOND);
        idle_add(w, idle, -1);
        world_until(w, w->now_ns + ns);
        idle_add(w, idle, 1);
    }
    run_end(runs, &c);
}

int experiment_idle(uint64_t first, uint64_t hours, int trace)
{
    int64_t ns = (int64_t)hours * 3600 * SECOND / IDLE_WORLDS;
    struct idle idle = {0};
    struct runs runs = {0};
    double seconds;

    for (int i = 0; i < IDLE_WORLDS; i++)
        idle_seed(&runs, &idle, first + (uint64_t)i,
                  i + 1 < IDLE_WORLDS ? 3 : 5, ns, trace);
    runs_show(&runs);
    seconds = (double)idle.ns / 1e9;
    printf("klsim: idle for %.1f hours: elections %" PRIu64 ", epochs %" PRId64
           ", other roles %" PRIu64 ", records of the metadata log %" PRId64
           ", disk writes %" PRIu64 "\n",
           seconds / 3600, idle.elections, idle.epochs, idle.roles,
           idle.records, idle.writes);
    printf("klsim: of a cluster in a second: events %.1f, polls %.1f, messages "
           "%.1f; disk reads in all %" PRIu64 "\n",
           (double)idle.events / seconds, (double)idle.polls / seconds,
           (double)idle.messages / seconds, idle.reads);
    return runs.bad || idle.elections || idle.epochs || idle.roles ||
           idle.records || idle.writes;
}
