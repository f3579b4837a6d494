/*
 * The file-system port: what the store asks of a file system, one call each.
 *
 * The calls block and return 0 or a KL_E code. The owner thread of a node never
 * makes them after open: they are made by jobs in lanes (os/lane.h), so that
 * any call may take as long as it likes. An implementation is safe for calls
 * from several threads on different files, and for write, sync and read on one
 * file at the same time.
 *
 * What is durable when: sync makes a file's bytes and size durable; sync_dir
 * makes the names in a folder durable; nothing else does.
 */
#ifndef KL_OS_VFS_H
#define KL_OS_VFS_H

#include <kraftlog/error.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KL_OS_READ = 1,    /* open for reading */
    KL_OS_WRITE = 2,   /* open for reading and writing */
    KL_OS_CREATE = 4,  /* create when absent */
    KL_OS_TRUNCATE = 8 /* cut to nothing when present */
};

struct kl_os_iovec
{
    const void *data;
    size_t size;
};

struct kl_os_vfs;

/* A handle of an open file; implementations embed it first. */
struct kl_os_file
{
    struct kl_os_vfs *vfs;
};

/* Called by list for every name but "." and "..", in ascending byte order;
 * non-zero ends the listing with that code. It may change the folder: the names
 * are those of the moment when list was called. */
typedef int (*kl_os_list_fn)(const char *name, void *user);

struct kl_os_vfs_ops
{
    int (*open)(struct kl_os_vfs *vfs, const char *path, uint32_t flags,
                struct kl_os_file **out);
    /* Always gives the handle up, also when it reports an error. */
    int (*close)(struct kl_os_file *file);
    /* Reads until size bytes or the end of the file: short only at the end. */
    int (*read)(struct kl_os_file *file, void *buf, size_t size,
                uint64_t offset, size_t *read_out);
    /* Writes everything or fails; written_out (may be NULL) says how much of
     * it reached the file all the same. Any count of parts. */
    int (*write)(struct kl_os_file *file, const struct kl_os_iovec *iov,
                 size_t count, uint64_t offset, size_t *written_out);
    int (*sync)(struct kl_os_file *file);
    /* Starts writing back a range without waiting: a hint, never fails. */
    void (*writeback)(struct kl_os_file *file, uint64_t offset, uint64_t size);
    int (*truncate)(struct kl_os_file *file, uint64_t size);
    /* Reserves blocks for a range, growing the file, so that writing there
     * cannot meet a full disk on file systems that write in place. */
    int (*allocate)(struct kl_os_file *file, uint64_t offset, uint64_t size);
    int (*size)(struct kl_os_file *file, uint64_t *size_out);
    /* Exclusive lock against other handles in this and other processes, until
     * close; KL_EBUSY when held. */
    int (*lock)(struct kl_os_file *file);

    /* Atomic; replaces an existing file. */
    int (*rename)(struct kl_os_vfs *vfs, const char *from, const char *to);
    int (*unlink)(struct kl_os_vfs *vfs, const char *path);
    int (*mkdir)(struct kl_os_vfs *vfs, const char *path); /* KL_EEXIST */
    /* KL_EEXIST where the folder is not empty. */
    int (*rmdir)(struct kl_os_vfs *vfs, const char *path);
    int (*list)(struct kl_os_vfs *vfs, const char *path, kl_os_list_fn fn,
                void *user);
    int (*sync_dir)(struct kl_os_vfs *vfs, const char *path);
    /* Makes everything on the file system of this file durable and reports
     * errors; KL_EUNSUPPORTED where that cannot be had. */
    int (*sync_all)(struct kl_os_file *file);
    /* Bytes that an unprivileged writer can still use at a path. */
    int (*space)(struct kl_os_vfs *vfs, const char *path, uint64_t *free_out);
    /* The system's number behind the last failed call of any thread, for
     * error texts; 0 where there is none. */
    int (*last_errno)(struct kl_os_vfs *vfs);
    void (*free)(struct kl_os_vfs *vfs);
};

struct kl_os_vfs
{
    const struct kl_os_vfs_ops *ops;
};

struct kl_base_alloc;

/* The real file system. */
int kl_os_vfs_posix_new(struct kl_os_vfs **out,
                        const struct kl_base_alloc *alloc);
/* One in memory, for tests and diskless hosts. capacity limits the bytes of all
 * files together (KL_EDISKFULL beyond), 0 = unlimited. Thread-safe. */
int kl_os_vfs_memory_new(struct kl_os_vfs **out,
                         const struct kl_base_alloc *alloc, uint64_t capacity);

#endif
