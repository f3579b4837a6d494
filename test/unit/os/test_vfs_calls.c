/*
 * The real file system where system calls do less than was asked for: calls of
 * this program come by here first.
 */
#include "base/alloc.h"
#include "os/vfs.h"
#include "tmpdir.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CALLS_SIZE = 10000, CALLS_PARTS = 3 };

/* What the next calls do. */
static struct
{
    size_t most; /* bytes that a call moves; 0 = all */
    int every;   /* each so many calls nothing, but the number below */
    int number;  /* errno; 0 = moves nothing and says so */
    int last;    /* from this call on; 0 = never */
    int last_errno;
    int count; /* calls so far */
} calls;

/* Whether this call fails; then errno is set. Other tests have threads. */
static int calls_fail(void)
{
    int count = __atomic_add_fetch(&calls.count, 1, __ATOMIC_RELAXED);

    if (calls.last && count >= calls.last)
        errno = calls.last_errno;
    else if (calls.every && count % calls.every == 0)
        errno = calls.number;
    else
        return 0;
    return 1;
}

static ssize_t calls_pwritev(int fd, const struct iovec *iov, int count,
                             off_t offset)
{
    struct iovec some[1024];
    size_t left = calls.most ? calls.most : SIZE_MAX;
    int used = 0;

    if (calls_fail())
        return errno ? -1 : 0;
    for (; used < count && used < 1024 && left > 0; used++) {
        some[used] = iov[used];
        if (some[used].iov_len > left)
            some[used].iov_len = left;
        left -= some[used].iov_len;
    }
    return syscall(SYS_pwritev, fd, some, used, (long)offset,
                   (long)((uint64_t)offset >> 32));
}

static ssize_t calls_pread(int fd, void *buf, size_t size, off_t offset)
{
    struct iovec part = {buf, size};

    if (calls_fail())
        return errno ? -1 : 0;
    if (calls.most && part.iov_len > calls.most)
        part.iov_len = calls.most;
    return syscall(SYS_preadv, fd, &part, 1, (long)offset,
                   (long)((uint64_t)offset >> 32));
}

/* Both names of each call, whatever the width of its offset. */
ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return calls_pwritev(fd, iov, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return calls_pwritev(fd, iov, count, offset);
}

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
    return calls_pread(fd, buf, size, offset);
}

ssize_t pread64(int fd, void *buf, size_t size, off64_t offset)
{
    return calls_pread(fd, buf, size, offset);
}

int fdatasync(int fd)
{
    return calls_fail() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return calls_fail() ? -1 : (int)syscall(SYS_fsync, fd);
}

/* ---- tests --------------------------------------------------------------- */

static struct kl_os_vfs *vfs;
static struct kl_os_file *file;
static char folder[TEST_TMPDIR_SIZE];
static char path[TEST_TMPDIR_SIZE + 16];
static uint8_t data[CALLS_SIZE];
static uint8_t got[CALLS_SIZE];
static struct kl_os_iovec parts[CALLS_PARTS];

static void setup(void)
{
    test_tmpdir_make(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    ck_assert_int_eq(kl_os_vfs_posix_new(&vfs, &kl_base_alloc_libc), 0);
    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file), 0);
    memset(&calls, 0, sizeof calls);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    parts[0] = (struct kl_os_iovec){data, 13};
    parts[1] = (struct kl_os_iovec){data + 13, 0};
    parts[2] = (struct kl_os_iovec){data + 13, sizeof data - 13};
}

static void teardown(void)
{
    memset(&calls, 0, sizeof calls);
    ck_assert_int_eq(file->vfs->ops->close(file), 0);
    vfs->ops->free(vfs);
    test_tmpdir_remove(folder);
}

/* The file holds so much of the data and nothing else. */
static void check_file(size_t size)
{
    size_t count;

    memset(&calls, 0, sizeof calls);
    ck_assert_int_eq(vfs->ops->read(file, got, sizeof got, 0, &count), 0);
    ck_assert_uint_eq(count, size);
    ck_assert_int_eq(memcmp(got, data, size), 0);
}

