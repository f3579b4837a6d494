/*
 * Each checker accepts a good history and refuses the bad ones that it is for.
 */
#include "check.h"

#include <check.h>
#include <string.h>

static void good(const char *wrong)
{
    ck_assert_msg(!wrong, "refused: %s", wrong);
}

static void bad(const char *wrong, const char *says)
{
    ck_assert_msg(wrong && strstr(wrong, says), "\"%s\" does not say: %s",
                  wrong ? wrong : "", says);
}

static struct observation seen(uint32_t boots, int32_t epoch, int64_t leo,
                               int64_t high_watermark)
{
    struct observation o = {.id = 1,
                            .boots = boots,
                            .may_vote = 1,
                            .epoch = epoch,
                            .durable_epoch = epoch,
                            .leo = leo,
                            .durable_leo = leo,
                            .high_watermark = high_watermark};

    return o;
}

/* ---- of one node ----------------------------------------------------------
 */

START_TEST(invariants)
{
    struct check_invariants c;
    struct observation o = seen(1, 1, 0, 0);

    good(check_invariants(&c, &o));
    o.broken = "two leaders";
    bad(check_invariants(&c, &o), "two leaders");
}
END_TEST

START_TEST(epoch_falls)
{
    struct check_epochs c = {0};
    struct observation o = seen(1, 3, 0, 0);

    good(check_epochs(&c, &o));
    o.epoch = 2;
    bad(check_epochs(&c, &o), "epoch 2, durable 3, after 3");
}
END_TEST

/* What was not durable may be forgotten by a restart; what was, not. */
START_TEST(durable_epoch_is_forgotten)
{
    struct check_epochs c = {0};
    struct observation o = seen(1, 3, 0, 0);

    o.durable_epoch = 2;
    good(check_epochs(&c, &o));
    o = seen(2, 2, 0, 0);
    good(check_epochs(&c, &o));
    o = seen(3, 1, 0, 0);
    bad(check_epochs(&c, &o), "epoch 1");
    check_epochs_forget(&c, 0);
    good(check_epochs(&c, &o));
}
END_TEST

START_TEST(high_watermark_falls)
{
    struct check_high_watermark c = {0};
    struct observation o = seen(1, 1, 10, 8);

    good(check_high_watermark(&c, &o));
    o.high_watermark = 7;
    bad(check_high_watermark(&c, &o), "it was higher");
    o.boots = 2; /* it is not on the disk */
    good(check_high_watermark(&c, &o));
}
END_TEST

START_TEST(high_watermark_is_above_the_log)
{
    struct check_high_watermark c = {0};
    struct observation o = seen(1, 1, 10, 11);

    bad(check_high_watermark(&c, &o), "above the end");
    o = seen(1, 1, 12, 11);
    o.applied = 12;
    bad(check_high_watermark(&c, &o), "more is applied");
}
END_TEST

START_TEST(memory_is_left)
{
    struct check_memory c;

    good(check_memory(&c, 0, 0));
    bad(check_memory(&c, 0, 1), "1 blocks of memory");
}
END_TEST

/* ---- of the quorum --------------------------------------------------------
 */

static struct observation of(int32_t id, enum kl_raft_role role, int32_t epoch,
                             int64_t leo, int64_t high_watermark)
{
    struct observation o = seen(1, epoch, leo, high_watermark);

    o.host = id - 1;
    o.id = id;
    o.role = role;
    o.voter_count = 3;
    for (int i = 0; i < 3; i++)
        o.voters[i] = i + 1;
    return o;
}

START_TEST(two_lead_an_epoch)
{
    static struct check_leaders c;
    struct observation o = of(1, KL_RAFT_LEADER, 3, 0, 0);

    memset(&c, 0, sizeof c);
    good(check_leaders(&c, &o));
    good(check_leaders(&c, &o));
    o = of(2, KL_RAFT_FOLLOWER, 3, 0, 0);
    good(check_leaders(&c, &o));
    o = of(2, KL_RAFT_LEADER, 4, 0, 0);
    good(check_leaders(&c, &o));
    o = of(3, KL_RAFT_LEADER, 3, 0, 0);
    bad(check_leaders(&c, &o), "epoch 3: nodes 1 and 3 lead");
}
END_TEST

