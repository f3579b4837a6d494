/*
 * One machine: its clock, its disk, the lanes of its node, and what may happen
 * to all of that.
 */
#include "world.h"

#include "mark.h"

#include "need.h"

#include <kraftlog/node.h>
#include <stdio.h>
#include <string.h>

/* Between two polls of a node that has more to do. */
#define HOST_TURN_NS (2 * US)
/* More polls in so much time are a circle. */
#define HOST_BUSY_NS (100 * MS)
enum { HOST_BUSY_POLLS = 5000 };

static const char host_dir[] = "data";

/* ---- clock ----------------------------------------------------------------
 */

static int64_t clock_monotonic_ns(void *user)
{
    const struct host *h = user;

    return h->now_ns + h->boot_ns;
}

static int64_t clock_wall_ms(void *user)
{
    const struct host *h = user;

    return INT64_C(1700000000000) + h->now_ns / MS + h->wall_ms;
}

/* ---- life -----------------------------------------------------------------
 */

void host_put_disk(struct host *h, struct sim_disk *disk)
{
    if (h->disk) {
        h->w->tally.disk_calls += h->disk->faults.calls[SIM_CALLS];
        sim_disk_free(h->disk);
    }
    h->disk = disk;
    sim_faults_seed(&disk->faults, choice_seed(h->w->choice));
    sim_lanes_watch(&h->lanes, disk);
}

void host_init(struct world *w, int index)
{
    struct host *h = &w->hosts[index];

    h->w = w;
    h->index = index;
    h->id = index + 1;
    h->start_ns = -1;
    h->now_ns = w->now_ns;
    h->clock.monotonic_ns = clock_monotonic_ns;
    h->clock.wall_ms = clock_wall_ms;
    h->clock.user = h;
    pool_alloc_init(&h->memory);
    sim_lanes_init(&h->lanes, choice_seed(w->choice), &h->now_ns);
    host_put_disk(h, sim_disk_new(0));
    net_join(h);
    h->applied = h->voters_offset = -1;
}

void host_deinit(struct host *h)
{
    need(!h->n);
    h->w->tally.disk_calls += h->disk->faults.calls[SIM_CALLS];
    sim_disk_free(h->disk);
    if (h->image)
        sim_disk_free(h->image);
    net_leave(h);
    sim_lanes_deinit(&h->lanes);
}

int host_is_able(const struct host *h)
{
    return h->state == HOST_UP && !h->paused_ns && !h->is_stopping;
}

void host_wake(struct host *h)
{
    int64_t now = h->now_ns > h->w->now_ns ? h->now_ns : h->w->now_ns;

    if (h->state == HOST_UP && h->wake_ns > now)
        h->wake_ns = now;
}

/* When the node, or a lane of it, goes on. */
static void host_plan(struct host *h)
{
    int64_t deadline = door_deadline_ns(h) - h->boot_ns;
    int64_t soonest = h->now_ns + HOST_TURN_NS;

    h->wake_ns = door_deadline_ns(h) == INT64_MAX ? INT64_MAX
                 : deadline < soonest             ? soonest
                                                  : deadline;
    if (sim_lanes_has_done(&h->lanes))
        h->wake_ns = soonest;
    h->lanes_ns = sim_lanes_next_ns(&h->lanes);
}

int64_t host_next_ns(const struct host *h)
{
    if (h->paused_ns)
        return h->paused_ns;
    return h->wake_ns < h->lanes_ns ? h->wake_ns : h->lanes_ns;
}

static void host_reset_time(struct host *h)
{
    /* Nothing is under way there that could go back in time. */
    h->now_ns = h->lanes.time_ns = h->busy_ns = h->w->now_ns;
    h->busy_polls = 0;
    h->wake_ns = h->lanes_ns = INT64_MAX;
    h->paused_ns = 0;
    h->is_stopping = 0;
}

/* The node is given up, whatever it was doing; the disk stays. */
void host_close(struct host *h)
{
    if (!h->n)
        return;
    h->state = HOST_DOWN;
    need_ok(kl_runtime_close(h->n));
    h->n = NULL;
    h->applied = h->voters_offset = -1;
    h->log_seen = 0;
    host_reset_time(h);
    if (!h->w->failed) {
        const char *wrong =
            check_memory(&h->w->checks.memory, h->index, h->memory.live_blocks);

        if (wrong)
            world_fail(h->w, "memory", "%s", wrong);
    }
}

