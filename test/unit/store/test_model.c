/*
 * The store against a model: random changes of several logs, crashes and clean
 * stops at any moment, and after every opening each log must be what its
 * changes up to some point had made of it, that point not before the last one
 * that had been reported as durable. The WAL must never resurrect what was cut.
 */
#include "store_fixture.h"

#include "base/rng.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 25, LOGS = 4, CHANGES_MAX = 600, FRAMES_MAX = 600 };

enum change_type { CREATE, APPEND, TRUNCATE, START, EPOCH, DELETE, RESET };

struct change
{
    enum change_type type;
    int64_t offset;
    int count;
    uint32_t value_size;
    uint64_t tag;
};

struct frame
{
    int64_t base;
    int64_t end;
    const struct change *change;
};

/* What a prefix of the changes amounts to. */
struct content
{
    int exists;
    int64_t start;
    int64_t leo;
    struct frame frames[FRAMES_MAX];
    int frame_count;
};

struct subject
{
    struct kl_store_id id;
    enum kl_store_flush flush;
    struct kl_store_log *log; /* NULL = does not exist */
    struct change changes[CHANGES_MAX];
    int change_count;
    int durable_count; /* changes that must survive */
    int32_t epoch;
};

struct world
{
    struct store_fixture f;
    struct subject subjects[LOGS];
    struct kl_base_rng rng;
    uint64_t tags;
    uint64_t seed;
    int is_scarce; /* the space on disk changes */
    int refused;   /* appends, for want of it */
};

static void content_of(const struct subject *s, int count, struct content *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < count; i++) {
        const struct change *change = &s->changes[i];

        switch (change->type) {
        case CREATE:
        case DELETE:
            memset(c, 0, sizeof *c);
            c->exists = change->type == CREATE;
            break;
        case APPEND:
            c->frames[c->frame_count].base = c->leo;
            c->leo += change->count;
            c->frames[c->frame_count].end = c->leo;
            c->frames[c->frame_count++].change = change;
            break;
        case TRUNCATE:
            while (c->frame_count > 0 &&
                   c->frames[c->frame_count - 1].base >= change->offset)
                c->frame_count--;
            c->leo = change->offset;
            break;
        case START:
            c->start = change->offset;
            break;
        case RESET:
            c->start = c->leo = change->offset;
            c->frame_count = 0;
            break;
        case EPOCH:
            break;
        }
    }
}

static struct change *add(struct subject *s, enum change_type type,
                          int64_t offset)
{
    struct change *c = &s->changes[s->change_count++];

    ck_assert_int_lt(s->change_count, CHANGES_MAX);
    memset(c, 0, sizeof *c);
    c->type = type;
    c->offset = offset;
    return c;
}

/* ---- comparing ------------------------------------------------------------
 */

static int value_is_right(const struct kl_batch_record *record,
                          const struct frame *frame)
{
    uint8_t want[4096];

    store_fixture_value(frame->change->tag, (int)(record->offset - frame->base),
                        want, frame->change->value_size);
    return record->value_size == frame->change->value_size &&
           memcmp(record->value, want, record->value_size) == 0;
}

/* Whether the frame is the one that the content has at *offset. */
static int frame_is_right(struct world *w, const uint8_t *data, uint32_t size,
                          const struct content *c, int64_t *offset)
{
    struct kl_batch_iter it;
    struct kl_batch_record record;
    int i, right;

    ck_assert_int_eq(
        kl_batch_iter_init(&it, &w->f.alloc.alloc, data, size, 1 << 20), 0);
    for (i = 0; i < c->frame_count; i++)
        if (c->frames[i].base == it.info.base_offset)
            break;
    right = i < c->frame_count && it.info.base_offset <= *offset &&
            it.info.last_offset + 1 == c->frames[i].end;
    while (right && kl_batch_iter_next(&it, &record) == 0)
        right = value_is_right(&record, &c->frames[i]);
    if (right)
        *offset = c->frames[i].end;
    kl_batch_iter_deinit(&it);
    return right;
}

static int slice_is_right(struct world *w, struct subject *s,
                          const struct kl_store_slice *slice,
                          const struct content *c, int64_t *offset)
{
    const uint8_t *p = slice->data;
    uint32_t left = slice->size;
    struct kl_batch_info info;

    while (left > 0) {
        ck_assert_int_eq(
            kl_batch_frame_verify(p, left, kl_store_log_seed(s->log), &info),
            0);
        if (!frame_is_right(w, p, info.frame_size, c, offset))
            return 0;
        p += info.frame_size;
        left -= info.frame_size;
    }
    return 1;
}

