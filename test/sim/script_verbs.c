/*
 * What the commands of a script do.
 */
#include "script.h"

#include "need.h"

#include <kraftlog/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long is waited for what has to come by itself. */
#define VERB_WAIT (60 * SECOND)
/* Until somebody says otherwise: some of them may be added up. */
#define VERB_EVER (INT64_MAX / 64)
/* Of a new cluster: its voters have their endpoints in the log by then. */
#define VERB_CALM (20 * SECOND)

/* ---- arguments ------------------------------------------------------------
 */

static const char *verb_word(const struct script_command *c, int i)
{
    return i < c->count ? c->arguments[i] : NULL;
}

/* How many; 1 where nothing is said. */
static int64_t verb_count(const struct script_command *c, int i)
{
    return i < c->count ? script_number(c->arguments[i]) : 1;
}

static struct host *verb_host(struct script *s, const struct script_command *c,
                              int i)
{
    int64_t id = script_number(c->arguments[i]);

    if (id <= s->w->o.hosts)
        return &s->w->hosts[id - 1];
    script_wrong(s, c, "no such host: %s", c->arguments[i]);
    return NULL;
}

/* Of something that has to be up. */
static struct host *verb_node(struct script *s, const struct script_command *c,
                              int i)
{
    struct host *h = verb_host(s, c, i);

    if (!h || h->state == HOST_UP)
        return h;
    script_wrong(s, c, "host %s is down", c->arguments[i]);
    return NULL;
}

/* ---- the cluster ----------------------------------------------------------
 */

static int cluster_option(struct options *o, const char *word)
{
    const char *value = strchr(word, '=');
    int64_t number = value ? script_number(value + 1) : -1;

    if (number < 0)
        return -1;
    if (strncmp(word, "voters=", 7) == 0 && number > 0 && number <= o->hosts)
        o->voters = (int)number;
    else if (strncmp(word, "snapshot=", 9) == 0 && number > 0)
        snprintf(o->snapshot_bytes, sizeof o->snapshot_bytes, "%.9s",
                 value + 1);
    else if (strncmp(word, "seed=", 5) == 0)
        o->seed = (uint64_t)number;
    else
        return -1;
    return 0;
}

/* Answers in a row that are the same but for the topic are one line. */
static void verb_answered(struct world *w, const char *what, int about,
                          int host, int code)
{
    struct script *s = w->user;
    struct script_answer *a = &s->answer;
    const char *outcome = code ? kl_error_name(code) : "ok";

    if (strcmp(what, "fetch") == 0 && code == 0)
        return;
    if (strcmp(what, "create") != 0 && strcmp(what, "produce") != 0) {
        script_say(s, "%s %d at %d: %s", what, about + 1, host + 1, outcome);
        return;
    }
    if (s->size == a->end && a->end && a->what == what && a->host == host &&
        a->code == code && a->last + 1 == about) {
        s->size = a->begin;
    } else {
        *a = (struct script_answer){what, about, about, host, code, s->size, 0};
    }
    a->last = about;
    if (a->first == a->last)
        script_say(s, "%s t%d at %d: %s", what, about, host + 1, outcome);
    else
        script_say(s, "%s t%d to t%d at %d: %s", what, a->first, about,
                   host + 1, outcome);
    a->end = s->size;
}

static void verb_cluster(struct script *s, const struct script_command *c)
{
    struct options o = {.seed = s->seed,
                        .hosts = (int)script_number(c->arguments[0]),
                        .latency_ns = MS,
                        .snapshot_bytes = "1048576",
                        .inbox_bytes = 1 << 24,
                        .link_bytes = 1 << 22,
                        .down_ns = MS,
                        .segment_bytes = 1 << 16,
                        .value_bytes_max = 100,
                        .profile = SIM_ADVERSARY,
                        .is_calm = 1};

    if (o.hosts < 1 || o.hosts > WORLD_HOSTS) {
        script_wrong(s, c, "1 to %d hosts", WORLD_HOSTS);
        return;
    }
    o.voters = o.hosts;
    for (int i = 1; i < c->count; i++)
        if (cluster_option(&o, c->arguments[i])) {
            script_wrong(s, c, "no such option: %s", c->arguments[i]);
            return;
        }
    choice_init(&s->choice, o.seed);
    s->w = pool_zeroed(sizeof *s->w);
    world_open(s->w, &o, &s->choice, s->trace);
    s->w->answered = verb_answered;
    s->w->user = s;
    s->w->phase = WORLD_SCRIPT;
    world_until(s->w, s->w->now_ns + VERB_CALM);
    script_changes(s);
    s->size = 0;
}

/* ---- time -----------------------------------------------------------------
 */

static struct script *verb_waiting;