/* A restart is no excuse. */
START_TEST(two_votes_in_an_epoch)
{
    static struct check_leaders c;
    struct observation o = of(2, KL_RAFT_FOLLOWER, 3, 0, 0);

    memset(&c, 0, sizeof c);
    o.durable_voted_id = 1;
    good(check_leaders(&c, &o));
    o.durable_epoch = 4;
    o.durable_voted_id = 3;
    good(check_leaders(&c, &o));
    o.boots = 2;
    o.durable_voted_id = 1;
    bad(check_leaders(&c, &o), "it voted for 3, then for 1");
}
END_TEST

START_TEST(commit_without_a_majority)
{
    struct check_commit c = {0};
    struct observation o = of(2, KL_RAFT_FOLLOWER, 1, 5, 0);

    good(check_commit(&c, &o));
    o = of(1, KL_RAFT_LEADER, 1, 8, 5);
    good(check_commit(&c, &o));
    o.high_watermark = 6;
    bad(check_commit(&c, &o), "less than a majority");
}
END_TEST

START_TEST(leader_lacks_what_is_committed)
{
    struct check_commit c = {0};
    struct observation o = of(2, KL_RAFT_FOLLOWER, 1, 5, 0);

    good(check_commit(&c, &o));
    o = of(1, KL_RAFT_LEADER, 1, 5, 5);
    good(check_commit(&c, &o));
    o = of(3, KL_RAFT_LEADER, 2, 4, 0);
    bad(check_commit(&c, &o), "lacks what is committed");
}
END_TEST

START_TEST(older_epochs_are_committed_by_count)
{
    struct check_own_epoch c = {0};
    struct observation o = of(1, KL_RAFT_LEADER, 3, 9, 4);

    o.epoch_start = 8;
    good(check_own_epoch(&c, &o));
    good(check_own_epoch(&c, &o));
    o.high_watermark = 9;
    good(check_own_epoch(&c, &o));
    o = of(2, KL_RAFT_FOLLOWER, 3, 9, 4);
    good(check_own_epoch(&c, &o));
    o = of(2, KL_RAFT_LEADER, 4, 10, 5); /* it has learned that meanwhile */
    o.epoch_start = 9;
    good(check_own_epoch(&c, &o));
    o.high_watermark = 9;
    bad(check_own_epoch(&c, &o),
        "leads epoch 4 from 9 on, and commits up to 9");
}
END_TEST

START_TEST(nobody_begins_an_epoch)
{
    struct check_elections c = {0};
    struct observation o = of(1, KL_RAFT_CANDIDATE, 1, 0, 0);

    o.voted_id = 1;
    o.leader_id = -1;
    good(check_elections(&c, &o));
    o.role = KL_RAFT_LEADER;
    o.leader_id = 1;
    good(check_elections(&c, &o));
    o = of(2, KL_RAFT_FOLLOWER, 1, 0, 0);
    o.leader_id = 1;
    good(check_elections(&c, &o));
    o = of(1, KL_RAFT_UNATTACHED, 2, 0, 0); /* it has resigned */
    o.leader_id = -1;
    good(check_elections(&c, &o));
    o = of(2, KL_RAFT_PROSPECTIVE, 2, 0, 0);
    o.leader_id = -1;
    good(check_elections(&c, &o));
    o.epoch = 3;
    bad(check_elections(&c, &o), "node 2: epoch 3, which nobody has begun");
}
END_TEST

