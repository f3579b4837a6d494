/*
 * Which brokers get replicas.
 */
#include "controller/state.h"

#include <check.h>
#include <string.h>

enum { MANY = 12 };

static struct kl_controller_candidate all[MANY];
static size_t count;
static struct kl_base_rng rng;
static int32_t out[KL_WIRE_REPLICAS_MAX];

static void set_up(void)
{
    memset(all, 0, sizeof all);
    count = 0;
    kl_base_rng_seed(&rng, 17);
}

/* Brokers from 0 on: a letter for the rack of each, upper case = active. */
static void brokers(const char *racks)
{
    for (count = 0; racks[count]; count++)
        all[count] = (struct kl_controller_candidate){
            .broker_id = (int32_t)count,
            .rack = (uint32_t)(racks[count] & 31),
            .active = racks[count] < 'a'};
}

static int place(uint32_t replicas)
{
    return kl_controller_place(all, count, &rng, out, 0, replicas);
}

static void no_duplicates(uint32_t replicas)
{
    for (uint32_t i = 0; i < replicas; i++)
        for (uint32_t j = 0; j < i; j++)
            ck_assert_int_ne(out[i], out[j]);
}

START_TEST(place_all)
{
    brokers("ABC");
    ck_assert_int_eq(place(3), 0);
    no_duplicates(3);
    ck_assert_int_eq(place(4), KL_EREPLICATION);
    ck_assert_int_eq(place(1), 0);
}
END_TEST

START_TEST(place_needs_a_leader)
{
    brokers("aBc");
    ck_assert_int_eq(place(3), 0);
    ck_assert_int_eq(out[0], 1);
    brokers("abc");
    ck_assert_int_eq(place(1), KL_EREPLICATION);
    brokers("");
    ck_assert_int_eq(place(1), KL_EREPLICATION);
}
END_TEST

/* Within one, whatever the number of partitions: replicas and leaders. */
START_TEST(place_balances)
{
    static const char *const racks[] = {"ABCDE", "AABBCC", "AAAA", "ABCDEFG"};

    brokers(racks[_i]);
    for (int n = 1; n <= 500; n++) {
        uint32_t low = UINT32_MAX, high = 0, leads = 0;

        ck_assert_int_eq(place(3), 0);
        no_duplicates(3);
        for (size_t i = 0; i < count; i++) {
            low = all[i].replicas < low ? all[i].replicas : low;
            high = all[i].replicas > high ? all[i].replicas : high;
            leads = all[i].leaders > leads ? all[i].leaders : leads;
        }
        ck_assert_uint_le(high - low, 2);
        ck_assert_uint_le(leads, (uint32_t)n / (uint32_t)count + 1);
    }
}
END_TEST

/* Every partition is in as many racks as there are. */
START_TEST(place_spreads_over_racks)
{
    brokers("AAABBCBBA");
    for (int n = 0; n < 200; n++) {
        ck_assert_int_eq(place(3), 0);
        ck_assert_uint_ne(all[out[0]].rack, all[out[1]].rack);
        ck_assert_uint_ne(all[out[0]].rack, all[out[2]].rack);
        ck_assert_uint_ne(all[out[1]].rack, all[out[2]].rack);
    }
    brokers("AAAABB");
    for (int n = 0; n < 200; n++) {
        uint32_t in_a = 0;

        ck_assert_int_eq(place(4), 0);
        for (int i = 0; i < 4; i++)
            in_a += all[out[i]].rack == ('A' & 31);
        ck_assert_uint_eq(in_a, 2);
    }
}
END_TEST

START_TEST(place_prefers_active)
{
    brokers("ABcD");
    for (int n = 0; n < 50; n++) {
        ck_assert_int_eq(place(3), 0);
        for (int i = 0; i < 3; i++)
            ck_assert_int_ne(out[i], 2);
    }
    ck_assert_int_eq(place(4), 0);
    ck_assert_int_eq(out[3], 2);
}
END_TEST

/* Partitions of one broker are shared with all the others, not always with the
 * same two. */
START_TEST(place_mixes)
{
    uint32_t together[6][6] = {{0}};

    brokers("ABCDEF");
    for (int n = 0; n < 600; n++) {
        ck_assert_int_eq(place(3), 0);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                together[out[i]][out[j]]++;
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            ck_assert_uint_gt(together[i][j], 40);
}
END_TEST

START_TEST(place_keeps)
{
    brokers("ABCDE");
    for (int n = 0; n < 50; n++) {
        out[0] = 4;
        out[1] = 2;
        ck_assert_int_eq(kl_controller_place(all, count, &rng, out, 2, 4), 0);
        ck_assert_int_eq(out[0], 4);
        ck_assert_int_eq(out[1], 2);
        no_duplicates(4);
    }
    ck_assert_uint_eq(all[4].leaders, 0);
}
END_TEST

START_TEST(place_by_seed)
{
    int32_t first[100][3];
    int differs = 0;

    for (int round = 0; round < 3; round++) {
        brokers("ABCDEFGH");
        kl_base_rng_seed(&rng, round == 2);
        for (int n = 0; n < 100; n++) {
            ck_assert_int_eq(place(3), 0);
            if (round == 0)
                memcpy(first[n], out, sizeof first[n]);
            else if (round == 1)
                ck_assert_mem_eq(first[n], out, sizeof first[n]);
            else
                differs |= memcmp(first[n], out, sizeof first[n]) != 0;
        }
    }
    ck_assert_int_eq(differs, 1);
}
END_TEST

Suite *suite_controller_placement(void);
Suite *suite_controller_placement(void)
{
    Suite *s = suite_create("controller_placement");
    TCase *t = tcase_create("placement");

    tcase_add_checked_fixture(t, set_up, NULL);
    tcase_add_test(t, place_all);
    tcase_add_test(t, place_needs_a_leader);
    tcase_add_loop_test(t, place_balances, 0, 4);
    tcase_add_test(t, place_spreads_over_racks);
    tcase_add_test(t, place_prefers_active);
    tcase_add_test(t, place_mixes);
    tcase_add_test(t, place_keeps);
    tcase_add_test(t, place_by_seed);
    suite_add_tcase(s, t);
    return s;
}
