/*
 * The file system that tests use to watch and to break another one.
 */
#include "base/alloc.h"
#include "trace_vfs.h"

#include <check.h>
#include <string.h>

static struct kl_os_vfs *memory;
static struct trace_vfs t;
static struct kl_os_vfs *vfs;

static void setup(void)
{
    ck_assert_int_eq(kl_os_vfs_memory_new(&memory, &kl_base_alloc_libc, 0), 0);
    trace_vfs_init(&t, memory);
    vfs = &t.base;
}

static void teardown(void)
{
    vfs->ops->free(vfs);
    trace_vfs_deinit(&t);
    memory->ops->free(memory);
}

static struct kl_os_file *create(const char *path)
{
    struct kl_os_file *file = NULL;

    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &file), 0);
    ck_assert_ptr_eq(file->vfs, vfs);
    return file;
}

static int write_text(struct kl_os_file *file, const char *text)
{
    struct kl_os_iovec iov = {text, strlen(text)};

    return vfs->ops->write(file, &iov, 1, 0, NULL);
}

static int count_name(const char *name, void *user)
{
    (void)name;
    ++*(int *)user;
    return 0;
}

/* Every call once, in the order of the kinds but for close; returns how many
 * of those with a result failed, and the last code. */
static int call_all(struct kl_os_file *file, int *code_out)
{
    struct kl_os_iovec iov = {"text", 4};
    struct kl_os_file *other;
    uint64_t n = 0;
    size_t size = 99;
    char buf[8];
    int names = 0;
    int rc[] = {
        vfs->ops->open(vfs, "none", KL_OS_READ, &other) == KL_ENOENT ? 0
                                                                     : KL_EIO,
        vfs->ops->write(file, &iov, 1, 0, &size),
        vfs->ops->read(file, buf, sizeof buf, 0, &size),
        vfs->ops->sync(file),
        vfs->ops->truncate(file, 2),
        vfs->ops->allocate(file, 0, 10),
        vfs->ops->size(file, &n),
        vfs->ops->lock(file),
        vfs->ops->mkdir(vfs, "a"),
        vfs->ops->rename(vfs, "a", "b"),
        vfs->ops->rmdir(vfs, "b"),
        vfs->ops->list(vfs, "/", count_name, &names),
        vfs->ops->unlink(vfs, "f"),
        vfs->ops->sync_dir(vfs, "/"),
        vfs->ops->sync_all(file),
        vfs->ops->space(vfs, "/", &n),
    };
    int failed = 0;

    vfs->ops->writeback(file, 0, 4);
    for (size_t i = 0; i < sizeof rc / sizeof *rc; i++) {
        failed += rc[i] != 0;
        *code_out = rc[i];
    }
    return failed;
}

