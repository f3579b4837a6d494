/*
 * Making the room, and what it says of itself and its peers.
 */
#include "raft_solo.h"
#include "raft_world.h"

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

static void refuse(int code, const char *text)
{
    struct kl_base_error e = {0};
    struct kl_raft *r = NULL;

    ck_assert_int_eq(
        kl_raft_new(&r, &s.memory.alloc, &s.options, &s.recovered, &e), code);
    ck_assert_ptr_null(r);
    ck_assert_msg(strstr(e.text, text) != NULL, "%s", e.text);
}

START_TEST(refuses_what_contradicts_itself)
{
    static const uint8_t endpoint[] = "\3\0a:1";

    solo_init(&s, 3);
    s.options.self.node_id = -1;
    refuse(KL_EINVAL, "identity");
    s.options.self.node_id = 1;
    s.options.endpoints =
        (struct kl_wire_texts){endpoint, 5, KL_WIRE_ENDPOINTS_MAX + 1};
    refuse(KL_EINVAL, "endpoints");
    s.options.endpoints.count = 1;
    s.recovered.leo = -1;
    refuse(KL_EINVAL, "log from 0 to -1");
    s.recovered.log_start = 5;
    s.recovered.leo = 9;
    refuse(KL_EINVAL, "log from 5, snapshot to -1");
    s.recovered.log_start = s.recovered.leo = 0;
    s.recovered.quorum.epoch = -1;
    refuse(KL_EINVAL, "state of epoch -1");
    s.recovered.quorum.epoch = 0;
    s.set.voters.count = KL_WIRE_VOTERS_MAX + 1;
    refuse(KL_EINVAL, "32 of them");
    s.set.voters.count = 0;
    refuse(KL_EINVAL, "0 of them");
}
END_TEST

START_TEST(without_memory)
{
    static const int32_t ids[] = {1, 2};
    static const uint8_t endpoint[] = "\3\0a:1";
    struct kl_base_error e = {0};
    struct kl_raft *r;
    uint64_t at = 1;
    int rc;

    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    s.options.bootstrap_ids = ids;
    s.options.bootstrap_count = 2;
    s.options.endpoints = (struct kl_wire_texts){endpoint, 5, 1};
    for (;; at++) {
        fail_alloc_arm(&s.memory, at);
        rc = kl_raft_new(&r, &s.memory.alloc, &s.options, &s.recovered, &e);
        if (rc == 0)
            break;
        ck_assert_int_eq(rc, KL_ENOMEM);
    }
    ck_assert_uint_ge(at, 6);
    kl_raft_free(r);
    kl_raft_free(NULL);
}
END_TEST

/* Who leads knows all, who does not names the leader; clients may ask. */
START_TEST(describes_the_quorum)
{
    const struct kl_wire_describe_quorum_response *d;

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 2);
    solo_fetch(&s, 7, 1, 0, -1, 0);
    s.now += 500 * MS;
    solo_request(&s, -1, KL_WIRE_DESCRIBE_QUORUM)
        ->describe_quorum_request.include_observers = 1;
    solo_deliver(&s);
    d = &solo_sent(&s, -1, KL_WIRE_DESCRIBE_QUORUM, 1)
             ->describe_quorum_response;
    ck_assert_int_eq(d->error_code, 0);
    ck_assert_int_eq(d->leader_id, 1);
    ck_assert_int_eq(d->high_watermark, 2);
    ck_assert_int_eq(d->log_end_offset, 3);
    ck_assert_int_eq(d->voters_offset, 2);
    ck_assert_uint_eq(d->voters.count, 3);
    ck_assert_int_eq(d->voters.items[0].node_id, 1);
    ck_assert_int_eq(d->voters.items[0].durable_offset, 3);
    ck_assert_int_eq(d->voters.items[1].fetch_offset, 3);
    ck_assert_int_eq(d->voters.items[1].durable_offset, 2);
    ck_assert_int_eq(d->voters.items[1].last_fetch_ms, 500);
    ck_assert_int_eq(d->voters.items[2].last_fetch_ms, -1);
    ck_assert_uint_eq(d->observers.count, 1);
    ck_assert_int_eq(d->observers.items[0].node_id, 7);
    ck_assert_mem_eq(&solo_effect(&s, KL_RAFT_SEND, 0)->send.session_id,
                     &s.message.envelope.source_session, 16);
    solo_begin(&s, 2, 5);
    solo_request(&s, -1, KL_WIRE_DESCRIBE_QUORUM);
    solo_deliver(&s);
    d = &solo_sent(&s, -1, KL_WIRE_DESCRIBE_QUORUM, 1)
             ->describe_quorum_response;
    ck_assert_int_eq(d->error_code, KL_WIRE_NOT_LEADER);
    ck_assert_int_eq(d->leader_id, 2);
    ck_assert_int_eq(d->leader_epoch, 5);
    ck_assert_uint_eq(d->voters.count, 0);
}
END_TEST

