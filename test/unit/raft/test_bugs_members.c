/*
 * Snapshots, membership and identity: what other implementations got wrong.
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
    struct world_options options = {.seed = 11};

    options.nodes = nodes;
    options.voters = voters;
    options.links_tell = 1;
    w = world_new(&options);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
}

static int voters_of(struct world *world, int node)
{
    return (int)world_view(world, node).voters.voters.count;
}

/* Adds or removes, and waits for it. */
static int change(enum kl_raft_event_type type, int target, int force)
{
    struct world_call *c =
        world_change(w, world_leader(w)->index, type, target, force);

    world_run(w, 2 * SECOND);
    ck_assert(c->is_done);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    return c->code;
}

/* ---- snapshots ---------------------------------------------------------- */

/* The snapshot was installed, the log not yet reset: it goes on behind the
 * snapshot, and nothing of the old log is left. */
START_TEST(B24_a_snapshot_ahead_of_the_log)
{
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_log(&s, 1, 5);
    s.recovered.snapshot.end_offset = 5 + 15 * _i;
    s.recovered.snapshot.epoch = 3;
    s.recovered.quorum.epoch = 4;
    /* Once the log ends before it, once it ends at it in another epoch. */
    if (_i == 0)
        solo_log(&s, 2, 9);
    s.recovered.quorum.epoch = 4;
    solo_start(&s);
    ck_assert_int_eq(solo_view(&s).log_start, s.recovered.snapshot.end_offset);
    ck_assert_int_eq(solo_view(&s).leo, s.recovered.snapshot.end_offset);
    ck_assert_int_eq(solo_view(&s).generation, 1);
    solo_begin(&s, 2, 5);
    fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    ck_assert_int_eq(fetch.fetch_request.partitions.items[0].fetch_offset,
                     s.recovered.snapshot.end_offset);
    ck_assert_int_eq(fetch.fetch_request.partitions.items[0].last_fetched_epoch,
                     3);
}
END_TEST

/* Answers the fetch with a snapshot to load and plays its download; the last
 * piece is written, the installation under way. */
static void download(struct kl_wire_message *fetch, int64_t end, int32_t epoch)
{
    struct kl_raft_event written = {.type = KL_RAFT_SNAPSHOT_WRITTEN};
    struct kl_wire_message request;
    struct kl_wire_message *m =
        solo_response(&s, fetch, solo_view(&s).epoch, solo_view(&s).leader_id);

    memset(&s.fetched, 0, sizeof s.fetched);
    m->fetch_response.partitions.items = &s.fetched;
    m->fetch_response.partitions.count = 1;
    s.fetched.topic_id = s.options.topic_id;
    s.fetched.fetch_offset = solo_view(&s).leo;
    s.fetched.diverging_epoch = -1;
    s.fetched.snapshot_end_offset = end;
    s.fetched.snapshot_epoch = epoch;
    solo_deliver(&s);
    for (int i = 0; i < 2; i++) {
        const struct kl_wire_message *sent =
            solo_sent(&s, 2, KL_WIRE_FETCH_SNAPSHOT, 0);

        ck_assert_ptr_nonnull(sent);
        request = *sent;
        ck_assert_int_eq(request.fetch_snapshot_request.position, 4 * i);
        m = solo_response(&s, &request, solo_view(&s).epoch,
                          solo_view(&s).leader_id);
        m->fetch_snapshot_response.end_offset = end;
        m->fetch_snapshot_response.epoch = epoch;
        m->fetch_snapshot_response.size = 8;
        m->fetch_snapshot_response.position = 4 * i;
        m->fetch_snapshot_response.bytes =
            (struct kl_wire_bytes){(const uint8_t *)"piec", 4};
        solo_deliver(&s);
        ck_assert_int_eq(
            solo_effect(&s, KL_RAFT_SNAPSHOT_WRITE, 0)->snapshot_write.position,
            4 * i);
        written.snapshot_written.id = (struct kl_raft_snapshot_id){end, epoch};
        written.snapshot_written.position = 4 * (i + 1);
        solo_step(&s, &written);
    }
    ck_assert_int_eq(solo_count(&s, KL_RAFT_SNAPSHOT_INSTALL), 1);
}

