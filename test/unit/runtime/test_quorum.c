/*
 * The metadata quorum of several nodes: joining, voters, elections, snapshots.
 */
#include "cluster_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct cluster_fixture c;

static struct kl_runtime_node *node(int index)
{
    return c.nodes[index].f.n;
}

static struct kl_raft_view view(int index)
{
    struct kl_raft_view v;

    kl_raft_view(node(index)->quorum.raft, &v);
    return v;
}

/* Asks the controller to make a node a voter, as that node would. */
static void ask_for_vote(int index)
{
    struct kl_runtime_node *n = node(index);
    const struct kl_store_identity *id = kl_store_identity(n->store);
    struct kl_wire_message m = {0};
    struct kl_base_buf endpoints;

    kl_base_buf_init(&endpoints, &kl_base_alloc_libc);
    m.envelope.api_key = KL_WIRE_ADD_RAFT_VOTER;
    m.envelope.cluster_id = id->cluster_id;
    m.envelope.source_id = n->id;
    m.envelope.source_directory = id->directory_id;
    m.envelope.source_session = n->links.session_id;
    m.envelope.correlation_id = ++n->requests.correlation_id;
    m.envelope.destination_id = view(index).leader_id;
    m.add_raft_voter_request.node_id = n->id;
    m.add_raft_voter_request.directory_id = id->directory_id;
    ck_assert_int_eq(kl_runtime_endpoints_own(
                         n, &endpoints, &m.add_raft_voter_request.endpoints),
                     0);
    m.add_raft_voter_request.version_max = 1;
    m.add_raft_voter_request.voters_offset = -1;
    m.add_raft_voter_request.timeout_ms = 10000;
    (void)kl_runtime_links_ask(n, &m);
    kl_base_buf_deinit(&endpoints);
}

static int is_voter(int index)
{
    return node(index)->quorum.raft && view(index).is_voter;
}

/* Refused until it has caught up, and while another change is under way. */
static void make_voter(int index)
{
    cluster_fixture_until(&c, cluster_fixture_is_caught_up(&c, index));
    for (int tries = 0; !is_voter(index); tries++) {
        ck_assert_int_lt(tries, 100);
        ask_for_vote(index);
        for (int i = 0; i < 100; i++)
            cluster_fixture_round(&c);
    }
}

static void open_voters(int count)
{
    cluster_fixture_init(&c, count);
    cluster_fixture_open_all(&c);
    for (int i = 1; i < count; i++)
        make_voter(i);
}

/* At the controller, as soon as there is one. */
static int command(const struct kl_runtime_wish *wish)
{
    struct kl_runtime_op *op;
    int r;

    cluster_fixture_until(&c, cluster_fixture_controller(&c) >= 0);
    r = kl_runtime_command(node(cluster_fixture_controller(&c)), wish, &op);
    if (r)
        return r;
    cluster_fixture_until(&c, kl_runtime_op_is_done(op));
    r = op->code;
    kl_runtime_op_unref(op);
    return r;
}

static int create(const char *name)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = name,
                                   .number = 1,
                                   .replication = 1};

    return command(&wish);
}

static int has_topic(int index, const char *name)
{
    const struct kl_runtime_topic *t = kl_runtime_topic_get(node(index), name);

    kl_runtime_topic_unref(node(index), t);
    return t != NULL;
}

static void teardown(void)
{
    cluster_fixture_deinit(&c);
}

START_TEST(observers_follow)
{
    struct kl_base_uuid cluster;

    cluster_fixture_init(&c, 3);
    cluster_fixture_open_all(&c);
    ck_assert_int_eq(create("t"), 0);
    cluster = kl_store_identity(node(0)->store)->cluster_id;
    for (int i = 1; i < 3; i++) {
        cluster_fixture_until(&c, has_topic(i, "t"));
        ck_assert(kl_base_uuid_equal(
            &kl_store_identity(node(i)->store)->cluster_id, &cluster));
        ck_assert(!is_voter(i));
    }
}
END_TEST

