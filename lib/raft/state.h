/*
 * The state of the room and what its files share. Each part has one file that
 * writes it: hard.c the quorum state, log.c the log, voters.c the sets,
 * become.c the role.
 */
#ifndef KL_RAFT_STATE_H
#define KL_RAFT_STATE_H

#include "base/assert.h"
#include "base/rng.h"
#include "raft/raft.h"

enum {
    KL_RAFT_VERSION = 1,     /* kraft.version */
    KL_RAFT_OUTSTANDING = 4, /* fetches that may be under way at once */
    KL_RAFT_PROPOSALS = 16,  /* batches of the controller not yet committed */
    KL_RAFT_BARRIERS = 64,   /* reads that wait for a round */
    KL_RAFT_ENDPOINT_BYTES =
        KL_WIRE_ENDPOINTS_MAX * (2 + KL_WIRE_TEXTS_ITEM_MAX)
};

/* ---- sets of voters ---------------------------------------------------- */

/* One block: the voters, then the bytes of their endpoints. */
struct kl_raft_set
{
    int64_t offset;
    size_t size; /* of the block */
    uint32_t count;
    struct kl_wire_voter voters[];
};

/* Sets in the order of their offsets; the last is in force (rule 1.14.10). */
struct kl_raft_history
{
    struct kl_raft_set **sets;
    size_t count;
    size_t capacity;
};

/* ---- peers ------------------------------------------------------------- */

enum kl_raft_vote { KL_RAFT_VOTE_OPEN, KL_RAFT_VOTE_YES, KL_RAFT_VOTE_NO };

/* A fetch that waits for something to tell. */
struct kl_raft_parked
{
    int is_waiting;
    struct kl_wire_envelope request;
    int64_t fetch_offset;
    int64_t high_watermark; /* that the follower knows */
    uint32_t bytes_max;
    int64_t deadline;
};

/* Another node as a directory of it: what it told, and how far it is. */
struct kl_raft_peer
{
    struct kl_wire_voter_key key; /* node_id -1: the entry is free */
    int is_voter;                 /* in the set in force */

    /* Memory of its identity, kept whatever this node is. */
    int has_session;
    struct kl_base_uuid session_id;
    int64_t heard_at;
    int32_t epoch;      /* the highest that it has named */
    int64_t committed;  /* it has acknowledged all below, which is committed */
    int position_known; /* in this session, and no regression */

    /* Requests to it: the correlation id of the newest, 0 = none open. */
    int64_t vote_id;
    enum kl_raft_vote vote;
    int64_t begin_id;
    int64_t begin_at;
    uint64_t begin_round; /* of barriers, that it asks about */
    int64_t probe_id;
    int has_answered; /* a probe, since the start of this node */

    /* Progress; the leader's. -1 = not known. */
    int64_t fetch_id; /* newest fetch seen in this session */
    int64_t fetch_offset;
    int64_t durable_offset;
    int64_t fetched_at;
    int64_t fetch_leo; /* the leader's LEO at that time */
    int64_t caught_up_at;
    uint64_t round; /* newest round of barriers that it has answered */
    struct kl_raft_parked parked;
    uint64_t read_id; /* of records; 0 = none */
    int64_t read_offset;
    uint64_t snapshot_read_id; /* of a piece; 0 = none */
    int64_t snapshot_position;
    struct kl_wire_envelope snapshot_request;
};

/* ---- what a leader has been asked -------------------------------------- */

struct kl_raft_proposal
{
    uint64_t token;
    int64_t end;
    int is_local;
};

struct kl_raft_barrier
{
    uint64_t token;
    uint64_t round; /* it is done when a majority answered this one */
};

/* The one change of voters that is under way. */
struct kl_raft_change
{
    int is_open;
    int has_request; /* answered by a message, else by a token */
    struct kl_wire_envelope request;
    uint64_t token;
    int64_t offset; /* of its record */
    int64_t deadline;
};

struct kl_raft_hand_over
{
    int is_open;
    uint64_t token;
    struct kl_wire_voter_key target;
    int64_t deadline;
};

/* ---- follower ---------------------------------------------------------- */

/* The download of a snapshot. */
struct kl_raft_download
{
    struct kl_raft_snapshot_id id; /* end_offset -1 = none */
    int64_t position;
    int64_t size;       /* -1 = not known yet */
    int64_t request_id; /* 0 = none open */
    int64_t deadline;   /* of the request, or of the next one */
    int is_writing;
};

