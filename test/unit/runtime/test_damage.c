/*
 * A node whose write-ahead log is damaged: partitions that may have lost their
 * end take no records until that is accepted, the metadata log is not believed,
 * and all of it is told.
 */
#include "node_fixture.h"
#include "runtime/state.h"
#include "store/state.h"

#include <check.h>
#include <kraftlog/node.h>
#include <stdlib.h>
#include <string.h>

static struct node_fixture f;
static struct kl_base_uuid topic;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 2, NULL, NULL);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

/* Spoils the header of the group that will come next. */
static struct kl_store_position next_group(void)
{
    return f.n->store->wal.next;
}

static void spoil(const struct kl_store_position *at)
{
    char path[] = "data/wal/0";
    struct kl_os_file *file;
    uint8_t zeros[64] = {0};
    struct kl_os_iovec part = {zeros, sizeof zeros};

    path[strlen(path) - 1] = (char)('0' + at->file);
    ck_assert_int_eq(f.vfs->ops->open(f.vfs, path, KL_OS_WRITE, &file), 0);
    ck_assert_int_eq(f.vfs->ops->write(file, &part, 1, at->offset, NULL), 0);
    f.vfs->ops->close(file);
}

static int verdict(void)
{
    int v = -1;

    ck_assert_int_eq(kl_runtime_verdict(f.n, &v), 0);
    return v;
}

static int produce_code(int32_t partition)
{
    struct node_fixture_produce p;

    node_fixture_produce(&f, &p, &topic, partition,
                         node_fixture_frame(&f, &topic, partition, 1, 1, 0));
    node_fixture_until(&f, p.done);
    return p.base.code;
}

static int describes(const char *word)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_DESCRIBE_TOPIC,
                                   .topic = "t"};
    struct kl_runtime_op *op = node_fixture_do(&f, &wish);
    int found = strstr(op->extra->json, word) != NULL;

    kl_runtime_op_unref(op);
    return found;
}

START_TEST(verdict_of_stops_and_crashes)
{
    node_fixture_append(&f, &topic, 0, 3, 1);
    node_fixture_crash(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(verdict(), KL_VERDICT_INTACT);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(verdict(), KL_VERDICT_CLEAN);
    ck_assert(describes("\"suspect\":false"));
    ck_assert(describes("\"damage\":[]"));
}
END_TEST

/* A later group proves partition 0 and the metadata log, and only them. */
START_TEST(unproved_partition_takes_nothing)
{
    struct kl_store_position at;

    node_fixture_stop(&f);
    node_fixture_open(&f);
    node_fixture_append(&f, &topic, 1, 1, 1);
    node_fixture_append(&f, &topic, 0, 1, 1);
    at = next_group();
    node_fixture_append(&f, &topic, 0, 2, 1);
    (void)node_fixture_topic(&f, "u", 1, NULL, NULL);
    node_fixture_append(&f, &topic, 0, 1, 1);
    node_fixture_crash(&f);
    spoil(&at);
    node_fixture_open(&f);
    ck_assert_int_eq(verdict(), KL_VERDICT_DAMAGED);
    ck_assert(describes("\"damage\":[{\"from\":1,\"to\":3}]"));
    ck_assert_int_eq(produce_code(0), 0);
    ck_assert_int_eq(produce_code(1), KL_ECORRUPT);
    ck_assert(describes("\"suspect\":true"));
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(produce_code(1), KL_ECORRUPT);
    node_fixture_stop(&f);
    ck_assert_int_eq(node_fixture_try_open(&f, KL_OPEN_ACCEPT_LOSS), 0);
    ck_assert_int_eq(produce_code(1), 0);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert(!describes("\"suspect\":true"));
    ck_assert_int_eq(produce_code(1), 0);
}
END_TEST

/* Nothing proves the metadata log: no topic is taken for absent. */
START_TEST(unproved_metadata_is_not_believed)
{
    struct kl_store_position at;
    char text[256];

    node_fixture_stop(&f);
    node_fixture_open(&f);
    at = next_group();
    (void)node_fixture_topic(&f, "u", 1, NULL, NULL);
    node_fixture_append(&f, &topic, 0, 1, 1);
    node_fixture_crash(&f);
    spoil(&at);
    ck_assert_int_eq(node_fixture_try_open(&f, 0), KL_ECORRUPT);
    kl_runtime_errmsg(f.n, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "KL_OPEN_ACCEPT_LOSS"));
    node_fixture_crash(&f);
    ck_assert_int_eq(node_fixture_try_open(&f, KL_OPEN_ACCEPT_LOSS), 0);
    ck_assert_int_eq(produce_code(0), 0);
}
END_TEST

Suite *suite_runtime_damage(void);

Suite *suite_runtime_damage(void)
{
    Suite *s = suite_create("runtime_damage");
    TCase *t = tcase_create("damage");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, verdict_of_stops_and_crashes);
    tcase_add_test(t, unproved_partition_takes_nothing);
    tcase_add_test(t, unproved_metadata_is_not_believed);
    suite_add_tcase(s, t);
    return s;
}
