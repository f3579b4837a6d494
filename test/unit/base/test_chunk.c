/*
 * Reference-counted bytes.
 */
#include "base/chunk.h"

#include "fail_alloc.h"

#include <check.h>
#include <kraftlog/error.h>
#include <pthread.h>
#include <string.h>

static struct fail_alloc memory;

static void set_up(void)
{
    fail_alloc_init(&memory);
}

static void tear_down(void)
{
    fail_alloc_deinit(&memory);
}

START_TEST(new_is_empty_and_aligned)
{
    struct kl_base_chunk *c;

    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 100), 0);
    ck_assert_uint_eq(c->size, 0);
    ck_assert_uint_eq(c->capacity, 100);
    ck_assert_uint_eq((uintptr_t)c->data % 8, 0);
    memset(c->data, 7, 100);
    kl_base_chunk_unref(c);
    kl_base_chunk_unref(NULL);
}
END_TEST

START_TEST(new_without_memory)
{
    struct kl_base_chunk *c = NULL;

    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 100), KL_ENOMEM);
    ck_assert_int_eq(
        kl_base_chunk_new(&c, &memory.alloc, (size_t)UINT32_MAX + 1),
        KL_ENOMEM);
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(resize_keeps_bytes)
{
    struct kl_base_chunk *c;

    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 4), 0);
    memcpy(c->data, "abcd", 4);
    c->size = 4;
    ck_assert_int_eq(kl_base_chunk_resize(&c, 1000), 0);
    ck_assert_uint_eq(c->capacity, 1000);
    ck_assert_int_eq(memcmp(c->data, "abcd", 4), 0);
    ck_assert_int_eq(kl_base_chunk_resize(&c, 2), 0);
    ck_assert_uint_eq(c->size, 2);
    kl_base_chunk_unref(c);
}
END_TEST

START_TEST(resize_failure_changes_nothing)
{
    struct kl_base_chunk *c, *before;

    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 4), 0);
    before = c;
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_base_chunk_resize(&c, 1000), KL_ENOMEM);
    ck_assert_ptr_eq(c, before);
    ck_assert_uint_eq(c->capacity, 4);
    ck_assert_int_eq(kl_base_chunk_resize(&c, (size_t)UINT32_MAX + 1),
                     KL_ENOMEM);
    kl_base_chunk_unref(c);
}
END_TEST

START_TEST(unref_frees_with_the_last)
{
    struct kl_base_chunk *c;

    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 4), 0);
    ck_assert_ptr_eq(kl_base_chunk_ref(c), c);
    kl_base_chunk_unref(c);
    ck_assert_uint_eq(memory.live_blocks, 1);
    kl_base_chunk_unref(c);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

static void keep(struct kl_base_chunk *chunk, void *user)
{
    *(struct kl_base_chunk **)user = chunk;
}

START_TEST(unref_recycles)
{
    struct kl_base_chunk *c, *kept = NULL;

    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 4), 0);
    c->recycle = keep;
    c->user = &kept;
    kl_base_chunk_ref(c);
    kl_base_chunk_unref(c);
    ck_assert_ptr_null(kept);
    kl_base_chunk_unref(c);
    ck_assert_ptr_eq(kept, c);
    ck_assert_uint_eq(memory.live_blocks, 1);
    kl_base_chunk_destroy(c);
}
END_TEST

static void *ref_and_unref(void *user)
{
    struct kl_base_chunk *c = user;
    int i;

    for (i = 0; i < 10000; i++)
        kl_base_chunk_ref(c);
    for (i = 0; i < 10001; i++)
        kl_base_chunk_unref(c);
    return NULL;
}

START_TEST(unref_from_threads)
{
    struct kl_base_chunk *c;
    pthread_t t[3];
    int i;

    ck_assert_int_eq(kl_base_chunk_new(&c, &memory.alloc, 4), 0);
    for (i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, ref_and_unref, kl_base_chunk_ref(c));
    kl_base_chunk_unref(c);
    for (i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

Suite *suite_base_chunk(void);

Suite *suite_base_chunk(void)
{
    Suite *suite = suite_create("base_chunk");
    TCase *tc = tcase_create("chunk");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, new_is_empty_and_aligned);
    tcase_add_test(tc, new_without_memory);
    tcase_add_test(tc, resize_keeps_bytes);
    tcase_add_test(tc, resize_failure_changes_nothing);
    tcase_add_test(tc, unref_frees_with_the_last);
    tcase_add_test(tc, unref_recycles);
    tcase_add_test(tc, unref_from_threads);
    suite_add_tcase(suite, tc);
    return suite;
}
