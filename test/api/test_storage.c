/*
 * Storage from outside: a host's own files, good ones and bad ones, and the
 * ready-made one in memory.
 */
#include "pubsub_help.h"
#include "storage_help.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct host_storage host;
static struct help_node h;
static kl_storage *storage;
static char dir[TEST_TMPDIR_SIZE + 16]; /* of the store, below h.dir */

static void setup(void)
{
    memset(&h, 0, sizeof h);
    test_tmpdir_make(h.dir);
    snprintf(dir, sizeof dir, "%s/store", h.dir);
    host_storage_init(&host);
    ck_assert_int_eq(kl_storage_new(&storage, NULL), 0);
    host_storage_fill(&host, storage, HOST_CALLS);
}

static void teardown(void)
{
    help_close(&h);
    kl_storage_free(storage);
    host_storage_deinit(&host);
}

/* A node on the storage that is not open yet. */
static void node_new(const char *io_threads)
{
    const char *const pairs[] = {"wal.bytes",
                                 "256k",
                                 "io.threads",
                                 io_threads,
                                 "log.retention.check.interval.ms",
                                 "100",
                                 NULL};
    kl_config *config = help_config(pairs);

    ck_assert_int_eq(kl_node_new(&h.node, config), 0);
    kl_config_free(config);
    ck_assert_int_eq(kl_node_set_storage(h.node, storage), 0);
}

static void node_open(const char *io_threads)
{
    char text[256] = "";
    int rc;

    node_new(io_threads);
    rc = kl_node_open(h.node, dir, KL_OPEN_CREATE);
    kl_node_errmsg(h.node, text, sizeof text);
    ck_assert_msg(rc == 0, "%s: %s", kl_error_name(rc), text);
    ck_assert_int_eq(kl_node_client(h.node, &h.client), 0);
}

/* Ends as a crash does: without a stop. */
static void node_crash(void)
{
    kl_client_free(h.client);
    kl_node_free(h.node);
    h.client = NULL;
    h.node = NULL;
}

static void node_errmsg_has(kl_node *node, const char *text)
{
    char buf[256];

    ck_assert_int_eq(kl_node_errmsg(node, buf, sizeof buf), 0);
    ck_assert_msg(strstr(buf, text), "\"%s\" lacks \"%s\"", buf, text);
}

static void produce(const char *topic, int count)
{
    kl_producer *p = help_producer(&h, NULL);

    help_send_many(p, topic, 0, topic, count);
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), 0);
    kl_producer_free(p);
}

/* ---- misuse ------------------------------------------------------------- */

