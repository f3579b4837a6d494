/*
 * The node's state, private to the room. Unless a field says otherwise it
 * belongs to the owner: the thread inside kl_runtime_poll, wait, stop, open or
 * close, of which there is one at a time (inside).
 *
 * Sleeping and waking. The owner says that it is going to sleep, then looks
 * once more at inbox and lanes_woken; a waker publishes its work there, then
 * looks at sleeping. One of the two sees the other, so no wake-up is lost and
 * none is paid for while the owner is awake. A sleep has one waker, the one
 * that finds the node sleeping and says that it is awake; it posts to the gate
 * or signals the descriptor, wherever the owner sleeps, once.
 */
#ifndef KL_RUNTIME_STATE_H
#define KL_RUNTIME_STATE_H

#include "base/assert.h"
#include "base/map.h"
#include "base/stat.h"
#include "controller/controller.h"
#include "os/fork.h"
#include "os/thread.h"
#include "raft/raft.h"
#include "runtime/cluster.h"
#include "runtime/links.h"
#include "runtime/runtime.h"

#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/node.h>
#include <stdatomic.h>

/* First in, first out; requests chained by next. */
struct kl_runtime_queue
{
    struct kl_runtime_request *first;
    struct kl_runtime_request *last;
};

/* Owner while the library's thread begins, and after it has ended. */
#define KL_RUNTIME_OWNER_LIBRARY UINT64_MAX

enum kl_runtime_sleeping {
    KL_RUNTIME_AWAKE,
    KL_RUNTIME_AT_GATE,      /* nobody else looks */
    KL_RUNTIME_AT_DESCRIPTOR /* the host does, or may interrupt us */
};

enum kl_runtime_thread_state {
    KL_RUNTIME_THREAD_NONE,
    KL_RUNTIME_THREAD_RUNS,
    KL_RUNTIME_THREAD_JOINED
};

/* What is counted here; the store counts the rest. One writer: the owner. */
struct kl_runtime_stats
{
    kl_base_stat turns;
    kl_base_stat sleeps;
    kl_base_stat requests;
    kl_base_stat produce_batches;
    kl_base_stat produce_records;
    kl_base_stat produce_bytes;
    kl_base_stat produce_refused;
    kl_base_stat produce_delayed; /* waited for room in the store */
    kl_base_stat fetches;
    kl_base_stat fetch_bytes;
    kl_base_stat fetch_parked;
    kl_base_stat metadata_batches;
    kl_base_stat snapshots; /* of the metadata, taken here */
    kl_base_stat messages_sent;
    kl_base_stat messages_received;
    kl_base_stat messages_lost; /* no link, no room or no memory */
    kl_base_stat messages_malformed;
    kl_base_stat messages_unknown;     /* of a kind or version of others */
    kl_base_stat messages_foreign;     /* of another cluster */
    kl_base_stat messages_replayed;    /* requests that were seen before */
    kl_base_stat messages_misdirected; /* for or from another node */
    kl_base_stat calls;                /* requests sent to a controller */
    kl_base_stat calls_timed_out;
    kl_base_stat calls_not_controller; /* answered by who is none */
    kl_base_stat served;               /* requests that were made of this one */
    kl_base_stat served_not_controller;
    kl_base_stat broker_refused;   /* registrations and heartbeats */
    kl_base_stat brokers;          /* gauge: registered */
    kl_base_stat brokers_inactive; /* gauge: of them */
    kl_base_stat links_silent;
    kl_base_stat quorum_refused;     /* gauge */
    kl_base_stat topics;             /* gauge */
    kl_base_stat partitions;         /* gauge */
    struct kl_base_histogram ack_us; /* produce until acknowledged */
};

struct kl_runtime_command;

/* One batch at a time is on its way into the metadata log; what is committed
 * is read back and applied, whoever has proposed it. */
