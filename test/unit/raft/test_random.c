/*
 * Random lives of a quorum: faults of every kind for a minute of its time, then
 * peace, in which it must come together. RAFT_SEED=n runs one seed with its
 * messages printed, RAFT_SEEDS=n so many.
 */
#include "raft_world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS = 8, SEEDS = 12 };

/* How often, of a thousand actions, and which happen at all. */
struct habits
{
    uint64_t crash, start, isolate, heal, pause, propose, barrier, snapshot;
    uint64_t change, hand_over, resign, cut;
    int64_t pace;
};

static uint64_t some(struct world *w, uint64_t max)
{
    /* A third of the faults is switched off in each life. */
    return world_random(w, 3) ? world_random(w, max + 1) : 0;
}

static void draw(struct world *w, struct habits *h)
{
    h->crash = some(w, 30);
    h->start = 20 + some(w, 100);
    h->isolate = some(w, 30);
    h->cut = some(w, 30);
    h->heal = 10 + some(w, 60);
    h->pause = some(w, 20);
    h->propose = 200;
    h->barrier = some(w, 200);
    h->snapshot = some(w, 40);
    h->change = some(w, 40);
    h->hand_over = some(w, 10);
    h->resign = some(w, 10);
    h->pace = (5 + (int64_t)world_random(w, 100)) * MS;
}

static struct world *make(uint64_t seed)
{
    struct kl_base_rng rng;
    struct world_options o = {.seed = seed};
    static const int loss[] = {0, 0, 10, 50, 200};
    static const int64_t times[] = {2 * MS, 10 * MS, 50 * MS, 300 * MS,
                                    1500 * MS};

    kl_base_rng_seed(&rng, seed);
    o.nodes = 1 + (int)kl_base_rng_below(&rng, 6);
    o.voters = 1 + (int)kl_base_rng_below(&rng, (uint64_t)o.nodes);
    if (o.voters > 5)
        o.voters = 5;
    o.loss = loss[kl_base_rng_below(&rng, 5)];
    o.duplication = loss[kl_base_rng_below(&rng, 5)];
    o.delay_max = times[kl_base_rng_below(&rng, 3)];
    o.sync_max = times[kl_base_rng_below(&rng, 5)];
    o.apply_max = times[kl_base_rng_below(&rng, 3)];
    o.links_tell = (int)kl_base_rng_below(&rng, 2);
    o.is_starved = kl_base_rng_below(&rng, 4) == 0;
    return world_new(&o);
}

static int is_able(const struct world_node *n)
{
    return n->is_up && !n->is_paused;
}

static void change_voters(struct world *w, int target)
{
    struct world_node *leader = world_leader(w);
    struct kl_raft_view v;
    int is_voter = 0;

    if (!leader)
        return;
    v = world_view(w, leader->index);
    for (uint32_t i = 0; i < v.voters.voters.count; i++)
        is_voter |= v.voters.voters.items[i].node_id == w->nodes[target].id;
    world_change(w, leader->index,
                 !is_voter                 ? KL_RAFT_ADD_VOTER
                 : world_random(w, 4) == 0 ? KL_RAFT_UPDATE_VOTER
                                           : KL_RAFT_REMOVE_VOTER,
                 target, world_random(w, 2) == 0);
}

static void ask(struct world *w, const struct habits *h, int node)
{
    struct world_node *leader = world_leader(w);
    struct kl_raft_event event = {.type = KL_RAFT_RESIGN};
    /* Mostly the leader, sometimes one that only was. */
    int at = leader && world_random(w, 8) ? leader->index : node;

    if (!is_able(&w->nodes[at]) || w->call_count + 64 > WORLD_CALLS)
        return;
    if (world_random(w, 1000) < h->propose)
        world_propose(w, at, 1 + (int)world_random(w, 4));
    /* Reads are asked of those who may have been deposed, too. */
    if (world_random(w, 1000) < h->barrier)
        world_barrier(w, is_able(&w->nodes[node]) ? node : at);
    if (world_random(w, 1000) < h->hand_over)
        world_hand_over(w, at, (int)world_random(w, 2) ? -1 : node);
    if (world_random(w, 1000) < h->resign)
        world_step(w, at, &event);
    if (world_random(w, 1000) < h->change)
        change_voters(w, node);
}

