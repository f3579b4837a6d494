#include "check.h"

#include <stdio.h>

static int elections_is_begun(const struct check_elections *c,
                              const struct observation *o)
{
    if (o->voted_id == o->id || o->durable_voted_id == o->id)
        return 1;
    return o->leader_id < 0 && c->led[o->host] == o->epoch - 1;
}

const char *check_elections(struct check_elections *c,
                            const struct observation *o)
{
    int32_t newest = c->newest;
    int is_begun = o->epoch <= newest || elections_is_begun(c, o);

    if (o->epoch > newest)
        c->newest = o->epoch;
    if (o->leader_id == o->id)
        c->led[o->host] = o->epoch;
    if (is_begun)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "node %d: epoch %d, which nobody has begun (newest was %d)",
             (int)o->id, (int)o->epoch, (int)newest);
    return c->text;
}
