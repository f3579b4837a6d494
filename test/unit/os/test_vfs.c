/*
 * What the file-system port promises: the same tests over every file system.
 */
#include "base/alloc.h"
#include "host_calls.h"
#include "os/thread.h"
#include "os/vfs.h"
#include "tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kl_os_vfs *vfs;
static char folder[TEST_TMPDIR_SIZE];

static void setup_posix(void)
{
    test_tmpdir_make(folder);
    ck_assert_int_eq(kl_os_vfs_posix_new(&vfs, &kl_base_alloc_libc), 0);
}

static void teardown_posix(void)
{
    vfs->ops->free(vfs);
    test_tmpdir_remove(folder);
}

static void setup_memory(void)
{
    snprintf(folder, sizeof folder, "/mem");
    ck_assert_int_eq(kl_os_vfs_memory_new(&vfs, &kl_base_alloc_libc, 0), 0);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, folder), 0);
}

static void teardown_memory(void)
{
    vfs->ops->free(vfs);
}

/* A host that does little by itself. */
static struct kl_os_vfs *inner;

static void setup_host(void)
{
    struct kl_os_host_calls *calls;

    setup_memory();
    inner = vfs;
    ck_assert_int_eq(kl_os_vfs_host_new(&vfs, &kl_base_alloc_libc, &calls), 0);
    host_calls_fill(calls, inner);
}

static void teardown_host(void)
{
    vfs->ops->free(vfs);
    inner->ops->free(inner);
}

/* A path in the folder; two may be in use at a time. */
static const char *at(const char *name)
{
    static char paths[2][TEST_TMPDIR_SIZE + 64];
    static int turn;

    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static struct kl_os_file *open_ok(const char *name, uint32_t flags)
{
    struct kl_os_file *file = NULL;

    ck_assert_int_eq(vfs->ops->open(vfs, at(name), flags, &file), 0);
    ck_assert_ptr_eq(file->vfs, vfs);
    return file;
}

static struct kl_os_file *create(const char *name)
{
    return open_ok(name, KL_OS_WRITE | KL_OS_CREATE);
}

static int open_rc(const char *name, uint32_t flags)
{
    struct kl_os_file *file;
    int rc = vfs->ops->open(vfs, at(name), flags, &file);

    if (!rc)
        ck_assert_int_eq(vfs->ops->close(file), 0);
    return rc;
}

static void close_ok(struct kl_os_file *file)
{
    ck_assert_int_eq(vfs->ops->close(file), 0);
}

static void write_text(struct kl_os_file *file, const char *text,
                       uint64_t offset)
{
    struct kl_os_iovec iov = {text, strlen(text)};

    ck_assert_int_eq(vfs->ops->write(file, &iov, 1, offset, NULL), 0);
}

/* The file has exactly this text. */
static void check_text(struct kl_os_file *file, const char *text)
{
    char buf[128];
    size_t n = 0;

    ck_assert_int_eq(vfs->ops->read(file, buf, sizeof buf, 0, &n), 0);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_mem_eq(buf, text, n);
}

static void check_size(struct kl_os_file *file, uint64_t size)
{
    uint64_t got = 0;

    ck_assert_int_eq(vfs->ops->size(file, &got), 0);
    ck_assert_uint_eq(got, size);
}

static void make(const char *name, const char *text)
{
    struct kl_os_file *file = create(name);

    write_text(file, text, 0);
    close_ok(file);
}

static void check_content(const char *name, const char *text)
{
    struct kl_os_file *file = open_ok(name, KL_OS_READ);

    check_text(file, text);
    close_ok(file);
}

START_TEST(open_missing)
{
    ck_assert_int_eq(open_rc("none", KL_OS_READ), KL_ENOENT);
    ck_assert_int_eq(open_rc("none", KL_OS_WRITE), KL_ENOENT);
    ck_assert_int_eq(open_rc("no/file", KL_OS_WRITE | KL_OS_CREATE), KL_ENOENT);
}
END_TEST

START_TEST(open_below_a_file)
{
    make("f", "x");
    ck_assert_int_eq(open_rc("f/g", KL_OS_WRITE | KL_OS_CREATE), KL_EIO);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("f/g")), KL_EIO);
}
END_TEST

