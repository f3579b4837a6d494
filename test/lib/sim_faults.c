/*
 * Which calls of a simulated disk are struck, and what that does.
 */
#include "sim_faults.h"

#include "need.h"
#include "sim_node.h"

#include <string.h>

static const char *const call_names[SIM_CALLS + 1] = {
    "open",     "create",   "close",    "read",   "write",  "sync",  "truncate",
    "allocate", "size",     "lock",     "rename", "unlink", "mkdir", "rmdir",
    "list",     "sync_dir", "sync_all", "space",  "none",
};

const char *sim_call_name(enum sim_call call)
{
    return call_names[call];
}

/* ---- the plan -------------------------------------------------------------
 */

struct sim_fault *sim_faults_add(struct sim_faults *f, struct sim_fault fault)
{
    need(f->count < SIM_FAULTS_MAX);
    if (fault.kind == SIM_FAULT_READ_STALE)
        f->keeps_old = 1;
    if (fault.code == 0)
        fault.code = fault.kind == SIM_FAULT_SHORT ? KL_EDISKFULL : KL_EIO;
    f->items[f->count] = fault;
    return &f->items[f->count++];
}

void sim_faults_clear(struct sim_faults *f)
{
    f->count = 0;
}

void sim_faults_seed(struct sim_faults *f, uint64_t seed)
{
    kl_base_rng_seed(&f->rng, seed);
}

static int fault_strikes(struct sim_faults *f, struct sim_fault *fault,
                         enum sim_call call, const char *path)
{
    if ((fault->call != call && fault->call != SIM_CALLS) ||
        (fault->part && !strstr(path, fault->part)))
        return 0;
    if (fault->skip > 0) {
        fault->skip--;
        return 0;
    }
    if ((fault->times && fault->struck == fault->times) ||
        (fault->chance && kl_base_rng_below(&f->rng, 1000000) >= fault->chance))
        return 0;
    fault->struck++;
    f->struck++;
    return 1;
}

const struct sim_fault *sim_faults_strike(struct sim_faults *f,
                                          enum sim_call call, const char *path,
                                          int64_t *stall_ns)
{
    const struct sim_fault *found = NULL;

    f->calls[call]++;
    f->calls[SIM_CALLS]++;
    for (int i = 0; i < f->count; i++) {
        struct sim_fault *fault = &f->items[i];

        if (found && fault->kind != SIM_FAULT_STALL)
            continue;
        if (!fault_strikes(f, fault, call, path))
            continue;
        if (fault->kind != SIM_FAULT_STALL)
            found = fault;
        else if (fault->chance)
            *stall_ns += (int64_t)kl_base_rng_below(
                &f->rng, (uint64_t)fault->stall_ns + 1);
        else
            *stall_ns += fault->stall_ns;
    }
    return found;
}

/* ---- what they do ---------------------------------------------------------
 */

static void fault_lose(struct sim_node *n)
{
    sim_node_forget(n);
}

static void fault_revert(struct sim_node *n)
{
    sim_node_forget(n);
    sim_image_free(&n->cached);
    sim_image_copy(&n->cached, &n->durable);
    n->size = n->durable_size;
}

/* Nothing that was durable is lost: a block with such bytes has its place on
 * the disk, and what it holds there. */
static void fault_zero(struct sim_node *n)
{
    uint64_t size = n->size;

    fault_revert(n);
    n->size = n->durable_size = size;
}

int sim_fault_sync(const struct sim_fault *fault, struct sim_node *n,
                   const void *handle, int *code_out)
{
    *code_out = fault->code;
    switch (fault->kind) {
    case SIM_FAULT_SYNC_CACHED:
        fault_lose(n);
        return 1;
    case SIM_FAULT_SYNC_REVERTED:
        fault_revert(n);
        return 1;
    case SIM_FAULT_SYNC_ZEROS:
        fault_zero(n);
        return 1;
    case SIM_FAULT_SYNC_ELSEWHERE:
        fault_lose(n);
        n->owed = fault->code;
        n->owed_by = handle;
        *code_out = 0;
        return 1;
    default:
        *code_out = 0;
        return 0;
    }
}

