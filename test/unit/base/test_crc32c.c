/*
 * CRC-32C against RFC 3720 and against a bit-by-bit computation.
 */
#include "base/hash.h"

#include "base/rng.h"

#include <check.h>
#include <string.h>

START_TEST(crc32c_known_values)
{
    uint8_t data[32];
    size_t i;

    ck_assert_uint_eq(kl_base_crc32c("", 0), 0);
    ck_assert_uint_eq(kl_base_crc32c("123456789", 9), 0xe3069283u);
    memset(data, 0, sizeof data);
    ck_assert_uint_eq(kl_base_crc32c(data, 32), 0x8a9136aau);
    memset(data, 0xff, sizeof data);
    ck_assert_uint_eq(kl_base_crc32c(data, 32), 0x62a8ab43u);
    for (i = 0; i < 32; i++)
        data[i] = (uint8_t)i;
    ck_assert_uint_eq(kl_base_crc32c(data, 32), 0x46dd794eu);
}
END_TEST

/* The definition, one bit at a time. */
static uint32_t crc_by_bits(const uint8_t *p, size_t size)
{
    uint32_t crc = ~0u;
    int bit;

    for (; size; size--) {
        crc ^= *p++;
        for (bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

START_TEST(crc32c_every_size_and_alignment)
{
    struct kl_base_rng rng;
    uint8_t data[128];
    size_t size, shift;

    kl_base_rng_seed(&rng, 7);
    for (size = 0; size < sizeof data; size++)
        data[size] = (uint8_t)kl_base_rng_next(&rng);
    for (shift = 0; shift < 9; shift++) {
        for (size = 0; shift + size <= sizeof data; size++) {
            ck_assert_uint_eq(kl_base_crc32c(data + shift, size),
                              crc_by_bits(data + shift, size));
        }
    }
}
END_TEST

Suite *suite_base_crc32c(void);

Suite *suite_base_crc32c(void)
{
    Suite *suite = suite_create("base_crc32c");
    TCase *tc = tcase_create("crc32c");

    tcase_add_test(tc, crc32c_known_values);
    tcase_add_test(tc, crc32c_every_size_and_alignment);
    suite_add_tcase(suite, tc);
    return suite;
}
