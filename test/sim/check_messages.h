/*
 * Bad messages: each one that a node has looked at is counted as what it is, no
 * good one is, and nothing that they say comes to anything.
 */
#ifndef SIM_CHECK_MESSAGES_H
#define SIM_CHECK_MESSAGES_H

#include <stdint.h>

enum bad_message { BAD_FOREIGN, BAD_UNKNOWN, BAD_MISDIRECTED, BAD_MALFORMED };

enum { BAD_MESSAGES = 4, MESSAGES_HOSTS = 16 };

struct messages_seen
{
    uint32_t boots;
    int is_cut; /* what was delivered may be lost with its link */
    uint64_t delivered[BAD_MESSAGES];
};

struct check_messages
{
    struct messages_seen hosts[MESSAGES_HOSTS];
    int32_t epoch; /* the highest of all */
    char text[256];
};

void check_messages_delivered(struct check_messages *c, int host,
                              uint32_t boots, enum bad_message what);
/* A host gives a link up, or has lost it. */
void check_messages_cut(struct check_messages *c, int host);
/* Of no cluster yet: all are of others. */
void check_messages_excuse(struct check_messages *c, int host, uint32_t boots,
                           const uint64_t counted[BAD_MESSAGES]);
/* A host has nothing more to do: what it has counted. */
const char *check_messages(struct check_messages *c, int host, uint32_t boots,
                           const uint64_t counted[BAD_MESSAGES]);
/* Its epoch. */
const char *check_messages_epoch(struct check_messages *c, int host,
                                 int32_t epoch);

#endif
