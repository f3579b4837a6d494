/*
 * Telling what folders and single files hold; and the content of a log as it
 * can be had.
 */
#include "base/endian.h"
#include "inspect_help.h"
#include "need.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id durable;
static struct kl_store_id loose;

/* What a run has told. */
static struct
{
    int counts[KL_STORE_DUMP_INDEX + 1];
    int64_t next;     /* offsets of frames follow each other from here */
    int64_t lost;     /* how many */
    int64_t from_wal; /* frames that are in the WAL alone */
    int pause;        /* leaves the run at every event, once */
    int paused;
    struct kl_store_dump_event last;
    struct kl_base_error error;
} told;

static void set_up(void)
{
    struct kl_store_log *a, *b;

    store_fixture_init(&fx);
    durable = store_fixture_id(0, 0);
    loose = store_fixture_id(1, 3);
    need_ok(store_fixture_open(&fx));
    a = store_fixture_create(&fx, &durable, KL_STORE_FLUSH_COMMIT, 16 * 1024);
    b = store_fixture_create(&fx, &loose, KL_STORE_FLUSH_INTERVAL, 16 * 1024);
    for (int i = 0; i < 10; i++) {
        store_fixture_fill(&fx, a, 10, 500, 1);
        store_fixture_fill(&fx, b, 10, 500, 2);
        store_fixture_settle(&fx);
    }
    store_fixture_close(&fx);
}

static void tear_down(void)
{
    store_fixture_deinit(&fx);
}

static int tell(const struct kl_store_dump_event *e, void *user)
{
    (void)user;
    if (told.pause && !told.paused && e->type != KL_STORE_DUMP_LOST) {
        told.paused = 1;
        return KL_EAGAIN;
    }
    told.paused = 0;
    told.counts[e->type]++;
    told.last = *e;
    if (e->type == KL_STORE_DUMP_LOST) {
        ck_assert_int_eq(e->lost.from, told.next);
        told.lost += e->lost.end - e->lost.from;
        told.next = e->lost.end;
    }
    if (e->type == KL_STORE_DUMP_FRAME) {
        ck_assert_int_eq(e->frame->info->base_offset, told.next);
        told.next = e->frame->info->last_offset + 1;
        told.from_wal += e->frame->segment < 0;
    }
    return 0;
}

static void run(struct kl_store_dump *d)
{
    int rc;

    do
        rc = kl_store_dump_run(d);
    while (rc == KL_EAGAIN);
    need_ok(rc);
    need_ok(kl_store_dump_run(d)); /* nothing more */
    kl_store_dump_free(d);
}

static void tell_again(int pause)
{
    memset(&told, 0, sizeof told);
    told.pause = pause;
}

/* what, or with an id that log. */
static void dump(enum kl_store_dump_what what, const struct kl_store_id *id,
                 int pause)
{
    struct kl_store_inspect *in;
    struct kl_store_dump *d;
    uint64_t before = store_fixture_hash(&fx);

    tell_again(pause);
    need_ok(kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data"));
    need_ok(kl_store_inspect_open(in, 0, &told.error));
    need_ok(id ? kl_store_dump_log(&d, in, id, tell, NULL)
               : kl_store_dump_new(&d, in, what, tell, NULL));
    run(d);
    kl_store_inspect_free(in);
    ck_assert_uint_eq(store_fixture_hash(&fx), before);
}

static void dump_file(const char *path, int pause)
{
    struct kl_store_dump *d;

    tell_again(pause);
    need_ok(kl_store_dump_file(&d, &fx.alloc.alloc, &fx.trace.base, path, tell,
                               NULL, &told.error));
    run(d);
}

/* ---- folders ------------------------------------------------------------- */

START_TEST(folder)
{
    dump(KL_STORE_DUMP_FOLDER, NULL, _i);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_IDENTITY], 1);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_SLOT], 2);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_LOG], 2);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_SEGMENT], 6);
    ck_assert_int_eq(told.last.segment.end, 100); /* as the slot knows */
}
END_TEST

START_TEST(folder_without_checkpoints)
{
    inspect_flip(&fx, "data/checkpoint.a", 40);
    inspect_flip(&fx, "data/checkpoint.b", 40);
    inspect_flip(&fx, "data/identity", 40);
    dump(KL_STORE_DUMP_FOLDER, NULL, 0);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_IDENTITY], 0);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_SLOT], 2);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_LOG], 2);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_SEGMENT], 6);
}
END_TEST

