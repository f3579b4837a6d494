/*
 * A real file system of a few megabytes, in memory. It is mounted where only a
 * helping process sees it, so it needs no cleaning up, and is reached through
 * that process.
 */
#ifndef KL_TEST_SMALL_FS_H
#define KL_TEST_SMALL_FS_H

#include <stdint.h>
#include <sys/types.h>

struct small_fs
{
    char path[288];  /* of its root */
    char under[256]; /* where it is mounted */
    pid_t helper;
    int pipe; /* the helper ends when it is closed */
};

/* 0, or the system's error where this machine lets nobody mount.
 * Fails no test. */
int small_fs_mount(struct small_fs *fs, uint64_t bytes);
void small_fs_unmount(struct small_fs *fs);

#endif
