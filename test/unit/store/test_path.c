/*
 * Names of files, and reading and replacing small ones.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct store_fixture fx;

static void setup(void)
{
    store_fixture_init(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    trace_vfs_allow_owner(&fx.trace, 1); /* the tests are the jobs */
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

START_TEST(path_of_files)
{
    struct kl_store_id id = {{{1, 2, 3}}, 2147483647};
    struct kl_store_log *log =
        store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    char path[KL_STORE_PATH_MAX], want[200], uuid[KL_BASE_UUID_TEXT + 1];

    log->instance = 18446744073709551615u;
    kl_store_path(fx.store, NULL, path);
    ck_assert_str_eq(path, "data");
    kl_store_path(fx.store, "identity", path);
    ck_assert_str_eq(path, "data/identity");
    kl_store_path_wal(fx.store, 12, path);
    ck_assert_str_eq(path, "data/wal/12");
    kl_base_uuid_format(&id.topic_id, uuid);
    snprintf(want, sizeof want, "data/logs/%s-2147483647.18446744073709551615",
             uuid);
    kl_store_path_log(log, path);
    ck_assert_str_eq(path, want);
    kl_store_path_in_log(log, "manifest", path);
    ck_assert_mem_eq(path, want, strlen(want));
    ck_assert_str_eq(path + strlen(want), "/manifest");
    kl_store_path_segment(log, 7, "seg", path);
    ck_assert_str_eq(path + strlen(want), "/00000000000000000007.seg");
    kl_store_path_segment(log, INT64_MAX, "idx", path);
    ck_assert_str_eq(path + strlen(want), "/09223372036854775807.idx");
}
END_TEST

/* Room for every name below the folder is checked before anything is done. */
START_TEST(new_with_a_path_that_is_too_long)
{
    struct kl_store *s;
    char path[KL_STORE_PATH_MAX + 1];

    memset(path, 'x', sizeof path);
    fx.config.path = path;
    path[KL_STORE_PATH_MAX - 159] = 0;
    ck_assert_int_eq(
        kl_store_new(&s, &fx.alloc.alloc, &fx.trace.base, fx.lanes, &fx.config),
        KL_EINVAL);
    path[0] = 0;
    ck_assert_int_eq(
        kl_store_new(&s, &fx.alloc.alloc, &fx.trace.base, fx.lanes, &fx.config),
        KL_EINVAL);
    memset(path, 'x', 10);
    path[KL_STORE_PATH_MAX - 160] = 0;
    ck_assert_int_eq(
        kl_store_new(&s, &fx.alloc.alloc, &fx.trace.base, fx.lanes, &fx.config),
        0);
    kl_store_free(s);
}
END_TEST

START_TEST(file_read_whole_and_limited)
{
    struct kl_os_vfs *vfs = &fx.trace.base;
    struct kl_base_buf b;

    kl_base_buf_init(&b, &fx.alloc.alloc);
    store_fixture_save(&fx, "small", "0123456789", 10);
    ck_assert_int_eq(kl_store_file_read(vfs, "small", 10, &b), 0);
    ck_assert_uint_eq(b.size, 10);
    ck_assert_mem_eq(b.data, "0123456789", 10);
    ck_assert_int_eq(kl_store_file_read(vfs, "small", 9, &b), KL_ECORRUPT);
    ck_assert_int_eq(kl_store_file_read(vfs, "absent", 9, &b), KL_ENOENT);
    ck_assert_uint_eq(b.size, 0);
    store_fixture_save(&fx, "small", "", 0);
    ck_assert_int_eq(kl_store_file_read(vfs, "small", 9, &b), 0);
    ck_assert_uint_eq(b.size, 0);
    kl_base_buf_deinit(&b);
}
END_TEST

