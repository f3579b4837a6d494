/*
 * What must hold between the nodes, whatever happens. The names are those of
 * the specification, R1 to R13.
 */
#include "raft_world.h"

#include "base/hash.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define refuse(w, n, ...)                                                      \
    do {                                                                       \
        fprintf(stderr, "seed %llu, step %llu, node %d: ",                     \
                (unsigned long long)(w)->options.seed,                         \
                (unsigned long long)(w)->steps, (n)->id);                      \
        ck_abort_msg(__VA_ARGS__);                                             \
    } while (0)

/* ---- R13: (offset, epoch) determines the content ----------------------- */

void oracle_append(struct world *w, struct world_node *n,
                   const struct world_batch *b)
{
    uint64_t slots = sizeof w->contents / sizeof w->contents[0];
    int64_t key[2] = {b->offset, b->epoch};
    uint64_t at = kl_base_hash(key, sizeof key, 0) % slots;

    while (w->contents[at].value) {
        if (w->contents[at].offset == b->offset &&
            w->contents[at].epoch == b->epoch) {
            if (w->contents[at].value != b->value)
                refuse(w, n, "R13: offset %lld of epoch %d is %u and %u",
                       (long long)b->offset, b->epoch, w->contents[at].value,
                       b->value);
            return;
        }
        at = (at + 1) % slots;
    }
    w->contents[at].offset = b->offset;
    w->contents[at].epoch = b->epoch;
    w->contents[at].value = b->value;
}

/* ---- R3, R8, R9, R12: what is committed stays -------------------------- */

/* Disks that would show this record after a crash now. */
static uint32_t durable_copies(struct world *w, const struct kl_raft_view *v,
                               int64_t offset, int32_t epoch, uint32_t *voters)
{
    uint32_t copies = 0;

    *voters = v->voters.voters.count;
    for (uint32_t i = 0; i < v->voters.voters.count; i++) {
        const struct kl_wire_voter *voter = &v->voters.voters.items[i];
        int at = world_index_of(w, voter->node_id);
        const struct world_node *n = &w->nodes[at];
        const struct world_batch *b;

        if (!kl_base_uuid_equal(&n->directory, &voter->directory_id) ||
            n->verdict != KL_RAFT_FIT)
            continue;
        b = world_batch_at(&n->disk.log, offset);
        copies +=
            (b && b->epoch == epoch) || n->disk.snapshot.id.end_offset > offset;
    }
    return copies;
}

static void commit_batch(struct world *w, struct world_node *n,
                         const struct world_batch *b, int64_t end)
{
    uint64_t hash = w->commit ? w->committed[w->commit - 1].hash : 0;
    uint64_t words[3] = {hash, b->value, (uint64_t)b->offset};

    if (b->end > end)
        refuse(w, n, "R3: %lld is committed within a batch", (long long)end);
    ck_assert_int_lt(b->end, WORLD_OFFSETS);
    for (int64_t o = b->offset; o < b->end; o++) {
        w->committed[o].epoch = b->epoch;
        w->committed[o].value = b->value;
        w->committed[o].is_end = o == b->end - 1;
    }
    w->committed[b->end - 1].hash = kl_base_hash(words, sizeof words, 0);
    w->commit = b->end;
}

/* A leader says that all below end is committed. */
static void oracle_leader_commit(struct world *w, struct world_node *n,
                                 const struct kl_raft_view *v)
{
    int64_t end = v->high_watermark;
    uint32_t voters, copies;
    const struct world_batch *last;

    if (end <= w->commit)
        return;
    last = world_batch_at(&n->log, end - 1);
    if (!last)
        refuse(w, n, "R3: the leader has not what it commits");
    if (last->epoch != v->epoch)
        refuse(w, n, "R4: a record of epoch %d is committed by count in %d",
               last->epoch, v->epoch);
    copies = durable_copies(w, v, end - 1, last->epoch, &voters);
    if (copies < voters / 2 + 1)
        refuse(w, n, "R9: %lld is committed, durable on %u of %u voters",
               (long long)end, copies, voters);
    while (w->commit < end) {
        const struct world_batch *b = world_batch_at(&n->log, w->commit);

        if (!b || b->offset != w->commit)
            refuse(w, n, "R3: no batch begins at %lld", (long long)w->commit);
        commit_batch(w, n, b, end);
    }
}

