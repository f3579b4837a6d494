/*
 * The scenarios: each part of a store in use, and all of them mixed.
 */
#include "work.h"

void work_format(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_append(w, 0, 2, 100);
    work_turn(w, 4);
}

void work_append_some(struct work *w)
{
    for (int i = 0; i < 3; i++)
        work_create(w, i, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 60; i++) {
        work_append(w, (int)work_random(w, 3), 1 + (int)work_random(w, 3),
                    (uint32_t)work_random(w, 600));
        if (work_random(w, 2))
            work_turn(w, 1 + (int)work_random(w, 6));
    }
    work_turn(w, 20);
}

static void scenario_truncate(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 70; i++) {
        int log = (int)work_random(w, 2);

        if (work_random(w, 5) == 0)
            work_truncate(w, log, 1 + (int)work_random(w, 6));
        else
            work_append(w, log, 1 + (int)work_random(w, 3),
                        (uint32_t)work_random(w, 900));
        if (work_random(w, 2))
            work_turn(w, 1 + (int)work_random(w, 6));
    }
    work_truncate(w, 0, 1000);
    work_turn(w, 10);
    work_append(w, 0, 1, 100);
    work_turn(w, 10);
}

/* All that a slot states, again and again. */
void work_cut_all(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 24; i++) {
        for (int k = 0; k < 3; k++)
            work_append(w, i % 2, 1, (uint32_t)work_random(w, 2000));
        work_turn(w, 4 + (int)work_random(w, 8));
        work_checkpoint(w);
        work_turn(w, 3 + (int)work_random(w, 8));
        work_truncate(w, i % 2, 1000);
        if (work_random(w, 2))
            work_append(w, i % 2, 1, 300);
        work_turn(w, 1 + (int)work_random(w, 4));
    }
    work_turn(w, 10);
}

static void scenario_epoch(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 12; i++) {
        work_epoch(w, 0);
        for (int k = (int)work_random(w, 4); k > 0; k--)
            work_append(w, 0, 1, 400);
        work_turn(w, (int)work_random(w, 8));
        if (work_random(w, 3) == 0)
            work_truncate(w, 0, 1 + (int)work_random(w, 5));
    }
    work_turn(w, 10);
}

static void scenario_delete(struct work *w)
{
    work_create(w, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 6; i++) {
        work_create(w, i % 2 * 2,
                    i % 2 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
                    8192);
        for (int k = 0; k < 4; k++)
            work_append(w, i % 2 * 2, 1, 800);
        work_append(w, 1, 1, 2000);
        work_turn(w, (int)work_random(w, 12));
        work_delete(w, i % 2 * 2);
        work_turn(w, (int)work_random(w, 4));
    }
    w->f.now_ns += 300000000;
    work_turn(w, 20);
}

void work_retention(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 40; i++) {
        work_append(w, (int)work_random(w, 2), 1, 1500);
        work_turn(w, 2);
        if (work_random(w, 6) == 0)
            work_start(w, 1, (int64_t)work_random(w, 8));
        if (i % 10 == 9)
            w->f.now_ns += 210000000;
    }
    work_turn(w, 30);
}

void work_lap(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 16384);
    work_create(w, 1, KL_STORE_FLUSH_COMMIT, 16384);
    for (int i = 0; i < 80; i++) {
        work_append(w, (int)work_random(w, 2), 1,
                    (uint32_t)work_random(w, 4000));
        work_turn(w, (int)work_random(w, 4));
        if (i % 20 == 19) {
            w->f.now_ns += 2000000000; /* idle: a seal */
            work_turn(w, 3);
        }
    }
    work_turn(w, 20);
}

static void scenario_interval(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_INTERVAL, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 60; i++) {
        int log = (int)work_random(w, 2);

        if (work_random(w, 8) == 0)
            work_truncate(w, log, 1 + (int)work_random(w, 5));
        else
            work_append(w, log, 1, (uint32_t)work_random(w, 1500));
        work_turn(w, (int)work_random(w, 4));
    }
    work_turn(w, 20);
}

static void scenario_stop(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            work_append(w, 0, 1, 700);
            work_append(w, 1, 1, 700);
            work_turn(w, (int)work_random(w, 3));
        }
        work_stop(w);
        work_open(w);
    }
    work_append(w, 0, 1, 700);
    work_turn(w, 10);
}

