/*
 * Elections in small clusters.
 */
#include "raft_solo.h"
#include "raft_world.h"

#include <check.h>
#include <string.h>

static struct world *w;
static struct solo s;

static void make(int nodes, int voters)
{
    struct world_options options = {.seed = 1};

    options.nodes = nodes;
    options.voters = voters;
    options.links_tell = 1;
    w = world_new(&options);
}

static void tear_down(void)
{
    if (w)
        world_free(w);
    if (s.effects.alloc)
        solo_free(&s);
    w = NULL;
    memset(&s, 0, sizeof s);
}

START_TEST(elects_one_leader)
{
    make(_i, _i);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    world_run(w, 60 * SECOND);
    ck_assert(world_is_settled(w));
    ck_assert_int_eq(world_view(w, 0).epoch, 1);
}
END_TEST

/* Follows node 2, whose last word is this one, with a log up to 5. */
static void follow_the_last_time(uint64_t seed)
{
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    s.options.seed = seed;
    solo_log(&s, 1, 5);
    solo_start(&s);
    solo_time(&s, 2 * SECOND);
    solo_follow(&s, 2, &fetch);
    solo_answer(&s, &fetch, NULL, 0, 5);
}

static int64_t wait_for_prospective(void)
{
    int64_t from = s.now;

    for (int i = 0; solo_view(&s).role == KL_RAFT_FOLLOWER; i++) {
        ck_assert_int_lt(i, 20);
        solo_wait(&s);
    }
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_PROSPECTIVE);
    return s.now - from;
}

/* Followers that hear nothing from one moment on stand at different ones: of a
 * few, each has an eighth of a second of its own. */
START_TEST(followers_stand_at_different_times)
{
    int eighths[4] = {0};

    for (uint64_t seed = 1; seed <= 40; seed++) {
        int64_t waited;

        follow_the_last_time(seed);
        waited = wait_for_prospective();
        ck_assert_int_ge(waited, 2 * SECOND);
        ck_assert_int_le(waited, 2500 * MS);
        eighths[(waited - 2 * SECOND) / (126 * MS)]++;
        solo_free(&s);
        memset(&s, 0, sizeof s);
    }
    for (int i = 0; i < 4; i++)
        ck_assert_int_gt(eighths[i], 0);
}
END_TEST

static void answer_vote(const struct kl_wire_message *vote, int granted)
{
    solo_response(&s, vote, 2, 2)->vote_response.vote_granted = (int8_t)granted;
    solo_deliver(&s);
}

/* Node 3 still heard from the leader when it was asked, but its log is behind:
 * it cannot be elected, so that it asks is the time to ask it again. */
START_TEST(asks_again_who_asks_for_itself)
{
    struct kl_wire_message vote;

    follow_the_last_time(1);
    wait_for_prospective();
    vote = *solo_sent(&s, 3, KL_WIRE_VOTE, 0);
    answer_vote(&vote, 0);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_PROSPECTIVE);
    solo_vote(&s, 3, 2, 1, 4, 1);
    ck_assert_int_eq(
        solo_sent(&s, 3, KL_WIRE_VOTE, 1)->vote_response.vote_granted, 0);
    ck_assert_ptr_nonnull(solo_sent(&s, 3, KL_WIRE_VOTE, 0));
    vote = *solo_sent(&s, 3, KL_WIRE_VOTE, 0);
    ck_assert_int_eq(vote.vote_request.pre_vote, 1);
    ck_assert_int_eq(vote.vote_request.last_offset, 5);
    answer_vote(&vote, 1);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_CANDIDATE);
}
END_TEST

/* Once for each time that it asks, and not where there is nothing to gain. */
START_TEST(asks_nobody_again_in_vain)
{
    struct kl_wire_message vote;

    follow_the_last_time(1);
    wait_for_prospective();
    vote = *solo_sent(&s, 3, KL_WIRE_VOTE, 0);
    solo_vote(&s, 3, 2, 1, 4, 1);
    ck_assert_ptr_null(solo_sent(&s, 3, KL_WIRE_VOTE, 0)); /* open */
    answer_vote(&vote, 0);
    solo_vote(&s, 3, 2, 1, 5, 1);
    ck_assert_int_eq(
        solo_sent(&s, 3, KL_WIRE_VOTE, 1)->vote_response.vote_granted, 1);
    ck_assert_ptr_null(solo_sent(&s, 3, KL_WIRE_VOTE, 0)); /* it will lead */
    solo_vote(&s, 9, 2, 1, 4, 1);
    ck_assert_ptr_null(solo_sent(&s, 9, KL_WIRE_VOTE, 0)); /* no voter */
    solo_vote(&s, 3, 1, 1, 4, 1);
    ck_assert_ptr_null(solo_sent(&s, 3, KL_WIRE_VOTE, 0)); /* an old epoch */
}
END_TEST

Suite *suite_raft_election(void);
Suite *suite_raft_election(void)
{
    Suite *suite = suite_create("raft_election");
    TCase *t = tcase_create("election");

    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_loop_test(t, elects_one_leader, 1, 8);
    tcase_add_test(t, followers_stand_at_different_times);
    tcase_add_test(t, asks_again_who_asks_for_itself);
    tcase_add_test(t, asks_nobody_again_in_vain);
    suite_add_tcase(suite, t);
    return suite;
}
