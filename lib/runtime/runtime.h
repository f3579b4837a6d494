/*
 * The runtime: the only place where everything meets. A node's owner thread
 * runs one loop over all rooms; other threads submit requests and wait.
 *
 * This door is what api needs: life cycle, requests, waiting, operations.
 */
#ifndef KL_RUNTIME_RUNTIME_H
#define KL_RUNTIME_RUNTIME_H

#include "base/alloc.h"
#include "base/chunk.h"
#include "base/error.h"
#include "base/list.h"
#include "base/uuid.h"
#include "batch/batch.h"
#include "store/store.h"

#include <stdint.h>

/* The core behind kl_node and everything made from it: reference counted, so
 * that handles can be freed in any order. */
struct kl_runtime_node;

void kl_runtime_ref(struct kl_runtime_node *n);   /* any thread */
void kl_runtime_unref(struct kl_runtime_node *n); /* any thread */
const struct kl_base_alloc *kl_runtime_alloc(const struct kl_runtime_node *n);
/* 0, KL_ECLOSED after stop or free, KL_EFORK in a child process, KL_EFAILED. */
int kl_runtime_check(const struct kl_runtime_node *n);       /* any thread */
int64_t kl_runtime_now_ns(const struct kl_runtime_node *n);  /* any thread */
int64_t kl_runtime_wall_ms(const struct kl_runtime_node *n); /* any thread */

/* ---- waiting ----------------------------------------------------------- */

/* Waits until ready(arg) is true. The owner thread polls the node meanwhile;
 * other threads sleep. timeout_ms < 0 = no limit. 0, KL_ETIMEDOUT, KL_ECLOSED.
 * From inside a callback: KL_EREENTRY. */
int kl_runtime_wait(struct kl_runtime_node *n, int (*ready)(void *arg),
                    void *arg, int32_t timeout_ms);
/* Owner thread: something a waiter may wait for has changed. Cheap; the
 * waiters are woken once at the end of the turn. */
void kl_runtime_notify(struct kl_runtime_node *n);

/* ---- requests: from any thread to the owner ---------------------------- */

struct kl_runtime_request
{
    struct kl_runtime_request *next;
    /* Called by the owner, once. closed = the node is stopping: do not start
     * anything, complete with KL_ECLOSED. */
    void (*run)(struct kl_runtime_node *n, struct kl_runtime_request *r,
                int closed);
};

/* Never fails and never blocks; wakes the owner. */
void kl_runtime_submit(struct kl_runtime_node *n,
                       struct kl_runtime_request *request);

/* Deadlines of the owner thread, monotonic ns; may be set again any time. */
struct kl_runtime_timer
{
    struct kl_base_list link;
    int64_t deadline_ns;
    void (*fire)(struct kl_runtime_node *n, struct kl_runtime_timer *t);
};
void kl_runtime_timer_init(struct kl_runtime_timer *t);
void kl_runtime_timer_set(struct kl_runtime_node *n, struct kl_runtime_timer *t,
                          int64_t deadline_ns);
void kl_runtime_timer_cancel(struct kl_runtime_node *n,
                             struct kl_runtime_timer *t);

/* ---- topics ------------------------------------------------------------ */

/* What a client knows of a topic: an immutable snapshot, reference counted. */
struct kl_runtime_topic
{
    struct kl_base_uuid id;
    int32_t partition_count;
    uint32_t batch_max; /* bytes of a frame at most: max.message.bytes */
    const char *name;
};

/* Any thread: looks the topic up in the published metadata image. The result
 * is a reference. NULL where it does not exist (yet). */
const struct kl_runtime_topic *kl_runtime_topic_get(struct kl_runtime_node *n,
                                                    const char *name);
void kl_runtime_topic_unref(struct kl_runtime_node *n,
                            const struct kl_runtime_topic *t);
/* Rises with every change of the published image, so that callers can keep a
 * snapshot and look again only when it moved. Any thread, relaxed. */
uint64_t kl_runtime_topic_version(const struct kl_runtime_node *n);

/* ---- produce ----------------------------------------------------------- */

/* Owner thread. Stamps the frame (base offset 0, not stamped yet; the caller's
 * reference is taken over in any case) and appends it. done is called later by
 * the owner: code 0, or why not (KL_EUNKNOWN = may or may not be there). */
struct kl_runtime_produce
{
    struct kl_base_list link; /* the runtime's */
    struct kl_base_uuid topic_id;
    int32_t partition;
    struct kl_base_chunk *frame;
    void (*done)(struct kl_runtime_node *n, struct kl_runtime_produce *p);
    /* Out. */
    int code;
    int64_t base_offset;
    int32_t leader_epoch;
    int level; /* KL_LEVEL_MEMORY, KL_LEVEL_DURABLE */
};
void kl_runtime_produce(struct kl_runtime_node *n,
                        struct kl_runtime_produce *p);

/* ---- fetch ------------------------------------------------------------- */

/* Owner thread. Waits for records where there are none at offset yet; done is
 * called by the owner, with at least one frame or a code. */
struct kl_runtime_fetch
{
    struct kl_base_list link; /* the runtime's */
    struct kl_base_uuid topic_id;
    int32_t partition;
    struct kl_store_read read; /* offset, bytes_max, cursor set by the caller */
    int64_t high_watermark;    /* out */
    int64_t log_start;         /* out */
    void (*done)(struct kl_runtime_node *n, struct kl_runtime_fetch *f);
    int parked;
};
void kl_runtime_fetch(struct kl_runtime_node *n, struct kl_runtime_fetch *f);
/* Gives up a fetch: done is called with KL_ECANCELED, at once when it was
 * waiting for records, else when its read has finished. */
void kl_runtime_fetch_cancel(struct kl_runtime_node *n,
                             struct kl_runtime_fetch *f);

/* Owner thread. Resolves KL_OFFSET_BEGIN, KL_OFFSET_END or, with spec ==
 * KL_OFFSET_TIMESTAMP, a timestamp to an offset (the end where none). */
struct kl_runtime_list_offset
{
    struct kl_base_uuid topic_id;
    int32_t partition;
    int64_t spec;
    int64_t timestamp;
    void (*done)(struct kl_runtime_node *n, struct kl_runtime_list_offset *l);
    int code;
    int64_t offset;         /* out */
    int64_t log_start;      /* out */
    int64_t high_watermark; /* out */
    struct kl_store_lookup lookup;
};
void kl_runtime_list_offset(struct kl_runtime_node *n,
                            struct kl_runtime_list_offset *l);

/* ---- operations: one handle for every asynchronous result -------------- */

/* Behind kl_op; see runtime/op.h. */
struct kl_runtime_op;

#endif
