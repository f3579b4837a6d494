/*
 * Configuration from outside.
 */
#include <check.h>
#include <kraftlog/config.h>
#include <kraftlog/error.h>
#include <stdlib.h>
#include <string.h>

static kl_config *c;

static void setup(void)
{
    ck_assert_int_eq(kl_config_new(&c, NULL, NULL), 0);
}

static void teardown(void)
{
    kl_config_free(c);
}

static void check_errmsg(const char *wanted)
{
    char text[256] = "?";

    ck_assert_int_eq(kl_config_errmsg(c, text, sizeof text), 0);
    ck_assert_str_eq(text, wanted);
}

START_TEST(set_and_get)
{
    char text[32];
    size_t size = 0;

    ck_assert_int_eq(kl_config_set(c, "batch.size", "64k"), 0);
    ck_assert_int_eq(kl_config_get(c, "batch.size", text, sizeof text, &size),
                     0);
    ck_assert_str_eq(text, "65536");
    ck_assert_uint_eq(size, 5);
    ck_assert_int_eq(kl_config_set_int(c, "batch.size", 2048), 0);
    ck_assert_int_eq(kl_config_get(c, "batch.size", text, 3, &size), 0);
    ck_assert_str_eq(text, "20");
    ck_assert_uint_eq(size, 4);
    ck_assert_int_eq(kl_config_get(c, "batch.size", NULL, 0, &size), 0);
    ck_assert_uint_eq(size, 4);
    ck_assert_int_eq(kl_config_get(c, "flush", text, sizeof text, NULL), 0);
    ck_assert_str_eq(text, "commit");
    check_errmsg("");
}
END_TEST

START_TEST(set_says_what_is_wrong)
{
    ck_assert_int_eq(kl_config_set(c, "no.such.key", "1"), KL_ECONFIG);
    check_errmsg("unknown key 'no.such.key'");
    ck_assert_int_eq(kl_config_set(c, "io.threads", "5"), KL_ECONFIG);
    check_errmsg("io.threads: '5' is not in 1..4");
    ck_assert_int_eq(kl_config_set_int(c, "io.threads", 0), KL_ECONFIG);
    check_errmsg("io.threads: 0 is not in 1..4");
    ck_assert_int_eq(kl_config_set_int(c, "flush", 0), KL_ECONFIG);
    check_errmsg("flush is a word, one of commit|interval");
}
END_TEST

START_TEST(misuse)
{
    char text[8];

    ck_assert_int_eq(kl_config_new(NULL, NULL, NULL), KL_EINVAL);
    kl_config_free(NULL);
    ck_assert_int_eq(kl_config_set(NULL, "flush", "commit"), KL_EINVAL);
    ck_assert_int_eq(kl_config_set(c, NULL, "commit"), KL_EINVAL);
    ck_assert_int_eq(kl_config_set_int(NULL, "flush", 1), KL_EINVAL);
    ck_assert_int_eq(kl_config_set_int(c, NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_config_get(NULL, "flush", text, 8, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_config_get(c, NULL, text, 8, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_config_get(c, "flush", NULL, 8, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_config_get(c, "none", text, 8, NULL), KL_ECONFIG);
    ck_assert_int_eq(kl_config_errmsg(NULL, text, 8), KL_EINVAL);
    ck_assert_int_eq(kl_config_errmsg(c, NULL, 8), KL_EINVAL);
    ck_assert_int_eq(kl_config_errmsg(c, text, 0), KL_EINVAL);
    ck_assert_int_eq(kl_config_set_trace(NULL, 0, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_config_set_trace(c, KL_TRACE_INFO, NULL, NULL),
                     KL_EINVAL);
    ck_assert_int_eq(kl_config_set_trace(c, 99, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_config_set_trace(c, 0, NULL, NULL), 0);
    ck_assert_int_eq(kl_config_set_panic(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_config_set_panic(c, NULL, NULL), 0);
}
END_TEST

START_TEST(table_lists_every_key)
{
    size_t count = kl_config_key_count();

    ck_assert_uint_gt(count, 20);
    for (size_t i = 0; i < count; i++) {
        char text[64];

        ck_assert_int_eq(
            kl_config_get(c, kl_config_key_at(i), text, sizeof text, NULL), 0);
        ck_assert_str_eq(text, kl_config_key_default(i));
        ck_assert_uint_gt(strlen(kl_config_key_doc(i)), 10);
        ck_assert_uint_gt(strlen(kl_config_key_range(i)), 0);
        ck_assert_int_ge(kl_config_key_scope(i), KL_CONFIG_NODE);
        ck_assert_int_le(kl_config_key_scope(i), KL_CONFIG_CONSUMER);
        ck_assert_int_ge(kl_config_key_type(i), KL_CONFIG_INT);
        ck_assert_int_le(kl_config_key_type(i), KL_CONFIG_TEXT);
    }
    ck_assert_ptr_null(kl_config_key_at(count));
    ck_assert_ptr_null(kl_config_key_doc(count));
    ck_assert_ptr_null(kl_config_key_default(count));
    ck_assert_ptr_null(kl_config_key_range(count));
    ck_assert_int_eq(kl_config_key_scope(count), 0);
    ck_assert_int_eq(kl_config_key_type(count), 0);
}
END_TEST

static size_t allocated;

static void *counting(void *ptr, size_t old_size, size_t new_size, void *user)
{
    ck_assert_ptr_eq(user, &allocated);
    allocated += new_size - old_size;
    if (new_size)
        return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static void *refusing(void *ptr, size_t old_size, size_t new_size, void *user)
{
    (void)ptr;
    (void)old_size;
    (void)new_size;
    (void)user;
    return NULL;
}

START_TEST(new_with_an_allocator)
{
    kl_config *own = NULL;

    ck_assert_int_eq(kl_config_new(&own, counting, &allocated), 0);
    ck_assert_uint_gt(allocated, 0);
    kl_config_free(own);
    ck_assert_uint_eq(allocated, 0);
    own = c;
    ck_assert_int_eq(kl_config_new(&own, refusing, NULL), KL_ENOMEM);
    ck_assert_ptr_null(own);
}
END_TEST

Suite *suite_api_config(void);

Suite *suite_api_config(void)
{
    Suite *s = suite_create("api_config");
    TCase *t = tcase_create("config");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, set_and_get);
    tcase_add_test(t, set_says_what_is_wrong);
    tcase_add_test(t, misuse);
    tcase_add_test(t, table_lists_every_key);
    tcase_add_test(t, new_with_an_allocator);
    suite_add_tcase(s, t);
    return s;
}
