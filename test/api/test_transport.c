/*
 * Transports and hubs from outside, without another node.
 */
#include "pubsub_help.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static kl_transport *transport;
static kl_hub *hub;

static void setup(void)
{
    ck_assert_int_eq(kl_transport_new(&transport, NULL), 0);
    ck_assert_int_eq(kl_hub_new(&hub, NULL), 0);
}

static void teardown(void)
{
    kl_transport_free(transport);
    kl_hub_free(hub);
}

static int host_connect(uint64_t link, int32_t node_id, const char *endpoint,
                        void *user)
{
    (void)link, (void)node_id, (void)endpoint, (void)user;
    return KL_ECLOSED;
}

static int host_send(uint64_t link, const void *data, size_t size, void *user)
{
    (void)link, (void)data, (void)size, (void)user;
    return KL_EAGAIN;
}

static void host_link(uint64_t link, void *user)
{
    (void)link, (void)user;
}

enum { CONNECT, SEND, DISCONNECT, RESUME, CALLS };

static const char *const names[] = {"connect", "send", "disconnect", "resume"};

static int host_set(kl_transport *t, int call, int is_set)
{
    switch (call) {
    case CONNECT:
        return kl_transport_set_connect(t, is_set ? host_connect : NULL, NULL);
    case SEND:
        return kl_transport_set_send(t, is_set ? host_send : NULL, NULL);
    case DISCONNECT:
        return kl_transport_set_disconnect(t, is_set ? host_link : NULL, NULL);
    default:
        return kl_transport_set_resume(t, is_set ? host_link : NULL, NULL);
    }
}

/* What the host tells; each call answers the same code. */
static void tells(kl_transport *t, int code)
{
    uint64_t link;

    ck_assert_int_eq(kl_transport_accept(t, &link), code);
    ck_assert_int_eq(kl_transport_up(t, 1), code);
    ck_assert_int_eq(kl_transport_down(t, 1), code);
    ck_assert_int_eq(kl_transport_writable(t, 1), code);
    ck_assert_int_eq(kl_transport_deliver(t, 1, "x", 1), code);
}

