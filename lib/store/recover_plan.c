/*
 * What the entries of the WAL make of each log, in order, before anything is
 * changed. Where groups could not be read, a log is only what a later entry of
 * its own proves it to be: entries say at which offset and after how many
 * truncations they were made.
 */
#include "store/recover.h"

/* ---- plans ------------------------------------------------------------- */

static struct kl_store_replay *plan_of(struct kl_store_recovery *r,
                                       struct kl_store_log *log)
{
    struct kl_store_replay *plan = log->user;

    if (plan)
        return plan;
    plan = kl_base_calloc(&r->store->alloc, sizeof *plan);
    if (!plan)
        return NULL;
    plan->log = log;
    plan->cut = log->leo;
    kl_base_list_push(&r->plans, &plan->link);
    log->user = plan;
    return plan;
}

void kl_store_recover_plan_free(struct kl_store *s,
                                struct kl_store_replay *plan)
{
    kl_base_list_remove(&plan->link);
    kl_base_free(&s->alloc, plan->frames,
                 plan->capacity * sizeof *plan->frames);
    kl_base_free(&s->alloc, plan->manifest.segments,
                 plan->manifest.count * sizeof *plan->manifest.segments);
    kl_base_free(&s->alloc, plan, sizeof *plan);
}

static void plan_delete(struct kl_store_recovery *r, struct kl_store_log *log)
{
    if (log->user)
        kl_store_recover_plan_free(r->store, log->user);
    log->user = NULL;
    kl_store_log_remove(log); /* its folder is a leftover now */
}

/* A log is made, or an old life of it ends and the next one begins. */
static int plan_birth(struct kl_store_recovery *r,
                      const struct kl_store_entry_header *e)
{
    struct kl_store *s = r->store;
    struct kl_store_log *log = kl_store_find(s, &e->id);
    int is_reset = e->type == KL_STORE_ENTRY_RESET;
    int rc;

    /* Else what came before it was in a group that is lost. */
    if (log ? !is_reset && !log->suspect : is_reset && r->lost_groups == 0)
        return KL_ECORRUPT;
    if (e->flags > KL_STORE_FLUSH_INTERVAL ||
        (log && log->instance >= e->instance))
        return KL_ECORRUPT;
    if (log)
        plan_delete(r, log);
    rc = kl_store_log_new(s, &e->id, (enum kl_store_flush)e->flags, &log);
    if (rc)
        return rc;
    log->exists = 1;
    log->instance = e->instance;
    if (is_reset)
        rc = kl_store_log_begin_at(log, e->offset, e->epoch);
    if (rc)
        return rc == KL_EINVAL ? KL_ECORRUPT : rc;
    return plan_of(r, log) ? 0 : KL_ENOMEM;
}

/* Groups before this entry are lost: what is known of the log is brought to
 * the state that the entry was made in. */
static int plan_reconcile(struct kl_store_replay *plan,
                          const struct kl_store_entry_header *e)
{
    struct kl_store_log *log = plan->log;
    int is_cut = e->type == KL_STORE_ENTRY_TRUNCATE;
    uint32_t truncation = e->truncation - (is_cut ? 1 : 0);
    int64_t leo = is_cut ? e->end : e->offset;

    if (!log->suspect)
        return 0;
    if (truncation == log->truncation && leo < log->leo)
        return KL_ECORRUPT;
    log->suspect = 0;
    if (truncation != log->truncation) {
        /* Cut at a place that nobody knows: nothing of it can be believed. */
        plan->count = 0;
        plan->cut = 0;
        plan->touched = plan->distrusted = 1;
        kl_batch_epochs_truncate(&log->epochs, 0);
        log->truncation = log->durable_truncation = truncation;
        log->applied_truncation = truncation;
    }
    plan->touched |= leo != log->leo; /* what lies between is lost */
    log->leo = log->durable_leo = leo;
    return 0;
}

/* An entry of a life that nobody knows: it began in a lost group, where the one
 * before it has ended, or it is long over (NULL). */
static int plan_unknown(struct kl_store_recovery *r,
                        const struct kl_store_entry_header *e,
                        struct kl_store_log **out)
{
    struct kl_store_log *log = kl_store_find(r->store, &e->id);
    uint64_t began = e->instance >> 16;
    int rc;

    *out = NULL;
    if (began < r->lost_from || began >= r->lost_to ||
        e->type != KL_STORE_ENTRY_APPEND ||
        (log && (!log->suspect || log->instance > e->instance)))
        return 0;
    if (log)
        plan_delete(r, log);
    rc = kl_store_log_new(r->store, &e->id, KL_STORE_FLUSH_COMMIT, &log);
    if (rc)
        return rc;
    log->exists = log->suspect = 1;
    log->instance = e->instance;
    *out = log;
    return 0;
}

