/*
 * The epoch list of a log. Both fields ascend strictly: an epoch that begins
 * where the newest one began proves that the newest never got a record, and
 * replaces it.
 */
#include "batch/epochs.h"

#include <kraftlog/error.h>
#include <string.h>

void kl_batch_epochs_init(struct kl_batch_epochs *e)
{
    memset(e, 0, sizeof *e);
}

void kl_batch_epochs_deinit(struct kl_batch_epochs *e,
                            const struct kl_base_alloc *alloc)
{
    kl_base_free(alloc, e->items, e->capacity * sizeof *e->items);
    memset(e, 0, sizeof *e);
}

int kl_batch_epochs_reserve(struct kl_batch_epochs *e,
                            const struct kl_base_alloc *alloc, size_t count)
{
    void *items = e->items;
    size_t capacity = e->capacity;
    int rc;

    if (capacity == 0 && count > 0 && count <= UINT32_MAX) {
        /* Most logs have one epoch, and there may be many logs. */
        e->items = kl_base_malloc(alloc, count * sizeof *e->items);
        e->capacity = e->items ? (uint32_t)count : 0;
        return e->items ? 0 : KL_ENOMEM;
    }
    rc = kl_base_reserve(alloc, &items, &capacity, count, sizeof *e->items);
    if (rc != 0)
        return rc;
    e->items = items;
    e->capacity = (uint32_t)capacity;
    return 0;
}

int kl_batch_epochs_copy(struct kl_batch_epochs *e,
                         const struct kl_base_alloc *alloc,
                         const struct kl_batch_epochs *from)
{
    int rc = kl_batch_epochs_reserve(e, alloc, from->count);

    if (rc != 0)
        return rc;
    if (from->count > 0)
        memcpy(e->items, from->items, from->count * sizeof *e->items);
    e->count = from->count;
    return 0;
}

int kl_batch_epochs_append(struct kl_batch_epochs *e,
                           const struct kl_base_alloc *alloc, int32_t epoch,
                           int64_t start)
{
    struct kl_batch_epoch *last;
    int rc;

    if (epoch < 0 || start < 0)
        return KL_EINVAL;
    if (e->count > 0) {
        last = &e->items[e->count - 1];
        if (epoch < last->epoch || start < last->start)
            return KL_EINVAL;
        if (epoch == last->epoch)
            return 0;
        if (start == last->start) {
            last->epoch = epoch;
            return 0;
        }
    }

    rc = kl_batch_epochs_reserve(e, alloc, (size_t)e->count + 1);
    if (rc != 0)
        return rc;
    e->items[e->count].epoch = epoch;
    e->items[e->count].start = start;
    e->count++;
    return 0;
}

/* Number of entries that start at or below offset. */
static uint32_t epochs_count_to(const struct kl_batch_epochs *e, int64_t offset)
{
    uint32_t low = 0;
    uint32_t high = e->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (e->items[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void kl_batch_epochs_truncate(struct kl_batch_epochs *e, int64_t end)
{
    e->count = end > 0 ? epochs_count_to(e, end - 1) : 0;
}

void kl_batch_epochs_trim(struct kl_batch_epochs *e, int64_t start)
{
    uint32_t count = epochs_count_to(e, start);
    uint32_t i;

    if (count == 0)
        return;
    e->items[count - 1].start = start;
    for (i = count - 1; i < e->count; i++)
        e->items[i - (count - 1)] = e->items[i];
    e->count -= count - 1;
}

int32_t kl_batch_epochs_last(const struct kl_batch_epochs *e)
{
    return e->count > 0 ? e->items[e->count - 1].epoch : -1;
}

int32_t kl_batch_epochs_at(const struct kl_batch_epochs *e, int64_t offset)
{
    uint32_t count = epochs_count_to(e, offset);

    return count > 0 ? e->items[count - 1].epoch : -1;
}

void kl_batch_epochs_end_for(const struct kl_batch_epochs *e, int32_t epoch,
                             int64_t leo, int32_t *epoch_out, int64_t *end_out)
{
    uint32_t low = 0;
    uint32_t high = e->count;

    *epoch_out = -1;
    *end_out = -1;
    if (epoch < 0 || e->count == 0 || epoch > e->items[e->count - 1].epoch)
        return;
    if (epoch == e->items[e->count - 1].epoch) {
        *epoch_out = epoch;
        *end_out = leo;
        return;
    }

    /* Find the lowest entry above epoch: it exists, the last one is above. */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (e->items[middle].epoch <= epoch)
            low = middle + 1;
        else
            high = middle;
    }
    *epoch_out = low > 0 ? e->items[low - 1].epoch : epoch;
    *end_out = e->items[low].start;
}
