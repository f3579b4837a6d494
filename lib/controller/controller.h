/*
 * The controller: the replicated state machine over the metadata log. It does
 * no I/O, has no clock and draws from a seeded generator only.
 *
 * Propose, commit, apply: a command checks a wish against the image and
 * returns the records of one atomic batch; the image is not touched. The
 * caller appends them to the metadata log as one batch, each payload the value
 * of one record, and applies them in order once they are committed. The next
 * command is evaluated after that, so that it sees the effect. Replay and
 * followers only apply.
 *
 * The image is read between batches: within one it may hold a topic without
 * its partitions. Pointers into it live until the next apply.
 *
 * Rules are numbered as in the protocol: KIP-966 for partitions, KRaft for
 * brokers. min is the effective min.insync.replicas of a partition, active is
 * a broker that is registered, not fenced and not in controlled shutdown.
 */
#ifndef KL_CONTROLLER_CONTROLLER_H
#define KL_CONTROLLER_CONTROLLER_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/uuid.h"
#include "wire/wire.h"

#include <stddef.h>
#include <stdint.h>

struct kl_controller;

enum {
    KL_CONTROLLER_TOPIC_PARTITIONS_MAX = 10000, /* of one topic */
    KL_CONTROLLER_PARTITIONS_MAX = 100000,      /* default for all topics */
    /* A batch of records is charged its payloads and this much for each. */
    KL_CONTROLLER_RECORD_OVERHEAD = 32,
    KL_CONTROLLER_BATCH_BYTES = 1000 * 1000 /* default limit of a batch */
};

/* The key of a topic's configuration that is fixed at creation, and the value
 * that lets a power cut take acknowledged records. */
#define KL_CONTROLLER_FLUSH_KEY "flush"
#define KL_CONTROLLER_FLUSH_INTERVAL "interval"
/* The key that the ELR depends on. */
#define KL_CONTROLLER_MIN_ISR_KEY "min.insync.replicas"

enum {
    KL_CONTROLLER_REPLICATION_DEFAULT = 3, /* or the brokers that there are */
    KL_CONTROLLER_SESSION_TIMEOUT_MS = 9000,
    KL_CONTROLLER_REBALANCE_MS = 300000,
    KL_CONTROLLER_PRODUCER_IDS = 1000 /* of one block */
};

/* The cluster's feature level and the highest one that this code knows. */
#define KL_CONTROLLER_FEATURE "metadata.version"
enum { KL_CONTROLLER_FEATURE_LEVEL = 1 };

/* Judges one configuration pair of a topic: 0, or KL_ECONFIG with a text.
 * value NULL: only the key is judged. Keys that it accepts are printable. */
typedef int (*kl_controller_check_fn)(const char *key, const char *value,
                                      void *user, struct kl_base_error *e);

struct kl_controller_options
{
    /* Holds all partitions while no broker is registered; -1 = nobody. */
    int32_t broker_id;
    struct kl_base_uuid cluster_id;
    uint64_t seed;              /* of topic ids */
    uint32_t partitions_max;    /* of all topics together; 0 = default */
    size_t batch_bytes_max;     /* records of one command; 0 = default */
    int16_t feature_level_max;  /* that may be set; 0 = all that is known */
    int32_t session_timeout_ms; /* 0 = default */
    int32_t rebalance_ms; /* between preferred elections; 0 = default, -1 =
                             only on request */
    kl_controller_check_fn check;
    void *user;
};

/* The allocator must outlive the controller. 0 or KL_ENOMEM. */
int kl_controller_new(struct kl_controller **out, const struct kl_base_alloc *a,
                      const struct kl_controller_options *options);
/* NULL is ignored. */
void kl_controller_free(struct kl_controller *c);

/* ---- records ----------------------------------------------------------- */

/* Encoded payloads in order, each behind its u32 size, in one buffer. */
struct kl_controller_records
{
    struct kl_base_buf buf;
    size_t count;
};

void kl_controller_records_init(struct kl_controller_records *r,
                                const struct kl_base_alloc *a);
void kl_controller_records_deinit(struct kl_controller_records *r);
void kl_controller_records_clear(struct kl_controller_records *r);
/* Iterates: start with *pos = 0. 1 with a borrowed payload, 0 at the end. */
int kl_controller_records_next(const struct kl_controller_records *r,
                               size_t *pos, const uint8_t **data, size_t *size);

/* ---- commands: a wish in, records out ---------------------------------- */

