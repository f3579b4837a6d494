/*
 * The quorum state, for the other parts of the store.
 */
#ifndef KL_STORE_QUORUM_H
#define KL_STORE_QUORUM_H

#include "store/state.h"

void kl_store_quorum_init(struct kl_store *s);
void kl_store_quorum_deinit(struct kl_store *s);
/* Makes both files of a new folder, with nothing in them. Blocking. */
int kl_store_quorum_create(struct kl_store *s);
/* One copy, 0 or 1: 0, KL_ECORRUPT, KL_EFORMAT or an error of reading. */
int kl_store_quorum_read(struct kl_store *s, int index,
                         struct kl_store_quorum_record *out);
/* Reads them and repairs what can be repaired. Blocking. */
int kl_store_quorum_open(struct kl_store *s, uint32_t flags,
                         struct kl_base_error *error);
/* Begins to write the newest put where the last one is through. */
void kl_store_quorum_turn(struct kl_store *s);
/* A put is not durable yet: no group may follow it. */
int kl_store_quorum_is_busy(const struct kl_store *s);
int64_t kl_store_quorum_deadline(const struct kl_store *s);

#endif
