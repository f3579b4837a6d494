/*
 * Identifiers.
 */
#include "base/uuid.h"

#include "base/rng.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

START_TEST(random_has_version_and_differs)
{
    struct kl_base_rng rng;
    struct kl_base_uuid a, b;
    int i;

    kl_base_rng_seed(&rng, 1);
    for (i = 0; i < 1000; i++) {
        a = kl_base_uuid_random(&rng);
        b = kl_base_uuid_random(&rng);
        ck_assert_int_eq(a.bytes[6] >> 4, 4);
        ck_assert_int_eq(a.bytes[8] >> 6, 2);
        ck_assert(!kl_base_uuid_equal(&a, &b));
        ck_assert(!kl_base_uuid_is_zero(&a));
    }
}
END_TEST

START_TEST(equal_looks_at_every_byte)
{
    struct kl_base_uuid a, b;
    size_t i;

    memset(&a, 0, sizeof a);
    ck_assert(kl_base_uuid_is_zero(&a));
    for (i = 0; i < sizeof a.bytes; i++) {
        b = a;
        b.bytes[i] = 1;
        ck_assert(!kl_base_uuid_equal(&a, &b));
        ck_assert(!kl_base_uuid_is_zero(&b));
    }
    b = a;
    ck_assert(kl_base_uuid_equal(&a, &b));
}
END_TEST

START_TEST(parse_takes_back_format)
{
    const char *text = "00112233445566778899aabbccddeeff";
    char out[KL_BASE_UUID_TEXT + 1];
    struct kl_base_uuid id;

    ck_assert_int_eq(kl_base_uuid_parse(text, &id), 0);
    ck_assert_int_eq(id.bytes[0], 0);
    ck_assert_int_eq(id.bytes[1], 0x11);
    ck_assert_int_eq(id.bytes[15], 0xff);
    kl_base_uuid_format(&id, out);
    ck_assert_str_eq(out, text);
    ck_assert_int_eq(
        kl_base_uuid_parse("00112233445566778899AABBCCDDEEFF!", &id), 0);
    kl_base_uuid_format(&id, out);
    ck_assert_str_eq(out, text);
}
END_TEST

START_TEST(parse_refuses_and_keeps)
{
    static const char *const bad[] = {"",
                                      "0",
                                      "00112233445566778899aabbccddeef",
                                      "00112233445566778899aabbccddeefg",
                                      "0011223344556677-8899aabbccddeef",
                                      " 0112233445566778899aabbccddeeff"};
    struct kl_base_uuid id, before;
    size_t i;

    memset(&id, 9, sizeof id);
    before = id;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(kl_base_uuid_parse(bad[i], &id), KL_EINVAL);
        ck_assert(kl_base_uuid_equal(&id, &before));
    }
}
END_TEST

Suite *suite_base_uuid(void);

Suite *suite_base_uuid(void)
{
    Suite *suite = suite_create("base_uuid");
    TCase *tc = tcase_create("uuid");

    tcase_add_test(tc, random_has_version_and_differs);
    tcase_add_test(tc, equal_looks_at_every_byte);
    tcase_add_test(tc, parse_takes_back_format);
    tcase_add_test(tc, parse_refuses_and_keeps);
    suite_add_tcase(suite, tc);
    return suite;
}
