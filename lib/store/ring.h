/*
 * Groups in the ring of WAL files, as recovery and the offline tools read
 * them. Blocking.
 */
#ifndef KL_STORE_RING_H
#define KL_STORE_RING_H

#include "store/state.h"

struct kl_store_ring
{
    struct kl_os_file *const *files; /* file_count of them, borrowed */
    uint32_t file_count;
    uint64_t file_size;
    uint64_t directory;
    const struct kl_base_alloc *alloc;
    struct kl_base_buf group; /* what was read last */
};

/* Header and entry headers at a place: 0, KL_EEND where there is no group of
 * this store, or an error of reading. The whole group is in r->group then. */
int kl_store_ring_load(struct kl_store_ring *r, uint32_t file, uint64_t offset,
                       struct kl_store_group_header *h);
/* Whether a frame is whole and the one that the entry speaks of. */
int kl_store_ring_frame(const uint8_t *frame,
                        const struct kl_store_entry_header *e,
                        struct kl_batch_info *info);
/* Calls fn for each entry of the group in r->group; at is where its frame
 * begins in the group. Non-zero ends it with that code. */
typedef int (*kl_store_ring_fn)(const struct kl_store_entry_header *e,
                                uint32_t at, const uint8_t *frame, void *user);
int kl_store_ring_entries(const struct kl_store_ring *r,
                          const struct kl_store_group_header *h,
                          kl_store_ring_fn fn, void *user);
/* All frames of the group in r->group against its entry headers. */
int kl_store_ring_verify(const struct kl_store_ring *r,
                         const struct kl_store_group_header *h);
/* The group of the position's sequence, there or at the start of the next
 * file, to which the position moves. KL_EEND where there is none, KL_ECORRUPT
 * where its frames are bad. */
int kl_store_ring_find(struct kl_store_ring *r, struct kl_store_position *p,
                       struct kl_store_group_header *h);
/* KL_EEXIST where there is evidence that a group of a higher sequence was
 * written: the missing one had been durable. found is the place of the first
 * such group or seal. 0 where there is none, or an error of reading. */
int kl_store_ring_prove(struct kl_store_ring *r,
                        const struct kl_store_position *p,
                        struct kl_store_position *found);

#endif
