#include "check_records.h"

#include "pool.h"

#include <stdio.h>
#include <string.h>

static void records_reserve(struct records_log *l, int64_t offset)
{
    size_t want = (size_t)offset + 1;

    pool_reserve((void **)&l->tags, &l->capacity, want, sizeof *l->tags);
    pool_reserve((void **)&l->acked, &l->acked_capacity, want,
                 sizeof *l->acked);
    for (; l->count < want; l->count++) {
        l->tags[l->count] = 0;
        l->acked[l->count] = 0;
    }
}

static const char *records_meet(struct check_records *c, int log,
                                int64_t offset, uint64_t tag, const char *how)
{
    struct records_log *l = &c->logs[log];

    records_reserve(l, offset);
    if (l->tags[offset] && l->tags[offset] != tag) {
        snprintf(c->text, sizeof c->text,
                 "log %d: offset %lld is record %llu (%s), it was %llu (%s)",
                 log, (long long)offset, (unsigned long long)tag, how,
                 (unsigned long long)l->tags[offset],
                 l->acked[offset] ? "acknowledged" : "seen");
        return c->text;
    }
    l->tags[offset] = tag;
    return NULL;
}

const char *check_records_acked(struct check_records *c, int log,
                                int64_t offset, uint64_t tag)
{
    const char *wrong = records_meet(c, log, offset, tag, "acknowledged");

    if (!wrong)
        c->logs[log].acked[offset] = 1;
    return wrong;
}

const char *check_records_seen(struct check_records *c, int log, int64_t offset,
                               uint64_t tag)
{
    return records_meet(c, log, offset, tag, "seen");
}

const char *check_records_end(struct check_records *c, int log, int64_t end)
{
    const struct records_log *l = &c->logs[log];

    for (size_t i = l->count; i > (size_t)end; i--) {
        if (!l->tags[i - 1])
            continue;
        snprintf(c->text, sizeof c->text,
                 "log %d ends at %lld, offset %zu was %s", log, (long long)end,
                 i - 1, l->acked[i - 1] ? "acknowledged" : "seen");
        return c->text;
    }
    return NULL;
}

void check_records_deinit(struct check_records *c)
{
    for (int i = 0; i < RECORDS_LOGS; i++) {
        struct records_log *l = &c->logs[i];

        pool_give(l->tags, l->capacity * sizeof *l->tags);
        pool_give(l->acked, l->acked_capacity * sizeof *l->acked);
    }
    memset(c, 0, sizeof *c);
}
