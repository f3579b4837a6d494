/*
 * KRaft's own history, by its number in the specification.
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
    struct world_options options = {.seed = 5};

    options.nodes = nodes;
    options.voters = voters;
    options.links_tell = 1;
    w = world_new(&options);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
}

/* 37, KAFKA-10533: neither a vote nor progress is ahead of the flush. All lose
 * power at once with much under way; the oracle finds what is missing. */
START_TEST(history_37_nothing_is_ahead_of_the_flush)
{
    world(3, 3);
    w->options.sync_max = 100 * MS;
    for (int round = 0; round < 20; round++) {
        struct world_node *leader = world_leader(w);

        for (int i = 0; leader && i < 5; i++) {
            world_propose(w, leader->index, 2);
            world_run(w, 20 * MS);
            leader = world_leader(w);
        }
        for (int i = 0; i < 3; i++)
            world_crash(w, i);
        for (int i = 0; i < 3; i++)
            world_start(w, i);
        ck_assert(world_until(w, 30 * SECOND, world_is_settled));
    }
    ck_assert_int_gt(w->acknowledged, 0);
}
END_TEST

/* 38, KAFKA-10527: a leader that restarts does not go on in its epoch, whether
 * its leadership was recorded or only its vote; KAFKA-17333: it is not told to
 * act. */
START_TEST(history_38_no_epoch_is_led_twice)
{
    solo_init(&s, 3);
    solo_log(&s, 2, 4);
    s.recovered.quorum.epoch = 2;
    s.recovered.quorum.voted = solo_key(1);
    s.recovered.quorum.leader_id = _i ? 1 : -1;
    solo_start(&s);
    ck_assert_int_eq(solo_view(&s).role,
                     _i ? KL_RAFT_RESIGNED : KL_RAFT_UNATTACHED);
    if (_i)
        ck_assert_ptr_nonnull(solo_sent(&s, 2, KL_WIRE_END_QUORUM_EPOCH, 0));
    ck_assert_int_eq(solo_count(&s, KL_RAFT_LEAD), 0);
    solo_lead(&s);
    ck_assert_int_ge(solo_view(&s).epoch, 3);
}
END_TEST

/* 39, KAFKA-15489: an isolated leader gives up in time; KAFKA-16144: the only
 * voter never does. */
START_TEST(history_39_an_isolated_leader_gives_up)
{
    int leader;

    world(3, 3);
    leader = world_leader(w)->index;
    world_isolate(w, leader);
    world_run(w, 2 * SECOND);
    world_run(w, 1500 * MS);
    ck_assert_int_ne(world_view(w, leader).role, KL_RAFT_LEADER);
}
END_TEST

START_TEST(history_39_the_only_voter_stays)
{
    world(3, 1);
    world_isolate(w, 0);
    world_run(w, 600 * SECOND);
    ck_assert_int_eq(world_view(w, 0).role, KL_RAFT_LEADER);
    ck_assert_int_eq(world_view(w, 0).epoch, 1);
}
END_TEST

/* 40, KAFKA-16530: of four voters the leader removes itself. Three are left, so
 * it needs two others, and its own log does not help. */
START_TEST(history_40_a_removed_leader_needs_the_others)
{
    struct world_call *c;
    int64_t before;
    int leader;

    world(4, 4);
    leader = world_leader(w)->index;
    before = world_view(w, leader).high_watermark;
    for (int i = 0; i < 4; i++)
        if (i != leader && i != (leader + 1) % 4)
            w->cut[i][leader] = w->cut[leader][i] = 1;
    c = world_change(w, leader, KL_RAFT_REMOVE_VOTER, leader, 1);
    world_run(w, 1500 * MS);
    ck_assert(!c->is_done);
    ck_assert_int_eq(world_view(w, leader).high_watermark, before);
    world_heal(w);
    ck_assert(world_until(w, 30 * SECOND, world_is_settled));
    ck_assert(c->is_done);
}
END_TEST

/* 41, KAFKA-17642: one that does not hear the leader, while all others do, asks
 * in vain and raises no epoch. */
