/*
 * custom-transport: nodes that talk over TCP sockets of the program's own.
 *
 * Each node has a kl_transport with a thread beside it that waits for sockets.
 * The node's functions never touch one: they leave what they want in the
 * connection, under a mutex, and wake the thread. The mutex may be held while
 * something is told to the transport, because that calls nothing back.
 *
 * Three such nodes in memory become a cluster, and the program prints what it
 * says of itself. A real network would be encrypted, and would let nobody in
 * but the nodes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <kraftlog/kraftlog.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    NODES = 3,
    TCP_CONNECTIONS = 32,
    TCP_READ = 64 * 1024,
    TCP_QUEUE = 256 * 1024, /* bytes that wait for one connection */
    TCP_ENDPOINT = 32,
    RETRY_MS = 10,
    STOP_MS = 1000
};

struct connection
{
    int fd; /* -1: nothing is here */
    uint64_t link;
    int is_connecting;
    int is_over;   /* the node wants no more of it; what is left goes out */
    int is_paused; /* the node's inbox is full */
    int is_full;   /* the node waits for room */
    char *out;
    size_t out_size;
    size_t out_sent;
    char *in; /* what the node has not taken */
    size_t in_size;
};

struct tcp
{
    kl_transport *transport;
    int listener;
    char endpoint[TCP_ENDPOINT];
    int wake[2]; /* a pipe */
    pthread_t thread;
    pthread_mutex_t mutex; /* of everything below */
    int is_ending;
    struct connection all[TCP_CONNECTIONS];
};

/* ---- what the node calls: in its owner's thread -------------------------- */

static void tcp_wake(struct tcp *t)
{
    /* A full pipe wakes, too. */
    if (write(t->wake[1], "", 1) < 0)
        return;
}

static struct connection *tcp_find(struct tcp *t, uint64_t link)
{
    for (int i = 0; i < TCP_CONNECTIONS; i++)
        if (t->all[i].fd >= 0 && t->all[i].link == link)
            return &t->all[i];
    return NULL;
}

/* A place for a socket, which is closed where there is none. */
static struct connection *tcp_add(struct tcp *t, int fd)
{
    const int one = 1;

    for (int i = 0; i < TCP_CONNECTIONS; i++) {
        struct connection *c = &t->all[i];

        if (c->fd >= 0)
            continue;
        memset(c, 0, sizeof *c);
        c->fd = fd;
        fcntl(fd, F_SETFL, O_NONBLOCK);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        return c;
    }
    close(fd);
    return NULL;
}

static int tcp_address(const char *endpoint, struct sockaddr_in *out)
{
    char host[TCP_ENDPOINT];
    unsigned port;

    memset(out, 0, sizeof *out);
    if (sscanf(endpoint, "%31[0-9.]:%5u", host, &port) != 2 || port > 65535 ||
        inet_pton(AF_INET, host, &out->sin_addr) != 1)
        return KL_EINVAL;
    out->sin_family = AF_INET;
    out->sin_port = htons((uint16_t)port);
    return KL_OK;
}

static int tcp_connect(uint64_t link, int32_t node_id, const char *endpoint,
                       void *user)
{
    struct tcp *t = user;
    struct connection *c;
    struct sockaddr_in address;
    int fd;

    (void)node_id;
    if (tcp_address(endpoint, &address) != KL_OK)
        return KL_EINVAL;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return KL_ENOFILES;
    pthread_mutex_lock(&t->mutex);
    c = tcp_add(t, fd);
    if (c) {
        c->link = link;
        c->is_connecting = 1;
        /* How it ends is seen by the thread, whatever connect says. */
        (void)connect(fd, (struct sockaddr *)&address, sizeof address);
    }
    pthread_mutex_unlock(&t->mutex);
    tcp_wake(t);
    return c ? KL_OK : KL_EAGAIN;
}