static void installed(int64_t end, int32_t epoch, int code)
{
    struct kl_raft_event event = {.type = KL_RAFT_SNAPSHOT_INSTALLED};

    event.snapshot_installed.id = (struct kl_raft_snapshot_id){end, epoch};
    event.snapshot_installed.code = code;
    event.snapshot_installed.voters.offset = 1;
    event.snapshot_installed.voters.voters = s.set.voters;
    solo_step(&s, &event);
}

/* No snapshot is taken of a state that is about to be replaced. */
START_TEST(B25_no_snapshot_during_an_installation)
{
    struct kl_wire_message fetch;
    struct kl_raft_batch b = {0, 5, 1, 10, NULL};
    struct kl_raft_snapshot_id id;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    solo_answer(&s, &fetch, &b, 1, 5);
    solo_durable(&s, 5);
    fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    solo_applied(&s, 5);
    ck_assert_int_eq(kl_raft_snapshot_id_at(s.raft, 5, &id), 0);
    download(&fetch, 50, 1);
    ck_assert_int_eq(kl_raft_snapshot_id_at(s.raft, 5, &id), KL_EOFFSETRANGE);
    installed(50, 1, KL_ECORRUPT);
    ck_assert_int_eq(kl_raft_snapshot_id_at(s.raft, 5, &id), 0);
    ck_assert_int_eq(solo_view(&s).leo, 5);
}
END_TEST

/* The snapshot comes when the log has already passed its end: what is behind
 * stays. */
START_TEST(B26_a_late_snapshot_keeps_what_is_newer)
{
    struct kl_wire_message fetch;
    struct kl_raft_batch b[] = {{0, 5, 1, 10, NULL}, {5, 8, 1, 10, NULL}};

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    download(&fetch, 5, 1);
    solo_begin(&s, 3, 2);
    fetch = *solo_sent(&s, 3, KL_WIRE_FETCH, 0);
    solo_answer(&s, &fetch, b, 2, 0);
    solo_durable(&s, 8);
    installed(5, 1, 0);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_RESET), 0);
    ck_assert_int_eq(solo_view(&s).leo, 8);
    ck_assert_int_eq(solo_view(&s).durable_leo, 8);
    ck_assert_int_eq(solo_view(&s).snapshot.end_offset, 5);
    ck_assert_int_eq(solo_view(&s).high_watermark, 5);
}
END_TEST

/* A snapshot of an older epoch sets no epoch back. */
START_TEST(B27_an_installation_keeps_the_epoch)
{
    struct kl_wire_message fetch;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 7, &fetch);
    download(&fetch, 50, 3);
    installed(50, 3, 0);
    ck_assert_int_eq(
        solo_effect(&s, KL_RAFT_RESET, 0)->reset.snapshot.end_offset, 50);
    ck_assert_int_eq(solo_view(&s).epoch, 7);
    ck_assert_int_eq(solo_view(&s).high_watermark, 50);
    ck_assert_int_eq(solo_view(&s).voters.offset, 1);
    ck_assert_int_eq(solo_sent(&s, 2, KL_WIRE_FETCH, 0)
                         ->fetch_request.partitions.items[0]
                         .fetch_offset,
                     50);
}
END_TEST

/* It begins again each time, later and later, and counts. */
START_TEST(B28_a_failing_download_is_bounded)
{
    struct kl_wire_message fetch;
    int64_t waited = 0;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    for (int i = 0; i < 8; i++) {
        int64_t before;

        download(&fetch, 50, 1);
        installed(50, 1, KL_ECORRUPT);
        ck_assert_uint_eq(solo_view(&s).counters.snapshot_failures,
                          (uint64_t)i + 1);
        before = s.now;
        while (!solo_sent(&s, 2, KL_WIRE_FETCH, 0))
            solo_wait(&s);
        ck_assert_int_ge(s.now - before, waited);
        waited = s.now - before;
        fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    }
    ck_assert_int_ge(waited, 500 * MS);
    ck_assert_int_le(waited, 2 * SECOND);
}
END_TEST

