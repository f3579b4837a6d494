/*
 * The other nodes: who they are, and whether they are who they were. What a
 * directory has told is remembered across its restarts, so that two processes
 * with one identity, and a folder that has become older, are noticed (F46, F47,
 * F48).
 */
#include "raft/state.h"

#include <string.h>

/* ---- the table --------------------------------------------------------- */

static void peers_clear(struct kl_raft_peer *p)
{
    memset(p, 0, sizeof *p);
    p->key.node_id = -1;
    p->fetch_id = -1;
    p->fetch_offset = -1;
    p->durable_offset = -1;
}

int kl_raft_peers_init(struct kl_raft *r)
{
    r->peer_count = KL_WIRE_VOTERS_MAX + r->options.observers_max;
    r->peers = kl_base_malloc(r->alloc, r->peer_count * sizeof *r->peers);
    if (!r->peers)
        return KL_ENOMEM;
    for (uint32_t i = 0; i < r->peer_count; i++)
        peers_clear(&r->peers[i]);
    return 0;
}

void kl_raft_peers_deinit(struct kl_raft *r)
{
    kl_base_free(r->alloc, r->peers, r->peer_count * sizeof *r->peers);
}

struct kl_raft_peer *kl_raft_peer_find(const struct kl_raft *r,
                                       const struct kl_wire_voter_key *key)
{
    for (uint32_t i = 0; i < r->peer_count; i++)
        if (kl_raft_key_equal(&r->peers[i].key, key))
            return &r->peers[i];
    return NULL;
}

/* A free entry, or that of the observer which was silent the longest. */
static struct kl_raft_peer *peers_vacancy(struct kl_raft *r)
{
    struct kl_raft_peer *oldest = NULL;

    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct kl_raft_peer *p = &r->peers[i];

        if (p->key.node_id < 0)
            return p;
        if (!p->is_voter && (!oldest || p->heard_at < oldest->heard_at))
            oldest = p;
    }
    return oldest;
}

static struct kl_raft_peer *peers_get(struct kl_raft *r,
                                      const struct kl_wire_voter_key *key)
{
    struct kl_raft_peer *p = kl_raft_peer_find(r, key);

    if (p)
        return p;
    p = peers_vacancy(r);
    if (p) {
        peers_clear(p);
        p->key = *key;
    }
    return p;
}

void kl_raft_peers_sync(struct kl_raft *r)
{
    const struct kl_raft_set *set = kl_raft_voters(r);

    for (uint32_t i = 0; i < r->peer_count; i++)
        r->peers[i].is_voter = 0;
    /* Known ones first, so that none of them makes room for another. */
    for (int known = 1; set && known >= 0; known--)
        for (uint32_t i = 0; i < set->count; i++) {
            struct kl_wire_voter_key key = kl_raft_key_of(&set->voters[i]);
            struct kl_raft_peer *p;

            if (kl_raft_key_equal(&key, &r->options.self))
                continue;
            p = known ? kl_raft_peer_find(r, &key) : peers_get(r, &key);
            KL_ASSERT(p || known);
            if (p)
                p->is_voter = 1;
        }
}

struct kl_raft_peer *kl_raft_next_voter(const struct kl_raft *r,
                                        struct kl_raft_peer *after)
{
    struct kl_raft_peer *p = after ? after + 1 : r->peers;

    for (; p < r->peers + r->peer_count; p++)
        if (p->is_voter)
            return p;
    return NULL;
}

void kl_raft_peers_forget_progress(struct kl_raft *r)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct kl_raft_peer *p = &r->peers[i];

        p->begin_id = 0;
        p->begin_at = 0;
        p->begin_round = 0;
        p->round = 0;
        p->fetch_offset = -1;
        p->durable_offset = -1;
        p->fetched_at = 0;
        p->fetch_leo = 0;
        p->caught_up_at = 0;
        p->parked.is_waiting = 0;
        p->read_id = 0;
        p->snapshot_read_id = 0;
    }
}

/* ---- identity ---------------------------------------------------------- */

