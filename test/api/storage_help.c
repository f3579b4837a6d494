#include "storage_help.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct host_file
{
    struct host_file *next;
    int fd;
    char path[512];
};

void host_storage_init(struct host_storage *h)
{
    memset(h, 0, sizeof *h);
    atomic_init(&h->fail_call, HOST_CALLS);
    ck_assert_int_eq(pthread_mutex_init(&h->mutex, NULL), 0);
}

void host_storage_deinit(struct host_storage *h)
{
    ck_assert_int_eq(atomic_load(&h->open_count), 0);
    pthread_mutex_destroy(&h->mutex);
}

void host_storage_heal(struct host_storage *h)
{
    atomic_store(&h->fail_at, 0);
    atomic_store(&h->fail_call, HOST_CALLS);
}

static int host_code(void)
{
    switch (errno) {
    case ENOENT:
        return KL_ENOENT;
    case EEXIST:
    case ENOTEMPTY:
        return KL_EEXIST;
    default:
        return KL_EIO;
    }
}

/* Every call goes in and out here. */
static int host_enter(struct host_storage *h, enum host_call call)
{
    int inside = atomic_fetch_add(&h->inside, 1) + 1;
    int number = atomic_fetch_add(&h->count, 1) + 1;

    if (inside > atomic_load(&h->inside_max))
        atomic_store(&h->inside_max, inside);
    atomic_fetch_add(&h->counts[call], 1);
    if (h->hook)
        h->hook(call, h->hook_user);
    return number == atomic_load(&h->fail_at) ||
                   (int)call == atomic_load(&h->fail_call)
               ? h->fail_code
               : KL_OK;
}

static int host_leave(struct host_storage *h, int rc)
{
    atomic_fetch_sub(&h->inside, 1);
    return rc;
}

/* ---- files --------------------------------------------------------------- */

static int host_open(const char *path, uint32_t flags, void **file_out,
                     void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_OPEN);
    int how = flags & KL_STORAGE_WRITE ? O_RDWR : O_RDONLY;
    struct host_file *f;

    how |= flags & KL_STORAGE_CREATE ? O_CREAT : 0;
    how |= flags & KL_STORAGE_TRUNCATE ? O_TRUNC : 0;
    if (rc)
        return host_leave(h, rc);
    f = calloc(1, sizeof *f);
    ck_assert_ptr_nonnull(f);
    snprintf(f->path, sizeof f->path, "%s", path);
    f->fd = open(path, how | O_CLOEXEC, 0666);
    if (f->fd < 0) {
        free(f);
        return host_leave(h, host_code());
    }
    pthread_mutex_lock(&h->mutex);
    f->next = h->files;
    h->files = f;
    pthread_mutex_unlock(&h->mutex);
    atomic_fetch_add(&h->open_count, 1);
    *file_out = f;
    return host_leave(h, 0);
}

static int host_close(void *file, void *user)
{
    struct host_storage *h = user;
    struct host_file *f = file;
    int rc = host_enter(h, HOST_CLOSE);
    struct host_file **at = &h->files;

    pthread_mutex_lock(&h->mutex);
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    pthread_mutex_unlock(&h->mutex);
    atomic_fetch_sub(&h->open_count, 1);
    close(f->fd);
    free(f);
    return host_leave(h, rc);
}

static int host_read(void *file, void *buf, size_t size, uint64_t offset,
                     size_t *size_out, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_READ);
    ssize_t n;

    if (rc)
        return host_leave(h, rc);
    if (h->read_max && size > h->read_max)
        size = h->read_max;
    n = pread(((struct host_file *)file)->fd, buf, size, (off_t)offset);
    if (n >= 0)
        *size_out = (size_t)n;
    return host_leave(h, n < 0 ? KL_EIO : 0);
}

static int host_write(void *file, const void *const *parts,
                      const uint64_t *sizes, size_t count, uint64_t offset,
                      void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_WRITE);

    for (size_t i = 0; rc == 0 && i < count; offset += sizes[i++])
        if (pwrite(((struct host_file *)file)->fd, parts[i], sizes[i],
                   (off_t)offset) != (ssize_t)sizes[i])
            rc = KL_EIO;
    return host_leave(h, rc);
}

/* No power is lost in these tests. */
static int host_sync(void *file, void *user)
{
    struct host_storage *h = user;

    (void)file;
    return host_leave(h, host_enter(h, HOST_SYNC));
}

