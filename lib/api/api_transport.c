/*
 * kl_transport_* and kl_hub_*: the host's network, or one inside the process,
 * for the mailbox of a node.
 */
#include "api/api_transport.h"

#include "api/api_handle.h"
#include "os/fork.h"

#include <stdatomic.h>
#include <string.h>

enum { TRANSPORT_ENDPOINT_MAX = 255 };

struct kl_hub
{
    struct kl_base_alloc alloc;
    struct kl_os_fork_guard fork;
    atomic_uint refs;
    struct kl_net_hub *core;
};

/*   X(name, type): what the host sets */
#define TRANSPORT_CALLS(X)                                                     \
    X(connect, kl_transport_connect_fn)                                        \
    X(send, kl_transport_send_fn)                                              \
    X(disconnect, kl_transport_link_fn)                                        \
    X(resume, kl_transport_link_fn)

struct kl_transport
{
    struct kl_base_alloc alloc;
    struct kl_os_fork_guard fork;
    atomic_uint refs;
    atomic_int used; /* by a node: nothing may be set any more */
    struct kl_net *net;
    kl_hub *hub; /* a reference; NULL = functions of the host's */
    struct kl_net_port *port;
#define X(name, type)                                                          \
    type name;                                                                 \
    void *name##_user;
    TRANSPORT_CALLS(X)
#undef X
};

/* ---- the hub ------------------------------------------------------------- */

int kl_hub_new(kl_hub **out, const kl_config *config)
{
    const struct kl_base_alloc *alloc =
        config ? &config->alloc : &kl_base_alloc_libc;
    kl_hub *hub;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    hub = kl_base_calloc(alloc, sizeof *hub);
    if (!hub)
        return KL_ENOMEM;
    hub->alloc = *alloc;
    atomic_init(&hub->refs, 1);
    if (kl_net_hub_new(&hub->core, alloc)) {
        kl_base_free(alloc, hub, sizeof *hub);
        return KL_ENOMEM;
    }
    kl_os_fork_guard_init(&hub->fork);
    *out = hub;
    return 0;
}

void kl_hub_free(kl_hub *hub)
{
    struct kl_base_alloc alloc;

    if (!hub || kl_os_fork_guard_is_child(&hub->fork) ||
        atomic_fetch_sub_explicit(&hub->refs, 1, memory_order_acq_rel) != 1)
        return;
    alloc = hub->alloc;
    kl_net_hub_free(hub->core);
    kl_os_fork_guard_deinit(&hub->fork);
    kl_base_free(&alloc, hub, sizeof *hub);
}

/* ---- from the mailbox to the host ---------------------------------------- */

static int transport_connect(void *user, uint64_t link, int32_t node_id,
                             const char *endpoint)
{
    kl_transport *t = user;

    return t->connect(link, node_id, endpoint, t->connect_user);
}

static int transport_send(void *user, uint64_t link, const void *data,
                          size_t size)
{
    kl_transport *t = user;

    return t->send(link, data, size, t->send_user);
}

static void transport_disconnect(void *user, uint64_t link)
{
    kl_transport *t = user;

    t->disconnect(link, t->disconnect_user);
}

static void transport_resume(void *user, uint64_t link)
{
    kl_transport *t = user;

    if (t->resume)
        t->resume(link, t->resume_user);
}

/* ---- life ---------------------------------------------------------------- */

static size_t transport_limit(const kl_config *config,
                              enum kl_base_config_key key)
{
    int64_t value = kl_base_config_value(kl_api_config_values(config), key);

    return (uint64_t)value < SIZE_MAX ? (size_t)value : SIZE_MAX;
}

static int transport_net_new(kl_transport *t, const kl_config *config)
{
    struct kl_net_options options;

    options.message_bytes_max =
        transport_limit(config, KL_BASE_CONFIG_SOCKET_REQUEST_MAX);
    options.inbox_bytes_max =
        transport_limit(config, KL_BASE_CONFIG_QUEUED_MAX_BYTES);
    options.accepted_max =
        transport_limit(config, KL_BASE_CONFIG_MAX_CONNECTIONS);
    return kl_net_new(&t->net, &t->alloc, &options);
}

static int transport_new(kl_transport **out, const kl_config *config)
{
    const struct kl_base_alloc *alloc =
        config ? &config->alloc : &kl_base_alloc_libc;
    kl_transport *t = kl_base_calloc(alloc, sizeof *t);

    *out = NULL;
    if (!t)
        return KL_ENOMEM;
    t->alloc = *alloc;
    atomic_init(&t->refs, 1);
    atomic_init(&t->used, 0);
    if (transport_net_new(t, config)) {
        kl_base_free(alloc, t, sizeof *t);
        return KL_ENOMEM;
    }
    kl_os_fork_guard_init(&t->fork);
    *out = t;
    return 0;
}

