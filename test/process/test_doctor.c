/*
 * kraftlog doctor on folders that are really damaged: what it says, and that
 * the command it names is the one that helps.
 */
#include "cli.h"
#include "damage.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_process_doctor(void);

enum { WELL = 0, ILL = 1, UNREADABLE = 2, USAGE = 2 };

/* ---- what it printed --------------------------------------------------- */

static void said(int code, const char *const *words)
{
    const struct run *r = cli_result();

    for (; *words; words++)
        ck_assert_msg(strstr(r->out, *words) != NULL, "no '%s' in:\n%s", *words,
                      r->out);
    ck_assert_msg(r->code == code, "%d:\n%s", r->code, r->out);
}
#define SAID(code, ...) said(code, (const char *const[]){__VA_ARGS__, NULL})

/* The command behind "next: " or "or: ", run with NEWDIR set. */
static void follow(const char *rank, struct run *out)
{
    static char command[2048];
    const char *args[16] = {NULL};
    const char *line = strstr(cli_result()->out, rank);
    char *rest = command + 9, *word;
    int n = 0;

    ck_assert_msg(line != NULL, "no %sin:\n%s", rank, cli_result()->out);
    snprintf(command, sizeof command, "%s", line + strlen(rank));
    ck_assert_ptr_nonnull(strstr(command, "  ("));
    *strstr(command, "  (") = '\0';
    ck_assert_int_eq(strncmp(command, "kraftlog ", 9), 0);
    while ((word = strsep(&rest, " ")))
        args[n++] = strcmp(word, "NEWDIR") == 0 ? damage_new_dir() : word;
    run_program(out, NULL, NULL, 0, args);
}

/* The same, where it must succeed; code 1 of a salvage tells of losses. */
static void follow_next(int code)
{
    struct run r;

    follow("next: ", &r);
    ck_assert_msg(r.code == code, "%d: %s%s", r.code, r.out, r.err);
    run_free(&r);
}

/* What a consumer gets of the topic in a folder, in all. */
static void consumed(const char *dir, const char *text)
{
    struct run r;

    run_program(&r, NULL, NULL, 0,
                (const char *[]){"-D", dir, "consume", "t", "-eS", NULL});
    ck_assert_str_eq(r.out, text);
    run_free(&r);
}

/* What the doctor's code is of another folder. */
static void doctor_ends(const char *dir, int code)
{
    struct run r;

    run_program(&r, NULL, NULL, 0, (const char *[]){"doctor", dir, NULL});
    ck_assert_msg(r.code == code, "%d: %s%s", r.code, r.out, r.err);
    run_free(&r);
}

/* Three batches of the topic t, closed. */
static void three_batches(void)
{
    CLI("topic", "create", "t");
    cli_succeeded();
    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"one\ntwo\n", "three\n", "four\n"};

        CLI_BYTES(texts[i], strlen(texts[i]), "produce", "t");
        cli_succeeded();
    }
}

static const char all[] = "one\ntwo\nthree\nfour\n";

/* ---- nothing to do ----------------------------------------------------- */

START_TEST(clean_folder)
{
    three_batches();
    CLI("doctor");
    cli_printed("nothing is wrong with this folder\n"
                "next: nothing  (there is nothing to do)\n");
    CLI("doctor", "-j");
    SAID(WELL, "{\"type\":\"summary\",\"problems\":0,",
         "\"type\":\"advice\",\"rank\":\"next\",\"action\":\"none\"");
}
END_TEST

/* What a crash, or somebody, leaves lying there. */
START_TEST(leftovers)
{
    three_batches();
    damage_make("logs/00000000000000000000000000000009-0.77/x");
    damage_make("checkpoint.a.new");
    damage_make("notes.txt");
    CLI("doctor");
    SAID(WELL, "77: belongs to nothing (harmless); lost: nothing",
         "checkpoint.a.new: belongs to nothing (harmless); lost: nothing",
         "notes.txt: not known to this release (harmless); lost: nothing",
         "next: nothing");
    consumed(cli_dir(), all);
}
END_TEST

/* ---- another copy is left ------------------------------------------------ */

START_TEST(covered_damage)
{
    static const char *const names[] = {"quorum.a", "quorum.b", "checkpoint.a",
                                        "checkpoint.b"};

    three_batches();
    for (size_t i = 0; i < 4; i++) {
        damage_spoil(names[i], 30);
        CLI("doctor");
        SAID(ILL, names[i], "(covered); lost: nothing",
             "1 problems; 0 offsets of 0 logs are lost\n", " stat  (");
        follow_next(0);
        CLI("doctor");
        SAID(WELL, "nothing is wrong");
    }
    consumed(cli_dir(), all);
}
END_TEST

