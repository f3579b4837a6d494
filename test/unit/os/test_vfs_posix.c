/*
 * The real file system: what only it can do wrong.
 */
#include "fail_alloc.h"
#include "os/vfs.h"
#include "tmpdir.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kl_os_vfs *vfs;
static char folder[TEST_TMPDIR_SIZE];
static char path[TEST_TMPDIR_SIZE + 16];
static uint8_t data[20000];

static void setup(void)
{
    test_tmpdir_make(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    ck_assert_int_eq(kl_os_vfs_posix_new(&vfs, &kl_base_alloc_libc), 0);
}

static void teardown(void)
{
    vfs->ops->free(vfs);
    test_tmpdir_remove(folder);
}

static struct kl_os_file *create(void)
{
    struct kl_os_file *file = NULL;

    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file), 0);
    return file;
}

static void check_size(struct kl_os_file *file, uint64_t size)
{
    uint64_t got;

    ck_assert_int_eq(vfs->ops->size(file, &got), 0);
    ck_assert_uint_eq(got, size);
}

START_TEST(last_errno_of_a_failure)
{
    struct kl_os_file *file;

    ck_assert_int_eq(vfs->ops->last_errno(vfs), 0);
    ck_assert_int_eq(vfs->ops->open(vfs, path, KL_OS_READ, &file), KL_ENOENT);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), ENOENT);
    ck_assert_int_eq(vfs->ops->rmdir(vfs, "/"), KL_EIO);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), EBUSY);
}
END_TEST

START_TEST(open_without_descriptors)
{
    struct rlimit limit, none;
    struct kl_os_file *file;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file),
        KL_ENOFILES);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), EMFILE);
}
END_TEST

/* Whatever is printed to a closed standard stream must not reach a file. */
START_TEST(open_above_the_standard_streams)
{
    int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    struct kl_os_file *file;
    struct stat st;

    if (saved >= 0)
        close(STDIN_FILENO);
    file = create();
    ck_assert_int_eq(fstat(STDIN_FILENO, &st), -1);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    if (saved >= 0) {
        ck_assert_int_eq(dup2(saved, STDIN_FILENO), STDIN_FILENO);
        close(saved);
    }
}
END_TEST

/* The descriptor of a file, found by what it points at. */
static int find_fd(void)
{
    struct stat want, got;

    ck_assert_int_eq(stat(path, &want), 0);
    for (int fd = 0; fd < 256; fd++) {
        if (!fstat(fd, &got) && got.st_ino == want.st_ino &&
            got.st_dev == want.st_dev)
            return fd;
    }
    return -1;
}

START_TEST(open_is_not_inherited)
{
    struct kl_os_file *file = create();
    int fd = find_fd();

    ck_assert_int_ge(fd, 3);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    ck_assert_int_eq(find_fd(), -1);
}
END_TEST

START_TEST(lock_conflicts_between_processes)
{
    struct kl_os_file *file = create();
    int status = -1;
    pid_t child;

    ck_assert_int_eq(vfs->ops->lock(file), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct kl_os_file *other;

        if (vfs->ops->open(vfs, path, KL_OS_WRITE, &other))
            _exit(2);
        _exit(vfs->ops->lock(other) == KL_EBUSY ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

/* A child keeps the file open, and even closes it; it does not keep the lock,
 * nor give it up. */
START_TEST(lock_is_not_inherited)
{
    struct kl_os_file *file = create();
    struct kl_os_file *other;
    int status = -1;
    int fds[2];
    pid_t child;
    char byte;

    ck_assert_int_eq(vfs->ops->lock(file), 0);
    ck_assert_int_eq(pipe(fds), 0);
    for (int closes = 0; closes < 2; closes++) {
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            close(fds[1]);
            if (closes)
                (void)vfs->ops->close(file);
            else
                (void)!read(fds[0], &byte, 1); /* until the parent is done */
            _exit(0);
        }
        if (closes)
            ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(vfs->ops->open(vfs, path, KL_OS_WRITE, &other), 0);
        ck_assert_int_eq(vfs->ops->lock(other), KL_EBUSY);
        ck_assert_int_eq(vfs->ops->close(other), 0);
    }
    ck_assert_int_eq(vfs->ops->close(file), 0);
    ck_assert_int_eq(vfs->ops->open(vfs, path, KL_OS_WRITE, &other), 0);
    ck_assert_int_eq(vfs->ops->lock(other), 0);
    ck_assert_int_eq(vfs->ops->close(other), 0);
    close(fds[0]);
    close(fds[1]);
    ck_assert_int_gt(wait(&status), 0);
}
END_TEST

static struct rlimit file_limit;

/* A bound on file sizes ends a write in the middle. */
static void limit_size(rlim_t size)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &file_limit), 0);
    limit = file_limit;
    limit.rlim_cur = size;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_size(void)
{
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &file_limit), 0);
    signal(SIGXFSZ, SIG_DFL);
}