struct kl_raft_log
{
    int64_t start;
    int32_t start_epoch; /* of the record before start; -1 = there is none */
    int64_t leo;
    int64_t durable;
    uint32_t generation; /* of the log: reports on an older one are stale */
    struct kl_batch_epochs epochs;
    struct kl_raft_snapshot_id snapshot; /* the newest */
    /* Bytes that are not durable yet, at most: those behind mark are young,
     * the others old. */
    int64_t mark;
    uint64_t old_bytes;
    uint64_t young_bytes;
};

struct kl_raft
{
    const struct kl_base_alloc *alloc;
    struct kl_raft_options options; /* defaults filled in */
    uint8_t *memory;                /* copies that options point at */
    size_t memory_size;
    struct kl_base_rng rng;
    enum kl_raft_verdict verdict;
    int is_started;
    int64_t now;
    struct kl_raft_effects *effects; /* of the step under way */
    int64_t correlation_id;          /* of the newest request */
    uint64_t read_id;                /* of the newest read */
    struct kl_raft_counters counters;

    /* ---- durable ---- */

    struct kl_raft_quorum_state hard;
    uint64_t persist_id;   /* newest that was asked for */
    uint64_t persisted_id; /* newest that is durable */
    struct kl_raft_log log;
    struct kl_raft_history history;
    struct kl_raft_set *spare;     /* for the next set of this node's own */
    struct kl_raft_set **prepared; /* for the sets of the event under way */
    size_t prepared_count;
    size_t prepared_capacity;

    /* ---- volatile ---- */

    enum kl_raft_role role;
    uint8_t leader_endpoints[KL_RAFT_ENDPOINT_BYTES];
    uint32_t leader_endpoints_size;
    uint32_t leader_endpoints_count;
    int64_t high_watermark; /* never falls; rule 1.14.10 */
    int64_t commit_told;    /* newest KL_RAFT_COMMIT */
    int64_t applied;
    int fault;
    int refusal;
    int is_confirmed;          /* peers know of no later state of this folder */
    int64_t confirm_deadline;  /* after it silence counts as consent */
    int64_t probe_deadline;    /* when they are asked again */
    uint64_t own_vote_id;      /* the persist of the vote for itself */
    int64_t election_deadline; /* what it means depends on the role */
    uint32_t election_failures;
    struct kl_raft_peer *peers;
    uint32_t peer_count; /* entries, free ones too */

    /* Follower or observer. */
    int has_fetched; /* from the leader of this epoch */
    int leader_left; /* it said that it ends its epoch */
    int is_heir;     /* and that this node shall lead the next */
    int is_guessing; /* it is silent, and others are asked about it */
    int64_t fetches[KL_RAFT_OUTSTANDING]; /* those under way, oldest first */
    uint32_t fetch_count;
    int64_t fetch_deadline; /* of the newest fetch, or of the next one */
    uint32_t probe_next;    /* whom an observer asks next */
    struct kl_raft_download download;
    uint32_t download_failures;
    int is_installing;       /* a snapshot that was downloaded */
    int64_t update_deadline; /* of the next UpdateVoter */

    /* ---- leader only ---- */

    int64_t epoch_start;
    int is_leading; /* KL_RAFT_LEAD was given */
    int64_t led_since;
    int64_t disk_since; /* own log lags behind since then; KL_RAFT_NEVER */
    int64_t tell_at;    /* a high watermark without records, not before */
    struct kl_raft_proposal proposals[KL_RAFT_PROPOSALS];
    uint32_t proposal_count;
    struct kl_raft_barrier barriers[KL_RAFT_BARRIERS];
    uint32_t barrier_count;
    uint64_t round; /* newest that was begun */
    struct kl_raft_change change;
    struct kl_raft_hand_over hand_over;
    struct kl_wire_voter_key voter_keys[KL_WIRE_VOTERS_MAX];
    struct kl_wire_voter_key granting_keys[KL_WIRE_VOTERS_MAX];
    struct kl_wire_quorum_replica *replicas; /* of a description */
};

/* ---- effects.c --------------------------------------------------------- */

/* Room for so many effects. 0 or KL_ENOMEM. */
int kl_raft_effects_reserve(struct kl_raft_effects *e, size_t count);
struct kl_raft_effect *kl_raft_emit(struct kl_raft *r,
                                    enum kl_raft_effect_type type);
/* A request to be filled in; its correlation id is the newest of r. */
struct kl_raft_effect *kl_raft_request(struct kl_raft *r,
                                       const struct kl_wire_voter_key *to,
                                       enum kl_wire_api api);
/* A response with its first fields filled in. */
struct kl_raft_effect *kl_raft_reply(struct kl_raft *r,
                                     const struct kl_wire_envelope *request,
                                     enum kl_wire_error error);
