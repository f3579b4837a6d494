/*
 * A test that plays everything around one node.
 */
#include "raft_solo.h"

#include <check.h>
#include <string.h>

struct kl_base_uuid solo_directory(int id)
{
    struct kl_base_uuid uuid = {{(uint8_t)id, 0xd1}};

    return uuid;
}

struct kl_base_uuid solo_session(int id)
{
    struct kl_base_uuid uuid = {{(uint8_t)id, 0x5e}};

    return uuid;
}

struct kl_wire_voter_key solo_key(int id)
{
    struct kl_wire_voter_key key = {id, solo_directory(id)};

    return key;
}

void solo_init(struct solo *s, int voters)
{
    memset(s, 0, sizeof *s);
    fail_alloc_init(&s->memory);
    kl_raft_effects_init(&s->effects, &s->memory.alloc);
    kl_batch_epochs_init(&s->epochs);
    s->now = 1000 * SECOND;
    s->options.self = solo_key(1);
    s->options.cluster_id.bytes[0] = 0xc1;
    s->options.topic_id.bytes[0] = 0x70;
    s->options.session_id = solo_session(1);
    s->options.seed = 1;
    s->recovered.epochs = &s->epochs;
    s->recovered.snapshot.end_offset = -1;
    s->recovered.quorum.leader_id = -1;
    s->recovered.quorum.voted.node_id = -1;
    for (int i = 0; i < voters; i++) {
        s->voters[i].node_id = i + 1;
        s->voters[i].directory_id = solo_directory(i + 1);
        s->voters[i].version_max = 1;
    }
    s->set.offset = -1;
    s->set.voters.items = s->voters;
    s->set.voters.count = (uint32_t)voters;
    s->recovered.voters = &s->set;
    s->recovered.voters_count = voters > 0;
}

void solo_log(struct solo *s, int32_t epoch, int64_t end)
{
    ck_assert_int_eq(kl_batch_epochs_append(&s->epochs, &s->memory.alloc, epoch,
                                            s->recovered.leo),
                     0);
    s->recovered.leo = end;
    if (s->recovered.quorum.epoch < epoch)
        s->recovered.quorum.epoch = epoch;
}

void solo_start(struct solo *s)
{
    struct kl_raft_event event = {.type = KL_RAFT_TIME};
    struct kl_base_error e = {0};

    if (kl_raft_new(&s->raft, &s->memory.alloc, &s->options, &s->recovered, &e))
        ck_abort_msg("%s", e.text);
    s->persisted = 0;
    solo_step(s, &event);
}

void solo_free(struct solo *s)
{
    kl_raft_free(s->raft);
    kl_raft_effects_deinit(&s->effects);
    kl_batch_epochs_deinit(&s->epochs, &s->memory.alloc);
    fail_alloc_deinit(&s->memory);
}

/* ---- steps -------------------------------------------------------------- */

void solo_step(struct solo *s, struct kl_raft_event *event)
{
    const char *broken;

    event->now = s->now;
    ck_assert_int_eq(kl_raft_step(s->raft, event, &s->effects), 0);
    for (size_t i = 0; i < s->effects.count; i++)
        if (s->effects.items[i].type == KL_RAFT_PERSIST)
            s->persisted = s->effects.items[i].persist.id;
    broken = kl_raft_check_invariants(s->raft);
    if (broken)
        ck_abort_msg("%s", broken);
}

void solo_time(struct solo *s, int64_t later)
{
    struct kl_raft_event event = {.type = KL_RAFT_TIME};

    s->now += later;
    solo_step(s, &event);
}

void solo_wait(struct solo *s)
{
    int64_t at = kl_raft_deadline(s->raft);

    ck_assert_int_ne(at, KL_RAFT_NEVER);
    solo_time(s, at > s->now ? at - s->now : 0);
}

void solo_persist(struct solo *s)
{
    struct kl_raft_event event = {.type = KL_RAFT_PERSISTED};

    event.persisted.id = s->persisted;
    solo_step(s, &event);
}

