/*
 * Rules of a script: messages of one kind are lost, held back or doubled.
 */
#include "net.h"
#include "world.h"

#include "base/endian.h"
#include "wire/messages.h"

#include <string.h>

int net_api_key(const char *name)
{
    static const struct
    {
        const char *name;
        int key;
    } kinds[] = {
#define X(api, key, version, member, name) {name, key},
        KL_WIRE_MESSAGES(X)
#undef X
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].key;
    return -1;
}

int net_rule_add(struct world *w, const struct net_rule *rule)
{
    struct network *n = &w->net;

    if (n->rule_count == NET_RULES)
        return -1;
    n->rules[n->rule_count++] = *rule;
    return 0;
}

void net_rule_clear(struct world *w, int is_sent)
{
    struct network *n = &w->net;

    n->rule_count = 0;
    while (n->held) {
        struct net_held *held = n->held;

        n->held = held->next;
        if (is_sent)
            (void)net_inject(w, held->from, held->to, held->packet->data,
                             held->packet->size);
        pool_give(held->packet, sizeof *held->packet + held->packet->size);
        pool_give(held, sizeof *held);
    }
}

static void rule_hold(struct network *n, int from, int to, const void *data,
                      size_t size)
{
    struct net_held *held = pool_zeroed(sizeof *held);
    struct net_held **last = &n->held;

    held->from = from;
    held->to = to;
    held->packet = pool_take(sizeof *held->packet + size);
    held->packet->size = size;
    memcpy(held->packet->data, data, size);
    while (*last)
        last = &(*last)->next;
    *last = held;
}

static int rule_fits(const struct net_rule *r, int from, int to, int api_key,
                     int is_response)
{
    return r->times != 0 && (r->from < 0 || r->from == from) &&
           (r->to < 0 || r->to == to) &&
           (r->api_key < 0 || r->api_key == api_key) &&
           (r->is_response < 0 || r->is_response == is_response);
}

enum net_fate net_rule_apply(struct world *w, int from, int to,
                             const void *data, size_t size)
{
    /* A whole message: the envelope begins with its kind. */
    const uint8_t *envelope = (const uint8_t *)data + KL_WIRE_MESSAGE_PREFIX;
    struct network *n = &w->net;
    int api_key, is_response;

    if (!n->rule_count || size < KL_WIRE_MESSAGE_HEADER)
        return NET_PASS;
    api_key = kl_base_get_le16(envelope);
    is_response = envelope[4];
    for (int i = 0; i < n->rule_count; i++) {
        struct net_rule *r = &n->rules[i];

        if (!rule_fits(r, from, to, api_key, is_response))
            continue;
        if (r->times > 0)
            r->times--;
        if (r->fate == NET_HOLD)
            rule_hold(n, from, to, data, size);
        return r->fate;
    }
    return NET_PASS;
}
