/*
 * The identity of the folder, for the other parts of the store.
 */
#ifndef KL_STORE_IDENTITY_H
#define KL_STORE_IDENTITY_H

#include "store/state.h"

void kl_store_identity_init(struct kl_store *s);
void kl_store_identity_deinit(struct kl_store *s);
/* Replaces the file; all that it promises is made durable first. Blocking. */
int kl_store_identity_make(struct kl_store *s,
                           const struct kl_store_identity *identity);
/* Reads it; with KL_STORE_OPEN_CREATE a folder that has none and never had one
 * is formatted. Blocking. */
int kl_store_identity_open(struct kl_store *s, uint32_t flags,
                           struct kl_base_error *error);
/* An older folder, which has all that a new one has by now, says so.
 * Blocking. */
int kl_store_identity_upgrade(struct kl_store *s, struct kl_base_error *error);
/* Tries again what waits. */
void kl_store_identity_turn(struct kl_store *s);
int kl_store_identity_is_busy(const struct kl_store *s);
int64_t kl_store_identity_deadline(const struct kl_store *s);
/* 1 and the event of an adoption, or 0. */
int kl_store_identity_event(struct kl_store *s, struct kl_store_event *out);

#endif
