/*
 * Links to other nodes, and what comes over them.
 */
#ifndef KL_RUNTIME_LINKS_H
#define KL_RUNTIME_LINKS_H

#include "runtime/runtime.h"
#include "wire/wire.h"

enum {
    KL_RUNTIME_ENDPOINT = 256,     /* longest text with its terminator */
    KL_RUNTIME_BOOTSTRAP_MAX = 16, /* nodes in the configuration */
    KL_RUNTIME_LOST_MAX = 16,
    KL_RUNTIME_SEEN_MAX = 64 /* sessions whose requests are remembered */
};

/* An encoded message that waits. */
struct kl_runtime_parcel
{
    struct kl_base_list link;
    uint64_t after; /* the quorum state that must be durable first */
    int32_t node_id;
    struct kl_base_uuid session_id;
    size_t size;
    uint8_t data[];
};

/* One connection, or the memory of one that was dialled and has ended. */
struct kl_runtime_link
{
    struct kl_base_list link;
    uint64_t id;     /* the net's; 0 = it has ended */
    int32_t node_id; /* who is there; -1 = a client, or it has not said */
    struct kl_base_uuid directory_id;
    struct kl_base_uuid session_id; /* zero until it has said */
    uint64_t heard;   /* when its last message came: the higher the later */
    int64_t asked_ns; /* the first request since then; 0 = none */
    int is_outgoing;
    int is_up;
    int is_blocked;              /* until the net says writable */
    int64_t retry_ns;            /* ended: when it may be dialled again */
    struct kl_base_list waiting; /* parcels */
    size_t waiting_bytes;
};

/* The requests of a session that have come (an anti-replay window, RFC 6479):
 * two links of one node may change their order. */
struct kl_runtime_seen
{
    struct kl_base_uuid session_id;
    int64_t correlation_id; /* the highest */
    uint64_t window;        /* bit i: the one that is lower by i has come */
    uint64_t used;          /* the higher the later */
};

struct kl_runtime_links
{
    struct kl_base_list all;
    size_t count;
    struct kl_base_uuid session_id; /* of this start */
    struct kl_base_list local;      /* parcels from this node to itself */
    struct kl_base_buf bytes;       /* of the message that is sent */
    struct kl_base_buf lists;       /* behind the one that has come */
    struct kl_wire_message message;
    struct kl_runtime_seen seen[KL_RUNTIME_SEEN_MAX];
    uint64_t used;
    uint64_t heard; /* the last message that has come over a link */
};

/* ---- links.c, dispatch.c, endpoint.c ------------------------------------- */

/* KL_EBUSY where the net belongs to another node. */
int kl_runtime_links_open(struct kl_runtime_node *n);
void kl_runtime_links_close(struct kl_runtime_node *n);
/* Takes what has come. 1 where there was something. */
int kl_runtime_links_step(struct kl_runtime_node *n);
/* The same for one message of this node to itself. */
int kl_runtime_links_local(struct kl_runtime_node *n);
/* Somebody of this session is connected. */
int kl_runtime_links_has_session(struct kl_runtime_node *n,
                                 const struct kl_base_uuid *session);
/* Sends to the node that the envelope names, which may be this one: over the
 * link of a session where that is not zero, as an answer, else over any; a node
 * without one is dialled. What cannot be sent is lost: KL_EAGAIN. */
int kl_runtime_links_send(struct kl_runtime_node *n,
                          const struct kl_wire_message *message,
                          const struct kl_base_uuid *session_id);
int kl_runtime_links_send_bytes(struct kl_runtime_node *n, int32_t node_id,
                                const struct kl_base_uuid *session_id,
                                const void *data, size_t size);
/* Sends a request that changes something, to the start of the node that is at
 * the other end now: no later one takes it for its own. KL_EAGAIN also where
 * that has said nothing yet: it is asked to. */
int kl_runtime_links_ask(struct kl_runtime_node *n,
                         struct kl_wire_message *request);
/* Gives a link up; it may be gone afterwards. */
void kl_runtime_links_drop(struct kl_runtime_node *n,
                           struct kl_runtime_link *l);
/* Who is at the other end. */
void kl_runtime_links_identify(struct kl_runtime_link *l,
                               const struct kl_wire_envelope *envelope);

struct kl_runtime_parcel *kl_runtime_parcel_new(struct kl_runtime_node *n,
                                                const void *data, size_t size);
void kl_runtime_parcel_free(struct kl_runtime_node *n,
                            struct kl_runtime_parcel *p);
void kl_runtime_parcels_free(struct kl_runtime_node *n,
                             struct kl_base_list *parcels);

/* A message from a link; NULL: from this node. */
void kl_runtime_dispatch(struct kl_runtime_node *n, struct kl_runtime_link *l,
                         const void *data, size_t size);

/* Ids of controller.quorum.bootstrap.servers; KL_ECONFIG and a text. */
int kl_runtime_bootstrap_ids(const struct kl_runtime_node *n,
                             int32_t ids[KL_RUNTIME_BOOTSTRAP_MAX],
                             uint32_t *count_out, struct kl_base_error *error);
/* 1 and where a node is reached, or 0. */
int kl_runtime_endpoint_of(const struct kl_runtime_node *n, int32_t node_id,
                           char out[KL_RUNTIME_ENDPOINT]);
/* advertised.listeners, in out. KL_ENOMEM. */
int kl_runtime_endpoints_own(const struct kl_runtime_node *n,
                             struct kl_base_buf *out,
                             struct kl_wire_texts *texts_out);

#endif
