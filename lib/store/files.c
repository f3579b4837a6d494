/*
 * The segments of a log that is in use, and their open handles. A handle with
 * unsynced bytes is never closed: its sync would report the error of a failed
 * write-back, a later handle might not (storage.md 5.7).
 */
#include "store/state.h"

#include <string.h>

struct kl_store_segment *kl_store_files_active(const struct kl_store_log *log)
{
    struct kl_store_segment *seg;

    if (!log->files || log->files->count == 0)
        return NULL;
    seg = log->files->items[log->files->count - 1];
    return seg->sealed ? NULL : seg;
}

int kl_store_files_new(struct kl_store_log *log)
{
    KL_ASSERT(!log->files);
    if (kl_store_log_wake(log))
        return KL_ENOMEM;
    log->files = kl_base_calloc(&log->store->alloc, sizeof *log->files);
    return log->files ? 0 : KL_ENOMEM;
}

int kl_store_files_add(struct kl_store_log *log,
                       const struct kl_store_segment_info *info,
                       struct kl_store_segment **out)
{
    struct kl_store_files *f = log->files;
    const struct kl_base_alloc *alloc = &log->store->alloc;
    struct kl_store_segment *seg;

    if (kl_base_reserve(alloc, (void **)&f->items, &f->capacity, f->count + 1,
                        sizeof(struct kl_store_segment *)))
        return KL_ENOMEM;
    seg = kl_base_calloc(alloc, sizeof *seg);
    if (!seg)
        return KL_ENOMEM;
    seg->log = log;
    seg->info = *info;
    seg->next_end = info->end;
    seg->next_size = info->size;
    seg->next_max_timestamp = info->max_timestamp;
    kl_base_list_init(&seg->open);
    f->items[f->count++] = seg;
    if (out)
        *out = seg;
    return 0;
}

ptrdiff_t kl_store_files_find(const struct kl_store_log *log, int64_t offset)
{
    const struct kl_store_files *f = log->files;
    size_t low = 0, high = f->count;

    /* First segment with a base above offset. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (f->items[middle]->info.base <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

/* ---- handles ----------------------------------------------------------- */

static size_t segment_handles(const struct kl_store_segment *seg)
{
    return (size_t)(seg->writer != NULL) + (seg->index_writer != NULL) +
           (seg->reader != NULL) + (seg->index_reader != NULL);
}

/* Without memory it stays open. */
static void segment_close_one(struct kl_store *s, struct kl_os_file **file)
{
    if (*file && kl_store_tidy_close(s, *file) == 0)
        *file = NULL;
}

static void segment_count(struct kl_store *s, struct kl_store_segment *seg)
{
    size_t now = segment_handles(seg);

    s->open_count += now;
    s->open_count -= seg->counted;
    seg->counted = (uint8_t)now;
}

static void segment_close(struct kl_store *s, struct kl_store_segment *seg)
{
    segment_close_one(s, &seg->writer);
    segment_close_one(s, &seg->index_writer);
    segment_close_one(s, &seg->reader);
    segment_close_one(s, &seg->index_reader);
    segment_count(s, seg);
    if (seg->counted == 0)
        kl_base_list_remove(&seg->open);
}

void kl_store_segment_touch(struct kl_store *s, struct kl_store_segment *seg)
{
    segment_count(s, seg);
    kl_base_list_remove(&seg->open);
    if (seg->counted > 0)
        kl_base_list_push(&s->open_segments, &seg->open);
}

static int segment_is_closable(const struct kl_store_segment *seg)
{
    return seg->refs == 0 && seg->synced_size >= seg->info.size &&
           seg->next_size == seg->info.size;
}

struct kl_store_synced
kl_store_segment_sync_begin(const struct kl_store_segment *seg)
{
    return (struct kl_store_synced){seg->info.size, seg->cuts};
}

void kl_store_segment_sync_end(struct kl_store_segment *seg,
                               const struct kl_store_synced *synced)
{
    if (synced->cuts == seg->cuts && synced->size > seg->synced_size)
        seg->synced_size = synced->size;
}

void kl_store_segment_note_index(struct kl_store_segment *seg, uint32_t blocks)
{
    if (seg->index_blocks == UINT32_MAX)
        seg->index_blocks = seg->next_index_blocks = blocks;
}

void kl_store_segment_close_idle(struct kl_store *s)
{
    struct kl_base_list *l = s->open_segments.next;

    while (l != &s->open_segments) {
        struct kl_store_segment *seg =
            KL_BASE_CONTAINER(l, struct kl_store_segment, open);

        l = l->next;
        if (segment_is_closable(seg))
            segment_close(s, seg);
    }
}

int kl_store_segment_make_room(struct kl_store *s)
{
    struct kl_base_list *l = s->open_segments.next;
    struct kl_store_segment *seg;

    while (s->open_count + 2 > s->config.file_max && l != &s->open_segments) {
        seg = KL_BASE_CONTAINER(l, struct kl_store_segment, open);
        l = l->next;
        if (segment_is_closable(seg)) {
            segment_close(s, seg);
        } else if (seg->refs == 0) {
            segment_close_one(s, &seg->reader);
            segment_close_one(s, &seg->index_reader);
            segment_count(s, seg);
        }
    }
    /* Open syncs between the logs that it replays, not in the middle of one. */
    return s->open_count + 2 <= s->config.file_max || !s->opened;
}

/* ---- references -----------------------------------------------------------
 */

static void segment_free(struct kl_store *s, struct kl_store_segment *seg)
{
    segment_close(s, seg);
    if (seg->counted > 0) {
        kl_base_list_remove(&seg->open);
        kl_base_list_push(&s->dead_segments, &seg->open);
        return;
    }
    kl_base_free(&s->alloc, seg, sizeof *seg);
}

void kl_store_segment_bury(struct kl_store *s)
{
    struct kl_base_list dead, *l;

    kl_base_list_init(&dead);
    while ((l = kl_base_list_pop(&s->dead_segments)))
        kl_base_list_push(&dead, l);
    while ((l = kl_base_list_pop(&dead)))
        segment_free(s, KL_BASE_CONTAINER(l, struct kl_store_segment, open));
}

void kl_store_segment_ref(struct kl_store_segment *seg)
{
    seg->refs++;
}

void kl_store_segment_unref(struct kl_store *s, struct kl_store_segment *seg)
{
    KL_ASSERT(seg->refs > 0);
    if (--seg->refs > 0)
        return;
    /* No lane opens a handle of it now, so they can be looked at. */
    if (seg->dead)
        segment_free(s, seg);
    else
        kl_store_segment_touch(s, seg);
}

void kl_store_files_drop(struct kl_store_log *log, size_t index)
{
    struct kl_store_files *f = log->files;
    struct kl_store_segment *seg = f->items[index];

    f->count--;
    memmove(f->items + index, f->items + index + 1,
            (f->count - index) * sizeof *f->items);
    seg->dead = 1;
    if (seg->refs == 0)
        segment_free(log->store, seg);
}

void kl_store_files_free(struct kl_store_log *log)
{
    const struct kl_base_alloc *alloc = &log->store->alloc;
    struct kl_store_files *f = log->files;

    if (!f)
        return;
    while (f->count > 0)
        kl_store_files_drop(log, f->count - 1);
    kl_base_free(alloc, f->items, f->capacity * sizeof *f->items);
    kl_base_free(alloc, f->tail, f->tail_capacity * sizeof *f->tail);
    kl_base_free(alloc, f, sizeof *f);
    log->files = NULL;
}
