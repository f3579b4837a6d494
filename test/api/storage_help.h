/*
 * A host's file system over real files, as a program would write one, that
 * counts its calls and misbehaves on demand. Any thread.
 */
#ifndef KL_TEST_STORAGE_HELP_H
#define KL_TEST_STORAGE_HELP_H

#include <kraftlog/kraftlog.h>
#include <pthread.h>
#include <stdatomic.h>

enum host_call {
    HOST_OPEN,
    HOST_CLOSE,
    HOST_READ,
    HOST_WRITE,
    HOST_SYNC,
    HOST_TRUNCATE,
    HOST_SIZE,
    HOST_RENAME,
    HOST_UNLINK,
    HOST_MKDIR,
    HOST_RMDIR,
    HOST_LIST,
    HOST_SYNC_DIR,
    HOST_CALLS
};

struct host_storage
{
    atomic_int counts[HOST_CALLS];
    atomic_int count;      /* all calls */
    atomic_int inside;     /* right now */
    atomic_int inside_max; /* at the same time */
    atomic_int open_count; /* handles */

    atomic_int fail_at;   /* number of a call, from 1; 0 = none */
    atomic_int fail_call; /* calls of this kind; HOST_CALLS = of none */
    int fail_code;        /* of those */
    size_t read_max;      /* bytes of one read; 0 = any */
    int keeps_open_names; /* unlink of an open file gives KL_EBUSY */
    void (*hook)(enum host_call call, void *user); /* before each call */
    void *hook_user;

    pthread_mutex_t mutex;
    struct host_file *files; /* open, under mutex */
};

void host_storage_init(struct host_storage *h);
/* Fails the test where a file is still open. */
void host_storage_deinit(struct host_storage *h);
/* Sets all required functions but one; HOST_CALLS = all. */
void host_storage_fill(struct host_storage *h, kl_storage *s,
                       enum host_call but);
/* Sets one of them. */
int host_storage_set(struct host_storage *h, kl_storage *s,
                     enum host_call call);
/* "open" and so on. */
const char *host_storage_name(enum host_call call);
void host_storage_heal(struct host_storage *h);

#endif
