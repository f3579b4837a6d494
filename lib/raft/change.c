/*
 * Changes of the voters, one at a time (KIP-853; rule 11). A change is wished
 * by a message or by the host of the leader, and takes effect as soon as its
 * record is appended.
 */
#include "raft/state.h"

#include <string.h>

/* A wish, whoever has it. */
struct kl_raft_wish
{
    const struct kl_wire_envelope *request; /* NULL: of the host */
    uint64_t token;
    struct kl_wire_voter voter;
    int64_t voters_offset; /* -1 = any */
    int64_t timeout_ns;
    int force;
};

/* ---- answering --------------------------------------------------------- */

static void change_answer(struct kl_raft *r,
                          const struct kl_wire_envelope *request,
                          uint64_t token, enum kl_wire_error error)
{
    const struct kl_raft_set *set = kl_raft_voters(r);
    int64_t offset = set ? set->offset : -1;

    /* The three responses are the same. */
    if (request)
        kl_raft_reply(r, request, error)
            ->send.message.add_raft_voter_response.voters_offset = offset;
    else
        kl_raft_complete(r, token, kl_wire_error_code((int16_t)error), offset);
}

void kl_raft_change_finish(struct kl_raft *r, enum kl_wire_error error)
{
    struct kl_raft_change *c = &r->change;

    if (!c->is_open)
        return;
    c->is_open = 0;
    change_answer(r, c->has_request ? &c->request : NULL, c->token, error);
}

void kl_raft_change_committed(struct kl_raft *r)
{
    if (r->role != KL_RAFT_LEADER ||
        kl_raft_voters(r)->offset >= r->high_watermark)
        return;
    kl_raft_change_finish(r, KL_WIRE_NONE);
    /* A removed leader has led, uncounted, up to here (B37). */
    if (!kl_raft_is_voter(r))
        kl_raft_leader_resign(r, NULL);
}

/* It stays pending: the record may be committed all the same. */
void kl_raft_change_timer(struct kl_raft *r)
{
    if (r->change.is_open && r->now >= r->change.deadline)
        kl_raft_change_finish(r, KL_WIRE_REQUEST_TIMED_OUT);
}

/* ---- checks ------------------------------------------------------------ */

static enum kl_wire_error change_check(const struct kl_raft *r,
                                       const struct kl_raft_wish *w)
{
    const struct kl_raft_set *set = kl_raft_voters(r);

    if (r->role != KL_RAFT_LEADER)
        return KL_WIRE_NOT_LEADER;
    if (w->voter.node_id < 0 || kl_base_uuid_is_zero(&w->voter.directory_id) ||
        w->voter.endpoints.size > KL_RAFT_ENDPOINT_BYTES)
        return KL_WIRE_INVALID_REQUEST;
    if (r->high_watermark <= r->epoch_start || r->change.is_open ||
        set->offset < 0 || set->offset >= r->high_watermark ||
        r->hand_over.is_open)
        return KL_WIRE_CHANGE_PENDING;
    if (w->voters_offset >= 0 && w->voters_offset != set->offset)
        return KL_WIRE_INCONSISTENT_VOTER_SET;
    return KL_WIRE_NONE;
}

/* An observer of this key that has all, as far as is known. One whose session
 * has ended may come back with another disk, which is another key. */
static int change_is_caught_up(const struct kl_raft *r,
                               const struct kl_raft_peer *p)
{
    return kl_raft_peer_is_live(r, p) && p->caught_up_at > 0 &&
           r->now - p->caught_up_at < r->options.fetch_timeout_ns;
}

/* One voter may become two only with a third in sight: two tolerate nothing. */
static int change_has_third(const struct kl_raft *r,
                            const struct kl_wire_voter_key *second)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct kl_raft_peer *p = &r->peers[i];

        if (p->key.node_id >= 0 && !p->is_voter &&
            p->key.node_id != second->node_id && change_is_caught_up(r, p))
            return 1;
    }
    return 0;
}

/* Those who would vote and acknowledge in the set to be, without one voter or
 * with one more, are a majority of it; else nothing could be committed. */
static int change_has_quorum(const struct kl_raft *r,
                             const struct kl_wire_voter_key *without, int added)
{
    uint32_t count = kl_raft_voters(r)->count + (uint32_t)added - !added;
    uint32_t live = (uint32_t)added;

    if (kl_raft_is_voter(r) &&
        !(without && kl_raft_key_equal(without, &r->options.self)))
        live++;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        live += kl_raft_peer_is_live(r, p) && p->fetched_at > 0 &&
                r->now - p->fetched_at < r->options.fetch_timeout_ns &&
                !(without && kl_raft_key_equal(without, &p->key));
    return live >= kl_raft_quorum_majority(count);
}