START_TEST(open_folder_for_writing)
{
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("d")), 0);
    ck_assert_int_eq(open_rc("d", KL_OS_WRITE), KL_EIO);
}
END_TEST

START_TEST(open_create_keeps_content)
{
    make("f", "text");
    close_ok(create("f"));
    check_content("f", "text");
}
END_TEST

START_TEST(open_truncate)
{
    make("f", "text");
    ck_assert_int_eq(open_rc("f", KL_OS_WRITE | KL_OS_TRUNCATE), 0);
    check_content("f", "");
    ck_assert_int_eq(open_rc("none", KL_OS_WRITE | KL_OS_TRUNCATE), KL_ENOENT);
}
END_TEST

START_TEST(read_short_at_end)
{
    struct kl_os_file *file = create("f");
    char buf[8];
    size_t n = 99;

    write_text(file, "0123456789", 0);
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, 7, &n), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_mem_eq(buf, "789", 3);
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, 10, &n), 0);
    ck_assert_uint_eq(n, 0);
    n = 99;
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, 1 << 20, &n), 0);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(vfs->ops->read(file, buf, 0, 0, &n), 0);
    ck_assert_uint_eq(n, 0);
    close_ok(file);
}
END_TEST

START_TEST(read_hole)
{
    struct kl_os_file *file = create("f");
    char buf[5];
    size_t n;

    write_text(file, "x", 100000);
    check_size(file, 100001);
    memset(buf, 'y', sizeof buf);
    ck_assert_int_eq(vfs->ops->read(file, buf, 5, 99996, &n), 0);
    ck_assert_uint_eq(n, 5);
    ck_assert_mem_eq(buf, "\0\0\0\0x", 5);
    close_ok(file);
}
END_TEST

/* More parts than one system call takes, empty ones among them. */
START_TEST(write_many_parts)
{
    enum { PARTS = 3000 };
    static struct kl_os_iovec iov[PARTS];
    static uint8_t data[PARTS * 13], got[PARTS * 13 + 1];
    struct kl_os_file *file = create("f");
    size_t total = 0, n = 0;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 31 + i / 251);
    for (size_t i = 0; i < PARTS; i++) {
        iov[i].data = data + total;
        iov[i].size = i % 14;
        total += iov[i].size;
    }
    ck_assert_int_eq(vfs->ops->write(file, iov, PARTS, 5, &n), 0);
    ck_assert_uint_eq(n, total);
    check_size(file, 5 + total);
    ck_assert_int_eq(vfs->ops->read(file, got, sizeof got, 5, &n), 0);
    ck_assert_uint_eq(n, total);
    ck_assert_mem_eq(got, data, total);
    close_ok(file);
}
END_TEST

START_TEST(write_nothing)
{
    struct kl_os_file *file = create("f");
    struct kl_os_iovec iov[2] = {{"", 0}, {"", 0}};
    size_t n = 99;

    ck_assert_int_eq(vfs->ops->write(file, NULL, 0, 50, &n), 0);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(vfs->ops->write(file, iov, 2, 50, &n), 0);
    check_size(file, 0);
    close_ok(file);
}
END_TEST

START_TEST(write_over_the_middle)
{
    struct kl_os_file *file = create("f");
    struct kl_os_iovec iov[3] = {{"A", 1}, {"", 0}, {"BC", 2}};

    write_text(file, "0123456789", 0);
    ck_assert_int_eq(vfs->ops->write(file, iov, 3, 4, NULL), 0);
    check_text(file, "0123ABC789");
    close_ok(file);
}
END_TEST

