/*
 * Nodes in threads of their own on one hub, which connect, send until they may
 * not, give links up, run out of memory and go away. Every link brings what was
 * sent over it in order and without a gap, up to where it ended; and nobody
 * waits for a link that could be written to.
 */
#include "base/rng.h"
#include "need.h"
#include "net_help.h"
#include "os/thread.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 3, STEPS = 4000, SIZE = 130, KNOWN = 4000, BURST = 8 };

enum node_link { LINK_NONE, LINK_DIALLED, LINK_UP, LINK_OVER };

struct node_link_state
{
    enum node_link state;
    int is_blocked; /* until it is writable */
    uint32_t sent;
    uint32_t received;
};

struct node
{
    struct kl_net *net;
    struct kl_net_port *port;
    struct kl_base_alloc alloc;
    struct kl_base_rng rng;    /* the owner's */
    struct kl_base_rng memory; /* under the mutex of the mailbox */
    struct kl_os_thread thread;
    struct node_link_state links[KNOWN]; /* by number */
    uint64_t last;                       /* link that is known */
    unsigned counts[4];
    unsigned blocked, lost, refused;
};

static struct
{
    struct fail_alloc memory;
    struct kl_net_hub *hub;
    struct node nodes[NODES];
} race;

static const char *const endpoints[NODES] = {"here", "there", "elsewhere"};

/* Everything that a mailbox gets it gets under its mutex. */
static void *node_alloc(void *ptr, size_t old_size, size_t new_size, void *user)
{
    struct node *n = user;

    if (new_size > old_size && kl_base_rng_below(&n->memory, 300) == 0)
        return NULL;
    return race.memory.alloc.fn(ptr, old_size, new_size,
                                race.memory.alloc.user);
}

static void node_wake(void *user)
{
    (void)user; /* it looks all the time */
}

/* ---- what a node does ---------------------------------------------------- */

static struct node_link_state *node_link(struct node *n, uint64_t link)
{
    need(link > 0 && link < KNOWN);
    if (link > n->last)
        n->last = link;
    return &n->links[link];
}

static void node_message(struct node_link_state *l, const uint8_t *data,
                         size_t size)
{
    need(size == SIZE);
    need(kl_base_get_le32(data + 8) == l->received);
    l->received++;
}

static void node_event(struct node *n, const struct kl_net_event *e)
{
    struct node_link_state *l = node_link(n, e->link);

    n->counts[e->type]++;
    switch (e->type) {
    case KL_NET_UP:
        need(l->state == (e->is_incoming ? LINK_NONE : LINK_DIALLED));
        l->state = LINK_UP;
        break;
    case KL_NET_DOWN:
        need(l->state == LINK_UP);
        l->state = LINK_OVER;
        break;
    case KL_NET_WRITABLE:
        need(l->state == LINK_UP);
        l->is_blocked = 0;
        break;
    case KL_NET_MESSAGE:
        need(l->state == LINK_UP);
        node_message(l, e->data, e->size);
        break;
    }
}

static void node_read(struct node *n, uint64_t count)
{
    struct kl_net_event event;

    while (count-- && kl_net_next(n->net, &event))
        node_event(n, &event);
}

static void node_connect(struct node *n)
{
    uint64_t link;
    int to = (int)kl_base_rng_below(&n->rng, NODES);
    int rc = kl_net_connect(n->net, to, endpoints[to], &link);

    if (rc == 0)
        node_link(n, link)->state = LINK_DIALLED;
    else
        n->refused++;
    need(rc == 0 || rc == KL_ECLOSED || rc == KL_EAGAIN || rc == KL_ENOMEM);
}

/* A link that is up, and may be written to; 0 = there is none. */
static uint64_t node_pick(struct node *n)
{
    uint64_t at = n->last ? kl_base_rng_below(&n->rng, n->last) : 0;

    for (uint64_t i = 0; i < n->last; i++) {
        uint64_t link = 1 + (at + i) % n->last;

        if (n->links[link].state == LINK_UP && !n->links[link].is_blocked)
            return link;
    }
    return 0;
}

static void node_send(struct node *n)
{
    uint64_t link = node_pick(n);
    struct node_link_state *l = &n->links[link];
    uint8_t bytes[SIZE];

    for (int i = 0; link && i < BURST; i++) {
        int rc;

        net_message_put(bytes, SIZE, 0);
        kl_base_put_le32(bytes + 8, l->sent);
        rc = kl_net_send(n->net, link, bytes, SIZE);
        if (rc == 0) {
            l->sent++;
            continue;
        }
        need(rc == KL_EAGAIN || rc == KL_ECLOSED);
        l->is_blocked = rc == KL_EAGAIN;
        n->blocked += rc == KL_EAGAIN;
        n->lost += rc == KL_ECLOSED;
        return;
    }
}

