/*
 * The model that judges crash images, judged itself: it takes a store that is
 * what it should be, and refuses it as soon as the history is another one.
 */
#include "work.h"

#include <check.h>
#include <string.h>

enum { COMMIT, INTERVAL };

static struct work w;
static const struct work_scenario planted = {.name = "planted"};
static char why[512];

static void turn(void)
{
    work_turn(&w, 30);
    model_note(&w.model, w.f.store);
}

static void reopen(void)
{
    work_crash(&w);
    work_open(&w);
}

/* Both kinds of log with frames of several sizes, epochs and a start. */
static void setup(void)
{
    work_init(&w, &planted);
    work_open(&w);
    work_create(&w, COMMIT, KL_STORE_FLUSH_COMMIT, 8192);
    work_create(&w, INTERVAL, KL_STORE_FLUSH_INTERVAL, 8192);
    for (int i = 0; i < 4; i++) {
        work_append(&w, COMMIT, 1 + i % 3, 50);
        work_append(&w, INTERVAL, 1 + i % 2, 50);
        turn();
    }
    work_epoch(&w, COMMIT);
    work_append(&w, COMMIT, 2, 60);
    turn();
    work_start(&w, COMMIT, 1);
    turn();
    reopen();
}

static void teardown(void)
{
    work_crash(&w);
    store_fixture_deinit(&w.f);
}

static struct model_log *log_of(int log)
{
    return &w.model.logs[log];
}

/* The change of this type, counted from the last one. */
static struct model_change *change_of(int log, enum model_type type, int from)
{
    struct model_log *m = log_of(log);

    for (int i = m->count; i > 0; i--)
        if (m->changes[i - 1].type == type && from-- == 0)
            return &m->changes[i - 1];
    ck_abort_msg("no such change");
    return NULL;
}

static void check_good(void)
{
    ck_assert_msg(model_check(&w.model, &w.f, 1, why, sizeof why), "%s", why);
}

static void check_bad(const char *text)
{
    ck_assert_msg(!model_check(&w.model, &w.f, 1, why, sizeof why), "taken");
    ck_assert_msg(strstr(why, text) != NULL, "\"%s\" says: %s", text, why);
}

START_TEST(good_history)
{
    check_good();
    ck_assert_int_eq(log_of(COMMIT)->matched, log_of(COMMIT)->count);
    ck_assert_int_eq(log_of(INTERVAL)->matched, log_of(INTERVAL)->count);
}
END_TEST

START_TEST(log_that_never_was)
{
    log_of(COMMIT)->count = 0;
    check_bad("a log that never was");
}
END_TEST

START_TEST(end_that_is_not_durable)
{
    work_append(&w, COMMIT, 1, 50);
    check_bad("not all of it is durable");
}
END_TEST

START_TEST(start_that_is_not_durable)
{
    ck_assert_int_eq(kl_store_set_start(log_of(COMMIT)->handle, 2), 0);
    check_bad("not all of it is durable");
}
END_TEST

START_TEST(record_that_cannot_be_read)
{
    char path[KL_STORE_PATH_MAX];

    kl_store_path_segment(log_of(COMMIT)->handle, 0, "seg", path);
    store_fixture_patch(&w.f, path, KL_STORE_BLOCK + 300, "damage", 6);
    w.f.config.cache_bytes_max = 0;
    work_stop(&w);
    work_open(&w);
    check_bad("reading");
}
END_TEST

START_TEST(frame_that_does_not_verify)
{
    struct kl_store_log *log = log_of(COMMIT)->handle;
    struct kl_store_entry *e;

    /* The start is moved there, so that it is read from memory. */
    work_append(&w, COMMIT, 1, 50);
    turn();
    work_start(&w, COMMIT, log->leo - 1 - log->start);
    turn();
    ck_assert_ptr_ne(log->work->cached.next, &log->work->cached);
    e = KL_BASE_CONTAINER(log->work->cached.prev, struct kl_store_entry, order);
    e->chunk->data[e->size - 1] ^= 1;
    check_bad("a bad frame");
    e->chunk->data[e->size - 1] ^= 1;
    check_good();
}
END_TEST

START_TEST(other_values)
{
    change_of(COMMIT, MODEL_APPEND, 1)->hash ^= 1;
    check_bad("fits none");
    change_of(COMMIT, MODEL_APPEND, 1)->hash ^= 1;
    check_good();
    change_of(INTERVAL, MODEL_APPEND, 0)->hash ^= 1;
    check_bad("fits none");
}
END_TEST

/* The same records in other batches. */
START_TEST(other_frames)
{
    change_of(COMMIT, MODEL_APPEND, 1)->offset++;
    check_bad("fits none");
}
END_TEST

START_TEST(record_that_is_lost)
{
    struct model_change *c =
        model_add(&w.model, log_of(COMMIT), MODEL_APPEND,
                  store_fixture_view(log_of(COMMIT)->handle).leo + 1);

    check_good(); /* it may be lost */
    w.model.durable = c->sequence;
    check_bad("fits none");
}
END_TEST

START_TEST(record_that_nobody_wrote)
{
    log_of(COMMIT)->count =
        (int)(change_of(COMMIT, MODEL_APPEND, 0) - log_of(COMMIT)->changes);
    w.model.durable = 0;
    check_bad("fits none");
}
END_TEST

