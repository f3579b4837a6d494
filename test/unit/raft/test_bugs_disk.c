/*
 * Order of persisting, votes and epochs on disk: what other implementations got
 * wrong.
 */
#include "raft_solo.h"

#include <check.h>
#include <string.h>

static struct solo s;

static void set_up(void)
{
    memset(&s, 0, sizeof s);
}

static void tear_down(void)
{
    if (s.effects.alloc)
        solo_free(&s);
}

static void storage_fails(void)
{
    struct kl_raft_event event = {.type = KL_RAFT_FAILED};

    event.failed.code = KL_EIO;
    solo_step(&s, &event);
}

/* A leader whose append fails steps down, says so, and gives the offset to
 * nothing else in its epoch; not after a restart either. */
START_TEST(B11_a_failed_append_ends_the_epoch)
{
    struct kl_raft_event event = {.type = KL_RAFT_PROPOSE};

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    solo_applied(&s, 3);
    event.propose.token = 5;
    event.propose.count = 1;
    solo_step(&s, &event);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_APPEND, 0)->append.offset, 3);
    storage_fails();
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_EUNKNOWN);
    ck_assert_ptr_nonnull(solo_sent(&s, 2, KL_WIRE_END_QUORUM_EPOCH, 0));
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_RESIGNED);
    ck_assert_int_eq(solo_view(&s).fault, KL_EIO);
    solo_step(&s, &event);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_APPEND), 0);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_EIO);
    solo_vote(&s, 2, 9, 1, 100, 0);
    ck_assert_uint_eq(s.effects.count, 0);
}
END_TEST

/* What was reported durable of a tail that was cut is not durable (and what
 * took its place is not yet). */
START_TEST(B12_the_durable_end_follows_truncation)
{
    struct kl_raft_batch old = {0, 5, 1, 10, NULL};
    struct kl_raft_batch new = {2, 6, 2, 10, NULL};
    struct kl_raft_event late = {.type = KL_RAFT_DURABLE};
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    solo_answer(&s, &fetch, &old, 1, 0);
    late.durable.generation = solo_view(&s).generation;
    late.durable.offset = 5;
    solo_begin(&s, 3, 2);
    fetch = *solo_sent(&s, 3, KL_WIRE_FETCH, 0);
    ck_assert_int_eq(fetch.fetch_request.partitions.items[0].durable_offset, 0);
    solo_answer(&s, &fetch, NULL, 0, 0);
    fetch = *solo_sent(&s, 3, KL_WIRE_FETCH, 0);
    solo_response(&s, &fetch, 2, 3);
    s.message.fetch_response.partitions.items = &s.fetched;
    s.message.fetch_response.partitions.count = 1;
    s.fetched.diverging_epoch = 1;
    s.fetched.diverging_end_offset = 2;
    solo_deliver(&s);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_TRUNCATE, 0)->truncate.offset, 2);
    fetch = *solo_sent(&s, 3, KL_WIRE_FETCH, 0);
    solo_answer(&s, &fetch, &new, 1, 0);
    ck_assert_int_eq(solo_view(&s).leo, 6);
    solo_step(&s, &late);
    ck_assert_int_eq(solo_view(&s).durable_leo, 0);
    solo_durable(&s, 6);
    ck_assert_int_eq(solo_view(&s).durable_leo, 6);
    ck_assert_int_eq(solo_sent(&s, 3, KL_WIRE_FETCH, 0)
                         ->fetch_request.partitions.items[0]
                         .durable_offset,
                     6);
}
END_TEST

/* A truncation cuts what was durable as well. */
START_TEST(B12_the_durable_end_is_cut)
{
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    solo_start(&s);
    solo_follow(&s, 2, &fetch);
    solo_response(&s, &fetch, 2, 2);
    memset(&s.fetched, 0, sizeof s.fetched);
    s.message.fetch_response.partitions.items = &s.fetched;
    s.message.fetch_response.partitions.count = 1;
    s.fetched.topic_id = s.options.topic_id;
    s.fetched.fetch_offset = 5;
    s.fetched.diverging_epoch = 1;
    s.fetched.diverging_end_offset = 3;
    s.fetched.snapshot_end_offset = -1;
    solo_deliver(&s);
    ck_assert_int_eq(solo_sent(&s, 2, KL_WIRE_FETCH, 0)
                         ->fetch_request.partitions.items[0]
                         .durable_offset,
                     3);
}
END_TEST

/* A follower with a disk that failed says nothing more. */
START_TEST(B13_a_failed_follower_is_silent)
{
    struct kl_wire_message fetch;
    struct kl_raft_batch b = {0, 5, 1, 10, NULL};

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    storage_fails();
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_FAULT, 0)->fault.code, KL_EIO);
    solo_answer(&s, &fetch, &b, 1, 5);
    ck_assert_uint_eq(s.effects.count, 0);
    ck_assert_int_eq(solo_view(&s).leo, 0);
    ck_assert_int_eq(kl_raft_deadline(s.raft), KL_RAFT_NEVER);
}
END_TEST

/* The only voter leads when its vote is durable, and commits what is. */
START_TEST(B15_one_voter_waits_for_its_disk)
{
    solo_init(&s, 1);
    solo_start(&s);
    while (solo_view(&s).role != KL_RAFT_CANDIDATE)
        solo_wait(&s);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_PERSIST, 0)->persist.state.epoch,
                     1);
    solo_persist(&s);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_LEADER);
    ck_assert_int_eq(solo_view(&s).high_watermark, 0);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMMIT), 0);
    solo_durable(&s, 2);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMMIT, 0)->commit.offset, 2);
    /* History 37: neither before its flush. */
    ck_assert_int_eq(solo_view(&s).leo, 3);
}
END_TEST