START_TEST(history_41_a_healthy_leader_stays)
{
    int32_t epoch;
    int leader, victim;

    world(5, 5);
    leader = world_leader(w)->index;
    epoch = world_view(w, leader).epoch;
    victim = (leader + 2) % 5;
    w->cut[leader][victim] = 1;
    world_run(w, 60 * SECOND);
    ck_assert_int_eq(world_leader(w)->index, leader);
    ck_assert_int_eq(world_view(w, leader).epoch, epoch);
    ck_assert_int_eq(world_view(w, victim).epoch, epoch);
    world_heal(w);
    ck_assert(world_until(w, 10 * SECOND, world_is_settled));
    ck_assert_int_eq(world_view(w, leader).epoch, epoch);
}
END_TEST

/* Its vote is kept when it goes from asking back to following. */
START_TEST(history_41_the_vote_outlives_the_question)
{
    solo_init(&s, 3);
    s.recovered.quorum.epoch = 4;
    s.recovered.quorum.voted = solo_key(3);
    s.recovered.quorum.leader_id = 2;
    solo_start(&s);
    s.now += SECOND;
    while (solo_view(&s).role != KL_RAFT_PROSPECTIVE)
        solo_wait(&s);
    ck_assert_int_eq(solo_view(&s).voted.node_id, 3);
    while (solo_view(&s).role != KL_RAFT_FOLLOWER)
        solo_wait(&s);
    ck_assert_int_eq(solo_view(&s).voted.node_id, 3);
    ck_assert_int_eq(solo_view(&s).leader_id, 2);
}
END_TEST

/* 42, KAFKA-19850: a voter that was removed does not come back by itself, and a
 * late copy of the request that added it does nothing. */
START_TEST(history_42_a_removed_voter_stays_out)
{
    int leader, target;
    struct world_call *c;

    world(4, 3);
    leader = world_leader(w)->index;
    target = (leader + 1) % 3;
    c = world_change(w, leader, KL_RAFT_REMOVE_VOTER, target, 0);
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(c->code, 0);
    world_crash(w, target);
    world_run(w, 3 * SECOND);
    world_start(w, target);
    world_run(w, 60 * SECOND);
    ck_assert(world_is_settled(w));
    ck_assert_int_eq(world_view(w, target).is_voter, 0);
    ck_assert_uint_eq(world_view(w, leader).voters.voters.count, 2);
    /* The set that the request meant is over. */
    {
        struct kl_raft_event add = {.type = KL_RAFT_ADD_VOTER};

        c = world_change(w, leader, KL_RAFT_UPDATE_VOTER, target, 0);
        ck_assert_int_eq(c->code, KL_ENOVOTER);
        add.change.token = c->token;
        c->is_done = 0;
        add.change.voter.node_id = w->nodes[target].id;
        add.change.voter.directory_id = w->nodes[target].directory;
        add.change.voter.version_max = 1;
        add.change.voters_offset = 2;
        world_step(w, leader, &add);
        ck_assert_int_eq(c->code, KL_ESTATE);
    }
}
END_TEST

/* 43, KAFKA-17608: see B38. The new leader may have the record or not; both
 * ways all agree in the end. */
START_TEST(history_43_a_change_is_kept_or_vanishes)
{
    int leader;
    uint32_t voters;

    world(4, 3);
    leader = world_leader(w)->index;
    world_change(w, leader, KL_RAFT_ADD_VOTER, 3, 0);
    if (_i)
        world_run(w, _i * 2 * MS);
    world_crash(w, leader);
    world_run(w, 10 * SECOND);
    ck_assert(world_has_leader(w));
    world_start(w, leader);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    voters = world_view(w, 0).voters.voters.count;
    ck_assert(voters == 3 || voters == 4);
    for (int i = 1; i < 4; i++)
        ck_assert_uint_eq(world_view(w, i).voters.voters.count, voters);
}
END_TEST

/* 44, KAFKA-14238, 14618, 17713: a log is cut at the end of a snapshot only,
 * and who is behind it loads that one and goes on. */
