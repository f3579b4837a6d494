/*
 * Nodes from outside, on real files.
 */
#include "api_fixture.h"

#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct api_fixture f;

static void setup(void)
{
    api_fixture_init(&f);
}

static void teardown(void)
{
    api_fixture_deinit(&f);
}

static int state(const kl_node *node)
{
    int s = -1;

    ck_assert_int_eq(kl_node_state(node, &s), 0);
    return s;
}

START_TEST(misuse_of_null)
{
    char text[8];
    int64_t ns;
    int32_t id;
    int fd;

    ck_assert_int_eq(kl_node_new(NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_open(NULL, f.dir, 0), KL_EINVAL);
    ck_assert_int_eq(kl_node_open(f.node, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_node_open(f.node, "", 0), KL_EINVAL);
    ck_assert_int_eq(kl_node_open(f.node, f.dir, 4), KL_EINVAL);
    ck_assert_int_eq(kl_node_start(NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_poll(NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_node_fd(NULL, &fd), KL_EINVAL);
    ck_assert_int_eq(kl_node_fd(f.node, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_deadline(NULL, &ns), KL_EINVAL);
    ck_assert_int_eq(kl_node_deadline(f.node, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_stop(NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_node_state(NULL, &fd), KL_EINVAL);
    ck_assert_int_eq(kl_node_state(f.node, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_verdict(NULL, &fd), KL_EINVAL);
    ck_assert_int_eq(kl_node_verdict(f.node, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_id(NULL, &id), KL_EINVAL);
    ck_assert_int_eq(kl_node_id(f.node, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_errmsg(NULL, text, 8), KL_EINVAL);
    ck_assert_int_eq(kl_node_errmsg(f.node, NULL, 8), KL_EINVAL);
    ck_assert_int_eq(kl_node_errmsg(f.node, text, 0), KL_EINVAL);
    ck_assert_int_eq(kl_node_client(NULL, &f.client), KL_EINVAL);
    ck_assert_int_eq(kl_node_client(f.node, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_stats_json(NULL, text, 8, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_stats_json(f.node, NULL, 8, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_node_stats_prometheus(NULL, text, 8, NULL), KL_EINVAL);
    kl_node_free(NULL);
}
END_TEST

START_TEST(open_states)
{
    kl_node *other = NULL;
    char text[256];
    int32_t id = 0;
    int verdict = -1;

    ck_assert_int_eq(state(f.node), KL_NODE_OPEN);
    ck_assert_int_eq(kl_node_id(f.node, &id), 0);
    ck_assert_int_eq(id, 1);
    ck_assert_int_eq(kl_node_open(f.node, f.dir, 0), KL_ESTATE);
    ck_assert_int_eq(kl_node_new(&other, f.config), 0);
    ck_assert_int_eq(kl_node_id(other, &id), KL_ESTATE);
    ck_assert_int_eq(kl_node_verdict(other, &verdict), KL_ESTATE);
    ck_assert_int_eq(kl_node_verdict(f.node, &verdict), KL_OK);
    ck_assert_int_eq(verdict, KL_VERDICT_INTACT);
    ck_assert_int_eq(kl_node_poll(other, 0), KL_ESTATE);
    ck_assert_int_eq(kl_node_start(other), KL_ESTATE);
    ck_assert_int_eq(kl_node_stop(other, 0), KL_ESTATE);
    ck_assert_int_eq(kl_node_open(other, f.dir, 0), KL_EBUSY);
    ck_assert_int_eq(state(other), KL_NODE_NEW);
    ck_assert_int_eq(kl_node_errmsg(other, text, sizeof text), 0);
    ck_assert_ptr_nonnull(strstr(text, f.dir));
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    ck_assert_int_eq(state(f.node), KL_NODE_STOPPED);
    ck_assert_int_eq(kl_node_poll(f.node, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_node_stop(f.node, 0), 0);
    /* The folder is free for the other one, which is still usable. */
    ck_assert_int_eq(kl_node_open(other, f.dir, 0), 0);
    kl_node_free(other);
}
END_TEST

START_TEST(handles_in_any_order)
{
    kl_op *op = NULL;
    int32_t count;

    api_fixture_topic(&f, "t", 1);
    ck_assert_int_eq(kl_admin_list_topics(f.client, 0, &op), 0);
    kl_node_free(f.node);
    f.node = NULL;
    ck_assert_int_eq(kl_op_done(op), 1);
    ck_assert_int_eq(kl_op_code(op), KL_ECLOSED);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count),
                     KL_ECLOSED);
    kl_client_free(f.client);
    f.client = NULL;
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    kl_op_free(op);
}
END_TEST

START_TEST(own_thread)
{
    kl_op *op = NULL;
    int64_t ns;

    ck_assert_int_eq(kl_node_start(f.node), 0);
    ck_assert_int_eq(kl_node_start(f.node), KL_ESTATE);
    ck_assert_int_eq(kl_node_poll(f.node, 0), KL_EOWNER);
    ck_assert_int_eq(kl_node_deadline(f.node, &ns), KL_EOWNER);
    api_fixture_topic(&f, "t", 1);
    ck_assert_int_eq(kl_admin_list_topics(f.client, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
}
END_TEST

/* A host's own loop: descriptor and deadline, no other way in. */
START_TEST(host_loop)
{
    struct pollfd p = {.events = POLLIN};
    kl_op *op = NULL;

    ck_assert_int_eq(kl_node_fd(f.node, &p.fd), 0);
    ck_assert_int_eq(kl_admin_create_topic(f.client, "t", 3, 1, NULL, 0, &op),
                     0);
    while (!kl_op_done(op)) {
        int64_t ns = 0;

        ck_assert_int_eq(kl_node_deadline(f.node, &ns), 0);
        ck_assert_int_ge(
            poll(&p, 1, ns < 0 ? -1 : (int)((ns + 999999) / 1000000)), 0);
        ck_assert_int_eq(kl_node_poll(f.node, 0), 0);
    }
    ck_assert_int_eq(kl_op_code(op), 0);
    kl_op_free(op);
}
END_TEST

static int thread_code;

static void *poll_main(void *user)
{
    thread_code = kl_node_poll(user, 0);
    return NULL;
}

START_TEST(poll_by_another_thread)
{
    pthread_t thread;

    ck_assert_int_eq(kl_node_poll(f.node, 0), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, poll_main, f.node), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(thread_code, KL_EOWNER);
}
END_TEST

static int reentry_codes[4];
static int called;

static void reenter(kl_op *op, void *user)
{
    kl_node *node = user;

    reentry_codes[0] = kl_node_poll(node, 0);
    reentry_codes[1] = kl_node_stop(node, 0);
    reentry_codes[2] = kl_op_wait(op, 0);
    kl_node_free(node);
    called++;
}

START_TEST(reentry)
{
    kl_op *op = NULL;

    ck_assert_int_eq(kl_admin_list_topics(f.client, 0, &op), 0);
    ck_assert_int_eq(kl_op_set_callback(op, reenter, f.node), 0);
    while (!called)
        ck_assert_int_eq(kl_node_poll(f.node, -1), 0);
    ck_assert_int_eq(reentry_codes[0], KL_EREENTRY);
    ck_assert_int_eq(reentry_codes[1], KL_EREENTRY);
    ck_assert_int_eq(reentry_codes[2], 0);
    kl_op_free(op);
    ck_assert_int_eq(state(f.node), KL_NODE_OPEN);
}
END_TEST

/* What a child of fork gets: a code from everything, and the parent's files
 * untouched. */
static int child_main(void)
{
    char text[64];
    int64_t ns;
    kl_op *op;

    if (kl_node_poll(f.node, 0) != KL_EFORK)
        return 1;
    if (kl_node_deadline(f.node, &ns) != KL_EFORK)
        return 2;
    if (kl_node_stop(f.node, -1) != KL_EFORK)
        return 3;
    if (kl_node_start(f.node) != KL_EFORK)
        return 4;
    if (kl_admin_list_topics(f.client, 0, &op) != KL_EFORK)
        return 5;
    if (kl_node_stats_json(f.node, text, sizeof text, NULL) != KL_EFORK)
        return 6;
    kl_node_free(f.node);
    return 0;
}

START_TEST(fork_is_noticed)
{
    int status = -1;
    pid_t pid;

    ck_assert_int_eq(kl_node_start(f.node), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(child_main());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    api_fixture_topic(&f, "t", 1);
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
}
END_TEST

START_TEST(stats_are_text)
{
    char small[4];
    char *text;
    size_t size = 0;
    size_t again = 0;

    ck_assert_int_eq(kl_node_stats_json(f.node, NULL, 0, &size), 0);
    ck_assert_uint_gt(size, 100);
    ck_assert_int_eq(kl_node_stats_json(f.node, small, 4, NULL), 0);
    ck_assert_str_eq(small, "{\"n");
    text = malloc(2 * size);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(kl_node_stats_json(f.node, text, 2 * size, &again), 0);
    ck_assert_uint_eq(strlen(text), again);
    free(text);
    ck_assert_int_eq(kl_node_stats_prometheus(f.node, NULL, 0, &size), 0);
    ck_assert_uint_gt(size, 100);
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    ck_assert_int_eq(kl_node_stats_json(f.node, NULL, 0, &size), KL_ECLOSED);
}
END_TEST

/* An acknowledged topic is there after a crash stop. */
START_TEST(free_without_stop)
{
    int32_t count = 0;

    api_fixture_topic(&f, "t", 7);
    api_fixture_reopen(&f);
    ck_assert_int_eq(kl_client_partition_count(f.client, "t", &count), 0);
    ck_assert_int_eq(count, 7);
}
END_TEST

Suite *suite_api_node(void);

Suite *suite_api_node(void)
{
    Suite *s = suite_create("api_node");
    TCase *t = tcase_create("node");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, misuse_of_null);
    tcase_add_test(t, open_states);
    tcase_add_test(t, handles_in_any_order);
    tcase_add_test(t, own_thread);
    tcase_add_test(t, host_loop);
    tcase_add_test(t, poll_by_another_thread);
    tcase_add_test(t, reentry);
    tcase_add_test(t, fork_is_noticed);
    tcase_add_test(t, stats_are_text);
    tcase_add_test(t, free_without_stop);
    suite_add_tcase(s, t);
    return s;
}
