#include "check.h"

#include <stdio.h>
#include <string.h>

/* The place of an epoch, or NULL where there are too many. */
static struct epoch_seen *leaders_at(struct check_leaders *c, int32_t epoch)
{
    return epoch >= 0 && epoch < CHECK_EPOCHS ? &c->epochs[epoch] : NULL;
}

static const char *leaders_vote(struct check_leaders *c, struct epoch_seen *e,
                                const struct observation *o)
{
    int32_t *voted = &e->voted[o->host];

    if (*voted && *voted != o->durable_voted_id) {
        snprintf(c->text, sizeof c->text,
                 "node %d: in epoch %d it voted for %d, then for %d",
                 (int)o->id, (int)o->durable_epoch, (int)*voted,
                 (int)o->durable_voted_id);
        return c->text;
    }
    *voted = o->durable_voted_id;
    return NULL;
}

const char *check_leaders(struct check_leaders *c, const struct observation *o)
{
    struct epoch_seen *e = leaders_at(c, o->durable_epoch);

    if (e && o->durable_voted_id > 0 && leaders_vote(c, e, o))
        return c->text;
    e = leaders_at(c, o->epoch);
    if (!e || o->role != KL_RAFT_LEADER)
        return NULL;
    if (e->leader && e->leader != o->id) {
        snprintf(c->text, sizeof c->text, "epoch %d: nodes %d and %d lead",
                 (int)o->epoch, (int)e->leader, (int)o->id);
        return c->text;
    }
    e->leader = o->id;
    return NULL;
}
