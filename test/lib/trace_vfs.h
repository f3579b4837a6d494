/*
 * A file system around another one, for tests. It counts calls by kind, notices
 * calls that the owner thread must not make, fails chosen calls, and cuts the
 * power after a number of calls. Any thread.
 *
 * A call that fails here has no effect, but that close gives its handle up and
 * that a write may have written a part. The file system inside stays the
 * test's: free does not free it, so that a test can look at what a crash has
 * left.
 */
#ifndef TEST_TRACE_VFS_H
#define TEST_TRACE_VFS_H

#include "os/thread.h"
#include "os/vfs.h"

#include <stdint.h>

enum trace_vfs_kind {
    TRACE_VFS_OPEN,
    TRACE_VFS_CLOSE,
    TRACE_VFS_READ,
    TRACE_VFS_WRITE,
    TRACE_VFS_SYNC,
    TRACE_VFS_WRITEBACK,
    TRACE_VFS_TRUNCATE,
    TRACE_VFS_ALLOCATE,
    TRACE_VFS_SIZE,
    TRACE_VFS_LOCK,
    TRACE_VFS_RENAME,
    TRACE_VFS_UNLINK,
    TRACE_VFS_MKDIR,
    TRACE_VFS_RMDIR,
    TRACE_VFS_LIST,
    TRACE_VFS_SYNC_DIR,
    TRACE_VFS_SYNC_ALL,
    TRACE_VFS_SPACE,
    TRACE_VFS_ANY /* all of them; their count */
};

enum {
    TRACE_VFS_SYNCS =
        1 << TRACE_VFS_SYNC | 1 << TRACE_VFS_SYNC_DIR | 1 << TRACE_VFS_SYNC_ALL
};

/* Which calls fail: of those that it is about the nth from now on, counted
 * from 1, or that one and all after it. */
struct trace_vfs_fault
{
    uint32_t kinds;   /* 1 << kind each */
    const char *part; /* only where the path contains it; NULL = all */
    uint64_t nth;     /* 0 = none */
    int code;
    int is_lasting;
    int is_short; /* a failing write has written half of its bytes */
};

struct trace_vfs
{
    struct kl_os_vfs base; /* what the code under test gets */
    struct kl_os_vfs *inner;
    struct kl_os_mutex mutex;
    uint64_t counts[TRACE_VFS_ANY + 1];
    uint64_t open_count; /* handles */

    uint64_t owner;   /* the thread that is watched; 0 = none */
    int is_any_owner; /* all are */
    int is_owner_allowed;
    uint64_t owner_calls;           /* made by it though not allowed */
    enum trace_vfs_kind owner_kind; /* of the first of them */

    struct trace_vfs_fault fault;
    uint32_t failed_kinds; /* of the calls that were failed */

    int is_cutting;
    uint64_t cut_in; /* calls that still pass */

    uint64_t failed; /* calls failed by fault or cut */
};

void trace_vfs_init(struct trace_vfs *t, struct kl_os_vfs *inner);
/* Fails the test where a handle is still open or the owner has made a call. */
void trace_vfs_deinit(struct trace_vfs *t);

const char *trace_vfs_kind_name(enum trace_vfs_kind kind);
/* Calls so far, also those that were failed. */
uint64_t trace_vfs_count(struct trace_vfs *t, enum trace_vfs_kind kind);
uint64_t trace_vfs_failed(struct trace_vfs *t);

/* The calls that can return this code. */
uint32_t trace_vfs_kinds_of(int code);

/* From now on the calling thread may make no call, but inside a job and while
 * it is allowed to, as in open and close. */
void trace_vfs_watch_owner(struct trace_vfs *t);
/* The same for all threads, where all jobs are marked. But anybody may close:
 * a node may come to its end in any call. */
void trace_vfs_watch_all(struct trace_vfs *t);
void trace_vfs_allow_owner(struct trace_vfs *t, int is_allowed);
/* How many calls it has made all the same; forgets them. */
uint64_t trace_vfs_take_owner_calls(struct trace_vfs *t);

/* What a thread does between these two it does for a lane. */
void trace_vfs_job_begin(void);
void trace_vfs_job_end(void);

/* part must stay where it is. */
void trace_vfs_arm(struct trace_vfs *t, const struct trace_vfs_fault *fault);
/* Call number nth of a kind, counted from 1 and from now, fails with a code. */
void trace_vfs_fail(struct trace_vfs *t, enum trace_vfs_kind kind, uint64_t nth,
                    int code);
/* The same for that call and all of the kind after it. */
void trace_vfs_fail_from(struct trace_vfs *t, enum trace_vfs_kind kind,
                         uint64_t nth, int code);
/* The same for every call of a kind on paths that contain a text. */
void trace_vfs_fail_path(struct trace_vfs *t, enum trace_vfs_kind kind,
                         const char *part, int code);
/* After this many more calls every call fails with KL_EIO. */
void trace_vfs_cut(struct trace_vfs *t, uint64_t calls);
/* No faults any more. */
void trace_vfs_heal(struct trace_vfs *t);

#endif