START_TEST(misuse_of_null)
{
    ck_assert_int_eq(kl_storage_new(NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_storage_new_memory(NULL, NULL, 0), KL_EINVAL);
    for (int call = 0; call < HOST_CALLS; call++)
        ck_assert_int_eq(host_storage_set(&host, NULL, (enum host_call)call),
                         KL_EINVAL);
    ck_assert_int_eq(kl_storage_set_writeback(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_storage_set_allocate(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_storage_set_lock(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_storage_set_sync_all(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_storage_set_space(NULL, NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_storage_names_add(NULL, "name"), KL_EINVAL);
    ck_assert_int_eq(kl_node_set_storage(NULL, storage), KL_EINVAL);
    kl_storage_free(NULL);
}
END_TEST

START_TEST(a_missing_function_is_named)
{
    kl_storage *lacking;

    kl_storage_free(storage);
    ck_assert_int_eq(kl_storage_new(&lacking, NULL), 0);
    host_storage_fill(&host, lacking, (enum host_call)_i);
    storage = lacking;
    node_new("4");
    ck_assert_int_eq(kl_node_open(h.node, dir, KL_OPEN_CREATE), KL_EINVAL);
    node_errmsg_has(h.node, host_storage_name((enum host_call)_i));
    ck_assert_int_eq(atomic_load(&host.count), 0);
    /* It can still be set. */
    ck_assert_int_eq(host_storage_set(&host, storage, (enum host_call)_i), 0);
    ck_assert_int_eq(kl_node_open(h.node, dir, KL_OPEN_CREATE), 0);
    node_errmsg_has(h.node, "");
}
END_TEST

START_TEST(nothing_is_set_after_open)
{
    node_open("4");
    for (int call = 0; call < HOST_CALLS; call++)
        ck_assert_int_eq(host_storage_set(&host, storage, (enum host_call)call),
                         KL_ESTATE);
    ck_assert_int_eq(kl_storage_set_writeback(storage, NULL, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_storage_set_allocate(storage, NULL, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_storage_set_lock(storage, NULL, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_storage_set_sync_all(storage, NULL, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_storage_set_space(storage, NULL, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_node_set_storage(h.node, storage), KL_ESTATE);
    ck_assert_int_eq(kl_node_set_storage(h.node, NULL), KL_ESTATE);
}
END_TEST

START_TEST(nothing_of_memory_is_set)
{
    kl_storage *memory;

    ck_assert_int_eq(kl_storage_new_memory(&memory, NULL, 0), 0);
    ck_assert_int_eq(kl_storage_set_lock(memory, NULL, NULL), KL_ESTATE);
    ck_assert_int_eq(host_storage_set(&host, memory, HOST_OPEN), KL_ESTATE);
    kl_storage_free(memory);
}
END_TEST

/* ---- a good host -------------------------------------------------------- */

START_TEST(records_are_there_after_a_crash)
{
    node_open(_i ? "4" : "1");
    help_topic(&h, "t", 1, NULL);
    produce("t", 1000);
    node_crash();
    node_open(_i ? "4" : "1");
    help_check_values(&h, "t", 0, "t", 1000);
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
    for (int call = 0; call < HOST_CALLS; call++)
        if (call != HOST_TRUNCATE && call != HOST_RMDIR)
            ck_assert_msg(atomic_load(&host.counts[call]) > 0, "no %s",
                          host_storage_name((enum host_call)call));
}
END_TEST

/* What others wrote is the same store, and the other way round. */
START_TEST(the_real_files_are_the_same)
{
    node_open("4");
    help_topic(&h, "t", 1, NULL);
    produce("t", 10);
    node_crash();
    node_new("4");
    ck_assert_int_eq(kl_node_set_storage(h.node, NULL), 0);
    ck_assert_int_eq(kl_node_open(h.node, dir, 0), 0);
    ck_assert_int_eq(kl_node_client(h.node, &h.client), 0);
    help_check_values(&h, "t", 0, "t", 10);
}
END_TEST

START_TEST(the_handle_may_go_first)
{
    node_open("4");
    kl_storage_free(storage);
    storage = NULL;
    help_topic(&h, "t", 1, NULL);
    produce("t", 10);
    help_check_values(&h, "t", 0, "t", 10);
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
    ck_assert_int_gt(atomic_load(&host.count), 0);
}
END_TEST

START_TEST(nodes_share_a_storage)
{
    char beside[sizeof dir + 8];
    kl_node *other;

    node_open("4");
    ck_assert_int_eq(kl_node_new(&other, NULL), 0);
    ck_assert_int_eq(kl_node_set_storage(other, storage), 0);
    ck_assert_int_eq(kl_node_set_storage(other, storage), 0);
    ck_assert_int_eq(kl_node_open(other, dir, 0), KL_EBUSY);
    node_errmsg_has(other, dir);
    snprintf(beside, sizeof beside, "%s/./", dir); /* the same, for once */
    ck_assert_int_eq(kl_node_open(other, beside, 0), KL_EBUSY);
    snprintf(beside, sizeof beside, "%s.2", dir);
    ck_assert_int_eq(kl_node_open(other, beside, KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_node_stop(other, HELP_WAIT_MS), 0);
    kl_node_free(other);
}
END_TEST

/* With one thread for files no two calls are ever made at the same time,
 * whatever goes on. */
START_TEST(one_thread_is_one_call)
{
    static const char *const small[] = {
        "segment.bytes", "16k",   "retention.bytes",
        "32k",           "flush", "interval",
        "flush.bytes",   "4k",    NULL};

    node_open("1");
    help_topic(&h, "t", 1, NULL);
    help_topic(&h, "i", 1, small);
    for (int round = 0; round < 10; round++) {
        kl_op *op;
        kl_consumer *c = help_consumer(&h, NULL);

        help_topic(&h, "gone", 1, small);
        produce("gone", 500);
        produce("i", 500);
        produce("t", 500);
        ck_assert_int_eq(kl_consumer_assign(c, "gone", 0, KL_OFFSET_BEGIN, 0),
                         0);
        kl_event_free(help_poll(c));
        ck_assert_int_eq(kl_admin_delete_topic(h.client, "gone", 0, &op), 0);
        ck_assert_int_eq(help_finish(op), 0);
        kl_consumer_free(c);
        if (round == 5) {
            node_crash();
            node_open("1");
        }
    }
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
    ck_assert_int_eq(atomic_load(&host.inside_max), 1);
}
END_TEST

/* ---- poor hosts --------------------------------------------------------- */

START_TEST(short_reads)
{
    host.read_max = 7;
    node_open("4");
    help_topic(&h, "t", 1, NULL);
    produce("t", 200);
    node_crash();
    node_open("4");
    help_check_values(&h, "t", 0, "t", 200);
}
END_TEST

static int count_names(const char *path)
{
    DIR *d = opendir(path);
    int count = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2; /* without "." and ".." */
}

/* Names of open files cannot be removed: the next open does it. */
START_TEST(open_files_keep_their_names)
{
    char logs[sizeof dir + 8];
    kl_op *op;

    snprintf(logs, sizeof logs, "%s/logs", dir);
    host.keeps_open_names = 1;
    node_open("4");
    help_topic(&h, "t", 1, NULL);
    for (int i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof name, "t%d", i);
        help_topic(&h, name, 1, NULL);
        produce(name, 10);
        help_check_values(&h, name, 0, name, 10);
        ck_assert_int_eq(kl_admin_delete_topic(h.client, name, 0, &op), 0);
        ck_assert_int_eq(help_finish(op), 0);
    }
    produce("t", 10);
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
    node_crash();
    node_open("4");
    help_check_values(&h, "t", 0, "t", 10);
    ck_assert_int_eq(count_names(logs), 2); /* "t" and the metadata */
}
END_TEST

/* ---- bad hosts ---------------------------------------------------------- */

START_TEST(a_wrong_code_is_told_by_its_number)
{
    node_new("4");
    host.fail_code = 28;
    atomic_store(&host.fail_call, HOST_WRITE);
    ck_assert_int_eq(kl_node_open(h.node, dir, KL_OPEN_CREATE), KL_EIO);
    node_errmsg_has(h.node, "(system error 28)");
    host_storage_heal(&host);
    ck_assert_int_eq(kl_node_open(h.node, dir, KL_OPEN_CREATE), 0);
}
END_TEST

/* Whichever call of an open fails, with a code that is none: open says so or
 * does without, and the next one works. */
START_TEST(any_call_of_open_fails)
{
    int wrong = 0;

    host.fail_code = 99;
    for (int number = 1;; number++) {
        int is_over;
        int rc;

        node_new("1");
        atomic_store(&host.count, 0);
        atomic_store(&host.fail_at, number);
        rc = kl_node_open(h.node, dir, KL_OPEN_CREATE);
        is_over = atomic_load(&host.count) < number;
        host_storage_heal(&host);
        ck_assert_msg(rc == 0 || rc == KL_EIO, "call %d: %s", number,
                      kl_error_name(rc));
        if (rc) {
            wrong++;
            ck_assert_int_eq(kl_node_open(h.node, dir, KL_OPEN_CREATE), 0);
        }
        ck_assert_int_eq(kl_node_client(h.node, &h.client), 0);
        /* Every other time what is opened was stopped in good order. */
        if (number % 2)
            ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
        node_crash();
        if (is_over)
            break;
    }
    ck_assert_int_gt(wrong, 20);
}
END_TEST

/* The store is at its end, and says so. */
START_TEST(a_failed_sync_is_the_end)
{
    kl_producer *p;
    int state = -1;
    kl_op *op;

    node_open("4");
    help_topic(&h, "t", 1, NULL);
    produce("t", 10);
    p = help_producer(&h, NULL);
    host.fail_code = 28;
    atomic_store(&host.fail_call, HOST_SYNC);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "lost", 4,
                                      KL_TIMESTAMP_NOW, 0, &op),
                     0);
    ck_assert_int_ne(help_finish(op), 0);
    ck_assert_int_eq(kl_node_state(h.node, &state), 0);
    ck_assert_int_eq(state, KL_NODE_FAILED);
    node_errmsg_has(h.node, "WAL");
    host_storage_heal(&host);
    ck_assert_int_eq(kl_producer_send(p, "t", 0, NULL, 0, "more", 4,
                                      KL_TIMESTAMP_NOW, 0, &op),
                     0);
    ck_assert_int_eq(help_finish(op), KL_EFAILED);
    kl_producer_free(p);
    help_check_values(&h, "t", 0, "t", 10); /* reading goes on */
    node_crash();
    node_open("4");
}
END_TEST

/* ---- calls from inside -------------------------------------------------- */

struct reentry
{
    kl_producer *producer;
    kl_consumer *consumer;
    kl_op *op;
    atomic_int armed;
    atomic_int count;
    int codes[7];
};

static void reenter(enum host_call call, void *user)
{
    struct reentry *r = user;
    kl_event *event;
    int one = 1;

    if (call != HOST_SYNC ||
        !atomic_compare_exchange_strong(&r->armed, &one, 0))
        return;
    r->codes[0] = kl_node_poll(h.node, -1);
    r->codes[1] = kl_node_stop(h.node, -1);
    r->codes[2] = kl_op_wait(r->op, -1);
    r->codes[3] = kl_producer_flush(r->producer, -1);
    r->codes[4] = kl_consumer_poll(r->consumer, -1, &event);
    r->codes[5] = kl_node_open(h.node, dir, 0);
    r->codes[6] = kl_node_set_storage(h.node, NULL);
    kl_node_free(h.node);
    atomic_fetch_add(&r->count, 1);
}

/* From one of the library's threads everything that would wait for the node
 * is refused; it would wait for itself. */
START_TEST(reentry_from_a_thread_of_the_library)
{
    static struct reentry r;
    int state = -1;

    memset(&r, 0, sizeof r);
    host.hook = reenter;
    host.hook_user = &r;
    node_open(_i ? "4" : "1");
    help_topic(&h, "t", 1, NULL);
    r.producer = help_producer(&h, NULL);
    r.consumer = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(r.consumer, "t", 0, 0, 0), 0);
    kl_event_free(help_poll(r.consumer)); /* the end: no more events now */
    ck_assert_int_eq(kl_producer_send(r.producer, "t", 0, NULL, 0, "v", 1,
                                      KL_TIMESTAMP_NOW, 0, &r.op),
                     0);
    atomic_store(&r.armed, 1);
    ck_assert_int_eq(help_finish(r.op), 0);
    ck_assert_int_eq(atomic_load(&r.count), 1);
    for (int i = 0; i < 5; i++)
        ck_assert_msg(r.codes[i] == KL_EREENTRY, "%d: %s", i,
                      kl_error_name(r.codes[i]));
    ck_assert_int_eq(r.codes[5], KL_ESTATE);
    ck_assert_int_eq(r.codes[6], KL_EREENTRY);
    ck_assert_int_eq(kl_node_state(h.node, &state), 0);
    ck_assert_int_eq(state, KL_NODE_OPEN);
    kl_consumer_free(r.consumer);
    kl_producer_free(r.producer);
}
END_TEST

/* During open: the opening thread and the library's, which are inside, too. */
static atomic_int open_calls;

/* What is still being written when the node is open is inside, then. */
static void refused_in_open(int code)
{
    ck_assert_msg(code == KL_ESTATE || code == KL_EREENTRY, "%s",
                  kl_error_name(code));
}

static void reenter_open(enum host_call call, void *user)
{
    kl_node *node = *(kl_node **)user;

    (void)call;
    atomic_fetch_add(&open_calls, 1);
    refused_in_open(kl_node_poll(node, -1));
    refused_in_open(kl_node_stop(node, -1));
    refused_in_open(kl_node_start(node));
    ck_assert_int_eq(kl_node_open(node, dir, 0), KL_ESTATE);
    ck_assert_int_eq(kl_node_set_storage(node, NULL), KL_EREENTRY);
    kl_node_free(node);
}

START_TEST(reentry_during_open)
{
    host.hook = reenter_open;
    host.hook_user = &h.node;
    node_open("4");
    host.hook = NULL;
    ck_assert_int_gt(atomic_load(&open_calls), 20);
    help_topic(&h, "t", 1, NULL);
}
END_TEST

/* ---- memory ------------------------------------------------------------- */

static atomic_int refuse_at;
static atomic_int allocations;

static void *refusing(void *ptr, size_t old_size, size_t new_size, void *user)
{
    (void)old_size;
    (void)user;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    if (atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&refuse_at))
        return NULL;
    return realloc(ptr, new_size);
}

/* The host's allocator refuses once, at any place of an open. */
START_TEST(any_allocation_fails)
{
    kl_config *config;
    kl_storage *s;
    int rc;

    ck_assert_int_eq(kl_config_new(&config, refusing, NULL), 0);
    for (int number = 1;; number++) {
        int is_over;

        atomic_store(&allocations, 0);
        atomic_store(&refuse_at, number);
        rc = _i ? kl_storage_new_memory(&s, config, 0)
                : kl_storage_new(&s, config);
        if (rc) {
            ck_assert_int_eq(rc, KL_ENOMEM);
            ck_assert_ptr_null(s);
            continue;
        }
        if (!_i)
            host_storage_fill(&host, s, HOST_CALLS);
        kl_storage_free(storage);
        storage = s;
        node_new("1");
        rc = kl_node_open(h.node, _i ? "/m" : dir, KL_OPEN_CREATE);
        is_over = atomic_load(&allocations) < number;
        atomic_store(&refuse_at, 0);
        if (rc) {
            ck_assert_int_eq(rc, KL_ENOMEM);
            ck_assert_int_eq(
                kl_node_open(h.node, _i ? "/m" : dir, KL_OPEN_CREATE), 0);
        }
        node_crash();
        if (is_over)
            break;
    }
    kl_config_free(config);
}
END_TEST

static void memory_storage(uint64_t capacity)
{
    kl_storage_free(storage);
    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, capacity), 0);
    snprintf(dir, sizeof dir, "store");
}

START_TEST(memory_keeps_what_a_crash_leaves)
{
    kl_node *other;

    memory_storage(0);
    node_open("4");
    help_topic(&h, "t", 1, NULL);
    produce("t", 1000);
    ck_assert_int_eq(kl_node_new(&other, NULL), 0);
    ck_assert_int_eq(kl_node_set_storage(other, storage), 0);
    ck_assert_int_eq(kl_node_open(other, dir, 0), KL_EBUSY);
    ck_assert_int_eq(kl_node_open(other, "no", 0), KL_ENOSTORE);
    ck_assert_int_eq(kl_node_open(other, "no/no", KL_OPEN_CREATE), KL_ENOENT);
    kl_node_free(other);
    node_crash();
    node_open("4");
    help_check_values(&h, "t", 0, "t", 1000);
    node_crash();
    /* Another storage is another disk. */
    memory_storage(0);
    node_new("4");
    ck_assert_int_eq(kl_node_open(h.node, dir, 0), KL_ENOSTORE);
    node_crash();
}
END_TEST

START_TEST(memory_has_a_capacity)
{
    memory_storage(200 << 10);
    node_new("4");
    ck_assert_int_eq(kl_node_open(h.node, dir, KL_OPEN_CREATE), KL_EDISKFULL);
    node_errmsg_has(h.node, dir);
    ck_assert_int_eq(kl_node_open(h.node, dir, 0), KL_ENOSTORE);
    memory_storage(8 << 20);
    node_crash();
    node_open("4");
    help_topic(&h, "t", 1, NULL);
    produce("t", 100);
    help_check_values(&h, "t", 0, "t", 100);
}
END_TEST

Suite *suite_api_storage(void);

Suite *suite_api_storage(void)
{
    Suite *s = suite_create("api_storage");
    TCase *tc = tcase_create("storage");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, misuse_of_null);
    tcase_add_loop_test(tc, a_missing_function_is_named, 0, HOST_CALLS);
    tcase_add_test(tc, nothing_is_set_after_open);
    tcase_add_test(tc, nothing_of_memory_is_set);
    tcase_add_loop_test(tc, records_are_there_after_a_crash, 0, 2);
    tcase_add_test(tc, the_real_files_are_the_same);
    tcase_add_test(tc, the_handle_may_go_first);
    tcase_add_test(tc, nodes_share_a_storage);
    tcase_add_test(tc, one_thread_is_one_call);
    tcase_add_test(tc, short_reads);
    tcase_add_test(tc, open_files_keep_their_names);
    tcase_add_test(tc, a_wrong_code_is_told_by_its_number);
    tcase_add_test(tc, any_call_of_open_fails);
    tcase_add_test(tc, a_failed_sync_is_the_end);
    tcase_add_loop_test(tc, reentry_from_a_thread_of_the_library, 0, 2);
    tcase_add_test(tc, reentry_during_open);
    tcase_add_loop_test(tc, any_allocation_fails, 0, 2);
    tcase_add_test(tc, memory_keeps_what_a_crash_leaves);
    tcase_add_test(tc, memory_has_a_capacity);
    suite_add_tcase(s, tc);
    return s;
}
