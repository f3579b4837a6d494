/*
 * Scanning the WAL. A group counts while sequence, lap, salt and chain hold and
 * all of it verifies. A bad group followed by its seal or by a valid later
 * group had been durable: that is rot, and nothing is dropped. Otherwise it is
 * the torn end and is dropped whole (storage.md 7.3).
 */
#include "store/recover.h"

#include <string.h>

/* ---- one group --------------------------------------------------------- */

static uint8_t *scan_room(struct kl_store_recovery *r, size_t size)
{
    kl_base_buf_clear(&r->group);
    return kl_base_buf_extend(&r->group, size);
}

static int scan_read(struct kl_store_recovery *r, uint32_t file,
                     uint64_t offset, size_t size)
{
    struct kl_os_file *f = r->store->wal.files[file];
    uint8_t *data = scan_room(r, size);
    size_t got;
    int rc;

    if (!data)
        return KL_ENOMEM;
    rc = f->vfs->ops->read(f, data, size, offset, &got);
    if (rc)
        return rc;
    return got == size ? 0 : KL_EIO;
}

/* Header and entry headers at a place: 0, KL_EEND where there is no group of
 * this store, or an error of reading. The whole group is in r->group then. */
static int scan_header(struct kl_store_recovery *r, uint32_t file,
                       uint64_t offset, struct kl_store_group_header *h)
{
    struct kl_store *s = r->store;
    int rc;

    if (offset + KL_STORE_BLOCK > s->wal.file_size)
        return KL_EEND;
    rc = scan_read(r, file, offset, KL_STORE_BLOCK);
    if (rc)
        return rc;
    if (kl_store_group_decode(r->group.data, h) ||
        h->directory != s->directory || h->size > s->wal.file_size - offset)
        return KL_EEND;
    rc = scan_read(r, file, offset, h->size);
    if (rc)
        return rc;
    return kl_store_group_verify(r->group.data, h) ? KL_EEND : 0;
}

/* All frames of the group in r->group. */
static int scan_body(const struct kl_store_recovery *r,
                     const struct kl_store_group_header *h)
{
    const uint8_t *entry = r->group.data + KL_STORE_GROUP_HEADER;
    uint64_t at = KL_STORE_GROUP_HEADER +
                  (uint64_t)h->entry_count * KL_STORE_ENTRY_HEADER;
    struct kl_store_entry_header e;
    struct kl_batch_info info;

    for (uint32_t i = 0; i < h->entry_count;
         i++, entry += KL_STORE_ENTRY_HEADER) {
        int rc = kl_store_entry_decode(entry, &e);

        if (rc)
            return rc;
        if (e.size > h->size - at)
            return KL_ECORRUPT;
        if (e.size > 0 &&
            (kl_batch_frame_verify(
                 r->group.data + at, e.size,
                 kl_batch_seed(&e.id.topic_id, e.id.partition), &info) ||
             info.frame_size != e.size || info.base_offset != e.offset ||
             info.last_offset + 1 != e.end))
            return KL_ECORRUPT;
        at += e.size;
    }
    return 0;
}

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
    const uint8_t *entry = r->group.data + KL_STORE_GROUP_HEADER;
    uint64_t at = KL_STORE_GROUP_HEADER +
                  (uint64_t)h->entry_count * KL_STORE_ENTRY_HEADER;
    struct kl_store_entry_header e;
    int rc = 0;

    for (uint32_t i = 0; i < h->entry_count && rc == 0;
         i++, entry += KL_STORE_ENTRY_HEADER) {
        kl_store_entry_decode(entry, &e);
        rc = plan_entry(r, &e, p->file, p->offset + at, r->group.data + at);
        at += e.size;
    }
    return rc;
}

/* ---- the walk ---------------------------------------------------------- */

/* KL_EEXIST where there is a group or seal of a later sequence at any block of
 * a file from at on; 0 where not; or why it cannot be told: that must not turn
 * rot into a torn end. */
static int scan_has_later(struct kl_store_recovery *r,
                          const struct kl_store_position *p, uint32_t file,
                          uint64_t at)
{
    struct kl_store *s = r->store;
    uint64_t blocks = s->wal.file_count * (s->wal.file_size / KL_STORE_BLOCK);
    struct kl_store_group_header h;
    int rc;

    for (; at < s->wal.file_size; at += KL_STORE_BLOCK) {
        rc = scan_read(r, file, at, KL_STORE_BLOCK);
        if (rc)
            return rc;
        if (kl_store_group_decode(r->group.data, &h) ||
            h.sequence <= p->sequence || h.sequence - p->sequence > blocks)
            continue;
        rc = scan_header(r, file, at, &h);
        if (rc != KL_EEND)
            return rc ? rc : KL_EEXIST;
    }
    return 0;
}

/* KL_EEXIST where there is evidence that a group of a higher sequence was
 * written: the missing one had been durable. It lies behind the place or in one
 * of the next files. */
static int scan_prove(struct kl_store_recovery *r,
                      const struct kl_store_position *p)
{
    uint32_t count = r->store->wal.file_count;
    int rc = 0;

    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc =
            scan_has_later(r, p, (p->file + i) % count, i == 0 ? p->offset : 0);
    return rc;
}

/* The group of the position's sequence, there or at the start of the next
 * file. KL_EEND where there is none, KL_ECORRUPT where its frames are bad. */
static int scan_find(struct kl_store_recovery *r, struct kl_store_position *p,
                     struct kl_store_group_header *h)
{
    struct kl_store *s = r->store;
    uint32_t next = (p->file + 1) % s->wal.file_count;
    int rc = scan_header(r, p->file, p->offset, h);

    if (rc == 0 && h->kind == KL_STORE_GROUP_DATA &&
        h->sequence == p->sequence && h->lap == p->lap && h->salt == p->salt &&
        h->previous == p->previous)
        return scan_body(r, h);
    if (rc && rc != KL_EEND)
        return rc;
    /* Also behind a seal: the group may not have fitted into this file. */
    rc = scan_header(r, next, 0, h);
    if (rc)
        return rc;
    if (h->kind != KL_STORE_GROUP_DATA || h->sequence != p->sequence ||
        h->previous != p->previous || h->lap != p->lap + (next == 0) ||
        (next != 0 && h->salt != p->salt))
        return KL_EEND;
    p->file = next;
    p->offset = 0;
    p->lap = h->lap;
    p->salt = h->salt;
    return scan_body(r, h);
}

int kl_store_recover_scan(struct kl_store_recovery *r)
{
    struct kl_store *s = r->store;
    struct kl_store_position *p = &s->wal.next;
    struct kl_store_group_header h;
    char path[KL_STORE_PATH_MAX];
    int rc;

    for (;;) {
        rc = scan_find(r, p, &h);
        if (rc == 0)
            rc = scan_apply(r, &h, p);
        else if (rc == KL_EEND || rc == KL_ECORRUPT) {
            rc = r->slot.flags & KL_STORE_SLOT_CLEAN ? 0 : scan_prove(r, p);
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