/* Of two snapshots the newer one counts, in either order. */
START_TEST(B29_an_older_snapshot_is_dropped)
{
    struct kl_raft_event taken = {.type = KL_RAFT_SNAPSHOT_TAKEN};

    solo_init(&s, 1);
    solo_start(&s);
    while (solo_view(&s).role != KL_RAFT_CANDIDATE)
        solo_wait(&s);
    solo_persist(&s);
    solo_durable(&s, 3);
    solo_applied(&s, 3);
    taken.taken.id = (struct kl_raft_snapshot_id){3, 1};
    solo_step(&s, &taken);
    ck_assert_int_eq(solo_view(&s).snapshot.end_offset, 3);
    taken.taken.id = (struct kl_raft_snapshot_id){2, 1};
    solo_step(&s, &taken);
    ck_assert_int_eq(solo_view(&s).snapshot.end_offset, 3);
    /* Nor one of what is not committed, or of another epoch. */
    taken.taken.id = (struct kl_raft_snapshot_id){4, 1};
    solo_step(&s, &taken);
    ck_assert_int_eq(solo_view(&s).snapshot.end_offset, 3);
}
END_TEST

/* ---- sets of voters ----------------------------------------------------- */

static struct kl_wire_control voters_record(int count)
{
    struct kl_wire_control c = {.type = KL_WIRE_VOTERS_CONTROL};

    c.voters.voters.items = s.voters;
    c.voters.voters.count = (uint32_t)count;
    return c;
}

/* A set that was appended and cut off again is not in force, and a snapshot
 * holds that of its end. */
START_TEST(B30_B31_an_uncommitted_set_is_forgotten)
{
    struct kl_wire_control two = voters_record(2), one = voters_record(1);
    struct kl_raft_batch b[] = {{0, 1, 1, 10, NULL},
                                {1, 2, 1, 10, &two},
                                {2, 5, 1, 10, NULL},
                                {5, 6, 1, 10, &one}};
    struct kl_wire_message fetch;
    struct kl_raft_voters at;

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    solo_answer(&s, &fetch, b, 4, 3);
    ck_assert_uint_eq(solo_view(&s).voters.voters.count, 1);
    ck_assert_int_eq(kl_raft_voters_at(s.raft, 3, &at), 0);
    ck_assert_uint_eq(at.voters.count, 2);
    ck_assert_int_eq(at.offset, 1);
    ck_assert_int_eq(kl_raft_voters_at(s.raft, 1, &at), 0);
    ck_assert_uint_eq(at.voters.count, 3);
    ck_assert_int_eq(at.offset, -1);
    solo_durable(&s, 6);
    fetch = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    solo_response(&s, &fetch, 1, 2);
    memset(&s.fetched, 0, sizeof s.fetched);
    s.message.fetch_response.partitions.items = &s.fetched;
    s.message.fetch_response.partitions.count = 1;
    s.fetched.topic_id = s.options.topic_id;
    s.fetched.fetch_offset = 6;
    s.fetched.diverging_epoch = 1;
    s.fetched.diverging_end_offset = 5;
    s.fetched.snapshot_end_offset = -1;
    solo_deliver(&s);
    ck_assert_uint_eq(solo_view(&s).voters.voters.count, 2);
    ck_assert_int_eq(solo_view(&s).voters.offset, 1);
}
END_TEST

/* ---- identity ----------------------------------------------------------- */

/* A voter comes back with an empty disk: it is no voter, never votes, and gets
 * in again only when the old directory was removed. */
START_TEST(B32_B33_a_wiped_voter_is_another_one)
{
    int victim, leader;

    world(3, 3);
    leader = world_leader(w)->index;
    victim = (leader + 1) % 3;
    world_propose(w, leader, 5);
    world_run(w, SECOND);
    world_crash(w, victim);
    world_wipe(w, victim);
    world_start(w, victim);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_eq(world_view(w, victim).is_voter, 0);
    ck_assert_int_eq(world_view(w, victim).refusal, KL_EFOREIGN);
    ck_assert_int_eq(world_view(w, victim).epoch, 1);
    /* Its number is taken by what it was. */
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, victim, 0), KL_EVOTEREXISTS);
    ck_assert_int_eq(change(KL_RAFT_REMOVE_VOTER, victim, 0), KL_ENOVOTER);
    {
        struct kl_base_uuid now = w->nodes[victim].directory;

        w->nodes[victim].directory = w->first_directories[victim];
        ck_assert_int_eq(
            world_change(w, leader, KL_RAFT_REMOVE_VOTER, victim, 0)->is_done,
            0);
        w->nodes[victim].directory = now;
    }
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    ck_assert_int_eq(voters_of(w, leader), 2);
    ck_assert_int_eq(change(KL_RAFT_ADD_VOTER, victim, 0), 0);
    ck_assert_int_eq(voters_of(w, leader), 3);
    ck_assert_int_eq(world_view(w, victim).is_voter, 1);
    ck_assert_int_eq(world_view(w, victim).refusal, 0);
}
END_TEST

