/*
 * The state of the controller and what its files share.
 */
#ifndef KL_CONTROLLER_STATE_H
#define KL_CONTROLLER_STATE_H

#include "base/assert.h"
#include "base/map.h"
#include "base/rng.h"
#include "controller/controller.h"

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
    uint64_t version;
    int16_t feature_level;

    /* Not part of the image. */
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

/* ---- partition.c ------------------------------------------------------- */

enum {
    /* Bytes of all lists of a partition at most, as in a record. */
    KL_CONTROLLER_IDS_BYTES = 4 * KL_CONTROLLER_LISTS * KL_WIRE_REPLICAS_MAX
};

/* Copies a decoded record; only ids is allocated. 0 or KL_ENOMEM. */
int kl_controller_partition_init(struct kl_controller_partition *p,
                                 const struct kl_base_alloc *a,
                                 const struct kl_wire_partition_record *r);
void kl_controller_partition_deinit(struct kl_controller_partition *p,
                                    const struct kl_base_alloc *a);
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

/* ---- records.c --------------------------------------------------------- */

/* Appends an encoded record. KL_ERECORDSIZE where the charge of all would be
 * above limit, KL_EINVAL, KL_ENOMEM; r is cleared on failure. */
int kl_controller_records_add(struct kl_controller_records *r,
                              const struct kl_wire_record *record, size_t limit,
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

/* ---- controller.c ------------------------------------------------------ */

/* The first step of a command: clears out. 0, or KL_ESTATE before bootstrap. */
int kl_controller_command_begin(const struct kl_controller *c,
                                struct kl_controller_records *out,
                                struct kl_base_error *e);

/* The topic that a command is about. 0, KL_ETOPICNAME, KL_ENOTOPIC. */
int kl_controller_command_topic(const struct kl_controller *c, const char *name,
                                const struct kl_controller_topic **out,
                                struct kl_base_error *e);

/* A terminated text as a borrowed one; an absurd size stays refusable. */
struct kl_wire_text kl_controller_text(const char *text);

#endif