START_TEST(three_voters_outlive_one)
{
    int leader;

    open_voters(3);
    ck_assert_int_eq(create("a"), 0);
    for (int round = 0; round < 3; round++) {
        char name[16];

        leader = cluster_fixture_controller(&c);
        cluster_fixture_crash(&c, leader);
        cluster_fixture_until(&c, cluster_fixture_controller(&c) >= 0);
        ck_assert_int_ne(cluster_fixture_controller(&c), leader);
        (void)snprintf(name, sizeof name, "b%d", round);
        ck_assert_int_eq(create(name), 0);
        cluster_fixture_open(&c, leader);
        cluster_fixture_until(&c, cluster_fixture_is_caught_up(&c, leader) &&
                                      has_topic(leader, name));
        ck_assert(has_topic(leader, "a"));
    }
}
END_TEST

/* Who votes is in records, with where to be found; their bytes are gone when
 * the folder has been read. */
START_TEST(voters_are_those_of_before)
{
    struct kl_wire_voter_list before, after;
    int found = 0;

    open_voters(3);
    cluster_fixture_until(&c, view(2).voters.voters.count == 3 &&
                                  view(1).voters.voters.count == 3);
    before = view(1).voters.voters;
    cluster_fixture_stop(&c, 2); /* nothing of it stays in memory */
    cluster_fixture_open(&c, 2);
    after = view(2).voters.voters;
    ck_assert_uint_eq(after.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct kl_wire_texts *a = &before.items[i].endpoints;
        const struct kl_wire_texts *b = &after.items[i].endpoints;

        ck_assert_int_eq(after.items[i].node_id, before.items[i].node_id);
        ck_assert_uint_eq(b->size, a->size);
        ck_assert(a->size == 0 || memcmp(b->data, a->data, a->size) == 0);
        found += a->size > 0;
    }
    ck_assert_int_gt(found, 0);
}
END_TEST

/* A stop hands the leadership over: no timeout passes. */
START_TEST(stop_resigns)
{
    int64_t before;
    int leader;

    open_voters(3);
    leader = cluster_fixture_controller(&c);
    before = c.now_ns;
    cluster_fixture_stop(&c, leader);
    cluster_fixture_until(&c, cluster_fixture_controller(&c) >= 0);
    ck_assert_int_lt(c.now_ns - before, 900000000);
    ck_assert_int_eq(create("t"), 0);
}
END_TEST

START_TEST(all_restart)
{
    open_voters(3);
    ck_assert_int_eq(create("t"), 0);
    for (int i = 0; i < 3; i++)
        cluster_fixture_crash(&c, i);
    cluster_fixture_open_all(&c);
    for (int i = 0; i < 3; i++)
        ck_assert(has_topic(i, "t"));
    ck_assert_int_eq(create("u"), 0);
}
END_TEST

/* Who is cut off leads no more, and what it has not committed is gone. */
START_TEST(leader_is_cut_off)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "lost",
                                   .number = 1,
                                   .replication = 1};
    struct kl_runtime_op *op;
    int leader;

    open_voters(3);
    leader = cluster_fixture_controller(&c);
    cluster_fixture_cut(&c, leader);
    op = cluster_fixture_begin(&c, leader, &wish);
    cluster_fixture_until(&c, kl_runtime_op_is_done(op));
    ck_assert_int_eq(op->code, KL_EUNKNOWN);
    kl_runtime_op_unref(op);
    ck_assert_int_eq(create("t"), 0);
    cluster_fixture_join(&c, leader);
    cluster_fixture_until(&c, has_topic(leader, "t"));
    ck_assert(!has_topic(leader, "lost"));
}
END_TEST

static void config_all(const char *key, const char *value)
{
    for (int i = 0; i < c.count; i++)
        node_fixture_set(&c.nodes[i].f, key, value);
}