/* What the leader says is committed is cut to what there is. */
START_TEST(B34_commit_is_not_beyond_the_log)
{
    struct kl_wire_message fetch;
    struct kl_raft_batch b = {0, 2, 1, 10, NULL};

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    solo_answer(&s, &fetch, &b, 1, 1000);
    ck_assert_int_eq(solo_view(&s).high_watermark, 2);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMMIT), 0);
    solo_durable(&s, 2);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMMIT, 0)->commit.offset, 2);
}
END_TEST

static int error_of(const struct solo *solo, int to, enum kl_wire_api api)
{
    const struct kl_wire_message *m = solo_sent(solo, to, api, 1);

    ck_assert_ptr_nonnull(m);
    return m->begin_quorum_epoch_response.error_code;
}

/* Two processes with one folder: who was first keeps it while it lives. */
START_TEST(B35_a_cloned_folder_is_refused)
{
    struct kl_base_uuid other = {{2, 0xcc}};

    solo_init(&s, 3);
    solo_start(&s);
    s.now += 2 * SECOND;
    solo_vote(&s, 2, 5, -1, 0, 1);
    solo_request(&s, 2, KL_WIRE_VOTE)->envelope.source_session = other;
    s.message.vote_request.candidate_epoch = 6;
    s.message.vote_request.last_epoch = -1;
    solo_deliver(&s);
    ck_assert_int_eq(error_of(&s, 2, KL_WIRE_VOTE), KL_WIRE_DUPLICATE_NODE);
    ck_assert_int_eq(solo_view(&s).epoch, 5);
    ck_assert_uint_eq(solo_view(&s).counters.duplicates, 1);
    /* Another directory of a living node is no better. */
    solo_request(&s, 2, KL_WIRE_VOTE)->envelope.source_directory = other;
    s.message.vote_request.candidate_epoch = 6;
    s.message.vote_request.last_epoch = -1;
    solo_deliver(&s);
    ck_assert_int_eq(error_of(&s, 2, KL_WIRE_VOTE), KL_WIRE_DUPLICATE_NODE);
    /* Nor one that calls itself as this node. */
    solo_request(&s, 1, KL_WIRE_VOTE)->envelope.source_session = other;
    s.message.vote_request.candidate_epoch = 6;
    s.message.vote_request.last_epoch = -1;
    solo_deliver(&s);
    ck_assert_int_eq(error_of(&s, 1, KL_WIRE_VOTE), KL_WIRE_DUPLICATE_NODE);
    ck_assert_int_eq(solo_view(&s).epoch, 5);
    /* The first one is gone: it was a restart. */
    s.now += 3 * SECOND;
    solo_request(&s, 2, KL_WIRE_VOTE)->envelope.source_session = other;
    s.message.vote_request.candidate_epoch = 6;
    s.message.vote_request.last_epoch = -1;
    solo_deliver(&s);
    ck_assert_int_eq(error_of(&s, 2, KL_WIRE_VOTE), 0);
}
END_TEST

/* The clone itself: it asks before it votes, is told, and stays silent. */
START_TEST(B35_a_clone_does_not_vote)
{
    struct kl_wire_message probes[2];

    solo_init(&s, 3);
    solo_start(&s);
    probes[0] = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    probes[1] = *solo_sent(&s, 3, KL_WIRE_FETCH, 0);
    solo_vote(&s, 2, 5, -1, 0, 0);
    ck_assert_int_eq(
        solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted, 0);
    solo_response(&s, &probes[1], 5, 0)->fetch_response.error_code =
        KL_WIRE_DUPLICATE_NODE;
    solo_deliver(&s);
    ck_assert_int_eq(solo_view(&s).refusal, KL_EDUPLICATENODE);
    for (int i = 0; i < 10; i++) {
        const struct kl_wire_message *probe;

        solo_time(&s, SECOND / 2);
        ck_assert_int_ne(solo_view(&s).role, KL_RAFT_PROSPECTIVE);
        solo_vote(&s, 2, 6 + i, -1, 0, 0);
        ck_assert_int_eq(
            solo_sent(&s, 2, KL_WIRE_VOTE, 1)->vote_response.vote_granted, 0);
        solo_time(&s, SECOND);
        probe = solo_sent(&s, 3, KL_WIRE_FETCH, 0);
        ck_assert_ptr_nonnull(probe);
        probes[1] = *probe;
        solo_response(&s, &probes[1], 5, 0)->fetch_response.error_code =
            KL_WIRE_DUPLICATE_NODE;
        solo_deliver(&s);
    }
    /* The other one has gone, and nobody objects any more. */
    solo_time(&s, 3 * SECOND);
    ck_assert_int_eq(solo_view(&s).refusal, 0);
    ck_assert_int_eq(solo_view(&s).may_vote, 1);
}
END_TEST

