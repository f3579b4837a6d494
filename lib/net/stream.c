/*
 * Reassembly. The prefix of a message says its size; until its first bytes are
 * there, the message is taken to be as large as that prefix.
 */
#include "net/stream.h"

#include "wire/wire.h"

#include <string.h>

/* What kl_wire_message_peek wants to see. */
enum { STREAM_HEAD = 8 };

static struct kl_net_message *stream_message(struct kl_base_list *item)
{
    return KL_BASE_CONTAINER(item, struct kl_net_message, link);
}

size_t kl_net_message_bytes(const struct kl_net_message *m)
{
    return sizeof *m + m->capacity;
}

void kl_net_message_free(const struct kl_base_alloc *a,
                         struct kl_net_message *m)
{
    if (m)
        kl_base_free(a, m, kl_net_message_bytes(m));
}

void kl_net_messages_free(const struct kl_base_alloc *a,
                          struct kl_base_list *messages)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(messages)))
        kl_net_message_free(a, stream_message(item));
}

void kl_net_stream_init(struct kl_net_stream *s, const struct kl_base_alloc *a,
                        size_t message_bytes_max)
{
    s->alloc = a;
    s->message_bytes_max = message_bytes_max;
    s->part = NULL;
}

void kl_net_stream_deinit(struct kl_net_stream *s)
{
    kl_net_message_free(s->alloc, s->part);
    s->part = NULL;
}

/* Room for want bytes in a message that will have whole; *m may move, and is
 * made where it is NULL. */
static int stream_reserve(struct kl_net_stream *s, struct kl_net_message **m,
                          size_t want, size_t whole)
{
    struct kl_net_message *old = *m, *grown;
    size_t capacity = want;

    if (old && want <= old->capacity)
        return 0;
    /* Doubling, because a sender may dribble. */
    if (old && capacity < 2 * old->capacity)
        capacity = whole < 2 * old->capacity ? whole : 2 * old->capacity;
    grown = kl_base_realloc(s->alloc, old, old ? kl_net_message_bytes(old) : 0,
                            sizeof *grown + capacity);
    if (!grown)
        return KL_ENOMEM;
    if (!old) {
        grown->size = 0;
        grown->whole = 0;
    }
    kl_base_list_init(&grown->link);
    grown->capacity = capacity;
    *m = grown;
    return 0;
}

/* Moves bytes to the end of *m, up to the end of that message. */
static int stream_fill(struct kl_net_stream *s, struct kl_net_message **m,
                       const uint8_t *data, size_t size, size_t *used_out)
{
    size_t have = *m ? (*m)->size : 0;
    size_t whole = *m ? (*m)->whole : 0;
    size_t known = whole, want;
    int rc;

    if (!whole) {
        uint8_t head[STREAM_HEAD];
        size_t more = STREAM_HEAD - have < size ? STREAM_HEAD - have : size;

        if (have)
            memcpy(head, (*m)->data, have);
        memcpy(head + have, data, more);
        rc = kl_wire_message_peek(head, have + more, s->message_bytes_max,
                                  &whole, NULL);
        if (rc && rc != KL_EAGAIN)
            return KL_EFORMAT;
        known = rc ? STREAM_HEAD : whole;
    }
    want = known - have < size ? known : have + size;
    rc = stream_reserve(s, m, want, known);
    if (rc)
        return rc;
    memcpy((*m)->data + have, data, want - have);
    (*m)->size = want;
    (*m)->whole = whole;
    *used_out = want - have;
    return 0;
}

/* Back to how it was: part had begun already, with size of whole bytes. */
static void stream_undo(struct kl_net_stream *s, struct kl_net_message *part,
                        size_t size, size_t whole, struct kl_base_list *found)
{
    if (part) {
        kl_base_list_remove(&part->link);
        part->size = size;
        part->whole = whole;
    }
    kl_net_messages_free(s->alloc, found);
    s->part = part;
}

int kl_net_stream_take(struct kl_net_stream *s, const uint8_t *data,
                       size_t size, struct kl_base_list *out)
{
    struct kl_net_message *part = s->part, *m = part;
    size_t old_size = part ? part->size : 0;
    size_t old_whole = part ? part->whole : 0;
    struct kl_base_list found, *item;
    size_t used, pos = 0;
    int rc = 0;

    kl_base_list_init(&found);
    while (rc == 0 && pos < size) {
        int is_part = m != NULL;

        rc = stream_fill(s, &m, data + pos, size - pos, &used);
        if (is_part)
            part = m;
        if (rc)
            break;
        pos += used;
        if (m->size == m->whole) {
            kl_base_list_push(&found, &m->link);
            m = NULL;
        }
    }
    if (rc == KL_ENOMEM) {
        stream_undo(s, part, old_size, old_whole, &found);
        return rc;
    }
    if (rc) {
        kl_net_message_free(s->alloc, m);
        m = NULL;
    }
    s->part = m;
    while ((item = kl_base_list_pop(&found)))
        kl_base_list_push(out, item);
    return rc;
}