int kl_transport_new(kl_transport **out, const kl_config *config)
{
    static const struct kl_net_ops ops = {transport_connect, transport_send,
                                          transport_disconnect,
                                          transport_resume};
    int rc = out ? transport_new(out, config) : KL_EINVAL;

    if (rc == 0)
        kl_net_set_ops((*out)->net, &ops, *out);
    return rc;
}

static int transport_is_endpoint(const char *endpoint)
{
    size_t size = endpoint ? strlen(endpoint) : 0;

    return size > 0 && size <= TRANSPORT_ENDPOINT_MAX && !strchr(endpoint, ',');
}

int kl_transport_new_loopback(kl_transport **out, const kl_config *config,
                              kl_hub *hub, const char *endpoint)
{
    kl_transport *t;
    int rc;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    if (!hub || !transport_is_endpoint(endpoint))
        return KL_EINVAL;
    if (kl_os_fork_guard_is_child(&hub->fork))
        return KL_EFORK;
    rc = transport_new(&t, config);
    if (rc)
        return rc;
    atomic_fetch_add_explicit(&hub->refs, 1, memory_order_relaxed);
    t->hub = hub;
    rc = kl_net_hub_join(hub->core, t->net, endpoint, &t->port);
    if (rc)
        kl_transport_free(t);
    else
        *out = t;
    return rc;
}

void kl_transport_free(kl_transport *t)
{
    struct kl_base_alloc alloc;

    if (!t || kl_os_fork_guard_is_child(&t->fork) ||
        atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    alloc = t->alloc;
    kl_net_hub_leave(t->port);
    kl_hub_free(t->hub);
    kl_net_free(t->net);
    kl_os_fork_guard_deinit(&t->fork);
    kl_base_free(&alloc, t, sizeof *t);
}

/* ---- for the node -------------------------------------------------------- */

void kl_api_transport_ref(kl_transport *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

struct kl_net *kl_api_transport_net(const kl_transport *t)
{
    return t->net;
}

int kl_api_transport_use(kl_transport *t, struct kl_base_error *error)
{
    const char *missing = t->port          ? NULL
                          : !t->connect    ? "connect"
                          : !t->send       ? "send"
                          : !t->disconnect ? "disconnect"
                                           : NULL;

    if (missing)
        return kl_base_error_set(
            error, KL_EINVAL, "the transport has no function for %s", missing);
    atomic_store(&t->used, 1);
    return 0;
}

/* ---- what the host sets and tells ---------------------------------------- */

#define X(name, type)                                                          \
    int kl_transport_set_##name(kl_transport *t, type fn, void *user)          \
    {                                                                          \
        if (!t)                                                                \
            return KL_EINVAL;                                                  \
        if (t->port || atomic_load(&t->used))                                  \
            return KL_ESTATE;                                                  \
        t->name = fn;                                                          \
        t->name##_user = user;                                                 \
        return 0;                                                              \
    }
TRANSPORT_CALLS(X)
#undef X

static int transport_check(const kl_transport *t)
{
    if (!t)
        return KL_EINVAL;
    if (kl_os_fork_guard_is_child(&t->fork))
        return KL_EFORK;
    return t->port ? KL_ESTATE : 0;
}

int kl_transport_accept(kl_transport *t, uint64_t *link_out)
{
    int rc = link_out ? transport_check(t) : KL_EINVAL;

    return rc ? rc : kl_net_accept(t->net, link_out);
}

int kl_transport_up(kl_transport *t, uint64_t link)
{
    int rc = transport_check(t);

    if (rc == 0)
        kl_net_up(t->net, link);
    return rc;
}

int kl_transport_down(kl_transport *t, uint64_t link)
{
    int rc = transport_check(t);

    if (rc == 0)
        kl_net_down(t->net, link);
    return rc;
}

int kl_transport_writable(kl_transport *t, uint64_t link)
{
    int rc = transport_check(t);

    if (rc == 0)
        kl_net_writable(t->net, link);
    return rc;
}

int kl_transport_deliver(kl_transport *t, uint64_t link, const void *data,
                         size_t size)
{
    int rc = data || size == 0 ? transport_check(t) : KL_EINVAL;

    return rc ? rc : kl_net_deliver(t->net, link, data, size);
}
