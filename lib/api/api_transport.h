/*
 * What is behind a kl_transport, for the node that is given one.
 */
#ifndef KL_API_API_TRANSPORT_H
#define KL_API_API_TRANSPORT_H

#include "base/error.h"
#include "net/net.h"

#include <kraftlog/transport.h>

void kl_api_transport_ref(kl_transport *t);
struct kl_net *kl_api_transport_net(const kl_transport *t);
/* Checks that it is complete, and keeps it as it is from now on. KL_EINVAL with
 * a text. */
int kl_api_transport_use(kl_transport *t, struct kl_base_error *error);

#endif