static void mixed_step(struct work *w, int log)
{
    const struct model_log *m = &w->model.logs[log];
    uint64_t dice = work_random(w, 100);

    if (!m->handle)
        work_create(w, log,
                    log == 3 ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
                    8192);
    else if (dice < 75)
        work_append(w, log, 1 + (int)work_random(w, 4),
                    (uint32_t)work_random(w, 900));
    else if (dice < 85)
        work_truncate(w, log, 1 + (int)work_random(w, 8));
    else if (dice < 90)
        work_start(w, log, 1 + (int64_t)work_random(w, 10));
    else if (dice < 95)
        work_epoch(w, log);
    else if (dice < 97)
        work_reset(w, log, (int64_t)work_random(w, 40));
    else
        work_delete(w, log);
}

/* Segments of two or three frames. */
void work_roll(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 4096);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 4096);
    for (int i = 0; i < 50; i++) {
        work_append(w, i % 2, 1 + (int)work_random(w, 2),
                    1000 + (uint32_t)work_random(w, 1000));
        if (i % 12 == 11)
            work_truncate(w, i / 12 % 2, 3); /* whole segments */
        work_turn(w, (int)work_random(w, 5));
    }
    work_turn(w, 20);
}

/* One name with life after life, and a neighbour that stays. */
static void scenario_recreate(struct work *w)
{
    work_create(w, 1, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 10; i++) {
        work_create(w, 0,
                    work_random(w, 3) ? KL_STORE_FLUSH_COMMIT
                                      : KL_STORE_FLUSH_INTERVAL,
                    8192);
        for (int k = (int)work_random(w, 5); k > 0; k--)
            work_append(w, 0, 1, 900);
        work_append(w, 1, 1, 300);
        work_turn(w, (int)work_random(w, 8));
        if (work_random(w, 2))
            work_truncate(w, 0, 2);
        work_delete(w, 0);
        if (work_random(w, 2))
            work_turn(w, (int)work_random(w, 6));
        if (work_random(w, 4) == 0)
            w->f.now_ns += 300000000; /* two slots: the folder goes */
    }
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_append(w, 0, 3, 500);
    work_turn(w, 20);
}

/* Emptied below, in and far above what it holds, and gone on with; a neighbour
 * stays as it is. */
static void scenario_reset(struct work *w)
{
    for (int i = 0; i < 3; i++)
        work_create(w, i,
                    i < 2 ? KL_STORE_FLUSH_COMMIT : KL_STORE_FLUSH_INTERVAL,
                    8192);
    for (int i = 0; i < 14; i++) {
        int log = (int)work_random(w, 3) ? 0 : 2;

        for (int k = (int)work_random(w, 6); k > 0; k--)
            work_append(w, log, 1 + (int)work_random(w, 3), 700);
        work_append(w, 1, 1, 300);
        work_turn(w, (int)work_random(w, 8));
        if (work_random(w, 3) == 0)
            work_start(w, log, 3);
        if (work_random(w, 3) == 0)
            work_truncate(w, log, 2);
        work_reset(w, log, (int64_t)work_random(w, 20) - 3);
        if (work_random(w, 4) == 0)
            work_reset(w, log, 1000); /* before the other one is durable */
        if (work_random(w, 5) == 0)
            work_delete(w, log);
        work_create(w, log,
                    log ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT,
                    8192);
        if (work_random(w, 2))
            work_append(w, log, 2, 500); /* into the same group */
        if (work_random(w, 4) == 0)
            work_checkpoint(w);
        if (work_random(w, 4) == 0)
            w->f.now_ns += 300000000; /* two slots: the folder goes */
        work_turn(w, (int)work_random(w, 8));
    }
    work_turn(w, 20);
}

/* Starts inside batches and at the very end, and what follows them. */
static void scenario_delete_before(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(w, 1, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 40; i++) {
        int log = (int)work_random(w, 2);

        work_append(w, log, 1 + (int)work_random(w, 6),
                    (uint32_t)work_random(w, 500));
        work_turn(w, (int)work_random(w, 6));
        if (work_random(w, 3) == 0)
            work_start(w, log, 1 + (int64_t)work_random(w, 12));
        if (work_random(w, 12) == 0)
            work_start(w, log, 1000);
        if (work_random(w, 8) == 0)
            work_truncate(w, log, 2);
    }
    work_turn(w, 20);
}

