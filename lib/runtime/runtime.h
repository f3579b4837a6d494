/*
 * The runtime: the only place where everything meets. A node's owner thread
 * runs one loop over all rooms; other threads submit requests and wait.
 *
 * This door is what api needs: life cycle, requests, waiting, operations.
 */
#ifndef KL_RUNTIME_RUNTIME_H
#define KL_RUNTIME_RUNTIME_H

#include "base/alloc.h"
#include "base/assert.h"
#include "base/chunk.h"
#include "base/config.h"
#include "base/error.h"
#include "base/list.h"
#include "base/uuid.h"
#include "batch/batch.h"
#include "os/clock.h"
#include "runtime/inspect.h"
#include "runtime/op.h"
#include "store/store.h"

#include <stdint.h>

/* The core behind kl_node and everything made from it: reference counted, so
 * that handles can be freed in any order. */
struct kl_runtime_node;

void kl_runtime_ref(struct kl_runtime_node *n);   /* any thread */
void kl_runtime_unref(struct kl_runtime_node *n); /* any thread */
const struct kl_base_alloc *kl_runtime_alloc(const struct kl_runtime_node *n);
/* 0; KL_ESTATE before open, KL_ECLOSED once stopping, KL_EFORK in a child
 * process. A load or two. A failed store is no reason: reads go on. */
int kl_runtime_check(const struct kl_runtime_node *n);       /* any thread */
int64_t kl_runtime_now_ns(const struct kl_runtime_node *n);  /* any thread */
int64_t kl_runtime_wall_ms(const struct kl_runtime_node *n); /* any thread */
/* Changes when the system's clock has ticked, which is cheap to see; -1 where
 * it cannot be seen. Any thread. */
int64_t kl_runtime_wall_tick_ms(const struct kl_runtime_node *n);

/* ---- waiting ----------------------------------------------------------- */

/* Waits until ready(arg) is true. The owner thread polls the node meanwhile;
 * other threads sleep. timeout_ms < 0 = no limit. 0, KL_ETIMEDOUT, KL_ECLOSED.
 * From inside a callback: KL_EREENTRY. */
int kl_runtime_wait(struct kl_runtime_node *n, int (*ready)(void *arg),
                    void *arg, int32_t timeout_ms);
/* One turn where the calling thread owns the node or nobody does yet; nothing
 * in other threads and inside a callback. */
void kl_runtime_step(struct kl_runtime_node *n);
/* Owner thread: something a waiter may wait for has changed. Cheap; the
 * waiters are woken once at the end of the turn. */
void kl_runtime_notify(struct kl_runtime_node *n);

/* ---- requests: from any thread to the owner ---------------------------- */

/* struct kl_runtime_request is in op.h. */

/* Never fails and never blocks; wakes the owner. After the node has been closed
 * there is no owner: run is called inside, by this or another submitting
 * thread, one request at a time; so no lock that run takes may be held here.
 * A node that stops fires all timers once, and goes on until nothing accepted
 * is left, before it refuses requests and appends; kl_runtime_check tells those
 * who would wait for a time that there is none. A crash fires them as well. */
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
    /* The runtime's. */
    int64_t end_offset;
    int64_t begun_ns;
};
void kl_runtime_produce(struct kl_runtime_node *n,
                        struct kl_runtime_produce *p);

/* ---- fetch ------------------------------------------------------------- */

/* Owner thread. Waits for records where there are none at offset yet; done is
 * called later by the owner, with at least one frame or a code in read.code:
 * KL_ENOTOPIC, KL_EOFFSETRANGE, KL_ECORRUPT, KL_EIO, KL_ECANCELED, KL_ECLOSED.
 * Slices are the caller's to release. */
