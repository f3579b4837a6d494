/*
 * The real file system. The only file of the library that makes file-system
 * calls.
 */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "base/alloc.h"
#include "base/assert.h"
#include "os/names.h"
#include "os/syserror.h"
#include "os/vfs.h"
#include "os/zeros.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A segment and a WAL position may lie above 2 GiB on every machine. */
KL_STATIC_ASSERT(sizeof(off_t) == 8, "files need 64-bit offsets");

#if defined(IOV_MAX) && IOV_MAX < 1024
#define POSIX_PARTS IOV_MAX
#else
#define POSIX_PARTS 1024
#endif
/* Linux moves a little less than 2 GiB in one call, others refuse more. */
#define POSIX_CALL_MAX ((size_t)1 << 30)

struct posix_vfs
{
    struct kl_os_vfs base;
    struct kl_base_alloc alloc;
    atomic_int last_errno;
    int is_syncfs_honest;
};

struct posix_file
{
    struct kl_os_file base;
    int fd;
    pid_t locker; /* the process that locked it; 0 = nobody */
};

static int posix_fd(struct kl_os_file *file)
{
    return ((struct posix_file *)file)->fd;
}

/* Keeps the number of a failure and translates it. */
static int posix_error(struct kl_os_vfs *vfs, int number)
{
    atomic_store_explicit(&((struct posix_vfs *)vfs)->last_errno, number,
                          memory_order_relaxed);
    return kl_os_syserror_code(number);
}

static int posix_fail(struct kl_os_vfs *vfs)
{
    return posix_error(vfs, errno);
}

static int posix_range_is_valid(uint64_t offset, uint64_t size)
{
    return offset <= INT64_MAX && size <= INT64_MAX - offset;
}

/* A host may have closed its standard streams. Were a data file given such a
 * number, the next message that anybody prints would be written into it. */
static int posix_fd_above_streams(int fd)
{
    int low = fd;
    int number;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    number = errno;
    close(low);
    errno = number;
    return fd;
}

static int posix_fd_open(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
    while (fd < 0 && errno == EINTR);
    return posix_fd_above_streams(fd);
}

static int posix_open(struct kl_os_vfs *vfs, const char *path, uint32_t flags,
                      struct kl_os_file **out)
{
    const struct kl_base_alloc *alloc = &((struct posix_vfs *)vfs)->alloc;
    struct posix_file *file = kl_base_malloc(alloc, sizeof *file);
    int system_flags = flags & KL_OS_WRITE ? O_RDWR : O_RDONLY;

    if (!file)
        return KL_ENOMEM;
    if (flags & KL_OS_CREATE)
        system_flags |= O_CREAT;
    if (flags & KL_OS_TRUNCATE)
        system_flags |= O_TRUNC;
    file->base.vfs = vfs;
    file->locker = 0;
    file->fd = posix_fd_open(path, system_flags);
    if (file->fd < 0) {
        int rc = posix_fail(vfs);

        kl_base_free(alloc, file, sizeof *file);
        return rc;
    }
    *out = &file->base;
    return 0;
}

/* A child that was forked shares the lock, which closing leaves to it; so the
 * process that locked unlocks. */
static void posix_unlock(struct kl_os_file *file)
{
    const struct posix_file *f = (struct posix_file *)file;

    if (f->locker == 0 || f->locker != getpid())
        return;
#ifdef F_OFD_SETLK
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void)fcntl(f->fd, F_OFD_SETLK, &lock);
#else
    (void)flock(f->fd, LOCK_UN);
#endif
}

static int posix_close(struct kl_os_file *file)
{
    struct kl_os_vfs *vfs = file->vfs;
    int rc = 0;

    posix_unlock(file);
    /* After EINTR the descriptor is gone on Linux: closing it again could hit
     * another thread's file. */
    if (close(posix_fd(file)) && errno != EINTR)
        rc = posix_fail(vfs);
    kl_base_free(&((struct posix_vfs *)vfs)->alloc, file,
                 sizeof(struct posix_file));
    return rc;
}

static int posix_read(struct kl_os_file *file, void *buf, size_t size,
                      uint64_t offset, size_t *read_out)
{
    size_t done = 0;
    int rc = 0;

    *read_out = 0;
    if (!posix_range_is_valid(offset, size))
        return KL_EINVAL;
    while (done < size) {
        size_t want = size - done;
        ssize_t n = pread(posix_fd(file), (char *)buf + done,
                          want < POSIX_CALL_MAX ? want : POSIX_CALL_MAX,
                          (off_t)(offset + done));

        if (n == 0)
            break;
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            rc = posix_fail(file->vfs);
            break;
        }
    }
    *read_out = done;
    return rc;
}

/* A place in a gathered write. */
struct posix_gather
{
    const struct kl_os_iovec *iov;
    size_t count;
    size_t index;
    size_t skip; /* bytes of part index that are written */
};

/* Fills parts with what one call may write next. Returns their count, 0 when
 * everything is written. */
