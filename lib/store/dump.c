/*
 * Telling what a folder holds: who it belongs to, checkpoints, logs and their
 * segments; the groups of the ring; one log with its frames. A run can be left
 * after any event and gone on with.
 */
#include "store/dump.h"

static int dump_emit(struct kl_store_dump *d,
                     const struct kl_store_dump_event *e)
{
    return d->fn(e, d->user);
}

/* ---- the folder -----------------------------------------------------------
 */

static int dump_identity(struct kl_store_dump *d)
{
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_IDENTITY};

    if (d->in->identity_code)
        return 0;
    e.identity = &d->in->store->identity;
    return dump_emit(d, &e);
}

void kl_store_dump_fill_slot(struct kl_store_dump_slot *out,
                             const struct kl_store_slot *slot)
{
    out->generation = slot->generation;
    out->is_clean = (slot->flags & KL_STORE_SLOT_CLEAN) != 0;
    out->sequence = slot->position.sequence;
    out->lap = slot->position.lap;
    out->file = slot->position.file;
    out->offset = slot->position.offset;
    out->file_count = slot->file_count;
    out->file_size = slot->file_size;
    out->log_count = slot->log_count;
}

static int dump_slot(struct kl_store_dump *d, int index)
{
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_SLOT};

    e.slot = (struct kl_store_dump_slot){.name = index ? "checkpoint.b"
                                                       : "checkpoint.a",
                                         .code = d->in->slot_codes[index],
                                         .is_newest = d->in->newest == index};
    if (e.slot.code == 0)
        kl_store_dump_fill_slot(&e.slot, &d->in->slots[index]);
    return dump_emit(d, &e);
}

static int dump_log(struct kl_store_dump *d)
{
    const struct kl_store_log *log = d->log;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_LOG};
    int is_known = d->in->newest >= 0;

    e.log =
        (struct kl_store_dump_log){.id = log->id,
                                   .instance = log->instance,
                                   .truncation = log->truncation,
                                   .flush = (enum kl_store_flush)log->flush,
                                   .start = log->start,
                                   .leo = is_known ? log->leo : -1,
                                   .is_suspect = log->suspect,
                                   .epochs = is_known ? &log->epochs : NULL};
    return dump_emit(d, &e);
}

void kl_store_dump_fill_segment(struct kl_store_dump_segment *out,
                                const struct kl_store_manifest *m,
                                const struct kl_store_segment_info *info)
{
    *out = (struct kl_store_dump_segment){.id = m->id,
                                          .instance = m->instance,
                                          .truncation = info->truncation,
                                          .base = info->base,
                                          .end = info->end,
                                          .size = info->size,
                                          .max_timestamp = info->max_timestamp,
                                          .first_ms = info->first_ms,
                                          .last_ms = info->last_ms};
}

/* The checkpoint knows the open one better than the manifest. */
static int dump_segment(struct kl_store_dump *d)
{
    const struct kl_store_segment_info *info =
        &d->manifest.segments[d->segment];
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_SEGMENT};

    if (d->in->newest >= 0 && info->base == d->log->active.base)
        info = &d->log->active;
    kl_store_dump_fill_segment(&e.segment, &d->manifest, info);
    return dump_emit(d, &e);
}

static void dump_drop_manifest(struct kl_store_dump *d)
{
    kl_base_free(d->alloc, d->manifest.segments,
                 d->manifest.count * sizeof *d->manifest.segments);
    d->manifest.segments = NULL;
    d->manifest.count = 0;
}

static int dump_load(struct kl_store_dump *d)
{
    int rebuilt;
    int rc = kl_store_load_manifest(d->log, 0, &d->manifest, &rebuilt);

    d->segment = 0;
    if (rc == KL_ENOENT && d->log->active.base < 0)
        return 0;
    return rc;
}

/* One step of a log; KL_EEND behind its last segment. */
static int dump_log_step(struct kl_store_dump *d)
{
    int rc;

    if (!d->is_loaded) {
        rc = dump_log(d);
        if (rc == 0)
            rc = dump_load(d);
        d->is_loaded = rc == 0;
        return rc;
    }
    if (d->segment == d->manifest.count)
        return KL_EEND;
    rc = dump_segment(d);
    d->segment += rc == 0;
    return rc;
}

static int dump_folder_step(struct kl_store_dump *d)
{
    int rc;

    if (d->stage < 3) {
        rc = d->stage == 0 ? dump_identity(d) : dump_slot(d, d->stage - 1);
        d->stage += rc == 0;
        if (d->stage == 3)
            d->log = kl_store_next(d->in->store, NULL);
        return rc;
    }
    if (!d->log)
        return KL_EEND;
    rc = dump_log_step(d);
    if (rc != KL_EEND)
        return rc;
    dump_drop_manifest(d);
    d->is_loaded = 0;
    d->log = kl_store_next(d->in->store, d->log);
    return 0;
}

/* ---- the ring ---------------------------------------------------------- */

static const char *const dump_entry_types[] = {"",         "append", "create",
                                               "truncate", "epoch",  "start",
                                               "delete",   "reset",  "extent"};

