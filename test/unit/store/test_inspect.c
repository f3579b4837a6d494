/*
 * Looking at a folder without opening it: what it is, the small files, names.
 */
#include "base/endian.h"
#include "base/hash.h"
#include "inspect_help.h"
#include "need.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id durable; /* several segments */
static struct kl_store_id loose;   /* interval */

/* Two logs with segments, groups in the ring, cleanly closed. */
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

/* ---- whole folders ------------------------------------------------------- */

START_TEST(clean_folder_has_no_findings)
{
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_eq(found.stats.logs, 2);
    ck_assert_uint_gt(found.stats.segments, 6);
    ck_assert_uint_eq(found.stats.batches, 200);
    ck_assert_uint_eq(found.stats.records, 200);
    ck_assert_uint_gt(found.stats.bytes, 100 * 1024);
}
END_TEST

START_TEST(empty_store_has_no_findings)
{
    store_fixture_deinit(&fx);
    store_fixture_init(&fx);
    need_ok(store_fixture_open(&fx));
    store_fixture_close(&fx);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_eq(found.stats.logs, 0);
}
END_TEST

START_TEST(crashed_folder_has_no_findings)
{
    struct kl_store_log *log = store_fixture_reopen(&fx, &durable);

    store_fixture_fill(&fx, log, 30, 400, 1);
    store_fixture_fill(&fx, kl_store_find(fx.store, &loose), 30, 400, 1);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_gt(found.stats.groups, 0);
}
END_TEST

START_TEST(nothing_is_written)
{
    static const enum trace_vfs_kind kinds[] = {
        TRACE_VFS_WRITE,  TRACE_VFS_TRUNCATE, TRACE_VFS_ALLOCATE,
        TRACE_VFS_RENAME, TRACE_VFS_UNLINK,   TRACE_VFS_MKDIR,
        TRACE_VFS_RMDIR,  TRACE_VFS_SYNC,     TRACE_VFS_SYNC_DIR};
    uint64_t before[sizeof kinds / sizeof *kinds];

    /* Also where there is much to be put aside at open. */
    inspect_flip(&fx, inspect_path(&fx, &durable, "manifest"), 40);
    inspect_flip(&fx, "data/checkpoint.a", 40);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        before[i] = trace_vfs_count(&fx.trace, kinds[i]);
    inspect_look(&fx);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ck_assert_msg(trace_vfs_count(&fx.trace, kinds[i]) == before[i],
                      "%s was called", trace_vfs_kind_name(kinds[i]));
}
END_TEST

START_TEST(folder_in_use_is_refused)
{
    store_fixture_reopen(&fx, &durable);
    trace_vfs_allow_owner(&fx.trace, 1); /* another process, so to speak */
    ck_assert_int_eq(inspect_verify(&fx, 0), KL_EBUSY);
    ck_assert_ptr_nonnull(strstr(found.error.text, "data"));
    ck_assert_int_eq(inspect_verify(&fx, KL_STORE_INSPECT_FORCE), 0);
    inspect_is_fine();
}
END_TEST

START_TEST(looking_keeps_nodes_out)
{
    struct kl_store_inspect *in;

    need_ok(kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data"));
    need_ok(kl_store_inspect_open(in, 0, &found.error));
    ck_assert(!kl_store_inspect_is_in_use(in));
    ck_assert_int_eq(store_fixture_open(&fx), KL_EBUSY);
    store_fixture_crash(&fx);
    kl_store_inspect_free(in);
    store_fixture_reopen(&fx, &durable);
}
END_TEST

/* The code of opening a folder of this name. */
static int open_code(const char *path)
{
    struct kl_store_inspect *in;
    int rc;

    need_ok(kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, path));
    kl_base_error_clear(&found.error);
    rc = kl_store_inspect_open(in, 0, &found.error);
    kl_store_inspect_free(in);
    return rc;
}

START_TEST(what_is_no_store_is_refused)
{
    ck_assert_int_eq(open_code("nowhere"), KL_ENOSTORE);
    ck_assert_ptr_nonnull(strstr(found.error.text, "nowhere"));
    ck_assert_int_eq(open_code("data/logs"), KL_ENOSTORE);
    need_ok(fx.memory->ops->mkdir(fx.memory, "other"));
    store_fixture_save(&fx, "other/letter", "dear", 4);
    ck_assert_int_eq(open_code("other"), KL_ENOSTORE);
    ck_assert(!store_fixture_exists(&fx, "other/lock"));
}
END_TEST

/* Raises the version of a small file, with a checksum that fits. */
static void make_later(const char *path)
{
    size_t size;
    uint8_t *data = store_fixture_load(&fx, path, &size);
    uint32_t whole = kl_base_get_le32(data + 8);

    kl_base_put_le16(data + 4, kl_base_get_le16(data + 4) + 1);
    kl_base_put_le64(data + 16, kl_base_hash(data + KL_STORE_ENVELOPE,
                                             whole - KL_STORE_ENVELOPE,
                                             kl_base_get_le64(data) ^ whole));
    store_fixture_save(&fx, path, data, size);
    free(data);
}

