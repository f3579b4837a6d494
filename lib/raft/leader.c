/*
 * Being the leader: the first records of its epoch, the calls that keep the
 * others, and the reasons to give up.
 */
#include "raft/state.h"

#include <string.h>

/* ---- appending --------------------------------------------------------- */

static struct kl_raft_effect *leader_append(struct kl_raft *r, int64_t count,
                                            uint64_t size)
{
    struct kl_raft_effect *effect = kl_raft_emit(r, KL_RAFT_APPEND);

    KL_ASSERT(r->role == KL_RAFT_LEADER);
    effect->append.offset = r->log.leo;
    effect->append.end = r->log.leo + count;
    effect->append.epoch = r->hard.epoch;
    effect->append.generation = r->log.generation;
    if (r->disk_since == KL_RAFT_NEVER)
        r->disk_since = r->now;
    kl_raft_log_append(r, effect->append.end, r->hard.epoch, size);
    return effect;
}

static void leader_append_control(struct kl_raft *r,
                                  const struct kl_wire_control *control)
{
    struct kl_raft_effect *effect = leader_append(r, 1, 0);

    effect->append.source = KL_RAFT_CONTROL;
    effect->append.control = *control;
}

void kl_raft_leader_append_voters(struct kl_raft *r,
                                  const struct kl_wire_voter_key *without,
                                  const struct kl_wire_voter *with)
{
    struct kl_wire_control control = {.type = KL_WIRE_VOTERS_CONTROL};
    struct kl_raft_voters view;

    kl_raft_voters_change(r, r->log.leo, without, with);
    kl_raft_voters_view(kl_raft_voters(r), &view);
    control.voters.voters = view.voters;
    leader_append_control(r, &control);
}

void kl_raft_leader_propose(struct kl_raft *r,
                            const struct kl_raft_event *event)
{
    uint64_t token = event->propose.token;
    int32_t count = event->propose.count;
    struct kl_raft_proposal *p;
    struct kl_raft_effect *effect;

    if (r->role != KL_RAFT_LEADER || !r->is_leading) {
        kl_raft_complete(r, token, KL_ENOTLEADER, -1);
        return;
    }
    if (count < 1 || count > INT64_MAX - r->log.leo) {
        kl_raft_complete(r, token, KL_EINVAL, -1);
        return;
    }
    if (r->proposal_count == KL_RAFT_PROPOSALS || r->hand_over.is_open) {
        kl_raft_complete(r, token, KL_EAGAIN, -1);
        return;
    }
    effect = leader_append(r, count, 0);
    effect->append.source = KL_RAFT_PROPOSED;
    effect->append.token = token;
    p = &r->proposals[r->proposal_count++];
    p->token = token;
    p->end = r->log.leo;
    p->is_local = event->propose.is_local;
    kl_raft_fetch_wake(r);
}

/* ---- start and end ----------------------------------------------------- */

static void leader_append_change(struct kl_raft *r, uint32_t granting)
{
    struct kl_wire_control control = {.type = KL_WIRE_LEADER_CHANGE_CONTROL};
    const struct kl_raft_set *set = kl_raft_voters(r);

    for (uint32_t i = 0; i < set->count; i++)
        r->voter_keys[i] = kl_raft_key_of(&set->voters[i]);
    control.leader_change.leader_id = r->options.self.node_id;
    control.leader_change.voters.items = r->voter_keys;
    control.leader_change.voters.count = set->count;
    control.leader_change.granting_voters.items = r->granting_keys;
    control.leader_change.granting_voters.count = granting;
    leader_append_control(r, &control);
}

/* The set that the first start was given gets a record of its own. */
static void leader_append_first_set(struct kl_raft *r)
{
    struct kl_wire_control version = {.type = KL_WIRE_KRAFT_VERSION_CONTROL};

    version.kraft_version.kraft_version = KL_RAFT_VERSION;
    leader_append_control(r, &version);
    kl_raft_leader_append_voters(r, NULL, NULL);
}

/* Rule 7. */
static void leader_call(struct kl_raft *r, struct kl_raft_peer *p)
{
    struct kl_wire_begin_quorum_epoch_request *begin =
        &kl_raft_request(r, &p->key, KL_WIRE_BEGIN_QUORUM_EPOCH)
             ->send.message.begin_quorum_epoch_request;

    begin->leader_epoch = r->hard.epoch;
    begin->leader_endpoints = r->options.endpoints;
    p->begin_id = r->correlation_id;
    p->begin_at = r->now;
    p->begin_round = r->round;
}