static int write_all(size_t *written)
{
    return vfs->ops->write(file, parts, CALLS_PARTS, 0, written);
}

static const size_t mosts[] = {1, 2, 12, 13, 14, 4096, CALLS_SIZE - 1};

START_TEST(write_goes_on_after_a_short_one)
{
    size_t written = 0;

    calls.most = mosts[_i];
    ck_assert_int_eq(write_all(&written), 0);
    ck_assert_uint_eq(written, sizeof data);
    ck_assert_int_eq(calls.count, (sizeof data - 1) / mosts[_i] + 1);
    check_file(sizeof data);
}
END_TEST

START_TEST(write_goes_on_after_a_signal)
{
    size_t written = 0;

    calls.most = mosts[_i];
    calls.every = 2;
    calls.number = EINTR;
    ck_assert_int_eq(write_all(&written), 0);
    ck_assert_uint_eq(written, sizeof data);
    check_file(sizeof data);
}
END_TEST

START_TEST(write_that_fails_says_how_far_it_came)
{
    size_t written = 0;

    calls.most = mosts[_i];
    calls.last = 2;
    calls.last_errno = ENOSPC;
    ck_assert_int_eq(write_all(&written), KL_EDISKFULL);
    ck_assert_uint_eq(written, mosts[_i]);
    check_file(mosts[_i]);
}
END_TEST

START_TEST(write_of_nothing_does_not_last_for_ever)
{
    size_t written = 1;

    calls.last = 1;
    ck_assert_int_eq(write_all(&written), KL_EIO);
    ck_assert_uint_eq(written, 0);
    check_file(0);
}
END_TEST

START_TEST(read_goes_on_after_short_ones_and_signals)
{
    size_t count = 0;

    ck_assert_int_eq(write_all(NULL), 0);
    calls.most = mosts[_i];
    calls.every = 3;
    calls.number = EINTR;
    calls.count = 0;
    ck_assert_int_eq(vfs->ops->read(file, got, sizeof got, 0, &count), 0);
    ck_assert_uint_eq(count, sizeof got);
    ck_assert_int_eq(memcmp(got, data, sizeof data), 0);
}
END_TEST

static int sync_folder(void)
{
    return vfs->ops->sync_dir(vfs, folder);
}

static int sync_file(void)
{
    return vfs->ops->sync(file);
}

static int (*const syncs[])(void) = {sync_file, sync_folder};

START_TEST(sync_goes_on_after_a_signal)
{
    calls.every = 1;
    calls.number = EINTR;
    calls.last = 4;
    calls.last_errno = EIO; /* so that it ends */
    ck_assert_int_eq(syncs[_i](), KL_EIO);
    ck_assert_int_eq(calls.count, 4);
}
END_TEST

/* The system may have forgotten what it could not write. */
START_TEST(sync_that_failed_is_not_repeated)
{
    static const int numbers[] = {EIO, ENOSPC, EDQUOT};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        memset(&calls, 0, sizeof calls);
        calls.last = 1;
        calls.last_errno = numbers[i];
        ck_assert_int_ne(syncs[_i](), 0);
        ck_assert_int_eq(calls.count, 1);
        ck_assert_int_eq(vfs->ops->last_errno(vfs), numbers[i]);
    }
}
END_TEST

Suite *suite_os_vfs_calls(void);

Suite *suite_os_vfs_calls(void)
{
    Suite *suite = suite_create("os_vfs_calls");
    TCase *t = tcase_create("calls");
    int count = sizeof mosts / sizeof *mosts;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, write_goes_on_after_a_short_one, 0, count);
    tcase_add_loop_test(t, write_goes_on_after_a_signal, 0, count);
    tcase_add_loop_test(t, write_that_fails_says_how_far_it_came, 0, count);
    tcase_add_test(t, write_of_nothing_does_not_last_for_ever);
    tcase_add_loop_test(t, read_goes_on_after_short_ones_and_signals, 0, count);
    tcase_add_loop_test(t, sync_goes_on_after_a_signal, 0, 2);
    tcase_add_loop_test(t, sync_that_failed_is_not_repeated, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
