/*
 * The bounded reader, and the loads and stores it stands on.
 */
#include "base/cursor.h"

#include "base/endian.h"

#include <check.h>
#include <string.h>

static const uint8_t bytes[] = {1, 2,  3,  4,  5,  6,  7, 8,
                                9, 10, 11, 12, 13, 14, 15};

START_TEST(get_in_order)
{
    struct kl_base_cursor c;

    kl_base_cursor_init(&c, bytes, sizeof bytes);
    ck_assert_uint_eq(kl_base_cursor_get8(&c), 1);
    ck_assert_uint_eq(kl_base_cursor_get_le16(&c), 0x0302);
    ck_assert_uint_eq(kl_base_cursor_get_le32(&c), 0x07060504);
    ck_assert_uint_eq(kl_base_cursor_get_le64(&c), 0x0f0e0d0c0b0a0908);
    ck_assert_uint_eq(c.pos, sizeof bytes);
    ck_assert_int_eq(c.failed, 0);
}
END_TEST

START_TEST(get_past_the_end_is_sticky)
{
    struct kl_base_cursor c;

    kl_base_cursor_init(&c, bytes, 3);
    ck_assert_uint_eq(kl_base_cursor_get_le32(&c), 0);
    ck_assert_int_eq(c.failed, 1);
    ck_assert_uint_eq(kl_base_cursor_get8(&c), 0);
    ck_assert_uint_eq(kl_base_cursor_get_le16(&c), 0);
    ck_assert_uint_eq(kl_base_cursor_get_le64(&c), 0);
    ck_assert_ptr_null(kl_base_cursor_bytes(&c, 0));
    ck_assert_uint_eq(c.pos, 0);
}
END_TEST

START_TEST(bytes_are_borrowed)
{
    struct kl_base_cursor c;

    kl_base_cursor_init(&c, bytes, sizeof bytes);
    ck_assert_ptr_eq(kl_base_cursor_bytes(&c, 5), bytes);
    ck_assert_ptr_eq(kl_base_cursor_bytes(&c, 10), bytes + 5);
    ck_assert_ptr_eq(kl_base_cursor_bytes(&c, 0), bytes + 15);
    ck_assert_int_eq(c.failed, 0);
    ck_assert_ptr_null(kl_base_cursor_bytes(&c, SIZE_MAX));
    ck_assert_int_eq(c.failed, 1);
}
END_TEST

START_TEST(endian_both_orders_at_any_alignment)
{
    uint8_t out[16];
    size_t shift;

    for (shift = 0; shift < 8; shift++) {
        kl_base_put_be64(out + shift, 0x0102030405060708);
        ck_assert_mem_eq(out + shift, bytes, 8);
        ck_assert_uint_eq(kl_base_get_be64(out + shift), 0x0102030405060708);
        ck_assert_uint_eq(kl_base_get_le64(out + shift), 0x0807060504030201);
        kl_base_put_be32(out + shift, 0x01020304);
        ck_assert_mem_eq(out + shift, bytes, 4);
        ck_assert_uint_eq(kl_base_get_be32(out + shift), 0x01020304);
        kl_base_put_be16(out + shift, 0x0102);
        ck_assert_mem_eq(out + shift, bytes, 2);
        ck_assert_uint_eq(kl_base_get_be16(out + shift), 0x0102);
        kl_base_put_le16(out + shift, 0x0201);
        ck_assert_mem_eq(out + shift, bytes, 2);
        kl_base_put_le32(out + shift, 0x04030201);
        ck_assert_mem_eq(out + shift, bytes, 4);
    }
}
END_TEST

Suite *suite_base_cursor(void);

Suite *suite_base_cursor(void)
{
    Suite *suite = suite_create("base_cursor");
    TCase *tc = tcase_create("cursor");

    tcase_add_test(tc, get_in_order);
    tcase_add_test(tc, get_past_the_end_is_sticky);
    tcase_add_test(tc, bytes_are_borrowed);
    tcase_add_test(tc, endian_both_orders_at_any_alignment);
    suite_add_tcase(suite, tc);
    return suite;
}
