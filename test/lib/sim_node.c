/*
 * Images, pending writes, names.
 */
#include "sim_node.h"

#include "need.h"

#include "base/hash.h"

#include <string.h>

static const uint8_t node_zeros[SIM_BLOCK];

/* ---- images ---------------------------------------------------------------
 */

static void block_unref(struct sim_block *block)
{
    if (block && --block->refs == 0)
        pool_give(block, sizeof *block);
}

void sim_image_free(struct sim_image *image)
{
    for (size_t i = 0; i < image->count; i++)
        block_unref(image->blocks[i]);
    pool_give(image->blocks, image->capacity * sizeof *image->blocks);
    memset(image, 0, sizeof *image);
}

void sim_image_copy(struct sim_image *to, const struct sim_image *from)
{
    to->count = to->capacity = from->count;
    to->blocks = NULL;
    if (from->count == 0)
        return;
    to->blocks = pool_take(from->count * sizeof *to->blocks);
    for (size_t i = 0; i < from->count; i++) {
        to->blocks[i] = from->blocks[i];
        if (to->blocks[i])
            to->blocks[i]->refs++;
    }
}

/* The bytes from an offset to the end of its block. */
static const uint8_t *image_at(const struct sim_image *image, uint64_t offset)
{
    size_t at = (size_t)(offset / SIM_BLOCK);

    if (at >= image->count || !image->blocks[at])
        return node_zeros;
    return image->blocks[at]->data + offset % SIM_BLOCK;
}

const uint8_t *sim_image_sector(const struct sim_image *image, uint64_t sector)
{
    return image_at(image, sector * SIM_SECTOR);
}

/* A block of this image alone; NULL where there is none yet. */
static struct sim_block *image_own(struct sim_image *image, size_t at)
{
    struct sim_block *block = image->blocks[at], *own;

    if (!block || block->refs == 1)
        return block;
    own = pool_take(sizeof *own);
    own->refs = 1;
    memcpy(own->data, block->data, SIM_BLOCK);
    block_unref(block);
    image->blocks[at] = own;
    return own;
}

void sim_image_write(struct sim_image *image, uint64_t sector,
                     const uint8_t *data)
{
    size_t at = (size_t)(sector / SIM_BLOCK_SECTORS);
    struct sim_block *block;

    if (at >= image->count) {
        pool_reserve((void **)&image->blocks, &image->capacity, at + 1,
                     sizeof *image->blocks);
        memset(image->blocks + image->count, 0,
               (at + 1 - image->count) * sizeof *image->blocks);
        image->count = at + 1;
    }
    block = image_own(image, at);
    if (!block) {
        if (memcmp(data, node_zeros, SIM_SECTOR) == 0)
            return;
        block = image->blocks[at] = pool_zeroed(sizeof *block);
        block->refs = 1;
    }
    memcpy(block->data + sector % SIM_BLOCK_SECTORS * SIM_SECTOR, data,
           SIM_SECTOR);
}

void sim_image_cut(struct sim_image *image, uint64_t size)
{
    size_t at = (size_t)(size / SIM_BLOCK);
    size_t in = (size_t)(size % SIM_BLOCK);
    struct sim_block *block;

    if (in && at < image->count) {
        block = image_own(image, at);
        if (block)
            memset(block->data + in, 0, SIM_BLOCK - in);
        at++;
    }
    for (size_t i = at; i < image->count; i++)
        block_unref(image->blocks[i]);
    if (at < image->count)
        image->count = at;
}

/* ---- bytes -------------------------------------------------------------- */

struct sim_node *sim_node_new(struct sim_disk *d, int is_folder)
{
    struct sim_node *n = pool_zeroed(sizeof *n);

    n->disk = d;
    n->is_folder = is_folder;
    n->next = d->nodes;
    d->nodes = n;
    return n;
}

void sim_node_forget(struct sim_node *n)
{
    for (size_t i = 0; i < n->write_count; i++)
        pool_give(n->writes[i], sizeof **n->writes);
    n->write_count = 0;
    n->resize_count = 0;
}

