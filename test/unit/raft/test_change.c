/*
 * Adding, removing and updating voters, and handing over.
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
    struct world_options options = {.seed = 13};

    options.nodes = nodes;
    options.voters = voters;
    options.links_tell = 1;
    w = world_new(&options);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
}

static int change(enum kl_raft_event_type type, int target, int force)
{
    struct world_call *c =
        world_change(w, world_leader(w)->index, type, target, force);

    world_run(w, 2 * SECOND);
    ck_assert(c->is_done);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    return c->code;
}

/* One node grows to three: not to two, unless a third one is ready (0.8). */
START_TEST(grows_from_one_to_three)
{
    world(3, 1);
    world_crash(w, 2);
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 1, 0), KL_EREDUNDANCY);
    world_start(w, 2);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 1, 0), 0);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 2, 0), 0);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 2, 0), KL_EVOTEREXISTS);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(world_view(w, i).is_voter, 1);
    /* Now one may fail. */
    world_crash(w, world_leader(w)->index);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_eq(world_propose(w, world_leader(w)->index, 1)->is_done, 0);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
}
END_TEST

START_TEST(two_when_forced)
{
    world(2, 1);
    world_run(w, SECOND);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 1, 0), KL_EREDUNDANCY);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 1, 1), 0);
    ck_assert_int_eq(world_view(w, 1).is_voter, 1);
    ck_assert_int_eq(change(KL_RAFT_REMOVE_VOTER, 1, 0), 0);
    ck_assert_int_eq(change(KL_RAFT_REMOVE_VOTER, 0, 1), KL_EINVAL);
}
END_TEST

START_TEST(an_observer_must_have_caught_up)
{
    int leader;

    world(4, 3);
    leader = world_leader(w)->index;
    world_isolate(w, 3);
    world_propose(w, leader, 2);
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(world_change(w, leader, KL_RAFT_ADD_VOTER, 3, 0)->code,
                     KL_ELAGGING);
    world_heal(w);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 3, 0), 0);
}
END_TEST

/* It had all until now, and its link has gone: it may come back with another
 * disk. */
START_TEST(an_observer_must_be_there)
{
    int leader;

    world(4, 3);
    world_run(w, 5 * SECOND);
    leader = world_leader(w)->index;
    world_crash(w, 3);
    ck_assert_int_eq(world_change(w, leader, KL_RAFT_ADD_VOTER, 3, 1)->code,
                     KL_ELAGGING);
    world_start(w, 3);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, 3, 0), 0);
}
END_TEST

/* A voter that has gone a moment ago is none of those who would be left. */
START_TEST(a_voter_that_has_gone_is_no_majority)
{
    int leader, down, up;

    world(3, 3);
    world_run(w, 5 * SECOND);
    leader = world_leader(w)->index;
    down = (leader + 1) % 3;
    up = (leader + 2) % 3;
    world_crash(w, down);
    ck_assert_int_eq(world_change(w, leader, KL_RAFT_REMOVE_VOTER, up, 0)->code,
                     KL_EREDUNDANCY);
}
END_TEST

/* Of three, one is down: removing another living one would leave a set that
 * can commit nothing. */
START_TEST(no_removal_of_what_is_needed)
{
    int leader, down, up;

    world(3, 3);
    leader = world_leader(w)->index;
    down = (leader + 1) % 3;
    up = (leader + 2) % 3;
    world_crash(w, down);
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(world_change(w, leader, KL_RAFT_REMOVE_VOTER, up, 0)->code,
                     KL_EREDUNDANCY);
    ck_assert_int_eq(change(KL_RAFT_REMOVE_VOTER, down, 0), 0);
}
END_TEST

START_TEST(one_change_at_a_time)
{
    struct world_call *first, *second;
    int leader;

    world(5, 3);
    world_run(w, SECOND); /* those who have all have said so */
    leader = world_leader(w)->index;
    first = world_change(w, leader, KL_RAFT_ADD_VOTER, 3, 0);
    second = world_change(w, leader, KL_RAFT_ADD_VOTER, 4, 0);
    ck_assert(!first->is_done);
    ck_assert_int_eq(second->code, KL_EAGAIN);
    ck_assert_int_eq(world_hand_over(w, leader, (leader + 1) % 3)->code,
                     KL_EAGAIN);
    world_run(w, SECOND);
    ck_assert_int_eq(first->code, 0);
    ck_assert_int_eq(
        world_change(w, (leader + 1) % 3, KL_RAFT_ADD_VOTER, 4, 0)->code,
        KL_ENOTLEADER);
}
END_TEST