static int posix_gather_fill(struct posix_gather *g, struct iovec *parts)
{
    size_t room = POSIX_CALL_MAX;
    size_t skip = g->skip;
    int used = 0;

    for (size_t i = g->index; i < g->count && used < POSIX_PARTS && room; i++) {
        size_t size = g->iov[i].size - skip;

        if (size > room)
            size = room;
        if (size) {
            parts[used].iov_base = (char *)g->iov[i].data + skip;
            parts[used++].iov_len = size;
        }
        room -= size;
        skip = 0;
    }
    return used;
}

static void posix_gather_advance(struct posix_gather *g, size_t size)
{
    while (g->index < g->count && size >= g->iov[g->index].size - g->skip) {
        size -= g->iov[g->index].size - g->skip;
        g->index++;
        g->skip = 0;
    }
    g->skip += size;
}

static int posix_write(struct kl_os_file *file, const struct kl_os_iovec *iov,
                       size_t count, uint64_t offset, size_t *written_out)
{
    struct posix_gather g = {.iov = iov, .count = count};
    struct iovec parts[POSIX_PARTS];
    uint64_t done = 0;
    int used;
    int rc = 0;

    while (!rc && (used = posix_gather_fill(&g, parts)) > 0) {
        ssize_t n = -1;

        if (!posix_range_is_valid(offset, done + POSIX_CALL_MAX))
            rc = KL_EINVAL;
        else
            n = pwritev(posix_fd(file), parts, used, (off_t)(offset + done));
        if (n > 0) {
            done += (uint64_t)n;
            posix_gather_advance(&g, (size_t)n);
        } else if (n == 0) {
            /* Not allowed for a regular file; again could last for ever. */
            rc = posix_error(file->vfs, EIO);
        } else if (!rc && errno != EINTR) {
            rc = posix_fail(file->vfs);
        }
    }
    if (written_out)
        *written_out = (size_t)done;
    return rc;
}

/* EINTR says that nothing was waited for, not that something failed: only then
 * is a sync repeated. */
static int posix_sync(struct kl_os_file *file)
{
    int rc;

    do
#ifdef F_FULLFSYNC
        rc = fcntl(posix_fd(file), F_FULLFSYNC); /* fsync leaves the cache */
#else
        rc = fdatasync(posix_fd(file));
#endif
    while (rc && errno == EINTR);
    return rc ? posix_fail(file->vfs) : 0;
}

static void posix_writeback(struct kl_os_file *file, uint64_t offset,
                            uint64_t size)
{
#ifdef SYNC_FILE_RANGE_WRITE
    if (size && posix_range_is_valid(offset, size))
        (void)sync_file_range(posix_fd(file), (off_t)offset, (off_t)size,
                              SYNC_FILE_RANGE_WRITE);
#else
    (void)file;
    (void)offset;
    (void)size;
#endif
}

static int posix_truncate(struct kl_os_file *file, uint64_t size)
{
    int rc;

    if (!posix_range_is_valid(0, size))
        return KL_EINVAL;
    do
        rc = ftruncate(posix_fd(file), (off_t)size);
    while (rc && errno == EINTR);
    return rc ? posix_fail(file->vfs) : 0;
}

static int posix_size(struct kl_os_file *file, uint64_t *size_out)
{
    struct stat st;

    if (fstat(posix_fd(file), &st))
        return posix_fail(file->vfs);
    *size_out = (uint64_t)st.st_size;
    return 0;
}

/* Returns an error number. */
static int posix_reserve(int fd, uint64_t offset, uint64_t size)
{
    int number;

    do
#ifdef __linux__
        /* Not posix_fallocate, which writes into blocks where it must. */
        number = fallocate(fd, 0, (off_t)offset, (off_t)size) ? errno : 0;
#else
        number = posix_fallocate(fd, (off_t)offset, (off_t)size);
#endif
    while (number == EINTR);
    return number;
}

static int posix_allocate(struct kl_os_file *file, uint64_t offset,
                          uint64_t size)
{
    uint64_t before, after;
    int number;
    int rc;

    if (!posix_range_is_valid(offset, size))
        return KL_EINVAL;
    if (!size)
        return 0;
    rc = posix_size(file, &before);
    if (rc)
        return rc;
    number = posix_reserve(posix_fd(file), offset, size);
    if (!number)
        return 0;
    if (number == EOPNOTSUPP || number == ENOSYS || number == EINVAL)
        return kl_os_zeros_append(file, &((struct posix_vfs *)file->vfs)->alloc,
                                  offset + size);
    rc = posix_error(file->vfs, number);
    /* A disk that got full on the way must not keep what was reserved. */
    if (!posix_size(file, &after) && after > before)
        (void)ftruncate(posix_fd(file), (off_t)before);
    return rc;
}

static int posix_lock(struct kl_os_file *file)
{
    int rc;

    do {
#ifdef F_OFD_SETLK
        /* Owned by the open file, not by the process: a second node in this
         * process is refused, and closing another handle does not unlock. */
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

        rc = fcntl(posix_fd(file), F_OFD_SETLK, &lock);
#else
        rc = flock(posix_fd(file), LOCK_EX | LOCK_NB);
#endif
    } while (rc && errno == EINTR);
    if (rc && (errno == EAGAIN || errno == EACCES)) {
        (void)posix_fail(file->vfs);
        return KL_EBUSY;
    }
    if (rc)
        return posix_fail(file->vfs);
    ((struct posix_file *)file)->locker = getpid();
    return 0;
}

