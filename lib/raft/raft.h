/*
 * The metadata quorum (KRaft): who leads, which voters there are, and up to
 * where the metadata log is committed. No I/O, no clock, no thread; randomness
 * comes from a seed. Record bytes never enter: the room knows batches by offset
 * and epoch alone.
 *
 * kl_raft_step takes one event and gives the effects that it has. The host
 * carries them out in their order. Log effects (append, truncate, reset) keep
 * their order among themselves and may become durable later, as may quorum
 * states; a message is handed to the network when the quorum state that it
 * names is durable. What an effect points at lives until the next step.
 *
 * Rule numbers in the code are those of the protocol's specification, section
 * 1.14 (elections, fetch, commit, voters) and 1.15 (snapshots).
 */
#ifndef KL_RAFT_RAFT_H
#define KL_RAFT_RAFT_H

#include "base/alloc.h"
#include "base/uuid.h"
#include "batch/batch.h"
#include "wire/wire.h"

#include <stdint.h>

struct kl_raft;

/* No deadline, no limit of time. */
#define KL_RAFT_NEVER INT64_MAX

enum kl_raft_role {
    KL_RAFT_UNATTACHED,  /* knows no leader */
    KL_RAFT_PROSPECTIVE, /* asks whether an election would be won (KIP-996) */
    KL_RAFT_CANDIDATE,
    KL_RAFT_LEADER,
    KL_RAFT_FOLLOWER,
    KL_RAFT_RESIGNED /* led its epoch and will not again */
};

/* ---- what is on the disk ----------------------------------------------- */

struct kl_raft_quorum_state
{
    int32_t epoch;
    int32_t leader_id;              /* -1 = not known */
    struct kl_wire_voter_key voted; /* node_id -1 = nobody */
};

/* End offset (exclusive) and epoch of the last record that it holds. */
struct kl_raft_snapshot_id
{
    int64_t end_offset; /* -1 = there is none */
    int32_t epoch;
};

/* A set of voters, and the offset of the record that says so; -1 for the set
 * that the first start was given. */
struct kl_raft_voters
{
    int64_t offset;
    struct kl_wire_voter_list voters;
};

/* What recovery thinks of the folder. */
enum kl_raft_verdict {
    KL_RAFT_FIT,
    /* Both quorum files are gone and the log is not empty, or the log is
     * damaged where it was durable: it must not vote, lead or be counted, since
     * it may have promised what it does not remember. It follows. */
    KL_RAFT_STATE_LOST,
    KL_RAFT_LOG_DAMAGED
};

/* The start. The log between log_start and leo is durable. */
struct kl_raft_recovered
{
    enum kl_raft_verdict verdict;
    struct kl_raft_quorum_state quorum;
    int64_t log_start;
    int64_t leo;
    const struct kl_batch_epochs *epochs;
    struct kl_raft_snapshot_id snapshot; /* the newest */
    /* In the order of their offsets: the set of the snapshot or of the first
     * start, then those of voters records in the log. None for an observer that
     * has heard nothing yet. */
    const struct kl_raft_voters *voters;
    uint32_t voters_count;
};

struct kl_raft_options
{
    struct kl_wire_voter_key self;
    struct kl_base_uuid cluster_id;
    struct kl_base_uuid session_id; /* drawn anew at each start */
    struct kl_base_uuid topic_id;   /* of the metadata log in a Fetch */
    struct kl_wire_texts endpoints; /* of this node, copied */
    uint64_t seed;
    /* Whom an observer asks that knows no voter; copied. Node ids alone. */
    const int32_t *bootstrap_ids;
    uint32_t bootstrap_count;
    uint32_t observers_max; /* 0 = default, as for all that follows */
    uint32_t fetch_bytes_max;
    uint32_t snapshot_bytes_max;  /* of one piece */
    int64_t election_timeout_ns;  /* 1 s, times 1 to 2 */
    int64_t fetch_timeout_ns;     /* 2 s */
    int64_t election_backoff_ns;  /* 1 s at most, from a tenth of it */
    int64_t request_timeout_ns;   /* 1 s */
    int64_t retry_backoff_ns;     /* 20 ms */
    int64_t fetch_wait_ns;        /* 500 ms */
    int64_t observer_lifetime_ns; /* 5 min */
};

