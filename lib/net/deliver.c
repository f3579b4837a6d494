/*
 * The transport's side: what it tells of its links.
 */
#include "net/state.h"

#include <kraftlog/error.h>

int kl_net_accept(struct kl_net *net, uint64_t *link_out)
{
    struct kl_net_link *link;
    int rc;

    *link_out = 0;
    kl_net_lock(net);
    if (!net->is_attached)
        rc = KL_ECLOSED;
    else if (net->accepted >= net->options.accepted_max)
        rc = KL_EAGAIN;
    else
        rc = kl_net_link_new(net, KL_NET_IS_UP, &link);
    if (rc == 0) {
        net->accepted++;
        link->is_incoming = 1;
        link->is_up_untold = 1;
        *link_out = link->number;
        kl_net_link_tell(net, link);
    }
    kl_net_unlock(net);
    return rc;
}

/* While a node is detached its links are being forgotten. */
static struct kl_net_link *deliver_link(struct kl_net *net, uint64_t number)
{
    struct kl_net_link *link =
        net->is_attached ? kl_net_link_get(net, number) : NULL;

    return link && link->state != KL_NET_IS_DOWN ? link : NULL;
}

void kl_net_up(struct kl_net *net, uint64_t number)
{
    struct kl_net_link *link;

    kl_net_lock(net);
    link = deliver_link(net, number);
    if (link && link->state == KL_NET_CONNECTING) {
        link->state = KL_NET_IS_UP;
        link->is_up_untold = 1;
        kl_net_link_tell(net, link);
    }
    kl_net_unlock(net);
}

void kl_net_down(struct kl_net *net, uint64_t number)
{
    struct kl_net_link *link;

    kl_net_lock(net);
    link = deliver_link(net, number);
    if (link)
        kl_net_link_down(net, link, 0);
    kl_net_unlock(net);
}

void kl_net_writable(struct kl_net *net, uint64_t number)
{
    struct kl_net_link *link;

    kl_net_lock(net);
    link = deliver_link(net, number);
    if (link && link->state == KL_NET_IS_UP) {
        link->is_writable_untold = 1;
        kl_net_link_tell(net, link);
    }
    kl_net_unlock(net);
}

/* Puts what has become whole into the link's inbox. */
static int deliver_take(struct kl_net *net, struct kl_net_link *link,
                        const void *data, size_t size)
{
    struct kl_base_list messages, *item;
    int rc;

    kl_base_list_init(&messages);
    rc = kl_net_stream_take(&link->stream, data, size, &messages);
    if (!kl_base_list_is_empty(&messages))
        kl_net_link_tell(net, link);
    while ((item = kl_base_list_pop(&messages))) {
        net->inbox_bytes += kl_net_message_bytes(
            KL_BASE_CONTAINER(item, struct kl_net_message, link));
        kl_base_list_push(&link->inbox, item);
    }
    if (rc == KL_EFORMAT)
        kl_net_link_down(net, link, rc);
    return rc;
}

int kl_net_deliver(struct kl_net *net, uint64_t number, const void *data,
                   size_t size)
{
    struct kl_net_link *link;
    int rc;

    kl_net_lock(net);
    link = deliver_link(net, number);
    if (!link) {
        rc = KL_ECLOSED;
    } else if (link->state == KL_NET_CONNECTING) {
        rc = KL_ESTATE;
    } else if (net->inbox_bytes >= net->options.inbox_bytes_max) {
        rc = KL_EAGAIN;
        if (kl_base_list_is_empty(&link->paused))
            kl_base_list_push(&net->paused, &link->paused);
    } else {
        kl_base_list_remove(&link->paused);
        rc = deliver_take(net, link, data, size);
    }
    kl_net_unlock(net);
    return rc;
}
