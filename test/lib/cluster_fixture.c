#include "cluster_fixture.h"

#include "runtime/state.h"
#include "store/store.h"

#include <check.h>
#include <kraftlog/node.h>
#include <stdio.h>
#include <string.h>

/* ---- the transport ------------------------------------------------------- */

static struct cluster_link *link_find(struct cluster_node *node, uint64_t id,
                                      int *side_out)
{
    struct cluster_fixture *c = node->cluster;

    for (int i = 0; i < CLUSTER_LINKS; i++)
        for (int side = 0; side < 2; side++)
            if (c->links[i].node[side] == node &&
                c->links[i].link[side] == id) {
                *side_out = side;
                return &c->links[i];
            }
    return NULL;
}

static struct cluster_link *link_free(struct cluster_fixture *c)
{
    for (int i = 0; i < CLUSTER_LINKS; i++)
        if (!c->links[i].node[0])
            return &c->links[i];
    ck_abort_msg("too many links");
    return NULL;
}

/* Tells the other side, or both. */
static void link_end(struct cluster_link *l, int skip)
{
    struct cluster_link gone = *l;

    memset(l, 0, sizeof *l);
    for (int side = 0; side < 2; side++)
        if (gone.node[side] && side != skip)
            kl_net_down(gone.node[side]->net, gone.link[side]);
}

static int transport_connect(void *user, uint64_t link, int32_t node_id,
                             const char *endpoint)
{
    struct cluster_node *from = user;
    struct cluster_fixture *c = from->cluster;
    struct cluster_node *to;
    struct cluster_link *l;
    uint64_t accepted;
    int index;

    (void)node_id;
    ck_assert_int_eq(sscanf(endpoint, "memory:%d", &index), 1);
    ck_assert(index >= 1 && index <= CLUSTER_NODES);
    to = &c->nodes[index - 1];
    if (from->is_cut || to->is_cut || !to->f.n ||
        kl_net_accept(to->net, &accepted)) {
        kl_net_down(from->net, link);
        return 0;
    }
    l = link_free(c);
    *l = (struct cluster_link){{from, to}, {link, accepted}, 0};
    kl_net_up(from->net, link);
    return 0;
}

static void message_copy(struct cluster_fixture *c, const void *data,
                         size_t size)
{
    struct kl_wire_message m;
    struct kl_base_buf lists;

    if (!c->copy)
        return;
    kl_base_buf_init(&lists, &kl_base_alloc_libc);
    if (kl_wire_message_decode(&m, data, size, &lists, NULL) == 0 &&
        m.envelope.api_key == c->copy_of && !m.envelope.is_response) {
        kl_base_buf_clear(c->copy);
        kl_base_buf_append(c->copy, data, size);
    }
    kl_base_buf_deinit(&lists);
}

static int transport_send(void *user, uint64_t link, const void *data,
                          size_t size)
{
    int side;
    struct cluster_link *l = link_find(user, link, &side);

    if (!l)
        return KL_ECLOSED;
    message_copy(l->node[0]->cluster, data, size);
    l->is_dead |= l->node[0]->cluster->is_deaf;
    if (l->is_dead)
        return 0;
    /* Without memory at the other end the connection is lost. */
    if (kl_net_deliver(l->node[!side]->net, l->link[!side], data, size) == 0)
        return 0;
    link_end(l, side);
    return KL_ECLOSED;
}

static void transport_disconnect(void *user, uint64_t link)
{
    int side;
    struct cluster_link *l = link_find(user, link, &side);

    if (l)
        link_end(l, side);
}

static const struct kl_net_ops transport_ops = {
    .connect = transport_connect,
    .send = transport_send,
    .disconnect = transport_disconnect,
};

/* ---- time ---------------------------------------------------------------- */

static int64_t clock_monotonic_ns(void *user)
{
    return ((struct cluster_fixture *)user)->now_ns += 1000;
}

static int64_t clock_wall_ms(void *user)
{
    struct cluster_fixture *c = user;

    return c->wall_ms + c->now_ns / 1000000;
}

void cluster_fixture_round(struct cluster_fixture *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->nodes[i].f.n)
            ck_assert_int_eq(kl_runtime_poll(c->nodes[i].f.n, 0), 0);
    c->now_ns += 1000000;
}

/* ---- nodes --------------------------------------------------------------- */

static void node_set_disk(struct cluster_node *node, struct sim_disk *disk)
{
    node->f.vfs->ops->free(node->f.vfs);
    node->disk = disk;
    node->f.vfs = &disk->base;
    trace_vfs_deinit(&node->f.trace);
    trace_vfs_init(&node->f.trace, node->f.vfs);
}

void cluster_fixture_wipe(struct cluster_fixture *c, int index)
{
    struct cluster_node *node = &c->nodes[index];

    ck_assert_ptr_null(node->f.n);
    node_set_disk(node, sim_disk_new(0));
}

struct sim_disk *cluster_fixture_copy(struct cluster_fixture *c, int index)
{
    const struct sim_choice choice = {.fate = SIM_FATE_KEPT};

    ck_assert_ptr_null(c->nodes[index].f.n);
    return sim_disk_crash(c->nodes[index].disk, choice);
}

void cluster_fixture_restore(struct cluster_fixture *c, int index,
                             struct sim_disk *copy)
{
    ck_assert_ptr_null(c->nodes[index].f.n);
    node_set_disk(&c->nodes[index], copy);
}

