/*
 * A full disk as a program sees it: records are refused, those that were
 * acknowledged can be read, and after a deletion there is room again. In
 * memory, and on a real file system that is as small.
 */
#include "pubsub_help.h"
#include "small_fs.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPACITY = 4 << 20, ENOUGH = 64 << 20, VALUE = 4000 };

static int is_real; /* the file system */
static struct small_fs fs;
static kl_storage *storage; /* otherwise */
static struct help_node h;
static kl_producer *producer;

static const char *const segments[] = {"segment.bytes", "64k", NULL};

static void open_node(const kl_config *config, uint32_t flags)
{
    char path[sizeof fs.path + 8] = "store";

    if (is_real)
        snprintf(path, sizeof path, "%s/store", fs.path);
    ck_assert_int_eq(kl_node_new(&h.node, config), 0);
    if (!is_real)
        ck_assert_int_eq(kl_node_set_storage(h.node, storage), 0);
    ck_assert_int_eq(kl_node_open(h.node, path, flags), 0);
    ck_assert_int_eq(kl_node_client(h.node, &h.client), 0);
    producer = help_producer(&h, NULL);
}

static void close_node(void)
{
    kl_producer_free(producer);
    ck_assert_int_eq(kl_node_stop(h.node, HELP_WAIT_MS), 0);
    kl_node_free(h.node);
    kl_client_free(h.client);
}

static void setup_with(uint64_t capacity, const char *limit)
{
    const char *const node[] = {"wal.bytes", "256k", "store.bytes.max", limit,
                                NULL};
    kl_config *config = help_config(node);

    memset(&h, 0, sizeof h);
    if (is_real)
        ck_assert_int_eq(small_fs_mount(&fs, capacity), 0);
    else
        ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, capacity), 0);
    open_node(config, KL_OPEN_CREATE);
    kl_config_free(config);
    help_topic(&h, "kept", 1, segments);
    help_topic(&h, "deleted", 1, segments);
}

static void setup(void)
{
    is_real = 0;
    setup_with(CAPACITY, "0");
}

static void setup_real(void)
{
    is_real = 1;
    setup_with(CAPACITY, "0");
}

static void teardown(void)
{
    close_node();
    if (is_real)
        small_fs_unmount(&fs);
    else
        kl_storage_free(storage);
}

static void value_of(int number, char value[VALUE])
{
    memset(value, 'a' + number % 26, VALUE);
    snprintf(value, VALUE, "%d", number);
}

static int send_value(const char *topic, int number)
{
    char value[VALUE];
    kl_op *op;

    value_of(number, value);
    ck_assert_int_eq(kl_producer_send(producer, topic, 0, NULL, 0, value, VALUE,
                                      KL_TIMESTAMP_NOW, 0, &op),
                     0);
    return help_finish(op);
}

/* How many records fit. */
static int fill(const char *topic, int number)
{
    int code;

    while ((code = send_value(topic, number)) == 0)
        number++;
    ck_assert_int_eq(code, KL_EDISKFULL);
    return number;
}

static void expect(const char *topic, int count)
{
    kl_consumer *c = help_consumer(&h, NULL);
    char want[VALUE];

    ck_assert_int_eq(kl_consumer_assign(c, topic, 0, KL_OFFSET_BEGIN, 0), 0);
    for (int i = 0; i < count;) {
        kl_event *e = help_poll_records(c);
        const kl_record *r;

        while (kl_event_next(e, &r) == KL_OK) {
            size_t size;
            const char *value = kl_record_value(r, &size);

            value_of(i, want);
            ck_assert_uint_eq(size, VALUE);
            ck_assert_mem_eq(value, want, VALUE);
            ck_assert_int_eq(kl_record_offset(r), i);
            i++;
        }
        kl_event_free(e);
    }
    kl_consumer_free(c);
}

static int create(const char *topic)
{
    kl_op *op;

    ck_assert_int_eq(kl_admin_create_topic(h.client, topic, 1, 1, NULL, 0, &op),
                     0);
    return help_finish(op);
}

