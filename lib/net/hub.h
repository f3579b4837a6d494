/*
 * The hub: mailboxes of one process that are each other's network. A mailbox is
 * at an endpoint, any text, and a link to that text leads there.
 */
#ifndef KL_NET_HUB_H
#define KL_NET_HUB_H

#include "base/alloc.h"

struct kl_net;
struct kl_net_hub;
struct kl_net_port; /* where a mailbox is plugged in */

/* KL_ENOMEM. */
int kl_net_hub_new(struct kl_net_hub **out, const struct kl_base_alloc *a);
/* Nothing is plugged in any more. NULL is ignored. */
void kl_net_hub_free(struct kl_net_hub *hub);

/* Plugs in a mailbox without a node, and sets its operations. KL_EBUSY: there
 * is another one at that endpoint; KL_ENOMEM. Any thread. */
int kl_net_hub_join(struct kl_net_hub *hub, struct kl_net *net,
                    const char *endpoint, struct kl_net_port **out);
/* Pulls it out; no node is attached to it any more. NULL is ignored. Any
 * thread. */
void kl_net_hub_leave(struct kl_net_port *port);

#endif
