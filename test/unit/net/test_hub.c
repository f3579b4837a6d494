/*
 * Mailboxes that are each other's network, one step after the other.
 */
#include "net_help.h"

#include <string.h>

enum { MIN = NET_MESSAGE_MIN, NODES = 3, INBOX = 4, LINKS = 3 };

static struct
{
    struct fail_alloc memory;
    struct kl_net_hub *hub;
    struct kl_net *nets[NODES];
    struct kl_net_port *ports[NODES];
    int wakes[NODES];
} h;

static const char *const endpoints[NODES] = {"a", "b", "c"};

static void hub_wake(void *user)
{
    ++*(int *)user;
}

static void hub_attach(int node)
{
    ck_assert_int_eq(kl_net_attach(h.nets[node], hub_wake, &h.wakes[node]), 0);
}

static void set_up(void)
{
    static const struct kl_net_options options = {1000, INBOX * MIN, LINKS};

    memset(&h, 0, sizeof h);
    fail_alloc_init(&h.memory);
    ck_assert_int_eq(kl_net_hub_new(&h.hub, &h.memory.alloc), 0);
    for (int i = 0; i < NODES; i++) {
        ck_assert_int_eq(kl_net_new(&h.nets[i], &h.memory.alloc, &options), 0);
        ck_assert_int_eq(
            kl_net_hub_join(h.hub, h.nets[i], endpoints[i], &h.ports[i]), 0);
        hub_attach(i);
    }
}

static void tear_down(void)
{
    for (int i = 0; i < NODES; i++) {
        ck_assert_int_eq(kl_net_attach(h.nets[i], NULL, NULL), 0);
        kl_net_hub_leave(h.ports[i]);
        kl_net_free(h.nets[i]);
    }
    kl_net_hub_free(h.hub);
    fail_alloc_deinit(&h.memory);
}

static int hub_deliver(int node, uint64_t link, unsigned fill)
{
    uint8_t bytes[MIN];

    net_message_put(bytes, MIN, fill);
    return kl_net_send(h.nets[node], link, bytes, MIN);
}

static void expect(int node, enum kl_net_event_type type, uint64_t link)
{
    struct kl_net_event event;

    ck_assert_int_eq(kl_net_next(h.nets[node], &event), 1);
    ck_assert_int_eq(event.type, type);
    ck_assert_uint_eq(event.link, link);
}

static void expect_message(int node, uint64_t link, unsigned fill)
{
    struct kl_net_event event;

    ck_assert_int_eq(kl_net_next(h.nets[node], &event), 1);
    ck_assert_int_eq(event.type, KL_NET_MESSAGE);
    ck_assert_uint_eq(event.link, link);
    net_message_check(event.data, event.size, MIN, fill);
}

static void expect_nothing(int node)
{
    struct kl_net_event event;

    ck_assert_int_eq(kl_net_next(h.nets[node], &event), 0);
}

/* A link from one node to another; both know that it is up. */
static void hub_link(int from, int to, uint64_t *here, uint64_t *there)
{
    struct kl_net_event event;

    ck_assert_int_eq(kl_net_connect(h.nets[from], to + 1, endpoints[to], here),
                     0);
    expect(from, KL_NET_UP, *here);
    ck_assert_int_eq(kl_net_next(h.nets[to], &event), 1);
    ck_assert_int_eq(event.type, KL_NET_UP);
    ck_assert_int_eq(event.is_incoming, 1);
    *there = event.link;
}

START_TEST(both_ways_in_order)
{
    uint64_t here, there;

    hub_link(0, 1, &here, &there);
    h.wakes[0] = h.wakes[1] = 0;
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(hub_deliver(0, here, i), 0);
        ck_assert_int_eq(hub_deliver(1, there, 10 + i), 0);
    }
    ck_assert_int_eq(h.wakes[0], 3);
    ck_assert_int_eq(h.wakes[1], 3);
    for (unsigned i = 0; i < 3; i++) {
        expect_message(1, there, i);
        expect_message(0, here, 10 + i);
    }
    for (int i = 0; i < NODES; i++)
        expect_nothing(i);
}
END_TEST

START_TEST(several_links)
{
    uint64_t ab, ba, ac, ca, more, again;

    hub_link(0, 1, &ab, &ba);
    hub_link(0, 2, &ac, &ca);
    hub_link(1, 0, &more, &again);
    ck_assert_int_eq(hub_deliver(0, ab, 1), 0);
    ck_assert_int_eq(hub_deliver(0, ac, 2), 0);
    ck_assert_int_eq(hub_deliver(0, again, 3), 0);
    expect_message(2, ca, 2);
    expect_message(1, ba, 1);
    expect_message(1, more, 3);
    kl_net_disconnect(h.nets[0], ab);
    expect(1, KL_NET_DOWN, ba);
    ck_assert_int_eq(hub_deliver(1, more, 4), 0);
    expect_message(0, again, 4);
}
END_TEST