/* One of them leads, and all that run agree with it. */
static int verb_is_settled(struct world *w)
{
    struct observation o;
    int64_t end = -1;
    int leaders = 0;

    for (int i = 0; i < w->o.hosts; i++) {
        const struct host *h = &w->hosts[i];

        if (!host_is_able(h))
            continue;
        door_observe(h, &o);
        leaders += o.role == KL_RAFT_LEADER && o.is_leading;
        if (o.leader_id < 0 || o.durable_leo != o.leo ||
            o.high_watermark != o.leo || o.applied != o.leo ||
            (end >= 0 && o.leo != end))
            return 0;
        end = o.leo;
    }
    return leaders == 1 && client_is_quiet(w);
}

static int verb_until_is(struct world *w)
{
    const struct script_command *c = verb_waiting->waits;

    return script_field_is(&w->hosts[script_number(c->arguments[0]) - 1],
                           c->arguments[1], c->arguments[2]);
}

/* 1, or 0 where it was not so in time. */
static int verb_wait(struct script *s, const struct script_command *c,
                     int (*done)(struct world *w), const char *limit)
{
    int64_t ns = limit ? script_duration(limit) : VERB_WAIT;

    s->waits = c;
    verb_waiting = s;
    if (world_until_done(s->w, done, s->w->now_ns + ns))
        return !s->w->failed;
    if (!s->w->failed)
        script_say(s, "%s: not within %lld ms", script_verb_name(c->verb),
                   (long long)(ns / MS));
    return 0;
}

static void verb_until(struct script *s, const struct script_command *c)
{
    struct host *h = verb_host(s, c, 0);

    if (h && script_field_is(h, c->arguments[1], c->arguments[2]) < 0)
        script_wrong(s, c, "no such state: %s %s", c->arguments[1],
                     c->arguments[2]);
    else if (h)
        (void)verb_wait(s, c, verb_until_is, verb_word(c, 3));
}

/* ---- hosts ----------------------------------------------------------------
 */

/* A name may have blanks in it, where a word has - in their place. */
static int verb_fate(const char *word, enum sim_fate *out)
{
    for (*out = SIM_FATE_LOST; word && *out < SIM_FATES; (*out)++) {
        const char *name = sim_fate_name(*out), *at = word;

        while (*name && (*name == *at || (*name == ' ' && *at == '-')))
            name++, at++;
        if (!*name && !*at)
            return 0;
    }
    return word ? -1 : 0;
}

static void verb_crash(struct script *s, const struct script_command *c)
{
    struct host *h = verb_node(s, c, 0);
    struct sim_choice choice = {.profile = s->w->o.profile, .number = 1};

    if (!h)
        return;
    if (verb_fate(verb_word(c, 1), &choice.fate))
        script_wrong(s, c, "no such fate: %s", c->arguments[1]);
    else
        host_cut_power(h, choice);
}

static void verb_start(struct script *s, const struct script_command *c)
{
    struct host *h = verb_host(s, c, 0);

    if (!h)
        return;
    if (h->state == HOST_UP) {
        script_wrong(s, c, "host %s is up", c->arguments[0]);
        return;
    }
    if (c->verb == SCRIPT_CRASH_IN_OPEN) {
        h->cut_after = (uint32_t)script_number(c->arguments[1]);
        h->cut.fate = SIM_FATE_LOST;
    }
    host_start(h);
}

static void verb_end(struct script *s, const struct script_command *c)
{
    struct host *h = verb_node(s, c, 0);

    if (!h)
        return;
    switch (c->verb) {
    case SCRIPT_STOP:
        host_stop(h);
        break;
    case SCRIPT_KILL:
        host_crash(h, (struct sim_choice){.fate = SIM_FATE_KEPT});
        break;
    case SCRIPT_PAUSE:
        host_pause(h, VERB_EVER);
        break;
    default:
        h->paused_ns = 0;
    }
}

/* ---- network --------------------------------------------------------------
 */

/* Groups of hosts with a | between them. */
static void verb_partition(struct script *s, const struct script_command *c)
{
    int group[WORLD_HOSTS] = {0};
    int now = 1;

    for (int i = 0; i < c->count; i++) {
        int64_t id = script_number(c->arguments[i]);

        if (strcmp(c->arguments[i], "|") == 0) {
            now++;
        } else if (id < 1 || id > s->w->o.hosts) {
            script_wrong(s, c, "no such host: %s", c->arguments[i]);
            return;
        } else {
            group[id - 1] = now;
        }
    }
    for (int a = 0; a < s->w->o.hosts; a++)
        for (int b = 0; b < s->w->o.hosts; b++)
            if (group[a] != group[b])
                net_cut(s->w, a, b, 1, VERB_EVER);
}