START_TEST(manifest_and_header)
{
    three_batches();
    damage_spoil("topic/manifest", 30);
    CLI("doctor");
    SAID(ILL, "/manifest: ", "(covered); lost: nothing", " stat  (");
    damage_spoil("topic/*.seg", 30);
    CLI("doctor");
    SAID(ILL, ".seg: ", "the header of the segment does not verify",
         "2 problems; 0 offsets of 0 logs are lost\n", " stat  (");
    follow_next(0);
    consumed(cli_dir(), all);
}
END_TEST

/* The ring still has what the segment has lost, until a node runs on. */
START_TEST(copy_in_the_ring)
{
    three_batches();
    damage_find("topic/*.seg", "three");
    CLI("doctor");
    SAID(ILL, "topic t, partition 0, offset 2: ",
         "(damage); lost: nothing, salvage finds another copy",
         "1 problems; 0 offsets of 0 logs are lost\n", "next: kraftlog salvage",
         "or: kraftlog -D ");
    follow_next(0);
    consumed(damage_new_dir(), all);
    /* The folder itself is as it was. */
    consumed(cli_dir(), "one\ntwo\nfour\n");
}
END_TEST

/* ---- something is lost ------------------------------------------------- */

START_TEST(lost_records)
{
    three_batches();
    damage_find("topic/*.seg", "three");
    damage_zero("wal/*");
    CLI("doctor");
    SAID(ILL, "topic t, partition 0, offset 2: ", "(damage); lost: offset 2\n",
         "1 problems; 1 offsets of 1 logs are lost\n", " stat  (");
    follow_next(0);
    consumed(cli_dir(), "one\ntwo\nfour\n");
}
END_TEST

START_TEST(missing_segment)
{
    three_batches();
    damage_zero("wal/*");
    damage_remove("topic/*.seg");
    CLI("doctor");
    SAID(ILL, "the segment is missing (damage); lost: offsets 0 to 3\n",
         "4 offsets of 1 logs are lost\n");
    follow_next(0);
    CLI_TEXT("five\n", "produce", "t");
    cli_succeeded();
    consumed(cli_dir(), "five\n");
}
END_TEST

/* ---- it does not open ---------------------------------------------------- */

/* The folder does not open, the doctor names salvage, and that saves all. */
static void saved_by_salvage(const char *finding)
{
    CLI("topic", "list");
    ck_assert_int_eq(cli_result()->code, 1);
    CLI("doctor");
    SAID(ILL, finding, "(damage); lost: ", " 0 offsets of 0 logs are lost\n",
         "next: kraftlog salvage ");
    ck_assert_ptr_null(strstr(cli_result()->out, "\nor: "));
    follow_next(0);
    consumed(damage_new_dir(), all);
    doctor_ends(damage_new_dir(), WELL);
}

START_TEST(identity_is_lost)
{
    three_batches();
    damage_spoil("identity", 20);
    saved_by_salvage("identity: the identity does not verify");
}
END_TEST

START_TEST(identity_is_missing)
{
    three_batches();
    damage_remove("identity");
    saved_by_salvage("identity: the identity does not verify");
}
END_TEST

START_TEST(checkpoints_are_lost)
{
    three_batches();
    damage_spoil("checkpoint.a", 30);
    damage_spoil("checkpoint.b", 30);
    saved_by_salvage("checkpoint.b: the checkpoint does not verify");
}
END_TEST

START_TEST(ring_is_missing)
{
    three_batches();
    damage_remove("wal/1");
    saved_by_salvage("wal/1: a file of the ring is missing");
}
END_TEST

START_TEST(ring_is_cut)
{
    three_batches();
    damage_cut("wal/2", 8192);
    saved_by_salvage("wal/2: a file of the ring is missing or has a wrong");
}
END_TEST

START_TEST(metadata_is_damaged)
{
    three_batches();
    damage_spoil("logs/00000000000000000000000000000001-0.*/*.seg", 4096 + 110);
    CLI("doctor");
    SAID(ILL, "metadata log, offset", "next: kraftlog salvage ");
    ck_assert_ptr_null(strstr(cli_result()->out, "\nor: "));
    follow_next(0);
    consumed(damage_new_dir(), all);
}
END_TEST

/* ---- the quorum -------------------------------------------------------- */

START_TEST(quorum_state_is_lost)
{
    three_batches();
    damage_spoil("quorum.a", 30);
    damage_spoil("quorum.b", 30);
    CLI("topic", "list");
    ck_assert_int_eq(cli_result()->code, 1);
    CLI("doctor");
    SAID(ILL, "quorum.a: ", "quorum.b: ",
         "(damage); lost: whom this node has voted for; no record\n",
         "next: kraftlog -D ", " accept-loss  (", "or: kraftlog salvage ");
    follow_next(0);
    CLI("doctor");
    SAID(WELL, "nothing is wrong");
    consumed(cli_dir(), all);
}
END_TEST

/* ---- the write-ahead log after a crash ---------------------------------- */