/* A divergence that ends where the log does, or behind it, cuts nothing. */
START_TEST(B18_no_truncation_beyond_the_end)
{
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    solo_start(&s);
    for (int i = 0; i < 2; i++) {
        solo_follow(&s, 2 + i, &fetch);
        solo_response(&s, &fetch, 2 + i, 2);
        memset(&s.fetched, 0, sizeof s.fetched);
        s.message.fetch_response.partitions.items = &s.fetched;
        s.message.fetch_response.partitions.count = 1;
        s.fetched.topic_id = s.options.topic_id;
        s.fetched.fetch_offset = 5;
        s.fetched.diverging_epoch = 1;
        s.fetched.diverging_end_offset = 5 + 4 * i;
        s.fetched.snapshot_end_offset = -1;
        solo_deliver(&s);
        ck_assert_int_eq(solo_count(&s, KL_RAFT_TRUNCATE), 0);
        ck_assert_int_eq(solo_view(&s).leo, 5);
        ck_assert_int_eq(solo_view(&s).fault, 0);
    }
}
END_TEST

/* Who may have forgotten a vote gives none, asks for none, and what it has does
 * not count, nor does its word (F36). */
START_TEST(B21_a_lost_quorum_state_has_no_vote)
{
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_log(&s, 3, 5);
    s.recovered.quorum.epoch = 0;
    s.recovered.verdict = KL_RAFT_STATE_LOST + _i;
    solo_start(&s);
    ck_assert_int_eq(solo_view(&s).epoch, 3);
    ck_assert_int_eq(solo_view(&s).may_vote, 0);
    ck_assert_int_eq(solo_view(&s).refusal, KL_EQUORUMSTATE);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_ne(solo_view(&s).role, KL_RAFT_PROSPECTIVE);
        solo_wait(&s);
    }
    for (int pre = 0; pre < 2; pre++) {
        solo_vote(&s, 2, 9, 8, 100, pre);
        ck_assert_int_eq(
            solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted, 0);
    }
    solo_begin(&s, 2, 10);
    ck_assert_int_ne(solo_sent(&s, 2, KL_WIRE_BEGIN_QUORUM_EPOCH, 1)
                         ->begin_quorum_epoch_response.error_code,
                     0);
    fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    ck_assert_int_eq(fetch.fetch_request.partitions.items[0].durable_offset,
                     -1);
}
END_TEST

/* And the leader neither counts it nor takes it as a sign of life. */
START_TEST(B21_the_leader_does_not_count_it)
{
    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, -1);
    ck_assert_int_eq(solo_view(&s).high_watermark, 0);
    for (int i = 0; i < 5; i++) {
        s.now += SECOND;
        solo_fetch(&s, 2, 1, 3, 1, -1);
    }
    ck_assert_int_ne(solo_view(&s).role, KL_RAFT_LEADER);
}
END_TEST

/* It voted for a directory of node 3; after a restart another one of the same
 * node does not get the vote, the same one does. */
START_TEST(B22_a_vote_is_for_a_directory)
{
    solo_init(&s, 3);
    s.recovered.quorum.epoch = 4;
    s.recovered.quorum.voted = solo_key(3);
    s.recovered.quorum.voted.directory_id.bytes[5] = (uint8_t)_i;
    solo_start(&s);
    s.now += 2 * SECOND;
    solo_vote(&s, 3, 4, -1, 0, 0);
    ck_assert_int_eq(
        solo_sent(&s, 3, KL_WIRE_VOTE, 1)->vote_response.vote_granted, _i == 0);
    solo_vote(&s, 2, 4, -1, 0, 0);
    ck_assert_int_eq(
        solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted, 0);
}
END_TEST

/* The answer waits for the promise to be durable. */
START_TEST(M03_a_vote_leaves_after_its_promise)
{
    const struct kl_raft_effect *send;

    solo_init(&s, 3);
    solo_start(&s);
    s.now += 2 * SECOND;
    solo_vote(&s, 2, 5, -1, 0, 0);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_PERSIST), 2);
    send = solo_effect(&s, KL_RAFT_SEND, 0);
    for (int i = 0; send->send.message.envelope.api_key != KL_WIRE_VOTE; i++)
        send = solo_effect(&s, KL_RAFT_SEND, i);
    ck_assert_int_eq(send->send.message.vote_response.vote_granted, 1);
    ck_assert_uint_eq(send->send.after,
                      solo_effect(&s, KL_RAFT_PERSIST, 1)->persist.id);
    ck_assert_int_eq(
        solo_effect(&s, KL_RAFT_PERSIST, 1)->persist.state.voted.node_id, 2);
}
END_TEST

Suite *suite_raft_bugs_disk(void);
Suite *suite_raft_bugs_disk(void)
{
    Suite *suite = suite_create("raft_bugs_disk");
    TCase *t = tcase_create("disk");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, B11_a_failed_append_ends_the_epoch);
    tcase_add_test(t, B12_the_durable_end_follows_truncation);
    tcase_add_test(t, B12_the_durable_end_is_cut);
    tcase_add_test(t, B13_a_failed_follower_is_silent);
    tcase_add_test(t, B15_one_voter_waits_for_its_disk);
    tcase_add_test(t, B18_no_truncation_beyond_the_end);
    tcase_add_loop_test(t, B21_a_lost_quorum_state_has_no_vote, 0, 2);
    tcase_add_test(t, B21_the_leader_does_not_count_it);
    tcase_add_loop_test(t, B22_a_vote_is_for_a_directory, 0, 2);
    tcase_add_test(t, M03_a_vote_leaves_after_its_promise);
    suite_add_tcase(suite, t);
    return suite;
}
