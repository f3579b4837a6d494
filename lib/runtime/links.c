/*
 * Links to other nodes: which connection leads to whom. Who is at the other end
 * of one is what its messages say, and a node that is not connected yet is
 * dialled when there is something for it.
 *
 * A message that cannot be sent is lost. Everybody who sends asks again, so
 * there is one way to lose one and no list of reasons.
 */
#include "runtime/state.h"

#include "net/net.h"

#include <string.h>

/* Messages that wait for one link, and connections. */
#define LINKS_WAITING_BYTES ((size_t)8 << 20)
#define LINKS_MAX 256
/* Request timeouts without a message, from a request on. */
#define LINKS_SILENT 2
/* Before the same node is dialled again. */
#define LINKS_RETRY_NS INT64_C(100000000)

/* ---- finding one --------------------------------------------------------- */

static struct kl_runtime_link *links_of(struct kl_base_list *item)
{
    return KL_BASE_CONTAINER(item, struct kl_runtime_link, link);
}

#define LINKS_EACH(n, item)                                                    \
    for (struct kl_base_list *item = (n)->links.all.next;                      \
         item != &(n)->links.all; item = item->next)

static struct kl_runtime_link *links_find(struct kl_runtime_node *n,
                                          uint64_t id)
{
    LINKS_EACH(n, item)
    if (links_of(item)->id == id)
        return links_of(item);
    return NULL;
}

/* Of two that are up, that which was heard of last: the other end of the other
 * one may be gone without a word. */
static int links_is_better(const struct kl_runtime_link *l,
                           const struct kl_runtime_link *than)
{
    if (!than || l->is_up != than->is_up)
        return !than || l->is_up;
    return l->heard > than->heard;
}

/* Any that leads to the node, or is to be dialled. */
static struct kl_runtime_link *links_to(struct kl_runtime_node *n,
                                        int32_t node_id)
{
    struct kl_runtime_link *found = NULL;

    LINKS_EACH(n, item)
    {
        struct kl_runtime_link *l = links_of(item);

        if (l->node_id == node_id && links_is_better(l, found))
            found = l;
    }
    return found;
}

static int links_is_up_to(struct kl_runtime_node *n, int32_t node_id)
{
    const struct kl_runtime_link *l = links_to(n, node_id);

    return l && l->is_up;
}

/* That of a session, to which an answer goes. */
static struct kl_runtime_link *
links_of_session(struct kl_runtime_node *n, const struct kl_base_uuid *session)
{
    struct kl_runtime_link *found = NULL;

    LINKS_EACH(n, item)
    {
        struct kl_runtime_link *l = links_of(item);

        if (l->is_up && kl_base_uuid_equal(&l->session_id, session) &&
            links_is_better(l, found))
            found = l;
    }
    return found;
}

int kl_runtime_links_has_session(struct kl_runtime_node *n,
                                 const struct kl_base_uuid *session)
{
    return links_of_session(n, session) != NULL;
}

static struct kl_runtime_link *links_add(struct kl_runtime_node *n, uint64_t id,
                                         int32_t node_id)
{
    struct kl_runtime_link *l = n->links.count < LINKS_MAX
                                    ? kl_base_calloc(&n->alloc, sizeof *l)
                                    : NULL;

    if (!l)
        return NULL;
    l->id = id;
    l->node_id = node_id;
    kl_base_list_init(&l->waiting);
    kl_base_list_push(&n->links.all, &l->link);
    n->links.count++;
    return l;
}

/* ---- parcels ------------------------------------------------------------- */

struct kl_runtime_parcel *kl_runtime_parcel_new(struct kl_runtime_node *n,
                                                const void *data, size_t size)
{
    struct kl_runtime_parcel *p = kl_base_malloc(&n->alloc, sizeof *p + size);

    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
    p->size = size;
    memcpy(p->data, data, size);
    kl_base_list_init(&p->link);
    return p;
}