/* Reads the whole log in pieces of random size. */
static int content_is_right(struct world *w, struct subject *s,
                            const struct content *c)
{
    int64_t offset = c->start;
    struct kl_store_read read;
    int right = 1;

    while (right && offset < c->leo) {
        uint32_t bytes = 1 + (uint32_t)kl_base_rng_below(&w->rng, 20000);

        store_fixture_read(&w->f, s->log, offset, c->leo, bytes, &read);
        ck_assert_msg(read.code == 0, "log %d: offset %lld: code %d",
                      s->id.partition, (long long)offset, read.code);
        ck_assert_uint_gt(read.slice_count, 0);
        for (uint32_t i = 0; i < read.slice_count && right; i++)
            right = slice_is_right(w, s, &read.slices[i], c, &offset);
        if (right)
            ck_assert_int_eq(read.next_offset, offset);
        kl_store_read_release(&read);
    }
    return right;
}

/* The start of an interval log may be ahead: it goes through the WAL, the
 * appends before it do not. So may any, where appends wait for space. */
static int start_is_ahead(const struct world *w, const struct subject *s,
                          int from, int64_t start)
{
    for (int i = from; i < s->change_count; i++) {
        if (s->changes[i].type == CREATE || s->changes[i].type == DELETE ||
            s->changes[i].type == RESET)
            return 0;
        if (s->changes[i].type == START && s->changes[i].offset == start)
            return s->flush == KL_STORE_FLUSH_INTERVAL || w->is_scarce;
    }
    return 0;
}

/* How many of its changes the log shows now; less than are durable where it is
 * none of what they may have made of it. */
static int find_prefix(struct world *w, struct subject *s,
                       struct kl_store_view *view)
{
    static struct content c;
    int i;

    s->log = kl_store_find(w->f.store, &s->id);
    if (s->log)
        kl_store_log_view(s->log, view);
    for (i = s->change_count; i >= s->durable_count; i--) {
        content_of(s, i, &c);
        if (!s->log && !c.exists)
            break;
        if (s->log && c.exists && view->leo == c.leo &&
            (view->start == c.start || start_is_ahead(w, s, i, view->start))) {
            c.start = view->start;
            if (content_is_right(w, s, &c))
                break;
        }
    }
    return i;
}

/* Forgets the changes that the store does not show. */
static void check_subject(struct world *w, struct subject *s)
{
    struct kl_store_view view;
    int i = find_prefix(w, s, &view);

    ck_assert_msg(
        i >= s->durable_count,
        "seed %llu, log %d: no prefix of its %d changes, %d durable, fits "
        "start %lld, LEO %lld",
        (unsigned long long)w->seed, s->id.partition, s->change_count,
        s->durable_count, s->log ? (long long)view.start : -1,
        s->log ? (long long)view.leo : -1);
    s->change_count = i;
    if (s->log)
        add(s, START, view.start);
    s->durable_count = s->change_count;
    if (s->log) {
        ck_assert_int_eq(view.durable_leo, view.leo);
        s->epoch = kl_batch_epochs_last(view.epochs);
        if (s->epoch < 0)
            s->epoch = 0;
    }
}

/* ---- changing
 * ------------------------------------------------------------------ */

/* What the store reports as durable must survive. */
static void note_durable(struct subject *s)
{
    static struct content c;
    struct kl_store_view view;

    if (!s->log)
        return;
    kl_store_log_view(s->log, &view);
    for (int i = s->change_count; i > s->durable_count; i--) {
        if (s->changes[i - 1].type == RESET) {
            /* Nothing before it says anything of the life after it. */
            if (view.is_durable)
                s->durable_count = i;
            return;
        }
        if (s->changes[i - 1].type != APPEND)
            continue;
        content_of(s, i, &c);
        if (view.durable_leo < c.leo)
            continue;
        /* Not when a truncation behind it is what lowered the LEO to this. */
        content_of(s, s->change_count, &c);
        for (int k = 0; k < c.frame_count; k++)
            if (c.frames[k].change == &s->changes[i - 1] &&
                c.frames[k].end <= view.durable_leo)
                s->durable_count = i;
        if (s->durable_count == i)
            return;
    }
}

