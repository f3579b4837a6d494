/*
 * Topics in a cluster: who gets their partitions, growing, another min ISR.
 */
#include "cluster_help.h"

#include <check.h>
#include <string.h>

static struct cluster cl;

static void set_up(void)
{
    cluster_init(&cl, NULL);
    cluster_start(&cl, "1234");
}

static void tear_down(void)
{
    cluster_deinit(&cl);
}

static int create(const char *name, int32_t partitions, int32_t replication,
                  const int32_t *replicas)
{
    struct kl_controller_create command = {name, partitions, replication,
                                           NULL, 0,          replicas};
    int rc = kl_controller_create_topic(cl.f.c, &command, &cl.f.records, NULL,
                                        &cl.f.error);

    if (rc == 0)
        cluster_commit(&cl);
    else
        ck_assert_uint_eq(cl.f.records.count, 0);
    return rc;
}

static int grow(const char *name, int32_t count, const int32_t *replicas)
{
    int rc = kl_controller_create_partitions(cl.f.c, name, count, replicas,
                                             &cl.f.records, &cl.f.error);

    if (rc == 0)
        cluster_commit(&cl);
    else
        ck_assert_uint_eq(cl.f.records.count, 0);
    return rc;
}

static size_t replication(const char *name, int32_t partition)
{
    return cluster_partition(&cl, name, partition)
        ->counts[KL_CONTROLLER_REPLICAS];
}

/* How often a broker is among the replicas, and leads. */
static void count(const char *name, int32_t id, int32_t *has, int32_t *leads)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find(cl.f.c, name);

    *has = *leads = 0;
    for (int32_t i = 0; i < t->partition_count; i++) {
        *has += kl_controller_partition_has(t->partitions[i],
                                            KL_CONTROLLER_REPLICAS, id);
        *leads += t->partitions[i]->leader == id;
    }
}

START_TEST(create_spreads)
{
    ck_assert_int_eq(create("t", 8, 3, NULL), 0);
    for (int32_t id = 1; id <= 4; id++) {
        int32_t has, leads;

        count("t", id, &has, &leads);
        ck_assert_int_ge(has, 5);
        ck_assert_int_le(has, 7);
        ck_assert_int_eq(leads, 2);
    }
}
END_TEST

/* The load of other topics counts. */
START_TEST(create_evens_out)
{
    int32_t has, leads;

    cluster_topic(&cl, "a", "1 1 1 1 1 1", NULL, NULL);
    ck_assert_int_eq(create("t", 6, 2, NULL), 0);
    count("t", 1, &has, &leads);
    ck_assert_int_eq(has, 0);
    for (int32_t id = 2; id <= 4; id++) {
        count("t", id, &has, &leads);
        ck_assert_int_eq(has, 4);
        ck_assert_int_eq(leads, 2);
    }
}
END_TEST

START_TEST(create_with_default_replication)
{
    ck_assert_int_eq(create("t", 1, -1, NULL), 0);
    ck_assert_uint_eq(replication("t", 0), 3);
    cluster_deinit(&cl);
    cluster_init(&cl, NULL);
    ck_assert_int_eq(create("t", 1, -1, NULL), KL_EREPLICATION);
    cluster_start(&cl, "12");
    ck_assert_int_eq(create("t", 1, -1, NULL), 0);
    ck_assert_uint_eq(replication("t", 0), 2);
}
END_TEST

START_TEST(create_beyond_the_brokers)
{
    ck_assert_int_eq(create("t", 1, 4, NULL), 0);
    ck_assert_int_eq(create("u", 1, 5, NULL), KL_EREPLICATION);
    ck_assert_int_eq(create("u", 1, 33, NULL), KL_EREPLICATION);
    ck_assert_int_eq(create("u", 1, 0, NULL), KL_EREPLICATION);
}
END_TEST

/* Who is away gets replicas where it must, but is not in sync. */
START_TEST(create_with_brokers_away)
{
    cluster_topic(&cl, "a", "32", NULL, NULL);
    cluster_silence(&cl, "4");
    ck_assert_int_eq(create("t", 1, 3, NULL), 0);
    ck_assert(!kl_controller_partition_has(cluster_partition(&cl, "t", 0),
                                           KL_CONTROLLER_REPLICAS, 4));
    ck_assert_int_eq(create("u", 1, 4, NULL), 0);
    ck_assert_uint_eq(cluster_partition(&cl, "u", 0)->counts[KL_CONTROLLER_ISR],
                      3);
    /* Who is about to go gets nothing. */
    ck_assert_int_eq(cluster_beat(&cl, 3, 0, 1), 0);
    ck_assert_int_eq(create("v", 1, 4, NULL), KL_EREPLICATION);
    cluster_silence(&cl, "123");
    ck_assert_int_eq(create("v", 1, 1, NULL), KL_EREPLICATION);
}
END_TEST