/* Every command clears out first and leaves it empty on failure. Besides the
 * codes named: KL_ENOMEM, KL_ESTATE before the bootstrap, KL_ERECORDSIZE where
 * the records would be more than one batch may hold. An empty result of
 * success means that there is nothing to change.
 *
 * What a broker's change does to partitions may take several batches. Such a
 * command sets *more to 1 where there is more to come: it is given again, with
 * the same arguments, once the records are applied. The broker's own record is
 * in the last batch, so that every image between them is legal. */

/* The first records of a cluster; none where it has them. */
int kl_controller_bootstrap(struct kl_controller *c,
                            struct kl_controller_records *out,
                            struct kl_base_error *e);

/* One pair of a topic's configuration. */
struct kl_controller_config
{
    const char *key;
    const char *value; /* in an alteration: NULL = back to the default */
};

struct kl_controller_create
{
    const char *name;
    int32_t partition_count;
    int32_t replication_factor; /* -1 = default */
    const struct kl_controller_config *configs;
    size_t config_count;
    /* replication_factor brokers for each partition, the first preferred as
     * its leader; NULL = chosen by load and rack. */
    const int32_t *replicas;
};

/* KL_ETOPICNAME, KL_ETOPICEXISTS, KL_EPARTITIONS, KL_EREPLICATION, KL_ECONFIG.
 * topic_id receives the identifier of the topic to be and may be NULL. */
int kl_controller_create_topic(struct kl_controller *c,
                               const struct kl_controller_create *command,
                               struct kl_controller_records *out,
                               struct kl_base_uuid *topic_id,
                               struct kl_base_error *e);

/* KL_ETOPICNAME, KL_ENOTOPIC. */
int kl_controller_delete_topic(struct kl_controller *c, const char *name,
                               struct kl_controller_records *out,
                               struct kl_base_error *e);

/* Grows a topic to count partitions. replicas as in creation, for the new ones,
 * with the replication of partition 0. KL_ETOPICNAME, KL_ENOTOPIC,
 * KL_EPARTITIONS, KL_EREPLICATION. */
int kl_controller_create_partitions(struct kl_controller *c, const char *name,
                                    int32_t count, const int32_t *replicas,
                                    struct kl_controller_records *out,
                                    struct kl_base_error *e);

/* All changes or none. Another min.insync.replicas changes the partitions that
 * it means something for in the same batch. KL_ETOPICNAME, KL_ENOTOPIC,
 * KL_ECONFIG. */
int kl_controller_alter_config(struct kl_controller *c, const char *name,
                               const struct kl_controller_config *changes,
                               size_t change_count,
                               struct kl_controller_records *out,
                               struct kl_base_error *e);

/* 0, or KL_ETOPICNAME with a text: 1 to 249 of [a-zA-Z0-9._-], neither "."
 * nor "..". */
int kl_controller_topic_name_check(const char *name, size_t size,
                                   struct kl_base_error *e);

/* ---- commands on partitions -------------------------------------------- */

struct kl_controller_isr_member
{
    int32_t broker_id;
    int64_t broker_epoch; /* -1 = not known: for those that are in the ISR */
};

/* One ISR that a leader proposes. */
struct kl_controller_alter_partition
{
    struct kl_base_uuid topic_id;
    int32_t partition;
    int32_t leader_epoch;
    int32_t partition_epoch;
    const struct kl_controller_isr_member *isr;
    size_t isr_count;
    int recovering; /* 1 = still, after an unclean election */
};

/* The proposals of one broker. codes[i] tells what became of the i-th:
 *   0                   taken, or nothing to change
 *   KL_ENEWLEADER       taken, and the sender leads no more
 *   KL_ENOTOPIC, KL_ENOTCONTROLLER (the proposal knows a later state),
 *   KL_EFENCED (an earlier leader epoch), KL_EPARTITIONEPOCH (an earlier
 *   partition epoch), KL_EINVAL
 *   KL_EINELIGIBLE      a member is not active, or was restarted
 *   KL_ECANCELED        not looked at: the batch is full
 * Only the last two prove that nothing was applied and that the leader is
 * current. What was taken is answered from the image, once it is applied.
 * KL_ENOBROKER and KL_EFENCED are about the sender. */
int kl_controller_alter_partitions(
    struct kl_controller *c, int32_t broker_id, int64_t broker_epoch,
    const struct kl_controller_alter_partition *proposals, size_t count,
    int *codes, struct kl_controller_records *out, struct kl_base_error *e);

enum kl_controller_election {
    KL_CONTROLLER_PREFERRED, /* the first replica, if it is in the ISR */
    KL_CONTROLLER_UNCLEAN    /* who leads nothing may lead, whatever is lost */
};