void kl_raft_complete(struct kl_raft *r, uint64_t token, int code,
                      int64_t offset);
struct kl_wire_texts kl_raft_leader_endpoints(const struct kl_raft *r);

/* ---- hard.c ------------------------------------------------------------ */

/* The only writer of the quorum state; a change is to be persisted. voted NULL:
 * as it is in this epoch. */
void kl_raft_hard_set(struct kl_raft *r, int32_t epoch, int32_t leader_id,
                      const struct kl_wire_voter_key *voted);
int kl_raft_hard_has_voted(const struct kl_raft *r);

/* ---- log.c ------------------------------------------------------------- */

int kl_raft_log_init(struct kl_raft *r,
                     const struct kl_raft_recovered *recovered);
void kl_raft_log_deinit(struct kl_raft *r);
/* Epoch of the last record, of the snapshot where there is none, or -1. */
int32_t kl_raft_log_last_epoch(const struct kl_raft *r);
/* Epoch of the record before an offset from start to LEO, or -1. */
int32_t kl_raft_log_epoch_before(const struct kl_raft *r, int64_t offset);
/* Whether a log that ends so is as good as ours (Raft 5.4.1). */
int kl_raft_log_up_to_date(const struct kl_raft *r, int32_t last_epoch,
                           int64_t last_offset);
/* Room for epochs was reserved. */
void kl_raft_log_append(struct kl_raft *r, int64_t end, int32_t epoch,
                        uint64_t size);
void kl_raft_log_durable(struct kl_raft *r, int64_t offset);
/* Appended and not durable, at most. */
uint64_t kl_raft_log_pending_bytes(const struct kl_raft *r);
/* These emit their effect. */
void kl_raft_log_truncate(struct kl_raft *r, int64_t offset);
void kl_raft_log_reset(struct kl_raft *r, struct kl_raft_snapshot_id snapshot);
void kl_raft_log_prune(struct kl_raft *r);

/* ---- voters.c ---------------------------------------------------------- */

int kl_raft_key_equal(const struct kl_wire_voter_key *a,
                      const struct kl_wire_voter_key *b);
struct kl_wire_voter_key kl_raft_key_of(const struct kl_wire_voter *v);
/* A copy in one block; NULL where there is no memory. */
struct kl_raft_set *kl_raft_set_new(const struct kl_base_alloc *a,
                                    int64_t offset,
                                    const struct kl_wire_voter_list *voters);
void kl_raft_set_free(const struct kl_base_alloc *a, struct kl_raft_set *set);
/* The set in force, and that before an offset; NULL where there is none. */
const struct kl_raft_set *kl_raft_voters(const struct kl_raft *r);
const struct kl_raft_set *kl_raft_voters_before(const struct kl_raft *r,
                                                int64_t end_offset);
void kl_raft_voters_view(const struct kl_raft_set *set,
                         struct kl_raft_voters *out);
/* The voter of this key, or of this node; NULL. */
const struct kl_wire_voter *kl_raft_voter(const struct kl_raft *r,
                                          const struct kl_wire_voter_key *key);
const struct kl_wire_voter *kl_raft_voter_of(const struct kl_raft *r,
                                             int32_t node_id);
int kl_raft_is_voter(const struct kl_raft *r);
/* It is one, or its removal may not be committed yet: then its log may be
 * needed to commit it (Raft dissertation 4.2.2). */
int kl_raft_is_electable(const struct kl_raft *r);
int kl_raft_voters_init(struct kl_raft *r,
                        const struct kl_raft_recovered *recovered);
void kl_raft_voters_deinit(struct kl_raft *r);
/* Room for what the event may add. 0 or KL_ENOMEM. */
int kl_raft_voters_reserve(struct kl_raft *r,
                           const struct kl_raft_event *event);
/* The next set of the event comes into force. */
void kl_raft_voters_append(struct kl_raft *r);
/* The set in force with a voter less, and one more; either may be NULL. */
void kl_raft_voters_change(struct kl_raft *r, int64_t offset,
                           const struct kl_wire_voter_key *without,
                           const struct kl_wire_voter *with);
void kl_raft_voters_truncate(struct kl_raft *r, int64_t offset);
/* Forgets what is not needed from an offset on. */
void kl_raft_voters_prune(struct kl_raft *r, int64_t offset);
/* Only the set of the event, that of a snapshot, is left. */
void kl_raft_voters_reset(struct kl_raft *r);

/* ---- peers.c ----------------------------------------------------------- */

