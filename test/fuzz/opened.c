/*
 * Using a store that may be damaged in any way.
 */
#include "opened.h"

#include "base/hash.h"

enum {
    OPENED_READS = 40, /* of one log; a made-up end may be far away */
    OPENED_TURNS = 400
};

/* Codes that say what is wrong with the files, with a text. */
static void opened_check_refusal(struct store_fixture *f, int rc)
{
    switch (rc) {
    case KL_ECORRUPT:
    case KL_EFORMAT:
    case KL_ENOSTORE:
    case KL_EFOREIGN:
    case KL_EIO:
    case KL_ENOENT:
        FUZZ_CHECK(f->error.code == rc && f->error.text[0]);
        break;
    default:
        fuzz_fail(__FILE__, __LINE__, f->error.text);
    }
}

int opened_open(struct store_fixture *f, const struct edit *e)
{
    int rc;

    edit_install(e, f);
    rc = store_fixture_open(f);
    if (rc)
        opened_check_refusal(f, rc);
    FUZZ_CHECK(e->count > 0 || (rc == 0 && kl_store_verdict(f->store) !=
                                               KL_STORE_VERDICT_DAMAGED));
    return rc;
}

/* ---- reading ------------------------------------------------------------- */

struct opened_log
{
    struct kl_store_log *log;
    struct kl_store_view view;
    const struct image *image; /* NULL = frames may be made up */
    int known;                 /* number of the log in the image */
};

static void opened_check_frame(const struct opened_log *o, const uint8_t *frame,
                               uint32_t size, const struct kl_batch_info *info)
{
    FUZZ_CHECK(info->last_offset >= o->view.start);
    FUZZ_CHECK(info->last_offset < o->view.leo);
    if (o->image)
        FUZZ_CHECK(o->known >= 0 && image_has_frame(o->image, o->known, frame,
                                                    size, info->base_offset));
}

static void opened_check_slice(const struct opened_log *o,
                               const struct kl_store_slice *slice,
                               int64_t *next)
{
    const uint8_t *p = slice->data;
    uint32_t left = slice->size;
    struct kl_batch_info info;

    while (left > 0) {
        FUZZ_CHECK(kl_batch_frame_verify(p, left, kl_store_log_seed(o->log),
                                         &info) == 0);
        FUZZ_CHECK(info.base_offset <= *next && info.last_offset >= *next);
        opened_check_frame(o, p, info.frame_size, &info);
        *next = info.last_offset + 1;
        p += info.frame_size;
        left -= info.frame_size;
    }
}

/* The offset to go on at. */
static int64_t opened_read_once(struct store_fixture *f,
                                const struct opened_log *o, int64_t offset,
                                uint32_t bytes)
{
    struct kl_store_read read;
    int64_t next = offset;

    store_fixture_read(f, o->log, offset, o->view.leo, bytes, &read);
    switch (read.code) {
    case 0:
    case KL_ECORRUPT:
    case KL_EFORMAT:
    case KL_EIO:
    case KL_ENOENT:
    case KL_EFAILED:
        break;
    default:
        fuzz_fail(__FILE__, __LINE__, kl_base_error_lookup(read.code)->name);
    }
    for (uint32_t i = 0; i < read.slice_count; i++)
        opened_check_slice(o, &read.slices[i], &next);
    if (read.code == 0 && read.slice_count > 0)
        FUZZ_CHECK(read.next_offset == next);
    /* What is lost is told exactly, and there is something behind it. */
    if (read.code == KL_ECORRUPT) {
        FUZZ_CHECK(read.next_offset > offset);
        next = read.next_offset;
    }
    kl_store_read_release(&read);
    return next > offset ? next : offset + 1;
}

static void opened_look(struct kl_store_log *log, struct opened_log *o,
                        const struct image *image, int is_genuine)
{
    o->log = log;
    o->image = is_genuine ? image : NULL;
    o->known = image_log_of(kl_store_log_id(log));
    kl_store_log_view(log, &o->view);
    FUZZ_CHECK(o->view.start >= 0 && o->view.start <= o->view.leo);
    FUZZ_CHECK(o->view.durable_leo <= o->view.leo);
    FUZZ_CHECK(!is_genuine || o->known >= 0);
}

