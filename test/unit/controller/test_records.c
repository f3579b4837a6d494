/*
 * The list of encoded records.
 */
#include "controller/state.h"

#include "fail_alloc.h"

#include <check.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_controller_records records;
static struct kl_base_error error;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_controller_records_init(&records, &memory.alloc);
}

static void tear_down(void)
{
    kl_controller_records_deinit(&records);
    fail_alloc_deinit(&memory);
}

static struct kl_wire_record removal(uint8_t first)
{
    struct kl_wire_record r = {.type = KL_WIRE_REMOVE_TOPIC_RECORD};

    r.remove_topic.topic_id.bytes[0] = first;
    return r;
}

START_TEST(next_gives_payloads_in_order)
{
    const uint8_t *data;
    size_t pos = 0, size;

    ck_assert_int_eq(kl_controller_records_next(&records, &pos, &data, &size),
                     0);
    for (uint8_t i = 1; i <= 10; i++) {
        struct kl_wire_record r = removal(i);

        ck_assert_int_eq(
            kl_controller_records_add(&records, &r, SIZE_MAX, &error), 0);
    }
    ck_assert_uint_eq(records.count, 10);
    for (uint8_t i = 1; i <= 10; i++) {
        ck_assert_int_eq(
            kl_controller_records_next(&records, &pos, &data, &size), 1);
        ck_assert_uint_eq(size, 20);
        ck_assert_uint_eq(data[4], i);
    }
    ck_assert_int_eq(kl_controller_records_next(&records, &pos, &data, &size),
                     0);
}
END_TEST

START_TEST(add_charges_every_record)
{
    struct kl_wire_record r = removal(1);
    size_t one = 20 + KL_CONTROLLER_RECORD_OVERHEAD;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            kl_controller_records_add(&records, &r, 3 * one, &error), 0);
    ck_assert_int_eq(
        kl_controller_records_add(&records, &r, 4 * one - 1, &error),
        KL_ERECORDSIZE);
    ck_assert_int_eq(error.code, KL_ERECORDSIZE);
    ck_assert_uint_eq(records.count, 0);
    ck_assert_uint_eq(records.buf.size, 0);
}
END_TEST

START_TEST(add_refuses_invalid)
{
    struct kl_wire_record r = removal(1);

    ck_assert_int_eq(kl_controller_records_add(&records, &r, SIZE_MAX, &error),
                     0);
    r = removal(0);
    ck_assert_int_eq(kl_controller_records_add(&records, &r, SIZE_MAX, &error),
                     KL_EINVAL);
    ck_assert_uint_eq(records.count, 0);
    ck_assert_uint_eq(records.buf.size, 0);
}
END_TEST

START_TEST(add_without_memory)
{
    struct kl_wire_record r = removal(1);

    memory.fail_after = 1;
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_controller_records_add(&records, &r, SIZE_MAX, &error),
                     KL_ENOMEM);
    ck_assert_uint_eq(records.count, 0);
    fail_alloc_arm(&memory, 0);
    ck_assert_int_eq(kl_controller_records_add(&records, &r, SIZE_MAX, &error),
                     0);
    /* The next growth fails between two records. */
    fail_alloc_arm(&memory, 1);
    while (kl_controller_records_add(&records, &r, SIZE_MAX, &error) == 0)
        ck_assert_uint_lt(records.count, 1000);
    ck_assert_int_eq(error.code, KL_ENOMEM);
    ck_assert_uint_eq(records.count, 0);
    ck_assert_int_eq(records.buf.error, 0);
}
END_TEST

Suite *suite_controller_records(void);
Suite *suite_controller_records(void)
{
    Suite *s = suite_create("controller_records");
    TCase *t = tcase_create("records");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, next_gives_payloads_in_order);
    tcase_add_test(t, add_charges_every_record);
    tcase_add_test(t, add_refuses_invalid);
    tcase_add_test(t, add_without_memory);
    suite_add_tcase(s, t);
    return s;
}
