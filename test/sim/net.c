/*
 * Links between mailboxes.
 */
#include "net.h"

#include "mark.h"
#include "world.h"

#include "need.h"
#include "net/net.h"
#include "wire/wire.h"

#include <stdio.h>
#include <string.h>

/* Who connects to nobody is told after so long. */
#define NET_CONNECT_NS (1 * SECOND)

/* ---- packets --------------------------------------------------------------
 */

static struct packet *packet_new(const void *data, size_t size)
{
    struct packet *p = pool_take(sizeof *p + size);

    p->next = NULL;
    p->edit = -1;
    p->is_torn = 0;
    p->size = size;
    memcpy(p->data, data, size);
    return p;
}

static void packet_free(struct packet *p)
{
    pool_give(p, sizeof *p + p->size);
}

static void end_clear(struct net_end *e)
{
    while (e->first) {
        struct packet *p = e->first;

        e->first = p->next;
        packet_free(p);
    }
    memset(e, 0, sizeof *e);
}

static int64_t net_latency(struct world *w, int from, int to)
{
    struct network *n = &w->net;
    int64_t base = w->o.latency_ns;
    int64_t ns = base + (int64_t)kl_base_rng_below(&n->rng, (uint64_t)base);

    if (w->o.late_one_in && kl_base_rng_below(&n->rng, w->o.late_one_in) == 0)
        ns *= 100;
    if (n->slow_ns[from][to] > w->now_ns)
        ns *= 20;
    return ns;
}

static void end_push(struct world *w, struct net_end *e, int from,
                     struct packet *p)
{
    int64_t now = w->hosts[from].now_ns;

    if (now < w->now_ns)
        now = w->now_ns;
    p->due_ns = now + net_latency(w, from, e->host);
    if (p->due_ns < e->last_ns)
        p->due_ns = e->last_ns;
    e->last_ns = p->due_ns;
    if (e->first)
        e->last->next = p;
    else
        e->first = p;
    e->last = p;
    e->bytes += p->size;
}

/* ---- links ----------------------------------------------------------------
 */

static struct net_link *link_of(struct host *h, uint64_t id, int *side_out)
{
    for (int i = 0; i < NET_LINKS; i++) {
        struct net_link *l = &h->w->net.links[i];

        for (int side = 0; l->state && side < 2; side++)
            if (l->ends[side].host == h->index && l->ends[side].id == id) {
                *side_out = side;
                return l;
            }
    }
    return NULL;
}

static void link_free(struct net_link *l)
{
    end_clear(&l->ends[0]);
    end_clear(&l->ends[1]);
    memset(l, 0, sizeof *l);
}

/* The end's host hears that it is over. */
static void end_down(struct world *w, const struct net_end *e)
{
    struct host *h = &w->hosts[e->host];

    if (!e->id || !h->net)
        return;
    check_messages_cut(&w->checks.messages, h->index);
    kl_net_down(h->net, e->id);
    host_wake(h);
}

static void link_down(struct world *w, struct net_link *l, int skip)
{
    for (int side = 0; side < 2; side++)
        if (side != skip)
            end_down(w, &l->ends[side]);
    link_free(l);
}

static int net_is_cut(const struct world *w, int a, int b)
{
    return w->net.cut_ns[a][b] > w->now_ns || w->net.cut_ns[b][a] > w->now_ns;
}

/* ---- what the mailbox calls ------------------------------------------------
 */

static int ops_connect(void *user, uint64_t link, int32_t node_id,
                       const char *endpoint)
{
    struct host *h = user;
    struct world *w = h->w;
    int to;

    (void)node_id;
    if (sscanf(endpoint, "sim:%d", &to) != 1 || to < 1 || to > w->o.hosts)
        return KL_EINVAL;
    for (int i = 0; i < NET_LINKS; i++) {
        struct net_link *l = &w->net.links[i];

        if (l->state)
            continue;
        l->state = NET_LINK_BEGINS;
        l->ends[0].host = h->index;
        l->ends[0].id = link;
        l->ends[1].host = to - 1;
        l->due_ns = w->now_ns + (net_is_cut(w, h->index, to - 1)
                                     ? NET_CONNECT_NS
                                     : 2 * net_latency(w, h->index, to - 1));
        return 0;
    }
    return KL_EAGAIN;
}

/* A bad message in front of a good one. */
static void net_add_edited(struct host *h, struct net_end *to, const void *data,
                           size_t size)
{
    struct network *n = &h->w->net;

    for (int i = 0; i < NET_EDITS; i++) {
        struct packet *whole, *p;
        size_t left = size;

        if (!n->edits[i])
            continue;
        whole = packet_new(data, size);
        if (net_edit(whole->data, &left, (enum net_edit)i,
                     kl_base_rng_next(&n->rng))) {
            n->edits[i]--;
            p = packet_new(whole->data, left);
            p->edit = i;
            end_push(h->w, to, h->index, p);
        }
        packet_free(whole);
        return;
    }
}

