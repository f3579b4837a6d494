/*
 * The names of topics for the offline tools: the newest good snapshot of the
 * metadata and the log behind it, read as far as they can be had. Records that
 * do not fit what is known are left out.
 */
#include "runtime/inspect_state.h"
#include "runtime/state.h"

/* How many voters the quorum has, where a record of its own says so. */
static int topics_control(struct kl_runtime_inspect *in, const uint8_t *data,
                          size_t size)
{
    struct kl_wire_control control;
    struct kl_base_buf lists;
    int r;

    if (size < 2 || kl_base_get_le16(data) != KL_WIRE_VOTERS_CONTROL)
        return 0;
    kl_base_buf_init(&lists, &in->alloc);
    r = kl_wire_control_decode(&control, data, size, &lists, NULL);
    if (r == 0)
        in->voters = control.voters.voters.count;
    kl_base_buf_deinit(&lists);
    return r;
}

/* KL_ENOMEM, or what is wrong is noted. */
static int topics_record(struct kl_runtime_inspect *in, int is_control,
                         const uint8_t *data, size_t size)
{
    int r = is_control ? topics_control(in, data, size)
                       : kl_controller_apply(in->topics, data, size, NULL);

    if (r == KL_ENOMEM)
        return r;
    in->topics_partial |= r != 0;
    return 0;
}

/* ---- the snapshot -------------------------------------------------------- */

static int topics_image(struct kl_runtime_inspect *in,
                        const struct kl_base_buf *bytes)
{
    struct kl_wire_bytes record;
    struct kl_wire_snapshot s;
    size_t pos = 0;
    int r = kl_wire_snapshot_decode(&s, bytes->data, bytes->size, NULL);

    if (r)
        return r;
    r = topics_record(in, 1, s.voters.data, s.voters.size);
    while (r == 0 && kl_wire_snapshot_next(&s, &pos, &record))
        r = topics_record(in, 0, record.data, record.size);
    kl_controller_delta_clear(in->topics);
    return r;
}

/* Without one all of the log is needed. */
static int topics_snapshot(struct kl_runtime_inspect *in)
{
    struct kl_store_snapshot found;
    struct kl_base_buf bytes;
    int r;

    kl_base_buf_init(&bytes, &in->alloc);
    r = kl_store_inspect_snapshot(in->store, &found, &bytes);
    if (r == 0)
        r = topics_image(in, &bytes);
    if (r == 0)
        in->topics_from = found.end;
    kl_base_buf_deinit(&bytes);
    in->topics_partial |= r == KL_ECORRUPT;
    return r == KL_EEND || r == KL_ECORRUPT ? 0 : r;
}

/* ---- the log ------------------------------------------------------------- */

static int topics_frame(const struct kl_store_content_frame *f, void *user)
{
    struct kl_runtime_inspect *in = user;
    int is_control = f->info->attributes & KL_BATCH_ATTR_CONTROL;
    struct kl_batch_record record;
    struct kl_batch_iter it;
    int r;

    if (f->info->last_offset < in->topics_from)
        return 0;
    r = kl_batch_iter_init(&it, &in->alloc, f->data, f->info->frame_size,
                           KL_BATCH_SIZE_MAX);
    if (r == KL_ENOMEM)
        return r;
    while (r == 0 && (r = kl_batch_iter_next(&it, &record)) == 0)
        if (record.offset >= in->topics_from)
            r = topics_record(in, is_control, record.value, record.value_size);
    in->topics_partial |= r != KL_EEND;
    kl_batch_iter_deinit(&it);
    kl_controller_delta_clear(in->topics);
    return r == KL_ENOMEM ? r : 0;
}

static int topics_lost(int64_t from, int64_t end,
                       enum kl_store_finding_kind why, void *user)
{
    struct kl_runtime_inspect *in = user;

    (void)from, (void)why;
    in->topics_partial |= end > in->topics_from;
    return 0;
}

static int topics_log(struct kl_runtime_inspect *in)
{
    static const struct kl_store_content_fns fns = {topics_frame, topics_lost};
    struct kl_store_id id = {kl_store_metadata_topic, 0};
    struct kl_store_content *content;
    int r = kl_store_content_new(&content, in->store, &id, &fns, in);

    if (r)
        return r;
    /* What a log that was cut at its start began with is not there. */
    in->topics_partial |= kl_store_content_next(content) > in->topics_from;
    r = kl_store_content_run(content);
    kl_store_content_free(content);
    return r;
}

int kl_runtime_inspect_topics(struct kl_runtime_inspect *in)
{
    struct kl_controller_options options = {.check =
                                                kl_runtime_topic_config_check};
    int r = kl_controller_new(&in->topics, &in->alloc, &options);

    if (r == 0)
        r = topics_snapshot(in);
    if (r)
        return r;
    r = topics_log(in);
    if (r == 0 || r == KL_ENOMEM)
        return r;
    in->topics_partial = 1; /* then topics have no names */
    return 0;
}

const struct kl_controller_topic *
kl_runtime_inspect_topic(const struct kl_runtime_inspect *in,
                         const struct kl_base_uuid *id)
{
    return in->topics ? kl_controller_topic_find_id(in->topics, id) : NULL;
}