START_TEST(write_that_ends_in_the_middle)
{
    struct kl_os_file *file = create();
    struct kl_os_iovec iov[3] = {{data, 3000}, {data, 4000}, {data, 5000}};
    size_t n = 0;
    int rc;

    limit_size(10000);
    rc = vfs->ops->write(file, iov, 3, 0, &n);
    unlimit_size();
    ck_assert_int_eq(rc, KL_EIO);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), EFBIG);
    ck_assert_uint_eq(n, 10000);
    check_size(file, 10000);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(allocate_that_fails_changes_nothing)
{
    struct kl_os_file *file = create();
    struct kl_os_iovec iov = {"text", 4};
    int rc;

    ck_assert_int_eq(vfs->ops->write(file, &iov, 1, 0, NULL), 0);
    limit_size(10000);
    rc = vfs->ops->allocate(file, 0, 50000);
    unlimit_size();
    ck_assert_int_eq(rc, KL_EIO);
    check_size(file, 4);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(write_to_a_full_disk)
{
    struct kl_os_iovec iov = {data, 100};
    struct kl_os_file *file;
    size_t n = 99;

    if (access("/dev/full", W_OK))
        return;
    ck_assert_int_eq(vfs->ops->open(vfs, "/dev/full", KL_OS_WRITE, &file), 0);
    ck_assert_int_eq(vfs->ops->write(file, &iov, 1, 0, &n), KL_EDISKFULL);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

static int ignore_name(const char *name, void *user)
{
    (void)name;
    (void)user;
    return 0;
}

START_TEST(calls_without_memory)
{
    struct fail_alloc f;
    uint64_t fail_at = 1;
    int rc;

    do {
        struct kl_os_vfs *own;
        struct kl_os_file *file;

        fail_alloc_init(&f);
        fail_alloc_arm(&f, fail_at++);
        rc = kl_os_vfs_posix_new(&own, &f.alloc);
        if (!rc) {
            rc = own->ops->open(own, path, KL_OS_WRITE | KL_OS_CREATE, &file);
            if (!rc)
                rc = own->ops->close(file);
            if (!rc)
                rc = own->ops->list(own, folder, ignore_name, NULL);
            own->ops->free(own);
        }
        ck_assert_int_eq(rc, f.failed ? KL_ENOMEM : 0);
        fail_alloc_deinit(&f);
    } while (rc);
    ck_assert_uint_ge(fail_at, 4);
}
END_TEST

Suite *suite_os_vfs_posix(void);
Suite *suite_os_vfs_posix(void)
{
    Suite *s = suite_create("os_vfs_posix");
    TCase *tc = tcase_create("posix");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, last_errno_of_a_failure);
    tcase_add_test(tc, open_without_descriptors);
    tcase_add_test(tc, open_above_the_standard_streams);
    tcase_add_test(tc, open_is_not_inherited);
    tcase_add_test(tc, lock_conflicts_between_processes);
    tcase_add_test(tc, lock_is_not_inherited);
    tcase_add_test(tc, write_that_ends_in_the_middle);
    tcase_add_test(tc, allocate_that_fails_changes_nothing);
    tcase_add_test(tc, write_to_a_full_disk);
    tcase_add_test(tc, calls_without_memory);
    suite_add_tcase(s, tc);
    return s;
}