/* One that was away gets a snapshot, and keeps it over a restart. */
START_TEST(snapshot_for_one_that_was_away)
{
    char name[32];

    cluster_fixture_init(&c, 3);
    config_all("metadata.log.max.record.bytes.between.snapshots", "65536");
    cluster_fixture_open_all(&c);
    make_voter(1);
    make_voter(2);
    ck_assert_int_eq(create("first"), 0);
    cluster_fixture_crash(&c, 2);
    for (int i = 0; kl_base_stat_get(&node(0)->stats.snapshots) < 3; i++) {
        struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                       .topic = name};

        (void)snprintf(name, sizeof name, "t%d", i);
        ck_assert_int_eq(create(name), 0);
        if (i % 10)
            ck_assert_int_eq(command(&wish), 0);
    }
    ck_assert_int_gt(view(0).log_start, 0);
    for (int round = 0; round < 2; round++) {
        cluster_fixture_open(&c, 2);
        cluster_fixture_until(&c, cluster_fixture_is_caught_up(&c, 2));
        ck_assert_int_gt(view(2).log_start, 0);
        ck_assert(has_topic(2, "first"));
        ck_assert(has_topic(2, "t10"));
        ck_assert(!has_topic(2, "t11"));
        cluster_fixture_crash(&c, 2);
    }
    /* It leads with it, too. */
    cluster_fixture_open(&c, 2);
    cluster_fixture_until(&c, cluster_fixture_is_caught_up(&c, 2));
    cluster_fixture_crash(&c, 0);
    ck_assert_int_eq(create("last"), 0);
}
END_TEST

static uint64_t log_count(int index)
{
    return kl_base_stat_get(&kl_store_stats(node(index)->store)->logs);
}

/* A node that has no peers yet knows of what it had applied no more than its
 * last snapshot says. It deletes nothing on that word. */
START_TEST(restart_behind_a_snapshot)
{
    uint64_t logs[3];
    char name[32];

    cluster_fixture_init(&c, 3);
    config_all("metadata.log.max.record.bytes.between.snapshots", "65536");
    cluster_fixture_open_all(&c);
    make_voter(1);
    make_voter(2);
    for (int i = 0; kl_base_stat_get(&node(0)->stats.snapshots) < 2; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        ck_assert_int_eq(create(name), 0);
    }
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "after%d", i);
        ck_assert_int_eq(create(name), 0);
    }
    for (int i = 0; i < 3; i++)
        cluster_fixture_until(&c, has_topic(i, "after5"));
    for (int i = 0; i < 3; i++) {
        logs[i] = log_count(i);
        cluster_fixture_crash(&c, i);
    }
    for (int i = 0; i < 3; i++) {
        cluster_fixture_open(&c, i);
        for (int round = 0; round < 200; round++)
            cluster_fixture_round(&c);
        ck_assert_uint_eq(log_count(i), logs[i]);
        cluster_fixture_crash(&c, i);
    }
    cluster_fixture_open_all(&c);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(log_count(i), logs[i]);
}
END_TEST

/* One call for memory fails, at each node in turn, wherever that is. */
START_TEST(memory_fails)
{
    char name[32];

    cluster_fixture_init(&c, 3);
    config_all("metadata.log.max.record.bytes.between.snapshots", "65536");
    cluster_fixture_open_all(&c);
    make_voter(1);
    make_voter(2);
    for (int i = 0; i < 450; i++) {
        struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                       .topic = name};
        struct fail_alloc *memory = &c.nodes[i % 3].f.memory;
        int r;

        (void)snprintf(name, sizeof name, "t%d", i);
        fail_alloc_arm(memory, (uint64_t)(i / 3) % 40 + 1);
        r = create(name);
        ck_assert_msg(r == 0 || r == KL_ENOMEM, "%s", kl_error_name(r));
        if (i % 50 && r == 0) {
            r = command(&wish);
            ck_assert_msg(r == 0 || r == KL_ENOMEM, "%s", kl_error_name(r));
        }
        fail_alloc_arm(memory, 0);
    }
    ck_assert_int_eq(create("last"), 0);
    for (int i = 0; i < 3; i++)
        cluster_fixture_until(&c, has_topic(i, "last"));
    for (int i = 0; i < 450; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        ck_assert_int_eq(has_topic(0, name), has_topic(1, name));
        ck_assert_int_eq(has_topic(0, name), has_topic(2, name));
    }
    /* One that found no memory is taken a little later. */
    for (int i = 0; i < 3; i++)
        cluster_fixture_until(&c,
                              kl_base_stat_get(&node(i)->stats.snapshots) > 0);
}
END_TEST