START_TEST(hands_over_to_whom_it_is_told)
{
    world(5, 5);
    for (int i = 0; i < 5; i++) {
        int leader = world_leader(w)->index;
        int target = (leader + 1 + i % 4) % 5;
        struct world_call *c = world_hand_over(w, leader, target);
        int64_t before = w->now;

        world_run(w, 50 * MS);
        ck_assert(c->is_done);
        ck_assert_int_eq(c->code, 0);
        ck_assert(world_until(w, 5 * SECOND, world_is_settled));
        ck_assert_int_eq(world_leader(w)->index, target);
        /* No time-out had to pass. */
        ck_assert_int_lt(w->now - before, 500 * MS);
    }
    ck_assert_int_eq(
        world_hand_over(w, (world_leader(w)->index + 1) % 5, -1)->code,
        KL_ENOTLEADER);
}
END_TEST

START_TEST(a_hand_over_gives_up)
{
    struct world_call *c;
    int leader, target;

    world(3, 3);
    leader = world_leader(w)->index;
    target = (leader + 1) % 3;
    world_isolate(w, target);
    world_propose(w, leader, 1);
    c = world_hand_over(w, leader, target);
    ck_assert(!c->is_done);
    world_run(w, 1500 * MS);
    ck_assert_int_eq(c->code, KL_ETIMEDOUT);
    ck_assert_int_eq(world_view(w, leader).role, KL_RAFT_LEADER);
    ck_assert_int_eq(world_propose(w, leader, 1)->is_done, 0);
}
END_TEST

/* Requests of others are answered when the record is committed, or when their
 * time is over. */
START_TEST(requests_are_answered)
{
    const struct kl_wire_message *m;

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    solo_fetch(&s, 4, 1, 3, 1, 3);
    for (int i = 0; i < 2; i++) {
        struct kl_wire_add_raft_voter_request *add =
            &solo_request(&s, -1, KL_WIRE_ADD_RAFT_VOTER)
                 ->add_raft_voter_request;

        add->node_id = 4;
        add->directory_id = solo_directory(4);
        add->version_max = 1;
        add->voters_offset = i == 0 ? 9 : 2;
        add->timeout_ms = 100;
        solo_deliver(&s);
        m = solo_sent(&s, -1, KL_WIRE_ADD_RAFT_VOTER, 1);
        ck_assert_int_eq(m != NULL, i == 0);
    }
    ck_assert_int_eq(solo_view(&s).voters.offset, 3);
    solo_time(&s, 100 * MS);
    m = solo_sent(&s, -1, KL_WIRE_ADD_RAFT_VOTER, 1);
    ck_assert_int_eq(m->add_raft_voter_response.error_code,
                     KL_WIRE_REQUEST_TIMED_OUT);
    ck_assert_int_eq(m->add_raft_voter_response.voters_offset, 3);
    /* Of four, three: 4 counts already. */
    solo_durable(&s, 4);
    solo_fetch(&s, 2, 1, 4, 1, 4);
    ck_assert_int_eq(solo_view(&s).high_watermark, 3);
    solo_fetch(&s, 4, 1, 4, 1, 4);
    ck_assert_int_eq(solo_view(&s).high_watermark, 4);
    {
        struct kl_wire_remove_raft_voter_request *gone =
            &solo_request(&s, 2, KL_WIRE_REMOVE_RAFT_VOTER)
                 ->remove_raft_voter_request;

        gone->node_id = 3;
        gone->directory_id = solo_directory(3);
        gone->voters_offset = -1;
        solo_deliver(&s);
        ck_assert_ptr_null(solo_sent(&s, 2, KL_WIRE_REMOVE_RAFT_VOTER, 1));
        solo_durable(&s, 5);
        solo_fetch(&s, 2, 1, 5, 1, 5);
        m = solo_sent(&s, 2, KL_WIRE_REMOVE_RAFT_VOTER, 1);
        ck_assert_int_eq(m->remove_raft_voter_response.error_code, 0);
        ck_assert_int_eq(m->remove_raft_voter_response.voters_offset, 4);
    }
}
END_TEST

Suite *suite_raft_change(void);
Suite *suite_raft_change(void)
{
    Suite *suite = suite_create("raft_change");
    TCase *t = tcase_create("change");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, grows_from_one_to_three);
    tcase_add_test(t, two_when_forced);
    tcase_add_test(t, an_observer_must_have_caught_up);
    tcase_add_test(t, an_observer_must_be_there);
    tcase_add_test(t, a_voter_that_has_gone_is_no_majority);
    tcase_add_test(t, no_removal_of_what_is_needed);
    tcase_add_test(t, one_change_at_a_time);
    tcase_add_test(t, hands_over_to_whom_it_is_told);
    tcase_add_test(t, a_hand_over_gives_up);
    tcase_add_test(t, requests_are_answered);
    suite_add_tcase(suite, t);
    return suite;
}