static void turn(struct world *w)
{
    store_fixture_turn(&w->f);
    for (int i = 0; i < LOGS; i++)
        note_durable(&w->subjects[i]);
}

static void change_append(struct world *w, struct subject *s)
{
    int count = 1 + (int)kl_base_rng_below(&w->rng, 8);
    uint32_t size = (uint32_t)kl_base_rng_below(
        &w->rng, kl_base_rng_below(&w->rng, 8) ? 100 : 1200);
    uint64_t tag = ++w->tags;
    int rc = store_fixture_append(&w->f, s->log, count, size, tag, s->epoch,
                                  w->f.wall_ms);
    struct change *c;

    w->refused += rc == KL_EDISKFULL;
    if (rc == KL_EAGAIN || rc == KL_EFAILED ||
        (rc == KL_EDISKFULL && w->is_scarce))
        return;
    ck_assert_int_eq(rc, 0);
    c = add(s, APPEND, 0);
    c->count = count;
    c->value_size = size;
    c->tag = tag;
}

static void change_truncate(struct world *w, struct subject *s)
{
    static struct content c;
    int64_t target;
    int rc, at;

    content_of(s, s->change_count, &c);
    if (c.frame_count == 0)
        return;
    at = c.frame_count - 1 -
         (int)kl_base_rng_below(&w->rng,
                                1 + (uint64_t)(kl_base_rng_below(&w->rng, 4)
                                                   ? (c.frame_count - 1) / 8
                                                   : c.frame_count - 1));
    target = c.frames[at].base;
    if (target < c.start)
        return;
    rc = kl_store_truncate(s->log, target);
    if (rc == KL_EFAILED)
        return;
    ck_assert_int_eq(rc, 0);
    add(s, TRUNCATE, target);
}

static void change_start(struct world *w, struct subject *s)
{
    struct kl_store_view view;
    int64_t target;
    int rc;

    kl_store_log_view(s->log, &view);
    if (view.durable_leo <= view.start)
        return;
    target = view.start + 1 +
             (int64_t)kl_base_rng_below(
                 &w->rng, (uint64_t)(view.durable_leo - view.start));
    rc = kl_store_set_start(s->log, target);
    if (rc == KL_EFAILED)
        return;
    ck_assert_int_eq(rc, 0);
    add(s, START, target);
}

static void change_reset(struct world *w, struct subject *s)
{
    struct kl_store_view view;
    int64_t target;
    int rc;

    kl_store_log_view(s->log, &view);
    target = (int64_t)kl_base_rng_below(&w->rng, (uint64_t)view.leo * 2 + 1);
    s->epoch += target > 0;
    rc = kl_store_reset(&s->log, target, target > 0 ? s->epoch : -1);
    if (rc == KL_EFAILED)
        return;
    ck_assert_int_eq(rc, 0);
    add(s, RESET, target);
}

static void change(struct world *w, struct subject *s)
{
    uint64_t dice = kl_base_rng_below(&w->rng, 100);

    if (!s->log) {
        if (kl_store_failure(w->f.store, NULL))
            return;
        s->log = store_fixture_create(&w->f, &s->id, s->flush,
                                      8192 + kl_base_rng_below(&w->rng, 8192));
        s->epoch = 0;
        add(s, CREATE, 0);
    } else if (dice < 80) {
        change_append(w, s);
    } else if (dice < 88) {
        change_truncate(w, s);
    } else if (dice < 92) {
        change_start(w, s);
    } else if (dice < 96) {
        if (kl_store_start_epoch(s->log, s->epoch + 1) == 0) {
            s->epoch++;
            add(s, EPOCH, 0);
        }
    } else if (dice < 97) {
        change_reset(w, s);
    } else if (dice < 98) {
        if (kl_store_delete(s->log) == 0) {
            s->log = NULL;
            add(s, DELETE, 0);
        }
    }
}

/* Others leave so much, of what is free now or more. */
static void change_space(struct world *w, uint64_t bytes)
{
    struct sim_disk *d = w->f.disk;
    uint64_t free_now;

    if (d->capacity == 0)
        d->capacity = 1 << 30;
    ck_assert_int_eq(d->base.ops->space(&d->base, ".", &free_now), 0);
    d->capacity = d->capacity - free_now + bytes;
}