/* ---- folders that are not what they were --------------------------------- */

static void refused(int index, int code)
{
    char text[256];

    cluster_fixture_until(&c, node(index)->quorum.raft &&
                                  view(index).refusal == code);
    kl_runtime_errmsg(node(index), text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, kl_base_error_lookup(code)->text));
    ck_assert_uint_eq(kl_base_stat_get(&node(index)->stats.quorum_refused), 1);
}

/* With one more of three gone nobody can be elected. */
static void does_not_vote(int index)
{
    int other = cluster_fixture_controller(&c);

    ck_assert_int_ne(other, index);
    cluster_fixture_crash(&c, other);
    for (int i = 0; i < 10000; i++) {
        cluster_fixture_round(&c);
        ck_assert_int_lt(cluster_fixture_controller(&c), 0);
    }
    ck_assert_uint_eq(view(index).counters.elections, 0);
    cluster_fixture_open(&c, other);
    ck_assert_int_eq(create("with_two"), 0);
}

START_TEST(folder_from_a_backup)
{
    struct sim_disk *backup;

    open_voters(3);
    cluster_fixture_stop(&c, 2);
    backup = cluster_fixture_copy(&c, 2);
    cluster_fixture_open(&c, 2);
    ck_assert_int_eq(create("t"), 0);
    cluster_fixture_until(&c, has_topic(2, "t"));
    cluster_fixture_crash(&c, 2);
    cluster_fixture_restore(&c, 2, backup);
    cluster_fixture_open(&c, 2);
    refused(2, KL_EREGRESSED);
    does_not_vote(2);
}
END_TEST

START_TEST(folder_wiped)
{
    open_voters(3);
    cluster_fixture_crash(&c, 2);
    cluster_fixture_wipe(&c, 2);
    cluster_fixture_open(&c, 2);
    refused(2, KL_EFOREIGN);
    does_not_vote(2);
    cluster_fixture_until(&c, has_topic(2, "with_two"));
}
END_TEST

/* Two processes with one folder: a copy that was started, too. */
START_TEST(folder_used_twice)
{
    struct sim_disk *copy;

    cluster_fixture_init(&c, 4);
    for (int i = 0; i < 3; i++)
        cluster_fixture_open(&c, i);
    make_voter(1);
    make_voter(2);
    cluster_fixture_stop(&c, 2);
    copy = cluster_fixture_copy(&c, 2);
    cluster_fixture_open(&c, 2);
    cluster_fixture_until(&c, cluster_fixture_is_caught_up(&c, 2));
    cluster_fixture_restore(&c, 3, copy);
    node_fixture_set(&c.nodes[3].f, "node.id", "3");
    cluster_fixture_open(&c, 3);
    refused(3, KL_EDUPLICATENODE);
    ck_assert_int_eq(create("t"), 0);
}
END_TEST

/* ---- what must not be taken ---------------------------------------------- */

