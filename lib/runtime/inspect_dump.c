/*
 * What is written where, as items.
 */
#include "runtime/inspect_state.h"

#include <string.h>

/* ---- what the store tells -------------------------------------------------
 */

static int dump_put_identity(struct kl_runtime_inspect *in,
                             const struct kl_store_identity *id)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "store");

    kl_runtime_item_put(item, "node_id", id->node_id);
    kl_runtime_item_id(item, "cluster_id", &id->cluster_id);
    kl_runtime_item_id(item, "directory_id", &id->directory_id);
    if (id->flags)
        kl_runtime_item_put(item, "joins", 1);
    return kl_runtime_item_end(item);
}

static int dump_put_slot(struct kl_runtime_inspect *in,
                         const struct kl_store_dump_slot *s)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "checkpoint");

    kl_runtime_item_text(item, "file", s->name);
    kl_runtime_item_text(item, "state",
                         s->code ? kl_base_error_lookup(s->code)->name
                                 : (s->is_clean ? "clean" : "open"));
    if (s->code)
        return kl_runtime_item_end(item);
    kl_runtime_item_put(item, "newest", s->is_newest);
    kl_runtime_item_put(item, "generation", (int64_t)s->generation);
    kl_runtime_item_put(item, "logs", s->log_count);
    kl_runtime_item_put(item, "sequence", (int64_t)s->sequence);
    kl_runtime_item_put(item, "lap", (int64_t)s->lap);
    kl_runtime_item_put(item, "wal", s->file);
    kl_runtime_item_put(item, "position", s->offset);
    kl_runtime_item_put(item, "wal_files", s->file_count);
    kl_runtime_item_put(item, "wal_file_size", (int64_t)s->file_size);
    return kl_runtime_item_end(item);
}

static void dump_put_epochs(struct kl_runtime_item *item,
                            const struct kl_batch_epochs *epochs,
                            const struct kl_base_alloc *alloc)
{
    struct kl_base_buf text;

    kl_base_buf_init(&text, alloc);
    for (uint32_t i = 0; i < epochs->count; i++)
        kl_base_buf_printf(&text, "%s%d@%lld", i ? "," : "",
                           (int)epochs->items[i].epoch,
                           (long long)epochs->items[i].start);
    kl_runtime_item_bytes(item, "epochs", text.size ? text.data : (void *)"",
                          text.size);
    if (text.error)
        item->data.error = text.error;
    kl_base_buf_deinit(&text);
}

static int dump_put_log(struct kl_runtime_inspect *in,
                        const struct kl_store_dump_log *log)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "log");

    kl_runtime_inspect_put_log(in, item, &log->id);
    kl_runtime_item_put(item, "instance", (int64_t)log->instance);
    if (log->epochs) {
        kl_runtime_item_text(item, "flush",
                             log->flush == KL_STORE_FLUSH_COMMIT ? "commit"
                                                                 : "interval");
        kl_runtime_item_put(item, "start", log->start);
        kl_runtime_item_put(item, "end", log->leo);
        kl_runtime_item_put(item, "truncations", log->truncation);
        kl_runtime_item_put(item, "suspect", log->is_suspect);
        dump_put_epochs(item, log->epochs, &in->alloc);
    }
    return kl_runtime_item_end(item);
}

static int dump_put_segment(struct kl_runtime_inspect *in,
                            const struct kl_store_dump_segment *s)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "segment");

    kl_runtime_inspect_put_log(in, item, &s->id);
    kl_runtime_item_put(item, "instance", (int64_t)s->instance);
    kl_runtime_item_put(item, "base", s->base);
    kl_runtime_item_put(item, "end", s->end);
    kl_runtime_item_put(item, "size", (int64_t)s->size);
    kl_runtime_item_put(item, "max_timestamp", s->max_timestamp);
    kl_runtime_item_put(item, "first_ms", s->first_ms);
    kl_runtime_item_put(item, "last_ms", s->last_ms);
    kl_runtime_item_put(item, "truncations", s->truncation);
    return kl_runtime_item_end(item);
}

static int dump_put_group(struct kl_runtime_inspect *in,
                          const struct kl_store_dump_group *g)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "group");

    kl_runtime_item_put(item, "wal", g->file);
    kl_runtime_item_put(item, "position", g->offset);
    kl_runtime_item_put(item, "size", g->size);
    kl_runtime_item_put(item, "sequence", (int64_t)g->sequence);
    kl_runtime_item_put(item, "lap", (int64_t)g->lap);
    kl_runtime_item_text(item, "kind", g->is_seal ? "seal" : "data");
    kl_runtime_item_put(item, "entries", g->entry_count);
    kl_runtime_item_put(item, "needed", g->is_needed);
    return kl_runtime_item_end(item);
}