uint64_t sim_fault_elsewhere(struct kl_base_rng *rng, const struct sim_node *n,
                             uint64_t offset)
{
    uint64_t blocks = n->size / SIM_BLOCK, step;

    if (blocks < 2)
        return offset + SIM_BLOCK;
    step = 1 + kl_base_rng_below(rng, blocks - 1);
    return (offset / SIM_BLOCK + step) % blocks * SIM_BLOCK +
           offset % SIM_BLOCK;
}

/* One sector of what was read is an older one. */
static void fault_stale(struct kl_base_rng *rng, const struct sim_node *n,
                        uint8_t *out, size_t size, uint64_t offset)
{
    uint64_t first = (offset + SIM_SECTOR - 1) / SIM_SECTOR;
    uint64_t end = (offset + size) / SIM_SECTOR;
    uint64_t sector;

    if (end <= first)
        return;
    sector = first + kl_base_rng_below(rng, end - first);
    memcpy(out + (sector * SIM_SECTOR - offset), sim_node_old(n, sector),
           SIM_SECTOR);
}

void sim_fault_read(const struct sim_fault *fault, struct kl_base_rng *rng,
                    const struct sim_node *n, uint8_t *out, size_t size,
                    uint64_t offset)
{
    if (fault->kind == SIM_FAULT_READ_ELSEWHERE)
        offset = sim_fault_elsewhere(rng, n, offset);
    sim_node_read(n, out, size, offset);
    if (size > 0 && fault->kind == SIM_FAULT_READ_FLIP)
        out[kl_base_rng_below(rng, size)] ^=
            (uint8_t)(1u << kl_base_rng_below(rng, 8));
    if (fault->kind == SIM_FAULT_READ_STALE)
        fault_stale(rng, n, out, size, offset);
}

/* ---- at rest --------------------------------------------------------------
 */

static void rot_byte(struct sim_node *n, uint64_t offset, uint8_t mask,
                     uint8_t value)
{
    uint64_t sector = offset / SIM_SECTOR;
    uint8_t bytes[SIM_SECTOR];
    uint8_t *byte = &bytes[offset % SIM_SECTOR];

    memcpy(bytes, sim_image_sector(&n->durable, sector), SIM_SECTOR);
    *byte = (uint8_t)((*byte & mask) ^ value);
    sim_image_write(&n->durable, sector, bytes);
    sim_image_write(&n->cached, sector, bytes);
}

int sim_disk_rot(struct sim_disk *d, const char *path, enum sim_rot rot,
                 uint64_t offset, uint64_t size, uint64_t seed)
{
    struct sim_node *n = sim_disk_file(d, path);
    struct kl_base_rng rng;

    if (!n)
        return KL_ENOENT;
    need(n->write_count == 0 && n->resize_count == 0);
    kl_base_rng_seed(&rng, seed);
    d->version++;
    if (offset >= n->size)
        return KL_EEND;
    if (size > n->size - offset)
        size = n->size - offset;
    switch (rot) {
    case SIM_ROT_BIT:
        rot_byte(n, offset + kl_base_rng_below(&rng, size), 0xff,
                 (uint8_t)(1u << kl_base_rng_below(&rng, 8)));
        break;
    case SIM_ROT_GARBAGE:
    case SIM_ROT_ZEROS:
        for (uint64_t i = 0; i < size; i++)
            rot_byte(n, offset + i, 0,
                     rot == SIM_ROT_ZEROS ? 0
                                          : (uint8_t)kl_base_rng_next(&rng));
        break;
    case SIM_ROT_CUT:
        sim_image_cut(&n->durable, offset);
        sim_image_cut(&n->cached, offset);
        n->size = n->durable_size = offset;
        break;
    }
    return 0;
}