static int is_full(void)
{
    static char text[16384];
    size_t size;

    ck_assert_int_eq(kl_node_stats_json(h.node, text, sizeof text, &size), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"refusals\":"));
    return strstr(text, "\"full\":1,") != NULL;
}

static void wait_for_room(void)
{
    for (int i = 0; is_full(); i++) {
        ck_assert_int_lt(i, 10000);
        ck_assert_int_eq(kl_node_poll(h.node, 100), 0);
    }
}

START_TEST(deleting_a_topic_makes_room)
{
    int count = fill("deleted", 0) / 2;
    kl_op *op;

    ck_assert(is_full());
    ck_assert_int_gt(count, 100);
    expect("deleted", 2 * count);
    ck_assert_int_eq(send_value("kept", 0), KL_EDISKFULL);
    ck_assert_int_eq(create("new"), KL_EDISKFULL);
    ck_assert_int_eq(kl_admin_delete_topic(h.client, "deleted", 0, &op), 0);
    ck_assert_int_eq(help_finish(op), 0);
    wait_for_room();
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(send_value("kept", i), 0);
    ck_assert_int_eq(create("new"), 0);
    expect("kept", count);
}
END_TEST

START_TEST(deleting_records_makes_room)
{
    int count = fill("kept", 0);
    kl_op *op;

    expect("kept", count);
    ck_assert_int_eq(
        kl_admin_delete_before(h.client, "kept", 0, KL_OFFSET_END, 0, &op), 0);
    ck_assert_int_eq(help_finish(op), 0);
    wait_for_room();
    ck_assert_int_eq(send_value("kept", count), 0);
}
END_TEST

/* A program that asks nothing of single records hears it from flush. */
START_TEST(flush_tells)
{
    char value[VALUE], text[256] = "";
    int rc = 0;

    for (int i = 0; !text[0]; i++) {
        value_of(i, value);
        do {
            rc = kl_producer_send(producer, "kept", 0, NULL, 0, value, VALUE,
                                  KL_TIMESTAMP_NOW, 0, NULL);
        } while (rc == KL_EAGAIN &&
                 kl_producer_wait(producer, HELP_WAIT_MS) == 0);
        ck_assert_int_eq(rc, 0);
        ck_assert_int_lt(i, 100000);
        kl_producer_errmsg(producer, text, sizeof text);
    }
    ck_assert_int_eq(kl_producer_flush(producer, HELP_WAIT_MS), KL_EDISKFULL);
    ck_assert_ptr_nonnull(strstr(text, "no space left"));
}
END_TEST

START_TEST(full_store_is_closed_and_opened)
{
    int count = fill("kept", 0);

    close_node();
    open_node(NULL, 0);
    ck_assert(is_full());
    ck_assert_int_eq(send_value("kept", 0), KL_EDISKFULL);
    expect("kept", count);
}
END_TEST

/* The same by configuration, on a disk without end. */
START_TEST(limit_is_like_a_full_disk)
{
    int count;
    kl_op *op;

    teardown();
    setup_with(ENOUGH, "3m");
    count = fill("deleted", 0);
    ck_assert_int_gt(count, 100);
    ck_assert_int_lt(count, 3 * (1 << 20) / VALUE);
    expect("deleted", count);
    ck_assert_int_eq(create("new"), KL_EDISKFULL);
    ck_assert_int_eq(kl_admin_delete_topic(h.client, "deleted", 0, &op), 0);
    ck_assert_int_eq(help_finish(op), 0);
    wait_for_room();
    ck_assert_int_eq(send_value("kept", 0), 0);
    expect("kept", 1);
}
END_TEST

static int64_t start_of(const char *topic)
{
    int64_t offset;
    kl_op *op;

    ck_assert_int_eq(
        kl_admin_list_offset(h.client, topic, 0, KL_OFFSET_BEGIN, 0, 0, &op),
        0);
    ck_assert_int_eq(kl_op_wait(op, HELP_WAIT_MS), 0);
    ck_assert_int_eq(kl_op_offset(op, &offset), 0);
    kl_op_free(op);
    return offset;
}

