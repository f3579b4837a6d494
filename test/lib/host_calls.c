#include "host_calls.h"

enum { HOST_CALLS_PARTS = 1024 };

static int pass_open(const char *path, uint32_t flags, void **file_out,
                     void *user)
{
    struct kl_os_vfs *inner = user;

    return inner->ops->open(inner, path, flags, (struct kl_os_file **)file_out);
}

static int pass_close(void *file, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->close(file);
}

static int pass_read(void *file, void *buf, size_t size, uint64_t offset,
                     size_t *size_out, void *user)
{
    return ((struct kl_os_vfs *)user)
        ->ops->read(file, buf, size, offset, size_out);
}

static int pass_write(void *file, const void *const *parts,
                      const uint64_t *sizes, size_t count, uint64_t offset,
                      void *user)
{
    struct kl_os_iovec iov[HOST_CALLS_PARTS];

    if (count > HOST_CALLS_PARTS)
        return KL_EIO;
    for (size_t i = 0; i < count; i++) {
        iov[i].data = parts[i];
        iov[i].size = (size_t)sizes[i];
    }
    return ((struct kl_os_vfs *)user)
        ->ops->write(file, iov, count, offset, NULL);
}

static int pass_sync(void *file, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->sync(file);
}

static int pass_truncate(void *file, uint64_t size, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->truncate(file, size);
}

static int pass_size(void *file, uint64_t *size_out, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->size(file, size_out);
}

static int pass_rename(const char *from, const char *to, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->rename(user, from, to);
}

static int pass_unlink(const char *path, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->unlink(user, path);
}

static int pass_mkdir(const char *path, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->mkdir(user, path);
}

static int pass_rmdir(const char *path, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->rmdir(user, path);
}

static int pass_name(const char *name, void *user)
{
    return kl_os_host_names_add(user, name);
}

static int pass_list(const char *path, kl_storage_names *names, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->list(user, path, pass_name, names);
}

static int pass_sync_dir(const char *path, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->sync_dir(user, path);
}

static int pass_space(const char *path, uint64_t *free_out, void *user)
{
    return ((struct kl_os_vfs *)user)->ops->space(user, path, free_out);
}

void host_calls_fill(struct kl_os_host_calls *calls, struct kl_os_vfs *inner)
{
    *calls = (struct kl_os_host_calls){
        .open = pass_open,
        .close = pass_close,
        .read = pass_read,
        .write = pass_write,
        .sync = pass_sync,
        .truncate = pass_truncate,
        .size = pass_size,
        .rename = pass_rename,
        .unlink = pass_unlink,
        .mkdir = pass_mkdir,
        .rmdir = pass_rmdir,
        .list = pass_list,
        .sync_dir = pass_sync_dir,
        .space = pass_space,
        .open_user = inner,
        .close_user = inner,
        .read_user = inner,
        .write_user = inner,
        .sync_user = inner,
        .truncate_user = inner,
        .size_user = inner,
        .rename_user = inner,
        .unlink_user = inner,
        .mkdir_user = inner,
        .rmdir_user = inner,
        .list_user = inner,
        .sync_dir_user = inner,
        .space_user = inner,
    };
}