static enum kl_wire_error change_check_add(const struct kl_raft *r,
                                           const struct kl_raft_wish *w)
{
    struct kl_wire_voter_key key = kl_raft_key_of(&w->voter);
    const struct kl_raft_peer *p = kl_raft_peer_find(r, &key);
    uint32_t count = kl_raft_voters(r)->count;

    /* A new disk of an old voter: the old one goes first (F47, B32). */
    if (kl_raft_voter_of(r, key.node_id))
        return KL_WIRE_DUPLICATE_VOTER;
    if (count >= KL_WIRE_VOTERS_MAX || w->voter.version_min > KL_RAFT_VERSION ||
        w->voter.version_max < KL_RAFT_VERSION)
        return KL_WIRE_INVALID_REQUEST;
    if (!p || !change_is_caught_up(r, p))
        return KL_WIRE_NOT_CAUGHT_UP;
    if (!w->force && ((count == 1 && !change_has_third(r, &key)) ||
                      !change_has_quorum(r, NULL, 1)))
        return KL_WIRE_NO_REDUNDANCY;
    return KL_WIRE_NONE;
}

/* ---- wishes ------------------------------------------------------------ */

static void change_begin(struct kl_raft *r, const struct kl_raft_wish *w,
                         const struct kl_wire_voter_key *without,
                         const struct kl_wire_voter *with)
{
    struct kl_raft_change *c = &r->change;

    c->is_open = 1;
    c->has_request = w->request != NULL;
    if (w->request)
        c->request = *w->request;
    c->token = w->token;
    c->deadline = w->timeout_ns > 0 ? r->now + w->timeout_ns : KL_RAFT_NEVER;
    kl_raft_leader_append_voters(r, without, with);
    kl_raft_fetch_wake(r);
    /* The new set may have what it needs for more than the old one had. */
    kl_raft_commit_lead(r);
}

static void change_add(struct kl_raft *r, const struct kl_raft_wish *w)
{
    enum kl_wire_error error = change_check(r, w);

    if (error == KL_WIRE_NONE)
        error = change_check_add(r, w);
    if (error != KL_WIRE_NONE)
        change_answer(r, w->request, w->token, error);
    else
        change_begin(r, w, NULL, &w->voter);
}

static void change_remove(struct kl_raft *r, const struct kl_raft_wish *w)
{
    struct kl_wire_voter_key key = kl_raft_key_of(&w->voter);
    enum kl_wire_error error = change_check(r, w);

    if (error == KL_WIRE_NONE && !kl_raft_voter(r, &key))
        error = KL_WIRE_VOTER_NOT_FOUND;
    if (error == KL_WIRE_NONE && kl_raft_voters(r)->count == 1)
        error = KL_WIRE_INVALID_REQUEST;
    if (error == KL_WIRE_NONE && !w->force && !change_has_quorum(r, &key, 0))
        error = KL_WIRE_NO_REDUNDANCY;
    if (error != KL_WIRE_NONE)
        change_answer(r, w->request, w->token, error);
    else
        change_begin(r, w, &key, NULL);
}

static void change_update(struct kl_raft *r, const struct kl_raft_wish *w)
{
    struct kl_wire_voter_key key = kl_raft_key_of(&w->voter);
    enum kl_wire_error error = change_check(r, w);

    if (error == KL_WIRE_NONE && !kl_raft_voter(r, &key))
        error = KL_WIRE_VOTER_NOT_FOUND;
    if (error == KL_WIRE_NONE && (w->voter.version_min > KL_RAFT_VERSION ||
                                  w->voter.version_max < KL_RAFT_VERSION))
        error = KL_WIRE_INVALID_REQUEST;
    if (error != KL_WIRE_NONE)
        change_answer(r, w->request, w->token, error);
    else
        change_begin(r, w, &key, &w->voter);
}

/* ---- where wishes come from -------------------------------------------- */

void kl_raft_change_host(struct kl_raft *r, const struct kl_raft_event *event)
{
    struct kl_raft_wish w = {0};

    w.token = event->change.token;
    w.voter = event->change.voter;
    w.voters_offset = event->change.voters_offset;
    w.force = event->change.force;
    if (event->type == KL_RAFT_ADD_VOTER)
        change_add(r, &w);
    else if (event->type == KL_RAFT_REMOVE_VOTER)
        change_remove(r, &w);
    else
        change_update(r, &w);
}

