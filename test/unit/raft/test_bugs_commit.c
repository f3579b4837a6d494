/*
 * Commit, election and liveness: what other implementations got wrong.
 */
#include "raft_solo.h"
#include "raft_world.h"

#include <check.h>
#include <string.h>

static struct solo s;
static struct world *w;

static void set_up(void)
{
    memset(&s, 0, sizeof s);
    w = NULL;
}

static void tear_down(void)
{
    if (w)
        world_free(w);
    if (s.effects.alloc)
        solo_free(&s);
}

static void world(int nodes, int voters)
{
    struct world_options options = {.seed = 7};

    options.nodes = nodes;
    options.voters = voters;
    options.links_tell = 1;
    w = world_new(&options);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
}

/* A record of an older epoch is on a majority; it is not committed by that, but
 * with the first one of this epoch. */
START_TEST(B01_old_epoch_is_not_committed_by_count)
{
    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    solo_start(&s);
    solo_lead(&s);
    ck_assert_int_eq(solo_view(&s).epoch, 2);
    /* LeaderChange at 5, version and voters behind it. */
    ck_assert_int_eq(solo_view(&s).leo, 8);
    solo_durable(&s, 8);
    solo_fetch(&s, 2, 2, 5, 1, 5);
    ck_assert_int_eq(solo_view(&s).high_watermark, 0);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMMIT), 0);
    solo_fetch(&s, 2, 2, 6, 2, 6);
    ck_assert_int_eq(solo_view(&s).high_watermark, 6);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMMIT, 0)->commit.offset, 6);
}
END_TEST

/* The answer of one voter, three times, is one vote of five. */
START_TEST(B02_a_vote_counts_once)
{
    struct kl_wire_message vote;

    solo_init(&s, 5);
    solo_start(&s);
    while (solo_view(&s).role != KL_RAFT_PROSPECTIVE)
        solo_wait(&s);
    vote = *solo_sent(&s, 2, KL_WIRE_VOTE, 0);
    for (int i = 0; i < 3; i++) {
        solo_response(&s, &vote, 0, 0)->vote_response.vote_granted = 1;
        solo_deliver(&s);
    }
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_PROSPECTIVE);
    ck_assert_uint_eq(solo_view(&s).counters.replayed, 2);
    /* Nor does that of a node which is no voter. */
    vote.envelope.destination_id = 7;
    solo_response(&s, &vote, 0, 0)->vote_response.vote_granted = 1;
    solo_deliver(&s);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_PROSPECTIVE);
}
END_TEST

/* One follower that restarts acknowledges as one, not as two. */
START_TEST(B03_an_acknowledgement_counts_once)
{
    solo_init(&s, 5);
    solo_start(&s);
    while (solo_view(&s).role != KL_RAFT_PROSPECTIVE)
        solo_wait(&s);
    for (int round = 0; round < 2; round++) {
        struct kl_wire_message votes[2];

        votes[0] = *solo_sent(&s, 2, KL_WIRE_VOTE, 0);
        votes[1] = *solo_sent(&s, 3, KL_WIRE_VOTE, 0);
        solo_persist(&s);
        for (int i = 0; i < 2; i++) {
            solo_response(&s, &votes[i], round, 0)->vote_response.vote_granted =
                1;
            solo_deliver(&s);
        }
    }
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_LEADER);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    for (int i = 0; i < 2; i++) {
        s.now += 3 * SECOND / 2;
        solo_fetch(&s, 3, 1, 0, -1, 0);
        solo_fetch(&s, 4, 1, 0, -1, 0);
    }
    /* Long silent: another start of node 2. */
    {
        struct kl_base_uuid again = {{2, 0x99}};

        solo_request(&s, 2, KL_WIRE_FETCH)->envelope.source_session = again;
        s.message.fetch_request.partitions.items = &s.fetch;
        s.message.fetch_request.partitions.count = 1;
        s.fetch.fetch_offset = 3;
        s.fetch.last_fetched_epoch = 1;
        s.fetch.durable_offset = 3;
        solo_deliver(&s);
    }
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_LEADER);
    ck_assert_int_eq(solo_view(&s).high_watermark, 0);
    solo_fetch(&s, 3, 1, 3, 1, 3);
    ck_assert_int_eq(solo_view(&s).high_watermark, 3);
}
END_TEST