static int ops_send(void *user, uint64_t link, const void *data, size_t size)
{
    struct host *h = user;
    struct world *w = h->w;
    struct network *n = &w->net;
    struct packet *p;
    struct net_end *to;
    enum net_fate fate;
    int side;
    struct net_link *l = link_of(h, link, &side);

    if (!l)
        return KL_ECLOSED;
    to = &l->ends[!side];
    if (to->bytes > w->o.link_bytes) {
        KL_MARK(LINK_FULL);
        l->ends[side].is_blocked = 1;
        return KL_EAGAIN;
    }
    fate = net_rule_apply(w, h->index, to->host, data, size);
    if (fate == NET_DROP || fate == NET_HOLD)
        return 0;
    if (fate == NET_TWICE)
        end_push(w, to, h->index, packet_new(data, size));
    net_add_edited(h, to, data, size);
    p = packet_new(data, size);
    if (n->corrupt > 0) {
        n->corrupt--;
        p->is_torn = 1;
        p->data[kl_base_rng_below(&n->rng, size)] ^=
            (uint8_t)(1 << kl_base_rng_below(&n->rng, 8));
    }
    end_push(w, to, h->index, p);
    return 0;
}

static void ops_disconnect(void *user, uint64_t link)
{
    struct host *h = user;
    int side;
    struct net_link *l = link_of(h, link, &side);

    check_messages_cut(&h->w->checks.messages, h->index);
    if (!l)
        return;
    /* A machine without power says nothing. */
    if (h->is_silent && l->state == NET_LINK_IS_UP && l->ends[!side].id)
        l->ends[side].id = 0;
    else
        link_down(h->w, l, side);
}

static void ops_resume(void *user, uint64_t link)
{
    int side;
    struct net_link *l = link_of(user, link, &side);

    if (l)
        l->ends[side].is_stuck = 0;
}

static const struct kl_net_ops net_ops = {.connect = ops_connect,
                                          .send = ops_send,
                                          .disconnect = ops_disconnect,
                                          .resume = ops_resume};

/* ---- what happens ---------------------------------------------------------
 */

static void link_begin(struct world *w, struct net_link *l)
{
    struct host *from = &w->hosts[l->ends[0].host];
    struct host *to = &w->hosts[l->ends[1].host];

    if (to->state != HOST_UP || net_is_cut(w, from->index, to->index) ||
        kl_net_accept(to->net, &l->ends[1].id)) {
        l->ends[1].id = 0;
        link_down(w, l, 1);
        return;
    }
    l->state = NET_LINK_IS_UP;
    kl_net_up(from->net, l->ends[0].id);
    host_wake(from);
    host_wake(to);
}

static void net_keep(struct world *w, int from, int to, const struct packet *p)
{
    struct network *n = &w->net;
    int at = n->kept_count < NET_KEPT
                 ? n->kept_count++
                 : (int)kl_base_rng_below(&n->rng, NET_KEPT);

    if (n->kept[at])
        packet_free(n->kept[at]);
    n->kept[at] = packet_new(p->data, p->size);
    n->kept_from[at] = from;
    n->kept_to[at] = to;
}

/* What a node is to count an edited message as. */
static enum bad_message net_bad(int edit)
{
    static const enum bad_message bad[NET_EDITS] = {
        [NET_EDIT_FOREIGN] = BAD_FOREIGN,
        [NET_EDIT_MISDIRECTED] = BAD_MISDIRECTED,
        [NET_EDIT_UNKNOWN] = BAD_UNKNOWN,
        [NET_EDIT_OVERSIZED] = BAD_MALFORMED,
        [NET_EDIT_TRUNCATED] = BAD_MALFORMED};

    return bad[edit];
}

/* The first message on its way to an end arrives. */
static void link_arrive(struct world *w, struct net_link *l, int side)
{
    struct net_end *e = &l->ends[side], *from = &l->ends[!side];
    struct host *h = &w->hosts[e->host];
    struct packet *p = e->first;
    int r =
        e->id ? kl_net_deliver(h->net, e->id, p->data, p->size) : KL_ECLOSED;

    if (r == KL_EAGAIN) {
        KL_MARK(INBOX_FULL);
        e->is_stuck = 1;
        return;
    }
    e->first = p->next;
    e->bytes -= p->size;
    w->tally.messages++;
    world_note(w, 'm', (uint64_t)e->host, p->size);
    /* Damaged bytes may have made the link wait for more. */
    e->is_torn |= p->is_torn;
    if (p->edit >= 0 && r != KL_ECLOSED && !e->is_torn)
        check_messages_delivered(&w->checks.messages, h->index, h->boots,
                                 net_bad(p->edit));
    else if (p->edit < 0 && kl_base_rng_below(&w->net.rng, 64) == 0)
        net_keep(w, from->host, e->host, p);
    packet_free(p);
    if (r == 0) {
        host_wake(h);
        if (from->is_blocked && from->id && e->bytes <= w->o.link_bytes / 2) {
            from->is_blocked = 0;
            kl_net_writable(w->hosts[from->host].net, from->id);
            host_wake(&w->hosts[from->host]);
        }
        return;
    }
    if (r == KL_EFORMAT) {
        KL_MARK(LINK_FORMAT);
        host_wake(h);
    }
    check_messages_cut(&w->checks.messages, h->index);
    link_down(w, l, side);
}