/* For one partition. leader_id is for unclean elections: the replica that the
 * operator wants, -1 = the last known leader or the first that is active.
 * Nothing to change where the preferred replica leads, or unclean where there
 * is a leader. KL_ETOPICNAME, KL_ENOTOPIC, KL_ENOCANDIDATE. */
int kl_controller_elect_leader(struct kl_controller *c, const char *name,
                               int32_t partition,
                               enum kl_controller_election election,
                               int32_t leader_id,
                               struct kl_controller_records *out,
                               struct kl_base_error *e);

/* Moves a partition to count brokers, or to as many as count says where
 * replicas is NULL: those that it has and others by load and rack. It goes on
 * until alter_partitions brings the added ones into the ISR. KL_ETOPICNAME,
 * KL_ENOTOPIC, KL_EREPLICATION, KL_ESTATE where a reassignment under way cannot
 * be given up. */
int kl_controller_reassign(struct kl_controller *c, const char *name,
                           int32_t partition, const int32_t *replicas,
                           uint32_t count, struct kl_controller_records *out,
                           struct kl_base_error *e);

/* Back to the replicas that there were. Besides: KL_ENOREASSIGNMENT. */
int kl_controller_cancel_reassignment(struct kl_controller *c, const char *name,
                                      int32_t partition,
                                      struct kl_controller_records *out,
                                      struct kl_base_error *e);

/* ---- commands on brokers ----------------------------------------------- */

/* What a broker found when it opened its folder. */
enum kl_controller_recovery {
    KL_CONTROLLER_CLEAN,  /* stopped in order */
    KL_CONTROLLER_INTACT, /* not stopped, but what was durable is there */
    KL_CONTROLLER_DAMAGED /* the same, but for the logs that are listed */
};

struct kl_controller_log_id
{
    struct kl_base_uuid topic_id;
    int32_t partition;
};

struct kl_controller_registration
{
    int32_t broker_id;
    struct kl_base_uuid cluster_id;
    struct kl_base_uuid incarnation_id; /* of this start of the process */
    struct kl_base_uuid directory_id;
    int64_t previous_epoch; /* stored by the broker; -1 = none */
    /* The start before this one, which may have ended before it had stored its
     * epoch; zero = none. */
    struct kl_base_uuid previous_incarnation;
    enum kl_controller_recovery recovery;
    const struct kl_controller_log_id *damaged; /* by id, then partition */
    size_t damaged_count;
    int64_t metadata_leo; /* durable */
    const char *rack;     /* NULL or "" = none: a rack of its own */
    const char *const *endpoints;
    size_t endpoint_count;
    int16_t feature_min;
    int16_t feature_max;
    int32_t batch_bytes_max; /* its largest batch */
};

/* base_offset is where the batch will begin in the metadata log: the broker
 * epoch is the offset of the registration. A repeated registration of one
 * incarnation gets the epoch that it has. The broker begins fenced and in no
 * ISR; in the same batch it leaves the ELRs that its recovery does not prove.
 * broker_epoch is set where *more is 0. KL_ENOTCONTROLLER, KL_EFOREIGN (another
 * cluster, or the directory of another broker), KL_EUNSUPPORTED (feature
 * level), KL_EDUPLICATENODE, KL_EINVAL. */
int kl_controller_register_broker(
    struct kl_controller *c,
    const struct kl_controller_registration *registration, int64_t base_offset,
    int64_t now_ns, struct kl_controller_records *out, int64_t *broker_epoch,
    int *more, struct kl_base_error *e);

struct kl_controller_heartbeat
{
    int32_t broker_id;
    int64_t broker_epoch;
    int64_t metadata_offset; /* applied and durable below it */
    int want_fence;
    int want_shutdown;
};

/* What the broker is once the records are applied. */
struct kl_controller_heartbeat_reply
{
    int is_caught_up; /* has applied its own registration */
    int is_fenced;
    int should_shutdown; /* it may stop now */
};

/* KL_ENOTCONTROLLER, KL_ENOBROKER, KL_EFENCED. */
int kl_controller_heartbeat(struct kl_controller *c,
                            const struct kl_controller_heartbeat *heartbeat,
                            int64_t base_offset, int64_t now_ns,
                            struct kl_controller_records *out,
                            struct kl_controller_heartbeat_reply *reply,
                            int *more, struct kl_base_error *e);

