/*
 * Saving what is good in a folder to a new one, log after log. The metadata log
 * says which topics there are. Where it is damaged it is written anew: what
 * could be read of it, and for logs that it does not know any more topics that
 * are called as their identifiers.
 */
#include "runtime/inspect_state.h"
#include "runtime/state.h"

#include "base/rng.h"
#include "os/entropy.h"

#include <string.h>

enum { SALVAGE_BATCH_BYTES = 512 * 1024, SALVAGE_SEGMENT_BYTES = 64 << 20 };

enum salvage_stage {
    SALVAGE_BEGIN,
    SALVAGE_LOGS,
    SALVAGE_LOG, /* one is under way */
    SALVAGE_METADATA,
    SALVAGE_FINISH,
    SALVAGE_DONE
};

static const struct kl_store_id salvage_metadata = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, 0};

static int salvage_is_metadata(const struct kl_store_id *id)
{
    return kl_base_uuid_equal(&id->topic_id, &salvage_metadata.topic_id);
}

/* ---- the metadata anew ------------------------------------------------------
 */

static int salvage_apply(struct kl_runtime_inspect *in,
                         const struct kl_wire_record *record)
{
    struct kl_base_buf buf;
    int r;

    kl_base_buf_init(&buf, &in->alloc);
    r = kl_wire_record_encode(record, &buf, &in->error);
    if (r == 0)
        r = kl_controller_apply(in->topics, buf.data, buf.size, &in->error);
    kl_base_buf_deinit(&buf);
    kl_controller_delta_clear(in->topics);
    return r;
}

/* The topic that a log belongs to, which is made where it is not known. */
static int salvage_topic(struct kl_runtime_inspect *in,
                         const struct kl_store_salvage_log *log)
{
    struct kl_wire_record topic = {.type = KL_WIRE_TOPIC_RECORD};
    struct kl_wire_record flush = {.type = KL_WIRE_CONFIG_RECORD};
    char name[KL_BASE_UUID_TEXT + 1];
    int r;

    if (kl_runtime_inspect_topic(in, &log->id.topic_id))
        return 0;
    kl_base_uuid_format(&log->id.topic_id, name);
    topic.topic.name = (struct kl_wire_text){name, KL_BASE_UUID_TEXT};
    topic.topic.topic_id = log->id.topic_id;
    r = salvage_apply(in, &topic);
    if (r || log->flush == KL_STORE_FLUSH_COMMIT)
        return r;
    flush.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    flush.config.resource_name = topic.topic.name;
    flush.config.key = (struct kl_wire_text){
        KL_CONTROLLER_FLUSH_KEY, sizeof KL_CONTROLLER_FLUSH_KEY - 1};
    flush.config.value = (struct kl_wire_text){
        KL_CONTROLLER_FLUSH_INTERVAL, sizeof KL_CONTROLLER_FLUSH_INTERVAL - 1};
    return salvage_apply(in, &flush);
}

/* This node leads the partition, under an epoch that its log allows. */
static int salvage_partition(struct kl_runtime_inspect *in,
                             const struct kl_controller_topic *topic,
                             int32_t partition, int32_t epoch)
{
    const struct kl_controller_partition *old =
        kl_controller_partition_at(topic, partition);
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    uint8_t node[4];

    if (epoch < 0)
        epoch = 0;
    if (old && old->leader_epoch >= epoch)
        return 0;
    kl_base_put_le32(node, (uint32_t)in->node_id);
    r.partition.topic_id = topic->id;
    r.partition.partition = partition;
    r.partition.replicas = (struct kl_wire_i32s){node, 1};
    r.partition.isr = (struct kl_wire_i32s){node, 1};
    r.partition.last_known_leader = -1;
    r.partition.leader = in->node_id;
    r.partition.leader_epoch = epoch;
    r.partition.partition_epoch = old ? old->partition_epoch + 1 : 0;
    return salvage_apply(in, &r);
}

/* A log was saved: the metadata is to know it. */
static int salvage_know(struct kl_runtime_inspect *in,
                        const struct kl_store_salvage_log *log)
{
    const struct kl_controller_topic *topic;
    int r = salvage_topic(in, log);

    topic = kl_runtime_inspect_topic(in, &log->id.topic_id);
    for (int32_t i = topic ? topic->partition_count : 0;
         r == 0 && i < log->id.partition; i++)
        r = salvage_partition(in, topic, i, 0);
    return r ? r : salvage_partition(in, topic, log->id.partition, log->epoch);
}

