/*
 * What the doctor says of a folder as a whole: its disk, its format, its
 * memory. What it says of damage is tested with processes.
 */
#include "need.h"
#include "node_fixture.h"
#include "store/state.h"

#include <check.h>
#include <kraftlog/node.h>
#include <stdio.h>
#include <string.h>

enum { DISK = 6 << 20, RESERVE = 1 << 20, TEXT = 4096 };

static struct node_fixture f;
static struct fail_alloc memory;
static char report[TEXT]; /* "severity kind action\n" of each item */

/* A closed folder on a small disk. */
static void setup(void)
{
    fail_alloc_init(&memory);
    node_fixture_init(&f);
    trace_vfs_deinit(&f.trace);
    f.vfs->ops->free(f.vfs);
    ck_assert_int_eq(kl_os_vfs_memory_new(&f.vfs, &kl_base_alloc_libc, DISK),
                     0);
    trace_vfs_init(&f.trace, f.vfs);
    node_fixture_open(&f);
    node_fixture_topic(&f, "t", 1, NULL, NULL);
    node_fixture_stop(&f);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
    fail_alloc_deinit(&memory);
}

static const char *word(const struct kl_runtime_item *item, const char *key)
{
    const struct kl_runtime_field *field = kl_runtime_item_find(item, key);

    return field && field->is_text ? (const char *)item->data.data + field->at
                                   : "";
}

/* Runs the doctor over the folder; its code. */
static int diagnose(void)
{
    struct kl_runtime_inspect *in;
    const struct kl_runtime_item *item;
    size_t size = 0;
    int r = kl_runtime_inspect_new(&in, &memory.alloc);

    report[0] = 0;
    if (r)
        return r;
    r = kl_runtime_inspect_set_vfs(in, f.vfs);
    if (r == 0)
        r = kl_runtime_inspect_doctor(in, "data", 0);
    while (r == 0 && (r = kl_runtime_inspect_next(in, &item)) == 0)
        size += (size_t)snprintf(report + size, TEXT - size, "%s %s %s%s\n",
                                 item->type, word(item, "severity"),
                                 word(item, "kind"), word(item, "action"));
    kl_runtime_inspect_free(in);
    return r;
}

static struct kl_os_file *open_file(const char *path, uint32_t flags)
{
    struct kl_os_file *file;

    need_ok(f.vfs->ops->open(f.vfs, path, KL_OS_WRITE | flags, &file));
    return file;
}

static void resize(const char *path, uint64_t size, uint32_t flags)
{
    struct kl_os_file *file = open_file(path, flags);

    need_ok(f.vfs->ops->truncate(file, 0));
    need_ok(f.vfs->ops->allocate(file, 0, size));
    need_ok(f.vfs->ops->close(file));
}

#define WELL "summary  \nadvice  none\n"

START_TEST(nothing_is_wrong)
{
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, WELL);
}
END_TEST

/* The reserve is gone and there is room for it. */
START_TEST(reserve_given_up)
{
    resize("data/reserve", RESERVE / 16, 0);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, "finding harmless reserve\n" WELL);
    node_fixture_open(&f);
    node_fixture_stop(&f);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, WELL);
}
END_TEST

START_TEST(disk_that_is_full)
{
    uint64_t room;

    resize("data/reserve", RESERVE / 16, 0);
    need_ok(f.vfs->ops->space(f.vfs, "data", &room));
    resize("ballast", room - RESERVE / 2, KL_OS_CREATE);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, "finding full full\nsummary  \nadvice  free\n");
    /* Following it helps. */
    need_ok(f.vfs->ops->unlink(f.vfs, "ballast"));
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, "finding harmless reserve\n" WELL);
}
END_TEST

/* The folder as a release with another format would have written it. */
static void set_format(uint16_t version)
{
    static const char path[] = "data/identity";
    struct kl_store_identity identity;
    struct kl_os_iovec part;
    struct kl_base_buf buf;
    struct kl_os_file *file;

    kl_base_buf_init(&buf, &kl_base_alloc_libc);
    need_ok(kl_store_file_read(f.vfs, path, KL_STORE_BLOCK, &buf));
    need_ok(kl_store_identity_decode(buf.data, buf.size, &identity));
    identity.version = version;
    kl_base_buf_clear(&buf);
    need_ok(kl_store_identity_encode(&buf, &identity));
    file = open_file(path, 0);
    part = (struct kl_os_iovec){buf.data, buf.size};
    need_ok(f.vfs->ops->write(file, &part, 1, 0, NULL));
    need_ok(f.vfs->ops->close(file));
    kl_base_buf_deinit(&buf);
}

START_TEST(older_format)
{
    set_format(KL_STORE_FORMAT - 1);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, "finding harmless format\n" WELL);
    node_fixture_open(&f);
    node_fixture_stop(&f);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, WELL);
}
END_TEST

START_TEST(later_format)
{
    set_format(KL_STORE_FORMAT + 1);
    ck_assert_int_eq(diagnose(), KL_EFORMAT);
    ck_assert_str_eq(report, "");
}
END_TEST

START_TEST(what_is_kept)
{
    resize("data/quarantine/old", 10, KL_OS_CREATE);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_str_eq(report, "finding harmless kept\n" WELL);
}
END_TEST

/* Damage that it has to look for copies of. */
static void damage(void)
{
    static const char *const names[] = {"data/quorum.a", "data/quorum.b",
                                        "data/checkpoint.a"};

    for (size_t i = 0; i < 3; i++)
        resize(names[i], 100, 0);
}

START_TEST(memory_fails)
{
    uint64_t calls;

    damage();
    fail_alloc_arm(&memory, 0);
    ck_assert_int_eq(diagnose(), KL_EEND);
    ck_assert_ptr_nonnull(strstr(report, "advice  accept-loss\n"));
    calls = memory.calls;
    ck_assert_uint_gt(calls, 50);
    for (uint64_t i = 1; i <= calls; i++) {
        fail_alloc_arm(&memory, i);
        ck_assert_int_eq(diagnose(), KL_ENOMEM);
        ck_assert_uint_eq(memory.live_blocks, 0);
    }
}
END_TEST

Suite *suite_runtime_doctor(void);

Suite *suite_runtime_doctor(void)
{
    Suite *s = suite_create("runtime_doctor");
    TCase *t = tcase_create("doctor");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, nothing_is_wrong);
    tcase_add_test(t, reserve_given_up);
    tcase_add_test(t, disk_that_is_full);
    tcase_add_test(t, older_format);
    tcase_add_test(t, later_format);
    tcase_add_test(t, what_is_kept);
    tcase_add_test(t, memory_fails);
    suite_add_tcase(s, t);
    return s;
}