START_TEST(joining_needs_somebody_to_ask)
{
    char text[256];

    cluster_fixture_init(&c, 2);
    node_fixture_set(&c.nodes[1].f, "controller.quorum.bootstrap.servers", "");
    ck_assert_int_eq(
        node_fixture_try_open(&c.nodes[1].f, KL_OPEN_CREATE | KL_OPEN_JOIN),
        KL_ECONFIG);
    kl_runtime_errmsg(node(1), text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "bootstrap.servers"));
    cluster_fixture_crash(&c, 1);
    node_fixture_set(&c.nodes[1].f, "controller.quorum.bootstrap.servers",
                     "1@memory:1");
    c.nodes[1].f.options.net = NULL;
    ck_assert_int_eq(node_fixture_try_open(&c.nodes[1].f, 0), KL_ECONFIG);
    kl_runtime_errmsg(node(1), text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "transport"));
    cluster_fixture_crash(&c, 1);
}
END_TEST

START_TEST(bad_bootstrap_servers)
{
    static const char *const bad[] = {"memory:1",     "x@memory:1", "1@",  "@",
                                      "2147483648@m", "1@m,,2@m",   "-1@m"};

    cluster_fixture_init(&c, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        node_fixture_set(&c.nodes[1].f, "controller.quorum.bootstrap.servers",
                         bad[i]);
        ck_assert_msg(node_fixture_try_open(&c.nodes[1].f,
                                            KL_OPEN_CREATE | KL_OPEN_JOIN) ==
                          KL_ECONFIG,
                      "%s", bad[i]);
        cluster_fixture_crash(&c, 1);
    }
}
END_TEST

START_TEST(one_transport_one_node)
{
    cluster_fixture_init(&c, 2);
    cluster_fixture_open(&c, 0);
    c.nodes[1].f.options.net = c.nodes[0].net;
    ck_assert_int_eq(node_fixture_try_open(&c.nodes[1].f, KL_OPEN_CREATE),
                     KL_EBUSY);
    cluster_fixture_crash(&c, 1);
    ck_assert_int_eq(create("t"), 0);
}
END_TEST

/* A vote as node 2 would send it to node 1, but for what is changed. */
static void vote_request(struct kl_wire_message *m)
{
    const struct kl_store_identity *to = kl_store_identity(node(0)->store);
    const struct kl_store_identity *from = kl_store_identity(node(1)->store);

    memset(m, 0, sizeof *m);
    m->envelope.api_key = KL_WIRE_VOTE;
    m->envelope.correlation_id = 1;
    m->envelope.cluster_id = to->cluster_id;
    m->envelope.source_id = from->node_id;
    m->envelope.source_directory = from->directory_id;
    m->envelope.source_session = node(1)->links.session_id;
    m->envelope.destination_id = to->node_id;
    m->envelope.destination_directory = to->directory_id;
    m->envelope.destination_session = node(0)->links.session_id;
    m->vote_request.candidate_epoch = view(0).epoch + 7;
    m->vote_request.last_epoch = view(0).epoch;
    m->vote_request.last_offset = INT64_MAX;
}

/* Over the link that node 2 has with node 1. */
static void send_bytes(const struct kl_base_buf *b)
{
    const struct kl_base_uuid no_session = {{0}};

    kl_runtime_links_send_bytes(node(1), 1, &no_session, b->data, b->size);
    for (int i = 0; i < 3; i++)
        cluster_fixture_round(&c);
}

static void send_message(const struct kl_wire_message *m)
{
    struct kl_base_buf b;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_wire_message_encode(m, &b, NULL), 0);
    send_bytes(&b);
    kl_base_buf_deinit(&b);
}