START_TEST(ring)
{
    struct kl_store_log *log = store_fixture_reopen(&fx, &durable);

    store_fixture_fill(&fx, log, 5, 100, 1);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    dump(KL_STORE_DUMP_WAL, NULL, _i);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_GROUP], 3);
    ck_assert_int_ge(told.counts[KL_STORE_DUMP_ENTRY], 5);
    /* Also where nobody says who the folder is. */
    inspect_flip(&fx, "data/identity", 40);
    inspect_flip(&fx, "data/checkpoint.a", 40);
    inspect_flip(&fx, "data/checkpoint.b", 40);
    dump(KL_STORE_DUMP_WAL, NULL, _i);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_GROUP], 3);
    ck_assert_int_ge(told.counts[KL_STORE_DUMP_ENTRY], 5);
}
END_TEST

START_TEST(log_with_its_frames)
{
    dump(0, _i & 2 ? &loose : &durable, _i & 1);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_LOG], 1);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_SEGMENT], 3);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_FRAME], 100);
    ck_assert_int_eq(told.next, 100);
    ck_assert_int_eq(told.lost, 0);
}
END_TEST

START_TEST(log_with_an_end_in_the_wal)
{
    struct kl_store_log *log = store_fixture_reopen(&fx, &durable);

    store_fixture_fill(&fx, log, 5, 100, 1);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    dump(0, &durable, _i);
    ck_assert_int_eq(told.next, 105);
    ck_assert_int_eq(told.from_wal, 5);
    ck_assert_int_eq(told.lost, 0);
}
END_TEST

START_TEST(log_with_damage)
{
    const char *path = inspect_path(&fx, &durable, "00000000000000000000.seg");
    struct kl_batch_info info;
    uint64_t first = inspect_frame(&fx, path, &durable, 3, &info);
    uint64_t second = inspect_frame(&fx, path, &durable, 7, &info);

    inspect_flip(&fx, path, first + 100);
    inspect_flip(&fx, path, second + 10);
    dump(0, &durable, _i);
    ck_assert_int_eq(told.next, 100);
    ck_assert_int_eq(told.lost, 2);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_LOST], 2);
    store_fixture_unlink(&fx, path);
    dump(0, &durable, _i);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_LOST], 1);
    ck_assert_int_eq(told.next, 100);
}
END_TEST

START_TEST(log_that_is_not_there)
{
    struct kl_store_inspect *in;
    struct kl_store_dump *d;
    struct kl_store_id id = store_fixture_id(7, 0);

    need_ok(kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data"));
    need_ok(kl_store_inspect_open(in, 0, &told.error));
    ck_assert_int_eq(kl_store_dump_log(&d, in, &id, tell, NULL), KL_ENOTOPIC);
    kl_store_inspect_free(in);
}
END_TEST

/* ---- single files ---------------------------------------------------------
 */

START_TEST(file_identity_and_checkpoint)
{
    dump_file("data/identity", _i);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_IDENTITY], 1);
    dump_file("data/checkpoint.b", _i);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_SLOT], 1);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_LOG], 2);
}
END_TEST

START_TEST(file_manifest_and_index)
{
    dump_file(inspect_path(&fx, &durable, "manifest"), _i);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_SEGMENT], 3);
    ck_assert_int_eq(memcmp(&told.last.segment.id, &durable, sizeof durable),
                     0);
    dump_file(inspect_path(&fx, &durable, "00000000000000000000.idx"), _i);
    ck_assert_int_gt(told.counts[KL_STORE_DUMP_INDEX], 5);
    ck_assert_int_gt(told.last.index.offset, 0);
}
END_TEST

START_TEST(file_segment)
{
    const char *path = inspect_path(&fx, &durable, "00000000000000000000.seg");
    struct kl_batch_info info;
    size_t size;
    uint8_t *data;
    int all;

    dump_file(path, _i);
    all = told.counts[KL_STORE_DUMP_FRAME];
    ck_assert_int_gt(all, 10);
    ck_assert_int_eq(told.lost, 0);
    inspect_flip(&fx, path, inspect_frame(&fx, path, &durable, 4, &info) + 99);
    dump_file(path, _i);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_FRAME], all - 1);
    ck_assert_int_eq(told.lost, 1);
    /* Without its header it is known by where it lies, and only so. */
    inspect_flip(&fx, path, 20);
    dump_file(path, _i);
    ck_assert_int_eq(told.counts[KL_STORE_DUMP_FRAME], all - 1);
    data = store_fixture_load(&fx, path, &size);
    store_fixture_save(&fx, "elsewhere", data, size);
    free(data);
    ck_assert_int_eq(kl_store_dump_file(&(struct kl_store_dump *){NULL},
                                        &fx.alloc.alloc, &fx.trace.base,
                                        "elsewhere", tell, NULL, &told.error),
                     KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(told.error.text, "elsewhere"));
}
END_TEST

