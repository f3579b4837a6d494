/*
 * The file system in memory: its capacity, its paths, and running out of
 * memory.
 */
#include "fail_alloc.h"
#include "os/vfs.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define CAPACITY 10000

static struct kl_os_vfs *vfs;
static uint8_t data[2 * CAPACITY];

static void setup(void)
{
    ck_assert_int_eq(kl_os_vfs_memory_new(&vfs, &kl_base_alloc_libc, CAPACITY),
                     0);
}

static void teardown(void)
{
    vfs->ops->free(vfs);
}

static struct kl_os_file *create(const char *path)
{
    struct kl_os_file *file = NULL;

    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file), 0);
    return file;
}

static uint64_t space(void)
{
    uint64_t n = 0;

    ck_assert_int_eq(vfs->ops->space(vfs, "/", &n), 0);
    return n;
}

static int write_at(struct kl_os_file *file, size_t size, uint64_t offset,
                    size_t *written_out)
{
    struct kl_os_iovec iov = {data, size};

    return vfs->ops->write(file, &iov, 1, offset, written_out);
}

START_TEST(write_beyond_capacity)
{
    struct kl_os_file *a = create("a");
    struct kl_os_iovec iov[3] = {{data, 3000}, {data, 4000}, {data, 5000}};
    uint64_t size;
    size_t n = 0;

    ck_assert_int_eq(vfs->ops->write(a, iov, 3, 0, &n), KL_EDISKFULL);
    ck_assert_uint_eq(n, CAPACITY);
    ck_assert_int_eq(vfs->ops->size(a, &size), 0);
    ck_assert_uint_eq(size, CAPACITY);
    ck_assert_uint_eq(space(), 0);
    /* Writing in place goes on, growing does not. */
    ck_assert_int_eq(write_at(a, CAPACITY, 0, NULL), 0);
    ck_assert_int_eq(write_at(a, 1, CAPACITY, &n), KL_EDISKFULL);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(vfs->ops->close(a), 0);
}
END_TEST

START_TEST(write_behind_a_gap_beyond_capacity)
{
    struct kl_os_file *a = create("a");
    size_t n = 99;

    ck_assert_int_eq(write_at(a, 10, CAPACITY - 4, &n), KL_EDISKFULL);
    ck_assert_uint_eq(n, 4);
    ck_assert_int_eq(vfs->ops->truncate(a, 0), 0);
    ck_assert_int_eq(write_at(a, 10, CAPACITY + 1, &n), KL_EDISKFULL);
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(space(), CAPACITY);
    ck_assert_int_eq(vfs->ops->close(a), 0);
}
END_TEST

START_TEST(growing_beyond_capacity)
{
    struct kl_os_file *a = create("a");
    struct kl_os_file *b = create("b");

    ck_assert_int_eq(vfs->ops->allocate(a, 0, CAPACITY + 1), KL_EDISKFULL);
    ck_assert_uint_eq(space(), CAPACITY);
    ck_assert_int_eq(vfs->ops->allocate(a, 1000, 5000), 0);
    ck_assert_uint_eq(space(), 4000);
    ck_assert_int_eq(vfs->ops->truncate(b, 4001), KL_EDISKFULL);
    ck_assert_int_eq(vfs->ops->truncate(b, 4000), 0);
    ck_assert_int_eq(write_at(a, 6000, 0, NULL), 0);
    ck_assert_int_eq(vfs->ops->close(a), 0);
    ck_assert_int_eq(vfs->ops->close(b), 0);
}
END_TEST

START_TEST(space_comes_back)
{
    struct kl_os_file *a = create("a");
    struct kl_os_file *b;

    ck_assert_int_eq(write_at(a, 6000, 0, NULL), 0);
    ck_assert_int_eq(vfs->ops->truncate(a, 5000), 0);
    ck_assert_uint_eq(space(), 5000);
    ck_assert_int_eq(vfs->ops->unlink(vfs, "a"), 0);
    ck_assert_uint_eq(space(), 5000);
    ck_assert_int_eq(vfs->ops->close(a), 0);
    ck_assert_uint_eq(space(), CAPACITY);
    b = create("b");
    ck_assert_int_eq(write_at(b, 7000, 0, NULL), 0);
    ck_assert_int_eq(vfs->ops->close(b), 0);
    ck_assert_int_eq(vfs->ops->close(create("c")), 0);
    ck_assert_int_eq(vfs->ops->rename(vfs, "c", "b"), 0);
    ck_assert_uint_eq(space(), CAPACITY);
}
END_TEST

