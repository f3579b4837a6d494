/*
 * Walking over the frames of a segment file and looking positions up, for the
 * rest of the room; state.h includes it.
 */
#ifndef KL_STORE_SCAN_H
#define KL_STORE_SCAN_H

#include "store/state.h"

/* ---- scan.c ------------------------------------------------------------ */

/* Walks over whole verified frames of a segment file from position on. For
 * each fn is called; non-zero ends the walk with that code. Returns 0 at the
 * first position that holds no valid next frame, KL_EIO and the like when
 * reading fails. Blocking: jobs and open only.
 *
 * With damaged set the walk goes on behind what does not verify, up to the
 * offset end, which should be there before limit: damaged is called for the
 * offsets [from, to) that are lost, which lie in the bytes [position, next). */
typedef int (*kl_store_scan_fn)(const struct kl_batch_info *info,
                                uint64_t position, void *user);
struct kl_store_damage
{
    int64_t from;
    int64_t to;
    uint64_t position;
    uint64_t next;
};
typedef int (*kl_store_damage_fn)(const struct kl_store_damage *damage,
                                  void *user);
struct kl_store_scan
{
    struct kl_os_file *file;
    const struct kl_base_alloc *alloc;
    uint64_t seed;
    uint64_t position; /* in and out: where the walk stands */
    uint64_t limit;    /* no frame that ends above */
    int64_t offset;    /* in and out: the next frame's base; -1 = any */
    int verify_body;
    const uint8_t *frame; /* out: of the visit; all of it with verify_body */
    kl_store_damage_fn damaged; /* NULL = damage ends the walk */
    int64_t end;
};
int kl_store_scan_run(struct kl_store_scan *scan, kl_store_scan_fn fn,
                      void *user);
/* The first whole frame at or behind position, at any byte, that does not begin
 * below the offset. Moves position and offset there: 0, KL_EEND where there is
 * none, or an error of reading. */
int kl_store_scan_resync(struct kl_store_scan *scan);

/* The byte position in a segment of an offset that begins a frame or is the
 * end of the last one; KL_ECORRUPT where it is neither. Blocking. */
struct kl_store_find
{
    struct kl_os_file *file;
    struct kl_os_file *index; /* looked at where blocks > 0 */
    uint32_t blocks;
    const struct kl_base_alloc *alloc;
    uint64_t seed;
    int64_t base;
    uint64_t limit; /* bytes of the segment in use */
};
int kl_store_find_position(const struct kl_store_find *find, int64_t offset,
                           uint64_t *position_out);

/* ---- index.c ----------------------------------------------------------- */

/* The last entry at or below offset (or, by timestamp, the last one before
 * which no timestamp reaches it); position of the first frame if there is
 * none. Blocking. */
void kl_store_index_by_offset(struct kl_os_file *index, uint32_t blocks,
                              int64_t base, int64_t offset,
                              uint64_t *position_out);
void kl_store_index_by_time(struct kl_os_file *index, uint32_t blocks,
                            int64_t base, int64_t timestamp,
                            uint64_t *position_out);
/* The same over the entries that are still in memory. */
int kl_store_index_tail_by_offset(const struct kl_store_files *f, int64_t base,
                                  int64_t offset, uint64_t *position_out);
int kl_store_index_tail_by_time(const struct kl_store_files *f,
                                int64_t timestamp, uint64_t *position_out);
/* How many of the blocks point below size and can stay. Blocking. */
uint32_t kl_store_index_usable(struct kl_os_file *index, uint32_t blocks,
                               int64_t base, uint64_t size);
/* Notes a frame; 1 when the tail has become a whole block. */
int kl_store_index_note(struct kl_store_log *log, struct kl_store_segment *seg,
                        int64_t offset, uint64_t position);

#endif
