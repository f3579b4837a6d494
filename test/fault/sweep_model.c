/*
 * The model of the crash sweep.
 */
#include "sweep_model.h"

#include "need.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

struct model_frame
{
    int64_t base;
    int64_t end;
    uint64_t hash;
};

/* What changes amount to, or what a store shows. */
struct model_content
{
    int exists;
    enum kl_store_flush flush;
    int64_t start;
    int64_t leo;
    struct model_frame frames[MODEL_FRAMES];
    int frame_count;
    struct kl_batch_epoch epochs[64];
    int epoch_count;
};

void model_init(struct model *m, struct model_memory *memory)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < MODEL_LOGS; i++)
        m->logs[i].changes = memory->changes[i];
}

void model_copy(struct model *m, struct model_memory *memory,
                const struct model *from)
{
    *m = *from;
    for (int i = 0; i < MODEL_LOGS; i++) {
        struct model_log *log = &m->logs[i];

        log->changes = memory->changes[i];
        memcpy(log->changes, from->logs[i].changes,
               (size_t)log->count * sizeof *log->changes);
    }
}

static int model_is_birth(const struct model_change *c)
{
    return c->type == MODEL_CREATE || c->type == MODEL_RESET;
}

/* What waits for the WAL when its log is deleted or reset never gets there. */
static void model_drop(const struct model *m, struct model_log *log)
{
    for (int i = log->count; i > 0; i--) {
        struct model_change *c = &log->changes[i - 1];

        if (model_is_birth(c) || c->sequence <= m->durable)
            return;
        c->is_dropped = 1;
    }
}

struct model_change *model_add(struct model *m, struct model_log *log,
                               enum model_type type, int64_t offset)
{
    struct model_change *c;

    if (type == MODEL_DELETE || type == MODEL_RESET)
        model_drop(m, log);
    c = &log->changes[log->count++];
    need(log->count < MODEL_CHANGES);
    memset(c, 0, sizeof *c);
    c->type = type;
    c->flush = log->flush;
    c->sequence = ++m->sequence;
    c->offset = offset;
    if (log->handle)
        c->truncation = log->handle->truncation;
    if (type == MODEL_CREATE || type == MODEL_DELETE || type == MODEL_RESET)
        log->start = log->synced = log->written = 0;
    if (type == MODEL_START || type == MODEL_RESET)
        log->start = offset;
    return c;
}

uint64_t model_hash(uint64_t tag, int count, uint32_t value_size)
{
    uint64_t hash = 0;
    uint8_t value[4096];

    for (int i = 0; i < count; i++) {
        store_fixture_value(tag, i, value, value_size);
        hash = kl_base_hash(value, value_size, hash);
    }
    return hash;
}

/* ---- what changes amount to ------------------------------------------------
 */

static void content_epoch(struct model_content *c, int32_t epoch)
{
    if (c->epoch_count && c->epochs[c->epoch_count - 1].epoch == epoch)
        return;
    if (c->epoch_count && c->epochs[c->epoch_count - 1].start == c->leo)
        c->epoch_count--; /* no record was ever written in it */
    need(c->epoch_count < 64);
    c->epochs[c->epoch_count].epoch = epoch;
    c->epochs[c->epoch_count++].start = c->leo;
}

static void content_truncate(struct model_content *c, int64_t offset)
{
    while (c->frame_count > 0 && c->frames[c->frame_count - 1].end > offset)
        c->frame_count--;
    while (c->epoch_count > 0 && c->epochs[c->epoch_count - 1].start >= offset)
        c->epoch_count--;
    c->leo = offset;
}

static void content_append(struct model_content *c,
                           const struct model_change *change)
{
    struct model_frame *f = &c->frames[c->frame_count++];

    need(c->frame_count < MODEL_FRAMES);
    content_epoch(c, change->epoch);
    f->base = c->leo;
    f->end = c->leo = change->offset;
    f->hash = change->hash + (uint64_t)change->epoch;
}

static void content_apply(struct model_content *c,
                          const struct model_change *change)
{
    c->flush = change->flush;
    switch (change->type) {
    case MODEL_CREATE:
    case MODEL_DELETE:
        c->exists = change->type == MODEL_CREATE;
        c->start = c->leo = 0;
        c->frame_count = c->epoch_count = 0;
        return;
    case MODEL_APPEND:
        content_append(c, change);
        return;
    case MODEL_TRUNCATE:
        content_truncate(c, change->offset);
        return;
    case MODEL_START:
        c->start = change->offset;
        if (c->leo < c->start)
            c->leo = c->start;
        return;
    case MODEL_EPOCH:
        content_epoch(c, change->epoch);
        return;
    case MODEL_RESET:
        c->start = c->leo = change->offset;
        c->frame_count = 0;
        c->epoch_count = change->epoch >= 0;
        c->epochs[0] =
            (struct kl_batch_epoch){change->epoch, change->offset - 1};
        return;
    }
}