/* ---- events ------------------------------------------------------------ */

enum kl_raft_event_type {
    KL_RAFT_TIME,               /* nothing but the time */
    KL_RAFT_MESSAGE,            /* one was received */
    KL_RAFT_LINK_DOWN,          /* the session of a peer has ended */
    KL_RAFT_PERSISTED,          /* a quorum state is durable */
    KL_RAFT_DURABLE,            /* the log is durable up to an offset */
    KL_RAFT_READ_DONE,          /* of records for a fetch */
    KL_RAFT_APPLIED,            /* the state machine is at an offset */
    KL_RAFT_FAILED,             /* the storage; nothing will be durable again */
    KL_RAFT_SNAPSHOT_TAKEN,     /* of the state machine; it is durable */
    KL_RAFT_SNAPSHOT_READ_DONE, /* a piece for a follower */
    KL_RAFT_SNAPSHOT_WRITTEN,   /* a piece of the leader's */
    KL_RAFT_SNAPSHOT_INSTALLED, /* verified, durable under its name */
    KL_RAFT_PROPOSE,            /* records of the controller */
    KL_RAFT_PRUNE,              /* the log may begin at the newest snapshot */
    KL_RAFT_RESIGN,             /* give up leading */
    KL_RAFT_HAND_OVER,          /* to a voter, once it has caught up */
    KL_RAFT_ADD_VOTER,
    KL_RAFT_REMOVE_VOTER,
    KL_RAFT_UPDATE_VOTER,
    KL_RAFT_BARRIER /* from which offset on is a read linearizable? */
};

/* A batch of a fetch response, verified by the host. control is the record of
 * a control batch, which has no other, and NULL else. */
struct kl_raft_batch
{
    int64_t offset;
    int64_t end; /* exclusive */
    int32_t epoch;
    uint32_t size;
    const struct kl_wire_control *control;
};

struct kl_raft_event
{
    int64_t now; /* monotonic, ns; an earlier one than before counts as that */
    enum kl_raft_event_type type;
    union
    {
        /* Its cluster and destination are right (kl_wire_envelope_check). The
         * batches are those of a fetch response, up to the first bad one. */
        struct
        {
            const struct kl_wire_message *message;
            const struct kl_raft_batch *batches;
            uint32_t batch_count;
        } message;
        struct
        {
            struct kl_wire_voter_key peer;
            struct kl_base_uuid session_id;
        } link_down;
        struct
        {
            uint64_t id; /* this one and all before it */
        } persisted;
        struct
        {
            uint32_t generation;
            int64_t offset;
        } durable;
        /* code is 0 or why nothing could be read. */
        struct
        {
            uint64_t id;
            int code;
            struct kl_wire_bytes records;
        } read;
        struct
        {
            int64_t offset;
        } applied;
        struct
        {
            int code;
        } failed;
        struct
        {
            struct kl_raft_snapshot_id id;
        } taken;
        struct
        {
            uint64_t id;
            int code;
            int64_t size; /* of the whole snapshot */
            struct kl_wire_bytes bytes;
        } snapshot_read;
        struct
        {
            struct kl_raft_snapshot_id id;
            int64_t position; /* behind the piece */
            int code;         /* 0 or why it was not */
        } snapshot_written;
        /* voters: the set that the snapshot holds. code: 0 or why it is not
         * what it should be. */
        struct
        {
            struct kl_raft_snapshot_id id;
            int code;
            struct kl_raft_voters voters;
        } snapshot_installed;
        struct
        {
            uint64_t token;
            int32_t count; /* of records */
            int is_local;  /* nobody on another node waits for it */
        } propose;
        /* directory_id zero: any. node_id -1: who is furthest. */
        struct
        {
            uint64_t token;
            struct kl_wire_voter_key target;
        } hand_over;
        /* What is not used is zero. */
        struct
        {
            uint64_t token;
            struct kl_wire_voter voter;
            int64_t voters_offset; /* -1 = any */
            int force;
        } change;
        struct
        {
            uint64_t token;
        } barrier;
    };
};

