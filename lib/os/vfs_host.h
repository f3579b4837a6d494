/*
 * A host's file system: the port over functions of the host's
 * (kraftlog/storage.h).
 */
#ifndef KL_OS_VFS_HOST_H
#define KL_OS_VFS_HOST_H

#include "os/vfs.h"

#include <kraftlog/storage.h>

/* Each function: name, type, whether it must be there. */
#define KL_OS_HOST_CALLS(X)                                                    \
    X(open, kl_storage_open_fn, 1)                                             \
    X(close, kl_storage_file_fn, 1)                                            \
    X(read, kl_storage_read_fn, 1)                                             \
    X(write, kl_storage_write_fn, 1)                                           \
    X(sync, kl_storage_file_fn, 1)                                             \
    X(truncate, kl_storage_truncate_fn, 1)                                     \
    X(size, kl_storage_size_fn, 1)                                             \
    X(rename, kl_storage_rename_fn, 1)                                         \
    X(unlink, kl_storage_path_fn, 1)                                           \
    X(mkdir, kl_storage_path_fn, 1)                                            \
    X(rmdir, kl_storage_path_fn, 1)                                            \
    X(list, kl_storage_list_fn, 1)                                             \
    X(sync_dir, kl_storage_path_fn, 1)                                         \
    X(writeback, kl_storage_range_fn, 0)                                       \
    X(allocate, kl_storage_range_fn, 0)                                        \
    X(lock, kl_storage_file_fn, 0)                                             \
    X(sync_all, kl_storage_file_fn, 0)                                         \
    X(space, kl_storage_space_fn, 0)

struct kl_os_host_calls
{
#define X(name, type, required)                                                \
    type name;                                                                 \
    void *name##_user;
    KL_OS_HOST_CALLS(X)
#undef X
};

/* The file system, and where to put its functions before it is used; they are
 * part of it. */
int kl_os_vfs_host_new(struct kl_os_vfs **out,
                       const struct kl_base_alloc *alloc,
                       struct kl_os_host_calls **calls_out);
/* The name of a function that must be there and is not; NULL where it may be
 * used. */
const char *kl_os_host_calls_missing(const struct kl_os_host_calls *calls);
/* kl_storage_names_add. */
int kl_os_host_names_add(struct kl_storage_names *names, const char *name);

#endif