static void check_log_against_commit(struct world *w, struct world_node *n,
                                     int64_t from, int64_t end)
{
    for (int64_t o = from; o < end && o < w->commit; o++) {
        const struct world_batch *b = world_batch_at(&n->log, o);

        if (o < n->log.start)
            continue;
        if (!b || b->epoch != w->committed[o].epoch ||
            b->value != w->committed[o].value)
            refuse(w, n, "R12: offset %lld is not what was committed",
                   (long long)o);
    }
}

/* ---- R2, R4: leaders ---------------------------------------------------- */

static void oracle_leader(struct world *w, struct world_node *n)
{
    struct kl_raft_view v = world_view(w, n->index);

    ck_assert_int_lt(v.epoch, WORLD_EPOCHS);
    if (w->leaders[v.epoch] && w->leaders[v.epoch] != n->index + 1)
        refuse(w, n, "R2: node %d leads epoch %d too", w->leaders[v.epoch],
               v.epoch);
    w->leaders[v.epoch] = n->index + 1;
    /* Who leads has voted for itself, and cannot forget it (B15). */
    if (n->disk.quorum.epoch != v.epoch ||
        n->disk.quorum.voted.node_id != n->id)
        refuse(w, n, "leads epoch %d before its vote is durable", v.epoch);
    if (n->log.end < w->commit)
        refuse(w, n, "R4: the leader of %d has %lld, committed is %lld",
               v.epoch, (long long)n->log.end, (long long)w->commit);
    check_log_against_commit(w, n, 0, w->commit);
}

void oracle_role(struct world *w, struct world_node *n, enum kl_raft_role role,
                 int32_t epoch)
{
    /* Asking whether one would win raises no epoch (KIP-996). */
    if (role == KL_RAFT_PROSPECTIVE && epoch != n->role_epoch)
        refuse(w, n, "prospective in epoch %d after %d", epoch, n->role_epoch);
    n->role_epoch = epoch;
    if (role == KL_RAFT_LEADER)
        oracle_leader(w, n);
}

/* ---- the state machine -------------------------------------------------- */

void oracle_apply(struct world *w, struct world_node *n,
                  const struct world_batch *b)
{
    uint64_t words[3] = {n->hash, b->value, (uint64_t)b->offset};

    n->hash = kl_base_hash(words, sizeof words, 0);
    if (b->end > w->commit)
        refuse(w, n, "R12: %lld is applied, committed is %lld",
               (long long)b->end, (long long)w->commit);
    if (n->hash != w->committed[b->end - 1].hash)
        refuse(w, n, "R12: another state at %lld", (long long)b->end);
}

/* ---- messages: promises ------------------------------------------------- */

static void check_vote(struct world *w, struct world_node *n,
                       const struct kl_wire_message *m)
{
    int candidate = world_index_of(w, m->envelope.destination_id);
    int32_t epoch = m->vote_response.leader_epoch;

    for (uint32_t i = 0; i < w->vote_count; i++) {
        if (w->votes[i].node != n->index || w->votes[i].epoch != epoch)
            continue;
        if (w->votes[i].candidate != candidate)
            refuse(w, n, "R2: two votes in epoch %d", epoch);
        return;
    }
    ck_assert_uint_lt(w->vote_count, WORLD_EPOCHS);
    w->votes[w->vote_count].node = n->index;
    w->votes[w->vote_count].epoch = epoch;
    w->votes[w->vote_count++].candidate = candidate;
}

