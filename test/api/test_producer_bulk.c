/*
 * Bulk sends: arrays in, arrays of partitions and offsets out.
 */
#include "pubsub_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct help_node h;

/* ---- bulk -------------------------------------------------------------- */

enum { BULK = 3000 };

struct bulk
{
    const void *values[BULK];
    uint64_t sizes[BULK];
    int64_t timestamps[BULK];
    char texts[BULK][32];
};

static struct bulk *bulk_make(void)
{
    struct bulk *b = calloc(1, sizeof *b);
    int i;

    ck_assert_ptr_nonnull(b);
    for (i = 0; i < BULK; i++) {
        snprintf(b->texts[i], sizeof b->texts[i], "bulk-%d", i);
        b->values[i] = b->texts[i];
        b->sizes[i] = strlen(b->texts[i]);
        b->timestamps[i] = 1000 + i;
    }
    return b;
}

START_TEST(send_bulk_one_partition)
{
    struct bulk *b = bulk_make();
    kl_producer *p;
    const int32_t *partitions;
    const int64_t *offsets;
    size_t accepted;
    size_t count;
    kl_op *op;
    int i;

    help_open(&h, _i);
    help_topic(&h, "t", 2, NULL);
    p = help_producer(&h, NULL);
    ck_assert_int_eq(kl_producer_send_bulk(p, "t", 1, NULL, NULL, b->values,
                                           b->sizes, b->timestamps, BULK, 0,
                                           &accepted, &op),
                     KL_OK);
    ck_assert_uint_eq(accepted, BULK);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_op_code(op), KL_OK);
    ck_assert_int_eq(kl_op_partitions(op, &partitions, &count), KL_OK);
    ck_assert_uint_eq(count, BULK);
    ck_assert_int_eq(kl_op_offsets(op, &offsets, &count), KL_OK);
    ck_assert_uint_eq(count, BULK);
    for (i = 0; i < BULK; i++) {
        ck_assert_int_eq(partitions[i], 1);
        ck_assert_int_eq(offsets[i], i);
    }
    kl_op_free(op);
    help_check_values(&h, "t", 1, "bulk", BULK);
    kl_producer_free(p);
    help_close(&h);
    free(b);
}
END_TEST

START_TEST(send_bulk_by_key)
{
    struct bulk *b = bulk_make();
    const int32_t *partitions;
    const int64_t *offsets;
    int64_t next[5] = {0};
    kl_producer *p;
    size_t count;
    kl_op *op;
    int i;

    help_open(&h, _i);
    help_topic(&h, "t", 5, NULL);
    p = help_producer(&h, NULL);
    b->values[7] = NULL;
    ck_assert_int_eq(kl_producer_send_bulk(p, "t", KL_PARTITION_ANY, b->values,
                                           b->sizes, NULL, NULL, NULL, BULK, 0,
                                           NULL, &op),
                     KL_OK);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
    ck_assert_int_eq(kl_op_code(op), KL_OK);
    ck_assert_int_eq(kl_op_partitions(op, &partitions, &count), KL_OK);
    ck_assert_int_eq(kl_op_offsets(op, &offsets, &count), KL_OK);
    ck_assert_uint_eq(count, BULK);
    for (i = 0; i < BULK; i++) {
        ck_assert_int_ge(partitions[i], 0);
        ck_assert_int_lt(partitions[i], 5);
        ck_assert_int_eq(offsets[i], next[partitions[i]]);
        next[partitions[i]]++;
    }
    for (i = 0; i < 5; i++)
        ck_assert_int_gt(next[i], BULK / 10);
    kl_op_free(op);
    kl_producer_free(p);
    help_close(&h);
    free(b);
}
END_TEST

START_TEST(send_bulk_accepts_a_part)
{
    static const char *const tight[] = {"buffer.memory", "64k", NULL};
    struct bulk *b = bulk_make();
    size_t accepted = 0;
    size_t sum = 0;
    kl_producer *p;
    int turns = 0;

    help_open(&h, 0);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, tight);
    while (sum < BULK) {
        const int64_t *offsets;
        size_t count;
        kl_op *op;
        int rc = kl_producer_send_bulk(p, "t", 0, NULL, NULL, b->values + sum,
                                       b->sizes + sum, NULL, BULK - sum, 0,
                                       &accepted, &op);

        turns++;
        ck_assert(rc == KL_OK || rc == KL_EAGAIN);
        ck_assert_int_eq(rc == KL_OK, accepted == BULK - sum);
        if (accepted == 0) {
            ck_assert_ptr_null(op);
            ck_assert_int_eq(kl_producer_wait(p, HELP_WAIT_MS), KL_OK);
            continue;
        }
        ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), KL_OK);
        ck_assert_int_eq(kl_op_code(op), KL_OK);
        ck_assert_int_eq(kl_op_offsets(op, &offsets, &count), KL_OK);
        ck_assert_uint_eq(count, accepted);
        ck_assert_int_eq(offsets[0], (int64_t)sum);
        ck_assert_int_eq(offsets[count - 1], (int64_t)(sum + count - 1));
        kl_op_free(op);
        sum += accepted;
    }
    ck_assert_int_gt(turns, 1);
    help_check_values(&h, "t", 0, "bulk", BULK);
    kl_producer_free(p);
    help_close(&h);
    free(b);
}
END_TEST

START_TEST(send_bulk_stops_at_a_bad_row)
{
    struct bulk *b = bulk_make();
    size_t accepted;
    kl_producer *p;
    kl_op *op;

    help_open(&h, _i);
    help_topic(&h, "t", 1, NULL);
    p = help_producer(&h, NULL);
    b->timestamps[10] = -5;
    ck_assert_int_eq(kl_producer_send_bulk(p, "t", 0, NULL, NULL, b->values,
                                           b->sizes, b->timestamps, BULK, 0,
                                           &accepted, &op),
                     KL_EINVAL);
    ck_assert_uint_eq(accepted, 10);
    ck_assert_int_eq(help_finish(op), KL_OK);
    b->sizes[0] = UINT64_MAX;
    ck_assert_int_eq(kl_producer_send_bulk(p, "t", 0, NULL, NULL, b->values,
                                           b->sizes, NULL, BULK, 0, &accepted,
                                           &op),
                     KL_ERECORDSIZE);
    ck_assert_uint_eq(accepted, 0);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_producer_send_bulk(p, "t", 0, NULL, NULL, NULL, NULL,
                                           NULL, 0, 0, &accepted, &op),
                     KL_OK);
    ck_assert_ptr_null(op);
    ck_assert_int_eq(kl_producer_send_bulk(p, "no", 0, NULL, NULL, NULL, NULL,
                                           NULL, 1, 0, &accepted, NULL),
                     KL_ENOTOPIC);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
    help_close(&h);
    free(b);
}
END_TEST

Suite *suite_api_producer_bulk(void);

Suite *suite_api_producer_bulk(void)
{
    Suite *suite = suite_create("api_producer_bulk");
    TCase *tc = tcase_create("producer_bulk");

    tcase_add_loop_test(tc, send_bulk_one_partition, 0, 2);
    tcase_add_loop_test(tc, send_bulk_by_key, 0, 2);
    tcase_add_test(tc, send_bulk_accepts_a_part);
    tcase_add_loop_test(tc, send_bulk_stops_at_a_bad_row, 0, 2);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite;
}
