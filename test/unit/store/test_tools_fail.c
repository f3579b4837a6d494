/*
 * Memory or descriptors that are short while a damaged folder is looked at or
 * saved: the tool says so, or finds exactly what is there to be found. What
 * passes is never told as damage, and never as less of it.
 */
#include "salvage_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fx wal.fx

enum { RECORDS = 60 };

/* ---- folders ------------------------------------------------------------- */

static void segment_path(const struct kl_store_id *id, int index, char *out)
{
    char name[32];

    snprintf(name, sizeof name, "%020d.seg", index);
    snprintf(out, 256, "%s", inspect_path(&fx, id, name));
}

/* A group that is lost from its header on, before another one. */
static void lost_group(void)
{
    struct kl_store_position at;

    salv.a = store_fixture_reopen(&fx, &salv.durable);
    salv.b = kl_store_find(fx.store, &salv.loose);
    at = fx.store->wal.next;
    store_fixture_fill(&fx, salv.a, 3, SALVAGE_SIZE, 1);
    wal_idle();
    store_fixture_fill(&fx, salv.a, 2, SALVAGE_SIZE, 1);
    wal_idle();
    store_fixture_crash(&fx);
    wal_spoil(&at, KL_STORE_BLOCK, 20, WAL_FLIP);
}

/* The same, but only a frame of it. */
static void lost_frame(void)
{
    struct kl_store_group_header h;
    struct kl_store_position at;

    salv.a = store_fixture_reopen(&fx, &salv.durable);
    at = fx.store->wal.next;
    store_fixture_fill(&fx, salv.a, 3, SALVAGE_SIZE, 1);
    wal_idle();
    free(wal_group_at(&at, &h));
    store_fixture_fill(&fx, salv.a, 2, SALVAGE_SIZE, 1);
    wal_idle();
    store_fixture_crash(&fx);
    wal_spoil(&at, h.size,
              KL_STORE_GROUP_HEADER + 3 * KL_STORE_ENTRY_HEADER + 100,
              WAL_FLIP);
}

static void lost_slots(void)
{
    salvage_lose_slots();
}

static void bad_frame(void)
{
    salvage_damage(&salv.durable, 2, 90);
    salvage_damage(&salv.loose, 3, 90);
}

static void bad_headers(void)
{
    char path[256];

    segment_path(&salv.durable, 0, path);
    inspect_flip(&fx, path, 30);
    inspect_flip(&fx, inspect_path(&fx, &salv.loose, "manifest"), 60);
    inspect_flip(&fx, "data/checkpoint.a", 40);
}

static void missing_segment(void)
{
    char path[256];

    segment_path(&salv.durable, 0, path);
    store_fixture_unlink(&fx, path);
    store_fixture_unlink(&fx, inspect_path(&fx, &salv.durable, "manifest"));
}

static void bad_small_files(void)
{
    inspect_flip(&fx, "data/quorum.a", 40);
    inspect_flip(
        &fx, inspect_path(&fx, &salv.durable, "00000000000000000000.idx"), 9);
    store_fixture_save(&fx, "data/snapshots/x.new", "x", 1);
}

static void (*const spoil[])(void) = {
    lost_group,  lost_frame,      lost_slots,     bad_frame,
    bad_headers, missing_segment, bad_small_files};
enum { FOLDERS = sizeof spoil / sizeof *spoil };

static void make(int index)
{
    wal_teardown();
    salvage_setup();
    salvage_fill(RECORDS);
    store_fixture_crash(&fx);
    spoil[index]();
    trace_vfs_allow_owner(&fx.trace, 1);
}

/* ---- failing ------------------------------------------------------------- */

/* The nth allocation (0) or opening of a file (1) from now on fails. */
static void make_fail(int what, uint64_t n)
{
    fail_alloc_arm(&fx.alloc, what == 0 ? n : 0);
    if (what == 1)
        trace_vfs_fail(&fx.trace, TRACE_VFS_OPEN, n, KL_ENOFILES);
    fx.alloc.failed = fx.trace.failed = 0;
}