void solo_durable(struct solo *s, int64_t offset)
{
    struct kl_raft_event event = {.type = KL_RAFT_DURABLE};

    event.durable.generation = solo_view(s).generation;
    event.durable.offset = offset;
    solo_step(s, &event);
}

void solo_applied(struct solo *s, int64_t offset)
{
    struct kl_raft_event event = {.type = KL_RAFT_APPLIED};

    event.applied.offset = offset;
    solo_step(s, &event);
}

struct kl_raft_view solo_view(struct solo *s)
{
    struct kl_raft_view view;

    kl_raft_view(s->raft, &view);
    return view;
}

/* ---- messages ----------------------------------------------------------- */

static int64_t next_correlation = 1;

struct kl_wire_message *solo_request(struct solo *s, int from,
                                     enum kl_wire_api api)
{
    struct kl_wire_envelope *v = &s->message.envelope;

    memset(&s->message, 0, sizeof s->message);
    v->api_key = (int16_t)api;
    v->correlation_id = next_correlation++;
    v->cluster_id = s->options.cluster_id;
    v->source_id = from;
    v->source_directory = solo_directory(from);
    v->source_session = solo_session(from);
    v->destination_id = 1;
    v->destination_directory = solo_directory(1);
    return &s->message;
}

struct kl_wire_message *solo_response(struct solo *s,
                                      const struct kl_wire_message *to,
                                      int32_t epoch, int leader)
{
    struct kl_wire_begin_quorum_epoch_response *head =
        &s->message.begin_quorum_epoch_response;
    int64_t id = to->envelope.correlation_id;
    int16_t api = to->envelope.api_key;

    solo_request(s, to->envelope.destination_id, (enum kl_wire_api)api);
    s->message.envelope.is_response = 1;
    s->message.envelope.correlation_id = id;
    head->leader_epoch = epoch;
    head->leader_id = leader > 0 ? leader : -1;
    return &s->message;
}

void solo_deliver_batches(struct solo *s, const struct kl_raft_batch *batches,
                          uint32_t count)
{
    struct kl_raft_event event = {.type = KL_RAFT_MESSAGE};

    event.message.message = &s->message;
    event.message.batches = batches;
    event.message.batch_count = count;
    solo_step(s, &event);
}

void solo_deliver(struct solo *s)
{
    solo_deliver_batches(s, NULL, 0);
}

/* ---- effects ------------------------------------------------------------ */

int solo_count(const struct solo *s, enum kl_raft_effect_type type)
{
    int count = 0;

    for (size_t i = 0; i < s->effects.count; i++)
        count += s->effects.items[i].type == type;
    return count;
}

const struct kl_raft_effect *solo_effect(const struct solo *s,
                                         enum kl_raft_effect_type type, int i)
{
    for (size_t at = 0; at < s->effects.count; at++)
        if (s->effects.items[at].type == type && i-- == 0)
            return &s->effects.items[at];
    ck_abort_msg("no effect of type %d", (int)type);
}

const struct kl_wire_message *solo_sent(const struct solo *s, int to,
                                        enum kl_wire_api api, int is_response)
{
    for (size_t i = 0; i < s->effects.count; i++) {
        const struct kl_raft_effect *e = &s->effects.items[i];
        const struct kl_wire_envelope *v = &e->send.message.envelope;

        if (e->type == KL_RAFT_SEND && v->destination_id == to &&
            v->api_key == (int16_t)api && v->is_response == is_response)
            return &e->send.message;
    }
    return NULL;
}

/* ---- common ways -------------------------------------------------------- */

