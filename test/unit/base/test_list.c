/*
 * The intrusive list.
 */
#include "base/list.h"

#include <check.h>

struct item
{
    int number;
    struct kl_base_list link;
};

static int number_of(struct kl_base_list *link)
{
    return KL_BASE_CONTAINER(link, struct item, link)->number;
}

START_TEST(push_pop_in_order)
{
    struct kl_base_list head;
    struct item items[5];
    int i;

    kl_base_list_init(&head);
    ck_assert(kl_base_list_is_empty(&head));
    ck_assert_ptr_null(kl_base_list_first(&head));
    ck_assert_ptr_null(kl_base_list_pop(&head));
    for (i = 0; i < 5; i++) {
        items[i].number = i;
        kl_base_list_push(&head, &items[i].link);
    }
    ck_assert_int_eq(number_of(kl_base_list_first(&head)), 0);
    for (i = 0; i < 5; i++)
        ck_assert_int_eq(number_of(kl_base_list_pop(&head)), i);
    ck_assert(kl_base_list_is_empty(&head));
}
END_TEST

START_TEST(remove_from_the_middle_twice)
{
    struct kl_base_list head;
    struct item items[3];
    int i;

    kl_base_list_init(&head);
    for (i = 0; i < 3; i++) {
        items[i].number = i;
        kl_base_list_push(&head, &items[i].link);
    }
    kl_base_list_remove(&items[1].link);
    kl_base_list_remove(&items[1].link);
    ck_assert_int_eq(number_of(kl_base_list_pop(&head)), 0);
    ck_assert_int_eq(number_of(kl_base_list_pop(&head)), 2);
    ck_assert_ptr_null(kl_base_list_pop(&head));
}
END_TEST

Suite *suite_base_list(void);

Suite *suite_base_list(void)
{
    Suite *suite = suite_create("base_list");
    TCase *tc = tcase_create("list");

    tcase_add_test(tc, push_pop_in_order);
    tcase_add_test(tc, remove_from_the_middle_twice);
    suite_add_tcase(suite, tc);
    return suite;
}
