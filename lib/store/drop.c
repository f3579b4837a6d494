/*
 * Topics with full=drop-oldest make room while the store is full: the oldest
 * segments of all of them go first, by moving log starts as retention does,
 * never above what is durable. What is left is looked at once their files are
 * gone; where nothing is left to drop, their appends are refused as well.
 */
#include "store/state.h"

enum { DROP_LOADS = 16 }; /* manifests asked for at a time */

struct drop_choice
{
    struct kl_store_log *log; /* NULL = none */
    int64_t last_ms;
    int64_t end;
    uint64_t bytes;
    int unknown; /* logs that cannot be judged yet */
};

static void drop_offer(struct drop_choice *c, struct kl_store_log *log,
                       const struct kl_store_segment_info *info)
{
    if (info->end <= log->start || info->end > log->durable_leo ||
        info->size <= KL_STORE_BLOCK || (c->log && c->last_ms <= info->last_ms))
        return;
    c->log = log;
    c->last_ms = info->last_ms;
    c->end = info->end;
    c->bytes = info->size - KL_STORE_BLOCK;
}

/* The oldest segment of the log that has something above its start. The open
 * one, too: what moves the start to its end begins another. */
static void drop_look(struct drop_choice *c, struct kl_store_log *log)
{
    int rc;

    c->unknown += log->work->unwritten > 0;
    if (!log->files && log->bytes == 0) {
        if (log->active.base >= 0)
            drop_offer(c, log, &log->active);
        return;
    }
    if (!log->files && c->unknown >= DROP_LOADS)
        return;
    rc = kl_store_load(log);
    c->unknown += rc == KL_EAGAIN || kl_store_is_passing(rc);
    for (size_t i = 0; rc == 0 && i < log->files->count; i++) {
        const struct kl_store_segment *seg = log->files->items[i];

        if (seg->info.size != seg->next_size) {
            c->unknown++;
            return;
        }
        if (seg->info.end <= log->start)
            continue;
        drop_offer(c, log, &seg->info);
        return;
    }
}

static struct drop_choice drop_choose(struct kl_store *s)
{
    struct drop_choice c = {.log = NULL};
    struct kl_store_log *log;

    for (log = kl_store_next(s, NULL); log; log = kl_store_next(s, log))
        if (log->config.drop_oldest)
            drop_look(&c, log);
    return c;
}

/* Until enough is on its way. */
static void drop_some(struct kl_store *s, uint64_t missing)
{
    struct kl_store_drop *d = &s->drop;
    uint64_t bytes = 0;

    while (bytes < missing) {
        struct drop_choice c = drop_choose(s);

        if (c.unknown)
            return; /* the next turn knows more */
        if (!c.log || kl_store_retain_move(c.log, c.end))
            break;
        bytes += c.bytes;
        if (!c.log->dropping)
            d->moving++;
        c.log->dropping = 1;
    }
    if (d->moving > 0)
        return;
    d->hopeless = 1;
    s->room_event = 1; /* those that wait are refused now */
}

void kl_store_drop_turn(struct kl_store *s)
{
    struct kl_store_drop *d = &s->drop;
    uint64_t missing;

    if (!kl_store_is_full(s))
        d->hopeless = 0;
    if (!kl_store_is_full(s) || d->logs == 0 || d->hopeless || s->stopping ||
        s->failure.code || d->moving > 0 || s->tidy.names > 0 || s->tidy.busy)
        return;
    missing = kl_store_space_missing(s);
    if (missing > 0)
        drop_some(s, missing);
}

void kl_store_drop_done(struct kl_store_log *log)
{
    log->store->drop.moving -= log->dropping;
    log->dropping = 0;
}

void kl_store_drop_configure(struct kl_store_log *log, int drop_oldest)
{
    struct kl_store_drop *d = &log->store->drop;

    d->logs -= log->config.drop_oldest;
    log->config.drop_oldest = (uint8_t)(drop_oldest != 0);
    d->logs += log->config.drop_oldest;
    if (log->config.drop_oldest)
        d->hopeless = 0;
}