START_TEST(later_formats_are_not_judged)
{
    const char *manifest = inspect_path(&fx, &durable, "manifest");

    make_later(manifest);
    ck_assert_int_eq(inspect_verify(&fx, 0), KL_EFORMAT);
    ck_assert_ptr_nonnull(strstr(found.error.text, "logs/"));
    make_later("data/checkpoint.b");
    ck_assert_int_eq(inspect_verify(&fx, 0), KL_EFORMAT);
    ck_assert_ptr_nonnull(strstr(found.error.text, "checkpoint.b"));
    make_later("data/identity");
    ck_assert_int_eq(inspect_verify(&fx, 0), KL_EFORMAT);
    ck_assert_ptr_nonnull(strstr(found.error.text, "identity"));
}
END_TEST

START_TEST(without_a_lock_file)
{
    store_fixture_unlink(&fx, "data/lock");
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
    ck_assert(!store_fixture_exists(&fx, "data/lock"));
}
END_TEST

/* ---- small files --------------------------------------------------------- */

START_TEST(identity_is_damaged_or_missing)
{
    const struct kl_store_finding *f;

    inspect_flip(&fx, "data/identity", 30);
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_IDENTITY, KL_STORE_DAMAGE, "identity");
    ck_assert(!f->has_log);
    ck_assert_uint_eq(f->size, 0);
    ck_assert_str_eq(f->file, "identity");
    store_fixture_unlink(&fx, "data/identity");
    inspect_look(&fx);
    inspect_only(KL_STORE_FINDING_IDENTITY, KL_STORE_DAMAGE, "identity");
}
END_TEST

START_TEST(one_checkpoint_is_enough)
{
    static const char *const slots[] = {"data/checkpoint.a",
                                        "data/checkpoint.b"};

    inspect_flip(&fx, slots[_i], 60);
    inspect_look(&fx);
    inspect_only(KL_STORE_FINDING_SLOT, KL_STORE_COVERED, slots[_i] + 5);
    store_fixture_unlink(&fx, slots[_i]);
    inspect_look(&fx);
    inspect_only(KL_STORE_FINDING_SLOT, KL_STORE_COVERED, slots[_i] + 5);
}
END_TEST

START_TEST(both_checkpoints_are_bad)
{
    inspect_flip(&fx, "data/checkpoint.a", 60);
    inspect_flip(&fx, "data/checkpoint.b", 60);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(found.items[i].kind, KL_STORE_FINDING_SLOT);
        ck_assert_int_eq(found.items[i].severity, KL_STORE_DAMAGE);
    }
    /* The logs are looked at all the same. */
    ck_assert_uint_eq(found.stats.logs, 2);
    ck_assert_uint_eq(found.stats.batches, 200);
}
END_TEST

START_TEST(manifest_is_damaged_or_missing)
{
    const struct kl_store_id *id = _i ? &loose : &durable;
    const char *path = inspect_path(&fx, id, "manifest");
    const struct kl_store_finding *f;

    inspect_flip(&fx, path, 50);
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_MANIFEST, KL_STORE_COVERED, "/manifest");
    ck_assert(f->has_log);
    ck_assert_int_eq(memcmp(&f->id, id, sizeof *id), 0);
    ck_assert_uint_eq(found.stats.batches, 200);
    store_fixture_unlink(&fx, path);
    inspect_look(&fx);
    inspect_only(KL_STORE_FINDING_MANIFEST, KL_STORE_COVERED, "/manifest");
}
END_TEST

/* ---- names --------------------------------------------------------------- */

START_TEST(names_that_are_unknown)
{
    store_fixture_save(&fx, "data/reserved", "x", 1);
    store_fixture_save(&fx, "data/identity.new", "x", 1);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_LEFTOVER);
    ck_assert_str_eq(found.items[0].file, "identity.new");
    ck_assert_int_eq(found.items[1].kind, KL_STORE_FINDING_UNKNOWN);
    ck_assert_str_eq(found.items[1].file, "reserved");
    ck_assert_uint_eq(inspect_is_fine(), 2);
}
END_TEST

