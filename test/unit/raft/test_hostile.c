/*
 * Bad input: it is counted, and changes nothing.
 */
#include "raft_solo.h"
#include "raft_world.h"
#include "wire_sample.h"

#include <check.h>
#include <stddef.h>
#include <string.h>

static struct solo s;
static struct wire_sample sample;

static void set_up(void)
{
    memset(&s, 0, sizeof s);
}

static void tear_down(void)
{
    if (s.effects.alloc)
        solo_free(&s);
}

/* A leader with a follower, in epoch 1, at offset 3. */
static void lead(void)
{
    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    solo_applied(&s, 3);
}

static void unchanged(const struct kl_raft_view *before)
{
    struct kl_raft_view after = solo_view(&s);

    ck_assert_int_eq(after.role, before->role);
    ck_assert_int_eq(after.epoch, before->epoch);
    ck_assert_int_eq(after.leader_id, before->leader_id);
    ck_assert_int_eq(after.leo, before->leo);
    ck_assert_int_eq(after.durable_leo, before->durable_leo);
    ck_assert_int_eq(after.high_watermark, before->high_watermark);
    ck_assert_int_eq(after.voters.offset, before->voters.offset);
    ck_assert_int_eq(after.fault, 0);
}

/* A response that nobody asked for, of each kind, with a higher epoch. */
START_TEST(responses_without_a_request)
{
    static const enum kl_wire_api apis[] = {
        KL_WIRE_FETCH, KL_WIRE_VOTE, KL_WIRE_BEGIN_QUORUM_EPOCH,
        KL_WIRE_FETCH_SNAPSHOT, KL_WIRE_END_QUORUM_EPOCH};
    struct kl_raft_view before;

    lead();
    before = solo_view(&s);
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++) {
        solo_request(&s, 2, apis[i])->envelope.is_response = 1;
        s.message.begin_quorum_epoch_response.leader_epoch = 99;
        s.message.begin_quorum_epoch_response.leader_id = 2;
        solo_deliver(&s);
        ck_assert_uint_eq(s.effects.count, 0);
        unchanged(&before);
    }
    ck_assert_uint_eq(solo_view(&s).counters.replayed, 4);
}
END_TEST

/* The same message twice: the second one does nothing. */
START_TEST(replayed_fetch)
{
    struct kl_raft_view before;

    lead();
    solo_fetch(&s, 2, 1, 3, 1, 3);
    before = solo_view(&s);
    solo_deliver(&s);
    ck_assert_uint_eq(s.effects.count, 0);
    ck_assert_uint_eq(solo_view(&s).counters.replayed,
                      before.counters.replayed + 1);
    unchanged(&before);
}
END_TEST

START_TEST(fetch_of_another_log)
{
    struct kl_raft_view before;

    lead();
    before = solo_view(&s);
    for (int i = 0; i < 5; i++) {
        struct kl_wire_message *m = solo_request(&s, 2, KL_WIRE_FETCH);

        memset(&s.fetch, 0, sizeof s.fetch);
        m->fetch_request.partitions.items = &s.fetch;
        m->fetch_request.partitions.count = 1;
        s.fetch.topic_id = s.options.topic_id;
        s.fetch.current_leader_epoch = 1;
        s.fetch.last_fetched_epoch = 1;
        s.fetch.fetch_offset = s.fetch.durable_offset = 3;
        if (i == 0)
            s.fetch.topic_id.bytes[3] ^= 1;
        if (i == 1)
            s.fetch.partition = 1;
        if (i == 2)
            s.fetch.durable_offset = 4;
        if (i == 3)
            s.fetch.log_start_offset = 4;
        if (i == 4)
            m->fetch_request.partitions.count = 2;
        solo_deliver(&s);
        ck_assert_int_eq(
            solo_sent(&s, 2, KL_WIRE_FETCH, 1)->fetch_response.error_code,
            KL_WIRE_INVALID_REQUEST);
        unchanged(&before);
    }
    ck_assert_uint_eq(solo_view(&s).counters.malformed, 5);
}
END_TEST

/* An offset or epoch that the leader has not got is a divergence, whatever it
 * claims to be durable; nothing is committed by it. */
START_TEST(fetch_beyond_the_log)
{
    struct kl_raft_view before;
    const struct kl_wire_message *m;

    lead();
    before = solo_view(&s);
    solo_fetch(&s, 2, 1, INT64_MAX, 1, INT64_MAX);
    m = solo_sent(&s, 2, KL_WIRE_FETCH, 1);
    ck_assert_int_eq(m->fetch_response.partitions.items[0].diverging_epoch, 1);
    ck_assert_int_eq(m->fetch_response.partitions.items[0].diverging_end_offset,
                     3);
    solo_fetch(&s, 2, 1, 3, INT32_MAX, 3);
    m = solo_sent(&s, 2, KL_WIRE_FETCH, 1);
    ck_assert_int_ge(m->fetch_response.partitions.items[0].diverging_epoch, 0);
    unchanged(&before);
}
END_TEST

