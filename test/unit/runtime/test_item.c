/*
 * Items of reports: fields, lines, JSON.
 */
#include "fail_alloc.h"
#include "need.h"
#include "runtime/item.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_runtime_item item;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_runtime_item_init(&item, &memory.alloc);
}

static void tear_down(void)
{
    kl_runtime_item_deinit(&item);
    fail_alloc_deinit(&memory);
}

static void check(const char *line, const char *json)
{
    need_ok(kl_runtime_item_end(&item));
    ck_assert_str_eq((const char *)item.line.data, line);
    ck_assert_str_eq((const char *)item.json.data, json);
    ck_assert_uint_eq(item.line.size, strlen(line) + 1);
    ck_assert_uint_eq(item.json.size, strlen(json) + 1);
}

START_TEST(line_of_words)
{
    struct kl_base_uuid id = {{0xab}};

    kl_runtime_item_begin(&item, "batch");
    kl_runtime_item_put(&item, "offset", INT64_MIN);
    kl_runtime_item_text(&item, "codec", "lz4");
    kl_runtime_item_id(&item, "id", &id);
    check("batch offset=-9223372036854775808 codec=lz4 "
          "id=ab000000000000000000000000000000",
          "{\"type\":\"batch\",\"offset\":-9223372036854775808,"
          "\"codec\":\"lz4\",\"id\":\"ab000000000000000000000000000000\"}");
}
END_TEST

START_TEST(words_that_need_quotes)
{
    kl_runtime_item_begin(&item, "record");
    kl_runtime_item_bytes(&item, "key", NULL, 0);
    kl_runtime_item_bytes(&item, "value", "a b\0\"\\\xc3\xa4\xff\n", 10);
    kl_runtime_item_bytes(&item, "empty", "", 0);
    check("record key=null value=\"a b\\x00\\\"\\\\\xc3\xa4\\xff\\x0a\" "
          "empty=\"\"",
          "{\"type\":\"record\",\"key\":null,"
          "\"value\":\"a b\\u0000\\\"\\\\\xc3\xa4\\ufffd\\n\","
          "\"empty\":\"\"}");
}
END_TEST

START_TEST(text_is_the_line)
{
    kl_runtime_item_begin(&item, "note");
    kl_runtime_item_put(&item, "n", 1);
    kl_runtime_item_text(&item, "text", "one thing: \"this\"");
    check("one thing: \"this\"",
          "{\"type\":\"note\",\"n\":1,\"text\":\"one thing: \\\"this\\\"\"}");
}
END_TEST

START_TEST(fields_by_name)
{
    const struct kl_runtime_field *f;

    kl_runtime_item_begin(&item, "old");
    kl_runtime_item_text(&item, "gone", "x");
    kl_runtime_item_begin(&item, "new");
    kl_runtime_item_put(&item, "n", 7);
    kl_runtime_item_bytes(&item, "b", "\0x", 2);
    need_ok(kl_runtime_item_end(&item));
    ck_assert_ptr_null(kl_runtime_item_find(&item, "gone"));
    f = kl_runtime_item_find(&item, "n");
    ck_assert_int_eq(f->value, 7);
    ck_assert(!f->is_text);
    f = kl_runtime_item_find(&item, "b");
    ck_assert_uint_eq(f->size, 2);
    ck_assert_int_eq(memcmp(item.data.data + f->at, "\0x", 3), 0);
}
END_TEST

START_TEST(without_memory)
{
    char text[300];
    int rc = KL_ENOMEM;

    memset(text, '"', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (uint64_t at = 1; rc == KL_ENOMEM; at++) {
        kl_runtime_item_deinit(&item);
        fail_alloc_arm(&memory, at);
        kl_runtime_item_begin(&item, "t");
        kl_runtime_item_text(&item, "a", text);
        rc = kl_runtime_item_end(&item);
    }
    ck_assert_int_eq(rc, 0);
}
END_TEST

Suite *suite_runtime_item(void);

Suite *suite_runtime_item(void)
{
    Suite *s = suite_create("runtime_item");
    TCase *t = tcase_create("item");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, line_of_words);
    tcase_add_test(t, words_that_need_quotes);
    tcase_add_test(t, text_is_the_line);
    tcase_add_test(t, fields_by_name);
    tcase_add_test(t, without_memory);
    suite_add_tcase(s, t);
    return s;
}
