/*
 * Making a folder out of logs that are there already. What is made is a store
 * from the moment on when all of it is durable, and nothing before.
 */
#ifndef KL_STORE_BUILD_H
#define KL_STORE_BUILD_H

#include "store/state.h"

struct kl_store_build;

/* config as for a new store, lanes to open it with in the end; first_sequence
 * is above all instances that will be given. The folder is made and must be
 * empty: KL_EEXIST. */
int kl_store_build_new(struct kl_store_build **out,
                       const struct kl_base_alloc *alloc, struct kl_os_vfs *vfs,
                       struct kl_os_lanes *lanes,
                       const struct kl_store_config *config,
                       uint64_t first_sequence, int64_t wall_ms,
                       struct kl_base_error *error);
/* Without finish no store is left, only files. */
void kl_store_build_free(struct kl_store_build *b);

struct kl_store_build_log
{
    struct kl_store_id id;
    enum kl_store_flush flush;
    uint64_t instance;
    uint32_t truncation;
    int64_t start;
    uint64_t segment_bytes;
    const struct kl_batch_epochs *epochs; /* NULL = what the frames say */
};

int kl_store_build_log_begin(struct kl_store_build *b,
                             const struct kl_store_build_log *log);
/* Appends a frame of that log. Where its base is above the end so far there is
 * a gap, and a new segment. The times are those of its append; 0 = now.
 * KL_EINVAL where offset or epoch would go back. */
int kl_store_build_frame(struct kl_store_build *b, const uint8_t *data,
                         const struct kl_batch_info *info, int64_t first_ms,
                         int64_t last_ms);
/* The log ends at leo, which may lie above its last frame. */
int kl_store_build_log_end(struct kl_store_build *b, int64_t leo);

/* Makes all of it durable and a store, opens it as a node would, and closes it
 * again. */
int kl_store_build_finish(struct kl_store_build *b,
                          struct kl_base_error *error);

#endif