/* Counted, dropped, and nothing else. */
START_TEST(messages_of_others)
{
    struct kl_runtime_stats *s;
    struct kl_wire_message m;
    int32_t epoch;

    open_voters(3);
    s = &node(0)->stats;
    epoch = view(0).epoch;
    vote_request(&m);
    m.envelope.cluster_id.bytes[3] ^= 1;
    send_message(&m);
    ck_assert_uint_eq(kl_base_stat_get(&s->messages_foreign), 1);
    vote_request(&m);
    m.envelope.destination_id = 3;
    send_message(&m);
    ck_assert_uint_eq(kl_base_stat_get(&s->messages_misdirected), 1);
    vote_request(&m);
    m.envelope.destination_directory.bytes[0] ^= 1;
    send_message(&m);
    ck_assert_uint_eq(kl_base_stat_get(&s->messages_misdirected), 2);
    vote_request(&m);
    m.envelope.source_id = 3;
    send_message(&m);
    ck_assert_int_eq(view(0).epoch, epoch);
    /* The link is given up, and dialled again. */
    for (int i = 0; i < 200; i++)
        cluster_fixture_round(&c);
    /* Of a start that knows no more than this one does, or this one would be a
     * folder that is older than it was. */
    vote_request(&m);
    m.envelope.source_session.bytes[0] ^= 1;
    m.vote_request.candidate_epoch = epoch;
    m.vote_request.pre_vote = 1;
    send_message(&m);
    /* A link that begins with an old name carries nothing else, and is given
     * up for one that does. */
    cluster_fixture_until(&c, kl_base_stat_get(&s->messages_misdirected) >= 4);
    ck_assert_int_eq(create("t"), 0);
    cluster_fixture_until(&c, has_topic(1, "t"));
    ck_assert_uint_eq(kl_base_stat_get(&s->messages_malformed), 0);
}
END_TEST

/* What says that it is larger than any is counted too, and nobody waits for
 * the rest of it. */
START_TEST(oversized_message)
{
    struct kl_wire_message m;
    struct kl_base_buf b;
    struct kl_runtime_stats *s;

    open_voters(3);
    s = &node(0)->stats;
    vote_request(&m);
    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_wire_message_encode(&m, &b, NULL), 0);
    kl_base_put_le32(b.data, KL_WIRE_MESSAGE_MAX + 1);
    send_bytes(&b);
    kl_base_buf_deinit(&b);
    ck_assert_uint_eq(kl_base_stat_get(&s->messages_malformed), 1);
    cluster_fixture_until(&c, create("t") == 0);
}
END_TEST

/* A command that was forwarded comes again when it does harm. */
START_TEST(requests_replayed)
{
    struct kl_runtime_wish make = {.type = KL_RUNTIME_CREATE_TOPIC,
                                   .topic = "t",
                                   .number = 1,
                                   .replication = 1};
    struct kl_runtime_wish remove = {.type = KL_RUNTIME_DELETE_TOPIC,
                                     .topic = "t"};
    struct kl_base_buf copy;

    open_voters(3);
    kl_base_buf_init(&copy, &kl_base_alloc_libc);
    c.copy_of = KL_WIRE_CREATE_TOPICS;
    c.copy = &copy;
    ck_assert_int_eq(cluster_fixture_code(&c, 1, &make), 0);
    ck_assert_uint_gt(copy.size, 0);
    c.copy = NULL;
    ck_assert_int_eq(command(&remove), 0);
    /* Nor does a start that knows of nothing take it. */
    if (_i) {
        cluster_fixture_crash(&c, 0);
        cluster_fixture_open(&c, 0);
        cluster_fixture_until(&c, cluster_fixture_is_caught_up(&c, 0));
    }
    send_bytes(&copy);
    ck_assert_uint_eq(kl_base_stat_get(&node(0)->stats.messages_replayed), 1);
    ck_assert_int_eq(create("u"), 0);
    cluster_fixture_until(&c, has_topic(1, "u"));
    ck_assert(!has_topic(1, "t"));
    kl_base_buf_deinit(&copy);
}
END_TEST

/* A heartbeat that node 2 would send, with an id so much ahead of its own. */
static void heartbeat(int64_t ahead)
{
    struct kl_wire_message m;

    vote_request(&m);
    memset(&m.vote_request, 0, sizeof m.vote_request);
    m.envelope.api_key = KL_WIRE_BROKER_HEARTBEAT;
    m.envelope.correlation_id = node(1)->requests.correlation_id + ahead;
    m.broker_heartbeat_request.broker_epoch = 0;
    send_message(&m);
}

