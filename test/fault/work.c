/*
 * What a scenario can do to a store.
 */
#include "work.h"

#include <check.h>
#include <string.h>

void work_init(struct work *w, const struct work_scenario *scenario)
{
    static struct model_memory memory; /* one at a time */

    memset(w, 0, sizeof *w);
    model_init(&w->model, &memory);
    w->scenario = scenario;
    kl_base_rng_seed(&w->rng, scenario->seed);
    store_fixture_init(&w->f);
    w->f.config.retention_check_ms = 20;
    if (scenario->file_max)
        w->f.config.file_max = scenario->file_max;
    for (int i = 0; i < MODEL_LOGS; i++)
        w->model.logs[i].id = store_fixture_id(i / 2, i);
    if (!scenario->joins)
        return;
    w->model.cluster = MODEL_JOINS;
    w->f.config.format.flags = KL_STORE_JOINS;
    memset(&w->f.config.format.cluster_id, 0, 16);
}

int work_accepts(const struct work *w, int code, const char *what)
{
    static const int known[] = {KL_ENOMEM,  KL_EIO,     KL_EDISKFULL,
                                KL_EFAILED, KL_EACCESS, KL_ENOFILES,
                                KL_EBUSY,   KL_EAGAIN,  KL_EUNSUPPORTED};
    static const int missing[] = {KL_ENOENT, KL_ENOSTORE, KL_EFOREIGN,
                                  KL_ECORRUPT};

    if (code == 0)
        return 1;
    if (code == KL_EDISKFULL && w->may_be_full)
        return 0;
    for (size_t i = 0; w->is_faulty && i < sizeof known / sizeof *known; i++)
        if (code == known[i])
            return 0;
    for (size_t i = 0; w->is_missing && i < sizeof missing / sizeof *missing;
         i++)
        if (code == missing[i])
            return 0;
    ck_abort_msg("%s: %s: %s", w->where ? w->where : w->scenario->name, what,
                 kl_error_name(code));
    return 0;
}

uint64_t work_random(struct work *w, uint64_t below)
{
    return kl_base_rng_below(&w->rng, below);
}

/* ---- life ------------------------------------------------------------------
 */

void work_crash(struct work *w)
{
    model_forget_handles(&w->model);
    store_fixture_crash(&w->f);
}

/* An open that fails says why. */
static void work_check_error(const struct work *w, int code)
{
    const struct kl_base_error *error = &w->f.error;

    if (code == KL_ENOMEM && error->code == 0)
        return; /* before there was a place for a text */
    ck_assert_msg(error->code == code && error->text[0],
                  "%s: open gave %s, but said %s: \"%s\"", w->scenario->name,
                  kl_error_name(code), kl_error_name(error->code), error->text);
}

void work_open(struct work *w)
{
    struct model_log *log;
    int rc = store_fixture_open(&w->f);

    if (rc && w->is_faulty)
        work_check_error(w, rc);
    if (!work_accepts(w, rc, w->f.error.text)) {
        work_crash(w);
        return;
    }
    w->model.is_formatted = 1;
    if (w->model.cluster == MODEL_ADOPTING)
        w->model.cluster = kl_store_identity(w->f.store)->flags & KL_STORE_JOINS
                               ? MODEL_JOINS
                               : MODEL_JOINED;
    for (log = w->model.logs; log < w->model.logs + MODEL_LOGS; log++)
        log->handle = kl_store_find(w->f.store, &log->id);
    if (w->opened)
        w->opened(w);
}

void work_turn(struct work *w, int count)
{
    struct kl_base_error error;
    int rc;

    for (int i = 0; w->f.store && i < count; i++) {
        store_fixture_turn(&w->f);
        rc = kl_store_failure(w->f.store, &error);
        if (!work_accepts(w, rc, error.text))
            ck_assert_msg(error.text[0], "failed without a text");
        if (w->after)
            w->after(w, "a turn");
    }
}

static int work_is_settled(const struct work *w)
{
    for (int i = 0; w->f.store && i < MODEL_LOGS; i++) {
        const struct kl_store_log *log = w->model.logs[i].handle;

        if (log &&
            (log->durable_leo != log->leo || log->durable_start != log->start))
            return 0;
    }
    return 1;
}

void work_settle(struct work *w)
{
    for (int i = 0; i < 50 && !work_is_settled(w); i++)
        work_turn(w, 1);
    ck_assert(w->is_faulty || work_is_settled(w));
}

void work_stop(struct work *w)
{
    if (!w->f.store)
        return;
    kl_store_stop(w->f.store);
    for (int i = 0; i < 1000 && !kl_store_is_stopped(w->f.store); i++)
        work_turn(w, 1);
    if (kl_store_is_stopped(w->f.store) &&
        kl_store_failure(w->f.store, NULL) == 0)
        model_note_all(&w->model);
    else
        ck_assert(w->is_faulty);
    model_forget_handles(&w->model);
    if (w->after)
        w->after(w, "stopped");
    store_fixture_crash(&w->f);
}

/* ---- changes --------------------------------------------------------------
 */

void work_create(struct work *w, int log, enum kl_store_flush flush,
                 uint64_t segment_bytes)
{
    const struct work_scenario *scenario = w->scenario;
    struct model_log *m = &w->model.logs[log];
    struct kl_store_log_config config = {
        .segment_bytes = segment_bytes,
        .segment_ms = -1,
        .retention_ms = -1,
        .retention_bytes =
            scenario->retention_bytes ? scenario->retention_bytes : -1,
        .flush_ms = -1,
        .flush_bytes = scenario->flush_bytes ? scenario->flush_bytes : -1,
        .index_interval_bytes = 512,
    };
    int rc;

    if (!w->f.store || m->handle)
        return; /* its delete may have been refused */
    rc = kl_store_create(w->f.store, &m->id, flush, &config, &m->handle);
    if (!work_accepts(w, rc, "create"))
        return;
    m->flush = flush;
    model_add(&w->model, m, MODEL_CREATE, 0);
}

