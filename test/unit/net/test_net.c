/*
 * Links between a node and a transport that notes what it is asked for.
 */
#include "net_help.h"

#include <string.h>

enum { MIN = NET_MESSAGE_MIN };

static void set_up(void)
{
    net_fake_set_up(8);
}

static void up_inside(uint64_t link)
{
    kl_net_up(fake.net, link);
}

static void down_inside(uint64_t link)
{
    kl_net_down(fake.net, link);
}

/* ---- connecting ---------------------------------------------------------- */

START_TEST(connect_up_down)
{
    uint64_t link = net_fake_connect();

    net_fake_called(1, 'c', link);
    net_expect_nothing();
    ck_assert_int_eq(net_fake_deliver(link, MIN, 0), KL_ESTATE);
    ck_assert_int_eq(kl_net_send(fake.net, link, "x", 1), KL_ECLOSED);
    kl_net_writable(fake.net, link);
    net_expect_nothing();
    ck_assert_int_eq(fake.wakes, 0);
    kl_net_up(fake.net, link);
    ck_assert_int_eq(fake.wakes, 1);
    kl_net_up(fake.net, link);
    net_expect(KL_NET_UP, link);
    kl_net_up(fake.net, link);
    net_expect_nothing();
    kl_net_down(fake.net, link);
    kl_net_down(fake.net, link);
    kl_net_up(fake.net, link);
    kl_net_writable(fake.net, link);
    ck_assert_int_eq(net_fake_deliver(link, MIN, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_net_send(fake.net, link, "x", 1), KL_ECLOSED);
    net_expect_down(link, 0);
    net_expect_nothing();
    kl_net_down(fake.net, link);
    net_expect_nothing();
    ck_assert_uint_eq(fake.called, 0);
}
END_TEST

START_TEST(told_from_inside_connect)
{
    uint64_t link;

    fake.inside = up_inside;
    link = net_fake_connect();
    net_expect(KL_NET_UP, link);
    fake.inside = down_inside;
    link = net_fake_connect();
    net_expect_down(link, 0);
    fake.answer = KL_EIO;
    ck_assert_int_eq(kl_net_connect(fake.net, 3, "there", &link), KL_EIO);
    ck_assert_uint_eq(link, 0);
    net_expect_nothing();
}
END_TEST

START_TEST(connect_that_cannot_be_tried)
{
    uint64_t link = 7;

    fake.answer = KL_ENOFILES;
    ck_assert_int_eq(kl_net_connect(fake.net, 3, "there", &link), KL_ENOFILES);
    ck_assert_uint_eq(link, 0);
    link = fake.calls[0].link;
    kl_net_up(fake.net, link);
    ck_assert_int_eq(net_fake_deliver(link, MIN, 0), KL_ECLOSED);
    net_expect_nothing();
    net_fake_called(1, 'c', link);
}
END_TEST

START_TEST(numbers_are_never_used_again)
{
    uint64_t last = 0, link;

    for (int i = 0; i < 100; i++) {
        fake.called = 0;
        switch (i % 4) {
        case 0:
            link = net_fake_accept();
            kl_net_disconnect(fake.net, link);
            break;
        case 1:
            fake.answer = KL_EIO;
            ck_assert_int_eq(kl_net_connect(fake.net, 3, "there", &link),
                             KL_EIO);
            link = fake.calls[0].link;
            fake.answer = 0;
            break;
        case 2:
            link = net_fake_connect();
            kl_net_down(fake.net, link);
            net_expect_down(link, 0);
            break;
        default:
            link = net_fake_connect();
            kl_net_attach(fake.net, NULL, NULL);
            ck_assert_int_eq(kl_net_attach(fake.net, net_fake_wake, &fake), 0);
        }
        ck_assert_uint_gt(link, last);
        last = link;
    }
}
END_TEST

START_TEST(accepted_links_are_limited)
{
    uint64_t links[4], more;

    for (int i = 0; i < 4; i++)
        links[i] = net_fake_accept();
    ck_assert_int_eq(kl_net_accept(fake.net, &more), KL_EAGAIN);
    ck_assert_uint_eq(more, 0);
    /* The node can still reach others. */
    ck_assert_uint_gt(net_fake_connect(), links[3]);
    kl_net_down(fake.net, links[1]);
    ck_assert_int_eq(kl_net_accept(fake.net, &more), KL_EAGAIN);
    for (int i = 0; i < 4; i++)
        net_expect(KL_NET_UP, links[i]);
    net_expect_down(links[1], 0);
    more = net_fake_accept();
    net_expect(KL_NET_UP, more);
    kl_net_disconnect(fake.net, links[0]);
    net_expect(KL_NET_UP, net_fake_accept());
    ck_assert_int_eq(kl_net_accept(fake.net, &more), KL_EAGAIN);
}
END_TEST

START_TEST(who_made_the_link)
{
    uint64_t mine = net_fake_connect(), other = net_fake_accept();
    struct kl_net_event event;

    kl_net_up(fake.net, mine);
    kl_net_down(fake.net, mine);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(kl_net_next(fake.net, &event), 1);
        ck_assert_int_eq(event.is_incoming, event.link == other);
    }
    net_expect_nothing();
}
END_TEST