START_TEST(create_in_racks)
{
    cluster_deinit(&cl);
    cluster_init(&cl, NULL);
    for (int32_t id = 1; id <= 6; id++) {
        struct kl_controller_registration r = cluster_registration(&cl, id);

        r.rack = id <= 2 ? "a" : id <= 5 ? "b" : NULL;
        cluster_register(&cl, &r);
        ck_assert_int_eq(cluster_beat(&cl, id, 0, 0), 0);
    }
    ck_assert_int_eq(create("t", 50, 3, NULL), 0);
    for (int32_t i = 0; i < 50; i++) {
        const struct kl_controller_partition *p =
            cluster_partition(&cl, "t", i);
        int in_a = 0, in_b = 0;

        for (int j = 0; j < 3; j++) {
            in_a += p->ids[j] <= 2;
            in_b += p->ids[j] >= 3 && p->ids[j] <= 5;
        }
        ck_assert_int_eq(in_a, 1);
        ck_assert_int_eq(in_b, 1);
    }
}
END_TEST

START_TEST(create_as_told)
{
    static const int32_t replicas[] = {3, 1, 2, 4}, twice[] = {1, 1},
                         strange[] = {1, 9};

    ck_assert_int_eq(create("t", 2, 2, replicas), 0);
    cluster_expect(&cl, "t", 0, "31 isr=31 leader=3 epochs=0/0");
    cluster_expect(&cl, "t", 1, "24 isr=24 leader=2 epochs=0/0");
    ck_assert_int_eq(create("u", 1, 2, twice), KL_EREPLICATION);
    ck_assert_int_eq(create("u", 1, 2, strange), KL_EREPLICATION);
    cluster_silence(&cl, "3");
    ck_assert_int_eq(create("u", 1, 2, replicas), 0);
    cluster_expect(&cl, "u", 0, "31 isr=1 leader=1 epochs=0/0");
    cluster_silence(&cl, "1");
    ck_assert_int_eq(create("v", 1, 2, replicas), KL_EREPLICATION);
}
END_TEST

START_TEST(create_is_deterministic)
{
    struct kl_controller_records first;

    ck_assert_int_eq(create("t", 20, 3, NULL), 0);
    kl_controller_records_init(&first, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &first), 0);
    tear_down();
    set_up();
    ck_assert_int_eq(create("t", 20, 3, NULL), 0);
    controller_fixture_unchanged(&cl.f, &first);
    kl_controller_records_deinit(&first);
}
END_TEST

/* ---- growing ------------------------------------------------------------- */

START_TEST(grow_placed_and_told)
{
    static const int32_t replicas[] = {4, 2, 1, 3};

    cluster_topic(&cl, "t", "12", NULL, NULL);
    ck_assert_int_eq(grow("t", 3, replicas), 0);
    cluster_expect(&cl, "t", 1, "42 isr=42 leader=4 epochs=0/0");
    cluster_expect(&cl, "t", 2, "13 isr=13 leader=1 epochs=0/0");
    ck_assert_int_eq(grow("t", 9, NULL), 0);
    for (int32_t i = 3; i < 9; i++)
        ck_assert_uint_eq(replication("t", i), 2);
    cluster_expect(&cl, "t", 0, "12 isr=12 leader=1 epochs=0/0");
    ck_assert_uint_eq(kl_controller_partition_count(cl.f.c), 9);
}
END_TEST

START_TEST(grow_with_the_target_of_a_reassignment)
{
    static const int32_t three[] = {1, 2, 3};

    cluster_topic(&cl, "t", "4", NULL, NULL);
    ck_assert_int_eq(kl_controller_reassign(cl.f.c, "t", 0, three, 3,
                                            &cl.f.records, &cl.f.error),
                     0);
    cluster_commit(&cl);
    ck_assert_int_eq(grow("t", 2, NULL), 0);
    ck_assert_uint_eq(replication("t", 1), 3);
}
END_TEST

START_TEST(grow_refusals)
{
    cluster_topic(&cl, "t", "12 21", NULL, NULL);
    ck_assert_int_eq(grow("u", 3, NULL), KL_ENOTOPIC);
    ck_assert_int_eq(grow("", 3, NULL), KL_ETOPICNAME);
    ck_assert_int_eq(grow("t", 2, NULL), KL_EPARTITIONS);
    ck_assert_int_eq(grow("t", 1, NULL), KL_EPARTITIONS);
    ck_assert_int_eq(grow("t", 10001, NULL), KL_EPARTITIONS);
    cluster_silence(&cl, "1234");
    ck_assert_int_eq(grow("t", 3, NULL), KL_EREPLICATION);
}
END_TEST

/* ---- another min ISR ----------------------------------------------------- */

static int min_isr(const char *name, const char *value)
{
    int rc =
        controller_fixture_alter(&cl.f, name, "min.insync.replicas", value);

    cluster_commit(&cl);
    return rc;
}

