/*
 * Groups of the write-ahead log that are lost: a log is what later entries of
 * its own prove it to be. And groups that contradict what is known, with every
 * checksum right: open refuses them and changes nothing.
 */
#include "sim_disk.h"
#include "wal_help.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kl_store_id other;
static struct kl_store_log *second;

static void setup(void)
{
    wal_setup();
    other = store_fixture_id(1, 0);
}

/* The entries of a group cannot be told any more. */
static void lose(const struct kl_store_position *p)
{
    store_fixture_crash(&wal.fx);
    wal_spoil(p, KL_STORE_BLOCK, KL_STORE_GROUP_HEADER + 8, WAL_FLIP);
}

/* Five records in a store made anew. */
static void begin(void)
{
    wal_teardown();
    setup();
    store_fixture_fill(&wal.fx, wal.subject, 5, 300, 1);
    wal_commit();
}

/* Opens with the nth allocation (0) or the nth call for files (1) failing;
 * returns 1 where there was none any more. */
static int open_failing(int what, uint64_t n)
{
    uint64_t failed;
    int rc;

    if (what == 0)
        fail_alloc_arm(&wal.fx.alloc, n);
    else
        trace_vfs_cut(&wal.fx.trace, n);
    failed = trace_vfs_failed(&wal.fx.trace);
    rc = store_fixture_open(&wal.fx);
    ck_assert(rc == 0 || rc == (what == 0 ? KL_ENOMEM : KL_EIO));
    failed = trace_vfs_failed(&wal.fx.trace) - failed + wal.fx.alloc.failed;
    fail_alloc_arm(&wal.fx.alloc, 0);
    wal.fx.alloc.failed = 0;
    trace_vfs_heal(&wal.fx.trace);
    if (rc == 0)
        return failed == 0;
    store_fixture_crash(&wal.fx);
    ck_assert_msg(store_fixture_open(&wal.fx) == 0, "%s", wal.fx.error.text);
    return 0;
}

static void expect_lost(struct kl_store_log *log, int64_t from, int64_t to)
{
    struct kl_store_read read;

    for (int64_t at = from; at < to; at++) {
        store_fixture_read(&wal.fx, log, at, to, 8192, &read);
        ck_assert_int_eq(read.code, KL_ECORRUPT);
        ck_assert_uint_eq(read.slice_count, 0);
        kl_store_read_release(&read);
    }
}

/* ---- what was in it ------------------------------------------------------ */

/* A log was made in the lost group; its records came later. Whatever fails, an
 * open that succeeds has them. */
START_TEST(creation)
{
    struct kl_store_position at;

    for (uint64_t n = 1, done = 0; !done; n++) {
        begin();
        at = wal.fx.store->wal.next;
        second = store_fixture_create(&wal.fx, &other, KL_STORE_FLUSH_COMMIT,
                                      1 << 20);
        wal_idle();
        ck_assert_uint_ne(wal.fx.store->wal.next.sequence, at.sequence);
        store_fixture_fill(&wal.fx, second, 3, 200, 2);
        store_fixture_fill(&wal.fx, wal.subject, 1, 300, 1);
        wal_commit();
        lose(&at);
        done = (uint64_t)open_failing(_i, n);
        second = kl_store_find(wal.fx.store, &other);
        ck_assert_msg(second, "%llu", (unsigned long long)n);
        store_fixture_expect(&wal.fx, second, 0, 3, 200, 2);
        ck_assert_int_eq(store_fixture_view(second).leo, 3);
        ck_assert(!store_fixture_view(second).is_suspect);
        wal.subject = kl_store_find(wal.fx.store, &wal.id);
        store_fixture_expect(&wal.fx, wal.subject, 0, 6, 300, 1);
        ck_assert(!done ||
                  kl_store_verdict(wal.fx.store) == KL_STORE_VERDICT_DAMAGED);
        store_fixture_fill(&wal.fx, second, 2, 200, 2);
        store_fixture_close(&wal.fx);
        second = store_fixture_reopen(&wal.fx, &other);
        store_fixture_expect(&wal.fx, second, 0, 5, 200, 2);
    }
}
END_TEST

/* Nobody knows where the log was cut: none of what was there before can be
 * believed. Its segment is kept aside, what came later is there. */
