/*
 * A message goes from the thread that sends it into the inbox of the other
 * side, whose owner is woken and takes it in a turn of its own: nobody is
 * called back, and what one thread sends over one link stays in order.
 *
 * One mutex is over all links, and taken before that of a mailbox. A message is
 * copied, and its receiver woken, with it open: who wakes up wants it, too.
 */
#include "net/net.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "os/thread.h"

#include <kraftlog/error.h>
#include <string.h>

struct hub_end
{
    uint64_t link; /* of the mailbox that is here */
    struct kl_net_port *port;
    struct hub_end *peer;
};

/* A link, and what it is on the other side. */
struct hub_pair
{
    struct hub_end ends[2]; /* who has connected is the first */
};

struct kl_net_port
{
    struct kl_net_hub *hub;
    struct kl_net *net;
    struct kl_base_list link; /* in ports */
    struct kl_base_map ends;  /* by link */
    unsigned users; /* threads that have its mailbox with the mutex open */
    size_t size;    /* of this block */
    char endpoint[];
};

struct kl_net_hub
{
    struct kl_base_alloc alloc;
    struct kl_os_mutex mutex; /* of everything below */
    struct kl_os_cond cond;   /* a port has no user any more */
    struct kl_base_list ports;
};

/* ---- pairs: all under the mutex ----------------------------------------- */

static struct hub_end *hub_end_get(const struct kl_net_port *port,
                                   uint64_t link)
{
    return kl_base_map_get(&port->ends, &link, sizeof link);
}

static int hub_end_put(struct hub_end *end, struct kl_net_port *port,
                       uint64_t link, struct hub_end *peer)
{
    end->port = port;
    end->link = link;
    end->peer = peer;
    return kl_base_map_put(&port->ends, &end->link, sizeof end->link, end);
}

static void hub_end_remove(struct hub_end *end)
{
    (void)kl_base_map_remove(&end->port->ends, &end->link, sizeof end->link);
}

/* Tells the peer that the link is gone, and forgets it. */
static void hub_pair_end(struct kl_net_hub *hub, struct hub_end *end)
{
    struct hub_end *peer = end->peer;
    struct hub_end *first = end < peer ? end : peer;

    kl_net_down(peer->port->net, peer->link);
    hub_end_remove(end);
    hub_end_remove(peer);
    kl_base_free(&hub->alloc,
                 KL_BASE_CONTAINER(first, struct hub_pair, ends[0]),
                 sizeof(struct hub_pair));
}

/* A link between two ports. The other node may use it at once, but only when
 * the mutex is open again. */
static int hub_pair_new(struct kl_net_port *port, uint64_t link,
                        struct kl_net_port *there)
{
    const struct kl_base_alloc *a = &port->hub->alloc;
    struct hub_pair *pair = kl_base_malloc(a, sizeof *pair);
    struct hub_end *mine, *other;
    uint64_t accepted = 0;
    int rc;

    if (!pair)
        return KL_ENOMEM;
    mine = &pair->ends[0];
    other = &pair->ends[1];
    rc = hub_end_put(mine, port, link, other);
    if (rc)
        goto no_end;
    rc = kl_net_accept(there->net, &accepted);
    if (rc)
        goto no_peer;
    rc = hub_end_put(other, there, accepted, mine);
    if (rc == 0)
        return 0;
    kl_net_down(there->net, accepted);
no_peer:
    hub_end_remove(mine);
no_end:
    kl_base_free(a, pair, sizeof *pair);
    return rc;
}

static struct kl_net_port *hub_find(struct kl_net_hub *hub,
                                    const char *endpoint)
{
    for (struct kl_base_list *item = hub->ports.next; item != &hub->ports;
         item = item->next) {
        struct kl_net_port *port =
            KL_BASE_CONTAINER(item, struct kl_net_port, link);

        if (strcmp(port->endpoint, endpoint) == 0)
            return port;
    }
    return NULL;
}

/* ---- operations --------------------------------------------------------- */

static int hub_connect(void *user, uint64_t link, int32_t node_id,
                       const char *endpoint)
{
    struct kl_net_port *port = user, *there;
    int rc;

    (void)node_id;
    kl_os_mutex_lock(&port->hub->mutex);
    there = hub_find(port->hub, endpoint);
    rc = there ? hub_pair_new(port, link, there) : KL_ECLOSED;
    if (rc == 0)
        kl_net_up(port->net, link);
    kl_os_mutex_unlock(&port->hub->mutex);
    return rc;
}

/* The port at the other end of a link, and what the link is there; it stays
 * until it is put back. NULL where there is none any more. */