/* Votes whose log ends in or behind the epoch that they are for. */
START_TEST(impossible_votes)
{
    struct kl_raft_view before;

    lead();
    before = solo_view(&s);
    for (int pre = 0; pre < 2; pre++) {
        solo_vote(&s, 2, 7, 7 + pre, 100, pre);
        ck_assert_int_eq(
            solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.error_code,
            KL_WIRE_INVALID_REQUEST);
        unchanged(&before);
    }
}
END_TEST

/* Messages without a sender, or of this node itself. */
START_TEST(strangers)
{
    struct kl_raft_view before;

    lead();
    before = solo_view(&s);
    for (int i = 0; i < 4; i++) {
        struct kl_wire_message *m = solo_request(&s, 2, KL_WIRE_VOTE);

        m->vote_request.candidate_epoch = 50;
        m->vote_request.last_epoch = 40;
        m->vote_request.last_offset = 1000;
        if (i == 0)
            m->envelope.source_id = -1;
        if (i == 1)
            memset(&m->envelope.source_directory, 0, 16);
        if (i == 2)
            m->envelope.source_session = s.options.session_id;
        if (i == 3)
            m->envelope.api_key = 999;
        solo_deliver(&s);
        ck_assert_uint_eq(s.effects.count, 0);
        unchanged(&before);
    }
    ck_assert_uint_eq(solo_view(&s).counters.strangers, 4);
}
END_TEST

/* A second leader of the epoch is not believed, nor is its end. */
START_TEST(two_leaders_of_one_epoch)
{
    struct kl_raft_view before;

    lead();
    before = solo_view(&s);
    solo_begin(&s, 3, 1);
    ck_assert_int_eq(solo_sent(&s, 3, KL_WIRE_BEGIN_QUORUM_EPOCH, 1)
                         ->begin_quorum_epoch_response.error_code,
                     KL_WIRE_INVALID_REQUEST);
    unchanged(&before);
    solo_request(&s, 3, KL_WIRE_END_QUORUM_EPOCH)
        ->end_quorum_epoch_request.leader_epoch = 1;
    solo_deliver(&s);
    unchanged(&before);
    ck_assert_uint_eq(solo_view(&s).counters.conflicts, 2);
}
END_TEST

/* Batches that do not follow the log, or each other, or are of a later epoch
 * than their leader's: what is good before them is kept (history 27). */
START_TEST(bad_batches)
{
    static const struct kl_raft_batch bad[][2] = {
        {{1, 2, 1, 10, NULL}, {2, 3, 1, 10, NULL}},
        {{0, 0, 1, 10, NULL}, {0, 1, 1, 10, NULL}},
        {{0, 2, 9, 10, NULL}, {2, 3, 9, 10, NULL}},
        {{0, 2, 1, 10, NULL}, {3, 4, 1, 10, NULL}},
        {{0, 2, 3, 10, NULL}, {2, 4, 2, 10, NULL}},
        {{0, 2, 3, 10, NULL}, {2, 1, 3, 10, NULL}},
    };
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 3, &fetch);
    solo_answer(&s, &fetch, bad[_i], 2, 100);
    ck_assert_uint_eq(solo_view(&s).counters.malformed, 1);
    ck_assert_int_eq(solo_view(&s).leo, _i < 3 ? 0 : 2);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_APPEND), _i >= 3);
    /* It asks again, not at once. */
    ck_assert_ptr_null(solo_sent(&s, 2, KL_WIRE_FETCH, 0));
    solo_wait(&s);
    ck_assert_ptr_nonnull(solo_sent(&s, 2, KL_WIRE_FETCH, 0));
}
END_TEST

/* A piece of a snapshot that does not fit begins the download anew. */
START_TEST(bad_snapshot_pieces)
{
    struct kl_wire_message fetch, request;
    struct kl_wire_fetch_snapshot_response *piece;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    solo_response(&s, &fetch, 1, 2);
    memset(&s.fetched, 0, sizeof s.fetched);
    s.message.fetch_response.partitions.items = &s.fetched;
    s.message.fetch_response.partitions.count = 1;
    s.fetched.topic_id = s.options.topic_id;
    s.fetched.diverging_epoch = -1;
    s.fetched.snapshot_end_offset = 9;
    s.fetched.snapshot_epoch = 1;
    solo_deliver(&s);
    request = *solo_sent(&s, 2, KL_WIRE_FETCH_SNAPSHOT, 0);
    piece = &solo_response(&s, &request, 1, 2)->fetch_snapshot_response;
    piece->end_offset = 9;
    piece->epoch = 1;
    piece->size = 8;
    piece->position = 0;
    piece->bytes = (struct kl_wire_bytes){(const uint8_t *)"12345678", 8};
    if (_i == 0)
        piece->position = 1;
    if (_i == 1)
        piece->size = 7;
    if (_i == 2)
        piece->bytes.size = 0;
    if (_i == 3)
        piece->size = 0;
    solo_deliver(&s);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_SNAPSHOT_WRITE), 0);
    ck_assert_uint_eq(solo_view(&s).counters.snapshot_failures, 1);
    solo_wait(&s);
    ck_assert_ptr_nonnull(solo_sent(&s, 2, KL_WIRE_FETCH, 0));
}
END_TEST