static void reopen(struct world *w)
{
    int rc;

    for (int i = 0; i < LOGS; i++)
        w->subjects[i].log = NULL;
    rc = store_fixture_open(&w->f);
    if (rc == KL_EDISKFULL && w->is_scarce) {
        store_fixture_crash(&w->f);
        change_space(w, 1 << 20);
        rc = store_fixture_open(&w->f);
    }
    ck_assert_msg(rc == 0, "open: %s", w->f.error.text);
    for (int i = 0; i < LOGS; i++)
        check_subject(w, &w->subjects[i]);
}

enum ending {
    KILL,          /* all that was written stays */
    FAILING_CALLS, /* the same, but from a call on none reaches the disk */
    POWER_CUT
};

static void end(struct world *w, enum ending ending)
{
    struct sim_choice choice = {.number = kl_base_rng_next(&w->rng)};

    choice.profile = (enum sim_profile)(choice.number % SIM_PROFILES);
    choice.fate =
        (enum sim_fate)(SIM_FATE_LOST + choice.number / SIM_PROFILES %
                                            (SIM_FATES - SIM_FATE_LOST));
    if (ending != FAILING_CALLS && kl_base_rng_below(&w->rng, 4) == 0) {
        if (w->is_scarce)
            change_space(w, 2 << 20); /* else it may wait for ever */
        store_fixture_close(&w->f);
        for (int i = 0; i < LOGS; i++)
            w->subjects[i].durable_count = w->subjects[i].change_count;
    } else if (ending == POWER_CUT) {
        store_fixture_cut_power(&w->f, choice);
    } else {
        store_fixture_crash(&w->f);
        trace_vfs_heal(&w->f.trace);
    }
}

/* Space comes and goes, and what waits for it is tried again. */
static void change_scarcity(struct world *w)
{
    if (kl_base_rng_below(&w->rng, 20) == 0)
        change_space(w, kl_base_rng_below(&w->rng, kl_base_rng_below(&w->rng, 2)
                                                       ? 50000
                                                       : 3 << 20));
    if (kl_base_rng_below(&w->rng, 10) == 0)
        w->f.now_ns += 600000000;
}

enum { SIMULATED = 1, SCARCE = 2 };

static int run(uint64_t seed, enum ending ending, int flags)
{
    static struct world w;

    memset(&w, 0, sizeof w);
    store_fixture_init(&w.f);
    if (flags & SIMULATED) {
        store_fixture_simulate(&w.f, seed);
        w.f.sim.stall_chance = 1000;
    }
    w.is_scarce = (flags & SCARCE) != 0;
    w.seed = seed;
    kl_base_rng_seed(&w.rng, seed);
    w.f.config.cache_bytes_max = kl_base_rng_below(&w.rng, 3) * 8192;
    w.f.config.file_max = kl_base_rng_below(&w.rng, 2) ? 4 : 64;
    for (int i = 0; i < LOGS; i++) {
        w.subjects[i].id = store_fixture_id(i / 2, i);
        /* What is written only is not what a power cut leaves. */
        w.subjects[i].flush = i == 3 && ending != POWER_CUT
                                  ? KL_STORE_FLUSH_INTERVAL
                                  : KL_STORE_FLUSH_COMMIT;
    }
    reopen(&w);
    for (int round = 0; round < 12; round++) {
        int steps = 1 + (int)kl_base_rng_below(&w.rng, 60);

        if (ending == FAILING_CALLS)
            trace_vfs_cut(&w.f.trace, kl_base_rng_below(&w.rng, 120));
        for (int i = 0; i < steps; i++) {
            change(&w, &w.subjects[kl_base_rng_below(&w.rng, LOGS)]);
            if (w.is_scarce)
                change_scarcity(&w);
            if (kl_base_rng_below(&w.rng, 3) == 0)
                turn(&w);
        }
        end(&w, ending);
        reopen(&w);
        if (kl_base_rng_below(&w.rng, 3) == 0) {
            /* Once more: what open did must be durable by itself. */
            store_fixture_crash(&w.f);
            reopen(&w);
        }
    }
    store_fixture_deinit(&w.f);
    return w.refused;
}

START_TEST(store_survives_kills)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run((uint64_t)_i * 1000 + seed, KILL, 0);
}
END_TEST

START_TEST(store_survives_power_cuts_between_calls)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run((uint64_t)_i * 1000 + 500 + seed, FAILING_CALLS, 0);
}
END_TEST