static int host_truncate(void *file, uint64_t size, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_TRUNCATE);

    if (rc == 0 && ftruncate(((struct host_file *)file)->fd, (off_t)size))
        rc = KL_EIO;
    return host_leave(h, rc);
}

static int host_size(void *file, uint64_t *size_out, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_SIZE);
    struct stat st;

    if (rc == 0 && fstat(((struct host_file *)file)->fd, &st))
        rc = KL_EIO;
    if (rc == 0)
        *size_out = (uint64_t)st.st_size;
    return host_leave(h, rc);
}

/* ---- names --------------------------------------------------------------- */

static int host_rename(const char *from, const char *to, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_RENAME);

    if (rc == 0 && rename(from, to))
        rc = host_code();
    return host_leave(h, rc);
}

static int host_is_open(struct host_storage *h, const char *path)
{
    struct host_file *f;

    pthread_mutex_lock(&h->mutex);
    f = h->files;
    while (f && strcmp(f->path, path) != 0)
        f = f->next;
    pthread_mutex_unlock(&h->mutex);
    return f != NULL;
}

static int host_unlink(const char *path, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_UNLINK);

    if (rc == 0 && h->keeps_open_names && host_is_open(h, path))
        rc = KL_EBUSY;
    if (rc == 0 && unlink(path))
        rc = host_code();
    return host_leave(h, rc);
}

static int host_mkdir(const char *path, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_MKDIR);

    if (rc == 0 && mkdir(path, 0777))
        rc = host_code();
    return host_leave(h, rc);
}

static int host_rmdir(const char *path, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_RMDIR);

    if (rc == 0 && rmdir(path))
        rc = host_code();
    return host_leave(h, rc);
}

static int host_list(const char *path, kl_storage_names *names, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_LIST);
    DIR *dir = rc ? NULL : opendir(path);
    struct dirent *entry;

    if (rc == 0 && !dir)
        rc = host_code();
    while (rc == 0 && (entry = readdir(dir)) != NULL)
        rc = kl_storage_names_add(names, entry->d_name);
    if (dir)
        closedir(dir);
    return host_leave(h, rc);
}

static int host_sync_dir(const char *path, void *user)
{
    struct host_storage *h = user;
    int rc = host_enter(h, HOST_SYNC_DIR);
    struct stat st;

    if (rc == 0 && stat(path, &st))
        rc = host_code();
    return host_leave(h, rc);
}

/* ---- filling ------------------------------------------------------------- */

const char *host_storage_name(enum host_call call)
{
    static const char *const names[HOST_CALLS] = {
        "open",   "close",  "read",  "write", "sync", "truncate", "size",
        "rename", "unlink", "mkdir", "rmdir", "list", "sync_dir"};

    return names[call];
}

int host_storage_set(struct host_storage *h, kl_storage *s, enum host_call call)
{
    switch (call) {
    case HOST_OPEN:
        return kl_storage_set_open(s, host_open, h);
    case HOST_CLOSE:
        return kl_storage_set_close(s, host_close, h);
    case HOST_READ:
        return kl_storage_set_read(s, host_read, h);
    case HOST_WRITE:
        return kl_storage_set_write(s, host_write, h);
    case HOST_SYNC:
        return kl_storage_set_sync(s, host_sync, h);
    case HOST_TRUNCATE:
        return kl_storage_set_truncate(s, host_truncate, h);
    case HOST_SIZE:
        return kl_storage_set_size(s, host_size, h);
    case HOST_RENAME:
        return kl_storage_set_rename(s, host_rename, h);
    case HOST_UNLINK:
        return kl_storage_set_unlink(s, host_unlink, h);
    case HOST_MKDIR:
        return kl_storage_set_mkdir(s, host_mkdir, h);
    case HOST_RMDIR:
        return kl_storage_set_rmdir(s, host_rmdir, h);
    case HOST_LIST:
        return kl_storage_set_list(s, host_list, h);
    case HOST_SYNC_DIR:
        return kl_storage_set_sync_dir(s, host_sync_dir, h);
    case HOST_CALLS:
        break;
    }
    return KL_EINVAL;
}

void host_storage_fill(struct host_storage *h, kl_storage *s,
                       enum host_call but)
{
    for (int call = 0; call < HOST_CALLS; call++)
        if (call != (int)but)
            ck_assert_int_eq(host_storage_set(h, s, (enum host_call)call), 0);
}
