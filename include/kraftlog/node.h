/*
 * A node: one data folder, everything that lives in it, and the loop that runs
 * it. A node is driven by one thread, its owner: either the library's own,
 * after kl_node_start, or the thread of the program that polls first.
 */
#ifndef KRAFTLOG_NODE_H
#define KRAFTLOG_NODE_H

#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <kraftlog/storage.h>
#include <kraftlog/transport.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_node kl_node;

/* Flags of kl_node_open. */
enum {
    KL_OPEN_CREATE = 1,      /* make the store where the folder is empty or
                                absent */
    KL_OPEN_ACCEPT_LOSS = 2, /* partitions that a damaged write-ahead log may
                                have cost their last records take new ones
                                again, at the offsets behind what is left */
    KL_OPEN_JOIN = 4 /* a store that is made joins the cluster of the nodes that
                        controller.quorum.bootstrap.servers names, as an
                        observer of its quorum; one that is there already stays
                        as it was made. Only with KL_OPEN_CREATE */
};

/* What kl_node_verdict says. */
enum {
    KL_VERDICT_CLEAN = 0,  /* the stop before was clean */
    KL_VERDICT_INTACT = 1, /* a crash; all that was durable is there */
    KL_VERDICT_DAMAGED = 2 /* something that was durable is lost */
};

/* What kl_node_state says. */
enum {
    KL_NODE_NEW = 0,      /* not open yet, or open has failed */
    KL_NODE_OPEN = 1,     /* works */
    KL_NODE_FAILED = 2,   /* the store has failed: reads only */
    KL_NODE_STOPPING = 3, /* writes out what is left */
    KL_NODE_STOPPED = 4   /* the folder is closed */
};

/* Makes a node; touches no file. config (NULL = all defaults) is copied. Free
 * with kl_node_free. KL_EINVAL, KL_ENOMEM. */
KL_API int kl_node_new(kl_node **out, const kl_config *config);

/* Puts the node's files into a storage of the host's in place of the operating
 * system's; NULL = back to that. The node holds the storage until it is freed.
 * KL_ESTATE once it is open, KL_EREENTRY, KL_EINVAL. One thread, before
 * kl_node_open. */
KL_API int kl_node_set_storage(kl_node *node, kl_storage *storage);

/* Gives the node what leads to the other nodes of its cluster; NULL = nothing,
 * a node by itself. The node holds the transport until it is freed. One node at
 * a time is open with a transport; the next one gets KL_EBUSY from
 * kl_node_open. KL_ESTATE once it is open, KL_EREENTRY, KL_EINVAL. One thread,
 * before kl_node_open. */
KL_API int kl_node_set_transport(kl_node *node, kl_transport *transport);

/* Opens the data folder: locks it, recovers what a crash left, reads the
 * metadata. Blocks; slow where there is much to recover. After a failure the
 * node may be opened again; kl_node_errmsg says what is wrong. KL_ENOSTORE
 * where there is nothing and flags lack KL_OPEN_CREATE, KL_EBUSY where another
 * node holds the folder or the transport, KL_EFOREIGN where the folder is
 * neither a store nor empty or belongs to a node of another number,
 * KL_ECORRUPT, KL_EFORMAT, KL_EIO, KL_EACCESS, KL_EDISKFULL, KL_ECONFIG,
 * KL_ESTATE where it is open, KL_EFORK, KL_ENOMEM, KL_EINVAL, also for a
 * storage or a transport that lacks a function. One thread, before any other
 * use. */
KL_API int kl_node_open(kl_node *node, const char *dir, uint32_t flags);

/* Gives the node a thread of its own, with all signals blocked, that polls
 * until kl_node_stop. KL_ESTATE where it is not open or has an owner, KL_EFORK,
 * KL_ENOMEM. Any thread. */
KL_API int kl_node_start(kl_node *node);

/* Does what is to be done, and waits up to timeout_ms for something to do where
 * there is nothing (0 = does not wait, < 0 = without limit; a deadline of the
 * node's own ends the wait earlier). Callbacks run inside. The first thread
 * that calls it becomes the owner. KL_EOWNER for other threads, KL_EREENTRY
 * from inside a callback, KL_ESTATE before open, KL_ECLOSED after stop,
 * KL_EFORK. */
