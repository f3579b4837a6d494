/*
 * The mailbox between a node and a transport. A link is one connection between
 * this node and another, named by a number that is never used again; 0 is none.
 * The transport hands in what it receives in any split; the node gets whole
 * messages, as wire frames them.
 *
 * A transport may work in several threads, the node in one, its owner. One
 * mutex is between them; no operation of the transport runs under it.
 */
#ifndef KL_NET_NET_H
#define KL_NET_NET_H

#include "base/alloc.h"
#include "net/hub.h"

#include <stddef.h>
#include <stdint.h>

struct kl_net;

/* What a transport does for the node, in the owner's thread. It must not block
 * and may call the transport's side below, but nothing of the node. */
struct kl_net_ops
{
    /* Connects. kl_net_up or kl_net_down follows, also from inside. A code: it
     * cannot be tried, and nothing follows. */
    int (*connect)(void *user, uint64_t link, int32_t node_id,
                   const char *endpoint);
    /* Takes a whole message, copied. KL_EAGAIN: nothing taken, kl_net_writable
     * follows. Another code: the link is lost, and disconnect follows. */
    int (*send)(void *user, uint64_t link, const void *data, size_t size);
    /* The link is over: the node has given it up, or send has failed. What is
     * told of it is ignored. Not called where the transport has said that it is
     * down, or kl_net_deliver has answered KL_EFORMAT. */
    void (*disconnect)(void *user, uint64_t link);
    /* NULL, or called when kl_net_deliver has answered KL_EAGAIN for this link
     * and there is room again. */
    void (*resume)(void *user, uint64_t link);
};

struct kl_net_options
{
    size_t message_bytes_max; /* of one message */
    size_t inbox_bytes_max;   /* when it holds more, nothing more is taken */
    size_t accepted_max;      /* links that others have made */
};

/* KL_EINVAL, KL_ENOMEM. */
int kl_net_new(struct kl_net **out, const struct kl_base_alloc *a,
               const struct kl_net_options *options);
/* No node is attached any more, and no other thread uses it. NULL is ignored.
 */
void kl_net_free(struct kl_net *net);
/* Before a node is attached. */
void kl_net_set_ops(struct kl_net *net, const struct kl_net_ops *ops,
                    void *user);

/* ---- the transport's side: any thread ----------------------------------
 *
 * What is told of one link comes from one thread at a time. A number that is
 * not known, or not any more, is ignored. */

/* Somebody has connected to us: a link that is up. KL_ECLOSED: no node is
 * there; KL_EAGAIN: too many links; KL_ENOMEM. */
int kl_net_accept(struct kl_net *net, uint64_t *link_out);
/* What connect was asked for is there. */
void kl_net_up(struct kl_net *net, uint64_t link);
/* The link is gone, or could not be made; what was delivered before is still
 * taken. */
void kl_net_down(struct kl_net *net, uint64_t link);
/* After KL_EAGAIN of send: it may be tried again. */
void kl_net_writable(struct kl_net *net, uint64_t link);
/* Takes bytes that were received, in any split. KL_EAGAIN: nothing taken, the
 * inbox is full, resume follows; KL_ENOMEM: nothing taken. KL_EFORMAT: not what
 * a node sends; the link is down, close it. KL_ECLOSED: the link is gone, close
 * it. KL_ESTATE: it is not up yet. */
int kl_net_deliver(struct kl_net *net, uint64_t link, const void *data,
                   size_t size);

/* ---- the node's side: the owner's thread ------------------------------- */

enum kl_net_event_type {
    KL_NET_UP,
    KL_NET_DOWN, /* the link's last event */
    KL_NET_WRITABLE,
    KL_NET_MESSAGE
};

/* Of one link: up, messages and writable, then down. */
struct kl_net_event
{
    enum kl_net_event_type type;
    uint64_t link;
    int is_incoming;     /* made by the other side */
    int code;            /* of down: 0, KL_EFORMAT, or what send has answered */
    const uint8_t *data; /* of message, until the next call of kl_net_next */
    size_t size;
};

/* The node is there, and wants wake to be called, in any thread, when there are
 * events: it signals and does nothing else. It is not called any more when a
 * detach is over. NULL
 * detaches: all links are disconnected, and what is left is dropped. KL_EBUSY:
 * another node is attached. */
int kl_net_attach(struct kl_net *net, void (*wake)(void *user), void *user);
/* KL_NET_UP or KL_NET_DOWN follows, unless it answers a code: that of the
 * transport, KL_ECLOSED: not attached, or KL_ENOMEM. */
int kl_net_connect(struct kl_net *net, int32_t node_id, const char *endpoint,
                   uint64_t *link_out);
/* A whole message. KL_EAGAIN: nothing sent, KL_NET_WRITABLE follows.
 * KL_ECLOSED: the link is not up. */
int kl_net_send(struct kl_net *net, uint64_t link, const void *data,
                size_t size);
/* Gives a link up; it has no more events. */
void kl_net_disconnect(struct kl_net *net, uint64_t link);
/* 1 and an event; 0 where there is none. The links take turns. */
int kl_net_next(struct kl_net *net, struct kl_net_event *event);

#endif
