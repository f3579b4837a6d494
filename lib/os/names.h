/*
 * The names in a folder: collected first, then handed out in byte order, so
 * that a listing is deterministic and its callback may change the folder.
 */
#ifndef KL_OS_NAMES_H
#define KL_OS_NAMES_H

#include "base/alloc.h"
#include "os/vfs.h"

struct kl_os_names
{
    const struct kl_base_alloc *alloc;
    char **items;
    size_t count;
    size_t capacity;
};

void kl_os_names_init(struct kl_os_names *n, const struct kl_base_alloc *a);
void kl_os_names_deinit(struct kl_os_names *n);
/* Copies a name. 0 or KL_ENOMEM. */
int kl_os_names_add(struct kl_os_names *n, const char *name);
/* Sorts the names and calls fn for each until one call returns non-zero, which
 * is returned. */
int kl_os_names_each(struct kl_os_names *n, kl_os_list_fn fn, void *user);

#endif