START_TEST(calls_are_passed_on_and_counted)
{
    struct kl_os_file *file = create("f");
    int code;

    ck_assert_int_eq(call_all(file, &code), 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    for (int kind = 0; kind < TRACE_VFS_ANY; kind++)
        ck_assert_uint_eq(trace_vfs_count(&t, (enum trace_vfs_kind)kind),
                          kind == TRACE_VFS_OPEN ? 2 : 1);
    ck_assert_uint_eq(trace_vfs_count(&t, TRACE_VFS_ANY), TRACE_VFS_ANY + 1);
    ck_assert_uint_eq(trace_vfs_failed(&t), 0);
    ck_assert_int_eq(vfs->ops->last_errno(vfs), 0);
}
END_TEST

START_TEST(kind_name_of_all)
{
    ck_assert_str_eq(trace_vfs_kind_name(TRACE_VFS_OPEN), "open");
    ck_assert_str_eq(trace_vfs_kind_name(TRACE_VFS_WRITEBACK), "writeback");
    ck_assert_str_eq(trace_vfs_kind_name(TRACE_VFS_SYNC_ALL), "sync_all");
    ck_assert_str_eq(trace_vfs_kind_name(TRACE_VFS_SPACE), "space");
    ck_assert_str_eq(trace_vfs_kind_name(TRACE_VFS_ANY), "any");
}
END_TEST

static void write_main(void *user)
{
    ck_assert_int_eq(write_text(user, "text"), 0);
}

START_TEST(owner_is_watched)
{
    struct kl_os_file *file = create("f");
    struct kl_os_thread thread;

    trace_vfs_watch_owner(&t);
    ck_assert_int_eq(kl_os_thread_start(&thread, write_main, file, "lane"), 0);
    kl_os_thread_join(&thread);
    ck_assert_uint_eq(trace_vfs_take_owner_calls(&t), 0);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_int_eq(write_text(file, "text"), 0);
    ck_assert_int_eq(t.owner_kind, TRACE_VFS_SYNC);
    ck_assert_uint_eq(trace_vfs_take_owner_calls(&t), 2);
    trace_vfs_job_begin();
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    trace_vfs_job_end();
    ck_assert_uint_eq(trace_vfs_take_owner_calls(&t), 0);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_uint_eq(trace_vfs_take_owner_calls(&t), 1);
    trace_vfs_allow_owner(&t, 1);
    ck_assert_int_eq(vfs->ops->close(file), 0);
    ck_assert_uint_eq(trace_vfs_take_owner_calls(&t), 0);
}
END_TEST

START_TEST(fail_one_call)
{
    struct kl_os_file *file = create("f");
    uint64_t size;

    trace_vfs_fail(&t, TRACE_VFS_WRITE, 2, KL_EDISKFULL);
    ck_assert_int_eq(write_text(file, "a"), 0);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_int_eq(write_text(file, "bb"), KL_EDISKFULL);
    ck_assert_int_eq(vfs->ops->size(file, &size), 0);
    ck_assert_uint_eq(size, 1);
    ck_assert_int_eq(write_text(file, "ccc"), 0);
    ck_assert_uint_eq(trace_vfs_failed(&t), 1);
    ck_assert_uint_eq(trace_vfs_count(&t, TRACE_VFS_WRITE), 3);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(fail_from_a_call_on)
{
    struct kl_os_file *file = create("f");

    trace_vfs_fail_from(&t, TRACE_VFS_SYNC, 2, KL_EIO);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_int_eq(vfs->ops->sync(file), KL_EIO);
    ck_assert_int_eq(write_text(file, "a"), 0);
    ck_assert_int_eq(vfs->ops->sync(file), KL_EIO);
    trace_vfs_heal(&t);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_uint_eq(trace_vfs_failed(&t), 2);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(fail_any_kind)
{
    struct kl_os_file *file = create("f");

    trace_vfs_fail(&t, TRACE_VFS_ANY, 2, KL_ENOFILES);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, "d"), KL_ENOFILES);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, "d"), 0);
    trace_vfs_fail(&t, TRACE_VFS_OPEN, 1, KL_ENOFILES);
    ck_assert_int_eq(vfs->ops->open(vfs, "f", KL_OS_READ, &file), KL_ENOFILES);
    /* A close that fails has closed. */
    trace_vfs_fail(&t, TRACE_VFS_CLOSE, 1, KL_EIO);
    ck_assert_int_eq(vfs->ops->close(file), KL_EIO);
}
END_TEST

START_TEST(fail_every_call_in_turn)
{
    uint64_t nth = 0;
    int code = 0;

    do {
        struct kl_os_file *file = create("f");
        int failed;

        trace_vfs_fail_from(&t, TRACE_VFS_ANY, ++nth, KL_EIO);
        failed = call_all(file, &code);
        ck_assert_int_eq(code, failed ? KL_EIO : 0);
        trace_vfs_heal(&t);
        (void)vfs->ops->rmdir(vfs, "a");
        (void)vfs->ops->rmdir(vfs, "b");
        ck_assert_int_eq(vfs->ops->close(file), 0);
    } while (code);
    ck_assert_uint_eq(nth, TRACE_VFS_ANY - 1);
}
END_TEST