/* ---- effects ----------------------------------------------------------- */

enum kl_raft_effect_type {
    KL_RAFT_PERSIST,          /* the quorum state */
    KL_RAFT_APPEND,           /* to the log */
    KL_RAFT_TRUNCATE,         /* the log to an offset */
    KL_RAFT_RESET,            /* the log to empty; load the snapshot */
    KL_RAFT_SEND,             /* a message */
    KL_RAFT_READ,             /* records for a fetch */
    KL_RAFT_COMMIT,           /* the state machine may apply up to an offset */
    KL_RAFT_ROLE,             /* what this node is has changed */
    KL_RAFT_LEAD,             /* all before this epoch is applied: act */
    KL_RAFT_COMPLETE,         /* what was asked for with a token */
    KL_RAFT_FAULT,            /* this node takes no part any more */
    KL_RAFT_SNAPSHOT_READ,    /* a piece for a follower */
    KL_RAFT_SNAPSHOT_WRITE,   /* a piece of the leader's */
    KL_RAFT_SNAPSHOT_INSTALL, /* verify and name what was written */
    KL_RAFT_PRUNE_LOG         /* drop what is before an offset */
};

/* Where the bytes of an append come from. */
enum kl_raft_source {
    KL_RAFT_PROPOSED, /* the batch of the proposal with this token */
    KL_RAFT_CONTROL,  /* a control record, to be built */
    KL_RAFT_FETCHED   /* batches of the message of this event, as they are */
};

struct kl_raft_effect
{
    enum kl_raft_effect_type type;
    union
    {
        /* KL_RAFT_PERSISTED with the id when it is durable. */
        struct
        {
            uint64_t id;
            struct kl_raft_quorum_state state;
        } persist;
        /* KL_RAFT_DURABLE with the generation when it is. */
        struct
        {
            enum kl_raft_source source;
            uint32_t generation;
            int64_t offset;
            int64_t end;
            int32_t epoch;
            uint32_t first;                 /* fetched: of the batches */
            uint32_t count;                 /* fetched: how many */
            uint64_t token;                 /* proposed */
            struct kl_wire_control control; /* control */
        } append;
        struct
        {
            uint32_t generation;
            int64_t offset;
        } truncate;
        struct
        {
            uint32_t generation;
            struct kl_raft_snapshot_id snapshot;
        } reset;
        /* after: the quorum state that must be durable first; 0 = none.
         * session_id: of the request that this answers, else zero. part is
         * what a list of one partition in the message points at. */
        struct
        {
            uint64_t after;
            struct kl_base_uuid session_id;
            struct kl_wire_message message;
            union
            {
                struct kl_wire_fetch_partition fetch;
                struct kl_wire_fetched_partition fetched;
            } part;
        } send;
        /* Whole batches from offset on, at least one where there is one. */
        struct
        {
            uint64_t id;
            int64_t offset;
            uint32_t bytes_max;
        } read;
        struct
        {
            int64_t offset; /* apply up to it */
            int64_t high_watermark;
        } commit;
        struct
        {
            enum kl_raft_role role;
            int32_t epoch;
            int32_t leader_id;
            struct kl_wire_texts leader_endpoints;
        } role;
        struct
        {
            int32_t epoch;
        } lead;
        struct
        {
            uint64_t token;
            int code;
            int64_t offset;
        } complete;
        struct
        {
            int code;
        } fault;
        struct
        {
            uint64_t id;
            struct kl_raft_snapshot_id snapshot;
            int64_t position;
            uint32_t bytes_max;
        } snapshot_read;
        struct
        {
            struct kl_raft_snapshot_id snapshot;
            int64_t position;
            struct kl_wire_bytes bytes;
        } snapshot_write;
        struct
        {
            struct kl_raft_snapshot_id snapshot;
        } snapshot_install;
        struct
        {
            int64_t offset;
        } prune_log;
    };
};