static int plan_append(struct kl_store_recovery *r,
                       struct kl_store_replay *plan,
                       const struct kl_store_entry_header *e, uint32_t file,
                       uint64_t offset, const uint8_t *frame)
{
    struct kl_store_log *log = plan->log;
    struct kl_store_replay_frame *f;
    struct kl_batch_info info = {.max_timestamp = -1};
    int rc;

    if (log->flush != KL_STORE_FLUSH_COMMIT || e->offset != log->leo ||
        e->end <= e->offset)
        return KL_ECORRUPT;
    if (kl_base_reserve(&r->store->alloc, (void **)&plan->frames,
                        &plan->capacity, plan->count + 1, sizeof *plan->frames))
        return KL_ENOMEM;
    rc = kl_batch_epochs_append(&log->epochs, &r->store->alloc, e->epoch,
                                e->offset);
    if (rc)
        return rc == KL_EINVAL ? KL_ECORRUPT : rc;
    plan->touched = 1;
    f = &plan->frames[plan->count++];
    f->file = file;
    f->offset = (uint32_t)offset;
    f->size = e->size;
    f->epoch = e->epoch;
    f->base = e->offset;
    f->end = e->end;
    f->is_lost = kl_store_ring_frame(frame, e, &info) != 0;
    f->max_timestamp = f->is_lost ? -1 : info.max_timestamp;
    log->leo = log->durable_leo = e->end;
    return 0;
}

static int plan_truncate(struct kl_store_replay *plan,
                         const struct kl_store_entry_header *e)
{
    struct kl_store_log *log = plan->log;

    log->truncation = log->durable_truncation = e->truncation;
    log->applied_truncation = e->truncation;
    if (log->flush == KL_STORE_FLUSH_INTERVAL) {
        /* interval.c knows whether its manifest has it already. */
        if (kl_base_reserve(&log->store->alloc, (void **)&plan->frames,
                            &plan->capacity, plan->count + 1,
                            sizeof *plan->frames))
            return KL_ENOMEM;
        plan->frames[plan->count].base = e->offset;
        plan->frames[plan->count++].size = e->truncation;
        kl_batch_epochs_truncate(&log->epochs, e->offset);
        return 0;
    }
    plan->touched = 1;
    if (e->offset < plan->cut)
        plan->cut = e->offset;
    if (e->offset > log->leo || e->offset < log->start)
        return KL_ECORRUPT;
    while (plan->count > 0 && plan->frames[plan->count - 1].base >= e->offset)
        plan->count--;
    if (plan->count > 0 && plan->frames[plan->count - 1].end > e->offset)
        return KL_ECORRUPT;
    log->leo = log->durable_leo = e->offset;
    kl_batch_epochs_truncate(&log->epochs, e->offset);
    return 0;
}

static int plan_start(struct kl_store_replay *plan,
                      const struct kl_store_entry_header *e)
{
    struct kl_store_log *log = plan->log;

    if (e->offset > log->start)
        log->start = log->durable_start = e->offset;
    if (log->flush != KL_STORE_FLUSH_COMMIT)
        return 0;
    /* All of it is deleted: it may have begun a segment for what comes. */
    if (log->start == log->leo)
        plan->touched = 1;
    if (log->start <= log->leo)
        return 0;
    if (!log->suspect)
        return KL_ECORRUPT;
    /* Only what was durable could be deleted: groups that are lost had it. */
    log->leo = log->durable_leo = log->start;
    plan->touched = 1;
    return 0;
}

static int plan_epoch(struct kl_store_log *log,
                      const struct kl_store_entry_header *e)
{
    int rc;

    /* The slot may know newer ones that were on their way. */
    if (e->epoch <= kl_batch_epochs_last(&log->epochs))
        return 0;
    rc = kl_batch_epochs_append(&log->epochs, &log->store->alloc, e->epoch,
                                e->offset);
    return rc == KL_EINVAL ? KL_ECORRUPT : rc;
}

int kl_store_recover_entry(struct kl_store_recovery *r,
                           const struct kl_store_entry_header *e, uint32_t file,
                           uint64_t offset, const uint8_t *frame)
{
    struct kl_store_log *log = kl_store_find(r->store, &e->id);
    struct kl_store_replay *plan;
    int rc = 0;

    if (kl_store_entry_is_birth(e->type))
        return plan_birth(r, e);
    if (!log || log->instance != e->instance)
        rc = plan_unknown(r, e, &log);
    if (rc || !log)
        return rc;
    plan = plan_of(r, log);
    if (!plan)
        return KL_ENOMEM;
    if (e->type == KL_STORE_ENTRY_APPEND || e->type == KL_STORE_ENTRY_EPOCH ||
        e->type == KL_STORE_ENTRY_TRUNCATE)
        rc = plan_reconcile(plan, e);
    if (rc)
        return rc;
    switch (e->type) {
    case KL_STORE_ENTRY_APPEND:
        return plan_append(r, plan, e, file, offset, frame);
    case KL_STORE_ENTRY_TRUNCATE:
        return plan_truncate(plan, e);
    case KL_STORE_ENTRY_EPOCH:
        return plan_epoch(log, e);
    case KL_STORE_ENTRY_START:
        return plan_start(plan, e);
    case KL_STORE_ENTRY_DELETE:
        plan_delete(r, log);
        return 0;
    case KL_STORE_ENTRY_CREATE:
    case KL_STORE_ENTRY_RESET:
    case KL_STORE_ENTRY_EXTENT:
        break;
    }
    return KL_EFORMAT;
}
