/*
 * One partition: copying a record and back, and the rules of its lists.
 */
#include "controller/state.h"

#include "fail_alloc.h"

#include <check.h>
#include <string.h>

static struct fail_alloc memory;
static uint8_t bytes[KL_CONTROLLER_IDS_BYTES];
static size_t used;

static void set_up(void)
{
    fail_alloc_init(&memory);
    used = 0;
}

static void tear_down(void)
{
    fail_alloc_deinit(&memory);
}

/* A list from digits: "124" are brokers 1, 2 and 4; "-" is broker -1. */
static struct kl_wire_i32s list(const char *digits)
{
    struct kl_wire_i32s a = {bytes + used, (uint32_t)strlen(digits)};

    for (; *digits; digits++, used += 4)
        kl_base_put_le32(bytes + used, *digits == '-'
                                           ? UINT32_MAX
                                           : (uint32_t)(*digits - '0'));
    return a;
}

struct rule
{
    const char *replicas, *isr, *elr, *last, *adding, *removing;
    int32_t leader;
    int legal;
    int32_t last_leader;
    int32_t flags;
};

static struct kl_wire_partition_record record(const struct rule *rule)
{
    struct kl_wire_partition_record r = {0};

    r.replicas = list(rule->replicas);
    r.isr = list(rule->isr);
    r.elr = list(rule->elr);
    r.last_known_elr = list(rule->last);
    r.adding = list(rule->adding);
    r.removing = list(rule->removing);
    r.leader = rule->leader;
    r.last_known_leader = rule->last_leader;
    r.leader_epoch = 11;
    r.partition_epoch = 12;
    r.flags = rule->flags;
    return r;
}

static const struct rule rules[] = {
    {"1", "1", "", "", "", "", 1, 1, -1, 0},
    {"123", "31", "2", "", "", "", 3, 1, -1, 0},
    {"123", "", "2", "13", "", "", -1, 1, 1, 0},
    {"123", "", "", "", "", "", -1, 1, -1, 0},
    {"1234", "12", "", "", "4", "1", 1, 1, -1, 0},
    {"12", "2", "", "", "", "", 2, 1, -1, 1},
    {"12", "", "2", "", "", "", -1, 1, 2, 1},
    {"", "", "", "", "", "", -1, 0, -1, 0},
    {"11", "1", "", "", "", "", 1, 0, -1, 0},
    {"1-", "1", "", "", "", "", 1, 0, -1, 0},
    {"12", "3", "", "", "", "", -1, 0, -1, 0},
    {"12", "11", "", "", "", "", 1, 0, -1, 0},
    {"12", "1", "3", "", "", "", 1, 0, -1, 0},
    {"12", "1", "22", "", "", "", 1, 0, -1, 0},
    {"12", "1", "", "3", "", "", 1, 0, -1, 0},
    {"12", "1", "", "", "3", "", 1, 0, -1, 0},
    {"12", "1", "", "", "", "3", 1, 0, -1, 0},
    {"12", "1", "1", "", "", "", 1, 0, -1, 0},
    {"12", "1", "", "1", "", "", 1, 0, -1, 0},
    {"12", "1", "2", "2", "", "", 1, 0, -1, 0},
    {"12", "1", "", "", "2", "2", 1, 0, -1, 0},
    {"12", "1", "", "", "12", "", 1, 0, -1, 0},
    {"12", "1", "", "", "", "12", 1, 0, -1, 0},
    {"12", "1", "", "", "", "", 2, 0, -1, 0},
    {"12", "", "1", "", "", "", 1, 0, -1, 0},
    {"12", "1", "", "", "", "", -1, 0, -1, 0},
    {"12", "1", "", "", "", "", 1, 0, 1, 0},
    {"12", "", "1", "", "", "", -1, 0, 3, 0},
    {"12", "12", "", "", "", "", 1, 0, -1, 1},
};

START_TEST(check_rules)
{
    struct kl_wire_partition_record r = record(&rules[_i]);
    struct kl_controller_partition *p =
        kl_controller_partition_new(&memory.alloc, &r);

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(kl_controller_partition_check(p) == NULL, rules[_i].legal);
    kl_controller_partition_free(&memory.alloc, p);
}
END_TEST

/* Every list of the partition is that of the record, and so is what comes
 * back. */
