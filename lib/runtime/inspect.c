/*
 * Tasks over a folder that is not open: what they have in common, and
 * verifying.
 */
#include "runtime/inspect_state.h"

#include <string.h>

/* ---- life -------------------------------------------------------------- */

int kl_runtime_inspect_new(struct kl_runtime_inspect **out,
                           const struct kl_base_alloc *alloc)
{
    struct kl_runtime_inspect *in = kl_base_calloc(alloc, sizeof *in);
    int r;

    if (!in)
        return KL_ENOMEM;
    in->alloc = *alloc;
    for (size_t i = 0; i < KL_RUNTIME_INSPECT_ITEMS; i++)
        kl_runtime_item_init(&in->items[i], &in->alloc);
    kl_base_buf_init(&in->frame, &in->alloc);
    r = kl_runtime_inspect_set_vfs(in, NULL);
    if (r) {
        kl_base_free(alloc, in, sizeof *in);
        return r;
    }
    *out = in;
    return 0;
}

int kl_runtime_inspect_set_vfs(struct kl_runtime_inspect *in,
                               struct kl_os_vfs *vfs)
{
    int own_vfs = vfs == NULL;
    int r = vfs ? 0 : kl_os_vfs_posix_new(&vfs, &in->alloc);

    if (r)
        return r;
    kl_runtime_inspect_end(in);
    if (in->own_vfs)
        in->vfs->ops->free(in->vfs);
    in->vfs = vfs;
    in->own_vfs = own_vfs;
    return 0;
}

void kl_runtime_inspect_end(struct kl_runtime_inspect *in)
{
    if (in->has_records)
        kl_batch_iter_deinit(&in->records);
    in->has_records = 0;
    kl_base_buf_deinit(&in->frame);
    kl_store_dump_free(in->dump);
    in->dump = NULL;
    kl_store_salvage_free(in->salvage);
    in->salvage = NULL;
    kl_runtime_doctor_free(in);
    if (in->lanes)
        in->lanes->ops->free(in->lanes);
    in->lanes = NULL;
    in->has_log = 0;
    in->saved_logs = in->saved_records = 0;
    in->lost_ranges = in->lost_offsets = 0;
    if (in->topics)
        kl_controller_free(in->topics);
    in->topics = NULL;
    in->topics_partial = 0;
    in->topics_from = 0;
    in->voters = 0;
    kl_store_inspect_free(in->store);
    in->store = NULL;
    in->step = NULL;
    in->stage = 0;
    in->count = in->next = 0;
}

void kl_runtime_inspect_free(struct kl_runtime_inspect *in)
{
    struct kl_base_alloc alloc;

    if (!in)
        return;
    alloc = in->alloc;
    kl_runtime_inspect_end(in);
    for (size_t i = 0; i < KL_RUNTIME_INSPECT_ITEMS; i++)
        kl_runtime_item_deinit(&in->items[i]);
    if (in->own_vfs)
        in->vfs->ops->free(in->vfs);
    kl_base_free(&alloc, in, sizeof *in);
}

struct kl_base_error *kl_runtime_inspect_error(struct kl_runtime_inspect *in)
{
    return &in->error;
}

int kl_runtime_inspect_fail(struct kl_runtime_inspect *in, int code)
{
    kl_runtime_inspect_end(in);
    if (!in->error.code)
        kl_base_error_set(&in->error, code, "%s",
                          kl_base_error_lookup(code)->text);
    return code;
}

int kl_runtime_inspect_begin(struct kl_runtime_inspect *in, const char *dir,
                             uint32_t flags,
                             int (*step)(struct kl_runtime_inspect *in))
{
    uint32_t store =
        flags & KL_RUNTIME_INSPECT_FORCE ? KL_STORE_INSPECT_FORCE : 0;
    int r;

    kl_runtime_inspect_end(in);
    kl_base_error_clear(&in->error);
    r = kl_store_inspect_new(&in->store, &in->alloc, in->vfs, dir);
    if (r == 0)
        r = kl_store_inspect_open(in->store, store, &in->error);
    if (r == 0)
        r = kl_runtime_inspect_topics(in);
    if (r)
        return kl_runtime_inspect_fail(in, r);
    in->flags = flags;
    in->step = step;
    return 0;
}