static int posix_rename(struct kl_os_vfs *vfs, const char *from, const char *to)
{
    return rename(from, to) ? posix_fail(vfs) : 0;
}

static int posix_unlink(struct kl_os_vfs *vfs, const char *path)
{
    return unlink(path) ? posix_fail(vfs) : 0;
}

static int posix_mkdir(struct kl_os_vfs *vfs, const char *path)
{
    return mkdir(path, 0777) ? posix_fail(vfs) : 0;
}

static int posix_rmdir(struct kl_os_vfs *vfs, const char *path)
{
    return rmdir(path) ? posix_fail(vfs) : 0;
}

static int posix_names_read(struct kl_os_vfs *vfs, const char *path,
                            struct kl_os_names *names)
{
    DIR *dir = opendir(path);
    int rc = 0;

    if (!dir)
        return posix_fail(vfs);
    while (!rc) {
        struct dirent *entry;

        errno = 0;
        entry = readdir(dir);
        if (!entry) {
            rc = errno ? posix_fail(vfs) : 0;
            break;
        }
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            rc = kl_os_names_add(names, entry->d_name);
    }
    closedir(dir);
    return rc;
}

static int posix_list(struct kl_os_vfs *vfs, const char *path, kl_os_list_fn fn,
                      void *user)
{
    struct kl_os_names names;
    int rc;

    kl_os_names_init(&names, &((struct posix_vfs *)vfs)->alloc);
    rc = posix_names_read(vfs, path, &names);
    if (!rc)
        rc = kl_os_names_each(&names, fn, user);
    kl_os_names_deinit(&names);
    return rc;
}

static int posix_sync_dir(struct kl_os_vfs *vfs, const char *path)
{
    int fd = posix_fd_open(path, O_RDONLY | O_DIRECTORY);
    int rc;

    if (fd < 0)
        return posix_fail(vfs);
    do
        rc = fsync(fd);
    while (rc && errno == EINTR);
    if (rc)
        rc = posix_fail(vfs);
    close(fd);
    return rc;
}

static int posix_sync_all(struct kl_os_file *file)
{
#ifdef __linux__
    if (((struct posix_vfs *)file->vfs)->is_syncfs_honest)
        return syncfs(posix_fd(file)) ? posix_fail(file->vfs) : 0;
#endif
    (void)file;
    return KL_EUNSUPPORTED;
}

static int posix_space(struct kl_os_vfs *vfs, const char *path,
                       uint64_t *free_out)
{
    struct statvfs st;
    int rc;

    do
        rc = statvfs(path, &st);
    while (rc && errno == EINTR);
    if (rc)
        return posix_fail(vfs);
    *free_out = (uint64_t)st.f_bavail * st.f_frsize;
    return 0;
}

static int posix_last_errno(struct kl_os_vfs *vfs)
{
    return atomic_load_explicit(&((struct posix_vfs *)vfs)->last_errno,
                                memory_order_relaxed);
}

static void posix_free(struct kl_os_vfs *base)
{
    struct kl_base_alloc alloc = ((struct posix_vfs *)base)->alloc;

    kl_base_free(&alloc, base, sizeof(struct posix_vfs));
}

static const struct kl_os_vfs_ops posix_ops = {
    .open = posix_open,
    .close = posix_close,
    .read = posix_read,
    .write = posix_write,
    .sync = posix_sync,
    .writeback = posix_writeback,
    .truncate = posix_truncate,
    .allocate = posix_allocate,
    .size = posix_size,
    .lock = posix_lock,
    .rename = posix_rename,
    .unlink = posix_unlink,
    .mkdir = posix_mkdir,
    .rmdir = posix_rmdir,
    .list = posix_list,
    .sync_dir = posix_sync_dir,
    .sync_all = posix_sync_all,
    .space = posix_space,
    .last_errno = posix_last_errno,
    .free = posix_free,
};

/* Before Linux 5.8 syncfs loses write errors, so that it proves nothing. */
static int posix_syncfs_is_honest(void)
{
    struct utsname name;
    char *end;
    long major, minor;

    if (uname(&name))
        return 0;
    major = strtol(name.release, &end, 10);
    minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 8);
}

int kl_os_vfs_posix_new(struct kl_os_vfs **out,
                        const struct kl_base_alloc *alloc)
{
    struct posix_vfs *vfs = kl_base_calloc(alloc, sizeof *vfs);

    if (!vfs)
        return KL_ENOMEM;
    vfs->base.ops = &posix_ops;
    vfs->alloc = *alloc;
    atomic_init(&vfs->last_errno, 0);
    vfs->is_syncfs_honest = posix_syncfs_is_honest();
    *out = &vfs->base;
    return 0;
}
