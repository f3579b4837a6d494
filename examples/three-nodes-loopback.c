/*
 * three-nodes-loopback DIR: a cluster inside one process.
 *
 * Three nodes with a folder each talk over a hub. The first one is a cluster by
 * itself; the other two join it, and become voters of the metadata quorum. From
 * then on any one of them may be missing: a topic is made while the node that
 * the cluster began with is gone.
 */
#include <kraftlog/kraftlog.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

enum { NODES = 3, PATH_SIZE = 512, RETRY_MS = 10 };
/* A stop in order, and the patience with the last ones. */
enum { STOP_MS = 30000, LAST_MS = 1000 };

struct cluster
{
    const char *dir;
    kl_hub *hub;
    kl_node *nodes[NODES];
    kl_client *clients[NODES];
};

static int cluster_failed(const char *what, int code)
{
    fprintf(stderr, "three-nodes-loopback: %s: %s\n", what, kl_strerror(code));
    return code;
}

/* The endpoint of a node in the hub, which may be any text. */
static const char *const node_endpoints[NODES] = {"one", "two", "three"};

static int node_configure(int id, kl_config **out)
{
    int rc = kl_config_new(out, NULL, NULL);

    if (rc == KL_OK)
        rc = kl_config_set_int(*out, "node.id", id);
    if (rc == KL_OK)
        rc = kl_config_set_int(*out, "wal.bytes", 1 << 20);
    if (rc == KL_OK)
        rc =
            kl_config_set(*out, "advertised.listeners", node_endpoints[id - 1]);
    if (rc == KL_OK && id > 1)
        rc =
            kl_config_set(*out, "controller.quorum.bootstrap.servers", "1@one");
    return rc;
}

static int node_connect(struct cluster *c, int id, kl_node *node)
{
    kl_transport *transport;
    int rc = kl_transport_new_loopback(&transport, NULL, c->hub,
                                       node_endpoints[id - 1]);

    if (rc == KL_OK)
        rc = kl_node_set_transport(node, transport);
    kl_transport_free(transport); /* the node holds it */
    return rc;
}

static int node_open(struct cluster *c, int id)
{
    kl_node **node = &c->nodes[id - 1];
    char path[PATH_SIZE], text[256];
    kl_config *config = NULL;
    int rc = node_configure(id, &config);

    snprintf(path, sizeof path, "%s/%d", c->dir, id);
    if (rc == KL_OK)
        rc = kl_node_new(node, config);
    kl_config_free(config);
    if (rc == KL_OK)
        rc = node_connect(c, id, *node);
    if (rc == KL_OK)
        rc = kl_node_open(*node, path,
                          KL_OPEN_CREATE | (id > 1 ? KL_OPEN_JOIN : 0U));
    if (rc == KL_OK)
        rc = kl_node_start(*node);
    if (rc == KL_OK)
        return kl_node_client(*node, &c->clients[id - 1]);
    if (*node && kl_node_errmsg(*node, text, sizeof text) == KL_OK)
        fprintf(stderr, "%s\n", text);
    return rc;
}

static int op_finish(kl_op *op)
{
    int rc = kl_op_wait(op, -1);

    if (rc == KL_OK)
        rc = kl_op_code(op);
    kl_op_free(op);
    return rc;
}

/* A node can vote when it has all that the voters have; until it has registered
 * and caught up it is asked again. */
static int cluster_add_voter(struct cluster *c, int id)
{
    static const struct timespec pause = {0, RETRY_MS * 1000000};
    kl_op *op;
    int rc;

    for (;;) {
        rc = kl_admin_add_voter(c->clients[0], id, 0, &op);
        if (rc == KL_OK)
            rc = op_finish(op);
        if (rc != KL_ENOBROKER && rc != KL_ELAGGING && rc != KL_EREDUNDANCY)
            return rc == KL_EVOTEREXISTS ? KL_OK : rc;
        nanosleep(&pause, NULL);
    }
}

/* Any node takes it; the active controller carries it out. */
static int cluster_create_topic(struct cluster *c, int id, const char *name)
{
    kl_op *op;
    int rc =
        kl_admin_create_topic(c->clients[id - 1], name, 1, 1, NULL, 0, &op);

    if (rc == KL_OK)
        rc = op_finish(op);
    if (rc != KL_OK && rc != KL_ETOPICEXISTS)
        return cluster_failed(name, rc);
    printf("%s, through node %d\n", name, id);
    return KL_OK;
}

/* A node that stops hands over what it leads. The last ones find nobody, and
 * are given up instead: nothing that was acknowledged is lost. */
static int node_stop(struct cluster *c, int id, int32_t timeout_ms)
{
    kl_node *node = c->nodes[id - 1];
    int rc = KL_OK;

    kl_client_free(c->clients[id - 1]);
    if (node)
        rc = kl_node_stop(node, timeout_ms);
    kl_node_free(node);
    c->nodes[id - 1] = NULL;
    c->clients[id - 1] = NULL;
    return rc;
}

static int cluster_run(struct cluster *c)
{
    int rc = KL_OK;

    for (int id = 1; id <= NODES && rc == KL_OK; id++)
        rc = node_open(c, id);
    for (int id = 2; id <= NODES && rc == KL_OK; id++)
        rc = cluster_add_voter(c, id);
    if (rc != KL_OK)
        return cluster_failed("cannot make a cluster", rc);
    printf("%d voters\n", NODES);
    rc = cluster_create_topic(c, 3, "words");
    if (rc == KL_OK)
        rc = node_stop(c, 1, STOP_MS);
    if (rc == KL_OK)
        printf("node 1 is gone\n");
    return rc == KL_OK ? cluster_create_topic(c, 2, "more-words") : rc;
}

int main(int argc, char **argv)
{
    struct cluster c = {argc > 1 ? argv[1] : "cluster.data", NULL, {0}, {0}};
    int rc = kl_hub_new(&c.hub, NULL);

    mkdir(c.dir, 0777);
    if (rc == KL_OK)
        rc = cluster_run(&c);
    for (int id = NODES; id >= 1; id--)
        (void)node_stop(&c, id, LAST_MS);
    kl_hub_free(c.hub);
    return rc == KL_OK ? 0 : 1;
}
