/*
 * A quorum in one process: nodes with disks that lose what is not synced, a
 * network that loses, repeats and delays, and an oracle that looks after every
 * step. All of it follows from one seed.
 *
 * Messages travel encoded, so that what a node gets is what the wire carries. A
 * record is a number; a batch is a run of offsets with one.
 */
#ifndef TEST_RAFT_WORLD_H
#define TEST_RAFT_WORLD_H

#include "base/rng.h"
#include "fail_alloc.h"
#include "raft/raft.h"
#include "raft_units.h"

#include <stdint.h>

enum {
    WORLD_NODES = 8,
    WORLD_BATCHES = 4096, /* of one log */
    WORLD_VALUES = 65536, /* different batches in one world */
    WORLD_OFFSETS = 65536,
    WORLD_EPOCHS = 4096,
    WORLD_PENDING = 512,
    WORLD_ITEMS = 8192,
    WORLD_CALLS = 4096
};

/* ---- disks ------------------------------------------------------------- */

struct world_batch
{
    int64_t offset;
    int64_t end;
    int32_t epoch;
    uint32_t value; /* index of what it holds */
};

struct world_snapshot
{
    struct kl_raft_snapshot_id id; /* end_offset -1 = none */
    uint64_t hash;                 /* of the state at its end */
    uint32_t voters_value;         /* a value that holds the voters record */
    int64_t voters_offset;
};

struct world_log
{
    int64_t start;
    int64_t end;
    uint32_t count;
    struct world_batch batches[WORLD_BATCHES];
};

enum world_op_kind { WORLD_APPEND, WORLD_TRUNCATE, WORLD_RESET, WORLD_PRUNE };

/* A change of the log that is not synced yet. */
struct world_op
{
    enum world_op_kind kind;
    uint32_t generation;
    int64_t offset;
    struct world_batch batch;
};

struct world_quorum
{
    uint64_t id;
    struct kl_raft_quorum_state state;
};

struct world_disk
{
    struct world_log log;
    struct world_op ops[WORLD_PENDING];
    uint32_t op_count;
    struct kl_raft_quorum_state quorum;
    int is_first_voter; /* the format wrote the first set of voters */
    struct world_quorum states[WORLD_PENDING];
    uint32_t state_count;
    struct world_snapshot snapshot;
    struct world_snapshot staged; /* downloaded, not installed */
};

/* ---- nodes ------------------------------------------------------------- */

struct world_held
{
    uint64_t after;
    uint8_t *bytes;
    size_t size;
};

struct world_node
{
    int index;
    int32_t id;
    struct kl_base_uuid directory;
    struct kl_base_uuid session;
    int is_up;
    int is_paused;
    uint32_t boot;
    struct kl_raft *raft;
    struct kl_raft_effects effects;
    struct world_disk disk;
    struct world_log log; /* as the running node sees it */
    struct world_held held[WORLD_PENDING];
    uint32_t held_count;
    uint64_t persisted_id;
    enum kl_raft_verdict verdict;
    uint8_t staged_bytes[64]; /* of a download */

    /* The state machine. */
    int64_t applied;
    uint64_t hash;
    int64_t commit;
    int is_applying;
    int is_leading;
    int32_t lead_epoch;
    int fault;

    /* For the oracle. */
    int32_t epoch_sent;
    int64_t high_watermark;
    int32_t role_epoch; /* of its newest role */
};

/* ---- the world --------------------------------------------------------- */

/* What is going to happen. */
enum world_kind {
    WORLD_MESSAGE,
    WORLD_LOG_SYNC,
    WORLD_QUORUM_SYNC,
    WORLD_READ,
    WORLD_SNAPSHOT_READ,
    WORLD_SNAPSHOT_WRITTEN,
    WORLD_SNAPSHOT_INSTALLED,
    WORLD_APPLY
};

struct world_item
{
    int64_t due;
    uint64_t order;
    enum world_kind kind;
    int node;
    uint32_t boot;
    uint8_t *bytes; /* of a message */
    size_t size;
    int from;
    uint64_t id;
    int64_t offset;
    int64_t end;
    uint32_t limit;
    struct kl_raft_snapshot_id snapshot;
};

struct world_value
{
    int is_control;
    uint8_t *bytes; /* of the control record */
    size_t size;
};

struct world_options
{
    uint64_t seed;
    int nodes;
    int voters; /* the first so many, at the first start */
    /* Of a thousand. */
    int loss;
    int duplication;
    int64_t delay_max;
    int64_t sync_max;
    int64_t apply_max;
    int links_tell; /* the end of a session is told to the others */
    int is_starved; /* each allocation of each step fails once */
};