static void verb_cut(struct script *s, const struct script_command *c)
{
    struct host *a = verb_host(s, c, 0), *b = a ? verb_host(s, c, 2) : NULL;
    const char *way = c->arguments[1];

    if (!b)
        return;
    if (strcmp(way, "<>") != 0 && strcmp(way, ">") != 0)
        script_wrong(s, c, "not > or <>: %s", way);
    else
        net_cut(s->w, a->index, b->index, *way == '<', VERB_EVER);
}

static int verb_side(struct script *s, const struct script_command *c, int i)
{
    struct host *h;

    if (strcmp(c->arguments[i], "*") == 0)
        return -1;
    h = verb_host(s, c, i);
    return h ? h->index : -1;
}

/* A kind of message: Vote for both ways, Vote? and Vote! for one. */
static void verb_rule(struct script *s, const struct script_command *c)
{
    struct net_rule rule = {.fate = c->verb == SCRIPT_DROP   ? NET_DROP
                                    : c->verb == SCRIPT_HOLD ? NET_HOLD
                                                             : NET_TWICE,
                            .api_key = -1,
                            .is_response = -1,
                            .times = -1};
    char name[64];
    size_t size;

    snprintf(name, sizeof name, "%s", c->arguments[0]);
    size = strlen(name);
    if (name[size - 1] == '?' || name[size - 1] == '!') {
        rule.is_response = name[size - 1] == '!';
        name[size - 1] = 0;
    }
    if (strcmp(name, "*") != 0 && (rule.api_key = net_api_key(name)) < 0) {
        script_wrong(s, c, "no such message: %s", name);
        return;
    }
    rule.from = verb_side(s, c, 1);
    rule.to = verb_side(s, c, 2);
    if (c->count > 3)
        rule.times = script_number(c->arguments[3]);
    if (net_rule_add(s->w, &rule))
        script_wrong(s, c, "too many rules");
}

/* ---- disks ----------------------------------------------------------------
 */

static void disk_fault(struct script *s, const struct script_command *c,
                       struct host *h, struct sim_fault fault)
{
    const char *call = verb_word(c, 2);

    fault.part = verb_word(c, 3);
    for (fault.call = 0; call && fault.call < SIM_CALLS; fault.call++)
        if (strcmp(sim_call_name(fault.call), call) == 0)
            break;
    if (fault.call == SIM_CALLS || !call)
        script_wrong(s, c, "no such call: %s", call ? call : "");
    else
        sim_faults_add(&h->disk->faults, fault);
}

/* Calls that are held return now. */
void script_disk_free(struct host *h)
{
    sim_faults_clear(&h->disk->faults);
    h->disk->capacity = 0;
    for (int i = 0; i < KL_OS_LANE_COUNT; i++)
        if (h->lanes.lanes[i].first &&
            h->lanes.lanes[i].due_ns > h->w->now_ns + VERB_EVER / 2)
            h->lanes.lanes[i].due_ns = h->w->now_ns;
    h->lanes_ns = sim_lanes_next_ns(&h->lanes);
}

/* Copies of disks, while the host is down. */
static void disk_change(struct script *s, const struct script_command *c,
                        struct host *h)
{
    const char *what = c->arguments[1];
    struct sim_choice kept = {.fate = SIM_FATE_KEPT};
    struct sim_disk **saved = &s->saved[h->index];

    if (strcmp(what, "save") == 0) {
        if (*saved)
            sim_disk_free(*saved);
        *saved = sim_disk_crash(h->disk, kept);
        sim_disk_settle(*saved);
    } else if (h->state == HOST_UP) {
        script_wrong(s, c, "host %d is up", h->index + 1);
    } else if (strcmp(what, "wipe") == 0) {
        host_put_disk(h, sim_disk_new(0));
        check_epochs_forget(&h->w->checks.epochs, h->index);
    } else if (!*saved) {
        script_wrong(s, c, "nothing is saved of host %d", h->index + 1);
    } else {
        host_put_disk(h, sim_disk_crash(*saved, kept));
        check_epochs_forget(&h->w->checks.epochs, h->index);
    }
}

static void disk_lose(struct script *s, const struct script_command *c,
                      struct host *h)
{
    struct kl_os_vfs *vfs = &h->disk->base;
    char path[128];

    if (h->state == HOST_UP || c->count < 3) {
        script_wrong(s, c, "of a host that is down, a file");
        return;
    }
    snprintf(path, sizeof path, "data/%s", c->arguments[2]);
    if (vfs->ops->unlink(vfs, path))
        script_wrong(s, c, "no such file: %s", path);
    sim_disk_settle(h->disk);
}