START_TEST(write_through_a_reading_handle)
{
    struct kl_os_iovec iov = {"new", 3};
    struct kl_os_file *file;
    size_t n = 99;

    make("f", "old");
    file = open_ok("f", KL_OS_READ);
    ck_assert_int_eq(vfs->ops->write(file, &iov, 1, 0, &n), KL_EIO);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_ne(vfs->ops->truncate(file, 0), 0);
    ck_assert_int_ne(vfs->ops->allocate(file, 0, 10), 0);
    ck_assert_int_eq(vfs->ops->lock(file), KL_EIO);
    close_ok(file);
    check_content("f", "old");
}
END_TEST

START_TEST(offset_above_4_gib)
{
    struct kl_os_file *file = create("f");
    uint64_t offset = ((uint64_t)5 << 30) - 2;
    char buf[8];
    size_t n;

    write_text(file, "text", offset);
    check_size(file, offset + 4);
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, offset, &n), 0);
    ck_assert_uint_eq(n, 4);
    ck_assert_mem_eq(buf, "text", 4);
    close_ok(file);
}
END_TEST

START_TEST(offset_out_of_range)
{
    struct kl_os_file *file = create("f");
    struct kl_os_iovec iov = {"x", 1};
    char c;
    size_t n = 99;

    ck_assert_int_eq(vfs->ops->read(file, &c, 1, INT64_MAX, &n), KL_EINVAL);
    ck_assert_uint_eq(n, 0);
    n = 99;
    ck_assert_int_eq(vfs->ops->write(file, &iov, 1, UINT64_MAX, &n), KL_EINVAL);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(vfs->ops->truncate(file, UINT64_MAX), KL_EINVAL);
    ck_assert_int_eq(vfs->ops->allocate(file, INT64_MAX, 1), KL_EINVAL);
    check_size(file, 0);
    close_ok(file);
}
END_TEST

START_TEST(truncate_down_and_up)
{
    struct kl_os_file *file = create("f");
    char buf[8];
    size_t n;

    write_text(file, "0123456789", 0);
    ck_assert_int_eq(vfs->ops->truncate(file, 4), 0);
    check_text(file, "0123");
    ck_assert_int_eq(vfs->ops->truncate(file, 8), 0);
    ck_assert_int_eq(vfs->ops->read(file, buf, 8, 0, &n), 0);
    ck_assert_uint_eq(n, 8);
    ck_assert_mem_eq(buf, "0123\0\0\0\0", 8);
    close_ok(file);
}
END_TEST

