/*
 * What the offline tools look through: nothing is ever changed, a file that is
 * shorter than it should be ends with zeros, and a block that the medium does
 * not give costs no more than itself.
 */
#include "store/readonly.h"
#include "store_fixture.h"

#include <check.h>
#include <string.h>

enum { SIZE = 3 * KL_STORE_BLOCK + 100 };

static struct store_fixture f;
static struct kl_store_readonly r;
static struct kl_os_vfs *vfs;
static uint8_t content[SIZE];

static void setup(void)
{
    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    for (int i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 7 + 1);
    store_fixture_save(&f, "data/file", content, SIZE);
    store_fixture_crash(&f);
    trace_vfs_allow_owner(&f.trace, 1);
    kl_store_readonly_init(&r, &f.trace.base, &f.alloc.alloc);
    vfs = &r.base;
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

static struct kl_os_file *open_file(const char *path)
{
    struct kl_os_file *file;

    ck_assert_int_eq(vfs->ops->open(vfs, path, KL_OS_READ, &file), 0);
    ck_assert_ptr_eq(file->vfs, vfs);
    return file;
}

/* Reads as far as there is something; what is at from must be the content, up
 * to there, and zeros behind it. */
static void expect_read(struct kl_os_file *file, uint64_t from, size_t size,
                        size_t got_wanted)
{
    uint8_t buf[2 * SIZE];
    size_t got = 77;

    memset(buf, 0xee, sizeof buf);
    ck_assert_int_eq(vfs->ops->read(file, buf, size, from, &got), 0);
    ck_assert_uint_eq(got, got_wanted);
    for (size_t i = 0; i < got; i++)
        ck_assert_uint_eq(buf[i], from + i < SIZE ? content[from + i] : 0);
}

static int list_count(const char *name, void *user)
{
    (void)name;
    (*(int *)user)++;
    return 0;
}

START_TEST(reading_is_passed_on)
{
    struct kl_os_file *file = open_file("data/file");
    uint64_t size, there, here;
    int names = 0;

    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, SIZE);
    expect_read(file, 0, SIZE, SIZE);
    expect_read(file, 5000, 2 * SIZE - 5000, SIZE - 5000);
    expect_read(file, SIZE + 9, 10, 0);
    ck_assert_uint_eq(r.bytes, 2 * SIZE - 5000);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    ck_assert_int_eq(vfs->ops->open(vfs, "data/none", KL_OS_READ, &file),
                     KL_ENOENT);
    ck_assert_int_eq(vfs->ops->list(vfs, "data", list_count, &names), 0);
    ck_assert_int_gt(names, 5);
    ck_assert_int_eq(vfs->ops->space(vfs, "data", &there), 0);
    ck_assert_int_eq(f.memory->ops->space(f.memory, "data", &here), 0);
    ck_assert_uint_eq(there, here);
    ck_assert_int_eq(vfs->ops->last_errno(vfs),
                     f.trace.base.ops->last_errno(&f.trace.base));
    ck_assert_uint_eq(r.unreadable, 0);
}
END_TEST

START_TEST(changing_is_refused)
{
    static const uint32_t flags[] = {KL_OS_WRITE, KL_OS_WRITE | KL_OS_CREATE,
                                     KL_OS_WRITE | KL_OS_TRUNCATE};
    const struct kl_os_vfs_ops *ops = vfs->ops;
    struct kl_os_file *file, *other = NULL;
    struct kl_os_iovec part = {content, 10};
    uint64_t before;
    size_t written = 5;

    store_fixture_unlink(&f, "data/identity");
    before = store_fixture_hash(&f);
    file = open_file("data/file");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        ck_assert_int_eq(ops->open(vfs, "data/file", flags[i], &other),
                         KL_EACCESS);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(ops->write(file, &part, 1, 0, &written), KL_EACCESS);
    ck_assert_uint_eq(written, 0);
    ck_assert_int_eq(ops->write(file, &part, 1, 0, NULL), KL_EACCESS);
    ck_assert_int_eq(ops->truncate(file, 1), KL_EACCESS);
    ck_assert_int_eq(ops->allocate(file, 0, 2 * SIZE), KL_EACCESS);
    ck_assert_int_eq(ops->sync(file), KL_EACCESS);
    ck_assert_int_eq(ops->sync_all(file), KL_EACCESS);
    ck_assert_int_eq(ops->lock(file), KL_EACCESS);
    ops->writeback(file, 0, SIZE);
    ck_assert_int_eq(ops->close(file), 0);
    ck_assert_int_eq(ops->rename(vfs, "data/file", "data/x"), KL_EACCESS);
    ck_assert_int_eq(ops->unlink(vfs, "data/file"), KL_EACCESS);
    ck_assert_int_eq(ops->mkdir(vfs, "data/x"), KL_EACCESS);
    ck_assert_int_eq(ops->rmdir(vfs, "data/wal"), KL_EACCESS);
    ck_assert_int_eq(ops->sync_dir(vfs, "data"), KL_EACCESS);
    ops->free(vfs); /* the one inside is still there */
    ck_assert_uint_eq(store_fixture_hash(&f), before);
}
END_TEST