/* ---- messages ----------------------------------------------------------- */

START_TEST(events_in_order)
{
    uint64_t link = net_fake_accept();

    ck_assert_int_eq(net_fake_deliver(link, MIN, 1), 0);
    kl_net_writable(fake.net, link);
    ck_assert_int_eq(kl_net_deliver(fake.net, link, NULL, 0), 0);
    ck_assert_int_eq(net_fake_deliver(link, 900, 2), 0);
    kl_net_down(fake.net, link);
    net_expect(KL_NET_UP, link);
    net_expect_message(link, MIN, 1);
    net_expect_message(link, 900, 2);
    net_expect_down(link, 0);
    net_expect_nothing();
}
END_TEST

START_TEST(links_take_turns)
{
    uint64_t a = net_fake_up(), b = net_fake_up();

    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(net_fake_deliver(a, MIN, i), 0);
    ck_assert_int_eq(net_fake_deliver(b, MIN, 9), 0);
    net_expect_message(a, MIN, 0);
    net_expect_message(b, MIN, 9);
    net_expect_message(a, MIN, 1);
    net_expect_message(a, MIN, 2);
    net_expect_nothing();
}
END_TEST

START_TEST(a_message_lives_until_the_next_call)
{
    uint64_t link = net_fake_up();
    struct kl_net_event event;

    ck_assert_int_eq(net_fake_deliver(link, 500, 1), 0);
    ck_assert_int_eq(net_fake_deliver(link, 600, 2), 0);
    ck_assert_int_eq(kl_net_next(fake.net, &event), 1);
    kl_net_disconnect(fake.net, link);
    net_message_check(event.data, event.size, 500, 1);
    ck_assert_uint_gt(fake.memory.live_bytes, 0);
    net_expect_nothing();
}
END_TEST

START_TEST(a_link_dies_alone)
{
    uint64_t good = net_fake_up(), bad = net_fake_up();
    uint8_t bytes[MIN + 8];

    net_message_put(bytes, MIN, 5);
    memset(bytes + MIN, 'x', 8);
    ck_assert_int_eq(net_fake_deliver(good, MIN, 1), 0);
    ck_assert_int_eq(kl_net_deliver(fake.net, bad, bytes, sizeof bytes),
                     KL_EFORMAT);
    ck_assert_int_eq(net_fake_deliver(bad, MIN, 1), KL_ECLOSED);
    ck_assert_int_eq(net_fake_deliver(good, MIN, 2), 0);
    net_expect_message(good, MIN, 1);
    net_expect_message(bad, MIN, 5);
    net_expect_message(good, MIN, 2);
    net_expect_down(bad, KL_EFORMAT);
    net_expect_nothing();
    ck_assert_uint_eq(fake.called, 0);
}
END_TEST