/* Two links may bring them in another order; each is taken once. */
START_TEST(requests_overtake)
{
    static const int64_t ahead[] = {900, 898, 899, 837, 836, 1100, 1037};
    static const int64_t again[] = {900, 899, 837, 836, 1100, 1036};
    kl_base_stat *replayed;

    open_voters(3);
    replayed = &node(0)->stats.messages_replayed;
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++)
        heartbeat(ahead[i]);
    /* 836 is 64 below 900. */
    ck_assert_uint_eq(kl_base_stat_get(replayed), 1);
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        heartbeat(again[i]);
    ck_assert_uint_eq(kl_base_stat_get(replayed), 1 + 6);
}
END_TEST

/* The other end of a link goes without a word, or waits for a message that will
 * never be whole: it is given up for another one. */
START_TEST(links_that_go_silent)
{
    open_voters(3);
    c.is_deaf = 1;
    for (int i = 0; i < 1500; i++)
        cluster_fixture_round(&c);
    c.is_deaf = 0;
    for (int i = 0; i < 5000; i++)
        cluster_fixture_round(&c);
    cluster_fixture_until(&c, cluster_fixture_controller(&c) >= 0);
    ck_assert_int_eq(create("t"), 0);
    for (int i = 0; i < 3; i++)
        cluster_fixture_until(&c, has_topic(i, "t"));
    ck_assert_uint_gt(kl_base_stat_get(&node(0)->stats.links_silent) +
                          kl_base_stat_get(&node(1)->stats.links_silent) +
                          kl_base_stat_get(&node(2)->stats.links_silent),
                      0);
}
END_TEST

/* Every bit of a message flipped on the way. A link that carries such bytes is
 * given up, and made again. */
START_TEST(damaged_messages)
{
    struct kl_wire_message m;
    struct kl_base_buf b;
    int32_t epoch;

    open_voters(3);
    epoch = view(0).epoch;
    vote_request(&m);
    kl_base_buf_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_wire_message_encode(&m, &b, NULL), 0);
    for (size_t bit = 64; bit < 8 * b.size; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        send_bytes(&b);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        /* It dials no more than it may. */
        for (int i = 0; i < 120; i++)
            cluster_fixture_round(&c);
        ck_assert_int_eq(view(0).epoch, epoch);
    }
    kl_base_buf_deinit(&b);
    ck_assert_uint_gt(kl_base_stat_get(&node(0)->stats.messages_malformed),
                      100);
    ck_assert_int_eq(create("t"), 0);
}
END_TEST

Suite *suite_runtime_quorum(void);
Suite *suite_runtime_quorum(void)
{
    Suite *s = suite_create("runtime_quorum");
    TCase *tc = tcase_create("quorum");

    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, observers_follow);
    tcase_add_test(tc, three_voters_outlive_one);
    tcase_add_test(tc, voters_are_those_of_before);
    tcase_add_test(tc, stop_resigns);
    tcase_add_test(tc, all_restart);
    tcase_add_test(tc, leader_is_cut_off);
    tcase_add_test(tc, snapshot_for_one_that_was_away);
    tcase_add_test(tc, restart_behind_a_snapshot);
    tcase_add_test(tc, memory_fails);
    tcase_add_test(tc, folder_from_a_backup);
    tcase_add_test(tc, folder_wiped);
    tcase_add_test(tc, folder_used_twice);
    tcase_add_test(tc, joining_needs_somebody_to_ask);
    tcase_add_test(tc, bad_bootstrap_servers);
    tcase_add_test(tc, one_transport_one_node);
    tcase_add_test(tc, messages_of_others);
    tcase_add_test(tc, oversized_message);
    tcase_add_loop_test(tc, requests_replayed, 0, 2);
    tcase_add_test(tc, requests_overtake);
    tcase_add_test(tc, links_that_go_silent);
    tcase_add_test(tc, damaged_messages);
    suite_add_tcase(s, tc);
    return s;
}