void kl_runtime_parcel_free(struct kl_runtime_node *n,
                            struct kl_runtime_parcel *p)
{
    kl_base_free(&n->alloc, p, sizeof *p + p->size);
}

void kl_runtime_parcels_free(struct kl_runtime_node *n,
                             struct kl_base_list *parcels)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(parcels)))
        kl_runtime_parcel_free(
            n, KL_BASE_CONTAINER(item, struct kl_runtime_parcel, link));
}

/* ---- the end of one ------------------------------------------------------ */

static void links_free(struct kl_runtime_node *n, struct kl_runtime_link *l)
{
    kl_runtime_parcels_free(n, &l->waiting);
    kl_base_list_remove(&l->link);
    n->links.count--;
    kl_base_free(&n->alloc, l, sizeof *l);
}

/* What was on its way is lost. One that was dialled is remembered until it may
 * be dialled again. */
static void links_end(struct kl_runtime_node *n, struct kl_runtime_link *l)
{
    int was_up = l->is_up;

    kl_runtime_parcels_free(n, &l->waiting);
    l->waiting_bytes = 0;
    l->is_up = l->is_blocked = 0;
    l->id = 0;
    l->asked_ns = 0;
    if (was_up && l->node_id >= 0 && !kl_base_uuid_is_zero(&l->session_id))
        kl_runtime_quorum_lost(n, l);
    /* What was sent while this one was dialled went over another that was up:
     * nothing is lost with it. */
    if (l->node_id >= 0 && (was_up || !links_is_up_to(n, l->node_id)))
        kl_runtime_requests_lost(n, l->node_id, was_up);
    if (!l->is_outgoing) {
        links_free(n, l);
        return;
    }
    l->directory_id = l->session_id = (struct kl_base_uuid){{0}};
    l->retry_ns = n->now_ns + LINKS_RETRY_NS;
}

void kl_runtime_links_drop(struct kl_runtime_node *n, struct kl_runtime_link *l)
{
    kl_net_disconnect(n->net, l->id);
    links_end(n, l);
}

/* ---- sending ------------------------------------------------------------- */

static int links_wait(struct kl_runtime_node *n, struct kl_runtime_link *l,
                      const void *data, size_t size)
{
    struct kl_runtime_parcel *p = NULL;

    if (l->waiting_bytes + size <= LINKS_WAITING_BYTES)
        p = kl_runtime_parcel_new(n, data, size);
    if (!p) {
        kl_base_stat_add(&n->stats.messages_lost, 1);
        return KL_EAGAIN;
    }
    kl_base_list_push(&l->waiting, &p->link);
    l->waiting_bytes += size;
    return 0;
}

static int links_put(struct kl_runtime_node *n, struct kl_runtime_link *l,
                     const void *data, size_t size)
{
    int r = KL_EAGAIN;

    if (l->is_up && !l->is_blocked) {
        r = kl_net_send(n->net, l->id, data, size);
        l->is_blocked = r == KL_EAGAIN;
    }
    if (r == KL_EAGAIN)
        return links_wait(n, l, data, size);
    if (!r) {
        kl_base_stat_add(&n->stats.messages_sent, 1);
        return 0;
    }
    kl_base_stat_add(&n->stats.messages_lost, 1);
    kl_runtime_links_drop(n, l);
    return KL_EAGAIN;
}

static void links_flush(struct kl_runtime_node *n, struct kl_runtime_link *l)
{
    struct kl_base_list *item;

    while (l->is_up && !l->is_blocked &&
           (item = kl_base_list_first(&l->waiting))) {
        struct kl_runtime_parcel *p =
            KL_BASE_CONTAINER(item, struct kl_runtime_parcel, link);
        int r = kl_net_send(n->net, l->id, p->data, p->size);

        if (r == KL_EAGAIN) {
            l->is_blocked = 1;
            return;
        }
        if (r) {
            kl_runtime_links_drop(n, l);
            return;
        }
        kl_base_list_remove(item);
        l->waiting_bytes -= p->size;
        kl_runtime_parcel_free(n, p);
        kl_base_stat_add(&n->stats.messages_sent, 1);
    }
}

