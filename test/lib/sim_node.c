/*
 * Images, pending writes, names.
 */
#include "sim_node.h"

#include "need.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_SECTORS = SIM_PAGE / SIM_SECTOR };

static const uint8_t node_zeros[SIM_SECTOR];

void *sim_alloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);

    need(p != NULL);
    return p;
}

/* ---- images ---------------------------------------------------------------
 */

static void page_unref(struct sim_page *page)
{
    if (page && --page->refs == 0)
        free(page);
}

void sim_image_free(struct sim_image *image)
{
    for (size_t i = 0; i < image->count; i++)
        page_unref(image->pages[i]);
    free(image->pages);
    image->pages = NULL;
    image->count = 0;
}

void sim_image_copy(struct sim_image *to, const struct sim_image *from)
{
    to->count = from->count;
    to->pages = NULL;
    if (from->count == 0)
        return;
    to->pages = sim_alloc(NULL, from->count * sizeof *to->pages);
    for (size_t i = 0; i < from->count; i++) {
        to->pages[i] = from->pages[i];
        if (to->pages[i])
            to->pages[i]->refs++;
    }
}

void sim_image_read(const struct sim_image *image, uint64_t sector,
                    uint8_t *out)
{
    size_t at = (size_t)(sector / PAGE_SECTORS);
    const struct sim_page *page = at < image->count ? image->pages[at] : NULL;

    if (page)
        memcpy(out, page->data + sector % PAGE_SECTORS * SIM_SECTOR,
               SIM_SECTOR);
    else
        memset(out, 0, SIM_SECTOR);
}

void sim_image_write(struct sim_image *image, uint64_t sector,
                     const uint8_t *data)
{
    size_t at = (size_t)(sector / PAGE_SECTORS);
    struct sim_page *page;

    if (at >= image->count) {
        if (memcmp(data, node_zeros, SIM_SECTOR) == 0)
            return;
        image->pages = sim_alloc(image->pages, (at + 1) * sizeof *image->pages);
        memset(image->pages + image->count, 0,
               (at + 1 - image->count) * sizeof *image->pages);
        image->count = at + 1;
    }
    page = image->pages[at];
    if (!page || page->refs > 1) {
        struct sim_page *own = sim_alloc(NULL, sizeof *own);

        own->refs = 1;
        if (page)
            memcpy(own->data, page->data, SIM_PAGE);
        else
            memset(own->data, 0, SIM_PAGE);
        page_unref(page);
        image->pages[at] = page = own;
    }
    memcpy(page->data + sector % PAGE_SECTORS * SIM_SECTOR, data, SIM_SECTOR);
}

/* ---- bytes -------------------------------------------------------------- */

struct sim_node *sim_node_new(struct sim_disk *d, int is_folder)
{
    struct sim_node *n = sim_alloc(NULL, sizeof *n);

    memset(n, 0, sizeof *n);
    n->is_folder = is_folder;
    n->next = d->nodes;
    d->nodes = n;
    return n;
}

static void node_forget_pending(struct sim_node *n)
{
    for (size_t i = 0; i < n->write_count; i++)
        free(n->writes[i]);
    n->write_count = 0;
    n->size_count = 0;
}

void sim_node_free(struct sim_node *n)
{
    node_forget_pending(n);
    free(n->writes);
    free(n->sizes);
    for (size_t i = 0; i < n->name_count; i++) {
        free(n->names[i].name);
        free(n->names[i].changes);
    }
    free(n->names);
    sim_image_free(&n->cached);
    sim_image_free(&n->durable);
    free(n);
}

uint64_t sim_node_size(const struct sim_node *n)
{
    return n->size_count ? n->sizes[n->size_count - 1] : n->durable_size;
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

/* The sector's new bytes are cached, and pending where they tell a crash
 * anything new: what lies behind the durable size may not be zeros there. */
static void node_put_sector(struct sim_node *n, uint64_t sector,
                            const uint8_t *data)
{
    size_t at = node_upper(n, sector);
    int is_pending = at > 0 && n->writes[at - 1]->sector == sector;
    uint8_t old[SIM_SECTOR];
    struct sim_write *w;

    sim_image_read(&n->cached, sector, old);
    if (memcmp(old, data, SIM_SECTOR) == 0 &&
        (is_pending || (sector + 1) * SIM_SECTOR <= n->durable_size))
        return;
    if (n->write_count == n->write_capacity) {
        n->write_capacity = n->write_capacity * 2 + 8;
        n->writes = sim_alloc(n->writes, n->write_capacity * sizeof *n->writes);
    }
    w = sim_alloc(NULL, sizeof *w);
    w->sector = sector;
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
        sim_image_read(&n->cached, sector, bytes);
        if (data)
            memcpy(bytes + from, data, part);
        else
            memset(bytes + from, 0, part);
        node_put_sector(n, sector, bytes);
        offset += part;
        size -= part;
        if (data)
            data += part;
    }
}

void sim_node_resize(struct sim_node *n, uint64_t size)
{
    uint64_t old = sim_node_size(n);

    if (size == old)
        return;
    if (size < old)
        node_put(n, NULL, old - size, size);
    n->sizes = sim_alloc(n->sizes, (n->size_count + 1) * sizeof *n->sizes);
    n->sizes[n->size_count++] = size;
}

void sim_node_write(struct sim_node *n, const uint8_t *data, size_t size,
                    uint64_t offset)
{
    node_put(n, data, size, offset);
    if (offset + size > sim_node_size(n))
        sim_node_resize(n, offset + size);
}

void sim_node_read(const struct sim_node *n, uint8_t *out, size_t size,
                   uint64_t offset)
{
    while (size > 0) {
        size_t from = (size_t)(offset % SIM_SECTOR);
        size_t part = SIM_SECTOR - from;
        uint8_t bytes[SIM_SECTOR];

        if (part > size)
            part = size;
        sim_image_read(&n->cached, offset / SIM_SECTOR, bytes);
        memcpy(out, bytes + from, part);
        out += part;
        offset += part;
        size -= part;
    }
}

void sim_node_sync(struct sim_node *n)
{
    for (size_t i = 0; i < n->write_count; i++)
        sim_image_write(&n->durable, n->writes[i]->sector, n->writes[i]->data);
    n->durable_size = sim_node_size(n);
    node_forget_pending(n);
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

        if (strlen(n->name) == length && memcmp(n->name, name, length) == 0)
            return n;
    }
    return NULL;
}

void sim_node_link(struct sim_node *folder, const char *name, size_t length,
                   struct sim_node *node, uint64_t rename)
{
    struct sim_name *n = sim_node_find(folder, name, length);

    if (!n) {
        folder->names = sim_alloc(folder->names, (folder->name_count + 1) *
                                                     sizeof *folder->names);
        n = &folder->names[folder->name_count++];
        memset(n, 0, sizeof *n);
        n->name = sim_alloc(NULL, length + 1);
        memcpy(n->name, name, length);
        n->name[length] = 0;
    }
    n->changes = sim_alloc(n->changes, (n->count + 1) * sizeof *n->changes);
    n->changes[n->count].node = node;
    n->changes[n->count++].rename = rename;
}

void sim_node_sync_names(struct sim_node *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->name_count; i++) {
        struct sim_name *name = &n->names[i];

        name->durable = sim_name_node(name);
        name->count = 0;
        if (name->durable) {
            n->names[kept++] = *name;
            continue;
        }
        free(name->name);
        free(name->changes);
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