static int salvage_bootstrap(struct kl_runtime_inspect *in)
{
    struct kl_controller_records records;
    const uint8_t *data;
    size_t size, pos = 0;
    int r;

    kl_controller_records_init(&records, &in->alloc);
    r = kl_controller_bootstrap(in->topics, &records, &in->error);
    while (r == 0 && kl_controller_records_next(&records, &pos, &data, &size))
        r = kl_controller_apply(in->topics, data, size, &in->error);
    kl_controller_records_deinit(&records);
    kl_controller_delta_clear(in->topics);
    return r;
}

/* Closes the batch into frames, at the offsets behind those before. */
static int salvage_seal(struct kl_runtime_inspect *in,
                        struct kl_batch_builder *builder, int64_t *offset,
                        struct kl_base_buf *frames)
{
    uint64_t seed = kl_batch_seed(&salvage_metadata.topic_id, 0);
    struct kl_base_chunk *chunk;
    int32_t count = builder->record_count;
    int r = count ? kl_batch_builder_finish(builder, seed, 0, &chunk) : KL_EEND;

    (void)in;
    if (r)
        return r == KL_EEND ? 0 : r;
    kl_batch_frame_stamp(chunk->data, seed, *offset, 0);
    *offset += count;
    kl_base_buf_append(frames, chunk->data, chunk->size);
    kl_base_chunk_unref(chunk);
    return frames->error;
}

/* The image as frames of a metadata log. */
static int salvage_encode(struct kl_runtime_inspect *in,
                          struct kl_base_buf *frames,
                          struct kl_store_salvage_log *out)
{
    struct kl_controller_records records;
    struct kl_batch_builder builder;
    struct kl_batch_input input = {.timestamp = in->wall_ms};
    const uint8_t *data;
    int64_t offset = 0;
    size_t size, pos = 0;
    int r;

    kl_controller_records_init(&records, &in->alloc);
    kl_batch_builder_init(&builder, &in->alloc);
    r = kl_controller_encode(in->topics, &records);
    while (r == 0 && kl_controller_records_next(&records, &pos, &data, &size)) {
        input.value = data;
        input.value_size = (uint32_t)size;
        r = kl_batch_builder_append(&builder, SALVAGE_BATCH_BYTES, 4096,
                                    &input);
        if (r == KL_EAGAIN)
            r = salvage_seal(in, &builder, &offset, frames);
        else
            continue;
        if (r == 0)
            r = kl_batch_builder_append(&builder, SALVAGE_BATCH_BYTES, 4096,
                                        &input);
    }
    if (r == 0)
        r = salvage_seal(in, &builder, &offset, frames);
    kl_batch_builder_deinit(&builder);
    kl_controller_records_deinit(&records);
    out->end = offset;
    out->records = (uint64_t)offset;
    return r;
}

static int salvage_saved(struct kl_runtime_inspect *in,
                         const struct kl_store_salvage_log *log)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "saved");
    struct kl_base_buf text;

    kl_runtime_inspect_put_log(in, item, &log->id);
    kl_runtime_item_put(item, "start", log->start);
    kl_runtime_item_put(item, "end", log->end);
    kl_runtime_item_put(item, "batches", (int64_t)log->batches);
    kl_runtime_item_put(item, "records", (int64_t)log->records);
    kl_runtime_item_put(item, "bytes", (int64_t)log->bytes);
    kl_runtime_item_put(item, "lost", (int64_t)log->lost);
    kl_base_buf_init(&text, &in->alloc);
    kl_base_buf_printf(&text, "saved: ");
    kl_runtime_inspect_print_log(in, &text, &log->id);
    kl_base_buf_printf(&text, ": %llu records",
                       (unsigned long long)log->records);
    if (log->end > log->start) {
        kl_base_buf_printf(&text, ", ");
        kl_runtime_inspect_print_range(&text, log->start, log->end);
    }
    in->saved_logs++;
    in->saved_records += log->records;
    in->lost_offsets += log->lost;
    return kl_runtime_inspect_finish(item, &text);
}

/* Which part of the metadata is lost does not matter: it is not a log to be
 * read, but what all its records add up to. */
static int salvage_put_names(struct kl_runtime_inspect *in)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "lost");

    kl_runtime_inspect_put_log(in, item, &salvage_metadata);
    kl_runtime_item_put(item, "from", 0);
    kl_runtime_item_put(item, "end", -1);
    kl_runtime_item_text(item, "kind",
                         kl_store_finding_name(KL_STORE_FINDING_GAP));
    kl_runtime_item_text(item, "text",
                         "lost: a part of the metadata log: topics that it "
                         "does not know any more are called as their "
                         "identifiers");
    in->lost_ranges++;
    return kl_runtime_item_end(item);
}