START_TEST(short_files_end_with_zeros)
{
    struct kl_os_file *file;
    uint64_t found, size;

    ck_assert_int_eq(
        kl_store_readonly_padded(&r, "data/file", SIZE + 200, &file, &found),
        0);
    ck_assert_uint_eq(found, SIZE);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, SIZE + 200);
    expect_read(file, 100, 2 * SIZE - 100, SIZE + 100);
    expect_read(file, SIZE - 10, 20, 20);
    expect_read(file, SIZE + 150, 100, 50);
    expect_read(file, SIZE + 200, 100, 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    /* One that is longer is as long as it is. */
    ck_assert_int_eq(
        kl_store_readonly_padded(&r, "data/file", 100, &file, &found), 0);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, SIZE);
    expect_read(file, 0, SIZE, SIZE);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(missing_files_are_zeros)
{
    struct kl_os_file *file;
    uint64_t found = 1, size;
    uint8_t buf[64];
    size_t got;

    ck_assert_int_eq(
        kl_store_readonly_padded(&r, "data/none", 50, &file, &found), 0);
    ck_assert_uint_eq(found, 0);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, 50);
    memset(buf, 1, sizeof buf);
    ck_assert_int_eq(vfs->ops->read(file, buf, sizeof buf, 10, &got), 0);
    ck_assert_uint_eq(got, 40);
    for (size_t i = 0; i < got; i++)
        ck_assert_uint_eq(buf[i], 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    ck_assert_int_eq(
        kl_store_readonly_padded(&r, "data/none", 0, &file, &found), KL_ENOENT);
    trace_vfs_fail(&f.trace, TRACE_VFS_OPEN, 1, KL_EACCESS);
    ck_assert_int_eq(
        kl_store_readonly_padded(&r, "data/file", 50, &file, &found),
        KL_EACCESS);
    fail_alloc_arm(&f.alloc, 1);
    ck_assert_int_eq(vfs->ops->open(vfs, "data/file", KL_OS_READ, &file),
                     KL_ENOMEM);
    fail_alloc_arm(&f.alloc, 0);
}
END_TEST

/* A read that fails is made again block by block. */
START_TEST(unreadable_blocks_are_zeros)
{
    struct kl_os_file *file = open_file("data/file");
    struct trace_vfs_fault fault = {
        .kinds = 1 << TRACE_VFS_READ, .nth = 1, .code = KL_EIO};
    uint8_t buf[2 * SIZE];
    size_t got;

    /* Only once: the blocks can be read. */
    trace_vfs_arm(&f.trace, &fault);
    expect_read(file, 10, SIZE, SIZE - 10);
    ck_assert_uint_eq(r.unreadable, 0);
    /* For ever: all of them are zeros, as far as the file goes. */
    fault.is_lasting = 1;
    trace_vfs_arm(&f.trace, &fault);
    memset(buf, 1, sizeof buf);
    ck_assert_int_eq(vfs->ops->read(file, buf, sizeof buf, 10, &got), 0);
    ck_assert_uint_eq(got, SIZE - 10);
    for (size_t i = 0; i < got; i++)
        ck_assert_uint_eq(buf[i], 0);
    ck_assert_uint_eq(r.unreadable, 4);
    ck_assert_int_eq(vfs->ops->read(file, buf, 10, SIZE + 5, &got), 0);
    ck_assert_uint_eq(got, 0);
    /* Another failure says nothing of the blocks. */
    fault.code = KL_ENOMEM;
    trace_vfs_arm(&f.trace, &fault);
    ck_assert_int_eq(vfs->ops->read(file, buf, 10, 0, &got), KL_ENOMEM);
    trace_vfs_heal(&f.trace);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

Suite *suite_store_readonly(void);

Suite *suite_store_readonly(void)
{
    Suite *suite = suite_create("store_readonly");
    TCase *t = tcase_create("readonly");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, reading_is_passed_on);
    tcase_add_test(t, changing_is_refused);
    tcase_add_test(t, short_files_end_with_zeros);
    tcase_add_test(t, missing_files_are_zeros);
    tcase_add_test(t, unreadable_blocks_are_zeros);
    suite_add_tcase(suite, t);
    return suite;
}
