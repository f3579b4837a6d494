#include "check.h"

#include <stdio.h>

const char *check_invariants(struct check_invariants *c,
                             const struct observation *o)
{
    if (!o->broken)
        return NULL;
    snprintf(c->text, sizeof c->text, "node %d: %s", (int)o->id, o->broken);
    return c->text;
}
