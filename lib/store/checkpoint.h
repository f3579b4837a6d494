/*
 * State of the checkpoint, shared by its owner side (checkpoint.c) and the job
 * in the clean-up lane (checkpoint_lane.c).
 */
#ifndef KL_STORE_CHECKPOINT_H
#define KL_STORE_CHECKPOINT_H

#include "store/state.h"

enum kl_store_checkpoint_state {
    KL_STORE_CHECKPOINT_IDLE,
    KL_STORE_CHECKPOINT_DRAINING,
    KL_STORE_CHECKPOINT_RUNNING
};

struct kl_store_checkpoint_sync
{
    struct kl_store_segment *seg; /* a reference */
    struct kl_os_file *file;
    struct kl_store_synced synced;
};

struct kl_store_checkpoint_folder
{
    struct kl_store_log *log; /* a reference; the lane reads its name */
    struct kl_base_buf manifest;
    int has_manifest;
};

struct kl_store_checkpoint
{
    struct kl_os_job job;
    struct kl_store *store;
    enum kl_store_checkpoint_state state;
    uint64_t generation;    /* of the newest slot */
    int newest;             /* 0 or 1 */
    uint64_t sequences[2];  /* first group that each slot needs */
    uint64_t slot_sizes[2]; /* of their files */
    uint64_t stop_generation;
    uint64_t wal_bytes; /* written when the last one began */
    int64_t started_ns;
    int64_t ended_ns;
    int requested;
    struct kl_store_retry retry; /* of the job, or to begin one */

    /* Of the one under way. */
    struct kl_store_position position;
    size_t waiting; /* logs whose files the slot does not know yet */
    struct kl_base_buf slot;
    struct kl_os_file *file; /* the older slot, written over */
    struct kl_store_checkpoint_sync *syncs;
    size_t sync_count;
    size_t sync_capacity;
    struct kl_store_checkpoint_folder *folders;
    size_t folder_count;
    size_t folder_capacity;
    int sync_folders;
    /* From the lane. */
    uint64_t bytes;
    uint64_t slot_size;
    int code;
    const char *what;
    char path[KL_STORE_PATH_MAX];
};

void kl_store_checkpoint_lane(struct kl_os_job *job);

#endif
