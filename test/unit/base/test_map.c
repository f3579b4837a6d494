/*
 * The hash map, also against a plain array over many random steps.
 */
#include "base/map.h"

#include "base/rng.h"
#include "fail_alloc.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_base_map map;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_map_init(&map, &memory.alloc);
}

static void tear_down(void)
{
    kl_base_map_deinit(&map);
    fail_alloc_deinit(&memory);
}

START_TEST(get_from_empty)
{
    size_t pos = 0;

    ck_assert_ptr_null(kl_base_map_get(&map, "a", 1));
    ck_assert_ptr_null(kl_base_map_remove(&map, "a", 1));
    ck_assert_ptr_null(kl_base_map_next(&map, &pos));
    ck_assert_uint_eq(memory.calls, 0);
}
END_TEST

START_TEST(put_replaces)
{
    int x, y;

    ck_assert_int_eq(kl_base_map_put(&map, "key", 3, &x), 0);
    ck_assert_int_eq(kl_base_map_put(&map, "key", 3, &y), 0);
    ck_assert_uint_eq(map.count, 1);
    ck_assert_ptr_eq(kl_base_map_get(&map, "key", 3), &y);
    ck_assert_ptr_null(kl_base_map_get(&map, "ke", 2));
    ck_assert_ptr_null(kl_base_map_get(&map, "kez", 3));
    ck_assert_ptr_eq(kl_base_map_remove(&map, "key", 3), &y);
    ck_assert_uint_eq(map.count, 0);
}
END_TEST

START_TEST(put_empty_key)
{
    int x;

    ck_assert_int_eq(kl_base_map_put(&map, NULL, 0, &x), 0);
    ck_assert_ptr_eq(kl_base_map_get(&map, "", 0), &x);
    ck_assert_ptr_eq(kl_base_map_remove(&map, NULL, 0), &x);
}
END_TEST

START_TEST(put_failure_changes_nothing)
{
    static const char keys[] = "abcdefghijkl";
    size_t i, n;

    for (i = 0; i < 12; i++) {
        fail_alloc_arm(&memory, 1);
        if (kl_base_map_put(&map, &keys[i], 1, (void *)&keys[i]) != 0) {
            ck_assert_uint_eq(map.count, i);
            for (n = 0; n < i; n++)
                ck_assert_ptr_eq(kl_base_map_get(&map, &keys[n], 1), &keys[n]);
            ck_assert_ptr_null(kl_base_map_get(&map, &keys[i], 1));
            fail_alloc_arm(&memory, 0);
            ck_assert_int_eq(
                kl_base_map_put(&map, &keys[i], 1, (void *)&keys[i]), 0);
        }
    }
    ck_assert_uint_eq(map.count, 12);
}
END_TEST

START_TEST(remove_does_not_grow_the_table)
{
    uint32_t keys[10000];
    uint32_t i;

    for (i = 0; i < 10000; i++) {
        keys[i] = i;
        ck_assert_int_eq(kl_base_map_put(&map, &keys[i], 4, &keys[i]), 0);
        ck_assert_ptr_eq(kl_base_map_remove(&map, &keys[i], 4), &keys[i]);
    }
    ck_assert_uint_eq(map.count, 0);
    ck_assert_uint_le(map.capacity, 16);
}
END_TEST

START_TEST(random_steps_agree_with_an_array)
{
    uint32_t keys[300];
    int present[300] = {0};
    struct kl_base_rng rng;
    size_t count = 0, pos, i, step;

    kl_base_rng_seed(&rng, 3);
    for (i = 0; i < 300; i++)
        keys[i] = (uint32_t)kl_base_rng_next(&rng) * 2 + (uint32_t)(i & 1);
    for (step = 0; step < 20000; step++) {
        void *found;

        i = kl_base_rng_below(&rng, 300);
        found = kl_base_map_get(&map, &keys[i], 4);
        ck_assert_ptr_eq(found, present[i] ? &keys[i] : NULL);
        if (present[i]) {
            ck_assert_ptr_eq(kl_base_map_remove(&map, &keys[i], 4), &keys[i]);
            count--;
        } else {
            ck_assert_int_eq(kl_base_map_put(&map, &keys[i], 4, &keys[i]), 0);
            count++;
        }
        present[i] = !present[i];
        ck_assert_uint_eq(map.count, count);
    }
    for (pos = 0; kl_base_map_next(&map, &pos) != NULL;)
        count--;
    ck_assert_uint_eq(count, 0);
}
END_TEST

Suite *suite_base_map(void);

Suite *suite_base_map(void)
{
    Suite *suite = suite_create("base_map");
    TCase *tc = tcase_create("map");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, get_from_empty);
    tcase_add_test(tc, put_replaces);
    tcase_add_test(tc, put_empty_key);
    tcase_add_test(tc, put_failure_changes_nothing);
    tcase_add_test(tc, remove_does_not_grow_the_table);
    tcase_add_test(tc, random_steps_agree_with_an_array);
    suite_add_tcase(suite, tc);
    return suite;
}