static int tcp_append(struct connection *c, const void *data, size_t size)
{
    char *out;

    /* One message always has room, however large it is. */
    if (c->out_size && c->out_size + size > TCP_QUEUE) {
        c->is_full = 1;
        return KL_EAGAIN;
    }
    out = realloc(c->out, c->out_size + size);
    if (!out)
        return KL_ENOMEM;
    memcpy(out + c->out_size, data, size);
    c->out = out;
    c->out_size += size;
    return KL_OK;
}

static int tcp_send(uint64_t link, const void *data, size_t size, void *user)
{
    struct tcp *t = user;
    struct connection *c;
    int rc = KL_ECLOSED;

    pthread_mutex_lock(&t->mutex);
    c = tcp_find(t, link);
    if (c && !c->is_over)
        rc = tcp_append(c, data, size);
    pthread_mutex_unlock(&t->mutex);
    tcp_wake(t);
    return rc;
}

static void tcp_disconnect(uint64_t link, void *user)
{
    struct tcp *t = user;
    struct connection *c;

    pthread_mutex_lock(&t->mutex);
    c = tcp_find(t, link);
    if (c)
        c->is_over = 1;
    pthread_mutex_unlock(&t->mutex);
    tcp_wake(t);
}

static void tcp_resume(uint64_t link, void *user)
{
    struct tcp *t = user;
    struct connection *c;

    pthread_mutex_lock(&t->mutex);
    c = tcp_find(t, link);
    if (c)
        c->is_paused = 0;
    pthread_mutex_unlock(&t->mutex);
    tcp_wake(t);
}

/* ---- the thread: all under the mutex ------------------------------------- */

static void tcp_drop(struct tcp *t, struct connection *c)
{
    if (!c->is_over)
        kl_transport_down(t->transport, c->link);
    close(c->fd);
    free(c->out);
    free(c->in);
    c->fd = -1;
}

static void tcp_accept(struct tcp *t)
{
    int fd = accept(t->listener, NULL, NULL);
    struct connection *c = fd < 0 ? NULL : tcp_add(t, fd);

    if (!c)
        return;
    if (kl_transport_accept(t->transport, &c->link) != KL_OK) {
        c->is_over = 1;
        tcp_drop(t, c);
    }
}

/* Connected, or not. */
static void tcp_connected(struct tcp *t, struct connection *c)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error) {
        tcp_drop(t, c);
        return;
    }
    c->is_connecting = 0;
    kl_transport_up(t->transport, c->link);
}

static void tcp_write(struct tcp *t, struct connection *c)
{
    ssize_t n = send(c->fd, c->out + c->out_sent, c->out_size - c->out_sent,
                     MSG_NOSIGNAL);

    if (n < 0) {
        if (errno != EAGAIN)
            tcp_drop(t, c);
        return;
    }
    c->out_sent += (size_t)n;
    if (c->out_sent < c->out_size)
        return;
    free(c->out);
    c->out = NULL;
    c->out_size = c->out_sent = 0;
    if (c->is_full) {
        c->is_full = 0;
        kl_transport_writable(t->transport, c->link);
    }
}

/* Hands in what was read; what the node does not take now waits for resume. */
static void tcp_deliver(struct tcp *t, struct connection *c)
{
    int rc = kl_transport_deliver(t->transport, c->link, c->in, c->in_size);

    if (rc == KL_OK)
        c->in_size = 0;
    else if (rc == KL_EAGAIN)
        c->is_paused = 1;
    else
        tcp_drop(t, c);
}

static void tcp_read(struct tcp *t, struct connection *c)
{
    ssize_t n;

    if (!c->in)
        c->in = malloc(TCP_READ);
    n = c->in ? recv(c->fd, c->in, TCP_READ, 0) : 0;
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            tcp_drop(t, c);
        return;
    }
    c->in_size = (size_t)n;
    tcp_deliver(t, c);
}