START_TEST(half_a_message_is_none)
{
    uint8_t bytes[2 * MIN];
    size_t idle = fake.memory.live_bytes;

    net_message_put(bytes, MIN, 1);
    net_message_put(bytes + MIN, MIN, 2);
    for (size_t size = 0; size < sizeof bytes; size++) {
        uint64_t link = net_fake_up();

        ck_assert_int_eq(kl_net_deliver(fake.net, link, bytes, size), 0);
        kl_net_down(fake.net, link);
        if (size >= MIN)
            net_expect_message(link, MIN, 1);
        net_expect_down(link, 0);
        net_expect_nothing();
    }
    /* But for the map of links. */
    ck_assert_uint_le(fake.memory.live_bytes, idle + 1024);
}
END_TEST

/* ---- back-pressure ------------------------------------------------------ */

static void fill(uint64_t link)
{
    for (int i = 0; i < 8; i++)
        if (net_fake_deliver(link, MIN, (unsigned)i) == KL_EAGAIN)
            return;
    ck_abort_msg("the inbox is never full");
}

START_TEST(a_full_inbox_takes_nothing)
{
    uint64_t link = net_fake_up(), other = net_fake_up();
    struct kl_net_event event;
    unsigned taken = 0;

    fill(link);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(net_fake_deliver(other, MIN, 7), KL_EAGAIN);
    while (fake.called == 0) {
        ck_assert_int_eq(kl_net_next(fake.net, &event), 1);
        ck_assert_uint_eq(event.link, link);
        net_message_check(event.data, event.size, MIN, taken++);
    }
    /* Each is told once, and before the inbox is empty. */
    ck_assert_uint_eq(fake.calls[0].link, link);
    net_fake_called(2, 'r', other);
    ck_assert_uint_ge(taken, 2);
    ck_assert_int_eq(net_fake_deliver(other, MIN, 7), 0);
    do
        ck_assert_int_eq(kl_net_next(fake.net, &event), 1);
    while (event.link == link);
    net_message_check(event.data, event.size, MIN, 7);
    ck_assert_uint_eq(fake.called, 0);
}
END_TEST

static uint64_t greedy;

static void refill_inside(uint64_t link)
{
    if (link == greedy)
        fill(link);
}

/* Who takes all the room when it is asked first comes last the next time. */
START_TEST(nobody_waits_for_ever)
{
    uint64_t other;
    struct kl_net_event event;

    greedy = net_fake_up();
    other = net_fake_up();
    fill(greedy);
    ck_assert_int_eq(net_fake_deliver(other, MIN, 1), KL_EAGAIN);
    fake.inside = refill_inside;
    while (fake.called < 2)
        ck_assert_int_eq(kl_net_next(fake.net, &event), 1);
    ck_assert_uint_eq(fake.calls[0].link, greedy);
    ck_assert_uint_eq(fake.calls[1].link, other);
    fake.inside = NULL;
}
END_TEST

START_TEST(whoever_is_gone_or_has_delivered_is_not_resumed)
{
    uint64_t a = net_fake_up(), b = net_fake_up(), c = net_fake_up();
    struct kl_net_event event;

    fill(a);
    ck_assert_int_eq(net_fake_deliver(b, MIN, 0), KL_EAGAIN);
    ck_assert_int_eq(net_fake_deliver(c, MIN, 0), KL_EAGAIN);
    kl_net_down(fake.net, b);
    kl_net_disconnect(fake.net, c);
    net_fake_called(1, 'd', c);
    net_expect_message(a, MIN, 0);
    ck_assert_int_eq(net_fake_deliver(a, MIN, 9), 0);
    while (kl_net_next(fake.net, &event))
        continue;
    ck_assert_uint_eq(fake.called, 0);
}
END_TEST

