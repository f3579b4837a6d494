/*
 * Saving what is good in a folder to a new one: the content of each log, as far
 * as it can be had (content.c), is written there (build.c).
 */
#include "store/build.h"
#include "store/content.h"

#include <string.h>

struct kl_store_salvage
{
    struct kl_store_inspect *in;
    struct kl_store_build *build;
    struct kl_store_log *log; /* under way */
    struct kl_store_content *content;
    kl_store_salvage_lost_fn lost;
    void *user;
    struct kl_store_salvage_log done;
};

/* ---- the new folder --------------------------------------------------------
 */

/* Above all that was ever given out in the old folder, as far as it shows. */
static uint64_t salvage_sequence(struct kl_store_inspect *in)
{
    struct kl_store_ring *ring = &in->recovery.ring;
    struct kl_store_group_header h;
    struct kl_store_log *log = NULL;
    uint64_t newest = 0;

    for (int i = 0; i < 2; i++)
        if (in->slot_codes[i] == 0 && in->slots[i].position.sequence > newest)
            newest = in->slots[i].position.sequence;
    while ((log = kl_store_next(in->store, log)))
        if (log->instance >> 16 > newest)
            newest = log->instance >> 16;
    for (uint32_t file = 0; file < ring->file_count; file++)
        for (uint64_t at = 0; at < ring->file_size; at += KL_STORE_BLOCK)
            if (kl_store_ring_load(ring, file, at, &h) == 0 &&
                h.sequence > newest)
                newest = h.sequence;
    return newest + 2 * (ring->file_size / KL_STORE_BLOCK + 1);
}

int kl_store_salvage_new(struct kl_store_salvage **out,
                         struct kl_store_inspect *in,
                         const struct kl_store_salvage_config *config,
                         struct kl_base_error *error)
{
    struct kl_store_salvage *s = kl_base_calloc(&in->alloc, sizeof *s);
    struct kl_store_config made = {.path = config->path,
                                   .ring_bytes = in->store->wal.file_count *
                                                 in->store->wal.file_size,
                                   .seed = config->seed,
                                   .format = config->identity};
    int rc;

    if (!s)
        return KL_ENOMEM;
    s->in = in;
    if (in->identity_code == 0) {
        made.format.node_id = in->store->identity.node_id;
        if (!kl_base_uuid_is_zero(&in->store->identity.cluster_id))
            made.format.cluster_id = in->store->identity.cluster_id;
    }
    rc =
        kl_store_build_new(&s->build, &in->alloc, in->vfs, config->lanes, &made,
                           salvage_sequence(in), config->wall_ms, error);
    if (rc) {
        kl_store_salvage_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void kl_store_salvage_free(struct kl_store_salvage *s)
{
    const struct kl_base_alloc *alloc;

    if (!s)
        return;
    alloc = &s->in->alloc;
    kl_store_content_free(s->content);
    kl_store_build_free(s->build);
    kl_base_free(alloc, s, sizeof *s);
}

int kl_store_salvage_finish(struct kl_store_salvage *s,
                            struct kl_base_error *error)
{
    return kl_store_build_finish(s->build, error);
}

/* ---- logs ---------------------------------------------------------------- */

const struct kl_store_id *
kl_store_salvage_next(struct kl_store_salvage *s,
                      const struct kl_store_id *previous)
{
    struct kl_store_log *log =
        previous ? kl_store_find(s->in->store, previous) : NULL;

    log = kl_store_next(s->in->store, log);
    return log ? &log->id : NULL;
}

static int salvage_frame(const struct kl_store_content_frame *f, void *user)
{
    struct kl_store_salvage *s = user;
    int rc = kl_store_build_frame(s->build, f->data, f->info, f->first_ms,
                                  f->last_ms);

    if (rc)
        return rc;
    if (f->info->leader_epoch > s->done.epoch)
        s->done.epoch = f->info->leader_epoch;
    s->done.batches++;
    s->done.records += (uint64_t)f->info->record_count;
    s->done.bytes += f->info->frame_size;
    s->done.end = f->info->last_offset + 1;
    return 0;
}

static int salvage_lost(int64_t from, int64_t end,
                        enum kl_store_finding_kind why, void *user)
{
    struct kl_store_salvage *s = user;

    s->done.lost += (uint64_t)(end - from);
    s->done.end = end;
    return s->lost ? s->lost(from, end, why, s->user) : 0;
}

int kl_store_salvage_begin(struct kl_store_salvage *s,
                           const struct kl_store_id *id,
                           enum kl_store_flush flush, uint64_t segment_bytes,
                           kl_store_salvage_lost_fn lost, void *user)
{
    static const struct kl_store_content_fns fns = {salvage_frame,
                                                    salvage_lost};
    struct kl_store_build_log made = {
        .id = *id, .flush = flush, .segment_bytes = segment_bytes};
    int rc = kl_store_content_new(&s->content, s->in, id, &fns, s);

    if (rc)
        return rc;
    s->log = s->content->log;
    s->lost = lost;
    s->user = user;
    if (s->in->newest >= 0) {
        made.flush = (enum kl_store_flush)s->log->flush;
        made.epochs = &s->log->epochs;
    }
    made.instance = s->log->instance;
    made.truncation = s->log->truncation;
    made.start = s->content->next;
    s->done = (struct kl_store_salvage_log){.id = *id,
                                            .flush = made.flush,
                                            .start = made.start,
                                            .end = made.start,
                                            .epoch = -1};
    return kl_store_build_log_begin(s->build, &made);
}

int kl_store_salvage_run(struct kl_store_salvage *s,
                         struct kl_store_salvage_log *out)
{
    int rc = kl_store_content_run(s->content);

    if (rc == KL_EAGAIN)
        return rc;
    if (rc == 0)
        rc = kl_store_build_log_end(s->build, s->done.end);
    kl_store_content_free(s->content);
    s->content = NULL;
    *out = s->done;
    return rc;
}

int kl_store_salvage_write(struct kl_store_salvage *s,
                           const struct kl_store_id *id, const void *frames,
                           size_t size)
{
    struct kl_store_log *old = kl_store_find(s->in->store, id);
    struct kl_store_build_log made = {.id = *id,
                                      .flush = KL_STORE_FLUSH_COMMIT,
                                      .instance = old ? old->instance : 1,
                                      .segment_bytes = 64 << 20};
    uint64_t seed = kl_batch_seed(&id->topic_id, id->partition);
    struct kl_batch_info info = {.last_offset = -1};
    const uint8_t *p = frames;
    int rc = kl_store_build_log_begin(s->build, &made);

    for (size_t at = 0; rc == 0 && at < size; at += info.frame_size) {
        rc = kl_batch_frame_verify(p + at, size - at, seed, &info);
        if (rc == 0)
            rc = kl_store_build_frame(s->build, p + at, &info, 0, 0);
    }
    return rc ? rc : kl_store_build_log_end(s->build, info.last_offset + 1);
}

/* ---- what is saved ---------------------------------------------------------
 */

int kl_store_inspect_is_guess(const struct kl_store_inspect *in)
{
    return in->newest < 0;
}

const struct kl_store_identity *
kl_store_inspect_identity(const struct kl_store_inspect *in)
{
    return in->identity_code ? NULL : &in->store->identity;
}

int kl_store_inspect_is_suspect(struct kl_store_inspect *in,
                                const struct kl_store_id *id)
{
    const struct kl_store_log *log = kl_store_find(in->store, id);

    return log && log->suspect;
}
