/*
 * The node's side. The transport's operations are called with the mutex open,
 * so that they may tell something at once.
 */
#include "net/state.h"

#include "base/assert.h"

#include <kraftlog/error.h>
#include <string.h>

int kl_net_connect(struct kl_net *net, int32_t node_id, const char *endpoint,
                   uint64_t *link_out)
{
    struct kl_net_link *link;
    uint64_t number = 0;
    int rc;

    *link_out = 0;
    kl_net_lock(net);
    rc = net->is_attached ? kl_net_link_new(net, KL_NET_CONNECTING, &link)
                          : KL_ECLOSED;
    if (rc == 0)
        number = link->number;
    kl_net_unlock(net);
    if (rc)
        return rc;
    rc = net->ops.connect(net->ops_user, number, node_id, endpoint);
    if (rc == 0) {
        *link_out = number;
        return 0;
    }
    kl_net_lock(net);
    link = kl_net_link_get(net, number);
    KL_ASSERT(link);
    kl_net_link_free(net, link);
    kl_net_unlock(net);
    return rc;
}

static int owner_is_up(struct kl_net *net, uint64_t number)
{
    struct kl_net_link *link;
    int is_up;

    kl_net_lock(net);
    link = kl_net_link_get(net, number);
    is_up = link && link->state == KL_NET_IS_UP;
    kl_net_unlock(net);
    return is_up;
}

int kl_net_send(struct kl_net *net, uint64_t number, const void *data,
                size_t size)
{
    struct kl_net_link *link;
    int rc, is_known;

    if (!owner_is_up(net, number))
        return KL_ECLOSED;
    rc = net->ops.send(net->ops_user, number, data, size);
    if (rc == 0 || rc == KL_EAGAIN)
        return rc;
    kl_net_lock(net);
    link = kl_net_link_get(net, number);
    is_known = link && link->state != KL_NET_IS_DOWN;
    if (is_known)
        kl_net_link_down(net, link, rc);
    kl_net_unlock(net);
    /* A thread of the transport may wait for room that this link will never
     * need. */
    if (is_known)
        net->ops.disconnect(net->ops_user, number);
    return KL_ECLOSED;
}

void kl_net_disconnect(struct kl_net *net, uint64_t number)
{
    struct kl_net_link *link;
    int is_known = 0;

    kl_net_lock(net);
    link = kl_net_link_get(net, number);
    if (link) {
        is_known = link->state != KL_NET_IS_DOWN;
        kl_net_link_free(net, link);
    }
    kl_net_unlock(net);
    if (is_known)
        net->ops.disconnect(net->ops_user, number);
}

/* A link that may deliver again, and waits no more; 0 = none. Half of the inbox
 * is free then, so that a pause is worth its while. Under the mutex. */
static uint64_t owner_resumed(struct kl_net *net)
{
    struct kl_base_list *item;

    if (net->inbox_bytes > net->options.inbox_bytes_max / 2)
        return 0;
    item = kl_base_list_pop(&net->paused);
    return item ? KL_BASE_CONTAINER(item, struct kl_net_link, paused)->number
                : 0;
}

static void owner_event(struct kl_net *net, struct kl_net_link *link,
                        struct kl_net_event *event)
{
    struct kl_base_list *item;

    memset(event, 0, sizeof *event);
    event->link = link->number;
    event->is_incoming = link->is_incoming;
    if (link->is_up_untold) {
        link->is_up_untold = 0;
        event->type = KL_NET_UP;
    } else if ((item = kl_base_list_pop(&link->inbox))) {
        struct kl_net_message *m =
            KL_BASE_CONTAINER(item, struct kl_net_message, link);

        net->inbox_bytes -= kl_net_message_bytes(m);
        net->current = m;
        event->type = KL_NET_MESSAGE;
        event->data = m->data;
        event->size = m->size;
    } else if (link->state == KL_NET_IS_DOWN) {
        event->type = KL_NET_DOWN;
        event->code = link->code;
    } else {
        link->is_writable_untold = 0;
        event->type = KL_NET_WRITABLE;
    }
}

/* The event of the link whose turn it is. Under the mutex. */
static int owner_take(struct kl_net *net, struct kl_net_event *event)
{
    struct kl_base_list *item = kl_base_list_pop(&net->ready);
    struct kl_net_link *link;

    if (!item)
        return 0;
    link = KL_BASE_CONTAINER(item, struct kl_net_link, ready);
    owner_event(net, link, event);
    if (event->type == KL_NET_DOWN)
        kl_net_link_free(net, link);
    else if (!kl_base_list_is_empty(&link->inbox) || link->is_writable_untold ||
             link->state == KL_NET_IS_DOWN)
        kl_base_list_push(&net->ready, &link->ready);
    return 1;
}

int kl_net_next(struct kl_net *net, struct kl_net_event *event)
{
    uint64_t resumed;
    int found;

    kl_net_message_free(&net->alloc, net->current);
    net->current = NULL;
    kl_net_lock(net);
    while ((resumed = owner_resumed(net))) {
        kl_net_unlock(net);
        if (net->ops.resume)
            net->ops.resume(net->ops_user, resumed);
        kl_net_lock(net);
    }
    found = owner_take(net, event);
    kl_net_unlock(net);
    return found;
}