static void node_disconnect(struct node *n)
{
    uint64_t link = node_pick(n);

    if (link) {
        kl_net_disconnect(n->net, link);
        n->links[link].state = LINK_OVER;
    }
}

static void node_restart(struct node *n)
{
    need_ok(kl_net_attach(n->net, NULL, NULL));
    for (uint64_t i = 1; i <= n->last; i++)
        n->links[i].state = LINK_OVER;
    need_ok(kl_net_attach(n->net, node_wake, n));
}

static void node_run(void *user)
{
    struct node *n = user;

    for (int i = 0; i < STEPS; i++) {
        uint64_t what = kl_base_rng_below(&n->rng, 1000);

        if (what < 60)
            node_connect(n);
        else if (what < 500)
            node_send(n);
        else if (what < 530)
            node_disconnect(n);
        else if (what < 532)
            node_restart(n);
        else
            node_read(n, 1 + kl_base_rng_below(&n->rng, 2 * BURST));
    }
}

/* ---- the test ------------------------------------------------------------ */

static void race_set_up(int seed)
{
    static const struct kl_net_options options = {SIZE, 10 * SIZE, 20};

    memset(&race, 0, sizeof race);
    fail_alloc_init(&race.memory);
    need_ok(kl_net_hub_new(&race.hub, &race.memory.alloc));
    for (int i = 0; i < NODES; i++) {
        struct node *n = &race.nodes[i];

        kl_base_rng_seed(&n->rng, (uint64_t)(seed * NODES + i));
        kl_base_rng_seed(&n->memory, (uint64_t)(seed * NODES + i + 1000));
        n->alloc = (struct kl_base_alloc){node_alloc, n};
        while (kl_net_new(&n->net, &n->alloc, &options))
            continue;
        need_ok(kl_net_hub_join(race.hub, n->net, endpoints[i], &n->port));
        need_ok(kl_net_attach(n->net, node_wake, n));
    }
}

/* All that is left is read: what is still up was told that it is writable. */
static void race_settle(unsigned counts[4])
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < NODES; i++)
            node_read(&race.nodes[i], UINT64_MAX);
    for (int i = 0; i < NODES; i++) {
        struct node *n = &race.nodes[i];

        for (uint64_t link = 1; link <= n->last; link++)
            need(n->links[link].state != LINK_UP || !n->links[link].is_blocked);
        for (int type = 0; type < 4; type++)
            counts[type] += n->counts[type];
    }
}

static void race_tear_down(void)
{
    for (int i = 0; i < NODES; i++)
        need_ok(kl_net_attach(race.nodes[i].net, NULL, NULL));
    for (int i = 0; i < NODES; i++) {
        kl_net_hub_leave(race.nodes[i].port);
        kl_net_free(race.nodes[i].net);
    }
    kl_net_hub_free(race.hub);
    fail_alloc_deinit(&race.memory);
}

START_TEST(nodes_and_faults)
{
    unsigned counts[4] = {0}, blocked = 0, refused = 0;

    race_set_up(_i);
    for (int i = 0; i < NODES; i++)
        need_ok(kl_os_thread_start(&race.nodes[i].thread, node_run,
                                   &race.nodes[i], "node"));
    for (int i = 0; i < NODES; i++)
        kl_os_thread_join(&race.nodes[i].thread);
    race_settle(counts);
    for (int i = 0; i < NODES; i++) {
        blocked += race.nodes[i].blocked;
        refused += race.nodes[i].refused;
    }
    ck_assert_uint_gt(counts[KL_NET_UP], 50);
    ck_assert_uint_gt(counts[KL_NET_DOWN], 20);
    ck_assert_uint_gt(counts[KL_NET_MESSAGE], 1000);
    ck_assert_uint_gt(counts[KL_NET_WRITABLE], 20);
    ck_assert_uint_gt(blocked, 20);
    ck_assert_uint_gt(refused, 0);
    race_tear_down();
}
END_TEST

Suite *suite_net_hub_race(void);

Suite *suite_net_hub_race(void)
{
    Suite *s = suite_create("net_hub_race");
    TCase *tc = tcase_create("race");

    tcase_add_loop_test(tc, nodes_and_faults, 0, 10);
    suite_add_tcase(s, tc);
    return s;
}