/* An idle quorum elects nobody, and sends no more than its fetches. */
START_TEST(idle_is_quiet)
{
    struct world_options options = {.seed = 2, .nodes = 3, .voters = 3};
    struct world *w = world_new(&options);
    uint64_t sent;
    int32_t epoch;
    int64_t leo;

    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    world_run(w, 10 * SECOND);
    sent = w->sent;
    epoch = world_view(w, 0).epoch;
    leo = world_view(w, 0).leo;
    world_run(w, 3600 * SECOND);
    ck_assert_int_eq(world_view(w, 0).epoch, epoch);
    ck_assert_int_eq(world_view(w, 0).leo, leo);
    /* Two followers, a question and an answer each half a second. */
    ck_assert_uint_le(w->sent - sent, 2 * 2 * 2 * 3600);
    world_free(w);
}
END_TEST

/* Endpoints that changed are made known (rule 11). */
START_TEST(a_voter_updates_its_entry)
{
    static const uint8_t endpoint[] = "\3\0a:1";
    struct kl_wire_message fetch;
    const struct kl_wire_message *update;

    solo_init(&s, 3);
    s.options.endpoints = (struct kl_wire_texts){endpoint, 5, 1};
    solo_start(&s);
    solo_time(&s, SECOND);
    solo_follow(&s, 1, &fetch);
    solo_answer(&s, &fetch, NULL, 0, 0);
    for (int i = 0; i < 2; i++) {
        update = NULL;
        for (int n = 0; !update && n < 20; n++) {
            solo_wait(&s);
            update = solo_sent(&s, 2, KL_WIRE_UPDATE_RAFT_VOTER, 0);
            if (solo_sent(&s, 2, KL_WIRE_FETCH, 0)) {
                fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
                solo_answer(&s, &fetch, NULL, 0, 0);
            }
        }
        ck_assert_int_eq(update != NULL, 1);
    }
}
END_TEST

START_TEST(a_leader_updates_its_entry)
{
    static const uint8_t endpoint[] = "\3\0a:1";

    solo_init(&s, 1);
    s.options.endpoints = (struct kl_wire_texts){endpoint, 5, 1};
    solo_start(&s);
    while (solo_view(&s).role != KL_RAFT_CANDIDATE)
        solo_wait(&s);
    solo_persist(&s);
    solo_durable(&s, 3);
    solo_applied(&s, 3);
    while (solo_count(&s, KL_RAFT_APPEND) == 0)
        solo_wait(&s);
    ck_assert_int_eq(solo_view(&s).voters.offset, 3);
    ck_assert_uint_eq(solo_view(&s).voters.voters.items[0].endpoints.count, 1);
    solo_durable(&s, 4);
    ck_assert_int_eq(kl_raft_deadline(s.raft), KL_RAFT_NEVER);
}
END_TEST

Suite *suite_raft_raft(void);
Suite *suite_raft_raft(void)
{
    Suite *suite = suite_create("raft_raft");
    TCase *t = tcase_create("raft");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, refuses_what_contradicts_itself);
    tcase_add_test(t, without_memory);
    tcase_add_test(t, describes_the_quorum);
    tcase_add_test(t, idle_is_quiet);
    tcase_add_test(t, a_voter_updates_its_entry);
    tcase_add_test(t, a_leader_updates_its_entry);
    suite_add_tcase(suite, t);
    return suite;
}
