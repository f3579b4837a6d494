#include "options.h"

#include <stdio.h>
#include <string.h>

static const char *const fault_names[FAULT_KINDS] = {
#define X(id, name) [FAULT_##id] = name,
    FAULT_TABLE(X)
#undef X
};

const char *fault_name(enum fault_kind kind)
{
    return fault_names[kind];
}

int fault_is_due(enum fault_kind kind, int hosts)
{
    return kind < FAULT_LINK_RESET || hosts > 1;
}

int options_fault_kinds(const struct options *o)
{
    int count = o->stall_chance != 0;

    for (int i = FAULT_NONE + 1; i < FAULT_KINDS; i++)
        count += o->rates[i] != 0 && i != FAULT_STALL;
    return count;
}

/* Longest intervals between two faults of a kind are a hundred times the
 * shortest. A third of the kinds is off. */
static void options_draw_faults(struct options *o, struct choice *c)
{
    for (int i = FAULT_NONE + 1; i < FAULT_KINDS; i++)
        if (fault_is_due((enum fault_kind)i, o->hosts) && choice_below(c, 3))
            o->rates[i] = (uint32_t)choice_log(c, 1, 60);
    if (choice_below(c, 3))
        o->stall_chance = (uint32_t)choice_log(c, 1, 3000);
    o->has_garbage = (int)choice_below(c, 2);
    /* Seven of ten are cut as the adversary likes. */
    if (choice_below(c, 10) >= 7)
        o->profile = (enum sim_profile)choice_below(c, SIM_PROFILES);
}

void options_draw(struct options *o, uint64_t seed, int hosts, struct choice *c)
{
    memset(o, 0, sizeof *o);
    o->seed = seed;
    choice_block(c);
    o->hosts = hosts ? hosts : 3 + (int)choice_below(c, 3);
    o->voters = o->hosts < 3 ? 1 : 3;
    if (o->hosts == 5 && choice_below(c, 2))
        o->voters = 5;
    o->latency_ns = choice_log(c, 20, 10000) * 1000;
    o->late_one_in = 1000;
    snprintf(o->snapshot_bytes, sizeof o->snapshot_bytes, "%lld",
             (long long)choice_log(c, 1024, 1 << 20));
    o->inbox_bytes = (size_t)choice_log(c, 4096, 1 << 24);
    o->link_bytes = (size_t)choice_log(c, 1024, 1 << 22);
    o->cut_ns = choice_log(c, 100, 20000) * 1000000;
    o->chaos_ns = choice_between(c, 25, 140) * INT64_C(1000000000);
    o->pace_ns = choice_log(c, 2, 256) * 1000000;
    o->steps_max = (uint32_t)choice_log(c, 300, 2500);
    o->down_ns = choice_log(c, 10, 10000) * 1000000;
    o->segment_bytes = choice_log(c, 8192, 262144);
    o->topics_max = 1 + (int)choice_below(c, 12);
    o->value_bytes_max = (uint32_t)choice_log(c, 16, 8192);
    o->profile = SIM_ADVERSARY;
    o->is_calm = choice_one_in(c, 20);
    if (!o->is_calm)
        options_draw_faults(o, c);
}

void options_heal(struct options *o)
{
    memset(o->rates, 0, sizeof o->rates);
    o->stall_chance = 0;
    o->late_one_in = 0;
    o->is_calm = 1;
}