static void verb_disk(struct script *s, const struct script_command *c)
{
    struct host *h = verb_host(s, c, 0);
    const char *what = c->arguments[1];

    if (!h)
        return;
    if (strcmp(what, "hold") == 0 && h->state != HOST_UP)
        script_wrong(s, c, "host %d is down, and would never open",
                     h->index + 1);
    else if (strcmp(what, "hold") == 0)
        disk_fault(
            s, c, h,
            (struct sim_fault){.kind = SIM_FAULT_STALL, .stall_ns = VERB_EVER});
    else if (strcmp(what, "fail") == 0)
        disk_fault(s, c, h,
                   (struct sim_fault){.kind = SIM_FAULT_CODE, .code = KL_EIO});
    else if (strcmp(what, "free") == 0)
        script_disk_free(h);
    else if (strcmp(what, "lose") == 0)
        disk_lose(s, c, h);
    else if (strcmp(what, "save") == 0 || strcmp(what, "restore") == 0 ||
             strcmp(what, "wipe") == 0)
        disk_change(s, c, h);
    else
        script_wrong(s, c, "no such thing to do: %s", what);
}

/* ---- clients --------------------------------------------------------------
 */

static void verb_ask(struct script *s, const struct script_command *c)
{
    struct host *h = verb_node(s, c, 0), *other = NULL;
    int64_t topic = -1;
    int r = 0;

    if (c->verb == SCRIPT_ADD_VOTER || c->verb == SCRIPT_REMOVE_VOTER)
        other = verb_host(s, c, 1);
    if (c->verb == SCRIPT_PRODUCE && c->arguments[1][0] == 't')
        topic = script_number(c->arguments[1] + 1);
    if (s->error_line)
        return;
    switch (c->verb) {
    case SCRIPT_CREATE:
        for (int64_t i = verb_count(c, 1); i > 0 && !r; i--)
            r = client_ask_create(s->w, h, 1);
        break;
    case SCRIPT_PRODUCE:
        r = topic < 0 ? -1
                      : client_ask_produce(s->w, h, (int)topic,
                                           (int)verb_count(c, 2));
        break;
    case SCRIPT_QUORUM:
        r = client_ask_quorum(s->w, h);
        break;
    default:
        r = client_ask_voter(s->w, h, other->index, c->verb == SCRIPT_ADD_VOTER,
                             0);
    }
    if (r)
        script_wrong(s, c, "nobody can be asked");
}

/* What is acknowledged is looked for where all have come to rest. */
static void verb_verify(struct script *s, const struct script_command *c)
{
    if (!verb_wait(s, c, verb_is_settled, NULL))
        return;
    client_verify(s->w);
    if (verb_wait(s, c, client_is_quiet, NULL))
        script_say(s, "verified");
}

/* ---- all of them ----------------------------------------------------------
 */

static void verb_world(struct script *s, const struct script_command *c)
{
    switch (c->verb) {
    case SCRIPT_TICK:
        world_until(s->w, s->w->now_ns + script_duration(c->arguments[0]));
        break;
    case SCRIPT_UNTIL:
        verb_until(s, c);
        break;
    case SCRIPT_SETTLE:
        (void)verb_wait(s, c, verb_is_settled, verb_word(c, 0));
        break;
    case SCRIPT_ANSWER:
        (void)verb_wait(s, c, client_is_quiet, verb_word(c, 0));
        break;
    case SCRIPT_HEAL:
        net_mend(s->w);
        break;
    case SCRIPT_RELEASE:
        net_rule_clear(s->w, 1);
        break;
    case SCRIPT_VERIFY:
        verb_verify(s, c);
        break;
    case SCRIPT_SHOW:
        script_show(s);
        break;
    default:
        script_counters(s, c);
    }
}

void script_command(struct script *s, const struct script_command *c)
{
    switch (c->verb) {
    case SCRIPT_CLUSTER:
        verb_cluster(s, c);
        break;
    case SCRIPT_START:
    case SCRIPT_CRASH_IN_OPEN:
        verb_start(s, c);
        break;
    case SCRIPT_STOP:
    case SCRIPT_KILL:
    case SCRIPT_PAUSE:
    case SCRIPT_RESUME:
        verb_end(s, c);
        break;
    case SCRIPT_CRASH:
        verb_crash(s, c);
        break;
    case SCRIPT_PARTITION:
        verb_partition(s, c);
        break;
    case SCRIPT_CUT:
        verb_cut(s, c);
        break;
    case SCRIPT_DROP:
    case SCRIPT_HOLD:
    case SCRIPT_TWICE:
        verb_rule(s, c);
        break;
    case SCRIPT_DISK:
        verb_disk(s, c);
        break;
    case SCRIPT_CREATE:
    case SCRIPT_PRODUCE:
    case SCRIPT_ADD_VOTER:
    case SCRIPT_REMOVE_VOTER:
    case SCRIPT_QUORUM:
        verb_ask(s, c);
        break;
    default:
        verb_world(s, c);
    }
}
