/*
 * The port over a host's functions: what a host gets, and what becomes of
 * wrong answers. test_vfs.c runs the tests of every file system over it.
 */
#include "base/alloc.h"
#include "fail_alloc.h"
#include "host_calls.h"
#include "os/vfs_host.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct fail_alloc alloc;
static struct kl_os_vfs *inner;
static struct kl_os_vfs *vfs;
static struct kl_os_host_calls *calls;

static void setup(void)
{
    fail_alloc_init(&alloc);
    ck_assert_int_eq(kl_os_vfs_memory_new(&inner, &kl_base_alloc_libc, 0), 0);
    ck_assert_int_eq(kl_os_vfs_host_new(&vfs, &alloc.alloc, &calls), 0);
    host_calls_fill(calls, inner);
}

static void teardown(void)
{
    vfs->ops->free(vfs);
    inner->ops->free(inner);
    fail_alloc_deinit(&alloc);
}

static struct kl_os_file *open_file(const char *path)
{
    struct kl_os_file *file = NULL;

    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file), 0);
    return file;
}

START_TEST(what_is_missing_is_named)
{
    ck_assert_ptr_null(kl_os_host_calls_missing(calls));
    calls->sync_dir = NULL;
    ck_assert_str_eq(kl_os_host_calls_missing(calls), "sync_dir");
    memset(calls, 0, sizeof *calls);
    ck_assert_str_eq(kl_os_host_calls_missing(calls), "open");
}
END_TEST

/* ---- paths -------------------------------------------------------------- */

static char seen[2][2048];

static int see_path(const char *path, void *user)
{
    snprintf(seen[0], sizeof seen[0], "%s", path);
    return *(int *)user;
}

static int see_paths(const char *from, const char *to, void *user)
{
    (void)user;
    snprintf(seen[0], sizeof seen[0], "%s", from);
    snprintf(seen[1], sizeof seen[1], "%s", to);
    return 0;
}

START_TEST(paths_are_clean)
{
    static const char *const paths[][2] = {
        {".", "."},
        {"./.", "."},
        {"", "."},
        {"/", "/"},
        {"/.", "/"},
        {"//.//", "/"},
        {"a", "a"},
        {"./a/", "a"},
        {"a/.", "a"},
        {"/a//b/./c", "/a/b/c"},
        {"a/../.b", "a/../.b"},
    };
    int rc = 0;

    calls->mkdir = see_path;
    calls->mkdir_user = &rc;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ck_assert_int_eq(vfs->ops->mkdir(vfs, paths[i][0]), 0);
        ck_assert_str_eq(seen[0], paths[i][1]);
    }
    calls->rename = see_paths;
    ck_assert_int_eq(vfs->ops->rename(vfs, "d/./a", "d//b"), 0);
    ck_assert_str_eq(seen[0], "d/a");
    ck_assert_str_eq(seen[1], "d/b");
}
END_TEST

START_TEST(a_long_path_is_refused)
{
    char path[1200];
    struct kl_os_file *file;
    uint64_t space;
    int rc = 0;

    calls->mkdir = see_path;
    calls->mkdir_user = &rc;
    memset(path, 'x', sizeof path);
    path[1022] = 0;
    ck_assert_int_eq(vfs->ops->mkdir(vfs, path), 0);
    ck_assert_str_eq(seen[0], path);
    path[1022] = 'x';
    path[1199] = 0;
    ck_assert_int_eq(vfs->ops->mkdir(vfs, path), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->open(vfs, path, KL_OS_READ, &file), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->rename(vfs, "a", path), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->rename(vfs, path, "a"), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->list(vfs, path, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->space(vfs, path, &space), KL_EINVAL);
}
END_TEST

/* ---- codes -------------------------------------------------------------- */

START_TEST(codes_of_a_host)
{
    static const int good[] = {KL_EIO,      KL_EDISKFULL, KL_ENOENT,
                               KL_EEXIST,   KL_EBUSY,     KL_EACCESS,
                               KL_ENOFILES, KL_ENOMEM,    KL_EUNSUPPORTED};
    static const int wrong[] = {1,          -1,        28,       -5,
                                KL_EAGAIN,  KL_EINVAL, KL_EEND,  KL_ECORRUPT,
                                KL_EFAILED, -2000,     INT32_MAX};
    int rc = 0;

    calls->unlink = see_path;
    calls->unlink_user = &rc;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        rc = good[i];
        ck_assert_int_eq(vfs->ops->unlink(vfs, "f"), rc);
        ck_assert_int_eq(vfs->ops->last_errno(vfs), 0);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rc = wrong[i];
        ck_assert_int_eq(vfs->ops->unlink(vfs, "f"), KL_EIO);
        ck_assert_int_eq(vfs->ops->last_errno(vfs), rc);
    }
}
END_TEST