static int dump_put_entry(struct kl_runtime_inspect *in,
                          const struct kl_store_dump_entry *e)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "entry");

    kl_runtime_item_text(item, "kind", e->type);
    kl_runtime_inspect_put_log(in, item, &e->id);
    kl_runtime_item_put(item, "instance", (int64_t)e->instance);
    kl_runtime_item_put(item, "truncations", e->truncation);
    kl_runtime_item_put(item, "offset", e->offset);
    kl_runtime_item_put(item, "end", e->end);
    kl_runtime_item_put(item, "epoch", e->epoch);
    kl_runtime_item_put(item, "size", e->size);
    if (e->is_bad)
        kl_runtime_item_text(item, "state",
                             kl_base_error_lookup(KL_ECORRUPT)->name);
    return kl_runtime_item_end(item);
}

static int dump_put_lost(struct kl_runtime_inspect *in,
                         const struct kl_store_dump_event *e)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "lost");

    kl_runtime_item_put(item, "from", e->lost.from);
    kl_runtime_item_put(item, "end", e->lost.end);
    kl_runtime_item_text(item, "kind", kl_store_finding_name(e->lost.why));
    return kl_runtime_item_end(item);
}

/* ---- batches and records ----------------------------------------------------
 */

static const char *dump_codec(int16_t attributes)
{
    static const char *const names[] = {"none", "gzip", "snappy", "lz4",
                                        "zstd", "5",    "6",      "7"};

    return names[attributes & KL_BATCH_ATTR_CODEC];
}

static int dump_put_batch(struct kl_runtime_inspect *in,
                          const struct kl_store_content_frame *f)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "batch");
    const struct kl_batch_info *info = f->info;

    kl_runtime_item_put(item, "offset", info->base_offset);
    kl_runtime_item_put(item, "end", info->last_offset + 1);
    kl_runtime_item_put(item, "epoch", info->leader_epoch);
    kl_runtime_item_put(item, "records", info->record_count);
    kl_runtime_item_put(item, "size", info->frame_size);
    kl_runtime_item_text(item, "codec", dump_codec(info->attributes));
    kl_runtime_item_put(item, "timestamp", info->base_timestamp);
    kl_runtime_item_put(item, "max_timestamp", info->max_timestamp);
    if (f->segment >= 0)
        kl_runtime_item_put(item, "segment", f->segment);
    else if (f->wal_file >= 0)
        kl_runtime_item_put(item, "wal", f->wal_file);
    else
        kl_runtime_item_text(item, "from", "quarantine");
    kl_runtime_item_put(item, "position", (int64_t)f->position);
    return kl_runtime_item_end(item);
}

/* A batch may have more records than items are kept: it is copied, and they are
 * told before the run goes on. */
static int dump_keep_frame(struct kl_runtime_inspect *in,
                           const struct kl_store_content_frame *f)
{
    int r;

    kl_base_buf_clear(&in->frame);
    kl_base_buf_append(&in->frame, f->data, f->info->frame_size);
    if (in->frame.error)
        return in->frame.error;
    r = kl_batch_iter_init(&in->records, &in->alloc, in->frame.data,
                           in->frame.size, KL_BATCH_SIZE_MAX);
    in->has_records = r == 0;
    return r == KL_ENOMEM ? r : 0;
}

static int dump_put_frame(struct kl_runtime_inspect *in,
                          const struct kl_store_content_frame *f)
{
    int r;

    if (in->has_records)
        return KL_EAGAIN;
    if (in->flags & KL_RUNTIME_INSPECT_RECORDS) {
        r = dump_keep_frame(in, f);
        if (r)
            return r;
    }
    return dump_put_batch(in, f);
}

static void dump_put_headers(struct kl_runtime_item *item,
                             const struct kl_batch_record *record)
{
    struct kl_batch_header header;
    struct kl_base_buf text;

    kl_base_buf_init(&text, item->data.alloc);
    for (uint32_t i = 0; kl_batch_record_header(record, i, &header) == 0; i++) {
        if (i)
            kl_base_buf_put8(&text, ',');
        kl_base_buf_append(&text, header.name, header.name_size);
        kl_base_buf_put8(&text, '=');
        if (header.value)
            kl_base_buf_append(&text, header.value, header.value_size);
        else
            kl_base_buf_append(&text, "NULL", 4);
    }
    kl_runtime_item_bytes(item, "headers", text.data, text.size);
    if (text.error)
        item->data.error = text.error;
    kl_base_buf_deinit(&text);
}

static int dump_put_record(struct kl_runtime_inspect *in,
                           const struct kl_batch_record *record)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "record");

    kl_runtime_item_put(item, "offset", record->offset);
    kl_runtime_item_put(item, "timestamp", record->timestamp);
    kl_runtime_item_bytes(item, "key", record->key, record->key_size);
    kl_runtime_item_bytes(item, "value", record->value, record->value_size);
    if (record->header_count)
        dump_put_headers(item, record);
    return kl_runtime_item_end(item);
}

/* Tells records of the batch at hand until there is no room; KL_EEND behind the
 * last one. */
