/*
 * Files and folders of the simulated disk: what is durable, what is cached and
 * what is on its way.
 */
#ifndef TEST_SIM_NODE_H
#define TEST_SIM_NODE_H

#include "sim_disk.h"

#include <stddef.h>

/* Pages are shared between images and copied when written. */
struct sim_page
{
    uint32_t refs;
    uint8_t data[SIM_PAGE];
};

struct sim_image
{
    struct sim_page **pages; /* NULL = zeros */
    size_t count;
};

/* The bytes of a sector after a write that is not durable. */
struct sim_write
{
    uint64_t sector;
    uint8_t data[SIM_SECTOR];
};

struct sim_name_change
{
    struct sim_node *node; /* NULL = the name is gone */
    uint64_t rename;       /* both changes of a rename have its number */
};

struct sim_name
{
    char *name;
    struct sim_node *durable;
    struct sim_name_change *changes; /* pending, in order */
    size_t count;
    size_t chosen; /* how many of them a crash keeps */
};

struct sim_node
{
    struct sim_node *next;
    struct sim_node *clone; /* in a crash */
    int is_marked;
    int is_folder;
    uint32_t refs; /* handles */
    const void *locked_by;

    struct sim_image cached;
    struct sim_image durable;
    uint64_t durable_size;
    uint64_t *sizes; /* pending, in order */
    size_t size_count;
    struct sim_write **writes; /* pending, by sector, then in order */
    size_t write_count;
    size_t write_capacity;

    struct sim_name *names;
    size_t name_count;
};

void *sim_alloc(void *old, size_t size);

struct sim_node *sim_node_new(struct sim_disk *d, int is_folder);
void sim_node_free(struct sim_node *n);
uint64_t sim_node_size(const struct sim_node *n);
void sim_node_resize(struct sim_node *n, uint64_t size);
void sim_node_read(const struct sim_node *n, uint8_t *out, size_t size,
                   uint64_t offset);
void sim_node_write(struct sim_node *n, const uint8_t *data, size_t size,
                    uint64_t offset);
/* All pending writes and sizes, or all pending names, are durable. */
void sim_node_sync(struct sim_node *n);
void sim_node_sync_names(struct sim_node *n);

struct sim_node *sim_name_node(const struct sim_name *name);
/* NULL where the folder never had it. */
struct sim_name *sim_node_find(struct sim_node *folder, const char *name,
                               size_t length);
void sim_node_link(struct sim_node *folder, const char *name, size_t length,
                   struct sim_node *node, uint64_t rename);
int sim_node_is_empty(const struct sim_node *folder);

void sim_image_copy(struct sim_image *to, const struct sim_image *from);
void sim_image_free(struct sim_image *image);
void sim_image_read(const struct sim_image *image, uint64_t sector,
                    uint8_t *out);
void sim_image_write(struct sim_image *image, uint64_t sector,
                     const uint8_t *data);

#endif
