/*
 * The sparse index of a segment: one entry about every index.interval.bytes of
 * frames, in blocks of 254 that are written when full. It may have gaps (after
 * a reopening the entries of the last partial block are gone): a look-up then
 * starts earlier and walks further. It is always derivable, so a bad block
 * only makes the walk longer.
 */
#include "store/state.h"

#include <string.h>

int kl_store_index_note(struct kl_store_log *log, struct kl_store_segment *seg,
                        int64_t offset, uint64_t position)
{
    struct kl_store_files *f = log->files;
    struct kl_store_index_entry *e;

    if (position - f->indexed_position < log->config.index_interval_bytes)
        return 0;
    /* Without memory there is a gap, nothing worse. */
    if (kl_base_reserve(&log->store->alloc, (void **)&f->tail,
                        &f->tail_capacity, f->tail_count + 1, sizeof *f->tail))
        return 0;
    e = &f->tail[f->tail_count++];
    e->relative = (uint32_t)(offset - seg->info.base);
    e->position = (uint32_t)position;
    e->max_timestamp = seg->next_max_timestamp;
    f->indexed_position = position;
    return f->tail_count == KL_STORE_INDEX_FANOUT;
}

/* ---- entries in memory ----------------------------------------------------
 */

int kl_store_index_tail_by_offset(const struct kl_store_files *f, int64_t base,
                                  int64_t offset, uint64_t *position_out)
{
    for (size_t i = f->tail_count; i > 0; i--) {
        if (base + f->tail[i - 1].relative <= offset) {
            *position_out = f->tail[i - 1].position;
            return 1;
        }
    }
    return 0;
}

int kl_store_index_tail_by_time(const struct kl_store_files *f,
                                int64_t timestamp, uint64_t *position_out)
{
    for (size_t i = f->tail_count; i > 0; i--) {
        if (f->tail[i - 1].max_timestamp < timestamp) {
            *position_out = f->tail[i - 1].position;
            return 1;
        }
    }
    return 0;
}

/* ---- blocks in the file ------------------------------------------------ */

struct index_block
{
    uint8_t data[KL_STORE_BLOCK];
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
    uint32_t count;
};

/* 0, or an error where the block cannot be used. */
static int index_read(struct kl_os_file *index, uint32_t block, int64_t base,
                      struct index_block *out)
{
    size_t got;
    int rc = index->vfs->ops->read(index, out->data, KL_STORE_BLOCK,
                                   (uint64_t)block * KL_STORE_BLOCK, &got);

    if (rc == 0 && got < KL_STORE_BLOCK)
        rc = KL_ECORRUPT;
    if (rc == 0)
        rc = kl_store_index_block_decode(out->data, base, out->entries,
                                         &out->count);
    return rc;
}

/* True for entries that a look-up may start from. */
struct index_target
{
    int by_time;
    int64_t value; /* relative offset, or timestamp */
};

static int index_is_before(const struct kl_store_index_entry *e,
                           const struct index_target *t)
{
    return t->by_time ? e->max_timestamp < t->value
                      : (int64_t)e->relative <= t->value;
}

static void index_search(struct kl_os_file *index, uint32_t blocks,
                         int64_t base, const struct index_target *t,
                         uint64_t *position_out)
{
    struct index_block b;
    uint32_t low = 0, high = blocks;

    *position_out = KL_STORE_BLOCK;
    /* First block whose first entry is not before the target. */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (index_read(index, middle, base, &b)) {
            high = middle; /* only makes the walk longer */
            continue;
        }
        if (!index_is_before(&b.entries[0], t)) {
            high = middle;
            continue;
        }
        low = middle + 1;
        for (uint32_t i = b.count; i > 0; i--) {
            if (index_is_before(&b.entries[i - 1], t)) {
                *position_out = b.entries[i - 1].position;
                break;
            }
        }
    }
}

void kl_store_index_by_offset(struct kl_os_file *index, uint32_t blocks,
                              int64_t base, int64_t offset,
                              uint64_t *position_out)
{
    struct index_target t = {0, offset - base};

    index_search(index, blocks, base, &t, position_out);
}

void kl_store_index_by_time(struct kl_os_file *index, uint32_t blocks,
                            int64_t base, int64_t timestamp,
                            uint64_t *position_out)
{
    struct index_target t = {1, timestamp};

    index_search(index, blocks, base, &t, position_out);
}

uint32_t kl_store_index_usable(struct kl_os_file *index, uint32_t blocks,
                               int64_t base, uint64_t size)
{
    struct index_block b;

    /* Blocks that point beyond the segment's end go; what is left ascends. */
    while (blocks > 0) {
        if (index_read(index, blocks - 1, base, &b) == 0 &&
            b.entries[b.count - 1].position < size)
            break;
        blocks--;
    }
    return blocks;
}
