/*
 * What a script says of its hosts.
 */
#include "script.h"

#include <kraftlog/error.h>
#include <kraftlog/node.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const show_roles[] = {
    "unattached", "prospective", "candidate", "leader", "follower", "resigned"};

struct show_line
{
    char text[SCRIPT_LINE];
    size_t size;
};

static void show_add(struct show_line *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void show_add(struct show_line *l, const char *format, ...)
{
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(l->text + l->size, sizeof l->text - l->size, format, args);
    va_end(args);
    l->size += (size_t)size;
    if (l->size >= sizeof l->text)
        l->size = sizeof l->text - 1;
}

static void show_id(struct show_line *l, const char *name, int32_t id)
{
    if (id > 0)
        show_add(l, " %s %d", name, (int)id);
    else
        show_add(l, " %s -", name);
}

static const char *show_life(const struct host *h)
{
    if (h->state != HOST_UP)
        return "down";
    if (kl_runtime_state(h->n) == KL_NODE_FAILED)
        return "failed";
    return h->paused_ns ? "paused" : h->is_stopping ? "stopping" : "up";
}

/* What is the rule is left out: that all is durable, applied and stored. */
static void show_log(struct show_line *l, const struct observation *o)
{
    show_add(l, " log %lld..%lld", (long long)o->log_start, (long long)o->leo);
    if (o->durable_leo != o->leo)
        show_add(l, " durable %lld", (long long)o->durable_leo);
    show_add(l, " committed %lld", (long long)o->high_watermark);
    if (o->applied != o->high_watermark)
        show_add(l, " applied %lld", (long long)o->applied);
    if (o->snapshot_end > 0)
        show_add(l, " snapshot %lld", (long long)o->snapshot_end);
}

/* By their ids: who has changed its record is the last of the set. */
static void show_voters(struct show_line *l, const struct observation *o)
{
    const char *before = " voters ";

    for (int32_t id = 1; id <= WORLD_HOSTS; id++)
        for (uint32_t i = 0; i < o->voter_count; i++)
            if (o->voters[i] == id) {
                show_add(l, "%s%d", before, (int)id);
                before = ",";
            }
}

/* Who looks for a leader asks and rests in turns; what it is in between is what
 * stays. */
static const char *show_role(const struct observation *o, int is_whole)
{
    if (is_whole || o->role != KL_RAFT_PROSPECTIVE)
        return show_roles[o->role];
    return show_roles[o->leader_id < 0 ? KL_RAFT_UNATTACHED : KL_RAFT_FOLLOWER];
}

static void show_quorum(struct show_line *l, const struct observation *o,
                        int is_whole)
{
    show_add(l, "%s epoch %d", show_role(o, is_whole), (int)o->epoch);
    show_id(l, "leader", o->leader_id);
    /* What a vote was for is of no consequence once it is known who leads. */
    if (is_whole || o->leader_id < 0)
        show_id(l, "voted", o->voted_id);
    if (o->durable_epoch != o->epoch)
        show_add(l, " stored epoch %d", (int)o->durable_epoch);
    if (is_whole)
        show_log(l, o);
    show_voters(l, o);
    if (o->role == KL_RAFT_LEADER && o->is_leading)
        show_add(l, " acts");
    if (!o->is_voter)
        show_add(l, " observer");
    if (is_whole && !o->may_vote)
        show_add(l, " no-vote");
    if (o->fault)
        show_add(l, " fault %s", kl_error_name(o->fault));
}

static void show_host(struct show_line *l, const struct host *h, int is_whole)
{
    struct observation o;
    const char *life = show_life(h);

    l->size = 0;
    show_add(l, "%d ", h->index + 1);
    if (strcmp(life, "up") != 0)
        show_add(l, "%s ", life);
    if (h->state == HOST_UP) {
        door_observe(h, &o);
        show_quorum(l, &o, is_whole);
    } else if (h->code) {
        show_add(l, "%s ", kl_error_name(h->code));
    }
    if (l->text[l->size - 1] == ' ')
        l->text[l->size - 1] = 0;
}

void script_show(struct script *s)
{
    struct show_line l;

    for (int i = 0; i < s->w->o.hosts; i++) {
        show_host(&l, &s->w->hosts[i], 0);
        memcpy(s->shown[i], l.text, sizeof l.text);
        show_host(&l, &s->w->hosts[i], 1);
        script_say(s, "%s", l.text);
    }
}

void script_changes(struct script *s)
{
    struct show_line l;

    for (int i = 0; i < s->w->o.hosts; i++) {
        show_host(&l, &s->w->hosts[i], 0);
        if (strcmp(l.text, s->shown[i]) == 0)
            continue;
        memcpy(s->shown[i], l.text, sizeof l.text);
        script_say(s, "%s", l.text);
    }
}

/* ---- counters -------------------------------------------------------------
 */

static int counter_of(const struct kl_raft_counters *c, const char *name,
                      uint64_t *out)
{
    const struct
    {
        const char *name;
        uint64_t value;
    } all[] = {{"malformed", c->malformed},
               {"stale", c->stale},
               {"replayed", c->replayed},
               {"strangers", c->strangers},
               {"duplicates", c->duplicates},
               {"regressions", c->regressions},
               {"conflicts", c->conflicts},
               {"elections", c->elections},
               {"truncations", c->truncations},
               {"snapshot-failures", c->snapshot_failures}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i].value;
            return 1;
        }
    return 0;
}

void script_counters(struct script *s, const struct script_command *c)
{
    struct observation o;

    for (int i = 0; i < s->w->o.hosts; i++) {
        struct show_line l = {.size = 0};
        uint64_t value;

        if (s->w->hosts[i].state != HOST_UP)
            continue;
        door_observe(&s->w->hosts[i], &o);
        show_add(&l, "%d", i + 1);
        for (int k = 0; k < c->count; k++) {
            if (!counter_of(&o.counters, c->arguments[k], &value)) {
                script_wrong(s, c, "no such counter: %s", c->arguments[k]);
                return;
            }
            show_add(&l, " %s %llu", c->arguments[k],
                     (unsigned long long)value);
        }
        script_say(s, "%s", l.text);
    }
}

/* ---- conditions -----------------------------------------------------------
 */

/* Those who are compared: as it is, or at least. */
static int field_number(const struct observation *o, const char *field,
                        int64_t value)
{
    const struct
    {
        const char *name;
        int64_t value;
        int is_exact;
    } all[] = {
        {"leader", o->leader_id, 1},    {"voted", o->voted_id, 1},
        {"voters", o->voter_count, 1},  {"acts", o->is_leading, 1},
        {"epoch", o->epoch, 0},         {"stored", o->durable_epoch, 0},
        {"start", o->log_start, 0},     {"end", o->leo, 0},
        {"durable", o->durable_leo, 0}, {"committed", o->high_watermark, 0},
        {"applied", o->applied, 0},     {"snapshot", o->snapshot_end, 0}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, field) == 0)
            return all[i].is_exact ? all[i].value == value
                                   : all[i].value >= value;
    return -1;
}

int script_field_is(const struct host *h, const char *field, const char *value)
{
    struct observation o = {0};

    if (strcmp(field, "state") == 0)
        return strcmp(show_life(h), value) == 0;
    if (h->state == HOST_UP)
        door_observe(h, &o);
    if (strcmp(field, "role") == 0)
        return h->state == HOST_UP && strcmp(show_roles[o.role], value) == 0;
    if (field_number(&o, field, 0) < 0 || script_number(value) < 0)
        return -1;
    return h->state == HOST_UP && field_number(&o, field, script_number(value));
}
