/*
 * Messages out of bytes in any split.
 */
#ifndef KL_NET_STREAM_H
#define KL_NET_STREAM_H

#include "base/alloc.h"
#include "base/list.h"

#include <stdint.h>

/* A message, or its beginning. */
struct kl_net_message
{
    struct kl_base_list link;
    size_t size;     /* bytes that are there */
    size_t whole;    /* bytes it will have; 0 = not known yet */
    size_t capacity; /* behind data */
    uint8_t data[];
};

struct kl_net_stream
{
    const struct kl_base_alloc *alloc;
    size_t message_bytes_max;
    struct kl_net_message *part; /* NULL between messages */
};

void kl_net_stream_init(struct kl_net_stream *s, const struct kl_base_alloc *a,
                        size_t message_bytes_max);
void kl_net_stream_deinit(struct kl_net_stream *s);
/* Takes bytes and appends the messages that are whole now to out. The memory of
 * a message grows with what has arrived of it, not with what it claims to be.
 * KL_ENOMEM: nothing has changed. KL_EFORMAT: no message of ours begins after
 * those in out. */
int kl_net_stream_take(struct kl_net_stream *s, const uint8_t *data,
                       size_t size, struct kl_base_list *out);

/* What a message takes of memory. */
size_t kl_net_message_bytes(const struct kl_net_message *m);
/* NULL is ignored. */
void kl_net_message_free(const struct kl_base_alloc *a,
                         struct kl_net_message *m);
void kl_net_messages_free(const struct kl_base_alloc *a,
                          struct kl_base_list *messages);

#endif
