/*
 * The mailbox itself, and its links.
 */
#include "net/state.h"

#include "base/assert.h"

#include <kraftlog/error.h>

/* ---- the mutex ----------------------------------------------------------- */

void kl_net_lock(struct kl_net *net)
{
    kl_os_mutex_lock(&net->mutex);
}

void kl_net_unlock(struct kl_net *net)
{
    int is_due = net->is_wake_due;

    net->is_wake_due = 0;
    kl_os_mutex_unlock(&net->mutex);
    if (!is_due)
        return;
    kl_os_mutex_lock(&net->wake_mutex);
    if (net->wake)
        net->wake(net->wake_user);
    kl_os_mutex_unlock(&net->wake_mutex);
}

/* ---- links -------------------------------------------------------------- */

int kl_net_link_new(struct kl_net *net, enum kl_net_link_state state,
                    struct kl_net_link **out)
{
    struct kl_net_link *link = kl_base_calloc(&net->alloc, sizeof *link);

    if (!link)
        return KL_ENOMEM;
    link->number = net->number_last + 1;
    if (kl_base_map_put(&net->by_number, &link->number, sizeof link->number,
                        link)) {
        kl_base_free(&net->alloc, link, sizeof *link);
        return KL_ENOMEM;
    }
    net->number_last++;
    kl_base_list_push(&net->links, &link->all);
    kl_base_list_init(&link->ready);
    kl_base_list_init(&link->paused);
    kl_base_list_init(&link->inbox);
    kl_net_stream_init(&link->stream, &net->alloc,
                       net->options.message_bytes_max);
    link->state = state;
    *out = link;
    return 0;
}

struct kl_net_link *kl_net_link_get(struct kl_net *net, uint64_t number)
{
    return kl_base_map_get(&net->by_number, &number, sizeof number);
}

void kl_net_link_free(struct kl_net *net, struct kl_net_link *link)
{
    struct kl_base_list *item;

    (void)kl_base_map_remove(&net->by_number, &link->number,
                             sizeof link->number);
    kl_base_list_remove(&link->all);
    kl_base_list_remove(&link->ready);
    kl_base_list_remove(&link->paused);
    kl_net_stream_deinit(&link->stream);
    while ((item = kl_base_list_pop(&link->inbox))) {
        struct kl_net_message *m =
            KL_BASE_CONTAINER(item, struct kl_net_message, link);

        net->inbox_bytes -= kl_net_message_bytes(m);
        kl_net_message_free(&net->alloc, m);
    }
    net->accepted -= link->is_incoming != 0;
    kl_base_free(&net->alloc, link, sizeof *link);
}

void kl_net_link_tell(struct kl_net *net, struct kl_net_link *link)
{
    if (kl_base_list_is_empty(&link->ready))
        kl_base_list_push(&net->ready, &link->ready);
    net->is_wake_due = 1;
}

void kl_net_link_down(struct kl_net *net, struct kl_net_link *link, int code)
{
    link->state = KL_NET_IS_DOWN;
    link->code = code;
    kl_net_stream_deinit(&link->stream);
    kl_base_list_remove(&link->paused);
    kl_net_link_tell(net, link);
}

/* ---- life --------------------------------------------------------------- */

int kl_net_new(struct kl_net **out, const struct kl_base_alloc *a,
               const struct kl_net_options *options)
{
    struct kl_net *net;

    *out = NULL;
    if (!options->message_bytes_max || !options->inbox_bytes_max)
        return KL_EINVAL;
    net = kl_base_calloc(a, sizeof *net);
    if (!net)
        return KL_ENOMEM;
    net->alloc = *a;
    net->options = *options;
    if (kl_os_mutex_init(&net->mutex))
        goto no_mutex;
    if (kl_os_mutex_init(&net->wake_mutex))
        goto no_wake_mutex;
    kl_base_map_init(&net->by_number, &net->alloc);
    kl_base_list_init(&net->links);
    kl_base_list_init(&net->ready);
    kl_base_list_init(&net->paused);
    *out = net;
    return 0;
no_wake_mutex:
    kl_os_mutex_deinit(&net->mutex);
no_mutex:
    kl_base_free(a, net, sizeof *net);
    return KL_ENOMEM;
}

void kl_net_free(struct kl_net *net)
{
    struct kl_base_alloc alloc;

    if (!net)
        return;
    KL_ASSERT(!net->is_attached);
    alloc = net->alloc;
    kl_base_map_deinit(&net->by_number);
    kl_os_mutex_deinit(&net->wake_mutex);
    kl_os_mutex_deinit(&net->mutex);
    kl_base_free(&alloc, net, sizeof *net);
}

void kl_net_set_ops(struct kl_net *net, const struct kl_net_ops *ops,
                    void *user)
{
    KL_ASSERT(!net->is_attached);
    net->ops = *ops;
    net->ops_user = user;
}

/* Takes a link away; 0 where there is none. */
static int net_drop_one(struct kl_net *net)
{
    struct kl_base_list *item;
    uint64_t number = 0;
    int is_known = 0;

    kl_net_lock(net);
    item = kl_base_list_first(&net->links);
    if (item) {
        struct kl_net_link *link =
            KL_BASE_CONTAINER(item, struct kl_net_link, all);

        number = link->number;
        is_known = link->state != KL_NET_IS_DOWN;
        kl_net_link_free(net, link);
    }
    kl_net_unlock(net);
    if (is_known)
        net->ops.disconnect(net->ops_user, number);
    return item != NULL;
}

static void net_set_wake(struct kl_net *net, void (*wake)(void *user),
                         void *user)
{
    kl_os_mutex_lock(&net->wake_mutex);
    net->wake = wake;
    net->wake_user = user;
    kl_os_mutex_unlock(&net->wake_mutex);
}

static void net_detach(struct kl_net *net)
{
    kl_net_lock(net);
    net->is_attached = 0;
    kl_net_unlock(net);
    net_set_wake(net, NULL, NULL);
    while (net_drop_one(net))
        continue;
    kl_net_message_free(&net->alloc, net->current);
    net->current = NULL;
}

int kl_net_attach(struct kl_net *net, void (*wake)(void *user), void *user)
{
    int rc;

    if (!wake) {
        net_detach(net);
        return 0;
    }
    kl_net_lock(net);
    rc = net->is_attached ? KL_EBUSY : 0;
    net->is_attached = 1;
    if (rc == 0)
        net_set_wake(net, wake, user);
    kl_net_unlock(net);
    return rc;
}