/* Records wait instead of being refused, and the oldest go. */
START_TEST(topic_that_drops_its_oldest)
{
    static const char *const drop[] = {"segment.bytes", "64k", "full",
                                       "drop-oldest", NULL};
    kl_event *e;
    const kl_record *r;
    kl_consumer *c;
    int64_t start;

    if (_i) {
        teardown();
        setup_with(ENOUGH, "3m");
    }
    help_topic(&h, "ring", 1, drop);
    for (int i = 0; i < 2000; i++)
        ck_assert_int_eq(send_value("ring", i), 0);
    start = start_of("ring");
    ck_assert_int_gt(start, 500);
    ck_assert_int_lt(start, 2000);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "ring", 0, KL_OFFSET_BEGIN, 0), 0);
    while (start < 2000) {
        e = help_poll_records(c);
        while (kl_event_next(e, &r) == KL_OK) {
            int64_t offset = kl_record_offset(r);

            if (offset < start)
                continue;
            /* It may still drop: what is not there is below the start. */
            if (offset > start)
                ck_assert_int_le(offset, start_of("ring"));
            start = offset + 1;
        }
        kl_event_free(e);
    }
    kl_consumer_free(c);
}
END_TEST

/* ---- a real file system alone -------------------------------------------- */

/* Another program's file takes all the room, or leaves. */
static void fill_up(void)
{
    static const char block[65536];
    char path[sizeof fs.path + 8];
    int fd;

    snprintf(path, sizeof path, "%s/other", fs.path);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    while (write(fd, block, sizeof block) > 0) {
    }
    close(fd);
}

static void clear_up(void)
{
    char path[sizeof fs.path + 8];

    snprintf(path, sizeof path, "%s/other", fs.path);
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(another_program_takes_the_room)
{
    int count = 0;

    for (int round = 0; round < 2; round++) {
        fill_up();
        count = fill("kept", count);
        expect("kept", count);
        ck_assert_int_eq(create("new"), KL_EDISKFULL);
        clear_up();
        wait_for_room();
        for (int i = 0; i < 100; i++)
            ck_assert_int_eq(send_value("kept", count++), 0);
    }
    expect("kept", count);
}
END_TEST

/* A process that fills the store and is killed: how many records it was told
 * are there. */
static int fill_and_die(void)
{
    int ends[2], count;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        open_node(NULL, 0);
        count = fill("kept", 0);
        if (write(ends[1], &count, sizeof count) == sizeof count)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &count, sizeof count), sizeof count);
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    return count;
}

START_TEST(killed_while_it_is_full)
{
    int count;

    fill_up();
    close_node();
    count = fill_and_die();
    open_node(NULL, 0);
    expect("kept", count);
    ck_assert_int_eq(send_value("kept", count), KL_EDISKFULL);
    clear_up();
    wait_for_room();
    ck_assert_int_eq(send_value("kept", count), 0);
    expect("kept", count + 1);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, deleting_a_topic_makes_room);
    tcase_add_test(t, deleting_records_makes_room);
    tcase_add_test(t, flush_tells);
    tcase_add_test(t, full_store_is_closed_and_opened);
    tcase_add_test(t, limit_is_like_a_full_disk);
    tcase_add_loop_test(t, topic_that_drops_its_oldest, 0, 2);
}

Suite *suite_api_full(void);

Suite *suite_api_full(void)
{
    Suite *suite = suite_create("api_full");
    TCase *t = tcase_create("full");
    int code = small_fs_mount(&fs, CAPACITY);

    tcase_add_checked_fixture(t, setup, teardown);
    add_tests(t);
    suite_add_tcase(suite, t);
    if (code) {
        printf("full: no file system can be mounted here: %s: the tests of a "
               "real one are skipped\n",
               strerror(code));
        return suite;
    }
    small_fs_unmount(&fs);
    t = tcase_create("real");
    tcase_add_checked_fixture(t, setup_real, teardown);
    add_tests(t);
    tcase_add_test(t, another_program_takes_the_room);
    tcase_add_test(t, killed_while_it_is_full);
    suite_add_tcase(suite, t);
    return suite;
}
