/*
 * Sorted names.
 */
#include "os/names.h"

#include <stdlib.h>
#include <string.h>

void kl_os_names_init(struct kl_os_names *n, const struct kl_base_alloc *a)
{
    memset(n, 0, sizeof *n);
    n->alloc = a;
}

void kl_os_names_deinit(struct kl_os_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        kl_base_free(n->alloc, n->items[i], strlen(n->items[i]) + 1);
    kl_base_free(n->alloc, n->items, n->capacity * sizeof *n->items);
    kl_os_names_init(n, n->alloc);
}

int kl_os_names_add(struct kl_os_names *n, const char *name)
{
    void *items = n->items;
    char *copy;
    int rc = kl_base_reserve(n->alloc, &items, &n->capacity, n->count + 1,
                             sizeof *n->items);

    if (rc)
        return rc;
    n->items = items;
    copy = kl_base_strndup(n->alloc, name, strlen(name));
    if (!copy)
        return KL_ENOMEM;
    n->items[n->count++] = copy;
    return 0;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int kl_os_names_each(struct kl_os_names *n, kl_os_list_fn fn, void *user)
{
    if (n->count > 1)
        qsort(n->items, n->count, sizeof *n->items, names_compare);
    for (size_t i = 0; i < n->count; i++) {
        int rc = fn(n->items[i], user);

        if (rc)
            return rc;
    }
    return 0;
}