struct kl_runtime_metadata
{
    struct kl_controller *controller;
    struct kl_store_log *log;
    struct kl_controller_records records; /* of the batch under way */
    struct kl_runtime_command *command;   /* that wants them, or NULL */
    struct kl_base_chunk *frame;          /* not taken by the store yet */
    uint64_t token;                       /* of its proposal */
    int is_proposed;
    int64_t end_offset;           /* taken: its end; -1 = none */
    struct kl_base_list commands; /* waiting */
    int is_leading;               /* commands may become batches */
    int64_t base_offset;          /* that the batch was made for, -1 = any */
    size_t served_count;          /* commands of other nodes */
    struct kl_runtime_timer tick; /* of the controller */
    int is_caught_up;             /* logs follow the image */
    int64_t open_leo;             /* of the log, when it was opened */

    int64_t commit;  /* may be applied up to here */
    int64_t applied; /* is */
    int code;        /* why it goes no further */
    struct kl_base_error error;
    struct kl_store_read read; /* of what is to be applied */
    int is_reading;
    int is_stale;   /* what comes of it is of no use any more */
    uint32_t slice; /* where the next frame is */
    uint32_t at;
    size_t records_done;           /* of that frame */
    struct kl_runtime_timer retry; /* after KL_ENOMEM and the like */
    int retry_code;
};

/* Batches of the last fetch response, for the store to append. */
struct kl_runtime_fetched
{
    struct kl_base_chunk **chunks; /* NULL once appended */
    size_t chunk_capacity;
    struct kl_raft_batch *batches;
    size_t batch_capacity;
    uint32_t count;
    struct kl_wire_control *controls; /* of those that are control batches */
    size_t control_capacity;
    struct kl_base_buf *lists; /* behind them */
    size_t list_capacity;
    uint32_t control_count;
};

/* A peer's session that has ended, to be told. */
struct kl_runtime_lost
{
    struct kl_wire_voter_key peer;
    struct kl_base_uuid session_id;
};

/* A snapshot of the metadata on its way to the disk. */
struct kl_runtime_snapshot
{
    struct kl_raft_snapshot_id id;
    struct kl_base_buf bytes;
    struct kl_store_snapshot_writer *writer; /* NULL = nothing under way */
    int is_committing;
    int is_done; /* and not told yet */
    int code;
};

/* What a snapshot says; the voters point into the buffers. */
struct kl_runtime_image
{
    struct kl_controller *controller;
    struct kl_raft_voters voters;
    struct kl_base_buf bytes;
    struct kl_base_buf lists;
};

struct kl_runtime_snapshots
{
    struct kl_runtime_snapshot taken;   /* of this node's image */
    struct kl_runtime_snapshot fetched; /* the leader's */
    struct kl_runtime_image image;      /* that the last fetched one holds */
    struct kl_base_buf piece;           /* of the leader's, the last */
    struct
    {
        struct kl_raft_snapshot_id id;
        int64_t position;
        int code;
    } written; /* piece, and not told yet */
    int is_written;
    int is_pruned;                 /* before the one taken is told */
    uint64_t applied_bytes;        /* of the log, behind the last one */
    int64_t retry_ns;              /* not before that */
    struct kl_raft_snapshot_id id; /* found at open */
};

/* The search for the cluster. */
struct kl_runtime_join
{
    int64_t asked_id; /* correlation id of the last question */
    int64_t retry_ns;
    int is_due; /* it is found: the quorum begins */
    struct kl_runtime_timer timer;
};

/* raft, and what it waits for. */
struct kl_runtime_quorum
{
    struct kl_raft *raft;
    struct kl_raft_effects effects;
    size_t done;                  /* of the effects */
    struct kl_base_list held;     /* parcels that a quorum state must precede */
    struct kl_base_list reading;  /* quorum_read.c: under way */
    struct kl_base_list was_read; /* and not told yet */
    struct kl_base_buf read_bytes;
    struct kl_runtime_fetched fetched;
    struct kl_runtime_lost lost[KL_RUNTIME_LOST_MAX];
    uint32_t lost_count;
    int is_resign_due; /* before a stop */
    int refusal;       /* code that the operator was told */
    struct kl_raft_event event;
    int is_given; /* there was no memory for the event: it is told again */
    int is_failed;
    int is_starved;  /* the last step found no memory */
    uint64_t put_id; /* of the state put last, and its generation */
    uint64_t put_generation;
    uint64_t persisted_id; /* told */
    int64_t applied_told;
    struct kl_base_buf control; /* bytes of a control record */
    struct kl_runtime_timer timer;
};