/* The epoch that the sender has: durable before the message left. */
static int32_t peers_epoch_of(const struct kl_wire_message *m)
{
    if (m->envelope.is_response)
        return m->begin_quorum_epoch_response.leader_epoch;
    switch (m->envelope.api_key) {
    case KL_WIRE_VOTE:
        return m->vote_request.candidate_epoch;
    case KL_WIRE_BEGIN_QUORUM_EPOCH:
        return m->begin_quorum_epoch_request.leader_epoch;
    case KL_WIRE_END_QUORUM_EPOCH:
        return m->end_quorum_epoch_request.leader_epoch;
    case KL_WIRE_FETCH:
        return m->fetch_request.partitions.items[0].current_leader_epoch;
    case KL_WIRE_FETCH_SNAPSHOT:
        return m->fetch_snapshot_request.current_leader_epoch;
    default:
        return 0;
    }
}

/* One who does not ask to be counted is open about what it has lost. */
static int peers_is_frank(const struct kl_wire_message *m)
{
    return !m->envelope.is_response && m->envelope.api_key == KL_WIRE_FETCH &&
           m->fetch_request.partitions.items[0].durable_offset < 0;
}

/* The end of the sender's log where the message tells it, or -1. */
static int64_t peers_end_of(const struct kl_wire_message *m)
{
    if (m->envelope.is_response || peers_is_frank(m))
        return -1;
    if (m->envelope.api_key == KL_WIRE_VOTE)
        return m->vote_request.last_offset;
    if (m->envelope.api_key == KL_WIRE_FETCH)
        return m->fetch_request.partitions.items[0].fetch_offset;
    return -1;
}

int kl_raft_peer_is_live(const struct kl_raft *r, const struct kl_raft_peer *p)
{
    return p->has_session && r->now - p->heard_at < r->options.fetch_timeout_ns;
}

/* Another directory of the same node, heard of lately. */
static int peers_has_twin(const struct kl_raft *r,
                          const struct kl_wire_voter_key *key)
{
    if (key->node_id == r->options.self.node_id)
        return 1;
    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct kl_raft_peer *p = &r->peers[i];

        if (p->key.node_id == key->node_id &&
            !kl_raft_key_equal(&p->key, key) && kl_raft_peer_is_live(r, p))
            return 1;
    }
    return 0;
}

/* A session that begins must know all that the one before it knew. */
static enum kl_wire_error peers_begin_session(struct kl_raft *r,
                                              struct kl_raft_peer *p,
                                              const struct kl_wire_message *m)
{
    if (kl_raft_peer_is_live(r, p)) {
        r->counters.duplicates++;
        return KL_WIRE_DUPLICATE_NODE;
    }
    if (p->has_session && peers_epoch_of(m) < p->epoch && !peers_is_frank(m)) {
        r->counters.regressions++;
        return KL_WIRE_LOG_REGRESSED;
    }
    p->has_session = 1;
    p->session_id = m->envelope.source_session;
    p->position_known = 0;
    p->fetch_id = -1;
    p->parked.is_waiting = 0;
    p->read_id = 0;
    p->snapshot_read_id = 0;
    return KL_WIRE_NONE;
}

enum kl_wire_error kl_raft_peers_admit(struct kl_raft *r,
                                       const struct kl_wire_message *m,
                                       struct kl_raft_peer **out)
{
    const struct kl_wire_envelope *v = &m->envelope;
    struct kl_wire_voter_key key = {v->source_id, v->source_directory};
    enum kl_wire_error error;
    struct kl_raft_peer *p;
    int64_t end;

    if (peers_has_twin(r, &key)) {
        r->counters.duplicates++;
        return KL_WIRE_DUPLICATE_NODE;
    }
    p = peers_get(r, &key);
    KL_ASSERT(p);
    if (!p->has_session ||
        !kl_base_uuid_equal(&p->session_id, &v->source_session)) {
        error = peers_begin_session(r, p, m);
        if (error)
            return error;
    }
    end = peers_end_of(m);
    if (end >= 0 && !p->position_known) {
        if (end < p->committed) {
            r->counters.regressions++;
            return KL_WIRE_LOG_REGRESSED;
        }
        p->position_known = 1;
    }
    p->heard_at = r->now;
    if (peers_epoch_of(m) > p->epoch)
        p->epoch = peers_epoch_of(m);
    *out = p;
    return KL_WIRE_NONE;
}

void kl_raft_peers_link_down(struct kl_raft *r,
                             const struct kl_wire_voter_key *key,
                             const struct kl_base_uuid *session_id)
{
    struct kl_raft_peer *p = kl_raft_peer_find(r, key);

    if (!p || !p->has_session ||
        !kl_base_uuid_equal(&p->session_id, session_id))
        return;
    /* Long silent: its next session need not wait. */
    p->heard_at = r->now - r->options.fetch_timeout_ns;
}