/* What poll has seen of a connection, and what the node wants of it. */
static void tcp_serve(struct tcp *t, struct connection *c, int seen)
{
    if (c->is_over && (c->is_connecting || !c->out_size)) {
        tcp_drop(t, c);
        return;
    }
    if (c->is_connecting) {
        if (seen)
            tcp_connected(t, c);
        return;
    }
    if (seen & POLLOUT || (seen && c->is_over))
        tcp_write(t, c);
    if (c->fd < 0 || c->is_over)
        return;
    if (!c->in_size && seen & ~POLLOUT)
        tcp_read(t, c);
    else if (c->in_size && !c->is_paused)
        tcp_deliver(t, c);
}

/* Both ways at once: two nodes that only write would wait for each other. */
static struct pollfd tcp_wanted(const struct connection *c)
{
    struct pollfd p = {c->fd, 0, 0};

    if (c->is_connecting || c->out_size)
        p.events |= POLLOUT;
    if (!c->is_connecting && !c->is_over && !c->in_size)
        p.events |= POLLIN;
    if (!p.events)
        p.fd = -1; /* not even its end */
    return p;
}

static void *tcp_run(void *user)
{
    struct pollfd fds[TCP_CONNECTIONS + 2];
    struct tcp *t = user;
    char buf[64];

    pthread_mutex_lock(&t->mutex);
    while (!t->is_ending) {
        for (int i = 0; i < TCP_CONNECTIONS; i++)
            fds[i] = tcp_wanted(&t->all[i]);
        fds[TCP_CONNECTIONS] = (struct pollfd){t->listener, POLLIN, 0};
        fds[TCP_CONNECTIONS + 1] = (struct pollfd){t->wake[0], POLLIN, 0};
        pthread_mutex_unlock(&t->mutex);
        (void)poll(fds, TCP_CONNECTIONS + 2, -1);
        pthread_mutex_lock(&t->mutex);
        if (fds[TCP_CONNECTIONS + 1].revents && read(t->wake[0], buf, 64) < 0)
            break;
        /* Nothing was seen of what was added meanwhile. */
        for (int i = 0; i < TCP_CONNECTIONS; i++)
            if (t->all[i].fd >= 0)
                tcp_serve(t, &t->all[i], fds[i].revents);
        if (fds[TCP_CONNECTIONS].revents)
            tcp_accept(t);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

/* ---- beginning and end --------------------------------------------------- */

/* At a port that the system chooses. */
static int tcp_listen(struct tcp *t)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    t->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (t->listener < 0 ||
        bind(t->listener, (struct sockaddr *)&address, size) ||
        listen(t->listener, TCP_CONNECTIONS) ||
        getsockname(t->listener, (struct sockaddr *)&address, &size))
        return KL_EIO;
    snprintf(t->endpoint, sizeof t->endpoint, "127.0.0.1:%d",
             ntohs(address.sin_port));
    return KL_OK;
}

static int tcp_begin(struct tcp *t)
{
    int rc = kl_transport_new(&t->transport, NULL);

    for (int i = 0; i < TCP_CONNECTIONS; i++)
        t->all[i].fd = -1;
    if (rc == KL_OK)
        rc = kl_transport_set_connect(t->transport, tcp_connect, t);
    if (rc == KL_OK)
        rc = kl_transport_set_send(t->transport, tcp_send, t);
    if (rc == KL_OK)
        rc = kl_transport_set_disconnect(t->transport, tcp_disconnect, t);
    if (rc == KL_OK)
        rc = kl_transport_set_resume(t->transport, tcp_resume, t);
    if (rc == KL_OK)
        rc = tcp_listen(t);
    if (rc == KL_OK && pipe(t->wake))
        rc = KL_ENOFILES;
    if (rc != KL_OK)
        return rc;
    fcntl(t->wake[0], F_SETFL, O_NONBLOCK);
    fcntl(t->wake[1], F_SETFL, O_NONBLOCK);
    pthread_mutex_init(&t->mutex, NULL);
    return pthread_create(&t->thread, NULL, tcp_run, t) ? KL_ENOMEM : KL_OK;
}

/* When the node is stopped. */
static void tcp_end(struct tcp *t)
{
    pthread_mutex_lock(&t->mutex);
    t->is_ending = 1;
    pthread_mutex_unlock(&t->mutex);
    tcp_wake(t);
    pthread_join(t->thread, NULL);
    for (int i = 0; i < TCP_CONNECTIONS; i++)
        if (t->all[i].fd >= 0)
            tcp_drop(t, &t->all[i]);
    close(t->listener);
    close(t->wake[0]);
    close(t->wake[1]);
    pthread_mutex_destroy(&t->mutex);
    kl_transport_free(t->transport);
}

/* ---- the program --------------------------------------------------------- */

struct member
{
    struct tcp tcp;
    kl_node *node;
    kl_client *client;
};

static int member_open(struct member *m, int id, kl_storage *storage,
                       const char *bootstrap)
{
    kl_config *config;
    char folder[24];
    int failed =
        kl_config_new(&config, NULL, NULL) ||
        kl_config_set_int(config, "node.id", id) ||
        kl_config_set_int(config, "wal.bytes", 1 << 20) ||
        kl_config_set(config, "advertised.listeners", m->tcp.endpoint) ||
        kl_config_set(config, "controller.quorum.bootstrap.servers",
                      bootstrap) ||
        kl_node_new(&m->node, config);

    snprintf(folder, sizeof folder, "node-%d", id);
    kl_config_free(config);
    return failed || kl_node_set_storage(m->node, storage) ||
           kl_node_set_transport(m->node, m->tcp.transport) ||
           kl_node_open(m->node, folder,
                        KL_OPEN_CREATE | (*bootstrap ? KL_OPEN_JOIN : 0U)) ||
           kl_node_start(m->node) || kl_node_client(m->node, &m->client);
}

static int op_finish(kl_op *op)
{
    int rc = kl_op_wait(op, -1);

    if (rc == KL_OK)
        rc = kl_op_code(op);
    kl_op_free(op);
    return rc;
}

/* A node can vote once it has registered and caught up. */
static int member_add_voter(struct member *m, int id)
{
    static const struct timespec pause = {0, RETRY_MS * 1000000};
    kl_op *op;
    int rc;

    for (;;) {
        rc = kl_admin_add_voter(m->client, id, 0, &op);
        if (rc == KL_OK)
            rc = op_finish(op);
        if (rc != KL_ENOBROKER && rc != KL_ELAGGING && rc != KL_EREDUNDANCY)
            return rc;
        nanosleep(&pause, NULL);
    }
}

static int members_run(struct member *all, kl_storage *storage)
{
    char bootstrap[TCP_ENDPOINT + 8] = "";
    kl_op *op;

    for (int i = 0; i < NODES; i++) {
        if (member_open(&all[i], i + 1, storage, bootstrap))
            return 1;
        snprintf(bootstrap, sizeof bootstrap, "1@%s", all[0].tcp.endpoint);
    }
    for (int i = 1; i < NODES; i++)
        if (member_add_voter(&all[0], i + 1))
            return 1;
    if (kl_admin_create_topic(all[2].client, "words", 1, 1, NULL, 0, &op) ||
        op_finish(op))
        return 1;
    printf("%d voters have a topic\n", NODES);
    return 0;
}

int main(void)
{
    static struct member all[NODES];
    kl_storage *storage;
    int failed = kl_storage_new_memory(&storage, NULL, 0);

    for (int i = 0; i < NODES && !failed; i++)
        failed = tcp_begin(&all[i].tcp);
    if (failed)
        return 1;
    failed = members_run(all, storage);
    for (int i = 0; i < NODES; i++) {
        kl_client_free(all[i].client);
        if (all[i].node) /* the last one finds nobody to hand over to */
            kl_node_stop(all[i].node, STOP_MS);
        kl_node_free(all[i].node);
        tcp_end(&all[i].tcp);
    }
    kl_storage_free(storage);
    return failed;
}