START_TEST(names_that_belong_to_nothing)
{
    const char *stranger = "data/logs/00000000000000000000000000000009-0.7";

    need_ok(fx.memory->ops->mkdir(fx.memory, stranger));
    need_ok(fx.memory->ops->mkdir(fx.memory, "data/logs/words"));
    store_fixture_save(&fx, inspect_path(&fx, &durable, "manifest.new"), "x",
                       1);
    inspect_look(&fx);
    ck_assert_uint_eq(inspect_is_fine(), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(found.items[i].kind, KL_STORE_FINDING_LEFTOVER);
    ck_assert_str_eq(found.items[0].file, stranger + 5);
    ck_assert_str_eq(found.items[1].file, "logs/words");
    ck_assert(found.items[2].has_log);
}
END_TEST

START_TEST(segment_that_was_cut_off_and_came_back)
{
    const char *old = inspect_path(&fx, &durable, "00000000000000000000.seg");
    size_t size;
    uint8_t *data = store_fixture_load(&fx, old, &size);

    /* Below the last one: no segment on its way. */
    store_fixture_save(&fx,
                       inspect_path(&fx, &durable, "00000000000000000003.seg"),
                       data, size);
    free(data);
    inspect_look(&fx);
    ck_assert_uint_eq(inspect_is_fine(), 1);
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_LEFTOVER);
}
END_TEST

/* ---- what fails ---------------------------------------------------------- */

START_TEST(without_memory)
{
    int rc = KL_ENOMEM;

    inspect_flip(&fx, inspect_path(&fx, &durable, "manifest"), 50);
    for (uint64_t at = 1; rc == KL_ENOMEM; at++) {
        struct kl_store_inspect *in = NULL;
        struct kl_store_finding next;

        fail_alloc_arm(&fx.alloc, at);
        rc = kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data");
        if (rc == 0)
            rc = kl_store_inspect_open(in, 0, &found.error);
        while (rc == 0)
            rc = kl_store_inspect_verify(in, &next, &found.error);
        kl_store_inspect_free(in);
        ck_assert_uint_lt(at, 100000);
    }
    fail_alloc_arm(&fx.alloc, 0);
    ck_assert_int_eq(rc, KL_EEND);
}
END_TEST

START_TEST(folder_that_may_not_be_read)
{
    trace_vfs_fail_from(&fx.trace, TRACE_VFS_LIST, 1, KL_EACCESS);
    ck_assert_int_eq(inspect_verify(&fx, 0), KL_EACCESS);
    trace_vfs_heal(&fx.trace);
    trace_vfs_fail_from(&fx.trace, TRACE_VFS_OPEN, 2, KL_EACCESS);
    ck_assert_int_eq(inspect_verify(&fx, 0), KL_EACCESS);
    ck_assert_ptr_nonnull(strstr(found.error.text, "identity"));
    trace_vfs_heal(&fx.trace);
}
END_TEST

/* A medium that gives no byte of the segments: all of them is damaged. */
START_TEST(blocks_that_cannot_be_read)
{
    struct kl_store_inspect *in;
    struct kl_store_finding next;
    struct kl_store_inspect_stats stats;
    uint64_t damaged = 0;
    int rc;

    need_ok(kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data"));
    need_ok(kl_store_inspect_open(in, 0, &found.error));
    trace_vfs_fail_from(&fx.trace, TRACE_VFS_READ, 1, KL_EIO);
    while ((rc = kl_store_inspect_verify(in, &next, &found.error)) == 0)
        damaged += next.severity == KL_STORE_DAMAGE;
    trace_vfs_heal(&fx.trace);
    ck_assert_int_eq(rc, KL_EEND);
    kl_store_inspect_stats(in, &stats);
    ck_assert_uint_gt(stats.unreadable, 10);
    ck_assert_uint_gt(damaged, 6);
    ck_assert_uint_eq(stats.batches, 0);
    kl_store_inspect_free(in);
}
END_TEST

Suite *suite_store_inspect(void);

Suite *suite_store_inspect(void)
{
    Suite *s = suite_create("store_inspect");
    TCase *t = tcase_create("inspect");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, clean_folder_has_no_findings);
    tcase_add_test(t, empty_store_has_no_findings);
    tcase_add_test(t, crashed_folder_has_no_findings);
    tcase_add_test(t, nothing_is_written);
    tcase_add_test(t, folder_in_use_is_refused);
    tcase_add_test(t, looking_keeps_nodes_out);
    tcase_add_test(t, what_is_no_store_is_refused);
    tcase_add_test(t, later_formats_are_not_judged);
    tcase_add_test(t, without_a_lock_file);
    tcase_add_test(t, identity_is_damaged_or_missing);
    tcase_add_loop_test(t, one_checkpoint_is_enough, 0, 2);
    tcase_add_test(t, both_checkpoints_are_bad);
    tcase_add_loop_test(t, manifest_is_damaged_or_missing, 0, 2);
    tcase_add_test(t, names_that_are_unknown);
    tcase_add_test(t, names_that_belong_to_nothing);
    tcase_add_test(t, segment_that_was_cut_off_and_came_back);
    tcase_add_test(t, without_memory);
    tcase_add_test(t, folder_that_may_not_be_read);
    tcase_add_test(t, blocks_that_cannot_be_read);
    suite_add_tcase(s, t);
    return s;
}
