/*
 * Keys land where a Kafka client puts them.
 */
#include "pubsub/pubsub.h"

#include <check.h>
#include <string.h>

/* Hashes from the tests of Kafka's own Utils.murmur2. */
static const struct
{
    const char *key;
    int32_t hash;
} vectors[] = {
    {"21", -973932308},
    {"foobar", -790332482},
    {"a-little-bit-long-string", -985981536},
    {"a-little-bit-longer-string", -1486304829},
    {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
    {"abc", 479470107},
};

START_TEST(key_partition_is_kafkas)
{
    size_t i;
    int32_t n;

    for (i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const char *key = vectors[i].key;

        for (n = 1; n < 200; n += 7) {
            int32_t want = (int32_t)(((uint32_t)vectors[i].hash & 0x7fffffffu) %
                                     (uint32_t)n);

            ck_assert_int_eq(kl_pubsub_key_partition(key, strlen(key), n),
                             want);
        }
    }
}
END_TEST

START_TEST(key_partition_of_an_empty_key)
{
    int32_t p = kl_pubsub_key_partition("", 0, 10);

    ck_assert_int_ge(p, 0);
    ck_assert_int_lt(p, 10);
    ck_assert_int_eq(p, kl_pubsub_key_partition("x", 0, 10));
}
END_TEST

START_TEST(key_partition_spreads)
{
    int count[8] = {0};
    uint32_t i;
    int p;

    for (i = 0; i < 8000; i++)
        count[kl_pubsub_key_partition(&i, sizeof i, 8)]++;
    for (p = 0; p < 8; p++) {
        ck_assert_int_gt(count[p], 800);
        ck_assert_int_lt(count[p], 1200);
    }
}
END_TEST

Suite *suite_pubsub_partitioner(void);

Suite *suite_pubsub_partitioner(void)
{
    Suite *suite = suite_create("pubsub_partitioner");
    TCase *tc = tcase_create("partitioner");

    tcase_add_test(tc, key_partition_is_kafkas);
    tcase_add_test(tc, key_partition_of_an_empty_key);
    tcase_add_test(tc, key_partition_spreads);
    suite_add_tcase(suite, tc);
    return suite;
}
