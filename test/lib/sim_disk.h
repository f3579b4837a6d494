/*
 * A simulated disk behind the file-system port, for tests that cut the power.
 *
 * Every file has a durable image, a cached image and, between the two, pending
 * sector writes and sizes; every folder has durable names and pending changes
 * of names. sync makes the bytes and the size of a file durable, sync_dir the
 * names in a folder, sync_all everything; nothing else does. A crash picks for
 * each sector, size and name one of the states it has had since it was durable,
 * each by itself: writes are torn and come in any order, sizes and data are
 * independent. A rename is all or nothing, or, where has_split_renames is set,
 * it may leave both names, but never none.
 *
 * One thread only. A crash gives a new disk; the old one goes on.
 */
#ifndef TEST_SIM_DISK_H
#define TEST_SIM_DISK_H

#include "os/vfs.h"

#include <stdint.h>

enum { SIM_SECTOR = 512, SIM_PAGE = 4096 };

enum sim_disk_call {
    SIM_CREATE,
    SIM_WRITE,
    SIM_SYNC,
    SIM_TRUNCATE,
    SIM_ALLOCATE,
    SIM_RENAME,
    SIM_UNLINK,
    SIM_MKDIR,
    SIM_RMDIR,
    SIM_SYNC_DIR,
    SIM_SYNC_ALL,
    SIM_CALLS
};

/* What a crash leaves of what was pending. */
enum sim_fate {
    SIM_FATE_NUMBER, /* the legal image of this number, see sim_disk_images */
    SIM_FATE_LOST,   /* nothing pending */
    SIM_FATE_KEPT,   /* everything: a killed process, not a power cut */
    SIM_FATE_RANDOM, /* any subset */
    SIM_FATE_MOSTLY_LOST,
    SIM_FATE_MOSTLY_KEPT,
    SIM_FATE_STALE, /* any subset; grown parts hold the bytes of others */
    SIM_FATES
};

struct sim_fate_choice
{
    enum sim_fate fate;
    uint64_t number; /* of the image, or the seed */
};

struct sim_disk;
struct sim_node;

struct sim_disk_file
{
    struct kl_os_file base;
    struct sim_disk *disk;
    struct sim_node *node;
    int is_writable;
    char path[256];
};

/* Called after every call that changes anything, and before those that make
 * something durable. It must not use the disk but for images and crash. */
typedef void (*sim_disk_hook_fn)(void *user, enum sim_disk_call call,
                                 const char *path);

struct sim_disk
{
    struct kl_os_vfs base; /* what the code under test gets */
    struct sim_node *nodes;
    struct sim_node *root;
    uint64_t capacity; /* 0 = unlimited */
    uint64_t version;  /* counts changes of what a crash may leave */
    uint64_t renames;
    int has_split_renames;
    uint64_t calls; /* of the kinds above */
    uint32_t open_count;
    sim_disk_hook_fn hook;
    void *hook_user;
    /* A planted bug: calls of this kind on paths that contain this do nothing
     * but answer 0. NULL = none. */
    enum sim_disk_call lie_call;
    const char *lie_part;
};

struct sim_disk *sim_disk_new(uint64_t capacity);
/* No file may be open; the same as the free of the port. */
void sim_disk_free(struct sim_disk *d);
/* Everything is durable now. */
void sim_disk_settle(struct sim_disk *d);
/* How many images a crash now may leave, at most limit; some may be equal. */
uint64_t sim_disk_images(struct sim_disk *d, uint64_t limit);
struct sim_disk *sim_disk_crash(struct sim_disk *d, struct sim_fate_choice c);
const char *sim_disk_call_name(enum sim_disk_call call);
const char *sim_fate_name(enum sim_fate fate);

#endif
