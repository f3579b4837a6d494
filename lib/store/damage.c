/*
 * What is known to be lost of a log: ranges of offsets whose bytes are not what
 * was written. Reads and the scrub find them, and recovery; nobody decides by
 * this list what can be read, each read looks for itself.
 */
#include "store/state.h"

#include <string.h>

/* More of them than this are told as fewer, wider ranges. */
enum { DAMAGE_RANGES_MAX = 64 };

struct kl_store_damages
{
    size_t count;
    struct kl_store_range items[DAMAGE_RANGES_MAX]; /* ascending, apart */
};

size_t kl_store_log_damage(const struct kl_store_log *log, size_t index,
                           struct kl_store_range *out)
{
    size_t count = log->damage ? log->damage->count : 0;

    if (out && index < count)
        *out = log->damage->items[index];
    return count;
}

static void damage_erase(struct kl_store_damages *d, size_t at, size_t count)
{
    d->count -= count;
    memmove(d->items + at, d->items + at + count,
            (d->count - at) * sizeof *d->items);
}

/* Makes room by joining the two neighbours that are closest. */
static void damage_join(struct kl_store_damages *d)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < d->count; i++)
        if (d->items[i + 1].from - d->items[i].to <
            d->items[best + 1].from - d->items[best].to)
            best = i;
    d->items[best].to = d->items[best + 1].to;
    damage_erase(d, best + 1, 1);
}

/* Returns 1 where the range was not known before. */
static int damage_insert(struct kl_store_damages *d, int64_t from, int64_t to)
{
    size_t low = 0, high;

    while (low < d->count && d->items[low].to < from)
        low++;
    high = low;
    while (high < d->count && d->items[high].from <= to)
        high++;
    if (high > low) {
        struct kl_store_range *r = &d->items[low];

        if (high == low + 1 && r->from <= from && r->to >= to)
            return 0;
        if (from < r->from)
            r->from = from;
        if (to < d->items[high - 1].to)
            to = d->items[high - 1].to;
        r->to = to;
        damage_erase(d, low + 1, high - low - 1);
        return 1;
    }
    if (d->count == DAMAGE_RANGES_MAX) {
        damage_join(d);
        return damage_insert(d, from, to);
    }
    memmove(d->items + low + 1, d->items + low,
            (d->count - low) * sizeof *d->items);
    d->items[low] = (struct kl_store_range){from, to};
    d->count++;
    return 1;
}

static void damage_drop(struct kl_store_log *log)
{
    kl_base_free(&log->store->alloc, log->damage, sizeof *log->damage);
    log->damage = NULL;
}

void kl_store_damage_note(struct kl_store_log *log, int64_t from, int64_t to)
{
    struct kl_store *s = log->store;

    if (from < log->start)
        from = log->start;
    if (to > log->leo)
        to = log->leo;
    if (from >= to)
        return;
    /* Without memory the next one to meet it notes it. */
    if (!log->damage)
        log->damage = kl_base_calloc(&s->alloc, sizeof *log->damage);
    if (!log->damage || !damage_insert(log->damage, from, to))
        return;
    kl_base_stat_add(&s->stats.damages, 1);
    s->damaged = 1;
    log->damaged_event = 1;
    kl_store_emit_durable(log);
}

void kl_store_damage_gaps(struct kl_store_log *log)
{
    const struct kl_store_files *f = log->files;
    int64_t at = log->start, end = kl_store_log_file_end(log);

    for (size_t i = 0; i < f->count; i++) {
        kl_store_damage_note(log, at, f->items[i]->info.base);
        if (f->items[i]->info.end > at)
            at = f->items[i]->info.end;
    }
    kl_store_damage_note(log, at, end);
}

void kl_store_damage_clip(struct kl_store_log *log)
{
    struct kl_store_damages *d = log->damage;

    if (!d)
        return;
    while (d->count > 0 && d->items[0].to <= log->start)
        damage_erase(d, 0, 1);
    if (d->count > 0 && d->items[0].from < log->start)
        d->items[0].from = log->start;
    while (d->count > 0 && d->items[d->count - 1].from >= log->leo)
        d->count--;
    if (d->count > 0 && d->items[d->count - 1].to > log->leo)
        d->items[d->count - 1].to = log->leo;
    if (d->count == 0)
        damage_drop(log);
}

void kl_store_damage_free(struct kl_store_log *log)
{
    if (log->damage)
        damage_drop(log);
}
