#include "net_help.h"

#include "wire_sample.h"

#include <pthread.h>
#include <string.h>

struct net_fake fake;

static uint8_t net_byte(size_t position, unsigned fill)
{
    return (uint8_t)(position * 7 + position / 251 + fill * 31);
}

/* How every message begins, behind its size. */
static uint32_t magic;
static pthread_once_t magic_once = PTHREAD_ONCE_INIT;

static void magic_find(void)
{
    static struct wire_sample sample;
    struct kl_wire_message m;
    struct kl_base_buf buf;

    kl_base_buf_init(&buf, &kl_base_alloc_libc);
    wire_sample_seed(&sample, 1);
    wire_sample_message(&sample, kl_wire_message_table_at(0), 0, &m);
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, NULL), 0);
    magic = kl_base_get_le32(buf.data + 4);
    kl_base_buf_deinit(&buf);
}

/* Threads of a test ask at the same time. */
static uint32_t net_magic(void)
{
    ck_assert_int_eq(pthread_once(&magic_once, magic_find), 0);
    return magic;
}

void net_message_put(uint8_t *out, size_t size, unsigned fill)
{
    ck_assert_uint_ge(size, NET_MESSAGE_MIN);
    kl_base_put_le32(out, (uint32_t)size);
    kl_base_put_le32(out + 4, net_magic());
    for (size_t i = 8; i < size; i++)
        out[i] = net_byte(i, fill);
}

void net_message_check(const uint8_t *data, size_t size, size_t whole,
                       unsigned fill)
{
    ck_assert_uint_eq(size, whole);
    ck_assert_uint_eq(kl_base_get_le32(data), whole);
    for (size_t i = 8; i < size; i++)
        if (data[i] != net_byte(i, fill))
            ck_abort_msg("byte %zu of %zu is wrong", i, size);
}

/* ---- the transport ------------------------------------------------------ */

static void fake_note(char what, uint64_t link, size_t size)
{
    ck_assert_uint_lt(fake.called, NET_CALLS);
    fake.calls[fake.called++] = (struct net_call){what, link, size};
    if (fake.inside && what != 'd')
        fake.inside(link);
}

static int fake_connect(void *user, uint64_t link, int32_t node_id,
                        const char *endpoint)
{
    ck_assert_ptr_eq(user, &fake);
    ck_assert_int_eq(node_id, 3);
    ck_assert_str_eq(endpoint, "there");
    fake_note('c', link, 0);
    return fake.answer;
}

static int fake_send(void *user, uint64_t link, const void *data, size_t size)
{
    ck_assert_ptr_eq(user, &fake);
    ck_assert_ptr_nonnull(data);
    fake_note('s', link, size);
    return fake.answer;
}

static void fake_disconnect(void *user, uint64_t link)
{
    ck_assert_ptr_eq(user, &fake);
    fake_note('d', link, 0);
}

static void fake_resume(void *user, uint64_t link)
{
    ck_assert_ptr_eq(user, &fake);
    fake_note('r', link, 0);
}

void net_fake_wake(void *user)
{
    ck_assert_ptr_eq(user, &fake);
    fake.wakes++;
}

void net_fake_set_up(size_t inbox)
{
    static const struct kl_net_ops ops = {fake_connect, fake_send,
                                          fake_disconnect, fake_resume};
    struct kl_net_options options = {1000, inbox * NET_MESSAGE_MIN, 4};

    memset(&fake, 0, sizeof fake);
    fail_alloc_init(&fake.memory);
    ck_assert_int_eq(kl_net_new(&fake.net, &fake.memory.alloc, &options), 0);
    kl_net_set_ops(fake.net, &ops, &fake);
    ck_assert_int_eq(kl_net_attach(fake.net, net_fake_wake, &fake), 0);
}

void net_fake_tear_down(void)
{
    fake.called = 0;
    kl_net_attach(fake.net, NULL, NULL);
    kl_net_free(fake.net);
    fail_alloc_deinit(&fake.memory);
}

uint64_t net_fake_connect(void)
{
    uint64_t link;

    ck_assert_int_eq(kl_net_connect(fake.net, 3, "there", &link), 0);
    ck_assert_uint_ne(link, 0);
    return link;
}

uint64_t net_fake_accept(void)
{
    uint64_t link;

    ck_assert_int_eq(kl_net_accept(fake.net, &link), 0);
    ck_assert_uint_ne(link, 0);
    return link;
}

uint64_t net_fake_up(void)
{
    uint64_t link = net_fake_connect();

    kl_net_up(fake.net, link);
    net_expect(KL_NET_UP, link);
    fake.called = 0;
    return link;
}

int net_fake_deliver(uint64_t link, size_t size, unsigned fill)
{
    uint8_t bytes[1000];

    net_message_put(bytes, size, fill);
    return kl_net_deliver(fake.net, link, bytes, size);
}

void net_fake_called(size_t count, char what, uint64_t link)
{
    ck_assert_uint_eq(fake.called, count);
    ck_assert_int_eq(fake.calls[count - 1].what, what);
    ck_assert_uint_eq(fake.calls[count - 1].link, link);
    fake.called = 0;
}

/* ---- events ------------------------------------------------------------- */

static void expect_event(struct kl_net_event *event,
                         enum kl_net_event_type type, uint64_t link)
{
    ck_assert_int_eq(kl_net_next(fake.net, event), 1);
    ck_assert_int_eq(event->type, type);
    ck_assert_uint_eq(event->link, link);
}

void net_expect(enum kl_net_event_type type, uint64_t link)
{
    struct kl_net_event event;

    expect_event(&event, type, link);
    ck_assert_int_eq(event.code, 0);
    ck_assert_uint_eq(event.size, 0);
}

void net_expect_down(uint64_t link, int code)
{
    struct kl_net_event event;

    expect_event(&event, KL_NET_DOWN, link);
    ck_assert_int_eq(event.code, code);
}

void net_expect_message(uint64_t link, size_t size, unsigned fill)
{
    struct kl_net_event event;

    expect_event(&event, KL_NET_MESSAGE, link);
    net_message_check(event.data, event.size, size, fill);
}

void net_expect_nothing(void)
{
    struct kl_net_event event;

    ck_assert_int_eq(kl_net_next(fake.net, &event), 0);
}
