/*
 * The network between the hosts: links of whole messages with a latency each,
 * that fill up, break, and stand still while the way is cut.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "net_edit.h"

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

enum { NET_HOSTS = 9, NET_LINKS = 192, NET_KEPT = 8, NET_RULES = 16 };

struct world;
struct host;
struct kl_net;

/* A message on its way. */
struct packet
{
    struct packet *next;
    int64_t due_ns;
    int edit; /* enum net_edit, or -1 */
    int is_torn;
    size_t size;
    uint8_t data[];
};

/* One end of a link, and what is on its way there. */
struct net_end
{
    int host;
    uint64_t id;    /* the mailbox's; 0 = that host has no memory of it */
    int is_torn;    /* damaged bytes have come */
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

/* What becomes of messages of one kind between two hosts, before they are on
 * their way; -1 = any. */
enum net_fate { NET_PASS, NET_DROP, NET_HOLD, NET_TWICE };

struct net_rule
{
    enum net_fate fate;
    int api_key;
    int is_response;
    int from;
    int to;
    int64_t times; /* that it still applies; -1 = always */
};

/* A message that a rule holds. */
struct net_held
{
    struct net_held *next;
    int from;
    int to;
    struct packet *packet;
};

struct network
{
    struct net_link links[NET_LINKS];
    int64_t cut_ns[NET_HOSTS][NET_HOSTS];  /* from, to: until then */
    int64_t slow_ns[NET_HOSTS][NET_HOSTS]; /* the same */
    struct kl_base_rng rng;
    int corrupt;          /* so many messages are changed on their way */
    int edits[NET_EDITS]; /* so many have a bad one in front of them */
    struct packet *kept[NET_KEPT]; /* copies of old messages, */
    int kept_from[NET_KEPT];       /* between these */
    int kept_to[NET_KEPT];
    int kept_count;
    struct net_rule rules[NET_RULES];
    int rule_count;
    struct net_held *held; /* in their order */
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
/* A message is on its way where there is a link, else it is lost. 1 or 0. */
int net_inject(struct world *w, int from, int to, const void *data,
               size_t size);

/* ---- net_rule.c -----------------------------------------------------------
 */

/* 0, or -1 where there are too many. */
int net_rule_add(struct world *w, const struct net_rule *rule);
/* There are no rules any more; what they hold is sent, or forgotten. */
void net_rule_clear(struct world *w, int is_sent);
/* What becomes of a message; it is kept where it is held. */
enum net_fate net_rule_apply(struct world *w, int from, int to,
                             const void *data, size_t size);
/* The key of a kind of message by its name; -1 = no such kind. */
int net_api_key(const char *name);

#endif
