/*
 * One node alone with a test that plays its peers, its disk and its network.
 * The node has id 1; voters 1 to n have directories that begin with their id.
 */
#ifndef TEST_RAFT_SOLO_H
#define TEST_RAFT_SOLO_H

#include "fail_alloc.h"
#include "raft/raft.h"
#include "raft_units.h"

struct solo
{
    struct fail_alloc memory;
    struct kl_raft *raft;
    struct kl_raft_effects effects;
    struct kl_raft_options options;
    struct kl_raft_recovered recovered;
    struct kl_batch_epochs epochs;
    struct kl_raft_voters set; /* of the first start */
    struct kl_wire_voter voters[9];
    int64_t now;
    uint64_t persisted;
    struct kl_wire_message message; /* the one that is being built */
    int64_t known;                  /* the high watermark of those who fetch */
    struct kl_wire_fetch_partition fetch;
    struct kl_wire_fetched_partition fetched;
};

struct kl_base_uuid solo_directory(int id);
struct kl_base_uuid solo_session(int id);
struct kl_wire_voter_key solo_key(int id);

/* Options and an empty log of n voters; change them before solo_start. */
void solo_init(struct solo *s, int voters);
/* Adds to the log to be recovered. */
void solo_log(struct solo *s, int32_t epoch, int64_t end);
/* Makes the room; its first step is done. */
void solo_start(struct solo *s);
void solo_free(struct solo *s);

/* A step that must not fail; checks the invariants. */
void solo_step(struct solo *s, struct kl_raft_event *event);
void solo_time(struct solo *s, int64_t later);
/* Up to the deadline of the room. */
void solo_wait(struct solo *s);
/* All that is not durable becomes durable. */
void solo_persist(struct solo *s);
void solo_durable(struct solo *s, int64_t offset);
void solo_applied(struct solo *s, int64_t offset);
struct kl_raft_view solo_view(struct solo *s);

/* Starts a message from a peer in s->message and returns it. */
struct kl_wire_message *solo_request(struct solo *s, int from,
                                     enum kl_wire_api api);
/* A response to a message that was sent, of this epoch and leader (0 none). */
struct kl_wire_message *solo_response(struct solo *s,
                                      const struct kl_wire_message *to,
                                      int32_t epoch, int leader);
/* Delivers s->message. */
void solo_deliver(struct solo *s);
void solo_deliver_batches(struct solo *s, const struct kl_raft_batch *batches,
                          uint32_t count);

/* Effects of the last step: number of that type, the i-th of it. */
int solo_count(const struct solo *s, enum kl_raft_effect_type type);
const struct kl_raft_effect *solo_effect(const struct solo *s,
                                         enum kl_raft_effect_type type, int i);
/* The message of this kind to a node; NULL where none was sent. */
const struct kl_wire_message *solo_sent(const struct solo *s, int to,
                                        enum kl_wire_api api, int is_response);

/* Common ways. */
void solo_fetch(struct solo *s, int from, int32_t epoch, int64_t offset,
                int32_t last_epoch, int64_t durable);
void solo_vote(struct solo *s, int from, int32_t epoch, int32_t last_epoch,
               int64_t last_offset, int pre_vote);
void solo_begin(struct solo *s, int from, int32_t epoch);
/* Wins the pre-vote with the word of node 2: a candidate. */
void solo_campaign(struct solo *s);
/* Wins an election with the vote of node 2; its records are not durable. */
void solo_lead(struct solo *s);
/* Follows node 2 in an epoch; the fetch that it sends is in *fetch. */
void solo_follow(struct solo *s, int32_t epoch, struct kl_wire_message *fetch);
/* Answers a fetch with batches from its fetch offset on. */
void solo_answer(struct solo *s, const struct kl_wire_message *fetch,
                 const struct kl_raft_batch *batches, uint32_t count,
                 int64_t high_watermark);

#endif