static int fail_file(void *file, void *user)
{
    (void)file;
    return *(int *)user;
}

/* NULL is a handle like any other. */
static int open_nothing(const char *path, uint32_t flags, void **file_out,
                        void *user)
{
    (void)path;
    (void)flags;
    (void)file_out;
    (void)user;
    return 0;
}

START_TEST(a_failed_close_gives_the_file_up)
{
    struct kl_os_file *file = NULL;
    int rc = 7;

    calls->open = open_nothing;
    ck_assert_int_eq(vfs->ops->open(vfs, "f", KL_OS_READ, &file), 0);
    calls->close = fail_file;
    calls->close_user = &rc;
    ck_assert_int_eq(vfs->ops->close(file), KL_EIO);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), 7);
}
END_TEST

/* ---- reading and writing ------------------------------------------------ */

/* Gives one byte at a time, or what its user says. */
static size_t read_wrong;

static int read_slowly(void *file, void *buf, size_t size, uint64_t offset,
                       size_t *size_out, void *user)
{
    int rc = inner->ops->read(file, buf, size > 0, offset, size_out);

    (void)user;
    if (read_wrong)
        *size_out = read_wrong;
    return rc;
}

START_TEST(a_short_read_goes_on)
{
    struct kl_os_file *file = open_file("/f");
    struct kl_os_iovec iov = {"0123456789", 10};
    char buf[16];
    size_t n = 99;

    ck_assert_int_eq(vfs->ops->write(file, &iov, 1, 0, NULL), 0);
    calls->read = read_slowly;
    read_wrong = 0;
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, 1, &n), 0);
    ck_assert_uint_eq(n, 8);
    ck_assert_mem_eq(buf, "12345678", 8);
    ck_assert_int_eq(vfs->ops->read(file, buf, 16, 5, &n), 0);
    ck_assert_uint_eq(n, 5);
    /* More than was asked for is a lie. */
    read_wrong = 9;
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, 0, &n), KL_EIO);
    ck_assert_uint_eq(n, 0);
    vfs->ops->close(file);
}
END_TEST

static size_t write_calls;
static uint64_t write_offset;

static int write_counting(void *file, const void *const *parts,
                          const uint64_t *sizes, size_t count, uint64_t offset,
                          void *user)
{
    size_t *fail_at = user;

    (void)file;
    (void)parts;
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_le(count, 256);
    ck_assert_uint_eq(offset, write_offset);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_gt(sizes[i], 0);
        write_offset += sizes[i];
    }
    return ++write_calls == *fail_at ? KL_EDISKFULL : 0;
}

