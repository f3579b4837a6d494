#include "check.h"

#include <stdio.h>

const char *check_epochs(struct check_epochs *c, const struct observation *o)
{
    int32_t before = c->durable[o->host];

    /* Who has lost what it promised says so, and votes no more. */
    if (!o->may_vote)
        return NULL;
    if (c->boots[o->host] == o->boots && c->epochs[o->host] > before)
        before = c->epochs[o->host];
    if (o->epoch < before || o->durable_epoch < c->durable[o->host]) {
        snprintf(c->text, sizeof c->text,
                 "node %d: epoch %d, durable %d, after %d, durable %d",
                 (int)o->id, (int)o->epoch, (int)o->durable_epoch, (int)before,
                 (int)c->durable[o->host]);
        return c->text;
    }
    c->boots[o->host] = o->boots;
    c->epochs[o->host] = o->epoch;
    c->durable[o->host] = o->durable_epoch;
    return NULL;
}

void check_epochs_forget(struct check_epochs *c, int host)
{
    c->epochs[host] = 0;
    c->durable[host] = 0;
    c->boots[host] = 0;
}