START_TEST(a_node_talks_to_itself)
{
    struct kl_net_event event;
    uint64_t here, there;

    ck_assert_int_eq(kl_net_connect(h.nets[0], 1, "a", &here), 0);
    ck_assert_int_eq(kl_net_next(h.nets[0], &event), 1);
    ck_assert_int_eq(event.type, KL_NET_UP);
    there = event.link;
    ck_assert_uint_ne(there, here);
    expect(0, KL_NET_UP, here);
    ck_assert_int_eq(hub_deliver(0, here, 1), 0);
    expect_message(0, there, 1);
    ck_assert_int_eq(hub_deliver(0, there, 2), 0);
    expect_message(0, here, 2);
    kl_net_disconnect(h.nets[0], there);
    expect(0, KL_NET_DOWN, here);
}
END_TEST

START_TEST(nobody_is_there)
{
    uint64_t link = 1, other;

    ck_assert_int_eq(kl_net_connect(h.nets[0], 9, "d", &link), KL_ECLOSED);
    ck_assert_uint_eq(link, 0);
    kl_net_attach(h.nets[1], NULL, NULL);
    ck_assert_int_eq(kl_net_connect(h.nets[0], 2, "b", &link), KL_ECLOSED);
    hub_attach(1);
    for (int i = 0; i < LINKS; i++)
        hub_link(0, 1, &link, &other);
    ck_assert_int_eq(kl_net_connect(h.nets[2], 2, "b", &link), KL_EAGAIN);
    expect_nothing(2);
    kl_net_disconnect(h.nets[1], other);
    hub_link(2, 1, &link, &other);
}
END_TEST

START_TEST(an_endpoint_is_of_one)
{
    static const struct kl_net_options options = {1000, INBOX * MIN, LINKS};
    struct kl_net_port *port;
    struct kl_net *net;

    ck_assert_int_eq(kl_net_new(&net, &h.memory.alloc, &options), 0);
    ck_assert_int_eq(kl_net_hub_join(h.hub, net, "b", &port), KL_EBUSY);
    ck_assert_ptr_null(port);
    ck_assert_int_eq(kl_net_hub_join(h.hub, net, "bb", &port), 0);
    kl_net_hub_leave(port);
    ck_assert_int_eq(kl_net_hub_join(h.hub, net, "bb", &port), 0);
    kl_net_hub_leave(port);
    kl_net_free(net);
    kl_net_hub_leave(NULL);
    kl_net_hub_free(NULL);
}
END_TEST

START_TEST(what_was_sent_comes_before_down)
{
    uint64_t here, there;

    hub_link(0, 1, &here, &there);
    ck_assert_int_eq(hub_deliver(0, here, 1), 0);
    ck_assert_int_eq(hub_deliver(0, here, 2), 0);
    ck_assert_int_eq(hub_deliver(1, there, 3), 0);
    kl_net_disconnect(h.nets[0], here);
    ck_assert_int_eq(hub_deliver(0, here, 4), KL_ECLOSED);
    ck_assert_int_eq(hub_deliver(1, there, 5), KL_ECLOSED);
    expect_nothing(0);
    expect_message(1, there, 1);
    expect_message(1, there, 2);
    expect(1, KL_NET_DOWN, there);
    expect_nothing(1);
    kl_net_disconnect(h.nets[0], here);
    kl_net_disconnect(h.nets[1], there);
}
END_TEST

START_TEST(a_node_that_goes_away)
{
    uint64_t ab, ba, cb, bc;

    hub_link(0, 1, &ab, &ba);
    hub_link(2, 1, &cb, &bc);
    ck_assert_int_eq(hub_deliver(0, ab, 1), 0);
    ck_assert_int_eq(hub_deliver(1, ba, 2), 0);
    kl_net_attach(h.nets[1], NULL, NULL);
    expect_message(0, ab, 2);
    expect(0, KL_NET_DOWN, ab);
    expect(2, KL_NET_DOWN, cb);
    hub_attach(1);
    expect_nothing(1);
    hub_link(0, 1, &ab, &ba);
    ck_assert_int_eq(hub_deliver(0, ab, 3), 0);
    expect_message(1, ba, 3);
}
END_TEST

