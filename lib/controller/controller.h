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

/* The key of a topic's configuration that is fixed at creation. */
#define KL_CONTROLLER_FLUSH_KEY "flush"

/* The cluster's feature level and the highest one that this code knows. */
#define KL_CONTROLLER_FEATURE "metadata.version"
enum { KL_CONTROLLER_FEATURE_LEVEL = 1 };

/* Judges one configuration pair of a topic: 0, or KL_ECONFIG with a text.
 * value NULL: only the key is judged. Keys that it accepts are printable. */
typedef int (*kl_controller_check_fn)(const char *key, const char *value,
                                      void *user, struct kl_base_error *e);

struct kl_controller_options
{
    int32_t broker_id;       /* the one broker that is known */
    uint64_t seed;           /* of topic ids */
    uint32_t partitions_max; /* of all topics together; 0 = default */
    size_t batch_bytes_max;  /* records of one command; 0 = default */
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
 * success means that there is nothing to change. */

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

/* All changes or none. KL_ETOPICNAME, KL_ENOTOPIC, KL_ECONFIG. */
int kl_controller_alter_config(struct kl_controller *c, const char *name,
                               const struct kl_controller_config *changes,
                               size_t change_count,
                               struct kl_controller_records *out,
                               struct kl_base_error *e);

/* 0, or KL_ETOPICNAME with a text: 1 to 249 of [a-zA-Z0-9._-], neither "."
 * nor "..". */
int kl_controller_topic_name_check(const char *name, size_t size,
                                   struct kl_base_error *e);

/* ---- apply ------------------------------------------------------------- */

/* Applies one committed record. KL_EFORMAT: written by a later release.
 * KL_ECORRUPT: malformed, or contradicts the image. KL_ENOMEM. After any
 * failure the image is as it was before this record. */
int kl_controller_apply(struct kl_controller *c, const void *data, size_t size,
                        struct kl_base_error *e);

enum kl_controller_delta_kind {
    KL_CONTROLLER_CREATED,   /* a topic, with all its partitions */
    KL_CONTROLLER_DELETED,   /* a topic, with all its partitions */
    KL_CONTROLLER_GREW,      /* partitions were added to an older topic */
    KL_CONTROLLER_CONFIGURED /* an older topic's configuration changed */
};

/* What applied records changed, in order, since the last clear; consecutive
 * changes of one topic are one entry. */
struct kl_controller_delta
{
    struct kl_base_uuid topic_id;
    enum kl_controller_delta_kind kind;
    int32_t partition_first; /* partitions it is about; none when CONFIGURED */
    int32_t partition_end;
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

/* Read-only for callers. */
struct kl_controller_partition
{
    int32_t *ids; /* the lists one after the other */
    uint8_t counts[KL_CONTROLLER_LISTS];
    uint8_t flags;  /* KL_WIRE_PARTITION_... */
    int32_t leader; /* -1 = none */
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t last_known_leader; /* -1 = none */
};

/* Read-only for callers. */
struct kl_controller_topic
{
    struct kl_base_uuid id;
    const char *name;
    struct kl_controller_partition *partitions; /* by index */
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
 * tests, linear in the size of the image. */
const char *kl_controller_invariant(const struct kl_controller *c);

#endif