START_TEST(fail_a_write_half_way)
{
    struct kl_os_iovec iov[] = {{"abc", 3}, {"defgh", 5}};
    struct kl_os_file *file = create("f");
    char buf[16];
    size_t n;

    trace_vfs_arm(&t, &(struct trace_vfs_fault){.kinds = 1u << TRACE_VFS_WRITE,
                                                .nth = 1,
                                                .code = KL_EDISKFULL,
                                                .is_short = 1});
    ck_assert_int_eq(vfs->ops->write(file, iov, 2, 0, &n), KL_EDISKFULL);
    ck_assert_uint_eq(n, 4);
    ck_assert_int_eq(vfs->ops->read(file, buf, sizeof buf, 0, &n), 0);
    ck_assert_uint_eq(n, 4);
    ck_assert_mem_eq(buf, "abcd", 4);
    ck_assert_int_eq(vfs->ops->write(file, iov, 2, 0, NULL), 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(kinds_of_a_code)
{
    uint32_t all = trace_vfs_kinds_of(KL_EIO);

    ck_assert_uint_eq(all, (1u << TRACE_VFS_ANY) - 1);
    ck_assert_uint_eq(trace_vfs_kinds_of(KL_EBUSY), 1u << TRACE_VFS_LOCK);
    ck_assert(!(trace_vfs_kinds_of(KL_ENOFILES) & 1u << TRACE_VFS_WRITE));
    ck_assert(trace_vfs_kinds_of(KL_EDISKFULL) & 1u << TRACE_VFS_SYNC);
    ck_assert_uint_eq(trace_vfs_kinds_of(KL_ECORRUPT), 0);
}
END_TEST

/* What was passed on before the cut is there, nothing of what came after. */
START_TEST(cut_after_some_calls)
{
    struct kl_os_file *file = create("f");
    char buf[16];
    size_t n;
    int names = 0;
    int code;

    ck_assert_int_eq(write_text(file, "before"), 0);
    trace_vfs_cut(&t, 2);
    ck_assert_int_eq(write_text(file, "B"), 0);
    ck_assert_int_eq(vfs->ops->sync(file), 0);
    ck_assert_int_eq(call_all(file, &code), 16);
    ck_assert_int_eq(code, KL_EIO);
    ck_assert_int_eq(vfs->ops->close(file), KL_EIO);
    ck_assert_uint_eq(trace_vfs_failed(&t), 18);

    ck_assert_int_eq(memory->ops->list(memory, "/", count_name, &names), 0);
    ck_assert_int_eq(names, 1);
    trace_vfs_heal(&t);
    file = create("f");
    ck_assert_int_eq(vfs->ops->read(file, buf, sizeof buf, 0, &n), 0);
    ck_assert_uint_eq(n, 6);
    ck_assert_mem_eq(buf, "Before", 6);
    ck_assert_int_eq(vfs->ops->lock(file), 0);
    ck_assert_int_eq(vfs->ops->close(file), 0);
}
END_TEST

START_TEST(cut_at_once)
{
    struct kl_os_file *file;

    trace_vfs_cut(&t, 0);
    ck_assert_int_eq(
        vfs->ops->open(vfs, "f", KL_OS_WRITE | KL_OS_CREATE, &file), KL_EIO);
    trace_vfs_heal(&t);
    ck_assert_int_eq(vfs->ops->open(vfs, "f", KL_OS_WRITE, &file), KL_ENOENT);
}
END_TEST

Suite *suite_os_trace_vfs(void);
Suite *suite_os_trace_vfs(void)
{
    Suite *s = suite_create("os_trace_vfs");
    TCase *tc = tcase_create("trace");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, calls_are_passed_on_and_counted);
    tcase_add_test(tc, kind_name_of_all);
    tcase_add_test(tc, owner_is_watched);
    tcase_add_test(tc, fail_one_call);
    tcase_add_test(tc, fail_from_a_call_on);
    tcase_add_test(tc, fail_any_kind);
    tcase_add_test(tc, fail_every_call_in_turn);
    tcase_add_test(tc, fail_a_write_half_way);
    tcase_add_test(tc, kinds_of_a_code);
    tcase_add_test(tc, cut_after_some_calls);
    tcase_add_test(tc, cut_at_once);
    suite_add_tcase(s, tc);
    return s;
}