/* A full inbox stops all who send there, and each goes on when there is room:
 * nothing is lost or comes twice. */
START_TEST(a_full_inbox_stops_its_senders)
{
    uint64_t ab, ba, cb, bc;
    unsigned sent = 0;

    hub_link(0, 1, &ab, &ba);
    hub_link(2, 1, &cb, &bc);
    while (hub_deliver(0, ab, sent) == 0)
        sent++;
    ck_assert_uint_ge(sent, 1);
    ck_assert_int_eq(hub_deliver(2, cb, 50), KL_EAGAIN);
    ck_assert_int_eq(hub_deliver(0, ab, sent), KL_EAGAIN);
    expect_nothing(0);
    expect_nothing(2);
    for (unsigned i = 0; i < sent; i++)
        expect_message(1, ba, i);
    expect_nothing(1);
    expect(0, KL_NET_WRITABLE, ab);
    expect(2, KL_NET_WRITABLE, cb);
    ck_assert_int_eq(hub_deliver(2, cb, 50), 0);
    ck_assert_int_eq(hub_deliver(0, ab, sent), 0);
    expect_message(1, bc, 50);
    expect_message(1, ba, sent);
    expect_nothing(1);
}
END_TEST

START_TEST(what_is_no_message_ends_the_link)
{
    struct kl_net_event event;
    uint64_t here, there;

    hub_link(0, 1, &here, &there);
    ck_assert_int_eq(hub_deliver(0, here, 1), 0);
    ck_assert_int_eq(kl_net_send(h.nets[0], here, "no message", 10),
                     KL_ECLOSED);
    ck_assert_int_eq(kl_net_next(h.nets[0], &event), 1);
    ck_assert_int_eq(event.type, KL_NET_DOWN);
    ck_assert_int_eq(event.code, KL_EFORMAT);
    expect_message(1, there, 1);
    ck_assert_int_eq(kl_net_next(h.nets[1], &event), 1);
    ck_assert_int_eq(event.type, KL_NET_DOWN);
    ck_assert_int_eq(event.code, KL_EFORMAT);
    hub_link(0, 1, &here, &there);
}
END_TEST

/* ---- no memory ---------------------------------------------------------- */

/* A link that works, or none, and a message over it that comes or ends it. */
static void scenario(void)
{
    struct kl_net_event event;
    uint64_t here;

    if (kl_net_connect(h.nets[0], 2, "b", &here)) {
        expect_nothing(0);
    } else if (hub_deliver(0, here, 1)) {
        expect(0, KL_NET_UP, here);
        expect(0, KL_NET_DOWN, here);
    } else {
        expect(0, KL_NET_UP, here);
        ck_assert_int_eq(kl_net_next(h.nets[1], &event), 1);
        ck_assert_int_eq(event.type, KL_NET_UP);
        expect_message(1, event.link, 1);
    }
    /* What an attempt has left at the other side ends. */
    while (kl_net_next(h.nets[1], &event))
        ck_assert(event.type == KL_NET_UP || event.type == KL_NET_DOWN);
}

START_TEST(no_memory)
{
    uint64_t at = 0;

    do {
        struct kl_net_port *port;
        struct kl_net_hub *hub;

        tear_down();
        set_up();
        fail_alloc_arm(&h.memory, ++at);
        if (kl_net_hub_new(&hub, &h.memory.alloc))
            ck_assert_ptr_null(hub);
        kl_net_hub_free(hub);
        kl_net_attach(h.nets[2], NULL, NULL);
        kl_net_hub_leave(h.ports[2]);
        if (kl_net_hub_join(h.hub, h.nets[2], "d", &port))
            ck_assert_ptr_null(port);
        h.ports[2] = port;
        scenario();
    } while (h.memory.failed);
    ck_assert_uint_gt(at, 8);
}
END_TEST

Suite *suite_net_hub(void);

Suite *suite_net_hub(void)
{
    Suite *s = suite_create("net_hub");
    TCase *tc = tcase_create("hub");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, both_ways_in_order);
    tcase_add_test(tc, several_links);
    tcase_add_test(tc, a_node_talks_to_itself);
    tcase_add_test(tc, nobody_is_there);
    tcase_add_test(tc, an_endpoint_is_of_one);
    tcase_add_test(tc, what_was_sent_comes_before_down);
    tcase_add_test(tc, a_node_that_goes_away);
    tcase_add_test(tc, a_full_inbox_stops_its_senders);
    tcase_add_test(tc, what_is_no_message_ends_the_link);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(s, tc);
    return s;
}