static void node_init(struct cluster_fixture *c, int index)
{
    static const struct kl_net_options options = {
        .message_bytes_max = KL_WIRE_MESSAGE_MAX,
        .inbox_bytes_max = (size_t)64 << 20,
        .accepted_max = CLUSTER_LINKS,
    };
    struct cluster_node *node = &c->nodes[index];
    char text[32];

    node->cluster = c;
    node->index = index;
    node_fixture_init(&node->f);
    node_set_disk(node, sim_disk_new(0));
    node->f.options.clock = &c->clock;
    ck_assert_int_eq(kl_net_new(&node->net, &node->f.memory.alloc, &options),
                     0);
    kl_net_set_ops(node->net, &transport_ops, node);
    node->f.options.net = node->net;
    (void)snprintf(text, sizeof text, "%d", index + 1);
    node_fixture_set(&node->f, "node.id", text);
    (void)snprintf(text, sizeof text, "memory:%d", index + 1);
    node_fixture_set(&node->f, "advertised.listeners", text);
    if (index)
        node_fixture_set(&node->f, "controller.quorum.bootstrap.servers",
                         "1@memory:1");
}

void cluster_fixture_init(struct cluster_fixture *c, int count)
{
    memset(c, 0, sizeof *c);
    c->count = count;
    c->now_ns = 1000000000;
    c->wall_ms = 1700000000000;
    c->clock.monotonic_ns = clock_monotonic_ns;
    c->clock.wall_ms = clock_wall_ms;
    c->clock.user = c;
    for (int i = 0; i < count; i++)
        node_init(c, i);
}

void cluster_fixture_deinit(struct cluster_fixture *c)
{
    for (int i = 0; i < c->count; i++)
        cluster_fixture_crash(c, i);
    for (int i = 0; i < c->count; i++) {
        kl_net_free(c->nodes[i].net);
        node_fixture_deinit(&c->nodes[i].f);
    }
}

void cluster_fixture_open(struct cluster_fixture *c, int index)
{
    struct cluster_node *node = &c->nodes[index];
    char text[256] = "";
    int r = node_fixture_try_open(&node->f,
                                  KL_OPEN_CREATE | (index ? KL_OPEN_JOIN : 0));

    kl_runtime_errmsg(node->f.n, text, sizeof text);
    ck_assert_msg(r == 0, "%s: %s", kl_error_name(r), text);
}

int cluster_fixture_is_caught_up(const struct cluster_fixture *c, int index)
{
    const struct kl_runtime_node *n = c->nodes[index].f.n;

    return n && n->metadata.is_caught_up;
}

int cluster_fixture_is_active(const struct cluster_fixture *c, int index)
{
    const struct kl_runtime_node *n = c->nodes[index].f.n;
    const struct kl_controller_broker *b =
        n ? kl_controller_broker_find(n->metadata.controller, n->id) : NULL;

    return b && kl_controller_broker_is_active(b) &&
           n->broker.epoch == b->epoch;
}

static int all_are_caught_up(const struct cluster_fixture *c)
{
    for (int i = 0; i < c->count; i++)
        if (!cluster_fixture_is_caught_up(c, i))
            return 0;
    return 1;
}

void cluster_fixture_open_all(struct cluster_fixture *c)
{
    for (int i = 0; i < c->count; i++)
        cluster_fixture_open(c, i);
    cluster_fixture_until(c, all_are_caught_up(c));
}

void cluster_fixture_crash(struct cluster_fixture *c, int index)
{
    struct cluster_node *node = &c->nodes[index];

    node_fixture_crash(&node->f);
}

void cluster_fixture_stop(struct cluster_fixture *c, int index)
{
    struct kl_runtime_node *n = c->nodes[index].f.n;

    while (kl_runtime_stop(n, 0) == KL_ETIMEDOUT)
        cluster_fixture_round(c);
    cluster_fixture_crash(c, index);
}

void cluster_fixture_cut(struct cluster_fixture *c, int index)
{
    struct cluster_node *node = &c->nodes[index];

    node->is_cut = 1;
    for (int i = 0; i < CLUSTER_LINKS; i++)
        if (c->links[i].node[0] == node || c->links[i].node[1] == node)
            link_end(&c->links[i], -1);
}

void cluster_fixture_join(struct cluster_fixture *c, int index)
{
    c->nodes[index].is_cut = 0;
}

void cluster_fixture_open_active(struct cluster_fixture *c)
{
    cluster_fixture_open_all(c);
    for (int i = 0; i < c->count; i++)
        cluster_fixture_until(c, cluster_fixture_is_active(c, i));
}

int cluster_fixture_controller(const struct cluster_fixture *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->nodes[i].f.n && c->nodes[i].f.n->metadata.is_leading)
            return i;
    return -1;
}

/* ---- wishes -------------------------------------------------------------- */

struct kl_runtime_op *cluster_fixture_begin(struct cluster_fixture *c,
                                            int index,
                                            const struct kl_runtime_wish *wish)
{
    struct kl_runtime_op *op = NULL;

    ck_assert_int_eq(kl_runtime_command(c->nodes[index].f.n, wish, &op), 0);
    return op;
}

struct kl_runtime_op *cluster_fixture_do(struct cluster_fixture *c, int index,
                                         const struct kl_runtime_wish *wish)
{
    struct kl_runtime_op *op = cluster_fixture_begin(c, index, wish);

    cluster_fixture_until(c, kl_runtime_op_is_done(op));
    return op;
}

int cluster_fixture_code(struct cluster_fixture *c, int index,
                         const struct kl_runtime_wish *wish)
{
    struct kl_runtime_op *op = cluster_fixture_do(c, index, wish);
    int code = op->code;

    kl_runtime_op_unref(op);
    return code;
}
