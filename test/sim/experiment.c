#include "experiment.h"

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

enum death { DEATH_KILL, DEATH_POWER, DEATHS };

static const char *const death_names[DEATHS] = {"killed", "without power"};

/* How long it took, each time. */
struct waits
{
    int64_t *ns;
    size_t count;
};

struct failover
{
    struct waits waits[DEATHS];
    int64_t bar_ns;
    int64_t simulated_ns;
    int64_t latency_min_ns;
    int64_t latency_max_ns;
    uint64_t hash;
    uint64_t bad;
};

static struct world world;

/* ---- one death ------------------------------------------------------------
 */

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

/* Clients ask for things; nothing is broken. */
static void failover_work(struct world *w, int64_t ns)
{
    w->phase = WORLD_CHAOS;
    w->actor_ns = w->now_ns;
    world_until(w, w->now_ns + ns);
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

    failover_work(w, choice_log(w->choice, 10 * MS, 10 * SECOND));
    h = w->failed ? NULL : world_controller(w);
    if (!h) {
        world_fail(w, "failover", "no controller, and nothing has happened");
        return -1;
    }
    from = w->now_ns;
    failover_kill(h, death);
    if (!world_until_done(w, world_has_controller, from + EXPERIMENT_WAIT_NS))
        world_fail(w, "failover", "no new controller");
    took = w->now_ns - from;
    world_trace(w, NULL, "%s: new controller after %.3f s", death_names[death],
                (double)took / 1e9);
    failover_work(w, choice_log(w->choice, 10 * MS, SECOND));
    w->phase = WORLD_HEAL;
    h->start_ns = w->now_ns;
    if (!world_until_done(w, world_is_settled, w->now_ns + EXPERIMENT_WAIT_NS))
        world_fail(w, "liveness", "not settled after the restart");
    return w->failed ? -1 : took;
}

/* ---- many -----------------------------------------------------------------
 */

static void failover_seed(struct failover *f, uint64_t seed, int hosts,
                          int trace)
{
    struct world *w = &world;
    struct options o;
    struct choice c;

    choice_init(&c, seed);
    options_draw(&o, seed, hosts, &c);
    options_heal(&o);
    world_open(w, &o, &c, trace);
    for (int i = 0; i < FAILOVER_DEATHS * DEATHS && !w->failed; i++) {
        struct waits *waits = &f->waits[i % DEATHS];
        int64_t ns = failover_once(w, (enum death)(i % DEATHS));

        if (ns >= 0)
            waits->ns[waits->count++] = ns;
    }
    world_close(w);
    choice_deinit(&c);
    f->simulated_ns += w->now_ns;
    f->hash = f->hash * 31 + w->hash;
    if (o.latency_ns < f->latency_min_ns)
        f->latency_min_ns = o.latency_ns;
    if (o.latency_ns > f->latency_max_ns)
        f->latency_max_ns = o.latency_ns;
    if (!w->failed)
        return;
    f->bad++;
    printf("klsim: seed %" PRIu64 " FAILED %s: %s\n", seed, w->failed,
           w->failure);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* 1 where enough of them were soon enough. */
static int failover_show(const struct failover *f, enum death death)
{
    const struct waits *w = &f->waits[death];
    size_t within = 0;

    if (w->count == 0)
        return 0;
    qsort(w->ns, w->count, sizeof *w->ns, compare);
    while (within < w->count && w->ns[within] <= f->bar_ns)
        within++;
    printf("klsim: failover, leader %-13s  p50 %.2f s, p99 %.2f s, max %.2f s, "
           "within %.1f s: %.2f %% of %zu\n",
           death_names[death], (double)w->ns[w->count / 2] / 1e9,
           (double)w->ns[w->count * 99 / 100] / 1e9,
           (double)w->ns[w->count - 1] / 1e9, (double)f->bar_ns / 1e9,
           100.0 * (double)within / (double)w->count, w->count);
    return within * 100 >= w->count * FAILOVER_PERCENT;
}

static int64_t failover_bar_ns(void)
{
    struct kl_base_config c;

    kl_base_config_init(&c);
    return MS *
           (kl_base_config_value(&c, KL_BASE_CONFIG_FETCH_TIMEOUT_MS) +
            2 * kl_base_config_value(&c, KL_BASE_CONFIG_ELECTION_TIMEOUT_MS));
}

int experiment_failover(uint64_t first, uint64_t count, int hosts, int trace)
{
    struct failover f = {.bar_ns = failover_bar_ns(),
                         .latency_min_ns = INT64_MAX};
    size_t size = count * FAILOVER_DEATHS * sizeof(int64_t);
    int good = 1;

    for (int i = 0; i < DEATHS; i++)
        f.waits[i].ns = pool_take(size);
    for (uint64_t i = 0; i < count; i++)
        failover_seed(&f, first + i, hosts, trace);
    printf("klsim: %" PRIu64 " seeds, %" PRIu64 " failed, %.1f simulated "
           "hours, hash %016" PRIx64 "\n",
           count, f.bad, (double)f.simulated_ns / 3.6e12, f.hash);
    printf(
        "klsim: latency of a seed %.2f to %.2f ms, of a message that times 1 "
        "to 2, none late\n",
        (double)f.latency_min_ns / 1e6, (double)f.latency_max_ns / 1e6);
    for (int i = 0; i < DEATHS; i++) {
        good &= failover_show(&f, (enum death)i);
        pool_give(f.waits[i].ns, size);
    }
    if (!good)
        printf("klsim: failover: the bar is %d %%\n", FAILOVER_PERCENT);
    return f.bad || !good;
}
