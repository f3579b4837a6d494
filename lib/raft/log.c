/*
 * The log as this room knows it: where it starts and ends, what of it is
 * durable, and which epoch each offset has.
 */
#include "raft/state.h"

#include <string.h>

int kl_raft_log_init(struct kl_raft *r,
                     const struct kl_raft_recovered *recovered)
{
    struct kl_raft_log *log = &r->log;
    const struct kl_batch_epochs *epochs = recovered->epochs;
    int rc = 0;

    log->start = recovered->log_start;
    log->leo = recovered->leo;
    log->durable = recovered->leo;
    log->mark = recovered->leo;
    log->snapshot = recovered->snapshot;
    if (log->snapshot.end_offset <= 0)
        log->snapshot = (struct kl_raft_snapshot_id){-1, 0};
    log->start_epoch =
        log->snapshot.end_offset == log->start ? log->snapshot.epoch : -1;
    kl_batch_epochs_init(&log->epochs);
    for (uint32_t i = 0; rc == 0 && i < epochs->count; i++)
        rc = kl_batch_epochs_append(&log->epochs, r->alloc,
                                    epochs->items[i].epoch,
                                    epochs->items[i].start);
    return rc;
}

void kl_raft_log_deinit(struct kl_raft *r)
{
    kl_batch_epochs_deinit(&r->log.epochs, r->alloc);
}

int32_t kl_raft_log_epoch_before(const struct kl_raft *r, int64_t offset)
{
    const struct kl_raft_log *log = &r->log;

    if (log->snapshot.end_offset == offset)
        return log->snapshot.epoch;
    if (offset <= log->start)
        return offset == log->start ? log->start_epoch : -1;
    return kl_batch_epochs_at(&log->epochs, offset - 1);
}

int32_t kl_raft_log_last_epoch(const struct kl_raft *r)
{
    return kl_raft_log_epoch_before(r, r->log.leo);
}

int kl_raft_log_up_to_date(const struct kl_raft *r, int32_t last_epoch,
                           int64_t last_offset)
{
    int32_t own = kl_raft_log_last_epoch(r);

    return last_epoch != own ? last_epoch > own : last_offset >= r->log.leo;
}

/* ---- growing ----------------------------------------------------------- */

void kl_raft_log_append(struct kl_raft *r, int64_t end, int32_t epoch,
                        uint64_t size)
{
    struct kl_raft_log *log = &r->log;
    int rc = kl_batch_epochs_append(&log->epochs, r->alloc, epoch, log->leo);

    KL_ASSERT(rc == 0);
    KL_ASSERT(end > log->leo);
    log->leo = end;
    log->young_bytes += size;
}

void kl_raft_log_durable(struct kl_raft *r, int64_t offset)
{
    struct kl_raft_log *log = &r->log;

    if (offset > log->leo)
        offset = log->leo;
    if (offset <= log->durable)
        return;
    log->durable = offset;
    if (log->durable < log->mark)
        return;
    log->mark = log->leo;
    log->old_bytes = log->durable < log->leo ? log->young_bytes : 0;
    log->young_bytes = 0;
}

uint64_t kl_raft_log_pending_bytes(const struct kl_raft *r)
{
    return r->log.old_bytes + r->log.young_bytes;
}

/* ---- shrinking --------------------------------------------------------- */

/* What is durable of a log that is cut is cut too (B12). */
static void log_cut(struct kl_raft *r, int64_t leo)
{
    struct kl_raft_log *log = &r->log;

    log->generation++;
    log->leo = leo;
    if (log->durable > leo)
        log->durable = leo;
    log->mark = leo;
    log->old_bytes = 0;
    log->young_bytes = 0;
}

void kl_raft_log_truncate(struct kl_raft *r, int64_t offset)
{
    struct kl_raft_effect *effect;

    KL_ASSERT(offset >= r->high_watermark);
    KL_ASSERT(offset >= r->log.start);
    if (offset >= r->log.leo)
        return;
    kl_batch_epochs_truncate(&r->log.epochs, offset);
    log_cut(r, offset);
    r->counters.truncations++;
    effect = kl_raft_emit(r, KL_RAFT_TRUNCATE);
    effect->truncate.offset = offset;
    effect->truncate.generation = r->log.generation;
}

/* To the end of a snapshot, which may lie above or below LEO. */
void kl_raft_log_reset(struct kl_raft *r, struct kl_raft_snapshot_id snapshot)
{
    struct kl_raft_log *log = &r->log;
    struct kl_raft_effect *effect;

    kl_batch_epochs_truncate(&log->epochs, 0);
    log_cut(r, snapshot.end_offset);
    log->start = snapshot.end_offset;
    log->start_epoch = snapshot.epoch;
    log->durable = snapshot.end_offset;
    log->snapshot = snapshot;
    effect = kl_raft_emit(r, KL_RAFT_RESET);
    effect->reset.snapshot = snapshot;
    effect->reset.generation = log->generation;
}

void kl_raft_log_prune(struct kl_raft *r)
{
    struct kl_raft_log *log = &r->log;
    struct kl_raft_effect *effect;

    if (log->snapshot.end_offset <= log->start)
        return;
    log->start = log->snapshot.end_offset;
    log->start_epoch = log->snapshot.epoch;
    if (log->start < log->leo)
        kl_batch_epochs_trim(&log->epochs, log->start);
    else
        kl_batch_epochs_truncate(&log->epochs, 0);
    effect = kl_raft_emit(r, KL_RAFT_PRUNE_LOG);
    effect->prune_log.offset = log->start;
}