START_TEST(send_and_writable)
{
    uint64_t link = net_fake_up();

    ck_assert_int_eq(kl_net_send(fake.net, link, "abc", 3), 0);
    ck_assert_uint_eq(fake.calls[0].size, 3);
    net_fake_called(1, 's', link);
    fake.answer = KL_EAGAIN;
    ck_assert_int_eq(kl_net_send(fake.net, link, "abc", 3), KL_EAGAIN);
    net_expect_nothing();
    kl_net_writable(fake.net, link);
    kl_net_writable(fake.net, link);
    net_expect(KL_NET_WRITABLE, link);
    net_expect_nothing();
}
END_TEST

START_TEST(a_send_that_fails_ends_the_link)
{
    static const int codes[] = {KL_EIO, 1, -1, KL_ECLOSED};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        uint64_t link = net_fake_up();

        ck_assert_int_eq(net_fake_deliver(link, MIN, 1), 0);
        fake.answer = codes[i];
        fake.inside = i & 1 ? down_inside : NULL;
        ck_assert_int_eq(kl_net_send(fake.net, link, "abc", 3), KL_ECLOSED);
        if (i & 1)
            net_fake_called(1, 's', link);
        else
            net_fake_called(2, 'd', link);
        ck_assert_int_eq(kl_net_send(fake.net, link, "abc", 3), KL_ECLOSED);
        ck_assert_int_eq(net_fake_deliver(link, MIN, 1), KL_ECLOSED);
        net_expect_message(link, MIN, 1);
        net_expect_down(link, i & 1 ? 0 : codes[i]);
        ck_assert_uint_eq(fake.called, 0);
        fake.answer = 0;
        fake.inside = NULL;
    }
}
END_TEST

/* ---- the end ------------------------------------------------------------ */

START_TEST(disconnect_ends_a_link)
{
    uint64_t up = net_fake_up(), down = net_fake_up(),
             connecting = net_fake_connect();

    fake.called = 0;
    ck_assert_int_eq(net_fake_deliver(up, MIN, 1), 0);
    kl_net_down(fake.net, down);
    kl_net_disconnect(fake.net, down);
    ck_assert_uint_eq(fake.called, 0);
    kl_net_disconnect(fake.net, up);
    net_fake_called(1, 'd', up);
    kl_net_disconnect(fake.net, connecting);
    net_fake_called(1, 'd', connecting);
    kl_net_disconnect(fake.net, up);
    kl_net_disconnect(fake.net, 0);
    kl_net_disconnect(fake.net, 12345);
    ck_assert_uint_eq(fake.called, 0);
    ck_assert_int_eq(net_fake_deliver(up, MIN, 1), KL_ECLOSED);
    kl_net_up(fake.net, connecting);
    kl_net_down(fake.net, connecting);
    net_expect_nothing();
}
END_TEST

START_TEST(detach_drops_everything)
{
    uint64_t up = net_fake_up(), down = net_fake_up(), link;
    uint64_t connecting = net_fake_connect();
    int wakes;

    fake.called = 0;
    fill(up);
    net_expect_message(up, MIN, 0);
    kl_net_down(fake.net, down);
    wakes = fake.wakes;
    ck_assert_int_eq(kl_net_attach(fake.net, NULL, NULL), 0);
    ck_assert_uint_eq(fake.calls[0].link, up);
    net_fake_called(2, 'd', connecting);
    net_expect_nothing();
    ck_assert_int_eq(kl_net_accept(fake.net, &link), KL_ECLOSED);
    ck_assert_uint_eq(link, 0);
    ck_assert_int_eq(kl_net_connect(fake.net, 3, "there", &link), KL_ECLOSED);
    ck_assert_int_eq(kl_net_send(fake.net, up, "x", 1), KL_ECLOSED);
    ck_assert_int_eq(net_fake_deliver(up, MIN, 1), KL_ECLOSED);
    kl_net_up(fake.net, connecting);
    kl_net_down(fake.net, up);
    kl_net_writable(fake.net, up);
    ck_assert_int_eq(fake.wakes, wakes);
    ck_assert_uint_eq(fake.called, 0);
    ck_assert_int_eq(kl_net_attach(fake.net, NULL, NULL), 0);
    ck_assert_int_eq(kl_net_attach(fake.net, net_fake_wake, &fake), 0);
    /* The room is free again. */
    link = net_fake_up();
    fill(link);
    net_expect_message(link, MIN, 0);
}
END_TEST