/* ---- dialling ------------------------------------------------------------ */

/* Begins a connection. What is sent meanwhile waits for it. */
static struct kl_runtime_link *links_dial(struct kl_runtime_node *n,
                                          struct kl_runtime_link *l,
                                          int32_t node_id)
{
    char endpoint[KL_RUNTIME_ENDPOINT];

    if (l && n->now_ns < l->retry_ns)
        return NULL;
    if (!n->net || !kl_runtime_endpoint_of(n, node_id, endpoint))
        return NULL;
    if (!l)
        l = links_add(n, 0, node_id);
    if (!l)
        return NULL;
    l->is_outgoing = 1;
    if (kl_net_connect(n->net, node_id, endpoint, &l->id)) {
        l->id = 0;
        l->retry_ns = n->now_ns + LINKS_RETRY_NS;
        return NULL;
    }
    return l;
}

static int links_put_local(struct kl_runtime_node *n, const void *data,
                           size_t size)
{
    struct kl_runtime_parcel *p = kl_runtime_parcel_new(n, data, size);

    if (!p)
        return KL_EAGAIN;
    kl_base_list_push(&n->links.local, &p->link);
    return 0;
}

int kl_runtime_links_send_bytes(struct kl_runtime_node *n, int32_t node_id,
                                const struct kl_base_uuid *session_id,
                                const void *data, size_t size)
{
    struct kl_runtime_link *l;

    if (node_id == n->id)
        return links_put_local(n, data, size);
    if (!kl_base_uuid_is_zero(session_id)) {
        l = links_of_session(n, session_id);
    } else {
        l = links_to(n, node_id);
        if (!l || !l->id)
            l = links_dial(n, l, node_id);
        if (l && l->is_up && !l->asked_ns)
            l->asked_ns = n->now_ns;
    }
    if (l)
        return links_put(n, l, data, size);
    kl_base_stat_add(&n->stats.messages_lost, 1);
    return KL_EAGAIN;
}

int kl_runtime_links_send(struct kl_runtime_node *n,
                          const struct kl_wire_message *message,
                          const struct kl_base_uuid *session_id)
{
    struct kl_base_buf *b = &n->links.bytes;

    kl_base_buf_clear(b);
    if (kl_wire_message_encode(message, b, NULL) == 0)
        return kl_runtime_links_send_bytes(n, message->envelope.destination_id,
                                           session_id, b->data, b->size);
    kl_base_stat_add(&n->stats.messages_lost, 1);
    return KL_EAGAIN;
}

int kl_runtime_links_ask(struct kl_runtime_node *n,
                         struct kl_wire_message *request)
{
    int32_t node_id = request->envelope.destination_id;
    struct kl_base_uuid *session = &request->envelope.destination_session;
    struct kl_runtime_link *l;

    if (node_id == n->id) {
        *session = n->links.session_id;
        return kl_runtime_links_send(n, request, session);
    }
    l = links_to(n, node_id);
    if (!l || kl_base_uuid_is_zero(&l->session_id)) {
        kl_runtime_join_ask(n, node_id);
        return KL_EAGAIN;
    }
    if (!l->asked_ns)
        l->asked_ns = n->now_ns;
    *session = l->session_id;
    return kl_runtime_links_send(n, request, session);
}

/* ---- what the net tells -------------------------------------------------- */

void kl_runtime_links_identify(struct kl_runtime_link *l,
                               const struct kl_wire_envelope *envelope)
{
    l->node_id = envelope->source_id;
    l->directory_id = envelope->source_directory;
    l->session_id = envelope->source_session;
}