/* ---- opening --------------------------------------------------------------
 */

/* The power goes while the node opens. */
static void host_hook(void *user, enum sim_call call, enum sim_when when,
                      const char *path)
{
    struct host *h = user;

    if (h->w->trace > 1 && when == SIM_AFTER)
        world_trace(h->w, NULL, "host %d: %s %s", (int)h->id,
                    sim_call_name(call), path);
    if (when == SIM_BEFORE || h->image || !h->cut_after || --h->cut_after > 0)
        return;
    h->image = sim_disk_crash(h->disk, h->cut);
}

/* The first founds the cluster, all others join it. */
static void host_configure(const struct host *h, struct kl_base_config *config)
{
    char text[160];
    size_t size = 0;

    snprintf(text, sizeof text, "%d", (int)h->id);
    need_ok(kl_base_config_set(config, "node.id", text, NULL));
    need_ok(kl_base_config_set(config, "wal.bytes", "256k", NULL));
    need_ok(kl_base_config_set(
        config, "metadata.log.max.record.bytes.between.snapshots",
        h->w->o.snapshot_bytes, NULL));
    if (h->w->o.hosts == 1)
        return;
    snprintf(text, sizeof text, "sim:%d", (int)h->id);
    need_ok(kl_base_config_set(config, "advertised.listeners", text, NULL));
    for (int i = 0; i < h->w->o.hosts; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%d@sim:%d",
                                 i ? "," : "", i + 1, i + 1);
    need_ok(kl_base_config_set(config, "controller.quorum.bootstrap.servers",
                               text, NULL));
}

static void host_says(int level, const char *text, void *user)
{
    const struct host *h = user;

    (void)level;
    world_trace(h->w, NULL, "host %d: %s", (int)h->id, text);
}

static int host_open(struct host *h)
{
    struct kl_runtime_options options = {
        .alloc = h->memory.alloc,
        .vfs = &h->disk->base,
        .clock = &h->clock,
        .lanes = &h->lanes.base,
        .net = h->w->o.hosts > 1 ? h->net : NULL,
    };
    int r;

    kl_base_config_init(&options.config);
    host_configure(h, &options.config);
    if (h->w->trace > 1) {
        options.trace_level = KL_TRACE_DEBUG;
        options.trace = host_says;
        options.trace_user = h;
    }
    need_ok(kl_runtime_new(&h->n, &options));
    if (h->cut_after || h->w->trace > 1) {
        h->disk->hook = host_hook;
        h->disk->hook_user = h;
    }
    r = kl_runtime_open(h->n, host_dir,
                        KL_OPEN_CREATE |
                            (h->index || h->joins ? KL_OPEN_JOIN : 0));
    h->cut_after = 0;
    if (h->w->trace < 2)
        h->disk->hook = NULL;
    return r;
}

/* A start that failed is only right where the disk has failed in it. */
static void host_open_failed(struct host *h, int code)
{
    char text[256] = "";

    KL_MARK(OPEN_FAILED);
    kl_runtime_errmsg(h->n, text, sizeof text);
    world_trace(h->w, h, "open %s: %s", kl_error_name(code), text);
    h->code = code;
    if (h->w->phase == WORLD_SCRIPT) {
        host_close(h);
        return;
    }
    if (code == h->expects) {
        host_close(h);
        h->refused = code;
        return;
    }
    if (h->disk->faults.struck == h->struck && !h->disk->capacity)
        world_fail(h->w, "open", "node %d: %s: %s", (int)h->id,
                   kl_error_name(code), text);
    host_close(h);
    h->failures++;
    h->start_ns = h->w->now_ns + choice_between(h->w->choice, 1, 50) * MS;
}

static void host_take_image(struct host *h)
{
    KL_MARK(OPEN_CUT);
    world_trace(h->w, h, "cut in open");
    host_close(h);
    host_put_disk(h, h->image);
    h->image = NULL;
    if (h->w->phase == WORLD_SCRIPT)
        return;
    h->start_ns = h->w->now_ns + choice_between(h->w->choice, 1, 50) * MS;
}