void opened_read(struct store_fixture *f, const struct image *image,
                 int is_genuine)
{
    struct kl_store_log *log;
    struct opened_log o;

    for (log = kl_store_next(f->store, NULL); log;
         log = kl_store_next(f->store, log)) {
        int64_t offset;
        int reads = 0;

        opened_look(log, &o, image, is_genuine);
        for (offset = o.view.start; offset < o.view.leo && reads < OPENED_READS;
             reads++)
            offset = opened_read_once(f, &o, offset, 300u * (reads % 4u));
    }
}

/* An interval log whose manifest and segments are both damaged may end at what
 * is left of it once more when the process is killed. */
static int opened_may_end(const struct edit *e, const struct kl_store_log *log)
{
    return store_fixture_view(log).flush == KL_STORE_FLUSH_INTERVAL &&
           edit_count(e, "/logs/04") > 1;
}

/* ---- going on ------------------------------------------------------------ */

static void opened_look_up(struct store_fixture *f, struct kl_store_log *log)
{
    struct kl_store_view view = store_fixture_view(log);
    int64_t offset;
    int rc = store_fixture_lookup(f, log, f->wall_ms - 100, view.leo, &offset);

    if (rc == 0)
        FUZZ_CHECK(offset >= view.start && offset < view.leo);
}

/* One record that nobody else writes, readable at once and for ever. */
static void opened_append(struct store_fixture *f, struct kl_store_log *log)
{
    struct kl_store_view before = store_fixture_view(log), after;
    int32_t epoch = kl_batch_epochs_last(before.epochs);
    int rc;

    /* Nobody counts that far; a made-up end may be there. */
    if (before.leo > INT64_MAX - 1000)
        return;
    rc = store_fixture_append(f, log, 1, 50, 1000000, epoch < 0 ? 0 : epoch,
                              f->wall_ms);
    after = store_fixture_view(log);
    FUZZ_CHECK(after.leo == before.leo + (rc == 0));
}

static void opened_end(struct store_fixture *f, int is_crash)
{
    for (int i = 0; i < 4; i++)
        store_fixture_turn(f);
    if (!is_crash) {
        kl_store_stop(f->store);
        for (int i = 0; i < OPENED_TURNS && !kl_store_is_stopped(f->store); i++)
            store_fixture_turn(f);
        FUZZ_CHECK(kl_store_is_stopped(f->store));
    }
}

struct opened_end
{
    struct kl_store_id id;
    int64_t leo; /* that must be there again */
};

enum { OPENED_ENDS = 4 * IMAGE_LOGS };

static size_t opened_ends(struct store_fixture *f,
                          struct opened_end ends[OPENED_ENDS])
{
    struct kl_store_log *log;
    size_t count = 0;

    for (log = kl_store_next(f->store, NULL); log && count < OPENED_ENDS;
         log = kl_store_next(f->store, log)) {
        ends[count].id = *kl_store_log_id(log);
        ends[count++].leo = store_fixture_view(log).durable_leo;
    }
    return kl_store_failure(f->store, NULL) ? 0 : count;
}

void opened_go_on(struct store_fixture *f, const struct edit *e, int is_genuine,
                  int is_crash)
{
    struct opened_end ends[OPENED_ENDS];
    struct kl_store_log *log;
    size_t count;
    int rc;

    for (log = kl_store_next(f->store, NULL); log;
         log = kl_store_next(f->store, log)) {
        opened_look_up(f, log);
        opened_append(f, log);
    }
    opened_end(f, is_crash);
    count = opened_ends(f, ends);
    store_fixture_crash(f);
    rc = store_fixture_open(f);
    if (rc)
        opened_check_refusal(f, rc);
    FUZZ_CHECK(rc == 0 || e->count > 0);
    for (size_t i = 0; i < count && rc == 0 && is_genuine; i++) {
        log = kl_store_find(f->store, &ends[i].id);
        FUZZ_CHECK(log && (store_fixture_view(log).leo >= ends[i].leo ||
                           opened_may_end(e, log)));
    }
}
