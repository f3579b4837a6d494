/*
 * One job of the segment lane: a list of steps over the files of several logs,
 * prepared by the owner (write.c), carried out in the lane (write_lane.c).
 */
#ifndef KL_STORE_WRITE_H
#define KL_STORE_WRITE_H

#include "store/state.h"

enum {
    KL_STORE_WRITE_STEPS = 4, /* that one append may need, at most */
    KL_STORE_WRITE_BLOCKS = 2
};

enum kl_store_step_type {
    KL_STORE_STEP_CREATE,   /* segment file with its header block */
    KL_STORE_STEP_WRITE,    /* frames */
    KL_STORE_STEP_INDEX,    /* one index block */
    KL_STORE_STEP_MANIFEST, /* replace, synced: before the first byte of an
                               interval log's new segment */
    KL_STORE_STEP_UNLINK,   /* segment and index file of a base offset */
    KL_STORE_STEP_CUT,      /* shorten a segment to an offset */
    KL_STORE_STEP_NONE      /* of a log that is gone */
};

struct kl_store_step
{
    enum kl_store_step_type type;
    struct kl_store_log *log;
    struct kl_store_segment *seg; /* a reference, where there is one */
    size_t iov_first;
    size_t iov_count;
    uint64_t position; /* WRITE; CUT: out, the new size */
    uint64_t size;
    int64_t offset;  /* WRITE: end behind it; CUT: where; UNLINK: base */
    uint32_t blocks; /* INDEX: which; out: usable, 0 = not written */
    int is_lost;     /* CUT: out, there is no such file */
    uint8_t *block;  /* INDEX: 4 KiB, owned */
    struct kl_base_buf manifest;
};

/* A log in the job, and how many of its pending entries are applied by it. */
struct kl_store_share
{
    struct kl_store_log *log;
    size_t entries;
};

struct kl_store_write
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_store_step *steps;
    size_t step_count;
    size_t step_capacity;
    struct kl_store_share *shares;
    size_t share_count;
    size_t share_capacity;
    struct kl_os_iovec *iov;
    size_t iov_count;
    size_t iov_capacity;
    size_t steps_done; /* the lane's: what comes first when it is repeated */
    uint64_t bytes;
    uint8_t busy; /* under way, or waiting to be tried again */
    struct kl_store_retry retry;
    /* Reserved for the entry to be applied next: with them nothing fails half
     * way. */
    uint8_t *blocks[KL_STORE_WRITE_BLOCKS];
    size_t block_count;
    struct kl_base_buf manifest;
    /* From the lane. */
    int code;
    const char *what;
    char path[KL_STORE_PATH_MAX];
};

/* Runs the steps from the first that is not done up to the first failure. A
 * step that failed may be repeated as it is. */
void kl_store_write_run(struct kl_os_job *job);

/* ---- write_done.c ------------------------------------------------------ */

/* All steps are done: what they change comes into force. */
void kl_store_write_finish(struct kl_store_write *w);
/* Deleted logs go, with whatever they had pending: what is not in a file yet
 * counts as written. A job that waits goes on without them. */
void kl_store_write_remove_gone(struct kl_store_write *w);
/* Nothing of the job counts: after a failure, or when the store is freed. */
void kl_store_write_drop(struct kl_store_write *w);

#endif