static int dump_records(struct kl_runtime_inspect *in)
{
    struct kl_batch_record record;
    int r = 0;

    while (r == 0 && !kl_runtime_inspect_is_full(in)) {
        r = kl_batch_iter_next(&in->records, &record);
        if (r == 0)
            r = dump_put_record(in, &record);
    }
    if (r == 0)
        return 0;
    kl_batch_iter_deinit(&in->records);
    in->has_records = 0;
    return r == KL_ENOMEM ? r : KL_EEND; /* what is malformed has no records */
}

/* ---- the run ------------------------------------------------------------- */

static int dump_put_index(struct kl_runtime_inspect *in,
                          const struct kl_store_dump_event *e)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "index");

    kl_runtime_item_put(item, "offset", e->index.offset);
    kl_runtime_item_put(item, "position", (int64_t)e->index.position);
    kl_runtime_item_put(item, "max_timestamp", e->index.max_timestamp);
    return kl_runtime_item_end(item);
}

static int dump_event(const struct kl_store_dump_event *e, void *user)
{
    struct kl_runtime_inspect *in = user;

    /* What is lost does not come again: there is room left for it. */
    if (e->type != KL_STORE_DUMP_LOST && kl_runtime_inspect_is_full(in))
        return KL_EAGAIN;
    switch (e->type) {
    case KL_STORE_DUMP_IDENTITY:
        return dump_put_identity(in, e->identity);
    case KL_STORE_DUMP_SLOT:
        return dump_put_slot(in, &e->slot);
    case KL_STORE_DUMP_LOG:
        return dump_put_log(in, &e->log);
    case KL_STORE_DUMP_SEGMENT:
        return dump_put_segment(in, &e->segment);
    case KL_STORE_DUMP_GROUP:
        return dump_put_group(in, &e->group);
    case KL_STORE_DUMP_ENTRY:
        return dump_put_entry(in, &e->entry);
    case KL_STORE_DUMP_FRAME:
        return dump_put_frame(in, e->frame);
    case KL_STORE_DUMP_LOST:
        return dump_put_lost(in, e);
    case KL_STORE_DUMP_INDEX:
        return dump_put_index(in, e);
    }
    return 0;
}

static int dump_step(struct kl_runtime_inspect *in)
{
    int r;

    if (in->has_records) {
        r = dump_records(in);
        if (r != KL_EEND)
            return r;
    }
    r = kl_store_dump_run(in->dump);
    if (r == KL_EAGAIN)
        return 0;
    if (r)
        return r;
    return in->count || in->has_records ? 0 : KL_EEND;
}

static int dump_begin(struct kl_runtime_inspect *in, const char *dir,
                      uint32_t flags, enum kl_store_dump_what what)
{
    int r = kl_runtime_inspect_begin(in, dir, flags, dump_step);

    if (r)
        return r;
    r = kl_store_dump_new(&in->dump, in->store, what, dump_event, in);
    return r ? kl_runtime_inspect_fail(in, r) : 0;
}

int kl_runtime_inspect_dump(struct kl_runtime_inspect *in, const char *dir,
                            uint32_t flags)
{
    return dump_begin(in, dir, flags, KL_STORE_DUMP_FOLDER);
}

int kl_runtime_inspect_dump_wal(struct kl_runtime_inspect *in, const char *dir,
                                uint32_t flags)
{
    return dump_begin(in, dir, flags, KL_STORE_DUMP_WAL);
}

/* By name where there is such a topic, else by the digits of an identifier. */
static int dump_find_topic(struct kl_runtime_inspect *in, const char *topic,
                           struct kl_base_uuid *out)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find(in->topics, topic);

    if (t)
        *out = t->id;
    else if (strlen(topic) != KL_BASE_UUID_TEXT ||
             kl_base_uuid_parse(topic, out))
        return KL_ENOTOPIC;
    return 0;
}

int kl_runtime_inspect_dump_log(struct kl_runtime_inspect *in, const char *dir,
                                const char *topic, int32_t partition,
                                uint32_t flags)
{
    struct kl_store_id id = {.partition = partition};
    int r = kl_runtime_inspect_begin(in, dir, flags, dump_step);

    if (r)
        return r;
    r = dump_find_topic(in, topic, &id.topic_id);
    if (r == 0)
        r = kl_store_dump_log(&in->dump, in->store, &id, dump_event, in);
    if (r == KL_ENOTOPIC)
        kl_base_error_set(&in->error, r, "no partition %d of topic %s in %s",
                          (int)partition, topic, dir);
    return r ? kl_runtime_inspect_fail(in, r) : 0;
}

int kl_runtime_inspect_dump_file(struct kl_runtime_inspect *in,
                                 const char *path, uint32_t flags)
{
    int r;

    kl_runtime_inspect_end(in);
    kl_base_error_clear(&in->error);
    r = kl_store_dump_file(&in->dump, &in->alloc, in->vfs, path, dump_event, in,
                           &in->error);
    if (r)
        return kl_runtime_inspect_fail(in, r);
    in->flags = flags;
    in->step = dump_step;
    return 0;
}