/* ---- what the store shows --------------------------------------------------
 */

static int seen_frame(struct store_fixture *f, const uint8_t *data,
                      uint32_t size, struct model_content *c)
{
    struct model_frame *frame = &c->frames[c->frame_count++];
    struct kl_batch_record record;
    struct kl_batch_iter it;

    need(c->frame_count < MODEL_FRAMES);
    if (kl_batch_iter_init(&it, &f->alloc.alloc, data, size, 1 << 20))
        return 0;
    frame->base = it.info.base_offset;
    frame->end = it.info.last_offset + 1;
    frame->hash = 0;
    while (kl_batch_iter_next(&it, &record) == 0)
        frame->hash =
            kl_base_hash(record.value, record.value_size, frame->hash);
    frame->hash += (uint64_t)it.info.leader_epoch;
    kl_batch_iter_deinit(&it);
    return 1;
}

static int seen_slice(struct store_fixture *f,
                      const struct kl_store_slice *slice, uint64_t seed,
                      struct model_content *c)
{
    const uint8_t *p = slice->data;
    uint32_t left = slice->size;
    struct kl_batch_info info;

    while (left > 0) {
        if (kl_batch_frame_verify(p, left, seed, &info) ||
            !seen_frame(f, p, info.frame_size, c))
            return 0;
        p += info.frame_size;
        left -= info.frame_size;
    }
    return 1;
}

static int seen_read(struct model_log *log, struct store_fixture *f,
                     struct model_content *c, char *why, size_t why_size)
{
    struct kl_store_read read;
    int64_t offset = c->start;
    int good = 1;

    while (good && offset < c->leo) {
        store_fixture_read(f, log->handle, offset, c->leo, 16384, &read);
        good = read.code == 0 && read.slice_count > 0;
        if (!good)
            snprintf(why, why_size, "log %d: reading %lld of %lld..%lld: %d",
                     log->id.partition, (long long)offset, (long long)c->start,
                     (long long)c->leo, read.code);
        for (uint32_t i = 0; good && i < read.slice_count; i++) {
            good = seen_slice(f, &read.slices[i],
                              kl_store_log_seed(log->handle), c);
            if (!good)
                snprintf(why, why_size, "log %d: a bad frame at %lld",
                         log->id.partition, (long long)offset);
        }
        offset = read.next_offset;
        kl_store_read_release(&read);
    }
    return good;
}

static int seen_log(struct model_log *log, struct store_fixture *f,
                    struct model_content *c, char *why, size_t why_size)
{
    struct kl_store_view view;

    memset(c, 0, sizeof *c);
    log->handle = kl_store_find(f->store, &log->id);
    if (!log->handle)
        return 1;
    kl_store_log_view(log->handle, &view);
    c->exists = 1;
    c->flush = view.flush;
    c->start = view.start;
    c->leo = view.leo;
    for (uint32_t i = 0; i < view.epochs->count && i < 64; i++)
        c->epochs[c->epoch_count++] = view.epochs->items[i];
    if (view.durable_leo != view.leo || view.durable_start != view.start) {
        snprintf(why, why_size, "log %d: not all of it is durable",
                 log->id.partition);
        return 0;
    }
    return seen_read(log, f, c, why, why_size);
}

/* ---- comparing -------------------------------------------------------------
 */

/* Frames of c that a reader from start on sees, against those seen; all of
 * them, or only a prefix. */
static int frames_fit(const struct model_content *c,
                      const struct model_content *seen)
{
    int k = 0;

    for (int i = 0; i < c->frame_count && c->frames[i].end <= seen->leo; i++) {
        if (c->frames[i].end <= seen->start)
            continue;
        if (k == seen->frame_count ||
            c->frames[i].base != seen->frames[k].base ||
            c->frames[i].end != seen->frames[k].end ||
            c->frames[i].hash != seen->frames[k].hash)
            return 0;
        k++;
    }
    return k == seen->frame_count;
}