START_TEST(one_node_at_a_time)
{
    uint64_t link = net_fake_accept();

    ck_assert_int_eq(kl_net_attach(fake.net, net_fake_wake, NULL), KL_EBUSY);
    net_expect(KL_NET_UP, link);
}
END_TEST

START_TEST(options_are_checked)
{
    static const struct kl_net_options bad[] = {{0, 1, 1}, {1, 0, 1}};
    static const struct kl_net_options good = {1, 1, 0};
    struct kl_net *net = fake.net;

    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(kl_net_new(&net, &fake.memory.alloc, &bad[i]),
                         KL_EINVAL);
        ck_assert_ptr_null(net);
    }
    ck_assert_int_eq(kl_net_new(&net, &fake.memory.alloc, &good), 0);
    kl_net_free(net);
    kl_net_free(NULL);
}
END_TEST

/* ---- no memory ---------------------------------------------------------- */

static void scenario(void)
{
    uint64_t a = 0, b = 0;
    uint8_t bytes[900];

    (void)kl_net_accept(fake.net, &a);
    (void)kl_net_connect(fake.net, 3, "there", &b);
    kl_net_up(fake.net, b);
    net_message_put(bytes, sizeof bytes, 4);
    for (size_t i = 0; a && b && i < sizeof bytes; i += 100) {
        while (kl_net_deliver(fake.net, a, bytes + i, 100) == KL_ENOMEM)
            continue;
        while (kl_net_deliver(fake.net, b, bytes + i, 100) == KL_ENOMEM)
            continue;
    }
    if (a)
        net_expect(KL_NET_UP, a);
    if (b)
        net_expect(KL_NET_UP, b);
    if (a && b) {
        net_expect_message(a, sizeof bytes, 4);
        net_expect_message(b, sizeof bytes, 4);
    }
    net_expect_nothing();
}

START_TEST(no_memory)
{
    uint64_t at = 0;

    do {
        struct kl_net_options options = {1000, 1000, 4};
        struct kl_net *net;

        net_fake_tear_down();
        net_fake_set_up(20); /* both messages */
        fail_alloc_arm(&fake.memory, ++at);
        if (kl_net_new(&net, &fake.memory.alloc, &options))
            ck_assert_ptr_null(net);
        kl_net_free(net);
        scenario();
    } while (fake.memory.failed);
    ck_assert_uint_gt(at, 10);
}
END_TEST

Suite *suite_net_net(void);

Suite *suite_net_net(void)
{
    Suite *s = suite_create("net_net");
    TCase *tc = tcase_create("net");

    tcase_add_checked_fixture(tc, set_up, net_fake_tear_down);
    tcase_add_test(tc, connect_up_down);
    tcase_add_test(tc, told_from_inside_connect);
    tcase_add_test(tc, connect_that_cannot_be_tried);
    tcase_add_test(tc, numbers_are_never_used_again);
    tcase_add_test(tc, accepted_links_are_limited);
    tcase_add_test(tc, who_made_the_link);
    tcase_add_test(tc, events_in_order);
    tcase_add_test(tc, links_take_turns);
    tcase_add_test(tc, a_message_lives_until_the_next_call);
    tcase_add_test(tc, a_link_dies_alone);
    tcase_add_test(tc, half_a_message_is_none);
    tcase_add_test(tc, a_full_inbox_takes_nothing);
    tcase_add_test(tc, nobody_waits_for_ever);
    tcase_add_test(tc, whoever_is_gone_or_has_delivered_is_not_resumed);
    tcase_add_test(tc, send_and_writable);
    tcase_add_test(tc, a_send_that_fails_ends_the_link);
    tcase_add_test(tc, disconnect_ends_a_link);
    tcase_add_test(tc, detach_drops_everything);
    tcase_add_test(tc, one_node_at_a_time);
    tcase_add_test(tc, options_are_checked);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(s, tc);
    return s;
}