/* Records that only the ring has: the process is killed. */
static void killed(void)
{
    const char *args[] = {"-D", cli_dir(), "produce", "t", "-v", NULL};
    struct process p;
    char c;

    three_batches();
    process_start(&p, NULL, args);
    for (int i = 0; i < 5; i++) {
        /* A line acknowledged is a group of its own. */
        ck_assert_int_eq(write(p.in, "wal\n", 4), 4);
        do
            ck_assert_int_eq(read(p.out, &c, 1), 1);
        while (c != '\n');
    }
    kill(p.pid, SIGKILL);
    process_finish(&p);
}

START_TEST(crash_is_no_damage)
{
    killed();
    CLI("doctor");
    SAID(WELL, "nothing is wrong with this folder", "next: nothing");
}
END_TEST

/* What a salvage brings back of a group that has rotted in the ring: its record
 * where the segment had it before the kill, all but that one where not. */
static void salvage_rotten_group(void)
{
    struct run r;

    follow("next: ", &r);
    if (r.code == 0) {
        consumed(damage_new_dir(),
                 "one\ntwo\nthree\nfour\nwal\nwal\nwal\nwal\nwal\n");
    } else {
        ck_assert_int_eq(r.code, 1);
        ck_assert_ptr_nonnull(strstr(r.out, "lost: topic t, partition 0, "
                                            "offset 4: a group does not "));
        ck_assert_ptr_nonnull(strstr(r.out, "1 ranges of 1 offsets lost"));
        consumed(damage_new_dir(),
                 "one\ntwo\nthree\nfour\nwal\nwal\nwal\nwal\n");
    }
    run_free(&r);
}

/* The end of the log is in doubt: it takes nothing more until that is
 * accepted. */
START_TEST(rotten_group)
{
    killed();
    damage_block("wal/*", "wal");
    CLI("doctor");
    SAID(ILL, "wal: metadata log, offsets from ", "nothing proves that",
         "lost: what came behind, if anything did\n",
         "a group does not verify that had been durable",
         "next: kraftlog salvage ");
    salvage_rotten_group();
}
END_TEST

/* ---- it cannot be looked at -----------------------------------------------
 */

START_TEST(folder_in_use)
{
    const char *args[] = {"-D", cli_dir(), "consume", "t", NULL};
    struct process p;
    char c;

    three_batches();
    process_start(&p, NULL, args);
    ck_assert_int_eq(read(p.out, &c, 1), 1);
    CLI("doctor");
    cli_failed(UNREADABLE, "a node has ");
    SAID(UNREADABLE, "next: stop the node", "kraftlog doctor -f ");
    CLI("doctor", "-f");
    SAID(WELL, "a node has the folder open; ", "nothing is wrong");
    kill(p.pid, SIGKILL);
    process_finish(&p);
}
END_TEST

START_TEST(no_folder)
{
    CLI("doctor");
    cli_failed(UNREADABLE, "KL_ENOSTORE");
    SAID(UNREADABLE, "next: look whether the path is right");
}
END_TEST

START_TEST(foreign_folder)
{
    three_batches();
    damage_make("../other/photo.jpg");
    doctor_ends(damage_path("../other"), UNREADABLE);
}
END_TEST

START_TEST(unfinished_folder)
{
    damage_make("wal/0");
    damage_make("lock");
    CLI("doctor");
    SAID(ILL, "making it was interrupted", "lost: nothing", " -C topic list");
    follow_next(0);
    CLI("doctor");
    SAID(WELL, "nothing is wrong");
}
END_TEST

START_TEST(usage)
{
    CLI("doctor", "x");
    cli_failed(USAGE, "operands");
    CLI("doctor", "-r");
    cli_failed(USAGE, "-r");
}
END_TEST

Suite *suite_process_doctor(void)
{
    Suite *s = suite_create("process_doctor");
    TCase *t = tcase_create("doctor");

    tcase_add_checked_fixture(t, cli_setup, cli_teardown);
    tcase_add_test(t, clean_folder);
    tcase_add_test(t, leftovers);
    tcase_add_test(t, covered_damage);
    tcase_add_test(t, manifest_and_header);
    tcase_add_test(t, copy_in_the_ring);
    tcase_add_test(t, lost_records);
    tcase_add_test(t, missing_segment);
    tcase_add_test(t, identity_is_lost);
    tcase_add_test(t, identity_is_missing);
    tcase_add_test(t, checkpoints_are_lost);
    tcase_add_test(t, ring_is_missing);
    tcase_add_test(t, ring_is_cut);
    tcase_add_test(t, metadata_is_damaged);
    tcase_add_test(t, quorum_state_is_lost);
    tcase_add_test(t, crash_is_no_damage);
    tcase_add_test(t, rotten_group);
    tcase_add_test(t, folder_in_use);
    tcase_add_test(t, no_folder);
    tcase_add_test(t, foreign_folder);
    tcase_add_test(t, unfinished_folder);
    tcase_add_test(t, usage);
    suite_add_tcase(s, t);
    return s;
}
