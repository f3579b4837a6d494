/*
 * Files and folders of the simulated disk: what is durable, what is cached and
 * what is on its way. Everything on its way knows the operation that it is
 * from, numbered over the whole disk, so that a crash can keep an order.
 */
#ifndef TEST_SIM_NODE_H
#define TEST_SIM_NODE_H

#include "pool.h"
#include "sim_disk.h"

#include <stddef.h>

enum { SIM_BLOCK_SECTORS = SIM_BLOCK / SIM_SECTOR };

/* Blocks are shared between images and copied when written. */
struct sim_block
{
    uint32_t refs;
    uint8_t data[SIM_BLOCK];
};

struct sim_image
{
    struct sim_block **blocks; /* NULL = zeros */
    size_t count;
    size_t capacity;
};

/* The bytes of a sector after a write that is not durable. */
struct sim_write
{
    uint64_t sector;
    uint64_t op;
    uint8_t data[SIM_SECTOR];
};

struct sim_resize
{
    uint64_t size;
    uint64_t op;
    int is_write; /* the bytes up to it were written, not reserved */
};

struct sim_name_change
{
    struct sim_node *node; /* NULL = the name is gone */
    uint64_t op;
    int is_rename; /* two changes have the same op */
};

struct sim_name
{
    char *name;
    size_t length;
    struct sim_node *durable;
    struct sim_name_change *changes; /* pending, in order */
    size_t count;
    size_t capacity;
    size_t chosen; /* how many of them a crash keeps */
};

struct sim_node
{
    struct sim_node *next;
    struct sim_disk *disk;
    struct sim_node *clone; /* in a crash */
    uint64_t kin;           /* that its folder, or the folder, is of */
    int is_marked;
    int is_folder;
    int is_late;   /* its sync is still to be done */
    uint32_t refs; /* handles */
    const void *locked_by;
    uint64_t named_op; /* the last that changed its name or its size */
    int owed;          /* the code of a sync that failed in silence */
    const void *owed_by;

    struct sim_image cached;
    struct sim_image durable;
    struct sim_image old; /* durable before, where that is wanted */
    uint64_t size;
    uint64_t durable_size;
    struct sim_resize *resizes; /* pending, in order */
    size_t resize_count;
    size_t resize_capacity;
    struct sim_write **writes; /* pending, by sector, then in order */
    size_t write_count;
    size_t write_capacity;

    struct sim_name *names;
    size_t name_count;
    size_t name_capacity;
};

struct sim_node *sim_node_new(struct sim_disk *d, int is_folder);
void sim_node_free(struct sim_node *n);
void sim_node_resize(struct sim_node *n, uint64_t size);
void sim_node_read(const struct sim_node *n, uint8_t *out, size_t size,
                   uint64_t offset);
void sim_node_write(struct sim_node *n, const uint8_t *data, size_t size,
                    uint64_t offset);
/* All pending writes and sizes, or all pending names, are durable. */
void sim_node_sync(struct sim_node *n);
void sim_node_sync_names(struct sim_node *n);
/* The size alone: what is written stays pending. */
void sim_node_sync_size(struct sim_node *n);
/* A sector as it was before its last write, as far as that is known. */
const uint8_t *sim_node_old(const struct sim_node *n, uint64_t sector);
/* Nothing is pending any more, whatever is durable. */
void sim_node_forget(struct sim_node *n);

struct sim_node *sim_name_node(const struct sim_name *name);
/* NULL where the folder never had it. */
struct sim_name *sim_node_find(struct sim_node *folder, const char *name,
                               size_t length);
void sim_node_link(struct sim_node *folder, const char *name, size_t length,
                   struct sim_node *node, int is_rename);
/* A name that the folder did not have, durable at once. */
struct sim_name *sim_node_add(struct sim_node *folder, const char *name,
                              size_t length, struct sim_node *node);
int sim_node_is_empty(const struct sim_node *folder);

void sim_image_copy(struct sim_image *to, const struct sim_image *from);
void sim_image_free(struct sim_image *image);
/* The bytes of a sector, to be looked at. */
const uint8_t *sim_image_sector(const struct sim_image *image, uint64_t sector);
void sim_image_write(struct sim_image *image, uint64_t sector,
                     const uint8_t *data);
/* Zeros from size on. */
void sim_image_cut(struct sim_image *image, uint64_t size);

/* The file of that name, or NULL. */
struct sim_node *sim_disk_file(struct sim_disk *d, const char *path);

/* ---- faults that strike ---------------------------------------------------
 */

/* 1 where the fault is one of syncs and has been done. */
int sim_fault_sync(const struct sim_fault *fault, struct sim_node *n,
                   const void *handle, int *code_out);
void sim_fault_read(const struct sim_fault *fault, struct kl_base_rng *rng,
                    const struct sim_node *n, uint8_t *out, size_t size,
                    uint64_t offset);
/* Another place of the same file. */
uint64_t sim_fault_elsewhere(struct kl_base_rng *rng, const struct sim_node *n,
                             uint64_t offset);

#endif