static int is_pre_vote(const struct world *w, const struct kl_wire_message *m)
{
    /* The response does not say: an election is in an epoch of its own. */
    const struct world_node *asked = &w->nodes[m->envelope.destination_id - 1];
    struct kl_raft_view v;

    if (!asked->is_up)
        return 1;
    kl_raft_view(asked->raft, &v);
    return v.role != KL_RAFT_CANDIDATE ||
           v.epoch != m->vote_response.leader_epoch;
}

void oracle_send(struct world *w, struct world_node *n,
                 const struct kl_wire_message *m)
{
    int32_t epoch = -1;

    if (m->envelope.is_response)
        epoch = m->vote_response.leader_epoch;
    else if (m->envelope.api_key == KL_WIRE_VOTE)
        epoch = m->vote_request.candidate_epoch;
    else if (m->envelope.api_key == KL_WIRE_FETCH)
        epoch = m->fetch_request.partitions.items[0].current_leader_epoch;
    if (epoch > n->epoch_sent)
        n->epoch_sent = epoch;
    /* What a message says of the quorum state is on the disk. */
    if (n->disk.quorum.epoch < epoch)
        refuse(w, n, "R7: a message of epoch %d leaves before it is durable",
               epoch);
    if (m->envelope.is_response && m->envelope.api_key == KL_WIRE_VOTE &&
        m->vote_response.vote_granted && !is_pre_vote(w, m)) {
        check_vote(w, n, m);
        if (n->disk.quorum.epoch == epoch &&
            n->disk.quorum.voted.node_id != m->envelope.destination_id)
            refuse(w, n, "a vote in epoch %d leaves before it is durable",
                   epoch);
    }
}

void oracle_done(struct world *w, struct world_call *call)
{
    if (call->code != 0)
        return;
    if (call->kind == 'p' && call->offset > w->acknowledged)
        w->acknowledged = call->offset;
    if (call->kind == 'b' && call->offset < call->floor) {
        fprintf(stderr, "seed %llu: ", (unsigned long long)w->options.seed);
        ck_abort_msg("a read at %lld misses what was acknowledged: %lld",
                     (long long)call->offset, (long long)call->floor);
    }
}

/* ---- after each step ---------------------------------------------------- */

void oracle_step(struct world *w, struct world_node *n)
{
    const char *broken = kl_raft_check_invariants(n->raft);
    struct kl_raft_view v = world_view(w, n->index);

    if (broken)
        refuse(w, n, "%s", broken);
    /* R7. */
    if (v.epoch < n->epoch_sent)
        refuse(w, n, "R7: epoch %d after %d", v.epoch, n->epoch_sent);
    /* R8. */
    if (v.high_watermark < n->high_watermark)
        refuse(w, n, "R8: high watermark %lld after %lld",
               (long long)v.high_watermark, (long long)n->high_watermark);
    if (v.leo != n->log.end || v.log_start != n->log.start)
        refuse(w, n, "the log is not what the room thinks");
    /* What it committed last may be why it resigned. */
    if (v.role == KL_RAFT_LEADER || v.role == KL_RAFT_RESIGNED)
        oracle_leader_commit(w, n, &v);
    if (v.high_watermark > w->commit)
        refuse(w, n, "R8: high watermark %lld, committed is %lld",
               (long long)v.high_watermark, (long long)w->commit);
    check_log_against_commit(w, n, n->high_watermark, v.high_watermark);
    n->high_watermark = v.high_watermark;
    if (v.leader_id >= 0) {
        int at = world_index_of(w, v.leader_id) + 1;

        ck_assert_int_lt(v.epoch, WORLD_EPOCHS);
        if (w->leaders[v.epoch] && w->leaders[v.epoch] != at)
            refuse(w, n, "R2: node %d is named leader of %d, %d was", at,
                   v.epoch, w->leaders[v.epoch]);
    }
}