int kl_raft_peers_init(struct kl_raft *r);
void kl_raft_peers_deinit(struct kl_raft *r);
struct kl_raft_peer *kl_raft_peer_find(const struct kl_raft *r,
                                       const struct kl_wire_voter_key *key);
/* Heard of lately, and its session has not ended. */
int kl_raft_peer_is_live(const struct kl_raft *r, const struct kl_raft_peer *p);
/* The voters but this node: NULL begins, and ends. */
struct kl_raft_peer *kl_raft_next_voter(const struct kl_raft *r,
                                        struct kl_raft_peer *after);
/* After a change of the set in force. */
void kl_raft_peers_sync(struct kl_raft *r);
void kl_raft_peers_forget_progress(struct kl_raft *r);
/* Who the sender is, if it is what it was. */
enum kl_wire_error kl_raft_peers_admit(struct kl_raft *r,
                                       const struct kl_wire_message *m,
                                       struct kl_raft_peer **out);
void kl_raft_peers_link_down(struct kl_raft *r,
                             const struct kl_wire_voter_key *key,
                             const struct kl_base_uuid *session_id);

/* ---- become.c ---------------------------------------------------------- */

void kl_raft_become_unattached(struct kl_raft *r, int32_t epoch);
void kl_raft_become_follower(struct kl_raft *r, int32_t epoch,
                             int32_t leader_id);
void kl_raft_become_prospective(struct kl_raft *r);
void kl_raft_become_candidate(struct kl_raft *r);
void kl_raft_become_leader(struct kl_raft *r);
void kl_raft_become_resigned(struct kl_raft *r);

/* ---- election.c, quorum.c ---------------------------------------------- */

/* How long an election may last, and how long to wait before one. */
int64_t kl_raft_election_timeout(struct kl_raft *r);
int64_t kl_raft_fetch_timeout(struct kl_raft *r);
int64_t kl_raft_election_delay(struct kl_raft *r);
int kl_raft_may_vote(const struct kl_raft *r);
int kl_raft_may_campaign(const struct kl_raft *r);
void kl_raft_election_forget(struct kl_raft *r);
/* Who has granted; keys has room for all voters. */
uint32_t kl_raft_election_granted(const struct kl_raft *r,
                                  struct kl_wire_voter_key *keys);
void kl_raft_election_ask(struct kl_raft *r);
void kl_raft_election_rival(struct kl_raft *r, struct kl_raft_peer *p);
void kl_raft_election_tally(struct kl_raft *r);
void kl_raft_election_timer(struct kl_raft *r);
int64_t kl_raft_election_wants(const struct kl_raft *r);

uint32_t kl_raft_quorum_majority(uint32_t count);
/* The highest value that a majority has reached; sorts the values. */
int64_t kl_raft_quorum_reached(int64_t *values, uint32_t count);

/* ---- leader.c, handover.c ---------------------------------------------- */

void kl_raft_leader_start(struct kl_raft *r, uint32_t granting);
void kl_raft_leader_stop(struct kl_raft *r);
void kl_raft_leader_propose(struct kl_raft *r,
                            const struct kl_raft_event *event);
void kl_raft_leader_append_voters(struct kl_raft *r,
                                  const struct kl_wire_voter_key *without,
                                  const struct kl_wire_voter *with);
void kl_raft_leader_call_all(struct kl_raft *r);
void kl_raft_leader_timer(struct kl_raft *r);
int64_t kl_raft_leader_wants(const struct kl_raft *r);
/* Tells the voters that the epoch ends; preferred may be NULL. */
void kl_raft_leader_end(struct kl_raft *r,
                        const struct kl_wire_voter_key *preferred);
void kl_raft_leader_resign(struct kl_raft *r,
                           const struct kl_wire_voter_key *preferred);
void kl_raft_hand_over_begin(struct kl_raft *r, uint64_t token,
                             const struct kl_wire_voter_key *wish);
void kl_raft_hand_over_check(struct kl_raft *r);
void kl_raft_hand_over_finish(struct kl_raft *r, int code);

/* ---- commit.c, barrier.c, change.c ------------------------------------- */

/* After anything that the high watermark of a leader depends on. */
void kl_raft_commit_lead(struct kl_raft *r);
void kl_raft_commit_learn(struct kl_raft *r, int64_t high_watermark);
void kl_raft_commit_durable(struct kl_raft *r);
void kl_raft_commit_applied(struct kl_raft *r, int64_t offset);

void kl_raft_barrier_add(struct kl_raft *r, uint64_t token);
void kl_raft_barrier_check(struct kl_raft *r);
int kl_raft_barrier_waits_for(const struct kl_raft *r,
                              const struct kl_raft_peer *p);