START_TEST(many_parts_are_several_calls)
{
    struct kl_os_file *file = open_file("/f");
    struct kl_os_iovec iov[600];
    size_t fail_at = 0;
    size_t n;

    for (size_t i = 0; i < 600; i++) {
        iov[i].data = "0123456789";
        iov[i].size = i % 3; /* a third of them is empty */
    }
    calls->write = write_counting;
    calls->write_user = &fail_at;
    write_calls = 0;
    write_offset = 100;
    ck_assert_int_eq(vfs->ops->write(file, iov, 600, 100, &n), 0);
    ck_assert_uint_eq(n, 600);
    ck_assert_uint_eq(write_offset, 700);
    ck_assert_uint_eq(write_calls, 2);
    ck_assert_int_eq(vfs->ops->write(file, iov, 1, 700, &n), 0);
    ck_assert_uint_eq(write_calls, 2);
    /* What the failing call was given may be there in part: not counted. */
    fail_at = 4;
    ck_assert_int_eq(vfs->ops->write(file, iov, 600, 700, &n), KL_EDISKFULL);
    ck_assert_uint_lt(n, 600);
    ck_assert_uint_ge(n, 256);
    vfs->ops->close(file);
}
END_TEST

static int size_wrong(void *file, uint64_t *size_out, void *user)
{
    (void)file;
    *size_out = *(uint64_t *)user;
    return 0;
}

START_TEST(an_impossible_size_is_refused)
{
    struct kl_os_file *file = open_file("/f");
    uint64_t wrong = INT64_MAX;
    uint64_t size = 1;

    calls->size = size_wrong;
    calls->size_user = &wrong;
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    wrong++;
    ck_assert_int_eq(vfs->ops->size(file, &size), KL_EIO);
    vfs->ops->close(file);
}
END_TEST

/* ---- names -------------------------------------------------------------- */

static int list_wrong(const char *path, kl_storage_names *names, void *user)
{
    (void)path;
    (void)kl_os_host_names_add(names, "a");
    (void)kl_os_host_names_add(names, user);
    return 0; /* and says nothing of it */
}

static int count_name(const char *name, void *user)
{
    ck_assert_str_eq(name, "a");
    ++*(int *)user;
    return 0;
}

START_TEST(wrong_names_fail_the_listing)
{
    static const char *const wrong[] = {"", "b/c", "/", NULL};
    int count = 0;

    calls->list = list_wrong;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        calls->list_user = (void *)wrong[i];
        ck_assert_int_eq(vfs->ops->list(vfs, "/", count_name, &count), KL_EIO);
    }
    ck_assert_int_eq(count, 0);
    calls->list_user = "..";
    ck_assert_int_eq(vfs->ops->list(vfs, "/", count_name, &count), 0);
    ck_assert_int_eq(count, 1);
    fail_alloc_arm(&alloc, 2);
    ck_assert_int_eq(vfs->ops->list(vfs, "/", count_name, &count), KL_ENOMEM);
    fail_alloc_arm(&alloc, 0);
}
END_TEST

/* ---- what may be left out ----------------------------------------------- */

static uint64_t range[2];
static int range_code;

static int see_range(void *file, uint64_t offset, uint64_t size, void *user)
{
    (void)file;
    (void)user;
    range[0] = offset;
    range[1] = size;
    return range_code;
}

START_TEST(optional_functions_are_used)
{
    struct kl_os_file *file = open_file("/f");
    uint64_t size = 0;
    int rc = KL_EBUSY;

    calls->writeback = calls->allocate = see_range;
    calls->lock = calls->sync_all = fail_file;
    calls->lock_user = calls->sync_all_user = &rc;
    vfs->ops->writeback(file, 1, 2);
    ck_assert_uint_eq(range[0], 1);
    ck_assert_uint_eq(range[1], 2);
    ck_assert_int_eq(vfs->ops->allocate(file, 3, 4), 0);
    ck_assert_uint_eq(range[0], 3);
    ck_assert_uint_eq(range[1], 4);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, 0);
    range_code = KL_EDISKFULL;
    ck_assert_int_eq(vfs->ops->allocate(file, 3, 4), KL_EDISKFULL);
    range_code = KL_EUNSUPPORTED; /* as if it were left out */
    ck_assert_int_eq(vfs->ops->allocate(file, 3, 4), 0);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, 7);
    ck_assert_int_eq(vfs->ops->lock(file), KL_EBUSY);
    ck_assert_int_eq(vfs->ops->sync_all(file), KL_EBUSY);
    vfs->ops->close(file);
}
END_TEST

