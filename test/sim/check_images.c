#include "check.h"

#include <stdio.h>

const char *check_images(struct check_images *c, int host, int64_t offset,
                         uint64_t hash)
{
    struct image_seen *i;

    if (offset < 0 || offset >= CHECK_OFFSETS)
        return NULL;
    i = &c->images[offset];
    if (!i->is_seen) {
        i->is_seen = 1;
        i->host = host;
        i->hash = hash;
    }
    if (i->hash == hash)
        return NULL;
    snprintf(c->text, sizeof c->text,
             "the images of hosts %d and %d differ at offset %lld", i->host,
             host, (long long)offset);
    return c->text;
}