void kl_raft_leader_call_all(struct kl_raft *r)
{
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        leader_call(r, p);
}

void kl_raft_leader_start(struct kl_raft *r, uint32_t granting)
{
    r->epoch_start = r->log.leo;
    r->is_leading = 0;
    r->led_since = r->now;
    r->disk_since = KL_RAFT_NEVER;
    r->proposal_count = 0;
    r->barrier_count = 0;
    memset(&r->change, 0, sizeof r->change);
    memset(&r->hand_over, 0, sizeof r->hand_over);
    kl_raft_peers_forget_progress(r);
    leader_append_change(r, granting);
    if (kl_raft_voters(r)->offset < 0)
        leader_append_first_set(r);
    kl_raft_leader_call_all(r);
}

/* Who waits is told: of a record, that it may or may not stay. */
void kl_raft_leader_stop(struct kl_raft *r)
{
    for (uint32_t i = 0; i < r->proposal_count; i++)
        kl_raft_complete(r, r->proposals[i].token, KL_EUNKNOWN, -1);
    for (uint32_t i = 0; i < r->barrier_count; i++)
        kl_raft_complete(r, r->barriers[i].token, KL_ENOTLEADER, -1);
    r->proposal_count = 0;
    r->barrier_count = 0;
    r->is_leading = 0;
    kl_raft_change_finish(r, KL_WIRE_OUTCOME_UNKNOWN);
    kl_raft_hand_over_finish(r, KL_ENOTLEADER);
    kl_raft_fetch_release(r);
}

/* ---- timers ------------------------------------------------------------ */

/* Since when a majority of the voters has been silent, itself counted if it is
 * one (rule 8). */
static int64_t leader_heard_at(const struct kl_raft *r)
{
    int64_t times[KL_WIRE_VOTERS_MAX];
    uint32_t count = 0;

    if (kl_raft_is_voter(r))
        times[count++] = r->now;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        times[count++] =
            p->fetched_at > r->led_since ? p->fetched_at : r->led_since;
    return kl_raft_quorum_reached(times, count);
}

static int64_t leader_patience(const struct kl_raft *r)
{
    return r->options.fetch_timeout_ns + r->options.fetch_timeout_ns / 2;
}

/* When the next call to a voter is due: it has not fetched for a while, or a
 * read waits for its answer. */
static int64_t leader_call_at(const struct kl_raft *r,
                              const struct kl_raft_peer *p)
{
    int64_t last = p->fetched_at > p->begin_at ? p->fetched_at : p->begin_at;

    if (kl_raft_barrier_waits_for(r, p))
        return p->begin_at + r->options.request_timeout_ns / 4;
    return last + r->options.fetch_timeout_ns / 2;
}

void kl_raft_leader_timer(struct kl_raft *r)
{
    if (r->role != KL_RAFT_LEADER)
        return;
    /* The only voter needs nobody, and a disk that does not answer is no
     * leader's (F28). */
    if (r->now - leader_heard_at(r) >= leader_patience(r) ||
        (r->disk_since != KL_RAFT_NEVER && kl_raft_voters(r)->count > 1 &&
         r->now - r->disk_since >= leader_patience(r))) {
        kl_raft_leader_resign(r, NULL);
        return;
    }
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        if (r->now >= leader_call_at(r, p))
            leader_call(r, p);
}

int64_t kl_raft_leader_wants(const struct kl_raft *r)
{
    int64_t at = KL_RAFT_NEVER;
    int64_t t;

    if (r->role != KL_RAFT_LEADER)
        return at;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));) {
        t = leader_call_at(r, p);
        at = t < at ? t : at;
    }
    if (kl_raft_voters(r)->count > 1 || !kl_raft_is_voter(r)) {
        t = leader_heard_at(r) + leader_patience(r);
        at = t < at ? t : at;
    }
    if (r->disk_since != KL_RAFT_NEVER && kl_raft_voters(r)->count > 1) {
        t = r->disk_since + leader_patience(r);
        at = t < at ? t : at;
    }
    return at;
}
