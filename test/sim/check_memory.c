#include "check.h"

#include <stdio.h>

const char *check_memory(struct check_memory *c, int host, size_t blocks)
{
    if (!blocks)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "host %d: %zu blocks of memory are left of a closed node", host,
             blocks);
    return c->text;
}
