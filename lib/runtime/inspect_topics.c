/*
 * The names of topics for the offline tools: the metadata log, read as far as
 * it can be had. Records that do not fit what is known are left out.
 */
#include "runtime/inspect_state.h"
#include "runtime/state.h"

/* How many voters the quorum has, where a record of its own says so. */
static int topics_control(struct kl_runtime_inspect *in,
                          const struct kl_batch_record *record)
{
    struct kl_wire_control control;
    struct kl_base_buf lists;
    int r;

    if (record->value_size < 2 ||
        kl_base_get_le16(record->value) != KL_WIRE_VOTERS_CONTROL)
        return 0;
    kl_base_buf_init(&lists, &in->alloc);
    r = kl_wire_control_decode(&control, record->value, record->value_size,
                               &lists, NULL);
    if (r == 0)
        in->voters = control.voters.voters.count;
    kl_base_buf_deinit(&lists);
    return r;
}

static int topics_record(struct kl_runtime_inspect *in, int is_control,
                         const struct kl_batch_record *record)
{
    if (is_control)
        return topics_control(in, record);
    return kl_controller_apply(in->topics, record->value, record->value_size,
                               NULL);
}

static int topics_frame(const struct kl_store_content_frame *f, void *user)
{
    struct kl_runtime_inspect *in = user;
    struct kl_batch_record record;
    struct kl_batch_iter it;
    int r;

    /* What a log that was cut at its start began with is not there. */
    if (in->topics_seen++ == 0 && f->info->base_offset > 0)
        in->topics_partial = 1;
    r = kl_batch_iter_init(&it, &in->alloc, f->data, f->info->frame_size,
                           KL_BATCH_SIZE_MAX);
    if (r == KL_ENOMEM)
        return r;
    while (r == 0 && (r = kl_batch_iter_next(&it, &record)) == 0) {
        r = topics_record(in, f->info->attributes & KL_BATCH_ATTR_CONTROL,
                          &record);
        if (r == KL_ENOMEM)
            break;
        in->topics_partial |= r != 0;
        r = 0;
    }
    in->topics_partial |= r != KL_EEND;
    kl_batch_iter_deinit(&it);
    kl_controller_delta_clear(in->topics);
    return r == KL_ENOMEM ? r : 0;
}

static int topics_lost(int64_t from, int64_t end,
                       enum kl_store_finding_kind why, void *user)
{
    struct kl_runtime_inspect *in = user;

    (void)from, (void)end, (void)why;
    in->topics_partial = 1;
    return 0;
}

int kl_runtime_inspect_topics(struct kl_runtime_inspect *in)
{
    static const struct kl_store_content_fns fns = {topics_frame, topics_lost};
    struct kl_controller_options options = {.check =
                                                kl_runtime_topic_config_check};
    struct kl_store_id id = {kl_store_metadata_topic, 0};
    struct kl_store_content *content = NULL;
    int r = kl_controller_new(&in->topics, &in->alloc, &options);

    if (r)
        return r;
    r = kl_store_content_new(&content, in->store, &id, &fns, in);
    if (r == 0)
        r = kl_store_content_run(content);
    kl_store_content_free(content);
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
