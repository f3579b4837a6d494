#include "check.h"

#include <stdio.h>

/* Voters whose disks hold the log up to an offset, as far as was seen. */
static uint32_t commit_holders(const struct check_commit *c,
                               const struct observation *o, int64_t offset)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < o->voter_count; i++)
        for (int h = 0; h < CHECK_HOSTS; h++)
            count += c->ids[h] == o->voters[i] && c->durable[h] >= offset;
    return count;
}

const char *check_commit(struct check_commit *c, const struct observation *o)
{
    const char *wrong = NULL;
    uint32_t holders;

    c->ids[o->host] = o->id;
    c->durable[o->host] = o->durable_leo;
    if (o->role != KL_RAFT_LEADER)
        return NULL;
    if (o->leo < c->committed && o->epoch > c->epoch)
        wrong = "a new leader lacks what is committed";
    if (o->high_watermark > c->committed) {
        holders = commit_holders(c, o, o->high_watermark);
        if (holders < o->voter_count / 2 + 1)
            wrong = "less than a majority has flushed it";
        c->committed = o->high_watermark;
        c->epoch = o->epoch;
    }
    if (!wrong)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "node %d leads epoch %d: %s (committed %lld, its end %lld)",
             (int)o->id, (int)o->epoch, wrong, (long long)c->committed,
             (long long)o->leo);
    return c->text;
}