static int salvage_metadata_step(struct kl_runtime_inspect *in)
{
    struct kl_store_salvage_log log = {.id = salvage_metadata};
    struct kl_base_buf frames;
    int r = 0;

    in->stage = SALVAGE_FINISH;
    kl_base_buf_init(&frames, &in->alloc);
    if (in->topics_partial)
        r = salvage_bootstrap(in);
    if (r == 0)
        r = salvage_encode(in, &frames, &log);
    if (r == 0)
        r = kl_store_salvage_write(in->salvage, &salvage_metadata, frames.data,
                                   frames.size);
    log.bytes = frames.size;
    kl_base_buf_deinit(&frames);
    if (r == 0 && in->topics_partial)
        r = salvage_put_names(in);
    return r ? r : salvage_saved(in, &log);
}

/* ---- logs ---------------------------------------------------------------- */

static int salvage_put_lost(int64_t from, int64_t end,
                            enum kl_store_finding_kind why, void *user)
{
    struct kl_runtime_inspect *in = user;
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "lost");
    struct kl_base_buf text;
    int r;

    kl_runtime_inspect_put_log(in, item, &in->log_id);
    kl_runtime_item_put(item, "from", from);
    kl_runtime_item_put(item, "end", end);
    kl_runtime_item_text(item, "kind", kl_store_finding_name(why));
    kl_base_buf_init(&text, &in->alloc);
    kl_base_buf_printf(&text, "lost: ");
    kl_runtime_inspect_print_log(in, &text, &in->log_id);
    kl_base_buf_printf(&text, ", ");
    kl_runtime_inspect_print_range(&text, from, end);
    kl_base_buf_printf(&text, ": %s", kl_store_finding_text(why));
    in->lost_ranges++;
    r = kl_runtime_inspect_finish(item, &text);
    return r == 0 && kl_runtime_inspect_is_full(in) ? KL_EAGAIN : r;
}

static int salvage_skip(struct kl_runtime_inspect *in)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "skipped");
    struct kl_base_buf text;

    kl_runtime_inspect_put_log(in, item, &in->log_id);
    kl_base_buf_init(&text, &in->alloc);
    kl_base_buf_printf(&text, "skipped: ");
    kl_runtime_inspect_print_log(in, &text, &in->log_id);
    kl_base_buf_printf(&text, ": the topic was deleted");
    return kl_runtime_inspect_finish(item, &text);
}

/* What the topic's configuration says, where there is one. */
static void salvage_config(struct kl_runtime_inspect *in,
                           enum kl_store_flush *flush, uint64_t *segment_bytes)
{
    const struct kl_controller_topic *topic =
        kl_runtime_inspect_topic(in, &in->log_id.topic_id);
    struct kl_base_config config;

    *flush = KL_STORE_FLUSH_COMMIT;
    *segment_bytes = SALVAGE_SEGMENT_BYTES;
    if (!topic)
        return;
    kl_runtime_topic_config(topic, &config);
    *segment_bytes =
        (uint64_t)kl_base_config_value(&config, KL_BASE_CONFIG_SEGMENT_BYTES);
    if (kl_base_config_value(&config, KL_BASE_CONFIG_FLUSH) !=
        KL_BASE_FLUSH_COMMIT)
        *flush = KL_STORE_FLUSH_INTERVAL;
}

/* Whole metadata knows all logs; what it does not know was deleted, and only
 * the folder is still there. */
static int salvage_is_deleted(const struct kl_runtime_inspect *in)
{
    const struct kl_controller_topic *topic =
        kl_runtime_inspect_topic(in, &in->log_id.topic_id);

    return !in->topics_partial &&
           (!topic || in->log_id.partition >= topic->partition_count);
}

static int salvage_next_log(struct kl_runtime_inspect *in)
{
    const struct kl_store_id *next =
        kl_store_salvage_next(in->salvage, in->has_log ? &in->log_id : NULL);
    enum kl_store_flush flush;
    uint64_t segment_bytes;
    int r;

    if (!next) {
        in->stage = SALVAGE_METADATA;
        return 0;
    }
    in->log_id = *next;
    in->has_log = 1;
    if (salvage_is_metadata(&in->log_id))
        return 0; /* it is written anew in the end, for a quorum of one */
    if (salvage_is_deleted(in))
        return salvage_skip(in);
    salvage_config(in, &flush, &segment_bytes);
    r = kl_store_salvage_begin(in->salvage, &in->log_id, flush, segment_bytes,
                               salvage_put_lost, in);
    in->stage = SALVAGE_LOG;
    return r;
}

