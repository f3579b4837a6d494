/*
 * What actors do to the hosts: at each step one thing, drawn.
 */
#include "world.h"

#include "need.h"

/* A host that is down is started by somebody, at the latest. */
static void actor_plan_start(struct host *h)
{
    struct world *w = h->w;

    h->start_ns = w->now_ns + choice_log(w->choice, MS, w->o.down_ns);
}

static void actor_power_cut(struct host *h)
{
    if (h->state == HOST_UP)
        host_cut_power(h, host_draw_crash(h->w));
    actor_plan_start(h);
}

static void actor_blackout(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++)
        actor_power_cut(&w->hosts[i]);
}

static void actor_open_cut(struct host *h)
{
    actor_power_cut(h);
    h->cut_after = (uint32_t)choice_log(h->w->choice, 1, 200);
    h->cut = host_draw_crash(h->w);
}

static struct sim_fault *actor_add(struct host *h, struct sim_fault fault)
{
    struct sim_faults *f = &h->disk->faults;

    if (f->count == SIM_FAULTS_MAX)
        sim_faults_clear(f);
    fault.times = 1 + choice_below(h->w->choice, 3);
    fault.skip = choice_below(h->w->choice, 40);
    return sim_faults_add(f, fault);
}

/* Not among them: syncs that fail and say nothing. Who has one copy alone can
 * do nothing about them. */
static void actor_sync_error(struct host *h)
{
    static const enum sim_fault_kind kinds[] = {
        SIM_FAULT_CODE, SIM_FAULT_SYNC_CACHED, SIM_FAULT_SYNC_REVERTED,
        SIM_FAULT_SYNC_ZEROS};
    struct sim_fault fault = {.call = SIM_SYNC};

    fault.kind = kinds[choice_below(h->w->choice,
                                    (uint64_t)(sizeof kinds / sizeof *kinds))];
    actor_add(h, fault);
}

static void actor_disk_full(struct host *h)
{
    if (h->disk->capacity)
        h->disk->capacity = 0;
    else
        h->disk->capacity = sim_disk_used(h->disk) +
                            (uint64_t)choice_log(h->w->choice, 512, 1 << 19);
}

static void actor_wall_jump(struct host *h)
{
    int64_t by = choice_log(h->w->choice, 1, INT64_C(1) << 36);

    h->wall_ms += choice_below(h->w->choice, 2) ? by : -by;
    if (h->wall_ms < -INT64_C(1700000000000))
        h->wall_ms = 0;
}

static void actor_disk(struct host *h, enum fault_kind kind)
{
    struct world *w = h->w;

    switch (kind) {
    case FAULT_STALL:
        actor_add(h, (struct sim_fault){
                         .kind = SIM_FAULT_STALL,
                         .call = SIM_CALLS,
                         .stall_ns = choice_log(w->choice, MS, 30 * SECOND)});
        break;
    case FAULT_DISK_ERROR:
        actor_add(h, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                        .call = (enum sim_call)choice_below(
                                            w->choice, SIM_CALLS + 1)});
        break;
    case FAULT_SYNC_ERROR:
        actor_sync_error(h);
        break;
    case FAULT_SHORT_WRITE:
        actor_add(h,
                  (struct sim_fault){.kind = SIM_FAULT_SHORT,
                                     .call = SIM_WRITE,
                                     .bytes = choice_below(w->choice, 9000)});
        break;
    case FAULT_DISK_FULL:
        actor_disk_full(h);
        break;
    default:
        break;
    }
}

static void actor_isolate(struct host *h)
{
    struct world *w = h->w;
    int64_t until = w->now_ns + choice_log(w->choice, 10 * MS, w->o.cut_ns);

    for (int i = 0; i < w->o.hosts; i++)
        if (i != h->index)
            net_cut(w, h->index, i, 1, until);
}

static void actor_net(struct host *h, enum fault_kind kind)
{
    struct world *w = h->w;
    int64_t until = w->now_ns + choice_log(w->choice, 10 * MS, w->o.cut_ns);
    int other = (h->index + 1 +
                 (int)choice_below(w->choice, (uint64_t)w->o.hosts - 1)) %
                w->o.hosts;

    switch (kind) {
    case FAULT_LINK_RESET:
        net_reset(h);
        break;
    case FAULT_CUT:
        net_cut(w, h->index, other, 1, until);
        break;
    case FAULT_CUT_ONE_WAY:
        net_cut(w, h->index, other, 0, until);
        break;
    case FAULT_ISOLATE:
        actor_isolate(h);
        break;
    case FAULT_ISOLATE_LEADER:
        if (w->leader_id)
            actor_isolate(&w->hosts[w->leader_id - 1]);
        break;
    case FAULT_SLOW:
        net_slow(w, h->index, other, until);
        break;
    case FAULT_CORRUPT:
        w->net.corrupt++;
        break;
    case FAULT_FOREIGN:
    case FAULT_MISDIRECTED:
    case FAULT_UNKNOWN:
    case FAULT_OVERSIZED:
    case FAULT_TRUNCATED:
        w->net.edits[kind - FAULT_FOREIGN + NET_EDIT_FOREIGN]++;
        break;
    default:
        net_replay(w, (int)choice_below(w->choice, NET_KEPT));
    }
}

static void actor_do(struct host *h, enum fault_kind kind)
{
    struct world *w = h->w;

    switch (kind) {
    case FAULT_POWER:
        actor_power_cut(h);
        break;
    case FAULT_KILL:
        if (h->state == HOST_UP)
            host_crash(h, (struct sim_choice){.fate = SIM_FATE_KEPT});
        actor_plan_start(h);
        break;
    case FAULT_STOP:
        if (host_is_able(h))
            host_stop(h);
        break;
    case FAULT_BLACKOUT:
        actor_blackout(w);
        break;
    case FAULT_OPEN_CUT:
        actor_open_cut(h);
        break;
    case FAULT_PAUSE:
        if (host_is_able(h))
            host_pause(h, w->now_ns + choice_log(w->choice, MS, 60 * SECOND));
        break;
    case FAULT_WALL_JUMP:
        actor_wall_jump(h);
        break;
    case FAULT_VOTERS:
        voters_change(h);
        break;
    default:
        if (kind < FAULT_LINK_RESET)
            actor_disk(h, kind);
        else
            actor_net(h, kind);
    }
}

/* 0 is nothing, then come the faults by their rates, then the clients. */
static enum fault_kind actor_draw(struct world *w)
{
    uint64_t r = choice_below(w->choice, 1000);
    uint64_t from = 1;

    if (r == 0)
        return FAULT_NONE;
    for (int i = FAULT_NONE + 1; i < FAULT_KINDS; i++) {
        if (r >= from && r < from + w->o.rates[i])
            return (enum fault_kind)i;
        from += w->o.rates[i];
    }
    return FAULT_KINDS;
}

void actor_step(struct world *w)
{
    enum fault_kind kind;
    struct host *h;

    choice_block(w->choice);
    w->steps++;
    kind = actor_draw(w);
    w->actor_ns = w->now_ns + 1 + choice_between(w->choice, 0, w->o.pace_ns);
    h = &w->hosts[choice_below(w->choice, (uint64_t)w->o.hosts)];
    world_note(w, 'a', kind, (uint64_t)h->index);
    if (kind == FAULT_KINDS) {
        client_act(w, h);
    } else if (kind != FAULT_NONE) {
        world_trace(w, h, "%s", fault_name(kind));
        w->tally.faults[kind]++;
        actor_do(h, kind);
    }
}