static void act(struct world *w, const struct habits *h)
{
    int node = (int)world_random(w, (uint64_t)w->options.nodes);
    int other = (int)world_random(w, (uint64_t)w->options.nodes);
    struct world_node *n = &w->nodes[node];

    if (n->is_up && world_random(w, 1000) < h->crash)
        world_crash(w, node);
    else if (!n->is_up && world_random(w, 1000) < h->start)
        world_start(w, node);
    if (world_random(w, 1000) < h->isolate)
        world_isolate(w, node);
    if (world_random(w, 1000) < h->cut)
        w->cut[node][other] = node != other;
    if (world_random(w, 1000) < h->heal)
        world_heal(w);
    if (n->is_up && world_random(w, 1000) < h->pause)
        n->is_paused = 1;
    else if (n->is_paused && world_random(w, 20) == 0)
        n->is_paused = 0;
    if (is_able(n) && world_random(w, 1000) < h->snapshot)
        world_take_snapshot(w, node, world_random(w, 2) == 0);
    ask(w, h, node);
}

static void show(struct world *w)
{
    static const char *const roles[] = {"unattached", "prospective",
                                        "candidate",  "leader",
                                        "follower",   "resigned"};

    for (int i = 0; i < w->options.nodes; i++) {
        struct kl_raft_view v = world_view(w, i);

        fprintf(stderr,
                "node %d %s epoch %d leader %d voted %d log %lld..%lld durable"
                " %lld hwm %lld applied %lld snapshot %lld voter %d of %u"
                " (offset %lld) may %d leading %d fault %d refusal %d\n",
                w->nodes[i].id, roles[v.role], v.epoch, v.leader_id,
                v.voted.node_id, (long long)v.log_start, (long long)v.leo,
                (long long)v.durable_leo, (long long)v.high_watermark,
                (long long)w->nodes[i].applied,
                (long long)v.snapshot.end_offset, v.is_voter,
                v.voters.voters.count, (long long)v.voters.offset, v.may_vote,
                v.is_leading, v.fault, v.refusal);
    }
}

/* ---- peace -------------------------------------------------------------- */

static void peace(struct world *w)
{
    struct world_node *leader;
    struct world_call *call;

    world_heal(w);
    w->options.loss = 0;
    w->options.duplication = 0;
    w->options.sync_max = 5 * MS;
    w->options.delay_max = 5 * MS;
    for (int i = 0; i < w->options.nodes; i++) {
        w->nodes[i].is_paused = 0;
        if (!w->nodes[i].is_up)
            world_start(w, i);
    }
    if (!world_until(w, 60 * SECOND, world_is_settled)) {
        fprintf(stderr, "seed %llu: not settled\n",
                (unsigned long long)w->options.seed);
        show(w);
        ck_abort_msg("no peace after %llu steps", (unsigned long long)w->steps);
    }
    /* A leadership that is being handed over takes none. */
    do {
        world_run(w, 100 * MS);
        ck_assert(world_until(w, 20 * SECOND, world_is_settled));
        leader = world_leader(w);
        call = world_propose(w, leader->index, 1);
        ck_assert(world_until(w, 20 * SECOND, world_is_settled));
        ck_assert(call->is_done);
    } while (call->code == KL_EAGAIN || call->code == KL_ENOTLEADER);
    ck_assert_int_eq(call->code, 0);
    for (int i = 0; i < w->options.nodes; i++)
        ck_assert(w->nodes[i].hash == leader->hash);
}

static void live(uint64_t seed, int trace)
{
    struct world *w = make(seed);
    struct habits h;
    int64_t end = w->now + 60 * SECOND;

    w->trace = trace;
    if (getenv("RAFT_STATS"))
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    draw(w, &h);
    while (w->now < end) {
        int64_t before = w->now;

        world_run(w, 1 + (int64_t)world_random(w, (uint64_t)h.pace));
        if (w->now == before)
            w->now++;
        act(w, &h);
    }
    peace(w);
    if (getenv("RAFT_STATS"))
        printf("seed %llu nodes %d voters %d steps %llu sent %llu commit %lld"
               " acknowledged %lld refused %llu\n",
               (unsigned long long)seed, w->options.nodes, w->options.voters,
               (unsigned long long)w->steps, (unsigned long long)w->sent,
               (long long)w->commit, (long long)w->acknowledged,
               (unsigned long long)w->refused);
    world_free(w);
}

START_TEST(random_lives)
{
    const char *one = getenv("RAFT_SEED");
    const char *many = getenv("RAFT_SEEDS");
    uint64_t count = many ? strtoull(many, NULL, 10) / GROUPS : SEEDS;

    if (one) {
        if (_i == 0)
            live(strtoull(one, NULL, 10), getenv("RAFT_TRACE") != NULL);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        live((uint64_t)_i * 1000000 + i, 0);
}
END_TEST

Suite *suite_raft_random(void);
Suite *suite_raft_random(void)
{
    Suite *s = suite_create("raft_random");
    TCase *t = tcase_create("random");

    tcase_add_loop_test(t, random_lives, 0, GROUPS);
    suite_add_tcase(s, t);
    return s;
}