void kl_raft_change_host(struct kl_raft *r, const struct kl_raft_event *event);
void kl_raft_change_request(struct kl_raft *r, const struct kl_wire_message *m);
void kl_raft_change_committed(struct kl_raft *r);
void kl_raft_change_finish(struct kl_raft *r, enum kl_wire_error error);
void kl_raft_change_timer(struct kl_raft *r);
void kl_raft_change_own_timer(struct kl_raft *r);
int64_t kl_raft_change_wants(const struct kl_raft *r);

/* ---- fetch.c, recv_fetch.c, recv_fetch_reply.c ------------------------- */

struct kl_wire_voter_key kl_raft_leader_key(const struct kl_raft *r);
void kl_raft_fetch_forget(struct kl_raft *r);
void kl_raft_fetch_send(struct kl_raft *r);
/* After a delay, and without what is under way. */
void kl_raft_fetch_again(struct kl_raft *r, int64_t delay);
void kl_raft_fetch_guess(struct kl_raft *r);
void kl_raft_fetch_durable(struct kl_raft *r);
void kl_raft_fetch_timer(struct kl_raft *r);
void kl_raft_probe_send(struct kl_raft *r);
void kl_raft_probe_answered(struct kl_raft *r, struct kl_raft_peer *p);
void kl_raft_probe_timer(struct kl_raft *r);
void kl_raft_refused(struct kl_raft *r, enum kl_wire_error error);

void kl_raft_recv_fetch(struct kl_raft *r, struct kl_raft_peer *p,
                        const struct kl_wire_message *m);
void kl_raft_fetch_read(struct kl_raft *r, const struct kl_raft_event *event);
/* Tells waiting followers what there is to tell. */
void kl_raft_fetch_wake(struct kl_raft *r);
void kl_raft_fetch_release(struct kl_raft *r);
int64_t kl_raft_fetch_wants(const struct kl_raft *r);
enum kl_wire_error kl_raft_check_leader(const struct kl_raft *r, int32_t epoch);

void kl_raft_recv_fetch_reply(struct kl_raft *r, struct kl_raft_peer *p,
                              const struct kl_raft_event *event);

/* ---- recv_vote.c, recv_epoch.c, describe.c ----------------------------- */

void kl_raft_recv_vote(struct kl_raft *r, struct kl_raft_peer *p,
                       const struct kl_wire_message *m);
void kl_raft_recv_vote_reply(struct kl_raft *r, struct kl_raft_peer *p,
                             const struct kl_wire_message *m);
void kl_raft_recv_begin(struct kl_raft *r, const struct kl_wire_message *m);
void kl_raft_recv_begin_reply(struct kl_raft *r, struct kl_raft_peer *p,
                              const struct kl_wire_message *m);
void kl_raft_recv_end(struct kl_raft *r, const struct kl_wire_message *m);
/* The leader of a follower has ended its epoch; successors may be NULL. */
void kl_raft_leader_has_left(struct kl_raft *r,
                             const struct kl_wire_voter_key_list *successors);
/* What a response says of epoch and leader. */
void kl_raft_observe(struct kl_raft *r, const struct kl_wire_message *m);
void kl_raft_recv_describe(struct kl_raft *r, const struct kl_wire_message *m);

/* ---- recv_snapshot.c --------------------------------------------------- */

void kl_raft_recv_fetch_snapshot(struct kl_raft *r, struct kl_raft_peer *p,
                                 const struct kl_wire_message *m);
void kl_raft_recv_fetch_snapshot_reply(struct kl_raft *r,
                                       const struct kl_wire_message *m);
void kl_raft_snapshot_read(struct kl_raft *r,
                           const struct kl_raft_event *event);
void kl_raft_snapshot_written(struct kl_raft *r,
                              const struct kl_raft_event *event);
void kl_raft_snapshot_installed(struct kl_raft *r,
                                const struct kl_raft_event *event);
void kl_raft_snapshot_taken(struct kl_raft *r, struct kl_raft_snapshot_id id);
void kl_raft_snapshot_prune(struct kl_raft *r);
void kl_raft_download_begin(struct kl_raft *r, struct kl_raft_snapshot_id id);
void kl_raft_download_timer(struct kl_raft *r);
int64_t kl_raft_download_wants(const struct kl_raft *r);

/* ---- raft.c ------------------------------------------------------------ */

/* This node takes no part any more. */
void kl_raft_fault(struct kl_raft *r, int code);

#endif