/* A folder that is older than it was: peers remember its epoch and what it had
 * acknowledged, it learns of it, and stops. */
START_TEST(B36_a_restored_folder_is_refused)
{
    struct kl_base_uuid again = {{2, 0xbb}};

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    ck_assert_int_eq(solo_view(&s).high_watermark, 3);
    for (int i = 0; i < 2; i++) {
        s.now += SECOND;
        solo_fetch(&s, 3, 1, 3, 1, 3);
    }
    s.now += SECOND;
    solo_fetch(&s, 3, 1, 3, 1, 3);
    /* Another start, with an older epoch, or a shorter log. */
    for (int i = 0; i < 3; i++) {
        solo_request(&s, 2, KL_WIRE_FETCH)->envelope.source_session = again;
        memset(&s.fetch, 0, sizeof s.fetch);
        s.message.fetch_request.partitions.items = &s.fetch;
        s.message.fetch_request.partitions.count = 1;
        s.fetch.topic_id = s.options.topic_id;
        s.fetch.current_leader_epoch = i == 0 ? 0 : 1;
        s.fetch.fetch_offset = i == 1 ? 2 : 3;
        s.fetch.durable_offset = s.fetch.fetch_offset;
        s.fetch.last_fetched_epoch = 1;
        solo_deliver(&s);
        if (i < 2)
            ck_assert_int_eq(error_of(&s, 2, KL_WIRE_FETCH),
                             KL_WIRE_LOG_REGRESSED);
        else
            ck_assert_int_eq(error_of(&s, 2, KL_WIRE_FETCH), 0);
    }
    ck_assert_uint_eq(solo_view(&s).counters.regressions, 2);
}
END_TEST

START_TEST(B36_a_restored_node_stops)
{
    struct kl_wire_message probe;

    solo_init(&s, 3);
    solo_start(&s);
    probe = *solo_sent(&s, 2, KL_WIRE_FETCH, 0);
    solo_response(&s, &probe, 5, 0)->fetch_response.error_code =
        KL_WIRE_LOG_REGRESSED;
    solo_deliver(&s);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_FAULT, 0)->fault.code,
                     KL_EREGRESSED);
    ck_assert_int_eq(solo_view(&s).fault, KL_EREGRESSED);
    solo_vote(&s, 3, 9, 8, 100, 0);
    ck_assert_uint_eq(s.effects.count, 0);
}
END_TEST

/* In a cluster: a voter's disk goes back in time. It votes in no epoch twice
 * (the oracle looks), and stops by name. */
START_TEST(B36_a_backup_of_a_voter)
{
    static struct world_disk backup;
    int victim;

    world(3, 3);
    victim = (world_leader(w)->index + 1) % 3;
    backup = w->nodes[victim].disk;
    for (int i = 0; i < 3; i++) {
        world_propose(w, world_leader(w)->index, 3);
        world_run(w, SECOND);
    }
    /* A new epoch, too. */
    if (_i)
        world_hand_over(w, world_leader(w)->index, -1);
    world_run(w, 5 * SECOND);
    world_crash(w, victim);
    w->nodes[victim].disk = backup;
    w->nodes[victim].epoch_sent = 0;
    world_run(w, 5 * SECOND);
    world_start(w, victim);
    world_run(w, 5 * SECOND);
    ck_assert_int_eq(w->nodes[victim].fault, KL_EREGRESSED);
    ck_assert(world_has_leader(w));
}
END_TEST

/* ---- removing the leader ------------------------------------------------ */

