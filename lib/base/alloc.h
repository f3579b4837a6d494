/*
 * The allocator of one object tree: one function, as in kl_config_new. Sizes
 * are known at free, so a host can account without headers of its own.
 */
#ifndef KL_BASE_ALLOC_H
#define KL_BASE_ALLOC_H

#include <stddef.h>

/* new_size 0 frees; ptr NULL allocates; otherwise resizes, the old block stays
 * valid when NULL is returned. */
typedef void *(*kl_base_alloc_fn)(void *ptr, size_t old_size, size_t new_size,
                                  void *user);

struct kl_base_alloc
{
    kl_base_alloc_fn fn;
    void *user;
};

/* malloc, realloc and free of the C library. */
extern const struct kl_base_alloc kl_base_alloc_libc;

void *kl_base_malloc(const struct kl_base_alloc *a, size_t size);
void *kl_base_calloc(const struct kl_base_alloc *a, size_t size);
void *kl_base_realloc(const struct kl_base_alloc *a, void *ptr, size_t old_size,
                      size_t new_size);
/* NULL is ignored. */
void kl_base_free(const struct kl_base_alloc *a, void *ptr, size_t size);

/* Makes room for at least want items of item_size bytes in *items, growing by
 * doubling. 0 or KL_ENOMEM; on failure nothing changed. */
int kl_base_reserve(const struct kl_base_alloc *a, void **items,
                    size_t *capacity, size_t want, size_t item_size);

/* Copies a text of size bytes and terminates it; freed with size + 1. */
char *kl_base_strndup(const struct kl_base_alloc *a, const char *text,
                      size_t size);

#endif