START_TEST(allocate_grows_and_keeps)
{
    struct kl_os_file *file = create("f");
    char buf[4];
    size_t n;

    write_text(file, "abc", 0);
    ck_assert_int_eq(vfs->ops->allocate(file, 0, 200000), 0);
    check_size(file, 200000);
    ck_assert_int_eq(vfs->ops->read(file, buf, 4, 0, &n), 0);
    ck_assert_mem_eq(buf, "abc\0", 4);
    ck_assert_int_eq(vfs->ops->read(file, buf, 4, 199998, &n), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_mem_eq(buf, "\0\0", 2);
    ck_assert_int_eq(vfs->ops->allocate(file, 10, 100), 0);
    check_size(file, 200000);
    ck_assert_int_eq(vfs->ops->allocate(file, 300000, 0), 0);
    check_size(file, 200000);
    close_ok(file);
}
END_TEST

START_TEST(sync_what_was_written)
{
    struct kl_os_file *file = create("f");
    int rc;

    write_text(file, "text", 0);
    vfs->ops->writeback(file, 0, 4);
    vfs->ops->writeback(file, 0, 0);
    vfs->ops->writeback(file, UINT64_MAX, 1);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_int_eq(vfs->ops->sync_dir(vfs, folder), 0);
    rc = vfs->ops->sync_all(file);
    ck_assert(rc == 0 || rc == KL_EUNSUPPORTED);
    close_ok(file);
    ck_assert_int_eq(vfs->ops->sync_dir(vfs, at("none")), KL_ENOENT);
    ck_assert_int_eq(vfs->ops->sync_dir(vfs, at("f")), KL_EIO);
}
END_TEST

START_TEST(lock_conflicts_in_one_process)
{
    struct kl_os_file *a = create("lock");
    struct kl_os_file *b = create("lock");
    struct kl_os_file *c = create("lock");
    struct kl_os_file *other = create("other");

    ck_assert_int_eq(vfs->ops->lock(a), 0);
    ck_assert_int_eq(vfs->ops->lock(a), 0);
    ck_assert_int_eq(vfs->ops->lock(b), KL_EBUSY);
    ck_assert_int_eq(vfs->ops->lock(other), 0);
    /* Closing another handle must not give the lock away. */
    close_ok(b);
    ck_assert_int_eq(vfs->ops->lock(c), KL_EBUSY);
    close_ok(a);
    ck_assert_int_eq(vfs->ops->lock(c), 0);
    close_ok(c);
    close_ok(other);
}
END_TEST

START_TEST(unlink_while_open)
{
    struct kl_os_file *file = create("f");

    write_text(file, "text", 0);
    ck_assert_int_eq(vfs->ops->unlink(vfs, at("f")), 0);
    ck_assert_int_eq(open_rc("f", KL_OS_READ), KL_ENOENT);
    make("f", "new");
    check_text(file, "text");
    write_text(file, "more", 4);
    check_text(file, "textmore");
    close_ok(file);
    check_content("f", "new");
}
END_TEST

START_TEST(unlink_what_is_no_file)
{
    ck_assert_int_eq(vfs->ops->unlink(vfs, at("none")), KL_ENOENT);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("d")), 0);
    ck_assert_int_ne(vfs->ops->unlink(vfs, at("d")), 0);
    ck_assert_int_eq(vfs->ops->rmdir(vfs, at("d")), 0);
}
END_TEST

START_TEST(rename_over_a_file)
{
    struct kl_os_file *old;

    make("a", "new");
    make("b", "old");
    old = open_ok("b", KL_OS_READ);
    ck_assert_int_eq(vfs->ops->rename(vfs, at("a"), at("b")), 0);
    check_content("b", "new");
    check_text(old, "old");
    ck_assert_int_eq(open_rc("a", KL_OS_READ), KL_ENOENT);
    ck_assert_int_eq(vfs->ops->rename(vfs, at("b"), at("b")), 0);
    check_content("b", "new");
    close_ok(old);
}
END_TEST

START_TEST(rename_a_folder)
{
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("d")), 0);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("e")), 0);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("full")), 0);
    make("d/f", "text");
    make("full/f", "text");
    ck_assert_int_eq(vfs->ops->rename(vfs, at("d"), at("d/sub")), KL_EIO);
    ck_assert_int_eq(vfs->ops->rename(vfs, at("d"), at("full")), KL_EEXIST);
    ck_assert_int_eq(vfs->ops->rename(vfs, at("d/f"), at("e")), KL_EIO);
    ck_assert_int_eq(vfs->ops->rename(vfs, at("d"), at("e")), 0);
    check_content("e/f", "text");
    ck_assert_int_eq(vfs->ops->rename(vfs, at("e/f"), at("full/g")), 0);
    check_content("full/g", "text");
    ck_assert_int_eq(vfs->ops->rmdir(vfs, at("e")), 0);
}
END_TEST

START_TEST(rename_missing)
{
    make("a", "text");
    ck_assert_int_eq(vfs->ops->rename(vfs, at("none"), at("b")), KL_ENOENT);
    ck_assert_int_eq(vfs->ops->rename(vfs, at("a"), at("no/b")), KL_ENOENT);
    check_content("a", "text");
}
END_TEST

