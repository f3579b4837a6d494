/*
 * Storage: a host's own file system in place of the operating system's. A
 * kl_storage is filled with functions, one setter each, and given to a node
 * with kl_node_set_storage before it is opened.
 *
 * Results. A function returns 0, or KL_EIO, KL_EDISKFULL, KL_ENOENT, KL_EEXIST,
 * KL_EBUSY, KL_EACCESS, KL_ENOFILES, KL_ENOMEM or KL_EUNSUPPORTED. Every other
 * value counts as KL_EIO, and its number is shown in the text of the error. A
 * call that fails has no effect unless its setter says so.
 *
 * Paths. The folder's name as kl_node_open was given it, then names of the
 * library's own, of letters, digits, '.', '-' and '_', joined by '/'. Empty
 * parts and parts "." are taken out; a path that is only "." is the folder in
 * which the named one lies, where that name has no '/'. A path is valid during
 * the call.
 *
 * Files. What the host gives for an open file is a pointer that the library
 * hands back and never looks at. One file may be open several times.
 *
 * Threads. kl_node_open calls the functions in its own thread, too; after it
 * they are called by the library's threads for files (io.threads, at most
 * four), which block all signals, and at the end by the thread that closes the
 * node. They may block. Calls for different files, and write, sync and read of
 * one file, may be made at the same time. A host that wants them one at a time
 * sets io.threads to 1. They may call nothing of the library but
 * kl_storage_names_add: what would wait for the node answers KL_EREENTRY.
 *
 * Durability. This is what the library's promise rests on:
 *   - sync returns 0 when every byte of the file whose write had returned
 *     before, and its size, will be read again after power is lost at any later
 *     time. sync_dir says the same of the names in a folder: those that were
 *     made, renamed and removed. But for sync_all, nothing else makes anything
 *     durable, and nothing else needs to.
 *   - What is not synced may be there after a crash, be lost, or be there in
 *     part, whatever its order; likewise names. A write that power cuts off may
 *     leave any mixture of old and new bytes in the range that it writes, and
 *     changes nothing outside of it.
 *   - rename is atomic: after a crash the new name is the old file or the new
 *     one, never something else and never gone.
 *   - A sync that fails is the end: it is not tried again, and the store takes
 *     no more writes. What was durable before must stay readable.
 *   - What was written can be read at once, by every handle of the file. It
 *     survives the end of the program, and with it what topics with
 *     flush=interval have acknowledged, as far as the host sees to it.
 */
#ifndef KRAFTLOG_STORAGE_H
#define KRAFTLOG_STORAGE_H

#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_storage kl_storage;
/* Where a list function puts the names that it finds. */
typedef struct kl_storage_names kl_storage_names;

/* Flags of kl_storage_open_fn. */
enum {
    KL_STORAGE_READ = 1,    /* for reading */
    KL_STORAGE_WRITE = 2,   /* for reading and writing */
    KL_STORAGE_CREATE = 4,  /* make the file where it is absent */
    KL_STORAGE_TRUNCATE = 8 /* cut it to nothing where it is there */
};

typedef int (*kl_storage_open_fn)(const char *path, uint32_t flags,
                                  void **file_out, void *user);
typedef int (*kl_storage_file_fn)(void *file, void *user);
typedef int (*kl_storage_read_fn)(void *file, void *buf, size_t size,
                                  uint64_t offset, size_t *size_out,
                                  void *user);
typedef int (*kl_storage_write_fn)(void *file, const void *const *parts,
                                   const uint64_t *sizes, size_t count,
                                   uint64_t offset, void *user);
typedef int (*kl_storage_range_fn)(void *file, uint64_t offset, uint64_t size,
                                   void *user);
typedef int (*kl_storage_truncate_fn)(void *file, uint64_t size, void *user);
typedef int (*kl_storage_size_fn)(void *file, uint64_t *size_out, void *user);
typedef int (*kl_storage_path_fn)(const char *path, void *user);
typedef int (*kl_storage_rename_fn)(const char *from, const char *to,
                                    void *user);
typedef int (*kl_storage_list_fn)(const char *path, kl_storage_names *names,
                                  void *user);
typedef int (*kl_storage_space_fn)(const char *path, uint64_t *free_out,
                                   void *user);

/* Makes a storage without functions. Its memory comes from the allocator of
 * config, which may be freed at once; NULL = the C library's. Free with
 * kl_storage_free. KL_EINVAL for a NULL out, KL_ENOMEM. Any thread. */
KL_API int kl_storage_new(kl_storage **out, const kl_config *config);

/* Makes a complete storage that keeps all files in memory, for tests and for
 * hosts without a disk: what is in it is there until it is freed. Several nodes
 * may use it, with folders of different names, without '/'. capacity limits the
 * bytes of all files together, KL_EDISKFULL beyond; 0 = unlimited. Its
 * functions cannot be set: KL_ESTATE. KL_EINVAL, KL_ENOMEM. Any thread. */
KL_API int kl_storage_new_memory(kl_storage **out, const kl_config *config,
                                 uint64_t capacity);

/* Gives the handle up. Nodes that were given the storage hold it until they are
 * freed; until then its functions and their user pointers must live. NULL is
 * ignored. Any thread. */