void kl_raft_change_request(struct kl_raft *r, const struct kl_wire_message *m)
{
    const struct kl_wire_add_raft_voter_request *add =
        &m->add_raft_voter_request;
    const struct kl_wire_remove_raft_voter_request *remove =
        &m->remove_raft_voter_request;
    const struct kl_wire_update_raft_voter_request *update =
        &m->update_raft_voter_request;
    struct kl_raft_wish w = {.request = &m->envelope};

    switch (m->envelope.api_key) {
    case KL_WIRE_ADD_RAFT_VOTER:
        w.voter = (struct kl_wire_voter){add->node_id, add->directory_id,
                                         add->endpoints, add->version_min,
                                         add->version_max};
        w.voters_offset = add->voters_offset;
        w.timeout_ns = add->timeout_ms * INT64_C(1000000);
        w.force = add->force;
        change_add(r, &w);
        break;
    case KL_WIRE_REMOVE_RAFT_VOTER:
        w.voter.node_id = remove->node_id;
        w.voter.directory_id = remove->directory_id;
        w.voters_offset = remove->voters_offset;
        w.timeout_ns = remove->timeout_ms * INT64_C(1000000);
        w.force = remove->force;
        change_remove(r, &w);
        break;
    case KL_WIRE_UPDATE_RAFT_VOTER:
        w.voter = (struct kl_wire_voter){update->node_id, update->directory_id,
                                         update->endpoints, update->version_min,
                                         update->version_max};
        w.voters_offset = update->voters_offset;
        w.timeout_ns = update->timeout_ms * INT64_C(1000000);
        change_update(r, &w);
        break;
    default:
        KL_UNREACHABLE();
    }
}

/* ---- a voter's own entry ----------------------------------------------- */

static int change_texts_equal(const struct kl_wire_texts *a,
                              const struct kl_wire_texts *b)
{
    return a->count == b->count && a->size == b->size &&
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void change_own_entry(const struct kl_raft *r, struct kl_wire_voter *out)
{
    out->node_id = r->options.self.node_id;
    out->directory_id = r->options.self.directory_id;
    out->endpoints = r->options.endpoints;
    out->version_min = 0;
    out->version_max = KL_RAFT_VERSION;
}

/* Its entry says something else than it would say of itself. */
static int change_is_outdated(const struct kl_raft *r)
{
    const struct kl_wire_voter *v = kl_raft_voter(r, &r->options.self);
    struct kl_wire_voter own;

    change_own_entry(r, &own);
    return v && kl_raft_may_vote(r) &&
           (!change_texts_equal(&v->endpoints, &own.endpoints) ||
            v->version_max != own.version_max);
}

static void change_update_own(struct kl_raft *r)
{
    struct kl_raft_wish w = {.voters_offset = -1};

    change_own_entry(r, &w.voter);
    if (change_check(r, &w) == KL_WIRE_NONE) {
        struct kl_wire_voter_key key = kl_raft_key_of(&w.voter);

        kl_raft_leader_append_voters(r, &key, &w.voter);
        kl_raft_fetch_wake(r);
    }
}

static void change_send_update(struct kl_raft *r)
{
    struct kl_wire_voter_key leader = kl_raft_leader_key(r);
    struct kl_wire_update_raft_voter_request *update =
        &kl_raft_request(r, &leader, KL_WIRE_UPDATE_RAFT_VOTER)
             ->send.message.update_raft_voter_request;
    struct kl_wire_voter own;

    change_own_entry(r, &own);
    update->node_id = own.node_id;
    update->directory_id = own.directory_id;
    update->endpoints = own.endpoints;
    update->version_min = own.version_min;
    update->version_max = own.version_max;
    update->voters_offset = -1;
}

void kl_raft_change_own_timer(struct kl_raft *r)
{
    if (r->now < r->update_deadline)
        return;
    r->update_deadline = r->now + 3 * r->options.fetch_timeout_ns;
    if (!change_is_outdated(r))
        return;
    if (r->role == KL_RAFT_LEADER && r->is_leading)
        change_update_own(r);
    else if (r->role == KL_RAFT_FOLLOWER && r->has_fetched)
        change_send_update(r);
}

int64_t kl_raft_change_wants(const struct kl_raft *r)
{
    int64_t at = KL_RAFT_NEVER;

    if (r->change.is_open)
        at = r->change.deadline;
    if (r->hand_over.is_open && r->hand_over.deadline < at)
        at = r->hand_over.deadline;
    if (((r->role == KL_RAFT_LEADER && r->is_leading) ||
         (r->role == KL_RAFT_FOLLOWER && r->has_fetched)) &&
        change_is_outdated(r) && r->update_deadline < at)
        at = r->update_deadline;
    return at;
}