START_TEST(images_differ)
{
    static struct check_images c;

    memset(&c, 0, sizeof c);
    good(check_images(&c, 0, 7, 100));
    good(check_images(&c, 1, 7, 100));
    good(check_images(&c, 1, 8, 101));
    bad(check_images(&c, 2, 8, 102), "differ at offset 8");
}
END_TEST

/* ---- of the voters --------------------------------------------------------
 */

/* Node 1 leads; the voters are the first so many. */
static struct observation led(uint32_t voters, int64_t offset,
                              int64_t high_watermark)
{
    struct observation o =
        of(1, KL_RAFT_LEADER, 1, high_watermark + 5, high_watermark);

    o.voters_offset = offset;
    o.voter_count = voters;
    for (uint32_t i = 0; i < voters; i++) {
        o.voters[i] = (int32_t)i + 1;
        o.voter_keys[i] = i + 100;
    }
    return o;
}

START_TEST(voters_change_by_two)
{
    struct check_voters c = {0};
    struct observation o = led(3, 2, 5);

    good(check_voters(&c, &o));
    o = led(4, 7, 6);
    good(check_voters(&c, &o));
    o = led(2, 9, 8);
    bad(check_voters(&c, &o), "more than one voter changes");
}
END_TEST

/* The one before may still be cut off. */
START_TEST(voters_change_too_soon)
{
    struct check_voters c = {0};
    struct observation o = led(3, 2, 5);

    good(check_voters(&c, &o));
    o = led(4, 7, 6);
    good(check_voters(&c, &o));
    o = led(3, 8, 7);
    bad(check_voters(&c, &o), "the change before is not committed");
}
END_TEST

START_TEST(voters_committed_differ)
{
    struct check_voters c = {0};
    struct observation o = led(3, 2, 5);

    good(check_voters(&c, &o));
    o.host = 1;
    good(check_voters(&c, &o));
    o.voter_keys[1] = 7; /* another directory */
    bad(check_voters(&c, &o), "others know other voters");
    o = led(1, 6, 8);
    o.host = 2;
    bad(check_voters(&c, &o), "not one voter away");
}
END_TEST

/* A change that is committed, and the next one as well, between two looks. */
START_TEST(voters_change_unseen)
{
    struct check_voters c = {0};
    struct observation o = led(3, 10, 20);

    good(check_voters(&c, &o));
    o = led(4, 21, 21);
    good(check_voters(&c, &o));
    o = led(5, 30, 31);
    good(check_voters(&c, &o));
}
END_TEST

START_TEST(voters_vanish)
{
    struct check_voters c = {0};
    struct observation o = led(3, 2, 5);

    good(check_voters(&c, &o));
    good(check_voters_settled(&c, &o));
    check_voters_done(&c, 4, 1, check_voters_offset(&c));
    bad(check_voters_settled(&c, &o), "node 4 was added");
    o = led(4, 6, 7);
    good(check_voters(&c, &o));
    good(check_voters_settled(&c, &o));
    o = led(3, 2, 7);
    bad(check_voters_settled(&c, &o), "others have a later set");
    o = led(4, 6, 6);
    bad(check_voters_settled(&c, &o), "never committed");
}
END_TEST

static struct check_log_matching matching;

START_TEST(batch_is_another)
{
    struct log_piece p = {.offset = 5, .end = 7, .epoch = 2, .hash = 100};

    memset(&matching, 0, sizeof matching);
    good(check_log_matching(&matching, 0, &p));
    good(check_log_matching(&matching, 1, &p));
    p.epoch = 3;
    p.hash = 101;
    good(check_log_matching(&matching, 2, &p));
    p.hash = 102;
    bad(check_log_matching(&matching, 1, &p), "epoch 3 at offset 5, up to 7");
    p.hash = 101;
    p.end = 6;
    bad(check_log_matching(&matching, 1, &p), "up to 6, is another one");
}
END_TEST

/* ---- of messages ----------------------------------------------------------
 */