/* The same with lanes that run beside each other, and sometimes stall. */
START_TEST(simulated_store_survives)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run((uint64_t)_i * 1000 + seed, (enum ending)_i, SIMULATED);
}
END_TEST

START_TEST(store_survives_want_of_space)
{
    int refused = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++)
        refused += run((uint64_t)_i * 1000 + 700 + seed,
                       _i % 2 ? POWER_CUT : KILL, SIMULATED | SCARCE);
    ck_assert_int_gt(refused, 100);
}
END_TEST

/* ---- the checker itself ---------------------------------------------------
 */

static struct world judged;

static int is_taken(struct subject *s)
{
    struct kl_store_view view;

    return find_prefix(&judged, s, &view) >= s->durable_count;
}

/* A log of five changes, all durable: the start is the last of them. */
static struct subject *make_judged(enum kl_store_flush flush)
{
    struct world *w = &judged;
    struct subject *s = &w->subjects[0];

    memset(w, 0, sizeof *w);
    store_fixture_init(&w->f);
    kl_base_rng_seed(&w->rng, 1);
    s->id = store_fixture_id(0, 0);
    s->flush = flush;
    ck_assert_int_eq(store_fixture_open(&w->f), 0);
    s->log = store_fixture_create(&w->f, &s->id, flush, 8192);
    add(s, CREATE, 0);
    for (int i = 0; i < 3; i++) {
        change_append(w, s);
        store_fixture_settle(&w->f);
    }
    ck_assert_int_eq(kl_store_set_start(s->log, 1), 0);
    add(s, START, 1);
    store_fixture_close(&w->f);
    ck_assert_int_eq(store_fixture_open(&w->f), 0);
    s->durable_count = s->change_count;
    ck_assert(is_taken(s));
    return s;
}

START_TEST(bad_histories_are_refused)
{
    struct subject *s = make_judged(KL_STORE_FLUSH_COMMIT);
    struct subject good = *s;

    s->changes[2].tag++; /* other values */
    ck_assert(!is_taken(s));
    *s = good;
    s->changes[2].value_size++;
    ck_assert(!is_taken(s));
    *s = good;
    s->changes[1].count++; /* the same end, other batches */
    s->changes[2].count--;
    ck_assert(!is_taken(s));
    *s = good;
    s->changes[4].offset = 2; /* another start */
    ck_assert(!is_taken(s));
    *s = good;
    s->change_count = s->durable_count = 3; /* a record nobody wrote */
    ck_assert(!is_taken(s));
    *s = good;
    add(s, APPEND, 0)->count = 1;
    ck_assert(is_taken(s));
    s->durable_count++; /* a record that is lost */
    ck_assert(!is_taken(s));
    *s = good;
    add(s, TRUNCATE, 1);
    s->durable_count++;
    ck_assert(!is_taken(s));
    *s = good;
    add(s, DELETE, 0);
    ck_assert(is_taken(s));
    s->durable_count++; /* a deleted log that is back */
    ck_assert(!is_taken(s));
    *s = good;
    s->id = store_fixture_id(3, 3); /* a log that is gone */
    ck_assert(!is_taken(s));
    store_fixture_deinit(&judged.f);
}
END_TEST

/* The record before the start is lost: only of an interval log may the start be
 * ahead of it, and only at a known place. */
START_TEST(start_that_is_ahead)
{
    enum kl_store_flush flush =
        _i ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT;
    struct subject *s = make_judged(flush);

    s->durable_count = 4;
    s->changes[4] = (struct change){.type = APPEND, .count = 1};
    add(s, START, 1);
    ck_assert_int_eq(is_taken(s), flush == KL_STORE_FLUSH_INTERVAL);
    s->changes[5].offset = 2;
    ck_assert(!is_taken(s));
    store_fixture_deinit(&judged.f);
}
END_TEST

Suite *suite_store_model(void);

Suite *suite_store_model(void)
{
    Suite *suite = suite_create("store_model");
    TCase *tcase = tcase_create("model");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, store_survives_kills, 0, 4);
    tcase_add_loop_test(tcase, store_survives_power_cuts_between_calls, 0, 4);
    tcase_add_loop_test(tcase, simulated_store_survives, KILL, POWER_CUT + 1);
    tcase_add_loop_test(tcase, store_survives_want_of_space, 0, 4);
    tcase_add_test(tcase, bad_histories_are_refused);
    tcase_add_loop_test(tcase, start_that_is_ahead, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