/* Neither vote nor pre-vote for a log that is behind. */
START_TEST(B04_only_an_up_to_date_log_gets_a_vote)
{
    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    solo_log(&s, 2, 8);
    s.recovered.quorum.epoch = 2;
    solo_start(&s);
    s.now += 2 * SECOND;
    for (int pre = 0; pre < 2; pre++) {
        solo_vote(&s, 2, 5, 1, 100, pre);
        ck_assert(
            !solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted);
        solo_vote(&s, 2, 5, 2, 7, pre);
        ck_assert(
            !solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted);
    }
    solo_vote(&s, 2, 5, 2, 8, 1);
    ck_assert(solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted);
    solo_vote(&s, 2, 5, 3, 1, 0);
    ck_assert(solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted);
}
END_TEST

/* And what is committed is not cut off by anyone: the node stops. */
START_TEST(B04_no_truncation_of_what_is_committed)
{
    struct kl_wire_message fetch;
    struct kl_raft_batch b = {0, 5, 1, 10, NULL};

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    solo_answer(&s, &fetch, &b, 1, 5);
    ck_assert_int_eq(solo_view(&s).high_watermark, 5);
    solo_durable(&s, 5);
    fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    solo_response(&s, &fetch, 1, 2);
    s.message.fetch_response.partitions.items = &s.fetched;
    s.message.fetch_response.partitions.count = 1;
    s.fetched.fetch_offset = 5;
    s.fetched.diverging_epoch = 1;
    s.fetched.diverging_end_offset = 3;
    solo_deliver(&s);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_TRUNCATE), 0);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_FAULT, 0)->fault.code,
                     KL_ECORRUPT);
    ck_assert_int_eq(kl_raft_deadline(s.raft), KL_RAFT_NEVER);
}
END_TEST

static int deaf; /* node that hears nothing */

static int is_deaf(struct world *world, int from, int to,
                   const struct kl_wire_message *m)
{
    (void)world;
    (void)from;
    (void)m;
    return to == deaf;
}

/* A node that can send and not receive disturbs nobody. */
START_TEST(B05_a_deaf_node_inflates_no_epoch)
{
    int leader, epoch;

    world(3, 3);
    leader = world_leader(w)->index;
    epoch = world_view(w, leader).epoch;
    deaf = (leader + 1) % 3;
    w->filter = is_deaf;
    world_run(w, 60 * SECOND);
    ck_assert_int_eq(world_view(w, deaf).epoch, epoch);
    w->filter = NULL;
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_eq(world_leader(w)->index, leader);
    ck_assert_int_eq(world_view(w, leader).epoch, epoch);
}
END_TEST

/* The leader is cut off from all: they find another in bounded time, and after
 * the cut is healed there is one. */
START_TEST(B06_pre_vote_and_check_quorum_leave_a_leader)
{
    world(5, 5);
    for (int round = 0; round < 5; round++) {
        int old = world_leader(w)->index;
        int32_t epoch = world_view(w, old).epoch;

        world_isolate(w, old);
        world_run(w, 10 * SECOND);
        ck_assert(world_has_leader(w));
        ck_assert_int_ne(world_leader(w)->index, old);
        ck_assert_int_ne(world_view(w, old).role, KL_RAFT_LEADER);
        world_heal(w);
        ck_assert(world_until(w, 20 * SECOND, world_is_settled));
        /* Few elections for a fault (F61). */
        ck_assert_int_le(world_view(w, old).epoch, epoch + 3);
    }
}
END_TEST

/* Nobody writes, and an emptied observer comes back all the same. */
START_TEST(B07_catching_up_needs_no_traffic)
{
    world(4, 3);
    world_crash(w, 3);
    world_wipe(w, 3);
    world_run(w, 5 * SECOND);
    world_start(w, 3);
    ck_assert(world_until(w, 5 * SECOND, world_is_settled));
    ck_assert_int_eq(world_view(w, 3).leo, world_leader(w)->log.end);
}
END_TEST

