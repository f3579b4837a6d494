/*
 * Sorting in place, without memory of its own; not stable.
 */
#ifndef KL_BASE_SORT_H
#define KL_BASE_SORT_H

#include <stddef.h>

/* Negative, 0 or positive, as a comes before b, with it or behind it. */
typedef int (*kl_base_sort_fn)(const void *a, const void *b);

/* Items of at most KL_BASE_SORT_ITEM bytes. */
enum { KL_BASE_SORT_ITEM = 256 };
void kl_base_sort(void *items, size_t count, size_t item_size,
                  kl_base_sort_fn compare);

#endif
