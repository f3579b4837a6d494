/*
 * What is behind a kl_net: links, and the messages that they have brought.
 */
#ifndef KL_NET_STATE_H
#define KL_NET_STATE_H

#include "net/net.h"

#include "base/list.h"
#include "base/map.h"
#include "net/stream.h"
#include "os/thread.h"

enum kl_net_link_state { KL_NET_CONNECTING, KL_NET_IS_UP, KL_NET_IS_DOWN };

struct kl_net_link
{
    uint64_t number;
    struct kl_base_list all;    /* in links */
    struct kl_base_list ready;  /* in ready, while there is an event */
    struct kl_base_list paused; /* in paused, while deliver waits for room */
    struct kl_base_list inbox;  /* whole messages */
    struct kl_net_stream stream;
    enum kl_net_link_state state;
    int is_incoming;
    int is_up_untold;
    int is_writable_untold;
    int code; /* why it is down */
};

struct kl_net
{
    struct kl_base_alloc alloc;
    struct kl_net_options options;
    struct kl_net_ops ops;
    void *ops_user;
    /* Whom to wake. Taken when the other is open again: who wakes up wants that
     * one, and would wait for it. */
    struct kl_os_mutex wake_mutex;
    void (*wake)(void *user); /* NULL: no node */
    void *wake_user;
    struct kl_os_mutex mutex; /* of everything below but current */
    int is_attached;
    int is_wake_due; /* when the mutex is opened */
    uint64_t number_last;
    struct kl_base_map by_number;
    struct kl_base_list links;
    struct kl_base_list ready;  /* links, the next event's first */
    struct kl_base_list paused; /* links, who waits longest first */
    size_t accepted;
    size_t inbox_bytes;
    struct kl_net_message *current; /* the owner's: what next has lent */
};

void kl_net_lock(struct kl_net *net);
/* Also wakes the owner where something has been told meanwhile. */
void kl_net_unlock(struct kl_net *net);

/* All under the mutex. */

/* A link in a state, with a new number. KL_ENOMEM. */
int kl_net_link_new(struct kl_net *net, enum kl_net_link_state state,
                    struct kl_net_link **out);
/* NULL where there is none of this number. */
struct kl_net_link *kl_net_link_get(struct kl_net *net, uint64_t number);
/* Forgets the link and frees it with what it has brought. */
void kl_net_link_free(struct kl_net *net, struct kl_net_link *link);
/* The link has an event: it waits for its turn, and the owner is woken by
 * kl_net_unlock. */
void kl_net_link_tell(struct kl_net *net, struct kl_net_link *link);
/* The link is down because of code, and tells it. */
void kl_net_link_down(struct kl_net *net, struct kl_net_link *link, int code);

#endif
