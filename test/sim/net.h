/*
 * The network between the hosts: links of whole messages with a latency each,
 * that fill up, break, and stand still while the way is cut.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

enum { NET_HOSTS = 9, NET_LINKS = 192, NET_KEPT = 8 };

struct world;
struct host;
struct kl_net;

/* A message on its way. */
struct packet
{
    struct packet *next;
    int64_t due_ns;
    size_t size;
    uint8_t data[];
};

/* One end of a link, and what is on its way there. */
struct net_end
{
    int host;
    uint64_t id;    /* the mailbox's; 0 = that host has no memory of it */
    int is_stuck;   /* its inbox is full */
    int is_blocked; /* it was told to wait before it sends more */
    struct packet *first;
    struct packet *last; /* where there is a first */
    int64_t last_ns;     /* nothing overtakes it */
    size_t bytes;
};

enum net_link_state { NET_LINK_NONE, NET_LINK_BEGINS, NET_LINK_IS_UP };

struct net_link
{
    enum net_link_state state;
    int64_t due_ns;         /* begins: when it is up, or is known not to be */
    struct net_end ends[2]; /* the first has dialled */
};

struct network
{
    struct net_link links[NET_LINKS];
    int64_t cut_ns[NET_HOSTS][NET_HOSTS];  /* from, to: until then */
    int64_t slow_ns[NET_HOSTS][NET_HOSTS]; /* the same */
    struct kl_base_rng rng;
    int corrupt; /* so many messages are changed on their way */
    struct packet *kept[NET_KEPT]; /* copies of old messages, */
    int kept_from[NET_KEPT];       /* between these */
    int kept_to[NET_KEPT];
    int kept_count;
};

void net_init(struct world *w);
void net_deinit(struct world *w);
/* When something arrives next; INT64_MAX = never. */
int64_t net_next_ns(const struct world *w);
/* What is due happens. */
void net_run(struct world *w);
/* A mailbox for a host, and back. */
void net_join(struct host *h);
void net_leave(struct host *h);
/* A link of the host breaks. */
void net_reset(struct host *h);
/* The ways between two hosts, or one of them, are cut until then. */
void net_cut(struct world *w, int from, int to, int is_both, int64_t until_ns);
void net_slow(struct world *w, int from, int to, int64_t until_ns);
/* A message that has been there comes once more. */
void net_replay(struct world *w, int which);
/* All ways are free. */
void net_mend(struct world *w);

#endif