static void name_free(struct sim_name *name)
{
    pool_give(name->name, name->length + 1);
    pool_give(name->changes, name->capacity * sizeof *name->changes);
}

void sim_node_free(struct sim_node *n)
{
    sim_node_forget(n);
    pool_give(n->writes, n->write_capacity * sizeof *n->writes);
    pool_give(n->resizes, n->resize_capacity * sizeof *n->resizes);
    for (size_t i = 0; i < n->name_count; i++)
        name_free(&n->names[i]);
    pool_give(n->names, n->name_capacity * sizeof *n->names);
    sim_image_free(&n->cached);
    sim_image_free(&n->durable);
    sim_image_free(&n->old);
    pool_give(n, sizeof *n);
}

static size_t node_upper(const struct sim_node *n, uint64_t sector)
{
    size_t low = 0, high = n->write_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (n->writes[middle]->sector <= sector)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int node_is_durable(const struct sim_node *n, uint64_t sector,
                           const uint8_t *data)
{
    return (sector + 1) * SIM_SECTOR <= n->durable_size &&
           memcmp(sim_image_sector(&n->durable, sector), data, SIM_SECTOR) == 0;
}

/* The sector's new bytes are cached, and pending where they tell a crash
 * anything new: what lies behind the durable size may not be zeros there. */
static void node_put_sector(struct sim_node *n, uint64_t sector,
                            const uint8_t *data)
{
    size_t at = node_upper(n, sector);
    int is_pending = at > 0 && n->writes[at - 1]->sector == sector;
    struct sim_write *w;

    if (memcmp(sim_image_sector(&n->cached, sector), data, SIM_SECTOR) == 0 &&
        (is_pending || node_is_durable(n, sector, data)))
        return;
    pool_reserve((void **)&n->writes, &n->write_capacity, n->write_count + 1,
                 sizeof *n->writes);
    w = pool_take(sizeof *w);
    w->sector = sector;
    w->op = n->disk->op;
    memcpy(w->data, data, SIM_SECTOR);
    memmove(n->writes + at + 1, n->writes + at,
            (n->write_count - at) * sizeof *n->writes);
    n->writes[at] = w;
    n->write_count++;
    sim_image_write(&n->cached, sector, data);
}

static void node_put(struct sim_node *n, const uint8_t *data, uint64_t size,
                     uint64_t offset)
{
    while (size > 0) {
        uint64_t sector = offset / SIM_SECTOR;
        size_t from = (size_t)(offset % SIM_SECTOR);
        size_t part = SIM_SECTOR - from;
        uint8_t bytes[SIM_SECTOR];

        if (part > size)
            part = (size_t)size;
        if (part == SIM_SECTOR) {
            node_put_sector(n, sector, data ? data : node_zeros);
        } else {
            memcpy(bytes, sim_image_sector(&n->cached, sector), SIM_SECTOR);
            memcpy(bytes + from, data ? data : node_zeros, part);
            node_put_sector(n, sector, bytes);
        }
        offset += part;
        size -= part;
        if (data)
            data += part;
    }
}

static void node_set_size(struct sim_node *n, uint64_t size, int is_write)
{
    struct sim_resize *r;

    pool_reserve((void **)&n->resizes, &n->resize_capacity, n->resize_count + 1,
                 sizeof *n->resizes);
    r = &n->resizes[n->resize_count++];
    r->size = size;
    r->op = n->disk->op;
    r->is_write = is_write;
    n->size = size;
    n->named_op = n->disk->op;
}

void sim_node_resize(struct sim_node *n, uint64_t size)
{
    if (size == n->size)
        return;
    if (size < n->size)
        node_put(n, NULL, n->size - size, size);
    node_set_size(n, size, 0);
}

void sim_node_write(struct sim_node *n, const uint8_t *data, size_t size,
                    uint64_t offset)
{
    node_put(n, data, size, offset);
    if (offset + size > n->size)
        node_set_size(n, offset + size, 1);
}

void sim_node_read(const struct sim_node *n, uint8_t *out, size_t size,
                   uint64_t offset)
{
    while (size > 0) {
        size_t part = SIM_BLOCK - (size_t)(offset % SIM_BLOCK);

        if (part > size)
            part = size;
        memcpy(out, image_at(&n->cached, offset), part);
        out += part;
        offset += part;
        size -= part;
    }
}

void sim_node_sync(struct sim_node *n)
{
    for (size_t i = 0; i < n->write_count; i++) {
        const struct sim_write *w = n->writes[i];

        if (n->disk->faults.keeps_old)
            sim_image_write(&n->old, w->sector,
                            sim_image_sector(&n->durable, w->sector));
        sim_image_write(&n->durable, w->sector, w->data);
    }
    n->durable_size = n->size;
    sim_node_forget(n);
}

void sim_node_sync_size(struct sim_node *n)
{
    if (n->resize_count == 0)
        return;
    n->durable_size = n->size;
    n->resize_count = 0;
    sim_image_cut(&n->durable, n->size);
}

const uint8_t *sim_node_old(const struct sim_node *n, uint64_t sector)
{
    size_t end = node_upper(n, sector);

    if (end > 1 && n->writes[end - 2]->sector == sector)
        return n->writes[end - 2]->data;
    if (end > 0 && n->writes[end - 1]->sector == sector)
        return sim_image_sector(&n->durable, sector);
    return sim_image_sector(&n->old, sector);
}

/* ---- names -------------------------------------------------------------- */

struct sim_node *sim_name_node(const struct sim_name *name)
{
    return name->count ? name->changes[name->count - 1].node : name->durable;
}

struct sim_name *sim_node_find(struct sim_node *folder, const char *name,
                               size_t length)
{
    for (size_t i = 0; i < folder->name_count; i++) {
        struct sim_name *n = &folder->names[i];

        if (n->length == length && memcmp(n->name, name, length) == 0)
            return n;
    }
    return NULL;
}

/* Folders are kin whose names are equal up to their last dot. */
static void node_adopt(const struct sim_node *folder, const char *name,
                       size_t length, struct sim_node *node)
{
    node->kin = folder->kin;
    if (!node->is_folder)
        return;
    for (size_t i = length; i > 0; i--)
        if (name[i - 1] == '.')
            length = i - 1;
    node->kin = kl_base_hash(name, length, folder->kin);
}

static struct sim_name *node_add_name(struct sim_node *folder, const char *name,
                                      size_t length)
{
    struct sim_name *n;

    pool_reserve((void **)&folder->names, &folder->name_capacity,
                 folder->name_count + 1, sizeof *folder->names);
    n = &folder->names[folder->name_count++];
    memset(n, 0, sizeof *n);
    n->name = pool_take(length + 1);
    memcpy(n->name, name, length);
    n->name[length] = 0;
    n->length = length;
    return n;
}

void sim_node_link(struct sim_node *folder, const char *name, size_t length,
                   struct sim_node *node, int is_rename)
{
    struct sim_name *n = sim_node_find(folder, name, length);
    struct sim_name_change *change;

    if (!n)
        n = node_add_name(folder, name, length);
    pool_reserve((void **)&n->changes, &n->capacity, n->count + 1,
                 sizeof *n->changes);
    change = &n->changes[n->count++];
    change->node = node;
    change->op = folder->disk->op;
    change->is_rename = is_rename;
    folder->named_op = change->op;
    if (node) {
        node->named_op = change->op;
        node_adopt(folder, name, length, node);
    }
}

struct sim_name *sim_node_add(struct sim_node *folder, const char *name,
                              size_t length, struct sim_node *node)
{
    struct sim_name *n = node_add_name(folder, name, length);

    n->durable = node;
    if (node)
        node_adopt(folder, name, length, node);
    return n;
}

void sim_node_sync_names(struct sim_node *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->name_count; i++) {
        struct sim_name *name = &n->names[i];

        name->durable = sim_name_node(name);
        name->count = 0;
        if (name->durable)
            n->names[kept++] = *name;
        else
            name_free(name);
    }
    n->name_count = kept;
}

int sim_node_is_empty(const struct sim_node *folder)
{
    for (size_t i = 0; i < folder->name_count; i++)
        if (sim_name_node(&folder->names[i]))
            return 0;
    return 1;
}