static void scenario_checkpoint(struct work *w)
{
    for (int i = 0; i < 3; i++)
        work_create(w, i,
                    i < 2 ? KL_STORE_FLUSH_COMMIT : KL_STORE_FLUSH_INTERVAL,
                    8192);
    for (int i = 0; i < 50; i++) {
        work_append(w, (int)work_random(w, 3), 1,
                    (uint32_t)work_random(w, 1500));
        if (work_random(w, 2))
            work_checkpoint(w);
        if (work_random(w, 10) == 0)
            work_epoch(w, (int)work_random(w, 2));
        if (work_random(w, 10) == 0)
            work_truncate(w, (int)work_random(w, 3), 2);
        work_turn(w, (int)work_random(w, 5));
    }
    work_turn(w, 10);
}

/* More logs than handles, in a ring that holds few of their batches. */
static void scenario_many(struct work *w)
{
    for (int i = 0; i < MODEL_LOGS; i++)
        work_create(w, i,
                    i % 4 < 3 ? KL_STORE_FLUSH_COMMIT : KL_STORE_FLUSH_INTERVAL,
                    8192);
    for (int i = 0; i < 120; i++) {
        int log = (int)work_random(w, MODEL_LOGS);

        work_append(w, log, 1, (uint32_t)work_random(w, 1200));
        if (work_random(w, 15) == 0)
            work_truncate(w, log, 1);
        if (work_random(w, 25) == 0)
            work_delete(w, log);
        if (work_random(w, 3) == 0)
            work_turn(w, (int)work_random(w, 6));
    }
    work_turn(w, 30);
}

enum { MIXED_LOGS = 4 };

static void scenario_mixed(struct work *w)
{
    for (int i = 0; i < 110; i++) {
        mixed_step(w, (int)work_random(w, MIXED_LOGS));
        if (work_random(w, 3) == 0)
            work_turn(w, 1 + (int)work_random(w, 8));
        if (work_random(w, 30) == 0)
            w->f.now_ns += 1100000000;
        if (work_random(w, 50) == 0) {
            work_stop(w);
            work_open(w);
        }
    }
    work_turn(w, 30);
}

/* A store that joins a cluster, and is ended on the way. */
static void scenario_adopt(struct work *w)
{
    work_create(w, 0, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < 3; i++) {
        work_append(w, 0, 2, 400);
        if (i == 1)
            work_checkpoint(w);
        work_settle(w);
        work_adopt(w);
        if (i == 2)
            work_append(w, 0, 1, 400);
        work_turn(w, (int)work_random(w, i + 1));
        if (i < 2)
            work_crash(w);
        else
            work_stop(w);
        work_open(w);
    }
    work_append(w, 0, 1, 400);
    work_turn(w, 10);
}

const struct work_scenario work_scenarios[] = {
    {.name = "format", .run = work_format, .is_format = 1},
    {.name = "append", .run = work_append_some},
    {.name = "truncate", .run = scenario_truncate, .seed = 3},
    {.name = "cut all", .run = work_cut_all, .flush_bytes = 2000},
    {.name = "epoch", .run = scenario_epoch},
    {.name = "delete", .run = scenario_delete, .flush_bytes = 1500},
    {.name = "retention", .run = work_retention, .retention_bytes = 20000},
    {.name = "lap", .run = work_lap},
    {.name = "interval", .run = scenario_interval, .flush_bytes = 4000},
    {.name = "interval unsynced", .run = scenario_interval, .seed = 2},
    {.name = "stop", .run = scenario_stop, .flush_bytes = 2000},
    {.name = "roll", .run = work_roll, .flush_bytes = 5000},
    {.name = "recreate", .run = scenario_recreate, .flush_bytes = 2000},
    {.name = "reset", .run = scenario_reset, .flush_bytes = 2000},
    {.name = "delete before",
     .run = scenario_delete_before,
     .flush_bytes = 3000},
    {.name = "adopt", .run = scenario_adopt, .joins = 1},
    {.name = "checkpoint", .run = scenario_checkpoint, .flush_bytes = 2500},
    {.name = "many", .run = scenario_many, .flush_bytes = 3000},
    {.name = "few handles",
     .run = scenario_many,
     .seed = 5,
     .flush_bytes = 3000,
     .file_max = 8},
    {.name = "mixed 1", .run = scenario_mixed, .seed = 1, .flush_bytes = 3000},
    {.name = "mixed 2", .run = scenario_mixed, .seed = 2, .flush_bytes = 9000},
    {.name = "mixed 3", .run = scenario_mixed, .seed = 3},
};

const int work_scenario_count = sizeof work_scenarios / sizeof *work_scenarios;
