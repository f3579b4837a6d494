/*
 * Where a consumer stands in one partition.
 *
 *   unresolved -> resolving -> fetching -> stopped
 *       ^             |            |          |
 *       +---- seek, reset ---------+----------+
 *
 * Every place is looked up before it is fetched from, also a plain offset: the
 * answer says where the log begins and ends, so that an offset outside is
 * noticed, and the end is told where nothing is to be read.
 *
 * One thing is under way at a time. A seek makes what is under way worthless;
 * its answer is recognised by the generation and dropped.
 */
#include "base/assert.h"
#include "pubsub/pubsub.h"

#include <kraftlog/client.h>
#include <string.h>

void kl_pubsub_position_init(struct kl_pubsub_position *p,
                             enum kl_pubsub_reset reset, uint32_t prefetch)
{
    memset(p, 0, sizeof *p);
    p->reset = reset;
    p->prefetch = prefetch;
    p->high_watermark = -1;
    kl_pubsub_seek(p, KL_OFFSET_BEGIN, 0);
}

void kl_pubsub_seek(struct kl_pubsub_position *p, int64_t spec,
                    int64_t timestamp)
{
    p->phase = KL_PUBSUB_UNRESOLVED;
    p->spec = spec;
    p->timestamp = timestamp;
    p->position = spec >= 0 ? spec : -1;
    p->resolved = spec >= 0;
    p->generation++;
    p->ready = 0;
    p->code = KL_OK;
    p->told = 0;
    p->end_told = -1;
}

enum kl_pubsub_want kl_pubsub_want(struct kl_pubsub_position *p)
{
    if (p->busy) {
        /* A look-up answers by itself, a fetch may wait for ever. */
        if (p->asked == p->generation || p->canceling)
            return KL_PUBSUB_WANT_NOTHING;
        p->canceling = 1;
        return KL_PUBSUB_WANT_CANCEL;
    }
    if (p->phase == KL_PUBSUB_UNRESOLVED) {
        p->phase = KL_PUBSUB_RESOLVING;
        p->busy = 1;
        /* There is nothing to be canceled. */
        p->canceling = 1;
        p->asked = p->generation;
        return KL_PUBSUB_WANT_LOOKUP;
    }
    if (p->phase == KL_PUBSUB_FETCHING && p->ready < p->prefetch &&
        !p->paused) {
        p->busy = 1;
        p->canceling = 0;
        p->asked = p->generation;
        return KL_PUBSUB_WANT_FETCH;
    }
    return KL_PUBSUB_WANT_NOTHING;
}

static void position_stop(struct kl_pubsub_position *p, int code)
{
    p->phase = KL_PUBSUB_STOPPED;
    p->code = code;
    p->told = 0;
    p->behind = p->position;
}

/* The wanted offset is not in the log. */
static void position_reset(struct kl_pubsub_position *p)
{
    if (p->reset == KL_PUBSUB_RESET_NONE) {
        position_stop(p, KL_EOFFSETRANGE);
        return;
    }
    p->phase = KL_PUBSUB_UNRESOLVED;
    p->spec =
        p->reset == KL_PUBSUB_RESET_EARLIEST ? KL_OFFSET_BEGIN : KL_OFFSET_END;
}

/* The answer to what was under way has come: 1 where it is still wanted. */
static int position_answered(struct kl_pubsub_position *p)
{
    KL_ASSERT(p->busy);
    p->busy = 0;
    p->canceling = 0;
    return p->asked == p->generation;
}

void kl_pubsub_looked_up(struct kl_pubsub_position *p, int code, int64_t offset,
                         int64_t log_start, int64_t high_watermark)
{
    if (!position_answered(p))
        return;
    KL_ASSERT(p->phase == KL_PUBSUB_RESOLVING);
    if (code != KL_OK) {
        position_stop(p, code);
        return;
    }
    p->log_start = log_start;
    p->high_watermark = high_watermark;
    if (p->spec >= 0 && (p->spec < log_start || p->spec > high_watermark)) {
        position_reset(p);
        return;
    }
    p->fetch_offset = p->spec >= 0 ? p->spec : offset;
    /* Results from before a reset are given out first. */
    if (p->ready == 0)
        p->position = p->fetch_offset;
    p->resolved = 1;
    p->phase = KL_PUBSUB_FETCHING;
}

int kl_pubsub_fetched(struct kl_pubsub_position *p, int code,
                      int64_t next_offset, int64_t log_start,
                      int64_t high_watermark)
{
    if (!position_answered(p))
        return 0;
    KL_ASSERT(p->phase == KL_PUBSUB_FETCHING);
    /* Given up without a seek: asked again. */
    if (code == KL_ECANCELED)
        return 0;
    if (code == KL_EOFFSETRANGE) {
        position_reset(p);
        return 0;
    }
    if (code != KL_OK) {
        position_stop(p, code);
        p->behind = code == KL_ECORRUPT ? next_offset : p->fetch_offset;
        return 0;
    }
    p->log_start = log_start;
    p->high_watermark = high_watermark;
    if (next_offset <= p->fetch_offset)
        return 0;
    p->fetch_offset = next_offset;
    p->ready++;
    return 1;
}

void kl_pubsub_gave(struct kl_pubsub_position *p, int64_t next_offset)
{
    KL_ASSERT(p->ready > 0);
    p->ready--;
    p->position = next_offset;
    /* After a reset the two differ. */
    if (p->ready == 0 && p->phase == KL_PUBSUB_FETCHING)
        p->position = p->fetch_offset;
}

void kl_pubsub_tell_end(struct kl_pubsub_position *p)
{
    p->end_told = p->position;
}

void kl_pubsub_tell_error(struct kl_pubsub_position *p)
{
    p->told = 1;
}

int kl_pubsub_end_due(const struct kl_pubsub_position *p)
{
    return !p->paused && p->phase == KL_PUBSUB_FETCHING && p->ready == 0 &&
           p->position >= p->high_watermark && p->end_told != p->position;
}

int kl_pubsub_error_due(const struct kl_pubsub_position *p)
{
    return !p->paused && p->phase == KL_PUBSUB_STOPPED && p->ready == 0 &&
           !p->told;
}

int kl_pubsub_position_due(const struct kl_pubsub_position *p)
{
    if (p->paused)
        return 0;
    return p->ready > 0 || kl_pubsub_end_due(p) || kl_pubsub_error_due(p);
}