/* Epochs that begin below the start may be forgotten, but not the last. */
static int epochs_fit(const struct model_content *c,
                      const struct model_content *seen)
{
    int i = c->epoch_count, k = seen->epoch_count;

    while (i > 0 && k > 0) {
        if (c->epochs[i - 1].epoch != seen->epochs[k - 1].epoch ||
            (c->epochs[i - 1].start != seen->epochs[k - 1].start &&
             c->epochs[i - 1].start > c->start))
            return 0;
        i--;
        k--;
    }
    if (k > 0 || (i > 0 && seen->epoch_count == 0))
        return 0;
    return i == 0 || c->epochs[i - 1].start <= c->start;
}

/* The start of an interval log goes through the WAL, the appends before it do
 * not, and where things overtake it overtakes them: it may be ahead. */
static int start_is_ahead(const struct model_log *log, int from, int64_t start)
{
    for (int i = from; i < log->count; i++) {
        if (model_is_birth(&log->changes[i]) ||
            log->changes[i].type == MODEL_DELETE)
            return 0;
        if (log->changes[i].type == MODEL_START &&
            log->changes[i].offset == start)
            return 1;
    }
    return 0;
}

static int content_fits(const struct model *m, const struct model_log *log,
                        int at, const struct model_content *c,
                        const struct model_content *seen, int64_t least)
{
    int is_commit = c->flush == KL_STORE_FLUSH_COMMIT;

    if (c->exists != seen->exists)
        return 0;
    if (!c->exists)
        return 1;
    if (c->flush != seen->flush)
        return 0;
    if (c->start != seen->start && ((is_commit && !m->is_unordered) ||
                                    !start_is_ahead(log, at, seen->start)))
        return 0;
    if (is_commit)
        return c->leo == seen->leo && frames_fit(c, seen) &&
               epochs_fit(c, seen);
    return (seen->leo <= c->leo || seen->leo == seen->start) &&
           seen->leo >= least && frames_fit(c, seen);
}

/* The last change of the WAL, counted from 1, that is durable. */
static int model_durable(const struct model *m, const struct model_log *log)
{
    int durable = log->durable;

    for (int i = durable; i < log->count && !m->is_unordered; i++)
        if (log->changes[i].sequence <= m->durable &&
            !log->changes[i].is_dropped &&
            (log->changes[i].flush == KL_STORE_FLUSH_COMMIT ||
             log->changes[i].type != MODEL_APPEND))
            durable = i + 1;
    return durable;
}

static int model_check_log(struct model *m, struct model_log *log,
                           struct store_fixture *f, int was_killed, char *why,
                           size_t why_size)
{
    static struct model_content seen, c;
    int64_t least = was_killed ? log->written : log->synced;
    int durable = model_durable(m, log);
    enum kl_store_flush flush = log->flush;

    if (!seen_log(log, f, &seen, why, why_size))
        return 0;
    memset(&c, 0, sizeof c);
    log->matched = -1;
    for (int i = 0; i <= log->count; i++) {
        if (i > 0)
            content_apply(&c, &log->changes[i - 1]);
        if (i >= durable && content_fits(m, log, i, &c, &seen, least)) {
            log->matched = i;
            flush = c.flush;
        }
    }
    log->seen_leo = seen.leo;
    log->seen_start = seen.start;
    log->flush = flush;
    if (log->matched >= 0)
        return 1;
    snprintf(why, why_size,
             "log %d: exists %d, %lld..%lld, %d frames, %d epochs, fits none "
             "of its changes %d..%d, at least %lld; all give exists %d, "
             "%lld..%lld",
             log->id.partition, seen.exists, (long long)seen.start,
             (long long)seen.leo, seen.frame_count, seen.epoch_count, durable,
             log->count, (long long)least, c.exists, (long long)c.start,
             (long long)c.leo);
    return 0;
}

const struct kl_base_uuid model_cluster_id = {{5, 5, 5}};

/* Of no other cluster than it is said to be, and none that was not found. */
static int model_check_cluster(struct model *m, const struct kl_store *s)
{
    const struct kl_store_identity *id = kl_store_identity(s);

    if (m->cluster == MODEL_OF_ITS_OWN)
        return id->flags == 0 && id->cluster_id.bytes[0] == 7;
    m->seen_joined = (id->flags & KL_STORE_JOINS) == 0;
    if (m->seen_joined)
        return m->cluster != MODEL_JOINS &&
               kl_base_uuid_equal(&id->cluster_id, &model_cluster_id);
    return m->cluster != MODEL_JOINED && kl_base_uuid_is_zero(&id->cluster_id);
}