void solo_fetch(struct solo *s, int from, int32_t epoch, int64_t offset,
                int32_t last_epoch, int64_t durable)
{
    struct kl_wire_message *m = solo_request(s, from, KL_WIRE_FETCH);

    memset(&s->fetch, 0, sizeof s->fetch);
    m->fetch_request.max_wait_ms = 500;
    m->fetch_request.max_bytes = 1 << 20;
    m->fetch_request.partitions.items = &s->fetch;
    m->fetch_request.partitions.count = 1;
    s->fetch.topic_id = s->options.topic_id;
    s->fetch.current_leader_epoch = epoch;
    s->fetch.fetch_offset = offset;
    s->fetch.last_fetched_epoch = last_epoch;
    s->fetch.durable_offset = durable;
    s->fetch.high_watermark = s->known;
    s->fetch.max_bytes = 1 << 20;
    solo_deliver(s);
}

void solo_vote(struct solo *s, int from, int32_t epoch, int32_t last_epoch,
               int64_t last_offset, int pre_vote)
{
    struct kl_wire_message *m = solo_request(s, from, KL_WIRE_VOTE);

    m->vote_request.candidate_epoch = epoch;
    m->vote_request.last_epoch = last_epoch;
    m->vote_request.last_offset = last_offset;
    m->vote_request.pre_vote = (int8_t)pre_vote;
    solo_deliver(s);
}

void solo_begin(struct solo *s, int from, int32_t epoch)
{
    solo_request(s, from, KL_WIRE_BEGIN_QUORUM_EPOCH)
        ->begin_quorum_epoch_request.leader_epoch = epoch;
    solo_deliver(s);
}

static void grant_from_2(struct solo *s)
{
    const struct kl_wire_message *vote = solo_sent(s, 2, KL_WIRE_VOTE, 0);

    ck_assert_ptr_nonnull(vote);
    solo_response(s, vote, vote->vote_request.candidate_epoch, 0)
        ->vote_response.vote_granted = 1;
    solo_deliver(s);
}

void solo_campaign(struct solo *s)
{
    for (int i = 0; solo_view(s).role != KL_RAFT_PROSPECTIVE; i++) {
        ck_assert_int_lt(i, 20);
        solo_wait(s);
    }
    grant_from_2(s);
    ck_assert_int_eq(solo_view(s).role, KL_RAFT_CANDIDATE);
}

void solo_lead(struct solo *s)
{
    struct kl_wire_message vote;

    solo_campaign(s);
    vote = *solo_sent(s, 2, KL_WIRE_VOTE, 0);
    solo_persist(s);
    solo_response(s, &vote, solo_view(s).epoch, 0)->vote_response.vote_granted =
        1;
    solo_deliver(s);
    ck_assert_int_eq(solo_view(s).role, KL_RAFT_LEADER);
}

void solo_follow(struct solo *s, int32_t epoch, struct kl_wire_message *fetch)
{
    const struct kl_wire_message *sent;

    solo_begin(s, 2, epoch);
    ck_assert_int_eq(solo_view(s).role, KL_RAFT_FOLLOWER);
    sent = solo_sent(s, 2, KL_WIRE_FETCH, 0);
    ck_assert_ptr_nonnull(sent);
    *fetch = *sent;
    solo_persist(s);
}

void solo_answer(struct solo *s, const struct kl_wire_message *fetch,
                 const struct kl_raft_batch *batches, uint32_t count,
                 int64_t high_watermark)
{
    struct kl_wire_message *m =
        solo_response(s, fetch, solo_view(s).epoch, solo_view(s).leader_id);

    memset(&s->fetched, 0, sizeof s->fetched);
    m->fetch_response.partitions.items = &s->fetched;
    m->fetch_response.partitions.count = 1;
    s->fetched.topic_id = s->options.topic_id;
    s->fetched.fetch_offset = solo_view(s).leo;
    s->fetched.high_watermark = high_watermark;
    s->fetched.diverging_epoch = -1;
    s->fetched.diverging_end_offset = -1;
    s->fetched.snapshot_end_offset = -1;
    s->fetched.snapshot_epoch = -1;
    s->fetched.records.data = (const uint8_t *)"records";
    s->fetched.records.size = count ? 7 : 0;
    solo_deliver_batches(s, batches, count);
}
