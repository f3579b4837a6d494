/*
 * Cuts for small things: at every call that changes a file of some name the
 * power is cut on copies of the disk, and the images are opened and checked; so
 * is what a second crash while they are opened leaves, and one right after.
 */
#ifndef TEST_CUT_H
#define TEST_CUT_H

#include "sim_disk.h"
#include "store_fixture.h"

struct cut
{
    struct store_fixture *f; /* simulated, open */
    const char *part;        /* of the paths that count */
    /* An opened image: 1 where it is as it may be. seen: what an earlier
     * opening of the same disk has shown, NULL at the first; it notes what this
     * one shows there. */
    int (*check)(struct cut *c, struct kl_store *s, void *seen);
    size_t seen_size; /* at most CUT_SEEN */
    void *user;
    struct kl_base_rng rng;
    uint64_t seen_version;
    uint64_t points;
    uint64_t images;
    uint64_t deep;
    uint64_t failures;
    char first[256];
};

enum { CUT_SEEN = 1024 };

/* From now on; the disk is settled before. */
void cut_begin(struct cut *c, uint64_t seed);
void cut_end(struct cut *c);
/* Opens and checks this disk, and frees it. */
void cut_disk(struct cut *c, struct sim_disk *disk);

#endif
