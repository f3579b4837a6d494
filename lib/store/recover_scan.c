/*
 * Scanning the WAL: what its groups say becomes a plan for each log. Rot ends
 * it with an error and nothing is dropped; the torn end is dropped whole
 * (storage.md 7.3, ring.c).
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
    kl_base_free(&s->alloc, plan, sizeof *plan);
}

static int plan_create(struct kl_store_recovery *r,
                       const struct kl_store_entry_header *e)
{
    struct kl_store *s = r->store;
    struct kl_store_log *log;
    int rc;

    if (kl_store_find(s, &e->id) || e->flags > KL_STORE_FLUSH_INTERVAL)
        return KL_ECORRUPT;
    rc = kl_store_log_new(s, &e->id, (enum kl_store_flush)e->flags, &log);
    if (rc)
        return rc;
    log->exists = 1;
    log->instance = e->instance;
    return plan_of(r, log) ? 0 : KL_ENOMEM;
}

static int plan_append(struct kl_store_recovery *r,
                       struct kl_store_replay *plan,
                       const struct kl_store_entry_header *e, uint32_t file,
                       uint64_t offset, int64_t max_timestamp)
{
    struct kl_store_log *log = plan->log;
    struct kl_store_replay_frame *f;
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
    f->max_timestamp = max_timestamp;
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

/* offset is where the entry's frame lies in its WAL file. */
static int plan_entry(struct kl_store_recovery *r,
                      const struct kl_store_entry_header *e, uint32_t file,
                      uint64_t offset, const uint8_t *frame)
{
    struct kl_store_log *log = kl_store_find(r->store, &e->id);
    struct kl_store_replay *plan;
    struct kl_batch_info info = {0};
    int rc;

    if (e->type == KL_STORE_ENTRY_CREATE)
        return plan_create(r, e);
    if (!log || log->instance != e->instance)
        return 0; /* of another life of the log */
    plan = plan_of(r, log);
    if (!plan)
        return KL_ENOMEM;
    switch (e->type) {
    case KL_STORE_ENTRY_APPEND:
        kl_batch_frame_header(frame, e->size, log->seed, &info);
        return plan_append(r, plan, e, file, offset, info.max_timestamp);
    case KL_STORE_ENTRY_TRUNCATE:
        return plan_truncate(plan, e);
    case KL_STORE_ENTRY_EPOCH:
        /* The slot may know newer ones that were on their way. */
        if (e->epoch <= kl_batch_epochs_last(&log->epochs))
            return 0;
        rc = kl_batch_epochs_append(&log->epochs, &r->store->alloc, e->epoch,
                                    e->offset);
        return rc == KL_EINVAL ? KL_ECORRUPT : rc;
    case KL_STORE_ENTRY_START:
        if (e->offset > log->start)
            log->start = log->durable_start = e->offset;
        return 0;
    case KL_STORE_ENTRY_DELETE:
        kl_store_recover_plan_free(r->store, plan);
        kl_store_log_remove(log); /* its folder is a leftover now */
        return 0;
    case KL_STORE_ENTRY_CREATE:
    case KL_STORE_ENTRY_RESET:
    case KL_STORE_ENTRY_EXTENT:
        break;
    }
    return KL_EFORMAT;
}

static int scan_apply(struct kl_store_recovery *r,
                      const struct kl_store_group_header *h,
                      const struct kl_store_position *p)
{
    const uint8_t *entry = r->ring.group.data + KL_STORE_GROUP_HEADER;
    uint64_t at = KL_STORE_GROUP_HEADER +
                  (uint64_t)h->entry_count * KL_STORE_ENTRY_HEADER;
    struct kl_store_entry_header e;
    int rc = 0;

    for (uint32_t i = 0; i < h->entry_count && rc == 0;
         i++, entry += KL_STORE_ENTRY_HEADER) {
        kl_store_entry_decode(entry, &e);
        rc =
            plan_entry(r, &e, p->file, p->offset + at, r->ring.group.data + at);
        at += e.size;
    }
    return rc;
}

/* ---- the walk ---------------------------------------------------------- */

int kl_store_recover_scan(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    struct kl_store_position *p = &s->wal.next;
    struct kl_store_group_header h;
    char path[KL_STORE_PATH_MAX];
    int rc;

    for (;;) {
        rc = kl_store_ring_find(&r->ring, p, &h);
        if (rc == 0)
            rc = scan_apply(r, &h, p);
        else if (rc == KL_EEND || rc == KL_ECORRUPT) {
            rc = r->slot.flags & KL_STORE_SLOT_CLEAN
                     ? 0
                     : kl_store_ring_prove(&r->ring, p);
            if (rc == 0)
                return 0; /* the end, or a torn group: dropped whole */
            if (rc == KL_EEXIST)
                rc = KL_ECORRUPT;
        }
        if (rc)
            break;
        r->groups++;
        p->offset += h.size;
        p->previous = h.checksum;
        p->sequence++;
    }
    kl_store_path_wal(s, p->file, path);
    return kl_base_error_set(r->error, rc, "%s, group %llu at %u: %s", path,
                             (unsigned long long)p->sequence,
                             (unsigned)p->offset, kl_store_why(rc));
}