START_TEST(truncation_that_is_undone)
{
    struct model_change *c =
        model_add(&w.model, log_of(COMMIT), MODEL_TRUNCATE, 3);

    check_good();
    w.model.durable = c->sequence;
    check_bad("fits none");
}
END_TEST

START_TEST(start_that_moved_by_itself)
{
    change_of(COMMIT, MODEL_START, 0)->offset++;
    check_bad("fits none");
}
END_TEST

START_TEST(other_epochs)
{
    change_of(COMMIT, MODEL_EPOCH, 0)->epoch++;
    change_of(COMMIT, MODEL_APPEND, 0)->epoch++;
    /* The records of the frame are the same, its epoch is not. */
    check_bad("fits none");
    change_of(COMMIT, MODEL_APPEND, 0)->hash--;
    check_bad("fits none");
}
END_TEST

START_TEST(epoch_that_is_forgotten)
{
    struct model_change *c =
        model_add(&w.model, log_of(COMMIT), MODEL_EPOCH,
                  store_fixture_view(log_of(COMMIT)->handle).leo);

    c->epoch = w.model.epoch + 1;
    check_good();
    w.model.durable = c->sequence;
    check_bad("fits none");
}
END_TEST

START_TEST(deleted_log_that_is_back)
{
    struct model_change *c =
        model_add(&w.model, log_of(COMMIT), MODEL_DELETE, 0);

    check_good();
    w.model.durable = c->sequence;
    check_bad("fits none");
}
END_TEST

START_TEST(log_that_is_gone)
{
    ck_assert_int_eq(kl_store_delete(log_of(COMMIT)->handle), 0);
    log_of(COMMIT)->handle = NULL;
    work_turn(&w, 30);
    reopen();
    check_bad("exists 0");
}
END_TEST

START_TEST(log_of_the_other_kind)
{
    struct model_log *m = log_of(INTERVAL);

    for (int i = 0; i < m->count; i++)
        m->changes[i].flush = KL_STORE_FLUSH_COMMIT;
    check_bad("fits none");
}
END_TEST

START_TEST(interval_log_that_ends_too_early)
{
    struct model_log *m = log_of(INTERVAL);
    int64_t leo = store_fixture_view(m->handle).leo;

    m->written = leo + 1;
    check_bad("fits none");
    m->written = leo;
    m->synced = leo + 1; /* of no weight after a kill, but after a cut */
    check_good();
    ck_assert(!model_check(&w.model, &w.f, 0, why, sizeof why));
    m->synced = leo;
    ck_assert(model_check(&w.model, &w.f, 0, why, sizeof why));
}
END_TEST

START_TEST(interval_log_that_holds_too_much)
{
    struct model_log *m = log_of(INTERVAL);

    m->count = (int)(change_of(INTERVAL, MODEL_APPEND, 0) - m->changes);
    w.model.durable = 0;
    check_bad("fits none");
}
END_TEST

/* The start of an interval log may be ahead of its records, but only at a
 * place where it was once put. */
START_TEST(interval_log_with_a_start_of_its_own)
{
    struct model_log *m = log_of(INTERVAL);
    struct kl_store_log *log = m->handle;
    struct model_change *c;

    ck_assert_int_eq(kl_store_set_start(log, 2), 0);
    work_turn(&w, 30);
    reopen();
    m->written = m->synced = 0;
    check_bad("fits none");
    c = model_add(&w.model, m, MODEL_START, 3);
    check_bad("fits none");
    c->offset = 2;
    check_good();
}
END_TEST

/* What was dropped with its log need not be there, whatever is durable. */
START_TEST(change_that_was_dropped)
{
    struct model_log *m = log_of(COMMIT);

    model_add(&w.model, m, MODEL_TRUNCATE, 3);
    model_add(&w.model, m, MODEL_DELETE, 0);
    w.model.durable = w.model.sequence - 1;
    check_good();
    w.model.durable = w.model.sequence;
    check_bad("fits none");
}
END_TEST

Suite *suite_fault_sweep_model(void);

Suite *suite_fault_sweep_model(void)
{
    Suite *suite = suite_create("fault_sweep_model");
    TCase *t = tcase_create("planted");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, good_history);
    tcase_add_test(t, log_that_never_was);
    tcase_add_test(t, end_that_is_not_durable);
    tcase_add_test(t, start_that_is_not_durable);
    tcase_add_test(t, record_that_cannot_be_read);
    tcase_add_test(t, frame_that_does_not_verify);
    tcase_add_test(t, other_values);
    tcase_add_test(t, other_frames);
    tcase_add_test(t, record_that_is_lost);
    tcase_add_test(t, record_that_nobody_wrote);
    tcase_add_test(t, truncation_that_is_undone);
    tcase_add_test(t, start_that_moved_by_itself);
    tcase_add_test(t, other_epochs);
    tcase_add_test(t, epoch_that_is_forgotten);
    tcase_add_test(t, deleted_log_that_is_back);
    tcase_add_test(t, log_that_is_gone);
    tcase_add_test(t, log_of_the_other_kind);
    tcase_add_test(t, interval_log_that_ends_too_early);
    tcase_add_test(t, interval_log_that_holds_too_much);
    tcase_add_test(t, interval_log_with_a_start_of_its_own);
    tcase_add_test(t, change_that_was_dropped);
    suite_add_tcase(suite, t);
    return suite;
}