START_TEST(without_optional_functions)
{
    struct kl_os_file *file = open_file("/f");
    struct kl_os_file *again = open_file("/./f");
    struct kl_os_file *other = open_file("/g");
    uint64_t space = 0;

    calls->space = NULL;
    vfs->ops->writeback(file, 1, 2);
    ck_assert_int_eq(vfs->ops->sync_all(file), KL_EUNSUPPORTED);
    ck_assert_int_eq(vfs->ops->space(vfs, "/", &space), 0);
    ck_assert_uint_eq(space, INT64_MAX);
    /* Handles of one storage exclude each other all the same. */
    ck_assert_int_eq(vfs->ops->lock(file), 0);
    ck_assert_int_eq(vfs->ops->lock(file), 0);
    ck_assert_int_eq(vfs->ops->lock(other), 0);
    ck_assert_int_eq(vfs->ops->lock(again), KL_EBUSY);
    vfs->ops->close(file);
    ck_assert_int_eq(vfs->ops->lock(again), 0);
    vfs->ops->close(again);
    vfs->ops->close(other);
}
END_TEST

/* A disk that gets full while zeros are written gets them back. */
START_TEST(allocate_undoes_what_failed)
{
    struct kl_os_file *file;
    uint64_t size = 0;

    inner->ops->free(inner);
    ck_assert_int_eq(kl_os_vfs_memory_new(&inner, &kl_base_alloc_libc, 200000),
                     0);
    host_calls_fill(calls, inner);
    file = open_file("/f");
    ck_assert_int_eq(vfs->ops->allocate(file, 0, 100), 0);
    ck_assert_int_eq(vfs->ops->allocate(file, 0, 200001), KL_EDISKFULL);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, 100);
    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(vfs->ops->allocate(file, 0, 200), KL_ENOMEM);
    fail_alloc_arm(&alloc, 0);
    ck_assert_int_eq(vfs->ops->allocate(file, INT64_MAX, 2), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->truncate(file, UINT64_MAX), KL_EINVAL);
    vfs->ops->close(file);
}
END_TEST

START_TEST(no_memory)
{
    struct kl_os_host_calls *none;
    struct kl_os_vfs *other;
    struct kl_os_file *file;

    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(kl_os_vfs_host_new(&other, &alloc.alloc, &none),
                     KL_ENOMEM);
    fail_alloc_arm(&alloc, 1);
    ck_assert_int_eq(
        vfs->ops->open(vfs, "/f", KL_OS_WRITE | KL_OS_CREATE, &file),
        KL_ENOMEM);
    fail_alloc_arm(&alloc, 0);
    /* The host was not asked. */
    ck_assert_int_eq(vfs->ops->open(vfs, "/f", KL_OS_READ, &file), KL_ENOENT);
}
END_TEST

Suite *suite_os_vfs_host(void);

Suite *suite_os_vfs_host(void)
{
    Suite *s = suite_create("os_vfs_host");
    TCase *tc = tcase_create("vfs_host");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_missing_is_named);
    tcase_add_test(tc, paths_are_clean);
    tcase_add_test(tc, a_long_path_is_refused);
    tcase_add_test(tc, codes_of_a_host);
    tcase_add_test(tc, a_failed_close_gives_the_file_up);
    tcase_add_test(tc, a_short_read_goes_on);
    tcase_add_test(tc, many_parts_are_several_calls);
    tcase_add_test(tc, an_impossible_size_is_refused);
    tcase_add_test(tc, wrong_names_fail_the_listing);
    tcase_add_test(tc, optional_functions_are_used);
    tcase_add_test(tc, without_optional_functions);
    tcase_add_test(tc, allocate_undoes_what_failed);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(s, tc);
    return s;
}
