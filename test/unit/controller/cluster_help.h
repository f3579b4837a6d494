/*
 * A controller with brokers, and short forms of what happens to them. A list of
 * brokers is written as digits: "123". A partition is compared as one line, in
 * which what is empty is left out:
 *
 *   123 isr=12 elr=3 known=- adding=- removing=- leader=1 epochs=4/7 recovering
 *
 * known is the last known ELR, and the leader is "none" or "none(1)" with the
 * last known one; epochs are those of leader and partition.
 */
#ifndef TEST_CLUSTER_HELP_H
#define TEST_CLUSTER_HELP_H

#include "controller_fixture.h"

enum { CLUSTER_BROKERS = 10, CLUSTER_LINE = 256 };

#define CLUSTER_MS INT64_C(1000000)

struct cluster_broker
{
    int64_t epoch; /* -1 = none */
    int64_t starts;
    int32_t disk; /* the number of its directory */
};

struct cluster
{
    struct controller_fixture f;
    struct kl_controller_options options;
    struct kl_controller_records log; /* everything applied */
    int64_t end;                      /* of the metadata log */
    int64_t now_ns;
    struct cluster_broker brokers[CLUSTER_BROKERS];
    struct kl_controller_heartbeat_reply reply;
    int more;
    char line[CLUSTER_LINE];
};

/* Active, bootstrapped, without brokers. options may be NULL. */
void cluster_init(struct cluster *cl,
                  const struct kl_controller_options *options);
void cluster_deinit(struct cluster *cl);
/* Applies the records of the newest command. */
void cluster_commit(struct cluster *cl);
/* Another controller takes over: replays the log, becomes active. */
void cluster_fail_over(struct cluster *cl);

/* The registration of a new start of a broker that lost nothing, for the test
 * to change. */
struct kl_controller_registration cluster_registration(struct cluster *cl,
                                                       int32_t id);
/* The code; the records are not applied. */
int cluster_propose(struct cluster *cl,
                    const struct kl_controller_registration *r);
/* Registers, in as many batches as it takes, and applies. */
void cluster_register(struct cluster *cl,
                      const struct kl_controller_registration *r);
/* A heartbeat that has applied all; the code. */
int cluster_beat(struct cluster *cl, int32_t id, int want_fence,
                 int want_shutdown);
/* Registers and unfences brokers that lost nothing. */
void cluster_start(struct cluster *cl, const char *ids);
/* Lets their sessions end, while the others live, and fences them. */
void cluster_silence(struct cluster *cl, const char *ids);
/* Time passes; the brokers named are heard of. */
void cluster_pass(struct cluster *cl, int64_t ms, const char *alive);
/* Ticks until there is nothing to do. */
void cluster_settle(struct cluster *cl);

/* A topic with a partition for each word of "123 231". */
void cluster_topic(struct cluster *cl, const char *name, const char *words,
                   const char *key, const char *value);
/* A leader's proposal with present epochs; the code. Applied where taken. */
int cluster_isr(struct cluster *cl, const char *name, int32_t partition,
                const char *isr);
/* The same without applying, for the test to change. */
struct kl_controller_alter_partition
cluster_proposal(struct cluster *cl, const char *name, int32_t partition,
                 const char *isr, struct kl_controller_isr_member *members);
const struct kl_controller_partition *
cluster_partition(struct cluster *cl, const char *name, int32_t partition);
const char *cluster_line(struct cluster *cl, const char *name,
                         int32_t partition);

#define cluster_expect(cl, name, partition, text)                              \
    ck_assert_str_eq(cluster_line(cl, name, partition), text)

#endif
