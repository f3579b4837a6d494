/*
 * Zig-zag variable-length integers.
 */
#include "base/varint.h"

#include <check.h>
#include <string.h>

static const struct
{
    int64_t value;
    size_t size;
    uint8_t bytes[10];
} table[] = {
    {0, 1, {0x00}},
    {-1, 1, {0x01}},
    {1, 1, {0x02}},
    {63, 1, {0x7e}},
    {-64, 1, {0x7f}},
    {64, 2, {0x80, 0x01}},
    {-65, 2, {0x81, 0x01}},
    {8191, 2, {0xfe, 0x7f}},
    {8192, 3, {0x80, 0x80, 0x01}},
    {INT32_MAX, 5, {0xfe, 0xff, 0xff, 0xff, 0x0f}},
    {INT32_MIN, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
    {INT64_MAX,
     10,
     {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
    {INT64_MIN,
     10,
     {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
};

enum { ROWS = sizeof table / sizeof table[0] };

START_TEST(put_known_bytes)
{
    uint8_t out[KL_BASE_VARINT_MAX + 1];
    size_t i;

    for (i = 0; i < ROWS; i++) {
        uint8_t *end;

        memset(out, 0xee, sizeof out);
        end = kl_base_varint_put(out, table[i].value);
        ck_assert_uint_eq((size_t)(end - out), table[i].size);
        ck_assert_mem_eq(out, table[i].bytes, table[i].size);
        ck_assert_int_eq(*end, 0xee);
        ck_assert_uint_eq(kl_base_varint_size(table[i].value), table[i].size);
    }
}
END_TEST

START_TEST(get_known_bytes)
{
    size_t i;

    for (i = 0; i < ROWS; i++) {
        const uint8_t *p = table[i].bytes;
        int64_t v = 12345;

        ck_assert_ptr_eq(kl_base_varint_get(p, p + table[i].size, &v),
                         p + table[i].size);
        ck_assert_int_eq(v, table[i].value);
    }
}
END_TEST

START_TEST(get_cut_short)
{
    size_t i, size;

    for (i = 0; i < ROWS; i++) {
        for (size = 0; size < table[i].size; size++) {
            const uint8_t *p = table[i].bytes;
            int64_t v;

            ck_assert_ptr_null(kl_base_varint_get(p, p + size, &v));
        }
    }
}
END_TEST

START_TEST(get_too_long)
{
    uint8_t bytes[16];
    int64_t v;

    memset(bytes, 0x80, sizeof bytes);
    bytes[15] = 0;
    ck_assert_ptr_null(kl_base_varint_get(bytes, bytes + 16, &v));
    /* Ten bytes are the most: the eleventh would be next. */
    bytes[9] = 0;
    ck_assert_ptr_eq(kl_base_varint_get(bytes, bytes + 16, &v), bytes + 10);
    ck_assert_int_eq(v, 0);
}
END_TEST

START_TEST(size_agrees_with_put)
{
    int bit;

    for (bit = 0; bit < 64; bit++) {
        int64_t v = (int64_t)(UINT64_C(1) << bit), delta;

        for (delta = -1; delta <= 1; delta++) {
            int64_t x = (int64_t)((uint64_t)v + (uint64_t)delta), back;
            uint8_t out[KL_BASE_VARINT_MAX];
            uint8_t *end = kl_base_varint_put(out, x);

            ck_assert_uint_eq((size_t)(end - out), kl_base_varint_size(x));
            ck_assert_ptr_eq(kl_base_varint_get(out, end, &back), end);
            ck_assert_int_eq(back, x);
        }
    }
}
END_TEST

Suite *suite_base_varint(void);

Suite *suite_base_varint(void)
{
    Suite *suite = suite_create("base_varint");
    TCase *tc = tcase_create("varint");

    tcase_add_test(tc, put_known_bytes);
    tcase_add_test(tc, get_known_bytes);
    tcase_add_test(tc, get_cut_short);
    tcase_add_test(tc, get_too_long);
    tcase_add_test(tc, size_agrees_with_put);
    suite_add_tcase(suite, tc);
    return suite;
}