START_TEST(mkdir_and_rmdir)
{
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("d")), 0);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("d")), KL_EEXIST);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("no/d")), KL_ENOENT);
    make("d/f", "text");
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("d/f")), KL_EEXIST);
    ck_assert_int_eq(vfs->ops->rmdir(vfs, at("d")), KL_EEXIST);
    ck_assert_int_eq(vfs->ops->rmdir(vfs, at("d/f")), KL_EIO);
    ck_assert_int_eq(vfs->ops->unlink(vfs, at("d/f")), 0);
    ck_assert_int_eq(vfs->ops->rmdir(vfs, at("d")), 0);
    ck_assert_int_eq(vfs->ops->rmdir(vfs, at("d")), KL_ENOENT);
}
END_TEST

struct listing
{
    char text[512];
    int count;
    int stop_at;
    int unlinks;
};

static int listing_add(const char *name, void *user)
{
    struct listing *l = user;
    size_t used = strlen(l->text);

    snprintf(l->text + used, sizeof l->text - used, "%s ", name);
    if (l->unlinks)
        ck_assert_int_eq(vfs->ops->unlink(vfs, at(name)), 0);
    return ++l->count == l->stop_at ? KL_EEND : 0;
}

START_TEST(list_is_sorted)
{
    static const char *const names[] = {"b",  "a10",      "9",  "B",
                                        "a2", "\xc3\xa4", ".x", "10"};
    struct listing l = {0};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make(names[i], "");
    ck_assert_int_eq(vfs->ops->mkdir(vfs, at("Folder")), 0);
    ck_assert_int_eq(vfs->ops->list(vfs, folder, listing_add, &l), 0);
    ck_assert_str_eq(l.text, ".x 10 9 B Folder a10 a2 b \xc3\xa4 ");
}
END_TEST

START_TEST(list_ends_early)
{
    struct listing l = {.stop_at = 2};

    make("1", "");
    make("2", "");
    make("3", "");
    ck_assert_int_eq(vfs->ops->list(vfs, folder, listing_add, &l), KL_EEND);
    ck_assert_str_eq(l.text, "1 2 ");
}
END_TEST

START_TEST(list_may_change_the_folder)
{
    struct listing l = {.unlinks = 1};

    make("1", "");
    make("2", "");
    make("3", "");
    ck_assert_int_eq(vfs->ops->list(vfs, folder, listing_add, &l), 0);
    ck_assert_int_eq(l.count, 3);
    ck_assert_int_eq(vfs->ops->list(vfs, folder, listing_add, &l), 0);
    ck_assert_int_eq(l.count, 3);
}
END_TEST

START_TEST(list_what_is_no_folder)
{
    struct listing l = {0};

    make("f", "");
    ck_assert_int_eq(vfs->ops->list(vfs, at("none"), listing_add, &l),
                     KL_ENOENT);
    ck_assert_int_eq(vfs->ops->list(vfs, at("f"), listing_add, &l), KL_EIO);
    ck_assert_int_eq(l.count, 0);
}
END_TEST

START_TEST(space_of_a_path)
{
    uint64_t space = 0;

    ck_assert_int_eq(vfs->ops->space(vfs, folder, &space), 0);
    ck_assert_uint_gt(space, 0);
    ck_assert_int_eq(vfs->ops->space(vfs, at("none"), &space), KL_ENOENT);
}
END_TEST

/* One writer appends numbered blocks to a file that readers follow, while
 * others make and remove files of their own. */
enum { SHARED_BLOCKS = 200, SHARED_BLOCK = 1000 };

struct shared
{
    struct kl_os_file *file;
    char own[TEST_TMPDIR_SIZE + 16];
};

static void shared_write(void *user)
{
    struct shared *s = user;
    uint8_t block[SHARED_BLOCK];
    struct kl_os_iovec iov = {block, sizeof block};

    for (int i = 0; i < SHARED_BLOCKS; i++) {
        memset(block, i, sizeof block);
        ck_assert_int_eq(
            vfs->ops->write(s->file, &iov, 1, (uint64_t)i * SHARED_BLOCK, NULL),
            0);
        if (i % 50 == 0)
            ck_assert_int_eq(vfs->ops->sync(s->file), 0);
    }
}