START_TEST(file_of_the_ring)
{
    int groups = 0;

    for (int i = 0; i < 4; i++) {
        char path[32];

        snprintf(path, sizeof path, "data/wal/%d", i);
        dump_file(path, _i); /* some were never used */
        groups += told.counts[KL_STORE_DUMP_GROUP];
    }
    ck_assert_int_gt(groups, 5);
}
END_TEST

START_TEST(file_that_is_no_store_s)
{
    struct kl_store_dump *d;

    store_fixture_save(&fx, "letter", "dear", 4);
    store_fixture_save(&fx, "empty", "", 0);
    ck_assert_int_eq(kl_store_dump_file(&d, &fx.alloc.alloc, &fx.trace.base,
                                        "letter", tell, NULL, &told.error),
                     KL_ECORRUPT);
    ck_assert_int_eq(kl_store_dump_file(&d, &fx.alloc.alloc, &fx.trace.base,
                                        "empty", tell, NULL, &told.error),
                     KL_ECORRUPT);
    ck_assert_int_eq(kl_store_dump_file(&d, &fx.alloc.alloc, &fx.trace.base,
                                        "absent", tell, NULL, &told.error),
                     KL_ENOENT);
    /* One that is damaged says so when it is read. */
    inspect_flip(&fx, "data/identity", 40);
    need_ok(kl_store_dump_file(&d, &fx.alloc.alloc, &fx.trace.base,
                               "data/identity", tell, NULL, &told.error));
    ck_assert_int_eq(kl_store_dump_run(d), KL_ECORRUPT);
    kl_store_dump_free(d);
}
END_TEST

/* ---- memory ---------------------------------------------------------------
 */

START_TEST(without_memory)
{
    const char *path = inspect_path(&fx, &durable, "00000000000000000000.seg");
    int rc = KL_ENOMEM;

    tell_again(0);
    for (uint64_t at = 1; rc == KL_ENOMEM; at++) {
        struct kl_store_inspect *in = NULL;
        struct kl_store_dump *d = NULL;

        tell_again(0);
        fail_alloc_arm(&fx.alloc, at);
        rc = kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data");
        if (rc == 0)
            rc = kl_store_inspect_open(in, 0, &told.error);
        if (rc == 0 && _i == 0)
            rc = kl_store_dump_new(&d, in, KL_STORE_DUMP_FOLDER, tell, NULL);
        if (rc == 0 && _i == 1)
            rc = kl_store_dump_log(&d, in, &durable, tell, NULL);
        if (rc == 0 && _i == 2)
            rc = kl_store_dump_file(&d, &fx.alloc.alloc, &fx.trace.base, path,
                                    tell, NULL, &told.error);
        if (rc == 0)
            rc = kl_store_dump_run(d);
        kl_store_dump_free(d);
        kl_store_inspect_free(in);
    }
    fail_alloc_arm(&fx.alloc, 0);
    ck_assert_int_eq(rc, 0);
}
END_TEST

Suite *suite_store_dump(void);

Suite *suite_store_dump(void)
{
    Suite *s = suite_create("store_dump");
    TCase *t = tcase_create("dump");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, folder, 0, 2);
    tcase_add_test(t, folder_without_checkpoints);
    tcase_add_loop_test(t, ring, 0, 2);
    tcase_add_loop_test(t, log_with_its_frames, 0, 4);
    tcase_add_loop_test(t, log_with_an_end_in_the_wal, 0, 2);
    tcase_add_loop_test(t, log_with_damage, 0, 2);
    tcase_add_test(t, log_that_is_not_there);
    tcase_add_loop_test(t, file_identity_and_checkpoint, 0, 2);
    tcase_add_loop_test(t, file_manifest_and_index, 0, 2);
    tcase_add_loop_test(t, file_segment, 0, 2);
    tcase_add_loop_test(t, file_of_the_ring, 0, 2);
    tcase_add_test(t, file_that_is_no_store_s);
    tcase_add_loop_test(t, without_memory, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