static void links_event(struct kl_runtime_node *n, const struct kl_net_event *e)
{
    struct kl_runtime_link *l = links_find(n, e->link);

    if (!l && e->type == KL_NET_UP && e->is_incoming)
        l = links_add(n, e->link, -1);
    if (!l) {
        if (e->type == KL_NET_UP)
            kl_net_disconnect(n->net, e->link);
        return;
    }
    switch (e->type) {
    case KL_NET_UP:
        l->is_up = 1;
        links_flush(n, l);
        break;
    case KL_NET_DOWN:
        /* What it carried was no message, or a larger one than any. */
        if (e->code == KL_EFORMAT)
            kl_base_stat_add(&n->stats.messages_malformed, 1);
        links_end(n, l);
        break;
    case KL_NET_WRITABLE:
        l->is_blocked = 0;
        links_flush(n, l);
        break;
    case KL_NET_MESSAGE:
        kl_runtime_dispatch(n, l, e->data, e->size);
        break;
    }
}

int kl_runtime_links_local(struct kl_runtime_node *n)
{
    struct kl_base_list *item;
    struct kl_runtime_parcel *p;

    if (!kl_runtime_quorum_is_ready(n) ||
        !(item = kl_base_list_pop(&n->links.local)))
        return 0;
    p = KL_BASE_CONTAINER(item, struct kl_runtime_parcel, link);
    kl_runtime_dispatch(n, NULL, p->data, p->size);
    kl_runtime_parcel_free(n, p);
    return 1;
}

/* Who is asked answers. A link over which nothing comes, because its other end
 * is gone or damaged bytes have made it wait for more, is given up. */
static int links_drop_silent(struct kl_runtime_node *n)
{
    int64_t patience =
        LINKS_SILENT * INT64_C(1000000) *
        kl_base_config_value(&n->config, KL_BASE_CONFIG_REQUEST_TIMEOUT_MS);
    int moved = 0;

    for (struct kl_base_list *item = n->links.all.next, *next;
         item != &n->links.all; item = next) {
        struct kl_runtime_link *l = links_of(item);

        next = item->next;
        if (!l->asked_ns || n->now_ns - l->asked_ns < patience)
            continue;
        kl_base_stat_add(&n->stats.links_silent, 1);
        kl_runtime_links_drop(n, l);
        moved = 1;
    }
    return moved;
}

int kl_runtime_links_step(struct kl_runtime_node *n)
{
    struct kl_net_event e;
    int moved = n->net ? links_drop_silent(n) : 0;

    /* raft hears nothing new before all that it wanted is done. */
    while (kl_runtime_quorum_is_ready(n)) {
        if (kl_runtime_links_local(n)) {
            moved = 1;
        } else if (n->net && kl_net_next(n->net, &e)) {
            links_event(n, &e);
            moved = 1;
        } else {
            break;
        }
    }
    return moved;
}

/* ---- life ---------------------------------------------------------------- */

static void links_wake(void *user)
{
    struct kl_runtime_node *n = user;

    atomic_store(&n->lanes_woken, 1);
    kl_runtime_wake(n);
}

int kl_runtime_links_open(struct kl_runtime_node *n)
{
    int r = n->net ? kl_net_attach(n->net, links_wake, n) : 0;
    uint64_t seed;

    if (r)
        return r;
    kl_base_buf_init(&n->links.bytes, &n->alloc);
    kl_base_buf_init(&n->links.lists, &n->alloc);
    seed = kl_runtime_seed(n);
    memcpy(n->links.session_id.bytes, &seed, sizeof seed);
    n->links.session_id.bytes[15] = 1;
    return 0;
}

void kl_runtime_links_close(struct kl_runtime_node *n)
{
    if (!n->links.bytes.alloc)
        return;
    if (n->net)
        (void)kl_net_attach(n->net, NULL, NULL);
    while (!kl_base_list_is_empty(&n->links.all))
        links_free(n, links_of(n->links.all.next));
    kl_runtime_parcels_free(n, &n->links.local);
    kl_base_buf_deinit(&n->links.bytes);
    kl_base_buf_deinit(&n->links.lists);
}
