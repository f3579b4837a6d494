/*
 * A small world around the controller: brokers that crash, lose things and come
 * back, leaders that act on what they know of the metadata, proposals that are
 * late or lost, controllers that follow each other. What a replica holds is a
 * number, the end of its log; the world knows the highest that was committed,
 * and so who may be trusted with it.
 *
 * sim_help.c has the world, sim_leader.c the leaders, sim_check.c what must
 * hold.
 */
#ifndef TEST_SIM_HELP_H
#define TEST_SIM_HELP_H

#include "base/rng.h"
#include "cluster_help.h"

enum {
    SIM_BROKERS = 5, /* 1 to 5 */
    SIM_TOPICS = 3,  /* the last one has flush=interval */
    SIM_PARTITIONS = 3,
    SIM_SLOTS = SIM_TOPICS * SIM_PARTITIONS,
    SIM_MESSAGES = 16
};

/* What a leader has seen of a follower in its epoch. */
struct sim_progress
{
    int64_t leo;
    int64_t broker_epoch; /* of the fetch; -1 = none yet */
};

/* What a broker knows of a partition, and does with it. */
struct sim_view
{
    struct kl_base_uuid topic_id;
    int32_t leader; /* -1 = none, or not known */
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t min;
    uint32_t replicas; /* bit n is broker n, here and below */
    uint32_t isr;
    uint32_t active;
    int recovering;
    /* As leader. */
    int64_t start; /* end of its log when it began to lead */
    struct sim_progress progress[SIM_BROKERS + 1];
    uint32_t proposed; /* 0 = nothing pending */
    int proposes_recovered;
    /* As follower. */
    int32_t synced; /* leader epoch in which its log was cut */
};

struct sim_broker
{
    int up;
    int cut; /* reaches nobody */
    int registered;
    int stops; /* in order */
    /* On its disk. */
    int64_t leo[SIM_SLOTS];
    int64_t stored_epoch;
    enum kl_controller_recovery recovery;
    uint32_t damaged;     /* slots */
    int proves;           /* 0 = another life, or wiped */
    int rewound;          /* what only its heartbeats can tell */
    int64_t metadata_leo; /* durable; told by its heartbeats */
    int64_t told;         /* to the present controller; -1 = nothing */
    struct sim_view views[SIM_SLOTS];
};

/* What is true of a partition. */
struct sim_part
{
    struct kl_base_uuid topic_id; /* zero = no topic */
    int64_t hwm;                  /* committed */
    uint32_t unproved;            /* restarted, not caught up since: D12 */
    uint32_t floor;               /* members of a recovery quorum: D11 */
    int32_t history; /* leader epoch that began it, after an unclean election */
    /* Before the newest batch. */
    int32_t leader;
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t last_known_leader;
    uint32_t lists[KL_CONTROLLER_LISTS];
};

struct sim_message
{
    int32_t sender;
    int64_t sender_epoch;
    size_t slot;
    struct kl_controller_alter_partition proposal;
    struct kl_controller_isr_member members[SIM_BROKERS];
};

struct sim
{
    struct cluster cl;
    struct kl_controller *shadow; /* applies the same */
    struct kl_base_rng rng;
    struct sim_broker brokers[SIM_BROKERS + 1];
    struct sim_part parts[SIM_SLOTS];
    struct sim_message messages[SIM_MESSAGES];
    size_t message_count;
    uint32_t gone;     /* brokers without anything they had: this batch */
    uint32_t vanished; /* of these, all their partitions are dealt with */
    int ordered;       /* an unclean election was ordered: this batch */
    int traces;
    const char *why; /* the first rule that was broken, or NULL */
    /* How much happened. */
    uint64_t batches, elections, unclean, shrinks, expansions, refusals,
        registrations, losses, fences, completions, fail_overs;
};

void sim_init(struct sim *s, uint64_t seed);
void sim_deinit(struct sim *s);
/* Something happens. */
void sim_step(struct sim *s);
/* Nothing fails any more and everybody is there: what should come of it. */
void sim_heal(struct sim *s);

uint64_t sim_below(struct sim *s, uint64_t bound);
/* A line to standard error, where SIM_TRACE is set. */
void sim_trace(const struct sim *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The first rule that was broken stays. */
void sim_broken(struct sim *s, const char *why);
/* Applies the records of the newest command everywhere and checks. */
void sim_commit(struct sim *s);
/* The same for one partition: sim_check.c. */
void sim_check(struct sim *s, size_t slot);
/* The partition of a slot in the image, or NULL. */
const struct kl_controller_partition *
sim_partition(struct sim *s, size_t slot,
              const struct kl_controller_topic **topic);
uint32_t sim_mask(const struct kl_controller_partition *p,
                  enum kl_controller_list list);

/* ---- sim_leader.c ------------------------------------------------------- */

/* A broker learns the present metadata of a partition. */
void sim_learn(struct sim *s, int32_t id, size_t slot);
int sim_leads(const struct sim *s, int32_t id, size_t slot);
void sim_append(struct sim *s, int32_t id, size_t slot);
void sim_fetch(struct sim *s, int32_t follower, size_t slot);
void sim_advance(struct sim *s, int32_t id, size_t slot);
/* Proposes to shrink or to expand, or what is pending again. */
void sim_propose(struct sim *s, int32_t id, size_t slot, int shrink);
/* A proposal arrives; its answer may be lost. */
void sim_deliver(struct sim *s, size_t index, int answer);

#endif