START_TEST(B08_a_single_node_leads_after_a_restart)
{
    int64_t before;

    world(1, 1);
    world_propose(w, 0, 3);
    world_run(w, SECOND);
    world_crash(w, 0);
    before = w->now;
    world_start(w, 0);
    ck_assert(world_until(w, SECOND, world_is_settled));
    /* At once: it has nobody to wait for. */
    ck_assert_int_lt(w->now - before, 100 * MS);
    ck_assert_int_eq(world_propose(w, 0, 1)->is_done, 0);
    world_run(w, SECOND);
    ck_assert_int_eq(w->calls[1].code, 0);
}
END_TEST

/* The leader that it followed last was removed. */
START_TEST(B08_the_only_voter_left_waits_for_no_leader)
{
    struct kl_raft_view view;
    int64_t before;

    solo_init(&s, 1);
    solo_log(&s, 3, 5);
    s.recovered.quorum.leader_id = 2;
    solo_start(&s);
    before = s.now;
    for (int i = 0; i < 10 && solo_view(&s).role != KL_RAFT_LEADER; i++) {
        solo_time(&s, 0);
        solo_persist(&s);
    }
    view = solo_view(&s);
    ck_assert_int_eq(view.role, KL_RAFT_LEADER);
    ck_assert_int_eq(view.epoch, 4);
    ck_assert_int_eq(s.now, before);
}
END_TEST

/* Reads give as little as they like; what is applied has no gap. The oracle
 * compares the state after each batch. */
START_TEST(B09_what_is_applied_has_no_gap)
{
    world(3, 3);
    for (int i = 0; i < 200; i++) {
        world_propose(w, world_leader(w)->index, 1 + i % 5);
        world_run(w, 10 * MS);
    }
    world_crash(w, (world_leader(w)->index + 1) % 3);
    for (int i = 0; i < 3; i++)
        if (!w->nodes[i].is_up)
            world_start(w, i);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_gt(w->acknowledged, 400);
}
END_TEST

/* Elected, but nothing of its epoch is committed: no proposal, no read. */
START_TEST(B10_no_service_before_own_commit)
{
    struct kl_raft_event event = {.type = KL_RAFT_PROPOSE};

    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    solo_start(&s);
    solo_lead(&s);
    event.propose.token = 9;
    event.propose.count = 1;
    solo_step(&s, &event);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_ENOTLEADER);
    event.type = KL_RAFT_BARRIER;
    event.barrier.token = 10;
    solo_step(&s, &event);
    for (int id = 2; id <= 3; id++) {
        struct kl_wire_message begin;

        if (!solo_sent(&s, id, KL_WIRE_BEGIN_QUORUM_EPOCH, 0))
            solo_time(&s, SECOND);
        begin = *solo_sent(&s, id, KL_WIRE_BEGIN_QUORUM_EPOCH, 0);
        solo_response(&s, &begin, 2, 1);
        solo_deliver(&s);
        ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 0);
        ck_assert_int_eq(solo_count(&s, KL_RAFT_LEAD), 0);
    }
    solo_durable(&s, 8);
    solo_fetch(&s, 2, 2, 8, 2, 8);
    ck_assert_int_eq(solo_view(&s).high_watermark, 8);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_LEAD), 0);
    /* History 45: what its predecessor left is applied first. */
    solo_applied(&s, 5);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_LEAD), 0);
    solo_applied(&s, 8);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_LEAD), 1);
}
END_TEST

Suite *suite_raft_bugs_commit(void);
Suite *suite_raft_bugs_commit(void)
{
    Suite *suite = suite_create("raft_bugs_commit");
    TCase *t = tcase_create("commit");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, B01_old_epoch_is_not_committed_by_count);
    tcase_add_test(t, B02_a_vote_counts_once);
    tcase_add_test(t, B03_an_acknowledgement_counts_once);
    tcase_add_test(t, B04_only_an_up_to_date_log_gets_a_vote);
    tcase_add_test(t, B04_no_truncation_of_what_is_committed);
    tcase_add_test(t, B05_a_deaf_node_inflates_no_epoch);
    tcase_add_test(t, B06_pre_vote_and_check_quorum_leave_a_leader);
    tcase_add_test(t, B07_catching_up_needs_no_traffic);
    tcase_add_test(t, B08_a_single_node_leads_after_a_restart);
    tcase_add_test(t, B08_the_only_voter_left_waits_for_no_leader);
    tcase_add_test(t, B09_what_is_applied_has_no_gap);
    tcase_add_test(t, B10_no_service_before_own_commit);
    suite_add_tcase(suite, t);
    return suite;
}
