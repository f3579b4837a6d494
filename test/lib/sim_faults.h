/*
 * Faults of the simulated disk: which calls they strike and what they do. None
 * by default. What strikes by chance is drawn from a seed, so that a run can be
 * repeated.
 */
#ifndef TEST_SIM_FAULTS_H
#define TEST_SIM_FAULTS_H

#include "base/rng.h"

#include <stdint.h>

enum sim_call {
    SIM_OPEN, /* of a file that is there */
    SIM_CREATE,
    SIM_CLOSE,
    SIM_READ,
    SIM_WRITE,
    SIM_SYNC,
    SIM_TRUNCATE,
    SIM_ALLOCATE,
    SIM_SIZE,
    SIM_LOCK,
    SIM_RENAME,
    SIM_UNLINK,
    SIM_MKDIR,
    SIM_RMDIR,
    SIM_LIST,
    SIM_SYNC_DIR,
    SIM_SYNC_ALL,
    SIM_SPACE,
    SIM_CALLS
};

enum sim_fault_kind {
    SIM_FAULT_NONE,
    SIM_FAULT_CODE,  /* the call fails and does nothing */
    SIM_FAULT_SHORT, /* a write: so many bytes reach the file, then it fails */
    SIM_FAULT_STALL, /* the call takes longer */
    /* A sync fails, and what was pending is clean from then on: a later sync
     * has nothing to do. */
    SIM_FAULT_SYNC_CACHED,   /* the cache has the new bytes, the disk the old */
    SIM_FAULT_SYNC_REVERTED, /* both have the old bytes */
    SIM_FAULT_SYNC_ZEROS,    /* both have zeros in blocks that are new, as an
                                extent that was never converted has, and the
                                old bytes in others */
    SIM_FAULT_SYNC_ELSEWHERE, /* as CACHED, but 0 is answered; the next sync by
                                 another handle fails, or the next close */
    SIM_FAULT_READ_FLIP,      /* a bit of what is read is wrong */
    SIM_FAULT_READ_STALE,     /* a sector as it was before its last write */
    SIM_FAULT_READ_ELSEWHERE, /* a block from another place of the file */
    SIM_FAULT_WRITE_LOST,     /* 0 is answered, nothing is written */
    SIM_FAULT_WRITE_ELSEWHERE /* written at another place of the file */
};

struct sim_fault
{
    enum sim_fault_kind kind;
    enum sim_call call; /* SIM_CALLS = any */
    const char *part;   /* in the path; NULL = any */
    uint64_t skip;      /* matching calls that pass before */
    uint64_t times;     /* how often it strikes; 0 = for ever */
    uint32_t chance;    /* in a million of the matching calls; 0 = each */
    int code;
    uint64_t bytes;
    int64_t stall_ns; /* longest where there is a chance */
    uint64_t struck;  /* how often it has */
};

enum { SIM_FAULTS_MAX = 16 };

struct sim_faults
{
    struct sim_fault items[SIM_FAULTS_MAX];
    int count;
    int keeps_old; /* what syncs overwrite, for stale reads */
    struct kl_base_rng rng;
    uint64_t calls[SIM_CALLS + 1]; /* so far; the last: all */
    uint64_t struck;
};

/* From now on; the fault in its place, to look at struck. */
struct sim_fault *sim_faults_add(struct sim_faults *f, struct sim_fault fault);
/* No faults any more. */
void sim_faults_clear(struct sim_faults *f);
void sim_faults_seed(struct sim_faults *f, uint64_t seed);
/* Counts a call and gives the fault that strikes it, or NULL; adds to
 * *stall_ns. */
const struct sim_fault *sim_faults_strike(struct sim_faults *f,
                                          enum sim_call call, const char *path,
                                          int64_t *stall_ns);
const char *sim_call_name(enum sim_call call);

/* ---- at rest ------------------------------------------------------------- */

enum sim_rot {
    SIM_ROT_BIT,     /* one bit of the range is flipped */
    SIM_ROT_GARBAGE, /* the range holds other bytes */
    SIM_ROT_ZEROS,
    SIM_ROT_CUT /* the file ends at the offset */
};

struct sim_disk;

/* Damages a file that nothing is pending for: the medium has it. 0, or why the
 * file cannot be found. */
int sim_disk_rot(struct sim_disk *d, const char *path, enum sim_rot rot,
                 uint64_t offset, uint64_t size, uint64_t seed);

#endif