START_TEST(paths_that_mean_the_same)
{
    static const char *const paths[] = {"/d/f", "d/f", "//d///f", "./d/./f"};
    struct kl_os_file *file;

    ck_assert_int_eq(vfs->ops->mkdir(vfs, "/d/"), 0);
    ck_assert_int_eq(vfs->ops->close(create("d/f")), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ck_assert_int_eq(vfs->ops->open(vfs, paths[i], KL_OS_READ, &file), 0);
        ck_assert_int_eq(vfs->ops->close(file), 0);
    }
    ck_assert_int_eq(vfs->ops->open(vfs, "d/.f", KL_OS_READ, &file), KL_ENOENT);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, "/"), KL_EEXIST);
    ck_assert_int_ne(vfs->ops->rmdir(vfs, "/"), 0);
    ck_assert_int_ne(vfs->ops->rename(vfs, "/d", "/"), 0);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), 0);
}
END_TEST

START_TEST(free_with_content)
{
    static const char deep[] = "/d/d/d/d/d/d/d/d/d/d";
    char path[sizeof deep + 2];

    for (size_t size = 2; size < sizeof deep; size += 2) {
        struct kl_os_file *file;

        snprintf(path, sizeof path, "%.*s", (int)size, deep);
        ck_assert_int_eq(vfs->ops->mkdir(vfs, path), 0);
        snprintf(path, sizeof path, "%.*s/f", (int)size, deep);
        file = create(path);
        ck_assert_int_eq(write_at(file, 10, 0, NULL), 0);
        ck_assert_int_eq(vfs->ops->close(file), 0);
    }
    ck_assert_uint_eq(space(), CAPACITY - 100);
}
END_TEST

static int count_name(const char *name, void *user)
{
    (void)name;
    ++*(int *)user;
    return 0;
}

/* Every step is done or not done at all. */
static int scenario_run(void)
{
    struct kl_os_iovec iov = {data, 9000};
    struct kl_os_file *file;
    size_t written = 0;
    uint64_t size = 0;
    char path[16];
    int count = 0;
    int rc = vfs->ops->mkdir(vfs, "d");

    for (int i = 0; !rc && i < 10; i++) {
        snprintf(path, sizeof path, "d/%d", i);
        rc = vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file);
        if (rc)
            break;
        rc = vfs->ops->write(file, &iov, 1, 0, &written);
        ck_assert_int_eq(vfs->ops->size(file, &size), 0);
        ck_assert_uint_eq(size, written);
        if (!rc)
            rc = vfs->ops->allocate(file, 0, 20000);
        ck_assert_int_eq(vfs->ops->close(file), 0);
    }
    if (!rc)
        rc = vfs->ops->rename(vfs, "d/3", "three");
    if (!rc)
        rc = vfs->ops->rename(vfs, "three", "d/4");
    if (!rc)
        rc = vfs->ops->list(vfs, "d", count_name, &count);
    ck_assert_int_eq(count, rc ? 0 : 9);
    return rc;
}

START_TEST(calls_without_memory)
{
    struct fail_alloc f;
    uint64_t fail_at = 1;
    int rc;

    do {
        fail_alloc_init(&f);
        fail_alloc_arm(&f, fail_at++);
        rc = kl_os_vfs_memory_new(&vfs, &f.alloc, 0);
        if (!rc) {
            rc = scenario_run();
            vfs->ops->free(vfs);
        }
        ck_assert_int_eq(rc, f.failed ? KL_ENOMEM : 0);
        fail_alloc_deinit(&f);
    } while (rc);
    ck_assert_uint_gt(fail_at, 50);
}
END_TEST

Suite *suite_os_vfs_memory(void);
Suite *suite_os_vfs_memory(void)
{
    Suite *s = suite_create("os_vfs_memory");
    TCase *tc = tcase_create("capacity");
    TCase *bare = tcase_create("memory");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, write_beyond_capacity);
    tcase_add_test(tc, write_behind_a_gap_beyond_capacity);
    tcase_add_test(tc, growing_beyond_capacity);
    tcase_add_test(tc, space_comes_back);
    tcase_add_test(tc, paths_that_mean_the_same);
    tcase_add_test(tc, free_with_content);
    suite_add_tcase(s, tc);
    tcase_add_test(bare, calls_without_memory);
    suite_add_tcase(s, bare);
    return s;
}
