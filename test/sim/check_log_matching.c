#include "check.h"

#include <stdio.h>

static struct log_piece *matching_place(struct check_log_matching *c,
                                        const struct log_piece *p)
{
    uint64_t at = ((uint64_t)p->offset * UINT64_C(0x9e3779b97f4a7c15) >> 20) +
                  (uint64_t)p->epoch * 7;

    while (c->pieces[at % CHECK_PIECES].end &&
           (c->pieces[at % CHECK_PIECES].offset != p->offset ||
            c->pieces[at % CHECK_PIECES].epoch != p->epoch))
        at++;
    return &c->pieces[at % CHECK_PIECES];
}

const char *check_log_matching(struct check_log_matching *c, int host,
                               const struct log_piece *p)
{
    struct log_piece *seen = matching_place(c, p);

    if (!seen->end) {
        /* Nobody searches a table that is full. */
        if (c->count < CHECK_PIECES / 4 * 3) {
            c->count++;
            *seen = *p;
        }
        return NULL;
    }
    if (seen->end == p->end && seen->hash == p->hash)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "host %d: the batch of epoch %d at offset %lld, up to %lld, is "
             "another one than elsewhere, up to %lld",
             host, (int)p->epoch, (long long)p->offset, (long long)p->end,
             (long long)seen->end);
    return c->text;
}
