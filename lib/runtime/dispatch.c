/*
 * A message that has come: whether it is one, whose it is, and which room it is
 * for. What is wrong with it is counted and nothing else follows from it, but
 * that a link which carries damaged bytes is given up.
 */
#include "runtime/state.h"

static void dispatch_count(kl_base_stat *stat)
{
    kl_base_stat_add(stat, 1);
}

/* Decodes into links.message; 0 where there is nothing to go on with. */
static int dispatch_decode(struct kl_runtime_node *n, struct kl_runtime_link *l,
                           const void *data, size_t size)
{
    struct kl_runtime_links *links = &n->links;

    switch (kl_wire_message_decode(&links->message, data, size, &links->lists,
                                   NULL)) {
    case 0:
        return 1;
    case KL_ENOMEM:
        dispatch_count(&n->stats.messages_lost);
        return 0;
    case KL_EFORMAT:
        dispatch_count(&n->stats.messages_unknown);
        return 0;
    default:
        dispatch_count(&n->stats.messages_malformed);
        if (l)
            kl_runtime_links_drop(n, l);
        return 0;
    }
}

/* Of this cluster, and for this directory of this node. */
static int dispatch_is_ours(struct kl_runtime_node *n,
                            const struct kl_wire_envelope *envelope)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    const struct kl_base_uuid *cluster = &id->cluster_id;

    /* The answer from the cluster that this node is looking for. */
    if (kl_runtime_join_is_asking(n) && envelope->is_response &&
        envelope->api_key == KL_WIRE_DESCRIBE_CLUSTER)
        cluster = &envelope->cluster_id;
    switch (
        kl_wire_envelope_check(envelope, cluster, n->id, &id->directory_id)) {
    case 0:
        return 1;
    case KL_EFOREIGN:
        dispatch_count(&n->stats.messages_foreign);
        return 0;
    default:
        dispatch_count(&n->stats.messages_misdirected);
        return 0;
    }
}

/* A link has one node in one of its starts at its other end; one that was
 * dialled has the node that was asked for. */
static int dispatch_is_known(struct kl_runtime_node *n,
                             struct kl_runtime_link *l,
                             const struct kl_wire_envelope *envelope)
{
    int is_new = kl_base_uuid_is_zero(&l->session_id);

    if ((is_new && !l->is_outgoing) ||
        (envelope->source_id == l->node_id &&
         (is_new ||
          kl_base_uuid_equal(&envelope->source_session, &l->session_id)))) {
        if (is_new)
            kl_runtime_links_identify(l, envelope);
        l->heard = ++n->links.heard;
        l->asked_ns = 0;
        return 1;
    }
    /* Whoever was there before, or an old message that came again, has given it
     * a name that is wrong: a new one gets the right name. */
    dispatch_count(&n->stats.messages_misdirected);
    kl_runtime_links_drop(n, l);
    return 0;
}

static int dispatch_is_of_quorum(const struct kl_wire_message *m)
{
    switch (m->envelope.api_key) {
    case KL_WIRE_FETCH:
    case KL_WIRE_VOTE:
    case KL_WIRE_BEGIN_QUORUM_EPOCH:
    case KL_WIRE_END_QUORUM_EPOCH:
    case KL_WIRE_DESCRIBE_QUORUM:
    case KL_WIRE_FETCH_SNAPSHOT:
    case KL_WIRE_ADD_RAFT_VOTER:
    case KL_WIRE_REMOVE_RAFT_VOTER:
    case KL_WIRE_UPDATE_RAFT_VOTER:
        return 1;
    default:
        return 0;
    }
}

/* What changes something and was sent by request.c, whose ids rise, to one
 * start of a node: delivered once more, it is not carried out again. Raft
 * judges its own messages. */
static int dispatch_is_request(const struct kl_wire_message *m)
{
    switch (m->envelope.api_key) {
    case KL_WIRE_ADD_RAFT_VOTER:
    case KL_WIRE_REMOVE_RAFT_VOTER:
        return !m->envelope.is_response;
    case KL_WIRE_DESCRIBE_CLUSTER:
        return 0;
    default:
        return !m->envelope.is_response && !dispatch_is_of_quorum(m);
    }
}

/* Of the session, or the one to be forgotten for it. */
static struct kl_runtime_seen *
dispatch_seen(struct kl_runtime_links *links,
              const struct kl_base_uuid *session_id)
{
    struct kl_runtime_seen *oldest = &links->seen[0];

    for (size_t i = 0; i < KL_RUNTIME_SEEN_MAX; i++) {
        struct kl_runtime_seen *s = &links->seen[i];

        if (s->used && kl_base_uuid_equal(&s->session_id, session_id))
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    *oldest = (struct kl_runtime_seen){.session_id = *session_id};
    return oldest;
}

/* 1 where the request is new: it has come now. */
static int dispatch_see(struct kl_runtime_seen *s, int64_t correlation_id)
{
    int64_t ahead = correlation_id - s->correlation_id;

    if (ahead > 0) {
        s->window = ahead < 64 ? s->window << ahead : 0;
        s->correlation_id = correlation_id;
        ahead = 0;
    }
    /* What is too old to tell counts as seen. */
    if (ahead <= -64 || s->window >> -ahead & 1)
        return 0;
    s->window |= UINT64_C(1) << -ahead;
    return 1;
}

static int dispatch_is_replay(struct kl_runtime_node *n,
                              const struct kl_wire_message *m)
{
    struct kl_runtime_seen *s;

    if (!dispatch_is_request(m))
        return 0;
    /* What this start has not seen an earlier one may have. */
    if (!kl_base_uuid_equal(&m->envelope.destination_session,
                            &n->links.session_id)) {
        dispatch_count(&n->stats.messages_replayed);
        return 1;
    }
    s = dispatch_seen(&n->links, &m->envelope.source_session);
    s->used = ++n->links.used;
    if (dispatch_see(s, m->envelope.correlation_id))
        return 0;
    dispatch_count(&n->stats.messages_replayed);
    return 1;
}

void kl_runtime_dispatch(struct kl_runtime_node *n, struct kl_runtime_link *l,
                         const void *data, size_t size)
{
    const struct kl_wire_message *m = &n->links.message;

    if (!dispatch_decode(n, l, data, size) ||
        !dispatch_is_ours(n, &m->envelope) ||
        (l &&
         (!dispatch_is_known(n, l, &m->envelope) || dispatch_is_replay(n, m))))
        return;
    dispatch_count(&n->stats.messages_received);
    if (m->envelope.is_response && kl_runtime_response(n, m))
        return;
    if (dispatch_is_of_quorum(m))
        kl_runtime_quorum_message(n, m);
    else if (m->envelope.api_key == KL_WIRE_DESCRIBE_CLUSTER)
        kl_runtime_join_message(n, m);
    else if (!m->envelope.is_response)
        kl_runtime_serve(n, m, data, size);
}
