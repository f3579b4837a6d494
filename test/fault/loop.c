/*
 * One run with one fault, and what must hold after it.
 */
#include "loop.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

const struct loop_fault loop_faults[] = {
    {.code = 0},
    {.code = 0, .is_lasting = 1},
    {.code = KL_EIO},
    {.code = KL_EIO, .is_lasting = 1},
    {.code = KL_EIO, .is_short = 1},
    {.code = KL_EDISKFULL},
    {.code = KL_EDISKFULL, .is_lasting = 1},
    {.code = KL_EDISKFULL, .is_lasting = 1, .has_syncs = 1},
    {.code = KL_EDISKFULL, .is_short = 1},
    {.code = KL_EDISKFULL, .is_short = 1, .is_lasting = 1},
    {.code = KL_ENOFILES},
    {.code = KL_ENOFILES, .is_lasting = 1},
    {.code = KL_ENOMEM},
    {.code = KL_ENOMEM, .is_lasting = 1},
    {.code = KL_EACCESS},
    {.code = KL_EACCESS, .is_lasting = 1},
    {.code = KL_ENOENT, .is_lasting = 1},
    {.code = KL_EUNSUPPORTED, .is_lasting = 1},
    {.code = KL_EBUSY},
};

const int loop_fault_count = sizeof loop_faults / sizeof *loop_faults;

struct loop
{
    struct work w;           /* first: its hooks find the loop */
    struct fail_alloc plain; /* of the caller; never fails */
    const struct loop_fault *fault;
    uint64_t nth;
    uint64_t met; /* faults so far */
    char name[128];
};

static void loop_set_name(struct loop *l)
{
    snprintf(l->name, sizeof l->name, "%s, %s %s%s, point %llu",
             l->w.scenario->name,
             l->fault->code ? kl_error_name(l->fault->code) : "no memory",
             l->fault->is_lasting ? "for ever" : "once",
             l->fault->is_short ? ", short" : "", (unsigned long long)l->nth);
    l->w.where = l->name;
}

static uint64_t loop_met(struct loop *l)
{
    return l->w.f.alloc.failed + trace_vfs_failed(&l->w.f.trace);
}

/* The store waits until it has passed. */
static int loop_is_passing(const struct loop_fault *fault)
{
    return fault->code == 0 || fault->code == KL_EDISKFULL ||
           fault->code == KL_ENOFILES || fault->code == KL_ENOMEM;
}

static void loop_arm(struct loop *l)
{
    struct trace_vfs_fault fault = {
        .kinds = trace_vfs_kinds_of(l->fault->code),
        .nth = l->nth,
        .code = l->fault->code,
        .is_lasting = l->fault->is_lasting,
        .is_short = l->fault->is_short,
    };

    if (fault.is_short)
        fault.kinds = 1u << TRACE_VFS_WRITE;
    else if (fault.is_lasting && !l->fault->has_syncs &&
             (fault.code == KL_EDISKFULL || fault.code == KL_ENOMEM))
        fault.kinds &= ~(uint32_t)TRACE_VFS_SYNCS;
    l->w.is_faulty = 1;
    l->w.is_missing = l->fault->code == KL_ENOENT;
    l->w.model.is_unordered = loop_is_passing(l->fault);
    if (fault.code) {
        trace_vfs_arm(&l->w.f.trace, &fault);
    } else {
        fail_alloc_arm(&l->w.f.alloc, l->nth);
        l->w.f.alloc.fail_after = l->fault->is_lasting;
    }
}

/* The first kind of call that was failed, for messages. */
static const char *loop_kind(const struct loop *l)
{
    int kind = 0;

    while (kind < TRACE_VFS_ANY && !(l->w.f.trace.failed_kinds & 1u << kind))
        kind++;
    return kind < TRACE_VFS_ANY ? trace_vfs_kind_name((enum trace_vfs_kind)kind)
                                : "allocation";
}

static void loop_heal(struct loop *l)
{
    size_t length = strlen(l->name);

    l->met = loop_met(l);
    snprintf(l->name + length, sizeof l->name - length, " (%s)", loop_kind(l));
    l->w.is_faulty = l->w.is_missing = 0;
    trace_vfs_heal(&l->w.f.trace);
    fail_alloc_arm(&l->w.f.alloc, 0);
}

/* ---- hooks ----------------------------------------------------------------
 */

/* What passes is waited out, but where a sync says it; that there are no
 * descriptors no sync says, only what it begins with. */
static void loop_check_failure(struct loop *l)
{
    const struct trace_vfs *t = &l->w.f.trace;
    struct kl_base_error error;

    if (loop_is_passing(l->fault) &&
        (l->fault->code == KL_ENOFILES || !(t->failed_kinds & TRACE_VFS_SYNCS)))
        ck_assert_msg(kl_store_failure(l->w.f.store, &error) == 0,
                      "%s (%s): failed: %s", l->name, loop_kind(l), error.text);
}

