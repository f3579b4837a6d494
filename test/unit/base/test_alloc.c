/*
 * The allocator functions.
 */
#include "base/alloc.h"

#include "fail_alloc.h"

#include <check.h>
#include <kraftlog/error.h>
#include <stdint.h>
#include <string.h>

START_TEST(libc_round_trip)
{
    const struct kl_base_alloc *a = &kl_base_alloc_libc;
    char *p = kl_base_malloc(a, 10);

    ck_assert_ptr_nonnull(p);
    memcpy(p, "123456789", 10);
    p = kl_base_realloc(a, p, 10, 10000);
    ck_assert_str_eq(p, "123456789");
    kl_base_free(a, p, 10000);
    kl_base_free(a, NULL, 0);
}
END_TEST

START_TEST(malloc_of_nothing)
{
    ck_assert_ptr_null(kl_base_malloc(&kl_base_alloc_libc, 0));
}
END_TEST

START_TEST(calloc_is_zero)
{
    struct fail_alloc f;
    unsigned char *p;
    int i;

    fail_alloc_init(&f);
    p = kl_base_calloc(&f.alloc, 100);
    for (i = 0; i < 100; i++)
        ck_assert_int_eq(p[i], 0);
    kl_base_free(&f.alloc, p, 100);
    fail_alloc_deinit(&f);
}
END_TEST

START_TEST(reserve_doubles)
{
    struct fail_alloc f;
    int *items = NULL;
    size_t capacity = 0;
    int i;

    fail_alloc_init(&f);
    for (i = 0; i < 1000; i++) {
        ck_assert_int_eq(kl_base_reserve(&f.alloc, (void **)&items, &capacity,
                                         (size_t)i + 1, sizeof *items),
                         0);
        items[i] = i;
    }
    ck_assert_uint_eq(capacity, 1024);
    ck_assert_uint_lt(f.calls, 12);
    for (i = 0; i < 1000; i++)
        ck_assert_int_eq(items[i], i);
    kl_base_free(&f.alloc, items, capacity * sizeof *items);
    fail_alloc_deinit(&f);
}
END_TEST

START_TEST(reserve_failure_changes_nothing)
{
    struct fail_alloc f;
    char *items = NULL;
    size_t capacity = 0;

    fail_alloc_init(&f);
    kl_base_reserve(&f.alloc, (void **)&items, &capacity, 4, 1);
    memcpy(items, "abcd", 4);
    fail_alloc_arm(&f, 1);
    ck_assert_int_eq(
        kl_base_reserve(&f.alloc, (void **)&items, &capacity, 5, 1), KL_ENOMEM);
    ck_assert_uint_eq(capacity, 4);
    ck_assert_int_eq(memcmp(items, "abcd", 4), 0);
    kl_base_free(&f.alloc, items, capacity);
    fail_alloc_deinit(&f);
}
END_TEST

START_TEST(reserve_overflow)
{
    struct fail_alloc f;
    void *items = NULL;
    size_t capacity = 0;

    fail_alloc_init(&f);
    ck_assert_int_eq(kl_base_reserve(&f.alloc, &items, &capacity, SIZE_MAX, 1),
                     KL_ENOMEM);
    ck_assert_int_eq(
        kl_base_reserve(&f.alloc, &items, &capacity, SIZE_MAX / 8, 16),
        KL_ENOMEM);
    ck_assert_uint_eq(f.calls, 0);
    ck_assert_ptr_null(items);
    fail_alloc_deinit(&f);
}
END_TEST

START_TEST(strndup_terminates)
{
    struct fail_alloc f;
    char *p;

    fail_alloc_init(&f);
    p = kl_base_strndup(&f.alloc, "abcdef", 3);
    ck_assert_str_eq(p, "abc");
    kl_base_free(&f.alloc, p, 4);
    p = kl_base_strndup(&f.alloc, "", 0);
    ck_assert_str_eq(p, "");
    kl_base_free(&f.alloc, p, 1);
    fail_alloc_arm(&f, 1);
    ck_assert_ptr_null(kl_base_strndup(&f.alloc, "abc", 3));
    fail_alloc_deinit(&f);
}
END_TEST

Suite *suite_base_alloc(void);

Suite *suite_base_alloc(void)
{
    Suite *suite = suite_create("base_alloc");
    TCase *tc = tcase_create("alloc");

    tcase_add_test(tc, libc_round_trip);
    tcase_add_test(tc, malloc_of_nothing);
    tcase_add_test(tc, calloc_is_zero);
    tcase_add_test(tc, reserve_doubles);
    tcase_add_test(tc, reserve_failure_changes_nothing);
    tcase_add_test(tc, reserve_overflow);
    tcase_add_test(tc, strndup_terminates);
    suite_add_tcase(suite, tc);
    return suite;
}
