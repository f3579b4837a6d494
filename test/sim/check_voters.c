#include "check.h"

#include <stdio.h>
#include <string.h>

static void voters_of(struct voters_set *out, const struct observation *o)
{
    memset(out, 0, sizeof *out);
    out->offset = o->voters_offset;
    out->count = o->voter_count;
    memcpy(out->ids, o->voters, sizeof out->ids);
    memcpy(out->keys, o->voter_keys, sizeof out->keys);
}

static uint32_t voters_missing(const struct voters_set *a,
                               const struct voters_set *b)
{
    uint32_t missing = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        int is_there = 0;

        for (uint32_t k = 0; k < b->count; k++)
            is_there |= a->keys[i] == b->keys[k];
        missing += !is_there;
    }
    return missing;
}

/* One comes or one goes. */
static int voters_is_step(const struct voters_set *a,
                          const struct voters_set *b)
{
    return voters_missing(a, b) + voters_missing(b, a) <= 1;
}

static int voters_has(const struct voters_set *s, int32_t id)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->ids[i] == id)
            return 1;
    return 0;
}

/* ---- what is committed ----------------------------------------------------
 */

/* The place of a set among the committed ones. */
static int voters_place(const struct check_voters *c, int64_t offset)
{
    int at = c->count;

    while (at > 0 && c->committed[at - 1].offset >= offset)
        at--;
    return at;
}

static const char *voters_commit(struct check_voters *c,
                                 const struct voters_set *now)
{
    int at = voters_place(c, now->offset);
    struct voters_set *s = &c->committed[at];

    if (at < c->count && s->offset == now->offset)
        return memcmp(s, now, sizeof *s) ? "others know other voters of it"
                                         : NULL;
    if (c->count == VOTERS_SETS)
        return NULL;
    if ((at > 0 && !voters_is_step(s - 1, now)) ||
        (at < c->count && !voters_is_step(now, s)))
        return "it is not one voter away from the sets around it";
    memmove(s + 1, s, (size_t)(c->count - at) * sizeof *s);
    *s = *now;
    c->count++;
    return NULL;
}

/* ---- of a leader ----------------------------------------------------------
 */

static const char *voters_lead(struct check_voters *c,
                               const struct observation *o,
                               const struct voters_set *now)
{
    struct voters_leader *l = &c->leaders[o->host];
    const char *wrong = NULL;

    if (o->role != KL_RAFT_LEADER) {
        l->epoch = -1;
        return NULL;
    }
    if (l->epoch == o->epoch && l->boots == o->boots &&
        l->set.offset != now->offset) {
        if (!voters_is_step(&l->set, now))
            wrong = "more than one voter changes at a time";
        else if (o->high_watermark <= l->set.offset)
            wrong = "the change before is not committed";
        else if (l->set.offset >= 0) /* it was, between two looks */
            wrong = voters_commit(c, &l->set);
    }
    l->boots = o->boots;
    l->epoch = o->epoch;
    l->set = *now;
    return wrong;
}

static const char *voters_wrong(struct check_voters *c,
                                const struct observation *o, const char *wrong)
{
    if (!wrong)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "node %d, epoch %d: %u voters of offset %lld: %s", (int)o->id,
             (int)o->epoch, (unsigned)o->voter_count,
             (long long)o->voters_offset, wrong);
    return c->text;
}

const char *check_voters(struct check_voters *c, const struct observation *o)
{
    struct voters_set now;
    const char *wrong;

    voters_of(&now, o);
    wrong = voters_lead(c, o, &now);
    if (!wrong && o->voters_offset >= 0 && o->high_watermark > o->voters_offset)
        wrong = voters_commit(c, &now);
    return voters_wrong(c, o, wrong);
}

/* ---- what was asked for ---------------------------------------------------
 */

int64_t check_voters_offset(const struct check_voters *c)
{
    return c->count ? c->committed[c->count - 1].offset : -1;
}

void check_voters_done(struct check_voters *c, int32_t id, int is_add,
                       int64_t after)
{
    struct voters_asked *a = &c->asked[c->asked_count++ % VOTERS_ASKED];

    a->id = id;
    a->is_add = is_add;
    a->after = after;
}

static int voters_is_done(const struct check_voters *c,
                          const struct voters_asked *a)
{
    for (int i = 0; i < c->count; i++)
        if (c->committed[i].offset > a->after &&
            voters_has(&c->committed[i], a->id) == a->is_add)
            return 1;
    return 0;
}

const char *check_voters_settled(struct check_voters *c,
                                 const struct observation *o)
{
    uint32_t asked =
        c->asked_count < VOTERS_ASKED ? c->asked_count : VOTERS_ASKED;

    if (o->voters_offset >= o->high_watermark)
        return voters_wrong(c, o, "never committed");
    if (o->voters_offset != check_voters_offset(c))
        return voters_wrong(c, o, "others have a later set");
    for (uint32_t i = 0; i < asked; i++) {
        if (voters_is_done(c, &c->asked[i]))
            continue;
        snprintf(c->text, sizeof c->text,
                 "node %d was %s, and no committed set says so",
                 (int)c->asked[i].id, c->asked[i].is_add ? "added" : "removed");
        return c->text;
    }
    return NULL;
}
