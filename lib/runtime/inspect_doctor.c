/*
 * What is wrong with a folder, what that costs, and what to do next. Findings
 * are those of verifying; what they cost is asked of the content of the log,
 * which looks wherever a copy may be.
 */
#include "runtime/advice.h"
#include "runtime/inspect_state.h"

#include "base/fmt.h"

#include <stdarg.h>

enum doctor_stage {
    DOCTOR_BEGIN,
    DOCTOR_VERIFY,
    DOCTOR_TELL, /* findings of one log wait to be handed out */
    DOCTOR_SUMMARY,
    DOCTOR_ADVICE,
    DOCTOR_DONE
};

struct doctor_range
{
    int64_t from;
    int64_t end; /* -1 = not known */
};

struct kl_runtime_doctor
{
    /* Findings one after another that are of one log, or one of none. */
    struct kl_store_finding *findings;
    size_t count;
    size_t capacity;
    size_t told;
    struct kl_store_finding ahead; /* the first of the next ones */
    int has_ahead;
    int is_end;

    /* What is lost of that log for good, ascending. */
    struct doctor_range *ranges;
    size_t range_count;
    size_t range_capacity;

    uint32_t effects;
    uint64_t lost_offsets;
    uint64_t lost_logs;
    uint64_t problems; /* of any kind that asks for something */
};

void kl_runtime_doctor_free(struct kl_runtime_inspect *in)
{
    struct kl_runtime_doctor *d = in->doctor;

    if (!d)
        return;
    kl_base_free(&in->alloc, d->findings, d->capacity * sizeof *d->findings);
    kl_base_free(&in->alloc, d->ranges, d->range_capacity * sizeof *d->ranges);
    kl_base_free(&in->alloc, d, sizeof *d);
    in->doctor = NULL;
}

/* ---- the folder as a whole --------------------------------------------- */

/* A finding about no file, by which nothing is lost. kind and severity are
 * words of doctor's own. */
static int doctor_tell(struct kl_runtime_inspect *in, const char *kind,
                       const char *severity, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int doctor_tell(struct kl_runtime_inspect *in, const char *kind,
                       const char *severity, const char *format, ...)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "finding");
    struct kl_base_buf text;
    char words[256];
    va_list list;

    va_start(list, format);
    kl_base_fmt_v(words, sizeof words, format, list);
    va_end(list);
    kl_runtime_item_text(item, "kind", kind);
    kl_runtime_item_text(item, "severity", severity);
    kl_base_buf_init(&text, &in->alloc);
    kl_base_buf_printf(&text, "%s (%s); lost: nothing", words, severity);
    return kl_runtime_inspect_finish(item, &text);
}

static int doctor_room(struct kl_runtime_inspect *in,
                       const struct kl_store_inspect_health *h)
{
    uint64_t missing = h->reserve_wanted - h->reserve_bytes;

    if (h->reserve_bytes >= h->reserve_wanted)
        return 0;
    if (h->free_bytes >= missing)
        return doctor_tell(in, "reserve", "harmless",
                           "the reserve was given up for a disk that was full; "
                           "the next open makes it again");
    in->doctor->effects |= KL_RUNTIME_EFFECT_FULL;
    in->doctor->problems++;
    return doctor_tell(in, "full", "full",
                       "the disk is full: %llu bytes are free, %llu more are "
                       "needed for the reserve; records are refused",
                       (unsigned long long)h->free_bytes,
                       (unsigned long long)(missing - h->free_bytes));
}

static int doctor_begin(struct kl_runtime_inspect *in)
{
    struct kl_store_inspect_health h;
    int r = kl_store_inspect_health(in->store, &h);

    in->stage = DOCTOR_VERIFY;
    if (r == 0 && kl_store_inspect_is_in_use(in->store))
        r = kl_runtime_inspect_note(in, KL_RUNTIME_INSPECT_IN_USE);
    if (r)
        return r;
    if (h.is_unfinished) {
        in->doctor->effects = KL_RUNTIME_EFFECT_UNFINISHED;
        in->doctor->problems = 1;
        in->stage = DOCTOR_SUMMARY;
        return doctor_tell(in, "unfinished", "covered",
                           "the folder has no identity and no logs: making it "
                           "was interrupted");
    }
    if (h.is_old)
        r = doctor_tell(in, "format", "harmless",
                        "an older release wrote this folder; the next open "
                        "brings it up to date, after which that release does "
                        "not read it any more");
    if (r == 0 && h.kept)
        r = doctor_tell(in, "kept", "harmless",
                        "quarantine/ keeps %llu files of what was damaged "
                        "before; they may be removed when nobody wants them",
                        (unsigned long long)h.kept);
    return r ? r : doctor_room(in, &h);
}

/* ---- what is lost of a log ----------------------------------------------- */

static int doctor_frame(const struct kl_store_content_frame *f, void *user)
{
    (void)f, (void)user;
    return 0;
}

