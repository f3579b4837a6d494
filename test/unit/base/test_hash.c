/*
 * Hashes against published values.
 */
#include "base/hash.h"

#include <check.h>
#include <string.h>

/* What every implementation of XXH3 gives for these. */
START_TEST(hash_known_values)
{
    ck_assert_uint_eq(kl_base_hash("", 0, 0), 0x2d06800538d394c2u);
    ck_assert_uint_eq(kl_base_hash("a", 1, 0), 0xe6c632b61e964e1fu);
    ck_assert_uint_eq(kl_base_hash("abc", 3, 0), 0x78af5f94892f3950u);
}
END_TEST

START_TEST(hash_depends_on_seed_and_size)
{
    unsigned char data[1024];
    size_t size;

    memset(data, 0, sizeof data);
    for (size = 1; size < sizeof data; size++) {
        uint64_t h = kl_base_hash(data, size, 0);

        ck_assert_uint_ne(h, kl_base_hash(data, size, 1));
        ck_assert_uint_ne(h, kl_base_hash(data, size - 1, 0));
        data[size - 1] ^= 1;
        ck_assert_uint_ne(h, kl_base_hash(data, size, 0));
        data[size - 1] ^= 1;
    }
}
END_TEST

/* Kafka's UtilsTest.testMurmur2. */
START_TEST(murmur2_as_kafka)
{
    static const struct
    {
        const char *text;
        int32_t hash;
    } table[] = {
        {"21", -973932308},
        {"foobar", -790332482},
        {"a-little-bit-long-string", -985981536},
        {"a-little-bit-longer-string", -1486304829},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
        {"abc", 479470107},
    };
    size_t i;

    for (i = 0; i < sizeof table / sizeof table[0]; i++) {
        ck_assert_int_eq(kl_base_murmur2(table[i].text, strlen(table[i].text)),
                         table[i].hash);
    }
}
END_TEST

START_TEST(murmur2_is_independent_of_alignment)
{
    char copy[40];
    size_t shift;

    for (shift = 0; shift < 8; shift++) {
        memcpy(copy + shift, "a-little-bit-longer-string", 26);
        ck_assert_int_eq(kl_base_murmur2(copy + shift, 26), -1486304829);
    }
}
END_TEST

Suite *suite_base_hash(void);

Suite *suite_base_hash(void)
{
    Suite *suite = suite_create("base_hash");
    TCase *tc = tcase_create("hash");

    tcase_add_test(tc, hash_known_values);
    tcase_add_test(tc, hash_depends_on_seed_and_size);
    tcase_add_test(tc, murmur2_as_kafka);
    tcase_add_test(tc, murmur2_is_independent_of_alignment);
    suite_add_tcase(suite, tc);
    return suite;
}
