#include "check.h"

#include <stdio.h>
#include <string.h>

/* Whether the disks of a majority hold the log up to an offset, as far as was
 * seen. */
static int commit_is_held(const struct check_commit *c, const int32_t *voters,
                          uint32_t count, int64_t offset)
{
    uint32_t holders = 0;

    for (uint32_t i = 0; i < count; i++)
        for (int h = 0; h < CHECK_HOSTS; h++)
            holders +=
                c->hosts[h].id == voters[i] && c->hosts[h].durable >= offset;
    return holders > count / 2;
}

static void commit_see(struct commit_seen *s, const struct observation *o)
{
    s->voter_count = o->voter_count;
    memcpy(s->voters, o->voters, sizeof s->voters);
}

const char *check_commit(struct check_commit *c, const struct observation *o)
{
    struct commit_seen *s = &c->hosts[o->host];
    const char *wrong = NULL;

    s->id = o->id;
    s->durable = o->durable_leo;
    if (o->role == KL_RAFT_LEADER && o->leo < c->committed &&
        o->epoch > c->epoch)
        wrong = "a new leader lacks what is committed";
    if (o->role == KL_RAFT_LEADER && o->high_watermark > c->committed) {
        if (!commit_is_held(c, o->voters, o->voter_count, o->high_watermark) &&
            !commit_is_held(c, s->voters, s->voter_count, o->high_watermark))
            wrong = "less than a majority has flushed it";
        c->committed = o->high_watermark;
        c->epoch = o->epoch;
    }
    commit_see(s, o);
    if (!wrong)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "node %d leads epoch %d: %s (committed %lld, its end %lld)",
             (int)o->id, (int)o->epoch, wrong, (long long)c->committed,
             (long long)o->leo);
    return c->text;
}