int kl_runtime_inspect_next(struct kl_runtime_inspect *in,
                            const struct kl_runtime_item **out)
{
    int r = 0;

    if (!in->step)
        return KL_ESTATE;
    while (r == 0 && in->next == in->count) {
        in->next = in->count = 0;
        r = in->step(in);
    }
    if (r == 0) {
        *out = &in->items[in->next++];
        return 0;
    }
    if (r != KL_EEND && !in->error.code)
        kl_base_error_set(&in->error, r, "%s", kl_base_error_lookup(r)->text);
    if (r != KL_EEND)
        in->step = NULL;
    return r;
}

/* ---- items ------------------------------------------------------------- */

struct kl_runtime_item *kl_runtime_inspect_add(struct kl_runtime_inspect *in,
                                               const char *type)
{
    struct kl_runtime_item *item = &in->items[in->count++];

    kl_runtime_item_begin(item, type);
    return item;
}

static int inspect_is_metadata(const struct kl_store_id *id)
{
    return kl_base_uuid_equal(&id->topic_id, &kl_store_metadata_topic);
}

void kl_runtime_inspect_put_log(struct kl_runtime_inspect *in,
                                struct kl_runtime_item *item,
                                const struct kl_store_id *id)
{
    const struct kl_controller_topic *topic =
        kl_runtime_inspect_topic(in, &id->topic_id);

    if (topic)
        kl_runtime_item_text(item, "topic", topic->name);
    kl_runtime_item_id(item, "topic_id", &id->topic_id);
    kl_runtime_item_put(item, "partition", id->partition);
}

void kl_runtime_inspect_print_log(struct kl_runtime_inspect *in,
                                  struct kl_base_buf *out,
                                  const struct kl_store_id *id)
{
    const struct kl_controller_topic *topic =
        kl_runtime_inspect_topic(in, &id->topic_id);
    char text[KL_BASE_UUID_TEXT + 1];

    kl_base_uuid_format(&id->topic_id, text);
    if (inspect_is_metadata(id))
        kl_base_buf_printf(out, "metadata log");
    else
        kl_base_buf_printf(out, "topic %s, partition %d",
                           topic ? topic->name : text, (int)id->partition);
}

void kl_runtime_inspect_print_range(struct kl_base_buf *out, int64_t from,
                                    int64_t end)
{
    if (end < 0)
        kl_base_buf_printf(out, "offsets from %lld", (long long)from);
    else if (end - from <= 1)
        kl_base_buf_printf(out, "offset %lld", (long long)from);
    else
        kl_base_buf_printf(out, "offsets %lld to %lld", (long long)from,
                           (long long)end - 1);
}

int kl_runtime_inspect_finish(struct kl_runtime_item *item,
                              struct kl_base_buf *text)
{
    int r = text->error;

    if (r == 0) {
        kl_runtime_item_bytes(item, "text", text->data, text->size);
        r = kl_runtime_item_end(item);
    }
    kl_base_buf_deinit(text);
    return r;
}

/* ---- findings ---------------------------------------------------------- */

void kl_runtime_inspect_print_finding(struct kl_runtime_inspect *in,
                                      struct kl_base_buf *out,
                                      const struct kl_store_finding *f)
{
    kl_base_buf_printf(out, "%s: ", f->file);
    if (f->has_log) {
        kl_runtime_inspect_print_log(in, out, &f->id);
        if (f->from >= 0) {
            kl_base_buf_printf(out, ", ");
            kl_runtime_inspect_print_range(out, f->from, f->end);
        }
        kl_base_buf_printf(out, ": ");
    }
    kl_base_buf_printf(out, "%s", kl_store_finding_text(f->kind));
    if (f->size)
        kl_base_buf_printf(out, ", bytes %llu to %llu",
                           (unsigned long long)f->position,
                           (unsigned long long)(f->position + f->size - 1));
    kl_base_buf_printf(out, " (%s)", kl_store_severity_name(f->severity));
}

void kl_runtime_inspect_put_finding(struct kl_runtime_inspect *in,
                                    struct kl_runtime_item *item,
                                    const struct kl_store_finding *f)
{
    kl_runtime_item_text(item, "kind", kl_store_finding_name(f->kind));
    kl_runtime_item_text(item, "severity", kl_store_severity_name(f->severity));
    kl_runtime_item_text(item, "file", f->file);
    if (f->has_log)
        kl_runtime_inspect_put_log(in, item, &f->id);
    if (f->from >= 0) {
        kl_runtime_item_put(item, "from", f->from);
        kl_runtime_item_put(item, "end", f->end);
    }
    if (f->size) {
        kl_runtime_item_put(item, "position", (int64_t)f->position);
        kl_runtime_item_put(item, "size", (int64_t)f->size);
    }
}

