/*
 * Sorting.
 */
#include "base/rng.h"
#include "base/sort.h"

#include <check.h>
#include <string.h>

Suite *suite_base_sort(void);

struct sort_item
{
    int key;
    char padding[9];
};

static int compare(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

/* Ascending, and still the same items. */
static void check(struct sort_item *items, size_t count)
{
    int64_t sum = 0, after = 0;

    for (size_t i = 0; i < count; i++)
        sum += items[i].key;
    kl_base_sort(items, count, sizeof *items, compare);
    for (size_t i = 0; i < count; i++) {
        after += items[i].key;
        ck_assert_int_eq(items[i].padding[8], (char)items[i].key);
        if (i > 0)
            ck_assert_int_ge(items[i].key, items[i - 1].key);
    }
    ck_assert_int_eq(after, sum);
}

START_TEST(sort_random)
{
    struct sort_item items[200];
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, 7);
    for (size_t count = 0; count <= 200; count++) {
        memset(items, 0, sizeof items);
        for (size_t i = 0; i < count; i++) {
            items[i].key = (int)(kl_base_rng_next(&rng) % 50) - 25;
            items[i].padding[8] = (char)items[i].key;
        }
        check(items, count);
    }
}
END_TEST

START_TEST(sort_what_is_sorted)
{
    struct sort_item items[100] = {{0}};

    for (int i = 0; i < 100; i++)
        items[i].key = items[i].padding[8] = (char)(_i ? 100 - i : i);
    check(items, 100);
}
END_TEST

Suite *suite_base_sort(void)
{
    Suite *s = suite_create("base_sort");
    TCase *t = tcase_create("sort");

    tcase_add_test(t, sort_random);
    tcase_add_loop_test(t, sort_what_is_sorted, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
