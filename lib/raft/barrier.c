/*
 * Linearizable reads (Raft 6.4). A read is served when this node has proved
 * that it was the leader after the read came: a majority answered a call that
 * was sent later, in the same epoch, and a record of this epoch is committed
 * (B10, B39).
 */
#include "raft/state.h"

static int barrier_is_open(const struct kl_raft *r, uint64_t round)
{
    for (uint32_t i = 0; i < r->barrier_count; i++)
        if (r->barriers[i].round <= round)
            return 1;
    return 0;
}

int kl_raft_barrier_waits_for(const struct kl_raft *r,
                              const struct kl_raft_peer *p)
{
    return p->round < r->round && barrier_is_open(r, r->round);
}

/* One round is under way at a time; who comes meanwhile shares the next. */
static void barrier_begin_round(struct kl_raft *r)
{
    if (r->barrier_count == 0 || barrier_is_open(r, r->round))
        return;
    r->round++;
    kl_raft_leader_call_all(r);
}

/* The newest round that a majority has answered. */
static uint64_t barrier_reached(const struct kl_raft *r)
{
    int64_t rounds[KL_WIRE_VOTERS_MAX];
    uint32_t count = 0;

    if (kl_raft_is_voter(r))
        rounds[count++] = (int64_t)r->round;
    for (struct kl_raft_peer *p = NULL; (p = kl_raft_next_voter(r, p));)
        rounds[count++] = (int64_t)p->round;
    return (uint64_t)kl_raft_quorum_reached(rounds, count);
}

void kl_raft_barrier_check(struct kl_raft *r)
{
    uint32_t left = 0;
    uint64_t reached;

    if (r->role != KL_RAFT_LEADER || r->barrier_count == 0 ||
        r->high_watermark <= r->epoch_start)
        return;
    reached = barrier_reached(r);
    for (uint32_t i = 0; i < r->barrier_count; i++) {
        if (r->barriers[i].round <= reached)
            kl_raft_complete(r, r->barriers[i].token, 0, r->high_watermark);
        else
            r->barriers[left++] = r->barriers[i];
    }
    r->barrier_count = left;
    barrier_begin_round(r);
}

void kl_raft_barrier_add(struct kl_raft *r, uint64_t token)
{
    struct kl_raft_barrier *b;

    if (r->role != KL_RAFT_LEADER) {
        kl_raft_complete(r, token, KL_ENOTLEADER, -1);
        return;
    }
    if (r->barrier_count == KL_RAFT_BARRIERS) {
        kl_raft_complete(r, token, KL_EAGAIN, -1);
        return;
    }
    b = &r->barriers[r->barrier_count];
    b->token = token;
    b->round = r->round + 1;
    r->barrier_count++;
    barrier_begin_round(r);
    kl_raft_barrier_check(r);
}