/* The high watermark is that of the new set, and never falls. */
START_TEST(B37_a_removed_leader_does_not_count_itself)
{
    int leader;
    struct world_call *c;

    world(3, 3);
    leader = world_leader(w)->index;
    c = world_change(w, leader, KL_RAFT_REMOVE_VOTER, leader, 0);
    ck_assert_int_eq(world_view(w, leader).role, KL_RAFT_LEADER);
    ck_assert_int_eq(world_view(w, leader).is_voter, 0);
    world_run(w, 10 * SECOND);
    ck_assert_int_eq(c->code, 0);
    ck_assert(world_until(w, 10 * SECOND, world_is_settled));
    ck_assert_int_ne(world_leader(w)->index, leader);
    ck_assert_int_eq(voters_of(w, leader), 2);
    ck_assert_int_eq(world_view(w, leader).is_voter, 0);
}
END_TEST

/* Leadership is lost right behind a control record: what is not committed is
 * told to nobody, so there is nothing to take back. */
START_TEST(B38_what_is_told_is_committed)
{
    struct kl_raft_event add = {.type = KL_RAFT_ADD_VOTER};

    solo_init(&s, 3);
    solo_start(&s);
    solo_lead(&s);
    solo_durable(&s, 3);
    solo_fetch(&s, 2, 1, 3, 1, 3);
    solo_applied(&s, 3);
    solo_fetch(&s, 4, 1, 3, 1, 3);
    add.change.token = 7;
    add.change.voter.node_id = 4;
    add.change.voter.directory_id = solo_directory(4);
    add.change.voter.version_max = 1;
    add.change.voters_offset = -1;
    solo_step(&s, &add);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_APPEND, 0)->append.control.type,
                     KL_WIRE_VOTERS_CONTROL);
    ck_assert_uint_eq(solo_view(&s).voters.voters.count, 4);
    solo_durable(&s, 4);
    solo_begin(&s, 2, 2);
    ck_assert_int_eq(solo_effect(&s, KL_RAFT_COMPLETE, 0)->complete.code,
                     KL_EUNKNOWN);
    ck_assert_int_eq(solo_count(&s, KL_RAFT_COMMIT), 0);
    ck_assert_int_eq(solo_view(&s).high_watermark, 3);
    ck_assert_uint_eq(solo_view(&s).voters.voters.count, 4);
}
END_TEST

/* The set of one who is behind names a disk of its leader that is no more: it
 * asks all the same, or it would never hear of the new one. */
START_TEST(B32_a_leader_with_another_disk)
{
    struct kl_wire_message fetch;
    struct kl_wire_voter_key none = {2, {{0}}};

    solo_init(&s, 3);
    solo_start(&s);
    solo_follow(&s, 1, &fetch);
    ck_assert_int_eq(fetch.envelope.destination_id, 2);
    ck_assert(kl_base_uuid_equal(&fetch.envelope.destination_directory,
                                 &none.directory_id));
}
END_TEST

Suite *suite_raft_bugs_members(void);
Suite *suite_raft_bugs_members(void)
{
    Suite *suite = suite_create("raft_bugs_members");
    TCase *t = tcase_create("members");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, B24_a_snapshot_ahead_of_the_log, 0, 2);
    tcase_add_test(t, B32_a_leader_with_another_disk);
    tcase_add_test(t, B25_no_snapshot_during_an_installation);
    tcase_add_test(t, B26_a_late_snapshot_keeps_what_is_newer);
    tcase_add_test(t, B27_an_installation_keeps_the_epoch);
    tcase_add_test(t, B28_a_failing_download_is_bounded);
    tcase_add_test(t, B29_an_older_snapshot_is_dropped);
    tcase_add_test(t, B30_B31_an_uncommitted_set_is_forgotten);
    tcase_add_test(t, B32_B33_a_wiped_voter_is_another_one);
    tcase_add_test(t, B34_commit_is_not_beyond_the_log);
    tcase_add_test(t, B35_a_cloned_folder_is_refused);
    tcase_add_test(t, B35_a_clone_does_not_vote);
    tcase_add_test(t, B36_a_restored_folder_is_refused);
    tcase_add_test(t, B36_a_restored_node_stops);
    tcase_add_loop_test(t, B36_a_backup_of_a_voter, 0, 2);
    tcase_add_test(t, B37_a_removed_leader_does_not_count_itself);
    tcase_add_test(t, B38_what_is_told_is_committed);
    suite_add_tcase(suite, t);
    return suite;
}