static const enum kl_raft_role roles[] = {
    KL_RAFT_UNATTACHED, KL_RAFT_PROSPECTIVE, KL_RAFT_CANDIDATE,
    KL_RAFT_LEADER,     KL_RAFT_FOLLOWER,    KL_RAFT_RESIGNED};

static void reach(enum kl_raft_role role)
{
    struct kl_raft_event resign = {.type = KL_RAFT_RESIGN};
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_log(&s, 2, 10);
    s.recovered.quorum.epoch = 3;
    solo_start(&s);
    if (role == KL_RAFT_LEADER || role == KL_RAFT_RESIGNED) {
        solo_lead(&s);
        solo_durable(&s, 13);
        solo_fetch(&s, 2, 4, 13, 4, 13);
        solo_applied(&s, 13);
    }
    if (role == KL_RAFT_RESIGNED)
        solo_step(&s, &resign);
    if (role == KL_RAFT_FOLLOWER)
        solo_follow(&s, 4, &fetch);
    if (role == KL_RAFT_CANDIDATE)
        solo_campaign(&s);
    while (solo_view(&s).role != role)
        solo_wait(&s);
}

/* Valid messages with random content, of a peer that means no good: nothing
 * breaks, what is committed stays, and nothing is allocated for them. */
START_TEST(random_messages)
{
    const struct kl_wire_table *t;
    struct kl_raft_batch none = {0, 0, 0, 0, NULL};

    reach(roles[_i]);
    wire_sample_seed(&sample, (uint64_t)_i);
    for (int round = 0; round < 6000; round++) {
        struct kl_raft_view before = solo_view(&s);
        size_t kind = kl_base_rng_below(&sample.rng, 18);

        t = kl_wire_message_table_at(kind);
        sample.used = 0;
        wire_sample_message(&sample, t, kind & 1, &s.message);
        s.message.envelope.source_id =
            2 + (int32_t)kl_base_rng_below(&sample.rng, 3);
        s.message.envelope.source_directory =
            solo_directory(s.message.envelope.source_id);
        s.message.envelope.source_session =
            solo_session(s.message.envelope.source_id);
        s.now += (int64_t)kl_base_rng_below(&sample.rng, 100) * MS;
        solo_deliver_batches(&s, &none, 0);
        ck_assert_int_ge(solo_view(&s).high_watermark, before.high_watermark);
        ck_assert_int_ge(solo_view(&s).epoch, before.epoch);
        if (solo_view(&s).fault) {
            /* One of them said that this folder is old, or that what is
             * committed is not. */
            solo_free(&s);
            reach(roles[_i]);
        }
    }
}
END_TEST

/* A flood of observers takes no memory, and throws no voter out. */
START_TEST(many_observers)
{
    uint64_t calls;

    lead();
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            calls = s.memory.calls;
        s.now += MS;
        solo_fetch(&s, 10 + i, 1, 3, 1, 3);
    }
    ck_assert_uint_eq(s.memory.calls, calls);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    ck_assert_int_eq(solo_view(&s).role, KL_RAFT_LEADER);
}
END_TEST

Suite *suite_raft_hostile(void);
Suite *suite_raft_hostile(void)
{
    Suite *suite = suite_create("raft_hostile");
    TCase *t = tcase_create("hostile");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, responses_without_a_request);
    tcase_add_test(t, replayed_fetch);
    tcase_add_test(t, fetch_of_another_log);
    tcase_add_test(t, fetch_beyond_the_log);
    tcase_add_test(t, impossible_votes);
    tcase_add_test(t, strangers);
    tcase_add_test(t, two_leaders_of_one_epoch);
    tcase_add_loop_test(t, bad_batches, 0, 6);
    tcase_add_loop_test(t, bad_snapshot_pieces, 0, 4);
    tcase_add_loop_test(t, random_messages, 0, 6);
    tcase_add_test(t, many_observers);
    suite_add_tcase(suite, t);
    return suite;
}