START_TEST(min_isr_up)
{
    cluster_topic(&cl, "t", "123 231", NULL, NULL);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 elr=23 leader=1 epochs=0/1");
    ck_assert_int_eq(min_isr("t", "3"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 known=23 leader=1 epochs=0/2");
    cluster_expect(&cl, "t", 1, "231 isr=231 leader=2 epochs=0/1");
}
END_TEST

START_TEST(min_isr_down)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "1"), 0);
    ck_assert_int_eq(min_isr("t", "1"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=1 leader=1 epochs=0/2");
}
END_TEST

/* Section 0.5: where the ELR is all there is, it stays. */
START_TEST(min_isr_without_isr)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    cluster_silence(&cl, "3");
    cluster_silence(&cl, "2");
    cluster_silence(&cl, "1");
    ck_assert_int_eq(min_isr("t", "1"), 0);
    cluster_expect(&cl, "t", 0, "123 elr=12 leader=none(1) epochs=1/4");
    cluster_start(&cl, "2");
    cluster_expect(&cl, "t", 0, "123 isr=2 leader=2 epochs=2/5");
}
END_TEST

START_TEST(min_isr_that_means_the_same)
{
    cluster_topic(&cl, "t", "123", NULL, NULL);
    cluster_topic(&cl, "u", "12", NULL, NULL);
    ck_assert_int_eq(min_isr("t", "2"), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    ck_assert_int_eq(min_isr("t", NULL), 0);
    cluster_expect(&cl, "t", 0, "123 isr=123 leader=1 epochs=0/0");
    ck_assert_int_eq(min_isr("u", "7"), 0);
    cluster_expect(&cl, "u", 0, "12 isr=12 leader=1 epochs=0/1");
    ck_assert_int_eq(min_isr("u", "2"), 0);
    cluster_expect(&cl, "u", 0, "12 isr=12 leader=1 epochs=0/1");
}
END_TEST

/* What waited for min alone is done. */
START_TEST(min_isr_completes_a_reassignment)
{
    static const int32_t target[] = {1, 4};

    cluster_topic(&cl, "t", "123", "min.insync.replicas", "2");
    ck_assert_int_eq(cluster_isr(&cl, "t", 0, "12"), 0);
    ck_assert_int_eq(kl_controller_reassign(cl.f.c, "t", 0, target, 1,
                                            &cl.f.records, &cl.f.error),
                     0);
    cluster_commit(&cl);
    cluster_expect(&cl, "t", 0, "1 isr=1 leader=1 epochs=1/2");
    cluster_topic(&cl, "u", "123", "min.insync.replicas", "2");
    ck_assert_int_eq(cluster_isr(&cl, "u", 0, "13"), 0);
    ck_assert_int_eq(kl_controller_reassign(cl.f.c, "u", 0, (int32_t[]){1, 2},
                                            2, &cl.f.records, &cl.f.error),
                     0);
    cluster_commit(&cl);
    cluster_expect(&cl, "u", 0, "123 isr=13 removing=3 leader=1 epochs=0/2");
    ck_assert_int_eq(min_isr("u", "1"), 0);
    cluster_expect(&cl, "u", 0, "12 isr=1 leader=1 epochs=1/3");
}
END_TEST

/* All in one batch, or refused as a whole. */
START_TEST(min_isr_is_atomic)
{
    struct kl_controller_options o = {
        .broker_id = -1, .batch_bytes_max = 2000, .rebalance_ms = -1};
    struct kl_controller_records before;

    cluster_deinit(&cl);
    cluster_init(&cl, &o);
    cluster_start(&cl, "123");
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(i ? grow("t", 30, NULL) : create("t", 15, 3, NULL), 0);
    kl_controller_records_init(&before, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_controller_encode(cl.f.c, &before), 0);
    ck_assert_int_eq(
        controller_fixture_alter(&cl.f, "t", "min.insync.replicas", "3"),
        KL_ERECORDSIZE);
    ck_assert_uint_eq(cl.f.records.count, 0);
    controller_fixture_unchanged(&cl.f, &before);
    kl_controller_records_deinit(&before);
}
END_TEST

Suite *suite_controller_assign(void);
Suite *suite_controller_assign(void)
{
    Suite *s = suite_create("controller_assign");
    TCase *t = tcase_create("assign");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, create_spreads);
    tcase_add_test(t, create_evens_out);
    tcase_add_test(t, create_with_default_replication);
    tcase_add_test(t, create_beyond_the_brokers);
    tcase_add_test(t, create_with_brokers_away);
    tcase_add_test(t, create_in_racks);
    tcase_add_test(t, create_as_told);
    tcase_add_test(t, create_is_deterministic);
    tcase_add_test(t, grow_placed_and_told);
    tcase_add_test(t, grow_with_the_target_of_a_reassignment);
    tcase_add_test(t, grow_refusals);
    tcase_add_test(t, min_isr_up);
    tcase_add_test(t, min_isr_down);
    tcase_add_test(t, min_isr_without_isr);
    tcase_add_test(t, min_isr_that_means_the_same);
    tcase_add_test(t, min_isr_completes_a_reassignment);
    tcase_add_test(t, min_isr_is_atomic);
    suite_add_tcase(s, t);
    return s;
}