START_TEST(truncation)
{
    struct kl_store_position at;

    for (uint64_t n = 1, done = 0; !done; n++) {
        begin();
        store_fixture_settle(&wal.fx);
        kl_store_checkpoint_request(wal.fx.store);
        store_fixture_settle(&wal.fx);
        at = wal.fx.store->wal.next;
        ck_assert_int_eq(kl_store_truncate(wal.subject, 2), 0);
        wal_commit();
        wal_idle();
        store_fixture_fill(&wal.fx, wal.subject, 1, 300, 2);
        wal_commit();
        lose(&at);
        done = (uint64_t)open_failing(_i, n);
        for (int i = 0; i < 2; i++) {
            wal.subject = kl_store_find(wal.fx.store, &wal.id);
            ck_assert_ptr_nonnull(wal.subject);
            ck_assert_int_eq(store_fixture_view(wal.subject).leo, 3);
            expect_lost(wal.subject, 0, 2);
            store_fixture_expect(&wal.fx, wal.subject, 2, 3, 300, 2);
            store_fixture_crash(&wal.fx);
            ck_assert_int_eq(store_fixture_open(&wal.fx), 0);
        }
        ck_assert_int_ge(
            store_fixture_count(&wal.fx, "data/quarantine", ".seg"), 1);
        wal.subject = kl_store_find(wal.fx.store, &wal.id);
        store_fixture_fill(&wal.fx, wal.subject, 2, 300, 2);
        store_fixture_expect(&wal.fx, wal.subject, 2, 5, 300, 2);
    }
}
END_TEST

/* Only what is durable can be deleted: the lost group had it. */
START_TEST(records_that_were_deleted_since)
{
    struct kl_store_position at;

    begin();
    at = wal.fx.store->wal.next;
    store_fixture_fill(&wal.fx, wal.subject, 3, 300, 1);
    wal_commit();
    ck_assert_int_eq(kl_store_set_start(wal.subject, 8), 0);
    wal_idle();
    lose(&at);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    ck_assert_int_eq(store_fixture_view(wal.subject).start, 8);
    ck_assert_int_eq(store_fixture_view(wal.subject).leo, 8);
    ck_assert(store_fixture_view(wal.subject).is_suspect);
    wal.fx.open_flags = KL_STORE_OPEN_ACCEPT_LOSS;
    store_fixture_crash(&wal.fx);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    store_fixture_fill(&wal.fx, wal.subject, 2, 300, 3);
    store_fixture_expect(&wal.fx, wal.subject, 8, 10, 300, 3);
}
END_TEST

