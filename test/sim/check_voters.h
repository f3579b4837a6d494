/*
 * R11, R12 and L9 of the voters: they change one at a time, the next change
 * waits for the commit of the one before, a committed set is the same
 * everywhere and what was answered to be done has been.
 */
#ifndef SIM_CHECK_VOTERS_H
#define SIM_CHECK_VOTERS_H

#include <stdint.h>

enum { VOTERS_SIZE = 16, VOTERS_SETS = 512, VOTERS_ASKED = 64 };

struct observation;

/* A set, and the offset of the record that says so. */
struct voters_set
{
    int64_t offset;
    uint32_t count;
    int32_t ids[VOTERS_SIZE];
    uint64_t keys[VOTERS_SIZE]; /* node and directory */
};

/* Of the last look at a host, while it leads an epoch. */
struct voters_leader
{
    uint32_t boots;
    int32_t epoch; /* -1 = it does not lead */
    struct voters_set set;
};

/* It was answered that it is done. */
struct voters_asked
{
    int32_t id;
    int is_add;
    int64_t after; /* committed when it was asked for */
};

struct check_voters
{
    struct voters_leader leaders[VOTERS_SIZE];
    struct voters_set committed[VOTERS_SETS]; /* in the order of offsets */
    int count;
    struct voters_asked asked[VOTERS_ASKED]; /* the last ones, in a ring */
    uint32_t asked_count;
    char text[256];
};

const char *check_voters(struct check_voters *c, const struct observation *o);
/* Offset of the last set known to be committed; -1 = none. */
int64_t check_voters_offset(const struct check_voters *c);
void check_voters_done(struct check_voters *c, int32_t id, int is_add,
                       int64_t after);
/* All have come to an end: one host of them. */
const char *check_voters_settled(struct check_voters *c,
                                 const struct observation *o);

#endif