static int doctor_lost(int64_t from, int64_t end,
                       enum kl_store_finding_kind why, void *user)
{
    struct kl_runtime_inspect *in = user;
    struct kl_runtime_doctor *d = in->doctor;

    (void)why;
    if (kl_base_reserve(&in->alloc, (void **)&d->ranges, &d->range_capacity,
                        d->range_count + 1, sizeof *d->ranges))
        return KL_ENOMEM;
    d->ranges[d->range_count++] = (struct doctor_range){from, end};
    d->lost_offsets += end > from ? (uint64_t)(end - from) : 0;
    return 0;
}

/* Reads the log that the findings are of, if one of them is a damage. */
static int doctor_content(struct kl_runtime_inspect *in)
{
    static const struct kl_store_content_fns fns = {doctor_frame, doctor_lost};
    struct kl_runtime_doctor *d = in->doctor;
    struct kl_store_content *content;
    int is_damaged = 0;
    int r;

    d->range_count = 0;
    for (size_t i = 0; i < d->count; i++)
        is_damaged |= d->findings[i].severity == KL_STORE_DAMAGE;
    if (!is_damaged || !d->findings[0].has_log)
        return 0;
    r = kl_store_content_new(&content, in->store, &d->findings[0].id, &fns, in);
    if (r)
        return r;
    r = kl_store_content_run(content);
    kl_store_content_free(content);
    d->lost_logs += d->range_count > 0;
    return r;
}

/* What is left of the offsets that a finding is about. */
static enum kl_runtime_left doctor_left(const struct kl_runtime_doctor *d,
                                        const struct kl_store_finding *f)
{
    int64_t lost = 0;

    if (f->from < 0)
        return d->range_count ? KL_RUNTIME_LEFT_SOME : KL_RUNTIME_LEFT_ALL;
    for (size_t i = 0; i < d->range_count; i++) {
        const struct doctor_range *r = &d->ranges[i];
        int64_t from = r->from > f->from ? r->from : f->from;
        int64_t end =
            f->end < 0 || (r->end >= 0 && r->end < f->end) ? r->end : f->end;

        if (end > from)
            lost += end - from;
    }
    if (lost == 0)
        return KL_RUNTIME_LEFT_ALL;
    return f->end >= 0 && lost == f->end - f->from ? KL_RUNTIME_LEFT_NOTHING
                                                   : KL_RUNTIME_LEFT_SOME;
}

static void doctor_print_cost(struct kl_base_buf *out,
                              const struct kl_store_finding *f,
                              enum kl_runtime_left left)
{
    const char *cost = kl_runtime_advice_cost(f->kind);

    if (f->severity != KL_STORE_DAMAGE) {
        kl_base_buf_printf(out, "nothing");
    } else if (cost && (f->from < 0 || !f->has_log ||
                        f->kind == KL_STORE_FINDING_SUSPECT)) {
        kl_base_buf_printf(out, "%s", cost);
    } else if (left == KL_RUNTIME_LEFT_ALL) {
        kl_base_buf_printf(out, "%s",
                           cost ? cost : "nothing, salvage finds another copy");
    } else {
        if (left == KL_RUNTIME_LEFT_SOME)
            kl_base_buf_printf(out, "a part of ");
        kl_runtime_inspect_print_range(out, f->from, f->end);
    }
}

static int doctor_finding(struct kl_runtime_inspect *in,
                          const struct kl_store_finding *f)
{
    struct kl_runtime_doctor *d = in->doctor;
    enum kl_runtime_left left = doctor_left(d, f);
    int is_metadata =
        f->has_log &&
        kl_base_uuid_equal(&f->id.topic_id, &kl_store_metadata_topic);
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "finding");
    struct kl_base_buf text;

    d->effects |= kl_runtime_advice_effect(f, is_metadata, left);
    d->problems += f->severity != KL_STORE_HARMLESS;
    kl_runtime_inspect_put_finding(in, item, f);
    kl_base_buf_init(&text, &in->alloc);
    kl_runtime_inspect_print_finding(in, &text, f);
    kl_base_buf_printf(&text, "; lost: ");
    doctor_print_cost(&text, f, left);
    return kl_runtime_inspect_finish(item, &text);
}

/* ---- findings one log at a time ------------------------------------------ */

static int doctor_is_same(const struct kl_store_finding *a,
                          const struct kl_store_finding *b)
{
    return a->has_log && b->has_log &&
           kl_base_uuid_equal(&a->id.topic_id, &b->id.topic_id) &&
           a->id.partition == b->id.partition;
}

static int doctor_keep(struct kl_runtime_inspect *in,
                       const struct kl_store_finding *f)
{
    struct kl_runtime_doctor *d = in->doctor;

    if (kl_base_reserve(&in->alloc, (void **)&d->findings, &d->capacity,
                        d->count + 1, sizeof *d->findings))
        return KL_ENOMEM;
    d->findings[d->count++] = *f;
    return 0;
}