START_TEST(bad_message_is_not_counted)
{
    struct check_messages c = {0};
    uint64_t counted[BAD_MESSAGES] = {0};

    check_messages_delivered(&c, 1, 1, BAD_FOREIGN);
    counted[BAD_FOREIGN] = 1;
    good(check_messages(&c, 1, 1, counted));
    check_messages_delivered(&c, 1, 1, BAD_MALFORMED);
    bad(check_messages(&c, 1, 1, counted), "malformed: delivered 1, counted 0");
    check_messages_cut(&c, 1); /* nobody has looked at it */
    check_messages_delivered(&c, 1, 1, BAD_FOREIGN);
    good(check_messages(&c, 1, 1, counted));
    check_messages_delivered(&c, 1, 2, BAD_UNKNOWN); /* another start */
    memset(counted, 0, sizeof counted);
    counted[BAD_UNKNOWN] = 1;
    good(check_messages(&c, 1, 2, counted));
}
END_TEST

START_TEST(good_message_is_counted)
{
    struct check_messages c = {0};
    uint64_t counted[BAD_MESSAGES] = {0};

    counted[BAD_MISDIRECTED] = counted[BAD_MALFORMED] = 2;
    good(check_messages(&c, 0, 1, counted));
    counted[BAD_UNKNOWN] = 1;
    bad(check_messages(&c, 0, 1, counted), "delivered 0, counted 1");
}
END_TEST

START_TEST(epoch_of_a_bad_message)
{
    struct check_messages c = {0};

    good(check_messages_epoch(&c, 0, 7));
    good(check_messages_epoch(&c, 1, 900));
    bad(check_messages_epoch(&c, 0, 100007), "nobody has begun after 900");
}
END_TEST

/* What the old ones held is committed with the record that makes new ones. */
START_TEST(commit_of_the_voters_before)
{
    struct check_commit c = {0};
    struct observation o = of(2, KL_RAFT_FOLLOWER, 1, 5, 0);

    good(check_commit(&c, &o));
    o = of(1, KL_RAFT_LEADER, 1, 5, 4);
    good(check_commit(&c, &o));
    o.high_watermark = 5;
    o.voter_count = 4;
    o.voters[3] = 4;
    good(check_commit(&c, &o));
    o.leo = o.durable_leo = o.high_watermark = 6;
    bad(check_commit(&c, &o), "less than a majority");
}
END_TEST

/* ---- commands -------------------------------------------------------------
 */

static struct check_acknowledged acks;

static void create(int topic, enum outcome outcome)
{
    check_acknowledged_create(&acks, topic, 0, OUTCOME_UNKNOWN);
    check_acknowledged_create(&acks, topic, 1, outcome);
}

static void set(int topic, int64_t value, enum outcome outcome)
{
    check_acknowledged_set(&acks, topic, value, 0, OUTCOME_UNKNOWN);
    check_acknowledged_set(&acks, topic, value, 1, outcome);
}

START_TEST(topic_is_lost)
{
    memset(&acks, 0, sizeof acks);
    create(0, OUTCOME_DONE);
    good(check_acknowledged(&acks, 0, 1, 0));
    bad(check_acknowledged(&acks, 0, 0, 0), "created and is not there");
    create(1, OUTCOME_UNKNOWN);
    good(check_acknowledged(&acks, 1, 0, 0));
    good(check_acknowledged(&acks, 1, 1, 0));
}
END_TEST

START_TEST(topic_comes_back)
{
    memset(&acks, 0, sizeof acks);
    create(0, OUTCOME_DONE);
    check_acknowledged_delete(&acks, 0, 0, OUTCOME_UNKNOWN);
    good(check_acknowledged(&acks, 0, 0, 0));
    good(check_acknowledged(&acks, 0, 1, 0));
    check_acknowledged_delete(&acks, 0, 1, OUTCOME_DONE);
    bad(check_acknowledged(&acks, 0, 1, 0), "deleted and is there");
    create(1, OUTCOME_REFUSED);
    bad(check_acknowledged(&acks, 1, 1, 0), "refused and is there");
    bad(check_acknowledged(&acks, 2, 1, 0), "nobody has asked");
}
END_TEST

