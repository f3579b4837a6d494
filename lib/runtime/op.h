/*
 * Operations, behind kl_op. One is made by the caller's thread, filled and
 * completed by the owner, read by any thread afterwards.
 *
 * The results are plain fields: the owner writes them, then completes; readers
 * look at kl_runtime_op_is_done first, which orders the memory.
 *
 * A part of the door: runtime.h includes it.
 */
#ifndef KL_RUNTIME_OP_H
#define KL_RUNTIME_OP_H

#include "base/buf.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct kl_runtime_node;
struct kl_runtime_op;

/* Requests are how other threads reach the owner: see runtime.h. */
struct kl_runtime_request
{
    struct kl_runtime_request *next;
    /* Called by the owner, once. closed = the node is stopping: do not start
     * anything, complete with KL_ECLOSED. */
    void (*run)(struct kl_runtime_node *n, struct kl_runtime_request *r,
                int closed);
};

typedef void (*kl_runtime_op_fn)(struct kl_runtime_op *op, void *user);

/* What only few operations have. */
struct kl_runtime_op_extra
{
    int32_t *partitions; /* count each, or NULL */
    int64_t *offsets;
    size_t count;
    char *json; /* terminated; json_size without the terminator */
    size_t json_size;
    size_t json_capacity; /* bytes allocated */
    char text[KL_BASE_ERROR_TEXT];
};

/* Which results are there. */
enum {
    KL_RUNTIME_OP_ACK = 1, /* partition, epoch, level, replicas */
    KL_RUNTIME_OP_OFFSET = 2,
    KL_RUNTIME_OP_START = 4, /* log_start */
    KL_RUNTIME_OP_END = 8    /* high_watermark */
};

struct kl_runtime_op
{
    atomic_uint refs;
    atomic_uint state; /* private to op.c */
    struct kl_runtime_node *node;
    struct kl_runtime_request request; /* of the callback */
    kl_runtime_op_fn fn;
    void *user;
    struct kl_runtime_op_extra *extra;
    int code;
    uint32_t results; /* KL_RUNTIME_OP_* */
    int32_t partition;
    int32_t epoch;
    int32_t replica_count;
    int level;
    int64_t offset;
    int64_t log_start;
    int64_t high_watermark;
};

/* A pending operation with ref_count references: usually two, one for the
 * user's handle and one that kl_runtime_op_complete gives up. Any thread.
 * KL_ENOMEM. */
int kl_runtime_op_new(struct kl_runtime_op **out, struct kl_runtime_node *n,
                      unsigned ref_count);
void kl_runtime_op_ref(struct kl_runtime_op *op);
/* NULL is ignored. Any thread. */
void kl_runtime_op_unref(struct kl_runtime_op *op);

/* Room for the arrays of a bulk send: extra->partitions and extra->offsets, the
 * latter all -1. Before the operation is submitted. KL_ENOMEM. */
int kl_runtime_op_reserve(struct kl_runtime_op *op, size_t count);
/* The block for text and JSON, made when first asked for; NULL without memory.
 */
struct kl_runtime_op_extra *kl_runtime_op_extra(struct kl_runtime_op *op);
/* Takes the bytes of a buffer as the JSON result and adds a terminator; buf is
 * empty afterwards. KL_ENOMEM also for an error inside buf. */
int kl_runtime_op_take_json(struct kl_runtime_op *op, struct kl_base_buf *buf);
/* A line of text about the failure; lost without memory. */
void kl_runtime_op_set_text(struct kl_runtime_op *op, const char *text);

/* The results of a send, for callers that fill one record at a time. */
static inline void kl_runtime_op_set_ack(struct kl_runtime_op *op,
                                         int32_t partition, int64_t offset,
                                         int32_t epoch, int level)
{
    op->partition = partition;
    op->offset = offset;
    op->epoch = epoch;
    op->level = level;
    op->replica_count = 1;
    op->results = KL_RUNTIME_OP_ACK | KL_RUNTIME_OP_OFFSET;
}

/* Owner thread, once (or whoever runs a request of a closed node). Publishes
 * the results, queues the callback for the end of the turn, notifies waiters
 * and gives up one reference. NULL is ignored. */
void kl_runtime_op_complete(struct kl_runtime_op *op, int code);

/* Any thread. */
int kl_runtime_op_is_done(const struct kl_runtime_op *op);
/* As kl_op_wait, kl_op_set_callback. */
int kl_runtime_op_wait(struct kl_runtime_op *op, int32_t timeout_ms);
int kl_runtime_op_set_callback(struct kl_runtime_op *op, kl_runtime_op_fn fn,
                               void *user);

#endif
