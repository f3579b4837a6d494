/*
 * Transport: what leads from one node of a cluster to the others. The network
 * is the host's; a kl_transport is filled with functions, one setter each, that
 * the node calls, and the host tells it what has happened. It is given to one
 * node with kl_node_set_transport before that is opened. A kl_hub is a ready
 * network for several nodes of one process.
 *
 * Links. A link is one connection between this node and another, and has a
 * number that is never 0 and is not given twice by the same transport. A node
 * asks for links to others, and accepts those that others make. Nothing has to
 * be known of who is at the other end: nodes say so themselves. The functions
 * and calls below name a link by its number; one that is over is not an error,
 * because both sides may end it at any time.
 *
 * Bytes. The node sends whole messages and wants them to arrive as they were
 * sent and in the order of their link, with nothing missing in between: a
 * stream, such as TCP's. Pieces may be cut anywhere. A link that has lost
 * something must go down. Whole links may be lost at any time; messages between
 * nodes are not encrypted, and whoever can reach a node is taken for another
 * one, so the network has to be private or the host's streams protected.
 *
 * Threads. The functions of the host are called by the node's owner, one at a
 * time, inside kl_node_open, kl_node_poll and whatever else runs the node. They
 * must not block, and may call kl_transport_accept, up, down, writable and
 * deliver, but nothing that drives a node, which answers KL_EREENTRY. Those
 * five may be called by any thread, also at the same time; what concerns one
 * link comes from one thread at a time.
 */
#ifndef KRAFTLOG_TRANSPORT_H
#define KRAFTLOG_TRANSPORT_H

#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_transport kl_transport;
typedef struct kl_hub kl_hub;

typedef int (*kl_transport_connect_fn)(uint64_t link, int32_t node_id,
                                       const char *endpoint, void *user);
typedef int (*kl_transport_send_fn)(uint64_t link, const void *data,
                                    size_t size, void *user);
typedef void (*kl_transport_link_fn)(uint64_t link, void *user);

/* Makes a transport without functions. Its limits are the keys
 * socket.request.max.bytes, queued.max.request.bytes and max.connections of
 * config, its memory comes from config's allocator; config may be freed at
 * once, NULL = all defaults. Free with kl_transport_free. KL_EINVAL for a NULL
 * out, KL_ENOMEM. Any thread. */
KL_API int kl_transport_new(kl_transport **out, const kl_config *config);

/* Makes a complete transport: a place in a hub, at an endpoint, any text of up
 * to 255 bytes without commas, under which nodes with the same hub reach this
 * one; it is what their controller.quorum.bootstrap.servers and this node's
 * advertised.listeners name. The transport holds the hub. Its functions cannot
 * be set, and the host has nothing to tell: KL_ESTATE. KL_EBUSY where another
 * transport is there, KL_EINVAL, KL_ENOMEM, KL_EFORK. Any thread. */
KL_API int kl_transport_new_loopback(kl_transport **out,
                                     const kl_config *config, kl_hub *hub,
                                     const char *endpoint);

/* Gives the handle up. A node that was given the transport holds it until it is
 * freed; the functions and their user pointers must live until the node is
 * stopped or freed. In a child process after fork it does nothing. NULL is
 * ignored. Any thread. */
KL_API void kl_transport_free(kl_transport *transport);

/* ---- functions of the host -----------------------------------------------
 *
 * Each setter takes the function, NULL for none, and a pointer that is handed
 * to it. All but resume must be set. KL_EINVAL for a NULL transport; KL_ESTATE
 * once a node has been opened with it, and for one made by
 * kl_transport_new_loopback. One thread, before kl_node_open. */

/* Begins to connect to a node, at an endpoint that the configuration of one of
 * the nodes has named; both are valid during the call. 0: kl_transport_up or
 * kl_transport_down follows, at any time, also from inside. Another value: it
 * cannot be tried, and nothing follows; the node tries again later. */
KL_API int kl_transport_set_connect(kl_transport *transport,
                                    kl_transport_connect_fn fn, void *user);

/* Takes a whole message for a link that is up, copied or written. KL_EAGAIN:
 * nothing is taken, there is no room; kl_transport_writable follows, also from
 * inside. Another value but 0: the link is lost, and disconnect follows. */
KL_API int kl_transport_set_send(kl_transport *transport,
                                 kl_transport_send_fn fn, void *user);

/* The link is over on this node's side, which wants to hear nothing of it any
 * more: the host closes it. Not called where the host has said that it is down
 * before. What the node has sent should still go out. A stop ends all links. */
KL_API int kl_transport_set_disconnect(kl_transport *transport,
                                       kl_transport_link_fn fn, void *user);

/* Optional: kl_transport_deliver has answered KL_EAGAIN for this link, and
 * there is room again. Without it the host tries again by and by. */
KL_API int kl_transport_set_resume(kl_transport *transport,
                                   kl_transport_link_fn fn, void *user);

/* ---- what the host tells -------------------------------------------------
 *
 * KL_EINVAL for NULL, KL_ESTATE for a transport of a hub, KL_EFORK. Any thread.
 * What is told of a link that is over is ignored. */

/* Another node has connected to this one: gives the link, which is up.
 * KL_EAGAIN where there are max.connections such links, KL_ECLOSED where no
 * node works with the transport now, KL_ENOMEM. */
KL_API int kl_transport_accept(kl_transport *transport, uint64_t *link_out);

/* A link that was asked for is there. */
KL_API int kl_transport_up(kl_transport *transport, uint64_t link);

/* A link is gone, or could not be made. What was delivered before is still
 * taken. */
KL_API int kl_transport_down(kl_transport *transport, uint64_t link);

/* A link that has refused a message with KL_EAGAIN has room again. */
KL_API int kl_transport_writable(kl_transport *transport, uint64_t link);

/* Hands in bytes that have come over a link, in any split; copies them.
 * KL_EAGAIN where queued.max.request.bytes wait for the node: nothing is taken,
 * and the host reads no more of this link before resume. KL_ENOMEM: nothing is
 * taken. KL_EFORMAT: these are no bytes of a node, or a message is larger than
 * socket.request.max.bytes; the link is down, the host closes it. KL_ECLOSED:
 * it is over already, the host closes it. KL_ESTATE: it is not up yet. */
KL_API int kl_transport_deliver(kl_transport *transport, uint64_t link,
                                const void *data, size_t size);

/* ---- the hub ------------------------------------------------------------- */

/* Makes a network for nodes of one process, without transports. Memory as for
 * kl_transport_new. Messages arrive in the order in which they were sent over a
 * link, from any thread, and are handled by the receiving node's owner in its
 * own turn. A node whose inbox is full stops those who send to it. KL_EINVAL
 * for a NULL out, KL_ENOMEM. Any thread. */
KL_API int kl_hub_new(kl_hub **out, const kl_config *config);

/* Gives the handle up; transports that were made with it hold the hub. In a
 * child process after fork it does nothing. NULL is ignored. Any thread. */
KL_API void kl_hub_free(kl_hub *hub);

#ifdef __cplusplus
}
#endif

#endif
