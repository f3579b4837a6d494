/*
 * A simulated disk behind the file-system port, for tests that cut the power.
 *
 * Every file has a durable image, a cached image and, between the two, pending
 * sector writes and sizes; every folder has durable names and pending changes
 * of names. sync makes the bytes and the size of a file durable, sync_dir the
 * names in a folder, sync_all everything; nothing else does. A crash picks for
 * each sector, size and name one of the states it has had since it was durable,
 * as its profile allows. Calls fail, lie or take long where sim_faults.h says
 * so.
 *
 * One thread only. A crash gives a new disk; the old one goes on.
 */
#ifndef TEST_SIM_DISK_H
#define TEST_SIM_DISK_H

#include "os/vfs.h"
#include "sim_faults.h"

#include <stdint.h>

enum { SIM_SECTOR = 512, SIM_BLOCK = 4096 };

/* Which of the things pending may be there without which others. All of them
 * leave only what the adversary may leave too, but for garbage. */
enum sim_profile {
    /* Anything: sectors, sizes and names each by themselves, in any order;
     * a rename may leave both names, but never none. */
    SIM_ADVERSARY,
    /* Names and sizes in order, by one journal that any sync of something new
     * commits; a file grows only with its bytes; any sectors in place. */
    SIM_EXT4_ORDERED,
    /* The same journal, but a file may grow before its bytes: garbage there. */
    SIM_EXT4_WRITEBACK,
    /* Names and sizes in order; a sync commits what came before its own; a
     * file grows only with its bytes. */
    SIM_XFS,
    /* As before, and copied on write: a block is never torn. */
    SIM_BTRFS,
    /* Each file is as it was at one moment, but for blocks below its durable
     * size, which are written in place; names in order, by checkpoints. */
    SIM_F2FS,
    /* As the adversary, but a sector has 4 KiB: it is torn only between. */
    SIM_RAW_FLASH,
    SIM_PROFILES
};

/* How much of what is pending a crash leaves. */
enum sim_fate {
    SIM_FATE_NUMBER, /* the adversary's image of this number, of
                        sim_disk_images */
    SIM_FATE_LOST,   /* nothing */
    SIM_FATE_KEPT,   /* everything, and what was pending still is: the process
                        was killed, the power was not cut; no profile matters */
    SIM_FATE_RANDOM,
    SIM_FATE_MOSTLY_LOST,
    SIM_FATE_MOSTLY_KEPT,
    SIM_FATES
};

struct sim_choice
{
    enum sim_profile profile;
    enum sim_fate fate;
    uint64_t number; /* of the image, or the seed */
    int has_garbage; /* grown parts that are lost hold bytes of files in
                        folders of other logs, or none that we know */
};

enum sim_when { SIM_BEFORE, SIM_INSIDE, SIM_AFTER };

/* Called around every call that changes anything, and where a part of a write
 * has reached the file. It must not use the disk but for images and crash. */
typedef void (*sim_hook_fn)(void *user, enum sim_call call, enum sim_when when,
                            const char *path);

struct sim_node;

struct sim_disk
{
    struct kl_os_vfs base; /* what the code under test gets */
    struct sim_node *nodes;
    struct sim_node *root;
    uint64_t capacity; /* 0 = unlimited */
    uint64_t op;       /* the last that has changed anything */
    uint64_t version;  /* counts changes of what a crash may leave */
    uint64_t journal;  /* ops that a journal has committed: of the disk, */
    uint64_t log;      /* and where a sync commits no more than it must */
    uint64_t checkpoint;
    uint32_t open_count;
    sim_hook_fn hook;
    void *hook_user;
    struct sim_faults faults;
    /* Before every call: where it may wait for the calls of others. */
    void (*enter)(void *user, enum sim_call call, int64_t stall_ns);
    void *enter_user;
    /* A planted bug: syncs of this kind, or all for SIM_CALLS, do nothing on
     * paths that contain this, but answer 0. A cache that lies does so for
     * all. NULL = none. Or they are done late, with the next sync of a path
     * that contains lie_until. */
    enum sim_call lie_call;
    const char *lie_part;
    const char *lie_until;
};

struct sim_disk *sim_disk_new(uint64_t capacity);
/* No file may be open; the same as the free of the port. */
void sim_disk_free(struct sim_disk *d);
/* Bytes of all files that have a name or a handle. */
uint64_t sim_disk_used(struct sim_disk *d);
/* Everything is durable now. */
void sim_disk_settle(struct sim_disk *d);
/* How many images a crash now may leave, at most limit; some may be equal. */
uint64_t sim_disk_images(struct sim_disk *d, uint64_t limit);
struct sim_disk *sim_disk_crash(struct sim_disk *d, struct sim_choice choice);
const char *sim_fate_name(enum sim_fate fate);
const char *sim_profile_name(enum sim_profile profile);

#endif
