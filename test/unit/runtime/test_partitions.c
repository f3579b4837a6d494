/*
 * A store that fails: writing ends, honestly, and reading goes on.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <string.h>

static struct node_fixture f;
static struct kl_base_uuid topic;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
    topic = node_fixture_topic(&f, "t", 1, NULL, NULL);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

START_TEST(failed_sync_acknowledges_nothing)
{
    struct node_fixture_produce p;
    struct node_fixture_fetch r;
    char text[256];

    ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 2, 1), 0);
    trace_vfs_fail_from(&f.trace, TRACE_VFS_SYNC, 1, KL_EIO);
    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 1, 1, 0));
    node_fixture_until(&f, p.done);
    /* Another sync may have failed before the batch came. */
    ck_assert(p.base.code == KL_EUNKNOWN || p.base.code == KL_EFAILED);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_FAILED);
    kl_runtime_errmsg(f.n, text, sizeof text);
    ck_assert_msg(strstr(text, "wal"), "%s", text);
    node_fixture_produce(&f, &p, &topic, 0,
                         node_fixture_frame(&f, &topic, 0, 1, 1, 0));
    node_fixture_until(&f, p.done);
    ck_assert_int_eq(p.base.code, KL_EFAILED);
    ck_assert_int_eq(kl_runtime_check(f.n), 0);
    node_fixture_fetch(&f, &r, &topic, 0, 0);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, 0);
    ck_assert_int_eq(r.base.high_watermark, 2);
    kl_store_read_release(&r.base.read);
}
END_TEST

START_TEST(failed_store_refuses_commands)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "u",
                                   .number = 1,
                                   .replication = 1};
    struct kl_runtime_wish list = {.type = KL_RUNTIME_LIST_TOPICS};
    int code;

    trace_vfs_fail_from(&f.trace, TRACE_VFS_SYNC, 1, KL_EIO);
    code = node_fixture_code(&f, &wish);
    ck_assert(code == KL_EUNKNOWN || code == KL_EFAILED);
    ck_assert_int_eq(node_fixture_code(&f, &wish), KL_EFAILED);
    ck_assert_int_eq(node_fixture_code(&f, &list), 0);
    ck_assert_int_eq(kl_runtime_stop(f.n, -1), KL_EIO);
    ck_assert_int_eq(kl_runtime_state(f.n), KL_NODE_STOPPED);
}
END_TEST

/* storage.md 1.7: after open and until close. */
START_TEST(owner_makes_no_file_call)
{
    struct node_fixture_fetch r;

    node_fixture_stop(&f);
    f.options.lanes = NULL; /* threads */
    node_fixture_open(&f);
    trace_vfs_watch_owner(&f.trace);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(node_fixture_append(&f, &topic, 0, 1, 1), i);
    (void)node_fixture_topic(&f, "u", 3, "flush", "interval");
    node_fixture_fetch(&f, &r, &topic, 0, 0);
    node_fixture_until(&f, r.done);
    ck_assert_int_eq(r.base.read.code, 0);
    kl_store_read_release(&r.base.read);
    ck_assert_uint_eq(trace_vfs_take_owner_calls(&f.trace), 0);
    trace_vfs_allow_owner(&f.trace, 1);
}
END_TEST

Suite *suite_runtime_partitions(void);

Suite *suite_runtime_partitions(void)
{
    Suite *s = suite_create("runtime_partitions");
    TCase *t = tcase_create("partitions");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, failed_sync_acknowledges_nothing);
    tcase_add_test(t, failed_store_refuses_commands);
    tcase_add_test(t, owner_makes_no_file_call);
    suite_add_tcase(s, t);
    return s;
}
