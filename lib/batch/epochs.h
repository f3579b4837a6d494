/*
 * The list of leader epochs of a log: epoch -> first offset. One type for
 * raft, replica and store (protocol.md 1.11; KIP-101, KIP-279).
 */
#ifndef KL_BATCH_EPOCHS_H
#define KL_BATCH_EPOCHS_H

#include "base/alloc.h"

#include <stdint.h>

struct kl_batch_epoch
{
    int32_t epoch;
    int64_t start;
};

/* Strictly ascending in both fields: an epoch that begins where the newest one
 * began replaces it, since that one never got a record. */
struct kl_batch_epochs
{
    struct kl_batch_epoch *items;
    uint32_t count;
    uint32_t capacity;
};

void kl_batch_epochs_init(struct kl_batch_epochs *e);
void kl_batch_epochs_deinit(struct kl_batch_epochs *e,
                            const struct kl_base_alloc *alloc);
/* Room for count entries, so that appends up to there do not fail: 0 or
 * KL_ENOMEM. */
int kl_batch_epochs_reserve(struct kl_batch_epochs *e,
                            const struct kl_base_alloc *alloc, size_t count);
/* Makes an empty list the same as another one: 0 or KL_ENOMEM. */
int kl_batch_epochs_copy(struct kl_batch_epochs *e,
                         const struct kl_base_alloc *alloc,
                         const struct kl_batch_epochs *from);
/* Records that epoch begins at start; nothing to do where it is the newest
 * already. KL_EINVAL where epoch or start would go back or are negative;
 * KL_ENOMEM. */
int kl_batch_epochs_append(struct kl_batch_epochs *e,
                           const struct kl_base_alloc *alloc, int32_t epoch,
                           int64_t start);
/* Drops entries with start >= end: after truncating the log to end. */
void kl_batch_epochs_truncate(struct kl_batch_epochs *e, int64_t end);
/* Drops entries that end at or below start, keeping the one that covers it,
 * whose start becomes start: after the log start moved up. */
void kl_batch_epochs_trim(struct kl_batch_epochs *e, int64_t start);
/* Newest epoch, or -1. */
int32_t kl_batch_epochs_last(const struct kl_batch_epochs *e);
/* Epoch of the record at offset, or -1. */
int32_t kl_batch_epochs_at(const struct kl_batch_epochs *e, int64_t offset);
/* Rule 1.11.1: the end offset of the largest epoch <= epoch (of epoch itself
 * where all are larger). Both are -1 where undefined: epoch is negative or
 * above the newest, or the list is empty. */
void kl_batch_epochs_end_for(const struct kl_batch_epochs *e, int32_t epoch,
                             int64_t leo, int32_t *epoch_out, int64_t *end_out);

#endif