KL_API void kl_storage_free(kl_storage *storage);

/* ---- functions: all but the optional ones must be set --------------------
 *
 * Each setter takes the function, NULL for none, and a pointer that is handed
 * to it. KL_EINVAL for a NULL storage; KL_ESTATE once a node has been opened
 * with it, and for one made by kl_storage_new_memory. One thread, before
 * kl_node_open. */

/* Opens a file. KL_ENOENT where it is absent and flags lack KL_STORAGE_CREATE.
 * Folders are made before the files in them. *file_out may be any value, NULL
 * too. */
KL_API int kl_storage_set_open(kl_storage *storage, kl_storage_open_fn fn,
                               void *user);

/* Gives the file up, also where it returns a code. Not a sync. */
KL_API int kl_storage_set_close(kl_storage *storage, kl_storage_file_fn fn,
                                void *user);

/* Reads up to size bytes and says how many; fewer are asked for again, 0 is the
 * end of the file. What was never written within its size reads as zeros. */
KL_API int kl_storage_set_read(kl_storage *storage, kl_storage_read_fn fn,
                               void *user);

/* Writes count parts, sizes[i] bytes each, one behind the other from offset on,
 * all of them or a code; then any of the bytes may have been written. The file
 * grows where it is too short, with zeros in a gap. count is at least 1. */
KL_API int kl_storage_set_write(kl_storage *storage, kl_storage_write_fn fn,
                                void *user);

/* Makes bytes and size of the file durable, as said above. */
KL_API int kl_storage_set_sync(kl_storage *storage, kl_storage_file_fn fn,
                               void *user);

/* Cuts the file to size, or makes it longer with zeros. */
KL_API int kl_storage_set_truncate(kl_storage *storage,
                                   kl_storage_truncate_fn fn, void *user);

/* Says how many bytes the file has. */
KL_API int kl_storage_set_size(kl_storage *storage, kl_storage_size_fn fn,
                               void *user);

/* Gives a file a new name, atomically; a file of that name is replaced. Or a
 * folder, with what is in it; nothing has its new name then. KL_ENOENT. */
KL_API int kl_storage_set_rename(kl_storage *storage, kl_storage_rename_fn fn,
                                 void *user);

/* Removes a file's name. KL_ENOENT where there is none. A file that is open
 * stays usable by its handles; a file system that cannot do that answers
 * KL_EBUSY, and the name is removed by the next kl_node_open. */
KL_API int kl_storage_set_unlink(kl_storage *storage, kl_storage_path_fn fn,
                                 void *user);

/* Makes a folder. KL_EEXIST where there is something of that name. */
KL_API int kl_storage_set_mkdir(kl_storage *storage, kl_storage_path_fn fn,
                                void *user);

/* Removes an empty folder; KL_EEXIST where it is not empty. */
KL_API int kl_storage_set_rmdir(kl_storage *storage, kl_storage_path_fn fn,
                                void *user);

/* Calls kl_storage_names_add for every name in a folder, in any order, and
 * returns a code that it gives. KL_ENOENT where there is no such folder. */
KL_API int kl_storage_set_list(kl_storage *storage, kl_storage_list_fn fn,
                               void *user);

/* Makes the names in a folder durable, as said above. */
KL_API int kl_storage_set_sync_dir(kl_storage *storage, kl_storage_path_fn fn,
                                   void *user);

/* Optional: starts writing a range to the medium, without waiting; the result
 * is ignored. Without it there is more left to do for sync. */
KL_API int kl_storage_set_writeback(kl_storage *storage, kl_storage_range_fn fn,
                                    void *user);

/* Optional: reserves space for a range, and makes the file longer with zeros
 * where it ends before it; what the file holds stays as it is. Without it, and
 * where it answers KL_EUNSUPPORTED, the library writes zeros behind the end. */
KL_API int kl_storage_set_allocate(kl_storage *storage, kl_storage_range_fn fn,
                                   void *user);

/* Optional: locks the file against other handles, also of other programs, until
 * it is closed; KL_EBUSY where it is locked. Without it only nodes with the
 * same storage are kept from each other's folders. */
KL_API int kl_storage_set_lock(kl_storage *storage, kl_storage_file_fn fn,
                               void *user);

/* Optional: makes everything on the file system of the file durable, bytes and
 * names. Without it, and where it answers KL_EUNSUPPORTED, the library syncs
 * file by file, which is slower where there are many. */
KL_API int kl_storage_set_sync_all(kl_storage *storage, kl_storage_file_fn fn,
                                   void *user);

/* Optional: says how many bytes can still be written below a folder. Without it
 * there is taken to be no limit; wal.bytes should be set then, because its
 * default follows from the free space. */
KL_API int kl_storage_set_space(kl_storage *storage, kl_storage_space_fn fn,
                                void *user);

/* Adds a name, without its folder; only inside a kl_storage_list_fn, with what
 * that was given. "." and ".." are ignored. KL_EINVAL for NULL, an empty name
 * and one with '/', KL_ENOMEM; the listing fails then whatever the function
 * returns. */
KL_API int kl_storage_names_add(kl_storage_names *names, const char *name);

#ifdef __cplusplus
}
#endif

#endif