/* Heals; whether something has failed. */
static int failed(void)
{
    int is_failed = fx.alloc.failed + trace_vfs_failed(&fx.trace) > 0;

    fail_alloc_arm(&fx.alloc, 0);
    trace_vfs_heal(&fx.trace);
    return is_failed;
}

static void expect_passing(int rc, const struct kl_base_error *error)
{
    ck_assert_msg(rc == KL_ENOMEM || rc == KL_ENOFILES, "%d: %s", rc,
                  error->text);
}

/* Up to max findings; the code of what failed or 0. */
static int look(struct kl_store_finding *items, size_t max, size_t *count_out,
                struct kl_base_error *error)
{
    struct kl_store_inspect *in = NULL;
    int rc = kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data");

    *count_out = 0;
    kl_base_error_clear(error);
    if (rc == 0)
        rc = kl_store_inspect_open(in, 0, error);
    while (rc == 0) {
        ck_assert_uint_lt(*count_out, max);
        rc = kl_store_inspect_verify(in, &items[*count_out], error);
        *count_out += rc == 0;
    }
    kl_store_inspect_free(in);
    return rc == KL_EEND ? 0 : rc;
}

static int is_same(const struct kl_store_finding *a,
                   const struct kl_store_finding *b)
{
    return a->kind == b->kind && a->severity == b->severity &&
           strcmp(a->file, b->file) == 0 && a->has_log == b->has_log &&
           a->from == b->from && a->end == b->end &&
           a->position == b->position && a->size == b->size;
}

START_TEST(looking)
{
    static struct kl_store_finding all[INSPECT_FINDINGS],
        some[INSPECT_FINDINGS];
    struct kl_base_error error;
    size_t count, seen;

    make(_i);
    ck_assert_int_eq(look(all, INSPECT_FINDINGS, &count, &error), 0);
    ck_assert_uint_gt(count, 0);
    for (int what = 0; what < 2; what++)
        for (uint64_t n = 1, more = 1; more; n++) {
            int rc;

            make_fail(what, n);
            rc = look(some, INSPECT_FINDINGS, &seen, &error);
            more = (uint64_t)failed();
            if (rc) {
                expect_passing(rc, &error);
                continue;
            }
            ck_assert_msg(seen == count, "%d, %llu: %zu findings, not %zu",
                          what, (unsigned long long)n, seen, count);
            for (size_t i = 0; i < count; i++)
                ck_assert_msg(is_same(&some[i], &all[i]), "%d, %llu: %s", what,
                              (unsigned long long)n, some[i].file);
        }
}
END_TEST

START_TEST(saving)
{
    struct salvage_help wanted;
    char path[32];
    int number = 0;

    make(_i);
    ck_assert_msg(salvage_try("saved") == 0, "%s", salv.error.text);
    wanted = salv;
    for (int what = 0; what < 2; what++)
        for (uint64_t n = 1, more = 1; more; n++) {
            int rc;

            snprintf(path, sizeof path, "saved.%d", number++);
            make_fail(what, n);
            rc = salvage_try(path);
            more = (uint64_t)failed();
            if (rc) {
                expect_passing(rc, &salv.error);
                continue;
            }
            ck_assert_msg(salv.count == wanted.count,
                          "%d, %llu: %zu losses, not %zu", what,
                          (unsigned long long)n, salv.count, wanted.count);
            for (size_t i = 0; i < salv.count; i++)
                ck_assert(salv.lost[i].from == wanted.lost[i].from &&
                          salv.lost[i].end == wanted.lost[i].end &&
                          salv.lost[i].why == wanted.lost[i].why);
        }
}
END_TEST

Suite *suite_store_tools_fail(void);

Suite *suite_store_tools_fail(void)
{
    Suite *suite = suite_create("store_tools_fail");
    TCase *t = tcase_create("tools_fail");

    tcase_add_checked_fixture(t, salvage_setup, salvage_teardown);
    tcase_add_loop_test(t, looking, 0, FOLDERS);
    tcase_add_loop_test(t, saving, 0, FOLDERS);
    suite_add_tcase(suite, t);
    return suite;
}
