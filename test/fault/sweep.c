/*
 * Running a scenario and noticing where the power may be cut.
 */
#include "sweep.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* A place where a cut is different from the last one. */
static void sweep_point(struct sweep *s, enum sim_disk_call call,
                        const char *path)
{
    model_note(&s->model);
    if (s->disk->version == s->seen_version &&
        s->model.durable == s->seen_durable)
        return;
    s->seen_version = s->disk->version;
    s->seen_durable = s->model.durable;
    s->call = call;
    snprintf(s->path, sizeof s->path, "%s", path);
    if (s->points++ % s->stride == 0 && !s->is_counting)
        sweep_images(s);
}

static void sweep_hook(void *user, enum sim_disk_call call, const char *path)
{
    sweep_point(user, call, path);
}

static void sweep_watch(struct sweep *s)
{
    s->disk->hook = sweep_hook;
    s->disk->hook_user = s;
    s->disk->lie_call = s->scenario->lie_call;
    s->disk->lie_part = s->scenario->lie_part;
}

static void sweep_once(struct sweep *s)
{
    struct store_fixture *f = &s->f;

    memset(&s->model, 0, sizeof s->model);
    kl_base_rng_seed(&s->rng, 42);
    kl_base_rng_seed(&s->work_rng, s->scenario->seed);
    s->tags = 0;
    s->points = 0;
    store_fixture_init(f);
    f->memory->ops->free(f->memory);
    s->disk = sim_disk_new(0);
    s->disk->has_split_renames = 1;
    f->memory = f->trace.inner = &s->disk->base;
    f->config.retention_check_ms = 20;
    for (int i = 0; i < MODEL_LOGS; i++)
        s->model.logs[i].id = store_fixture_id(i / 2, i);
    if (s->scenario->is_format) {
        /* The folder is the host's; what is in it is ours. */
        ck_assert_int_eq(s->disk->base.ops->mkdir(&s->disk->base, "data"), 0);
        sim_disk_settle(s->disk);
        sweep_watch(s);
    }
    sweep_open(s);
    sim_disk_settle(s->disk);
    sweep_watch(s);
    s->scenario->run(s);
    model_forget_handles(&s->model);
    s->disk->hook = NULL;
    store_fixture_deinit(f);
}

void sweep_run(struct sweep *s, const struct sweep_scenario *scenario)
{
    memset(s, 0, sizeof *s);
    s->scenario = scenario;
    s->is_counting = 1;
    s->stride = 1;
    sweep_once(s);
    s->is_counting = 0;
    s->stride = (s->points + scenario->points_max - 1) / scenario->points_max;
    if (s->stride == 0)
        s->stride = 1;
    sweep_once(s);
}

/* ---- for scenarios -------------------------------------------------------
 */

uint64_t sweep_random(struct sweep *s, uint64_t below)
{
    return kl_base_rng_below(&s->work_rng, below);
}

void sweep_open(struct sweep *s)
{
    struct model_log *log;

    ck_assert_msg(store_fixture_open(&s->f) == 0, "open: %s", s->f.error.text);
    s->model.is_formatted = 1;
    for (log = s->model.logs; log < s->model.logs + MODEL_LOGS; log++)
        log->handle = kl_store_find(s->f.store, &log->id);
}

void sweep_turn(struct sweep *s, int count)
{
    for (int i = 0; i < count; i++) {
        store_fixture_turn(&s->f);
        ck_assert_int_eq(kl_store_failure(s->f.store, NULL), 0);
        sweep_point(s, SIM_CALLS, "a turn");
    }
}

void sweep_stop(struct sweep *s)
{
    kl_store_stop(s->f.store);
    for (int i = 0; i < 1000 && !kl_store_is_stopped(s->f.store); i++)
        sweep_turn(s, 1);
    ck_assert(kl_store_is_stopped(s->f.store));
    model_note_all(&s->model);
    model_forget_handles(&s->model);
    sweep_point(s, SIM_CALLS, "stopped");
    store_fixture_crash(&s->f);
}

void sweep_create(struct sweep *s, int log, enum kl_store_flush flush,
                  uint64_t segment_bytes)
{
    struct model_log *m = &s->model.logs[log];
    struct kl_store_log_config config;

    m->flush = flush;
    m->handle = store_fixture_create(&s->f, &m->id, flush, segment_bytes);
    config = m->handle->config;
    config.flush_bytes =
        s->scenario->flush_bytes ? s->scenario->flush_bytes : -1;
    config.retention_bytes =
        s->scenario->retention_bytes ? s->scenario->retention_bytes : -1;
    kl_store_log_configure(m->handle, &config);
    model_add(&s->model, m, MODEL_CREATE, 0);
}

int sweep_append(struct sweep *s, int log, int count, uint32_t value_size)
{
    struct model_log *m = &s->model.logs[log];
    uint64_t tag = ++s->tags;
    int32_t epoch = kl_batch_epochs_last(&m->handle->epochs);
    struct model_change *c;
    int rc;

    epoch = epoch < 0 ? 0 : epoch;
    rc = store_fixture_append(&s->f, m->handle, count, value_size, tag, epoch,
                              s->f.wall_ms);
    if (rc == KL_EAGAIN)
        return 0;
    ck_assert_int_eq(rc, 0);
    c = model_add(&s->model, m, MODEL_APPEND, m->handle->leo);
    c->epoch = epoch;
    c->hash = model_hash(tag, count, value_size);
    return 1;
}

void sweep_truncate(struct sweep *s, int log, int frames)
{
    struct model_log *m = &s->model.logs[log];
    int64_t bases[MODEL_CHANGES], leo = 0;
    int count = 0;

    for (int i = 0; i < m->count; i++) {
        const struct model_change *c = &m->changes[i];

        if (c->type == MODEL_CREATE)
            count = 0, leo = 0;
        if (c->type == MODEL_APPEND)
            bases[count++] = leo, leo = c->offset;
        if (c->type == MODEL_TRUNCATE) {
            while (count > 0 && bases[count - 1] >= c->offset)
                count--;
            leo = c->offset;
        }
    }
    if (frames > count)
        frames = count;
    while (frames > 0 && bases[count - frames] < m->handle->start)
        frames--;
    if (frames == 0)
        return;
    ck_assert_int_eq(kl_store_truncate(m->handle, bases[count - frames]), 0);
    model_add(&s->model, m, MODEL_TRUNCATE, bases[count - frames]);
}

void sweep_epoch(struct sweep *s, int log)
{
    struct model_log *m = &s->model.logs[log];

    s->model.epoch++;
    ck_assert_int_eq(kl_store_start_epoch(m->handle, s->model.epoch), 0);
    model_add(&s->model, m, MODEL_EPOCH, m->handle->leo)->epoch =
        s->model.epoch;
}

void sweep_start(struct sweep *s, int log, int64_t start)
{
    struct model_log *m = &s->model.logs[log];

    if (start > m->handle->durable_leo)
        start = m->handle->durable_leo;
    if (start <= m->handle->start)
        return;
    ck_assert_int_eq(kl_store_set_start(m->handle, start), 0);
    model_add(&s->model, m, MODEL_START, start);
}

void sweep_delete(struct sweep *s, int log)
{
    struct model_log *m = &s->model.logs[log];

    ck_assert_int_eq(kl_store_delete(m->handle), 0);
    m->handle = NULL;
    model_add(&s->model, m, MODEL_DELETE, 0);
}
