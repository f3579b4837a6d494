/*
 * The state of the controller and what its files share.
 */
#ifndef KL_CONTROLLER_STATE_H
#define KL_CONTROLLER_STATE_H

#include "base/assert.h"
#include "base/map.h"
#include "base/rng.h"
#include "controller/controller.h"

/* What only the active controller knows of a broker in its present life; for
 * the broker of the same index. */
struct kl_controller_session
{
    int64_t contact_ns;
    int64_t metadata_offset; /* the highest that it told; -1 = nothing */
    int64_t shutdown_offset; /* where its shutdown is known; -1 = not set */
};

struct kl_controller
{
    const struct kl_base_alloc *alloc;
    struct kl_controller_options options; /* defaults filled in */

    /* The image: what the applied records say. Only apply writes it. */
    struct kl_controller_topic **topics; /* in name order */
    size_t topic_count;
    size_t topic_capacity;
    struct kl_base_map by_id; /* the same topics */
    size_t partition_count;
    struct kl_controller_broker **brokers; /* in id order */
    size_t broker_count;
    size_t broker_capacity;
    int64_t next_producer_id;
    uint64_t version;
    int16_t feature_level;

    /* Of the active controller alone: never in a record. */
    struct kl_controller_session *sessions; /* as many as brokers */
    size_t session_capacity;
    int64_t seen_ns;      /* the latest time that was told */
    int64_t rebalance_ns; /* when preferred leaders are looked at */
    int is_active;
    int elect_wanted; /* a partition without a leader might get one */

    /* Not part of the image either. */
    struct kl_base_rng rng;
    struct kl_controller_delta *deltas;
    size_t delta_count;
    size_t delta_capacity;
};

/* ---- image.c ----------------------------------------------------------- */

/* Position of a name among the topics: where it is (*found) or would be. */
size_t kl_controller_topic_search(const struct kl_controller *c,
                                  const char *name, size_t size, int *found);
/* The same for a key in a topic's configuration. */
size_t kl_controller_config_search(const struct kl_controller_topic *t,
                                   const char *key, size_t size, int *found);
void kl_controller_topic_free(const struct kl_base_alloc *a,
                              struct kl_controller_topic *t);
/* Frees the one block that holds key and value. */
void kl_controller_config_free(const struct kl_base_alloc *a,
                               struct kl_controller_config *pair);

/* ---- broker.c ---------------------------------------------------------- */

/* Position of an id among the brokers: where it is (*found) or would be. */
size_t kl_controller_broker_search(const struct kl_controller *c, int32_t id,
                                   int *found);
/* A broker as its record says; NULL without memory. */
struct kl_controller_broker *
kl_controller_broker_new(const struct kl_base_alloc *a,
                         const struct kl_wire_register_broker_record *r);
void kl_controller_broker_free(const struct kl_base_alloc *a,
                               struct kl_controller_broker *b);
enum {
    KL_CONTROLLER_ENDPOINTS_BYTES =
        KL_WIRE_ENDPOINTS_MAX * (2 + KL_WIRE_TEXTS_ITEM_MAX)
};
/* Texts as they are in a record. KL_EINVAL where they cannot be. */
int kl_controller_endpoints(const char *const *endpoints, size_t count,
                            uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES],
                            struct kl_wire_texts *out);
/* The record of a broker; its endpoints lie in scratch. */
void kl_controller_broker_record(const struct kl_controller_broker *b,
                                 uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES],
                                 struct kl_wire_register_broker_record *out);
/* The sender of a command: 0, KL_ENOBROKER, KL_EFENCED. */
int kl_controller_broker_check(const struct kl_controller *c, int32_t broker_id,
                               int64_t broker_epoch, size_t *index,
                               struct kl_base_error *e);

/* ---- partition.c ------------------------------------------------------- */

enum {
    /* Bytes of all lists of a partition at most, as in a record. */
    KL_CONTROLLER_IDS_BYTES = 4 * KL_CONTROLLER_LISTS * KL_WIRE_REPLICAS_MAX
};

/* The list of a record that belongs to a list of the image. */
struct kl_wire_i32s *
kl_controller_partition_wire_list(struct kl_wire_partition_record *r,
                                  enum kl_controller_list list);
/* A partition as its record says; NULL without memory. */
struct kl_controller_partition *
kl_controller_partition_new(const struct kl_base_alloc *a,
                            const struct kl_wire_partition_record *r);
void kl_controller_partition_free(const struct kl_base_alloc *a,
                                  struct kl_controller_partition *p);