static int salvage_log_step(struct kl_runtime_inspect *in)
{
    struct kl_store_salvage_log log;
    int r = kl_store_salvage_run(in->salvage, &log);

    if (r == KL_EAGAIN)
        return 0;
    if (r)
        return r;
    in->stage = SALVAGE_LOGS;
    if (kl_store_inspect_is_suspect(in->store, &log.id))
        r = salvage_put_lost(log.end, -1, KL_STORE_FINDING_SUSPECT, in);
    if (r == KL_EAGAIN)
        r = 0; /* there is room for some more */
    if (r == 0)
        r = salvage_saved(in, &log);
    if (r == 0 && in->topics_partial)
        r = salvage_know(in, &log);
    return r;
}

/* ---- the task ------------------------------------------------------------ */

static int salvage_begin_step(struct kl_runtime_inspect *in)
{
    in->stage = SALVAGE_LOGS;
    if (!kl_store_inspect_identity(in->store)) {
        int r =
            kl_runtime_inspect_note(in, "the identity is lost: the new folder "
                                        "belongs to a cluster of its own");

        if (r)
            return r;
    }
    if (!kl_store_inspect_is_guess(in->store))
        return 0;
    return kl_runtime_inspect_note(
        in, "both checkpoints are lost: where logs begin and "
            "end is taken from what was found of them");
}

static int salvage_finish_step(struct kl_runtime_inspect *in)
{
    struct kl_runtime_item *item;
    struct kl_base_buf text;
    int r = kl_store_salvage_finish(in->salvage, &in->error);

    if (r)
        return r;
    in->stage = SALVAGE_DONE;
    item = kl_runtime_inspect_add(in, "summary");
    kl_runtime_item_put(item, "logs", (int64_t)in->saved_logs);
    kl_runtime_item_put(item, "records", (int64_t)in->saved_records);
    kl_runtime_item_put(item, "lost_ranges", (int64_t)in->lost_ranges);
    kl_runtime_item_put(item, "lost_offsets", (int64_t)in->lost_offsets);
    kl_base_buf_init(&text, &in->alloc);
    kl_base_buf_printf(&text, "%llu logs, %llu records saved",
                       (unsigned long long)in->saved_logs,
                       (unsigned long long)in->saved_records);
    if (in->lost_ranges)
        kl_base_buf_printf(&text, ", %llu ranges of %llu offsets lost",
                           (unsigned long long)in->lost_ranges,
                           (unsigned long long)in->lost_offsets);
    else
        kl_base_buf_printf(&text, ", nothing lost");
    return kl_runtime_inspect_finish(item, &text);
}

static int salvage_step(struct kl_runtime_inspect *in)
{
    switch ((enum salvage_stage)in->stage) {
    case SALVAGE_BEGIN:
        return salvage_begin_step(in);
    case SALVAGE_LOGS:
        return salvage_next_log(in);
    case SALVAGE_LOG:
        return salvage_log_step(in);
    case SALVAGE_METADATA:
        return salvage_metadata_step(in);
    case SALVAGE_FINISH:
        return salvage_finish_step(in);
    case SALVAGE_DONE:
        break;
    }
    return KL_EEND;
}

/* Whoever does not know who he was becomes somebody new. */
static int salvage_prepare(struct kl_runtime_inspect *in, const char *new_dir)
{
    struct kl_store_salvage_config config = {.path = new_dir};
    const struct kl_store_identity *known =
        kl_store_inspect_identity(in->store);
    struct kl_base_rng rng;
    uint64_t seed;
    int r = kl_os_lanes_inline_new(&in->lanes, &in->alloc);

    if (r)
        return r;
    if (kl_os_entropy(&seed, sizeof seed))
        return kl_base_error_set(&in->error, KL_EIO,
                                 "no random bytes to be had");
    kl_base_rng_seed(&rng, seed);
    config.identity.cluster_id = kl_base_uuid_random(&rng);
    config.identity.directory_id = kl_base_uuid_random(&rng);
    config.identity.node_id = 1;
    config.seed = kl_base_rng_next(&rng);
    config.lanes = in->lanes;
    config.wall_ms = kl_os_clock_posix.wall_ms(kl_os_clock_posix.user);
    in->node_id = known ? known->node_id : config.identity.node_id;
    in->wall_ms = config.wall_ms;
    return kl_store_salvage_new(&in->salvage, in->store, &config, &in->error);
}

int kl_runtime_inspect_salvage(struct kl_runtime_inspect *in, const char *dir,
                               const char *new_dir, uint32_t flags)
{
    int r = kl_runtime_inspect_begin(in, dir, flags, salvage_step);

    if (r)
        return r;
    r = salvage_prepare(in, new_dir);
    return r ? kl_runtime_inspect_fail(in, r) : 0;
}