/* Entries before the one where the run was left were told already. */
static int dump_entry(const struct kl_store_entry_header *h, uint32_t at,
                      const uint8_t *frame, void *user)
{
    struct kl_store_dump *d = user;
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_ENTRY};
    struct kl_batch_info info;
    int rc;

    (void)at;
    if (d->entry_seen++ < d->entry)
        return 0;
    e.entry = (struct kl_store_dump_entry){
        .type = dump_entry_types[h->type],
        .id = h->id,
        .instance = h->instance,
        .truncation = h->truncation,
        .offset = h->offset,
        .end = h->end,
        .epoch = h->epoch,
        .size = h->size,
        .is_bad = h->size > 0 && kl_store_ring_frame(frame, h, &info) != 0};
    rc = dump_emit(d, &e);
    d->entry += rc == 0;
    return rc;
}

static int dump_group(struct kl_store_dump *d,
                      const struct kl_store_group_header *h)
{
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_GROUP};

    e.group = (struct kl_store_dump_group){
        .file = d->file,
        .offset = (uint32_t)d->position,
        .sequence = h->sequence,
        .lap = h->lap,
        .size = h->size,
        .entry_count = h->entry_count,
        .is_seal = h->kind == KL_STORE_GROUP_SEAL,
        .is_needed = d->needed && h->sequence >= d->needed};
    return dump_emit(d, &e);
}

/* The group at the place, if there is one; moves behind it. */
int kl_store_dump_ring_step(struct kl_store_dump *d)
{
    struct kl_store_ring *ring = d->ring;
    struct kl_store_group_header h;
    int rc;

    if (d->position >= ring->file_size) {
        d->position = 0;
        if (++d->file == ring->file_count)
            return KL_EEND;
    }
    rc = kl_store_ring_load(ring, d->file, d->position, &h);
    if (rc == KL_EEND) {
        d->position += KL_STORE_BLOCK;
        return 0;
    }
    if (rc == 0 && !d->is_loaded) {
        rc = dump_group(d, &h);
        d->is_loaded = rc == 0;
        d->entry = 0;
    }
    d->entry_seen = 0;
    if (rc == 0)
        rc = kl_store_ring_entries(ring, &h, dump_entry, d);
    if (rc && rc != KL_ECORRUPT && rc != KL_EFORMAT)
        return rc;
    d->is_loaded = 0;
    d->position += h.size;
    return 0;
}

/* ---- one log --------------------------------------------------------------
 */

static int dump_frame(const struct kl_store_content_frame *f, void *user)
{
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_FRAME, .frame = f};

    return dump_emit(user, &e);
}

static int dump_lost(int64_t from, int64_t end, enum kl_store_finding_kind why,
                     void *user)
{
    struct kl_store_dump_event e = {.type = KL_STORE_DUMP_LOST,
                                    .lost = {from, end, why}};

    return dump_emit(user, &e);
}

static int dump_content_step(struct kl_store_dump *d)
{
    int rc;

    if (!d->is_told) {
        rc = dump_log_step(d);
        d->is_told = rc == KL_EEND;
        return d->is_told ? 0 : rc;
    }
    rc = kl_store_content_run(d->content);
    return rc ? rc : KL_EEND;
}

/* ---- life -------------------------------------------------------------- */

int kl_store_dump_alloc(struct kl_store_dump **out,
                        const struct kl_base_alloc *alloc, kl_store_dump_fn fn,
                        void *user)
{
    *out = kl_base_calloc(alloc, sizeof **out);
    if (!*out)
        return KL_ENOMEM;
    (*out)->alloc = alloc;
    (*out)->fn = fn;
    (*out)->user = user;
    return 0;
}

int kl_store_dump_new(struct kl_store_dump **out, struct kl_store_inspect *in,
                      enum kl_store_dump_what what, kl_store_dump_fn fn,
                      void *user)
{
    int rc = kl_store_dump_alloc(out, &in->alloc, fn, user);

    if (rc)
        return rc;
    (*out)->in = in;
    (*out)->step =
        what == KL_STORE_DUMP_WAL ? kl_store_dump_ring_step : dump_folder_step;
    (*out)->ring = &in->recovery.ring;
    if (in->newest >= 0)
        (*out)->needed = in->slots[in->newest].position.sequence;
    return 0;
}

int kl_store_dump_log(struct kl_store_dump **out, struct kl_store_inspect *in,
                      const struct kl_store_id *id, kl_store_dump_fn fn,
                      void *user)
{
    static const struct kl_store_content_fns fns = {dump_frame, dump_lost};
    int rc = kl_store_dump_alloc(out, &in->alloc, fn, user);

    if (rc)
        return rc;
    (*out)->in = in;
    (*out)->step = dump_content_step;
    (*out)->log = kl_store_find(in->store, id);
    rc = kl_store_content_new(&(*out)->content, in, id, &fns, *out);
    if (rc) {
        kl_store_dump_free(*out);
        *out = NULL;
    }
    return rc;
}

void kl_store_dump_free(struct kl_store_dump *d)
{
    if (!d)
        return;
    dump_drop_manifest(d);
    kl_store_content_free(d->content);
    kl_store_dump_close_file(d);
    kl_base_free(d->alloc, d, sizeof *d);
}

static int dump_nothing(struct kl_store_dump *d)
{
    (void)d;
    return KL_EEND;
}

int kl_store_dump_run(struct kl_store_dump *d)
{
    int rc;

    do
        rc = d->step(d);
    while (rc == 0);
    if (rc == KL_EEND)
        d->step = dump_nothing;
    return rc == KL_EEND ? 0 : rc;
}