START_TEST(value_is_an_old_one)
{
    memset(&acks, 0, sizeof acks);
    create(0, OUTCOME_DONE);
    set(0, 7, OUTCOME_DONE);
    good(check_acknowledged(&acks, 0, 1, 7));
    set(0, 8, OUTCOME_UNKNOWN);
    good(check_acknowledged(&acks, 0, 1, 7));
    good(check_acknowledged(&acks, 0, 1, 8));
    set(0, 9, OUTCOME_DONE);
    bad(check_acknowledged(&acks, 0, 1, 7), "not the one that was set last");
    set(0, 10, OUTCOME_REFUSED);
    bad(check_acknowledged(&acks, 0, 1, 10), "not the one that was set last");
}
END_TEST

/* ---- records --------------------------------------------------------------
 */

static struct check_records records;

static void forget(void)
{
    check_records_deinit(&records);
}

START_TEST(record_is_another)
{
    good(check_records_acked(&records, 0, 5, 100));
    good(check_records_seen(&records, 0, 5, 100));
    bad(check_records_seen(&records, 0, 5, 101), "it was 100 (acknowledged)");
    good(check_records_seen(&records, 0, 6, 102));
    bad(check_records_acked(&records, 0, 6, 103), "it was 102 (seen)");
}
END_TEST

START_TEST(record_is_lost)
{
    good(check_records_acked(&records, 1, 5, 100));
    good(check_records_end(&records, 1, 6));
    bad(check_records_end(&records, 1, 5), "offset 5 was acknowledged");
    good(check_records_end(&records, 2, 0));
}
END_TEST

Suite *suite_sim_check(void);

Suite *suite_sim_check(void)
{
    Suite *s = suite_create("sim_check");
    TCase *node = tcase_create("node");
    TCase *quorum = tcase_create("quorum");
    TCase *commands = tcase_create("commands");
    TCase *kept = tcase_create("records");

    tcase_add_test(node, invariants);
    tcase_add_test(node, epoch_falls);
    tcase_add_test(node, durable_epoch_is_forgotten);
    tcase_add_test(node, high_watermark_falls);
    tcase_add_test(node, high_watermark_is_above_the_log);
    tcase_add_test(node, memory_is_left);
    tcase_add_test(quorum, two_lead_an_epoch);
    tcase_add_test(quorum, two_votes_in_an_epoch);
    tcase_add_test(quorum, commit_without_a_majority);
    tcase_add_test(quorum, leader_lacks_what_is_committed);
    tcase_add_test(quorum, older_epochs_are_committed_by_count);
    tcase_add_test(quorum, nobody_begins_an_epoch);
    tcase_add_test(quorum, images_differ);
    tcase_add_test(quorum, batch_is_another);
    tcase_add_test(quorum, bad_message_is_not_counted);
    tcase_add_test(quorum, good_message_is_counted);
    tcase_add_test(quorum, epoch_of_a_bad_message);
    tcase_add_test(quorum, voters_change_by_two);
    tcase_add_test(quorum, voters_change_too_soon);
    tcase_add_test(quorum, voters_committed_differ);
    tcase_add_test(quorum, voters_change_unseen);
    tcase_add_test(quorum, voters_vanish);
    tcase_add_test(quorum, commit_of_the_voters_before);
    tcase_add_test(commands, topic_is_lost);
    tcase_add_test(commands, topic_comes_back);
    tcase_add_test(commands, value_is_an_old_one);
    tcase_add_checked_fixture(kept, NULL, forget);
    tcase_add_test(kept, record_is_another);
    tcase_add_test(kept, record_is_lost);
    suite_add_tcase(s, node);
    suite_add_tcase(s, quorum);
    suite_add_tcase(s, commands);
    suite_add_tcase(s, kept);
    return s;
}