/* When something happens to a link. side -1: it is up, or is not. */
static int64_t link_next(const struct world *w, const struct net_link *l,
                         int *side_out)
{
    int64_t at = INT64_MAX;

    *side_out = -1;
    if (l->state == NET_LINK_BEGINS)
        return l->due_ns;
    for (int side = 0; l->state && side < 2; side++) {
        const struct net_end *e = &l->ends[side];
        int64_t cut = w->net.cut_ns[l->ends[!side].host][e->host];
        int64_t due;

        /* What is sent to a machine without power is sent again and again. */
        if (!e->first || e->is_stuck ||
            (!e->id && w->hosts[e->host].state != HOST_UP))
            continue;
        due = e->first->due_ns > cut ? e->first->due_ns : cut;
        if (due < at) {
            at = due;
            *side_out = side;
        }
    }
    return at;
}

int64_t net_next_ns(const struct world *w)
{
    int64_t min = INT64_MAX;
    int side;

    for (int i = 0; i < NET_LINKS; i++) {
        int64_t at = w->net.links[i].state
                         ? link_next(w, &w->net.links[i], &side)
                         : INT64_MAX;

        min = at < min ? at : min;
    }
    return min;
}

void net_run(struct world *w)
{
    for (int i = 0; i < NET_LINKS; i++) {
        struct net_link *l = &w->net.links[i];
        int side;

        if (!l->state || link_next(w, l, &side) > w->now_ns)
            continue;
        if (side < 0)
            link_begin(w, l);
        else
            link_arrive(w, l, side);
    }
}

/* ---- mailboxes ------------------------------------------------------------
 */

void net_init(struct world *w)
{
    kl_base_rng_seed(&w->net.rng, choice_seed(w->choice));
}

void net_deinit(struct world *w)
{
    for (int i = 0; i < NET_LINKS; i++)
        if (w->net.links[i].state)
            link_free(&w->net.links[i]);
    for (int i = 0; i < w->net.kept_count; i++)
        packet_free(w->net.kept[i]);
    w->net.kept_count = 0;
    net_rule_clear(w, 0);
}

void net_join(struct host *h)
{
    struct kl_net_options options = {
        .message_bytes_max = KL_WIRE_MESSAGE_MAX,
        .inbox_bytes_max = h->w->o.inbox_bytes,
        .accepted_max = NET_LINKS,
    };

    pool_alloc_init(&h->net_memory);
    need_ok(kl_net_new(&h->net, &h->net_memory.alloc, &options));
    kl_net_set_ops(h->net, &net_ops, h);
}

void net_leave(struct host *h)
{
    kl_net_free(h->net);
    h->net = NULL;
}

/* ---- faults ---------------------------------------------------------------
 */

void net_reset(struct host *h)
{
    struct world *w = h->w;
    int from = (int)choice_below(w->choice, NET_LINKS);

    for (int i = 0; i < NET_LINKS; i++) {
        struct net_link *l = &w->net.links[(from + i) % NET_LINKS];

        if (l->state != NET_LINK_IS_UP ||
            (l->ends[0].host != h->index && l->ends[1].host != h->index))
            continue;
        link_down(w, l, -1);
        return;
    }
}

void net_cut(struct world *w, int from, int to, int is_both, int64_t until_ns)
{
    w->net.cut_ns[from][to] = until_ns;
    if (is_both)
        w->net.cut_ns[to][from] = until_ns;
}

void net_slow(struct world *w, int from, int to, int64_t until_ns)
{
    w->net.slow_ns[from][to] = w->net.slow_ns[to][from] = until_ns;
}

int net_inject(struct world *w, int from, int to, const void *data, size_t size)
{
    for (int i = 0; i < NET_LINKS; i++) {
        struct net_link *l = &w->net.links[i];

        for (int side = 0; l->state == NET_LINK_IS_UP && side < 2; side++)
            if (l->ends[side].host == to && l->ends[!side].host == from) {
                end_push(w, &l->ends[side], from, packet_new(data, size));
                return 1;
            }
    }
    return 0;
}

void net_replay(struct world *w, int which)
{
    struct network *n = &w->net;
    int at = n->kept_count ? which % n->kept_count : 0;

    if (n->kept_count && net_inject(w, n->kept_from[at], n->kept_to[at],
                                    n->kept[at]->data, n->kept[at]->size))
        KL_MARK(REPLAYED);
}

void net_mend(struct world *w)
{
    memset(w->net.cut_ns, 0, sizeof w->net.cut_ns);
    memset(w->net.slow_ns, 0, sizeof w->net.slow_ns);
    w->net.corrupt = 0;
    memset(w->net.edits, 0, sizeof w->net.edits);
}