/* Filled by a step, which first empties it. */
struct kl_raft_effects
{
    const struct kl_base_alloc *alloc;
    struct kl_raft_effect *items;
    size_t count;
    size_t capacity;
};

void kl_raft_effects_init(struct kl_raft_effects *e,
                          const struct kl_base_alloc *a);
void kl_raft_effects_deinit(struct kl_raft_effects *e);

/* ---- the room ---------------------------------------------------------- */

/* Its first step is to be KL_RAFT_TIME. KL_EINVAL: recovered contradicts
 * itself, with a text; KL_ENOMEM. The allocator must outlive it. */
int kl_raft_new(struct kl_raft **out, const struct kl_base_alloc *a,
                const struct kl_raft_options *options,
                const struct kl_raft_recovered *recovered,
                struct kl_base_error *e);
/* NULL is ignored. */
void kl_raft_free(struct kl_raft *r);

/* 0, or KL_ENOMEM with nothing changed: the same event may be given again. */
int kl_raft_step(struct kl_raft *r, const struct kl_raft_event *event,
                 struct kl_raft_effects *effects);

/* When it wants KL_RAFT_TIME, or KL_RAFT_NEVER. */
int64_t kl_raft_deadline(const struct kl_raft *r);

/* What was dropped, by reason, since the start. */
struct kl_raft_counters
{
    uint64_t malformed;   /* contradicts itself or the log */
    uint64_t stale;       /* of an epoch or request that is over */
    uint64_t replayed;    /* a request or response seen before */
    uint64_t strangers;   /* from nobody that may send it */
    uint64_t duplicates;  /* two processes with one identity */
    uint64_t regressions; /* a folder older than it was */
    uint64_t conflicts;   /* two leaders of one epoch */
    uint64_t elections;   /* begun here */
    uint64_t truncations;
    uint64_t snapshot_failures;
};

struct kl_raft_view
{
    enum kl_raft_role role;
    int32_t epoch;
    int32_t leader_id;
    struct kl_wire_texts leader_endpoints;
    struct kl_wire_voter_key voted;
    int64_t log_start;
    int64_t leo;
    int64_t durable_leo;
    int64_t high_watermark;
    uint32_t generation;
    struct kl_raft_snapshot_id snapshot;
    struct kl_raft_voters voters; /* in force */
    int is_voter;
    int may_vote;   /* is fit, and peers know of no later state of the folder */
    int is_leading; /* KL_RAFT_LEAD was given in this epoch */
    int fault;      /* code, or 0 */
    int refusal;    /* what peers say of this node at present: code, or 0 */
    struct kl_raft_counters counters;
};

/* Points into the room until the next step. */
void kl_raft_view(const struct kl_raft *r, struct kl_raft_view *out);

/* The set in force at an offset, as a snapshot that ends there must hold it.
 * KL_EOFFSETRANGE where it is not known any more. */
int kl_raft_voters_at(const struct kl_raft *r, int64_t end_offset,
                      struct kl_raft_voters *out);

/* The id of a snapshot that ends at an offset which is applied. KL_EOFFSETRANGE
 * where none may be taken there. */
int kl_raft_snapshot_id_at(const struct kl_raft *r, int64_t end_offset,
                           struct kl_raft_snapshot_id *out);

/* The name of a broken invariant, or NULL; for simulation and tests. */
const char *kl_raft_check_invariants(const struct kl_raft *r);

#endif
