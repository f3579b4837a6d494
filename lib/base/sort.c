/*
 * Heap sort: the same time for every input, and no recursion.
 */
#include "base/sort.h"

#include "base/assert.h"

#include <stdint.h>
#include <string.h>

/* Lets the item at root sink until no child comes behind it. */
static void sort_sink(uint8_t *items, size_t root, size_t count, size_t size,
                      kl_base_sort_fn compare)
{
    uint8_t moved[KL_BASE_SORT_ITEM];

    memcpy(moved, items + root * size, size);
    for (;;) {
        size_t child = 2 * root + 1;

        if (child >= count)
            break;
        if (child + 1 < count &&
            compare(items + child * size, items + (child + 1) * size) < 0)
            child++;
        if (compare(moved, items + child * size) >= 0)
            break;
        memcpy(items + root * size, items + child * size, size);
        root = child;
    }
    memcpy(items + root * size, moved, size);
}

void kl_base_sort(void *items, size_t count, size_t item_size,
                  kl_base_sort_fn compare)
{
    uint8_t swap[KL_BASE_SORT_ITEM];
    uint8_t *p = items;

    KL_ASSERT(item_size > 0 && item_size <= KL_BASE_SORT_ITEM);
    for (size_t i = count / 2; i > 0; i--)
        sort_sink(p, i - 1, count, item_size, compare);
    for (size_t end = count; end > 1; end--) {
        memcpy(swap, p, item_size);
        memcpy(p, p + (end - 1) * item_size, item_size);
        memcpy(p + (end - 1) * item_size, swap, item_size);
        sort_sink(p, 0, end - 1, item_size, compare);
    }
}
