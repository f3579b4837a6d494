/*
 * The read lane over a segment and an index that are nothing but bytes: the
 * jobs run here and now, and what they must answer is found by a plain walk.
 */
#ifndef TEST_SEGMENT_H
#define TEST_SEGMENT_H

#include "fuzz.h"
#include "store/read.h"

/* A file of these bytes behind so many zeros, for reading. */
struct segment_file
{
    struct kl_os_file base;
    const uint8_t *data;
    size_t size;
    uint64_t zeros;
};

enum { SEGMENT_FRAMES = 512 };

/* What a walk finds in the segment. */
struct segment_frame
{
    uint64_t position;
    struct kl_batch_info info;
};

struct segment
{
    struct kl_store store;
    struct kl_store_log log;
    struct kl_store_segment seg;
    struct segment_file file;
    struct segment_file index;
    struct segment_frame frames[SEGMENT_FRAMES];
    size_t count;
    uint64_t end; /* position behind the last frame */
};

/* The bytes of the frames, without the header block. */
void segment_init(struct segment *s, const uint8_t *frames, size_t size,
                  uint64_t seed);
/* blocks of 4 KiB that the index claims to have. */
void segment_set_index(struct segment *s, const uint8_t *data, size_t size,
                       uint32_t blocks);

/* Each runs a job and checks the answer. is_exact: the segment holds together
 * to its end, so that only one answer is right. */
void segment_check_scan(struct segment *s, int verify_body, int64_t offset);
void segment_check_find(struct segment *s, int64_t offset);
void segment_check_read(struct segment *s, int64_t offset, int64_t end,
                        uint32_t bytes_max, uint64_t hint);
/* may_skip: the index lies, so that a later record may be found. */
void segment_check_lookup(struct segment *s, int64_t timestamp, int64_t start,
                          int64_t end, int may_skip);

#endif