static struct kl_net_port *hub_peer_use(struct kl_net_port *port, uint64_t link,
                                        uint64_t *there_out)
{
    struct kl_net_port *there = NULL;
    struct hub_end *end;

    kl_os_mutex_lock(&port->hub->mutex);
    end = hub_end_get(port, link);
    if (end) {
        there = end->peer->port;
        there->users++;
        *there_out = end->peer->link;
    }
    kl_os_mutex_unlock(&port->hub->mutex);
    return there;
}

static void hub_peer_put(struct kl_net_port *there)
{
    struct kl_net_hub *hub = there->hub;

    kl_os_mutex_lock(&hub->mutex);
    if (--there->users == 0)
        kl_os_cond_broadcast(&hub->cond);
    kl_os_mutex_unlock(&hub->mutex);
}

static int hub_send(void *user, uint64_t link, const void *data, size_t size)
{
    struct kl_net_port *there;
    uint64_t link_there;
    int rc;

    there = hub_peer_use(user, link, &link_there);
    if (!there)
        return KL_ECLOSED;
    rc = kl_net_deliver(there->net, link_there, data, size);
    hub_peer_put(there);
    return rc;
}

static void hub_disconnect(void *user, uint64_t link)
{
    struct kl_net_port *port = user;
    struct hub_end *end;

    kl_os_mutex_lock(&port->hub->mutex);
    end = hub_end_get(port, link);
    if (end)
        hub_pair_end(port->hub, end);
    kl_os_mutex_unlock(&port->hub->mutex);
}

static void hub_resume(void *user, uint64_t link)
{
    struct kl_net_port *there;
    uint64_t link_there;

    there = hub_peer_use(user, link, &link_there);
    if (!there)
        return;
    kl_net_writable(there->net, link_there);
    hub_peer_put(there);
}

/* ---- life --------------------------------------------------------------- */

int kl_net_hub_new(struct kl_net_hub **out, const struct kl_base_alloc *a)
{
    struct kl_net_hub *hub = kl_base_calloc(a, sizeof *hub);

    *out = NULL;
    if (!hub)
        return KL_ENOMEM;
    hub->alloc = *a;
    if (kl_os_mutex_init(&hub->mutex))
        goto no_mutex;
    if (kl_os_cond_init(&hub->cond))
        goto no_cond;
    kl_base_list_init(&hub->ports);
    *out = hub;
    return 0;
no_cond:
    kl_os_mutex_deinit(&hub->mutex);
no_mutex:
    kl_base_free(a, hub, sizeof *hub);
    return KL_ENOMEM;
}

void kl_net_hub_free(struct kl_net_hub *hub)
{
    struct kl_base_alloc alloc;

    if (!hub)
        return;
    KL_ASSERT(kl_base_list_is_empty(&hub->ports));
    alloc = hub->alloc;
    kl_os_cond_deinit(&hub->cond);
    kl_os_mutex_deinit(&hub->mutex);
    kl_base_free(&alloc, hub, sizeof *hub);
}

int kl_net_hub_join(struct kl_net_hub *hub, struct kl_net *net,
                    const char *endpoint, struct kl_net_port **out)
{
    static const struct kl_net_ops ops = {hub_connect, hub_send, hub_disconnect,
                                          hub_resume};
    size_t length = strlen(endpoint) + 1;
    struct kl_net_port *port =
        kl_base_calloc(&hub->alloc, sizeof *port + length);
    int rc = 0;

    *out = NULL;
    if (!port)
        return KL_ENOMEM;
    port->hub = hub;
    port->net = net;
    port->size = sizeof *port + length;
    memcpy(port->endpoint, endpoint, length);
    kl_base_map_init(&port->ends, &hub->alloc);
    kl_os_mutex_lock(&hub->mutex);
    if (hub_find(hub, endpoint))
        rc = KL_EBUSY;
    else
        kl_base_list_push(&hub->ports, &port->link);
    kl_os_mutex_unlock(&hub->mutex);
    if (rc) {
        kl_base_free(&hub->alloc, port, port->size);
        return rc;
    }
    kl_net_set_ops(net, &ops, port);
    *out = port;
    return 0;
}

void kl_net_hub_leave(struct kl_net_port *port)
{
    struct kl_net_hub *hub;

    if (!port)
        return;
    hub = port->hub;
    kl_os_mutex_lock(&hub->mutex);
    KL_ASSERT(port->ends.count == 0);
    kl_base_list_remove(&port->link);
    /* Somebody may still be on the way out of it. */
    while (port->users)
        (void)kl_os_cond_wait(&hub->cond, &hub->mutex, -1);
    kl_os_mutex_unlock(&hub->mutex);
    kl_base_map_deinit(&port->ends);
    kl_base_free(&hub->alloc, port, port->size);
}