/* The log was deleted in the lost group and made again behind it. */
START_TEST(deletion)
{
    struct kl_store_position at;

    begin();
    at = wal.fx.store->wal.next;
    ck_assert_int_eq(kl_store_delete(wal.subject), 0);
    wal_idle();
    wal.subject =
        store_fixture_create(&wal.fx, &wal.id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    store_fixture_fill(&wal.fx, wal.subject, 2, 200, 2);
    wal_commit();
    lose(&at);
    wal.subject = store_fixture_reopen(&wal.fx, &wal.id);
    ck_assert_int_eq(store_fixture_view(wal.subject).leo, 2);
    ck_assert(!store_fixture_view(wal.subject).is_suspect);
    store_fixture_expect(&wal.fx, wal.subject, 0, 2, 200, 2);
}
END_TEST

/* ---- what passes is not damage ------------------------------------------- */

static struct sim_disk *copy_of(struct sim_disk *d)
{
    struct sim_choice kept = {.fate = SIM_FATE_KEPT};
    struct sim_disk *copy = sim_disk_crash(d, kept);

    wal.fx.memory = wal.fx.trace.inner = &copy->base;
    return copy;
}

/* An open that ends well after no memory was left (0), or no descriptor (1), at
 * some point has all five records, and a clean folder is clean. */
static void expect_all_whatever_fails(struct sim_disk *image, int is_clean)
{
    for (int what = 0; what < 2; what++)
        for (uint64_t n = 1, failed = 1; failed; n++) {
            struct sim_disk *copy = copy_of(image);
            uint64_t before = trace_vfs_failed(&wal.fx.trace);
            int rc;

            fail_alloc_arm(&wal.fx.alloc, what == 0 ? n : 0);
            if (what == 1)
                trace_vfs_fail(&wal.fx.trace, TRACE_VFS_OPEN, n, KL_ENOFILES);
            wal.fx.alloc.failed = 0;
            rc = store_fixture_open(&wal.fx);
            failed =
                trace_vfs_failed(&wal.fx.trace) - before + wal.fx.alloc.failed;
            fail_alloc_arm(&wal.fx.alloc, 0);
            trace_vfs_heal(&wal.fx.trace);
            if (rc == 0) {
                wal.subject = kl_store_find(wal.fx.store, &wal.id);
                ck_assert_ptr_nonnull(wal.subject);
                store_fixture_expect(&wal.fx, wal.subject, 0, 5, 300, 1);
                ck_assert(!is_clean || kl_store_verdict(wal.fx.store) ==
                                           KL_STORE_VERDICT_CLEAN);
            }
            store_fixture_crash(&wal.fx);
            sim_disk_free(copy);
        }
}

/* On a disk that can be copied; five records in a group, then in a segment. */
static void begin_on_disk(void)
{
    wal_teardown();
    store_fixture_init(&wal.fx);
    wal.fx.memory->ops->free(wal.fx.memory);
    wal.fx.disk = NULL;
    wal.fx.memory = wal.fx.trace.inner = &sim_disk_new(0)->base;
    wal.fx.config.ring_bytes = 1 << 20;
    ck_assert_int_eq(store_fixture_open(&wal.fx), 0);
    wal.subject =
        store_fixture_create(&wal.fx, &wal.id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    wal_idle();
}

/* Frames that were written behind are kept aside before the segment is cut; an
 * open that is killed then leaves them nowhere else. */
START_TEST(frames_kept_aside)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    struct sim_disk *image;
    int seen = 0;

    begin_on_disk();
    at = wal.fx.store->wal.next;
    store_fixture_fill(&wal.fx, wal.subject, 5, 300, 1);
    wal_commit();
    free(wal_group_at(&at, &h));
    store_fixture_settle(&wal.fx);
    wal_idle();
    store_fixture_crash(&wal.fx);
    for (uint32_t from = 1; from <= 5; from++)
        wal_spoil(&at, h.size,
                  KL_STORE_GROUP_HEADER + 5 * KL_STORE_ENTRY_HEADER +
                      from * 350,
                  WAL_FLIP);
    image = (struct sim_disk *)wal.fx.memory;
    for (uint64_t n = 1;; n++) {
        struct sim_disk *copy = copy_of(image);
        int rc;

        trace_vfs_cut(&wal.fx.trace, n);
        rc = store_fixture_open(&wal.fx);
        trace_vfs_heal(&wal.fx.trace);
        store_fixture_crash(&wal.fx);
        if (rc &&
            store_fixture_count(&wal.fx, "data/quarantine", ".frame") > 0 &&
            n % 8 == 0) {
            expect_all_whatever_fails(copy, 0);
            seen++;
        }
        sim_disk_free(copy);
        if (rc == 0)
            break;
    }
    ck_assert_int_gt(seen, 2);
    wal.fx.memory = wal.fx.trace.inner = &image->base;
}
END_TEST

/* The newer slot says that all is well; without it, recovery would start with
 * the older one. */
START_TEST(clean_folder)
{
    struct sim_disk *image;

    begin_on_disk();
    store_fixture_fill(&wal.fx, wal.subject, 5, 300, 1);
    store_fixture_close(&wal.fx);
    image = (struct sim_disk *)wal.fx.memory;
    expect_all_whatever_fails(image, 1);
    wal.fx.memory = wal.fx.trace.inner = &image->base;
}
END_TEST

/* ---- contradictions ------------------------------------------------------ */

struct contradiction
{
    void (*make)(void); /* what writes the entry */
    void (*change)(struct kl_store_entry_header *e);
    int code;
};

static void make_cut(void)
{
    ck_assert_int_eq(kl_store_truncate(wal.subject, 5), 0);
}

static void make_start(void)
{
    ck_assert_int_eq(kl_store_set_start(wal.subject, 4), 0);
}

static void make_epoch(void)
{
    ck_assert_int_eq(kl_store_start_epoch(wal.subject, 5), 0);
}

static void make_log(void)
{
    second =
        store_fixture_create(&wal.fx, &other, KL_STORE_FLUSH_COMMIT, 1 << 20);
}

static void cut_above(struct kl_store_entry_header *e)
{
    e->offset = 1000;
}

static void cut_below(struct kl_store_entry_header *e)
{
    e->offset = 1;
}

static void cut_inside(struct kl_store_entry_header *e)
{
    e->offset = 6;
}

static void start_above(struct kl_store_entry_header *e)
{
    e->offset = 1000;
}

static void epoch_in_the_past(struct kl_store_entry_header *e)
{
    e->offset = 1;
}

static void unknown_kind(struct kl_store_entry_header *e)
{
    e->type = KL_STORE_ENTRY_EXTENT;
}

static void unknown_flush(struct kl_store_entry_header *e)
{
    e->flags = KL_STORE_FLUSH_INTERVAL + 1;
}

static void there_already(struct kl_store_entry_header *e)
{
    e->id = wal.id;
}

static const struct contradiction contradictions[] = {
    {make_cut, cut_above, KL_ECORRUPT},
    {make_cut, cut_below, KL_ECORRUPT},
    {make_cut, cut_inside, KL_ECORRUPT},
    {make_start, start_above, KL_ECORRUPT},
    {make_epoch, epoch_in_the_past, KL_ECORRUPT},
    {make_epoch, unknown_kind, KL_EFORMAT},
    {make_log, unknown_flush, KL_ECORRUPT},
    {make_log, there_already, KL_ECORRUPT},
};

/* The first entry of the group at p, in a group that is whole. */
static void change_entry(const struct kl_store_position *p,
                         void (*change)(struct kl_store_entry_header *e))
{
    struct kl_store_group_header h;
    struct kl_store_entry_header e;
    uint8_t *data = wal_group_at(p, &h);
    char path[KL_STORE_PATH_MAX];

    kl_store_path_wal(wal.fx.store, p->file, path);
    store_fixture_crash(&wal.fx);
    ck_assert_int_eq(kl_store_entry_decode(data + KL_STORE_GROUP_HEADER, &e),
                     0);
    change(&e);
    kl_store_entry_encode(data + KL_STORE_GROUP_HEADER, &e);
    kl_store_group_encode(data, &h);
    store_fixture_patch(&wal.fx, path, p->offset, data, h.size);
    free(data);
}

/* A batch of three from 5 on, a start at 2, then the entry. */
START_TEST(contradiction)
{
    const struct contradiction *c = &contradictions[_i];
    struct kl_store_position at;
    uint64_t before;

    begin();
    ck_assert_int_eq(store_fixture_append(&wal.fx, wal.subject, 3, 100, 9, 1,
                                          wal.fx.wall_ms),
                     0);
    ck_assert_int_eq(kl_store_set_start(wal.subject, 2), 0);
    wal_commit();
    wal_idle();
    at = wal.fx.store->wal.next;
    c->make();
    store_fixture_turn(&wal.fx);
    store_fixture_turn(&wal.fx);
    change_entry(&at, c->change);
    before = store_fixture_hash(&wal.fx);
    ck_assert_int_eq(store_fixture_open(&wal.fx), c->code);
    ck_assert_msg(strstr(wal.fx.error.text, "/wal/"), "%s", wal.fx.error.text);
    store_fixture_crash(&wal.fx);
    ck_assert_uint_eq(store_fixture_hash(&wal.fx), before);
}
END_TEST

/* Of a frame that is bad only the header counts, and that may be wrong too. */
START_TEST(contradiction_of_a_frame)
{
    struct kl_store_position at;
    struct kl_store_group_header h;

    begin();
    at = wal.fx.store->wal.next;
    store_fixture_fill(&wal.fx, wal.subject, 1, 100, 1);
    wal_commit();
    store_fixture_fill(&wal.fx, wal.subject, 1, 100, 1);
    wal_commit();
    free(wal_group_at(&at, &h));
    change_entry(&at, _i ? cut_above : cut_below);
    ck_assert_int_eq(store_fixture_open(&wal.fx), KL_ECORRUPT);
    ck_assert_msg(strstr(wal.fx.error.text, "/wal/"), "%s", wal.fx.error.text);
}
END_TEST

Suite *suite_store_wal_lost(void);

Suite *suite_store_wal_lost(void)
{
    enum { CONTRADICTIONS = sizeof contradictions / sizeof *contradictions };
    Suite *suite = suite_create("store_wal_lost");
    TCase *t = tcase_create("wal_lost");

    tcase_add_checked_fixture(t, setup, wal_teardown);
    tcase_add_loop_test(t, creation, 0, 2);
    tcase_add_loop_test(t, truncation, 0, 2);
    tcase_add_test(t, records_that_were_deleted_since);
    tcase_add_test(t, deletion);
    tcase_add_test(t, frames_kept_aside);
    tcase_add_test(t, clean_folder);
    tcase_add_loop_test(t, contradiction, 0, CONTRADICTIONS);
    tcase_add_loop_test(t, contradiction_of_a_frame, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