struct kl_runtime_fetch
{
    struct kl_base_list link; /* the runtime's */
    struct kl_base_uuid topic_id;
    int32_t partition;
    struct kl_store_read read; /* offset, bytes_max, cursor set by the caller */
    int64_t high_watermark;    /* out */
    int64_t log_start;         /* out */
    void (*done)(struct kl_runtime_node *n, struct kl_runtime_fetch *f);
    int state; /* the runtime's */
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
    struct kl_base_list link; /* the runtime's */
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

/* ---- life cycle -------------------------------------------------------- */

/* All copied but vfs, clock and lanes, which must outlive the node. */
struct kl_runtime_options
{
    struct kl_base_alloc alloc;
    struct kl_base_config config;
    int trace_level;
    void (*trace)(int level, const char *text, void *user);
    void *trace_user;
    struct kl_base_panic_hook panic;
    struct kl_os_vfs *vfs;           /* NULL = the real file system */
    const struct kl_os_clock *clock; /* NULL = the real clock */
    struct kl_os_lanes *lanes;       /* NULL = threads; these wake nobody */
    struct kl_net *net;              /* NULL = a node by itself */
};

/* These are kl_node_*, argument for argument; node.h says what they do. */
int kl_runtime_new(struct kl_runtime_node **out,
                   const struct kl_runtime_options *options);
/* Where the files are from open on, in place of what options said; borrowed.
 * KL_ESTATE once it is open, KL_EREENTRY. */
int kl_runtime_set_vfs(struct kl_runtime_node *n, struct kl_os_vfs *vfs);
/* What leads to other nodes, in place of what options said; borrowed until the
 * node is stopped. KL_ESTATE once it is open, KL_EREENTRY. */
int kl_runtime_set_net(struct kl_runtime_node *n, struct kl_net *net);
int kl_runtime_open(struct kl_runtime_node *n, const char *dir, uint32_t flags);
int kl_runtime_start(struct kl_runtime_node *n);
int kl_runtime_poll(struct kl_runtime_node *n, int32_t timeout_ms);
int kl_runtime_fd(const struct kl_runtime_node *n);
int kl_runtime_deadline(const struct kl_runtime_node *n, int64_t *ns_out);
int kl_runtime_stop(struct kl_runtime_node *n, int32_t timeout_ms);
/* A crash stop where it is not stopped, and gives the reference up. 0, or
 * KL_EREENTRY and KL_EFORK where it cannot. */
int kl_runtime_close(struct kl_runtime_node *n);
int kl_runtime_state(const struct kl_runtime_node *n);
int kl_runtime_id(const struct kl_runtime_node *n, int32_t *id_out);
/* The text that errmsg gives. */
void kl_runtime_set_error(struct kl_runtime_node *n,
                          const struct kl_base_error *error);
void kl_runtime_errmsg(const struct kl_runtime_node *n, char *buf, size_t size);
/* KL_VERDICT_CLEAN and so on. Any thread. KL_ESTATE, KL_ECLOSED, KL_EFORK. */
int kl_runtime_verdict(const struct kl_runtime_node *n, int *verdict_out);
/* Any thread. KL_ESTATE, KL_ECLOSED. */
int kl_runtime_stats_json(const struct kl_runtime_node *n,
                          struct kl_base_buf *out);
int kl_runtime_stats_prometheus(const struct kl_runtime_node *n,
                                struct kl_base_buf *out);

/* ---- administration: any thread ----------------------------------------- */

enum kl_runtime_command_type {
    KL_RUNTIME_CREATE_TOPIC, /* number: partitions; replication; config */
    KL_RUNTIME_DELETE_TOPIC,
    KL_RUNTIME_SET_CONFIG, /* key, value (NULL = default) */
    KL_RUNTIME_LIST_TOPICS,
    KL_RUNTIME_DESCRIBE_TOPIC,
    KL_RUNTIME_DELETE_BEFORE, /* number: partition; offset */
    KL_RUNTIME_LIST_OFFSET,   /* number: partition; offset: spec; timestamp */
    KL_RUNTIME_GROW_TOPIC,    /* number: partitions */
    KL_RUNTIME_ELECT_LEADER,  /* number: partition; is_unclean; broker_id */
    KL_RUNTIME_REASSIGN, /* number: partition; replicas, or replication: so many
                            to be chosen, 0 = as it was */
    KL_RUNTIME_UNREGISTER_BROKER, /* broker_id */
    KL_RUNTIME_ADD_VOTER,         /* broker_id; is_forced */
    KL_RUNTIME_REMOVE_VOTER,      /* broker_id; is_forced */
    KL_RUNTIME_DESCRIBE_CLUSTER,
    KL_RUNTIME_DESCRIBE_QUORUM,
    KL_RUNTIME_SERVE /* a request of another node; the runtime's own */
};

/* What is wanted; texts are copied by the call. */
struct kl_runtime_wish
{
    enum kl_runtime_command_type type;
    const char *topic;
    int32_t number;
    int32_t replication;
    const struct kl_base_config *config; /* NULL = all defaults */
    const char *key;
    const char *value;
    int64_t offset;
    int64_t timestamp;
    int32_t broker_id; /* -1 = nobody in particular */
    const int32_t *replicas;
    uint32_t replica_count;
    int is_unclean;
    int is_forced;
};

/* Begins a command; *out is an operation with one reference for the caller, or
 * nobody asks where out is NULL. KL_ENOMEM. */
int kl_runtime_command(struct kl_runtime_node *n,
                       const struct kl_runtime_wish *wish,
                       struct kl_runtime_op **out);

#endif