START_TEST(file_read_with_faults)
{
    static const enum trace_vfs_kind kinds[] = {TRACE_VFS_OPEN, TRACE_VFS_SIZE,
                                                TRACE_VFS_READ};
    struct kl_base_buf b;

    store_fixture_save(&fx, "small", "0123456789", 10);
    for (size_t i = 0; i < 3; i++) {
        kl_base_buf_init(&b, &fx.alloc.alloc);
        trace_vfs_fail(&fx.trace, kinds[i], 1, KL_EIO);
        ck_assert_int_eq(kl_store_file_read(&fx.trace.base, "small", 10, &b),
                         KL_EIO);
        kl_base_buf_deinit(&b);
    }
    trace_vfs_heal(&fx.trace);
    kl_base_buf_init(&b, &fx.alloc.alloc);
    fail_alloc_arm(&fx.alloc, 1);
    ck_assert_int_eq(kl_store_file_read(&fx.trace.base, "small", 10, &b),
                     KL_ENOMEM);
    fail_alloc_arm(&fx.alloc, 0);
    kl_base_buf_deinit(&b);
}
END_TEST

/* Whatever fails, the old content or the new one is there, never a mixture. */
START_TEST(file_replace_is_all_or_nothing)
{
    struct kl_base_buf b, now;
    uint64_t n;
    int rc = KL_EIO;

    kl_base_buf_init(&b, &fx.alloc.alloc);
    kl_base_buf_init(&now, &fx.alloc.alloc);
    kl_base_buf_append(&b, "new content", 11);
    for (n = 1; rc; n++) {
        store_fixture_save(&fx, "small", "old", 3);
        trace_vfs_cut(&fx.trace, n - 1);
        rc = kl_store_file_replace(&fx.trace.base, "small", &b);
        trace_vfs_heal(&fx.trace);
        ck_assert_int_eq(kl_store_file_read(&fx.trace.base, "small", 100, &now),
                         0);
        if (rc)
            ck_assert_mem_eq(now.data, "old", 3);
        ck_assert_uint_eq(now.size, rc ? 3 : 11);
        ck_assert_uint_lt(n, 20);
    }
    /* The first one that passes: unlink, open, write, sync, close, rename. */
    ck_assert_uint_eq(n, 8);
    ck_assert_mem_eq(now.data, "new content", 11);
    ck_assert(!store_fixture_exists(&fx, "small.new"));
    b.error = KL_ENOMEM;
    ck_assert_int_eq(kl_store_file_replace(&fx.trace.base, "small", &b),
                     KL_ENOMEM);
    kl_base_buf_deinit(&b);
    kl_base_buf_deinit(&now);
}
END_TEST

/* The new bytes are on the medium before they get the name. */
START_TEST(file_replace_syncs_before_it_renames)
{
    struct kl_base_buf b;

    kl_base_buf_init(&b, &fx.alloc.alloc);
    kl_base_buf_append(&b, "new", 3);
    store_fixture_save(&fx, "small", "old", 3);
    trace_vfs_fail(&fx.trace, TRACE_VFS_SYNC, 1, KL_EIO);
    ck_assert_int_eq(kl_store_file_replace(&fx.trace.base, "small", &b),
                     KL_EIO);
    trace_vfs_heal(&fx.trace);
    kl_base_buf_clear(&b);
    ck_assert_int_eq(kl_store_file_read(&fx.trace.base, "small", 100, &b), 0);
    ck_assert_mem_eq(b.data, "old", 3);
    kl_base_buf_deinit(&b);
}
END_TEST

Suite *suite_store_path(void);

Suite *suite_store_path(void)
{
    Suite *suite = suite_create("store_path");
    TCase *t = tcase_create("path");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, path_of_files);
    tcase_add_test(t, new_with_a_path_that_is_too_long);
    tcase_add_test(t, file_read_whole_and_limited);
    tcase_add_test(t, file_read_with_faults);
    tcase_add_test(t, file_replace_is_all_or_nothing);
    tcase_add_test(t, file_replace_syncs_before_it_renames);
    suite_add_tcase(suite, t);
    return suite;
}