static void shared_read(void *user)
{
    struct shared *s = user;
    uint8_t block[SHARED_BLOCK];
    size_t n;

    for (int i = 0; i < SHARED_BLOCKS;) {
        ck_assert_int_eq(vfs->ops->read(s->file, block, sizeof block,
                                        (uint64_t)i * SHARED_BLOCK, &n),
                         0);
        if (n < sizeof block || block[SHARED_BLOCK - 1] != (uint8_t)i)
            continue; /* not there yet */
        i++;
    }
}

static void shared_own(void *user)
{
    struct shared *s = user;

    for (int i = 0; i < SHARED_BLOCKS; i++) {
        struct kl_os_file *file;

        ck_assert_int_eq(
            vfs->ops->open(vfs, s->own, KL_OS_WRITE | KL_OS_CREATE, &file), 0);
        write_text(file, s->own, 0);
        close_ok(file);
        ck_assert_int_eq(vfs->ops->unlink(vfs, s->own), 0);
    }
}

START_TEST(calls_from_several_threads)
{
    void (*const fns[])(void *) = {shared_write, shared_read, shared_own,
                                   shared_own};
    struct kl_os_thread threads[4];
    struct shared s[4];

    s[0].file = create("shared");
    for (int i = 0; i < 4; i++) {
        s[i].file = s[0].file;
        snprintf(s[i].own, sizeof s[i].own, "%s/own%d", folder, i);
        ck_assert_int_eq(kl_os_thread_start(&threads[i], fns[i], &s[i], "test"),
                         0);
    }
    for (int i = 0; i < 4; i++)
        kl_os_thread_join(&threads[i]);
    check_size(s[0].file, SHARED_BLOCKS * SHARED_BLOCK);
    close_ok(s[0].file);
}
END_TEST

static void add_tests(Suite *s, const char *name, SFun setup, SFun teardown)
{
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, open_missing);
    tcase_add_test(tc, open_below_a_file);
    tcase_add_test(tc, open_folder_for_writing);
    tcase_add_test(tc, open_create_keeps_content);
    tcase_add_test(tc, open_truncate);
    tcase_add_test(tc, read_short_at_end);
    tcase_add_test(tc, read_hole);
    tcase_add_test(tc, write_many_parts);
    tcase_add_test(tc, write_nothing);
    tcase_add_test(tc, write_over_the_middle);
    tcase_add_test(tc, write_through_a_reading_handle);
    tcase_add_test(tc, offset_above_4_gib);
    tcase_add_test(tc, offset_out_of_range);
    tcase_add_test(tc, truncate_down_and_up);
    tcase_add_test(tc, allocate_grows_and_keeps);
    tcase_add_test(tc, sync_what_was_written);
    tcase_add_test(tc, lock_conflicts_in_one_process);
    tcase_add_test(tc, unlink_while_open);
    tcase_add_test(tc, unlink_what_is_no_file);
    tcase_add_test(tc, rename_over_a_file);
    tcase_add_test(tc, rename_a_folder);
    tcase_add_test(tc, rename_missing);
    tcase_add_test(tc, mkdir_and_rmdir);
    tcase_add_test(tc, list_is_sorted);
    tcase_add_test(tc, list_ends_early);
    tcase_add_test(tc, list_may_change_the_folder);
    tcase_add_test(tc, list_what_is_no_folder);
    tcase_add_test(tc, space_of_a_path);
    tcase_add_test(tc, calls_from_several_threads);
    suite_add_tcase(s, tc);
}

Suite *suite_os_vfs(void);
Suite *suite_os_vfs(void)
{
    Suite *s = suite_create("os_vfs");

    add_tests(s, "posix", setup_posix, teardown_posix);
    add_tests(s, "memory", setup_memory, teardown_memory);
    add_tests(s, "host", setup_host, teardown_host);
    return s;
}