/* Takes one more; the log is complete when another one follows. */
static int doctor_verify(struct kl_runtime_inspect *in)
{
    struct kl_runtime_doctor *d = in->doctor;
    struct kl_store_finding f;
    int r = 0;

    if (d->has_ahead) {
        f = d->ahead;
        d->has_ahead = 0;
    } else {
        r = kl_store_inspect_verify(in->store, &f, &in->error);
    }
    if (r && r != KL_EEND)
        return r;
    d->is_end = r == KL_EEND;
    if (r == 0 && (d->count == 0 || doctor_is_same(&d->findings[0], &f)))
        return doctor_keep(in, &f);
    if (r == 0) {
        d->ahead = f;
        d->has_ahead = 1;
    }
    in->stage = DOCTOR_TELL;
    return doctor_content(in);
}

static int doctor_tell_next(struct kl_runtime_inspect *in)
{
    struct kl_runtime_doctor *d = in->doctor;

    if (d->told < d->count)
        return doctor_finding(in, &d->findings[d->told++]);
    d->count = d->told = 0;
    in->stage = d->is_end ? DOCTOR_SUMMARY : DOCTOR_VERIFY;
    return 0;
}

/* ---- the end ----------------------------------------------------------- */

static int doctor_medium(struct kl_runtime_inspect *in, uint64_t unreadable)
{
    in->doctor->effects |= KL_RUNTIME_EFFECT_SAVED;
    in->doctor->problems++;
    return doctor_tell(in, "medium", "damage",
                       "the medium does not give %llu blocks of 4 KiB; copy "
                       "what can be had to another one soon",
                       (unsigned long long)unreadable);
}

static int doctor_summary(struct kl_runtime_inspect *in)
{
    const struct kl_runtime_doctor *d = in->doctor;
    struct kl_store_inspect_stats st;
    struct kl_runtime_item *item;
    struct kl_base_buf text;
    int r = 0;

    in->stage = DOCTOR_ADVICE;
    kl_store_inspect_stats(in->store, &st);
    if (st.unreadable)
        r = doctor_medium(in, st.unreadable);
    if (r)
        return r;
    item = kl_runtime_inspect_add(in, "summary");
    kl_runtime_item_put(item, "problems", (int64_t)d->problems);
    kl_runtime_item_put(item, "logs", (int64_t)st.logs);
    kl_runtime_item_put(item, "lost_logs", (int64_t)d->lost_logs);
    kl_runtime_item_put(item, "lost_offsets", (int64_t)d->lost_offsets);
    kl_runtime_item_put(
        item, "opens",
        !(d->effects & (KL_RUNTIME_EFFECT_BLOCKED | KL_RUNTIME_EFFECT_QUORUM |
                        KL_RUNTIME_EFFECT_UNFINISHED)));
    kl_base_buf_init(&text, &in->alloc);
    if (d->problems == 0)
        kl_base_buf_printf(&text, "nothing is wrong with this folder");
    else
        kl_base_buf_printf(&text,
                           "%llu problems; %llu offsets of %llu logs are lost",
                           (unsigned long long)d->problems,
                           (unsigned long long)d->lost_offsets,
                           (unsigned long long)d->lost_logs);
    return kl_runtime_inspect_finish(item, &text);
}

static int doctor_advise(struct kl_runtime_inspect *in,
                         enum kl_runtime_advice advice, const char *rank)
{
    struct kl_runtime_item *item = kl_runtime_inspect_add(in, "advice");

    kl_runtime_item_text(item, "rank", rank);
    kl_runtime_item_text(item, "action", kl_runtime_advice_name(advice));
    kl_runtime_item_text(item, "text", kl_runtime_advice_text(advice));
    return kl_runtime_item_end(item);
}

static int doctor_advice(struct kl_runtime_inspect *in)
{
    struct kl_runtime_advised a =
        kl_runtime_advice_of(in->doctor->effects, in->voters);
    int r = doctor_advise(in, a.next, "next");

    in->stage = DOCTOR_DONE;
    if (r == 0 && a.other != KL_RUNTIME_ADVICE_NONE)
        r = doctor_advise(in, a.other, "or");
    return r;
}

static int doctor_step(struct kl_runtime_inspect *in)
{
    switch ((enum doctor_stage)in->stage) {
    case DOCTOR_BEGIN:
        return doctor_begin(in);
    case DOCTOR_VERIFY:
        return doctor_verify(in);
    case DOCTOR_TELL:
        return doctor_tell_next(in);
    case DOCTOR_SUMMARY:
        return doctor_summary(in);
    case DOCTOR_ADVICE:
        return doctor_advice(in);
    case DOCTOR_DONE:
        break;
    }
    return KL_EEND;
}

int kl_runtime_inspect_doctor(struct kl_runtime_inspect *in, const char *dir,
                              uint32_t flags)
{
    int r = kl_runtime_inspect_begin(in, dir, flags, doctor_step);

    if (r)
        return r;
    in->doctor = kl_base_calloc(&in->alloc, sizeof *in->doctor);
    return in->doctor ? 0 : kl_runtime_inspect_fail(in, KL_ENOMEM);
}
