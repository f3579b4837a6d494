/*
 * Reads, leases and slow nodes: what other implementations got wrong.
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

static void lead_with_3(void)
{
    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    solo_applied(&s, 3);
}

static void barrier(uint64_t token)
{
    struct kl_raft_event event = {.type = KL_RAFT_BARRIER};

    event.barrier.token = token;
    solo_step(&s, &event);
}

/* A call that was sent before the read came proves nothing for it. */
START_TEST(B39_the_round_begins_after_the_read)
{
    struct kl_wire_message early, late;

    lead_with_3();
    solo_time(&s, SECOND);
    early = *solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 0);
    barrier(1);
    late = *solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 0);
    ck_assert_int_gt(late.envelope.correlation_id,
                     early.envelope.correlation_id);
    solo_response(&s, &early, 1, 1);
    solo_deliver(&s);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 0);
    /* Nor does a fetch, which may be old. */
    solo_fetch(&s, 2, 1, 3, 1, 3);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 0);
    /* One that comes meanwhile needs a round of its own. */
    barrier(2);
    ck_assert_ptr_null(solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 0));
    solo_response(&s, &late, 1, 1);
    solo_deliver(&s);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 1);
    ck_assert_uint_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.token, 1);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code, 0);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.offset, 3);
    late = *solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 0);
    solo_response(&s, &late, 1, 1);
    solo_deliver(&s);
    ck_assert_uint_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.token, 2);
}
END_TEST

/* An answer of another epoch, or of one who forgot its promises, is none. */
START_TEST(B39_the_answer_is_of_this_epoch)
{
    struct kl_wire_message call;

    lead_with_3();
    barrier(1);
    call = *solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 0);
    solo_response(&s, &call, 1, 1)->begin_quorum_epoch_response.error_code =
        KL_WIRE_STORAGE_FAILED;
    solo_deliver(&s);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 0);
    /* It is asked again, and says that there is a later epoch. */
    solo_time(&s, SECOND / 4);
    call = *solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 0);
    solo_response(&s, &call, 4, 2);
    solo_deliver(&s);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_ENOTLEADER);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_FOLLOWER);
}
END_TEST

/* A leader that was cut off answers no read, whatever it thinks. */
START_TEST(B40_a_deposed_leader_answers_no_read)
{
    struct world_options options = {.seed = 3, .nodes = 3, .voters = 3};
    struct world_call *read;
    int old;

    w = world_new(&options);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    old = world_leader(w)->index;
    read = world_barrier(w, old);
    world_run(w, SECOND);
    ck_assert_int_eq(read->code, 0);
    world_isolate(w, old);
    read = world_barrier(w, old);
    ck_assert_int_eq(world_view(w, old).role, KL_RAFT_LEADER);
    world_run(w, 10 * SECOND);
    ck_assert(read->is_done);
    ck_assert_int_eq(read->code, KL_ENOTLEADER);
}
END_TEST

/* The clock of the caller goes back: nothing happens earlier or again. */
START_TEST(B41_time_does_not_go_back)
{
    struct kl_raft_event event = {.type = KL_RAFT_TIME};
    int64_t deadline;

    lead_with_3();
    solo_time(&s, SECOND);
    deadline = kl_raft_deadline(s.raft);
    event.now = s.now - 500 * SECOND;
    ck_assert_int_eq(kl_raft_step(s.raft, &event, &s.effects), 0);
    ck_assert_uint_eq(s.effects.count, 0);
    ck_assert_int_eq(kl_raft_deadline(s.raft), deadline);
}
END_TEST

/* While leadership is handed over, nothing new is taken; a read still needs its
 * round. */
START_TEST(B42_no_proposal_during_a_hand_over)
{
    struct kl_raft_event event = {.type = KL_RAFT_PROPOSE};
    const struct kl_wire_message *end;

    lead_with_3();
    event.propose.token = 1;
    event.propose.count = 1;
    solo_step(&s, &event);
    event.type = KL_RAFT_HAND_OVER;
    event.hand_over.token = 2;
    event.hand_over.target.node_id = 2;
    memset(&event.hand_over.target.directory_id, 0, 16);
    solo_step(&s, &event);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_LEADER);
    event.type = KL_RAFT_PROPOSE;
    event.propose.token = 3;
    event.propose.count = 1;
    solo_step(&s, &event);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_EAGAIN);
    barrier(4);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 0);
    solo_durable(&s, 4);
    solo_fetch(&s, 2, 1, 4, 1, 4);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_RESIGNED);
    end = solo_sent(&s, 2, KL_WIRE_END_QUORUM_EPOCH, 0);
    ck_assert_int_eq(
        end->end_quorum_epoch_request.preferred_candidates.items[0].node_id, 2);
    /* The proposal was committed by that fetch, the hand-over done, the read
     * not served. */
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMPLETE), 3);
    for (int i = 0; i < 3; i++) {
        const struct kl_raft_effect *e = solo_effect(&s, KL_RAFT_COMPLETE, i);

        ck_assert_int_eq(e->complete.code,
                         e->complete.token == 4 ? KL_ENOTLEADER : 0);
    }
}
END_TEST

/* It slept, and all that came meanwhile is there at once: it gives up before it
 * looks at any of it (F04). */
START_TEST(B43_who_slept_gives_up_first)
{
    lead_with_3();
    barrier(1);
    s.now += 3600 * SECOND;
    solo_fetch(&s, 2, 1, 3, 1, 3);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_RESIGNED);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_ENOTLEADER);
    ck_assert_int_eq(
        solo_sent(&s, 2, KL_WIRE_FETCH, 1)->fetch_response.error_code,
        KL_WIRE_NOT_LEADER);
}
END_TEST

/* A leader whose own disk does not answer makes room (F28). */
START_TEST(B43_a_stuck_disk_is_no_leader)
{
    struct kl_raft_event event = {.type = KL_RAFT_PROPOSE};

    lead_with_3();
    event.propose.token = 1;
    event.propose.count = 1;
    solo_step(&s, &event);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(solo_view(&s).role,
                         i < 3 ? KL_RAFT_LEADER : KL_RAFT_RESIGNED);
        s.now += SECOND;
        solo_fetch(&s, 2, 1, 4, 1, 4);
    }
}
END_TEST

Suite *suite_raft_bugs_reads(void);
Suite *suite_raft_bugs_reads(void)
{
    Suite *suite = suite_create("raft_bugs_reads");
    TCase *t = tcase_create("reads");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, B39_the_round_begins_after_the_read);
    tcase_add_test(t, B39_the_answer_is_of_this_epoch);
    tcase_add_test(t, B40_a_deposed_leader_answers_no_read);
    tcase_add_test(t, B41_time_does_not_go_back);
    tcase_add_test(t, B42_no_proposal_during_a_hand_over);
    tcase_add_test(t, B43_who_slept_gives_up_first);
    tcase_add_test(t, B43_a_stuck_disk_is_no_leader);
    suite_add_tcase(suite, t);
    return suite;
}