/* A broker has found damage in logs, in the order of a registration: it leaves
 * their ISRs and ELRs, unless it is the only replica. Before that it has
 * stopped to lead them, or has told their leaders where its logs end now;
 * proposals of theirs that are still on their way are refused by the partition
 * epoch, which rises in any case. *done are dealt with; the others are for
 * another command. KL_ENOBROKER, KL_EFENCED, KL_EINVAL. */
int kl_controller_report_damage(struct kl_controller *c, int32_t broker_id,
                                int64_t broker_epoch,
                                const struct kl_controller_log_id *damaged,
                                size_t damaged_count, size_t *done,
                                struct kl_controller_records *out,
                                struct kl_base_error *e);

/* Forgets a broker and what it holds. KL_ENOBROKER, KL_ESTATE while it is not
 * fenced. */
int kl_controller_unregister_broker(struct kl_controller *c, int32_t broker_id,
                                    struct kl_controller_records *out,
                                    int *more, struct kl_base_error *e);

/* A block of KL_CONTROLLER_PRODUCER_IDS numbers from *first that nobody else
 * gets. KL_ENOBROKER, KL_EFENCED. */
int kl_controller_allocate_producer_ids(struct kl_controller *c,
                                        int32_t broker_id, int64_t broker_epoch,
                                        struct kl_controller_records *out,
                                        int64_t *first,
                                        struct kl_base_error *e);

/* Raises the cluster's feature level. KL_EINVAL below the present one,
 * KL_EUNSUPPORTED where this node or a registered broker does not know it. */
int kl_controller_set_feature_level(struct kl_controller *c, int16_t level,
                                    struct kl_controller_records *out,
                                    struct kl_base_error *e);

/* ---- the active controller --------------------------------------------- */

/* The node leads the metadata log and has applied all of it: every broker that
 * is not fenced gets a whole session. */
void kl_controller_activate(struct kl_controller *c, int64_t now_ns);
/* It leads no more; what only the active one knows is forgotten. */
void kl_controller_resign(struct kl_controller *c);
int kl_controller_is_active(const struct kl_controller *c);

/* Something came from a broker. To be called when it comes, before it waits
 * for its turn: a session must not end while its heartbeat is in a queue. */
void kl_controller_contact(struct kl_controller *c, int32_t broker_id,
                           int64_t broker_epoch, int64_t now_ns);
/* The broker is known to be dead: its session is over. */
void kl_controller_contact_lost(struct kl_controller *c, int32_t broker_id,
                                int64_t broker_epoch);

/* When time alone asks for records: INT64_MAX = never, INT64_MIN = now. */
int64_t kl_controller_deadline(const struct kl_controller *c);
/* What time asks for, one thing in one batch: fences a broker whose session is
 * over, elects leaders for partitions without one, and now and then the
 * preferred ones. To be called at the deadline while no batch is under way. */
int kl_controller_tick(struct kl_controller *c, int64_t now_ns,
                       struct kl_controller_records *out,
                       struct kl_base_error *e);

/* ---- apply ------------------------------------------------------------- */

/* Applies one committed record. KL_EFORMAT: written by a later release.
 * KL_ECORRUPT: malformed, or contradicts the image. KL_ENOMEM. After any
 * failure the image is as it was before this record. */
int kl_controller_apply(struct kl_controller *c, const void *data, size_t size,
                        struct kl_base_error *e);

enum kl_controller_delta_kind {
    KL_CONTROLLER_CREATED,    /* a topic, with all its partitions */
    KL_CONTROLLER_DELETED,    /* a topic, with all its partitions */
    KL_CONTROLLER_GREW,       /* partitions were added to an older topic */
    KL_CONTROLLER_CONFIGURED, /* an older topic's configuration changed */
    KL_CONTROLLER_CHANGED,    /* older partitions have another state */
    KL_CONTROLLER_BROKER      /* a broker came, changed or went */
};

/* What applied records changed, in order, since the last clear; consecutive
 * changes of one topic are one entry. Who follows compares with the image: it
 * may have changed again meanwhile, and the partition epoch tells. */
struct kl_controller_delta
{
    struct kl_base_uuid topic_id; /* zero for BROKER */
    enum kl_controller_delta_kind kind;
    int32_t partition_first; /* partitions it is about; none when CONFIGURED */
    int32_t partition_end;
    int32_t broker_id; /* -1 but for BROKER */
};

const struct kl_controller_delta *
kl_controller_delta(const struct kl_controller *c, size_t *count);
void kl_controller_delta_clear(struct kl_controller *c);

/* ---- image ------------------------------------------------------------- */

