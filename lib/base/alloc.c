/*
 * The one place that calls the C library's allocator; everything else goes
 * through the function of its object tree.
 */
#include "base/alloc.h"

#include <kraftlog/error.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *alloc_libc(void *ptr, size_t old_size, size_t new_size, void *user)
{
    (void)old_size;
    (void)user;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

const struct kl_base_alloc kl_base_alloc_libc = {alloc_libc, NULL};

/* Size 0 means "free" to the allocator, so it never reaches it as a request. */
void *kl_base_malloc(const struct kl_base_alloc *a, size_t size)
{
    return size == 0 ? NULL : a->fn(NULL, 0, size, a->user);
}

void *kl_base_calloc(const struct kl_base_alloc *a, size_t size)
{
    void *ptr = kl_base_malloc(a, size);

    if (ptr)
        memset(ptr, 0, size);
    return ptr;
}

void *kl_base_realloc(const struct kl_base_alloc *a, void *ptr, size_t old_size,
                      size_t new_size)
{
    return a->fn(ptr, old_size, new_size, a->user);
}

void kl_base_free(const struct kl_base_alloc *a, void *ptr, size_t size)
{
    if (ptr)
        a->fn(ptr, size, 0, a->user);
}

int kl_base_reserve(const struct kl_base_alloc *a, void **items,
                    size_t *capacity, size_t want, size_t item_size)
{
    size_t next = *capacity;
    void *grown;

    if (want <= *capacity)
        return KL_OK;
    if (next < 4)
        next = 4;
    while (next < want) {
        if (next > SIZE_MAX / 2)
            return KL_ENOMEM;
        next *= 2;
    }
    if (next > SIZE_MAX / item_size)
        return KL_ENOMEM;
    grown = kl_base_realloc(a, *items, *capacity * item_size, next * item_size);
    if (!grown)
        return KL_ENOMEM;
    *items = grown;
    *capacity = next;
    return KL_OK;
}

char *kl_base_strndup(const struct kl_base_alloc *a, const char *text,
                      size_t size)
{
    char *copy = kl_base_malloc(a, size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}
