/*
 * Growable bytes, printing, JSON text.
 */
#include "base/buf.h"

#include "fail_alloc.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_base_buf buf;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_buf_init(&buf, &memory.alloc);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&buf);
    fail_alloc_deinit(&memory);
}

static void expect(const void *data, size_t size)
{
    ck_assert_int_eq(buf.error, 0);
    ck_assert_uint_eq(buf.size, size);
    ck_assert_mem_eq(buf.data, data, size);
}

START_TEST(put_is_little_endian)
{
    kl_base_buf_put8(&buf, 1);
    kl_base_buf_put_le16(&buf, 0x0203);
    kl_base_buf_put_le32(&buf, 0x04050607);
    kl_base_buf_put_le64(&buf, 0x08090a0b0c0d0e0f);
    expect("\1\3\2\7\6\5\4\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08", 15);
}
END_TEST

START_TEST(append_grows)
{
    int i;

    for (i = 0; i < 1000; i++)
        kl_base_buf_append(&buf, "0123456789", 10);
    ck_assert_int_eq(buf.error, 0);
    ck_assert_uint_eq(buf.size, 10000);
    ck_assert_mem_eq(buf.data + 9990, "0123456789", 10);
    ck_assert_uint_lt(memory.calls, 12);
    kl_base_buf_append(&buf, NULL, 0);
    ck_assert_uint_eq(buf.size, 10000);
    kl_base_buf_clear(&buf);
    ck_assert_uint_eq(buf.size, 0);
}
END_TEST

START_TEST(extend_gives_room)
{
    memset(kl_base_buf_extend(&buf, 200), 'x', 200);
    ck_assert_uint_eq(buf.size, 200);
    ck_assert_ptr_null(kl_base_buf_extend(&buf, SIZE_MAX));
    ck_assert_int_eq(buf.error, KL_ENOMEM);
    ck_assert_uint_eq(buf.size, 200);
}
END_TEST

START_TEST(error_is_sticky)
{
    kl_base_buf_append(&buf, "abc", 3);
    fail_alloc_arm(&memory, 1);
    ck_assert_ptr_null(kl_base_buf_extend(&buf, 1000));
    ck_assert_int_eq(buf.error, KL_ENOMEM);
    kl_base_buf_put8(&buf, 'd');
    kl_base_buf_put_le16(&buf, 1);
    kl_base_buf_put_le32(&buf, 1);
    kl_base_buf_put_le64(&buf, 1);
    kl_base_buf_printf(&buf, "%d", 1);
    kl_base_buf_json(&buf, "x", 1);
    ck_assert_uint_eq(buf.size, 3);
    kl_base_buf_clear(&buf);
    kl_base_buf_put8(&buf, 'd');
    expect("d", 1);
}
END_TEST

START_TEST(printf_of_every_length)
{
    char text[300];
    size_t length;

    memset(text, 'y', sizeof text);
    for (length = 0; length < 299; length++) {
        text[length] = '\0';
        kl_base_buf_clear(&buf);
        kl_base_buf_printf(&buf, "%s!", text);
        ck_assert_uint_eq(buf.size, length + 1);
        ck_assert_int_eq(buf.data[length], '!');
        text[length] = 'y';
    }
    kl_base_buf_clear(&buf);
    kl_base_buf_printf(&buf, "%d-", 1);
    kl_base_buf_printf(&buf, "%s", "");
    kl_base_buf_printf(&buf, "%llu", 18446744073709551615ull);
    expect("1-18446744073709551615", 22);
}
END_TEST

START_TEST(json_escapes)
{
    static const struct
    {
        const char *text;
        size_t size;
        const char *json;
    } table[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\0\x1f\x7f", 3, "\"\\u0000\\u001f\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
         "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff", 1, "\"\\ufffd\""},
        {"\x80z", 2, "\"\\ufffdz\""},
        {"\xc3", 1, "\"\\ufffd\""},            /* cut short */
        {"\xc3\"", 2, "\"\\ufffd\\\"\""},      /* eats no quote */
        {"\xc0\xaf", 2, "\"\\ufffd\\ufffd\""}, /* overlong */
        {"\xe0\x80\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
        {"\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xf0\x8f\xbf\xbf", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xe2\x82", 2, "\"\\ufffd\\ufffd\""},
        {"\xe2\x82z", 3, "\"\\ufffd\\ufffdz\""},
        {"\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\""},
    };
    size_t i;

    for (i = 0; i < sizeof table / sizeof table[0]; i++) {
        kl_base_buf_clear(&buf);
        kl_base_buf_json(&buf, table[i].text, table[i].size);
        expect(table[i].json, strlen(table[i].json));
    }
}
END_TEST

Suite *suite_base_buf(void);

Suite *suite_base_buf(void)
{
    Suite *suite = suite_create("base_buf");
    TCase *tc = tcase_create("buf");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, put_is_little_endian);
    tcase_add_test(tc, append_grows);
    tcase_add_test(tc, extend_gives_room);
    tcase_add_test(tc, error_is_sticky);
    tcase_add_test(tc, printf_of_every_length);
    tcase_add_test(tc, json_escapes);
    suite_add_tcase(suite, tc);
    return suite;
}