/* What clients know. */
struct world_call
{
    uint64_t token;
    int kind; /* 'p' propose, 'b' barrier, 'v' voters, 'h' hand over */
    int node;
    int64_t floor; /* acknowledged when it was asked */
    int is_done;
    int code;
    int64_t offset;
};

struct world
{
    struct world_options options;
    struct fail_alloc memory;
    struct kl_base_rng rng;
    int64_t now;
    struct kl_base_uuid cluster;
    struct kl_base_uuid topic;
    struct kl_base_uuid first_directories[WORLD_NODES];
    struct world_node nodes[WORLD_NODES];
    int cut[WORLD_NODES][WORLD_NODES]; /* from, to */
    struct world_item items[WORLD_ITEMS];
    uint32_t item_count;
    uint64_t order;
    struct kl_base_buf buf;
    struct kl_base_buf lists;
    struct kl_base_buf control_lists[64];
    uint64_t steps;
    uint64_t sent;
    uint64_t dropped;
    uint64_t refused; /* steps without memory */
    int trace;
    /* A message is looked at before it is delivered; 1 drops it. */
    int (*filter)(struct world *w, int from, int to,
                  const struct kl_wire_message *m);
    void *filter_data;

    struct world_value values[WORLD_VALUES];
    uint32_t value_count;
    struct world_call calls[WORLD_CALLS];
    uint32_t call_count;

    /* The oracle. */
    struct
    {
        int32_t epoch;
        uint32_t value;
        uint64_t hash; /* of the state behind it, where a batch ends */
        int is_end;
    } committed[WORLD_OFFSETS];
    int64_t commit;                /* what any leader has committed */
    int64_t acknowledged;          /* what clients were told */
    int32_t leaders[WORLD_EPOCHS]; /* node index + 1 */
    struct
    {
        int node;
        int32_t epoch;
        int candidate;
    } votes[WORLD_EPOCHS];
    uint32_t vote_count;
    /* (offset, epoch) -> value, hashed. */
    struct
    {
        int64_t offset;
        int32_t epoch;
        uint32_t value;
    } contents[2 * WORLD_OFFSETS];
};

/* raft_world.c */
struct world *world_new(const struct world_options *options);
void world_free(struct world *w);
/* Lets things happen for so long. */
void world_run(struct world *w, int64_t duration);
/* Until the condition holds, at most so long: 1 if it does. */
int world_until(struct world *w, int64_t duration,
                int (*condition)(struct world *w));
int world_has_leader(struct world *w);
/* A leader that has applied all, everybody up has what it has. */
int world_is_settled(struct world *w);
struct world_node *world_leader(struct world *w);
void world_start(struct world *w, int node);
void world_crash(struct world *w, int node);
void world_wipe(struct world *w, int node);
void world_isolate(struct world *w, int node);
void world_heal(struct world *w);
/* Asks a node; the call is at w->calls[token - 1]. */
struct world_call *world_propose(struct world *w, int node, int count);
struct world_call *world_barrier(struct world *w, int node);
struct world_call *world_hand_over(struct world *w, int node, int target);
struct world_call *world_change(struct world *w, int node,
                                enum kl_raft_event_type type, int target,
                                int force);
void world_take_snapshot(struct world *w, int node, int prune);
uint64_t world_random(struct world *w, uint64_t below);
struct kl_raft_view world_view(struct world *w, int node);
/* Gives an event to a node. */
void world_step(struct world *w, int node, struct kl_raft_event *event);
void world_later(struct world *w, int64_t delay, const struct world_item *item);
int world_index_of(struct world *w, int32_t id);

/* raft_disk.c: what a node's effects do */
void world_effects(struct world *w, struct world_node *n,
                   const struct kl_raft_event *event);
void world_complete(struct world *w, struct world_node *n,
                    const struct world_item *item);
void world_disk_crash(struct world *w, struct world_node *n);
void world_disk_format(struct world_node *n, int is_first_voter);
void world_open(struct world *w, struct world_node *n);
uint32_t world_value_new(struct world *w, const struct kl_wire_control *c);
const struct world_batch *world_batch_at(const struct world_log *log,
                                         int64_t offset);

/* raft_oracle.c */
void oracle_step(struct world *w, struct world_node *n);
void oracle_append(struct world *w, struct world_node *n,
                   const struct world_batch *b);
void oracle_apply(struct world *w, struct world_node *n,
                  const struct world_batch *b);
void oracle_role(struct world *w, struct world_node *n, enum kl_raft_role role,
                 int32_t epoch);
void oracle_commit(struct world *w, struct world_node *n, int64_t end);
void oracle_send(struct world *w, struct world_node *n,
                 const struct kl_wire_message *m);
void oracle_done(struct world *w, struct world_call *call);

#endif
