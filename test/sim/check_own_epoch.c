#include "check.h"

#include <stdio.h>

const char *check_own_epoch(struct check_own_epoch *c,
                            const struct observation *o)
{
    int64_t before = c->marks[o->host];
    int is_known = c->led[o->host] == o->epoch;

    if (o->role != KL_RAFT_LEADER)
        return NULL;
    c->led[o->host] = o->epoch;
    c->marks[o->host] = o->high_watermark;
    if (!is_known || o->high_watermark <= before ||
        o->high_watermark > o->epoch_start)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "node %d leads epoch %d from %lld on, and commits up to %lld",
             (int)o->id, (int)o->epoch, (long long)o->epoch_start,
             (long long)o->high_watermark);
    return c->text;
}
