/*
 * A node with a transport of the host's that leads to another node, or to
 * nobody, or misbehaves: polled by the test, so that everything that the host
 * does comes when the test wants it.
 */
#include "pubsub_help.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 2, QUEUE = 1 << 20, TRIES = 100000, PIECES = 64 };

/* What is on its way from one side to the other. */
struct pipe
{
    unsigned char *data;
    size_t size;
};

/* One node, and the host's end of its links: at most one at a time. */
struct side
{
    kl_transport *transport;
    kl_node *node;
    struct side *peer;
    uint64_t link; /* 0 = none */
    struct pipe out;
    int connects, sends, disconnects, resumes;
    int send_code;    /* of the next ones, where it is not 0 */
    int32_t asked_id; /* of the last connect */
    char asked[32];
    kl_node *reenter; /* is driven from inside, and must refuse */
};

static struct side sides[SIDES];
static kl_storage *storage;

static void side_reenter(struct side *s)
{
    if (!s->reenter)
        return;
    ck_assert_int_eq(kl_node_poll(s->reenter, 0), KL_EREENTRY);
    ck_assert_int_eq(kl_node_stop(s->reenter, 0), KL_EREENTRY);
    ck_assert_int_eq(kl_node_set_transport(s->reenter, NULL), KL_EREENTRY);
}

/* The first two links lead nowhere: refused, and never there. */
static int side_connect(uint64_t link, int32_t node_id, const char *endpoint,
                        void *user)
{
    struct side *s = user;

    side_reenter(s);
    ck_assert_uint_ne(link, 0);
    s->connects++;
    s->asked_id = node_id;
    snprintf(s->asked, sizeof s->asked, "%s", endpoint);
    if (s->connects == 1)
        return -7;
    if (s->connects == 2 || !s->peer)
        return kl_transport_down(s->transport, link);
    s->link = link;
    ck_assert_int_eq(kl_transport_accept(s->peer->transport, &s->peer->link),
                     0);
    return kl_transport_up(s->transport, link);
}

static int side_send(uint64_t link, const void *data, size_t size, void *user)
{
    struct side *s = user;

    side_reenter(s);
    s->sends++;
    ck_assert_uint_eq(link, s->link);
    if (s->send_code)
        return s->send_code;
    ck_assert_uint_le(s->out.size + size, QUEUE);
    memcpy(s->out.data + s->out.size, data, size);
    s->out.size += size;
    return 0;
}

static void side_disconnect(uint64_t link, void *user)
{
    struct side *s = user;

    side_reenter(s);
    s->disconnects++;
    ck_assert_uint_eq(link, s->link);
    s->link = 0;
}

static void side_resume(uint64_t link, void *user)
{
    struct side *s = user;

    side_reenter(s);
    s->resumes++;
    ck_assert_uint_eq(link, s->link);
}

/* Hands over up to piece bytes. */
static int side_carry(struct side *s, size_t piece)
{
    size_t size = s->out.size < piece ? s->out.size : piece;
    int rc = 0;

    if (!size)
        return 0;
    if (s->peer->link)
        rc = kl_transport_deliver(s->peer->transport, s->peer->link,
                                  s->out.data, size);
    if (rc == KL_EAGAIN)
        return 0;
    ck_assert_int_eq(rc, 0);
    s->out.size -= size;
    memmove(s->out.data, s->out.data + size, s->out.size);
    return 1;
}

/* ---- nodes --------------------------------------------------------------- */

static void side_new(int index, const char *const *pairs)
{
    struct side *s = &sides[index];
    kl_config *config = help_config(pairs);

    s->out.data = malloc(QUEUE);
    ck_assert_ptr_nonnull(s->out.data);
    ck_assert_int_eq(kl_transport_new(&s->transport, config), 0);
    ck_assert_int_eq(kl_transport_set_connect(s->transport, side_connect, s),
                     0);
    ck_assert_int_eq(kl_transport_set_send(s->transport, side_send, s), 0);
    ck_assert_int_eq(
        kl_transport_set_disconnect(s->transport, side_disconnect, s), 0);
    ck_assert_int_eq(kl_transport_set_resume(s->transport, side_resume, s), 0);
    ck_assert_int_eq(kl_node_new(&s->node, config), 0);
    ck_assert_int_eq(kl_node_set_storage(s->node, storage), 0);
    ck_assert_int_eq(kl_node_set_transport(s->node, s->transport), 0);
    kl_config_free(config);
}

