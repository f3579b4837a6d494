/*
 * Reads and look-ups under way, shared by their owner sides (read.c, lookup.c)
 * and the read lane (read_lane.c).
 */
#ifndef KL_STORE_READ_H
#define KL_STORE_READ_H

#include "store/state.h"

/* Waits in the log's work until the files are loaded. One of the two is set. */
struct kl_store_waiter
{
    struct kl_base_list link;
    struct kl_store_read *read;
    struct kl_store_lookup *lookup;
};

struct kl_store_read_job
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_store_log *log;     /* a reference */
    struct kl_store_segment *seg; /* a reference */
    struct kl_store_read *read;
    uint32_t truncation;
    int64_t end;         /* frames that end above are not for the reader */
    uint64_t hint;       /* position to start at; 0 = ask the index */
    uint64_t limit;      /* bytes of the segment that are written */
    int64_t segment_end; /* the offset there */
    int64_t expected;    /* base of the frame that the lane stands before; -1 =
                            not known: the position is from an index */
    /* Out, from the lane. */
    struct kl_store_damage damage; /* found on the way; from == to = none */
    struct kl_base_chunk *chunk;   /* in: to be used where large enough */
    uint32_t from;                 /* frames in chunk */
    uint32_t size;
    int64_t next_offset;
    uint64_t next_position;
    uint64_t bytes;
    uint32_t index_blocks; /* in and out */
    int code;
};

void kl_store_read_lane(struct kl_os_job *job);

struct kl_store_lookup_job
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_store_log *log;     /* a reference */
    struct kl_store_segment *seg; /* a reference */
    struct kl_store_lookup *lookup;
    uint32_t truncation;
    uint64_t hint;
    uint64_t limit;
    int64_t start; /* records below do not count, nor any from end on */
    int64_t end;
    int64_t segment_end;
    uint32_t index_blocks;
    /* Out. */
    struct kl_store_damage damage; /* from == to = none */
    int64_t found_offset;
    int64_t found_timestamp;
    int code; /* KL_EEND where the segment has no such record */
};

void kl_store_lookup_lane(struct kl_os_job *job);
void kl_store_lookup_loaded(struct kl_store_lookup *lookup, int code);

/* Opens the segment's read handles where they are not open yet. */
int kl_store_lane_readers(struct kl_store_log *log,
                          struct kl_store_segment *seg, uint32_t *index_blocks);

/* The first record of a frame at or after timestamp, with an offset in
 * [start, end); KL_EEND where there is none. */
int kl_store_frame_lookup(const struct kl_base_alloc *alloc,
                          const uint8_t *frame, uint32_t size,
                          int64_t timestamp, int64_t start, int64_t end,
                          int64_t *offset_out, int64_t *timestamp_out);

#endif