/* The rule that the partition breaks, or NULL. */
const char *
kl_controller_partition_check(const struct kl_controller_partition *p);
/* The record of a partition; its lists lie in scratch. */
void kl_controller_partition_record(const struct kl_controller_partition *p,
                                    uint8_t scratch[KL_CONTROLLER_IDS_BYTES],
                                    struct kl_wire_partition_record *out);

/* ---- delta.c ----------------------------------------------------------- */

/* Room for one more entry, so that adding cannot fail. 0 or KL_ENOMEM. */
int kl_controller_delta_reserve(struct kl_controller *c);
void kl_controller_delta_add(struct kl_controller *c,
                             enum kl_controller_delta_kind kind,
                             const struct kl_controller_topic *t,
                             int32_t partition_first, int32_t partition_end);
void kl_controller_delta_broker(struct kl_controller *c, int32_t broker_id);

/* ---- records.c --------------------------------------------------------- */

/* Appends an encoded record. KL_ERECORDSIZE where the charge of all would be
 * above limit, KL_EINVAL, KL_ENOMEM; r is cleared on failure. */
int kl_controller_records_add(struct kl_controller_records *r,
                              const struct kl_wire_record *record, size_t limit,
                              struct kl_base_error *e);
/* The same, but 1 where it does not fit: r is as it was. */
int kl_controller_records_try(struct kl_controller_records *r,
                              const struct kl_wire_record *record, size_t limit,
                              struct kl_base_error *e);

/* What a record is charged. */
size_t kl_controller_records_room(const struct kl_wire_record *record);

/* ---- apply.c, apply_broker.c ------------------------------------------- */

int kl_controller_apply_no_memory(struct kl_base_error *e);
int kl_controller_apply_register(struct kl_controller *c,
                                 const struct kl_wire_register_broker_record *r,
                                 struct kl_base_error *e);
int kl_controller_apply_unregister(
    struct kl_controller *c, const struct kl_wire_unregister_broker_record *r,
    struct kl_base_error *e);
int kl_controller_apply_broker_change(
    struct kl_controller *c, const struct kl_wire_broker_change_record *r,
    struct kl_base_error *e);
int kl_controller_apply_producer_ids(
    struct kl_controller *c, const struct kl_wire_producer_ids_record *r,
    struct kl_base_error *e);

/* ---- config.c ---------------------------------------------------------- */

/* Judges pair index of a command: key, value, and that no earlier pair has the
 * same key. 0 or KL_ECONFIG. value NULL: only the key is judged. */
int kl_controller_config_check(const struct kl_controller *c,
                               const struct kl_controller_config *pairs,
                               size_t index, struct kl_base_error *e);
/* Appends the record of one pair; value NULL removes the key. */
int kl_controller_config_add(const struct kl_controller *c, const char *topic,
                             const struct kl_controller_config *pair,
                             struct kl_controller_records *out,
                             struct kl_base_error *e);

/* ---- min_isr.c: pure --------------------------------------------------- */

/* What of a topic's configuration its partitions depend on. */
struct kl_controller_rules
{
    int32_t min_isr; /* as set; 0 = default */
    int interval;    /* flush=interval: a power cut takes records */
};

struct kl_controller_rules
kl_controller_topic_rules(const struct kl_controller_topic *t);
/* The number in a value of min.insync.replicas; 0 for NULL and nonsense. */
int32_t kl_controller_min_isr_value(const char *value);
/* Effective for a number of replicas. */
uint32_t kl_controller_min_isr(int32_t min_isr, uint32_t replicas);

/* ---- elr.c: pure ------------------------------------------------------- */

/* Sets of replicas: bit n is replica n. */
struct kl_controller_elr
{
    uint32_t isr;        /* the new one */
    uint32_t was_isr;    /* and the one before */
    uint32_t lost;       /* may miss records since an unclean restart */
    uint32_t elr;        /* in: before; out: after */
    uint32_t last_known; /* in: before; out: after */
};
/* protocol 1.9, rule 1. */
void kl_controller_elr_update(struct kl_controller_elr *s, uint32_t min);

