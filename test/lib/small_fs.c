#include "small_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int fs_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), ok;

    if (fd < 0)
        return errno;
    ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok ? 0 : EIO;
}

/* Mounts of its own: as root, or as root of a world of its own. */
static int fs_unshare(void)
{
    char map[64];
    uid_t uid = getuid();
    gid_t gid = getgid();

    if (unshare(CLONE_NEWNS) == 0)
        return 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return errno;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (fs_write("/proc/self/setgroups", "deny") ||
        fs_write("/proc/self/uid_map", map))
        return EPERM;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)gid, (unsigned)gid);
    return fs_write("/proc/self/gid_map", map);
}

/* Says how it went, and stays until the other end is closed. */
static void fs_help(const struct small_fs *fs, uint64_t bytes, int pipe)
{
    char options[64];
    int code = fs_unshare();
    char end;

    snprintf(options, sizeof options, "size=%llu", (unsigned long long)bytes);
    if (!code && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        code = errno;
    if (!code && mount("kraftlog-test", fs->under, "tmpfs", 0, options))
        code = errno;
    if (write(pipe, &code, sizeof code) == sizeof code)
        while (read(pipe, &end, 1) < 0 && errno == EINTR) {
        }
    _exit(0);
}

static int fs_start(struct small_fs *fs, uint64_t bytes)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return errno;
    fs->helper = fork();
    if (fs->helper == 0) {
        close(ends[0]);
        fs_help(fs, bytes, ends[1]);
    }
    close(ends[1]);
    fs->pipe = ends[0];
    if (fs->helper > 0)
        return 0;
    close(ends[0]);
    return EAGAIN;
}

int small_fs_mount(struct small_fs *fs, uint64_t bytes)
{
    const char *base = getenv("TMPDIR");
    int code;

    snprintf(fs->under, sizeof fs->under, "%s/kraftlog-test-XXXXXX",
             base && *base ? base : "/tmp");
    if (!mkdtemp(fs->under))
        return errno;
    code = fs_start(fs, bytes);
    if (code) {
        rmdir(fs->under);
        return code;
    }
    if (read(fs->pipe, &code, sizeof code) != sizeof code)
        code = EPIPE;
    snprintf(fs->path, sizeof fs->path, "/proc/%d/root%s", (int)fs->helper,
             fs->under);
    if (!code && access(fs->path, W_OK))
        code = errno;
    if (code)
        small_fs_unmount(fs);
    return code;
}

void small_fs_unmount(struct small_fs *fs)
{
    close(fs->pipe);
    waitpid(fs->helper, NULL, 0);
    rmdir(fs->under);
}
