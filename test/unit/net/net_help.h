/*
 * Messages of any size, and a transport that notes what it is asked for.
 */
#ifndef TEST_NET_HELP_H
#define TEST_NET_HELP_H

#include "fail_alloc.h"
#include "net/net.h"
#include "wire/wire.h"

#include <check.h>

enum { NET_MESSAGE_MIN = KL_WIRE_MESSAGE_HEADER };

/* Writes size bytes that begin as a message of that size and go on with what
 * fill makes of the position. */
void net_message_put(uint8_t *out, size_t size, unsigned fill);
/* Fails the test where data is not such a message. */
void net_message_check(const uint8_t *data, size_t size, size_t whole,
                       unsigned fill);

enum { NET_CALLS = 64 };

struct net_call
{
    char what; /* c s d r: connect, send, disconnect, resume */
    uint64_t link;
    size_t size;
};

struct net_fake
{
    struct fail_alloc memory;
    struct kl_net *net;
    struct net_call calls[NET_CALLS];
    size_t called;
    int answer; /* of connect and send */
    void (*inside)(
        uint64_t link); /* of connect, send and resume; may be NULL */
    int wakes;
};

extern struct net_fake fake;

/* An attached mailbox with room for about inbox messages of the smallest size
 * and messages up to 1000 bytes; at most four links of others. */
void net_fake_set_up(size_t inbox);
void net_fake_tear_down(void);
void net_fake_wake(void *user);

uint64_t net_fake_connect(void);
uint64_t net_fake_accept(void);
/* A link that is up, and has told it. */
uint64_t net_fake_up(void);
/* Delivers one whole message. */
int net_fake_deliver(uint64_t link, size_t size, unsigned fill);
/* The last call, and how many there were since the last time. */
void net_fake_called(size_t count, char what, uint64_t link);

/* The next event is this one; code and size 0 where there is none. */
void net_expect(enum kl_net_event_type type, uint64_t link);
void net_expect_down(uint64_t link, int code);
void net_expect_message(uint64_t link, size_t size, unsigned fill);
void net_expect_nothing(void);

#endif