START_TEST(history_44_snapshots_and_the_log_fit)
{
    int leader, victim;

    world(3, 3);
    leader = world_leader(w)->index;
    victim = (leader + 1) % 3;
    world_crash(w, victim);
    for (int i = 0; i < 10; i++) {
        world_propose(w, leader, 1 + i % 4);
        world_run(w, 200 * MS);
    }
    world_take_snapshot(w, leader, 1);
    ck_assert_int_eq(world_view(w, leader).log_start,
                     world_view(w, leader).snapshot.end_offset);
    ck_assert_int_gt(world_view(w, leader).log_start, 10);
    world_propose(w, leader, 3);
    world_run(w, SECOND);
    world_start(w, victim);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_eq(world_view(w, victim).log_start,
                     world_view(w, leader).log_start);
    ck_assert(w->nodes[victim].hash == w->nodes[leader].hash);
    /* And again after a restart of all. */
    for (int i = 0; i < 3; i++)
        world_crash(w, i);
    for (int i = 0; i < 3; i++)
        world_start(w, i);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_uint_eq(world_view(w, victim).voters.voters.count, 3);
}
END_TEST

/* 45, KIP-1166: who waits is told of a new high watermark at once. (That a
 * leader acts only when it has applied its predecessor's tail is B10.) */
START_TEST(history_45_the_high_watermark_travels_at_once)
{
    const struct kl_wire_message *m;

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 3, 1, 3, 1, 0);
    ck_assert_ptr_null(solo_sent(&s, 3, KL_WIRE_FETCH, 1));
    solo_fetch(&s, 2, 1, 3, 1, 3);
    m = solo_sent(&s, 3, KL_WIRE_FETCH, 1);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->fetch_response.partitions.items[0].high_watermark, 3);
}
END_TEST

static void propose(int is_local)
{
    struct kl_raft_event event = {.type = KL_RAFT_PROPOSE};

    event.propose.token = 9;
    event.propose.count = 1;
    event.propose.is_local = is_local;
    solo_step(&s, &event);
}

/* One that nobody on another node waits for travels with the next records, or
 * a millisecond later. */
START_TEST(history_45_or_with_the_next_records)
{
    int is_local = _i > 0;

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    solo_applied(&s, 3);
    s.known = 3;
    propose(is_local);
    solo_durable(&s, 4);
    solo_fetch(&s, 3, 1, 4, 1, 3);
    solo_fetch(&s, 2, 1, 4, 1, 4);
    ck_assert_int_eq(solo_view(&s).high_watermark, 4);
    ck_assert_int_eq(solo_sent(&s, 3, KL_WIRE_FETCH, 1) == NULL, is_local);
    if (_i == 1)
        propose(1);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_READ), _i == 1 ? 2 : 0);
    if (_i == 2) {
        const struct kl_wire_message *m;

        solo_wait(&s);
        m = solo_sent(&s, 3, KL_WIRE_FETCH, 1);
        ck_assert_ptr_nonnull(m);
        ck_assert_int_eq(m->fetch_response.partitions.items[0].high_watermark,
                         4);
    }
}
END_TEST

Suite *suite_raft_history(void);
Suite *suite_raft_history(void)
{
    Suite *suite = suite_create("raft_history");
    TCase *t = tcase_create("history");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, history_37_nothing_is_ahead_of_the_flush);
    tcase_add_loop_test(t, history_38_no_epoch_is_led_twice, 0, 2);
    tcase_add_test(t, history_39_an_isolated_leader_gives_up);
    tcase_add_test(t, history_39_the_only_voter_stays);
    tcase_add_test(t, history_40_a_removed_leader_needs_the_others);
    tcase_add_test(t, history_41_a_healthy_leader_stays);
    tcase_add_test(t, history_41_the_vote_outlives_the_question);
    tcase_add_test(t, history_42_a_removed_voter_stays_out);
    tcase_add_loop_test(t, history_43_a_change_is_kept_or_vanishes, 0, 8);
    tcase_add_test(t, history_44_snapshots_and_the_log_fit);
    tcase_add_test(t, history_45_the_high_watermark_travels_at_once);
    tcase_add_loop_test(t, history_45_or_with_the_next_records, 0, 3);
    suite_add_tcase(suite, t);
    return suite;
}