int kl_runtime_inspect_finding(struct kl_runtime_inspect *in,
                               const struct kl_store_finding *f)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "finding");
    struct kl_base_buf text;

    kl_runtime_inspect_put_finding(in, item, f);
    kl_base_buf_init(&text, &in->alloc);
    kl_runtime_inspect_print_finding(in, &text, f);
    return kl_runtime_inspect_finish(item, &text);
}

int kl_runtime_inspect_note(struct kl_runtime_inspect *in, const char *text)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "note");

    kl_runtime_item_text(item, "text", text);
    return kl_runtime_item_end(item);
}

/* ---- verify ------------------------------------------------------------ */

enum { VERIFY_BEGIN, VERIFY_RUN, VERIFY_DONE };

static int inspect_verify_begin(struct kl_runtime_inspect *in)
{
    in->stage = VERIFY_RUN;
    if (!kl_store_inspect_is_in_use(in->store))
        return 0;
    return kl_runtime_inspect_note(in, KL_RUNTIME_INSPECT_IN_USE);
}

static void inspect_verify_print(const struct kl_store_inspect_stats *st,
                                 struct kl_base_buf *out)
{
    const uint64_t *found = st->findings;

    kl_base_buf_printf(
        out,
        "%llu logs, %llu segments, %llu batches, %llu records, %llu groups, "
        "%llu bytes read: ",
        (unsigned long long)st->logs, (unsigned long long)st->segments,
        (unsigned long long)st->batches, (unsigned long long)st->records,
        (unsigned long long)st->groups, (unsigned long long)st->bytes);
    if (found[KL_STORE_DAMAGE] + found[KL_STORE_COVERED] == 0)
        kl_base_buf_printf(out, "nothing is damaged");
    else
        kl_base_buf_printf(out, "%llu damaged, %llu covered by a copy",
                           (unsigned long long)found[KL_STORE_DAMAGE],
                           (unsigned long long)found[KL_STORE_COVERED]);
    if (found[KL_STORE_HARMLESS])
        kl_base_buf_printf(out, ", %llu harmless",
                           (unsigned long long)found[KL_STORE_HARMLESS]);
}

static int inspect_verify_summary(struct kl_runtime_inspect *in)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "summary");
    struct kl_store_inspect_stats st;
    struct kl_base_buf text;

    in->stage = VERIFY_DONE;
    kl_store_inspect_stats(in->store, &st);
    kl_runtime_item_put(item, "logs", (int64_t)st.logs);
    kl_runtime_item_put(item, "segments", (int64_t)st.segments);
    kl_runtime_item_put(item, "batches", (int64_t)st.batches);
    kl_runtime_item_put(item, "records", (int64_t)st.records);
    kl_runtime_item_put(item, "groups", (int64_t)st.groups);
    kl_runtime_item_put(item, "bytes", (int64_t)st.bytes);
    kl_runtime_item_put(item, "unreadable", (int64_t)st.unreadable);
    for (int i = 0; i < KL_STORE_SEVERITY_COUNT; i++)
        kl_runtime_item_put(item,
                            kl_store_severity_name((enum kl_store_severity)i),
                            (int64_t)st.findings[i]);
    kl_base_buf_init(&text, &in->alloc);
    inspect_verify_print(&st, &text);
    return kl_runtime_inspect_finish(item, &text);
}

static int inspect_verify_step(struct kl_runtime_inspect *in)
{
    struct kl_store_finding f;
    int r;

    if (in->stage == VERIFY_BEGIN)
        return inspect_verify_begin(in);
    if (in->stage == VERIFY_DONE)
        return KL_EEND;
    r = kl_store_inspect_verify(in->store, &f, &in->error);
    if (r == KL_EEND)
        return inspect_verify_summary(in);
    return r ? r : kl_runtime_inspect_finding(in, &f);
}

int kl_runtime_inspect_verify(struct kl_runtime_inspect *in, const char *dir,
                              uint32_t flags)
{
    return kl_runtime_inspect_begin(in, dir, flags, inspect_verify_step);
}
