/*
 * State of an open, shared by its parts: recover.c (slots, order of things),
 * recover_scan.c (the WAL), recover_plan.c (what it makes of each log),
 * replay.c, interval.c (carrying it out), quarantine.c.
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
    /* Sequences of groups that were durable and cannot be read: from the first
     * up to the last; 0 = none. */
    uint64_t lost_from;
    uint64_t lost_to;
    uint64_t lost_groups;
};

/* Makes the next log that a slot speaks of. */
int kl_store_recover_log(struct kl_store *s, struct kl_base_cursor *c);
/* Scans the WAL from the slot's position and fills the plans. */
int kl_store_recover_scan(struct kl_store_recovery *r);
/* offset is where the entry's frame lies in its WAL file. */
int kl_store_recover_entry(struct kl_store_recovery *r,
                           const struct kl_store_entry_header *e, uint32_t file,
                           uint64_t offset, const uint8_t *frame);
void kl_store_recover_plan_free(struct kl_store *s,
                                struct kl_store_replay *plan);

/* ---- quarantine.c ------------------------------------------------------ */

/* The bytes of the ring from a bad group up to the next good one. */
void kl_store_quarantine_wal(struct kl_store *s,
                             const struct kl_store_position *from,
                             const struct kl_store_position *to);
/* A frame that is nowhere else, under the log's name and its base offset. */
int kl_store_quarantine_frame(struct kl_store_log *log, int64_t base,
                              const struct kl_base_buf *frame);
int kl_store_quarantine_read(struct kl_store_log *log, int64_t base,
                             struct kl_base_buf *out);
/* Moves a segment out of its log. */
int kl_store_quarantine_segment(struct kl_store_log *log, int64_t base);

#endif