KL_API int kl_node_poll(kl_node *node, int32_t timeout_ms);

/* A descriptor that becomes readable when kl_node_poll has something to do, for
 * a program that waits in its own loop. Borrowed; only to be waited for, not to
 * be read. Valid from new to free. KL_EINVAL. Any thread. */
KL_API int kl_node_fd(const kl_node *node, int *fd_out);

/* How many nanoseconds from now kl_node_poll wants to be called at the latest:
 * 0 = now, -1 = only when the descriptor is readable. To be asked before every
 * wait. KL_ESTATE before open, KL_ECLOSED after stop, KL_EOWNER, KL_EFORK.
 * Owner. */
KL_API int kl_node_deadline(const kl_node *node, int64_t *ns_out);

/* Refuses new work, finishes what was accepted, writes a clean checkpoint and
 * closes the folder; ends the thread of kl_node_start. Where the program polls,
 * this function polls; in another thread than the owner it becomes the owner as
 * soon as that is not inside, and stays it after KL_ETIMEDOUT, so that the old
 * owner gets KL_EOWNER. Calling it again is harmless, also after KL_ETIMEDOUT
 * (timeout_ms < 0 = without limit), when it goes on. KL_EREENTRY from inside a
 * callback, KL_ESTATE before open, KL_EFORK, KL_EIO and others where the last
 * writes failed; the folder is closed all the same. Any thread. */
KL_API int kl_node_stop(kl_node *node, int32_t timeout_ms);

/* Gives the node up. Without kl_node_stop it is a crash stop, after which open
 * recovers: nothing acknowledged is lost. What was made from the node stays
 * valid and answers KL_ECLOSED. Not while another thread is inside a function
 * of this node; it waits for an owner that is inside kl_op_wait,
 * kl_consumer_poll or the like, without making it come back. From inside a
 * callback, and in a child process after fork, it does nothing. NULL is
 * ignored. Any thread. */
KL_API void kl_node_free(kl_node *node);

/* What open has found, and reads since: KL_VERDICT_CLEAN and so on. Which
 * records are lost is in the description of a topic: damage lists the ranges
 * that are known, suspect is true where the last records may be lost and sends
 * get KL_ECORRUPT until the node is opened with KL_OPEN_ACCEPT_LOSS. KL_ESTATE
 * where the node is not open, KL_EINVAL. Any thread. */
KL_API int kl_node_verdict(const kl_node *node, int *verdict_out);

/* KL_NODE_NEW and so on. KL_EINVAL. Any thread. */
KL_API int kl_node_state(const kl_node *node, int *state_out);

/* The node's number in its folder. KL_ESTATE before open, KL_EINVAL. Any
 * thread. */
KL_API int kl_node_id(const kl_node *node, int32_t *id_out);

/* Copies the text of the last failure of open, or of the store, into buf, cut
 * to size and terminated; empty where there was none. KL_EFORK, KL_EINVAL. Any
 * thread. */
KL_API int kl_node_errmsg(const kl_node *node, char *buf, size_t size);

/* A client that talks to this node. A handle of its own: free it with
 * kl_client_free, before or after the node. It is given whatever the state of
 * the node, also in a child process; what is made from it says why it does not
 * work. KL_EINVAL, KL_ENOMEM. Any thread. */
KL_API int kl_node_client(kl_node *node, kl_client **out);

/* Writes the counters of the node as one JSON object into buf, cut to size and
 * terminated; size_out (may be NULL) is the length of the whole text without
 * terminator. KL_ESTATE before open, KL_ECLOSED after stop, KL_EINVAL,
 * KL_ENOMEM. Any thread. */
KL_API int kl_node_stats_json(const kl_node *node, char *buf, size_t size,
                              size_t *size_out);

/* The same as Prometheus text (exposition format 0.0.4). Any thread. */
KL_API int kl_node_stats_prometheus(const kl_node *node, char *buf, size_t size,
                                    size_t *size_out);

#ifdef __cplusplus
}
#endif

#endif