void host_start(struct host *h)
{
    struct world *w = h->w;
    int r;

    need(!h->n);
    host_reset_time(h);
    h->start_ns = -1;
    h->code = 0;
    h->boots++;
    w->tally.boots++;
    h->boot_ns = choice_between(w->choice, 0, 1000) * SECOND;
    h->struck = h->disk->faults.struck;
    r = host_open(h);
    world_note(w, 'o', (uint64_t)h->index, (uint64_t)r);
    if (h->image) {
        host_take_image(h);
    } else if (r) {
        host_open_failed(h, r);
    } else {
        h->state = HOST_UP;
        h->failures = 0;
        host_plan(h);
        h->wake_ns = h->now_ns; /* a host polls what it has opened */
        world_trace(w, h, "open");
    }
}

/* ---- ends -----------------------------------------------------------------
 */

struct sim_choice host_draw_crash(struct world *w)
{
    static const enum sim_fate fates[] = {SIM_FATE_LOST, SIM_FATE_RANDOM,
                                          SIM_FATE_MOSTLY_LOST,
                                          SIM_FATE_MOSTLY_KEPT};
    struct sim_choice choice = {.profile = w->o.profile,
                                .has_garbage = w->o.has_garbage};

    choice.fate = fates[choice_below(w->choice, 4)];
    choice.number = choice_seed(w->choice);
    return choice;
}

/* The image first: what the node does while it is closed never happens. */
void host_crash(struct host *h, struct sim_choice choice)
{
    struct sim_disk *image = sim_disk_crash(h->disk, choice);

    if (choice.fate != SIM_FATE_KEPT && sim_disk_images(h->disk, 2) > 1)
        KL_MARK(TORN);
    world_trace(h->w, h, "crash %s", sim_fate_name(choice.fate));
    host_close(h);
    host_put_disk(h, image);
}

void host_cut_power(struct host *h, struct sim_choice choice)
{
    h->is_silent = 1;
    host_crash(h, choice);
    h->is_silent = 0;
}

void host_stop(struct host *h)
{
    world_trace(h->w, h, "stop");
    h->is_stopping = 1;
    (void)kl_runtime_stop(h->n, 0);
    host_wake(h);
}

void host_pause(struct host *h, int64_t until_ns)
{
    world_trace(h->w, h, "pause");
    h->paused_ns = until_ns;
}

/* ---- what happens ---------------------------------------------------------
 */

static void host_mark(struct host *h, const struct observation *o)
{
    struct world *w = h->w;

    if (o->role == KL_RAFT_PROSPECTIVE)
        KL_MARK(PROSPECTIVE);
    if (o->role == KL_RAFT_CANDIDATE)
        KL_MARK(CANDIDATE);
    if (o->role == KL_RAFT_RESIGNED)
        KL_MARK(RESIGNED);
    if (o->durable_voted_id > 0 && o->durable_voted_id != o->id)
        KL_MARK(VOTED);
    if (o->counters.truncations)
        KL_MARK(TRUNCATED);
    if (o->counters.stale)
        KL_MARK(STALE);
    if (o->voters_offset < h->voters_offset)
        KL_MARK(VOTERS_BACK);
    h->voters_offset = o->voters_offset;
    if (o->role != KL_RAFT_LEADER || o->epoch <= w->leader_epoch)
        return;
    if (w->leader_id && w->leader_id != o->id)
        KL_MARK(NEW_LEADER);
    w->leader_id = o->id;
    w->leader_epoch = o->epoch;
    w->tally.elections++;
}

/* The image, where it is another one than the last time. */
static const char *host_image(struct host *h, const struct observation *o)
{
    struct world *w = h->w;
    uint64_t image;

    if (o->applied == h->applied || !door_image_is_whole(h))
        return NULL;
    if (h->applied >= 0 && o->log_start > h->applied)
        KL_MARK(SNAPSHOT);
    h->applied = o->applied;
    image = door_image(h);
    world_note(w, 'i', (uint64_t)o->applied, image);
    return check_images(&w->checks.images, h->index, o->applied, image);
}

/* Whatever was delivered has been looked at where there is no more to do. */
static const char *host_messages(struct host *h, const struct observation *o)
{
    struct check_messages *c = &h->w->checks.messages;
    const char *wrong = check_messages_epoch(c, h->index, o->epoch);
    uint64_t counted[BAD_MESSAGES];

    if (wrong || h->w->o.hosts == 1)
        return wrong;
    if (!door_messages(h, counted)) {
        if (!door_has_cluster(h))
            check_messages_excuse(c, h->index, h->boots, counted);
        return NULL;
    }
    if (h->wake_ns <= h->now_ns + HOST_TURN_NS)
        return wrong;
    if (counted[BAD_FOREIGN])
        KL_MARK(FOREIGN);
    if (counted[BAD_UNKNOWN])
        KL_MARK(UNKNOWN_KIND);
    if (counted[BAD_MISDIRECTED])
        KL_MARK(MISDIRECTED);
    if (counted[BAD_MALFORMED])
        KL_MARK(MALFORMED);
    return check_messages(c, h->index, h->boots, counted);
}

