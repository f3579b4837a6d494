/*
 * Sorted names.
 */
#include "fail_alloc.h"
#include "os/names.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct seen
{
    char text[256];
    int count;
    int stop_at;
};

static int seen_add(const char *name, void *user)
{
    struct seen *s = user;
    size_t used = strlen(s->text);

    snprintf(s->text + used, sizeof s->text - used, "%s|", name);
    return ++s->count == s->stop_at ? -7 : 0;
}

START_TEST(each_in_byte_order)
{
    static const char *const names[] = {"b", "\xff", "a10", "", "a", "B", "a2"};
    struct kl_os_names n;
    struct seen s = {0};

    kl_os_names_init(&n, &kl_base_alloc_libc);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_int_eq(kl_os_names_add(&n, names[i]), 0);
    ck_assert_int_eq(kl_os_names_each(&n, seen_add, &s), 0);
    ck_assert_str_eq(s.text, "|B|a|a10|a2|b|\xff|");
    kl_os_names_deinit(&n);
    ck_assert_uint_eq(n.count, 0);
}
END_TEST

START_TEST(each_of_none)
{
    struct kl_os_names n;
    struct seen s = {0};

    kl_os_names_init(&n, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_os_names_each(&n, seen_add, &s), 0);
    ck_assert_int_eq(s.count, 0);
    kl_os_names_deinit(&n);
}
END_TEST

START_TEST(each_ends_with_the_callers_code)
{
    struct kl_os_names n;
    struct seen s = {.stop_at = 2};

    kl_os_names_init(&n, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_os_names_add(&n, "3"), 0);
    ck_assert_int_eq(kl_os_names_add(&n, "2"), 0);
    ck_assert_int_eq(kl_os_names_add(&n, "1"), 0);
    ck_assert_int_eq(kl_os_names_each(&n, seen_add, &s), -7);
    ck_assert_str_eq(s.text, "1|2|");
    kl_os_names_deinit(&n);
}
END_TEST

/* Whatever allocation fails, what was added before stays. */
START_TEST(add_without_memory)
{
    for (uint64_t fail_at = 1;; fail_at++) {
        struct fail_alloc f;
        struct kl_os_names n;
        int rc = 0;
        size_t count = 0;

        fail_alloc_init(&f);
        fail_alloc_arm(&f, fail_at);
        kl_os_names_init(&n, &f.alloc);
        for (int i = 0; !rc && i < 40; i++) {
            rc = kl_os_names_add(&n, "name");
            count += rc == 0;
        }
        ck_assert_uint_eq(n.count, count);
        ck_assert_int_eq(rc, f.failed ? KL_ENOMEM : 0);
        kl_os_names_deinit(&n);
        fail_alloc_deinit(&f);
        if (!f.failed)
            break;
    }
}
END_TEST

Suite *suite_os_names(void);
Suite *suite_os_names(void)
{
    Suite *s = suite_create("os_names");
    TCase *tc = tcase_create("names");

    tcase_add_test(tc, each_in_byte_order);
    tcase_add_test(tc, each_of_none);
    tcase_add_test(tc, each_ends_with_the_callers_code);
    tcase_add_test(tc, add_without_memory);
    suite_add_tcase(s, tc);
    return s;
}
