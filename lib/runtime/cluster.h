/*
 * This node among others: what it asks of them, what it is asked for as the
 * active controller, and its life as a broker. Private to the room; state.h
 * includes it.
 */
#ifndef KL_RUNTIME_CLUSTER_H
#define KL_RUNTIME_CLUSTER_H

#include "controller/controller.h"
#include "runtime/runtime.h"

/* No limit of time. */
#define KL_RUNTIME_NEVER INT64_MAX

struct kl_runtime_command;
struct kl_runtime_call;

/* ---- request.c ------------------------------------------------------------
 */

/* A request until its answer has come, or it is given up. It belongs to who
 * makes it, and must be there until done or cancel. */
struct kl_runtime_call
{
    /* The maker's. */
    int16_t api_key;
    int32_t node_id;  /* whom to ask, -1 = the active controller */
    int may_repeat;   /* twice does no harm */
    int64_t until_ns; /* given up then, KL_RUNTIME_NEVER = never */
    /* Fills in the body of a message whose envelope is made, and gives it to
     * kl_runtime_links_send, whose code it returns. */
    int (*send)(struct kl_runtime_node *n, struct kl_runtime_call *call,
                struct kl_wire_message *m);
    /* Called once, never from inside kl_runtime_call: 0 and the response, which
     * lives until this returns; a code and the response; or a code alone:
     * KL_ETIMEDOUT where nothing can have come of it, KL_EUNKNOWN where that is
     * not known, KL_ECLOSED. */
    void (*done)(struct kl_runtime_node *n, struct kl_runtime_call *call,
                 int code, const struct kl_wire_message *response);
    /* request.c's. */
    struct kl_base_list link;
    int64_t correlation_id; /* of the attempt under way; 0 = there is none */
    int32_t target;         /* of it */
    int32_t hint;           /* who is said to be the controller, or -1 */
    int is_unsure;          /* an attempt may have done something */
    int code;               /* ended */
    int64_t due_ns;         /* the answer is late, or the next attempt */
};

struct kl_runtime_requests
{
    struct kl_base_list all;
    struct kl_base_list ended; /* and not told yet */
    int64_t correlation_id;    /* the last one */
    struct kl_runtime_timer timer;
    struct kl_wire_message message; /* that is sent */
};

void kl_runtime_requests_open(struct kl_runtime_node *n);
/* Ends all of them. */
void kl_runtime_requests_close(struct kl_runtime_node *n);
void kl_runtime_call(struct kl_runtime_node *n, struct kl_runtime_call *call);
/* Gives it up; done is not called. */
void kl_runtime_call_cancel(struct kl_runtime_call *call);
/* Sends what is due. 1 where something moved. */
int kl_runtime_requests_step(struct kl_runtime_node *n);
/* The link to a node is gone; was_up: something may have gone over it. */
void kl_runtime_requests_lost(struct kl_runtime_node *n, int32_t node_id,
                              int was_up);
/* A response: 1 where it answers one of these. */
int kl_runtime_response(struct kl_runtime_node *n,
                        const struct kl_wire_message *m);

/* ---- serve.c, forward.c ---------------------------------------------------
 */

/* A command that came in a message. */
struct kl_runtime_asker
{
    int is_remote;
    struct kl_wire_envelope envelope; /* of the request */
    struct kl_runtime_parcel *parcel; /* the request, where it is no wish */
};

/* What the controller has said about a command that is on its way. */
struct kl_runtime_outcome
{
    int more; /* it is to be given again */
    int64_t broker_epoch;
    int64_t first_producer_id;
    struct kl_base_uuid topic_id;
    struct kl_controller_heartbeat_reply heartbeat;
    int *codes; /* of the proposals of an AlterPartition */
    size_t code_count;
};

/* A request to the controller. */
void kl_runtime_serve(struct kl_runtime_node *n,
                      const struct kl_wire_message *m, const void *data,
                      size_t size);
/* The records that a command of another node asks for. */
int kl_runtime_serve_records(struct kl_runtime_node *n,
                             struct kl_runtime_command *c,
                             struct kl_controller_records *out,
                             struct kl_base_error *error);
/* Answers it; it is free afterwards. */
void kl_runtime_serve_answer(struct kl_runtime_node *n,
                             struct kl_runtime_command *c, int code,
                             const struct kl_base_error *error);

/* The wish that a message has: 0, KL_ENOMEM, KL_ECONFIG with a text; *out is a
 * command that nobody waits for. KL_EUNSUPPORTED for other messages. */
int kl_runtime_forward_wish(struct kl_runtime_node *n,
                            const struct kl_wire_message *m,
                            struct kl_runtime_command **out,
                            struct kl_base_error *error);
/* Lets the active controller do what a command of this node wants. 1 where it
 * is on its way. */
int kl_runtime_forward(struct kl_runtime_node *n, struct kl_runtime_command *c);
/* Completes those whose effect is applied here. 1 where there was one. */
int kl_runtime_forward_step(struct kl_runtime_node *n);
void kl_runtime_forward_close(struct kl_runtime_node *n);

/* ---- voters.c -------------------------------------------------------------
 */

/* Has the leader of the quorum do what a command wants, and finishes it. */
void kl_runtime_voters_ask(struct kl_runtime_node *n,
                           struct kl_runtime_command *c);

/* ---- broker.c -------------------------------------------------------------
 */

/* This node in the cluster's register of brokers. */
struct kl_runtime_broker
{
    int is_wanted;      /* it is not a node by itself */
    int64_t epoch;      /* -1 = not registered by this start */
    int64_t opened_leo; /* of the metadata log, durable then */
    struct kl_base_uuid previous_incarnation; /* that the folder knew then */
    int is_fenced;
    int is_calling;
    int is_awaited; /* somebody waits for this node to have applied what is */
    int want_shutdown;
    int may_stop;
    int refusal; /* code of the last answer that was none, or 0 */
    int64_t due_ns;
    int64_t hurried; /* of the epoch that was told to be caught up, or -1 */
    int64_t stop_ns; /* since then a stop waits */
    struct kl_runtime_call call;
    struct kl_runtime_timer timer;
    struct kl_base_buf endpoints;
};

void kl_runtime_broker_open(struct kl_runtime_node *n);
void kl_runtime_broker_close(struct kl_runtime_node *n);
/* Registers, and tells the controller that it is alive. 1 where it moved. */
int kl_runtime_broker_step(struct kl_runtime_node *n);
/* Of an ordered stop: 1 where nobody counts on this node any more, or it took
 * too long. */
int kl_runtime_broker_may_stop(struct kl_runtime_node *n);
/* Looks at the brokers of the image, which has changed. */
void kl_runtime_broker_look(struct kl_runtime_node *n);
/* This node leads the partition, as far as an image says that is of this start
 * of it. */
int kl_runtime_broker_leads(const struct kl_runtime_node *n,
                            const struct kl_controller_partition *p);

#endif
