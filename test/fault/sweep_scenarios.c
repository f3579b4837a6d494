/*
 * Scenarios that only a simulated disk can play.
 */
#include "sweep.h"

#include "need.h"

/* Nobody looks while this is done, and then it is durable. */
static sim_hook_fn scenario_look_away(struct work *w)
{
    sim_hook_fn hook = w->f.disk->hook;

    w->f.disk->hook = NULL;
    return hook;
}

static void scenario_look_back(struct work *w, sim_hook_fn hook)
{
    sim_disk_settle(w->f.disk);
    w->f.disk->hook = hook;
}

/* ---- an older folder ------------------------------------------------------
 */

/* As an older version left it; the first one had less. */
static void upgrade_downgrade(struct work *w, uint16_t version)
{
    sim_hook_fn hook = scenario_look_away(w);
    struct kl_store_identity identity = w->f.config.format;
    struct kl_base_buf buf;

    identity.version = version;
    kl_base_buf_init(&buf, &w->f.alloc.alloc);
    need_ok(kl_store_identity_encode(&buf, &identity));
    store_fixture_save(&w->f, "data/identity", buf.data, buf.size);
    kl_base_buf_deinit(&buf);
    if (version < KL_STORE_FORMAT_QUORUM) {
        store_fixture_unlink(&w->f, "data/reserve");
        store_fixture_unlink(&w->f, "data/quorum.a");
        store_fixture_unlink(&w->f, "data/quorum.b");
    }
    scenario_look_back(w, hook);
}

static void scenario_upgrade(struct work *w)
{
    for (uint16_t i = 0; i < 4; i++) {
        if (i == 0) {
            work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
            work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
        }
        for (int k = 0; k < 8; k++)
            work_append(w, k % 2, 1, (uint32_t)work_random(w, 1500));
        work_truncate(w, 0, 1);
        work_settle(w);
        work_turn(w, (int)work_random(w, 6));
        if (i % 2 == 0)
            work_crash(w);
        else
            work_stop(w);
        upgrade_downgrade(w, 1 + i / 2);
        work_open(w);
    }
    work_append(w, 0, 1, 700);
    work_turn(w, 10);
}

/* ---- a full disk ----------------------------------------------------------
 */

/* So many bytes are free from now on. */
static void full_leave(struct work *w, uint64_t bytes)
{
    struct sim_disk *d = w->f.disk;
    uint64_t room;

    d->capacity = UINT64_C(1) << 40;
    need_ok(d->base.ops->space(&d->base, "data", &room));
    d->capacity -= room - bytes;
}

/* Refused appends, what is still accepted, and appends again. */
static void scenario_full(struct work *w)
{
    int refused = 0;

    w->may_be_full = 1;
    for (int i = 0; i < 4; i++)
        work_create(w, i,
                    i < 3 ? KL_STORE_FLUSH_COMMIT : KL_STORE_FLUSH_INTERVAL,
                    8192);
    work_turn(w, 10);
    for (int round = 0; round < 2; round++) {
        full_leave(w, 30000);
        for (int i = 0; i < 40; i++) {
            refused += !work_append(w, (int)work_random(w, 4), 1,
                                    1000 + (uint32_t)work_random(w, 2000));
            work_turn(w, (int)work_random(w, 6));
            if (i % 10 == 9)
                w->f.now_ns += 1100000000;
        }
        work_truncate(w, 1, 3);
        work_start(w, 0, 5);
        work_epoch(w, 0);
        work_turn(w, 10);
        if (round == 0)
            work_delete(w, 2);
        full_leave(w, 4000000);
        for (int i = 0; i < 3; i++) {
            w->f.now_ns += 1100000000;
            work_turn(w, 10);
        }
    }
    need_msg(refused > 0, "the disk was never full");
    need_msg(work_append(w, 0, 1, 500), "there is space, but no append");
    work_turn(w, 10);
}

/* Stops or is killed, and is opened, on a disk that is full. */
static void scenario_full_reopen(struct work *w)
{
    w->may_be_full = 1;
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 3; i++) {
        full_leave(w, 20000);
        for (int k = 0; k < 12; k++) {
            work_append(w, k % 2, 1, 1500);
            work_turn(w, (int)work_random(w, 4));
        }
        /* The reserve makes room for what was accepted. */
        for (int k = 0; k < 30; k++) {
            w->f.now_ns += 100000000;
            work_turn(w, 1);
        }
        work_settle(w);
        if (i % 2)
            work_stop(w);
        else
            work_crash(w);
        work_open(w);
        full_leave(w, 4000000);
        w->f.now_ns += 1100000000;
        work_turn(w, 10);
    }
}

const struct work_scenario sweep_scenarios[] = {
    {.name = "upgrade", .run = scenario_upgrade, .flush_bytes = 2000},
    {.name = "full", .run = scenario_full, .flush_bytes = 3000},
    {.name = "full reopen", .run = scenario_full_reopen, .flush_bytes = 3000},
};

const int sweep_scenario_count =
    sizeof sweep_scenarios / sizeof *sweep_scenarios;