static void copied(const struct rule *rule)
{
    static uint8_t scratch[KL_CONTROLLER_IDS_BYTES];
    struct kl_wire_partition_record r = record(rule), back;
    struct kl_controller_partition *p =
        kl_controller_partition_new(&memory.alloc, &r);

    ck_assert_ptr_nonnull(p);
    for (int i = 0; i < KL_CONTROLLER_LISTS; i++) {
        const struct kl_wire_i32s *want =
            kl_controller_partition_wire_list(&r, i);
        size_t count;
        const int32_t *ids = kl_controller_partition_list(p, i, &count);

        ck_assert_uint_eq(count, want->count);
        for (uint32_t j = 0; j < count; j++)
            ck_assert_int_eq(ids[j], kl_wire_i32s_get(want, j));
    }
    kl_controller_partition_record(p, scratch, &back);
    ck_assert_mem_eq(scratch, bytes, used);
    for (int i = 0; i < KL_CONTROLLER_LISTS; i++)
        ck_assert_uint_eq(kl_controller_partition_wire_list(&back, i)->count,
                          kl_controller_partition_wire_list(&r, i)->count);
    ck_assert_int_eq(back.leader, rule->leader);
    ck_assert_int_eq(back.last_known_leader, rule->last_leader);
    ck_assert_int_eq(back.leader_epoch, 11);
    ck_assert_int_eq(back.partition_epoch, 12);
    ck_assert_int_eq(back.flags, rule->flags);
    kl_controller_partition_free(&memory.alloc, p);
    used = 0;
}

START_TEST(record_is_what_was_copied)
{
    static const struct rule all[] = {
        {"12345", "23", "1", "4", "5", "12", 2, 1, 3, 1},
        /* The ISR is stored once where it is the replicas in their order. */
        {"123", "123", "", "", "", "", 2, 1, -1, 0},
        {"123", "123", "1", "2", "3", "12", 2, 1, -1, 0},
        {"123", "132", "1", "2", "3", "12", 2, 1, -1, 0},
        {"123", "12", "1", "2", "3", "12", 2, 1, -1, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        copied(&all[i]);
}
END_TEST

START_TEST(partition_that_is_in_sync_is_small)
{
    static const struct rule rule = {"123", "123", "", "", "", "", 1, 1, -1, 0};
    struct kl_wire_partition_record r = record(&rule);
    struct kl_controller_partition *p =
        kl_controller_partition_new(&memory.alloc, &r);

    ck_assert_uint_le(memory.live_bytes, 40);
    kl_controller_partition_free(&memory.alloc, p);
}
END_TEST

START_TEST(new_largest_lists)
{
    struct kl_wire_partition_record r = {0};
    static uint8_t scratch[KL_CONTROLLER_IDS_BYTES];
    struct kl_controller_partition *p;

    for (uint32_t i = 0; i < KL_WIRE_REPLICAS_MAX; i++)
        kl_base_put_le32(bytes + 4 * i, i);
    r.replicas = (struct kl_wire_i32s){bytes, KL_WIRE_REPLICAS_MAX};
    r.isr = r.elr = r.last_known_elr = r.replicas;
    r.adding = r.removing = r.replicas;
    p = kl_controller_partition_new(&memory.alloc, &r);
    ck_assert_ptr_nonnull(p);
    kl_controller_partition_record(p, scratch, &r);
    ck_assert_uint_eq(kl_wire_i32s_get(&r.removing, KL_WIRE_REPLICAS_MAX - 1),
                      KL_WIRE_REPLICAS_MAX - 1);
    kl_controller_partition_free(&memory.alloc, p);
}
END_TEST

START_TEST(new_without_memory)
{
    struct kl_wire_partition_record r = record(&rules[1]);

    fail_alloc_arm(&memory, 1);
    ck_assert_ptr_null(kl_controller_partition_new(&memory.alloc, &r));
}
END_TEST

Suite *suite_controller_partition(void);
Suite *suite_controller_partition(void)
{
    Suite *s = suite_create("controller_partition");
    TCase *t = tcase_create("partition");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, check_rules, 0, sizeof rules / sizeof rules[0]);
    tcase_add_test(t, record_is_what_was_copied);
    tcase_add_test(t, partition_that_is_in_sync_is_small);
    tcase_add_test(t, new_largest_lists);
    tcase_add_test(t, new_without_memory);
    suite_add_tcase(s, t);
    return s;
}