static void host_observe(struct host *h)
{
    struct world *w = h->w;
    struct checks *c = &w->checks;
    struct observation o;
    const char *wrong;

    door_observe(h, &o);
    /* What was cut may have something else in its place. */
    if (o.counters.truncations != h->cuts || o.leo < h->log_seen)
        h->log_seen = o.high_watermark;
    h->cuts = o.counters.truncations;
    h->log_seen = door_log_tail(h, h->log_seen);
    world_note(w, 'v', (uint64_t)o.epoch << 8 | (uint64_t)o.role,
               (uint64_t)o.leo << 32 ^ (uint64_t)o.high_watermark);
    host_mark(h, &o);
    if ((wrong = check_invariants(&c->invariants, &o)))
        world_fail(w, "invariants", "%s", wrong);
    if ((wrong = check_epochs(&c->epochs, &o)))
        world_fail(w, "epochs", "%s", wrong);
    if ((wrong = check_high_watermark(&c->high_watermark, &o)))
        world_fail(w, "high-watermark", "%s", wrong);
    if ((wrong = check_leaders(&c->leaders, &o)))
        world_fail(w, "leaders", "%s", wrong);
    if ((wrong = check_elections(&c->elections, &o)))
        world_fail(w, "elections", "%s", wrong);
    if ((wrong = check_commit(&c->commit, &o)))
        world_fail(w, "commit", "%s", wrong);
    if ((wrong = host_messages(h, &o)))
        world_fail(w, "messages", "%s", wrong);
    if ((wrong = check_own_epoch(&c->own_epoch, &o)))
        world_fail(w, "own-epoch", "%s", wrong);
    if ((wrong = check_voters(&c->voters, &o)))
        world_fail(w, "voters", "%s", wrong);
    if ((wrong = host_image(h, &o)))
        world_fail(w, "images", "%s", wrong);
}

/* A node whose store has failed is started again by somebody. */
static void host_check_failed(struct host *h)
{
    struct world *w = h->w;

    if (h->is_stopping || w->phase == WORLD_SCRIPT)
        return;
    if (kl_runtime_state(h->n) != KL_NODE_FAILED || h->start_ns >= 0)
        return;
    KL_MARK(STORE_FAILED);
    world_trace(w, h, "failed");
    h->start_ns = w->now_ns + choice_between(w->choice, 1, 2000) * MS;
}

/* A node that has nothing to do sleeps. */
static void host_check_busy(struct host *h)
{
    if (h->now_ns >= h->busy_ns + HOST_BUSY_NS) {
        h->busy_ns = h->now_ns;
        h->busy_polls = 0;
    } else if (++h->busy_polls > HOST_BUSY_POLLS) {
        world_fail(h->w, "busy", "node %d is polled %d times in %lld ms",
                   (int)h->id, (int)HOST_BUSY_POLLS,
                   (long long)(HOST_BUSY_NS / MS));
    }
}

void host_poll(struct host *h)
{
    struct world *w = h->w;

    if (h->now_ns < w->now_ns)
        h->now_ns = w->now_ns;
    need_ok(kl_runtime_poll(h->n, 0));
    w->tally.polls++;
    host_check_busy(h);
    if (kl_runtime_state(h->n) == KL_NODE_STOPPED) {
        KL_MARK(STOPPED);
        host_close(h);
        world_trace(w, h, "stopped");
        if (w->phase < WORLD_SCRIPT)
            h->start_ns = w->now_ns + choice_log(w->choice, MS, w->o.down_ns);
        return;
    }
    host_plan(h);
    host_observe(h);
    host_check_failed(h);
}

void host_lanes(struct host *h)
{
    if (h->now_ns < h->w->now_ns)
        h->now_ns = h->w->now_ns;
    sim_lanes_run(&h->lanes, h->now_ns);
    h->lanes_ns = sim_lanes_next_ns(&h->lanes);
    if (sim_lanes_has_done(&h->lanes))
        h->wake_ns = h->now_ns;
}