static const char *const first_pairs[] = {"wal.bytes",
                                          "256k",
                                          "advertised.listeners",
                                          "first",
                                          "queued.max.request.bytes",
                                          "4096",
                                          NULL};
static const char *const second_pairs[] = {
    "node.id",
    "2",
    "wal.bytes",
    "256k",
    "advertised.listeners",
    "second",
    "controller.quorum.bootstrap.servers",
    "1@first",
    "controller.quorum.request.timeout.ms",
    "50",
    "queued.max.request.bytes",
    "4096",
    "max.connections",
    "1",
    NULL};

static void setup(void)
{
    memset(sides, 0, sizeof sides);
    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, 0), 0);
}

/* The second node; it joins the first one, where that is there. */
static void second_open(void)
{
    struct side *s = &sides[1];

    side_new(1, second_pairs);
    s->reenter = s->node;
    ck_assert_int_eq(
        kl_node_open(s->node, "second", KL_OPEN_CREATE | KL_OPEN_JOIN), 0);
}

static void first_open(void)
{
    side_new(0, first_pairs);
    ck_assert_int_eq(kl_node_open(sides[0].node, "first", KL_OPEN_CREATE), 0);
    sides[1].peer = &sides[0];
    sides[0].peer = &sides[1];
}

/* A stop ends the links, and only those. */
static void side_free(struct side *s)
{
    int links = s->link != 0;
    int before = s->disconnects;

    if (!s->node)
        return;
    s->send_code = 0;
    kl_node_free(s->node);
    ck_assert_int_eq(s->disconnects, before + links);
    kl_transport_free(s->transport);
    free(s->out.data);
}

static void teardown(void)
{
    for (int i = SIDES - 1; i >= 0; i--)
        side_free(&sides[i]);
    kl_storage_free(storage);
}

/* Time goes on: what waits for it is waited for, and nothing else. */
static void turn(size_t piece)
{
    int moved = 0;

    for (int i = 0; i < SIDES; i++)
        if (sides[i].node) {
            for (int n = 0; n < PIECES; n++)
                moved |= side_carry(&sides[i], piece);
            ck_assert_int_eq(kl_node_poll(sides[i].node, 0), 0);
        }
    if (!moved)
        ck_assert_int_eq(kl_node_poll(sides[1].node, 1), 0);
}

