/*
 * embed-loop DIR TOPIC: a program with a loop of its own drives the node.
 *
 * One thread, one poll(2): it waits for standard input, for the node's
 * descriptor, and for the nearer of two deadlines, the node's and its own (a
 * line of statistics every second). Every line of standard input becomes a
 * record; its acknowledgement comes as a callback from kl_node_poll.
 */
#include <errno.h>
#include <kraftlog/kraftlog.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOP_BUFFER = 64 * 1024, LOOP_TICK_MS = 1000 };

struct loop
{
    const char *topic;
    kl_node *node;
    kl_client *client;
    kl_producer *producer;
    uint64_t sent;
    uint64_t acknowledged;
    uint64_t failed;
    int64_t next_tick_ms;
    int at_end;     /* of standard input */
    int is_stalled; /* the producer is full: no more input for now */
    size_t size;    /* bytes in buf */
    char buf[LOOP_BUFFER];
};

static int64_t loop_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the timer of the program ------------------------------------------ */

static void loop_tick(struct loop *l)
{
    if (loop_now_ms() < l->next_tick_ms)
        return;
    l->next_tick_ms += LOOP_TICK_MS;
    fprintf(stderr, "embed-loop: %llu sent, %llu acknowledged\n",
            (unsigned long long)l->sent, (unsigned long long)l->acknowledged);
}

/* ---- the source of the program ----------------------------------------- */

/* Called inside kl_node_poll. The handle was given up when the record was sent,
 * so that there is nothing to free. */
static void loop_acknowledged(kl_op *op, void *user)
{
    struct loop *l = user;
    int code = kl_op_code(op);

    if (code == KL_OK) {
        l->acknowledged++;
        return;
    }
    l->failed++;
    fprintf(stderr, "embed-loop: not written: %s\n", kl_strerror(code));
}

static int loop_send(struct loop *l, const char *line, size_t size)
{
    kl_op *op = NULL;
    int rc = kl_producer_send(l->producer, l->topic, KL_PARTITION_ANY, NULL, 0,
                              line, size, KL_TIMESTAMP_NOW, 0, &op);

    if (rc != KL_OK)
        return rc;
    l->sent++;
    rc = kl_op_set_callback(op, loop_acknowledged, l);
    kl_op_free(op);
    return rc;
}

/* Sends the whole lines of the buffer. A line that fills it is cut. */
static int loop_send_lines(struct loop *l)
{
    size_t begin = 0;
    int rc = KL_OK;

    l->is_stalled = 0;
    while (begin < l->size) {
        const char *line = l->buf + begin;
        const char *feed = memchr(line, '\n', l->size - begin);
        size_t size = feed ? (size_t)(feed - line) : l->size - begin;

        if (!feed && !l->at_end && size < sizeof l->buf)
            break;
        rc = loop_send(l, line, size);
        if (rc != KL_OK)
            break;
        begin += size + (feed != NULL);
    }
    memmove(l->buf, l->buf + begin, l->size - begin);
    l->size -= begin;
    if (rc != KL_EAGAIN)
        return rc;
    /* Acknowledgements make room: try again after the next turn. */
    l->is_stalled = 1;
    return KL_OK;
}

static int loop_read(struct loop *l)
{
    ssize_t n = read(STDIN_FILENO, l->buf + l->size, sizeof l->buf - l->size);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? KL_OK : KL_EIO;
    l->size += (size_t)n;
    l->at_end = n == 0;
    return loop_send_lines(l);
}

/* ---- the loop ---------------------------------------------------------- */

/* Milliseconds for poll(2): to the nearer of the two deadlines, rounded up so
 * that the loop does not spin before one. */
static int loop_timeout(int64_t node_ns, int64_t tick_ms)
{
    int64_t wait_ms = tick_ms - loop_now_ms();

    if (node_ns >= 0 && (node_ns + 999999) / 1000000 < wait_ms)
        wait_ms = (node_ns + 999999) / 1000000;
    return wait_ms > 0 ? (int)wait_ms : 0;
}

static int loop_turn(struct loop *l)
{
    struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};
    int64_t node_ns;
    int rc = kl_node_deadline(l->node, &node_ns);

    if (rc == KL_OK)
        rc = kl_node_fd(l->node, &fds[0].fd);
    if (rc != KL_OK)
        return rc;
    fds[1].fd = l->at_end || l->is_stalled ? -1 : STDIN_FILENO;
    if (poll(fds, 2, loop_timeout(node_ns, l->next_tick_ms)) < 0 &&
        errno != EINTR)
        return KL_EIO;
    loop_tick(l);
    if (fds[1].revents != 0)
        rc = loop_read(l);
    if (rc == KL_OK)
        rc = kl_node_poll(l->node, 0);
    if (rc == KL_OK && l->is_stalled)
        rc = loop_send_lines(l);
    return rc;
}

static int loop_run(struct loop *l)
{
    int rc = KL_OK;

    l->next_tick_ms = loop_now_ms() + LOOP_TICK_MS;
    while (rc == KL_OK && !(l->at_end && l->size == 0 &&
                            l->acknowledged + l->failed == l->sent))
        rc = loop_turn(l);
    return rc;
}

/* ---- beginning and end ------------------------------------------------- */

/* A topic that is there already will do. */
static int loop_create_topic(struct loop *l)
{
    kl_op *op = NULL;
    int rc = kl_admin_create_topic(l->client, l->topic, 1, 1, NULL, 0, &op);

    /* No loop yet: this polls the node until the topic is there. */
    if (rc == KL_OK)
        rc = kl_op_wait(op, -1);
    if (rc == KL_OK && kl_op_code(op) != KL_ETOPICEXISTS)
        rc = kl_op_code(op);
    kl_op_free(op);
    return rc;
}

static int loop_open(struct loop *l, const char *dir)
{
    int rc = kl_node_new(&l->node, NULL);

    if (rc == KL_OK)
        rc = kl_node_open(l->node, dir, KL_OPEN_CREATE);
    if (rc == KL_OK)
        rc = kl_node_client(l->node, &l->client);
    if (rc == KL_OK)
        rc = loop_create_topic(l);
    if (rc == KL_OK)
        rc = kl_producer_new(&l->producer, l->client, NULL);
    return rc;
}

int main(int argc, char **argv)
{
    static struct loop l;
    int rc;

    if (argc != 3) {
        fprintf(stderr, "usage: embed-loop DIR TOPIC <lines\n");
        return 2;
    }
    l.topic = argv[2];
    rc = loop_open(&l, argv[1]);
    if (rc == KL_OK)
        rc = loop_run(&l);
    if (rc == KL_OK)
        rc = kl_node_stop(l.node, -1);
    if (rc != KL_OK)
        fprintf(stderr, "embed-loop: %s\n", kl_strerror(rc));
    else
        printf("%llu records acknowledged\n",
               (unsigned long long)l.acknowledged);
    kl_producer_free(l.producer);
    kl_client_free(l.client);
    kl_node_free(l.node);
    return rc != KL_OK || l.failed > 0;
}
