/*
 * State of an open, shared by its parts: recover.c (slots, order of things)
 * and recover_scan.c (the WAL).
 */
#ifndef KL_STORE_RECOVER_H
#define KL_STORE_RECOVER_H

#include "store/ring.h"

struct kl_store_recovery
{
    struct kl_store *store;
    struct kl_base_error *error;
    struct kl_store_slot slot;
    int newest;                /* which slot file it is from */
    uint64_t groups;           /* found behind the slot's position */
    struct kl_base_list plans; /* struct kl_store_replay; log->user */
    struct kl_store_ring ring;
};

/* Scans the WAL from the slot's position and fills the plans. */
int kl_store_recover_scan(struct kl_store_recovery *r);
void kl_store_recover_plan_free(struct kl_store *s,
                                struct kl_store_replay *plan);

#endif