int model_check(struct model *m, struct store_fixture *f, int was_killed,
                char *why, size_t why_size)
{
    struct kl_store_log *log;
    int known;

    if (!model_check_cluster(m, f->store)) {
        snprintf(why, why_size, "the cluster");
        return 0;
    }
    for (log = kl_store_next(f->store, NULL); log;
         log = kl_store_next(f->store, log)) {
        known = 0;
        for (int i = 0; i < MODEL_LOGS; i++)
            known |= m->logs[i].count > 0 &&
                     memcmp(&m->logs[i].id, kl_store_log_id(log),
                            sizeof m->logs[i].id) == 0;
        if (!known) {
            snprintf(why, why_size, "a log that never was");
            return 0;
        }
    }
    for (int i = 0; i < MODEL_LOGS; i++)
        if (m->logs[i].count > 0 &&
            !model_check_log(m, &m->logs[i], f, was_killed, why, why_size))
            return 0;
    return 1;
}

/* ---- claims -------------------------------------------------------------- */

static int change_is_durable(const struct model_log *log,
                             const struct model_change *c)
{
    const struct kl_store_log *h = log->handle;

    switch (c->type) {
    case MODEL_CREATE:
    case MODEL_RESET:
        return h->exists;
    case MODEL_APPEND:
        return log->flush == KL_STORE_FLUSH_COMMIT &&
               c->truncation == h->truncation && c->offset <= h->durable_leo;
    case MODEL_TRUNCATE:
        return h->durable_truncation >= c->truncation;
    case MODEL_START:
        return h->durable_start >= c->offset;
    case MODEL_EPOCH:
        return log->flush == KL_STORE_FLUSH_COMMIT &&
               kl_batch_epochs_last(kl_store_log_wal_epochs(h)) >= c->epoch;
    case MODEL_DELETE:
        break;
    }
    return 0;
}

void model_note(struct model *m, const struct kl_store *s)
{
    if (m->cluster == MODEL_ADOPTING && s &&
        !(kl_store_identity(s)->flags & KL_STORE_JOINS))
        m->cluster = MODEL_JOINED;
    for (int i = 0; i < MODEL_LOGS; i++) {
        struct model_log *log = &m->logs[i];
        const struct model_change *c;

        if (!log->handle)
            continue;
        if (log->handle->start > log->start)
            model_add(m, log, MODEL_START, log->handle->start);
        for (int k = log->count; k > log->durable; k--) {
            c = &log->changes[k - 1];
            if (c->type == MODEL_DELETE)
                break;
            if (change_is_durable(log, c) &&
                !(m->is_unordered && c->type == MODEL_START)) {
                log->durable = k;
                if (c->sequence > m->durable)
                    m->durable = c->sequence;
                break;
            }
            if (model_is_birth(c))
                break; /* what is before it is of another life */
        }
        if (log->flush == KL_STORE_FLUSH_INTERVAL && log->handle->exists) {
            log->synced = kl_store_log_synced_leo(log->handle);
            log->written = log->handle->durable_leo;
        }
    }
}

void model_note_all(struct model *m)
{
    m->durable = m->sequence;
    for (int i = 0; i < MODEL_LOGS; i++) {
        m->logs[i].durable = m->logs[i].count;
        if (m->logs[i].handle)
            m->logs[i].synced = m->logs[i].written = m->logs[i].handle->leo;
    }
}

void model_forget_handles(struct model *m)
{
    for (int i = 0; i < MODEL_LOGS; i++)
        m->logs[i].handle = NULL;
}

void model_settle(struct model *m)
{
    for (int i = 0; i < MODEL_LOGS; i++) {
        struct model_log *log = &m->logs[i];

        if (log->count == 0)
            continue;
        log->count = log->durable = log->matched;
        if (!log->handle)
            continue;
        if (log->flush == KL_STORE_FLUSH_INTERVAL || m->is_unordered)
            model_add(m, log, MODEL_START, log->seen_start);
        if (log->flush == KL_STORE_FLUSH_INTERVAL)
            model_add(m, log, MODEL_TRUNCATE, log->seen_leo);
        log->durable = log->count;
        log->start = log->seen_start;
        log->synced = log->written = log->seen_leo;
    }
    m->durable = m->sequence;
    m->is_formatted = 1;
    if (m->cluster != MODEL_OF_ITS_OWN)
        m->cluster = m->seen_joined ? MODEL_JOINED : MODEL_JOINS;
}