/* What waits at a partition; idle ones share one that nobody changes. */
struct kl_runtime_waits
{
    struct kl_runtime_partition *partition;
    struct kl_base_list waiting;  /* produce: KL_EAGAIN from the store */
    struct kl_base_list appended; /* produce: until durable */
    struct kl_base_list parked;   /* fetch: until there is something */
    struct kl_base_list starts;   /* commands: until the start is durable */
    struct kl_base_list stalled;  /* link: in n->stalled while waiting */
};

/* One replica that this node hosts: the user pointer of its log. */
struct kl_runtime_partition
{
    struct kl_store_log *log;
    struct kl_runtime_waits *waits; /* never NULL */
    int32_t leader_epoch;
    uint32_t batch_max;
    uint8_t is_leader; /* else nobody appends or reads here */
    uint8_t level;
};

struct kl_runtime_node
{
    struct kl_base_alloc alloc;
    atomic_uint refs;
    struct kl_os_fork_guard fork;
    struct kl_base_config config;
    struct kl_base_panic_hook panic;
    int trace_level;
    void (*trace)(int level, const char *text, void *user);
    void *trace_user;
    const struct kl_os_clock *clock;
    int own_vfs;
    int own_lanes;

    /* Life. */
    atomic_int state;  /* KL_NODE_* */
    atomic_int closed; /* no owner will come any more */
    atomic_int stop_wanted;
    atomic_int crash_wanted;
    atomic_uint_least64_t owner;  /* thread, 0 = nobody yet */
    atomic_uint_least64_t inside; /* the thread that is the owner right now */
    const struct kl_base_panic_hook *outer_hook; /* it had outside */
    atomic_int inside_wanted; /* somebody waits, or has, for it to be 0 */
    struct kl_os_thread thread;
    enum kl_runtime_thread_state thread_state; /* under mutex */
    int taken_over; /* stop runs in a thread that was not the owner */
    int stop_code;
    int is_leaving; /* a stop: the quorum gets another leader */
    int refusing;   /* nothing is begun any more */
    int store_failed;
    int32_t id;

    /* Requests, waking, waiting. */
    _Atomic(struct kl_runtime_request *) inbox; /* newest first */
    atomic_int draining;                        /* of a closed node */
    struct kl_runtime_queue callbacks;
    struct kl_os_wakeup wakeup;
    uint64_t signals; /* made or on their way, and not drained */
    struct kl_os_gate gate;
    atomic_int sleeping; /* KL_RUNTIME_AWAKE and so on */
    atomic_int lanes_woken;
    struct kl_os_mutex mutex; /* over cond, error, store for statistics */
    struct kl_os_cond cond;
    atomic_int waiter_count;
    int notified;
    struct kl_base_error error; /* under mutex */

    struct kl_base_list timers; /* by deadline */
    int64_t now_ns;
    uint64_t checkpoints_seen; /* traced */
    int full_seen;

    /* Rooms. */
    struct kl_os_vfs *vfs;
    struct kl_os_lanes *lanes;
    struct kl_net *net;     /* NULL = a node by itself */
    struct kl_store *store; /* set and cleared under mutex */
    struct kl_runtime_links links;
    struct kl_runtime_metadata metadata;
    struct kl_runtime_quorum quorum;
    struct kl_runtime_snapshots snapshots;
    struct kl_runtime_join join;
    struct kl_runtime_requests requests;
    struct kl_runtime_broker broker;
    size_t forwarded_count;        /* commands that the controller has */
    struct kl_base_list forwarded; /* of them: done, and not applied here */
    struct kl_base_list stalled;   /* partitions that wait for room */
    size_t produce_count;          /* not finished */
    size_t read_count;             /* fetches and look-ups in the store */
    struct kl_base_list produce_done;
    struct kl_base_list fetch_done;
    struct kl_base_list lookup_done;