static void loop_after(struct work *w, const char *what)
{
    (void)what;
    loop_check_failure((struct loop *)w);
    model_note(&w->model, w->f.store);
}

static void loop_check_model(struct loop *l, const char *when)
{
    char why[512];

    ck_assert_msg(model_check(&l->w.model, &l->w.f, 1, why, sizeof why),
                  "%s: %s: %s", l->name, when, why);
}

/* What was lost with a store that had failed is not there for what follows. */
static void loop_opened(struct work *w)
{
    struct loop *l = (struct loop *)w;
    struct trace_vfs_fault fault = w->f.trace.fault;
    struct fail_alloc alloc = w->f.alloc;

    if (loop_met(l) == 0)
        return;
    trace_vfs_heal(&w->f.trace);
    w->f.alloc.fail_at = 0;
    loop_check_model(l, "reopened within the scenario");
    model_settle(&w->model);
    trace_vfs_arm(&w->f.trace, &fault);
    w->f.alloc.fail_at = alloc.fail_at;
    w->f.alloc.calls = alloc.calls;
}

/* ---- afterwards ------------------------------------------------------------
 */

/* Longer than the pauses between two tries of anything. */
static void loop_wait(struct work *w)
{
    for (int i = 0; i < 15; i++) {
        work_turn(w, 3);
        w->f.now_ns += 100000000;
    }
    work_settle(w);
}

/* The fault is gone and the store has not failed: it does all that is asked,
 * and has lost nothing. */
static void loop_goes_on(struct loop *l)
{
    struct work *w = &l->w;

    loop_wait(w);
    for (int i = 0; i < MODEL_LOGS; i++) {
        if (!w->model.logs[i].handle)
            continue;
        if (!work_append(w, i, 1, 200)) {
            loop_wait(w); /* too much on its way */
            ck_assert_msg(work_append(w, i, 1, 200), "%s: append refused",
                          l->name);
        }
    }
    loop_wait(w);
    model_note_all(&w->model);
    loop_check_model(l, "goes on");
}

/* Also a store that has failed serves what was durable. */
static void loop_reads(struct loop *l, const struct model_log *m)
{
    struct kl_store_read read;
    int64_t offset = m->handle->start, end = m->handle->durable_leo;

    while (offset < end) {
        store_fixture_read(&l->w.f, m->handle, offset, end, 8192, &read);
        ck_assert_msg(read.code == 0 && read.slice_count > 0,
                      "%s: log %d: reading %lld of %lld in a failed store: %s",
                      l->name, m->id.partition, (long long)offset,
                      (long long)end, kl_error_name(read.code));
        offset = read.next_offset;
        kl_store_read_release(&read);
    }
}

static void loop_check_open_store(struct loop *l)
{
    struct work *w = &l->w;

    w->is_faulty = kl_store_failure(w->f.store, NULL) != 0;
    work_turn(w, 5);
    if (kl_store_failure(w->f.store, NULL) == 0)
        loop_goes_on(l);
    else
        for (int i = 0; i < MODEL_LOGS; i++)
            if (w->model.logs[i].handle)
                loop_reads(l, &w->model.logs[i]);
    w->is_faulty = 0;
}

static void loop_check(struct loop *l)
{
    struct work *w = &l->w;

    /* A file that was missed is damage until it is opened again. */
    if (w->f.store && l->fault->code != KL_ENOENT)
        loop_check_open_store(l);
    work_crash(w);
    w->opened = NULL;
    for (int twice = 0; twice < 2; twice++) {
        work_open(w);
        loop_check_model(l, "reopened");
        model_settle(&w->model);
        loop_goes_on(l);
        work_crash(w);
    }
}

static uint64_t loop_once(const struct work_scenario *scenario,
                          const struct loop_fault *fault, uint64_t nth)
{
    static struct loop l;
    struct work *w = &l.w;

    work_init(w, scenario);
    l.fault = fault;
    l.nth = nth;
    loop_set_name(&l);
    fail_alloc_init(&l.plain);
    w->f.caller = l.plain.alloc;
    w->f.memory->ops->free(w->f.memory);
    ck_assert_int_eq(kl_os_vfs_memory_new(&w->f.memory, &kl_base_alloc_libc, 0),
                     0);
    w->f.trace.inner = w->f.memory;
    w->after = loop_after;
    w->opened = loop_opened;
    if (!scenario->is_format)
        work_open(w);
    if (scenario->prepare)
        scenario->prepare(w);
    loop_arm(&l);
    if (scenario->is_format)
        work_open(w);
    scenario->run(w);
    loop_heal(&l);
    loop_check(&l);
    store_fixture_deinit(&w->f);
    fail_alloc_deinit(&l.plain);
    return l.met;
}

uint64_t loop_run(const struct work_scenario *scenario,
                  const struct loop_fault *fault, uint64_t stride)
{
    uint64_t points = 0;

    for (uint64_t nth = 1; loop_once(scenario, fault, nth); nth += stride)
        points++;
    return points;
}
