#include "check.h"

#include <stdio.h>

const char *check_high_watermark(struct check_high_watermark *c,
                                 const struct observation *o)
{
    int64_t before = c->marks[o->host];
    const char *wrong = NULL;

    if (c->boots[o->host] != o->boots) {
        c->boots[o->host] = o->boots;
        before = 0;
    }
    if (o->high_watermark < before)
        wrong = "it was higher";
    else if (o->high_watermark > o->leo)
        wrong = "above the end of the log";
    else if (o->applied > o->high_watermark)
        wrong = "more is applied";
    c->marks[o->host] = o->high_watermark;
    if (!wrong)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "node %d: high watermark %lld: %s (before %lld, end %lld, "
             "applied %lld)",
             (int)o->id, (long long)o->high_watermark, wrong, (long long)before,
             (long long)o->leo, (long long)o->applied);
    return c->text;
}