    /* Published topics. */
    struct kl_os_mutex topics_mutex;
    struct kl_base_map topics; /* under topics_mutex */
    atomic_uint_least64_t topics_version;

    struct kl_runtime_stats stats;
};

/* ---- trace.c --------------------------------------------------------------
 */

/* One line "what key=value ..." to the hook, if level is wanted. */
void kl_runtime_trace(const struct kl_runtime_node *n, int level,
                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- node.c ----------------------------------------------------------------
 */

/* Owner: finishes everything that is left with a code, closes the folder. */
void kl_runtime_teardown(struct kl_runtime_node *n);

/* ---- loop.c ----------------------------------------------------------------
 */

/* One turn. 1 where something happened, so that another may find more. */
int kl_runtime_turn(struct kl_runtime_node *n);
/* Becomes the owner if nobody is: 0, KL_EOWNER, KL_EREENTRY, KL_ECLOSED. */
int kl_runtime_enter(struct kl_runtime_node *n);
void kl_runtime_leave(struct kl_runtime_node *n);
/* True where the caller was called by the node: by its owner, or in a thread of
 * its lanes. It must not wait for the node. */
int kl_runtime_is_inside(const struct kl_runtime_node *n);
/* The thread that is inside now gets the node's panic hook; leave gives it the
 * one that it had. */
void kl_runtime_inside(struct kl_runtime_node *n);
/* Nobody is inside any more; wakes those who want to be. */
void kl_runtime_outside(struct kl_runtime_node *n);
/* The owner that may sleep at the descriptor does so no more. */
void kl_runtime_awake(struct kl_runtime_node *n);
/* Turns until ready says 1: 0, KL_ETIMEDOUT, KL_ECLOSED. */
int kl_runtime_drive(struct kl_runtime_node *n, int (*ready)(void *arg),
                     void *arg, int64_t until_ns);
/* The monotonic time timeout_ms from now; INT64_MAX for a negative one. */
int64_t kl_runtime_until(const struct kl_runtime_node *n, int32_t timeout_ms);

/* ---- stop.c ----------------------------------------------------------------
 */

/* A step of an ordered stop, part of every turn while one is wanted. 1 where
 * the next turn should come at once. */
int kl_runtime_stop_step(struct kl_runtime_node *n);

/* ---- submit.c --------------------------------------------------------------
 */

int kl_runtime_requests_run(struct kl_runtime_node *n);
int kl_runtime_callbacks_run(struct kl_runtime_node *n);
/* Runs what was submitted to a node that is closed. */
void kl_runtime_drain_closed(struct kl_runtime_node *n);
int kl_runtime_inbox_is_empty(const struct kl_runtime_node *n);
/* Wakes the owner where it sleeps. Any thread. */
void kl_runtime_wake(struct kl_runtime_node *n);
/* Sleeps until ready, for threads that are not the owner: 0, KL_ETIMEDOUT,
 * KL_ECLOSED. */
int kl_runtime_wait_asleep(struct kl_runtime_node *n, int (*ready)(void *arg),
                           void *arg, int64_t until_ns);
/* Wakes everybody who waits. Any thread. */
void kl_runtime_broadcast(struct kl_runtime_node *n);
/* The same by the owner, if something was notified. */
void kl_runtime_notify_flush(struct kl_runtime_node *n);

static inline void kl_runtime_queue_push(struct kl_runtime_queue *q,
                                         struct kl_runtime_request *r)
{
    r->next = NULL;
    if (q->first)
        q->last->next = r;
    else
        q->first = r;
    q->last = r;
}

/* ---- timers.c --------------------------------------------------------------
 */

/* Fires what is due at now_ns. 1 where there was something. */
int kl_runtime_timers_fire(struct kl_runtime_node *n, int64_t now_ns);
int64_t kl_runtime_timers_deadline(const struct kl_runtime_node *n);
void kl_runtime_timers_clear(struct kl_runtime_node *n);
/* There is a turn at that time, and none where it is INT64_MAX. */
void kl_runtime_turn_at(struct kl_runtime_node *n, struct kl_runtime_timer *t,
                        int64_t at);

/* ---- partitions.c, produce.c, fetch.c ---------------------------------------
 */

/* Makes or changes the log's partition to fit the topic. KL_ENOMEM. */
int kl_runtime_partition_attach(struct kl_runtime_node *n,
                                struct kl_store_log *log,
                                const struct kl_controller_topic *topic,
                                int32_t leader_epoch, int is_leader);
/* Finishes what waits at the partition with a code, then frees it. */
void kl_runtime_partition_detach(struct kl_runtime_node *n,
                                 struct kl_store_log *log, int code);
/* Largest frame that a topic takes here. */
uint32_t kl_runtime_topic_batch_max(const struct kl_runtime_node *n,
                                    const struct kl_controller_topic *topic);
/* NULL for a log without one: the metadata log. */
static inline struct kl_runtime_partition *
kl_runtime_partition_of(const struct kl_store_log *log)
{
    return kl_store_log_user(log);
}
/* NULL where this node has no such replica. */
struct kl_runtime_partition *
kl_runtime_partition_find(struct kl_runtime_node *n,
                          const struct kl_base_uuid *topic_id,
                          int32_t partition);
/* For who wants to append or read: 0, KL_ENOTLEADER, KL_ENOTOPIC, KL_ENOMEM. */
int kl_runtime_partition_led(struct kl_runtime_node *n,
                             const struct kl_base_uuid *topic_id,
                             int32_t partition,
                             struct kl_runtime_partition **out);
/* Distributes what the store has to tell. 1 where there was something. */
int kl_runtime_events_run(struct kl_runtime_node *n);

void kl_runtime_produce_durable(struct kl_runtime_node *n,
                                struct kl_runtime_partition *p,
                                int64_t durable_leo);
void kl_runtime_produce_room(struct kl_runtime_node *n);
void kl_runtime_produce_abort(struct kl_runtime_node *n,
                              struct kl_runtime_partition *p, int waiting_code,
                              int appended_code);
void kl_runtime_fetch_wake(struct kl_runtime_node *n,
                           struct kl_runtime_partition *p);
void kl_runtime_fetch_abort(struct kl_runtime_node *n,
                            struct kl_runtime_partition *p, int code);
void kl_runtime_fetch_event(struct kl_runtime_node *n,
                            struct kl_store_read *read);
void kl_runtime_lookup_event(struct kl_runtime_node *n,
                             struct kl_store_lookup *lookup);
/* Calls done for what is finished. 1 where there was something. */
int kl_runtime_finish_run(struct kl_runtime_node *n);

/* ---- metadata_open.c, replay.c ------------------------------------------- */

/* Makes the metadata log or takes up the one that is there. The only voter of a
 * quorum leads it and has applied all of it when this returns; blocks. */
int kl_runtime_metadata_open(struct kl_runtime_node *n,
                             struct kl_base_error *error);
void kl_runtime_metadata_close(struct kl_runtime_node *n);
/* Calls fn for every control record of the metadata log; blocks. */
typedef int (*kl_runtime_metadata_fn)(struct kl_runtime_node *n,
                                      const struct kl_batch_record *record,
                                      void *user, struct kl_base_error *error);
int kl_runtime_metadata_scan(struct kl_runtime_node *n,
                             kl_runtime_metadata_fn fn, void *user,
                             struct kl_base_error *error);
/* Waits for something from the store while the node is not open yet. */
void kl_runtime_metadata_pump(struct kl_runtime_node *n);
/* The same until it is there that a snapshot was read. */
void kl_runtime_metadata_await(struct kl_runtime_node *n,
                               const struct kl_store_snapshot_read *read);
/* An image that is empty. */
int kl_runtime_controller_new(struct kl_runtime_node *n,
                              struct kl_controller **out);
/* A number that no other start of this folder has had. */
uint64_t kl_runtime_seed(const struct kl_runtime_node *n);

/* ---- metadata.c, apply.c, catch_up.c, logs.c, topics.c ------------------- */

/* Begins and applies batches. 1 where something moved. */
int kl_runtime_metadata_step(struct kl_runtime_node *n);
/* Puts the records of the batch under way into one frame: KL_ENOMEM. */
int kl_runtime_metadata_build(struct kl_runtime_node *n);
int kl_runtime_metadata_is_idle(const struct kl_runtime_node *n);
/* Its read is finished. */
void kl_runtime_metadata_read_done(struct kl_runtime_node *n);
/* A frame of it is applied: it may be the one under way. */
void kl_runtime_metadata_applied(struct kl_runtime_node *n, int code);
/* Tries again, a little later; the code says why not at once. */
void kl_runtime_metadata_retry(struct kl_runtime_node *n, int code);
/* The quorum says that commands may become batches. */
void kl_runtime_metadata_lead(struct kl_runtime_node *n);
/* The batch under way was made for this place in the log: 1, or it is given up,
 * and its command is looked at again. */
int kl_runtime_metadata_fits(struct kl_runtime_node *n, int64_t leo);
/* Commands become batches no more; what has not been proposed ends. */
void kl_runtime_metadata_lead_lost(struct kl_runtime_node *n);
/* Another image, of everything below end; it belongs to the node from now on.
 */
void kl_runtime_metadata_replace(struct kl_runtime_node *n,
                                 struct kl_controller *controller, int64_t end);
/* The logs agree with the image as soon as it holds all that was committed
 * before the current leader. 1 where they do for the first time. */
int kl_runtime_catch_up_step(struct kl_runtime_node *n);
/* Applies what is committed. 1 where something was. */
int kl_runtime_apply_step(struct kl_runtime_node *n);
/* The proposal with this token is committed, or why it is not. */
void kl_runtime_metadata_complete(struct kl_runtime_node *n, uint64_t token,
                                  int code);
/* Finishes the command under way and those that wait: the node closes. */
void kl_runtime_metadata_abort(struct kl_runtime_node *n);

/* ---- quorum_open.c, quorum.c, quorum_effects.c ----------------------------
 */

/* Makes raft from what the store has; blocks. */
int kl_runtime_quorum_open(struct kl_runtime_node *n,
                           struct kl_base_error *error);
void kl_runtime_quorum_init(struct kl_runtime_node *n);
void kl_runtime_quorum_close(struct kl_runtime_node *n);
/* Tells raft what there is to tell, and does what it wants. 1 where something
 * moved. */
int kl_runtime_quorum_step(struct kl_runtime_node *n);
int kl_runtime_quorum_is_idle(const struct kl_runtime_node *n);
/* Goes on with the effects: 0, or KL_ENOMEM where some are left. */
int kl_runtime_quorum_carry_out(struct kl_runtime_node *n);
/* Raft may hear of a message: all that it wanted is done. */
int kl_runtime_quorum_is_ready(const struct kl_runtime_node *n);
/* The only voter is this node. */
int kl_runtime_quorum_is_alone(const struct kl_runtime_node *n);
/* This node has won the election of its epoch. */
int kl_runtime_quorum_is_leader(const struct kl_runtime_node *n);
/* Sends what has waited for a quorum state that is durable now. */
void kl_runtime_quorum_release(struct kl_runtime_node *n);
/* What others say of this node, or its voters record, is for the operator. */
void kl_runtime_quorum_watch(struct kl_runtime_node *n);
/* Others may lead, where there are some. */
void kl_runtime_quorum_resign(struct kl_runtime_node *n);
/* The session at the other end of a link is over. */
void kl_runtime_quorum_lost(struct kl_runtime_node *n,
                            const struct kl_runtime_link *l);

/* ---- quorum_message.c, quorum_read.c ------------------------------------- */

/* Tells raft a message of this cluster for this node. */
void kl_runtime_quorum_message(struct kl_runtime_node *n,
                               const struct kl_wire_message *message);
/* Batches of the last fetch response: to the store; given up. 0, KL_ENOMEM,
 * KL_EAGAIN where it is to be called again. */
int kl_runtime_fetched_append(struct kl_runtime_node *n,
                              const struct kl_raft_effect *e);
void kl_runtime_fetched_clear(struct kl_runtime_node *n);
void kl_runtime_fetched_deinit(struct kl_runtime_node *n);

/* Reads for followers: begun, finished by the store (1 where it was one of
 * them), told to raft (1 where there was one). */
int kl_runtime_quorum_read(struct kl_runtime_node *n,
                           const struct kl_raft_effect *e);
int kl_runtime_quorum_read_snapshot(struct kl_runtime_node *n,
                                    const struct kl_raft_effect *e);
int kl_runtime_quorum_read_done(struct kl_runtime_node *n,
                                const struct kl_store_event *e);
int kl_runtime_quorum_read_tell(struct kl_runtime_node *n,
                                struct kl_raft_event *event);
void kl_runtime_quorum_read_close(struct kl_runtime_node *n);

/* ---- join.c -------------------------------------------------------------- */

/* The folder was made for a node that joins a cluster; and it does not know
 * which yet. */
int kl_runtime_joins(const struct kl_runtime_node *n);
int kl_runtime_join_is_asking(const struct kl_runtime_node *n);
/* KL_ECONFIG where there is nobody to ask. */
int kl_runtime_join_open(struct kl_runtime_node *n,
                         struct kl_base_error *error);
/* Asks, or begins the quorum. 1 where it does. */
int kl_runtime_join_step(struct kl_runtime_node *n);
/* Asks a node for its cluster: its answer also tells which start of it is
 * there. */
void kl_runtime_join_ask(struct kl_runtime_node *n, int32_t node_id);
/* The cluster is written into the folder, or why it is not. */
void kl_runtime_join_done(struct kl_runtime_node *n, int code);
/* DescribeCluster. */
void kl_runtime_join_message(struct kl_runtime_node *n,
                             const struct kl_wire_message *m);

/* ---- image.c, snapshot.c, snapshot_fetch.c ------------------------------- */

/* The image of the controller as the bytes of a snapshot, and back: 0,
 * KL_ENOMEM or KL_ECORRUPT with a text. deinit in any case. */
int kl_runtime_image_encode(struct kl_runtime_node *n,
                            const struct kl_raft_voters *voters,
                            struct kl_base_buf *out);
int kl_runtime_image_decode(struct kl_runtime_node *n, const void *data,
                            size_t size, struct kl_runtime_image *out,
                            struct kl_base_error *error);
void kl_runtime_image_deinit(struct kl_runtime_image *image);

/* Loads the newest snapshot into the image; blocks. */
int kl_runtime_snapshot_open(struct kl_runtime_node *n,
                             struct kl_base_error *error);
void kl_runtime_snapshot_close(struct kl_runtime_node *n);
/* Begins a snapshot where one is due. 1 where it does. */
int kl_runtime_snapshot_step(struct kl_runtime_node *n);
/* Something was written. 1 where it was one of these. */
int kl_runtime_snapshot_event(struct kl_runtime_node *n,
                              const struct kl_store_event *e);
/* What raft has to hear. 1 where there is something. */
int kl_runtime_snapshot_tell(struct kl_runtime_node *n,
                             struct kl_raft_event *event);
int kl_runtime_snapshot_tell_fetched(struct kl_runtime_node *n,
                                     struct kl_raft_event *event);
/* Begins to write bytes as the snapshot of this name: 0, KL_EEXIST where it is
 * there, KL_ENOMEM and the like. */
int kl_runtime_snapshot_put(struct kl_runtime_node *n,
                            struct kl_runtime_snapshot *s,
                            struct kl_raft_snapshot_id id);
/* It is written, or why it is not. */
void kl_runtime_snapshot_end(struct kl_runtime_snapshot *s, int code);
/* A piece of the leader's, kept for the effect that it has: KL_ENOMEM. */
int kl_runtime_snapshot_piece(struct kl_runtime_node *n,
                              struct kl_wire_bytes *bytes);
/* What raft wants done with it. */
int kl_runtime_snapshot_write(struct kl_runtime_node *n,
                              const struct kl_raft_effect *e);
int kl_runtime_snapshot_install(struct kl_runtime_node *n,
                                const struct kl_raft_effect *e);
int kl_runtime_snapshot_reset(struct kl_runtime_node *n,
                              const struct kl_raft_effect *e);

/* Judges a pair of a topic's configuration for the controller. */
int kl_runtime_topic_config_check(const char *key, const char *value,
                                  void *user, struct kl_base_error *error);
/* The topic's values over the defaults. */
void kl_runtime_topic_config(const struct kl_controller_topic *topic,
                             struct kl_base_config *out);
/* Creates, configures and deletes logs as the image says: all of them, and
 * those that the controller's delta names. May be repeated; but after
 * KL_EFAILED, of a store that has failed, the delta is done with. */
int kl_runtime_logs_agree(struct kl_runtime_node *n,
                          struct kl_base_error *error);
int kl_runtime_logs_apply_delta(struct kl_runtime_node *n);

/* Publishes a topic of the image, or takes it back. KL_ENOMEM. */
int kl_runtime_topic_publish(struct kl_runtime_node *n,
                             const struct kl_controller_topic *topic);
void kl_runtime_topic_withdraw(struct kl_runtime_node *n,
                               const struct kl_base_uuid *id);
/* Takes back all that the image does not have. */
void kl_runtime_topics_agree(struct kl_runtime_node *n);
void kl_runtime_topics_clear(struct kl_runtime_node *n);

/* ---- command.c, describe.c -------------------------------------------------
 */

/* A command on its way; the texts follow it in the same block. */
struct kl_runtime_command
{
    struct kl_runtime_request request;
    struct kl_base_list link;
    struct kl_runtime_wish wish;
    struct kl_base_config config;
    struct kl_runtime_op *op;
    struct kl_runtime_list_offset list_offset;
    struct kl_runtime_asker asker;     /* of another node, or nobody */
    struct kl_runtime_outcome outcome; /* for the asker */
    struct kl_runtime_call call;       /* to the controller, if not here */
    int64_t applies_at; /* it is done there: applied below this offset */
    size_t size;
};
/* One that nobody waits for, and that is not submitted. KL_ENOMEM. */
int kl_runtime_command_new(struct kl_runtime_node *n,
                           const struct kl_runtime_wish *wish,
                           struct kl_runtime_command **out);
void kl_runtime_command_free(struct kl_runtime_node *n,
                             struct kl_runtime_command *c);
/* Completes its operation and frees it. */
void kl_runtime_command_finish(struct kl_runtime_node *n,
                               struct kl_runtime_command *c, int code,
                               const struct kl_base_error *error);
/* Finishes what waits for a log start that is durable now; the rest too where
 * code is not 0. */
void kl_runtime_command_started(struct kl_runtime_node *n,
                                struct kl_runtime_partition *part,
                                int64_t durable_start, int code);
/* The records that carry the command out; see controller.h. */
int kl_runtime_command_records(struct kl_runtime_node *n,
                               struct kl_runtime_command *c,
                               struct kl_controller_records *out,
                               struct kl_base_error *error);
void kl_runtime_describe_topics(const struct kl_runtime_node *n,
                                struct kl_base_buf *out);
void kl_runtime_describe_cluster(const struct kl_runtime_node *n,
                                 struct kl_base_buf *out);
void kl_runtime_describe_quorum(
    const struct kl_wire_describe_quorum_response *q, struct kl_base_buf *out);
void kl_runtime_describe_topic(const struct kl_runtime_node *n,
                               const struct kl_controller_topic *topic,
                               struct kl_base_buf *out);

#endif