int work_append(struct work *w, int log, int count, uint32_t value_size)
{
    struct model_log *m = &w->model.logs[log];
    uint64_t tag = ++w->tags;
    struct model_change *c;
    int32_t epoch;
    int rc;

    if (!m->handle)
        return 0;
    epoch = kl_batch_epochs_last(&m->handle->epochs);
    epoch = epoch < 0 ? 0 : epoch;
    rc = store_fixture_append(&w->f, m->handle, count, value_size, tag, epoch,
                              w->f.wall_ms);
    if (rc == KL_EAGAIN || !work_accepts(w, rc, "append"))
        return 0;
    c = model_add(&w->model, m, MODEL_APPEND, m->handle->leo);
    c->epoch = epoch;
    c->hash = model_hash(tag, count, value_size);
    return 1;
}

/* Where the log's frames begin; how many there are. */
static int work_bases(const struct model_log *m, int64_t *bases)
{
    int64_t leo = 0;
    int count = 0;

    for (int i = 0; i < m->count; i++) {
        const struct model_change *c = &m->changes[i];

        if (c->type == MODEL_CREATE || c->type == MODEL_RESET)
            count = 0, leo = c->offset;
        if (c->type == MODEL_APPEND)
            bases[count++] = leo, leo = c->offset;
        if (c->type == MODEL_TRUNCATE) {
            while (count > 0 && bases[count - 1] >= c->offset)
                count--;
            leo = c->offset;
        }
    }
    return count;
}

void work_truncate(struct work *w, int log, int frames)
{
    struct model_log *m = &w->model.logs[log];
    int64_t bases[MODEL_CHANGES], offset;
    int count = work_bases(m, bases);

    if (!m->handle)
        return;
    if (frames > count)
        frames = count;
    while (frames > 0 && bases[count - frames] < m->handle->start)
        frames--;
    if (frames == 0)
        return;
    offset = bases[count - frames];
    if (work_accepts(w, kl_store_truncate(m->handle, offset), "truncate"))
        model_add(&w->model, m, MODEL_TRUNCATE, offset);
}

void work_epoch(struct work *w, int log)
{
    struct model_log *m = &w->model.logs[log];
    int32_t epoch = ++w->model.epoch;

    if (m->handle &&
        work_accepts(w, kl_store_start_epoch(m->handle, epoch), "epoch"))
        model_add(&w->model, m, MODEL_EPOCH, m->handle->leo)->epoch = epoch;
}

void work_start(struct work *w, int log, int64_t by)
{
    struct model_log *m = &w->model.logs[log];
    int64_t start;

    if (!m->handle)
        return;
    start = m->handle->start + by;
    if (start > m->handle->durable_leo)
        start = m->handle->durable_leo;
    if (start <= m->handle->start)
        return;
    if (work_accepts(w, kl_store_set_start(m->handle, start), "start"))
        model_add(&w->model, m, MODEL_START, start);
}

void work_delete(struct work *w, int log)
{
    struct model_log *m = &w->model.logs[log];

    if (!m->handle || !work_accepts(w, kl_store_delete(m->handle), "delete"))
        return;
    m->handle = NULL;
    model_add(&w->model, m, MODEL_DELETE, 0);
}

void work_reset(struct work *w, int log, int64_t by)
{
    struct model_log *m = &w->model.logs[log];
    struct model_change *c;
    int64_t offset;
    int32_t epoch;

    if (!m->handle)
        return;
    offset = m->handle->start + by < 0 ? 0 : m->handle->start + by;
    epoch = offset == 0 ? -1 : ++w->model.epoch;
    if (!work_accepts(w, kl_store_reset(&m->handle, offset, epoch), "reset"))
        return;
    c = model_add(&w->model, m, MODEL_RESET, offset);
    c->epoch = epoch;
}

void work_adopt(struct work *w)
{
    if (w->f.store && w->model.cluster != MODEL_JOINED &&
        work_accepts(w, kl_store_adopt_cluster(w->f.store, &model_cluster_id),
                     "adopt"))
        w->model.cluster = MODEL_ADOPTING;
}

void work_checkpoint(struct work *w)
{
    if (w->f.store)
        kl_store_checkpoint_request(w->f.store);
}

void work_read(struct work *w, int log, int64_t from)
{
    struct kl_store_log *handle = w->model.logs[log].handle;
    struct kl_store_read read;
    int64_t found;
    int rc = 0;

    while (handle && rc == 0 && from < handle->durable_leo) {
        store_fixture_read(&w->f, handle, from, handle->durable_leo, 2000,
                           &read);
        rc = read.code;
        if (work_accepts(w, rc, "read"))
            ck_assert(read.slice_count > 0 && read.next_offset > from);
        else
            ck_assert_int_eq(read.slice_count, 0);
        from = read.next_offset;
        kl_store_read_release(&read);
    }
    if (!handle)
        return;
    rc = store_fixture_lookup(&w->f, handle, w->f.wall_ms - 30, INT64_MAX,
                              &found);
    if (rc != KL_EEND)
        work_accepts(w, rc, "look-up");
}