START_TEST(misuse_of_null)
{
    kl_transport *other = transport;
    kl_node *node;

    ck_assert_int_eq(kl_transport_new(NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_hub_new(NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_transport_new_loopback(NULL, NULL, hub, "a"),
                     KL_EINVAL);
    ck_assert_int_eq(kl_transport_new_loopback(&other, NULL, NULL, "a"),
                     KL_EINVAL);
    ck_assert_ptr_null(other);
    for (int call = 0; call < CALLS; call++)
        ck_assert_int_eq(host_set(NULL, call, 1), KL_EINVAL);
    tells(NULL, KL_EINVAL);
    ck_assert_int_eq(kl_transport_accept(transport, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_transport_deliver(transport, 1, NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_node_set_transport(NULL, transport), KL_EINVAL);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_set_transport(node, NULL), 0);
    kl_node_free(node);
    kl_transport_free(NULL);
    kl_hub_free(NULL);
}
END_TEST

START_TEST(bad_endpoints)
{
    char text[257];
    kl_transport *t;

    memset(text, 'e', sizeof text);
    text[256] = 0;
    ck_assert_int_eq(kl_transport_new_loopback(&t, NULL, hub, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_transport_new_loopback(&t, NULL, hub, ""), KL_EINVAL);
    ck_assert_int_eq(kl_transport_new_loopback(&t, NULL, hub, "a,b"),
                     KL_EINVAL);
    ck_assert_int_eq(kl_transport_new_loopback(&t, NULL, hub, text), KL_EINVAL);
    ck_assert_ptr_null(t);
    text[255] = 0;
    ck_assert_int_eq(kl_transport_new_loopback(&t, NULL, hub, text), 0);
    kl_transport_free(t);
}
END_TEST

START_TEST(an_endpoint_is_of_one)
{
    kl_transport *a, *b;

    ck_assert_int_eq(kl_transport_new_loopback(&a, NULL, hub, "a"), 0);
    ck_assert_int_eq(kl_transport_new_loopback(&b, NULL, hub, "a"), KL_EBUSY);
    ck_assert_ptr_null(b);
    kl_transport_free(a);
    ck_assert_int_eq(kl_transport_new_loopback(&b, NULL, hub, "a"), 0);
    /* It holds the hub. */
    kl_hub_free(hub);
    hub = NULL;
    kl_transport_free(b);
}
END_TEST

START_TEST(a_hub_needs_nothing_of_the_host)
{
    kl_transport *t;

    ck_assert_int_eq(kl_transport_new_loopback(&t, NULL, hub, "a"), 0);
    for (int call = 0; call < CALLS; call++)
        ck_assert_int_eq(host_set(t, call, 1), KL_ESTATE);
    tells(t, KL_ESTATE);
    kl_transport_free(t);
}
END_TEST

/* Without a node there are no links. */
START_TEST(nobody_is_there)
{
    uint64_t link = 7;

    ck_assert_int_eq(kl_transport_accept(transport, &link), KL_ECLOSED);
    ck_assert_uint_eq(link, 0);
    for (link = 0; link < 3; link++) {
        ck_assert_int_eq(kl_transport_up(transport, link), 0);
        ck_assert_int_eq(kl_transport_writable(transport, link), 0);
        ck_assert_int_eq(kl_transport_deliver(transport, link, "x", 1),
                         KL_ECLOSED);
        ck_assert_int_eq(kl_transport_deliver(transport, link, NULL, 0),
                         KL_ECLOSED);
        ck_assert_int_eq(kl_transport_down(transport, link), 0);
    }
}
END_TEST

/* ---- with a node --------------------------------------------------------- */

static int node_open(kl_node *node)
{
    kl_storage *storage;

    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, 0), 0);
    ck_assert_int_eq(kl_node_set_storage(node, storage), 0);
    kl_storage_free(storage);
    return kl_node_open(node, "folder", KL_OPEN_CREATE);
}

START_TEST(a_missing_function_is_named)
{
    char text[256];
    kl_node *node;

    for (int call = 0; call < CALLS; call++)
        ck_assert_int_eq(host_set(transport, call, call != _i), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_set_transport(node, transport), 0);
    if (_i == RESUME) {
        ck_assert_int_eq(node_open(node), 0);
    } else {
        ck_assert_int_eq(node_open(node), KL_EINVAL);
        ck_assert_int_eq(kl_node_errmsg(node, text, sizeof text), 0);
        ck_assert_ptr_nonnull(strstr(text, names[_i]));
        ck_assert_int_eq(host_set(transport, _i, 1), 0);
        ck_assert_int_eq(kl_node_open(node, "folder", KL_OPEN_CREATE), 0);
    }
    kl_node_free(node);
}
END_TEST

START_TEST(nothing_is_set_after_open)
{
    kl_node *node;

    for (int call = 0; call < CALLS; call++)
        ck_assert_int_eq(host_set(transport, call, 1), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_set_transport(node, transport), 0);
    ck_assert_int_eq(node_open(node), 0);
    for (int call = 0; call < CALLS; call++)
        ck_assert_int_eq(host_set(transport, call, 0), KL_ESTATE);
    ck_assert_int_eq(kl_node_set_transport(node, transport), KL_ESTATE);
    ck_assert_int_eq(kl_node_set_transport(node, NULL), KL_ESTATE);
    /* The node holds it. */
    kl_transport_free(transport);
    transport = NULL;
    ck_assert_int_eq(kl_node_stop(node, -1), 0);
    kl_node_free(node);
}
END_TEST

START_TEST(another_transport_takes_its_place)
{
    kl_transport *other;
    kl_node *node;

    ck_assert_int_eq(kl_transport_new_loopback(&other, NULL, hub, "a"), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_set_transport(node, transport), 0);
    ck_assert_int_eq(kl_node_set_transport(node, other), 0);
    kl_transport_free(other);
    ck_assert_int_eq(node_open(node), 0);
    /* The first lacks all functions, and nobody asks it. */
    ck_assert_int_eq(host_set(transport, SEND, 1), 0);
    kl_node_free(node);
    /* Nobody holds the place any more. */
    ck_assert_int_eq(kl_transport_new_loopback(&other, NULL, hub, "a"), 0);
    kl_transport_free(other);
}
END_TEST

/* Refuses all from a call on; user counts down to it. */
static void *some_memory(void *ptr, size_t old_size, size_t new_size,
                         void *user)
{
    int *left = user;

    if (new_size > old_size && (*left)-- <= 0)
        return NULL;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

START_TEST(without_memory)
{
    for (int grants = 0, made = 0; made < 3; grants++) {
        int left = 1000;
        kl_transport *t = transport;
        kl_config *config;
        kl_hub *h = hub;

        made = 0;
        ck_assert_int_eq(kl_config_new(&config, some_memory, &left), 0);
        left = grants;
        if (kl_hub_new(&h, config)) {
            ck_assert_ptr_null(h);
        } else {
            made++;
            if (kl_transport_new_loopback(&t, config, h, "a"))
                ck_assert_ptr_null(t);
            else
                made++;
            kl_transport_free(t);
        }
        if (kl_transport_new(&t, config))
            ck_assert_ptr_null(t);
        else
            made++;
        kl_transport_free(t);
        kl_hub_free(h);
        kl_config_free(config);
        ck_assert_int_lt(grants, 100);
    }
}
END_TEST

START_TEST(a_child_refuses)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        kl_transport *t;
        uint64_t link;
        int good = kl_transport_accept(transport, &link) == KL_EFORK &&
                   kl_transport_up(transport, 1) == KL_EFORK &&
                   kl_transport_down(transport, 1) == KL_EFORK &&
                   kl_transport_writable(transport, 1) == KL_EFORK &&
                   kl_transport_deliver(transport, 1, "x", 1) == KL_EFORK &&
                   kl_transport_new_loopback(&t, NULL, hub, "a") == KL_EFORK;

        kl_transport_free(transport);
        kl_hub_free(hub);
        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

Suite *suite_api_transport(void);

Suite *suite_api_transport(void)
{
    Suite *s = suite_create("api_transport");
    TCase *tc = tcase_create("transport");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, misuse_of_null);
    tcase_add_test(tc, bad_endpoints);
    tcase_add_test(tc, an_endpoint_is_of_one);
    tcase_add_test(tc, a_hub_needs_nothing_of_the_host);
    tcase_add_test(tc, nobody_is_there);
    tcase_add_loop_test(tc, a_missing_function_is_named, 0, CALLS);
    tcase_add_test(tc, nothing_is_set_after_open);
    tcase_add_test(tc, another_transport_takes_its_place);
    tcase_add_test(tc, without_memory);
    tcase_add_test(tc, a_child_refuses);
    suite_add_tcase(s, tc);
    return s;
}