/* The lists of broker ids of a partition. */
enum kl_controller_list {
    KL_CONTROLLER_REPLICAS,
    KL_CONTROLLER_ISR,
    KL_CONTROLLER_ELR,
    KL_CONTROLLER_LAST_KNOWN_ELR,
    KL_CONTROLLER_ADDING,
    KL_CONTROLLER_REMOVING,
    KL_CONTROLLER_LISTS
};

/* Read-only for callers. One block, replaced as a whole. */
struct kl_controller_partition
{
    int32_t leader; /* -1 = none */
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t last_known_leader; /* -1 = none, and while there is a leader */
    uint8_t counts[KL_CONTROLLER_LISTS];
    uint8_t flags;           /* KL_WIRE_PARTITION_... */
    uint8_t isr_is_replicas; /* the same list: it is there once */
    int32_t ids[];           /* the lists one after the other */
};

/* Read-only for callers. */
struct kl_controller_topic
{
    struct kl_base_uuid id;
    const char *name;
    struct kl_controller_partition **partitions; /* by index */
    int32_t partition_count;
    uint32_t config_count;
    struct kl_controller_config *configs; /* in key order, values not NULL */
    size_t partition_capacity;
    size_t config_capacity;
};

/* NULL where there is none. */
const struct kl_controller_topic *
kl_controller_topic_find(const struct kl_controller *c, const char *name);
const struct kl_controller_topic *
kl_controller_topic_find_id(const struct kl_controller *c,
                            const struct kl_base_uuid *id);
/* The topics in name order (byte-wise); NULL at index >= count. */
const struct kl_controller_topic *
kl_controller_topic_at(const struct kl_controller *c, size_t index);
size_t kl_controller_topic_count(const struct kl_controller *c);
size_t kl_controller_partition_count(const struct kl_controller *c);

/* NULL where the index is out of range. */
const struct kl_controller_partition *
kl_controller_partition_at(const struct kl_controller_topic *t, int32_t index);
const int32_t *
kl_controller_partition_list(const struct kl_controller_partition *p,
                             enum kl_controller_list list, size_t *count);

int kl_controller_partition_has(const struct kl_controller_partition *p,
                                enum kl_controller_list list,
                                int32_t broker_id);
/* The effective min.insync.replicas: as set, or 2 from three replicas on and 1
 * below, and never more than there are. Replicas that are being added do not
 * count, so that growing refuses no writes. */
int32_t
kl_controller_partition_min_isr(const struct kl_controller_topic *t,
                                const struct kl_controller_partition *p);

/* Read-only for callers. */
struct kl_controller_broker
{
    struct kl_base_uuid incarnation_id;
    struct kl_base_uuid directory_id;
    int64_t epoch;
    int32_t id;
    int32_t batch_bytes_max;
    int16_t feature_min;
    int16_t feature_max;
    uint8_t flags; /* KL_WIRE_BROKER_... */
    uint8_t endpoint_count;
    size_t size;      /* of the block that holds it all */
    const char *rack; /* "" = none */
    const char *endpoints[];
};

/* NULL where there is none; in the order of their ids. */
const struct kl_controller_broker *
kl_controller_broker_find(const struct kl_controller *c, int32_t broker_id);
const struct kl_controller_broker *
kl_controller_broker_at(const struct kl_controller *c, size_t index);
size_t kl_controller_broker_count(const struct kl_controller *c);

static inline int
kl_controller_broker_is_active(const struct kl_controller_broker *b)
{
    return b && b->flags == 0;
}

/* The value that is set, or NULL where the default applies. */
const char *kl_controller_config_get(const struct kl_controller_topic *t,
                                     const char *key);

/* 0 before the bootstrap. */
int16_t kl_controller_feature_level(const struct kl_controller *c);

/* Rises with every applied record. */
uint64_t kl_controller_version(const struct kl_controller *c);

/* ---- snapshot and checks ----------------------------------------------- */

/* Appends the records that make this image out of an empty one, in an order
 * that depends on the image alone: equal images give equal bytes. KL_ENOMEM
 * leaves out empty. */
int kl_controller_encode(const struct kl_controller *c,
                         struct kl_controller_records *out);

/* The name of a broken invariant of the image, or NULL; for simulation and
 * tests, linear in the size of the image. It holds behind every record. */
const char *kl_controller_invariant(const struct kl_controller *c);
/* The same for the rules that bind partitions to brokers and configuration (D2,
 * D3): they hold behind every batch that commands made. */
const char *kl_controller_rule_broken(const struct kl_controller *c);

#endif