static inline uint32_t kl_controller_set_size(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* ---- elect.c: pure ----------------------------------------------------- */

enum kl_controller_elected {
    KL_CONTROLLER_ELECTED_NONE,
    KL_CONTROLLER_ELECTED_ISR,
    KL_CONTROLLER_ELECTED_ELR,
    KL_CONTROLLER_ELECTED_UNCLEAN
};

/* Sets and positions of replicas; position -1 = none. */
struct kl_controller_ballot
{
    uint32_t active;
    uint32_t isr;
    uint32_t elr;
    int leader;            /* the present one */
    int last_known_leader; /* -1 also where it may not be elected */
    int wanted;            /* goes first where it may be elected */
    int unclean;           /* anyone may be elected */
};
/* protocol 1.9, rules 4 and 6: the position of the leader to be. */
int kl_controller_elect(const struct kl_controller_ballot *b,
                        enum kl_controller_elected *how);

/* ---- placement.c: pure ------------------------------------------------- */

/* A broker that may get replicas. */
struct kl_controller_candidate
{
    int32_t broker_id;
    uint32_t rack; /* equal numbers are one rack */
    int active;
    uint32_t replicas; /* that it has */
    uint32_t leaders;  /* of which it is the first */
};

/* Brokers for one partition: replicas[0..keep) are given, the others up to
 * count are chosen. The counts of the candidates follow. 0, or KL_EREPLICATION
 * where there are not that many, or none that may lead. */
int kl_controller_place(struct kl_controller_candidate *candidates, size_t n,
                        struct kl_base_rng *rng, int32_t *replicas,
                        uint32_t keep, uint32_t count);

/* ---- assign.c ---------------------------------------------------------- */

/* The brokers that may get replicas, and how many they have. */
struct kl_controller_candidates
{
    struct kl_controller_candidate *items;
    size_t count;
};
/* 0 or KL_ENOMEM. */
int kl_controller_candidates_init(struct kl_controller_candidates *s,
                                  const struct kl_controller *c);
/* Of the lots of a topic's partitions from this one on. */
void kl_controller_placement_seed(struct kl_base_rng *rng,
                                  const struct kl_base_uuid *topic_id,
                                  int32_t partition);
void kl_controller_candidates_deinit(struct kl_controller_candidates *s,
                                     const struct kl_controller *c);
/* Judges a list of brokers that a caller gives. 0 or KL_EREPLICATION. */
int kl_controller_replicas_check(const struct kl_controller *c,
                                 const int32_t *replicas, uint32_t count,
                                 struct kl_base_error *e);
/* Appends the records of new partitions of a topic. */
struct kl_controller_assignment
{
    const struct kl_base_uuid *topic_id;
    const char *topic;
    int32_t first;
    int32_t end;
    uint32_t replication;
    const int32_t *replicas; /* as in kl_controller_create */
};
int kl_controller_assign(const struct kl_controller *c,
                         const struct kl_controller_assignment *wish,
                         struct kl_controller_records *out,
                         struct kl_base_error *e);

/* ---- change.c ---------------------------------------------------------- */

/* A partition on its way to its next state. */
struct kl_controller_change
{
    int32_t replicas[KL_WIRE_REPLICAS_MAX];
    uint32_t count;
    /* Sets of replicas: bit n is replicas[n]. The first ones are the lists of
     * the partition, in their order. */
    union
    {
        uint32_t sets[KL_CONTROLLER_LISTS + 3];
        struct
        {
            uint32_t all;
            uint32_t isr;
            uint32_t elr;
            uint32_t last_known;
            uint32_t adding;
            uint32_t removing;
            uint32_t was_isr;
            uint32_t lost;  /* as in kl_controller_elr */
            uint32_t wiped; /* have nothing of what they had */
        };
    };
    int32_t leader;
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t last_known_leader;
    uint8_t flags;
    int removed; /* a replica left */
    int forced;  /* another epoch, even where nothing else changes */
};

/* The image with one broker as it is going to be. */
struct kl_controller_view
{
    const struct kl_controller *c;
    int32_t broker_id; /* -1 = as it is */
    int active;
};

/* What finishing a change goes by. */
struct kl_controller_context
{
    struct kl_controller_view view;
    struct kl_controller_rules rules;
    int32_t wanted; /* leader; -1 = nobody in particular */
    int unclean;
};

void kl_controller_change_load(struct kl_controller_change *x,
                               const struct kl_controller_partition *p);
/* The position of a broker among the replicas, or -1. */
int kl_controller_change_position(const struct kl_controller_change *x,
                                  int32_t broker_id);
/* The set of one broker; empty where it is no replica. */
uint32_t kl_controller_change_bit(const struct kl_controller_change *x,
                                  int32_t broker_id);
/* Puts other replicas; all sets follow. */
void kl_controller_change_replicas(struct kl_controller_change *x,
                                   const int32_t *replicas, uint32_t count);
/* Replicas that are active. */
uint32_t kl_controller_change_active(const struct kl_controller_change *x,
                                     const struct kl_controller_view *view);
/* All that follows from the change: a reassignment that is complete, the ELR,
 * the leader, the epochs. 1, or 0 where old is what comes out. */
int kl_controller_change_finish(struct kl_controller_change *x,
                                const struct kl_controller_partition *old,
                                const struct kl_controller_context *context);
/* Appends the record, as records_try and records_add do. */
int kl_controller_change_try(const struct kl_controller_change *x,
                             const struct kl_base_uuid *topic_id, int32_t index,
                             struct kl_controller_records *out, size_t limit,
                             struct kl_base_error *e);
int kl_controller_change_add(const struct kl_controller_change *x,
                             const struct kl_base_uuid *topic_id, int32_t index,
                             struct kl_controller_records *out, size_t limit,
                             struct kl_base_error *e);

/* ---- sweep.c ----------------------------------------------------------- */

/* Where a broker's records cannot be counted on any more. */
enum kl_controller_loss {
    KL_CONTROLLER_LOSS_NONE,
    KL_CONTROLLER_LOSS_SOME, /* topics with flush=interval, logs listed */
    KL_CONTROLLER_LOSS_ALL,
    KL_CONTROLLER_LOSS_WIPED /* all, and nothing is left of them */
};

/* What a change of one broker means for partitions. */
struct kl_controller_sweep
{
    struct kl_controller_view view; /* with the broker as it is going to be */
    int leaves_isr;
    int elects; /* partitions without a leader may get one */
    enum kl_controller_loss loss;
    const struct kl_controller_log_id *listed;
    size_t listed_count;
};

/* 0 where ascending, else KL_EINVAL. */
int kl_controller_listed_check(const struct kl_controller_log_id *listed,
                               size_t count, struct kl_base_error *e);
/* Appends the records of the partitions, leaving room bytes of the batch; *more
 * as in a command. */
int kl_controller_sweep(const struct kl_controller_sweep *s, size_t room,
                        struct kl_controller_records *out, int *more,
                        struct kl_base_error *e);
/* The same, then the broker's own record in the last batch. */
int kl_controller_sweep_and(const struct kl_controller_sweep *s,
                            const struct kl_wire_record *last,
                            struct kl_controller_records *out, int *more,
                            struct kl_base_error *e);

/* ---- heartbeat.c, leader.c --------------------------------------------- */

/* Fences the broker at index: rules D2 and 1.9. */
int kl_controller_fence(const struct kl_controller *c, size_t index,
                        struct kl_controller_records *out, int *more,
                        struct kl_base_error *e);
/* Preferred leaders where they may lead, as many as fit. */
int kl_controller_rebalance(const struct kl_controller *c,
                            struct kl_controller_records *out,
                            struct kl_base_error *e);

/* ---- session.c --------------------------------------------------------- */

/* Every timed command begins with it: 0, or KL_ENOTCONTROLLER. */
int kl_controller_time(struct kl_controller *c, int64_t now_ns,
                       struct kl_base_error *e);
void kl_controller_rebalance_later(struct kl_controller *c);
/* A new life of the broker at index, which is in the arrays already. */
void kl_controller_session_begin(struct kl_controller *c, size_t index);
int kl_controller_session_is_over(const struct kl_controller *c, size_t index);
/* The broker to be fenced first, or broker_count. */
size_t kl_controller_session_first_over(const struct kl_controller *c);

/* ---- controller.c ------------------------------------------------------ */

/* The first step of a command: clears out. 0, or KL_ESTATE before bootstrap. */
int kl_controller_command_begin(const struct kl_controller *c,
                                struct kl_controller_records *out,
                                struct kl_base_error *e);

/* A partition that a command is about. Besides: KL_ENOTOPIC for the index. */
int kl_controller_command_partition(const struct kl_controller *c,
                                    const char *name, int32_t index,
                                    const struct kl_controller_topic **topic,
                                    const struct kl_controller_partition **out,
                                    struct kl_base_error *e);

/* The topic that a command is about. 0, KL_ETOPICNAME, KL_ENOTOPIC. */
int kl_controller_command_topic(const struct kl_controller *c, const char *name,
                                const struct kl_controller_topic **out,
                                struct kl_base_error *e);

/* A terminated text as a borrowed one; an absurd size stays refusable. */
struct kl_wire_text kl_controller_text(const char *text);

#endif