#define until(piece, condition)                                                \
    do {                                                                       \
        int tries_ = 0;                                                        \
        while (!(condition)) {                                                 \
            turn(piece);                                                       \
            ck_assert_msg(tries_++ < TRIES, "never: %s", #condition);          \
        }                                                                      \
    } while (0)

/* ---- tests --------------------------------------------------------------- */

START_TEST(a_transport_is_of_one_node)
{
    char text[256];
    kl_node *other;

    side_new(0, first_pairs);
    ck_assert_int_eq(kl_node_open(sides[0].node, "first", KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_node_new(&other, NULL), 0);
    ck_assert_int_eq(kl_node_set_storage(other, storage), 0);
    ck_assert_int_eq(kl_node_set_transport(other, sides[0].transport), 0);
    ck_assert_int_eq(kl_node_open(other, "other", KL_OPEN_CREATE), KL_EBUSY);
    ck_assert_int_eq(kl_node_errmsg(other, text, sizeof text), 0);
    ck_assert_ptr_nonnull(strstr(text, "transport"));
    ck_assert_int_eq(kl_node_stop(sides[0].node, -1), 0);
    ck_assert_int_eq(kl_node_open(other, "other", KL_OPEN_CREATE), 0);
    kl_node_free(other);
}
END_TEST

START_TEST(who_joins_needs_a_transport)
{
    kl_config *config = help_config(second_pairs);
    char text[256];
    kl_node *node;

    ck_assert_int_eq(kl_node_new(&node, config), 0);
    ck_assert_int_eq(kl_node_set_storage(node, storage), 0);
    ck_assert_int_eq(
        kl_node_open(node, "second", KL_OPEN_CREATE | KL_OPEN_JOIN),
        KL_ECONFIG);
    ck_assert_int_eq(kl_node_errmsg(node, text, sizeof text), 0);
    ck_assert_ptr_nonnull(strstr(text, "transport"));
    kl_node_free(node);
    kl_config_free(config);
}
END_TEST

/* It asks again and again, whatever becomes of it. */
START_TEST(nobody_is_there)
{
    second_open();
    until(QUEUE, sides[1].connects >= 4);
    ck_assert_int_eq(sides[1].asked_id, 1);
    ck_assert_str_eq(sides[1].asked, "first");
    ck_assert_int_eq(sides[1].sends, 0);
    ck_assert_int_eq(sides[1].disconnects, 0);
}
END_TEST

/* Messages come in pieces of any size, and the second node learns of a topic of
 * the first one. */
START_TEST(two_nodes)
{
    static const size_t pieces[] = {1, 7, 1000, QUEUE};
    kl_client *clients[SIDES];
    int32_t count = 0;
    kl_op *op;

    first_open();
    second_open();
    for (int i = 0; i < SIDES; i++)
        ck_assert_int_eq(kl_node_client(sides[i].node, &clients[i]), 0);
    ck_assert_int_eq(
        kl_admin_create_topic(clients[0], "words", 3, 1, NULL, 0, &op), 0);
    until(pieces[_i], kl_op_done(op));
    ck_assert_int_eq(help_finish(op), 0);
    until(pieces[_i],
          kl_client_partition_count(clients[1], "words", &count) == 0);
    ck_assert_int_eq(count, 3);
    ck_assert_int_eq(sides[1].connects, 3);
    for (int i = 0; i < SIDES; i++)
        kl_client_free(clients[i]);
}
END_TEST

/* A message that is refused comes when there is room, and a link that is lost
 * is made anew. */
START_TEST(senders_that_refuse)
{
    struct side *s = &sides[1];
    int sends;

    first_open();
    second_open();
    s->send_code = KL_EAGAIN;
    until(QUEUE, s->sends == 1);
    for (int i = 0; i < 20; i++)
        turn(QUEUE);
    ck_assert_int_eq(s->sends, 1);
    s->send_code = 0;
    ck_assert_int_eq(kl_transport_writable(s->transport, s->link), 0);
    until(QUEUE, sides[0].sends > 0);
    sends = s->sends;
    s->send_code = 5;
    until(QUEUE, s->disconnects == 1);
    ck_assert_int_gt(s->sends, sends);
    s->send_code = 0;
    /* The other side has to be told. */
    ck_assert_int_eq(kl_transport_down(sides[0].transport, sides[0].link), 0);
    sides[0].link = 0;
    sides[0].out.size = s->out.size = 0;
    sends = s->sends;
    until(QUEUE, s->sends > sends && s->connects == 4);
}
END_TEST

/* The same message again and again: the inbox takes what it may, the rest when
 * there is room, and nothing comes of them. */
START_TEST(replayed_messages_fill_an_inbox)
{
    struct side *first = &sides[0], *second = &sides[1];
    unsigned char copy[1024];
    kl_client *client;
    int32_t count = 0;
    size_t size;
    kl_op *op;

    first_open();
    second_open();
    while (second->sends == 0)
        ck_assert_int_eq(kl_node_poll(second->node, 1), 0);
    size = second->out.size;
    ck_assert_uint_le(size, sizeof copy);
    memcpy(copy, second->out.data, size);
    for (int round = 0; round < 3; round++) {
        int resumes = first->resumes, rc;

        while ((rc = kl_transport_deliver(first->transport, first->link, copy,
                                          size)) == 0)
            count++;
        ck_assert_int_eq(rc, KL_EAGAIN);
        ck_assert_int_eq(
            kl_transport_deliver(first->transport, first->link, copy, size),
            KL_EAGAIN);
        while (first->resumes == resumes)
            ck_assert_int_eq(kl_node_poll(first->node, 0), 0);
        ck_assert_int_eq(first->resumes, resumes + 1);
    }
    ck_assert_int_gt(count, 3);
    ck_assert_int_eq(kl_node_client(second->node, &client), 0);
    ck_assert_int_eq(kl_client_partition_count(client, "words", &count),
                     KL_ENOTOPIC);
    kl_client_free(client);
    ck_assert_int_eq(kl_node_client(first->node, &client), 0);
    ck_assert_int_eq(kl_admin_create_topic(client, "words", 3, 1, NULL, 0, &op),
                     0);
    until(QUEUE, kl_op_done(op));
    ck_assert_int_eq(help_finish(op), 0);
    kl_client_free(client);
    ck_assert_int_eq(kl_node_client(second->node, &client), 0);
    until(QUEUE, kl_client_partition_count(client, "words", &count) == 0);
    kl_client_free(client);
}
END_TEST

/* What is not a node's ends its link and nothing else. */
START_TEST(what_is_no_message)
{
    static const unsigned char bad[64] = {0xff, 0xff, 0xff, 0x7f};
    struct side *s = &sides[1];
    uint64_t link, other;

    second_open();
    ck_assert_int_eq(kl_transport_accept(s->transport, &link), 0);
    ck_assert_uint_ne(link, 0);
    ck_assert_int_eq(kl_transport_accept(s->transport, &other), KL_EAGAIN);
    ck_assert_uint_eq(other, 0);
    ck_assert_int_eq(kl_transport_deliver(s->transport, link, bad, sizeof bad),
                     KL_EFORMAT);
    ck_assert_int_eq(kl_transport_deliver(s->transport, link, bad, 1),
                     KL_ECLOSED);
    ck_assert_int_eq(kl_transport_down(s->transport, link), 0);
    ck_assert_int_eq(kl_transport_up(s->transport, 12345), 0);
    ck_assert_int_eq(kl_transport_deliver(s->transport, 12345, bad, 1),
                     KL_ECLOSED);
    for (int i = 0; i < 3; i++)
        turn(QUEUE);
    /* There is room for another one. */
    ck_assert_int_eq(kl_transport_accept(s->transport, &link), 0);
    s->link = link;
}
END_TEST

START_TEST(a_stop_ends_all_links)
{
    struct side *s = &sides[1];
    uint64_t link;

    second_open();
    ck_assert_int_eq(kl_transport_accept(s->transport, &link), 0);
    s->link = link;
    turn(QUEUE);
    s->reenter = NULL;
    ck_assert_int_eq(kl_node_stop(s->node, -1), 0);
    ck_assert_int_eq(s->disconnects, 1);
    ck_assert_int_eq(kl_transport_accept(s->transport, &link), KL_ECLOSED);
    ck_assert_int_eq(kl_transport_deliver(s->transport, 1, "x", 1), KL_ECLOSED);
}
END_TEST

Suite *suite_api_transport_node(void);

Suite *suite_api_transport_node(void)
{
    Suite *s = suite_create("api_transport_node");
    TCase *tc = tcase_create("node");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_transport_is_of_one_node);
    tcase_add_test(tc, who_joins_needs_a_transport);
    tcase_add_test(tc, nobody_is_there);
    tcase_add_loop_test(tc, two_nodes, 0, 4);
    tcase_add_test(tc, senders_that_refuse);
    tcase_add_test(tc, replayed_messages_fill_an_inbox);
    tcase_add_test(tc, what_is_no_message);
    tcase_add_test(tc, a_stop_ends_all_links);
    suite_add_tcase(s, tc);
    return s;
}
